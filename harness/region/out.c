/* SPDX-License-Identifier: MIT */
#include "harness/region/state.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/count/row.h"

/* ---- standard error -------------------------------------------------------------------------- */

enum { LINES_MAX = 20 };

/* A name could hold what steers a terminal, or a newline. */
static void blank_controls(char *text)
{
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == 127) {
            *text = '?';
        }
    }
}

__attribute__((format(printf, 1, 2))) void carm_region_say(const char *fmt, ...)
{
    static atomic_int lines;
    char text[1024] = "carm: ";
    const int saved = errno;
    const int before = atomic_fetch_add(&lines, 1);
    if (before > LINES_MAX) {
        return;
    }
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text + 6, sizeof text - 7, fmt, ap);
    va_end(ap);
    if (before == LINES_MAX) {
        (void)snprintf(text + 6, sizeof text - 7, "more lines like these are left out");
    }
    blank_controls(text);
    size_t n = strlen(text);
    text[n++] = '\n';
    (void)!write(STDERR_FILENO, text, n); /* one write: lines of several processes stay whole */
    errno = saved;
}

static void say_fault(enum carm_region_fault fault, const char *name, const char *other)
{
    switch (fault) {
    case CARM_REGION_UNBALANCED:
        carm_region_say("region '%s' ended where it had not begun: ignored; end a region on the "
                        "thread that began it, once",
                        name);
        break;
    case CARM_REGION_DROPPED:
        carm_region_say("region '%s' was still open where '%s' around it ended: that call is not "
                        "counted; end the inner one first",
                        name, other);
        break;
    case CARM_REGION_TOO_DEEP:
        carm_region_say("region '%s' is ignored inside %d others, which is as deep as they go",
                        name, CARM_REGION_DEPTH_MAX);
        break;
    case CARM_REGION_NAMELESS:
        carm_region_say("a region without name is ignored: give it 1 to %d bytes",
                        CARM_REGION_NAME_MAX);
        break;
    case CARM_REGION_TOO_LONG:
        carm_region_say("region '%.40s...' is ignored: a name has at most %d bytes", name,
                        CARM_REGION_NAME_MAX);
        break;
    }
}

void carm_region_fault(enum carm_region_fault fault, const char *name, const char *other)
{
    struct carm_region *r = carm_region_find(name);
    if (!r || !(atomic_fetch_or(&r->said, 1U << fault) & (1U << fault))) {
        const int state = carm_region_lock();
        say_fault(fault, name, other);
        carm_region_unlock(state);
    }
}

void carm_region_report_open(void)
{
    const int state = carm_region_lock();
    carm_region_count_open();
    for (struct carm_region *r = carm_region_first(); r; r = r->next) {
        if (r->left_open) {
            carm_region_say("region '%s' never ended on %d thread%s: that call is not counted",
                            r->name, r->left_open, r->left_open == 1 ? "" : "s");
        }
    }
    carm_region_unlock(state);
}

/* ---- rows ------------------------------------------------------------------------------------ */

enum { ROWS_MAX = 64 }; /* of one write */

static double share_of(const struct carm_counts *c)
{
    double share = 0.0;
    bool any = false;
    for (int q = 0; q < CARM_Q_COUNT; q++) {
        const enum carm_counted by = c->q[q].by;
        if (by == CARM_COUNTED_PMU || by == CARM_COUNTED_STEPPED) {
            share = any && share < c->q[q].share ? share : c->q[q].share;
            any = true;
        }
    }
    return share;
}

static void make_row(const struct carm_region_setup *setup, const struct carm_region *region,
                     const struct carm_region_total *total, struct carm_row *row)
{
    char text[160];
    memset(row, 0, sizeof *row);
    memcpy(row->name, region->name, sizeof region->name);
    row->counts = total->counts;
    row->seconds = total->untimed ? 0.0 : total->seconds;
    row->threads = total->threads;
    row->calls = total->calls;
    memcpy(row->note, total->note, sizeof total->note);
    row->share = share_of(&total->counts);
    if (total->stepped) {
        row->share = (double)total->stepped / (double)total->calls;
        if (total->stepped < total->calls) {
            (void)snprintf(
                text, sizeof text,
                "counts of %llu stepped calls and the time of %llu others, scaled to %llu",
                (unsigned long long)total->stepped, (unsigned long long)total->timed,
                (unsigned long long)total->calls);
            carm_region_note(row->note, text);
        }
    } else if (row->share > 0.0 && row->share < 1.0) {
        (void)snprintf(text, sizeof text,
                       "more events than counters: each was counted for %.0f%% of the time or "
                       "more, and scaled",
                       100.0 * row->share);
        carm_region_note(row->note, text);
    }
    if (setup->rows_by_thread) {
        (void)snprintf(text, sizeof text, "thread %d", total->thread);
        carm_region_note(row->note, text);
    }
    carm_row_describe(row);
}

static void fold_all(const struct carm_region_setup *setup)
{
    for (struct carm_region_thread *t = carm_region_threads(); t; t = t->next) {
        carm_region_thread_lock(t);
        for (struct carm_region_slot *s = t->slots; s; s = s->next) {
            carm_region_fold(setup, t, s);
        }
        carm_region_thread_unlock(t);
    }
}

/* The first totals as rows, ROWS_MAX at most. */
static int make_rows(const struct carm_region_setup *setup, struct carm_row *rows)
{
    int n = 0;
    for (const struct carm_region *r = carm_region_first(); r; r = r->next) {
        for (const struct carm_region_total *t = r->totals; t && n < ROWS_MAX; t = t->next) {
            make_row(setup, r, t, &rows[n++]);
        }
    }
    return n;
}

/* The first n totals are written. */
static void drop_totals(int n)
{
    for (struct carm_region *r = carm_region_first(); r; r = r->next) {
        for (; r->totals && n > 0; n--) {
            struct carm_region_total *t = r->totals;
            r->totals = t->next;
            free(t);
        }
    }
}

int carm_region_write(const struct carm_region_setup *setup, struct carm_err *err)
{
    int rc = 0;
    int n = 0;
    const int state = carm_region_lock();
    struct carm_row *rows = calloc(ROWS_MAX, sizeof *rows);
    fold_all(setup);
    if (!rows) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for the rows of %.300s", setup->out);
    }
    while (!rc && rows && (n = make_rows(setup, rows)) > 0) {
        rc = carm_row_append(setup->out, rows, n, err);
        if (!rc) {
            drop_totals(n);
        }
    }
    free(rows);
    carm_region_unlock(state);
    return rc;
}
