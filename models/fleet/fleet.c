/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/fleet/fleet.h"

#include <stdlib.h>
#include <string.h>

#include "models/fleet/item.h"
#include "models/fleet/pool.h"

const char *carm_fleet_verdict_name(enum carm_fleet_verdict verdict)
{
    static const char *const names[] = {"sound", "suspect", "small", "slow", "fast"};
    return names[verdict];
}

/* ---- the roofs' order --------------------------------------------------------------------------- */

/* Place of a text among known ones; unknown ones come after, by name. */
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
    static const char *const isas[] = {"scalar", "sse", "avx", "avx2", "avx512", NULL};
    static const char *const families[] = {"L1", "L2", "L3", "L4", "DRAM", "compute", NULL};
    static const char *const names[] = {"2:1", "1:1", "1:0", "0:1", "update", "nt", "DRAM peak",
                                        "mad", "fma", "add", "mul", "div",    NULL};
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

/* A roof and where it stood. */
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

/* ---- release ------------------------------------------------------------------------------------ */

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
    carm_fleet_pool_close(fleet->strings);
    free(fleet);
}
