/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/translate/stock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/translate/kept.h"
#include "harness/translate/layout.h"
#include "harness/translate/memory_file.h"
#include "harness/translate/modules.h"
#include "harness/translate/tally.h"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010 /* Linux 5.1; glibc 2.31 names it */
#endif

enum {
    PROGRAMS = 128,
    PAGE = 4096,
    PART = 8, /* of a program's blocks: so many new ones, and its code on disk is made again */
    READY_MOST = 512 << 20, /* bytes: of cc1 30 MB, of a short program 1 */
    AHEAD = 2000,           /* new blocks: the builder works beside a program whose code is kept */
};
enum { WORTH = 64 }; /* new blocks: the builder takes 1 ms to begin, 400 blocks' time */
static const uint64_t code_most = UINT64_C(1) << 30; /* of one mapping */

/* A program that was executed. */
struct program {
    uint32_t file; /* carm_sums_file */
    bool wanted;   /* its ready code is to be made ... */
    bool tried;    /* ... or was */
    bool loaded;   /* from disk */
    bool known;    /* it was counted before */
    int fd;        /* of the ready code; -1 = none */
    uint64_t key;  /* carm_sums_key */
    const struct carm_ready *ready;
};

struct carm_stock_keeper {
    int fd;
    struct carm_stock *stock;
    pid_t builder;          /* or maker of ready code; -1 = none */
    enum carm_keep keeps;   /* ready code on disk */
    bool ahead;             /* code of a program here will be kept */
    uint64_t seed;          /* of the keys there */
    struct program *making; /* NULL = none */
    struct program programs[PROGRAMS];
    int n;
    uint32_t given; /* ready code to programs */
    const struct carm_cpu_view *cpu;
};

/* Forbids new writable mappings: carm and its builder keep theirs. */
static bool seal(int fd)
{
    return fcntl(fd, F_ADD_SEALS, F_SEAL_FUTURE_WRITE | F_SEAL_GROW | F_SEAL_SEAL) == 0;
}

struct carm_stock_keeper *carm_stock_open(const struct carm_cpu_view *cpu)
{
    struct carm_stock_keeper *keeper = calloc(1, sizeof *keeper);
    if (!keeper) {
        return NULL;
    }
    keeper->builder = -1;
    keeper->cpu = cpu;
    keeper->stock = MAP_FAILED;
    keeper->fd = carm_memory_file("carm-stock", CARM_STOCK_BYTES);
    if (keeper->fd >= 0) {
        keeper->stock =
            mmap(NULL, CARM_STOCK_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, keeper->fd, 0);
    }
    if (keeper->stock == MAP_FAILED || !seal(keeper->fd)) {
        carm_stock_close(keeper);
        return NULL;
    }
    (void)madvise(keeper->stock, CARM_STOCK_BYTES, MADV_DONTDUMP);
    keeper->stock->used = carm_stock_units(sizeof *keeper->stock);
    return keeper;
}

int carm_stock_fd(const struct carm_stock_keeper *keeper)
{
    return keeper ? keeper->fd : -1;
}

static void drop(struct program *p)
{
    if (p->ready) {
        (void)munmap((void *)(uintptr_t)p->ready, CARM_READY_BYTES);
    }
    if (p->fd >= 0) {
        (void)close(p->fd);
    }
    p->ready = NULL;
    p->fd = -1;
}

void carm_stock_wait(struct carm_stock_keeper *keeper)
{
    if (keeper && keeper->builder > 0) {
        while (waitpid(keeper->builder, NULL, 0) < 0 && errno == EINTR) {
        }
        (void)carm_stock_reaped(keeper, keeper->builder);
    }
}

void carm_stock_close(struct carm_stock_keeper *keeper)
{
    if (!keeper) {
        return;
    }
    if (keeper->builder > 0) {
        (void)kill(keeper->builder, SIGKILL);
    }
    carm_stock_wait(keeper);
    for (int i = 0; i < keeper->n; i++) {
        drop(&keeper->programs[i]);
    }
    if (keeper->stock != MAP_FAILED) {
        (void)munmap(keeper->stock, CARM_STOCK_BYTES);
    }
    if (keeper->fd >= 0) {
        (void)close(keeper->fd);
    }
    free(keeper);
}

bool carm_stock_reaped(struct carm_stock_keeper *keeper, pid_t pid)
{
    if (!keeper || pid != keeper->builder) {
        return false;
    }
    keeper->builder = -1;
    if (keeper->making && !keeper->making->ready->bytes) { /* it has failed */
        drop(keeper->making);
    }
    keeper->making = NULL;
    return true;
}

struct building {
    struct carm_stock *stock;
    void (*build)(struct carm_stock *to, struct carm_stock_job *job);
};

static bool map_at(uint64_t at, uint64_t bytes, int flags, int fd)
{
    return mmap((void *)(uintptr_t)at, bytes, PROT_READ | PROT_WRITE,
                MAP_PRIVATE | MAP_NORESERVE | MAP_FIXED_NOREPLACE | flags, fd,
                0) == (void *)(uintptr_t)at;
}

/* The engine as in a counted program, with counters that are not read. */
static bool load(const struct carm_stock_keeper *keeper, const struct carm_engine *image)
{
    bool good = map_at(image->at, image->bytes, 0, image->fd) &&
                map_at(CARM_TALLY_AT, CARM_TALLY_SLOTS_AT, MAP_ANONYMOUS, -1);
    if (good) { /* tzcnt of a CPU without it is another instruction */
        ((struct carm_boot *)(uintptr_t)image->boot)->cpu = *keeper->cpu;
    }
    for (int i = 0; i < CARM_IMAGE_CODES && good; i++) {
        const uint64_t begin = image->code[i].begin;
        good = mprotect((void *)(uintptr_t)begin, image->code[i].end - begin,
                        PROT_READ | PROT_EXEC) == 0;
    }
    return good;
}

/* The file may be another one than the program's: no program then finds its code. */
static void build_code(void *arg, const struct carm_sums_code *code)
{
    const struct building *b = arg;
    struct stat s;
    const int fd = carm_module_open(code->root, code->path);
    const uint64_t size = fd >= 0 && fstat(fd, &s) == 0 ? (uint64_t)s.st_size : 0;
    if (code->offset < size && code->offset % 4096 == 0) {
        uint64_t bytes = size - code->offset < code->bytes ? size - code->offset : code->bytes;
        bytes = bytes < code_most ? bytes : code_most;
        void *at = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, (off_t)code->offset);
        struct carm_stock_job job = {.begin = (uint64_t)(uintptr_t)at,
                                     .end = (uint64_t)(uintptr_t)at + bytes,
                                     .offsets = code->offsets,
                                     .n = code->n};
        if (at != MAP_FAILED) {
            b->build(b->stock, &job);
            (void)munmap(at, bytes);
        }
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

/* In a forked child. returns false: it cannot work */
static bool begin_work(const struct carm_stock_keeper *keeper, pid_t parent,
                       const struct carm_engine *image)
{
    static const int ends[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGCHLD};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        (void)signal(ends[i], SIG_DFL);
    }
    return prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() == parent && load(keeper, image);
}

static _Noreturn void be_builder(const struct carm_stock_keeper *keeper, pid_t parent,
                                 const struct carm_engine *image, struct carm_sums *sums, bool all)
{
    struct building b = {.stock = keeper->stock};
    if (!begin_work(keeper, parent, image)) {
        _exit(1);
    }
    const uint64_t at = image->build;
    memcpy(&b.build, &at, sizeof b.build);
    carm_sums_codes(sums, all, build_code, &b);
    _exit(0);
}

/* Maps a file where a program had it. returns false: not there, or other memory is there */
static bool map_code(int root, const struct carm_tally_map *map)
{
    struct stat s;
    const uint64_t bytes = map->end - map->begin;
    if (map->path[0] != '/' || map->end <= map->begin || bytes > code_most || map->begin % PAGE ||
        map->end % PAGE || map->offset % PAGE || map->end >> 47) {
        return false;
    }
    const int fd = carm_module_open(root, map->path + (root == AT_FDCWD ? 0 : 1));
    const bool fits = fd >= 0 && fstat(fd, &s) == 0 && map->offset < (uint64_t)s.st_size &&
                      (uint64_t)s.st_size - map->offset > bytes - PAGE;
    void *want = (void *)(uintptr_t)map->begin;
    void *got = !fits ? MAP_FAILED
                      : mmap(want, bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED_NOREPLACE, fd,
                             (off_t)map->offset);
    if (fd >= 0) {
        (void)close(fd);
    }
    return got == want;
}

static _Noreturn void be_maker(const struct carm_stock_keeper *keeper, pid_t parent,
                               const struct carm_engine *image, struct carm_sums *sums)
{
    struct carm_sums_executed of;
    void (*make)(struct carm_ready_job * job);
    if (!begin_work(keeper, parent, image) ||
        !carm_sums_executed(sums, keeper->making->file, &of)) {
        _exit(1);
    }
    for (uint32_t i = 0; i < of.nmaps; i++) {
        struct carm_tally_map *map = &of.maps[i];
        map->path[sizeof map->path - 1] = '\0';
        map->time_ns = 0; /* the program notes when it has mapped the file */
        map->begin = map_code(of.root, map) ? map->begin : 0;
    }
    struct carm_ready_job job = {.stock = keeper->stock,
                                 .maps = of.maps,
                                 .at = of.at,
                                 .nfiles = of.nmaps,
                                 .n = of.n,
                                 .to = (struct carm_ready *)(uintptr_t)keeper->making->ready};
    memcpy(&make, &image->ready, sizeof make);
    make(&job);
    _exit(0);
}

/* Memory for ready code, with what is kept on disk under this key; 0 = nothing.
 * known  out: as of carm_kept_read
 * returns false: no memory */
static bool open_ready(struct program *p, uint64_t key, bool *known)
{
    p->fd = carm_memory_file("carm-ready", CARM_READY_BYTES);
    void *at = p->fd < 0 ? MAP_FAILED
                         : mmap(NULL, CARM_READY_BYTES, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_NORESERVE, p->fd, 0);
    p->ready = at == MAP_FAILED ? NULL : at;
    if (p->ready && key) {
        *known = carm_kept_read(at, p->fd, key);
    }
    if (!p->ready || !seal(p->fd)) {
        drop(p);
        return false;
    }
    (void)madvise(at, CARM_READY_BYTES, MADV_DONTDUMP);
    return true;
}

static void make_ready(struct carm_stock_keeper *keeper, const struct carm_engine *image,
                       struct carm_sums *sums, struct program *p)
{
    const pid_t parent = getpid();
    p->wanted = false;
    if (!open_ready(p, 0, NULL)) {
        return;
    }
    keeper->making = p;
    keeper->builder = fork();
    if (keeper->builder == 0) {
        be_maker(keeper, parent, image, sums);
    }
    if (keeper->builder < 0) {
        keeper->making = NULL;
        drop(p);
    }
}

void carm_stock_go_on(struct carm_stock_keeper *keeper, const struct carm_engine *image,
                      struct carm_sums *sums)
{
    for (int i = 0; keeper && keeper->builder <= 0 && i < keeper->n; i++) {
        if (keeper->programs[i].wanted) {
            make_ready(keeper, image, sums, &keeper->programs[i]);
        }
    }
}

/* Whether the memory of all ready code may grow. */
static bool has_room(const struct carm_stock_keeper *keeper)
{
    uint64_t bytes = 0;
    for (int i = 0; i < keeper->n; i++) {
        const struct program *p = &keeper->programs[i];
        bytes += p->ready && p != keeper->making ? p->ready->bytes : 0;
    }
    return bytes < READY_MOST;
}

static void load_ready(struct carm_stock_keeper *keeper, struct program *p)
{
    if (!keeper->keeps || !p->key || !has_room(keeper) ||
        !open_ready(p, p->key ^ keeper->seed, &p->known)) {
        return;
    }
    p->known |= keeper->keeps == CARM_KEEP_ALL;
    p->loaded = p->tried = p->ready->bytes > 0;
    keeper->ahead |= p->known && !p->loaded;
    if (!p->loaded) {
        drop(p);
    }
}

int carm_stock_ready(struct carm_stock_keeper *keeper, const struct carm_engine *image,
                     struct carm_sums *sums, bool wait, uint64_t *bytes)
{
    const uint32_t file = carm_sums_file(sums);
    int i = 0;
    *bytes = 0;
    while (keeper && i < keeper->n && keeper->programs[i].file != file) {
        i++;
    }
    if (!keeper || !file || i == PROGRAMS) {
        return -1;
    }
    struct program *p = &keeper->programs[i];
    if (i == keeper->n) {
        keeper->n++;
        *p = (struct program){.file = file, .fd = -1, .key = carm_sums_key(sums)};
        load_ready(keeper, p);
        if (!p->ready) {
            return -1;
        }
    }
    p->wanted |= !p->tried && has_room(keeper);
    p->tried = true;
    if (wait) {
        carm_stock_go_on(keeper, image, sums);
        carm_stock_wait(keeper);
    }
    if (p == keeper->making || !p->ready || !carm_sums_prepare(sums, p->ready)) {
        return -1;
    }
    *bytes = p->ready->bytes;
    keeper->given++;
    return p->fd;
}

uint32_t carm_stock_given(const struct carm_stock_keeper *keeper)
{
    return keeper ? keeper->given : 0;
}

void carm_stock_keep(struct carm_stock_keeper *keeper, const struct carm_engine *image,
                     uint64_t key, enum carm_keep keeps)
{
    if (keeper) {
        keeper->keeps = keeps;
        keeper->seed = image->version ^ key;
    }
}

bool carm_stock_worth(const struct carm_stock_keeper *keeper, struct carm_sums *sums)
{
    return keeper && carm_sums_new_blocks(sums) >= WORTH;
}

static void build(struct carm_stock_keeper *keeper, const struct carm_engine *image,
                  struct carm_sums *sums, bool all)
{
    const pid_t parent = getpid();
    keeper->builder = fork();
    if (keeper->builder == 0) {
        be_builder(keeper, parent, image, sums, all);
    }
    carm_sums_codes(sums, all, NULL, NULL);
}

void carm_stock_build(struct carm_stock_keeper *keeper, const struct carm_engine *image,
                      struct carm_sums *sums)
{
    if (keeper && keeper->builder <= 0) {
        build(keeper, image, sums, false);
    }
}

void carm_stock_go_ahead(struct carm_stock_keeper *keeper, const struct carm_engine *image,
                         struct carm_sums *sums)
{
    if (keeper && keeper->ahead && carm_sums_new_blocks(sums) >= AHEAD) {
        carm_stock_build(keeper, image, sums);
    }
}

/* Whether a program has no ready code on disk, or much less than it executes. */
static bool is_to_be_kept(struct carm_sums *sums, const struct program *p)
{
    const uint64_t own = carm_sums_own_blocks(sums, p->file);
    return p->key &&
           (p->loaded ? own >= WORTH + p->ready->counters / PART : own >= WORTH || p->ready);
}

void carm_stock_save(struct carm_stock_keeper *keeper, const struct carm_engine *image,
                     struct carm_sums *sums)
{
    bool any = false, all = false;
    carm_stock_wait(keeper);
    for (int i = 0; keeper && i < keeper->n; i++) {
        struct program *p = &keeper->programs[i];
        const bool keep = is_to_be_kept(sums, p);
        if (keep && !p->known) { /* a second count shows that it is worth the time */
            carm_kept_mark(p->key ^ keeper->seed);
        }
        if (keep && p->known) {
            any = true;
            all |= p->loaded;
            if (p->loaded) {
                drop(p);
            }
            p->wanted = !p->ready;
            p->loaded = false;
        } else {
            p->wanted = false;
            p->key = 0;
        }
    }
    if (any && (all || carm_stock_worth(keeper, sums))) {
        build(keeper, image, sums, all);
        carm_stock_wait(keeper);
    }
    for (int i = 0; any && i < keeper->n; i++) {
        struct program *p = &keeper->programs[i];
        if (p->wanted) {
            make_ready(keeper, image, sums, p);
            carm_stock_wait(keeper);
        }
        if (p->key && p->ready) {
            carm_kept_write(p->ready, p->key ^ keeper->seed);
            drop(p);
        }
    }
}
