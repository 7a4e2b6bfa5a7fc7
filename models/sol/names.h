/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strings kept once and numbered from 0 in the order in which they come; millions of them. The
 * hash has a secret of its own in each run, so that no file can be made of names that collide. */
#ifndef CARM_MODELS_SOL_NAMES_H
#define CARM_MODELS_SOL_NAMES_H

#include <stddef.h>
#include <stdint.h>

struct carm_sol_names {
    char *text; /* NUL-terminated, one after another; offset 0 is "" */
    size_t used, room;
    uint32_t *offsets; /* [n] into text */
    uint32_t n;
    uint32_t offsets_room;
    struct carm_sol_name_slot *slots;
    unsigned bits; /* the slots are 2^bits; 0 = none yet */
    uint64_t seed;
};

/* Number 0 is "". returns 0 or -CARM_ENOMEM */
int carm_sol_names_open(struct carm_sol_names *names);
void carm_sol_names_close(struct carm_sol_names *names); /* frees what is inside */

/* The number of a string without NUL inside, which is new when it equals the old n.
 * returns 0; -CARM_ENOMEM; -CARM_EFORMAT when all strings together would pass 4 GiB */
int carm_sol_names_add(struct carm_sol_names *names, const char *text, size_t length,
                       uint32_t *number);

/* The same in two steps: the hash, which asks for the memory where the name would be, and later the
 * rest, when it has come. Large tables are slow for nothing else. */
uint32_t carm_sol_names_hash(const struct carm_sol_names *names, const char *text, size_t length);
int carm_sol_names_add_hashed(struct carm_sol_names *names, const char *text, size_t length,
                              uint32_t hash, uint32_t *number);

static inline const char *carm_sol_names_text(const struct carm_sol_names *names, uint32_t number)
{
    return names->text + names->offsets[number];
}

#endif
