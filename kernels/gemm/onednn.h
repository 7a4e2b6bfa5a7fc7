/* SPDX-License-Identifier: GPL-3.0-or-later */
/* oneDNN, the library of matrix products in narrow numbers, loaded at run time: nothing links it. */
#pragma once

#include <stddef.h>

#include "asm/isa.h"
#include "base/err.h"

struct carm_onednn {
    char name[32]; /* "oneDNN 2.6.3" */
    char isa[32];  /* chosen by the library: "avx2", "avx512_core_vnni" */
    void *handle;
    void (*set_threads)(int n); /* of its OpenMP; NULL = it has other threads */
    void *u8s8s32, *bf16bf16f32;
};

/* Versions 2 and 3.
 * returns 0 or -CARM_ENOTSUP (not installed: says how to get it) */
int carm_onednn_open(struct carm_onednn *lib, struct carm_err *err);

/* C = A x B, all n columns wide and contiguous: C m x n, A m x k, B k x n. INT8: A unsigned, B signed, C of 32 bits;
 * BF16: C in single precision.
 * returns 0 or -CARM_ENOTSUP (not on this CPU) */
int carm_onednn_multiply(const struct carm_onednn *lib, enum carm_precision precision, size_t m,
                         size_t n, size_t k, const void *a, const void *b, void *c,
                         struct carm_err *err);
