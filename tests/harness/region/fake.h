/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Regions with counters and steps that count what a test says it did, each scenario in a process of its
 * own, since rows are written at its end. */
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include "harness/region/stack.h"
#include "harness/region/table.h"
#include "include/carm.h"
#include "tests/models/csv.h"
#include "tests/unit.h"

enum { FAKE_FLOPS, FAKE_BYTES, FAKE_READINGS };

/* What this thread did so far; counters that are running see it. */
static _Thread_local uint64_t fake_flops, fake_bytes;

/* Work of n flops and 8 n bytes, of n instructions. */
static inline void fake_work(uint64_t n)
{
    fake_flops += n;
    fake_bytes += 8 * n;
}

/* ---- counters ---- */

static _Thread_local uint64_t fake_time;
static atomic_int fake_opened, fake_closed;
static atomic_bool fake_refuses; /* open fails */
static _Thread_local bool fake_unreadable;
static double fake_running = 1.0; /* share of the time that events were on a counter */
static bool fake_constant;        /* the share itself is given, as PAPI does, and not the times */

static inline int fake_open(void **set, struct carm_err *failure)
{
    if (fake_refuses) {
        return carm_fail(failure, CARM_ENOTSUP, "the fake counter refuses");
    }
    atomic_fetch_add(&fake_opened, 1);
    *set = &fake_flops;
    return 0;
}

static inline int fake_read(void *set, struct carm_reading *r, struct carm_err *failure)
{
    if (fake_unreadable) {
        return carm_fail(failure, CARM_EIO, "the fake counter cannot be read");
    }
    if (set != &fake_flops) {
        abort(); /* another thread's */
    }
    for (int i = 0; i < FAKE_READINGS; i++) {
        r[i].present = true;
        r[i].count = (double)(i == FAKE_FLOPS ? fake_flops : fake_bytes) * fake_running;
        r[i].enabled = fake_constant ? 1.0 : (double)++fake_time;
        r[i].running = r[i].enabled * fake_running;
    }
    return 0;
}

static inline void fake_close(void *set)
{
    (void)set;
    atomic_fetch_add(&fake_closed, 1);
}

static inline int fake_evaluate(const struct carm_reading *r, struct carm_counts *out,
                                struct carm_err *failure)
{
    (void)failure;
    memset(out, 0, sizeof *out);
    for (int i = 0; i < FAKE_READINGS; i++) {
        const enum carm_quantity q = i == FAKE_FLOPS ? CARM_Q_FLOPS : CARM_Q_BYTES;
        if (r[i].present && r[i].running > 0.0) {
            carm_count_put(out, q, r[i].count * r[i].enabled / r[i].running, CARM_COUNTED_PMU);
            out->q[q].share = r[i].running / r[i].enabled;
        }
    }
    return 0;
}

/* ---- steps ---- */

static _Thread_local struct {
    bool active;
    uint64_t flops, bytes, budget; /* at begin */
} fake_step;

static inline int fake_step_begin(uint64_t budget, struct carm_err *failure)
{
    if (fake_refuses || fake_step.active) {
        return carm_fail(failure, CARM_ENOTSUP, "the fake stepper refuses");
    }
    fake_step.active = true;
    fake_step.flops = fake_flops;
    fake_step.bytes = fake_bytes;
    fake_step.budget = budget;
    return 0;
}

static inline int fake_step_read(struct carm_step_counts *c, bool *complete,
                                 struct carm_err *failure)
{
    if (!fake_step.active) {
        return carm_fail(failure, CARM_EINVAL, "not stepping");
    }
    memset(c, 0, sizeof *c);
    c->instructions = c->flops[0][3] = fake_flops - fake_step.flops;
    c->fp_instructions = c->fp_adds = c->instructions;
    c->prefetches = 2 * c->instructions;
    c->load_bytes = fake_bytes - fake_step.bytes;
    *complete = c->instructions <= fake_step.budget;
    return 0;
}

static inline int fake_step_end(struct carm_step_counts *c, bool *complete,
                                struct carm_err *failure)
{
    const int rc = fake_step_read(c, complete, failure);
    fake_step.active = false;
    return rc;
}

static inline void fake_nothing(void)
{
}

/* ---- scenarios ---- */

enum fake_mode { FAKE_TIME, FAKE_COUNTERS, FAKE_STEPS };

static char fake_dir[64], fake_out[96], fake_said[96];

static inline int fake_setup(void **state)
{
    (void)snprintf(fake_dir, sizeof fake_dir, "/tmp/carm-region-XXXXXX");
    if (!mkdtemp(fake_dir)) {
        return -1;
    }
    (void)snprintf(fake_out, sizeof fake_out, "%s/points.csv", fake_dir);
    (void)snprintf(fake_said, sizeof fake_said, "%s/said", fake_dir);
    return 0;
}

/* The rows and the messages of the last run. */
static struct csv csv;
static char *said;

static inline void fake_free(void)
{
    csv_free(&csv);
    free(said);
    csv = (struct csv){.text = NULL};
    said = NULL;
}

static inline int fake_teardown(void **state)
{
    fake_free();
    (void)unlink(fake_out);
    (void)unlink(fake_said);
    return rmdir(fake_dir);
}

static bool fake_by_thread; /* CARM_ROWS=thread in the next run */

/* Runs a scenario in a process with regions on. The scenario returns how many of its checks failed. */
static inline void fake_run(enum fake_mode mode, int (*scenario)(void))
{
    fake_free();
    static struct carm_region_setup setup;
    int status = -1;
    (void)fflush(stdout);
    const pid_t pid = fork();
    if (pid == 0) {
        if (!freopen(fake_said, "w", stderr)) {
            _exit(99);
        }
        (void)snprintf(setup.out, sizeof setup.out, "%s", fake_out);
        setup.step_budget = 1000;
        setup.rows_by_thread = fake_by_thread;
        setup.source = (struct carm_region_source){0};
        if (mode == FAKE_COUNTERS) {
            setup.source = (struct carm_region_source){.nreadings = FAKE_READINGS,
                                                       .open = fake_open,
                                                       .read = fake_read,
                                                       .close = fake_close,
                                                       .evaluate = fake_evaluate};
        } else if (mode == FAKE_STEPS) {
            setup.source = (struct carm_region_source){.steps = true,
                                                       .step_begin = fake_step_begin,
                                                       .step_read = fake_step_read,
                                                       .step_end = fake_step_end,
                                                       .step_pause = fake_nothing,
                                                       .step_resume = fake_nothing};
        } else {
            (void)snprintf(setup.reason, sizeof setup.reason, "time alone");
        }
        carm_region_start(&setup);
        exit(scenario());
    }
    (void)waitpid(pid, &status, 0);
    said = csv_slurp(fake_said);
    csv_read(&csv, fake_out);
    fail_if(status != 0, "the scenario ended with status %#x; it said: %s", (unsigned)status, said);
}

/* ---- checks ---- */

static inline int count_lines(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) {
        n++;
    }
    return n;
}

/* The field of a region's nth row, which must be there. */
static inline const char *field(const char *name, int nth, const char *column)
{
    const int row = csv.nrows ? csv_find(&csv, name, nth) : 0;
    const char *text = row ? csv_get(&csv, row, column) : NULL;
    fail_if(!text, "no row %d of %s with %s", nth, name, column);
    return text;
}

#define assert_number(name, column, value)                                      \
    do {                                                                        \
        const char *field_ = field(name, 0, column);                            \
        if (!*field_ || strtod(field_, NULL) != (double)(value)) {              \
            fail_msg("%s of %s is '%s', not %s", column, name, field_, #value); \
        }                                                                       \
    } while (0)

#define assert_empty(name, column) assert_string_equal(field(name, 0, column), "")

/* In a scenario: counts failed checks. */
#define expect(condition)                                                                  \
    do {                                                                                   \
        if (!(condition)) {                                                                \
            (void)fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition); \
            return 1;                                                                      \
        }                                                                                  \
    } while (0)

#define TEST_OF_REGIONS(name) TEST_BETWEEN(name, fake_setup, fake_teardown)
