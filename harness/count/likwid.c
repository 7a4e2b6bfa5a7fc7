/* SPDX-License-Identifier: MIT */
#include "harness/count/likwid.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"

enum { CPUS_MAX = 8192, EVENTS_TEXT_MAX = 8192, UNITS_MAX = 16 };

const char carm_likwid_remedy[] =
    "install likwid (Debian: likwid), or name the library in CARM_LIKWID_LIBRARY";

/* perfmon has one state for the whole process */
static bool in_use;

struct group {
    int id;   /* likwid's */
    size_t n; /* likwid's events */
    size_t
        *event; /* [n] index in the recipe; nevents = none (the other half of a merged counter) */
};

/* Prototypes by likwid's documentation of perfmon.h (5.0 to 5.4). */
struct likwid {
    int (*topology_init)(void);
    void (*mode)(int mode); /* 0 direct, 1 by likwid-accessD */
    int (*init)(int n, const int *cpus);
    void (*finalize)(void);
    int (*add_event_set)(const char *events);
    int (*setup_counters)(int id);
    int (*start_counters)(void);
    int (*stop_counters)(void);
    int (*read_counters)(void);
    int (*read_counters_cpu)(int cpu);
    double (*get_result)(int id, int event, int thread);

    int *cpus; /* [ncpus] of likwid's threads */
    size_t ncpus;
    struct group *groups; /* [ngroups] the groups of the recipe, then the group of the sockets */
    size_t ngroups;
    bool sockets; /* the recipe has the group of the sockets */
    int active;   /* likwid's id of the group that runs */
    int users;    /* sets that run */
};

/* ---- loading ---- */

static void *load(char version[32], char *reason, size_t size)
{
    static const char *const usual[] = {"liblikwid.so.5.2", "liblikwid.so.5.3", "liblikwid.so.5.4",
                                        "liblikwid.so.5", "liblikwid.so"};
    return carm_provider_load("likwid", "CARM_LIKWID_LIBRARY", usual, sizeof usual / sizeof *usual,
                              version, reason, size);
}

bool carm_likwid_find(char version[32], char *reason, size_t size)
{
    return load(version, reason, size) != NULL;
}

static int find_functions(struct likwid *l, void *handle, struct carm_err *err)
{
    const struct {
        void **at;
        const char *name;
    } functions[] = {
        {(void **)&l->topology_init, "topology_init"},
        {(void **)&l->mode, "HPMmode"},
        {(void **)&l->init, "perfmon_init"},
        {(void **)&l->finalize, "perfmon_finalize"},
        {(void **)&l->add_event_set, "perfmon_addEventSet"},
        {(void **)&l->setup_counters, "perfmon_setupCounters"},
        {(void **)&l->start_counters, "perfmon_startCounters"},
        {(void **)&l->stop_counters, "perfmon_stopCounters"},
        {(void **)&l->read_counters, "perfmon_readCounters"},
        {(void **)&l->read_counters_cpu, "perfmon_readCountersCpu"},
        {(void **)&l->get_result, "perfmon_getResult"},
    };
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        *functions[i].at = dlsym(handle, functions[i].name);
        if (!*functions[i].at) {
            char reason[96];
            snprintf(reason, sizeof reason, "its library has no function %s", functions[i].name);
            return carm_counters_refuse(err, "likwid", reason, carm_likwid_remedy);
        }
    }
    return 0;
}

/* The CPUs that the calling thread may use. returns their number, 0 = out of memory; *cpus is to be
 * released with free */
static size_t list_cpus(int **cpus)
{
    const size_t size = CPU_ALLOC_SIZE(CPUS_MAX);
    cpu_set_t *set = CPU_ALLOC(CPUS_MAX);
    int *list = NULL;
    size_t n = 0;
    if (set && sched_getaffinity(0, size, set) == 0) {
        list = calloc((size_t)CPU_COUNT_S(size, set), sizeof *list);
        for (size_t cpu = 0; list && cpu < CPUS_MAX; cpu++) {
            if (CPU_ISSET_S(cpu, size, set)) {
                list[n++] = (int)cpu;
            }
        }
    }
    if (set) {
        CPU_FREE(set);
    }
    *cpus = list;
    return n;
}

/* ---- likwid's standard output ---- */

struct hush {
    int saved, file;
};

/* Redirects standard error of the whole process to a file in memory. If this fails, likwid's text is printed. */
static void hush_begin(struct hush *h)
{
    fflush(stderr);
    h->saved = dup(STDERR_FILENO);
    h->file = h->saved < 0 ? -1 : memfd_create("carm-likwid", MFD_CLOEXEC);
    if (h->file >= 0) {
        dup2(h->file, STDERR_FILENO);
    }
}

/* text: the first line that was printed, "" = none */
static void hush_end(struct hush *h, char *text, size_t size)
{
    text[0] = '\0';
    fflush(stderr);
    if (h->saved >= 0) {
        dup2(h->saved, STDERR_FILENO);
        close(h->saved);
    }
    if (h->file >= 0) {
        const ssize_t n = pread(h->file, text, size - 1, 0);
        text[n > 0 ? n : 0] = '\0';
        const size_t lead = strspn(text, " \t\r\n");
        memmove(text, text + lead, strlen(text + lead) + 1);
        text[strcspn(text, "\r\n")] = '\0';
        close(h->file);
    }
}

/* ---- events ---- */

struct event_text {
    char text[EVENTS_TEXT_MAX];
    size_t used;
    bool full;
};

__attribute__((format(printf, 4, 5))) static void put_event(struct event_text *t, struct group *g,
                                                            size_t event, const char *fmt, ...)
{
    va_list ap;
    const size_t room = sizeof t->text - t->used;
    t->full = t->full || carm_array_grow(&g->event, NULL, g->n, 1, sizeof *g->event, "", NULL);
    if (t->full) {
        return;
    }
    if (t->used > 0) {
        t->text[t->used - 1] = ','; /* replaces the terminating zero of the text before */
    }
    va_start(ap, fmt);
    const int n = vsnprintf(t->text + t->used, room, fmt, ap);
    va_end(ap);
    t->full = n <= 0 || (size_t)n + 1 >= room;
    if (!t->full) {
        t->used += (size_t)n + 1;
        g->event[g->n++] = event;
    }
}

/* Merged events (AMD, more than 15 counts in a cycle) take an even counter; the next one has likwid's
 * event MERGE, as in its own performance groups for Zen 2 and 3. Merged events come first, so that each gets an
 * even counter. */
static void put_group(struct event_text *t, struct group *g, const struct carm_counters *c,
                      int group)
{
    const struct carm_recipe *r = c->recipe;
    int counter = 0;
    for (int merged = 1; merged >= 0; merged--) {
        for (size_t i = 0; i < r->nevents; i++) {
            const struct carm_event *e = &r->events[i];
            if (!carm_counters_in_set(c, i, group) || (e->slots > 1) != (merged == 1)) {
                continue;
            }
            if (e->fixed || e->counter[0]) {
                put_event(t, g, i, "%s:%s", e->likwid, e->counter);
                continue;
            }
            put_event(t, g, i, "%s:PMC%d", e->likwid, counter++);
            if (merged) {
                put_event(t, g, r->nevents, "MERGE:PMC%d", counter++);
            }
        }
    }
}

/* Uncore counters have their unit's number in their name: MBOX%dC0. Units that are not there are left
 * out by likwid. */
static void put_sockets(struct event_text *t, struct group *g, const struct carm_recipe *r)
{
    for (size_t i = 0; i < r->nevents; i++) {
        const struct carm_event *e = &r->events[i];
        const char *unit = strstr(e->counter, "%d");
        if (e->scope != CARM_EVENT_SOCKET || !e->likwid[0] || !e->counter[0]) {
            continue;
        }
        for (int u = 0; u < (unit ? UNITS_MAX : 1); u++) {
            if (unit) {
                put_event(t, g, i, "%s:%.*s%d%s", e->likwid, (int)(unit - e->counter), e->counter,
                          u, unit + 2);
            } else {
                put_event(t, g, i, "%s:%s", e->likwid, e->counter);
            }
        }
    }
}

static int add_groups(struct carm_counters *c, struct likwid *l, struct event_text *t,
                      struct carm_err *err)
{
    l->groups = calloc(c->groups + 1, sizeof *l->groups);
    if (!l->groups) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the counters");
    }
    for (size_t g = 0; g <= c->groups; g++) {
        struct group *group = &l->groups[g];
        const bool sockets = g == c->groups;
        memset(t, 0, sizeof *t);
        l->ngroups = g + 1;
        if (sockets) {
            put_sockets(t, group, c->recipe);
        } else {
            put_group(t, group, c, (int)g);
        }
        if (t->full) {
            return carm_fail(err, CARM_ENOMEM, "not enough memory for likwid's events");
        }
        group->id = group->n ? l->add_event_set(t->text) : -1;
        if (sockets) {
            l->sockets = group->id >= 0;
        } else if (group->id < 0) {
            return carm_fail(err, CARM_ENOTSUP,
                             "likwid cannot count here: it refuses the events %.300s; use papi",
                             t->text);
        }
    }
    return 0;
}

/* ---- the provider ---- */

static void likwid_close(struct carm_counters *c)
{
    struct likwid *l = c->state;
    if (l) {
        for (size_t g = 0; g < l->ngroups; g++) {
            free(l->groups[g].event);
        }
        free(l->groups);
        free(l->cpus);
        free(l);
        c->state = NULL;
    }
}

static void likwid_finalize(struct carm_counters *c)
{
    ((struct likwid *)c->state)->finalize();
    in_use = false;
    likwid_close(c);
}

/* Checks whether the library can work, and loads it, before any of its functions runs: likwid's
 * initialisation takes a second, and ends the process if likwid has no access (access_client.c). */
static int prepare(struct carm_counters *c, struct carm_err *err)
{
    struct carm_pmu_verdict v;
    char reason[384];
    size_t found = 0;
    carm_pmu_judge_msr(&c->facts, &v);
    if (!v.works) { /* before the library is loaded, which takes 10 ms */
        return carm_counters_refuse(err, "likwid", v.reason, v.remedy);
    }
    void *handle = load(NULL, reason, sizeof reason);
    if (!handle) {
        return carm_counters_refuse(err, "likwid", reason, carm_likwid_remedy);
    }
    for (size_t i = 0; i < c->recipe->nevents; i++) {
        const struct carm_event *e = &c->recipe->events[i];
        c->have[i] = e->scope == CARM_EVENT_THREAD && e->likwid[0] && (!e->fixed || e->counter[0]);
        found += c->have[i];
    }
    if (found == 0) {
        snprintf(reason, sizeof reason, "no events of %s are known for likwid", c->recipe->title);
        return carm_counters_refuse(err, "likwid", reason, "use papi");
    }
    return find_functions(c->state, handle, err);
}

static int likwid_open(struct carm_counters *c, struct carm_err *err)
{
    char said[256];
    struct hush hush;
    struct likwid *l = calloc(1, sizeof *l);
    struct event_text *text = calloc(1, sizeof *text);
    bool begun = false;
    int rc = 0;
    c->state = l;
    if (!l || !text) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for the counters");
        goto out;
    }
    if (in_use) {
        rc = carm_counters_refuse(err, "likwid", "it is open already in this process", "");
        goto out;
    }
    rc = prepare(c, err);
    if (rc) {
        goto out;
    }
    l->ncpus = list_cpus(&l->cpus);
    if (l->ncpus == 0) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for the list of CPUs");
        goto out;
    }
    carm_counters_partition(c);
    hush_begin(&hush);
    l->mode(c->facts.msr_errno == 0 ? 0 : 1);
    int status = l->topology_init();
    status = status ? status : l->init((int)l->ncpus, l->cpus);
    begun = status == 0;
    rc = begun ? add_groups(c, l, text, err) : 0;
    hush_end(&hush, said, sizeof said);
    if (!begun) {
        rc = carm_counters_refuse(err, "likwid", said[0] ? said : "perfmon_init failed",
                                  "`likwid-perfctr -i` shows what it finds");
    }
out:
    free(text);
    if (rc) {
        if (begun) {
            l->finalize();
        }
        likwid_close(c);
        return rc;
    }
    in_use = true;
    return 0;
}

/* ---- sets ------------------------------------------------------------------------------------
 * perfmon has one state for the whole process, in which one group counts on all CPUs. So sets
 * share it, and each subtracts the counts at its start. */

struct likwid_set {
    const struct group *group;
    int cpu;            /* of a thread's set; -1 = all CPUs */
    size_t first, last; /* likwid's threads that are added up */
    double *base, *now; /* [nevents] of the recipe */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Counts by event of the recipe, summed over CPUs; NAN where likwid has no count.
 * stopped  likwid read the counters when it stopped them */
static int read_sums(const struct carm_counter_set *s, double *sums, bool stopped,
                     struct carm_err *err)
{
    const struct likwid *l = s->counters->state;
    const struct likwid_set *set = s->state;
    const struct carm_recipe *r = s->counters->recipe;
    const int rc = stopped         ? 0
                   : set->cpu >= 0 ? l->read_counters_cpu(set->cpu)
                                   : l->read_counters();
    if (rc) {
        return carm_fail(err, CARM_EIO, "likwid cannot read its counters (%d)", rc);
    }
    for (size_t i = 0; i < r->nevents; i++) {
        sums[i] = NAN;
    }
    for (size_t j = 0; j < set->group->n; j++) {
        const size_t i = set->group->event[j];
        for (size_t t = set->first; i < r->nevents && t <= set->last; t++) {
            const double value = l->get_result(set->group->id, (int)j, (int)t);
            if (!isnan(value)) { /* NAN: a counter that is not there */
                sums[i] = (isnan(sums[i]) ? 0.0 : sums[i]) + value * r->events[i].likwid_scale;
            }
        }
    }
    return 0;
}

static int choose_cpu(const struct likwid *l, struct likwid_set *set, struct carm_err *err)
{
    int *cpus = NULL;
    const size_t n = list_cpus(&cpus);
    const int cpu = n == 1 ? cpus[0] : -1;
    free(cpus);
    if (n != 1) {
        return carm_fail(err, CARM_ENOTSUP,
                         "likwid counts hardware threads, not programs: pin the thread to one CPU "
                         "(it may use %zu), or use papi",
                         n);
    }
    for (size_t t = 0; t < l->ncpus; t++) {
        if (l->cpus[t] == cpu) {
            set->cpu = cpu;
            set->first = set->last = t;
            return 0;
        }
    }
    return carm_fail(
        err, CARM_ENOTSUP,
        "likwid was started without CPU %d: open the counters before threads are pinned", cpu);
}

static int set_open(struct carm_counter_set *s, struct carm_err *err)
{
    struct likwid *l = s->counters->state;
    const size_t n = s->counters->recipe->nevents;
    int rc = 0;
    if (s->target.kind == CARM_TARGET_SOCKETS && !l->sockets) {
        return carm_counters_refuse(err, "likwid (whole sockets)",
                                    "it has no socket events for this processor", "use papi");
    }
    struct likwid_set *set = calloc(1, sizeof *set);
    double *base = calloc(2 * n + 1, sizeof *base);
    if (!set || !base) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for a set of counters");
        goto fail;
    }
    set->base = base;
    set->now = base + n;
    set->cpu = -1;
    set->last = l->ncpus - 1;
    set->group = s->target.kind == CARM_TARGET_SOCKETS ? &l->groups[l->ngroups - 1]
                 : s->group == CARM_GROUPS_ALL         ? &l->groups[0]
                                                       : &l->groups[s->group];
    if (s->target.kind == CARM_TARGET_THREAD) {
        rc = choose_cpu(l, set, err);
    }
    if (rc) {
        goto fail;
    }
    s->state = set;
    return 0;
fail:
    free(base);
    free(set);
    return rc;
}

static int set_start(struct carm_counter_set *s, struct carm_err *err)
{
    struct likwid *l = s->counters->state;
    const struct likwid_set *set = s->state;
    int rc = 0;
    pthread_mutex_lock(&mutex);
    if (l->users > 0 && l->active != set->group->id) {
        rc = carm_fail(err, CARM_ENOTSUP,
                       "likwid counts one group at a time on all CPUs, and another one runs: stop "
                       "that one, or use papi");
        goto out;
    }
    if (l->users == 0) {
        int status = l->setup_counters(set->group->id);
        status = status ? status : l->start_counters();
        if (status) {
            rc = carm_fail(err, CARM_EIO,
                           "likwid cannot start its counters (%d): another program may hold them",
                           status);
            goto out;
        }
        l->active = set->group->id;
    }
    rc = read_sums(s, set->base, false, err);
    if (rc == 0) {
        l->users++;
    } else if (l->users == 0) {
        l->stop_counters();
    }
out:
    pthread_mutex_unlock(&mutex);
    return rc;
}

static int set_read(struct carm_counter_set *s, bool stop, struct carm_reading *readings,
                    struct carm_err *err)
{
    struct likwid *l = s->counters->state;
    const struct likwid_set *set = s->state;
    const size_t n = s->counters->recipe->nevents;
    pthread_mutex_lock(&mutex);
    int rc = 0;
    const bool last = stop && l->users == 1;
    if (last && l->stop_counters()) {
        rc = carm_fail(err, CARM_EIO, "likwid cannot stop its counters");
    }
    rc = rc ? rc : read_sums(s, set->now, last, err);
    if (stop) {
        l->users--;
    }
    pthread_mutex_unlock(&mutex);
    for (size_t i = 0; rc == 0 && i < n; i++) {
        readings[i].present = !isnan(set->now[i]);
        if (readings[i].present) {
            readings[i].count = set->now[i] - set->base[i];
            readings[i].enabled = readings[i].running = 1.0;
        }
    }
    return rc;
}

static void set_close(struct carm_counter_set *s)
{
    struct likwid_set *set = s->state;
    free(set->base);
    free(set);
}

const struct carm_counters_ops carm_counters_likwid = {
    .open = likwid_open,
    .close = likwid_finalize,
    .set_open = set_open,
    .set_start = set_start,
    .set_read = set_read,
    .set_close = set_close,
};
