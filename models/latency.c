/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/latency.h"

#include <math.h>
#include <stdio.h>
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

/* points of one plateau lie within 25% */
#define PLATEAU 1.25
/* A level's plateau is at most twice as slow as the fastest point of a set twice as large as the cache before. */
#define SLOWEST 2.0

/* The longest run of neighbouring points within 25% of one another that are faster than `below`; of equally long runs the
 * fastest. *first: its first point. returns the length */
static size_t longest_run(const struct carm_latency_curve *c, uint64_t from, uint64_t to,
                          double below, size_t *first)
{
    size_t longest = 0;
    for (size_t i = 0; i < c->npoints; i++) {
        double least = c->points[i].seconds, most = least;
        size_t k = i;
        while (k < c->npoints && c->points[i].working_set_bytes >= from &&
               c->points[k].working_set_bytes <= to && c->points[k].seconds < below) {
            least = fmin(least, c->points[k].seconds);
            most = fmax(most, c->points[k].seconds);
            if (most > PLATEAU * least) {
                break;
            }
            k++;
        }
        if (k - i > longest) {
            longest = k - i;
            *first = i;
        }
    }
    return longest;
}

void carm_latency_plateau(struct carm_latency *l, const struct carm_latency_curve *c, uint64_t from,
                          uint64_t to, double below)
{
    const struct carm_latency_point *last = NULL;
    double fastest = INFINITY;
    size_t first = 0;
    for (size_t i = 0; i < c->npoints; i++) {
        if (c->points[i].working_set_bytes >= from && c->points[i].working_set_bytes <= to) {
            last = &c->points[i];
            fastest = fmin(fastest, last->seconds);
        }
    }
    const size_t run = longest_run(c, from, to, fmin(below, SLOWEST * fastest), &first);
    if (run == 0) {
        (void)snprintf(l->note, sizeof l->note,
                       "not measured: no working set lies in this level alone");
        return;
    }
    const struct carm_latency_point *in = &c->points[first];
    l->seconds = in[run / 2].seconds;
    l->cycles = in[run / 2].cycles;
    l->ci95 = in[run / 2].ci95;
    l->working_set_bytes = in[run / 2].working_set_bytes;
    for (size_t i = 0; i < run; i++) {
        l->ci95.lo = fmin(l->ci95.lo, in[i].ci95.lo);
        l->ci95.hi = fmax(l->ci95.hi, in[i].ci95.hi);
        l->disturbed |= in[i].disturbed;
    }
    for (size_t i = 0; i < c->npoints; i++) {
        const struct carm_latency_point *p = &c->points[i];
        if (p->working_set_bytes >= from && p->seconds <= PLATEAU * l->seconds) {
            l->reach_bytes = p->working_set_bytes;
        }
    }
    if (last->seconds > 2.0 * PLATEAU * l->seconds) {
        (void)snprintf(l->note, sizeof l->note, "%.3g ns at %llu KiB, which the cache should hold",
                       1e9 * last->seconds, (unsigned long long)(last->working_set_bytes >> 10));
    }
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
