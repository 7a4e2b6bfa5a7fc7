/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sampled caches against the simulation of all accesses: the same traces, of which the sampled ones get the
 * sets and windows of their plan. */
#include "models/caches/sampled.h"
#include "tests/models/random.h"
#include "tests/unit.h"

enum { KIB = 1024, LINE = CARM_HIERARCHY_LINE, ACCESSES = 3000000, KINDS = 4 };

static const struct carm_hierarchy_config caches = {
    .levels = {{32 * KIB, 8, 1}, {512 * KIB, 8, 1}, {2048 * KIB, 16, 1}},
    .nlevels = 3,
    .cores = 1,
    .last = CARM_LAST_EXCLUSIVE,
};

/* Four instructions: a stream of stores, every eighth line, random lines, and lines that stay. */
static uint64_t address_of(unsigned who, uint64_t i, uint64_t *x)
{
    const uint64_t base = (uint64_t)who << 36;
    switch (who) {
    case 0:
        return base + i * 8;
    case 1:
        return base + i * 8 * LINE % (8192 * KIB);
    case 2:
        return base + next_random(x) % (1024 * KIB);
    default:
        return base + i * 8 % (4 * KIB);
    }
}

/* The window of an access, as carm_sampled_access has it. */
static uint32_t window_at(const struct carm_sampled_plan *plan, uint64_t i)
{
    const uint64_t both = 2ULL * plan->half;
    const uint64_t first = plan->dense * both; /* of those with something between them */
    const uint64_t cycle = i < first ? both : both + plan->between;
    const uint64_t since = i < first ? i : i - first;
    const uint64_t at = since % cycle;
    const uint64_t shift =
        i < first ? 0 : since / cycle * 7919 % (plan->between + 1); /* no loop keeps step */
    const uint32_t window = 2 * (uint32_t)(since / cycle + 1 + (i < first ? 0 : plan->dense));
    return at < shift || at >= shift + both ? 0 : at < shift + plan->half ? window : window + 1;
}

/* plant    lines of the sample are not given
 * outside  out: figures that are wrong by more than a twentieth
 * missed   out: intervals that do not hold the exact figure */
static void compare(double share, bool plant, unsigned *outside, unsigned *missed)
{
    struct carm_hierarchy *all = NULL;
    struct carm_sampled *some = NULL;
    struct carm_sampled_plan plan;
    struct carm_sampled_sum sum = {.cold = 0.0};
    struct carm_level_estimate exact[3], got[3];
    struct carm_hierarchy_counts counts;
    uint64_t x = 11, executions[KINDS] = {0};
    assert_ok(carm_hierarchy_open(&all, &caches, &err));
    assert_ok(carm_sampled_open(&some, &caches, NULL, share, 0, &plan, &err));
    for (uint64_t i = 0; i < ACCESSES; i++) {
        const unsigned who = (unsigned)(i / 50000 % KINDS); /* phases */
        const uint64_t at = address_of(who, executions[who]++, &x);
        const enum carm_access_kind kind = who == 0 ? CARM_ACCESS_STORE : CARM_ACCESS_LOAD;
        carm_hierarchy_access(all, 0, at, 8, kind);
        if (!(plant && i % 3)) {
            carm_sampled_access(some, 0, 0, at, 8, kind, window_at(&plan, i), false, who);
        }
    }
    carm_hierarchy_flush(all);
    assert_ok(carm_hierarchy_read(all, &counts, &err));
    carm_sampled_exact(&counts, exact);
    assert_ok(carm_sampled_end(some, ACCESSES, &err));
    for (uint32_t who = 0; who < KINDS; who++) {
        carm_sampled_add(some, who, (double)executions[who], &sum);
    }
    carm_sampled_read(some, &sum, got);
    for (size_t k = 0; k < 3; k++) {
        const double error = got[k].bytes / exact[k].bytes - 1.0;
        *outside += fabs(error) > 0.05;
        if (*outside && !plant) {
            print_message("level %zu, share %g: %g, not %g\n", k, share, got[k].bytes,
                          exact[k].bytes);
        }
        *missed += exact[k].bytes < got[k].low - 1.0 || exact[k].bytes > got[k].high + 1.0;
        *outside += fabs(got[k].misses / exact[k].misses - 1.0) > 0.05;
    }
    carm_hierarchy_close(all);
    carm_sampled_close(some);
}

TEST(errors)
{
    unsigned missed = 0;
    for (int i = 0; i < 3; i++) {
        unsigned outside = 0;
        compare(0.02 * pow(3.0, i), false, &outside, &missed);
        assert_int_equal(outside, 0);
    }
    assert_true(missed <= 2); /* of 9, of which 5% may be */
}

TEST(notices)
{
    unsigned outside = 0, missed = 0;
    compare(0.05, true, &outside, &missed);
    assert_true(outside > 0);
}

/* How often a string instruction accesses lines is known. */
TEST(repeated)
{
    enum { LINES = 1 << 19 };
    struct carm_sampled *s = NULL;
    struct carm_sampled_plan plan;
    struct carm_sampled_sum sum = {.cold = 0.0};
    struct carm_level_estimate got[3];
    assert_ok(carm_sampled_open(&s, &caches, NULL, 0.01, 0, &plan, &err));
    assert_true(plan.sets == 16 && plan.of == 1024 && plan.turns == 16 && plan.between > plan.half);
    for (uint64_t i = 0; i < LINES; i++) {
        carm_sampled_access(s, 0, 0, i * LINE, LINE, CARM_ACCESS_STORE, window_at(&plan, i), true,
                            0);
    }
    assert_ok(carm_sampled_end(s, 1e9, &err));
    carm_sampled_add(s, 0, 0.0, &sum);
    carm_sampled_read(s, &sum, got);
    assert_true(got[0].misses == LINES && got[0].unused == 0.0);
    assert_true(fabs(got[2].bytes / (2.0 * LINES * LINE) - 1.0) < 1e-9);
    carm_sampled_close(s);
}

/* A binary search in an array of a power of two meets few sets, of which some are sampled: no level misses more lines
 * than the first. */
TEST(powers)
{
    enum { SIZE = 1 << 26 };
    struct carm_sampled *s = NULL;
    struct carm_sampled_plan plan;
    struct carm_sampled_sum sum = {.cold = 0.0};
    struct carm_level_estimate got[3];
    uint64_t x = 3, n = 0, base = 0;
    assert_ok(carm_sampled_open(&s, &caches, NULL, 0.01, 0, &plan, &err));
    while (!plan.classes[base / LINE]) {
        base += LINE;
    }
    while (n < ACCESSES) {
        uint64_t at = 0;
        const uint64_t key = next_random(&x) % SIZE;
        for (uint64_t half = SIZE / 2; half >= 8; half /= 2, n++) {
            carm_sampled_access(s, 0, 0, base + at + half, 8, CARM_ACCESS_LOAD, window_at(&plan, n),
                                false, 0);
            at += at + half <= key ? half : 0;
        }
    }
    assert_ok(carm_sampled_end(s, (double)n, &err));
    carm_sampled_add(s, 0, (double)n, &sum);
    carm_sampled_read(s, &sum, got);
    assert_true(got[1].misses <= 1.5 * got[0].misses && got[2].misses <= 1.5 * got[0].misses);
    carm_sampled_close(s);
}

enum { ROWS = 30, TRACE = 4000000, SEEDS = 10, LEVELS = 3 };

/* Streams, strides, random lines and bursts, of a few lines to many; rows take turns in bursts. */
static unsigned next_row(uint64_t *x, uint64_t *left)
{
    static unsigned row;
    if ((*left)-- == 0) {
        const uint64_t r = next_random(x);
        row = (unsigned)(r % ROWS);
        *left = (r >> 32) % 4 == 0 ? (r >> 40) % 3000 : (r >> 40) % 40;
        *left = row % 5 == 4 ? *left / 200 : *left; /* rare ones */
    }
    return row;
}

static uint64_t address_of_row(unsigned row, uint64_t i, uint64_t *x)
{
    const uint64_t base = (uint64_t)(row + 1) << 36;
    const uint64_t size = UINT64_C(2) * KIB << row % 11;
    switch (row % 5) {
    case 0:
        return base + i * 8 % (size * 16);
    case 1:
        return base + next_random(x) % size;
    case 2:
        return base + i * 5 * LINE % size;
    case 3:
        return base + (next_random(x) % 8 ? i * 8 % 512 : next_random(x) % (4 * size));
    default:
        return base + i * LINE;
    }
}

/* All accesses to one simulation or, where that is NULL, those of its plan to the other.
 * executions  out: of each row */
static void simulate_rows(struct carm_hierarchy *all, struct carm_sampled *some,
                          const struct carm_sampled_plan *plan, uint64_t executions[ROWS])
{
    uint64_t x = 5, left = 0;
    memset(executions, 0, ROWS * sizeof *executions);
    for (uint64_t i = 0; i < TRACE; i++) {
        const unsigned row = next_row(&x, &left);
        const uint64_t at = address_of_row(row, executions[row]++, &x) & ~UINT64_C(7);
        const enum carm_access_kind kind = row % 3 == 0 ? CARM_ACCESS_STORE : CARM_ACCESS_LOAD;
        const uint32_t window = some ? window_at(plan, i) : 0;
        if (all) {
            carm_hierarchy_by(all, row);
            carm_hierarchy_access(all, 0, at, 8, kind);
        } else if (carm_sampled_has(some, at, 8, window)) {
            carm_sampled_access(some, 0, 0, at, 8, kind, window, false, row);
        }
    }
}

static void read_rows(struct carm_level_estimate out[ROWS + 1][LEVELS])
{
    struct carm_hierarchy *all = NULL;
    struct carm_hierarchy_counts counts;
    uint64_t executions[ROWS];
    assert_ok(carm_hierarchy_open(&all, &caches, &err));
    simulate_rows(all, NULL, NULL, executions);
    carm_hierarchy_flush(all);
    assert_ok(carm_hierarchy_read(all, &counts, &err));
    carm_sampled_exact(&counts, out[ROWS]);
    for (uint32_t row = 0; row < ROWS; row++) {
        carm_hierarchy_read_by(all, row, &counts);
        counts.nlevels = LEVELS;
        carm_sampled_exact(&counts, out[row]);
    }
    carm_hierarchy_close(all);
}

static void sample_rows(uint64_t seed, struct carm_level_estimate out[ROWS + 1][LEVELS])
{
    struct carm_sampled *some = NULL;
    struct carm_sampled_plan plan;
    struct carm_sampled_sum whole = {.cold = 0.0};
    uint64_t executions[ROWS];
    assert_ok(carm_sampled_open(&some, &caches, NULL, 0.01, seed, &plan, &err));
    simulate_rows(NULL, some, &plan, executions);
    assert_ok(carm_sampled_end(some, TRACE, &err));
    for (uint32_t row = 0; row < ROWS; row++) {
        struct carm_sampled_sum sum = {.cold = 0.0};
        carm_sampled_add(some, row, (double)executions[row], &sum);
        carm_sampled_read(some, &sum, out[row]);
        carm_sampled_add(some, row, (double)executions[row], &whole);
    }
    carm_sampled_read(some, &whole, out[ROWS]);
    carm_sampled_close(some);
}

/* Intervals of rows with few lines and with many hold what a simulation of all accesses has, in 95% of the
 * cases; a quarter of them does not. */
TEST(coverage)
{
    static struct carm_level_estimate exact[ROWS + 1][LEVELS], got[ROWS + 1][LEVELS];
    unsigned cases[LEVELS] = {0}, held[LEVELS] = {0}, planted[LEVELS] = {0};
    read_rows(exact);
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        sample_rows(seed, got);
        for (size_t row = 0; row <= ROWS; row++) {
            for (size_t k = 0; k < LEVELS; k++) {
                const struct carm_level_estimate *l = &got[row][k];
                const double bytes = exact[row][k].bytes;
                const bool in = bytes >= l->low - 0.5 && bytes <= l->high + 0.5;
                assert_true(l->low <= l->bytes && l->bytes <= l->high && l->high > l->low);
                cases[k]++;
                held[k] += in;
                planted[k] += bytes >= l->bytes - 0.25 * (l->bytes - l->low) - 0.5 &&
                              bytes <= l->bytes + 0.25 * (l->high - l->bytes) + 0.5;
            }
        }
    }
    for (size_t k = 0; k < LEVELS; k++) {
        print_message("level %zu: %u of %u intervals hold the exact figure, a quarter of it %u\n",
                      k, held[k], cases[k], planted[k]);
        assert_true(held[k] >= 0.92 * cases[k]);
        assert_true(planted[k] < 0.92 * cases[k]);
    }
}

/* An access to two lines is recorded where one of them has its turn. Pages are chosen alike of each value of their lowest
 * 3 bits, and at least one of each. */
TEST(turns_and_pages)
{
    static const double shares[] = {1e-6, 0.01, 0.05, 0.5};
    struct carm_sampled_plan plan;
    struct carm_sampled *s;
    for (size_t k = 0; k < sizeof shares / sizeof *shares; k++) {
        unsigned of[8] = {0};
        assert_ok(carm_sampled_open(&s, &caches, NULL, shares[k], 7, &plan, &err));
        for (uint32_t i = 0; i < CARM_SAMPLED_PAGES; i++) {
            of[i % 8] += plan.pages[i];
        }
        const double wanted = ceil(shares[k] * CARM_SAMPLED_PAGES / 8);
        for (int i = 0; i < 8; i++) {
            assert_int_equal(of[i], wanted);
        }
        assert_int_equal(plan.npages, 8 * wanted);
        carm_sampled_close(s);
    }
    assert_ok(carm_sampled_open(&s, &caches, NULL, 0.01, 0, &plan, &err));
    unsigned alone = 0;
    for (uint32_t line = 1; line < CARM_SAMPLED_CLASSES; line++) {
        const uint64_t address = (uint64_t)line * LINE;
        for (uint32_t window = 1; window <= 2 * plan.turns; window++) {
            const uint32_t turn = carm_sampled_turn(&plan, window);
            const bool before = plan.classes[line - 1] || plan.turn[line - 1] == turn;
            const bool here = plan.classes[line] || plan.turn[line] == turn;
            assert_int_equal(carm_sampled_has(s, address - 4, 8, window), before || here);
            assert_int_equal(carm_sampled_has(s, address, 8, window), here);
            assert_int_equal(carm_sampled_has(s, address - 8, 8, window), before);
            alone += before != here;
        }
        assert_int_equal(carm_sampled_has(s, address, 8, 0), plan.classes[line]);
    }
    assert_true(alone > 1000);
    carm_sampled_close(s);
}

TEST(refusals)
{
    struct carm_sampled *s = NULL;
    struct carm_sampled_plan plan;
    struct carm_hierarchy_config config = caches;
    config.streams = true;
    assert_refused(carm_sampled_open(&s, &config, NULL, 0.01, 0, &plan, &err), -CARM_ENOTSUP,
                   "prefetching cannot be sampled");
    config = caches;
    config.levels[2] = (struct carm_hierarchy_level){(uint64_t)24 * 65 * LINE, 24, 1};
    assert_refused(carm_sampled_open(&s, &config, NULL, 0.01, 0, &plan, &err), -CARM_ENOTSUP,
                   "fewer than 32 sets or an odd number");
    config = caches;
    config.nlevels = 1;
    assert_int_equal(carm_sampled_open(&s, &config, NULL, 0.01, 0, &plan, &err), -CARM_ENOTSUP);
}
