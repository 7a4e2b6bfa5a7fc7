/* SPDX-License-Identifier: MIT */
#include "base/hash.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "base/array.h"
#include "base/err.h"

enum { FIRST_BITS = 10, BITS_MAX = 31, HUGE_PAGE = 2 << 20 };

struct carm_name_slot {
    uint32_t hash;
    uint32_t number; /* plus 1; 0 = free */
};

/* Both halves of a 128-bit product, folded: a good mix for one multiplication. */
static inline uint64_t mix(uint64_t a, uint64_t b)
{
    const unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* The first bytes, at most 8, without a call of memcpy with a variable length. */
static inline uint64_t short_word(const char *text, size_t length)
{
    uint64_t word = 0;
    uint32_t head = 0;
    uint32_t tail = 0;
    if (length >= sizeof head) {
        memcpy(&head, text, sizeof head);
        memcpy(&tail, text + length - sizeof tail, sizeof tail);
        return (uint64_t)head << 32 | tail;
    }
    for (size_t i = 0; i < length; i++) {
        word = word << 8 | (unsigned char)text[i];
    }
    return word;
}

uint64_t carm_hash_bytes(uint64_t seed, const char *text, size_t length)
{
    const uint64_t odd = 0x9e3779b97f4a7c15U; /* 2^64 over the golden ratio */
    uint64_t h = seed ^ length;
    uint64_t word = 0;
    for (; length > sizeof word; text += sizeof word, length -= sizeof word) {
        memcpy(&word, text, sizeof word);
        h = mix(h ^ word, odd) + seed;
    }
    return mix(h ^ short_word(text, length), odd);
}

static uint32_t hash_of(const struct carm_names *names, const char *text, size_t length)
{
    const uint64_t h = carm_hash_bytes(names->seed, text, length);
    return (uint32_t)(h ^ (h >> 32));
}

/* A name's place is its hash's upper bits: the larger table has the names in the order of the old
 * one, so that it is filled from front to back. */
static inline uint32_t place(unsigned bits, uint32_t hash)
{
    return hash >> (32 - bits);
}

/* Nearly each new name touches another page of a large table: with huge pages it takes half the time. */
static struct carm_name_slot *new_slots(uint32_t nslots)
{
    const size_t bytes = nslots * sizeof(struct carm_name_slot);
    struct carm_name_slot *slots = NULL;
    if (bytes < 2 * (size_t)HUGE_PAGE) {
        return calloc(nslots, sizeof *slots);
    }
    slots = aligned_alloc(HUGE_PAGE, bytes);
    if (slots) {
        madvise(slots, bytes, MADV_HUGEPAGE); /* may fail: huge pages are optional */
        memset(slots, 0, bytes);
    }
    return slots;
}

static int rehash(struct carm_names *names)
{
    const unsigned bits = names->bits ? names->bits + 1 : FIRST_BITS;
    if (bits > BITS_MAX) {
        return -CARM_EFORMAT;
    }
    const uint32_t nslots = UINT32_C(1) << bits;
    struct carm_name_slot *slots = new_slots(nslots);
    if (!slots) {
        return -CARM_ENOMEM;
    }
    for (uint32_t i = 0; names->bits && i < UINT32_C(1) << names->bits; i++) {
        const struct carm_name_slot old = names->slots[i];
        if (old.number) {
            uint32_t at = place(bits, old.hash);
            while (slots[at].number) {
                at = (at + 1) & (nslots - 1);
            }
            slots[at] = old;
        }
    }
    free(names->slots);
    names->slots = slots;
    names->bits = bits;
    return 0;
}

static int reserve(struct carm_names *names, size_t length)
{
    if (names->used + length + 1 > UINT32_MAX || names->n == UINT32_MAX / 2) {
        return -CARM_EFORMAT;
    }
    if (carm_array_grow(&names->text, &names->room, names->used, length + 1, 1, "names", NULL) ||
        carm_array_grow(&names->offsets, &names->offsets_room, names->n, 1, sizeof *names->offsets,
                        "names", NULL)) {
        return -CARM_ENOMEM;
    }
    const bool full = !names->bits || names->n >= UINT32_C(1) << (names->bits - 1);
    return full ? rehash(names) : 0;
}

static int append(struct carm_names *names, const char *text, size_t length, uint32_t hash)
{
    const int rc = reserve(names, length);
    if (rc) {
        return rc;
    }
    const uint32_t last = (UINT32_C(1) << names->bits) - 1;
    uint32_t at = place(names->bits, hash);
    while (names->slots[at].number) {
        at = (at + 1) & last;
    }
    names->offsets[names->n] = (uint32_t)names->used;
    memcpy(names->text + names->used, text, length);
    names->text[names->used + length] = '\0';
    names->used += length + 1;
    names->slots[at] = (struct carm_name_slot){.hash = hash, .number = ++names->n};
    return 0;
}

int carm_names_add(struct carm_names *names, const char *text, size_t length, uint32_t *number)
{
    const uint32_t hash = hash_of(names, text, length);
    if (names->bits) {
        const uint32_t last = (UINT32_C(1) << names->bits) - 1;
        uint32_t at = place(names->bits, hash);
        for (; names->slots[at].number; at = (at + 1) & last) {
            if (names->slots[at].hash != hash) {
                continue;
            }
            const uint32_t found = names->slots[at].number - 1;
            const size_t offset = names->offsets[found];
            const char *have = names->text + offset;
            if (offset + length < names->used && !have[length] && memcmp(have, text, length) == 0) {
                *number = found;
                return 0;
            }
        }
    }
    *number = names->n;
    return append(names, text, length, hash);
}

void carm_names_open(struct carm_names *names)
{
    memset(names, 0, sizeof *names);
    if (getrandom(&names->seed, sizeof names->seed, GRND_NONBLOCK) != sizeof names->seed) {
        names->seed = (uint64_t)(uintptr_t)names; /* early at boot; the stack's place is random */
    }
}

void carm_names_close(struct carm_names *names)
{
    free(names->text);
    free(names->offsets);
    free(names->slots);
    memset(names, 0, sizeof *names);
}
