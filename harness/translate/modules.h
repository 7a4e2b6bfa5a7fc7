/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files whose code a program executes. A path alone does not name a file: an autotuner writes
 * one binary after another to a path, a build replaces a library while it is used, and a
 * container has other files at the same paths. So a module is a path and a hash of the file's
 * code. Two runs of a script that compiles get equal hashes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/hash.h"

/* Codes of files that have no hash. */
/* no ELF file, or not readable: only the path identifies the module */
#define CARM_MODULE_UNREAD UINT64_C(0)
/* the path leads to another file by now, and the mapped file was never read */
#define CARM_MODULE_CHANGED UINT64_C(1)

struct carm_module {
    uint32_t name; /* number of the module's path */
    uint64_t code; /* a hash of its executable segments, or CARM_MODULE_* */
    int fd;        /* descriptor of the file; -1 = open by path */
};

struct carm_modules {
    struct carm_names paths; /* paths as the program sees them; "" = code of no known file */
    struct carm_module *list;
    uint32_t n;
    size_t room;
    struct carm_module_seen *seen; /* files that were hashed */
    size_t nseen, seen_room;
    uint32_t open; /* files */
};

void carm_modules_open(struct carm_modules *modules);
void carm_modules_close(struct carm_modules *modules);

/* Finds or adds a module. The module is new if its number equals the former n.
 * fd  of its file; taken; -1 = none
 * returns 0, -CARM_ENOMEM, -CARM_EFORMAT */
int carm_modules_add(struct carm_modules *modules, const char *path, size_t length, uint64_t code,
                     int fd, uint32_t *number);

/* A mapped file, from a line of /proc/PID/maps or the kernel's record of the mapping. */
struct carm_mapping {
    pid_t pid; /* 0 = unknown */
    int root;  /* directory that paths of the program begin at; -1 = carm's own */
    uint64_t begin, end, inode;
    uint64_t time_ns; /* CLOCK_REALTIME, when it was mapped */
};

/* Finds the file of a mapping and adds its module. While the process lives, /proc leads to the
 * file; later, its path, if the file there is not newer than the mapping. A file is read once.
 * returns 0, -CARM_ENOMEM, -CARM_EFORMAT */
int carm_modules_find(struct carm_modules *modules, const char *path, size_t length,
                      const struct carm_mapping *mapping, uint32_t *number);

/* Adds a module of another set, and opens its file again.
 * number  in: of the module in `from`; out: in `to`
 * returns 0, -CARM_ENOMEM, -CARM_EFORMAT */
int carm_modules_copy(struct carm_modules *to, const struct carm_modules *from, uint32_t *number);

/* Whether the file at a path is the mapped file, unchanged since it was mapped. */
bool carm_module_is_unchanged(const char *path, uint64_t inode, uint64_t time_ns);
/* Opens a regular file. returns -1 for a missing file, and for devices and pipes, whose opening
 * may block */
int carm_module_open(int directory, const char *path);

/* returns a hash of an ELF file's executable segments, or CARM_MODULE_UNREAD */
uint64_t carm_module_code(int fd);

static inline const char *carm_modules_path(const struct carm_modules *modules, uint32_t number)
{
    return carm_names_text(&modules->paths, modules->list[number].name);
}
