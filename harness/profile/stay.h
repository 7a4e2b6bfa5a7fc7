/* SPDX-License-Identifier: GPL-3.0-or-later */
/* How much of the last cache and of memory bandwidth other guests of a host and other programs leave. They bring their
 * own lines into the cache: on a restless host an idle set of 4 MiB was there after 3 ms and gone after 30 ms. A
 * benchmark that reuses its lines at once does not see this; a program that reuses its lines later waits for memory. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CARM_STAY_WAITS = 5 };

struct carm_stay {
    bool looked;                     /* measured, or tried to */
    size_t n;                        /* figures; 0 = not known */
    double seconds[CARM_STAY_WAITS]; /* ascending: after this time ... */
    double share[CARM_STAY_WAITS];   /* ... this share of the lines is still there, 0 .. 1 */
};

/* Measures on the core of the calling thread, which spins meanwhile, in some 0.2 s.
 * room_bytes     that the thread has in the last cache
 * private_bytes  of the cache before, which others do not reach */
void carm_stay_measure(struct carm_stay *stay, uint64_t room_bytes, uint64_t private_bytes);

/* Memory as it is now. Restless hosts gave a guest 63 to 100% of its roof. */
struct carm_memory_now {
    bool looked;      /* measured, or tried to */
    double bandwidth; /* byte/s of a stream of loads; 0 = not known */
    double seconds;   /* of a load at a random place with the address of the next; 0 = not known */
};

/* Measures with the calling thread, in some 0.2 s. bytes: the working set, larger than the last cache */
void carm_memory_now_measure(struct carm_memory_now *now, uint64_t bytes);

/* The share of lines that is still there after `seconds`: linear between measured waits, exponential beyond the last.
 * returns 1 if nothing is known */
double carm_stay_share(const struct carm_stay *stay, double seconds);

/* Seconds after which half of the lines is gone; INFINITY = longer than measured */
double carm_stay_half(const struct carm_stay *stay);
