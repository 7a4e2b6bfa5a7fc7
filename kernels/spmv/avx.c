/* SPDX-License-Identifier: GPL-3.0-or-later */
#define CARM_SIMD_TARGET "avx"
#define CARM_SIMD_LANES  4
#define CARM_SIMD_FMA    0
#define CARM_SIMD_FIND   carm_spmv_rows_avx
#include "kernels/spmv/simd.h"
