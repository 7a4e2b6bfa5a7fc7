/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A timed run of a code, and rates of accesses, by a planted counter. */
#include <sys/mman.h>

#include "tests/counter.h"
#include "tests/unit.h"
#include "validation/latency/latency.h"

enum { KEPT = 8 };

static struct {
    double ticks, looks[KEPT]; /* ticks of each run of the code */
    double ratios[KEPT];
    size_t nratios;
    uint64_t iterations, mask;
} seen;

static double counter_now(void)
{
    return seen.ticks;
}

double carm_clock_ratio(double overhead, int imul_cycles)
{
    assert_true(overhead == 40.0 && imul_cycles == 3);
    return seen.ratios[seen.nratios++];
}

static void run_code(void *window, uint64_t iterations, uint64_t mask)
{
    seen.ticks += 1040.0;
    seen.iterations = iterations;
    seen.mask = mask;
}

/* The ticks of the code alone, times the higher one of two readings of the clock; seconds by the counter. */
TEST(cycles_are_those_of_the_higher_clock)
{
    const struct carm_clock clock = {.tsc_hz = 2e9, .imul_cycles = 3};
    struct carm_team team = {.clock = &clock};
    const struct carm_worker worker = {.team = &team, .clock_overhead = 40.0};
    const struct carm_chain code = {.run = run_code};
    for (size_t higher = 0; higher < 2; higher++) {
        double seconds = 0.0;
        memset(&seen, 0, sizeof seen);
        seen.ticks = 1e9;
        seen.ratios[higher] = 1.5;
        seen.ratios[1 - higher] = 1.25;
        counter_plant(counter_now);
        const double cycles = carm_latency_cycles(&worker, &code, NULL, 7, 9, &seconds);
        const double again = carm_latency_cycles(&worker, &code, NULL, 7, 9, NULL);
        counter_plant(NULL);
        assert_near(cycles, 1500.0, 0.0);
        assert_near(again, 0.0, 0.0); /* no clock was planted for it */
        assert_near(seconds, 500e-9, 0.0);
        assert_true(seen.iterations == 7 && seen.mask == 9 && seen.nratios == 4);
    }
}

/* Loads leave words as they are, stores write how many are left, updates add one; nothing else is touched. */
TEST(passes_touch_their_words)
{
    enum { N = 5, STRIDE = 24 };
    for (int how = CARM_PASS_LOADS; how <= CARM_PASS_UPDATES; how++) {
        uint64_t words[N * STRIDE / 8 + 1];
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            words[i] = 100 + i;
        }
        carm_latency_pass((char *)words, N, STRIDE, (enum carm_latency_pass)how);
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            const bool in = i % 3 == 0 && i / 3 < N;
            assert_int_equal(words[i], !in || how == CARM_PASS_LOADS ? 100 + i
                                       : how == CARM_PASS_STORES     ? N - i / 3
                                                                     : 101 + i);
        }
    }
}

/* A rate is the median; where a latency is given, lines in flight are by it, else one access at a time. */
TEST(rates_are_added)
{
    struct carm_in_flight flights[3] = {{.rate = 0.0}};
    struct carm_model m = {.in_flight = flights, .nin_flight = 1};
    for (size_t i = 0; i < 2; i++) {
        double rates[] = {5e6, 1e6, 4e6, 2e6, 3e6};
        const struct carm_in_flight as = {.level = "L2",
                                          .code = "a code",
                                          .page_bytes = 4096,
                                          .working_set_bytes = 77,
                                          .latency_seconds = i ? 1e-6 : 0.0};
        assert_ok(carm_latency_add_rate(&m, &as, rates, 5, &err));
        assert_int_equal(m.nin_flight, 2 + i);
        const struct carm_in_flight *f = &flights[1 + i];
        assert_string_equal(f->level, "L2");
        assert_string_equal(f->code, "a code");
        assert_true(f->page_bytes == 4096 && f->working_set_bytes == 77);
        assert_near(f->rate, 3e6, 0.0);
        assert_near(f->latency_seconds, i ? 1e-6 : 1.0 / 3e6, 1e-20);
        assert_near(f->lines, i ? 3.0 : 1.0, 1e-12);
        assert_true(f->ci95.lo <= 3e6 && f->ci95.lo >= 1e6 && f->ci95.hi >= 3e6 &&
                    f->ci95.hi <= 5e6);
        assert_true(f->chains == 1 && f->npoints == 1 && f->points[0].chains == 1 && !f->disturbed);
        assert_near(f->points[0].rate, 3e6, 0.0);
        assert_near(f->points[0].ci95.lo, f->ci95.lo, 0.0);
        assert_near(f->points[0].ci95.hi, f->ci95.hi, 0.0);
        free(f->points);
    }
    assert_near(flights[0].rate, 0.0, 0.0);
}
