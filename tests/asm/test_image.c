/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The loader: every failure has its code and its sentence and leaves nothing behind, and code is
 * never writable and executable at the same time. */
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "asm/image.h"
#include "tests/unit.h"

static char folder[64];   /* TMPDIR of these tests */
static char bin[96];      /* a folder for a nasm of our own */
static char nasm[128];    /* that nasm */
static char *system_path; /* PATH as it was */

static int open_folders(void **state)
{
    const char *path = getenv("PATH");
    system_path = strdup(path ? path : "/usr/bin:/bin");
    (void)snprintf(folder, sizeof folder, "/tmp/test_image-XXXXXX");
    if (!system_path || !mkdtemp(folder)) {
        return -1;
    }
    (void)snprintf(bin, sizeof bin, "%s/bin", folder);
    (void)snprintf(nasm, sizeof nasm, "%s/nasm", bin);
    return mkdir(bin, 0700);
}

static int close_folders(void **state)
{
    (void)unlink(nasm);
    (void)rmdir(bin);
    free(system_path);
    return rmdir(folder); /* fails where something was left behind */
}

static int as_it_was(void **state)
{
    (void)unlink(nasm);
    (void)setenv("PATH", system_path, 1);
    return setenv("TMPDIR", folder, 1);
}

/* nasm becomes this shell script. */
static void plant_nasm(const char *script)
{
    FILE *f = fopen(nasm, "w");
    assert_non_null(f);
    assert_true(fprintf(f, "#!/bin/sh\n%s\n", script) > 0);
    assert_int_equal(fclose(f), 0);
    assert_int_equal(chmod(nasm, 0700), 0);
    assert_int_equal(setenv("PATH", bin, 1), 0);
}

/* Files and folders in TMPDIR but for our own. */
static unsigned left_behind(void)
{
    unsigned n = 0;
    DIR *d = opendir(folder);
    assert_non_null(d);
    for (struct dirent *e = readdir(d); e; e = readdir(d)) {
        n += e->d_name[0] != '.' && strcmp(e->d_name, "bin") != 0;
    }
    (void)closedir(d);
    return n;
}

static struct carm_code_spec parse(const char *name)
{
    struct carm_code_spec spec;
    assert_int_equal(carm_code_parse(name, &spec, NULL), 0);
    return spec;
}

static void refuse_spec(const struct carm_code_spec *spec, int code, const char *message)
{
    struct carm_image *image = NULL;
    err = (struct carm_err){""};
    int rc = carm_image_open(&image, spec, 1, &err);
    fail_if(rc != code || !strstr(err.text, message) || strchr(err.text, '\n'),
            "%d '%s', not %d '%s'", rc, err.text, code, message);
    assert_null(image);
    assert_int_equal(left_behind(), 0);
    assert_int_equal(carm_image_open(&image, spec, 1, NULL), code);
}

static void refuse(int code, const char *message)
{
    const struct carm_code_spec spec = parse("A.sse.dp.2:1.u8");
    refuse_spec(&spec, code, message);
}

TEST_BETWEEN(no_nasm, as_it_was, NULL)
{
    assert_int_equal(setenv("PATH", bin, 1), 0);
    refuse(-CARM_ENOTSUP, "install it, e.g. apt-get install nasm");
}

TEST_BETWEEN(bad_nasm, as_it_was, NULL)
{
    plant_nasm("echo codes.asm:7: error: parser: instruction expected; exit 1");
    refuse(-CARM_EIO, "nasm failed: codes.asm:7: error: parser: instruction expected");
    plant_nasm("exit 3");
    refuse(-CARM_EIO, "nasm failed");
    plant_nasm("kill -9 $$");
    refuse(-CARM_EINTR, "signal 9");
    plant_nasm("exit 0"); /* writes nothing */
    refuse(-CARM_EIO, "cannot read nasm's output");
    plant_nasm("echo codes.asm:9: error: on standard error >&2; exit 1");
    refuse(-CARM_EIO, "nasm failed: codes.asm:9: error: on standard error (nasm 2.15 or later");
    plant_nasm(": >\"$4\"");
    refuse(-CARM_EFORMAT, "only 0 bytes");
    plant_nasm("printf x >\"$4\"");
    refuse(-CARM_EFORMAT, "only 1 bytes");
    assert_true(signal(SIGCHLD, SIG_IGN) != SIG_ERR); /* its end is not reported */
    refuse(-CARM_EIO, "waiting for nasm failed");
    (void)signal(SIGCHLD, SIG_DFL);
    plant_nasm("echo 0123456789012345678901234567890123456789 >\"$4\"");
    refuse(-CARM_EFORMAT, "has no table of them");
}

TEST_BETWEEN(no_tmpdir, as_it_was, NULL)
{
    assert_int_equal(setenv("TMPDIR", "/nonexistent/carm", 1), 0);
    refuse(-CARM_EIO, "cannot make a temporary folder in /nonexistent/carm");
    refuse(-CARM_EIO, "set TMPDIR to one that is writable");
    assert_int_equal(setenv("TMPDIR", "/dev/null", 1), 0); /* no folder at all */
    refuse(-CARM_EIO, "set TMPDIR");
    assert_int_equal(setenv("TMPDIR", "/proc", 1), 0); /* not even root can write there */
    refuse(-CARM_EIO, "set TMPDIR");
    char longer[8192];
    memset(longer, 'x', sizeof longer - 1);
    longer[0] = '/';
    longer[sizeof longer - 1] = '\0';
    assert_int_equal(setenv("TMPDIR", longer, 1), 0);
    refuse(-CARM_EIO, "set TMPDIR");
}

/* A full disk, by a limit on the size of files. */
TEST_BETWEEN(full, as_it_was, NULL)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    const struct rlimit small = {1024, limit.rlim_max};
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    const struct carm_code_spec spec = parse("A.sse.dp.2:1.u8");
    struct carm_image *image = NULL;
    int rc = carm_image_open(&image, &spec, 1, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    (void)signal(SIGXFSZ, SIG_DFL);
    assert_int_equal(rc, -CARM_EIO);
    assert_non_null(strstr(err.text, "set TMPDIR to a folder with room"));
    assert_int_equal(left_behind(), 0);
}

TEST_BETWEEN(bad_spec, as_it_was, NULL)
{
    struct carm_code_spec spec = parse("A.sse.dp.2:1.u8");
    spec.units = 0;
    refuse_spec(&spec, -CARM_EINVAL, "1 to 2048 units");
    spec = parse("A.sse.dp.2:1.u8");
    spec.mix = (struct carm_mix){0};
    refuse_spec(&spec, -CARM_EINVAL, "0:0 moves no data");
    spec = parse("B.avx2.dp.fma");
    spec.isa = CARM_AVX;
    refuse_spec(&spec, -CARM_EINVAL, "avx has no fused multiply-add");
    spec = parse("B.avx2.dp.fma");
    spec.chains = 0;
    refuse_spec(&spec, -CARM_EINVAL, "chains (cN) of avx2 are 1 to 14");
    struct carm_code_layout layout;
    struct carm_account account;
    uint8_t *bytes = NULL;
    size_t size = 0;
    assert_refused(carm_image_assemble(&spec, 1, &bytes, &size, &layout, &account, &err),
                   -CARM_EINVAL, "chains (cN) of avx2 are 1 to 14");
}

/* What a real nasm makes of an altered source is refused before it is mapped: here stores are
 * changed to loads on the way to nasm. */
TEST_BETWEEN(altered, as_it_was, NULL)
{
    static const char *const rows[][2] = {
        {"s/    ST 2$/    LD 2/",
         "code A.sse.dp.2:1.u8: its bytes have loads = 17, its specification says 16"},
        {"s/^CODE_BEGIN .*/CODE_BEGIN \"A\"/", "entry 0 is not code A.sse.dp.2:1.u8"}};
    for (size_t i = 0; i < 2; i++) {
        char *script = NULL;
        assert_true(asprintf(&script, "PATH='%s'\nsed -i '%s' \"$5\"\nexec nasm \"$@\"",
                             system_path, rows[i][0]) > 0);
        plant_nasm(script);
        free(script);
        refuse(-CARM_EFORMAT, rows[i][1]);
    }
}

/* Counts mappings that are writable and executable at once; *text gets the permissions of the one
 * that begins at `at`. */
static unsigned writable_and_executable(const void *at, char text[5])
{
    char line[512];
    unsigned n = 0;
    FILE *f = fopen("/proc/self/maps", "r");
    assert_non_null(f);
    text[0] = '\0';
    while (fgets(line, sizeof line, f)) {
        unsigned long long begin = 0;
        unsigned long long end = 0;
        char mode[5] = "";
        if (sscanf(line, "%llx-%llx %4s", &begin, &end, mode) == 3) {
            n += mode[1] == 'w' && mode[2] == 'x';
            if (begin <= (uintptr_t)at && (uintptr_t)at < end) {
                memcpy(text, mode, sizeof mode);
            }
        }
    }
    (void)fclose(f);
    return n;
}

TEST_BETWEEN(never_both, as_it_was, NULL)
{
    const struct carm_code_spec spec = parse("A.sse.dp.2:1.u8");
    struct carm_image *image = NULL;
    char mode[5];
    assert_ok(carm_image_open(&image, &spec, 1, &err));
    assert_int_equal(writable_and_executable(image->text, mode), 0);
    assert_string_equal(mode, "r-xp");
    assert_int_equal(left_behind(), 0);
    const void *text = image->text;
    carm_image_close(image);
    (void)writable_and_executable(text, mode);
    assert_string_not_equal(mode, "r-xp"); /* unmapped */
    carm_image_close(NULL);
}

/* Codes come in the order of their specifications, each with its own account. */
TEST_BETWEEN(order, as_it_was, NULL)
{
    static const char *const names[] = {"B.sse.sp.mul.f8.c4", "A.sse.dp.2:1.u8", "empty.sse.dp",
                                        "C.scalar.dp.1:1.mad.u2.f4.c2"};
    struct carm_code_spec specs[4];
    struct carm_image *image = NULL;
    for (int i = 0; i < 4; i++) {
        specs[i] = parse(names[i]);
    }
    assert_ok(carm_image_open(&image, specs, 4, &err));
    assert_int_equal(image->n, 4);
    for (int i = 0; i < 4; i++) {
        const struct carm_code *c = &image->codes[i];
        assert_string_equal(c->name, names[i]);
        assert_ptr_equal(carm_image_find(image, names[i]), c);
        assert_int_equal(((uintptr_t)image->text + c->layout.loop_begin) % 64, 0);
        assert_int_equal(c->account.stride_bytes, i == 1 ? 24 * 16 : i == 3 ? 4 * 8 : 0);
        assert_int_equal(c->account.flops, i == 0 ? 32 : i == 3 ? 4 : 0);
    }
    assert_null(carm_image_find(image, "A.sse.dp.2:1.u4"));
    carm_image_close(image);
}

/* A table by hand, behind 96 bytes of code: begin, end, loop, 13 counts and a name of each of five codes. */
static struct {
    uint64_t head[4], code[12];
    struct {
        uint64_t layout[4], counts[13];
        char name[CARM_CODE_NAME_MAX];
    } entries[5];
} made;

static void make_table(void)
{
    memset(&made, 0, sizeof made);
    memcpy(made.head, (uint64_t[]){0x314d524143, 128, sizeof made, 0}, sizeof made.head);
    for (uint64_t i = 0; i < 5; i++) {
        const uint64_t begin = 32 + 16 * i;
        memcpy(made.entries[i].layout, (uint64_t[]){begin, begin + 16, begin + 1, begin + 9}, 32);
        for (uint64_t k = 0; k < 13; k++) {
            made.entries[i].counts[k] = 100 * i + k;
        }
        made.entries[i].name[0] = (char)('b' + 2 * i);
    }
}

/* Each word of the header and of an entry at its limits, and beyond them. */
TEST(limits_of_a_table)
{
    static const struct {
        uint64_t *word;
        uint64_t value;
        bool opens, reads; /* the first entry */
    } rows[] = {{&made.head[0], 0x314d524143, true, true},
                {&made.head[0], 0x314d524144, false, false},
                {&made.head[1], 31, false, false},
                {&made.head[1], 32, false, false}, /* no whole number of entries */
                {&made.head[1], 128 + 200 * 5, true, false},
                {&made.head[1], 128 + 200 * 6, false, false},
                {&made.head[2], sizeof made + 200, false, false},
                {&made.head[2], sizeof made - 1, false, false},
                {&made.head[2], 128, true, false},
                {&made.entries[0].layout[0], 31, true, false},
                {&made.entries[0].layout[0], 33, true, true}, /* of the loop, too */
                {&made.entries[0].layout[0], 34, true, false},
                {&made.entries[0].layout[1], 41, true, true},
                {&made.entries[0].layout[1], 40, true, false},
                {&made.entries[0].layout[1], 128, true, true},
                {&made.entries[0].layout[1], 129, true, false},
                {&made.entries[0].layout[2], 41, true, true},
                {&made.entries[0].layout[2], 42, true, false}};
    struct carm_code_table table;
    struct carm_code_layout layout;
    struct carm_account account;
    char name[CARM_CODE_NAME_MAX];
    const uint8_t *bytes = (const uint8_t *)&made;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        make_table();
        *rows[i].word = rows[i].value;
        const int rc = carm_code_table_open(&table, bytes, sizeof made, &err);
        fail_if(rc != (rows[i].opens ? 0 : -CARM_EFORMAT), "row %zu: %d", i, rc);
        const bool reads = rc == 0 && table.n > 0 &&
                           carm_code_table_entry(&table, 0, name, &layout, &account, &err) == 0;
        fail_if(reads != rows[i].reads, "row %zu: %s", i, reads ? "read" : "not read");
        assert_int_equal(rc == 0 && carm_code_table_find(&table, "b", &layout, &account), reads);
    }
    make_table();
    made.head[1] = made.head[2] = 32; /* none */
    assert_ok(carm_code_table_open(&table, bytes, 32, &err));
    assert_int_equal(carm_builtin_constants(&table), 0);
    assert_refused(carm_code_table_open(&table, bytes, 31, &err), -CARM_EFORMAT, "only 31 bytes");
}

TEST(codes_are_found_by_name)
{
    struct carm_code_table table;
    struct carm_code_layout layout;
    struct carm_account account;
    char name[CARM_CODE_NAME_MAX];
    make_table();
    memset(made.entries[4].name + 1, 'x', CARM_CODE_NAME_MAX - 1); /* without an end */
    assert_ok(carm_code_table_open(&table, (const uint8_t *)&made, sizeof made, &err));
    assert_int_equal(table.n, 5);
    for (char letter = 'a'; letter <= 'k'; letter++) {
        const size_t i = (size_t)(letter - 'b') / 2;
        const char word[] = {letter, '\0'};
        const bool is_there = letter % 2 == 0 && letter < 'j';
        assert_int_equal(carm_code_table_find(&table, word, &layout, &account), is_there);
        if (is_there) {
            assert_int_equal(layout.begin, 32 + 16 * i);
            assert_int_equal(account.loads, 100 * i);
            assert_int_equal(account.setup_load_bytes, 100 * i + 12);
        }
    }
    assert_ok(carm_code_table_entry(&table, 4, name, &layout, &account, &err));
    assert_int_equal(strlen(name), CARM_CODE_NAME_MAX - 1);
    /* constants begin on a line behind the last code, and before the table */
    static const uint64_t ends[][2] = {{112, 128}, {64, 64}, {65, 128}, {128, 128}};
    for (size_t i = 0; i < 4; i++) {
        memcpy(made.entries[4].layout, (uint64_t[]){32, ends[i][0], 40, 48}, 32);
        assert_int_equal(carm_builtin_constants(&table), ends[i][1]);
    }
}

RUN_TESTS(open_folders, close_folders)
