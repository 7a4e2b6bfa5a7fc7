/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/whatif/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "harness/machine/buffer.h"
#include "harness/translate/maps.h"

enum {
    PAGE = 4096,
    CHUNK = 1 << 16,       /* entries of /proc/PID/pagemap read at once */
    TOUCHED_MAX = 1 << 20, /* pages that a copy touches: 4 GiB, some 300 ms */
    GAP_MARGIN = 32 << 20, /* free memory left on both sides, since heap and stack grow */
};
#define NEAR    (UINT64_C(1) << 30)
#define PRESENT (UINT64_C(1) << 63)
#define EXCLUSIVE \
    (UINT64_C(1)  \
     << 56) /* mapped here alone. source: Linux, Documentation/admin-guide/mm/pagemap.rst */
#define AREA_MAX   (UINT64_C(16) << 30) /* its page table is 32 MB of /proc */
#define ROOM_LEAST (UINT64_C(256) << 20)

static FILE *open_of(pid_t pid, const char *name)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/%s", (int)pid, name);
    return fopen(path, "re");
}

int carm_memory_open(struct carm_memory *memory, pid_t pid, struct carm_err *err)
{
    char *text = NULL;
    size_t size = 0;
    int rc = 0;
    *memory = (struct carm_memory){.n = 0};
    FILE *f = open_of(pid, "maps");
    if (!f) {
        return carm_fail(err, CARM_EIO, "its memory cannot be read (/proc)");
    }
    while (!rc && getline(&text, &size, f) > 0) {
        struct carm_maps_line line;
        text[strcspn(text, "\n")] = '\0';
        if (!carm_maps_read(text, &line) || line.begin >> 47) {
            continue;
        }
        rc = carm_array_grow(&memory->areas, &memory->room, memory->n, 1, sizeof *memory->areas,
                             "a program's memory", err);
        char *path = rc ? NULL : strdup(line.path);
        if (!rc && !path) {
            rc = carm_fail(err, CARM_ENOMEM, "not enough memory");
        }
        if (!rc) {
            memory->areas[memory->n++] = (struct carm_area){
                .begin = line.begin,
                .end = line.end,
                .offset = line.offset,
                .writable = line.writable,
                .executable = line.executable,
                .shared = line.shared,
                .kernels = strncmp(line.path, "[v", 2) == 0,
                .path = path,
            };
        }
    }
    (void)fclose(f);
    free(text);
    if (rc) {
        carm_memory_close(memory);
    }
    return rc;
}

void carm_memory_close(struct carm_memory *memory)
{
    for (size_t i = 0; i < memory->n; i++) {
        free(memory->areas[i].path);
    }
    free(memory->areas);
    *memory = (struct carm_memory){.n = 0};
}

const struct carm_area *carm_memory_find(const struct carm_memory *memory, uint64_t at)
{
    for (size_t i = 0; i < memory->n; i++) {
        if (at >= memory->areas[i].begin && at < memory->areas[i].end) {
            return &memory->areas[i];
        }
    }
    return NULL;
}

uint64_t carm_memory_gap(const struct carm_memory *memory, uint64_t near, uint64_t bytes)
{
    uint64_t before = UINT64_C(1) << 16; /* vm.mmap_min_addr */
    for (size_t i = 0; i <= memory->n; i++) {
        const uint64_t after = i < memory->n ? memory->areas[i].begin : UINT64_C(1) << 47;
        const uint64_t low = before + GAP_MARGIN;
        const uint64_t high = after - GAP_MARGIN - bytes; /* the last begin */
        if (after > before + UINT64_C(2) * GAP_MARGIN + bytes) {
            const uint64_t at = near < low ? low : near > high ? high : near;
            const uint64_t begin = at & ~(uint64_t)(PAGE - 1);
            const uint64_t far = begin > near ? begin + bytes - near : near - begin;
            if (far < NEAR) {
                return begin;
            }
        }
        before = i < memory->n ? memory->areas[i].end : before;
    }
    return 0;
}

static uint64_t number_behind(const char *line, const char *word, int base, uint64_t otherwise)
{
    const size_t n = strlen(word);
    return strncmp(line, word, n) == 0 ? strtoull(line + n, NULL, base) : otherwise;
}

static bool memory_differs(pid_t pid, char *why, size_t size)
{
    char *line = NULL;
    size_t room = 0;
    bool differs = false;
    FILE *f = open_of(pid, "smaps");
    while (f && !differs && getline(&line, &room, f) > 0) {
        if (strncmp(line, "VmFlags:", 8) == 0) {
            /* the kernel's own areas (vvar) are never copied with a process */
            const bool kernels = strstr(line, " io ") || strstr(line, " pf ");
            const bool left_out = strstr(line, " dc ") && !kernels;
            const bool wiped = strstr(line, " wf ") != NULL;
            differs = left_out || wiped;
            if (differs) {
                snprintf(why, size,
                         "a copy of it would miss memory (madvise %s): it cannot be tried",
                         left_out ? "MADV_DONTFORK" : "MADV_WIPEONFORK");
            }
        }
    }
    if (f) {
        (void)fclose(f);
    }
    free(line);
    return differs;
}

bool carm_memory_forbids(pid_t pid, uint64_t most, char *why, size_t size)
{
    char line[256];
    uint64_t seccomp = 0, tracer = 0, anonymous = 0;
    const uint64_t free_bytes = carm_memory_available();
    FILE *f = open_of(pid, "status");
    if (!f) {
        snprintf(why, size, "its state cannot be read (/proc)");
        return true;
    }
    while (fgets(line, sizeof line, f)) {
        seccomp = number_behind(line, "Seccomp:", 10, seccomp);
        tracer = number_behind(line, "TracerPid:", 10, tracer);
        anonymous = number_behind(line, "RssAnon:", 10, anonymous);
    }
    (void)fclose(f);
    /* pages that the program writes while copies exist are copied: its memory may be taken a second time */
    const uint64_t need = (anonymous << 11) + ROOM_LEAST;
    const uint64_t limit = most ? most : free_bytes / 2;
    if (seccomp) {
        snprintf(why, size,
                 "it runs under seccomp, which may end it for a system call made for a copy");
    } else if (tracer && tracer != (uint64_t)getpid()) {
        snprintf(why, size, "another process traces it");
    } else if (need > limit || need > free_bytes) {
        snprintf(why, size,
                 "copies of it may take %.2g GiB, of %.2g GiB that they may use (--memory)",
                 (double)need / (double)(1 << 30), (double)limit / (double)(1 << 30));
    } else {
        return memory_differs(pid, why, size);
    }
    return true;
}

static int open_pagemap(pid_t pid)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/%d/pagemap", (int)pid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

static bool read_entries(int fd, uint64_t at, uint64_t *to, size_t n)
{
    return pread(fd, to, n * sizeof *to, (off_t)(at / PAGE * sizeof *to)) ==
           (ssize_t)(n * sizeof *to);
}

static bool is_data(uint64_t begin, uint64_t end, const uint64_t *data, size_t ndata)
{
    for (size_t i = 0; i < ndata; i++) {
        if (data[i] >= begin && data[i] < end) {
            return true;
        }
    }
    return false;
}

/* The list entry of a page to touch; 0 = it is not touched
 * origin, ran  its pagemap entries in both processes */
static uint64_t touch_of(uint64_t at, const struct carm_area *area, bool data, uint64_t origin,
                         uint64_t ran)
{
    const bool had = (origin & PRESENT) != 0;
    if (!(ran & PRESENT)) {
        return 0;
    }
    if (area->writable && !area->shared && (ran & EXCLUSIVE) && !(had && (origin & EXCLUSIVE))) {
        return at | 1;
    }
    return !had || data ? at : 0;
}

int carm_memory_pages(pid_t origin, pid_t ran, const struct carm_memory *memory,
                      const uint64_t *data, size_t ndata, uint64_t **list, size_t *n,
                      struct carm_err *err)
{
    const int a = open_pagemap(origin);
    const int b = open_pagemap(ran);
    uint64_t *x = malloc((size_t)2 * CHUNK * sizeof *x);
    uint64_t *y = x ? x + CHUNK : NULL;
    size_t room = 0;
    int rc = !x               ? carm_fail(err, CARM_ENOMEM, "not enough memory")
             : a < 0 || b < 0 ? carm_fail(err, CARM_EIO, "its page table cannot be read (/proc)")
                              : 0;
    *list = NULL;
    *n = 0;
    for (size_t i = 0; i < memory->n && !rc; i++) {
        const struct carm_area *area = &memory->areas[i];
        const bool of_data = is_data(area->begin, area->end, data, ndata);
        if (area->end - area->begin > AREA_MAX) { /* reserved, as by sanitizers and by Go */
            rc = of_data
                     ? carm_fail(err, CARM_ENOTSUP, "its data lie in an area of more than 16 GiB")
                     : 0;
            continue;
        }
        for (uint64_t at = area->begin; at < area->end && !area->kernels && !rc;
             at += (uint64_t)CHUNK * PAGE) {
            const uint64_t left = (area->end - at) / PAGE;
            const size_t some = left < CHUNK ? left : CHUNK;
            if (!read_entries(a, at, x, some) || !read_entries(b, at, y, some)) {
                break;
            }
            for (size_t k = 0; k < some && !rc && *n < TOUCHED_MAX; k++) {
                const uint64_t touch = touch_of(at + k * PAGE, area, of_data, x[k], y[k]);
                rc = touch ? carm_array_grow(list, &room, *n, 1, sizeof **list, "pages", err) : 0;
                if (touch && !rc) {
                    (*list)[(*n)++] = touch;
                }
            }
        }
    }
    free(x);
    carm_fd_close(a);
    carm_fd_close(b);
    return rc;
}

bool carm_memory_present(pid_t pid, uint64_t begin, uint64_t end)
{
    uint64_t entries[512];
    const int fd = open_pagemap(pid);
    bool any = false;
    for (uint64_t at = begin; fd >= 0 && at < end && !any; at += UINT64_C(512) * PAGE) {
        const uint64_t left = (end - at) / PAGE;
        const size_t some = left < 512 ? left : 512;
        if (!read_entries(fd, at, entries, some)) {
            break;
        }
        for (size_t k = 0; k < some && !any; k++) {
            any = (entries[k] & PRESENT) != 0;
        }
    }
    carm_fd_close(fd);
    return any;
}

void carm_memory_huge(pid_t pid, const uint64_t *data, size_t ndata, uint64_t *present,
                      uint64_t *huge)
{
    char *text = NULL;
    size_t room = 0;
    bool on = false;
    FILE *f = open_of(pid, "smaps");
    *present = *huge = 0;
    while (f && getline(&text, &room, f) > 0) {
        struct carm_maps_line line;
        if (carm_maps_read(text, &line)) {
            on = is_data(line.begin, line.end, data, ndata);
        } else if (on) {
            *present += number_behind(text, "Rss:", 10, 0) << 10;
            *huge += number_behind(text, "AnonHugePages:", 10, 0) << 10;
        }
    }
    if (f) {
        (void)fclose(f);
    }
    free(text);
}
