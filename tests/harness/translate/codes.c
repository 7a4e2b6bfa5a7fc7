/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls test codes: tests/harness/translate/test_translate.c writes the file that argv[1] names. Without a C
 * library, so that few instructions are executed beside theirs. */
#include <stdint.h>

#include "harness/translate/engine/sys.h"

enum { READ_EXECUTE = 5, PRIVATE = 2 };

struct call {
    uint64_t offset, iterations, passes, extra;
};

/* At the beginning of the file; the codes begin at its second page. */
struct header {
    uint64_t bytes, n;
    struct call calls[];
};

static uint8_t window[1 << 18] __attribute__((aligned(4096)));

void begin(const uint64_t *stack);
void begin(const uint64_t *stack)
{
    const long fd = carm_sys2(SYS_open, stack[2], 0);
    const struct header *h = (const struct header *)carm_sys6(SYS_mmap, 0, 1 << 20, READ_EXECUTE,
                                                              PRIVATE, (uint64_t)fd, 0);
    for (uint64_t i = 0; i < h->n; i++) {
        void (*f)(void *, uint64_t, uint64_t, uint64_t) = (void (*)(
            void *, uint64_t, uint64_t, uint64_t))((const uint8_t *)h + 4096 + h->calls[i].offset);
        f(window, h->calls[i].iterations, h->calls[i].passes, h->calls[i].extra);
    }
    carm_sys2(SYS_exit, h->n > 0 ? 0 : 1, 0);
}

__asm__(".globl _start\n_start:\n\tmov %rsp, %rdi\n\tand $-16, %rsp\n\tcall begin\n");
