/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Outliers and drift of synthetic fleets with known truth. */
#include "models/fleet/judge.h"
#include "tests/models/fleet/generate.h"
#include "tests/unit.h"

static struct carm_model *node(int i, int hour)
{
    char host[32];
    (void)snprintf(host, sizeof host, "n%05d", i);
    return gen_model(host, hour);
}

/* The column of that name: threads 0 = the family with all of them. */
static size_t column(const struct carm_fleet_table *t, const char *name, int threads, bool family)
{
    for (size_t j = 0; j < t->ncolumns; j++) {
        if (strcmp(t->columns[j].roof.name, name) == 0 && t->columns[j].family == family &&
            t->columns[j].roof.threads == threads) {
            return j;
        }
    }
    fail_msg("no column %s", name);
    return 0;
}

/* ---- closed forms ---- */

/* Deviations of -2 .. 2 per cent: median, spread and z by hand. */
TEST(by_hand)
{
    static const double factors[] = {-2, -1, 0, 1, 2, -1, 1};
    struct carm_fleet *f = gen_fleet();
    for (int i = 0; i < 7; i++) {
        struct carm_model *m = node(i, 0);
        gen_scale(m, "L2", "1:0", 2, exp(0.01 * factors[i]));
        (void)gen_add(f, m, 0);
    }
    assert_int_equal(gen_judge(f, 0.01, 0.01), 0);
    assert_int_equal(f->ngroups, 1);
    assert_int_equal(f->njudged, 7);
    const struct carm_fleet_table *t = &f->groups[0].now;
    const size_t j = column(t, "L2 1:0", 2, false);
    const struct carm_fleet_column *c = &t->columns[j];
    assert_int_equal(c->centre.n, 7);
    assert_near(c->median / 200e9, 1.0, 1e-6);
    assert_near(c->sigma, 0.0148260, 1e-5); /* |d|: 0 1 1 1 1 2 2 */
    assert_int_equal(c->low, 0);
    assert_int_equal(c->high, 4);
    const struct carm_fleet_test *test = carm_fleet_test_of(t, 0, j);
    assert_near(test->share, expm1(-0.02), 1e-6);
    assert_near(test->z, -2.0 / 1.48260, 1e-3);
    assert_near(test->p, carm_fleet_p(2.0 / 1.48260, 7), 1e-4);
    /* 40 memory roofs, 8 of operations, 2 clocks; L1 to DRAM and compute, each with 1, 2 and both */
    assert_int_equal(t->ncolumns, 50 + 15);
    assert_int_equal(t->columns[column(t, "L3", 0, true)].nroofs, 10);
    assert_int_equal(t->columns[column(t, "compute", 2, true)].nroofs, 4);
}

/* A family's mean is weighted by 1/spread^2; independent roofs show no correlation, equal ones do. */
TEST(families)
{
    uint64_t seed = 5;
    struct carm_fleet *f = gen_fleet();
    struct carm_fleet *g = gen_fleet();
    for (int i = 0; i < 400; i++) {
        struct carm_model *m = node(i, 0);
        gen_noise(m, 0.02, 0.0, 0.0, &seed);
        (void)gen_add(f, m, 0);
        m = node(i, 0);
        gen_noise(m, 0.002, 0.02, 0.0, &seed);
        (void)gen_add(g, m, 0);
    }
    assert_int_equal(gen_judge(f, 0.01, 0.01) | gen_judge(g, 0.01, 0.01), 0);
    const struct carm_fleet_table *a = &f->groups[0].now;
    const struct carm_fleet_table *b = &g->groups[0].now;
    const struct carm_fleet_column *loose = &a->columns[column(a, "L3", 0, true)];
    const struct carm_fleet_column *tight = &b->columns[column(b, "L3", 0, true)];
    assert_true(loose->correlation < 0.1 && tight->correlation > 0.9);
    /* 2% over sqrt(10); five standard errors of a MAD of 400 are 30% */
    assert_near(loose->sigma / (0.02 / sqrt(10.0)), 1.0, 0.3);
    assert_near(tight->sigma / 0.02, 1.0, 0.3);
}

/* What a node says of its own error counts: the same deviation is sure for one and not for another. */
TEST(own_errors)
{
    uint64_t seed = 3;
    struct carm_fleet *f = gen_fleet();
    for (int i = 0; i < 100; i++) {
        struct carm_model *m = node(i, 0);
        gen_noise(m, 0.005, 0.0, i == 7 ? 0.10 : 0.001, &seed);
        if (i == 7 || i == 8) {
            gen_scale(m, "DRAM", NULL, 0, 0.9);
        }
        (void)gen_add(f, m, 0);
    }
    assert_int_equal(gen_judge(f, 0.01, 0.01), 0);
    const struct carm_fleet_table *t = &f->groups[0].now;
    const struct carm_fleet_test *vague = carm_fleet_test_of(t, 7, column(t, "DRAM 2:1", 1, false));
    const struct carm_fleet_test *sure = carm_fleet_test_of(t, 8, column(t, "DRAM 2:1", 1, false));
    assert_near(vague->share, -0.1, 0.03);
    assert_true(fabsf(vague->z) < 1.5F && sure->z < -10.0F);
    assert_int_equal(t->judged[8].verdict, CARM_FLEET_SLOW);
    assert_int_equal(t->judged[7].verdict, CARM_FLEET_SOUND);
}

TEST(disturbed_accuses_nobody)
{
    uint64_t seed = 4;
    struct carm_fleet *f = gen_fleet();
    for (int i = 0; i < 50; i++) {
        struct carm_model *m = node(i, 0);
        gen_noise(m, 0.005, 0.0, 0.0, &seed);
        if (i == 3) {
            gen_scale(m, "DRAM", NULL, 0, 0.5);
            for (size_t k = 15; k < 20; k++) {
                m->roofs[0].memory[k].disturbed = m->roofs[1].memory[k].disturbed = true;
            }
        }
        (void)gen_add(f, m, 0);
    }
    assert_int_equal(gen_judge(f, 0.01, 0.01), 0);
    const struct carm_fleet_table *t = &f->groups[0].now;
    const size_t j = column(t, "DRAM 2:1", 1, false);
    assert_int_equal(t->judged[3].verdict, CARM_FLEET_SOUND);
    assert_near(carm_fleet_test_of(t, 3, j)->share, -0.5, 0.02);
    assert_true(isnan(carm_fleet_test_of(t, 3, j)->p));
    assert_true(isnan(carm_fleet_test_of(t, 3, column(t, "DRAM", 0, true))->p));
    assert_int_equal(t->columns[j].ndisturbed, 1);
    assert_int_equal(t->columns[j].centre.n, 49);
    assert_true(t->columns[j].low != 3);
}

/* Two nodes are not judged; three to four by what moves from run to run. */
TEST(few_nodes)
{
    for (int n = 1; n <= 4; n++) {
        struct carm_fleet *f = gen_fleet();
        for (int i = 0; i < n; i++) {
            struct carm_model *m = node(i, 0);
            gen_scale(m, "compute", NULL, 0, i == 0 ? 0.9 : 1.0 + 0.0001 * i);
            (void)gen_add(f, m, 0);
        }
        assert_int_equal(gen_judge(f, 0.01, 0.01), 0);
        assert_int_equal(f->njudged, n < 3 ? 0 : n);
        assert_int_equal(f->groups[0].now.judged[0].verdict,
                         n < 3 ? CARM_FLEET_SOUND : CARM_FLEET_SLOW);
        for (int i = 1; i < n; i++) {
            assert_int_equal(f->groups[0].now.judged[i].verdict, CARM_FLEET_SOUND);
        }
        close_opened();
    }
}

/* The largest share of a node whose computation is a quarter slower matters where as much is asked for; where a bit
 * more is, it is small. */
TEST(the_least_share)
{
    double share = 0.0;
    for (int k = 0; k < 3; k++) {
        struct carm_fleet *f = gen_fleet();
        for (int i = 0; i < 4; i++) {
            struct carm_model *m = node(i, 0);
            gen_scale(m, "compute", NULL, 0, i == 0 ? 0.75 : 1.0);
            (void)gen_add(f, m, 0);
        }
        assert_int_equal(gen_judge(f, 0.01, k == 2 ? nextafter(share, 1.0) : share), 0);
        const struct carm_fleet_table *t = &f->groups[0].now;
        for (size_t j = 0; j < t->ncolumns; j++) {
            const double one = fabs((double)carm_fleet_test_of(t, 0, j)->share);
            share = one > share ? one : share;
        }
        assert_near(share, 0.25, 1e-6);
        assert_int_equal(t->judged[0].verdict, k == 2 ? CARM_FLEET_SMALL : CARM_FLEET_SLOW);
        close_opened();
    }
}

/* A virtual machine's node from rounds: L3 scatters by 5%, DRAM by 8%, the rest by 0.5%, a build of 16
 * rounds by a third of that, and by half of it beside what its rounds show. Its interval is estimated
 * from four batches. */
static struct carm_model *from_rounds(int i, int hour, uint64_t *seed)
{
    struct carm_model *m = node(i, hour);
    (void)snprintf(m->machine.hypervisor, sizeof m->machine.hypervisor, "KVM");
    for (size_t s = 0; s < m->nroofs; s++) {
        for (size_t k = 0; k < m->roofs[s].nmemory + m->roofs[s].ncompute; k++) {
            struct carm_memory_roof *x = k < m->roofs[s].nmemory ? &m->roofs[s].memory[k] : NULL;
            struct carm_compute_roof *y = x ? NULL : &m->roofs[s].compute[k - m->roofs[s].nmemory];
            const double scatter = x && strcmp(x->level, "L3") == 0     ? 0.05
                                   : x && strcmp(x->level, "DRAM") == 0 ? 0.08
                                                                        : 0.005;
            double squares = 0.0; /* of three degrees of freedom */
            for (int d = 0; d < 3; d++) {
                const double z = gen_normal(seed);
                squares += z * z / 3.0;
            }
            const double factor = exp(scatter * (gen_normal(seed) / 3.0 + gen_normal(seed) / 2.0));
            const double half = 3.182446 * sqrt(2.0 * squares) * scatter / 3.0;
            gen_set(x ? &x->bandwidth : &y->rate, x ? &x->ci95 : &y->ci95, factor, half / 1.959964);
        }
    }
    return m;
}

/* The share of fleets of n such nodes that have an outlier or a drift; with slow, of those that find node
 * 0's memory of two threads 30% lower. */
static double judge_rounds(int n, size_t fleets, bool slow)
{
    uint64_t seed = 11;
    size_t found = 0;
    for (size_t k = 0; k < fleets; k++) {
        struct carm_fleet *f = gen_fleet();
        for (int i = 0; i < n; i++) {
            for (int hour = 0; hour < 2; hour++) {
                struct carm_model *m = from_rounds(i, hour, &seed);
                if (slow && i == 0 && hour == 1) {
                    gen_scale(m, "DRAM", NULL, 2, 0.7);
                }
                gen_add(f, m, hour)->rounds = true;
            }
        }
        assert_int_equal(gen_judge(f, 0.01, 0.01), 0);
        bool any = false;
        const struct carm_fleet_table *tables[] = {&f->groups[0].now, &f->groups[0].drift};
        for (int t = 0; t < 2; t++) {
            for (size_t i = 0; i < tables[t]->n; i++) {
                const enum carm_fleet_verdict v = tables[t]->judged[i].verdict;
                const bool outlier = v == CARM_FLEET_SLOW || v == CARM_FLEET_FAST;
                any = any || (slow ? i == 0 && v == CARM_FLEET_SLOW : outlier);
            }
        }
        found += any;
        close_opened();
    }
    return (double)found / (double)fleets;
}

/* Of few nodes, their intervals tell more than what virtual machines may move by: 32% for that memory. */
TEST(intervals_of_rounds)
{
    assert_true(judge_rounds(3, 100, false) <= 0.05);
    assert_true(judge_rounds(3, 40, true) >= 0.9);
    assert_true(judge_rounds(40, 10, false) <= 0.05);
    assert_true(judge_rounds(40, 10, true) >= 0.9);
}

/* Roofs and families are adjusted apart, by Benjamini and Hochberg; where a node has both, twice (Bonferroni). */
static void check_adjusted(const struct carm_fleet_table *t, size_t node, const double *adjusted)
{
    double p[80], q[2][80];
    size_t order[80], n[2];
    for (int family = 0; family < 2; family++) {
        for (size_t j = 0; j < t->ncolumns; j++) {
            p[j] = t->columns[j].family == family ? (double)carm_fleet_test_of(t, node, j)->p : NAN;
        }
        n[family] = carm_fleet_bh(p, t->ncolumns, order, q[family]);
    }
    for (size_t j = 0; j < t->ncolumns; j++) {
        const double alone = q[t->columns[j].family][j];
        if (!isnan(alone)) {
            assert_near(adjusted[j], fmin(1.0, n[0] && n[1] ? 2.0 * alone : alone), 1e-12);
        }
    }
}

/* A roof accuses at fdr times the share of nodes that were rejected. */
static void check_flags(const struct carm_fleet_table *t, double fdr)
{
    double scratch[3 * 80], adjusted[80];
    size_t order[80];
    double rejected = 0;
    assert_true(t->ncolumns <= 80);
    for (size_t i = 0; i < t->n; i++) {
        rejected += t->judged[i].q <= fdr;
    }
    assert_true(rejected >= 4);
    for (size_t i = 0; i < t->n; i++) {
        double least = 1.0;
        carm_fleet_adjust(t, i, scratch, order, adjusted);
        check_adjusted(t, i, adjusted);
        for (size_t j = 0; j < t->ncolumns; j++) {
            const struct carm_fleet_test *test = carm_fleet_test_of(t, i, j);
            const double q = fmin(1.0, fmax(t->judged[i].q, adjusted[j] * (double)t->n / rejected));
            least = fmin(least, adjusted[j]);
            assert_true(isnan(adjusted[j]) == isnan(test->p));
            if (!isnan(test->p)) {
                assert_near(test->q, q, 1e-6);
            }
            assert_int_equal(test->flagged,
                             q <= fdr && fabsf(test->share) >= 0.01F && !isnan(test->p));
        }
        assert_near(t->judged[i].p, least, 1e-12);
    }
    struct carm_fleet_table roofs = *t; /* of node 0 alone, whose tests come first */
    while (roofs.ncolumns > 0 && roofs.columns[roofs.ncolumns - 1].family) {
        roofs.ncolumns--;
    }
    carm_fleet_adjust(&roofs, 0, scratch, order, adjusted);
    check_adjusted(&roofs, 0, adjusted);
}

TEST(slow_fast_and_small)
{
    uint64_t seed = 6;
    struct carm_fleet *f = gen_fleet();
    for (int i = 0; i < 200; i++) {
        struct carm_model *m = node(i, 0);
        gen_noise(m, 0.0005, 0.0, 0.0, &seed);
        gen_scale(m, "L1", NULL, 0, i == 5 ? 0.97 : i == 6 ? 1.03 : i == 7 ? 0.995 : 1.0);
        gen_scale(m, "L2", NULL, 0, i == 8 ? 0.97 : 1.0);
        gen_scale(m, "L3", NULL, 0, i == 8 ? 1.06 : 1.0);
        (void)gen_add(f, m, 0);
    }
    assert_int_equal(gen_judge(f, 0.01, 0.01), 0);
    const struct carm_fleet_table *t = &f->groups[0].now;
    assert_int_equal(t->judged[5].verdict, CARM_FLEET_SLOW);
    assert_int_equal(t->judged[6].verdict, CARM_FLEET_FAST);
    assert_int_equal(t->judged[7].verdict, CARM_FLEET_SMALL);
    assert_int_equal(t->judged[8].verdict, CARM_FLEET_SLOW); /* though it is fast, too */
    assert_string_equal(t->columns[t->judged[8].worst].roof.family, "L2");
    assert_true(carm_fleet_test_of(t, 5, column(t, "L1", 0, true))->flagged);
    assert_false(carm_fleet_test_of(t, 5, column(t, "L2", 0, true))->flagged);
    check_flags(t, 0.01);
}

/* The first roof alone is 20% fast or slow: it is the reason. */
TEST(the_first_roof_may_be_the_reason)
{
    uint64_t seed = 7;
    struct carm_fleet *f = gen_fleet();
    for (int i = 0; i < 200; i++) {
        struct carm_model *m = node(i, 0);
        gen_noise(m, 0.0005, 0.0, 0.0, &seed);
        gen_scale(m, "L1", "2:1", 1, i == 5 ? 1.2 : i == 6 ? 0.8 : 1.0);
        (void)gen_add(f, m, 0);
    }
    assert_int_equal(gen_judge(f, 0.01, 0.01), 0);
    const struct carm_fleet_table *t = &f->groups[0].now;
    assert_int_equal(column(t, "L1 2:1", 1, false), 0);
    assert_int_equal(t->judged[5].verdict, CARM_FLEET_FAST);
    assert_int_equal(t->judged[5].worst, 0);
    assert_int_equal(t->judged[6].verdict, CARM_FLEET_SLOW);
    assert_int_equal(t->judged[6].worst, 0);
}

/* ---- power and false alarms ---- */

struct outcome {
    size_t bad, good;           /* nodes */
    size_t found, suspected;    /* of bad ones: slow; slow or suspect */
    size_t accused, false_susp; /* of good ones: outliers; those and suspects */
};

/* n nodes with 2% noise in each roof, 1% of them slowed in the L3 roofs given. */
static void draw(size_t n, const char *mix, int threads, double factor, uint64_t seed,
                 struct outcome *o)
{
    struct carm_fleet *f = gen_fleet();
    for (size_t i = 0; i < n; i++) {
        struct carm_model *m = node((int)i, 0);
        gen_noise(m, 0.02, 0.0, 0.0005, &seed);
        if (i % 100 == 50) {
            gen_scale(m, "L3", mix, threads, factor);
        }
        (void)gen_add(f, m, 0);
    }
    assert_int_equal(gen_judge(f, 0.01, 0.01), 0);
    assert_int_equal(f->groups[0].nnodes, n);
    for (size_t i = 0; i < n; i++) {
        const enum carm_fleet_verdict v = f->groups[0].now.judged[i].verdict;
        const bool outlier = v == CARM_FLEET_SLOW || v == CARM_FLEET_FAST;
        if (i % 100 == 50) {
            o->bad++;
            o->found += v == CARM_FLEET_SLOW;
            o->suspected += v == CARM_FLEET_SLOW || v == CARM_FLEET_SUSPECT_NODE;
        } else {
            o->good++;
            o->accused += outlier;
            o->false_susp += outlier || v == CARM_FLEET_SUSPECT_NODE;
        }
    }
}

/* A level that is 5% low: at least 95% found, less than 1% false alarms. By simulation 99.9% of 10 roofs are
 * outliers; of 5 roofs 85% are, and 98% together with suspects, who are 0.95% of sound nodes. */
TEST(level_is_found)
{
    struct outcome ten = {0}, five = {0};
    for (uint64_t seed = 1; seed <= 3; seed++) {
        draw(2000, NULL, 0, 0.95, 100 * seed, &ten);
        draw(2000, NULL, 2, 0.95, 1000 * seed, &five);
    }
    assert_int_equal(ten.bad, 60);
    assert_true(ten.found >= 57);
    assert_true(ten.accused * 1000 < ten.good); /* 0.01% expected */
    assert_true(five.found >= 40);
    assert_true(five.suspected >= 54);
    assert_true(five.accused * 1000 < five.good);
    /* 1% of 5940 are 59: five sigmas of a binomial above that */
    assert_true(ten.false_susp < 59 + 39 && five.false_susp < 59 + 39);
}

/* One roof alone that is 5% low is not told from noise (9% become suspects); 15% low is. */
TEST(one_roof)
{
    struct outcome five = {0}, fifteen = {0};
    draw(3000, "2:1", 2, 0.95, 11, &five);
    draw(3000, "2:1", 2, 0.85, 12, &fifteen);
    assert_true(five.found <= 3);
    assert_true(fifteen.found >= 28);
    assert_true((five.accused + fifteen.accused) * 1000 < five.good + fifteen.good);
}

/* Fleets without any outlier: some are accused in 1% of them. */
TEST(sound_fleets)
{
    size_t fleets = 0;
    for (uint64_t seed = 1; seed <= 100; seed++) {
        struct outcome o = {0};
        draw(40 + seed, NULL, 0, 1.0, seed << 20, &o);
        fleets += o.found + o.accused > 0;
    }
    assert_true(fleets <= 7); /* 1 expected; P(8 or more) = 1e-6 */
}

/* ---- over time ---- */

TEST(drift)
{
    uint64_t seed = 9;
    struct carm_fleet *f = gen_fleet();
    for (int i = 0; i < 60; i++) {
        for (int k = 0; k < 4; k++) {
            uint64_t of_node = 1000 + (uint64_t)i; /* nodes differ, and keep it */
            struct carm_model *m = node(i, 100 * k);
            gen_noise(m, 0.05, 0.0, 0.0, &of_node);
            gen_noise(m, 0.002, 0.0, 0.0, &seed);
            gen_scale(m, "DRAM", NULL, 0, k == 3 ? 0.97 : 1.0); /* a firmware update */
            gen_scale(m, "L3", NULL, 0, k == 3 && i == 17 ? 0.96 : 1.0);
            (void)gen_add(f, m, (int64_t)100 * k);
        }
    }
    assert_int_equal(gen_judge(f, 0.01, 0.01), 0);
    const struct carm_fleet_group *g = &f->groups[0];
    assert_int_equal(g->nnodes, 60);
    assert_int_equal(g->nodes[17].nrows, 4);
    assert_string_equal(f->rows[g->nodes[17].rows[0]].time, "2026-01-13T12:00:00Z");
    assert_int_equal(f->ndrifting, 60);
    const struct carm_fleet_table *t = &g->drift;
    assert_near(t->columns[column(t, "DRAM 2:1", 1, false)].centre.median, log(0.97), 0.003);
    assert_int_equal(t->judged[17].verdict, CARM_FLEET_SLOW);
    assert_string_equal(t->columns[t->judged[17].worst].roof.family, "L3");
    size_t accused = 0;
    for (size_t i = 0; i < t->n; i++) {
        accused +=
            t->judged[i].verdict == CARM_FLEET_SLOW || t->judged[i].verdict == CARM_FLEET_FAST;
    }
    assert_int_equal(accused, 1);
    /* among nodes that differ by 5%, its 4% do not show */
    assert_int_not_equal(g->now.judged[17].verdict, CARM_FLEET_SLOW);
}

/* An earlier value that was disturbed is no history. */
TEST(disturbed_history)
{
    struct carm_fleet *f = gen_fleet();
    for (int i = 0; i < 5; i++) {
        for (int k = 0; k < 3; k++) {
            struct carm_model *m = node(i, k);
            if (i == 2 && k == 1) {
                gen_scale(m, "L1", "2:1", 1, 0.5);
                m->roofs[0].memory[0].disturbed = true;
            }
            gen_scale(m, "L2", "2:1", 1, k == 1 ? 0.9 : 1.0);
            (void)gen_add(f, m, k);
        }
    }
    assert_int_equal(gen_judge(f, 0.01, 0.01), 0);
    const struct carm_fleet_table *t = &f->groups[0].drift;
    assert_int_equal(t->n, 5);
    assert_near(carm_fleet_test_of(t, 2, column(t, "L1 2:1", 1, false))->share, 0.0, 1e-6);
    /* the median of 1 and 0.9 in logarithms */
    assert_near(t->columns[column(t, "L2 2:1", 1, false)].centre.median, -0.5 * log(0.9), 1e-6);
}

/* ---- groups and names ---- */

TEST(groups)
{
    struct carm_fleet *f = gen_fleet();
    for (int i = 0; i < 20; i++) {
        struct carm_model *m = node(i, 0);
        m->machine.memory_bytes += (uint64_t)i << 26; /* up to 2% more */
        if (i >= 14) {
            m->machine.memory_bytes *= 2;
        }
        if (i >= 18) {
            (void)snprintf(m->machine.cpu, sizeof m->machine.cpu, "Other");
        }
        (void)gen_add(f, m, 0);
    }
    assert_int_equal(gen_judge(f, 0.01, 0.01), 0);
    assert_int_equal(f->ngroups, 3);
    assert_int_equal(f->groups[0].nnodes, 14);
    assert_int_equal(f->groups[1].nnodes, 4);
    assert_string_equal(f->groups[2].machine.cpu, "Other");
    assert_string_equal(f->groups[0].nodes[9].name, "n00009");
}

static void set_job(struct carm_fleet *f, struct carm_fleet_row *row, const char *job, int rank,
                    const char *boot)
{
    row->job = gen_keep(f, job);
    row->rank = rank;
    row->boot_id = gen_keep(f, boot);
}

/* How many nodes a second row of the same host makes, and what is said. */
static size_t count_nodes(struct carm_fleet *f, const char *said)
{
    size_t n = 0;
    assert_int_equal(gen_judge(f, 0.01, 0.01), 0);
    for (size_t g = 0; g < f->ngroups; g++) {
        n += f->groups[g].nnodes;
    }
    assert_int_equal(f->nnotes, said ? 1 : 0);
    fail_if(said && !strstr(f->notes[0], said), "'%s' lacks '%s'", f->notes[0], said);
    close_opened();
    return n;
}

static struct carm_fleet *two(int hour, double factor, double memory)
{
    struct carm_fleet *f = gen_fleet();
    (void)gen_add(f, node(1, 0), 0);
    struct carm_model *m = node(1, hour);
    gen_scale(m, "L1", NULL, 0, factor);
    m->machine.memory_bytes = (uint64_t)((double)m->machine.memory_bytes * memory);
    (void)gen_add(f, m, hour);
    return f;
}

TEST(names_that_meet)
{
    assert_int_equal(count_nodes(two(5, 1.01, 1.0), NULL), 1);
    assert_int_equal(count_nodes(two(0, 1.01, 1.0),
                                 "n00001 is the name of 2 nodes: they were measured "
                                 "at the same time; they are listed as #1 to #2"),
                     2);
    assert_int_equal(count_nodes(two(0, 1.0, 1.0), "hold the same model of n00001"), 1);
    assert_int_equal(count_nodes(two(5, 1.01, 0.5), "their memory differs"), 2);
    struct carm_fleet *f = two(5, 1.01, 1.0);
    set_job(f, &f->rows[0], "7", 0, "");
    set_job(f, &f->rows[1], "7", 1, "");
    assert_int_equal(count_nodes(f, "they were in one job"), 2);
    f = two(5, 1.01, 1.0); /* two jobs, booted anew between them: one node over time */
    set_job(f, &f->rows[0], "7", 0, "a");
    set_job(f, &f->rows[1], "8", 1, "b");
    assert_int_equal(count_nodes(f, NULL), 1);
    f = two(5, 1.01, 1.0);
    set_job(f, &f->rows[0], "7", -1, "a");
    set_job(f, &f->rows[1], "7", -1, "b");
    assert_int_equal(count_nodes(f, "they were in one job"), 2);
    f = two(0, 1.01, 1.0);
    set_job(f, &f->rows[0], "7", 0, "a");
    set_job(f, &f->rows[1], "7", 1, "a");
    assert_int_equal(count_nodes(f, NULL), 1);
}

/* ---- stats ---- */

TEST(centre_by_hand)
{
    /* deviations from 3: 2 1 0 1 97 -> 0 1 1 2 97, median 1 */
    double v[] = {100, 2, 1, 4, 3}, scratch[6];
    struct carm_fleet_centre c;
    carm_fleet_centre(v, 5, scratch, &c);
    assert_int_equal(c.n, 5);
    assert_near(c.median, 3.0, 0.0);
    assert_near(c.sigma, 1.482602218505602, 1e-12);
    assert_near(c.min, 1.0, 0.0);
    assert_near(c.max, 100.0, 0.0);
    assert_near(c.p5, 1.2, 1e-12); /* 5% of 4 steps behind the first */
    assert_near(c.p95, 80.8, 1e-12);
    /* even: deviations from 2.5: 1.5 .5 .5 1.5 -> median 1 */
    double even[] = {1, 2, 3, 4};
    carm_fleet_centre(even, 4, scratch, &c);
    assert_near(c.median, 2.5, 0.0);
    assert_near(c.sigma, 1.482602218505602, 1e-12);
    double one[] = {7};
    carm_fleet_centre(one, 1, scratch, &c);
    assert_near(c.median, 7.0, 0.0);
    assert_near(c.sigma, 0.0, 0.0);
    assert_near(c.p95, 7.0, 0.0);
}

/* The table of Benjamini and Hochberg 1995, section 3.2: fifteen p values, four of which are rejected at
 * 0.05, where Bonferroni's method rejects three. */
TEST(bh_of_the_paper)
{
    const double sorted[] = {0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344,
                             0.0459, 0.3240, 0.4262, 0.5719, 0.6528, 0.7590, 1.0000};
    double p[17], q[17];
    size_t order[17];
    size_t rejected = 0;
    p[3] = p[11] = NAN; /* no tests: in the way */
    for (size_t i = 0, k = 0; i < 15; i++, k++) {
        k += k == 3 || k == 11;
        p[k] = sorted[(i * 7) % 15];
    }
    assert_int_equal(carm_fleet_bh(p, 17, order, q), 15);
    assert_true(isnan(q[3]) && isnan(q[11]));
    for (size_t i = 0; i < 17; i++) {
        rejected += q[i] <= 0.05;
        assert_true(i == 3 || i == 11 || q[i] >= p[i]);
        if (p[i] == 0.0095) {
            assert_near(q[i], 0.0095 * 15 / 4, 1e-15);
        } else if (p[i] == 0.0278 || p[i] == 0.0201) {
            assert_near(q[i], p[i] == 0.0201 ? 0.0201 * 15 / 5 : 0.0298 * 15 / 7, 1e-15);
        } else if (p[i] == 1.0) {
            assert_near(q[i], 1.0, 0.0);
        }
    }
    assert_int_equal(rejected, 4);
    assert_int_equal(carm_fleet_bh(p, 0, order, q), 0);
}

TEST(p_values)
{
    assert_near(carm_fleet_p(0.0, 100), 1.0, 1e-12);
    assert_near(carm_fleet_p(1.959964, 4), 0.05, 1e-6); /* a known spread: the normal */
    assert_near(carm_fleet_p(-1.959964, 4), 0.05, 1e-6);
    /* t with 4.1 degrees of freedom lies between the tables' 4 and 5 at 4.604 */
    assert_true(carm_fleet_p(4.604, 10) < 0.01 && carm_fleet_p(4.032, 10) > 0.01);
    assert_near(carm_fleet_p(3.0, 1000000) / 0.0026998, 1.0, 1e-3);
    assert_true(carm_fleet_p(40.0, 1000000) >= 0.0);
}

/* Under the null, p <= 1% comes up in at most 1% of nodes, whatever their number. */
TEST(p_values_hold)
{
    static const size_t sizes[] = {5, 6, 8, 11, 20, 50, 200};
    uint64_t seed = 1;
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const size_t n = sizes[k];
        const size_t runs = 60000 / n;
        size_t low = 0;
        for (size_t r = 0; r < runs; r++) {
            double v[200], x[200], scratch[200];
            struct carm_fleet_centre c;
            for (size_t i = 0; i < n; i++) {
                v[i] = x[i] = gen_normal(&seed);
            }
            carm_fleet_centre(v, n, scratch, &c);
            for (size_t i = 0; i < n; i++) {
                low += carm_fleet_p((x[i] - c.median) / c.sigma, n) <= 0.01;
            }
        }
        /* 600 expected at most; those of one run hang together: twice the binomial's five sigmas */
        assert_true(low < 600 + 240);
        assert_true(low > 200); /* and it is no wall */
    }
}
