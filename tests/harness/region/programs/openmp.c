/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Regions inside an OpenMP parallel part: each thread is counted. */
#include <carm.h>
#include <omp.h>

int main(void)
{
    double sum = 0.0;
#pragma omp parallel num_threads(4) reduction(+ : sum)
    {
        carm_region_begin("parallel");
#pragma omp for
        for (int i = 0; i < 1000; i++) {
            sum += i;
        }
        carm_region_end("parallel");
    }
    return sum != 499500.0;
}
