/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens the case of an item of the study. */
#include <math.h>

#include "kernels/dwarfs/study.h"
#include "kernels/fft/transform.h"
#include "kernels/lbmhd/step.h"
#include "kernels/spmv/product.h"
#include "kernels/stencil/sweep.h"
#include "kernels/transpose/exchange.h"

/* Points along an edge for the simulation of caches: some 10 to 20 million accesses, and arrays larger than a
 * cache of some 16 MiB. */
enum { SMALL_STENCIL = 128, SMALL_LBMHD = 48, SMALL_TRANSPOSE = 128 };

/* Bytes of a matrix much larger than the caches; for the simulation, one with some 2 million nonzeros. */
static const double matrix_least_bytes = 96e6;
static const double matrix_most_bytes = 1e9;
static const double matrix_small_bytes = 24e6;

static int open_spmv(const struct carm_dwarf_study *study, const struct carm_dwarf_item *item,
                     bool small, struct carm_team *team, struct carm_dwarf_case **out,
                     struct carm_err *err)
{
    const double large =
        fmin(matrix_most_bytes, fmax(matrix_least_bytes, 6.0 * study->llc_all_bytes));
    const struct carm_spmv_params p = {
        .file = study->matrix,
        .matrix = {.bytes = (uint64_t)(small ? matrix_small_bytes : large), .seed = 1},
        .optimised = item->optimised,
        .prefetch_bytes = small ? 0 : CARM_SPMV_TUNE,
        .cpu = &study->limited,
        .team = team,
    };
    return carm_spmv_open(out, &p, err);
}

static int open_lbmhd(const struct carm_dwarf_study *study, const struct carm_dwarf_item *item,
                      bool small, struct carm_team *team, struct carm_dwarf_case **out,
                      struct carm_err *err)
{
    const size_t n = small && item->n > SMALL_LBMHD ? SMALL_LBMHD : item->n;
    const struct carm_lbmhd_params p = {
        .n = {n, n, n},
        .steps = 1,
        .version = item->optimised ? CARM_LBMHD_OPTIMISED : CARM_LBMHD_PLAIN,
        .cpu = &study->limited,
        .team = team,
    };
    return carm_lbmhd_open(out, &p, err);
}

static int open_stencil(const struct carm_dwarf_study *study, const struct carm_dwarf_item *item,
                        bool small, struct carm_team *team, struct carm_dwarf_case **out,
                        struct carm_err *err)
{
    const size_t n = small && item->n > SMALL_STENCIL ? SMALL_STENCIL : item->n;
    const struct carm_stencil_params p = {
        .n = (uint32_t)n,
        .sweeps = 1,
        .optimised = item->optimised,
        .l1_bytes = study->cache_bytes[0],
        .l2_bytes = study->cache_bytes[1],
        .llc_bytes = study->cache_bytes[2],
        .cpu = &study->limited,
        .team = team,
    };
    return carm_stencil_open(out, &p, err);
}

static int open_fft(const struct carm_dwarf_study *study, const struct carm_dwarf_item *item,
                    struct carm_team *team, struct carm_dwarf_case **out, struct carm_err *err)
{
    const struct carm_fft_params p = {
        .n = item->n,
        .version = item->optimised ? CARM_FFT_OPTIMISED : CARM_FFT_PLAIN,
        .team = team,
        .cache_bytes = study->cache_bytes[2],
    };
    return carm_fft_open(out, &p, err);
}

static int open_transpose(const struct carm_dwarf_study *study, const struct carm_dwarf_item *item,
                          bool small, struct carm_team *team, struct carm_dwarf_case **out,
                          struct carm_err *err)
{
    const size_t n = small && item->n > SMALL_TRANSPOSE ? SMALL_TRANSPOSE : item->n;
    const struct carm_transpose_params p = {
        .n = n,
        .version = item->optimised ? CARM_TRANSPOSE_OPTIMISED : CARM_TRANSPOSE_PLAIN,
        .cpu = &study->limited,
        .team = team,
    };
    return carm_transpose_open(out, &p, err);
}

int carm_dwarf_case_open(const struct carm_dwarf_study *study, const struct carm_dwarf_item *item,
                         bool small, struct carm_team *team, struct carm_dwarf_case **out,
                         struct carm_err *err)
{
    switch (item->kernel) {
    case CARM_DWARF_SPMV:
        return open_spmv(study, item, small, team, out, err);
    case CARM_DWARF_LBMHD:
        return open_lbmhd(study, item, small, team, out, err);
    case CARM_DWARF_STENCIL:
        return open_stencil(study, item, small, team, out, err);
    case CARM_DWARF_FFT:
        return open_fft(study, item, team, out, err);
    case CARM_DWARF_TRANSPOSE:
        return open_transpose(study, item, small, team, out, err);
    case CARM_DWARF_KERNELS:
        break;
    }
    return carm_fail(err, CARM_EINVAL, "no such kernel");
}
