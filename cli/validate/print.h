/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A validation as text. */
#pragma once

#include "models/model.h"
#include "models/theory.h"

/* The theory with which the roofs are compared. */
struct carm_validate_theory {
    const struct carm_microarchitecture *entry; /* NULL = unknown */
    bool by_cpuid;                              /* looked up, not given */
    bool by_isa;          /* CPUID's family and model lack an ISA of this CPU */
    bool virtual_machine; /* CPUID's family and model may be false */
};

/* Prints to standard output: a sentence with the answer, the table of fitness, notes.
 * reps     number of repetitions behind each point
 * theory   if given by the user (not by_cpuid), the table of roofs follows for each set
 * verbose  worst points, roofs, fits and theory of each set follow */
void carm_validate_print(const struct carm_model *model, const struct carm_validation_set *sets,
                         size_t n, size_t reps, const struct carm_validate_theory *theory,
                         bool verbose);

/* Help of --counters, also for `carm build`. */
#define CARM_COUNTERS_HELP                                                                         \
    "What counts the test codes, to compare the counts with their construction: auto (papi, else " \
    "likwid, else nothing), papi, likwid, step (single-stepping, exact), none."

/* A line or a few about the model's checks of counters, to standard output; nothing when there are
 * none. */
void carm_count_checks_print(const struct carm_model *model);
