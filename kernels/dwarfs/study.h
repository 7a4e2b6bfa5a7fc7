/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The kernels of the Roofline paper on this machine, with the rows of the paper's table 4. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "kernels/context.h"
#include "kernels/repeat.h"
#include "kernels/study/study.h"
#include "models/caches/machine.h"
#include "models/caches/three_cs.h"
#include "models/ceilings.h"

enum { CARM_DWARF_ITEMS_MAX = 16 };

enum carm_dwarf_kernel {
    CARM_DWARF_SPMV,
    CARM_DWARF_LBMHD,
    CARM_DWARF_STENCIL,
    CARM_DWARF_FFT,
    CARM_DWARF_TRANSPOSE,
    CARM_DWARF_KERNELS
};

/* One measured case. */
struct carm_dwarf_point {
    bool known;
    bool kept; /* from a study that was stopped */
    char size[64];
    char isa[16]; /* of its kernel, "" = the library's own choice */
    struct carm_dwarf_work work;
    struct carm_run_times times; /* dram_bytes 0: compulsory bytes are used */
    double error;                /* against the reference, of its largest value */
    char checked_by[96];
    bool has_aware, has_original, has_sandwich;
    struct carm_place aware, original;
    struct carm_ceiling_around upper, lower; /* among the ceilings of its kernel */
};

/* Result of the simulated last cache for a case (section 5). */
struct carm_dwarf_misses {
    bool known;
    char size[64];
    double accesses;
    struct carm_three_cs cs;
    char lacks[200]; /* why the misses are not known; "" = not simulated */
};

/* A kernel, a version and a size: the plan of a measurement and its result. */
struct carm_dwarf_item {
    enum carm_dwarf_kernel kernel;
    bool optimised;
    size_t n;      /* points along an edge; 0 for SpMV */
    char name[96]; /* "dwarf-stencil-256-optimised" */
    struct carm_dwarf_point point;
    struct carm_dwarf_misses misses; /* simulated with a modest size of the case */
    char left_out[256];              /* why it was not measured */
};

struct carm_dwarf_study {
    struct carm_study base; /* first */
    bool has_ceilings;      /* the model has ceilings (carm build --ceilings); else roofs alone */
    struct carm_ceilings ceilings[2]; /* by enum carm_ceilings_order */
    struct carm_ceilings moves;       /* of memory alone: for kernels without flops */
    const char *matrix;               /* file of SpMV, NULL = built in */
    struct carm_cpu limited;          /* the CPU as far as --isa allows */
    double cache_bytes[3];            /* of one thread: L1, L2 and the last cache before memory */
    double llc_all_bytes;             /* last cache of all threads, at least a single thread's */
    struct {
        double low, high; /* operations/byte, table 2 */
    } printed[CARM_DWARF_KERNELS];
    struct carm_hierarchy_config caches; /* simulated: of one core; nlevels 0 = not known */
    char caches_text[CARM_CACHES_TEXT_MAX];
    struct carm_dwarf_item items[CARM_DWARF_ITEMS_MAX];
    size_t nitems;
};

/* "SpMV", "LBMHD", ...; "spmv", ...: for people and for names */
extern const char *const carm_dwarf_titles[CARM_DWARF_KERNELS];
extern const char *const carm_dwarf_words[CARM_DWARF_KERNELS];

/* Bytes between the last cache and memory: counted, else compulsory. */
double carm_dwarf_point_dram_bytes(const struct carm_dwarf_point *point);

/* The ceilings under which a kernel is placed: SpMV is balanced by nature, a transpose does no flops. */
const struct carm_ceilings *carm_dwarf_ceilings(const struct carm_dwarf_study *study,
                                                enum carm_dwarf_kernel kernel);

/* Fills in the places on both models and the sandwich. */
void carm_dwarf_point_place(const struct carm_dwarf_study *study, struct carm_dwarf_item *item);

/* Opens the case of an item. small: a modest size for the simulation of caches
 * returns 0; -CARM_ENOMEM and others: why the case cannot run here */
int carm_dwarf_case_open(const struct carm_dwarf_study *study, const struct carm_dwarf_item *item,
                         bool small, struct carm_team *team, struct carm_dwarf_case **out,
                         struct carm_err *err);

/* path  NULL = nothing is written */
int carm_dwarf_rows_append(const struct carm_dwarf_study *study, const struct carm_dwarf_item *item,
                           const char *path, struct carm_err *err);

/* For struct carm_study_ops. */
int carm_dwarf_study_measure(struct carm_study *base, const struct carm_host *host,
                             const char *path, struct carm_err *err);

/* Takes a row of points.csv, if it is a point of this study. For struct carm_study_ops. */
void carm_dwarf_take_row(struct carm_study *base, const struct carm_point *row);
