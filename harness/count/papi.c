/* SPDX-License-Identifier: MIT */
/* PAPI: loading it and finding out what it can count. */
#include "harness/count/papi.h"
#include "harness/count/provider.h"
#include "base/dynlib.h"

#include <stdio.h>
#include <string.h>

const char carm_papi_remedy[] = "install PAPI (Debian: libpapi7.0 and libpapi-dev) and build carm "
                                "with its header, or name the library in CARM_PAPI_LIBRARY";

#if __has_include(<papi.h>)

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void carm_papi_lock(void)
{
    (void)pthread_mutex_lock(&mutex);
}

void carm_papi_unlock(void)
{
    (void)pthread_mutex_unlock(&mutex);
}

unsigned long carm_papi_thread(void)
{
    static atomic_ulong last;
    static _Thread_local unsigned long mine;
    if (!mine) {
        mine = atomic_fetch_add(&last, 1) + 1;
    }
    return mine;
}

/* ---- loading --------------------------------------------------------------------------------- */

static void *load(char version[32], char *reason, size_t size)
{
    char exact[32];
    char major[32];
    (void)snprintf(exact, sizeof exact, "libpapi.so.%d.%d", PAPI_VERSION_MAJOR(PAPI_VERSION),
                   PAPI_VERSION_MINOR(PAPI_VERSION));
    (void)snprintf(major, sizeof major, "libpapi.so.%d", PAPI_VERSION_MAJOR(PAPI_VERSION));
    const char *const usual[] = {exact, major, "libpapi.so"};
    return carm_dynlib_open("PAPI", "CARM_PAPI_LIBRARY", usual, sizeof usual / sizeof *usual,
                            version, reason, size);
}

bool carm_papi_find(char version[32], char *reason, size_t size)
{
    return load(version, reason, size) != NULL;
}

/* Returns the name of the first function that the library lacks, NULL when it has all. */
static const char *find_functions(struct carm_papi *p, void *handle)
{
#define FIND(name)                                       \
    *(void **)(&p->name) = dlsym(handle, "PAPI_" #name); \
    if (!p->name) {                                      \
        return "PAPI_" #name;                            \
    }
    CARM_PAPI_FUNCTIONS(FIND)
#undef FIND
    return NULL;
}

static int initialise(struct carm_papi *p, struct carm_err *err)
{
    char reason[256];
    const int before = p->is_initialized();
    (void)p->set_debug(PAPI_QUIET);
    const int version = p->library_init(PAPI_VER_CURRENT);
    if (version != PAPI_VER_CURRENT) {
        /* a library of another version answers with its own or with PAPI_EINVAL */
        if (version > 0 || version == PAPI_EINVAL) {
            (void)snprintf(reason, sizeof reason,
                           "carm was built for PAPI %d.%d and the library found is another version",
                           PAPI_VERSION_MAJOR(PAPI_VERSION), PAPI_VERSION_MINOR(PAPI_VERSION));
            return carm_counters_refuse(err, "PAPI", reason,
                                        "build carm again with this library's papi.h");
        }
        (void)snprintf(reason, sizeof reason, "PAPI_library_init failed: %s", p->strerror(version));
        return carm_counters_refuse(err, "PAPI", reason, "");
    }
    const int rc = p->thread_init(carm_papi_thread);
    if (rc != PAPI_OK && before != PAPI_THREAD_LEVEL_INITED) {
        (void)snprintf(reason, sizeof reason, "PAPI_thread_init failed: %s", p->strerror(rc));
        return carm_counters_refuse(err, "PAPI", reason, "");
    }
    (void)p->multiplex_init();
    p->component = p->get_component_index("perf_event");
    if (p->component < 0) {
        return carm_counters_refuse(err, "PAPI", "it was built without its component perf_event",
                                    carm_papi_remedy);
    }
    return 0;
}

/* ---- which events there are, and how many at a time ------------------------------------------ */

bool carm_papi_event_name(const struct carm_counters *c, const struct carm_event *e, char name[128])
{
    const bool kernel = carm_pmu_may_count_kernel(&c->facts);
    const bool said = strstr(e->papi, ":u=") || strstr(e->papi, ":k=");
    if ((!kernel && carm_kernel_only(e)) ||
        !carm_event_papi_name(c->recipe, e, c->alias[e - c->recipe->events], name, 128)) {
        return false;
    }
    if (e->scope == CARM_EVENT_SOFTWARE && kernel && !said) {
        const size_t used = strlen(name);
        (void)snprintf(name + used, 128 - used, ":u=1:k=1");
    }
    return true;
}

void carm_papi_destroy(const struct carm_papi *p, int eventset)
{
    (void)p->cleanup_eventset(eventset);
    (void)p->destroy_eventset(&eventset);
}

/* Counts nothing for a moment with the events of one group (or with a single event when only >= 0).
 * returns PAPI's code */
static int try_events(const struct carm_counters *c, int group, long only, long long *values)
{
    const struct carm_papi *p = c->state;
    int eventset = PAPI_NULL;
    char name[128];
    int rc = p->create_eventset(&eventset);
    if (rc != PAPI_OK) {
        return rc;
    }
    rc = p->assign_eventset_component(eventset, p->component);
    for (size_t i = 0; i < c->recipe->nevents && rc == PAPI_OK; i++) {
        if (only >= 0 ? (size_t)only == i : carm_counters_in_set(c, i, group)) {
            rc = carm_papi_event_name(c, &c->recipe->events[i], name)
                     ? p->add_named_event(eventset, name)
                     : PAPI_ENOEVNT;
        }
    }
    if (rc == PAPI_OK) {
        rc = p->start(eventset);
        if (rc == PAPI_OK) {
            rc = p->stop(eventset, values);
        }
    }
    carm_papi_destroy(p, eventset);
    return rc;
}

/* Fills c->have. why: of the first event that is not to be had */
static size_t find_events(struct carm_counters *c, long long *values, char *why, size_t size)
{
    const struct carm_papi *p = c->state;
    size_t found = 0;
    for (size_t i = 0; i < c->recipe->nevents; i++) {
        const struct carm_event *e = &c->recipe->events[i];
        if (e->scope == CARM_EVENT_SOCKET || !e->papi[0]) {
            continue;
        }
        int rc = PAPI_ENOEVNT;
        char name[128];
        for (unsigned k = 0; rc != PAPI_OK && carm_event_papi_name(c->recipe, e, k, name, 128);
             k++) {
            c->alias[i] = k;
            rc = try_events(c, 0, (long)i, values);
        }
        c->have[i] = rc == PAPI_OK;
        found += c->have[i];
        if (rc != PAPI_OK && !why[0]) {
            (void)snprintf(why, size, "%s: %s", e->papi, p->strerror(rc));
        }
    }
    return found;
}

/* Finds the number of counters with which every group starts. The NMI watchdog, another profiler or the
 * core's other hardware thread may hold some. */
static int find_groups(struct carm_counters *c, long long *values, struct carm_err *err)
{
    const struct carm_papi *p = c->state;
    for (;;) {
        int rc = PAPI_OK;
        carm_counters_partition(c);
        for (size_t g = 0; g < c->groups && rc == PAPI_OK; g++) {
            rc = try_events(c, (int)g, -1, values);
        }
        if (rc == PAPI_OK) {
            return 0;
        }
        const bool full = rc == PAPI_ECNFLCT || rc == PAPI_EMULPASS || rc == PAPI_ENOCNTR;
        if (!full || c->counters <= 1) {
            char reason[256];
            (void)snprintf(reason, sizeof reason,
                           "its events can be counted one by one, but not together: %s",
                           p->strerror(rc));
            return carm_counters_refuse(err, "PAPI", reason,
                                        rc == PAPI_ESYS ? "raise `ulimit -n`"
                                                        : "end what else uses the counters");
        }
        c->counters--;
    }
}

/* Says why nothing, or nothing of the processor's own, can be counted. */
static int refuse_events(const struct carm_counters *c, const char *why, struct carm_err *err)
{
    struct carm_pmu_verdict v;
    carm_pmu_judge_perf(&c->facts, &v);
    if (v.reason[0]) {
        return carm_counters_refuse(err, "PAPI", v.reason, v.remedy);
    }
    char reason[256];
    (void)snprintf(reason, sizeof reason, "none of the events of %s can be counted (%s)",
                   c->recipe->title, why[0] ? why : "it names none for PAPI");
    return carm_counters_refuse(err, "PAPI", reason, "");
}

static int papi_open(struct carm_counters *c, struct carm_err *err)
{
    const size_t n = c->recipe->nevents;
    char why[256] = "";
    char reason[384];
    size_t wanted = 0;
    size_t own = 0;
    struct carm_papi *p = calloc(1, sizeof *p);
    long long *values = calloc(n ? n : 1, sizeof *values);
    int rc = 0;
    c->state = p;
    carm_papi_lock();
    if (!p || !values) {
        rc = carm_fail(err, CARM_ENOMEM, "no memory for the counters");
        goto out;
    }
    void *handle = load(NULL, reason, sizeof reason);
    if (!handle) {
        rc = carm_counters_refuse(err, "PAPI", reason, carm_papi_remedy);
        goto out;
    }
    const char *lacks = find_functions(p, handle);
    if (lacks) {
        (void)snprintf(reason, sizeof reason, "its library lacks %s", lacks);
        rc = carm_counters_refuse(err, "PAPI", reason, carm_papi_remedy);
        goto out;
    }
    rc = initialise(p, err);
    if (rc) {
        goto out;
    }
    p->opener = carm_papi_thread();
    const size_t found = find_events(c, values, why, sizeof why);
    for (size_t i = 0; i < n; i++) {
        const bool thread = c->recipe->events[i].scope == CARM_EVENT_THREAD;
        wanted += thread;
        own += thread && c->have[i];
    }
    if (found == 0 || (wanted > 0 && own == 0)) {
        rc = refuse_events(c, why, err);
        goto out;
    }
    rc = find_groups(c, values, err);
out:
    carm_papi_unlock();
    free(values);
    if (rc) {
        free(p);
        c->state = NULL;
    }
    return rc;
}

static void papi_close(struct carm_counters *c)
{
    free(c->state);
}

const struct carm_counters_ops carm_counters_papi = {
    .open = papi_open,
    .close = papi_close,
    .set_open = carm_papi_set_open,
    .set_start = carm_papi_set_start,
    .set_read = carm_papi_set_read,
    .set_close = carm_papi_set_close,
};

#else

static const char lacking[] = "carm was built without PAPI";

bool carm_papi_find(char version[32], char *reason, size_t size)
{
    version[0] = '\0';
    (void)snprintf(reason, size, "%s", lacking);
    return false;
}

static int papi_open(struct carm_counters *c, struct carm_err *err)
{
    (void)c;
    return carm_counters_refuse(err, "PAPI", lacking, "install libpapi-dev and build carm again");
}

const struct carm_counters_ops carm_counters_papi = {.open = papi_open};

#endif
