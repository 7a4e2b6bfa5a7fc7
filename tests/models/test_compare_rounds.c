/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models from rounds against a baseline: pairs of models of one machine that drifts, and machines that
 * became slower. How many alarms are false, and which drops are found. Nothing is measured. */
#define OWN_MAIN
#include <gsl/gsl_randist.h>
#include <gsl/gsl_rng.h>

#include "models/compare.h"
#include "tests/unit.h"

enum { LEVELS = 4, MIXES = 4, OPS = 5, SETS = 2, ROUNDS = 16 }; /* 44 roofs with the DRAM peaks */

static const char *const level_names[LEVELS] = {"L1", "L2", "L3", "DRAM"};
static gsl_rng *rng;

/* Rounds scatter by that share: least and most of a roof. As on a virtual machine with neighbours. */
static const double scatter[LEVELS][2] = {{0.003, 0.01}, {0.003, 0.01}, {0.05, 0.05}, {0.08, 0.08}};

enum drift {
    NO_DRIFT,
    BY_ROOF,  /* half of the scatter between builds, each roof by itself */
    BY_LEVEL, /* the same, all roofs of a level and number of threads together */
    STATES, /* rounds that scatter little while neighbours' traffic moves memory by 3% from build to build */
    DRIFTS,
};

struct machine {
    struct carm_model model;
    struct carm_level levels[LEVELS];
    struct carm_roofs roofs[SETS];
    struct carm_memory_roof memory[SETS][LEVELS * MIXES];
    struct carm_compute_roof compute[SETS][OPS];
    struct carm_round rounds[SETS][LEVELS * MIXES + OPS][ROUNDS];
};

static double uniform(double from, double to)
{
    return from + (to - from) * gsl_rng_uniform(rng);
}

/* What of the machine stays from build to build. */
struct truth {
    double scatter[SETS][LEVELS * MIXES + OPS];
};

static struct truth draw_truth(void)
{
    struct truth t;
    for (size_t s = 0; s < SETS; s++) {
        for (size_t i = 0; i < LEVELS * MIXES + OPS; i++) {
            const double *range = scatter[i < LEVELS * MIXES ? i / MIXES : 0];
            t.scatter[s][i] = exp(uniform(log(range[0]), log(range[1])));
        }
    }
    return t;
}

static struct carm_pooled measure(double rate, double sd, double offset, struct carm_round *rounds)
{
    struct carm_pooled e;
    for (size_t i = 0; i < ROUNDS; i++) {
        const double noise = gsl_ran_gaussian_ziggurat(rng, sd);
        rounds[i] = (struct carm_round){rate * fmax(1.0 + offset + noise, 0.01), 3e9,
                                        2.0 * (double)i, CARM_STATE_QUIET};
    }
    carm_rounds_estimate(rounds, ROUNDS, true, 1e-4, &e);
    return e;
}

/* slower  a level, or "peak" (the first operation), that is slower by a share in the first set; of L1 only
 *         the first mix; NULL = none */
static void build(struct machine *m, const struct truth *truth, enum drift drift,
                  const char *slower, double by)
{
    memset(m, 0, sizeof *m);
    m->model.levels = m->levels;
    m->model.nlevels = LEVELS;
    m->model.roofs = m->roofs;
    m->model.nroofs = SETS;
    (void)snprintf(m->model.machine.hypervisor, sizeof m->model.machine.hypervisor, "KVM");
    for (size_t l = 0; l < LEVELS; l++) {
        (void)snprintf(m->levels[l].level, sizeof m->levels[l].level, "%s", level_names[l]);
    }
    for (size_t s = 0; s < SETS; s++) {
        struct carm_roofs *r = &m->roofs[s];
        double shared[LEVELS + 1];
        *r = (struct carm_roofs){.isa = "avx2",
                                 .precision = "dp",
                                 .threads = (int)s + 1,
                                 .memory = m->memory[s],
                                 .nmemory = LEVELS * MIXES,
                                 .compute = m->compute[s],
                                 .ncompute = OPS};
        for (size_t l = 0; l <= LEVELS; l++) {
            shared[l] = gsl_ran_gaussian_ziggurat(rng, 0.5);
        }
        for (size_t i = 0; i < LEVELS * MIXES + OPS; i++) {
            const bool memory = i < LEVELS * MIXES;
            const size_t level = memory ? i / MIXES : LEVELS;
            const char *name = memory ? level_names[level] : "peak";
            const bool slow = s == 0 && slower && strcmp(slower, name) == 0 &&
                              (level == LEVELS - 1 || i == 0 || i == LEVELS * MIXES);
            const double sd = drift == STATES ? 0.004 : truth->scatter[s][i];
            const double state = drift == STATES && level == LEVELS - 1 ? 0.06 / sd : 0.0;
            const double own = gsl_ran_gaussian_ziggurat(rng, 0.5);
            const double offset = drift == NO_DRIFT  ? 0.0
                                  : drift == BY_ROOF ? own
                                  : drift == STATES  ? state * own
                                                     : shared[level];
            const double rate = slow ? 100e9 * (1.0 - by) : 100e9;
            struct carm_round *rounds = m->rounds[s][i];
            const struct carm_pooled e = measure(rate, sd, sd * offset, rounds);
            if (memory) {
                struct carm_memory_roof *x = &r->memory[i];
                *x = (struct carm_memory_roof){
                    .bandwidth = e.rate, .ci95 = e.ci95, .rounds = rounds, .nrounds = ROUNDS};
                (void)snprintf(x->level, sizeof x->level, "%s", level_names[level]);
                (void)snprintf(x->ldst, sizeof x->ldst, "%zu:1", i % MIXES);
                (void)snprintf(x->code, sizeof x->code, "%zu", i);
                if (level == LEVELS - 1 && e.rate > r->dram_peak.bandwidth) {
                    r->dram_peak.bandwidth = e.rate;
                    (void)snprintf(r->dram_peak.code, sizeof r->dram_peak.code, "%s", x->code);
                }
            } else {
                struct carm_compute_roof *x = &r->compute[i - LEVELS * MIXES];
                *x = (struct carm_compute_roof){
                    .rate = e.rate, .ci95 = e.ci95, .rounds = rounds, .nrounds = ROUNDS};
                (void)snprintf(x->op, sizeof x->op, "op%zu", i);
            }
        }
    }
}

struct alarms {
    double any, tripped; /* shares of pairs: one significant at least; a drop by more than 10% */
};

/* Pairs of builds of machines like ours, the second one slower where slower says so. */
static struct alarms compare(enum drift drift, const char *slower, double by, size_t pairs)
{
    static struct machine a, b;
    struct alarms alarms = {0.0, 0.0};
    const struct carm_compare_options options = {.noise = -1.0};
    for (size_t i = 0; i < pairs; i++) {
        const struct carm_model *const models[] = {&a.model, &b.model};
        const struct truth truth = draw_truth();
        struct carm_compare *c = NULL;
        struct carm_compare_drop worst;
        build(&a, &truth, drift, NULL, 0.0);
        build(&b, &truth, drift, slower, by);
        assert_ok(carm_compare_make(models, 2, &options, &c, &err));
        alarms.any += carm_compare_counts(c).of[CARM_COMPARE_SIGNIFICANT] > 0;
        alarms.tripped += carm_compare_drops(c, 0.10, false, &worst) > 0;
        carm_compare_free(c);
    }
    alarms.any /= (double)pairs;
    alarms.tripped /= (double)pairs;
    print_message("drift %d, %s %.0f%% slower: %.1f%% significant, %.1f%% by more than 10%%\n",
                  (int)drift, slower ? slower : "nothing", 100.0 * by, 100.0 * alarms.any,
                  100.0 * alarms.tripped);
    return alarms;
}

TEST(one_machine_raises_no_alarm)
{
    gsl_rng_set(rng, 1);
    for (enum drift drift = NO_DRIFT; drift < DRIFTS; drift++) {
        const struct alarms alarms = compare(drift, NULL, 0.0, 300);
        assert_true(alarms.any <= 0.05);
        assert_true(alarms.tripped <= 0.05);
    }
}

TEST(drops_are_found)
{
    gsl_rng_set(rng, 2);
    for (enum drift drift = NO_DRIFT; drift < DRIFTS; drift++) {
        assert_true(compare(drift, "peak", 0.15, 50).tripped >= 0.95);
        assert_true(compare(drift, "L1", 0.15, 50).tripped >= 0.95);
        assert_true(compare(drift, "DRAM", 0.30, 100).tripped >= 0.95);
    }
    /* what a core has for itself does not move with the state of memory */
    assert_true(compare(STATES, "peak", 0.10, 50).any >= 0.95);
    assert_true(compare(STATES, "L1", 0.10, 50).any >= 0.95);
}

/* Memory of several threads on two core complexes, by its rounds or by the time of a line, against one: nothing can be
 * said, while the same states tell 60%. */
TEST(other_places_tell_nothing)
{
    static struct machine a, b;
    const struct carm_model *const models[] = {&a.model, &b.model};
    const struct carm_compare_options options = {.noise = -1.0};
    const struct truth truth = draw_truth();
    gsl_rng_set(rng, 5);
    for (int kind = 0; kind < 4; kind++) { /* same, by rounds, by the line's time, one thread */
        struct carm_compare *c = NULL;
        build(&a, &truth, STATES, NULL, 0.0);
        build(&b, &truth, STATES, NULL, 0.0);
        const size_t s = kind == 3 ? 0 : 1;
        struct carm_memory_roof *x = &b.memory[s][15];
        x->bandwidth *= 1.6;
        x->ci95 = (struct carm_ci){x->ci95.lo * 1.6, x->ci95.hi * 1.6};
        for (size_t i = 0; i < ROUNDS; i++) {
            b.rounds[s][15][i].rate *= 1.6;
            b.rounds[s][15][i].state = kind == 1 ? CARM_STATE_APART : CARM_STATE_QUIET;
        }
        a.roofs[1].core_to_core_seconds = 27e-9;
        b.roofs[1].core_to_core_seconds = kind == 2 ? 160e-9 : 26e-9;
        assert_ok(carm_compare_make(models, 2, &options, &c, &err));
        for (size_t i = 0; i < c->sets[s].nrows; i++) {
            const struct carm_compare_row *row = &c->sets[s].rows[i];
            if (strcmp(row->name, "DRAM 3:1") == 0) {
                assert_int_equal(row->diffs[1].verdict == CARM_COMPARE_SIGNIFICANT,
                                 kind == 0 || kind == 3);
            }
        }
        carm_compare_free(c);
    }
}

/* Rounds of three builds show what moves from build to build: a model of many builds finds 10% in memory. */
TEST(builds_narrow)
{
    static struct machine a, b;
    const struct carm_model *const models[] = {&a.model, &b.model};
    const struct carm_compare_options options = {.noise = -1.0};
    const struct truth truth = draw_truth();
    gsl_rng_set(rng, 4);
    for (size_t runs = 1; runs <= CARM_ROUNDS_RUNS; runs += 2) {
        struct carm_compare *c = NULL;
        build(&a, &truth, STATES, NULL, 0.0);
        build(&b, &truth, STATES, NULL, 0.0);
        for (size_t i = 0; i < ROUNDS; i++) {
            a.rounds[1][15][i].at = b.rounds[1][15][i].at =
                2.0 * (double)i + (double)(i * runs / ROUNDS) * 3600.0;
        }
        assert_ok(carm_compare_make(models, 2, &options, &c, &err));
        for (size_t i = 0; i < c->sets[1].nrows; i++) {
            const struct carm_compare_row *row = &c->sets[1].rows[i];
            assert_true(strcmp(row->name, "DRAM 3:1") != 0 ||
                        (row->diffs[1].error > 0.1) == (runs == 1));
        }
        carm_compare_free(c);
    }
}

/* Student's t, from tables: 97.5% with 3 and 6 degrees of freedom; 97.5% and 99.5% with 30. */
static const double t3 = 3.182446, t6 = 2.446912, t30 = 2.042272, t30_five = 2.749996;

static struct carm_compare_value value(double rate, double half, double sd)
{
    return (struct carm_compare_value){.rate = rate,
                                       .lo = rate - half,
                                       .hi = rate + half,
                                       .rounds = 16,
                                       .scatter = sd,
                                       .scatter_freedom = 15,
                                       .code = "",
                                       .note = ""};
}

static double error(struct carm_compare_value a, struct carm_compare_value b, size_t comparisons)
{
    struct carm_compare_diff ab, ba;
    carm_compare_values(&a, &b, 0.01, comparisons, &ab);
    carm_compare_values(&b, &a, 0.01, comparisons, &ba);
    assert_int_equal(ab.verdict, ba.verdict);
    assert_near(ab.error * a.rate, ba.error * b.rate, 1e-9);
    assert_int_equal(ab.by_rounds, comparisons > 0);
    return ab.error * a.rate;
}

/* Of two equal intervals for a difference between two runs, the error is one of them, but for twice the
 * degrees of freedom; it is no root of twice the square. */
TEST(two_equal_intervals)
{
    assert_near(error(value(100, 3, 0), value(100, 3, 0), 1), 3 * t6 / t3, 1e-5);
    assert_near(error(value(100, 3, 0), value(100, 4, 0), 0), 5, 1e-12);
    assert_near(error(value(100, 0, 0), value(100, 0, 0), 1), 0, 0);
    /* three rounds: 2 degrees of freedom, t 4.303 */
    struct carm_compare_value few = value(100, 3, 0);
    few.rounds = 3;
    assert_near(error(few, few, 1), 3 * 2.776445 / 4.302653, 1e-5); /* t with 4 */
}

/* What one run does not show: half the scatter of each. Its 15 degrees of freedom are those of its four
 * batches, 3, and of what is within them. */
TEST(scatter_widens)
{
    const struct carm_compare_value a = value(100, 0, 4);
    assert_near(error(a, a, 1), sqrt(2.0 * 4) * t30, 1e-5);
    assert_near(error(a, a, 5), sqrt(2.0 * 4) * t30_five, 1e-5);
    assert_true(error(value(100, 3, 4), a, 5) > error(a, a, 5));
    struct carm_compare_value few = value(100, 3, 4); /* the batches are the rounds: t with 3 + 3 */
    few.rounds = 4;
    few.scatter_freedom = 3;
    assert_near(error(few, few, 1), sqrt(9 / (t3 * t3) + 2 * 4) * t6, 1e-5);
}

static void check_floor(const struct carm_compare *c, const char *name, bool by_rounds,
                        double floor)
{
    for (size_t i = 0; i < c->sets[1].nrows; i++) {
        const struct carm_compare_row *row = &c->sets[1].rows[i];
        if (strcmp(row->name, name) == 0) {
            assert_int_equal(row->diffs[1].by_rounds, by_rounds);
            assert_near(row->diffs[1].floor, floor, 0.0);
            return;
        }
    }
    fail_msg("no row %s", name);
}

/* In a virtual machine values from rounds have the floor of any other; one side without rounds, or
 * --noise, and it is as before. */
TEST(what_decides)
{
    static struct machine a, b;
    const struct carm_model *const models[] = {&a.model, &b.model};
    const struct truth truth = draw_truth();
    struct carm_compare *c = NULL;
    gsl_rng_set(rng, 3);
    build(&a, &truth, NO_DRIFT, NULL, 0.0);
    build(&b, &truth, NO_DRIFT, NULL, 0.0);
    b.memory[1][4].nrounds = 0;                   /* L2 0:1 */
    b.memory[1][5].nrounds = CARM_ROUNDS_MIN - 1; /* L2 1:1 */
    for (size_t i = 0; i < ROUNDS; i++) {
        b.rounds[1][8][i].state = CARM_STATE_SHARED; /* L3 0:1: rounds, but none that are sound */
    }
    b.memory[1][9].disturbed = true; /* L3 1:1 */
    const struct carm_compare_options options = {.noise = -1.0};
    const struct carm_compare_options noise = {.noise = 0.05};
    assert_ok(carm_compare_make(models, 2, &options, &c, &err));
    check_floor(c, "L2 2:1", true, carm_compare_floor(CARM_COMPARE_PRIVATE, false));
    check_floor(c, "L2 0:1", false, carm_compare_floor(CARM_COMPARE_PRIVATE, true));
    check_floor(c, "L2 1:1", false, carm_compare_floor(CARM_COMPARE_PRIVATE, true));
    check_floor(c, "L3 0:1", false, carm_compare_floor(CARM_COMPARE_SHARED, true));
    check_floor(c, "DRAM 3:1", true, carm_compare_floor(CARM_COMPARE_DRAM_SEVERAL, false));
    check_floor(c, "DRAM peak", true, carm_compare_floor(CARM_COMPARE_DRAM_SEVERAL, false));
    check_floor(c, "op16", true, carm_compare_floor(CARM_COMPARE_CORE, false));
    assert_int_equal(carm_compare_counts(c).by_rounds, SETS * (LEVELS * MIXES + OPS + 1) - 4);
    carm_compare_free(c);
    assert_ok(carm_compare_make(models, 2, &noise, &c, &err));
    check_floor(c, "DRAM 3:1", false, 0.05);
    assert_int_equal(carm_compare_counts(c).by_rounds, 0);
    carm_compare_free(c);
}

int main(void)
{
    rng = gsl_rng_alloc(gsl_rng_mt19937);
    if (!rng) {
        return 1;
    }
    const int failed = run_suite(NULL, NULL);
    gsl_rng_free(rng);
    return failed;
}
