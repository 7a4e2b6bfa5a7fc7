/* SPDX-License-Identifier: MIT */
#include "harness/count/quantities.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

static const char *const quantity_names[CARM_Q_COUNT] = {
#define NAME(id, name) #name,
    CARM_QUANTITY_TABLE(NAME)
#undef NAME
};

const char *carm_quantity_name(enum carm_quantity q)
{
    assert((unsigned)q < CARM_Q_COUNT);
    return quantity_names[q];
}

enum carm_quantity carm_quantity_find(const char *name)
{
    for (unsigned q = 0; q < CARM_Q_COUNT; q++) {
        if (strcmp(quantity_names[q], name) == 0) {
            return (enum carm_quantity)q;
        }
    }
    return CARM_Q_COUNT;
}

const char *carm_counted_name(enum carm_counted by)
{
    static const char *const names[] = {
        [CARM_COUNTED_NOT] = "unavailable",       [CARM_COUNTED_PMU] = "pmu",
        [CARM_COUNTED_KERNEL] = "kernel",         [CARM_COUNTED_STEPPED] = "stepped",
        [CARM_COUNTED_TRANSLATED] = "translated", [CARM_COUNTED_CONSTRUCTED] = "constructed",
        [CARM_COUNTED_SIMULATED] = "simulated",
    };
    assert((unsigned)by < sizeof names / sizeof *names);
    return names[by];
}

void carm_count_put(struct carm_counts *c, enum carm_quantity q, double value, enum carm_counted by)
{
    assert((unsigned)q < CARM_Q_COUNT);
    c->q[q] =
        (struct carm_count){.value = value, .low = value, .high = value, .by = by, .share = 1.0};
}

static void join_notes(char *a, size_t size, const char *b)
{
    /* a note that does not fit is left out: half a note would mislead */
    if (*b && !strstr(a, b)) {
        (void)carm_text_list_whole(a, size, "; ", "%s", b);
    }
}

void carm_counts_add(struct carm_counts *a, const struct carm_counts *b)
{
    for (unsigned q = 0; q < CARM_Q_COUNT; q++) {
        struct carm_count *to = &a->q[q];
        const struct carm_count *from = &b->q[q];
        if (to->by == CARM_COUNTED_NOT || from->by == CARM_COUNTED_NOT) {
            *to = (struct carm_count){.by = CARM_COUNTED_NOT};
            continue;
        }
        to->value += from->value;
        to->low += from->low;
        to->high += from->high;
        to->share = from->share < to->share ? from->share : to->share;
    }
    join_notes(a->note, sizeof a->note, b->note);
}
