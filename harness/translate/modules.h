/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files whose code a program executes. A path alone does not name a file: an autotuner writes one binary after
 * another to a path, a build replaces a library while it is used, and a container has other files at the same paths.
 * So a module is a path and a hash of the code in the file, which two runs of a script that compiles have alike. */
#ifndef CARM_HARNESS_TRANSLATE_MODULES_H
#define CARM_HARNESS_TRANSLATE_MODULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "base/hash.h"

/* Codes of files that have no hash. */
#define CARM_MODULE_UNREAD UINT64_C(0) /* no ELF file, or not readable: the path alone names it */
#define CARM_MODULE_CHANGED \
    UINT64_C(1) /* another file has its path by now, and it could not be read before */

struct carm_module {
    uint32_t name; /* number of its path */
    uint64_t code; /* a hash of its executable segments, or CARM_MODULE_* */
    int fd;        /* of the file; -1 = to be opened by its path */
};

struct carm_modules {
    struct carm_names paths; /* as the program had them; "" = code of no known file */
    struct carm_module *list;
    uint32_t n;
    size_t room;
    struct carm_module_seen *seen; /* files that were hashed */
    size_t nseen, seen_room;
    uint32_t open; /* files */
};

void carm_modules_open(struct carm_modules *modules);
void carm_modules_close(struct carm_modules *modules);

/* The number of a module, which is new when it equals the old n.
 * fd  of its file; taken; -1 = none
 * returns 0, -CARM_ENOMEM, -CARM_EFORMAT */
int carm_modules_add(struct carm_modules *modules, const char *path, size_t length, uint64_t code,
                     int fd, uint32_t *number);

/* A mapped file, as /proc/PID/maps or the kernel's record of its mapping have it. */
struct carm_mapping {
    pid_t pid; /* 0 = unknown */
    int root;  /* directory that paths of the program begin at; -1 = carm's own */
    uint64_t begin, end, inode;
    uint64_t time_ns; /* CLOCK_REALTIME, when it was mapped */
};

/* Finds the file of a mapping - through /proc while the process lives, else at its path, if that file is as old as the
 * mapping - and adds its module. A file that was seen before is not read again.
 * returns 0, -CARM_ENOMEM, -CARM_EFORMAT */
int carm_modules_find(struct carm_modules *modules, const char *path, size_t length,
                      const struct carm_mapping *mapping, uint32_t *number);

/* Adds those of another one, and opens their files again.
 * number  of a module in from, out: in to
 * returns 0, -CARM_ENOMEM, -CARM_EFORMAT */
int carm_modules_copy(struct carm_modules *to, const struct carm_modules *from, uint32_t *number);

/* A regular file; a device, or a pipe that nobody writes to, is none. returns -1 when there is none */
int carm_module_open(int directory, const char *path);

/* returns a hash of an ELF file's executable segments, or CARM_MODULE_UNREAD */
uint64_t carm_module_code(int fd);

static inline const char *carm_modules_path(const struct carm_modules *modules, uint32_t number)
{
    return carm_names_text(&modules->paths, modules->list[number].name);
}

#endif
