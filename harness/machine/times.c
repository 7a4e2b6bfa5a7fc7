/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/machine/times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SHARES = 64 /* looks of which the median describes a run */ };

/* A repetition that takes this many times the median is slow (chosen by hand). */
static const double slow_factor = 1.5;
/* 1 / golden ratio: the fractional parts of its multiples cover a quantum of the counter evenly. */
static const double golden = 0.6180339887498949;

size_t carm_times_block(const struct carm_times_run *run, size_t r)
{
    const size_t each = run->reps < CARM_CLOCK_EVERY ? run->reps : CARM_CLOCK_EVERY;
    return each < run->most - r ? each : run->most - r;
}

struct carm_widths *carm_times_widths(struct carm_worker *w)
{
    return carm_team_shares(w->team) ? &w->seen_together : &w->seen_alone;
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

double carm_times_own_width(const struct carm_worker *w, size_t probe)
{
    if (carm_paired_is(&w->team->paired, w->team->n)) {
        return 1.0;
    }
    return w->team->separate ? share_of(w, probe) : width_share(w->team, probe);
}

bool carm_times_is_own(const struct carm_worker *w, size_t block)
{
    return fmin(carm_times_own_width(w, carm_times_before(block)),
                carm_times_own_width(w, carm_times_after(block))) >= CARM_WIDTH_OWN;
}

size_t carm_times_fewest_own(const struct carm_team *team)
{
    size_t fewest = team->workers[0].own;
    for (int i = 1; i < team->n; i++) {
        fewest = team->workers[i].own < fewest ? team->workers[i].own : fewest;
    }
    return fewest;
}

/* Number of repetitions in the first `blocks` blocks. */
static size_t reps_of(const struct carm_times_run *run, size_t blocks)
{
    size_t reps = 0;
    for (size_t b = 0; b < blocks; b++) {
        reps += carm_times_block(run, reps);
    }
    return reps;
}

void carm_times_end(struct carm_team *team, struct carm_times_run *run)
{
    size_t blocks = SIZE_MAX;
    size_t done = SIZE_MAX;
    for (int i = 0; i < team->n; i++) {
        const struct carm_worker *w = &team->workers[i];
        blocks = w->blocks < blocks ? w->blocks : blocks;
        done = w->done < done ? w->done : done;
    }
    run->blind = blocks == 0 && done > 0;
    for (int i = 0; i < team->n && run->blind;
         i++) { /* the block has no look after it: the look before it counts twice */
        struct carm_worker *w = &team->workers[i];
        w->ratios[carm_times_after(0)] = w->ratios[carm_times_before(0)];
        w->widths[carm_times_after(0)] = w->widths[carm_times_before(0)];
    }
    blocks = run->blind ? 1 : blocks;
    const size_t whole = reps_of(run, blocks);
    run->done = done < whole ? done : whole;
    run->most = run->done; /* where the last block ends */
    for (int i = 0; i < team->n; i++) {
        struct carm_worker *w = &team->workers[i];
        w->nprobes = carm_times_before(blocks);
        w->own = 0;
        for (size_t b = 0, r = 0; b < blocks; b++) {
            const size_t reps = carm_times_block(run, r);
            w->own += carm_times_is_own(w, b) ? reps : 0;
            r += reps;
        }
    }
}

double carm_times_ticks(const struct carm_team *team, size_t r)
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

/* Smooths the clock samples of one thread in place, since a single sample is only as fine as the
 * counter. Each sample becomes the mean of the middle half of its up to nine neighbours. An
 * interrupt makes a sample too low, never too high: samples more than 3% below the highest
 * neighbour do not count. */
static void smooth_clock(struct carm_worker *w, double *out)
{
    enum { REACH = 4, WIDTH = 2 * REACH + 1 };
    /* an interrupt of 0.2 us takes 3% of a sample of 6 us */
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
static void describe_clock(struct carm_team *team, struct carm_times *out)
{
    out->clock_spread = 0.0;
    for (int i = 0; i < team->n; i++) {
        struct carm_worker *w = &team->workers[i];
        smooth_clock(w, team->cycles); /* scratch, larger than the samples */
        const double early = w->ratios[w->nprobes / 8];
        const double late = w->ratios[w->nprobes - 1 - w->nprobes / 8];
        out->clock_spread = fmax(out->clock_spread, fabs(late / early - 1.0));
    }
}

/* Marks the repetitions that count: of blocks in which every thread had its core for itself; all
 * repetitions when there is no such block.
 * returns how many count */
static size_t choose_reps(struct carm_team *team, const struct carm_times_run *run,
                          struct carm_times *out)
{
    bool *const counts = team->counts;
    const size_t blocks = team->workers[0].nprobes / 2;
    double shares[SHARES];
    size_t own = 0;
    size_t used = 0;
    size_t r = 0;
    for (size_t b = 0; b < blocks; b++) {
        const size_t reps = carm_times_block(run, r);
        const bool sound = carm_times_is_own(&team->workers[0], b);
        for (const size_t end = r + reps; r < end; r++) {
            counts[r] = sound && used < run->reps;
            used += counts[r] ? 1 : 0;
        }
        own += sound ? reps : 0;
        shares[b % SHARES] = width_share(team, carm_times_after(b));
    }
    out->width_share = carm_stats_median(shares, blocks < SHARES ? blocks : SHARES);
    out->own_share = (double)own / (double)run->done;
    for (r = 0; own == 0 && r < run->done; r++) {
        counts[r] = true;
    }
    return own ? used : run->done;
}

/* choose_reps for a separate team. Of each worker's repetitions that count, begin becomes the
 * duration in ticks and end the block, in order.
 * returns the number of repetitions that each worker has */
static size_t choose_each(struct carm_team *team, const struct carm_times_run *run,
                          struct carm_times *out)
{
    for (int i = 0; i < team->n; i++) {
        struct carm_worker *w = &team->workers[i];
        size_t n = 0;
        for (size_t r = 0, block = 0; r < run->done; block++) {
            const bool own = carm_times_is_own(w, block);
            for (const size_t end = r + carm_times_block(run, r); r < end; r++) {
                if (own) {
                    w->begin[n] = w->end[r] - w->begin[r];
                    w->end[n++] = block;
                }
            }
        }
    }
    const size_t fewest = carm_times_fewest_own(team);
    out->width_share = 1.0;
    out->own_share = (double)fewest / (double)run->done;
    return fewest < run->reps ? fewest : run->reps;
}

double carm_times_ratio(const struct carm_worker *w, size_t block)
{
    return 0.5 * (w->ratios[carm_times_before(block)] + w->ratios[carm_times_after(block)]);
}

/* Times and cycles of a separate team: the team's rate is the sum of its threads' rates. */
static void describe_each(struct carm_team *team, size_t n, double overhead, struct carm_times *out)
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
            ratio += carm_times_ratio(w, w->end[k]) / team->n;
        }
        team->seconds[k] = least > 0.0 ? team->n / rates : least;
        team->cycles[k] = team->seconds[k] * ratio * clock->tsc_hz;
    }
    out->cycles = carm_stats_median(team->cycles, n);
    carm_stats_describe(team->seconds, n, &out->seconds);
}

/* Times and cycles of the repetitions that count, minus the overhead. Sorts team->seconds.
 *
 * With a counter that advances in quanta, the median would be one of few values. So each time is
 * moved within its quantum by a golden-ratio sequence: the result is the median of grouped data. */
static void describe_times(struct carm_team *team, const struct carm_times_run *run,
                           double overhead, struct carm_times *out)
{
    const double quantum = team->clock->tick_quantum;
    double phase = 0.0;
    size_t n = 0;
    size_t r = 0;
    for (size_t block = 0; r < run->done; block++) {
        const size_t reps = carm_times_block(run, r);
        double ratio = 0.0;
        for (int i = 0; i < team->n; i++) {
            ratio += carm_times_ratio(&team->workers[i], block);
        }
        for (const size_t end = r + reps; r < end; r++) {
            const double ticks = carm_times_ticks(team, r);
            if (team->counts[r]) {
                phase = fmod(phase + golden, 1.0);
                team->seconds[n] =
                    (ticks + (phase - 0.5) * quantum) / team->clock->tsc_hz - overhead;
                team->cycles[n] = team->seconds[n] * ratio / team->n * team->clock->tsc_hz;
                n++;
            }
        }
    }
    out->cycles = carm_stats_median(team->cycles, n);
    carm_stats_describe(team->seconds, n, &out->seconds);
}

static void describe(struct carm_team *team, const struct carm_times_run *run, size_t n,
                     const struct carm_overhead *overhead, struct carm_times *out)
{
    if (team->separate) {
        describe_each(team, n, overhead->each, out);
    } else {
        describe_times(team, run, overhead->together, out);
    }
}

double carm_times_total(const struct carm_team *team, const struct carm_times_run *run)
{
    double ticks = 0.0;
    for (size_t r = 0; r < run->done; r++) {
        ticks += carm_times_ticks(team, r);
    }
    return ticks / team->clock->tsc_hz;
}

bool carm_times_describe(struct carm_team *team, const struct carm_times_run *run,
                         struct carm_times *out)
{
    const struct carm_overhead none = {.together = 0.0, .each = 0.0};
    const bool separate = team->separate;
    const bool apart = separate && carm_times_fewest_own(team) > 0;
    memset(out, 0, sizeof *out);
    if (run->done == 0) {
        return false;
    }
    team->separate = apart;
    const size_t n = apart ? choose_each(team, run, out) : choose_reps(team, run, out);
    describe_clock(team, out);
    describe(team, run, n, &team->overhead, out);
    out->unsound = !(out->seconds.ci_lo > 0.0);
    if (out->unsound) { /* a disturbance made the empty code slower than the repetition: nothing is
                         * subtracted, since a time that is too long is better than a negative one */
        describe(team, run, n, &none, out);
    }
    team->separate = separate;
    size_t slow = 0;
    while (slow < n && team->seconds[n - 1 - slow] > slow_factor * out->seconds.median) {
        slow++;
    }
    out->slow_share = (double)slow / (double)n;
    return apart;
}

double carm_times_stolen(const struct carm_team *team, FILE *stat)
{
    char line[512];
    double sum = 0.0;
    while (fgets(line, sizeof line, stat) && strncmp(line, "cpu", 3) == 0) {
        if (line[3] < '0' || line[3] > '9') {
            continue; /* the line "cpu": sum of all processors */
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
    return sum;
}
