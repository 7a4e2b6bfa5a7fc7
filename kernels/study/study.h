/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by all studies: the user's choices, the beginning of every study, and its file of
 * points. */
#pragma once

#include <stdbool.h>

#include "asm/code.h"
#include "harness/count/row.h"
#include "harness/machine/dram.h"
#include "harness/place/host.h"
#include "models/caches/machine.h"
#include "models/file/points.h"
#include "models/model.h"
#include "models/place/place.h"

/* The user's choices; 0 or NULL: the study's usual choice. */
struct carm_study_options {
    int threads;
    bool has_isa; /* false: the study's usual ISA */
    enum carm_isa isa;
    enum carm_precision precision; /* gemm: dp, int8, bf16 */
    size_t n;                      /* gemm: N = M = K; dwarfs: edge of the grids */
    size_t variants;               /* gemm: number of figure 10's variants */
    unsigned largest;              /* classes: the largest k of N = 2^k */
    double budget;                 /* seconds of the whole study, > 0 */
    unsigned kernels; /* dwarfs: bit 1 << enum carm_dwarf_kernel for each wanted kernel, 0 = all */
    const char *matrix; /* dwarfs: Matrix Market file of SpMV; borrowed, NULL = built in */
};

struct carm_study;

struct carm_study_ops {
    const char *name; /* "gemm" */
    size_t bytes;     /* of the study's own struct, which is all zero before plan */
    /* Chooses threads, ISA, roofs and the points to measure; study->model is open.
     * returns 0; -CARM_EINVAL; -CARM_ENOTSUP (this CPU or model cannot do it); -CARM_ENOMEM */
    int (*plan)(struct carm_study *study, const struct carm_study_options *options,
                const struct carm_host *host, struct carm_err *err);
    /* Takes a row of the file as a point, where the row is of this study. */
    void (*take)(struct carm_study *study, const struct carm_point *row);
    /* Measures every point that is not known yet.
     * path  NULL, or the file that each point is appended to
     * returns 0, also when interrupted (study->interrupted) */
    int (*measure)(struct carm_study *study, const struct carm_host *host, const char *path,
                   struct carm_err *err);
    /* returns 0 if there is a point to report; else err says why there is none */
    int (*has_points)(const struct carm_study *study, struct carm_err *err);
    void (*close)(struct carm_study *study); /* releases the memory of plan; NULL = nothing to
                                              * release */
};

/* Beginning of every study; a study's own struct begins with this. */
struct carm_study {
    const struct carm_study_ops *ops;
    struct carm_model *model;       /* of this machine; owned */
    const struct carm_roofs *roofs; /* borrowed from model */
    char roofs_note[CARM_TEXT_MAX]; /* why the study could not follow the user's choices */
    bool has_dram;                  /* the model has a bandwidth of DRAM, which a picture draws */
    int threads;
    size_t kept;    /* points that another run had measured */
    double budget;  /* seconds that measuring may take */
    double until;   /* end of the budget, on the clock of carm_seconds_now */
    double slow;    /* largest ratio of a work's time to its estimate, at least 1 */
    double seconds; /* of measuring */
    bool interrupted;
    char dram_lacks[256]; /* why DRAM bytes are not counted; "" = they are counted */
};

extern const struct carm_study_ops carm_gemm_study, carm_classes_study, carm_dwarfs_study;

/* A new study that takes the model.
 * returns 0 or -CARM_ENOMEM; closed by carm_study_close in any case */
int carm_study_open(struct carm_study **study, const struct carm_study_ops *ops,
                    struct carm_model *model, struct carm_err *err);
void carm_study_close(struct carm_study *study); /* NULL allowed */

/* ---- for studies ------------------------------------------------------------------------------ */

/* Chooses threads (usually one for each core), and roofs of a precision and this number of threads.
 * returns 0; -CARM_EINVAL (threads); -CARM_ENOTSUP (no compute roof) */
int carm_study_choose_roofs(struct carm_study *study, const char *precision, int threads,
                            const struct carm_topo *topo, struct carm_err *err);

/* The bytes that one of the threads has of cache level 1, 2, ..., by the model's measured knee
 * or the size that the OS reports, whichever is less; 0 = no such level. */
double carm_study_cache_bytes(const struct carm_model *model, int level,
                              const struct carm_topo *topo, int threads);

/* The model's caches as caches to simulate, with this machine's ways.
 * returns false: no size is known; out->nlevels is 0 */
bool carm_study_caches(const struct carm_model *model, const struct carm_topo *topo,
                       struct carm_hierarchy_config *out, char text[CARM_CACHES_TEXT_MAX]);

/* The memory controllers' counters, or NULL with the reason in study->dram_lacks. */
struct carm_dram *carm_study_open_dram(struct carm_study *study, const struct carm_cpu *cpu);

/* Call when measuring begins: starts the budget.
 * estimated_seconds  of all points that are left to measure, for the observer */
void carm_study_begin(struct carm_study *study, const struct carm_host *host,
                      double estimated_seconds);

/* Seconds of the budget that are left, at least 0. */
double carm_study_left(const struct carm_study *study);

/* The reason for work that is left out for lack of time. */
#define CARM_STUDY_LATE "the budget left no time: give more with --budget"

/* Whether the budget has time for work of estimated_seconds, if the machine is as slow as for the slowest earlier
 * work.
 * text  [size], gets CARM_STUDY_LATE where the time is too short */
bool carm_study_has_time(const struct carm_study *study, double estimated_seconds, char *text,
                         size_t size);

/* Notes work that is done, for carm_study_has_time.
 * begun  of the work: carm_seconds_now */
void carm_study_spent(struct carm_study *study, double begun, double estimated_seconds);

/* Ends measuring, whose result is rc: an interruption is no error.
 * returns 0, or rc */
int carm_study_measured(struct carm_study *study, struct carm_observer *observer, int rc);

/* ---- the file of points ----------------------------------------------------------------------- */

/* Whether the file may take rows: 0; -CARM_EIO (cannot be written, or it has points and resume is
 * false); -CARM_EFORMAT (a file of another kind). */
int carm_study_rows_check(const char *path, bool resume, struct carm_err *err);

/* Hands every measured point of a file to the study; a file that is not there, or empty, has none.
 * returns 0, or as carm_points_open and carm_points_next */
int carm_study_rows_read(struct carm_study *study, const char *path, struct carm_err *err);

/* A row with the members that all points share, to be filled in and appended. NULL: out of
 * memory. */
struct carm_row *carm_study_row(const struct carm_study *study, const char *name,
                                struct carm_err *err);

/* Appends a row of carm_study_row, which it frees. path: NULL = nothing is written */
int carm_study_row_append(struct carm_row *row, const char *path, struct carm_err *err);

/* Reads the number that follows a text in a note, and moves on.
 * at     in and out
 * returns false where there is no such text or number */
bool carm_study_note_number(const char **at, const char *text, double *value);
