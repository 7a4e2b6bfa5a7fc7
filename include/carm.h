/* SPDX-License-Identifier: MIT */
/* Regions of a program whose flops, bytes and time carm counts.
 *
 *     carm_region_begin("solve");
 *     ...
 *     carm_region_end("solve");
 *
 * Nothing happens unless CARM_OUT names a file. A row for each region is appended to it when the
 * program ends by exit or by return from main. `carm run --regions -- PROGRAM` sets CARM_OUT. A row is
 * the sum over all threads and calls; its seconds are those of the thread that took longest.
 * Link with `pkg-config --cflags --libs carm`.
 *
 * The environment, read at the first region:
 *   CARM_OUT          the file; rows that are already in it stay
 *   CARM_COUNTERS     counter back end: auto (default), papi, likwid, step or none (time only);
 *                     translate under carm run --regions --counters translate: every call, exactly
 *   CARM_STEP_BUDGET  step: the largest number of instructions in one call, default 2000000. Calls
 *                     1, 2, 4, 8, ... of a region on a thread are stepped, the others are timed
 *   CARM_ROWS         region (default): a row for each region; thread: a row for each of its threads
 */
#ifndef CARM_H
#define CARM_H

#ifdef __cplusplus
extern "C" {
#endif

/* Begins and ends a region on the calling thread. Only the work of this thread is counted: with OpenMP,
 * call both inside the parallel part. Any number of threads may be in regions, with the same name or
 * with other names. Regions nest, at least 32 deep; what an inner region counts, the outer one counts,
 * too. A region that begins again inside itself is part of the outermost call. When a region ends
 * before the regions inside it, the calls of those are dropped. A signal handler may use regions that
 * its thread used before.
 * name  1 to 127 bytes; copied at its first use
 * returns 0, or -1 when the call was ignored: an end without a begin, an invalid name, nested too deep,
 * no memory (a message goes to standard error, once for each name). An ignored begin still needs its
 * end. */
int carm_region_begin(const char *name);
int carm_region_end(const char *name);

/* Writes the rows of all calls that have ended so far, for programs that do not end by exit or by return
 * from main. Each flush writes what was counted since the last one.
 * returns 0, or -1 when the rows could not be written (standard error says why; they are kept) */
int carm_region_flush(void);

#ifdef __cplusplus
}

namespace carm
{
/* A region that ends with the scope of its object, also when an exception leaves it:
 *     carm::region guard("solve");
 * name  as of carm_region_begin; not copied here: it must live as long as the object */
class region
{
    const char *name;
    region(const region &);
    region &operator=(const region &);

  public:
    explicit region(const char *n) : name(n)
    {
        carm_region_begin(name);
    }
    ~region()
    {
        carm_region_end(name);
    }
};
} /* namespace carm */
#endif
#endif
