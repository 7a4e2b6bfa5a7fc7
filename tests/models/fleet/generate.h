/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Synthetic fleets with known truth: nodes of one machine type, whose roofs are drawn with noise of known
 * size. The same seed gives the same fleet. */
#pragma once

#include "base/array.h"
#include "models/fleet/judge.h"
#include "models/fleet/take.h"
#include "tests/unit.h"

enum { GEN_SETS = 2, GEN_LEVELS = 4, GEN_MIXES = 5, GEN_OPS = 4 };

/* Uniform in (0, 1): splitmix64. source: Steele, Lea, Flood 2014 */
static double gen_uniform(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    z ^= z >> 31;
    return ((double)(z >> 11) + 0.5) * 0x1p-53;
}

static double gen_normal(uint64_t *seed)
{
    const double r = sqrt(-2.0 * log(gen_uniform(seed)));
    return r * cos(6.283185307179586 * gen_uniform(seed));
}

/* A node of two cores: 1 and 2 threads, four levels in five mixes, four operations. No curves.
 * hour  of its creation */
static inline struct carm_model *gen_model(const char *host, int hour)
{
    static const char *const mixes[] = {"2:1", "1:1", "1:0", "0:1", "update"};
    static const char *const levels[] = {"L1", "L2", "L3", "DRAM"};
    static const char *const ops[] = {"mad", "fma", "add", "mul"};
    struct carm_model *m = calloc(1, sizeof *m);
    if (!m) {
        abort();
    }
    (void)snprintf(m->created, sizeof m->created, "2026-%02d-%02dT%02d:00:00Z", 1 + hour / 672,
                   1 + hour / 24 % 28, hour % 24);
    (void)snprintf(m->carm_version, sizeof m->carm_version, "test");
    (void)snprintf(m->machine.hostname, sizeof m->machine.hostname, "%s", host);
    (void)snprintf(m->machine.cpu, sizeof m->machine.cpu, "Test CPU");
    m->machine.cores = m->machine.threads = 2;
    m->machine.memory_bytes = 64ULL << 30;
    m->machine.page_bytes = 2 << 20;
    m->machine.tsc_hz = 3e9;
    m->config = (struct carm_config){
        .reps = 8192, .precision = "dp", .ldst = "2:1", .memory_limit_bytes = 1 << 30};
    m->levels = calloc(GEN_LEVELS, sizeof *m->levels);
    m->roofs = calloc(GEN_SETS, sizeof *m->roofs);
    if (!m->levels || !m->roofs) {
        abort();
    }
    m->nlevels = GEN_LEVELS;
    m->nroofs = GEN_SETS;
    for (int l = 0; l < GEN_LEVELS; l++) {
        (void)snprintf(m->levels[l].level, sizeof m->levels[l].level, "%s", levels[l]);
        m->levels[l].resolved = true;
    }
    for (int s = 0; s < GEN_SETS; s++) {
        struct carm_roofs *r = &m->roofs[s];
        (void)snprintf(r->isa, sizeof r->isa, "avx2");
        (void)snprintf(r->precision, sizeof r->precision, "dp");
        r->threads = s + 1;
        r->clock_hz = 3e9;
        r->nmemory = (size_t)GEN_LEVELS * GEN_MIXES;
        r->ncompute = GEN_OPS;
        r->memory = calloc(r->nmemory, sizeof *r->memory);
        r->compute = calloc(r->ncompute, sizeof *r->compute);
        if (!r->memory || !r->compute) {
            abort();
        }
        for (size_t i = 0; i < r->nmemory; i++) {
            struct carm_memory_roof *x = &r->memory[i];
            const double rate = 1e9 * (1 + s) * (double)(400 >> (2 * (i / GEN_MIXES)));
            *x = (struct carm_memory_roof){.bandwidth = rate,
                                           .ci95 = {rate, rate},
                                           .spread = {rate, rate, rate, rate},
                                           .bytes_per_cycle = 1,
                                           .clock_hz = 3e9,
                                           .working_set_bytes = 4096,
                                           .window_bytes = 4096,
                                           .passes = 1,
                                           .reps = 8192,
                                           .counted_by = "constructed",
                                           .code = "A"};
            (void)snprintf(x->level, sizeof x->level, "%s", levels[i / GEN_MIXES]);
            (void)snprintf(x->ldst, sizeof x->ldst, "%s", mixes[i % GEN_MIXES]);
        }
        for (size_t i = 0; i < r->ncompute; i++) {
            struct carm_compute_roof *x = &r->compute[i];
            const double rate = 1e10 * (1 + s) * (double)(1 + i);
            *x = (struct carm_compute_roof){.rate = rate,
                                            .ci95 = {rate, rate},
                                            .spread = {rate, rate, rate, rate},
                                            .flops_per_cycle = 1,
                                            .clock_hz = 3e9,
                                            .reps = 8192,
                                            .counted_by = "constructed",
                                            .code = "B"};
            (void)snprintf(x->op, sizeof x->op, "%s", ops[i]);
        }
    }
    return m;
}

/* The rate times a factor, with a 95% interval of own standard errors (a share). */
static inline void gen_set(double *rate, struct carm_ci *ci, double factor, double own)
{
    *rate *= factor;
    ci->lo = *rate * (1.0 - 1.959964 * own);
    ci->hi = *rate * (1.0 + 1.959964 * own);
}

/* Draws noise for each roof by itself, and some for all of a node together.
 * own  standard error that each roof says it has, and has: it is part of noise */
static inline void gen_noise(struct carm_model *m, double noise, double common, double own,
                             uint64_t *seed)
{
    const double all = exp(common * gen_normal(seed));
    for (size_t s = 0; s < m->nroofs; s++) {
        struct carm_roofs *r = &m->roofs[s];
        for (size_t i = 0; i < r->nmemory; i++) {
            gen_set(&r->memory[i].bandwidth, &r->memory[i].ci95,
                    all * exp(noise * gen_normal(seed)), own);
        }
        for (size_t i = 0; i < r->ncompute; i++) {
            gen_set(&r->compute[i].rate, &r->compute[i].ci95, all * exp(noise * gen_normal(seed)),
                    own);
        }
    }
}

/* Scales the roofs of a level ("compute": the operations); mix NULL = all, threads 0 = all. */
static inline void gen_scale(struct carm_model *m, const char *level, const char *mix, int threads,
                             double factor)
{
    for (size_t s = 0; s < m->nroofs; s++) {
        struct carm_roofs *r = &m->roofs[s];
        const bool mine = threads == 0 || r->threads == threads;
        for (size_t i = 0; mine && i < r->nmemory; i++) {
            struct carm_memory_roof *x = &r->memory[i];
            if (strcmp(x->level, level) == 0 && (!mix || strcmp(x->ldst, mix) == 0)) {
                x->bandwidth *= factor;
                x->ci95.lo *= factor;
                x->ci95.hi *= factor;
            }
        }
        for (size_t i = 0; mine && i < r->ncompute && strcmp(level, "compute") == 0; i++) {
            struct carm_compute_roof *x = &r->compute[i];
            if (!mix || strcmp(x->op, mix) == 0) {
                x->rate *= factor;
                x->ci95.lo *= factor;
                x->ci95.hi *= factor;
            }
        }
    }
}

/* Freed after the test. */
CLOSED_BY(carm_fleet_free)
static inline struct carm_fleet *gen_fleet(void)
{
    struct carm_fleet *f = calloc(1, sizeof *f);
    assert_non_null(f);
    return closed_later(by_carm_fleet_free, f);
}

static const char *gen_keep(struct carm_fleet *f, const char *text)
{
    const char *kept = carm_fleet_keep(f, text);
    if (!kept) {
        abort();
    }
    return kept;
}

/* Adds a row with the model, which is released, as carm_fleet_read does; the row may be altered until the
 * fleet is judged. */
static inline struct carm_fleet_row *gen_add(struct carm_fleet *f, struct carm_model *m,
                                             int64_t hour)
{
    char file[64];
    (void)snprintf(file, sizeof file, "%zu.json", f->nrows);
    struct carm_fleet_row row = {.file = gen_keep(f, file),
                                 .host = gen_keep(f, m->machine.hostname),
                                 .job = gen_keep(f, ""),
                                 .boot_id = gen_keep(f, ""),
                                 .rank = -1,
                                 .time = gen_keep(f, m->created),
                                 .status = gen_keep(f, "ok"),
                                 .reason = gen_keep(f, ""),
                                 .seconds = 3600 * (hour + 1)};
    if (carm_fleet_take_model(f, m, false, &row, &err) ||
        carm_array_grow(&f->rows, &f->rows_room, f->nrows, 1, sizeof *f->rows, "rows", &err)) {
        abort();
    }
    carm_model_free(m);
    f->rows[f->nrows] = row;
    return &f->rows[f->nrows++];
}

/* returns 0 */
static inline int gen_judge(struct carm_fleet *f, double fdr, double min_share)
{
    const struct carm_fleet_options options = {.fdr = fdr, .min_share = min_share};
    const int rc = carm_fleet_order_roofs(f, &err);
    return rc ? rc : carm_fleet_judge(f, &options, &err);
}
