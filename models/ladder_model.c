/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The ladder of a measured model.
 * source: Williams et al. 2009, section 4 (order of the ceilings), A.1.2 to A.1.4, A.2 */
#include "models/ladder.h"
#include "models/ceilings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Intervals are of one measurement's repetitions. From one measurement to the next a core's own rates
 * repeat within 1%, those of memory within 2% on a quiet machine: less than that is no step. */
static const double repeat_compute = 0.01;
static const double repeat_memory = 0.02;

enum { CHAIN_MAX = 12 };

/* A rung, and the core clock beside its measurement; 0 = none of its making. */
struct found {
    struct carm_rung rung;
    double clock_hz;
};

/* One side in the making: the chain from the bottom to below the roof, and what stands aside. */
struct side {
    double repeat;
    struct found roof; /* rate 0 = none */
    struct found chain[CHAIN_MAX];
    size_t nchain;
    struct found aside[CARM_RUNGS_MAX];
    size_t naside;
};

/* Memory has a clock of its own. */
static double clock_of(const struct carm_ceiling_roof *c)
{
    return c->group == CARM_CEILING_MEMORY || c->group == CARM_CEILING_TRAFFIC ? 0.0 : c->clock_hz;
}

static struct found found_of(const struct carm_ceiling_roof *c, const char *name, const char *step)
{
    struct found f = {.clock_hz = clock_of(c)};
    f.rung.rate = c->rate;
    f.rung.low = c->ci95.lo;
    f.rung.high = c->ci95.hi;
    (void)snprintf(f.rung.name, sizeof f.rung.name, "%s", name);
    (void)snprintf(f.rung.step, sizeof f.rung.step, "%s", step);
    return f;
}

/* Whether `lower` is below `upper` by more than their errors together: per second, and per cycle as
 * well, since the core's clock may have moved between the two. Wider vectors may lower it, nothing
 * raises it, so that a step that a cycle does not show is none. */
static bool is_below(const struct found *lower, const struct found *upper, double repeat)
{
    const struct carm_rung *l = &lower->rung;
    const struct carm_rung *u = &upper->rung;
    const double error = hypot(l->high - l->rate, u->rate - u->low) / u->rate;
    const double margin = fmax(error, repeat);
    const bool clocks = lower->clock_hz > 0.0 && upper->clock_hz > 0.0;
    return 1.0 - l->rate / u->rate > margin &&
           (!clocks || 1.0 - l->rate / u->rate * (upper->clock_hz / lower->clock_hz) > margin);
}

static void put_chain(struct side *s, const struct carm_ceiling_roof *c, const char *name,
                      const char *step)
{
    if (c && s->nchain < CHAIN_MAX) {
        s->chain[s->nchain++] = found_of(c, name, step);
    }
}

static void put_aside(struct side *s, const struct carm_ceiling_roof *c, const char *name,
                      const char *step)
{
    if (c->rate > 0.0 && s->naside < CARM_RUNGS_MAX) {
        struct found *f = &s->aside[s->naside++];
        *f = found_of(c, name, step);
        f->rung.aside = true;
    }
}

static void raise_roof(struct side *s, double rate, double low, double high, double clock_hz)
{
    if (rate > s->roof.rung.rate) {
        s->roof.rung.rate = rate;
        s->roof.rung.low = low;
        s->roof.rung.high = high;
        s->roof.clock_hz = clock_hz;
    }
}

static void raise_roof_to(struct side *s, const struct carm_ceiling_roof *c)
{
    if (c) {
        raise_roof(s, c->rate, c->ci95.lo, c->ci95.hi, clock_of(c));
    }
}

/* Drops what is not below the next one up: it costs nothing here. The roof stays. */
static void drop_costless(struct side *s)
{
    struct found kept[CHAIN_MAX];
    size_t n = 0;
    const struct found *next = &s->roof;
    for (size_t i = s->nchain; i-- > 0;) {
        if (is_below(&s->chain[i], next, s->repeat)) {
            kept[n] = s->chain[i];
            next = &kept[n++];
        }
    }
    s->nchain = n;
    for (size_t i = 0; i < n; i++) {
        s->chain[i] = kept[n - 1 - i];
    }
}

/* Chain, what stands aside below the roof, and the roof, by rate. returns how many */
static size_t merge(struct side *s, struct carm_rung out[CARM_RUNGS_MAX])
{
    size_t n = 0;
    if (!(s->roof.rung.rate > 0.0)) {
        return 0;
    }
    drop_costless(s);
    for (size_t i = 0; i < s->nchain; i++) {
        out[n++] = s->chain[i].rung;
    }
    for (size_t i = 0; i < s->naside && n + 1 < CARM_RUNGS_MAX; i++) {
        const struct carm_rung *r = &s->aside[i].rung;
        size_t at = n;
        if (!is_below(&s->aside[i], &s->roof, s->repeat)) {
            continue;
        }
        while (at > 0 && out[at - 1].rate > r->rate) {
            out[at] = out[at - 1];
            at--;
        }
        out[at] = *r;
        n++;
    }
    out[n++] = s->roof.rung;
    return n;
}

/* ---- in-core ------------------------------------------------------------------------------------ */

enum { STAGE_TLP, STAGE_ILP, STAGE_SIMD, STAGES = 5 }; /* SIMD of 16, 32 and 64 bytes */
static const unsigned simd_bytes[STAGES] = {[2] = 16, [3] = 32, [4] = 64};

/* The stage's ceiling with additions alone, or with both operations in balance. */
static const struct carm_ceiling_roof *stage_of(const struct carm_roofs *roofs, size_t stage,
                                                bool balanced)
{
    static const char *const names[STAGES] = {"tlp", "ilp", "simd16", "simd32", "simd64"};
    static const char *const ops[] = {"fma", "mad"};
    const struct carm_ceiling_roof *c = NULL;
    char name[32];
    if (!balanced) {
        (void)snprintf(name, sizeof name, "%s add", names[stage]);
        return carm_ceilings_measured(roofs, CARM_CEILING_IN_CORE, name);
    }
    for (size_t i = 0; i < 2 && !c; i++) {
        (void)snprintf(name, sizeof name, "%s %s", names[stage], ops[i]);
        c = carm_ceilings_measured(roofs, CARM_CEILING_IN_CORE, name);
    }
    return c;
}

/* What breaks through a stage: the next one that was measured; STAGES = there is none. */
static size_t next_stage(const struct carm_roofs *roofs, size_t stage, bool balanced)
{
    do {
        stage++;
    } while (stage < STAGES && !stage_of(roofs, stage, balanced));
    return stage;
}

static void put_stages(struct side *s, const struct carm_roofs *roofs, bool balanced,
                       const char *missing, const char *balance)
{
    for (size_t i = STAGE_TLP; i < STAGES; i++) {
        const size_t next = next_stage(roofs, i, balanced);
        char name[CARM_NAME_MAX];
        char step[CARM_RUNG_STEP_MAX];
        if (next == STAGES && balanced) {
            return; /* the widest in balance is the peak */
        }
        if (i == STAGE_TLP || i == STAGE_ILP) {
            (void)snprintf(name, sizeof name, "%s", i == STAGE_TLP ? "TLP only" : "ILP, no SIMD");
        } else {
            (void)snprintf(name, sizeof name, "%u-byte SIMD", simd_bytes[i]);
        }
        if (next == STAGES) {
            (void)snprintf(name, sizeof name, "%s", missing);
            (void)snprintf(step, sizeof step, "%s", balance);
        } else if (next == STAGE_ILP) {
            (void)snprintf(step, sizeof step, "keep several independent chains of operations");
        } else if (i < STAGE_SIMD) {
            (void)snprintf(step, sizeof step, "use SIMD instructions");
        } else {
            (void)snprintf(step, sizeof step, "use SIMD instructions of %u bytes",
                           simd_bytes[next]);
        }
        put_chain(s, stage_of(roofs, i, balanced), name, step);
    }
}

static void put_in_core(struct side *s, const struct carm_roofs *roofs,
                        enum carm_ladder_order order)
{
    const struct carm_ceiling_roof *best = carm_ceilings_best(roofs, CARM_CEILING_IN_CORE, "");
    const struct carm_compute_roof *peak = carm_roofs_find_peak(roofs);
    const bool fma = carm_ceilings_measured(roofs, CARM_CEILING_IN_CORE, "tlp fma") != NULL;
    const char *balance = fma ? "fuse multiplications and additions into FMA"
                              : "balance multiplications and additions";
    (void)snprintf(s->roof.rung.name, sizeof s->roof.rung.name, "peak");
    if (peak) {
        raise_roof(s, peak->rate, peak->ci95.lo, peak->ci95.hi, peak->clock_hz);
    }
    raise_roof_to(s, best);
    if (order == CARM_BALANCE_BOTTOM) {
        put_chain(s, stage_of(roofs, STAGE_TLP, false),
                  fma ? "TLP only, no FMA" : "TLP only, additions alone", balance);
        put_stages(s, roofs, true, "", "");
    } else {
        put_stages(s, roofs, false, fma ? "no FMA" : "no multiply-add balance", balance);
    }
}

/* ---- memory ------------------------------------------------------------------------------------- */

/* A rung of loads that has to be below the best stream of loads, not only below the roof, which may
 * be of a stream that writes as well. */
static void put_loads(struct side *s, const struct carm_roofs *roofs, const char *ceiling,
                      const char *name, const char *step)
{
    const struct carm_ceiling_roof *c = carm_ceilings_measured(roofs, CARM_CEILING_MEMORY, ceiling);
    const struct carm_ceiling_roof *dot = carm_ceilings_measured(roofs, CARM_CEILING_MEMORY, "dot");
    if (c && dot) {
        const struct found lower = found_of(c, "", "");
        const struct found upper = found_of(dot, "", "");
        c = is_below(&lower, &upper, s->repeat) ? c : NULL;
    }
    put_chain(s, c, name, step);
}

/* The bandwidth behind the original model's roof, with the interval of the memory roof it is from. */
static void raise_dram_peak(struct side *s, const struct carm_roofs *roofs)
{
    const struct carm_dram_peak *d = &roofs->dram_peak;
    for (size_t i = 0; i < roofs->nmemory; i++) {
        const struct carm_memory_roof *m = &roofs->memory[i];
        if (m->bandwidth == d->bandwidth && strcmp(m->code, d->code) == 0) {
            raise_roof(s, m->bandwidth, m->ci95.lo, m->ci95.hi, 0.0);
            return;
        }
    }
    raise_roof(s, d->bandwidth, d->bandwidth, d->bandwidth, 0.0);
}

static void put_memory(struct side *s, const struct carm_roofs *roofs)
{
    /* A copy with plain stores is left out: whether its lines are filled first differs among
     * processors, so its traffic is not certain without counters. So is a small set, which the paper's
     * snoop filter made a roof of its own: of twice the last cache a part may stay there. */
    static const char *const streams[] = {"dot", "dot no-prefetch", "copy nt"};
    (void)snprintf(s->roof.rung.name, sizeof s->roof.rung.name, "streaming bandwidth");
    raise_dram_peak(s, roofs);
    for (size_t i = 0; i < sizeof streams / sizeof *streams; i++) {
        raise_roof_to(s, carm_ceilings_measured(roofs, CARM_CEILING_MEMORY, streams[i]));
    }
    put_loads(s, roofs, "random", "random lines",
              "visit memory in an order that prefetchers can follow");
    put_loads(s, roofs, "jump 8", "every 8th line", "use shorter strides");
    put_loads(s, roofs, "jump 2", "every 2nd line", "use unit stride");
    put_loads(s, roofs, "no affinity", "no affinity",
              "keep memory on the node of the threads that use it");
    put_loads(s, roofs, "dot no-prefetch", "no software prefetch",
              "prefetch in software at a tuned distance");
    const struct carm_ceiling_roof *dot = carm_ceilings_measured(roofs, CARM_CEILING_MEMORY, "dot");
    if (dot) {
        put_aside(s, dot, "loads alone", "let the same loop write as well");
    }
}

/* ---- aside -------------------------------------------------------------------------------------- */

static void put_others(struct side *compute, struct side *memory, const struct carm_roofs *roofs)
{
    for (size_t i = 0; i < roofs->nceilings; i++) {
        const struct carm_ceiling_roof *c = &roofs->ceilings[i];
        const char *share = strchr(c->name, ' ');
        char name[CARM_NAME_MAX];
        share = share ? share + 1 : c->name;
        if (c->group == CARM_CEILING_MIX) {
            (void)snprintf(name, sizeof name, "FP %.32s of instructions", share);
            put_aside(compute, c, name, "spend fewer instructions on all but floating point");
        } else if (c->group == CARM_CEILING_BUSY) {
            (void)snprintf(name, sizeof name, "%.32s of the threads busy", share);
            put_aside(compute, c, name, "balance the computation over the threads");
        } else if (c->group == CARM_CEILING_TRAFFIC) {
            (void)snprintf(name, sizeof name, "%.32s of the threads load", share);
            put_aside(memory, c, name, "let all threads generate memory traffic");
        }
    }
}

int carm_ladder_of_roofs(const struct carm_model *model, const struct carm_roofs *roofs,
                         enum carm_ladder_order order, struct carm_ladder *out,
                         struct carm_err *err)
{
    struct side compute = {.repeat = repeat_compute};
    struct side memory = {.repeat = repeat_memory};
    if (roofs->nceilings == 0) {
        return carm_fail(err, CARM_ENOTSUP,
                         "the model has no ceilings for %.16s %.8s with %d thread%s; `carm build "
                         "--ceilings` measures them",
                         roofs->isa, roofs->precision, roofs->threads,
                         roofs->threads == 1 ? "" : "s");
    }
    memset(out, 0, sizeof *out);
    (void)snprintf(out->title, sizeof out->title, "%.160s, %.16s %.8s, %d thread%s",
                   model->machine.cpu[0] ? model->machine.cpu : "unknown processor", roofs->isa,
                   roofs->precision, roofs->threads, roofs->threads == 1 ? "" : "s");
    (void)snprintf(out->metric, sizeof out->metric, "flop");
    put_in_core(&compute, roofs, order);
    put_memory(&memory, roofs);
    put_others(&compute, &memory, roofs);
    out->ncompute = merge(&compute, out->compute);
    out->nmemory = merge(&memory, out->memory);
    return 0;
}
