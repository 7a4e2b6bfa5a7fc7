/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <immintrin.h>

#include "kernels/lbmhd/step.h"

#define LANES        2
#define TARGET       __attribute__((target("sse2")))
#define STREAM(p, v) _mm_stream_pd(p, (__m128d)(v))
#define NAME(f)      sse_##f
#include "kernels/lbmhd/vector.h"

#define LANES        4
#define TARGET       __attribute__((target("avx")))
#define STREAM(p, v) _mm256_stream_pd(p, (__m256d)(v))
#define NAME(f)      avx_##f
#include "kernels/lbmhd/vector.h"

#define LANES        8
#define TARGET       __attribute__((target("avx512f")))
#define STREAM(p, v) _mm512_stream_pd(p, (__m512d)(v))
#define NAME(f)      avx512_##f
#include "kernels/lbmhd/vector.h"

const struct carm_lbmhd_vector *carm_lbmhd_vector_of(const struct carm_cpu *cpu)
{
    /* AVX2 adds nothing here: FMA would change the rounding, and memory is the limit */
    static const struct carm_lbmhd_vector sse = {"sse", 2, sse_row};
    static const struct carm_lbmhd_vector avx = {"avx", 4, avx_row};
    static const struct carm_lbmhd_vector avx512 = {"avx512", 8, avx512_row};
    return cpu->isa[CARM_AVX512] ? &avx512 : cpu->isa[CARM_AVX] ? &avx : &sse;
}
