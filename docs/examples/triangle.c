/* SPDX-License-Identifier: MIT */
/* Forces between all pairs of bodies, each pair once: the first rows of the triangle have most of the pairs.
 * OMP_SCHEDULE says how the rows are dealt out to the threads. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { BODIES = 24000 };

static float x[BODIES], y[BODIES], z[BODIES];

int main(void)
{
    double energy = 0.0;
    for (int i = 0; i < BODIES; i++) {
        x[i] = (float)rand() / (float)RAND_MAX;
        y[i] = (float)rand() / (float)RAND_MAX;
        z[i] = (float)rand() / (float)RAND_MAX;
    }
#pragma omp parallel for schedule(runtime) reduction(+ : energy)
    for (int i = 0; i < BODIES; i++) {
        float sum = 0.0F;
        for (int k = i + 1; k < BODIES; k++) {
            const float a = x[i] - x[k], b = y[i] - y[k], c = z[i] - z[k];
            sum += 1.0F / sqrtf(a * a + b * b + c * c + 1e-6F);
        }
        energy += (double)sum;
    }
    printf("%.6g\n", energy);
    return 0;
}
