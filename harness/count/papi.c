/* SPDX-License-Identifier: MIT */
#include "harness/count/papi.h"

#include <stdio.h>
#include <string.h>

const char carm_papi_remedy[] = "install PAPI (Debian: libpapi7.0 and libpapi-dev) and build carm "
                                "with its header, or name the library in CARM_PAPI_LIBRARY";

#if __has_include(<papi.h>)

#include <dlfcn.h>
#include <errno.h>
#include <papi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/text.h"

/* clang-format off */
#define FUNCTIONS(X) \
    X(library_init) X(is_initialized) X(thread_init) X(multiplex_init) X(set_debug) X(strerror) \
    X(get_component_index) X(get_component_info) X(create_eventset) X(assign_eventset_component) \
    X(add_named_event) X(set_multiplex) X(attach) X(set_opt) X(start) X(read) X(stop) \
    X(cleanup_eventset) X(destroy_eventset) X(unregister_thread)
/* clang-format on */

#define MEMBER(name) __typeof__(PAPI_##name) *name; // NOLINT(bugprone-macro-parentheses)
struct papi {
    FUNCTIONS(MEMBER)
    int component;        /* index of perf_event */
    unsigned long opener; /* thread_number of the thread that opened it */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Held while event sets are created and destroyed: PAPI's tables of native events are not thread-safe. */
static void lock(void)
{
    pthread_mutex_lock(&mutex);
}

static void unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

/* A number for the calling thread that no later thread gets. PAPI keeps a thread's state under
 * this number, and pthread_self values are used again when a thread has ended. */
static unsigned long thread_number(void)
{
    static atomic_ulong last;
    static _Thread_local unsigned long mine;
    if (!mine) {
        mine = atomic_fetch_add(&last, 1) + 1;
    }
    return mine;
}

/* ---- loading ---- */

static void *load(char version[32], char *reason, size_t size)
{
    char exact[32];
    char major[32];
    snprintf(exact, sizeof exact, "libpapi.so.%d.%d", PAPI_VERSION_MAJOR(PAPI_VERSION),
             PAPI_VERSION_MINOR(PAPI_VERSION));
    snprintf(major, sizeof major, "libpapi.so.%d", PAPI_VERSION_MAJOR(PAPI_VERSION));
    const char *const usual[] = {exact, major, "libpapi.so"};
    return carm_provider_load("PAPI", "CARM_PAPI_LIBRARY", usual, sizeof usual / sizeof *usual,
                              version, reason, size);
}

bool carm_papi_find(char version[32], char *reason, size_t size)
{
    return load(version, reason, size) != NULL;
}

/* Returns the name of the first missing function of the library, NULL when it has all. */
static const char *find_functions(struct papi *p, void *handle)
{
#define FIND(name)                                       \
    *(void **)(&p->name) = dlsym(handle, "PAPI_" #name); \
    if (!p->name) {                                      \
        return "PAPI_" #name;                            \
    }
    FUNCTIONS(FIND)
#undef FIND
    return NULL;
}

static int initialise(struct papi *p, struct carm_err *err)
{
    char reason[256];
    const int before = p->is_initialized();
    p->set_debug(PAPI_QUIET);
    const int version = p->library_init(PAPI_VER_CURRENT);
    if (version != PAPI_VER_CURRENT) {
        /* a library of another version returns its own version or PAPI_EINVAL */
        if (version > 0 || version == PAPI_EINVAL) {
            snprintf(reason, sizeof reason,
                     "carm was built for PAPI %d.%d and the library found is another version",
                     PAPI_VERSION_MAJOR(PAPI_VERSION), PAPI_VERSION_MINOR(PAPI_VERSION));
            return carm_counters_refuse(err, "PAPI", reason,
                                        "build carm again with this library's papi.h");
        }
        snprintf(reason, sizeof reason, "PAPI_library_init failed: %s", p->strerror(version));
        return carm_counters_refuse(err, "PAPI", reason, "");
    }
    const int rc = p->thread_init(thread_number);
    if (rc != PAPI_OK && before != PAPI_THREAD_LEVEL_INITED) {
        snprintf(reason, sizeof reason, "PAPI_thread_init failed: %s", p->strerror(rc));
        return carm_counters_refuse(err, "PAPI", reason, "");
    }
    p->multiplex_init();
    p->component = p->get_component_index("perf_event");
    if (p->component < 0) {
        return carm_counters_refuse(err, "PAPI", "it was built without its component perf_event",
                                    carm_papi_remedy);
    }
    return 0;
}

/* ---- which events there are, and how many at a time ---- */

/* The event's name for PAPI. Software events count kernel mode, too, if this is allowed.
 * returns false if the event could only read zero here */
static bool event_name(const struct carm_counters *c, const struct carm_event *e, char name[128])
{
    const bool kernel = carm_pmu_may_count_kernel(&c->facts);
    const bool said = strstr(e->papi, ":u=") || strstr(e->papi, ":k=");
    if ((!kernel && carm_kernel_only(e)) ||
        !carm_event_papi_name(c->recipe, e, c->alias[e - c->recipe->events], name, 128)) {
        return false;
    }
    if (e->scope == CARM_EVENT_SOFTWARE && kernel && !said) {
        carm_text_append(name, 128, ":u=1:k=1");
    }
    return true;
}

static void destroy(const struct papi *p, int eventset)
{
    p->cleanup_eventset(eventset);
    p->destroy_eventset(&eventset);
}

/* Counts nothing for a moment with the events of one group (or with a single event when only >= 0).
 * returns PAPI's code */
static int try_events(const struct carm_counters *c, int group, long only, long long *values)
{
    const struct papi *p = c->state;
    int eventset = PAPI_NULL;
    char name[128];
    int rc = p->create_eventset(&eventset);
    if (rc != PAPI_OK) {
        return rc;
    }
    rc = p->assign_eventset_component(eventset, p->component);
    for (size_t i = 0; i < c->recipe->nevents && rc == PAPI_OK; i++) {
        if (only >= 0 ? (size_t)only == i : carm_counters_in_set(c, i, group)) {
            rc = event_name(c, &c->recipe->events[i], name) ? p->add_named_event(eventset, name)
                                                            : PAPI_ENOEVNT;
        }
    }
    if (rc == PAPI_OK) {
        rc = p->start(eventset);
        if (rc == PAPI_OK) {
            rc = p->stop(eventset, values);
        }
    }
    destroy(p, eventset);
    return rc;
}

/* Fills c->have. why: the reason for the first event that cannot be counted */
static size_t find_events(struct carm_counters *c, long long *values, char *why, size_t size)
{
    const struct papi *p = c->state;
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
            snprintf(why, size, "%s: %s", e->papi, p->strerror(rc));
        }
    }
    return found;
}

/* Finds the number of counters with which every group starts. The NMI watchdog, another profiler or the
 * core's other hardware thread may hold some. */
static int find_groups(struct carm_counters *c, long long *values, struct carm_err *err)
{
    const struct papi *p = c->state;
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
            snprintf(reason, sizeof reason,
                     "its events can be counted one at a time, but not together: %s",
                     p->strerror(rc));
            return carm_counters_refuse(err, "PAPI", reason,
                                        rc == PAPI_ESYS
                                            ? "raise `ulimit -n`"
                                            : "stop other programs that use the counters");
        }
        c->counters--;
    }
}

/* Fails with the reason why no events, or none of the processor's events, can be counted. */
static int refuse_events(const struct carm_counters *c, const char *why, struct carm_err *err)
{
    struct carm_pmu_verdict v;
    carm_pmu_judge_perf(&c->facts, &v);
    if (v.reason[0]) {
        return carm_counters_refuse(err, "PAPI", v.reason, v.remedy);
    }
    char reason[256];
    snprintf(reason, sizeof reason, "none of the events of %s can be counted (%s)",
             c->recipe->title, why[0] ? why : "the recipe has no events for PAPI");
    return carm_counters_refuse(err, "PAPI", reason, "");
}

/* The recipe's events of the processor itself. */
static size_t count_own(const struct carm_recipe *r)
{
    size_t n = 0;
    for (size_t i = 0; i < r->nevents; i++) {
        n += r->events[i].scope == CARM_EVENT_THREAD;
    }
    return n;
}

/* Whether the kernel opens none of the processor's events: the usual library would say so after 15 ms. */
static bool is_hopeless(const struct carm_counters *c)
{
    const int e = c->facts.hardware_errno;
    return (c->facts.open_errno || e == ENOENT || e == ENODEV || e == EOPNOTSUPP) &&
           count_own(c->recipe) > 0 &&
           !getenv("CARM_PAPI_LIBRARY"); // NOLINT(concurrency-mt-unsafe)
}

static int papi_open(struct carm_counters *c, struct carm_err *err)
{
    const size_t n = c->recipe->nevents;
    char why[256] = "";
    char reason[384];
    size_t own = 0;
    if (is_hopeless(c)) {
        return refuse_events(c, why, err);
    }
    struct papi *p = calloc(1, sizeof *p);
    long long *values = calloc(n ? n : 1, sizeof *values);
    int rc = 0;
    c->state = p;
    lock();
    if (!p || !values) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for the counters");
        goto out;
    }
    void *handle = load(NULL, reason, sizeof reason);
    if (!handle) {
        rc = carm_counters_refuse(err, "PAPI", reason, carm_papi_remedy);
        goto out;
    }
    const char *lacks = find_functions(p, handle);
    if (lacks) {
        snprintf(reason, sizeof reason, "its library has no function %s", lacks);
        rc = carm_counters_refuse(err, "PAPI", reason, carm_papi_remedy);
        goto out;
    }
    rc = initialise(p, err);
    if (rc) {
        goto out;
    }
    p->opener = thread_number();
    const size_t found = find_events(c, values, why, sizeof why);
    for (size_t i = 0; i < n; i++) {
        own += c->recipe->events[i].scope == CARM_EVENT_THREAD && c->have[i];
    }
    if (found == 0 || (count_own(c->recipe) > 0 && own == 0)) {
        rc = refuse_events(c, why, err);
        goto out;
    }
    rc = find_groups(c, values, err);
out:
    unlock();
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

/* ---- sets of events ---- */

enum { SOCKETS_MAX = 64, CPUS_MAX = 4096, UNITS_MAX = 64 };

struct papi_set {
    const struct papi *papi;
    struct carm_kernel_set *kernel; /* instead of PAPI */
    int eventset;
    size_t n;
    size_t *event;     /* [n] of the recipe, for each of PAPI's values */
    long long *values; /* [n] */
    long long *base;   /* [n] of a process's set: the counts at its start; NULL = 0 */
    double share;      /* of the time that a multiplexed event is on a counter; 1 = always */
};

/* Number of the calling thread's sets: with the last set, the thread is unregistered from PAPI. */
static _Thread_local unsigned sets_here;

static int fail(struct carm_err *err, const struct papi *p, const char *what, int rc)
{
    if (rc == PAPI_ENOMEM) {
        return carm_fail(err, CARM_ENOMEM, "PAPI has not enough memory to %s", what);
    }
    return carm_fail(err, CARM_ENOTSUP, "PAPI cannot %s: %s%s", what, p->strerror(rc),
                     rc == PAPI_ESYS     ? "; raise `ulimit -n` if many sets are open"
                     : rc == PAPI_EPERM  ? "; count a program of your own, or as root"
                     : rc == PAPI_EISRUN ? "; it runs one set at a time on a thread: stop the other"
                                         : "");
}

static int add(struct papi_set *set, size_t event, const char *name, struct carm_err *err)
{
    if (carm_array_grow(&set->event, NULL, set->n, 1, sizeof *set->event, "", NULL) ||
        carm_array_grow(&set->values, NULL, set->n, 1, sizeof *set->values, "", NULL)) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for a set of counters");
    }
    const int rc = set->papi->add_named_event(set->eventset, name);
    if (rc != PAPI_OK) {
        char what[192];
        snprintf(what, sizeof what, "count %s", name);
        return fail(err, set->papi, what, rc);
    }
    set->event[set->n] = event;
    set->values[set->n] = 0;
    set->n++;
    return 0;
}

/* ---- threads and processes ---- */

static bool only_software(const struct carm_counter_set *s)
{
    const struct carm_counters *c = s->counters;
    for (size_t i = 0; i < c->recipe->nevents; i++) {
        if (carm_counters_in_set(c, i, s->group) &&
            c->recipe->events[i].scope != CARM_EVENT_SOFTWARE) {
            return false;
        }
    }
    return true;
}

static int open_on_thread(struct carm_counter_set *s, struct papi_set *set, struct carm_err *err)
{
    const struct carm_counters *c = s->counters;
    const struct papi *p = set->papi;
    const int needed = carm_counters_needed(c);
    int rc = p->assign_eventset_component(set->eventset, p->component);
    if (rc != PAPI_OK) {
        return fail(err, p, "make a set of events", rc);
    }
    if (s->target.kind == CARM_TARGET_PROCESS) {
        /* before events are added: each addition opens all events of the set again with these settings */
        PAPI_option_t option;
        memset(&option, 0, sizeof option);
        option.inherit.eventset = set->eventset;
        option.inherit.inherit = PAPI_INHERIT_ALL;
        rc = p->attach(set->eventset, (unsigned long)s->target.pid);
        rc = rc != PAPI_OK ? rc : p->set_opt(PAPI_INHERIT, &option);
        if (rc != PAPI_OK && only_software(s)) {
            return carm_kernel_open(&set->kernel, s, err);
        }
        if (rc != PAPI_OK) {
            char what[64];
            snprintf(what, sizeof what, "attach to process %d", (int)s->target.pid);
            return fail(err, p, what, rc);
        }
    }
    if (s->group == CARM_GROUPS_ALL && needed > c->counters) {
        rc = p->set_multiplex(set->eventset);
        if (rc != PAPI_OK) {
            return fail(err, p, "multiplex its events", rc);
        }
        set->share = (double)c->counters / needed;
    }
    for (size_t i = 0; i < c->recipe->nevents; i++) {
        char name[128];
        if (carm_counters_in_set(c, i, s->group) && event_name(c, &c->recipe->events[i], name)) {
            const int failed = add(set, i, name, err);
            if (failed) {
                return failed;
            }
        }
    }
    return 0;
}

/* ---- sockets ---- */

/* One CPU of each socket: the first that is online. returns the number of sockets */
static size_t find_sockets(int cpus[SOCKETS_MAX])
{
    int packages[SOCKETS_MAX];
    size_t n = 0;
    for (int cpu = 0; cpu < CPUS_MAX && n < SOCKETS_MAX; cpu++) {
        char path[96];
        char text[16] = "";
        snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/physical_package_id",
                 cpu);
        FILE *f = fopen(path, "re");
        if (!f) {
            continue; /* offline, or past the last */
        }
        if (fgets(text, sizeof text, f)) {
            const int package = (int)strtol(text, NULL, 10);
            bool seen = false;
            for (size_t i = 0; i < n; i++) {
                seen = seen || packages[i] == package;
            }
            if (!seen) {
                packages[n] = package;
                cpus[n++] = cpu;
            }
        }
        fclose(f);
    }
    if (n == 0) {
        cpus[n++] = 0;
    }
    return n;
}

/* The pattern with %d replaced by the unit, and the CPU on which it is counted */
static void socket_event_name(char name[160], const char *pattern, int unit, int cpu)
{
    const char *at = strstr(pattern, "%d");
    if (at) {
        snprintf(name, 160, "%.*s%d%s:cpu=%d", (int)(at - pattern), pattern, unit, at + 2, cpu);
    } else {
        snprintf(name, 160, "%s:cpu=%d", pattern, cpu);
    }
}

/* Adds event i for all units of all sockets; a sum without one of them would be too small. */
static int add_units(struct papi_set *set, const struct carm_event *e, size_t i, const int *cpus,
                     size_t nsockets, struct carm_err *err)
{
    const int units = strstr(e->papi, "%d") ? UNITS_MAX : 1;
    for (int unit = 0; unit < units; unit++) {
        for (size_t socket = 0; socket < nsockets; socket++) {
            char name[160];
            socket_event_name(name, e->papi, unit, cpus[socket]);
            const int rc = add(set, i, name, err);
            if (rc && unit > 0 && socket == 0) {
                return 0; /* past the last unit */
            }
            if (rc) {
                return rc;
            }
        }
    }
    return 0;
}

static int open_on_sockets(struct carm_counter_set *s, struct papi_set *set, struct carm_err *err)
{
    const struct carm_recipe *r = s->counters->recipe;
    const struct papi *p = set->papi;
    struct carm_err first = {""};
    int cpus[SOCKETS_MAX];
    const int component = p->get_component_index("perf_event_uncore");
    const PAPI_component_info_t *info = component < 0 ? NULL : p->get_component_info(component);
    if (!info || info->disabled) {
        return carm_counters_refuse(err, "PAPI (whole sockets)",
                                    info ? info->disabled_reason : "it has no perf_event_uncore",
                                    s->counters->facts.paranoid > 0
                                        ? "sysctl kernel.perf_event_paranoid=0 as root, or run as "
                                          "root; virtual machines seldom show these counters"
                                        : "virtual machines seldom show these counters");
    }
    int rc = p->assign_eventset_component(set->eventset, component);
    if (rc != PAPI_OK) {
        return fail(err, p, "make a set of events", rc);
    }
    const size_t nsockets = find_sockets(cpus);
    for (size_t i = 0; i < r->nevents; i++) {
        const struct carm_event *e = &r->events[i];
        const size_t before = set->n;
        struct carm_err why = {""};
        if (e->scope != CARM_EVENT_SOCKET || !e->papi[0]) {
            continue;
        }
        rc = add_units(set, e, i, cpus, nsockets, &why);
        if (rc == -CARM_ENOMEM) {
            return carm_fail(err, CARM_ENOMEM, "%s", why.text);
        }
        if (rc) {
            if (!first.text[0]) {
                first = why;
            }
            /* units added before would go on counting without being read */
            for (size_t j = before; j < set->n; j++) {
                set->event[j] = r->nevents;
            }
        }
    }
    for (size_t j = 0; j < set->n; j++) {
        if (set->event[j] < r->nevents) {
            return 0;
        }
    }
    return carm_counters_refuse(
        err, "PAPI (whole sockets)",
        first.text[0] ? first.text : "no socket events are known for this processor", "");
}

/* ---- the provider's functions ---- */

static void release(struct papi_set *set)
{
    carm_kernel_close(set->kernel);
    if (set->eventset != PAPI_NULL) {
        destroy(set->papi, set->eventset);
        if (--sets_here == 0 && thread_number() != set->papi->opener) {
            set->papi->unregister_thread();
        }
    }
    free(set->event);
    free(set->values);
    free(set->base);
    free(set);
}

static int set_open(struct carm_counter_set *s, struct carm_err *err)
{
    struct papi_set *set = calloc(1, sizeof *set);
    if (!set) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for a set of counters");
    }
    set->papi = s->counters->state;
    set->eventset = PAPI_NULL;
    set->share = 1.0;
    lock();
    int rc = set->papi->create_eventset(&set->eventset);
    if (rc != PAPI_OK) {
        set->eventset = PAPI_NULL;
        rc = fail(err, set->papi, "make a set of events", rc);
    } else {
        sets_here++;
        rc = s->target.kind == CARM_TARGET_SOCKETS ? open_on_sockets(s, set, err)
                                                   : open_on_thread(s, set, err);
    }
    if (rc == 0 && s->target.kind == CARM_TARGET_PROCESS && set->n > 0) {
        set->base = calloc(set->n, sizeof *set->base);
        rc = set->base ? 0 : carm_fail(err, CARM_ENOMEM, "not enough memory for a set of counters");
    }
    if (rc) {
        release(set);
    } else {
        s->state = set;
    }
    unlock();
    return rc;
}

static int set_start(struct carm_counter_set *s, struct carm_err *err)
{
    struct papi_set *set = s->state;
    if (set->kernel) {
        return carm_kernel_start(set->kernel, err);
    }
    int rc = set->papi->start(set->eventset);
    if (rc == PAPI_OK && set->base) {
        /* its reset keeps the counts of children that have ended (kernel, _perf_event_reset) */
        rc = set->papi->read(set->eventset, set->base);
        if (rc != PAPI_OK) {
            set->papi->stop(set->eventset, set->values);
        }
    }
    return rc == PAPI_OK ? 0 : fail(err, set->papi, "start to count", rc);
}

static int set_read(struct carm_counter_set *s, bool stop, struct carm_reading *readings,
                    struct carm_err *err)
{
    struct papi_set *set = s->state;
    const struct carm_recipe *r = s->counters->recipe;
    if (set->kernel) {
        return carm_kernel_read(set->kernel, stop, readings, err);
    }
    const int rc = stop ? set->papi->stop(set->eventset, set->values)
                        : set->papi->read(set->eventset, set->values);
    if (rc != PAPI_OK) {
        return fail(err, set->papi, stop ? "stop counting" : "read its counters", rc);
    }
    bool counted = set->share >= 1.0;
    for (size_t j = 0; j < set->n && !counted; j++) {
        counted = set->event[j] < r->nevents && set->values[j] != 0 &&
                  r->events[set->event[j]].scope == CARM_EVENT_THREAD;
    }
    for (size_t j = 0; j < set->n; j++) {
        const size_t i = set->event[j];
        if (i >= r->nevents) {
            continue;
        }
        struct carm_reading *reading = &readings[i];
        const bool thread = r->events[i].scope == CARM_EVENT_THREAD;
        const double share = thread ? set->share : 1.0;
        /* PAPI has scaled by the real times without reporting them. The estimate for the whole
         * time is turned back into the count during the share, which the caller's scaling
         * reverses. With all counts zero, no event ever had its turn. */
        reading->present = counted || !thread;
        reading->count += (double)(set->values[j] - (set->base ? set->base[j] : 0)) * share;
        reading->enabled = 1.0;
        reading->running = counted || !thread ? share : 0.0;
    }
    return 0;
}

static void set_close(struct carm_counter_set *s)
{
    lock();
    release(s->state);
    unlock();
}

const struct carm_counters_ops carm_counters_papi = {
    .open = papi_open,
    .close = papi_close,
    .set_open = set_open,
    .set_start = set_start,
    .set_read = set_read,
    .set_close = set_close,
};

#else

static const char lacking[] = "carm was built without PAPI";

bool carm_papi_find(char version[32], char *reason, size_t size)
{
    version[0] = '\0';
    snprintf(reason, size, "%s", lacking);
    return false;
}

static int papi_open(struct carm_counters *c, struct carm_err *err)
{
    (void)c;
    return carm_counters_refuse(err, "PAPI", lacking, "install libpapi-dev and build carm again");
}

const struct carm_counters_ops carm_counters_papi = {.open = papi_open};

#endif
