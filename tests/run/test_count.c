/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs of a program of a few instructions, which is compiled here: status, sentences, and whether the counts are the
 * program's. Every instruction is counted, by stepping, by translation, and by a library that stands in for PAPI. */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run/count.h"
#include "run/trace.h"
#include "tests/harness/count/hand_recipe.h"
#include "tests/unit.h"

/* The counted program: one multiplication, and what its first argument names. */
static const char source[] =
    "static long sys(long n, long a, long b, long c)\n"
    "{\n"
    "    long r;\n"
    "    __asm__ volatile(\"syscall\" : \"=a\"(r) : \"a\"(n), \"D\"(a), \"S\"(b), \"d\"(c) : \"rcx\", \"r11\", \"memory\");\n"
    "    return r;\n"
    "}\n"
    "__asm__(\".globl _start\\n_start: mov %rsp, %rdi\\n call begin\\n\");\n"
    "void begin(long *stack)\n"
    "{\n"
    "    char **argv = (char **)(stack + 1), byte = 0;\n"
    "    long status = 0;\n"
    "    __asm__ volatile(\"mulsd %%xmm1, %%xmm1\" ::: \"xmm1\");\n"
    "    switch (argv[1][0]) {\n"
    "    case 'x': for (char *c = argv[1] + 1; *c; c++) status = 10 * status + *c - '0'; break;\n" /* status */
    "    case 'r': sys(0, 0, (long)&byte, 1); status = byte; break;\n" /* reads: status */
    "    case 'R': sys(0, 0, (long)&byte, 1); break;\n"
    "    case 'u': status = -sys(87, (long)argv[2], 0, 0); break;\n" /* unlinks: once */
    "    case 'k': sys(62, sys(39, 0, 0, 0), argv[1][1] == 'T' ? 15 : 9, 0); break;\n"
    "    case 'p': sys(39, 0, 0, 0); break;\n"
    "    case 'l': for (volatile long n = 0; n < 1000000; n++) {} break;\n"
    "    }\n"
    "    sys(60, status, 0, 0);\n"
    "}\n";

static char folder[64], program[80], gone[80];
static bool compiled, steps;
static struct fake_counters *fake;
static int input = -1;

static int compile(void **state)
{
    char command[512], path[80];
    const char *cc = getenv("CC");
    (void)strcpy(folder, "/tmp/carm-count-XXXXXX");
    if (!mkdtemp(folder)) {
        return -1;
    }
    (void)snprintf(program, sizeof program, "%s/few", folder);
    (void)snprintf(gone, sizeof gone, "%s/gone", folder);
    (void)snprintf(path, sizeof path, "%s/few.c", folder);
    FILE *out = fopen(path, "w");
    if (!out || fputs(source, out) < 0 || fclose(out) != 0) {
        return -1;
    }
    (void)snprintf(
        command, sizeof command,
        "%s -O1 -w -nostdlib -static -fno-stack-protector -fcf-protection=none -o %s %s 2>&1",
        cc ? cc : "cc", program, path);
    compiled = system(command) == 0; /* NOLINT(cert-env33-c): a compiler is found by PATH */
    (void)unlink(path);
    steps = compiled && carm_trace_check(&err) == 0;
    fake = hand_fake("CARM_PAPI_LIBRARY", "libpapi.so");
    static const char *const of_jobs[] = {
        "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "PMI_SIZE", "PMI_RANK",
        "SLURM_JOB_ID",         "SLURM_NTASKS"};
    for (size_t i = 0; i < sizeof of_jobs / sizeof *of_jobs; i++) {
        (void)unsetenv(of_jobs[i]);
    }
    /* nothing is kept on disk */
    return setenv("XDG_CACHE_HOME", "/dev/null", 1) ||
           setenv("CARM_LIKWID_LIBRARY", "/nonexistent", 1);
}

static int discard(void **state)
{
    (void)unlink(program);
    (void)unlink(gone);
    return rmdir(folder);
}

/* Standard input for the next run: a file or a pipe with "AB" */
static void give_input(bool pipe_)
{
    int ends[2];
    if (pipe_) {
        assert_int_equal(pipe(ends), 0);
        assert_int_equal(write(ends[1], "AB", 2), 2);
        (void)close(ends[1]);
        assert_true(dup2(ends[0], STDIN_FILENO) >= 0);
        (void)close(ends[0]);
    } else {
        FILE *f = tmpfile();
        assert_true(f && fputs("AB", f) >= 0 && fflush(f) == 0 &&
                    lseek(fileno(f), 0, SEEK_SET) == 0);
        assert_true(dup2(fileno(f), STDIN_FILENO) >= 0);
        (void)fclose(f);
    }
}

#define READ_ONCE "standard input that can be read only once (a pipe or a terminal)"
#define ONE       " of 0.00 million instructions in 1 process and 1 thread"
#define SHORT     "it ran less than 20 ms: start and end of the process are a large part"
#define WHOLE     ", and a part of a program cannot be scaled to the whole"

enum input { FROM_FILE, FROM_PIPE };
static const struct {
    enum carm_provider by;
    const char *task;
    bool no_time;
    enum input from;
    unsigned repeat;
    uint64_t budget;
    int status, signal;
    size_t n; /* free runs that were kept */
    const char *counted, *note, *remedy, *unrepeated;
} runs[] = {
    {CARM_PROVIDER_NONE, "x0", 0, FROM_FILE, 1, 0, 0, 0, 0, "unavailable: --counters none",
     "--counters none", "", ""},
    {CARM_PROVIDER_NONE, "x7", 0, FROM_FILE, 3, 0, 7, 0, 3, "unavailable: --counters none",
     "--counters none", "", ""},
    {CARM_PROVIDER_NONE, "r", 0, FROM_FILE, 2, 0, 'A', 0, 2, "unavailable: --counters none",
     "--counters none", "", ""},
    {CARM_PROVIDER_NONE, "r", 0, FROM_PIPE, 2, 0, 'A', 0, 1, "unavailable: --counters none",
     "--counters none", "",
     "1 of 2 runs were made: it ended with another status than the first run"},
    {CARM_PROVIDER_NONE, "R", 0, FROM_PIPE, 3, 0, 0, 0, 1, "unavailable: --counters none",
     "--counters none", "", "1 of 3 runs were made: it reads " READ_ONCE},
    {CARM_PROVIDER_NONE, "u", 0, FROM_FILE, 2, 0, 0, 0, 1, "unavailable: --counters none",
     "--counters none", "",
     "1 of 2 runs were made: it ended with another status than the first run"},
    /* what a signal, a shell or timeout ended */
    {CARM_PROVIDER_NONE, "k", 0, FROM_FILE, 2, 0, 137, SIGKILL, 0, "unavailable: --counters none",
     "--counters none; it was cut (exit status 137, a signal), so this is not all of its work", "",
     ""},
    {CARM_PROVIDER_NONE, "x124", 0, FROM_FILE, 1, 0, 124, 0, 0, "unavailable: --counters none",
     "--counters none; it was cut (exit status 124, as of timeout), so this is not all of its work",
     "", ""},
    {CARM_PROVIDER_NONE, "x128", 0, FROM_FILE, 1, 0, 128, 0, 0, "unavailable: --counters none",
     "--counters none", "", ""},
    {CARM_PROVIDER_NONE, "x129", 0, FROM_FILE, 1, 0, 129, 0, 0, "unavailable: --counters none",
     "--counters none; it was cut (exit status 129, a signal), so this is not all of its work", "",
     ""},
    {CARM_PROVIDER_NONE, "x192", 0, FROM_FILE, 1, 0, 192, 0, 0, "unavailable: --counters none",
     "--counters none; it was cut (exit status 192, a signal), so this is not all of its work", "",
     ""},
    {CARM_PROVIDER_NONE, "x193", 0, FROM_FILE, 1, 0, 193, 0, 0, "unavailable: --counters none",
     "--counters none", "", ""},
    /* stepping */
    {CARM_PROVIDER_STEP, "x3", 1, FROM_PIPE, 1, 1 << 20, 3, 0, 0, "single-stepping" ONE, "", "",
     ""},
    {CARM_PROVIDER_STEP, "r", 0, FROM_FILE, 1, 1 << 20, 'A', 0, 0, "single-stepping" ONE, SHORT, "",
     ""},
    {CARM_PROVIDER_STEP, "x124", 0, FROM_FILE, 2, 1 << 20, 124, 0, 2, "single-stepping" ONE,
     SHORT "; it was cut (exit status 124, as of timeout), so this is not all of its work", "", ""},
    {CARM_PROVIDER_STEP, "u", 0, FROM_FILE, 1, 1 << 20, 0, 0, 0,
     "unavailable: the timed run ended with status 0, the stepped run with status 2 after # instructions" WHOLE,
     "*",
     "run it again; if it ends so again, step regions (carm.h; carm run --regions --counters step), of which a sample of the "
     "calls is stepped",
     ""},
    {CARM_PROVIDER_STEP, "R", 0, FROM_PIPE, 1, 1 << 20, 0, 0, 0,
     "unavailable: the program reads " READ_ONCE " after # instructions" WHOLE, "*",
     "give it the input as a file (`< file`), or use --no-time: one run, without its time", ""},
    {CARM_PROVIDER_STEP, "k", 1, FROM_FILE, 1, 1 << 20, 137, SIGKILL, 0,
     "unavailable: signal 9 (Killed) ended the stepped run after # instructions" WHOLE, "*", "*",
     ""},
    {CARM_PROVIDER_STEP, "k", 0, FROM_FILE, 1, 1 << 20, 137, SIGKILL, 0,
     "unavailable: the timed run was ended by a signal, so there was no run for the counts", "*",
     "", ""},
    {CARM_PROVIDER_STEP, "l", 1, FROM_FILE, 1, 99999, 0, 0, 0,
     "unavailable: the budget ended after 99999 instructions" WHOLE, "*",
     "use a larger --steps, a smaller problem, or regions (carm.h; carm run --regions --counters step), of which a sample of the calls "
     "is stepped",
     ""},
    {CARM_PROVIDER_STEP, "l", 1, FROM_FILE, 1, 100000, 0, 0, 0,
     "unavailable: the budget ended after 0.1 million instructions" WHOLE, "*", "*", ""},
    /* translation */
    {CARM_PROVIDER_TRANSLATE, "x3", 1, FROM_PIPE, 1, 0, 3, 0, 0, "translation" ONE, "", "", ""},
    {CARM_PROVIDER_TRANSLATE, "r", 0, FROM_FILE, 2, 0, 'A', 0, 2, "translation" ONE, SHORT, "", ""},
    {CARM_PROVIDER_TRANSLATE, "x124", 0, FROM_FILE, 1, 0, 124, 0, 0, "translation" ONE,
     SHORT
     "; it was cut (exit status 124, as of timeout): the timed and the counted run ended at different points, so rates are wrong",
     "", ""},
    {CARM_PROVIDER_TRANSLATE, "u", 0, FROM_FILE, 1, 0, 0, 0, 0,
     "unavailable: not counted, because the timed run ended with status 0, the counted run with status 2",
     "*", "", ""},
    {CARM_PROVIDER_TRANSLATE, "R", 0, FROM_PIPE, 1, 0, 0, 0, 0,
     "unavailable: not counted, because the program reads " READ_ONCE, "*",
     "give it the input as a file (`< file`), or use --no-time: one run, without its time", ""},
    {CARM_PROVIDER_TRANSLATE, "k", 1, FROM_FILE, 1, 0, 137, SIGKILL, 0,
     "unavailable: not counted, because signal 9 (Killed) ended the counted run", "*", "", ""},
    {CARM_PROVIDER_TRANSLATE, "kT", 0, FROM_FILE, 1, 0, 143, SIGTERM, 0,
     "unavailable: the timed run was ended by a signal, so there was no run for the counts", "*",
     "", ""},
};

/* Whether a sentence is the wanted one: "*" is any but an empty one, "#" a number. */
static void assert_says(const char *text, const char *wanted)
{
    const char *number = strchr(wanted, '#');
    if (strcmp(wanted, "*") == 0) {
        assert_string_not_equal(text, "");
    } else if (number) {
        const size_t n = (size_t)(number - wanted), digits = strspn(text + n, "0123456789");
        assert_memory_equal(text, wanted, n);
        assert_true(digits > 0 && text[n] != '0');
        assert_string_equal(text + n + digits, number + 1);
    } else {
        assert_string_equal(text, wanted);
    }
}

static struct carm_run run_of(enum carm_provider by, char *const *argv)
{
    static struct carm_observer nobody;
    return (struct carm_run){.argv = argv,
                             .name = "few",
                             .provider = by,
                             .observer = &nobody,
                             .repeat = 1,
                             .budget = 1 << 20,
                             .by_code = true};
}

static void touch(void)
{
    const int fd = open(gone, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    (void)close(fd);
}

static int keep_input(void **state)
{
    input = dup(STDIN_FILENO);
    return input >= 0 ? 0 : -1;
}

static int input_back(void **state)
{
    return dup2(input, STDIN_FILENO) == STDIN_FILENO && close(input) == 0 ? 0 : -1;
}

TEST_BETWEEN(sentences, keep_input, input_back)
{
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        char *argv[] = {program, (char *)runs[i].task, gone, NULL};
        struct carm_run run = run_of(runs[i].by, argv);
        const bool counted = strncmp(runs[i].counted, "unavailable", 11) != 0;
        skip_if(!compiled || (!steps && runs[i].by != CARM_PROVIDER_NONE),
                "no compiler, or no tracing");
        run.no_time = runs[i].no_time;
        run.repeat = runs[i].repeat;
        run.budget = runs[i].budget;
        give_input(runs[i].from == FROM_PIPE);
        touch();
        assert_ok(carm_run_count(&run, &err));
        assert_says(run.counted, runs[i].counted);
        const bool is_short = run.row.seconds > 0.0 && run.row.seconds < 0.02;
        const char *note = runs[i].note;
        if (!is_short && strncmp(note, SHORT, sizeof SHORT - 1) == 0) { /* a busy machine */
            note += sizeof SHORT - 1;
            note += strncmp(note, "; ", 2) == 0 ? 2 : 0;
        }
        assert_says(run.row.note, note);
        assert_says(run.remedy, runs[i].remedy);
        assert_says(run.unrepeated, runs[i].unrepeated);
        assert_int_equal(run.status, runs[i].status);
        assert_int_equal(run.signal, runs[i].signal);
        assert_int_equal(run.neach, runs[i].n);
        assert_true(run.started);
        assert_int_equal(run.row.seconds > 0.0, !runs[i].no_time);
        assert_int_equal(carm_run_is_short(&run), is_short);
        assert_near(carm_run_times(&run), runs[i].n ? (double)runs[i].n : 1.0, 0.0);
        assert_int_equal(run.row.calls, 1);
        assert_near(run.row.share, 1.0, 0.0);
        if (counted || !runs[i].no_time) {
            assert_int_equal(run.row.threads, 1);
        }
        /* the program goes on where its first run stopped reading */
        if (runs[i].from == FROM_FILE) {
            assert_int_equal(lseek(STDIN_FILENO, 0, SEEK_CUR), runs[i].task[0] == 'r');
        }
        const struct carm_count *c = run.row.counts.q;
        assert_int_equal(carm_count_has(&run.row.counts, CARM_Q_FLOPS), counted);
        if (counted) {
            assert_near(c[CARM_Q_FLOPS].value, 1.0, 0.0);
            assert_int_equal(c[CARM_Q_FLOPS].by, runs[i].by == CARM_PROVIDER_STEP
                                                     ? CARM_COUNTED_STEPPED
                                                     : CARM_COUNTED_TRANSLATED);
        }
        const bool blocks = counted && runs[i].by == CARM_PROVIDER_TRANSLATE;
        assert_int_equal(run.has_blocks, blocks);
        assert_int_equal(run.has_again, blocks && runs[i].repeat > 1);
        double user = 0.0, system = 0.0;
        for (size_t k = 0; k < run.neach; k++) {
            user += run.each[k].user_seconds / (double)run.neach;
            system += run.each[k].system_seconds / (double)run.neach;
        }
        if (run.neach) {
            assert_near(run.each[0].seconds, run.row.seconds, 0.0);
            assert_near(run.user_seconds, user, 1e-9);
            assert_near(run.system_seconds, system, 1e-9);
        }
        assert_near(run.cpu_seconds, run.user_seconds + run.system_seconds, 1e-9);
        carm_run_close(&run);
        assert_false(run.has_blocks || run.has_again || run.has_samples);
    }
}

/* The kernel's figures: a program touches pages, and is one thread. */
TEST(kernel_figures)
{
    char *argv[] = {program, "l", NULL};
    struct carm_run run = run_of(CARM_PROVIDER_NONE, argv);
    skip_if(!compiled, "no compiler");
    assert_ok(carm_run_count(&run, &err));
    const struct carm_count *c = run.row.counts.q;
    assert_near(c[CARM_Q_TASK_SECONDS].value, run.cpu_seconds, 0.0);
    assert_int_equal(c[CARM_Q_TASK_SECONDS].by, CARM_COUNTED_KERNEL);
    assert_true(c[CARM_Q_PAGE_FAULTS].value > 0.0);
    assert_true(carm_count_has(&run.row.counts, CARM_Q_CONTEXT_SWITCHES));
    assert_string_equal(run.row.name, "few");
    carm_run_close(&run);
    run.threads = 3; /* as the user says */
    assert_ok(carm_run_count(&run, &err));
    assert_int_equal(run.row.threads, 3);
    carm_run_close(&run);
}

TEST(programs_that_do_not_start)
{
    static const struct {
        char *path;
        int status;
    } cases[] = {{"/nonexistent", 127}, {"/dev", 126}};
    static const enum carm_provider by[] = {CARM_PROVIDER_NONE, CARM_PROVIDER_STEP,
                                            CARM_PROVIDER_TRANSLATE};
    for (size_t i = 0; i < 12; i++) {
        char *argv[] = {cases[i % 2].path, NULL};
        struct carm_run run = run_of(by[i / 4], argv);
        skip_if(!steps && i >= 4, "no tracing");
        run.no_time = i / 2 % 2;
        assert_refused(carm_run_count(&run, &err), -CARM_EIO, cases[i % 2].path);
        assert_int_equal(run.status, cases[i % 2].status);
        assert_false(run.started);
        carm_run_close(&run);
    }
}

static double told_seconds;
static unsigned times_told;

static void note_time(void *arg, double cpu_seconds)
{
    told_seconds = cpu_seconds;
    times_told += arg == &times_told;
}

/* Between the two runs, whoever takes addresses hears how long the first one was. */
TEST(time_between_the_runs)
{
    static char *const tasks[] = {"x0", "k", "x0"};
    for (int i = 0; i < 3; i++) {
        char *argv[] = {program, tasks[i], NULL};
        struct carm_run run = run_of(CARM_PROVIDER_TRANSLATE, argv);
        skip_if(!steps, "no compiler, or no tracing");
        run.timed = note_time;
        run.timed_arg = &times_told;
        run.no_time = i == 2;
        times_told = 0;
        assert_ok(carm_run_count(&run, &err));
        assert_int_equal(times_told, i == 0);
        assert_true(i > 0 || told_seconds == run.cpu_seconds);
        carm_run_close(&run);
    }
}

/* Inputs that may change its counts. */
TEST(what_it_asks_for)
{
    for (int i = 0; i < 2; i++) {
        char *argv[] = {program, i ? "p" : "x0", NULL};
        struct carm_run run = run_of(CARM_PROVIDER_TRANSLATE, argv);
        skip_if(!steps, "no compiler, or no tracing");
        assert_ok(carm_run_count(&run, &err));
        assert_string_equal(run.row.asks_for, i ? "process numbers" : "");
        carm_run_close(&run);
    }
}

static char said[256];

static void note_said(const char *text)
{
    (void)snprintf(said, sizeof said, "%s", text);
}

/* Counters, of as many instructions and flops as the program has; none at all; and a rank, which runs once. */
TEST(by_counters)
{
    enum { PLAIN, WHOLE_, RANK, ENDED, MORE, NONE_, NONE_RANK, CASES };
    char counts[256], *papi = strdup(getenv("CARM_PAPI_LIBRARY"));
    double instructions = 0.0, loads = 0.0, stores = 0.0;
    skip_if(!steps || !fake || !papi,
            "no compiler, no tracing, or nothing that stands in for PAPI");
    for (int i = -1; i < CASES; i++) {
        char *argv[] = {program, i == ENDED ? "u" : "x0", gone, NULL};
        struct carm_observer observer = {.say = note_said};
        struct carm_run run = run_of(i < 0 ? CARM_PROVIDER_TRANSLATE : CARM_PROVIDER_AUTO, argv);
        const bool rank = i == RANK || i == NONE_RANK, none = i == NONE_ || i == NONE_RANK;
        run.by_code = i != WHOLE_;
        run.observer = &observer;
        said[0] = '\0';
        touch();
        (void)snprintf(
            counts, sizeof counts,
            "INSTRUCTION_RETIRED=%.0f UNHALTED_CORE_CYCLES=777 FP_ARITH_INST_RETIRED:SCALAR_DOUBLE=1 "
            "MEM_INST_RETIRED:ALL_LOADS=%.0f MEM_INST_RETIRED:ALL_STORES=%.0f",
            i == MORE ? 2.0 * instructions : instructions, loads, stores);
        assert_int_equal(
            setenv("CARM_UARCH", "skylake-server", 1) || setenv("CARM_FAKE_COUNTS", counts, 1) ||
                setenv("CARM_PAPI_LIBRARY", none ? "/nonexistent" : papi, 1) ||
                (rank ? setenv("OMPI_COMM_WORLD_SIZE", "2", 1) ||
                            setenv("OMPI_COMM_WORLD_RANK", "1", 1)
                      : unsetenv("OMPI_COMM_WORLD_SIZE") || unsetenv("OMPI_COMM_WORLD_RANK")),
            0);
        assert_ok(carm_run_count(&run, &err));
        const struct carm_count *c = run.row.counts.q;
        if (i < 0) {
            instructions = c[CARM_Q_INSTRUCTIONS].value;
            loads = c[CARM_Q_LOADS].value;
            stores = c[CARM_Q_STORES].value;
        } else if (none) {
            assert_int_equal(carm_count_has(&run.row.counts, CARM_Q_FLOPS), i == NONE_);
            assert_int_equal(strncmp(run.counted, "unavailable: ", 13) == 0, i == NONE_RANK);
            assert_int_equal(
                strncmp(run.remedy, "a rank of a parallel program runs only once", 43) == 0,
                i == NONE_RANK);
            assert_string_equal(
                said,
                i == NONE_
                    ? "no counters work here, so the program ran twice (--counters none: once)"
                    : "");
        } else {
            const bool twice = i == PLAIN || i == MORE;
            assert_near(c[CARM_Q_CYCLES].value, 777.0, 0.0);
            assert_int_equal(c[CARM_Q_CYCLES].by, CARM_COUNTED_PMU);
            assert_int_equal(c[CARM_Q_INSTRUCTIONS].by,
                             twice ? CARM_COUNTED_TRANSLATED : CARM_COUNTED_PMU);
            assert_near(c[CARM_Q_INSTRUCTIONS].value, instructions, 0.0);
            assert_int_equal(run.has_totals, twice);
            assert_int_equal(run.has_blocks, twice);
            for (size_t k = 0; k < run.totals.n; k++) {
                assert_true(run.totals.of[k].quantity != CARM_Q_INSTRUCTIONS ||
                            run.totals.of[k].beyond == (i == MORE));
            }
            assert_says(
                run.counted,
                twice
                    ? "translation" ONE
                    : "the CPU's counters by papi, as Intel Skylake-SP, Cascade Lake, Cooper Lake has them");
            assert_string_equal(
                said,
                twice || i == ENDED
                    ? "the program ran twice, the second time to count its loops (--whole: once)"
                    : "");
            assert_int_equal(
                strstr(
                    run.row.note,
                    "loops were not counted, because a rank of a parallel program runs only once") !=
                    NULL,
                i == RANK);
            assert_int_equal(
                strstr(
                    run.row.note,
                    "loops were not counted, because the timed run ended with status 0, the counted run "
                    "with status 2") != NULL,
                i == ENDED);
        }
        carm_run_close(&run);
    }
    (void)unsetenv("OMPI_COMM_WORLD_SIZE");
    (void)unsetenv("OMPI_COMM_WORLD_RANK");
    /* a back end that is asked for by its name and does not work */
    char *argv[] = {program, "x0", NULL};
    struct carm_run run = run_of(CARM_PROVIDER_LIKWID, argv);
    assert_int_equal(carm_run_count(&run, &err), -CARM_ENOTSUP);
    assert_false(run.started);
    carm_run_close(&run);
    free(papi);
}

/* A run that is too short for rows of its parts records no addresses for them, and its blocks are not looked up. */
static void count_access(void *arg, uint32_t thread, uint64_t address, uint32_t bytes,
                         enum carm_address_kind kind, const struct carm_address_by *by)
{
    uint64_t *n = arg;
    ++*n;
}

TEST(short_runs_have_no_parts)
{
    static const struct {
        bool for_parts, asked, no_time, parts, addresses;
    } of[] = {{.for_parts = true},
              {.for_parts = false, .addresses = true},
              {.for_parts = true, .asked = true, .parts = true, .addresses = true},
              {.for_parts = true, .no_time = true}};
    double instructions = 0.0;
    skip_if(!compiled || !steps || !carm_addresses_sampled_here(), "no compiler, or no tracing");
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        char *argv[] = {program, "x0", NULL};
        uint64_t n = 0;
        const struct carm_address_sink sink = {.take = count_access, .arg = &n};
        struct carm_run run = run_of(CARM_PROVIDER_TRANSLATE, argv);
        run.hz = 499;
        run.sink = &sink;
        run.for_parts = of[i].for_parts;
        run.always_sampled = of[i].asked;
        run.no_time = of[i].no_time;
        assert_ok(carm_run_count(&run, &err));
        const double counted = run.row.counts.q[CARM_Q_INSTRUCTIONS].value;
        instructions = i ? instructions : counted;
        assert_near(counted, instructions, 0.0);
        assert_int_equal(n > 0, of[i].addresses);
        assert_int_equal(carm_run_shows_parts(&run), of[i].parts || run.unsampled[0]);
        assert_true(run.has_blocks);
        assert_int_equal(run.blocks.nblocks > 0, of[i].addresses);
        carm_run_close(&run);
    }
}

RUN_TESTS(compile, discard)
