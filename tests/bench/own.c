/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm's own kernels as a program for carm run: the steps of the matrix multiplication study, and a triad. It
 * tells what the study knows of the point: flops and bytes by construction, seconds by its clock.
 * usage: own 1|2|3|4|5|triad N ROUNDS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/machine/clock.h"
#include "harness/machine/cpu.h"
#include "kernels/gemm/plan.h"

struct result {
    double flops, bytes, seconds;
};

static double since(uint64_t begin, const struct carm_clock *clock)
{
    uint32_t cpu = 0;
    return (double)(carm_clock_stop(&cpu) - begin) / clock->tsc_hz;
}

__attribute__((noinline)) static void triad(double *restrict a, const double *restrict b,
                                            const double *restrict c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        a[i] = b[i] + 1.5 * c[i];
    }
}

static int run_triad(size_t n, int rounds, const struct carm_clock *clock, struct result *r)
{
    double *a = calloc(3 * n, sizeof *a);
    if (!a) {
        return 1;
    }
    triad(a, a + n, a + 2 * n, n);
    const uint64_t begin = carm_clock_start();
    for (int i = 0; i < rounds; i++) {
        triad(a, a + n, a + 2 * n, n);
        __asm__ volatile("" ::"r"(a) : "memory");
    }
    r->seconds = since(begin, clock);
    r->flops = 2.0 * (double)n * rounds;
    r->bytes = 24.0 * (double)n * rounds;
    free(a);
    return 0;
}

static int run_step(int step, size_t n, int rounds, const struct carm_clock *clock,
                    struct result *r, struct carm_err *err)
{
    static const struct carm_gemm_caches caches = {32 << 10, 512 << 10, 4 << 20};
    struct carm_topo *topo = NULL;
    struct carm_team *team = NULL;
    struct carm_gemm g = {0};
    struct carm_cpu cpu;
    struct carm_gemm_plan plan;
    struct carm_gemm_account account = {0};
    carm_cpu_read(&cpu);
    const struct carm_gemm_kernels kernels = {carm_gemm_kernel_find(&cpu, CARM_AVX2, true),
                                              carm_gemm_kernel_find(&cpu, CARM_AVX2, false)};
    if (!kernels.strided || !kernels.vector) {
        return carm_fail(err, CARM_ENOTSUP, "this CPU has no AVX2");
    }
    int rc = carm_topo_open(&topo, NULL, NULL, err);
    rc = rc ? rc : carm_team_open(&team, topo, clock, 1, 4096, 16, err);
    rc = rc ? rc : carm_gemm_open(&g, n, team, err);
    rc = rc ? rc : carm_gemm_version(&plan, step, n, &kernels, &caches, err);
    if (!rc) {
        if (plan.access != CARM_GEMM_STRIDED) {
            carm_gemm_arrange(&plan, &g, 0, 1);
        }
        const uint64_t begin = carm_clock_start();
        for (int i = 0; i < rounds; i++) {
            carm_gemm_multiply(&plan, &g, 0, g.m);
        }
        r->seconds = since(begin, clock);
        carm_gemm_account(&plan, &g, 1, g.m, NULL, &account);
        r->flops = account.flops * rounds;
        r->bytes = (account.load_bytes + account.store_bytes) * rounds;
    }
    carm_gemm_close(&g);
    carm_team_close(team);
    carm_topo_close(topo);
    return rc;
}

int main(int argc, char **argv)
{
    struct carm_clock clock;
    struct carm_err err = {""};
    struct result r = {0};
    if (argc != 4) {
        fprintf(stderr, "usage: own 1|2|3|4|5|triad N ROUNDS\n");
        return 2;
    }
    const size_t n = strtoul(argv[2], NULL, 10);
    const int rounds = atoi(argv[3]);
    int rc = carm_clock_open(&clock, &err);
    if (!rc && strcmp(argv[1], "triad") == 0) {
        rc = run_triad(n, rounds, &clock, &r);
    } else if (!rc) {
        rc = run_step(atoi(argv[1]), n, rounds, &clock, &r, &err);
    }
    if (rc) {
        fprintf(stderr, "own: %s\n", err.text);
        return 1;
    }
    printf("%.9g %.9g %.9g\n", r.flops, r.bytes, r.seconds);
    return 0;
}
