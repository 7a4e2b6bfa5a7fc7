/* SPDX-License-Identifier: MIT */
#include "base/observer.h"

#include <math.h>
#include <stdio.h>
#include <time.h>

#include "base/text.h"

volatile sig_atomic_t carm_interrupted;

double carm_seconds_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

double carm_seconds_queued(int pid)
{
    char path[64];
    unsigned long long waited = 0;
    snprintf(path, sizeof path, "/proc/%d/schedstat", pid);
    FILE *f = fopen(path, "re");
    /* NOLINTNEXTLINE(cert-err34-c): the kernel's numbers: it ran, and it waited, in ns */
    const bool known = f && fscanf(f, "%*u %llu", &waited) == 1;
    if (f) {
        (void)fclose(f);
    }
    return known ? 1e-9 * (double)waited : NAN;
}

/* A terminal, `timeout` and mpirun may send a signal to a group and to its members as well: two signals within this
 * time count as one. Fingers take 100 ms and more. */
static const double one_signal_seconds = 0.05;
static double interrupted_at;

static void on_signal(int sig)
{
    const double now = carm_seconds_now(); /* clock_gettime may be called from handlers (POSIX) */
    if (!carm_interrupted) {
        interrupted_at = now;
        carm_interrupted = 1;
    } else if (sig == SIGINT && now - interrupted_at > one_signal_seconds) {
        (void)signal(sig, SIG_DFL);
        raise(sig); /* ends the process as soon as the handler returns */
    }
}

static const int watched[] = {SIGINT, SIGTERM};
enum { WATCHED = sizeof watched / sizeof *watched };

/* A signal that was inherited as ignored stays ignored (nohup, `&` in a script). */
static void handle(void (*handler)(int))
{
    const struct sigaction act = {.sa_handler = handler};
    struct sigaction old;
    for (size_t i = 0; i < WATCHED; i++) {
        if (sigaction(watched[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN) {
            sigaction(watched[i], &act, NULL);
        }
    }
}

void carm_interrupt_watch(void)
{
    handle(on_signal);
}

void carm_interrupt_release(void)
{
    handle(SIG_DFL);
}

void carm_observer_begin(struct carm_observer *o, double estimated_seconds)
{
    o->total = estimated_seconds;
    o->done = 0.0;
    o->started = carm_seconds_now();
}

void carm_observer_step(struct carm_observer *o, const char *fmt, ...)
{
    if (!o->show) {
        return;
    }
    char what[128];
    CARM_TEXT_OF_ARGS(what, fmt);
    /* the pace so far corrects the estimate */
    const double pace = o->done > 1.0 ? (carm_seconds_now() - o->started) / o->done : 1.0;
    const double left = o->total > o->done ? (o->total - o->done) * pace : 0.0;
    const double share = o->total > 0.0 ? o->done / o->total : 0.0;
    o->show(what, share < 1.0 ? share : 1.0, left);
}

void carm_observer_advance(struct carm_observer *o, double estimated_seconds)
{
    o->done += estimated_seconds;
}

double carm_observer_end(struct carm_observer *o)
{
    if (o->show) {
        o->show(NULL, 1.0, 0.0);
    }
    return carm_seconds_now() - o->started;
}

void carm_observer_say(const struct carm_observer *o, const char *fmt, ...)
{
    if (!o->say) {
        return;
    }
    char text[512];
    CARM_TEXT_OF_ARGS(text, fmt);
    o->say(text);
}

bool carm_observer_stopped(const struct carm_observer *o)
{
    return o->stop && *o->stop;
}

int carm_observer_check(const struct carm_observer *o, struct carm_err *err)
{
    return carm_observer_stopped(o) ? carm_fail(err, CARM_EINTR, "interrupted") : 0;
}
