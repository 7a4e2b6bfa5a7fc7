/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/verdict/missing.h"

#include <math.h>
#include <string.h>

#include "models/latency.h"

enum { LINE = 64, PAGE = 4096, HUGE_PAGE = 2 << 20 };

/* Seconds of a load that hits the level; 0 = not measured */
static double latency_of(const struct carm_bounds_input *in, const char *level)
{
    const struct carm_model *model = in->rates.model;
    static const enum carm_latency_order orders[] = {CARM_LATENCY_RANDOM, CARM_LATENCY_LINES};
    double seconds = 0.0;
    for (size_t i = 0; i < sizeof orders / sizeof *orders && !(seconds > 0.0); i++) {
        const struct carm_latency *l =
            carm_latency_find(model, level, orders[i], in->huge ? HUGE_PAGE : PAGE);
        l = l ? l : carm_latency_find(model, level, orders[i], 0);
        seconds = l ? l->seconds : 0.0;
    }
    return seconds;
}

double carm_missing_beyond(const struct carm_bounds_input *in, const double *lines,
                           double executions)
{
    static const char *const names[] = {"L2", "L3", "DRAM"};
    const double first = latency_of(in, "L1");
    double seconds = 0.0;
    for (int k = 0; k < CARM_FROM_PLACES; k++) {
        seconds += lines[k] * fmax(0.0, latency_of(in, names[k]) - first);
    }
    return executions > 0.0 ? seconds * in->clock_hz / executions : 0.0;
}

double carm_missing_random(const struct carm_bounds_input *in, double bytes)
{
    const struct carm_model *model = in->rates.model;
    double first = 0.0, below = 0.0;
    for (size_t i = 0; i < model->nlatency_curves; i++) {
        const struct carm_latency_curve *c = &model->latency_curves[i];
        for (size_t k = 0; k < c->npoints && c->order == CARM_LATENCY_RANDOM &&
                           c->page_bytes == (in->huge ? HUGE_PAGE : PAGE) &&
                           (double)c->points[k].working_set_bytes <= bytes;
             k++) {
            first = k ? first : c->points[k].seconds;
            below = c->points[k].seconds;
        }
    }
    return fmax(0.0, below - first) * in->clock_hz;
}

double carm_missing_walks(const struct carm_bounds_input *in, double walks, const double *lines,
                          double executions)
{
    const struct carm_latency *walk =
        carm_latency_find(in->rates.model, "walk", CARM_LATENCY_PAGES, PAGE);
    const double share = walks - lines[CARM_FROM_DRAM] / executions;
    return walk && !in->huge ? fmax(0.0, share) * walk->seconds * in->clock_hz : 0.0;
}

double carm_missing_memory(const struct carm_bounds_input *in)
{
    return fmax(0.0, latency_of(in, "DRAM") - latency_of(in, "L3"));
}

double carm_missing_back(const struct carm_bounds_input *in, double room_bytes, double bytes,
                         double seconds)
{
    static const double matters = 0.1; /* share of the time that changes a verdict; chosen by
                                        * hand */
    static const double at_once =
        8.0; /* independent misses at a time: fewer than a core can have in flight */
    const double scattered = in->scattered[CARM_FROM_L3], chained = in->chained[CARM_FROM_L3];
    const double more = carm_missing_memory(in) * (chained + scattered / at_once);
    const double threads = in->threads > 0 ? in->threads : 1;
    return more > 0.0 && more >= matters * seconds
               ? fmin(room_bytes, bytes) / LINE / (scattered + chained) * seconds / threads
               : 0.0;
}

double carm_missing_stream(const struct carm_model *model)
{
    double slowest = 0.0;
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_memory_roof *m = carm_roofs_find_memory(&model->roofs[i], "DRAM", "1:0");
        const bool scalar =
            strcmp(model->roofs[i].isa, "scalar") == 0; /* half as many bytes in flight */
        if (m && model->roofs[i].threads == 1 && !scalar) {
            slowest = slowest > 0.0 ? fmin(slowest, m->bandwidth) : m->bandwidth;
        }
    }
    return slowest;
}

double carm_missing_load(const struct carm_model *model)
{
    const struct carm_latency *l = carm_latency_find(model, "DRAM", CARM_LATENCY_RANDOM, HUGE_PAGE);
    l = l ? l : carm_latency_find(model, "DRAM", CARM_LATENCY_RANDOM, PAGE);
    return l ? l->seconds : 0.0;
}
