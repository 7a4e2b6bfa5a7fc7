/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What turns ticks into rates, by stamps that the tests write, and what a deadline leaves of a run. A time decides
 * nothing but whether a wait ends at all. */
#include <cpuid.h>
#include <dlfcn.h>
#include <pthread.h>
#include <time.h>

#include "harness/count/recipe.h"
#include "harness/machine/cpu.h"

#include "harness/machine/measure.h"
#include "harness/machine/times.h"
#include "tests/harness/machine/machine.h"

enum { REPS = 64, THREADS = 2, PROBES = 2 * (REPS / CARM_CLOCK_EVERY) + 8 };

static struct {
    struct carm_topo topo;
    struct carm_clock clock;
    struct carm_team team;
    struct carm_worker workers[THREADS];
    uint64_t begin[THREADS][REPS], end[THREADS][REPS];
    double ratios[THREADS][PROBES], widths[THREADS][PROBES];
    double seconds[REPS], cycles[REPS];
    bool counts[REPS];
    bool behind; /* the last repetition */
} fake;

/* Two threads at 2 GHz of the TSC and 3 GHz of the core, each with its core for itself: thread 1 starts 100 ticks
 * later and ends 50 ticks earlier than thread 0, whose repetition takes 20 000 ticks. */
static void fill(void)
{
    memset(&fake, 0, sizeof fake);
    fake.topo.cores = THREADS;
    fake.clock = (struct carm_clock){.tsc_hz = 2e9, .synchronous = true, .tick_quantum = 0.0};
    fake.team.topo = &fake.topo;
    fake.team.clock = &fake.clock;
    fake.team.n = THREADS;
    fake.team.workers = fake.workers;
    fake.team.seconds = fake.seconds;
    fake.team.cycles = fake.cycles;
    fake.team.counts = fake.counts;
    for (int i = 0; i < THREADS; i++) {
        struct carm_worker *w = &fake.workers[i];
        w->team = &fake.team;
        w->begin = fake.begin[i];
        w->end = fake.end[i];
        w->ratios = fake.ratios[i];
        w->widths = fake.widths[i];
        w->full_width = 5.0;
        w->done = REPS;
        w->blocks = REPS / CARM_CLOCK_EVERY;
        for (size_t r = 0; r < REPS; r++) {
            w->begin[r] = 1000000 * (r + 1) + (i ? 100 : 0);
            w->end[r] = 1000000 * (r + 1) + 20000 - (i ? 50 : 0);
        }
        for (size_t p = 0; p < PROBES; p++) {
            w->ratios[p] = 1.5;
            w->widths[p] = 5.0;
        }
    }
}

static struct carm_times describe(struct carm_times_run *run)
{
    struct carm_times t;
    carm_times_end(&fake.team, run);
    carm_times_describe(&fake.team, run, &t);
    return t;
}

TEST(a_repetition_lasts_from_first_start_to_last_end)
{
    fill();
    assert_near(carm_times_ticks(&fake.team, 3), 20000.0, 0.0);
    fake.begin[1][3] -= 400; /* the second thread is the first to start ... */
    assert_near(carm_times_ticks(&fake.team, 3), 20300.0, 0.0);
    fake.end[1][3] += 200; /* ... and the last to end */
    assert_near(carm_times_ticks(&fake.team, 3), 20450.0, 0.0);
    fake.clock.synchronous = false; /* without common time: the longest of the threads' own times */
    assert_near(carm_times_ticks(&fake.team, 3), 20450.0, 0.0);
    assert_near(carm_times_ticks(&fake.team, 4), 20000.0, 0.0);
    for (int i = 0; i < THREADS; i++) {
        fake.begin[i][5] = fake.end[i][5] = 0;
    }
    assert_near(carm_times_ticks(&fake.team, 5), 0.0, 0.0);
    fake.clock.synchronous = true;
    assert_near(carm_times_ticks(&fake.team, 5), 0.0, 0.0);
}

TEST(ticks_become_seconds_and_cycles)
{
    fill();
    struct carm_times_run run = {.reps = REPS, .most = REPS};
    fake.team.overhead.together = 1e-6;
    struct carm_times t = describe(&run);
    assert_int_equal(t.seconds.n, REPS);
    assert_near(t.seconds.median, 9e-6, 1e-15);
    assert_near(t.cycles, 9e-6 * 3e9, 1e-6);
    assert_near(t.own_share, 1.0, 0.0);
    assert_near(t.width_share, 1.0, 0.0);
    assert_near(t.clock_spread, 0.0, 1e-12);
    assert_near(t.slow_share, 0.0, 0.0);
    assert_false(t.unsound);
    assert_near(carm_times_total(&fake.team, &run), REPS * 10e-6, 1e-12);
    for (size_t r = 0; r < REPS; r += 4) { /* a quarter takes twice as long */
        fake.end[0][r] += 20000;
    }
    run = (struct carm_times_run){.reps = REPS, .most = REPS};
    t = describe(&run);
    assert_near(t.slow_share, 0.25, 0.0);
    assert_near(t.seconds.p5, 9e-6, 1e-15);
    assert_near(t.seconds.p95, 19e-6, 1e-15);
    fake.team.overhead.together = 1.0; /* an empty code that took longer is not subtracted */
    run = (struct carm_times_run){.reps = REPS, .most = REPS};
    t = describe(&run);
    assert_true(t.unsound);
    assert_near(t.seconds.median, 10e-6, 1e-15);
    fill();
    fake.team.overhead.together = 10e-6; /* nor one that took as long */
    t = describe(&run);
    assert_true(t.unsound);
    assert_near(t.seconds.median, 10e-6, 1e-15);
    fill(); /* 1.5 times the median is not slow */
    fake.clock.tsc_hz = 0x1p31;
    for (size_t r = 0; r < REPS; r++) {
        fake.begin[0][r] = fake.begin[1][r] = 0;
        fake.end[0][r] = fake.end[1][r] = r % 4 ? 0x8000 : r % 8 ? 0xc000 : 0xc001;
    }
    assert_near(describe(&run).slow_share, 0.125, 0.0);
}

/* The last block ends with the run. */
TEST(blocks_have_their_length)
{
    const struct carm_times_run run = {.reps = 2 * CARM_CLOCK_EVERY, .most = CARM_CLOCK_EVERY + 8};
    const struct carm_times_run few = {.reps = 5, .most = REPS};
    assert_int_equal(carm_times_block(&run, 0), CARM_CLOCK_EVERY);
    assert_int_equal(carm_times_block(&run, CARM_CLOCK_EVERY), 8);
    assert_int_equal(carm_times_block(&few, 10), 5);
}

/* Samples that an interrupt made too low do not count, be they three of nine. */
TEST(interrupted_samples_of_the_clock_do_not_count)
{
    fill();
    struct carm_times_run run = {.reps = REPS, .most = REPS};
    struct carm_worker *w = &fake.workers[0];
    w->nprobes = PROBES;
    for (size_t p = 0; p < 3; p++) {
        w->ratios[PROBES / 8 + p] = 1.4;
    }
    assert_near(describe(&run).clock_spread, 0.0, 1e-12);
    assert_near(w->ratios[PROBES / 8], 1.5, 1e-12);
}

/* Looks at the clock: 2% below the highest neighbour count, and the mean of the middle half is taken of all four. */
TEST(a_clock_that_moved_is_averaged)
{
    fill();
    struct carm_times_run run = {.reps = REPS, .most = REPS};
    for (size_t p = 2; p < 4; p++) {
        fake.ratios[0][p] = 1.5 * 1.02;
        fake.ratios[1][p] = 1.5 * 0.98;
    }
    const struct carm_times t = describe(&run);
    assert_near(fake.ratios[0][0], 1.5 * 1.01, 1e-12);
    assert_near(fake.ratios[1][3], 1.5 * 0.99, 1e-12);
    assert_near(t.cycles, t.seconds.median * 3e9, 1e-6); /* of both threads: 1.5 */
}

/* The mean of the middle half of nine neighbours: where the ratio rises by 0.01% a look, the look's own. */
TEST(a_clock_is_smoothed_and_not_shifted)
{
    fill();
    struct carm_times_run run = {.reps = 4, .most = 24, .done = 24};
    struct carm_times t;
    assert_int_equal(PROBES, 12); /* 6 blocks of 4 repetitions */
    for (int i = 0; i < THREADS; i++) {
        fake.workers[i].nprobes = PROBES;
        for (size_t p = 0; p < PROBES; p++) {
            fake.ratios[i][p] = 1.5 * (1.0 + 1e-4 * (double)p);
            fake.widths[i][p] = 2.0; /* no core is own: more than 4 repetitions count */
        }
    }
    fake.ratios[1][2] = 1.0; /* an interrupt */
    assert_false(carm_times_describe(&fake.team, &run, &t));
    for (size_t p = 4; p + 4 < PROBES; p++) {
        assert_near(fake.ratios[0][p], 1.5 * (1.0 + 1e-4 * (double)p), 1e-12);
    }
    /* near an edge the window is cut there: of look 1 its looks 0 to 5, of look 10 its looks 6 to 11 */
    assert_near(fake.ratios[0][1], 1.5 * (1.0 + 1e-4 * 2.5), 1e-12);
    assert_near(fake.ratios[0][10], 1.5 * (1.0 + 1e-4 * 8.5), 1e-12);
    /* without look 2: the middle half of five, and of eight */
    assert_near(fake.ratios[1][1], 1.5 * (1.0 + 1e-4 * 8 / 3), 1e-12);
    assert_near(fake.ratios[1][4], 1.5 * (1.0 + 1e-4 * 4.5), 1e-12);
    assert_near(fake.ratios[1][6], 1.5 * (1.0 + 1e-4 * 6.5), 1e-12);
    /* late against early is look 10 against look 1, and the thread with more of it counts */
    assert_near(t.clock_spread, (1.0 + 1e-4 * 8.5) / (1.0 + 1e-4 * 2.5) - 1.0, 1e-12);
    /* the median lies between blocks 2 and 3: looks 4 to 7, 5.5 on average, and of thread 1 4.5, 5.5, 6.5 and 7 */
    assert_near(t.cycles, 20000 * 1.5 * (1.0 + 1e-4 * (5.5 + 5.875) / 2), 1e-6);
}

/* A counter that advances in steps of 200 ticks: times that all read alike lie evenly within one step. */
TEST(times_spread_over_a_quantum)
{
    for (int separate = 0; separate < 2; separate++) {
        fill();
        fake.clock.tick_quantum = 200.0;
        fake.team.separate = separate;
        for (size_t r = 0; r < REPS; r++) {
            fake.begin[1][r] = fake.begin[0][r];
            fake.end[1][r] = fake.end[0][r];
        }
        struct carm_times_run run = {.reps = REPS, .most = REPS};
        const struct carm_times t = describe(&run);
        assert_near(t.seconds.median, 10e-6, 0.002e-6);
        assert_near(t.seconds.min, 9.95e-6, 0.003e-6);
        assert_near(t.seconds.max, 10.05e-6, 0.003e-6);
        assert_near(t.seconds.p5, 9.955e-6, 0.004e-6);
        assert_near(t.cycles, t.seconds.median * 3e9, 1e-6);
    }
}

/* Of more repetitions on own cores than are wanted, the first ones count. */
TEST(as_many_count_as_are_wanted)
{
    enum { WANTED = CARM_CLOCK_EVERY + 8 };
    fill();
    struct carm_times_run run = {.reps = WANTED, .most = REPS};
    for (size_t r = WANTED; r < REPS; r++) {
        fake.end[0][r] += 50000;
    }
    const struct carm_times t = describe(&run);
    assert_int_equal(run.done, REPS);
    assert_int_equal(t.seconds.n, WANTED);
    assert_near(t.own_share, 1.0, 0.0);
    assert_near(t.seconds.max, 10e-6, 1e-15);
}

/* A core that others used in every block: all repetitions count, with the share of the width that was left. */
TEST(all_count_where_no_core_was_own)
{
    fill();
    struct carm_times_run run = {.reps = REPS, .most = REPS};
    fake.widths[1][carm_times_after(0)] = 2.0;
    fake.widths[1][carm_times_before(1)] = 2.0;
    fake.widths[0][carm_times_after(1)] = 3.0;
    fake.end[0][0] += 2000;
    fake.end[0][REPS - 1] += 4000;
    const struct carm_times t = describe(&run);
    assert_int_equal(t.seconds.n, REPS);
    assert_near(t.own_share, 0.0, 0.0);
    assert_near(t.width_share, (2.0 + 3.0) / 2 / 5.0, 1e-12);
    assert_near(t.seconds.max, 12e-6, 1e-15);
    assert_near(t.seconds.min, 10e-6, 1e-15);
    assert_false(fake.behind);
}

/* Nine tenths of its width, and a core is the thread's own. */
TEST(a_core_is_own_from_nine_tenths_on)
{
    fill();
    fake.widths[1][carm_times_after(0)] = CARM_WIDTH_OWN * 5.0;
    assert_true(carm_times_is_own(&fake.workers[0], 0));
    fake.widths[1][carm_times_after(0)] = 4.49;
    assert_false(carm_times_is_own(&fake.workers[0], 0));
    fake.widths[1][carm_times_after(0)] = 5.0;
    fake.widths[1][carm_times_before(0)] = 4.49;
    assert_false(carm_times_is_own(&fake.workers[0], 0));
    assert_true(carm_times_is_own(&fake.workers[0], 1));
}

/* The share of a width is of the full one, 1 at most unless the team is separate, and 1 as long as that is not
 * known. */
TEST(widths_have_a_share)
{
    static const struct {
        double full, width, together, separate;
    } rows[] = {{5.0, 5.5, 1.0, 1.1}, {0.8, 0.4, 0.5, 0.5}, {0.0, 3.0, 1.0, 1.0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        fill();
        for (int k = 0; k < THREADS; k++) {
            fake.workers[k].full_width = rows[i].full;
            fake.widths[k][3] = rows[i].width;
        }
        assert_near(carm_times_own_width(&fake.workers[0], 3), rows[i].together, 1e-12);
        fake.team.separate = true;
        assert_near(carm_times_own_width(&fake.workers[0], 3), rows[i].separate, 1e-12);
    }
    fake.workers[0].own = 10;
    fake.workers[1].own = 3;
    assert_int_equal(carm_times_fewest_own(&fake.team), 3);
    fake.team.n = 1; /* the other one rests */
    assert_int_equal(carm_times_fewest_own(&fake.team), 10);
}

/* Threads that share cores in every round, by the host's doing, have no core of their own to wait for. */
TEST(paired_threads_need_no_own_core)
{
    fill();
    fake.widths[1][carm_times_after(0)] = 2.5;
    assert_false(carm_times_is_own(&fake.workers[0], 0));
    for (int i = 0; i < 12; i++) {
        carm_paired_note(&fake.team.paired, 4, false);
    }
    fake.team.n = 4;
    assert_true(carm_times_is_own(&fake.workers[0], 0));
    assert_near(carm_times_own_width(&fake.workers[0], 0), 1.0, 0.0);
    fake.team.n = 2;
    assert_false(carm_times_is_own(&fake.workers[0], 0));
}

TEST(shared_blocks_do_not_count)
{
    fill();
    struct carm_times_run run = {.reps = REPS, .most = REPS};
    fake.widths[1][carm_times_after(0)] = 3.0;
    for (size_t r = 0; r < CARM_CLOCK_EVERY; r++) {
        fake.end[0][r] += 50000;
    }
    struct carm_times t = describe(&run);
    assert_int_equal(t.seconds.n, REPS - CARM_CLOCK_EVERY);
    assert_near(t.own_share, 0.5, 0.0);
    assert_near(t.seconds.max, 10e-6, 1e-15);
    assert_int_equal(carm_times_fewest_own(&fake.team), REPS - CARM_CLOCK_EVERY);
    run = (struct carm_times_run){.reps = CARM_CLOCK_EVERY + 8, .most = REPS};
    assert_int_equal(describe(&run).seconds.n,
                     REPS - CARM_CLOCK_EVERY); /* nor do they fill what is wanted */
}

/* Threads that are taken apart: the sum of their own rates. */
TEST(separate_rates_add_up)
{
    fill();
    struct carm_times_run run = {.reps = REPS, .most = REPS};
    struct carm_times t;
    fake.team.separate = true;
    for (size_t r = 0; r < REPS; r++) { /* 20 000 ticks and 10 000: 2 over (1/10 + 1/5) us */
        fake.begin[1][r] = 5000 + 100000 * r;
        fake.end[1][r] = 15000 + 100000 * r;
    }
    carm_times_end(&fake.team, &run);
    assert_true(carm_times_describe(&fake.team, &run, &t));
    assert_near(t.seconds.median, 2.0 / (1.0 / 10e-6 + 1.0 / 5e-6), 1e-12);
    assert_near(t.cycles, t.seconds.median * 3e9, 1e-6);
    assert_false(t.unsound);
    /* an empty code that took longer than one of them: 1 us and -4 us have no rate together */
    fill();
    run = (struct carm_times_run){.reps = REPS, .most = REPS};
    fake.team.separate = true;
    fake.team.overhead.each = 9e-6;
    for (size_t r = 0; r < REPS; r++) {
        fake.begin[1][r] = 5000 + 100000 * r;
        fake.end[1][r] = 15000 + 100000 * r;
    }
    carm_times_end(&fake.team, &run);
    assert_true(carm_times_describe(&fake.team, &run, &t));
    assert_true(t.unsound);
    assert_near(t.seconds.median, 2.0 / (1.0 / 10e-6 + 1.0 / 5e-6), 1e-12);
    fake.team.overhead.each = 0.0;
}

/* Thread 1 shared its core in the first block, thread 0 in none: of each, the first repetitions on its own core
 * count, with the core clock beside them. */
TEST(separate_threads_count_for_themselves)
{
    fill();
    struct carm_times_run run = {.reps = REPS, .most = REPS};
    struct carm_times t;
    fake.team.separate = true;
    fake.widths[1][carm_times_before(0)] = 3.0;
    for (size_t r = 0; r < REPS; r++) { /* thread 0: 10 us, then 20; thread 1: 40 us, then 20 */
        const bool first = r < CARM_CLOCK_EVERY;
        fake.begin[0][r] = fake.begin[1][r] = 1000000 * r;
        fake.end[0][r] = fake.begin[0][r] + (first ? 20000 : 40000);
        fake.end[1][r] = fake.begin[1][r] + (first ? 80000 : 40000);
    }
    fake.team.overhead = (struct carm_overhead){.together = 5e-6, .each = 1e-6};
    carm_times_end(&fake.team, &run);
    assert_int_equal(fake.workers[0].own, REPS);
    assert_int_equal(fake.workers[1].own, REPS - CARM_CLOCK_EVERY);
    assert_true(carm_times_describe(&fake.team, &run, &t));
    assert_int_equal(t.seconds.n, REPS - CARM_CLOCK_EVERY);
    assert_near(t.own_share, 0.5, 0.0);
    assert_near(t.width_share, 1.0, 0.0);
    assert_near(t.seconds.median, 2.0 / (1.0 / 9e-6 + 1.0 / 19e-6), 1e-12);
    assert_near(t.cycles, t.seconds.median * 3e9, 1e-6);
    assert_int_equal(fake.workers[0].end[REPS - 1], 1); /* the block */
    assert_int_equal(fake.workers[1].end[0], 1);
}

/* Nobody's core was own: a separate team is described as one that works together, with that overhead. */
TEST(separate_threads_without_a_core)
{
    fill();
    struct carm_times_run run = {.reps = REPS, .most = REPS};
    struct carm_times t;
    fake.team.separate = true;
    fake.team.overhead = (struct carm_overhead){.together = 1e-6, .each = 3e-6};
    for (size_t p = 0; p < PROBES; p++) {
        fake.widths[1][p] = 2.5;
    }
    carm_times_end(&fake.team, &run);
    assert_false(carm_times_describe(&fake.team, &run, &t));
    assert_true(fake.team.separate);
    assert_int_equal(t.seconds.n, REPS);
    assert_near(t.own_share, 0.0, 0.0);
    assert_near(t.width_share, 0.5, 1e-12);
    assert_near(t.seconds.median, 9e-6, 1e-15);
}

/* One thread was cut in the second block, the other one repetition earlier: the first block counts. */
TEST(whole_blocks_are_kept)
{
    fill();
    struct carm_times_run run = {.reps = REPS, .most = REPS, .cut = true};
    fake.workers[0].done = CARM_CLOCK_EVERY + 8;
    fake.workers[1].done = CARM_CLOCK_EVERY + 7;
    fake.workers[0].blocks = fake.workers[1].blocks = 1;
    struct carm_times t = describe(&run);
    assert_int_equal(run.done, CARM_CLOCK_EVERY);
    assert_int_equal(t.seconds.n, CARM_CLOCK_EVERY);
    assert_false(run.blind);
    assert_int_equal(fake.workers[1].nprobes, 2);
    fill(); /* the last block is a short one */
    run = (struct carm_times_run){.reps = REPS, .most = CARM_CLOCK_EVERY + 8};
    fake.workers[0].done = fake.workers[1].done = CARM_CLOCK_EVERY + 8;
    carm_times_end(&fake.team, &run);
    assert_int_equal(run.done, CARM_CLOCK_EVERY + 8);
    assert_int_equal(fake.workers[1].own, CARM_CLOCK_EVERY + 8);
}

/* A single repetition of a separate team is one. */
TEST(one_repetition_counts)
{
    struct carm_times t;
    struct carm_times_run run = {.reps = 1, .most = 1};
    fill();
    fake.team.separate = true;
    fake.workers[0].done = fake.workers[1].done = fake.workers[0].blocks = fake.workers[1].blocks =
        1;
    carm_times_end(&fake.team, &run);
    assert_true(carm_times_describe(&fake.team, &run, &t));
    assert_int_equal(t.seconds.n, 1);
}

TEST(a_first_block_counts_in_part)
{
    fill();
    struct carm_times_run run = {.reps = REPS, .most = REPS, .cut = true};
    fake.workers[0].done = 8;
    fake.workers[1].done = 7;
    fake.workers[0].blocks = fake.workers[1].blocks = 0;
    struct carm_times_run planted = run;
    for (int i = 0; i < THREADS;
         i++) { /* looks: before the block, none after it, and of an older run */
        fake.ratios[i][1] = fake.widths[i][1] = 0.0;
        fake.ratios[i][2] = fake.ratios[i][3] = fake.widths[i][2] = fake.widths[i][3] = 7.0;
    }
    carm_times_end(&fake.team, &planted);
    for (int i = 0; i < THREADS; i++) { /* the look before it stands for the one after it */
        assert_near(fake.ratios[i][1], 1.5, 0.0);
        assert_near(fake.widths[i][1], 5.0, 0.0);
        assert_near(fake.ratios[i][3] + fake.widths[i][3], 14.0, 0.0);
        assert_int_equal(fake.workers[i].nprobes, 2);
    }
    struct carm_times t = describe(&run);
    assert_int_equal(run.done, 7);
    assert_int_equal(t.seconds.n, 7);
    assert_true(run.blind);
    assert_near(t.seconds.median, 10e-6, 1e-15);
    fill();
    run = (struct carm_times_run){.reps = REPS, .most = REPS, .cut = true};
    fake.workers[1].done = 1;
    fake.workers[0].blocks = fake.workers[1].blocks = 0;
    t = describe(&run);
    assert_true(run.blind);
    assert_int_equal(t.seconds.n, 1);
    assert_near(t.seconds.median, 10e-6, 1e-15);
    fill();
    run = (struct carm_times_run){.reps = REPS, .most = REPS, .cut = true};
    fake.workers[1].done = 0;
    fake.workers[0].blocks = fake.workers[1].blocks = 0;
    fake.team.separate = true;
    t = describe(&run);
    assert_false(carm_times_describe(&fake.team, &run, &t));
    assert_false(run.blind);
    assert_int_equal(run.done, 0);
    assert_int_equal(t.seconds.n, 0);
}

static int set_up(void **state)
{
    static const char *const names[] = {"empty.scalar.dp", "B.sse.dp.mad.f40.c10",
                                        "A.sse.dp.1:0.u8"};
    return open_machine(names, 3);
}

static volatile sig_atomic_t stop;

static void *stop_later(void *arg)
{
    const struct timespec nap = {0, 50000000};
    nanosleep(&nap, NULL);
    stop = 1;
    return NULL;
}

/* Repetitions of a millisecond for an hour, of threads that share one processor: the user's wish ends them, and those
 * that ended before are described. */
TEST(a_wish_ends_a_run)
{
    enum { MANY = 1 << 16, CROWD = 5 };
    struct carm_topo crowd = *topo;
    int order[CROWD];
    struct carm_team *team = NULL;
    struct carm_measurement m;
    pthread_t thread;
    for (int n = 1; n <= CROWD; n += CROWD - 1) {
        for (int i = 0; i < CROWD; i++) {
            order[i] = topo->order[0];
        }
        crowd.order = order;
        crowd.pus = crowd.cores = CROWD;
        crowd.machine_pus = crowd.machine_pus > CROWD ? crowd.machine_pus : CROWD;
        assert_ok(carm_team_open(&team, &crowd, &tsc, n, 1 << 21, MANY, &err));
        const struct carm_shape shape = {.iterations = 200000, .passes = 1, .windows = 1};
        stop = 0;
        team->deadline.stop = &stop;
        assert_int_equal(pthread_create(&thread, NULL, stop_later, NULL), 0);
        carm_measure_run(team, &image->codes[1], &shape, MANY, &m);
        (void)pthread_join(thread, NULL);
        assert_true(m.seconds.n < MANY);
        assert_true(m.seconds.n == 0 || m.seconds.median > 0.0);
        assert_int_equal(m.disturbance == CARM_UNDISTURBED, 0);
        /* nothing is measured any more, and nothing waits */
        carm_measure_run(team, &image->codes[1], &shape, MANY, &m);
        assert_int_equal(m.seconds.n, 0);
        assert_int_equal(m.disturbance, CARM_CUT);
        assert_true(m.cut);
        assert_near(carm_measure_rate(&m, m.flops), 0.0, 0.0);
        assert_near(carm_core_to_core_seconds(team), 0.0, 0.0);
        assert_true(carm_contended_add_seconds(team, 1) >= 0.0); /* and ends */
        assert_int_equal(carm_measure_own_alone(team), 0);
        team->overhead.together = 3e-8;
        carm_measure_calibrate(team, &image->codes[0]);
        assert_near(team->overhead.together, 3e-8, 0.0); /* what was known stays */
        team->deadline.stop = NULL;
        team->deadline.tsc = 1; /* long ago */
        carm_measure_run(team, &image->codes[1], &shape, MANY, &m);
        assert_int_equal(m.seconds.n, 0);
        carm_team_close(team);
    }
}

/* Memory that the deadline left untouched is one page of zeros to all reads: a later run touches it first. */
TEST(untouched_memory_is_not_measured)
{
    struct carm_team *team = NULL;
    struct carm_shape shape;
    struct carm_measurement m;
    assert_ok(carm_team_open(&team, topo, &tsc, 1, 1 << 22, 256, &err));
    team->deadline.tsc = 1;
    carm_measure_shape(team, &image->codes[2], 1 << 22, 6e-6, &shape);
    assert_int_equal(team->workers[0].buffer.touched, 0);
    assert_int_equal(shape.passes, 1);
    assert_false(carm_team_touch(team, 4096));
    team->deadline.tsc = 0;
    carm_measure_run(team, &image->codes[2], &shape, 32, &m);
    assert_true(m.seconds.n > 0);
    assert_true(team->workers[0].buffer.touched >= carm_window_span(&image->codes[2], &shape));
    carm_team_close(team);
}

/* A measurement of operations (with the account of an iteration: `n` of them) at `rate` of them a cycle. */
static struct carm_measurement at_rate(struct carm_code *code, double rate)
{
    const double n = (double)(code->account.fp_instructions + code->account.loads);
    struct carm_measurement m = {
        .code = code,
        .threads = 1,
        .shape = {.iterations = 1000, .passes = 1, .windows = 1},
        .seconds = {.n = 100, .median = n * 1000.0 / rate / 3e9},
        .own_share = 1.0,
        .clock_hz = 3e9,
    };
    return m;
}

/* What the widest known core executes in a cycle is believed; a clock misread by a third makes more of it. */
TEST(catches_an_impossible_figure)
{
    static const struct {
        enum carm_isa isa;
        enum carm_precision precision;
        enum carm_op op;
        double most;
    } rows[] = {
        {CARM_AVX2, CARM_DP, CARM_MAD, 4.0},         {CARM_AVX2, CARM_DP, CARM_FMA, 2.0},
        {CARM_AVX512, CARM_SP, CARM_ADD, 2.0},       {CARM_SCALAR, CARM_DP, CARM_FMA, 4.0},
        {CARM_AVX2, CARM_DP, CARM_FMA2_ADD, 4.0},    {CARM_AVX512, CARM_INT8, CARM_ADD, 4.0},
        {CARM_AVX2, CARM_INT64, CARM_ADD, 4.0},      {CARM_SSE, CARM_INT32, CARM_LOGIC, 4.0},
        {CARM_AVX512, CARM_INT32, CARM_POPCNT, 4.0}, {CARM_AVX512, CARM_INT8, CARM_DOT, 2.0},
        {CARM_AVX512, CARM_INT16, CARM_MUL, 2.0},    {CARM_AVX512, CARM_DP, CARM_DIV, 1.0},
        {CARM_AMX, CARM_INT8, CARM_DOT, 1.0 / 16},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_code code = {
            .spec = {.kind = CARM_KIND_B,
                     .isa = rows[i].isa,
                     .precision = rows[i].precision,
                     .op = rows[i].op},
            .account = {.fp_instructions = 24},
        };
        struct carm_measurement m = at_rate(&code, rows[i].most);
        assert_int_equal(carm_measure_judge(&m), CARM_UNDISTURBED);
        m.clock_hz = 3e9 / 1.015; /* 1% beyond the clock's error of 0.5% */
        fail_if(carm_measure_judge(&m) != CARM_TOO_FAST, "%s %s %s: %.3g a cycle are believed",
                carm_isa_name(rows[i].isa), carm_precision_name(rows[i].precision),
                carm_op_name(rows[i].op), 1.015 * rows[i].most);
    }
}

/* Loads and stores that the widest known core executes in a cycle, by the width of a vector; rows of 64 bytes of tiles. */
TEST(catches_impossible_accesses)
{
    static const struct {
        enum carm_isa isa;
        enum carm_precision precision;
        double loads, stores;
    } rows[] = {{CARM_SCALAR, CARM_DP, 4.0, 2.0},
                {CARM_SSE, CARM_DP, 4.0, 2.0},
                {CARM_AVX2, CARM_DP, 3.0, 2.0},
                {CARM_AVX512, CARM_DP, 2.0, 1.0},
                {CARM_AMX, CARM_INT8, 2.0 / 16, 1.0 / 16}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        for (int stores = 0; stores < 2; stores++) {
            const double most = stores ? rows[i].stores : rows[i].loads;
            struct carm_code code = {
                .spec = {.kind = CARM_KIND_A, .isa = rows[i].isa, .precision = rows[i].precision}};
            *(stores ? &code.account.stores : &code.account.loads) = 24;
            struct carm_measurement m = at_rate(&code, 1.0);
            m.seconds.median = 24 * 1000.0 / most / 3e9;
            assert_int_equal(carm_measure_judge(&m), CARM_UNDISTURBED);
            m.seconds.median /= 1.015;
            fail_if(carm_measure_judge(&m) != CARM_TOO_FAST, "%s: %.3g %s a cycle are believed",
                    carm_isa_name(rows[i].isa), 1.015 * most, stores ? "stores" : "loads");
        }
    }
}

/* As much as a limit allows is no disturbance; shares are of all repetitions, also of those that do not count. */
TEST(limits_of_disturbances)
{
    struct carm_code code = {.account = {.fp_instructions = 24}};
    struct carm_measurement m = at_rate(&code, 1.0);
    m.slow_share = 0.10;
    m.clock_spread = 0.03;
    m.taken_share = 0.02;
    m.switches = 4; /* of 100 repetitions: too few to be more than chance */
    assert_int_equal(carm_measure_judge(&m), CARM_UNDISTURBED);
    m.seconds.n = 300;
    m.switches = 6;
    assert_int_equal(carm_measure_judge(&m), CARM_UNDISTURBED);
    m.switches = 7;
    assert_int_equal(carm_measure_judge(&m), CARM_PREEMPTED);
    m.own_share = 0.5; /* 300 of 600 */
    assert_int_equal(carm_measure_judge(&m), CARM_UNDISTURBED);
    m.switches = 13;
    assert_int_equal(carm_measure_judge(&m), CARM_PREEMPTED);
    m.switches = 0;
    m.steal_share = 0.05;
    assert_int_equal(carm_measure_judge(&m), CARM_UNDISTURBED);
    m.steal_share = 0.051;
    assert_int_equal(carm_measure_judge(&m), CARM_STOLEN);
    m.steal_share = 0.0;
    m.cut = true;
    assert_int_equal(carm_measure_judge(&m), CARM_CUT);
    m.cut = false;
    m.clock_spread = 0.0305;
    assert_int_equal(carm_measure_judge(&m), CARM_CLOCK_MOVED);
    m.clock_spread = 0.0;
    m.slow_share = 0.101;
    assert_int_equal(carm_measure_judge(&m), CARM_UNEVEN);
    m.taken_share = 0.0203;
    assert_int_equal(carm_measure_judge(&m), CARM_PREEMPTED);
    m.slow_share = 0.0;
    assert_int_equal(carm_measure_judge(&m), CARM_UNDISTURBED);
}

/* Each disturbance is named for what it is. */
TEST(names_what_disturbed)
{
    struct carm_code code = {.account = {.fp_instructions = 24}};
    struct carm_measurement m = at_rate(&code, 1.0);
    assert_int_equal(carm_measure_judge(&m), CARM_UNDISTURBED);
    m.slow_share = 0.2;
    assert_int_equal(carm_measure_judge(&m), CARM_UNEVEN);
    m.taken_share = 0.03; /* a competitor in this system, not on another hardware thread */
    assert_int_equal(carm_measure_judge(&m), CARM_PREEMPTED);
    m.own_share = 0.0;
    assert_int_equal(carm_measure_judge(&m), CARM_PREEMPTED);
    m.taken_share = 0.0;
    assert_int_equal(carm_measure_judge(&m), CARM_CORE_SHARED);
    m.steal_share = 0.1;
    assert_int_equal(carm_measure_judge(&m), CARM_STOLEN);
    m.switches = 5;
    assert_int_equal(carm_measure_judge(&m), CARM_PREEMPTED);
    m.clock_spread = 0.05;
    assert_int_equal(carm_measure_judge(&m), CARM_CLOCK_MOVED);
    m.migrations = 1;
    assert_int_equal(carm_measure_judge(&m), CARM_MIGRATED);
    m.seconds.median /= 10.0;
    assert_int_equal(carm_measure_judge(&m), CARM_TOO_FAST);
}

/* Stretches that end at any tick, read by a counter of steps of 26 ticks whose values are rounded up or down; a tenth of
 * them were interrupted. */
TEST(durations_have_a_quantum)
{
    enum { N = 1000 };
    double durations[N];
    for (int quantum = 1; quantum <= 26; quantum += 5) {
        for (size_t i = 0; i < N; i++) {
            const size_t steps = 3 + i * 7 % 100 / 3;
            durations[i] = (double)(steps * (size_t)quantum + (quantum > 5 ? i % 2 : 0));
            durations[i] += i % 10 == 0 ? 1e6 * (double)i : 0.0;
        }
        assert_near(carm_clock_quantum(durations, N), quantum, quantum > 5 ? 1.0 : 0.0);
    }
    static const struct {
        double durations[10], quantum;
    } rows[] = {{{60, 10, 20, 30, 40, 50, 70, 80, 90, 999}, 10.0},
                {{10, 20, 30, 40, 40, 40, 40, 40, 40, 999}, 1.0}, /* three gaps are too few */
                {{10, 20, 30, 40, 50, 50, 50, 50, 50, 999}, 10.0},
                {{10, 11, 12, 13, 14, 15, 16, 17, 18, 19}, 1.0},
                {{10, 12, 14, 16, 18, 20, 22, 24, 26, 99}, 2.0},
                /* from the first of a cluster to the first of the next */
                {{10, 11, 30, 31, 50, 51, 70, 71, 90, 999}, 20.0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        memcpy(durations, rows[i].durations, sizeof rows[i].durations);
        assert_near(carm_clock_quantum(durations, 10), rows[i].quantum, 0.0);
    }
    durations[0] = 5.0;
    assert_near(carm_clock_quantum(durations, 1), 1.0, 0.0);
}

/* A core of 3 GHz beside a counter of 2 GHz, whose imul takes 3 cycles, 4, a part of one, or is disturbed. */
TEST(chains_become_a_clock)
{
    static const struct {
        double cycles; /* of imul */
        int found;
        double core_hz;
    } rows[] = {{3.0, 3, 3e9},
                {4.0, 4, 3e9},
                {3.09, 3, 3e9 * 3 / 3.09},
                {2.91, 3, 3e9 * 3 / 2.91},
                {3.5, 3, 3e9 * 3 / 3.5},
                {3.6, 3, 3e9 * 3 / 3.6},
                {1.0, 1, 3e9},
                {0.4, 3, 3e9 * 3 / 0.4},
                {4.95, 5, 3e9 * 5 / 4.95},
                {4.099, 4, 3e9 * 4 / 4.099},
                {4.101, 3, 3e9 * 3 / 4.101}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_clock c = {.tsc_hz = 2e9};
        carm_clock_settle(&c, 1.5 * 3 / rows[i].cycles, 1.5);
        assert_near(c.chain_ratio, rows[i].cycles, 1e-12);
        assert_int_equal(c.imul_cycles, rows[i].found);
        assert_near(c.core_hz, rows[i].core_hz, 1.0);
    }
}

static const char
    *sources; /* what the kernel lists as clock sources; "" = no list, NULL = its own */
static bool old_processor; /* no rdtscp, no invariant TSC */

/* Planted wall time, which advances at hz[] of the TSC in the first, second ... stretch. Of each 16 readings one is taken at
 * once, and the others early or late by 100 us. */
static struct {
    bool on;
    double ns, hz[6];
    uint64_t at;
    size_t naps, readings;
    long nap_ns;
} wall;

/* In place of the library's. */
FILE *fopen(const char *path, const char *mode)
{
    static FILE *(*real)(const char *, const char *);
    void *const found = real ? NULL : dlsym(RTLD_NEXT, "fopen");
    if (found) {
        memcpy(&real, &found, sizeof real);
    }
    if (sources && strstr(path, "/available_clocksource")) {
        return *sources ? fmemopen((void *)(uintptr_t)sources, strlen(sources), "r") : NULL;
    }
    return real(path, mode);
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
    static int (*real)(const struct timespec *, struct timespec *);
    void *const found = real ? NULL : dlsym(RTLD_NEXT, "nanosleep");
    if (found) {
        memcpy(&real, &found, sizeof real);
    }
    wall.naps++;
    wall.nap_ns = 1000000000 * time->tv_sec + time->tv_nsec;
    return real(time, left);
}

static void wait_ticks(double ticks)
{
    const double begin = (double)carm_clock_now();
    while ((double)carm_clock_now() - begin < ticks) {
    }
}

int clock_gettime(clockid_t id, struct timespec *time)
{
    static int (*real)(clockid_t, struct timespec *);
    void *const found = real ? NULL : dlsym(RTLD_NEXT, "clock_gettime");
    if (found) {
        memcpy(&real, &found, sizeof real);
    }
    if (!wall.on || id != CLOCK_MONOTONIC_RAW) {
        return real(id, time);
    }
    const size_t k = wall.readings++;
    const size_t stretches = k / 32 + (k % 32 > k / 32 * 2 % 10); /* that have begun */
    const double skew = k % 16 == k / 16 % 10 ? 0.0 : 100e-6 * tsc.tsc_hz;
    wait_ticks(k / 16 % 2 ? skew : 0.0);
    const uint64_t now = carm_clock_now();
    wall.ns += (double)(now - wall.at) / wall.hz[stretches % 6] * 1e9;
    wall.at = now;
    time->tv_sec = (time_t)(wall.ns / 1e9);
    time->tv_nsec = (long)(wall.ns - 1e9 * (double)time->tv_sec);
    wait_ticks(k / 16 % 2 ? 0.0 : skew);
    return 0;
}

void carm_cpuid_leaf(uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    __cpuid_count(leaf, subleaf, out[0], out[1], out[2], out[3]);
    if (old_processor && leaf >= 0x80000001) {
        out[3] &= ~(leaf == 0x80000001 ? 1U << 27 : 1U << 8);
    }
}

/* The kernel lists the TSC as long as it trusts it on all processors; without a list CPUID says whether it is
 * invariant. */
TEST(clocks_are_in_step)
{
    struct carm_cpu cpu;
    carm_cpu_read(&cpu);
    const struct {
        const char *list;
        bool synchronous;
    } rows[] = {{"tsc hpet acpi_pm \n", true}, {"hpet tsc\n", true}, {"hpet acpi_pm\n", false},
                {"tsc-early\n", false},        {"\n", false},        {"", cpu.invariant_tsc}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_clock c;
        sources = rows[i].list;
        assert_ok(carm_clock_open(&c, &err));
        sources = NULL;
        assert_int_equal(c.synchronous, rows[i].synchronous);
        assert_near(c.tsc_hz / tsc.tsc_hz, 1.0, 0.01);
        assert_near(c.chain_ratio, 3.0, 0.3);
        assert_int_equal(c.imul_cycles, 3);
        assert_true(c.core_hz > 1e8 && c.core_hz < 1e10);
        assert_true(c.tick_quantum >= 1.0 && c.tick_quantum < 1000.0);
    }
    struct carm_clock c;
    old_processor = true;
    assert_refused(carm_clock_open(&c, &err), -CARM_ENOTSUP, "no rdtscp");
    old_processor = false;
    assert_near(c.tsc_hz, 0.0, 0.0);
}

/* A planted wall clock: five stretches of 8 ms give the TSC's frequency, their median. A spread of more than 1%, or a
 * frequency that no processor has, is refused. The first of some tries counts that no other program lengthened. */
TEST(a_frequency_is_of_five_stretches)
{
    static const struct {
        double hz, other, wanted; /* of two and of three stretches */
        const char *message;
    } rows[] = {{2e9, 2.0196e9, 2.0196e9, NULL},
                {2e9, 2.0203e9, 0.0, "does not run evenly (2.02e+09 Hz, spread 1.0%)"},
                {1.02e8, 1.02e8, 1.02e8, NULL},
                {0.98e8, 0.98e8, 0.0, "does not run evenly (9.8e+07 Hz"},
                {1.96e10, 1.96e10, 1.96e10, NULL},
                {2.04e10, 2.04e10, 0.0, "does not run evenly (2.04e+10 Hz"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        bool good = false;
        struct carm_clock c;
        for (int tries = 0; tries < 20 && !good; tries++) {
            const double hz = rows[i].hz, other = rows[i].other;
            memset(&wall, 0, sizeof wall);
            memcpy(wall.hz, (double[]){hz, hz, other, other, hz, other}, sizeof wall.hz);
            wall.ns = 0.99e9;
            wall.at = carm_clock_now();
            wall.on = true;
            err = (struct carm_err){""};
            const int rc = carm_clock_open(&c, &err);
            wall.on = false;
            assert_int_equal(wall.naps, 5);
            assert_int_equal(wall.nap_ns, 8000000);
            good = rows[i].message ? rc == -CARM_ENOTSUP && strstr(err.text, rows[i].message)
                                   : rc == 0 && fabs(c.tsc_hz / rows[i].wanted - 1.0) < 1e-4 &&
                                         fabs(c.tsc_hz_error - (other - hz) / other) < 1e-4;
        }
        fail_if(!good, "row %zu: %g Hz, %g, '%s'", i, c.tsc_hz, c.tsc_hz_error, err.text);
    }
}

/* A probe is shorter by what reading the counter takes. The best of some, as interrupts lengthen them. */
TEST(readings_take_no_time)
{
    double ratios[3] = {0.0}, widths[2] = {0.0};
    const double ticks = 8000.0 / tsc.core_hz * tsc.tsc_hz; /* a third of a chain's */
    for (int i = 0; i < 20; i++) {
        ratios[0] = fmax(ratios[0], carm_clock_ratio(0.0, 3));
        ratios[1] = fmax(ratios[1], carm_clock_ratio(ticks, 3));
        ratios[2] = fmax(ratios[2], carm_clock_ratio(0.0, 6));
        widths[0] = fmax(widths[0], carm_probe_width(0.0));
        widths[1] = fmax(widths[1], carm_probe_width(0.1 * ticks));
    }
    assert_near(ratios[0] * tsc.tsc_hz / tsc.core_hz, 1.0, 0.3);
    assert_true(ratios[1] > 1.2 * ratios[0] && ratios[1] < 2.0 * ratios[0]);
    assert_near(ratios[2] / ratios[0], 2.0, 0.4);
    assert_true(widths[1] > 1.02 * widths[0] && widths[1] < 1.5 * widths[0]);
    assert_in_range(widths[0] / ratios[0], 1, 15); /* slots a cycle */
}

/* The eighth number of the team's processors 0 and 9; neither the sum of all nor what follows the processors. */
TEST(time_that_the_hypervisor_took)
{
    static char stat[] = "cpu  0 2 3 4 5 6 7 991 9 10\ncpu0 1 2 3 4 5 6 7 80 9 10\n"
                         "cpu1 1 2 3 4 5 6 7 900 9 10\ncpu9 1 2 3 4 5 6 7 11 9 10\n"
                         "intr 8\ncpu0 1 2 3 4 5 6 7 5000 9 10\n";
    FILE *f = fmemopen(stat, sizeof stat - 1, "r");
    assert_non_null(f);
    fill();
    fake.workers[0].pu = 0;
    fake.workers[1].pu = 9;
    assert_near(carm_times_stolen(&fake.team, f), 91.0, 0.0);
    (void)fclose(f);
}

RUN_TESTS(set_up, NULL)
