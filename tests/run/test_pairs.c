/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pairs of times, made up: what is slower, what is within, what the pairs do not decide. */
#include <unistd.h>

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

/* The ranks of the interval are those of the sign test: of n = 8, 12, 20 and 50 changes 0, 1, 3 and 15 lie beyond each
 * end. source: Hollander & Wolfe, table of the binomial distribution with p = 1/2 */
TEST(the_interval_has_its_ranks)
{
    static const size_t numbers[][2] = {{8, 0}, {12, 1}, {20, 3}, {50, 15}};
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

/* Eight pairs of short commands, and what the machine did meanwhile. No time decides. */
TEST(commands_run_in_pairs)
{
    struct carm_pairs_how how = {
        .command = {"sleep 0.002", "sleep 0.004"}, .budget = 1e-3, .threshold = 0.05};
    struct carm_pairs p;
    assert_ok(carm_pairs_run(&how, &p, &err));
    assert_int_equal(p.n, CARM_PAIRS_LEAST); /* the budget ends before */
    assert_true(p.wall.seconds[0] >= 2e-3 && p.wall.seconds[1] >= 4e-3);
    assert_true(p.processor.seconds[0] > 0.0 && p.processor.seconds[0] < p.wall.seconds[0]);
    assert_true(p.shared >= 0.0 && p.shared <= 1.0);
    assert_true(p.clock >= 0.0 && p.clock < 100.0);
    assert_true(p.others >= 0.0 || p.others == -1.0);
    how.command[1] = "exit 3";
    assert_int_equal(carm_pairs_run(&how, &p, &err), -CARM_EINVAL);
    assert_non_null(strstr(err.text, "3"));
}

/* Both commands in turn, first those whose times do not count. */
TEST(warmups_run_before)
{
    char path[64] = "/tmp/carm-test-pairs-XXXXXX", commands[2][128], turns[64] = "";
    const int fd = mkstemp(path);
    struct carm_pairs_how how = {.budget = 1e-3, .threshold = 0.05};
    struct carm_pairs p;
    assert_true(fd >= 0);
    for (int i = 0; i < 2; i++) {
        (void)snprintf(commands[i], sizeof commands[i], "printf %c >>%s; sleep 0.002", 'a' + i,
                       path);
        how.command[i] = commands[i];
    }
    for (unsigned warmup = 0; warmup < 4; warmup += 3) {
        how.warmup = warmup;
        assert_int_equal(ftruncate(fd, 0), 0);
        assert_ok(carm_pairs_run(&how, &p, &err));
        const ssize_t n = pread(fd, turns, sizeof turns, 0);
        assert_int_equal(n, 2 * (CARM_PAIRS_LEAST + warmup));
        for (ssize_t i = 0; i < n; i++) {
            assert_int_equal(turns[i], 'a' + i % 2);
        }
    }
    (void)close(fd);
    assert_int_equal(unlink(path), 0);
}

/* Without a threshold a narrow interval is an answer; commands that end at once, or by a signal, have none. The pairs go on
 * until both times are decided or the budget ends. */
TEST(pairs_have_an_end)
{
    struct carm_pairs p;
    struct carm_pairs_how how = {
        .command = {"sleep 0.003", "sleep 0.003"}, .budget = 60.0, .narrow = 1e9};
    assert_ok(carm_pairs_run(&how, &p, &err));
    assert_int_equal(p.n, CARM_PAIRS_LEAST);
    assert_int_equal(p.wall.verdict, CARM_PAIRS_WITHIN);
    assert_int_equal(p.part.verdict, CARM_PAIRS_WITHIN);
    how.narrow = 0.0;
    how.budget = 0.2;
    assert_ok(carm_pairs_run(&how, &p, &err));
    assert_int_equal(p.wall.verdict, CARM_PAIRS_UNDECIDED);
    how = (struct carm_pairs_how){
        .command = {"sleep 0.002", "sleep 0.1"}, .budget = 60.0, .threshold = 0.5};
    assert_ok(carm_pairs_run(&how, &p, &err));
    assert_int_equal(p.wall.verdict, CARM_PAIRS_SLOWER);
    assert_true(p.wall.low > 0.5 && p.wall.change > 1.0);
    how.command[0] = "kill -9 $$";
    assert_refused(carm_pairs_run(&how, &p, &err), -CARM_EINVAL,
                   "'kill -9 $$' is ended by signal 9: times of failures say nothing");
    how.command[0] = "exit 7";
    assert_refused(carm_pairs_run(&how, &p, &err), -CARM_EINVAL, "'exit 7' ends with status 7");
    how.command[0] = "read line && exit 5; sleep 0.002"; /* its input is empty */
    assert_ok(carm_pairs_run(&how, &p, &err));
    assert_string_equal(carm_pairs_verdict_name(CARM_PAIRS_WITHIN), "within");
    assert_string_equal(carm_pairs_verdict_name(CARM_PAIRS_FASTER), "faster");
}
