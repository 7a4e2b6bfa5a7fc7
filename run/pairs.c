/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/pairs.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/observer.h"
#include "harness/machine/stats.h"
#include "harness/profile/looks.h"
#include "run/launch.h"

const char *carm_pairs_verdict_name(enum carm_pairs_verdict verdict)
{
    static const char *const names[] = {"within", "slower", "faster", "not comparable"};
    return names[verdict];
}

/* The number of values that the 99% interval of a median of n values leaves out at each end: the number of values below
 * the median has a binomial distribution.
 * source: Hollander & Wolfe, Nonparametric Statistical Methods, section 3.6 */
static size_t left_out(size_t n)
{
    double p = exp2(-(double)n), below = p; /* P(0 values are below) */
    size_t k = 0;
    while (below + p * (double)(n - k) / (double)(k + 1) <= 0.005) {
        p *= (double)(n - k) / (double)(k + 1);
        below += p;
        k++;
    }
    return k;
}

int carm_pairs_judge(const double *times, size_t n, double threshold, struct carm_pairs_time *out,
                     struct carm_err *err)
{
    struct carm_stats stats;
    double *values = calloc(n, sizeof *values);
    *out = (struct carm_pairs_time){.verdict = CARM_PAIRS_UNDECIDED};
    if (!values) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the times");
    }
    for (int c = 0; c < 2; c++) {
        for (size_t i = 0; i < n; i++) {
            values[i] = times[2 * i + (size_t)c];
        }
        out->seconds[c] = carm_stats_median(values, n);
    }
    for (size_t i = 0; i < n; i++) {
        values[i] = times[2 * i + 1] / times[2 * i] - 1.0;
    }
    carm_stats_describe(values, n, &stats); /* sorts them */
    const size_t k = left_out(n);
    out->change = stats.median;
    out->low = values[k];
    out->high = values[n - 1 - k];
    out->verdict = out->low > threshold                        ? CARM_PAIRS_SLOWER
                   : out->high < 1.0 / (1.0 + threshold) - 1.0 ? CARM_PAIRS_FASTER
                   : out->high <= threshold && threshold > 0.0 ? CARM_PAIRS_WITHIN
                                                               : CARM_PAIRS_UNDECIDED;
    free(values);
    return 0;
}

/* The machine during the pairs. */
struct weather {
    struct carm_looks looks; /* one before each run */
    bool read;               /* busy and stolen are known */
    double busy, stolen;     /* of /proc/stat at the begin, seconds */
    double begin;
};

/* Seconds since the system's start in which processors were busy, and which the hypervisor took, of all processors.
 * returns false if /proc/stat does not have them */
static bool read_load(double *busy, double *stolen)
{
    double user, nice, system, idle, wait, irq, soft, steal;
    FILE *f = fopen("/proc/stat", "re");
    /* NOLINTNEXTLINE(cert-err34-c): the kernel's numbers */
    const bool read = f && fscanf(f, "cpu %lf %lf %lf %lf %lf %lf %lf %lf", &user, &nice, &system,
                                  &idle, &wait, &irq, &soft, &steal) == 8;
    if (f) {
        (void)fclose(f);
    }
    if (read) {
        const double hz = (double)sysconf(_SC_CLK_TCK);
        *busy = (user + nice + system + irq + soft) / hz;
        *stolen = steal / hz;
    }
    return read;
}

static void sum_up(struct weather *w, double own, struct carm_pairs *out)
{
    double busy, stolen;
    struct carm_looks_sum core;
    const double seconds = carm_seconds_now() - w->begin;
    carm_looks_end(&w->looks);
    const bool looked = carm_looks_sum(&w->looks, 0.0, &core);
    const bool read = w->read && read_load(&busy, &stolen);
    out->shared = looked ? core.shared : -1.0;
    out->clock = looked ? core.fastest / core.slowest - 1.0 : -1.0;
    out->others = read ? fmax(busy - w->busy - own, 0.0) / seconds : -1.0;
    out->stolen = read ? (stolen - w->stolen) / seconds : -1.0;
}

static int run_once(const char *command, double *wall, double *processor, struct carm_err *err)
{
    struct carm_launch launch;
    struct rusage usage;
    int status = 0;
    char *text;
    if (asprintf(&text, "exec </dev/null\n%s", command) < 0) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory");
    }
    char *const argv[] = {(char[]){"sh"}, (char[]){"-c"}, text, NULL};
    int rc = carm_launch_open(&launch, argv, NULL, CARM_LAUNCH_QUIET, err);
    const double begin = carm_seconds_now();
    rc = rc ? rc : carm_launch_go(&launch, "sh", err);
    rc = rc ? rc : carm_launch_wait(&launch, &status, &usage, err);
    *wall = carm_seconds_now() - begin;
    carm_launch_close(&launch);
    free(text);
    if (!rc) {
        *processor = carm_launch_seconds(usage.ru_utime) + carm_launch_seconds(usage.ru_stime);
        rc = !WIFEXITED(status) || WEXITSTATUS(status)
                 ? carm_fail(err, CARM_EINVAL, "'%.100s' %s %d: times of failures say nothing",
                             command, WIFEXITED(status) ? "ends with status" : "is ended by signal",
                             WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status))
                 : 0;
    }
    return rc;
}

static bool is_narrow(const struct carm_pairs_time *t, double narrow)
{
    return 0.5 * (t->high - t->low) <= narrow;
}

/* Judges the wall time as it would be if only the processor time of the second command differed. */
static int judge_part(const double *wall, const double *processor, size_t n, double threshold,
                      struct carm_pairs_time *out, struct carm_err *err)
{
    double *times = calloc(2 * n, sizeof *times);
    for (size_t i = 0; times && i < n; i++) {
        times[2 * i] = fmax(wall[2 * i], processor[2 * i]);
        times[2 * i + 1] = times[2 * i] + processor[2 * i + 1] - processor[2 * i];
    }
    const int rc = times ? carm_pairs_judge(times, n, threshold, out, err)
                         : carm_fail(err, CARM_ENOMEM, "not enough memory for the times");
    free(times);
    return rc;
}

/* The verdict of the pairs so far. */
static int judge(const struct carm_pairs_how *how, const double *wall, const double *processor,
                 struct carm_pairs *out, struct carm_err *err)
{
    struct carm_pairs_time *of[] = {&out->wall, &out->part};
    int rc = carm_pairs_judge(wall, out->n, how->threshold, &out->wall, err);
    rc = rc ? rc : carm_pairs_judge(processor, out->n, how->threshold, &out->processor, err);
    rc = rc ? rc : judge_part(wall, processor, out->n, how->threshold, &out->part, err);
    for (int i = 0; i < 2; i++) { /* without a threshold, a narrow interval is an answer */
        if (of[i]->verdict == CARM_PAIRS_UNDECIDED && how->threshold == 0.0 &&
            is_narrow(of[i], how->narrow)) {
            of[i]->verdict = CARM_PAIRS_WITHIN;
        }
    }
    const enum carm_pairs_verdict a = out->wall.verdict, b = out->part.verdict;
    out->processor.verdict = b;
    out->verdict = a == CARM_PAIRS_SLOWER || b == CARM_PAIRS_SLOWER         ? CARM_PAIRS_SLOWER
                   : a == CARM_PAIRS_UNDECIDED || b == CARM_PAIRS_UNDECIDED ? CARM_PAIRS_UNDECIDED
                   : a == CARM_PAIRS_FASTER                                 ? a
                                                                            : b;
    return rc;
}

/* Whether further pairs are unnecessary. */
static bool is_done(const struct carm_pairs_how *how, const struct carm_pairs *p)
{
    return p->verdict != CARM_PAIRS_UNDECIDED &&
           (how->threshold > 0.0 ||
            (is_narrow(&p->wall, how->narrow) && is_narrow(&p->part, how->narrow)));
}

int carm_pairs_run(const struct carm_pairs_how *how, struct carm_pairs *out, struct carm_err *err)
{
    static const double shortest =
        1e-3; /* least time of a program that does something: starting sh takes as long */
    struct weather w;
    double *wall = calloc((size_t)2 * CARM_PAIRS_MOST, sizeof *wall);
    double *processor = calloc((size_t)2 * CARM_PAIRS_MOST, sizeof *processor);
    double own = 0.0;
    int rc = 0;
    *out = (struct carm_pairs){.verdict = CARM_PAIRS_UNDECIDED};
    if (!wall || !processor) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for the times");
        goto out;
    }
    for (unsigned i = 0; i < 2 * how->warmup && !rc && !carm_interrupted; i++) {
        rc = run_once(how->command[i % 2], &wall[0], &processor[0], err);
    }
    w.begin = carm_seconds_now();
    carm_looks_begin(&w.looks);
    w.read = read_load(&w.busy, &w.stolen);
    while (!rc && out->n < CARM_PAIRS_MOST && !carm_interrupted) {
        for (size_t c = 0; c < 2 && !rc; c++) {
            const size_t at = 2 * out->n + c;
            carm_looks_take(&w.looks, sched_getcpu());
            rc = run_once(how->command[c], &wall[at], &processor[at], err);
            processor[at] = fmax(processor[at], 1e-6); /* resolution of struct rusage */
            own += processor[at];
        }
        out->n += !rc && !carm_interrupted;
        if (out->n < CARM_PAIRS_LEAST || rc) {
            continue;
        }
        rc = judge(how, wall, processor, out, err);
        if (is_done(how, out) || carm_seconds_now() - w.begin >= how->budget) {
            break;
        }
    }
    if (!rc && out->n < CARM_PAIRS_LEAST) {
        rc = carm_fail(err, CARM_ENOTSUP, "interrupted after %zu of %d pairs", out->n,
                       CARM_PAIRS_LEAST);
    } else if (!rc && fmin(out->wall.seconds[0], out->wall.seconds[1]) < shortest) {
        rc = carm_fail(
            err, CARM_EINVAL,
            "the commands end within a millisecond, which is the shell's time: let them do more");
    }
    sum_up(&w, own, out);
out:
    free(wall);
    free(processor);
    return rc;
}
