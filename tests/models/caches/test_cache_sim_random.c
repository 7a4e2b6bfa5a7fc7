/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simulation of caches against a naive one, over random traces and many geometries. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "models/caches/simulate.h"
#include "tests/models/caches/reference.h"
#include "tests/models/random.h"

static struct carm_cache_sim *open_sim(const struct carm_cache_sim_level *levels, size_t n)
{
    struct carm_cache_sim *sim = NULL;
    struct carm_err err = {""};
    if (carm_cache_sim_open(&sim, levels, n, &err) != 0) {
        fail_msg("%s", err.text);
    }
    return sim;
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

/* Half of the accesses near the last one, so that there are hits. Writes like a program, in 8 bytes
 * mostly. */
struct random_access {
    uint64_t address;
    unsigned bytes;
    bool store, nontemporal;
};

static struct random_access draw(uint64_t *seed, uint64_t last, uint64_t span, bool nontemporal)
{
    const uint64_t r = next_random(seed);
    struct random_access a = {(r >> 8) % span, 8, (r & 3) == 0, false};
    if ((r & 4) != 0) {
        a.address = (last + ((r >> 40) & 127)) % span;
    }
    if ((r & 0xf0) == 0) {
        a.bytes = 1 + (unsigned)(r >> 50) % 150;
    }
    if (nontemporal && (r & 8) != 0) {
        a.nontemporal = true;
        a.bytes = (r & 0x30) == 0 ? a.bytes : 64;
        a.address = (r & 0x30) == 0 ? a.address : a.address / 64 * 64;
    }
    return a;
}

static void compare(const struct carm_cache_sim_level *levels, size_t n, unsigned buffers,
                    uint64_t seed)
{
    struct carm_err err = {""};
    struct carm_cache_sim *sim = open_sim(levels, n);
    struct reference *reference = reference_open(levels, n, buffers);
    assert_int_equal(carm_cache_sim_buffers(sim, buffers, &err), 0);
    const uint64_t span = 32 + 64 * (seed % (REFERENCE_LINES - 8));
    uint64_t state = seed * 7919 + 1;
    uint64_t last = 0;
    for (int i = 0; i < 3000; i++) {
        const struct random_access a = draw(&state, last, span, seed % 3 != 0);
        last = a.address;
        carm_cache_sim_access(sim, a.address, a.bytes, a.store, a.nontemporal);
        reference_access(reference, a.address, a.bytes, a.store, a.nontemporal);
    }
    const bool flush = seed % 2 == 0;
    const struct carm_cache_sim_counts got = read_sim(sim, flush);
    const struct carm_cache_sim_counts want = reference_close(reference, flush);
    carm_cache_sim_close(sim);
    if (memcmp(&got, &want, sizeof got) != 0) {
        const uint64_t *g = (const uint64_t *)&got;
        const uint64_t *w = (const uint64_t *)&want;
        for (size_t i = 0; i < sizeof got / sizeof *g; i++) {
            if (g[i] != w[i]) {
                print_message("count %zu: %" PRIu64 ", reference %" PRIu64 "\n", i, g[i], w[i]);
            }
        }
        fail_msg("seed %" PRIu64 ", %zu levels, the first %" PRIu64 " bytes in %" PRIu32 " ways",
                 seed, n, levels[0].size_bytes, levels[0].ways);
    }
    assert_int_equal((int64_t)got.compulsory + (int64_t)got.capacity + got.conflict,
                     got.real.fills);
    assert_true(got.associative.fills >= got.infinite.fills);
    assert_int_equal(got.levels[0].hits + got.levels[0].misses, got.lookups);
    assert_int_equal(got.levels[n - 1].misses, got.real.fills);
    if (seed % 3 == 0) { /* no non-temporal stores */
        assert_int_equal(got.infinite.fills, got.lines);
    }
    if (n == 1 && levels[0].ways * (uint64_t)CARM_CACHE_SIM_LINE == levels[0].size_bytes) {
        assert_memory_equal(&got.real, &got.associative, sizeof got.real);
    }
}

static void agrees_with_the_naive_simulator(void **state)
{
    (void)state;
    static const struct {
        size_t n;
        struct carm_cache_sim_level levels[3];
    } cases[] = {
        {1, {{64, 1}}},
        {1, {{1024, 1}}},
        {1, {{960, 1}}},
        {1, {{1536, 8}}},
        {1, {{2240, 5}}},
        {1, {{4096, 4}}},
        {1, {{3072, 48}}},
        {1, {{8192, 128}}},
        {2, {{512, 2}, {2048, 4}}},
        {2, {{768, 4}, {3840, 3}}},
        {2, {{1024, 1}, {1024, 1}}},
        {2, {{1024, 16}, {576, 3}}},
        {3, {{256, 2}, {768, 1}, {6144, 16}}},
        {3, {{384, 6}, {1280, 4}, {4928, 7}}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (uint64_t seed = 1; seed <= 8; seed++) {
            compare(cases[i].levels, cases[i].n, 1 + (unsigned)seed % 5, seed * 61 + i);
        }
    }
}

/* LRU is a stack algorithm (Mattson et al. 1970): a larger fully associative cache has all that a
 * smaller one has. */
static void larger_ones_never_miss_more(void **state)
{
    (void)state;
    uint64_t before = UINT64_MAX;
    for (uint32_t lines = 1; lines <= 256; lines += 1 + lines / 4) {
        const struct carm_cache_sim_level level = {lines * UINT64_C(64), lines};
        struct carm_cache_sim *sim = open_sim(&level, 1);
        uint64_t seed = 42;
        uint64_t last = 0;
        for (int i = 0; i < 4000; i++) {
            const struct random_access a = draw(&seed, last, 12800, false);
            last = a.address;
            carm_cache_sim_access(sim, a.address, a.bytes, a.store, false);
        }
        const struct carm_cache_sim_counts c = read_sim(sim, true);
        carm_cache_sim_close(sim);
        assert_true(c.real.fills <= before);
        assert_int_equal(c.conflict, 0);
        before = c.real.fills;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_naive_simulator),
        cmocka_unit_test(larger_ones_never_miss_more),
    };
    return cmocka_run_group_tests_name("cache_sim_random", tests, NULL, NULL);
}
