/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/machine/buffer.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/machine/limits.h"

#define HUGE_BYTES ((size_t)2 << 20)

int carm_buffer_open(struct carm_buffer *buffer, size_t bytes, struct carm_err *err)
{
    memset(buffer, 0, sizeof *buffer);
    bytes = (bytes + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
    size_t map_bytes = bytes + HUGE_BYTES;
    void *map = mmap(NULL, map_bytes, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED) {
        return carm_fail(err, CARM_ENOMEM,
                         "cannot reserve %zu MiB for a working set (%s): lower --memory or raise "
                         "the limit of this shell (ulimit -v)",
                         bytes >> 20, strerror(errno));
    }
    madvise(map, map_bytes, MADV_DONTDUMP); /* core dumps need no gigabytes of known values */
    uintptr_t aligned = ((uintptr_t)map + HUGE_BYTES - 1) / HUGE_BYTES * HUGE_BYTES;
    buffer->map = map;
    buffer->map_bytes = map_bytes;
    buffer->start = (char *)map + (aligned - (uintptr_t)map);
    buffer->bytes = bytes;
    /* refused where transparent huge pages are switched off; the page size is read back anyway */
    madvise(buffer->start, bytes, MADV_HUGEPAGE);
    return 0;
}

void carm_buffer_touch(struct carm_buffer *buffer, size_t bytes)
{
    if (bytes > buffer->bytes) {
        bytes = buffer->bytes;
    }
    if (bytes <= buffer->touched) {
        return;
    }
    /* every double becomes 1.0: codes that load it and calculate stay normal */
    double *values = buffer->start;
    for (size_t i = buffer->touched / sizeof *values; i < (bytes + 7) / sizeof *values; i++) {
        values[i] = 1.0;
    }
    buffer->touched = bytes;
}

int carm_buffer_bind(struct carm_buffer *buffer, const int *nodes, size_t n, struct carm_err *err)
{
    enum { BITS = 8 * sizeof(unsigned long), MOST = 1024 };
    unsigned long mask[MOST / BITS] = {0};
    for (size_t i = 0; i < n; i++) {
        if (nodes[i] >= 0 && nodes[i] < MOST) {
            mask[nodes[i] / BITS] |= 1UL << (nodes[i] % BITS);
        }
    }
    /* MOST + 1 bits: the kernel uses one bit less than the argument */
    if (syscall(SYS_mbind, buffer->start, buffer->bytes, n > 1 ? MPOL_INTERLEAVE : MPOL_BIND, mask,
                (unsigned long)MOST + 1, 0) != 0) {
        return carm_fail(err, CARM_ENOTSUP, "cannot ask for memory of NUMA node %d (%s)%s",
                         n ? nodes[0] : -1, strerror(errno),
                         errno == EPERM || errno == ENOSYS ? ": the container forbids mbind" : "");
    }
    return 0;
}

double carm_buffer_share_on(const struct carm_buffer *buffer, int node)
{
    enum { LOOKS = 64 };
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    const size_t all = buffer->touched / page;
    const size_t n = all < LOOKS ? all : LOOKS;
    void *pages[LOOKS];
    int status[LOOKS];
    size_t known = 0;
    size_t there = 0;
    for (size_t i = 0; i < n; i++) {
        pages[i] = (char *)buffer->start + all * i / n * page;
        status[i] = -1;
    }
    if (n == 0 || syscall(SYS_move_pages, 0, n, pages, NULL, status, 0) != 0) {
        return -1.0;
    }
    for (size_t i = 0; i < n; i++) {
        known += status[i] >= 0 ? 1 : 0;
        there += status[i] == node ? 1 : 0;
    }
    return known ? (double)there / (double)known : -1.0;
}

uint64_t carm_buffer_page_bytes(const struct carm_buffer *buffer)
{
    uint64_t base = (uint64_t)sysconf(_SC_PAGESIZE);
    FILE *f = fopen("/proc/self/smaps", "r");
    if (!f) {
        return base;
    }
    char line[512];
    bool inside = false;
    uint64_t huge_kib = 0;
    const uintptr_t begin = (uintptr_t)buffer->map;
    const uintptr_t end = begin + buffer->map_bytes;
    while (fgets(line, sizeof line, f)) {
        static const char key[] = "AnonHugePages:";
        char *at = line;
        const uintptr_t lo = strtoull(line, &at, 16);
        if (*at == '-' && at > line) { /* a mapping's line: LO-HI rights ... */
            inside = lo < end && strtoull(at + 1, NULL, 16) > begin;
        } else if (inside && strncmp(line, key, sizeof key - 1) == 0) {
            huge_kib += strtoull(line + sizeof key - 1, NULL, 10);
        }
    }
    fclose(f);
    return huge_kib * 1024 >= buffer->touched / 10 * 9 && huge_kib > 0 ? HUGE_BYTES : base;
}

void carm_buffer_close(struct carm_buffer *buffer)
{
    if (buffer->map) {
        munmap(buffer->map, buffer->map_bytes);
    }
    memset(buffer, 0, sizeof *buffer);
}

/* Reads a line "KEY: N kB" of /proc/meminfo or /proc/PID/status.
 * returns bytes, 0 where it is unknown */
static uint64_t read_bytes(const char *path, const char *key)
{
    char line[256];
    uint64_t kib = 0;
    FILE *f = fopen(path, "re");
    if (!f) {
        return 0;
    }
    while (fgets(line, sizeof line, f)) {
        if (strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == ':') {
            kib = strtoull(line + strlen(key) + 1, NULL, 10);
            break;
        }
    }
    fclose(f);
    return kib * 1024;
}

/* Bytes that a limit of this process (ulimit) leaves. */
static uint64_t limit_left(const struct rlimit *limit, uint64_t used)
{
    if (limit->rlim_cur == RLIM_INFINITY) {
        return UINT64_MAX;
    }
    return limit->rlim_cur > used ? limit->rlim_cur - used : 0;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

uint64_t carm_memory_available(void)
{
    struct carm_limits limits;
    struct rlimit space = {RLIM_INFINITY, RLIM_INFINITY};
    struct rlimit writable = space;
    (void)getrlimit(RLIMIT_AS, &space);
    (void)getrlimit(RLIMIT_DATA, &writable);
    carm_limits_read("", &limits);
    uint64_t available = least_of(read_bytes("/proc/meminfo", "MemAvailable"), limits.memory_left);
    available = least_of(available, limit_left(&space, read_bytes("/proc/self/status", "VmSize")));
    return least_of(available, limit_left(&writable, read_bytes("/proc/self/status", "VmData")));
}

uint64_t carm_memory_total(void)
{
    return read_bytes("/proc/meminfo", "MemTotal");
}
