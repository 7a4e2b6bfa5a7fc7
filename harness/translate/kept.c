/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/translate/kept.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/job.h"
#include "harness/translate/tally.h"

enum {
    NAME = 32,
    BYTES_MAX = 48 * 15, /* of a block: as many instructions (engine/cache/cache.h) */
    CODE_MAX = 16 << 10, /* CARM_BLOCK_CODE_MAX */
    COPIES_MAX = 4,      /* of a loop (engine/emit/write.c) */
};

struct header {
    char magic[8];
    uint64_t key, bytes;
    uint64_t hash; /* of the bytes, with the key as seed */
};
static const char magic[8] = "carmkept";

bool carm_kept_wanted(void)
{
    return getenv("CARM_KEEP_CODE") != NULL; // NOLINT(concurrency-mt-unsafe)
}

static uint32_t first_unit(void)
{
    return carm_stock_units(sizeof(struct carm_stock));
}

static char *data_of(const struct carm_stock *stock)
{
    return (char *)(uintptr_t)stock + (size_t)first_unit() * CARM_STOCK_UNIT;
}

/* returns the folder, or -1. make: where it is missing */
static int open_folder(bool make)
{
    char path[PATH_MAX];
    struct stat s;
    const int n = carm_user_path(path, sizeof path, "XDG_CACHE_HOME", ".cache", "translated");
    if (n < 0 || (size_t)n >= sizeof path) {
        return -1;
    }
    for (char *at = strchr(path + 1, '/'); make && at; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(path, 0700);
        *at = '/';
    }
    if (make) {
        (void)mkdir(path, 0700);
    }
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && !carm_user_owns(fd, S_IFDIR, &s)) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static bool fixes_fit(const struct carm_stock_block *b, const struct carm_stock_parts *p)
{
    const struct carm_stock_fix *f =
        (const struct carm_stock_fix *)(const void *)carm_stock_data(b, p->fixes);
    for (uint32_t i = 0; i < b->nfixes; i++) {
        const unsigned room = f[i].rare ? b->rare : b->code;
        const unsigned bytes = f[i].how == CARM_FIX_PC ? 8 : 4;
        if (f[i].how > CARM_FIX_PC || f[i].at + bytes > room) {
            return false;
        }
    }
    return true;
}

static bool links_fit(const struct carm_stock_block *b, const struct carm_stock_parts *p)
{
    const struct carm_stock_link *l =
        (const struct carm_stock_link *)(const void *)carm_stock_data(b, p->links);
    for (uint32_t i = 0; i < b->nlinks; i++) {
        if ((l[i].patch != CARM_STOCK_NONE &&
             (l[i].patch + 4 > b->code || l[i].stub == CARM_STOCK_NONE)) ||
            (l[i].stub != CARM_STOCK_NONE && l[i].stub >= b->rare) ||
            (l[i].resume != CARM_STOCK_NONE && l[i].resume >= b->code) ||
            l[i].exit >= CARM_STOCK_EXITS) {
            return false;
        }
    }
    return true;
}

/* Whether b is a valid block that fits into this number of units of memory. */
static bool fits(const struct carm_stock_block *b, uint32_t units)
{
    struct carm_stock_parts p;
    if (units < carm_stock_units(sizeof *b)) {
        return false;
    }
    carm_stock_part(b, sizeof(struct carm_tally_row), &p);
    return b->size == p.end && b->size <= units && b->bytes && b->bytes <= BYTES_MAX &&
           b->code <= CODE_MAX && b->rare <= CODE_MAX && b->inc_end <= b->code && b->copies &&
           b->copies <= COPIES_MAX && b->nrows >= (b->copies > 1 ? 2 : 1) && b->align < 64 &&
           b->align % 16 == 0 && b->place < CARM_STOCK_PLACES && fixes_fit(b, &p) &&
           links_fit(b, &p);
}

/* Enters the blocks, so that programs find them. returns false: a block is invalid */
static bool take(struct carm_stock *stock, uint64_t bytes)
{
    const uint32_t end = first_unit() + carm_stock_units(bytes);
    for (uint32_t unit = first_unit(); unit < end;) {
        struct carm_stock_block *b =
            (struct carm_stock_block *)(uintptr_t)carm_stock_at(stock, unit);
        if (!fits(b, end - unit)) {
            return false;
        }
        b->next = stock->places[b->place];
        stock->places[b->place] = unit;
        stock->blocks++;
        unit += b->size;
    }
    stock->used = end;
    return true;
}

static bool read_all(int fd, void *to, size_t n)
{
    char *at = to;
    while (n) {
        const ssize_t got = read(fd, at, n);
        if (got <= 0) {
            return false;
        }
        at += got;
        n -= (size_t)got;
    }
    return true;
}

static void name_of(uint64_t key, char name[NAME])
{
    (void)snprintf(name, NAME, "%016llx", (unsigned long long)key);
}

static bool read_file(int fd, uint64_t size, struct carm_stock *stock, uint64_t key)
{
    struct header h;
    return read_all(fd, &h, sizeof h) && memcmp(h.magic, magic, sizeof magic) == 0 &&
           h.key == key && h.bytes == size - sizeof h && h.bytes % CARM_STOCK_UNIT == 0 &&
           h.bytes <= CARM_STOCK_BYTES - (uint64_t)first_unit() * CARM_STOCK_UNIT &&
           read_all(fd, data_of(stock), h.bytes) &&
           carm_hash_bytes(key, data_of(stock), h.bytes) == h.hash && take(stock, h.bytes);
}

void carm_kept_read(struct carm_stock *stock, uint64_t key)
{
    const int folder = open_folder(false);
    char name[NAME];
    struct stat s;
    name_of(key, name);
    const int fd = folder < 0 ? -1
                              : openat(folder, name,
                                       O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && carm_user_owns(fd, S_IFREG, &s) && s.st_size > (off_t)sizeof(struct header) &&
        !read_file(fd, (uint64_t)s.st_size, stock, key)) {
        memset(stock, 0, sizeof *stock);
        stock->used = first_unit();
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    if (folder >= 0) {
        (void)close(folder);
    }
}

static bool write_all(int fd, const void *from, size_t n)
{
    const char *at = from;
    while (n) {
        const ssize_t put = write(fd, at, n);
        if (put <= 0) {
            return false;
        }
        at += put;
        n -= (size_t)put;
    }
    return true;
}

/* Removes the oldest file while all together are too large. returns whether there may be more to do */
static bool trim(int folder)
{
    const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
    char oldest[NAME_MAX + 1] = "";
    struct timespec since = {0, 0};
    int64_t sum = 0;
    const struct dirent *entry;
    while (list && (entry = readdir(list))) { // NOLINT(concurrency-mt-unsafe)
        struct stat s;
        if (fstatat(folder, entry->d_name, &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(s.st_mode)) {
            sum += s.st_size;
            if (!oldest[0] || s.st_mtim.tv_sec < since.tv_sec ||
                (s.st_mtim.tv_sec == since.tv_sec && s.st_mtim.tv_nsec < since.tv_nsec)) {
                since = s.st_mtim;
                (void)snprintf(oldest, sizeof oldest, "%s", entry->d_name);
            }
        }
    }
    if (list) {
        (void)closedir(list);
    } else if (copy >= 0) {
        (void)close(copy);
    }
    return sum > CARM_KEPT_MOST && unlinkat(folder, oldest, 0) == 0;
}

void carm_kept_write(const struct carm_stock *stock, uint64_t key)
{
    struct header h = {.key = key,
                       .bytes = (uint64_t)(stock->used - first_unit()) * CARM_STOCK_UNIT};
    char name[NAME], whole[2 * NAME];
    const int folder = open_folder(true);
    memcpy(h.magic, magic, sizeof magic);
    h.hash = carm_hash_bytes(key, data_of(stock), h.bytes);
    name_of(key, name);
    (void)snprintf(whole, sizeof whole, "%s.%d", name, (int)getpid());
    const int fd = folder < 0 ? -1
                              : openat(folder, whole,
                                       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) {
        const bool good = write_all(fd, &h, sizeof h) && write_all(fd, data_of(stock), h.bytes);
        if (close(fd) != 0 || !good || renameat(folder, whole, folder, name) != 0) {
            (void)unlinkat(folder, whole, 0);
        }
    }
    while (folder >= 0 && trim(folder)) {
    }
    if (folder >= 0) {
        (void)close(folder);
    }
}
