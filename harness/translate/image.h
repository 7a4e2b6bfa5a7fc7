/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The image of the engine: harness/translate/engine and libZydis, linked to a fixed address in a
 * file in memory, which each counted program maps. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* In the low 2 GiB, where absolute addresses fit 32 bits. CARM_IMAGE_AT is above most programs
 * with fixed addresses; CARM_IMAGE_LOW is below them, for programs whose static arrays reach
 * CARM_IMAGE_AT. */
#define CARM_IMAGE_AT  UINT64_C(0x70000000)
#define CARM_IMAGE_LOW UINT64_C(0x40000)

enum { CARM_IMAGE_CODES = 2 };

struct carm_engine {
    uint64_t version; /* a hash of the engine and of libZydis */
    int fd;           /* -1 = none */
    uint64_t at;      /* CARM_IMAGE_AT or CARM_IMAGE_LOW */
    uint64_t bytes;
    /* addresses of carm_entry_start, carm_boot, carm_engine_build, carm_engine_ready */
    uint64_t start, boot, build, ready;
    struct {
        uint64_t begin, end;
    } code[CARM_IMAGE_CODES]; /* executable ranges, which are never writable: of the engine, of
                               * libZydis */
};

/* at  address in the counted program
 * returns 0, -CARM_ENOTSUP (libZydis is not a shared library here), -CARM_ENOMEM, -CARM_EIO */
int carm_engine_open(struct carm_engine *image, uint64_t at, struct carm_err *err);
void carm_engine_close(struct carm_engine *image);
