/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Executable latency codes, built in or made by one run of nasm. Each code is recounted by
 * disassembly before it is mapped executable. */
#pragma once

#include "asm/chain/code.h"
#include "asm/recount.h"

/* The account of a loop, from its machine code alone. */
struct carm_chain_account {
    unsigned instructions; /* of the loop, control included */
    unsigned loads, stores;
    /* instructions on the longest dependence from an iteration to the next, of registers and
     * memory, loop control left out */
    unsigned carried;
};

struct carm_chain {
    struct carm_chain_code code;
    char name[CARM_CODE_NAME_MAX];
    unsigned units;                    /* in the loop; of chases and gathers loads of one chain */
    struct carm_chain_account account; /* of the recount; equal to the macros' */
    carm_chain_fn *run;
};

struct carm_chain_image {
    struct carm_chain *chains; /* [n] */
    size_t n;
    void *text; /* mapped readable and executable, never writable at the same time */
    size_t text_bytes;
};

/* Finds or assembles, recounts and maps codes[n], n >= 1.
 * returns 0; -CARM_ENOTSUP (not built in and no nasm), -CARM_EIO, -CARM_EFORMAT (account and recount differ:
 * nothing may run), -CARM_ENOMEM */
int carm_chain_image_open(struct carm_chain_image **image, const struct carm_chain_code *codes,
                          size_t n, struct carm_err *err);
void carm_chain_image_close(struct carm_chain_image *image); /* NULL allowed */

/* The code of that name, borrowed, or NULL. */
const struct carm_chain *carm_chain_image_find(const struct carm_chain_image *image,
                                               const char *name);

/* Several codes as one argument, for carm_image_nasm. */
struct carm_chain_list {
    const struct carm_chain_code *codes; /* [n] */
    size_t n;
};
void carm_chain_image_source(FILE *out, const void *list);

/* The built-in codes (asm/builtin.asm), compressed; empty in the build's own tools and in most tests. */
extern const uint8_t carm_builtin_chains_packed[];
extern const uint8_t carm_builtin_chains_end[];

/* ---- the recount */

/* Compares a recount with the account of the macros and with the table: instructions, loads, stores, and the carried
 * chain. In latency codes and chases this chain must be as long as in the table, in throughput codes at most as long as
 * one of their ways. *out: the recount.
 * returns 0 or -CARM_EFORMAT, whose sentence names the code and the difference */
int carm_chain_recount_check(const struct carm_chain_code *code, const uint8_t *image, size_t size,
                             const struct carm_code_layout *layout,
                             const struct carm_account *account, struct carm_chain_account *out,
                             struct carm_err *err);
