/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/machine/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "harness/machine/cpu.h"
#include "harness/machine/stats.h"

enum {
    IMUL_CYCLES = 3,  /* latency of imul r32, r32: uops.info, all Intel from Nehalem, AMD Zen on */
    CHAIN_BLOCK = 64, /* instructions in the loop: its branch runs beside them and adds no time */
    CHAIN_BLOCKS = 128, /* some 6 us: a quantum of 10 ns is 0.2% */
};

static double ns_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC_RAW, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

#define FOUR(x)       x x x x
#define SIXTY_FOUR(x) FOUR(FOUR(FOUR(x)))
_Static_assert(sizeof SIXTY_FOUR("i") == CHAIN_BLOCK + 1,
               "a chain has as many instructions as are counted");

static uint64_t imul_ticks(void)
{
    uint32_t x = 3;
    uint32_t n = CHAIN_BLOCKS;
    uint32_t cpu = 0;
    uint64_t begin = carm_clock_start();
    __asm__ volatile("1:\n\t" SIXTY_FOUR("imul %0, %0\n\t") "dec %1\n\tjnz 1b"
                     : "+r"(x), "+r"(n)::"cc");
    return carm_clock_stop(&cpu) - begin;
}

/* A chain of additions of two registers: one cycle each on any core, against which imul's
 * latency is checked. */
static uint64_t add_ticks(void)
{
    uint32_t x = 3;
    uint32_t y = 5;
    uint32_t n = IMUL_CYCLES * CHAIN_BLOCKS;
    uint32_t cpu = 0;
    uint64_t begin = carm_clock_start();
    __asm__ volatile("1:\n\t" SIXTY_FOUR("add %2, %0\n\t") "dec %1\n\tjnz 1b"
                     : "+r"(x), "+r"(n)
                     : "r"(y)
                     : "cc");
    return carm_clock_stop(&cpu) - begin;
}

/* weak: a test replaces it by planted samples */
__attribute__((weak)) double carm_clock_ratio(double overhead, int imul_cycles)
{
    return (double)(imul_cycles * CHAIN_BLOCK * CHAIN_BLOCKS) / ((double)imul_ticks() - overhead);
}

double carm_clock_overhead(void)
{
    double ticks[255];
    uint32_t cpu = 0;
    for (size_t i = 0; i < sizeof ticks / sizeof *ticks; i++) {
        uint64_t begin = carm_clock_start();
        ticks[i] = (double)(carm_clock_stop(&cpu) - begin);
    }
    return carm_stats_median(ticks, sizeof ticks / sizeof *ticks);
}

double carm_clock_quantum(double *durations, size_t n)
{
    double *const gaps =
        durations; /* reuses the places of durations already read: there are never more gaps */
    size_t ngaps = 0;
    carm_stats_median(durations, n); /* sorts */
    double cluster = durations[0], before = durations[0];
    for (size_t i = 1; i < n * 9 / 10; i++) { /* the longest durations contain interrupts */
        const double duration = durations[i];
        if (duration - before > 1.0) {
            gaps[ngaps++] = duration - cluster;
            cluster = duration;
        }
        before = duration;
    }
    return ngaps >= 4 ? carm_stats_median(gaps, ngaps) : 1.0;
}

static double find_quantum(void)
{
    enum { SAMPLES = 4096 };
    static double durations[SAMPLES]; /* 32 KiB */
    uint32_t cpu = 0;
    for (size_t i = 0; i < SAMPLES; i++) { /* growing stretches */
        uint64_t begin = carm_clock_start();
        for (volatile size_t spin = i % 257; spin > 0; spin--) {
        }
        durations[i] = (double)(carm_clock_stop(&cpu) - begin);
    }
    return carm_clock_quantum(durations, SAMPLES);
}

/* Linux lists "tsc" among the clock sources only while it finds the TSC stable and in step on
 * all processors. Where the list cannot be read, CPUID's bit for an invariant TSC decides. */
static bool tsc_in_step(bool invariant)
{
    char line[256] = "";
    FILE *f = fopen("/sys/devices/system/clocksource/clocksource0/available_clocksource", "r");
    if (!f) {
        return invariant;
    }
    bool found = false;
    if (fgets(line, sizeof line, f)) {
        char *save = NULL;
        for (char *w = strtok_r(line, " \n", &save); w; w = strtok_r(NULL, " \n", &save)) {
            found = found || strcmp(w, "tsc") == 0;
        }
    }
    fclose(f);
    return found;
}

/* A TSC reading and the wall time of the same instant: of several wall-time readings between two
 * TSC readings, the pair with the shortest distance. */
static struct carm_clock_stamp stamp(void)
{
    struct carm_clock_stamp tightest = {0.0, 0.0};
    double best = INFINITY;
    uint32_t cpu = 0;
    for (int i = 0; i < 16; i++) {
        uint64_t before = carm_clock_start();
        double now = ns_now();
        uint64_t after = carm_clock_stop(&cpu);
        if ((double)(after - before) < best) {
            best = (double)(after - before);
            tightest = (struct carm_clock_stamp){(double)before + best / 2.0, now};
        }
    }
    return tightest;
}

double carm_clock_rate(const struct carm_clock_stamp (*stretches)[2], size_t n, double *error)
{
    double rates[CARM_CLOCK_STRETCHES];
    struct carm_stats s;
    n = n < CARM_CLOCK_STRETCHES ? n : CARM_CLOCK_STRETCHES;
    for (size_t i = 0; i < n; i++) {
        const struct carm_clock_stamp *begin = &stretches[i][0];
        const struct carm_clock_stamp *end = &stretches[i][1];
        rates[i] = (end->tsc - begin->tsc) / (end->ns - begin->ns) * 1e9;
    }
    carm_stats_describe(rates, n, &s);
    *error = (s.max - s.min) / s.median;
    return s.median;
}

void carm_clock_settle(struct carm_clock *clock, double imul, double add)
{
    clock->chain_ratio = IMUL_CYCLES * add / imul;
    /* no whole number of cycles: the clock changed between the chains, and the published latency is kept */
    const double whole = round(clock->chain_ratio);
    const bool plain = whole >= 1.0 && fabs(clock->chain_ratio - whole) < 0.1;
    clock->imul_cycles = plain ? (int)whole : IMUL_CYCLES;
    clock->core_hz = imul * clock->tsc_hz * clock->imul_cycles / IMUL_CYCLES;
}

int carm_clock_open(struct carm_clock *clock, struct carm_err *err)
{
    enum { ROUNDS = 5 };
    const struct timespec nap = {0, 8000000};
    struct carm_cpu cpu;
    struct carm_clock_stamp stretches[ROUNDS][2];
    double ratios[31];
    double adds[31];
    memset(clock, 0, sizeof *clock);
    carm_cpu_read(&cpu);
    if (!cpu.rdtscp) {
        return carm_fail(
            err, CARM_ENOTSUP,
            "this CPU or its hypervisor hides the time stamp counter (no rdtscp): carm "
            "needs it to time test codes");
    }
    for (int i = 0; i < ROUNDS; i++) {
        stretches[i][0] = stamp();
        nanosleep(&nap, NULL);
        stretches[i][1] = stamp();
    }
    clock->tsc_hz = carm_clock_rate(stretches, ROUNDS, &clock->tsc_hz_error);
    if (!(clock->tsc_hz > 1e8 && clock->tsc_hz < 2e10) || clock->tsc_hz_error > 0.01) {
        return carm_fail(
            err, CARM_ENOTSUP,
            "the time stamp counter does not run evenly (%.3g Hz, spread %.1f%%): carm "
            "cannot time test codes on this machine",
            clock->tsc_hz, 100.0 * clock->tsc_hz_error);
    }
    clock->synchronous = tsc_in_step(cpu.invariant_tsc);
    clock->tick_quantum = find_quantum();
    double overhead = carm_clock_overhead();
    for (size_t i = 0; i < 31; i++) {
        ratios[i] = carm_clock_ratio(overhead, IMUL_CYCLES);
        adds[i] =
            (double)(IMUL_CYCLES * CHAIN_BLOCK * CHAIN_BLOCKS) / ((double)add_ticks() - overhead);
    }
    carm_clock_settle(clock, carm_stats_median(ratios, 31), carm_stats_median(adds, 31));
    return 0;
}
