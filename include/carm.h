/* SPDX-License-Identifier: MIT */
/* Regions of a program whose flops, bytes and time carm counts.
 *
 *     carm_region_begin("solve");
 *     ...
 *     carm_region_end("solve");
 *
 * Nothing happens unless CARM_OUT names a file, to which a row for each region is appended when the
 * program ends by exit or by return from main. `carm run -- PROGRAM` sets it. A row is the sum over
 * all threads and calls; its seconds are those of the thread that spent most.
 * Link with `pkg-config --cflags --libs carm`.
 *
 * The environment, read at the first region:
 *   CARM_OUT          the file; others' rows in it stay
 *   CARM_COUNTERS     who counts: auto (default), papi, likwid, step or none (time alone)
 *   CARM_STEP_BUDGET  step: at most so many instructions in one call, 2000000 unless given. Calls
 *                     1, 2, 4, 8, ... of a region on a thread are stepped, the others timed
 *   CARM_ROWS         region (default): a row for each region; thread: for each of its threads, too
 */
#ifndef CARM_H
#define CARM_H

#ifdef __cplusplus
extern "C" {
#endif

/* Begins and ends a region on the calling thread, whose work alone is counted: with OpenMP both stand
 * inside the parallel part. Any number of threads may be in regions, of the same name or of others.
 * Regions nest, at least 32 deep; what an inner one counts, its outer one counts, too. A region that
 * begins again inside itself is part of the outermost call. Where an end misses those of regions
 * inside, these calls are dropped. A signal handler may have regions that its thread had before.
 * name  1 to 127 bytes; copied at its first use
 * returns 0, or -1 when the call was ignored: an end without begin, a name that is none, nested too
 * deep, no memory (standard error says so, once for each name). An ignored begin needs its end all
 * the same. */
int carm_region_begin(const char *name);
int carm_region_end(const char *name);

/* Writes the rows of all calls that have ended so far, for programs that do not end by exit or return
 * from main. Each flush has what came since the last one.
 * returns 0, or -1 when they could not be written (standard error says why; they are kept) */
int carm_region_flush(void);

#ifdef __cplusplus
}
#endif
#endif
