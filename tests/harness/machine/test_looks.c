/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs by looks at the core that the tests give: the functions that read clock and width stand here. Codes only pass a
 * planted time. So what a run does about its looks has a known answer. */
#include <dlfcn.h>
#include <sched.h>
#include <time.h>
#include <unistd.h>

#include "harness/machine/measure.h"
#include "harness/machine/times.h"
#include "tests/harness/machine/machine.h"

enum { LOOKS_MOST = 512 };

static struct {
    double ratios[LOOKS_MOST],
        widths[LOOKS_MOST];         /* of the looks of all threads in turn; 0 = 1.0 and 4.0 */
    atomic_size_t nratios, nwidths; /* looks so far */
    double seconds;                 /* of one look */
} fake;

static void pass_time(double seconds)
{
    const uint64_t until = carm_clock_now() + (uint64_t)(seconds * tsc.tsc_hz);
    while (carm_clock_now() < until) {
    }
}

double carm_clock_ratio(double overhead, int imul_cycles)
{
    const size_t i = atomic_fetch_add(&fake.nratios, 1);
    pass_time(fake.seconds);
    return i < LOOKS_MOST && fake.ratios[i] > 0.0 ? fake.ratios[i] : 1.0;
}

double carm_probe_width(double overhead)
{
    const size_t i = atomic_fetch_add(&fake.nwidths, 1);
    return i < LOOKS_MOST && fake.widths[i] > 0.0 ? fake.widths[i] : 4.0;
}

static void clear(void)
{
    memset(&fake, 0, sizeof fake);
}

static struct carm_team *called;
static size_t calls;

static void do_nothing(void *window, uint64_t iterations, uint64_t passes, uint64_t extra)
{
    calls++;
}

static struct carm_code code = {.account = {.fp_instructions = 1, .flops = 2}, .run = do_nothing};
static const struct carm_shape once = {.iterations = 1, .passes = 1, .windows = 1};

/* A team of one whose core is known to be so many slots wide, with a code that does nothing. */
static struct carm_worker *one_of_width(double width, size_t reps)
{
    called = open_team(1, MIB, reps);
    struct carm_worker *w = &called->workers[0];
    for (int i = 0; i < 1000; i++) {
        carm_widths_add(&w->seen_alone, width);
    }
    code.run = do_nothing;
    clear();
    return w;
}

static struct carm_measurement run(size_t reps, double patience)
{
    struct carm_measurement m;
    called->patience_seconds = patience;
    carm_measure_run(called, &code, &once, reps, &m);
    return m;
}

/* A width is of the highest clock among a look's own reading and the eight places before it; the place before the first
 * block has two looks. The look after a block stands for the one before the next block. */
TEST(widths_are_of_the_highest_clock)
{
    called = open_team(1, MIB, 192);
    struct carm_worker *w = &called->workers[0];
    code.run = do_nothing;
    clear();
    for (size_t i = 0; i < LOOKS_MOST; i++) {
        fake.ratios[i] = i == 0 ? 1.0 : i == 1 ? 3.0 : 1.5;
        fake.widths[i] = 6.0;
    }
    const struct carm_measurement m = run(192, 0.0);
    static const double wanted[] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 4, 4, 4}; /* the places' */
    for (size_t i = 0; i < 12; i++) {
        assert_near(w->widths[i], wanted[i], 1e-12);
    }
    assert_int_equal(fake.nwidths, 8);
    assert_int_equal(w->seen_alone.n, 8);
    assert_int_equal(w->seen_alone.seen[6 * CARM_WIDTH_BINS_EACH], 1);
    assert_int_equal(w->seen_alone.seen[2 * CARM_WIDTH_BINS_EACH], 5);
    assert_int_equal(w->seen_alone.seen[4 * CARM_WIDTH_BINS_EACH], 2);
    assert_near(m.own_share, 1.0, 0.0); /* as long as the width is not known */
    assert_int_equal(m.seconds.n, 192);
    /* a later run begins anew */
    clear();
    fake.widths[0] = fake.widths[1] = 3.0;
    (void)run(32, 0.0);
    assert_near(w->widths[0], 3.0, 1e-12);
    assert_near(w->widths[1], 4.0, 1e-12);
    assert_int_equal(fake.nratios, 3);
    /* a clock that rises with each look: the two before the first block count as one */
    clear();
    for (size_t i = 0; i < LOOKS_MOST; i++) {
        fake.ratios[i] = 1.0 + 0.01 * (double)i;
    }
    (void)run(128, 0.0);
    static const double rising[] = {1.01, 1.02, 1.02, 1.03, 1.03, 1.04, 1.04, 1.05};
    /* the mean of the middle half of up to nine neighbours */
    const double smoothed[] = {3.07 / 3, 1.025, 1.028, 1.032, 1.032, 1.032, 1.035, 3.11 / 3};
    for (size_t i = 0; i < 8; i++) {
        assert_near(w->ratios[i], smoothed[i], 1e-12);
        assert_near(w->widths[i], 4.0 / rising[i], 1e-12);
    }
}

/* Nine looks at a shared core, then the core is the thread's own: a patient run waits for it, another one does not. */
TEST(patient_runs_wait_for_the_core)
{
    for (int patient = 0; patient < 2; patient++) {
        (void)one_of_width(4.02, 64);
        for (size_t i = 0; i < 9; i++) {
            fake.widths[i] = 2.0;
        }
        const struct carm_measurement m = run(64, patient ? 10.0 : 0.0);
        assert_int_equal(fake.nwidths, patient ? 12 : 4);
        assert_int_equal(m.seconds.n, 64);
        assert_near(m.own_share, patient ? 1.0 : 0.0, 0.0);
        assert_true(m.width_share < 1.0 && m.width_share > (patient ? 0.99 : 0.49));
        close_opened();
    }
}

/* Nine tenths of the full width, 0.5625 of 0.625, are a core of one's own: nothing is waited for. */
TEST(nine_tenths_are_enough)
{
    (void)one_of_width(0.62, 64);
    for (size_t i = 0; i < LOOKS_MOST; i++) {
        fake.widths[i] = 0.5625;
    }
    const struct carm_measurement m = run(64, 10.0);
    assert_int_equal(fake.nwidths, 4);
    assert_near(m.own_share, 1.0, 0.0);
    assert_near(m.width_share, 0.9, 1e-12);
}

static const char
    *stat_lines[2]; /* what /proc/stat says before and after a run; NULL = the kernel's own */
static size_t stats_read;

/* In place of the library's. */
FILE *fopen(const char *path, const char *mode)
{
    static FILE *(*real)(const char *, const char *);
    void *const found = real ? NULL : dlsym(RTLD_NEXT, "fopen");
    if (found) {
        memcpy(&real, &found, sizeof real);
    }
    if (stat_lines[0] && strcmp(path, "/proc/stat") == 0) {
        const char *text = stat_lines[stats_read++ % 2];
        return fmemopen((void *)(uintptr_t)text, strlen(text), mode);
    }
    return real(path, mode);
}

static void take_5_ms(void *window, uint64_t iterations, uint64_t passes, uint64_t extra)
{
    pass_time(5e-3);
}

/* Half a second of stolen time, 50 ticks of the kernel, beside repetitions of a quarter of one; nothing is known of so
 * few repetitions that a tick of 10 ms is too long for them. */
TEST(stolen_time_has_a_share)
{
    for (int few = 0; few < 2; few++) {
        char lines[2][64];
        (void)one_of_width(4.02, 64);
        code.run = take_5_ms;
        for (int i = 0; i < 2; i++) {
            (void)snprintf(lines[i], sizeof lines[i], "cpu 0\ncpu%d 1 2 3 4 5 6 7 %d 9 10\n",
                           topo->order[0], i ? 1070 : 1020);
            stat_lines[i] = lines[i];
        }
        stats_read = 0;
        const double begin = (double)carm_clock_now();
        const struct carm_measurement m = run(few ? 5 : 50, 0.0);
        const double wall = ((double)carm_clock_now() - begin) / tsc.tsc_hz;
        stat_lines[0] = NULL;
        assert_int_equal(stats_read, 2);
        const double taken = 50.0 / (double)sysconf(_SC_CLK_TCK);
        if (!few) {
            assert_true(m.steal_share >= taken / wall &&
                        m.steal_share <= taken / 0.25 * (1.0 + 1e-9));
            assert_int_equal(m.disturbance == CARM_STOLEN || m.disturbance == CARM_PREEMPTED, 1);
        } else if (wall < 0.2) {
            assert_near(m.steal_share, 0.0, 0.0);
        }
        close_opened();
    }
}

/* Shared again after each block: no block counts as own, and a patient run does twice as many repetitions as are wanted,
 * or as the team has room for. */
TEST(patient_runs_are_longer)
{
    static const size_t room[] = {200, 128, 127, 100, 64};
    for (size_t k = 0; k < sizeof room / sizeof *room; k++) {
        (void)one_of_width(4.02, room[k]);
        for (size_t i = 2; i < LOOKS_MOST; i += 2) {
            fake.widths[i] = 2.0;
        }
        const struct carm_measurement m = run(64, 10.0);
        assert_int_equal(m.seconds.n, room[k] < 128 ? room[k] : 128);
        assert_near(m.own_share, 0.0, 0.0);
        close_opened();
    }
    (void)one_of_width(4.02, 200);
    fake.widths[3] = 2.0; /* after the second of the blocks, which does not count, nor the third */
    const struct carm_measurement m = run(64, 10.0);
    assert_int_equal(m.seconds.n, 64);
    assert_int_equal(fake.nwidths, 6); /* before, after three blocks, and one that is waited for */
    assert_near(m.own_share, 2.0 / 3.0, 1e-12);
}

/* A patience of 2 ms are 200 looks of up to 10 us, or 18 of 100 us; then an eighth of the repetitions is enough, in whole
 * blocks of 32. The most of some tries counts, as a busy machine lengthens looks. */
TEST(patience_ends)
{
    static const struct {
        double seconds;
        size_t least, most;
    } rows[] = {{0.0, 110, 200}, {100e-6, 12, 19}};
    for (size_t k = 0; k < 2; k++) {
        size_t waits = 0;
        (void)one_of_width(4.02, 1024);
        for (int i = 0; i < 40 && waits < rows[k].least; i++) {
            clear();
            fake.seconds = rows[k].seconds;
            for (size_t n = 0; n < LOOKS_MOST; n++) {
                fake.widths[n] = 2.0;
            }
            const struct carm_measurement m = run(512, 2e-3);
            assert_int_equal(m.seconds.n, 64);
            assert_near(m.own_share, 0.0, 0.0);
            const size_t all = fake.nwidths;
            assert_int_equal(run(256, 1e-4).seconds.n, 32);
            assert_int_equal(run(288, 1e-4).seconds.n, 64);
            waits = all - 4 > waits ? all - 4 : waits;
        }
        assert_in_range(waits, rows[k].least, rows[k].most);
        close_opened();
    }
}

static volatile sig_atomic_t stop;
static size_t stop_at;

static void stop_later(void *window, uint64_t iterations, uint64_t passes, uint64_t extra)
{
    pass_time(1e-6);
    stop = fake.nwidths >= stop_at; /* looks: two before the first block, one after each */
}

/* A run that the deadline ended is cut where it has less than an eighth of its repetitions, or no look after the first
 * block. */
TEST(enough_repetitions_are_no_cut)
{
    static const struct {
        size_t reps, looks, least, most;
        bool cut;
    } rows[] = {{1024, 6, 128, 128, false}, /* four blocks */
                {1024, 5, 96, 96, true},
                {64, 3, 32, 32, false},
                {64, 2, 1, 31, true},
                {64, 99, 64, 64, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        (void)one_of_width(4.02, 1024);
        code.run = stop_later;
        stop_at = rows[i].looks;
        stop = 0;
        called->deadline.stop = &stop;
        const struct carm_measurement m = run(rows[i].reps, 0.0);
        assert_in_range(m.seconds.n, rows[i].least, rows[i].most);
        assert_int_equal(m.cut, rows[i].cut);
        close_opened();
    }
}

/* A code whose repetitions end on another processor than they began on. */
static void wander(void *window, uint64_t iterations, uint64_t passes, uint64_t extra)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((unsigned)topo->order[topo->pus - 1], &set);
    (void)sched_setaffinity(0, sizeof set, &set);
}

TEST(threads_that_move_are_counted)
{
    skip_if(topo->pus < 2, "no two hardware threads");
    (void)one_of_width(4.02, 64);
    code.run = wander;
    const struct carm_measurement m = run(40, 0.0);
    assert_int_equal(m.migrations, 40);
    assert_int_equal(m.disturbance, CARM_MIGRATED);
}

/* Of three readings each, the highest width and the highest clock; nine tenths of the full width are a core of one's
 * own. */
TEST(a_look_alone_takes_the_highest)
{
    static const double full[] = {4.42, 4.47};
    for (size_t k = 0; k < 2; k++) {
        struct carm_worker *w = one_of_width(full[k], 64);
        const double widths[] = {1.0, 6.0, 2.0}, ratios[] = {0.5, 1.5, 1.0};
        memcpy(fake.widths, widths, sizeof widths);
        memcpy(fake.ratios, ratios, sizeof ratios);
        assert_int_equal(carm_measure_own_alone(called), k == 0);
        assert_near(w->widths[0], 4.0, 1e-12);
        assert_int_equal(fake.nwidths, 3);
        assert_int_equal(w->seen_alone.n, 1001);
        close_opened();
    }
}

TEST(a_narrow_look_is_one)
{
    struct carm_worker *w = one_of_width(4.02, 64);
    const double widths[] = {0.3, 0.75, 0.5}, ratios[] = {0.25, 0.5, 0.125};
    memcpy(fake.widths, widths, sizeof widths);
    memcpy(fake.ratios, ratios, sizeof ratios);
    assert_int_equal(carm_measure_own_alone(called), 0);
    assert_near(w->widths[0], 1.5, 1e-12);
    close_opened();
    (void)one_of_width(0.62, 64);
    fake.widths[0] = fake.widths[1] = fake.widths[2] = 0.5625; /* nine tenths of 0.625 */
    assert_int_equal(carm_measure_own_alone(called), 1);
}

TEST(watching_lasts_as_long_as_asked_for)
{
    struct carm_worker *w = one_of_width(4.02, 64);
    const double begin = (double)carm_clock_now();
    carm_measure_watch(called, 0.02);
    assert_true((double)carm_clock_now() - begin >= 0.02 * tsc.tsc_hz);
    assert_in_range(fake.nwidths, 3, 3 * 20); /* a look each millisecond at most */
    assert_int_equal(w->seen_alone.n, 1000 + fake.nwidths / 3);
    for (int i = 0; i < 40 && fake.nwidths < 6;
         i++) { /* and looks follow, where the machine is not busy */
        clear();
        carm_measure_watch(called, 0.02);
    }
    assert_true(fake.nwidths >= 6);
    clear();
    called->deadline.tsc = 1;
    carm_measure_watch(called, 10.0);
    assert_int_equal(fake.nwidths, 0);
}

/* The empty code takes 30, 10, 20 us in attempts that are disturbed, which end with the third; the least counts. */
static void by_attempt(void *window, uint64_t iterations, uint64_t passes, uint64_t extra)
{
    static const double seconds[] = {30e-6, 10e-6, 20e-6, 5e-6};
    const size_t attempt = fake.nwidths / 3; /* looks: two before the block, one after it */
    pass_time(seconds[attempt < 3 ? attempt : 3]);
}

TEST(the_least_of_three_calibrations_counts)
{
    for (int shared = 0; shared < 2; shared++) {
        (void)one_of_width(4.02, 32);
        for (size_t i = 0; i < LOOKS_MOST; i++) {
            fake.widths[i] = shared ? 2.0 : 4.0;
        }
        code.run = by_attempt;
        called->patience_seconds = 0.0;
        called->overhead.together = 1.0;
        carm_measure_calibrate(called, &code);
        const double wanted = shared ? 10e-6 : 30e-6;
        assert_true(called->overhead.together > wanted && called->overhead.together < 1.5 * wanted);
        assert_near(called->overhead.each, called->overhead.together, 0.0);
        assert_int_equal(fake.nwidths, shared ? 9 : 3);
        close_opened();
    }
}

/* The empty code has 2048 repetitions, or as many as the team has room for. */
static size_t slow_each = 1;

static void count_slowly(void *window, uint64_t iterations, uint64_t passes, uint64_t extra)
{
    pass_time(calls++ % slow_each == 0 ? 110e-6 : 0.0); /* one call warms */
    assert_int_equal(passes, 1);
}

TEST(repetitions_of_a_calibration)
{
    static const size_t room[][2] = {{100, 100}, {2100, 2048}};
    for (size_t i = 0; i < 2; i++) {
        (void)one_of_width(4.02, room[i][0]);
        code.run = count_slowly;
        calls = 0;
        slow_each = room[i][1] + 1;
        called->patience_seconds = 0.0;
        carm_measure_calibrate(called, &code);
        assert_true(calls > 0 && calls % slow_each == 0); /* of each attempt */
        slow_each = 1;
        close_opened();
    }
}

static char *lowest, *highest;

static void note_window(void *window, uint64_t iterations, uint64_t passes, uint64_t extra)
{
    count_slowly(window, iterations, passes, extra);
    lowest = calls == 1 || (char *)window < lowest ? window : lowest;
    highest = calls == 1 || (char *)window > highest ? window : highest;
}

/* A set of up to twice the largest cache, or 128 MiB, is called once before the repetitions; of a stride, in as many laps;
 * lines at random are read instead. A larger set goes on at its cursor. */
TEST(sets_that_fit_are_warmed)
{
    enum { REPS = 8, WINDOWS = 4 };
    static const struct {
        uint64_t set, largest; /* of a cache */
        unsigned stride;
        enum carm_kind kind;
        size_t warm;
    } rows[] = {{128 * MIB, MIB, 1, CARM_KIND_A, WINDOWS},
                {128 * MIB + 4096, MIB, 1, CARM_KIND_A, 1},
                {128 * MIB + 4096, 64 * MIB + 2048, 1, CARM_KIND_A, WINDOWS},
                {MIB, MIB, 8, CARM_KIND_A, 8 * WINDOWS},
                {MIB, MIB, 2, CARM_KIND_A, 2 * WINDOWS},
                {128 * MIB, MIB, 1, CARM_KIND_R, 1}};
    struct carm_topo other = *topo;
    other.ncaches = 1;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_measurement m;
        struct carm_code of = code;
        (void)one_of_width(4.02, REPS);
        const uint64_t each = rows[i].set / WINDOWS;
        const struct carm_shape shape = {.iterations = 1,
                                         .passes = 1,
                                         .windows = rows[i].kind == CARM_KIND_R ? 1 : WINDOWS,
                                         .window_bytes =
                                             rows[i].kind == CARM_KIND_R ? rows[i].set : each};
        of.spec.kind = rows[i].kind;
        of.spec.stride = rows[i].stride;
        of.run = count_slowly;
        other.caches[0].size_bytes = rows[i].largest;
        called->topo = &other;
        carm_buffer_close(&called->workers[0].buffer);
        assert_ok(carm_buffer_open(&called->workers[0].buffer, rows[i].set, &err));
        calls = 0;
        called->patience_seconds = 0.0;
        carm_measure_run(called, &of, &shape, REPS, &m);
        fail_if(calls != rows[i].warm + REPS, "row %zu: %zu calls", i, calls);
        called->topo = topo;
        close_opened();
    }
}

static uint64_t called_at[4];

static void note_time(void *window, uint64_t iterations, uint64_t passes, uint64_t extra)
{
    called_at[calls++ % 4] = carm_clock_now();
}

/* The core's clock has 100 us to settle before the first of four repetitions. */
TEST(a_core_warms_up)
{
    for (int i = 0; i < 20; i++) {
        (void)one_of_width(4.02, 4);
        code.run = note_time;
        calls = 0;
        const uint64_t begin = carm_clock_now();
        (void)run(4, 0.0);
        assert_true((double)(called_at[calls % 4] - begin) >= 99e-6 * tsc.tsc_hz);
        close_opened();
    }
}

/* Small sets lie at the thread's place where they fit behind it. */
TEST(sets_lie_at_their_place)
{
    static const struct {
        uint64_t place, set, at;
    } rows[] = {{6 * MIB, 2 * MIB, 6 * MIB}, {6 * MIB, 2 * MIB + 128, 0}, {0, 8 * MIB, 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_measurement m;
        struct carm_worker *w = one_of_width(4.02, 8);
        const struct carm_shape shape = {
            .iterations = 1, .passes = 1, .windows = 2, .window_bytes = rows[i].set / 2};
        carm_buffer_close(&w->buffer);
        assert_ok(carm_buffer_open(&w->buffer, 8 * MIB, &err));
        carm_team_touch(called, 8 * MIB);
        w->place = rows[i].place;
        code.run = note_window;
        calls = 0;
        carm_measure_run(called, &code, &shape, 8, &m);
        assert_int_equal(lowest - (char *)w->buffer.start, rows[i].at);
        assert_int_equal(highest - lowest, rows[i].set / 2);
        close_opened();
    }
}

/* 50 ns for each iteration. */
static void by_iterations(void *window, uint64_t iterations, uint64_t passes, uint64_t extra)
{
    pass_time(50e-9 * (double)(iterations * passes));
}

/* A repetition takes the target's time: by iterations, by passes over a set of 1024 iterations, by windows of it. */
TEST(shapes_take_the_target)
{
    static const struct {
        uint64_t stride, set;
        double target;
        uint64_t iterations, passes, windows, spare; /* of iterations or windows: */
    } rows[] = {{0, 0, 40e-6, 800, 1, 1, 200},
                {64, 65536, 180e-6, 1024, 4, 1, 0},
                {64, 65536, 10e-6, 170, 1, 6, 60}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_shape s;
        (void)one_of_width(4.02, 256);
        code.run = by_iterations;
        code.account.stride_bytes = (unsigned)rows[i].stride;
        called->patience_seconds = 0.5;
        carm_measure_shape(called, &code, rows[i].set, rows[i].target, &s);
        assert_near(called->patience_seconds, 0.5, 0.0);
        assert_near((double)s.iterations, (double)rows[i].iterations, (double)rows[i].spare);
        assert_int_equal(s.passes, rows[i].passes);
        assert_in_range(s.windows, rows[i].windows - (rows[i].spare == 60), rows[i].windows + 2);
        assert_int_equal(s.window_bytes, s.iterations * rows[i].stride);
        code.account.stride_bytes = 0;
        close_opened();
    }
}

/* Thread 0 is fastest on its second page, thread 1 on its third; other pages of theirs take longer. */
static void by_page(void *window, uint64_t iterations, uint64_t passes, uint64_t extra)
{
    size_t best[] = {1, 2};
    for (int i = 0; i < 2; i++) {
        const struct carm_buffer *b = &called->workers[i].buffer;
        const size_t at = (size_t)((char *)window - (char *)b->start);
        if ((char *)window >= (char *)b->start && at < b->bytes) {
            pass_time(at / (2 * MIB) == best[i] ? 4e-6 : 6e-6);
        }
    }
}

static struct carm_team *team_of_two(struct carm_topo *two, size_t bytes, size_t reps)
{
    struct carm_team *team = NULL;
    *two = *topo;
    two->cores = 2; /* hardware threads of one core pass for cores */
    assert_ok(carm_team_open(&team, two, &tsc, 2, bytes, reps, &err));
    return closed_later(by_carm_team_close, team);
}

static void by_thread(void *window, uint64_t iterations, uint64_t passes, uint64_t extra)
{
    const struct carm_buffer *b = &called->workers[0].buffer;
    const bool first =
        (char *)window >= (char *)b->start && (char *)window < (char *)b->start + b->bytes;
    pass_time(first ? 30e-6 : 60e-6);
}

/* Threads of 30 and 60 us: 60 from the first start to the last end, and 40 by the sum of their rates. A restless host lengthens
 * all repetitions of a calibration, so the shortest of several counts. */
TEST(a_calibration_has_both_times)
{
    static struct carm_topo two;
    skip_if(topo->pus < 2, "no two hardware threads");
    called = team_of_two(&two, 2 * MIB, 96);
    clear();
    code.run = by_thread;
    double together = INFINITY, each = INFINITY;
    for (int i = 0; i < 5; i++) {
        carm_measure_calibrate(called, &code);
        together = fmin(together, called->overhead.together);
        each = fmin(each, called->overhead.each);
    }
    assert_near(together, 60e-6, 6e-6);
    assert_near(each, 40e-6, 4e-6);
    assert_false(called->separate);
}

TEST(each_thread_has_its_best_place)
{
    static struct carm_topo two;
    skip_if(topo->pus < 2, "no two hardware threads");
    called = team_of_two(&two, 8 * MIB, 96);
    clear();
    code.run = by_page;
    code.account.stride_bytes = 64;
    carm_measure_place(called, &code, 32 << 10, 3);
    assert_int_equal(called->workers[0].place, 2 * MIB);
    assert_int_equal(called->workers[1].place, 4 * MIB);
    assert_false(called->separate);
    code.account.stride_bytes = 0;
}

static double of_page[8]; /* seconds of the pages in turn */
static bool on_page[8];

static void by_planted_page(void *window, uint64_t iterations, uint64_t passes, uint64_t extra)
{
    const size_t page =
        (size_t)((char *)window - (char *)called->workers[0].buffer.start) / (2 * MIB);
    calls++;
    assert_in_range(page, 0, 7);
    on_page[page] = true;
    pass_time(of_page[page]);
}

/* Another page must be faster by 1%; pages beyond the buffer are not tried. */
TEST(a_place_is_clearly_faster)
{
    static const struct {
        double seconds[4];
        size_t places, best;
    } rows[] = {{{60e-6, 59.7e-6, 59.7e-6, 59.7e-6}, 4, 0},
                {{60e-6, 58e-6, 57.8e-6, 60e-6}, 4, 1},
                {{60e-6, 58e-6, 60e-6, 40e-6}, 9, 3},
                {{60e-6, 58e-6, 60e-6, 40e-6}, 3, 1}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        (void)one_of_width(4.02, 96);
        code.run = by_planted_page;
        code.account.stride_bytes = 64;
        memset(on_page, 0, sizeof on_page);
        for (size_t k = 0; k < 8; k++) {
            of_page[k] = k < 4 ? rows[i].seconds[k] : 1e-6;
        }
        struct carm_buffer *b = &called->workers[0].buffer;
        carm_buffer_close(b);
        assert_ok(carm_buffer_open(b, 8 * MIB, &err));
        carm_measure_place(called, &code, 32 << 10, rows[i].places);
        assert_int_equal(called->workers[0].place, rows[i].best * 2 * MIB);
        for (size_t k = 0; k < 8; k++) {
            assert_int_equal(on_page[k], k < 4 && k < rows[i].places);
        }
        called->deadline.tsc = 1; /* long ago: nothing is known of any page */
        carm_measure_place(called, &code, 32 << 10, rows[i].places);
        assert_int_equal(called->workers[0].place, 0);
        code.account.stride_bytes = 0;
        close_opened();
    }
}

/* Nothing is tried with a set larger than a page, one page, or a team of too few repetitions. */
TEST(places_need_room)
{
    static const struct {
        size_t room, reps, places;
        uint64_t set;
    } rows[] = {{8 * MIB, 96, 4, (2 * MIB) + 1},
                {2 * MIB, 96, 4, MIB},
                {8 * MIB, 96, 1, MIB},
                {8 * MIB, 95, 4, MIB}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        called = open_team(1, rows[i].room, rows[i].reps);
        code.run = do_nothing;
        calls = 0;
        called->workers[0].place = 7;
        carm_measure_place(called, &code, rows[i].set, rows[i].places);
        assert_int_equal(calls, 0);
        assert_int_equal(called->workers[0].place, 7);
        close_opened();
    }
    called = open_team(1, 8 * MIB, 96);
    carm_measure_place(called, &code, 2 * MIB, 2);
    assert_true(calls > 0);
}

enum { LINES = 500 };

static struct {
    uint64_t arrived[2][LINES], left[2][LINES], start[2][LINES];
    bool passed[2][LINES];
} lines;

static void leave(struct carm_worker *w, void *arg)
{
    for (size_t r = 0; r < LINES; r++) {
        lines.arrived[w->index][r] = carm_clock_start();
        lines.passed[w->index][r] = carm_team_line_wait(w->team, r);
        lines.left[w->index][r] = carm_clock_start();
        lines.start[w->index][r] = atomic_load(&w->team->start_tsc);
    }
}

/* Threads leave a start line at one instant: 1 us after the last has arrived, and 20 ns more for each. */
TEST(threads_leave_at_one_instant)
{
    static struct carm_topo two;
    skip_if(topo->pus < 2 || !tsc.synchronous, "no two hardware threads with synchronous clocks");
    struct carm_team *team = team_of_two(&two, MIB, 64);
    const double ahead = (1e-6 + 2 * 20e-9) * tsc.tsc_hz;
    double least = INFINITY;
    carm_team_line_reset(team);
    carm_team_run(team, leave, NULL);
    for (size_t r = 0; r < LINES; r++) {
        const uint64_t start = lines.start[0][r];
        const uint64_t a = lines.arrived[0][r], b = lines.arrived[1][r];
        assert_true(lines.passed[0][r] && lines.passed[1][r]);
        assert_int_equal(start, lines.start[1][r]);
        assert_true(lines.left[0][r] >= start && lines.left[1][r] >= start);
        least = fmin(least, (double)start - (double)(a > b ? a : b));
    }
    /* a core may read the counter before it has done what stands before: 1.5% were seen */
    assert_true(least > 0.95 * ahead && least < 1.5 * ahead);
    carm_team_line_reset(team);
    team->deadline.tsc = 1; /* long ago: nobody passes */
    carm_team_run(team, leave, NULL);
    assert_false(lines.passed[0][0] || lines.passed[1][0] || lines.passed[0][LINES - 1]);
}

static int set_up(void **state)
{
    topo = topo_of(NULL, NULL);
    return carm_clock_open(&tsc, &err);
}

RUN_TESTS(set_up, NULL)
