/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of a build on a fake machine: points of the model before, some of the levels, memory domains, sets of roofs that a
 * model lacks. */
#include "models/latency.h"
#include "models/scaling.h"
#include "tests/validation/planted.h"
#include "validation/roofs/lacking.h"
#include "validation/roofs/levels.h"
#include "validation/roofs/numa.h"
#include "validation/series.h"

/* A sweep takes over points of the model before: of this code's ISA, precision and mix, with as many threads, within 2% of
 * the working set, and not disturbed. Where the time ends, the round that it disturbed is dropped. */
TEST(points_of_the_model_before)
{
    enum { ROWS = 10, EACH = 3, STOP = 24 };
    static const struct {
        const char *isa, *precision, *kind;
        int threads;
        double at;
        bool disturbed, taken;
    } rows[ROWS] = {
        {"avx2", "dp", "2:1", 2, 1.0, false, true},    {"avx2", "dp", "2:1", 2, 1.019, false, true},
        {"avx2", "dp", "2:1", 2, 1.021, false, false}, {"avx2", "dp", "2:1", 2, 0.981, false, true},
        {"avx2", "dp", "2:1", 2, 0.979, false, false}, {"avx2", "dp", "2:1", 2, 1.0, true, false},
        {"avx2", "dp", "2:1", 1, 1.0, false, false},   {"avx2", "dp", "1:1", 2, 1.0, false, false},
        {"avx2", "sp", "2:1", 2, 1.0, false, false},   {"sse", "dp", "2:1", 2, 1.0, false, false}};
    struct carm_build_config config;
    struct carm_host host;
    struct carm_build_plan plan;
    struct carm_curve curves[ROWS];
    struct carm_curve_point points[ROWS][2];
    struct carm_model before = {.curves = curves, .ncurves = ROWS};
    const struct carm_build_words few = {.levels = "L1", .ldst = "2:1", .ops = "fma"};
    carm_model_free(build(&config, few, &host));
    config.levels.n = 0; /* all */
    assert_ok(carm_build_plan_open(&plan, &config, &host.cpu, &err));
    const struct carm_code *codes[CARM_CANDIDATES_MAX];
    (void)carm_build_plan_memory(&plan, CARM_AVX2, CARM_DP, &config.mixes[0], true, codes);
    struct carm_build b = {.config = &config,
                           .plan = &plan,
                           .cpu = &host.cpu,
                           .topo = host.topo,
                           .clock = &host.clock,
                           .observer = host.observer,
                           .begin = carm_clock_now(),
                           .until = UINT64_MAX,
                           .reps = 512};
    struct carm_team *team = NULL;
    uint64_t places[2] = {0};
    struct carm_build_set set = {.build = &b, .threads = 2, .places = places};
    assert_ok(carm_team_open(&team, host.topo, &host.clock, 2, 514 * MIB, 2048, &err));
    set.team = team;
    for (int with = 0; with < 4;
         with++) { /* a model before; its time is not known; the time ends */
        struct carm_build_sweep sweep;
        b.before = with ? &before : NULL;
        (void)strcpy(before.created, with == 2 ? "yesterday" : "2026-01-02T03:04:05Z");
        seen.runs = 0;
        seen.stop_at = with == 3 ? STOP : 0;
        team->deadline = (struct carm_deadline){.stop = with == 3 ? &over : NULL};
        assert_ok(carm_build_sweep_open(&sweep, &set, codes[0], &err));
        assert_true(sweep.n > EACH * ROWS || with == 3);
        for (size_t i = 0; i < ROWS; i++) {
            const struct carm_series *p = &sweep.points[EACH * i];
            const double x = 2.0 * (double)(p->shape.windows * p->shape.window_bytes);
            if (with == 0) {
                points[i][0] = (struct carm_curve_point){.x = 0.7 * x, .value = 1.0};
                points[i][1] = (struct carm_curve_point){
                    .x = x * rows[i].at, .value = 7e9, .disturbed = rows[i].disturbed};
                curves[i] = (struct carm_curve){
                    .threads = rows[i].threads, .points = points[i], .npoints = 2};
                (void)strcpy(curves[i].isa, rows[i].isa);
                (void)strcpy(curves[i].precision, rows[i].precision);
                (void)strcpy(curves[i].kind, rows[i].kind);
            } else if (EACH * i < sweep.n) {
                const size_t old = rows[i].taken ? 3 : 0;
                fail_if(p->n != old + 1, "row %zu: %zu rounds", i, p->n);
                for (size_t k = 0; k < old; k++) {
                    assert_near(p->rounds[k].rate, 7e9, 0.0);
                    assert_near(p->rounds[k].at, with == 2 ? 0.0 : 1767323045.0, 0.0);
                    assert_int_equal(p->rounds[k].state, CARM_STATE_QUIET);
                }
            }
        }
        if (with == 3) { /* a run for each point: those before the last are kept */
            assert_int_equal(sweep.n, STOP - 1);
        }
        carm_build_sweep_close(&sweep);
    }
    carm_team_close(team);
    carm_build_plan_close(&plan);
    carm_topo_close(host.topo);
}

/* Without memory among the levels, no ceiling of memory is measured, and each says why. */
TEST(ceilings_without_memory)
{
    struct carm_build_config config;
    struct carm_host host;
    struct carm_model *m = build(
        &config, (struct carm_build_words){.levels = "L1,L2", .ops = "fma", .ceilings = ""}, &host);
    const struct carm_roofs *r = carm_model_find_roofs(m, "avx2", "dp", THREADS);
    size_t traffic = 0;
    assert_true(r && r->nceilings > 0);
    for (size_t i = 0; i < r->nceilings; i++) {
        const struct carm_ceiling_roof *c = &r->ceilings[i];
        const bool memory = c->group == CARM_CEILING_MEMORY || c->group == CARM_CEILING_TRAFFIC;
        fail_if(memory && c->rate > 0.0, "%s: %g byte/s", c->name, c->rate);
        if (c->group == CARM_CEILING_TRAFFIC) {
            assert_non_null(strstr(c->note, "memory is not among the levels"));
            traffic++;
        }
    }
    assert_true(traffic > 0);
    carm_model_free(m);
    carm_topo_close(host.topo);
}

/* Two nodes of two cores each: to each memory from each, and interleaved. */
TEST(memory_domains_are_measured)
{
    struct carm_build_config config;
    struct carm_host host;
    struct carm_build_plan plan;
    struct carm_err none = {""};
    struct carm_model *m =
        build_on(two_nodes, &config,
                 (struct carm_build_words){.ops = "fma", .precision = "dp", .ldst = "2:1"}, &host);
    assert_ok(carm_build_plan_open(&plan, &config, &host.cpu, &err));
    const struct carm_build b = {.config = &config,
                                 .plan = &plan,
                                 .cpu = &host.cpu,
                                 .topo = host.topo,
                                 .clock = &host.clock,
                                 .observer = host.observer,
                                 .last = UINT64_MAX,
                                 .reps = 256};
    /* two layouts of threads, the second of which takes what runs on the same CPUs from the first */
    assert_int_equal(m->nscaling, 2 * (LEVELS + 1));
    for (size_t i = 0; i <= LEVELS; i++) {
        const struct carm_scaling *a = &m->scaling[i], *z = &m->scaling[i + LEVELS + 1];
        assert_string_equal(a->layout, CARM_SCALING_COMPACT);
        assert_string_equal(z->layout, CARM_SCALING_SPREAD);
        assert_string_equal(a->level, z->level);
        assert_int_equal(a->points[0].threads, 1);
        assert_int_equal(z->points[0].threads, 1);
        const struct carm_scaling_point *x = &a->points[a->npoints - 1],
                                        *y = &z->points[z->npoints - 1];
        assert_memory_equal(&a->points[0], &z->points[0], sizeof *x);
        assert_true(x->threads == THREADS && memcmp(x, y, sizeof *x) == 0);
        assert_true(z->npoints > 2 &&
                    z->points[1].threads == 2); /* measured anew: of both sockets */
    }
    assert_int_equal(m->nscaling_units, 1);
    assert_int_equal(m->scaling_units[0].threads, 2);
    const struct carm_roofs *r = carm_model_find_roofs(m, "avx2", "dp", THREADS);
    const struct carm_memory_roof *dram = carm_roofs_find_memory(r, "DRAM", "2:1");
    assert_non_null(dram);
    for (int how = 0; how < 4;
         how++) { /* as asked for; 4 of 64 pages elsewhere; forbidden; notes of latencies */
        pages.elsewhere = how == 1 ? 4 : 0;
        pages.forbidden = how == 2;
        pages.only_first = how == 3 ? 1 : -1;
        pages.bound = -1;
        free(m->numa);
        free(m->numa_nodes);
        m->nnuma = m->nnuma_nodes = 0;
        assert_ok(carm_build_measure_numa(&b, &host, m, &none));
        assert_string_equal(none.text, "");
        assert_int_equal(seen.teams, 0);
        assert_int_equal(m->nnuma, 5);
        assert_int_equal(m->nnuma_nodes, 2);
        for (int i = 0; i < 2; i++) {
            assert_true(m->numa_nodes[i].node == i && m->numa_nodes[i].cores == 2 &&
                        m->numa_nodes[i].memory_bytes > 0);
        }
        for (int from = -1; from < 2; from++) {
            for (int to = from < 0 ? -1 : 0; to < (from < 0 ? 0 : 2); to++) {
                const struct carm_numa_pair *p = carm_numa_find(m, from, to);
                const bool all = from < 0, far = from != to;
                assert_non_null(p);
                assert_int_equal(p->threads, all ? 4 : 2);
                assert_near(p->seconds,
                            all || (how == 3 && to == 1 && far) ? 0.0
                            : far                               ? 180e-9
                                                                : 100e-9,
                            1e-15);
                assert_int_equal(p->page_bytes, p->seconds > 0.0 ? 2 * MIB : 0);
                if (how == 2) {
                    assert_near(p->bandwidth, 0.0, 0.0);
                    assert_non_null(strstr(p->note, "cannot ask for memory of NUMA node"));
                    assert_int_equal(p->working_set_bytes, 0);
                    continue;
                }
                const struct carm_code *code = carm_image_find(plan.image, p->code);
                assert_non_null(code);
                const double most = bandwidth_of(3, p->threads) * (all ? 0.75 : far ? 0.5 : 1.0);
                assert_near(p->bandwidth / (most * speed(code) * carm_build_traffic_share(code)),
                            1.0, 1e-6);
                assert_true(p->bandwidth_ci95.lo <= p->bandwidth &&
                            p->bandwidth <= p->bandwidth_ci95.hi &&
                            p->bandwidth_ci95.lo > 0.9 * p->bandwidth &&
                            p->bandwidth_ci95.hi < 1.1 * p->bandwidth);
                /* as much for each last cache */
                assert_near((double)p->working_set_bytes / (double)dram->working_set_bytes,
                            all ? 1.0 : 0.5, 0.01);
                const bool moved = how == 1 && !all, noted = how == 3 && to == 1;
                assert_string_equal(p->note, moved   ? "only 94% of the pages lie there"
                                             : noted ? "a note of node 1"
                                                     : "");
                assert_int_equal(p->disturbed, moved || (noted && !far));
            }
        }
    }
    carm_model_free(m);
    pages.bound = -1;
    carm_build_plan_close(&plan);
    carm_topo_close(host.topo);
}

/* Rounds that met a shared core are kept, and do not change a figure. */
TEST(disturbed_rounds_change_nothing)
{
    struct carm_build_config config;
    struct carm_host host;
    struct carm_build_plan plan;
    size_t shared = 0;
    seen.shared = 7;
    struct carm_model *m = build(
        &config, (struct carm_build_words){.ops = "fma", .precision = "dp", .ldst = "2:1"}, &host);
    seen.shared = 0;
    assert_ok(carm_build_plan_open(&plan, &config, &host.cpu, &err));
    for (size_t i = 0; i < m->nroofs; i++) {
        const struct carm_roofs *r = &m->roofs[i];
        for (size_t k = 0; k < r->nmemory; k++) {
            const struct carm_memory_roof *x = &r->memory[k];
            size_t l = 0;
            while (strcmp(names[l], x->level) != 0) {
                l++;
            }
            const double rate =
                bandwidth_of(l, r->threads) * best_speed(&plan, &config.mixes[0], l == 0);
            fail_if(fabs(x->bandwidth / rate - 1.0) > 1e-6, "%s, %d threads: %g of %g", x->level,
                    r->threads, x->bandwidth, rate);
            assert_false(x->disturbed);
            for (size_t n = 0; n < x->nrounds; n++) {
                shared += x->rounds[n].state == CARM_STATE_SHARED ||
                          x->rounds[n].state == CARM_STATE_ONE_CORE;
            }
        }
    }
    assert_true(shared > 0);
    carm_model_free(m);
    carm_build_plan_close(&plan);
    carm_topo_close(host.topo);
}

/* Two threads with nine tenths of a rate: doubtful in what each has for itself, not in what they share. */
TEST(slow_numbers_of_threads_are_marked)
{
    struct carm_build_config config;
    struct carm_host host;
    seen.slow = 0.9;
    struct carm_model *m = build(
        &config, (struct carm_build_words){.ops = "fma", .precision = "dp", .ldst = "2:1"}, &host);
    seen.slow = 0.0;
    assert_int_equal(m->nscaling, LEVELS + 1);
    for (size_t i = 0; i <= LEVELS; i++) {
        const struct carm_scaling *s = &m->scaling[i];
        bool two = false;
        for (size_t k = 0; k < s->npoints; k++) {
            const struct carm_scaling_point *p = &s->points[k];
            const bool slow = p->threads == 2, shared = i == 2 || i == 3;
            const double most = i < LEVELS ? bandwidth_of(i, p->threads) : 96e9 * p->threads;
            assert_near(p->rate / (most * speed_of(p->code)), slow ? 0.9 : 1.0, 1e-6);
            assert_int_equal(p->disturbed, slow && !shared);
            two = two || slow;
        }
        assert_true(two);
    }
    carm_model_free(m);
    carm_topo_close(host.topo);
}

/* A set of one number of threads is measured with the working sets of the model: of a core's own caches those of its first
 * roofs, of what is shared a part of them. */
TEST(a_set_that_lacks_is_added)
{
    struct carm_build_config config;
    struct carm_host host;
    struct carm_model *m = build(
        &config, (struct carm_build_words){.ops = "fma", .precision = "dp", .ldst = "2:1"}, &host);
    const size_t before = m->nroofs;
    struct carm_build_lack lack;
    assert_true(carm_build_lacks(m, "sse", "dp", 2, &host.cpu, host.topo, &lack));
    (void)strcpy(m->machine.cpu, "another");
    assert_refused(carm_build_add_lack(m, &lack, &host, &err), -CARM_EINVAL, "another");
    (void)snprintf(m->machine.cpu, sizeof m->machine.cpu, "%s", host.cpu.brand);
    assert_ok(carm_build_add_lack(m, &lack, &host, &err));
    assert_int_equal(m->nroofs, before + 1);
    assert_int_equal(seen.teams, 0);
    assert_true(seen.below_room);
    const struct carm_roofs *r = carm_model_find_roofs(m, "sse", "dp", 2);
    const struct carm_roofs *one = carm_model_find_roofs(m, "avx2", "dp", 1);
    assert_true(r && r->nmemory == LEVELS);
    assert_int_equal(r->ncompute, 7);
    for (size_t l = 0; l < LEVELS; l++) {
        const struct carm_memory_roof *roof = carm_roofs_find_memory(r, names[l], "2:1");
        const double own = (double)carm_roofs_find_memory(one, names[l], "2:1")->working_set_bytes;
        const bool shared = l > 1;
        const double part = (double)roof->working_set_bytes / (own * (shared ? 1.0 : 2.0));
        assert_true(part > 0.6 && part < 1.001); /* less the padding of streams */
        assert_true(roof->bandwidth > 0.8 * bandwidth_of(l, 2) &&
                    roof->bandwidth <= bandwidth_of(l, 2) * (1 + 1e-9));
    }
    assert_false(carm_build_lacks(m, "sse", "dp", 2, &host.cpu, host.topo, &lack));
    carm_model_free(m);
    carm_topo_close(host.topo);
}
