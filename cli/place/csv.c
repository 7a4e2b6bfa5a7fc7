/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The CSV of `carm place`: the columns of points.csv first, so that readers of points read these,
 * too; then the places. */
#include <string.h>

#include "base/csv.h"
#include "base/number.h"
#include "base/text.h"
#include "cli/place/print.h"

enum { TEXT_MAX = 8192 };

/* Writes a comma, and the value if known. */
static void put_known(FILE *out, double v)
{
    char text[CARM_NUMBER_MAX];
    putc_unlocked(',', out);
    if (carm_point_knows(v)) {
        fputs_unlocked(carm_number_exact(text, v), out);
    }
}

static void put_number(FILE *out, double v)
{
    char text[CARM_NUMBER_MAX];
    putc_unlocked(',', out);
    fputs_unlocked(carm_number_short(text, v), out);
}

static void put_next(FILE *out, const char *s)
{
    putc_unlocked(',', out);
    carm_csv_put_clean(out, s);
}

/* Writes the names of the columns for each level. */
static void put_levels_header(FILE *out)
{
    fputs(",l2_bytes,l3_bytes,levels_by", out);
    for (int at = 0; at < CARM_AT_COUNT; at++) {
        static const char *const names[CARM_AT_COUNT] = {"l1", "l2", "l3", "dram"};
        const char *n = names[at];
        fprintf(out, ",%s_intensity,%s_roof,%s_share", n, n, n);
    }
    fputs(",binds,levels_advice,l2_bytes_low,l2_bytes_high,l3_bytes_low,l3_bytes_high,"
          "dram_bytes_low,dram_bytes_high,kind,time_share,limit,limit_by,explains,second,gain_low,"
          "gain_high,advice",
          out);
}

static void put_header(FILE *out, const char *model, bool ceilings, bool region)
{
    static const char *const columns[] = {
        "intensity", "intensity_low", "intensity_high", "roof",     "share", "bound",
        "below",     "below_at",      "above",          "above_at", "left",  "left_roof",
        "over",      "advice",        "own_roof",       "own_share"};
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++) {
        fprintf(out, ",%s_%s", model, columns[i]);
    }
    if (ceilings) {
        fprintf(out, ",%s_ceilings", model);
    }
    if (region) {
        fprintf(out, ",%s_region,%s_optimisations", model, model);
    }
}

void carm_place_csv_begin(const struct carm_place_printer *printer)
{
    fputs("name,flops,bytes,seconds,dram_bytes,threads,isa,precision,counted_by,rows,imbalance,"
          "performance,roofs_isa,roofs_precision,roofs_threads,operations,metric",
          printer->out);
    put_header(printer->out, "aware", printer->ceilings, false);
    put_header(printer->out, "original", printer->ceilings, printer->regions);
    put_levels_header(printer->out);
    fputs(printer->runtime ? ",simd_share,simd_rate,balance_share,balance_rate,"
                             "fp_share,fp_share_rate,prefetch_share,prefetch_rate"
                           : "",
          printer->out);
    fputs(printer->views
              ? ",view,program,job,host,rank,ranks,nodes,work_imbalance,bytes_imbalance,"
                "dram_imbalance,imbalance_lost,imbalance_gain,aware_imbalance_at,"
                "original_imbalance_at,slowest,fastest,most_work,intensity_least,intensity_median,"
                "intensity_most,performance_least,performance_median,performance_most"
              : "",
          printer->out);
    fputs(",note\n", printer->out);
}

static void put_ceilings(FILE *out, const struct carm_place *p)
{
    char text[TEXT_MAX] = "";
    char number[CARM_NUMBER_MAX];
    for (size_t i = p->nceilings; i-- > 0;) {
        const struct carm_ceiling *c = &p->ceilings[i];
        carm_text_list(text, sizeof text, "; ", "%s %s", c->name,
                       carm_number_short(number, c->at / p->performance));
    }
    put_next(out, text);
}

static void put_place(const struct carm_place_printer *pr, const struct carm_placed *d, int which)
{
    FILE *out = pr->out;
    const struct carm_place *p = &d->place[which];
    if (!d->has[which]) {
        fputs_unlocked(",,,,,,,,,,,,,", out); /* no place: all columns up to the advice */
        put_next(out, d->unplaced ? "" : d->why[which].text);
        fputs_unlocked(",,", out);
        fputs_unlocked(pr->ceilings ? "," : "", out);
        fputs_unlocked(pr->regions && which == CARM_PLACE_ORIGINAL ? ",," : "", out);
        return;
    }
    put_number(out, p->intensity);
    if (p->intensity_low < p->intensity_high) {
        put_number(out, p->intensity_low);
        put_number(out, p->intensity_high);
    } else {
        fputs_unlocked(",,", out); /* exact intensity */
    }
    put_number(out, p->roof);
    put_number(out, p->share);
    put_next(out, carm_bound_name(p->bound));
    for (int k = 0; k < 2; k++) {
        const int i = k ? p->above : p->below;
        put_next(out, i < 0 ? "" : p->ceilings[i].name);
        if (i < 0) {
            putc_unlocked(',', out);
        } else {
            put_number(out, p->ceilings[i].at);
        }
    }
    if (p->above < 0) {
        putc_unlocked(',', out);
    } else {
        put_number(out, p->ceilings[p->above].at / p->performance);
    }
    put_number(out, p->roof / p->performance);
    fputs_unlocked(p->over ? ",1" : ",0", out);
    put_next(out, p->advice);
    if (d->has_own[which]) {
        put_number(out, d->own_roof[which].roof);
        put_number(out, d->own_roof[which].share);
    } else {
        fputs_unlocked(",,", out);
    }
    if (pr->ceilings) {
        put_ceilings(out, p);
    }
    if (pr->regions && which == CARM_PLACE_ORIGINAL) {
        char gains[TEXT_MAX];
        put_next(out, p->has_region ? carm_region_name(p->region) : "");
        put_next(out, p->has_region ? carm_place_gains_text(gains, sizeof gains, d->set, p) : "");
    }
}

/* Writes share and rate of each runtime-oriented ceiling. */
static void put_runtime(FILE *out, const struct carm_placed *d)
{
    for (int i = 0; i < CARM_RUNTIME_COUNT; i++) {
        const struct carm_runtime_ceiling *c = &d->runtime.ceilings[i];
        if (d->has_runtime && c->known) {
            put_number(out, c->share);
            put_number(out, c->rate);
        } else {
            fputs_unlocked(",,", out);
        }
    }
}

/* Like put_number; 0 = unknown, left empty. */
static void put_ratio(FILE *out, double v)
{
    if (v > 0.0) {
        put_number(out, v);
    } else {
        putc_unlocked(',', out);
    }
}

static void put_spread(FILE *out, const struct carm_over_ranks *s)
{
    const double all[] = {s->low, s->median, s->high};
    for (int i = 0; i < 3; i++) {
        put_ratio(out, all[i]);
    }
}

static void put_view(FILE *out, const struct carm_placed *d)
{
    const struct carm_view *v = d->view;
    const bool several = v->ranks > 1;
    const double cost[] = {v->imbalance.work,
                           v->imbalance.bytes,
                           v->imbalance.dram,
                           several ? d->cost.lost : 0.0,
                           several ? d->cost.gain : 0.0,
                           several ? d->cost.at[0] : 0.0,
                           several ? d->cost.at[1] : 0.0};
    put_next(out, carm_view_name(v->kind));
    put_next(out, v->program);
    put_next(out, v->job);
    put_next(out, v->host);
    put_next(out, v->rank);
    put_known(out, (double)v->ranks);
    put_known(out, (double)v->nodes);
    for (size_t i = 0; i < sizeof cost / sizeof *cost; i++) {
        if (i == 3 && several && d->cost.gain > 0.0) {
            put_number(out, cost[i]); /* 0 is known */
        } else {
            put_ratio(out, cost[i]);
        }
    }
    put_next(out, v->slowest);
    put_next(out, v->fastest);
    put_next(out, v->busiest);
    put_spread(out, &v->intensity);
    put_spread(out, &v->performance);
}

static void put_levels(FILE *out, const struct carm_placed *d)
{
    const struct carm_levels *l = &d->levels;
    size_t i = 0;
    put_known(out, d->point->level_bytes[0]);
    put_known(out, d->point->level_bytes[1]);
    put_next(out, d->point->levels_by);
    for (int at = 0; at < CARM_AT_COUNT; at++) {
        if (d->has_levels && i < l->n && l->at[i].level == at) {
            put_number(out, l->at[i].intensity);
            put_number(out, l->at[i].roof);
            put_number(out, l->at[i].share);
            i++;
        } else {
            fputs_unlocked(",,,", out);
        }
    }
    put_next(out, !d->has_levels ? "" : l->binds < 0 ? "compute" : l->at[l->binds].name);
    put_next(out, d->has_levels ? l->advice : "");
    for (int k = 0; k < 3; k++) {
        const double low = d->point->level_low[k], high = d->point->level_high[k];
        const bool exact = low == high; /* also for sums of exact counts */
        put_known(out, exact ? CARM_POINT_UNKNOWN : low);
        put_known(out, exact ? CARM_POINT_UNKNOWN : high);
    }
}

/* Writes the columns of a part of a program. */
static void put_part(FILE *out, const struct carm_point *p)
{
    put_next(out, p->kind);
    put_known(out, p->time_share);
    put_next(out, p->limit);
    put_next(out, p->limit_by);
    put_known(out, p->explains);
    put_next(out, p->second);
    put_known(out, p->gain_low);
    put_known(out, p->gain_high);
    put_next(out, p->advice);
}

void carm_place_csv_put(const struct carm_place_printer *printer, const struct carm_placed *placed)
{
    FILE *out = printer->out;
    const struct carm_point *p = placed->point;
    char notes[TEXT_MAX];
    carm_csv_put_clean(out, p->name);
    put_known(out, *printer->metric ? CARM_POINT_UNKNOWN : p->flops);
    put_known(out, p->bytes);
    put_known(out, p->seconds);
    put_known(out, p->dram_bytes);
    put_known(out, p->threads > 0 ? p->threads : CARM_POINT_UNKNOWN);
    put_next(out, p->isa);
    put_next(out, p->precision);
    put_next(out, p->counted_by);
    put_known(out, (double)placed->rows);
    put_known(out, placed->imbalance > 0.0 ? placed->imbalance : CARM_POINT_UNKNOWN);
    put_known(out, placed->unplaced ? CARM_POINT_UNKNOWN : p->flops / carm_point_ran_seconds(p));
    put_next(out, placed->unplaced ? "" : placed->roofs->isa);
    put_next(out, placed->unplaced ? "" : placed->roofs->precision);
    put_known(out, placed->unplaced ? CARM_POINT_UNKNOWN : placed->roofs->threads);
    put_known(out, *printer->metric && !placed->unplaced ? p->flops : p->operations);
    put_next(out, *p->metric || placed->unplaced ? p->metric : printer->metric);
    put_place(printer, placed, CARM_PLACE_CACHE_AWARE);
    put_place(printer, placed, CARM_PLACE_ORIGINAL);
    put_levels(out, placed);
    put_part(out, p);
    if (printer->runtime) {
        put_runtime(out, placed);
    }
    if (placed->view) {
        put_view(out, placed);
    }
    carm_place_notes(notes, sizeof notes, placed, false);
    if (placed->unplaced) {
        carm_text_list(notes, sizeof notes, "; ", "not placed because %s", placed->unplaced);
    }
    put_next(out, notes);
    putc_unlocked('\n', out);
}
