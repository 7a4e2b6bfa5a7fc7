/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/builtin/plan.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/assets.h"
#include "models/winners.h"
#include "validation/roofs/config.h"
#include "validation/roofs/plan.h"
#include "validation/validate/plan.h"

struct named {
    char name[CARM_CODE_NAME_MAX];
    struct carm_code_spec spec;
};

struct list {
    struct named *items;
    size_t n, room;
};

static int add(struct list *list, const struct carm_code_spec *specs, size_t n,
               struct carm_err *err)
{
    const int rc = carm_array_grow(&list->items, &list->room, list->n, n, sizeof *list->items,
                                   "the test codes", err);
    if (rc) {
        return rc;
    }
    for (size_t i = 0; i < n; i++) {
        struct named *item = &list->items[list->n++];
        item->spec = specs[i];
        carm_code_name(&specs[i], item->name);
    }
    return 0;
}

static int add_build(struct list *list, const struct carm_build_words *words,
                     const struct carm_cpu *cpu, struct carm_err *err)
{
    struct carm_build_config config;
    size_t nroofs = 0;
    int rc = carm_build_configure_codes(&config, words, cpu, err);
    if (rc) {
        return rc;
    }
    struct carm_code_spec *specs = calloc(carm_build_plan_room(&config), sizeof *specs);
    if (!specs) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to plan the test codes");
    }
    const size_t n = carm_build_plan_specs(&config, cpu, specs, &nroofs);
    rc = add(list, specs, n, err);
    free(specs);
    return rc;
}

/* Adds the codes of the default builds on a CPU with an ISA and all narrower ones. */
static int add_builds(struct list *list, enum carm_isa widest, bool fma, struct carm_err *err)
{
    static const struct carm_build_words words[] = {
        {.ceilings = ""},
        {.ceilings = "", .quick = ""},
        {.ceilings = "traffic"},
        {.ceilings = "traffic", .quick = ""},
        {.isa = "all", .precision = "dp,sp"},
    };
    struct carm_cpu cpu = {.fma = fma};
    int rc = 0;
    for (int i = CARM_SCALAR; i <= (int)widest; i++) {
        cpu.isa[i] = true;
    }
    for (size_t i = 0; i < sizeof words / sizeof *words && !rc; i++) {
        rc = add_build(list, &words[i], &cpu, err);
    }
    return rc;
}

/* Whether an operation can be the fastest of an ISA, which a validation uses. With fma: fma, or mad on
 * cores whose additions have separate ports. Without fma (avx by definition): mad; or, on cores where
 * add and mul use all ports, any of the three, by noise. */
static bool may_be_fastest(enum carm_isa isa, enum carm_op op)
{
    return op == CARM_MAD || (op == CARM_FMA && carm_isa_has_op(isa, CARM_DP, op)) ||
           (isa == CARM_AVX && (op == CARM_ADD || op == CARM_MUL));
}

/* Adds the codes of the validation of one target, with the mix of a default build. */
static int add_target(struct list *list, const struct carm_plan_target *target,
                      struct carm_err *err)
{
    const struct carm_mix mix = {.loads = 2, .stores = 1};
    int rc = 0;
    for (size_t grid = 0; grid < CARM_GRID_POINTS && !rc; grid++) {
        struct carm_code_spec specs[CARM_SCHEDULES_MAX];
        size_t n = 0;
        rc = carm_validate_add_schedules(target, &mix, grid, false, specs, &n, err);
        rc = rc ? rc : add(list, specs, n, err);
    }
    return rc;
}

/* Adds the validations of models in double precision, the precision of a default build. */
static int add_validations(struct list *list, struct carm_err *err)
{
    struct carm_code_spec issue[CARM_ISSUE_CODES_MAX];
    size_t n = 0;
    int rc = carm_validate_add_issue(issue, &n, err);
    rc = rc ? rc : add(list, issue, n, err);
    for (int isa = 0; isa < CARM_VECTOR_ISAS; isa++) {
        for (int op = 0; op < CARM_OP_COUNT && !rc; op++) {
            const struct carm_plan_target target = {(enum carm_isa)isa, CARM_DP, (enum carm_op)op};
            if (may_be_fastest(target.isa, target.op)) {
                rc = add_target(list, &target, err);
            }
        }
    }
    return rc;
}

/* Adds the codes that searches found, in either precision. */
static int add_known(struct list *list, struct carm_err *err)
{
    const char *text = carm_asset_data_codes;
    struct carm_winners winners = {.n = 0};
    int rc = carm_winners_read(&winners, text, strlen(text), "data/codes.json", err);
    for (size_t i = 0; i < 2 * winners.n && !rc; i++) {
        struct carm_code_spec s;
        rc = carm_code_parse(winners.items[i / 2].code, &s, err);
        s.precision = i % 2 ? CARM_SP : CARM_DP;
        rc = rc ? rc : add(list, &s, 1, err);
    }
    carm_winners_close(&winners);
    return rc;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct named *)a)->name, ((const struct named *)b)->name);
}

int carm_builtin_plan(struct carm_code_spec **specs, size_t *n, struct carm_err *err)
{
    struct list list = {.items = NULL};
    struct carm_code_spec *out = NULL;
    size_t found = 0;
    int rc = 0;
    for (int isa = CARM_SSE; isa < CARM_VECTOR_ISAS && !rc; isa++) { /* x86-64 has SSE2 */
        const enum carm_isa widest = (enum carm_isa)isa;
        if (widest >= CARM_AVX) { /* FMA3 needs the registers of avx, avx2 has it (carm_cpu_read) */
            rc = add_builds(&list, widest, true, err);
        }
        if (widest <= CARM_AVX && !rc) {
            rc = add_builds(&list, widest, false, err);
        }
    }
    rc = rc ? rc : add_validations(&list, err);
    rc = rc ? rc : add_known(&list, err);
    out = rc ? NULL : calloc(list.n, sizeof *out);
    if (!rc && !out) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for %zu test codes", list.n);
    }
    if (!rc) {
        qsort(list.items, list.n, sizeof *list.items, by_name);
        for (size_t i = 0; i < list.n; i++) {
            if (i == 0 || by_name(&list.items[i - 1], &list.items[i]) != 0) {
                out[found++] = list.items[i].spec;
            }
        }
        *specs = out;
        *n = found;
    }
    free(list.items);
    return rc;
}
