/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/graph.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

enum { TYPE_MAX = 32 }; /* bytes; more than any name below has */

struct type {
    const char *type;
    enum carm_sol_kind kind;
};

/* The work of each type of operation, in the order of strcmp. The names are PyTorch's.
 * Source: the Solar project's lists of operations without compute, of views, slices and scatters
 * (solar/analysis/graph_analyzer.py). Gathers, and spellings that its lists do not have, are
 * carm's. */
static const struct type table[] = {
    {"__getitem__", CARM_SOL_SLICE},
    {"__setitem__", CARM_SOL_SCATTER},
    {"bfloat16", CARM_SOL_MOVE},
    {"broadcast_to", CARM_SOL_VIEW},
    {"cat", CARM_SOL_MOVE},
    {"chunk", CARM_SOL_VIEW},
    {"clone", CARM_SOL_MOVE},
    {"concat", CARM_SOL_MOVE},
    {"concatenate", CARM_SOL_MOVE},
    {"constant_pad_nd", CARM_SOL_MOVE},
    {"contiguous", CARM_SOL_VIEW},
    {"copy_", CARM_SOL_MOVE},
    {"detach", CARM_SOL_VIEW},
    {"double", CARM_SOL_MOVE},
    {"embedding", CARM_SOL_EMBEDDING},
    {"embedding_bag", CARM_SOL_EMBEDDING},
    {"expand", CARM_SOL_VIEW},
    {"expand_as", CARM_SOL_VIEW},
    {"flatten", CARM_SOL_VIEW},
    {"flip", CARM_SOL_MOVE},
    {"float", CARM_SOL_MOVE},
    {"gather", CARM_SOL_GATHER},
    {"half", CARM_SOL_MOVE},
    {"hstack", CARM_SOL_MOVE},
    {"index_copy", CARM_SOL_SCATTER},
    {"index_copy_", CARM_SOL_SCATTER},
    {"index_put", CARM_SOL_SCATTER},
    {"index_put_", CARM_SOL_SCATTER},
    {"index_select", CARM_SOL_GATHER},
    {"int", CARM_SOL_MOVE},
    {"long", CARM_SOL_MOVE},
    {"movedim", CARM_SOL_VIEW},
    {"narrow", CARM_SOL_SLICE},
    {"pad", CARM_SOL_MOVE},
    {"permute", CARM_SOL_VIEW},
    {"repeat", CARM_SOL_MOVE},
    {"repeat_interleave", CARM_SOL_MOVE},
    {"reshape", CARM_SOL_VIEW},
    {"roll", CARM_SOL_MOVE},
    {"scatter", CARM_SOL_SCATTER},
    {"scatter_", CARM_SOL_SCATTER},
    {"select", CARM_SOL_SLICE},
    {"slice", CARM_SOL_SLICE},
    {"split", CARM_SOL_VIEW},
    {"squeeze", CARM_SOL_VIEW},
    {"stack", CARM_SOL_MOVE},
    {"start", CARM_SOL_START},
    {"swapaxes", CARM_SOL_VIEW},
    {"t", CARM_SOL_VIEW},
    {"take", CARM_SOL_GATHER},
    {"take_along_dim", CARM_SOL_GATHER},
    {"tensor_split", CARM_SOL_VIEW},
    {"tile", CARM_SOL_MOVE},
    {"to", CARM_SOL_MOVE},
    {"transpose", CARM_SOL_VIEW},
    {"type", CARM_SOL_MOVE},
    {"type_as", CARM_SOL_MOVE},
    {"unbind", CARM_SOL_VIEW},
    {"unflatten", CARM_SOL_VIEW},
    {"unfold", CARM_SOL_VIEW},
    {"unsqueeze", CARM_SOL_VIEW},
    {"view", CARM_SOL_VIEW},
    {"view_as", CARM_SOL_VIEW},
    {"vstack", CARM_SOL_MOVE},
};

static int by_type(const void *key, const void *member)
{
    return strcmp(key, ((const struct type *)member)->type);
}

enum carm_sol_kind carm_sol_kind_find(const char *type)
{
    char lower[TYPE_MAX];
    size_t n = 0;
    for (; type[n]; n++) {
        if (n + 1 == sizeof lower) {
            return CARM_SOL_COMPUTE;
        }
        lower[n] = (char)tolower((unsigned char)type[n]);
    }
    lower[n] = '\0';
    const struct type *found =
        bsearch(lower, table, sizeof table / sizeof *table, sizeof *table, by_type);
    return found ? found->kind : CARM_SOL_COMPUTE;
}

static const char *plural(uint32_t n)
{
    return n == 1 ? "" : "s";
}

static void remark_on_type(const struct carm_sol_graph *graph, const struct carm_sol_note *note,
                           char *dst, size_t size)
{
    static const char *const reasons[] = {
        [CARM_SOL_BY_EQUATION] = "",
        [CARM_SOL_BY_SHAPES] = "the equation does not fit the shapes; other operations are counted "
                               "from the shapes",
        [CARM_SOL_BY_GROUPS] = "the equation does not fit the shapes; multiply-accumulates are "
                               "counted from the shapes",
        [CARM_SOL_NO_EQUATION] =
            "is_real_einsum is true, but there is no equation; counted as other "
            "operations, from the shapes",
    };
    char type[64];
    snprintf(dst, size, "%s (%u layer%s): %s.",
             carm_text_clean(type, sizeof type, carm_sol_text(graph, note->type), false),
             note->layers, plural(note->layers), reasons[note->counted]);
}

enum carm_sol_dtype carm_sol_dtype_find(const char *word)
{
    static const struct {
        const char *start; /* start of the word behind "torch." */
        enum carm_sol_dtype dtype;
    } words[] = {{"float64", CARM_SOL_FLOAT64}, {"float32", CARM_SOL_FLOAT32},
                 {"float16", CARM_SOL_FLOAT16}, {"bfloat16", CARM_SOL_BFLOAT16},
                 {"float8_", CARM_SOL_FLOAT8},  {"int8", CARM_SOL_QINT8},
                 {"uint8", CARM_SOL_QINT8},     {"qint8", CARM_SOL_QINT8},
                 {"quint8", CARM_SOL_QINT8}};
    static const char prefix[] = "torch.";
    word += strncmp(word, prefix, sizeof prefix - 1) == 0 ? sizeof prefix - 1 : 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const size_t n = strlen(words[i].start);
        if (strncmp(word, words[i].start, n) == 0 &&
            (word[n] == '\0' || words[i].start[n - 1] == '_')) {
            return words[i].dtype;
        }
    }
    return CARM_SOL_DTYPES;
}

char *carm_sol_graph_remark(const struct carm_sol_graph *graph, uint32_t i, char *dst, size_t size)
{
    if (i < graph->nnotes) {
        remark_on_type(graph, &graph->notes[i], dst, size);
        return dst;
    }
    i -= graph->nnotes;
    if (graph->renamed > 0 && i-- == 0) {
        snprintf(dst, size,
                 "%u input%s named an output that other readers have; taken for the next output of "
                 "that layer.",
                 graph->renamed, plural(graph->renamed));
        return dst;
    }
    if (graph->resized > 0 && i-- == 0) {
        snprintf(
            dst, size,
            "%u input%s not as many elements as the tensor of that name; each layer counts the "
            "shape that it has.",
            graph->resized, graph->resized == 1 ? " has" : "s have");
        return dst;
    }
    if (graph->one_sided > 0 && i == 0) {
        snprintf(dst, size, "%u connection%s named by only one of both layers; kept.",
                 graph->one_sided, graph->one_sided == 1 ? " is" : "s are");
        return dst;
    }
    return NULL;
}

void carm_sol_graph_close(struct carm_sol_graph *graph)
{
    if (!graph) {
        return;
    }
    free(graph->name);
    free(graph->layers);
    free(graph->order);
    free(graph->uses);
    free(graph->links);
    free(graph->producer);
    free(graph->tensors);
    free(graph->extents);
    free(graph->notes);
    free(graph->text);
    free(graph);
}

int(carm_sol_no_memory)(uint32_t layers, struct carm_err *err)
{
    return carm_fail(err, CARM_ENOMEM, "not enough memory for a graph of %u layers", layers);
}
