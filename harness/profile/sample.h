/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Samples of a program's processor time: of all threads and children, each after a period of the
 * thread's own processor time. Taken by the kernel's task clock (perf.h), or by a preloaded timer
 * (timer.h) where perf_event_open is forbidden. Time in the kernel is not sampled.
 *
 * The task clock gives each thread its first sample after a whole period: a thread has half a
 * sample too few on average, and none if it lives shorter than a period. The preloaded timer
 * begins at a random part of the period. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"
#include "harness/profile/looks.h"
#include "harness/translate/modules.h"

enum {
    CARM_SAMPLE_HZ_MAX = 10000,
    CARM_SAMPLE_KINDS = 3, /* of cores: p, e, lp */
};

/* Samples at one place by one thread. */
struct carm_sample {
    uint32_t module; /* number in carm_samples.modules */
    uint32_t thread; /* from 0 */
    uint64_t at;     /* offset in the module's file; without a file, the address */
    uint64_t n;
    uint64_t first, last;           /* of these samples, ns from the start of the sampling */
    uint64_t on[CARM_SAMPLE_KINDS]; /* of n: on cores of each kind; all 0 = not known */
};

/* a += b, of one place and thread */
void carm_sample_merge(struct carm_sample *a, const struct carm_sample *b);

struct carm_samples {
    struct carm_modules modules;
    struct carm_sample *samples; /* sorted by module, offset, thread; each once */
    size_t nsamples, room;
    uint64_t total;   /* of all n */
    uint64_t weight;  /* periods that passed; the kernel may merge several into one sample */
    uint64_t lost;    /* samples that had no room in the buffers */
    uint64_t begun;   /* threads and processes; the preloaded timer does not see the threads */
    uint32_t threads; /* threads with at least one sample */
    double
        huge; /* share of the program's own memory in huge pages, when that memory was largest; 0 = none or unknown */
    double period;           /* mean seconds of processor time between samples */
    bool preloaded;          /* by the preloaded timer */
    struct carm_looks looks; /* at the cores on which samples were taken */
    char incomplete[128];    /* the failure, in words; "" = none */
};

void carm_samples_close(struct carm_samples *samples);

/* Adds the samples of another run of the program. Threads of the runs correspond by the order in
 * which they were first seen.
 * returns 0 or -CARM_ENOMEM */
int carm_samples_add(struct carm_samples *to, const struct carm_samples *from,
                     struct carm_err *err);

/* The share of a program's own memory that is in huge pages.
 * rollup  its /proc/PID/smaps_rollup
 * kib     out: its own memory */
double carm_samples_huge(FILE *rollup, uint64_t *kib);

struct carm_sampler;

/* Chooses the sampler, before the program's process is made.
 * hz  samples for each second of processor time, at most CARM_SAMPLE_HZ_MAX
 * returns 0, -CARM_ENOTSUP (says what forbids both), -CARM_ENOMEM */
int carm_sampler_open(struct carm_sampler **out, unsigned hz, struct carm_err *err);

/* The kinds of cores of a hybrid CPU, before carm_sampler_begin. Without them no sample tells its kind.
 * kinds  [n] of each processor, below CARM_SAMPLE_KINDS; others are not known; borrowed */
void carm_sampler_kinds(struct carm_sampler *sampler, const uint8_t *kinds, size_t n);

/* The environment for the program; owned by the sampler. NULL sampler: the caller's environment. */
char *const *carm_sampler_environment(const struct carm_sampler *sampler);

/* Samples a process from its next exec on. A thread of the sampler reads the records.
 * returns 0, -CARM_ENOTSUP, -CARM_ENOMEM */
int carm_sampler_begin(struct carm_sampler *sampler, pid_t pid, struct carm_err *err);

/* Ends the sampling, after the program has ended.
 * samples  out: to be closed; NULL = not wanted
 * returns 0 or -CARM_ENOTSUP: the program could not be sampled */
int carm_sampler_close(struct carm_sampler *sampler, struct carm_samples *samples,
                       struct carm_err *err);
