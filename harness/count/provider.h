/* SPDX-License-Identifier: MIT */
/* What a provider of counters implements; for harness/counters*.c alone. */
#ifndef CARM_HARNESS_COUNT_PROVIDER_H
#define CARM_HARNESS_COUNT_PROVIDER_H

#include "harness/count/counters.h"
#include "harness/count/pmu_limits.h"

struct carm_counters_ops {
    /* Fills state, have and counters; have[] is all false before. Calls carm_counters_partition
     * itself where it tries groups. On an error it has freed what it took. */
    int (*open)(struct carm_counters *c, struct carm_err *err);
    void (*close)(struct carm_counters *c);
    /* Fills state. On an error it has freed what it took. */
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

extern const struct carm_counters_ops carm_counters_papi;
extern const struct carm_counters_ops carm_counters_likwid;

/* carm_counters_open on a machine of these facts. */
int carm_counters_open_with(struct carm_counters **out, enum carm_provider p,
                            const struct carm_recipe *recipe, const struct carm_pmu_facts *facts,
                            struct carm_err *err);

/* Finds the library without initialising it. version "" and a reason when it is not there.
 * returns whether it is there */
bool carm_papi_find(char version[32], char *reason, size_t size);
bool carm_likwid_find(char version[32], char *reason, size_t size);
extern const char carm_papi_remedy[];
extern const char carm_likwid_remedy[];

/* Packs the thread events that are to be had into groups by first fit in the recipe's order, so that
 * each group takes at most c->counters general-purpose counters; merged events take an even and the
 * next odd one. Fixed and software events lie in group 0. Fills group and groups (at least 1); an
 * event that no group can hold is no longer to be had. */
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

#endif
