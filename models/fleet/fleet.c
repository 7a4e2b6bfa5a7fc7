/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/fleet/fleet.h"

#include <math.h>
#include <search.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static int by_text(const void *a, const void *b)
{
    return strcmp(a, b);
}

const char *carm_fleet_keep(struct carm_fleet *fleet, const char *text)
{
    /* tsearch returns a pointer to its node's key, which is the string */
    const char *const *found = tfind(text, &fleet->strings, by_text);
    if (found) {
        return *found;
    }
    char *copy = strdup(text);
    found = copy ? tsearch(copy, &fleet->strings, by_text) : NULL;
    if (!found) {
        free(copy);
        return NULL;
    }
    return *found;
}

static void free_table(struct carm_fleet_table *table)
{
    free(table->columns);
    free(table->tests);
    free(table->judged);
}

void carm_fleet_free(struct carm_fleet *fleet)
{
    if (!fleet) {
        return;
    }
    for (size_t i = 0; i < fleet->nrows; i++) {
        free(fleet->rows[i].values);
    }
    for (size_t i = 0; i < fleet->ngroups; i++) {
        free_table(&fleet->groups[i].now);
        free_table(&fleet->groups[i].drift);
        free(fleet->groups[i].drifting);
        free(fleet->groups[i].nodes);
    }
    free(fleet->roofs);
    free(fleet->machines);
    free(fleet->rows);
    free(fleet->broken);
    free(fleet->groups);
    free(fleet->row_index);
    free(fleet->notes);
    tdestroy(fleet->strings, free);
    free(fleet);
}

const char *carm_fleet_verdict_name(enum carm_fleet_verdict verdict)
{
    static const char *const names[] = {"sound", "suspect", "small", "slow", "fast"};
    return names[verdict];
}

const char *carm_fleet_kind_name(const struct carm_fleet_column *column)
{
    return column->family       ? "level"
           : column->roof.clock ? "clock"
                                : carm_compare_kind_name(column->roof.kind);
}

char *carm_fleet_label(char *dst, size_t size, const struct carm_fleet_column *column, bool ascii)
{
    const struct carm_fleet_roof *r = &column->roof;
    char text[CARM_FLEET_LABEL_MAX];
    if (column->family) {
        char threads[32] = "";
        if (r->threads) {
            snprintf(threads, sizeof threads, ", %d thread%s", r->threads,
                     r->threads == 1 ? "" : "s");
        }
        snprintf(text, sizeof text, "%s%s (%zu roofs)", r->name, threads, column->nroofs);
    } else if (strncmp(r->name, "latency ", 8) == 0) { /* of no ISA */
        snprintf(text, sizeof text, "%s, %d thread%s", r->name, r->threads,
                 r->threads == 1 ? "" : "s");
    } else {
        snprintf(text, sizeof text, "%s %s, %d thread%s: %s", r->isa, r->precision, r->threads,
                 r->threads == 1 ? "" : "s", r->name);
    }
    return carm_text_clean(dst, size, text, ascii);
}

size_t carm_fleet_count(const struct carm_fleet *fleet, bool drift, enum carm_fleet_verdict verdict)
{
    size_t n = 0;
    for (size_t g = 0; g < fleet->ngroups; g++) {
        const struct carm_fleet_table *t = drift ? &fleet->groups[g].drift : &fleet->groups[g].now;
        for (size_t i = 0; i < t->n; i++) {
            n += t->judged[i].verdict == verdict;
        }
    }
    return n;
}

size_t carm_fleet_count_failed(const struct carm_fleet *fleet)
{
    size_t n = 0;
    for (size_t i = 0; i < fleet->nrows; i++) {
        n += fleet->rows[i].machine < 0;
    }
    return n;
}

enum {
    ODD = 20
}; /* groups of fewer nodes than a 20th are odd, not a type of node; chosen by
                    * hand */

ptrdiff_t carm_fleet_like(const struct carm_fleet *fleet, size_t group)
{
    const struct carm_fleet_group *g = &fleet->groups[group];
    for (size_t i = 0; i < group; i++) { /* groups are sorted by size, the largest first */
        if (strcmp(fleet->groups[i].machine.cpu, g->machine.cpu) == 0) {
            return fleet->groups[i].nnodes / ODD >= g->nnodes ? (ptrdiff_t)i : CARM_FLEET_NONE;
        }
    }
    return CARM_FLEET_NONE;
}

size_t carm_fleet_missing(const struct carm_fleet_group *group, size_t node, size_t *first)
{
    const struct carm_fleet_table *t = &group->now;
    size_t n = 0;
    for (size_t j = 0; j < t->ncolumns && group->nnodes >= ODD; j++) {
        const struct carm_fleet_column *c = &t->columns[j];
        const size_t have = c->centre.n + c->ndisturbed;
        const struct carm_fleet_test *test = carm_fleet_test_of(t, node, j);
        if (!c->family && isnan(test->share) && !test->disturbed &&
            have >= group->nnodes - group->nnodes / ODD) {
            *first = n++ ? *first : j;
        }
    }
    return n;
}

char *carm_fleet_memory_text(char *dst, size_t size, const struct carm_fleet_group *group)
{
    char low[CARM_TEXT_NUMBER_MAX];
    char high[CARM_TEXT_NUMBER_MAX];
    carm_text_bytes(low, sizeof low, group->memory_min);
    carm_text_bytes(high, sizeof high, group->memory_max);
    if (strcmp(low, high) == 0) {
        snprintf(dst, size, "%s", low);
    } else {
        snprintf(dst, size, "%s to %s", low, high);
    }
    return dst;
}

static int by_roof(const void *key, const void *value)
{
    const size_t roof = *(const size_t *)key;
    const struct carm_fleet_value *v = value;
    return (roof > v->roof) - (roof < v->roof);
}

const struct carm_fleet_value *carm_fleet_value_of(const struct carm_fleet_row *row, size_t roof)
{
    return row->nvalues ? bsearch(&roof, row->values, row->nvalues, sizeof *row->values, by_roof)
                        : NULL;
}

double carm_fleet_shift_p(const struct carm_fleet_column *column)
{
    const struct carm_fleet_centre *c = &column->centre;
    if (c->n < CARM_FLEET_FEW || column->roof.clock) {
        return 1.0;
    }
    /* the standard error of a median for normal errors; smallest spread as in models/fleet/judge.c */
    const double error = 1.2533 * fmax(c->sigma, 1e-4) / sqrt((double)c->n);
    return carm_fleet_p(c->median / error, c->n);
}

bool carm_fleet_shifted(const struct carm_fleet_table *drift, size_t column,
                        const struct carm_fleet_options *options)
{
    const struct carm_fleet_column *c = &drift->columns[column];
    return carm_fleet_shift_p(c) * (double)drift->ncolumns <= options->fdr &&
           fabs(expm1(c->centre.median)) >= options->min_share;
}

/* The deviation of a node's core clock from the group, for the clock that deviates most. */
static double clock_share(const struct carm_fleet_table *table, size_t node)
{
    double most = 0.0;
    for (size_t j = 0; j < table->ncolumns; j++) {
        const double share = carm_fleet_test_of(table, node, j)->share;
        if (table->columns[j].roof.clock && fabs(share) > fabs(most)) {
            most = share;
        }
    }
    return most;
}

static bool flags(const struct carm_fleet_table *table, size_t node, const char *family)
{
    for (size_t j = 0; j < table->ncolumns; j++) {
        if (carm_fleet_test_of(table, node, j)->flagged &&
            strcmp(table->columns[j].roof.family, family) == 0) {
            return true;
        }
    }
    return false;
}

const char *carm_fleet_hint(const struct carm_fleet_table *table, size_t node)
{
    const ptrdiff_t worst = table->judged[node].worst;
    const double share =
        worst >= 0 ? (double)carm_fleet_test_of(table, node, (size_t)worst)->share : 0.0;
    const bool core = flags(table, node, "compute") || flags(table, node, "L1");
    const bool dram = flags(table, node, "DRAM");
    const double clock = clock_share(table, node);
    if (!(share < 0.0)) {
        return "";
    }
    if (clock < -0.005 && clock < 0.5 * share) {
        return "its core clock is low, too: check power cap, governor, cooling";
    }
    if (core && dram) {
        return "core and memory: another load on the node, or a throttled package";
    }
    if (core) {
        return "the core itself: another load, firmware settings, SMT sibling";
    }
    if (dram) {
        return "memory: a missing or slower DIMM, NUMA settings, other tenants";
    }
    return flags(table, node, "L2") || flags(table, node, "L3")
               ? "caches: other tenants, cache partitioning, prefetcher settings"
               : "";
}
