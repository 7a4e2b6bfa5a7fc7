/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm study gemm: the parts of one study and what they hand to each other. */
#ifndef CARM_KERNELS_GEMM_STUDY_H
#define CARM_KERNELS_GEMM_STUDY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "kernels/study/words.h"
#include "harness/count/quantities.h"
#include "harness/cpu.h"
#include "kernels/gemm/plan.h"
#include "kernels/gemm/run.h"
#include "models/model.h"
#include "models/place/place.h"

enum {
    CARM_GEMM_LIBRARY = CARM_GEMM_VERSIONS, /* index of the first library's point */
    CARM_GEMM_STEPS = CARM_GEMM_VERSIONS + CARM_BLAS_KINDS,
};

/* One measured variant. */
struct carm_gemm_point {
    bool known;
    bool kept;      /* from a study that was stopped */
    bool disturbed; /* other programs took the processors meanwhile */
    char name[64];  /* in the file: "gemm-2304-3-L3" */
    char what[CARM_GEMM_WHAT_MAX];
    char blocks[64];              /* "L3 117x116x-", "-" = none */
    char isa[16];                 /* of its kernel, "" = the library's own choice */
    char detail[80];              /* of a library: how its bytes were counted, or why not */
    enum carm_gemm_access access; /* not of a library */
    double flops;                 /* executed; of a library 2 n^3 */
    double bytes;                 /* that the cores load and store; 0 = unknown */
    double dram_bytes;
    bool dram_counted; /* by the memory controllers' counters; false = estimated */
    double seconds, fastest, slowest;
    double error; /* against the reference, of its largest element */
    int reps;
    size_t rows; /* of C that were computed */
    enum carm_counted bytes_by;
    bool has_aware, has_original;
    struct carm_place aware, original;
};

struct carm_gemm_study {
    struct carm_model *model;       /* owned */
    const struct carm_roofs *roofs; /* borrowed from model */
    char roofs_note[CARM_TEXT_MAX]; /* what had to be chosen otherwise */
    size_t n;
    int threads;
    enum carm_isa isa;
    struct carm_gemm_kernels kernels;
    struct carm_gemm_caches caches;                /* of one thread */
    double llc_bytes;                              /* of one thread: the last cache before memory */
    struct carm_gemm_point steps[CARM_GEMM_STEPS]; /* versions 1 to 5, then libraries */
    char left_out[CARM_GEMM_STEPS][256];           /* why a step is not known */
    struct carm_gemm_plan *plans;                  /* [nvariants] owned, as variants */
    struct carm_gemm_point *variants;
    size_t nvariants;
    size_t kept;
    char reference[64]; /* what results were compared with, "" = nothing was to be compared */
    double seconds;     /* that measuring took */
    bool interrupted;
    char dram_lacks[256]; /* why DRAM bytes are estimated, "" = they are counted */
};

/* ---- study_gemm_plan.c ------------------------------------------------------------------------- */

/* The words alone, before any file or machine is looked at: 0 or -CARM_EINVAL. */
int carm_gemm_study_words(struct carm_gemm_study *study, const struct carm_study_words *words,
                          struct carm_err *err);

/* Threads, kernels, caches, roofs and variants from the words and study->model.
 * returns 0; -CARM_EINVAL; -CARM_ENOTSUP (this CPU or model lacks it); -CARM_ENOMEM */
int carm_gemm_study_plan(struct carm_gemm_study *study, const struct carm_study_words *words,
                         const struct carm_cpu *cpu, const struct carm_topo *topo,
                         struct carm_err *err);

/* "gemm-2304-3-L3" */
void carm_gemm_point_name(char dst[64], size_t n, const char *plan);

/* Fills in the places on both models, as far as bytes are known. */
void carm_gemm_point_place(const struct carm_gemm_study *study, struct carm_gemm_point *point);

static inline double carm_gemm_performance(const struct carm_gemm_point *p)
{
    return p->flops / p->seconds;
}

/* Relative half-width of the repetitions' range: the error of a time. */
static inline double carm_gemm_spread(const struct carm_gemm_point *p)
{
    return 0.5 * (p->slowest - p->fastest) / p->seconds;
}

/* ---- study_gemm_measure.c ---------------------------------------------------------------------- */

/* Measures every point that is not known yet; libraries first, as results are compared with theirs.
 * path  NULL, or the file that each point is appended to
 * returns 0, also when interrupted (study->interrupted) */
int carm_gemm_study_measure(struct carm_gemm_study *study, const struct carm_cpu *cpu,
                            const struct carm_topo *topo, const struct carm_clock *clock,
                            const char *path, struct carm_err *err);

/* ---- study_gemm_rows.c ------------------------------------------------------------------------- */

/* Takes the points of an earlier run of this very study: same name, threads, ISA and blocks. */
int carm_gemm_rows_read(struct carm_gemm_study *study, const char *path, struct carm_err *err);

/* path  NULL = nothing is written */
int carm_gemm_rows_append(const struct carm_gemm_study *study, const struct carm_gemm_point *point,
                          const char *path, struct carm_err *err);

/* ---- study_gemm_facts.c ------------------------------------------------------------------------ */

/* What the paper says of figure 9, as this machine shows it. */
struct carm_gemm_facts {
    double tile_intensity; /* of the micro-kernel's loop alone, flop/byte */
    double intensity_low, intensity_high, deviation; /* of versions 1 to 5; from the tile's */
    double dram_low, dram_high;                      /* intensities of the original model */
    double extra_flops; /* largest share of executed flops beyond 2 n^3 */
    bool rises;         /* from step to step, the library included */
    int falls_at;       /* first step (1 ..) that is slower than the one before; 0 = none */
    double steps_up[CARM_GEMM_STEPS]; /* times the step before; 0 = unknown */
    struct {
        char level[CARM_NAME_MAX];
        double ceiling, share; /* flop/s that the level's slope and the peak allow; of it */
        bool holds;            /* at or below it within its error */
        bool known;
    } blocked[3];                         /* versions 3 to 5 */
    bool aware_compute, original_compute; /* step 1 lies right of that model's ridge */
    double peak, library_share;           /* flop/s; the best library's part of it; 0 = unknown */
    int library;                          /* index of that step, -1 = none */
    double dram_implied; /* byte/s, largest that an estimate implies, of versions 1 to 5 */
    int dram_implied_by; /* version, 1 .. */
    double dram_peak;    /* byte/s, measured */
};

void carm_gemm_facts(const struct carm_gemm_study *study, struct carm_gemm_facts *facts);

/* ---- study_gemm_print.c, study_gemm_json.c, study_gemm_plot.c ------------------------------------ */

void carm_gemm_study_print(FILE *out, const struct carm_gemm_study *study);

/* returns 0 or -CARM_ENOMEM */
int carm_gemm_study_json(FILE *out, const struct carm_gemm_study *study, struct carm_err *err);

/* Figure 9, with variants figure 10: svg, png or pdf by the name's end. */
int carm_gemm_study_plot(const struct carm_gemm_study *study, const char *path,
                         struct carm_err *err);

#endif
