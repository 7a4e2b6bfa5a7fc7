/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One figure from rounds, against series whose truth is known: does one build's interval contain
 * what other builds find, is the estimate right beside disturbances, does merging runs help. */
#define OWN_MAIN
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>
#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>

#include "models/rounds.h"
#include "tests/unit.h"

enum {
    MACHINES = 200, /* of each kind */
    BUILDS = 10,    /* of each machine */
    ROUNDS = 16,    /* of each build */
    OCTAVES = 6,    /* processes that make up a 1/f series */
};

static const double day = 86400.0;
static const double truth = 100e9;     /* byte/s */
static const double resolution = 1e-4; /* relative: of the clock */

enum kind {
    WHITE,        /* rounds are independent */
    ONE_SIDED,    /* the same, exponential: delays only add */
    HEAVY_TAILED, /* the same, Student's t with 3 degrees of freedom */
    DRIFT_2S,     /* Ornstein-Uhlenbeck, by correlation time */
    DRIFT_20S,
    DRIFT_200S,
    WALK,       /* random */
    FLICKER,    /* 1/f: Ornstein-Uhlenbeck processes of 1 to 1024 s, equally strong */
    BURST,      /* 2 to 5 consecutive rounds are 10 to 40% slower, and marked */
    BURST_DARK, /* the same, not marked */
    SHARED,     /* half the rate for some seconds at a time, and marked */
    MISMARKED,  /* the same, 5% of the marks are wrong */
    CLOCK,      /* the clock is 6% lower for some seconds; only clock_hz shows it */
    KINDS,
};

/* What is asked of each kind: 90%, unless the drift takes much longer than a build. Little of
 * that can be seen in one build, whatever the rule; then the bound only keeps what is reached. */
static const struct {
    const char *name;
    double coverage; /* least: share of builds whose interval has the median of the others */
    double width;    /* most: half the interval, over the standard deviation between builds */
} wanted[KINDS] = {
    [WHITE] = {"white noise", 0.90, 5.0},
    [ONE_SIDED] = {"one-sided noise", 0.90, 5.0},
    [HEAVY_TAILED] = {"heavy-tailed noise", 0.90, 5.0},
    [DRIFT_2S] = {"drift within 2 s", 0.90, 8.0},
    [DRIFT_20S] = {"drift within 20 s", 0.90, 5.0},
    [DRIFT_200S] = {"drift within 200 s", 0.60, 5.0},
    [WALK] = {"random walk", 0.30, 5.0},
    [FLICKER] = {"1/f noise", 0.85, 5.0},
    [BURST] = {"bursts, marked", 0.90, 5.0},
    [BURST_DARK] = {"bursts, not marked", 0.90, 5.0},
    [SHARED] = {"two states", 0.90, 5.0},
    [MISMARKED] = {"two states, 5% marked wrong", 0.90, 5.0},
    [CLOCK] = {"lower clock", 0.90, 5.0},
};

struct machine {
    enum kind kind;
    double sd; /* relative: of the noise or drift */
    bool own;  /* a core has it for itself */
    double now;
    double walk;
    double octave[OCTAVES]; /* standard deviation 1 */
    bool shared;
};

static gsl_rng *rng;

static double uniform(double from, double to)
{
    return from + (to - from) * gsl_rng_uniform(rng);
}

static struct machine machine(enum kind kind)
{
    /* private resources scatter by some 0.2%, shared ones by some per cent */
    struct machine m = {.kind = kind, .sd = exp(uniform(log(0.002), log(0.03)))};
    m.own = m.sd < 0.006;
    for (int i = 0; i < OCTAVES; i++) {
        m.octave[i] = gsl_ran_gaussian(rng, 1.0);
    }
    return m;
}

/* Ornstein-Uhlenbeck, exact for any step */
static void drift(double *x, double seconds, double correlation)
{
    const double kept = exp(-seconds / correlation);
    *x = *x * kept + gsl_ran_gaussian(rng, sqrt(1.0 - kept * kept));
}

static void wait(struct machine *m, double seconds)
{
    static const double flicker[OCTAVES] = {1.0, 4.0, 16.0, 64.0, 256.0, 1024.0};
    static const double single[] = {2.0, 20.0, 200.0};
    m->now += seconds;
    m->walk += gsl_ran_gaussian(rng, 0.1 * sqrt(seconds));
    for (int i = 0; i < OCTAVES; i++) {
        const bool one = m->kind >= DRIFT_2S && m->kind <= DRIFT_200S;
        drift(&m->octave[i], seconds, one ? single[m->kind - DRIFT_2S] : flicker[i]);
    }
    const double change = m->shared ? 1.0 - exp(-seconds / 4.0) : 1.0 - exp(-seconds / 6.0);
    m->shared ^= gsl_rng_uniform(rng) < change;
}

/* deviation of a round that nothing disturbs, in standard deviations */
static double noise(const struct machine *m)
{
    double sum = 0.0;
    switch (m->kind) {
    case ONE_SIDED:
        return -gsl_ran_exponential(rng, 1.0);
    case HEAVY_TAILED:
        return gsl_ran_tdist(rng, 3.0);
    case DRIFT_2S:
    case DRIFT_20S:
    case DRIFT_200S:
        return m->octave[0];
    case WALK:
        return m->walk;
    case FLICKER:
        for (int i = 0; i < OCTAVES; i++) {
            sum += m->octave[i] / sqrt(OCTAVES);
        }
        return sum;
    default:
        return gsl_ran_gaussian(rng, 1.0);
    }
}

static void build(struct machine *m, struct carm_round *rounds)
{
    const size_t length = 2 + gsl_rng_uniform_int(rng, 4);
    const size_t from = gsl_rng_uniform_int(rng, ROUNDS + 1 - length);
    const double slower = uniform(0.1, 0.4);
    for (size_t i = 0; i < ROUNDS; i++) {
        struct carm_round *r = &rounds[i];
        wait(m, uniform(0.5, 1.5));
        const double quiet = truth * fmax(1.0 + m->sd * noise(m), 0.01);
        *r = (struct carm_round){quiet, 3e9 * uniform(0.998, 1.002), m->now, CARM_STATE_QUIET};
        const bool within = i >= from && i < from + length;
        if (within && (m->kind == BURST || m->kind == BURST_DARK)) {
            r->rate *= 1.0 - slower;
            r->state = m->kind == BURST ? CARM_STATE_SHARED : CARM_STATE_QUIET;
        } else if (within && m->kind == CLOCK) {
            r->rate *= 0.94;
            r->clock_hz *= 0.94;
        } else if (m->kind == SHARED || m->kind == MISMARKED) {
            const bool wrong = m->kind == MISMARKED && gsl_rng_uniform(rng) < 0.05;
            r->rate *= m->shared ? 0.5 : 1.0;
            r->state = m->shared != wrong ? CARM_STATE_SHARED : CARM_STATE_QUIET;
        }
    }
}

static double median(double *values, size_t n)
{
    gsl_sort(values, 1, n);
    return gsl_stats_median_from_sorted_data(values, 1, n);
}

static bool contains(struct carm_ci ci, double value)
{
    return ci.lo <= value && value <= ci.hi;
}

static double half(const struct carm_pooled *e)
{
    return (e->ci95.hi - e->ci95.lo) / 2.0;
}

TEST(interval_contains_other_builds)
{
    int missed = 0;
    print_message("%-28s covers  sound  half/rate  half/sd  sd/rate\n", "");
    for (int k = 0; k < KINDS; k++) {
        size_t covered = 0;
        size_t sound = 0;
        double widths[MACHINES];
        double relative[MACHINES];
        double scatter[MACHINES];
        gsl_rng_set(rng, 100 + (unsigned long)k);
        for (size_t i = 0; i < MACHINES; i++) {
            struct machine m = machine((enum kind)k);
            struct carm_pooled e[BUILDS];
            double rates[BUILDS];
            double halves[BUILDS];
            size_t n = 0;
            for (size_t b = 0; b < BUILDS; b++) {
                struct carm_round rounds[ROUNDS];
                wait(&m, uniform(120.0, 600.0));
                build(&m, rounds);
                carm_rounds_estimate(rounds, ROUNDS, !m.own, resolution, &e[n]);
                if (e[n].sound) { /* else carm goes on measuring */
                    rates[n] = e[n].rate;
                    halves[n] = half(&e[n]);
                    n++;
                }
            }
            assert_true(n > 2);
            for (size_t b = 0; b < n; b++) {
                double others[BUILDS];
                memcpy(others, rates, b * sizeof *rates);
                memcpy(others + b, rates + b + 1, (n - b - 1) * sizeof *rates);
                covered += contains(e[b].ci95, median(others, n - 1));
            }
            sound += n;
            scatter[i] = gsl_stats_sd(rates, 1, n) / truth;
            relative[i] = median(halves, n) / truth;
            widths[i] = relative[i] / scatter[i];
        }
        const double coverage = (double)covered / (double)sound;
        const double width = median(widths, MACHINES);
        print_message("%-28s %5.1f%% %5.1f%% %9.2f%% %8.1f %7.2f%%\n", wanted[k].name,
                      100.0 * coverage, 100.0 * (double)sound / (MACHINES * BUILDS),
                      100.0 * median(relative, MACHINES), width, 100.0 * median(scatter, MACHINES));
        missed += coverage < wanted[k].coverage || width > wanted[k].width;
    }
    assert_int_equal(missed, 0);
}

static struct machine calm(enum kind kind, double sd)
{
    struct machine m = machine(kind);
    m.sd = sd;
    m.own = sd < 0.02;
    return m;
}

static void shuffle(struct carm_round *rounds, size_t n)
{
    gsl_ran_shuffle(rng, rounds, n, sizeof *rounds);
}

/* Three quiet rounds are enough, wherever they are and whatever the others are. */
TEST(few_quiet_rounds_suffice)
{
    gsl_rng_set(rng, 1);
    for (size_t quiet = CARM_ROUNDS_MIN; quiet <= ROUNDS; quiet++) {
        for (int marked = 0; marked < 2; marked++) {
            for (int i = 0; i < 50; i++) {
                struct machine m = calm(WHITE, 0.002);
                struct carm_round rounds[ROUNDS];
                build(&m, rounds);
                shuffle(rounds, ROUNDS);
                for (size_t r = quiet; r < ROUNDS; r++) {
                    /* even one that seems faster does not count in a bad state */
                    rounds[r].rate *= marked ? uniform(0.4, 1.2) : 0.85;
                    if (marked) {
                        rounds[r].state = (enum carm_state)(
                            CARM_STATE_SLOW +
                            gsl_rng_uniform_int(rng, CARM_STATE_COUNT - CARM_STATE_SLOW));
                    }
                }
                shuffle(rounds, ROUNDS);
                struct carm_pooled e;
                carm_rounds_estimate(rounds, ROUNDS, true, resolution, &e);
                assert_near(e.rate, truth, 0.01 * truth);
                assert_true(e.sound);
                assert_int_equal(e.state, CARM_STATE_QUIET);
                assert_int_equal(e.n, ROUNDS);
                assert_true(marked ? e.used == quiet : e.used <= quiet);
                assert_true(e.used >= CARM_ROUNDS_MIN);
                assert_true(e.range.lo >= 0.98 * truth && e.range.hi <= 1.02 * truth);
            }
        }
    }
}

/* A core's own rates repeat: rounds that an unseen neighbour slowed by some per cent each do not count, and
 * do not widen the interval. */
TEST(slowed_rounds_of_a_core_do_not_count)
{
    gsl_rng_set(rng, 4);
    for (int i = 0; i < 200; i++) {
        struct machine m = calm(WHITE, 0.002);
        struct carm_round rounds[ROUNDS];
        struct carm_pooled own;
        struct carm_pooled shared;
        build(&m, rounds);
        for (size_t r = 0; r < ROUNDS / 3; r++) {
            rounds[r].rate *= uniform(0.86, 0.96);
        }
        shuffle(rounds, ROUNDS);
        for (size_t r = 0; r < ROUNDS; r++) {
            rounds[r].at = (double)r;
        }
        carm_rounds_estimate(rounds, ROUNDS, false, resolution, &own);
        carm_rounds_estimate(rounds, ROUNDS, true, resolution, &shared);
        assert_true(own.sound);
        assert_near(own.rate, truth, 0.003 * truth);
        assert_true(half(&own) < 0.03 * truth);
        assert_true(own.used <= ROUNDS - ROUNDS / 3 && shared.used >= own.used);
    }
}

/* What a core has for itself: two sound rounds that agree make a figure among whatever others; one does not, and
 * a faster one that nothing confirms is left out. */
TEST(agreeing_rounds_of_a_core_suffice)
{
    gsl_rng_set(rng, 6);
    for (int i = 0; i < 200; i++) {
        struct carm_round rounds[ROUNDS];
        struct carm_pooled e;
        for (size_t r = 0; r < ROUNDS; r++) { /* a neighbour that some rounds did not see */
            rounds[r] = (struct carm_round){truth * uniform(0.5, 0.9), 3e9, (double)r,
                                            r % 4 ? CARM_STATE_SHARED : CARM_STATE_QUIET};
        }
        rounds[2] = (struct carm_round){truth, 3e9, 2.0, CARM_STATE_QUIET};
        rounds[9] = (struct carm_round){0.996 * truth, 3e9, 9.0, CARM_STATE_QUIET};
        rounds[13] = (struct carm_round){1.1 * truth, 3e9, 13.0, CARM_STATE_QUIET};
        carm_rounds_estimate(rounds, ROUNDS, false, resolution, &e);
        assert_true(e.sound);
        assert_int_equal(e.used, 2);
        assert_near(e.rate, 0.998 * truth, 1e-6 * truth);
        assert_near(half(&e), 0.01 * e.rate, 1e-6 * truth);
        for (size_t r = 0; r < ROUNDS; r++) {
            rounds[r].state = rounds[r].rate == truth ? CARM_STATE_QUIET : CARM_STATE_SHARED;
        }
        carm_rounds_estimate(rounds, ROUNDS, false, resolution, &e);
        assert_false(e.sound);
    }
}

/* carm with nice beside a busy process: no round is sound. Three of the fastest that agree make a figure, as each is a
 * median of repetitions between interruptions; threads that share a core are slowed alike, so that theirs does not. */
TEST(agreeing_interrupted_rounds_suffice)
{
    struct carm_round rounds[ROUNDS];
    struct carm_pooled e;
    for (size_t r = 0; r < ROUNDS; r++) {
        const double rate =
            r % 5 == 1 ? truth * (1.0 - 0.001 * (double)(r % 3)) : truth * (0.6 + 0.02 * (double)r);
        rounds[r] = (struct carm_round){rate, 3e9, (double)r, CARM_STATE_HELD_UP};
    }
    rounds[4].state = CARM_STATE_STOLEN;
    carm_rounds_estimate(rounds, ROUNDS, false, resolution, &e);
    assert_true(e.sound && e.used >= 3);
    assert_near(e.rate, truth, 0.003 * truth);
    assert_near(half(&e), 0.01 * e.rate, 1e-6 * truth);
    carm_rounds_estimate(rounds, ROUNDS, true, resolution, &e); /* others may have made them slow */
    assert_false(e.sound);
    for (size_t r = 0; r < ROUNDS; r++) {
        rounds[r].state = CARM_STATE_SHARED;
    }
    carm_rounds_estimate(rounds, ROUNDS, false, resolution, &e);
    assert_false(e.sound);
    for (size_t r = 0; r < ROUNDS; r++) { /* no three agree */
        rounds[r] = (struct carm_round){truth * (0.5 + 0.03 * (double)r), 3e9, (double)r,
                                        CARM_STATE_HELD_UP};
    }
    carm_rounds_estimate(rounds, ROUNDS, false, resolution, &e);
    assert_false(e.sound);
}

/* One mode is not taken for two: on average, the estimate is the median of all rounds to a tenth of
 * the noise's standard deviation. */
TEST(one_mode_is_kept)
{
    static const enum kind kinds[] = {WHITE, HEAVY_TAILED, ONE_SIDED, DRIFT_20S, FLICKER};
    enum { TIMES = 1000 };
    gsl_rng_set(rng, 2);
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        for (size_t n = CARM_ROUNDS_MIN; n <= ROUNDS; n += n < 6 ? 1 : 5) {
            double shift[TIMES];
            double first[TIMES];
            for (size_t i = 0; i < TIMES; i++) {
                struct machine m = calm(kinds[k], i % 2 ? 0.05 : 0.005);
                struct carm_round rounds[ROUNDS];
                double all[ROUNDS];
                build(&m, rounds);
                for (size_t r = 0; r < n; r++) {
                    all[r] = rounds[r].rate;
                }
                first[i] = (all[0] - truth) / m.sd;
                struct carm_pooled e;
                carm_rounds_estimate(rounds, n, !m.own, resolution, &e);
                shift[i] = (e.rate - median(all, n)) / m.sd;
            }
            const double bias = gsl_stats_mean(shift, 1, TIMES) / gsl_stats_sd(first, 1, TIMES);
            /* the fastest that agree are nearer to what a core can do alone: 0.15% at sd 0.5% */
            fail_if(bias < -0.1 || bias > 0.35, "%s, %zu rounds: biased by %.2f sd",
                    wanted[kinds[k]].name, n, bias);
        }
    }
}

/* quiet rounds of one rate and clock, a second apart */
static void equal(struct carm_round *rounds, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        rounds[i] = (struct carm_round){truth, 3e9, (double)i, CARM_STATE_QUIET};
    }
}

TEST(equal_rates_give_the_floor)
{
    struct carm_pooled e = {.rate = 5.0};
    carm_rounds_estimate(NULL, 0, true, 0.0, &e);
    assert_near(e.rate, 5.0, 0.0); /* untouched */
    for (size_t n = 1; n <= ROUNDS; n++) {
        struct carm_round rounds[ROUNDS];
        equal(rounds, n);
        carm_rounds_estimate(rounds, n, true, 0.01, &e);
        assert_near(e.rate, truth, 0.0);
        assert_near(e.ci95.lo, 0.99 * truth, 1.0);
        assert_near(e.ci95.hi, 1.01 * truth, 1.0);
        assert_near(e.range.lo, truth, 0.0);
        assert_near(e.range.hi, truth, 0.0);
        assert_near(e.clock_hz, 3e9, 0.0);
        assert_int_equal(e.used, n);
        assert_int_equal(e.n, n);
        assert_int_equal(e.sound, n >= CARM_ROUNDS_MIN);
        assert_int_equal(e.state, CARM_STATE_QUIET);
    }
}

/* The latest rounds of the best state count, not the latest rounds. */
TEST(more_rounds_than_are_used)
{
    enum { MANY = 3 * CARM_ROUNDS_MAX };
    struct carm_round rounds[MANY];
    equal(rounds, MANY);
    for (size_t i = 0; i < MANY; i++) {
        rounds[i].rate *= i < 40 ? 0.99 : 1.0;
        rounds[i].state = i < 2 * CARM_ROUNDS_MAX ? CARM_STATE_QUIET : CARM_STATE_SHARED;
    }
    gsl_rng_set(rng, 3);
    shuffle(rounds, MANY);
    struct carm_pooled e;
    carm_rounds_estimate(rounds, MANY, true, resolution, &e);
    assert_int_equal(e.n, MANY);
    assert_int_equal(e.used, CARM_ROUNDS_MAX);
    assert_near(e.range.lo, truth, 0.0); /* the first 40 are the oldest */
    assert_true(e.sound);
    for (size_t i = 1; i < MANY; i++) {
        assert_true(rounds[i - 1].at < rounds[i].at);
    }
}

enum { RUNS = 7 };

/* A second run and more do not widen the interval of a machine whose days are alike, and it
 * contains the truth. Where days differ, it grows to contain other days. */
TEST(merged_runs)
{
    static const enum kind kinds[] = {WHITE,      HEAVY_TAILED, DRIFT_2S, BURST,
                                      BURST_DARK, SHARED,       CLOCK,    DRIFT_200S};
    static const size_t runs[] = {1, 2, 3, 4, RUNS};
    enum { COUNTS = sizeof runs / sizeof *runs, TIMES = 200 };
    int missed = 0;
    print_message("%-28s half/rate and coverage of 1, 2, 3, 4, 7 runs\n", "");
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        double halves[COUNTS][TIMES];
        size_t covered[COUNTS] = {0};
        gsl_rng_set(rng, 4);
        for (size_t i = 0; i < TIMES; i++) {
            struct machine m = calm(kinds[k], 0.01);
            struct carm_round rounds[RUNS * ROUNDS];
            for (size_t r = 0; r < RUNS; r++) {
                wait(&m, day * uniform(0.9, 2.0));
                build(&m, rounds + r * ROUNDS);
            }
            for (size_t c = 0; c < COUNTS; c++) {
                struct carm_pooled e;
                carm_rounds_estimate(rounds, runs[c] * ROUNDS, true, resolution, &e);
                halves[c][i] = half(&e) / truth;
                covered[c] += !e.sound || contains(e.ci95, truth);
            }
        }
        print_message("%-28s", wanted[kinds[k]].name);
        double single = 0.0;
        for (size_t c = 0; c < COUNTS; c++) {
            const double width = median(halves[c], TIMES);
            const double coverage = (double)covered[c] / TIMES;
            print_message("  %5.2f%% %3.0f%%", 100.0 * width, 100.0 * coverage);
            single = c == 0 ? width : single;
            if (kinds[k] == DRIFT_200S) {
                missed += c >= 2 && coverage < 0.9;
            } else {
                missed += width > 1.02 * single || coverage < 0.9;
            }
        }
        print_message("\n");
    }
    assert_int_equal(missed, 0);
}

/* A bad day among others leaves the figure as it is: all of its rounds marked, none, or some. */
TEST(bad_day_changes_nothing)
{
    gsl_rng_set(rng, 5);
    for (size_t runs = 2; runs <= RUNS; runs++) {
        for (size_t bad = 0; bad < runs; bad++) {
            for (size_t unmarked = 0; unmarked <= ROUNDS; unmarked += 4) {
                struct machine m = calm(WHITE, 0.003);
                struct carm_round all[RUNS * ROUNDS];
                struct carm_round good[RUNS * ROUNDS];
                size_t kept = 0;
                for (size_t r = 0; r < runs; r++) {
                    wait(&m, day);
                    build(&m, all + r * ROUNDS);
                    for (size_t i = 0; i < ROUNDS; i++) {
                        struct carm_round *round = &all[r * ROUNDS + i];
                        if (r == bad) {
                            round->rate *= 0.5;
                            round->state = i < unmarked ? CARM_STATE_QUIET : CARM_STATE_SHARED;
                        } else {
                            good[kept++] = *round;
                        }
                    }
                }
                struct carm_pooled with;
                struct carm_pooled without;
                const size_t n = runs * ROUNDS;
                carm_rounds_estimate(good, kept, true, resolution, &without);
                carm_rounds_estimate(all, n, true, resolution, &with);
                assert_true(with.sound);
                assert_near(with.rate, truth, 0.01 * truth);
                if (n <= CARM_ROUNDS_MAX) { /* else unmarked ones take the place of the oldest */
                    assert_near(with.rate, without.rate, 0.0);
                    assert_near(half(&with), half(&without), 1e-9 * truth);
                    assert_int_equal(with.used, without.used);
                }
            }
        }
    }
}

/* A clock that goes from 2.3 to 2.9 GHz within a build, rates that repeat per cycle within 0.5%: the figure is at the median
 * clock, and sound. source: rounds of A.avx512.dp.2:1.u8.p256 in L2 on a guest of Emerald Rapids, 2026-11-26 */
TEST(rates_are_per_cycle_where_the_clock_wanders)
{
    static const double clocks[] = {2.9e9, 2.3e9, 2.5e9, 2.7e9, 2.3e9, 2.8e9, 2.4e9, 2.6e9};
    enum { N = sizeof clocks / sizeof *clocks };
    double copy[N], steady[N];
    struct carm_round rounds[N];
    struct carm_pooled pooled;
    for (size_t i = 0; i < N; i++) {
        copy[i] = clocks[i];
        steady[i] = 2.7e9 * (1.0 + 0.004 * (double)(i % 2));
        rounds[i] =
            (struct carm_round){.rate = 36.4 *
                                        (i == 3   ? 0.8
                                         : i == 5 ? 1.004
                                                  : 1.0) *
                                        clocks[i],
                                .clock_hz = clocks[i],
                                .at = (double)i,
                                .state = i < 4 || i == 5 ? CARM_STATE_QUIET : CARM_STATE_SHARED};
    }
    assert_near(carm_rounds_wandering(steady, N), 0.0, 0.0);
    assert_near(carm_rounds_wandering(copy, N - 1), 0.0, 0.0);
    const double clock = carm_rounds_wandering(copy, N);
    assert_near(clock, 2.55e9, 1.0);
    struct carm_round again[N];
    memcpy(again, rounds, sizeof again);
    carm_rounds_estimate_at(again, N, false, 0.0, clock, &pooled);
    assert_true(pooled.sound);
    assert_near(pooled.rate, 36.4 * 2.55e9, 0.005 * 36.4 * 2.55e9);
    assert_near(pooled.clock_hz, 2.55e9, 1.0);
    /* memory has a clock of its own: its rates stay, and no round is slow or unsteady */
    memcpy(again, rounds, sizeof again);
    again[1].state = CARM_STATE_UNSTEADY;
    carm_rounds_estimate_at(again, N, true, 0.0, clock, &pooled);
    assert_near(pooled.range.hi, 36.4 * 2.9e9, 1e-3);
    assert_int_equal(pooled.used, 5);
    /* at one clock most of these are slow */
    memcpy(again, rounds, sizeof again);
    carm_rounds_estimate(again, N, false, 0.0, &pooled);
    assert_int_equal(again[1].state, CARM_STATE_SLOW);
}

/* Rounds a second apart from "rate" or "2*rate", then a letter of its state, ":clock" and "@time" of the first. */
static size_t read_rounds(const char *text, struct carm_round *rounds)
{
    size_t n = 0;
    double at = 0.0;
    char *end = NULL;
    for (; *text; text = end + strspn(end, " ")) {
        double rate = strtod(text, &end), times = 1.0, clock = 0.0;
        enum carm_state state = CARM_STATE_QUIET;
        if (*end == '*') {
            times = rate;
            rate = strtod(end + 1, &end);
        }
        if (*end >= 'a' && *end <= 'z') {
            const char letter = *end++;
            state = letter == 'a'   ? CARM_STATE_APART
                    : letter == 'u' ? CARM_STATE_UNSTEADY
                    : letter == 'h' ? CARM_STATE_HELD_UP
                    : letter == 'o' ? CARM_STATE_ONE_CORE
                    : letter == 't' ? CARM_STATE_TOO_FAST
                    : letter == 'l' ? CARM_STATE_SLOW
                                    : CARM_STATE_SHARED;
        }
        clock = *end == ':' ? strtod(end + 1, &end) : clock;
        at = *end == '@' ? strtod(end + 1, &end) : at;
        for (; times > 0.0; times--) {
            rounds[n++] = (struct carm_round){rate, clock, at++, state};
        }
    }
    return n;
}

/* "rate interval (range) used of n in runs at a clock: state", * sound. */
TEST(figures_in_words)
{
    static const struct {
        const char *rounds;
        bool shared;
        double floor, clock;
        const char *told;
    } cases[] = {
        {"100", true, 0, 0, "100 100..100 (100..100) 1 of 1 in 1 at 0: quiet"},
        {"100 102", true, 0, 0, "101 83.0307..118.969 (100..102) 2 of 2 in 1 at 0: quiet"},
        {"100 102 101", true, 0, 0, "101 97.4869..104.513 (100..102) 3 of 3 in 1 at 0: quiet*"},
        {"100 101 101", true, 0, 0,
         "101 97.9576..104.042 (100..101) 3 of 3 in 1 at 0: quiet*"}, /* alike neighbours: half as much again */
        {"100 101 99 102 98 100 101.5 98.5 100.5 99.5 100 101", true, 0.001, 0,
         "100 99.4374..100.563 (98..102) 12 of 12 in 1 at 0: quiet*"},
        {"100 100.5 101 101.5 102 102.5 103 103.5", true, 0, 0,
         "101.75 84.319..119.181 (100..103.5) 8 of 8 in 1 at 0: quiet*"}, /* they drift */
        {"100 101 102 103 104 104 103 102 101 100 99 98 97 98 99 100", true, 0, 0,
         "100.5 70.5613..130.439 (97..104) 16 of 16 in 1 at 0: quiet*"},
        /* two runs, three, and those of less than three rounds or ten minutes apart */
        {"100 101 99 100 102 103@900 101 104 102 103", true, 0, 0,
         "101.5 95.8373..107.163 (99..104) 10 of 10 in 2 at 0: quiet*"},
        {"100 101 99 102@601.5 103 104 101@1300 101 102", true, 0, 0,
         "101 96.4921..105.508 (99..104) 9 of 9 in 2 at 0: quiet*"},
        {"100 101 99 102@900 103 104 101@1900 101 102", true, 0, 0,
         "101 95.6336..106.366 (99..104) 9 of 9 in 3 at 0: quiet*"},
        {"100 101 99 102@603.5 103 104", true, 0, 0,
         "101.5 90.8494..112.151 (99..104) 6 of 6 in 2 at 0: quiet*"},
        {"100 101 102@900 103 104 103", true, 0, 0,
         "102.5 81.1515..123.848 (100..104) 6 of 6 in 1 at 0: quiet*"},
        {"100 101 99 103@900 104", true, 0, 0,
         "101 92.9804..109.02 (99..104) 5 of 5 in 1 at 0: quiet*"},
        /* two modes: by 2% at least, and by the scatter of the upper one: 22.3 x 0.5 x 1.15 = 12.9 */
        {"3*98.1 3*100", true, 0, 0, "99.05 89.1759..108.924 (98.1..100) 6 of 6 in 1 at 0: quiet*"},
        {"3*97.9 3*100", true, 0, 0, "100 100..100 (100..100) 3 of 6 in 1 at 0: quiet*"},
        {"3*89 100.5 100 99.5", true, 0, 0,
         "94.25 41.9688..146.531 (89..100.5) 6 of 6 in 1 at 0: quiet*"},
        {"3*86 100.5 100 99.5", true, 0, 0,
         "100 95.6086..104.391 (99.5..100.5) 3 of 6 in 1 at 0: quiet*"},
        {"2*98 95 100 90 92 102 85", true, 0, 0,
         "96.5 88.9802..104.02 (85..102) 8 of 8 in 1 at 0: quiet*"},
        {"3*50 3*97.9 3*100", true, 0, 0, "100 100..100 (100..100) 3 of 9 in 1 at 0: quiet*"},
        /* far below the others: 16% of a shared resource, 3% of a core's own */
        {"100 99 98 97 96 95 94 92 90 88 86 84 82 80", true, 0, 0,
         "94.5 18.6202..170.38 (84..100) 12 of 14 in 1 at 0: quiet*"},
        {"100 97 94 91 88 85 82 79", true, 0, 0,
         "92.5 14.0606..170.939 (85..100) 6 of 8 in 1 at 0: quiet*"},
        {"100 99.6 99.2 98.8 98.4 98 97.6 97.2 96.8 96.4 96 95.6 95.2", false, 0, 0,
         "99.8 98.802..100.798 (99.6..100) 2 of 13 in 1 at 0: quiet*"},
        {"100 99.6 99.2 98.8 98.4 98 97.6", false, 0, 0,
         "99.8 98.802..100.798 (99.6..100) 2 of 7 in 1 at 0: quiet*"},
        /* of a core's own, those that agree within half a per cent */
        {"90 92 100 94 99.6 96 88", false, 0, 0,
         "99.8 98.802..100.798 (99.6..100) 2 of 7 in 1 at 0: quiet*"},
        {"90 92 100 94 99.4 96 88", false, 0, 0,
         "94 84.6527..103.347 (88..100) 7 of 7 in 1 at 0: quiet*"},
        {"100 99.8", false, 0, 0, "99.9 98.901..100.899 (99.8..100) 2 of 2 in 1 at 0: quiet*"},
        {"100 90 80s 81s 82s", false, 0, 0,
         "100 81..119 (100..100) 1 of 5 in 1 at 0: core shared with another hardware thread"},
        {"100 90s 91s 92s", false, 0, 0,
         "100 91..109 (100..100) 1 of 4 in 1 at 0: core shared with another hardware thread"},
        {"90s 92s 100 94s 99s", false, 0, 0,
         "100 93..107 (100..100) 1 of 5 in 1 at 0: core shared with another hardware thread"},
        {"90s 92s 91s 89s", false, 0, 0,
         "90.5 87.1106..93.8894 (89..92) 4 of 4 in 1 at 0: core shared with another hardware thread"},
        {"100h 99.8h 99.6h 80h 70s", false, 0, 0,
         "99.8 98.802..100.798 (99.6..100) 3 of 5 in 1 at 0: preempted*"},
        {"100h 99.8h 90h 80h 70s", false, 0, 0,
         "94.9 16.4279..173.372 (80..100) 4 of 5 in 1 at 0: preempted"},
        {"3*100a 3*99", false, 0, 0,
         "100 100..100 (100..100) 3 of 6 in 1 at 0: threads on two core complexes*"},
        /* the L1 of one thread of an Emerald Rapids beside other guests, which only slow: one round was quiet */
        {"318s 340s 458 340s 298s 298s 477u", false, 0, 0,
         "458 318..598 (458..458) 1 of 7 in 1 at 0: core shared with another hardware thread"},
        {"318s 340s 458 340s 298s 298s 477u", true, 0, 0,
         "318 233.675..402.325 (298..340) 5 of 7 in 1 at 0: core shared with another hardware thread"},
        /* too few rounds: of all; the fastest of bad states; two are too few; of sound states the faster one */
        {"40s 80", true, 0, 0,
         "60 0.06..419.386 (40..80) 2 of 2 in 1 at 0: core shared with another hardware thread"},
        {"90h 3*50o 90h 3*50o 90h 3*50o 90h 3*50o", true, 1e-4, 0,
         "90 89.991..90.009 (90..90) 4 of 16 in 1 at 0: preempted"},
        {"90 3*50o 90 3*50o 90h 3*50o 90h 3*50o", true, 1e-4, 0,
         "50 49.995..50.005 (50..50) 12 of 16 in 1 at 0: threads on one core"},
        {"110a 100 110a 100 110a 100 100", true, 1e-4, 0,
         "110 109.989..110.011 (110..110) 3 of 7 in 1 at 0: threads on two core complexes*"},
        {"90a 100 90a 100 90a 100 100", true, 1e-4, 0,
         "100 99.99..100.01 (100..100) 4 of 7 in 1 at 0: quiet*"},
        /* a misread clock makes rounds too fast, and no figure while another state has enough of them */
        {"3*90h 13*150t", true, 1e-4, 0, "90 89.991..90.009 (90..90) 3 of 16 in 1 at 0: preempted"},
        /* clocks: slow ones, unknown ones, one misread; and rates at one clock */
        {"100:3 90:2.8 100 100:3.4 90s:2.8 11*100:3", true, 1e-4, 0,
         "100 99.99..100.01 (100..100) 14 of 16 in 1 at 3: quiet*"},
        {"3*100:3 90:2.9 85:2.92", true, 0, 0, "100 100..100 (100..100) 3 of 5 in 1 at 3: quiet*"},
        {"100:3 96:2.88 50:1.5 33:1 66u:2", false, 0, 3,
         "100 99..101 (99..100) 4 of 5 in 1 at 3: quiet*"},
        {"100:3 96:2.88 50:1.5 33 66u:2", true, 0, 3,
         "66 0.066..214.727 (33..100) 5 of 5 in 1 at 3: quiet*"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_round rounds[CARM_ROUNDS_MAX];
        struct carm_pooled e;
        char text[160];
        const size_t n = read_rounds(cases[i].rounds, rounds);
        carm_rounds_estimate_at(rounds, n, cases[i].shared, cases[i].floor, cases[i].clock, &e);
        (void)snprintf(text, sizeof text, "%.6g %.6g..%.6g (%g..%g) %zu of %zu in %zu at %g: %s%s",
                       e.rate, e.ci95.lo, e.ci95.hi, e.range.lo, e.range.hi, e.used, e.n, e.runs,
                       e.clock_hz, carm_state_name(e.state), e.sound ? "*" : "");
        assert_string_equal(text, cases[i].told);
    }
}

TEST(states_have_names)
{
    for (int s = 0; s < CARM_STATE_COUNT; s++) {
        assert_true(strlen(carm_state_name((enum carm_state)s)) > 0);
        assert_int_equal(carm_state_is_sound((enum carm_state)s), s <= CARM_STATE_APART);
    }
}

int main(void)
{
    rng = gsl_rng_alloc(gsl_rng_mt19937);
    const int failed = run_suite(NULL, NULL);
    gsl_rng_free(rng);
    return failed;
}
