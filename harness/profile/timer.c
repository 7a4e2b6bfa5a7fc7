/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/profile/timer.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/hash.h"
#include "base/job.h"
#include "base/outfile.h"
#include "harness/translate/memory_file.h"

/* preload.asm of the build: the shared object of preload.c */
extern const uint8_t carm_preload_object[];
extern const uint8_t carm_preload_object_end[];

/* A real-time signal that no C library uses: glibc takes 32 and 33, musl 32 to 34 (signal(7),
 * musl src/internal/pthread_impl.h). */
static const int sampling_signal = 62;

enum { PATIENCE = 20 }; /* readings after which a slot that a killed process left open is skipped */

struct carm_timer {
    int library, file;
    struct carm_slots *slots;
    size_t bytes;
    uint64_t tail; /* slots that were read; a copy, since the program can overwrite the ring's
                    * tail */
    int waited;
    char **environment; /* the first ADDED entries are added by carm */
};

enum { ADDED = 3 };

static size_t library_bytes(void)
{
    return (size_t)((uintptr_t)carm_preload_object_end - (uintptr_t)carm_preload_object);
}

static bool write_library(int fd)
{
    const size_t n = library_bytes();
    return pwrite(fd, carm_preload_object, n, 0) == (ssize_t)n;
}

/* Whether the library is there, in an executable file of this user that no other user may write. */
static bool is_library(const char *path)
{
    struct stat s;
    const size_t n = library_bytes();
    const int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    bool good = fd >= 0 && carm_user_owns(fd, S_IFREG, &s) && (uint64_t)s.st_size == n;
    void *at = good ? mmap(NULL, n, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) : MAP_FAILED;
    good = at != MAP_FAILED && memcmp(at, carm_preload_object, n) == 0;
    if (at != MAP_FAILED) {
        munmap(at, n);
    }
    carm_fd_close(fd);
    return good;
}

/* Puts the library into the user's cache, where a process that outlives carm still finds it: a file below carm's
 * /proc/PID would be gone, or belong to a later process with this number.
 * returns false: no such folder, or it is unusable */
static bool keep_library(char path[PATH_MAX])
{
    char name[48];
    const uint64_t hash = carm_hash_bytes(0, (const char *)carm_preload_object, library_bytes());
    snprintf(name, sizeof name, CARM_TIMER_FILE "%016" PRIx64 ".so", hash);
    const int length = carm_user_path(path, PATH_MAX, "XDG_CACHE_HOME", ".cache", name);
    if (length < 0 || length >= PATH_MAX ||
        strpbrk(path, ": ")) { /* colon and blank separate paths of LD_PRELOAD */
        return false;
    }
    return is_library(path) ||
           (carm_outfile_put(path, carm_preload_object, library_bytes(), NULL) == 0 &&
            is_library(path));
}

/* "name=old<separator>more", or "name=more" */
static char *joined(const char *name, const char *separator, const char *more)
{
    char *text = NULL;
    const char *old = getenv(name);
    const bool has = old && *old;
    return asprintf(&text, "%s=%s%s%s", name, has ? old : "", has ? separator : "", more) < 0
               ? NULL
               : text;
}

static bool is_name(const char *word, const char *name)
{
    const size_t n = strlen(name);
    return strncmp(word, name, n) == 0 && word[n] == '=';
}

/* ASan's library refuses to be loaded after another library. Here the order is harmless, so ASan's
 * check is switched off. */
static bool make_environment(struct carm_timer *t)
{
    char path[PATH_MAX];
    size_t n = 0;
    while (environ && environ[n]) {
        n++;
    }
    t->environment = calloc(n + ADDED + 1, sizeof *t->environment);
    if (!t->environment) {
        return false;
    }
    if (!keep_library(path)) {
        snprintf(path, sizeof path, "/proc/%ld/fd/%d", (long)getpid(), t->library);
    }
    t->environment[0] = joined("LD_PRELOAD", ":", path);
    snprintf(path, sizeof path, CARM_SAMPLE_VARIABLE "=/proc/%ld/fd/%d", (long)getpid(), t->file);
    t->environment[1] = strdup(path);
    t->environment[2] = joined("ASAN_OPTIONS", ":", "verify_asan_link_order=0");
    size_t used = ADDED;
    for (size_t i = 0; i < n; i++) {
        if (!is_name(environ[i], "LD_PRELOAD") && !is_name(environ[i], CARM_SAMPLE_VARIABLE) &&
            !is_name(environ[i], "ASAN_OPTIONS")) {
            t->environment[used++] = environ[i];
        }
    }
    return t->environment[0] && t->environment[1] && t->environment[2];
}

int carm_timer_open(struct carm_timer **out, unsigned hz, struct carm_err *err)
{
    struct carm_timer *t = calloc(1, sizeof *t);
    if (!t) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for samples");
    }
    t->bytes = sizeof *t->slots + (size_t)CARM_SLOTS * sizeof *t->slots->slots;
    t->library = carm_memory_file("carm-timer.so", 0);
    t->file = carm_memory_file("carm-samples", t->bytes);
    void *at = t->file < 0 ? MAP_FAILED
                           : mmap(NULL, t->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, t->file, 0);
    t->slots = at == MAP_FAILED ? NULL : at;
    if (t->library < 0 || !t->slots || !write_library(t->library)) {
        const int code = errno;
        carm_timer_close(t);
        return carm_fail(err, CARM_ENOTSUP, "cannot make a file in memory: %s", strerror(code));
    }
    t->slots->version = CARM_SLOTS_VERSION;
    t->slots->n = CARM_SLOTS;
    t->slots->sig = (uint32_t)sampling_signal;
    t->slots->period_ns = 1000000000U / hz;
    if (!make_environment(t)) {
        carm_timer_close(t);
        return carm_fail(err, CARM_ENOMEM, "not enough memory for samples");
    }
    *out = t;
    return 0;
}

void carm_timer_close(struct carm_timer *t)
{
    if (!t) {
        return;
    }
    for (int i = 0; t->environment && i < ADDED; i++) {
        free(t->environment[i]);
    }
    free(t->environment);
    if (t->slots) {
        munmap(t->slots, t->bytes);
    }
    carm_fd_close(t->library);
    carm_fd_close(t->file);
    free(t);
}

char *const *carm_timer_environment(const struct carm_timer *t)
{
    return t->environment;
}

const struct carm_slots *carm_timer_slots(const struct carm_timer *t)
{
    return t->slots;
}

/* Copies a slot, which the program may overwrite meanwhile. */
static void take_slot(const struct carm_slot *shared,
                      void (*take)(void *arg, const struct carm_record *record), void *arg)
{
    struct carm_slot copy;
    memcpy(&copy, shared, sizeof copy);
    const struct carm_slot *slot = &copy;
    const struct carm_record record = {.kind = (enum carm_record_kind)slot->kind,
                                       .pid = slot->pid,
                                       .tid = slot->tid,
                                       .weight = slot->weight,
                                       .cpu = slot->cpu,
                                       .time = slot->time,
                                       .at = slot->at,
                                       .end = slot->end,
                                       .offset = slot->offset,
                                       .inode = slot->inode,
                                       .path = slot->path,
                                       .path_room = CARM_SLOT_PATH};
    take(arg, &record);
}

void carm_timer_read(struct carm_timer *t, bool last,
                     void (*take)(void *arg, const struct carm_record *record), void *arg)
{
    struct carm_slots *s = t->slots;
    const uint64_t head = __atomic_load_n(&s->head, __ATOMIC_ACQUIRE);
    for (unsigned i = 0; i < CARM_SLOTS && t->tail < head; i++) { /* the ring has CARM_SLOTS
                                                                   * slots */
        const struct carm_slot *slot = &s->slots[t->tail & (CARM_SLOTS - 1)];
        const bool ready = __atomic_load_n(&slot->ready, __ATOMIC_ACQUIRE) == t->tail + 1;
        if (!ready && !last && ++t->waited < PATIENCE) {
            return;
        }
        t->waited = 0;
        if (ready) {
            take_slot(slot, take, arg);
        }
        __atomic_store_n(&s->tail, ++t->tail, __ATOMIC_RELEASE);
    }
}
