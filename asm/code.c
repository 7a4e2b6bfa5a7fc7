/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "asm/code.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_RATIO = 16,
};

static const char *const kind_names[] = {"A", "B", "C", "R", "W", "empty"};
static const char *const isa_names[CARM_ISA_COUNT] = {"scalar", "sse", "avx", "avx2", "avx512"};
static const char *const precision_names[CARM_PRECISION_COUNT] = {"dp", "sp"};
static const char *const op_names[CARM_OP_COUNT] = {"fma", "mad", "add", "mul", "div"};

const char *carm_isa_name(enum carm_isa isa)
{
    return isa_names[isa];
}
const char *carm_precision_name(enum carm_precision precision)
{
    return precision_names[precision];
}
const char *carm_op_name(enum carm_op op)
{
    return op_names[op];
}

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

int carm_isa_parse(const char *name, enum carm_isa *isa, struct carm_err *err)
{
    int i = find_name(name, isa_names, CARM_ISA_COUNT);
    if (i < 0) {
        return carm_fail(err, CARM_EINVAL,
                         "unknown ISA '%.32s': choose scalar, sse, avx, avx2 or avx512", name);
    }
    *isa = (enum carm_isa)i;
    return 0;
}

int carm_precision_parse(const char *name, enum carm_precision *precision, struct carm_err *err)
{
    int i = find_name(name, precision_names, CARM_PRECISION_COUNT);
    if (i < 0) {
        return carm_fail(err, CARM_EINVAL, "unknown precision '%.32s': choose dp or sp", name);
    }
    *precision = (enum carm_precision)i;
    return 0;
}

int carm_op_parse(const char *name, enum carm_op *op, struct carm_err *err)
{
    int i = find_name(name, op_names, CARM_OP_COUNT);
    if (i < 0) {
        return carm_fail(err, CARM_EINVAL,
                         "unknown operation '%.32s': choose fma, mad, add, mul or div", name);
    }
    *op = (enum carm_op)i;
    return 0;
}

bool carm_mix_equal(const struct carm_mix *a, const struct carm_mix *b)
{
    return a->loads == b->loads && a->stores == b->stores && a->update == b->update &&
           a->nontemporal == b->nontemporal;
}

void carm_mix_name(const struct carm_mix *mix, char name[16])
{
    if (mix->update) {
        (void)snprintf(name, 16, "update");
    } else if (mix->nontemporal && mix->loads == 0) {
        (void)snprintf(name, 16, "nt");
    } else {
        (void)snprintf(name, 16, "%u:%u%s", mix->loads, mix->stores, mix->nontemporal ? "nt" : "");
    }
}

/* Reads a decimal number of at most six digits; returns the first character after it, or NULL. */
static const char *read_number(const char *s, unsigned *value)
{
    unsigned v = 0;
    int digits = 0;
    for (; isdigit((unsigned char)*s); s++) {
        if (++digits > 7) {
            return NULL;
        }
        v = v * 10 + (unsigned)(*s - '0');
    }
    *value = v;
    return digits > 0 ? s : NULL;
}

int carm_mix_parse(const char *name, struct carm_mix *mix, struct carm_err *err)
{
    struct carm_mix m = {0};
    if (strcmp(name, "update") == 0) {
        m = (struct carm_mix){.loads = 1, .stores = 1, .update = true};
    } else if (strcmp(name, "nt") == 0) {
        m = (struct carm_mix){.stores = 1, .nontemporal = true};
    } else {
        const char *s = read_number(name, &m.loads);
        if (s && *s == ':') {
            s = read_number(s + 1, &m.stores);
        } else {
            s = NULL;
        }
        if (s && strcmp(s, "nt") == 0) {
            m.nontemporal = true;
            s += 2;
        }
        if (!s || *s) {
            return carm_fail(err, CARM_EINVAL,
                             "unknown load:store mix '%.32s': give LOADS:STORES (2:1, 1:1, 1:0, "
                             "0:1), LOADS:STORESnt, update or nt",
                             name);
        }
    }
    if (m.loads + m.stores == 0) {
        return carm_fail(err, CARM_EINVAL,
                         "a mix of 0:0 moves no data: give at least one load or store, e.g. 2:1");
    }
    if (m.loads > MAX_RATIO || m.stores > MAX_RATIO) {
        return carm_fail(err, CARM_EINVAL, "mix '%.32s' is too long: at most %d:%d", name,
                         MAX_RATIO, MAX_RATIO);
    }
    if (m.nontemporal && m.stores == 0) {
        return carm_fail(err, CARM_EINVAL, "mix '%.32s' has no store that could be non-temporal",
                         name);
    }
    *mix = m;
    return 0;
}

unsigned carm_isa_vector_bytes(enum carm_isa isa, enum carm_precision precision)
{
    static const unsigned bytes[CARM_ISA_COUNT] = {0, 16, 32, 32, 64};
    return isa == CARM_SCALAR ? (precision == CARM_DP ? 8 : 4) : bytes[isa];
}

unsigned carm_isa_lanes(enum carm_isa isa, enum carm_precision precision)
{
    return carm_isa_vector_bytes(isa, precision) / (precision == CARM_DP ? 8 : 4);
}

unsigned carm_code_max_chains(const struct carm_code_spec *spec)
{
    if (spec->isa == CARM_AVX512) {
        return 26; /* as many as there are rows of first values */
    }
    return spec->kind == CARM_KIND_B ? 14 : 12;
}

bool carm_isa_has_op(enum carm_isa isa, enum carm_op op)
{
    return op != CARM_FMA || isa != CARM_AVX;
}

unsigned carm_mix_slots(const struct carm_mix *mix)
{
    return mix->update ? 1 : mix->loads + mix->stores;
}

uint64_t carm_mix_unit_bytes(const struct carm_code_spec *spec)
{
    if (spec->kind == CARM_KIND_R) {
        return CARM_LINE_BYTES;
    }
    return (uint64_t)(spec->mix.loads + spec->mix.stores) *
           carm_isa_vector_bytes(spec->isa, spec->precision);
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
    return account->instructions - 1; /* dec and jnz are one */
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

/* kinds that can have two streams */
static bool has_streams(const struct carm_code_spec *spec)
{
    return spec->kind == CARM_KIND_A || spec->kind == CARM_KIND_C;
}

/* Writes ".", the letter and the number behind what stands in name. */
static void put_number(char name[CARM_CODE_NAME_MAX], const char *letter, unsigned value)
{
    const size_t at = strlen(name);
    (void)snprintf(name + at, CARM_CODE_NAME_MAX - at, ".%s%u", letter, value);
}

static void put_word(char name[CARM_CODE_NAME_MAX], const char *word)
{
    const size_t at = strlen(name);
    (void)snprintf(name + at, CARM_CODE_NAME_MAX - at, ".%s", word);
}

/* What stands behind the units and flops of a code with a mix. */
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
    (void)snprintf(name, CARM_CODE_NAME_MAX, "%s.%s.%s", kind_names[spec->kind],
                   isa_names[spec->isa], precision_names[spec->precision]);
    if (has_mix(spec)) {
        char mix[16];
        carm_mix_name(&spec->mix, mix);
        put_word(name, mix);
    }
    if (has_flops(spec)) {
        put_word(name, op_names[spec->op]);
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

/* Optional fields: u8, f40, c10, i16, p1024, s2, j8, block, block4. returns 0 or -CARM_EINVAL */
static int parse_field(const char *field, const char *name, struct carm_code_spec *spec,
                       struct carm_err *err)
{
    unsigned *target = field_target(field[0], spec);
    if (has_mix(spec) && strncmp(field, "block", 5) == 0) { /* blockN: of N units */
        const char *end = field[5] ? read_number(field + 5, &spec->block) : field + 5;
        if (end && !*end && !(field[5] && spec->block == 0)) {
            spec->order = CARM_ORDER_BLOCK;
            return 0;
        }
    }
    const char *rest = target ? read_number(field + 1, target) : NULL;
    const bool at_least_two =
        field[0] == 's' || field[0] == 'j'; /* one is said by leaving it out */
    if (!rest || *rest || (at_least_two && *target < 2)) {
        return carm_fail(err, CARM_EINVAL,
                         "code '%.64s': field '%.16s' is not understood; after KIND.ISA.PRECISION "
                         "come MIX, OP, uUNITS, fINSTRUCTIONS, cCHAINS, iINTEGERS (B, W), "
                         "pPREFETCH, s2 (two streams: A, C), jLINES (A), block, blockUNITS",
                         name, field);
    }
    return 0;
}

int carm_code_parse(const char *name, struct carm_code_spec *spec, struct carm_err *err)
{
    char copy[CARM_CODE_NAME_MAX];
    char *fields[12];
    size_t n = 0;
    if (strlen(name) >= sizeof copy) {
        return carm_fail(err, CARM_EINVAL, "code '%.64s...' is too long to be a name", name);
    }
    memcpy(copy, name, strlen(name) + 1);
    for (char *f = copy; f; n++) { /* not strtok: an empty field is a mistake, too */
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
        s.fps = 2 * CARM_CODE_USUAL_CHAINS;
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
        s.chains = s.fps / 2 < CARM_CODE_USUAL_CHAINS ? s.fps / 2 : CARM_CODE_USUAL_CHAINS;
    }
    rc = rc ? rc : carm_code_check(&s, err);
    if (!rc) {
        *spec = s;
    }
    return rc;
}
