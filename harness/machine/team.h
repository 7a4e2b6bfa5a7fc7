/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A team of pinned threads, each with its own buffer and its own room for time stamps. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/machine/buffer.h"
#include "harness/machine/clock.h"
#include "harness/machine/probe.h"
#include "harness/machine/paired.h"
#include "harness/machine/topo.h"

enum {
    CARM_CLOCK_EVERY = 32, /* repetitions between two looks at the core's clock and width: states of
                              * a shared core last some milliseconds */
    CARM_MAX_REPS = 1 << 20, /* repetitions of one point at most */
};

struct carm_worker {
    struct carm_team *team;
    int index; /* 0 .. n-1 */
    int pu;    /* OS index of the thread's processor */
    struct carm_buffer buffer;
    uint64_t place;        /* byte offset in the buffer where small working sets lie; see
                              * carm_measure_place */
    uint64_t *begin, *end; /* [max_reps] time stamps of each repetition */
    /* [2 * (max_reps / CARM_CLOCK_EVERY) + 8] core cycles per TSC tick, before and after each
     * block of CARM_CLOCK_EVERY repetitions */
    double *ratios;
    double *widths; /* the same for the issue width, slots per cycle */
    size_t nprobes;
    double full_width; /* slots per cycle, during a run; 0 = not known yet */
    size_t own;        /* repetitions of a run, so far, that the thread had its core for itself */
    size_t done;       /* repetitions of a run, so far, that ended */
    size_t blocks;     /* blocks of a run, so far, that a look at the core has followed */
    struct carm_widths seen_alone,
        seen_together; /* widths so far: of this thread alone, and beside the other threads of a
                        * team that shares cores by design (carm_team_shares) */
    /* least core-to-core latency seen between the first thread and this one */
    double nearest_seconds;
    double clock_overhead; /* ticks, carm_clock_overhead on this thread */
    uint64_t migrations;   /* repetitions that ended on another processor */
    int64_t switches;      /* involuntary context switches during the last job */
    double queued_share;   /* of the last job's time: the thread was ready, and others ran */
    double stopped_share;  /* the same: the thread neither ran nor was ready (SIGSTOP); 0 where
                            * threads slept while they waited for one another */
    uint64_t best_place;   /* carm_measure_place: the best place so far, and its cycles */
    double best_cycles;
    pthread_t thread;
    bool started;
    int rc; /* of pinning */
    struct carm_err err;
};

typedef void carm_job_fn(struct carm_worker *worker, void *arg);

/* Time of a repetition of the empty code, seconds. */
struct carm_overhead {
    double together; /* from the first start to the last end */
    double each;     /* one thread's own time */
};

struct carm_team {
    const struct carm_topo *topo;
    const struct carm_clock *clock;
    int n;                       /* threads that work: the first n of the team */
    int size;                    /* all threads of the team */
    struct carm_worker *workers; /* [size] */
    size_t max_reps;
    /* longest wait of a run for cores of its own */
    double patience_seconds;
    bool separate; /* each thread's repetitions count by themselves; see carm_team_separate */
    struct carm_paired paired; /* rounds in which threads shared cores */
    double *seconds, *cycles;  /* [max_reps] scratch of carm_measure */
    bool *counts;              /* [max_reps] scratch: repetitions that count */
    uint64_t cursor; /* byte offset in the buffers at which the next run begins: a short run on a
                      * large set must not find lines of the run before in cache */
    struct carm_overhead overhead;
    struct carm_deadline deadline; /* of every job: repetitions after it are left out */

    pthread_mutex_t lock;
    pthread_cond_t wake, rest, done; /* signalled to the working threads, the resting threads,
                                      * the caller */
    bool closing;                    /* the threads end */
    carm_job_fn *job;
    void *arg;
    uint64_t generation; /* of the job */
    uint64_t joined;     /* generation at the latest change of n */
    int running;

    /* the start line of a repetition, each on a cache line of its own */
    _Alignas(128) atomic_uint_fast64_t arrived;   /* threads x repetitions that reached the line */
    _Alignas(128) atomic_uint_fast64_t go;        /* repetitions that were started */
    _Alignas(128) atomic_uint_fast64_t start_tsc; /* TSC at which the next repetition begins */
    _Alignas(128) atomic_bool over; /* a thread found the deadline over: all leave their job */
    atomic_uint naps;               /* of this job: waits in which a thread slept */
};

/* Starts n threads, pinned in the order of the topology, each with bytes_per_thread of reserved
 * (untouched) memory and room for max_reps repetitions.
 * returns 0, -CARM_EINVAL (too many threads), -CARM_ENOMEM, -CARM_ENOTSUP (cannot pin) */
int carm_team_open(struct carm_team **out, const struct carm_topo *topo,
                   const struct carm_clock *clock, int n, size_t bytes_per_thread, size_t max_reps,
                   struct carm_err *err);
void carm_team_close(struct carm_team *team); /* NULL allowed */

/* Whether the deadline is over: nothing is measured any more. */
bool carm_team_is_over(const struct carm_team *team);

/* Runs job on every worker and waits for all. */
void carm_team_run(struct carm_team *team, carm_job_fn *job, void *arg);

/* Like carm_team_open, with room for bytes[i] on thread i. */
int carm_team_open_sized(struct carm_team **out, const struct carm_topo *topo,
                         const struct carm_clock *clock, int n, const size_t *bytes,
                         size_t max_reps, struct carm_err *err);

/* From now on the first n threads work (1 .. size); the others sleep. The caller calibrates the
 * overhead again. */
void carm_team_use(struct carm_team *team, int n);

/* Whether the working threads share cores by design: they are more than the topology has cores, or paired. */
bool carm_team_shares(const struct carm_team *team);

/* separate: a thread's repetition counts when this thread had its core for itself. This is right
 * for levels that no two threads share. Otherwise a repetition counts when every thread had its
 * core for itself. Threads that share cores by design are never separate. */
void carm_team_separate(struct carm_team *team, bool separate);

/* Bytes that the buffer of every working thread has room for. */
size_t carm_team_room(const struct carm_team *team);

/* Every thread writes the first bytes_per_thread bytes of its buffer (once), until the deadline.
 * returns whether all of them are written */
bool carm_team_touch(struct carm_team *team, size_t bytes_per_thread);

/* Resets the start line; call between jobs that use the line. */
void carm_team_line_reset(struct carm_team *team);

/* Waits at the start line until all threads of the team have arrived, then until an instant that
 * the last thread has set shortly ahead: all threads leave within some 20 ns. Where the TSCs are
 * not in step, a thread leaves when it sees the last arrival. repetition counts from 0.
 * returns false when the deadline is over: the job ends here, and no thread passes a later line */
bool carm_team_line_wait(struct carm_team *team, uint64_t repetition);

/* Touches the buffers of all workers from one hardware thread. No buffer may have been touched
 * before.
 * returns 0, -CARM_ENOTSUP (cannot pin, or a memory policy puts the memory elsewhere), -CARM_ENOMEM */
int carm_team_touch_from(struct carm_team *team, int pu, size_t bytes_per_thread,
                         struct carm_err *err);

/* Core-to-core latency: seconds in which a cache line goes one way from the first thread to
 * another of the team. Mean over up to 16 other threads; of each pair the least of several runs
 * counts, since neighbours only slow a run. Rates of shared levels depend on this latency, and a
 * hypervisor can change it without changing the topology. 0 for a team of one, or when the
 * deadline is over. */
double carm_core_to_core_seconds(struct carm_team *team);

/* A short look at one pair: seconds of one way between the first thread and another; 0 = the deadline is over. */
double carm_core_to_core_once(struct carm_team *team, int other);

/* Seconds of a locked addition to one address of the first thread, while another one adds to it as fast as it can;
 * 0 = the deadline is over, or there is no such thread. */
double carm_contended_add_seconds(struct carm_team *team, int other);
