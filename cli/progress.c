/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/progress.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

void carm_progress_begin(struct carm_progress *p, double estimated_seconds)
{
    *p = (struct carm_progress){
        .shown = isatty(STDERR_FILENO) != 0, .total = estimated_seconds, .started = now()};
}

void carm_progress_step(struct carm_progress *p, const char *fmt, ...)
{
    if (!p->shown) {
        return;
    }
    char what[128];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    /* the plan's pace so far corrects its estimate */
    const double elapsed = now() - p->started;
    const double pace = p->done > 1.0 ? elapsed / p->done : 1.0;
    const double left = fmax(0.0, (p->total - p->done) * pace);
    const double share = p->total > 0.0 ? fmin(1.0, p->done / p->total) : 0.0;
    (void)fprintf(stderr, "\r\033[K%3.0f%%  %-46.46s %4.0f s left", 100.0 * share, what, left);
    (void)fflush(stderr);
}

void carm_progress_advance(struct carm_progress *p, double estimated_seconds)
{
    p->done += estimated_seconds;
}

double carm_progress_end(struct carm_progress *p)
{
    if (p->shown) {
        (void)fprintf(stderr, "\r\033[K");
        (void)fflush(stderr);
    }
    return now() - p->started;
}
