/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Time and counts of each loop or function of a program: the counts of a counted run and the
 * samples of a free run, joined by file and offset. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "harness/count/step/instruction.h"
#include "harness/profile/code.h"
#include "harness/profile/sample.h"
#include "harness/translate/blocks.h"

enum carm_profile_by { CARM_PROFILE_LOOPS, CARM_PROFILE_FUNCTIONS };

enum carm_profile_kind {
    CARM_PROFILE_LOOP,     /* a loop without the loops inside it */
    CARM_PROFILE_BODY,     /* a function's code outside of its loops */
    CARM_PROFILE_FUNCTION, /* a whole function, without the functions that it calls */
    CARM_PROFILE_KERNEL,   /* system calls, page faults: time alone */
    CARM_PROFILE_OTHERS,   /* all rows below min_share */
    CARM_PROFILE_UNKNOWN,  /* samples and counts of no known code */
};

struct carm_profile_row {
    enum carm_profile_kind kind;
    char name[256];   /* "dot in solve loop solve.c:42 [libx.so.1]" */
    char source[128]; /* "solve.c:42"; "" = not known */
    char module[128]; /* file, without folders; "" = none */
    uint64_t at;      /* of code: offset in the file */
    bool irreducible; /* a loop that is entered at several places */
    size_t code;      /* number + 1 in carm_profile.codes; 0 = none */
    size_t parent;    /* row + 1 of the loop around this one, maybe a folded one; 0 = none */

    struct carm_step_counts counts; /* modulo 2^64, without inner loops */
    struct carm_step_counts inside; /* with the loops inside it */
    uint64_t executions; /* iterations of a loop; of a function the executions of its begin, its
                          * calls */
    uint64_t
        allocations; /* calls of malloc and the like: executions of their first instruction, if in this row */
    uint64_t entries_low, entries_high; /* of a loop; equal: exact; both 0 = not known */

    uint64_t samples, samples_inside;    /* without, with the loops inside it */
    uint64_t on[CARM_SAMPLE_KINDS];      /* of samples: on cores of each kind; all 0 = not known */
    double share, share_low, share_high; /* of all processor time; 95% confidence interval */
    /* Seconds of the thread that was longest in the row. Threads that followed one another
     * (processes of a script) count with their sum, if it is larger. At least the time of all
     * threads divided by the number of CPUs: more threads than CPUs take turns. */
    double seconds;
    int threads; /* threads in the row at one time, each with at least a tenth of the longest
                  * thread's time; 0 = not sampled */
    /* difference of the row's instructions between two counted runs, as a share of the larger
     * count; -1 = counted once */
    double spread;
    /* The runs differ: the counts do not fit the samples, or the counts of two runs differ by
     * more than CARM_PROFILE_SPREAD. */
    bool differs;
};

#define CARM_PROFILE_SPREAD 0.05

/* Bounds of the instructions that a thread executes in a second of processor time: at most 10 in
 * each of 6.2e9 cycles (Zen 5 and Lion Cove take 8 operations a cycle, of which a compare and its
 * branch are one; 6.2 GHz is the highest clock sold), and at least one in some 10 000 cycles,
 * unless the thread waits inside an instruction.
 * source: AMD, Software Optimization Guide for the Zen5 Microarchitecture (58455); Intel 248966 */
#define CARM_PROFILE_FASTEST 62e9
#define CARM_PROFILE_SLOWEST 1e5

struct carm_profile {
    struct carm_profile_row *rows; /* by share, then by instructions, from the largest */
    size_t nrows, room;
    size_t nfolded_loops;         /* rows behind nrows: folded loops that have code */
    struct carm_flow_code *codes; /* of loops, and of functions outside of loops */
    size_t ncodes, codes_room;
    size_t folded; /* number of rows folded into the row of others */
    uint64_t samples;
    bool has_counts, has_time;
    bool has_allocator; /* a file of the program has a symbol for malloc: allocations are known */
    bool counted_twice;
};

#define CARM_PROFILE_NOWHERE UINT32_MAX

/* An instruction whose row is asked for. */
struct carm_profile_place {
    uint32_t module; /* of the blocks; CARM_PROFILE_NOWHERE = not known */
    uint64_t at;     /* offset in the module's file */
    size_t row;      /* out */
};

struct carm_profile_input {
    const struct carm_blocks *blocks;    /* NULL = no counts */
    const struct carm_blocks *again;     /* of a second counted run; NULL = none */
    const struct carm_samples *samples;  /* NULL = no time */
    double user_seconds, system_seconds; /* of the sampled run, all threads; by the kernel */
    int cpus;                            /* CPUs that the program could use; 0 = unknown */
    enum carm_profile_by by;
    double min_share;                  /* rows with a smaller share of the time are folded into
                                        * one; 0 = keep all rows */
    struct carm_profile_place *places; /* [nplaces] the row of each is set */
    size_t nplaces;
};

/* Rows with fewer samples than CARM_PROFILE_FEW say little; with fewer than CARM_PROFILE_FEWEST they are folded. */
enum { CARM_PROFILE_FEW = 30, CARM_PROFILE_FEWEST = 3 };

/* Makes a profile. The sums over its rows are the sums over the blocks and over the samples.
 * returns 0 or -CARM_ENOMEM */
int carm_profile_open(struct carm_profile *profile, const struct carm_profile_input *in,
                      struct carm_err *err);
void carm_profile_close(struct carm_profile *profile);

/* Mean iterations of a loop for each entry; 0 = not known within a factor of two.
 * about  out: the number of entries is known only within bounds */
double carm_profile_trips(const struct carm_profile_row *row, bool *about);

/* "loop", "body", "function", "kernel", "others", "unknown" */
const char *carm_profile_kind_name(enum carm_profile_kind kind);
