/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The numbers that the bounds of an iteration are made of (models/verdict/bounds.h): from the code of a loop or a
 * function, the machine's latencies, and the lines of simulated caches. */
#pragma once

#include "harness/profile/astray.h"
#include "run/verdict.h"

/* Iterations beyond which the entries of a loop do not show: more than a core has in flight. */
#define CARM_RUN_MANY_TRIPS 256.0

/* What the bounds of a loop's iteration are made of, from its code: units, instructions, ports, chain. Pure but for
 * memory; for tests.
 * code    iterations > 0
 * units   out: [CARM_RUN_UNITS_MAX], borrowed by `in`
 * chain   out: the text that `in` borrows
 * returns 0 or -CARM_ENOMEM */
enum { CARM_RUN_UNITS_MAX = 96, CARM_RUN_CHAIN_MAX = 128 };
int carm_run_code_input(const struct carm_flow_code *code, struct carm_graph *graph,
                        struct carm_bounds_input *in, struct carm_bounds_unit *units,
                        char chain[CARM_RUN_CHAIN_MAX], struct carm_err *err);

/* Cycles of instructions, from one result to the next; for tests. */
void carm_run_latencies(const struct carm_rates *rates, struct carm_graph_latencies *l);

/* Adds the cycles of an iteration where the instructions in flight are bounded, which a loop of few iterations leaves
 * before its longest chain shows.
 * trips  iterations of an entry; 0 = many, or not known
 * returns 0 or -CARM_ENOMEM */
int carm_run_code_window(const struct carm_flow_code *code, double trips,
                         struct carm_bounds_input *in, struct carm_err *err);

/* Adds the lines and bytes of simulated caches, and the chains and walks that they lengthen; for tests.
 * code     iterations > 0
 * graph    of the code, as carm_run_code_input leaves it
 * figures  of the code's row
 * seconds  of an iteration
 * v        out: accesses, stride, leaps, scattered
 * returns 0 or -CARM_ENOMEM */
int carm_run_memory_input(const struct carm_run *run, const struct carm_flow_code *code,
                          double trips, double seconds, struct carm_graph *graph,
                          const struct carm_run_levels *levels,
                          const struct carm_run_figures *figures, struct carm_bounds_input *in,
                          struct carm_run_verdict *v, struct carm_err *err);

/* Adds the mispredictions of a number of iterations. */
void carm_run_astray_input(struct carm_bounds_input *in, const struct carm_astray *a,
                           double iterations);

/* Sets the bytes of string instructions: those of the code that no other instruction moves.
 * counts  of all iterations */
void carm_run_strings_input(const struct carm_flow_code *code,
                            const struct carm_step_counts *counts, struct carm_bounds_input *in);

/* Sets the rates of gathers in L1 and of lines between cores, of the model. */
void carm_run_rates_input(struct carm_bounds_input *in);
