/* SPDX-License-Identifier: GPL-3.0-or-later */
#define CARM_SIMD_TARGET "avx512f,avx2,fma"
#define CARM_SIMD_LANES  8
#define CARM_SIMD_FMA    1
#define CARM_SIMD_FIND   carm_spmv_rows_avx512
#include "kernels/spmv/simd.h"
