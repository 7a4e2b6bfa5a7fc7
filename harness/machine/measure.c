/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/machine/measure.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
    ATTEMPTS = 3,
    LONGER = 2,  /* times the repetitions that were asked for, until enough are undisturbed */
    PART = 8,    /* of the repetitions is enough once waiting has taken its time */
    LATEST = 8,  /* readings of the clock */
    SHARES = 64, /* probes of which the median describes a run */
};

/* Shares above which a point counts as disturbed. Medians bear more, but the neighbours that take
 * this much also take cache and bandwidth. */
static const double slow_share_max = 0.10;
static const double switch_share_max = 0.02;
static const double steal_share_max = 0.05;
static const double steal_known_seconds = 0.2; /* the kernel counts stolen time in steps of 10 ms */
static const double clock_spread_max = 0.03;

static const double poll_seconds = 10e-6; /* one look at the cores, roughly */
static const double golden = 0.6180339887498949;

struct run_args {
    const struct carm_code *code;
    struct carm_shape shape;
    size_t reps; /* wanted of cores that the threads had for themselves */
    size_t most; /* in all */
    size_t
        polls; /* looks at the cores that may be spent on waiting for such; a slow one counts for several */
    bool warm;
    uint64_t warm_bytes; /* of one thread, read before the repetitions begin */
    uint64_t seed;       /* of random lines */
    uint64_t end_cursor; /* where the next run goes on */
    size_t done;         /* repetitions, whoever had the cores */
};

/* Reads one word of each line. */
static void read_lines(const char *base, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += CARM_LINE_BYTES) {
        (void)*(const volatile uint64_t *)(base + at);
    }
}

/* One lap fills the caches as the repetitions will find them; some 100 us bring the clock to what this
 * ISA's load leaves. */
static void warm_up(const struct run_args *a, const struct carm_team *team, struct carm_windows *at)
{
    const struct carm_code *code = a->code;
    const uint64_t until = carm_clock_now() + (uint64_t)(100e-6 * team->clock->tsc_hz);
    const bool random = code->spec.kind == CARM_KIND_R;
    /* what one repetition brings of the set */
    const unsigned stride = code->spec.stride > 1 ? code->spec.stride : 1;
    const uint64_t each = carm_measure_set_bytes(code, &a->shape) / a->shape.windows / stride;
    uint64_t left = a->warm_bytes;
    if (random) { /* drawing misses lines of a set for many laps */
        read_lines(at->base, left);
        left = 0;
    }
    do {
        a->code->run(carm_windows_at(at), a->shape.iterations, 1, carm_windows_extra(at));
        carm_windows_next(at);
        left -= each < left ? each : left;
    } while (left || carm_clock_now() < until);
}

/* The widths that a worker's core is compared with: threads that share a core by design with what they
 * reach together. */
static struct carm_widths *widths_of(struct carm_worker *w)
{
    return w->team->n > w->team->topo->cores ? &w->seen_together : &w->seen_alone;
}

/* The share of its core's full width that a worker had at one probe; 1 where the width is not known yet. */
static double share_of(const struct carm_worker *w, size_t probe)
{
    return w->full_width > 0.0 ? w->widths[probe] / w->full_width : 1.0;
}

/* The least share of its full width that any worker had at one probe. */
static double width_share(const struct carm_team *team, size_t probe)
{
    double least = 1.0;
    for (int i = 0; i < team->n; i++) {
        least = fmin(least, share_of(&team->workers[i], probe));
    }
    return least;
}

/* Probes of a block of repetitions: one before it and one after. */
static size_t before(size_t block)
{
    return 2 * block;
}

static size_t after(size_t block)
{
    return 2 * block + 1;
}

/* The share of its core's width that counts for a worker: its own, or the least of all. */
static double own_width(const struct carm_worker *w, size_t probe)
{
    return w->team->separate ? share_of(w, probe) : width_share(w->team, probe);
}

/* Whether a worker had its core for itself before and after a block; unless the team is separate, whether all
 * had. */
static bool is_own(const struct carm_worker *w, size_t block)
{
    return fmin(own_width(w, before(block)), own_width(w, after(block))) >= CARM_WIDTH_OWN;
}

/* Whether a block that begins now can tell something: a worker that needs repetitions has its core for itself. */
static bool is_ready(const struct carm_team *team, const struct run_args *a, size_t probe)
{
    for (int i = 0; i < team->n; i++) {
        const struct carm_worker *w = &team->workers[i];
        if (w->own < a->reps && own_width(w, probe) >= CARM_WIDTH_OWN) {
            return true;
        }
    }
    return false;
}

/* Repetitions that count, of the worker with fewest. */
static size_t fewest_own(const struct carm_team *team)
{
    size_t fewest = team->workers[0].own;
    for (int i = 1; i < team->n; i++) {
        fewest = team->workers[i].own < fewest ? team->workers[i].own : fewest;
    }
    return fewest;
}

/* The width of the worker's core now. An interrupt makes one reading of the clock too low, never too
 * high, and the width as much too wide: the highest of the latest counts. */
static double width_now(struct carm_worker *w, size_t at)
{
    const double width = carm_probe_width(w->clock_overhead);
    double ratio = w->ratios[at];
    for (size_t i = at > LATEST ? at - LATEST : 0; i < at; i++) {
        ratio = fmax(ratio, w->ratios[i]);
    }
    carm_widths_add(widths_of(w), width / ratio);
    return width / ratio;
}

/* All workers look at their cores at the same time, and each sees what all saw.
 * again  whether the place has been looked at: of its clock readings the highest counts
 * line   of the start line, advanced */
static void probe(struct carm_worker *w, size_t at, bool again, uint64_t *line)
{
    carm_team_line_wait(w->team, (*line)++);
    const double ratio = carm_clock_ratio(w->clock_overhead, w->team->clock->imul_cycles);
    w->ratios[at] = again ? fmax(w->ratios[at], ratio) : ratio;
    w->widths[at] = width_now(w, at);
    carm_team_line_wait(w->team, (*line)++);
}

/* The time on which all workers agree: of their latest start line. */
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

/* Repetitions of the block that begins at repetition r. */
static size_t block_reps(const struct run_args *a, size_t r)
{
    const size_t each = a->reps < CARM_CLOCK_EVERY ? a->reps : CARM_CLOCK_EVERY;
    return each < a->most - r ? each : a->most - r;
}

/* Whether a run goes on. Where the cores were others' for as long as it may wait, a part of its repetitions
 * tells as much: the time is better spent on another run later.
 * own, r  repetitions so far, of own cores and in all */
static bool goes_on(const struct run_args *a, size_t own, size_t r, size_t polls)
{
    if (a->polls > 0 && polls == 0) {
        return own < a->reps / PART && r < a->reps / PART;
    }
    return own < a->reps && r < a->most;
}

static void run_job(struct carm_worker *w, void *arg)
{
    struct run_args *a = arg;
    struct carm_team *team = w->team;
    carm_code_fn *run = a->code->run;
    const uint64_t iterations = a->shape.iterations;
    const uint64_t passes = a->shape.passes;
    const uint64_t span = carm_window_span(a->code, &a->shape);
    char *const base =
        (char *)w->buffer.start + (w->place + span <= w->buffer.touched ? w->place : 0);
    struct carm_windows at;
    uint32_t cpu = 0;
    uint64_t line = 0;
    size_t r = 0;

    w->migrations = 0;
    w->own = 0;
    carm_windows_begin(&at, a->code, &a->shape, base, team->cursor, a->seed, (unsigned)w->index);
    if (a->warm) {
        warm_up(a, team, &at);
    }
    size_t block = 0;
    size_t polls = a->polls;
    probe(w, before(0), false, &line);
    probe(w, before(0), true, &line);
    do {
        while (polls > 0 && !is_ready(team, a, before(block))) {
            const uint64_t begin = common_time(team);
            probe(w, before(block), true, &line);
            const size_t cost = polls_since(team, begin);
            polls -= cost < polls ? cost : polls;
        }
        const size_t reps = block_reps(a, r);
        for (const size_t end = r + reps; r < end; r++) {
            void *const window = carm_windows_at(&at);
            const uint64_t extra = carm_windows_extra(&at);
            carm_team_line_wait(team, line++);
            w->begin[r] = carm_clock_start();
            run(window, iterations, passes, extra);
            w->end[r] = carm_clock_stop(&cpu);
            w->migrations += cpu != ((uint32_t)w->pu & 0xfff) ? 1 : 0;
            carm_windows_next(&at);
        }
        probe(w, after(block), false, &line);
        w->own += is_own(w, block) ? reps : 0;
        block++;
        w->widths[before(block)] = w->widths[after(block - 1)];
        w->ratios[before(block)] = w->ratios[after(block - 1)];
        carm_team_line_wait(team, line++); /* nobody looks again before all have decided */
    } while (goes_on(a, fewest_own(team), r, polls));
    w->nprobes = before(block);
    if (w->index == 0) {
        a->end_cursor = carm_windows_cursor(&at);
        a->done = r;
    }
}

/* Seconds that the hypervisor took from the team's processors since boot. */
static double stolen_seconds(const struct carm_team *team)
{
    char line[512];
    double sum = 0.0;
    FILE *f = fopen("/proc/stat", "r");
    if (!f) {
        return 0.0;
    }
    while (fgets(line, sizeof line, f) && strncmp(line, "cpu", 3) == 0) {
        if (line[3] < '0' || line[3] > '9') {
            continue; /* the sum of all */
        }
        char *at = line + 3;
        const long cpu = strtol(at, &at, 10);
        double steal = 0.0;
        /* user nice system idle iowait irq softirq steal */
        for (int field = 0; field < 8; field++) {
            steal = strtod(at, &at);
        }
        for (int i = 0; i < team->n; i++) {
            sum += team->workers[i].pu == cpu ? steal : 0.0;
        }
    }
    fclose(f);
    return sum / (double)sysconf(_SC_CLK_TCK);
}

/* Duration of repetition r in ticks: last end minus first start; where the TSCs of the processors
 * are not in step, the longest of the threads' own times. */
static double repetition_ticks(const struct carm_team *team, size_t r)
{
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;
    uint64_t longest = 0;
    for (int i = 0; i < team->n; i++) {
        uint64_t begin = team->workers[i].begin[r];
        uint64_t end = team->workers[i].end[r];
        first = begin < first ? begin : first;
        last = end > last ? end : last;
        longest = end - begin > longest ? end - begin : longest;
    }
    return team->clock->synchronous ? (double)(last - first) : (double)longest;
}

/* Smooths the clock samples of one thread in place: each becomes the mean of the middle half of its
 * up to nine neighbours, since a single sample is only as fine as the counter. An interrupt makes a sample too
 * low, never too high: those that lie far below the highest neighbour do not count. */
static void smooth_clock(struct carm_worker *w, double *out)
{
    enum { REACH = 4, WIDTH = 2 * REACH + 1 };
    static const double interrupted = 0.97;
    double window[WIDTH];
    for (size_t i = 0; i < w->nprobes; i++) {
        size_t from = i > REACH ? i - REACH : 0;
        size_t to = i + REACH + 1 < w->nprobes ? i + REACH + 1 : w->nprobes;
        size_t n = to - from;
        memcpy(window, w->ratios + from, n * sizeof *window);
        carm_stats_median(window, n); /* sorts */
        size_t low = 0;
        while (window[low] < interrupted * window[n - 1]) {
            low++;
        }
        memmove(window, window + low, (n - low) * sizeof *window);
        n -= low;
        double sum = 0.0;
        const size_t skip = n / 4;
        for (size_t k = skip; k < n - skip; k++) {
            sum += window[k];
        }
        out[i] = sum / (double)(n - 2 * skip);
    }
    memcpy(w->ratios, out, w->nprobes * sizeof *out);
}

/* The core clock under the point's load. */
static void describe_clock(struct carm_team *team, struct carm_measurement *m)
{
    m->clock_spread = 0.0;
    for (int i = 0; i < team->n; i++) {
        struct carm_worker *w = &team->workers[i];
        smooth_clock(w, team->cycles); /* scratch, larger than the samples */
        const double early = w->ratios[w->nprobes / 8];
        const double late = w->ratios[w->nprobes - 1 - w->nprobes / 8];
        m->clock_spread = fmax(m->clock_spread, fabs(late / early - 1.0));
    }
}

/* ---- what a core can do ------------------------------------------------------------------------ */

/* Operations on vectors of `width` bytes that the widest known core executes in a cycle.
 * Integers: four pipes in Zen 3 to 5, Lion Cove and Skymont. FP: two pipes multiply, two add, of which
 * `mad` and mixtures use both kinds (Zen, Golden Cove); four pipes of 16 bytes do all in Skymont.
 * Division: known dividers start one every 2 cycles or fewer; twice that is allowed.
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
    static const double tolerance = 1.005;
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

/* ---- one attempt ------------------------------------------------------------------------------- */

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
    if (!(m->own_share > 0.0)) {
        return CARM_CORE_SHARED;
    }
    return m->slow_share > slow_share_max ? CARM_UNEVEN : CARM_UNDISTURBED;
}

/* A set that fits a cache is read once before it is timed; of one that fits none, the cursor has
 * seen to it that a run does not begin in cached data. */
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

/* Marks the repetitions that count: those of blocks in which every thread had its core for itself, or
 * all where no block was such.
 * returns how many count */
static size_t choose_reps(struct carm_team *team, const struct run_args *a,
                          struct carm_measurement *m)
{
    bool *const counts = team->counts;
    const size_t blocks = team->workers[0].nprobes / 2;
    double shares[SHARES];
    size_t own = 0;
    size_t used = 0;
    size_t r = 0;
    for (size_t b = 0; b < blocks; b++) {
        const size_t reps = block_reps(a, r);
        const bool sound = is_own(&team->workers[0], b);
        for (const size_t end = r + reps; r < end; r++) {
            counts[r] = sound && used < a->reps;
            used += counts[r] ? 1 : 0;
        }
        own += sound ? reps : 0;
        shares[b % SHARES] = width_share(team, after(b));
    }
    m->width_share = carm_stats_median(shares, blocks < SHARES ? blocks : SHARES);
    m->own_share = (double)own / (double)a->done;
    for (r = 0; own == 0 && r < a->done; r++) {
        counts[r] = true;
    }
    return own ? used : a->done;
}

/* The same for a separate team: leaves the durations (begin, ticks) and blocks (end) of the repetitions that
 * count for each worker, in order. returns how many each has */
static size_t choose_each(struct carm_team *team, const struct run_args *a,
                          struct carm_measurement *m)
{
    for (int i = 0; i < team->n; i++) {
        struct carm_worker *w = &team->workers[i];
        size_t n = 0;
        for (size_t r = 0, block = 0; r < a->done; block++) {
            const bool own = is_own(w, block);
            for (const size_t end = r + block_reps(a, r); r < end; r++) {
                if (own) {
                    w->begin[n] = w->end[r] - w->begin[r];
                    w->end[n++] = block;
                }
            }
        }
    }
    const size_t fewest = fewest_own(team);
    m->width_share = 1.0;
    m->own_share = (double)fewest / (double)a->done;
    return fewest < a->reps ? fewest : a->reps;
}

/* Core cycles for each tick during a block. */
static double block_ratio(const struct carm_worker *w, size_t block)
{
    return 0.5 * (w->ratios[before(block)] + w->ratios[after(block)]);
}

/* Times and cycles of a separate team: its rate is the sum of the threads' own. */
static void describe_each(struct carm_team *team, size_t n, double overhead,
                          struct carm_measurement *m)
{
    const struct carm_clock *clock = team->clock;
    double phase = 0.0;
    for (size_t k = 0; k < n; k++) {
        double rates = 0.0;
        double ratio = 0.0;
        double least = INFINITY;
        phase = fmod(phase + golden, 1.0);
        for (int i = 0; i < team->n; i++) {
            const struct carm_worker *w = &team->workers[i];
            const double ticks = (double)w->begin[k] + (phase - 0.5) * clock->tick_quantum;
            const double seconds = ticks / clock->tsc_hz - overhead;
            least = fmin(least, seconds);
            rates += 1.0 / seconds;
            ratio += block_ratio(w, w->end[k]) / team->n;
        }
        team->seconds[k] = least > 0.0 ? team->n / rates : least;
        team->cycles[k] = team->seconds[k] * ratio * clock->tsc_hz;
    }
    m->cycles = carm_stats_median(team->cycles, n);
    carm_stats_describe(team->seconds, n, &m->seconds);
}

/* Times and cycles of the repetitions that count, less the overhead; team->seconds is sorted then.
 *
 * A counter that advances in quanta would make the median one of few values: each time is spread evenly
 * over the quantum it stands for (golden-ratio sequence), which is the median of grouped data. */
static void describe_times(struct carm_team *team, const struct run_args *a, double overhead,
                           struct carm_measurement *m)
{
    const double quantum = team->clock->tick_quantum;
    double phase = 0.0;
    size_t n = 0;
    size_t r = 0;
    for (size_t block = 0; r < a->done; block++) {
        const size_t reps = block_reps(a, r);
        double ratio = 0.0;
        for (int i = 0; i < team->n; i++) {
            ratio += block_ratio(&team->workers[i], block);
        }
        for (const size_t end = r + reps; r < end; r++) {
            const double ticks = repetition_ticks(team, r);
            if (team->counts[r]) {
                phase = fmod(phase + golden, 1.0);
                team->seconds[n] =
                    (ticks + (phase - 0.5) * quantum) / team->clock->tsc_hz - overhead;
                team->cycles[n] = team->seconds[n] * ratio / team->n * team->clock->tsc_hz;
                n++;
            }
        }
    }
    m->cycles = carm_stats_median(team->cycles, n);
    carm_stats_describe(team->seconds, n, &m->seconds);
}

static void describe(struct carm_team *team, const struct run_args *a, size_t n,
                     const struct carm_overhead *overhead, struct carm_measurement *m)
{
    if (team->separate) {
        describe_each(team, n, overhead->each, m);
    } else {
        describe_times(team, a, overhead->together, m);
    }
}

/* Of all repetitions. */
static double total_seconds(const struct carm_team *team, const struct run_args *a)
{
    double ticks = 0.0;
    for (size_t r = 0; r < a->done; r++) {
        ticks += repetition_ticks(team, r);
    }
    return ticks / team->clock->tsc_hz;
}

/* One attempt. */
static void run_once(struct carm_team *team, const struct carm_code *code,
                     const struct carm_shape *shape, size_t reps, bool warm,
                     struct carm_measurement *m)
{
    const struct carm_overhead none = {.together = 0.0, .each = 0.0};
    struct run_args args = {.code = code, .shape = *shape, .reps = reps, .warm = warm};
    const size_t longer = LONGER * reps < team->max_reps ? LONGER * reps : team->max_reps;
    args.most = team->patience_seconds > 0.0 ? longer : reps;
    args.polls = (size_t)(team->patience_seconds / poll_seconds);
    args.warm_bytes = warm_bytes_of(team, code, shape);
    args.seed = carm_clock_now();
    memset(m, 0, sizeof *m);
    m->code = code;
    m->threads = team->n;
    m->shape = *shape;
    const double work = (double)(shape->iterations * shape->passes) * team->n;
    m->bytes = work * (double)(code->account.load_bytes + code->account.store_bytes);
    m->flops = work * (double)code->account.flops;

    for (int i = 0; i < team->n; i++) {
        team->workers[i].full_width = carm_widths_full(widths_of(&team->workers[i]));
    }
    carm_team_line_reset(team);
    const double stolen = stolen_seconds(team);
    carm_team_run(team, run_job, &args);
    const double taken = stolen_seconds(team) - stolen;
    team->cursor = args.end_cursor;
    const double total = total_seconds(team, &args);
    m->steal_share = total > steal_known_seconds ? taken / (total * team->n) : 0.0;
    const bool separate = team->separate;
    team->separate = separate && fewest_own(team) > 0;
    const size_t n = team->separate ? choose_each(team, &args, m) : choose_reps(team, &args, m);
    describe_clock(team, m);
    describe(team, &args, n, &team->overhead, m);
    const bool unsound = !(m->seconds.ci_lo > 0.0);
    if (unsound) { /* a burst made the empty code slow: a time that is too long, not a negative one */
        describe(team, &args, n, &none, m);
    }
    team->separate = separate;
    m->clock_hz = m->cycles / m->seconds.median;
    size_t slow = 0;
    while (slow < n && team->seconds[n - 1 - slow] > 1.5 * m->seconds.median) {
        slow++;
    }
    m->slow_share = (double)slow / (double)n;
    for (int i = 0; i < team->n; i++) {
        m->switches += team->workers[i].switches;
        m->migrations += team->workers[i].migrations;
    }
    m->disturbance = carm_measure_judge(m);
    if (unsound && !m->disturbance) {
        m->disturbance = CARM_TOO_SHORT;
    }
}

/* The empty code's time. Disturbances only lengthen it. */
static double empty_seconds(struct carm_team *team, const struct carm_code *empty)
{
    struct carm_shape shape = {.iterations = 1, .passes = 1, .windows = 1};
    struct carm_measurement m;
    const size_t reps = team->max_reps < 2048 ? team->max_reps : 2048;
    double least = INFINITY;
    team->overhead = (struct carm_overhead){.together = 0.0};
    for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
        run_once(team, empty, &shape, reps, true, &m);
        least = fmin(least, m.seconds.median);
        if (!m.disturbance) {
            break;
        }
    }
    return least;
}

void carm_measure_calibrate(struct carm_team *team, const struct carm_code *empty)
{
    struct carm_overhead overhead = {.together = empty_seconds(team, empty)};
    carm_team_separate(team, true);
    overhead.each = team->separate ? empty_seconds(team, empty) : overhead.together;
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
    /* the others need some microseconds to fall asleep */
    const uint64_t until = carm_clock_now() + (uint64_t)(30e-6 * clock->tsc_hz);
    while (carm_clock_now() < until) {
    }
    /* an interrupt makes a reading of either too low, never too high */
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
    for (int i = 0; i < team->n; i++) {
        struct carm_worker *w = &team->workers[i];
        carm_team_run(team, alone_job, &i);
        own += w->widths[0] >= CARM_WIDTH_OWN * carm_widths_full(widths_of(w)) ? 1 : 0;
    }
    return own;
}

void carm_measure_watch(struct carm_team *team, double seconds)
{
    const struct timespec nap = {0, 1000000};
    const uint64_t until = carm_clock_now() + (uint64_t)(seconds * team->clock->tsc_hz);
    while (carm_clock_now() < until) {
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
    for (size_t k = 0; k < places * ROUNDS; k++) {
        const uint64_t here = k % places * page;
        for (int i = 0; i < team->n; i++) {
            team->workers[i].place = here;
        }
        run_once(team, code, &shape, REPS, true, &m);
        const bool apart = team->separate && m.own_share > 0.0;
        for (int i = 0; i < team->n; i++) { /* each thread's own times, not the team's */
            struct carm_worker *w = &team->workers[i];
            size_t n = 0;
            for (size_t r = 0; n < REPS && n < m.seconds.n; r++) {
                if (apart) {
                    ticks[n++] = (double)w->begin[r] * block_ratio(w, w->end[r]);
                } else if (team->counts[r]) {
                    ticks[n++] =
                        (double)(w->end[r] - w->begin[r]) * block_ratio(w, r / CARM_CLOCK_EVERY);
                }
            }
            const double cycles = carm_stats_median(ticks, n);
            if (k == 0 || cycles < 0.99 * w->best_cycles) {
                w->best_cycles = cycles;
                w->best_place = here;
            }
        }
    }
    for (int i = 0; i < team->n; i++) {
        team->workers[i].place = team->workers[i].best_place;
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
    /* in pieces of one iteration each it reaches furthest */
    carm_measure_shape_of(code, set_bytes, 1, shape);
    carm_team_touch(team, carm_window_span(code, shape));
    carm_measure_shape_of(code, set_bytes, stride ? probe_bytes / stride + 1 : 1, shape);
    shape->passes = 1;
    /* probe: longer and longer, until the clock can tell; a target is not worth waiting for */
    team->patience_seconds = 0.0;
    for (;;) {
        run_once(team, code, shape, team->max_reps < 15 ? team->max_reps : 15, false, &m);
        if (m.seconds.median >= target_seconds / 4.0 || shape->passes > ((uint64_t)1 << 32)) {
            break;
        }
        double factor = target_seconds / fmax(m.seconds.median, target_seconds / 64.0);
        shape->passes = (uint64_t)ceil((double)shape->passes * fmax(factor, 2.0));
    }
    team->patience_seconds = patience;
    /* the probe ran cold: its second half gave the rate, good enough for a target */
    const double one = m.seconds.median / ((double)shape->iterations * (double)shape->passes);
    const uint64_t want = (uint64_t)(target_seconds / one); /* iterations in one repetition */
    carm_measure_shape_of(code, set_bytes, want, shape);
}

void carm_measure_run(struct carm_team *team, const struct carm_code *code,
                      const struct carm_shape *shape, size_t reps, struct carm_measurement *out)
{
    run_once(team, code, shape, reps, true, out);
}

double carm_measure_rate(const struct carm_measurement *m, double work)
{
    return work / m->seconds.median;
}
