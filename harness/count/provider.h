/* SPDX-License-Identifier: MIT */
/* The functions that PAPI and likwid implement so that harness/count/counters.h can use either,
 * and their shared parts. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "base/err.h"
#include "harness/count/evaluate.h"
#include "harness/count/pmu.h"
#include "harness/count/recipe.h"

enum carm_provider {
    CARM_PROVIDER_AUTO, /* papi, else likwid; `carm run`: else translate */
    CARM_PROVIDER_PAPI,
    CARM_PROVIDER_LIKWID,
    CARM_PROVIDER_STEP,      /* harness/count/step/trap.h; not opened here */
    CARM_PROVIDER_TRANSLATE, /* harness/translate/run.h; not opened here */
    CARM_PROVIDER_NONE,
    CARM_PROVIDER_COUNT
};

const char *carm_provider_name(enum carm_provider p);
/* returns 0 or -CARM_EINVAL with the list */
int carm_provider_parse(const char *name, enum carm_provider *p, struct carm_err *err);

enum { CARM_GROUPS_ALL = -1 }; /* all at once, multiplexed where they do not fit */

enum carm_target_kind {
    CARM_TARGET_THREAD,  /* the calling thread */
    CARM_TARGET_PROCESS, /* another process, its threads and its children from now on */
    CARM_TARGET_SOCKETS, /* uncore and energy of all sockets */
};

/* The targets of the providers:
 * THREAD   papi: the thread wherever it runs, user mode; one set runs at a time on a thread.
 *          likwid counts hardware threads: the calling thread must be pinned to one CPU, and
 *          other programs on that CPU count, too
 * PROCESS  papi: pid's first thread, and threads and processes that it starts from now on;
 *          threads that run already are not followed. likwid: all CPUs of this process's
 *          affinity, whatever runs there
 * SOCKETS  whole sockets by either, all programs; papi needs root or perf_event_paranoid <= 0 */
struct carm_counter_target {
    enum carm_target_kind kind;
    pid_t pid; /* PROCESS: stopped before its exec, or running */
};

struct carm_counters;
struct carm_counter_set;

struct carm_counters_ops {
    /* Fills state, have and counters; have[] is all false before. Calls carm_counters_partition
     * itself where it tries groups. On an error it releases everything. */
    int (*open)(struct carm_counters *c, struct carm_err *err);
    void (*close)(struct carm_counters *c);
    /* Fills state. On an error it releases everything. */
    int (*set_open)(struct carm_counter_set *s, struct carm_err *err);
    int (*set_start)(struct carm_counter_set *s, struct carm_err *err);
    /* readings are zeroed before. stop: also stops */
    int (*set_read)(struct carm_counter_set *s, bool stop, struct carm_reading *readings,
                    struct carm_err *err);
    void (*set_close)(struct carm_counter_set *s); /* stopped before */
};

enum { CARM_GROUP_NONE = -1 };

struct carm_counters {
    const struct carm_counters_ops *ops;
    enum carm_provider provider;
    const struct carm_recipe *recipe;
    struct carm_pmu_facts facts;
    bool *have;      /* [nevents] the provider can count it on a thread */
    unsigned *alias; /* [nevents] PAPI: which of carm_event_papi_name's names it takes */
    int *group;      /* [nevents] of thread and software events, CARM_GROUP_NONE */
    int counters;    /* general-purpose ones that may be used at a time */
    size_t groups;
    void *state;
};

struct carm_counter_set {
    struct carm_counters *counters;
    struct carm_counter_target target;
    int group;
    bool running;
    struct carm_reading *scratch; /* [nevents] for a stop without readings */
    void *state;
};

/* Loads a library at run time; it stays loaded.
 * title     the library's name in messages
 * variable  of the environment: names its file in place of the usual ones
 * usual     [n] sonames, the best first; the first one's failure is the reason
 * version   out: from the name of its file, "" when it cannot be loaded; NULL = not wanted
 * reason    [size] out: why it cannot be loaded
 * returns a handle or NULL */
void *carm_provider_load(const char *title, const char *variable, const char *const *usual,
                         size_t n, char version[32], char *reason, size_t size);

/* Packs the thread events that the provider has into groups by first fit in the recipe's order, so that
 * each group takes at most c->counters general-purpose counters; merged events take an even and the
 * next odd counter. Fixed and software events lie in group 0. Fills group and groups (at least 1);
 * clears have[] of an event that fits into no group. */
void carm_counters_partition(struct carm_counters *c);

/* General-purpose counters that all thread events together need. */
int carm_counters_needed(const struct carm_counters *c);

/* Whether event i belongs to a set on a thread or process. */
bool carm_counters_in_set(const struct carm_counters *c, size_t i, int group);

/* "X cannot count here: reason; remedy", as -CARM_ENOTSUP. */
int carm_counters_refuse(struct carm_err *err, const char *who, const char *reason,
                         const char *remedy);

/* Software events of another process by perf_event_open itself: PAPI's attach tries a hardware event
 * first and fails where there is none (perf_event.c, check_permissions). */
struct carm_kernel_set;
int carm_kernel_open(struct carm_kernel_set **out, const struct carm_counter_set *s,
                     struct carm_err *err);
int carm_kernel_start(struct carm_kernel_set *k, struct carm_err *err);
int carm_kernel_read(struct carm_kernel_set *k, bool stop, struct carm_reading *readings,
                     struct carm_err *err);
void carm_kernel_close(struct carm_kernel_set *k);

/* Events that only happen in kernel mode: in user mode they would read zero. */
bool carm_kernel_only(const struct carm_event *e);
