/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Marked code whose counts are known: the bodies are in assembly. */
#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "carm_count.h"

#ifndef MORE
#define MORE "" /* of the body */
#endif

static double memory[8];

/* Functions that are not inlined: each call executes the same instructions, whatever a compiler knows of its numbers.
 * 3 instructions, of which one multiplies and one loads 8 bytes, and two of the loop */
__attribute__((noinline)) static void body(const char *name, unsigned long n)
{
    carm_count_begin(name, n);
    __asm__ volatile("nop; nop\n1: movsd (%1), %%xmm0; mulsd %%xmm0, %%xmm0; nop;" MORE
                     "dec %0; jnz 1b"
                     : "+r"(n)
                     : "r"(memory)
                     : "xmm0", "cc", "memory");
    carm_count_end();
}

__attribute__((noinline)) static void nested(void)
{
    carm_count_begin("outer", 1);
    __asm__ volatile("nop; nop; nop");
    carm_count_begin("inner", 1);
    __asm__ volatile("nop; nop; nop; nop");
    carm_count_end();
    carm_count_end();
}

static void *thread(void *arg)
{
    body(arg, 5);
    return NULL;
}

int main(void)
{
    int on;
    pthread_t threads[2];
    carm_count_ask(on);
    printf("%s\n", on ? "counted" : "not counted");
    carm_count_end(); /* of nothing */
    for (int i = 0; i < 3; i++) {
        carm_count_begin("empty", 1);
        carm_count_end();
    }
    for (unsigned long n = 10; n <= 1000; n *= 10) {
        body("body", n);
    }
    for (int i = 0; i < 3; i++) {
        nested();
    }
    for (int i = 0; i < 2; i++) {
        pthread_create(&threads[i], NULL, thread, "threads");
    }
    for (int i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    carm_count_begin("parent", 1);
    if (fork() == 0) { /* the mark is its parent's */
        carm_count_end();
        body("child", 3);
        _exit(0);
    }
    wait(NULL);
    carm_count_end();
    for (int i = 0; i < 17; i++) {
        carm_count_begin("deep", 1);
    }
    for (int i = 0; i < 17; i++) {
        carm_count_end();
    }
    return 0;
}
