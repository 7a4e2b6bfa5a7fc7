/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "asm/image.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asm/gen.h"

/* What CARM_FILE and CODE_END of asm/carm.inc lay down. */
struct image_header {
    uint64_t magic, table_begin, table_end, zero;
};
struct image_entry {
    uint64_t begin, end, loop_begin, loop_end;
    uint64_t loads, load_bytes, stores, store_bytes, nt_stores, fp_instructions, flops, prefetches;
    uint64_t int_instructions, instructions, stride_bytes, setup_loads, setup_load_bytes;
    char name[CARM_CODE_NAME_MAX];
};
#define IMAGE_MAGIC 0x314d524143ULL /* "CARM1" */

/* Runs `nasm -f bin -o bin source`, its messages to the file log. returns 0 or negative. */
static int run_nasm(const char *source, const char *bin, const char *log, struct carm_err *err)
{
    char *argv[] = {"nasm", "-f", "bin", "-o", (char *)bin, (char *)source, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    int status = 0;
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to start nasm");
    }
    (void)posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    (void)posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log,
                                           O_WRONLY | O_CREAT | O_TRUNC, 0600);
    (void)posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
    int rc = posix_spawnp(&pid, "nasm", &actions, NULL, argv, environ);
    (void)posix_spawn_file_actions_destroy(&actions);
    if (rc != 0) {
        return carm_fail(err, CARM_ENOTSUP,
                         "cannot start nasm (%s): install it, e.g. apt-get install nasm",
                         strerror(rc));
    }
    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR) {
            return carm_fail(err, CARM_EIO, "waiting for nasm failed: %s", strerror(errno));
        }
    }
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
        return 0;
    }
    if (WIFSIGNALED(status)) {
        return carm_fail(err, CARM_EINTR, "nasm was stopped by signal %d", WTERMSIG(status));
    }
    char first[256] = "";
    FILE *f = fopen(log, "r");
    if (f) {
        if (!fgets(first, sizeof first, f)) {
            first[0] = '\0';
        }
        (void)fclose(f);
    }
    first[strcspn(first, "\n")] = '\0';
    return carm_fail(err, CARM_EIO, "nasm failed: %s (nasm 2.15 or later is needed)", first);
}

static int read_whole(const char *path, uint8_t **bytes, size_t *size, struct carm_err *err)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    int rc = 0;
    uint8_t *buffer = NULL;
    if (fd < 0 || fstat(fd, &st) != 0) {
        rc = carm_fail(err, CARM_EIO, "cannot read nasm's output: %s", strerror(errno));
        goto out;
    }
    buffer = malloc((size_t)st.st_size + 1);
    if (!buffer) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for the test codes");
        goto out;
    }
    size_t done = 0;
    while (done < (size_t)st.st_size) {
        ssize_t n = read(fd, buffer + done, (size_t)st.st_size - done);
        if (n <= 0) {
            rc = carm_fail(err, CARM_EIO, "cannot read nasm's output");
            goto out;
        }
        done += (size_t)n;
    }
    *bytes = buffer;
    *size = done;
    buffer = NULL;
out:
    free(buffer);
    if (fd >= 0) {
        (void)close(fd);
    }
    return rc;
}

/* Writes the source, runs nasm, reads the result, in a temporary folder that it removes. */
static int assemble(const struct carm_code_spec *specs, size_t n, uint8_t **bytes, size_t *size,
                    struct carm_err *err)
{
    const char *tmp = getenv("TMPDIR");
    char folder[4096];
    char source[sizeof folder + 16];
    char bin[sizeof folder + 16];
    char log[sizeof folder + 16];
    if (snprintf(folder, sizeof folder, "%s/carm-XXXXXX", tmp && *tmp ? tmp : "/tmp") >=
            (int)sizeof folder ||
        !mkdtemp(folder)) {
        return carm_fail(err, CARM_EIO,
                         "cannot make a temporary folder in %.200s (%s): set TMPDIR to one that is "
                         "writable",
                         tmp && *tmp ? tmp : "/tmp", strerror(errno));
    }
    (void)snprintf(source, sizeof source, "%s/codes.asm", folder);
    (void)snprintf(bin, sizeof bin, "%s/codes.bin", folder);
    (void)snprintf(log, sizeof log, "%s/nasm.log", folder);
    int rc = 0;
    FILE *f = fopen(source, "w");
    if (f) {
        carm_gen_source(f, specs, n);
        int bad = ferror(f);
        bad |= fclose(f);
        f = NULL;
        rc = bad ? carm_fail(err, CARM_EIO,
                             "cannot write the test codes' source to %.200s: %s; set TMPDIR to a "
                             "folder with room",
                             folder, strerror(errno))
                 : 0;
    } else {
        rc = carm_fail(err, CARM_EIO, "cannot write to %.200s: %s", folder, strerror(errno));
    }
    rc = rc ? rc : run_nasm(source, bin, log, err);
    rc = rc ? rc : read_whole(bin, bytes, size, err);
    (void)unlink(source);
    (void)unlink(bin);
    (void)unlink(log);
    (void)rmdir(folder);
    return rc;
}

int carm_image_assemble(const struct carm_code_spec *specs, size_t n, uint8_t **bytes, size_t *size,
                        struct carm_code_layout *layouts, struct carm_account *accounts,
                        struct carm_err *err)
{
    uint8_t *image = NULL;
    size_t image_bytes = 0;
    struct image_header head;
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        rc = carm_code_check(&specs[i], err);
    }
    rc = rc ? rc : assemble(specs, n, &image, &image_bytes, err);
    if (rc) {
        goto out;
    }
    if (image_bytes < sizeof head) {
        rc = carm_fail(err, CARM_EFORMAT, "nasm's output is only %zu bytes long", image_bytes);
        goto out;
    }
    memcpy(&head, image, sizeof head);
    if (head.magic != IMAGE_MAGIC || head.table_end > image_bytes ||
        head.table_begin > head.table_end ||
        head.table_end - head.table_begin != n * sizeof(struct image_entry)) {
        rc = carm_fail(err, CARM_EFORMAT, "nasm's output has no table of %zu codes", n);
        goto out;
    }
    for (size_t i = 0; i < n; i++) {
        struct image_entry e;
        char name[CARM_CODE_NAME_MAX];
        memcpy(&e, image + head.table_begin + i * sizeof e, sizeof e);
        carm_code_name(&specs[i], name);
        if (strncmp(e.name, name, sizeof e.name) != 0 || e.begin > e.loop_begin ||
            e.loop_begin > e.loop_end || e.loop_end > e.end || e.end > head.table_begin) {
            rc = carm_fail(err, CARM_EFORMAT, "nasm's output: entry %zu is not code %s", i, name);
            goto out;
        }
        layouts[i] = (struct carm_code_layout){e.begin, e.end, e.loop_begin, e.loop_end};
        accounts[i] = (struct carm_account){
            .loads = e.loads,
            .load_bytes = e.load_bytes,
            .stores = e.stores,
            .store_bytes = e.store_bytes,
            .nt_stores = e.nt_stores,
            .fp_instructions = e.fp_instructions,
            .flops = e.flops,
            .prefetches = e.prefetches,
            .int_instructions = e.int_instructions,
            .instructions = e.instructions,
            .stride_bytes = e.stride_bytes,
            .setup_loads = e.setup_loads,
            .setup_load_bytes = e.setup_load_bytes,
        };
    }
    *bytes = image;
    *size = image_bytes;
    image = NULL;
out:
    free(image);
    return rc;
}

int carm_image_open(struct carm_image **image, const struct carm_code_spec *specs, size_t n,
                    struct carm_err *err)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    struct carm_image *im = calloc(1, sizeof *im);
    struct carm_code_layout *layouts = calloc(n, sizeof *layouts);
    struct carm_account *accounts = calloc(n, sizeof *accounts);
    int rc = 0;
    if (im) {
        im->codes = calloc(n, sizeof *im->codes);
    }
    if (!im || !layouts || !accounts || !im->codes) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for %zu test codes", n);
        goto out;
    }
    rc = carm_image_assemble(specs, n, &bytes, &size, layouts, accounts, err);
    for (size_t i = 0; i < n && !rc; i++) {
        rc = carm_recount_check(&specs[i], bytes, size, &layouts[i], &accounts[i], err);
    }
    if (rc || !bytes) {
        goto out;
    }
    /* written first, executable after: never both */
    void *text = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (text == MAP_FAILED) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for %zu bytes of test codes", size);
        goto out;
    }
    im->text = text;
    im->text_bytes = size;
    memcpy(text, bytes, size);
    if (mprotect(text, size, PROT_READ | PROT_EXEC) != 0) {
        rc = carm_fail(err, CARM_ENOTSUP,
                       "the system refuses to make generated code executable (%s): check SELinux "
                       "execmem or a hardened kernel's settings",
                       strerror(errno));
        goto out;
    }
    im->n = n;
    for (size_t i = 0; i < n; i++) {
        struct carm_code *c = &im->codes[i];
        c->spec = specs[i];
        carm_code_name(&specs[i], c->name);
        c->layout = layouts[i];
        c->account = accounts[i];
        uintptr_t entry = (uintptr_t)text + layouts[i].begin;
        memcpy(&c->run, &entry, sizeof entry);
    }
    *image = im;
    im = NULL;
out:
    carm_image_close(im);
    free(bytes);
    free(layouts);
    free(accounts);
    return rc;
}

const struct carm_code *carm_image_find(const struct carm_image *image, const char *name)
{
    for (size_t i = 0; i < image->n; i++) {
        if (strcmp(image->codes[i].name, name) == 0) {
            return &image->codes[i];
        }
    }
    return NULL;
}

void carm_image_close(struct carm_image *image)
{
    if (!image) {
        return;
    }
    if (image->text) {
        (void)munmap(image->text, image->text_bytes);
    }
    free(image->codes);
    free(image);
}
