/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/fleet/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/outfile.h"

static int fail(struct carm_err *err, const char *name, int errnum)
{
    return carm_fail(err, CARM_EIO, "cannot write %.256s: %s; choose another place with -o", name,
                     strerror(errnum));
}

/* Ends a line that lacks its end. returns 0 or an errno */
static int end_last_line(int fd, off_t size)
{
    char last = '\n';
    if (size > 0 && pread(fd, &last, 1, size - 1) != 1) {
        return errno;
    }
    return last == '\n' || write(fd, "\n", 1) == 1 ? 0 : errno;
}

int carm_fleet_file_open(struct carm_fleet_file *file, const char *name, struct carm_err *err)
{
    *file = (struct carm_fleet_file){.fd = -1};
    if (strlen(name) >= sizeof file->name) {
        return fail(err, name, ENAMETOOLONG);
    }
    (void)snprintf(file->name, sizeof file->name, "%s", name);
    const int rc = carm_outfile_check(name, err);
    if (rc) {
        return rc;
    }
    file->fd = open(name, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    struct stat st = {.st_size = 0};
    if (file->fd < 0 || fstat(file->fd, &st) != 0) {
        const int e = errno;
        (void)carm_fleet_file_close(file, NULL);
        return fail(err, name, e);
    }
    /* file systems without locks (some NFS mounts) answer otherwise: go on there */
    if (flock(file->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        (void)carm_fleet_file_close(file, NULL);
        return carm_fail(
            err, CARM_EIO,
            "another carm fleet build writes %.256s now: wait for it, or choose another "
            "place with -o",
            name);
    }
    const int e = end_last_line(file->fd, st.st_size);
    if (e) {
        (void)carm_fleet_file_close(file, NULL);
        return fail(err, name, e);
    }
    file->had_bytes = (size_t)st.st_size;
    return 0;
}

int carm_fleet_file_append(struct carm_fleet_file *file, const char *line, struct carm_err *err)
{
    struct stat st;
    if (fstat(file->fd, &st) != 0) {
        return fail(err, file->name, errno);
    }
    for (size_t left = strlen(line); left > 0;) {
        const ssize_t n = write(file->fd, line, left);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n <= 0) {
            const int e = n < 0 ? errno : ENOSPC;
            /* where this fails as well, end_last_line saves the next job's rows */
            (void)!ftruncate(file->fd, st.st_size);
            return fail(err, file->name, e);
        }
        line += n;
        left -= (size_t)n;
    }
    return 0;
}

int carm_fleet_file_close(struct carm_fleet_file *file, struct carm_err *err)
{
    if (!file || file->fd < 0) {
        return 0;
    }
    const int e = fsync(file->fd) != 0 ? errno : 0;
    const int e_close = close(file->fd) != 0 ? errno : 0;
    file->fd = -1;
    return e || e_close ? fail(err, file->name, e ? e : e_close) : 0;
}
