/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The verdict on each part of a program: its counts, code, samples and simulated caches become lower bounds of its
 * time (models/verdict/bounds.h). */
#pragma once

#include "harness/profile/astray.h"
#include "harness/profile/graph.h"
#include "harness/profile/profile.h"
#include "models/place/settings.h"
#include "models/verdict/verdict.h"
#include "run/count.h"
#include "run/levels.h"

/* How a load or store of an iteration moves, and the lines that it brings. */
struct carm_run_access {
    uint64_t at; /* of the instruction: offset in its file */
    bool stores;
    enum carm_access_pattern pattern;
    int64_t stride;    /* bytes of an iteration */
    double executions; /* of an iteration */
    double lines;      /* simulated: lines that an execution brings into L1 */
};

enum { CARM_RUN_ACCESSES_MAX = 8 };

struct carm_run_verdict {
    bool has;
    struct carm_verdict verdict;
    /* accesses that bring most lines, from the largest; none unless caches were simulated */
    struct carm_run_access accesses[CARM_RUN_ACCESSES_MAX];
    size_t naccesses;
    /* bytes by which the farthest load or store moves in an iteration; 0 = less than a line */
    int64_t stride;
    /* how many threads saturate the level that limits the part, or which part of the kernel's time page faults take: a
     * clause; "" = all threads, or not known */
    char note[160];
    double used;    /* used share of the bytes of the lines that come into L1; 0 = not known */
    bool leaps;     /* a load or store moves by lines, by a number in a register */
    bool scattered; /* a load or store goes to addresses made of loaded or computed numbers */
};

/* A verdict for each row of the profile. Rows without time or without code have none.
 * levels  NULL = not simulated
 * model   NULL = none: rates are the published ones, and memory has no rates
 * theory  of this processor; NULL = not known
 * out     [profile->nrows] to be freed
 * returns 0 or -CARM_ENOMEM */
int carm_run_verdicts(struct carm_run_verdict **out, const struct carm_run *run,
                      const struct carm_profile *profile, const struct carm_run_levels *levels,
                      const struct carm_model *model, const struct carm_microarchitecture *theory,
                      struct carm_err *err);

/* The share of the program's time that one limit explains: the sum over all parts of each part's largest bound, also
 * where the rest of the part's time is unexplained. */
struct carm_run_cause {
    enum carm_limit limit;
    double share;  /* of the processor time */
    bool estimate; /* most of the share is estimated */
};

/* verdicts  [profile->nrows]
 * out       [CARM_LIMITS] from the largest
 * returns their number */
size_t carm_run_causes(const struct carm_profile *profile, const struct carm_run_verdict *verdicts,
                       struct carm_run_cause *out);

/* Puts the verdict into the columns of a row of points.csv. */
void carm_run_verdict_row(const struct carm_run_verdict *of, struct carm_row *row);

/* ---- a changed machine ---- */

/* carm run --set: the gain of each part of a program, by its lower bounds on this and on the changed machine. */
struct carm_run_changed {
    struct carm_settings changes;
    struct carm_run_change {
        bool known;            /* a bound explains its time today */
        enum carm_limit limit; /* of the changed machine */
        struct carm_verdict_gain loop;
    } * parts;                        /* [nrows] of the profile; to be freed */
    struct carm_verdict_gain program; /* parts that are not known stay as they are */
    double known;                     /* share of the program's time in known parts */
    const struct carm_run_simulation *caches,
        *today; /* borrowed of the levels; NULL = the caches are the same */
};

/* changed  in: the changes; out: the rest
 * today    [profile->nrows]
 * levels   as for carm_run_verdicts; results simulated for changed caches are used, if there
 * model    the changed one
 * returns 0 or -CARM_ENOMEM */
int carm_run_change(struct carm_run_changed *changed, const struct carm_run *run,
                    const struct carm_profile *profile, const struct carm_run_verdict *today,
                    const struct carm_run_levels *levels, const struct carm_model *model,
                    const struct carm_microarchitecture *theory, struct carm_err *err);

/* ---- the numbers of an iteration, of which its bounds are made (models/verdict/bounds.h): run/iteration.c ---- */

/* From this number of iterations on, the entries of a loop have no effect: a core has fewer in flight. */
#define CARM_RUN_MANY_TRIPS 256.0

/* The inputs of the bounds of a loop's iteration, from its code: units, instructions, ports, chain. Pure but for
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

/* Adds the cycles of an iteration with a limited number of instructions in flight: a loop of few iterations ends before
 * its longest chain limits it.
 * trips  iterations of an entry; 0 = many, or not known
 * returns 0 or -CARM_ENOMEM */
int carm_run_code_window(const struct carm_flow_code *code, double trips,
                         struct carm_bounds_input *in, struct carm_err *err);

/* Adds the lines and bytes of simulated caches, and the chains and walks that they lengthen; for tests.
 * code     iterations > 0
 * graph    of the code, from carm_run_code_input
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

/* Sets the bytes of string instructions: the bytes of the code that no other instruction loads or stores.
 * counts  of all iterations */
void carm_run_strings_input(const struct carm_flow_code *code,
                            const struct carm_step_counts *counts, struct carm_bounds_input *in);

/* Sets the rates of gathers in L1 and of lines between cores, of the model. */
void carm_run_rates_input(struct carm_bounds_input *in);
