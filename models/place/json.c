/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/place/json.h"

#include <math.h>

#include "base/json_write.h"
#include "base/number.h"

static void put_name(FILE *out, bool first, const char *name)
{
    carm_json_put_member(out, first, name, "");
}

static void put_text(FILE *out, const char *name, const char *s)
{
    carm_json_put_text(out, false, name, s);
}

/* null for unknown values */
static void put_known(FILE *out, const char *name, double v)
{
    char text[CARM_NUMBER_MAX];
    carm_json_put_member(out, false, name,
                         carm_point_knows(v) ? carm_number_exact(text, v) : "null");
}

static void put_number(FILE *out, bool first, const char *name, double v)
{
    char text[CARM_NUMBER_MAX];
    carm_json_put_member(out, first, name, isfinite(v) ? carm_number_short(text, v) : "null");
}

static void put_ceiling(FILE *out, const struct carm_place *p, int i)
{
    if (i < 0) {
        fputs_unlocked("null", out);
        return;
    }
    const struct carm_ceiling *c = &p->ceilings[i];
    fputs_unlocked("{\"name\": ", out);
    carm_json_put_string(out, c->name);
    fputs_unlocked(c->compute ? ", \"kind\": \"compute\"" : ", \"kind\": \"memory\"", out);
    put_number(out, false, "performance", c->at);
    put_number(out, false, "left", c->at / p->performance);
    fputs_unlocked(c->roof ? ", \"roof\": true}" : ", \"roof\": false}", out);
}

void carm_place_json_region(FILE *out, const struct carm_place_set *set,
                            const struct carm_place *place)
{
    put_text(out, "region", carm_region_name(place->region));
    fputs_unlocked(", \"optimisations\": [", out);
    for (size_t i = 0; i < place->ngains; i++) {
        const struct carm_gain *g = &place->gains[i];
        const struct carm_ceiling *ceiling =
            g->compute ? &set->measured.compute[g->index] : &set->measured.memory[g->index];
        fputs_unlocked(i ? ", {\"ceiling\": " : "{\"ceiling\": ", out);
        carm_json_put_string(out, ceiling->name);
        put_text(out, "kind", g->compute ? "compute" : "memory");
        put_text(out, "step", ceiling->step);
        put_number(out, false, "from", g->from);
        put_number(out, false, "to", g->to);
        put_number(out, false, "times", g->times);
        putc_unlocked('}', out);
    }
    putc_unlocked(']', out);
}

/* The runtime-oriented ceilings of the point. */
static void put_runtime(FILE *out, const struct carm_placed *d)
{
    put_name(out, false, "runtime");
    fputs_unlocked(d->has_runtime ? "[" : "null", out);
    for (int i = 0; i < CARM_RUNTIME_COUNT && d->has_runtime; i++) {
        const struct carm_runtime_ceiling *c = &d->runtime.ceilings[i];
        fputs_unlocked(i ? ", {\"kind\": " : "{\"kind\": ", out);
        carm_json_put_string(out, carm_runtime_name((enum carm_runtime_kind)i));
        fputs_unlocked(c->known ? ", \"known\": true" : ", \"known\": false", out);
        if (c->known) {
            put_text(out, "name", c->name);
            put_number(out, false, "share", c->share);
            put_number(out, false, "rate", c->rate);
            put_text(out, "unit", c->memory ? "byte/s" : "flop/s");
            put_number(out, false, "gain", c->gain);
            put_text(out, "step", c->step);
        }
        put_text(out, "counted", c->how);
        putc_unlocked('}', out);
    }
    fputs_unlocked(d->has_runtime ? "]" : "", out);
}

/* The roof of the point's own mix; null when the mix is unknown. */
static void put_own(FILE *out, const struct carm_placed *d, int which)
{
    const struct carm_own_roof *r = &d->own_roof[which];
    const bool memory = which == CARM_PLACE_CACHE_AWARE && d->own.has_memory;
    put_name(out, false, "own");
    if (!d->has_own[which]) {
        fputs_unlocked("null", out);
        return;
    }
    putc_unlocked('{', out);
    put_number(out, true, "roof", r->roof);
    put_number(out, false, "share", r->share);
    put_number(out, false, "gain", r->gain);
    put_number(out, false, "bandwidth", r->bandwidth);
    put_number(out, false, "peak", r->peak);
    fputs_unlocked(", \"levels\": [", out);
    for (size_t i = 0; i < d->own.nlevels && memory; i++) {
        fputs_unlocked(i ? ", {\"level\": " : "{\"level\": ", out);
        carm_json_put_string(out, d->own.levels[i].level);
        put_number(out, false, "bandwidth", d->own.levels[i].bandwidth);
        putc_unlocked('}', out);
    }
    putc_unlocked(']', out);
    if (memory) {
        put_text(out, "memory", d->own.memory);
    }
    if (d->own.has_compute) {
        put_text(out, "compute", d->own.compute);
    }
    putc_unlocked('}', out);
}

static void put_place(const struct carm_place_json *json, const struct carm_placed *d, int which)
{
    FILE *out = json->out;
    const struct carm_place *p = &d->place[which];
    put_name(out, false, which == CARM_PLACE_CACHE_AWARE ? "cache_aware" : "original");
    if (!d->has[which]) {
        fputs_unlocked("null", out);
        return;
    }
    putc_unlocked('{', out);
    put_number(out, true, "intensity", p->intensity);
    put_number(out, false, "roof", p->roof);
    put_number(out, false, "share", p->share);
    if (p->intensity_low < p->intensity_high) { /* only for uncertain counts */
        put_number(out, false, "intensity_low", p->intensity_low);
        put_number(out, false, "intensity_high", p->intensity_high);
        put_number(out, false, "share_low", p->share_low);
        put_number(out, false, "share_high", p->share_high);
    }
    put_text(out, "bound", carm_bound_name(p->bound));
    put_name(out, false, "below");
    put_ceiling(out, p, p->below);
    put_name(out, false, "above");
    put_ceiling(out, p, p->above);
    put_number(out, false, "left_roof", p->roof / p->performance);
    fputs_unlocked(p->over ? ", \"over\": true" : ", \"over\": false", out);
    put_text(out, "advice", p->advice);
    put_own(out, d, which);
    if (p->has_region) {
        carm_place_json_region(out, d->set, p);
    }
    if (json->ceilings) {
        fputs_unlocked(", \"ceilings\": [", out);
        for (size_t i = p->nceilings; i-- > 0;) {
            put_ceiling(out, p, (int)i);
            fputs_unlocked(i ? ", " : "", out);
        }
        putc_unlocked(']', out);
    }
    putc_unlocked('}', out);
}

void carm_place_json_begin(const struct carm_place_json *json)
{
    fputs("[", json->out);
}

static void put_roofs(FILE *out, const struct carm_placed *d)
{
    put_name(out, false, "roofs");
    if (d->unplaced) {
        fputs_unlocked("null", out);
        return;
    }
    fputs_unlocked("{\"isa\": ", out);
    carm_json_put_string(out, d->roofs->isa);
    put_text(out, "precision", d->roofs->precision);
    put_known(out, "threads", d->roofs->threads);
    putc_unlocked('}', out);
}

static void put_ratio(FILE *out, const char *name, double v)
{
    put_known(out, name, v > 0.0 ? v : CARM_POINT_UNKNOWN);
}

static void put_spread(FILE *out, const char *name, const struct carm_over_ranks *s)
{
    put_name(out, false, name);
    fputs_unlocked(carm_point_knows(s->low) ? "{" : "null", out);
    if (carm_point_knows(s->low)) {
        put_number(out, true, "least", s->low);
        put_number(out, false, "median", s->median);
        put_number(out, false, "most", s->high);
        putc_unlocked('}', out);
    }
}

/* The point's place in a parallel program, and the cost of its imbalance. */
static void put_view(FILE *out, const struct carm_placed *d)
{
    const struct carm_view *v = d->view;
    put_text(out, "view", carm_view_name(v->kind));
    put_text(out, "program", v->program);
    put_text(out, "job", v->job);
    put_text(out, "host", v->host);
    put_text(out, "rank", v->rank);
    put_known(out, "ranks", (double)v->ranks);
    put_known(out, "nodes", (double)v->nodes);
    put_name(out, false, "uneven");
    if (v->ranks < 2) {
        fputs_unlocked("null", out);
        return;
    }
    fputs_unlocked("{\"of\": \"largest over mean\"", out);
    put_ratio(out, "work", v->imbalance.work);
    put_ratio(out, "bytes", v->imbalance.bytes);
    put_ratio(out, "time", v->imbalance.time);
    put_ratio(out, "dram_bytes_of_nodes", v->imbalance.dram);
    put_known(out, "lost", d->cost.gain > 0.0 ? d->cost.lost : CARM_POINT_UNKNOWN);
    put_ratio(out, "gain", d->cost.gain);
    put_ratio(out, "cache_aware_ceiling", d->cost.at[CARM_PLACE_CACHE_AWARE]);
    put_ratio(out, "original_ceiling", d->cost.at[CARM_PLACE_ORIGINAL]);
    put_text(out, "slowest", v->slowest);
    put_text(out, "fastest", v->fastest);
    put_text(out, "most_work", v->busiest);
    put_spread(out, "rank_intensity", &v->intensity);
    put_spread(out, "rank_performance", &v->performance);
    putc_unlocked('}', out);
}

/* Share of a point's flops in vectors; unknown without flops or without a mix. */
static double in_vectors(const struct carm_point *p)
{
    double vectors = 0.0;
    for (int w = 1; w < 4; w++) {
        vectors += p->mix.q[CARM_RUNMIX_DP + w] + p->mix.q[CARM_RUNMIX_SP + w];
    }
    const bool known = carm_runmix_has(&p->mix, CARM_RUNMIX_DP + 1) && p->flops > 0.0;
    return known ? vectors / p->flops : CARM_POINT_UNKNOWN;
}

/* A loop or function of a program. */
static void put_part(FILE *out, const struct carm_placed *placed)
{
    const struct carm_point *p = placed->point;
    put_name(out, false, "part");
    fputs_unlocked("{\"kind\": ", out);
    carm_json_put_string(out, p->kind);
    put_text(out, "source", p->source);
    put_text(out, "module", p->module);
    put_known(out, "time_share", p->time_share);
    put_known(out, "samples", p->samples);
    put_known(out, "entries", p->entries);
    put_known(out, "trips", p->trips);
    put_known(out, "vector_share", *placed->set->metric ? CARM_POINT_UNKNOWN : in_vectors(p));
    putc_unlocked('}', out);
}

/* The verdict of carm run, with its words. */
static void put_verdict(FILE *out, const struct carm_verdict_kept *v)
{
    char text[512];
    put_name(out, false, "verdict");
    fputs_unlocked("{\"limit\": ", out);
    carm_json_put_string(out, carm_limit_name(v->limit));
    put_text(out, "limited_by", carm_verdict_limited_by(text, sizeof text, v));
    put_name(out, false, "estimate");
    fputs_unlocked(v->estimate ? "true" : "false", out);
    put_known(out, "explains", v->explains);
    put_text(out, "second", v->second == CARM_LIMIT_UNKNOWN ? "" : carm_limit_name(v->second));
    put_known(out, "gain_low", v->loop.low);
    put_known(out, "gain_high", isfinite(v->loop.high) ? v->loop.high : CARM_POINT_UNKNOWN);
    put_text(out, "gain", carm_verdict_gain_text(text, sizeof text, &v->loop));
    put_text(out, "advice", v->advice < CARM_ADVICE_COUNT ? carm_advice_name(v->advice) : "");
    put_text(out, "text", carm_verdict_text(text, sizeof text, v));
    putc_unlocked('}', out);
}

/* The hierarchical view: a point for each level. */
static void put_levels(FILE *out, const struct carm_levels *levels)
{
    put_name(out, false, "levels");
    putc_unlocked('[', out);
    for (size_t i = 0; i < levels->n; i++) {
        const struct carm_levels_at *at = &levels->at[i];
        fputs_unlocked(i ? ", {\"level\": " : "{\"level\": ", out);
        carm_json_put_string(out, at->name);
        put_known(out, "intensity", at->intensity);
        if (at->intensity_low < at->intensity_high) {
            put_known(out, "intensity_low", at->intensity_low);
            put_known(out, "intensity_high", at->intensity_high);
        }
        put_known(out, "bandwidth", at->bandwidth);
        put_known(out, "roof", at->roof);
        put_known(out, "share", at->share);
        put_known(out, "unused", at->unused);
        for (int r = 0; r < CARM_MISS_REASONS && i > 0; r++) {
            put_known(out, carm_miss_reason_name((enum carm_miss_reason)r), at->misses[r]);
        }
        putc_unlocked('}', out);
    }
    putc_unlocked(']', out);
    put_text(out, "binds", levels->binds < 0 ? "compute" : levels->at[levels->binds].name);
    put_text(out, "levels_advice", levels->advice);
}

void carm_place_json_put(struct carm_place_json *json, const struct carm_placed *placed)
{
    FILE *out = json->out;
    const struct carm_point *p = placed->point;
    char notes[8192];
    fputs_unlocked(json->points++ ? ",\n {\"name\": " : "\n {\"name\": ", out);
    carm_json_put_string(out, p->name);
    if (*placed->set->metric) {
        put_text(out, "metric", *p->metric ? p->metric : placed->set->metric);
        put_known(out, "operations", placed->unplaced ? p->operations : p->flops);
    } else {
        put_known(out, "flops", p->flops);
    }
    put_known(out, "bytes", p->bytes);
    put_known(out, "seconds", p->seconds);
    put_known(out, "dram_bytes", p->dram_bytes);
    put_known(out, "threads", p->threads > 0 ? p->threads : CARM_POINT_UNKNOWN);
    put_text(out, "isa", p->isa);
    put_text(out, "precision", p->precision);
    put_text(out, "counted_by", p->counted_by);
    put_known(out, "rows", (double)placed->rows);
    put_known(out, "imbalance", placed->imbalance > 0.0 ? placed->imbalance : CARM_POINT_UNKNOWN);
    put_known(out, "performance",
              placed->unplaced ? CARM_POINT_UNKNOWN : p->flops / carm_point_ran_seconds(p));
    put_roofs(out, placed);
    put_place(json, placed, CARM_PLACE_CACHE_AWARE);
    put_place(json, placed, CARM_PLACE_ORIGINAL);
    if (placed->has_levels) {
        put_known(out, "l2_bytes", p->level_bytes[0]);
        put_known(out, "l3_bytes", p->level_bytes[1]);
        put_text(out, "levels_by", p->levels_by);
        put_levels(out, &placed->levels);
    }
    if (json->runtime) {
        put_runtime(out, placed);
    }
    if (placed->view) {
        put_view(out, placed);
    }
    if (p->kind && *p->kind) {
        put_part(out, placed);
    }
    struct carm_verdict_kept verdict;
    if (carm_point_verdict(p, &verdict)) {
        put_verdict(out, &verdict);
    }
    if (json->file > 0) {
        put_known(out, "file", (double)json->file);
    }
    put_name(out, false, "not_placed");
    fputs_unlocked("[", out);
    if (placed->unplaced) {
        carm_json_put_string(out, placed->unplaced);
    }
    for (int i = 0, n = 0; i < 2 && !placed->unplaced; i++) {
        if (!placed->has[i]) {
            fputs_unlocked(n++ ? ", " : "", out);
            carm_json_put_string(out, placed->why[i].text);
        }
    }
    fputs_unlocked("]", out);
    put_text(out, "note", carm_place_notes(notes, sizeof notes, placed, false));
    putc_unlocked('}', out);
}

void carm_place_json_end(const struct carm_place_json *json)
{
    fputs(json->points ? "\n]\n" : "]\n", json->out);
}
