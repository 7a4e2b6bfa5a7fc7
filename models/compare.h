/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Compares models with the first one, the baseline: which roofs differ, by how much, and whether
 * the difference exceeds the variation of one machine from run to run. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "models/model.h"

enum { CARM_COMPARE_MOST = 8 }; /* models at once, the baseline included */

enum carm_compare_kind {
    CARM_COMPARE_MEMORY,    /* of one level and mix; byte/s */
    CARM_COMPARE_COMPUTE,   /* of one operation; flop/s */
    CARM_COMPARE_DRAM_PEAK, /* of the original model; byte/s */
    CARM_COMPARE_CEILING,   /* of `carm build --ceilings`; flop/s or byte/s */
    CARM_COMPARE_KINDS,
};

/* "memory", "compute", "dram_peak", "ceiling": names for programs */
const char *carm_compare_kind_name(enum carm_compare_kind kind);

/* Why a roof moves from run to run. */
enum carm_compare_noise {
    CARM_COMPARE_CORE,        /* resources that each core has for itself: computation, L1 */
    CARM_COMPARE_PRIVATE,     /* a core's private caches behind L1: the physical pages matter */
    CARM_COMPARE_SHARED,      /* the last cache */
    CARM_COMPARE_DRAM,        /* memory, one thread */
    CARM_COMPARE_DRAM_SEVERAL /* memory, several threads */
};

/* The repeatability floor, as a share: another run of the same machine may differ by as much,
 * however narrow the interval of each run is. is_virtual one of the two was measured in a
 * virtual machine, and each interval is from one run; false for intervals from rounds, which
 * cover other runs */
double carm_compare_floor(enum carm_compare_noise noise, bool is_virtual);

/* The scatter between successive builds on one machine that the rounds of a single build do not show, as a relative
 * standard deviation. Other users of a virtual machine's memory and last cache come and go in minutes, and a build
 * takes all its rounds in a few minutes. 0 on a machine of one's own.
 * quick  the model is of a quick build */
double carm_compare_between(enum carm_compare_noise noise, bool is_virtual, bool quick);

/* A roof in one model. */
struct carm_compare_value {
    double rate;            /* byte/s or flop/s; 0 = the model has no such roof */
    double lo, hi;          /* 95% interval; both = rate where none is known */
    size_t rounds;          /* behind the rate; 0 = no sound rounds */
    size_t runs;            /* runs that took the rounds */
    double scatter;         /* standard deviation of the rounds, same unit as the rate */
    double scatter_freedom; /* degrees of freedom of the scatter */
    double
        between; /* carm_compare_between; 0 where the rounds are of several runs, which show it */
    double clock_hz;  /* core clock beside it; 0 = not known, or no matter (memory) */
    bool apart;       /* the rounds' threads were on two core complexes */
    bool disturbed;   /* while it was measured */
    const char *code; /* borrowed from the model, as are note and isa */
    const char *note;
    const char *isa; /* of the set of roofs with the rate */
};

enum carm_compare_verdict {
    CARM_COMPARE_ABSENT,    /* one of the two has no such roof */
    CARM_COMPARE_DISTURBED, /* one of the two was disturbed: never significant */
    CARM_COMPARE_EQUAL,     /* no difference within intervals and noise */
    CARM_COMPARE_SIGNIFICANT,
};

/* "absent", "disturbed", "equal", "significant" */
const char *carm_compare_verdict_name(enum carm_compare_verdict verdict);

/* A model's value against the baseline's. */
struct carm_compare_diff {
    enum carm_compare_verdict verdict;
    double change;  /* value / baseline - 1 */
    double error;   /* half width of the difference's 95% interval, as a share of the baseline */
    double floor;   /* the noise that was assumed, as a share of the larger value */
    bool by_rounds; /* the interval is from rounds */
    bool has_cycles;
    double cycle_change; /* change of the values divided by their clocks */
    bool same_per_cycle; /* significant, by the clock alone */
};

/* Compares one value with the baseline's. Significant: the difference is larger than its error, and, as a
 * share of the larger of the two, than floor; so it does not matter which of them is the baseline.
 *
 * The error is the root sum of squares of the two half intervals that face each other. When both
 * values are from rounds and comparisons is not 0, the error is the error of a difference between
 * two runs and holds for all comparisons together (Bonferroni): in 95% of pairs of models of one
 * machine no difference is larger. Its variance is
 * - half of the variance of each interval, since the intervals are made for differences between two runs, with 3
 *   degrees of freedom (four batches), and
 * - the square of half the scatter of each value's rounds, for drifts too slow for one run, or the square of `between`
 * if that is more. Its degrees of freedom: the number of rounds less one. Student's t takes the degrees of freedom of
 * the sum of variances.
 * comparisons  number of values from rounds that are judged together; 0 = intervals of single runs
 * source: Welch 1947, "The generalization of 'Student's' problem when several different population
 *         variances are involved"; models/rounds.h */
void carm_compare_values(const struct carm_compare_value *base,
                         const struct carm_compare_value *other, double floor, size_t comparisons,
                         struct carm_compare_diff *diff);

struct carm_compare_row {
    enum carm_compare_kind kind;
    char name[2 * CARM_NAME_MAX]; /* "L1 2:1", "fma", "DRAM peak", "in-core: tlp add" */
    bool bytes;                   /* byte/s, else as the precision: */
    char unit[8];                 /* "flop/s" or "op/s" */
    enum carm_compare_noise noise;
    struct carm_compare_value values[CARM_COMPARE_MOST]; /* one for each model */
    struct carm_compare_diff diffs[CARM_COMPARE_MOST];   /* [0] is absent */
    size_t order;                                        /* position before sorting */
};

/* The ISA of a set that compares machines of different widest ISAs: each value is the best of its model's. */
#define CARM_COMPARE_BEST "best ISA"

/* An ISA and precision with a number of threads. */
struct carm_compare_set {
    char isa[CARM_NAME_MAX]; /* or CARM_COMPARE_BEST, whose rows are the best of all ISAs */
    char precision[CARM_NAME_MAX];
    int threads;
    const char *layout; /* of several threads (struct carm_machine); borrowed */
    /* borrowed; NULL = the model has no such set */
    const struct carm_roofs *roofs[CARM_COMPARE_MOST];
    bool compared;                 /* the baseline and another model have the set; otherwise
                                    * there are no rows */
    struct carm_compare_row *rows; /* significant ones first, then equal, disturbed, and in one
                                    * model only; the worst first within each */
    size_t nrows;
};

struct carm_compare {
    const struct carm_model *models[CARM_COMPARE_MOST]; /* borrowed; [0] is the baseline */
    size_t n;
    struct carm_compare_set *sets; /* in the models' order */
    size_t nsets;
};

struct carm_compare_options {
    /* Replaces carm_compare_floor, as a share, with intervals of single runs; negative = use
     * carm_compare_floor, and rounds if there are any. */
    double noise;
    /* Whether to take a set; NULL = take all. */
    bool (*wanted)(const void *arg, const char *isa, int threads);
    const void *arg;
};

/* models  [n] borrowed for as long as *out lives
 * returns 0 (also where nothing is shared), -CARM_EINVAL (n is not 2 .. CARM_COMPARE_MOST) or
 * -CARM_ENOMEM; *out is to be released with carm_compare_free */
int carm_compare_make(const struct carm_model *const *models, size_t n,
                      const struct carm_compare_options *options, struct carm_compare **out,
                      struct carm_err *err);

void carm_compare_free(struct carm_compare *compare); /* NULL allowed */

struct carm_compare_drop {
    const struct carm_compare_set *set;
    const struct carm_compare_row *row; /* NULL = none */
    size_t model;
};

/* The number of values that are significantly below the baseline, by more than threshold
 * (relative).
 * ignore_clock  without values that are the same per cycle
 * worst         out: the lowest of them */
size_t carm_compare_drops(const struct carm_compare *compare, double threshold, bool ignore_clock,
                          struct carm_compare_drop *worst);

/* Numbers of comparisons of two values. */
struct carm_compare_counts {
    size_t of[CARM_COMPARE_SIGNIFICANT + 1]; /* with each verdict */
    size_t by_rounds;                        /* significant or equal by intervals from rounds */
    size_t same_per_cycle;                   /* significant, by the core clock alone */
};
struct carm_compare_counts carm_compare_counts(const struct carm_compare *compare);

/* ---- properties of each model besides its roofs ---------------------------------------------- */

enum { CARM_COMPARE_FACT_MAX = 300, CARM_COMPARE_FACTS_MAX = 64 };

/* One thing that is known of each model, as text made safe to print. */
struct carm_compare_fact {
    char name[96];
    char text[CARM_COMPARE_MOST][CARM_COMPARE_FACT_MAX]; /* "-" = not known */
    bool same;                                           /* in all models */
};

/* Roofs of another tool that name no ISA take the ISA of the other model's highest set with as
 * many threads, and its highest operation, so that they can be compared.
 * returns that set; NULL = nothing to do, or no such set */
const struct carm_roofs *carm_compare_adopt(struct carm_model *model,
                                            const struct carm_model *other);

/* Host, CPU, cores, memory, ... and how the models were built.
 * ascii  texts of ASCII alone
 * facts  [CARM_COMPARE_FACTS_MAX]
 * returns how many */
size_t carm_compare_machine_facts(const struct carm_compare *compare, bool ascii,
                                  struct carm_compare_fact *facts);

/* Sizes, knees and latencies of the memory levels, and lines in flight. As above. */
size_t carm_compare_level_facts(const struct carm_compare *compare, bool ascii,
                                struct carm_compare_fact *facts);

/* A fitness that the baseline and another model have. */
struct carm_compare_score {
    /* of[0] is never NULL; others: NULL = the model has no such score */
    const struct carm_validation *of[CARM_COMPARE_MOST];
};

/* The next score of the baseline from *at on, of the sets that options->wanted takes. returns false after the last */
bool carm_compare_next_score(const struct carm_compare *compare,
                             const struct carm_compare_options *options, size_t *at,
                             struct carm_compare_score *score);

/* "A", "B", ... */
char carm_compare_letter(size_t model);

/* Relative standard deviation of shared bandwidths between builds whose threads ran on other cores. Of twelve default
 * builds in a row, eleven gave 36 to 40 GB/s from memory with two threads, on one core complex; one gave 63 GB/s, on
 * two complexes. Four of ten quick builds gave 52 to 62 GB/s (docs/results.md). */
#define CARM_COMPARE_PLACES 0.32

/* Whether the times of a cache line from thread to thread differ so much that the threads of the two builds must have
 * run on cores at other distances. */
bool carm_compare_moved(const struct carm_compare_set *set, size_t model);
