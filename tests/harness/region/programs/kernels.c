/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program with regions of known work: `axpy` of N doubles, 2 N flops and 24 N bytes, CALLS times in
 * the region of that name. usage: kernels CALLS [chdir DIR | flush | fork | leave] */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <carm.h>

enum { N = 100 };

/* libcarm has functions of these names, too: they must not meet. */
int carm_fail(void);
int carm_row_append(void);
int carm_fail(void)
{
    return 7;
}
int carm_row_append(void)
{
    return 8;
}

static double x[N], y[N];

/* One load of x, one of y, a store of y, an addition and a multiplication for each element. */
static __attribute__((noinline)) void axpy(double a)
{
    for (long i = 0; i < N; i++) {
        double t;
        __asm__ volatile("movsd %1, %0\n\t"
                         "mulsd %3, %0\n\t"
                         "addsd %2, %0\n\t"
                         "movsd %0, %2"
                         : "=&x"(t)
                         : "m"(x[i]), "m"(y[i]), "x"(a)
                         : "memory");
    }
}

static int run(int calls)
{
    int rc = 0;
    for (int i = 0; i < calls; i++) {
        rc |= carm_region_begin("axpy, \"2N\"");
        axpy(1.5);
        rc |= carm_region_end("axpy, \"2N\"");
    }
    return rc;
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[2] : "";
    int rc = run(argc > 1 ? atoi(argv[1]) : 1);
    if (strcmp(how, "chdir") == 0) {
        rc |= chdir(argv[3]);
    } else if (strcmp(how, "flush") == 0) {
        rc |= carm_region_flush();
        _exit(rc != 0);
    } else if (strcmp(how, "fork") == 0) {
        int status = 1;
        rc |= carm_region_begin("parent");
        if (fork() == 0) {
            exit(run(3) | carm_region_end("parent"));
        }
        (void)wait(&status);
        rc |= status | carm_region_end("parent");
    } else if (strcmp(how, "leave") == 0) {
        rc |= carm_region_begin("left open");
    }
    return rc != 0 || carm_fail() != 7 || carm_row_append() != 8;
}
