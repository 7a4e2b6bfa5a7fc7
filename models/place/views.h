/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of parallel programs as views: each rank by itself, the ranks of a node, a whole job.
 *
 * Rows of one name, job, host and rank are one rank (its threads may have written several); a row without a rank is
 * identified by its process, else it is a rank of its own. Sums follow merge.h. The DRAM bytes of a node are the
 * largest of its ranks' if a PMU counted them, since each rank then read the counters of whole sockets; otherwise their
 * sum.
 *
 * A model has the roofs of one node. So a job of several nodes becomes the mean of its nodes: flops,
 * bytes, calls, threads and the rest of its counts over their number, and the slowest rank's time.
 *
 * Memory grows with the number of ranks. */
#pragma once

#include "models/place/merge.h"
#include "models/place/place.h"

enum carm_view_kind { CARM_VIEW_JOB, CARM_VIEW_NODE, CARM_VIEW_RANK, CARM_VIEW_COUNT };

/* Statistics over the ranks; all negative if a rank's value is unknown. */
struct carm_over_ranks {
    double low, median, high;
};

/* Largest over mean, >= 1; 0 = unknown. In terms of the Roofline paper's appendix A.2, work is
 * computation imbalance; bytes and dram are memory imbalance. Values are per thread of a rank,
 * where all ranks report their threads. */
struct carm_imbalance {
    double time;
    double work;  /* flops, or operations of the metric */
    double bytes; /* that the core loads and stores */
    double dram;  /* over the nodes of a job; 0 for one node */
};

struct carm_view {
    enum carm_view_kind kind;
    const char *program;
    const char *job, *host, *rank; /* "" = not reported, or of several */
    size_t ranks, nodes;
    struct carm_imbalance imbalance;
    struct carm_over_ranks intensity;   /* flop/byte */
    struct carm_over_ranks performance; /* flop/s of each rank in its own time */
    double least_seconds, most_seconds;
    char slowest[192], fastest[192]; /* "rank 3 on n2", "" = unknown, or all ranks take equal
                                      * time */
    char busiest[192];               /* the rank with the most work per thread */
    bool between;                    /* a hidden rank of many: neither among the slowest nor the
                                      * fastest */
    bool last;                       /* the last rank of its job: the other ranks are complete */
    size_t hidden;                   /* for the last rank: number of its job's ranks with
                                      * `between` */
    char label[640];                 /* "solve (node n2)": the point's name */
    struct carm_merged merged;       /* name is the label; notes about the view are in it */
};

struct carm_views;

/* "job,node": kinds in the order asked for.
 * returns 0 or -CARM_EINVAL (names the words) */
int carm_view_parse(const char *list, enum carm_view_kind kinds[CARM_VIEW_COUNT], size_t *n,
                    struct carm_err *err);
const char *carm_view_name(enum carm_view_kind kind); /* "job", "node", "rank" */

/* metric  replaces flops, "" = flops; borrowed
 * returns 0 or -CARM_ENOMEM */
int carm_views_open(struct carm_views **out, const char *metric, struct carm_err *err);
/* returns as carm_merge_add */
int carm_views_add(struct carm_views *views, const struct carm_point *row, struct carm_err *err);
/* Makes nodes and jobs from the ranks. To be called once, after the last row.
 * most  number of ranks of a job without `between`; 0 = all
 * returns as carm_merge_add */
int carm_views_group(struct carm_views *views, size_t most, struct carm_err *err);
size_t carm_views_count(const struct carm_views *views, enum carm_view_kind kind);
/* Jobs in the order in which they came; nodes by name and ranks by number within their job.
 * i    below carm_views_count
 * out  borrows from the views, and its point from *out */
void carm_views_get(const struct carm_views *views, enum carm_view_kind kind, size_t i,
                    struct carm_view *out);
/* The job of rank i, without its placed values (merged, label). */
void carm_views_whole(const struct carm_views *views, size_t i, struct carm_view *out);
void carm_views_close(struct carm_views *views); /* NULL allowed */

/* ---- the cost of imbalance: appendix A.2 as a ceiling of the point of a job or a node -------- */

struct carm_imbalance_cost {
    /* flop/s that the roof allows with this imbalance, by enum carm_place_which; 0 = no place */
    double at[2];
    bool compute[2]; /* computation imbalance binds, not memory imbalance */
    double gain;     /* largest gain from even work: 1 = none; 0 = unknown */
    double lost;     /* the share of the time that imbalance takes, 1 - 1/gain */
    bool by_time;    /* from the times: work is more even than the times */
};

/* Largest over mean of n parts.
 * each     the largest part, per share
 * sum      of all parts
 * shares   of all parts: their number, or their threads
 * returns 0 where a value is not known or nothing was done */
double carm_imbalance_ratio(double each, double sum, double shares);

/* Each rank has its part of the roofs and no more: with the peak F and the slope B of n ranks, the rank with the most
 * work w and traffic b takes at least max(n w / F, n b / B), and so do all ranks together. So the bound of the whole
 * falls to min(B I mean(b)/max(b), F mean(w)/max(w)). The slope of the cache-aware roof is of caches that a core has
 * alone, so b is of a rank. The slope of the original model is of a node's memory, which its ranks share, so b is of a
 * node.
 * place  [2], where has[] says so */
void carm_imbalance_find(const struct carm_imbalance *imbalance, const struct carm_place_set *set,
                         const struct carm_place *place, const bool has[2],
                         struct carm_imbalance_cost *out);
