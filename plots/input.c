/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/input.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "models/file/points.h"
#include "models/file/select.h"

enum { REASONS_MAX = 4 };

/* The reasons why rows have no place, and the number of rows of each. */
struct reasons {
    char why[REASONS_MAX][96];
    size_t rows[REASONS_MAX], n, others;
};

static size_t model_of(const struct carm_plot_input *in, const char *host)
{
    for (size_t i = 0; i < in->nmodels && *host; i++) {
        if (carm_select_same_host(host, in->models[i]->machine.hostname)) {
            return i;
        }
    }
    return 0;
}

static void add_reason(struct reasons *r, const char *why)
{
    size_t i = 0;
    while (i < r->n && strncmp(r->why[i], why, sizeof r->why[i] - 1) != 0) {
        i++;
    }
    if (i == REASONS_MAX) {
        r->others++;
        return;
    }
    if (i == r->n) {
        snprintf(r->why[r->n++], sizeof r->why[0], "%s", why);
    }
    r->rows[i]++;
}

void carm_plot_note(const struct carm_plot_input *input, const char *fmt, ...)
{
    char text[CARM_TEXT_MAX];
    CARM_TEXT_OF_ARGS(text, fmt);
    input->note(text);
}

static void tell(const struct carm_plot_input *in, const struct reasons *r, const char *path)
{
    for (size_t i = 0; i < r->n; i++) {
        carm_plot_note(in, "%.128s: %zu row%s left out: %s", path, r->rows[i],
                       r->rows[i] == 1 ? "" : "s", r->why[i]);
    }
    if (r->others > 0) {
        carm_plot_note(in, "%.128s: %zu more left out for other reasons", path, r->others);
    }
}

/* The step in a name: "gemm-2304-3-L3" gives 3, "gemm-2304-v-..." gives -1 */
static int step_of(const char *name)
{
    if (strncmp(name, "gemm-", 5) != 0 || !isdigit((unsigned char)name[5])) {
        return 0;
    }
    const char *at = name + 5 + strspn(name + 5, "0123456789");
    if (at[0] != '-' || !at[1] || at[2] != '-') {
        return 0;
    }
    return at[1] == 'v' ? -1 : at[1] >= '1' && at[1] <= '6' ? at[1] - '0' : 0;
}

static const char *lacks(const struct carm_point *p)
{
    const bool integers = strcmp(p->metric, CARM_METRIC_INTEGERS) == 0;
    const char *why = integers ? carm_point_unplaced_metric(p, CARM_METRIC_INTEGERS)
                      : carm_metric_is_flops(p->metric) ? carm_point_unplaced(p)
                                                        : "it counts another metric than flops";
    if (why) {
        return why;
    }
    return p->bytes > 0.0 || p->dram_bytes > 0.0 ? NULL
           : p->bytes == 0.0 ? "it moves no bytes, so its operational intensity is infinite"
                             : "its bytes were not counted";
}

static int add_point(struct carm_plot_input *in, const struct carm_point *p, struct carm_err *err)
{
    if (in->npoints == CARM_PLOT_POINTS_MAX) {
        return carm_fail(err, CARM_EINVAL, "a picture can show at most %d points; give fewer",
                         CARM_PLOT_POINTS_MAX);
    }
    const int rc = carm_array_grow(&in->points, &in->room, in->npoints, 1, sizeof *in->points,
                                   "the points", err);
    if (rc) {
        return rc;
    }
    struct carm_plot_point *to = &in->points[in->npoints++];
    const bool integers = strcmp(p->metric, CARM_METRIC_INTEGERS) == 0;
    *to = (struct carm_plot_point){.flops = integers ? p->operations : p->flops,
                                   .bytes = p->bytes,
                                   .dram_bytes = p->dram_bytes,
                                   .level_bytes = {p->level_bytes[0], p->level_bytes[1]},
                                   .seconds = carm_point_ran_seconds(p),
                                   .flops_low = p->flops_low,
                                   .flops_high = p->flops_high,
                                   .bytes_low = p->bytes_low,
                                   .bytes_high = p->bytes_high,
                                   .threads = p->threads,
                                   .file = in->nfiles,
                                   .model = model_of(in, p->host),
                                   .step = step_of(p->name)};
    carm_text_clean(to->name, sizeof to->name, p->name, false);
    snprintf(to->precision, sizeof to->precision, "%s", p->precision);
    return 0;
}

static int read_points(struct carm_plot_input *in, const char *path, struct carm_err *err)
{
    struct carm_points *points = NULL;
    struct carm_point p;
    struct reasons reasons = {.n = 0};
    if (in->nfiles == CARM_PLOT_FILES_MAX) {
        return carm_fail(err, CARM_EINVAL,
                         "a picture can show at most %d files of points; join some of them",
                         CARM_PLOT_FILES_MAX);
    }
    int rc = carm_points_open(path, in->how, &points, err);
    while (rc == 0 && (rc = carm_points_next(points, &p, err)) > 0) {
        const char *why = lacks(&p);
        rc = 0;
        if (why) {
            add_reason(&reasons, why);
        } else {
            rc = add_point(in, &p, err);
        }
    }
    carm_points_close(points);
    if (rc == 0) {
        const char *slash = strrchr(path, '/');
        carm_text_clean(in->files[in->nfiles++], sizeof in->files[0],
                        strcmp(path, "-") == 0 ? "standard input"
                        : slash                ? slash + 1
                                               : path,
                        false);
        tell(in, &reasons, path);
    }
    return rc;
}

const char *carm_plot_input_twice(int n, char **operands)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++) {
            if (strcmp(operands[i], operands[k]) == 0) {
                return operands[i];
            }
        }
    }
    return NULL;
}

static int add_model(struct carm_plot_input *in, const char *path, struct carm_err *err)
{
    if (in->nmodels == CARM_PLOT_MODELS_MAX) {
        return carm_fail(err, CARM_EINVAL, "a picture can show at most %d models; name fewer",
                         CARM_PLOT_MODELS_MAX);
    }
    const int rc = carm_select_open(path, &in->models[in->nmodels], NULL, err);
    in->nmodels += rc == 0;
    return rc;
}

int carm_plot_input_read(struct carm_plot_input *input, carm_plot_note_fn *note,
                         const struct carm_points_how *how, int n, char **operands,
                         struct carm_err *err)
{
    memset(input, 0, sizeof *input);
    input->note = note;
    input->how = how;
    int rc = 0, models = 0;
    /* models first, as points look for their hosts' models */
    for (int i = 0; i < n && rc == 0; i++) {
        if (carm_select_is_model(operands[i])) {
            rc = add_model(input, operands[i], err);
            models++;
        }
    }
    if (rc == 0 && models == 0) {
        rc = add_model(input, NULL, err);
    }
    for (int i = 0; i < n && rc == 0; i++) {
        if (!carm_select_is_model(operands[i])) {
            rc = read_points(input, operands[i], err);
        }
    }
    if (rc == 0 && input->nfiles > 0 && input->npoints == 0) {
        return carm_fail(
            err, CARM_EINVAL,
            "no point of %.128s has flops, bytes and seconds; carm place says what is missing in "
            "each row",
            input->files[0]);
    }
    return rc;
}

void carm_plot_input_close(struct carm_plot_input *input)
{
    for (size_t i = 0; i < input->nmodels; i++) {
        carm_model_free(input->models[i]);
    }
    free(input->points);
    memset(input, 0, sizeof *input);
}

void carm_plot_input_name(const struct carm_plot_input *input, size_t model, char *dst, size_t size)
{
    const struct carm_machine *m = &input->models[model]->machine;
    bool host = *m->hostname != '\0', cpu = *m->cpu != '\0';
    for (size_t i = 0; i < input->nmodels; i++) {
        const struct carm_machine *o = &input->models[i]->machine;
        host = host && (i == model || strcmp(o->hostname, m->hostname) != 0);
        cpu = cpu && (i == model || strcmp(o->cpu, m->cpu) != 0);
    }
    if (host || cpu) {
        carm_text_clean(dst, size, host ? m->hostname : m->cpu, false);
    } else {
        snprintf(dst, size, "%zu %.60s", model + 1, m->hostname);
    }
}
