/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The simulation of caches against a naive one, over random traces and many geometries. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "models/caches/hierarchy.h"
#include "tests/models/caches/reference.h"
#include "tests/models/caches/simulation.h"
#include "tests/models/random.h"

/* Half of the accesses near the last one, so that there are hits. Writes like a program, in 8 bytes
 * mostly. */
struct random_access {
    uint64_t address;
    unsigned bytes;
    enum carm_access_kind kind;
};

static struct random_access draw(uint64_t *seed, uint64_t last, uint64_t span, bool nontemporal)
{
    const uint64_t r = next_random(seed);
    struct random_access a = {(r >> 8) % span, 8,
                              (r & 3) == 0 ? CARM_ACCESS_STORE : CARM_ACCESS_LOAD};
    if ((r & 4) != 0) {
        a.address = (last + ((r >> 40) & 127)) % span;
    }
    if ((r & 0xf0) == 0) {
        a.bytes = 1 + (unsigned)(r >> 50) % 150;
    }
    if (nontemporal && (r & 8) != 0) {
        a.kind = CARM_ACCESS_STORE_NT;
        a.bytes = (r & 0x30) == 0 ? a.bytes : 64;
        a.address = (r & 0x30) == 0 ? a.address : a.address / 64 * 64;
    }
    return a;
}

/* plant  some accesses go elsewhere. returns the number of counts that differ */
static unsigned differ(const struct carm_hierarchy_config *config, uint64_t seed, bool plant)
{
    enum { ACCESSES = 3000 };
    struct carm_hierarchy *h = start(config);
    struct reference *reference = reference_open(config);
    const uint64_t span = 32 + 64 * (seed % (REFERENCE_LINES - 8));
    uint64_t state = seed * 7919 + 1;
    uint64_t last = 0;
    for (int i = 0; i < ACCESSES; i++) {
        const struct random_access a = draw(&state, last, span, seed % 3 != 0);
        last = a.address;
        carm_hierarchy_access(h, 0, a.address + (plant && i % 64 == 0 ? 1 << 20 : 0), a.bytes,
                              a.kind);
        reference_access(reference, a.address, a.bytes, a.kind);
    }
    const struct carm_hierarchy_counts got = finish(h);
    const struct carm_hierarchy_counts want = reference_close(reference);
    unsigned wrong = got.accesses != want.accesses;
    wrong += got.bytes_loaded != want.bytes_loaded || got.bytes_stored != want.bytes_stored;
    wrong += got.nt_lines != want.nt_lines || got.nt_partial != want.nt_partial;
    for (size_t k = 0; k < config->nlevels; k++) {
        const struct carm_hierarchy_level_counts *g = &got.levels[k];
        const struct carm_hierarchy_level_counts *w = &want.levels[k];
        wrong += g->lookups != w->lookups;
        wrong += memcmp(g->misses, w->misses, sizeof g->misses) != 0;
        wrong += g->fills != w->fills;
        wrong += g->writebacks != w->writebacks;
    }
    return wrong;
}

static void agrees_with_the_naive_simulator(void **state)
{
    (void)state;
    static const struct carm_hierarchy_config cases[] = {
        {.nlevels = 1, .levels = {{64, 1, 1}}},
        {.nlevels = 1, .levels = {{1024, 1, 1}}},
        {.nlevels = 1, .levels = {{960, 1, 1}}},
        {.nlevels = 1, .levels = {{1536, 8, 1}}},
        {.nlevels = 1, .levels = {{2240, 5, 1}}},
        {.nlevels = 1, .levels = {{4096, 4, 1}}},
        {.nlevels = 1, .levels = {{3072, 48, 1}}},
        {.nlevels = 1, .levels = {{8192, 128, 1}}},
        {.nlevels = 2, .levels = {{512, 2, 1}, {2048, 4, 1}}},
        {.nlevels = 2, .levels = {{768, 4, 1}, {3840, 3, 1}}},
        {.nlevels = 2, .levels = {{1024, 1, 1}, {1024, 1, 1}}},
        {.nlevels = 2, .levels = {{1024, 16, 1}, {576, 3, 1}}},
        {.nlevels = 3, .levels = {{256, 2, 1}, {768, 1, 1}, {6144, 16, 1}}},
        {.nlevels = 3, .levels = {{384, 6, 1}, {1280, 4, 1}, {4928, 7, 1}}},
    };
    unsigned found = 0;
    unsigned all = 0;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        for (uint64_t seed = 1; seed <= 8; seed++) {
            struct carm_hierarchy_config config = cases[i];
            config.cores = 1;
            config.buffers = 1 + (unsigned)seed % 5;
            if (differ(&config, seed * 61 + i, false)) {
                fail_msg("seed %" PRIu64 ", %zu levels, the first %" PRIu64 " bytes in %" PRIu32
                         " ways",
                         seed * 61 + i, config.nlevels, config.levels[0].size_bytes,
                         config.levels[0].ways);
            }
            found += differ(&config, seed * 61 + i, true) > 0;
            all++;
        }
    }
    assert_int_equal(found, all);
}

/* LRU is a stack algorithm (Mattson et al. 1970): a larger fully associative cache has all that a
 * smaller one has. */
static void larger_ones_never_miss_more(void **state)
{
    (void)state;
    uint64_t before = UINT64_MAX;
    for (uint32_t lines = 1; lines <= 256; lines += 1 + lines / 4) {
        const struct carm_hierarchy_config config = {
            .levels = {{lines * UINT64_C(64), lines, 1}}, .nlevels = 1, .cores = 1};
        struct carm_hierarchy *h = start(&config);
        uint64_t seed = 42;
        uint64_t last = 0;
        for (int i = 0; i < 4000; i++) {
            const struct random_access a = draw(&seed, last, 12800, false);
            last = a.address;
            carm_hierarchy_access(h, 0, a.address, a.bytes, a.kind);
        }
        const struct carm_hierarchy_counts c = finish(h);
        assert_true(c.levels[0].fills <= before);
        assert_int_equal(c.levels[0].misses[CARM_MISS_CONFLICT], 0);
        before = c.levels[0].fills;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_the_naive_simulator),
        cmocka_unit_test(larger_ones_never_miss_more),
    };
    return cmocka_run_group_tests_name("hierarchy_random", tests, NULL, NULL);
}
