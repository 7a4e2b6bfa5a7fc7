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
BENCHMARK(dot)->Iterations(10);
BENCHMARK(dot)->Iterations(100);
BENCHMARK(dot)->Iterations(1000);

static void skipped(benchmark::State &state)
{
    state.SkipWithError("nothing to do");
    for (auto _ : carm::iterations(state, "skipped")) {
        benchmark::ClobberMemory();
    }
}
BENCHMARK(skipped);
BENCHMARK_MAIN();
