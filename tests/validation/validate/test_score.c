/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Scores of hand-made points under hand-made roofs: every number by hand, and the marks that
 * Ilic et al. 2014 publish for their machines. */
#include <jansson.h>

#include "models/validation.h"
#include "tests/unit.h"
#include "validation/validate/score.h"

static const struct carm_validation_set one_fma = {"avx512", "dp", "fma", 1};
static const struct carm_validation_set one_mad = {"avx512", "dp", "mad", 1};
static const struct carm_validation_set two_fma = {"avx512", "dp", "fma", 2};

/* L1, L2 and DRAM; two sets of roofs, of one and of two threads. */
struct fixture {
    struct carm_model model;
    struct carm_level levels[3];
    struct carm_roofs roofs[2];
    struct carm_memory_roof memory[5];
    struct carm_compute_roof compute[2];
};
static struct fixture f;

static const struct fixture machine = {
    .levels = {{.level = "L1", .resolved = true},
               {.level = "L2", .resolved = true},
               {.level = "DRAM", .resolved = true}},
    .memory = {{.level = "L1", .ldst = "2:1", .bandwidth = 100e9},
               {.level = "L2", .ldst = "2:1", .bandwidth = 50e9},
               {.level = "L2", .ldst = "1:0", .bandwidth = 60e9},
               {.level = "L2", .ldst = "0:1", .bandwidth = 90e9},
               {.level = "DRAM", .ldst = "2:1", .bandwidth = 9e9}},
    .compute = {{.op = "fma", .rate = 200e9}, {.op = "mad", .rate = 100e9}},
};

static int open_fixture(void **state)
{
    f = machine;
    for (int i = 0; i < 2; i++) {
        struct carm_roofs *r = &f.roofs[i];
        *r = (struct carm_roofs){.isa = "avx512",
                                 .precision = "dp",
                                 .threads = 2 - i, /* the set of two threads comes first */
                                 .memory = f.memory,
                                 .nmemory = 5,
                                 .compute = f.compute,
                                 .ncompute = 2,
                                 .dram_peak = {.bandwidth = 13e9}};
    }
    (void)strcpy(f.model.config.ldst, "2:1");
    f.model.levels = f.levels;
    f.model.nlevels = 3;
    f.model.roofs = f.roofs;
    f.model.nroofs = 2;
    return 0;
}

static int close_fixture(void **state)
{
    free(f.model.validation);
    free(f.model.validation_points);
    free(f.model.validation_roofs);
    free(f.model.validation_fits);
    return 0;
}

/* One repetition of 1000 bytes. l2, dram: those of them that cross into these levels */
static void add_point(const struct carm_validation_set *set, const char *level, double flops,
                      double performance, double l2, double dram)
{
    struct carm_validation_point p = {.set = *set,
                                      .flops = flops,
                                      .bytes = 1000.0,
                                      .seconds = flops / performance,
                                      .traffic = {l2, dram},
                                      .ntraffic = 2};
    (void)snprintf(p.level, sizeof p.level, "%s", level);
    assert_int_equal(carm_validation_add_point(&f.model, &p, NULL), 0);
}

static void add_beside(const struct carm_validation_set *set, const char *level, double beside)
{
    struct carm_validation_roof r = {.set = *set, .model = 1.0, .beside = beside};
    (void)snprintf(r.level, sizeof r.level, "%s", level);
    assert_int_equal(carm_validation_add_roof(&f.model, &r, NULL), 0);
}

static void score(const struct carm_validation_set *set)
{
    assert_ok(carm_validation_score(&f.model, set, &err));
}

static const struct carm_validation *find(const struct carm_validation_set *set, const char *model,
                                          const char *level)
{
    const struct carm_validation *found = NULL;
    for (size_t i = 0; i < f.model.nvalidation; i++) {
        const struct carm_validation *v = &f.model.validation[i];
        if (carm_validation_set_equal(&v->set, set) && strcmp(v->model, model) == 0 &&
            strcmp(v->level, level) == 0) {
            assert_null(found); /* once */
            found = v;
        }
    }
    return found;
}

/* A score against the errors of its points, (measured - model) / measured, found by hand. */
static void assert_score(const char *model, const char *level, const double *errors, int n,
                         double worst_intensity, double worst_error)
{
    const struct carm_validation *v = find(&one_fma, model, level);
    double measured = 0.0;
    double modelled = 0.0;
    if (!v) {
        fail_msg("no score of %s on %s", model, level);
        return;
    }
    for (int i = 0; i < n; i++) {
        const double by_model = 1.0 / (1.0 - errors[i]) - 1.0;
        measured += errors[i] * errors[i] / n;
        modelled += by_model * by_model / n;
    }
    assert_int_equal(v->n, n);
    assert_near(v->rrmse, sqrt(measured), 1e-12);
    assert_near(v->rrmse_model, sqrt(modelled), 1e-12);
    assert_near(v->fitness, 100.0 / (1.0 + sqrt(measured)), 1e-9);
    assert_near(v->worst_intensity, worst_intensity, 1e-9 * worst_intensity);
    assert_near(v->worst_error, worst_error, 1e-12);
}

/* The four points of most tests. I at the core, at L2 and at DRAM; what each model says (GF/s):
 *                I      at L2   at DRAM    measured   cache-aware   L2 (60)   DRAM (13)   mix (12)
 *   L1           1      100     200        80         100           200       200         200
 *   L1           4      400     800        250        200           200       200         200
 *   L2           1      0.8     125        40         50            48        200         200
 *   DRAM         0.1    0.08    0.08       1.2        0.9           4.8       1.04        0.96
 * The mix: 9 GB/s at the core are 9 x 4/3 at memory, stores' lines filled and written back. */
static void add_points(const struct carm_validation_set *set)
{
    add_point(set, "L1", 1000, 80e9, 10, 5);
    add_point(set, "L1", 4000, 250e9, 10, 5);
    add_point(set, "L2", 1000, 40e9, 1250, 8);
    add_point(set, "DRAM", 100, 1.2e9, 1250, 1250);
}

TEST_BETWEEN(scores_by_hand, open_fixture, close_fixture)
{
    add_points(&one_fma);
    score(&one_fma);
    const double aware[] = {-0.25, 0.2, -0.25, 0.25};
    assert_score("cache-aware", "L1", aware, 2, 1.0, -0.2);
    assert_score("cache-aware", "L2", aware + 2, 1, 1.0, -0.2);
    assert_score("cache-aware", "DRAM", aware + 3, 1, 0.1, 1.0 / 3);
    assert_non_null(find(&one_fma, "cache-aware", "all"));
    assert_int_equal(find(&one_fma, "cache-aware", "all")->n, 4);
    const double original[] = {-1.5, 0.2, -4.0, 0.16 / 1.2};
    assert_score("original", "L1", original, 2, 200.0, -0.6);
    assert_score("original", "L2", original + 2, 1, 125.0, -0.8);
    assert_score("original", "DRAM", original + 3, 1, 0.08, 1.2 / 1.04 - 1.0);
    assert_score("original", "all", original, 4, 125.0, -0.8);
    const double at_l2[] = {-1.5, 0.2, -0.2, -3.0};
    assert_score("original-L2", "L1", at_l2, 2, 100.0, -0.6);
    assert_score("original-L2", "L2", at_l2 + 2, 1, 0.8, 40.0 / 48 - 1.0);
    assert_score("original-L2", "all", at_l2, 4, 0.08, -0.75);
    const double mix[] = {-1.5, 0.2, -4.0, 0.2};
    assert_score("original-mix", "DRAM", mix + 3, 1, 0.08, 0.25);
    assert_score("original-mix", "all", mix, 4, 125.0, -0.8);
    assert_int_equal(f.model.nvalidation, 4 * 4);
}

/* Scoring and fitting leave the points' order and values alone. */
TEST_BETWEEN(points_stay_as_they_are, open_fixture, close_fixture)
{
    struct carm_validation_point before[8];
    add_points(&one_fma);
    add_points(&one_mad);
    memcpy(before, f.model.validation_points, sizeof before);
    score(&one_fma);
    assert_int_equal(carm_validation_fit_levels(&f.model, &one_fma, 0.0, NULL), 0);
    assert_int_equal(f.model.nvalidation_points, 8);
    assert_memory_equal(f.model.validation_points, before, sizeof before);
}

TEST_BETWEEN(other_mixes_count_their_own_traffic, open_fixture, close_fixture)
{
    (void)strcpy(f.model.config.ldst, "update");
    (void)strcpy(f.memory[4].ldst, "update"); /* 9 GB/s at the core are 9 at memory */
    add_point(&one_fma, "DRAM", 100, 1.0e9, 1000, 1000);
    score(&one_fma);
    const double error[] = {0.1};
    assert_score("original-mix", "DRAM", error, 1, 0.1, 1.0 / 0.9 - 1.0);
    /* L2's best stream is the one of loads, whatever the model's mix */
    assert_near(carm_predict_original(&f.model, f.model.validation_points, 1), 6e9, 1.0);
    assert_near(carm_predict_original(&f.model, f.model.validation_points, 2), 1.3e9, 1.0);
    assert_near(carm_predict_original(&f.model, f.model.validation_points, 0), 0.0, 0.0);
    assert_near(carm_predict_original(&f.model, f.model.validation_points, 3), 0.0, 0.0);
}

/* What codes A and B gave in the same run; on shared levels right after the point, which wins. */
TEST_BETWEEN(beside_the_nearest_roof_counts, open_fixture, close_fixture)
{
    add_points(&one_fma);
    add_beside(&one_mad, "L1", 1e9); /* another set's */
    add_beside(&one_fma, "L1", 80e9);
    add_beside(&one_fma, "L2", 40e9);
    add_beside(&one_fma, "DRAM", 1e9);
    add_beside(&one_fma, "peak", 250e9);
    f.model.validation_points[3].beside = 9.6e9; /* 0.96 GF/s: an error of 0.2; the others of 0 */
    score(&one_fma);
    assert_near(find(&one_fma, "cache-aware", "DRAM")->rrmse_beside, 0.2, 1e-12);
    assert_near(find(&one_fma, "cache-aware", "DRAM")->fitness_beside, 100.0 / 1.2, 1e-9);
    assert_near(find(&one_fma, "cache-aware", "L1")->rrmse_beside, 0.0, 1e-12);
    assert_near(find(&one_fma, "cache-aware", "L1")->fitness_beside, 100.0, 1e-9);
    assert_near(find(&one_fma, "cache-aware", "all")->rrmse_beside, 0.1, 1e-12);
    /* the model itself was not touched by it, nor the models that have none */
    assert_near(find(&one_fma, "cache-aware", "DRAM")->rrmse, 0.25, 1e-12);
    assert_near(find(&one_fma, "original", "DRAM")->fitness_beside, 0.0, 0.0);
}

TEST_BETWEEN(without_roofs_beside_there_is_no_such_score, open_fixture, close_fixture)
{
    add_points(&one_fma);
    add_beside(&one_fma, "L1", 80e9);
    add_beside(&one_fma, "peak", 250e9);
    score(&one_fma);
    assert_near(find(&one_fma, "cache-aware", "L1")->fitness_beside, 100.0, 1e-9);
    assert_near(find(&one_fma, "cache-aware", "L2")->fitness_beside, 0.0, 0.0);
    assert_near(find(&one_fma, "cache-aware", "all")->fitness_beside, 0.0, 0.0);
}

TEST_BETWEEN(sets_do_not_mix, open_fixture, close_fixture)
{
    f.roofs[0].dram_peak.bandwidth = 26e9; /* of two threads */
    add_point(&two_fma, "DRAM", 100, 1.3e9, 1250, 1250);
    add_point(&one_mad, "L1", 4000, 50e9, 10, 5);
    add_points(&one_fma);
    score(&one_fma);
    assert_int_equal(find(&one_fma, "cache-aware", "L1")->n, 2);
    assert_int_equal(find(&one_fma, "original", "DRAM")->n, 1);
    assert_null(find(&one_mad, "cache-aware", "L1"));
    score(&one_mad);
    score(&two_fma);
    assert_near(find(&one_mad, "cache-aware", "all")->rrmse, 1.0, 1e-12); /* 100 instead of 50 */
    assert_int_equal(find(&one_mad, "original", "all")->n, 1);
    assert_null(find(&one_mad, "cache-aware", "L2"));
    assert_near(find(&two_fma, "original", "all")->rrmse, 0.6, 1e-12); /* 2.08 instead of 1.3 */
}

TEST_BETWEEN(what_the_model_lacks_gets_no_score, open_fixture, close_fixture)
{
    f.roofs[1].dram_peak.bandwidth = 0.0;
    add_points(&one_fma);
    score(&one_fma);
    assert_null(find(&one_fma, "original", "L1"));
    assert_null(find(&one_fma, "original", "all"));
    assert_int_equal(find(&one_fma, "original-L2", "all")->n, 4);
    assert_int_equal(find(&one_fma, "original-mix", "all")->n, 4);
    assert_int_equal(find(&one_fma, "cache-aware", "all")->n, 4);
    (void)close_fixture(NULL);
    (void)open_fixture(NULL); /* a level without a roof of the mix, a point without traffic */
    (void)strcpy(f.memory[1].ldst, "4:1");
    add_points(&one_fma);
    f.model.validation_points[0].ntraffic = 0;
    score(&one_fma);
    assert_null(find(&one_fma, "cache-aware", "L2"));
    assert_int_equal(find(&one_fma, "cache-aware", "all")->n, 3);
    assert_int_equal(find(&one_fma, "original", "all")->n, 3);
    (void)close_fixture(NULL);
    (void)open_fixture(NULL); /* memory alone: nothing crosses, the cache-aware model holds */
    f.model.levels = &f.levels[2];
    f.model.nlevels = 1;
    add_point(&one_fma, "DRAM", 100, 1.2e9, 0, 0);
    f.model.validation_points[0].ntraffic = 0;
    score(&one_fma);
    const double error[] = {0.25};
    assert_score("cache-aware", "DRAM", error, 1, 0.1, 1.0 / 3);
    assert_score("cache-aware", "all", error, 1, 0.1, 1.0 / 3);
    assert_int_equal(f.model.nvalidation, 2);
    (void)close_fixture(NULL);
    (void)open_fixture(NULL); /* one cache and memory: bytes cross between these */
    f.model.levels = &f.levels[1];
    f.model.nlevels = 2;
    add_point(&one_fma, "DRAM", 100, 1.2e9, 1250, 0);
    score(&one_fma);
    assert_int_equal(find(&one_fma, "original", "DRAM")->n, 1);
}

TEST_BETWEEN(refuses_a_point_without_time, open_fixture, close_fixture)
{
    add_points(&one_fma);
    f.model.validation_points[2].seconds = 0.0;
    assert_refused(carm_validation_score(&f.model, &one_fma, &err), -CARM_EINVAL,
                   "a score needs finite performance");
}

static double number(const json_t *obj, const char *name)
{
    const json_t *value = json_object_get(json_object_get(obj, name), "value");
    fail_if(!json_is_number(value), "tests/data/machines.json lacks %s", name);
    return json_number_value(value);
}

/* The machines of Ilic et al. 2014: ridges at 1/6, and Table 2's classes left and right of it. */
TEST(machines_of_the_paper)
{
    char path[4096];
    const char *top = getenv("CARM_TOP");
    json_error_t error;
    size_t i = 0;
    size_t k = 0;
    const json_t *m = NULL;
    const json_t *c = NULL;
    (void)snprintf(path, sizeof path, "%s/tests/data/machines.json", top && *top ? top : ".");
    json_t *root = json_load_file(path, 0, &error);
    fail_if(!root, "%s: %s", path, error.text);
    const json_t *published = json_object_get(root, "published");
    assert_int_equal(json_array_size(json_object_get(root, "machines")), 3);
    assert_int_equal(json_array_size(json_object_get(published, "classes")), 3);
    json_array_foreach(json_object_get(root, "machines"), i, m)
    {
        const double peak = number(m, "peak");
        (void)open_fixture(NULL);
        f.memory[0].bandwidth = number(m, "l1_peak");
        f.compute[1].rate = peak; /* mad, the paper's */
        f.roofs[1].dram_peak.bandwidth = number(m, "dram_peak");
        json_array_foreach(json_object_get(published, "classes"), k, c)
        {
            const double flops = number(c, "flops_per_iteration");
            const double intensity = flops / number(c, "bytes_per_iteration");
            const double attainable = k == 0 ? 6.0 / 64 * peak : peak;
            /* as the paper says the model does: within 10% */
            add_point(&one_mad, "L1", 1000.0 * intensity, attainable / 1.1, 1, 1);
            assert_near(carm_predict_cache_aware(&f.model, &f.model.validation_points[k], false),
                        attainable, 1e-9 * peak);
        }
        /* the ridge itself, and a hair left of it */
        add_point(&one_mad, "L1", 1000.0 / 6, peak / 1.1, 1, 1);
        add_point(&one_mad, "L1", 1000.0 / 8, peak * 0.75 / 1.1, 1, 1);
        assert_near(carm_predict_cache_aware(&f.model, &f.model.validation_points[3], false), peak,
                    1e-9 * peak);
        assert_near(carm_predict_cache_aware(&f.model, &f.model.validation_points[4], false),
                    0.75 * peak, 1e-9 * peak);
        /* rRMSE over the measured value: what the paper says: 0.1 is above 90% */
        score(&one_mad);
        const struct carm_validation *v = find(&one_mad, "cache-aware", "all");
        assert_near(v->rrmse, number(published, "rrmse"), 1e-9);
        assert_true(v->fitness > number(published, "fitness_min"));
        (void)close_fixture(NULL);
    }
    json_decref(root);
}
