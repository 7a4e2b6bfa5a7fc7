/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading of fleets: what is left out of a text, rows, broken and old files, folders. */
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/json_scan.h"
#include "harness/machine/share.h"
#include "models/file/fleet/read.h"
#include "models/file/model.h"
#include "models/fleet/take.h"
#include "models/latency.h"
#include "tests/models/fleet/generate.h"
#include "tests/folder.h"

static const struct carm_fleet_options options = {.fdr = 0.01, .min_share = 0.01};

static size_t piece = SIZE_MAX; /* the most bytes that a read gives */
static int stops;               /* errno of reads: EINTR of every second one, another of all */

ssize_t read(int fd, void *to, size_t n)
{
    static bool stopped;
    if (stops) {
        stopped = stops != EINTR || !stopped;
    }
    if (stops && stopped) {
        errno = stops;
        return -1;
    }
    return syscall(SYS_read, fd, to, n < piece ? n : piece);
}

/* Reads a path in the folder. */
static int read_fleet(const char *name, const struct carm_fleet_options *o, struct carm_fleet **f)
{
    char *paths[] = {path_of(name), NULL};
    return carm_fleet_read(paths, 1, o, f, &err);
}

static bool find(const char *text, const char *name, struct carm_span *span)
{
    return carm_span_find(text, strlen(text), &(struct carm_span){name, strlen(name)}, 1, span);
}

TEST(members)
{
    struct carm_span s;
    assert_true(find(" { \"a\" : [1,{\"b\":\"]}\\\"\"}] , \"b\":-1e5 }\n", "a", &s));
    assert_int_equal(s.size, strlen("[1,{\"b\":\"]}\\\"\"}]"));
    assert_true(find("{\"a\":[],\"b\":null}", "b", &s));
    assert_memory_equal(s.at, "null", 4);
    assert_int_equal(s.size, 4);
    assert_true(find("{\"x\":{\"b\":1}}", "b", &s)); /* not the object's own */
    assert_null(s.at);
    assert_true(find("{}", "b", &s));
    static const char *const bad[] = {"",
                                      "[]",
                                      "{",
                                      "{\"a\"",
                                      "{\"a\":}",
                                      "{\"a\":1",
                                      "{\"a\":1,",
                                      "{\"a\":1}x",
                                      "{\"a\":[1}]}",
                                      "{\"a\":\"x}",
                                      "{\"a\":\"\\",
                                      "{a:1}",
                                      "{\"a\":[1}}",
                                      "{\"a\":1 \"b\":2}",
                                      "{\"b\":1,\"b\":2}"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        fail_if(find(bad[i], "b", &s), "taken: %s", bad[i]);
    }
    char deep[300] = "{\"a\":";
    memset(deep + 5, '[', 200);
    assert_false(find(deep, "a", &s));
}

static char *text_of(const char *host, int hour)
{
    struct carm_model *m = gen_model(host, hour);
    char *text = carm_model_to_json(m);
    carm_model_free(m);
    if (!text) {
        abort();
    }
    return text;
}

/* A text with the first `what` replaced, to be released with free. */
static char *replace(const char *text, const char *what, const char *by)
{
    const char *at = strstr(text, what);
    const size_t size = strlen(text) + strlen(by) + 1;
    char *out = malloc(size);
    if (!at || !out) {
        abort();
    }
    (void)snprintf(out, size, "%.*s%s%s", (int)(at - text), text, by, at + strlen(what));
    return out;
}

/* What the light reader takes is what the full one takes; the curves may be anything. */
TEST(light_is_the_same)
{
    struct carm_model *full = NULL;
    uint64_t seed = 1;
    struct carm_model *drawn = gen_model("a", 0);
    gen_noise(drawn, 0.1, 0.1, 0.01, &seed);
    drawn->roofs[1].dram_peak.bandwidth = 7e9;
    (void)snprintf(drawn->roofs[1].dram_peak.code, CARM_NAME_MAX, "A");
    drawn->roofs[0].memory[3].disturbed = drawn->roofs[1].compute[2].disturbed = true;
    char *text = carm_model_to_json(drawn);
    carm_model_free(drawn);
    char *curves = replace(text, "\"curves\": []", "\"curves\": [{\"nonsense\": [1, 2, \"x]\"]}]");
    struct carm_model *light = carm_model_parse_lean(curves, strlen(curves));
    assert_non_null(light);
    assert_ok(carm_model_parse(text, strlen(text), "full", &full, &err));
    assert_string_equal(light->machine.cpu, full->machine.cpu);
    assert_int_equal(light->nroofs, full->nroofs);
    for (size_t i = 0; i < full->nroofs; i++) {
        const struct carm_roofs *a = &light->roofs[i];
        const struct carm_roofs *b = &full->roofs[i];
        assert_string_equal(a->isa, b->isa);
        assert_string_equal(a->precision, b->precision);
        assert_int_equal(a->threads, b->threads);
        assert_true(a->clock_hz == b->clock_hz);
        assert_true(a->dram_peak.bandwidth == b->dram_peak.bandwidth);
        assert_int_equal(a->nmemory, b->nmemory);
        assert_int_equal(a->ncompute, b->ncompute);
        for (size_t k = 0; k < b->nmemory; k++) {
            assert_string_equal(a->memory[k].level, b->memory[k].level);
            assert_string_equal(a->memory[k].ldst, b->memory[k].ldst);
            assert_true(a->memory[k].bandwidth == b->memory[k].bandwidth);
            assert_true(a->memory[k].ci95.lo == b->memory[k].ci95.lo);
            assert_true(a->memory[k].ci95.hi == b->memory[k].ci95.hi);
            assert_int_equal(a->memory[k].disturbed, b->memory[k].disturbed);
        }
        for (size_t k = 0; k < b->ncompute; k++) {
            assert_string_equal(a->compute[k].op, b->compute[k].op);
            assert_true(a->compute[k].rate == b->compute[k].rate);
            assert_int_equal(a->compute[k].disturbed, b->compute[k].disturbed);
        }
    }
    carm_model_free(light);
    carm_model_free(full);
    free(curves);
    free(text);
}

/* It leaves to the full reader what is not as it expects. */
TEST(light_gives_up)
{
    static const char *const changes[][2] = {
        {"\"level\": \"L2\",\n     \"ldst\"",
         "\"level\": \"L\\u0033\",\n     \"ldst\""}, /* twice */
        {"\"ldst\": \"1:1\"", "\"ldst\": \"2:1\""},  /* twice */
        {"\"op\": \"fma\"", "\"op\": \"mad\""},
        {"\"threads\": 2,\n   \"clock_hz\"", "\"threads\": 1,\n   \"clock_hz\""},
        {"\"bandwidth\": ", "\"bandwidth\": 0x"},
        {"\"bandwidth\": ", "\"bandwidth\": -"},
        {"\"bandwidth\": 4", "\"bandwidth\": 9"}, /* outside its interval */
        {"\"disturbed\": false", "\"disturbed\": 0"},
        {"\"compute\"", "\"compote\""},
        {"\"level\": \"DRAM\",\n     \"ldst\"", "\"level\": \"L9\",\n     \"ldst\""},
    };
    char *text = text_of("a", 0);
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        char *changed =
            strstr(text, changes[i][0]) ? replace(text, changes[i][0], changes[i][1]) : NULL;
        struct carm_model *light = changed ? carm_model_parse_lean(changed, strlen(changed)) : NULL;
        fail_if(!changed || light, "%s: %s", changes[i][0], light ? "taken" : "not in the text");
        free(changed);
    }
    free(text);
}

static int parse(const char *text, struct carm_fleet_item *item, struct carm_err *failure)
{
    return carm_fleet_item_parse(text, strlen(text), item, failure);
}

TEST(rows)
{
    struct carm_fleet_item item;
    char *model = text_of("inside", 3);
    char *row =
        replace("{\"schema\":\"carm-fleet/1\",\"host\":\"outside\",\"job\":42,\"rank\":7,"
                "\"boot_id\":\"b\",\"time\":\"x\",\"status\":\"ok\",\"reason\":null,\"model\":@}",
                "@", model);
    assert_ok(parse(row, &item, &err));
    assert_string_equal(item.host, "outside");
    assert_string_equal(item.job, "42");
    assert_string_equal(item.boot_id, "b");
    assert_int_equal(item.rank, 7);
    assert_non_null(item.model);
    assert_string_equal(item.time, item.model->created);
    assert_false(item.rounds);
    carm_model_free(item.model);
    assert_ok(parse(model, &item, &err));
    assert_string_equal(item.host, "inside");
    assert_int_equal(item.rank, -1);
    carm_model_free(item.model);
    assert_ok(parse("{\"host\":\"n\",\"job\":null,\"rank\":null,\"status\":\"timeout\","
                    "\"reason\":\"900 s\",\"model\":null}",
                    &item, &err));
    assert_null(item.model);
    assert_string_equal(item.reason, "900 s");
    free(row);
    free(model);
}

/* Rounds are not read, but whether there are some is known. A host of that name has none. */
TEST(rounds_are_noticed)
{
    struct carm_fleet_item item;
    struct carm_round rounds[3];
    for (int with = 0; with < 2; with++) {
        struct carm_model *m = gen_model("\"rounds\"", 0);
        struct carm_compute_roof *x = &m->roofs[1].compute[2];
        for (size_t i = 0; i < 3; i++) {
            rounds[i] = (struct carm_round){x->rate, 3e9, (double)i, CARM_STATE_QUIET};
        }
        x->rounds = with ? rounds : NULL;
        x->nrounds = with ? 3 : 0;
        char *text = carm_model_to_json(m);
        x->rounds = NULL;
        x->nrounds = 0;
        carm_model_free(m);
        assert_non_null(text);
        assert_ok(parse(text, &item, &err));
        assert_int_equal(item.rounds, with);
        assert_int_equal(item.model->roofs[1].compute[2].nrounds, 0);
        carm_model_free(item.model);
        free(text);
    }
}

/* Latencies become rates of the first set of one thread: those with the machine's pages, in random order. */
TEST(latencies)
{
    static const struct carm_latency some[] = {{.level = "DRAM",
                                                .order = CARM_LATENCY_RANDOM,
                                                .page_bytes = 2 << 20,
                                                .seconds = 1e-7,
                                                .ci95 = {1e-7, 1e-7}},
                                               {.level = "DRAM",
                                                .order = CARM_LATENCY_RANDOM,
                                                .page_bytes = 4096,
                                                .seconds = 2e-7,
                                                .ci95 = {2e-7, 2e-7}},
                                               {.level = "DRAM",
                                                .order = CARM_LATENCY_LINES,
                                                .page_bytes = 2 << 20,
                                                .seconds = 3e-7,
                                                .ci95 = {3e-7, 3e-7}},
                                               {.level = "L3",
                                                .order = CARM_LATENCY_RANDOM,
                                                .page_bytes = 2 << 20,
                                                .note = "not measured"}};
    struct carm_model *m = gen_model("n", 0);
    m->latency = calloc(4, sizeof *m->latency);
    assert_non_null(m->latency);
    memcpy(m->latency, some, sizeof some);
    m->nlatency = 4;
    struct carm_fleet_item item;
    char *text = carm_model_to_json(m);
    assert_ok(parse(text, &item, &err));
    struct carm_fleet *fleet = gen_fleet();
    struct carm_fleet_row row = {.file = "n"};
    assert_ok(carm_fleet_take_model(fleet, item.model, false, &row, &err));
    size_t found = 0;
    for (size_t i = 0; i < row.nvalues; i++) {
        const struct carm_fleet_roof *r = &fleet->roofs[row.values[i].roof];
        if (strcmp(r->family, "latency") == 0) {
            assert_string_equal(r->name, "latency DRAM");
            assert_string_equal(r->unit, "load/s");
            assert_int_equal(r->threads, 1);
            assert_true(row.values[i].rate > 0.99e7F && row.values[i].rate < 1.01e7F);
            found++;
        }
    }
    assert_int_equal(found, 1);
    carm_model_free(item.model);
    carm_model_free(m);
    free(text);
    free(row.values);
}

/* Text, and what the reason must hold. */
static void refuse(const char *text, const char *want)
{
    err = (struct carm_err){""};
    struct carm_fleet_item item;
    fail_if(parse(text, &item, &err) != -CARM_EFORMAT || strcmp(err.text, want) != 0,
            "'%s', not '%s'", err.text, want);
}

TEST(broken_texts)
{
    char *model = text_of("a", 0);
    char *bad = replace(model, "carm-model/1", "carm-model/9");
    refuse(bad, "schema is \"carm-model/9\"; this carm reads \"carm-model/1\"");
    free(bad);
    bad = replace(model, "\"bandwidth\": ", "\"bandwidth\": -");
    refuse(bad, "roofs[0].memory[0].bandwidth is -4e+11, not more than zero");
    free(bad);
    bad = replace(model, "\"roofs\"", "\"hoofs\"");
    refuse(bad, "roofs is missing");
    free(bad);
    model[strlen(model) / 2] = '\0';
    refuse(model, "line 627, column 14: the file ends too early: premature end of input near '\"'");
    free(model);
    refuse("", "line 1, column 0: the file ends too early: '[' or '{' expected near end of file");
    refuse("[]", "is not a JSON object");
    refuse("{\"status\":\"ok\"}", "host is missing");
    refuse("{\"status\":\"ok\",\"host\":\"n\"}", "model is missing, though status is \"ok\"");
    refuse("{\"status\":\"failed\",\"host\":\"n\",\"schema\":\"carm-fleet/2\"}",
           "schema is \"carm-fleet/2\"; this carm reads \"carm-fleet/1\"");
    refuse("{\"host\":\"n\",\"model\":null}", "status is missing");
    refuse("{\"host\":\"n\",\"rank\":-3,\"status\":\"failed\"}",
           "rank is -3, outside 0..2147483647");
    refuse("{\"host\":\"n\",\"status\":\"ok\",\"model\":{}}", "schema is missing");
}

/* Members that came later may be missing: the curves over flops, validation, DRAM peaks. */
TEST(older_models)
{
    struct carm_fleet_item item;
    char *model = text_of("a", 0);
    char *a = replace(model, "\"flop_curves\"", "\"unknown\"");
    char *b = replace(a, "\"validation\"", "\"unknown2\"");
    assert_ok(parse(b, &item, &err));
    assert_int_equal(item.model->nroofs, 2);
    carm_model_free(item.model);
    free(a);
    free(b);
    free(model);
}

TEST(folders)
{
    struct carm_fleet *f = NULL;
    char name[32];
    assert_int_equal(mkdir(path_of("sub"), 0700), 0);
    for (int i = 0; i < 20; i++) {
        (void)snprintf(name, sizeof name, i % 2 ? "sub/%d.json" : "%d.json", i);
        char host[8];
        (void)snprintf(host, sizeof host, "h%d", i);
        char *text = text_of(host, i);
        put_file(name, text);
        free(text);
    }
    put_file("bad.json", "{\"schema\":");
    put_file("notes.txt", "no model");
    put_file(".json", "no model");
    put_file(".jsonl", "no model");
    assert_int_equal(symlink("nowhere", path_of("0dangling.json")), 0);
    put_file("fleet.jsonl",
             "\n{\"host\":\"dead\",\"status\":\"killed\",\"reason\":\"signal 9\"}\nnonsense\n");
    for (int threads = 0; threads <= 3; threads++) {
        struct carm_fleet_options o = options;
        o.threads = threads;
        o.share = threads ? carm_threads_share : NULL;
        assert_ok(read_fleet("", &o, &f));
        assert_int_equal(f->nfiles, 22);
        assert_int_equal(f->nrows, 21);
        assert_int_equal(f->nbroken, 2);
        assert_non_null(strstr(f->broken[0].file, "bad.json"));
        assert_int_equal(f->broken[0].line, 0);
        assert_non_null(strstr(f->broken[1].file, "fleet.jsonl"));
        assert_int_equal(f->broken[1].line, 3);
        assert_string_equal(f->rows[20].host, "h9"); /* in the order of names */
        assert_int_equal(f->rows[20].seconds, 1767225600 + 9 * 3600);
        const struct carm_fleet_row *dead = &f->rows[10];
        assert_string_equal(dead->host, "dead");
        assert_string_equal(dead->status, "killed");
        assert_string_equal(dead->reason, "signal 9");
        assert_int_equal(dead->line, 2);
        assert_int_equal(dead->rank, -1);
        assert_int_equal(dead->seconds, 0);
        assert_int_equal(dead->machine, CARM_FLEET_NONE);
        assert_ok(carm_fleet_judge(f, &o, &err));
        assert_int_equal(f->groups[0].nnodes, 20);
        assert_string_equal(f->groups[0].nodes[10].name, "h10"); /* by number */
        assert_string_equal(f->roofs[0].name, "L1 2:1");
        carm_fleet_free(f);
    }
    assert_int_equal(mkdir(path_of("sub/none"), 0700), 0);
    assert_refused(read_fleet("sub/none", &options, &f), -CARM_EIO, "has no model");
    assert_refused(read_fleet("lost.json", &options, &f), -CARM_EIO, "lost.json: No such file");
    /* what is named is read, whatever its name */
    assert_ok(read_fleet("notes.txt", &options, &f));
    assert_int_equal(f->nbroken, 1);
    carm_fleet_free(f);
}

/* The broken files of a folder are all that it has, each with its whole reason. */
static void assert_broken(const char *name, const struct carm_fleet_options *o, size_t line,
                          const char *rows, const char *model)
{
    struct carm_fleet *f = NULL;
    assert_ok(read_fleet(name, o, &f));
    assert_int_equal(f->nbroken, 2);
    assert_int_equal(f->nrows, 0);
    assert_int_equal(f->broken[0].line, 0);
    assert_string_equal(f->broken[0].reason, model);
    assert_int_equal(f->broken[1].line, line);
    assert_string_equal(f->broken[1].reason, rows);
    carm_fleet_free(f);
}

static void take_away(int threads, void *(*work)(void *), void *arg)
{
    assert_int_equal(unlink(path_of("two/a.json")) + unlink(path_of("two/b.jsonl")), 0);
    work(arg);
}

/* Rows in pieces between signals, as the first file that is open; reads that fail; files that go away meanwhile. */
TEST(reads)
{
    struct carm_fleet *f = NULL;
    char *model = text_of("inside", 3);
    put_file("two/a.json", model);
    for (char *at = strchr(model, '\n'); at; at = strchr(at, '\n')) {
        *at = ' ';
    }
    char *row =
        replace("{\"host\":\"a\",\"job\":\"j\",\"boot_id\":\"b\",\"rank\":7,\"status\":\"ok\","
                "\"reason\":\"r\",\"model\":@}\n",
                "@", model);
    put_file("two/b.jsonl", row);
    const int in = dup(STDIN_FILENO);
    (void)close(STDIN_FILENO);
    stops = EINTR;
    const int rc = read_fleet("two", &options, &f);
    stops = 0;
    (void)dup2(in, STDIN_FILENO);
    (void)close(in);
    assert_ok(rc);
    assert_int_equal(f->nbroken, 0);
    assert_int_equal(f->nrows, 2);
    const struct carm_fleet_row *r = &f->rows[1];
    assert_string_equal(r->file, path_of("two/b.jsonl"));
    assert_int_equal(r->line, 1);
    assert_string_equal(r->host, "a");
    assert_string_equal(r->job, "j");
    assert_string_equal(r->boot_id, "b");
    assert_int_equal(r->rank, 7);
    assert_string_equal(r->status, "ok");
    assert_string_equal(r->reason, "r");
    assert_string_equal(r->time, "2026-01-01T03:00:00Z");
    assert_int_equal(r->seconds, 1767236400);
    assert_int_equal(r->nvalues, f->rows[0].nvalues);
    carm_fleet_free(f);
    stops = EIO;
    assert_broken("two", &options, 1, "Input/output error", "Input/output error");
    stops = 0;
    struct carm_fleet_options o = options;
    o.share = take_away;
    assert_broken("two", &o, 0, "cannot be read: No such file or directory",
                  "run `carm build` to create it, or correct the name");
    free(row);
    free(model);
}

/* 64 MiB of zeros are an empty line, on the first line and on another. */
TEST(longest_rows)
{
    enum { MOST = 64 << 20, PIECE = 4096 };
    static const char end[] = "\n{\"host\":\"n\",\"status\":\"killed\"}";
    struct carm_fleet *f = NULL;
    put_file("long.jsonl", "");
    const int fd = open(path_of("long.jsonl"), O_WRONLY | O_CLOEXEC);
    assert_int_equal(pwrite(fd, "\n", 1, MOST + PIECE - 1), 1);
    assert_int_equal(pwrite(fd, end, sizeof end - 1, 2 * MOST + PIECE), sizeof end - 1);
    assert_int_equal(close(fd), 0);
    piece = PIECE;
    assert_ok(read_fleet("long.jsonl", &options, &f));
    piece = SIZE_MAX;
    assert_int_equal(f->nbroken, 0);
    assert_int_equal(f->nrows, 1);
    assert_int_equal(f->rows[0].line, 3);
    carm_fleet_free(f);
}

enum { WRITTEN_MOST = 256 << 20 };

/* A child that opens the pipe and writes so many bytes without an end of a line; it exits with 0
 * when all were taken. */
static pid_t write_pipe(const char *path, size_t bytes)
{
    const pid_t pid = fork();
    if (pid == 0) {
        static char x[1 << 16];
        memset(x, 'x', sizeof x);
        (void)signal(SIGPIPE, SIG_IGN);
        const int fd = open(path, O_WRONLY | O_CLOEXEC);
        for (size_t done = 0; fd >= 0 && done < bytes;) {
            const ssize_t n = write(fd, x, sizeof x);
            if (n < 0) {
                _exit(1);
            }
            done += (size_t)n;
        }
        _exit(fd < 0);
    }
    assert_true(pid > 0);
    return pid;
}

TEST(endless)
{
    struct carm_fleet *f = NULL;
    int status = 0;
    assert_int_equal(mkdir(path_of("pipes"), 0700), 0);
    assert_int_equal(mkfifo(path_of("pipes/rows.jsonl"), 0600), 0);
    /* a folder's pipes are left alone: nobody opens this one */
    pid_t pid = write_pipe(path_of("pipes/rows.jsonl"), 0);
    assert_refused(read_fleet("pipes", &options, &f), -CARM_EIO, "has no model");
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    /* one that was named is read, as long as its lines end */
    pid = write_pipe(path_of("pipes/rows.jsonl"), WRITTEN_MOST);
    assert_ok(read_fleet("pipes/rows.jsonl", &options, &f));
    assert_int_equal(f->nbroken, 1);
    assert_int_equal(f->broken[0].line, 1);
    assert_non_null(strstr(f->broken[0].reason, "is longer than 64 MiB"));
    carm_fleet_free(f);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1); /* not all was taken */
}

static int allocations_left, allocated;

static void *allocate(size_t size)
{
    if (allocations_left-- == 0) {
        errno = ENOMEM;
        return NULL;
    }
    allocated++;
    return malloc(size);
}

static void release(void *memory)
{
    allocated--;
    free(memory);
}

/* Whichever allocation fails: the text is not to blame. */
TEST(no_memory)
{
    char *model = text_of("n", 3);
    char *row = malloc(strlen(model) + 256);
    (void)sprintf(row, "{\"status\":\"ok\",\"host\":\"n\",\"model\":%s}", model);
    int rc = -CARM_ENOMEM;
    /* steps: what fails late lies in the model's thousands of values */
    for (int i = 0; rc; i += 1 + i / 8) {
        struct carm_fleet_item item;
        allocations_left = i;
        json_set_alloc_funcs(allocate, release);
        rc = carm_fleet_item_parse(row, strlen(row), &item, &err);
        json_set_alloc_funcs(malloc, free);
        fail_if(rc && rc != -CARM_ENOMEM, "allocation %d: %s", i, err.text);
        assert_int_equal(allocated, 0);
        carm_model_free(item.model);
    }
    free(row);
    free(model);
}

RUN_TESTS(make_folder, remove_folder)
