/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A graph of a million layers: exact sums; time and memory are shown, not judged. */
#include <sys/resource.h>
#include <time.h>

#include "models/sol/estimate.h"
#include "tests/models/random.h"
#include "tests/models/sol/build.h"
#include "tests/unit.h"

static double cpu_seconds(void)
{
    struct timespec t;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static long resident_kib(void)
{
    struct rusage u;
    return getrusage(RUSAGE_SELF, &u) == 0 ? u.ru_maxrss : 0;
}

/* Each layer takes the one before, one of up to 1000 before it, and a weight of its own. */
TEST(a_million_layers)
{
    enum { MILLION = 1000000, BACK = 1000 };
    uint64_t seed = 0xbf58476d1ce4e5b9;
    struct carm_sol_graph *g = sol_build_open(MILLION, 4 * MILLION, 2 * MILLION + 1);
    for (uint32_t i = 0; i < MILLION; i++) {
        const uint32_t other = i - (uint32_t)(next_random(&seed) >> 33) % (i < BACK ? i + 1 : BACK);
        sol_matmul(g, 1000, IN(i, 64), IN(other, 64), WEIGHT(MILLION + 1 + i % MILLION, 100),
                   OUT(i + 1, 64));
    }
    struct carm_sol_arch arch = {.name = "a", .freq_ghz = 1.0, .dram_byte_per_cycle = 1.0};
    arch.mac_per_cycle[CARM_SOL_FP16] = 4.0;
    arch.nlevels = 1;
    arch.levels[0].capacity = 16 * BACK; /* a third of what is alive */
    const long before = resident_kib();
    const double start = cpu_seconds();
    struct carm_sol_analysis *a = sol_build_analyse(g);
    const double counted = cpu_seconds();
    const struct carm_sol_result r = sol_estimate(g, a, &arch, CARM_SOL_FP16, false);
    const double estimated = cpu_seconds();
    print_message(
        "a million layers: counted in %.2f s, estimated with both policies in %.2f s of CPU time, "
        "%ld MiB beside the graph\n",
        counted - start, estimated - counted, (resident_kib() - before) / 1024);
    assert_int_equal(a->total.macs, 1000ULL * MILLION);
    assert_int_equal(a->total.unfused, 292ULL * MILLION);
    assert_int_equal(a->total.weight, 100ULL * MILLION);
    assert_int_equal(a->intermediates, MILLION - 1);
    assert_int_equal(a->total.external, 100ULL * MILLION + 64 + 64);
    const uint64_t lru = r.cached[CARM_SOL_FUSED].spilled_bytes;
    const uint64_t farthest = r.cached[CARM_SOL_PREFETCHED].spilled_bytes;
    assert_true(farthest > 0 && farthest <= lru && lru < 2 * a->total.intermediate);
    assert_true(r.peak_bytes > arch.levels[0].capacity);
    assert_true(r.models[CARM_SOL_PREFETCHED].cycles >= 250.0 * MILLION);
}
