/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a specification must be, so that a code can be generated. */
#include "asm/code.h"

enum {
    MAX_PREFETCH = 1 << 20,
    LINE_INSTRUCTIONS = 5, /* of kind R for each line, beside its loads: asm/carm.inc, DRAW */
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
    return 0;
}

static int check_streams(const struct carm_code_spec *spec, struct carm_err *err)
{
    const struct carm_mix *m = &spec->mix;
    if (spec->streams < 2) {
        return 0;
    }
    if (spec->streams > 2) {
        return carm_fail(err, CARM_EINVAL, "a code has one stream or two (s2), not %u",
                         spec->streams);
    }
    if (spec->kind != CARM_KIND_A && spec->kind != CARM_KIND_C) {
        return carm_fail(err, CARM_EINVAL, "two streams (s2) are for kinds A and C alone");
    }
    if (m->update) {
        return carm_fail(err, CARM_EINVAL,
                         "an update loads and stores the same place: take 1:1 for two streams "
                         "(s2)");
    }
    if (m->stores && m->loads != m->stores) {
        return carm_fail(err, CARM_EINVAL,
                         "two streams (s2) advance alike: give as many loads as stores (1:1, "
                         "1:1nt) or loads alone (2:0), not %u:%u",
                         m->loads, m->stores);
    }
    if (!m->stores && (uint64_t)spec->units * m->loads % 2 != 0) {
        return carm_fail(err, CARM_EINVAL,
                         "two streams (s2) of loads alone share them evenly: give an even number "
                         "in the loop, not %u units (uN) of %u",
                         spec->units, m->loads);
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
                         "a stride (jN) shows what a core does without the next lines: leave the "
                         "prefetch (pN) out");
    }
    return 0;
}

static int check_flops(const struct carm_code_spec *spec, struct carm_err *err)
{
    if (!carm_isa_has_op(spec->isa, spec->op)) {
        return carm_fail(err, CARM_EINVAL,
                         "avx has no fused multiply-add: take avx2, or mad instead of fma");
    }
    if (spec->fps < 2 || spec->fps % 2 != 0) {
        return carm_fail(err, CARM_EINVAL,
                         "a loop has an even number of floating-point instructions (fN), at "
                         "least 2, not %u",
                         spec->fps);
    }
    if (spec->chains < 1 || spec->chains > carm_code_max_chains(spec) ||
        spec->chains > spec->fps / 2) {
        return carm_fail(err, CARM_EINVAL,
                         "chains (cN) of %s are 1 to %u and at most half of the "
                         "floating-point instructions, not %u",
                         carm_isa_name(spec->isa), carm_code_max_chains(spec), spec->chains);
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

/* Random lines have nothing to be ordered or fetched ahead. */
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
                         "kind R reads lines that nobody knows before: it has neither a prefetch "
                         "(pN) nor blocks");
    }
    return 0;
}

int carm_code_check(const struct carm_code_spec *spec, struct carm_err *err)
{
    const bool mix = carm_kind_has_mix(spec->kind);
    const bool random = spec->kind == CARM_KIND_R;
    const bool flops = carm_kind_has_flops(spec->kind);
    int rc = mix ? check_mix(spec, err) : 0;
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
