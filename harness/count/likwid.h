/* SPDX-License-Identifier: MIT */
/* likwid's functions, found at run time; for harness/counters_likwid*.c alone. */
#ifndef CARM_HARNESS_COUNT_LIKWID_H
#define CARM_HARNESS_COUNT_LIKWID_H

#include "harness/count/provider.h"

struct carm_likwid_group {
    int id;        /* likwid's */
    size_t n;      /* likwid's events */
    size_t *event; /* [n] of the recipe, nevents for none (the other half of a merged counter) */
};

/* Prototypes by likwid's documentation of perfmon.h (5.0 to 5.4). */
struct carm_likwid {
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
    struct carm_likwid_group *groups; /* [ngroups] those of the recipe, then that of the sockets */
    size_t ngroups;
    bool sockets; /* the last one is there */
    int active;   /* likwid's id of the group that runs */
    int users;    /* sets that run */
};

/* The CPUs that the calling thread may use. returns how many, 0 = out of memory; *cpus is the
 * caller's */
size_t carm_likwid_cpus(int **cpus);

int carm_likwid_set_open(struct carm_counter_set *s, struct carm_err *err);
int carm_likwid_set_start(struct carm_counter_set *s, struct carm_err *err);
int carm_likwid_set_read(struct carm_counter_set *s, bool stop, struct carm_reading *readings,
                         struct carm_err *err);
void carm_likwid_set_close(struct carm_counter_set *s);

#endif
