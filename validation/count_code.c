/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/count_code.h"

#include <stdlib.h>
#include <string.h>

#include "harness/count/step/trap.h"
#include "harness/window.h"

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
    w->passes = want / w->iterations > 2 ? want / w->iterations : 2;
    carm_windows_begin(&at, code, &shape, window, 0, 0, 0);
    w->extra = carm_windows_extra(&at);
    return 0;
}

static void put(struct carm_counts *c, enum carm_quantity q, uint64_t n)
{
    carm_count_put(c, q, (double)n, CARM_COUNTED_CONSTRUCTED);
}

static void construct(const struct carm_code *code, struct work w, struct carm_counts *out)
{
    const struct carm_account *a = &code->account;
    const uint64_t times = w.iterations * w.passes;
    const uint64_t load_bytes = a->load_bytes * times + a->setup_load_bytes;
    memset(out, 0, sizeof *out);
    put(out, CARM_Q_FLOPS, a->flops * times);
    put(out, CARM_Q_LOADS, a->loads * times + a->setup_loads);
    put(out, CARM_Q_STORES, a->stores * times);
    put(out, CARM_Q_LOAD_BYTES, load_bytes);
    put(out, CARM_Q_STORE_BYTES, a->store_bytes * times);
    put(out, CARM_Q_BYTES, load_bytes + a->store_bytes * times);
}

/* Steps one call; what the call itself takes is the same for every function of that type. */
static int step_call(carm_code_fn *run, void *window, struct work w, struct carm_step_counts *steps,
                     struct carm_err *err)
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

static void nothing(void *window, uint64_t iterations, uint64_t passes, uint64_t extra)
{
    (void)window;
    (void)iterations;
    (void)passes;
    (void)extra;
}

static int by_stepping(const struct carm_code *code, void *window, struct work w,
                       struct carm_counts *out, struct carm_err *err)
{
    struct carm_step_counts steps;
    struct carm_step_counts call;
    carm_code_fn *volatile functions[] = {nothing, code->run}; /* no call is inlined or left out */
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
