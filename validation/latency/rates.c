/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "harness/machine/buffer.h"
#include "harness/machine/stats.h"
#include "models/latency.h"
#include "validation/latency/latency.h"

enum {
    REPS = 9, /* of a millisecond each */
    /* repetitions before: they evict the kernel's zeros from the caches; the first ten took up to twice as long */
    WARM = 10,
    PAGE = 4096,
    /* each pass accesses every 17th page, so that consecutive accesses need different lines of a table (8 pages
     * each) */
    PASSES = CARM_WALK_WIDE + 1,
    STRIDE = PASSES * PAGE + CARM_LINE_BYTES, /* consecutive accesses are in different sets of L1 */
};

/* Page tables have 1 byte for 512 bytes of 4 KiB pages: 1 MiB for half a GiB, more than most L2. On a Zen 4 guest with
 * 1 MiB of L2, ns a load: 6.7 with 64 MiB, 7.1 with 128 MiB, 7.3 with 256 MiB, 9 with 512 MiB. */
static const uint64_t wanted_bytes = (uint64_t)512 << 20;
static const uint64_t least_bytes = (uint64_t)256
                                    << 20; /* with less, the rate equals that of far pages */

void carm_latency_pass(char *at, size_t n, size_t stride, enum carm_latency_pass how)
{
    for (; n > 0; n--, at += stride) {
        volatile uint64_t *word = (volatile uint64_t *)(void *)at;
        if (how == CARM_PASS_UPDATES) {
            *word = *word + 1;
        } else if (how == CARM_PASS_STORES) {
            *word = n;
        } else {
            (void)*word;
        }
    }
}

int carm_latency_add_rate(struct carm_model *model, const struct carm_in_flight *as, double *rates,
                          size_t n, struct carm_err *err)
{
    struct carm_in_flight *f = &model->in_flight[model->nin_flight];
    struct carm_stats of;
    *f = *as;
    f->points = calloc(1, sizeof *f->points);
    if (!f->points) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to measure latencies");
    }
    carm_stats_describe(rates, n, &of);
    f->latency_seconds = as->latency_seconds > 0.0 ? as->latency_seconds : 1.0 / of.median;
    f->rate = of.median;
    f->ci95 = (struct carm_ci){of.ci_lo, of.ci_hi};
    f->chains = 1;
    f->lines = f->rate * f->latency_seconds;
    f->points[f->npoints++] = (struct carm_in_flight_point){1, f->rate, f->ci95, f->disturbed};
    model->nin_flight++;
    return 0;
}

struct wide {
    struct carm_buffer buffer;
    bool stores;
    double rates[REPS]; /* accesses/s */
};

static void touch_job(struct carm_worker *w, void *arg)
{
    static const uint64_t step = (uint64_t)2 << 20;
    struct wide *wide = arg;
    for (uint64_t at = step; at <= wide->buffer.bytes && !carm_team_is_over(w->team); at += step) {
        carm_buffer_touch(&wide->buffer, at);
    }
}

static void wide_job(struct carm_worker *w, void *arg)
{
    struct wide *wide = arg;
    const size_t each = (wide->buffer.touched - (size_t)PASSES * PAGE) / STRIDE;
    for (size_t i = 0; i < WARM + REPS; i++) {
        const uint64_t begin = carm_clock_now();
        for (size_t pass = 0; pass < PASSES; pass++) {
            carm_latency_pass((char *)wide->buffer.start + pass * PAGE, each, STRIDE,
                              wide->stores ? CARM_PASS_STORES : CARM_PASS_LOADS);
        }
        wide->rates[i < WARM ? 0 : i - WARM] =
            (double)(each * PASSES) * w->team->clock->tsc_hz / (double)(carm_clock_now() - begin);
    }
}

static int measure(struct carm_latency_run *run, struct wide *wide, struct carm_err *err)
{
    static const char *const codes[CARM_LATENCY_WIDE_RATES] = {CARM_WALK_WIDE_LOADS,
                                                               CARM_WALK_WIDE_STORES};
    struct carm_in_flight as = {
        .level = CARM_WALK, .page_bytes = PAGE, .working_set_bytes = wide->buffer.touched};
    int rc = 0;
    for (size_t i = 0; i < CARM_LATENCY_WIDE_RATES && !carm_team_is_over(run->team) && !rc; i++) {
        wide->stores = i == 1;
        (void)snprintf(as.code, sizeof as.code, "%s", codes[i]);
        carm_team_run(run->team, wide_job, wide);
        rc = carm_latency_add_rate(run->model, &as, wide->rates, REPS, err);
    }
    return rc;
}

int carm_latency_wide(struct carm_latency_run *run, struct carm_err *err)
{
    const uint64_t most = carm_latency_memory_most(&run->options) / PAGE * PAGE;
    struct wide wide = {.stores = false};
    const size_t bytes = most < wanted_bytes ? most : wanted_bytes;
    if (bytes < least_bytes || carm_buffer_open(&wide.buffer, bytes, err) != 0) {
        return 0;
    }
    (void)madvise(wide.buffer.start, wide.buffer.bytes, MADV_NOHUGEPAGE);
    carm_team_run(run->team, touch_job, &wide);
    const bool small =
        wide.buffer.touched >= least_bytes && carm_buffer_page_bytes(&wide.buffer) == PAGE;
    const int rc = small ? measure(run, &wide, err) : 0;
    carm_buffer_close(&wide.buffer);
    return rc;
}
