/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/classes/run.h"

enum { LINE_BYTES = 64 };

/* Writes back and drops every line of [start, start + bytes), on all processors. */
static void evict(const char *start, uint64_t bytes)
{
    for (uint64_t at = 0; at < bytes; at += LINE_BYTES) {
        __asm__ volatile("clflush %0" ::"m"(start[at]) : "memory");
    }
    __asm__ volatile("mfence" ::: "memory");
}

static void run_job(struct carm_worker *w, void *arg)
{
    struct carm_class_run *run = arg;
    const uint64_t loops = run->plan->bytes / run->code->account.stride_bytes;
    uint32_t cpu = 0;
    for (size_t r = 0; r < run->runs; r++) {
        if (run->evict) {
            evict(w->buffer.start, run->plan->bytes);
        }
        if (!carm_team_line_wait(w->team, r)) {
            return;
        }
        w->begin[r] = carm_clock_start();
        for (uint64_t left = run->iterations; left && !carm_team_is_over(w->team);) {
            const uint64_t now = left < run->call_iterations ? left : run->call_iterations;
            run->code->run(w->buffer.start, loops, now, 0);
            left -= now;
        }
        w->end[r] = carm_clock_stop(&cpu);
    }
}

/* Ticks of run r: last end minus first start; where the TSCs are not in step, the longest of the
 * threads' own times. */
static double ticks_of(const struct carm_team *team, size_t r)
{
    uint64_t first = UINT64_MAX;
    uint64_t last = 0;
    uint64_t longest = 0;
    for (int i = 0; i < team->n; i++) {
        const uint64_t begin = team->workers[i].begin[r];
        const uint64_t end = team->workers[i].end[r];
        first = begin < first ? begin : first;
        last = end > last ? end : last;
        longest = end - begin > longest ? end - begin : longest;
    }
    return (double)(team->clock->synchronous ? last - first : longest);
}

int carm_class_run(struct carm_team *team, struct carm_class_run *run, struct carm_err *err)
{
    if (run->runs > team->max_reps) {
        run->runs = team->max_reps;
    }
    const bool touched = carm_team_touch(team, run->plan->bytes);
    carm_team_line_reset(team);
    const uint64_t began = carm_clock_now();
    if (touched) {
        carm_team_run(team, run_job, run);
    }
    run->whole_seconds = (double)(carm_clock_now() - began) / team->clock->tsc_hz;
    if (carm_team_is_over(team)) {
        return carm_fail(err, CARM_EINTR, "the budget is over");
    }
    run->switches = 0;
    for (int i = 0; i < team->n; i++) {
        run->switches += team->workers[i].switches;
    }
    for (size_t r = 0; r < run->runs; r++) {
        team->seconds[r] = ticks_of(team, r) / team->clock->tsc_hz - team->overhead.together;
    }
    run->seconds = carm_stats_median(team->seconds, run->runs);
    if (!(run->seconds > 0.0)) {
        return carm_fail(err, CARM_ENOTSUP,
                         "%s with %llu iterations is too short for this machine's clock",
                         run->plan->class->name, (unsigned long long)run->iterations);
    }
    return 0;
}
