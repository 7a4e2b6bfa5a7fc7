/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A fully associative cache with LRU replacement: which lines it holds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct carm_lru_node {
    uint64_t line;
    uint32_t prev, next; /* by time of use; node 0 closes the ring */
    uint32_t chain;      /* next node of the same bucket; 0 = end */
};

struct carm_lru {
    struct carm_lru_node *nodes; /* [lines + 1] */
    uint32_t *buckets;           /* [2^bits] */
    unsigned bits;
    uint32_t lines, used;
    uint32_t spare; /* first unused node of a removed line, linked by chain; 0 = none */
};

/* returns false: no memory; close it all the same */
bool carm_lru_open(struct carm_lru *s, uint64_t lines);
void carm_lru_close(struct carm_lru *s); /* zeros allowed */
/* A lookup, after which the line is the latest used. returns whether it hits */
bool carm_lru_touch(struct carm_lru *s, uint64_t line);
void carm_lru_remove(struct carm_lru *s, uint64_t line); /* a missing line is ignored */
