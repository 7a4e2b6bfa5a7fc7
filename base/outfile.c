/* SPDX-License-Identifier: MIT */
#include "base/outfile.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/job.h"

struct carm_outfile {
    char *name;   /* the caller's path, for messages */
    char *target; /* the target, which the temporary file replaces */
    char *temp;
    int fd;
    bool there; /* the temporary file exists */
    /* end of the name, in target, of the first folder that was created for it; 0 = none */
    size_t made;
};

static int fail(struct carm_err *err, const char *name, int errnum)
{
    /* The path is cut so that the reason and the remedy always fit. */
    return carm_fail(err, CARM_EIO, "cannot write %.256s: %s; choose another place", name,
                     strerror(errnum));
}

/* Creates every missing folder above path.
 * made  out: end of the name of the first missing folder; NULL = not wanted
 * returns 0 or an errno */
static int make_parents(char *path, size_t *made)
{
    for (char *p = path + 1; *p; p++) {
        if (*p != '/' || p[-1] == '/') {
            continue;
        }
        *p = 0;
        int e = mkdir(path, 0777) == 0 ? 0 : errno;
        if (!e && made && !*made) {
            *made = (size_t)(p - path);
        }
        struct stat st;
        /* For an existing folder, mkdir may fail with EEXIST, EROFS or EACCES; only a missing folder counts. */
        if (e && stat(path, &st) == 0) {
            e = S_ISDIR(st.st_mode) ? 0 : ENOTDIR;
        }
        *p = '/';
        if (e) {
            return e;
        }
    }
    return 0;
}

/* Removes the folders that were created for a file that was not written; folders that others use stay. */
static void remove_parents(char *path, size_t made)
{
    for (char *p = strrchr(path, '/'); made && p && (size_t)(p - path) >= made;
         p = strrchr(path, '/')) {
        *p = 0;
        if (rmdir(path) != 0 && errno != ENOENT) {
            break;
        }
    }
}

/* The target of a path whose last link points to a file that does not exist yet: a shell would
 * create that file.
 * returns NULL: no memory */
static char *follow_links(const char *path)
{
    char to[PATH_MAX];
    char *at = strdup(path);
    for (int i = 0; at && i < 40; i++) { /* the kernel follows 40 links */
        const ssize_t n = readlink(at, to, sizeof to);
        if (n <= 0 || n == (ssize_t)sizeof to) {
            break;
        }
        const char *slash = to[0] == '/' ? NULL : strrchr(at, '/');
        char *next = NULL;
        if (asprintf(&next, "%.*s%.*s", slash ? (int)(slash - at) + 1 : 0, at, (int)n, to) < 0) {
            next = NULL;
        }
        free(at);
        at = next;
    }
    return at;
}

/* Offset of the file's name in a path. */
static size_t name_offset(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? (size_t)(slash - path) + 1 : 0;
}

/* The folder of path, to be opened. returns a descriptor or -1 */
static int open_folder(const char *path)
{
    char folder[PATH_MAX] = ".";
    const size_t len = name_offset(path);
    if (len >= sizeof folder) {
        return -1;
    }
    if (len) {
        memcpy(folder, path, len);
        folder[len] = 0;
    }
    return open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

/* The process of this host whose temporary file has a name; 0 = not a temporary file's name. */
static pid_t owner_of(const char *name, const char *prefix)
{
    const size_t n = strlen(prefix);
    char *end;
    if (strncmp(name, prefix, n) != 0 || name[n] < '1' || name[n] > '9') {
        return 0;
    }
    const long pid = strtol(name + n, &end, 10);
    if (*end != '-' || pid > INT_MAX) {
        return 0;
    }
    end += 1 + strspn(end + 1, "0123456789");
    return strcmp(end, ".tmp") == 0 ? (pid_t)pid : 0;
}

/* Removes temporary files that killed processes of this host left in the target's folder. A live
 * process keeps its file locked, so a process of another container with the same host name keeps
 * its file. */
static void remove_stale(const char *target, const char *prefix)
{
    const int folder = open_folder(target);
    DIR *dir = folder < 0 ? NULL : fdopendir(folder);
    if (!dir) {
        carm_fd_close(folder);
        return;
    }
    for (const struct dirent *entry = readdir(dir); entry; entry = readdir(dir)) {
        const pid_t pid = owner_of(entry->d_name, prefix);
        if (pid == 0 || kill(pid, 0) == 0 || errno != ESRCH) {
            continue;
        }
        /* opened for writing: NFS locks no other descriptors */
        const int fd =
            openat(folder, entry->d_name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        if (fd < 0) {
            continue;
        }
        if (flock(fd, LOCK_EX | LOCK_NB) == 0) {
            unlinkat(folder, entry->d_name, 0);
        }
        close(fd);
    }
    closedir(dir);
}

/* Gives the temporary file the mode and the owner of the file that it replaces, where this is
 * permitted. If the group cannot be set, the file's group gets no more rights than others. */
static void keep_mode(int fd, const struct stat *old)
{
    mode_t mode = old->st_mode & 0777;
    if (fchown(fd, old->st_uid, old->st_gid) != 0 && fchown(fd, (uid_t)-1, old->st_gid) != 0) {
        mode = (mode & ~(mode_t)070) | (mode & 070 & (mode << 3));
    }
    fchmod(fd, mode);
}

/* Creates the temporary file in the target's folder. Its permissions are those of the existing
 * target, else those of the umask (mkstemp would give 0600).
 * old  the existing target's status; NULL = there is none
 * returns 0 or an errno */
static int make_temp(struct carm_outfile *f, const struct stat *old)
{
    const int dir = (int)name_offset(f->target);
    char host[CARM_HOST_MAX]; /* nodes that share the folder may have one process number */
    char prefix[CARM_HOST_MAX + 8];
    const size_t size = (size_t)dir + 64 + sizeof prefix;
    carm_host_name(host);
    snprintf(prefix, sizeof prefix, ".carm-%s-", host);
    free(f->temp);
    f->temp = malloc(size);
    if (!f->temp) {
        return ENOMEM;
    }
    remove_stale(f->target, prefix);
    for (int i = 0; i < 100; i++) {
        snprintf(f->temp, size, "%.*s%s%ld-%d.tmp", dir, f->target, prefix, (long)getpid(), i);
        f->fd = open(f->temp, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, old ? 0600 : 0666);
        if (f->fd >= 0) {
            f->there = true;
            flock(f->fd, LOCK_EX | LOCK_NB);
            if (old) {
                keep_mode(f->fd, old);
            }
            return 0;
        }
        if (errno != EEXIST) {
            return errno;
        }
    }
    return EEXIST;
}

int carm_outfile_open(const char *path, struct carm_outfile **out, struct carm_err *err)
{
    *out = NULL;
    size_t len = strlen(path);
    if (len == 0) {
        return fail(err, "a file without a name", ENOENT);
    }
    if (path[len - 1] == '/') {
        return fail(err, path, EISDIR);
    }
    struct carm_outfile *f = calloc(1, sizeof *f);
    if (!f) {
        return carm_fail(err, CARM_ENOMEM, "out of memory");
    }
    f->fd = -1;
    f->name = strdup(path);
    struct stat st;
    int e = 0;
    const bool replaces = stat(path, &st) == 0;
    if (replaces) {
        f->target = realpath(path, NULL);
        if (S_ISDIR(st.st_mode)) {
            e = EISDIR;
        } else if (!S_ISREG(st.st_mode)) {
            carm_fail(err, CARM_EIO,
                      "cannot write %.256s: it is not a regular file; choose another place", path);
            carm_outfile_close(f);
            return -CARM_EIO;
        }
    }
    if (!f->target) {
        f->target = follow_links(path);
    }
    if (!f->name || !f->target) {
        e = ENOMEM;
    }
    bool again = !e;
    for (int i = 0; again && i < 10; i++) {
        e = make_parents(f->target, &f->made);
        e = e ? e : make_temp(f, replaces ? &st : NULL);
        again = e == ENOENT; /* another process has removed folders that it had created */
    }
    if (e) {
        carm_outfile_close(f);
        return e == ENOMEM ? carm_fail(err, CARM_ENOMEM, "out of memory") : fail(err, path, e);
    }
    *out = f;
    return 0;
}

int carm_outfile_write_all(int fd, const void *data, size_t size_bytes)
{
    const char *p = data;
    while (size_bytes > 0) {
        const ssize_t n = write(fd, p, size_bytes);
        if (n < 0 && errno != EINTR) {
            return -1;
        }
        if (n > 0) {
            p += n;
            size_bytes -= (size_t)n;
        }
    }
    return 0;
}

int carm_outfile_write(struct carm_outfile *file, const void *data, size_t size_bytes,
                       struct carm_err *err)
{
    return carm_outfile_write_all(file->fd, data, size_bytes) ? fail(err, file->name, errno) : 0;
}

/* Syncs the target's folder: only then is the rename on the disk. Some file systems cannot sync folders, which is no
 * failure. */
static void sync_folder(const char *target)
{
    const int fd = open_folder(target);
    if (fd >= 0) {
        fsync(fd);
        close(fd);
    }
}

int carm_outfile_commit(struct carm_outfile *file, struct carm_err *err)
{
    int e = fsync(file->fd) == 0 ? 0 : errno;
    if (close(file->fd) != 0 && !e) {
        e = errno;
    }
    file->fd = -1;
    if (!e && rename(file->temp, file->target) != 0) {
        e = errno;
    }
    if (e) {
        return fail(err, file->name, e);
    }
    file->there = false;
    file->made = 0;
    sync_folder(file->target);
    return 0;
}

void carm_outfile_close(struct carm_outfile *file)
{
    if (!file) {
        return;
    }
    carm_fd_close(file->fd);
    if (file->there) {
        unlink(file->temp);
    }
    if (file->target) {
        remove_parents(file->target, file->made);
    }
    free(file->temp);
    free(file->target);
    free(file->name);
    free(file);
}

int carm_outfile_folders(const char *path, struct carm_err *err)
{
    char *copy = strdup(path);
    if (!copy) {
        return carm_fail(err, CARM_ENOMEM, "out of memory");
    }
    const int e = *copy ? make_parents(copy, NULL) : 0;
    free(copy);
    return e ? fail(err, path, e) : 0;
}

int carm_outfile_check(const char *path, struct carm_err *err)
{
    struct carm_outfile *file = NULL;
    int rc = carm_outfile_open(path, &file, err);
    carm_outfile_close(file);
    return rc;
}

int carm_outfile_put(const char *path, const void *data, size_t size_bytes, struct carm_err *err)
{
    struct carm_outfile *file = NULL;
    int rc = carm_outfile_open(path, &file, err);
    if (!file) {
        return rc;
    }
    rc = carm_outfile_write(file, data, size_bytes, err);
    rc = rc ? rc : carm_outfile_commit(file, err);
    carm_outfile_close(file);
    return rc;
}

struct stream {
    struct carm_outfile *file;
    struct carm_err err; /* of the first write that failed */
};

static ssize_t take(void *context, const char *data, size_t size)
{
    struct stream *t = context;
    return carm_outfile_write(t->file, data, size, &t->err) ? -1 : (ssize_t)size;
}

static int put_stream(struct stream *t,
                      int (*put)(FILE *out, const void *context, struct carm_err *err),
                      const void *context, struct carm_err *err)
{
    const cookie_io_functions_t io = {.write = take};
    FILE *out = fopencookie(t, "w", io);
    if (!out) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to write a file");
    }
    int rc = put(out, context, err);
    const bool bad = ferror(out) != 0;
    if ((fclose(out) != 0 || bad) && rc == 0) {
        rc = carm_fail(err, CARM_EIO, "%s",
                       t->err.text[0] ? t->err.text : "a file cannot be written");
    }
    return rc ? rc : carm_outfile_commit(t->file, err);
}

int carm_outfile_print(const char *path,
                       int (*put)(FILE *out, const void *context, struct carm_err *err),
                       const void *context, struct carm_err *err)
{
    struct stream t = {NULL, {""}};
    if (!path) {
        return put(stdout, context, err);
    }
    int rc = carm_outfile_open(path, &t.file, err);
    rc = rc ? rc : put_stream(&t, put, context, err);
    carm_outfile_close(t.file);
    return rc;
}
