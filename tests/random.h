/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random numbers of a known seed. */
#pragma once

#include <gsl/gsl_rng.h>

#include "tests/unit.h"

CLOSED_BY(gsl_rng_free)

/* Valid until the test ends. */
static inline gsl_rng *random_of(unsigned long seed)
{
    gsl_rng *rng = gsl_rng_alloc(gsl_rng_mt19937);
    assert_non_null(rng);
    gsl_rng_set(rng, seed);
    return closed_later(by_gsl_rng_free, rng);
}
