/* SPDX-License-Identifier: GPL-3.0-or-later */
#define CARM_SIMD_TARGET "avx512f,avx2,fma"
#define CARM_SIMD_ISA    CARM_AVX512
#define CARM_SIMD_LANES  8
#define CARM_SIMD_FMA    1
#define CARM_SIMD_KERNEL carm_stencil_avx512
#include "kernels/stencil/simd.h"
