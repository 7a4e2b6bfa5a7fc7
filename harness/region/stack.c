/* SPDX-License-Identifier: MIT */
#include "include/carm.h"
#include "harness/count/step/counts.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <time.h>

#include "harness/count/step/trap.h"
#include "harness/region/stack.h"
#include "harness/region/table.h"

enum state { STATE_NEW, STATE_OFF, STATE_ON };

static atomic_int state = STATE_NEW;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static const struct carm_region_setup *setup;

/* initial-exec: an offset from the thread pointer instead of a call, in the shared library, too */
static __thread __attribute__((tls_model("initial-exec"))) struct {
    struct carm_region_thread *self;
    /* set inside begin, end and flush, so that a signal handler with regions leaves them out */
    volatile int busy;
} here;

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* ---- start, fork, end ---- */

static int fork_lock_state;

static void before_fork(void)
{
    fork_lock_state = carm_region_lock();
}

static void after_fork_in_parent(void)
{
    carm_region_unlock(fork_lock_state);
}

static void after_fork_in_child(void)
{
    /* busy: a library that was called from here forks; an exec follows */
    struct carm_region_thread *t = here.busy ? NULL : here.self;
    if (t && t->stepper >= 0) {
        setup->source.step_end(&(struct carm_step_counts){0}, &(bool){false}, NULL);
        t->stepper = -1;
    }
    carm_region_table_fork(t);
    carm_region_unlock(fork_lock_state);
}

static void thread_ends(void *arg)
{
    here.self = NULL;
    carm_region_thread_close(arg);
}

void carm_region_start(const struct carm_region_setup *from)
{
    setup = carm_region_table_open(from);
    if (!setup || pthread_key_create(&key, thread_ends) != 0) {
        carm_region_say("not enough memory for regions: none is counted");
        atomic_store(&state, STATE_OFF);
        return;
    }
    pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    atomic_store(&state, STATE_ON);
}

static void start_from_environment(void)
{
    static struct carm_region_setup from;
    int cancel = 0;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
    if (atomic_load(&state) == STATE_NEW) {
        if (carm_region_setup_read(&from)) {
            carm_region_start(&from);
        } else {
            atomic_store(&state, STATE_OFF);
        }
    }
    pthread_setcancelstate(cancel, NULL);
}

/* Runs after the program's exit handlers, which may have regions, too. */
__attribute__((destructor)) static void program_ends(void)
{
    struct carm_err err = {""};
    int on = STATE_ON;
    if (!atomic_compare_exchange_strong(&state, &on, STATE_OFF)) {
        return;
    }
    if (here.self && here.self->stepper >= 0) {
        setup->source.step_end(&(struct carm_step_counts){0}, &(bool){false}, NULL);
        here.self->stepper = -1;
    }
    if (carm_region_write(setup, &err)) {
        carm_region_say("rows are lost: %s", err.text);
    }
    carm_region_report_open();
}

static bool is_on(void)
{
    int s = atomic_load_explicit(&state, memory_order_acquire);
    if (s == STATE_NEW) {
        pthread_once(&once, start_from_environment);
        s = atomic_load_explicit(&state, memory_order_acquire);
    }
    return s == STATE_ON;
}

/* ---- a thread ---- */

static struct carm_region_thread *open_thread(void)
{
    struct carm_region_thread *t = carm_region_thread_open();
    if (t && pthread_setspecific(key, t) != 0) {
        carm_region_thread_close(t);
        t = NULL;
    }
    here.self = t;
    return t;
}

static void open_counters(struct carm_region_thread *t)
{
    struct carm_err err = {""};
    int cancel = 0;
    t->opened = true;
    if (setup->source.nreadings) {
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
        if (setup->source.open(&t->set, &err)) {
            t->set = NULL;
            carm_region_thread_note(t, err.text);
        }
        pthread_setcancelstate(cancel, NULL);
    }
}

/* Whether a name is allowed. */
static bool check_name(const char *name)
{
    if (!name || !*name) {
        carm_region_fault(CARM_REGION_NAMELESS, "", NULL);
        return false;
    }
    if (strnlen(name, CARM_REGION_NAME_MAX + 1) > CARM_REGION_NAME_MAX) {
        carm_region_fault(CARM_REGION_TOO_LONG, name, NULL);
        return false;
    }
    return true;
}

static bool is_slot_of(const struct carm_region_slot *slot, const char *name)
{
    return strcmp(slot->region->name, name) == 0;
}

/* Most names are literals, so the address is looked up first; the characters are compared, too, since they
 * may have changed. */
static struct carm_region_slot *find_slot(struct carm_region_thread *t, const char *name)
{
    const uintptr_t at = (uintptr_t)name;
    const size_t i = (at ^ (at >> 6)) % CARM_REGION_CACHE;
    if (name && t->cache[i].name == name && is_slot_of(t->cache[i].slot, name)) {
        return t->cache[i].slot;
    }
    struct carm_region_slot *slot = check_name(name) ? carm_region_slot_find(t, name) : NULL;
    if (slot) {
        t->cache[i].name = name;
        t->cache[i].slot = slot;
    }
    return slot;
}

/* ---- stepping of a sample of the calls ---- */

/* For all functions between the program and the functions of harness/count/step/trap.h, so that they are not
 * counted: like CARM_STEP_TEXT, but they may be inlined into each other. */
#define CARM_REGION_TEXT __attribute__((section("carm_step_text")))

/* Whether the call that begins is counted. Calls 1, 2, 4, 8, ... are stepped: they spread over a run of unknown
 * length. If the first two exceeded the budget, no further call is stepped: it would only cost time. */
static bool pick_call(struct carm_region_thread *t, struct carm_region_slot *slot)
{
    carm_region_thread_lock(t);
    const uint64_t number = ++slot->begun;
    const bool hopeless = slot->sums.cut >= 2 && slot->sums.stepped == 0;
    carm_region_thread_unlock(t);
    return setup->source.every_call || (!hopeless && (number & (number - 1)) == 0);
}

/* Ends a stepping whose budget is used up, so that an inner region can begin its own stepping. */
CARM_REGION_TEXT static void end_spent(struct carm_region_thread *t)
{
    struct carm_step_counts counts;
    bool complete = false;
    setup->source.step_end(&counts, &complete, NULL);
    t->stepper = -1;
}

/* Begins to step the call of frames[depth], or reads the counts if an outer call is being stepped. Must be the
 * last action before the call's own work. */
CARM_REGION_TEXT static void begin_stepping(struct carm_region_thread *t, int depth, bool wanted)
{
    struct carm_region_frame *f = &t->frames[depth];
    struct carm_err err = {""};
    bool complete = false;
    if (t->stepper >= 0 &&
        (setup->source.step_read(&f->steps, &complete, NULL) != 0 || !complete)) {
        end_spent(t);
    }
    if (t->stepper < 0) {
        if (!wanted) {
            return;
        }
        memset(&f->steps, 0, sizeof f->steps);
        t->stepper = depth;
        t->session++;
        if (setup->source.step_begin(setup->step_budget, &err)) {
            t->stepper = -1;
            carm_region_thread_note(t, err.text);
            return;
        }
        for (int i = 0; i < depth; i++) {
            t->frames[i].timed = false; /* the outer region contains a stepped call from now on */
        }
    }
    f->stepped = true;
    f->timed = false;
    f->session = t->session;
}

/* The counts of the stepped call of frames[depth]. returns false when it exceeded the budget */
CARM_REGION_TEXT static bool end_stepping(struct carm_region_thread *t, int depth,
                                          struct carm_step_counts *call)
{
    const struct carm_region_frame *f = &t->frames[depth];
    bool complete = false;
    if (f->session != t->session || t->stepper < 0) {
        return false;
    }
    if (t->stepper == depth) {
        t->stepper = -1;
        return setup->source.step_end(call, &complete, NULL) == 0 && complete;
    }
    if (setup->source.step_read(call, &complete, NULL) || !complete) {
        return false;
    }
    carm_step_counts_sum(call, &f->steps, -1);
    if (!call->unknown) {
        call->unknown_text[0] = '\0';
    }
    return true;
}

static double flops_of(const struct carm_step_counts *s)
{
    uint64_t flops = s->flops_other;
    for (int w = 0; w < CARM_WIDTH_COUNT; w++) {
        flops += s->flops[0][w] + s->flops[1][w];
    }
    return (double)flops;
}

/* Adds a call to the sums. Call with the thread's lock held. */
static void add_stepped(struct carm_region_sums *sums, const struct carm_step_counts *call)
{
    const double flops = flops_of(call);
    const double bytes = (double)(call->load_bytes + call->store_bytes);
    const bool first = sums->stepped++ == 0;
    sums->flops_low = first || flops < sums->flops_low ? flops : sums->flops_low;
    sums->flops_high = first || flops > sums->flops_high ? flops : sums->flops_high;
    sums->bytes_low = first || bytes < sums->bytes_low ? bytes : sums->bytes_low;
    sums->bytes_high = first || bytes > sums->bytes_high ? bytes : sums->bytes_high;
    carm_step_counts_add(&sums->steps, call, 1.0);
}

/* ---- begin and end ---- */

CARM_REGION_TEXT static int push(struct carm_region_thread *t, struct carm_region_slot *slot)
{
    const int depth = atomic_load_explicit(&t->depth, memory_order_relaxed);
    struct carm_region_frame *top = depth ? &t->frames[depth - 1] : NULL;
    const bool repeats = top && top->slot == slot && !top->inherited;
    if (t->overflow || (depth == CARM_REGION_DEPTH_MAX && !repeats)) {
        t->overflow++;
        carm_region_fault(CARM_REGION_TOO_DEEP, slot->region->name, NULL);
        return -1;
    }
    if (repeats) {
        top->repeats++;
        return 0;
    }
    struct carm_region_frame *f = &t->frames[depth];
    atomic_store_explicit(&f->slot, slot, memory_order_relaxed);
    f->repeats = 0;
    f->inherited = false;
    f->within = slot->open++ > 0;
    f->timed = true;
    f->stepped = false;
    f->counted = false;
    atomic_store_explicit(&t->depth, depth + 1, memory_order_release);
    if (f->within) {
        return 0;
    }
    if (setup->source.steps) {
        const bool wanted = pick_call(t, slot);
        f->begin_ns = now_ns();
        begin_stepping(t, depth, wanted);
        return 0;
    }
    f->counted = t->set && setup->source.read(t->set, f->readings, NULL) == 0;
    f->begin_ns = now_ns();
    return 0;
}

/* enabled and running are times, or a share that stays the same (PAPI, likwid). */
static void add_reading(struct carm_reading *sum, const struct carm_reading *begin,
                        const struct carm_reading *end)
{
    sum->present = sum->present && begin->present && end->present;
    sum->count += end->count - begin->count;
    if (end->enabled > begin->enabled) {
        sum->enabled += end->enabled - begin->enabled;
        sum->running += end->running - begin->running;
    } else if (!(sum->enabled > 0.0) || end->running > sum->running) {
        sum->enabled = end->enabled;
        sum->running = end->running;
    }
}

static void add_readings(struct carm_region_slot *slot, const struct carm_reading *begin,
                         const struct carm_reading *end)
{
    const bool first = slot->sums.counted++ == 0;
    for (size_t i = 0; i < setup->source.nreadings; i++) {
        if (first) {
            slot->readings[i] = (struct carm_reading){.present = true};
        }
        add_reading(&slot->readings[i], &begin[i], &end[i]);
    }
}

/* Removes the innermost frame. keep: its call counts */
CARM_REGION_TEXT static void pop(struct carm_region_thread *t, int64_t end_ns, bool read_now,
                                 bool keep)
{
    const int depth = atomic_load_explicit(&t->depth, memory_order_relaxed) - 1;
    struct carm_region_frame *f = &t->frames[depth];
    struct carm_region_slot *slot = f->slot;
    struct carm_step_counts call = {0};
    const bool stepped = f->stepped && end_stepping(t, depth, &call);
    atomic_store_explicit(&t->depth, depth, memory_order_release);
    if (f->inherited) {
        return;
    }
    slot->open--;
    if (f->within || !keep) {
        return;
    }
    carm_region_thread_lock(t);
    struct carm_region_sums *sums = &slot->sums;
    sums->calls++;
    if (f->timed) {
        sums->timed++;
        sums->ns += end_ns - f->begin_ns;
    }
    if (f->counted && read_now) {
        add_readings(slot, f->readings, t->now);
    }
    if (stepped) {
        add_stepped(sums, &call);
    } else if (f->stepped) {
        sums->cut++;
    }
    carm_region_thread_unlock(t);
}

CARM_REGION_TEXT static int end_on(struct carm_region_thread *t, const char *name, int64_t end_ns,
                                   bool read_now)
{
    if (!check_name(name)) {
        return -1;
    }
    if (t && t->overflow) {
        t->overflow--;
        return -1;
    }
    int i = t ? atomic_load_explicit(&t->depth, memory_order_relaxed) - 1 : -1;
    while (i >= 0 && !is_slot_of(t->frames[i].slot, name)) {
        i--;
    }
    if (i < 0) {
        carm_region_fault(CARM_REGION_UNBALANCED, name, NULL);
        return -1;
    }
    for (int inner = t->depth - 1; inner > i; inner--) {
        carm_region_fault(CARM_REGION_DROPPED, t->frames[inner].slot->region->name, name);
        pop(t, end_ns, read_now, false);
    }
    if (t->frames[i].repeats) {
        t->frames[i].repeats--;
    } else {
        pop(t, end_ns, read_now, true);
    }
    return 0;
}

/* Sets busy, before the start, too: a signal handler that interrupts the start would wait for itself in pthread_once.
 * returns false: regions are off, or this is a signal handler inside a region function (busy) */
CARM_REGION_TEXT static bool enter(void)
{
    if (here.busy) {
        return false;
    }
    here.busy = 1;
    if (!is_on()) {
        here.busy = 0;
        return false;
    }
    return true;
}

/* Called first in a public function, resume_counting last: reading errno calls a function, which must not count. */
CARM_REGION_TEXT static void pause_counting(void)
{
    if (!here.busy && here.self && here.self->stepper >= 0) {
        setup->source.step_pause();
    }
}

CARM_REGION_TEXT static void resume_counting(void)
{
    here.busy = 0;
    if (here.self && here.self->stepper >= 0) {
        setup->source.step_resume();
    }
}

/* Not inlined, so that with regions off, the public functions are a load and a branch. */
CARM_STEP_TEXT static int begin_slowly(const char *name)
{
    pause_counting();
    const int saved = errno;
    if (!enter()) {
        return here.busy ? -1 : 0;
    }
    struct carm_region_thread *t = here.self;
    if (!t) {
        t = open_thread();
    }
    if (t && !t->opened) {
        open_counters(t);
    }
    struct carm_region_slot *slot = t ? find_slot(t, name) : NULL;
    const int rc = slot ? push(t, slot) : -1;
    errno = saved;
    resume_counting();
    return rc;
}

CARM_STEP_TEXT static int end_slowly(const char *name)
{
    pause_counting();
    const int saved = errno;
    if (!enter()) {
        return here.busy ? -1 : 0;
    }
    struct carm_region_thread *t = here.self;
    const int64_t end_ns = now_ns();
    /* before the names are compared, so that the comparison is not counted */
    const bool read_now = t && t->set && setup->source.read(t->set, t->now, NULL) == 0;
    const int rc = end_on(t, name, end_ns, read_now);
    errno = saved;
    resume_counting();
    return rc;
}

CARM_STEP_TEXT int carm_region_begin(const char *name)
{
    if (__builtin_expect(atomic_load_explicit(&state, memory_order_relaxed) == STATE_OFF, 1)) {
        return 0;
    }
    return begin_slowly(name);
}

CARM_STEP_TEXT int carm_region_end(const char *name)
{
    if (__builtin_expect(atomic_load_explicit(&state, memory_order_relaxed) == STATE_OFF, 1)) {
        return 0;
    }
    return end_slowly(name);
}

CARM_STEP_TEXT int carm_region_flush(void)
{
    struct carm_err err = {""};
    if (atomic_load_explicit(&state, memory_order_acquire) != STATE_ON) {
        return 0;
    }
    if (here.busy) {
        return -1;
    }
    pause_counting();
    const int saved = errno;
    here.busy = 1;
    const int rc = carm_region_write(setup, &err);
    if (rc) {
        carm_region_say("rows are kept for later: %s", err.text);
    }
    errno = saved;
    resume_counting();
    return rc ? -1 : 0;
}
