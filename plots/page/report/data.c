/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/page/report/data.h"

#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/number.h"
#include "base/text.h"
#include "base/version.h"
#include "models/ceilings.h"
#include "models/file/points.h"
#include "models/latency.h"
#include "models/scaling.h"
#include "plots/page/report/many.h"

static void put_chain(FILE *out, const char *name, const struct carm_ceiling *list, size_t n)
{
    char rate[CARM_NUMBER_MAX], low[CARM_NUMBER_MAX], high[CARM_NUMBER_MAX];
    fprintf(out, ", \"%s\": [", name);
    for (size_t i = 0; i < n; i++) {
        fputs(i ? ", {\"name\": " : "{\"name\": ", out);
        carm_json_put_string(out, list[i].name);
        fputs(", \"step\": ", out);
        carm_json_put_string(out, list[i].step);
        fprintf(out, ", \"rate\": %s, \"ci95\": [%s, %s], \"aside\": %s}",
                carm_number_exact(rate, list[i].rate), carm_number_exact(low, list[i].ci95.lo),
                carm_number_exact(high, list[i].ci95.hi), list[i].aside ? "true" : "false");
    }
    fputc(']', out);
}

/* Writes the chains of optimisations, derived from the measured ceilings as in `carm show`. */
static void put_chains(FILE *out, const struct carm_model *model, struct carm_ceilings *ceilings)
{
    size_t n = 0;
    fputc('[', out);
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        if (r->nceilings == 0 ||
            carm_ceilings_of_roofs(model, r, CARM_BALANCE_TOP, ceilings, NULL) != 0) {
            continue;
        }
        fputs(n++ ? ",\n {\"isa\": " : "{\"isa\": ", out);
        carm_json_put_string(out, r->isa);
        fputs(", \"precision\": ", out);
        carm_json_put_string(out, r->precision);
        fprintf(out, ", \"threads\": %d", r->threads);
        put_chain(out, "memory", ceilings->memory, ceilings->nmemory);
        put_chain(out, "compute", ceilings->compute, ceilings->ncompute);
        fputc('}', out);
    }
    fputc(']', out);
}

/* Writes sentences on the curves over threads and on the memory domains. */
static void put_sentences(FILE *out, const struct carm_model *model)
{
    char lines[CARM_SCALING_STEPS][CARM_SCALING_LINE];
    char domains[CARM_SCALING_STEPS][CARM_NUMA_LINE];
    const size_t n = carm_scaling_say(model, lines, CARM_SCALING_STEPS);
    const size_t ndomains = carm_numa_say(model, domains, CARM_SCALING_STEPS);
    fputs(",\n\"scaling\": [", out);
    for (size_t i = 0; i < n; i++) {
        fputs(i ? ", " : "", out);
        carm_json_put_string(out, lines[i]);
    }
    fputs("],\n\"domains\": [", out);
    for (size_t i = 0; i < ndomains; i++) {
        fputs(i ? ", " : "", out);
        carm_json_put_string(out, domains[i]);
    }
    fputc(']', out);
}

struct places {
    const struct carm_model *model;
    const struct carm_points_how *how;
    struct carm_place_choices *choices;
    struct carm_report_points *points;
    struct carm_point counted;
    struct carm_placed placed; /* static: its ceilings are too large for the stack */
};

static int add_point(struct places *s, const struct carm_point *point, size_t file,
                     struct carm_err *err)
{
    struct carm_place_choice choice;
    char host[192];
    carm_place_other_host(point, s->model, host, sizeof host);
    carm_place_choose(s->choices, point, &choice);
    const char *unplaced = carm_placed_count(&s->counted, point, &choice);
    carm_placed_fill(&s->placed, &s->counted, &choice, unplaced, host);
    return carm_report_points_add(s->points, &s->placed, file, err);
}

static int read_points(struct places *s, const char *path, size_t file, struct carm_err *err)
{
    struct carm_points *points = NULL;
    struct carm_point point;
    int rc = carm_points_open(path, s->how, &points, err);
    while (!rc) {
        rc = carm_points_next(points, &point, err);
        if (rc <= 0) {
            break;
        }
        rc = add_point(s, &point, file, err);
    }
    carm_points_close(points);
    return rc;
}

/* Writes "places" of all points of the files, as in `carm place --json`; [] without points. */
static int put_places(FILE *out, const struct carm_report_input *in, struct carm_err *err)
{
    const struct carm_model *model = in->model;
    const size_t n = in->npoints;
    const struct carm_place_words words = {NULL, NULL, NULL, NULL, NULL, NULL};
    if (n == 0) {
        fputs(",\n\"places\": []", out);
        return 0;
    }
    struct places *s = calloc(1, sizeof *s);
    if (!s) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to place points");
    }
    s->model = model;
    s->how = in->how;
    s->points = carm_report_points_open();
    int rc = s->points ? carm_place_choices_open(&s->choices, model, &words, err)
                       : carm_fail(err, CARM_ENOMEM, "not enough memory to place points");
    for (size_t i = 0; i < n && !rc; i++) {
        rc = read_points(s, in->points[i], i, err);
    }
    if (!rc && carm_report_points_count(s->points) == 0) {
        rc = carm_fail(err, CARM_EINVAL, "no points: %.200s%s only a header", in->points[0],
                       n > 1 ? " and the other files have" : " has");
    }
    rc = rc ? rc : carm_report_points_put(out, s->points, err);
    carm_report_points_close(s->points);
    carm_place_choices_close(s->choices);
    free(s);
    return rc;
}

static int put_object(FILE *out, const struct carm_report_input *in, struct carm_err *err)
{
    char now[CARM_NAME_MAX];
    struct carm_ceilings *ceilings = malloc(sizeof *ceilings);
    if (!ceilings) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the report");
    }
    fputs("{\"title\": ", out);
    carm_json_put_string(out, in->title ? in->title : "");
    fprintf(out, ",\n\"generated\": \"%s\",\n\"version\": \"%s\",\n\"model\": ",
            carm_text_now(now, sizeof now), carm_version);
    fputs(in->text, out);
    fputs(",\n\"ceilings\": ", out);
    put_chains(out, in->model, ceilings);
    free(ceilings);
    put_sentences(out, in->model);
    const int rc = put_places(out, in, err);
    fprintf(out, ",\n\"loops\": %s}\n", in->loops ? in->loops : "[]");
    return rc;
}

int carm_report_data(const struct carm_report_input *input, char **text, struct carm_err *err)
{
    char *data = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&data, &size);
    *text = NULL;
    if (!out) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the report");
    }
    int rc = put_object(out, input, err);
    const bool bad = ferror(out) != 0;
    if ((fclose(out) != 0 || bad) && !rc) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for the report");
    }
    if (rc) {
        free(data);
        return rc;
    }
    *text = data;
    return 0;
}

void carm_report_put_escaped(FILE *out, const char *json)
{
    static const char separator[] = "\xe2\x80"; /* first bytes of U+2028 and U+2029, which end in a8
                                                 * and a9 */
    const char *at = json;
    while (*at) {
        const size_t plain = strcspn(at, "<>&\xe2");
        fwrite(at, 1, plain, out);
        at += plain;
        if (!*at) {
            break;
        }
        const bool line = strncmp(at, separator, 2) == 0 && (at[2] == '\xa8' || at[2] == '\xa9');
        if (line) {
            fputs(at[2] == '\xa8' ? "\\u2028" : "\\u2029", out);
        } else if (*at == '\xe2') {
            fputc((unsigned char)*at, out);
        } else {
            fprintf(out, "\\u%04x", (unsigned)(unsigned char)*at);
        }
        at += line ? 3 : 1;
    }
}
