/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Model files: what is written is read back, what is wrong is refused with file, place and reason,
 * and a write that fails leaves the old file whole. */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>

#include "models/file/cut.h"
#include "models/file/model.h"
#include "models/file/share.h"
#include "tests/folder.h"
#include "tests/models/model_text.h"

static void *room(size_t n, size_t size)
{
    void *p = calloc(n, size);
    assert_non_null(p);
    return p;
}

static void set(char *dst, const char *s)
{
    memcpy(dst, s, strlen(s) + 1);
}

static void fill_memory(struct carm_memory_roof *m, const char *level, double bandwidth)
{
    set(m->level, level);
    set(m->ldst, "2:1");
    set(m->code, "a-avx2-dp-2to1");
    m->bandwidth = bandwidth;
    m->ci95 = (struct carm_ci){bandwidth * 0.99, bandwidth * 1.01};
    m->spread = (struct carm_spread){bandwidth * 0.5, bandwidth * 0.9, bandwidth, bandwidth * 2};
    m->bytes_per_cycle = bandwidth / 3e9;
    m->clock_hz = 3e9;
    m->working_set_bytes = 24576;
    m->window_bytes = 4096;
    m->passes = 7;
    m->reps = 8192;
    set(m->counted_by, "constructed");
}

static void fill_curve(struct carm_curve *c, const char *kind, double x)
{
    set(c->isa, "avx2");
    set(c->precision, "dp");
    c->threads = 1;
    set(c->kind, kind);
    c->npoints = 2;
    c->points = room(2, sizeof *c->points);
    c->points[0] = (struct carm_curve_point){x, 3e11, {2.9e11, 3.1e11}, false};
    c->points[1] = (struct carm_curve_point){x * 2, 2e11, {2e11, 2e11}, true};
}

/* A small model with something in every member. */
static struct carm_model *make_model(void)
{
    struct carm_model *m = empty_model();
    set(m->created, "2026-01-02T03:04:05Z");
    set(m->carm_version, "0.1");
    set(m->carm_commit, "703be65a1b2c-modified");
    set(m->machine.hostname, "h\xc3\xb6st");
    set(m->machine.cpu, "A CPU");
    m->machine.cores = 2;
    m->machine.threads = 4;
    m->machine.memory_bytes = (uint64_t)1 << 60;
    m->machine.page_bytes = 4096;
    m->machine.tsc_hz = 2.6e9 + 1.0 / 3;
    m->machine.ncaches = 1;
    m->machine.caches = room(1, sizeof *m->machine.caches);
    m->machine.caches[0] = (struct carm_cache){1, 49152, 2};
    m->config.reps = 8192;
    m->config.quick = true;
    set(m->config.precision, "dp");
    set(m->config.ldst, "2:1");
    m->nlevels = 2;
    m->levels = room(2, sizeof *m->levels);
    set(m->levels[0].level, "L1");
    m->levels[0].os_size_bytes = 49152;
    m->levels[0].knee_bytes = 45056;
    m->levels[0].resolved = true;
    set(m->levels[1].level, "DRAM");
    set(m->levels[1].note, "a \"note\"\n");
    m->nroofs = 1;
    m->roofs = room(1, sizeof *m->roofs);
    struct carm_roofs *r = m->roofs;
    set(r->isa, "avx2");
    set(r->precision, "dp");
    r->threads = 1;
    r->clock_hz = 3e9;
    r->nmemory = 2;
    r->memory = room(2, sizeof *r->memory);
    fill_memory(&r->memory[0], "L1", 3e11 + 1.0 / 3);
    fill_memory(&r->memory[1], "DRAM", 1.5e10);
    r->memory[1].disturbed = true;
    set(r->memory[1].note, "stolen from");
    r->ncompute = 1;
    r->compute = room(1, sizeof *r->compute);
    set(r->compute->op, "fma");
    set(r->compute->code, "b-avx2-dp-fma");
    r->compute->rate = 4.8e10;
    r->compute->ci95 = (struct carm_ci){4.7e10, 4.8e10};
    r->compute->spread = (struct carm_spread){1e10, 4e10, 5e10, 5e10};
    r->compute->flops_per_cycle = 16;
    r->compute->clock_hz = 3e9;
    r->compute->reps = 8192;
    set(r->compute->counted_by, "pmu");
    r->dram_peak.bandwidth = 1.6e10;
    r->core_to_core_seconds = 4.5e-8;
    r->validated_core_to_core_seconds = 1.65e-7;
    set(r->dram_peak.code, "d-avx2-nt");
    r->nceilings = 2;
    r->ceilings = room(2, sizeof *r->ceilings);
    /* static: its padding, which is compared, is zero */
    static const struct carm_ceiling_roof ceilings[] = {
        {.group = CARM_CEILING_MIX,
         .name = "fp 1/4",
         .code = "B",
         .rate = 4e9 + 1.0 / 3,
         .ci95 = {3e9, 5e9},
         .clock_hz = 3e9,
         .threads = 1,
         .reps = 8192,
         .counted_by = "constructed",
         .disturbed = true,
         .note = "moved"},
        {.group = CARM_CEILING_MEMORY, .name = "no affinity", .note = "one node"}};
    memcpy(r->ceilings, ceilings, sizeof ceilings);
    m->ncurves = m->nflop_curves = m->nvalidation = 1;
    m->curves = room(1, sizeof *m->curves);
    m->flop_curves = room(1, sizeof *m->flop_curves);
    m->validation = room(1, sizeof *m->validation);
    fill_curve(m->curves, "2:1", 2048);
    fill_curve(m->flop_curves, "fma", 1e4);
    *m->validation = (struct carm_validation){
        {"avx2", "dp", "fma", 1}, "original", "all", 3, 0.25, 0.2, 80, 0.5, -0.5, 0, 0};
    return m;
}

/* Every member survives: text -> model -> text, and the struct's own members. */
TEST(round_trip)
{
    struct carm_model *m = make_model();
    struct carm_model *back = there_and_back(m);
    assert_string_equal(back->machine.hostname, "h\xc3\xb6st");
    assert_string_equal(back->machine.hypervisor, "");
    assert_string_equal(back->levels[1].note, "a \"note\"\n");
    assert_true(back->machine.memory_bytes == (uint64_t)1 << 60);
    assert_true(back->machine.tsc_hz == m->machine.tsc_hz);
    assert_true(back->levels[1].os_size_bytes == 0 && back->levels[1].knee_bytes == 0);
    assert_memory_equal(&back->roofs->memory[0], &m->roofs->memory[0], sizeof *m->roofs->memory);
    assert_memory_equal(&back->roofs->memory[1], &m->roofs->memory[1], sizeof *m->roofs->memory);
    assert_memory_equal(back->roofs->compute, m->roofs->compute, sizeof *m->roofs->compute);
    assert_memory_equal(&back->config, &m->config, sizeof m->config);
    assert_memory_equal(back->curves->points, m->curves->points, 2 * sizeof *m->curves->points);
    assert_true(back->flop_curves->points[1].x == 2e4 && back->flop_curves->points[1].disturbed);
    assert_memory_equal(back->validation, m->validation, sizeof *m->validation);
    assert_true(back->roofs->dram_peak.bandwidth == 1.6e10);
    assert_int_equal(back->roofs->nceilings, 2);
    assert_memory_equal(back->roofs->ceilings, m->roofs->ceilings, 2 * sizeof *m->roofs->ceilings);
    assert_true(back->roofs->core_to_core_seconds == 4.5e-8);
    assert_true(back->roofs->validated_core_to_core_seconds == 1.65e-7);
    carm_model_free(NULL);
}

TEST(finds_roofs)
{
    struct carm_model *m = make_model();
    assert_ptr_equal(carm_roofs_find_memory(m->roofs, "DRAM", "2:1"), &m->roofs->memory[1]);
    assert_null(carm_roofs_find_memory(m->roofs, "DRAM", "1:1"));
    assert_ptr_equal(carm_roofs_find_peak(m->roofs), m->roofs->compute);
    m->roofs->ncompute = 0;
    assert_null(carm_roofs_find_peak(m->roofs));
}

TEST(optional_and_unknown_members)
{
    struct carm_model *m = make_model();
    m->roofs->dram_peak.bandwidth = 0;
    m->roofs->core_to_core_seconds = 0;
    m->roofs->validated_core_to_core_seconds = 0;
    set(m->machine.hypervisor, "KVM");
    const char *text = model_as_text(m);
    assert_null(strstr(text, "dram_peak"));
    assert_null(strstr(text, "handover"));
    char *more = room(strlen(text) + 64, 1);
    (void)sprintf(more, "{ \"later\": [1, {}], %s", strchr(text, '"'));
    struct carm_model *back = parse_model(more);
    assert_true(back->roofs->dram_peak.bandwidth == 0);
    assert_string_equal(back->machine.hypervisor, "KVM");
    free(more);
}

TEST(refuses)
{
    static const struct text_fault faults[] = {
        {"", "carm-model/1", "carm-model/2",
         "schema is \"carm-model/2\"; this carm reads \"carm-model/1\""},
        {"", "\"schema\"", "\"scheme\"", "schema is missing"},
        {"", "\"carm-model/1\"", "1", "schema is not a string"},
        {"", "\"bandwidth\": 15000000000.0", "\"bandwidth\": 0",
         "roofs[0].memory[1].bandwidth is 0, not more than zero"},
        {"", "\"bandwidth\": 15000000000.0", "\"bandwidth\": -2.5",
         "roofs[0].memory[1].bandwidth is -2.5, not more than zero"},
        {"", "\"bandwidth\": 15000000000.0", "\"bandwidth\": 1e999", "line "},
        {"", "\"bandwidth\": 15000000000.0", "\"bandwidth\": 1e300",
         "roofs[0].memory[1].bandwidth is 1e+300, outside 1e-12..1e+21"},
        {"", "\"bandwidth\": 15000000000.0", "\"bandwidth\": NaN", "line "},
        {"", "\"bandwidth\": 15000000000.0", "\"bandwidth\": null",
         "roofs[0].memory[1].bandwidth is null, not a number"},
        {"", "\"bandwidth\": 15000000000.0", "\"bandwidth\": \"fast\"",
         "roofs[0].memory[1].bandwidth is of another type, not a number"},
        {"", "\"bandwidth\": 15000000000.0", "\"bandwidth\": 16000000000.0",
         "roofs[0].memory[1].ci95 [1.485e+10, 1.515e+10] does not hold its value 1.6e+10"},
        {"", "\"bandwidth\": 15000000000.0", "\"bandwitch\": 1",
         "roofs[0].memory[1].bandwidth is missing"},
        {"", "\"ci95\": [", "\"ci95\": [ 1,",
         "roofs[0].memory[0].ci95 is not an array of two numbers"},
        {"", "\"rate\": 48000000000.0", "\"rate\": -0.0",
         "roofs[0].compute[0].rate is -0, not more than zero"},
        {"\"bandwidth\": 15000000000.0", "\"max\"", "\"min\"", "line "},
        {"", "\"p5\": ", "\"p5\": 9", "roofs[0].memory[0].spread is not in order"},
        {"", "\"working_set_bytes\": 24576", "\"working_set_bytes\": 24576.5",
         "roofs[0].memory[0].working_set_bytes is not a whole number"},
        {"\"roofs\"", "\"reps\": 8192", "\"reps\": 0",
         "roofs[0].memory[0].reps is 0, outside 1..9223372036854775807"},
        {"", "\"threads\": 4", "\"threads\": 4294967297",
         "machine.threads is 4294967297, outside 1..2147483647"},
        {"", "\"disturbed\": true", "\"disturbed\": 1",
         "roofs[0].memory[1].disturbed is neither true nor false"},
        {"", "\"level\": \"DRAM\"", "\"level\": \"L1\"", "levels[1].level repeats \"L1\""},
        {"\"roofs\"", "\"level\": \"DRAM\"", "\"level\": \"L1\"",
         "roofs[0].memory[1] repeats entry 0: level \"L1\", ldst \"2:1\""},
        {"\"roofs\"", "\"level\": \"DRAM\"", "\"level\": \"L\\u001b[2J\"",
         "roofs[0].memory[1].level \"L?[2J\" is not among the model's levels"},
        {"", "\"op\": \"fma\"", "\"op\": \"\"", "roofs[0].compute[0].op is empty"},
        {"", "\"isa\": \"avx2\"", "\"isa\": 2", "roofs[0].isa is not a string"},
        {"", "\"memory\": [", "\"memory\": [ 7,", "roofs[0].memory[0] is not an object"},
        {"", "\"points\": [", "\"points\": 3, \"old\": [", "curves[0].points is not an array"},
        {"", "\"flops\": 10000.0", "\"flops\": 0",
         "flop_curves[0].points[0].flops is 0, not more than zero"},
        {"", "\"fitness\": 80.0", "\"fitness\": 101",
         "validation[0].fitness is 101, more than 100"},
        {"", "\"machine\": {", "\"machine\": 0, \"old\": {", "machine is not an object"},
        {"", "\"cpu\": \"A CPU\"", "\"cpu\": \"A CPU\", \"cpu\": \"B\"", "line 8"},
        {"", "\"hypervisor\": null", "\"hypervisor\": false", "machine.hypervisor is not a string"},
        {"", "\"handover_seconds\": ", "\"handover_seconds\": -", "roofs[0].handover_seconds is -"},
        {"", "\"code\": \"d-avx2-nt\"", "\"codes\": 1", "roofs[0].dram_peak.code is missing"},
    };
    struct carm_model *m = make_model();
    refuse_faults(m, faults, sizeof faults / sizeof *faults);
}

/* A file cut anywhere is refused, and says so. */
TEST(refuses_cut_text)
{
    struct carm_model *m = make_model();
    const char *text = model_as_text(m);
    const size_t whole = strlen(text) - 1; /* without the last newline */
    for (size_t n = 0; n < whole; n++) {
        refuse_text(text, n, "m.json: line ");
    }
    assert_non_null(strstr(err.text, "the file ends too early"));
    refuse_text("[]", 2, "m.json: is not a JSON object");
}

/* A text without its details, and "" for what is no model. */
TEST(cuts)
{
    static const char *const texts[][2] = {
        {" { } ", "{}"},
        {"{\"roofs\" : [ {\"isa\": \"a\", \"x\": {}}, {} ], \"x\": [1, {}], \"machine\": {\"cores\": 2 } }",
         "{\"roofs\":[{\"isa\":\"a\"},{}],\"machine\":{\"cores\":2}}"},
        {"{\"curves\": [1], \"roofs\": []}", "{\"roofs\":[]}"},
        {"{\"roofs\": {}}", ""},
        {"{\"roofs\": [1]}", ""},
        {"{\"roofs\": [{}}", ""},
        {"{\"roofs\": []", ""},
        {"{\"machine\": 1}", ""},
        {"{\"machine\": {\"cores\": }}", ""},
        {"{\"x\": }", ""},
        {"{} 1", ""},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        char cut[200] = "";
        const size_t n = carm_table_cut(&carm_model_table, texts[i][0], strlen(texts[i][0]), cut);
        cut[n] = '\0';
        assert_string_equal(cut, texts[i][1]);
    }
}

TEST(refuses_files)
{
    struct carm_model *out;
    char want[400];
    assert_int_equal(carm_model_read(path_of("none.json"), &out, &err), -CARM_EIO);
    (void)snprintf(want, sizeof want,
                   "there is no model file %s: run `carm build` to create it, or correct the name",
                   path_of("none.json"));
    assert_string_equal(err.text, want);
    assert_int_equal(carm_model_read(folder, &out, &err), -CARM_EIO);
    (void)snprintf(want, sizeof want, "cannot read %s: Is a directory", folder);
    assert_string_equal(err.text, want);
    /* A sparse file: 64 MiB and one byte, without the disk space. */
    char *big = path_of("big.json");
    assert_int_equal(close(open(big, O_CREAT | O_WRONLY, 0600)), 0);
    assert_int_equal(truncate(big, (64 << 20) + 1), 0);
    assert_refused(carm_model_read(big, &out, &err), -CARM_EFORMAT, "is larger than 64 MiB");
    assert_int_equal(unlink(big), 0);
}

static int entries(const char *name)
{
    DIR *d = opendir(name);
    assert_non_null(d);
    int n = 0;
    for (struct dirent *e = readdir(d); e; e = readdir(d))
        n += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
    (void)closedir(d);
    return n;
}

TEST(writes_beside)
{
    struct carm_model *m = make_model();
    char *path = path_of("new/folders/m.json");
    assert_ok(carm_model_write(m, path, &err));
    assert_ok(carm_model_write(m, path, &err)); /* over the old one */
    assert_int_equal(entries(path_of("new/folders")), 1);
    (void)read_model(path);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_mode & 0777, 0644); /* main sets the umask */
    /* A link stays one, and what it names is replaced. */
    char *link = path_of("link.json");
    assert_int_equal(symlink("new/folders/m.json", link), 0);
    assert_ok(carm_model_write(m, link, &err));
    assert_int_equal(lstat(link, &st), 0);
    assert_true(S_ISLNK(st.st_mode));
}

static void expect_write(const struct carm_model *m, const char *path, int rc, const char *message)
{
    err = (struct carm_err){""};
    assert_int_equal(carm_model_write(m, path, &err), rc);
    if (!strstr(err.text, message))
        fail_msg("expected: %s\n        got: %s", message, err.text);
}

TEST(failed_write_keeps_old)
{
    struct carm_model *m = make_model();
    char *path = path_of("old/m.json");
    assert_ok(carm_model_write(m, path, &err));

    /* A full disk, as the kernel tells it: no file may grow past this limit. */
    struct rlimit old, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
    small = old;
    small.rlim_cur = 1000;
    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    int rc = carm_model_write(m, path, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
    assert_int_equal(rc, -CARM_EIO);
    assert_non_null(strstr(err.text, "File too large; choose another place"));

    /* A model that no one could read is not written. */
    double good = m->roofs->memory[0].bandwidth;
    m->roofs->memory[0].bandwidth = NAN;
    expect_write(m, path, -CARM_EINVAL,
                 "the model to be written: roofs[0].memory[0].bandwidth is null, not a number");
    m->roofs->memory[0].bandwidth = good;

    assert_int_equal(entries(path_of("old")), 1);
    (void)read_model(path);
}

TEST(refuses_places)
{
    struct carm_model *m = make_model();
    expect_write(m, folder, -CARM_EIO, "Is a directory; choose another place");
    expect_write(m, path_of("ends/in/"), -CARM_EIO, "Is a directory; choose another place");
    expect_write(m, "", -CARM_EIO, "choose another place");
    expect_write(m, "/dev/null", -CARM_EIO,
                 "cannot write /dev/null: it is not a regular file; choose another place");
    expect_write(m, "/proc/carm/m.json", -CARM_EIO, "choose another place");
    assert_int_equal(carm_model_write(m, path_of("file"), NULL), 0);
    expect_write(m, path_of("file/m.json"), -CARM_EIO, "Not a directory; choose another place");
}

TEST(read_only_folder)
{
    struct carm_model *m = make_model();
    char *name = path_of("closed");
    assert_int_equal(mkdir(name, 0555), 0);
    const bool root = geteuid() == 0; /* root may write anywhere: try as nobody */
    if (root) {
        assert_int_equal(chmod(path_of("."), 0755), 0);
        assert_int_equal(seteuid(65534), 0);
    }
    expect_write(m, path_of("closed/m.json"), -CARM_EIO, "Permission denied; choose another place");
    if (root) {
        assert_int_equal(seteuid(0), 0);
    }
    assert_int_equal(entries(path_of("closed")), 0);
}

/* Python's jsonschema checks the written file and the sample against data/model.schema.json. */
TEST(fits_schema)
{
    skip_if(system("python3 -c 'import jsonschema' 2>/dev/null") != 0, "no python3-jsonschema");
    static const char script[] =
        "import json, sys, jsonschema\n"
        "s = json.load(open(sys.argv[1]))\n"
        "c = getattr(jsonschema, 'Draft202012Validator', jsonschema.Draft7Validator)\n"
        "c.check_schema(s)\n"
        "for f in sys.argv[2:]: c(s).validate(json.load(open(f)))\n"
        "bad = json.load(open(sys.argv[2])); bad['roofs'][0]['memory'][0]['bandwidth'] = 0\n"
        "sys.exit(0 if list(c(s).iter_errors(bad)) else 'a zero roof passes')\n";
    struct carm_model *m = make_model();
    char command[8192];
    assert_ok(carm_model_write(m, path_of("schema.json"), &err));
    put_file("check.py", script);
    (void)snprintf(
        command, sizeof command,
        "cd '%s' && python3 '%s' data/model.schema.json '%s/schema.json' tests/data/sample-model.json",
        source_file(""), path_of("check.py"), folder);
    assert_int_equal(system(command), 0);
}

TEST(reads_sample)
{
    struct carm_model *m = read_sample();
    assert_int_equal(m->nlevels, 4);
    assert_int_equal(m->nroofs, 2);
}

/* ---- models to be shared ---- */

/* Into every text that may hold a sentence. */
static void plant(const struct carm_member *member, char *text, void *arg)
{
    static const char said[] = "by (ada), ada@node7:22 in /home/ada/x and node7.cluster; 2 GB/s of "
                               "adarmv8, /proc/sys/a \"~/b\"";
    size_t *planted = arg;
    const bool own = strcmp(member->name, "hostname") == 0 || member->size < sizeof said;
    if (member->kind == CARM_MEMBER_TEXT && !own) {
        set(text, said);
        ++*planted;
    }
}

static void check_clean(const struct carm_member *member, char *text, void *arg)
{
    size_t *cleaned = arg;
    (void)member;
    assert_null(strstr(text, "node7"));
    assert_null(strstr(text, "/home"));
    assert_null(strstr(text, "~/b"));
    *cleaned +=
        strcmp(text, "by ((removed)), (removed) in (removed) and (removed); 2 GB/s of adarmv8, "
                     "/proc/sys/a \"(removed)\"") == 0;
}

TEST(shares_without_names)
{
    const char *const words[] = {"", "ada"};
    struct carm_model *m = make_model(), *copy = NULL;
    size_t planted = 0, cleaned = 0;
    set(m->machine.hostname, "node7.cluster");
    carm_table_each_text(&carm_model_table, m, plant, &planted);
    assert_string_equal(m->roofs[0].memory[1].note, m->roofs[0].memory[0].note);
    set(m->roofs[0].memory[0].counted_by, "unavailable: no rights on node7");
    assert_true(planted > 5);
    assert_ok(carm_model_share(m, words, 2, &copy, &err));
    (void)closed_later(by_carm_model_free, copy);
    carm_table_each_text(&carm_model_table, copy, check_clean, &cleaned);
    assert_int_equal(cleaned, planted);
    assert_string_equal(copy->machine.hostname, "");
    assert_string_equal(copy->roofs[0].memory[0].counted_by, "unavailable: no rights on (removed)");
    assert_string_equal(copy->roofs[0].isa, "avx2");
    assert_true(copy->roofs[0].memory[0].bandwidth == m->roofs[0].memory[0].bandwidth);
}

/* Names are whole words, and with them goes all that is joined to them. */
TEST(words_that_are_not_shared)
{
    static const char *const cases[][2] = {
        {"on node7: slow", "on (removed) slow"},
        {"node7 a", "(removed) a"},
        {"a node7", "a (removed)"},
        {"node7", "(removed)"},
        {"a-node7-b x", "(removed) x"},
        {"at node7.cluster,node7;node7", "at (removed),(removed);(removed)"},
        {"node70, xnode7, node7_a, _node7 and node7node7 are others",
         "node70, xnode7, node7_a, _node7 and node7node7 are others"},
        {"node70-node7 x", "(removed) x"},
        {"ann's code (ann)", "(removed)'s code ((removed))"},
        {"a banner, annex", "a banner, annex"},
        {"see /home/x/y for it", "see (removed) for it"},
        {"in /proc/self/maps, /sys/devices", "in /proc/self/maps, /sys/devices"},
        {"in /processes /system", "in (removed) (removed)"},
        {"8 flop/s of a2/b", "8 flop/s of a2/b"},
        {"~/bin, file:/a and ../b", "(removed), (removed) and (removed)"},
        {"two  spaces", "two  spaces"},
    };
    const char *const words[] = {"ann", ""};
    struct carm_model *m = make_model();
    char *note = m->roofs[0].memory[0].note, cut[CARM_TEXT_MAX];
    set(m->machine.hostname, "node7.cluster");
    for (size_t i = 0; i <= sizeof cases / sizeof *cases; i++) {
        struct carm_model *copy = NULL;
        const char *wanted = cut;
        if (i < sizeof cases / sizeof *cases) {
            (void)snprintf(note, CARM_TEXT_MAX, "%s", cases[i][0]);
            wanted = cases[i][1];
        } else { /* as long as a note may be: what is removed takes more */
            memset(note, 'a', CARM_TEXT_MAX);
            (void)snprintf(note + CARM_TEXT_MAX - 7, 7, " node7");
            memset(cut, 'a', sizeof cut);
            (void)strcpy(cut + CARM_TEXT_MAX - 7, " (remo");
        }
        assert_ok(carm_model_share(m, words, 2, &copy, &err));
        assert_string_equal(copy->roofs[0].memory[0].note, wanted);
        carm_model_free(copy);
    }
}

RUN_TESTS(make_folder, remove_folder)
