/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Executes each conditional branch in both directions, the taken one first or last, and prints which were taken.
 * tests/harness/translate/test_translate.c compares the output of a free run with that of runs counted with kept code. */
#include <stdint.h>
#include <stdio.h>

enum { CARRY = 0x1, PARITY = 0x4, ZERO = 0x40, SIGN = 0x80, OVERFLOW = 0x800 };

/* The flags are those of the argument. */
#define CONDITION(of)                                                                     \
    __extension__({                                                                       \
        uint64_t taken;                                                                   \
        __asm__ volatile("push %1\n\tpopfq\n\tmov $1, %0\n\tj" of " 1f\n\tmov $0, %0\n1:" \
                         : "=&r"(taken)                                                   \
                         : "r"(flags)                                                     \
                         : "cc", "memory");                                               \
        taken;                                                                            \
    })

static uint64_t conditions(uint64_t flags)
{
    uint64_t taken = CONDITION("o");
    taken = 2 * taken + CONDITION("no");
    taken = 2 * taken + CONDITION("b");
    taken = 2 * taken + CONDITION("ae");
    taken = 2 * taken + CONDITION("e");
    taken = 2 * taken + CONDITION("ne");
    taken = 2 * taken + CONDITION("be");
    taken = 2 * taken + CONDITION("a");
    taken = 2 * taken + CONDITION("s");
    taken = 2 * taken + CONDITION("ns");
    taken = 2 * taken + CONDITION("p");
    taken = 2 * taken + CONDITION("np");
    taken = 2 * taken + CONDITION("l");
    taken = 2 * taken + CONDITION("ge");
    taken = 2 * taken + CONDITION("le");
    return 2 * taken + CONDITION("g");
}

/* loop and its like: the condition is rcx, and for two of them the zero flag. */
#define COUNTED(of)                                                   \
    __extension__({                                                   \
        uint64_t taken = 1, n = count;                                \
        __asm__ volatile("cmp %2, %3\n\t" of " 1f\n\tmov $0, %k0\n1:" \
                         : "+r"(taken), "+c"(n)                       \
                         : "r"(zero), "r"((uint64_t)0)                \
                         : "cc");                                     \
        taken;                                                        \
    })

static uint64_t counted(uint64_t count, uint64_t zero)
{
    uint64_t taken = COUNTED("jrcxz");
    taken = 2 * taken + COUNTED("jecxz");
    taken = 2 * taken + COUNTED("loop");
    taken = 2 * taken + COUNTED("loope");
    return 2 * taken + COUNTED("loopne");
}

int main(void)
{
    static const uint64_t flags[] = {0,    CARRY,    PARITY,          ZERO,
                                     SIGN, OVERFLOW, SIGN | OVERFLOW, CARRY | ZERO};
    for (int turn = 0; turn < 3; turn++) {
        for (unsigned i = 0; i < sizeof flags / sizeof *flags; i++) {
            (void)printf("%04llx\n", (unsigned long long)conditions(flags[i]));
        }
        for (uint64_t count = 0; count < 3; count++) {
            (void)printf("%02llx %02llx\n", (unsigned long long)counted(count, 0),
                         (unsigned long long)counted(count, 1));
        }
    }
    return 0;
}
