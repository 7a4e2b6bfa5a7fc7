/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Latencies that a deadline ends: whatever was measured by then makes a model that can be written and read, and what was
 * not has its reason. */
#include "models/core.h"
#include "tests/models/model_text.h"
#include "validation/latency/latency.h"

static struct carm_host host;
static unsigned said; /* sentences about the budget */

static void say(const char *text)
{
    said += strstr(text, "--budget") ? 1 : 0;
}

static struct carm_observer observer = {.say = say};

/* A model without latencies. */
static struct carm_model *model_of_others(void)
{
    struct carm_model *model = read_sample();
    assert_int_equal(model->ncore + model->nlatency, 0);
    return model;
}

/* Written and read, it is the same; and what lacks says why. */
static void check_model(const struct carm_model *model)
{
    (void)there_and_back(model);
    for (size_t i = 0; i < model->ncore; i++) {
        const struct carm_core_figure *f = &model->core[i];
        assert_true(f->latency > 0.0 || f->throughput > 0.0 || f->note[0]);
    }
    for (size_t i = 0; i < model->nlatency; i++) {
        assert_true(model->latency[i].seconds > 0.0 || model->latency[i].note[0]);
    }
    for (size_t i = 0; i < model->nlatency_curves; i++) {
        assert_true(model->latency_curves[i].npoints > 0);
    }
}

static void measure(struct carm_deadline deadline, int expected)
{
    const struct carm_latency_options options = {.quick = true, .memory_bytes = 512U << 20};
    struct carm_model *model = model_of_others();
    const int rc = carm_latency_measure(&options, &host, deadline, model, &err);
    fail_if(rc != expected, "%d: %s", rc, err.text);
    if (rc == 0) {
        check_model(model);
    }
}

TEST(one_that_is_over)
{
    said = 0;
    measure((struct carm_deadline){.tsc = 1}, 0);
    assert_int_equal(said, 1);
}

TEST(at_any_time)
{
    static const double seconds[] = {0.002, 0.05, 0.2, 0.4, 0.8};
    for (size_t i = 0; i < sizeof seconds / sizeof *seconds; i++) {
        const struct carm_deadline never = {.tsc = 0};
        said = 0;
        measure(carm_deadline_within(never, seconds[i] * host.clock.tsc_hz), 0);
        assert_int_equal(said, 1);
    }
}

TEST(the_user_stops)
{
    static volatile sig_atomic_t stop = 1;
    observer.stop = &stop;
    measure((struct carm_deadline){.stop = &stop}, -CARM_EINTR);
    observer.stop = NULL;
}

static int open_host(void **state)
{
    if (carm_host_open(&host, NULL, &observer, &err) || carm_clock_open(&host.clock, &err)) {
        print_message("%s\n", err.text);
        return -1;
    }
    return 0;
}

static int close_host(void **state)
{
    carm_host_close(&host);
    return 0;
}

RUN_TESTS(open_host, close_host)
