/* SPDX-License-Identifier: MIT */
/* A hash join: a table of 4 million keys, probed with 16 million in random order.
 * With -DPARTITIONED the keys are first sorted into 256 parts, so that each part probes 512 KiB of the table. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { SLOTS = 1 << 23, BUILD = 1 << 22, PROBES = 1 << 24, PARTS = 256 };

struct slot {
    uint64_t key, value;
};

static uint64_t hash(uint64_t key)
{
    return (key * UINT64_C(0x9e3779b97f4a7c15)) >> 41; /* 23 bits: SLOTS */
}

static uint64_t probe(const struct slot *table, const uint64_t *keys, size_t n)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        uint64_t at = hash(keys[i]);
        while (table[at].key && table[at].key != keys[i]) {
            at = (at + 1) % SLOTS;
        }
        sum += table[at].key ? table[at].value : 0;
    }
    return sum;
}

#ifdef PARTITIONED
/* The keys by the part of the table that they probe; NULL = not enough memory */
static uint64_t *partition(const uint64_t *keys, size_t n)
{
    size_t at[PARTS + 1] = {0};
    uint64_t *sorted = malloc(n * sizeof *sorted);
    if (!sorted) {
        return NULL;
    }
    for (size_t i = 0; i < n; i++) {
        at[hash(keys[i]) / (SLOTS / PARTS) + 1]++;
    }
    for (size_t k = 0; k < PARTS; k++) {
        at[k + 1] += at[k];
    }
    for (size_t i = 0; i < n; i++) {
        sorted[at[hash(keys[i]) / (SLOTS / PARTS)]++] = keys[i];
    }
    return sorted;
}
#endif

int main(void)
{
    struct slot *table = calloc(SLOTS, sizeof *table);
    uint64_t *keys = malloc(PROBES * sizeof *keys), x = 88172645463325252;
    if (!table || !keys) {
        return 1;
    }
    for (uint64_t key = 1; key <= BUILD; key++) {
        uint64_t at = hash(key);
        while (table[at].key) {
            at = (at + 1) % SLOTS;
        }
        table[at] = (struct slot){key, key * key};
    }
    for (size_t i = 0; i < PROBES; i++) {
        x ^= x << 13, x ^= x >> 7, x ^= x << 17;
        keys[i] = 1 + x % (2 * BUILD); /* half of them are in the table */
    }
#ifdef PARTITIONED
    uint64_t *sorted = partition(keys, PROBES);
    free(keys);
    keys = sorted;
    if (!keys) {
        return 1;
    }
#endif
    printf("%llu\n", (unsigned long long)probe(table, keys, PROBES));
    free(table);
    free(keys);
    return 0;
}
