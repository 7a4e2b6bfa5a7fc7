/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Single instructions and what each does, for tests/harness/count/step/test_instruction.c. The registers before it:
 * k1 = lanes 0 and 2 of the first 16 (and 17), k2 = none, k3 = all; vector register 2 has the sign bits
 * of its doublewords 1, 3 and 4 set, so of quadwords 0 and 1; rcx as given. */
#pragma once

#define DP(width, n) .flops[0][width] = (n)
#define SP(width, n) .flops[1][width] = (n)
#define OTHER(n)     .flops_other = (n)
#define LD(n, b)     .loads = (n), .load_bytes = (b)
#define ST(n, b)     .stores = (n), .store_bytes = (b)
#define NT(b)        .stores = 1, .store_bytes = (b), .nt_stores = 1
#define ADDS         .fp_instructions = 1, .fp_adds = 1
#define MULS         .fp_instructions = 1, .fp_muls = 1
#define FMAS         .fp_instructions = 1, .fp_fmas = 1
#define DIVS         .fp_instructions = 1, .fp_divides = 1
#define ROOTS        .fp_instructions = 1, .fp_divides = 1, .fp_roots = 1
#define FPS          .fp_instructions = 1 /* none of these */
#define PREFETCH     .prefetches = 1
/* n operations on elements of 8 << e bits in vectors of 128 << w bits */
#define INTS(e, w, n, kind) \
    .int_elements[e] = (n), .int_widths[w] = (n), .int_##kind = (n), .int_instructions = 1
#define TILED         .int_elements[0] = 840, .int_dots = 840, .int_instructions = 1 /* 3 x 5 sums of 28 */
#define BITS(e, w, n) .int_elements[e] = (n), .int_widths[w] = (n), .int_instructions = 1

/* X(instruction, rcx, counts but for the instruction itself) */
#define EFFECT_TABLE(X)                                                                            \
    /* classes of width and precision */                                                           \
    X("addsd xmm1, xmm2", 5, DP(0, 1), ADDS)                                                       \
    X("addss xmm1, [rax]", 5, SP(0, 1), LD(1, 4), ADDS)                                            \
    X("mulpd xmm1, [rax]", 5, DP(1, 2), LD(1, 16), MULS)                                           \
    X("subps xmm1, xmm2", 5, SP(1, 4), ADDS)                                                       \
    X("vdivpd ymm1, ymm2, ymm3", 5, DP(2, 4), DIVS)                                                \
    X("vsqrtps ymm1, [rax]", 5, SP(2, 8), LD(1, 32), ROOTS)                                        \
    X("vmulpd zmm1, zmm2, zmm3", 5, DP(3, 8), MULS)                                                \
    X("vaddps zmm1, zmm2, [rax]", 5, SP(3, 16), LD(1, 64), ADDS)                                   \
    X("vaddps xmm1, xmm2, xmm20", 5, SP(1, 4), ADDS)                                               \
    X("sqrtsd xmm1, xmm2", 5, DP(0, 1), ROOTS)                                                     \
    X("vaddsd xmm1, xmm2, xmm3", 5, DP(0, 1), ADDS)                                                \
    /* fused ones */                                                                               \
    X("vfmadd132sd xmm1, xmm2, xmm3", 5, DP(0, 2), FMAS)                                           \
    X("vfmadd213ss xmm1, xmm2, [rax]", 5, SP(0, 2), LD(1, 4), FMAS)                                \
    X("vfmadd231pd ymm1, ymm2, [rax]", 5, DP(2, 8), LD(1, 32), FMAS)                               \
    X("vfmsub231ps zmm1, zmm2, zmm3", 5, SP(3, 32), FMAS)                                          \
    X("vfnmadd213pd xmm1, xmm2, xmm3", 5, DP(1, 4), FMAS)                                          \
    X("vfnmsub132ps ymm1, ymm2, ymm3", 5, SP(2, 16), FMAS)                                         \
    X("vfmaddsub231pd zmm1, zmm2, zmm3", 5, DP(3, 16), FMAS)                                       \
    X("vfmsubadd213ps xmm1, xmm2, xmm3", 5, SP(1, 8), FMAS)                                        \
    X("vfmaddpd xmm1, xmm2, [rax], xmm3", 5, DP(1, 4), LD(1, 16), FMAS) /* FMA4 */                 \
    X("vfnmsubss xmm1, xmm2, xmm3, xmm4", 5, SP(0, 2), FMAS)                                       \
    X("vfmaddsubps ymm1, ymm2, ymm3, ymm4", 5, SP(2, 16), FMAS)                                    \
    /* horizontal ones, dot products, approximations */                                            \
    X("haddpd xmm1, xmm2", 5, DP(1, 2), ADDS)                                                      \
    X("vhsubps ymm1, ymm2, ymm3", 5, SP(2, 8), ADDS)                                               \
    X("addsubps xmm1, xmm2", 5, SP(1, 4), ADDS)                                                    \
    X("dpps xmm1, xmm2, 0xf1", 5, SP(1, 7), FPS)                                                   \
    X("dpps xmm1, xmm2, 0x31", 5, SP(1, 3), FPS)                                                   \
    X("dpps xmm1, xmm2, 0x0f", 5, SP(1, 0), FPS)                                                   \
    X("vdpps ymm1, ymm2, [rax], 0xff", 5, SP(2, 14), LD(1, 32), FPS)                               \
    X("dppd xmm1, xmm2, 0x31", 5, DP(1, 3), FPS)                                                   \
    X("rcpps xmm1, xmm2", 5, SP(1, 4), FPS)                                                        \
    X("rsqrtss xmm1, xmm2", 5, SP(0, 1), FPS)                                                      \
    X("vrcp14pd zmm1, zmm2", 5, DP(3, 8), FPS)                                                     \
    X("vrsqrt14ps zmm1 {k1}, zmm2", 5, SP(3, 2), FPS)                                              \
    /* masks */                                                                                    \
    X("vaddpd zmm1 {k1}, zmm2, zmm3", 5, DP(3, 2), ADDS)                                           \
    X("vaddpd zmm1 {k1}{z}, zmm2, [rax]", 5, DP(3, 2), LD(1, 16), ADDS)                            \
    X("vaddpd zmm1 {k2}, zmm2, [rax]", 5, DP(3, 0), ADDS)                                          \
    X("vaddpd zmm1 {k3}, zmm2, [rax]", 5, DP(3, 8), LD(1, 64), ADDS)                               \
    X("vaddpd xmm1 {k1}, xmm2, xmm3", 5, DP(1, 1), ADDS)                                           \
    X("vfmadd231ps ymm1 {k1}, ymm2, ymm3", 5, SP(2, 4), FMAS)                                      \
    X("vfmadd231sd xmm1 {k1}, xmm2, xmm3", 5, DP(0, 2), FMAS)                                      \
    X("vaddsd xmm1 {k2}, xmm2, [rax]", 5, DP(0, 0), ADDS)                                          \
    X("vmovups zmm1 {k1}, [rax]", 5, LD(1, 8))                                                     \
    X("vmovupd [rax] {k1}, zmm1", 5, ST(1, 16))                                                    \
    X("vmovupd [rax] {k2}, zmm1", 5, ST(0, 0))                                                     \
    X("vmovupd [rax], zmm1", 5, ST(1, 64))                                                         \
    X("vmovdqu8 zmm1 {k1}{z}, [rax]", 5, LD(1, 3))                                                 \
    X("vmovdqu16 [rax] {k3}, zmm1", 5, ST(1, 64))                                                  \
    X("vmovsd xmm1 {k1}, [rax]", 5, LD(1, 8))                                                      \
    X("vmovss [rax] {k2}, xmm1", 5, ST(0, 0))                                                      \
    X("vcmppd k2 {k1}, zmm1, [rax], 1", 5, LD(1, 16))                                              \
    X("vpmovqb [rax] {k1}, zmm1", 5, ST(1, 2))                                                     \
    X("vcvtps2ph [rax] {k1}, zmm1, 0", 5, ST(1, 4))                                                \
    X("vcvtps2pd zmm1 {k1}, [rax]", 5, LD(1, 8))                                                   \
    X("vpermpd zmm1 {k1}, zmm2, [rax]", 5, LD(1, 64)) /* reads all: no fault suppression */        \
    X("vextractf64x4 [rax] {k1}, zmm1, 1", 5, ST(1, 16))                                           \
    X("kmovq k1, [rax]", 5, LD(1, 8))                                                              \
    X("kmovw [rax], k1", 5, ST(1, 2))                                                              \
    /* maskmov: sign bits */                                                                       \
    X("vmaskmovps ymm1, ymm2, [rax]", 5, LD(1, 12))                                                \
    X("vmaskmovpd [rax], ymm2, ymm1", 5, ST(1, 16))                                                \
    X("vpmaskmovd xmm1, xmm2, [rax]", 5, LD(1, 8))                                                 \
    X("vpmaskmovq [rax], xmm3, xmm1", 5, ST(0, 0))                                                 \
    X("maskmovdqu xmm1, xmm2", 5, NT(2))                                                           \
    /* broadcasts */                                                                               \
    X("vaddpd zmm1, zmm2, qword ptr [rax]{1to8}", 5, DP(3, 8), LD(1, 8), ADDS)                     \
    X("vmulps zmm1 {k1}, zmm2, dword ptr [rax]{1to16}", 5, SP(3, 3 - 1), LD(1, 4), MULS)           \
    X("vmulps zmm1 {k2}, zmm2, dword ptr [rax]{1to16}", 5, SP(3, 0), MULS)                         \
    X("vbroadcastsd ymm1, [rax]", 5, LD(1, 8))                                                     \
    X("vbroadcastsd zmm1 {k2}, [rax]", 5, LD(0, 0))                                                \
    X("vbroadcastf64x4 zmm1 {k1}, [rax]", 5, LD(1, 32))                                            \
    X("vbroadcastf128 ymm1, [rax]", 5, LD(1, 16))                                                  \
    X("movddup xmm1, [rax]", 5, LD(1, 8))                                                          \
    /* compress and expand */                                                                      \
    X("vcompresspd [rax] {k1}, zmm1", 5, ST(1, 16))                                                \
    X("vpcompressd [rax] {k1}, zmm1", 5, ST(1, 8))                                                 \
    X("vcompressps [rax], zmm1", 5, ST(1, 64))                                                     \
    X("vexpandpd zmm1 {k1}{z}, [rax]", 5, LD(1, 16))                                               \
    X("vpexpandd zmm1 {k2}{z}, [rax]", 5, LD(0, 0))                                                \
    X("vcompresspd zmm2 {k1}, zmm1", 5, LD(0, 0))                                                  \
    /* gathers and scatters */                                                                     \
    X("vgatherdpd ymm1, [rax+xmm3*8], ymm2", 5, LD(2, 16))                                         \
    X("vgatherdps ymm1, [rax+ymm3*4], ymm2", 5, LD(3, 12))                                         \
    X("vgatherqps xmm1, [rax+ymm3*4], xmm2", 5, LD(2, 8))                                          \
    X("vgatherqps xmm1, [rax+xmm3*4], xmm2", 5, LD(1, 4))                                          \
    X("vpgatherqq ymm1, [rax+ymm3*8], ymm2", 5, LD(2, 16))                                         \
    X("vgatherdpd zmm1 {k1}, [rax+ymm3*8]", 5, LD(2, 16))                                          \
    X("vgatherqps ymm1 {k3}, [rax+zmm3*4]", 5, LD(8, 32))                                          \
    X("vpgatherdd zmm1 {k3}, [rax+zmm3*4]", 5, LD(16, 64))                                         \
    X("vgatherdpd zmm1 {k2}, [rax+ymm3*8]", 5, LD(0, 0))                                           \
    X("vscatterdps [rax+zmm3*4] {k1}, zmm1", 5, ST(2, 8))                                          \
    X("vscatterqpd [rax+zmm3*8] {k3}, zmm1", 5, ST(8, 64))                                         \
    X("vpscatterqd [rax+zmm3*4] {k3}, ymm1", 5, ST(8, 32))                                         \
    /* in AT&T's notation, the one that all assemblers know for it */                              \
    X(".att_syntax prefix\n\tvgatherpf0dps (%rax,%zmm3,4){%k1}", 5, PREFETCH)                      \
    /* conversions, moves, comparisons, rounding, logic: no flops */                               \
    X("cvtsi2sd xmm1, dword ptr [rax]", 5, LD(1, 4))                                               \
    X("cvtsi2sd xmm1, qword ptr [rax]", 5, LD(1, 8))                                               \
    X("cvttsd2si rcx, [rax]", 5, LD(1, 8))                                                         \
    X("vcvtdq2pd ymm1, [rax]", 5, LD(1, 16))                                                       \
    X("minpd xmm1, [rax]", 5, LD(1, 16))                                                           \
    X("vmaxps zmm1, zmm2, zmm3", 5, LD(0, 0))                                                      \
    X("roundsd xmm1, xmm2, 0", 5, LD(0, 0))                                                        \
    X("vrndscalepd zmm1, zmm2, 0", 5, LD(0, 0))                                                    \
    X("ucomisd xmm1, [rax]", 5, LD(1, 8))                                                          \
    X("xorps xmm1, xmm2", 5, LD(0, 0))                                                             \
    X("vpaddd zmm1, zmm2, [rax]", 5, LD(1, 64), INTS(2, 2, 16, adds))                              \
    X("vscalefpd zmm1, zmm2, zmm3", 5, LD(0, 0))                                                   \
    X("movhps [rax], xmm1", 5, ST(1, 8))                                                           \
    /* integers: lanes of the width in the name */                                                 \
    X("paddb xmm1, xmm2", 5, INTS(0, 0, 16, adds))                                                 \
    X("vpsubusw ymm1, ymm2, [rax]", 5, LD(1, 32), INTS(1, 1, 16, adds))                            \
    X("vpaddq ymm1, ymm2, ymm3", 5, INTS(3, 1, 4, adds))                                           \
    X("vphaddd ymm1, ymm2, ymm3", 5, INTS(2, 1, 8, adds))                                          \
    X("pavgb xmm1, xmm2", 5, INTS(0, 0, 16, adds))                                                 \
    X("vpaddsb zmm1 {k1}, zmm2, zmm3", 5, INTS(0, 2, 3, adds))                                     \
    X("vpaddd zmm1 {k2}, zmm2, [rax]", 5, INTS(2, 2, 0, adds))                                     \
    X("paddw mm1, mm2", 5, INTS(1, 0, 4, adds)) /* MMX */                                          \
    X("pmullw xmm1, xmm2", 5, INTS(1, 0, 8, muls))                                                 \
    X("vpmulhrsw ymm1, ymm2, ymm3", 5, INTS(1, 1, 16, muls))                                       \
    X("vpmulld ymm1, ymm2, [rax]", 5, LD(1, 32), INTS(2, 1, 8, muls))                              \
    X("vpmullq zmm1, zmm2, zmm3", 5, INTS(3, 2, 8, muls))                                          \
    X("pmuludq xmm1, xmm2", 5, INTS(3, 0, 2, muls))                                                \
    X("vpmuldq ymm1, ymm2, ymm3", 5, INTS(3, 1, 4, muls))                                          \
    /* ... logic without a width in 64 bits, ... */                                                \
    X("vpand ymm1, ymm2, [rax]", 5, LD(1, 32), INTS(3, 1, 4, logic))                               \
    X("pandn xmm1, xmm2", 5, INTS(3, 0, 2, logic))                                                 \
    X("vpord zmm1 {k1}, zmm2, zmm3", 5, INTS(2, 2, 2, logic))                                      \
    X("vpxorq zmm1, zmm2, zmm3", 5, INTS(3, 2, 8, logic))                                          \
    X("vpternlogd ymm1, ymm2, ymm3, 0x96", 5, INTS(2, 1, 8, logic))                                \
    /* ... each product and each sum of dot products, by what is multiplied ... */                 \
    X("vpdpbusd zmm1, zmm2, zmm3", 5, INTS(0, 2, 128, dots))                                       \
    X("vpdpbusds xmm1 {k1}, xmm2, [rax]", 5, LD(1, 8), INTS(0, 0, 16, dots))                       \
    X("{vex} vpdpbusd ymm1, ymm2, ymm3", 5, INTS(0, 1, 64, dots))                                  \
    X("vpdpwssd ymm1, ymm2, ymm3", 5, INTS(1, 1, 32, dots))                                        \
    X("vpmaddwd ymm1, ymm2, ymm3", 5, INTS(1, 1, 24, dots))                                        \
    X("pmaddubsw xmm1, xmm2", 5, INTS(0, 0, 24, dots))                                             \
    X("vpsadbw ymm1, ymm2, ymm3", 5, INTS(0, 1, 60, dots))                                         \
    X("mpsadbw xmm1, xmm2, 0", 5, INTS(0, 0, 56, dots))                                            \
    X("vpmadd52luq zmm1, zmm2, zmm3", 5, INTS(3, 2, 16, dots))                                     \
    X("vpmadd52huq ymm1 {k1}, ymm2, ymm3", 5, INTS(3, 1, 4, dots))                                 \
    X("vpopcntb zmm1, zmm2", 5, BITS(0, 2, 64))                                                    \
    X("vpopcntq ymm1, [rax]", 5, LD(1, 32), BITS(3, 1, 4))                                         \
    /* ... and none of what gives a constant, compares, moves, shifts or is scalar */              \
    X("pxor xmm1, xmm1", 5, LD(0, 0))                                                              \
    X("vpxor xmm1, xmm2, xmm2", 5, LD(0, 0))                                                       \
    X("vpxord zmm1, zmm2, zmm2", 5, LD(0, 0))                                                      \
    X("psubd xmm2, xmm2", 5, LD(0, 0))                                                             \
    X("vpandn ymm1, ymm2, ymm2", 5, LD(0, 0))                                                      \
    X("vpternlogd zmm1, zmm2, zmm3, 0xff", 5, LD(0, 0))                                            \
    X("vpxor ymm1, ymm2, ymm1", 5, INTS(3, 1, 4, logic))                                           \
    X("vpand ymm1, ymm2, ymm2", 5, INTS(3, 1, 4, logic))                                           \
    X("pcmpeqb xmm1, xmm2", 5, LD(0, 0))                                                           \
    X("pminub xmm1, [rax]", 5, LD(1, 16))                                                          \
    X("vpabsd ymm1, ymm2", 5, LD(0, 0))                                                            \
    X("psllw xmm1, 3", 5, LD(0, 0))                                                                \
    X("vpsrlvd ymm1, ymm2, ymm3", 5, LD(0, 0))                                                     \
    X("vpshufb ymm1, ymm2, ymm3", 5, LD(0, 0))                                                     \
    X("pmovmskb ecx, xmm1", 5, LD(0, 0))                                                           \
    X("pclmulqdq xmm1, xmm2, 0", 5, LD(0, 0))                                                      \
    X("packuswb xmm1, xmm2", 5, LD(0, 0))                                                          \
    X("xorps xmm1, xmm3", 5, LD(0, 0))                                                             \
    X("popcnt rcx, [rax]", 5, LD(1, 8))                                                            \
    X("imul rcx, rdx", 5, LD(0, 0))                                                                \
    /* x87 and small precisions */                                                                 \
    X("fadd st, st(1)", 5, OTHER(1), ADDS)                                                         \
    X("faddp st(1), st", 5, OTHER(1), ADDS)                                                        \
    X("fmul qword ptr [rax]", 5, OTHER(1), LD(1, 8), MULS)                                         \
    X("fsubr dword ptr [rax]", 5, OTHER(1), LD(1, 4), ADDS)                                        \
    X("fdivrp st(1), st", 5, OTHER(1), DIVS)                                                       \
    X("fisub word ptr [rax]", 5, OTHER(1), LD(1, 2), ADDS)                                         \
    X("fidivr dword ptr [rax]", 5, OTHER(1), LD(1, 4), DIVS)                                       \
    X("fsqrt", 5, OTHER(1), ROOTS)                                                                 \
    X("fld tbyte ptr [rax]", 5, LD(1, 10))                                                         \
    X("fistp qword ptr [rax]", 5, ST(1, 8))                                                        \
    X("fxch st(1)", 5, LD(0, 0))                                                                   \
    X("fsincos", 5, OTHER(1), FPS)                                                                 \
    X("fdecstp", 5, LD(0, 0))                                                                      \
    X("fcomi st, st(1)", 5, LD(0, 0))                                                              \
    X("vaddph zmm1 {k3}, zmm2, [rax]", 5, OTHER(32), LD(1, 64), ADDS)                              \
    X("vmulsh xmm1, xmm2, xmm3", 5, OTHER(1), MULS)                                                \
    X("vfmadd231ph ymm1, ymm2, ymm3", 5, OTHER(32), FMAS)                                          \
    X("vfmulcph zmm1 {k1}{z}, zmm2, zmm3", 5, OTHER(12), FPS)                                      \
    X("vfmaddcsh xmm1, xmm2, xmm3", 5, OTHER(8), FPS)                                              \
    X("vdpbf16ps zmm1, zmm2, [rax]", 5, OTHER(64), LD(1, 64), FPS)                                 \
    X("vdpbf16ps zmm1 {k1}, zmm2, zmm3", 5, OTHER(8), FPS)                                         \
    /* past the caches */                                                                          \
    X("movntps [rax], xmm1", 5, NT(16))                                                            \
    X("vmovntpd [rax], zmm1", 5, NT(64))                                                           \
    X("vmovntdq [rax], ymm1", 5, NT(32))                                                           \
    X("movnti [rax], ecx", 5, NT(4))                                                               \
    X("movntdqa xmm1, [rax]", 5, LD(1, 16))                                                        \
    /* strings */                                                                                  \
    X("rep movsb", 5, LD(1, 1), ST(1, 1))                                                          \
    X("rep movsb", 0, LD(0, 0))                                                                    \
    X("movsq", 0, LD(1, 8), ST(1, 8))                                                              \
    X("rep stosd", 5, ST(1, 4))                                                                    \
    X("rep stosq", 0, ST(0, 0))                                                                    \
    X("addr32 rep stosb", 0x100000000, ST(0, 0))                                                   \
    X("lodsw", 5, LD(1, 2))                                                                        \
    X("repne scasb", 5, LD(1, 1))                                                                  \
    X("repne scasb", 0, LD(0, 0))                                                                  \
    X("repe cmpsq", 5, LD(2, 16))                                                                  \
    /* the stack */                                                                                \
    X("push rax", 5, ST(1, 8))                                                                     \
    X("push qword ptr [rax]", 5, LD(1, 8), ST(1, 8))                                               \
    X("pop rax", 5, LD(1, 8))                                                                      \
    X("pop qword ptr [rax]", 5, LD(1, 8), ST(1, 8))                                                \
    X("push ax", 5, ST(1, 2))                                                                      \
    X("call rax", 5, ST(1, 8))                                                                     \
    X("call qword ptr [rax]", 5, LD(1, 8), ST(1, 8))                                               \
    X("ret", 5, LD(1, 8))                                                                          \
    X("enter 16, 0", 5, ST(1, 8))                                                                  \
    X("leave", 5, LD(1, 8))                                                                        \
    X("pushf", 5, ST(1, 8))                                                                        \
    X("popf", 5, LD(1, 8))                                                                         \
    /* integers and locks */                                                                       \
    X("add [rax], ecx", 5, LD(1, 4), ST(1, 4))                                                     \
    X("cmp [rax], rcx", 5, LD(1, 8))                                                               \
    X("mov [rax], cl", 5, ST(1, 1))                                                                \
    X("xchg [rax], rcx", 5, LD(1, 8), ST(1, 8))                                                    \
    X("lock cmpxchg [rax], rcx", 5, LD(1, 8), ST(1, 8))                                            \
    X("lock xadd [rax], ecx", 5, LD(1, 4), ST(1, 4))                                               \
    X("cmpxchg16b [rax]", 5, LD(1, 16), ST(1, 16))                                                 \
    X("cmove rax, [rcx]", 5, LD(1, 8))                                                             \
    X("bt [rax], rcx", 5, LD(1, 8))                                                                \
    X("bts dword ptr [rax], 3", 5, LD(1, 4), ST(1, 4))                                             \
    X("sete [rax]", 5, ST(1, 1))                                                                   \
    X("xlatb", 5, LD(1, 1))                                                                        \
    /* state */                                                                                    \
    X("fxsave [rax]", 5, ST(1, 512))                                                               \
    X("fxrstor [rax]", 5, LD(1, 512))                                                              \
    X("stmxcsr [rax]", 5, ST(1, 4))                                                                \
    X("fnstenv [rax]", 5, ST(1, 28))                                                               \
    X("xsave [rax]", 5, ST(1, 576)) /* rdx:rax asks for x87 and SSE */                             \
    X("xrstor [rax]", 5, LD(1, 576))                                                               \
    /* tiles: 1 has 3 rows of 20 bytes, 2 has 3 of 28, 3 has 7 of 20, 7 has none (of palette 1) */ \
    X("ldtilecfg [rax]", 5, LD(1, 64))                                                             \
    X("sttilecfg [rax]", 5, ST(1, 64))                                                             \
    X("tileloadd tmm2, [rax+rcx]", 5, LD(1, 84))                                                   \
    X("tileloaddt1 tmm3, [rax+rcx]", 5, LD(1, 140))                                                \
    X("tilestored [rax+rcx], tmm1", 5, ST(1, 60))                                                  \
    X("tileloadd tmm7, [rax+rcx]", 5, LD(1, 0))                                                    \
    X("tilezero tmm1", 5, LD(0, 0))                                                                \
    X("tilerelease", 5, LD(0, 0))                                                                  \
    X("tdpbf16ps tmm1, tmm2, tmm3", 5, OTHER(420), FPS)                                            \
    X("tdpbssd tmm1, tmm2, tmm3", 5, TILED)                                                        \
    X("tdpbsud tmm1, tmm2, tmm3", 5, TILED)                                                        \
    X("tdpbusd tmm1, tmm2, tmm3", 5, TILED)                                                        \
    X("tdpbuud tmm1, tmm2, tmm3", 5, TILED)                                                        \
    /* nothing */                                                                                  \
    X("lea rax, [rcx+8]", 5, LD(0, 0))                                                             \
    X("nop dword ptr [rax]", 5, LD(0, 0))                                                          \
    X("prefetcht0 [rax]", 5, PREFETCH)                                                             \
    X("prefetchnta [rax]", 5, PREFETCH)                                                            \
    X("prefetcht2 [rax]", 5, PREFETCH)                                                             \
    X("prefetchwt1 [rax]", 5, PREFETCH)                                                            \
    X("prefetchw [rax]", 5, PREFETCH)                                                              \
    X("clflush [rax]", 5, LD(0, 0))                                                                \
    X("clwb [rax]", 5, LD(0, 0))                                                                   \
    X("vzeroupper", 5, LD(0, 0))                                                                   \
    X("endbr64", 5, LD(0, 0))                                                                      \
    X("syscall", 5, LD(0, 0))                                                                      \
    /* not understood */                                                                           \
    X(".byte 6", 5, .unknown = 1,                                                                  \
      .unknown_text = "bytes 06 90 90 90 90 90 90 90 90 90 90 90 90 90 90")
