/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `carm place --intensity`: the roofs at an intensity, before there is any point. */
#include "cli/place/print.h"

#include <stdio.h>

#include "base/json_write.h"
#include "base/number.h"
#include "base/text.h"

enum { INTENSITIES_MAX = 64, TEXT_MAX = 6144 };

/* Limits beyond any program's intensity; products with a rate stay finite. */
static const double least = 1e-9;
static const double most = 1e9;

static int read_list(const char *list, double values[INTENSITIES_MAX], size_t *n,
                     struct carm_err *err)
{
    const char *at = list;
    for (*n = 0; *n < INTENSITIES_MAX; at++) {
        double v = 0.0;
        const char *end = carm_number_ratio(at, &v);
        if (!end || !(v >= least && v <= most) || (*end && *end != ',')) {
            return carm_fail(err, CARM_EINVAL,
                             "--intensity needs numbers from %g to %g, such as 0.25,1/2,8, not "
                             "'%.60s'",
                             least, most, list);
        }
        values[(*n)++] = v;
        at = end;
        if (!*at) {
            return 0;
        }
    }
    return carm_fail(err, CARM_EINVAL, "--intensity takes up to %d numbers", INTENSITIES_MAX);
}

static const struct carm_ceiling *roof_of(const struct carm_place *p)
{
    return &p->ceilings[p->nceilings - 1];
}

/* "L1 12.3 Gflop/s, L2 ...", the highest first, without the roof. */
static void list_ceilings(char *dst, size_t size, const struct carm_place *p, const char *unit)
{
    char number[CARM_NAME_MAX + 32];
    *dst = '\0';
    for (size_t i = p->nceilings - 1; i-- > 0;) {
        const struct carm_ceiling *c = &p->ceilings[i];
        carm_text_list(dst, size, ", ", "%s %s", c->name,
                       carm_text_si(number, sizeof number, c->at, unit));
    }
}

static void put_side(const struct carm_place_printer *pr, const struct carm_place_set *set,
                     enum carm_place_which which, double intensity)
{
    static const char *const heads[] = {"  cache-aware:", "  original:"};
    static char text[TEXT_MAX], list[TEXT_MAX - 256];
    char metric[CARM_NAME_MAX], unit[CARM_NAME_MAX + 2], number[CARM_NAME_MAX + 32];
    struct carm_place p;
    struct carm_err err = {""};
    snprintf(unit, sizeof unit, "%s/s", carm_place_unit(metric, pr));
    if (carm_place_intensity(set, which, intensity, &p, &err)) {
        carm_place_table_note(pr, heads[which], err.text);
        return;
    }
    list_ceilings(list, sizeof list, &p, unit);
    snprintf(text, sizeof text, "roof %s (%s)%s%s",
             carm_text_si(number, sizeof number, p.roof, unit), roof_of(&p)->name,
             *list ? "; below it: " : "", list);
    carm_place_table_note(pr, heads[which], text);
    if (p.has_region) {
        snprintf(text, sizeof text, "%s; in reach, in order: %s", carm_region_name(p.region),
                 carm_place_gains_text(list, sizeof list, set, &p));
        carm_place_table_note(pr, "    region:", text);
    }
}

static void put_table(const struct carm_place_printer *pr, const struct carm_model *model,
                      const struct carm_place_choice *choice, const double *values, size_t n)
{
    char host[CARM_TEXT_MAX], isa[CARM_NAME_MAX], precision[CARM_NAME_MAX], unit[CARM_NAME_MAX];
    const struct carm_roofs *r = choice->set->roofs;
    fprintf(pr->out, "Roofs of %.60s, %.16s %.16s, %d thread%s; no point is known\n",
            carm_text_clean(host, sizeof host, carm_machine_host(&model->machine), pr->ascii),
            carm_text_clean(isa, sizeof isa, r->isa, pr->ascii),
            carm_text_clean(precision, sizeof precision, r->precision, pr->ascii), r->threads,
            r->threads == 1 ? "" : "s");
    for (size_t i = 0; i < n; i++) {
        fprintf(pr->out, "\n%.4g %s/byte\n", values[i], carm_place_unit(unit, pr));
        put_side(pr, choice->set, CARM_PLACE_CACHE_AWARE, values[i]);
        put_side(pr, choice->set, CARM_PLACE_ORIGINAL, values[i]);
    }
    if (!pr->regions) {
        fputs("\ncarm build --ceilings measures what each optimisation can give here\n", pr->out);
    }
}

static void put_json_side(FILE *out, const struct carm_place_set *set, enum carm_place_which which,
                          double intensity)
{
    char number[CARM_NUMBER_MAX];
    struct carm_place p;
    struct carm_err err = {""};
    fputs(which == CARM_PLACE_CACHE_AWARE ? ", \"cache_aware\": " : ", \"original\": ", out);
    if (carm_place_intensity(set, which, intensity, &p, &err)) {
        fputs("null", out);
        return;
    }
    fprintf(out, "{\"roof\": %s", carm_number_short(number, p.roof));
    fprintf(out, ", \"bound\": \"%s\", \"ceilings\": [", carm_bound_name(p.bound));
    for (size_t i = p.nceilings; i-- > 0;) {
        fputs("{\"name\": ", out);
        carm_json_put_string(out, p.ceilings[i].name);
        fprintf(out, ", \"kind\": \"%s\", \"performance\": %s, \"roof\": %s}%s",
                p.ceilings[i].compute ? "compute" : "memory",
                carm_number_short(number, p.ceilings[i].at), p.ceilings[i].roof ? "true" : "false",
                i ? ", " : "");
    }
    fputs("]", out);
    if (p.has_region) {
        carm_place_json_region(out, set, &p);
    }
    fputs("}", out);
}

static void put_json(const struct carm_place_printer *pr, const struct carm_place_choice *choice,
                     const double *values, size_t n)
{
    char number[CARM_NUMBER_MAX];
    fputs("[", pr->out);
    for (size_t i = 0; i < n; i++) {
        fprintf(pr->out, "%s\n {\"intensity\": %s, \"metric\": ", i ? "," : "",
                carm_number_short(number, values[i]));
        carm_json_put_string(pr->out, *pr->metric ? pr->metric : "flop");
        put_json_side(pr->out, choice->set, CARM_PLACE_CACHE_AWARE, values[i]);
        put_json_side(pr->out, choice->set, CARM_PLACE_ORIGINAL, values[i]);
        fputs("}", pr->out);
    }
    fputs("\n]\n", pr->out);
}

int carm_place_intensities(struct carm_place_printer *printer, const struct carm_model *model,
                           struct carm_place_choices *choices, const char *list,
                           struct carm_err *err)
{
    double values[INTENSITIES_MAX];
    size_t n = 0;
    struct carm_place_choice choice;
    struct carm_point any = {.name = "", .isa = "", .precision = "", .metric = ""};
    for (int i = 0; i < CARM_RUNMIX_COUNT; i++) {
        any.mix.q[i] = CARM_POINT_UNKNOWN;
    }
    const int rc = read_list(list, values, &n, err);
    if (rc) {
        return rc;
    }
    carm_place_choose(choices, &any, &choice);
    if (printer->format == CARM_PLACE_JSON) {
        put_json(printer, &choice, values, n);
    } else {
        put_table(printer, model, &choice, values, n);
    }
    return 0;
}
