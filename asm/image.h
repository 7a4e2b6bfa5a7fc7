/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The loader: takes the codes of a plan from those that the program carries (asm/builtin.h), assembles
 * the others with one run of nasm, recounts each by disassembly and maps them executable. */
#ifndef CARM_ASM_IMAGE_H
#define CARM_ASM_IMAGE_H

#include "asm/code.h"
#include "asm/recount.h"
#include "asm/table.h"

/* window      start of the window, aligned to 64 bytes (NULL for kind B)
 * iterations  loop iterations in one pass, >= 1
 * passes      >= 1; each begins the window anew, but in kind R goes on with the next lines
 * extra       two streams: bytes from the window to its part of the second stream; kind R: the
 *             first state of the generator, whose lowest 6 bits are 64 less the binary logarithm of
 *             the lines that window has; else unused */
typedef void carm_code_fn(void *window, uint64_t iterations, uint64_t passes, uint64_t extra);

struct carm_code {
    struct carm_code_spec spec;
    char name[CARM_CODE_NAME_MAX];
    struct carm_code_layout layout;
    struct carm_account account; /* assembled and recounted: both agree */
    carm_code_fn *run;
};

struct carm_image {
    struct carm_code *codes; /* [n], in the order of the specifications */
    size_t n;
    void *text; /* mapped readable and executable, never writable at the same time */
    size_t text_bytes;
};

/* Finds or generates and assembles, recounts and maps specs[n], n >= 1. What the program does not
 * carry needs `nasm` in PATH and a folder for temporary files ($TMPDIR or /tmp).
 * returns 0; -CARM_EINVAL (a bad specification), -CARM_ENOTSUP (no nasm), -CARM_EIO,
 * -CARM_EFORMAT (account and recount differ: nothing may run), -CARM_ENOMEM */
int carm_image_open(struct carm_image **image, const struct carm_code_spec *specs, size_t n,
                    struct carm_err *err);

/* The same with another store than the program's own: sorted by name; n = 0 for none. */
int carm_image_open_from(struct carm_image **image, const struct carm_table *store,
                         const struct carm_code_spec *specs, size_t n, struct carm_err *err);

/* The code of that name, as carm_code_name spells it, borrowed, or NULL. */
const struct carm_code *carm_image_find(const struct carm_image *image, const char *name);

/* Unmaps and frees; NULL allowed. */
void carm_image_close(struct carm_image *image);

/* Assembles specs[n] into bytes and accounts without recount or mapping (for tests and tools).
 * *bytes is to be released with free; layouts[n] and accounts[n] are filled. */
int carm_image_assemble(const struct carm_code_spec *specs, size_t n, uint8_t **bytes, size_t *size,
                        struct carm_code_layout *layouts, struct carm_account *accounts,
                        struct carm_err *err);

#endif
