/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A loop of a shared library (hot.c). */
#include "tests/harness/profile/hot.h"

void hot_library(uint64_t n, double *at);

void hot_library(uint64_t n, double *at)
{
    LOOP(n, at, LIGHT);
}
