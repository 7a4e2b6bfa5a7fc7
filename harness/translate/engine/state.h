/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine's state of one thread of the counted program, addressed by gs; the first part of
 * the thread's slot of the tally. Translated code and entry.asm know the offsets of the first
 * members. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "harness/translate/tally.h"

enum carm_reg { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15 };

/* Entries of the engine at which code of the cache leaves the cache. */
enum carm_stub { STUB_DIRECT, STUB_MISS, STUB_SYSCALL, STUB_CALLOUT, STUB_SPECIAL, STUB_COUNT };

/* The kernel's set of signals, 8 bytes wide. */
typedef uint64_t carm_sigset;

struct carm_siginfo {
    int32_t signo, error, code, pad;
    uint64_t rest[14];
};

struct carm_altstack {
    uint64_t sp;
    int32_t flags, pad;
    uint64_t size;
};

/* struct ucontext of the kernel */
struct carm_ucontext {
    uint64_t flags, link;
    struct carm_altstack stack;
    uint64_t r8, r9, r10, r11, r12, r13, r14, r15, rdi, rsi, rbp, rbx, rdx, rax, rcx, rsp, rip,
        eflags;
    uint16_t cs, gs, fs, ss;
    uint64_t err, trapno, oldmask, cr2;
    uint8_t *fpstate;
    uint64_t reserved[8];
    carm_sigset mask;
};

struct carm_action {
    uint64_t handler, flags, restorer;
    carm_sigset mask;
};

#define CARM_FLAG_TF UINT64_C(0x100)
#define CARM_FLAG_AC UINT64_C(0x40000)

enum { CARM_SIGNALS = 65, CARM_PENDING_MAX = 8 };

/* Signal actions of a process, or of a child that shares memory but not handlers. */
struct carm_actions {
    struct carm_action of[CARM_SIGNALS];
};

enum { CARM_ENGINE_STACK = 128 << 10, CARM_SIGNAL_STACK = 128 << 10, CARM_XSAVE_MAX = 16 << 10 };

/* A thread's counts since its first look at its counters. */
struct carm_look {
    uint64_t *seen; /* value of each counter at the latest look; NULL = no look yet */
    struct carm_step_counts seen_extra, total;
};

enum { CARM_MARKS_DEPTH = 16 };

struct carm_thread {
    uint64_t reg[16];
    uint64_t rip, flags;
    uint64_t s_rcx, s_rax; /* registers that translated code borrows */
    uint64_t target;       /* of an indirect branch */
    uint64_t zero;
    uint32_t link, unused; /* which exit of which block */
    uint64_t stack;        /* top of the engine's stack */
    uint64_t code;         /* address in the cache at which the thread goes on */
    uint64_t pending;      /* signals that wait until the program's state is exact (carm_map) */
    uint64_t s_rep;        /* rcx before a repeated string instruction */
    uint64_t stubs[STUB_COUNT];
    uint64_t next; /* program's address after a stub to which the kernel returned */
    struct carm_thread *self;
    uint64_t records;      /* where the next record of an address goes */
    uint64_t r_rax, r_rcx; /* registers that recording borrows */
    uint64_t left;         /* records before the engine is asked for room, + 255 */
    uint64_t r_kept;       /* value of the program's register that a block keeps for its looks
                            * (sample.c) */
    /* By 16 bits of a line's address, from bit CARM_CLASS_AT on. own: accesses to the line are
     * recorded. classes: an access that begins in the line may be recorded, since it may go on
     * into the next line */
    uint8_t own[1 << 16], classes[1 << 16];
    uint8_t index[64]; /* the indices of a gather or scatter, while its lines are looked up */
    struct carm_chunk *chunk;
    uint64_t since; /* time stamp of the end of the latest chunk; 0 = the thread has slept since
                     * then */
    uint32_t records_thread, mid_records; /* number of the thread; records of the latest callout */
    uint64_t given;                       /* value of `left` when the engine last set it */
    int64_t until;                        /* records before a window begins or ends */
    uint32_t windows;                     /* windows begun so far */
    uint8_t in_window;                    /* outside of windows, or in the first or second half
                                           * of one */

    struct carm_tally_slot *slot;
    struct carm_actions *actions;
    struct carm_actions own_actions; /* used when no other thread shares them */
    uint64_t next_rip;               /* address behind the system call */
    uint32_t number;                 /* of the slot */
    uint32_t stepping;               /* the trap flag is set, on the way to an exact place */
    uint32_t mid_site;               /* site + 1 of a callout whose resumed code runs */
    uint32_t detached;
    uint32_t trap_signal; /* the trap of carm_deliver takes the place of the program's int3 */
    uint32_t align_check; /* the program has set its AC flag */
    struct carm_step_counts mid_delta;
    carm_sigset saved_mask;  /* of the program while signals are pending */
    carm_sigset waited_mask; /* mask of a waiting call (sigsuspend and the like), which the
                              * handler runs under */
    uint32_t waited;
    uint32_t npending;
    struct carm_siginfo queue[CARM_PENDING_MAX];
    struct carm_altstack alt; /* the program's signal stack */
    uint64_t program_fs;      /* the program's fs base, while fs has the engine's */
    uint32_t request;         /* number + 1 of the request to trace an exec; 0 = none */
    uint64_t nr;              /* of the system call */
    carm_sigset clone_mask;   /* the program's, in a new thread */
    struct {
        bool active;
        struct carm_look look;
    } region;
    struct { /* of include/carm_count.h: the pieces of code that the thread is in */
        struct carm_look look;
        uint32_t depth;
        struct {
            uint32_t number; /* of the struct carm_tally_mark */
            struct carm_step_counts begin;
        } open[CARM_MARKS_DEPTH];
    } marks;
    uint32_t clone_flags;
    uint8_t tls[256]; /* fs points to its end while libraries of the engine run */
    uint32_t x87[7];  /* the environment of fnstenv, beside xsave */
    uint8_t xsave[CARM_XSAVE_MAX] __attribute__((aligned(64)));
    uint8_t signal_stack[CARM_SIGNAL_STACK] __attribute__((aligned(64)));
    uint8_t engine_stack[CARM_ENGINE_STACK] __attribute__((aligned(64)));
};

_Static_assert(sizeof(struct carm_thread) < CARM_TALLY_STATE_BYTES, "a thread fits its slot");

/* Offsets that entry.asm uses. */
enum {
    AT_RIP = 0x80,
    AT_FLAGS = 0x88,
    AT_S_RCX = 0x90,
    AT_S_RAX = 0x98,
    AT_TARGET = 0xa0,
    AT_LINK = 0xb0,
    AT_STACK = 0xb8,
    AT_CODE = 0xc0,
    AT_PENDING = 0xc8,
    AT_S_REP = 0xd0,
    AT_STUBS = 0xd8,
    AT_NEXT = 0x100,
    AT_SELF = 0x108,
    AT_RECORDS = 0x110,
    AT_R_RAX = 0x118,
    AT_R_RCX = 0x120,
    AT_LEFT = 0x128,
    AT_R_KEPT = 0x130,
    AT_OWN = 0x138,
    AT_CLASSES = 0x10138,
    AT_INDEX = 0x20138,
};
#define CARM_AT(member, at) \
    _Static_assert(offsetof(struct carm_thread, member) == (at), "as entry.asm has it")
CARM_AT(rip, AT_RIP);
CARM_AT(flags, AT_FLAGS);
CARM_AT(s_rcx, AT_S_RCX);
CARM_AT(s_rax, AT_S_RAX);
CARM_AT(target, AT_TARGET);
CARM_AT(link, AT_LINK);
CARM_AT(stack, AT_STACK);
CARM_AT(code, AT_CODE);
CARM_AT(pending, AT_PENDING);
CARM_AT(s_rep, AT_S_REP);
CARM_AT(stubs, AT_STUBS);
CARM_AT(next, AT_NEXT);
CARM_AT(self, AT_SELF);
CARM_AT(records, AT_RECORDS);
CARM_AT(r_rax, AT_R_RAX);
CARM_AT(r_rcx, AT_R_RCX);
CARM_AT(left, AT_LEFT);
CARM_AT(own, AT_OWN);
CARM_AT(classes, AT_CLASSES);
CARM_AT(index, AT_INDEX);
CARM_AT(r_kept, AT_R_KEPT);
_Static_assert(offsetof(struct carm_ucontext, mask) == 296, "the kernel's layout");
_Static_assert(sizeof(struct carm_siginfo) == 128, "the kernel's layout");

static inline struct carm_thread *carm_self(void)
{
    struct carm_thread *self;
    __asm__ volatile("mov %%gs:0x108, %0" : "=r"(self));
    return self;
}

/* ---- entry.asm ---- */

void carm_entry_start(void); /* of a program; the injector jumps here */
void carm_entry_direct(void);
void carm_entry_miss(void);
void carm_entry_syscall(void);
void carm_entry_callout(void);
void carm_entry_special(void);
void carm_entry_next(void); /* all registers are the program's; goes on at thread.next */
void carm_entry_signal_return(void);
extern const uint8_t carm_resume_begin[], carm_resume_end[];
extern const uint8_t carm_syscall_begin[], carm_syscall_after[], carm_syscall_abort[];
extern const uint8_t carm_deliver_after[];
/* Leaves the engine: to the program in the cache, state in the thread. */
_Noreturn void carm_resume(struct carm_thread *t);
/* Loads the program's registers, makes its system call, goes on in carm_syscall_done. */
_Noreturn void carm_do_syscall(struct carm_thread *t);
/* Raises a trap with the program's registers, so that the kernel saves them. */
_Noreturn void carm_deliver(struct carm_thread *t);
/* Jumps to t->code with the program's registers, without looking for pending signals. */
_Noreturn void carm_go_native(struct carm_thread *t);
/* clone: returns in the parent; the child goes on in carm_clone_child(child) on the child's stack.
 * nr is SYS_clone, _clone3, _fork or _vfork */
long carm_clone(struct carm_thread *child, long nr, uint64_t a, uint64_t b, uint64_t c, uint64_t d,
                uint64_t e);
/* rt_sigreturn with this stack pointer */
_Noreturn void carm_sigreturn(uint64_t rsp);
/* Sets *used to 0 and ends this thread, without a stack. */
_Noreturn void carm_exit_thread(uint64_t status, uint32_t *used);
