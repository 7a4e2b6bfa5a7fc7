/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The model of one machine, as it is kept in model.json (schema: data/model.schema.json).
 * Units are SI: byte, byte/s, flop/s, second, hertz. Strings are owned by the model unless a field
 * is an array inside the struct. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "base/number.h"
#include "models/rounds.h"

#define CARM_MODEL_SCHEMA "carm-model/1"

enum {
    CARM_NAME_MAX = 80,   /* names of codes, ISAs, levels, mixes, with the terminating zero */
    CARM_TEXT_MAX = 256,  /* notes, host and CPU names, with the terminating zero */
    CARM_KINDS_MAX = 3,   /* kinds of cores */
    CARM_TRAFFIC_MAX = 8, /* levels that a point's traffic is kept for */
};

struct carm_cache {
    int level;           /* 1, 2, 3, ... */
    uint64_t size_bytes; /* of one cache, as the OS reports it */
    int shared_by;       /* hardware threads (PUs) of this machine that share one cache */
};

struct carm_machine {
    char hostname[CARM_TEXT_MAX];
    char cpu[CARM_TEXT_MAX];        /* brand string */
    char hypervisor[CARM_NAME_MAX]; /* "" when the machine is not known to be virtual */
    int cores, threads;             /* usable: inside this process's cpuset */
    char on[CARM_NAME_MAX];         /* the place that it is restricted to (harness/place/place.h);
                             * "" = the whole machine */
    char
        layout[CARM_NAME_MAX]; /* words of --threads where threads are placed in another order; "" =
                                 * one to a core, core after core */
    double cpu_quota;          /* processors' worth of time that its cgroup allowed; 0 = no quota */
    uint64_t memory_bytes;     /* physical memory */
    uint64_t page_bytes;       /* page size really obtained for the buffers */
    double tsc_hz;
    struct carm_cache *caches; /* data and unified caches, level ascending */
    size_t ncaches;
};

/* A level of the memory hierarchy: "L1", "L2", ..., "DRAM". */
struct carm_level {
    char level[CARM_NAME_MAX];
    uint64_t os_size_bytes; /* 0 = the OS reports none (null in the file) */
    uint64_t knee_bytes;    /* where the measured curve leaves the plateau; 0 = not seen, null */
    bool resolved;          /* the curve has a plateau of its own for this level */
    char note[CARM_TEXT_MAX];
};

/* The spread of one point's repetitions, as rates (same unit as the value). */
struct carm_spread {
    double min, p5, p95, max;
};

struct carm_memory_roof {
    char level[CARM_NAME_MAX];
    char ldst[CARM_NAME_MAX]; /* "2:1", "1:1", "1:0", "0:1", "update", "nt", ... */
    char code[CARM_NAME_MAX]; /* name of the test code; `carm asm NAME` prints it */
    double bandwidth;         /* byte/s, all threads together, median */
    struct carm_ci ci95;
    struct carm_spread spread;
    double bytes_per_cycle;     /* per core: bandwidth / (threads x clock_hz) */
    double clock_hz;            /* core clock measured beside this point */
    uint64_t working_set_bytes; /* all threads together */
    uint64_t window_bytes;      /* one repetition of one thread covers this much of the set ... */
    uint64_t passes;            /* ... this many times */
    uint64_t reps;
    char counted_by[CARM_NAME_MAX]; /* "pmu", "stepped", "constructed", "unavailable: why" */
    bool disturbed;
    char note[CARM_TEXT_MAX]; /* why it is disturbed, or a correction that was made; "" = neither */
    struct carm_round *rounds; /* the rounds behind bandwidth and ci95, in order of time; may be
                                * none */
    size_t nrounds;
};

struct carm_compute_roof {
    char op[CARM_NAME_MAX]; /* "fma", "mad", "add", "mul", "div", "dot", ... */
    char code[CARM_NAME_MAX];
    double rate; /* flop/s, of integers op/s, all threads together, median */
    struct carm_ci ci95;
    struct carm_spread spread;
    double flops_per_cycle; /* per core: rate / (threads x clock_hz) */
    double clock_hz;
    uint64_t reps;
    char counted_by[CARM_NAME_MAX];
    bool disturbed;
    char note[CARM_TEXT_MAX];
    struct carm_round *rounds; /* as in struct carm_memory_roof */
    size_t nrounds;
};

/* Peak DRAM bandwidth for the original Roofline Model: bytes between last-level cache and DRAM. */
struct carm_dram_peak {
    double bandwidth; /* byte/s; 0 = none measured (the member is left out of the file) */
    char code[CARM_NAME_MAX];
};

enum carm_ceiling_group {
    CARM_CEILING_IN_CORE, /* A.1.3: TLP, ILP, SIMD by width, balance; flop/s */
    CARM_CEILING_MIX,     /* A.1.4: share of floating point among instructions; flop/s */
    CARM_CEILING_MEMORY, /* A.1.2: streaming with one optimisation less; byte/s of memory traffic */
    CARM_CEILING_BUSY,   /* A.2.1: computation by a part of the threads; flop/s */
    CARM_CEILING_TRAFFIC, /* A.2.2: memory traffic from a part of the threads; byte/s */
    CARM_CEILING_GROUP_COUNT,
};

struct carm_ceiling_roof {
    enum carm_ceiling_group group;
    char name[80]; /* stable, for programs: "tlp add", "ilp fma", "simd16 add", "simd64 fma",
                        * "fp 1/4", "dot", "copy nt", "dot no-prefetch", "jump 8", "random",
                        * "no affinity", "small set", "busy 1/2", "traffic 1/2" */
    char code[80]; /* test code; "" where nothing ran */
    double rate;   /* flop/s or byte/s, all threads of the set, median; 0 = not measured, the note
                        * says why ("not measurable: one NUMA node") */
    struct carm_ci ci95;
    double clock_hz;            /* core clock during the measurement; 0 = not measured */
    int threads;                /* number of threads that worked */
    uint64_t working_set_bytes; /* all threads; 0 = none */
    uint64_t reps;
    char counted_by[80];
    bool disturbed;
    char note[256];
};

/* One set of roofs: an ISA and precision with a number of threads. */
struct carm_roofs {
    char isa[CARM_NAME_MAX];
    char precision[CARM_NAME_MAX];
    int threads;
    char place[CARM_NAME_MAX]; /* the place of the threads: "l3:0"; "" = not known */
    char cpus[CARM_NAME_MAX];  /* their CPUs: "0-7"; "" = not known, or too many ranges */
    double clock_hz;           /* median of its points' clocks */
    /* Seconds for a cache line to go from one of the set's threads to another, when the roofs were
     * measured and when they were last validated; 0 = unknown. */
    double core_to_core_seconds, validated_core_to_core_seconds;
    struct carm_memory_roof *memory;
    size_t nmemory;
    struct carm_compute_roof *compute;
    size_t ncompute;
    struct carm_dram_peak dram_peak;
    struct carm_ceiling_roof *ceilings; /* of `carm build --ceilings`; may be none */
    size_t nceilings;
    int between
        [2]; /* by carm_scaling_fill: the measured numbers of threads below and above; 0 = the set is measured. Not in
              * the file */
};

struct carm_curve_point {
    double x;     /* working_set_bytes of B(beta), all threads; flops of F(phi), one thread */
    double value; /* byte/s or flop/s, all threads together */
    struct carm_ci ci95;
    bool disturbed;
};

/* B(beta): bandwidth over working set ("curves" in the file), or F(phi): performance over the flops
 * of one run of test code B ("flop_curves"). */
struct carm_curve {
    char isa[CARM_NAME_MAX];
    char precision[CARM_NAME_MAX];
    int threads;
    char kind[CARM_NAME_MAX]; /* B(beta): the ldst mix; F(phi): the operation */
    struct carm_curve_point *points;
    size_t npoints;
};

/* One quantity of a test code: by construction, and as counted. */
struct carm_checked {
    double constructed;
    double counted; /* -1 = could not be counted */
};

struct carm_count_check {
    char code[CARM_NAME_MAX];
    char counted_by[CARM_NAME_MAX]; /* "papi", "likwid", "step" */
    char recipe[CARM_NAME_MAX];     /* of the microarchitecture; "" when stepped */
    struct carm_checked flops, loads, stores;
    double deviation;         /* counted / constructed - 1, for the quantity with the largest
                               * difference */
    char note[CARM_TEXT_MAX]; /* the likely cause of a deviation above 1%; "" = none */
};

/* The key of a validation's entries: one set of roofs and one operation. It is the first member
 * of each entry below. */
struct carm_validation_set {
    char isa[CARM_NAME_MAX];
    char precision[CARM_NAME_MAX];
    char op[CARM_NAME_MAX];
    int threads;
};

/* How well one model predicts the points of one level. */
struct carm_validation {
    struct carm_validation_set set;
    /* "cache-aware", "original" (DRAM), its variants "original-L2", ... and "original-mix" */
    char model[CARM_NAME_MAX];
    char level[CARM_NAME_MAX]; /* a level's name or "all" */
    int n;
    double rrmse, rrmse_model, fitness; /* see struct carm_score */
    /* The point with the worst prediction: flop/byte as that model counts it, and measured /
     * model - 1. */
    double worst_intensity, worst_error;
    /* The scores against roofs that codes A and B measured in the same run as the points: without
     * errors from a machine that has changed since the model was built. 0 = not measured. */
    double rrmse_beside, fitness_beside;
};

/* One point of test code C. */
struct carm_validation_point {
    struct carm_validation_set set;
    char level[CARM_NAME_MAX];
    char code[CARM_NAME_MAX];
    double flops, bytes; /* of one repetition, all threads; intensity = flops / bytes */
    double seconds;      /* of one repetition, median; performance = flops / seconds */
    struct carm_ci ci95; /* of the performance, flop/s */
    /* [ntraffic] bytes of one repetition that cross into each level after the first (L1-L2, L2-L3,
     * ..., last cache-DRAM) */
    double traffic[CARM_TRAFFIC_MAX];
    size_t ntraffic;
    double slots; /* issue slots of one repetition, all threads */
    /* flop/s by the model's formula with the roofs that codes A and B measured in the same rounds; 0 = not measured */
    double paired;
    /* byte/s of the level's code A right after the point, in files of carm 0.1; 0 = none */
    double beside;
    double clock_hz;
    uint64_t working_set_bytes; /* all threads together */
    uint64_t reps;
    char counted_by[CARM_NAME_MAX];
    bool disturbed;
    char note[CARM_TEXT_MAX];
};

/* A roof of the model, and as codes A and B measured it during the validation. */
struct carm_validation_roof {
    struct carm_validation_set set;
    char level[CARM_NAME_MAX]; /* a level's name, or "peak" */
    char code[CARM_NAME_MAX];
    double model, beside; /* byte/s or flop/s */
    struct carm_ci beside_ci95;
    /* T = t0 + work / rate over sizes of the code; rate 0 = not fitted */
    double rate, rate_se; /* byte/s or flop/s */
    double t0, t0_se;     /* seconds */
    bool disturbed;
};

/* A roofline fitted to the points of one level. */
struct carm_validation_fit {
    struct carm_validation_set set;
    char level[CARM_NAME_MAX];
    char form[CARM_NAME_MAX]; /* "sharp", "rounded", "issue", "rounded+issue" */
    int n;
    double bandwidth, bandwidth_se; /* byte/s */
    double peak, peak_se;           /* flop/s */
    double correlation;             /* of their logarithms */
    double p, p_se;                 /* 0 where the form is not rounded or the data do not determine
                                     * p */
    double issue;                   /* slots/s, measured; 0 = the form has none */
    double aicc;
    double cv_rrmse, cv_fitness; /* of points that the fit did not use */
    bool chosen;                 /* lowest aicc */
};

struct carm_config {
    uint64_t reps;
    char precision[CARM_NAME_MAX];
    char ldst[CARM_NAME_MAX];    /* the model's mix; others are ceilings */
    uint64_t memory_limit_bytes; /* the limit of the buffers' size */
    bool quick;
};

struct carm_model {
    char created[CARM_NAME_MAX]; /* ISO 8601, UTC */
    char carm_version[CARM_NAME_MAX];
    char carm_commit[CARM_NAME_MAX]; /* commit of carm's sources (base/version.h); "" = unknown
                                      * (left out) */
    /* the tool that measured the roofs; "" = carm. Not in the file */
    char roofs_of[CARM_NAME_MAX];
    struct carm_machine machine;
    struct carm_config config;
    struct carm_level *levels; /* fastest first, DRAM last */
    size_t nlevels;
    struct carm_roofs *roofs;
    size_t nroofs;
    struct carm_curve *curves; /* B(beta) */
    size_t ncurves;
    struct carm_curve *flop_curves; /* F(phi) */
    size_t nflop_curves;
    /* Latencies (models/core.h, models/latency.h) of `carm build --latency`; each array may be
     * empty. */
    struct carm_core_figure *core;
    size_t ncore;
    struct carm_latency *latency; /* plateaus */
    size_t nlatency;
    struct carm_latency_curve *latency_curves;
    size_t nlatency_curves;
    struct carm_in_flight *in_flight;
    size_t nin_flight;
    struct carm_loaded *loaded;
    size_t nloaded;
    struct carm_core_pair *core_to_core;
    size_t ncore_to_core;
    struct carm_numa_node *numa_nodes; /* models/latency.h; of machines with several; may be none */
    size_t nnuma_nodes;
    struct carm_numa_pair *numa;
    size_t nnuma;
    /* how the roofs were derived: for pages on another node (carm_numa_use), from mixed kinds of cores
     * (carm_kinds_mix); "" = they were measured. Not in the file */
    char changed[CARM_TEXT_MAX];
    /* models of kinds of cores (models/place/kinds.h), machine.on "kind:p"; may be none */
    struct carm_model *kinds;
    size_t nkinds;
    struct carm_scaling *scaling; /* models/scaling.h, of `carm build --scaling`; may be none */
    size_t nscaling;
    struct carm_scaling_unit *scaling_units;
    size_t nscaling_units;
    struct carm_count_check *checks; /* test codes that a counter counted, by name; may be none */
    size_t nchecks;
    /* Results of `carm validate`. */
    char validated[CARM_NAME_MAX]; /* when it ran last, ISO 8601, UTC; "" = never (left out) */
    struct carm_validation *validation;
    size_t nvalidation;
    struct carm_validation_point *validation_points;
    size_t nvalidation_points;
    struct carm_validation_roof *validation_roofs;
    size_t nvalidation_roofs;
    struct carm_validation_fit *validation_fits;
    size_t nvalidation_fits;
};

/* Reads and checks a model file. *out is to be released with carm_model_free.
 * returns 0, -CARM_EIO (cannot be read) or -CARM_EFORMAT (names file, place and reason). */
int carm_model_read(const char *path, struct carm_model **out, struct carm_err *err);

/* The two steps of carm_model_read, for a caller that also needs the text. Files of more than
 * 64 MiB are refused. *text is zero-terminated and to be released with free.
 * returns 0, -CARM_EIO, -CARM_EFORMAT or -CARM_ENOMEM */
int carm_model_load(const char *path, char **text, size_t *size_bytes, struct carm_err *err);

/* text  the contents of a model file, size_bytes long
 * name  the file's name in messages
 * returns 0, -CARM_EFORMAT (names file, place and reason) or -CARM_ENOMEM */
int carm_model_parse(const char *text, size_t size_bytes, const char *name, struct carm_model **out,
                     struct carm_err *err);

/* Writes the model beside path and renames it: a stopped run leaves the old file whole. Missing
 * folders are created. A model that carm_model_read would refuse is not written.
 * returns 0, -CARM_EIO with the remedy, -CARM_EINVAL (a model that would be refused) or
 * -CARM_ENOMEM */
int carm_model_write(const struct carm_model *model, const char *path, struct carm_err *err);

/* The text of the model's file as a string (to be released with free), or NULL when out of memory.
 * A number that JSON cannot hold (infinite, NaN) becomes null, bytes that are no UTF-8 become '?'. */
char *carm_model_to_json(const struct carm_model *model);

/* Releases a model and all it owns; NULL allowed. */
void carm_model_free(struct carm_model *model);

/* The number of rounds behind the roofs of a set, the number of their days (UTC), and the
 * machine's states during them. */
struct carm_rounds_summary {
    size_t least, most; /* of one roof; most 0 = the model has no rounds */
    int days;
    double shares[CARM_STATE_COUNT]; /* of all rounds */
};
void carm_roofs_summarize(const struct carm_roofs *roofs, struct carm_rounds_summary *out);

/* The number of memory and compute roofs of a set that are marked as disturbed. */
size_t carm_roofs_count_disturbed(const struct carm_roofs *roofs);

/* The machine's host for text, or "a machine without a name" */
const char *carm_machine_host(const struct carm_machine *machine);

/* ", on l3:0, threads 1/l3": where the machine is a part of one, else "". returns dst */
char *carm_machine_place(char *dst, size_t size, const struct carm_machine *machine);

/* "8 threads", "8 threads on l3:0"; on the first core or the whole machine the number alone. returns dst */
char *carm_roofs_threads(char *dst, size_t size, const struct carm_roofs *roofs);
/* A level of the hierarchy by its name, borrowed from the model; NULL = it has none. */
struct carm_level *carm_model_find_level(const struct carm_model *model, const char *level);
bool carm_model_has_level(const struct carm_model *model, const char *level);

/* The roofs of one ISA, precision and number of threads, borrowed from the model, or NULL. */
struct carm_roofs *carm_model_find_roofs(const struct carm_model *model, const char *isa,
                                         const char *precision, int threads);

/* The memory roof of one level and mix, borrowed from roofs, or NULL when it has none. */
const struct carm_memory_roof *carm_roofs_find_memory(const struct carm_roofs *roofs,
                                                      const char *level, const char *ldst);

/* The compute roof with the highest rate, borrowed from roofs, or NULL when there is none. */
const struct carm_compute_roof *carm_roofs_find_peak(const struct carm_roofs *roofs);

/* An ISA's place by the width of its vectors, narrowest first, tiles last; -1 = an unknown one. */
int carm_isa_rank(const char *isa);

/* The best roof for a program whose widest instructions are those of a set: the set's own roof, or
 * the roof of a narrower ISA with the same threads and precision if that is clearly faster (64-byte
 * vectors may be slower than 32-byte ones: Zen 4 stores them in two halves).
 * whose  out, may be NULL: the set of the roof
 * returns a roof borrowed from the model, or NULL when it has none */
const struct carm_memory_roof *carm_model_best_memory(const struct carm_model *model,
                                                      const struct carm_roofs *roofs,
                                                      const char *level, const char *ldst,
                                                      const struct carm_roofs **whose);
const struct carm_compute_roof *carm_model_best_peak(const struct carm_model *model,
                                                     const struct carm_roofs *roofs,
                                                     const struct carm_roofs **whose);

/* Whether set a goes before set b when no ISA is named. With equal precision and threads, the
 * set of the wider ISA goes first: its best roofs include the other's. Otherwise the set with
 * the higher peak. */
bool carm_roofs_precede(const struct carm_roofs *a, const struct carm_roofs *b);

/* Distance of a set's number of threads from a wanted number. Fewer threads are nearer than more, as roofs of more
 * threads are never reached. threads 0: any number; the most threads are the nearest */
int carm_roofs_distance(const struct carm_roofs *roofs, int threads);

/* Whether a set is only for points of its own ISA and precision: it was measured beside a wider ISA and has only some
 * of that ISA's memory roofs, or beside another precision and has no memory roofs. */
bool carm_model_is_beside(const struct carm_model *model, const struct carm_roofs *roofs);

/* Whether a model is of one kind of core: measured with --on kind:p. */
bool carm_model_is_kind(const struct carm_model *model);

/* Whether a wider ISA has memory roofs of the same precision and threads. */
bool carm_model_has_wider(const struct carm_model *model, const struct carm_roofs *roofs);

/* Whether a set has a roof of the model's mix on every level for which a wider ISA's set has such a
 * roof. */
bool carm_model_has_levels(const struct carm_model *model, const struct carm_roofs *roofs);

/* The name of a precision's operations: "flop", or "op" for integers ("int8", ...). */
const char *carm_precision_operation(const char *precision);
/* The unit of a precision's rates: "flop/s" or "op/s". */
const char *carm_precision_rate(const char *precision);
/* The order of precisions where none is named: 0 dp and sp, 1 narrower numbers, 2 integers. */
int carm_precision_rank(const char *precision);

/* Whether an operation is a mixture on pipes of different kinds, such as "fma+add". Few programs
 * have the ratio of operations that the mixture's roof needs. */
bool carm_op_is_mixture(const char *op);

/* The highest roof without mixtures, which a program of FMAs, or of multiplications and
 * additions in balance, can reach; NULL = there is none. */
const struct carm_compute_roof *carm_roofs_find_plain_peak(const struct carm_roofs *roofs);
