/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time stamps, the TSC's frequency and the core's clock. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Start of a timed stretch: everything before has finished, nothing after has begun. */
static inline uint64_t carm_clock_start(void)
{
    uint32_t lo = 0;
    uint32_t hi = 0;
    __asm__ volatile("lfence\n\trdtsc\n\tlfence" : "=a"(lo), "=d"(hi)::"memory");
    return ((uint64_t)hi << 32) | lo;
}

/* End of a timed stretch: rdtscp waits for all earlier instructions. *cpu gets the number of the
 * processor that executed rdtscp (Linux keeps the number in the low 12 bits of TSC_AUX). */
static inline uint64_t carm_clock_stop(uint32_t *cpu)
{
    uint32_t lo = 0;
    uint32_t hi = 0;
    uint32_t aux = 0;
    __asm__ volatile("rdtscp\n\tlfence" : "=a"(lo), "=d"(hi), "=c"(aux)::"memory");
    *cpu = aux & 0xfff;
    return ((uint64_t)hi << 32) | lo;
}

/* An unfenced reading, for waiting loops. */
static inline uint64_t carm_clock_now(void)
{
    uint32_t lo = 0;
    uint32_t hi = 0;
    __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
    return ((uint64_t)hi << 32) | lo;
}

/* When a measurement has to end. {0} = never. */
struct carm_deadline {
    uint64_t tsc; /* the deadline's TSC reading; 0 = no such deadline */
    /* set by the user's signal: the deadline is over at once; NULL = no such flag */
    const volatile sig_atomic_t *stop;
};

static inline bool carm_deadline_over(const struct carm_deadline *deadline)
{
    return (deadline->stop && *deadline->stop) ||
           (deadline->tsc > 0 && carm_clock_now() >= deadline->tsc);
}

/* The deadline, or the instant `ticks` from now if that is earlier. */
static inline struct carm_deadline carm_deadline_within(struct carm_deadline deadline, double ticks)
{
    const uint64_t tsc = carm_clock_now() + (ticks > 0.0 ? (uint64_t)ticks : 0);
    deadline.tsc = deadline.tsc == 0 || tsc < deadline.tsc ? tsc : deadline.tsc;
    return deadline;
}

struct carm_clock {
    double tsc_hz;       /* against CLOCK_MONOTONIC_RAW */
    double tsc_hz_error; /* relative, from the spread of repeated comparisons */
    bool synchronous;    /* the kernel trusts the TSC across processors */
    double tick_quantum; /* ticks by which the counter advances at a time: 1 on bare metal; 26
                          * seen with a virtual machine's scaled TSC */
    double core_hz;      /* core clock without vector load, for information */
    double chain_ratio;  /* time of the imul chain in cycles of the add chain: 3 on known cores */
    int imul_cycles;     /* latency of imul by chain_ratio, for carm_clock_ratio */
};

/* Compares the TSC with CLOCK_MONOTONIC_RAW for some 40 ms.
 * returns 0 or -CARM_ENOTSUP (no usable TSC) */
int carm_clock_open(struct carm_clock *clock, struct carm_err *err);

enum { CARM_CLOCK_STRETCHES = 16 };

/* A reading of the TSC and the wall time of the same instant. */
struct carm_clock_stamp {
    double tsc, ns;
};

/* The TSC's frequency from n pairs of stamps (1 to CARM_CLOCK_STRETCHES), each the begin and the end of a stretch of time: the
 * median of the stretches' rates.
 * error  out: relative, from the slowest to the fastest stretch
 * returns Hz */
double carm_clock_rate(const struct carm_clock_stamp (*stretches)[2], size_t n, double *error);

/* The counter's quantum, ticks. Durations of growing stretches come in clusters, whose values differ by at most 1 (rounding
 * of a scaled TSC). The quantum is the median gap between clusters; 1 where there are fewer than 4 gaps.
 * durations  [n] ticks, n >= 1; overwritten. The longest tenth does not count */
double carm_clock_quantum(double *durations, size_t n);

/* Fills in chain_ratio, imul_cycles and core_hz.
 * imul, add  core cycles per TSC tick: by a chain of imul, taken as 3 cycles each, and by a chain of add, 1 each */
void carm_clock_settle(struct carm_clock *clock, double imul, double add);

/* One sample of the core clock as core cycles per TSC tick: a chain of dependent 32-bit `imul`,
 * some 6 us long. Newer cores execute a chain of `add` with an immediate in no time. `imul` takes 3
 * cycles on every x86-64 core since 2008 (uops.info). carm_clock_open compares imul with adds of a
 * register, 1 cycle each on any core, and so finds the latency on a core that differs.
 * overhead  ticks that carm_clock_overhead gives */
double carm_clock_ratio(double overhead, int imul_cycles);

/* Ticks between start and stop with nothing between them: the median of many. */
double carm_clock_overhead(void);
