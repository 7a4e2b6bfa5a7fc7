/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/fleet/light.h"

#include <stdlib.h>
#include <string.h>

#include "models/fleet/cut.h"
#include "models/fleet/pool.h"
#include "base/json_read.h"

enum { SETS_MAX = 256, ROOFS_MAX = 1024 }; /* as models/file/read.c */

/* Members of one object, by the names that are looked for. */
enum { FOUND_MAX = 8 };

static bool find(const struct carm_fleet_span *object, const char *const *names, size_t n,
                 struct carm_fleet_span *values)
{
    if (!carm_fleet_find(object->at, object->size, names, n, values)) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        if (!values[i].at) {
            return false;
        }
    }
    return true;
}

/* ---- values -------------------------------------------------------------------------------------- */

/* A string without escapes, not empty. */
static bool get_name(const struct carm_fleet_span *v, char *dst, size_t size)
{
    if (v->size < 3 || v->size - 2 >= size || *v->at != '"' || memchr(v->at, '\\', v->size)) {
        return false;
    }
    for (size_t i = 1; i + 1 < v->size; i++) {
        if ((unsigned char)v->at[i] < 0x20 || (unsigned char)v->at[i] >= 0x7f) {
            return false; /* UTF-8 is for the other reader to check */
        }
    }
    memcpy(dst, v->at + 1, v->size - 2);
    dst[v->size - 2] = '\0';
    return true;
}

/* The text goes on behind the value with what is no part of a number. */
static bool get_positive(const struct carm_fleet_span *v, double *d)
{
    char *end;
    if (*v->at < '0' || *v->at > '9' || strspn(v->at, "0123456789+-.eE") != v->size) {
        return false;
    }
    *d = strtod(v->at, &end);
    return end == v->at + v->size && *d >= CARM_JREAD_LEAST && *d <= CARM_JREAD_MOST;
}

static bool get_bool(const struct carm_fleet_span *v, bool *b)
{
    *b = carm_fleet_span_is(v, "true");
    return *b || carm_fleet_span_is(v, "false");
}

static bool get_interval(const struct carm_fleet_span *v, double value, double *lo, double *hi)
{
    struct carm_fleet_scan s = {v->at, v->at + v->size};
    struct carm_fleet_span a, b;
    bool first = true;
    const double slack = 1e-12 * value;
    return carm_fleet_scan_open(&s, '[') && carm_fleet_scan_next(&s, &first, ']') == 1 &&
           carm_fleet_scan_value(&s, &a) && carm_fleet_scan_next(&s, &first, ']') == 1 &&
           carm_fleet_scan_value(&s, &b) && carm_fleet_scan_next(&s, &first, ']') == 0 &&
           get_positive(&a, lo) && get_positive(&b, hi) && *lo <= value + slack &&
           *hi >= value - slack;
}

/* ---- roofs --------------------------------------------------------------------------------------- */

struct light {
    struct carm_model *model;
    struct carm_roofs *set;
};

static bool read_memory(struct light *l, const struct carm_fleet_span *object)
{
    static const char *const names[] = {"level", "ldst", "code", "bandwidth", "ci95", "disturbed"};
    struct carm_fleet_span v[FOUND_MAX];
    struct carm_memory_roof m = {.bandwidth = 0.0};
    struct carm_roofs *s = l->set;
    if (!find(object, names, 6, v) || !get_name(&v[0], m.level, sizeof m.level) ||
        !get_name(&v[1], m.ldst, sizeof m.ldst) || !get_name(&v[2], m.code, sizeof m.code) ||
        !get_positive(&v[3], &m.bandwidth) ||
        !get_interval(&v[4], m.bandwidth, &m.ci95.lo, &m.ci95.hi) ||
        !get_bool(&v[5], &m.disturbed) || !carm_model_has_level(l->model, m.level) ||
        carm_roofs_find_memory(s, m.level, m.ldst) || s->nmemory == ROOFS_MAX ||
        carm_fleet_grow(&s->memory, s->nmemory, sizeof m)) {
        return false;
    }
    s->memory[s->nmemory++] = m;
    return true;
}

static bool read_compute(struct light *l, const struct carm_fleet_span *object)
{
    static const char *const names[] = {"op", "rate", "ci95", "disturbed"};
    struct carm_fleet_span v[FOUND_MAX];
    struct carm_compute_roof c = {.rate = 0.0};
    struct carm_roofs *s = l->set;
    if (!find(object, names, 4, v) || !get_name(&v[0], c.op, sizeof c.op) ||
        !get_positive(&v[1], &c.rate) || !get_interval(&v[2], c.rate, &c.ci95.lo, &c.ci95.hi) ||
        !get_bool(&v[3], &c.disturbed) || s->ncompute == ROOFS_MAX) {
        return false;
    }
    for (size_t i = 0; i < s->ncompute; i++) {
        if (strcmp(s->compute[i].op, c.op) == 0) {
            return false;
        }
    }
    if (carm_fleet_grow(&s->compute, s->ncompute, sizeof c)) {
        return false;
    }
    s->compute[s->ncompute++] = c;
    return true;
}

/* Each item of an array of objects. */
static bool read_items(struct light *l, const struct carm_fleet_span *array,
                       bool (*read)(struct light *l, const struct carm_fleet_span *object))
{
    struct carm_fleet_scan s = {array->at, array->at + array->size};
    struct carm_fleet_span item;
    bool first = true;
    if (!carm_fleet_scan_open(&s, '[')) {
        return false;
    }
    int more = carm_fleet_scan_next(&s, &first, ']');
    for (; more > 0; more = carm_fleet_scan_next(&s, &first, ']')) {
        if (!carm_fleet_scan_value(&s, &item) || !read(l, &item)) {
            return false;
        }
    }
    return more == 0;
}

static bool read_dram_peak(const struct carm_fleet_span *object, struct carm_dram_peak *peak)
{
    static const char *const names[] = {"bandwidth", "code"};
    struct carm_fleet_span v[FOUND_MAX];
    return find(object, names, 2, v) && get_positive(&v[0], &peak->bandwidth) &&
           get_name(&v[1], peak->code, sizeof peak->code);
}

static bool read_set(struct light *l, const struct carm_fleet_span *object)
{
    static const char *const names[] = {"isa",    "precision", "threads",   "clock_hz",
                                        "memory", "compute",   "dram_peak", "ceilings"};
    struct carm_fleet_span v[FOUND_MAX];
    struct carm_model *m = l->model;
    double threads = 0.0;
    if (!carm_fleet_find(object->at, object->size, names, 8, v) || m->nroofs == SETS_MAX) {
        return false;
    }
    for (size_t i = 0; i < 6; i++) {
        if (!v[i].at) {
            return false;
        }
    }
    if (v[7].at || carm_fleet_grow(&m->roofs, m->nroofs, sizeof *m->roofs)) {
        return false; /* ceilings are the other reader's */
    }
    struct carm_roofs *s = &m->roofs[m->nroofs++];
    memset(s, 0, sizeof *s);
    l->set = s;
    if (!get_name(&v[0], s->isa, sizeof s->isa) ||
        !get_name(&v[1], s->precision, sizeof s->precision) || !get_positive(&v[2], &threads) ||
        threads < 1.0 || threads > 1e6 || (double)(int)threads != threads ||
        !get_positive(&v[3], &s->clock_hz)) {
        return false;
    }
    s->threads = (int)threads;
    for (size_t i = 0; i + 1 < m->nroofs; i++) {
        const struct carm_roofs *r = &m->roofs[i];
        if (r->threads == s->threads && strcmp(r->isa, s->isa) == 0 &&
            strcmp(r->precision, s->precision) == 0) {
            return false;
        }
    }
    return read_items(l, &v[4], read_memory) && read_items(l, &v[5], read_compute) &&
           (!v[6].at || read_dram_peak(&v[6], &s->dram_peak));
}

struct carm_model *carm_fleet_light_parse(const char *text, size_t size)
{
    struct carm_fleet_span roofs;
    struct light l = {.model = NULL};
    char *cut = malloc(size + CARM_FLEET_CUT_MORE);
    if (!cut) {
        return NULL;
    }
    const size_t used = carm_fleet_cut(text, size, cut, &roofs);
    const bool good = used && roofs.at && carm_model_parse(cut, used, "", &l.model, NULL) == 0;
    free(cut);
    if (good && !read_items(&l, &roofs, read_set)) {
        carm_model_free(l.model);
        return NULL;
    }
    return l.model;
}
