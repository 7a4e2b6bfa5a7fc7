/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Regions within regions on four threads, each begun once on a thread, so that stepping counts every call:
 * vectors, masks where the processor has them, repeated strings, calls of libraries, and a signal that
 * changes nothing. usage: nested [CALLS] */
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <carm.h>

enum { THREADS = 4, N = 1000 };

static long calls = 1;
static pthread_barrier_t all;

static double work(double *a, int n)
{
    double sum = 0;
    char text[64];
    for (int i = 0; i < n; i++) {
        a[i] = a[i] * 1.5 + i;
    }
    for (int i = 0; i < n; i += 50) {
        (void)snprintf(text, sizeof text, "%d %s", i, "text");
        sum += pow(a[i], 0.25) + (double)strlen(text);
    }
    (void)memmove(a, a + n / 2, (size_t)n / 2 * sizeof *a);
    __asm__ volatile("rep stosb" : "+D"(a), "+c"(n) : "a"(0) : "memory");
    return sum;
}

static void *thread(void *arg)
{
    const int number = (int)(size_t)arg;
    double a[N] = {1};
    double sum = work(a, N); /* everything is bound and warm */
    (void)pthread_barrier_wait(&all);
    for (long i = 0; i < calls; i++) {
        (void)carm_region_begin("outer");
        sum += work(a, 100 + 10 * number);
        for (int k = 0; k < 3; k++) { /* the second and third one are part of the outer call */
            static const char *const names[] = {"inner", "deep", "last"};
            (void)carm_region_begin(names[k]);
            sum += work(a, 200 + 100 * k);
            (void)carm_region_begin("within");
            sum += work(a, 50);
            (void)carm_region_end("within");
            (void)carm_region_end(names[k]);
        }
        sum += work(a, 100);
        (void)carm_region_end("outer");
    }
    return sum > 0 ? arg : NULL;
}

int main(int argc, char **argv)
{
    pthread_t t[THREADS];
    calls = argc > 1 ? atol(argv[1]) : 1;
    if (pthread_barrier_init(&all, NULL, THREADS) != 0) {
        return 1;
    }
    for (size_t i = 0; i < THREADS; i++) {
        if (pthread_create(&t[i], NULL, thread, (void *)i) != 0) {
            return 1;
        }
    }
    for (int i = 0; i < THREADS; i++) {
        (void)pthread_join(t[i], NULL);
    }
    return 0;
}
