/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The loader. It takes codes of a plan from the built-in ones, assembles the others with one run
 * of nasm, recounts each code by disassembly and maps it executable. */
#pragma once

#include <stdio.h>

#include "asm/code.h"
#include "asm/recount.h"

/* ---- an image as nasm writes it: codes, constants, and a table with each code's place and the account
 * of the macros (CODE_END of asm/carm.inc) */

/* A view of an assembled image, whose bytes are borrowed. */
struct carm_code_table {
    const uint8_t *bytes; /* of the whole image, unaligned */
    size_t size;
    uint64_t begin; /* offset of the table, and end of codes and constants */
    size_t n;       /* codes in it */
};

/* returns 0 or -CARM_EFORMAT: these bytes are no such image */
int carm_code_table_open(struct carm_code_table *table, const uint8_t *bytes, size_t size,
                         struct carm_err *err);

/* The i-th code, i < n. name, layout and account are untouched on error.
 * returns 0 or -CARM_EFORMAT: its parts are out of order or outside the image */
int carm_code_table_entry(const struct carm_code_table *table, size_t i,
                          char name[CARM_CODE_NAME_MAX], struct carm_code_layout *layout,
                          struct carm_account *account, struct carm_err *err);

/* Finds a code by its name in a table sorted by strcmp.
 * returns false for a missing code or a bad entry; layout and account are then untouched */
bool carm_code_table_find(const struct carm_code_table *table, const char *name,
                          struct carm_code_layout *layout, struct carm_account *account);

/* ---- the built-in image: test codes that were assembled when this program was built, sorted by name.
 * carm_image_open recounts each code that it takes from here, as it does with fresh ones. */

/* builtin.asm, compressed; empty in the build's own tools and in most tests, which assemble all codes */
extern const uint8_t carm_builtin_packed[];
extern const uint8_t carm_builtin_end[];

/* Opens the built-in image, which the first call unpacks: *builtin has n = 0 where nothing is built in.
 * returns 0, -CARM_EFORMAT (the program's file is damaged) or -CARM_ENOMEM */
int carm_builtin_open(struct carm_code_table *builtin, struct carm_err *err);

/* Where the constants of an image begin: behind its last code. */
uint64_t carm_builtin_constants(const struct carm_code_table *builtin);

/* ---- codes that run */

/* window      start of the window, aligned to 64 bytes (NULL for kind B)
 * iterations  loop iterations in one pass, >= 1
 * passes      >= 1; each pass begins at the window's start, but in kind R goes on with the next lines
 * extra       several streams: bytes from one stream's part of the window to the next one's; kind R: the
 *             first state of the generator, whose lowest 6 bits are 64 - log2(lines of the window);
 *             else unused */
typedef void carm_code_fn(void *window, uint64_t iterations, uint64_t passes, uint64_t extra);

struct carm_code {
    struct carm_code_spec spec;
    char name[CARM_CODE_NAME_MAX];
    struct carm_code_layout layout;
    struct carm_account account; /* of the macros; equal to the recount */
    carm_code_fn *run;
};

struct carm_image {
    struct carm_code *codes; /* [n], in the order of the specifications */
    size_t n;
    void *text; /* mapped readable and executable, never writable at the same time */
    size_t text_bytes;
};

/* Finds or generates and assembles, recounts and maps specs[n], n >= 1. Codes that are not built
 * in need `nasm` in PATH and a folder for temporary files ($TMPDIR or /tmp).
 * returns 0; -CARM_EINVAL (a bad specification), -CARM_ENOTSUP (no nasm), -CARM_EIO,
 * -CARM_EFORMAT (account and recount differ: nothing may run), -CARM_ENOMEM */
int carm_image_open(struct carm_image **image, const struct carm_code_spec *specs, size_t n,
                    struct carm_err *err);

/* carm_image_open with other built-in codes than the program's own: sorted by name; n = 0 for none. */
int carm_image_open_from(struct carm_image **image, const struct carm_code_table *builtin,
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

/* Assembles the source that `put` writes, in a temporary folder, with nasm. *bytes [*size] is to be released with
 * free.
 * expand  expands the macros in a separate run of nasm: faster from some 50 codes on
 * returns 0; -CARM_ENOTSUP (no nasm), -CARM_EIO, -CARM_ENOMEM, -CARM_EINTR */
int carm_image_nasm(void (*put)(FILE *out, const void *arg), const void *arg, bool expand,
                    uint8_t **bytes, size_t *size, struct carm_err *err);
