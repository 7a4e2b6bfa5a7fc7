/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simulation of caches: traces worked out by hand, closed forms, limits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "models/caches/simulate.h"

static struct carm_cache_sim *open_sim(const struct carm_cache_sim_level *levels, size_t n)
{
    struct carm_cache_sim *sim = NULL;
    struct carm_err err = {""};
    if (carm_cache_sim_open(&sim, levels, n, &err) != 0) {
        fail_msg("%s", err.text);
    }
    return sim;
}

/* One level of so many lines. */
static struct carm_cache_sim *open_one(uint64_t lines, uint32_t ways)
{
    const struct carm_cache_sim_level level = {lines * CARM_CACHE_SIM_LINE, ways};
    return open_sim(&level, 1);
}

static struct carm_cache_sim_counts read_sim(struct carm_cache_sim *sim, bool flush)
{
    struct carm_cache_sim_counts c;
    struct carm_err err = {""};
    memset(&c, 0, sizeof c);
    if (carm_cache_sim_read(sim, flush, &c, &err) != 0) {
        fail_msg("%s", err.text);
    }
    return c;
}

static struct carm_cache_sim_counts close_sim(struct carm_cache_sim *sim)
{
    const struct carm_cache_sim_counts c = read_sim(sim, true);
    carm_cache_sim_close(sim);
    return c;
}

static void load(struct carm_cache_sim *sim, uint64_t line)
{
    carm_cache_sim_access(sim, line * CARM_CACHE_SIM_LINE, 8, false, false);
}

static void store(struct carm_cache_sim *sim, uint64_t line)
{
    carm_cache_sim_access(sim, line * CARM_CACHE_SIM_LINE, 8, true, false);
}

static void assert_kinds(const struct carm_cache_sim_counts *c, int compulsory, int capacity,
                         int conflict)
{
    assert_int_equal(c->compulsory, compulsory);
    assert_int_equal(c->capacity, capacity);
    assert_int_equal(c->conflict, conflict);
    assert_int_equal((int64_t)c->compulsory + (int64_t)c->capacity + c->conflict, c->real.fills);
}

/* ---- traces worked out by hand --------------------------------------------------------------- */

static void ping_pong_is_conflict(void **state)
{
    (void)state;
    struct carm_cache_sim *sim = open_one(8, 1);
    for (int i = 0; i < 10; i++) {
        load(sim, 3);
        load(sim, 11);
    }
    struct carm_cache_sim_counts c = close_sim(sim);
    assert_int_equal(c.real.fills, 20);
    assert_kinds(&c, 2, 0, 18);
    sim = open_one(8, 2);
    for (int i = 0; i < 10; i++) {
        load(sim, 3);
        load(sim, 11);
    }
    c = close_sim(sim);
    assert_int_equal(c.levels[0].hits, 18);
    assert_kinds(&c, 2, 0, 0);
}

/* One line more than there is room for: LRU throws out the very line that comes next. */
static void cyclic_sweep_is_capacity(void **state)
{
    (void)state;
    enum { LINES = 12, ROUNDS = 5 };
    struct carm_cache_sim *sim = open_one(LINES, LINES);
    for (int i = 0; i < (LINES + 1) * ROUNDS; i++) {
        load(sim, (uint64_t)i % (LINES + 1));
    }
    struct carm_cache_sim_counts c = close_sim(sim);
    assert_int_equal(c.levels[0].hits, 0);
    assert_kinds(&c, LINES + 1, (LINES + 1) * (ROUNDS - 1), 0);
    /* direct-mapped, only the two lines that share set 0 go on missing: conflict below zero */
    sim = open_one(LINES, 1);
    for (int i = 0; i < (LINES + 1) * ROUNDS; i++) {
        load(sim, (uint64_t)i % (LINES + 1));
    }
    c = close_sim(sim);
    assert_int_equal(c.real.fills, LINES + 1 + 2 * (ROUNDS - 1));
    assert_kinds(&c, LINES + 1, (LINES + 1) * (ROUNDS - 1), -(LINES - 1) * (ROUNDS - 1));
}

/* 2 ways, 1 set: a b a c keeps a, as it was used after b. */
static void replacement_is_lru(void **state)
{
    (void)state;
    struct carm_cache_sim *sim = open_one(2, 2);
    load(sim, 1);
    load(sim, 2);
    load(sim, 1);
    load(sim, 3);
    load(sim, 1);
    assert_int_equal(read_sim(sim, true).levels[0].hits, 2);
    load(sim, 2);
    const struct carm_cache_sim_counts c = close_sim(sim);
    assert_int_equal(c.levels[0].misses, 4);
    assert_kinds(&c, 3, 1, 0);
}

static void dirty_lines_are_written_once(void **state)
{
    (void)state;
    struct carm_cache_sim *sim = open_one(2, 1);
    store(sim, 0);
    store(sim, 0);
    load(sim, 0);
    load(sim, 2); /* throws 0 out */
    load(sim, 4); /* throws 2 out, which is clean */
    store(sim, 1);
    assert_int_equal(read_sim(sim, false).real.writebacks, 1);
    assert_int_equal(read_sim(sim, true).real.writebacks, 2);
    assert_int_equal(read_sim(sim, true).real.writebacks, 2);
    const struct carm_cache_sim_counts c = close_sim(sim);
    assert_int_equal(c.levels[0].writebacks, 1);
    assert_int_equal(c.infinite.writebacks, 2);
    assert_int_equal(c.associative.writebacks, 2);
    assert_int_equal(c.lines, 4);
    assert_int_equal(c.lines_stored, 1); /* line 0 was loaded, too */
}

static void straddling_counts_both_lines(void **state)
{
    (void)state;
    struct carm_cache_sim *sim = open_one(16, 4);
    carm_cache_sim_access(sim, 60, 8, false, false);
    carm_cache_sim_access(sim, 56, 8, false, false);
    carm_cache_sim_access(sim, 64, 8, true, false);
    carm_cache_sim_access(sim, 130, 200, true, false); /* lines 2 to 5 */
    carm_cache_sim_access(sim, 0, 0, true, false);
    carm_cache_sim_access(sim, UINT64_MAX, 2, false, false); /* nothing lies there */
    const struct carm_cache_sim_counts c = close_sim(sim);
    assert_int_equal(c.lookups, 2 + 1 + 1 + 4);
    assert_int_equal(c.lines, 6);
    assert_int_equal(c.real.fills, 6);
    assert_int_equal(c.real.writebacks, 5);
    assert_int_equal(c.bytes_stored, 208);
}

static void nt(struct carm_cache_sim *sim, uint64_t address, unsigned bytes)
{
    carm_cache_sim_access(sim, address, bytes, true, true);
}

static void nontemporal_stores_go_past(void **state)
{
    (void)state;
    struct carm_cache_sim *sim = open_one(16, 4);
    for (uint64_t i = 0; i < 64; i++) { /* 8 whole lines */
        nt(sim, 8 * i, 8);
    }
    struct carm_cache_sim_counts c = read_sim(sim, true);
    assert_int_equal(c.real.fills + c.real.writebacks + c.lookups, 0);
    assert_int_equal(c.nt_lines, 8);
    assert_int_equal(c.lines, 8);
    nt(sim, 1024, 24); /* stays a part; drains at the end ... */
    c = read_sim(sim, false);
    assert_int_equal(c.nt_partial, 1);
    assert_int_equal(c.nt_partial_bytes, 24);
    nt(sim, 1024 + 24, 40); /* ... but is whole when it goes on */
    c = read_sim(sim, false);
    assert_int_equal(c.nt_lines, 9);
    assert_int_equal(c.nt_partial, 0);
    nt(sim, 2048, 8); /* a plain access to it drains it */
    load(sim, 2048 / 64);
    nt(sim, 2048 + 8, 8);
    c = close_sim(sim);
    assert_int_equal(c.nt_partial, 2);
    assert_int_equal(c.nt_partial_bytes, 16);
    assert_int_equal(c.real.fills, 1);
}

static void nontemporal_stores_throw_out(void **state)
{
    (void)state;
    const struct carm_cache_sim_level two[] = {{256, 4}, {1024, 4}};
    struct carm_cache_sim *sim = open_sim(two, 2);
    store(sim, 5);
    load(sim, 6);
    nt(sim, 320, 64);
    nt(sim, 384, 64);
    struct carm_cache_sim_counts c = read_sim(sim, true);
    assert_int_equal(c.real.writebacks, 1);
    assert_int_equal(c.infinite.writebacks, 1);
    assert_int_equal(c.associative.writebacks, 1);
    load(sim, 5); /* read anew in all three: compulsory, though not the first touch */
    c = close_sim(sim);
    assert_int_equal(c.nt_lines, 2);
    assert_int_equal(c.lines, 2);
    assert_kinds(&c, 3, 0, 0);
    assert_int_equal(c.lines_stored, 0);
}

/* More streams than buffers: each store finds its buffer gone. */
static void buffers_run_out(void **state)
{
    (void)state;
    for (unsigned streams = 1; streams <= 6; streams++) {
        struct carm_err err = {""};
        struct carm_cache_sim *sim = open_one(16, 4);
        assert_int_equal(carm_cache_sim_buffers(sim, 4, &err), 0);
        for (uint64_t i = 0; i < 64; i++) {
            for (uint64_t s = 0; s < streams; s++) {
                nt(sim, 65536 * s + 8 * i, 8);
            }
        }
        const struct carm_cache_sim_counts c = close_sim(sim);
        assert_int_equal(c.nt_lines, streams <= 4 ? 8 * streams : 0);
        assert_int_equal(c.nt_partial, streams <= 4 ? 0 : 64 * streams);
        assert_int_equal(c.nt_partial_bytes, streams <= 4 ? 0 : 512 * streams);
    }
}

/* First level of 2 lines, second of 8: what the first throws out the second still has, and a dirty
 * victim is written into the second, not to memory. */
static void second_level_takes_the_first_ones(void **state)
{
    (void)state;
    const struct carm_cache_sim_level two[] = {{128, 2}, {512, 8}};
    struct carm_cache_sim *sim = open_sim(two, 2);
    store(sim, 0);
    load(sim, 1);
    load(sim, 2); /* throws 0 out of the first */
    struct carm_cache_sim_counts c = read_sim(sim, false);
    assert_int_equal(c.levels[0].writebacks, 1);
    assert_int_equal(c.real.writebacks, 0);
    assert_int_equal(read_sim(sim, true).real.writebacks, 1);
    load(sim, 0);  /* from the second */
    store(sim, 0); /* dirty in both: one line to write */
    assert_int_equal(read_sim(sim, true).real.writebacks, 1);
    c = close_sim(sim);
    assert_int_equal(c.levels[0].hits, 1);
    assert_int_equal(c.levels[0].misses, 4);
    assert_int_equal(c.levels[1].hits, 1);
    assert_int_equal(c.levels[1].misses, 3);
    assert_kinds(&c, 3, 0, 0);
}

/* ---- closed forms ---------------------------------------------------------------------------- */

/* Down the columns of a matrix in rows, 64 rows: 8 doubles of each line in turn. */
static struct carm_cache_sim_counts walk_columns(uint64_t leading)
{
    struct carm_cache_sim *sim = open_one(512, 8); /* 32 KiB in 64 sets */
    for (uint64_t column = 0; column < 8; column++) {
        for (uint64_t row = 0; row < 64; row++) {
            carm_cache_sim_access(sim, 8 * (row * leading + column), 8, false, false);
        }
    }
    return close_sim(sim);
}

static void padding_removes_conflicts(void **state)
{
    (void)state;
    const struct carm_cache_sim_counts power = walk_columns(512); /* all rows in one set */
    assert_kinds(&power, 64, 0, 7 * 64);
    const struct carm_cache_sim_counts padded = walk_columns(520); /* each row in its own */
    assert_kinds(&padded, 64, 0, 0);
}

enum { ROW = 24, ROWS = 40 };

/* Three rows are read for each one that is written, line by line. */
static struct carm_cache_sim_counts sweep(uint64_t lines, uint32_t ways, bool nontemporal)
{
    struct carm_cache_sim *sim = open_one(lines, ways);
    for (uint64_t y = 1; y + 1 < ROWS; y++) {
        for (uint64_t x = 0; x < ROW; x++) {
            for (uint64_t d = 0; d < 3; d++) {
                load(sim, (y + d - 1) * ROW + x);
            }
            carm_cache_sim_access(sim, (100000 + y * ROW + x) * CARM_CACHE_SIM_LINE, 64, true,
                                  nontemporal);
        }
    }
    return close_sim(sim);
}

static void stencil_has_its_closed_forms(void **state)
{
    (void)state;
    const int in = ROWS * ROW;
    const int out = (ROWS - 2) * ROW;
    /* a line is read again after the 4 lines of each point of a row: 4 rows and the 4 lines at hand
     * are room enough */
    const struct carm_cache_sim_counts fits = sweep(4 * ROW + 4, 4 * ROW + 4, false);
    assert_kinds(&fits, in + out, 0, 0);
    assert_int_equal(fits.real.writebacks, out);
    assert_int_equal(fits.lines_stored, out);
    /* no row stays: every read is a miss */
    const struct carm_cache_sim_counts none = sweep(8, 8, false);
    assert_kinds(&none, in + out, 3 * out - in, 0);
    assert_int_equal(none.real.writebacks, out);
    assert_int_equal(none.associative.writebacks, out);
    /* past the caches: neither fills of what is overwritten nor write-backs */
    const struct carm_cache_sim_counts past = sweep(4 * ROW + 4, 4 * ROW + 4, true);
    assert_kinds(&past, in, 0, 0);
    assert_int_equal(past.real.writebacks, 0);
    assert_int_equal(past.nt_lines, out);
}

/* ---- limits ---------------------------------------------------------------------------------- */

static void grows_and_stops_at_the_limit(void **state)
{
    (void)state;
    struct carm_err err = {""};
    struct carm_cache_sim_counts c;
    struct carm_cache_sim_counts junk;
    struct carm_cache_sim *sim = open_one(64, 8);
    assert_int_equal(carm_cache_sim_limit(sim, 20000, &err), 0);
    for (uint64_t i = 0; i < 20000; i++) {
        load(sim, i * 4096);
    }
    for (uint64_t i = 0; i < 20000; i++) {
        load(sim, i * 4096);
    }
    c = read_sim(sim, true);
    assert_kinds(&c, 20000, 20000, 0);
    load(sim, 1);
    load(sim, 0);
    memset(&c, 0x5a, sizeof c);
    memcpy(&junk, &c, sizeof c);
    assert_int_equal(carm_cache_sim_read(sim, true, &c, &err), -CARM_ENOMEM);
    assert_non_null(strstr(err.text, "20000 lines"));
    assert_non_null(strstr(err.text, "a smaller problem size"));
    assert_memory_equal(&c, &junk, sizeof c);
    carm_cache_sim_close(sim);
    carm_cache_sim_close(NULL);
}

static void refuse(uint64_t bytes, uint32_t ways, const char *words)
{
    const struct carm_cache_sim_level levels[] = {{4096, 4}, {bytes, ways}};
    struct carm_cache_sim *sim = NULL;
    struct carm_err err = {""};
    assert_int_equal(carm_cache_sim_open(&sim, levels, 2, &err), -CARM_EINVAL);
    assert_null(sim);
    if (!strstr(err.text, words)) {
        fail_msg("'%s' does not say '%s'", err.text, words);
    }
}

static void refuses_what_is_no_cache(void **state)
{
    (void)state;
    struct carm_err err = {""};
    struct carm_cache_sim *sim = NULL;
    refuse(4096, 0, "level 2 of the simulation has 0 ways");
    refuse(0, 1, "has 0 bytes");
    refuse(63, 1, "has 63 bytes");
    refuse(UINT64_C(1) << 40, 1, "give 64 bytes to 4 GiB");
    refuse(4096 + 64, 4, "not a whole number of sets of 4 lines");
    refuse(4096 + 32, 1, "not a whole number of sets of 1 lines");
    refuse(4096, 128, "not a whole number of sets of 128 lines");
    refuse(4096, UINT32_MAX, "not a whole number of sets");
    refuse(4096, UINT32_C(1) << 26, "not a whole number of sets"); /* * 64 is 0 in 32 bits */
    assert_int_equal(carm_cache_sim_open(&sim, NULL, 0, &err), -CARM_EINVAL);
    assert_int_equal(carm_cache_sim_open(&sim, NULL, 5, &err), -CARM_EINVAL);
    assert_non_null(strstr(err.text, "give 1 to 4"));
    sim = open_one(8, 8);
    assert_int_equal(carm_cache_sim_limit(sim, 0, &err), -CARM_EINVAL);
    assert_int_equal(carm_cache_sim_limit(sim, (UINT64_C(1) << 30) + 1, &err), -CARM_EINVAL);
    assert_non_null(strstr(err.text, "give 1 to 1073741824"));
    assert_int_equal(carm_cache_sim_buffers(sim, 0, &err), -CARM_EINVAL);
    assert_int_equal(carm_cache_sim_buffers(sim, 65, &err), -CARM_EINVAL);
    assert_non_null(strstr(err.text, "give 1 to 64"));
    carm_cache_sim_close(sim);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ping_pong_is_conflict),
        cmocka_unit_test(cyclic_sweep_is_capacity),
        cmocka_unit_test(replacement_is_lru),
        cmocka_unit_test(dirty_lines_are_written_once),
        cmocka_unit_test(straddling_counts_both_lines),
        cmocka_unit_test(nontemporal_stores_go_past),
        cmocka_unit_test(nontemporal_stores_throw_out),
        cmocka_unit_test(buffers_run_out),
        cmocka_unit_test(second_level_takes_the_first_ones),
        cmocka_unit_test(padding_removes_conflicts),
        cmocka_unit_test(stencil_has_its_closed_forms),
        cmocka_unit_test(grows_and_stops_at_the_limit),
        cmocka_unit_test(refuses_what_is_no_cache),
    };
    return cmocka_run_group_tests_name("cache_sim", tests, NULL, NULL);
}
