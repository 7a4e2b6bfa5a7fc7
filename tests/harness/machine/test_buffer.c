/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of threads: where its pages lie, by a kernel that the tests play, its bounds, and what a process may have. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/machine/buffer.h"
#include "tests/unit.h"

static struct {
    int refuses;                     /* an errno; 0 = none */
    int nodes[64];                   /* of pages asked for; negative: none there */
    size_t npages;                   /* asked for */
    void *pages[64];                 /* their addresses */
    unsigned long mask[16], maxnode; /* of a policy */
    int mode;
    void *start;
    size_t bytes;
} kernel;

/* In place of the library's: the calls about pages. */
long syscall(long number, ...)
{
    va_list args;
    va_start(args, number);
    errno = kernel.refuses;
    if (number == SYS_move_pages) {
        assert_int_equal(va_arg(args, int), 0); /* this process */
        kernel.npages = va_arg(args, size_t);
        assert_in_range(kernel.npages, 1, 64);
        memcpy(kernel.pages, va_arg(args, void **), kernel.npages * sizeof(void *));
        assert_null(va_arg(args, int *)); /* nothing is moved */
        int *status = va_arg(args, int *);
        memcpy(status, kernel.nodes, kernel.npages * sizeof *status);
        assert_int_equal(va_arg(args, int), 0);
    } else {
        assert_int_equal(number, SYS_mbind);
        kernel.start = va_arg(args, void *);
        kernel.bytes = va_arg(args, size_t);
        kernel.mode = va_arg(args, int);
        memcpy(kernel.mask, va_arg(args, unsigned long *), sizeof kernel.mask);
        kernel.maxnode = va_arg(args, unsigned long);
        assert_int_equal(va_arg(args, int), 0); /* of pages that come */
    }
    va_end(args);
    return kernel.refuses ? -1 : 0;
}

static const char *smaps;   /* what /proc/self/smaps says; NULL = the kernel's own */
static const char *meminfo; /* likewise /proc/meminfo; "" = there is none */

FILE *fopen(const char *path, const char *mode)
{
    if (smaps && strcmp(path, "/proc/self/smaps") == 0) {
        return fmemopen((void *)(uintptr_t)smaps, strlen(smaps), "r");
    }
    if (meminfo && strcmp(path, "/proc/meminfo") == 0) {
        return *meminfo ? fmemopen((void *)(uintptr_t)meminfo, strlen(meminfo), "r") : NULL;
    }
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(mode[0], 'r');
    return fd < 0 ? NULL : fdopen(fd, "r");
}

enum { SMALL = 4096, HUGE = 2 << 20 };

static struct {
    bool odd;     /* the next mapping begins three small pages behind a huge one */
    void *dumped; /* what is left out of cores ... */
    size_t dumped_bytes;
    void *huge; /* ... and what is to have huge pages */
    size_t huge_bytes;
} advice;

void *mmap(void *at, size_t bytes, int prot, int flags, int fd, off_t from)
{
    char *map = mmap64(at, bytes + (advice.odd ? HUGE + 3 * SMALL : 0), prot, flags, fd, from);
    if (advice.odd && map != MAP_FAILED) {
        map += (HUGE - (uintptr_t)map % HUGE) % HUGE + 3 * SMALL;
    }
    return map;
}

int madvise(void *at, size_t bytes, int what)
{
    *(what == MADV_DONTDUMP ? &advice.dumped : &advice.huge) = at;
    *(what == MADV_DONTDUMP ? &advice.dumped_bytes : &advice.huge_bytes) = bytes;
    assert_true(what == MADV_DONTDUMP || what == MADV_HUGEPAGE);
    return 0;
}

static struct carm_buffer buffer_of(size_t bytes)
{
    struct carm_buffer b;
    memset(&kernel, 0, sizeof kernel);
    assert_ok(carm_buffer_open(&b, bytes, &err));
    return b;
}

/* Whole pages of 2 MiB, inside what is mapped. */
TEST(buffers_are_whole_pages)
{
    static const size_t sizes[][2] = {{1, HUGE},
                                      {HUGE, HUGE},
                                      {HUGE + 1, (size_t)2 * HUGE},
                                      {(size_t)3 * HUGE, (size_t)3 * HUGE}};
    for (size_t i = 0; i < 2 * sizeof sizes / sizeof *sizes; i++) {
        advice.odd = i % 2;
        struct carm_buffer b = buffer_of(sizes[i / 2][0]);
        advice.odd = false;
        assert_int_equal(b.bytes, sizes[i / 2][1]);
        assert_ptr_equal(advice.dumped, b.map);
        assert_int_equal(advice.dumped_bytes, b.map_bytes);
        assert_ptr_equal(advice.huge, b.start);
        assert_int_equal(advice.huge_bytes, b.bytes);
        const void *map = b.map;
        assert_int_equal(msync(b.map, SMALL, MS_ASYNC), 0);
        assert_int_equal((uintptr_t)b.start % HUGE, 0);
        assert_true((char *)b.start >= (char *)b.map &&
                    (char *)b.start + b.bytes <= (char *)b.map + b.map_bytes);
        carm_buffer_close(&b);
        assert_int_equal(msync((void *)(uintptr_t)map, SMALL, MS_ASYNC), -1); /* it is given back */
        assert_null(b.map);
        assert_int_equal(b.bytes, 0);
    }
}

/* Each double that begins before the end is 1; what follows is as it was. */
TEST(touched_bytes_are_ones)
{
    struct carm_buffer b = buffer_of(HUGE);
    const double *values = b.start;
    static const size_t ends[] = {8, 9, 800, 800, 16, 1000};
    size_t most = 0;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        carm_buffer_touch(&b, ends[i]);
        most = ends[i] > most ? ends[i] : most;
        assert_int_equal(b.touched, most);
        for (size_t k = 0; k < 200; k++) {
            assert_near(values[k], 8 * k < most ? 1.0 : 0.0, 0.0);
        }
    }
    carm_buffer_close(&b);
}

/* The share of up to 64 pages, evenly over what is touched. Pages that are nowhere do not count. */
TEST(pages_lie_on_nodes)
{
    struct carm_buffer b = buffer_of((size_t)4 * HUGE);
    assert_near(carm_buffer_share_on(&b, 0), -1.0, 0.0); /* nothing is touched */
    b.touched = SMALL - 1;
    assert_near(carm_buffer_share_on(&b, 0), -1.0, 0.0);
    b.touched = (size_t)5 * SMALL;
    memcpy(kernel.nodes, (int[]){0, 1, -2, 1, 1}, 5 * sizeof(int));
    assert_near(carm_buffer_share_on(&b, 1), 0.75, 1e-12);
    assert_near(carm_buffer_share_on(&b, 0), 0.25, 1e-12);
    assert_int_equal(kernel.npages, 5);
    b.touched = (size_t)4 * HUGE;
    assert_near(carm_buffer_share_on(&b, 0), 60.0 / 63.0, 1e-12);
    assert_int_equal(kernel.npages, 64);
    for (size_t i = 0; i < 64; i++) { /* 32 pages of 4 KiB apart */
        assert_ptr_equal(kernel.pages[i], (char *)b.start + i * 32 * SMALL);
        kernel.nodes[i] = -1;
    }
    assert_near(carm_buffer_share_on(&b, 0), -1.0, 0.0); /* none is there */
    kernel.refuses = EPERM;
    memset(kernel.nodes, 0, sizeof kernel.nodes);
    assert_near(carm_buffer_share_on(&b, 0), -1.0, 0.0);
    carm_buffer_close(&b);
}

/* One node is bound to, several take turns; numbers that are none are left out. */
TEST(nodes_make_a_policy)
{
    struct carm_buffer b = buffer_of(HUGE);
    static const int some[] = {0, 63, 64, 1023, 1024, -1};
    assert_ok(carm_buffer_bind(&b, some, 1, &err));
    assert_int_equal(kernel.mode, MPOL_BIND);
    assert_ptr_equal(kernel.start, b.start);
    assert_int_equal(kernel.bytes, HUGE);
    assert_int_equal(kernel.mask[0], 1);
    assert_int_equal(kernel.maxnode, 1025);
    assert_ok(carm_buffer_bind(&b, some, 6, &err));
    assert_int_equal(kernel.mode, MPOL_INTERLEAVE);
    assert_int_equal(kernel.mask[0], 1UL << 63 | 1);
    assert_int_equal(kernel.mask[1], 1);
    assert_int_equal(kernel.mask[15], 1UL << 63);
    for (size_t i = 2; i < 15; i++) {
        assert_int_equal(kernel.mask[i], 0);
    }
    assert_ok(carm_buffer_bind(&b, some + 1, 1, &err));
    assert_int_equal(kernel.mask[0], 1UL << 63);
    assert_ok(carm_buffer_bind(&b, (int[]){0, -1}, 2, &err));
    assert_int_equal(kernel.mode, MPOL_INTERLEAVE);
    assert_int_equal(kernel.mask[0], 1);
    kernel.refuses = EPERM;
    assert_refused(carm_buffer_bind(&b, some + 1, 1, &err), -CARM_ENOTSUP,
                   "of NUMA node 63 (Operation not permitted): the container forbids mbind");
    kernel.refuses = ENOSYS;
    assert_refused(carm_buffer_bind(&b, some, 0, &err), -CARM_ENOTSUP,
                   "node -1 (Function not implemented): the container forbids mbind");
    kernel.refuses = EINVAL;
    assert_refused(carm_buffer_bind(&b, some, 2, &err), -CARM_ENOTSUP, "(Invalid argument)");
    assert_null(strstr(err.text, "container"));
    carm_buffer_close(&b);
}

/* Huge pages of a mapping at 16 to 20 MiB, from nine tenths of the touched bytes on. */
TEST(pages_are_huge_where_most_are)
{
    static const struct {
        const char *smaps;
        size_t touched;
        bool huge;
    } cases[] = {
        {"1000000-1400000 rw-p 0 00:00 0\nSize:   4096 kB\nAnonHugePages:      2048 kB\n", HUGE,
         true},
        {"1000000-1400000 rw-p 0 00:00 0\nAnonHugePages: 2048 kB\nShmemPmdMapped: 9 kB\n",
         (size_t)2 * HUGE, false},
        {"1000000-1200000 rw-p\nAnonHugePages: 1024 kB\n1200000-1400000 rw-p\nAnonHugePages: 1024 kB\n",
         HUGE, true},
        {"f00000-1000000 rw-p\nAnonHugePages: 4096 kB\n", HUGE, false},  /* before it */
        {"1400000-1500000 rw-p\nAnonHugePages: 4096 kB\n", HUGE, false}, /* behind it */
        {"f00000-1000001 rw-p\nAnonHugePages: 4096 kB\n", HUGE, true},
        {"13fffff-1500000 rw-p\nAnonHugePages: 4096 kB\n", HUGE, true},
        {"1000000-1400000 rw-p\n1400000-1500000 rw-p\nAnonHugePages: 4096 kB\n", HUGE, false},
        {"1000000-1400000 rw-p\nAnonHugePages: 1844 kB\n", HUGE, true},
        {"1000000-1400000 rw-p\nAnonHugePages: 1843 kB\n", HUGE, false},
        {"1000000-1400000 rw-p\nAnonHugePages: 0 kB\n", 0, false},
        {"1000000-1400000 rw-p\nAnonHugePages: 1 kB\n", 0, true},
        {"1000000-1400000 rw-p\nShmemHugePages: 4096 kB\n", HUGE, false},
        {"1000000-1400000 rw-p\nAnonHugePages2 4096 kB\n", HUGE, false},
        {"1000000-1400000 rw-p\nAnonHugePages: 9 kB\n", 10240, true},
        {"AnonHugePages: 4096 kB\n", HUGE, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct carm_buffer b = {.map = (void *)(uintptr_t)0x1000000,
                                      .map_bytes = 0x400000,
                                      .touched = cases[i].touched};
        smaps = cases[i].smaps;
        const uint64_t bytes = carm_buffer_page_bytes(&b);
        smaps = NULL;
        fail_if(bytes != (cases[i].huge ? HUGE : SMALL), "case %zu: %llu", i,
                (unsigned long long)bytes);
    }
}

/* Bytes of a line of /proc: "KEY: N kB". */
static uint64_t listed(const char *path, const char *key)
{
    char line[256];
    uint64_t kib = 0;
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    while (fgets(line, sizeof line, f)) {
        kib = strncmp(line, key, strlen(key)) == 0 ? strtoull(line + strlen(key), NULL, 10) : kib;
    }
    (void)fclose(f);
    return kib * 1024;
}

TEST(memory_is_what_the_kernel_says)
{
    static const struct {
        const char *text;
        uint64_t total;
    } rows[] = {{"MemTotal2: 5 kB\nMemTotal: 7 kB\nMemTotal: 8 kB\n", 7168},
                {"MemFree: 5 kB\n", 0},
                {"", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        meminfo = rows[i].text;
        const uint64_t total = carm_memory_total();
        meminfo = NULL;
        assert_int_equal(total, rows[i].total);
    }
}

/* A limit of this process leaves less than the machine has; one that is used up leaves nothing. */
TEST(limits_of_the_process_count)
{
    static const struct {
        int resource;
        const char *key;
    } rows[] = {{RLIMIT_AS, "VmSize:"}, {RLIMIT_DATA, "VmData:"}};
    const uint64_t mib64 = 64 << 20, spare = 4 << 20;
    int status = 1;
    assert_int_equal(carm_memory_total(), listed("/proc/meminfo", "MemTotal:"));
    assert_true(carm_memory_available() > mib64);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const pid_t pid = fork();
        if (pid == 0) {
            const uint64_t used = listed("/proc/self/status", rows[i].key);
            struct rlimit limit = {used + mib64, used + mib64};
            bool right = used > 0 && setrlimit((__rlimit_resource_t)rows[i].resource, &limit) == 0;
            const uint64_t left = carm_memory_available();
            right = right && left <= mib64 + spare && left >= mib64 - spare;
#ifndef __SANITIZE_ADDRESS__ /* which needs memory for each file */
            limit.rlim_cur = used / 2;
            right = right && setrlimit((__rlimit_resource_t)rows[i].resource, &limit) == 0;
            right = right && carm_memory_available() == 0;
#endif
            _exit(right ? 0 : 1);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        fail_if(status != 0, "%s", rows[i].key);
    }
}
