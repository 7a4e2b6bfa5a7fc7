/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/file/sol/open.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/job.h"
#include "base/text.h"
#include "models/file/sol/analysis.h"
#include "models/file/sol/arch.h"
#include "models/file/sol/graph.h"
#include "models/file/sol/yaml.h"
#include "models/model.h"
#include "models/sol/machine.h"

enum { NAMES_MAX = 320 };
#define GRAPH_BYTES_MAX ((size_t)2 << 30)
#define ARCH_BYTES_MAX  ((size_t)64 << 20)

/* Put into the program by the build, zero-terminated: data/sol-NAME.yaml. */
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
    for (size_t used = 0; *names && used < size; names++) {
        used += (size_t)snprintf(dst + used, size - used, "%s%s", used ? ", " : "", *names);
    }
    return dst;
}

/* Whether an operand can be one of carm's own names: a file of that name goes before it. */
static bool may_be_name(const char *operand)
{
    return !strpbrk(operand, "/.") && strcmp(operand, "-") != 0 && access(operand, F_OK) != 0;
}

/* A pipe may have no end: the part that has come so far is looked at once. */
#define EARLY_BYTES ((size_t)8 << 20)
typedef int early_check(const char *path, const char *text, size_t size, struct carm_err *err);

static int fail_read(struct carm_err *err, const char *path)
{
    const int e = errno;
    char name[256];
    carm_fail(err, CARM_EIO, "%s cannot be read: %s",
              carm_text_clean(name, sizeof name, path, false), strerror(e));
    return -CARM_EIO;
}

/* early  called once, when as much as EARLY_BYTES have come: whether it is worth going on; NULL = yes */
static int load_stream(FILE *in, const char *path, size_t most, early_check *early, char **text,
                       size_t *size, struct carm_err *err)
{
    size_t room = 0, n = 1;
    for (*size = 0; n > 0 && *size <= most; *size += n) {
        if (early && *size >= EARLY_BYTES) {
            const int rc = early(path, *text, *size, err);
            if (rc) {
                return rc;
            }
            early = NULL;
        }
        const int rc = carm_array_grow(text, &room, *size, 1 << 16, 1, "a file", err);
        if (rc) {
            return rc;
        }
        n = fread(*text + *size, 1, room - *size - 1, in);
    }
    (*text)[*size] = '\0';
    if (*size > most) {
        return carm_fail(err, CARM_EFORMAT,
                         "%.200s has more than %zu MiB, which is too much for such a file", path,
                         most >> 20);
    }
    return ferror(in) ? fail_read(err, path) : 0;
}

/* All of a file, a pipe, or standard input ("-").
 * most  bytes; more are refused early see load_stream
 * text  out: zero-terminated; to be released with free, NULL on failure
 * returns 0, -CARM_EIO, -CARM_EFORMAT (too large) or -CARM_ENOMEM */
static int load(const char *path, size_t most, early_check *early, char **text, size_t *size,
                struct carm_err *err)
{
    const bool standard = strcmp(path, "-") == 0;
    FILE *in = standard ? stdin : fopen(path, "rbe");
    *text = NULL;
    const int rc = in ? load_stream(in, path, most, early, text, size, err) : fail_read(err, path);
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

static bool is_regular(const char *path)
{
    struct stat st;
    return strcmp(path, "-") != 0 && stat(path, &st) == 0 && S_ISREG(st.st_mode);
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
    while (carm_yaml_more_keys(yaml, &item, &rc, err)) {
        *analysis = strcmp(item.text, "macs") == 0 || strcmp(item.text, "unfused_elements") == 0;
        if (*analysis || strcmp(item.text, "tensor_names") == 0) {
            return 0;
        }
        rc = carm_yaml_skip(yaml, err);
    }
    return rc;
}

/* Reads until the kind of the file is known: of a large one, its first layer. */
static int look(struct carm_yaml *yaml, bool *analysis, struct carm_err *err)
{
    struct carm_yaml_item item;
    *analysis = false;
    int rc = carm_yaml_next(yaml, &item, err);
    if (rc || item.kind != CARM_YAML_MAP) {
        return rc;
    }
    while (carm_yaml_more_keys(yaml, &item, &rc, err)) {
        if (strcmp(item.text, "layers") == 0) {
            return look_at_layer(yaml, analysis, err);
        }
        *analysis = strcmp(item.text, "total") == 0;
        if (*analysis || strcmp(item.text, "model_name") == 0) {
            return 0;
        }
        rc = carm_yaml_skip(yaml, err);
    }
    return rc;
}

/* Refuses a text that cannot become a graph or an analysis, however it goes on. */
static int check_early(const char *path, const char *text, size_t size, struct carm_err *err)
{
    struct carm_yaml *yaml = NULL;
    struct carm_yaml_item item;
    const char *name = name_of(path);
    int rc = carm_yaml_open_text(text, size, name, &yaml, err);
    rc = rc ? rc : carm_yaml_next(yaml, &item, err);
    if (rc == 0 && item.kind != CARM_YAML_MAP) {
        rc = carm_yaml_refuse(yaml, item.line, err,
                              "not an einsum graph, which is a map with model_name and layers");
    }
    carm_yaml_close(yaml);
    return rc;
}

/* text  NULL: the regular file of that name is read, twice */
static int read_input(const char *name, const char *text, size_t size, struct carm_sol_input *input,
                      struct carm_err *err)
{
    struct carm_yaml *yaml = NULL;
    bool analysis = false;
    int rc =
        text ? carm_yaml_open_text(text, size, name, &yaml, err) : carm_yaml_open(name, &yaml, err);
    rc = rc ? rc : look(yaml, &analysis, err);
    carm_yaml_close(yaml);
    if (rc) {
        return rc;
    }
    if (text) {
        return analysis ? carm_sol_analysis_parse(text, size, name, &input->analysis, err)
                        : carm_sol_graph_parse(text, size, name, &input->graph, err);
    }
    return analysis ? carm_sol_analysis_read(name, &input->analysis, err)
                    : carm_sol_graph_open(name, &input->graph, err);
}

/* A pipe can be read once only: it is taken into memory first. */
static int read_pipe(const char *path, struct carm_sol_input *input, struct carm_err *err)
{
    size_t size = 0;
    char *text = NULL;
    int rc = load(path, GRAPH_BYTES_MAX, check_early, &text, &size, err);
    rc = rc ? rc : read_input(name_of(path), text, size, input, err);
    free(text);
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

/* An analysis has no name of its own, nor has every graph: the file's, without folders and
 * ending. nameless: of standard input */
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
    int rc = may_be_name(operand)  ? read_example(operand, input, err)
             : is_regular(operand) ? read_input(operand, NULL, 0, input, err)
                                   : read_pipe(operand, input, err);
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
    int rc = load(path, ARCH_BYTES_MAX, NULL, &text, &size, err);
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
