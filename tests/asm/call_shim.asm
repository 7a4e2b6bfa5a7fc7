; SPDX-License-Identifier: GPL-3.0-or-later
; Calls a test code with canaries in all registers and under the stack, and keeps what it left.
; After it stand functions that break the calling convention, one rule each.

bits 64
default rel

; struct call of tests/asm/call_shim.h
FN equ 0
WINDOW equ 8
ITERATIONS equ 16
PASSES equ 24
WIDTH equ 32
MXCSR_IN equ 40
GENERAL_IN equ 48            ; rbx rbp r12 r13 r14 r15 r8 r9 r10 r11
GENERAL equ 128              ; the same ten, rdi, rsi
RSP_MOVED equ 224
RFLAGS equ 232
MXCSR equ 240
STACK_CHANGED equ 248
VECTORS equ 256              ; 32 of 64 bytes
EXTRA equ VECTORS + 32*64

CANARY equ 0x5ca1ab1e
RED_ZONE equ 16              ; words below the return address that nobody may write

section .bss
current: resq 1              ; the call, found again whatever the callee did
stack: resq 1
mxcsr: resq 1

section .text

%macro VECTORS_IN 3          ; mnemonic, family, number
%assign i 0
%rep %3
    %1 %2 %+ i, [rdi + VECTORS + 64*i]
%assign i i+1
%endrep
%endmacro

%macro VECTORS_OUT 3
%assign i 0
%rep %3
    %1 [rax + VECTORS + 64*i], %2 %+ i
%assign i i+1
%endrep
%endmacro

%macro REGISTERS_IN 1-*
%assign i 0
%rep %0
    mov %1, [rax + GENERAL_IN + 8*i]
%assign i i+1
%rotate 1
%endrep
%endmacro

%macro REGISTERS_OUT 1-*
%assign i 0
%rep %0
    mov [rax + GENERAL + 8*i], %1
%assign i i+1
%rotate 1
%endrep
%endmacro

; void call_shim_run(struct call *call)
global call_shim_run:function
call_shim_run:
    push rbx
    push rbp
    push r12
    push r13
    push r14
    push r15
    sub rsp, 8               ; 16-byte aligned at the call
    mov [current], rdi
    mov [stack], rsp
    stmxcsr [mxcsr]
    cmp qword [rdi + WIDTH], 32
    je .in_32
    ja .in_64
    VECTORS_IN movups, xmm, 16
    jmp .in_done
.in_32:
    VECTORS_IN vmovups, ymm, 16
    jmp .in_done
.in_64:
    VECTORS_IN vmovups, zmm, 32
.in_done:
    ldmxcsr [rdi + MXCSR_IN]
    mov eax, CANARY
%assign i 2
%rep RED_ZONE-1
    mov [rsp - 8*i], rax
%assign i i+1
%endrep
    mov rax, rdi
    REGISTERS_IN rbx, rbp, r12, r13, r14, r15, r8, r9, r10, r11
    mov rdi, [rax + WINDOW]
    mov rsi, [rax + ITERATIONS]
    mov rdx, [rax + PASSES]
    mov rcx, [rax + EXTRA]
    call [rax + FN]
    mov rax, [current]
    REGISTERS_OUT rbx, rbp, r12, r13, r14, r15, r8, r9, r10, r11, rdi, rsi
    mov rcx, rsp
    mov rsp, [stack]
    pushfq                   ; into the word of the return address
    pop qword [rax + RFLAGS]
    cld
    sub rcx, rsp
    mov [rax + RSP_MOVED], rcx
    stmxcsr [rax + MXCSR]
    mov edx, CANARY
    xor ecx, ecx
%assign i 2
%rep RED_ZONE-1
    mov rsi, [rsp - 8*i]
    xor rsi, rdx
    or rcx, rsi
%assign i i+1
%endrep
    mov [rax + STACK_CHANGED], rcx
    cmp qword [rax + WIDTH], 32
    je .out_32
    ja .out_64
    VECTORS_OUT movups, xmm, 16
    jmp .out_done
.out_32:
    VECTORS_OUT vmovups, ymm, 16
    vzeroupper
    jmp .out_done
.out_64:
    VECTORS_OUT vmovups, zmm, 32
    vzeroupper
.out_done:
    ldmxcsr [mxcsr]
    add rsp, 8
    pop r15
    pop r14
    pop r13
    pop r12
    pop rbp
    pop rbx
    ret

; ---- each breaks one rule ----------------------------------------------------------------------

%macro BREAKS 1
global call_shim_breaks_%1:function
call_shim_breaks_%1:
%endmacro

BREAKS nothing               ; but leaves the upper halves as they were
    ret
BREAKS rbx
    inc rbx
    ret
BREAKS rbp
    xor ebp, ebp
    ret
BREAKS r15
    mov r15d, r15d
    shl r15, 1
    ret
BREAKS r9
    inc r9b
    ret
BREAKS rdi
    add rdi, 64
    ret
BREAKS rsi
    dec rsi
    ret
BREAKS rsp
    pop rax
    sub rsp, 16
    jmp rax
BREAKS stack
    mov dword [rsp - 32], 0
    ret
BREAKS direction
    std
    ret
BREAKS rounding
    mov eax, 0x5f80          ; MXCSR rounding downwards
    mov [window_of_breaks], eax
    ldmxcsr [window_of_breaks]
    ret
BREAKS invalid
    xorps xmm0, xmm0
    divss xmm0, xmm0
    ret
BREAKS denormal
    mov eax, 1
    movd xmm0, eax
    addss xmm0, xmm0
    ret
BREAKS overflow
    mov eax, 0x7f000000
    movd xmm0, eax
    mulss xmm0, xmm0
    ret

section .bss
window_of_breaks: resd 1

section .note.GNU-stack noalloc noexec nowrite progbits
