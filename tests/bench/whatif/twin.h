/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What loops.c and twins.c have in common: data, time, and a program that runs a loop as it is, or as a programmer would change
 * it. PROGRAM NAME CHANGE TIMES [LINES]: prints the nanoseconds of an iteration; CHANGE is empty: as it is. TIMES: calls, or 0.2s.
 * Without arguments: each name with its changes. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "../random.h"

#define KEEP(p) __asm__ volatile("" ::"r"(p) : "memory")
/* keeps a sum out of vectors and in its register */
#define HOLD(v)        __asm__ volatile("" : "+x"(v))
#define HOLD_NUMBER(v) __asm__ volatile("" : "+r"(v))
#define NOINLINE       __attribute__((noinline))
/* as many chains, each with its element of an array; compilers keep them in registers */
#define SIDE_BY_SIDE(j, count) _Pragma("GCC unroll 8") for (int j = 0; j < (count); j++)
enum { AHEAD = 32 };

static int huge, l1, sorted; /* the change */
static double per;           /* iterations of a call; 0 = n */
static int64_t lines = 16;   /* that a prefetch is ahead */

static void *get(size_t bytes)
{
    const size_t room = (bytes + (2 << 20) + 4096) & ~(size_t)((2 << 20) - 1);
    char *p = aligned_alloc(2 << 20, room);
    if (huge) {
        madvise(p, room, MADV_HUGEPAGE);
    }
    memset(p, 0, room);
    return p;
}

/* Arrays that begin at the same place of a page would share few sets of L1. */
static inline void *get_apart(size_t bytes)
{
    static size_t arrays;
    return (char *)get(bytes + 4096) + arrays++ % 8 * 7 * 64;
}
static inline double *reals(int64_t count, double from, double step)
{
    double *p = get_apart((size_t)count * 8 + 4096);
    for (int64_t i = 0; i < count; i++)
        p[i] = from + step * (double)(i % 37);
    return p;
}
static inline float *floats(int64_t count, float from, float step)
{
    float *p = get_apart((size_t)count * 4 + 4096);
    for (int64_t i = 0; i < count; i++)
        p[i] = from + step * (float)(i % 37);
    return p;
}

static double *a, *b, *c;

static uint32_t *ix;
static int64_t n, m;
static int64_t elements; /* of the loop that runs */
static volatile double sink;

/* b, c and a, with as many elements in L1 */
static inline void make_streams(int64_t in_l1)
{
    n = l1 ? in_l1 : elements;
    a = get((size_t)n * 8 + 4096);
    b = get((size_t)n * 8 + 4096);
    c = get((size_t)n * 8 + 4096);
    for (int64_t i = 0; i < n; i++) {
        a[i] = 1.0;
        b[i] = 1.0 + 1e-3 * (double)(i % 100);
        c[i] = 2.0;
    }
}

/* count indices in random order, into a table a of so many entries */
static inline void make_table(int64_t count, int64_t entries)
{
    n = l1 ? 1024 : count;
    m = l1 ? 1024 : entries;
    a = get((size_t)m * 8);
    ix = get((size_t)(n + AHEAD) * 4);
    for (int64_t i = 0; i < n + AHEAD; i++)
        ix[i] = (uint32_t)(next_random() % (uint64_t)m);
}

static inline int by_value(const void *x, const void *y)
{
    return *(const uint32_t *)x < *(const uint32_t *)y
               ? -1
               : *(const uint32_t *)x > *(const uint32_t *)y;
}
static inline void sort_indices(void)
{
    qsort(ix, (size_t)n, sizeof *ix, by_value);
}

struct twin {
    const char *name;
    int64_t elements; /* for open; 0: it has its own number */
    void (*open)(void);
    void (*loop)(void);
    struct {
        const char *change;
        void (*loop)(void);
    } changes[10]; /* loop NULL: the same */
};

/* The same loop in a process of its own on each other CPU, until this one ends. returns the number of CPUs */
static int occupy(const struct twin *t)
{
    cpu_set_t cpus, one;
    int n_cpus = 0;
    sched_getaffinity(0, sizeof cpus, &cpus);
    for (int c = 0; c < CPU_SETSIZE; c++) {
        if (!CPU_ISSET(c, &cpus))
            continue;
        CPU_ZERO(&one);
        CPU_SET(c, &one);
        if (n_cpus++ == 0) {
            sched_setaffinity(0, sizeof one, &one);
        } else if (fork() == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            sched_setaffinity(0, sizeof one, &one);
            t->open();
            for (;;)
                t->loop();
        }
    }
    return n_cpus;
}

enum { STRETCHES = 4096 };
static int by_time(const void *p, const void *q)
{
    const double s = *(const double *)p, t = *(const double *)q;
    return (s > t) - (s < t);
}

static int run_twins(int argc, char **argv, const struct twin *twins, size_t ntwins)
{
    const char *change = argc > 2 ? argv[2] : "";
    const int64_t times = argc > 3 ? atoll(argv[3]) : 10;
    const double seconds = argc > 3 && strchr(argv[3], 's') ? atof(argv[3]) : 0.0;
    lines = argc > 4 ? atoll(argv[4]) : lines;
    huge = strcmp(change, "huge_pages") == 0;
    l1 = strcmp(change, "data_in_l1") == 0;
    sorted = strcmp(change, "branches_known") == 0;
    for (size_t i = 0; i < ntwins; i++) {
        const struct twin *t = &twins[i];
        void (*loop)(void) = t->loop;
        if (argc < 2)
            printf("%s", t->name);
        for (int k = 0; k < 10 && t->changes[k].change; k++) {
            if (argc < 2)
                printf(" %s", t->changes[k].change);
            if (strcmp(change, t->changes[k].change) == 0 && t->changes[k].loop)
                loop = t->changes[k].loop;
        }
        if (argc < 2) {
            printf("\n");
            continue;
        }
        if (strcmp(argv[1], t->name) != 0)
            continue;
        elements = t->elements;
        const int cores = strcmp(change, "all_cores") == 0 ? occupy(t) : 1;
        t->open();
        loop();
        if (cores > 1)
            usleep(300000);
        /* the median of many stretches of a millisecond or more, as the copies' gain is one of turns: the fastest stretch of a
         * loop that waits for memory is up to 1.1 times as fast, of others 1.0 */
        const double begin = now();
        loop();
        const int64_t each = 1 + (int64_t)(1e-3 / (now() - begin + 1e-9));
        static double took[STRETCHES];
        size_t stretches = 0;
        const double until = now() + seconds;
        for (int64_t r = 0; seconds > 0.0 ? now() < until : r < times; r += each) {
            const double t0 = now();
            for (int64_t k = 0; k < each; k++)
                loop();
            took[stretches++ % STRETCHES] = (now() - t0) / (double)each;
        }
        stretches = stretches < STRETCHES ? stretches : STRETCHES;
        qsort(took, stretches, sizeof *took, by_time);
        const double median = took[stretches / 2];
        printf("%.5f\n", 1e9 * median / (per > 0.0 ? per : (double)n) / cores);
        return 0;
    }
    return argc >= 2;
}
