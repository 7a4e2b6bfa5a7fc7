/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "asm/code.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const kind_names[] = {"A", "B", "C", "R", "W", "empty"};
/* index of name in names, or -1 */
static int find_name(const char *name, const char *const *names, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        if (strcmp(name, names[i]) == 0) {
            return (int)i;
        }
    }
    return -1;
}

unsigned carm_code_max_chains(const struct carm_code_spec *spec)
{
    if (carm_isas[spec->isa].registers > 16) {
        return 26; /* the number of rows of first values */
    }
    if (carm_isas[spec->isa].columns) {
        return spec->kind == CARM_KIND_B ? CARM_TILE_CHAINS : CARM_TILE_CHAINS - 2;
    }
    return spec->kind == CARM_KIND_B ? 14 : 12;
}

uint64_t carm_mix_unit_bytes(const struct carm_code_spec *spec)
{
    if (spec->kind == CARM_KIND_R) {
        return CARM_LINE_BYTES;
    }
    return (uint64_t)(spec->mix.loads + spec->mix.stores) *
           carm_isa_vector_bytes(spec->isa, spec->precision);
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

struct carm_mix carm_mix_lowest(const struct carm_mix *mix)
{
    struct carm_mix out = *mix;
    const unsigned common = (unsigned)gcd(mix->loads, mix->stores);
    if (common > 1) {
        out.loads /= common;
        out.stores /= common;
    }
    return out;
}

unsigned carm_code_fetched_streams(const struct carm_code_spec *spec)
{
    const struct carm_mix mix = carm_mix_lowest(&spec->mix);
    const unsigned streams = spec->streams > 1 ? spec->streams : 1;
    return streams > 1 && mix.nontemporal ? streams / (mix.loads + mix.stores) * mix.loads
                                          : streams;
}

bool carm_kind_has_memory(enum carm_kind kind)
{
    return carm_kind_has_mix(kind) || kind == CARM_KIND_R;
}

bool carm_kind_has_mix(enum carm_kind kind)
{
    return kind == CARM_KIND_A || kind == CARM_KIND_C || kind == CARM_KIND_W;
}

bool carm_kind_has_flops(enum carm_kind kind)
{
    return kind == CARM_KIND_B || kind == CARM_KIND_C || kind == CARM_KIND_W;
}

uint64_t carm_account_slots(const struct carm_account *account)
{
    return account->instructions - 1; /* dec and jnz count as one */
}

static bool has_memory(const struct carm_code_spec *spec)
{
    return carm_kind_has_memory(spec->kind);
}

static bool has_mix(const struct carm_code_spec *spec)
{
    return carm_kind_has_mix(spec->kind);
}

static bool has_flops(const struct carm_code_spec *spec)
{
    return carm_kind_has_flops(spec->kind);
}

static bool has_ints(const struct carm_code_spec *spec)
{
    return spec->kind == CARM_KIND_W || spec->kind == CARM_KIND_B;
}

/* kinds that can have several streams */
static bool has_streams(const struct carm_code_spec *spec)
{
    return spec->kind == CARM_KIND_A || spec->kind == CARM_KIND_C;
}

/* Writes ".", a letter and a number behind the text that name already holds. */
static void put_number(char name[CARM_CODE_NAME_MAX], const char *letter, unsigned value)
{
    const size_t at = strlen(name);
    snprintf(name + at, CARM_CODE_NAME_MAX - at, ".%s%u", letter, value);
}

static void put_word(char name[CARM_CODE_NAME_MAX], const char *word)
{
    const size_t at = strlen(name);
    snprintf(name + at, CARM_CODE_NAME_MAX - at, ".%s", word);
}

/* Writes the parts of a name that follow units and flops, for a code with a mix. */
static void put_schedule(const struct carm_code_spec *spec, char name[CARM_CODE_NAME_MAX])
{
    if (spec->prefetch_bytes) {
        put_number(name, "p", spec->prefetch_bytes);
    }
    if (spec->streams > 1) {
        put_number(name, "s", spec->streams);
    }
    if (spec->stride > 1) {
        put_number(name, "j", spec->stride);
    }
    if (spec->order == CARM_ORDER_BLOCK && spec->block) {
        put_number(name, "block", spec->block);
    } else if (spec->order == CARM_ORDER_BLOCK) {
        put_word(name, "block");
    }
}

void carm_code_name(const struct carm_code_spec *spec, char name[CARM_CODE_NAME_MAX])
{
    snprintf(name, CARM_CODE_NAME_MAX, "%s.%s.%s", kind_names[spec->kind], carm_isa_name(spec->isa),
             carm_precision_name(spec->precision));
    if (has_mix(spec)) {
        char mix[16];
        carm_mix_name(&spec->mix, mix);
        put_word(name, mix);
    }
    if (has_flops(spec)) {
        put_word(name, carm_op_name(spec->op));
    }
    if (has_memory(spec)) {
        put_number(name, "u", spec->units);
    }
    if (has_flops(spec)) {
        put_number(name, "f", spec->fps);
        put_number(name, "c", spec->chains);
    }
    if (has_ints(spec) && spec->ints) {
        put_number(name, "i", spec->ints);
    }
    if (has_mix(spec)) {
        put_schedule(spec, name);
    }
}

/* The number that an optional field sets; NULL where the kind has no such field. */
static unsigned *field_target(char letter, struct carm_code_spec *spec)
{
    switch (letter) {
    case 'u':
        return has_memory(spec) ? &spec->units : NULL;
    case 'f':
        return has_flops(spec) ? &spec->fps : NULL;
    case 'c':
        return has_flops(spec) ? &spec->chains : NULL;
    case 'i':
        return has_ints(spec) ? &spec->ints : NULL;
    case 'p':
        return has_mix(spec) ? &spec->prefetch_bytes : NULL;
    case 's':
        return has_streams(spec) ? &spec->streams : NULL;
    case 'j':
        return spec->kind == CARM_KIND_A ? &spec->stride : NULL;
    default:
        return NULL;
    }
}

/* Optional fields: u8, f40, c10, i16, p1024, s3, j8, block, block4. returns 0 or -CARM_EINVAL */
static int parse_field(const char *field, const char *name, struct carm_code_spec *spec,
                       struct carm_err *err)
{
    unsigned *target = field_target(field[0], spec);
    if (has_mix(spec) && strncmp(field, "block", 5) == 0) { /* blockN: of N units */
        const char *end = field[5] ? carm_digits_read(field + 5, &spec->block) : field + 5;
        if (end && !*end && !(field[5] && spec->block == 0)) {
            spec->order = CARM_ORDER_BLOCK;
            return 0;
        }
    }
    const char *rest = target ? carm_digits_read(field + 1, target) : NULL;
    const bool at_least_two =
        field[0] == 's' || field[0] == 'j'; /* for one stream, or stride 1, the field is left out */
    if (!rest || *rest || (at_least_two && *target < 2)) {
        return carm_fail(err, CARM_EINVAL,
                         "code '%.64s': field '%.16s' is not understood; after KIND.ISA.PRECISION "
                         "come MIX, OP, uUNITS, fINSTRUCTIONS, cCHAINS, iINTEGERS (B, W), "
                         "pPREFETCH, sSTREAMS (A, C), jLINES (A), block, blockUNITS",
                         name, field);
    }
    return 0;
}

/* The usual number of chains, or fewer if the floating-point instructions do not suffice for all turns. */
static unsigned usual_chains(const struct carm_code_spec *spec)
{
    const unsigned room = carm_code_max_chains(spec);
    const unsigned usual = room < CARM_CODE_USUAL_CHAINS ? room : CARM_CODE_USUAL_CHAINS;
    const unsigned most = spec->fps / carm_ops[spec->op].nturns;
    return most < usual ? most : usual;
}

int carm_code_parse(const char *name, struct carm_code_spec *spec, struct carm_err *err)
{
    char copy[CARM_CODE_NAME_MAX];
    char *fields[12] = {NULL};
    size_t n = 0;
    if (strlen(name) >= sizeof copy) {
        return carm_fail(err, CARM_EINVAL, "code '%.64s...' is too long to be a name", name);
    }
    memcpy(copy, name, strlen(name) + 1);
    for (char *f = copy; f; n++) { /* strtok would pass over empty fields, which are errors */
        if (n == sizeof fields / sizeof *fields) {
            return carm_fail(err, CARM_EINVAL, "code '%.64s' has too many fields", name);
        }
        fields[n] = f;
        f = strchr(f, '.');
        if (f) {
            *f++ = '\0';
        }
    }
    int kind =
        n > 0 ? find_name(fields[0], kind_names, sizeof kind_names / sizeof *kind_names) : -1;
    struct carm_code_spec s = {.kind = (enum carm_kind)(kind < 0 ? 0 : kind), .units = 8};
    size_t need = 3U + (has_mix(&s) ? 1U : 0U) + (has_flops(&s) ? 1U : 0U);
    if (kind < 0 || n < need) {
        return carm_fail(err, CARM_EINVAL,
                         "code '%.64s' is not understood: write A.ISA.PRECISION.MIX, "
                         "B.ISA.PRECISION.OP, C.ISA.PRECISION.MIX.OP, R.ISA.PRECISION or "
                         "W.ISA.PRECISION.MIX.OP.iN, e.g. A.avx2.dp.2:1.u8",
                         name);
    }
    size_t at = 3;
    int rc = carm_isa_parse(fields[1], &s.isa, err);
    rc = rc ? rc : carm_precision_parse(fields[2], &s.precision, err);
    if (!rc && has_mix(&s)) {
        rc = carm_mix_parse(fields[at++], &s.mix, err);
    }
    if (!rc && has_flops(&s)) {
        rc = carm_op_parse(fields[at++], &s.op, err);
        s.fps = carm_ops[s.op].nturns * CARM_CODE_USUAL_CHAINS;
        s.chains = 0;
    }
    for (const size_t first = at; !rc && at < n; at++) {
        for (size_t k = first; k < at && !rc; k++) {
            if (fields[k][0] == fields[at][0]) {
                rc = carm_fail(err, CARM_EINVAL, "code '%.64s' gives field '%.16s' twice", name,
                               fields[at]);
            }
        }
        rc = rc ? rc : parse_field(fields[at], name, &s, err);
    }
    if (!rc && has_flops(&s) && s.chains == 0) {
        s.chains = usual_chains(&s);
    }
    rc = rc ? rc : carm_code_check(&s, err);
    if (!rc) {
        *spec = s;
    }
    return rc;
}

/* ---- rules that a specification must meet ---- */

enum {
    MAX_PREFETCH = 1 << 20,
    LINE_INSTRUCTIONS =
        5, /* kind R: instructions for each line beside its loads (asm/carm.inc, DRAW) */
};

static unsigned vector_bytes(const struct carm_code_spec *spec)
{
    return carm_isa_vector_bytes(spec->isa, spec->precision);
}

/* Units, prefetch and order of a mix. */
static int check_mix(const struct carm_code_spec *spec, struct carm_err *err)
{
    if (spec->mix.loads + spec->mix.stores == 0) {
        return carm_fail(err, CARM_EINVAL, "a mix of 0:0 moves no data");
    }
    if (spec->units < 1 || spec->units > CARM_CODE_UNITS_MAX) {
        return carm_fail(err, CARM_EINVAL, "a loop has 1 to %d units (uN), not %u",
                         CARM_CODE_UNITS_MAX, spec->units);
    }
    if (spec->prefetch_bytes % CARM_LINE_BYTES != 0 || spec->prefetch_bytes > MAX_PREFETCH) {
        return carm_fail(err, CARM_EINVAL,
                         "a prefetch distance (pN) is a multiple of 64 bytes up to %d, not %u",
                         MAX_PREFETCH, spec->prefetch_bytes);
    }
    if (spec->block && (spec->order != CARM_ORDER_BLOCK || spec->block > spec->units)) {
        return carm_fail(err, CARM_EINVAL,
                         "a block (blockN) has 1 to %u units, those of the loop, not %u",
                         spec->units, spec->block);
    }
    if (spec->order == CARM_ORDER_BLOCK && spec->mix.update && spec->mix.loads > 1 &&
        spec->streams < 2) {
        return carm_fail(
            err, CARM_EINVAL,
            "blocks of loads before updates need a stream for each (s%u): in one stream, "
            "addresses of loads increase",
            spec->mix.loads);
    }
    return 0;
}

static int check_streams(const struct carm_code_spec *spec, struct carm_err *err)
{
    const struct carm_mix m = carm_mix_lowest(&spec->mix);
    if (spec->streams < 2) {
        return 0;
    }
    if (spec->streams > CARM_CODE_STREAMS_MAX) {
        return carm_fail(err, CARM_EINVAL, "a code has 1 to %d streams (sN), not %u",
                         CARM_CODE_STREAMS_MAX, spec->streams);
    }
    if (!has_streams(spec)) {
        return carm_fail(err, CARM_EINVAL, "several streams (sN) are for kinds A and C alone");
    }
    const bool turns = carm_mix_is_pure(&m); /* accesses go to all streams in turn */
    const unsigned each = turns ? 1 : carm_mix_slots(&m);
    if (spec->streams % each != 0) {
        char name[16];
        carm_mix_name(&m, name);
        return carm_fail(err, CARM_EINVAL,
                         "each load and each %s of %s has a stream for itself: a multiple of "
                         "%u streams (sN), not %u",
                         m.update ? "update" : "store", name, each, spec->streams);
    }
    const unsigned units = spec->units * carm_mix_slots(&spec->mix) / carm_mix_slots(&m);
    const unsigned one = turns ? units * carm_mix_slots(&m) : units;
    if (one % (spec->streams / each) != 0) {
        return carm_fail(
            err, CARM_EINVAL,
            "streams share a loop evenly: give a multiple of %u %s in the loop, not %u",
            spec->streams / each, turns ? "accesses" : "units (uN)", one);
    }
    if (m.nontemporal && !m.loads && spec->prefetch_bytes) {
        return carm_fail(err, CARM_EINVAL,
                         "non-temporal stores have nothing to fetch ahead: leave out the prefetch "
                         "(pN)");
    }
    return 0;
}

static int check_stride(const struct carm_code_spec *spec, struct carm_err *err)
{
    if (spec->stride < 2) {
        return 0;
    }
    if (spec->kind != CARM_KIND_A || spec->mix.stores || spec->streams > 1) {
        return carm_fail(err, CARM_EINVAL,
                         "a stride (jN) is for loads alone of one stream and kind A, e.g. "
                         "A.avx2.dp.1:0.u8.j8");
    }
    if (spec->stride > CARM_CODE_STRIDE_MAX) {
        return carm_fail(err, CARM_EINVAL, "a stride (jN) is 2 to %d lines, not %u",
                         CARM_CODE_STRIDE_MAX, spec->stride);
    }
    if ((uint64_t)spec->units * spec->mix.loads * vector_bytes(spec) % CARM_LINE_BYTES != 0) {
        return carm_fail(
            err, CARM_EINVAL,
            "a loop with a stride (jN) loads whole lines of 64 bytes: %u units (uN) of "
            "%u bytes are none",
            spec->units, spec->mix.loads * vector_bytes(spec));
    }
    if (spec->prefetch_bytes) {
        return carm_fail(err, CARM_EINVAL,
                         "a stride (jN) measures loads without prefetching: leave out the prefetch "
                         "(pN)");
    }
    return 0;
}

static int check_flops(const struct carm_code_spec *spec, struct carm_err *err)
{
    const unsigned turns = carm_ops[spec->op].nturns;
    if (carm_ops[spec->op].fused && carm_isas[spec->isa].lacks_fma) {
        return carm_fail(err, CARM_EINVAL,
                         "%s has no fused multiply-add: take avx2, or mad instead of %s",
                         carm_isa_name(spec->isa), carm_op_name(spec->op));
    }
    if (!carm_isa_has_op(spec->isa, spec->precision, spec->op)) {
        return carm_fail(err, CARM_EINVAL, "%s has no %s in %s", carm_isa_name(spec->isa),
                         carm_op_name(spec->op), carm_precision_name(spec->precision));
    }
    if (turns > 2 && (spec->fps < turns || spec->fps % turns != 0)) {
        return carm_fail(err, CARM_EINVAL,
                         "a loop of %s has a multiple of %u floating-point instructions (fN), not "
                         "%u",
                         carm_op_name(spec->op), turns, spec->fps);
    }
    if (turns == 2 && (spec->fps < 2 || spec->fps % 2 != 0)) {
        return carm_fail(err, CARM_EINVAL,
                         "a loop has an even number of floating-point instructions (fN), at "
                         "least 2, not %u",
                         spec->fps);
    }
    if (spec->chains < 1 || spec->chains > carm_code_max_chains(spec) ||
        spec->chains > spec->fps / turns) {
        return carm_fail(err, CARM_EINVAL,
                         "chains (cN) of %s are 1 to %u and at most %s of the "
                         "floating-point instructions, not %u",
                         carm_isa_name(spec->isa), carm_code_max_chains(spec),
                         turns > 2 ? "a third" : "half", spec->chains);
    }
    return 0;
}

static int check_ints(const struct carm_code_spec *spec, struct carm_err *err)
{
    if (spec->kind == CARM_KIND_W && spec->ints < 1) {
        return carm_fail(err, CARM_EINVAL,
                         "a loop of kind W has 1 or more integer instructions (iN), not %u",
                         spec->ints);
    }
    if (spec->kind != CARM_KIND_W && spec->kind != CARM_KIND_B && spec->ints) {
        return carm_fail(err, CARM_EINVAL,
                         "integer instructions (iN) are for kinds B and W alone: %u given",
                         spec->ints);
    }
    return 0;
}

/* Checks kind R: random lines have no order and no prefetch. */
static int check_random(const struct carm_code_spec *spec, struct carm_err *err)
{
    if (spec->units < 1 || spec->units > CARM_CODE_UNITS_MAX) {
        return carm_fail(err, CARM_EINVAL, "a loop of kind R reads 1 to %d lines (uN), not %u",
                         CARM_CODE_UNITS_MAX, spec->units);
    }
    if (spec->mix.stores || spec->mix.nontemporal || spec->mix.update) {
        return carm_fail(err, CARM_EINVAL, "kind R loads whole lines: it has no stores");
    }
    if (spec->prefetch_bytes || spec->order != CARM_ORDER_UNIT || spec->block) {
        return carm_fail(err, CARM_EINVAL,
                         "kind R reads random lines: it takes neither a prefetch (pN) nor blocks");
    }
    return 0;
}

/* Checks a code with tiles: the distance of a tile's rows is in r8, so there are no registers for several streams,
 * additions of integers or random lines. */
static int check_tiles(const struct carm_code_spec *spec, struct carm_err *err)
{
    const enum carm_kind kind = spec->kind;
    if (!carm_isas[spec->isa].columns) {
        return 0;
    }
    if ((kind != CARM_KIND_A && kind != CARM_KIND_B && kind != CARM_KIND_C) || spec->ints ||
        spec->streams > 1 || spec->stride > 1) {
        return carm_fail(
            err, CARM_EINVAL,
            "%s has codes of kinds A, B and C alone, without integer instructions (iN), "
            "several streams (sN) or a stride (jN)",
            carm_isa_name(spec->isa));
    }
    if (!carm_isa_has_mix(spec->isa, &spec->mix)) {
        return carm_fail(
            err, CARM_EINVAL,
            "%s has neither updates nor non-temporal stores: take another mix, such as "
            "1:1",
            carm_isa_name(spec->isa));
    }
    return 0;
}

int carm_code_check(const struct carm_code_spec *spec, struct carm_err *err)
{
    const bool mix = carm_kind_has_mix(spec->kind);
    const bool random = spec->kind == CARM_KIND_R;
    const bool flops = carm_kind_has_flops(spec->kind);
    if (!carm_isa_has_precision(spec->isa, spec->precision)) {
        return carm_fail(err, CARM_EINVAL, "%s has no instructions for %s",
                         carm_isa_name(spec->isa), carm_precision_name(spec->precision));
    }
    int rc = check_tiles(spec, err);
    rc = rc || !mix ? rc : check_mix(spec, err);
    rc = rc || !random ? rc : check_random(spec, err);
    rc = rc ? rc : check_streams(spec, err);
    rc = rc ? rc : check_stride(spec, err);
    rc = rc || !flops ? rc : check_flops(spec, err);
    rc = rc ? rc : check_ints(spec, err);
    if (rc) {
        return rc;
    }
    const uint64_t per_unit = mix      ? spec->mix.loads + spec->mix.stores
                              : random ? CARM_LINE_BYTES / vector_bytes(spec) + LINE_INSTRUCTIONS
                                       : 0;
    const uint64_t instructions =
        (mix || random ? spec->units : 0) * per_unit + (flops ? spec->fps : 0) + spec->ints;
    if (instructions > CARM_CODE_INSTRUCTIONS_MAX) {
        return carm_fail(err, CARM_EINVAL, "a loop of %llu instructions is too long: at most %d",
                         (unsigned long long)instructions, CARM_CODE_INSTRUCTIONS_MAX);
    }
    return 0;
}

/* ---- operational intensity of kind C ---- */

/* of all turns of a chain */
static unsigned flops_of_turns(const struct carm_code_spec *spec)
{
    return carm_isa_lanes(spec->isa, spec->precision) * carm_ops[spec->op].flops;
}

void carm_code_intensity(const struct carm_code_spec *spec, uint64_t *flops, uint64_t *bytes)
{
    uint64_t f = carm_kind_has_flops(spec->kind)
                     ? (uint64_t)spec->fps / carm_ops[spec->op].nturns * flops_of_turns(spec)
                     : 0;
    uint64_t b = carm_kind_has_memory(spec->kind) ? spec->units * carm_mix_unit_bytes(spec) : 0;
    uint64_t g = gcd(f, b);
    *flops = g ? f / g : 0;
    *bytes = g ? b / g : 0;
}

/* A loop that was tried. */
struct trial {
    double error;        /* |log(its intensity / the one wanted)| */
    double instructions; /* of the loop */
};

typedef double cost_fn(const struct trial *trial, double tolerance);

/* Loops of some 64 instructions run best: a shorter loop must be exact to be chosen, a longer loop must be
 * clearly more exact. */
static double exact_cost(const struct trial *trial, double tolerance)
{
    (void)tolerance;
    return trial->error + 1e-5 * fabs(log(trial->instructions / 64.0));
}

/* Cost for choosing the shortest loop within the tolerance, or, if none is, the loop with the nearest
 * intensity. */
static double short_cost(const struct trial *trial, double tolerance)
{
    return trial->error <= tolerance ? 1e-6 * trial->instructions : 1.0 + trial->error;
}

static int search(struct carm_code_spec *spec, double ai, cost_fn *cost, double tolerance,
                  struct carm_err *err)
{
    if (!(ai > 0x1p-12 && ai < 0x1p10)) {
        return carm_fail(err, CARM_EINVAL,
                         "operational intensity %g is out of reach: 2^-12 < I < 2^10 flop/byte",
                         ai);
    }
    const double turns = carm_ops[spec->op].nturns;
    /* turns */
    const double per_unit = ai * (double)carm_mix_unit_bytes(spec) / flops_of_turns(spec);
    const unsigned memory = spec->mix.loads + spec->mix.stores;
    double best = INFINITY;
    for (unsigned units = 1; units <= CARM_CODE_UNITS_MAX; units++) {
        const double want = per_unit * units;
        const double whole = fmax(1.0, round(want));
        const struct trial trial = {.error = fabs(log(whole / want)),
                                    .instructions = turns * whole + (double)units * memory};
        if (trial.instructions > CARM_CODE_INSTRUCTIONS_MAX) {
            break;
        }
        if (cost(&trial, tolerance) < best) {
            best = cost(&trial, tolerance);
            spec->units = units;
            spec->fps = (unsigned)(turns * whole);
        }
    }
    spec->chains = usual_chains(spec);
    return isfinite(best) ? 0
                          : carm_fail(err, CARM_EINVAL,
                                      "operational intensity %g needs a loop of more than %d "
                                      "instructions with this mix",
                                      ai, CARM_CODE_INSTRUCTIONS_MAX);
}

int carm_code_set_intensity(struct carm_code_spec *spec, double ai, struct carm_err *err)
{
    return search(spec, ai, exact_cost, 0.0, err);
}

int carm_code_near_intensity(struct carm_code_spec *spec, double ai, double tolerance,
                             struct carm_err *err)
{
    return search(spec, ai, short_cost, tolerance, err);
}
