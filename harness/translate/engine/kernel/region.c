/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counts of a thread between two points of its program, for libcarm
 * (harness/count/step/engine.h): the increase of the thread's counters since the latest look,
 * times the counters' accounts. */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "harness/count/step/engine.h"
#include "harness/translate/engine/emit/emit.h"
#include "harness/translate/engine/kernel/kernel.h"
#include "harness/translate/engine/sys.h"

#define SEEN_BYTES (CARM_TALLY_COUNTERS * sizeof(uint64_t))

/* Reads all counters. keep: their increase is added to the total */
static void look(struct carm_thread *t, bool keep)
{
    const struct carm_tally_row *rows =
        (const struct carm_tally_row *)(CARM_TALLY_AT + CARM_TALLY_ROWS_AT);
    const uint64_t *counts = (const uint64_t *)((const char *)t + CARM_TALLY_COUNTS_AT);
    uint32_t n = __atomic_load_n(&CARM_TALLY->counters, __ATOMIC_ACQUIRE);
    n = n < CARM_TALLY_COUNTERS ? n : CARM_TALLY_COUNTERS;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t more = counts[i] - t->region.seen[i];
        if (more) {
            t->region.seen[i] = counts[i];
            if (keep) {
                carm_tally_add(&t->region.total, &rows[i], more);
            }
        }
    }
    if (keep) {
        carm_step_counts_sum(&t->region.total, &t->slot->extra, 1);
        carm_step_counts_sum(&t->region.total, &t->region.seen_extra, -1);
    }
    t->region.seen_extra = t->slot->extra;
}

static long begin(struct carm_thread *t)
{
    if (!t->region.seen) {
        t->region.seen = carm_pages(SEEN_BYTES, PROT_READ | PROT_WRITE);
    }
    if (!t->region.seen) {
        return -ENOMEM;
    }
    memset(&t->region.total, 0, sizeof t->region.total);
    t->region.active = true;
    look(t, false);
    return 0;
}

void carm_region_close(struct carm_thread *t)
{
    if (t->region.seen) {
        carm_pages_free(t->region.seen, SEEN_BYTES);
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
        return r[R10] == sizeof t->region.total ? carm_uncounted(r[RSI], r[RDX]) : -EINVAL;
    }
    if (r[RDI] == CARM_ENGINE_BEGIN) {
        return begin(t);
    }
    if (!t->region.active) {
        return -EINVAL;
    }
    switch (r[RDI]) {
    case CARM_ENGINE_PAUSE:
        look(t, true);
        return 0;
    case CARM_ENGINE_RESUME:
        look(t, false);
        return 0;
    case CARM_ENGINE_READ:
        name_unknown(&t->region.total);
        return carm_copy_to(r[RSI], &t->region.total, sizeof t->region.total);
    case CARM_ENGINE_END:
        t->region.active = false;
        return 0;
    default:
        return -EINVAL;
    }
}
