/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/profile/faults.h"

#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

#include "base/observer.h"

double carm_huge_faults(void)
{
    char line[128];
    double n = 0.0;
    FILE *f = fopen("/proc/vmstat", "re");
    while (f && fgets(line, sizeof line, f) &&
           sscanf(line, "thp_fault_alloc %lf", &n) != 1) { // NOLINT(cert-err34-c): the kernel's
    }
    if (f) {
        (void)fclose(f);
    }
    return n;
}

double carm_huge_fault_seconds(void)
{
    enum { PAGE = 2 << 20, PAGES = 16 };
    char *const room = mmap(NULL, (PAGES + 1) * (size_t)PAGE, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) {
        return 0.0;
    }
    char *const first = room + (PAGE - (uintptr_t)room % PAGE) % PAGE;
    const double before = carm_huge_faults();
    const int asked = madvise(first, PAGES * (size_t)PAGE, MADV_HUGEPAGE);
    const double begin = carm_seconds_now();
    for (size_t i = 0; i < PAGES && asked == 0; i++) {
        *(volatile char *)(first + i * PAGE) = 1;
    }
    const double given = carm_huge_faults() - before;
    munmap(room, (PAGES + 1) * (size_t)PAGE);
    const double seconds = carm_seconds_now() - begin;
    return given >= PAGES ? seconds / PAGES : 0.0;
}
