/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/parts.h"

#include <assert.h>
#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"
#include "harness/count/step/counts.h"
#include "harness/place/place.h"
#include "models/core.h"
#include "models/verdict/missing.h"

char *carm_parts_missing(char *dst, size_t size, const struct carm_run *run)
{
    static const double patience = 60.0; /* most seconds of repeated runs that the text advises,
                                          * chosen by hand */
    const uint64_t n = run->has_samples ? run->samples.total : 0;
    const double times = carm_run_times(run);
    const double ran = run->user_seconds * times;
    const double begun = (double)run->samples.begun;
    dst[0] = '\0';
    if (run->unsampled[0]) {
        snprintf(dst, size, "shares of time are missing: %s", run->unsampled);
    } else if (n < CARM_PROFILE_FEW && run->has_samples && run->samples.incomplete[0]) {
        snprintf(dst, size, "shares of time are missing: %s", run->samples.incomplete);
    } else if (n < CARM_PROFILE_FEW && run->has_samples &&
               ran > 2.0 * CARM_PROFILE_FEW * run->samples.period &&
               0.5 * begun * run->samples.period > 0.5 * ran) {
        snprintf(
            dst, size,
            "shares of time are missing: %llu sample%s of %.3g ms of processor time in %.0f threads and "
            "processes, and one that runs shorter than %.2g ms has few: --hz %d sees more",
            (unsigned long long)n, n == 1 ? "" : "s", 1e3 * ran, begun, 1e3 * run->samples.period,
            CARM_SAMPLE_HZ_MAX);
    } else if (n < CARM_PROFILE_FEW && run->has_samples &&
               ran > 2.0 * CARM_PROFILE_FEW * run->samples.period) {
        snprintf(dst, size,
                 "shares of time are missing: %llu sample%s of %.3g ms of processor time (%s)",
                 (unsigned long long)n, n == 1 ? "" : "s", 1e3 * ran,
                 run->samples.preloaded
                     ? "static and set-user-id programs, and those of another user, have none"
                     : "a set-user-id program has none");
    } else if (run->no_time) {
        snprintf(
            dst, size, "%s",
            run->always_sampled
                ? ""
                : "--no-time has no shares of time: --loops and --functions show the counts of each");
    } else if (run->hz && n < CARM_PROFILE_FEW) {
        const double enough = times * 10.0 * CARM_PROFILE_FEW / (n ? (double)n : 1.0);
        char advice[64] = "Take a larger problem";
        if (enough * run->row.seconds < patience) {
            snprintf(advice, sizeof advice, "Try: carm run --repeat %.0f", enough + 1.0);
        }
        snprintf(dst, size,
                 "too short to see loops (%llu sample%s of %.3g ms of processor time). %s",
                 (unsigned long long)n, n == 1 ? "" : "s", 1e3 * ran, advice);
    }
    return dst;
}

/* The number of CPUs of this process, which the program inherits; 0 = unknown. */
static int usable_cpus(void)
{
    cpu_set_t cpus;
    return sched_getaffinity(0, sizeof cpus, &cpus) == 0 ? CPU_COUNT(&cpus)
                                                         : (int)sysconf(_SC_NPROCESSORS_ONLN);
}

int carm_parts_open(struct carm_profile *profile, const struct carm_run *run,
                    enum carm_profile_by by, double min_share, struct carm_profile_place *places,
                    size_t nplaces, struct carm_err *err)
{
    const struct carm_profile_input in = {.blocks = run->has_blocks ? &run->blocks : NULL,
                                          .again = run->has_again ? &run->again : NULL,
                                          .samples = run->has_samples ? &run->samples : NULL,
                                          .user_seconds = run->user_seconds,
                                          .system_seconds = run->system_seconds,
                                          .cpus = usable_cpus(),
                                          .by = by,
                                          .min_share = min_share,
                                          .places = places,
                                          .nplaces = nplaces};
    return carm_profile_open(profile, &in, err);
}

static void put_counts(const struct carm_profile *profile, const struct carm_profile_row *part,
                       struct carm_row *row)
{
    struct carm_counts *c = &row->counts;
    carm_step_counts_to_counts(&part->counts, 1.0, c);
    if (profile->has_allocator) {
        carm_count_put(c, CARM_Q_ALLOCATIONS, (double)part->allocations, CARM_COUNTED_TRANSLATED);
    }
    for (int q = 0; q < CARM_Q_COUNT; q++) {
        if (carm_count_has(c, (enum carm_quantity)q)) {
            c->q[q].by = CARM_COUNTED_TRANSLATED;
        }
    }
}

void carm_parts_row(const struct carm_run *run, const struct carm_profile *profile,
                    const struct carm_profile_row *part, struct carm_row *row)
{
    bool about;
    memset(row, 0, sizeof *row);
    snprintf(row->name, sizeof row->name, "%.80s: %.170s", run->name, part->name);
    if (profile->has_counts && part->kind != CARM_PROFILE_KERNEL) {
        put_counts(profile, part, row);
    }
    row->calls = 1;
    row->share = 1.0;
    row->seconds = part->seconds;
    row->threads = part->threads;
    snprintf(row->asks_for, sizeof row->asks_for, "%s", run->row.asks_for);
    carm_row_describe(row);
    row->part.kind = carm_profile_kind_name(part->kind);
    struct carm_kind_shares cores;
    carm_run_kinds(part, &cores);
    carm_kinds_text(row->part.cores, sizeof row->part.cores, &cores);
    row->part.time_share = profile->has_time ? part->share : -1.0;
    row->part.samples =
        profile->has_time && part->kind != CARM_PROFILE_KERNEL ? (double)part->samples : -1.0;
    row->part.trips = carm_profile_trips(part, &about);
    row->part.entries = about ? 0.0 : (double)part->entries_low;
    snprintf(row->part.source, sizeof row->part.source, "%s", part->source);
    snprintf(row->part.module, sizeof row->part.module, "%s", part->module);
    if (part->spread > CARM_PROFILE_SPREAD) {
        snprintf(row->note, sizeof row->note, "two counted runs differ by %.0f%% here",
                 100.0 * part->spread);
    } else if (part->differs) {
        snprintf(row->note, sizeof row->note, "the timed and the counted run differ here");
    }
    if (part->irreducible) {
        carm_text_list(row->note, sizeof row->note, "; ", "irreducible: entered at several places");
    }
}

void carm_run_kinds(const struct carm_profile_row *part, struct carm_kind_shares *out)
{
    double sum = 0.0;
    out->n = 0;
    for (int k = 0; k < CARM_SAMPLE_KINDS; k++) {
        sum += (double)part->on[k];
    }
    _Static_assert((int)CARM_SAMPLE_KINDS <= (int)CARM_KINDS_MAX, "each kind has a share");
    for (int k = 0; k < CARM_SAMPLE_KINDS; k++) {
        if (part->on[k]) {
            snprintf(out->word[out->n], sizeof out->word[0], "%s", carm_kind_word(k));
            out->share[out->n++] = (double)part->on[k] / sum;
        }
    }
}

char *carm_run_kinds_text(char *dst, size_t size, const struct carm_profile_row *row)
{
    dst[0] = '\0';
    for (int k = 0; k < CARM_SAMPLE_KINDS && row->samples; k++) {
        if (row->on[k]) {
            carm_text_list(dst, size, ", ", "%.0f%% on %s cores",
                           100.0 * (double)row->on[k] / (double)row->samples, carm_kind_word(k));
        }
    }
    return dst;
}

bool carm_run_has_company(const struct carm_run *run, const struct carm_looks_sum *core)
{
    static const double often =
        0.2; /* of the looks: a busy neighbour in fewer lengthens a loop by a fifth at most */
    return core->shared >= often && run->samples.threads == 1;
}

double carm_parts_seconds(const struct carm_run *run, const struct carm_profile_row *part)
{
    const double all = part->share * run->cpu_seconds;
    const double most = part->seconds * carm_parts_threads(part);
    return all > 0.0 && all < most ? fmax(all, part->seconds) : most;
}

bool carm_run_core(const struct carm_run *run, const struct carm_model *model,
                   struct carm_looks_sum *out)
{
    static const double far =
        1.0 / 3.0; /* beyond this difference the model is of another machine; chosen by hand */
    const struct carm_core_figure *issue =
        model ? carm_core_find(model, CARM_CORE_ISSUE, "", "") : NULL;
    const double each = issue ? issue->throughput : 0.0;
    const double usual = model && model->nroofs ? model->roofs[0].clock_hz : 0.0;
    return run->has_samples &&
           carm_looks_sum(&run->samples.looks, each > 0.0 ? 1.0 / each : 0.0, out) &&
           (!(usual > 0.0) || fabs(out->clock_hz / usual - 1.0) <= far);
}

double carm_run_lost(const struct carm_run *run, const struct carm_bounds_input *in,
                     const struct carm_run_simulation *about, double seconds, double bytes)
{
    static const double least = 1e-3; /* the shortest wait of the measurement */
    static const double few = 0.05;   /* of the lines: less than the figures' scatter */
    const size_t last = about->config.nlevels - 1;
    const uint64_t room = last == 2 ? about->config.levels[last].size_bytes : 0;
    const double back = run->after && room && in->rates.model
                            ? carm_missing_back(in, (double)room, bytes, seconds)
                            : 0.0;
    if (back < least) {
        return 0.0;
    }
    assert(run->after);
    if (!run->after->stay.looked) {
        carm_stay_measure(&run->after->stay, room, about->config.levels[last - 1].size_bytes);
    }
    const double lost = 1.0 - carm_stay_share(&run->after->stay, back);
    return lost > few ? lost : 0.0;
}

double carm_run_slower(const struct carm_run *run, const struct carm_bounds_input *in,
                       const struct carm_verdict *v, double share)
{
    static const double large =
        0.05; /* least share of the program's time, as the measurement takes some 0.2 s */
    static const double half =
        0.5; /* least share of the loop's time: memory was never twice as slow for long */
    const bool dram = v->second == CARM_LIMIT_DRAM;
    const struct carm_model *model = in->rates.model;
    if (v->limit != CARM_LIMIT_UNKNOWN || share < large || v->explains < half || !run->after ||
        !model || !(dram || v->second == CARM_LIMIT_LATENCY || v->second == CARM_LIMIT_TLB)) {
        return 0.0;
    }
    if (!run->after->memory.looked) {
        uint64_t last = 0;
        for (size_t i = 0; i < model->nlevels; i++) {
            last = model->levels[i].os_size_bytes > last ? model->levels[i].os_size_bytes : last;
        }
        carm_memory_now_measure(&run->after->memory, 2 * last);
    }
    const struct carm_memory_now *now = &run->after->memory;
    const double usual = dram ? carm_missing_stream(model) : carm_missing_load(model);
    const double times = dram ? usual / now->bandwidth : now->seconds / usual;
    return usual > 0.0 && now->bandwidth > 0.0 && times > CARM_RUN_SLOWER ? times : 0.0;
}
