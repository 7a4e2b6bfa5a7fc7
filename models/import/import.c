/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/import/import.h"

#include <stdlib.h>
#include <string.h>

#include "models/import/readers.h"

struct carm_import_format {
    const char *word, *title;
    /* JSON: the first member of the file's object has one of these names; ended by NULL */
    const char *members[10];
    /* other text: a line begins with `begins`, or some line contains `holds` */
    const char *begins, *holds;
    int (*points)(struct carm_import *in, struct carm_err *err);
    int (*roofs)(struct carm_import *in, struct carm_model *model, struct carm_err *err);
};

static const struct carm_import_format formats[] = {
    {"google-benchmark",
     "Google Benchmark",
     {"context", "benchmarks", NULL},
     NULL,
     NULL,
     carm_import_google,
     NULL},
    {"hyperfine",
     "hyperfine",
     {"results", "schema_version", NULL},
     NULL,
     NULL,
     carm_import_hyperfine,
     NULL},
    {"perf",
     "perf stat",
     {"counter-value", "interval", "metric-value", "core", "socket", "die", "node", "thread", "cpu",
      NULL},
     NULL,
     NULL,
     carm_import_perf,
     NULL},
    {"likwid", "likwid-perfctr", {NULL}, "TABLE,", NULL, carm_import_likwid, NULL},
    {"advisor",
     "Intel Advisor",
     {NULL},
     NULL,
     "Function Call Sites and Loops",
     carm_import_advisor,
     NULL},
    {"carm-tool", "CARM Tool", {NULL}, "Date,Method,Name,ISA,", NULL, carm_import_carm_tool, NULL},
    {"ert", "ERT", {"empirical", "spec", NULL}, NULL, NULL, NULL, carm_import_ert_roofs},
    {"carm-tool-roofs", "CARM Tool", {NULL}, "Name:,", NULL, NULL, carm_import_carm_tool_roofs},
};
enum { FORMATS = sizeof formats / sizeof *formats };

/* Whether the text up to end begins with name in quotes and a colon. */
static bool is_member(const char *text, const char *end, const char *name)
{
    const size_t n = strlen(name);
    if ((size_t)(end - text) < n + 3 || *text != '"' || memcmp(text + 1, name, n) != 0 ||
        text[n + 1] != '"') {
        return false;
    }
    text += n + 2;
    while (text < end && strchr(" \t\r\n", *text)) {
        text++;
    }
    return text < end && *text == ':';
}

static const char *skip(const char *text, const char *end, const char *blanks)
{
    while (text < end && *text && strchr(blanks, *text)) {
        text++;
    }
    return text;
}

static const struct carm_import_format *detect_json(const char *text, const char *end)
{
    text = skip(text + 1, end, " \t\r\n");
    for (size_t i = 0; i < FORMATS; i++) {
        for (size_t k = 0; formats[i].members[k]; k++) {
            if (is_member(text, end, formats[i].members[k])) {
                return &formats[i];
            }
        }
    }
    return NULL;
}

static const struct carm_import_format *detect_line(const char *line, size_t n)
{
    for (size_t i = 0; i < FORMATS; i++) {
        const struct carm_import_format *f = &formats[i];
        if ((f->begins && strlen(f->begins) <= n && !memcmp(line, f->begins, strlen(f->begins))) ||
            (f->holds && memmem(line, n, f->holds, strlen(f->holds)))) {
            return f;
        }
    }
    return NULL;
}

const struct carm_import_format *carm_import_detect(const char *text, size_t n)
{
    const char *end = text + n;
    bool first = true; /* only comments and empty lines so far */
    while (text < end) {
        const char *line = skip(text, end, " \t\r\n");
        const char *next = line < end ? memchr(line, '\n', (size_t)(end - line)) : NULL;
        next = next ? next : end;
        if (first && line < end && *line == '{') {
            return detect_json(line, end);
        }
        const struct carm_import_format *f = detect_line(line, (size_t)(next - line));
        if (f) {
            return f;
        }
        /* a file of points has the names of columns in its first line; likwid's tables follow the
         * program's output */
        const size_t length = (size_t)(next - line);
        if (first && memmem(line, length, "name", 4) && memmem(line, length, "seconds", 7)) {
            return NULL;
        }
        first = first && (line == end || *line == '#');
        text = next + 1;
    }
    return NULL;
}

int carm_import_find(const char *word, const struct carm_import_format **out, struct carm_err *err)
{
    *out = NULL;
    if (!word || strcmp(word, "auto") == 0 || strcmp(word, "points") == 0) {
        return 0;
    }
    for (size_t i = 0; i < FORMATS; i++) {
        if (formats[i].points && strcmp(word, formats[i].word) == 0) {
            *out = &formats[i];
            return 0;
        }
    }
    return carm_fail(err, CARM_EINVAL,
                     "--format is auto, points, google-benchmark, hyperfine, perf, likwid, advisor "
                     "or carm-tool, not '%.40s'",
                     word);
}

bool carm_import_has_roofs(const struct carm_import_format *format)
{
    return format->roofs != NULL;
}

int carm_import_points(const struct carm_import_format *format, struct carm_csv *csv, bool runs,
                       struct carm_import_rows **rows, struct carm_err *err)
{
    struct carm_import in = {.csv = csv, .name = carm_csv_name(csv), .runs = runs};
    *rows = NULL;
    if (!format->points) {
        return carm_fail(err, CARM_EINVAL,
                         "%.200s has roofs of %s, no points: name it first, in place of a model",
                         in.name, format->title);
    }
    int rc = carm_import_rows_open(&in.rows, err);
    rc = rc ? rc : format->points(&in, err);
    if (rc) {
        carm_import_rows_close(in.rows);
        return rc;
    }
    *rows = in.rows;
    return 0;
}

int carm_import_roofs(const struct carm_import_format *format, struct carm_csv *csv,
                      struct carm_model **out, struct carm_err *err)
{
    struct carm_import in = {.csv = csv, .name = carm_csv_name(csv)};
    struct carm_model *model = calloc(1, sizeof *model);
    *out = NULL;
    if (!model) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to read %.200s", in.name);
    }
    snprintf(model->roofs_of, sizeof model->roofs_of, "%s", format->title);
    const int rc = format->roofs(&in, model, err);
    /* in place of the CPU's name, in titles and tables */
    snprintf(model->machine.cpu, sizeof model->machine.cpu, "roofs of %s", model->roofs_of);
    if (rc) {
        carm_model_free(model);
        return rc;
    }
    *out = model;
    return 0;
}
