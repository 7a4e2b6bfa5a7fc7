; SPDX-License-Identifier: GPL-3.0-or-later
; The border between translated code and the engine. Nothing here writes to the program's stack.
; Offsets: engine/state.h.

default rel

%define AT_FLAGS 0x88
%define AT_S_RCX 0x90
%define AT_LINK 0xb0
%define AT_STACK 0xb8
%define AT_CODE 0xc0
%define AT_PENDING 0xc8
%define AT_NEXT 0x100
%define AT_SELF 0x108
%define SYS_RT_SIGRETURN 15
%define SYS_EXIT 60

extern carm_engine_start, carm_engine_direct, carm_engine_miss, carm_engine_syscall
extern carm_engine_callout, carm_engine_special, carm_engine_next, carm_engine_pending
extern carm_engine_syscall_done, carm_engine_syscall_aborted, carm_clone_child

section .bss
align 64
boot_stack: resb 65536
boot_stack_top:

section .text

; registers and flags of the program into its thread; on to the engine's stack
%macro SAVE 0
    mov [gs:0x00], rax
    mov [gs:0x08], rcx
    mov [gs:0x10], rdx
    mov [gs:0x18], rbx
    mov [gs:0x20], rsp
    mov [gs:0x28], rbp
    mov [gs:0x30], rsi
    mov [gs:0x38], rdi
    mov [gs:0x40], r8
    mov [gs:0x48], r9
    mov [gs:0x50], r10
    mov [gs:0x58], r11
    mov [gs:0x60], r12
    mov [gs:0x68], r13
    mov [gs:0x70], r14
    mov [gs:0x78], r15
    mov rsp, [gs:AT_STACK]
    pushfq
    pop rax
    mov [gs:AT_FLAGS], rax
    cld
    mov rdi, [gs:AT_SELF]
%endmacro

; all but rsp, flags before
%macro LOAD 0
    push qword [gs:AT_FLAGS]
    popfq
    mov rax, [gs:0x00]
    mov rcx, [gs:0x08]
    mov rdx, [gs:0x10]
    mov rbx, [gs:0x18]
    mov rbp, [gs:0x28]
    mov rsi, [gs:0x30]
    mov rdi, [gs:0x38]
    mov r8, [gs:0x40]
    mov r9, [gs:0x48]
    mov r10, [gs:0x50]
    mov r11, [gs:0x58]
    mov r12, [gs:0x60]
    mov r13, [gs:0x68]
    mov r14, [gs:0x70]
    mov r15, [gs:0x78]
    mov rsp, [gs:0x20]
%endmacro

%macro ENTRY 2
global %1:function
%1:
    SAVE
    call %2
    ud2
%endmacro

global carm_entry_start:function
carm_entry_start:
    lea rsp, [boot_stack_top]
    call carm_engine_start
    ud2

ENTRY carm_entry_direct, carm_engine_direct
ENTRY carm_entry_syscall, carm_engine_syscall
ENTRY carm_entry_callout, carm_engine_callout
ENTRY carm_entry_special, carm_engine_special
ENTRY carm_entry_next, carm_engine_next

global carm_entry_miss:function
carm_entry_miss: ; an indirect branch whose target has no entry in the table: rcx is borrowed
    mov rcx, [gs:AT_S_RCX]
    SAVE
    call carm_engine_miss
    ud2

; A signal between begin and end goes back to begin: all of it can be done again.
global carm_resume:function, carm_resume_begin, carm_resume_end
carm_resume:
carm_resume_begin:
    mov rsp, [gs:AT_STACK]
    cmp qword [gs:AT_PENDING], 0
    jne resume_pending
    LOAD
    jmp [gs:AT_CODE]
carm_resume_end:
resume_pending:
    cld
    mov rdi, [gs:AT_SELF]
    call carm_engine_pending
    ud2

; A signal from begin up to the system call, which then has not begun or is to be restarted, goes to abort.
global carm_do_syscall:function, carm_syscall_begin, carm_syscall_after, carm_syscall_abort
carm_do_syscall:
carm_syscall_begin:
    mov rsp, [gs:AT_STACK]
    cmp qword [gs:AT_PENDING], 0
    jne carm_syscall_abort
    LOAD
    syscall
carm_syscall_after:
    mov rsp, [gs:AT_STACK]
    mov rdi, [gs:AT_SELF]
    mov rsi, rax
    cld
    call carm_engine_syscall_done
    ud2
carm_syscall_abort:
    mov rsp, [gs:AT_STACK]
    cld
    mov rdi, [gs:AT_SELF]
    call carm_engine_syscall_aborted
    ud2

global carm_deliver:function, carm_deliver_after
carm_deliver:
    mov rsp, [gs:AT_STACK]
    LOAD
    int3
carm_deliver_after:
    ud2

global carm_go_native:function
carm_go_native:
    mov rsp, [gs:AT_STACK]
    LOAD
    jmp [gs:AT_CODE]

; long carm_clone(child rdi, nr rsi, a rdx, b rcx, c r8, d r9, e [rsp+8])
global carm_clone:function
carm_clone:
    push r15
    mov r15, rdi
    mov rax, rsi
    mov rdi, rdx
    mov rsi, rcx
    mov rdx, r8
    mov r10, r9
    mov r8, [rsp+16]
    syscall
    test rax, rax
    jz .child
    pop r15
    ret
.child: ; what the stack pointer points to is not ours
    mov rsp, [r15+AT_STACK]
    mov rdi, r15
    call carm_clone_child
    ud2

global carm_entry_signal_return:function
carm_entry_signal_return:
    mov eax, SYS_RT_SIGRETURN
    syscall
    ud2

global carm_sigreturn:function
carm_sigreturn:
    mov rsp, rdi
    mov eax, SYS_RT_SIGRETURN
    syscall
    ud2

global carm_exit_thread:function
carm_exit_thread:
    mov eax, SYS_EXIT
    mov dword [rsi], 0
    syscall
    ud2

section .note.GNU-stack noalloc noexec nowrite progbits
