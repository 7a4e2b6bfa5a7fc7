/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scores against values worked by hand, and every refusal. */
#include "models/validation.h"
#include "tests/unit.h"

static struct carm_score score(const double *measured, const double *model, size_t n)
{
    struct carm_score s;
    assert_ok(carm_score_eval(measured, model, n, &s, &err));
    return s;
}

TEST(perfect_model_is_fully_fit)
{
    const double v[] = {1e9, 2e10, 3e11};
    const struct carm_score s = score(v, v, 3);
    assert_int_equal(s.n, 3);
    assert_near(s.rrmse, 0.0, 0);
    assert_near(s.rrmse_model, 0.0, 0);
    assert_near(s.fitness, 100.0, 0);
    assert_int_equal(s.worst, 0);
    assert_near(s.worst_error, 0.0, 0);
}

TEST(one_point_scores_its_own_error)
{
    const double measured[] = {8e9};
    const double model[] = {10e9};
    /* (8 - 10) / 8 = -1/4 and (8 - 10) / 10 = -1/5; 100 / 1.25 = 80 */
    const struct carm_score s = score(measured, model, 1);
    assert_int_equal(s.n, 1);
    assert_near(s.rrmse, 0.25, 1e-15);
    assert_near(s.rrmse_model, 0.20, 1e-15);
    assert_near(s.fitness, 80.0, 1e-12);
    assert_int_equal(s.worst, 0);
    assert_near(s.worst_error, -0.2, 1e-15);
}

TEST(two_points_by_hand)
{
    const double measured[] = {4.0, 10.0};
    const double model[] = {5.0, 8.0};
    /* over measured: -1/4 and 1/5, mean square (1/16 + 1/25) / 2 = 0.05125;
     * over model: -1/5 and 1/4, the same squares the other way round */
    struct carm_score s = score(measured, model, 2);
    assert_near(s.rrmse, sqrt(0.05125), 1e-15);
    assert_near(s.rrmse_model, sqrt(0.05125), 1e-15);
    assert_int_equal(s.worst, 0);
    assert_near(s.worst_error, -0.2, 1e-15);
    const double other[] = {8.0, 8.0};
    /* over measured: -1 and 1/5, mean square 1.04 / 2; over model: -1/2 and 1/4, 0.3125 / 2 */
    s = score(measured, other, 2);
    assert_near(s.rrmse, sqrt(0.52), 1e-15);
    assert_near(s.rrmse_model, sqrt(0.15625), 1e-15);
    assert_near(s.fitness, 100.0 / (1.0 + sqrt(0.52)), 1e-12);
    assert_int_equal(s.worst, 0);
    assert_near(s.worst_error, -0.5, 1e-15);
}

/* The worst point is worst over the measured value: a model of twice the measured (error 1) is worse
 * than one of a third (error 2/3), although over the model's value it is the other way round. */
TEST(worst_point_is_over_measured)
{
    const double measured[] = {1.0, 3.0, 5.0, 1.0};
    const double model[] = {1.1, 1.0, 10.0, 1.0};
    const struct carm_score s = score(measured, model, 4);
    assert_int_equal(s.worst, 2);
    assert_near(s.worst_error, -0.5, 1e-15);
    const double low[] = {1.0, 1.0, 5.0, 1.0};
    const struct carm_score t = score(measured, low, 4);
    assert_int_equal(t.worst, 1);
    assert_near(t.worst_error, 2.0, 1e-15);
}

TEST(refuses_values_by_name)
{
    static const double bad[] = {0.0, -1.0, NAN, INFINITY, -INFINITY};
    for (size_t b = 0; b < sizeof bad / sizeof *bad; b++) {
        for (int array = 0; array < 2; array++) {
            double values[2][3] = {{1.0, 2.0, 3.0}, {1.0, 2.0, 3.0}};
            values[array][1] = bad[b];
            struct carm_score s;
            struct carm_score before;
            err = (struct carm_err){""};
            memset(&s, 0x5a, sizeof s);
            memcpy(&before, &s, sizeof s);
            assert_refused(carm_score_eval(values[0], values[1], 3, &s, &err), -CARM_EINVAL,
                           array ? "model[1] is" : "measured[1] is");
            assert_memory_equal(&s, &before, sizeof s);
            assert_int_equal(carm_score_eval(values[0], values[1], 3, &s, NULL), -CARM_EINVAL);
        }
    }
    struct carm_score s;
    struct carm_score before;
    memset(&s, 0x5a, sizeof s);
    memcpy(&before, &s, sizeof s);
    assert_refused(carm_score_eval(NULL, NULL, 0, &s, &err), -CARM_EINVAL, "no points");
    assert_memory_equal(&s, &before, sizeof s);
}
