/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/caches/three_cs.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "models/caches/linemap.h"
#include "models/roofline.h"

/* least share of the traffic whose removal the advice names; chosen by hand */
static const double worth = 0.05;

static const char *const step_names[CARM_THREE_CS_STEPS] = {
    [CARM_STEP_NOW] = "now",
    [CARM_STEP_NO_CONFLICT] = "without conflict misses",
    [CARM_STEP_COMPULSORY] = "compulsory misses alone",
    [CARM_STEP_NO_ALLOCATE] = "with no-allocate stores",
    [CARM_STEP_FORMULA] = "compulsory by formula",
};

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
    return (double)lines * CARM_HIERARCHY_LINE;
}

static void divide(const struct carm_hierarchy_counts *c, const struct carm_three_cs_lines *lines,
                   struct carm_three_cs *t)
{
    const struct carm_hierarchy_level_counts *last = &c->levels[c->nlevels - 1];
    const double again = line_bytes(last->writebacks) - line_bytes(lines->stored);
    const uint64_t avoidable = last->misses[CARM_MISS_CAPACITY] + last->misses[CARM_MISS_CONFLICT];
    const double conflict =
        avoidable ? (double)last->misses[CARM_MISS_CONFLICT] / (double)avoidable : 0.0;
    for (size_t kind = 0; kind < CARM_THREE_CS_KINDS; kind++) {
        t->fill[kind] = line_bytes(last->misses[kind]);
    }
    t->writeback[CARM_MISS_COMPULSORY] = line_bytes(lines->stored);
    t->writeback[CARM_MISS_CAPACITY] = (1.0 - conflict) * again;
    t->writeback[CARM_MISS_CONFLICT] = conflict * again;
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

/* The three remedies that the paper names, ordered by the traffic that each can save. */
static void advise(struct carm_three_cs *t, const struct carm_three_cs_input *in)
{
    const struct carm_three_cs_at *now = &t->steps[CARM_STEP_NOW];
    const double conflict = t->share[CARM_MISS_CONFLICT];
    const double capacity = t->share[CARM_MISS_CAPACITY];
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

int carm_three_cs_eval(const struct carm_hierarchy_counts *counts,
                       const struct carm_three_cs_lines *lines,
                       const struct carm_three_cs_input *in, struct carm_three_cs *out,
                       struct carm_err *err)
{
    const int rc = check(in, err);
    if (rc) {
        return rc;
    }
    if (counts->levels[counts->nlevels - 1].misses[CARM_MISS_COHERENCE]) {
        return carm_fail(err, CARM_EINVAL,
                         "the three Cs are those of one core, and there are coherence misses: "
                         "trace one thread");
    }
    struct carm_three_cs t = {.nontemporal = 0.0};
    divide(counts, lines, &t);
    double bytes[CARM_THREE_CS_KINDS];
    double total = t.nontemporal;
    for (size_t kind = 0; kind < CARM_THREE_CS_KINDS; kind++) {
        total += t.fill[kind] + t.writeback[kind];
        bytes[kind] = total; /* bytes of this kind and of all kinds before it */
    }
    if (!(total > 0.0)) {
        return carm_fail(err, CARM_EINVAL,
                         "the trace moves no bytes between cache and memory: trace the kernel's "
                         "accesses first");
    }
    for (size_t kind = 0; kind < CARM_THREE_CS_KINDS; kind++) {
        t.share[kind] = (t.fill[kind] + t.writeback[kind]) / total;
    }
    const double saved = line_bytes(lines->stored_only);
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

enum { LINES_OF_PAGE = 64, FIRST_BITS = 8 };

struct carm_three_cs_trace {
    struct carm_hierarchy *hierarchy;
    struct carm_linemap
        pages;       /* two words for each 64 lines: a bit for each loaded line, a bit for each
                      * stored line */
    uint64_t thrown; /* stored lines that non-temporal stores threw out */
    bool failed;
};
enum { LOADED, STORED, WORDS };

int carm_three_cs_open(struct carm_three_cs_trace **out, const struct carm_hierarchy_config *config,
                       struct carm_err *err)
{
    struct carm_three_cs_trace *t = calloc(1, sizeof *t);
    if (!t || !carm_linemap_open(&t->pages, FIRST_BITS, WORDS)) {
        carm_three_cs_close(t);
        return carm_fail(err, CARM_ENOMEM, "not enough memory");
    }
    const int rc = carm_hierarchy_open(&t->hierarchy, config, err);
    if (rc) {
        carm_three_cs_close(t);
        return rc;
    }
    *out = t;
    return 0;
}

void carm_three_cs_close(struct carm_three_cs_trace *trace)
{
    if (trace) {
        carm_hierarchy_close(trace->hierarchy);
        carm_linemap_close(&trace->pages);
        free(trace);
    }
}

static void note_line(struct carm_three_cs_trace *t, uint64_t line, bool store, bool nontemporal)
{
    uint64_t *words = carm_linemap_add(&t->pages, line / LINES_OF_PAGE + 1);
    const uint64_t bit = UINT64_C(1) << line % LINES_OF_PAGE;
    if (!words) {
        t->failed = true;
        return;
    }
    if (!store) {
        words[LOADED] |= bit;
    } else if (!nontemporal) {
        words[STORED] |= bit;
    } else if (words[STORED] & bit) {
        words[STORED] &= ~bit;
        t->thrown++;
    }
}

void carm_three_cs_access(void *context, uint64_t address, unsigned bytes, bool store,
                          bool nontemporal)
{
    struct carm_three_cs_trace *t = context;
    if (t->failed || bytes == 0) {
        return;
    }
    carm_hierarchy_access(t->hierarchy, 0, address, bytes,
                          store && nontemporal ? CARM_ACCESS_STORE_NT
                          : store              ? CARM_ACCESS_STORE
                                               : CARM_ACCESS_LOAD);
    const uint64_t end = address + (bytes - 1);
    for (uint64_t line = address / CARM_HIERARCHY_LINE; line <= end / CARM_HIERARCHY_LINE; line++) {
        note_line(t, line, store, nontemporal);
    }
}

int carm_three_cs_read(struct carm_three_cs_trace *trace, struct carm_hierarchy_counts *counts,
                       struct carm_three_cs_lines *lines, struct carm_err *err)
{
    if (trace->failed) {
        return carm_fail(err, CARM_ENOMEM,
                         "not enough memory to keep account of the lines of the trace: use a "
                         "smaller problem");
    }
    *lines = (struct carm_three_cs_lines){.stored = trace->thrown};
    const struct carm_linemap *pages = &trace->pages;
    for (uint64_t i = 0; i >> pages->bits == 0; i++) {
        const uint64_t *words = pages->words + i * WORDS;
        lines->stored += (unsigned)__builtin_popcountll(words[STORED]);
        lines->stored_only += (unsigned)__builtin_popcountll(words[STORED] & ~words[LOADED]);
    }
    carm_hierarchy_flush(trace->hierarchy);
    return carm_hierarchy_read(trace->hierarchy, counts, err);
}
