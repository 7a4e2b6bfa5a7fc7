/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fits of one set's points, level by level: points of known truth and noise give that truth back,
 * and the form that made them is the one chosen. */
#include "models/validation.h"
#include "tests/models/fit/ridge_points.h"
#include "tests/random.h"
#include "validation/validate/score.h"

static const struct carm_validation_set set = {"avx512", "dp", "fma", 1};
static const struct carm_validation_set other = {"avx512", "dp", "mad", 1};
static struct carm_level levels[] = {{.level = "L1"}, {.level = "L2"}, {.level = "DRAM"}};

static struct carm_model bare_model(void)
{
    return (struct carm_model){.levels = levels, .nlevels = 3};
}

static void release(struct carm_model *m)
{
    free(m->validation_points);
    free(m->validation_fits);
}

static void add_point(struct carm_model *m, const struct carm_validation_set *of, const char *level,
                      const struct carm_ridge_point *point)
{
    const double flops = 1000.0 * point->intensity;
    struct carm_validation_point p = {
        .set = *of,
        .flops = flops,
        .bytes = 1000.0,
        .seconds = flops / point->performance,
        .ci95 = {point->performance * (1.0 - 1.96 * point->sigma),
                 point->performance * (1.0 + 1.96 * point->sigma)},
        .slots = point->slots * flops,
    };
    (void)snprintf(p.level, sizeof p.level, "%s", level);
    assert_int_equal(carm_validation_add_point(m, &p, NULL), 0);
}

/* The points of ridge_points.h as a level's: truth is 64 GB/s and 16 GF/s, noise half a percent. */
static void add_ridge(struct carm_model *m, const struct carm_validation_set *of, const char *level,
                      enum carm_ridge form, double p)
{
    struct carm_ridge_point points[POINTS];
    gsl_rng *rng = random_of(2014);
    make_points(rng, form, p, 0.005, points);
    for (size_t i = 0; i < POINTS; i++) {
        add_point(m, of, level, &points[i]);
    }
}

/* Fits all levels and returns the chosen form of one, which must be the one with the lowest AICc of
 * so many forms. */
static const struct carm_validation_fit *fit_level(struct carm_model *m, double issue,
                                                   const char *level, int forms)
{
    const struct carm_validation_fit *chosen = NULL;
    double least = INFINITY;
    int n = 0;
    m->nvalidation_fits = 0;
    assert_ok(carm_validation_fit_levels(m, &set, issue, &err));
    for (size_t i = 0; i < m->nvalidation_fits; i++) {
        const struct carm_validation_fit *v = &m->validation_fits[i];
        assert_true(carm_validation_set_equal(&v->set, &set));
        if (strcmp(v->level, level) != 0) {
            continue;
        }
        least = fmin(least, v->aicc);
        n++;
        if (v->chosen) {
            assert_null(chosen);
            chosen = v;
        }
    }
    assert_int_equal(n, forms);
    assert_non_null(chosen);
    assert_near(chosen->aicc, least, 0.0);
    return chosen;
}

static void assert_truth(const struct carm_validation_fit *v)
{
    assert_int_equal(v->n, POINTS);
    assert_true(v->bandwidth_se > 0.0 && v->bandwidth_se < 0.01 * truth.bandwidth);
    assert_true(v->peak_se > 0.0 && v->peak_se < 0.01 * truth.peak);
    assert_near(v->bandwidth, truth.bandwidth, 3.0 * v->bandwidth_se);
    assert_near(v->peak, truth.peak, 3.0 * v->peak_se);
    assert_true(v->cv_rrmse > 0.0 && v->cv_rrmse < 0.01);
    assert_near(v->cv_fitness, 100.0 / (1.0 + v->cv_rrmse), 1e-9);
}

TEST(finds_a_rounded_ridge)
{
    struct carm_model m = bare_model();
    add_ridge(&m, &other, "L2", CARM_RIDGE_SHARP, INFINITY); /* not this set's */
    add_ridge(&m, &set, "L2", CARM_RIDGE_ROUNDED, 3.0);
    const struct carm_validation_fit *v = fit_level(&m, 0.0, "L2", 2);
    assert_string_equal(v->form, "rounded");
    assert_truth(v);
    assert_true(v->p_se > 0.0 && v->p_se < 0.5);
    assert_near(v->p, 3.0, 3.0 * v->p_se);
    assert_near(v->issue, 0.0, 0.0);
    /* the sharp form misses the ridge, and points it has not seen show it */
    const struct carm_validation_fit *sharp = &m.validation_fits[0];
    assert_string_equal(sharp->form, "sharp");
    assert_true(sharp->cv_rrmse > 5.0 * v->cv_rrmse);
    assert_near(sharp->p, 0.0, 0.0);
    release(&m);
}

TEST(finds_a_sharp_ridge)
{
    struct carm_model m = bare_model();
    add_ridge(&m, &set, "L1", CARM_RIDGE_SHARP, INFINITY);
    const struct carm_validation_fit *v = fit_level(&m, 0.0, "L1", 2);
    assert_string_equal(v->form, "sharp");
    assert_truth(v);
    assert_near(v->p, 0.0, 0.0);
    release(&m);
}

/* The forms with issue are tried where the width was measured, and only there. */
TEST(finds_a_limit_of_issue)
{
    struct carm_model m = bare_model();
    add_ridge(&m, &set, "L1", CARM_RIDGE_ISSUE, INFINITY);
    const struct carm_validation_fit *v = fit_level(&m, truth.issue, "L1", CARM_RIDGE_COUNT);
    assert_string_equal(v->form, "issue");
    assert_truth(v);
    for (size_t i = 0; i < m.nvalidation_fits; i++) {
        const bool uses = strstr(m.validation_fits[i].form, "issue") != NULL;
        assert_near(m.validation_fits[i].issue, uses ? truth.issue : 0.0, 0.0);
    }
    v = fit_level(&m, 0.0, "L1", 2);
    assert_null(strstr(v->form, "issue"));
    release(&m);
}

/* Points under the slope alone tell no peak, three points nothing: such levels have no fit, the
 * others theirs, in the order of the levels. */
TEST(one_side_tells_no_ridge)
{
    struct carm_model m = bare_model();
    add_ridge(&m, &set, "DRAM", CARM_RIDGE_SHARP, INFINITY);
    for (size_t i = 0; i < POINTS; i++) { /* the ridge is at 1/4 */
        const double x = intensity_at(i) / 512.0;
        const struct carm_ridge_point p = {x, truth.bandwidth * x * (i % 2 ? 1.003 : 0.997), 0.005,
                                           1.0};
        add_point(&m, &set, "L1", &p);
    }
    for (size_t i = 0; i < 3; i++) {
        const struct carm_ridge_point p = {0.2 + 0.1 * (double)i, 16e9, 0.005, 1.0};
        add_point(&m, &set, "L2", &p);
    }
    (void)fit_level(&m, 0.0, "DRAM", 2);
    assert_int_equal(m.nvalidation_fits, 2);
    add_ridge(&m, &other, "L2", CARM_RIDGE_SHARP, INFINITY); /* still not this set's */
    (void)fit_level(&m, 0.0, "DRAM", 2);
    assert_int_equal(m.nvalidation_fits, 2);
    release(&m);
}

TEST(levels_are_fitted_apart)
{
    struct carm_model m = bare_model();
    add_ridge(&m, &set, "L2", CARM_RIDGE_SHARP, INFINITY);
    add_ridge(&m, &set, "L1", CARM_RIDGE_ROUNDED, 3.0);
    assert_string_equal(fit_level(&m, 0.0, "L1", 2)->form, "rounded");
    assert_string_equal(fit_level(&m, 0.0, "L2", 2)->form, "sharp");
    assert_int_equal(m.nvalidation_fits, 4);
    assert_string_equal(m.validation_fits[0].level, "L1"); /* as the levels go, not the points */
    assert_string_equal(m.validation_fits[3].level, "L2");
    release(&m);
}
