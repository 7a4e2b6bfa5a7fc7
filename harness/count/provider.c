/* SPDX-License-Identifier: MIT */
#include "harness/count/provider.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <link.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"

static const char *const names[CARM_PROVIDER_COUNT] = {
    [CARM_PROVIDER_AUTO] = "auto",           [CARM_PROVIDER_PAPI] = "papi",
    [CARM_PROVIDER_LIKWID] = "likwid",       [CARM_PROVIDER_STEP] = "step",
    [CARM_PROVIDER_TRANSLATE] = "translate", [CARM_PROVIDER_NONE] = "none",
};

const char *carm_provider_name(enum carm_provider p)
{
    return names[p];
}

int carm_provider_parse(const char *name, enum carm_provider *p, struct carm_err *err)
{
    for (int i = 0; i < CARM_PROVIDER_COUNT; i++) {
        if (strcmp(name, names[i]) == 0) {
            *p = (enum carm_provider)i;
            return 0;
        }
    }
    return carm_fail(err, CARM_EINVAL,
                     "\"%s\" is not a counter back end: use auto, papi, likwid, step, "
                     "translate or none",
                     name);
}

int carm_counters_refuse(struct carm_err *err, const char *who, const char *reason,
                         const char *remedy)
{
    return carm_fail(err, CARM_ENOTSUP, "%s cannot count here: %s%s%s", who, reason,
                     remedy[0] ? "; " : "", remedy);
}

static void *open_library(const char *title, const char *variable, const char *const *usual,
                          size_t n, char *reason, size_t size)
{
    const char *named = getenv(variable); // NOLINT(concurrency-mt-unsafe)
    reason[0] = '\0';
    for (size_t i = 0; i < (named ? 1 : n); i++) {
        void *handle = dlopen(named ? named : usual[i], RTLD_LAZY | RTLD_LOCAL);
        if (handle) {
            return handle;
        }
        if (!reason[0]) {
            const char *why = dlerror();
            snprintf(reason, size, "%s cannot be loaded (%s)", title, why ? why : usual[i]);
        }
    }
    return NULL;
}

void *carm_provider_load(const char *title, const char *variable, const char *const *usual,
                         size_t n, char version[32], char *reason, size_t size)
{
    struct link_map *map = NULL;
    char path[PATH_MAX];
    void *handle = open_library(title, variable, usual, n, reason, size);
    if (version) {
        /* these libraries report no version before they are initialised, but the file's name contains it */
        const char *at = NULL;
        if (handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map &&
            realpath(map->l_name, path)) {
            at = strstr(path, ".so.");
        }
        snprintf(version, 32, "%.31s", at ? at + 4 : handle ? "unknown" : "");
    }
    return handle;
}

static bool is_general(const struct carm_event *e)
{
    return e->scope == CARM_EVENT_THREAD && !e->fixed;
}

void carm_counters_partition(struct carm_counters *c)
{
    const struct carm_recipe *r = c->recipe;
    size_t open = 1;
    for (size_t i = 0; i < r->nevents; i++) {
        c->group[i] = CARM_GROUP_NONE;
    }
    for (size_t i = 0; i < r->nevents; i++) {
        const struct carm_event *e = &r->events[i];
        if (!c->have[i] || e->scope == CARM_EVENT_SOCKET) {
            continue;
        }
        if (!is_general(e)) {
            c->group[i] = 0;
            continue;
        }
        if ((int)e->slots > c->counters) {
            c->have[i] = false;
            continue;
        }
        for (size_t g = 0; c->group[i] < 0; g++) {
            int used = (int)e->slots;
            int paired = e->slots > 1 ? 2 : 0;
            for (size_t j = 0; j < i; j++) {
                if (c->group[j] == (int)g && is_general(&r->events[j])) {
                    used += (int)r->events[j].slots;
                    paired += r->events[j].slots > 1 ? 2 : 0;
                }
            }
            if (used <= c->counters && paired <= c->counters / 2 * 2) {
                c->group[i] = (int)g;
                open = g + 1 > open ? g + 1 : open;
            }
        }
    }
    c->groups = open;
}

int carm_counters_needed(const struct carm_counters *c)
{
    int needed = 0;
    for (size_t i = 0; i < c->recipe->nevents; i++) {
        if (c->have[i] && is_general(&c->recipe->events[i])) {
            needed += (int)c->recipe->events[i].slots;
        }
    }
    return needed;
}

bool carm_counters_in_set(const struct carm_counters *c, size_t i, int group)
{
    return c->have[i] && c->group[i] >= 0 && (group == CARM_GROUPS_ALL || c->group[i] == group);
}

struct kernel_event {
    int fd; /* -1 = not counted */
    uint64_t base;
};

struct carm_kernel_set {
    size_t n;
    struct kernel_event events[];
};

/* libpfm4's names of the kernel's software events (its PMU "perf") */
static const struct {
    const char *name;
    uint64_t config;
    bool kernel_only;
} known[] = {
    {"TASK-CLOCK", PERF_COUNT_SW_TASK_CLOCK, false},
    {"CPU-CLOCK", PERF_COUNT_SW_CPU_CLOCK, false},
    {"PAGE-FAULTS", PERF_COUNT_SW_PAGE_FAULTS, false},
    {"FAULTS", PERF_COUNT_SW_PAGE_FAULTS, false},
    {"MINOR-FAULTS", PERF_COUNT_SW_PAGE_FAULTS_MIN, false},
    {"MAJOR-FAULTS", PERF_COUNT_SW_PAGE_FAULTS_MAJ, false},
    {"CONTEXT-SWITCHES", PERF_COUNT_SW_CONTEXT_SWITCHES, true},
    {"CS", PERF_COUNT_SW_CONTEXT_SWITCHES, true},
    {"CPU-MIGRATIONS", PERF_COUNT_SW_CPU_MIGRATIONS, true},
    {"MIGRATIONS", PERF_COUNT_SW_CPU_MIGRATIONS, true},
};

enum { NKNOWN = sizeof known / sizeof *known };

static size_t find(const struct carm_event *e)
{
    static const char pmu[] = "perf::";
    const size_t skip = sizeof pmu - 1;
    if (e->scope == CARM_EVENT_SOFTWARE && strncmp(e->papi, pmu, skip) == 0) {
        const size_t length = strcspn(e->papi + skip, ":");
        for (size_t i = 0; i < NKNOWN; i++) {
            if (strlen(known[i].name) == length &&
                memcmp(known[i].name, e->papi + skip, length) == 0) {
                return i;
            }
        }
    }
    return NKNOWN;
}

bool carm_kernel_only(const struct carm_event *e)
{
    const size_t i = find(e);
    return i < NKNOWN && known[i].kernel_only;
}

static int open_event(uint64_t config, pid_t pid, bool kernel)
{
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = PERF_TYPE_SOFTWARE;
    attr.config = config;
    attr.disabled = 1;
    attr.inherit = 1;
    attr.exclude_kernel = !kernel;
    attr.exclude_hv = 1;
    return (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int carm_kernel_open(struct carm_kernel_set **out, const struct carm_counter_set *s,
                     struct carm_err *err)
{
    const struct carm_counters *c = s->counters;
    const size_t n = c->recipe->nevents;
    const bool kernel = carm_pmu_may_count_kernel(&c->facts);
    struct carm_kernel_set *k = calloc(1, sizeof *k + n * sizeof *k->events);
    if (!k) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for a set of counters");
    }
    k->n = n;
    for (size_t i = 0; i < n; i++) {
        k->events[i].fd = -1;
    }
    for (size_t i = 0; i < n; i++) {
        const size_t at = find(&c->recipe->events[i]);
        if (at == NKNOWN || !carm_counters_in_set(c, i, s->group)) {
            continue;
        }
        k->events[i].fd = open_event(known[at].config, s->target.pid, kernel);
        if (k->events[i].fd < 0) {
            const int error = errno;
            carm_kernel_close(k);
            return carm_fail(
                err, CARM_ENOTSUP, "the kernel refuses to count %s of process %d: %s%s",
                known[at].name, (int)s->target.pid, strerror(error),
                error == EMFILE                     ? "; raise `ulimit -n`"
                : error == EACCES || error == EPERM ? "; count a program of your own, or as root"
                                                    : "");
        }
    }
    *out = k;
    return 0;
}

static int read_event(int fd, uint64_t *value, struct carm_err *err)
{
    if (read(fd, value, sizeof *value) != (ssize_t)sizeof *value) {
        return carm_fail(err, CARM_EIO, "a counter of the kernel cannot be read: %s",
                         strerror(errno));
    }
    return 0;
}

int carm_kernel_start(struct carm_kernel_set *k, struct carm_err *err)
{
    for (size_t i = 0; i < k->n; i++) {
        struct kernel_event *e = &k->events[i];
        if (e->fd >= 0) {
            /* a reset would not clear the counts of finished children: the counts so far are subtracted later */
            const int rc = read_event(e->fd, &e->base, err);
            if (rc) {
                return rc;
            }
            if (ioctl(e->fd, PERF_EVENT_IOC_ENABLE, 0)) {
                return carm_fail(err, CARM_EIO, "a counter of the kernel does not start: %s",
                                 strerror(errno));
            }
        }
    }
    return 0;
}

int carm_kernel_read(struct carm_kernel_set *k, bool stop, struct carm_reading *readings,
                     struct carm_err *err)
{
    for (size_t i = 0; stop && i < k->n; i++) {
        if (k->events[i].fd >= 0) {
            ioctl(k->events[i].fd, PERF_EVENT_IOC_DISABLE, 0);
        }
    }
    for (size_t i = 0; i < k->n; i++) {
        const struct kernel_event *e = &k->events[i];
        uint64_t now = 0;
        if (e->fd < 0) {
            continue;
        }
        const int rc = read_event(e->fd, &now, err);
        if (rc) {
            return rc;
        }
        readings[i].present = true;
        readings[i].count = (double)(now - e->base);
        readings[i].enabled = readings[i].running = 1.0; /* the kernel always has room for them */
    }
    return 0;
}

void carm_kernel_close(struct carm_kernel_set *k)
{
    if (k) {
        for (size_t i = 0; i < k->n; i++) {
            carm_fd_close(k->events[i].fd);
        }
        free(k);
    }
}
