/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pairs of times, made up: what is slower, what is within, what the pairs do not decide; and pairs of commands that take
 * as long as is written here, by this file's clock. */
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

#include "base/observer.h"
#include "harness/profile/looks.h"
#include "run/launch.h"
#include "run/pairs.h"
#include "tests/unit.h"

enum { MOST = CARM_PAIRS_MOST };

static double times[2 * MOST];

static double noise(void)
{
    static uint64_t x = 1;
    x = x * 6364136223846793005U + 1442695040888963407U;
    return (double)(x >> 11) * 0x1p-53;
}

/* Times around 1 s, `more` longer for B; scatter: up to so much longer each; drift: of the whole machine by the end */
static struct carm_pairs_time judge(size_t n, double more, double scatter, double drift,
                                    double threshold)
{
    struct carm_pairs_time t;
    for (size_t i = 0; i < 2 * n; i++) {
        const double machine = 1.0 + drift * (double)i / (double)(2 * n);
        times[i] = machine * (1.0 + scatter * noise()) * (i % 2 ? 1.0 + more : 1.0);
    }
    assert_int_equal(carm_pairs_judge(times, n, threshold, &t, NULL), 0);
    return t;
}

TEST(equal_commands)
{
    const struct carm_pairs_time t = judge(8, 0.0, 0.0, 0.0, 0.05);
    assert_true(t.change == 0.0 && t.low == 0.0 && t.high == 0.0 && t.seconds[0] == 1.0);
    assert_int_equal(t.verdict, CARM_PAIRS_WITHIN);
    for (int i = 0; i < 1000; i++) {
        const size_t n = CARM_PAIRS_LEAST + (size_t)(90.0 * noise());
        assert_int_not_equal(judge(n, 0.0, 0.3, 0.0, 0.05).verdict, CARM_PAIRS_FASTER);
        assert_int_not_equal(judge(n, 0.0, 0.1, 1.0, 0.05).verdict, CARM_PAIRS_SLOWER);
    }
}

TEST(changes_are_found)
{
    const struct carm_pairs_time slower = judge(8, 0.1, 0.01, 0.0, 0.05);
    assert_int_equal(slower.verdict, CARM_PAIRS_SLOWER);
    assert_true(fabs(slower.change - 0.1) < 0.02 && slower.low > 0.05 && slower.high < 0.15);
    assert_int_equal(judge(8, -0.1, 0.01, 0.0, 0.05).verdict, CARM_PAIRS_FASTER);
    /* a machine that becomes 3 times slower meanwhile */
    assert_int_equal(judge(40, 0.1, 0.02, 2.0, 0.05).verdict, CARM_PAIRS_SLOWER);
    assert_int_equal(judge(40, 0.02, 0.02, 2.0, 0.05).verdict, CARM_PAIRS_WITHIN);
    /* one run in five takes twice as long */
    judge(50, 0.1, 0.0, 0.0, 0.05);
    for (size_t i = 0; i < 100; i += 5) {
        times[i] *= 2.0;
    }
    struct carm_pairs_time t;
    assert_int_equal(carm_pairs_judge(times, 50, 0.05, &t, NULL), 0);
    assert_int_equal(t.verdict, CARM_PAIRS_SLOWER);
    assert_true(fabs(t.change - 0.1) < 1e-9);
}

TEST(too_wide)
{
    assert_int_equal(judge(8, 0.05, 1.0, 0.0, 0.05).verdict, CARM_PAIRS_UNDECIDED);
    assert_int_equal(judge(8, 0.0, 0.0, 0.0, 0.0).verdict, CARM_PAIRS_UNDECIDED);
}

/* The ranks of the interval are those of the sign test: of n = 8, 12, 20, 50 and 103 changes 0, 1, 3, 15 and 37 lie beyond each
 * end. source: Hollander & Wolfe, table of the binomial distribution with p = 1/2 */
TEST(the_interval_has_its_ranks)
{
    static const size_t numbers[][2] = {{8, 0}, {12, 1}, {20, 3}, {50, 15}, {103, 37}};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        const size_t n = numbers[k][0], out = numbers[k][1];
        struct carm_pairs_time t;
        for (size_t i = 0; i < n; i++) { /* changes of 0, 1%, 2% ..., in another order */
            times[2 * i] = 2.0;
            times[2 * i + 1] = 2.0 * (1.0 + 0.01 * (double)(i * 7 % n));
        }
        assert_int_equal(carm_pairs_judge(times, n, 0.05, &t, NULL), 0);
        assert_near(t.low, 0.01 * (double)out, 1e-12);
        assert_near(t.high, 0.01 * (double)(n - 1 - out), 1e-12);
        assert_near(t.change, 0.01 * (double)(n - 1) / 2, 1e-12);
        assert_near(t.seconds[0], 2.0, 0.0);
        assert_near(t.seconds[1], 2.0 * (1.0 + t.change), 1e-12);
    }
}

/* Medians of each command's times, of the change of pairs */
TEST(medians)
{
    static const double first[] = {10, 1, 2, 3, 4, 5, 6, 7};
    struct carm_pairs_time t;
    for (size_t i = 0; i < 8; i++) {
        times[2 * i] = first[i];
        times[2 * i + 1] = i ? first[i] : 30;
    }
    assert_int_equal(carm_pairs_judge(times, 8, 0.05, &t, NULL), 0);
    assert_near(t.seconds[0], 4.5, 0.0);
    assert_near(t.seconds[1], 4.5, 0.0);
    assert_near(t.change, 0.0, 0.0);
    assert_near(t.high, 2.0, 0.0);
}

/* Slower by the threshold is within; faster begins where the first command is slower by more than the threshold. */
TEST(thresholds)
{
    assert_int_equal(judge(8, 0.0501, 0.0, 0.0, 0.05).verdict, CARM_PAIRS_SLOWER);
    assert_int_equal(judge(8, 0.0499, 0.0, 0.0, 0.05).verdict, CARM_PAIRS_WITHIN);
    assert_int_equal(judge(8, 1.0 / 1.049 - 1.0, 0.0, 0.0, 0.05).verdict, CARM_PAIRS_WITHIN);
    assert_int_equal(judge(8, 1.0 / 1.051 - 1.0, 0.0, 0.0, 0.05).verdict, CARM_PAIRS_FASTER);
}

/* The interval holds the median in 99% of cases or more, at each number of pairs. */
TEST(coverage)
{
    static const size_t numbers[] = {8, 9, 12, 20, 50, 300, MOST};
    for (size_t k = 0; k < sizeof numbers / sizeof *numbers; k++) {
        int missed = 0;
        const int tries = numbers[k] > 100 ? 400 : 2000;
        for (int i = 0; i < tries; i++) {
            const struct carm_pairs_time t = judge(numbers[k], 0.0, 0.2, 0.0, 0.0);
            missed += t.low > 0.0 || t.high < 0.0;
        }
        assert_true(missed <= tries / 100 + (int)(3.0 * sqrt(tries * 0.01)));
    }
}

/* ---- commands of this file ---- */

/* What runs of a command take: wall and processor time in turn, the last one from then on. */
struct planted {
    const char *name;
    double wall[12], user, system;
    int status;
    unsigned scatter; /* of the turns; 0 = the first alone */
    unsigned until;   /* runs of that scatter; 0 = all */
};

static const struct planted *commands[2];
static const char *failing; /* a step of each launch */
static unsigned turns[2], runs, interrupted_at;
static double now;
static char ran[4096];
static const char *stat_text[2]; /* of /proc/stat at the begin and at the end */
static unsigned stats_read, looks;
static bool looked;
volatile sig_atomic_t carm_interrupted;
static const struct planted *running;

double carm_seconds_now(void)
{
    return now;
}

int sched_getcpu(void)
{
    return 5;
}

FILE *fopen(const char *path, const char *mode)
{
    assert_string_equal(path, "/proc/stat");
    const char *text = stat_text[stats_read++ ? 1 : 0];
    return text ? fmemopen((void *)text, strlen(text), "r") : NULL;
}

void carm_looks_begin(struct carm_looks *of)
{
    looks = 0;
    strcat(ran, "|");
}

void carm_looks_take(struct carm_looks *of, int cpu)
{
    assert_int_equal(cpu, 5);
    assert_int_equal(looks++, runs - strcspn(ran, "|"));
}

void carm_looks_end(struct carm_looks *of)
{
    looks += 1000;
}

bool carm_looks_sum(const struct carm_looks *of, double full, struct carm_looks_sum *out)
{
    assert_true(full == 0.0 && looks >= 1000);
    *out = (struct carm_looks_sum){.slowest = 2e9, .fastest = 3e9, .shared = 0.25};
    return looked;
}

int carm_launch_open(struct carm_launch *launch, char *const *argv, char *const *environment,
                     unsigned flags, struct carm_err *e)
{
    assert_true(flags == CARM_LAUNCH_QUIET && !environment && !argv[3]);
    assert_string_equal(argv[0], "sh");
    assert_string_equal(argv[1], "-c");
    running = NULL;
    for (int c = 0; c < 2; c++) {
        char wanted[64];
        snprintf(wanted, sizeof wanted, "exec </dev/null\n%s", commands[c]->name);
        running = strcmp(argv[2], wanted) == 0 ? commands[c] : running;
    }
    assert_non_null(running);
    now += 100.0; /* that is no part of the command's time */
    return strcmp(failing, "open") == 0 ? carm_fail(e, CARM_EIO, "no process") : 0;
}

int carm_launch_go(struct carm_launch *launch, const char *name, struct carm_err *e)
{
    assert_string_equal(name, "sh");
    return strcmp(failing, "go") == 0 ? carm_fail(e, CARM_EIO, "no sh") : 0;
}

int carm_launch_wait(struct carm_launch *launch, int *status, struct rusage *usage,
                     struct carm_err *e)
{
    unsigned *turn = &turns[running == commands[1]];
    const bool scatters = running->scatter && (!running->until || *turn < running->until);
    now += running->wall[scatters ? *turn % running->scatter : 0];
    *usage = (struct rusage){
        .ru_utime = {(time_t)running->user, (suseconds_t)(1e6 * fmod(running->user, 1.0) + 0.5)},
        .ru_stime = {(time_t)running->system,
                     (suseconds_t)(1e6 * fmod(running->system, 1.0) + 0.5)}};
    *status = running->status;
    ++*turn;
    ran[strlen(ran) + 1] = '\0';
    ran[strlen(ran)] = running->name[0];
    carm_interrupted |= ++runs == interrupted_at;
    return strcmp(failing, "wait") == 0 ? carm_fail(e, CARM_EIO, "lost") : 0;
}

void carm_launch_close(struct carm_launch *launch)
{
    if (runs == 0) { /* it did not run */
        strcat(ran, ".");
    }
}

double carm_launch_seconds(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

static int set_up(void **state)
{
    ran[0] = '\0';
    failing = "";
    runs = turns[0] = turns[1] = interrupted_at = stats_read = 0;
    carm_interrupted = 0;
    now = 1000.0;
    looked = true;
    stat_text[0] = "cpu  100 0 0 9 9 0 0 25 0 0\n";
    stat_text[1] = "cpu  4000 1000 2000 99 99 700 300 75 0 0\n";
    return 0;
}

static struct carm_pairs_how how_of(const struct planted *a, const struct planted *b)
{
    commands[0] = a;
    commands[1] = b;
    return (struct carm_pairs_how){.command = {a->name, b->name}, .budget = 1e9, .threshold = 0.05};
}

/* Commands in turn, first those whose times do not count. The machine: of 79 s that processors were busy, 32 s were the
 * commands' own; 824 s passed. */
TEST_BETWEEN(commands_run_in_pairs, set_up, NULL)
{
    const struct planted a = {.name = "a", .wall = {1.0}, .user = 1.0, .system = 0.5},
                         b = {.name = "b", .wall = {2.0}, .user = 2.0, .system = 0.5};
    struct carm_pairs_how how = how_of(&a, &b);
    struct carm_pairs p;
    for (unsigned warmup = 0; warmup < 4; warmup += 3) {
        set_up(state);
        how.warmup = warmup;
        assert_ok(carm_pairs_run(&how, &p, &err));
        assert_string_equal(ran, warmup ? "ababab|abababababababab" : "|abababababababab");
        assert_int_equal(p.n, CARM_PAIRS_LEAST);
        assert_int_equal(looks, 2 * CARM_PAIRS_LEAST + 1000); /* and the end */
        assert_near(p.wall.seconds[0], 1.0, 1e-9);
        assert_near(p.wall.seconds[1], 2.0, 1e-9);
        assert_near(p.processor.seconds[0], 1.5, 1e-9);
        assert_near(p.processor.seconds[1], 2.5, 1e-9);
        assert_int_equal(p.verdict, CARM_PAIRS_SLOWER);
        assert_near(p.shared, 0.25, 0.0);
        assert_near(p.clock, 0.5, 1e-9);
        assert_near(p.others, (80.0 - 1.0 - 8 * 4.0) / (1624.0), 1e-9);
        assert_near(p.stolen, 0.5 / 1624.0, 1e-9);
    }
    /* little is known of the machine, or no more than the commands did */
    set_up(state);
    how.warmup = 0;
    looked = false;
    stat_text[1] = "cpu  100 0 0 9 9 0 0\n";
    assert_ok(carm_pairs_run(&how, &p, &err));
    assert_near(p.shared, -1.0, 0.0);
    assert_near(p.clock, -1.0, 0.0);
    assert_near(p.others, -1.0, 0.0);
    assert_near(p.stolen, -1.0, 0.0);
    set_up(state);
    stat_text[0] = NULL; /* at the begin */
    assert_ok(carm_pairs_run(&how, &p, &err));
    assert_near(p.others, -1.0, 0.0);
    assert_near(p.stolen, -1.0, 0.0);
    set_up(state);
    stat_text[1] = "cpu  200 0 0 9 9 0 0 25 0 0\n";
    assert_ok(carm_pairs_run(&how, &p, &err));
    assert_near(p.others, 0.0, 0.0);
    assert_near(p.stolen, 0.0, 0.0);
}

/* Both times decide. The processor time is a part of the wall time, or where threads have more, in its place. */
TEST_BETWEEN(both_times_decide, set_up, NULL)
{
    static const struct {
        double wall[2], processor[2];
        unsigned scatter; /* of the second's wall times: from 0.8 to 1.2 of it */
        enum carm_pairs_verdict wall_is, part_is, verdict;
        double part; /* its change */
    } of[] = {
        {{1.0, 1.2}, {0.1, 0.1}, 0, CARM_PAIRS_SLOWER, CARM_PAIRS_WITHIN, CARM_PAIRS_SLOWER, 0.0},
        {{1.0, 1.0}, {0.5, 0.9}, 0, CARM_PAIRS_WITHIN, CARM_PAIRS_SLOWER, CARM_PAIRS_SLOWER, 0.4},
        {{1.0, 0.8}, {0.5, 0.5}, 0, CARM_PAIRS_FASTER, CARM_PAIRS_WITHIN, CARM_PAIRS_FASTER, 0.0},
        {{1.0, 1.0}, {0.9, 0.5}, 0, CARM_PAIRS_WITHIN, CARM_PAIRS_FASTER, CARM_PAIRS_FASTER, -0.4},
        {{1.0, 1.01}, {0.5, 0.5}, 0, CARM_PAIRS_WITHIN, CARM_PAIRS_WITHIN, CARM_PAIRS_WITHIN, 0.0},
        {{1.0, 1.0}, {4.0, 5.0}, 0, CARM_PAIRS_WITHIN, CARM_PAIRS_SLOWER, CARM_PAIRS_SLOWER, 0.25},
        {{1.0, 1.0},
         {0.5, 0.5},
         4,
         CARM_PAIRS_UNDECIDED,
         CARM_PAIRS_WITHIN,
         CARM_PAIRS_UNDECIDED,
         0.0},
        {{1.0, 1.0},
         {0.9, 0.5},
         4,
         CARM_PAIRS_UNDECIDED,
         CARM_PAIRS_FASTER,
         CARM_PAIRS_UNDECIDED,
         -0.4},
        {{1.0, 1.0},
         {0.5, 0.9},
         4,
         CARM_PAIRS_UNDECIDED,
         CARM_PAIRS_SLOWER,
         CARM_PAIRS_SLOWER,
         0.4},
        {{1.0, 1.0}, {0.0, 0.0}, 0, CARM_PAIRS_WITHIN, CARM_PAIRS_WITHIN, CARM_PAIRS_WITHIN, 0.0}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const double w = of[i].wall[1];
        const struct planted a = {.name = "a", .wall = {of[i].wall[0]}, .user = of[i].processor[0]},
                             b = {.name = "b",
                                  .wall = {w, 0.8 * w, 1.1 * w, 1.2 * w},
                                  .system = of[i].processor[1],
                                  .scatter = of[i].scatter};
        struct carm_pairs_how how = how_of(&a, &b);
        struct carm_pairs p;
        set_up(state);
        how.budget = 1.0;
        assert_ok(carm_pairs_run(&how, &p, &err));
        assert_int_equal(p.wall.verdict, of[i].wall_is);
        assert_int_equal(p.part.verdict, of[i].part_is);
        assert_int_equal(p.processor.verdict, of[i].part_is);
        assert_int_equal(p.verdict, of[i].verdict);
        assert_near(p.part.change, of[i].part, 1e-9);
        assert_near(p.processor.seconds[0], fmax(of[i].processor[0], 1e-6), 1e-12);
    }
}

/* Pairs go on until they are decided, the budget ends, there are a thousand, or the user wants no more. Without a threshold an
 * interval is to be narrow. */
TEST_BETWEEN(pairs_have_an_end, set_up, NULL)
{
    /* 202 s for a pair and the second command, which takes half or twice as long as the first; or 1.5 and 3 times, after 12 runs 1.5 */
    const struct planted a = {.name = "a", .wall = {1.0}, .user = 0.5},
                         b = {.name = "b", .wall = {0.5, 2.0}, .user = 0.5, .scatter = 2},
                         calms = {.name = "b",
                                  .wall = {1.5, 3.0},
                                  .user = 0.5,
                                  .scatter = 2,
                                  .until = 12},
                         equal = {.name = "b", .wall = {1.0}, .user = 0.5};
    const struct {
        const struct planted *second;
        double budget, threshold, narrow;
        unsigned interrupted;
        size_t n;
        enum carm_pairs_verdict verdict;
    } of[] = {
        {&b, 201.0 * 10 + 12.5, 0.05, 0.0, 0, 10, CARM_PAIRS_UNDECIDED},
        {&b, 201.0 * 10 + 12.501, 0.05, 0.0, 0, 11, CARM_PAIRS_UNDECIDED},
        {&b, 1e9, 0.05, 0.0, 2 * 9, 8, CARM_PAIRS_UNDECIDED},
        {&b, 1e9, 0.05, 0.0, 2 * 9 + 1, 9, CARM_PAIRS_UNDECIDED},
        {&equal, 1e9, 0.05, 0.0, 0, 8, CARM_PAIRS_WITHIN},
        {&equal, 1e9, 0.0, 0.0, 0, 8, CARM_PAIRS_WITHIN},
        {&b, 201.0 * 20, 0.0, 0.74, 0, 20, CARM_PAIRS_UNDECIDED},
        {&b, 1e9, 0.0, 0.75, 0, 8, CARM_PAIRS_WITHIN},
        {&calms, 1e9, 0.05, 0.0, 0, 8, CARM_PAIRS_SLOWER},
        {&calms, 1e9, 0.0, 0.1, 0, 26, CARM_PAIRS_SLOWER}}; /* 26 pairs leave out 6 at each end */
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct carm_pairs_how how = how_of(&a, of[i].second);
        struct carm_pairs p;
        set_up(state);
        how.budget = of[i].budget;
        how.threshold = of[i].threshold;
        how.narrow = of[i].narrow;
        interrupted_at = of[i].interrupted;
        assert_ok(carm_pairs_run(&how, &p, &err));
        assert_int_equal(p.n, of[i].n);
        assert_int_equal(p.verdict, of[i].verdict);
        assert_int_equal(runs, i == 2 ? 2 * 9 : i == 3 ? 2 * 10 : 2 * p.n);
    }
    struct carm_pairs_how how = how_of(&a, &b);
    struct carm_pairs p;
    set_up(state);
    assert_ok(carm_pairs_run(&how, &p, &err));
    assert_int_equal(p.n, CARM_PAIRS_MOST);
    set_up(state);
    interrupted_at = 2 * 7 + 1;
    assert_refused(carm_pairs_run(&how, &p, &err), -CARM_ENOTSUP, "interrupted after 7 of 8 pairs");
    set_up(state);
    interrupted_at = 1;
    how.warmup = 3;
    assert_refused(carm_pairs_run(&how, &p, &err), -CARM_ENOTSUP, "interrupted after 0 of 8 pairs");
    assert_string_equal(ran, "a|");
}

TEST_BETWEEN(times_that_say_nothing, set_up, NULL)
{
    static const struct {
        double wall[2];
        int status;
        const char *failing, *words; /* NULL = they say something */
        const char *ran;
    } of[] = {
        {{1.01e-3, 1.0}, 0, "", NULL, "|abababababababab"},
        {{0.99e-3, 1.0}, 0, "", "the commands end within a millisecond", "|abababababababab"},
        {{1.0, 0.99e-3}, 0, "", "the commands end within a millisecond", "|abababababababab"},
        {{1.0, 1.0}, 7 << 8, "", "'b' ends with status 7: times of failures say nothing", "|ab"},
        {{1.0, 1.0}, 9, "", "'b' is ended by signal 9: times of failures say nothing", "|ab"},
        {{1.0, 1.0}, 0, "open", "no process", "|."},
        {{1.0, 1.0}, 0, "go", "no sh", "|."},
        {{1.0, 1.0}, 0, "wait", "lost", "|a"}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const struct planted a = {.name = "a", .wall = {of[i].wall[0]}, .user = 0.1},
                             b = {.name = "b",
                                  .wall = {of[i].wall[1]},
                                  .user = 0.1,
                                  .status = of[i].status};
        struct carm_pairs_how how = how_of(&a, &b);
        struct carm_pairs p;
        set_up(state);
        now = 0.0;
        how.budget = 0.0;
        failing = of[i].failing;
        if (of[i].words) {
            assert_refused(carm_pairs_run(&how, &p, &err), failing[0] ? -CARM_EIO : -CARM_EINVAL,
                           of[i].words);
        } else {
            assert_ok(carm_pairs_run(&how, &p, &err));
        }
        assert_string_equal(ran, of[i].ran);
    }
    static const char *const names[] = {"within", "slower", "faster", "not comparable"};
    for (int i = 0; i < 4; i++) {
        assert_string_equal(carm_pairs_verdict_name((enum carm_pairs_verdict)i), names[i]);
    }
}
