/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/validate/plan.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "asm/code.h"

/* Relative distance of a code's intensity from the grid's: exact half octaves are irrational,
 * and loops closer than 1% would be too long to unroll. */
static const double grid_tolerance = 0.01;

/* The free choices of a schedule; kinds and numbers of instructions are fixed. Lengths of the
 * loop: short loops pay for loop control, long loops exceed the window in which the core finds
 * independent work. Chains: at least latency x pipes. More chains give slack. With exactly this
 * number, each sum comes directly from the bypass and leaves register ports to stores: on
 * Zen 4 (512-bit FMA: one a cycle, latency 4) a loop of 48 FMA and 4 x (2 loads, 1 store) runs
 * in 48.0 cycles with 4 chains and in 54 with 6. Blocks: fewer turns between reads and writes
 * (512-bit 2:1 in L1 of Zen 4: 76.8 B/cycle unit after unit, 80.8 in blocks of 4). Prefetch
 * distances: four lines, to help a hardware prefetcher that needs an order of lines; 0.5 to 2 KiB,
 * to replace a hardware prefetcher. Streams: memory bandwidth is higher when loads and stores have
 * separate arrays (docs/results.md). */
struct schedule {
    unsigned length, chains, prefetch_bytes;
    unsigned block;  /* units whose loads go before their stores; 1 = unit after unit, 0 = all */
    unsigned arrays; /* streams for each access of a unit, twice as many for pure loads or
                      * stores; 0 = one stream for all */
};

static const struct schedule schedules[] = {
    {48, 12, 0, 1, 0},   {48, 8, 0, 1, 0},     {48, 4, 0, 1, 0},    {48, 12, 256, 1, 0},
    {48, 12, 0, 1, 1},   {48, 12, 1024, 1, 0}, {48, 12, 0, 1, 2},   {48, 12, 1024, 1, 1},
    {48, 5, 0, 1, 0},    {48, 12, 0, 0, 0},    {48, 5, 0, 0, 0},    {96, 12, 0, 1, 0},
    {96, 5, 0, 1, 0},    {96, 9, 0, 1, 0},     {24, 12, 0, 1, 0},   {24, 4, 0, 1, 0},
    {96, 12, 0, 0, 0},   {48, 12, 0, 4, 0},    {96, 5, 0, 4, 0},    {48, 6, 0, 0, 0},
    {96, 12, 0, 10, 0},  {48, 8, 256, 1, 0},   {48, 5, 256, 1, 0},  {48, 4, 256, 1, 0},
    {48, 12, 256, 0, 0}, {96, 12, 256, 1, 0},  {48, 12, 512, 1, 0}, {96, 12, 2048, 1, 0},
};

enum { QUICK_SCHEDULES = 6 }; /* the first ones of the table */

/* Loops that keep the whole width of a core busy with several kinds of instructions, none beyond
 * its ports: of 8 slots a cycle at most 2 loads, 3 floating-point instructions and 3.3
 * additions; of 6 at most 4.9 that a core with five ALU ports must share. Scalar and unfused, so
 * that each instruction takes one port once. */
static const char *const issue_codes[] = {
    "W.scalar.dp.1:0.mad.u16.f24.c12.i24", "W.scalar.dp.1:0.mad.u16.f24.c12.i28",
    "W.scalar.dp.1:0.mad.u12.f24.c12.i24", "W.scalar.dp.1:0.mad.u20.f24.c12.i32",
    "W.scalar.dp.2:1.mad.u8.f24.c12.i24",  "W.scalar.dp.2:1.mad.u8.f24.c12.i32",
    "W.scalar.dp.3:1.mad.u6.f24.c12.i32",  "W.scalar.dp.1:0.mad.u24.f24.c12.i24",
};
enum { ISSUE_CODES = sizeof issue_codes / sizeof *issue_codes };
_Static_assert((int)ISSUE_CODES <= (int)CARM_ISSUE_CODES_MAX, "room for all");

double carm_grid_intensity(size_t i)
{
    return pow(2.0, -8.0 + 0.5 * (double)i);
}

static bool same_code(const struct carm_code_spec *a, const struct carm_code_spec *b)
{
    return a->units == b->units && a->fps == b->fps && a->chains == b->chains &&
           a->prefetch_bytes == b->prefetch_bytes && a->order == b->order && a->block == b->block &&
           a->streams == b->streams;
}

int carm_validate_add_schedules(const struct carm_plan_target *target, const struct carm_mix *mix,
                                size_t grid, bool quick, struct carm_code_spec *specs, size_t *n,
                                struct carm_err *err)
{
    struct carm_code_spec shortest = {.kind = CARM_KIND_C,
                                      .isa = target->isa,
                                      .precision = target->precision,
                                      .mix = *mix,
                                      .op = target->op};
    int rc = carm_code_near_intensity(&shortest, carm_grid_intensity(grid), grid_tolerance, err);
    if (rc) {
        return rc;
    }
    const unsigned length = shortest.units * (mix->loads + mix->stores) + shortest.fps;
    const size_t first = *n;
    const size_t tried = quick ? QUICK_SCHEDULES : sizeof schedules / sizeof *schedules;
    for (size_t i = 0; i < tried; i++) {
        struct carm_code_spec s = shortest;
        const unsigned times =
            schedules[i].length > length ? (schedules[i].length + length / 2) / length : 1;
        s.units *= times;
        s.fps *= times;
        s.chains = schedules[i].chains < s.fps / 2 ? schedules[i].chains : s.fps / 2;
        s.prefetch_bytes = schedules[i].prefetch_bytes;
        const bool both = !carm_mix_is_pure(&s.mix);
        const bool blocks = both && s.units > 1 && schedules[i].block != 1;
        s.order = blocks ? CARM_ORDER_BLOCK : CARM_ORDER_UNIT;
        s.block = blocks && schedules[i].block < s.units ? schedules[i].block : 0;
        const struct carm_mix lowest = carm_mix_lowest(&s.mix);
        s.streams = schedules[i].arrays * (both ? carm_mix_slots(&lowest) : 2);
        const unsigned whole = schedules[i].arrays * (both ? 1 : 2);
        if (whole > 1 && s.units % whole != 0) { /* multiplies units and fps alike */
            s.units *= whole;
            s.fps *= whole;
        }
        bool known = carm_code_check(&s, NULL) != 0;
        for (size_t k = first; k < *n && !known; k++) {
            known = same_code(&s, &specs[k]);
        }
        if (!known) {
            specs[(*n)++] = s;
        }
    }
    return 0;
}

int carm_validate_add_issue(struct carm_code_spec *specs, size_t *n, struct carm_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < ISSUE_CODES && !rc; i++) {
        rc = carm_code_parse(issue_codes[i], &specs[*n], err);
        *n += rc ? 0 : 1;
    }
    return rc;
}

/* Whether a code can be the code of one of these roofs. mix NULL: a compute roof */
static bool fits_roofs(const struct carm_code_spec *spec, const struct carm_roofs *roofs,
                       const struct carm_mix *mix, const char *op)
{
    return strcmp(carm_isa_name(spec->isa), roofs->isa) == 0 &&
           strcmp(carm_precision_name(spec->precision), roofs->precision) == 0 &&
           (mix ? spec->kind == CARM_KIND_A && carm_mix_equal(&spec->mix, mix)
                : spec->kind == CARM_KIND_B && strcmp(carm_op_name(spec->op), op) == 0);
}

/* Adds the codes of roofs, by their names in the model. */
static int add_roofs(const struct carm_model *model, const struct carm_mix *mix,
                     struct carm_code_spec *specs, size_t *n, struct carm_err *err)
{
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        for (size_t k = 0; k < r->nmemory + r->ncompute; k++) {
            const bool memory = k < r->nmemory;
            const size_t place = memory ? k : k - r->nmemory;
            const char *list = memory ? "memory" : "compute";
            const char *name = memory ? r->memory[k].code : r->compute[place].code;
            struct carm_err why = {""};
            if (memory && strcmp(r->memory[k].ldst, model->config.ldst) != 0) {
                continue;
            }
            if (carm_code_parse(name, &specs[*n], &why)) {
                return carm_fail(
                    err, CARM_EFORMAT,
                    "roofs[%zu].%s[%zu].code is a test code that this carm does not know: %s", i,
                    list, place, why.text);
            }
            if (!fits_roofs(&specs[*n], r, memory ? mix : NULL,
                            memory ? "" : r->compute[place].op)) {
                return carm_fail(err, CARM_EFORMAT,
                                 "roofs[%zu].%s[%zu].code is %s, which cannot have measured that "
                                 "%s %s roof",
                                 i, list, place, name, r->isa,
                                 memory ? r->memory[k].level : r->compute[place].op);
            }
            (*n)++;
        }
    }
    return 0;
}

static size_t room_for(const struct carm_model *model, size_t ntargets)
{
    size_t room = 1 + ISSUE_CODES + ntargets * CARM_GRID_POINTS * CARM_SCHEDULES_MAX;
    for (size_t i = 0; i < model->nroofs; i++) {
        room += model->roofs[i].nmemory + model->roofs[i].ncompute;
    }
    return room;
}

int carm_validate_plan_open(struct carm_validate_plan *plan, const struct carm_model *model,
                            const struct carm_plan_target *targets, size_t n, bool quick,
                            struct carm_err *err)
{
    size_t nspecs = 0;
    memset(plan, 0, sizeof *plan);
    if (n > CARM_PLAN_TARGETS_MAX) {
        return carm_fail(err, CARM_EINVAL,
                         "%zu combinations of ISA, precision and operation are too many for one "
                         "validation: at most %d; name some with --isa and --ops",
                         n, CARM_PLAN_TARGETS_MAX);
    }
    int rc = carm_mix_parse(model->config.ldst, &plan->mix, err);
    if (rc) {
        return rc;
    }
    struct carm_code_spec *specs = calloc(room_for(model, n), sizeof *specs);
    plan->first = calloc(n ? n : 1, sizeof *plan->first);
    plan->count = calloc(n ? n : 1, sizeof *plan->count);
    if (!specs || !plan->first || !plan->count) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory to plan the test codes");
        goto out;
    }
    specs[nspecs++] = (struct carm_code_spec){.kind = CARM_KIND_EMPTY, .units = 1};
    for (size_t t = 0; t < n && !rc; t++) {
        plan->targets[plan->ntargets++] = targets[t];
        for (size_t g = 0; g < CARM_GRID_POINTS && !rc; g++) {
            plan->first[t][g] = nspecs;
            rc =
                carm_validate_add_schedules(&targets[t], &plan->mix, g, quick, specs, &nspecs, err);
            plan->count[t][g] = nspecs - plan->first[t][g];
        }
    }
    rc = rc ? rc : add_roofs(model, &plan->mix, specs, &nspecs, err);
    plan->first_issue = nspecs;
    rc = rc ? rc : carm_validate_add_issue(specs, &nspecs, err);
    plan->nissue = nspecs - plan->first_issue;
    rc = rc ? rc : carm_image_open(&plan->image, specs, nspecs, err);
    if (!rc) {
        plan->empty = &plan->image->codes[0];
    }
out:
    free(specs);
    if (rc) {
        carm_validate_plan_close(plan);
    }
    return rc;
}

void carm_validate_plan_close(struct carm_validate_plan *plan)
{
    carm_image_close(plan->image);
    free(plan->first);
    free(plan->count);
    memset(plan, 0, sizeof *plan);
}

size_t carm_validate_plan_schedules(const struct carm_validate_plan *plan, size_t target,
                                    size_t grid, bool first_level, const struct carm_code **out)
{
    size_t n = 0;
    for (size_t i = 0; i < plan->count[target][grid]; i++) {
        const struct carm_code *code = &plan->image->codes[plan->first[target][grid] + i];
        if (!(first_level && code->spec.prefetch_bytes) && n < CARM_SCHEDULES_MAX) {
            out[n++] = code;
        }
    }
    return n;
}

const struct carm_code *carm_validate_plan_find(const struct carm_validate_plan *plan,
                                                const char *name)
{
    struct carm_code_spec spec;
    char usual[CARM_CODE_NAME_MAX]; /* a file may spell the name in another way */
    if (carm_code_parse(name, &spec, NULL)) {
        return NULL;
    }
    carm_code_name(&spec, usual);
    return carm_image_find(plan->image, usual);
}
