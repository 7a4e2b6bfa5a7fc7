/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Prints the CPU that it sees, and copies memory as the C library does on that CPU. With an argument, executes an
 * AVX instruction. */
#include <cpuid.h>
#include <stdio.h>
#include <string.h>

static char from[100000], to[sizeof from];

int main(int argc, char **argv)
{
    unsigned a, b, c, d, low = 0, high = 0;
    char vendor[13] = "", line[8192] = "";
    (void)argv;
    __cpuid(0, a, b, c, d);
    memcpy(vendor, &b, 4);
    memcpy(vendor + 4, &d, 4);
    memcpy(vendor + 8, &c, 4);
    __cpuid(1, a, b, c, d);
    printf("%s %x sse4_2 %d fma %d", vendor, a, c >> 20 & 1, c >> 12 & 1);
    if (c >> 27 & 1) {
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    }
    __cpuid_count(7, 0, a, b, c, d);
    printf(" avx2 %d avx512f %d xcr0 %x\n", b >> 5 & 1, b >> 16 & 1, low);
    FILE *f = fopen("/proc/cpuinfo", "r");
    while (f && fgets(line, sizeof line, f) && strncmp(line, "model name", 10) != 0) {
    }
    fputs(line, stdout);
    for (int i = 0; i < 100; i++) {
        memset(from, i, sizeof from);
        memcpy(to, from, sizeof to);
    }
    printf("%d\n", to[5]);
    if (argc > 1) {
        __asm__ volatile("vxorps %%ymm0, %%ymm0, %%ymm0\n\tvzeroupper" : : : "memory");
    }
    return f ? fclose(f) : 1;
}
