/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The steps of the cache-aware paper's figure 9 on this machine: the measurements, and the
 * figure's observations checked on them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "harness/machine/cpu.h"
#include "kernels/gemm/plan.h"
#include "kernels/gemm/run.h"
#include "kernels/gemm/traffic.h"
#include "kernels/study/study.h"

enum {
    CARM_GEMM_LIBRARY = CARM_GEMM_VERSIONS, /* index of the first library's point */
    CARM_GEMM_STEPS = CARM_GEMM_VERSIONS + CARM_BLAS_KINDS,
    CARM_GEMM_WIDTHS = CARM_WIDTH_COUNT - 1, /* vectors of 16, 32, 64 bytes */
};

/* One measured variant. */
struct carm_gemm_point {
    bool known;
    bool kept;      /* from a study that was stopped */
    bool disturbed; /* other programs took the processors meanwhile */
    char name[64];  /* in the file: "gemm-2304-3-L3" */
    char what[CARM_GEMM_WHAT_MAX];
    char blocks[64]; /* "L3 117x116x-", "-" = none */
    char isa[16];    /* of its kernel, "" = the library's own choice */
    char detail[80]; /* of a library: how its bytes were counted, or why they were not */
    enum carm_gemm_access access;           /* not of a library */
    double flops;                           /* executed; of a library 2 n^3 */
    double bytes;                           /* that the cores load and store; 0 = unknown */
    double dram_bytes, dram_low, dram_high; /* 95% confidence interval; 0 = unknown */
    enum carm_counted dram_by;              /* constructed: the least that any program moves */
    double seconds, fastest, slowest;
    double error; /* against the reference, of its largest element */
    int reps;
    size_t rows; /* of C that were computed */
    enum carm_counted bytes_by;
    bool has_aware, has_original;
    struct carm_place aware, original;
};

/* Counts of a library's product in int8 or bf16 beside its point. */
struct carm_gemm_narrow {
    char library[32];     /* "oneDNN 2.6.3" */
    char library_isa[32]; /* chosen by the library: "avx2", "avx512_core_vnni" */
    bool has_dot;         /* this CPU has dot products of the precision, in vectors or tiles */
    bool counted;         /* the next members: of the whole product, by stepping */
    double instructions;
    double vectors;    /* instructions on vectors of integers, or of floating point */
    double operations; /* on integers, that make sums of products; 0 in bf16 */
    /* instructions that multiply 8 or 16 bits (vpmaddubsw, vpmaddwd); 0 = unknown */
    double products;
    int width; /* of nearly all vectors: 0 to 2 for 16, 32, 64 bytes; -1 = several */
    /* The core in data/microarchitectures.json; rates in instructions a cycle, 0 = not known. */
    char core[48];
    double issue;
    double multiplies[CARM_GEMM_WIDTHS]; /* multiplications of 16 bits, by width of the vectors */
};

struct carm_gemm_study {
    struct carm_study base;         /* first */
    enum carm_precision precision;  /* dp; other precisions have one step, the library's */
    struct carm_gemm_narrow narrow; /* not of dp */
    size_t n;
    enum carm_isa isa;
    struct carm_gemm_kernels kernels;
    struct carm_gemm_caches caches;         /* of one thread */
    struct carm_hierarchy_config hierarchy; /* simulated; nlevels 0 = not known */
    char hierarchy_text[CARM_CACHES_TEXT_MAX];
    struct carm_gemm_point steps[CARM_GEMM_STEPS]; /* versions 1 to 5, then libraries */
    char left_out[CARM_GEMM_STEPS][256];           /* why a step is not known */
    size_t late;                                   /* variants for which the budget had no time */
    struct carm_gemm_plan *plans;                  /* [nvariants]; owned, like variants */
    struct carm_gemm_point *variants;
    size_t nvariants;
    char reference[64]; /* the reference that results were compared with, "" = nothing was to be
                         * compared */
};

/* "gemm-2304-3-L3" */
void carm_gemm_point_name(char dst[64], size_t n, const char *plan);

/* Measures a study in int8 or bf16, once its roofs are chosen. returns as carm_gemm_study_measure */
int carm_gemm_narrow_measure(struct carm_gemm_study *study, const struct carm_host *host,
                             const char *path, struct carm_err *err);

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

/* path  NULL = nothing is written */
int carm_gemm_rows_append(const struct carm_gemm_study *study, const struct carm_gemm_point *point,
                          const char *path, struct carm_err *err);

/* Plans a study in int8 or bf16: checks that this CPU, its model and a library have the precision, and reads the
 * core's figures. returns 0, or -CARM_ENOTSUP with the command or package that brings the missing part */
int carm_gemm_narrow_plan(struct carm_gemm_study *study, const struct carm_cpu *cpu,
                          struct carm_err *err);

/* For struct carm_study_ops. */
int carm_gemm_study_measure(struct carm_study *base, const struct carm_host *host, const char *path,
                            struct carm_err *err);

/* ---- facts ------------------------------------------------------------------------------------ */

/* The observations of the paper's figure 9 on this machine. */
struct carm_gemm_facts {
    double tile_intensity; /* of the micro-kernel's loop alone, flop/byte */
    double intensity_low, intensity_high,
        deviation;              /* of versions 1 to 5; deviation from the tile's */
    double dram_low, dram_high; /* intensities of the original model */
    double extra_flops;         /* largest share of executed flops beyond 2 n^3 */
    bool rises;                 /* from step to step, the library included */
    int falls_at;               /* first step (1 ..) that is slower than the one before; 0 = none */
    double steps_up[CARM_GEMM_STEPS]; /* times the step before; 0 = unknown */
    struct {
        char level[CARM_NAME_MAX];
        double ceiling, share; /* flop/s that the level's slope and the peak allow; reached share
                                * of this ceiling */
        bool holds;            /* the step is at or below the ceiling, within its error */
        bool known;
    } blocked[3]; /* versions 3 to 5 */
    bool aware_compute,
        original_compute;       /* step 1 lies right of the cache-aware, original model's ridge */
    double peak, library_share; /* flop/s; share of it that the best library reaches; 0 = unknown */
    int library;                /* step of the best library, -1 = none */
    double dram_implied;        /* byte/s of versions 1 to 5 by simulated bytes, the largest */
    int dram_implied_by;        /* version, 1 .. */
    double dram_peak;           /* byte/s, measured */
};

void carm_gemm_facts(const struct carm_gemm_study *study, struct carm_gemm_facts *facts);

/* The share of one resource of the cores that a library's product in int8 or bf16 takes. */
struct carm_gemm_use {
    const char *what; /* "issue" */
    double share;     /* least share of the library's time, if the resource alone limited it */
    char how[128];    /* "1.2e+10 instructions, 6 a cycle (Zen 3)" */
};

struct carm_gemm_narrow_facts {
    const struct carm_compute_roof *peak; /* highest roof of the precision; NULL = unknown */
    const char *peak_isa;
    double share; /* reached share of the peak */
    bool enough;  /* the share is at least CARM_GEMM_ENOUGH */
    /* operations on integers that the library executes for each operation of the product; 0 = unknown */
    double beside;
    struct carm_gemm_use uses[4]; /* the largest share first */
    size_t nuses;
};

/* Share of a roof that a library is expected to reach. Chosen by hand. */
#define CARM_GEMM_ENOUGH 0.8

void carm_gemm_narrow_facts(const struct carm_gemm_study *study,
                            struct carm_gemm_narrow_facts *facts);

/* Takes a row of points.csv, if it is a point of this study. For struct carm_study_ops. */
void carm_gemm_take_row(struct carm_study *base, const struct carm_point *row);
