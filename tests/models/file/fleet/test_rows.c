/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of a fleet that are written: their text, what is read of one, and the file that they are appended to. */
#include <fcntl.h>
#include <sys/file.h>

#include "models/file/fleet/read.h"
#include "models/file/fleet/rows.h"
#include "models/model.h"
#include "tests/folder.h"
#include "tests/models/model_text.h"

RUN_TESTS(make_folder, remove_folder)

/* The text with the time of writing replaced by "T". */
static const char *text_of(const struct carm_fleet_who *who, const char *status, const char *reason,
                           const char *model)
{
    char *text = carm_fleet_row_text(who, status, reason, model);
    assert_non_null(text);
    char *at = strstr(closed_later(free, text), "\"time\":\"");
    assert_non_null(at);
    at += strlen("\"time\":\"");
    const char *end = strchr(at, '"');
    assert_int_equal(end - at, strlen("2026-01-02T03:04:05Z"));
    *at = 'T';
    memmove(at + 1, end, strlen(end) + 1);
    return text;
}

TEST(texts)
{
    const struct carm_fleet_who who = {.host = "n1", .job = "7.0", .boot_id = "b", .rank = 0},
                                bare = {.host = "n2", .rank = -1};
    assert_string_equal(
        text_of(&who, "ok", NULL, "{\"a\": [1]}"),
        "{\"schema\":\"carm-fleet/1\",\"host\":\"n1\",\"job\":\"7.0\",\"rank\":0,\"boot_id\":\"b\",\"time\":\"T\","
        "\"status\":\"ok\",\"reason\":null,\"model\":{\"a\":[1]}}\n");
    assert_string_equal(
        text_of(&bare, "timeout", "900 s", NULL),
        "{\"schema\":\"carm-fleet/1\",\"host\":\"n2\",\"job\":null,\"rank\":null,\"boot_id\":null,\"time\":\"T\","
        "\"status\":\"timeout\",\"reason\":\"900 s\",\"model\":null}\n");
    assert_null(carm_fleet_row_text(&who, "ok", NULL, "{"));
    /* a row with a model is read back */
    const struct carm_model model = least_model(3);
    struct carm_fleet_item item;
    const char *text = text_of(&who, "ok", NULL, model_as_text(&model));
    assert_ok(carm_fleet_item_parse(text, strlen(text), &item, &err));
    assert_string_equal(item.host, "n1");
    assert_int_equal(item.rank, 0);
    assert_int_equal(item.model->machine.cores, 3);
    carm_model_free(item.model);
}

TEST(origin)
{
    struct carm_fleet_who who, again;
    char host[256] = "";
    carm_fleet_who_read(&who, 5);
    carm_fleet_who_read(&again, -1);
    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    assert_string_equal(who.host, *host ? host : "localhost");
    assert_int_equal(who.rank, 5);
    assert_int_equal(again.rank, -1);
    assert_string_equal(again.boot_id, who.boot_id);
    FILE *f = fopen("/proc/sys/kernel/random/boot_id", "r");
    if (f) {
        char id[64] = "";
        assert_non_null(fgets(id, sizeof id, f));
        assert_int_equal(fclose(f), 0);
        id[strcspn(id, "\n")] = '\0';
        assert_string_equal(who.boot_id, id);
    } else {
        assert_string_equal(who.boot_id, "");
    }
}

TEST(said)
{
    static const struct {
        const char *line, *status, *reason;
        bool ok;
    } cases[] = {
        {"{\"status\":\"ok\",\"reason\":null}", "ok", "", true},
        {"{\"status\":\"killed\",\"reason\":\"by signal 9\"}", "killed", "by signal 9", false},
        {"{\"status\":\"okay\"}", "okay", "", false},
        {"{\"status\":1,\"reason\":\"x\"}", "failed", "the rank sent no valid row", false},
        {"{", "failed", "the rank sent no valid row", false},
        {"", "failed", "the rank sent no valid row", false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct carm_fleet_row_said said;
        carm_fleet_row_read(cases[i].line, &said);
        assert_string_equal(said.status, cases[i].status);
        assert_string_equal(said.reason, cases[i].reason);
        assert_int_equal(said.ok, cases[i].ok);
    }
}

static void expect_file(const char *name, const char *wanted)
{
    char text[256] = "";
    FILE *f = fopen(path_of(name), "r");
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    assert_int_equal(fclose(f), 0);
    assert_string_equal(text, wanted);
}

/* Rows go behind those that are there, whose last line is ended. */
TEST(files)
{
    static const struct {
        const char *before, *after; /* before NULL = there is no file */
    } cases[] = {{NULL, "row\nrow 2\n"},
                 {"", "row\nrow 2\n"},
                 {"old\n", "old\nrow\nrow 2\n"},
                 {"old\nhal", "old\nhal\nrow\nrow 2\n"},
                 {"x", "x\nrow\nrow 2\n"}};
    struct carm_fleet_file file;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (cases[i].before) {
            put_file("more/rows.jsonl", cases[i].before);
        }
        assert_ok(carm_fleet_file_open(&file, path_of("more/rows.jsonl"), &err));
        assert_string_equal(file.name, path_of("more/rows.jsonl"));
        assert_ok(carm_fleet_file_append(&file, "row\n", &err));
        assert_ok(carm_fleet_file_append(&file, "row 2\n", &err));
        assert_ok(carm_fleet_file_close(&file, &err));
        assert_int_equal(file.fd, -1);
        assert_ok(carm_fleet_file_close(&file, &err)); /* once more */
        expect_file("more/rows.jsonl", cases[i].after);
    }
    assert_ok(carm_fleet_file_close(NULL, &err));
}

TEST(refused_files)
{
    struct carm_fleet_file file;
    char name[5000];
    memset(name, 'a', sizeof name);
    name[4096] = '\0';
    assert_refused(carm_fleet_file_open(&file, name, &err), -CARM_EIO,
                   ": File name too long; choose another place with -o");
    assert_int_equal(file.fd, -1);
    assert_refused(carm_fleet_file_open(&file, folder, &err), -CARM_EIO, "");
    /* another build has it */
    put_file("locked", "");
    const int fd = open(path_of("locked"), O_RDONLY);
    assert_int_equal(flock(fd, LOCK_EX), 0);
    assert_refused(carm_fleet_file_open(&file, path_of("locked"), &err), -CARM_EIO,
                   ": wait until it ends, or choose another place with -o");
    assert_int_equal(file.fd, -1);
    assert_int_equal(close(fd), 0);
    /* a descriptor that cannot be written, and none */
    file = (struct carm_fleet_file){.fd = open(path_of("locked"), O_RDONLY), .name = "locked"};
    assert_refused(carm_fleet_file_append(&file, "row\n", &err), -CARM_EIO,
                   "cannot write locked: Bad file "
                   "descriptor");
    assert_int_equal(close(file.fd), 0);
    assert_refused(carm_fleet_file_append(&file, "row\n", &err), -CARM_EIO,
                   "cannot write locked: Bad file "
                   "descriptor");
    assert_refused(carm_fleet_file_close(&file, &err), -CARM_EIO,
                   "cannot write locked: Bad file descriptor");
    assert_int_equal(file.fd, -1);
}
