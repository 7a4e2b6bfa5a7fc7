/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "asm/isa.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { MAX_RATIO = 16 };

#define ROW(id, name_, help_, ...) [CARM_##id] = {.name = name_, .help = help_, __VA_ARGS__},
const struct carm_isa_row carm_isas[CARM_ISA_COUNT] = {CARM_ISA_TABLE(ROW, ROW)};
const struct carm_precision_row carm_precisions[CARM_PRECISION_COUNT] = {
    CARM_PRECISION_TABLE(ROW, ROW)};
const struct carm_op_row carm_ops[CARM_OP_COUNT] = {CARM_OP_TABLE(ROW, ROW)};
#undef ROW

enum { X = 1U << CARM_SSE, Y = 1U << CARM_AVX2, Z = 1U << CARM_AVX512, T = 1U << CARM_AMX };
#define FORM(precision_, op_, isas_, suffix_, ...) \
    {.precision = CARM_##precision_,               \
     .op = CARM_##op_,                             \
     .isas = isas_,                                \
     .suffix = suffix_,                            \
     __VA_ARGS__},
static const struct carm_form forms[] = {CARM_FORM_TABLE(FORM)};
#undef FORM

#define ROW(id, name_, help_, ...) {name_, {__VA_ARGS__}},
static const struct {
    const char *name;
    struct carm_mix mix;
} mixes[] = {CARM_MIX_TABLE(ROW, ROW)};
#undef ROW
enum { MIXES = sizeof mixes / sizeof *mixes };

const char *carm_isa_name(enum carm_isa isa)
{
    return carm_isas[isa].name;
}
const char *carm_precision_name(enum carm_precision precision)
{
    return carm_precisions[precision].name;
}
const char *carm_op_name(enum carm_op op)
{
    return carm_ops[op].name;
}

/* Finds a name in a table of n rows that begin with their names. */
static int find_row(const char *what, const char *name, const void *rows, size_t row_bytes,
                    size_t n, size_t *found, struct carm_err *err)
{
    char list[192] = "";
    for (size_t i = 0; i < n; i++) {
        const char *row = NULL;
        memcpy(&row, (const char *)rows + i * row_bytes, sizeof row);
        if (strcmp(name, row) == 0) {
            *found = i;
            return 0;
        }
        carm_text_list(list, sizeof list, i + 1 < n ? ", " : " or ", "%s", row);
    }
    return carm_fail(err, CARM_EINVAL, "unknown %s '%.32s': choose %s", what, name, list);
}

int carm_isa_parse(const char *name, enum carm_isa *isa, struct carm_err *err)
{
    size_t i = 0;
    const int rc = find_row("ISA", name, carm_isas, sizeof *carm_isas, CARM_ISA_COUNT, &i, err);
    *isa = rc ? *isa : (enum carm_isa)i;
    return rc;
}

int carm_precision_parse(const char *name, enum carm_precision *precision, struct carm_err *err)
{
    size_t i = 0;
    const int rc = find_row("precision", name, carm_precisions, sizeof *carm_precisions,
                            CARM_PRECISION_COUNT, &i, err);
    *precision = rc ? *precision : (enum carm_precision)i;
    return rc;
}

int carm_op_parse(const char *name, enum carm_op *op, struct carm_err *err)
{
    size_t i = 0;
    const int rc = find_row("operation", name, carm_ops, sizeof *carm_ops, CARM_OP_COUNT, &i, err);
    *op = rc ? *op : (enum carm_op)i;
    return rc;
}

bool carm_mix_equal(const struct carm_mix *a, const struct carm_mix *b)
{
    return a->loads == b->loads && a->stores == b->stores && a->update == b->update &&
           a->nontemporal == b->nontemporal;
}

void carm_mix_name(const struct carm_mix *mix, char name[16])
{
    for (size_t i = 0; i < MIXES; i++) {
        if (carm_mix_equal(mix, &mixes[i].mix)) {
            snprintf(name, 16, "%s", mixes[i].name);
            return;
        }
    }
    snprintf(name, 16, "%u:%u%s", mix->loads, mix->stores,
             mix->update        ? "update"
             : mix->nontemporal ? "nt"
                                : "");
}

const char *carm_digits_read(const char *s, unsigned *value)
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
    for (size_t i = 0; i < MIXES; i++) {
        if (strcmp(name, mixes[i].name) == 0) {
            *mix = mixes[i].mix;
            return 0;
        }
    }
    const char *s = carm_digits_read(name, &m.loads);
    if (s && *s == ':') {
        s = carm_digits_read(s + 1, &m.stores);
    } else {
        s = NULL;
    }
    if (s && strcmp(s, "nt") == 0) {
        m.nontemporal = true;
        s += 2;
    } else if (s && m.loads > 0 && m.stores == 1 && strcmp(s, "update") == 0) {
        m.update = true;
        s += strlen(s);
    }
    if (!s || *s) {
        return carm_fail(
            err, CARM_EINVAL,
            "unknown load:store mix '%.32s': give LOADS:STORES (such as 2:1), LOADS:STORESnt, "
            "LOADS:1update, or one of " CARM_LIST(CARM_MIX_TABLE),
            name);
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
    const unsigned bytes = carm_isas[isa].vector_bytes;
    return bytes ? bytes : carm_precisions[precision].bytes;
}

unsigned carm_isa_lanes(enum carm_isa isa, enum carm_precision precision)
{
    const unsigned columns = carm_isas[isa].columns;
    return carm_isa_vector_bytes(isa, precision) / carm_precisions[precision].bytes *
           (columns ? columns : 1);
}

const struct carm_form *carm_form_find(enum carm_isa isa, enum carm_precision precision,
                                       enum carm_op op)
{
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (forms[i].precision == precision && forms[i].op == op && (forms[i].isas >> isa & 1U)) {
            return &forms[i];
        }
    }
    return NULL;
}

bool carm_isa_has_precision(enum carm_isa isa, enum carm_precision precision)
{
    bool any = !carm_precisions[precision].forms && !carm_isas[isa].columns;
    for (int op = 0; op < CARM_OP_COUNT && !any; op++) {
        any = carm_form_find(isa, precision, (enum carm_op)op) != NULL;
    }
    return any;
}

bool carm_isa_has_op(enum carm_isa isa, enum carm_precision precision, enum carm_op op)
{
    if (carm_precisions[precision].forms || carm_ops[op].forms || carm_isas[isa].columns) {
        return carm_form_find(isa, precision, op) != NULL;
    }
    return !carm_ops[op].fused || !carm_isas[isa].lacks_fma;
}

bool carm_isa_has_mix(enum carm_isa isa, const struct carm_mix *mix)
{
    return !carm_isas[isa].columns || (!mix->update && !mix->nontemporal);
}

unsigned carm_mix_slots(const struct carm_mix *mix)
{
    return mix->update ? mix->loads : mix->loads + mix->stores;
}

unsigned carm_mix_plain_loads(const struct carm_mix *mix)
{
    return mix->update ? mix->loads - 1 : mix->loads;
}

bool carm_mix_is_pure(const struct carm_mix *mix)
{
    const unsigned loads = carm_mix_plain_loads(mix);
    return loads == 0 || loads == carm_mix_slots(mix);
}
