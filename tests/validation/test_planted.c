/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A whole build and a whole validation on a fake machine: the model must have the machine's rates, and the points of the
 * validation must lie on the model. */
#include "models/scaling.h"
#include "tests/validation/planted.h"
#include "validation/validate/run.h"

/* The rate of a code as a ceiling of so many threads: the traffic of memory, or flops. */
static double ceiling_of(const struct carm_code *code, bool memory, int threads)
{
    const double bytes = (double)(code->account.load_bytes + code->account.store_bytes);
    return (memory ? bytes * carm_build_traffic_share(code) : (double)code->account.flops) /
           seconds_of(code, memory ? 3 : 0, threads, 1.0);
}

/* The ceilings that are planned have the best of their codes, and all say how they were measured. */
static void check_codes(const struct carm_roofs *r, const struct carm_build_config *config,
                        const struct carm_build_plan *plan, const struct carm_cpu *cpu)
{
    struct carm_ceiling_point points[CARM_CEILING_POINTS_MAX];
    const size_t n = carm_ceilings_plan(config, cpu, points);
    for (size_t i = 0; i < r->nceilings; i++) {
        const struct carm_ceiling_roof *c = &r->ceilings[i];
        const bool memory = c->group == CARM_CEILING_MEMORY || c->group == CARM_CEILING_TRAFFIC;
        const struct carm_code *code = carm_image_find(plan->image, c->code);
        double best = 0.0;
        if (c->rate == 0.0) {
            fail_if(strcmp(c->note, "not measurable: one NUMA node") != 0, "%s: %s", c->name,
                    c->note);
            continue;
        }
        for (size_t k = 0; k < n; k++) {
            for (size_t m = 0; m < points[k].ncodes && points[k].group == c->group &&
                               strcmp(points[k].name, c->name) == 0;
                 m++) {
                char name[CARM_CODE_NAME_MAX];
                carm_code_name(&points[k].codes[m], name);
                best = fmax(best, ceiling_of(carm_image_find(plan->image, name), memory, THREADS));
            }
        }
        assert_near(c->rate / ceiling_of(code, memory, c->threads), 1.0, 1e-6);
        assert_true(best == 0.0 || fabs(c->rate / best - 1.0) < 1e-6);
        assert_near(c->clock_hz, clock_hz, 1.0);
        assert_int_equal(c->reps, 256);
        assert_string_equal(c->counted_by, "constructed");
        assert_int_equal(c->working_set_bytes > 0, memory);
        char note[CARM_TEXT_MAX] = "";
        if (c->group == CARM_CEILING_MIX) {
            (void)snprintf(note, sizeof note, "%llu of %llu instructions are floating point",
                           (unsigned long long)code->account.fp_instructions,
                           (unsigned long long)code->account.instructions);
        } else if (memory && code->account.stores > 0 && !code->spec.mix.update &&
                   !code->spec.mix.nontemporal) {
            (void)snprintf(note, sizeof note, "lines stored to are filled first, by construction");
        }
        assert_string_equal(c->note, note);
    }
}

/* Each curve goes from 2 KiB for each thread, in steps of a third of an octave, to the first point beyond 64 MiB, where
 * memory's plateau is plain. It is of the best code with one stream. */
static void check_curves(const struct carm_model *m, const struct carm_build_plan *plan)
{
    const struct carm_code *codes[CARM_CANDIDATES_MAX];
    const struct carm_mix mix = {.loads = 2, .stores = 1};
    const size_t n = carm_build_plan_memory(plan, CARM_AVX2, CARM_DP, &mix, true, codes);
    double best = 0.0;
    for (size_t i = 0; i < n; i++) {
        best = codes[i]->spec.streams < 2 ? fmax(best, speed(codes[i])) : best;
    }
    assert_int_equal(m->ncurves, 2);
    for (size_t i = 0; i < 2; i++) {
        const struct carm_curve *c = &m->curves[i];
        const int threads = i ? THREADS : 1;
        const struct carm_curve_point *last = &c->points[c->npoints - 1];
        assert_int_equal(c->threads, threads);
        assert_string_equal(c->isa, "avx2");
        assert_string_equal(c->precision, "dp");
        assert_string_equal(c->kind, "2:1");
        assert_in_range(c->points[0].x, 1024 * threads, 2048 * threads); /* whole iterations */
        assert_true(last->x >= 64 * MIB && last->x < 64 * MIB * 1.26);
        for (size_t k = 0; k < c->npoints; k++) {
            const struct carm_curve_point *p = &c->points[k];
            const size_t level = level_of((uint64_t)p->x / (uint64_t)threads, threads);
            assert_near(p->value / (bandwidth_of(level, threads) * best), 1.0, 1e-6);
            assert_false(p->disturbed);
            assert_true(k == 0 || p->x < 64 * MIB * 1.26);
            assert_true(k < 18 || fabs(p->x / c->points[k - 3].x - 2.0) < 0.1);
        }
    }
}

/* Every ceiling is measured or says why not, and is below what the machine can do. */
static void check_ceilings(const struct carm_roofs *r)
{
    size_t groups[CARM_CEILING_GROUP_COUNT] = {0};
    assert_true(r->nceilings > 10);
    for (size_t i = 0; i < r->nceilings; i++) {
        const struct carm_ceiling_roof *c = &r->ceilings[i];
        const bool flops = c->group != CARM_CEILING_MEMORY && c->group != CARM_CEILING_TRAFFIC;
        const double most = flops ? 96e9 * c->threads : 1.5 * bandwidth[c->threads == THREADS][3];
        groups[c->group]++;
        assert_true(c->rate > 0.0 || strncmp(c->note, "not measur", 10) == 0);
        assert_true(c->rate <= most * (1.0 + 1e-9) && c->ci95.lo <= c->rate &&
                    c->rate <= c->ci95.hi);
        assert_false(c->disturbed);
        const uint64_t set = c->working_set_bytes / (uint64_t)(c->threads > 0 ? c->threads : 1);
        assert_true(c->rate == 0.0 || flops || level_of(set, c->threads) == 3);
    }
    for (size_t g = 0; g < CARM_CEILING_GROUP_COUNT; g++) {
        assert_true(groups[g] > 0);
    }
}

/* A curve for each level and for the peak: each number of threads has the rate of its code on the fake machine. */
static void check_scaling(const struct carm_model *m)
{
    assert_int_equal(m->nscaling, LEVELS + 1);
    for (size_t i = 0; i < m->nscaling; i++) {
        const struct carm_scaling *s = &m->scaling[i];
        const bool memory = i < LEVELS;
        bool two = false;
        assert_string_equal(s->level, memory ? names[i] : CARM_SCALING_PEAK);
        assert_string_equal(s->kind, memory ? m->config.ldst : "fma");
        assert_string_equal(s->layout, CARM_SCALING_COMPACT);
        assert_true(s->npoints >= 3);
        assert_int_equal(s->points[0].threads, 1);
        assert_int_equal(s->points[s->npoints - 1].threads, THREADS);
        for (size_t k = 0; k < s->npoints; k++) {
            const struct carm_scaling_point *p = &s->points[k];
            const double most = memory ? bandwidth_of(i, p->threads) : 96e9 * p->threads;
            two = two || p->threads == 2;
            assert_true(k == 0 || s->points[k - 1].threads < p->threads);
            assert_near(p->rate / (most * speed_of(p->code)), 1.0, 1e-6);
            assert_true(p->ci95.lo <= p->rate && p->rate <= p->ci95.hi);
            assert_false(p->disturbed);
            assert_true(memory
                            ? level_of(p->working_set_bytes / (uint64_t)p->threads, p->threads) == i
                            : p->working_set_bytes == 0);
        }
        assert_true(two);
    }
}

/* Points of a validation of the model lie on it, since the fake machine is a roofline. */
static void check_validation(struct carm_model *m, const struct carm_host *host)
{
    static struct carm_validate_config config;
    const struct carm_validate_words words = {.reps = "256", .quick = "yes", .budget = "600"};
    const struct carm_code_counter counter = {.provider = CARM_PROVIDER_NONE};
    struct carm_validate_done done = {.missing = 1};
    seen.runs = seen.reps = seen.patient = 0;
    seen.print = FINGERPRINT_NONE;
    fail_if(carm_validate_configure(&config, m, &words, &host->cpu, host->topo, &err) != 0 ||
                carm_validate_run(&config, host, "planted", &counter, m, &done, &err) != 0,
            "%s", err.text);
    runs_are(7874, 630464, 7782, 0x3dcf02f4a5a2267b);
    figures_are(m, 0xa98cf0368e27282e);
    assert_int_equal(done.missing, 0);
    assert_true(*m->validated); /* the time of day */
    assert_int_equal(seen.teams, 0);
    assert_near(host->observer->done / host->observer->total, 1.0, 0.05);
    double sum = 0.0;
    assert_int_equal(m->nvalidation_points, 2 * LEVELS * CARM_GRID_POINTS);
    for (size_t i = 0; i < m->nvalidation_points; i++) {
        const struct carm_validation_point *p = &m->validation_points[i];
        const struct carm_roofs *r = carm_model_find_roofs(m, "avx2", "dp", p->set.threads);
        const double ai = p->flops / p->bytes;
        size_t l = 0;
        while (l < LEVELS && strcmp(names[l], p->level) != 0) {
            l++;
        }
        const double bound =
            fmin(bandwidth[p->set.threads == THREADS][l] * ai, 96e9 * p->set.threads);
        const double model =
            fmin(carm_roofs_find_memory(r, p->level, m->config.ldst)->bandwidth * ai,
                 carm_roofs_find_compute(r, "fma")->rate);
        assert_near(p->flops / p->seconds / (bound * speed_of(p->code)), 1.0, 1e-6);
        assert_near(p->paired / model, 1.0, 1e-6);
        assert_near(ai / carm_grid_intensity(i % CARM_GRID_POINTS), 1.0, 0.01);
        assert_int_equal(level_of(p->working_set_bytes / (uint64_t)p->set.threads, p->set.threads),
                         l);
        assert_false(p->disturbed);
        sum += speed_of(p->code);
    }
    /* the mean of all schedules is 0.90, of the best of three 0.95 */
    assert_true(sum / (double)m->nvalidation_points > 0.94);
    /* the roofs' codes beside the points, without a cost of their start */
    assert_int_equal(m->nvalidation_roofs, 2 * (LEVELS + 1));
    for (size_t i = 0; i < m->nvalidation_roofs; i++) {
        const struct carm_validation_roof *b = &m->validation_roofs[i];
        assert_near(b->beside / b->model, 1.0, 1e-6);
        assert_true(b->beside_ci95.lo <= b->beside && b->beside <= b->beside_ci95.hi);
        assert_true(strcmp(b->level, "peak") == 0 || fabs(b->rate / b->model - 1.0) < 1e-6);
        assert_near(b->t0, 0.0, 1e-12);
        assert_false(b->disturbed);
    }
    size_t scores = 0;
    for (size_t i = 0; i < m->nvalidation; i++) {
        if (strcmp(m->validation[i].model, "cache-aware") == 0) {
            assert_true(m->validation[i].fitness > 90.0);
            scores++;
        }
    }
    assert_int_equal(scores, 2 * (LEVELS + 1));
}

/* A build goes on with a model of this machine, place and mix that has rounds, and with no other. */
static void check_inherits(const struct carm_build_config *config, const struct carm_host *host,
                           struct carm_model *before)
{
    struct carm_machine *const m = &before->machine;
    char *const words[] = {m->hostname, m->cpu, m->on, m->layout, before->config.ldst};
    int *const numbers[] = {&m->cores, &m->threads, &m->caches[1].level};
    assert_true(carm_build_inherits(config, host, before));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char first = *words[i];
        *words[i] = '!';
        fail_if(carm_build_inherits(config, host, before), "word %zu", i);
        *words[i] = first;
    }
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        ++*numbers[i];
        fail_if(carm_build_inherits(config, host, before), "number %zu", i);
        --*numbers[i];
    }
    m->ncaches--;
    assert_false(carm_build_inherits(config, host, before));
    m->ncaches++;
    m->caches[2].size_bytes /= 2;
    assert_false(carm_build_inherits(config, host, before));
    m->caches[2].size_bytes *= 2;
    struct carm_model some = *before;
    struct carm_memory_roof slope = {.nrounds = 0};
    struct carm_compute_roof flat = {.nrounds = 0};
    struct carm_roofs roofs = {.memory = &slope, .nmemory = 1, .compute = &flat, .ncompute = 1};
    some.roofs = &roofs;
    some.nroofs = 1;
    assert_false(carm_build_inherits(config, host, &some));
    slope.nrounds = 1;
    assert_true(carm_build_inherits(config, host, &some));
    roofs.nmemory = 0;
    assert_false(carm_build_inherits(config, host, &some));
    flat.nrounds = 1;
    assert_true(carm_build_inherits(config, host, &some));
    roofs.ncompute = 0;
    assert_false(carm_build_inherits(config, host, &some));
    assert_true(carm_build_inherits(config, host, before));
}

/* A build that goes on with a model has the same figures, from its rounds and the model's. */
static void check_continued(const struct carm_build_config *config, const struct carm_host *host,
                            struct carm_model *before)
{
    const struct carm_code_counter counter = {.provider = CARM_PROVIDER_NONE};
    struct carm_build_done done = {.reps = 0};
    struct carm_model *m = NULL;
    size_t more = 0;
    check_inherits(config, host, before);
    /* of more than half of the rounds that are kept, the latest stay */
    const size_t half = CARM_ROUNDS_MAX / 2;
    struct carm_memory_roof *many = &before->roofs[0].memory[0];
    struct carm_round *rounds = calloc(half + 20, sizeof *rounds);
    assert_non_null(rounds);
    for (size_t i = 0; i < half + 20; i++) {
        rounds[i] = many->rounds[i % many->nrounds];
    }
    free(many->rounds);
    many->rounds = rounds;
    many->nrounds = half + 20;
    assert_ok(carm_build_run(config, host, &counter, before, &m, &done, &err));
    assert_int_equal(m->nroofs, before->nroofs);
    for (size_t i = 0; i < m->nroofs; i++) {
        const struct carm_roofs *r = &m->roofs[i];
        const struct carm_roofs *b =
            carm_model_find_roofs(before, r->isa, r->precision, r->threads);
        assert_non_null(b);
        assert_true(r->nmemory == b->nmemory && r->ncompute == b->ncompute);
        for (size_t k = 0; k < r->nmemory; k++) {
            const struct carm_memory_roof *old =
                carm_roofs_find_memory(b, r->memory[k].level, r->memory[k].ldst);
            assert_near(r->memory[k].bandwidth / old->bandwidth, 1.0, 1e-6);
            assert_true(old == many
                            ? r->memory[k].nrounds > half && r->memory[k].nrounds < half + 20
                            : r->memory[k].nrounds >= old->nrounds);
            more += r->memory[k].nrounds > old->nrounds;
        }
        for (size_t k = 0; k < r->ncompute; k++) {
            assert_near(r->compute[k].rate / b->compute[k].rate, 1.0, 1e-6);
            assert_true(r->compute[k].nrounds >= b->compute[k].nrounds);
        }
    }
    assert_true(more > 0);
    assert_int_equal(m->ncurves, before->ncurves);
    for (size_t i = 0; i < m->ncurves; i++) {
        const struct carm_curve *c = &m->curves[i], *b = &before->curves[i];
        for (size_t k = 0; k < c->npoints && c->npoints == b->npoints; k++) {
            assert_near(c->points[k].value / b->points[k].value, 1.0, 1e-6);
        }
    }
    carm_model_free(m);
}

TEST(planted_roofs_are_found)
{
    struct carm_build_config config;
    struct carm_host host;
    struct carm_build_plan plan;
    struct carm_model *m =
        build(&config, (struct carm_build_words){.ops = "fma,add", .ceilings = ""}, &host);
    runs_are(4203, 372928, 4203, 0xe0d056c45af9193f);
    figures_are(m, 0xebb8890fb8a47f58);
    assert_ok(carm_build_plan_open(&plan, &config, &host.cpu, &err));
    assert_int_equal(m->nlevels, LEVELS);
    for (size_t l = 0; l < LEVELS; l++) {
        assert_string_equal(m->levels[l].level, names[l]);
    }
    assert_string_equal(m->config.precision, "dp,sp");
    assert_string_equal(m->config.ldst, "2:1");
    assert_int_equal(m->config.reps, 256);
    assert_int_equal(m->config.memory_limit_bytes, 1024 * MIB);
    assert_false(m->config.quick);
    assert_int_equal(m->machine.cores, THREADS);
    assert_int_equal(m->machine.ncaches, LEVELS - 1);
    assert_int_equal(m->nroofs, 4); /* of sp, computation alone */
    for (size_t t = 0; t < 2; t++) {
        const struct carm_roofs *sp = carm_model_find_roofs(m, "avx2", "sp", t ? THREADS : 1);
        assert_true(sp && sp->nmemory == 0 && sp->ncompute == 2);
    }
    for (size_t t = 0; t < 2; t++) {
        const struct carm_roofs *r = carm_model_find_roofs(m, "avx2", "dp", t ? THREADS : 1);
        double crossing = 0.0;
        assert_non_null(r);
        for (size_t l = 0; l < LEVELS; l++) {
            for (size_t k = 0; k < config.nmixes; k++) {
                char mix[CARM_NAME_MAX];
                carm_mix_name(&config.mixes[k], mix);
                const struct carm_memory_roof *roof = carm_roofs_find_memory(r, names[l], mix);
                if (!roof) {
                    assert_true(config.mixes[k].nontemporal && l + 1 < LEVELS);
                    continue;
                }
                const double want = bandwidth[t][l] * best_speed(&plan, &config.mixes[k], l == 0);
                fail_if(fabs(roof->bandwidth / want - 1.0) > 1e-6,
                        "%zu threads, %s %s: %g of %g by %s", t ? (size_t)THREADS : (size_t)1,
                        names[l], mix, roof->bandwidth, want, roof->code);
                assert_false(roof->disturbed);
                assert_true(roof->nrounds >= 4); /* however little time is left */
                assert_int_equal(
                    level_of(roof->working_set_bytes / (t ? THREADS : 1), t ? THREADS : 1), l);
                assert_near(roof->clock_hz / clock_hz, 1.0, 1e-9);
                assert_near(roof->bytes_per_cycle, roof->bandwidth / clock_hz / (t ? THREADS : 1),
                            1e-6);
                const struct carm_mix *x = &config.mixes[k];
                if (l + 1 == LEVELS && (x->stores == 0 || x->update || x->nontemporal)) {
                    crossing = fmax(crossing, roof->bandwidth);
                }
            }
        }
        assert_int_equal(r->ncompute, 2);
        for (size_t k = 0; k < 2; k++) {
            const double each = strcmp(r->compute[k].op, "fma") == 0 ? 96e9 : 48e9;
            const double share = r->compute[k].rate / (each * (t ? THREADS : 1));
            assert_true(share > 0.9 && share <= 1.0 + 1e-9);
        }
        assert_near(r->core_to_core_seconds, t ? 50e-9 : 0.0, 1e-12);
        /* bytes that certainly cross: the best of loads alone, updates and non-temporal stores */
        assert_near(r->dram_peak.bandwidth, crossing, 0.0);
        assert_near(r->clock_hz, clock_hz, 1.0);
    }
    assert_int_equal(m->nflop_curves, 2);
    for (size_t c = 0; c < m->nflop_curves; c++) {
        const struct carm_curve *f = &m->flop_curves[c];
        const struct carm_roofs *r = carm_model_find_roofs(m, "avx2", "dp", f->threads);
        assert_int_equal(f->npoints, 11);    /* 1 to 1024 iterations */
        assert_string_equal(f->kind, "fma"); /* the fastest code */
        const char *fma = carm_roofs_find_compute(r, "fma")->code;
        assert_near(f->points[0].x, (double)carm_image_find(plan.image, fma)->account.flops, 0.0);
        for (size_t i = 0; i < f->npoints; i++) {
            assert_near(f->points[i].value / carm_roofs_find_compute(r, "fma")->rate, 1.0, 1e-9);
        }
        for (size_t i = 1; i < f->npoints; i++) {
            assert_near(f->points[i].x / f->points[i - 1].x, 2.0, 1e-9);
        }
    }
    assert_true(seen.largest > 64 * MIB && seen.largest <= 1024 * MIB);
    check_ceilings(carm_model_find_roofs(m, "avx2", "dp", THREADS));
    check_codes(carm_model_find_roofs(m, "avx2", "dp", THREADS), &config, &plan, &host.cpu);
    check_curves(m, &plan);
    check_scaling(m);
    carm_build_plan_close(&plan);
    check_validation(m, &host);
    check_continued(&config, &host, m);
    carm_model_free(m);
    carm_topo_close(host.topo);
}
