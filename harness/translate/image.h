/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine as it lies in each counted program: harness/translate/engine and libZydis, linked to a fixed
 * address in a file in memory. */
#ifndef CARM_HARNESS_TRANSLATE_IMAGE_H
#define CARM_HARNESS_TRANSLATE_IMAGE_H

#include <stdint.h>

#include "base/err.h"

/* In the low 2 GiB, where absolute addresses fit 32 bits; above what programs of fixed addresses use, or, where
 * static arrays take all of that, below them. */
#define CARM_IMAGE_AT  UINT64_C(0x70000000)
#define CARM_IMAGE_LOW UINT64_C(0x40000)

enum { CARM_IMAGE_CODES = 2 };

struct carm_engine {
    int fd;      /* -1 = none */
    uint64_t at; /* one of these two */
    uint64_t bytes;
    uint64_t start, boot; /* addresses of carm_entry_start and carm_boot */
    struct {
        uint64_t begin, end;
    } code[CARM_IMAGE_CODES]; /* what is executable, and never writable: the engine's, libZydis' */
};

/* at  where it will lie
 * returns 0, -CARM_ENOTSUP (libZydis is not a shared library here), -CARM_ENOMEM, -CARM_EIO */
int carm_engine_open(struct carm_engine *image, uint64_t at, struct carm_err *err);
void carm_engine_close(struct carm_engine *image);

#endif
