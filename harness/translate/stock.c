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
    KEPT =
        64, /* of these, with code to keep: two open files each, of 1024 that a process may have by default */
    PAGE = 4096,
    READY_MOST = 512 << 20, /* bytes of all ready code: cc1 has 30 MB, a short program 1 MB */
};
enum {
    WORTH = 64
}; /* new blocks from which on the builder starts: starting takes 1 ms, as long as 400 blocks */
static const uint64_t code_most = UINT64_C(1) << 30; /* of one mapping */

/* A program that was executed. */
struct program {
    uint32_t file; /* carm_sums_file */
    bool wanted;   /* its ready code is to be made */
    bool tried;    /* `wanted` was set once: ready code is made or was */
    bool loaded;   /* from disk */
    uint64_t key;  /* carm_sums_key; 0: nothing is kept */
    struct code {
        int fd; /* -1 = none */
        struct carm_ready *at;
        uint64_t mapped; /* bytes */
    } ready, left; /* left: code that its first process leaves at its end; incomplete before */
};

struct carm_stock_keeper {
    int fd;
    struct carm_stock *stock;
    pid_t builder;          /* or maker of ready code; -1 = none */
    uint64_t seed;          /* of the keys of ready code on disk; 0 = none is kept */
    struct program *making; /* NULL = none */
    struct program programs[PROGRAMS];
    int n;
    uint32_t given; /* programs that got ready code */
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

static void drop(struct code *code)
{
    if (code->at) {
        (void)munmap(code->at, code->mapped);
    }
    if (code->fd >= 0) {
        (void)close(code->fd);
    }
    *code = (struct code){.fd = -1};
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
        drop(&keeper->programs[i].ready);
        drop(&keeper->programs[i].left);
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
    if (keeper->making && !keeper->making->ready.at->bytes) { /* the maker has failed */
        drop(&keeper->making->ready);
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

/* Loads the engine as into a counted program, with counters that nobody reads. */
static bool load(const struct carm_stock_keeper *keeper, const struct carm_engine *image)
{
    bool good = map_at(image->at, image->bytes, 0, image->fd) &&
                map_at(CARM_TALLY_AT, CARM_TALLY_SLOTS_AT, MAP_ANONYMOUS, -1);
    if (good) { /* on a CPU without tzcnt, its bytes are another instruction */
        ((struct carm_boot *)(uintptr_t)image->boot)->cpu = *keeper->cpu;
    }
    for (int i = 0; i < CARM_IMAGE_CODES && good; i++) {
        const uint64_t begin = image->code[i].begin;
        good = mprotect((void *)(uintptr_t)begin, image->code[i].end - begin,
                        PROT_READ | PROT_EXEC) == 0;
    }
    return good;
}

/* Translates the code of a file. If the file at this path is not the program's file, no program finds these blocks. */
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

/* In a forked child: prepares the work of a builder. returns false: impossible */
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
                                 const struct carm_engine *image, struct carm_sums *sums)
{
    struct building b = {.stock = keeper->stock};
    if (!begin_work(keeper, parent, image)) {
        _exit(1);
    }
    const uint64_t at = image->build;
    memcpy(&b.build, &at, sizeof b.build);
    carm_sums_codes(sums, build_code, &b);
    _exit(0);
}

/* Maps a file at the address of a program's mapping. returns false: no such file, or the address is in use */
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
                                 .to = keeper->making->ready.at};
    memcpy(&make, &image->ready, sizeof make);
    make(&job);
    _exit(0);
}

/* Memory for ready code. returns false: none */
static bool open_code(struct code *code)
{
    code->fd = carm_memory_file("carm-ready", CARM_READY_BYTES);
    void *at = code->fd < 0 ? MAP_FAILED
                            : mmap(NULL, CARM_READY_BYTES, PROT_READ | PROT_WRITE,
                                   MAP_SHARED | MAP_NORESERVE, code->fd, 0);
    code->at = at == MAP_FAILED ? NULL : at;
    code->mapped = CARM_READY_BYTES;
    if (!code->at) {
        drop(code);
        return false;
    }
    (void)madvise(at, CARM_READY_BYTES, MADV_DONTDUMP);
    return true;
}

/* Whether the first process of a program has left its code. Drops (end = 0) files that were written since the process
 * mapped them: their times are later, by at least 10 ms, as the kernel's times of files are so coarse. */
static bool has_left(struct program *p)
{
    const struct code *code = &p->left;
    if (!code->at || !code->at->bytes || !carm_kept_fits(code->at)) {
        return false;
    }
    struct carm_tally_map *maps = carm_ready_at(code->at, &code->at->tally_maps);
    struct carm_ready_file *files = carm_ready_at(code->at, &code->at->files);
    for (uint32_t i = 0; i < code->at->nfiles; i++) {
        maps[i].path[sizeof maps[i].path - 1] = '\0';
        if (maps[i].time_ns &&
            !carm_module_is_unchanged(maps[i].path, maps[i].inode, maps[i].time_ns)) {
            files[i].end = 0;
        }
        maps[i].time_ns = 0;
    }
    return true;
}

static void make_ready(struct carm_stock_keeper *keeper, const struct carm_engine *image,
                       struct carm_sums *sums, struct program *p)
{
    const pid_t parent = getpid();
    p->wanted = false;
    if (!open_code(&p->ready)) {
        return;
    }
    keeper->making = p;
    keeper->builder = fork();
    if (keeper->builder == 0) {
        be_maker(keeper, parent, image, sums);
    }
    if (keeper->builder < 0) {
        keeper->making = NULL;
        drop(&p->ready);
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
        bytes += p->ready.at && p != keeper->making ? p->ready.at->bytes : 0;
    }
    return bytes < READY_MOST;
}

static void load_ready(const struct carm_stock_keeper *keeper, struct program *p)
{
    if (p->key && has_room(keeper)) {
        p->ready.at = carm_kept_read(p->key, &p->ready.fd);
        p->loaded = p->tried = p->ready.at;
        p->ready.mapped = p->loaded ? p->ready.at->bytes : 0;
    }
}

/* Takes the code that the first process has left, if the program has no ready code yet. */
static void take_left(struct program *p)
{
    if (!p->ready.at && has_left(p) && seal(p->left.fd)) {
        p->ready = p->left;
        p->left = (struct code){.fd = -1};
        p->tried = true;
        p->wanted = false;
    }
}

void carm_stock_ready(struct carm_stock_keeper *keeper, const struct carm_engine *image,
                      struct carm_sums *sums, bool wait, struct carm_ready_files *files)
{
    const uint32_t file = carm_sums_file(sums);
    int i = 0;
    *files = (struct carm_ready_files){keeper ? keeper->fd : -1, .ready = -1, .left = -1};
    while (keeper && i < keeper->n && keeper->programs[i].file != file) {
        i++;
    }
    if (!keeper || !file || i == PROGRAMS) {
        return;
    }
    struct program *p = &keeper->programs[i];
    if (i == keeper->n) {
        const uint64_t key = keeper->seed ? carm_sums_key(sums) : 0;
        keeper->n++;
        *p = (struct program){.file = file, .ready.fd = -1, .left.fd = -1};
        p->key = key ? key ^ keeper->seed : 0;
        load_ready(keeper, p);
        if (p->key && i < KEPT && open_code(&p->left)) {
            files->left = p->left.fd;
        }
        if (!p->ready.at) {
            return;
        }
    }
    take_left(p);
    p->wanted |= !p->tried && has_room(keeper);
    p->tried = true;
    if (wait) {
        carm_stock_go_on(keeper, image, sums);
        carm_stock_wait(keeper);
    }
    if (p == keeper->making || !p->ready.at ||
        !carm_sums_prepare(sums, p->ready.at, p->ready.mapped)) {
        return;
    }
    files->ready = p->ready.fd;
    files->bytes = p->ready.at->bytes;
    files->maps = carm_ready_at(p->ready.at, &p->ready.at->tally_maps);
    files->nmaps = p->ready.at->nfiles;
    keeper->given++;
}

uint32_t carm_stock_given(const struct carm_stock_keeper *keeper)
{
    return keeper ? keeper->given : 0;
}

void carm_stock_keep(struct carm_stock_keeper *keeper, const struct carm_engine *image,
                     uint64_t key)
{
    if (keeper) {
        keeper->seed = image->version ^ key;
    }
}

bool carm_stock_worth(const struct carm_stock_keeper *keeper, struct carm_sums *sums)
{
    return keeper && carm_sums_new_blocks(sums) >= WORTH;
}

void carm_stock_build(struct carm_stock_keeper *keeper, const struct carm_engine *image,
                      struct carm_sums *sums)
{
    if (!keeper || keeper->builder > 0) {
        return;
    }
    const pid_t parent = getpid();
    keeper->builder = fork();
    if (keeper->builder == 0) {
        be_builder(keeper, parent, image, sums);
    }
    carm_sums_codes(sums, NULL, NULL);
}

void carm_stock_save(struct carm_stock_keeper *keeper)
{
    carm_stock_wait(keeper);
    for (int i = 0; keeper && i < keeper->n; i++) {
        struct program *p = &keeper->programs[i];
        if (has_left(p)) {
            carm_kept_write(p->left.at, p->key);
        } else if (p->key && p->ready.at && !p->loaded) {
            carm_kept_write(p->ready.at, p->key);
        }
    }
}
