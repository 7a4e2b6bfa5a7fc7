// SPDX-License-Identifier: GPL-3.0-or-later
#define CATCH_CONFIG_MAIN
#define CATCH_CONFIG_ENABLE_BENCHMARKING
#include <carm_count.h>
#include <catch2/catch.hpp>

TEST_CASE("dot")
{
    volatile double x[64] = {1.0};
    BENCHMARK("dot")
    {
        carm::count one("dot");
        double sum = 0.0;
        for (int i = 0; i < 64; i++) {
            sum += x[i] * 2.0;
        }
        return sum;
    };
}
