/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The order of a chase: one cycle through each of its lines, and statistics that no prefetcher can use. Orders that a
 * prefetcher follows fail the same checks. */
#include "asm/code.h"
#include "tests/fingerprint.h"
#include "tests/unit.h"
#include "validation/latency/order.h"

#define KIB ((uint64_t)1 << 10)

/* Whether each line of the set is there once (of "pages" one of each page). */
static bool is_whole(const uint32_t *s, size_t n, uint64_t lines_each, uint64_t set_bytes)
{
    const uint64_t places = set_bytes / CARM_LINE_BYTES / lines_each;
    char *seen = calloc(places, 1);
    bool whole = n == places && seen;
    for (size_t i = 0; i < n && whole; i++) {
        const uint64_t at = s[i] / lines_each;
        whole = at < places && !seen[at];
        seen[at] = 1;
    }
    free(seen);
    return whole;
}

/* What a prefetcher could learn from: the share of steps to a neighbouring line, the share of the commonest
 * step, and the correlation of a step with the one before. */
struct habits {
    double neighbours, commonest, correlation;
};

static int by_value(const void *a, const void *b)
{
    const int64_t left = *(const int64_t *)a;
    const int64_t right = *(const int64_t *)b;
    return (left > right) - (left < right);
}

static struct habits study(const uint32_t *s, size_t n)
{
    struct habits h = {0};
    int64_t *steps = calloc(n, sizeof *steps);
    double mean = 0.0;
    double variance = 0.0;
    double product = 0.0;
    assert_non_null(steps);
    for (size_t i = 0; i < n; i++) {
        steps[i] = (int64_t)s[(i + 1) % n] - (int64_t)s[i];
        h.neighbours += llabs(steps[i]) == 1 ? 1.0 / (double)n : 0.0;
        mean += (double)s[i] / (double)n;
    }
    for (size_t i = 0; i < n; i++) {
        variance += ((double)s[i] - mean) * ((double)s[i] - mean);
        product += ((double)s[i] - mean) * ((double)s[(i + 1) % n] - mean);
    }
    h.correlation = product / variance;
    qsort(steps, n, sizeof *steps, by_value);
    for (size_t i = 0, run = 1; i < n; i++, run++) {
        run = i > 0 && steps[i] == steps[i - 1] ? run : 1;
        h.commonest = fmax(h.commonest, (double)run / (double)n);
    }
    free(steps);
    return h;
}

/* A random order of n lines has 2 of n steps to a neighbour; a step of distance d comes with a chance of (n - d) / n^2;
 * the correlation is some 1 / sqrt(n). Limits of four times as much. */
static bool is_random(const struct habits *h, size_t n)
{
    return h->neighbours < 8.0 / (double)n + 4e-3 && h->commonest < 4.0 / (double)n + 4e-3 &&
           fabs(h->correlation) < 4.0 / sqrt((double)n);
}

TEST(random_order)
{
    static uint32_t s[1 << 16];
    static const uint64_t sets[] = {64 * KIB, 96 * KIB, 1024 * KIB, 4096 * KIB};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        const size_t n = carm_chase_lines(CARM_LATENCY_RANDOM, 4 * KIB, sets[i]);
        carm_chase_order(s, CARM_LATENCY_RANDOM, 4 * KIB, sets[i], SIZE_MAX, i);
        assert_true(is_whole(s, n, 1, sets[i]));
        const struct habits h = study(s, n);
        assert_true(is_random(&h, n));
    }
}

TEST(pages_order)
{
    static uint32_t s[1 << 14];
    enum { SETS = 64, PAGES = 4096 };
    unsigned in_set[SETS] = {0};
    const uint64_t bytes = PAGES * 4 * KIB;
    const size_t n = carm_chase_lines(CARM_LATENCY_PAGES, 4 * KIB, bytes);
    carm_chase_order(s, CARM_LATENCY_PAGES, 4 * KIB, bytes, SIZE_MAX, 7);
    assert_int_equal(n, PAGES);
    assert_true(is_whole(s, n, 64, bytes));
    const struct habits h = study(s, n);
    assert_true(is_random(&h, n));
    for (size_t i = 0; i < n; i++) {
        in_set[s[i] % SETS]++;
    }
    for (size_t i = 0; i < SETS; i++) {
        assert_int_equal(in_set[i], PAGES / SETS);
    }
}

TEST(lines_order)
{
    static uint32_t s[1 << 14];
    const uint64_t bytes = 1024 * KIB;
    const size_t n = carm_chase_lines(CARM_LATENCY_LINES, 4 * KIB, bytes);
    carm_chase_order(s, CARM_LATENCY_LINES, 4 * KIB, bytes, SIZE_MAX, 3);
    assert_true(is_whole(s, n, 1, bytes));
    for (size_t i = 0; i < n; i++) { /* a page is left when all of its lines were met */
        assert_int_equal(s[i] / 64, s[i / 64 * 64] / 64);
    }
    /* of 64 lines 2 in 64 steps go to a neighbour */
    const struct habits h = study(s, n);
    assert_true(h.neighbours < 4.0 / 64.0);
}

/* A part of the lines: each once, random, and some in each of 16 parts of the set; whole pages of order "lines". */
TEST(some_lines)
{
    enum { PARTS = 16, MOST = 1 << 12 };
    static uint32_t s[MOST];
    static const enum carm_latency_order orders[] = {CARM_LATENCY_RANDOM, CARM_LATENCY_LINES};
    const uint64_t bytes = 3 * 1024 * KIB, all = bytes / 64;
    static bool met[3 * 1024 * 16];
    for (size_t k = 0; k < sizeof orders / sizeof *orders; k++) {
        size_t in_part[PARTS] = {0};
        const size_t n = carm_chase_some(orders[k], 4 * KIB, bytes, MOST);
        memset(met, 0, sizeof met);
        assert_in_range(n, MOST / 2 + 1, MOST);
        carm_chase_order(s, orders[k], 4 * KIB, bytes, MOST, 5);
        for (size_t i = 0; i < n; i++) {
            assert_true(s[i] < all && !met[s[i]]);
            met[s[i]] = true;
            in_part[s[i] * PARTS / all]++;
            assert_true(k == 0 || s[i] / 64 == s[i / 64 * 64] / 64);
        }
        for (size_t i = 0; i < PARTS; i++) {
            assert_in_range(in_part[i], n / PARTS * 9 / 10, n / PARTS * 11 / 10);
        }
        const struct habits h = study(s, n);
        assert_true(k == 1 || is_random(&h, n));
    }
    /* the first set that has more lines than the most has one of two, from twice the most on one of three */
    static const size_t lines[][2] = {{MOST - 1, MOST - 1},
                                      {MOST, MOST},
                                      {MOST + 1, MOST / 2},
                                      {2 * MOST, MOST},
                                      {2 * MOST + 1, (2 * MOST + 1) / 3}};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_int_equal(carm_chase_some(CARM_LATENCY_RANDOM, 4 * KIB, lines[i][0] * 64, MOST),
                         lines[i][1]);
    }
    assert_int_equal(carm_chase_some(CARM_LATENCY_PAGES, 4 * KIB, bytes, 8), bytes / 4096);
    assert_int_equal(carm_chase_some(CARM_LATENCY_RANDOM, 4 * KIB, bytes, SIZE_MAX), all);
}

/* Ascending lines, every second line, and lines to and fro are not random; nor is an order with a line twice whole. */
TEST(faults)
{
    enum { N = 4096 };
    static uint32_t s[N];
    for (int kind = 0; kind < 3; kind++) {
        for (uint32_t i = 0; i < N; i++) {
            s[i] = kind == 0   ? i
                   : kind == 1 ? (2 * i + i / (N / 2)) % N
                   : i % 2     ? N - 1 - i / 2
                               : i / 2;
        }
        const struct habits h = study(s, N);
        assert_false(is_random(&h, N));
    }
    carm_chase_order(s, CARM_LATENCY_RANDOM, 4 * KIB, N * 64, SIZE_MAX, 1);
    s[5] = s[6];
    assert_false(is_whole(s, N, 1, N * 64));
}

TEST(one_cycle)
{
    enum { N = 3072 };
    static uint32_t s[N];
    char *base = aligned_alloc(64, N * 64);
    assert_non_null(base);
    carm_chase_order(s, CARM_LATENCY_RANDOM, 4 * KIB, N * 64, SIZE_MAX, 9);
    carm_chase_link(base, s, N);
    char *at = base;
    size_t steps = 0;
    do {
        char *next = NULL;
        memcpy(&next, at, sizeof next);
        at = next;
        steps++;
        assert_true(at >= base && at < base + N * 64 && (at - base) % 64 == 0);
    } while (at != base && steps <= N);
    assert_int_equal(steps, N);
    free(base);
}

/* Whole orders: of all lines and of some pages, with an incomplete last page; of pages; of any lines. */
TEST(orders_stay)
{
    static const struct {
        enum carm_latency_order order;
        uint64_t page_bytes, set_bytes;
        size_t most;
    } rows[] = {{CARM_LATENCY_LINES, 4096, 40 * 4096 + 640, SIZE_MAX},
                {CARM_LATENCY_LINES, 4096, 40 * 4096 + 640, 700},
                {CARM_LATENCY_LINES, 4096, 40 * 4096, 2560},
                {CARM_LATENCY_PAGES, 4096, 100 * 4096, SIZE_MAX},
                {CARM_LATENCY_PAGES, 2 << 20, 32 << 20, 9},
                {CARM_LATENCY_RANDOM, 4096, 1 << 16, SIZE_MAX},
                {CARM_LATENCY_RANDOM, 4096, 1 << 16, 100}};
    static uint32_t sequence[4096];
    uint64_t print = FINGERPRINT_NONE;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const size_t n =
            carm_chase_some(rows[i].order, rows[i].page_bytes, rows[i].set_bytes, rows[i].most);
        assert_in_range(n, 1, 4096);
        carm_chase_order(sequence, rows[i].order, rows[i].page_bytes, rows[i].set_bytes,
                         rows[i].most, 3 + i);
        print = fingerprint(print, sequence, n * sizeof *sequence);
    }
    fail_if(print != UINT64_C(0x33e3190cff9bff71), "orders are 0x%llx", (unsigned long long)print);
}
