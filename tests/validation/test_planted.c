/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A whole build and a whole validation on a fake machine: the functions of harness/machine/measure.h and team.h
 * stand here, with a bandwidth for each level, a peak for each operation and a speed for each code. The model
 * must have them, and the points of the validation must lie on the model. */
#include <dlfcn.h>
#include <errno.h>
#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/place/host.h"
#include "harness/machine/measure.h"
#include "models/roofline.h"
#include "models/scaling.h"
#include "models/latency.h"
#include "tests/unit.h"
#include "validation/count.h"
#include "validation/latency/latency.h"
#include "validation/roofs/ceilings.h"
#include "validation/roofs/numa.h"
#include "validation/roofs/run.h"
#include "validation/validate/run.h"

#define KIB (UINT64_C(1) << 10)
#define MIB (UINT64_C(1) << 20)

enum { THREADS = 4, LEVELS = 4 };

static const char machine[] = "pack:1 numa:1 l3:1(size=8388608) core:4 l2:1(size=1048576) "
                              "l1:1(size=49152) pu:1";
static const char two_nodes[] = "pack:2 [numa(memory=1GB)] l3:1(size=8388608) core:2 "
                                "l2:1(size=1048576) l1:1(size=49152) pu:1";
static const char *const names[LEVELS] = {"L1", "L2", "L3", "DRAM"};
/* byte/s of one thread and of all four; the last cache and memory are shared */
static const double bandwidth[2][LEVELS] = {{200e9, 100e9, 40e9, 20e9},
                                            {800e9, 400e9, 120e9, 30e9}};
static const double clock_hz = 3e9;

/* byte/s of any number of threads: each adds one's rate up to that of all */
static double bandwidth_of(size_t level, int threads)
{
    return fmin(threads * bandwidth[0][level], bandwidth[1][level]);
}

/* Relative speed of a code, 0.80 to 1: no two that are candidates for one roof are alike. */
static double speed_of(const char *name)
{
    uint32_t h = 2166136261U;
    for (const char *c = name; *c; c++) {
        h = (h ^ (unsigned char)*c) * 16777619U;
    }
    return 0.80 + 0.20 * (double)(h >> 8) / (double)(1U << 24);
}

static double speed(const struct carm_code *code)
{
    return speed_of(code->name);
}

static double peak(const struct carm_code *code)
{
    const double each = code->spec.op == CARM_FMA ? 96e9 : 48e9;
    return each * carm_isa_vector_bytes(code->spec.isa, code->spec.precision) / 32.0;
}

static size_t level_of(uint64_t set_bytes, int threads)
{
    if (set_bytes <= 48 * KIB) {
        return 0;
    }
    return set_bytes <= MIB ? 1 : set_bytes * (uint64_t)threads <= 8 * MIB ? 2 : 3;
}

/* Pages of the two nodes: those of the buffers that were bound last. */
static struct {
    int bound;      /* node; 2 = both in turn, -1 = not bound */
    int elsewhere;  /* of 64 pages, how many are on another node */
    bool forbidden; /* to bind memory */
    int only_first; /* node whose latency is not known; -1 = none */
} pages = {.bound = -1, .only_first = -1};

/* In place of the library's: the calls about pages. */
long syscall(long number, ...)
{
    long a[6];
    va_list args;
    va_start(args, number);
    for (int i = 0; i < 6; i++) {
        a[i] = va_arg(args, long);
    }
    va_end(args);
    if (number == SYS_mbind) {
        const unsigned long mask = *(const unsigned long *)a[3]; // NOLINT: the call's own address
        if (pages.forbidden) {
            errno = EPERM;
            return -1;
        }
        assert_int_equal(a[2], mask == 3 ? MPOL_INTERLEAVE : MPOL_BIND);
        pages.bound = (int)mask - 1;
        return 0;
    }
    if (number == SYS_move_pages) {
        assert_int_equal(a[1], 64);
        for (int i = 0; i < 64; i++) {
            ((int *)a[4])[i] = i < pages.elsewhere ? 1 - pages.bound : pages.bound; // NOLINT
        }
        return 0;
    }
    static long (*real)(long, ...);
    void *const found = dlsym(RTLD_NEXT, "syscall");
    memcpy(&real, &found, sizeof real);
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Memory of the other node is half as fast, of both three quarters. */
static double nearness(const struct carm_team *team)
{
    const int node = carm_topo_node_of(team->topo, team->topo->order[0]);
    return pages.bound < 0 ? 1.0 : pages.bound == 2 ? 0.75 : pages.bound == node ? 1.0 : 0.5;
}

int carm_latency_at(struct carm_latency_run *run, int node, struct carm_latency *out,
                    struct carm_err *failure)
{
    const bool near = carm_topo_node_of(run->host->topo, run->host->topo->order[0]) == node;
    (void)failure;
    assert_int_equal(run->team->n, 1);
    assert_true(run->options.quick && run->options.memory_bytes == UINT64_C(1) << 30);
    const double s = near ? 100e-9 : 180e-9;
    *out = (struct carm_latency){.seconds = s,
                                 .ci95 = {0.9 * s, 1.1 * s},
                                 .page_bytes = 2 * MIB,
                                 .disturbed = near && node == pages.only_first};
    if (node == pages.only_first) {
        out->seconds = near ? s : 0.0;
        (void)snprintf(out->note, sizeof out->note, "a note of node %d", node);
    }
    return 0;
}

static struct {
    size_t runs, teams;
    uint64_t largest; /* working set of all threads together */
    bool below_room;  /* no set was larger than a thread's buffer */
} seen;

void carm_measure_shape(struct carm_team *team, const struct carm_code *code, uint64_t set_bytes,
                        double target_seconds, struct carm_shape *shape)
{
    (void)team;
    (void)target_seconds;
    carm_measure_shape_of(code, set_bytes, 1024, shape);
}

void carm_measure_run(struct carm_team *team, const struct carm_code *code,
                      const struct carm_shape *shape, size_t reps, struct carm_measurement *m)
{
    const double work = (double)(shape->iterations * shape->passes) * team->n;
    const uint64_t set = carm_measure_set_bytes(code, shape);
    const double bytes = (double)(code->account.load_bytes + code->account.store_bytes);
    const double share = speed(code);
    *m = (struct carm_measurement){.code = code, .threads = team->n, .shape = *shape};
    m->bytes = work * bytes;
    m->flops = work * (double)code->account.flops;
    const size_t level = level_of(set, team->n);
    const double slope = bandwidth_of(level, team->n) * (level == 3 ? nearness(team) : 1.0);
    const double s = fmax(m->bytes / (slope * share), m->flops / (peak(code) * team->n * share));
    m->seconds = (struct carm_stats){
        .n = reps, .median = s, .ci_lo = s, .ci_hi = s, .min = s, .p5 = s, .p95 = s, .max = s};
    m->cycles = s * clock_hz;
    m->clock_hz = clock_hz;
    m->own_share = 1.0;
    m->width_share = 1.0;
    m->disturbance = CARM_UNDISTURBED;
    seen.runs++;
    seen.largest = set * (uint64_t)team->n > seen.largest ? set * (uint64_t)team->n : seen.largest;
    seen.below_room = seen.below_room && carm_window_span(code, shape) <= carm_team_room(team);
}

void carm_measure_calibrate(struct carm_team *team, const struct carm_code *empty)
{
    (void)team;
    (void)empty;
}

int carm_measure_own_alone(struct carm_team *team)
{
    return team->n;
}

void carm_measure_watch(struct carm_team *team, double seconds)
{
    (void)team;
    (void)seconds;
}

void carm_measure_place(struct carm_team *team, const struct carm_code *code, uint64_t set_bytes,
                        size_t places)
{
    (void)team;
    (void)code;
    (void)set_bytes;
    assert_true(places > 0);
}

double carm_measure_rate(const struct carm_measurement *m, double work)
{
    return m->seconds.n > 0 ? work / m->seconds.median : 0.0;
}

enum carm_disturbance carm_measure_judge(const struct carm_measurement *m)
{
    (void)m;
    return CARM_UNDISTURBED;
}

int carm_team_open_sized(struct carm_team **out, const struct carm_topo *topo,
                         const struct carm_clock *clock, int n, const size_t *bytes,
                         size_t max_reps, struct carm_err *failure)
{
    struct carm_team *team = calloc(1, sizeof *team);
    (void)failure;
    assert_non_null(team);
    assert_true(n >= 1 && n <= THREADS);
    *team =
        (struct carm_team){.topo = topo, .clock = clock, .n = n, .size = n, .max_reps = max_reps};
    team->workers = calloc((size_t)n, sizeof *team->workers);
    assert_non_null(team->workers);
    for (int i = 0; i < n; i++) {
        team->workers[i] =
            (struct carm_worker){.team = team, .buffer = {.bytes = bytes[i], .touched = bytes[i]}};
    }
    seen.teams++;
    *out = team;
    return 0;
}

int carm_team_open(struct carm_team **out, const struct carm_topo *topo,
                   const struct carm_clock *clock, int n, size_t bytes_per_thread, size_t max_reps,
                   struct carm_err *failure)
{
    size_t bytes[THREADS];
    for (int i = 0; i < THREADS; i++) {
        bytes[i] = bytes_per_thread;
    }
    return carm_team_open_sized(out, topo, clock, n, bytes, max_reps, failure);
}

void carm_team_close(struct carm_team *team)
{
    if (team) {
        seen.teams--;
        free(team->workers);
        free(team);
    }
}

bool carm_team_is_over(const struct carm_team *team)
{
    return carm_deadline_over(&team->deadline);
}

void carm_team_run(struct carm_team *team, carm_job_fn *job, void *arg)
{
    (void)team;
    (void)job;
    (void)arg;
    fail_msg("nothing is executed here");
}

void carm_team_use(struct carm_team *team, int n)
{
    assert_true(n >= 1 && n <= team->size);
    team->n = n;
}

bool carm_team_shares(const struct carm_team *team)
{
    return team->n > team->topo->cores;
}

void carm_team_separate(struct carm_team *team, bool separate)
{
    team->separate = separate;
}

size_t carm_team_room(const struct carm_team *team)
{
    size_t room = SIZE_MAX;
    for (int i = 0; i < team->n; i++) {
        room = team->workers[i].buffer.bytes < room ? team->workers[i].buffer.bytes : room;
    }
    return room;
}

bool carm_team_touch(struct carm_team *team, size_t bytes_per_thread)
{
    assert_true(bytes_per_thread <= carm_team_room(team));
    return true;
}

void carm_team_line_reset(struct carm_team *team)
{
    (void)team;
}

bool carm_team_line_wait(struct carm_team *team, uint64_t repetition)
{
    (void)team;
    (void)repetition;
    return true;
}

int carm_team_touch_from(struct carm_team *team, int pu, size_t bytes_per_thread,
                         struct carm_err *failure)
{
    (void)failure;
    (void)pu;
    assert_true(bytes_per_thread <= carm_team_room(team));
    return 0;
}

double carm_core_to_core_seconds(struct carm_team *team)
{
    return team->n > 1 ? 50e-9 : 0.0;
}

double carm_core_to_core_once(struct carm_team *team, int other)
{
    (void)other;
    return team->n > 1 ? 50e-9 : 0.0;
}

double carm_contended_add_seconds(struct carm_team *team, int other)
{
    return team->n > other ? 10e-9 : 0.0;
}

static struct carm_model *build_on(const char *of, struct carm_build_config *config,
                                   struct carm_build_words words, struct carm_host *host)
{
    struct carm_build_outlook outlook;
    const struct carm_code_counter counter = {.provider = CARM_PROVIDER_NONE};
    struct carm_build_done done = {.reps = 0};
    struct carm_model *model = NULL;
    memset(&seen, 0, sizeof seen);
    seen.below_room = true;
    static struct carm_observer observer; /* shows nothing */
    *host = (struct carm_host){.clock = {.tsc_hz = clock_hz, .synchronous = true},
                               .observer = &observer};
    assert_ok(carm_topo_open(&host->topo, of, NULL, &err));
    for (int i = 0; i < CARM_VECTOR_ISAS; i++) {
        host->cpu.isa[i] = i != CARM_AVX512;
    }
    host->cpu.fma = true;
    words.isa = "avx2";
    words.threads = "1,4";
    words.memory = "1G";
    words.budget = "600";
    words.reps = "256";
    words.latency = "no";
    words.scaling = "yes";
    assert_ok(carm_build_configure(config, &words, &host->cpu, host->topo, &err));
    carm_build_foresee(config, host, &outlook);
    assert_ok(carm_build_run(config, host, &counter, NULL, &model, &done, &err));
    /* as was foreseen: the roofs, and the time by what each step is said to take */
    size_t roofs = 0;
    for (size_t i = 0; i < model->nroofs; i++) {
        roofs += model->roofs[i].nmemory + model->roofs[i].ncompute;
    }
    assert_true(words.levels || roofs == outlook.roofs); /* all levels are foreseen */
    assert_near(observer.total, outlook.seconds, 1e-9);
    assert_true(words.levels || fabs(observer.done / observer.total - 1.0) < 0.05);
    assert_int_equal(seen.teams, 0);
    assert_true(seen.below_room);
    assert_int_equal(done.missing, 0);
    assert_int_equal(done.reps, 256);
    return model;
}

static struct carm_model *build(struct carm_build_config *config, struct carm_build_words words,
                                struct carm_host *host)
{
    return build_on(machine, config, words, host);
}

/* The highest speed of the candidates for a roof. */
static double best_speed(const struct carm_build_plan *plan, const struct carm_mix *mix, bool first)
{
    const struct carm_code *codes[CARM_CANDIDATES_MAX];
    double best = 0.0;
    const size_t n = carm_build_plan_memory(plan, CARM_AVX2, CARM_DP, mix, first, codes);
    assert_true(n > 3);
    for (size_t i = 0; i < n; i++) {
        best = fmax(best, speed(codes[i]));
    }
    return best;
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
    fail_if(carm_validate_configure(&config, m, &words, &host->cpu, host->topo, &err) != 0 ||
                carm_validate_run(&config, host, "planted", &counter, m, &done, &err) != 0,
            "%s", err.text);
    assert_int_equal(done.missing, 0);
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
            }
        }
        assert_int_equal(r->ncompute, 2);
        for (size_t k = 0; k < 2; k++) {
            const double each = strcmp(r->compute[k].op, "fma") == 0 ? 96e9 : 48e9;
            const double share = r->compute[k].rate / (each * (t ? THREADS : 1));
            assert_true(share > 0.9 && share <= 1.0 + 1e-9);
        }
        assert_near(r->core_to_core_seconds, t ? 50e-9 : 0.0, 1e-12);
        /* bytes that certainly cross: the best of loads alone and non-temporal stores */
        assert_true(r->dram_peak.bandwidth > 0.8 * bandwidth[t][3] &&
                    r->dram_peak.bandwidth <= bandwidth[t][3]);
    }
    assert_int_equal(m->nflop_curves, 2);
    for (size_t c = 0; c < m->nflop_curves; c++) {
        const struct carm_curve *f = &m->flop_curves[c];
        const struct carm_roofs *r = carm_model_find_roofs(m, "avx2", "dp", f->threads);
        assert_true(f->npoints > 4);
        assert_string_equal(f->kind, "fma"); /* the fastest code */
        for (size_t i = 0; i < f->npoints; i++) {
            assert_near(f->points[i].value / carm_roofs_find_compute(r, "fma")->rate, 1.0, 1e-9);
        }
        for (size_t i = 1; i < f->npoints; i++) {
            assert_near(f->points[i].x / f->points[i - 1].x, 2.0, 1e-9);
        }
    }
    assert_true(seen.largest > 64 * MIB && seen.largest <= 1024 * MIB);
    check_ceilings(carm_model_find_roofs(m, "avx2", "dp", THREADS));
    check_scaling(m);
    carm_build_plan_close(&plan);
    check_validation(m, &host);
    check_continued(&config, &host, m);
    carm_model_free(m);
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
