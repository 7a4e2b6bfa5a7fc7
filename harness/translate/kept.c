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
#include "base/outfile.h"
#include "harness/translate/tally.h"

enum { NAME = 32, PAGE = 4096, CHUNK = 128 << 10 };

struct header {
    char magic[8];
    uint64_t key, bytes;
    uint64_t hash; /* of the bytes, with the key as seed */
};
static const char magic[8] = "carmkep2";

enum carm_keep carm_kept_wanted(void)
{
    const char *word = getenv("CARM_KEEP_CODE"); // NOLINT(concurrency-mt-unsafe)
    return !word                    ? CARM_KEEP_COUNTED_AGAIN
           : strcmp(word, "0") == 0 ? CARM_KEEP_NONE
                                    : CARM_KEEP_ALL;
}

/* Makes the folders of a path that are missing, inside one of this user's own: root makes none in the home of others. */
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

/* returns the folder, or -1. make: where it is missing */
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

/* Whether all parts are within the file. The engine looks at the tables of its cache (cache.c). */
static bool fits(const struct carm_ready *r, uint64_t bytes)
{
    bool good = bytes >= sizeof *r && r->bytes == bytes && r->nfiles <= CARM_TALLY_MAPS &&
                r->counters <= CARM_TALLY_COUNTERS && r->nregions <= CARM_READY_REGIONS &&
                is_inside(r, &r->blocks, r->blocks.bytes) &&
                is_inside(r, &r->links, r->links.bytes) && is_inside(r, &r->maps, r->maps.bytes) &&
                is_inside(r, &r->hash, r->hash.bytes) &&
                is_inside(r, &r->rows, r->counters * sizeof(struct carm_tally_row)) &&
                is_inside(r, &r->tally_maps, r->nfiles * sizeof(struct carm_tally_map)) &&
                is_inside(r, &r->files, r->nfiles * sizeof(struct carm_ready_file));
    for (uint32_t i = 0; good && i < r->nregions; i++) {
        const struct carm_ready_region *of = &r->regions[i];
        good = is_inside(r, &of->code, of->code.bytes) &&
               is_inside(r, &of->rarely, of->rarely.bytes) &&
               is_inside(r, &of->blocks, of->blocks.bytes);
    }
    return good && files_fit(r);
}

/* Copies n bytes between the files' positions. A pass through a small buffer takes a third of the time that reading
 * into the memory file's pages takes, each of which would fault.
 * hash  in: its seed; out: of the bytes */
static bool copy(int from, int to, uint64_t n, uint64_t *hash)
{
    static char chunk[CHUNK];
    while (n) {
        const size_t want = n < sizeof chunk ? (size_t)n : sizeof chunk;
        size_t got = 0;
        while (got < want) {
            const ssize_t some = read(from, chunk + got, want - got);
            if (some <= 0) {
                return false;
            }
            got += (size_t)some;
        }
        *hash = carm_hash_bytes(*hash, chunk, want);
        if (carm_outfile_write_all(to, chunk, want)) {
            return false;
        }
        n -= want;
    }
    return true;
}

static void name_of(uint64_t key, char name[NAME])
{
    (void)snprintf(name, NAME, "%016llx", (unsigned long long)key);
}

static bool read_file(int fd, uint64_t size, struct carm_ready *ready, int memory, uint64_t key)
{
    struct header h;
    uint64_t hash = key;
    return read(fd, &h, sizeof h) == (ssize_t)sizeof h &&
           memcmp(h.magic, magic, sizeof magic) == 0 && h.key == key &&
           h.bytes == size - sizeof h && h.bytes % PAGE == 0 && h.bytes <= CARM_READY_BYTES &&
           copy(fd, memory, h.bytes, &hash) && hash == h.hash && fits(ready, h.bytes);
}

bool carm_kept_read(struct carm_ready *ready, int memory, uint64_t key)
{
    const int folder = open_folder(false);
    char name[NAME];
    struct stat s;
    name_of(key, name);
    const int fd = folder < 0 ? -1
                              : openat(folder, name,
                                       O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    const bool known = fd >= 0 && carm_user_owns(fd, S_IFREG, &s);
    if (known && s.st_size > (off_t)sizeof(struct header) &&
        !read_file(fd, (uint64_t)s.st_size, ready, memory, key)) {
        ready->bytes = 0;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    if (folder >= 0) {
        (void)close(folder);
    }
    return known;
}

/* Removes the oldest file while all together are too large, or too many. returns whether there may be more to do */
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

void carm_kept_mark(uint64_t key)
{
    const int folder = open_folder(true);
    char name[NAME];
    name_of(key, name);
    const int fd = folder < 0 ? -1
                              : openat(folder, name,
                                       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) {
        (void)close(fd);
    }
    close_folder(folder);
}

void carm_kept_write(const struct carm_ready *ready, uint64_t key)
{
    struct header h = {.key = key, .bytes = ready->bytes};
    char name[NAME], whole[2 * NAME];
    const int folder = open_folder(true);
    memcpy(h.magic, magic, sizeof magic);
    h.hash = key;
    for (uint64_t at = 0; at < h.bytes; at += CHUNK) {
        const uint64_t n = h.bytes - at < CHUNK ? h.bytes - at : CHUNK;
        h.hash = carm_hash_bytes(h.hash, (const char *)ready + at, n);
    }
    name_of(key, name);
    (void)snprintf(whole, sizeof whole, "%s.%d", name, (int)getpid());
    const int fd = folder < 0 ? -1
                              : openat(folder, whole,
                                       O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0) {
        const bool good = carm_outfile_write_all(fd, &h, sizeof h) == 0 &&
                          carm_outfile_write_all(fd, ready, h.bytes) == 0;
        if (close(fd) != 0 || !good || renameat(folder, whole, folder, name) != 0) {
            (void)unlinkat(folder, whole, 0);
        }
    }
    close_folder(folder);
}
