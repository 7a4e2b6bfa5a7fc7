/* SPDX-License-Identifier: MIT */
/* The one hash table: strings, kept once and numbered from 0 in the order of their insertion;
 * millions of strings. The caller keeps data of a string in an array with this index. Each run has
 * its own secret seed, so that no file can provoke collisions. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* A hash of length bytes; equal seeds give equal hashes in every run. A chain of texts is hashed by
 * making the first one's hash the seed of the next. */
uint64_t carm_hash_bytes(uint64_t seed, const char *text, size_t length);

struct carm_names {
    char *text; /* NUL-terminated, one after another */
    size_t used, room;
    uint32_t *offsets; /* [n] into text */
    uint32_t n;
    size_t offsets_room;
    struct carm_name_slot *slots;
    unsigned bits; /* the slots are 2^bits; 0 = none yet */
    uint64_t seed;
};

void carm_names_open(struct carm_names *names);
void carm_names_close(struct carm_names *names); /* releases the strings and the table, not *h
                                                  * itself */

/* Finds or adds a string without NUL inside. The string is new if its number equals the former n.
 * returns 0; -CARM_ENOMEM; -CARM_EFORMAT when all strings together would pass 4 GiB */
int carm_names_add(struct carm_names *names, const char *text, size_t length, uint32_t *number);

static inline const char *carm_names_text(const struct carm_names *names, uint32_t number)
{
    return names->text + names->offsets[number];
}
