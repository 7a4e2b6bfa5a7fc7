/* SPDX-License-Identifier: MIT */
/* Heat in a square plate: each cell becomes the mean of its four neighbours. From docs/first-hour.md.
 *   cc -O2 -g heat.c -o heat && carm run -- ./heat */
#include <stdio.h>

enum { N = 2048, STEPS = 20 };

static double now[N][N], next[N][N];

static void step(double to[N][N], double from[N][N])
{
    for (int x = 1; x < N - 1; x++) {
        for (int y = 1; y < N - 1; y++) {
            to[y][x] = 0.25 * (from[y][x - 1] + from[y][x + 1] + from[y - 1][x] + from[y + 1][x]);
        }
    }
}

int main(void)
{
    for (int x = 0; x < N; x++) {
        now[0][x] = next[0][x] = 100.0;
    }
    for (int i = 0; i < STEPS; i += 2) {
        step(next, now);
        step(now, next);
    }
    printf("%.6f\n", now[8][N / 2]);
    return 0;
}
