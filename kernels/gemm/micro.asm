; SPDX-License-Identifier: GPL-3.0-or-later
; Micro-kernels of the matrix multiplication study: all of one block of C, tile after tile. A tile is
; 3 rows x 4 columns, each a dot product in a vector register of its own, k innermost. One step of k
; (one vector of it) loads 3 vectors of A and 4 of B for 12 multiply-adds, whatever the vector's
; width: 24 flops for 7 elements of 8 bytes, 0.43 flop/byte. Without FMA one register is missing, so the
; third row of A is loaded anew for each column: 10 elements, 0.30 flop/byte.
;
; carm_gemm_tiles_NAME(struct carm_gemm_tiles *t): System V; changes rax, rcx, rdx, rsi, r8 to r11,
; vector registers 0 to 15 and *t. carm_gemm_tiles_account (kernels/gemm/tile.c) counts all its memory
; accesses: change both together; tests/kernels/test_gemm.c compares them.

bits 64
default rel
%use smartalign
alignmode p6, 32

struc T ; struct carm_gemm_tiles, kernels/gemm/tile.h
.a:          resq 1
.b:          resq 1
.c:          resq 1
.a_stride:   resq 1
.b_stride:   resq 1
.c_stride:   resq 1
.steps:      resq 1
.accumulate: resq 1
.inner:      resq 1
.outer:      resq 1
.inner_a:    resq 1
.inner_b:    resq 1
.inner_c:    resq 1
.outer_a:    resq 1
.outer_b:    resq 1
.outer_c:    resq 1
endstruc

section .note.GNU-stack noalloc noexec nowrite progbits
section .text align=64

; ---- forms: register family, FP suffix, load/store mnemonic ----------------------------------------

%macro FORM 4 ; bytes of a vector, register family, suffix, load/store mnemonic
%assign W %1
%define R(n) %2 %+ n
%define FP(m) m %+ %3
%define MOV %4
%endmacro

%macro FORM_SCALAR_SSE 0
    FORM 8, xmm, sd, movsd
%define REDUCE REDUCE_SCALAR_SSE
%define ZERO(n) pxor R(n), R(n)
%define LEAVE
%endmacro
%macro FORM_SSE 0
    FORM 16, xmm, pd, movupd
%define REDUCE REDUCE_SSE
%define ZERO(n) pxor R(n), R(n)
%define LEAVE
%endmacro
%macro FORM_SCALAR_VEX 0
    FORM 8, xmm, sd, vmovsd
%define REDUCE REDUCE_SCALAR_VEX
%define ZERO(n) vpxor xmm %+ n, xmm %+ n, xmm %+ n
%define LEAVE
%endmacro
%macro FORM_SSE_VEX 0
    FORM 16, xmm, pd, vmovupd
%define REDUCE REDUCE_SSE_VEX
%define ZERO(n) vpxor xmm %+ n, xmm %+ n, xmm %+ n
%define LEAVE
%endmacro
%macro FORM_AVX 0
    FORM 32, ymm, pd, vmovupd
%define REDUCE REDUCE_AVX
%define ZERO(n) vxorps xmm %+ n, xmm %+ n, xmm %+ n ; the upper lanes, too
%define LEAVE vzeroupper
%endmacro
%macro FORM_AVX512 0
    FORM 64, zmm, pd, vmovupd
%define REDUCE REDUCE_AVX512
%define ZERO(n) vxorps xmm %+ n, xmm %+ n, xmm %+ n
%define LEAVE vzeroupper
%endmacro

; ---- one step of k --------------------------------------------------------------------------------
; rax = A's row 0, rdx = B; r8, r9 their strides, r10 = 3 x r9. COLUMN(j) is the address of B's column j.

%macro STEP_FMA 0
    MOV R(12), [rax]
    MOV R(13), [rax + r8]
    MOV R(14), [rax + 2*r8]
%assign j 0
%rep 4
    MOV R(15), [COLUMN(%[j])]
    %assign r1 j+4
    %assign r2 j+8
    FP(vfmadd231) R(%[j]), R(12), R(15)
    FP(vfmadd231) R(%[r1]), R(13), R(15)
    FP(vfmadd231) R(%[r2]), R(14), R(15)
%assign j j+1
%endrep
%endmacro

%macro STEP_MAD_VEX 0
    MOV R(12), [rax]
    MOV R(13), [rax + r8]
%assign j 0
%rep 4
    MOV R(14), [COLUMN(%[j])]
    %assign r1 j+4
    %assign r2 j+8
    FP(vmul) R(15), R(14), R(12)
    FP(vadd) R(%[j]), R(%[j]), R(15)
    FP(vmul) R(15), R(14), R(13)
    FP(vadd) R(%[r1]), R(%[r1]), R(15)
    FP(vmul) R(14), R(14), [rax + 2*r8]
    FP(vadd) R(%[r2]), R(%[r2]), R(14)
%assign j j+1
%endrep
%endmacro

%macro STEP_MAD_SSE 0
    MOV R(12), [rax]
    MOV R(13), [rax + r8]
%assign j 0
%rep 4
    MOV R(14), [COLUMN(%[j])]
    %assign r1 j+4
    %assign r2 j+8
    movapd R(15), R(14)
    FP(mul) R(15), R(12)
    FP(add) R(%[j]), R(15)
    movapd R(15), R(14)
    FP(mul) R(15), R(13)
    FP(add) R(%[r1]), R(15)
    FP(mul) R(14), [rax + 2*r8]
    FP(add) R(%[r2]), R(14)
%assign j j+1
%endrep
%endmacro

; B's columns are rows of its transpose, r9 bytes apart ...
%macro COLUMNS_APART 0
%define COLUMN(k) COLUMN_ %+ k
%define COLUMN_0 rdx
%define COLUMN_1 rdx + r9
%define COLUMN_2 rdx + 2*r9
%define COLUMN_3 rdx + r10
%define ADVANCE_B add rdx, W
%endmacro
; ... or neighbours in B itself, whose rows are r9 bytes apart.
%macro COLUMNS_BESIDE 0
%define COLUMN(k) rdx + 8*k
%define ADVANCE_B add rdx, r9
%endmacro

; ---- the end of a tile: one row of it ---------------------------------------------------------------
; %1 = its first accumulator, %2 = address of its 4 elements of C, %3 = 1: adds to C. Adds up each
; accumulator's lanes: lanes - 1 flops, and one more when adding to C.

%macro REDUCE_SCALAR_SSE 3
%assign j 0
%rep 4
    %assign r1 %1+j
%if %3
    addsd R(%[r1]), [%2 + 8*j]
%endif
    movsd [%2 + 8*j], R(%[r1])
%assign j j+1
%endrep
%endmacro

%macro REDUCE_SCALAR_VEX 3
%assign j 0
%rep 4
    %assign r1 %1+j
%if %3
    vaddsd R(%[r1]), R(%[r1]), [%2 + 8*j]
%endif
    vmovsd [%2 + 8*j], R(%[r1])
%assign j j+1
%endrep
%endmacro

%macro REDUCE_SSE 3
%assign j 0
%rep 2
    %assign r0 %1+2*j
    %assign r1 %1+2*j+1
    movapd R(12), R(%[r0])
    unpcklpd R(12), R(%[r1])
    unpckhpd R(%[r0]), R(%[r1])
    addpd R(12), R(%[r0])
%if %3
    addpd R(12), [%2 + 16*j]
%endif
    movupd [%2 + 16*j], R(12)
%assign j j+1
%endrep
%endmacro

%macro REDUCE_SSE_VEX 3
%assign j 0
%rep 2
    %assign r0 %1+2*j
    %assign r1 %1+2*j+1
    vunpcklpd R(12), R(%[r0]), R(%[r1])
    vunpckhpd R(13), R(%[r0]), R(%[r1])
    vaddpd R(12), R(12), R(13)
%if %3
    vaddpd R(12), R(12), [%2 + 16*j]
%endif
    vmovupd [%2 + 16*j], R(12)
%assign j j+1
%endrep
%endmacro

%macro REDUCE_AVX 3
    %assign r0 %1
    %assign r1 %1+1
    %assign r2 %1+2
    %assign r3 %1+3
    vhaddpd ymm12, ymm %+ r0, ymm %+ r1
    vhaddpd ymm13, ymm %+ r2, ymm %+ r3
    vperm2f128 ymm14, ymm12, ymm13, 0x21 ; upper half of 12, lower half of 13
    vblendpd ymm15, ymm12, ymm13, 0xc    ; lower half of 12, upper half of 13
    vaddpd ymm12, ymm14, ymm15
%if %3
    vaddpd ymm12, ymm12, [%2]
%endif
    vmovupd [%2], ymm12
%endmacro

%macro REDUCE_AVX512 3
%assign j 0
%rep 4
    %assign r1 %1+j
    vextractf64x4 ymm12, zmm %+ r1, 1
    vaddpd ymm %+ r1, ymm %+ r1, ymm12
%assign j j+1
%endrep
    REDUCE_AVX %1, %2, %3
%endmacro

; ---- the kernel -----------------------------------------------------------------------------------

%macro KERNEL 4 ; name, form, step, where columns lie
    %2
    %4
    align 64
global carm_gemm_tiles_%1:function hidden
carm_gemm_tiles_%1:
    mov rax, [rdi + T.a]
    mov rdx, [rdi + T.b]
    mov rsi, [rdi + T.c]
    mov r8, [rdi + T.a_stride]
    mov r9, [rdi + T.b_stride]
    lea r10, [r9 + 2*r9]
%%outer:
    mov r11, [rdi + T.inner]
%%tile:
%assign n 0
%rep 12
    ZERO(%[n])
%assign n n+1
%endrep
    mov rcx, [rdi + T.steps]
    align 32
%%step:
    %3
    add rax, W
    ADVANCE_B
    dec rcx
    jnz %%step
    mov rcx, [rdi + T.c_stride]
    cmp qword [rdi + T.accumulate], 0
    jne %%add
    REDUCE 0, rsi, 0
    REDUCE 4, rsi + rcx, 0
    REDUCE 8, rsi + 2*rcx, 0
    jmp %%next
%%add:
    REDUCE 0, rsi, 1
    REDUCE 4, rsi + rcx, 1
    REDUCE 8, rsi + 2*rcx, 1
%%next:
    add rax, [rdi + T.inner_a]
    add rdx, [rdi + T.inner_b]
    add rsi, [rdi + T.inner_c]
    dec r11
    jnz %%tile
    add rax, [rdi + T.outer_a]
    add rdx, [rdi + T.outer_b]
    add rsi, [rdi + T.outer_c]
    dec qword [rdi + T.outer]
    jnz %%outer
    LEAVE
    ret
%endmacro

KERNEL strided_scalar_mad, FORM_SCALAR_SSE, STEP_MAD_SSE, COLUMNS_BESIDE
KERNEL strided_scalar_fma, FORM_SCALAR_VEX, STEP_FMA, COLUMNS_BESIDE
KERNEL scalar_mad, FORM_SCALAR_SSE, STEP_MAD_SSE, COLUMNS_APART
KERNEL scalar_fma, FORM_SCALAR_VEX, STEP_FMA, COLUMNS_APART
KERNEL sse_mad, FORM_SSE, STEP_MAD_SSE, COLUMNS_APART
KERNEL sse_fma, FORM_SSE_VEX, STEP_FMA, COLUMNS_APART
KERNEL avx_mad, FORM_AVX, STEP_MAD_VEX, COLUMNS_APART
KERNEL avx2_fma, FORM_AVX, STEP_FMA, COLUMNS_APART
KERNEL avx512_fma, FORM_AVX512, STEP_FMA, COLUMNS_APART

; ---- copies ---------------------------------------------------------------------------------------
; 16 bytes at a time: every element is loaded once and stored once.

; carm_gemm_transpose(src, src_stride, dst, dst_stride, rows / 2, columns / 4): dst[c][r] = src[r][c];
; strides in bytes. Four columns of src become four rows of dst at a time.
    align 64
global carm_gemm_transpose:function hidden
carm_gemm_transpose:
    push rbx
    lea rbx, [rcx + 2*rcx]
.columns:
    mov rax, rdi
    mov r10, rdx
    mov r11, r8
    align 32
.rows:
    movupd xmm0, [rax]
    movupd xmm1, [rax + 16]
    movupd xmm2, [rax + rsi]
    movupd xmm3, [rax + rsi + 16]
    movapd xmm4, xmm0
    movapd xmm5, xmm1
    unpcklpd xmm0, xmm2
    unpckhpd xmm4, xmm2
    unpcklpd xmm1, xmm3
    unpckhpd xmm5, xmm3
    movupd [r10], xmm0
    movupd [r10 + rcx], xmm4
    movupd [r10 + 2*rcx], xmm1
    movupd [r10 + rbx], xmm5
    lea rax, [rax + 2*rsi]
    add r10, 16
    dec r11
    jnz .rows
    add rdi, 32
    lea rdx, [rdx + 4*rcx]
    dec r9
    jnz .columns
    pop rbx
    ret

; carm_gemm_copy(src, src_stride, dst, dst_stride, rows, columns / 8)
    align 64
global carm_gemm_copy:function hidden
carm_gemm_copy:
.rows:
    xor eax, eax
    mov r11, r9
    align 32
.columns:
    movupd xmm0, [rdi + rax]
    movupd xmm1, [rdi + rax + 16]
    movupd xmm2, [rdi + rax + 32]
    movupd xmm3, [rdi + rax + 48]
    movupd [rdx + rax], xmm0
    movupd [rdx + rax + 16], xmm1
    movupd [rdx + rax + 32], xmm2
    movupd [rdx + rax + 48], xmm3
    add rax, 64
    dec r11
    jnz .columns
    add rdi, rsi
    add rdx, rcx
    dec r8
    jnz .rows
    ret
