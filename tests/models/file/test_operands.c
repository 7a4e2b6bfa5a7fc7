/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Operands of commands: which are models and which points; files of work; models of kinds of cores in one file. */
#include "base/job.h"
#include "models/file/gallery.h"
#include "models/file/kinds.h"
#include "models/file/model.h"
#include "models/file/select.h"
#include "models/file/work.h"
#include "tests/folder.h"
#include "tests/models/model_text.h"

RUN_TESTS(make_folder, remove_folder)

/* ---- models or points ---- */

static const char points[] = "name,flops,bytes,seconds\na,1,2,3\n";

/* Files of the folder, by their texts. */
static void put_files(void)
{
    put_file("m.json", model_as_text(&(struct carm_model){.created = ""}));
    put_file("blank", " \n\t{");
    put_file("p.csv", points);
    put_file("points.json", points);
    put_file("google.json", "{\"context\": {}, \"benchmarks\": []}");
    put_file("ert", "{\"empirical\": {}}");
    put_file("empty.json", "");
    put_file("empty.csv", "");
}

TEST(is_model)
{
    static const struct {
        const char *name;
        bool model;
    } cases[] = {{"m.json", true},       {"blank", true},         {"p.csv", false},
                 {"points.json", false}, {"google.json", false},  {"ert", true},
                 {"empty.json", true},   {"empty.csv", false},    {"none.json", true},
                 {"none.csv", false},    {"none.json.csv", false}};
    put_files();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        fail_if(carm_select_is_model(path_of(cases[i].name)) != cases[i].model, "%s",
                cases[i].name);
    }
    assert_true(carm_select_is_model("mine"));
    assert_true(carm_select_is_model("zen3-kvm"));
    assert_false(carm_select_is_model("-"));
    assert_false(carm_select_is_model(".json"));
    assert_false(carm_select_is_model("zen3"));
}

TEST(order_of_operands)
{
    char *const none = closed_later(free, strdup(path_of("none.csv")));
    char *const p = closed_later(free, strdup(path_of("p.csv")));
    char *const m = closed_later(free, strdup(path_of("m.json")));
    char mine[] = "mine", standard[] = "-";
    const struct {
        char *before[4], *after[4];
        int n, models;
        const char *says; /* NULL = they are in order */
        int rc;
    } cases[] = {
        {{p, standard, m}, {m, p, standard}, 3, 1, NULL, 0},
        {{mine, p}, {mine, p}, 2, 1, NULL, 0},
        {{p, standard}, {p, standard}, 2, 0, NULL, 0},
        {{NULL}, {NULL}, 0, 0, NULL, 0},
        {{p, m, p, mine}, {m, p, p, mine}, 4, 2, "'mine' looks like a model, as '", -CARM_EINVAL},
        {{standard, standard, p},
         {standard, standard, p},
         3,
         0,
         "standard input (-) can be read once only",
         -CARM_EINVAL},
        {{p, none, m}, {m, p, none}, 3, 1, "none.csv: No such file or directory", -CARM_EIO},
    };
    put_files();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *operands[4] = {cases[i].before[0], cases[i].before[1], cases[i].before[2],
                             cases[i].before[3]};
        int models = 9;
        err.text[0] = '\0';
        assert_int_equal(carm_select_sort_operands(cases[i].n, operands, &models, &err),
                         cases[i].rc);
        assert_int_equal(models, cases[i].models);
        for (int k = 0; k < cases[i].n; k++) {
            assert_ptr_equal(operands[k], cases[i].after[k]);
        }
        fail_if(cases[i].says && !strstr(err.text, cases[i].says), "%s", err.text);
    }
}

/* A model of the gallery, its text, and this machine's, which is there or not. */
TEST(opened)
{
    struct carm_model *m = NULL;
    char *text = NULL;
    assert_ok(carm_select_open("zen4-kvm", &m, &text, &err));
    assert_string_equal(m->machine.hostname, "zen4-kvm");
    assert_string_equal(text, model_as_text(m));
    free(text);
    carm_model_free(m);
    const struct carm_model least = least_model(2);
    const char *written = model_as_text(&least);
    char mine[4096];
    assert_int_equal(setenv("XDG_DATA_HOME", folder, 1), 0);
    assert_ok(carm_default_model_path(mine, sizeof mine, &err));
    put_file(mine + strlen(folder) + 1, written);
    for (int i = 0; i < 2; i++) {
        assert_ok(carm_select_open(i ? "mine" : NULL, &m, &text, &err));
        assert_string_equal(text, written);
        assert_int_equal(m->machine.cores, 2);
        free(text);
        carm_model_free(m);
    }
    assert_ok(carm_select_open(mine, &m, NULL, &err));
    carm_model_free(m);
    assert_refused(carm_select_open(path_of("none"), &m, &text, &err), -CARM_EIO,
                   "there is no model file ");
    assert_null(m);
    assert_null(text);
    assert_int_equal(unsetenv("XDG_DATA_HOME"), 0);
    assert_string_equal(carm_gallery_name(0), "zen3-kvm");
    assert_refused(
        carm_gallery_open("zen9", &m, &err), -CARM_EINVAL,
        "there is neither a file nor a measured machine \"zen9\"; the machines are zen3-kvm, zen4-kvm");
}

/* ---- work ---- */

TEST(work)
{
    static const struct {
        const char *text, *says; /* NULL = it is read */
    } cases[] = {
        {"name,flops,bytes\n", NULL},
        {"dram_bytes,name,flops\n1,a,2\n", NULL},
        {"name,flops\na,1\n",
         "line 1, column 1: --work needs the columns name, flops, and bytes or dram_bytes"},
        {"name,bytes\na,1\n", "line 1, column 1: --work needs the columns"},
        {"flops,bytes\n1,1\n", "line 1, column 1: --work needs the columns"},
        {"name,flops,bytes\na,1\n", "line 2, column 1: as many fields as the header has go here"},
        {"name,flops,bytes\na,-1,2\n", "line 2, column 3: not a plain number of at least zero: -1"},
        {"name,flops,bytes\na,1,x\n", "line 2, column 5: not a plain number of at least zero: x"},
        {"name,flops,bytes\nb,1,2\na,1,2\nb,3,4\n", "'b' is there twice"},
    };
    struct carm_work *w = NULL;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_file("work.csv", cases[i].text);
        if (cases[i].says) {
            assert_refused(carm_work_open(path_of("work.csv"), &w, &err), -CARM_EFORMAT,
                           cases[i].says);
            assert_null(w);
        } else {
            assert_ok(carm_work_open(path_of("work.csv"), &w, &err));
            carm_work_close(w);
        }
    }
    put_file("work.csv", "dram_bytes,more,flops,name,bytes\n3,x,1,c,2\n,x,,b,\n0,x,5,a,6\n");
    assert_ok(carm_work_open(path_of("work.csv"), &w, &err));
    static const struct {
        const char *name;
        struct carm_work_row row;
    } rows[] = {{"a", {5, 6, 0}}, {"b", {-1, -1, -1}}, {"c", {1, 2, 3}}};
    for (size_t i = 0; i < 3; i++) {
        const struct carm_work_row *row = carm_work_find(w, rows[i].name);
        assert_non_null(row);
        assert_near(row->flops, rows[i].row.flops, 0.0);
        assert_near(row->bytes, rows[i].row.bytes, 0.0);
        assert_near(row->dram_bytes, rows[i].row.dram_bytes, 0.0);
    }
    assert_null(carm_work_find(w, "d"));
    carm_work_close(w);
}

/* ---- kinds of cores ---- */

/* A model on a kind of cores, "" = on all; cores tell models apart. */
static struct carm_model *model_on(const char *on, int cores, const char *host)
{
    struct carm_model *m = empty_model();
    *m = least_model(cores);
    (void)snprintf(m->machine.on, sizeof m->machine.on, "%s", on);
    (void)snprintf(m->machine.hostname, sizeof m->machine.hostname, "%s", host);
    (void)snprintf(m->machine.cpu, sizeof m->machine.cpu, "A CPU");
    return m;
}

/* "all 8: kind:p 4, kind:e 2" */
static const char *summary(const struct carm_model *m)
{
    static char text[2][200];
    static int turn;
    char *t = text[turn = !turn];
    int n = snprintf(t, 200, "%s %d:", *m->machine.on ? m->machine.on : "all", m->machine.cores);
    for (size_t i = 0; i < m->nkinds; i++) {
        n += snprintf(t + n, 200 - (size_t)n, " %s %d", m->kinds[i].machine.on,
                      m->kinds[i].machine.cores);
    }
    return t;
}

static void expect_file(const char *wanted)
{
    assert_string_equal(summary(read_model(path_of("kinds.json"))), wanted);
}

TEST(kinds_of_cores)
{
    struct carm_model *m = model_on("", 8, "h");
    assert_ok(carm_kinds_put(m, model_on("kind:p", 4, "h"), &err));
    assert_ok(carm_kinds_put(m, model_on("kind:e", 2, "h"), &err));
    struct carm_model *again = model_on("kind:p", 5, "h");
    assert_ok(carm_kinds_put(m, again, &err));
    assert_int_equal(again->machine.cores, 4); /* the earlier one, freed by its owner */
    assert_string_equal(summary(m), "all 8: kind:p 5 kind:e 2");
    assert_ok(carm_kinds_put(m, model_on("kind:lp", 1, "h"), &err));
    assert_refused(carm_kinds_put(m, model_on("kind:x", 1, "h"), &err), -CARM_EINVAL,
                   "a model can have 3 "
                   "kinds of cores");
    assert_refused(carm_kinds_put(m, model_on("", 1, "h"), &err), -CARM_EINVAL,
                   "the model is not of one kind "
                   "of core");
    assert_refused(carm_kinds_put(model_on("", 8, "h"), m, &err), -CARM_EINVAL,
                   "the model is not of one kind "
                   "of core");
    assert_string_equal(summary(m), "all 8: kind:p 5 kind:e 2 kind:lp 1");
    assert_ok(carm_model_write(m, path_of("kinds.json"), &err));
    /* what a build of a place goes on with */
    static const struct {
        const char *on, *model;
    } read[] = {{"", "all 8: kind:p 5 kind:e 2 kind:lp 1"},
                {"kind:e", "kind:e 2:"},
                {"kind:lp", "kind:lp 1:"},
                {"kind:x", "all 8: kind:p 5 kind:e 2 kind:lp 1"}};
    for (size_t i = 0; i < sizeof read / sizeof *read; i++) {
        struct carm_model *kind = carm_kinds_read(path_of("kinds.json"), read[i].on);
        assert_non_null(kind);
        assert_string_equal(summary(kind), read[i].model);
        carm_model_free(kind);
    }
    assert_null(carm_kinds_read(path_of("none.json"), ""));
    /* a kind's model written into the file, and itself the same afterwards */
    struct carm_model *e = model_on("kind:e", 3, "h");
    assert_int_equal(carm_kinds_write(e, path_of("kinds.json"), &err), 1);
    assert_string_equal(summary(e), "kind:e 3:");
    expect_file("all 8: kind:p 5 kind:e 3 kind:lp 1");
    assert_int_equal(carm_kinds_write(model_on("kind:p", 7, "other"), path_of("kinds.json"), &err),
                     0);
    assert_int_equal(carm_kinds_write(e, path_of("none.json"), &err), 0);
    assert_int_equal(carm_kinds_write(model_on("kind:x", 7, "h"), path_of("kinds.json"), &err),
                     -CARM_EINVAL);
    expect_file("all 8: kind:p 5 kind:e 3 kind:lp 1");
    assert_ok(carm_model_write(e, path_of("e.json"), &err));
    assert_int_equal(carm_kinds_write(e, path_of("e.json"), &err),
                     0); /* a file of this very kind */
}

/* Builds of all cores, and of one kind, keep what the file has of other kinds. */
TEST(kept_kinds)
{
    struct carm_model *file = model_on("", 8, "h"), *m = model_on("", 9, "h");
    assert_ok(carm_kinds_put(file, model_on("kind:p", 4, "h"), &err));
    assert_ok(carm_kinds_put(file, model_on("kind:e", 2, "h"), &err));
    assert_ok(carm_model_write(file, path_of("kinds.json"), &err));
    assert_ok(carm_kinds_put(m, model_on("kind:e", 1, "h"), &err));
    assert_ok(carm_kinds_keep(m, path_of("kinds.json"), &err));
    assert_string_equal(summary(m), "all 9: kind:e 2 kind:p 4");
    /* the file's own model, of one kind, and those in it */
    struct carm_model *p = model_on("kind:p", 6, "h");
    assert_ok(carm_model_write(p, path_of("kinds.json"), &err));
    assert_ok(carm_kinds_keep(m, path_of("kinds.json"), &err));
    assert_string_equal(summary(m), "all 9: kind:e 2 kind:p 6");
    struct carm_model *other = model_on("", 9, "other"), *kind = model_on("kind:e", 9, "h"),
                      *none = model_on("", 9, "h");
    assert_ok(carm_kinds_keep(other, path_of("kinds.json"), &err));
    assert_int_equal(other->nkinds, 0);
    assert_ok(carm_kinds_keep(kind, path_of("kinds.json"), &err));
    assert_int_equal(kind->nkinds, 0);
    assert_ok(carm_kinds_keep(none, path_of("none.json"), &err));
    assert_int_equal(none->nkinds, 0);
}
