# SPDX-License-Identifier: GPL-3.0-or-later
# Instructions under masks of AVX-512 and AVX2, each with many masks. Ends with 0 if flags stay what they were.
.globl _start
.section .text
.macro with, insn:vararg
    kmovq %rax, %k1
    kmovq %rax, %k2
    vmovdqu64 area+0x800(%rip), %zmm5  # indices
    vpmovzxdq %ymm5, %zmm8
    vpbroadcastq %rax, %zmm6
    vpsllvq area+0x840(%rip), %zmm6, %zmm6 # signs
    \insn
.endm
_start:
    vmovdqu64 far(%rip), %zmm5         # pages that fault one by one: a step's trap comes at each
    kxnorq %k1, %k1, %k1
    lea untouched(%rip), %rsi
    vpscatterdd %zmm0, (%rsi,%zmm5){%k1}
    vpcmpeqd %ymm6, %ymm6, %ymm6
    lea untouched+0x4000(%rip), %rsi
    vpgatherdd %ymm6, (%rsi,%ymm5), %ymm7
    lea masks(%rip), %r15
    mov $(end_of_masks - masks) / 8, %r14d
    lea area(%rip), %rsi
1:  mov (%r15), %rax
    cmp $0x7fffffff, %eax              # all kinds of flags
    pushf
    pop %r13
    with vmovdqu8 (%rsi), %zmm1{%k1}{z}
    with vmovdqu8 (%rsi), %xmm17{%k1}{z}
    with vmovdqu16 %ymm2, 0x40(%rsi){%k1}
    with vmovups %zmm3, 0x80(%rsi){%k2}
    with vmovupd (%rsi), %xmm4{%k1}
    with vmovss (%rsi), %xmm4{%k1}{z}
    with vaddpd %zmm1, %zmm2, %zmm3{%k1}
    with vaddpd (%rsi){1to8}, %zmm2, %zmm3{%k1}
    with vaddps (%rsi), %ymm2, %ymm3{%k2}
    with vfmadd231pd (%rsi), %xmm2, %xmm3{%k1}
    with vdivps %zmm1, %zmm2, %zmm3{%k1}
    with vaddsd (%rsi), %xmm2, %xmm3{%k1}
    with vmulss %xmm1, %xmm2, %xmm3{%k1}
    with vpaddb (%rsi), %zmm2, %zmm3{%k1}
    with vpandd (%rsi){1to16}, %zmm2, %zmm3{%k1}
    with vpmaddwd (%rsi), %zmm2, %zmm3{%k1}
    with vpmullw %ymm1, %ymm2, %ymm3{%k1}
    with vpcmpub $0, (%rsi), %zmm1, %k1{%k1}
    with vpcmpeqd (%rsi), %ymm1, %k3{%k1}
    with vpcompressd %zmm1, 0xc0(%rsi){%k1}
    with vpexpandd 0xc0(%rsi), %zmm1{%k1}{z}
    with vpmovqb %zmm1, 0x100(%rsi){%k1}
    with vpmovzxbw (%rsi), %zmm1{%k1}
    with vpgatherdd (%rsi,%zmm5,4), %zmm7{%k1}
    with vpgatherqd (%rsi,%ymm8,4), %xmm7{%k1}
    with vpgatherdq (%rsi,%xmm5,8), %ymm7{%k1}
    with vscatterdps %zmm1, 0x200(%rsi,%zmm5,4){%k1}
    with vmaskmovps (%rsi), %ymm6, %ymm1
    with vmaskmovps (%rsi), %xmm6, %xmm6
    with vmaskmovpd %ymm1, %ymm6, 0x140(%rsi)
    with vpmaskmovq (%rsi), %xmm6, %xmm1
    with vgatherdps %ymm6, (%rsi,%ymm5,4), %ymm7
    with vgatherqpd %xmm6, (%rsi,%xmm8,8), %xmm7
    with vpgatherqd %xmm6, (%rsi,%ymm8,4), %xmm7
    lea 0x180(%rsi), %rdi
    with maskmovdqu %xmm4, %xmm1
    cmp $0x7fffffff, %eax
    vmovdqu8 (%rsi), %zmm1{%k2}{z}
    vpgatherdd (%rsi,%zmm5,4), %zmm7{%k2}
    pushf
    pop %r12
    cmp %r12, %r13
    jne 2f
    add $8, %r15
    dec %r14d
    jnz 1b
    xor %edi, %edi
    jmp 3f
2:  mov $1, %edi
3:  mov $60, %eax
    syscall
.section .area, "aw", @progbits
.balign 64
masks:
    .quad 0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 0x5a, 0x80, 0xff, 0x100, 0x1234, 0x7fff, 0x8000, 0xffff, 0x10000
    .quad 0x7fffffff, 0x80000000, 0xdeadbeef, 0xffffffff, 0x100000000, 0x0123456789abcdef, 0x8000000000000000
    .quad 0xfffffffffffffffe, 0xffffffffffffffff
end_of_masks:
.balign 64
.globl area
area: .skip 0x800
    .long 0, 1, 2, 3, 9, 8, 7, 6, 11, 13, 12, 4, 5, 1, 0, 2
    .quad 63, 31, 62, 0, 61, 47, 60, 33
far: .long 0, 4, 0x1000, 0x1004, 0x2000, 8, 0x3000, 0x3004, 0x1008, 12, 16, 0x2004, 0x3008, 20, 24, 28
.section .untouched, "aw", @nobits
.balign 4096
untouched: .skip 0x8000
