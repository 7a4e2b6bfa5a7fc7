/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts of a thread between two points of its program, for libcarm (harness/count/step/engine.h) and for
 * include/carm_count.h: the increase of the thread's counters since the latest look,
 * times the counters' accounts. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/count/step/engine.h"
#include "harness/translate/engine/emit/emit.h"
#include "harness/translate/engine/kernel/kernel.h"

#define SEEN_BYTES (CARM_TALLY_COUNTERS * sizeof(uint64_t))

/* Reads all counters. keep: their increase is added to the total. returns false: no memory */
static bool look(const struct carm_thread *t, struct carm_look *l, bool keep)
{
    const uint64_t *counts = (const uint64_t *)((const char *)t + CARM_TALLY_COUNTS_AT);
    uint32_t n = __atomic_load_n(&CARM_TALLY->counters, __ATOMIC_ACQUIRE);
    n = n < CARM_TALLY_COUNTERS ? n : CARM_TALLY_COUNTERS;
    if (!l->seen) {
        l->seen = carm_pages(SEEN_BYTES, PROT_READ | PROT_WRITE);
    }
    if (!l->seen) {
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t more = counts[i] - l->seen[i];
        if (more) {
            l->seen[i] = counts[i];
            if (keep) {
                carm_tally_add(&l->total, carm_account_row_of(i), more);
            }
        }
    }
    if (keep) {
        carm_step_counts_sum(&l->total, &t->slot->extra, 1);
        carm_step_counts_sum(&l->total, &l->seen_extra, -1);
    }
    l->seen_extra = t->slot->extra;
    return true;
}

static long begin(struct carm_thread *t)
{
    memset(&t->region.look.total, 0, sizeof t->region.look.total);
    t->region.active = look(t, &t->region.look, false);
    return t->region.active ? 0 : -ENOMEM;
}

void carm_region_close(struct carm_thread *t)
{
    struct carm_look *const looks[] = {&t->region.look, &t->marks.look};
    for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
        if (looks[i]->seen) {
            carm_pages_free(looks[i]->seen, SEEN_BYTES);
        }
    }
}

/* Processes share the marks: a process that is killed with the lock leaves it taken. returns false: it stays taken */
static bool lock_marks(void)
{
    enum { TRIES = 1 << 20 }; /* a holder needs some 10 us: about 10 ms */
    uint32_t *lock = &CARM_TALLY->marks_lock;
    for (int i = 0; i < TRIES; i++) {
        if (__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE) == 0) {
            return true;
        }
        __builtin_ia32_pause();
    }
    return false;
}

static void unlock_marks(void)
{
    __atomic_store_n(&CARM_TALLY->marks_lock, 0, __ATOMIC_RELEASE);
}

static struct carm_tally_mark *mark_at(uint32_t number)
{
    return (struct carm_tally_mark *)(CARM_TALLY_AT + CARM_TALLY_MARKS_AT) + number;
}

/* Finds or adds the mark of a name. returns its number; CARM_TALLY_MARKS = no room */
static uint32_t find_mark(uint64_t name_at, uint64_t iterations)
{
    char name[CARM_MARK_NAME_MAX] = "";
    uint32_t i = 0;
    if (carm_copy_from(name, name_at, sizeof name) !=
        0) { /* the name ends just before unmapped memory */
        memset(name, 0, sizeof name);
        while (i + 1 < sizeof name && carm_copy_from(&name[i], name_at + i, 1) == 0 && name[i]) {
            i++;
        }
    }
    i = 0;
    while (i + 1 < sizeof name && name[i]) {
        i++;
    }
    memset(name + i, 0, sizeof name - i);
    i = 0;
    if (!lock_marks()) {
        return CARM_TALLY_MARKS;
    }
    uint32_t n = CARM_TALLY->marks;
    n = n < CARM_TALLY_MARKS ? n : CARM_TALLY_MARKS;
    while (i < n && (mark_at(i)->iterations != iterations ||
                     memcmp(mark_at(i)->name, name, sizeof name) != 0)) {
        i++;
    }
    if (i == n && n < CARM_TALLY_MARKS) {
        mark_at(i)->iterations = iterations;
        memcpy(mark_at(i)->name, name, sizeof name);
        __atomic_store_n(&CARM_TALLY->marks, n + 1, __ATOMIC_RELEASE);
    }
    unlock_marks();
    return i;
}

static void begin_mark(struct carm_thread *t)
{
    const uint32_t depth = t->marks.depth++;
    if (depth >= CARM_MARKS_DEPTH) {
        return;
    }
    const uint32_t number = find_mark(t->reg[RDI], t->reg[RSI]);
    t->marks.open[depth].number = look(t, &t->marks.look, true) ? number : CARM_TALLY_MARKS;
    t->marks.open[depth].begin = t->marks.look.total;
}

static void end_mark(struct carm_thread *t)
{
    if (t->marks.depth == 0) {
        return;
    }
    const uint32_t depth = --t->marks.depth;
    const uint32_t number =
        depth < CARM_MARKS_DEPTH ? t->marks.open[depth].number : CARM_TALLY_MARKS;
    if (number >= CARM_TALLY_MARKS || !look(t, &t->marks.look, true) || !lock_marks()) {
        __atomic_fetch_add(&CARM_TALLY->marks_lost, 1, __ATOMIC_RELAXED);
        return;
    }
    struct carm_tally_mark *m = mark_at(number);
    struct carm_step_counts counts = t->marks.look.total;
    carm_step_counts_sum(&counts, &t->marks.open[depth].begin, -1);
    counts.instructions--; /* the nop that ends the region */
    m->calls++;
    if (m->calls <= 2) {
        memcpy(m->calls == 1 ? m->first : m->second, counts.q, sizeof counts.q);
    } else {
        m->differ += memcmp(m->second, counts.q, sizeof counts.q) != 0;
    }
    for (size_t i = 0; i < CARM_STEP_WORDS; i++) {
        m->sum[i] += counts.q[i];
    }
    unlock_marks();
}

void carm_mark(struct carm_thread *t, enum carm_mark_kind kind)
{
    if (kind == CARM_MARK_BEGIN) {
        begin_mark(t);
    } else if (kind == CARM_MARK_END) {
        end_mark(t);
    } else {
        t->reg[RAX] = 1;
    }
}

/* Adds the bytes of the first unknown instruction of any thread. */
static void name_unknown(struct carm_step_counts *counts)
{
    static const char digits[] = "0123456789abcdef";
    const struct carm_tally *tally = CARM_TALLY;
    char *at = counts->unknown_text;
    for (uint32_t i = 0; counts->unknown && i < tally->unknown_length; i++) {
        *at++ = digits[tally->unknown_code[i] >> 4];
        *at++ = digits[tally->unknown_code[i] & 15];
        *at++ = ' ';
    }
}

long carm_region_asked(struct carm_thread *t)
{
    const uint64_t *r = t->reg;
    if (r[RDI] == CARM_ENGINE_OPEN) {
        return r[R10] == sizeof t->region.look.total ? carm_uncounted(r[RSI], r[RDX]) : -EINVAL;
    }
    if (r[RDI] == CARM_ENGINE_BEGIN) {
        return begin(t);
    }
    if (!t->region.active) {
        return -EINVAL;
    }
    switch (r[RDI]) {
    case CARM_ENGINE_PAUSE:
        look(t, &t->region.look, true);
        return 0;
    case CARM_ENGINE_RESUME:
        look(t, &t->region.look, false);
        return 0;
    case CARM_ENGINE_READ:
        name_unknown(&t->region.look.total);
        return carm_copy_to(r[RSI], &t->region.look.total, sizeof t->region.look.total);
    case CARM_ENGINE_END:
        t->region.active = false;
        return 0;
    default:
        return -EINVAL;
    }
}
