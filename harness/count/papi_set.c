/* SPDX-License-Identifier: MIT */
/* PAPI: sets of events on a thread, a process or the sockets. */
#include "harness/count/papi.h"
#include "harness/count/provider.h"

#if __has_include(<papi.h>)

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SOCKETS_MAX = 64, CPUS_MAX = 4096, UNITS_MAX = 64 };

struct papi_set {
    const struct carm_papi *papi;
    struct carm_kernel_set *kernel; /* instead of PAPI */
    int eventset;
    size_t n;
    size_t *event;     /* [n] of the recipe, for each of PAPI's values */
    long long *values; /* [n] */
    long long *base;   /* [n] of a process's set: what its start found; NULL = 0 */
    double share;      /* of the time that a multiplexed event is on a counter; 1 = always */
};

/* Sets of the calling thread: PAPI forgets it with the last one. */
static _Thread_local unsigned sets_here;

static int fail(struct carm_err *err, const struct carm_papi *p, const char *what, int rc)
{
    if (rc == PAPI_ENOMEM) {
        return carm_fail(err, CARM_ENOMEM, "PAPI has no memory to %s", what);
    }
    return carm_fail(err, CARM_ENOTSUP, "PAPI cannot %s: %s%s", what, p->strerror(rc),
                     rc == PAPI_ESYS     ? "; raise `ulimit -n` if many sets are open"
                     : rc == PAPI_EPERM  ? "; count a program of your own, or as root"
                     : rc == PAPI_EISRUN ? "; it runs one set at a time on a thread: stop the other"
                                         : "");
}

static int add(struct papi_set *set, size_t event, const char *name, struct carm_err *err)
{
    size_t *events = realloc(set->event, (set->n + 1) * sizeof *events);
    if (events) {
        set->event = events;
    }
    long long *values = realloc(set->values, (set->n + 1) * sizeof *values);
    if (values) {
        set->values = values;
    }
    if (!events || !values) {
        return carm_fail(err, CARM_ENOMEM, "no memory for a set of counters");
    }
    const int rc = set->papi->add_named_event(set->eventset, name);
    if (rc != PAPI_OK) {
        char what[192];
        (void)snprintf(what, sizeof what, "count %s", name);
        return fail(err, set->papi, what, rc);
    }
    set->event[set->n] = event;
    set->values[set->n] = 0;
    set->n++;
    return 0;
}

/* ---- threads and processes ------------------------------------------------------------------- */

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
    const struct carm_papi *p = set->papi;
    const int needed = carm_counters_needed(c);
    int rc = p->assign_eventset_component(set->eventset, p->component);
    if (rc != PAPI_OK) {
        return fail(err, p, "make a set of events", rc);
    }
    if (s->target.kind == CARM_TARGET_PROCESS) {
        /* before events are added: each addition opens all of them anew with these settings */
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
            (void)snprintf(what, sizeof what, "attach to process %d", (int)s->target.pid);
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
        if (carm_counters_in_set(c, i, s->group) &&
            carm_papi_event_name(c, &c->recipe->events[i], name)) {
            const int failed = add(set, i, name, err);
            if (failed) {
                return failed;
            }
        }
    }
    return 0;
}

/* ---- sockets --------------------------------------------------------------------------------- */

/* One CPU of each socket: the first of it that is online. returns how many sockets */
static size_t find_sockets(int cpus[SOCKETS_MAX])
{
    int packages[SOCKETS_MAX];
    size_t n = 0;
    for (int cpu = 0; cpu < CPUS_MAX && n < SOCKETS_MAX; cpu++) {
        char path[96];
        char text[16] = "";
        (void)snprintf(path, sizeof path,
                       "/sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu);
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
        (void)fclose(f);
    }
    if (n == 0) {
        cpus[n++] = 0;
    }
    return n;
}

/* name with %d replaced by the unit, and the CPU that asks for it */
static void socket_event_name(char name[160], const char *pattern, int unit, int cpu)
{
    const char *at = strstr(pattern, "%d");
    if (at) {
        (void)snprintf(name, 160, "%.*s%d%s:cpu=%d", (int)(at - pattern), pattern, unit, at + 2,
                       cpu);
    } else {
        (void)snprintf(name, 160, "%s:cpu=%d", pattern, cpu);
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
    const struct carm_papi *p = set->papi;
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
            /* what was added of it goes on counting, for nobody */
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

/* ---- the provider's functions ---------------------------------------------------------------- */

static void release(struct papi_set *set)
{
    carm_kernel_close(set->kernel);
    if (set->eventset != PAPI_NULL) {
        carm_papi_destroy(set->papi, set->eventset);
        if (--sets_here == 0 && carm_papi_thread() != set->papi->opener) {
            (void)set->papi->unregister_thread();
        }
    }
    free(set->event);
    free(set->values);
    free(set->base);
    free(set);
}

int carm_papi_set_open(struct carm_counter_set *s, struct carm_err *err)
{
    struct papi_set *set = calloc(1, sizeof *set);
    if (!set) {
        return carm_fail(err, CARM_ENOMEM, "no memory for a set of counters");
    }
    set->papi = s->counters->state;
    set->eventset = PAPI_NULL;
    set->share = 1.0;
    carm_papi_lock();
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
        rc = set->base ? 0 : carm_fail(err, CARM_ENOMEM, "no memory for a set of counters");
    }
    if (rc) {
        release(set);
    } else {
        s->state = set;
    }
    carm_papi_unlock();
    return rc;
}

int carm_papi_set_start(struct carm_counter_set *s, struct carm_err *err)
{
    struct papi_set *set = s->state;
    if (set->kernel) {
        return carm_kernel_start(set->kernel, err);
    }
    int rc = set->papi->start(set->eventset);
    if (rc == PAPI_OK && set->base) {
        /* its reset leaves what children brought that have ended (kernel, _perf_event_reset) */
        rc = set->papi->read(set->eventset, set->base);
        if (rc != PAPI_OK) {
            (void)set->papi->stop(set->eventset, set->values);
        }
    }
    return rc == PAPI_OK ? 0 : fail(err, set->papi, "start to count", rc);
}

int carm_papi_set_read(struct carm_counter_set *s, bool stop, struct carm_reading *readings,
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
        /* PAPI has scaled by the real times and does not tell them: what it estimates for the whole
         * time is turned back into what was seen in the share, which whoever scales undoes. With
         * all counts zero, no event ever had its turn. */
        reading->present = counted || !thread;
        reading->count += (double)(set->values[j] - (set->base ? set->base[j] : 0)) * share;
        reading->enabled = 1.0;
        reading->running = counted || !thread ? share : 0.0;
    }
    return 0;
}

void carm_papi_set_close(struct carm_counter_set *s)
{
    carm_papi_lock();
    release(s->state);
    carm_papi_unlock();
}

#else

/* ISO C wants a declaration in every file. */
extern const struct carm_counters_ops carm_counters_papi;

#endif
