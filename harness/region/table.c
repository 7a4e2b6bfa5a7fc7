/* SPDX-License-Identifier: MIT */
#include "harness/region/table.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "harness/count/row.h"
#include "harness/count/step/counts.h"

static struct {
    pthread_mutex_t lock;
    struct carm_region_setup setup;
    struct carm_region *buckets[CARM_REGION_BUCKETS];
    struct carm_region *first, **last;
    struct carm_region_thread *threads;
    /* threads of the parent process; their counters are not closed here */
    struct carm_region_thread *forgotten;
    int nthreads; /* threads that ever began a region */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &table.first};

const struct carm_region_setup *carm_region_table_open(const struct carm_region_setup *setup)
{
    table.setup = *setup;
    return &table.setup;
}

int carm_region_lock(void)
{
    int before = PTHREAD_CANCEL_ENABLE;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    pthread_mutex_lock(&table.lock);
    return before;
}

void carm_region_unlock(int state)
{
    pthread_mutex_unlock(&table.lock);
    pthread_setcancelstate(state, NULL);
}

/* ---- names ---- */

static uint32_t hash_of(const char *name)
{
    return (uint32_t)carm_hash_bytes(0, name, strnlen(name, CARM_REGION_NAME_MAX));
}

static bool is_named(const struct carm_region *r, uint32_t hash, const char *name)
{
    return r->hash == hash && strncmp(r->name, name, CARM_REGION_NAME_MAX) == 0;
}

/* Finds or adds a name's region. Long names are cut. returns NULL without memory. */
static struct carm_region *find_region(const char *name)
{
    const uint32_t hash = hash_of(name);
    const int state = carm_region_lock();
    struct carm_region **bucket = &table.buckets[hash % CARM_REGION_BUCKETS];
    struct carm_region *r = *bucket;
    while (r && !is_named(r, hash, name)) {
        r = r->chain;
    }
    if (!r) {
        r = calloc(1, sizeof *r);
        if (r) {
            memcpy(r->name, name, strnlen(name, CARM_REGION_NAME_MAX));
            r->hash = hash;
            r->chain = *bucket;
            *bucket = r;
            *table.last = r;
            table.last = &r->next;
        }
    }
    carm_region_unlock(state);
    return r;
}

struct carm_region_slot *carm_region_slot_find(struct carm_region_thread *t, const char *name)
{
    const uint32_t hash = hash_of(name);
    struct carm_region_slot **bucket = &t->buckets[hash % CARM_REGION_BUCKETS];
    for (struct carm_region_slot *s = *bucket; s; s = s->chain) {
        if (is_named(s->region, hash, name)) {
            return s;
        }
    }
    struct carm_region *region = find_region(name);
    struct carm_region_slot *s =
        region ? calloc(1, sizeof *s + table.setup.source.nreadings * sizeof *s->readings) : NULL;
    if (!s) {
        carm_region_say("not enough memory: region '%s' is not counted", name);
    } else {
        s->region = region;
        s->chain = *bucket;
        *bucket = s;
        carm_region_thread_lock(t);
        s->next = t->slots;
        t->slots = s;
        carm_region_thread_unlock(t);
    }
    return s;
}

static void say_fault(enum carm_region_fault fault, const char *name, const char *other)
{
    switch (fault) {
    case CARM_REGION_UNBALANCED:
        carm_region_say(
            "region '%s' ended without a begin and is ignored: end a region once, on the "
            "thread that began it",
            name);
        break;
    case CARM_REGION_DROPPED:
        carm_region_say("region '%s' was still open where '%s' around it ended: that call is not "
                        "counted; end the inner one first",
                        name, other);
        break;
    case CARM_REGION_TOO_DEEP:
        carm_region_say("region '%s' is ignored: regions nest at most %d deep", name,
                        CARM_REGION_DEPTH_MAX);
        break;
    case CARM_REGION_NAMELESS:
        carm_region_say("a region without a name is ignored: a name has 1 to %d bytes",
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
    struct carm_region *r = find_region(name);
    if (!r || !(atomic_fetch_or(&r->said, 1U << fault) & (1U << fault))) {
        const int state = carm_region_lock();
        say_fault(fault, name, other);
        carm_region_unlock(state);
    }
}

/* ---- sums to totals ---- */

/* Adds a sentence to a note that does not contain it yet, if there is room. */
static void add_note(char note[CARM_REGION_NOTE_MAX], const char *sentence)
{
    if (sentence[0] && !strstr(note, sentence)) {
        const size_t n = strlen(note);
        snprintf(note + n, CARM_REGION_NOTE_MAX - n, "%s%s", n ? "; " : "", sentence);
    }
}

static void clear_slot(struct carm_region_slot *slot)
{
    slot->begun = 0;
    memset(&slot->sums, 0, sizeof slot->sums);
}

/* Scales the counts of the stepped calls to all calls. Stepped calls are exact, so only the other
 * calls widen the interval. */
static void scale(struct carm_count *count, const struct carm_region_sums *s)
{
    const double factor = (double)s->calls / (double)s->stepped;
    count->value = (double)(uint64_t)(count->value * factor + 0.5);
    count->low = (double)(uint64_t)(count->low * factor + 0.5);
    count->high = (double)(uint64_t)(count->high * factor + 0.5);
}

static void widen(struct carm_count *count, double exact, double rest, double low, double high)
{
    const double least = exact + rest * low;
    const double most = exact + rest * high;
    count->low = least < count->low ? least : count->low;
    count->high = most > count->high ? most : count->high;
}

static void count_steps(const struct carm_region_setup *setup, const struct carm_region_sums *s,
                        struct carm_counts *out)
{
    const double rest = (double)(s->calls - s->stepped);
    carm_step_counts_to_counts(&s->steps, (double)s->stepped / (double)s->calls, out);
    for (int q = 0; q < CARM_Q_COUNT && setup->source.every_call; q++) {
        out->q[q].by =
            carm_count_has(out, (enum carm_quantity)q) ? CARM_COUNTED_TRANSLATED : out->q[q].by;
    }
    if (s->stepped == s->calls) {
        return;
    }
    const double flops = out->q[CARM_Q_FLOPS].value;
    const double bytes = out->q[CARM_Q_BYTES].value;
    for (int q = 0; q < CARM_Q_COUNT; q++) {
        if (carm_count_has(out, (enum carm_quantity)q)) {
            scale(&out->q[q], s);
        }
    }
    if (carm_count_has(out, CARM_Q_FLOPS)) {
        widen(&out->q[CARM_Q_FLOPS], flops, rest, s->flops_low, s->flops_high);
    }
    if (carm_count_has(out, CARM_Q_BYTES)) {
        widen(&out->q[CARM_Q_BYTES], bytes, rest, s->bytes_low, s->bytes_high);
    }
}

static void fold_steps(const struct carm_region_setup *setup, const struct carm_region_sums *s,
                       struct carm_counts *counts, char note[CARM_REGION_NOTE_MAX])
{
    char text[192];
    if (s->stepped) {
        count_steps(setup, s, counts);
    }
    if (setup->source.every_call) {
        if (s->cut) {
            add_note(note, "the counting ended before the program");
        }
        return;
    }
    if (s->cut) {
        snprintf(text, sizeof text,
                 "%s stepped to the end within %llu instructions: raise "
                 "CARM_STEP_BUDGET",
                 s->stepped ? "some calls were not" : "no call was",
                 (unsigned long long)setup->step_budget);
        add_note(note, text);
    } else if (!s->stepped) {
        add_note(note, "no call was stepped");
    }
    if (!s->timed) {
        snprintf(text, sizeof text,
                 "time is never taken from a stepped call%s: run again with "
                 "CARM_COUNTERS=none for its time",
                 s->calls == 1 ? " and the region ran only once on a thread"
                               : ", and each call was stepped or held one that was");
        add_note(note, text);
    }
}

static void fold_readings(const struct carm_region_setup *setup,
                          const struct carm_region_slot *slot, struct carm_counts *counts,
                          char note[CARM_REGION_NOTE_MAX])
{
    struct carm_err err = {""};
    if (!slot->sums.counted || slot->sums.counted < slot->sums.calls) {
        add_note(note, "the counters could not be read at every call");
    } else if (setup->source.evaluate(slot->readings, counts, &err)) {
        memset(counts, 0, sizeof *counts);
        add_note(note, err.text);
    } else if (!carm_count_has(counts, CARM_Q_FLOPS) && !carm_count_has(counts, CARM_Q_BYTES)) {
        add_note(note, "the counters here give neither flops nor bytes");
    }
}

/* The total to which a slot's sums are added; with rows by thread, a new one each time. */
static struct carm_region_total *total_for(const struct carm_region_setup *setup,
                                           struct carm_region *region)
{
    struct carm_region_total **at = &region->totals;
    while (*at && setup->rows_by_thread) {
        at = &(*at)->next;
    }
    if (!*at) {
        *at = calloc(1, sizeof **at);
    }
    return *at;
}

/* Moves a slot's sums to its region's totals. Call with both locks held. */
static void fold(const struct carm_region_setup *setup, const struct carm_region_thread *t,
                 struct carm_region_slot *slot)
{
    struct carm_region_sums *s = &slot->sums;
    if (s->calls == 0) {
        return;
    }
    struct carm_region_total *total = total_for(setup, slot->region);
    if (!total) {
        carm_region_say("not enough memory: calls of region '%s' are lost", slot->region->name);
        clear_slot(slot);
        return;
    }
    struct carm_counts counts = {0};
    add_note(total->note, setup->reason);
    add_note(total->note, t->reason);
    if (setup->source.steps && (s->stepped || s->cut)) {
        fold_steps(setup, s, &counts, total->note);
    } else if (setup->source.nreadings && !(t->reason[0] && !s->counted)) {
        fold_readings(setup, slot, &counts, total->note);
    }
    if (total->threads == 0) {
        total->counts = counts;
    } else {
        carm_counts_add(&total->counts, &counts);
    }
    const double calls_per_timed = s->timed ? (double)s->calls / (double)s->timed : 0.0;
    const double seconds = (double)s->ns * calls_per_timed / 1e9;
    total->untimed = total->untimed || !s->timed;
    total->seconds = seconds > total->seconds ? seconds : total->seconds;
    total->threads++;
    total->thread = t->number;
    total->calls += s->calls;
    total->timed += s->timed;
    total->stepped += s->stepped;
    clear_slot(slot);
}

/* ---- threads ---- */

void carm_region_thread_lock(struct carm_region_thread *t)
{
    while (atomic_flag_test_and_set_explicit(&t->lock, memory_order_acquire)) {
        sched_yield();
    }
}

void carm_region_thread_unlock(struct carm_region_thread *t)
{
    atomic_flag_clear_explicit(&t->lock, memory_order_release);
}

void carm_region_thread_note(struct carm_region_thread *t, const char *sentence)
{
    carm_region_thread_lock(t);
    add_note(t->reason, sentence);
    carm_region_thread_unlock(t);
}

struct carm_region_thread *carm_region_thread_open(void)
{
    const size_t n = table.setup.source.nreadings;
    struct carm_region_thread *t = calloc(1, sizeof *t);
    struct carm_reading *readings = calloc(n * (CARM_REGION_DEPTH_MAX + 1) + 1, sizeof *readings);
    if (!t || !readings) {
        carm_region_say("not enough memory: regions of a thread are not counted");
        free(t);
        free(readings);
        return NULL;
    }
    atomic_flag_clear(&t->lock);
    t->stepper = -1;
    t->now = readings;
    for (size_t i = 0; i < CARM_REGION_DEPTH_MAX; i++) {
        t->frames[i].readings = readings + (i + 1) * n;
    }
    const int state = carm_region_lock();
    t->number = ++table.nthreads;
    t->next = table.threads;
    table.threads = t;
    carm_region_unlock(state);
    return t;
}

static void count_open(const struct carm_region_thread *t)
{
    const int depth = atomic_load_explicit(&t->depth, memory_order_acquire);
    for (int i = 0; i < depth; i++) {
        const struct carm_region_frame *f = &t->frames[i];
        if (!f->inherited && !f->within) {
            atomic_load_explicit(&f->slot, memory_order_relaxed)->region->left_open++;
        }
    }
}

void carm_region_thread_close(struct carm_region_thread *t)
{
    const int state = carm_region_lock();
    struct carm_region_thread **at = &table.threads;
    while (*at != t) {
        at = &(*at)->next;
    }
    *at = t->next;
    if (t->set) {
        table.setup.source.close(t->set);
    }
    count_open(t);
    while (t->slots) {
        struct carm_region_slot *s = t->slots;
        t->slots = s->next;
        fold(&table.setup, t, s);
        free(s);
    }
    carm_region_unlock(state);
    free(t->now);
    free(t);
}

/* ---- fork ---- */

static void forget_totals(void)
{
    for (struct carm_region *r = table.first; r; r = r->next) {
        while (r->totals) {
            struct carm_region_total *total = r->totals;
            r->totals = total->next;
            free(total);
        }
        r->left_open = 0;
    }
}

void carm_region_table_fork(struct carm_region_thread *self)
{
    forget_totals();
    while (table.threads) {
        struct carm_region_thread *t = table.threads;
        table.threads = t->next;
        if (t != self) {
            t->next = table.forgotten;
            table.forgotten = t;
        }
    }
    if (!self) {
        return;
    }
    self->next = NULL;
    table.threads = self;
    table.nthreads = self->number = 1;
    if (self->set) {
        self->lost_set =
            self->set; /* the set belongs to the parent: closing the set here would stop it there */
    }
    self->set = NULL;
    self->opened = false;
    self->reason[0] = '\0';
    for (struct carm_region_slot *s = self->slots; s; s = s->next) {
        clear_slot(s);
        s->open = 0;
    }
    for (int i = 0; i < self->depth; i++) {
        self->frames[i].inherited = true;
    }
}

/* ---- totals to rows ---- */

void carm_region_report_open(void)
{
    const int state = carm_region_lock();
    for (const struct carm_region_thread *t = table.threads; t; t = t->next) {
        count_open(t);
    }
    for (struct carm_region *r = table.first; r; r = r->next) {
        if (r->left_open) {
            carm_region_say("region '%s' never ended on %d thread%s: that call is not counted",
                            r->name, r->left_open, r->left_open == 1 ? "" : "s");
        }
    }
    carm_region_unlock(state);
}

enum { ROWS_MAX = 64 }; /* rows of one write */

static double share_of(const struct carm_counts *c)
{
    double share = 0.0;
    bool any = false;
    for (int q = 0; q < CARM_Q_COUNT; q++) {
        const enum carm_counted by = c->q[q].by;
        if (by == CARM_COUNTED_PMU || by == CARM_COUNTED_STEPPED || by == CARM_COUNTED_TRANSLATED) {
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
            snprintf(text, sizeof text,
                     "counts of %llu stepped calls and the time of %llu others, scaled to %llu",
                     (unsigned long long)total->stepped, (unsigned long long)total->timed,
                     (unsigned long long)total->calls);
            add_note(row->note, text);
        }
    } else if (row->share > 0.0 && row->share < 1.0) {
        snprintf(text, sizeof text,
                 "more events than counters: each was counted for %.0f%% of the time or "
                 "more, and scaled",
                 100.0 * row->share);
        add_note(row->note, text);
    }
    if (setup->rows_by_thread) {
        snprintf(text, sizeof text, "thread %d", total->thread);
        add_note(row->note, text);
    }
    carm_row_describe(row);
}

static void fold_all(const struct carm_region_setup *setup)
{
    for (struct carm_region_thread *t = table.threads; t; t = t->next) {
        carm_region_thread_lock(t);
        for (struct carm_region_slot *s = t->slots; s; s = s->next) {
            fold(setup, t, s);
        }
        carm_region_thread_unlock(t);
    }
}

/* The first totals as rows, ROWS_MAX at most. */
static int make_rows(const struct carm_region_setup *setup, struct carm_row *rows)
{
    int n = 0;
    for (const struct carm_region *r = table.first; r; r = r->next) {
        for (const struct carm_region_total *t = r->totals; t && n < ROWS_MAX; t = t->next) {
            make_row(setup, r, t, &rows[n++]);
        }
    }
    return n;
}

/* Removes the first n totals, which are written. */
static void drop_totals(int n)
{
    for (struct carm_region *r = table.first; r; r = r->next) {
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
