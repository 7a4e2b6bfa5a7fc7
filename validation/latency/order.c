/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/latency/order.h"

#include <assert.h>
#include <string.h>

#include "asm/code.h"

/* Marsaglia's xorshift64*, and a number below n from its high bits (Lemire's multiplication).
 * source: Vigna 2016, "An experimental exploration of Marsaglia's xorshift generators, scrambled" */
static uint64_t draw(uint64_t *state, uint64_t n)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return ((*state * 2685821657736338717ULL >> 32) * n) >> 32;
}

static void shuffle(uint32_t *a, size_t n, uint64_t *state)
{
    for (size_t i = n; i > 1; i--) {
        const size_t k = (size_t)draw(state, i);
        const uint32_t swap = a[i - 1];
        a[i - 1] = a[k];
        a[k] = swap;
    }
}

size_t carm_chase_lines(enum carm_latency_order order, uint64_t page_bytes, uint64_t set_bytes)
{
    return (size_t)(set_bytes / (order == CARM_LATENCY_PAGES ? page_bytes : CARM_LINE_BYTES));
}

/* The line of page p: L1 caches choose their set by address bits within 4 KiB, L2 caches by more bits. */
static uint32_t line_of_page(uint64_t p, uint64_t lines_in_page)
{
    const uint64_t small = 4096 / CARM_LINE_BYTES;
    return (uint32_t)(p * lines_in_page + (p % small + p / small * small) % lines_in_page);
}

/* Of each `step` units a chase visits one; a unit is a line, or with order "lines" a page. */
static size_t step_of(enum carm_latency_order order, uint64_t page_bytes, uint64_t set_bytes,
                      size_t most)
{
    const size_t n = carm_chase_lines(order, page_bytes, set_bytes);
    return order == CARM_LATENCY_PAGES || n <= most ? 1 : (n + most - 1) / most;
}

static size_t units_of(enum carm_latency_order order, uint64_t page_bytes, uint64_t set_bytes)
{
    return (size_t)(set_bytes / (order == CARM_LATENCY_RANDOM ? CARM_LINE_BYTES : page_bytes));
}

size_t carm_chase_some(enum carm_latency_order order, uint64_t page_bytes, uint64_t set_bytes,
                       size_t most)
{
    const uint64_t page = page_bytes < set_bytes ? page_bytes : set_bytes;
    const size_t step = step_of(order, page, set_bytes, most);
    const size_t in_unit = order == CARM_LATENCY_LINES ? (size_t)(page / CARM_LINE_BYTES) : 1;
    return step == 1 ? carm_chase_lines(order, page, set_bytes)
                     : units_of(order, page, set_bytes) / step * in_unit;
}

void carm_chase_order(uint32_t *sequence, enum carm_latency_order order, uint64_t page_bytes,
                      uint64_t set_bytes, size_t most, uint64_t seed)
{
    const uint64_t page = page_bytes < set_bytes ? page_bytes : set_bytes;
    const size_t in_page = (size_t)(page / CARM_LINE_BYTES);
    const size_t step = step_of(order, page, set_bytes, most);
    const size_t units = units_of(order, page, set_bytes) / step;
    uint64_t state = seed * 2 + 88172645463325252ULL;
    assert(set_bytes / CARM_LINE_BYTES <= UINT32_MAX && in_page > 0);
    for (size_t i = 0; i < units; i++) {
        const size_t unit = i * step + (step > 1 ? (size_t)draw(&state, step) : 0);
        sequence[i] = order == CARM_LATENCY_PAGES ? line_of_page(unit, in_page) : (uint32_t)unit;
    }
    shuffle(sequence, units, &state);
    if (order != CARM_LATENCY_LINES) {
        return;
    }
    /* each page is a run of lines */
    for (size_t i = units; i-- > 0;) { /* backwards: a page's number is stored before the places
                                        * of its lines */
        const uint32_t first = sequence[i] * (uint32_t)in_page;
        for (size_t k = in_page; k-- > 0;) {
            sequence[i * in_page + k] = first + (uint32_t)k;
        }
        shuffle(sequence + i * in_page, in_page, &state);
    }
    if (step == 1) { /* lines of an incomplete last page come last */
        const size_t n = carm_chase_lines(order, page, set_bytes);
        for (size_t i = units * in_page; i < n; i++) {
            sequence[i] = (uint32_t)i;
        }
        shuffle(sequence + units * in_page, n - units * in_page, &state);
    }
}

void carm_chase_link(void *base, const uint32_t *sequence, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char *const from = (char *)base + (uint64_t)sequence[i] * CARM_LINE_BYTES;
        char *const to = (char *)base + (uint64_t)sequence[i + 1 < n ? i + 1 : 0] * CARM_LINE_BYTES;
        memcpy(from, &to, sizeof to);
    }
}
