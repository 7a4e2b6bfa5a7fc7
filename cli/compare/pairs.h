/* SPDX-License-Identifier: GPL-3.0-or-later */
#pragma once

#include <stdbool.h>

#include "run/pairs.h"

/* Exit status: the measured runs cannot be compared. */
enum { CARM_COMPARE_INCOMPARABLE = 3 };

struct carm_compare_pairs {
    struct carm_pairs_how how;
    bool json, ascii;
};

/* Runs the commands in pairs, prints the results and judges them. returns the exit status */
int carm_compare_pairs_run(const struct carm_compare_pairs *job);
