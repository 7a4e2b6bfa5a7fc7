/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time stamps, the TSC's frequency and the core's clock. */
#ifndef CARM_HARNESS_MACHINE_CLOCK_H
#define CARM_HARNESS_MACHINE_CLOCK_H

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

/* End of a timed stretch: rdtscp waits for all instructions before it; *cpu gets the number of the
 * processor it ran on (Linux keeps it in TSC_AUX, low 12 bits). */
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
    uint64_t tsc; /* at this reading; 0 = at none */
    const volatile sig_atomic_t
        *stop; /* or as soon as this is set, by the user; NULL = nobody can */
};

static inline bool carm_deadline_over(const struct carm_deadline *deadline)
{
    return (deadline->stop && *deadline->stop) ||
           (deadline->tsc > 0 && carm_clock_now() >= deadline->tsc);
}

/* A deadline that is over after so many ticks, or when another one is. */
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
    double tick_quantum; /* the counter advances by so many ticks at a time (1 on bare metal; a
                            * scaled TSC in a virtual machine: 26 seen) */
    double core_hz;      /* core clock without vector load, for information */
    double chain_ratio;  /* time of the imul chain in cycles of the add chain: 3 on known cores */
    int imul_cycles;     /* the latency that this makes of imul, for carm_clock_ratio */
};

/* Compares the TSC with CLOCK_MONOTONIC_RAW for some 40 ms.
 * returns 0 or -CARM_ENOTSUP (no usable TSC) */
int carm_clock_open(struct carm_clock *clock, struct carm_err *err);

enum { CARM_CLOCK_STRETCHES = 16 };

/* A reading of the TSC and the wall time that belongs to it. */
struct carm_clock_stamp {
    double tsc, ns;
};

/* The TSC's frequency from n pairs of stamps (1 to CARM_CLOCK_STRETCHES), each the begin and the end of a stretch of time: the
 * median of the stretches' rates.
 * error  out: relative, from the slowest to the fastest stretch
 * returns Hz */
double carm_clock_rate(const struct carm_clock_stamp (*stretches)[2], size_t n, double *error);

/* One sample of the core clock as core cycles per TSC tick: a chain of dependent 32-bit `imul`, some
 * 6 us long. A chain of `add` with an immediate would be eliminated by newer cores; `imul` is not, and
 * takes 3 cycles on every x86-64 core since 2008. carm_clock_open compares it with adds of a register,
 * 1 cycle each on any core, and so learns of a core where it is otherwise.
 * overhead  ticks that carm_clock_overhead gives */
double carm_clock_ratio(double overhead, int imul_cycles);

/* Ticks between start and stop with nothing between them: the median of many. */
double carm_clock_overhead(void);

#endif
