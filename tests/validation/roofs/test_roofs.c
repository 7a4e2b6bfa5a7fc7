/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The rules that roofs of several numbers of threads must keep, on planted rates; and series of rounds on
 * this machine, with planted states. */
#include <time.h>

#include "asm/code.h"
#include "tests/topo.h"
#include "validation/roofs/roofs.h"

static const char machine[] = "pack:1 numa:1 l3:1(size=33554432) core:4 l2:1(size=1048576) "
                              "l1:1(size=49152) pu:2";

struct rules {
    struct carm_topo *topo;
    struct carm_build build;
    struct carm_team team;
    /* 1, 4 and 8 threads: one core, all cores, all hardware threads */
    struct carm_build_set sets[3];
    struct carm_mix mix;
    struct carm_build_roof roofs[3];
};
static struct rules r;

/* One roof with each number of threads. level: 3 memory, -1 a peak */
static void open_rules(int level, double one, double four, double eight)
{
    static const int threads[] = {1, 4, 8};
    const double rates[] = {one, four, eight};
    memset(&r, 0, sizeof r);
    r.topo = topo_of(machine, NULL);
    r.build.topo = r.topo;
    r.mix = (struct carm_mix){.loads = 2, .stores = 1};
    for (int i = 0; i < 3; i++) {
        struct carm_build_set *s = &r.sets[i];
        *s = (struct carm_build_set){.build = &r.build, .threads = threads[i], .team = &r.team};
        s->levels.n = 4;
        for (int l = 0; l < 4; l++) {
            (void)snprintf(s->levels.levels[l].name, CARM_NAME_MAX, l < 3 ? "L%d" : "DRAM", l + 1);
        }
        r.roofs[i] = (struct carm_build_roof){.set = s,
                                              .memory = level >= 0,
                                              .level = level >= 0 ? (size_t)level : 0,
                                              .mix = &r.mix,
                                              .op = CARM_FMA,
                                              .pooled = {.rate = rates[i],
                                                         .ci95 = {rates[i], rates[i]},
                                                         .clock_hz = 1e9,
                                                         .n = 16,
                                                         .used = 16,
                                                         .sound = true}};
    }
}

static void check(int level, double one, double four, double eight, size_t at, const char *note)
{
    open_rules(level, one, four, eight);
    const size_t broken = carm_build_check_roofs(r.roofs, 3);
    fail_if(broken != (note ? 1 : 0), "level %d, %g %g %g: %zu break a rule: %s%s%s", level, one,
            four, eight, broken, r.roofs[0].note, r.roofs[1].note, r.roofs[2].note);
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(r.roofs[i].note, note && i == at ? note : "");
    }
}

TEST(threads_with_cores_of_their_own)
{
    check(-1, 100, 400, 420, 0, NULL);
    check(-1, 100, 395, 400, 0, NULL); /* within the slack */
    check(0, 100, 390, 400, 0, NULL);
    check(-1, 100, 390, 400, 1,
          "98% of 4 times what 1 thread reaches, although each has a core for itself: expect 1.03 "
          "times as much");
    check(-1, 100, 200, 400, 1,
          "50% of 4 times what 1 thread reaches, although each has a core for itself: expect 2.00 "
          "times as much");
    check(0, 100, 200, 400, 1,
          "50% of 4 times what 1 thread reaches, although each has a core for itself: expect 2.00 "
          "times as much");
    check(-1, 100, 386, 400, 1,
          "96% of 4 times what 1 thread reaches, although each has a core for itself: expect 1.04 "
          "times as much");
    check(1, 50, 400, 400, 0, "4 threads reach 100% more each: expect as much of fewer");
    check(2, 100, 200, 200, 0, NULL);                     /* a shared cache need not scale ... */
    check(3, 20, 18, 30, 1, "slower than with 1 thread"); /* ... but more threads are not slower */
    check(-1, 100, 400, 300, 2, "slower than with 4 threads");
}

/* At another clock a core does as much less; that breaks no rule. */
TEST(rules_are_per_cycle)
{
    open_rules(-1, 100, 320, 330);
    r.roofs[1].pooled.clock_hz = 0.8e9;
    assert_int_equal(carm_build_check_roofs(r.roofs, 3), 0);
}

/* Threads that never have a core each are not held to it, but to one thread's rate. */
TEST(paired_threads_need_not_scale)
{
    open_rules(-1, 100, 200, 400);
    for (int i = 0; i < 12; i++) {
        carm_paired_note(&r.team.paired, 4, false);
    }
    assert_int_equal(carm_build_check_roofs(r.roofs, 3), 0);
    r.roofs[1].pooled.rate = 90;
    assert_int_equal(carm_build_check_roofs(r.roofs, 3), 1);
    assert_string_equal(r.roofs[1].note, "slower than with 1 thread");
}

/* Rounds of another number of threads confirm a rate within 1% per core, and no other. */
TEST(equal_rates_confirm)
{
    open_rules(-1, 100, 402, 420);
    r.roofs[0].pooled.used = 4;
    carm_build_check_roofs(r.roofs, 3);
    assert_int_equal(r.roofs[0].alike, 16);
    assert_int_equal(r.roofs[1].alike, 4);
    assert_int_equal(r.roofs[2].alike, 0); /* two threads to a core */
    r.roofs[1].pooled.rate = 392;
    carm_build_check_roofs(r.roofs, 3);
    assert_int_equal(r.roofs[0].alike, 0);
    r.roofs[1].pooled.rate = 402;
    r.roofs[1].pooled.sound = false;
    carm_build_check_roofs(r.roofs, 3);
    assert_int_equal(r.roofs[0].alike, 0);
}

/* A figure of one round is held to the rules; a roof that was not measured is not. */
TEST(one_round_is_a_figure)
{
    for (size_t rounds = 0; rounds < 2; rounds++) {
        for (size_t of = 0; of < 2; of++) {
            open_rules(-1, 100, 200, 400);
            r.roofs[of].pooled.n = rounds;
            assert_int_equal(carm_build_check_roofs(r.roofs, 2), rounds);
        }
    }
}

static struct carm_topo *topo;
static struct carm_clock tsc;
static struct carm_image *image;
static struct carm_team *team;
static char why_not[600]; /* "" when real runs are possible */

enum { EMPTY, FP, LOADS };

static int set_up(void **state)
{
    static const char *const names[] = {"empty", "B.sse.dp.mad.f48.c8", "A.sse.dp.2:1.u8"};
    struct carm_code_spec specs[3];
    err = (struct carm_err){""};
    specs[EMPTY] = (struct carm_code_spec){.kind = CARM_KIND_EMPTY, .units = 1};
    int rc = carm_topo_open(&topo, NULL, NULL, &err);
    rc = rc ? rc : carm_clock_open(&tsc, &err);
    for (size_t i = FP; i <= LOADS && !rc; i++) {
        rc = carm_code_parse(names[i], &specs[i], &err);
    }
    rc = rc ? rc : carm_image_open(&image, specs, 3, &err);
    rc = rc ? rc : carm_team_open(&team, topo, &tsc, 1, (size_t)4 << 20, 2048, &err);
    if (rc == 0) {
        carm_measure_calibrate(team, &image->codes[EMPTY]);
    } else if (rc == -CARM_ENOTSUP) { /* no nasm, no usable TSC, no right to pin */
        (void)snprintf(why_not, sizeof why_not, "%s", err.text);
        rc = 0;
    } else {
        print_message("%s\n", err.text);
    }
    return rc;
}

static int tear_down(void **state)
{
    carm_team_close(team);
    carm_image_close(image);
    carm_topo_close(topo);
    return 0;
}

static void need_a_machine(void)
{
    skip_if(why_not[0], "%s", why_not);
}

TEST(rounds_are_noted)
{
    struct carm_series s;
    struct carm_measurement m;
    struct carm_pooled pooled;
    need_a_machine();
    for (int code = FP; code <= LOADS; code++) {
        carm_series_open(&s, team, &image->codes[code], 16384, 6e-6, code == LOADS);
        carm_series_estimate(&s, &tsc, &pooled);
        assert_int_equal(pooled.n, 0);
        for (size_t i = 0; i < CARM_ROUNDS_MAX + 3; i++) {
            carm_series_round(&s, team, 16, &m);
        }
        assert_int_equal(s.n, CARM_ROUNDS_MAX);
        assert_near(s.work, code == FP ? m.flops : m.bytes, 0.0);
        assert_near(s.rounds[s.n - 1].rate, s.work / m.seconds.median, 1e-9 * s.rounds[0].rate);
        for (size_t i = 1; i < s.n; i++) {
            assert_true(s.rounds[i - 1].at <= s.rounds[i].at);
        }
        assert_true(s.spread.min <= s.spread.p5 && s.spread.p5 <= s.spread.p95 &&
                    s.spread.p95 <= s.spread.max);
        carm_series_estimate(&s, &tsc, &pooled);
        assert_true(pooled.n == CARM_ROUNDS_MAX && pooled.rate > 0.0);
        assert_true(pooled.ci95.lo < pooled.rate && pooled.rate < pooled.ci95.hi);
    }
}

/* The code of one thread's L2 is compared with four threads' own, once; that of memory, which they share, is not. */
TEST(codes_of_fewer_threads_are_compared)
{
    static struct carm_series series[2][CARM_ROOF_CODES];
    need_a_machine();
    for (int level = 1; level <= 3; level += 2) {
        open_rules(level, 100, 400, 400);
        for (int i = 0; i < 2; i++) {
            r.sets[i].team = team;
            r.roofs[i].series = series[i];
            r.roofs[i].nseries = 1;
            carm_series_open(&series[i][0], team, &image->codes[i ? FP : LOADS], 16384, 6e-6,
                             false);
        }
        carm_build_share_code(r.roofs, 2, &r.roofs[1]);
        carm_build_share_code(r.roofs, 2, &r.roofs[1]);
        assert_int_equal(r.roofs[1].nseries, level == 1 ? 2 : 1);
        assert_ptr_equal(series[1][0].code, &image->codes[FP]);
        if (level == 1) {
            assert_ptr_equal(series[1][1].code, &image->codes[LOADS]);
        }
    }
}

/* n rounds of a core that looks shared. The machine's own processes may preempt a round, which is repeated then. */
static void shared_rounds(struct carm_series *s, size_t n)
{
    const size_t end = s->n + n;
    for (int tries = 0; s->n < end; tries++) {
        assert_true(tries < 1000);
        carm_series_round(s, team, 64, NULL);
        if (s->rounds[s->n - 1].state == CARM_STATE_HELD_UP) {
            s->n--;
        } else {
            assert_int_equal(s->rounds[s->n - 1].state, CARM_STATE_SHARED);
        }
    }
}

/* A stand-in for the probe's reference: cores that were seen twice as wide as any. A series that was
 * quiet before keeps its figure; one that never was says what it saw. */
TEST(a_shared_core_is_named)
{
    struct carm_series s;
    struct carm_series never;
    struct carm_pooled pooled;
    need_a_machine();
    carm_series_open(&s, team, &image->codes[FP], 0, 6e-6, false);
    never = s;
    for (int i = 0; i < 4; i++) {
        carm_series_round(&s, team, 64, NULL);
        s.rounds[i] = (struct carm_round){.rate = 1e15, .clock_hz = 3e9, .at = i};
    }
    struct carm_widths *seen = &team->workers[0].seen_alone;
    const struct carm_widths before = *seen;
    for (int i = 0; i < 1000; i++) {
        carm_widths_add(seen, 15.0);
    }
    shared_rounds(&s, 4);
    shared_rounds(&never, 4);
    *seen = before;
    carm_series_estimate(&s, &tsc, &pooled);
    assert_true(pooled.rate == 1e15 && pooled.sound && pooled.used == 4 && pooled.n == 8);
    carm_series_estimate(&never, &tsc, &pooled);
    assert_true(!pooled.sound && pooled.state == CARM_STATE_SHARED && pooled.rate < 1e15);
    /* rounds of an earlier build, before the first of this one: an interval all the same */
    s.work = 0.0;
    carm_series_estimate(&s, &tsc, &pooled);
    assert_true(pooled.rate == 1e15 && isfinite(pooled.ci95.hi));
}

/* Memory that drifts by half: code 1 is 4% faster than code 0 beside it in every round, but lost a round in which
 * memory was fast. */
TEST(codes_are_compared_beside_one_another)
{
    static const double drift[] = {10, 15, 14, 9, 13, 11, 12};
    enum { ROUNDS = sizeof drift / sizeof *drift };
    struct carm_series series[2] = {{.shared = true}, {.shared = true}};
    const struct carm_clock clock = {.tsc_hz = 1e9};
    open_rules(3, 1, 1, 1);
    r.roofs[0].series = series;
    r.roofs[0].nseries = 2;
    for (size_t i = 0; i < ROUNDS; i++) {
        for (size_t k = 0; k < 2; k++) {
            series[k].work = 1.0;
            series[k].rounds[series[k].n++] = (struct carm_round){
                .rate = drift[i] * (k ? 1.04 : 1.0), .at = 10.0 * (double)i + 0.1 * (double)k};
        }
    }
    series[1].rounds[1].state = CARM_STATE_SHARED;
    series[1].rounds[2].state = CARM_STATE_SHARED;
    series[1].rounds[4].state = CARM_STATE_SHARED;
    assert_near(carm_series_ratio(&series[1], &series[0]), 1.04, 1e-12);
    carm_build_pool_roof(&r.roofs[0], &clock);
    assert_int_equal(r.roofs[0].best, 1);
    series[0].known = true; /* by more than a code of the model before has in hand */
    carm_build_pool_roof(&r.roofs[0], &clock);
    assert_int_equal(r.roofs[0].best, 1);
    for (size_t i = 0; i < ROUNDS; i++) { /* a run of another time: as their figures are */
        series[1].rounds[i].at += 1000.0;
    }
    assert_near(carm_series_ratio(&series[1], &series[0]), 0.0, 0.0);
    carm_build_pool_roof(&r.roofs[0], &clock);
    assert_int_equal(r.roofs[0].best, 0);
    series[1].n = 2;
    assert_near(carm_series_ratio(&series[1], &series[0]), 0.0, 0.0);
}

TEST(repetitions_come_in_rounds)
{
    static const struct {
        size_t reps, rounds, each;
    } cases[] = {{16, 4, 4}, {100, 4, 25}, {1024, 8, 128}, {8192, 16, 512}, {8193, 16, 513}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t each = 0;
        assert_int_equal(carm_rounds_of(cases[i].reps, &each), cases[i].rounds);
        assert_int_equal(each, cases[i].each);
    }
}

RUN_TESTS(set_up, tear_down)
