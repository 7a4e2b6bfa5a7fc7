/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Counting by translation against stepping, and against what is known: tests/run/traced.c,
 * test codes, random blocks. */
#define OWN_MAIN
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/personality.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "asm/image.h"
#include "harness/machine/cpu.h"
#include "harness/translate/kept.h"
#include "harness/translate/layout.h"
#include "harness/translate/run.h"
#include "harness/translate/tally.h"
#include "models/caches/hierarchy.h"
#include "run/launch.h"
#include "run/trace.h"
#include "tests/run/tracing.h"
#include "tests/unit.h"

enum { PLENTY = 50 * 1000 * 1000, PAGE = 4096 };
static char folder[64];
static char fixed[128], traced[128], tiny[128], codes[128], rewrites[128], random_blocks[128],
    places[128], masks[128], walks[128], branches[128], asks[128], data[128];
static char free_out[128], counted_out[128];
static bool with_random, with_fixed, with_library, keeps_programs;

/* A run whose output goes to /dev/null, or to a file. */
static struct carm_translation translate_with(char *const *argv, const char *output,
                                              const struct carm_address_sink *sink,
                                              enum carm_stock_use stock)
{
    struct carm_translator *translator = NULL;
    struct carm_translation got = {.status = -1, .stock = stock};
    struct carm_launch launch;
    (void)fflush(stdout);
    const int kept = dup(STDOUT_FILENO);
    const int file = output ? open(output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    assert_true(!output || dup2(file, STDOUT_FILENO) >= 0);
    int rc = carm_translator_open(&translator, sink, &err);
    rc = rc ? rc : carm_launch_open(&launch, argv, NULL, output ? 0 : CARM_LAUNCH_QUIET, &err);
    rc = rc ? rc : carm_translator_attach(translator, launch.pid, argv[0], &err);
    rc = rc ? rc : carm_launch_go(&launch, argv[0], &err);
    rc = rc ? rc : carm_translator_run(translator, &got, &err);
    launch.pid = -1;
    carm_launch_close(&launch);
    carm_translator_close(translator);
    (void)dup2(kept, STDOUT_FILENO);
    (void)close(kept);
    if (file >= 0) {
        (void)close(file);
    }
    fail_if(rc, "%s", err.text);
    return got;
}

static struct carm_translation translate_to(char *const *argv, const char *output,
                                            const struct carm_address_sink *sink)
{
    return translate_with(argv, output, sink, CARM_STOCK_USED);
}

static struct carm_translation translate(char *const *argv, const char *output)
{
    return translate_to(argv, output, NULL);
}

static struct carm_trace step(char *const *argv)
{
    struct carm_trace got = {.budget = PLENTY};
    struct carm_launch launch;
    assert_ok(carm_launch_open(&launch, argv, NULL, CARM_LAUNCH_TRACED | CARM_LAUNCH_QUIET, &err));
    assert_ok(carm_trace_run(launch.pid, &got, &err));
    launch.pid = -1;
    carm_launch_close(&launch);
    assert_int_equal(got.cut, CARM_TRACE_WHOLE);
    return got;
}

/* ---- equal to stepping ---- */

static void same(const char *what, const struct carm_step_counts *a,
                 const struct carm_step_counts *b)
{
    char text[512] = "";
    size_t used = 0;
    for (size_t i = 0; i < CARM_STEP_WORDS && used < sizeof text - 64; i++) {
        if (a->q[i] != b->q[i]) {
            used += (size_t)snprintf(text + used, sizeof text - used,
                                     "; quantity %zu is %llu, not %llu", i,
                                     (unsigned long long)a->q[i], (unsigned long long)b->q[i]);
        }
    }
    fail_if(used, "%s: %s", what, text + 2);
}

/* ---- addresses ---- */

struct sums {
    uint64_t bytes[CARM_ADDRESS_PREFETCH_L2 + 1]; /* of prefetches, accesses */
    uint32_t threads;
};

static void add_access(void *arg, uint32_t thread, uint64_t address, uint32_t bytes,
                       enum carm_address_kind kind, const struct carm_address_by *by)
{
    struct sums *sums = arg;
    sums->bytes[kind] += bytes;
    sums->threads = thread >= sums->threads ? thread + 1 : sums->threads;
}

/* The bytes of all addresses are those that were counted. */
static void same_bytes(const char *what, const struct sums *sums, const struct carm_step_counts *c)
{
    const uint64_t *b = sums->bytes;
    fail_if(b[CARM_ADDRESS_LOAD] != c->load_bytes ||
                b[CARM_ADDRESS_STORE] + b[CARM_ADDRESS_STORE_NT] != c->store_bytes ||
                (b[CARM_ADDRESS_STORE_NT] > 0) != (c->nt_stores > 0) ||
                b[CARM_ADDRESS_PREFETCH] + b[CARM_ADDRESS_PREFETCH_L2] != c->prefetches,
            "%s: addresses of %llu bytes loaded, %llu stored, %llu not temporally, %llu "
            "prefetches; counted were %llu, %llu, %llu stores, %llu",
            what, (unsigned long long)b[CARM_ADDRESS_LOAD],
            (unsigned long long)(b[CARM_ADDRESS_STORE] + b[CARM_ADDRESS_STORE_NT]),
            (unsigned long long)b[CARM_ADDRESS_STORE_NT],
            (unsigned long long)(b[CARM_ADDRESS_PREFETCH] + b[CARM_ADDRESS_PREFETCH_L2]),
            (unsigned long long)c->load_bytes, (unsigned long long)c->store_bytes,
            (unsigned long long)c->nt_stores, (unsigned long long)c->prefetches);
}

enum { AREA = 0x600000, SEEN_MAX = 64 };
#define L CARM_ADDRESS_LOAD
#define S CARM_ADDRESS_STORE

struct place {
    uint64_t at;
    uint32_t bytes;
    enum carm_address_kind kind;
};

struct places {
    struct place of[SEEN_MAX];
    size_t n;
};

static void note_access(void *arg, uint32_t thread, uint64_t address, uint32_t bytes,
                        enum carm_address_kind kind, const struct carm_address_by *by)
{
    struct places *seen = arg;
    assert_int_equal(thread, 0);
    if (seen->n < SEEN_MAX) {
        seen->of[seen->n++] = (struct place){address - AREA, bytes, kind};
    }
}

/* Windows, and each line is sampled between them. */
static void sample_all(struct carm_address_sink *sink)
{
    sink->sample.wanted = 1;
    sink->sample.half = 1500;
    sink->sample.between = 5000;
    sink->sample.turns = 1;
    memset(sink->sample.classes, 1, sizeof sink->sample.classes);
}

/* Each address of places.s, in its order. */
TEST(places)
{
    static const struct place expected[] = {
        {0, 4, S},
        {8, 8, L},
        {0x20, 4, L},
        {0x7f8, 8, S},
        {0x7f8, 8, L},
        {0x40, 8, S},
        {0x48, 8, L},
        {0x7f8, 8, S},
        {0x7f8, 8, L},
        {0x7f8, 8, S},
        {0x7f8, 8, S},
        {0x7f8, 8, L},
        {0x50, 4, L},
        {0x50, 4, S},
        {0, 8, L},
        {0x100, 8, S},
        {8, 8, L},
        {0x108, 8, S},
        {16, 8, L},
        {0x110, 8, S},
        {0x210, 4, S},
        {0x20c, 4, S},
        {2, 1, S},
        {0, 1, S},
        {1, 1, S},
        {0, 1, L},
        {1, 1, L},
        {2, 1, L},
        {0x300, 16, CARM_ADDRESS_STORE_NT},
        {0x340, 1, CARM_ADDRESS_PREFETCH},
        {0x380, 1, CARM_ADDRESS_PREFETCH_L2},
        {0x800, 256, S},
        {0x900, 256, S},
        {0x800, 256, L},
        {0x900, 256, L},
        {0x410, 8, L},
    };
    struct places seen = {.n = 0};
    const struct carm_address_sink sink = {.take = note_access, .arg = &seen};
    needs_tracing();
    const struct carm_translation got = translate_to((char *[]){places, NULL}, NULL, &sink);
    assert_string_equal(got.incomplete, "");
    assert_int_equal(got.status, 0);
    const size_t n = sizeof expected / sizeof *expected;
    for (size_t i = 0; i < n && i < seen.n; i++) {
        fail_if(seen.of[i].at != expected[i].at || seen.of[i].bytes != expected[i].bytes ||
                    seen.of[i].kind != expected[i].kind,
                "access %zu is at %#llx, %u bytes, kind %d; expected %#llx, %u, %d", i,
                (unsigned long long)seen.of[i].at, seen.of[i].bytes, (int)seen.of[i].kind,
                (unsigned long long)expected[i].at, expected[i].bytes, (int)expected[i].kind);
    }
    assert_int_equal(seen.n, n);
}

/* Programs without an environment and at fixed addresses: all runs execute the same. */
struct surroundings {
    char **environment;
    int personality;
};

static struct surroundings same_each_time(void)
{
    static char *none[] = {NULL};
    const struct surroundings before = {environ, personality(0xffffffff)};
    environ = none;
    (void)personality((unsigned long)before.personality | ADDR_NO_RANDOMIZE);
    return before;
}

/* The same for shells that start children. glibc's strcmp for AVX-512 masks its second load by the bytes that are not 0,
 * those behind the string included: in dash, the number of its latest child. Where a byte of that number is 0, the shell
 * loads 1 to 3 bytes fewer. */
static struct surroundings same_shells(void)
{
    static char *no_masks[] = {(char *)(uintptr_t) "GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX512VL",
                               NULL};
    const struct surroundings before = same_each_time();
    environ = no_masks;
    return before;
}

static void restore(const struct surroundings *before)
{
    (void)personality((unsigned long)before->personality);
    environ = before->environment;
}

/* A default container's seccomp filter refuses it. How many instructions the dynamic linker and string functions
 * execute depends on where things lie, so that two runs at random addresses have different counts. */
#define NEEDS_FIXED_ADDRESSES()                                            \
    do {                                                                   \
        const int was = personality(0xffffffff);                           \
        skip_if(personality((unsigned long)was | ADDR_NO_RANDOMIZE) == -1, \
                "addresses cannot be fixed here");                         \
        (void)personality((unsigned long)was);                             \
    } while (0)

/* returns its instructions */
static uint64_t equal_to_stepping(char *const *argv)
{
    const struct surroundings before = same_each_time();
    const struct carm_translation a = translate(argv, NULL);
    struct sums sums = {{0}, 0};
    const struct carm_address_sink sink = {.take = add_access, .arg = &sums};
    const struct carm_translation c = translate_to(argv, NULL, &sink);
    struct carm_trace b = step(argv);
    /* a hypervisor that loses traps of steps makes them fewer */
    for (int again = 0; again < 3 && b.counts.instructions < a.counts.instructions; again++) {
        b = step(argv);
    }
    restore(&before);
    assert_string_equal(a.incomplete, "");
    assert_int_equal(a.status, b.status);
    assert_int_equal(a.threads, b.threads);
    assert_int_equal(a.processes, b.processes);
    same(argv[0], &a.counts, &b.counts);
    same(argv[0], &c.counts, &b.counts);
    same_bytes(argv[0], &sums, &b.counts);
    return b.counts.instructions;
}

TEST(equal)
{
    needs_tracing();
    equal_to_stepping((char *[]){tiny, NULL});
    NEEDS_FIXED_ADDRESSES();
    equal_to_stepping(
        (char *[]){traced, (char *)(uintptr_t) "loop", (char *)(uintptr_t) "107", NULL});
    equal_to_stepping((char *[]){traced, (char *)(uintptr_t) "faults", NULL});
    equal_to_stepping((char *[]){traced, (char *)(uintptr_t) "loop-faults", NULL});
    equal_to_stepping((char *[]){traced, (char *)(uintptr_t) "fork-flop", NULL});
}

TEST(rewrites)
{
    needs_tracing();
    equal_to_stepping((char *[]){rewrites, NULL});
    const struct carm_translation got = translate((char *[]){rewrites, NULL}, NULL);
    assert_int_equal(got.status, 0); /* it checks what its code does */
    assert_true(got.compared > 0 && got.compared < got.counts.instructions);
    assert_int_equal(translate((char *[]){tiny, NULL}, NULL).compared, 0);
}

/* Programs of this machine, from their first instruction to their last, dynamic linker included: one of some 200
 * thousand instructions. CARM_SOAK=name: that one, of some 20 million, for which stepping takes 5 to 20 minutes
 * (make soak). */
TEST(programs)
{
    static const struct {
        const char *name;
        int lines; /* of the file that it reads */
        const char *argv[5];
    } programs[] = {
        {"gzip", 10200, {"/bin/gzip", "-9", "-c", data}},
        {"bzip2", 9200, {"/usr/bin/bzip2", "-9", "-c", data}},
        {"xz", 2800, {"/usr/bin/xz", "-T1", "-c", data}},
        {"sort", 6300, {"/usr/bin/sort", "-n", "-r", data}},
        {"sed", 10300, {"/bin/sed", "s/9*3/<&>/g", data}},
        {"mawk", 16700, {"/usr/bin/mawk", "{ s += sin($1) } END { print s }", data}},
        {"perl", 9400, {"/usr/bin/perl", "-ne", "$h{$_ % 100} += sqrt($_)", data}},
        {"openssl", 20000, {"/usr/bin/openssl", "dgst", "-sha256", data}},
        {"python3", 1, {"/usr/bin/env", "PYTHONHASHSEED=0", "/usr/bin/python3", "-S", data}},
        {"sqlite3",
         1,
         {"/usr/bin/sqlite3", ":memory:",
          "with recursive c(x) as (select 1 union all select x + 1 from c where x < 6300) "
          "select sum(x), avg(x * x) from c"}},
    };
    const char *soak = getenv("CARM_SOAK"); // NOLINT(concurrency-mt-unsafe)
    size_t i = 0;
    needs_tracing();
    NEEDS_FIXED_ADDRESSES();
    while (soak && i < sizeof programs / sizeof *programs && strcmp(soak, programs[i].name) != 0) {
        i++;
    }
    assert_true(i < sizeof programs / sizeof *programs);
    char *argv[8] = {NULL};
    memcpy(argv, programs[i].argv, sizeof programs[i].argv);
    skip_if(access(argv[0], X_OK) != 0, "no %s here", argv[0]);
    FILE *f = fopen(data, "we");
    assert_non_null(f);
    for (int line = 0; line < (soak ? programs[i].lines : 100); line++) {
        (void)fprintf(f, "%d\n", line * 7919 % 65536);
    }
    assert_int_equal(fclose(f), 0);
    const time_t begin = time(NULL);
    const uint64_t instructions = equal_to_stepping(argv);
    if (soak) {
        print_message("%s: %.1f million instructions counted equal, in %.0f s\n", soak,
                      (double)instructions * 1e-6, difftime(time(NULL), begin));
    }
    (void)unlink(data);
}

/* Test codes of every kind, ISA and precision that this processor runs. */
static size_t write_codes(void)
{
    static const char *const kinds[] = {
        "A.%s.%s.2:1.u4",      "A.%s.%s.1:1nt.u4.s2",        "A.%s.%s.1:0.u4.p512",
        "B.%s.%s.fma.f20.c10", "B.%s.%s.add.f20.c10",        "B.%s.%s.div.f4.c4",
        "B.%s.%s.mad.f8.c4",   "C.%s.%s.2:1.mad.u4.f8.c4",   "C.%s.%s.1:1.fma.u4.f8.c4",
        "R.%s.%s.u4",          "W.%s.%s.1:0.mad.u4.f8.c4.i8"};
    static struct carm_code_spec specs[256];
    static uint64_t header[4 * 256];
    size_t n = 0;
    struct carm_image *image = NULL;
    struct carm_cpu cpu;
    carm_cpu_read(&cpu);
    for (int isa = 0; isa < CARM_VECTOR_ISAS; isa++) {
        for (int p = 0; p < CARM_FLOATS; p++) {
            for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
                char name[CARM_CODE_NAME_MAX];
                (void)snprintf(name, sizeof name, kinds[k],
                               carm_isa_name((enum carm_isa)isa), /* NOLINT */
                               carm_precision_name((enum carm_precision)p));
                n += cpu.isa[isa] && carm_code_parse(name, &specs[n], &err) == 0 &&
                     (!carm_kind_has_flops(specs[n].kind) ||
                      carm_cpu_has_op(&cpu, specs[n].isa, specs[n].precision, specs[n].op));
            }
        }
    }
    assert_ok(carm_image_open(&image, specs, n, &err));
    header[0] = image->text_bytes;
    header[1] = n;
    for (size_t i = 0; i < n; i++) {
        uint64_t *call = &header[2 + 4 * i];
        uint64_t start = 0;
        memcpy(&start, &image->codes[i].run, sizeof start);
        call[0] = start - (uint64_t)(uintptr_t)image->text;
        call[1] = 1 + i % 3;
        call[2] = 1 + i % 2;
        /* kind R: of 1024 lines; others: the second stream */
        call[3] = specs[i].kind == CARM_KIND_R ? UINT64_C(0x1234567890) << 6 | (64 - 10) : 1 << 17;
    }
    FILE *f = fopen(data, "we");
    assert_non_null(f);
    assert_true(2 + 4 * n <= PAGE / sizeof *header);
    assert_int_equal(fwrite(header, PAGE, 1, f), 1);
    assert_int_equal(fwrite(image->text, image->text_bytes, 1, f), 1);
    assert_int_equal(fclose(f), 0);
    carm_image_close(image);
    return n;
}

TEST(codes)
{
    needs_tracing();
    const size_t n = write_codes();
    assert_true(n > 50);
    equal_to_stepping((char *[]){codes, data, NULL});
    (void)unlink(data);
}

/* ---- known results ---- */

static struct carm_translation task(const char *name, const char *arg)
{
    char *const argv[] = {traced, (char *)(uintptr_t)name, (char *)(uintptr_t)arg, NULL};
    return translate(argv, NULL);
}

TEST(tasks)
{
    static const struct {
        const char *name, *arg;
        uint64_t flops, threads, processes;
        int status;
    } tasks[] = {
        {"loop", "107", 107, 1, 1, 7},           {"threads", "50", 5000, 51, 1, 0},
        {"threads", "1000", 100000, 1001, 1, 0}, {"fork", NULL, 1000, 2, 2, 4},
        {"fork-flop", NULL, 2, 2, 2, 0},         {"exec", NULL, 200, 1, 1, 0},
        {"exec-thread", NULL, 300, 2, 1, 0},     {"leader", NULL, 200, 2, 1, 6},
        {"signals", NULL, 128, 1, 1, 0},         {"faults", NULL, 20, 1, 1, 0},
        {"loop-faults", NULL, 1406, 1, 1, 0},    {"stop", NULL, 300, 2, 2, 0},
        {"timer-wait", NULL, 3000, 1, 1, 0},     {"term-itself", NULL, 7, 1, 1, 0},
        {"string-faults", NULL, 0, 1, 1, 0},     {"budget", NULL, 50000000, 2, 2, 2},
    };
    needs_tracing();
    for (size_t i = 0; i < sizeof tasks / sizeof *tasks; i++) {
        char *const argv[] = {traced, (char *)(uintptr_t)tasks[i].name,
                              (char *)(uintptr_t)tasks[i].arg, NULL};
        struct sums sums = {{0}, 0};
        const struct carm_address_sink sink = {.take = add_access, .arg = &sums};
        const struct carm_translation got = translate_to(argv, NULL, i % 2 ? NULL : &sink);
        if (i % 2 == 0) {
            same_bytes(tasks[i].name, &sums, &got.counts);
            assert_true(sums.threads >= tasks[i].threads);
        }
        fail_if(got.incomplete[0] || !WIFEXITED(got.status) ||
                    WEXITSTATUS(got.status) != tasks[i].status ||
                    got.counts.flops[0][0] != tasks[i].flops || got.threads != tasks[i].threads ||
                    got.processes != tasks[i].processes,
                "%s: status %x, %llu flops, %llu threads, %llu processes, '%s'", tasks[i].name,
                (unsigned)got.status, (unsigned long long)got.counts.flops[0][0],
                (unsigned long long)got.threads, (unsigned long long)got.processes, got.incomplete);
    }
}

TEST(ends)
{
    needs_tracing();
    const struct carm_translation crash = task("crash", NULL);
    assert_true(WIFSIGNALED(crash.status) && WTERMSIG(crash.status) == SIGSEGV);
    const struct carm_translation killed = task("killed", NULL);
    assert_true(WIFSIGNALED(killed.status) && WTERMSIG(killed.status) == SIGKILL);
    assert_int_equal(killed.counts.flops[0][0], 100); /* nothing is lost */
    /* a child that waits until its program has been waited for */
    char command[320];
    char *const argv[] = {(char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c", command, NULL};
    assert_int_equal(mkfifo(data, 0600), 0);
    (void)snprintf(command, sizeof command, "cat %s >%s.out &", data, data);
    const struct carm_translation daemon = translate(argv, NULL);
    const int gate = open(data, O_WRONLY | O_CLOEXEC);
    (void)close(gate);
    (void)unlink(data);
    (void)snprintf(command, sizeof command, "%s.out", data);
    (void)unlink(command);
    assert_int_equal(daemon.status, 0);
    assert_string_equal(daemon.incomplete,
                        "a child process was still running when the program ended");
}

TEST(interrupt)
{
    static const volatile sig_atomic_t yes = 1;
    struct carm_translator *translator = NULL;
    struct carm_translation got = {.interrupted = &yes};
    struct carm_launch launch;
    char *const argv[] = {traced, (char *)(uintptr_t) "timer", NULL};
    needs_tracing();
    assert_ok(carm_translator_open(&translator, NULL, &err));
    assert_ok(carm_launch_open(&launch, argv, NULL, CARM_LAUNCH_QUIET, &err));
    assert_ok(carm_translator_attach(translator, launch.pid, argv[0], &err));
    assert_ok(carm_launch_go(&launch, argv[0], &err));
    assert_ok(carm_translator_run(translator, &got, &err));
    launch.pid = -1;
    carm_launch_close(&launch);
    carm_translator_close(translator);
    assert_non_null(strstr(got.incomplete, "stopped"));
    assert_int_equal(got.status, 0);
}

/* ---- random blocks: registers, flags, memory and vectors afterwards ---- */

TEST(random)
{
    static const char *const seeds[] = {"1", "77", "12345"};
    needs_tracing();
    skip_if(!with_random, "no Zydis to compile with");
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        char command[512];
        char *const argv[] = {random_blocks, (char *)(uintptr_t)seeds[i], (char *)(uintptr_t) "800",
                              NULL};
        (void)snprintf(command, sizeof command, "%s %s 800 >%s", random_blocks, seeds[i], free_out);
        assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
        struct sums sums = {{0}, 0};
        struct carm_address_sink sink = {.take = add_access, .arg = &sums};
        if (i == 2 && __builtin_cpu_supports("bmi2")) {
            sample_all(&sink);
        }
        const struct carm_translation got = translate_to(argv, counted_out, i ? &sink : NULL);
        assert_string_equal(got.incomplete, "");
        assert_int_equal(got.status, 0);
        (void)snprintf(command, sizeof command, "cmp %s %s >&2", free_out, counted_out);
        assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
    }
}

/* Programs that run again take their code from the stock: they do the same, and count the same. Blocks whose rows
 * differ would have other sums. */
TEST(stock)
{
    needs_tracing();
    NEEDS_FIXED_ADDRESSES();
    /* The code of the shell, and of the first of three, is not shared. Random code is written while it runs; masks,
     * places and rewrites have little. */
    static const unsigned parts[] = {3, 40, 40, 2, 2};
    char commands[sizeof parts / sizeof *parts][512];
    const struct surroundings before = same_shells();
    (void)snprintf(commands[0], sizeof *commands, "%s 5 800", random_blocks);
    (void)snprintf(commands[1], sizeof *commands, "%s; %s", masks, places);
    (void)snprintf(commands[2], sizeof *commands, "%s", rewrites);
    (void)snprintf(commands[3], sizeof *commands, "od -t f8 /etc/passwd");
    (void)snprintf(commands[4], sizeof *commands, "sed s/o/0/g /etc/passwd; expr 7 : '[0-9]*'");
    for (size_t i = with_random ? 0 : 1; i < sizeof commands / sizeof *commands; i++) {
        char again[2048];
        char *const argv[] = {(char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c", again, NULL};
        (void)snprintf(again, sizeof again, "%s; %s; %s", commands[i], commands[i], commands[i]);
        const struct carm_translation alone =
            translate_with(argv, free_out, NULL, CARM_STOCK_UNUSED);
        const struct carm_translation shared =
            translate_with(argv, counted_out, NULL, CARM_STOCK_WAITED);
        assert_string_equal(alone.incomplete, "");
        assert_string_equal(shared.incomplete, "");
        assert_int_equal(shared.status, alone.status);
        same(commands[i], &shared.counts, &alone.counts);
        (void)snprintf(again, sizeof again, "cmp %s %s >&2", free_out, counted_out);
        assert_int_equal(system(again), 0); /* NOLINT(cert-env33-c) */
        assert_int_equal(alone.taken, 0);
        fail_if(shared.taken < shared.counters / parts[i],
                "%s: %llu of %llu counters are of shared code", commands[i],
                (unsigned long long)shared.taken, (unsigned long long)shared.counters);
    }
    restore(&before);
}

/* The third execution of a program has ready code, in which the library's is linked already. Then the library's file is
 * another one with as many bytes, at the same place. */
TEST(ready)
{
    needs_tracing();
    NEEDS_FIXED_ADDRESSES();
    skip_if(!with_library, "no compiler for a program with a library");
    char command[1024];
    char *const argv[] = {(char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c", command, NULL};
    const struct surroundings before = same_shells();
    (void)snprintf(command, sizeof command,
                   "cd %s; cp one.so used.so; ./calls; ./calls; ./calls; cp two.so used.so; "
                   "./calls; ./calls; cp one.so used.so; ./calls",
                   folder);
    const struct carm_translation alone = translate_with(argv, free_out, NULL, CARM_STOCK_UNUSED);
    const struct carm_translation shared =
        translate_with(argv, counted_out, NULL, CARM_STOCK_WAITED);
    assert_string_equal(alone.incomplete, "");
    assert_string_equal(shared.incomplete, "");
    assert_int_equal(alone.ready, 0);
    fail_if(shared.ready < 5, "%u programs had ready code", shared.ready);
    same("a library that changes", &shared.counts, &alone.counts);
    char home[96];
    (void)snprintf(home, sizeof home, "%s/cache", folder);
    assert_int_equal(setenv("XDG_CACHE_HOME", home, 1), 0);
    assert_int_equal(setenv("CARM_KEEP_CODE", "1", 1), 0);
    for (int i = 0; i < 6; i++) { /* code of the first file is kept */
        char *const calls[] = {(char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c", command,
                               NULL};
        (void)snprintf(command, sizeof command, "cd %s; cp %s used.so; exec ./calls", folder,
                       i < 3 ? "one.so" : "two.so");
        const struct carm_translation got =
            translate_with(calls, counted_out, NULL, i % 3 ? CARM_STOCK_KEPT : CARM_STOCK_UNUSED);
        static struct carm_step_counts alone_counts;
        alone_counts = i % 3 ? alone_counts : got.counts;
        same("kept code of a library that changes", &got.counts, &alone_counts);
        fail_if(i % 3 == 2 && got.ready < 3, "%u programs had kept code", got.ready);
    }
    assert_int_equal(setenv("CARM_KEEP_CODE", "0", 1), 0);
    restore(&before);
    (void)snprintf(command, sizeof command, "rm -r %s", home);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

/* A program with fixed low addresses: its code reaches its data from the place where the stock's code goes. */
TEST(stock_low)
{
    needs_tracing();
    NEEDS_FIXED_ADDRESSES();
    skip_if(!with_fixed, "no compiler for programs with fixed addresses");
    struct carm_translation got[2];
    for (int i = 0; i < 2; i++) {
        char command[512];
        char *const argv[] = {(char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c", command,
                              NULL};
        (void)snprintf(command, sizeof command, "%s; %s; %s", fixed, fixed, i ? fixed : "");
        got[i] = translate_with(argv, counted_out, NULL, CARM_STOCK_WAITED);
        assert_string_equal(got[i].incomplete, "");
    }
    const uint64_t counters = got[1].counters - got[0].counters;
    const uint64_t taken = got[1].taken - got[0].taken;
    fail_if(taken < counters - counters / 20,
            "%llu of %llu counters of a third run are of shared code", (unsigned long long)taken,
            (unsigned long long)counters);
}

/* A program can write to the memory that it shares with carm. It cannot make carm trace a process that carm does not
 * count. */
TEST(requests)
{
    needs_tracing();
    char number[16];
    const pid_t other = fork();
    if (other == 0) {
        (void)alarm(60);
        (void)pause();
        _exit(0);
    }
    (void)snprintf(number, sizeof number, "%d", (int)other);
    const struct carm_translation got = translate((char *[]){asks, number, NULL}, counted_out);
    (void)kill(other, SIGKILL);
    assert_int_equal(waitpid(other, NULL, 0), other);
    assert_int_equal(got.status, 0);
    assert_string_equal(got.incomplete, "a program that it starts cannot be traced");
}

/* ---- translated code on disk ---- */

static struct carm_translation translate_kept(void)
{
    return translate_with((char *[]){(char *)(uintptr_t) "/usr/bin/od", (char *)(uintptr_t) "-tf8",
                                     (char *)(uintptr_t) "/etc/passwd", NULL},
                          counted_out, NULL, CARM_STOCK_KEPT);
}

static struct carm_translation translate_script(const char *script)
{
    return translate_with((char *[]){(char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c",
                                     (char *)(uintptr_t)script, NULL},
                          counted_out, NULL, CARM_STOCK_KEPT);
}

/* The only file of the folder. */
static void find_kept(const char *home, char path[512])
{
    char command[512];
    (void)snprintf(command, sizeof command, "ls %s/carm/translated/* 2>/dev/null", home);
    FILE *list = popen(command, "r"); /* NOLINT(cert-env33-c) */
    assert_non_null(list);
    assert_non_null(fgets(path, 512, list));
    path[strcspn(path, "\n")] = '\0';
    assert_null(fgets(command, sizeof command, list));
    (void)pclose(list);
}

/* The file with a byte of it changed, and its hash as it was or right. */
static void write_kept(const char *path, const char *file, size_t size, size_t at, bool right)
{
    char *copy = malloc(size);
    assert_non_null(copy);
    memcpy(copy, file, size);
    copy[at] = (char)~copy[at];
    struct carm_ready *r = (struct carm_ready *)(void *)copy;
    if (right && r->bytes <= size) {
        r->check = carm_kept_hash(r);
    }
    FILE *f = fopen(path, "wb");
    assert_non_null(f);
    assert_int_equal(fwrite(copy, 1, size, f), size);
    assert_int_equal(fclose(f), 0);
    free(copy);
}

/* The kept code of the only program; free it. */
static struct carm_ready *read_kept(const char *home)
{
    char path[512];
    struct stat s;
    find_kept(home, path);
    assert_int_equal(stat(path, &s), 0);
    struct carm_ready *r = malloc((size_t)s.st_size);
    FILE *f = fopen(path, "rb");
    assert_true(r && f && fread(r, 1, (size_t)s.st_size, f) == (size_t)s.st_size);
    (void)fclose(f);
    return r;
}

/* Blocks of a second count that the first one did not execute are added to those on disk. A process that has forked
 * leaves as much, and so does one that executes another program. */
TEST(kept_grows)
{
    needs_tracing();
    NEEDS_FIXED_ADDRESSES();
    static const char *const scripts[] = {
        ":", "i=0; while [ $i -lt 9 ]; do (:); i=$((i+1)); done",
        "f() { case $1 in a*) printf '%x %s\\n' 7 \"${1#a}\";; esac; }; set -- ab cd; for i; do f $i; "
        "done; trap : USR1; read x </etc/passwd; IFS=:; echo $x; umask; ulimit -n; cd /; pwd; alias a=b; "
        "getopts ab: o -a; type f; eval 'echo $((7*6))'; test -e /etc -a -d /; exec /nowhere || :"};
    enum { SCRIPTS = sizeof scripts / sizeof *scripts };
    char home[96], command[512];
    uint32_t blocks = 0;
    (void)snprintf(home, sizeof home, "%s/grows", folder);
    const struct surroundings before = same_each_time();
    assert_int_equal(setenv("XDG_CACHE_HOME", home, 1), 0);
    assert_int_equal(unsetenv("CARM_KEEP_CODE"), 0);
    for (int i = 0; i < SCRIPTS; i++) {
        struct carm_translation got[3];
        for (int k = 0; k < 3; k++) {
            got[k] = translate_script(scripts[i]);
            assert_string_equal(got[k].incomplete, "");
            assert_int_equal(got[k].ready, i + k > 0);
            same(scripts[i], &got[k].counts, &got[0].counts);
        }
        fail_if(got[2].taken < got[2].counters - got[2].counters / 5,
                "%llu of %llu counters are of code from disk", (unsigned long long)got[2].taken,
                (unsigned long long)got[2].counters);
        struct carm_ready *r = read_kept(home);
        fail_if(i != 1 && r->nblocks <= blocks, "%u blocks of %u and new ones", r->nblocks, blocks);
        blocks = r->nblocks;
        free(r);
    }
    assert_int_equal(setenv("CARM_KEEP_CODE", "0", 1), 0);
    restore(&before);
    (void)snprintf(command, sizeof command, "rm -r %s", home);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

/* A library that is written while the program has it mapped: code of the earlier bytes is not kept beside the later
 * ones. */
TEST(kept_of_written)
{
    needs_tracing();
    NEEDS_FIXED_ADDRESSES();
    char home[96], script[512];
    (void)snprintf(home, sizeof home, "%s/written", folder);
    (void)snprintf(
        script, sizeof script,
        "mkdir %s && cp \"$(ldd /bin/sh | sed -n 's/.*libc.so.6 => \\([^ ]*\\).*/\\1/p')\" "
        "%s/libc.so.6 && sleep 0.1", /* written well before it is mapped */
        home, home);
    skip_if(system(script) != 0, "no libc.so.6 to copy"); /* NOLINT(cert-env33-c) */
    const struct surroundings before = same_each_time();
    assert_int_equal(setenv("XDG_CACHE_HOME", home, 1), 0);
    assert_int_equal(unsetenv("CARM_KEEP_CODE"), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(setenv("LD_LIBRARY_PATH", home, 1), 0);
        (void)snprintf(script, sizeof script,
                       "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; echo >>%s/libc.so.6",
                       home);
        assert_string_equal(translate_script(i ? script : ":").incomplete, "");
        assert_int_equal(unsetenv("LD_LIBRARY_PATH"), 0);
        struct carm_ready *r = read_kept(home);
        const struct carm_tally_map *maps = carm_ready_at(r, &r->tally_maps);
        const struct carm_ready_file *files = carm_ready_at(r, &r->files);
        int has = 0;
        for (uint32_t k = 0; k < r->nfiles; k++) {
            has += files[k].end && strstr(maps[k].path, "/libc.so.6");
        }
        assert_int_equal(has, i == 0);
        free(r);
        (void)snprintf(script, sizeof script, "rm -r %s/carm", home);
        assert_int_equal(system(script), 0); /* NOLINT(cert-env33-c) */
    }
    assert_int_equal(setenv("CARM_KEEP_CODE", "0", 1), 0);
    restore(&before);
    (void)snprintf(script, sizeof script, "rm -r %s", home);
    assert_int_equal(system(script), 0); /* NOLINT(cert-env33-c) */
}

/* A library that gets other code in place, at the same size: kept code of the earlier bytes is never executed again, not
 * even beside that of the later ones. */
static void rewrite(const char *layout)
{
    char home[96], text[2048], name[128];
    const char *cc = getenv("CC");
    (void)snprintf(home, sizeof home, "%s/rewritten", folder);
    (void)snprintf(
        text, sizeof text,
        "mkdir %s && cd %s && echo '#define A(n) if (x %% (n + 3) == K) x += n * K; else x ^= n;\n"
        "#define B(n) A(n) A(n + 1) A(n + 2) A(n + 3) A(n + 4) A(n + 5) A(n + 6) A(n + 7)\n"
        "#define C(n) B(n) B(n + 8) B(n + 16) B(n + 24) B(n + 32) B(n + 40) B(n + 48) B(n + 56)\n"
        "unsigned long work(volatile unsigned long x) { C(1) C(65) C(129) C(193) C(257) C(321) C(385) return x; }'"
        " >lib.c && echo 'unsigned long work(unsigned long); int main(void) { unsigned long s = 0;"
        " for (int i = 0; i < 99; i++) s += work(s + i); return (int)(s %% 199); }' >main.c && "
        "for k in 1 2; do %s -O1 -fPIC -shared %s -DK=$k -o $k.so lib.c || exit 1; done && cp 1.so libwork.so && "
        "%s -O1 -o main main.c libwork.so -Wl,-rpath,%s",
        home, home, cc ? cc : "cc", layout, cc ? cc : "cc", home);
    skip_if(system(text) != 0, "no compiler"); /* NOLINT(cert-env33-c) */
    (void)snprintf(name, sizeof name, "%s/main", home);
    const struct surroundings before = same_each_time();
    assert_int_equal(setenv("XDG_CACHE_HOME", home, 1), 0);
    struct carm_translation first[2];
    for (int i = 0; i < 10; i++) { /* each library without kept code, then: 1 1 2 2 2 1 1 1 */
        const int k = i < 2 ? i : i >= 4 && i < 7;
        (void)snprintf(text, sizeof text, "cat %s/%d.so >%s/libwork.so && sleep 0.1", home, k + 1,
                       home);
        assert_int_equal(system(text), 0); /* NOLINT(cert-env33-c) */
        assert_int_equal(setenv("CARM_KEEP_CODE", i < 2 ? "0" : "1", 1), 0);
        const struct carm_translation got =
            translate_with((char *[]){name, NULL}, counted_out, NULL, CARM_STOCK_KEPT);
        assert_string_equal(got.incomplete, "");
        first[k] = i < 2 ? got : first[k];
        assert_int_equal(got.status, first[k].status);
        same(name, &got.counts, &first[k].counts);
        assert_int_equal(got.ready, i > 2);
        fail_if(i == 6 && got.taken < got.counters - got.counters / 20,
                "%llu of %llu counters are of code from disk", (unsigned long long)got.taken,
                (unsigned long long)got.counters);
    }
    assert_true(first[0].counts.instructions != first[1].counts.instructions);
    assert_int_equal(setenv("CARM_KEEP_CODE", "0", 1), 0);
    restore(&before);
    (void)snprintf(text, sizeof text, "rm -r %s", home);
    assert_int_equal(system(text), 0); /* NOLINT(cert-env33-c) */
}

TEST(kept_of_rewritten)
{
    needs_tracing();
    NEEDS_FIXED_ADDRESSES();
    rewrite("");
    rewrite(
        "-Wl,-z,noseparate-code"); /* first mapped as executable as a whole, then data over a part of it */
}

/* Conditional branches of kept code, and of what follows them: no jump leads to the code behind it, and a branch that is
 * turned round leads where it led before. */
TEST(kept_of_branches)
{
    needs_tracing();
    NEEDS_FIXED_ADDRESSES();
    char home[96], command[512];
    struct carm_translation first = {.status = -1};
    (void)snprintf(home, sizeof home, "%s/branches.home", folder);
    const struct surroundings before = same_each_time();
    assert_int_equal(setenv("XDG_CACHE_HOME", home, 1), 0);
    (void)snprintf(command, sizeof command, "%s >%s", branches, free_out);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
    for (int i = 0; i < 4; i++) {
        assert_int_equal(setenv("CARM_KEEP_CODE", i ? "1" : "0", 1), 0);
        const struct carm_translation got =
            translate_with((char *[]){branches, NULL}, counted_out, NULL, CARM_STOCK_KEPT);
        assert_string_equal(got.incomplete, "");
        first = i ? first : got;
        same(branches, &got.counts, &first.counts);
        assert_int_equal(got.ready, i > 1);
        (void)snprintf(command, sizeof command, "cmp %s %s >&2", free_out, counted_out);
        assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
    }
    assert_int_equal(setenv("CARM_KEEP_CODE", "0", 1), 0);
    restore(&before);
    struct carm_ready *r = read_kept(home);
    unsigned onward = 0, nothing = 0, opposite = 0;
    for (uint32_t i = 0; i < r->nregions; i++) {
        const uint8_t *code = carm_ready_at(r, &r->regions[i].code);
        for (uint64_t at = 16; at + 8 <= r->regions[i].code.bytes; at += 8) {
            static const uint8_t jump[] = {0xe9, 0, 0, 0, 0}, nop[] = {0x0f, 0x1f, 0x44, 0, 0};
            const uint8_t *last = code + at - sizeof jump;
            int32_t off;
            memcpy(&off, last - 4, sizeof off); /* of a conditional branch right before the jump */
            onward += memcmp(last, jump, sizeof jump) == 0;
            nothing += memcmp(last, nop, sizeof nop) == 0;
            opposite +=
                last[0] == 0xe9 && last[-6] == 0x0f && (last[-5] & 0xf0) == 0x80 && off == 5;
        }
    }
    free(r);
    (void)snprintf(command, sizeof command, "rm -r %s", home);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
    fail_if(onward || opposite, "%u jumps and %u branches lead to what follows, beside %u nops",
            onward, opposite, nothing);
    fail_if(nothing < 64, "%u nops in place of jumps", nothing);
}

/* With kept code a program of Debian 12 has 110 page faults, of which 49 are its own; 145 where it writes the entries of its
 * libraries into the table of indirect branches; 241 where it writes all of them, nearly as many as without kept code. */
TEST(faults_of_programs)
{
    needs_tracing();
    NEEDS_FIXED_ADDRESSES();
    char home[96], command[512];
    (void)snprintf(home, sizeof home, "%s/faults", folder);
    const struct surroundings before = same_each_time();
    assert_int_equal(setenv("XDG_CACHE_HOME", home, 1), 0);
    long faults[6], own[6];
    for (int i = 0; i < 6;
         i++) { /* 9 programs, until their code is kept, and 109; then both without kept code */
        static const char loop[] = "i=0; while [ $i -lt %d ]; do /bin/true; i=$((i+1)); done";
        struct rusage from, between, to;
        assert_int_equal(setenv("CARM_KEEP_CODE", i < 4 ? "1" : "0", 1), 0);
        (void)snprintf(command, sizeof command, loop, i == 3 || i == 5 ? 109 : 9);
        assert_int_equal(getrusage(RUSAGE_CHILDREN, &from), 0);
        const struct carm_translation t = translate_script(command);
        assert_string_equal(t.incomplete, "");
        assert_int_equal(getrusage(RUSAGE_CHILDREN, &between), 0);
        assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
        assert_int_equal(getrusage(RUSAGE_CHILDREN, &to), 0);
        faults[i] = between.ru_minflt - from.ru_minflt;
        own[i] = to.ru_minflt - between.ru_minflt;
    }
    const double each = (double)(faults[3] - faults[2]) / 100;
    const double of_free = (double)(own[3] - own[2]) / 100;
    const double unkept = (double)(faults[5] - faults[4]) / 100;
    fail_if(each - of_free > 0.75 * (unkept - of_free),
            "%.0f page faults of a counted program, %.0f without kept code, %.0f of a free one",
            each, unkept, of_free);
    assert_int_equal(setenv("CARM_KEEP_CODE", "0", 1), 0);
    restore(&before);
    (void)snprintf(command, sizeof command, "rm -r %s", home);
    assert_int_equal(system(command), 0); /* NOLINT(cert-env33-c) */
}

/* Forked children that translate the same code, each for itself, share its counters: ten times as many children need
 * no more of the program's million. */
TEST(counters_of_forks)
{
    needs_tracing();
    NEEDS_FIXED_ADDRESSES();
    uint64_t counters[2];
    for (int i = 0; i < 2; i++) {
        char *const argv[] = {
            (char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c",
            (char
                 *)(uintptr_t) "i=0; while [ $i -lt $0 ]; do (read x; echo $x) </etc/passwd; i=$((i+1)); done",
            (char *)(uintptr_t)(i ? "60" : "6"), NULL};
        const struct carm_translation t =
            translate_with(argv, counted_out, NULL, CARM_STOCK_UNUSED);
        assert_string_equal(t.incomplete, "");
        counters[i] = t.counters;
    }
    fail_if(counters[1] > counters[0] + counters[0] / 10,
            "%llu counters with 6 children, %llu with 60", (unsigned long long)counters[0],
            (unsigned long long)counters[1]);
}

/* The page faults of a child of a shell's loop; counted or free. */
static double faults_of_child(bool counted)
{
    long faults[2];
    for (int i = 0; i < 2; i++) {
        static char loop[] = "i=0; while [ $i -lt $0 ]; do (:); i=$((i+1)); done";
        char *const argv[] = {(char *)(uintptr_t) "/bin/sh", (char *)(uintptr_t) "-c", loop,
                              (char *)(uintptr_t)(i ? "120" : "20"), NULL};
        struct rusage before, after;
        assert_int_equal(getrusage(RUSAGE_CHILDREN, &before), 0);
        if (counted) {
            const struct carm_translation t =
                translate_with(argv, counted_out, NULL, CARM_STOCK_UNUSED);
            assert_string_equal(t.incomplete, "");
        } else {
            pid_t pid;
            int status;
            assert_int_equal(posix_spawn(&pid, argv[0], NULL, NULL, argv, environ), 0);
            assert_int_equal(waitpid(pid, &status, 0), pid);
        }
        assert_int_equal(getrusage(RUSAGE_CHILDREN, &after), 0);
        faults[i] = after.ru_minflt - before.ru_minflt;
    }
    return (double)(faults[1] - faults[0]) / 100;
}

/* A fork's child finds the code that earlier ones have translated: where each translated it again, a child had 150
 * page faults in place of 31. */
TEST(faults_of_forks)
{
    needs_tracing();
    NEEDS_FIXED_ADDRESSES();
    const double own = faults_of_child(false);
    const double counted = faults_of_child(true);
    fail_if(counted > 2 * own + 30, "%.0f page faults of a counted child, %.0f of a free one",
            counted, own);
}

/* The second count takes its code from disk. A file that somebody else could have written, or that is damaged, is not
 * looked at; the count is the same. */
TEST(kept)
{
    needs_tracing();
    NEEDS_FIXED_ADDRESSES();
    char home[96], path[512], moved[600];
    struct stat s;
    (void)snprintf(home, sizeof home, "%s/cache", folder);
    const struct surroundings before = same_each_time();
    assert_int_equal(setenv("XDG_CACHE_HOME", home, 1), 0);
    assert_int_equal(setenv("CARM_KEEP_CODE", "1", 1), 0);
    const struct carm_translation first = translate_kept();
    assert_int_equal(first.ready, 0);
    const struct carm_translation second = translate_kept();
    assert_int_equal(second.ready, 1);
    same("code from disk", &second.counts, &first.counts);
    fail_if(second.taken < second.counters - second.counters / 10,
            "%llu of %llu counters are of code from disk", (unsigned long long)second.taken,
            (unsigned long long)second.counters);
    find_kept(home, path);
    assert_int_equal(stat(path, &s), 0);
    assert_int_equal(s.st_mode & 0777, 0600);
    const size_t size = (size_t)s.st_size;
    char *file = malloc(size);
    FILE *f = fopen(path, "rb");
    assert_true(file && f && fread(file, 1, size, f) == size);
    (void)fclose(f);
#define IN(member) offsetof(struct carm_ready, member)
    const struct {
        size_t at;
        bool right, late; /* seen by the engine, when it looks at its tables */
    } damages[] = {{IN(key), true, false},
                   {IN(check), false, false},
                   {IN(tally_maps.at), false, false},
                   {size / 2, false, false},
                   {size - 1, false, false},
                   {IN(bytes), true, false},
                   {IN(counters), true, false},
                   {IN(nfiles) + 1, true, false},
                   {IN(nregions), true, false},
                   {IN(blocks.at), true, false},
                   {IN(rows.bytes), true, false},
                   {IN(files.at), true, false},
                   {IN(regions[0].code.at), true, false},
                   {IN(nblocks), true, true},
                   {IN(nlinks), true, true},
                   {IN(nmaps), true, true},
                   {IN(places), true, true},
                   {IN(hash.bytes), true, true}};
#undef IN
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        write_kept(path, file, size, damages[i].at, damages[i].right);
        const struct carm_translation damaged = translate_kept();
        same("damaged code", &damaged.counts, &first.counts);
        fail_if(damaged.ready && !damages[i].late, "damage %zu is believed", i);
    }
    for (int i = 0; i < 4; i++) {
        (void)unlink(path);
        (void)unlink(moved);
        write_kept(path, file, size, size / 2, false);
        f = fopen(path, "wb");
        assert_true(f &&
                    fwrite(file, 1, i == 0 ? size / 2 : size, f) == (i == 0 ? size / 2 : size));
        (void)fclose(f);
        (void)snprintf(moved, sizeof moved, "%s/cache/moved", folder);
        assert_int_equal(i == 1                     ? chmod(path, 0620)
                         : i == 2                   ? rename(path, moved) || symlink(moved, path)
                         : i == 3 && geteuid() == 0 ? chown(path, 1, 1)
                                                    : 0,
                         0);
        const struct carm_translation foreign = translate_kept();
        same("a foreign file", &foreign.counts, &first.counts);
        fail_if(foreign.ready && (i < 3 || geteuid() == 0), "foreign file %d is believed", i);
    }
    free(file);
    assert_int_equal(setenv("CARM_KEEP_CODE", "0", 1), 0);
    restore(&before);
    (void)snprintf(moved, sizeof moved, "rm -r %s", home);
    assert_int_equal(system(moved), 0); /* NOLINT(cert-env33-c) */
}

/* Without a word of the user's, a program's first count leaves its code. */
TEST(kept_when_counted_again)
{
    needs_tracing();
    NEEDS_FIXED_ADDRESSES();
    char home[96], path[512];
    struct stat s;
    struct carm_translation of[3];
    (void)snprintf(home, sizeof home, "%s/again", folder);
    const struct surroundings before = same_each_time();
    assert_int_equal(setenv("XDG_CACHE_HOME", home, 1), 0);
    assert_int_equal(setenv("CARM_KEEP_CODE", "0", 1), 0);
    for (int i = 0; i < 3; i++) {
        of[i] = translate_kept();
        assert_int_equal(of[i].ready, 0);
    }
    assert_int_equal(stat(home, &s), -1);
    assert_int_equal(unsetenv("CARM_KEEP_CODE"), 0);
    for (int i = 0; i < 3; i++) {
        of[i] = translate_kept();
        find_kept(home, path);
        assert_int_equal(of[i].ready, i > 0);
        same("code from disk", &of[i].counts, &of[0].counts);
    }
    (void)snprintf(path, sizeof path, "rm -r %s", home);
    assert_int_equal(system(path), 0); /* NOLINT(cert-env33-c) */
    /* no folder is made inside another user's, and nothing is kept of programs whose addresses differ */
    if (geteuid() == 0) {
        assert_int_equal(mkdir(home, 0755) || chown(home, 1, 1), 0);
        (void)translate_kept();
        (void)snprintf(path, sizeof path, "%s/carm", home);
        assert_int_equal(stat(path, &s), -1);
        assert_int_equal(rmdir(home), 0);
    }
    assert_int_equal(mkdir(home, 0755), 0);
    (void)personality((unsigned long)personality(0xffffffff) & ~(unsigned long)ADDR_NO_RANDOMIZE);
    (void)translate_kept();
    assert_int_equal(rmdir(home), 0); /* it is empty */
    restore(&before);
}

/* Sums of accesses without order, but for those of string instructions, which sampling merges: of lines whose
 * class is set, and of the first or second line as well. */
struct hashes {
    const uint8_t *classes; /* [CARM_CLASSES] */
    uint64_t sum, n;
};

static void hash_access(void *arg, uint32_t thread, uint64_t address, uint32_t bytes,
                        enum carm_address_kind kind, const struct carm_address_by *by)
{
    struct hashes *h = arg;
    const uint64_t last = address + (bytes ? bytes - 1 : 0);
    if (!by->repeated && (h->classes[address >> CARM_CLASS_AT & (CARM_CLASSES - 1)] ||
                          h->classes[last >> CARM_CLASS_AT & (CARM_CLASSES - 1)])) {
        uint64_t x = (address << 12 | bytes << 3 | kind) * UINT64_C(0x9e3779b97f4a7c15);
        h->sum += (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
        h->n++;
    }
}

/* Looks at lines that several accesses share, by registers that are kept, find what looks at each find. */
TEST(looks)
{
    static char sed[] = "/bin/sed", by[] = "s/o\\(.\\)/<\\1>/g", file[] = "/etc/passwd";
    static char *const argvs[][4] = {{sed, by, file, NULL},
                                     {walks, NULL},
                                     {places, NULL},
                                     {traced, (char *)"loop", (char *)"107"}};
    uint8_t classes[CARM_CLASSES];
    needs_tracing();
    NEEDS_FIXED_ADDRESSES();
    skip_if(!__builtin_cpu_supports("bmi2"), "no BMI2 here");
    for (size_t i = 0; i < sizeof argvs / sizeof *argvs; i++) {
        for (unsigned every = 1; every <= 16; every *= 4) {
            for (unsigned c = 0; c < sizeof classes; c++) {
                classes[c] = c % every == 0;
            }
            struct hashes hashes[2] = {{classes, 0, 0}, {classes, 0, 0}};
            for (unsigned sampled = 0; sampled < 2; sampled++) {
                struct carm_address_sink sink = {.take = hash_access, .arg = &hashes[sampled]};
                if (sampled) {
                    sample_all(&sink);
                    memset(sink.sample.turn, 255, sizeof sink.sample.turn); /* of no window */
                    memcpy(sink.sample.classes, classes, sizeof classes);
                }
                const struct surroundings before = same_each_time();
                const struct carm_translation got = translate_to(argvs[i], counted_out, &sink);
                restore(&before);
                assert_string_equal(got.incomplete, "");
            }
            assert_true(hashes[0].n > 0 || every > 1);
            assert_int_equal(hashes[1].n, hashes[0].n);
            assert_int_equal(hashes[1].sum, hashes[0].sum);
        }
    }
}

/* What masks decide, with and without their addresses; sampled, where all lines are recorded and where none
 * is. */
TEST(masks)
{
    char *const argv[] = {masks, NULL};
    needs_tracing();
    skip_if(!__builtin_cpu_supports("avx512bw") || !__builtin_cpu_supports("avx512vl") ||
                !__builtin_cpu_supports("avx512dq"),
            "no AVX-512 here");
    equal_to_stepping(argv);
    const struct carm_translation plain = translate(argv, NULL);
    assert_int_equal(plain.status, 0); /* it looks at its flags */
    for (unsigned all = 0; all < 2; all++) {
        struct sums sums = {{0}, 0};
        struct carm_address_sink sink = {.take = add_access, .arg = &sums};
        sample_all(&sink);
        memset(sink.sample.classes, (int)all, sizeof sink.sample.classes);
        sink.sample.turns += !all; /* no line of the window's turn */
        const struct carm_translation got = translate_to(argv, NULL, &sink);
        assert_int_equal(got.status, 0);
        same(all ? "all" : "none", &got.counts, &plain.counts);
        if (all) {
            same_bytes("masks, sampled", &sums, &got.counts);
        }
    }
}

/* With sampling, windows and the time between them together have all bytes where each line is sampled, string
 * instructions' always; where none is, windows alone. */
TEST(sampled)
{
    static char *const argvs[][4] = {{traced, (char *)"signals", (char *)"128", NULL},
                                     {places, NULL, NULL, NULL}};
    struct carm_cpu cpu;
    needs_tracing();
    carm_cpu_read(&cpu);
    skip_if(!__builtin_cpu_supports("bmi2"), "no BMI2 here");
    for (size_t i = 0; i < sizeof argvs / sizeof *argvs; i++) {
        struct sums sums = {{0}, 0};
        struct carm_address_sink sink = {.take = add_access, .arg = &sums};
        sample_all(&sink);
        struct carm_translation got = translate_to(argvs[i], NULL, &sink);
        assert_string_equal(got.incomplete, "");
        same_bytes("sampled", &sums, &got.counts);
        if (i == 0) {
            const uint64_t all = sums.bytes[CARM_ADDRESS_LOAD] + sums.bytes[CARM_ADDRESS_STORE];
            memset(&sums, 0, sizeof sums);
            memset(sink.sample.classes, 0, sizeof sink.sample.classes);
            got = translate_to(argvs[i], NULL, &sink);
            const uint64_t part = sums.bytes[CARM_ADDRESS_LOAD] + sums.bytes[CARM_ADDRESS_STORE];
            /* at least a window, whose records are of a byte or more */
            assert_true(part >= 2 * sink.sample.half && part < all / 2);
        }
    }
}

/* Accesses of string instructions: those taken, and the number of the others, by kind. */
struct strings {
    const struct carm_record_sample *sample;
    uint64_t sum, taken, in_windows, passed[2];
};

static void pass_access(void *arg, uint64_t n, enum carm_address_kind kind,
                        const struct carm_address_by *by)
{
    struct strings *s = arg;
    assert_true(by->repeated && n > 0);
    s->passed[kind == CARM_ADDRESS_STORE] += n;
}

static void take_string(void *arg, uint32_t thread, uint64_t address, uint32_t bytes,
                        enum carm_address_kind kind, const struct carm_address_by *by)
{
    struct strings *s = arg;
    const size_t class = address >> CARM_CLASS_AT & (CARM_CLASSES - 1);
    const bool in_turn = by->window && s->sample->turn[class] == by->window / 2 % s->sample->turns;
    if (by->repeated && !in_turn && !s->sample->classes[class]) {
        pass_access(s, 1, kind, by);
    } else if (by->repeated) {
        const uint64_t x = (address << 12 | bytes << 3 | kind) + s->sum;
        s->sum = (x ^ x >> 29) * UINT64_C(0xbf58476d1ce4e5b9);
        s->taken++;
        s->in_windows += by->window > 0;
    }
}

/* Lines of string instructions that are not recorded, which are passed many at a time: a receiver that takes all sees
 * the same lines in the same order, and as many others. */
TEST(passed_strings)
{
    static char *const argv[] = {traced, (char *)"strings", (char *)"5000", NULL};
    needs_tracing();
    NEEDS_FIXED_ADDRESSES();
    skip_if(!__builtin_cpu_supports("bmi2"), "no BMI2 here");
    for (unsigned every = 1; every <= 1000; every *= 10) {
        struct strings got[2] = {{.sum = 1}, {.sum = 1}};
        for (size_t passes = 0; passes < 2; passes++) {
            struct carm_address_sink sink = {
                .take = take_string, .passed = passes ? pass_access : NULL, .arg = &got[passes]};
            sample_all(&sink);
            sink.sample.half = sink.sample.between = 200;
            sink.sample.turns = 4;
            for (size_t c = 0; c < CARM_CLASSES; c++) {
                sink.sample.turn[c] = (uint8_t)(c % 11);
                sink.sample.classes[c] = c % every == 0;
            }
            got[passes].sample = &sink.sample;
            const struct surroundings before = same_each_time();
            const struct carm_translation run = translate_to(argv, NULL, &sink);
            restore(&before);
            assert_string_equal(run.incomplete, "");
        }
        assert_true(got[0].in_windows > 100);
        /* of 100 classes or more, the buffers may lie in none that is recorded */
        assert_true(every > 10 || got[0].taken > got[0].in_windows + 100);
        assert_true(every == 1 || got[0].passed[0] > 100);
        got[1].sample = got[0].sample;
        assert_memory_equal(&got[0], &got[1], sizeof got[0]);
    }
}

/* ---- an independent simulation ---- */

static void simulate(void *arg, uint32_t thread, uint64_t address, uint32_t bytes,
                     enum carm_address_kind kind, const struct carm_address_by *by)
{
    assert_int_equal(thread, 0);
    carm_hierarchy_access(arg, 0, address, bytes, (enum carm_access_kind)kind);
}

/* "LLd misses:        8,538  (...": 0 = there is no such line */
static double number_behind(const char *text, const char *head)
{
    const char *at = strstr(text, head);
    double value = 0.0;
    for (at = at ? at + strlen(head) : ""; *at == ' ' || *at == ',' || (*at >= '0' && *at <= '9');
         at++) {
        if (*at == ' ' && value > 0.0) {
            break;
        }
        value = *at >= '0' && *at <= '9' ? 10.0 * value + (*at - '0') : value;
    }
    return value;
}

/* One stream of accesses for two simulations. */
struct both {
    struct carm_hierarchy *right, *planted;
};

static void simulate_both(void *arg, uint32_t thread, uint64_t address, uint32_t bytes,
                          enum carm_address_kind kind, const struct carm_address_by *by)
{
    const struct both *h = arg;
    simulate(h->right, thread, address, bytes, kind, by);
    simulate(h->planted, thread, address, bytes, kind, by);
}

/* Whether the misses of the first and of the last level are these within a hundredth. */
static bool agree(struct carm_hierarchy *h, double first_theirs, double last_theirs)
{
    struct carm_hierarchy_counts c;
    assert_ok(carm_hierarchy_read(h, &c, &err));
    const double first = (double)carm_hierarchy_misses(&c, 0);
    const double last = (double)carm_hierarchy_misses(&c, 1);
    print_message("misses of the first level %.0f, cachegrind's %.0f; of the last one %.0f, %.0f\n",
                  first, first_theirs, last, last_theirs);
    return fabs(first / first_theirs - 1.0) <= 0.01 && fabs(last / last_theirs - 1.0) <= 0.01;
}

/* Misses as cachegrind has them; not so with another replacement than LRU. */
TEST(cachegrind)
{
    static const struct carm_hierarchy_config config = {
        .levels = {{32 << 10, 8, 1}, {512 << 10, 8, 1}}, .nlevels = 2, .cores = 1};
    struct carm_hierarchy_config planted = config;
    char command[512];
    char text[4096] = "";
    struct both h = {NULL, NULL};
    struct carm_cpu cpu;
    needs_tracing();
    carm_cpu_read(&cpu);
    skip_if(!cpu.isa[CARM_AVX2], "no AVX2 here");
    (void)snprintf(command, sizeof command,
                   "valgrind --tool=cachegrind --cache-sim=yes --I1=32768,8,64 --D1=32768,8,64 "
                   "--LL=524288,8,64 --cachegrind-out-file=/dev/null %s 2>&1",
                   walks);
    FILE *f = popen(command, "r"); /* NOLINT(cert-env33-c) */
    assert_non_null(f);
    text[fread(text, 1, sizeof text - 1, f)] = '\0';
    skip_if(pclose(f) != 0 || number_behind(text, "D1  misses:") == 0.0,
            "valgrind is not installed or does not run here (package valgrind)");
    planted.tree_lru = true;
    assert_ok(carm_hierarchy_open(&h.right, &config, &err));
    assert_ok(carm_hierarchy_open(&h.planted, &planted, &err));
    const struct carm_address_sink sink = {.take = simulate_both, .arg = &h};
    const struct carm_translation got = translate_to((char *[]){walks, NULL}, NULL, &sink);
    assert_string_equal(got.incomplete, "");
    const double first = number_behind(text, "D1  misses:");
    const double last = number_behind(text, "LLd misses:");
    assert_true(agree(h.right, first, last));
    assert_false(agree(h.planted, first, last));
    carm_hierarchy_close(h.right);
    carm_hierarchy_close(h.planted);
}

/* ---- what is run ---- */

static bool shell(const char *format, const char *cc, const char *out, const char *top)
{
    char command[1024];
    (void)snprintf(command, sizeof command, format, cc, out, top); /* NOLINT */
    return system(command) == 0; /* NOLINT(cert-env33-c): a compiler is found by PATH */
}

static int compile(void **state)
{
    const char *top = getenv("CARM_TOP") ? getenv("CARM_TOP") : ".";
    const char *cc = getenv("CC") ? getenv("CC") : "cc";
    const char *tmp = getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp";
    const char *kept = getenv("CARM_TEST_PROGRAMS");
    keeps_programs = kept != NULL;
    if (kept) {
        if ((size_t)snprintf(folder, sizeof folder, "%s", kept) >= sizeof folder) {
            return -1; /* too long a path */
        }
    } else {
        (void)snprintf(folder, sizeof folder, "%.30s/carm-translate-XXXXXX", tmp);
        if (!mkdtemp(folder)) {
            return -1;
        }
    }
    (void)snprintf(fixed, sizeof fixed, "%s/fixed", folder);
    (void)snprintf(traced, sizeof traced, "%s/traced", folder);
    (void)snprintf(tiny, sizeof tiny, "%s/tiny", folder);
    (void)snprintf(codes, sizeof codes, "%s/codes", folder);
    (void)snprintf(rewrites, sizeof rewrites, "%s/rewrites", folder);
    (void)snprintf(random_blocks, sizeof random_blocks, "%s/random", folder);
    (void)snprintf(places, sizeof places, "%s/places", folder);
    (void)snprintf(masks, sizeof masks, "%s/masks", folder);
    (void)snprintf(walks, sizeof walks, "%s/walks", folder);
    (void)snprintf(branches, sizeof branches, "%s/branches", folder);
    (void)snprintf(asks, sizeof asks, "%s/asks", folder);
    (void)snprintf(data, sizeof data, "%s/data", folder);
    (void)snprintf(free_out, sizeof free_out, "%s/free", folder);
    (void)snprintf(counted_out, sizeof counted_out, "%s/counted", folder);
    const bool before = access(random_blocks, X_OK) == 0; /* compiled last, by an earlier run */
    compiled = before ||
               (shell("%s -D_GNU_SOURCE -O2 -static -pthread -o %s "
                      "%s/tests/run/traced.c 2>&1",
                      cc, traced, top) &&
                shell("%1$s -O2 -ffreestanding -fno-stack-protector -static -nostdlib -I%3$s "
                      "-o %2$s %3$s/tests/harness/translate/codes.c 2>&1",
                      cc, codes, top) &&
                shell("%1$s -O2 -ffreestanding -fno-stack-protector -static -nostdlib -I%3$s "
                      "-o %2$s %3$s/tests/harness/translate/rewrites.c 2>&1",
                      cc, rewrites, top) &&
                shell("%s -nostdlib -static -no-pie -Wl,--section-start=.area=0x600000 -o %s "
                      "%s/tests/harness/translate/places.s 2>&1",
                      cc, places, top) &&
                shell("%s -nostdlib -static -no-pie -o %s %s/tests/harness/translate/masks.s 2>&1",
                      cc, masks, top) &&
                shell("%s -O2 -mavx2 -ftree-vectorize -static -o %s "
                      "%s/tests/harness/translate/walks.c 2>&1",
                      cc, walks, top) &&
                shell("%s -O1 -static -o %s %s/tests/harness/translate/branches.c 2>&1", cc,
                      branches, top) &&
                shell("%1$s -D_GNU_SOURCE -O1 -static -I%3$s -o %2$s "
                      "%3$s/tests/harness/translate/asks.c 2>&1",
                      cc, asks, top) &&
                shell("echo '.globl _start; _start: mulsd %%xmm1, %%xmm1; push $60; pop %%rax; "
                      "syscall' | %s -x assembler -nostdlib -static -o %s - 2>&1",
                      cc, tiny, top));
    with_fixed =
        before ||
        (compiled &&
         shell("(i=0; while [ $i -lt 300 ]; do echo \"volatile int v$i; void f$i(void); void "
               "f$i(void) { v$i++; }\"; i=$((i+1)); done; echo 'int main(void) {'; i=0; while [ $i "
               "-lt 300 ]; do echo \"f$i();\"; i=$((i+1)); done; echo 'return 0; }') | "
               "%s -O1 -fno-inline -no-pie -o %s -x c - 2>&1",
               cc, fixed, top));
    /* a function of 8 instructions, or of one, in as many bytes; a test replaces the file */
    with_library =
        compiled &&
        shell("cd %2$s && echo '.globl f; f: .rept 8; nop; .endr; ret' | "
              "%1$s -nostdlib -shared -x assembler -o one.so - 2>&1 && "
              "echo '.globl f; f: nopl 0(%%rax,%%rax); ret' | "
              "%1$s -nostdlib -shared -x assembler -o two.so - 2>&1 && cp one.so used.so && "
              "echo 'void f(void); int main(void) { for (int i = 0; i < 1000; i++) f(); }' | "
              "%1$s -O1 -o calls -x c - -x none ./used.so 2>&1",
              cc, folder, top);
    with_random = before || (compiled && shell("%s -D_GNU_SOURCE -O1 -o %s "
                                               "%s/tests/harness/translate/random.c -lZydis 2>&1",
                                               cc, random_blocks, top));
    return 0;
}

static int discard(void **state)
{
    if (keeps_programs) {
        return 0;
    }
    const char *const files[] = {fixed,         traced, tiny,     codes,      rewrites,
                                 random_blocks, places, masks,    walks,      branches,
                                 asks,          data,   free_out, counted_out};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        (void)unlink(files[i]);
    }
    (void)shell("cd %s && rm -f one.so two.so used.so calls%s%s", folder, "", "");
    return rmdir(folder);
}

/* argv[1]: only tests whose name it is, * stands for anything. CARM_TEST_PROGRAMS: a folder in which programs are compiled
 * by the first run, and kept */
int main(int argc, char **argv)
{
    if (argc > 1) {
        cmocka_set_test_filter(argv[1]);
    }
    return run_suite(compile, discard);
}
