/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Code that changes while it is executed, in all the ways that test_translate.c compares with stepping. Without a C
 * library, so that few instructions are executed beside it. Exit status 0: all code did what was written last. */
#include <stdint.h>

#include "harness/translate/engine/sys.h"

enum {
    READ = 1,
    WRITE = 2,
    EXECUTE = 4,
    SHARED = 1,
    PRIVATE = 2,
    ANONYMOUS = 0x20,
    FIXED = 0x10,
    DONTNEED = 4
};
enum { PAGE = 4096, ROUNDS = 40 };

static long call(long nr, long a, long b, long c, long d, long e)
{
    return carm_sys6(nr, (uint64_t)a, (uint64_t)b, (uint64_t)c, (uint64_t)d, (uint64_t)e, 0);
}

static uint8_t *pages(long n, long prot)
{
    return (uint8_t *)call(SYS_mmap, 0, n * PAGE, prot, PRIVATE | ANONYMOUS, -1);
}

static uint32_t run(const uint8_t *code)
{
    return ((uint32_t(*)(void))(uintptr_t)code)();
}

static void put(uint8_t *at, const void *bytes, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        ((volatile uint8_t *)at)[i] = ((const uint8_t *)bytes)[i];
    }
}

/* mov eax, value; ret */
static void put_value(uint8_t *at, uint32_t value)
{
    put(at, "\xb8", 1);
    put(at + 1, &value, 4);
    put(at + 5, "\xc3", 1);
}

/* n times mulsd xmm0, xmm0; mov eax, n; ret */
static void put_flops(uint8_t *at, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        put(at + 4 * i, "\xf2\x0f\x59\xc0", 4);
    }
    put_value(at + 4 * n, n);
}

static uint32_t wrong;

static void expect(uint32_t got, uint32_t value)
{
    wrong += got != value;
}

/* An immediate operand, in a loop. */
static void immediate(uint8_t *code)
{
    for (uint32_t i = 0; i < ROUNDS; i++) {
        put_value(code, i);
        expect(run(code), i);
    }
}

/* Other instructions each time, and the same ones again. */
static void generated(uint8_t *code)
{
    for (uint32_t i = 0; i < ROUNDS; i++) {
        put_flops(code, i * 7 % 5);
        expect(run(code), i * 7 % 5);
    }
}

/* One byte, of code that lies across two pages. */
static void edge(uint8_t *code)
{
    put_flops(code + PAGE - 15, 3);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        put(code + PAGE - 2, &i, 1);
        expect(run(code + PAGE - 15), i);
    }
}

/* mov dword [rip + 1], eax; mov eax, ...; ret: the instruction behind the one that writes */
static void next_instruction(uint8_t *code)
{
    put(code, "\x89\x05\x01\x00\x00\x00\xb8\x00\x00\x00\x00\xc3", 12);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t got = i;
        __asm__ volatile("call *%1" : "+a"(got) : "r"(code) : "memory", "cc");
        expect(got, i);
    }
}

/* A loop of one block that counts in an operand of its own. */
static void loop(uint8_t *code)
{
    /* mov ecx, 9; 1: inc dword [rip + 1]; mov eax, 0; dec ecx; jnz 1b; ret */
    put(code,
        "\xb9\x09\x00\x00\x00\xff\x05\x01\x00\x00\x00\xb8\x00\x00\x00\x00\xff\xc9\x75\xf1\xc3", 21);
    expect(run(code), 9);
    expect(run(code), 18);
}

/* A repeated string instruction writes what follows: nop becomes inc eax. */
static void strings(uint8_t *code)
{
    /* lea rdi, [rip + 9]; mov ecx, 4; rep movsb; then xor eax, eax; 4 bytes; ret */
    static const char way[2][5] = {"\xff\xc0\xff\xc0", "\x90\x90\xff\xc0"};
    put(code,
        "\x48\x8d\x3d\x09\x00\x00\x00\xb9\x04\x00\x00\x00\xf3\xa4\x31\xc0\x90\x90\x90\x90\xc3", 21);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t got = 0;
        const char *from = way[i % 2];
        __asm__ volatile("call *%2"
                         : "=a"(got), "+S"(from)
                         : "r"(code)
                         : "rdi", "rcx", "memory", "cc");
        expect(got, i % 2 ? 1 : 2);
    }
}

/* The stack lies in the code: push replaces eight nops by inc eax. */
static void stack(uint8_t *code)
{
    /* mov r8, rsp; lea rsp, [rip + 13]; xor eax, eax; push rdx; 8 nops; mov rsp, r8; ret */
    put(code,
        "\x49\x89\xe0\x48\x8d\x25\x0b\x00\x00\x00\x31\xc0\x52\x90\x90\x90\x90\x90\x90\x90\x90\x4c\x89\xc4\xc3",
        25);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t got = 0;
        const uint64_t what = i % 2 ? UINT64_C(0xc0ffc0ffc0ffc0ff) : UINT64_C(0xc0ff909090909090);
        __asm__ volatile("call *%1" : "=a"(got) : "r"(code), "d"(what) : "r8", "memory", "cc");
        expect(got, i % 2 ? 4 : 1);
    }
}

/* The kernel writes. */
static void kernel(uint8_t *code)
{
    int gate[2];
    static uint8_t next[32];
    call(SYS_pipe, (long)gate, 0, 0, 0, 0);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        put_flops(next, i % 3);
        call(SYS_write, gate[1], (long)next, sizeof next, 0, 0);
        call(SYS_read, gate[0], (long)code, sizeof next, 0, 0);
        expect(run(code), i % 3);
    }
}

/* Through another mapping of the same memory; mapped to be executed, or made so later. */
static void aliases(void)
{
    const long fd = call(SYS_memfd_create, (long)"code", 0, 0, 0, 0);
    call(SYS_ftruncate, fd, PAGE, 0, 0, 0);
    uint8_t *writes = (uint8_t *)call(SYS_mmap, 0, PAGE, READ | WRITE, SHARED, fd);
    const uint8_t *code = (const uint8_t *)call(SYS_mmap, 0, PAGE, READ | EXECUTE, SHARED, fd);
    const uint8_t *later = (const uint8_t *)call(SYS_mmap, 0, PAGE, READ, SHARED, fd);
    call(SYS_mprotect, (long)later, PAGE, READ | EXECUTE, 0, 0);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        put_flops(writes, i % 5);
        expect(run(code), i % 5);
        expect(run(later), i % 5);
    }
}

/* Written while it is not executable, and emptied. */
static void protected(uint8_t *code)
{
    for (uint32_t i = 0; i < ROUNDS; i++) {
        call(SYS_mprotect, (long)code, PAGE, READ | WRITE, 0, 0);
        if (i % 10 == 9) {
            call(SYS_madvise, (long)code, PAGE, DONTNEED, 0, 0);
        }
        put_flops(code, i % 3);
        call(SYS_mprotect, (long)code, PAGE, READ | EXECUTE, 0, 0);
        expect(run(code), i % 3);
        expect(run(code), i % 3);
    }
}

/* A file with this code. */
static long file(const char *bytes, long n)
{
    const long fd = call(SYS_memfd_create, (long)"code", 0, 0, 0, 0);
    call(SYS_write, fd, (long)bytes, n, 0, 0);
    return fd;
}

static uint8_t *map(uint8_t *at, long fd)
{
    return (uint8_t *)call(SYS_mmap, (long)at, PAGE, READ | EXECUTE, PRIVATE | (at ? FIXED : 0),
                           fd);
}

/* Emptied while it is executable: it becomes what the file has. */
static void emptied(void)
{
    uint8_t *code = map(0, file("\xb8\x01\x00\x00\x00\xc3", 6));
    for (uint32_t i = 2; i < ROUNDS; i++) {
        call(SYS_mprotect, (long)code, PAGE, READ | WRITE, 0, 0);
        put_value(code, i);
        call(SYS_mprotect, (long)code, PAGE, READ | EXECUTE, 0, 0);
        expect(run(code), i);
        call(SYS_madvise, (long)code, PAGE, DONTNEED, 0, 0);
        expect(run(code), 1);
    }
}

/* Code that stays jumps to code that does not read the flags, and then to code that does. */
static void mapped(void)
{
    const long ignores = file("\x31\xc0\xb0\x05\xc3", 5); /* xor eax, eax; mov al, 5; ret */
    const long reads = file("\x0f\x94\xc0\xc3", 4);       /* sete al; ret */
    uint8_t *room = pages(2, READ);
    uint8_t *to = map(room + PAGE, ignores);
    const uint8_t *from =
        map(room, file("\xb8\x00\x00\x00\x00\xe9\xf6\x0f\x00\x00", 10)); /* mov eax, 0; jmp to */
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t got = 0;
        map(to, i % 2 ? reads : ignores);
        __asm__ volatile("cmp %%eax, %%eax\n\tcall *%1" : "=a"(got) : "r"(from) : "memory", "cc");
        expect(got, i % 2 ? 1 : 5);
    }
}

/* Flags that the former code did not read, and the new one does. */
static void flags(uint8_t *code)
{
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t got = 0;
        put(code, i % 2 ? "\x0f\x94\xc0\x90\xc3" : "\x31\xc0\xb0\x05\xc3", 5);
        __asm__ volatile("cmp %%eax, %%eax\n\tcall *%1" : "+a"(got) : "r"(code) : "memory", "cc");
        expect(got, i % 2 ? 1 : 5);
    }
}

void begin(void);
void begin(void)
{
    uint8_t *code = pages(2, READ | WRITE | EXECUTE);
    immediate(code);
    generated(code);
    edge(code);
    next_instruction(code);
    loop(code);
    strings(code);
    stack(code);
    kernel(code);
    aliases();
    protected(code);
    emptied();
    mapped();
    flags(pages(1, READ | WRITE | EXECUTE));
    call(SYS_exit, wrong, 0, 0, 0, 0);
}

__asm__(".globl _start\n_start:\n\tand $-16, %rsp\n\tcall begin\n");
