/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm's chase of pointers against a loop of plain C on the same lines, in turn: nanoseconds of a load and their
 * ratio on each working set. Exit status 1 where they differ by more than 3%. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "asm/chain/image.h"
#include "harness/place/host.h"
#include "harness/machine/stats.h"
#include "harness/machine/team.h"
#include "validation/latency/latency.h"
#include "validation/latency/order.h"

enum { ROUNDS = 21, SETS = 6 };

struct bench {
    const struct carm_chain *code;
    uint32_t *sequence;
    size_t lines;
    double ours[ROUNDS], theirs[ROUNDS], ratios[ROUNDS]; /* ns of a load */
};

__attribute__((noinline)) static void **follow(void **p, uint64_t loads)
{
    for (uint64_t i = 0; i < loads; i++) {
        p = *p;
    }
    return p;
}

static void job(struct carm_worker *w, void *arg)
{
    struct bench *b = arg;
    static uint64_t window[CARM_CHAIN_WINDOW_BYTES / 8] __attribute__((aligned(4096)));
    char *base = w->buffer.start;
    uint32_t cpu = 0;
    carm_chase_order(b->sequence, CARM_LATENCY_RANDOM, 2 << 20, b->lines * CARM_LINE_BYTES,
                     SIZE_MAX, 1);
    carm_chase_link(base, b->sequence, b->lines);
    void **at = (void **)(void *)(base + (uint64_t)b->sequence[0] * CARM_LINE_BYTES);
    at = follow(at, b->lines < 1 << 17 ? 3 * b->lines : 0);
    for (size_t r = 0; r < ROUNDS; r++) {
        /* some 100 us to 1 ms each; both go on where the other one stopped */
        const uint64_t iterations = 256;
        const uint64_t loads = iterations * b->code->units;
        double seconds = 0.0;
        window[0] = (uint64_t)(uintptr_t)at;
        carm_latency_cycles(w, b->code, window, iterations, 0, &seconds);
        at = (void **)(uintptr_t)window[0];
        const uint64_t begin = carm_clock_start();
        at = follow(at, loads);
        const double ticks = (double)(carm_clock_stop(&cpu) - begin) - w->clock_overhead;
        b->ours[r] = 1e9 * seconds / (double)loads;
        b->theirs[r] = 1e9 * ticks / w->team->clock->tsc_hz / (double)loads;
        b->ratios[r] = b->ours[r] / b->theirs[r];
    }
}

int main(void)
{
    static const uint64_t sets[SETS] = {16 << 10, 256 << 10, 2 << 20, 4 << 20, 16 << 20, 256 << 20};
    struct carm_observer observer = {.show = NULL};
    struct carm_host host = {.topo = NULL};
    struct carm_team *team = NULL;
    struct carm_chain_image *image = NULL;
    struct carm_chain_code code;
    struct carm_err err = {""};
    bool apart = false;
    struct bench b = {.sequence = malloc(sets[SETS - 1] / CARM_LINE_BYTES * sizeof *b.sequence)};
    int rc = b.sequence ? carm_host_open(&host, NULL, &observer, &err) : -CARM_ENOMEM;
    rc = rc ? rc : carm_clock_open(&host.clock, &err);
    rc = rc ? rc : carm_chain_parse("P.k1", &code, &err);
    rc = rc ? rc : carm_chain_image_open(&image, &code, 1, &err);
    rc = rc ? rc : carm_team_open(&team, host.topo, &host.clock, 1, sets[SETS - 1], 64, &err);
    if (rc) {
        fprintf(stderr, "chase: %s\n", err.text);
        return 2;
    }
    carm_team_touch(team, sets[SETS - 1]);
    b.code = &image->chains[0];
    printf("working set   carm, ns   plain C, ns   ratio\n");
    for (size_t i = 0; i < SETS; i++) {
        b.lines = sets[i] / CARM_LINE_BYTES;
        carm_team_run(team, job, &b);
        const double ratio = carm_stats_median(b.ratios, ROUNDS);
        printf("%7llu KiB  %9.2f  %12.2f  %6.3f\n", (unsigned long long)(sets[i] >> 10),
               carm_stats_median(b.ours, ROUNDS), carm_stats_median(b.theirs, ROUNDS), ratio);
        apart |= fabs(ratio - 1.0) > 0.03;
    }
    carm_team_close(team);
    carm_chain_image_close(image);
    carm_host_close(&host);
    free(b.sequence);
    return apart;
}
