/* SPDX-License-Identifier: MIT */
#include "harness/region/state.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

static struct {
    pthread_mutex_t lock;
    struct carm_region_setup setup;
    struct carm_region *buckets[CARM_REGION_BUCKETS];
    struct carm_region *first, **last;
    struct carm_region_thread *threads;
    struct carm_region_thread
        *forgotten; /* of the parent process: theirs are other threads' to end */
    int nthreads;   /* that ever began a region */
} table = {.lock = PTHREAD_MUTEX_INITIALIZER, .last = &table.first};

const struct carm_region_setup *carm_region_table_open(const struct carm_region_setup *setup)
{
    table.setup = *setup;
    return &table.setup;
}

int carm_region_lock(void)
{
    int before = PTHREAD_CANCEL_ENABLE;
    (void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    (void)pthread_mutex_lock(&table.lock);
    return before;
}

void carm_region_unlock(int state)
{
    (void)pthread_mutex_unlock(&table.lock);
    (void)pthread_setcancelstate(state, NULL);
}

struct carm_region *carm_region_first(void)
{
    return table.first;
}

struct carm_region_thread *carm_region_threads(void)
{
    return table.threads;
}

/* ---- names ----------------------------------------------------------------------------------- */

static uint32_t hash_of(const char *name)
{
    return (uint32_t)carm_hash_bytes(0, name, strnlen(name, CARM_REGION_NAME_MAX));
}

static bool is_named(const struct carm_region *r, uint32_t hash, const char *name)
{
    return r->hash == hash && strncmp(r->name, name, CARM_REGION_NAME_MAX) == 0;
}

struct carm_region *carm_region_find(const char *name)
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
    struct carm_region *region = carm_region_find(name);
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

/* ---- threads --------------------------------------------------------------------------------- */

void carm_region_thread_lock(struct carm_region_thread *t)
{
    while (atomic_flag_test_and_set_explicit(&t->lock, memory_order_acquire)) {
        (void)sched_yield();
    }
}

void carm_region_thread_unlock(struct carm_region_thread *t)
{
    atomic_flag_clear_explicit(&t->lock, memory_order_release);
}

void carm_region_thread_note(struct carm_region_thread *t, const char *sentence)
{
    carm_region_thread_lock(t);
    carm_region_note(t->reason, sentence);
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
        carm_region_fold(&table.setup, t, s);
        free(s);
    }
    carm_region_unlock(state);
    free(t->now);
    free(t);
}

void carm_region_count_open(void)
{
    for (const struct carm_region_thread *t = table.threads; t; t = t->next) {
        count_open(t);
    }
}

/* ---- fork ------------------------------------------------------------------------------------ */

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
        self->lost_set = self->set; /* it is the parent's: closing it would stop it there */
    }
    self->set = NULL;
    self->opened = false;
    self->reason[0] = '\0';
    for (struct carm_region_slot *s = self->slots; s; s = s->next) {
        carm_region_slot_clear(s);
        s->open = 0;
    }
    for (int i = 0; i < self->depth; i++) {
        self->frames[i].inherited = true;
    }
}
