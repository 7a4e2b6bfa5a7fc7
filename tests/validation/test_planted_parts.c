/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of a build on a fake machine: points of the model before, some of the levels, memory domains, sets of roofs that a
 * model lacks. */
#include "models/latency.h"
#include "models/scaling.h"
#include "tests/counter.h"
#include "tests/validation/planted.h"
#include "validation/roofs/lacking.h"
#include "validation/roofs/levels.h"
#include "validation/roofs/numa.h"
#include "validation/roofs/result.h"

/* Points of a sweep that are slower, or have no figure: from, to MiB of all threads together */
static struct {
    double from, to;
    bool fails;
} strange;

static void at_odd_points(const struct carm_team *team, const struct carm_code *code,
                          uint64_t set_bytes, size_t reps)
{
    const double all = (double)set_bytes * team->n / MIB;
    const bool is = all > strange.from && all < strange.to;
    seen.slow = is && !strange.fails ? 1 / 1.08 : 0.0;
    seen.fails = is && strange.fails ? code->name : NULL;
}

/* A sweep takes over points of the model before: of this code's ISA, precision and mix, with as many threads, within 2% of
 * the working set, and not disturbed. Where the time ends, the round that it disturbed is dropped. */
TEST(points_of_the_model_before)
{
    enum { ROWS = 10, EACH = 3, STOP = 24, OLD = 3 };
    static const struct {
        const char *isa, *precision, *kind;
        int threads;
        double at;
        bool disturbed, taken;
    } rows[ROWS] = {{"avx2", "dp", "2:1", 2, 1.0, false, true},
                    {"avx2", "dp", "2:1", 2, 1.0198, false, true},
                    {"avx2", "dp", "2:1", 2, 1.0202, false, false},
                    {"avx2", "dp", "2:1", 2, 0.9802, false, true},
                    {"avx2", "dp", "2:1", 2, 0.9798, false, false},
                    {"avx2", "dp", "2:1", 2, 1.0, true, false},
                    {"avx2", "dp", "2:1", 1, 1.0, false, false},
                    {"avx2", "dp", "1:1", 2, 1.0, false, false},
                    {"avx2", "sp", "2:1", 2, 1.0, false, false},
                    {"sse", "dp", "2:1", 2, 1.0, false, false}};
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
    /* A model before; its time is not known; the time ends, also at a point that has rounds. Larger caches, beyond twice
     * whose size the sweep ends: where the last points are within 7%, and all have a figure */
    for (int with = 0; with < 9; with++) {
        struct carm_build_sweep sweep;
        b.before = with ? &before : NULL;
        (void)strcpy(before.created, with == 2 ? "yesterday" : "2026-01-02T03:04:05Z");
        seen.runs = 0;
        over = 0;
        seen.stop_at = with == 3 ? STOP : with == 4 ? OLD + 1 : 0;
        team->deadline = (struct carm_deadline){.stop = with == 3 || with == 4 ? &over : NULL};
        if (with > 4) {
            host.topo->caches[2].size_bytes = (uint64_t)(50.1 * MIB);
            host.topo->ncaches = with == 8 ? 0 : 3;
            strange.from = with == 5 || with == 8 ? 1e9 : 60;
            strange.to = with == 6 ? 1e9 : 70;
            strange.fails = with == 7;
            seen.watch = at_odd_points;
        }
        carm_build_use(&set);
        assert_ok(carm_build_sweep_open(&sweep, &set, codes[0], &err));
        assert_true(sweep.n > EACH * ROWS || with == 3 || with == 4);
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
                fail_if(p->n != old + (with != 4 || i != OLD / EACH), "row %zu: %zu rounds", i,
                        p->n);
                for (size_t k = 0; k < old; k++) {
                    assert_near(p->rounds[k].rate, 7e9, 0.0);
                    assert_near(p->rounds[k].at, with == 2 ? 0.0 : 1767323045.0, 0.0);
                    assert_int_equal(p->rounds[k].state, CARM_STATE_QUIET);
                }
            }
        }
        if (with == 3) { /* a run for each point: those before the last are kept */
            assert_int_equal(sweep.n, STOP - 1);
        } else if (with == 4) {
            assert_int_equal(sweep.n, OLD + 1);
        }
        const struct carm_series *last = &sweep.points[sweep.n - 1];
        const double end = 2.0 * (double)(last->shape.windows * last->shape.window_bytes) / MIB;
        const double ends[] = {101.6, 161.3, 203.2, 511.7};
        assert_int_equal(last->shared, with < 3 || (with > 4 && with < 8));
        assert_true(with < 8 || seen.target == 5e-6);
        fail_if(with > 4 && fabs(end / ends[with - 5] - 1.0) > 0.01, "with %d: %g MiB", with, end);
        carm_build_sweep_close(&sweep);
    }
    seen.watch = NULL;
    seen.slow = 0.0;
    seen.fails = NULL;
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
    runs_are(2054, 135040, 2054, 0x447e3b4431f766a1);
    figures_are(m, 0xfe05f35f5c0dd498);
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
    runs_are(1376, 108736, 1376, 0x35f6f12f2faeccdc);
    figures_are(m, 0xe1c53df013287237);
    assert_ok(carm_build_plan_open(&plan, &config, &host.cpu, &err));
    struct carm_build b = {.config = &config,
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
    const size_t nroofs = m->nroofs;
    static const struct {
        size_t n, reps;
        uint64_t print, figures;
    } runs[] = {{20, 1280, 0x937ae20bbf8429db, 0xf3c189112b785433},
                {20, 1280, 0x937ae20bbf8429db, 0xe52380ff2b64e57d},
                {0, 0, 0x559f26225037a769, 0x14d8062ae0359017},
                {40, 2560, 0x503cd4e05d592db3, 0x79f412a4fbf67466},
                {23, 1472, 0x95569a7237b5460e, 0x3bd676b0f0997035},
                {0, 0, 0x459e9eb4e8aeed2d, 0xe5522d0b7a6d4f3a},
                {5, 320, 0x6be6a296d7162fab, 0x6ca5cdb536bc4fbe}};
    for (int how = 0; how < 7; how++) {
        /* as asked for; 4 of 64 pages elsewhere; forbidden; notes of latencies; these beside pages that are all
         * elsewhere and disturbed rounds; no roof of memory; runs without a repetition */
        seen.fails = how == 6 ? "" : NULL;
        pages.elsewhere = how == 1 ? 4 : how == 4 ? 64 : 0;
        pages.forbidden = how == 2;
        pages.only_first = how == 3 || how == 4 ? 1 : -1;
        pages.binds = 0;
        seen.odd = how == 4 ? 3 : 0;
        m->nroofs = how == 5 ? 0 : nroofs;
        pages.bound = -1;
        free(m->numa);
        free(m->numa_nodes);
        m->nnuma = m->nnuma_nodes = 0;
        b.reps = how == 3 ? 4096 : 256;
        seen.reps = seen.runs = seen.patient = 0;
        seen.print = FINGERPRINT_NONE;
        assert_ok(carm_build_measure_numa(&b, &host, m, &none));
        runs_are(runs[how].n, runs[how].reps, runs[how].n, runs[how].print);
        figures_are(m, runs[how].figures);
        assert_int_equal(pages.binds, how == 2 || how == 5 ? 0 : 12); /* each thread's */
        if (how >= 4) {
            assert_int_equal(m->nnuma, how == 4 ? 5 : 4);
            continue;
        }
        assert_string_equal(none.text, "");
        assert_int_equal(seen.teams, 0);
        assert_int_equal(m->nnuma, 5);
        assert_int_equal(m->nnuma_nodes, 2);
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
    struct carm_topo *one = NULL; /* one node: nothing is measured */
    assert_ok(carm_topo_open(&one, machine, NULL, &err));
    b.topo = one;
    assert_ok(carm_build_measure_numa(&b, &host, m, &none));
    assert_int_equal(m->nnuma, 4);
    carm_topo_close(one);
    m->nroofs = nroofs;
    carm_model_free(m);
    pages.bound = -1;
    seen.odd = 0;
    seen.fails = NULL;
    carm_build_plan_close(&plan);
    carm_topo_close(host.topo);
}

/* Rounds that met a shared core are kept, and do not change a figure; the code is one of the best. */
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
    runs_are(1458, 115072, 1394, 0xed195c0be84f1ee2);
    figures_are(m, 0x30df4c70c8ff7790);
    assert_ok(carm_build_plan_open(&plan, &config, &host.cpu, &err));
    for (size_t i = 0; i < m->nroofs; i++) {
        const struct carm_roofs *r = &m->roofs[i];
        for (size_t k = 0; k < r->nmemory; k++) {
            const struct carm_memory_roof *x = &r->memory[k];
            size_t l = 0;
            while (strcmp(names[l], x->level) != 0) {
                l++;
            }
            const double most = bandwidth_of(l, r->threads), share = speed_of(x->code);
            fail_if(fabs(x->bandwidth / (most * share) - 1.0) > 1e-6, "%s, %d threads: %g of %g",
                    x->level, r->threads, x->bandwidth, most * share);
            assert_true(share > 0.99 * best_speed(&plan, &config.mixes[0], l == 0));
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

/* A cache that the curve does not show, or shows to end far beyond its size, keeps working set and end of the model before. */
TEST(levels_are_recalled)
{
    static const uint64_t sizes[] = {2 * MIB, 16 * MIB};
    struct carm_build_config config;
    struct carm_host host;
    const struct carm_code_counter counter = {.provider = CARM_PROVIDER_NONE};
    struct carm_model *before = build(
        &config, (struct carm_build_words){.ops = "fma", .precision = "dp", .ldst = "2:1"}, &host);
    const size_t curves = before->ncurves;
    before->ncurves = 0; /* its points would show the cache */
    for (size_t i = 0; i < 2; i++) {
        struct carm_build_done done = {.reps = 0};
        struct carm_model *m = NULL;
        seen.l3_bytes = sizes[i];
        assert_ok(carm_build_run(&config, &host, &counter, before, &m, &done, &err));
        seen.l3_bytes = 0;
        figures_are(m, i ? 0x2e2ab5b36c8d599e : 0xdb317b39f067dab1);
        assert_string_equal(m->levels[2].level, "L3");
        fail_if(m->levels[2].knee_bytes != before->levels[2].knee_bytes, "%llu: %llu not %llu",
                (unsigned long long)sizes[i], (unsigned long long)m->levels[2].knee_bytes,
                (unsigned long long)before->levels[2].knee_bytes);
        for (size_t t = 0; t < 2; t++) {
            const struct carm_memory_roof *x = carm_roofs_find_memory(
                carm_model_find_roofs(m, "avx2", "dp", t ? THREADS : 1), "L3", "2:1");
            const struct carm_memory_roof *old = carm_roofs_find_memory(
                carm_model_find_roofs(before, "avx2", "dp", t ? THREADS : 1), "L3", "2:1");
            assert_near((double)x->working_set_bytes / (double)old->working_set_bytes, 1.0, 0.01);
        }
        carm_model_free(m);
    }
    before->ncurves = curves;
    carm_model_free(before);
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
    runs_are(1371, 107072, 1371, 0x4613afe6d6b65ec8);
    figures_are(m, 0x4d0742abbca762ab);
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

static size_t ends;

static void count_ends(const char *what, double done, double left_seconds)
{
    ends += what == NULL;
}

static size_t
    failing; /* level whose runs have no repetition; LEVELS: of operations; LEVELS + 1: all */

static void fail_level(const struct carm_team *team, const struct carm_code *code,
                       uint64_t set_bytes, size_t reps)
{
    const bool memory = code->spec.kind == CARM_KIND_A;
    const size_t level = memory ? level_of(set_bytes, team->n) : LEVELS;
    seen.fails = level == failing || failing > LEVELS ? code->name : NULL;
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
    seen.now = 0.0;
    seen.counter_hz = clock_hz; /* its four seconds are those of the runs */
    ends = 0;
    host.observer->show = count_ends;
    counter_plant(counter_now);
    struct carm_build_lack lack;
    assert_true(carm_build_lacks(m, "sse", "dp", 2, &host.cpu, host.topo, &lack));
    (void)strcpy(m->machine.cpu, "another");
    assert_refused(carm_build_add_lack(m, &lack, &host, &err), -CARM_EINVAL, "another");
    (void)snprintf(m->machine.cpu, sizeof m->machine.cpu, "%s", host.cpu.brand);
    assert_ok(carm_build_add_lack(m, &lack, &host, &err));
    assert_int_equal(m->nroofs, before + 1);
    assert_int_equal(ends, 1);
    assert_near(host.observer->total, 1.0, 0.0);
    host.observer->show = NULL;
    assert_int_equal(seen.teams, 0);
    assert_true(seen.below_room);
    const struct carm_roofs *r = carm_model_find_roofs(m, "sse", "dp", 2);
    const struct carm_roofs *one = carm_model_find_roofs(m, "avx2", "dp", 1);
    assert_true(r && r->nmemory == LEVELS);
    assert_int_equal(r->ncompute, 7);
    runs_are(1831, 156864, 1831, 0xa3956afc44b97c62);
    figures_are(m, 0x662e6d1a531666e0);
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
    /* as many threads as a set has: the working sets are that set's */
    assert_true(carm_build_lacks(m, "sse", "dp", THREADS, &host.cpu, host.topo, &lack));
    assert_ok(carm_build_add_lack(m, &lack, &host, &err));
    r = carm_model_find_roofs(m, "sse", "dp", THREADS);
    const struct carm_roofs *all = carm_model_find_roofs(m, "avx2", "dp", THREADS);
    for (size_t l = 0; l < LEVELS; l++) {
        const double part = (double)carm_roofs_find_memory(r, names[l], "2:1")->working_set_bytes /
                            (double)carm_roofs_find_memory(all, names[l], "2:1")->working_set_bytes;
        assert_true(part > 0.6 && part < 1.001);
    }
    runs_are(2315, 207040, 2315, 0x52caacb0da15693a);
    figures_are(m, 0x5ed4d9054a7a201c);
    /* a level, all operations or all without a figure: the set is not kept for whole */
    seen.watch = fail_level;
    assert_true(carm_build_lacks(m, "scalar", "dp", 2, &host.cpu, host.topo, &lack));
    for (failing = 0; failing <= LEVELS + 1; failing++) {
        assert_refused(carm_build_add_lack(m, &lack, &host, &err), -CARM_EIO,
                       "the machine was too busy to measure each level in 4 s");
    }
    seen.watch = NULL;
    seen.fails = NULL;
    (void)strcpy(m->levels[1].level, "L9"); /* which has no roof in the model */
    assert_ok(carm_build_add_lack(m, &lack, &host, &err));
    assert_int_equal(m->roofs[m->nroofs - 1].nmemory, LEVELS - 1);
    assert_int_equal(m->roofs[m->nroofs - 1].ncompute, 7);
    counter_plant(NULL);
    seen.counter_hz = 0.0;
    carm_model_free(m);
    carm_topo_close(host.topo);
}

/* The highest speed of an ISA's candidates: few beside the widest, but for the first level. */
static double best_of(const struct carm_build_plan *plan, enum carm_isa isa,
                      const struct carm_mix *mix, size_t level, bool few)
{
    const struct carm_code *codes[CARM_CANDIDATES_MAX];
    double best = 0.0;
    const size_t n = carm_build_plan_memory(plan, isa, CARM_DP, mix, level == 0, codes);
    for (size_t i = 0; i < n; i++) {
        const struct carm_code_spec *s = &codes[i]->spec;
        const bool kept =
            s->order == CARM_ORDER_UNIT && (s->prefetch_bytes == 0 || s->prefetch_bytes == 1024);
        best = level > 0 && few && !kept ? best : fmax(best, speed(codes[i]));
    }
    return best;
}

/* Narrower ISAs beside the widest have the model's mix on each level, of fewer codes, and each operation. */
TEST(isas_beside_the_widest)
{
    static const enum carm_isa isas[] = {CARM_AVX2, CARM_SSE, CARM_SCALAR};
    struct carm_build_config config;
    struct carm_host host;
    struct carm_build_plan plan;
    struct carm_model *m =
        build(&config,
              (struct carm_build_words){.isa = "", .ops = "fma", .precision = "dp", .ldst = "2:1"},
              &host);
    runs_are(2008, 164352, 2008, 0x5653fe588f355b46);
    figures_are(m, 0xa23b3ff43325dc3e);
    assert_ok(carm_build_plan_open(&plan, &config, &host.cpu, &err));
    assert_int_equal(m->nroofs, 6);
    for (size_t i = 0; i < 6; i++) {
        const enum carm_isa isa = isas[i / 2];
        const int threads = i % 2 ? THREADS : 1;
        const struct carm_roofs *r = carm_model_find_roofs(m, carm_isa_name(isa), "dp", threads);
        assert_true(r && r->nmemory == LEVELS && r->ncompute == 1);
        for (size_t l = 0; l < LEVELS; l++) {
            const struct carm_memory_roof *x = carm_roofs_find_memory(r, names[l], "2:1");
            const double want = bandwidth_of(l, threads) *
                                best_of(&plan, isa, &config.mixes[0], l, isa != CARM_AVX2);
            fail_if(fabs(x->bandwidth / want - 1.0) > 1e-6, "%s, %d threads, %s: %g of %g", r->isa,
                    threads, names[l], x->bandwidth, want);
            assert_false(x->disturbed);
        }
        const double width = carm_isa_vector_bytes(isa, CARM_DP) / 32.0;
        assert_near(r->compute[0].rate / (96e9 * threads * width * speed_of(r->compute[0].code)),
                    1.0, 1e-6);
    }
    carm_model_free(m);
    carm_build_plan_close(&plan);
    carm_topo_close(host.topo);
}

/* A search keeps the codes that are faster than the best usual one, with their gain. */
TEST(winners_of_a_search_are_kept)
{
    struct carm_build_config config;
    struct carm_host host;
    struct carm_build_plan plans[2];
    struct carm_winners found = {.n = 0};
    size_t kept = 0;
    winners = &found;
    struct carm_model *m =
        build(&config,
              (struct carm_build_words){.ops = "fma", .precision = "dp", .ldst = "2:1,1:1,1:0,0:1"},
              &host);
    winners = NULL;
    runs_are(10471, 1113024, 10471, 0x1ee3cd131fb858f7);
    figures_are(m, 0x1d7c70a7a5bf7c94);
    for (int usual = 0; usual < 2; usual++) {
        config.found = usual ? NULL : &found;
        assert_ok(carm_build_plan_open(&plans[usual], &config, &host.cpu, &err));
    }
    const struct carm_roofs *r = carm_model_find_roofs(m, "avx2", "dp", THREADS);
    for (size_t i = 0; i < LEVELS * config.nmixes; i++) {
        const struct carm_mix *mix = &config.mixes[i % config.nmixes];
        const size_t l = i / config.nmixes;
        const double gain = best_of(&plans[0], CARM_AVX2, mix, l, false) /
                            best_of(&plans[1], CARM_AVX2, mix, l, false);
        struct carm_winner like = {.machine = "Zen 3"};
        char name[16];
        carm_mix_name(mix, name);
        (void)snprintf(like.code, sizeof like.code, "A.avx2.dp.%s.u4", name);
        (void)strcpy(like.level, names[l]);
        const struct carm_winner *w = carm_winners_find(&found, &like);
        fail_if((w != NULL) != (gain >= 1.005), "%s %s: %g", names[l], name, gain);
        if (w) {
            assert_near(w->gain, gain, 1e-6);
            assert_string_equal(w->code, carm_roofs_find_memory(r, names[l], name)->code);
            assert_non_null(strstr(w->source, " thread"));
            kept++;
        }
    }
    assert_true(kept > 0 && found.n == kept);
    carm_winners_close(&found);
    carm_model_free(m);
    carm_build_plan_close(&plans[0]);
    carm_build_plan_close(&plans[1]);
    carm_topo_close(host.topo);
}

/* A figure's faults, rules that it breaks, and threads without a core each. */
TEST(roofs_say_what_is_odd)
{
    enum { PAIRED = 1, UNSEARCHED = 2, KNOWN = 4, WIDE = 8, BROKEN = 16, NEVER = 32 };
    static const struct {
        enum carm_op op; /* 0 of a memory roof */
        bool memory, sound;
        enum carm_state state;
        unsigned odd;
        size_t rounds, shared, alike; /* rounds of a shared core, sound ones of other threads */
        bool disturbed;
        const char *note; /* NULL = no roof */
    } rows[] = {
        {0, true, true, CARM_STATE_QUIET, 0, 9, 0, 0, false, ""},
        {0, true, true, CARM_STATE_QUIET, NEVER, 9, 0, 0, false, NULL},
        {0, true, true, CARM_STATE_QUIET, BROKEN, 9, 0, 0, true, "slower than with 1 thread"},
        {0, true, false, CARM_STATE_ONE_CORE, 0, 9, 0, 0, true,
         "measured while threads shared cores: expect up to twice as much"},
        {0, true, false, CARM_STATE_SHARED, BROKEN, 9, 0, 0, true,
         "fewer than 3 sound rounds of 9: "},
        {0, true, true, CARM_STATE_APART, 0, 9, 0, 0, false, "threads on two core complexes"},
        {0, true, true, CARM_STATE_QUIET, UNSEARCHED, 9, 0, 0, true,
         "the time for comparing codes was over: another may be faster (give more with --budget)"},
        {0, true, true, CARM_STATE_QUIET, UNSEARCHED | KNOWN, 9, 0, 0, false, ""},
        {0, true, true, CARM_STATE_QUIET, WIDE, 9, 0, 0, true, "its rounds differ by 20%"},
        {0, true, true, CARM_STATE_QUIET, PAIRED, 9, 0, 0, false,
         "threads without a core each, as in every round"},
        {CARM_FMA, false, true, CARM_STATE_QUIET, 0, 1, 0, 0, false, ""},
        {CARM_FMA_ADD, false, true, CARM_STATE_QUIET, 0, 6, 0, 0, false, ""},
        {CARM_FMA_ADD, false, true, CARM_STATE_QUIET, 0, 6, 1, 0, true,
         "fewer than 6 sound rounds, and mixtures have faster and slower schedules"},
        {CARM_FMA_ADD, false, true, CARM_STATE_QUIET, 0, 6, 1, 1, false, ""},
    };
    struct carm_build_config config = {.isas = {CARM_AVX2},
                                       .nisas = 1,
                                       .precisions = {CARM_DP},
                                       .nprecisions = 1,
                                       .threads = {THREADS},
                                       .nthreads = 1};
    struct carm_cpu cpu = {.fma = true};
    const struct carm_clock clock = {.tsc_hz = clock_hz};
    struct carm_topo *t = NULL;
    uint64_t places[THREADS] = {0};
    cpu.isa[CARM_AVX2] = true;
    assert_ok(carm_topo_open(&t, machine, NULL, &err));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        static const struct carm_mix mix = {.loads = 2, .stores = 1};
        const struct carm_code code = {.spec = {.mix = mix, .op = rows[i].op}, .name = "code"};
        const unsigned odd = rows[i].odd;
        const struct carm_build b = {.config = &config,
                                     .cpu = &cpu,
                                     .topo = t,
                                     .clock = &clock,
                                     .begin = carm_clock_now(),
                                     .until = UINT64_MAX,
                                     .adds = true};
        struct carm_build_set set = {.build = &b, .threads = THREADS, .places = places};
        struct carm_series s = {
            .code = &code, .n = rows[i].rounds, .known = (odd & KNOWN) != 0, .reps = 7};
        struct carm_build_roof roof = {
            .set = &set,
            .isa = CARM_AVX2,
            .precision = CARM_DP,
            .memory = rows[i].memory,
            .level = 1,
            .mix = &mix,
            .op = rows[i].op,
            .series = &s,
            .nseries = 1,
            .unsearched = (odd & UNSEARCHED) != 0,
            .alike = rows[i].alike,
            .pooled = {.rate = 100,
                       .ci95 = {odd & WIDE ? 90 : 99, odd & WIDE ? 110 : 101},
                       .range = {90, 110},
                       .clock_hz = 10,
                       .state = rows[i].state,
                       .n = odd & NEVER ? 0 : rows[i].rounds,
                       .used = 9,
                       .sound = rows[i].sound}};
        struct carm_model m = {.nroofs = 0};
        const struct carm_build_job j = {
            .build = &b, .sets = &set, .nsets = 1, .model = &m, .roofs = &roof, .n = 1};
        for (size_t k = 0; k < s.n; k++) {
            s.rounds[k] = (struct carm_round){
                .rate = 100, .state = k < rows[i].shared ? CARM_STATE_SHARED : CARM_STATE_QUIET};
        }
        (void)strcpy(roof.note, odd & BROKEN ? "slower than with 1 thread" : "");
        (void)strcpy(set.levels.levels[1].name, "L2");
        set.levels.n = 3;
        assert_ok(carm_team_open(&set.team, t, &clock, THREADS, MIB, 16, &err));
        for (int k = 0; k < 12 && (odd & PAIRED); k++) {
            carm_paired_note(&set.team->paired, THREADS, false);
        }
        assert_ok(carm_build_add_results(&j, &err));
        carm_team_close(set.team);
        assert_int_equal(m.nroofs, rows[i].note != NULL);
        if (m.nroofs) {
            const struct carm_roofs *r = m.roofs;
            const char *note = rows[i].memory ? r->memory[0].note : r->compute[0].note;
            const size_t n = rows[i].sound ? sizeof r->memory[0].note : 32;
            fail_if(strncmp(note, rows[i].note, n) != 0, "row %zu: %s", i, note);
            assert_int_equal(rows[i].memory ? r->memory[0].disturbed : r->compute[0].disturbed,
                             rows[i].disturbed);
            assert_true(r->threads == THREADS && r->nmemory == rows[i].memory);
            assert_near(r->core_to_core_seconds, 50e-9, 1e-15);
            assert_near(rows[i].memory ? r->memory[0].bytes_per_cycle
                                       : r->compute[0].flops_per_cycle,
                        2.5, 1e-12);
            free(rows[i].memory ? r->memory[0].rounds : r->compute[0].rounds);
            free(r->memory);
            free(r->compute);
            free(m.roofs);
        }
    }
    carm_topo_close(t);
}

/* Memory on the node of the last threads, for the others; no part of one thread. */
TEST(ceilings_of_nodes_and_of_one_thread)
{
    struct carm_build_config config;
    struct carm_host host;
    const struct carm_build_words words = {
        .ops = "fma", .precision = "dp", .ldst = "2:1", .ceilings = "memory,busy"};
    for (int one = 0; one < 2; one++) {
        struct carm_build_words w = words;
        w.threads = one ? "1" : NULL;
        struct carm_model *m = build_on(two_nodes, &config, w, &host);
        figures_are(m, one ? 0xd5e65d1ee3662160 : 0x2171e0ee28231ae7);
        const struct carm_roofs *r = carm_model_find_roofs(m, "avx2", "dp", one ? 1 : THREADS);
        const struct carm_ceiling_roof *dot = NULL, *far = NULL, *busy = NULL;
        for (size_t i = 0; i < r->nceilings; i++) {
            const struct carm_ceiling_roof *c = &r->ceilings[i];
            dot = strcmp(c->name, "dot") == 0 ? c : dot;
            far = strcmp(c->name, "no affinity") == 0 ? c : far;
            busy = strcmp(c->name, "busy 1/2") == 0 ? c : busy;
        }
        assert_true(dot && far && busy);
        /* of the first of all threads, or where the only thread is not */
        assert_string_equal(far->note,
                            one ? "all memory on NUMA node 1" : "all memory on NUMA node 0");
        assert_near(far->rate / dot->rate, 1.0, 1e-6); /* nothing is far here */
        assert_string_equal(far->code, dot->code);
        assert_string_equal(busy->note, one ? "not measurable: the set has one thread" : "");
        assert_int_equal(busy->threads, one ? 0 : 2);
        carm_model_free(m);
        carm_topo_close(host.topo);
    }
}
