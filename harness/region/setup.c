/* SPDX-License-Identifier: MIT */
#include "harness/region/setup.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "harness/count/row.h"
#include "harness/count/step/engine.h"
#include "harness/count/step/trap.h"

enum { LINES_MAX = 20 };

__attribute__((format(printf, 1, 2))) void carm_region_say(const char *fmt, ...)
{
    static atomic_int lines;
    char text[1000];
    char line[1024] = "carm: ";
    const int saved = errno;
    const int before = atomic_fetch_add(&lines, 1);
    if (before > LINES_MAX) {
        return;
    }
    CARM_TEXT_OF_ARGS(text, fmt);
    if (before == LINES_MAX) {
        snprintf(text, sizeof text, "further messages are not shown");
    }
    /* a name could hold a newline or characters that steer a terminal */
    carm_text_clean(line + 6, sizeof line - 7, text, false);
    size_t n = strlen(line);
    line[n++] = '\n';
    (void)!write(STDERR_FILENO, line, n); /* one write: lines of several processes stay whole */
    errno = saved;
}

static const uint64_t default_step_budget = 2000000; /* about 20 s of stepping */

/* The provider, opened once in a process; a forked child opens its own and does not use its parent's. */
static struct {
    pthread_mutex_t lock;
    enum carm_provider provider;
    struct carm_recipe *recipe;
    struct carm_counters *counters, *parents;
    pid_t pid;
} hw = {.lock = PTHREAD_MUTEX_INITIALIZER};

static int open_for_child(struct carm_err *err)
{
    if (hw.provider == CARM_PROVIDER_LIKWID) {
        /* likwid's daemon and tables are shared with the parent */
        return carm_fail(err, CARM_ENOTSUP,
                         "likwid cannot count in a child process of fork: use "
                         "CARM_COUNTERS=papi");
    }
    struct carm_counters *counters = NULL;
    int rc = carm_counters_open(&counters, hw.provider, hw.recipe, err);
    if (!rc) {
        hw.parents = hw.counters;
        hw.counters = counters;
        hw.pid = getpid();
    }
    return rc;
}

static int hw_open(void **out, struct carm_err *err)
{
    struct carm_counter_set *set = NULL;
    const struct carm_counter_target thread = {.kind = CARM_TARGET_THREAD};
    pthread_mutex_lock(&hw.lock);
    int rc = hw.pid == getpid() ? 0 : open_for_child(err);
    struct carm_counters *counters = hw.counters;
    pthread_mutex_unlock(&hw.lock);
    rc = rc ? rc : carm_counter_set_open(&set, counters, thread, CARM_GROUPS_ALL, err);
    rc = rc ? rc : carm_counter_set_start(set, err);
    if (rc) {
        carm_counter_set_close(set);
        return rc;
    }
    *out = set;
    return 0;
}

static int hw_read(void *set, struct carm_reading *readings, struct carm_err *err)
{
    return carm_counter_set_read(set, readings, err);
}

static void hw_close(void *set)
{
    carm_counter_set_stop(set, NULL, NULL);
    carm_counter_set_close(set);
}

static int hw_evaluate(const struct carm_reading *readings, struct carm_counts *out,
                       struct carm_err *err)
{
    const int rc = carm_recipe_evaluate(hw.recipe, readings, NULL, out, err);
    if (!rc) {
        carm_recipe_note_missing(hw.recipe, out);
    }
    return rc;
}

int carm_region_setup_counters(struct carm_region_setup *setup, enum carm_provider p,
                               struct carm_recipe *recipe, struct carm_err *err)
{
    const int rc = carm_counters_open(&hw.counters, p, recipe, err);
    if (rc) {
        carm_recipe_free(recipe);
        return rc;
    }
    hw.recipe = recipe;
    hw.provider = carm_counters_provider(hw.counters);
    hw.pid = getpid();
    setup->source.nreadings = recipe->nevents;
    setup->source.open = hw_open;
    setup->source.read = hw_read;
    setup->source.close = hw_close;
    setup->source.evaluate = hw_evaluate;
    return 0;
}

static int find_counters(struct carm_region_setup *setup, enum carm_provider p,
                         struct carm_err *err)
{
    struct carm_cpuid id;
    struct carm_recipe *recipe = NULL;
    carm_cpuid_read(&id);
    const int rc = carm_recipe_find(id.vendor, id.family, id.model, &recipe, err);
    return rc ? rc : carm_region_setup_counters(setup, p, recipe, err);
}

static int setup_steps(struct carm_region_setup *setup, struct carm_err *err)
{
    const int rc = carm_step_check(err);
    if (!rc) {
        setup->source.steps = true;
        setup->source.step_begin = carm_step_begin;
        setup->source.step_read = carm_step_read;
        setup->source.step_end = carm_step_end;
        setup->source.step_pause = carm_step_pause;
        setup->source.step_resume = carm_step_resume;
    }
    return rc;
}

static int setup_engine(struct carm_region_setup *setup, struct carm_err *err)
{
    const int rc = carm_engine_check(err);
    if (!rc) {
        setup->source.steps = setup->source.every_call = true;
        setup->source.step_begin = carm_engine_begin;
        setup->source.step_read = carm_engine_read;
        setup->source.step_end = carm_engine_end;
        setup->source.step_pause = carm_engine_pause;
        setup->source.step_resume = carm_engine_resume;
    }
    return rc;
}

/* Makes the path absolute, for programs that change their folder. */
static int read_out(const char *path, char out[PATH_MAX], struct carm_err *err)
{
    char here[PATH_MAX] = "";
    if (path[0] != '/' && !getcwd(here, sizeof here)) {
        return carm_fail(err, CARM_EIO, "the current folder is gone (%s)", strerror(errno));
    }
    const int n = snprintf(out, PATH_MAX, "%s%s%s", here, here[0] ? "/" : "", path);
    return n > 0 && n < PATH_MAX ? 0 : carm_fail(err, CARM_EIO, "its path is too long: shorten it");
}

static void read_step_budget(struct carm_region_setup *setup)
{
    const char *s = secure_getenv("CARM_STEP_BUDGET");
    setup->step_budget = default_step_budget;
    if (!s || !*s) {
        return;
    }
    char *end = NULL;
    errno = 0;
    const unsigned long long n = strtoull(s, &end, 10);
    if (*s < '0' || *s > '9' || *end || errno || n == 0) {
        carm_region_say("CARM_STEP_BUDGET=%.40s: give a number of instructions, 1 or more; %llu is "
                        "used",
                        s, (unsigned long long)default_step_budget);
        return;
    }
    setup->step_budget = n;
}

static void read_rows(struct carm_region_setup *setup)
{
    const char *s = secure_getenv("CARM_ROWS");
    setup->rows_by_thread = s && strcmp(s, "thread") == 0;
    if (s && *s && !setup->rows_by_thread && strcmp(s, "region") != 0) {
        carm_region_say("CARM_ROWS=%.40s: choose region or thread; region is used", s);
    }
}

static void read_counters(struct carm_region_setup *setup)
{
    enum carm_provider p = CARM_PROVIDER_AUTO;
    struct carm_err err = {""};
    const char *s = secure_getenv("CARM_COUNTERS");
    int rc = 0;
    if (s && *s && carm_provider_parse(s, &p, &err)) {
        carm_region_say("CARM_COUNTERS: %s; regions are only timed", err.text);
        p = CARM_PROVIDER_NONE;
    }
    if (p == CARM_PROVIDER_NONE) {
        snprintf(setup->reason, sizeof setup->reason, "CARM_COUNTERS=none");
    } else if (p == CARM_PROVIDER_TRANSLATE) {
        rc = setup_engine(setup, &err);
    } else if (p == CARM_PROVIDER_STEP) {
        rc = setup_steps(setup, &err);
    } else {
        rc = find_counters(setup, p, &err);
    }
    if (rc) {
        snprintf(setup->reason, sizeof setup->reason, "%.*s", (int)sizeof setup->reason - 1,
                 err.text);
        if (p != CARM_PROVIDER_AUTO) { /* the user has named the provider */
            carm_region_say("CARM_COUNTERS=%s: %s; regions are only timed", carm_provider_name(p),
                            err.text);
        }
    }
}

bool carm_region_setup_read(struct carm_region_setup *setup)
{
    struct carm_err err = {""};
    const char *path = secure_getenv("CARM_OUT"); /* ignored in set-user-ID programs */
    if (!path || !*path) {
        return false;
    }
    if (read_out(path, setup->out, &err)) {
        carm_region_say("CARM_OUT=%.300s: %s; no region is counted", path, err.text);
        return false;
    }
    if (carm_row_check(setup->out, &err)) {
        carm_region_say("CARM_OUT: %s; carm tries again when the program ends", err.text);
    }
    read_step_budget(setup);
    read_rows(setup);
    read_counters(setup);
    return true;
}
