/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/whatif/copies.h"

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "base/observer.h"

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25 /* Linux 6.1 */
#endif

/* Share of the data that must be in huge pages for the change to count as made. Chosen by hand. */
static const double huge_least = 0.8;

bool carm_snapshot_fails(struct carm_snapshot *s, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(s->why, s->why_size, format, args);
    va_end(args);
    return false;
}

void carm_trial_refuse(struct carm_trial *t, int change, const char *why)
{
    if (!t->refused[change][0]) {
        snprintf(t->refused[change], sizeof t->refused[change], "%s", why);
    }
}

bool carm_snapshot_is_over(const struct carm_snapshot *s)
{
    return carm_seconds_now() > s->until || (s->settings->stop && *s->settings->stop);
}

bool carm_copy_fork(struct carm_snapshot *s, struct carm_child *from, struct carm_child *to)
{
    *to = (struct carm_child){.pid = 0};
    if (carm_seconds_now() > s->limit) {
        return carm_snapshot_fails(s, "the end of its time came before it was timed");
    }
    const int rc = carm_child_fork(from, to);
    if (rc) {
        return carm_snapshot_fails(s, "it cannot be copied (%s)", strerror(-rc));
    }
    return true;
}

const char *carm_copy_end(const struct carm_snapshot *s, const struct carm_child_outcome *o,
                          char *text, size_t size)
{
    const struct carm_area *area = o->end == CARM_CHILD_SIGNALED && o->number == SIGSEGV
                                       ? carm_memory_find(&s->memory, o->fault)
                                       : NULL;
    if (area && area->shared && area->writable) {
        snprintf(text, size, "a store to memory that it shares with others");
        return text;
    }
    switch (o->end) {
    case CARM_CHILD_CALLED:
        snprintf(text, size, "a system call (%d)", o->number);
        break;
    case CARM_CHILD_SIGNALED:
        snprintf(text, size, "a fault (%s)", strsignal(o->number));
        break;
    case CARM_CHILD_LATE:
        snprintf(text, size, "the end of its time");
        break;
    default:
        snprintf(text, size, "its end");
        break;
    }
    return text;
}

bool carm_snapshot_too_few(struct carm_snapshot *s, double done,
                           const struct carm_child_outcome *outcome)
{
    char text[80];
    return carm_snapshot_fails(s, "after %.0f passes it came to %s: too few to be timed", done,
                               carm_copy_end(s, outcome, text, sizeof text));
}

uint64_t carm_snapshot_huge_area(const struct carm_snapshot *s, size_t i, uint64_t *end)
{
    const struct carm_area *area = carm_memory_find(&s->memory, s->data[i]);
    *end = area ? area->end & ~(uint64_t)(CARM_HUGE_PAGE - 1) : 0;
    return area ? (area->begin + CARM_HUGE_PAGE - 1) & ~(uint64_t)(CARM_HUGE_PAGE - 1) : 0;
}

/* Makes the pages of the loop's data huge, in a copy. */
static bool collapse(struct carm_snapshot *s, struct carm_child *child)
{
    uint64_t present = 0, huge = 0;
    int64_t rc = 0;
    cpu_set_t was;
    carm_child_go_beside(child, &was);
    for (size_t i = 0; i < s->ndata; i++) {
        uint64_t end = 0;
        for (uint64_t at = carm_snapshot_huge_area(s, i, &end); at < end && rc != -EINVAL;
             at += CARM_HUGE_PAGE) {
            const uint64_t a[6] = {at, CARM_HUGE_PAGE, MADV_COLLAPSE};
            if (carm_memory_present(child->pid, at, at + CARM_HUGE_PAGE)) {
                rc = carm_seconds_now() > s->limit ? -EINVAL
                                                   : carm_child_call(child, SYS_madvise, a);
            }
        }
    }
    carm_child_come_back(&was);
    carm_memory_huge(child->pid, s->data, s->ndata, &present, &huge);
    return present > 0 && (double)huge >= huge_least * (double)present;
}

/* Writes the list of pages to touch into a copy; pages that may be written are marked for writing. */
static bool write_list(struct carm_snapshot *s, struct carm_child *child)
{
    const size_t bytes = s->nlist * sizeof(uint64_t);
    uint64_t *list = malloc(bytes + 1);
    const struct carm_area *area = NULL;
    bool good = list && (!s->nlist || carm_child_read(child->pid, s->list_at, list, bytes));
    for (size_t i = 0; i < s->nlist && good; i++) {
        if (!area || list[i] < area->begin || list[i] >= area->end) {
            area = carm_memory_find(&s->memory, list[i]);
        }
        list[i] |= area && area->writable && !area->shared;
    }
    good = good && (!s->nlist || carm_child_write(child->pid, s->list_at, list, bytes));
    free(list);
    return good;
}

/* The time (carm_seconds_now) at which a copy that starts now is ended. */
static double copy_ends(const struct carm_snapshot *s)
{
    return fmin(carm_seconds_now() + s->settings->copy, s->limit);
}

/* apart  writes each page that can be written, so that the copy has its own */
static bool open_warm(struct carm_snapshot *s, bool huge, bool apart, struct carm_child *child)
{
    struct carm_child_outcome outcome;
    if (!carm_copy_fork(s, &s->origin, child)) {
        return false;
    }
    if (apart && !write_list(s, child)) {
        carm_child_kill(child);
        return carm_snapshot_fails(s, "a copy cannot be written");
    }
    if ((huge || s->trial->huge_already) && !collapse(s, child)) {
        carm_child_kill(child);
        return carm_snapshot_fails(
            s, s->trial->huge_already
                   ? "its pages are huge, and those of its copies were not made so"
                   : "the kernel did not make its pages huge");
    }
    if (s->nlist) {
        const struct user_regs_struct regs = child->regs;
        child->regs.rip = s->region.touch_at;
        child->regs.rsi = s->list_at;
        child->regs.rcx = s->nlist;
        carm_child_run(child, copy_ends(s), s->settings->stop, &outcome);
        child->regs = regs;
        if (outcome.end != CARM_CHILD_ARRIVED) {
            char text[80];
            carm_child_kill(child);
            return carm_snapshot_fails(s, "its pages cannot be touched: %s",
                                       carm_copy_end(s, &outcome, text, sizeof text));
        }
    }
    return true;
}

bool carm_copy_open_warm(struct carm_snapshot *s, bool huge, struct carm_child *child)
{
    return open_warm(s, huge, false, child);
}

bool carm_copy_open_apart(struct carm_snapshot *s, struct carm_child *child)
{
    return open_warm(s, false, true, child);
}

static uint64_t at_least_one(double units)
{
    return units >= 1.0 ? (uint64_t)units : 1;
}

bool carm_copy_go(struct carm_snapshot *s, struct carm_child *child,
                  const struct carm_variant_code *code, double first, struct carm_phase *phases,
                  size_t n)
{
    const uint64_t at = s->region.data_at;
    const uint64_t words[4] = {at_least_one(first), at + CARM_REGION_PHASES, 0, code->entry};
    for (size_t i = 0; i < n; i++) {
        phases[i].tsc = 0;
    }
    child->regs.rip = code->start;
    return carm_child_write(child->pid, at + CARM_REGION_UNITS, words, sizeof words) &&
           carm_child_write(child->pid, at + CARM_REGION_PHASES, phases, n * sizeof *phases) &&
           carm_child_go(child);
}

size_t carm_copy_await(struct carm_snapshot *s, struct carm_child *child, double first,
                       struct carm_phase *phases, size_t n, struct carm_child_outcome *outcome,
                       double *done)
{
    const uint64_t at = s->region.data_at;
    const double begin = (double)at_least_one(first);
    uint64_t left = 0;
    size_t began = 0;
    carm_child_await(child, copy_ends(s), s->settings->stop, outcome);
    if (child->pid &&
        carm_child_read(child->pid, at + CARM_REGION_PHASES, phases, n * sizeof *phases) &&
        carm_child_read(child->pid, at + CARM_REGION_UNITS, &left, sizeof left)) {
        while (began < n && phases[began].tsc) {
            began++;
        }
    }
    if (done) {
        *done = began ? begin : begin - (double)left;
        for (size_t i = 0; i + 1 < began; i++) {
            *done += (double)phases[i].units;
        }
        *done += began && began < n ? (double)phases[began - 1].units - (double)left : 0.0;
    }
    return began;
}

size_t carm_copy_start(struct carm_snapshot *s, struct carm_child *child,
                       const struct carm_variant_code *code, double first,
                       struct carm_phase *phases, size_t n, struct carm_child_outcome *outcome,
                       double *done)
{
    *outcome = (struct carm_child_outcome){.end = CARM_CHILD_GONE};
    return carm_copy_go(s, child, code, first, phases, n)
               ? carm_copy_await(s, child, first, phases, n, outcome, done)
               : 0;
}

size_t carm_copy_run(struct carm_snapshot *s, struct carm_child *child,
                     const struct carm_variant_code *code, double first, struct carm_phase *phases,
                     size_t n, struct carm_child_outcome *outcome, double *done, uint64_t *counts)
{
    size_t began = carm_copy_start(s, child, code, first, phases, n, outcome, done);
    if (counts && child->pid &&
        !carm_child_read(child->pid, s->region.data_at + CARM_REGION_COUNTS, counts,
                         s->trial->body.n * sizeof *counts)) {
        began = 0;
    }
    carm_child_kill(child);
    return began;
}

struct carm_phase carm_copy_phase(const struct carm_variant_code *code, double units)
{
    return (struct carm_phase){
        .units = units >= 1.0 ? (uint64_t)units : 1, .target = code->start, .entry = code->entry};
}

struct carm_phase carm_copy_last_phase(const struct carm_snapshot *s)
{
    return (struct carm_phase){.units = 1, .target = s->region.end_at, .entry = s->region.end_at};
}
