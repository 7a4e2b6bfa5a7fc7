/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/open.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/job.h"
#include "models/sol/load.h"
#include "base/text.h"
#include "models/model.h"
#include "models/sol/data.h"
#include "models/sol/yaml.h"

enum { NAMES_MAX = 320 };
#define GRAPH_BYTES_MAX ((size_t)2 << 30)
#define ARCH_BYTES_MAX  ((size_t)64 << 20)

/* ---- names ------------------------------------------------------------------------------------- */

static void add_name(char *dst, size_t size, const char *name)
{
    const size_t used = strlen(dst);
    (void)snprintf(dst + used, size - used, "%s%s", used ? ", " : "", name);
}

static const char *list_names(char *dst, size_t size, const char *const *names)
{
    *dst = '\0';
    for (; *names; names++) {
        add_name(dst, size, *names);
    }
    return dst;
}

/* Whether an operand can be one of carm's own names: a file of that name goes before it. */
static bool may_be_name(const char *operand)
{
    return !strpbrk(operand, "/.") && strcmp(operand, "-") != 0 && access(operand, F_OK) != 0;
}

/* ---- files ------------------------------------------------------------------------------------- */

static bool is_regular(const char *path)
{
    struct stat st;
    return strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

/* ---- graph or analysis ------------------------------------------------------------------------- */

static bool is_word(const struct carm_yaml_item *item, const char *word)
{
    return item->kind == CARM_YAML_SCALAR && strcmp(item->text, word) == 0;
}

/* The first layer's keys: an analysis counts, a graph names tensors. */
static int look_at_layer(struct carm_yaml *yaml, bool *analysis, struct carm_err *err)
{
    struct carm_yaml_item item;
    int rc = carm_yaml_next(yaml, &item, err);
    for (int depth = 0; depth < 2 && rc == 0; depth++) {
        if (item.kind != (depth == 0 ? CARM_YAML_MAP : CARM_YAML_SCALAR)) {
            return 0;
        }
        rc = carm_yaml_next(yaml, &item, err);
    }
    if (rc || item.kind != CARM_YAML_MAP) {
        return rc;
    }
    while ((rc = carm_yaml_next(yaml, &item, err)) == 0 && item.kind == CARM_YAML_SCALAR) {
        if (is_word(&item, "tensor_names")) {
            return 0;
        }
        if (is_word(&item, "macs") || is_word(&item, "unfused_elements")) {
            *analysis = true;
            return 0;
        }
        rc = carm_yaml_skip(yaml, err);
        if (rc) {
            break;
        }
    }
    return rc;
}

/* Reads as far as it takes to know what the file is: of a large one, its first layer. */
static int look(struct carm_yaml *yaml, bool *analysis, struct carm_err *err)
{
    struct carm_yaml_item item;
    *analysis = false;
    int rc = carm_yaml_next(yaml, &item, err);
    if (rc || item.kind != CARM_YAML_MAP) {
        return rc;
    }
    while ((rc = carm_yaml_next(yaml, &item, err)) == 0 && item.kind == CARM_YAML_SCALAR) {
        if (is_word(&item, "total")) {
            *analysis = true;
            return 0;
        }
        if (is_word(&item, "model_name")) {
            return 0;
        }
        if (is_word(&item, "layers")) {
            return look_at_layer(yaml, analysis, err);
        }
        rc = carm_yaml_skip(yaml, err);
        if (rc) {
            break;
        }
    }
    return rc;
}

static int read_text(const char *text, size_t size, const char *name, struct carm_sol_input *input,
                     struct carm_err *err)
{
    struct carm_yaml *yaml = NULL;
    bool analysis = false;
    int rc = carm_yaml_open_text(text, size, name, &yaml, err);
    rc = rc ? rc : look(yaml, &analysis, err);
    carm_yaml_close(yaml);
    if (rc) {
        return rc;
    }
    return analysis ? carm_sol_analysis_parse(text, size, name, &input->analysis, err)
                    : carm_sol_graph_parse(text, size, name, &input->graph, err);
}

static int read_file(const char *path, struct carm_sol_input *input, struct carm_err *err)
{
    struct carm_yaml *yaml = NULL;
    bool analysis = false;
    int rc = carm_yaml_open(path, &yaml, err);
    rc = rc ? rc : look(yaml, &analysis, err);
    carm_yaml_close(yaml);
    if (rc) {
        return rc;
    }
    return analysis ? carm_sol_analysis_read(path, &input->analysis, err)
                    : carm_sol_graph_open(path, &input->graph, err);
}

/* A pipe can be read once only: it is taken into memory first. */
static int read_pipe(const char *path, struct carm_sol_input *input, struct carm_err *err)
{
    size_t size = 0;
    int rc = 0;
    char *text = carm_sol_load(path, GRAPH_BYTES_MAX, &size, &rc, err);
    if (text) {
        rc = read_text(text, size, strcmp(path, "-") == 0 ? "standard input" : path, input, err);
    }
    free(text);
    return rc;
}

static int read_example(const char *operand, struct carm_sol_input *input, struct carm_err *err)
{
    char name[64], names[NAMES_MAX];
    size_t size = 0;
    const char *text = carm_sol_example_text(operand, &size);
    if (text) {
        return read_text(text, size, operand, input, err);
    }
    return carm_fail(err, CARM_EINVAL,
                     "there is neither a file nor an example \"%s\"; the examples are %s",
                     carm_text_clean(name, sizeof name, operand, false),
                     list_names(names, sizeof names, carm_sol_example_names()));
}

/* An analysis has no name of its own: the file's, without folders and ending. */
static char *name_of_file(const char *operand)
{
    const char *slash = strrchr(operand, '/');
    const char *base = slash ? slash + 1 : operand;
    const char *dot = strrchr(base, '.');
    if (strcmp(operand, "-") == 0) {
        return strdup("analysis");
    }
    return dot && dot > base ? strndup(base, (size_t)(dot - base)) : strdup(base);
}

int carm_sol_input_open(const char *operand, struct carm_sol_input *input, struct carm_err *err)
{
    memset(input, 0, sizeof *input);
    int rc = may_be_name(operand)  ? read_example(operand, input, err)
             : is_regular(operand) ? read_file(operand, input, err)
                                   : read_pipe(operand, input, err);
    if (rc == 0 && input->graph) {
        rc = carm_sol_analyse(input->graph, &input->analysis, err);
    }
    if (rc) {
        return rc;
    }
    input->name = input->graph ? strdup(input->graph->name) : name_of_file(operand);
    return input->name ? 0 : carm_fail(err, CARM_ENOMEM, "not enough memory for a graph");
}

void carm_sol_input_close(struct carm_sol_input *input)
{
    carm_sol_analysis_close(input->analysis);
    carm_sol_graph_close(input->graph);
    free(input->name);
    memset(input, 0, sizeof *input);
}

/* ---- architecture ------------------------------------------------------------------------------ */

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
    int rc = 0;
    char *text = carm_sol_load(path, ARCH_BYTES_MAX, &size, &rc, err);
    if (!text) {
        return rc;
    }
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    if (text[strspn(text, " \t\r\n")] == '{') {
        rc = of_model(text, size, name, isa, threads, arch, err);
    } else {
        rc = model_only(isa, threads, err);
        rc = rc ? rc : carm_sol_arch_parse(text, size, name, arch, err);
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
