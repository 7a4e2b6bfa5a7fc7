/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/theory.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/json_read.h"
#include "base/text.h"
#include "models/core.h"

/* bytes of the vectors, or the tile, of each of an entry's widths */
static const unsigned width_bytes[CARM_THEORY_WIDTHS] = {8, 16, 32, 64, 1024};

static const struct carm_theory_rates *rates_of(const struct carm_microarchitecture *m,
                                                unsigned vector_bytes)
{
    const unsigned bytes = vector_bytes == 4 ? 8 : vector_bytes; /* scalars have one width */
    for (size_t i = 0; i < CARM_THEORY_WIDTHS; i++) {
        if (width_bytes[i] == bytes) {
            return &m->widths[i];
        }
    }
    return NULL;
}

/* The bytes of the widest vectors, or tiles, that an entry has rates for. */
static unsigned widest_of(const struct carm_microarchitecture *m)
{
    size_t i = CARM_THEORY_WIDTHS - 1;
    while (i > 0 && !(m->widths[i].loads > 0.0)) {
        i--;
    }
    return width_bytes[i];
}

/* The first of the vendor's entries with these widest vectors. NULL = none, or their cores differ */
static const struct carm_microarchitecture *find_widest(const struct carm_theory_table *table,
                                                        const char *vendor, unsigned bytes)
{
    const struct carm_microarchitecture *first = NULL;
    for (size_t i = 0; i < table->n; i++) {
        const struct carm_microarchitecture *m = &table->entries[i];
        if (strcmp(m->vendor, vendor) != 0 || widest_of(m) != bytes) {
            continue;
        }
        if (first && (m->issue != first->issue || m->reorder != first->reorder)) {
            return NULL;
        }
        first = first ? first : m;
    }
    return first;
}

const struct carm_microarchitecture *carm_theory_find_cpu(const struct carm_theory_table *table,
                                                          const char *vendor, int family, int model,
                                                          unsigned guest_bytes)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct carm_microarchitecture *m = &table->entries[i];
        for (size_t j = 0; j < m->ncpuid && strcmp(m->vendor, vendor) == 0; j++) {
            const struct carm_theory_range *range = &m->cpuid[j];
            if (range->family == family && range->first <= model && model <= range->last) {
                return guest_bytes <= widest_of(m) ? m : find_widest(table, vendor, guest_bytes);
            }
        }
    }
    return NULL;
}

int carm_theory_find_name(const struct carm_theory_table *table, const char *name,
                          const struct carm_microarchitecture **entry, struct carm_err *err)
{
    char names[360] = "";
    size_t used = 0;
    bool cut = false;
    *entry = NULL;
    for (size_t i = 0; i < table->n; i++) {
        const char *one = table->entries[i].name;
        if (strcasecmp(one, name) == 0) {
            *entry = &table->entries[i];
            return 0;
        }
        cut = cut || used + strlen(one) + sizeof ", \"\"" > sizeof names;
        if (!cut) {
            used += (size_t)snprintf(names + used, sizeof names - used, "%s\"%s\"",
                                     used ? ", " : "", one);
        }
    }
    return carm_fail(err, CARM_EINVAL, "unknown microarchitecture \"%.40s\"; known are %s%s", name,
                     names, cut ? ", ..." : "");
}

const struct carm_theory_ports *carm_theory_ports_of(const struct carm_microarchitecture *m,
                                                     const char *word)
{
    for (size_t i = 0; m && i < m->nports; i++) {
        if (strcmp(m->ports[i].word, word) == 0) {
            return &m->ports[i];
        }
    }
    return NULL;
}

double carm_theory_l1(const struct carm_microarchitecture *m, unsigned vector_bytes, unsigned loads,
                      unsigned stores)
{
    const struct carm_theory_rates *w = rates_of(m, vector_bytes);
    const double both = (double)loads + (double)stores;
    if (!w || both == 0) {
        return 0;
    }
    if ((loads && w->loads == 0) || (stores && w->stores == 0)) {
        return 0;
    }
    if (loads && stores && w->accesses == 0) {
        return 0;
    }
    double cycles = 0;
    if (loads) {
        cycles = fmax(cycles, loads / w->loads);
    }
    if (stores) {
        cycles = fmax(cycles, stores / w->stores);
    }
    if (w->accesses > 0) {
        cycles = fmax(cycles, both / w->accesses);
    }
    return both * vector_bytes / cycles;
}

/* Flop/cycle per lane of a mixture of FMAs and adds: FMAs run on pipes that multiply. */
static double mixture(const struct carm_microarchitecture *m, const struct carm_theory_rates *w,
                      double fmas, double adds)
{
    double rate = fmin(w->fma / fmas, (w->add + w->mul_or_add) / adds);
    rate = fmin(rate, (w->mul + w->add + w->mul_or_add) / (fmas + adds));
    if (m->issue > 0) {
        rate = fmin(rate, m->issue / (fmas + adds));
    }
    return (2 * fmas + adds) * rate;
}

double carm_theory_flops(const struct carm_microarchitecture *m, unsigned vector_bytes,
                         unsigned lanes, const char *op)
{
    const struct carm_theory_rates *w = rates_of(m, vector_bytes);
    if (!w) {
        return 0;
    }
    const double multiply = w->mul + w->mul_or_add;
    const double add = w->add + w->mul_or_add;
    if (strcmp(op, "fma") == 0) {
        return 2 * w->fma * lanes;
    }
    if (strcmp(op, "mul") == 0) {
        return multiply * lanes;
    }
    if (strcmp(op, "add") == 0) {
        return add * lanes;
    }
    if (strcmp(op, "2fma+add") == 0) {
        return mixture(m, w, 2, 1) * lanes;
    }
    if (strcmp(op, "fma+add") == 0) {
        return fmax(mixture(m, w, 1, 1), mixture(m, w, 2, 1)) * lanes;
    }
    if (strcmp(op, "mad") != 0) {
        return 0;
    }
    /* instructions a cycle; only mad and mixtures use more pipes than rename may supply */
    const double rate = fmin(2 * fmin(multiply, add), w->mul + w->add + w->mul_or_add);
    return (m->issue > 0 ? fmin(rate, m->issue) : rate) * lanes;
}

/* Members of "others": precision and operation; "int" is any integer. */
static const char *const other_names[CARM_THEORY_OTHERS] = {
    "int add",      "int logic",    "int16 mul",  "int32 mul",   "int64 mul",
    "int8 dot",     "int16 dot",    "int64 ifma", "int8 popcnt", "int16 popcnt",
    "int32 popcnt", "int64 popcnt", "bf16 dot",   "fp16 fma",    "fp16 dot"};

double carm_theory_rate(const struct carm_microarchitecture *m, unsigned vector_bytes,
                        unsigned lanes, const char *precision, const char *op)
{
    const struct carm_theory_rates *w = rates_of(m, vector_bytes);
    if (strcmp(precision, "dp") == 0 || strcmp(precision, "sp") == 0) {
        return carm_theory_flops(m, vector_bytes, lanes, op);
    }
    const bool two = strcmp(op, "fma") == 0 || strcmp(op, "dot") == 0 || strcmp(op, "ifma") == 0;
    for (size_t i = 0; w && i < CARM_THEORY_OTHERS; i++) {
        const size_t word = strcspn(other_names[i], " ");
        const bool any = word == 3 && strncmp(precision, "int", 3) == 0;
        if ((any || (strlen(precision) == word && strncmp(precision, other_names[i], word) == 0)) &&
            strcmp(other_names[i] + word + 1, op) == 0) {
            return w->others[i] * lanes * (two ? 2 : 1);
        }
    }
    return 0;
}

#define SCHEMA "carm-microarchitectures/1"

enum {
    ENTRIES_MAX = 256,
    /* No core is as wide as this: a larger figure is a typing error. */
    RATE_MOST = 16,
    CPUID_MOST = 0xfff, /* families end at 0x10e, models at 0xff */
};

static const char *const width_names[CARM_THEORY_WIDTHS] = {"scalar", "16", "32", "64", "tile"};

/* A rate that may be absent or null: 0 then. */
static double read_rate(struct carm_jread *r, json_t *obj, const char *name, bool zero)
{
    json_t *v = json_object_get(obj, name);
    if (!v || json_is_null(v)) {
        return 0;
    }
    double d = carm_jread_nonnegative(r, obj, name);
    if (d == 0 && !zero) {
        carm_jread_bad(r, name, "is 0; leave out what is not known");
    } else if (d > RATE_MOST) {
        carm_jread_bad(r, name, "is %g, more than the %d of any core", d, RATE_MOST);
    }
    return d;
}

/* The size of a queue; 0 where it is absent. */
static double read_size(struct carm_jread *r, json_t *obj, const char *name)
{
    static const double most = 4096; /* eight times the table's largest, Golden Cove's 512 */
    const double d = json_object_get(obj, name) ? carm_jread_nonnegative(r, obj, name) : 0;
    if (d > most) {
        carm_jread_bad(r, name, "is %g, more than the %g of any core", d, most);
    }
    return d;
}

static void read_pipes(struct carm_jread *r, json_t *obj, struct carm_theory_rates *w)
{
    static const char *const known[] = {"mul", "add", "mul_or_add"};
    json_t *pipes = carm_jread_object(r, obj, "pipes");
    size_t old = carm_jread_enter(r, ".pipes");
    if (pipes) {
        carm_jread_only(r, pipes, known, sizeof known / sizeof *known);
        /* All three are required: a missing one would be taken as no pipe. */
        w->mul = carm_jread_nonnegative(r, pipes, "mul");
        w->add = carm_jread_nonnegative(r, pipes, "add");
        w->mul_or_add = carm_jread_nonnegative(r, pipes, "mul_or_add");
        const double all = w->mul + w->add + w->mul_or_add;
        if (!(all > 0) || all > RATE_MOST) {
            carm_jread_bad(r, NULL, "adds up to %g, outside 0..%d", all, RATE_MOST);
        }
    }
    carm_jread_leave(r, old);
}

static void read_others(struct carm_jread *r, json_t *obj, double issue,
                        struct carm_theory_rates *w)
{
    json_t *others = carm_jread_object(r, obj, "others");
    size_t old = carm_jread_enter(r, ".others");
    carm_jread_only(r, others, other_names, CARM_THEORY_OTHERS);
    for (size_t i = 0; others && i < CARM_THEORY_OTHERS; i++) {
        w->others[i] = read_rate(r, others, other_names[i], false);
        if (issue > 0 && w->others[i] > issue) {
            carm_jread_bad(r, other_names[i], "is above the issue width of %g", issue);
        }
    }
    carm_jread_leave(r, old);
}

static void read_width(struct carm_jread *r, json_t *obj, double issue, struct carm_theory_rates *w)
{
    static const char *const known[] = {"loads", "stores", "accesses", "fma", "pipes", "others"};
    carm_jread_only(r, obj, known, sizeof known / sizeof *known);
    w->loads = read_rate(r, obj, "loads", false);
    w->stores = read_rate(r, obj, "stores", false);
    w->accesses = read_rate(r, obj, "accesses", false);
    w->fma = read_rate(r, obj, "fma", true);
    if (json_object_get(obj, "pipes")) {
        read_pipes(r, obj, w);
    }
    if (json_object_get(obj, "others")) {
        read_others(r, obj, issue, w);
    }
    if (w->accesses > 0 && w->accesses < fmax(w->loads, w->stores)) {
        carm_jread_bad(r, "accesses", "is %g, less than its loads or stores alone", w->accesses);
    }
    if (issue > 0 && fmax(fmax(w->loads, w->stores), fmax(w->accesses, w->fma)) > issue) {
        carm_jread_bad(r, NULL, "has a rate above the issue width of %g", issue);
    }
    if (w->fma > w->mul + w->mul_or_add && json_object_get(obj, "pipes")) {
        carm_jread_bad(r, "fma", "is %g, more than the pipes that multiply", w->fma);
    }
}

static void read_widths(struct carm_jread *r, json_t *obj, struct carm_microarchitecture *m)
{
    json_t *widths = carm_jread_object(r, obj, "widths");
    size_t old = carm_jread_enter(r, ".widths");
    carm_jread_only(r, widths, width_names, CARM_THEORY_WIDTHS);
    for (size_t i = 0; widths && i < CARM_THEORY_WIDTHS; i++) {
        if (!json_object_get(widths, width_names[i])) {
            continue;
        }
        json_t *width = carm_jread_object(r, widths, width_names[i]);
        size_t here = carm_jread_enter(r, ".%s", width_names[i]);
        read_width(r, width, m->issue, &m->widths[i]);
        carm_jread_leave(r, here);
    }
    carm_jread_leave(r, old);
}

static void read_models(struct carm_jread *r, json_t *obj, struct carm_microarchitecture *m)
{
    static const char *const known[] = {"family", "models"};
    carm_jread_only(r, obj, known, sizeof known / sizeof *known);
    uint32_t family = 0, same = 0;
    carm_jread_range(r, carm_jread_member(r, obj, "family"), "family", CPUID_MOST, &family, &same);
    if (same != family) {
        carm_jread_bad(r, "family", "is a range");
    }
    json_t *models = carm_jread_member(r, obj, "models");
    if (!json_is_array(models) || json_array_size(models) == 0) {
        carm_jread_bad(r, "models", "is not an array of at least one");
    }
    for (size_t i = 0; i < json_array_size(models) && !r->rc; i++) {
        if (m->ncpuid == CARM_THEORY_RANGES_MAX) {
            carm_jread_bad(r, "models", "brings this entry to more than %d models",
                           CARM_THEORY_RANGES_MAX);
            return;
        }
        struct carm_theory_range *range = &m->cpuid[m->ncpuid++];
        size_t old = carm_jread_enter(r, ".models[%zu]", i);
        uint32_t first = 0, last = 0;
        carm_jread_range(r, json_array_get(models, i), NULL, CPUID_MOST, &first, &last);
        *range = (struct carm_theory_range){(int)family, (int)first, (int)last};
        carm_jread_leave(r, old);
    }
}

static void read_cpuid(struct carm_jread *r, json_t *obj, struct carm_microarchitecture *m)
{
    json_t *cpuid = carm_jread_member(r, obj, "cpuid");
    if (!json_is_array(cpuid)) {
        carm_jread_bad(r, "cpuid", "is not an array");
    }
    for (size_t i = 0; i < json_array_size(cpuid) && !r->rc; i++) {
        size_t old = carm_jread_enter(r, ".cpuid[%zu]", i);
        json_t *one = json_array_get(cpuid, i);
        if (!json_is_object(one)) {
            carm_jread_bad(r, NULL, "is not an object");
        } else {
            read_models(r, one, m);
        }
        carm_jread_leave(r, old);
    }
}

static void read_sources(struct carm_jread *r, json_t *obj, struct carm_microarchitecture *m)
{
    json_t *sources = carm_jread_member(r, obj, "sources");
    size_t n = json_array_size(sources);
    if (!json_is_array(sources) || n == 0 || n > CARM_THEORY_SOURCES_MAX) {
        carm_jread_bad(r, "sources", "is not an array of 1 to %d texts", CARM_THEORY_SOURCES_MAX);
    }
    for (size_t i = 0; i < n && !r->rc; i++) {
        size_t old = carm_jread_enter(r, ".sources[%zu]", i);
        carm_jread_copy(r, json_array_get(sources, i), NULL, m->sources[i], CARM_THEORY_SOURCE_MAX);
        if (!*m->sources[i]) {
            carm_jread_bad(r, NULL, "is empty");
        }
        carm_jread_leave(r, old);
    }
    m->nsources = n;
}

/* "div avx2 dp": [latency, throughput], where null = not known; kinds as in models/core.h. */
static void read_core(struct carm_jread *r, json_t *obj, struct carm_microarchitecture *m)
{
    const char *key;
    json_t *pair;
    const size_t old = carm_jread_enter(r, ".core");
    json_object_foreach(obj, key, pair)
    {
        enum carm_core_kind kind;
        if (m->ncore == CARM_THEORY_CORE_MAX) {
            carm_jread_bad(r, NULL, "has more than %d members", CARM_THEORY_CORE_MAX);
            break;
        }
        struct carm_theory_core *c = &m->core[m->ncore++];
        if (sscanf(key, "%23s %11s %7s", c->kind, c->isa, c->precision) < 1 ||
            !carm_core_kind_parse(c->kind, &kind)) {
            carm_jread_bad(r, NULL, "has \"%.60s\", which begins with no kind of model.json's core",
                           key);
        }
        double *const to[] = {&c->latency, &c->throughput};
        if (!json_is_array(pair) || json_array_size(pair) != 2) {
            carm_jread_bad(r, NULL, "\"%.60s\" is not [latency, throughput]", key);
        }
        for (size_t i = 0; i < 2 && !r->rc; i++) {
            json_t *v = json_array_get(pair, i);
            *to[i] = json_number_value(v);
            if (!json_is_null(v) && !(json_is_number(v) && *to[i] > 0.0 && *to[i] < 10000.0)) {
                carm_jread_bad(r, NULL, "\"%.60s\" has no positive number of cycles", key);
            }
        }
    }
    carm_jread_leave(r, old);
}

/* "byte-shuffle": [pipes, latency], where "" and null are not known. */
static void read_ports(struct carm_jread *r, json_t *obj, struct carm_microarchitecture *m)
{
    static const double most = 100.0; /* cycles; no instruction of one pipe takes as many */
    const char *key;
    json_t *pair;
    const size_t old = carm_jread_enter(r, ".ports");
    json_object_foreach(obj, key, pair)
    {
        const char *pipes = json_string_value(json_array_get(pair, 0));
        json_t *latency = json_array_get(pair, 1);
        struct carm_theory_ports *p = &m->ports[m->nports];
        if (m->nports == CARM_THEORY_PORTS_MAX || strlen(key) >= sizeof p->word) {
            carm_jread_bad(r, NULL, "has more than %d members, or a longer word than %zu",
                           CARM_THEORY_PORTS_MAX, sizeof p->word - 1);
            break;
        }
        if (json_array_size(pair) != 2 || !pipes || strlen(pipes) >= sizeof p->pipes ||
            !(json_is_null(latency) ||
              (json_number_value(latency) > 0.0 && json_number_value(latency) < most))) {
            carm_jread_bad(r, NULL, "\"%.24s\" is not [up to 8 pipes, latency]", key);
            break;
        }
        snprintf(p->word, sizeof p->word, "%s", key);
        snprintf(p->pipes, sizeof p->pipes, "%s", pipes);
        p->latency = json_number_value(latency);
        m->nports++;
    }
    carm_jread_leave(r, old);
}

static void read_entry(struct carm_jread *r, json_t *obj, struct carm_microarchitecture *m)
{
    static const char *const known[] = {
        "name",    "vendor", "issue",     "reorder", "vector_queue",     "cpuid", "widths", "core",
        "sources", "note",   "code_line", "ports",   "dispatch_integers"};
    carm_jread_only(r, obj, known, sizeof known / sizeof *known);
    carm_jread_name(r, obj, "name", m->name, sizeof m->name);
    if (carm_text_has_controls(m->name)) { /* names go to terminals */
        carm_jread_bad(r, "name", "has a control character");
    }
    carm_jread_name(r, obj, "vendor", m->vendor, sizeof m->vendor);
    m->issue = read_rate(r, obj, "issue", false);
    m->reorder = read_size(r, obj, "reorder");
    m->vector_queue = read_size(r, obj, "vector_queue");
    m->code_line = read_size(r, obj, "code_line");
    m->dispatch_integers = read_size(r, obj, "dispatch_integers");
    read_cpuid(r, obj, m);
    read_widths(r, obj, m);
    if (json_object_get(obj, "core")) {
        read_core(r, carm_jread_object(r, obj, "core"), m);
    }
    if (json_object_get(obj, "ports")) {
        read_ports(r, carm_jread_object(r, obj, "ports"), m);
    }
    read_sources(r, obj, m);
    carm_jread_copy(r, json_object_get(obj, "note"), "note", m->note, sizeof m->note);
}

/* Whether an entry repeats the name or the CPUID of one before it. */
static void check_unique(struct carm_jread *r, const struct carm_microarchitecture *m,
                         const struct carm_microarchitecture *before)
{
    if (strcasecmp(m->name, before->name) == 0) {
        carm_jread_bad(r, "name", "repeats \"%s\"", before->name);
    }
    if (strcmp(m->vendor, before->vendor) != 0) {
        return;
    }
    for (size_t i = 0; i < m->ncpuid; i++) {
        for (size_t j = 0; j < before->ncpuid; j++) {
            const struct carm_theory_range *a = &m->cpuid[i];
            const struct carm_theory_range *b = &before->cpuid[j];
            if (a->family == b->family && a->first <= b->last && b->first <= a->last) {
                carm_jread_bad(r, "cpuid", "claims family 0x%X model 0x%X, as \"%s\" does",
                               (unsigned)a->family,
                               (unsigned)(a->first > b->first ? a->first : b->first), before->name);
            }
        }
    }
}

static void read_table(struct carm_jread *r, json_t *root, struct carm_theory_table *t)
{
    char schema[64] = "";
    carm_jread_text(r, root, "schema", schema, sizeof schema);
    if (strcmp(schema, SCHEMA) != 0) {
        carm_jread_bad(r, "schema", "is \"%s\"; this carm reads \"" SCHEMA "\"", schema);
    }
    json_t *entries = carm_jread_array(r, root, "microarchitectures", ENTRIES_MAX,
                                       sizeof *t->entries, &t->entries, &t->n);
    if (t->n == 0) {
        carm_jread_bad(r, "microarchitectures", "has no entries");
    }
    for (size_t i = 0; i < t->n && !r->rc; i++) {
        size_t old = carm_jread_enter(r, "microarchitectures[%zu]", i);
        read_entry(r, json_array_get(entries, i), &t->entries[i]);
        for (size_t j = 0; j < i; j++) {
            check_unique(r, &t->entries[i], &t->entries[j]);
        }
        carm_jread_leave(r, old);
    }
}

int carm_theory_open(const char *text, size_t size_bytes, const char *name,
                     struct carm_theory_table **table, struct carm_err *err)
{
    struct carm_jread r = {.file = name, .err = err};
    *table = NULL;
    json_t *root = carm_jread_parse(&r, text, size_bytes);
    if (!root) {
        return r.rc;
    }
    struct carm_theory_table *t = calloc(1, sizeof *t);
    if (!t) {
        r.rc = carm_fail(err, CARM_ENOMEM, "out of memory while reading %.200s", name);
    } else {
        read_table(&r, root, t);
    }
    json_decref(root);
    if (r.rc) {
        carm_theory_close(t);
        return r.rc;
    }
    *table = t;
    return 0;
}

void carm_theory_close(struct carm_theory_table *table)
{
    if (!table) {
        return;
    }
    free(table->entries);
    free(table);
}
