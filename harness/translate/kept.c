/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/translate/kept.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/job.h"
#include "base/outfile.h"
#include "harness/translate/memory_file.h"
#include "harness/translate/tally.h"

enum {
    NAME = 32,
    PAGE = 4096,
    POPULATE_READ = 22 /* Linux 5.14; older kernels bring the pages by faults */
};

bool carm_kept_wanted(void)
{
    const char *word = getenv("CARM_KEEP_CODE"); // NOLINT(concurrency-mt-unsafe)
    return !word || strcmp(word, "0") != 0;
}

/* Creates the missing folders of a path, inside a folder that this user owns: root creates none in others' homes. */
static void make_folders(const char *path)
{
    char part[PATH_MAX] = "";
    struct stat s = {.st_uid = (uid_t)-1};
    for (size_t n = 1; path[n - 1]; n++) {
        if (path[n] != '/' && path[n]) {
            continue;
        }
        memcpy(part, path, n);
        part[n] = '\0';
        if (stat(part, &s) != 0 && (s.st_uid != geteuid() || mkdir(part, 0700) != 0)) {
            return;
        }
    }
}

/* Opens the folder of kept files. make: creates it if it is missing. returns its descriptor, or -1 */
static int open_folder(bool make)
{
    char path[PATH_MAX];
    struct stat s;
    const int n = carm_user_path(path, sizeof path, "XDG_CACHE_HOME", ".cache", "translated");
    if (n < 0 || (size_t)n >= sizeof path) {
        return -1;
    }
    if (make) {
        make_folders(path);
    }
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (fd >= 0 && !carm_user_owns(fd, S_IFDIR, &s)) {
        (void)close(fd);
        return -1;
    }
    return fd;
}

static bool is_inside(const struct carm_ready *r, const struct carm_ready_part *part,
                      uint64_t bytes)
{
    return part->at >= PAGE && part->at % PAGE == 0 && part->at <= r->bytes &&
           part->bytes <= r->bytes - part->at && part->bytes == bytes;
}

static bool files_fit(const struct carm_ready *r)
{
    const struct carm_ready_file *f = carm_ready_at(r, &r->files);
    for (uint32_t i = 0; i < r->nfiles; i++) {
        if (f[i].end && (!is_inside(r, &f[i].runs, f[i].runs.bytes) ||
                         !is_inside(r, &f[i].lines, f[i].lines.bytes) ||
                         !is_inside(r, &f[i].entries, f[i].entries.bytes))) {
            return false;
        }
    }
    return true;
}

bool carm_kept_fits(const struct carm_ready *r)
{
    bool good = r->bytes >= PAGE && r->bytes % PAGE == 0 && r->bytes <= CARM_READY_BYTES &&
                r->nfiles <= CARM_TALLY_MAPS && r->counters <= CARM_TALLY_COUNTERS &&
                r->nregions <= CARM_READY_REGIONS && is_inside(r, &r->blocks, r->blocks.bytes) &&
                is_inside(r, &r->links, r->links.bytes) && is_inside(r, &r->maps, r->maps.bytes) &&
                is_inside(r, &r->hash, r->hash.bytes) &&
                is_inside(r, &r->rows, r->counters * sizeof(struct carm_tally_row)) &&
                is_inside(r, &r->tally_maps, r->nfiles * sizeof(struct carm_tally_map)) &&
                is_inside(r, &r->files, r->nfiles * sizeof(struct carm_ready_file)) &&
                (r->table.bytes == 0 || is_inside(r, &r->table, CARM_READY_TABLE));
    for (uint32_t i = 0; good && i < r->nregions; i++) {
        const struct carm_ready_region *of = &r->regions[i];
        good = is_inside(r, &of->code, of->code.bytes) &&
               is_inside(r, &of->rarely, of->rarely.bytes) &&
               is_inside(r, &of->blocks, of->blocks.bytes);
    }
    return good && files_fit(r);
}

uint64_t carm_kept_hash(const struct carm_ready *r)
{
    enum { LANES = 4, TURN = 29 }; /* four lanes: one alone would wait for each product */
    static union {
        struct carm_ready ready;
        char bytes[PAGE];
    } head;
    const uint64_t odd = 0x9e3779b97f4a7c15U;
    memcpy(&head, r, sizeof head);
    head.ready.check = 0;
    uint64_t h[LANES] = {carm_hash_bytes(r->bytes, head.bytes, sizeof head), 1, 2, 3};
    const uint64_t *word = (const uint64_t *)(const void *)r;
    for (uint64_t i = PAGE / sizeof *word; i < r->bytes / sizeof *word; i += LANES) {
        for (int k = 0; k < LANES; k++) {
            const uint64_t x = h[k] ^ word[i + (uint64_t)k];
            h[k] = (x << TURN | x >> (64 - TURN)) * odd;
        }
    }
    return carm_hash_bytes(1, (const char *)h, sizeof h);
}

static void name_of(uint64_t key, char name[NAME])
{
    (void)snprintf(name, NAME, "%016llx", (unsigned long long)key);
}

/* Maps a file's ready code. NULL: the file is incomplete */
static struct carm_ready *map(int fd, const struct stat *s, uint64_t key)
{
    const size_t bytes = (size_t)s->st_size;
    if (s->st_size < PAGE || s->st_size > CARM_READY_BYTES) {
        return NULL;
    }
    struct carm_ready *r = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
    if (r == MAP_FAILED) {
        return NULL;
    }
    if (r->bytes == bytes && r->key == key && carm_kept_fits(r) && r->check == carm_kept_hash(r)) {
        return r;
    }
    (void)munmap(r, bytes);
    return NULL;
}

/* A descriptor of the file whose code programs may execute: a file system mounted noexec refuses that, so the file is
 * copied into memory. returns fd, or the copy's; -1: no memory */
static int executable(int fd, const struct carm_ready *r)
{
    struct statvfs s;
    if (fstatvfs(fd, &s) != 0 || !(s.f_flag & ST_NOEXEC)) {
        return fd;
    }
    int copy = carm_memory_file("carm-ready", r->bytes);
    if (copy >= 0 && carm_outfile_write_all(copy, r, r->bytes) != 0) {
        (void)close(copy);
        copy = -1;
    }
    (void)close(fd);
    return copy;
}

struct carm_ready *carm_kept_read(uint64_t key, int *fd)
{
    const int folder = open_folder(false);
    char name[NAME];
    struct stat s;
    name_of(key, name);
    *fd = folder < 0
              ? -1
              : openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    struct carm_ready *r = *fd >= 0 && carm_user_owns(*fd, S_IFREG, &s) ? map(*fd, &s, key) : NULL;
    if (!r && *fd >= 0) {
        (void)close(*fd);
        *fd = -1;
    } else if (r) {
        *fd = executable(*fd, r);
        if (*fd < 0) {
            (void)munmap(r, r->bytes);
            r = NULL;
        }
    }
    if (folder >= 0) {
        (void)close(folder);
    }
    return r;
}

/* Removes the oldest file if all files together are too large, or too many. returns whether to call it again */
static bool trim(int folder)
{
    const int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *list = copy >= 0 ? fdopendir(copy) : NULL;
    char oldest[NAME_MAX + 1] = "";
    struct timespec since = {0, 0};
    int64_t sum = 0;
    int n = 0;
    const struct dirent *entry;
    while (list && (entry = readdir(list))) { // NOLINT(concurrency-mt-unsafe)
        struct stat s;
        if (fstatat(folder, entry->d_name, &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(s.st_mode)) {
            sum += s.st_size;
            n++;
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
    return (sum > CARM_KEPT_MOST || n > CARM_KEPT_FILES) && unlinkat(folder, oldest, 0) == 0;
}

static void close_folder(int folder)
{
    while (folder >= 0 && trim(folder)) {
    }
    if (folder >= 0) {
        (void)close(folder);
    }
}

void carm_kept_write(struct carm_ready *ready, uint64_t key)
{
    char name[NAME], whole[2 * NAME];
    const int folder = open_folder(true);
    (void)madvise(ready, ready->bytes, POPULATE_READ);
    ready->key = key;
    ready->check = carm_kept_hash(ready);
    name_of(key, name);
    (void)snprintf(whole, sizeof whole, "%s.%d", name, (int)getpid());
    const int fd = folder < 0 ? -1
                              : openat(folder, whole,
                                       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) {
        const bool good = carm_outfile_write_all(fd, ready, ready->bytes) == 0;
        if (close(fd) != 0 || !good || renameat(folder, whole, folder, name) != 0) {
            (void)unlinkat(folder, whole, 0);
        }
    }
    close_folder(folder);
}
