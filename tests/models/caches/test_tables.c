/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of lines against plain arrays, on random orders of additions and removals. */
#include "models/caches/linemap.h"
#include "models/caches/lru.h"
#include "tests/models/random.h"
#include "tests/unit.h"

enum { KEYS = 24, WIDTH = 3 };

/* Few keys in few places, so that probe sequences are long, wrap around, and have gaps in them. */
TEST(a_map_is_an_array)
{
    uint64_t seed = 7;
    for (unsigned bits = 5; bits <= 8; bits++) {
        struct carm_linemap t;
        bool there[KEYS + 1] = {false};
        uint64_t words[KEYS + 1][WIDTH] = {{0}};
        assert_true(carm_linemap_open(&t, bits, WIDTH));
        for (int step = 0; step < 20000; step++) {
            const uint64_t key = 1 + next_random(&seed) % (bits < 7 ? 15 : KEYS);
            if (next_random(&seed) % 2) {
                uint64_t *w = carm_linemap_add(&t, key);
                assert_non_null(w);
                for (int k = 0; k < WIDTH; k++) {
                    assert_int_equal(w[k], there[key] ? words[key][k] : 0);
                    words[key][k] = w[k] = next_random(&seed);
                }
                there[key] = true;
            } else {
                carm_linemap_erase(&t, key);
                there[key] = false;
            }
            uint64_t used = 0;
            for (uint64_t i = 1; i <= KEYS; i++) {
                const uint64_t *w = carm_linemap_find(&t, i);
                assert_int_equal(w != NULL, there[i]);
                assert_true(!w || memcmp(w, words[i], sizeof words[i]) == 0);
                used += there[i];
            }
            assert_int_equal(t.used, used);
            assert_int_equal(t.bits, bits); /* 15 or 24 keys are less than half */
        }
        carm_linemap_close(&t);
    }
}

/* It grows where half of it would be used, and keeps all. */
TEST(a_map_grows)
{
    struct carm_linemap t;
    assert_true(carm_linemap_open(&t, 2, 1));
    for (uint64_t key = 1; key <= 1000; key++) {
        const unsigned bits = t.bits;
        const bool full = 2 * key >= UINT64_C(1) << bits;
        assert_int_equal(carm_linemap_full(&t), full);
        *carm_linemap_add(&t, key << 40) = key;
        assert_int_equal(t.bits, bits + full);
        *carm_linemap_add(&t, key << 40) += 1; /* again: no new one */
        assert_int_equal(t.used, key);
        assert_int_equal(carm_linemap_bytes(&t), UINT64_C(16) << t.bits);
    }
    for (uint64_t key = 1; key <= 1000; key++) {
        assert_int_equal(*carm_linemap_find(&t, key << 40), key + 1);
    }
    assert_null(carm_linemap_find(&t, 5));
    carm_linemap_erase(&t, 5);
    assert_int_equal(t.used, 1000);
    carm_linemap_close(&t);
}

/* The reference: lines by time of use, the latest first. */
TEST(a_cache_forgets_the_eldest)
{
    for (uint64_t lines = 1; lines <= 20; lines += 1 + lines / 3) {
        struct carm_lru s = {0};
        uint64_t held[32], seed = 3;
        size_t n = 0;
        assert_true(carm_lru_open(&s, lines));
        for (int step = 0; step < 20000; step++) {
            const uint64_t line = next_random(&seed) % (lines + lines / 2 + 2);
            size_t at = 0;
            while (at < n && held[at] != line) {
                at++;
            }
            const bool removes = next_random(&seed) % 5 == 0;
            if (removes) {
                carm_lru_remove(&s, line);
            } else {
                assert_int_equal(carm_lru_touch(&s, line), at < n);
            }
            if (at < n) {
                memmove(&held[at], &held[at + 1], (n - at - 1) * sizeof *held);
                n--;
            }
            if (!removes) {
                n -= n == lines ? 1 : 0;
                memmove(&held[1], &held[0], n * sizeof *held);
                held[0] = line;
                n++;
            }
        }
        carm_lru_close(&s);
    }
}
