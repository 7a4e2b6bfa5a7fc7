/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A table from numbers to words: open addressing, linear probing, at most half full. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct carm_linemap {
    uint64_t *keys;  /* [2^bits] 0 = empty */
    uint64_t *words; /* [2^bits * width] */
    unsigned bits, width;
    uint64_t used; /* keys */
};

/* The multiplier is 2^64 over the golden ratio: neighbours and power-of-two strides spread (Knuth, The
 * Art of Computer Programming 3, 6.4). */
static inline uint64_t carm_linemap_hash(uint64_t key, unsigned bits)
{
    return (key * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - bits);
}

/* Where the key is, or where it would go. */
static inline uint64_t carm_linemap_at(const struct carm_linemap *t, uint64_t key)
{
    const uint64_t mask = (UINT64_C(1) << t->bits) - 1;
    uint64_t at = carm_linemap_hash(key, t->bits);
    while (t->keys[at] != 0 && t->keys[at] != key) {
        at = (at + 1) & mask;
    }
    return at;
}

/* width  words beside each key. returns false: no memory; close it all the same */
bool carm_linemap_open(struct carm_linemap *t, unsigned bits, unsigned width);
void carm_linemap_close(struct carm_linemap *t); /* zeros allowed */
uint64_t carm_linemap_bytes(const struct carm_linemap *t);
/* Whether one more key makes the table grow to twice its size. */
bool carm_linemap_full(const struct carm_linemap *t);
/* The words of a key, 0 where the key is new; NULL = no memory, the table is unchanged */
uint64_t *carm_linemap_add(struct carm_linemap *t, uint64_t key);
/* The words of a key; NULL = none */
uint64_t *carm_linemap_find(const struct carm_linemap *t, uint64_t key);
void carm_linemap_erase(struct carm_linemap *t, uint64_t key); /* a missing key is ignored */
