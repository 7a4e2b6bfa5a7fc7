/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/latency.h"

#include <string.h>

const char *carm_latency_order_name(enum carm_latency_order order)
{
    static const char *const names[] = {"lines", "pages", "random"};
    return names[order];
}

const struct carm_latency *carm_latency_find(const struct carm_model *model, const char *level,
                                             enum carm_latency_order order, uint64_t page_bytes)
{
    for (size_t i = 0; i < model->nlatency; i++) {
        const struct carm_latency *l = &model->latency[i];
        if (strcmp(l->level, level) == 0 && l->order == order && l->seconds > 0.0 &&
            (page_bytes == 0 || l->page_bytes == page_bytes)) {
            return l;
        }
    }
    return NULL;
}

const struct carm_in_flight *carm_in_flight_find(const struct carm_model *model, const char *level)
{
    const struct carm_in_flight *best = NULL;
    for (size_t i = 0; i < model->nin_flight; i++) {
        const struct carm_in_flight *f = &model->in_flight[i];
        if (strcmp(f->level, level) == 0 && strcmp(f->code, "scalar") == 0 && f->rate > 0.0 &&
            (!best || f->rate > best->rate)) {
            best = f;
        }
    }
    return best;
}

const struct carm_in_flight *carm_in_flight_of(const struct carm_model *model, const char *level,
                                               const char *code, uint64_t page_bytes)
{
    for (size_t i = 0; i < model->nin_flight; i++) {
        const struct carm_in_flight *f = &model->in_flight[i];
        if (strcmp(f->level, level) == 0 && strcmp(f->code, code) == 0 &&
            f->page_bytes == page_bytes && f->rate > 0.0) {
            return f;
        }
    }
    return NULL;
}

double carm_in_flight_rate(const struct carm_in_flight *flight, double chains)
{
    const struct carm_in_flight_point *before = NULL;
    for (size_t i = 0; i < flight->npoints; i++) {
        const struct carm_in_flight_point *p = &flight->points[i];
        if ((double)p->chains >= chains) {
            if (!before) {
                return p->rate * chains / p->chains;
            }
            const double rate = before->rate + (p->rate - before->rate) *
                                                   (chains - before->chains) /
                                                   (double)(p->chains - before->chains);
            return rate < flight->rate ? rate : flight->rate;
        }
        before = p;
    }
    return before ? flight->rate : 0.0;
}

double carm_in_flight_lines(const struct carm_in_flight *flight, double bytes_per_second)
{
    enum { LINE_BYTES = 64 }; /* of every x86-64 cache */
    return bytes_per_second / LINE_BYTES * flight->latency_seconds;
}
