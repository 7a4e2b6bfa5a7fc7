/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/file/fleet/rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/job.h"
#include "base/json_write.h"
#include "base/outfile.h"
#include "base/text.h"

static void read_boot_id(char *dst, size_t size)
{
    const int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    const ssize_t n = fd < 0 ? 0 : read(fd, dst, size - 1);
    dst[n > 0 ? n : 0] = '\0';
    dst[strcspn(dst, "\n")] = '\0';
    carm_fd_close(fd);
}

void carm_fleet_who_read(struct carm_fleet_who *who, int rank)
{
    *who = (struct carm_fleet_who){.rank = rank};
    if (gethostname(who->host, sizeof who->host - 1) != 0 || !*who->host) {
        snprintf(who->host, sizeof who->host, "localhost");
    }
    struct carm_job job;
    carm_job_read(&job);
    snprintf(who->job, sizeof who->job, "%s", job.id);
    read_boot_id(who->boot_id, sizeof who->boot_id);
}

char *carm_fleet_row_text(const struct carm_fleet_who *who, const char *status, const char *reason,
                          const char *model)
{
    char now[CARM_TEXT_NUMBER_MAX];
    json_t *held = model ? json_loads(model, 0, NULL) : json_null();
    if (!held) {
        return NULL;
    }
    json_t *row = json_object();
    bool ok = carm_jwrite_text(row, "schema", "carm-fleet/1") &&
              carm_jwrite_text(row, "host", who->host) &&
              carm_jwrite_text_or_null(row, "job", who->job);
    ok = ok && (who->rank < 0 ? carm_jwrite_value(row, "rank", json_null())
                              : carm_jwrite_int(row, "rank", who->rank));
    ok = ok && carm_jwrite_text_or_null(row, "boot_id", who->boot_id) &&
         carm_jwrite_text(row, "time", carm_text_now(now, sizeof now)) &&
         carm_jwrite_text(row, "status", status) &&
         carm_jwrite_text_or_null(row, "reason", reason ? reason : "");
    ok = carm_jwrite_value(ok ? row : NULL, "model", held) && ok;
    return carm_jwrite_line(carm_jwrite_done(row, ok), JSON_COMPACT);
}

void carm_fleet_row_read(const char *line, struct carm_fleet_row_said *said)
{
    json_t *row = json_loads(line, 0, NULL);
    const char *status = json_string_value(json_object_get(row, "status"));
    const char *reason = json_string_value(json_object_get(row, "reason"));
    *said = (struct carm_fleet_row_said){.ok = status && strcmp(status, "ok") == 0};
    snprintf(said->status, sizeof said->status, "%s", status ? status : "failed");
    snprintf(said->reason, sizeof said->reason, "%s",
             !status  ? "the rank sent no valid row"
             : reason ? reason
                      : "");
    json_decref(row);
}

static int fail(struct carm_err *err, const char *name, int errnum)
{
    return carm_fail(err, CARM_EIO, "cannot write %.256s: %s; choose another place with -o", name,
                     strerror(errnum));
}

/* Ends an unfinished last line. returns 0 or an errno */
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
    snprintf(file->name, sizeof file->name, "%s", name);
    int rc = carm_outfile_check(name, err);
    rc = rc ? rc : carm_outfile_folders(name, err);
    if (rc) {
        return rc;
    }
    file->fd = open(name, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    struct stat st = {.st_size = 0};
    if (file->fd < 0 || fstat(file->fd, &st) != 0) {
        const int e = errno;
        carm_fleet_file_close(file, NULL);
        return fail(err, name, e);
    }
    /* file systems without locks (some NFS mounts) give other errors, which are ignored */
    if (flock(file->fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
        carm_fleet_file_close(file, NULL);
        return carm_fail(
            err, CARM_EIO,
            "another carm fleet build is writing %.256s: wait until it ends, or choose another place with -o",
            name);
    }
    const int e = end_last_line(file->fd, st.st_size);
    if (e) {
        carm_fleet_file_close(file, NULL);
        return fail(err, name, e);
    }
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
            /* if this fails, too, end_last_line protects the next job's rows */
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
