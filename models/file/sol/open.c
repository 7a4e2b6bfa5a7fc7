/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/file/sol/open.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/job.h"
#include "base/text.h"
#include "models/file/sol/analysis.h"
#include "models/file/sol/arch.h"
#include "models/file/sol/graph.h"
#include "models/model.h"
#include "models/sol/machine.h"

enum { NAMES_MAX = 320 };
#define ARCH_BYTES_MAX ((size_t)64 << 20)

/* Files data/sol-NAME.yaml, zero-terminated, which the build embeds. */
extern const char carm_asset_data_sol_a100_sxm4[];
extern const char carm_asset_data_sol_b200[];
extern const char carm_asset_data_sol_h100_pcie[];
extern const char carm_asset_data_sol_convolution_stack[];
extern const char carm_asset_data_sol_linear_relu_linear[];
extern const char carm_asset_data_sol_long_context_attention[];
extern const char carm_asset_data_sol_transformer_block[];
extern const char carm_asset_data_sol_worked_example[];

static const char *const arch_names[] = {"a100-sxm4", "b200", "h100-pcie", NULL};
static const char *const arch_texts[] = {
    carm_asset_data_sol_a100_sxm4,
    carm_asset_data_sol_b200,
    carm_asset_data_sol_h100_pcie,
};

static const char *const example_names[] = {
    "linear-relu-linear",     "transformer-block", "convolution-stack",
    "long-context-attention", "worked-example",    NULL,
};
static const char *const example_texts[] = {
    carm_asset_data_sol_linear_relu_linear, carm_asset_data_sol_transformer_block,
    carm_asset_data_sol_convolution_stack,  carm_asset_data_sol_long_context_attention,
    carm_asset_data_sol_worked_example,
};

static int plain(char c)
{
    return c == '_' ? '-' : tolower((unsigned char)c);
}

static const char *find(const char *const *names, const char *const *texts, const char *name,
                        size_t *size_bytes)
{
    for (size_t i = 0; names[i]; i++) {
        size_t n = 0;
        while (name[n] && plain(name[n]) == names[i][n]) {
            n++;
        }
        if (!name[n] && !names[i][n]) {
            if (size_bytes) {
                *size_bytes = strlen(texts[i]);
            }
            return texts[i];
        }
    }
    return NULL;
}

const char *carm_sol_arch_text(const char *name, size_t *size_bytes)
{
    return find(arch_names, arch_texts, name, size_bytes);
}

const char *const *carm_sol_arch_names(void)
{
    return arch_names;
}

const char *carm_sol_example_text(const char *name, size_t *size_bytes)
{
    return find(example_names, example_texts, name, size_bytes);
}

const char *const *carm_sol_example_names(void)
{
    return example_names;
}

static const char *list_names(char *dst, size_t size, const char *const *names)
{
    *dst = '\0';
    for (; *names; names++) {
        carm_text_list(dst, size, ", ", "%s", *names);
    }
    return dst;
}

/* Whether an operand can be a built-in name: a file with this name takes precedence. */
static bool may_be_name(const char *operand)
{
    return !strpbrk(operand, "/.") && strcmp(operand, "-") != 0 && access(operand, F_OK) != 0;
}

static int fail_read(struct carm_err *err, const char *path)
{
    const int e = errno;
    char name[256];
    carm_fail(err, CARM_EIO, "%s cannot be read: %s",
              carm_text_clean(name, sizeof name, path, false), strerror(e));
    return -CARM_EIO;
}

static int load_stream(FILE *in, const char *path, char **text, size_t *size, struct carm_err *err)
{
    size_t room = 0, n = 1;
    for (*size = 0; n > 0 && *size <= ARCH_BYTES_MAX; *size += n) {
        const int rc = carm_array_grow(text, &room, *size, 1 << 16, 1, "a file", err);
        if (rc) {
            return rc;
        }
        n = fread(*text + *size, 1, room - *size - 1, in);
    }
    (*text)[*size] = '\0';
    if (*size > ARCH_BYTES_MAX) {
        return carm_fail(err, CARM_EFORMAT,
                         "%.200s has more than %zu MiB, which is too much for such a file", path,
                         ARCH_BYTES_MAX >> 20);
    }
    return ferror(in) ? fail_read(err, path) : 0;
}

/* Reads all of an architecture's or a model's file, a pipe, or standard input ("-").
 * text  out: zero-terminated; to be released with free, NULL on failure
 * returns 0, -CARM_EIO, -CARM_EFORMAT (more than ARCH_BYTES_MAX) or -CARM_ENOMEM */
static int load(const char *path, char **text, size_t *size, struct carm_err *err)
{
    const bool standard = strcmp(path, "-") == 0;
    FILE *in = standard ? stdin : fopen(path, "rbe");
    *text = NULL;
    const int rc = in ? load_stream(in, path, text, size, err) : fail_read(err, path);
    if (in && !standard) {
        fclose(in);
    }
    if (rc) {
        free(*text);
        *text = NULL;
    }
    return rc;
}

/* The file's name in messages. */
static const char *name_of(const char *path)
{
    return strcmp(path, "-") == 0 ? "standard input" : path;
}

/* Whether a map is an analysis or a layer of one: an analysis has counts, a graph has names of
 * tensors. */
static bool is_analysis(const struct carm_yaml *yaml, const struct carm_yaml_item *map,
                        bool of_layers)
{
    static const char *const graph[] = {"model_name", "tensor_names"};
    static const char *const total[] = {"total", "macs"};
    int rc = 0;
    for (const struct carm_yaml_item *key = NULL;
         map->kind == CARM_YAML_MAP &&
         (key = carm_yaml_next_key(yaml, map, key, &rc, NULL)) != NULL;) {
        if (strcmp(key->text, total[of_layers]) == 0 ||
            (of_layers && strcmp(key->text, "unfused_elements") == 0)) {
            return true;
        }
        if (strcmp(key->text, graph[of_layers]) == 0) {
            return false;
        }
        if (!of_layers && strcmp(key->text, "layers") == 0) {
            const struct carm_yaml_item *first =
                key[1].kind == CARM_YAML_MAP ? carm_yaml_next_key(yaml, key + 1, NULL, &rc, NULL)
                                             : NULL;
            return first && is_analysis(yaml, first + 1, true);
        }
    }
    return false;
}

/* text  NULL = reads the file with this name */
static int read_input(const char *name, const char *text, size_t size, struct carm_sol_input *input,
                      struct carm_err *err)
{
    struct carm_yaml *yaml = NULL;
    int rc = text ? carm_yaml_open_text(text, size, name, carm_sol_graph_root, &yaml, err)
                  : carm_yaml_open(name, carm_sol_graph_root, &yaml, err);
    if (!rc && is_analysis(yaml, carm_yaml_root(yaml), false)) {
        rc = carm_sol_analysis_of(yaml, &input->analysis, err);
    } else if (!rc) {
        rc = carm_sol_graph_of(yaml, &input->graph, err);
    }
    carm_yaml_close(yaml);
    return rc;
}

static int read_example(const char *operand, struct carm_sol_input *input, struct carm_err *err)
{
    char name[64], names[NAMES_MAX];
    size_t size = 0;
    const char *text = carm_sol_example_text(operand, &size);
    if (text) {
        return read_input(operand, text, size, input, err);
    }
    return carm_fail(err, CARM_EINVAL,
                     "there is neither a file nor an example \"%s\"; the examples are %s",
                     carm_text_clean(name, sizeof name, operand, false),
                     list_names(names, sizeof names, carm_sol_example_names()));
}

/* A name for an analysis, or for a graph without one: the file's, without folders and ending.
 * nameless: the name for standard input */
static char *name_of_file(const char *operand, const char *nameless)
{
    const char *slash = strrchr(operand, '/');
    const char *base = slash ? slash + 1 : operand;
    const char *dot = strrchr(base, '.');
    if (strcmp(operand, "-") == 0) {
        return strdup(nameless);
    }
    return dot && dot > base ? strndup(base, (size_t)(dot - base)) : strdup(base);
}

int carm_sol_input_open(const char *operand, struct carm_sol_input *input, struct carm_err *err)
{
    memset(input, 0, sizeof *input);
    int rc = may_be_name(operand) ? read_example(operand, input, err)
                                  : read_input(operand, NULL, 0, input, err);
    if (rc == 0 && input->graph) {
        rc = carm_sol_analyse(input->graph, &input->analysis, err);
    }
    if (rc) {
        return rc;
    }
    input->name = input->graph && *input->graph->name
                      ? strdup(input->graph->name)
                      : name_of_file(operand, input->graph ? "graph" : "analysis");
    return input->name ? 0 : carm_fail(err, CARM_ENOMEM, "not enough memory for a graph");
}

void carm_sol_input_close(struct carm_sol_input *input)
{
    carm_sol_analysis_close(input->analysis);
    carm_sol_graph_close(input->graph);
    free(input->name);
    memset(input, 0, sizeof *input);
}

static int model_only(const char *isa, int threads, struct carm_err *err)
{
    if ((isa && *isa) || threads > 0) {
        return carm_fail(
            err, CARM_EINVAL,
            "--isa and --threads choose among the roofs of a model (--arch MODEL.json); "
            "an architecture has none");
    }
    return 0;
}

static int of_model(const char *text, size_t size, const char *path, const char *isa, int threads,
                    struct carm_sol_arch *arch, struct carm_err *err)
{
    struct carm_model *model = NULL;
    int rc = carm_model_parse(text, size, path, &model, err);
    rc = rc ? rc : carm_sol_arch_of_model(model, isa, threads, arch, err);
    carm_model_free(model);
    return rc;
}

static int of_file(const char *path, const char *isa, int threads, struct carm_sol_arch *arch,
                   struct carm_err *err)
{
    size_t size = 0;
    char *text = NULL;
    int rc = load(path, &text, &size, err);
    if (rc == 0 && text[strspn(text, " \t\r\n")] == '{') {
        rc = of_model(text, size, name_of(path), isa, threads, arch, err);
    } else if (rc == 0) {
        rc = model_only(isa, threads, err);
        rc = rc ? rc : carm_sol_arch_parse(text, size, name_of(path), arch, err);
    }
    free(text);
    return rc;
}

static int of_this_machine(const char *isa, int threads, struct carm_sol_arch *arch,
                           struct carm_err *err)
{
    char path[PATH_MAX], names[NAMES_MAX];
    struct carm_err ignored;
    if (carm_default_model_path(path, sizeof path, &ignored) == 0 && access(path, F_OK) == 0) {
        return of_file(path, isa, threads, arch, err);
    }
    return carm_fail(err, CARM_EINVAL,
                     "name the machine with --arch: %s, a YAML file or a model.json; `carm build` "
                     "measures this CPU and is then the default",
                     list_names(names, sizeof names, carm_sol_arch_names()));
}

int carm_sol_machine_open(const char *operand, const char *isa, int threads,
                          struct carm_sol_arch *arch, struct carm_err *err)
{
    if (!operand) {
        return of_this_machine(isa, threads, arch, err);
    }
    if (!may_be_name(operand)) {
        return of_file(operand, isa, threads, arch, err);
    }
    size_t size = 0;
    const char *text = carm_sol_arch_text(operand, &size);
    if (!text) {
        char name[64], names[NAMES_MAX];
        return carm_fail(err, CARM_EINVAL,
                         "there is neither a file nor an architecture \"%s\"; the architectures "
                         "are %s",
                         carm_text_clean(name, sizeof name, operand, false),
                         list_names(names, sizeof names, carm_sol_arch_names()));
    }
    const int rc = model_only(isa, threads, err);
    return rc ? rc : carm_sol_arch_parse(text, size, operand, arch, err);
}
