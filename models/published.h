/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Machines, kernels and results printed in a paper, and ceilings made from them. Figures and the
 * source of each: data/roofline-2009.json.
 * source: Williams, Waterman, Patterson 2009, tables 1 to 4, sections 3 to 7, appendix A.1 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "models/ceilings.h"

enum {
    CARM_PUBLISHED_ID_MAX = 96,
    CARM_PUBLISHED_SOURCE_MAX = 320,
    CARM_PUBLISHED_REASON_MAX = 480,
    CARM_PUBLISHED_RESULTS_MAX = 16,
    CARM_PUBLISHED_FACTS_MAX = 24,
};

/* One figure; a number in SI units, or a word. */
struct carm_published_fact {
    char name[CARM_NAME_MAX];
    char text[CARM_NAME_MAX]; /* "" for a number */
    double value;             /* 0 for a word */
    char unit[CARM_NAME_MAX];
    char source[CARM_PUBLISHED_SOURCE_MAX];
};

/* Ceilings of one side, ascending; the last one is the roof. Names are as printed where the paper
 * prints one. */
struct carm_published_side {
    struct carm_ceiling list[CARM_CEILINGS_MAX];
    char sources[CARM_CEILINGS_MAX][CARM_PUBLISHED_SOURCE_MAX];
    size_t n; /* 0 = the paper has no such list */
};

/* A ceiling as a row of table 4 prints it. */
struct carm_published_bound {
    bool compute;             /* the type that the paper prints */
    char name[CARM_NAME_MAX]; /* "(none)" where nothing lies there */
    bool flops;               /* unit of the value: flop/s, else byte/s */
    double value;             /* 0 with "(none)" */
};

/* A row of table 4. */
struct carm_published_result {
    char kernel[CARM_NAME_MAX];
    struct carm_published_bound upper, lower;
    double performance; /* flop/s */
    double bandwidth;   /* byte/s */
    double intensity;   /* flop/byte, as printed */
};

struct carm_published_machine {
    char name[CARM_NAME_MAX]; /* "opteron-x4": the name in commands */
    char title[CARM_NAME_MAX];
    char figures[CARM_NAME_MAX]; /* figures of the paper with this machine */
    struct carm_published_fact facts[CARM_PUBLISHED_FACTS_MAX];
    size_t nfacts;
    struct carm_published_side memory, compute, compute_balance_bottom;
    struct carm_published_result results[CARM_PUBLISHED_RESULTS_MAX];
    size_t nresults;
    char note[CARM_PUBLISHED_REASON_MAX];
};

/* A row of table 2. */
struct carm_published_kernel {
    char name[CARM_NAME_MAX];
    char metric[16];  /* "flop", "exchange" */
    double low, high; /* operational intensity */
    bool balanced;    /* as many multiplies as adds by nature: balance is the bottom ceiling */
    char description[CARM_TEXT_MAX];
    char source[CARM_PUBLISHED_SOURCE_MAX];
};

/* Table 3 */
struct carm_published_optimisation {
    char name[CARM_NAME_MAX];
    char description[CARM_PUBLISHED_SOURCE_MAX];
};

/* A value or a row that contradicts other figures of the paper. */
struct carm_published_disagreement {
    char id[CARM_PUBLISHED_ID_MAX]; /* "xeon/LBMHD/upper": machine or "paper", row, quantity */
    char printed[CARM_TEXT_MAX];
    char computed[CARM_TEXT_MAX];
    char reason[CARM_PUBLISHED_REASON_MAX]; /* why, as far as the paper explains it */
};

struct carm_published {
    char paper[CARM_TEXT_MAX];
    char citation[CARM_NAME_MAX]; /* "Williams, Waterman, Patterson 2009" */
    char note[1024];
    struct carm_published_machine *machines;
    size_t nmachines;
    struct carm_published_kernel *kernels;
    size_t nkernels;
    struct carm_published_optimisation *optimisations;
    size_t noptimisations;
    struct carm_published_fact claims[CARM_PUBLISHED_FACTS_MAX]; /* figures that the text states for
                                                                  * all machines */
    size_t nclaims;
    struct carm_published_disagreement *disagreements;
    size_t ndisagreements;
};

void carm_published_close(struct carm_published *published); /* NULL allowed */

/* The machine of that name, upper and lower case alike; borrowed.
 * returns 0, or -CARM_EINVAL with the names that there are */
int carm_published_find(const struct carm_published *published, const char *name,
                        const struct carm_published_machine **out, struct carm_err *err);

/* The names of all machines: "opteron-x2, xeon, ...". returns dst */
char *carm_published_names(const struct carm_published *published, char *dst, size_t size);

/* The kernel of a name, or NULL; the number of a fact or claim, or 0. */
const struct carm_published_kernel *carm_published_kernel(const struct carm_published *published,
                                                          const char *name);
double carm_published_fact(const struct carm_published_machine *machine, const char *name);
double carm_published_claim(const struct carm_published *published, const char *name);

/* A machine's ceilings in the common form. If the paper has no list with the balance at the
 * bottom for the machine, the printed list is given. */
void carm_published_ceilings(const struct carm_published_machine *machine,
                             enum carm_ceilings_order order, struct carm_ceilings *out);

/* Places a row of table 4 among its machine's ceilings: balance at the bottom for kernels that are
 * balanced by nature, on top for others; at the printed intensity.
 * ceilings  out: the ceilings among which the kernel was placed
 * returns 0 or -CARM_EINVAL (no such kernel) */
int carm_published_place(const struct carm_published *published,
                         const struct carm_published_machine *machine,
                         const struct carm_published_result *result, struct carm_ceilings *ceilings,
                         struct carm_ceiling_around *upper, struct carm_ceiling_around *lower,
                         struct carm_err *err);
