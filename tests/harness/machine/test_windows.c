/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where repetitions run: pieces of several streams, laps of a stride, states of random lines; and the engine
 * with all of them, its calls seen by a code that only notes them. */
#include <stdatomic.h>

#include "asm/gen.h"
#include "harness/machine/window.h"
#include "tests/harness/machine/machine.h"

enum { EMPTY, COPY, COPY_NT, DOT, TRIAD, FOUR, SIX, JUMP, JUMP_2, RANDOM, MIXED, CODES };
static const char *const names[CODES] = {"empty.scalar.dp",        "A.sse.dp.1:1.u4.s2",
                                         "A.sse.dp.1:1nt.u4.s2",   "C.sse.dp.2:0.mad.u4.f8.c4.s2",
                                         "A.sse.dp.2:1.u4.s3",     "A.sse.dp.update.u8.s4",
                                         "A.sse.dp.2:1.u8.s6",     "A.sse.dp.1:0.u8.j8",
                                         "A.sse.dp.1:0.u8.j2",     "R.sse.dp.u4",
                                         "B.sse.dp.mad.f16.c8.i45"};

static int set_up(void **state)
{
    return open_machine(names, CODES);
}

/* All streams and their padding stay within the set, never overlap, and never share the lowest 12
 * bits of an address; little of a set is lost. */
TEST(streams_share_a_set)
{
    static const uint64_t sets[] = {8192,  8256,  10000,   12288,      16384,
                                    32768, 50000, 3 << 20, 1ULL << 26, (1ULL << 31) - 64};
    static const uint64_t wants[] = {1, 3, 100, 100000};
    static const int codes[] = {COPY, TRIAD, FOUR, SIX};
    for (size_t i = 0; i < 4 * sizeof sets / sizeof *sets; i++) {
        for (size_t k = 0; k < sizeof wants / sizeof *wants; k++) {
            const struct carm_code *code = &image->codes[codes[i % 4]];
            const uint64_t n = code->spec.streams;
            const uint64_t set = sets[i / 4];
            const uint64_t stride = code->account.stride_bytes;
            bool seen[8] = {false};
            struct carm_shape s;
            carm_measure_shape_of(code, set, wants[k], &s);
            const uint64_t each = s.windows * s.window_bytes;
            const uint64_t distance = carm_window_distance(code, &s);
            assert_int_equal(s.window_bytes, s.iterations * stride);
            for (uint64_t stream = 0; stream < n; stream++) {
                const uint64_t place = stream * distance % 4096;
                assert_true(place % 512 == 0 && !seen[place / 512]);
                seen[place / 512] = true;
            }
            assert_true(distance >= each && (n - 1) * distance + each <= set);
            assert_int_equal(carm_window_span(code, &s), (n - 1) * distance + each);
            assert_int_equal(carm_measure_set_bytes(code, &s), n * each);
            /* 6 KiB of padding at most, less than an iteration of each window, and of each stream */
            assert_true(n * each + 6144 + n * stride * (s.windows + 1) > set);
        }
    }
    struct carm_shape least; /* one iteration each, whatever was asked for */
    carm_measure_shape_of(&image->codes[COPY], 1, 7, &least);
    assert_int_equal(least.window_bytes, image->codes[COPY].account.stride_bytes);
    assert_int_equal(carm_window_distance(&image->codes[COPY], &least), 2048);
    assert_int_equal(carm_window_span(&image->codes[COPY], &least), 2048 + least.window_bytes);
}

/* The distance of streams is the largest odd multiple of 2 KiB (of six streams: 512 bytes) that is at most an even
 * share of the set, or the smallest one; each has what the others' distances leave. */
TEST(streams_have_their_share)
{
    static const struct {
        int code;
        uint64_t set, each, distance;
    } rows[] = {{COPY, 2048, 64, 2048},     {COPY, 3072, 1024, 2048},  {COPY, 8192, 2048, 2048},
                {COPY, 11008, 4864, 6144},  {COPY, 12288, 6144, 6144}, {COPY, 16384, 6144, 6144},
                {COPY, 17408, 7168, 10240}, {SIX, 10000, 1536, 1536}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct carm_code *code = &image->codes[rows[i].code];
        struct carm_shape s;
        carm_measure_shape_of(code, rows[i].set, 1000, &s);
        fail_if(s.windows * s.window_bytes != rows[i].each, "row %zu: %llu bytes each", i,
                (unsigned long long)(s.windows * s.window_bytes));
        assert_int_equal(carm_window_distance(code, &s), rows[i].distance);
    }
}

/* A set of ten iterations: as many passes or windows as hold what is wanted. */
TEST(shapes_of_one_stream)
{
    static const struct {
        uint64_t want, iterations, passes, windows;
    } rows[] = {{0, 1, 1, 10},  {1, 1, 1, 10},  {3, 2, 1, 4},   {5, 5, 1, 2},   {9, 5, 1, 2},
                {10, 10, 1, 1}, {11, 10, 2, 1}, {20, 10, 2, 1}, {21, 10, 3, 1}, {95, 10, 10, 1}};
    const struct carm_code *code = &image->codes[JUMP];
    const uint64_t stride = code->account.stride_bytes;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_shape s;
        carm_measure_shape_of(code, 10 * stride + stride / 2, rows[i].want, &s);
        assert_int_equal(s.iterations, rows[i].iterations);
        assert_int_equal(s.passes, rows[i].passes);
        assert_int_equal(s.windows, rows[i].windows);
        assert_int_equal(s.window_bytes, s.iterations * stride);
    }
}

/* A set of less than an iteration is one; a cursor behind a set, of a run on another one, is its begin. */
TEST(sets_have_a_begin)
{
    static char base[1]; /* only addresses are formed */
    const struct carm_code *code = &image->codes[JUMP];
    struct carm_windows w;
    struct carm_shape s;
    carm_measure_shape_of(code, 1, 7, &s);
    assert_int_equal(s.iterations, 1);
    assert_int_equal(s.passes, 7);
    carm_measure_shape_of(code, 10 * code->account.stride_bytes, 1, &s);
    assert_int_equal(s.windows, 10);
    for (uint64_t behind = 0; behind < 3; behind++) {
        carm_windows_begin(&w, code, &s, base, (10 + behind) * s.window_bytes, 1, 0);
        assert_ptr_equal(carm_windows_at(&w), base);
    }
    for (int i = 0; i < 10; i++) {
        carm_windows_next(&w);
    }
    assert_true((uintptr_t)carm_windows_at(&w) ==
                (uintptr_t)base + 64); /* the next lap is a line further */
}

/* SplitMix64 from 0 on. source: Vigna's splitmix64.c, its first four numbers; the lowest bits say how many of the highest
 * are dropped. */
TEST(states_are_of_the_published_generator)
{
    static const uint64_t first[] = {0xe220a8397b1dcdaf, 0x6e789e6aa1b965f4, 0x06c45d188009454f,
                                     0xf88bb8a8724c81ec};
    for (unsigned i = 0; i < 4; i++) {
        assert_true(carm_window_state(0, 0, i + 1, 16) == ((first[i] & ~(uint64_t)63) | 60));
        assert_true(carm_window_state(0, 0, i + 1, 2) == ((first[i] & ~(uint64_t)63) | 63));
    }
    assert_true(carm_window_state(0, 0, 0, 1) == 64);
    assert_true(carm_window_state(0, 1, 0, 16) == carm_window_state(0, 0, 1 << 16, 16));
    assert_true(carm_window_state(1, 0, 1, 16) != carm_window_state(0, 0, 1, 16));
}

TEST(random_sets_are_powers_of_two)
{
    static const uint64_t sets[][2] = {{0, 128},       {127, 128},     {128, 128},
                                       {255, 128},     {256, 256},     {100000, 65536},
                                       {65536, 65536}, {65535, 32768}, {1ULL << 40, 1ULL << 40}};
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        struct carm_shape s;
        carm_measure_shape_of(&image->codes[RANDOM], sets[i][0], 77, &s);
        assert_int_equal(s.window_bytes, sets[i][1]);
        assert_true(s.iterations == 77 && s.passes == 1 && s.windows == 1);
        assert_int_equal(carm_window_span(&image->codes[RANDOM], &s), sets[i][1]);
    }
}

/* One stream is as before. */
TEST(one_stream_has_no_distance)
{
    struct carm_shape s;
    carm_measure_shape_of(&image->codes[JUMP], 100000, 5, &s);
    assert_int_equal(carm_window_distance(&image->codes[JUMP], &s), 0);
    assert_int_equal(carm_window_span(&image->codes[JUMP], &s), s.windows * s.window_bytes);
    assert_int_equal(carm_measure_set_bytes(&image->codes[JUMP], &s), s.windows * s.window_bytes);
    carm_measure_shape_of(&image->codes[MIXED], 100000, 5, &s);
    assert_int_equal(carm_window_span(&image->codes[MIXED], &s), 0);
}

/* As many laps as a stride has lines read every line of the set once; a run that goes on where another one
 * ended goes on with its lap, too. */
TEST(laps_of_a_jump_read_all)
{
    static uint8_t seen[4096];
    static char base[1]; /* only addresses are formed */
    struct carm_shape s;
    struct carm_windows w;
    for (int jump = JUMP; jump <= JUMP_2; jump++) {
        const struct carm_code *code = &image->codes[jump];
        const uint64_t lines = code->spec.stride;
        carm_measure_shape_of(code, sizeof seen * 64, 10, &s);
        assert_true(s.windows > 5);
        memset(seen, 0, sizeof seen);
        uint64_t cursor = 0;
        for (uint64_t n = 0; n < lines * s.windows; n++) {
            if (n % 7 == 0) {
                carm_windows_begin(&w, code, &s, base, cursor, 1, 0);
            }
            assert_int_equal(carm_windows_extra(&w), 0);
            const uint64_t at = (uintptr_t)carm_windows_at(&w) - (uintptr_t)base;
            for (uint64_t i = 0; i < s.iterations; i++) {
                for (uint64_t line = 0; line < 2; line++) { /* of an iteration */
                    const uint64_t k = at / 64 + (2 * i + line) * lines;
                    assert_true(k < s.windows * s.window_bytes / 64);
                    seen[k]++;
                }
            }
            carm_windows_next(&w);
            cursor = carm_windows_cursor(&w);
        }
        for (uint64_t k = 0; k < s.windows * s.window_bytes / 64; k++) {
            assert_int_equal(seen[k], 1);
        }
        assert_int_equal(cursor, 0);
    }
}

static int by_value(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a;
    const uint64_t y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* The lowest bits are as documented, the others differ in every repetition, thread and run. */
TEST(states_differ)
{
    enum { SEEDS = 8, REPS = 100, THREADS = 16, ALL = SEEDS * REPS * THREADS };
    static uint64_t states[ALL];
    size_t n = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        for (uint64_t r = 0; r < REPS; r++) {
            for (unsigned t = 0; t < THREADS; t++) {
                states[n] = carm_window_state(seed, r, t, 1 << 20);
                assert_int_equal(states[n] & 63, 44);
                n++;
            }
        }
    }
    qsort(states, ALL, sizeof *states, by_value);
    for (size_t i = 1; i < ALL; i++) {
        assert_true(states[i] != states[i - 1]);
    }
    assert_int_equal(carm_window_state(1, 2, 3, 2) & 63, 63);
    assert_int_equal(carm_window_state(1, 2, 3, 1ULL << 63) & 63, 1);
}

/* With seed 0, thread n's state of the first repetition is the n-th number of splitmix64 from 0: published test values.
 * source: Vigna, https://prng.di.unimi.it/splitmix64.c; Rosetta Code, "Pseudo-random numbers/Splitmix64" */
TEST(states_are_mixed)
{
    static const uint64_t known[] = {UINT64_C(0xe220a8397b1dcdaf), UINT64_C(0x6e789e6aa1b965f4),
                                     UINT64_C(0x06c45d188009454f), UINT64_C(0xf88bb8a8724c81ec)};
    for (unsigned n = 0; n < 4; n++) {
        assert_int_equal(carm_window_state(0, 0, n + 1, 1 << 20), (known[n] & ~UINT64_C(63)) | 44);
    }
    /* a repetition's numbers are 65536 apart */
    assert_int_equal(carm_window_state(7, 1, 0, 64), carm_window_state(7, 0, 1 << 16, 64));
}

static struct {
    char *window;
    uint64_t iterations, passes, extra;
} calls[1 << 16];
static atomic_size_t ncalls;

static void note_call(void *window, uint64_t iterations, uint64_t passes, uint64_t extra)
{
    const size_t i = atomic_fetch_add(&ncalls, 1);
    if (i < sizeof calls / sizeof *calls) {
        calls[i].window = window;
        calls[i].iterations = iterations;
        calls[i].passes = passes;
        calls[i].extra = extra;
    }
}

/* Runs a code that only notes its calls; the warming lap's come first.
 * returns the shape */
static struct carm_shape note_run(struct carm_team *team, int code, uint64_t set_bytes,
                                  uint64_t want, size_t reps)
{
    struct carm_code noting = image->codes[code];
    struct carm_shape s;
    struct carm_measurement m;
    noting.run = note_call;
    carm_measure_shape_of(&noting, set_bytes, want, &s);
    carm_team_touch(team, carm_window_span(&noting, &s));
    atomic_store(&ncalls, 0);
    carm_measure_run(team, &noting, &s, reps, &m);
    return s;
}

TEST(streams_are_called_in_pieces)
{
    enum { REPS = 200 };
    struct carm_team *team = open_team(1, 2 * MIB, REPS);
    const struct carm_shape s = note_run(team, DOT, MIB, 100, REPS);
    const char *base = team->workers[0].buffer.start;
    const size_t n = atomic_load(&ncalls) < sizeof calls / sizeof *calls
                         ? atomic_load(&ncalls)
                         : sizeof calls / sizeof *calls;
    assert_true(s.windows > 10 && n >= REPS + s.windows); /* all of it was warmed before */
    /* the next run goes on where this one ended */
    assert_int_equal(team->cursor, atomic_load(&ncalls) % s.windows * s.window_bytes);
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(calls[i].extra, carm_window_distance(&image->codes[DOT], &s));
        assert_int_equal(calls[i].iterations, s.iterations);
        assert_ptr_equal(calls[i].window, base + i % s.windows * s.window_bytes);
    }
}

/* Each repetition, of each thread and of each run, begins with another state. */
TEST(random_calls_differ)
{
    enum { REPS = 100 };
    const int threads = topo->cores > 1 ? 2 : 1;
    struct carm_team *team = open_team(threads, 2 * MIB, REPS);
    static uint64_t states[1 << 16];
    size_t n = 0;
    for (int run = 0; run < 2; run++) {
        const struct carm_shape s = note_run(team, RANDOM, 300000, 50, REPS);
        const size_t made = atomic_load(&ncalls);
        assert_int_equal(s.window_bytes, 262144);
        assert_true(made >= (size_t)REPS * (size_t)threads);
        for (size_t i = 0; i < made && n < sizeof states / sizeof *states; i++) {
            assert_int_equal(calls[i].extra & 63, 64 - 12);
            assert_int_equal(calls[i].iterations, 50);
            states[n++] = calls[i].extra;
            if (i == 2000) { /* enough of the warming lap's */
                break;
            }
        }
    }
    qsort(states, n, sizeof *states, by_value);
    for (size_t i = 1; i < n; i++) {
        assert_true(states[i] != states[i - 1]);
    }
}

TEST(real_codes_account_for_all)
{
    const int n = topo->cores > 1 ? 2 : 1;
    struct carm_team *team = open_team(n, 4 * MIB, 200);
    team->patience_seconds = 0.0; /* a run that has waited too long for its cores ends early */
    carm_measure_calibrate(team, &image->codes[EMPTY]);
    for (int code = COPY; code < CODES; code++) {
        const struct carm_account *a = &image->codes[code].account;
        struct carm_shape s;
        struct carm_measurement m;
        carm_measure_shape(team, &image->codes[code], 300000, 20e-6, &s);
        carm_measure_run(team, &image->codes[code], &s, 200, &m);
        const double iterations = (double)s.iterations * (double)s.passes * n;
        assert_near(m.bytes, iterations * (double)(a->load_bytes + a->store_bytes), 0.0);
        assert_near(m.flops, iterations * (double)a->flops, 0.0);
        assert_true(m.seconds.n == 200 || (m.own_share < 1.0 && m.seconds.n > 0));
        assert_true(carm_window_span(&image->codes[code], &s) <= team->workers[0].buffer.touched);
    }
    assert_int_equal(image->codes[RANDOM].account.load_bytes, 4 * 64);
    assert_int_equal(image->codes[JUMP].account.load_bytes, 2 * 64);
}

/* A copy writes all of its second half, and neither the first nor what lies between and behind. */
TEST(copies_write_the_second_half)
{
    for (int code = COPY; code <= COPY_NT; code++) {
        struct carm_team *team = open_team(1, 4 * MIB, 4096);
        struct carm_shape s;
        struct carm_measurement m;
        carm_measure_calibrate(team, &image->codes[EMPTY]);
        carm_team_touch(team, 4 * MIB);
        carm_measure_shape(team, &image->codes[code], 3 * MIB, 1e-6, &s);
        assert_true(s.windows > 2 && s.windows < 4096);
        double *values = team->workers[0].buffer.start;
        for (size_t i = 0; i < 4 * MIB / sizeof *values; i++) { /* shorter probes wrote elsewhere */
            values[i] = 1.0;
        }
        team->cursor = 0;
        carm_measure_run(team, &image->codes[code], &s, s.windows, &m);
        const size_t begin = carm_window_distance(&image->codes[code], &s) / sizeof *values;
        const size_t end = carm_window_span(&image->codes[code], &s) / sizeof *values;
        for (size_t i = 0; i < 4 * MIB / sizeof *values; i++) {
            const bool due = i >= begin && i < end;
            const double wanted =
                due ? carm_gen_constant(CARM_ROW_STORE, (unsigned)((i - begin) % 2)) : 1.0;
            fail_if(values[i] != wanted, "%s: value %zu is %g, not %g", names[code], i, values[i],
                    wanted);
        }
        close_opened();
    }
}

/* Among lines at random and a stream with strides, a search finds one and gives both rates. */
TEST(searches_work)
{
    struct carm_team *team = open_team(1, 4 * MIB, 96);
    const struct carm_code *codes[] = {&image->codes[RANDOM], &image->codes[JUMP],
                                       &image->codes[COPY], &image->codes[DOT]};
    double rates[4] = {0.0};
    carm_measure_calibrate(team, &image->codes[EMPTY]);
    const size_t best = carm_measure_best(team, codes, 4, 2 * MIB, 8e-6, CARM_SEARCH_MEMORY, rates);
    assert_in_range(best, 0, 3);
    for (int i = 0; i < 4; i++) {
        assert_true(rates[i] > 0.0);
    }
}

RUN_TESTS(set_up, NULL)
