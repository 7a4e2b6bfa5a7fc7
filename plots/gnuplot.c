/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/gnuplot.h"

#include <errno.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/outfile.h"
#include "base/text.h"

const char *carm_gnuplot_format(const char *path)
{
    static const char *const formats[] = {"svg", "png", "pdf"};
    const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');
    for (size_t i = 0; dot && dot > slash && i < sizeof formats / sizeof *formats; i++) {
        if (strcmp(dot + 1, formats[i]) == 0) {
            return formats[i];
        }
    }
    return NULL;
}

int carm_gnuplot_open(FILE **out, struct carm_err *err)
{
    const int fd = memfd_create("carm", MFD_CLOEXEC);
    *out = fd < 0 ? NULL : fdopen(fd, "w+");
    if (!*out) {
        const int e = errno;
        carm_fd_close(fd);
        return carm_fail(err, CARM_EIO, "cannot make a file in memory: %s", strerror(e));
    }
    return 0;
}

/* gnuplot's error message in one line, without control characters. */
static void first_complaint(FILE *said, char *dst, size_t size)
{
    char line[256];
    rewind(said);
    *dst = 0;
    /* gnuplot quotes the script and points at the place before it says "line 7: message". */
    while (fgets(line, sizeof line, said)) {
        char *p = line + strspn(line, " \t^\n");
        p[strcspn(p, "\n")] = 0;
        if (*p && !strstr(p, "warning:")) {
            carm_text_clean(dst, size, p, false);
        }
    }
}

/* Runs gnuplot on the script, with the picture as its standard output. Script and picture have no
 * names, so no shell or command line is involved. */
static int run_gnuplot(FILE *script, FILE *picture, struct carm_err *err)
{
    /* -d: ignores the user's start-up files. */
    char *argv[] = {(char[]){"gnuplot"}, (char[]){"-d"}, NULL};
    posix_spawn_file_actions_t actions;
    FILE *said;
    pid_t pid;
    int status = 0;
    int rc = carm_gnuplot_open(&said, err);
    if (rc) {
        return rc;
    }
    int e = posix_spawn_file_actions_init(&actions);
    if (e == 0) {
        e = posix_spawn_file_actions_adddup2(&actions, fileno(script), STDIN_FILENO);
        if (e == 0) {
            e = posix_spawn_file_actions_adddup2(&actions, fileno(picture), STDOUT_FILENO);
        }
        if (e == 0) {
            e = posix_spawn_file_actions_adddup2(&actions, fileno(said), STDERR_FILENO);
        }
        if (e == 0) {
            e = posix_spawnp(&pid, "gnuplot", &actions, NULL, argv, environ);
        }
        posix_spawn_file_actions_destroy(&actions);
    }
    if (e == 0) {
        while (waitpid(pid, &status, 0) < 0) {
            if (errno != EINTR) {
                e = errno;
                break;
            }
        }
    }
    char why[200];
    if (e == ENOENT) {
        rc = carm_fail(err, CARM_EIO,
                       "gnuplot is not installed: `apt-get install gnuplot-nox` brings it");
    } else if (e) {
        rc = carm_fail(err, CARM_EIO, "cannot run gnuplot: %s", strerror(e));
    } else if (WIFSIGNALED(status)) {
        rc = carm_fail(err, CARM_EIO, "gnuplot was stopped by signal %d", WTERMSIG(status));
    } else if (WEXITSTATUS(status)) {
        first_complaint(said, why, sizeof why);
        rc = carm_fail(err, CARM_EIO, "gnuplot failed: %s", why);
    }
    fclose(said);
    return rc;
}

int carm_gnuplot_deliver(FILE *from, const char *path, struct carm_err *err)
{
    struct carm_outfile *file = NULL;
    char buf[1 << 14];
    size_t n, total = 0;
    if (fflush(from) != 0 || ferror(from)) {
        return carm_fail(err, CARM_EIO, "cannot write a file in memory: %s", strerror(errno));
    }
    int rc = path ? carm_outfile_open(path, &file, err) : 0;
    /* rewinds: gnuplot moved the shared offset */
    fseek(from, 0, SEEK_SET);
    while (rc == 0 && (n = fread(buf, 1, sizeof buf, from)) > 0) {
        total += n;
        if (path) {
            rc = carm_outfile_write(file, buf, n, err);
        } else if (fwrite(buf, 1, n, stdout) != n) {
            break;
        }
    }
    if (rc == 0 && (ferror(from) || total == 0)) {
        rc = carm_fail(err, CARM_EIO, "the picture is empty: gnuplot drew nothing");
    }
    if (rc == 0 && path) {
        rc = carm_outfile_commit(file, err);
    }
    if (rc == 0 && !path && (fflush(stdout) != 0 || ferror(stdout))) {
        rc = carm_fail(err, CARM_EIO, "cannot write the output: %s", strerror(errno));
    }
    carm_outfile_close(file);
    return rc;
}

int carm_gnuplot_draw(FILE *script, const char *path, struct carm_err *err)
{
    FILE *picture;
    int rc = carm_gnuplot_open(&picture, err);
    if (rc) {
        return rc;
    }
    if (fflush(script) != 0 || ferror(script)) {
        rc = carm_fail(err, CARM_EIO, "cannot write a file in memory: %s", strerror(errno));
    }
    rewind(script);
    rc = rc ? rc : run_gnuplot(script, picture, err);
    rc = rc ? rc : carm_gnuplot_deliver(picture, path, err);
    fclose(picture);
    return rc;
}
