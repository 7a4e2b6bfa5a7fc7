/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls test codes: tests/harness/translate/test_translate.c writes the file that argv[1] names. Without a C
 * library, so that few instructions are executed beside theirs. */
#include <stdint.h>

enum { SYS_OPEN = 2, SYS_MMAP = 9, SYS_EXIT = 60, READ_EXECUTE = 5, PRIVATE = 2 };

struct call {
    uint64_t offset, iterations, passes, extra;
};

/* At the beginning of the file; the codes begin at its second page. */
struct header {
    uint64_t bytes, n;
    struct call calls[];
};

static uint8_t window[1 << 18] __attribute__((aligned(4096)));

static long call(long nr, long a, long b, long c, long d, long e)
{
    long result = nr;
    register long r10 __asm__("r10") = d;
    register long r8 __asm__("r8") = e;
    register long r9 __asm__("r9") = 0;
    __asm__ volatile("syscall"
                     : "+a"(result)
                     : "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
                     : "rcx", "r11", "memory");
    return result;
}

void begin(const uint64_t *stack);
void begin(const uint64_t *stack)
{
    const long fd = call(SYS_OPEN, (long)stack[2], 0, 0, 0, 0);
    const struct header *h =
        (const struct header *)call(SYS_MMAP, 0, 1 << 20, READ_EXECUTE, PRIVATE, fd);
    for (uint64_t i = 0; i < h->n; i++) {
        void (*f)(void *, uint64_t, uint64_t, uint64_t) = (void (*)(
            void *, uint64_t, uint64_t, uint64_t))((const uint8_t *)h + 4096 + h->calls[i].offset);
        f(window, h->calls[i].iterations, h->calls[i].passes, h->calls[i].extra);
    }
    call(SYS_EXIT, h->n > 0 ? 0 : 1, 0, 0, 0, 0);
}

__asm__(".globl _start\n_start:\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall begin\n");
