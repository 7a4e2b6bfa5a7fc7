/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "asm/intensity.h"

#include <math.h>

static unsigned flops_per_instruction(const struct carm_code_spec *spec)
{
    return carm_isa_lanes(spec->isa, spec->precision) * (spec->op == CARM_FMA ? 2 : 1);
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        uint64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

void carm_code_intensity(const struct carm_code_spec *spec, uint64_t *flops, uint64_t *bytes)
{
    uint64_t f =
        carm_kind_has_flops(spec->kind) ? (uint64_t)spec->fps * flops_per_instruction(spec) : 0;
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

/* Loops of some 64 instructions run best: a shorter one must be exact to be taken, a longer one must
 * be clearly more exact. */
static double exact_cost(const struct trial *trial, double tolerance)
{
    (void)tolerance;
    return trial->error + 1e-5 * fabs(log(trial->instructions / 64.0));
}

/* The shortest within the tolerance; outside it the nearest, whatever its length. */
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
    const double per_unit = ai * (double)carm_mix_unit_bytes(spec) / flops_per_instruction(spec);
    const unsigned memory = spec->mix.loads + spec->mix.stores;
    double best = INFINITY;
    for (unsigned units = 1; units <= CARM_CODE_UNITS_MAX; units++) {
        const double want = per_unit * units;
        const double fps = 2.0 * fmax(1.0, round(want / 2.0));
        const struct trial trial = {.error = fabs(log(fps / want)),
                                    .instructions = fps + (double)units * memory};
        if (trial.instructions > CARM_CODE_INSTRUCTIONS_MAX) {
            break;
        }
        if (cost(&trial, tolerance) < best) {
            best = cost(&trial, tolerance);
            spec->units = units;
            spec->fps = (unsigned)fps;
        }
    }
    spec->chains = spec->fps / 2 < CARM_CODE_USUAL_CHAINS ? spec->fps / 2 : CARM_CODE_USUAL_CHAINS;
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
