/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "asm/image.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asm/gen.h"

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
    struct carm_table table;
    struct carm_err why = {""};
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        rc = carm_code_check(&specs[i], err);
    }
    rc = rc ? rc : assemble(specs, n, &image, &image_bytes, err);
    if (rc) {
        goto out;
    }
    rc = carm_table_open(&table, image, image_bytes, &why);
    if (rc) {
        rc = carm_fail(err, CARM_EFORMAT, "nasm's output: %s", why.text);
    } else if (table.n != n) {
        rc = carm_fail(err, CARM_EFORMAT, "nasm's output has no table of %zu codes", n);
    }
    for (size_t i = 0; i < n && !rc; i++) {
        char name[CARM_CODE_NAME_MAX];
        char found[CARM_CODE_NAME_MAX];
        carm_code_name(&specs[i], name);
        rc = carm_table_entry(&table, i, found, &layouts[i], &accounts[i], err);
        if (!rc && strcmp(found, name) != 0) {
            rc = carm_fail(err, CARM_EFORMAT, "nasm's output: entry %zu is not code %s", i, name);
        }
    }
    if (rc) {
        goto out;
    }
    *bytes = image;
    *size = image_bytes;
    image = NULL;
out:
    free(image);
    return rc;
}
