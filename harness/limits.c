/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/limits.h"

#include <stdio.h>

#include "harness/measure.h"

/* Instructions of one sort that a core can at most execute in a cycle. */
struct limits {
    double loads, stores; /* of one vector each */
    double fp;            /* floating-point instructions of the code's operation */
};

/* The widest known core, for a code's vector width and operation. */
static void find_limits(const struct carm_measurement *m, struct limits *limits)
{
    const struct carm_code_spec *s = &m->code->spec;
    const unsigned width = carm_isa_vector_bytes(s->isa, s->precision);
    /* Loads: Golden Cove 3 x 32 or 2 x 64 byte, Zen 5 4 scalar or 2 x 64 byte. Stores: Golden Cove
     * and Zen 5 2 x 32 or 1 x 64 byte. FP: two pipes multiply, two add; where adds have pipes of
     * their own (Zen, Golden Cove) `mad` uses both kinds.
     * source: Intel, Optimization Reference Manual (248966), Golden Cove; AMD, Software Optimization
     * Guide for the Zen5 Microarchitecture (58455) */
    limits->loads = width == 64 ? 2.0 : width == 32 ? 3.0 : 4.0;
    limits->stores = width == 64 ? 1.0 : 2.0;
    limits->fp = s->op == CARM_MAD ? 4.0 : 2.0;
}

bool carm_limits_check(const struct carm_measurement *m, char *note, size_t size)
{
    static const double tolerance = 1.005;
    const struct carm_account *a = &m->code->account;
    struct limits limits;
    find_limits(m, &limits);
    const double cycles =
        m->seconds.median * m->clock_hz / ((double)m->shape.iterations * (double)m->shape.passes);
    const struct {
        const char *what;
        double rate, limit;
    } checks[] = {
        {"loads", (double)a->loads / cycles, limits.loads},
        {"stores", (double)a->stores / cycles, limits.stores},
        {"floating-point instructions", (double)a->fp_instructions / cycles, limits.fp},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++) {
        if (checks[i].rate > checks[i].limit * tolerance) {
            (void)snprintf(note, size,
                           "%.3f %s a cycle are more than the %.0f of any known core: the clock "
                           "was misread",
                           checks[i].rate, checks[i].what, checks[i].limit);
            return true;
        }
    }
    return false;
}
