/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Windows of a working set: iterations, address and fourth argument of each repetition of a test
 * code. */
#pragma once

#include <stdint.h>

#include "asm/image.h"

/* The work of one repetition on each thread: `passes` passes of `iterations` loop iterations
 * over one window. The repetitions take the `windows` windows of the working set in turn. With
 * several streams, a window is the same piece of each stream. With a stride, each lap around the
 * set reads other lines than the lap before. Kind R has one window, from which each repetition
 * draws other lines. */
struct carm_shape {
    uint64_t iterations, passes, windows;
    /* iterations x stride, of each stream; R: a power of two of lines, the whole set; 0 for
     * codes without memory */
    uint64_t window_bytes;
};

/* The shape of a repetition of about `want` loop iterations on a touched working set of
 * set_bytes. */
void carm_measure_shape_of(const struct carm_code *code, uint64_t set_bytes, uint64_t want,
                           struct carm_shape *shape);

/* The working set of one thread, bytes: all windows of all streams, without padding. With a
 * stride it contains the lines that one lap leaves out and another one reads. */
uint64_t carm_measure_set_bytes(const struct carm_code *code, const struct carm_shape *shape);

/* Bytes from a window of one stream to the same piece of the next one; 0 = one stream.
 *
 * Each stream begins behind the whole one before, at an odd multiple of 2 KiB from it (two
 * streams), of 1 KiB (three, four) or of 512 bytes, so that addresses that are used together differ
 * modulo 4 KiB. A core first compares the lower 12 bits of a load's address with the lower 12 bits
 * of earlier stores' addresses: a load with the same 12 bits waits for the store (4 KiB aliasing).
 * The padding also keeps the streams out of one set of an L1 cache and out of one bank of memory,
 * as in the Roofline paper.
 * source: Intel 64 and IA-32 Architectures Optimization Reference Manual (248966), "Memory
 * disambiguation" and event LD_BLOCKS_PARTIAL.ADDRESS_ALIAS; Williams et al. 2009, appendix A.1.2 */
uint64_t carm_window_distance(const struct carm_code *code, const struct carm_shape *shape);

/* Bytes from the start of a working set to the last byte that a repetition touches, with the
 * padding between streams and the lines that a stride leaves out. 0 for codes without memory. */
uint64_t carm_window_span(const struct carm_code *code, const struct carm_shape *shape);

/* First state of a kind-R code's generator for one repetition: its lowest 6 bits are 64 - log2(lines), the
 * others a hash (splitmix64) of seed, repetition and thread, so that no two repetitions read the same lines.
 * lines  a power of two, 2 .. 2^63 */
uint64_t carm_window_state(uint64_t seed, uint64_t repetition, unsigned thread, uint64_t lines);

/* A thread's way through the windows. */
struct carm_windows {
    const struct carm_code *code;
    const struct carm_shape *shape;
    char *base;          /* of the working set */
    uint64_t cursor;     /* the argument of carm_windows_begin */
    uint64_t seed;       /* of random lines */
    unsigned thread;     /* of the generator's seed */
    uint64_t repetition; /* since the begin */
    uint64_t offset;     /* of the next window, bytes */
    /* with a stride: index of the line that this lap reads, 0 .. stride - 1. The laps take
     * turns, so that the whole set is streamed, not a stride-th part of it */
    uint64_t phase;
};

/* base    start of the working set; carm_window_span bytes of it are touched
 * cursor  0, or carm_windows_cursor of the run before, to go on from there
 * seed    any number that differs from run to run */
void carm_windows_begin(struct carm_windows *w, const struct carm_code *code,
                        const struct carm_shape *shape, void *base, uint64_t cursor, uint64_t seed,
                        unsigned thread);

/* First and fourth argument of the next repetition. */
void *carm_windows_at(const struct carm_windows *w);
uint64_t carm_windows_extra(const struct carm_windows *w);

void carm_windows_next(struct carm_windows *w);
uint64_t carm_windows_cursor(const struct carm_windows *w);
