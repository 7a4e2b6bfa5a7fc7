/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm fleet build without MPI: what becomes of a node's measurement, rows, their file, and what rank
 * 0 makes of them. A shell stands in for carm build; "$1" in its script is the model's path. */
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <jansson.h>

#include "cli/fleet/nodes.h"
#include "tests/unit.h"

struct carm_command;

static const char MODEL[] = "tests/data/sample-model.json";

static const struct carm_fleet_who nobody = {
    .host = "nodeA", .job = "7", .boot_id = "b", .rank = 3};

/* Runs a script as the node's build; to be released with json_decref. */
static json_t *row_of(const char *script, double limit_seconds)
{
    char shell[] = "/bin/sh";
    char c[] = "-c";
    char text[512];
    char *argv[] = {shell, c, text, NULL};
    struct carm_fleet_node node;
    (void)snprintf(text, sizeof text, "%s", script);
    carm_fleet_node_start(&node, argv, limit_seconds, false);
    while (!carm_fleet_node_poll(&node)) {
        carm_fleet_nap();
    }
    char *line = carm_fleet_node_row(&node, &nobody);
    assert_non_null(line);
    assert_int_equal(line[strlen(line) - 1], '\n');
    assert_ptr_equal(strchr(line, '\n'), line + strlen(line) - 1);
    char folder[sizeof node.folder];
    memcpy(folder, node.folder, sizeof folder);
    carm_fleet_node_close(&node);
    assert_true(!*folder || access(folder, F_OK) != 0);
    json_t *row = json_loads(line, 0, NULL);
    free(line);
    assert_non_null(row);
    return row;
}

static void expect_row(const char *script, double limit_seconds, const char *status,
                       const char *reason)
{
    json_t *row = row_of(script, limit_seconds);
    assert_string_equal(json_string_value(json_object_get(row, "status")), status);
    const char *got = json_string_value(json_object_get(row, "reason"));
    assert_non_null(got);
    fail_if(!strstr(got, reason), "\"%s\" lacks \"%s\"", got, reason);
    assert_true(json_is_null(json_object_get(row, "model")));
    json_decref(row);
}

TEST(measures)
{
    char script[256];
    (void)snprintf(script, sizeof script, "cp %s \"$1\"", MODEL);
    json_t *row = row_of(script, 60.0);
    json_t *model = json_load_file(MODEL, 0, NULL);
    assert_non_null(model);
    assert_string_equal(json_string_value(json_object_get(row, "status")), "ok");
    assert_true(json_is_null(json_object_get(row, "reason")));
    assert_string_equal(json_string_value(json_object_get(row, "host")), "nodeA");
    assert_string_equal(json_string_value(json_object_get(row, "job")), "7");
    assert_int_equal(json_integer_value(json_object_get(row, "rank")), 3);
    assert_true(json_equal(json_object_get(row, "model"), model));
    json_decref(model);
    json_decref(row);
}

/* A folder as a killed process leaves it, an hour ago. returns its descriptor */
static int leave(const char *tmp, const char *name, char *path, size_t size)
{
    const struct timespec hour[2] = {{.tv_sec = time(NULL) - 3600}, {.tv_sec = time(NULL) - 3600}};
    char file[256];
    (void)snprintf(path, size, "%s/%s", tmp, name);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(file, sizeof file, "%s/model.json", path);
    const int made = open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(made >= 0 && close(made) == 0);
    assert_int_equal(utimensat(AT_FDCWD, path, hour, 0), 0);
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

TEST(removes_what_killed_ones_left)
{
    char tmp[] = "/tmp/carm-test-left-XXXXXX";
    char dead[128], live[128];
    assert_non_null(mkdtemp(tmp));
    assert_int_equal(setenv("TMPDIR", tmp, 1), 0);
    (void)close(leave(tmp, "carm-fleet-aaaaaa", dead, sizeof dead));
    const int fd = leave(tmp, "carm-fleet-bbbbbb", live, sizeof live);
    assert_int_equal(flock(fd, LOCK_EX | LOCK_NB), 0);
    expect_row("exit 3", 60.0, "failed", "status 3");
    assert_int_not_equal(access(dead, F_OK), 0);
    assert_int_equal(access(live, F_OK), 0);
    (void)close(fd);
    expect_row("exit 3", 60.0, "failed", "status 3");
    assert_int_equal(rmdir(tmp), 0);
    assert_int_equal(unsetenv("TMPDIR"), 0);
}

TEST(says_what_went_wrong)
{
    expect_row("echo warning >&2; echo 'carm: no nasm: install it' >&2; exit 1", 60.0, "failed",
               "no nasm: install it");
    expect_row("exit 3", 60.0, "failed", "ended with status 3 and printed no reason");
    expect_row("exit 0", 60.0, "failed", "model.json");
    expect_row("echo '{\"schema\":' >\"$1\"", 60.0, "failed", "the model");
    expect_row("kill -9 $$", 60.0, "killed", "signal 9");
    expect_row("echo last words >&2; kill -SEGV $$", 60.0, "killed", "last words");
    expect_row("kill -STOP $$", 1.0, "timeout", "time limit of 1 s");
    /* what it started holds its standard error open, and must not hold up the row */
    expect_row("sleep 100 & exit 4", 60.0, "failed", "status 4");
    /* much said: the end is kept */
    expect_row("seq 1 20000 >&2; echo the end >&2; exit 1", 60.0, "failed", "the end");
    expect_row("printf 'caf\\351 \\033[1m' >&2; exit 1", 60.0, "failed", "caf? ?[1m");
}

TEST(cannot_start)
{
    char *old = getenv("TMPDIR") ? strdup(getenv("TMPDIR")) : NULL;
    assert_int_equal(setenv("TMPDIR", "/nonexistent", 1), 0);
    expect_row("exit 0", 60.0, "failed", "set TMPDIR to a folder with room");
    assert_int_equal(old ? setenv("TMPDIR", old, 1) : unsetenv("TMPDIR"), 0);
    free(old);
    char nothing[] = "/nonexistent/carm";
    char *argv[] = {nothing, NULL};
    struct carm_fleet_node node;
    carm_fleet_node_start(&node, argv, 60.0, false);
    while (!carm_fleet_node_poll(&node)) {
        carm_fleet_nap();
    }
    char *line = carm_fleet_node_row(&node, &nobody);
    assert_non_null(line);
    assert_non_null(strstr(line, "cannot be started"));
    free(line);
    carm_fleet_node_close(&node);
}

/* A rank that is killed leaves no measurement behind. */
TEST(dies_with_its_rank)
{
    int ends[2];
    pid_t measuring = 0;
    assert_int_equal(pipe(ends), 0);
    const pid_t rank = fork();
    assert_true(rank >= 0);
    if (rank == 0) {
        char sleep[] = "/bin/sh";
        char c[] = "-c";
        char text[] = "sleep 100";
        char *argv[] = {sleep, c, text, NULL};
        struct carm_fleet_node node;
        carm_fleet_node_start(&node, argv, 60.0, false);
        (void)!write(ends[1], &node.pid, sizeof node.pid);
        (void)!write(ends[1], node.folder, sizeof node.folder);
        (void)pause();
        _exit(0);
    }
    char folder[PATH_MAX];
    assert_int_equal(read(ends[0], &measuring, sizeof measuring), sizeof measuring);
    assert_int_equal(read(ends[0], folder, sizeof folder), sizeof folder);
    assert_true(measuring > 1 && kill(measuring, 0) == 0);
    carm_fleet_nap(); /* until it is past its fork */
    assert_int_equal(kill(rank, SIGKILL), 0);
    assert_int_equal(waitpid(rank, NULL, 0), rank);
    /* gone, or a zombie that nobody waits for */
    char path[64];
    char stat[512];
    bool gone = false;
    for (int i = 0; i < 500 && !gone; i++) {
        (void)snprintf(path, sizeof path, "/proc/%ld/stat", (long)measuring);
        FILE *f = fopen(path, "r");
        gone = !f || !fgets(stat, sizeof stat, f) || strstr(stat, ") Z ");
        if (f) {
            (void)fclose(f);
        }
        carm_fleet_nap();
    }
    (void)kill(-measuring, SIGKILL);
    assert_true(gone);
    (void)rmdir(folder);
    (void)close(ends[0]);
    (void)close(ends[1]);
}

/* The child is no rank: it must not take itself for one. */
TEST(hides_the_launch)
{
    assert_int_equal(setenv("OMPI_COMM_WORLD_RANK", "5", 1), 0);
    assert_int_equal(setenv("SLURM_PROCID", "5", 1), 0);
    expect_row("env | grep -c '^OMPI_\\|^SLURM_' >&2; exit 1", 60.0, "failed", "0");
    assert_int_equal(unsetenv("OMPI_COMM_WORLD_RANK"), 0);
    assert_int_equal(unsetenv("SLURM_PROCID"), 0);
}

static char *contents(const char *path)
{
    static char text[65536];
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    (void)fclose(f);
    return text;
}

static void make_path(char *path, size_t size)
{
    const char *tmp = getenv("TMPDIR");
    (void)snprintf(path, size, "%s/carm-rows-XXXXXX", tmp ? tmp : "/tmp");
    const int fd = mkstemp(path);
    assert_true(fd >= 0);
    (void)close(fd);
}

TEST(appends_whole_rows)
{
    char path[4096];
    struct carm_fleet_file file;
    struct carm_fleet_file other;
    make_path(path, sizeof path);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fputs("{\"whole\":1}\n{\"cut\":", f);
    (void)fclose(f);
    assert_ok(carm_fleet_file_open(&file, path, &err));
    assert_refused(carm_fleet_file_open(&other, path, &err), -CARM_EIO, "another carm fleet build");
    assert_ok(carm_fleet_file_append(&file, "{\"new\":2}\n", &err));
    assert_string_equal(contents(path), "{\"whole\":1}\n{\"cut\":\n{\"new\":2}\n");

    /* no room for all of a row: nothing of it stays */
    const struct rlimit small = {.rlim_cur = 40, .rlim_max = RLIM_INFINITY};
    struct rlimit old;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    (void)signal(SIGXFSZ, SIG_IGN);
    const struct rlimit limit = {.rlim_cur = small.rlim_cur, .rlim_max = old.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    const int rc = carm_fleet_file_append(&file, "{\"much too long\":3}\n", &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(rc, -CARM_EIO);
    assert_string_equal(contents(path), "{\"whole\":1}\n{\"cut\":\n{\"new\":2}\n");
    assert_ok(carm_fleet_file_append(&file, "{\"next\":4}\n", &err));
    assert_string_equal(contents(path), "{\"whole\":1}\n{\"cut\":\n{\"new\":2}\n{\"next\":4}\n");
    assert_ok(carm_fleet_file_close(&file, &err));
    assert_ok(carm_fleet_file_close(&file, &err));
    (void)unlink(path);
}

TEST(gathers)
{
    char path[4096];
    struct carm_fleet_gather g;
    struct carm_fleet_peer peers[4] = {
        {.who = {.host = "a", .rank = 0}, .measures = 1},
        {.who = {.host = "a", .rank = 1}},
        {.who = {.host = "b", .rank = 2}, .measures = 1},
        {.who = {.host = "c", .rank = 3}, .measures = 1},
    };
    make_path(path, sizeof path);
    assert_ok(carm_fleet_gather_open(&g, peers, 4, path, &err));
    assert_int_equal(g.waiting, 3);
    char *ok = carm_fleet_row_text(&peers[0].who, "ok", NULL, "{}");
    char *bad = carm_fleet_row_text(&peers[2].who, "failed", "no \"room\"\n", NULL);
    assert_non_null(ok);
    assert_non_null(bad);
    carm_fleet_gather_take(&g, 0, ok);
    carm_fleet_gather_take(&g, 0, ok); /* twice, of one aside, of none: left out */
    carm_fleet_gather_take(&g, 1, ok);
    carm_fleet_gather_take(&g, 99, ok);
    carm_fleet_gather_take(&g, 2, bad);
    assert_int_equal(g.waiting, 1);
    carm_fleet_gather_silent(&g, "lost", "it is silent");
    assert_int_equal(g.waiting, 0);
    assert_true(g.peers[2].reported && !g.peers[3].reported);
    assert_refused(carm_fleet_gather_finish(&g, &err), -CARM_EIO, "2 of 3 nodes have no model");
    carm_fleet_gather_close(&g);
    char *text = contents(path);
    size_t lines = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
        static const char *const hosts[] = {"a", "b", "c"};
        static const char *const statuses[] = {"ok", "failed", "lost"};
        json_t *row = json_loads(line, 0, NULL);
        assert_non_null(row);
        assert_true(lines < 3);
        assert_string_equal(json_string_value(json_object_get(row, "host")), hosts[lines]);
        assert_string_equal(json_string_value(json_object_get(row, "status")), statuses[lines]);
        json_decref(row);
        lines++;
    }
    assert_int_equal(lines, 3);
    free(ok);
    free(bad);
    (void)unlink(path);
}

TEST(reads_rows)
{
    struct carm_fleet_row_said said;
    carm_fleet_row_read("{\"status\":\"ok\",\"reason\":null}\n", &said);
    assert_true(said.ok && !said.reason[0]);
    carm_fleet_row_read("{\"status\":\"timeout\",\"reason\":\"late\"}\n", &said);
    assert_true(!said.ok);
    assert_string_equal(said.status, "timeout");
    assert_string_equal(said.reason, "late");
    carm_fleet_row_read("rubbish", &said);
    assert_true(!said.ok);
    assert_string_equal(said.status, "failed");
    assert_null(carm_fleet_row_text(&nobody, "ok", NULL, "rubbish"));
}

TEST(knows_the_job)
{
    struct carm_fleet_who who;
    char host[256] = "";
    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    assert_int_equal(setenv("SLURM_JOB_ID", "12", 1), 0);
    carm_fleet_who_read(&who, 4);
    assert_string_equal(who.job, "12");
    assert_string_equal(who.host, host);
    assert_int_equal(who.rank, 4);
    assert_int_equal(strlen(who.boot_id), 36);
    assert_int_equal(setenv("SLURM_ARRAY_JOB_ID", "11", 1), 0);
    assert_int_equal(setenv("SLURM_ARRAY_TASK_ID", "2", 1), 0);
    carm_fleet_who_read(&who, -1);
    assert_string_equal(who.job, "11_2");
    (void)unsetenv("SLURM_JOB_ID");
    (void)unsetenv("SLURM_ARRAY_JOB_ID");
    (void)unsetenv("SLURM_ARRAY_TASK_ID");
}
