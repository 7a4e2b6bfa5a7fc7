/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The recount catches planted faults: in the macros, in the generated source and in the bytes. */
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include "asm/gen.h"
#include "asm/image.h"
#include "tests/asm/flips.h"
#include "tests/asm/recount_faults.h"
#include "tests/folder.h"

extern char **environ;

/* A source of one code, assembled: what carm_image_assemble gives for an unaltered one. */
struct assembled {
    uint8_t bytes[65536];
    size_t size;
    struct carm_code_layout layout;
    struct carm_account account;
};

static void run_nasm(const char *source)
{
    char in[128];
    char out[128];
    char log[128];
    (void)snprintf(in, sizeof in, "%s/code.asm", folder);
    (void)snprintf(out, sizeof out, "%s/code.bin", folder);
    (void)snprintf(log, sizeof log, "%s/nasm.log", folder);
    FILE *f = fopen(in, "w");
    assert_non_null(f);
    assert_true(fputs(source, f) >= 0);
    assert_int_equal(fclose(f), 0);
    char *argv[] = {"nasm", "-f", "bin", "-o", out, in, NULL};
    posix_spawn_file_actions_t actions;
    pid_t pid = 0;
    int status = 0;
    assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
    (void)posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log,
                                           O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(posix_spawnp(&pid, "nasm", &actions, NULL, argv, environ), 0);
    (void)posix_spawn_file_actions_destroy(&actions);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (status != 0) { /* a fault that does not assemble is a fault of this file */
        char line[256] = "";
        f = fopen(log, "r");
        (void)!(f && fgets(line, sizeof line, f));
        if (f) {
            (void)fclose(f);
        }
        fail_msg("nasm refuses the altered source: %s", line);
    }
}

/* Reads the first entry of the image's table, as CARM_FILE and CODE_END of asm/carm.inc lay it. */
static void assemble(const char *source, struct assembled *out)
{
    char path[128];
    uint64_t table = 0;
    uint64_t e[17];
    run_nasm(source);
    (void)snprintf(path, sizeof path, "%s/code.bin", folder);
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    out->size = fread(out->bytes, 1, sizeof out->bytes, f);
    assert_int_equal(fclose(f), 0);
    assert_in_range(out->size, 64, sizeof out->bytes - 1);
    memcpy(&table, out->bytes + 8, sizeof table);
    assert_in_range(table, 32, out->size - sizeof e);
    memcpy(e, out->bytes + table, sizeof e);
    out->layout = (struct carm_code_layout){e[0], e[1], e[2], e[3]};
    out->account = (struct carm_account){
        .loads = e[4],
        .load_bytes = e[5],
        .stores = e[6],
        .store_bytes = e[7],
        .nt_stores = e[8],
        .fp_instructions = e[9],
        .flops = e[10],
        .prefetches = e[11],
        .int_instructions = e[12],
        .instructions = e[13],
        .stride_bytes = e[14],
        .setup_loads = e[15],
        .setup_load_bytes = e[16],
    };
}

static struct carm_code_spec parse(const char *name)
{
    struct carm_code_spec spec;
    assert_ok(carm_code_parse(name, &spec, &err));
    return spec;
}

static char *source_of(const char *name)
{
    const struct carm_code_spec spec = parse(name);
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);
    assert_non_null(f);
    carm_gen_source(f, &spec, 1);
    assert_int_equal(fclose(f), 0);
    return text;
}

/* Replaces every `from` in text by `to`; takes text. */
static char *replace(char *text, const char *from, const char *to)
{
    char *out = NULL;
    size_t size = 0;
    const char *at = text;
    FILE *f = open_memstream(&out, &size);
    assert_non_null(f);
    fail_if(!strstr(text, from), "the source has no '%s' to be altered", from);
    for (const char *hit = strstr(at, from); hit; hit = strstr(at, from)) {
        (void)fwrite(at, 1, (size_t)(hit - at), f);
        (void)fputs(to, f);
        at = hit + strlen(from);
    }
    (void)fputs(at, f);
    assert_int_equal(fclose(f), 0);
    free(text);
    return out;
}

/* Checks the altered code: the sentence must hold `message` (NULL: it must pass).
 * returns 0 or 1 after having said what is wrong */
static unsigned check(const struct fault *f, const struct assembled *a)
{
    const struct carm_code_spec spec = parse(f->checked ? f->checked : f->code);
    err = (struct carm_err){""};
    char name[CARM_CODE_NAME_MAX];
    carm_code_name(&spec, name);
    int rc = carm_recount_check(&spec, a->bytes, a->size, &a->layout, &a->account, &err);
    const bool good = f->message ? rc == -CARM_EFORMAT && strstr(err.text, f->message) &&
                                       strstr(err.text, name) && !strchr(err.text, '\n')
                                 : rc == 0;
    if (!good) {
        print_error("%s: %d '%s', not '%s'\n", f->what, rc, err.text, f->message ? f->message : "");
    }
    return !good;
}

TEST(planted_in_the_source)
{
    static struct assembled a;
    unsigned missed = 0;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const struct fault *f = &faults[i];
        char *source = source_of(f->code);
        for (int k = 0; k < 3 && f->from[k]; k++) {
            source = replace(source, f->from[k], f->to[k]);
        }
        assemble(source, &a);
        free(source);
        missed += check(f, &a);
    }
    assert_int_equal(missed, 0);
}

/* Every code that is altered above passes when it is not. */
TEST(unaltered_passes)
{
    static struct assembled a;
    unsigned refused = 0;
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        if (i > 0 && strcmp(faults[i].code, faults[i - 1].code) == 0) {
            continue;
        }
        const struct fault none = {.what = faults[i].code, .code = faults[i].code};
        char *source = source_of(none.code);
        assemble(source, &a);
        free(source);
        refused += check(&none, &a);
    }
    assert_int_equal(refused, 0);
}

TEST(every_count_is_compared)
{
    static struct assembled a;
    static const char *const names[] = {"W.avx2.dp.2:1nt.fma.u4.f8.c4.i6.p512",
                                        "C.avx2.dp.1:1.fma.u4.f8.c4.p512.s2",
                                        "A.avx2.dp.1:0.u8.j5",
                                        "R.avx2.dp.u4",
                                        "B.avx2.dp.fma.f16.c8.i45",
                                        "C.amx.bf16.2:1.dot.u4.f8.c4.p1024"};
    for (size_t n = 0; n < sizeof names / sizeof *names; n++) {
        char *source = source_of(names[n]);
        assemble(source, &a);
        free(source);
        uint64_t *const counts = (uint64_t *)&a.account;
        for (size_t i = 0; i < sizeof a.account / sizeof *counts; i++) {
            const struct fault f = {
                .what = "a count one too high", .code = names[n], .message = "its account says"};
            counts[i]++;
            assert_int_equal(check(&f, &a), 0);
            counts[i]--;
        }
    }
}

TEST(truncated)
{
    static struct assembled a;
    struct carm_account account;
    char *source = source_of("C.avx2.dp.2:1.fma.u4.f8.c4");
    assemble(source, &a);
    free(source);
    for (uint64_t end = a.layout.begin; end < a.layout.end; end++) {
        struct carm_code_layout cut = a.layout;
        cut.end = end;
        assert_int_equal(carm_recount(a.bytes, a.size, &cut, 0, &account, &err), -CARM_EFORMAT);
    }
    assert_non_null(strstr(err.text, "does not end with `ret`"));
    /* the image itself cut off; a copy of just that size lets a sanitizer see reads past it */
    for (size_t size = 0; size < a.size; size++) {
        uint8_t *copy = malloc(size ? size : 1);
        assert_non_null(copy);
        memcpy(copy, a.bytes, size);
        int rc = carm_recount(copy, size, &a.layout, 0, &account, &err);
        free(copy);
        /* past the last constant lies only the table, which a recount does not read */
        assert_true(rc == -CARM_EFORMAT || size > a.layout.end);
    }
    struct carm_code_layout outside = {a.size + 64, a.size + 128, a.size + 64, a.size + 100};
    assert_refused(carm_recount(a.bytes, a.size, &outside, 0, &account, &err), -CARM_EFORMAT,
                   "outside the image");
    struct carm_code_layout moved = a.layout;
    moved.loop_begin += 64;
    assert_refused(carm_recount(a.bytes, a.size, &moved, 0, &account, &err), -CARM_EFORMAT,
                   "the loop body does not begin here");
    moved = a.layout;
    moved.loop_end -= 1;
    assert_refused(carm_recount(a.bytes, a.size, &moved, 0, &account, &err), -CARM_EFORMAT,
                   "the loop body does not end here");
}

/* The stored constant at places around the code, in an image of so many bytes. */
TEST(constants_have_their_places)
{
    enum { AT = 5, LENGTH = 9 }; /* movss xmm11, [rip + AT], from the code's begin */
    static struct assembled a;
    static const char outside[] = "its constant lies outside the image or inside the code";
    char *source = source_of("A.scalar.sp.0:1.u1");
    assemble(source, &a);
    free(source);
    const int64_t begin = (int64_t)a.layout.begin, end = (int64_t)a.layout.end;
    const int64_t size = (int64_t)a.size / 4 * 4;
    const struct {
        int64_t at, size;
        const char *message; /* NULL: it passes */
    } rows[] = {{size - 4, size, NULL},   {size - 4, size - 1, outside},
                {size, size, outside},    {-4, size, outside},
                {begin - 4, size, NULL},  {begin - 3, size, outside},
                {end - 1, size, outside}, {end, size, end % 4 ? "is not aligned" : NULL}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_account account;
        const int32_t distance = (int32_t)(rows[i].at - begin - LENGTH);
        memcpy(a.bytes + begin + AT, &distance, sizeof distance);
        err = (struct carm_err){""};
        const int rc = carm_recount(a.bytes, (size_t)rows[i].size, &a.layout, 0, &account, &err);
        fail_if(rc != (rows[i].message ? -CARM_EFORMAT : 0) ||
                    (rows[i].message && !strstr(err.text, rows[i].message)),
                "row %zu: %s", i, err.text);
    }
}

static const struct {
    const char *name;
    struct reason reasons[REASONS_MOST];
} flips[] = {
    {"W.avx512.dp.2:1.fma.u4.f8.c4.i8.p512",
     {{"", 78},
      {"foreign", 1899},
      {"it does not fetch the next line at the distance asked for", 384},
      {"its constant lies outside the image or inside the code", 150},
      {"its address is neither [rax + offset] nor another of a test code", 119},
      {"its registers are not a chain and constants set before", 113},
      {"its slot overlaps an earlier one or is out of order", 68},
      {"its constant is not aligned to the vector", 42},
      {"it stores neither a constant nor an update of the same place", 34},
      {"the loop is not closed by `add rax, stride; dec rcx; jnz` to its begin", 33},
      {"no pass loop, `dec rdx; jnz` to its begin, follows the loop body", 33},
      {"the loop's slots cover # bytes, but its stride is #", 31},
      {"it loads another constant than is due here", 29},
      {"it overwrites a register that is in use", 24},
      {"another operation is due here", 24},
      {"other constants are due in this turn of its chain", 16},
      {"another chain of additions is due here", 16},
      {"a gap in the stream lies before its slot", 14},
      {"it is not a load or store", 11},
      {"its bytes have flops = #, its account says #", 8},
      {"it adds something else than the loop's counter", 8},
      {"before the pass loop stand only loads of constants", 7},
      {"its slot overlaps a load's and is no update of it", 6},
      {"its bytes have nt_stores = #, its account says #", 4},
      {"it is of another instruction set", 4},
      {"a pass must begin with `mov rax, rdi; mov rcx, rsi`", 2},
      {"its constant is not a normal number", 1},
      {"the stream goes backwards", 1},
      {"vzeroupper is missing after vectors wider than # bytes", 1}}},
    {"A.avx2.dp.1:1.u8.p512.s2",
     {{"", 51},
      {"foreign", 1147},
      {"it does not fetch the next line at the distance asked for", 256},
      {"its slot overlaps an earlier one or is out of order", 249},
      {"its address is neither [rax + offset] nor another of a test code", 145},
      {"a gap in the stream lies before its slot", 91},
      {"it stores neither a constant nor an update of the same place", 43},
      {"the loop's slots cover # bytes, but its stride is #", 36},
      {"the loop is not closed by `add rax, stride; dec rcx; jnz` to its begin", 33},
      {"no pass loop, `dec rdx; jnz` to its begin, follows the loop body", 33},
      {"its constant lies outside the image or inside the code", 22},
      {"it is of another precision", 17},
      {"it overwrites a register that is in use", 17},
      {"it is not a load or store", 14},
      {"a prefetch in another stream is due here", 12},
      {"its bytes have nt_stores = #, its account says #", 8},
      {"its constant is not aligned to the vector", 5},
      {"it loads another constant than is due here", 5},
      {"a pass must begin with `mov rax, rdi; mov rcx, rsi`", 2},
      {"its bytes have setup_load_bytes = #, its account says #", 1},
      {"before the pass loop stand only loads of constants", 1},
      {"kind R begins with `mov r#, rcx`, the first state", 1},
      {"its slot overlaps the one before", 1},
      {"the stream goes backwards", 1},
      {"vzeroupper is missing after vectors wider than # bytes", 1}}},
    {"A.avx2.sp.1:0.u8.j3",
     {{"", 42},
      {"foreign", 790},
      {"its slot overlaps an earlier one or is out of order", 151},
      {"a gap in the stream lies before its slot", 63},
      {"no pass loop, `dec rdx; jnz` to its begin, follows the loop body", 33},
      {"its slot overlaps the one before", 25},
      {"its address is neither [rax + offset] nor another of a test code", 20},
      {"the loop is not closed by `add rax, stride; dec rcx; jnz` to its begin", 9},
      {"it is of another precision", 8},
      {"it stores neither a constant nor an update of the same place", 8},
      {"it is not a load or store", 7},
      {"a pass must begin with `mov rax, rdi; mov rcx, rsi`", 2},
      {"the stream goes backwards", 1},
      {"vzeroupper is missing after vectors wider than # bytes", 1}}},
    {"R.avx2.dp.u4",
     {{"", 83},
      {"foreign", 1146},
      {"it is not the generator's constant", 160},
      {"its address is neither [rax + offset] nor another of a test code", 92},
      {"it is not the next vector of its line", 36},
      {"no pass loop, `dec rdx; jnz` to its begin, follows the loop body", 33},
      {"`add r#, r#` is due here", 28},
      {"a load from the line drawn is due here", 12},
      {"it is of another precision", 8},
      {"the loop is not closed by `dec rax; jnz` to its begin", 8},
      {"it is not a load or store", 4},
      {"`imul r#, r#` is due here", 2},
      {"`lea r#, [r# + #*r#]` is due here", 1},
      {"before the pass loop of kind R stands only its generator", 1},
      {"a pass of kind R must begin with `mov rax, rsi`", 1},
      {"vzeroupper is missing after vectors wider than # bytes", 1}}},
    {"C.amx.fp16.2:1.dot.u4.f8.c4",
     {{"", 23},
      {"foreign", 1423},
      {"its slot overlaps an earlier one or is out of order", 224},
      {"its address is neither [rax + r# + offset] nor [r# + r# + offset]", 190},
      {"its constant lies outside the image or inside the code", 128},
      {"a gap in the stream lies before its slot", 122},
      {"its constant is not aligned to the vector", 42},
      {"it overwrites a register that is in use", 41},
      {"the loop is not closed by `add rax, stride; dec rcx; jnz` to its begin", 33},
      {"no pass loop, `dec rdx; jnz` to its begin, follows the loop body", 33},
      {"its tile's rows do not follow one another in memory", 32},
      {"the loop's slots cover # bytes, but its stride is #", 31},
      {"it loads another tile than is due here", 30},
      {"its registers are not a chain and constants set before", 28},
      {"a product needs three different tiles", 24},
      {"other constants are due in this turn of its chain", 24},
      {"it loads a shape from outside the image", 20},
      {"it stores neither a constant nor an update of the same place", 20},
      {"it does not load a shape of palette #", 12},
      {"its factors are of another precision", 8},
      {"its bytes have flops = #, its account says #", 8},
      {"before the pass loop stand only loads of constants", 7},
      {"its slot overlaps a load's and is no update of it", 6},
      {"a pass must begin with `mov rax, rdi; mov rcx, rsi`", 2},
      {"the stream goes backwards", 1}}},
    {"B.avx512.int8.dot.f4.c2",
     {{"", 21},
      {"foreign", 557},
      {"its constant lies outside the image or inside the code", 86},
      {"its registers are not a chain and constants set before", 68},
      {"its constant is not aligned to the vector", 23},
      {"its address is neither [rax + offset] nor another of a test code", 20},
      {"it loads another constant than is due here", 19},
      {"other constants are due in this turn of its chain", 12},
      {"the loop is not closed by `add rax, stride; dec rcx; jnz` to its begin", 9},
      {"no pass loop, `dec rdx; jnz` to its begin, follows the loop body", 9},
      {"the loop's slots cover # bytes, but its stride is #", 7},
      {"before the pass loop stand only loads of constants", 4},
      {"its bytes have flops = #, its account says #", 4},
      {"its destination is not its first source", 4},
      {"a pass must begin with `mov rax, rdi; mov rcx, rsi`", 2},
      {"the stream goes backwards", 2},
      {"vzeroupper is missing after vectors wider than # bytes", 1}}},
};

struct flipped {
    struct carm_code_spec spec;
    struct assembled a;
};

static int check_flipped(void *arg)
{
    struct flipped *f = arg;
    return carm_recount_check(&f->spec, f->a.bytes, f->a.size, &f->a.layout, &f->a.account, &err);
}

/* Nothing crashes, and each fault is found by the rule that it breaks. */
TEST(flipped_bits)
{
    static struct flipped f;
    unsigned wrong = 0;
    for (size_t n = 0; n < sizeof flips / sizeof *flips; n++) {
        f.spec = parse(flips[n].name);
        char *source = source_of(flips[n].name);
        assemble(source, &f.a);
        free(source);
        wrong +=
            flip_bits(flips[n].name, f.a.bytes, &f.a.layout, check_flipped, &f, flips[n].reasons);
    }
    assert_int_equal(wrong, 0);
}

RUN_TESTS(make_folder, remove_folder)
