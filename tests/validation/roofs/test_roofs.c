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
    check(3, 20, 19.5, 30, 0, NULL);                      /* within the slack */
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
    series[0].n = series[1].n = 1; /* a round is a figure */
    carm_build_pool_roof(&r.roofs[0], &clock);
    assert_int_equal(r.roofs[0].pooled.n, 1);
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

CLOSED_BY(carm_model_free)

/* A build of one set of one thread, whose roofs and curve F(phi) go into a model. */
static struct {
    struct carm_build_config config;
    struct carm_build_plan plan;
    struct carm_cpu cpu;
    struct carm_observer observer;
    struct carm_model *model;
    struct carm_winners winners;
    struct carm_code codes[12];
    struct carm_series series[12];
    struct carm_build_roof roofs[12];
    uint64_t place;
    struct carm_build_job job;
} b;

static void open_job(void)
{
    memset(&b, 0, sizeof b);
    open_rules(-1, 1, 1, 1);
    b.model = closed_later(by_carm_model_free, calloc(1, sizeof *b.model));
    assert_non_null(b.model);
    b.config = (struct carm_build_config){.isas = {CARM_SSE, CARM_AVX2},
                                          .nisas = 2,
                                          .precisions = {CARM_DP, CARM_SP},
                                          .nprecisions = 2,
                                          .machine = "Zen 4",
                                          .found = &b.winners};
    b.cpu.isa[CARM_SSE] = true;
    r.build.config = &b.config;
    r.build.plan = &b.plan;
    r.build.cpu = &b.cpu;
    r.build.clock = &tsc;
    r.build.observer = &b.observer;
    r.build.adds = true;
    r.build.reps = 16;
    r.sets[0].team = team;
    r.sets[0].places = &b.place;
    b.job = (struct carm_build_job){
        .build = &r.build, .sets = r.sets, .nsets = 1, .model = b.model, .roofs = b.roofs};
}

/* A roof of the set, of SSE and double precision, with rounds of one rate */
static struct carm_build_roof *add_job_roof(int level, const struct carm_mix *mix, double rate)
{
    const size_t i = b.job.n++;
    struct carm_series *s = &b.series[i];
    (void)snprintf(b.codes[i].name, sizeof b.codes[i].name, "A.sse.dp.2:1.u%zu", i + 1);
    *s = (struct carm_series){.code = &b.codes[i], .n = CARM_ROOF_SETTLED};
    b.codes[i].spec.op = CARM_FMA;
    if (mix) {
        b.codes[i].spec = (struct carm_code_spec){.kind = CARM_KIND_A, .mix = *mix};
    }
    b.roofs[i] = (struct carm_build_roof){.set = &r.sets[0],
                                          .isa = CARM_SSE,
                                          .precision = CARM_DP,
                                          .memory = level >= 0,
                                          .level = level >= 0 ? (size_t)level : 0,
                                          .mix = mix,
                                          .op = CARM_FMA,
                                          .series = s,
                                          .nseries = 1,
                                          .pooled = {.rate = rate,
                                                     .ci95 = {rate, rate},
                                                     .clock_hz = 1e9 + (double)i,
                                                     .n = 16,
                                                     .sound = true}};
    return &b.roofs[i];
}

/* Which roofs a model has, which of them tells memory's peak, and which rates are not to be relied on. */
TEST(results_reach_the_model)
{
    static const struct carm_mix loads = {.loads = 1}, both = {.loads = 2, .stores = 1},
                                 update = {.loads = 1, .stores = 1, .update = true},
                                 past = {.stores = 1, .nontemporal = true};
    need_a_machine();
    open_job();
    add_job_roof(0, &both, 400);
    add_job_roof(3, &loads, 20);
    add_job_roof(3, &both, 99); /* the lines that it stores may be read or not */
    add_job_roof(3, &update, 30);
    add_job_roof(3, &past, 28);
    add_job_roof(2, &loads, 90);
    add_job_roof(3, &loads, 200)->pooled.n = 0;
    add_job_roof(-1, NULL, 500);
    add_job_roof(-1, NULL, 1)->isa = CARM_AVX2;  /* not of this CPU */
    add_job_roof(-1, NULL, 1)->set = &r.sets[1]; /* not of the job's sets */
    add_job_roof(-1, NULL, 600)->precision = CARM_SP;
    assert_ok(carm_build_add_results(&b.job, &err));
    assert_int_equal(b.model->nroofs, 2);
    assert_int_equal(b.model->nflop_curves, 0);
    const struct carm_roofs *of = b.model->roofs;
    assert_int_equal(of->nmemory, 6);
    assert_int_equal(of->ncompute, 1);
    assert_int_equal(of->threads, 1);
    assert_string_equal(of->isa, "sse");
    assert_string_equal(of->precision, "dp");
    assert_string_equal(of->cpus, "0");
    assert_string_equal(of->place, "core:0");
    assert_string_equal(of->memory[0].level, "L1");
    assert_string_equal(of->memory[1].level, "DRAM");
    assert_near(of->dram_peak.bandwidth, 30, 0);
    assert_string_equal(of->dram_peak.code, "A.sse.dp.2:1.u4");
    assert_near(of->clock_hz, 1e9 + 3, 0); /* the median of 0 to 5 and 7 */
    assert_near(of->core_to_core_seconds, 0, 0);
    assert_near(of[1].compute[0].rate, 600, 0);
    assert_int_equal(of[1].nmemory, 0);
}

/* Why a roof is doubtful: what its note says. */
TEST(doubtful_results_are_marked)
{
    static const struct carm_mix loads = {.loads = 1};
    static const char over[] =
        "the time for comparing codes was over: another may be faster (give more with --budget)";
    static const char few[] =
        "fewer than 6 sound rounds, and mixtures have faster and slower schedules";
    static const struct {
        const char *rule, *note;
        double high; /* of the interval around 100, beside 100 */
        size_t quiet, alike;
        enum carm_op op;
        bool memory, unsearched, known, unsound, marked;
        enum carm_state state;
    } cases[] = {
        {"", "", 101, 6, 0, CARM_FMA, false, false, false, false, false, CARM_STATE_QUIET},
        {"slower than", "slower than", 101, 6, 0, CARM_FMA, false, false, false, false, true,
         CARM_STATE_QUIET},
        {"", over, 101, 6, 0, CARM_FMA, true, true, false, false, true, CARM_STATE_QUIET},
        {"", "", 101, 6, 0, CARM_FMA, true, true, true, false, false, CARM_STATE_QUIET},
        {"", few, 101, 5, 0, CARM_FMA_ADD, false, false, false, false, true, CARM_STATE_QUIET},
        {"", "", 101, 5, 1, CARM_FMA_ADD, false, false, false, false, false, CARM_STATE_QUIET},
        {"", "", 101, 5, 0, CARM_FMA_ADD, true, false, false, false, false, CARM_STATE_QUIET},
        {"", "", 101, 5, 0, CARM_FMA, false, false, false, false, false, CARM_STATE_QUIET},
        {"", "its rounds differ by 50%", 150, 6, 0, CARM_FMA, false, true, false, false, true,
         CARM_STATE_QUIET},
        {"", "threads on two core complexes", 101, 6, 0, CARM_FMA, true, false, false, false, false,
         CARM_STATE_APART},
        {"", "its rounds differ by 50%", 150, 6, 0, CARM_FMA, true, false, false, false, true,
         CARM_STATE_APART},
        {"slower than", "measured while threads shared cores: expect up to twice as much", 101, 6,
         0, CARM_FMA, true, false, false, true, true, CARM_STATE_ONE_CORE},
    };
    need_a_machine();
    open_job();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_build_roof *of =
            add_job_roof(cases[i].memory ? 1 : -1, cases[i].memory ? &loads : NULL, 100);
        for (size_t k = cases[i].quiet; k < of->series->n; k++) {
            of->series->rounds[k].state = CARM_STATE_SHARED;
        }
        (void)snprintf(of->note, sizeof of->note, "%s", cases[i].rule);
        of->op = cases[i].op;
        of->alike = cases[i].alike;
        of->unsearched = cases[i].unsearched;
        of->series->known = cases[i].known;
        of->pooled.ci95.hi = of->pooled.range.hi = cases[i].high;
        of->pooled.range.lo = 100;
        of->pooled.sound = !cases[i].unsound;
        of->pooled.state = cases[i].state;
    }
    assert_ok(carm_build_add_results(&b.job, &err));
    const struct carm_roofs *of = b.model->roofs;
    for (size_t i = 0, m = 0, c = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *note = cases[i].memory ? of->memory[m].note : of->compute[c].note;
        const bool marked = cases[i].memory ? of->memory[m].disturbed : of->compute[c].disturbed;
        m += cases[i].memory;
        c += !cases[i].memory;
        fail_if(strcmp(note, cases[i].note) != 0 || marked != cases[i].marked, "case %zu: %s", i,
                note);
    }
}

/* A code of a search is kept from a gain of 0.5% on, where its figure is to be relied on, and no number of threads gained more. */
TEST(winners_of_a_search)
{
    static const struct carm_mix both = {.loads = 2, .stores = 1};
    static const struct {
        double gain;
        bool wins;
    } cases[] = {{1.005, true}, {1.0049, false}, {1.02, true}, {1.01, true}};
    struct carm_winner w;
    need_a_machine();
    open_job();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_build_roof *of = add_job_roof(i ? 1 : 0, &both, 100);
        of->gain = cases[i].gain;
        assert_true(carm_build_roof_winner(of, &w) == cases[i].wins);
    }
    for (int how = 0; how < 4; how++) {
        struct carm_build_roof *of = add_job_roof(how ? 2 : -1, how ? &both : NULL, 100);
        of->gain = 1.1;
        of->usual = how == 1 ? of->series->code : NULL;
        of->pooled.n = how == 2 ? 0 : 16;
        of->pooled.sound = how != 3;
        assert_false(carm_build_roof_winner(of, &w));
    }
    (void)snprintf(b.model->machine.cpu, sizeof b.model->machine.cpu, "A CPU");
    assert_ok(carm_build_add_results(&b.job, &err));
    assert_int_equal(b.winners.n, 2);
    assert_string_equal(b.winners.items[0].level, "L1");
    assert_string_equal(b.winners.items[0].machine, "Zen 4");
    assert_string_equal(b.winners.items[1].code, "A.sse.dp.2:1.u3"); /* 1.02 of 1.02 and 1.01 */
    assert_near(b.winners.items[1].gain, 1.02, 0);
    assert_memory_equal(b.winners.items[1].source, "A CPU, 1 thread, 20", 19);
    assert_int_equal(strlen(b.winners.items[1].source), 27); /* with the day */
    carm_winners_close(&b.winners);
}

/* F(phi) is the fastest code's of the first ISA and precision: passes of its loop, twice as many each time. */
TEST(flops_of_the_fastest_code)
{
    need_a_machine();
    open_job();
    r.build.adds = false;
    add_job_roof(-1, NULL, 500);
    add_job_roof(-1, NULL, 900)->precision = CARM_SP;
    add_job_roof(-1, NULL, 700)->op = CARM_MAD;
    b.series[2].code = &image->codes[FP];
    add_job_roof(-1, NULL, 600);
    add_job_roof(-1, NULL, 800)->pooled.n = 0;
    assert_ok(carm_build_add_results(&b.job, &err));
    assert_int_equal(b.model->nflop_curves, 1);
    struct carm_curve *drawn = b.model->flop_curves;
    assert_string_equal(drawn->kind, "mad");
    assert_true(drawn->npoints > 4 && drawn->threads == 1);
    const double flops = (double)image->codes[FP].account.flops;
    for (size_t i = 0; i < drawn->npoints; i++) { /* points too short to time are left out */
        const double passes = drawn->points[i].x / flops;
        assert_near(log2(passes), round(log2(passes)), 0);
        assert_true(i ? drawn->points[i].x > drawn->points[i - 1].x : passes >= 1);
        assert_true(drawn->points[i].value > 0);
    }
    assert_near(drawn->points[drawn->npoints - 1].x / drawn->points[drawn->npoints - 2].x, 2, 0);
}

RUN_TESTS(set_up, tear_down)
