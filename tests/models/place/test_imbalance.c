/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What imbalance costs: closed forms, and every rank's own bound taken one by one. */
#include "models/place/views.h"
#include "tests/harness/count/rank_rows.h"
#include "tests/unit.h"

static struct carm_view view;

TEST(ratios)
{
    assert_near(carm_imbalance_ratio(4.0, 8.0, 4.0), 2.0, 1e-12);
    assert_near(carm_imbalance_ratio(2.0, 8.0 * (1 + 1e-15), 4.0), 1.0, 1e-12);
    assert_true(carm_imbalance_ratio(2.0, 8.0 * (1 + 1e-15), 4.0) >= 1.0);
    assert_true(carm_imbalance_ratio(CARM_POINT_UNKNOWN, 8.0, 4.0) == 0.0);
    assert_true(carm_imbalance_ratio(0.0, 0.0, 4.0) == 0.0);
    assert_true(carm_imbalance_ratio(0.0, CARM_POINT_UNKNOWN, 4.0) == 0.0);
}

static uint64_t seed = 42;
static double drawn(void) /* above 0, up to 1 */
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return ((double)(seed >> 40) + 1.0) / 16777216.0;
}

/* The bound of the whole is the work over the time of the rank that ends last under its own roofs. */
TEST(ceilings_are_the_last_ranks)
{
    struct carm_place_set *set = calloc(1, sizeof *set);
    struct carm_place *place = calloc(2, sizeof *place);
    assert_non_null(set);
    assert_non_null(place);
    const double flat = 1e10; /* of a thread */
    const double slope = 4e10;
    int computes = 0;
    for (int trial = 0; trial < 200; trial++) {
        const int n = 2 + trial % 9;
        double work = 0.0, bytes = 0.0, threads = 0.0, time = 0.0;
        struct carm_views *views = NULL;
        assert_ok(carm_views_open(&views, "", &err));
        for (int i = 0; i < n; i++) {
            char rank[16];
            (void)snprintf(rank, sizeof rank, "%d", i);
            const int c = 1 + (int)(3.99 * drawn());
            struct carm_point p = row("", "n1", rank, 1e9 * drawn(), 8e9 * drawn(), 1.0);
            p.threads = c;
            assert_ok(carm_views_add(views, &p, &err));
            work += p.flops;
            bytes += p.bytes;
            threads += c;
            time = fmax(time, fmax(p.flops / (c * flat), p.bytes / (c * slope)));
        }
        assert_ok(carm_views_group(views, 0, &err));
        carm_views_get(views, CARM_VIEW_NODE, 0, &view);
        set->sides[CARM_PLACE_CACHE_AWARE].slope = slope * threads;
        set->sides[CARM_PLACE_CACHE_AWARE].peak = flat * threads;
        place->intensity = work / bytes;
        place->roof = fmin(slope * threads * place->intensity, flat * threads);
        struct carm_imbalance_cost cost;
        carm_imbalance_find(&view.imbalance, set, place, (const bool[2]){true, false}, &cost);
        assert_near(cost.at[0] * time / work, 1.0, 1e-9);
        assert_near(cost.gain, fmax(1.0, place->roof * time / work), 1e-9);
        assert_near(cost.lost, 1.0 - work / time / place->roof, 1e-6);
        computes += cost.compute[0];
        carm_views_close(views);
    }
    assert_in_range(computes, 20, 180); /* both kinds came */
    free(place);
    free(set);
}

TEST(memory_of_nodes_bounds_the_original_model)
{
    struct carm_place_set *set = calloc(1, sizeof *set);
    struct carm_place *place = calloc(2, sizeof *place);
    assert_non_null(set);
    assert_non_null(place);
    struct carm_imbalance_cost cost;
    const struct carm_imbalance uneven = {.time = 1.1, .work = 1.25, .bytes = 3.0, .dram = 2.0};
    const bool has[2] = {false, true};
    set->sides[CARM_PLACE_ORIGINAL].slope = 1e10;
    set->sides[CARM_PLACE_ORIGINAL].peak = 1e11;
    place[1].intensity = 4.0;
    place[1].roof = 4e10;
    carm_imbalance_find(&uneven, set, place, has, &cost);
    assert_near(cost.at[1], 2e10, 1e-12); /* bytes of the core have no part in it */
    assert_false(cost.compute[1]);
    assert_near(cost.gain, 2.0, 1e-12);
    assert_false(cost.by_time);
    place[1].intensity = 100.0;
    place[1].roof = 1e11;
    carm_imbalance_find(&uneven, set, place, has, &cost);
    assert_near(cost.at[1], 8e10, 1e-12);
    assert_true(cost.compute[1]);
    assert_near(cost.lost, 0.2, 1e-12);
    /* times that differ more than the work does; and no place at all */
    const struct carm_imbalance slow = {.time = 1.3, .work = 1.0};
    carm_imbalance_find(&slow, set, place, has, &cost);
    assert_near(cost.at[1], 1e11, 1e-12);
    assert_near(cost.gain, 1.3, 1e-12);
    assert_true(cost.by_time);
    carm_imbalance_find(&uneven, set, place, (const bool[2]){false, false}, &cost);
    assert_near(cost.gain, 1.25, 1e-12);
    carm_imbalance_find(&(struct carm_imbalance){.time = 0.0}, set, place,
                        (const bool[2]){false, false}, &cost);
    assert_true(cost.gain == 0.0 && cost.lost == 0.0);
    free(place);
    free(set);
}
