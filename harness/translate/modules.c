/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/translate/modules.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/array.h"

enum {
    OPEN_MAX_FILES = 256, /* a process may have 1024 by default */
    SEGMENTS_MAX = 64,
    TICK_NS =
        10000000, /* ns: the kernel takes the times of files from its latest tick, 100 a second or more */
    CHUNK = 64 << 10,
    CHUNKS_MAX =
        256, /* 16 MiB of code are hashed, in 5 ms; from a larger file as much, evenly spread */
};

/* A file that was hashed, so that it is not read again. */
struct carm_module_seen {
    uint32_t number; /* number of its module */
    dev_t device;
    ino_t inode;
    off_t bytes;
    struct timespec modified;
};

void carm_modules_open(struct carm_modules *modules)
{
    memset(modules, 0, sizeof *modules);
    carm_names_open(&modules->paths);
}

void carm_modules_close(struct carm_modules *modules)
{
    for (uint32_t i = 0; i < modules->n; i++) {
        if (modules->list[i].fd >= 0) {
            (void)close(modules->list[i].fd);
        }
    }
    carm_names_close(&modules->paths);
    free(modules->list);
    free(modules->seen);
    memset(modules, 0, sizeof *modules);
}

static int add(struct carm_modules *m, uint32_t name, uint64_t code, int fd, uint32_t *number)
{
    for (uint32_t i = 0; i < m->n; i++) {
        if (m->list[i].name == name && m->list[i].code == code) {
            *number = i;
            return 1;
        }
    }
    const int rc =
        carm_array_grow(&m->list, &m->room, m->n, 1, sizeof *m->list, "names of files", NULL);
    if (!rc) {
        const bool keep = fd >= 0 && m->open < OPEN_MAX_FILES;
        m->open += keep ? 1 : 0;
        m->list[m->n] = (struct carm_module){name, code, keep ? fd : -1};
        *number = m->n++;
        return keep || fd < 0 ? 0 : 1;
    }
    return rc;
}

int carm_modules_add(struct carm_modules *modules, const char *path, size_t length, uint64_t code,
                     int fd, uint32_t *number)
{
    uint32_t name = 0;
    int rc = carm_names_add(&modules->paths, path, length, &name);
    rc = rc ? rc : add(modules, name, code, fd, number);
    if (rc && fd >= 0) {
        (void)close(fd);
    }
    return rc < 0 ? rc : 0;
}

int carm_modules_copy(struct carm_modules *to, const struct carm_modules *from, uint32_t *number)
{
    const struct carm_module *m = &from->list[*number];
    const char *path = carm_modules_path(from, *number);
    const int fd = m->fd >= 0 ? fcntl(m->fd, F_DUPFD_CLOEXEC, 0) : -1;
    return carm_modules_add(to, path, strlen(path), m->code, fd, number);
}

int carm_module_open(int directory, const char *path)
{
    struct stat s;
    const int fd = openat(directory, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd >= 0 && (fstat(fd, &s) != 0 || !S_ISREG(s.st_mode))) {
        (void)close(fd);
        errno = EACCES;
        return -1;
    }
    return fd;
}

static uint64_t hash_segment(int fd, const Elf64_Phdr *p, uint64_t hash)
{
    static _Thread_local char chunk[CHUNK];
    const uint64_t n = (p->p_filesz + CHUNK - 1) / CHUNK;
    const uint64_t step = n / CHUNKS_MAX + 1;
    for (uint64_t i = 0; i < n; i += step) {
        const uint64_t left = p->p_filesz - i * CHUNK;
        const ssize_t got = pread(fd, chunk, left < CHUNK ? (size_t)left : (size_t)CHUNK,
                                  (off_t)(p->p_offset + i * CHUNK));
        if (got <= 0) {
            break;
        }
        hash = carm_hash_bytes(hash, chunk, (size_t)got);
    }
    return hash;
}

uint64_t carm_module_code(int fd)
{
    Elf64_Ehdr h;
    Elf64_Phdr segments[SEGMENTS_MAX];
    uint64_t hash = 1;
    struct stat s;
    if (fstat(fd, &s) != 0 || pread(fd, &h, sizeof h, 0) != (ssize_t)sizeof h ||
        memcmp(h.e_ident, ELFMAG, SELFMAG) != 0 || h.e_phentsize != sizeof *segments ||
        h.e_phnum > SEGMENTS_MAX || h.e_phoff > (uint64_t)s.st_size) {
        return CARM_MODULE_UNREAD;
    }
    const size_t bytes = h.e_phnum * sizeof *segments;
    if (pread(fd, segments, bytes, (off_t)h.e_phoff) != (ssize_t)bytes) {
        return CARM_MODULE_UNREAD;
    }
    for (unsigned i = 0; i < h.e_phnum; i++) {
        const Elf64_Phdr *p = &segments[i];
        if (p->p_type == PT_LOAD && (p->p_flags & PF_X) && p->p_offset < (uint64_t)s.st_size &&
            p->p_filesz <= (uint64_t)s.st_size - p->p_offset) {
            const uint64_t place[] = {p->p_offset, p->p_filesz, p->p_vaddr};
            hash = carm_hash_bytes(hash, (const char *)place, sizeof place);
            hash = hash_segment(fd, p, hash);
        }
    }
    return hash <= CARM_MODULE_CHANGED ? hash + 2 : hash;
}

/* Inode numbers of maps and of stat differ on overlay and btrfs file systems, whose devices have no major number.
 * source: Linux, Documentation/filesystems/overlayfs.rst, "Inode properties" */
static bool has_inode(const struct stat *s, uint64_t inode)
{
    return !inode || s->st_ino == inode || major(s->st_dev) == 0;
}

static bool is_older(const struct timespec *t, uint64_t time_ns)
{
    return (uint64_t)t->tv_sec * UINT64_C(1000000000) + (uint64_t)t->tv_nsec <= time_ns;
}

/* Whether the file at a path is the mapped file. Either the inodes are equal and the file was
 * not written since the mapping; or the inode number is not reliable, and neither content,
 * attributes nor name changed since (ctime). */
static bool is_mapped(const struct stat *s, const struct carm_mapping *mapping)
{
    return has_inode(s, mapping->inode) &&
           (is_older(&s->st_ctim, mapping->time_ns) ||
            (s->st_ino == mapping->inode && is_older(&s->st_mtim, mapping->time_ns)));
}

bool carm_module_is_unchanged(const char *path, uint64_t inode, uint64_t time_ns)
{
    const struct carm_mapping before = {.inode = inode, .time_ns = time_ns - TICK_NS};
    struct stat s;
    return path[0] == '/' && stat(path, &s) == 0 && is_mapped(&s, &before);
}

/* Opens the mapped file itself, even when its path leads to another file: through /proc/PID/exe,
 * for everybody who may trace the process, or through /proc/PID/map_files, which needs
 * privileges. */
static int open_through_process(const char *path, size_t length, const struct carm_mapping *mapping,
                                struct stat *s)
{
    char link[96], target[PATH_MAX];
    int fd = -1;
    snprintf(link, sizeof link, "/proc/%d/exe", (int)mapping->pid);
    const ssize_t got = readlink(link, target, sizeof target);
    if (got >= (ssize_t)length && memcmp(target, path, length) == 0 &&
        (got == (ssize_t)length || target[length] == ' ')) {
        fd = carm_module_open(AT_FDCWD, link);
    }
    if (fd < 0) {
        snprintf(link, sizeof link, "/proc/%d/map_files/%llx-%llx", (int)mapping->pid,
                 (unsigned long long)mapping->begin, (unsigned long long)mapping->end);
        fd = carm_module_open(AT_FDCWD, link);
    }
    if (fd >= 0 && (fstat(fd, s) != 0 || !has_inode(s, mapping->inode))) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

/* code  out: the reason (CARM_MODULE_*) when there is no file
 * returns -1 when the file that was mapped cannot be opened */
static int open_by_path(const char *path, const struct carm_mapping *mapping, struct stat *s,
                        uint64_t *code)
{
    char root[64];
    int directory = mapping->root;
    if (directory < 0 && mapping->pid) {
        snprintf(root, sizeof root, "/proc/%d/root", (int)mapping->pid);
        directory = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    while (*path == '/' && directory >= 0) {
        path++;
    }
    const int fd = carm_module_open(directory >= 0 ? directory : AT_FDCWD, path);
    *code = fd < 0 && errno == EACCES ? CARM_MODULE_UNREAD : CARM_MODULE_CHANGED;
    if (directory >= 0 && directory != mapping->root) {
        (void)close(directory);
    }
    if (fd >= 0 && fstat(fd, s) == 0 && is_mapped(s, mapping)) {
        return fd;
    }
    if (fd >= 0) {
        (void)close(fd);
    }
    return -1;
}

static const struct carm_module_seen *look_up(const struct carm_modules *m, uint32_t name,
                                              const struct stat *s)
{
    for (size_t i = 0; i < m->nseen; i++) {
        const struct carm_module_seen *seen = &m->seen[i];
        if (m->list[seen->number].name == name && seen->device == s->st_dev &&
            seen->inode == s->st_ino && seen->bytes == s->st_size &&
            seen->modified.tv_sec == s->st_mtim.tv_sec &&
            seen->modified.tv_nsec == s->st_mtim.tv_nsec) {
            return seen;
        }
    }
    return NULL;
}

int carm_modules_find(struct carm_modules *modules, const char *path, size_t length,
                      const struct carm_mapping *mapping, uint32_t *number)
{
    static const char deleted[] = " (deleted)"; /* in /proc/PID/maps */
    const size_t suffix = sizeof deleted - 1;
    struct stat s;
    uint32_t name = 0;
    uint64_t code = CARM_MODULE_UNREAD;
    if (length > suffix && memcmp(path + length - suffix, deleted, suffix) == 0) {
        length -= suffix;
    }
    int rc = carm_names_add(&modules->paths, path, length, &name);
    if (rc || !length || path[0] != '/') {
        return rc ? rc : carm_modules_add(modules, path, length, CARM_MODULE_UNREAD, -1, number);
    }
    int fd = mapping->pid ? open_through_process(path, length, mapping, &s) : -1;
    if (fd < 0) {
        fd = open_by_path(carm_names_text(&modules->paths, name), mapping, &s, &code);
    }
    if (fd < 0) {
        return carm_modules_add(modules, path, length, code, -1, number);
    }
    const struct carm_module_seen *seen = look_up(modules, name, &s);
    if (seen) {
        *number = seen->number;
        (void)close(fd);
        return 0;
    }
    rc = carm_modules_add(modules, path, length, carm_module_code(fd), fd, number);
    rc = rc ? rc
            : carm_array_grow(&modules->seen, &modules->seen_room, modules->nseen, 1,
                              sizeof *modules->seen, "names of files", NULL);
    if (!rc) {
        modules->seen[modules->nseen++] =
            (struct carm_module_seen){*number, s.st_dev, s.st_ino, s.st_size, s.st_mtim};
    }
    return rc;
}
