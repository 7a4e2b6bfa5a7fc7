/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/fleet/nodes.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"
#include "cli/opt.h"
#include "models/model.h"

enum { KILL_SECONDS = 5, ARGS_MAX = 64, CPUS_BYTES = 8192 };

static const char MODEL[] = "model.json";

void carm_fleet_nap(void)
{
    const struct timespec t = {.tv_nsec = 20000000L};
    nanosleep(&t, NULL);
}

/* The environment without the variables that make a process a rank. The child waits for the node
 * like a build started by hand. To be released with free. */
static char **plain_environment(void)
{
    static const char *const of_ranks[] = {"OMPI_", "PMIX_", "PMI_", "SLURM_"};
    size_t n = 0;
    while (environ[n]) {
        n++;
    }
    char **plain = calloc(n + 1, sizeof *plain);
    if (!plain) {
        return NULL;
    }
    size_t kept = 0;
    for (size_t i = 0; i < n; i++) {
        bool drop = false;
        for (size_t k = 0; k < sizeof of_ranks / sizeof *of_ranks; k++) {
            drop = drop || strncmp(environ[i], of_ranks[k], strlen(of_ranks[k])) == 0;
        }
        if (!drop) {
            plain[kept++] = environ[i];
        }
    }
    return plain;
}

/* Prepares the child before its exec, with calls that are safe after fork only. */
static void prepare_child(pid_t parent, int errors, const void *cpus, size_t cpus_bytes)
{
    setpgid(0, 0);
    /* the child dies with its rank */
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) {
        _exit(127);
    }
    /* without memory, the kernel should kill the child, not the rank that writes the row */
    const int score = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (score >= 0) {
        (void)!write(score, "1000", 4);
    }
    if (cpus_bytes) {
        sched_setaffinity(0, cpus_bytes, cpus);
    }
    const int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    dup2(null, STDIN_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(errors, STDERR_FILENO);
    close_range(3, ~0U, 0); /* among them MPI's sockets */
}

static int spawn(struct carm_fleet_node *node, char *const *argv, bool like_parent)
{
    unsigned char cpus[CPUS_BYTES];
    memset(cpus, 0, sizeof cpus);
    const size_t cpus_bytes =
        like_parent && sched_getaffinity(getppid(), sizeof cpus, (cpu_set_t *)(void *)cpus) == 0
            ? sizeof cpus
            : 0;
    char **plain = plain_environment();
    int ends[2];
    if (!plain) {
        return carm_fail(&node->failed, CARM_ENOMEM, "not enough memory to start carm build");
    }
    if (pipe2(ends, O_CLOEXEC) != 0) {
        free(plain);
        return carm_fail(&node->failed, CARM_EIO, "cannot make a pipe: %s", strerror(errno));
    }
    fcntl(ends[0], F_SETFL, O_NONBLOCK);
    const pid_t parent = getpid();
    const pid_t pid = fork();
    if (pid == 0) {
        prepare_child(parent, ends[1], cpus, cpus_bytes);
        execve(argv[0], argv, plain);
        static const char said[] = "carm build cannot be started: the program is missing\n";
        (void)!write(STDERR_FILENO, said, sizeof said - 1);
        _exit(127);
    }
    const int e = errno;
    free(plain);
    close(ends[1]);
    node->errors = ends[0];
    node->pid = pid;
    return pid > 0 ? 0
                   : carm_fail(&node->failed, CARM_EIO, "cannot start carm build: %s", strerror(e));
}

/* Removes the folder with the model, or with the unfinished file of a killed build. */
static void remove_folder(const char *folder)
{
    DIR *dir = *folder ? opendir(folder) : NULL;
    if (!dir) {
        return;
    }
    for (const struct dirent *e = readdir(dir); e; e = readdir(dir)) {
        unlinkat(dirfd(dir), e->d_name, 0); /* "." and ".." are refused */
    }
    closedir(dir);
    rmdir(folder);
}

static const char PREFIX[] = "carm-fleet-";

/* Removes the folders of killed processes of this user: a live process has locked its folder within a minute. */
static void remove_stale(const char *tmp)
{
    static const time_t minute = 60;
    DIR *dir = opendir(tmp);
    for (const struct dirent *e = dir ? readdir(dir) : NULL; e; e = readdir(dir)) {
        struct stat st;
        char path[PATH_MAX];
        if (strncmp(e->d_name, PREFIX, sizeof PREFIX - 1) != 0 ||
            strlen(e->d_name) != sizeof PREFIX - 1 + 6) {
            continue;
        }
        const int fd =
            openat(dirfd(dir), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0 && fstat(fd, &st) == 0 && st.st_uid == geteuid() &&
            time(NULL) - st.st_mtime > minute && flock(fd, LOCK_EX | LOCK_NB) == 0) {
            snprintf(path, sizeof path, "%.*s/%s", PATH_MAX / 2, tmp, e->d_name);
            remove_folder(path);
        }
        carm_fd_close(fd);
    }
    if (dir) {
        closedir(dir);
    }
}

static int make_folder(struct carm_fleet_node *node)
{
    const char *tmp = getenv("TMPDIR");
    tmp = tmp && *tmp == '/' && strlen(tmp) < PATH_MAX / 2 ? tmp : "/tmp";
    remove_stale(tmp);
    snprintf(node->folder, sizeof node->folder, "%s/%sXXXXXX", tmp, PREFIX);
    if (mkdtemp(node->folder)) {
        node->lock = open(node->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (node->lock >= 0) {
            flock(node->lock, LOCK_EX | LOCK_NB);
        }
        return 0;
    }
    carm_fail(&node->failed, CARM_EIO,
              "cannot make %.256s: %s; set TMPDIR to a folder with room on every node",
              node->folder, strerror(errno));
    node->folder[0] = '\0';
    return -CARM_EIO;
}

void carm_fleet_node_start(struct carm_fleet_node *node, char *const *argv, double limit_seconds,
                           bool like_parent)
{
    char path[PATH_MAX + sizeof MODEL + 1];
    char output[] = "--output";
    char *all[ARGS_MAX + 3];
    size_t n = 0;
    *node = (struct carm_fleet_node){.pid = -1,
                                     .errors = -1,
                                     .lock = -1,
                                     .limit_seconds = limit_seconds,
                                     .deadline = carm_seconds_now() + limit_seconds};
    while (n < ARGS_MAX && argv[n]) {
        all[n] = argv[n];
        n++;
    }
    if (make_folder(node)) {
        return;
    }
    snprintf(path, sizeof path, "%s/%s", node->folder, MODEL);
    all[n] = output;
    all[n + 1] = path;
    all[n + 2] = NULL;
    spawn(node, all, like_parent);
}

/* Keeps the end of the child's output. */
static void listen_to(struct carm_fleet_node *node)
{
    char now[1024];
    for (;;) {
        const ssize_t n = node->errors < 0 ? 0 : read(node->errors, now, sizeof now);
        if (n <= 0) {
            return;
        }
        const size_t room = sizeof node->said - 1 - node->nsaid;
        if ((size_t)n > room) {
            const size_t drop = (size_t)n - room;
            memmove(node->said, node->said + drop, node->nsaid - drop);
            node->nsaid -= drop;
        }
        memcpy(node->said + node->nsaid, now, (size_t)n);
        node->nsaid += (size_t)n;
        node->said[node->nsaid] = '\0';
    }
}

bool carm_fleet_node_poll(struct carm_fleet_node *node)
{
    listen_to(node);
    if (node->pid <= 0) {
        return true;
    }
    const pid_t pid = waitpid(node->pid, &node->status, WNOHANG);
    if (pid == node->pid || (pid < 0 && errno != EINTR)) {
        listen_to(node);
        kill(-node->pid, SIGKILL); /* also the child's own processes, such as an assembler */
        node->pid = -1;
        return true;
    }
    const double now = carm_seconds_now();
    if (!node->stopped && now >= node->deadline) {
        carm_fleet_node_stop(node, NULL);
    }
    /* a process that hangs in the kernel does not die, so the row must not wait for it */
    node->unkillable = node->stopped && now >= node->deadline + KILL_SECONDS;
    return node->unkillable;
}

void carm_fleet_node_stop(struct carm_fleet_node *node, const char *reason)
{
    if (node->pid <= 0 || node->stopped) {
        return;
    }
    node->stopped = true;
    node->stop_reason = reason;
    node->deadline = carm_seconds_now();
    kill(-node->pid, SIGKILL);
}

/* Copies the last line of the child's output, without "carm: " and without characters that a row
 * may not have. */
static void last_words(const struct carm_fleet_node *node, char *dst, size_t size)
{
    char said[sizeof node->said];
    memcpy(said, node->said, sizeof said);
    size_t end = node->nsaid;
    while (end > 0 && said[end - 1] == '\n') {
        end--;
    }
    said[end] = '\0';
    const char *line = strrchr(said, '\n');
    line = line ? line + 1 : said;
    line = strncmp(line, "carm: ", 6) == 0 ? line + 6 : line;
    carm_text_clean(dst, size, line, false);
}

static char *ok_row(const struct carm_fleet_node *node, const struct carm_fleet_who *who)
{
    char path[PATH_MAX + sizeof MODEL + 1];
    struct carm_err err = {""};
    struct carm_model *model = NULL;
    char *text = NULL;
    size_t size = 0;
    snprintf(path, sizeof path, "%s/%s", node->folder, MODEL);
    int rc = carm_model_load(path, &text, &size, &err);
    rc = rc ? rc : carm_model_parse(text, size, "the model", &model, &err);
    char *row =
        carm_fleet_row_text(who, rc ? "failed" : "ok", rc ? err.text : NULL, rc ? NULL : text);
    carm_model_free(model);
    free(text);
    return row;
}

char *carm_fleet_node_row(const struct carm_fleet_node *node, const struct carm_fleet_who *who)
{
    char words[300];
    char reason[512];
    last_words(node, words, sizeof words);
    const char *colon = *words ? ": " : "";
    if (node->failed.text[0]) {
        return carm_fleet_row_text(who, "failed", node->failed.text, NULL);
    }
    const bool exited = !node->unkillable && WIFEXITED(node->status);
    if (exited && WEXITSTATUS(node->status) == 0) {
        return ok_row(node, who);
    }
    if (node->stopped && node->stop_reason) {
        return carm_fleet_row_text(who, "killed", node->stop_reason, NULL);
    }
    if (node->stopped) {
        snprintf(reason, sizeof reason, "did not finish within its time limit of %g s%s%s%s",
                 node->limit_seconds,
                 node->unkillable ? ", and hangs in the kernel, where it cannot be killed" : "",
                 colon, words);
        return carm_fleet_row_text(who, "timeout", reason, NULL);
    }
    if (!exited) {
        const int sig = WTERMSIG(node->status);
        snprintf(reason, sizeof reason, "carm build was ended by signal %d (%s)%s%s%s", sig,
                 strsignal(sig), sig == SIGKILL ? "; has the node run out of memory?" : "", colon,
                 words);
        return carm_fleet_row_text(who, "killed", reason, NULL);
    }
    if (*words) {
        return carm_fleet_row_text(who, "failed", words, NULL);
    }
    snprintf(reason, sizeof reason, "carm build ended with status %d and printed no reason",
             WEXITSTATUS(node->status));
    return carm_fleet_row_text(who, "failed", reason, NULL);
}

void carm_fleet_node_close(struct carm_fleet_node *node)
{
    carm_fleet_node_stop(node, "stopped");
    const double end = carm_seconds_now() + KILL_SECONDS;
    while (!carm_fleet_node_poll(node) && carm_seconds_now() < end) {
        carm_fleet_nap();
    }
    if (node->errors >= 0) {
        close(node->errors);
        node->errors = -1;
    }
    remove_folder(node->folder);
    node->folder[0] = '\0';
    if (node->lock >= 0) {
        close(node->lock);
        node->lock = -1;
    }
}

int carm_fleet_gather_open(struct carm_fleet_gather *g, const struct carm_fleet_peer *peers,
                           size_t n, const char *output, struct carm_err *err)
{
    *g = (struct carm_fleet_gather){.n = n, .file.fd = -1, .started = carm_seconds_now()};
    g->peers = calloc(n, sizeof *g->peers);
    if (!g->peers) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for %zu ranks", n);
    }
    memcpy(g->peers, peers, n * sizeof *peers);
    for (size_t i = 0; i < n; i++) {
        g->nodes += g->peers[i].measures ? 1 : 0;
    }
    g->waiting = g->nodes;
    const int rc = carm_fleet_file_open(&g->file, output, err);
    if (rc) {
        free(g->peers);
        g->peers = NULL;
    }
    return rc;
}

/* Prints "carm: nodeA (rank 3): failed: ..." */
static void say(const struct carm_fleet_who *who, const char *status, const char *reason)
{
    char rank[32] = "";
    if (who->rank >= 0) {
        snprintf(rank, sizeof rank, " (rank %d)", who->rank);
    }
    carm_say_error(0, "%s%s: %s%s%s", who->host, rank, status, *reason ? ": " : "", reason);
}

/* Prints a line at every tenth of the nodes, since output under mpirun is not a terminal. */
static void say_progress(struct carm_fleet_gather *g)
{
    const size_t done = g->nodes - g->waiting;
    const size_t tenth = 10 * done / g->nodes;
    if (tenth > g->told && g->waiting > 0) {
        fprintf(stderr, "%zu of %zu nodes have reported, %.0f s\n", done, g->nodes,
                carm_seconds_now() - g->started);
    }
    g->told = tenth;
}

/* Appends a row without the model, in place of a row for which the disk had no room. */
static void append_short(struct carm_fleet_gather *g, const struct carm_fleet_who *who,
                         const struct carm_err *why)
{
    char reason[sizeof why->text + 64];
    snprintf(reason, sizeof reason, "the row was not kept: %s", why->text);
    char *line = carm_fleet_row_text(who, "failed", reason, NULL);
    if (!line || carm_fleet_file_append(&g->file, line, NULL)) {
        g->unkept++;
    }
    say(who, "failed", reason);
    free(line);
}

static void put_row(struct carm_fleet_gather *g, struct carm_fleet_peer *peer, const char *line)
{
    struct carm_fleet_row_said said = {.status = "failed", .reason = "not enough memory"};
    struct carm_err err = {"not enough memory for the row"};
    peer->rowed = 1;
    g->waiting--;
    if (line) {
        carm_fleet_row_read(line, &said);
    }
    if (!line || carm_fleet_file_append(&g->file, line, &err)) {
        append_short(g, &peer->who, &err);
    } else if (said.ok) {
        g->ok++;
    } else {
        say(&peer->who, said.status, said.reason);
    }
    say_progress(g);
}

void carm_fleet_gather_take(struct carm_fleet_gather *g, size_t rank, const char *line)
{
    struct carm_fleet_peer *peer = rank < g->n ? &g->peers[rank] : NULL;
    if (peer && peer->measures && !peer->rowed) {
        peer->reported = 1;
        put_row(g, peer, line);
    }
}

void carm_fleet_gather_silent(struct carm_fleet_gather *g, const char *status, const char *reason)
{
    for (size_t i = 0; i < g->n; i++) {
        if (g->peers[i].measures && !g->peers[i].rowed) {
            char *line = carm_fleet_row_text(&g->peers[i].who, status, reason, NULL);
            put_row(g, &g->peers[i], line);
            free(line);
        }
    }
}

int carm_fleet_gather_finish(struct carm_fleet_gather *g, struct carm_err *err)
{
    struct carm_err why = {""};
    const int rc = carm_fleet_file_close(&g->file, &why);
    const size_t aside = g->n - g->nodes;
    printf("%zu of %zu node%s measured in %.1f s", g->ok, g->nodes, g->nodes == 1 ? "" : "s",
           carm_seconds_now() - g->started);
    if (aside) {
        printf(" (%zu rank%s did not measure: one rank measures each node)", aside,
               aside == 1 ? "" : "s");
    }
    printf(": %s\n", g->file.name);
    if (g->ok) {
        printf("next: carm fleet show %s\n", g->file.name);
    }
    if (rc) {
        return carm_fail(err, CARM_EIO, "%s", why.text);
    }
    if (g->unkept) {
        return carm_fail(err, CARM_EIO,
                         "%zu of %zu rows were not kept in %.256s: make room, then measure these "
                         "nodes again",
                         g->unkept, g->nodes, g->file.name);
    }
    return g->ok == g->nodes
               ? 0
               : carm_fail(err, CARM_EIO, "%zu of %zu nodes have no model: %.256s says why",
                           g->nodes - g->ok, g->nodes, g->file.name);
}

void carm_fleet_gather_close(struct carm_fleet_gather *g)
{
    carm_fleet_file_close(&g->file, NULL);
    free(g->peers);
    g->peers = NULL;
}
