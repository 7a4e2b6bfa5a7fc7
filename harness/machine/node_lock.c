/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/machine/node_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/job.h"
#include "base/number.h"

enum {
    POLL_MS = 100,
    /* for this time after a measurement, a late rank of the same launch does not measure again */
    REMEMBERED_SECONDS = 600,
    BUSY = CARM_NODE_ASIDE + 1, /* other processes measure for longer than the wait */
};

/* The process that has the lock, or had it last. */
struct record {
    bool known;
    bool done;
    bool measures;
    long pid, rank;
    uint64_t identity;
    char what[32], label[64];
    time_t written;
};

/* Whether a folder serves all users of the node: everybody may write to it, or nobody. TMPDIR
 * does not serve: schedulers give each job a TMPDIR of its own. */
static bool is_common(const char *folder)
{
    struct stat st;
    return stat(folder, &st) == 0 && S_ISDIR(st.st_mode) && (st.st_mode & S_IWOTH);
}

/* Opens the lock file, which may belong to another user. Links are not followed. The file is
 * created only when it does not exist: the kernel's protected_regular refuses O_CREAT on another
 * user's file. */
static int open_file(const char *path)
{
    const int flags = O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;
    struct stat st;
    int fd = -1;
    for (int i = 0; i < 3 && fd < 0; i++) { /* another process may create or remove the file
                                             * between the two calls */
        fd = open(path, flags);
        if (fd < 0 && errno == ENOENT) {
            fd = open(path, flags | O_CREAT | O_EXCL, 0666);
            if (fd >= 0) {
                fchmod(fd, 0666); /* other users need to open the file, whatever the umask */
            }
        }
    }
    if (fd >= 0 && (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode))) {
        close(fd);
        fd = -1;
    }
    return fd;
}

/* returns false: the only file to be found is a link, which could lead each process to another file */
static bool find_file(struct carm_node_lock *lock, const char *const *folders)
{
    bool link = false;
    char host[CARM_HOST_MAX];
    carm_host_name(host); /* nodes without disks may share a folder */
    for (size_t i = 0; folders[i] && lock->fd < 0; i++) {
        if (is_common(folders[i])) {
            snprintf(lock->path, sizeof lock->path, "%.128s/carm-%.100s.lock", folders[i], host);
            lock->fd = open_file(lock->path);
            link = link || (lock->fd < 0 && errno == ELOOP);
        }
    }
    return lock->fd >= 0 || !link;
}

/* The next word of a record, ended by a blank; *at moves behind the blank. NULL when there is no
 * word, or when the word is longer than `most`. */
static const char *next_word(char **at, size_t most)
{
    char *word = *at;
    const size_t length = strcspn(word, " \n");
    if (length == 0 || length > most || !word[length]) {
        return NULL;
    }
    word[length] = '\0';
    *at = word + length + 1;
    return word;
}

static void read_record(const struct carm_node_lock *lock, struct record *r)
{
    static const size_t most[] = {11, 15, 19, 19, 16, sizeof r->what - 1};
    enum { MARK, STATE, PID, RANK, IDENTITY, WHAT, WORDS };
    const char *words[WORDS];
    char text[CARM_NODE_RECORD_MAX + 1] = "";
    char *at = text;
    struct stat st;
    memset(r, 0, sizeof *r);
    const ssize_t n = pread(lock->fd, text, CARM_NODE_RECORD_MAX, 0);
    if (n <= 0 || fstat(lock->fd, &st) != 0) {
        return;
    }
    for (size_t i = 0; i < WORDS; i++) {
        words[i] = next_word(&at, most[i]);
        if (!words[i]) {
            return;
        }
    }
    r->known = strcmp(words[MARK], "carm-node/1") == 0;
    r->done = strcmp(words[STATE], "done") == 0;
    r->measures = strcmp(words[STATE], "measures") == 0;
    r->pid = strtol(words[PID], NULL, 10);
    r->rank = strtol(words[RANK], NULL, 10);
    r->identity = strtoull(words[IDENTITY], NULL, 16);
    snprintf(r->what, sizeof r->what, "%s", words[WHAT]);
    snprintf(r->label, sizeof r->label, "%.*s", (int)strcspn(at, "\n"), at);
    for (size_t used = strlen(r->label); used > 0 && r->label[used - 1] == ' ';) {
        r->label[--used] = '\0';
    }
    r->written = st.st_mtime;
}

/* One write of a fixed length, so that no reader sees half a record. */
static void write_record(const struct carm_node_lock *lock, const char *state)
{
    char text[CARM_NODE_RECORD_MAX + 1];
    char line[CARM_NODE_RECORD_MAX];
    snprintf(line, sizeof line, "carm-node/1 %s %ld %ld %016llx %s %s", state, (long)getpid(),
             lock->rank, (unsigned long long)lock->identity, lock->what, lock->label);
    snprintf(text, sizeof text, "%-*s\n", CARM_NODE_RECORD_MAX - 1, line);
    if (pwrite(lock->fd, text, CARM_NODE_RECORD_MAX, 0) < 0) {
        return; /* the lock holds without a record */
    }
}

/* Whether another rank of this launch measures, or has just measured, for the same output. busy:
 * another process has the lock */
static bool is_ours(const struct carm_node_lock *lock, const struct carm_job *job,
                    const struct record *r, bool busy)
{
    const bool same =
        job->step[0] && r->known && r->identity == lock->identity && r->rank != job->rank;
    return same && (busy || (r->done && time(NULL) - r->written < REMEMBERED_SECONDS));
}

static void say_aside(const struct carm_observer *observer, const struct carm_job *job,
                      const struct record *r)
{
    carm_observer_say(observer, "rank %ld: rank %ld %s this node, nothing is left to do here",
                      job->rank, r->rank, r->done ? "has measured" : "measures");
}

/* The process that measures and since when, as the beginning of a sentence. */
static void name_holder(const struct carm_node_lock *lock, const struct record *r, char *text,
                        size_t size)
{
    /* a process that locks the file without writing a record, or after the writer was killed, is
     * not named */
    if (r->known && r->measures && (kill((pid_t)r->pid, 0) == 0 || errno != ESRCH)) {
        const double seconds = difftime(time(NULL), r->written);
        snprintf(text, size, "process %ld (carm %s%s%.60s) has measured this node for %.0f s",
                 r->pid, r->what, r->label[0] ? ", " : "", r->label, seconds > 0.0 ? seconds : 0.0);
    } else {
        snprintf(text, size, "another process has locked this node (`fuser %.150s` names it)",
                 lock->path);
    }
}

static int parse_wait(const char *word, double *seconds, struct carm_err *err)
{
    if (!carm_number_between(word, 0.0, 1e6, seconds)) {
        return carm_fail(err, CARM_EINVAL,
                         "--wait needs seconds from 0 (do not wait) to 1000000, not \"%.40s\"",
                         word);
    }
    return 0;
}

/* Waits for the lock. returns BUSY after wait_seconds, or as carm_node_lock_open */
static int take_turn(struct carm_node_lock *lock, const struct carm_job *job, double wait_seconds,
                     const struct carm_observer *observer, struct carm_err *err)
{
    const struct timespec pause = {.tv_nsec = POLL_MS * 1000000L};
    const double begin = carm_seconds_now();
    char holder[256];
    struct record r;
    for (unsigned polls = 0;; polls++) {
        const bool busy = flock(lock->fd, LOCK_EX | LOCK_NB) != 0;
        if (busy && errno != EWOULDBLOCK && errno != EINTR) {
            return carm_fail(err, CARM_EIO, "%.200s cannot be locked: %s", lock->path,
                             strerror(errno));
        }
        read_record(lock, &r);
        if (is_ours(lock, job, &r, busy)) {
            say_aside(observer, job, &r);
            return CARM_NODE_ASIDE;
        }
        if (!busy) {
            return 0;
        }
        name_holder(lock, &r, holder, sizeof holder);
        /* at the second look: by then the holder has written its record */
        if (polls > 0 && carm_seconds_now() - begin >= wait_seconds) {
            carm_fail(err, CARM_EIO, "%s, and --wait %.0f is over: try again later, or wait longer",
                      holder, wait_seconds);
            return BUSY;
        }
        if (polls == 1) {
            carm_observer_say(observer, "waiting for at most %.0f s (--wait): %s", wait_seconds,
                              holder);
        }
        if (carm_observer_stopped(observer)) {
            return carm_fail(err, CARM_EINTR, "interrupted while another process measured");
        }
        nanosleep(&pause, NULL);
    }
}

int carm_node_lock_open_in(struct carm_node_lock *lock, const char *const *folders,
                           const struct carm_job *job, const char *command, const char *output,
                           const char *wait, const struct carm_observer *observer,
                           struct carm_err *err)
{
    struct carm_err why = {"no folder for a lock is writable for all"};
    double wait_seconds;
    memset(lock, 0, sizeof *lock);
    lock->fd = -1;
    if (parse_wait(wait ? wait : CARM_NODE_WAIT, &wait_seconds, err)) {
        return -CARM_EINVAL;
    }
    lock->rank = job->rank;
    for (int i = 0; i < 3; i++) {
        const char *word = (const char *[]){job->step, command, output}[i];
        lock->identity = carm_hash_bytes(lock->identity, word, strlen(word));
    }
    snprintf(lock->what, sizeof lock->what, "%s", command);
    snprintf(lock->label, sizeof lock->label, "%s%.50s", job->id[0] ? "job " : "", job->id);
    if (!find_file(lock, folders)) {
        return carm_fail(
            err, CARM_EIO,
            "%.200s is a link, so it locks nothing: remove it, or set CARM_LOCK_DIR to a folder that "
            "all users of this node may write to",
            lock->path);
    }
    int rc = lock->fd < 0 ? -CARM_EIO : take_turn(lock, job, wait_seconds, observer, &why);
    if (rc == 0) {
        write_record(lock, "measures");
        return 0;
    }
    if (lock->fd >= 0) {
        close(lock->fd);
        lock->fd = -1;
    }
    if (rc == -CARM_EIO) { /* a model without a lock is better than none */
        carm_observer_say(observer,
                          "warning: no lock on this node (%s): nothing else should measure "
                          "here meanwhile",
                          why.text);
        return 0;
    }
    rc = rc == BUSY ? -CARM_EIO : rc;
    return rc < 0 ? carm_fail(err, (enum carm_error)(-rc), "%s", why.text) : rc;
}

int carm_node_lock_open(struct carm_node_lock *lock, const char *command, const char *output,
                        const char *wait, const struct carm_observer *observer,
                        struct carm_err *err)
{
    static const char *const usual[] = {"/run/lock", "/dev/shm", "/tmp", NULL};
    const char *named = getenv("CARM_LOCK_DIR");
    const char *const only[] = {named, NULL};
    const char *const *folders = named && *named ? only : usual;
    struct carm_job job;
    carm_job_read(&job);
    return carm_node_lock_open_in(lock, folders, &job, command, output, wait, observer, err);
}

void carm_node_lock_close(struct carm_node_lock *lock, bool done)
{
    if (lock->fd < 0) {
        return;
    }
    write_record(lock, done ? "done" : "failed");
    close(lock->fd);
    lock->fd = -1;
}

/* Tasks that run or wait for a processor now, this one included; 0 = unknown. */
static int runnable_tasks(void)
{
    int running = 0;
    FILE *f = fopen("/proc/loadavg", "r");
    if (f) {
        if (fscanf(f, "%*f %*f %*f %d/", &running) != 1) { // NOLINT(cert-err34-c): the kernel's
            running = 0;
        }
        fclose(f);
    }
    return running;
}

void carm_node_warn(const struct carm_observer *observer, const struct carm_job *job,
                    const struct carm_topo *topo)
{
    const int nice = getpriority(PRIO_PROCESS, 0);
    if (nice > 0 && runnable_tasks() > 1) {
        carm_observer_say(
            observer,
            "warning: carm runs with nice %d, so other processes go first: run it without nice, or when "
            "nothing else runs",
            nice);
    }
    if (!job->ranked || topo->pus >= topo->machine_pus) {
        return;
    }
    carm_observer_say(observer,
                      "warning: this rank may use %d of %d hardware threads, and measures them "
                      "alone: %s measures the node",
                      topo->pus, topo->machine_pus,
                      job->mpirun ? "mpirun --bind-to none with one rank for each node"
                                  : "srun --exclusive --ntasks-per-node=1 --cpu-bind=none");
}
