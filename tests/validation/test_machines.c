/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Whole builds and validations on planted machines of several shapes, as text: each step with its runs, and each figure
 * with what was planted.
 *
 * Time is planted, too: a run takes the seconds of its repetitions, and budgets end by them alone. */
#include "models/scaling.h"
#include "models/validation.h"
#include "tests/counter.h"
#include "tests/validation/golden.h"
#include "tests/validation/planted.h"
#include "validation/validate/run.h"

static const double tsc_hz = 1e9;

/* ---- the steps ---- */

/* What was announced, with the runs up to the next step. */
static struct step {
    char what[128];
    size_t times, runs, reps, waits;
    double first, last; /* seconds of the budget that the first and the last of its runs had left */
    double patience;    /* seconds */
    double done[2];     /* shares of the work that were done at its first and its last time */
    uint64_t
        print; /* of its runs, in their order: code, threads, set, repetitions, places, overhead */
    size_t others; /* calibrations, watches, choices of places, shapes, teams opened */
} steps[2048];
static size_t nsteps, now_at;

static void show(const char *what, double done, double left_seconds)
{
    char name[128] = "at the end";
    if (what) {
        (void)snprintf(name, sizeof name, "%s", what);
        /* points of a grid and rounds are one step */
        const char *const ends[] = {" at ", ", round "};
        for (size_t i = 0; i < 2; i++) {
            char *end = strstr(name, ends[i]);
            *(end ? end : name + strlen(name)) = '\0';
        }
    }
    for (now_at = 0; now_at < nsteps && strcmp(steps[now_at].what, name) != 0; now_at++) {
    }
    struct step *s = &steps[now_at];
    if (now_at == nsteps) {
        assert_true(++nsteps < sizeof steps / sizeof *steps);
        *s = (struct step){.done = {done}, .print = FINGERPRINT_NONE};
        (void)snprintf(s->what, sizeof s->what, "%s", name);
    }
    s->times++;
    s->done[1] = done;
}

static void watch(const struct carm_team *team, const struct carm_code *code, uint64_t set_bytes,
                  size_t reps)
{
    if (nsteps == 0) {
        show("before the first step", 0.0, 0.0);
    }
    struct step *s = &steps[now_at];
    const uint64_t numbers[] = {(uint64_t)team->n,
                                set_bytes,
                                reps,
                                (uint64_t)team->separate,
                                (uint64_t)(1e9 * team->overhead.together + 0.5),
                                team->workers[0].place,
                                team->workers[team->n - 1].place};
    const uint64_t end = team->deadline.tsc;
    const double left = end ? ((double)end - counter_now()) / tsc_hz : -1.0;
    s->first = s->runs ? s->first : left;
    s->last = left;
    s->runs++;
    s->reps += reps;
    s->waits += team->patience_seconds > 0.0;
    s->patience = fmax(s->patience, team->patience_seconds);
    s->print =
        fingerprint(fingerprint(s->print, code->name, strlen(code->name)), numbers, sizeof numbers);
}

static void other(const struct carm_team *team, const char *what, double number, double second)
{
    if (nsteps == 0) {
        show("before the first step", 0.0, 0.0);
    }
    struct step *s = &steps[now_at];
    const double numbers[] = {team->n, number, second};
    s->print = fingerprint(fingerprint(s->print, what, strlen(what)), numbers, sizeof numbers);
    s->others++;
}

static void say(const char *words)
{
    (void)fprintf(text, "said: %s\n", words);
}

static void steps_begin(void)
{
    nsteps = now_at = 0;
}

static void steps_end(void)
{
    (void)fprintf(text, "\nstep: times, runs of repetitions (fingerprint of codes and sets); runs "
                        "that wait, seconds; seconds left; done\n");
    for (size_t i = 0; i < nsteps; i++) {
        const struct step *s = &steps[i];
        (void)fprintf(text, "%s: %zu", s->what, s->times);
        if (s->runs) {
            (void)fprintf(text, ", %zu of %zu (%04x); %zu, %.3f; %.2f to %.2f", s->runs, s->reps,
                          (unsigned)(s->print & 0xffff), s->waits, s->patience, s->first, s->last);
        }
        if (s->others) {
            (void)fprintf(text, "; %zu other (%04x)", s->others, (unsigned)(s->print & 0xffff));
        }
        (void)fprintf(text, "; %.2f%% to %.2f%%\n", 100.0 * s->done[0], 100.0 * s->done[1]);
    }
}

/* ---- the figures ---- */

/* A machine and the words of its build. */
struct shape {
    const char *name, *topology;
    struct carm_build_words words;
    struct carm_validate_words validate; /* no operations: none */
    bool avx512;
    bool brief;   /* without curves, and of a validation the scores alone */
    bool again;   /* a second build goes on with the first one's model, by words of a quick one */
    double noise; /* of a run, relative */
    bool even;    /* codes are of nearly the same speed */
    size_t odd;   /* of so many runs, one is disturbed */
    double slow;  /* share of its rate that a team of two has */
    const char *fails;
    int backward; /* number of threads whose runs take less time than the empty code */
    size_t stop_at;
    double lag, validate_lag; /* seconds before each run of the build and of the validation */
    double validate_seconds;  /* budget of a validation; 0 = 300 */
    struct carm_winners *known, *found;
};

static const struct shape *shape; /* of the test */

/* A rate beside the planted one: less by noise alone, unless it is marked. */
static double beside(double rate, double planted, int threads, bool disturbed)
{
    const double most = planted * (shape->slow > 0.0 && threads == 2 ? shape->slow : 1.0);
    fail_if(rate > 0.0 && !disturbed &&
                (rate > most * (1.0 + 1e-9) || rate < most * (1.0 - shape->noise - 1e-9)),
            "%g of %g", rate, most);
    return rate / planted;
}

static const int *order; /* of the machine's CPUs, as its threads take them */

/* The planted rate of a code on a level by its working set, of one of so many threads. */
static double planted_memory(const char *code, uint64_t set_bytes, int threads)
{
    const uint64_t each = set_bytes / (uint64_t)threads;
    const int slow = slow_of(order, threads);
    return speed_of(code) * (slow > 0 ? bandwidth_of_kinds(each, threads, slow)
                                      : bandwidth_of(level_of(each, threads), threads));
}

static double planted_compute(const char *code, int threads)
{
    struct carm_code_spec spec;
    assert_ok(carm_code_parse(code, &spec, &err));
    const struct carm_code of = {.spec = spec};
    return peak(&of) * threads * speed_of(code) *
           (slow_of(order, threads) > 0 ? slowness[LEVELS] : 1.0);
}

static void put_rounds(const struct carm_round *rounds, size_t n)
{
    static const char letters[] = "QAsueptmSOctf"; /* of the states, in their order */
    size_t clocks = 0;
    (void)fputs("; rounds ", text);
    for (size_t i = 0; i < n; i++) {
        assert_true(i == 0 || rounds[i - 1].at <= rounds[i].at);
        clocks += rounds[i].clock_hz < 0.95 * clock_hz;
        (void)fputc(letters[rounds[i].state], text);
    }
    (void)fprintf(text, ", %zu of a low clock", clocks);
}

static void put_interval(double rate, struct carm_ci ci, const struct carm_spread *s)
{
    (void)fprintf(text, " (%+.2f to %+.2f%%", 100.0 * (ci.lo / rate - 1.0),
                  100.0 * (ci.hi / rate - 1.0));
    if (s) {
        assert_true(s->min <= s->p5 && s->p5 <= s->p95 && s->p95 <= s->max);
        (void)fprintf(text, "; runs %.3f %.3f %.3f %.3f", s->min / rate, s->p5 / rate,
                      s->p95 / rate, s->max / rate);
    }
    (void)fputs(")", text);
}

static void put_note(bool disturbed, const char *note)
{
    (void)fprintf(text, "%s%s%s\n", disturbed ? "; DISTURBED" : "", *note ? "; " : "", note);
}

static void put_roofs(const struct carm_roofs *r)
{
    (void)fprintf(text,
                  "\nroofs of %s %s, %d threads on %s, CPUs %s, %.3f GHz; a line in %.0f ns\n",
                  r->isa, r->precision, r->threads, r->place, r->cpus, 1e-9 * r->clock_hz,
                  1e9 * r->core_to_core_seconds);
    for (size_t i = 0; i < r->nmemory; i++) {
        const struct carm_memory_roof *m = &r->memory[i];
        (void)fprintf(text, "%s %s: %.5g of planted", m->level, m->ldst,
                      beside(m->bandwidth,
                             planted_memory(m->code, m->working_set_bytes, r->threads), r->threads,
                             m->disturbed));
        put_interval(m->bandwidth, m->ci95, &m->spread);
        (void)fprintf(text,
                      " by %s; %.5g byte/cycle at %.3f GHz; set %llu in %llu x %llu, %llu reps, %s",
                      m->code, m->bytes_per_cycle, 1e-9 * m->clock_hz,
                      (unsigned long long)m->working_set_bytes, (unsigned long long)m->window_bytes,
                      (unsigned long long)m->passes, (unsigned long long)m->reps, m->counted_by);
        put_rounds(m->rounds, m->nrounds);
        put_note(m->disturbed, m->note);
    }
    for (size_t i = 0; i < r->ncompute; i++) {
        const struct carm_compute_roof *c = &r->compute[i];
        (void)fprintf(
            text, "%s: %.5g of planted", c->op,
            beside(c->rate, planted_compute(c->code, r->threads), r->threads, c->disturbed));
        put_interval(c->rate, c->ci95, &c->spread);
        (void)fprintf(text, " by %s; %.5g flop/cycle at %.3f GHz; %llu reps, %s", c->code,
                      c->flops_per_cycle, 1e-9 * c->clock_hz, (unsigned long long)c->reps,
                      c->counted_by);
        put_rounds(c->rounds, c->nrounds);
        put_note(c->disturbed, c->note);
    }
    if (r->dram_peak.bandwidth > 0.0) {
        (void)fprintf(text, "crossing to memory: %.5g GB/s by %s\n", 1e-9 * r->dram_peak.bandwidth,
                      r->dram_peak.code);
    }
    for (size_t i = 0; i < r->nceilings; i++) {
        const struct carm_ceiling_roof *c = &r->ceilings[i];
        (void)fprintf(text, "ceiling %d %s: %.5g G/s", (int)c->group, c->name, 1e-9 * c->rate);
        if (c->rate > 0.0) {
            put_interval(c->rate, c->ci95, NULL);
            (void)fprintf(text, " by %s; %d threads at %.3f GHz, set %llu, %llu reps, %s", c->code,
                          c->threads, 1e-9 * c->clock_hz, (unsigned long long)c->working_set_bytes,
                          (unsigned long long)c->reps, c->counted_by);
        }
        put_note(c->disturbed, c->note);
    }
}

static void put_curve(const struct carm_curve *c, const char *of)
{
    (void)fprintf(text, "\n%s of %s %s %s, %d threads", of, c->isa, c->precision, c->kind,
                  c->threads);
    for (size_t i = 0; i < c->npoints; i++) {
        const struct carm_curve_point *p = &c->points[i];
        (void)fprintf(text, "%s%.0f: %.5g (%+.2f to %+.2f%%)%s", i % 4 ? ", " : "\n", p->x,
                      1e-9 * p->value, 100.0 * (p->ci95.lo / p->value - 1.0),
                      100.0 * (p->ci95.hi / p->value - 1.0), p->disturbed ? " DISTURBED" : "");
    }
    (void)fputs("\n", text);
}

static void put_model(const struct carm_model *m)
{
    (void)fprintf(text, "\nmodel of %s %s, %llu reps%s, at most %llu bytes; %d cores, %d threads\n",
                  m->config.precision, m->config.ldst, (unsigned long long)m->config.reps,
                  m->config.quick ? ", quick" : "",
                  (unsigned long long)m->config.memory_limit_bytes, m->machine.cores,
                  m->machine.threads);
    for (size_t i = 0; i < m->nlevels; i++) {
        const struct carm_level *l = &m->levels[i];
        (void)fprintf(text, "level %s: %llu bytes, ends at %llu%s", l->level,
                      (unsigned long long)l->os_size_bytes, (unsigned long long)l->knee_bytes,
                      l->resolved ? "" : ", not resolved");
        put_note(false, l->note);
    }
    for (size_t i = 0; i < m->nroofs; i++) {
        put_roofs(&m->roofs[i]);
    }
    for (size_t i = 0; i < m->ncurves && !shape->brief; i++) {
        put_curve(&m->curves[i], "curve of GB/s");
    }
    for (size_t i = 0; i < m->nflop_curves && !shape->brief; i++) {
        put_curve(&m->flop_curves[i], "curve of Gflop/s");
    }
    for (size_t i = 0; i < m->nscaling; i++) {
        const struct carm_scaling *s = &m->scaling[i];
        (void)fprintf(text, "\nscaling of %s %s %s %s, %s\n", s->isa, s->precision, s->level,
                      s->kind, s->layout);
        for (size_t k = 0; k < s->npoints; k++) {
            const struct carm_scaling_point *p = &s->points[k];
            const double planted = p->working_set_bytes
                                       ? planted_memory(p->code, p->working_set_bytes, p->threads)
                                       : planted_compute(p->code, p->threads);
            (void)fprintf(text, "%s%d: %.5g of planted", k ? "; " : "", p->threads,
                          beside(p->rate, planted, p->threads, p->disturbed));
            put_interval(p->rate, p->ci95, NULL);
            (void)fprintf(text, " by %s, set %llu%s", p->code,
                          (unsigned long long)p->working_set_bytes,
                          p->disturbed ? " DISTURBED" : "");
        }
        (void)fputs("\n", text);
    }
    for (size_t i = 0; i < m->nscaling_units; i++) {
        (void)fprintf(text, "place %s: %d threads\n", m->scaling_units[i].place,
                      m->scaling_units[i].threads);
    }
}

static void put_set(const struct carm_validation_set *s, const char *level)
{
    (void)fprintf(text, "%s %s %s, %d threads, %s", s->isa, s->precision, s->op, s->threads, level);
}

static void put_validation(const struct carm_model *m)
{
    for (size_t i = 0; i < m->nvalidation_points && !shape->brief; i++) {
        const struct carm_validation_point *p = &m->validation_points[i];
        put_set(&p->set, p->level);
        (void)fprintf(text, ": %.5g op/byte, %.5g G/s", p->flops / p->bytes,
                      1e-9 * p->flops / p->seconds);
        put_interval(p->flops / p->seconds, p->ci95, NULL);
        (void)fprintf(
            text,
            ", roofs beside %.5g, A beside %.5g by %s; set %llu, %llu reps, %.5g slots, crossing",
            1e-9 * p->paired, 1e-9 * p->beside, p->code, (unsigned long long)p->working_set_bytes,
            (unsigned long long)p->reps, p->slots);
        for (size_t k = 0; k < p->ntraffic; k++) {
            (void)fprintf(text, " %.5g", p->traffic[k]);
        }
        put_note(p->disturbed, p->note);
    }
    for (size_t i = 0; i < m->nvalidation_roofs; i++) {
        const struct carm_validation_roof *r = &m->validation_roofs[i];
        put_set(&r->set, r->level);
        (void)fprintf(text, ": beside the points %.5g of the model", r->beside / r->model);
        put_interval(r->beside, r->beside_ci95, NULL);
        (void)fprintf(text, ", fitted %.4g", r->rate / r->model);
        put_note(r->disturbed, "");
    }
    for (size_t i = 0; i < m->nvalidation; i++) {
        const struct carm_validation *v = &m->validation[i];
        put_set(&v->set, v->level);
        (void)fprintf(
            text,
            ", %s: %d points, fitness %.4g, rrmse %.4g (model's %.4g), worst %+.4g at %.4g; beside %.4g, %.4g\n",
            v->model, v->n, v->fitness, v->rrmse, v->rrmse_model, v->worst_error,
            v->worst_intensity, v->fitness_beside, v->rrmse_beside);
    }
    for (size_t i = 0; i < m->nvalidation_fits && !shape->brief; i++) {
        const struct carm_validation_fit *f = &m->validation_fits[i];
        put_set(&f->set, f->level);
        (void)fprintf(text, ", %s: %d points, %.4g GB/s, %.4g G/s, issue %.4g, fitness %.4g%s\n",
                      f->form, f->n, 1e-9 * f->bandwidth, 1e-9 * f->peak, 1e-9 * f->issue,
                      f->cv_fitness, f->chosen ? ", chosen" : "");
    }
}

/* ---- a machine ---- */

static struct carm_observer observer;

static int build_of(const struct carm_build_config *config, const struct carm_host *host,
                    struct carm_model *before, struct carm_model **model)
{
    const struct carm_code_counter counter = {.provider = CARM_PROVIDER_NONE};
    struct carm_build_done done = {.reps = 0};
    struct carm_build_outlook outlook;
    carm_build_foresee(config, host, &outlook);
    (void)fprintf(
        text, "foreseen: %.2f s of %.0f s, %zu reps, %zu roofs, scaling of %zu numbers in %.2f s\n",
        outlook.seconds, outlook.most_seconds, outlook.reps, outlook.roofs, outlook.scaling.n,
        outlook.scaling.seconds);
    steps_begin();
    const int rc = carm_build_run(config, host, &counter, before, model, &done, &err);
    assert_near(observer.total, outlook.seconds, 1e-9);
    (void)fprintf(text, "done: %.2f s, %zu reps, %zu roofs missing, %d threads share cores%s%s\n",
                  done.seconds, done.reps, done.missing, done.paired, rc ? "; " : "",
                  rc ? err.text : "");
    steps_end();
    assert_int_equal(seen.teams, 0);
    assert_true(seen.below_room);
    return rc;
}

static void validate_of(struct carm_model *m, const struct carm_host *host)
{
    static struct carm_validate_config config;
    struct carm_validate_words words = shape->validate;
    char budget[16];
    (void)snprintf(budget, sizeof budget, "%.0f",
                   shape->validate_seconds > 0.0 ? shape->validate_seconds : 300.0);
    words.budget = budget;
    const struct carm_code_counter counter = {.provider = CARM_PROVIDER_NONE};
    struct carm_validate_done done = {.missing = 99};
    if (carm_validate_configure(&config, m, &words, &host->cpu, host->topo, &err)) {
        (void)fprintf(text, "not validated: %s\n", err.text);
        return;
    }
    steps_begin();
    seen.lag = shape->validate_lag;
    const int rc = carm_validate_run(&config, host, "planted", &counter, m, &done, &err);
    (void)fprintf(text, "\nvalidated: %zu points missing of %.2f s%s%s\n", done.missing,
                  observer.total, rc ? "; " : "", rc ? err.text : "");
    steps_end();
    put_validation(m);
    assert_int_equal(seen.teams, 0);
}

static void append(const struct shape *of)
{
    static struct carm_build_config config;
    struct carm_host host = {.clock = {.tsc_hz = tsc_hz, .synchronous = true},
                             .observer = &observer};
    struct carm_model *m = NULL, *second = NULL;
    struct carm_build_words words = of->words;
    shape = of;
    memset(&seen, 0, sizeof seen);
    seen.print = FINGERPRINT_NONE;
    seen.below_room = true;
    seen.noise = of->noise;
    speeds.least = of->even ? 0.97 : 0.80;
    speeds.span = of->even ? 0.03 : 0.20;
    seen.lag = of->lag;
    seen.odd = of->odd;
    seen.slow = of->slow;
    seen.fails = of->fails;
    seen.backward = of->backward;
    seen.stop_at = of->stop_at;
    seen.watch = watch;
    seen.other = other;
    seen.counter_hz = tsc_hz;
    counter_plant(counter_now);
    over = 0;
    pages.bound = -1;
    two_kinds = false;
    observer = (struct carm_observer){.show = show, .say = say, .stop = &over};
    (void)fprintf(text, "---- %s\n", of->name);
    assert_ok(carm_topo_open(&host.topo, of->topology, NULL, &err));
    if (of->topology == hybrid) {
        make_hybrid(host.topo);
    }
    order = host.topo->order;
    for (int i = 0; i < CARM_VECTOR_ISAS; i++) {
        host.cpu.isa[i] = i != CARM_AVX512 || of->avx512;
    }
    host.cpu.fma = true;
    words.memory = words.memory ? words.memory : "1G";
    words.budget = words.budget ? words.budget : "600";
    words.latency = words.latency ? words.latency : "no";
    assert_ok(carm_build_configure(&config, &words, &host.cpu, host.topo, &err));
    (void)strcpy(config.machine, "Zen 3");
    config.known = of->known;
    config.found = of->found;
    if (build_of(&config, &host, NULL, &m) == 0) {
        put_model(m);
        if (of->validate.ops) {
            validate_of(m, &host);
        }
    }
    if (of->again) {
        words.quick = "yes";
        words.memory = "200M";
        assert_ok(carm_build_configure(&config, &words, &host.cpu, host.topo, &err));
        assert_ok(build_of(&config, &host, m, &second));
        for (size_t i = 0; i < second->nroofs; i++) {
            put_roofs(&second->roofs[i]);
        }
    }
    carm_model_free(second);
    carm_model_free(m);
    carm_topo_close(host.topo);
    for (size_t i = 0; of->found && i < of->found->n; i++) {
        const struct carm_winner *w = &of->found->items[i];
        (void)fprintf(text, "found %s %s: %s, %.4f times as fast; %.*s\n", w->machine, w->level,
                      w->code, w->gain, (int)strcspn(w->source, ","), w->source);
    }
    counter_plant(NULL);
    memset(&seen, 0, sizeof seen);
    over = 0;
}

static void walk(const struct shape *of)
{
    text_open();
    append(of);
    text_is(of->name);
}

/* Four cores with a last cache of their own, quiet; all ceilings and scaling; a second build goes on with the first. */
TEST(four_cores)
{
    walk(&(struct shape){
        .name = "four_cores",
        .topology = machine,
        .words = {.isa = "avx2,sse",
                  .precision = "dp,sp",
                  .ldst = "2:1,1:0,2:1nt",
                  .ops = "fma,mad",
                  .threads = "1,4",
                  .reps = "512",
                  .ceilings = "",
                  .scaling = "yes"},
        .validate = {.ops = "fma", .threads = "4", .levels = "L2,DRAM", .reps = "512"},
        .again = true,
        .noise = 0.006,
        .slow = 0.98});
}

/* Two cores of two hardware threads each, with vectors of 64 bytes, quick. */
TEST(hardware_threads)
{
    walk(&(struct shape){
        .name = "hardware_threads",
        .topology = "pack:1 numa:1 l3:1(size=8388608) core:2 l2:1(size=1048576) "
                    "l1:1(size=49152) pu:2",
        .words = {.ldst = "2:1",
                  .ops = "fma,mad,fma+add",
                  .quick = "yes",
                  .threads = "1,2,4",
                  .reps = "1024"},
        .validate = {.ops = "fma", .isa = "avx2", .threads = "2", .quick = "yes", .reps = "256"},
        .avx512 = true,
        .even = true,
        .noise = 0.02});
}

/* Two sockets of two cores each; one in seven runs is disturbed. */
TEST(two_sockets)
{
    walk(&(struct shape){
        .name = "two_sockets",
        .topology = two_nodes,
        .words = {.isa = "avx2",
                  .precision = "dp",
                  .ldst = "1:1,update",
                  .ops = "fma,add",
                  .threads = "1,2,4",
                  .reps = "4096",
                  .scaling = "yes",
                  .ceilings = "memory,busy"},
        .validate = {.ops = "fma,add", .threads = "2", .levels = "L1,DRAM", .reps = "4096"},
        .even = true,
        .noise = 0.01,
        .odd = 7});
}

/* No third cache, by the system; one in three runs is disturbed, and two threads are slower than they should be. */
TEST(no_third_cache)
{
    walk(
        &(struct shape){.name = "no_third_cache",
                        .topology = "pack:1 numa:1 core:4 l2:1(size=1048576) l1:1(size=49152) pu:1",
                        .words = {.isa = "avx2",
                                  .precision = "dp",
                                  .ldst = "2:1",
                                  .ops = "add,mad",
                                  .threads = "1,2,4",
                                  .reps = "256",
                                  .scaling = "yes",
                                  .ceilings = "busy,traffic"},
                        .validate = {.ops = "add", .threads = "2", .levels = "L2", .reps = "256"},
                        .even = true,
                        .noise = 0.01,
                        .odd = 3,
                        .slow = 0.9});
}

/* Codes of eight loads never run to an end, runs of two threads take less time than the empty code. The budget is short. */
TEST(codes_that_fail)
{
    walk(&(struct shape){.name = "codes_that_fail",
                         .topology = machine,
                         .words = {.isa = "avx2,scalar",
                                   .precision = "dp",
                                   .ldst = "1:0,0:1",
                                   .ops = "fma,mul",
                                   .threads = "1,4",
                                   .reps = "4096",
                                   .budget = "20",
                                   .scaling = "yes"},
                         .noise = 0.004,
                         .fails = ".u8",
                         .backward = 2});
}

/* The user stops in the rounds; and the rounds leave no time for latencies, nor for memory domains. */
TEST(stopped)
{
    struct shape of = {.name = "stopped",
                       .topology = machine,
                       .words = {.isa = "avx2",
                                 .precision = "dp",
                                 .ldst = "2:1",
                                 .ops = "fma",
                                 .threads = "1,4",
                                 .reps = "256"},
                       .noise = 0.004,
                       .stop_at = 900};
    text_open();
    append(&of);
    of.name = "no time for latencies";
    of.topology = two_nodes;
    of.words.latency = "yes";
    of.words.budget = "15";
    of.stop_at = 0;
    of.lag = 0.6;
    append(&of);
    text_is("stopped");
}

static const char two_cores[] = "pack:1 numa:1 l3:1(size=8388608) core:2 l2:1(size=1048576) "
                                "l1:1(size=49152) pu:1";

/* Budgets that end in the curves, in the searches, in the rounds, and in the scaling: runs wait before they begin. */
TEST(short_budgets)
{
    static const struct {
        const char *name;
        double lag, validate_lag;
    } of[] = {{"at once", 100.0, 0.0},
              {"in curves", 0.1, 0.0},
              {"in searches", 0.03, 0.05},
              {"in searches beside the widest", 0.01, 0.01},
              {"in rounds", 0.008, 0.004}};
    text_open();
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        append(&(struct shape){
            .name = of[i].name,
            .topology = two_cores,
            .words = {.isa = i == 3 ? NULL : "avx2,sse",
                      .precision = "dp",
                      .ldst = "2:1,1:1",
                      .ops = "fma,mad",
                      .threads = "1,2",
                      .reps = "1024",
                      .budget = "45",
                      .ceilings = "memory,traffic",
                      .scaling = "yes"},
            .validate = {.ops = "fma", .isa = "avx2", .levels = "L1,L3", .reps = "1024"},
            .noise = 0.01,
            .odd = 11,
            .lag = of[i].lag,
            .validate_lag = of[i].validate_lag,
            .validate_seconds = 5.0});
    }
    text_is("short_budgets");
}

/* Codes that won before on this machine, on another, of another level, of none that exists, and those that win again; and
 * a search for more. */
TEST(winners)
{
    static struct carm_winner items[] = {
        {"Zen 3", "L1", "A.sse.dp.1:1.u4.s2", 1.02, "before"},
        {"Zen 3", "L2", "A.sse.dp.2:1.u22.p640.s3", 1.02, "before"},
        {"Zen 3", "DRAM", "A.sse.dp.2:1.u4", 1.02, "before"},
        {"Zen 3", "L3", "A.sse.dp.1:1.u24.s4.block", 1.02, "before"},
        {"Zen 3", "L3", "A.sse.dp.1:1.u99.s9", 1.02, "before"},
        {"Zen 3", "L3", "A.sse.dp.1:1.u12.p1024", 1.02, "before"},
        {"Zen 3", "L2", "A.sse.dp.2:1.u8.s6", 1.02, "before"},
        {"Zen 4", "L1", "A.sse.dp.2:1.u26.s3", 1.02, "before"}};
    struct carm_winners known = {.n = sizeof items / sizeof *items, .items = items};
    struct carm_winners found = {.n = 0};
    const struct shape known_alone = {.name = "winners_known",
                                      .topology = two_cores,
                                      .words = {.isa = "sse",
                                                .precision = "dp",
                                                .ldst = "2:1,1:1",
                                                .ops = "add",
                                                .threads = "1,2",
                                                .reps = "256"},
                                      .noise = 0.03,
                                      .known = &known};
    struct shape searched = known_alone;
    text_open();
    append(&known_alone);
    searched.name = "winners_found";
    searched.found = &found;
    append(&searched);
    text_is("winners");
    carm_winners_close(&found);
}

/* Two fast cores and two slow ones, whose caches are of other sizes: the roofs of all four are those of the slow ones. */
TEST(two_kinds_of_cores)
{
    walk(&(struct shape){
        .name = "two_kinds",
        .topology = hybrid,
        .words = {.isa = "avx2",
                  .precision = "dp",
                  .ldst = "2:1",
                  .ops = "fma",
                  .reps = "512",
                  .scaling = "yes",
                  .ceilings = "busy,traffic"},
        .validate = {.ops = "fma", .threads = "4", .levels = "L1,L2", .reps = "512"},
        .brief = true,
        .noise = 0.01});
}

/* Two sockets of 16 cores, and roofs of all threads alone: more numbers of threads than are measured. */
TEST(many_cores)
{
    walk(&(struct shape){.name = "many_cores",
                         .topology = "pack:2 [numa] l3:2(size=8388608) core:8 l2:1(size=1048576) "
                                     "l1:1(size=49152) pu:1",
                         .words = {.isa = "avx2",
                                   .precision = "dp",
                                   .ldst = "2:1",
                                   .ops = "fma",
                                   .threads = "32",
                                   .reps = "256",
                                   .scaling = "yes"},
                         .brief = true});
}

/* One cache, one thread; mixtures of operations on a narrower ISA beside the widest. A validation has no time for a run. */
TEST(one_cache)
{
    walk(&(struct shape){.name = "one_cache",
                         .topology = "pack:1 numa:1 core:1 l1:1(size=49152) pu:1",
                         .words = {.ldst = "2:1,update",
                                   .ops = "fma,mad,fma+add,2fma+add",
                                   .threads = "1",
                                   .reps = "4096",
                                   .ceilings = "",
                                   .scaling = "yes"},
                         .validate = {.ops = "fma", .isa = "avx2", .reps = "256"},
                         .validate_lag = 400.0,
                         .even = true,
                         .noise = 0.02,
                         .odd = 5});
}
