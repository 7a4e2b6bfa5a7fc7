/* SPDX-License-Identifier: MIT */
/* A region in C. Build and count it:
 *   cc -O2 region.c $(pkg-config --cflags --libs carm) -o region
 *   carm run --regions -- ./region */
#include <carm.h>
#include <stdio.h>

enum { N = 1000 };

int main(void)
{
    static double x[N], y[N];
    int turn, i;
    for (i = 0; i < N; i++) {
        x[i] = 1.0;
        y[i] = 2.0;
    }
    for (turn = 0; turn < 10; turn++) {
        carm_region_begin("axpy");
        for (i = 0; i < N; i++) {
            y[i] += 1.5 * x[i];
        }
        carm_region_end("axpy");
    }
    printf("%g\n", y[N - 1]);
    return 0;
}
