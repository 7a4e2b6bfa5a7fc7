/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rounds of one point by measurements that the tests give: states, spread, room for rounds, further rounds of doubtful
 * figures, faults. */
#include <sys/resource.h>
#include <time.h>

#include "tests/unit.h"
#include "validation/series.h"

enum { THREADS = 4 };

static struct carm_code code = {.account = {.stride_bytes = 64}};
static struct carm_code peak = {.spec = {.kind = CARM_KIND_B}};
static struct carm_topo topo = {.cores = THREADS};
static const struct carm_clock ticks = {.tsc_hz = 1e9};
static struct carm_worker workers[THREADS];
static struct carm_team team;

static struct {
    struct carm_measurement m; /* of the next round */
    double rates[64];          /* of the rounds in turn; 0 = of m */
    int alone; /* threads that have their core for themselves while the others sleep */
    double latency[THREADS]; /* of a cache line from the first thread */
    size_t runs, looks, alone_looks, reps;
    bool separate;
} fake;

/* In place of the library's: the time of all rounds. */
int clock_gettime(clockid_t clock, struct timespec *out)
{
    *out = (struct timespec){1767323045, 250000000};
    return 0;
}

void carm_measure_shape(struct carm_team *t, const struct carm_code *c, uint64_t set_bytes,
                        double target_seconds, struct carm_shape *shape)
{
    assert_near(target_seconds, 6e-6, 0.0);
    *shape = (struct carm_shape){.iterations = set_bytes / 64, .passes = 1, .windows = 1};
}

void carm_measure_run(struct carm_team *t, const struct carm_code *c,
                      const struct carm_shape *shape, size_t reps, struct carm_measurement *m)
{
    const double rate = fake.runs < 64 ? fake.rates[fake.runs] : 0.0;
    *m = fake.m;
    m->code = c;
    m->seconds.median = rate > 0.0 ? m->bytes / rate : m->seconds.median;
    m->seconds.n = m->seconds.n ? reps : 0;
    fake.separate = t->separate;
    fake.reps = reps;
    fake.runs++;
}

double carm_measure_rate(const struct carm_measurement *m, double work)
{
    return work / m->seconds.median;
}

int carm_measure_own_alone(struct carm_team *t)
{
    fake.alone_looks++;
    return fake.alone;
}

double carm_core_to_core_once(struct carm_team *t, int other)
{
    assert_in_range(other, 1, t->n - 1);
    fake.looks++;
    return fake.latency[other];
}

bool carm_team_shares(const struct carm_team *t)
{
    return t->n > t->topo->cores;
}

void carm_team_separate(struct carm_team *t, bool separate)
{
    t->separate = separate;
}

static struct carm_series s;

/* A quiet machine: a repetition of 1000 bytes and 10 flops takes 1 us, the fastest 0.8, the slowest 2. */
static void start(int threads, bool shared)
{
    memset(&fake, 0, sizeof fake);
    memset(workers, 0, sizeof workers);
    fake.m = (struct carm_measurement){
        .bytes = 1000,
        .flops = 10,
        .clock_hz = 3e9,
        .own_share = 1.0,
        .seconds = {
            .n = 1, .median = 1e-6, .min = 0.8e-6, .p5 = 0.9e-6, .p95 = 1.25e-6, .max = 2e-6}};
    for (int i = 0; i < THREADS; i++) {
        fake.latency[i] = 50e-9;
    }
    team = (struct carm_team){.n = threads, .topo = &topo, .workers = workers};
    carm_series_open(&s, &team, &code, 6400, 6e-6, shared);
    assert_int_equal(s.shape.iterations, 100);
}

static enum carm_state state_of_round(void)
{
    assert_true(carm_series_round(&s, &team, 16, NULL));
    return s.rounds[s.n - 1].state;
}

TEST(disturbances_become_states)
{
    static const struct {
        enum carm_disturbance disturbance;
        double own;
        int threads, cores, alone;
        enum carm_state state;
    } rows[] = {
        {CARM_UNDISTURBED, 1.0, 2, 2, 0, CARM_STATE_QUIET},
        {CARM_TOO_FAST, 1.0, 1, 2, 0, CARM_STATE_TOO_FAST},
        {CARM_MIGRATED, 0.5, 1, 2, 0, CARM_STATE_MIGRATED},
        {CARM_CLOCK_MOVED, 0.5, 1, 2, 0, CARM_STATE_UNSTEADY},
        {CARM_PREEMPTED, 0.5, 1, 2, 0, CARM_STATE_HELD_UP},
        {CARM_STOLEN, 0.5, 1, 2, 0, CARM_STATE_STOLEN},
        {CARM_UNEVEN, 0.5, 1, 2, 0, CARM_STATE_UNEVEN},
        {CARM_TOO_SHORT, 0.5, 1, 2, 0, CARM_STATE_UNTIMED},
        {CARM_CUT, 0.5, 1, 2, 0, CARM_STATE_CUT},
        {CARM_CUT, 0.0, 2, 2, 2, CARM_STATE_CUT},
        {CARM_TOO_FAST, 0.0, 2, 2, 2, CARM_STATE_TOO_FAST},
        {CARM_PREEMPTED, 0.0, 2, 2, 2, CARM_STATE_HELD_UP},
        {CARM_CORE_SHARED, 0.0, 1, 2, 1, CARM_STATE_SHARED},
        {CARM_CORE_SHARED, 0.0, 2, 2, 1, CARM_STATE_SHARED},   /* while one of them sleeps, too */
        {CARM_CORE_SHARED, 0.0, 2, 2, 2, CARM_STATE_ONE_CORE}, /* of the team's own threads */
        {CARM_MIGRATED, 0.0, 2, 2, 2, CARM_STATE_ONE_CORE},
        {CARM_CORE_SHARED, 0.0, 2, 1, 2, CARM_STATE_SHARED}, /* by design */
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        start(rows[i].threads, false);
        topo.cores = rows[i].cores;
        fake.m.disturbance = rows[i].disturbance;
        fake.m.own_share = rows[i].own;
        fake.m.cut = rows[i].disturbance == CARM_CUT;
        fake.alone = rows[i].alone;
        const enum carm_state found = state_of_round();
        fail_if(found != rows[i].state, "row %zu: %s", i, carm_state_name(found));
        assert_true(fake.separate);
        assert_false(team.separate);
        assert_near(s.rounds[0].rate, 1e9, 1e-3);
        assert_near(s.rounds[0].clock_hz, 3e9, 0.0);
    }
    topo.cores = THREADS;
}

/* Twelve rounds in which threads of the team itself shared a core make its resource a shared one; rounds on own cores
 * speak against it. */
TEST(paired_threads_share)
{
    for (int first = 0; first < 3;
         first++) { /* round: as the others, on own cores, held up (which says nothing) */
        start(4, false);
        fake.alone = 4;
        for (int i = 0; i < 13; i++) {
            fake.m.own_share = i == 0 && first == 1 ? 1.0 : 0.0;
            fake.m.disturbance = i == 0 && first == 2 ? CARM_PREEMPTED : CARM_UNDISTURBED;
            (void)state_of_round();
            assert_int_equal(s.shared, first != 1 && i >= 11 + first / 2);
        }
    }
    assert_near(s.rounds[0].at, 1767323045.25, 0.0);
    start(4, false);
    topo.cores = 3; /* by design: it says nothing of the host */
    for (int i = 0; i < 20; i++) {
        fake.m.own_share = 0.0;
        (void)state_of_round();
    }
    assert_false(s.shared);
    topo.cores = THREADS;
}

/* Shared levels: a round looks at one other thread in turn, and more than twice the least latency seen is apart. */
TEST(threads_that_are_apart)
{
    start(3, true);
    assert_int_equal(state_of_round(), CARM_STATE_QUIET); /* thread 1: 50 ns, the first look */
    assert_false(fake.separate);
    fake.latency[2] = 30e-9;
    assert_int_equal(state_of_round(), CARM_STATE_QUIET); /* thread 2 */
    fake.latency[1] = 100e-9;
    assert_int_equal(state_of_round(), CARM_STATE_QUIET); /* twice as much */
    fake.latency[2] = 61e-9;
    assert_int_equal(state_of_round(), CARM_STATE_APART);
    fake.latency[1] = 20e-9;
    assert_int_equal(state_of_round(), CARM_STATE_QUIET); /* nearer than ever */
    fake.latency[2] = 0.0;
    assert_int_equal(state_of_round(), CARM_STATE_QUIET); /* the deadline came between */
    fake.latency[1] = 41e-9;
    assert_int_equal(state_of_round(), CARM_STATE_APART);
    assert_int_equal(fake.looks, 7);
    start(1, true);
    assert_int_equal(state_of_round(), CARM_STATE_QUIET);
    start(2, true);
    assert_int_equal(state_of_round(), CARM_STATE_QUIET);
    fake.latency[1] = 101e-9;
    assert_int_equal(state_of_round(), CARM_STATE_APART);
    start(3, false);
    assert_int_equal(state_of_round(), CARM_STATE_QUIET);
    assert_int_equal(fake.looks, 0);
}

/* The spread of sound rounds, of unsound ones only where there are no others; the repetitions likewise. */
TEST(spread_of_sound_rounds)
{
    start(1, false);
    fake.m.disturbance = CARM_UNEVEN;
    (void)state_of_round();
    assert_near(s.spread.min, 0.5e9, 1.0);
    assert_near(s.spread.max, 1.25e9, 1.0);
    assert_int_equal(s.reps, 16);
    fake.m.disturbance = CARM_UNDISTURBED;
    fake.m.seconds.max = 4e-6;
    fake.m.seconds.min = 1e-6;
    (void)state_of_round(); /* the first sound one replaces it */
    assert_near(s.spread.min, 0.25e9, 1.0);
    assert_near(s.spread.max, 1e9, 1.0);
    assert_near(s.spread.p5, 0.8e9, 1.0);
    assert_near(s.spread.p95, 1e9 / 0.9, 1.0);
    assert_int_equal(s.reps, 16);
    fake.m.seconds.max = 2e-6; /* not as slow, not as fast */
    fake.m.seconds.min = 2e-6;
    fake.m.seconds.p5 = 0.45e-6;
    fake.m.seconds.p95 = 2.5e-6;
    (void)state_of_round();
    (void)state_of_round();
    assert_near(s.spread.min, 0.25e9, 1.0);
    assert_near(s.spread.max, 1e9, 1.0);
    assert_near(s.spread.p5, (0.8e9 + 2 * 0.4e9) / 3, 1.0); /* the means */
    assert_near(s.spread.p95, (1e9 / 0.9 + 2 * 1e9 / 0.45) / 3, 1.0);
    assert_int_equal(s.reps, 48);
    const struct carm_spread before = s.spread;
    fake.m.disturbance = CARM_UNEVEN;
    fake.m.seconds.max = 8e-6;
    (void)state_of_round();
    assert_memory_equal(&s.spread, &before, sizeof before);
    assert_int_equal(s.reps, 48);
    /* repetitions shorter than the empty code have the median's rate */
    start(1, false);
    fake.m.seconds.min = fake.m.seconds.p5 = 0.0;
    (void)state_of_round();
    assert_near(s.spread.max, 1e9, 1.0);
    assert_near(s.spread.p95, 1e9, 1.0);
    start(1, false);
    fake.m.seconds.min = -1e-7;
    (void)state_of_round();
    assert_near(s.spread.max, 1e9 / 0.9, 1.0);
}

/* A code without memory works in flops, one of lines at random in bytes; without a repetition there is no round. */
TEST(work_of_a_round)
{
    static struct carm_code random = {.spec = {.kind = CARM_KIND_R}};
    struct carm_measurement m;
    start(1, true);
    s.code = &random;
    assert_true(carm_series_round(&s, &team, 7, &m));
    assert_near(s.work, 1000.0, 0.0);
    assert_near(s.rounds[0].rate, 1e9, 1e-3);
    start(1, false);
    s.code = &peak;
    assert_true(carm_series_round(&s, &team, 7, &m));
    assert_near(s.work, 10.0, 0.0);
    assert_near(m.flops, 10.0, 0.0);
    assert_int_equal(fake.reps, 7);
    fake.m.seconds.n = 0;
    assert_false(carm_series_round(&s, &team, 7, NULL));
    assert_int_equal(s.n, 1);
}

/* Where there is no more room, the first round of the worst state goes. */
TEST(the_worst_round_makes_room)
{
    static const size_t uneven[] = {1, 40}, migrated[] = {17, 20, 90};
    start(1, false);
    for (size_t i = 0; i < CARM_ROUNDS_MAX; i++) {
        fake.rates[0] = 1e9 + (double)i;
        fake.runs = 0;
        (void)state_of_round();
    }
    for (size_t i = 0; i < 2; i++) {
        s.rounds[uneven[i]].state = CARM_STATE_UNEVEN;
    }
    for (size_t i = 0; i < 3; i++) {
        s.rounds[migrated[i]].state = CARM_STATE_MIGRATED;
    }
    static const size_t gone[] = {17, 20, 90, 1, 40, 0, 2};
    for (size_t k = 0; k < sizeof gone / sizeof *gone; k++) {
        fake.runs = 0;
        fake.rates[0] = 2e9;
        (void)state_of_round();
        assert_int_equal(s.n, CARM_ROUNDS_MAX);
        for (size_t i = 0; i + 1 + k < s.n; i++) {
            assert_true(fabs(s.rounds[i].rate - (1e9 + (double)gone[k])) > 0.5);
        }
        assert_near(s.rounds[s.n - 1].rate, 2e9, 1e-3);
        assert_near(s.rounds[s.n - 2].rate, k ? 2e9 : 1e9 + CARM_ROUNDS_MAX - 1, 1e-3);
    }
    assert_near(s.rounds[0].rate, 1e9 + 3, 1e-3);
}

/* Half an interval is at least the floor: half a quantum of the counter in a repetition over the root of the rounds, the
 * series' own, and the error of the counter's rate. */
TEST(figures_have_a_floor)
{
    static const struct {
        double quantum, floor, error, half;
    } rows[] = {{80.0, 0.0, 0.0, 0.5 * 80e-9 / 1e-6 / 2.0}, /* of four rounds of 1 us */
                {8.0, 0.005, 0.0, 0.005},
                {8.0, 0.005, 0.007, 0.007},
                {80.0, 0.005, 0.007, 0.02}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct carm_clock clock = {
            .tsc_hz = 1e9, .tick_quantum = rows[i].quantum, .tsc_hz_error = rows[i].error};
        struct carm_pooled p;
        start(1, true);
        s.floor = rows[i].floor;
        carm_series_estimate(&s, &clock, &p);
        assert_true(p.n == 0 && p.rate == 0.0);
        for (int k = 0; k < 4; k++) {
            (void)state_of_round();
        }
        carm_series_estimate(&s, &clock, &p);
        assert_near(p.rate, 1e9, 1e-3);
        assert_near((p.ci95.hi - p.ci95.lo) / 2e9, rows[i].half, 1e-9);
        s.work = 0.0; /* rounds of an earlier build alone */
        carm_series_estimate(&s, &clock, &p);
        assert_near((p.ci95.hi - p.ci95.lo) / 2e9, fmax(rows[i].floor, rows[i].error), 1e-9);
    }
}

/* Sound rounds with a clock, up to the most. */
TEST(clocks_of_sound_rounds)
{
    double clocks[6] = {1.0, 0.0, 0.0, 0.0, 0.0, 0.0};
    start(1, false);
    for (int i = 0; i < 8; i++) {
        fake.m.clock_hz = i == 2 ? 0.0 : 1e9 * (i + 1);
        fake.m.disturbance = i == 4 ? CARM_MIGRATED : CARM_UNDISTURBED;
        (void)state_of_round();
    }
    static const double wanted[] = {1.0, 1e9, 2e9, 4e9, 6e9, 0.0};
    assert_int_equal(carm_series_clocks(&s, clocks, 1, 5), 5);
    for (int i = 0; i < 6; i++) {
        assert_near(clocks[i], wanted[i], 0.0);
    }
}

/* 64 repetitions are 4 rounds of 16. Doubtful figures get up to as many rounds again while there is time. */
TEST(doubtful_figures_have_more_rounds)
{
    static const struct {
        bool steady;
        double seconds;
        size_t rounds;
    } rows[] = {{true, 5.0, 4}, {false, 5.0, 8}, {false, 0.0, 4}, {false, 1e-9, 5}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_pooled p;
        double more = rows[i].seconds;
        start(1, true);
        for (int k = 0; k < 64 && !rows[i].steady; k++) {
            fake.rates[k] = 1e9 * (1.0 + 0.1 * (k % 5)); /* of a shared level, in no order */
        }
        carm_series_run(&s, &team, &ticks, 64, &more, &p);
        assert_int_equal(s.n, rows[i].rounds);
        assert_int_equal(fake.reps, 16);
        assert_int_equal(p.n, s.n);
        assert_true(rows[i].rounds == 4 ? more == rows[i].seconds : more < rows[i].seconds);
    }
    struct carm_pooled p;
    double more = 5.0;
    start(1, true);
    fake.m.seconds.n = 0; /* the time is over */
    carm_series_run(&s, &team, &ticks, 64, &more, &p);
    assert_int_equal(fake.runs, 1);
    assert_near(p.rate, 0.0, 0.0);
}

/* 1% of what a core has for itself, 5% of what is shared, to each side of a sound figure; and faults from 3% and 10% on. */
TEST(wide_intervals_are_doubtful)
{
    static const struct {
        bool shared, sound;
        double half, slack;
        bool doubtful;
        const char *note;
    } rows[] = {{false, true, 0.0099, 1.0, false, ""},
                {false, true, 0.0101, 1.0, true, ""},
                {false, true, 0.0199, 2.0, false, ""},
                {false, true, 0.0201, 2.0, true, ""},
                {false, true, 0.0299, 1.0, true, ""},
                {false, true, 0.0301, 1.0, true, "its rounds differ by 7%"},
                {true, true, 0.0499, 1.0, false, ""},
                {true, true, 0.0501, 1.0, true, ""},
                {true, true, 0.0999, 1.0, true, ""},
                {true, true, 0.1001, 1.0, true, "its rounds differ by 7%"},
                {false, false, 0.0, 1.0, true, "fewer than 3 sound rounds of 9: "}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char note[CARM_TEXT_MAX] = "x";
        const struct carm_pooled p = {
            .rate = 200.0,
            .ci95 = {200.0 * (1.0 - 0.5 * rows[i].half), 200.0 * (1.0 + 1.5 * rows[i].half)},
            .range = {193.0, 207.0},
            .state = CARM_STATE_QUIET,
            .n = 9,
            .sound = rows[i].sound};
        start(1, rows[i].shared);
        fail_if(carm_series_is_doubtful(&s, &p, rows[i].slack) != rows[i].doubtful, "row %zu", i);
        assert_int_equal(carm_series_fault(&s, &p, note, sizeof note), *rows[i].note != '\0');
        fail_if(*rows[i].note ? strncmp(note, rows[i].note, strlen(rows[i].note)) != 0 : *note,
                "row %zu: %s", i, note);
    }
}

static int niceness;

/* In place of the library's. */
int getpriority(__priority_which_t which, id_t who)
{
    assert_true(which == PRIO_PROCESS && who == 0); /* of this process */
    return niceness;
}

/* What was seen, and the remedy of that; of sound rounds, that there were too few. */
TEST(faults_have_a_remedy)
{
    for (int k = 0; k < CARM_STATE_COUNT; k++) {
        const struct carm_pooled p = {.rate = 1.0, .n = 2, .state = (enum carm_state)k};
        char note[CARM_TEXT_MAX], wanted[CARM_TEXT_MAX];
        const char *advice =
            carm_state_is_sound(p.state) ? "give more with --budget" : carm_state_advice(p.state);
        start(1, false);
        assert_true(carm_series_fault(&s, &p, note, sizeof note));
        (void)snprintf(wanted, sizeof wanted, "fewer than 3 sound rounds of 2: %s%s%s",
                       carm_state_name(p.state), *advice ? "; " : "", advice);
        assert_string_equal(note, wanted);
        niceness = 1;
        assert_true(carm_series_fault(&s, &p, note, sizeof note));
        niceness = 0;
        assert_int_equal(strstr(note, "; carm runs with nice 1, so others go first: run it") !=
                             NULL,
                         k == CARM_STATE_HELD_UP);
        assert_true(k == CARM_STATE_HELD_UP || strcmp(note, wanted) == 0);
    }
}

/* Sixteen rounds from 4096 repetitions on, eight from 512 on, else four; each has its part of them, rounded up. */
TEST(repetitions_come_in_rounds)
{
    static const size_t rows[][3] = {
        {1, 4, 1},    {4, 4, 1},    {5, 4, 2},    {8, 4, 2},      {511, 4, 128},   {512, 8, 64},
        {513, 8, 65}, {520, 8, 65}, {521, 8, 66}, {4095, 8, 512}, {4096, 16, 256}, {4097, 16, 257}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t each = 0;
        assert_int_equal(carm_rounds_of(rows[i][0], &each), rows[i][1]);
        assert_int_equal(each, rows[i][2]);
    }
}

/* A round is compared with the nearest of the other code, within a second; both are sound. The median of three ratios or
 * more counts. */
TEST(ratios_are_of_rounds_side_by_side)
{
    static struct carm_series a, b;
    a = b = (struct carm_series){.n = 0};
    a.n = 6;
    b.n = 7;
    static const struct carm_round of_a[] = {
        {22, 1, 1000.0, CARM_STATE_QUIET},  {24, 1, 1010.0, CARM_STATE_QUIET},
        {26, 1, 1020.0, CARM_STATE_APART},  {90, 1, 1030.0, CARM_STATE_QUIET}, /* too far away */
        {95, 1, 1040.0, CARM_STATE_SHARED},                                    /* not sound */
        {96, 1, 1050.0, CARM_STATE_QUIET}};                                    /* nor is that */
    static const struct carm_round of_b[] = {
        {20, 1, 1000.9, CARM_STATE_QUIET},  {10, 1, 1009.6, CARM_STATE_QUIET},
        {20, 1, 1010.3, CARM_STATE_QUIET},  {20, 1, 1019.2, CARM_STATE_QUIET},
        {20, 1, 1031.01, CARM_STATE_QUIET}, {20, 1, 1040.1, CARM_STATE_QUIET},
        {20, 1, 1050.1, CARM_STATE_SHARED}};
    memcpy(a.rounds, of_a, sizeof of_a);
    memcpy(b.rounds, of_b, sizeof of_b);
    assert_near(carm_series_ratio(&a, &b), 1.2, 1e-12);
    a.rounds[0].rate = 28; /* 1.4, 1.2, 1.3 */
    assert_near(carm_series_ratio(&a, &b), 1.3, 1e-12);
    a.rounds[3].at = 1031.5; /* and 4.5 */
    assert_near(carm_series_ratio(&a, &b), 1.35, 1e-12);
    a.n = 2;
    assert_near(carm_series_ratio(&a, &b), 0.0, 0.0);
    a.n = 3;
    b.n = 0;
    assert_near(carm_series_ratio(&a, &b), 0.0, 0.0);
    b.n = 1; /* the first, for which one is beside */
    assert_near(carm_series_ratio(&a, &b), 0.0, 0.0);
}
