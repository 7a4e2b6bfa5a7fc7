/* SPDX-License-Identifier: GPL-3.0-or-later */
#define CARM_SIMD_TARGET "avx"
#define CARM_SIMD_ISA    CARM_AVX
#define CARM_SIMD_LANES  4
#define CARM_SIMD_FMA    0
#define CARM_SIMD_KERNEL carm_stencil_avx
#include "kernels/stencil/simd.h"
