# SPDX-License-Identifier: GPL-3.0-or-later
# One of each way to access memory: the addresses are in test_translate.c, from `area` on, which the linker
# puts at 0x600000.
.globl _start
.section .text
_start:
    lea area+0x800(%rip), %rsp
    mov %rsp, %rbx
    movl $0x1234, area(%rip)           # store 4 at 0
    mov area+8, %rax                   # load 8 at 8
    lea area(%rip), %rsi
    mov $2, %ecx
    mov 0x10(%rsi,%rcx,8), %eax        # load 4 at 0x20
    push %rax                          # store 8 at 0x7f8
    pop 0x40(%rsi)                     # load 8 at 0x7f8, store 8 at 0x40
    pushq 0x48(%rsi)                   # load 8 at 0x48, store 8 at 0x7f8
    popq -8(%rsp)                      # load 8 at 0x7f8, store 8 at 0x7f8
    call 1f                            # store 8 at 0x7f8
    jmp 2f
1:  ret                                # load 8 at 0x7f8
2:  addl $1, 0x50(%rsi)                # load 4 at 0x50, store 4 at 0x50
    lea area+0x100(%rip), %rdi
    mov $3, %ecx
    rep movsq                          # 3 times: load 8 from 0, store 8 from 0x100
    std
    lea area+0x210(%rip), %rdi
    mov $2, %ecx
    rep stosl                          # store 4 at 0x210, 0x20c
    cld
    lea area(%rip), %rdi
    xor %eax, %eax
    movb $1, 2(%rdi)                   # store 1 at 2
    movb $0, (%rdi)                    # store 1 at 0
    movb $0, 1(%rdi)                   # store 1 at 1
    mov $10, %ecx
    repe scasb                         # load 1 at 0, 1, 2
    xor %ecx, %ecx
    rep movsb                          # nothing
    lea area(%rip), %rsi
    movntps %xmm0, 0x300(%rsi)         # non-temporal, 16 at 0x300
    prefetcht0 0x340(%rsi)
    prefetcht1 0x380(%rsi)
    fxsave 0x800(%rsi)                 # store 512 at 0x800, in halves
    fxrstor 0x800(%rsi)                # load 512
    mov $158, %eax                     # arch_prctl(ARCH_SET_FS, area + 0x400)
    mov $0x1002, %edi
    lea area+0x400(%rip), %rsi
    syscall
    mov %fs:0x10, %rax                 # load 8 at 0x410
    mov $60, %eax
    xor %edi, %edi
    syscall
.section .area, "aw", @progbits
area: .skip 4096
