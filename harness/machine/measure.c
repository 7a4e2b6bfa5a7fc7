/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/machine/measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "harness/machine/times.h"

enum {
    ATTEMPTS = 3,
    LONGER = 2, /* a run has at most this many times the wanted repetitions, to get enough on own
                 * cores */
    PART = 8,   /* after the longest wait for own cores, a PART-th of the repetitions is enough */
    LATEST = 8, /* readings of the core clock, the highest of which counts */
};

/* Shares above which a point counts as disturbed, chosen by hand. A median would tolerate more,
 * but another program that takes this much processor time also takes cache and bandwidth. */
static const double slow_share_max = 0.10;
static const double switch_share_max = 0.02;
static const double taken_share_max =
    0.02; /* like switch_share_max; beyond it other programs are named as the cause */
static const double steal_share_max = 0.05;
static const double steal_known_seconds = 0.2; /* the kernel counts stolen time in steps of 10 ms */
static const double clock_spread_max = 0.03;

static const double poll_seconds = 10e-6; /* one look at the cores takes some 10 us: a chain of
                                           * imul (6 us) and a width (3 us) */

struct run_args {
    const struct carm_code *code;
    struct carm_shape shape;
    struct carm_times_run run;
    /* looks at the cores that a run may spend on waiting for own cores; a look slower than
     * poll_seconds counts as several */
    size_t polls;
    bool warm;
    uint64_t warm_bytes; /* bytes of one thread's set that are read before the repetitions begin */
    uint64_t seed;       /* of random lines */
    uint64_t end_cursor; /* cursor with which the next run begins */
};

/* Reads one word of each line. */
static void read_lines(const char *base, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += CARM_LINE_BYTES) {
        (void)*(const volatile uint64_t *)(base + at);
    }
}

/* Runs the code for one lap around the set, which fills the caches, and for at least 100 us, in
 * which the core clock reaches its frequency under this ISA's load. */
static void warm_up(const struct run_args *a, const struct carm_team *team, struct carm_windows *at)
{
    const struct carm_code *code = a->code;
    const uint64_t until = carm_clock_now() + (uint64_t)(100e-6 * team->clock->tsc_hz);
    const bool random = code->spec.kind == CARM_KIND_R;
    /* bytes of the set that one repetition brings into cache */
    const unsigned stride = code->spec.stride > 1 ? code->spec.stride : 1;
    const uint64_t each = carm_measure_set_bytes(code, &a->shape) / a->shape.windows / stride;
    uint64_t left = a->warm_bytes;
    if (random) { /* random draws leave some lines of the set unread for many laps */
        read_lines(at->base, left);
        left = 0;
    }
    do {
        a->code->run(carm_windows_at(at), a->shape.iterations, 1, carm_windows_extra(at));
        carm_windows_next(at);
        left -= each < left ? each : left;
    } while ((left || carm_clock_now() < until) && !carm_team_is_over(team));
}

/* Whether a block that begins now is useful: some worker that still needs repetitions has its
 * core for itself. */
static bool is_ready(const struct carm_team *team, const struct run_args *a, size_t probe)
{
    for (int i = 0; i < team->n; i++) {
        const struct carm_worker *w = &team->workers[i];
        if (w->own < a->run.reps && carm_times_own_width(w, probe) >= CARM_WIDTH_OWN) {
            return true;
        }
    }
    return false;
}

/* The issue width of the worker's core now, slots per cycle. An interrupt makes a reading of the
 * clock too low, never too high; a width divided by such a reading is too wide. So the highest of the
 * latest readings is the divisor. */
static double width_now(struct carm_worker *w, size_t at)
{
    const double width = carm_probe_width(w->clock_overhead);
    double ratio = w->ratios[at];
    for (size_t i = at > LATEST ? at - LATEST : 0; i < at; i++) {
        ratio = fmax(ratio, w->ratios[i]);
    }
    carm_widths_add(carm_times_widths(w), width / ratio);
    return width / ratio;
}

/* All workers look at their cores at the same time. After the second start line each worker can
 * read the others' ratios and widths.
 * again  whether place `at` has a reading already: the higher clock reading counts
 * line   of the start line, advanced
 * returns false when the deadline is over */
static bool probe(struct carm_worker *w, size_t at, bool again, uint64_t *line)
{
    if (!carm_team_line_wait(w->team, (*line)++)) {
        return false;
    }
    const double ratio = carm_clock_ratio(w->clock_overhead, w->team->clock->imul_cycles);
    w->ratios[at] = again ? fmax(w->ratios[at], ratio) : ratio;
    w->widths[at] = width_now(w, at);
    return carm_team_line_wait(w->team, (*line)++);
}

/* The time of the latest start line, which is the same for all workers. */
static uint64_t common_time(const struct carm_team *team)
{
    return team->n == 1 ? carm_clock_now()
                        : atomic_load_explicit(&team->start_tsc, memory_order_relaxed);
}

static size_t polls_since(const struct carm_team *team, uint64_t begin)
{
    const uint64_t now = common_time(team);
    const double seconds = now > begin ? (double)(now - begin) / team->clock->tsc_hz : 0.0;
    return 1 + (size_t)(seconds / poll_seconds);
}

/* Whether a run continues. After the longest wait for own cores, the run ends with a PART-th of the wanted
 * repetitions: another run later gains more than further waiting.
 * own, r  repetitions so far: on own cores, and in all */
static bool goes_on(const struct run_args *a, size_t own, size_t r, size_t polls)
{
    if (a->polls > 0 && polls == 0) {
        return r < a->run.reps / PART;
    }
    return own < a->run.reps && r < a->run.most;
}

/* The repetitions of one block. returns false when the deadline is over */
static bool run_block(struct carm_worker *w, const struct run_args *a, struct carm_windows *at,
                      uint64_t *line)
{
    carm_code_fn *run = a->code->run;
    const uint64_t iterations = a->shape.iterations;
    const uint64_t passes = a->shape.passes;
    uint32_t cpu = 0;
    for (const size_t end = w->done + carm_times_block(&a->run, w->done); w->done < end;
         w->done++) {
        void *const window = carm_windows_at(at);
        const uint64_t extra = carm_windows_extra(at);
        if (!carm_team_line_wait(w->team, (*line)++)) {
            return false;
        }
        w->begin[w->done] = carm_clock_start();
        run(window, iterations, passes, extra);
        w->end[w->done] = carm_clock_stop(&cpu);
        w->migrations += cpu != ((uint32_t)w->pu & 0xfff) ? 1 : 0;
        carm_windows_next(at);
    }
    return true;
}

/* Blocks of repetitions until there are enough, or the deadline is over. */
static void run_blocks(struct carm_worker *w, const struct run_args *a, struct carm_windows *at)
{
    struct carm_team *team = w->team;
    uint64_t line = 0;
    size_t polls = a->polls;
    bool goes =
        probe(w, carm_times_before(0), false, &line) && probe(w, carm_times_before(0), true, &line);
    while (goes) {
        const size_t look = carm_times_before(w->blocks);
        const size_t next = carm_times_after(w->blocks);
        while (goes && polls > 0 && !is_ready(team, a, look)) {
            const uint64_t begin = common_time(team);
            goes = probe(w, look, true, &line);
            const size_t cost = polls_since(team, begin);
            polls -= cost < polls ? cost : polls;
        }
        const size_t reps = carm_times_block(&a->run, w->done);
        if (!goes || !run_block(w, a, at, &line) || !probe(w, next, false, &line)) {
            return;
        }
        w->own += carm_times_is_own(w, w->blocks) ? reps : 0;
        w->blocks++;
        w->widths[carm_times_before(w->blocks)] = w->widths[next];
        w->ratios[carm_times_before(w->blocks)] = w->ratios[next];
        /* no thread looks again before all threads have decided */
        goes = carm_team_line_wait(team, line++) &&
               goes_on(a, carm_times_fewest_own(team), w->done, polls);
    }
}

static void run_job(struct carm_worker *w, void *arg)
{
    struct run_args *a = arg;
    const uint64_t span = carm_window_span(a->code, &a->shape);
    char *const base =
        (char *)w->buffer.start + (w->place + span <= w->buffer.touched ? w->place : 0);
    struct carm_windows at;
    w->migrations = 0;
    w->own = 0;
    w->done = 0;
    w->blocks = 0;
    carm_windows_begin(&at, a->code, &a->shape, base, w->team->cursor, a->seed, (unsigned)w->index);
    if (a->warm) {
        warm_up(a, w->team, &at);
    }
    run_blocks(w, a, &at);
    if (w->index == 0) {
        a->end_cursor = carm_windows_cursor(&at);
    }
}

/* Seconds that the hypervisor took from the team's processors since boot. */
static double stolen_seconds(const struct carm_team *team)
{
    FILE *f = fopen("/proc/stat", "r");
    const double ticks = f ? carm_times_stolen(team, f) : 0.0;
    if (f) {
        fclose(f);
    }
    return ticks / (double)sysconf(_SC_CLK_TCK);
}

/* ---- what a core can do ---- */

/* Most operations on vectors of `width` bytes that a known core executes in a cycle. Integers: four
 * pipes in Zen 3 to 5, Lion Cove and Skymont. FP: two pipes multiply and two add; `mad` and
 * mixtures use all four (Zen, Golden Cove). Skymont has four pipes of 16 bytes for all FP
 * operations. Division: known dividers start one every 2 cycles or fewer; twice that is allowed.
 * source: Intel, Optimization Reference Manual (248966), Golden Cove, Lion Cove, Skymont; AMD, Software
 * Optimization Guide for the Zen5 Microarchitecture (58455); uops.info */
static double most_operations(enum carm_op op, enum carm_precision precision, unsigned width)
{
    if (width > CARM_LINE_BYTES) {
        return 1.0 / 16; /* products of tiles */
    }
    switch (op) {
    case CARM_DIV:
        return 1.0;
    case CARM_ADD:
        return carm_precisions[precision].integer || width <= 16 ? 4.0 : 2.0;
    case CARM_MAD:
    case CARM_LOGIC:
    case CARM_POPCNT:
        return 4.0;
    default:
        return carm_ops[op].mixture || width <= 16 ? 4.0 : 2.0;
    }
}

static bool is_beyond_core(const struct carm_measurement *m)
{
    static const double tolerance = 1.005; /* the clock's error under load is below 0.5% */
    const struct carm_account *a = &m->code->account;
    const struct carm_code_spec *s = &m->code->spec;
    const unsigned width = carm_isa_vector_bytes(s->isa, s->precision);
    /* Loads: Golden Cove 3 x 32 or 2 x 64 byte, Zen 5 4 scalar or 2 x 64 byte. Stores: Golden Cove and
     * Zen 5 2 x 32 or 1 x 64 byte. Tiles: 64 bytes a row. source: see most_operations */
    const bool tiles = width > CARM_LINE_BYTES;
    const double rows = tiles ? (double)width / CARM_LINE_BYTES : 1.0;
    const double loads = width >= 64 ? 2.0 / rows : width == 32 ? 3.0 : 4.0;
    const double stores = width >= 64 ? 1.0 / rows : 2.0;
    const double cycles =
        m->seconds.median * m->clock_hz / ((double)m->shape.iterations * (double)m->shape.passes);
    const double most = tolerance * cycles;
    return (double)a->loads > most * loads || (double)a->stores > most * stores ||
           (double)a->fp_instructions > most * most_operations(s->op, s->precision, width);
}

/* ---- one attempt ---- */

enum carm_disturbance carm_measure_judge(const struct carm_measurement *m)
{
    const double reps = (double)m->seconds.n / (m->own_share > 0.0 ? m->own_share : 1.0);
    if (is_beyond_core(m)) {
        return CARM_TOO_FAST;
    }
    if (m->migrations > 0) {
        return CARM_MIGRATED;
    }
    if (m->clock_spread > clock_spread_max) {
        return CARM_CLOCK_MOVED;
    }
    if ((double)m->switches > switch_share_max * reps && m->switches > 4) {
        return CARM_PREEMPTED;
    }
    if (m->steal_share > steal_share_max) {
        return CARM_STOLEN;
    }
    if (m->cut) {
        return CARM_CUT;
    }
    const bool taken = m->taken_share > taken_share_max;
    if (!(m->own_share > 0.0)) {
        return taken ? CARM_PREEMPTED : CARM_CORE_SHARED;
    }
    return m->slow_share <= slow_share_max ? CARM_UNDISTURBED
           : taken                         ? CARM_PREEMPTED
                                           : CARM_UNEVEN;
}

/* Bytes to read before a run. A set that fits a cache is read once. A larger set needs no
 * reading: the run begins at the cursor, where the run before ended, so that no line of the
 * first windows is in a cache. */
static uint64_t warm_bytes_of(const struct carm_team *team, const struct carm_code *code,
                              const struct carm_shape *shape)
{
    const uint64_t set = carm_measure_set_bytes(code, shape);
    uint64_t largest = (uint64_t)64 << 20;
    for (size_t i = 0; i < team->topo->ncaches; i++) {
        uint64_t size = team->topo->caches[i].size_bytes;
        largest = size > largest ? size : largest;
    }
    return set <= 2 * largest ? set : 0;
}

/* Copies the times of a run into the measurement. */
static void take_times(const struct carm_times_run *run, const struct carm_times *t,
                       struct carm_measurement *m)
{
    m->seconds = t->seconds;
    m->cycles = t->cycles;
    m->clock_hz = m->cycles / m->seconds.median;
    m->clock_spread = t->clock_spread;
    m->own_share = t->own_share;
    m->width_share = t->width_share;
    m->slow_share = t->slow_share;
    m->cut = run->cut && (run->blind || m->seconds.n < run->reps / PART);
}

/* One attempt.
 * apart  out: whether each thread's repetitions count by themselves (carm_times_describe); NULL = not wanted */
static void run_once(struct carm_team *team, const struct carm_code *code,
                     const struct carm_shape *shape, size_t reps, bool warm,
                     struct carm_measurement *m, bool *apart)
{
    struct run_args args = {.code = code, .shape = *shape, .run = {.reps = reps}, .warm = warm};
    struct carm_times times;
    const size_t longer = LONGER * reps < team->max_reps ? LONGER * reps : team->max_reps;
    args.run.most = team->patience_seconds > 0.0 ? longer : reps;
    args.polls = (size_t)(team->patience_seconds / poll_seconds);
    args.warm_bytes = warm_bytes_of(team, code, shape);
    args.seed = carm_clock_now();
    memset(m, 0, sizeof *m);
    m->code = code;
    m->threads = team->n;
    m->shape = *shape;
    m->cut = true;
    m->disturbance = CARM_CUT;
    const double work = (double)(shape->iterations * shape->passes) * team->n;
    m->bytes = work * (double)(code->account.load_bytes + code->account.store_bytes);
    m->flops = work * (double)code->account.flops;
    if (apart) {
        *apart = false;
    }
    /* when the deadline ended the touching, part of the set is still the shared page of zeros */
    if (carm_team_is_over(team) || !carm_team_touch(team, carm_window_span(code, shape))) {
        return;
    }
    for (int i = 0; i < team->n; i++) {
        team->workers[i].full_width = carm_widths_full(carm_times_widths(&team->workers[i]));
    }
    carm_team_line_reset(team);
    const double stolen = stolen_seconds(team);
    carm_team_run(team, run_job, &args);
    const double taken = stolen_seconds(team) - stolen;
    team->cursor = args.end_cursor;
    args.run.cut = atomic_load(&team->over);
    carm_times_end(team, &args.run);
    if (args.run.done == 0) {
        return;
    }
    const double total = carm_times_total(team, &args.run);
    m->steal_share = total > steal_known_seconds ? taken / (total * team->n) : 0.0;
    const bool separated = carm_times_describe(team, &args.run, &times);
    if (apart) {
        *apart = separated;
    }
    take_times(&args.run, &times, m);
    for (int i = 0; i < team->n; i++) {
        m->switches += team->workers[i].switches;
        m->taken_share =
            fmax(m->taken_share, team->workers[i].queued_share + team->workers[i].stopped_share);
        m->migrations += team->workers[i].migrations;
    }
    m->disturbance = carm_measure_judge(m);
    if (times.unsound && !m->disturbance) {
        m->disturbance = CARM_TOO_SHORT;
    }
}

/* The empty code's time, the least of several: disturbances only lengthen it.
 * before  seconds of the calibration before, returned when the deadline leaves no repetition */
static double empty_seconds(struct carm_team *team, const struct carm_code *empty, double before)
{
    struct carm_shape shape = {.iterations = 1, .passes = 1, .windows = 1};
    struct carm_measurement m;
    const size_t reps = team->max_reps < 2048 ? team->max_reps : 2048;
    double least = INFINITY;
    team->overhead = (struct carm_overhead){.together = 0.0};
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        run_once(team, empty, &shape, reps, true, &m, NULL);
        least = m.seconds.n > 0 ? fmin(least, m.seconds.median) : least;
        if (!m.disturbance || m.seconds.n == 0) {
            break;
        }
    }
    return isfinite(least) ? least : before;
}

void carm_measure_calibrate(struct carm_team *team, const struct carm_code *empty)
{
    const struct carm_overhead before = team->overhead;
    struct carm_overhead overhead = {.together = empty_seconds(team, empty, before.together)};
    carm_team_separate(team, true);
    overhead.each = team->separate ? empty_seconds(team, empty, before.each) : overhead.together;
    carm_team_separate(team, false);
    team->overhead = overhead;
}

/* One thread looks at its core while the others sleep. */
static void alone_job(struct carm_worker *w, void *arg)
{
    enum { SAMPLES = 3 };
    const int *index = arg;
    const struct carm_clock *clock = w->team->clock;
    if (w->index != *index) {
        return;
    }
    /* the other threads need some microseconds to fall asleep; 30 us is several times as long */
    const uint64_t until = carm_clock_now() + (uint64_t)(30e-6 * clock->tsc_hz);
    while (carm_clock_now() < until) {
    }
    /* an interrupt makes both readings too low, never too high */
    double width = 0.0;
    double ratio = 0.0;
    for (int i = 0; i < SAMPLES; i++) {
        width = fmax(width, carm_probe_width(w->clock_overhead));
        ratio = fmax(ratio, carm_clock_ratio(w->clock_overhead, clock->imul_cycles));
    }
    w->widths[0] = width / ratio;
    carm_widths_add(&w->seen_alone, w->widths[0]);
}

int carm_measure_own_alone(struct carm_team *team)
{
    int own = 0;
    for (int i = 0; i < team->n && !carm_team_is_over(team); i++) {
        struct carm_worker *w = &team->workers[i];
        carm_team_run(team, alone_job, &i);
        own += w->widths[0] >= CARM_WIDTH_OWN * carm_widths_full(carm_times_widths(w)) ? 1 : 0;
    }
    return own;
}

void carm_measure_watch(struct carm_team *team, double seconds)
{
    const struct timespec nap = {0, 1000000};
    const uint64_t until = carm_clock_now() + (uint64_t)(seconds * team->clock->tsc_hz);
    while (carm_clock_now() < until && !carm_team_is_over(team)) {
        carm_measure_own_alone(team);
        nanosleep(&nap, NULL);
    }
}

void carm_measure_place(struct carm_team *team, const struct carm_code *code, uint64_t set_bytes,
                        size_t places)
{
    enum { REPS = 96, ROUNDS = 2 };
    const uint64_t page = (uint64_t)2 << 20;
    const uint64_t room = carm_team_room(team);
    struct carm_shape shape;
    struct carm_measurement m;
    if (places * page > room) {
        places = room / page;
    }
    if (set_bytes > page || places < 2 || team->max_reps < REPS) {
        return;
    }
    carm_team_touch(team, places * page);
    carm_measure_shape(team, code, set_bytes, 8e-6, &shape);
    double ticks[REPS];
    carm_team_separate(team, true);
    bool known = false;
    for (size_t k = 0; k < places * ROUNDS; k++) {
        bool apart = false;
        const uint64_t here = k % places * page;
        for (int i = 0; i < team->n; i++) {
            team->workers[i].place = here;
        }
        run_once(team, code, &shape, REPS, true, &m, &apart);
        if (m.seconds.n == 0) {
            break;
        }
        for (int i = 0; i < team->n; i++) { /* each thread's own times, not the team's */
            struct carm_worker *w = &team->workers[i];
            size_t n = 0;
            for (size_t r = 0; n < REPS && n < m.seconds.n; r++) {
                if (apart) {
                    ticks[n++] = (double)w->begin[r] * carm_times_ratio(w, w->end[r]);
                } else if (team->counts[r]) {
                    ticks[n++] = (double)(w->end[r] - w->begin[r]) *
                                 carm_times_ratio(w, r / CARM_CLOCK_EVERY);
                }
            }
            const double cycles = carm_stats_median(ticks, n);
            if (k == 0 || cycles < 0.99 * w->best_cycles) {
                w->best_cycles = cycles;
                w->best_place = here;
            }
        }
        known = true;
    }
    for (int i = 0; i < team->n; i++) {
        team->workers[i].place = known ? team->workers[i].best_place : 0;
    }
    carm_team_separate(team, false);
}

void carm_measure_shape(struct carm_team *team, const struct carm_code *code, uint64_t set_bytes,
                        double target_seconds, struct carm_shape *shape)
{
    const uint64_t stride = code->account.stride_bytes;
    const uint64_t probe_bytes = (uint64_t)1 << 20;
    const double patience = team->patience_seconds;
    struct carm_measurement m;
    /* windows of one iteration span the most bytes of all shapes */
    carm_measure_shape_of(code, set_bytes, 1, shape);
    carm_team_touch(team, carm_window_span(code, shape));
    carm_measure_shape_of(code, set_bytes, stride ? probe_bytes / stride + 1 : 1, shape);
    shape->passes = 1;
    /* probe: longer and longer, until the clock resolves the time; a target time needs no own cores */
    team->patience_seconds = 0.0;
    for (;;) {
        run_once(team, code, shape, team->max_reps < 15 ? team->max_reps : 15, false, &m, NULL);
        if (m.seconds.n == 0) { /* the deadline is over: the first shape is as good as any */
            team->patience_seconds = patience;
            return;
        }
        if (m.seconds.median >= target_seconds / 4.0 || shape->passes > ((uint64_t)1 << 32)) {
            break;
        }
        double factor = target_seconds / fmax(m.seconds.median, target_seconds / 64.0);
        shape->passes = (uint64_t)ceil((double)shape->passes * fmax(factor, 2.0));
    }
    team->patience_seconds = patience;
    /* the probe began with cold caches; its rate is good enough for a target time */
    const double one = m.seconds.median / ((double)shape->iterations * (double)shape->passes);
    const uint64_t want = (uint64_t)(target_seconds / one); /* iterations in one repetition */
    carm_measure_shape_of(code, set_bytes, want, shape);
}

void carm_measure_run(struct carm_team *team, const struct carm_code *code,
                      const struct carm_shape *shape, size_t reps, struct carm_measurement *out)
{
    run_once(team, code, shape, reps, true, out, NULL);
}

double carm_measure_rate(const struct carm_measurement *m, double work)
{
    return m->seconds.n > 0 ? work / m->seconds.median : 0.0;
}
