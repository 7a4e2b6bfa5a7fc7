/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/caches/three_cs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "models/roofline.h"

/* a share of the traffic below which removing it is not worth a word */
static const double worth = 0.05;

static const char *const miss_names[CARM_MISS_KINDS] = {
    [CARM_MISS_COMPULSORY] = "compulsory",
    [CARM_MISS_CAPACITY] = "capacity",
    [CARM_MISS_CONFLICT] = "conflict",
};

static const char *const step_names[CARM_THREE_CS_STEPS] = {
    [CARM_STEP_NOW] = "now",
    [CARM_STEP_NO_CONFLICT] = "without conflict misses",
    [CARM_STEP_COMPULSORY] = "compulsory misses alone",
    [CARM_STEP_NO_ALLOCATE] = "with no-allocate stores",
    [CARM_STEP_FORMULA] = "compulsory by formula",
};

const char *carm_miss_name(enum carm_three_cs_kind kind)
{
    return (unsigned)kind < CARM_MISS_KINDS ? miss_names[kind] : "";
}

const char *carm_three_cs_step_name(enum carm_three_cs_step step)
{
    return (unsigned)step < CARM_THREE_CS_STEPS ? step_names[step] : "";
}

static bool positive(double x)
{
    return isfinite(x) && x > 0.0;
}

static int check(const struct carm_three_cs_input *in, struct carm_err *err)
{
    if (!positive(in->operations)) {
        return carm_fail(err, CARM_EINVAL,
                         "an operational intensity needs operations, and there are %g",
                         in->operations);
    }
    const bool none = in->bandwidth == 0.0 && in->peak == 0.0;
    if (!none && (!positive(in->bandwidth) || !positive(in->peak))) {
        return carm_fail(err, CARM_EINVAL,
                         "a roofline needs a bandwidth and a peak above 0, not %g byte/s and %g "
                         "operations/s: give both or neither",
                         in->bandwidth, in->peak);
    }
    if (in->compulsory_bytes != 0.0 && !positive(in->compulsory_bytes)) {
        return carm_fail(err, CARM_EINVAL,
                         "compulsory bytes by formula are %g: give more than 0, or 0 for none",
                         in->compulsory_bytes);
    }
    return 0;
}

static double line_bytes(uint64_t lines)
{
    return (double)lines * CARM_CACHE_SIM_LINE;
}

/* The caches with ever fewer kinds of misses: each kind is the difference of two. */
static void divide(const struct carm_cache_sim_counts *c, struct carm_three_cs *t)
{
    t->fill[CARM_MISS_COMPULSORY] = line_bytes(c->infinite.fills);
    t->fill[CARM_MISS_CAPACITY] = line_bytes(c->associative.fills) - line_bytes(c->infinite.fills);
    t->fill[CARM_MISS_CONFLICT] = line_bytes(c->real.fills) - line_bytes(c->associative.fills);
    t->writeback[CARM_MISS_COMPULSORY] = line_bytes(c->infinite.writebacks);
    t->writeback[CARM_MISS_CAPACITY] =
        line_bytes(c->associative.writebacks) - line_bytes(c->infinite.writebacks);
    t->writeback[CARM_MISS_CONFLICT] =
        line_bytes(c->real.writebacks) - line_bytes(c->associative.writebacks);
    t->nontemporal = line_bytes(c->nt_lines) + line_bytes(c->nt_partial);
}

static void set_step(struct carm_three_cs *t, const struct carm_three_cs_input *in,
                     enum carm_three_cs_step step, double bytes)
{
    if (!(bytes > 0.0)) {
        return;
    }
    const struct carm_three_cs_at *now = &t->steps[CARM_STEP_NOW];
    struct carm_three_cs_at *at = &t->steps[step];
    at->known = true;
    at->bytes = bytes;
    at->intensity = in->operations / bytes;
    at->times = at->intensity / now->intensity;
    if (in->peak > 0.0) {
        at->at = carm_roofline_eval(at->intensity, in->bandwidth, in->peak);
        at->times = at->at / now->at;
        at->compute = at->intensity * in->bandwidth >= in->peak;
    }
}

/* ---- advice ---------------------------------------------------------------------------------- */

/* The three that the paper names, by what each can save of the traffic. Conflict misses below zero
 * are capacity misses that the real caches do not have. */
static void advise(struct carm_three_cs *t, const struct carm_three_cs_input *in)
{
    const struct carm_three_cs_at *now = &t->steps[CARM_STEP_NOW];
    const double conflict = fmax(t->share[CARM_MISS_CONFLICT], 0.0);
    const double capacity = t->share[CARM_MISS_CAPACITY] + fmin(t->share[CARM_MISS_CONFLICT], 0.0);
    const double most = fmax(conflict, fmax(capacity, t->allocate));
    if (now->compute) {
        snprintf(t->advice, sizeof t->advice,
                 "Memory does not limit it at this intensity: less traffic gains nothing under "
                 "this roof.");
        return;
    }
    if (most < worth) {
        snprintf(
            t->advice, sizeof t->advice,
            "No kind of traffic that can be avoided reaches %.0f%%: only smaller data or fewer "
            "passes over them raise the intensity.",
            100.0 * worth);
        return;
    }
    double times = most < 1.0 ? 1.0 / (1.0 - most) : INFINITY;
    if (in->peak > 0.0) {
        times = fmin(times, in->peak / now->at);
    }
    char gain[48] = "";
    if (isfinite(times)) {
        snprintf(gain, sizeof gain, ", which can give at most %.2f times", times);
    }
    if (conflict >= most) {
        snprintf(t->advice, sizeof t->advice,
                 "Conflict misses cause %.0f%% of the traffic: pad the arrays so that rows and "
                 "arrays fall into different sets%s.",
                 100.0 * conflict, gain);
    } else if (capacity >= most) {
        snprintf(
            t->advice, sizeof t->advice,
            "Capacity misses cause %.0f%% of the traffic: block the loops so that what is used "
            "again stays in the cache%s.",
            100.0 * capacity, gain);
    } else {
        snprintf(
            t->advice, sizeof t->advice,
            "Fills of lines that are only stored to are %.0f%% of the traffic: where these are "
            "overwritten whole, use no-allocate (non-temporal) stores%s.",
            100.0 * t->allocate, gain);
    }
}

int carm_three_cs_eval(const struct carm_cache_sim_counts *counts,
                       const struct carm_three_cs_input *in, struct carm_three_cs *out,
                       struct carm_err *err)
{
    const int rc = check(in, err);
    if (rc) {
        return rc;
    }
    struct carm_three_cs t = {.nontemporal = 0.0};
    divide(counts, &t);
    double bytes[CARM_MISS_KINDS];
    double total = t.nontemporal;
    for (size_t kind = 0; kind < CARM_MISS_KINDS; kind++) {
        total += t.fill[kind] + t.writeback[kind];
        bytes[kind] = total; /* with this kind and the ones before */
    }
    if (!(total > 0.0)) {
        return carm_fail(err, CARM_EINVAL,
                         "the trace moves no bytes between cache and memory: trace the kernel's "
                         "accesses first");
    }
    for (size_t kind = 0; kind < CARM_MISS_KINDS; kind++) {
        t.share[kind] = (t.fill[kind] + t.writeback[kind]) / total;
    }
    const double saved = line_bytes(counts->lines_stored);
    t.allocate = saved / total;
    set_step(&t, in, CARM_STEP_NOW, total);
    t.steps[CARM_STEP_NOW].times = 1.0;
    set_step(&t, in, CARM_STEP_NO_CONFLICT, bytes[CARM_MISS_CAPACITY]);
    set_step(&t, in, CARM_STEP_COMPULSORY, bytes[CARM_MISS_COMPULSORY]);
    set_step(&t, in, CARM_STEP_NO_ALLOCATE, bytes[CARM_MISS_COMPULSORY] - saved);
    set_step(&t, in, CARM_STEP_FORMULA, in->compulsory_bytes);
    advise(&t, in);
    *out = t;
    return 0;
}

/* ---- levels ---------------------------------------------------------------------------------- */

int carm_three_cs_level(uint64_t size_bytes, int ways, bool last, struct carm_cache_sim_level *out,
                        char note[CARM_THREE_CS_NOTE_MAX], struct carm_err *err)
{
    const uint64_t lines = size_bytes / CARM_CACHE_SIM_LINE;
    if (lines < 1 || ways < -1) {
        return carm_fail(err, CARM_EINVAL,
                         "a cache of %" PRIu64 " bytes and %d ways cannot be simulated: give at "
                         "least 64 bytes, and 0 ways where they are not known",
                         size_bytes, ways);
    }
    /* x86 processors since 2010: 8 to 16 ways inside, 11 to 20 in the last level */
    const uint64_t wanted = ways > 0 ? (uint64_t)ways : ways < 0 ? 64 : last ? 16 : 8;
    const uint64_t used = wanted < lines ? wanted : lines;
    const uint64_t size = lines / used * used * CARM_CACHE_SIM_LINE;
    const char *how = ways == 0                  ? " assumed"
                      : ways < 0 && used < lines ? " for a fully associative cache"
                                                 : "";
    note[0] = '\0';
    if (size != size_bytes) {
        snprintf(note, CARM_THREE_CS_NOTE_MAX,
                 "%" PRIu64 " ways%s, %" PRIu64 " of %" PRIu64 " bytes: whole sets", used, how,
                 size, size_bytes);
    } else if (*how || (ways > 0 && used < wanted)) {
        snprintf(note, CARM_THREE_CS_NOTE_MAX, "%" PRIu64 " way%s%s", used, used == 1 ? "" : "s",
                 how);
    }
    *out = (struct carm_cache_sim_level){.size_bytes = size, .ways = (uint32_t)used};
    return 0;
}
