/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/count.h"
#include "harness/count/step/counts.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/count/step/trap.h"
#include "harness/machine/team.h"
#include "harness/machine/window.h"
#include "models/count_check.h"

/* Small enough for every L1 data cache, large enough for one iteration of every code. */
enum { WINDOW_BYTES = 1 << 17 };

/* Instructions of a counted run: PAPI's start and stop execute some thousand in user mode. */
static const uint64_t counted_instructions = 4000000;
static const uint64_t stepped_instructions = 400;

struct work {
    uint64_t iterations, passes, extra;
};

static int plan(const struct carm_code *code, void *window, size_t window_bytes,
                uint64_t instructions, struct work *w, struct carm_err *err)
{
    const struct carm_account *a = &code->account;
    enum { PASSES = 2 }; /* at least */
    const uint64_t want = instructions / (a->instructions ? a->instructions : 1);
    struct carm_shape shape;
    struct carm_windows at;
    carm_measure_shape_of(code, window_bytes, 1, &shape);
    if (carm_window_span(code, &shape) > window_bytes) {
        return carm_fail(err, CARM_ENOTSUP,
                         "code %s needs a window of %llu bytes to be counted, not %zu", code->name,
                         (unsigned long long)carm_window_span(code, &shape), window_bytes);
    }
    const uint64_t room = a->stride_bytes ? shape.windows : want; /* iterations */
    w->iterations = want < room ? want : room;
    w->iterations = w->iterations > 1 ? w->iterations : 1;
    const uint64_t passes = want / w->iterations;
    w->passes = passes > PASSES ? passes : PASSES;
    carm_windows_begin(&at, code, &shape, window, 0, 0, 0);
    w->extra = carm_windows_extra(&at);
    return 0;
}

static void put(struct carm_counts *c, enum carm_quantity q, uint64_t n)
{
    carm_count_put(c, q, (double)n, CARM_COUNTED_CONSTRUCTED);
}

/* The quantity that counts a code's operations. Logic on integers is counted in lanes of the width in
 * the instruction's name, 64 bits without one. Flipping signs (update) is logic, too, so such codes
 * cannot be compared. */
static enum carm_quantity operations_of(const struct carm_code *code)
{
    const struct carm_code_spec *s = &code->spec;
    return !carm_precisions[s->precision].integer ? CARM_Q_FLOPS
           : s->op == CARM_LOGIC || s->mix.update ? CARM_Q_COUNT
                                                  : CARM_Q_INT_OPS;
}

static void construct(const struct carm_code *code, struct work w, struct carm_counts *out)
{
    const struct carm_account *a = &code->account;
    const uint64_t times = w.iterations * w.passes;
    const uint64_t load_bytes = a->load_bytes * times + a->setup_load_bytes;
    memset(out, 0, sizeof *out);
    if (operations_of(code) != CARM_Q_COUNT) {
        put(out, operations_of(code), a->flops * times);
    }
    put(out, CARM_Q_LOADS, a->loads * times + a->setup_loads);
    put(out, CARM_Q_STORES, a->stores * times);
    put(out, CARM_Q_LOAD_BYTES, load_bytes);
    put(out, CARM_Q_STORE_BYTES, a->store_bytes * times);
    put(out, CARM_Q_BYTES, load_bytes + a->store_bytes * times);
}

/* Steps one call. The counts of the call itself are the same for every function of this type, as
 * long as there is one copy of this function: hence noinline. */
__attribute__((noinline)) static int step_call(carm_code_fn *run, void *window, struct work w,
                                               struct carm_step_counts *steps, struct carm_err *err)
{
    bool complete = false;
    int rc = carm_step_begin(100 * stepped_instructions + 100000, err);
    if (rc) {
        return rc;
    }
    run(window, w.iterations, w.passes, w.extra);
    rc = carm_step_end(steps, &complete, err);
    if (!rc && !complete) {
        rc = carm_fail(err, CARM_ENOTSUP, "a code was too long to be stepped");
    }
    return rc;
}

/* A function that only returns, whose counts are subtracted from a code's. A compiler's empty
 * function may push a frame pointer (-O0, clang's -fno-omit-frame-pointer), which would then be
 * missing from the code's counts. */
extern carm_code_fn carm_count_nothing;
__asm__(".pushsection .text\n.globl carm_count_nothing\ncarm_count_nothing: ret\n.popsection");

static int by_stepping(const struct carm_code *code, void *window, struct work w,
                       struct carm_counts *out, struct carm_err *err)
{
    struct carm_step_counts steps;
    struct carm_step_counts call;
    carm_code_fn *volatile functions[] = {carm_count_nothing,
                                          code->run}; /* pointers: no call is inlined or removed */
    int rc = step_call(functions[0], window, w, &call, err);
    rc = rc ? rc : step_call(functions[1], window, w, &steps, err);
    if (!rc) {
        steps.loads -= call.loads;
        steps.load_bytes -= call.load_bytes;
        steps.stores -= call.stores;
        steps.store_bytes -= call.store_bytes;
        carm_step_counts_to_counts(&steps, 1.0, out);
    }
    return rc;
}

static int by_counters(struct carm_counters *counters, const struct carm_code *code, void *window,
                       struct work w, const struct carm_counts *constructed,
                       struct carm_counts *out, struct carm_err *err)
{
    const struct carm_recipe *recipe = carm_counters_recipe(counters);
    const struct carm_counter_target self = {.kind = CARM_TARGET_THREAD};
    struct carm_reading *all = calloc(2 * recipe->nevents, sizeof *all);
    bool must[CARM_Q_COUNT] = {false};
    int rc = 0;
    if (!all) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the counters");
    }
    for (size_t g = 0; g < carm_counters_groups(counters) && !rc; g++) {
        struct carm_reading *some = all + recipe->nevents;
        struct carm_counter_set *set = NULL;
        rc = carm_counter_set_open(&set, counters, self, (int)g, err);
        rc = rc ? rc : carm_counter_set_start(set, err);
        if (!rc) {
            code->run(window, w.iterations, w.passes, w.extra);
            rc = carm_counter_set_stop(set, some, err);
        }
        for (size_t i = 0; i < recipe->nevents && !rc; i++) {
            all[i] = some[i].present ? some[i] : all[i];
        }
        carm_counter_set_close(set);
    }
    for (int q = 0; q < CARM_Q_COUNT; q++) {
        must[q] = constructed->q[q].value > 0.0;
    }
    rc = rc ? rc : carm_recipe_evaluate(recipe, all, must, out, err);
    free(all);
    return rc;
}

int carm_count_code(struct carm_counters *counters, const struct carm_code *code, void *window,
                    size_t window_bytes, struct carm_counts *counted,
                    struct carm_counts *constructed, struct carm_err *err)
{
    struct work w;
    const int rc = plan(code, window, window_bytes,
                        counters ? counted_instructions : stepped_instructions, &w, err);
    if (rc) {
        return rc;
    }
    construct(code, w, constructed);
    return counters ? by_counters(counters, code, window, w, constructed, counted, err)
                    : by_stepping(code, window, w, counted, err);
}

int carm_code_counter_open(struct carm_code_counter *counter, const char *word,
                           const struct carm_cpu *cpu, struct carm_err *err)
{
    struct carm_err why = {""};
    *counter = (struct carm_code_counter){.provider = CARM_PROVIDER_AUTO};
    int rc = word ? carm_provider_parse(word, &counter->provider, err) : 0;
    if (rc || counter->provider == CARM_PROVIDER_NONE || counter->provider == CARM_PROVIDER_STEP) {
        return rc;
    }
    if (counter->provider == CARM_PROVIDER_TRANSLATE) {
        *counter = (struct carm_code_counter){.provider = CARM_PROVIDER_NONE};
        return carm_fail(err, CARM_EINVAL,
                         "--counters translate counts whole programs (carm run): use step");
    }
    rc = carm_recipe_find(cpu->vendor, cpu->family, cpu->model, &counter->recipe, &why);
    rc = rc ? rc : carm_counters_open(&counter->counters, counter->provider, counter->recipe, &why);
    if (!rc) {
        counter->provider = carm_counters_provider(counter->counters);
        return 0;
    }
    carm_recipe_free(counter->recipe);
    const bool named = counter->provider != CARM_PROVIDER_AUTO;
    *counter = (struct carm_code_counter){.provider = CARM_PROVIDER_NONE};
    return named ? carm_fail(err, CARM_ENOTSUP, "%s", why.text) : 0;
}

void carm_code_counter_close(struct carm_code_counter *counter)
{
    carm_counters_close(counter->counters);
    carm_recipe_free(counter->recipe);
    *counter = (struct carm_code_counter){.provider = CARM_PROVIDER_NONE};
}

struct job {
    const struct carm_code_counter *counter;
    const struct carm_code *code;
    struct carm_counts counted, constructed;
    int rc;
    struct carm_err err;
};

static void count(struct carm_worker *worker, void *arg)
{
    struct job *job = arg;
    job->rc = carm_count_code(job->counter->counters, job->code, worker->buffer.start, WINDOW_BYTES,
                              &job->counted, &job->constructed, &job->err);
}

static int open_team(struct carm_team **team, const struct carm_topo *topo,
                     const struct carm_clock *clock, struct carm_err *err)
{
    const int rc = carm_team_open(team, topo, clock, 1, WINDOW_BYTES, 1, err);
    if (!rc) {
        carm_team_touch(*team, WINDOW_BYTES);
    }
    return rc;
}

static int count_code(struct carm_team *team, struct job *job, struct carm_err *err)
{
    carm_team_run(team, count, job);
    if (job->rc == -CARM_EFORMAT) {
        return carm_fail(err, CARM_EFORMAT,
                         "code %s: %.300s; --counters none goes on without counters",
                         job->code->name, job->err.text);
    }
    if (job->rc) {
        *err = job->err;
    }
    return job->rc;
}

static struct carm_checked checked(const struct job *job, enum carm_quantity q)
{
    if (q == CARM_Q_COUNT) {
        return (struct carm_checked){.counted = -1.0};
    }
    return (struct carm_checked){
        .constructed = job->constructed.q[q].value,
        .counted = carm_count_has(&job->counted, q) ? job->counted.q[q].value : -1.0,
    };
}

/* Whether a counter's recipe gives an upper bound instead of the count. */
static bool is_bound(const struct job *job)
{
    const struct carm_count *c = &job->counted.q[CARM_Q_LOADS];
    const struct carm_count *f = &job->counted.q[CARM_Q_FLOPS];
    return c->low < c->value || f->low < f->value;
}

int carm_code_counter_try(const struct carm_code_counter *counter, const struct carm_image *image,
                          const struct carm_topo *topo, const struct carm_clock *clock,
                          struct carm_err *err)
{
    struct carm_team *team = NULL;
    unsigned seen = 1U << CARM_KIND_EMPTY;
    int rc = counter->provider == CARM_PROVIDER_NONE ? 0 : open_team(&team, topo, clock, err);
    for (size_t i = 0; i < image->n && team && !rc; i++) {
        const unsigned bit = 1U << image->codes[i].spec.kind;
        if (!(seen & bit)) {
            struct job job = {.counter = counter, .code = &image->codes[i]};
            rc = count_code(team, &job, err);
            seen |= bit;
        }
    }
    carm_team_close(team);
    return rc;
}

static bool names(const struct carm_model *model, const char *code)
{
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        for (size_t k = 0; k < r->nmemory; k++) {
            if (strcmp(r->memory[k].code, code) == 0) {
                return true;
            }
        }
        for (size_t k = 0; k < r->ncompute; k++) {
            if (strcmp(r->compute[k].code, code) == 0) {
                return true;
            }
        }
        for (size_t k = 0; k < r->nceilings; k++) {
            if (strcmp(r->ceilings[k].code, code) == 0) {
                return true;
            }
        }
    }
    for (size_t i = 0; i < model->nvalidation_points; i++) {
        if (strcmp(model->validation_points[i].code, code) == 0) {
            return true;
        }
    }
    return false;
}

int carm_code_counter_check(const struct carm_code_counter *counter, const struct carm_image *image,
                            const struct carm_topo *topo, const struct carm_clock *clock,
                            struct carm_model *model, struct carm_err *err)
{
    struct carm_team *team = NULL;
    int rc = counter->provider == CARM_PROVIDER_NONE ? 0 : open_team(&team, topo, clock, err);
    for (size_t i = 0; i < image->n && team && !rc; i++) {
        struct job job = {.counter = counter, .code = &image->codes[i]};
        struct carm_count_check check = {.deviation = 0.0};
        if (!names(model, job.code->name)) {
            continue;
        }
        rc = count_code(team, &job, err);
        if (rc) {
            break;
        }
        snprintf(check.code, sizeof check.code, "%s", job.code->name);
        snprintf(check.counted_by, sizeof check.counted_by, "%s",
                 carm_provider_name(counter->provider));
        snprintf(check.recipe, sizeof check.recipe, "%s",
                 counter->recipe ? counter->recipe->name : "");
        check.flops = checked(&job, operations_of(job.code));
        check.loads = checked(&job, CARM_Q_LOADS);
        check.stores = checked(&job, CARM_Q_STORES);
        carm_count_check_judge(&check, is_bound(&job));
        rc = carm_count_check_add(model, &check, err);
    }
    carm_team_close(team);
    return rc;
}
