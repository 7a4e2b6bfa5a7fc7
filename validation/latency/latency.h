/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measures latencies: latencies and throughputs of instructions, dependent loads over working
 * sets, chains in flight, lines handed between cores. */
#pragma once

#include "asm/chain/image.h"
#include "base/observer.h"
#include "harness/place/host.h"
#include "harness/machine/team.h"
#include "harness/machine/buffer.h"
#include "models/latency.h"
#include "models/model.h"

struct carm_latency_options {
    bool quick;            /* fewer rounds and working sets */
    uint64_t memory_bytes; /* for buffers; 0 = a quarter of the available memory */
};

/* Arguments of all parts; borrowed. */
struct carm_latency_run {
    struct carm_latency_options options;
    const struct carm_host *host;
    struct carm_team *team; /* one thread, with the deadline of all parts */
    const struct carm_chain_image *image;
    struct carm_model *model; /* latencies are appended to its members */
    double line_seconds; /* time for each line when the latest chase was laid out; 0 = unknown */
    double clock_hz;     /* of the core, beside its figures; 0 = not measured */
};

/* Measures and fills core, latency, latency_curves, in_flight, loaded and core_to_core of the model, which had none.
 * deadline  figures that are not measured by then are left out, with a note where the model has room for one
 * returns 0, -CARM_EINTR, -CARM_ENOMEM, -CARM_ENOTSUP, or as carm_chain_image_open */
int carm_latency_measure(const struct carm_latency_options *options, const struct carm_host *host,
                         struct carm_deadline deadline, struct carm_model *model,
                         struct carm_err *err);

/* Seconds of the parts, estimated from a build on two cores of a Zen 4 server (docs/results.md). */
static const double carm_latency_core_seconds = 1.0;
static const double carm_latency_memory_seconds = 2.5;

/* Estimate of the seconds that the latencies take. */
static inline double carm_latency_seconds(const struct carm_latency_options *options)
{
    return (carm_latency_core_seconds + carm_latency_memory_seconds) * (options->quick ? 0.5 : 1.0);
}

/* Latency of the memory of one NUMA node (the OS's number) for the thread of run->team: a chase over four times the
 * last cache in pages of 2 MiB, where the system has them.
 * out  order, page_bytes, seconds, ci95, cycles, clock_hz, working_set_bytes; seconds 0 and a note where it could not
 *      be measured or the pages are elsewhere
 * returns 0, -CARM_ENOMEM */
int carm_latency_at(struct carm_latency_run *run, int node, struct carm_latency *out,
                    struct carm_err *err);

/* ---- the parts of carm_latency_measure */

int carm_latency_core(struct carm_latency_run *run, struct carm_err *err);
int carm_latency_memory(struct carm_latency_run *run, struct carm_err *err);
int carm_latency_loaded(struct carm_latency_run *run, struct carm_err *err);

/* Independent accesses to n words, `stride` bytes apart. */
enum carm_latency_pass { CARM_PASS_LOADS, CARM_PASS_STORES, CARM_PASS_UPDATES };
void carm_latency_pass(char *at, size_t n, size_t stride, enum carm_latency_pass how);

enum { CARM_LATENCY_WIDE_RATES = 2 };

/* Walks through tables that no L2 holds: appends the rates CARM_WALK_WIDE_LOADS and _STORES to in_flight, which has
 * room for them; nothing where there is too little memory, or the pages are larger than 4 KiB.
 * returns 0, -CARM_ENOMEM */
int carm_latency_wide(struct carm_latency_run *run, struct carm_err *err);

/* Memory that the buffers of one part may have together, in bytes. */
static inline uint64_t carm_latency_memory_most(const struct carm_latency_options *options)
{
    return options->memory_bytes ? options->memory_bytes : carm_memory_available() / 4;
}

/* Appends a rate of one chain to in_flight, which has room.
 * as     level, code, page_bytes, working_set_bytes, latency_seconds (0 = the time of one access by the rate)
 * rates  [n] accesses/s; sorted
 * returns 0, -CARM_ENOMEM */
int carm_latency_add_rate(struct carm_model *model, const struct carm_in_flight *as, double *rates,
                          size_t n, struct carm_err *err);

/* Whether a chase over `lines` lines can be laid out before the deadline, judged by earlier chases. */
static inline bool carm_latency_has_time(const struct carm_latency_run *run, size_t lines)
{
    const struct carm_deadline *d = &run->team->deadline;
    const double left = (double)d->tsc - (double)carm_clock_now();
    /* twice: the more lines, the smaller the share in a cache */
    const double needed = 2.0 * (double)lines * run->line_seconds * run->host->clock.tsc_hz;
    return !carm_team_is_over(run->team) && (d->tsc == 0 || needed < left);
}

/* One timed run of a code, in core cycles by the higher of the clock samples before and after it;
 * also its seconds.
 * worker  the calling thread */
double carm_latency_cycles(const struct carm_worker *worker, const struct carm_chain *code,
                           void *window, uint64_t iterations, uint64_t mask, double *seconds);
