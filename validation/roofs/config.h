/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The configuration of `carm build`. */
#pragma once

#include "asm/code.h"
#include "harness/machine/cpu.h"
#include "harness/machine/topo.h"
#include "models/ceilings.h"
#include "models/winners.h"
#include "validation/options.h"

struct carm_build_config {
    enum carm_isa isas[CARM_ISA_COUNT]; /* widest first; the curve of the first finds the levels */
    size_t nisas;
    /* the first nwhole ISAs get all their roofs, the others the roofs of carm_build_wants_roof */
    size_t nwhole;
    enum carm_precision precisions[CARM_PRECISION_COUNT];
    size_t nprecisions;
    /* the first nleading precisions get roofs of memory, too; the others computation alone, see
     * carm_build_wants_compute */
    size_t nleading;
    bool absent[CARM_PRECISION_COUNT];    /* requested, but in no ISA of this CPU */
    struct carm_mix mixes[CARM_LIST_MAX]; /* the first is the model's */
    size_t nmixes;
    enum carm_op ops[CARM_OP_COUNT];
    size_t nops;
    int threads[CARM_LIST_MAX]; /* ascending */
    size_t nthreads;
    struct carm_level_list levels;
    size_t reps;
    bool quick;
    bool latency;          /* measure latencies, too (validation/latency/) */
    bool scaling;          /* measure bandwidth and peak over the number of threads, too */
    double budget_seconds; /* the build ends after this time, with the roofs measured so far */
    uint64_t memory_bytes; /* for the buffers of all threads */
    int curve_steps;       /* points of the curve per octave */
    bool ceilings[CARM_CEILING_GROUP_COUNT]; /* groups of the Roofline paper's ceilings */
    const struct carm_winners *known;        /* earlier searches' codes, borrowed; NULL = none */
    char machine[48];                        /* name of this machine in the file of winners:
                                              * carm_winner_machine */
    /* search among more candidates and store the winners here; NULL = no search */
    struct carm_winners *found;
};

/* The words of the command line, NULL where not given. */
struct carm_build_words {
    const char *isa, *precision, *ldst, *ops, *threads, *levels, *reps, *quick, *memory, *budget;
    const char *ceilings; /* "" = all groups */
    const char *search;
    const char *latency; /* "yes" or "no" */
    const char *scaling;
};

/* Fills in defaults and checks everything against this machine, whose threads it lays out
 * (carm_topo_threads).
 * returns 0; -CARM_EINVAL (misuse); -CARM_ENOTSUP (this CPU does not have it); -CARM_ENOMEM */
int carm_build_configure(struct carm_build_config *config, const struct carm_build_words *words,
                         const struct carm_cpu *cpu, struct carm_topo *topo, struct carm_err *err);

/* Refuses a word of --memory that is not a size for carm_number_bytes. returns -CARM_EINVAL */
int carm_build_no_size(const char *word, struct carm_err *err);

/* Default memory of the buffers: half of the available memory, or less if the rest is too small
 * for carm itself. */
uint64_t carm_build_usual_memory(void);

/* The part of carm_build_configure that decides on the test codes: ISAs, precisions, mixes,
 * operations, ceilings, quick. The result depends only on the instructions that the CPU has. */
int carm_build_configure_codes(struct carm_build_config *config,
                               const struct carm_build_words *words, const struct carm_cpu *cpu,
                               struct carm_err *err);

/* Whether --levels asks for a level. level: index in topo->caches, or the next index: memory */
bool carm_build_wants_level(const struct carm_build_config *config, const struct carm_topo *topo,
                            size_t level);

/* Whether an ISA (by its place in the list) gets roofs of a mix on a level (0 = L1, of n).
 * Non-temporal stores bypass the caches and have roofs only in memory. The ISAs beyond nwhole get
 * roofs of the model's mix on all levels. ISAs of 32 bytes and more get the other mixes, too, but
 * for updates beyond L1; narrower ISAs get them in the two inner caches, where the width of an
 * access matters. */
bool carm_build_wants_roof(const struct carm_build_config *config, size_t isa,
                           const struct carm_mix *mix, size_t level, size_t n);

/* Whether an ISA gets roofs of computation in a precision (by their places in the lists). The
 * precisions beyond nleading get roofs of computation for vectors: a vector of sp moves as many bytes
 * as one of dp, so the roofs of memory are dp's (carm_scaling_fill). Scalar sp moves half as many and
 * is left to carm run and place, which measure a set that a program needs (lacking.h). */
bool carm_build_wants_compute(const struct carm_build_config *config, size_t isa, size_t precision);

/* Whether this CPU's ISA gets a roof of an operation in a precision. If the CPU has fma, precisions beyond nleading get
 * no mad: it settles in schedules of 94 to 100% of its best (Zen 4), and a few rounds do not separate these. */
bool carm_build_wants_op(const struct carm_build_config *config, const struct carm_cpu *cpu,
                         size_t isa, size_t precision, enum carm_op op);

/* Whether any group of ceilings is asked for. */
bool carm_build_wants_ceilings(const struct carm_build_config *config);

/* The precision in which ceilings are measured: double if requested, else the first. */
enum carm_precision carm_build_ceilings_precision(const struct carm_build_config *config);
