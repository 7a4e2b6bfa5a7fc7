/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Shared by the kernels of the Roofline paper: a case is one kernel, one version, one size;
 * it is set up once, run many times by a team, checked, and counted.
 * source: Williams, Waterman, Patterson 2009, section 6.2, tables 2 and 3 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "asm/code.h"
#include "harness/count/quantities.h"
#include "harness/count/step/instruction.h"
#include "harness/machine/cpu.h"
#include "harness/machine/team.h"

/* The work of one run of a case. Operations and compulsory bytes by the paper's formulas. */
struct carm_dwarf_work {
    double operations;       /* flops; or exchanges where metric says so */
    const char *metric;      /* "flop", "exchange" */
    double compulsory_bytes; /* between last-level cache and memory at least, write-allocate fills
                              * included unless the stores go past the caches */
    double core_bytes;       /* that the cores load and store; 0 = unknown */
    double core_flops;       /* executed, by stepping; 0 = unknown */
    enum carm_counted
        core_by; /* stepped: a part of this run, or a small run, was stepped and scaled */
    char core_note
        [160]; /* the stepped part and its scaling, or the reason why nothing was stepped */
};

/* An access of a run, in program order of one thread, for the simulation of caches. */
typedef void carm_dwarf_access(void *context, uint64_t address, unsigned bytes, bool store,
                               bool nontemporal);

struct carm_dwarf_case;

/* The functions of a kernel. */
struct carm_dwarf_ops {
    /* Threads work on their share of the outermost loop; the team's start line is not used: a run
     * is one carm_team_run. returns 0, -CARM_EIO (wrong result is -CARM_EFORMAT, see check) */
    int (*run)(struct carm_dwarf_case *c, struct carm_team *team, struct carm_err *err);
    /* After at least one run: compares with the reference named in `by`.
     * error  out: largest difference over the largest value
     * returns 0 or -CARM_EFORMAT (beyond what rounding explains) */
    int (*check)(struct carm_dwarf_case *c, struct carm_team *team, double *error, char by[96],
                 struct carm_err *err);
    /* Steps a part on the calling thread, not while anything is timed; at most about 2 million instructions,
     * which take 20 s: aim at 2 s.
     * returns 0; counts that are impossible stay unknown, with a note */
    int (*count)(struct carm_dwarf_case *c, struct carm_dwarf_work *work, struct carm_err *err);
    /* The accesses of this case's run by one thread, at the arrays' real addresses. NULL where a
     * library makes the accesses. */
    void (*trace)(const struct carm_dwarf_case *c, carm_dwarf_access *access, void *context);
    void (*close)(struct carm_dwarf_case *c); /* NULL allowed */
};

/* Beginning of every case; a kernel's own struct begins with this. */
struct carm_dwarf_case {
    const struct carm_dwarf_ops *ops;
    const char *version;         /* "plain", "optimised" */
    char size[64];               /* "256^3", "n 500000, 27.0 nonzeros a row" */
    char isa[16];                /* of its kernel, "" = a library's own choice */
    uint64_t bytes;              /* memory that it holds, all arrays */
    struct carm_dwarf_work work; /* operations, metric and compulsory bytes are known when open */
};

/* Refuses a size before anything is allocated.
 * bytes  of the case's data
 * returns 0 or -CARM_ENOMEM, naming these bytes and the available ones */
int carm_dwarf_fits(const char *what, double bytes, struct carm_err *err);

/* Double precision flops of stepped code. */
double carm_dwarf_stepped_flops(const struct carm_step_counts *counts);

/* Begin of thread i's part of len planes or rows; thread i + 1's begin is its end. */
static inline size_t carm_dwarf_share(size_t len, int i, int threads)
{
    return len * (size_t)i / (size_t)threads;
}

/* Fills in the counts of the cores' instructions from a stepped part of a run.
 * factor  work of the run / work of the part */
void carm_dwarf_scale(struct carm_dwarf_work *work, const struct carm_step_counts *counts,
                      double factor);
