/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/fleet/take.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "models/ceilings.h"
#include "models/latency.h"

enum { ROOFS_MAX = 8192 }; /* every ISA, precision and 20 numbers of threads make 6000 */

struct taker {
    struct carm_fleet *fleet;
    struct carm_fleet_row *row;
    const struct carm_model *model;
    const struct carm_roofs *set;
    size_t next; /* index of the next roof when this model has the roofs of the model before it */
    int rc;
    struct carm_err *err;
};

static const char *keep(struct taker *t, const char *text)
{
    const char *kept = carm_fleet_keep(t->fleet, text);
    if (!kept && !t->rc) {
        t->rc = carm_fail(t->err, CARM_ENOMEM, "not enough memory for a fleet");
    }
    return kept;
}

/* Equal texts are one pointer. */
static bool same_roof(const struct carm_fleet_roof *a, const struct carm_fleet_roof *b)
{
    return a->name == b->name && a->isa == b->isa && a->precision == b->precision &&
           a->threads == b->threads && a->kind == b->kind && a->clock == b->clock;
}

static size_t find_roof(struct taker *t, const struct carm_fleet_roof *roof)
{
    struct carm_fleet *f = t->fleet;
    for (size_t k = 0; k < f->nroofs; k++) {
        const size_t i = (t->next + k) % f->nroofs;
        if (same_roof(&f->roofs[i], roof)) {
            f->roofs[i].noise = roof->noise > f->roofs[i].noise ? roof->noise : f->roofs[i].noise;
            t->next = i + 1;
            return i;
        }
    }
    if (f->nroofs == ROOFS_MAX) {
        t->rc =
            carm_fail(t->err, CARM_EFORMAT,
                      "brings the fleet to more than %d different roofs, the most that it may have",
                      ROOFS_MAX);
    } else {
        t->rc = carm_array_grow(&f->roofs, &f->roofs_room, f->nroofs, 1, sizeof *f->roofs,
                                "a fleet's roofs", t->err);
    }
    if (t->rc) {
        return 0;
    }
    f->roofs[f->nroofs] = *roof;
    t->next = f->nroofs + 1;
    return f->nroofs++;
}

/* half  half of the 95% interval, same unit as the rate */
static void take_value(struct taker *t, struct carm_fleet_roof *roof, const char *name,
                       const char *family, double rate, double half, bool disturbed)
{
    struct carm_fleet_row *row = t->row;
    if (t->rc || !(rate > 0.0)) {
        return;
    }
    roof->isa = keep(t, t->set->isa);
    roof->precision = keep(t, t->set->precision);
    roof->threads = t->set->threads;
    roof->name = keep(t, name);
    roof->family = keep(t, family);
    const size_t at = t->rc ? 0 : find_roof(t, roof);
    t->rc = t->rc ? t->rc
                  : carm_array_grow(&row->values, &row->values_room, row->nvalues, 1,
                                    sizeof *row->values, "a fleet's roofs", t->err);
    if (!t->rc) {
        row->values[row->nvalues++] = (struct carm_fleet_value){
            (uint32_t)at, (float)rate, (float)(half / (1.959964 * rate)), disturbed};
    }
}

static enum carm_compare_noise dram_noise(int threads)
{
    return threads > 1 ? CARM_COMPARE_DRAM_SEVERAL : CARM_COMPARE_DRAM;
}

/* As in models/compare.c: the level next to memory is shared, unless it is the only one. */
static enum carm_compare_noise level_noise(const struct taker *t, const char *level)
{
    const struct carm_model *m = t->model;
    size_t i = 0;
    while (i < m->nlevels && strcmp(m->levels[i].level, level) != 0) {
        i++;
    }
    if (i + 1 >= m->nlevels) {
        return dram_noise(t->set->threads);
    }
    return i == 0                ? CARM_COMPARE_CORE
           : i + 2 == m->nlevels ? CARM_COMPARE_SHARED
                                 : CARM_COMPARE_PRIVATE;
}

static void take_memory(struct taker *t)
{
    for (size_t i = 0; i < t->set->nmemory; i++) {
        const struct carm_memory_roof *x = &t->set->memory[i];
        char name[2 * CARM_NAME_MAX];
        struct carm_fleet_roof roof = {
            .kind = CARM_COMPARE_MEMORY, .unit = "byte/s", .noise = level_noise(t, x->level)};
        snprintf(name, sizeof name, "%s %s", x->level, x->ldst);
        take_value(t, &roof, name, x->level, x->bandwidth, (x->ci95.hi - x->ci95.lo) / 2.0,
                   x->disturbed);
    }
}

static void take_compute(struct taker *t)
{
    for (size_t i = 0; i < t->set->ncompute; i++) {
        const struct carm_compute_roof *x = &t->set->compute[i];
        struct carm_fleet_roof roof = {.kind = CARM_COMPARE_COMPUTE,
                                       .unit = carm_precision_rate(t->set->precision),
                                       .noise = CARM_COMPARE_CORE};
        take_value(t, &roof, x->op, "compute", x->rate, (x->ci95.hi - x->ci95.lo) / 2.0,
                   x->disturbed);
    }
}

/* Adds the DRAM peak, the best of several codes. It has no interval, and is disturbed if the roof of its code is. */
static void take_dram_peak(struct taker *t)
{
    const struct carm_dram_peak *peak = &t->set->dram_peak;
    struct carm_fleet_roof roof = {
        .kind = CARM_COMPARE_DRAM_PEAK, .unit = "byte/s", .noise = dram_noise(t->set->threads)};
    double half = 0.0;
    bool disturbed = false;
    for (size_t i = 0; i < t->set->nmemory; i++) {
        const struct carm_memory_roof *x = &t->set->memory[i];
        if (strcmp(x->code, peak->code) == 0 && roof.noise == level_noise(t, x->level)) {
            half = peak->bandwidth * (x->ci95.hi - x->ci95.lo) / (2.0 * x->bandwidth);
            disturbed = x->disturbed;
        }
    }
    take_value(t, &roof, "DRAM peak", "DRAM", peak->bandwidth, half, disturbed);
}

static void take_ceilings(struct taker *t)
{
    for (size_t i = 0; i < t->set->nceilings; i++) {
        const struct carm_ceiling_roof *x = &t->set->ceilings[i];
        const bool bytes = x->group == CARM_CEILING_MEMORY || x->group == CARM_CEILING_TRAFFIC;
        char name[2 * CARM_NAME_MAX];
        struct carm_fleet_roof roof = {.kind = CARM_COMPARE_CEILING,
                                       .unit = bytes ? "byte/s" : "flop/s",
                                       .noise = bytes ? dram_noise(x->threads) : CARM_COMPARE_CORE};
        snprintf(name, sizeof name, "%s: %s", carm_ceiling_group_name(x->group), x->name);
        take_value(t, &roof, name, "", x->rate, (x->ci95.hi - x->ci95.lo) / 2.0, x->disturbed);
    }
}

/* Takes the latencies with this machine's page size, as loads/s of one chain, so that larger is
 * better, as for all roofs. Latencies have no ISA: they are added to the first set of one
 * thread. */
static void take_latencies(struct taker *t)
{
    const struct carm_model *m = t->model;
    for (size_t i = 0; i < m->nlatency; i++) {
        const struct carm_latency *x = &m->latency[i];
        char name[2 * CARM_NAME_MAX];
        struct carm_fleet_roof roof = {
            .kind = CARM_COMPARE_MEMORY, .unit = "load/s", .noise = level_noise(t, x->level)};
        if (roof.noise ==
            CARM_COMPARE_SHARED) { /* the latency of a shared level varies between builds like the latency of memory */
            roof.noise = CARM_COMPARE_DRAM;
        }
        if (x->order != CARM_LATENCY_RANDOM || x->page_bytes != m->machine.page_bytes ||
            !(x->seconds > 0.0) || !(x->ci95.lo > 0.0)) {
            continue;
        }
        snprintf(name, sizeof name, "latency %s", x->level);
        take_value(t, &roof, name, "latency", 1.0 / x->seconds,
                   (1.0 / x->ci95.lo - 1.0 / x->ci95.hi) / 2.0, x->disturbed);
    }
}

/* "32K 1M 32M": sizes; "/2" behind the size of a cache that several cores share */
static void name_caches(const struct carm_machine *m, char *dst, size_t size)
{
    *dst = '\0';
    for (size_t i = 0; i < m->ncaches; i++) {
        const struct carm_cache *c = &m->caches[i];
        const bool mega = c->size_bytes >= 1 << 20 && c->size_bytes % (1 << 20) == 0;
        const double units = (double)c->size_bytes / (mega ? 1 << 20 : 1 << 10);
        char share[32] = "";
        if (c->shared_by > 1) {
            snprintf(share, sizeof share, "/%d", c->shared_by);
        }
        carm_text_list(dst, size, ", ", "L%d %.6g %s%s", c->level, units, mega ? "MiB" : "KiB",
                       share);
    }
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Lists ISAs and precisions: "avx2 dp, avx512 dp", each once, sorted */
static void name_isas(struct taker *t, char *dst, size_t size)
{
    const struct carm_model *m = t->model;
    const char **names = calloc(m->nroofs + 1, sizeof *names);
    *dst = '\0';
    if (!names) {
        t->rc = carm_fail(t->err, CARM_ENOMEM, "not enough memory for a fleet");
        return;
    }
    for (size_t i = 0; i < m->nroofs && !t->rc; i++) {
        char name[2 * CARM_NAME_MAX];
        snprintf(name, sizeof name, "%s %s", m->roofs[i].isa, m->roofs[i].precision);
        names[i] = keep(t, name);
    }
    if (!t->rc) {
        qsort(names, m->nroofs, sizeof *names, by_text);
        for (size_t i = 0; i < m->nroofs; i++) {
            if (i == 0 || names[i] != names[i - 1]) {
                carm_text_list(dst, size, ", ", "%s", names[i]);
            }
        }
    }
    free(names);
}

static void take_machine(struct taker *t)
{
    const struct carm_machine *m = &t->model->machine;
    struct carm_fleet *f = t->fleet;
    char caches[CARM_TEXT_MAX];
    char isas[CARM_TEXT_MAX];
    char key[4 * CARM_TEXT_MAX];
    name_caches(m, caches, sizeof caches);
    name_isas(t, isas, sizeof isas);
    snprintf(key, sizeof key, "%s\n%s\n%s\n%s\n%s\n%s\n%d\n%d\n%llu\n%d", m->cpu, caches,
             m->hypervisor, m->on, m->layout, isas, m->cores, m->threads,
             (unsigned long long)m->page_bytes, t->model->config.quick);
    struct carm_fleet_machine machine = {.key = keep(t, key),
                                         .cpu = keep(t, m->cpu),
                                         .hypervisor = keep(t, m->hypervisor),
                                         .caches = keep(t, caches),
                                         .isas = keep(t, isas),
                                         .cores = m->cores,
                                         .threads = m->threads,
                                         .page_bytes = m->page_bytes,
                                         .quick = t->model->config.quick};
    if (t->rc) {
        return;
    }
    size_t i = 0;
    while (i < f->nmachines && f->machines[i].key != machine.key) {
        i++;
    }
    if (i == f->nmachines) {
        t->rc = carm_array_grow(&f->machines, &f->machines_room, i, 1, sizeof *f->machines,
                                "a fleet's machines", t->err);
        if (t->rc) {
            return;
        }
        f->machines[f->nmachines++] = machine;
    }
    t->row->machine = (ptrdiff_t)i;
    t->row->memory_bytes = m->memory_bytes;
}

int carm_fleet_take_model(struct carm_fleet *fleet, const struct carm_model *model, bool ceilings,
                          struct carm_fleet_row *row, struct carm_err *err)
{
    struct taker t = {.fleet = fleet, .row = row, .model = model, .err = err};
    bool latencies = false;
    take_machine(&t);
    for (size_t i = 0; i < model->nroofs && !t.rc; i++) {
        struct carm_fleet_roof clock = {.clock = true, .unit = "Hz", .noise = CARM_COMPARE_CORE};
        t.set = &model->roofs[i];
        take_memory(&t);
        take_compute(&t);
        take_dram_peak(&t);
        if (t.set->threads == 1 && !latencies) {
            take_latencies(&t);
            latencies = true;
        }
        if (ceilings) {
            take_ceilings(&t);
        }
        take_value(&t, &clock, "core clock", "", t.set->clock_hz, 0.0, false);
    }
    if (t.rc) {
        free(row->values);
        row->values = NULL;
        row->nvalues = 0;
        row->machine = CARM_FLEET_NONE;
    }
    return t.rc;
}

/* Orders texts by their place in a list; unknown texts come last, by name. */
static int by_list(const char *a, const char *b, const char *const *list)
{
    size_t i = 0;
    size_t k = 0;
    if (strcmp(a, b) == 0) {
        return 0;
    }
    while (list[i] && strcmp(list[i], a) != 0) {
        i++;
    }
    while (list[k] && strcmp(list[k], b) != 0) {
        k++;
    }
    return i != k ? (i > k) - (i < k) : strcmp(a, b);
}

static const char *behind_level(const struct carm_fleet_roof *roof)
{
    const size_t n = strlen(roof->family);
    return roof->kind == CARM_COMPARE_MEMORY && !roof->clock && roof->name[n] ? roof->name + n + 1
                                                                              : roof->name;
}

static int by_set(const void *a, const void *b)
{
    static const char *const isas[] = {"scalar", "sse", "avx", "avx2", "avx512", "amx", NULL};
    static const char *const families[] = {"L1",   "L2",      "L3",      "L4",
                                           "DRAM", "latency", "compute", NULL};
    static const char *const names[] = {"2:1",       "1:1", "1:0",  "0:1",     "update",   "nt",
                                        "DRAM peak", "mad", "fma",  "fma+add", "2fma+add", "add",
                                        "mul",       "div", "sqrt", NULL};
    const struct carm_fleet_roof *x = a;
    const struct carm_fleet_roof *y = b;
    int d = by_list(x->isa, y->isa, isas);
    d = d ? d : strcmp(x->precision, y->precision);
    d = d ? d : (x->threads > y->threads) - (x->threads < y->threads);
    d = d ? d : (int)x->clock - (int)y->clock;
    d = d ? d : (x->kind == CARM_COMPARE_CEILING) - (y->kind == CARM_COMPARE_CEILING);
    d = d ? d : by_list(x->family, y->family, families);
    d = d ? d : (int)x->kind - (int)y->kind;
    return d ? d : by_list(behind_level(x), behind_level(y), names);
}

static int by_roof(const void *a, const void *b)
{
    const struct carm_fleet_value *x = a;
    const struct carm_fleet_value *y = b;
    return (x->roof > y->roof) - (x->roof < y->roof);
}

/* A roof and its previous index. */
struct place {
    struct carm_fleet_roof roof;
    uint32_t old;
};

int carm_fleet_order_roofs(struct carm_fleet *fleet, struct carm_err *err)
{
    const size_t n = fleet->nroofs;
    struct place *places = calloc(n + 1, sizeof *places);
    uint32_t *now = calloc(n + 1, sizeof *now);
    if (!places || !now) {
        free(places);
        free(now);
        return carm_fail(err, CARM_ENOMEM, "not enough memory for a fleet's roofs");
    }
    for (size_t i = 0; i < n; i++) {
        places[i] = (struct place){fleet->roofs[i], (uint32_t)i};
    }
    qsort(places, n, sizeof *places, by_set);
    for (size_t i = 0; i < n; i++) {
        fleet->roofs[i] = places[i].roof;
        fleet->roofs[i].index = (uint32_t)i;
        now[places[i].old] = (uint32_t)i;
    }
    for (size_t i = 0; i < fleet->nrows; i++) {
        struct carm_fleet_row *row = &fleet->rows[i];
        for (size_t k = 0; k < row->nvalues; k++) {
            row->values[k].roof = now[row->values[k].roof];
        }
        if (row->nvalues) {
            qsort(row->values, row->nvalues, sizeof *row->values, by_roof);
        }
    }
    free(places);
    free(now);
    return 0;
}
