/* SPDX-License-Identifier: GPL-3.0-or-later */
#define CARM_SIMD_TARGET "avx2,fma"
#define CARM_SIMD_ISA    CARM_AVX2
#define CARM_SIMD_LANES  4
#define CARM_SIMD_FMA    1
#define CARM_SIMD_KERNEL carm_stencil_avx2
#include "kernels/stencil/simd.h"
