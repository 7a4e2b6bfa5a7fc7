/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/repeat.h"

#include <string.h>
#include <time.h>

#include "harness/machine/stats.h"

/* Share of a run's time that the threads may spend without a processor before the run counts as
 * disturbed: they may sleep while they have nothing to do. Chosen by hand. */
static const double lost_most = 0.1;

static double cpu_seconds(void)
{
    struct timespec t = {0, 0};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

bool carm_run_stopped(struct carm_run_limits limits)
{
    return limits.observer && carm_observer_stopped(limits.observer);
}

bool carm_run_disturbed(int disturbed, int runs)
{
    return 3 * disturbed > runs;
}

void carm_run_describe(double *seconds, int n, struct carm_run_times *out)
{
    struct carm_stats s;
    carm_stats_describe(seconds, (size_t)n, &s);
    out->seconds = s.median;
    out->fastest = s.min;
    out->slowest = s.max;
    out->reps = n;
}

void carm_traffic_count_begin(struct carm_traffic_count *t)
{
    struct carm_err ignored;
    if (t->dram && carm_dram_start(t->dram, &ignored) != 0) {
        t->dram = NULL;
    }
}

void carm_traffic_count_end(struct carm_traffic_count *t, int rep)
{
    struct carm_err ignored;
    if (t->dram && carm_dram_stop(t->dram, &t->bytes[rep], &ignored) != 0) {
        t->dram = NULL;
    }
}

double carm_traffic_count_median(struct carm_traffic_count *t, int reps)
{
    return t->dram && reps > 0 ? carm_stats_median(t->bytes, (size_t)reps) : 0.0;
}

int carm_repeat(const struct carm_clock *clock, int threads, struct carm_run_limits limits,
                int (*run)(void *context, int rep, struct carm_err *err), void *context,
                struct carm_run_times *out, struct carm_err *err)
{
    double seconds[CARM_REPEAT_MAX];
    struct carm_traffic_count traffic = {.dram = limits.dram};
    double spent = 0.0;
    int done = 0;
    int disturbed = 0;
    memset(out, 0, sizeof *out);
    for (int i = -1; i < CARM_REPEAT_MAX && (done == 0 || spent < limits.seconds); i++) {
        uint32_t cpu = 0;
        if (carm_run_stopped(limits)) {
            return carm_fail(err, CARM_EINTR, "interrupted");
        }
        carm_traffic_count_begin(&traffic);
        const double cpu_before = cpu_seconds();
        const uint64_t begin = carm_clock_start();
        const int rc = run(context, i, err);
        const double s = (double)(carm_clock_stop(&cpu) - begin) / clock->tsc_hz;
        if (rc) {
            return rc;
        }
        spent += s;
        const double had = cpu_seconds() - cpu_before;
        carm_traffic_count_end(&traffic, done);
        if (i >= 0 || spent >= limits.seconds) {
            disturbed += had < (1.0 - lost_most) * s * threads ? 1 : 0;
            seconds[done++] = s;
        }
    }
    carm_run_describe(seconds, done, out);
    out->disturbed = carm_run_disturbed(disturbed, done);
    out->dram_bytes = carm_traffic_count_median(&traffic, done);
    return 0;
}
