// SPDX-License-Identifier: GPL-3.0-or-later
#include <benchmark/benchmark.h>
#include <carm_count.h>

static void dot(benchmark::State &state)
{
    double x[64] = {1.0};
    for (auto _ : carm::iterations(state, "dot")) {
        double sum = 0.0;
        for (int i = 0; i < 64; i++) {
            benchmark::DoNotOptimize(sum += x[i] * x[i]);
        }
    }
}
BENCHMARK(dot);
BENCHMARK_MAIN();
