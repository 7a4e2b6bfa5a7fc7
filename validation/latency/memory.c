/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <emmintrin.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "asm/image.h"
#include "base/text.h"
#include "harness/machine/buffer.h"
#include "harness/machine/stats.h"
#include "models/core.h"
#include "models/latency.h"
#include "validation/latency/latency.h"
#include "validation/latency/order.h"

#define KIB   ((uint64_t)1 << 10)
#define MIB   ((uint64_t)1 << 20)
#define SMALL (4 * KIB)
#define HUGE  (2 * MIB)
#define LEAST (128 * MIB) /* of each buffer ... */
#define MOST  ((uint64_t)1 << 30)
#define QUICK (16 * MIB) /* a chase over so much is never too long */

enum {
    REPS = 21,
    POINTS_MAX = 64,
    WINDOW = CARM_CHAIN_WINDOW_BYTES,
    PAGES_OF_LEVEL = 2, /* kinds of pages */
    LINES_MAX = 4,      /* working set of memory, in times of the last cache */
    /* most lines of a chase through memory: twice as many as its repetitions read */
    COLD_LINES = 1 << 17,
    LINES_TOLD =
        4096, /* lines of the layout from whose time (some 50 us) a larger one's is estimated */
};

/* Seconds of one repetition: some 1000 loads from DRAM. */
static const double target_seconds = 100e-6;
static const double floor_relative = 1e-3;
/* Relative distance of repetitions that agree, in levels of one core and in shared levels: on a
 * quiet machine repetitions in DRAM lie within 2%. */
static const double near_own = 0.005;
static const double near_shared = 0.03;
/* Share of the time for latencies that one working set may take: a random chase of 256 MiB takes a second. */
static const double set_most = 1.0 / 16.0;

/* One point while it is measured: one chain, or k chains. */
struct point {
    const struct carm_chain *code;
    const uint32_t *sequence; /* [lines] */
    size_t lines;
    char *base;
    uint64_t *window;       /* pointers of the chains */
    size_t cursor;          /* in the sequence, where the next chains begin */
    bool own;               /* the core has the level for itself */
    size_t laps;            /* laps before the repetitions, if warm */
    bool warm;              /* false: each line is flushed before, and read once at most */
    double seconds, cycles; /* of one load in one chain */
    struct carm_ci ci95;    /* seconds */
    double clock_hz;
    bool disturbed;
};

struct memory {
    struct carm_latency_run *run;
    struct carm_buffer buffers[PAGES_OF_LEVEL]; /* 4 KiB and 2 MiB pages */
    uint64_t page_bytes[PAGES_OF_LEVEL];        /* page sizes that the kernel gave */
    uint64_t bytes;                             /* of each buffer */
    uint32_t *sequence;                         /* room for all lines of the chase */
    uint64_t *window;
    bool cut; /* the deadline left points out */
    uint64_t
        cold; /* bytes of the working set for memory, whose lines are flushed before the chase */
    size_t first; /* first kind of pages: 0 = both kinds, 1 = only large pages */
    bool bound;   /* to the node */
    int node;
};

/* ---- one point ---- */

/* Sets the begins of the chains, `apart` lines from one another, on lines that no chain has read
 * lately. */
static void set_out(struct point *p, size_t apart)
{
    for (unsigned i = 0; i < p->code->code.chains; i++) {
        p->window[i] =
            (uint64_t)(uintptr_t)(p->base + (uint64_t)p->sequence[p->cursor] * CARM_LINE_BYTES);
        p->cursor = (p->cursor + apart) % p->lines;
    }
}

/* Flushes the lines of a chase from all caches. */
static void flush_job(struct carm_worker *w, void *arg)
{
    const struct point *p = arg;
    (void)w;
    for (size_t i = 0; i < p->lines; i++) {
        _mm_clflush(p->base + (uint64_t)p->sequence[i] * CARM_LINE_BYTES);
    }
    _mm_mfence();
}

static void point_job(struct carm_worker *w, void *arg)
{
    struct point *p = arg;
    const double units = (double)p->code->units;
    const size_t chains = p->code->code.chains;
    double cycles[REPS], hz[REPS];
    double once = 0.0;
    if (p->warm) {
        set_out(p, p->lines / chains);
        p->code->run(p->window, 2 + p->laps * p->lines / ((size_t)p->code->units * chains), 0);
    } else { /* the time of a load, on lines that no repetition reads */
        set_out(p, (size_t)64 * p->code->units);
        p->code->run(p->window, 8, 0);
    }
    carm_latency_cycles(w, p->code, p->window, 16, 0, &once);
    uint64_t n = 16 + (uint64_t)(target_seconds / fmax(once / 16.0, 1e-9));
    if (!p->warm) {
        const uint64_t once_each = (p->lines - p->cursor) / chains / p->code->units / (REPS + 1);
        n = n > once_each ? once_each : n;
        set_out(p, (size_t)(n * p->code->units * (REPS + 1)));
    }
    for (size_t i = 0; i < REPS; i++) {
        double seconds = 0.0;
        cycles[i] = carm_latency_cycles(w, p->code, p->window, n, 0, &seconds);
        hz[i] = cycles[i] / seconds;
        cycles[i] /= units * (double)n;
    }
    p->clock_hz = carm_stats_median(hz, REPS);
    /* also in shared levels, since other traffic only slows loads */
    struct carm_ci ci;
    p->disturbed = !carm_core_estimate(cycles, REPS, p->own ? near_own : near_shared,
                                       floor_relative, &p->cycles, &ci);
    p->seconds = p->cycles / p->clock_hz;
    p->ci95 = (struct carm_ci){ci.lo / p->clock_hz, ci.hi / p->clock_hz};
}

/* Bytes of the last private cache: larger sets lie in shared levels. */
static uint64_t own_bytes(const struct carm_topo *t)
{
    uint64_t bytes = t->ncaches ? t->caches[0].size_bytes : 32 * KIB;
    for (size_t i = 0; i < t->ncaches; i++) {
        bytes =
            t->caches[i].shared_by <= 2 && t->caches[i].level < 3 ? t->caches[i].size_bytes : bytes;
    }
    return bytes;
}

static uint64_t last_cache(const struct carm_topo *t)
{
    return t->ncaches ? t->caches[t->ncaches - 1].size_bytes : MIB;
}

/* Laps before a point: 24 MiB of loads, after which a victim cache is in a steady state. */
static size_t laps_of(uint64_t bytes)
{
    enum { LAPS = 8 };
    const uint64_t laps = 24 * MIB / bytes;
    return laps < 1 ? 1 : laps > LAPS ? LAPS : (size_t)laps;
}

/* Lays out a chase, on the thread that will follow it: lines that another core wrote last would
 * take longer. */
struct layout {
    uint32_t *sequence;
    enum carm_latency_order order;
    uint64_t page, set;
    size_t most; /* lines */
    char *base;
};

/* Number of lines of a chase. cold: all lines are flushed before, so COLD_LINES are enough */
static size_t lines_of(enum carm_latency_order order, size_t pages, uint64_t set, bool cold)
{
    return carm_chase_some(order, pages ? HUGE : SMALL, set, cold ? COLD_LINES : SIZE_MAX);
}

static void layout_job(struct carm_worker *w, void *arg)
{
    const struct layout *l = arg;
    (void)w;
    carm_chase_order(l->sequence, l->order, l->page, l->set, l->most, l->set);
    carm_chase_link(l->base, l->sequence, carm_chase_some(l->order, l->page, l->set, l->most));
}

/* some  at most COLD_LINES lines
 * returns false: the deadline leaves no time for it */
static bool lay_out(struct memory *m, size_t pages, enum carm_latency_order order, uint64_t set,
                    bool some)
{
    struct layout l = {.sequence = m->sequence,
                       .order = order,
                       .page = pages ? HUGE : SMALL,
                       .set = set,
                       .most = some ? COLD_LINES : SIZE_MAX,
                       .base = m->buffers[pages].start};
    struct carm_latency_run *run = m->run;
    const size_t lines = lines_of(order, pages, set, some);
    if (!carm_latency_has_time(run, lines)) {
        m->cut = true;
        return false;
    }
    const double begin = carm_seconds_now();
    carm_team_run(run->team, layout_job, &l);
    if (lines >= LINES_TOLD) {
        run->line_seconds = (carm_seconds_now() - begin) / (double)lines;
    }
    return true;
}

/* Measures the point of one chain over a working set. returns false: the deadline leaves no time for it */
static bool measure(struct memory *m, size_t pages, enum carm_latency_order order, uint64_t set,
                    struct point *p)
{
    const uint64_t page = pages ? HUGE : SMALL;
    const uint64_t real = carm_chase_lines(order, page, set) * CARM_LINE_BYTES;
    const bool cold = order != CARM_LATENCY_PAGES && real >= m->cold;
    *p = (struct point){.code = carm_chain_image_find(m->run->image, "P.k1"),
                        .sequence = m->sequence,
                        .lines = lines_of(order, pages, set, cold),
                        .base = m->buffers[pages].start,
                        .window = m->window,
                        .laps = laps_of(real),
                        .own = real <= own_bytes(m->run->host->topo) / 2,
                        .warm = !cold};
    if (!lay_out(m, pages, order, set, cold)) {
        return false;
    }
    if (cold) {
        carm_team_run(m->run->team, flush_job, p);
    }
    carm_team_run(m->run->team, point_job, p);
    return true;
}

/* ---- curves ---- */

static struct carm_latency_curve *add_curve(struct memory *m, size_t pages,
                                            enum carm_latency_order order)
{
    struct carm_model *model = m->run->model;
    struct carm_latency_curve *c = &model->latency_curves[model->nlatency_curves++];
    c->order = order;
    c->page_bytes = m->page_bytes[pages];
    c->points = calloc(POINTS_MAX, sizeof *c->points);
    return c;
}

static void drop_curve(struct memory *m)
{
    struct carm_model *model = m->run->model;
    struct carm_latency_curve *last = &model->latency_curves[--model->nlatency_curves];
    free(last->points);
    *last = (struct carm_latency_curve){0};
}

/* Whether a chase through a large cache takes too long for one working set: each line is laid out and followed twice.
 * seconds  of a load in the previous set */
static bool is_dear(const struct memory *m, enum carm_latency_order order, uint64_t set,
                    double seconds)
{
    static const double growth =
        1.5; /* expected growth of a load's time from one set to the next; chosen by hand */
    const uint64_t lines = set / CARM_LINE_BYTES;
    return order != CARM_LATENCY_PAGES && set > QUICK && set < m->cold &&
           2.0 * growth * (double)lines * (m->run->line_seconds + seconds) >
               set_most * carm_latency_seconds(&m->run->options);
}

/* returns the curve, or NULL when out of memory, stopped, or when the deadline left it no point */
static struct carm_latency_curve *sweep(struct memory *m, size_t pages,
                                        enum carm_latency_order order, const uint64_t *sets,
                                        size_t n, double *clock_hz)
{
    struct carm_latency_curve *c = add_curve(m, pages, order);
    double seconds = 0.0;
    *clock_hz = 0.0;
    for (size_t i = 0; i < n && c->points; i++) {
        struct point p;
        if (sets[i] > m->bytes) {
            break;
        }
        if (carm_observer_stopped(m->run->host->observer)) {
            return NULL;
        }
        if (is_dear(m, order, sets[i], seconds)) {
            continue;
        }
        if (!measure(m, pages, order, sets[i], &p)) {
            break;
        }
        *clock_hz = fmax(*clock_hz, p.clock_hz);
        seconds = p.seconds;
        c->points[c->npoints++] =
            (struct carm_latency_point){sets[i], p.seconds, p.ci95, p.cycles, p.disturbed};
    }
    if (c->points && c->npoints == 0) {
        drop_curve(m);
    }
    return c->points ? c : NULL;
}

/* ---- levels ---- */

static struct carm_latency *add_latency(struct memory *m, const char *level,
                                        const struct carm_latency_curve *c, double clock_hz)
{
    struct carm_latency *l = &m->run->model->latency[m->run->model->nlatency++];
    (void)snprintf(l->level, sizeof l->level, "%s", level);
    l->order = c->order;
    l->page_bytes = c->page_bytes;
    l->clock_hz = clock_hz;
    return l;
}

static void find_levels(struct memory *m, const struct carm_latency_curve *c, double clock_hz)
{
    const struct carm_topo *t = m->run->host->topo;
    struct carm_latency memory = {.seconds = 0.0};
    uint64_t below = 0;
    carm_latency_plateau(&memory, c, m->cold, UINT64_MAX, INFINITY);
    /* a plateau near the memory's latency is not a cache */
    const double most = memory.seconds > 0.0 ? 0.6 * memory.seconds : INFINITY;
    for (size_t i = 0; i < t->ncaches; i++) {
        char name[16];
        const uint64_t size = t->caches[i].size_bytes;
        (void)snprintf(name, sizeof name, "L%d", t->caches[i].level);
        carm_latency_plateau(add_latency(m, name, c, clock_hz), c, below * 2,
                             size / 2 < m->cold ? size / 2 : m->cold - 1, most);
        below = size;
    }
    struct carm_latency *dram = add_latency(m, "DRAM", c, clock_hz);
    carm_latency_plateau(dram, c, m->cold, UINT64_MAX, INFINITY);
    dram->reach_bytes = 0;
    for (size_t i = 0; i <= t->ncaches && m->cut; i++) {
        struct carm_latency *l = dram - i;
        if (!(l->seconds > 0.0)) {
            (void)snprintf(l->note, sizeof l->note, "not measured: the budget left no time");
        }
    }
}

/* Latencies of the TLB's levels: the difference between a chase with one line in each page and a
 * chase over as many adjacent lines. The steps of this difference are the levels' reaches. */
static void find_tlb(struct memory *m, const struct carm_latency_curve *pages,
                     const struct carm_latency_curve *lines, double clock_hz)
{
    const size_t n = pages->npoints < lines->npoints ? pages->npoints : lines->npoints;
    double extra[POINTS_MAX]; /* cycles */
    size_t first = 0;         /* points within the first level's reach */
    for (size_t i = 0; i < n; i++) {
        extra[i] = pages->points[i].cycles - lines->points[i].cycles;
    }
    while (first < n && extra[first] < 2.0) {
        first++;
    }
    struct carm_latency *one = add_latency(m, "TLB1", pages, clock_hz);
    if (first > 0) {
        const struct carm_latency_point *p = &pages->points[first - 1];
        one->seconds = p->seconds;
        one->ci95 = p->ci95;
        one->cycles = p->cycles;
        one->working_set_bytes = p->working_set_bytes;
        one->reach_bytes = first < n ? p->working_set_bytes : 0;
    } else {
        (void)snprintf(one->note, sizeof one->note,
                       "not measured: no working set stays in this level");
    }
    if (first == 0 || first >= n) {
        return;
    }
    /* the second level: from twice the first level's reach on, while a miss costs about the same */
    size_t begin = first;
    while (begin < n && pages->points[begin].working_set_bytes <
                            2 * pages->points[first - 1].working_set_bytes) {
        begin++;
    }
    size_t end = begin;
    while (end < n && extra[end] <= 1.5 * extra[begin] + 2.0) {
        end++;
    }
    const struct {
        const char *name;
        size_t from, to;
    } parts[] = {{"TLB2", begin, end}, {"walk", end, n}};
    for (size_t k = 0; k < 2; k++) {
        struct carm_latency *l = add_latency(m, parts[k].name, pages, clock_hz);
        double cycles[POINTS_MAX];
        size_t count = 0;
        for (size_t i = parts[k].from; i < parts[k].to; i++) {
            /* the walk: once most pages miss the second level */
            if (k == 0 || pages->points[i].working_set_bytes >=
                              2 * pages->points[end - 1].working_set_bytes) {
                cycles[count++] = extra[i];
            }
        }
        if (count == 0) {
            (void)snprintf(l->note, sizeof l->note, "not measured: no working set is large enough");
            continue;
        }
        struct carm_stats s;
        carm_stats_describe(cycles, count, &s);
        l->cycles = fmax(s.median, 0.0);
        l->seconds = l->cycles / clock_hz;
        l->ci95 = (struct carm_ci){fmax(s.min, 0.0) / clock_hz, fmax(s.max, 0.0) / clock_hz};
        l->working_set_bytes = pages->points[parts[k].to - 1].working_set_bytes;
        l->reach_bytes = k == 0 && end < n ? pages->points[end - 1].working_set_bytes : 0;
        if (!(l->seconds > 0.0)) {
            (void)snprintf(l->note, sizeof l->note,
                           "not measured: as many lines without a miss take as long");
        }
    }
}

/* ---- in flight ---- */

/* A rate that grew by less than this share with the last chains counts as constant: rates of one level repeat within
 * 3%. */
static const double still = 0.05;

/* The working set with which a level's latency was measured; 0 = not known */
static uint64_t set_of(const struct memory *m, const char *level, size_t pages)
{
    const struct carm_latency *flat =
        carm_latency_find(m->run->model, level, CARM_LATENCY_RANDOM, m->page_bytes[pages]);
    return !flat ? 0 : strcmp(level, "DRAM") == 0 ? m->bytes : flat->working_set_bytes;
}

/* Measures the rates of all codes of one kind on one level.
 * prefix  of the codes' names, up to the number of chains
 * pages   of the buffer, which is laid out */
static int measure_flight(struct memory *m, const char *level, const char *name, const char *prefix,
                          size_t pages, uint64_t set, double latency, struct carm_err *err)
{
    struct carm_model *model = m->run->model;
    const bool flush = strcmp(level, "DRAM") == 0;
    struct point p = {.sequence = m->sequence,
                      .lines = lines_of(CARM_LATENCY_RANDOM, pages, set, flush),
                      .base = m->buffers[pages].start,
                      .window = m->window,
                      .own = set <= own_bytes(m->run->host->topo) / 2,
                      .laps = laps_of(set),
                      .warm = !flush};
    double rates[POINTS_MAX] = {0.0};
    double least = INFINITY;
    /* becomes a part of the model when nin_flight is increased */
    struct carm_in_flight *f = &model->in_flight[model->nin_flight];
    *f = (struct carm_in_flight){.page_bytes = m->page_bytes[pages],
                                 .working_set_bytes = set,
                                 .points = calloc(POINTS_MAX, sizeof *f->points)};
    if (!f->points) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to measure latencies");
    }
    (void)snprintf(f->level, sizeof f->level, "%s", level);
    (void)snprintf(f->code, sizeof f->code, "%s", name);
    for (unsigned k = 1; k <= CARM_CHASE_CHAINS_MAX && !carm_team_is_over(m->run->team); k++) {
        char code[CARM_CODE_NAME_MAX];
        (void)snprintf(code, sizeof code, "%s%u", prefix, k);
        p.code = carm_chain_image_find(m->run->image, code);
        if (!p.code || f->npoints == POINTS_MAX) {
            continue;
        }
        if (flush) {
            p.cursor = 0;
            carm_team_run(m->run->team, flush_job, &p);
        }
        carm_team_run(m->run->team, point_job, &p);
        const double rate = k / p.seconds;
        f->points[f->npoints] = (struct carm_in_flight_point){
            (int)k, rate, {k / p.ci95.hi, k / p.ci95.lo}, p.disturbed};
        rates[f->npoints++] = rate;
        /* more chains never make a chain faster, so the least time is an undisturbed chain's */
        least = fmin(least, p.seconds);
    }
    latency = latency > 0.0 ? latency : least; /* for gathers, the latency of scalar loads */
    const size_t n = f->npoints;
    const double last = n > 0 ? rates[n - 1] : 0.0;
    struct carm_stats s;
    const bool grows = n < 2 || last >= (1.0 + still) * rates[n - 2];
    if (n == 0 || !(latency > 0.0) || (grows && carm_team_is_over(m->run->team))) {
        free(f->points); /* the budget ended while the rate still grew */
        return 0;
    }
    carm_stats_describe(rates, n, &s); /* sorts */
    /* the median of the three highest, if the rate no longer grows with more chains */
    f->rate = rates[n >= 3 && !grows ? n - 2 : n - 1];
    f->ci95 = (struct carm_ci){rates[n >= 3 ? n - 3 : 0], rates[n - 1]};
    f->latency_seconds = latency;
    f->lines = f->rate * latency;
    f->chains = f->points[n - 1].chains;
    for (size_t i = n; i-- > 0;) {
        f->chains = f->points[i].rate >= 0.95 * f->rate ? f->points[i].chains : f->chains;
        f->disturbed |= f->points[i].disturbed;
    }
    model->nin_flight++;
    return 0;
}

static int measure_flights(struct memory *m, struct carm_err *err)
{
    const struct carm_topo *t = m->run->host->topo;
    int rc = 0;
    for (size_t i = 0; i <= t->ncaches && !rc; i++) {
        const bool memory = i == t->ncaches;
        char level[16] = "DRAM";
        if (!memory) {
            (void)snprintf(level, sizeof level, "L%d", t->caches[i].level);
        }
        const uint64_t set = set_of(m, level, 1);
        if (set == 0 || !lay_out(m, 1, CARM_LATENCY_RANDOM, set, memory)) {
            continue;
        }
        const size_t scalar = m->run->model->nin_flight;
        /* in L1 only gathers are measured: the cost of an element */
        rc = i == 0 ? 0 : measure_flight(m, level, "scalar", "P.k", 1, set, 0.0, err);
        const double latency = m->run->model->nin_flight > scalar
                                   ? m->run->model->in_flight[scalar].latency_seconds
                                   : 0.0;
        rc = rc ? rc : measure_flight(m, level, "gather.avx2", "G.avx2.k", 1, set, latency, err);
        rc =
            rc ? rc : measure_flight(m, level, "gather.avx512", "G.avx512.k", 1, set, latency, err);
        rc = rc ? rc : carm_observer_check(m->run->host->observer, err);
    }
    return rc;
}

/* Streams through memory with 4 KiB pages: prefetchers stop at the end of a page. On Zen 4, a triad is 1.4 times as
 * fast with the roofs' 2 MiB pages. Built-in codes, so that no nasm is needed. */
static const char *const streams[][2] = {{CARM_STREAM_LOADS, "A.sse.dp.1:0.u24"},
                                         {CARM_STREAM_MIXED, "A.sse.dp.2:1.u8"},
                                         {CARM_STREAM_STORES, "A.sse.dp.0:1.u24"}};
enum { STREAMS = sizeof streams / sizeof *streams, STREAM_BYTES = 64 << 20, WALKS = 8 };

struct stream {
    const struct memory *m;
    const struct carm_code *code;
    double rates[REPS]; /* lines/s that are loaded or written back */
};

static void stream_job(struct carm_worker *w, void *arg)
{
    struct stream *s = arg;
    const struct carm_account *a = &s->code->account;
    /* each repetition takes another part: all of 1 GiB each time took 4 s of the 5 s for memory */
    const uint64_t part = s->m->bytes < STREAM_BYTES ? s->m->bytes : STREAM_BYTES;
    const uint64_t iterations = part / a->stride_bytes;
    /* lines that are stored to are loaded, too */
    const double lines =
        (double)iterations * (double)(a->load_bytes + 2 * a->store_bytes) / CARM_LINE_BYTES;
    for (size_t i = 0; i < REPS; i++) {
        char *const start = (char *)s->m->buffers[0].start + i * part % (s->m->bytes / part * part);
        const uint64_t begin = carm_clock_now();
        s->code->run(start, iterations, 1, 0);
        s->rates[i] = lines * w->team->clock->tsc_hz / (double)(carm_clock_now() - begin);
    }
}

static int add_flight(struct memory *m, const char *level, const char *code, size_t pages,
                      uint64_t bytes, double *rates, double latency, struct carm_err *err)
{
    struct carm_in_flight as = {
        .page_bytes = m->page_bytes[pages], .working_set_bytes = bytes, .latency_seconds = latency};
    (void)snprintf(as.level, sizeof as.level, "%s", level);
    (void)snprintf(as.code, sizeof as.code, "%s", code);
    return carm_latency_add_rate(m->run->model, &as, rates, REPS, err);
}

static int measure_streams(struct memory *m, struct carm_err *err)
{
    struct carm_model *model = m->run->model;
    const struct carm_latency *dram =
        carm_latency_find(model, "DRAM", CARM_LATENCY_RANDOM, m->page_bytes[0]);
    struct carm_code_spec specs[STREAMS];
    struct carm_image *image = NULL;
    int rc = 0;
    if (!dram || !(dram->seconds > 0.0) || m->page_bytes[0] != SMALL) {
        return 0;
    }
    for (size_t i = 0; i < STREAMS && !rc; i++) {
        rc = carm_code_parse(streams[i][1], &specs[i], err);
    }
    rc = rc ? rc : carm_image_open(&image, specs, STREAMS, err);
    for (size_t i = 0; i < STREAMS && !rc && !carm_team_is_over(m->run->team); i++) {
        struct stream s = {.m = m, .code = carm_image_find(image, streams[i][1])};
        carm_team_run(m->run->team, stream_job, &s);
        rc = add_flight(m, "DRAM", streams[i][0], 0, m->bytes, s.rates, dram->seconds, err);
    }
    carm_image_close(image);
    return rc;
}

struct strided {
    char *start;
    size_t lines, stride; /* bytes from one line to the next */
    bool stores, updates; /* stores alone; loads and stores of the loaded words; neither: loads */
    bool moves;           /* each pass accesses the lines next to the lines of the last pass */
    double rates[REPS];   /* accesses/s */
};

/* Independent accesses, one for each line. */
static void strided_job(struct carm_worker *w, void *arg)
{
    enum { ACCESSES = 1 << 16, PASSES = 2 };
    struct strided *s = arg;
    const size_t fit = ACCESSES / s->lines;
    const size_t passes = fit > PASSES ? fit : PASSES;
    for (size_t i = 0; i <= REPS; i++) { /* the first one brings lines and tables of pages */
        const uint64_t begin = carm_clock_now();
        for (size_t k = 0; k < passes; k++) {
            char *at = s->start + (s->moves ? (i * passes + k) * CARM_LINE_BYTES % s->stride : 0);
            carm_latency_pass(at, s->lines, s->stride,
                              s->updates  ? CARM_PASS_UPDATES
                              : s->stores ? CARM_PASS_STORES
                                          : CARM_PASS_LOADS);
        }
        s->rates[i > 0 ? i - 1 : 0] = (double)(s->lines * passes) * w->team->clock->tsc_hz /
                                      (double)(carm_clock_now() - begin);
    }
}

static int measure_strided(struct memory *m, const char *level, const char *code, size_t pages,
                           const struct strided *as, struct carm_err *err)
{
    struct strided s = *as;
    s.start = m->buffers[pages].start;
    if (s.lines == 0 || s.lines * s.stride > m->bytes || carm_team_is_over(m->run->team)) {
        return 0;
    }
    carm_team_run(m->run->team, strided_job, &s);
    return add_flight(m, level, code, pages, s.lines * s.stride, s.rates, 0.0, err);
}

/* Accesses to one line in each of 1.5 times as many pages as the TLB holds: walks, as many at a time as the core
 * has walkers. The lines are in all sets of L1 and stay in L2. On a Zen 4 guest, ns: loads 5.0, stores 2.8 with
 * adjacent pages, which fits its six walkers of some 31 ns each. With pages four apart, a line of their table has
 * two of them instead of eight: 6.0 and 3.8. With 2 MiB pages of the guest: 2.9 and 1.7, as the host may have
 * smaller pages. Loads and stores in turn take the sum. With 1.5 times as many pages, the TLB still has some: with
 * three times as many, loads of adjacent pages take 5.3 ns instead of 3.9. */
static int measure_walks(struct memory *m, struct carm_err *err)
{
    static const struct {
        const char *code;
        size_t apart; /* pages */
        size_t sets;  /* number of pages, in halves of the TLB's entries */
        bool stores;
    } all[] = {{CARM_WALK_NEAR_LOADS, 1, 3, false},
               {CARM_WALK_NEAR_STORES, 1, 3, true},
               {CARM_WALK_FAR_LOADS, CARM_WALK_FAR, 3, false},
               {CARM_WALK_FAR_STORES, CARM_WALK_FAR, 3, true},
               {CARM_WALK_NEAR_MORE_LOADS, 1, 6, false},
               {CARM_WALK_NEAR_MORE_STORES, 1, 6, true},
               {CARM_WALK_FAR_MORE_LOADS, CARM_WALK_FAR, 6, false},
               {CARM_WALK_FAR_MORE_STORES, CARM_WALK_FAR, 6, true}};
    const size_t tlb = (size_t)carm_latency_tlb_pages(m->run->model);
    int rc = 0;
    for (size_t pages = 0; pages < PAGES_OF_LEVEL && tlb && !rc; pages++) {
        for (size_t i = 0; i < WALKS && !rc; i++) {
            const size_t stride = all[i].apart * SMALL + CARM_LINE_BYTES, most = m->bytes / stride;
            const size_t lines = tlb / 2 * all[i].sets;
            const struct strided s = {
                .lines = most < lines ? most : lines, .stride = stride, .stores = all[i].stores};
            const bool wanted = pages == 0 || (m->page_bytes[pages] != SMALL && all[i].sets == 3);
            rc = wanted ? measure_strided(m, CARM_WALK, all[i].code, pages, &s, err) : 0;
        }
    }
    return rc;
}

/* Lines at distances of a multiple of 4096 bytes are all in one set of L1, which handles them nearly one by one. Zen 4,
 * ns: loads from L2 2.7 instead of 0.54, from L3 4.5 instead of 0.8, from DRAM 14.4 instead of 8.8; updates 12.3, 12.7
 * and 17. */
static int measure_aliased(struct memory *m, struct carm_err *err)
{
    enum { APART = 4096, ROW = 16384, HELD = 256 };
    static const char *const codes[] = {CARM_ALIASED_LOADS, CARM_ALIASED_UPDATES};
    static const char *const levels[] = {"L2", "L3", "DRAM"};
    const size_t tlb = (size_t)carm_latency_tlb_pages(m->run->model);
    const size_t lines[] = {HELD, tlb / 3 * 2, m->bytes / ROW};
    int rc = 0;
    for (size_t i = 0; i < 6 && !rc; i++) {
        const size_t l = i % 3;
        const struct strided s = {
            .lines = lines[l], .stride = l == 2 ? ROW : APART, .updates = i >= 3, .moves = l == 2};
        rc = measure_strided(m, levels[l], codes[i / 3], 0, &s, err);
    }
    return rc;
}

/* Misses to memory beside instructions that write registers.
 * scalar  index of the rate without these instructions */
static int measure_beside(struct memory *m, size_t scalar, struct carm_err *err)
{
    const struct carm_model *model = m->run->model;
    int rc = 0;
    for (size_t i = 0; i < CARM_CHASE_BESIDE && model->nin_flight > scalar && !rc; i++) {
        char name[CARM_NAME_MAX], prefix[CARM_CODE_NAME_MAX];
        (void)snprintf(name, sizeof name, CARM_BESIDE "%u", carm_chase_beside[i]);
        (void)snprintf(prefix, sizeof prefix, "P.b%u.k", carm_chase_beside[i]);
        rc = measure_flight(m, "DRAM", name, prefix, 0, m->bytes,
                            model->in_flight[scalar].latency_seconds, err);
    }
    return rc;
}

/* Independent misses to L3 and memory with 4 KiB pages, which most programs have: their translations miss, too. */
static int measure_small(struct memory *m, struct carm_err *err)
{
    static const char *const levels[] = {"L3", "DRAM"};
    int rc = 0;
    for (size_t i = 0; i < sizeof levels / sizeof *levels && !rc; i++) {
        const bool memory = i == 1;
        const uint64_t set = set_of(m, levels[i], 0);
        if (set > 0 && m->page_bytes[0] == SMALL && m->page_bytes[1] != SMALL &&
            lay_out(m, 0, CARM_LATENCY_RANDOM, set, memory)) {
            const size_t scalar = m->run->model->nin_flight;
            rc = measure_flight(m, levels[i], "scalar", "P.k", 0, set, 0.0, err);
            rc = rc || !memory ? rc : measure_beside(m, scalar, err);
        }
    }
    return rc;
}

struct scattered {
    char *start;
    uint64_t lines;
    bool loads;         /* a load before each store */
    double rates[REPS]; /* accesses/s */
};

/* Independent accesses to random lines, whose places are numbers of a counter, mixed: no access waits for another.
 * source of the mixture: Steele et al. 2014, Fast splittable pseudorandom number generators (splitmix64) */
static void scattered_job(struct carm_worker *w, void *arg)
{
    enum { ACCESSES = 1 << 15 };
    struct scattered *s = arg;
    /* local copies: loading the members beside stores to unknown places makes the loop 1.3 times as slow */
    const bool loads = s->loads;
    char *const start = s->start;
    const uint64_t lines = s->lines;
    uint64_t seed = 0;
    for (size_t i = 0; i <= REPS; i++) { /* the first one brings lines and tables of pages */
        const uint64_t begin = carm_clock_now();
        for (size_t k = 0; k < ACCESSES; k++) {
            seed += UINT64_C(0x9e3779b97f4a7c15);
            const uint64_t mixed = (seed ^ seed >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
            const uint64_t line = (mixed >> 32) * lines >> 32;
            volatile uint64_t *word = (volatile uint64_t *)(void *)(start + line * CARM_LINE_BYTES);
            *word = loads ? *word + 1 : k;
        }
        s->rates[i > 0 ? i - 1 : 0] =
            ACCESSES * w->team->clock->tsc_hz / (double)(carm_clock_now() - begin);
    }
}

static const char *const scattered[] = {CARM_SCATTERED_STORES, CARM_SCATTERED_UPDATES};
enum { SCATTERED = sizeof scattered / sizeof *scattered };

/* In DRAM an update takes as long as a load with equally many instructions beside it. This code has eleven instructions
 * that write a register and took 17 ns on a Zen 4 guest; a code with six took 8 to 10 ns.
 * start, bytes  memory with one kind of pages */
static int scatter(struct memory *m, const char *level, size_t pages,
                   char *start, /* NOLINT(readability-non-const-parameter): its job stores there */
                   uint64_t bytes, struct carm_err *err)
{
    const size_t n = strcmp(level, "DRAM") == 0 ? 1 : SCATTERED;
    int rc = 0;
    for (size_t i = 0; i < n && !rc && !carm_team_is_over(m->run->team); i++) {
        struct scattered s = {.start = start, .lines = bytes / CARM_LINE_BYTES, .loads = i == 1};
        carm_team_run(m->run->team, scattered_job, &s);
        rc = add_flight(m, level, scattered[i], pages, bytes, s.rates, 0.0, err);
    }
    return rc;
}

/* Random lines of L2, L3 and memory. Measured last, as stores overwrite the chases. */
static int measure_scattered(struct memory *m, struct carm_err *err)
{
    static const char *const levels[] = {"L2", "L3", "DRAM"};
    enum { LEVELS = sizeof levels / sizeof *levels };
    int rc = 0;
    for (size_t i = 0; i < (size_t)LEVELS * PAGES_OF_LEVEL && !rc; i++) {
        const size_t pages = i % PAGES_OF_LEVEL;
        const char *level = levels[i / PAGES_OF_LEVEL];
        const uint64_t set = i / PAGES_OF_LEVEL == 2 ? m->bytes : set_of(m, level, pages);
        if (set > 0 && (pages == 0 || m->page_bytes[pages] != m->page_bytes[0])) {
            rc = scatter(m, level, pages, m->buffers[pages].start, set, err);
        }
    }
    return rc;
}

/* ---- all figures of memory ---- */

static void touch_job(struct carm_worker *w, void *arg)
{
    struct memory *m = arg;
    for (uint64_t at = HUGE; at <= m->bytes && !carm_team_is_over(w->team); at += HUGE) {
        for (size_t i = 0; i < PAGES_OF_LEVEL; i++) {
            carm_buffer_touch(&m->buffers[i], at);
        }
    }
}

static int open_memory(struct memory *m, struct carm_err *err)
{
    const struct carm_latency_options *o = &m->run->options;
    const uint64_t most = carm_latency_memory_most(o);
    const uint64_t want = LINES_MAX * last_cache(m->run->host->topo);
    const uint64_t share = most / 5 * 2; /* two buffers and the order */
    m->bytes = want > LEAST ? want : LEAST;
    m->bytes = m->bytes < MOST ? m->bytes : MOST;
    m->bytes = m->bytes < share ? m->bytes : share;
    m->bytes = m->bytes / HUGE * HUGE;
    if (m->bytes == 0) {
        carm_observer_say(m->run->host->observer,
                          "too little memory for the latencies of caches and DRAM: give more with "
                          "--memory");
        return 0;
    }
    m->sequence = malloc(m->bytes / CARM_LINE_BYTES * sizeof *m->sequence);
    m->window = aligned_alloc(SMALL, WINDOW);
    if (!m->sequence || !m->window) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to measure latencies");
    }
    for (size_t i = m->first; i < PAGES_OF_LEVEL; i++) {
        int rc = carm_buffer_open(&m->buffers[i], m->bytes, err);
        rc = rc || !m->bound ? rc : carm_buffer_bind(&m->buffers[i], &m->node, 1, err);
        if (rc) {
            return rc;
        }
    }
    if (m->first == 0) {
        (void)madvise(m->buffers[0].start, m->buffers[0].bytes, MADV_NOHUGEPAGE);
    }
    carm_team_run(m->run->team, touch_job, m);
    m->bytes = m->buffers[m->first].touched; /* less than wanted after the deadline */
    for (size_t i = 0; i < PAGES_OF_LEVEL; i++) {
        m->page_bytes[i] = carm_buffer_page_bytes(&m->buffers[i]);
    }
    return 0;
}

static void close_memory(struct memory *m)
{
    for (size_t i = 0; i < PAGES_OF_LEVEL; i++) {
        carm_buffer_close(&m->buffers[i]);
    }
    free(m->sequence);
    free(m->window);
}

/* Working sets: each power of two and 1.5 times each. returns their number */
static size_t make_sets(uint64_t *sets, uint64_t from, uint64_t to, bool quick)
{
    size_t n = 0;
    for (uint64_t at = from; at <= to && n + 2 < POINTS_MAX; at *= 2) {
        sets[n++] = at;
        if (!quick && at / 2 * 3 <= to) {
            sets[n++] = at / 2 * 3;
        }
    }
    return n;
}

/* The error of a sweep that has no curve; 0 = ended by the deadline */
static int stopped(const struct memory *m, struct carm_err *err)
{
    const int rc = carm_observer_check(m->run->host->observer, err);
    return rc || m->cut ? rc
                        : carm_fail(err, CARM_ENOMEM, "not enough memory to measure latencies");
}

static int measure_curves(struct memory *m, struct carm_err *err)
{
    uint64_t sets[POINTS_MAX];
    uint64_t lines[POINTS_MAX];
    double hz = 0.0;
    const bool quick = m->run->options.quick;
    for (size_t pages = 0; pages < PAGES_OF_LEVEL; pages++) {
        if (pages == 1 && m->page_bytes[1] != HUGE) {
            carm_observer_say(m->run->host->observer,
                              "no 2 MiB pages here: latencies are measured with 4 KiB pages alone");
            break;
        }
        size_t n = make_sets(sets, SMALL, m->bytes, quick);
        m->cold = last_cache(m->run->host->topo) + 1;
        if (n > 0 && sets[n - 1] < m->cold) { /* with little memory, the largest set serves */
            m->cold = sets[n - 1];
        }
        const struct carm_latency_curve *c = sweep(m, pages, CARM_LATENCY_RANDOM, sets, n, &hz);
        if (!c) {
            return stopped(m, err);
        }
        find_levels(m, c, hz);
        /* equally many adjacent lines, in one page or as few as possible */
        const uint64_t page = pages ? HUGE : SMALL;
        n = make_sets(sets, 8 * page, m->bytes, quick);
        if (n == 0) { /* less than 16 MiB: too few large pages for a TLB to miss */
            break;
        }
        for (size_t i = 0; i < n; i++) {
            lines[i] = sets[i] / page * CARM_LINE_BYTES;
        }
        const struct carm_latency_curve *apart = sweep(m, pages, CARM_LATENCY_PAGES, sets, n, &hz);
        const size_t packed = m->page_bytes[1] == HUGE ? 1 : 0;
        const struct carm_latency_curve *beside =
            apart && !m->cut ? sweep(m, packed, CARM_LATENCY_RANDOM, lines, n, &hz) : NULL;
        if (!beside) {
            return stopped(m, err);
        }
        find_tlb(m, apart, beside, hz);
        drop_curve(m); /* the curve of adjacent lines serves only the difference */
    }
    /* measured last, as no bound of a loop's time needs it */
    const size_t n = make_sets(sets, SMALL, m->bytes, quick);
    const struct carm_latency_curve *c = sweep(m, 0, CARM_LATENCY_LINES, sets, n, &hz);
    if (!c) {
        return stopped(m, err);
    }
    find_levels(m, c, hz);
    return 0;
}

/* All figures of memory, whose buffers have been touched. */
static int measure_all(struct memory *m, struct carm_err *err)
{
    int rc = measure_curves(m, err);
    rc = rc ? rc : measure_streams(m, err);
    if (!rc && m->page_bytes[0] == SMALL) {
        rc = measure_walks(m, err);
        rc = rc ? rc : measure_aliased(m, err);
    }
    rc = rc ? rc : measure_flights(m, err);
    rc = rc ? rc : measure_small(m, err);
    return rc ? rc : measure_scattered(m, err);
}

int carm_latency_memory(struct carm_latency_run *run, struct carm_err *err)
{
    enum { ROOM = 256 }; /* of each list of figures */
    _Static_assert((int)(4 * PAGES_OF_LEVEL) <= ROOM, "all curves");
    _Static_assert((int)(4 * (CARM_TOPO_CACHES_MAX + 4)) <= ROOM, "all levels");
    _Static_assert((int)(3 * 9 + 2 + CARM_CHASE_BESIDE + STREAMS + WALKS * PAGES_OF_LEVEL + 2 * 3 +
                         SCATTERED * 3 * PAGES_OF_LEVEL + CARM_LATENCY_WIDE_RATES) <= ROOM,
                   "all misses in flight");
    struct memory m = {.run = run};
    struct carm_model *model = run->model;
    model->latency_curves = calloc(ROOM, sizeof *model->latency_curves);
    model->latency = calloc(ROOM, sizeof *model->latency);
    model->in_flight = calloc(ROOM, sizeof *model->in_flight);
    if (!model->latency_curves || !model->latency || !model->in_flight) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to measure latencies");
    }
    int rc = open_memory(&m, err);
    rc = rc || !m.bytes ? rc : measure_all(&m, err);
    const bool small = m.bytes && m.page_bytes[0] == SMALL;
    close_memory(&m);
    return rc || !small || run->options.quick ? rc : carm_latency_wide(run, err);
}

/* weak: a test replaces it by planted latencies */
__attribute__((weak)) int carm_latency_at(struct carm_latency_run *run, int node,
                                          struct carm_latency *out, struct carm_err *err)
{
    static const double whole = 0.99; /* least share of the pages on the node; chosen by hand */
    struct memory m = {.run = run, .first = 1, .bound = true, .node = node};
    struct point p;
    *out = (struct carm_latency){.level = "DRAM",
                                 .order = CARM_LATENCY_RANDOM,
                                 .note = "not measured: the time or the memory was too small"};
    int rc = open_memory(&m, err);
    if (!rc && m.bytes > 0 && measure(&m, 1, CARM_LATENCY_RANDOM, m.bytes, &p)) {
        const double share = carm_buffer_share_on(&m.buffers[1], node);
        out->page_bytes = m.page_bytes[1];
        out->seconds = p.seconds;
        out->ci95 = p.ci95;
        out->cycles = p.cycles;
        out->clock_hz = p.clock_hz;
        out->working_set_bytes = m.bytes;
        out->disturbed = p.disturbed;
        out->note[0] = '\0';
        if (share >= 0.0 && share < whole) {
            (void)snprintf(out->note, sizeof out->note,
                           "only %.0f%% of the pages lie on NUMA node %d", 100.0 * share, node);
            out->disturbed = true;
        }
    } else if (rc == -CARM_ENOTSUP) {
        (void)snprintf(out->note, sizeof out->note, "%.250s",
                       err ? err->text : "cannot bind memory");
        rc = 0;
    }
    close_memory(&m);
    return rc;
}
