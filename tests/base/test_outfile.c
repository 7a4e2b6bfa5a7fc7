/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Files that replace their target: mode and owner, and what killed processes left. */
#include <fcntl.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/job.h"
#include "base/outfile.h"
#include "tests/unit.h"

enum { OTHER_USER = 4321, OTHER_GROUP = 4322 }; /* numbers need no names */

static char folder[64];

static int set_up(void **state)
{
    memcpy(folder, "/tmp/carm-outfile-XXXXXX", 25);
    (void)umask(022);
    return mkdtemp(folder) && chmod(folder, 0777) == 0 && chdir(folder) == 0 ? 0 : -1;
}

static int tear_down(void **state)
{
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static void make_file(const char *name, mode_t mode)
{
    const int fd = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(fchmod(fd, mode), 0);
    assert_int_equal(close(fd), 0);
}

static struct stat put(const char *name)
{
    struct stat st;
    assert_int_equal(carm_outfile_put(name, "new\n", 4, NULL), 0);
    assert_int_equal(stat(name, &st), 0);
    assert_int_equal(st.st_size, 4);
    return st;
}

TEST_BETWEEN(mode, set_up, tear_down)
{
    static const mode_t modes[] = {0600, 0640, 0664, 0666, 0755};
    assert_int_equal(put("file").st_mode & 07777, 0644);
    for (size_t i = 0; i < sizeof modes / sizeof *modes; i++) {
        assert_int_equal(chmod("file", modes[i]), 0);
        assert_int_equal(put("file").st_mode & 07777, modes[i]);
    }
    assert_int_equal(unlink("file"), 0);
}

TEST_BETWEEN(owner, set_up, tear_down)
{
    skip_if(getuid() != 0, "only root makes files of others");
    make_file("file", 0640);
    assert_int_equal(chown("file", OTHER_USER, OTHER_GROUP), 0);
    struct stat st = put("file");
    assert_int_equal(st.st_uid, OTHER_USER);
    assert_int_equal(st.st_gid, OTHER_GROUP);
    assert_int_equal(st.st_mode & 07777, 0640);
    /* who may not give the file to its group gives his own group nothing */
    assert_int_equal(chown("file", 0, 0), 0);
    const pid_t pid = fork();
    if (pid == 0) {
        _exit(setgroups(0, NULL) || setgid(OTHER_GROUP) || setuid(OTHER_USER) ||
              carm_outfile_put("file", "new\n", 4, NULL));
    }
    int status = 1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(status, 0);
    assert_int_equal(stat("file", &st), 0);
    assert_int_equal(st.st_uid, OTHER_USER);
    assert_int_equal(st.st_mode & 07777, 0600);
    assert_int_equal(unlink("file"), 0);
}

/* Only temporary files of processes of this host that are gone are removed. */
TEST_BETWEEN(stale, set_up, tear_down)
{
    enum { DEAD, LOCKED, ALIVE, ELSEWHERE, NAMELESS, N };
    char names[N][CARM_HOST_MAX + 64];
    char host[CARM_HOST_MAX];
    carm_host_name(host);
    const pid_t gone = fork();
    if (gone == 0) {
        _exit(0);
    }
    assert_int_equal(waitpid(gone, NULL, 0), gone);
    (void)snprintf(names[DEAD], sizeof *names, ".carm-%s-%ld-0.tmp", host, (long)gone);
    (void)snprintf(names[LOCKED], sizeof *names, ".carm-%s-%ld-1.tmp", host, (long)gone);
    (void)snprintf(names[ALIVE], sizeof *names, ".carm-%s-%ld-7.tmp", host, (long)getppid());
    (void)snprintf(names[ELSEWHERE], sizeof *names, ".carm-%s.other-%ld-0.tmp", host, (long)gone);
    (void)snprintf(names[NAMELESS], sizeof *names, ".carm-%s-%ld-0.tmp.keep", host, (long)gone);
    for (int i = 0; i < N; i++) {
        make_file(names[i], 0600);
    }
    const int locked = open(names[LOCKED], O_RDONLY | O_CLOEXEC);
    assert_int_equal(flock(locked, LOCK_EX), 0);
    (void)put("file");
    for (int i = 0; i < N; i++) {
        assert_int_equal(access(names[i], F_OK), i == DEAD ? -1 : 0);
        assert_true(i == DEAD || unlink(names[i]) == 0);
    }
    assert_int_equal(close(locked), 0);
    assert_int_equal(unlink("file"), 0);
}

/* A file that is not written leaves nothing behind, but what others put there. */
TEST_BETWEEN(folders, set_up, tear_down)
{
    struct carm_outfile *file = NULL;
    assert_int_equal(carm_outfile_check("a/b/c/file", NULL), 0);
    assert_int_equal(access("a", F_OK), -1);
    assert_int_equal(mkdir("a", 0777), 0);
    assert_int_equal(carm_outfile_check("a/b/file", NULL), 0);
    assert_int_equal(access("a/b", F_OK), -1);
    assert_int_equal(access("a", F_OK), 0);
    assert_int_equal(carm_outfile_open("a/b/c/file", &file, NULL), 0);
    make_file("a/b/other", 0600);
    carm_outfile_close(file);
    assert_int_equal(access("a/b/c", F_OK), -1);
    assert_int_equal(unlink("a/b/other"), 0);
    put("a/b/file");
    assert_int_equal(unlink("a/b/file"), 0);
    assert_int_equal(rmdir("a/b"), 0);
    assert_int_equal(rmdir("a"), 0);
}

TEST_BETWEEN(dangling_link, set_up, tear_down)
{
    struct stat st;
    assert_int_equal(mkdir("a", 0777), 0);
    assert_int_equal(symlink("a/second", "first"), 0);
    assert_int_equal(symlink("../target", "a/second"), 0);
    put("first");
    assert_int_equal(lstat("first", &st), 0);
    assert_true(S_ISLNK(st.st_mode));
    assert_int_equal(lstat("target", &st), 0);
    assert_true(S_ISREG(st.st_mode));
    assert_int_equal(unlink("first"), 0);
    assert_int_equal(unlink("a/second"), 0);
    assert_int_equal(unlink("target"), 0);
    assert_int_equal(rmdir("a"), 0);
}
