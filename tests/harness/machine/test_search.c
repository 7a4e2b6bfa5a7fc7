/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Searches and rounds on a fake machine: the functions of harness/machine/measure.h stand here, with a speed for each
 * code and working set, so that choices are checked by what they choose. */
#include "harness/machine/search.h"
#include "tests/unit.h"
#include "validation/series.h"

enum { CODES = 6 };

static struct carm_code codes[CODES];
static const struct carm_code *all[CODES];
static struct carm_clock ticks = {.tsc_hz = 2e9};
static struct carm_topo topo = {.cores = 1};
static struct carm_team team;

static struct {
    double rate[CODES];  /* bytes a second of each code */
    uint64_t best_set;   /* bytes: other sets are 30% slower */
    size_t unsound_from; /* runs of code 0 from this one on are unsound, and twice as fast */
    size_t runs[CODES];
    size_t dip; /* which run of code dip_of, from 1, is half as fast; 0 = none */
    size_t dip_of;
    size_t dip_from;     /* runs of code dip_of from this one on are half as fast; 0 = none */
    const double *drift; /* [5] of each code's runs; NULL = none */
    size_t noisy;        /* run in which codes from 3 on are unsound, and twice as fast; 0 = none */
    size_t reps, longest_reps, least_reps; /* of the first run, the most, and the fewest */
    size_t least_of_0;                     /* the fewest of code 0 */
    size_t together, apart; /* runs of a team that was not, and that was taken apart */
    bool over;
    size_t over_after;     /* runs of code 1 after which the time is over; 0 = never */
    bool bare;             /* codes have no memory: their rates are of flops */
    size_t windows[CODES]; /* bytes of each code's last working set */
    size_t laps[CODES];    /* iterations of its last shape, of all passes */
} fake;

static size_t index_of(const struct carm_code *code)
{
    return (size_t)(code - codes);
}

void carm_measure_shape(struct carm_team *t, const struct carm_code *code, uint64_t set_bytes,
                        double target_seconds, struct carm_shape *shape)
{
    *shape = (struct carm_shape){
        .iterations = set_bytes / 64, .passes = 2, .windows = 1, .window_bytes = set_bytes};
}

void carm_measure_run(struct carm_team *t, const struct carm_code *code,
                      const struct carm_shape *shape, size_t reps, struct carm_measurement *m)
{
    const size_t i = index_of(code);
    double rate = fake.rate[i];
    *m = (struct carm_measurement){
        .code = code, .shape = *shape, .disturbance = CARM_CUT, .cut = true};
    if (fake.over || (fake.over_after && fake.runs[1] >= fake.over_after)) {
        return;
    }
    fake.windows[i] = shape->window_bytes;
    fake.laps[i] = shape->iterations * shape->passes;
    if (fake.best_set && shape->window_bytes != fake.best_set) {
        rate *= 0.7;
    }
    bool unsound = i == 0 && fake.runs[0] >= fake.unsound_from;
    rate *= fake.drift && fake.runs[i] < 5 ? fake.drift[fake.runs[i]] : 1.0;
    fake.runs[i]++;
    unsound = unsound || (i >= CODES / 2 && fake.noisy && fake.runs[i] == fake.noisy);
    rate *= i == fake.dip_of && fake.dip_from && fake.runs[i] >= fake.dip_from ? 0.5 : 1.0;
    fake.reps = fake.reps ? fake.reps : reps;
    fake.longest_reps = reps > fake.longest_reps ? reps : fake.longest_reps;
    fake.least_reps = fake.runs[i] == 1 || reps < fake.least_reps ? reps : fake.least_reps;
    fake.least_of_0 =
        i == 0 && (fake.runs[0] == 1 || reps < fake.least_of_0) ? reps : fake.least_of_0;
    fake.apart += t->separate ? 1 : 0;
    fake.together += t->separate ? 0 : 1;
    rate *= i == fake.dip_of && fake.dip && fake.runs[i] == fake.dip ? 0.5 : 1.0;
    m->cut = false;
    m->disturbance = unsound ? CARM_CORE_SHARED : CARM_UNDISTURBED;
    m->own_share = unsound ? 0.0 : 1.0;
    const double work = (double)shape->window_bytes;
    m->bytes = fake.bare ? 0.0 : work;
    m->flops = fake.bare ? work : 0.0;
    const double s = work / (unsound ? 2.0 * rate : rate);
    m->seconds = (struct carm_stats){.n = reps,
                                     .median = s,
                                     .ci_lo = s,
                                     .ci_hi = s,
                                     .min = 0.5 * s,
                                     .p5 = 0.8 * s,
                                     .p95 = 1.25 * s,
                                     .max = 2.0 * s};
    m->cycles = s * 3e9;
    m->clock_hz = 3e9;
}

int carm_measure_own_alone(struct carm_team *t)
{
    return 0;
}

double carm_measure_rate(const struct carm_measurement *m, double work)
{
    return m->seconds.n > 0 ? work / m->seconds.median : 0.0;
}

static void start(void)
{
    memset(&fake, 0, sizeof fake);
    fake.unsound_from = SIZE_MAX;
    fake.dip_of = 1;
    team.n = 1;
    team.topo = &topo;
    team.clock = &ticks;
    team.max_reps = 2048;
    for (size_t i = 0; i < CODES; i++) {
        codes[i].account = (struct carm_account){.load_bytes = 64, .stride_bytes = 64};
        all[i] = &codes[i];
        fake.rate[i] = 1e9 * (double)(1 + (i * 5) % CODES); /* 1 6 5 4 3 2 */
    }
}

static const enum carm_search ways[] = {CARM_SEARCH_CORE, CARM_SEARCH_SHARED, CARM_SEARCH_MEMORY};

TEST(the_fastest_code_wins)
{
    for (size_t w = 0; w < 3; w++) {
        double rates[CODES];
        struct carm_shape shape;
        double rate = 0.0;
        start();
        assert_int_equal(carm_measure_best(&team, all, CODES, 4096, 6e-6, ways[w], rates), 1);
        assert_int_equal(carm_measure_rank(&team, all, CODES, 4096, 6e-6, ways[w], rates), 1);
        for (size_t i = 0; i < CODES; i++) {
            assert_near(rates[i] / rates[1], fake.rate[i] / fake.rate[1], 1e-9);
        }
        assert_int_equal(carm_measure_pick(&team, all, CODES, 4096, 6e-6, ways[w], &shape, &rate),
                         1);
        assert_near(rate, w == 0 ? 2.0 : 6e9, 1e-3);
    }
}

/* Each code is the fastest one once, with all others close behind it. */
TEST(wherever_the_fastest_code_is)
{
    for (size_t best = 0; best < CODES; best++) {
        struct carm_shape shape;
        double rates[CODES];
        start();
        for (size_t i = 0; i < CODES; i++) {
            fake.rate[i] = 6e9 - 1e7 * (double)((i + CODES - best) % CODES);
        }
        assert_int_equal(
            carm_measure_pick(&team, all, CODES, 4096, 6e-6, CARM_SEARCH_SHARED, &shape, NULL),
            best);
        assert_int_equal(fake.runs[best], 3); /* and goes on with the second and the third */
        assert_int_equal(fake.runs[(best + 1) % CODES], 3);
        assert_int_equal(fake.runs[(best + 2) % CODES], 3);
        assert_int_equal(fake.runs[(best + 3) % CODES], 1);
        start();
        for (size_t i = 0; i < CODES; i++) {
            fake.rate[i] = 6e9 - 1e7 * (double)((i + CODES - best) % CODES);
        }
        assert_int_equal(
            carm_measure_best(&team, all, CODES, 4096, 6e-6, CARM_SEARCH_SHARED, rates), best);
        assert_int_equal(fake.runs[(best + 2) % CODES], 10);
        assert_int_equal(fake.runs[(best + 3) % CODES], 5);
        assert_int_equal(carm_measure_rank(&team, all, CODES, 4096, 6e-6, CARM_SEARCH_CORE, rates),
                         best);
    }
}

/* One code has nothing to be compared with: the rate of its ranking stays. */
TEST(one_code_is_the_fastest)
{
    double rate = 0.0;
    double rates[CODES];
    start();
    fake.rate[1] = 9e9; /* values that a search leaves on the stack */
    carm_measure_best(&team, all, CODES, 4096, 6e-6, CARM_SEARCH_MEMORY, rates);
    start();
    assert_int_equal(carm_measure_best(&team, all + 1, 1, 4096, 6e-6, CARM_SEARCH_MEMORY, &rate),
                     0);
    assert_near(rate, 6e9, 1e-3);
    assert_int_equal(fake.runs[1], 5);
}

/* The first of the ranking is half as fast in the rounds of the finalists: the second one wins. */
TEST(the_last_rounds_decide)
{
    for (size_t w = 0; w < 3; w++) {
        double rates[CODES];
        start();
        (void)carm_measure_rank(&team, all, CODES, 4096, 6e-6, ways[w], rates);
        const size_t ranking = fake.runs[1];
        start();
        fake.dip_from = ranking + 1;
        assert_int_equal(carm_measure_best(&team, all, CODES, 4096, 6e-6, ways[w], rates), 2);
    }
}

TEST(the_faster_working_set_wins)
{
    static const uint64_t sets[] = {4096, 8192, 16384};
    for (size_t k = 0; k < 3; k++) {
        double rates[3] = {0.0};
        start();
        fake.best_set = sets[k];
        assert_int_equal(
            carm_measure_best_set(&team, all[1], sets, 3, 6e-6, CARM_SEARCH_MEMORY, rates), k);
        assert_near(rates[k], 6e9, 1e-3);
        assert_near(rates[(k + 1) % 3], 4.2e9, 1e-3);
    }
}

/* Codes that are far slower than the best one have no more looks, and keep the rate of those that they had. A dip of
 * one moment leaves a working set in the contest. */
TEST(the_hopeless_are_dropped)
{
    static const uint64_t sets[] = {4096, 8192, 16384};
    for (size_t k = 0; k < 4; k++) {
        const enum carm_search way = k % 2 ? CARM_SEARCH_SHARED : CARM_SEARCH_CORE;
        const double slow = k / 2 ? 1e-11 : 1.0; /* a divider has rates far below one in a cycle */
        struct carm_shape shape;
        double rates[CODES], rate = 0.0;
        start();
        for (size_t i = 0; i < CODES; i++) {
            fake.rate[i] *= slow;
        }
        carm_measure_rank(&team, all, CODES, 4096, 6e-6, way, rates);
        assert_int_equal(fake.runs[1], way == CARM_SEARCH_CORE ? 3 : 5);
        assert_int_equal(fake.runs[2], way == CARM_SEARCH_CORE ? 2 : 5); /* 5/6 */
        assert_int_equal(fake.runs[5], way == CARM_SEARCH_CORE ? 1 : 2); /* 2/6 */
        const double of_one = way == CARM_SEARCH_CORE ? 3e9 : 1.0;
        for (size_t i = 0; i < CODES; i++) {
            assert_near(rates[i] * of_one / fake.rate[i], 1.0, 1e-9);
        }
        assert_int_equal(carm_measure_pick(&team, all, CODES, 4096, 6e-6, way, &shape, &rate), 1);
        assert_near(rate * of_one / fake.rate[1], 1.0, 1e-9);
    }
    double rates[3];
    start();
    fake.best_set = 8192;
    fake.dip = 2; /* the best set's first look */
    assert_int_equal(carm_measure_best_set(&team, all[1], sets, 3, 6e-6, CARM_SEARCH_SHARED, rates),
                     1);
}

/* Runs without cores of their own do not make a code faster than its sound ones. */
TEST(sound_runs_decide)
{
    double rates[CODES];
    start();
    fake.rate[0] = 5.5e9;
    fake.unsound_from = 1;
    carm_measure_rank(&team, all, CODES, 4096, 6e-6, CARM_SEARCH_CORE, rates);
    assert_near(rates[0], 5.5 / 3.0, 1e-9);
}

/* The last level is memory, the one before it is shared, and where that is the first one its codes need no more than
 * the core's time. */
TEST(levels_have_their_search)
{
    static const enum carm_search of_four[] = {CARM_SEARCH_CORE, CARM_SEARCH_CORE,
                                               CARM_SEARCH_SHARED, CARM_SEARCH_MEMORY};
    static const double targets[] = {CARM_TARGET_CORE, CARM_TARGET_CORE, 9e-6, 20e-6};
    assert_near(carm_level_target(1, 3), 9e-6, 0.0);
    for (size_t level = 0; level < 4; level++) {
        assert_int_equal(carm_level_search(level, 4), of_four[level]);
        assert_near(carm_level_target(level, 4), targets[level], 0.0);
    }
    assert_int_equal(carm_level_search(0, 2), CARM_SEARCH_SHARED);
    assert_near(carm_level_target(0, 2), CARM_TARGET_CORE, 0.0);
    assert_int_equal(carm_level_search(0, 1), CARM_SEARCH_MEMORY);
    assert_near(carm_level_target(0, 1), 20e-6, 0.0);
}

/* Shared levels settle late and are looked at for longer; only a core's own levels are measured with threads taken
 * apart. */
TEST(runs_are_as_long_as_their_level_needs)
{
    static const size_t first[3][3] = {{64, 48, 64}, {192, 96, 192}, {64, 48, 64}};
    static const size_t longest[3][3] = {{96, 96, 64}, {288, 192, 192}, {96, 96, 64}};
    static struct carm_topo cores = {.cores = 2};
    struct carm_shape shape;
    double rates[CODES];
    for (size_t w = 0; w < 3; w++) {
        for (int how = 0; how < 4; how++) {
            start();
            team.n = 2;
            team.topo = &cores;
            team.max_reps = how == 3 ? 40 : 2048;
            if (how == 0) {
                carm_measure_best(&team, all, CODES, 4096, 6e-6, ways[w], rates);
            } else if (how == 1) {
                carm_measure_pick(&team, all, CODES, 4096, 6e-6, ways[w], &shape, NULL);
            } else {
                carm_measure_rank(&team, all, CODES, 4096, 6e-6, ways[w], rates);
            }
            assert_int_equal(fake.reps, how == 3 ? 40 : first[w][how]);
            assert_int_equal(fake.longest_reps, how == 3 ? 40 : longest[w][how]);
            assert_int_equal(ways[w] == CARM_SEARCH_CORE ? fake.together : fake.apart, 0);
            assert_false(team.separate);
        }
    }
    start();
}

/* Rounds in which all codes are faster or slower are brought to the usual rate, so that two bad looks of five do not
 * make a code slower. Of a core's own levels the fastest look counts as it is. */
TEST(drift_of_all_codes_is_taken_out)
{
    static const double of_moments[][5] = {{1.0, 0.9, 0.8, 1.1, 1.2}, {0.8, 0.9, 1.2, 1.0, 1.1}};
    double rates[CODES];
    for (size_t k = 0; k < 12; k++) {
        const enum carm_search way = ways[k % 3];
        start();
        for (size_t i = 0; i < CODES; i++) {
            fake.rate[i] = 6e9;
        }
        fake.drift = of_moments[k / 3 % 2];
        fake.dip_of = k / 6;
        fake.dip_from = 4;
        carm_measure_rank(&team, all, CODES, 4096, 6e-6, way, rates);
        const double core = k / 3 % 2 ? 2.4 : 2.0; /* the fastest look, whenever it was */
        for (size_t i = 0; i < CODES; i++) {
            assert_near(rates[i] / (way == CARM_SEARCH_CORE ? core : 6e9), 1.0, 1e-9);
        }
    }
}

/* Every code loses two looks of five, each in other rounds: the drift of a round is that of most of its codes. */
TEST(drift_is_taken_from_slow_codes_too)
{
    static const double drift[] = {0.5, 1.0, 1.0, 1.0, 0.5};
    for (size_t dip_of = 0; dip_of < CODES; dip_of += CODES - 1) {
        double rates[CODES];
        start();
        for (size_t i = 0; i < CODES; i++) {
            fake.rate[i] = 0.4; /* bytes a second: no rate is too low for it */
        }
        fake.drift = drift;
        fake.dip_from = 3;
        fake.dip_of = dip_of;
        carm_measure_rank(&team, all, CODES, 4096, 6e-6, CARM_SEARCH_MEMORY, rates);
        for (size_t i = 0; i < CODES; i++) {
            assert_near(rates[i], i == dip_of ? 0.2 : 0.4, 1e-9);
        }
    }
}

/* Just below and just above the share of the best rate from which a code has no more looks. */
TEST(codes_are_dropped_by_their_share)
{
    static const struct {
        enum carm_search way;
        double share;
        size_t runs;
    } cases[] = {
        {CARM_SEARCH_CORE, 0.79, 1},   {CARM_SEARCH_CORE, 0.81, 2},   {CARM_SEARCH_CORE, 0.89, 2},
        {CARM_SEARCH_CORE, 0.91, 3},   {CARM_SEARCH_SHARED, 0.79, 2}, {CARM_SEARCH_SHARED, 0.81, 5},
        {CARM_SEARCH_MEMORY, 0.79, 2}, {CARM_SEARCH_MEMORY, 0.81, 5},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        for (size_t slow = 0; slow < CODES; slow += CODES - 1) {
            double rates[CODES];
            start();
            for (size_t i = 0; i < CODES; i++) {
                fake.rate[i] = i == slow ? cases[k].share * 6e9 : 6e9;
            }
            carm_measure_rank(&team, all, CODES, 4096, 6e-6, cases[k].way, rates);
            for (size_t i = 0; i < CODES; i++) {
                const size_t all_rounds = cases[k].way == CARM_SEARCH_CORE ? 3 : 5;
                assert_int_equal(fake.runs[i], i == slow ? cases[k].runs : all_rounds);
            }
            assert_near(rates[slow] / rates[1], cases[k].share, 1e-9);
        }
    }
}

/* Codes without memory are compared by their flops, and all codes on as many bytes, whatever their strides. */
TEST(codes_without_memory_have_flops)
{
    for (size_t k = 0; k < 4; k++) {
        const uint64_t set = k < 2 ? 4096 : 8192;
        struct carm_shape shape;
        double rate = 0.0;
        start();
        fake.bare = k % 2;
        codes[2].account.stride_bytes = 128;
        assert_int_equal(
            carm_measure_pick(&team, all, CODES, set, 6e-6, CARM_SEARCH_MEMORY, &shape, &rate), 1);
        assert_near(rate, 6e9, 1e-3);
        assert_int_equal(fake.windows[2], set);
        assert_int_equal(fake.laps[1], set / 64 * 2);
        assert_int_equal(fake.laps[2], set / 128 * 2);
    }
    start();
}

/* A pick runs each code once, and once more, as long, where its cores were shared and there is patience. The three best
 * run twice more, and of a core's own level the fastest run counts. Runs of a shared level are twice as long. */
TEST(a_pick_has_its_runs)
{
    static const double drift[] = {0.8, 0.9, 1.0};
    for (size_t k = 0; k < 8; k++) {
        const bool patient = k % 2, shared = k / 2 % 2;
        const enum carm_search way = k / 4 ? CARM_SEARCH_SHARED : CARM_SEARCH_CORE;
        struct carm_shape shape;
        double rate = 0.0;
        start();
        fake.rate[0] = 1e8;
        fake.unsound_from = shared ? 0 : SIZE_MAX;
        fake.drift = drift;
        team.patience_seconds = patient ? 1e-3 : 0.0;
        carm_measure_pick(&team, all, 4, 4096, 6e-6, way, &shape, &rate);
        assert_int_equal(fake.runs[0], patient && shared ? 2 : 1);
        assert_int_equal(fake.least_of_0, k / 4 ? 96 : 48);
        assert_int_equal(fake.least_reps, k / 4 ? 96 : 48);
        assert_int_equal(fake.runs[1], 3);
        assert_near(rate / (k / 4 ? 0.9 * 6e9 : 2.0), 1.0, 1e-9);
    }
    team.patience_seconds = 0.0;
}

/* Two sound looks of three are enough; one repetition is a rate; two codes go through the last rounds, too. */
TEST(enough_is_enough)
{
    double rates[CODES];
    start();
    fake.rate[0] = 6e9;
    fake.unsound_from = 2;
    team.patience_seconds = 1e-3;
    carm_measure_rank(&team, all, CODES, 4096, 6e-6, CARM_SEARCH_CORE, rates);
    assert_int_equal(fake.runs[0], 3);
    team.patience_seconds = 0.0;
    start();
    team.max_reps = 1;
    carm_measure_rank(&team, all, CODES, 4096, 6e-6, CARM_SEARCH_CORE, rates);
    assert_near(rates[1], 2.0, 1e-9);
    start();
    fake.dip_from = 6;
    assert_int_equal(carm_measure_best(&team, all + 1, 2, 4096, 6e-6, CARM_SEARCH_MEMORY, rates),
                     1);
    assert_near(rates[0], 3e9, 1e-3);
}

/* When the time is over within the search, what was measured before counts, and what was not is no rate of zero. */
TEST(time_ends_within_a_search)
{
    for (size_t w = 0; w < 3; w++) {
        double rates[CODES];
        start();
        for (size_t i = 0; i < CODES; i++) {
            fake.rate[i] = 1e9 * (double)(10 + i);
        }
        fake.over_after = 1;
        carm_measure_rank(&team, all, 2, 4096, 6e-6, ways[w], rates);
        assert_near(rates[1] / (ways[w] == CARM_SEARCH_CORE ? 11.0 / 3.0 : 11e9), 1.0, 1e-9);
    }
}

/* Where no code had its cores, the fastest run of each counts. */
TEST(without_own_cores_the_fastest_run_counts)
{
    static const double drift[] = {0.7, 1.0, 0.9, 0.8, 0.6};
    for (size_t w = 0; w < 3; w++) {
        double rate = 0.0;
        start();
        fake.unsound_from = 0;
        fake.drift = drift;
        carm_measure_rank(&team, all, 1, 4096, 6e-6, ways[w], &rate);
        assert_near(rate / (ways[w] == CARM_SEARCH_CORE ? 2.0 / 3.0 : 2e9), 1.0, 1e-9);
    }
}

/* A round in which no more than half of the codes had their cores tells no drift. Codes that were dropped are none of
 * them. */
TEST(drift_of_a_noisy_round_is_not_known)
{
    static const double drift[] = {1.0, 1.0, 0.5, 1.0, 1.0};
    static const struct {
        size_t n, noisy;
        bool dropped; /* the last code */
        double rate;
    } rows[] = {{CODES, 0, false, 6e9},
                {CODES, 3, false, 3e9},
                {CODES - 1, 3, false, 6e9},
                {CODES, 3, true, 6e9}};
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
        double rates[CODES];
        start();
        for (size_t i = 0; i < CODES; i++) {
            fake.rate[i] = rows[k].dropped && i == CODES - 1 ? 1e9 : 6e9;
        }
        fake.drift = drift;
        fake.dip_from = 4;
        fake.noisy = rows[k].noisy;
        carm_measure_rank(&team, all, rows[k].n, 4096, 6e-6, CARM_SEARCH_SHARED, rates);
        assert_near(rates[1], rows[k].rate, 1e-3);
    }
}

/* Code 2 is dropped with 79% of code 1, which is half as fast later, while no drift is known: it does not become faster
 * than 80% of the best of the others, code 0. */
TEST(dropped_codes_stay_slower)
{
    double rates[CODES];
    start();
    fake.rate[0] = 0.51;
    fake.rate[1] = 0.60;
    fake.rate[2] = 0.474;
    fake.unsound_from = 2;
    fake.dip_from = 3;
    assert_int_equal(carm_measure_rank(&team, all, 3, 4096, 6e-6, CARM_SEARCH_SHARED, rates), 0);
    assert_near(rates[0], 0.51, 1e-9);
    assert_near(rates[1], 0.30, 1e-9);
    assert_near(rates[2], 0.8 * 0.51, 1e-9);
    assert_int_equal(fake.runs[2], 2);
}

/* What is not known to be slow is not dropped. */
TEST(codes_without_own_cores_stay)
{
    double rates[CODES];
    start();
    fake.unsound_from = 0;
    carm_measure_rank(&team, all, CODES, 4096, 6e-6, CARM_SEARCH_CORE, rates);
    assert_int_equal(fake.runs[0], 3);
}

/* Of more codes or working sets than a search compares, the first ones. */
TEST(searches_have_an_end)
{
    enum { MANY = CARM_SEARCH_MOST + 1 };
    const struct carm_code *many[MANY];
    uint64_t sets[MANY];
    double rates[MANY], rate = 0.0;
    struct carm_shape shape;
    for (size_t i = 0; i < MANY; i++) {
        many[i] = all[i == MANY - 1 ? 1 : i == MANY - 2 ? 2 : 0];
        sets[i] = 64 * (i + 1);
        rates[i] = -1.0;
    }
    for (size_t w = 0; w < 3; w++) {
        start();
        assert_int_equal(carm_measure_best(&team, many, MANY, 4096, 6e-6, ways[w], rates),
                         MANY - 2);
        assert_int_equal(carm_measure_rank(&team, many, MANY, 4096, 6e-6, ways[w], rates),
                         MANY - 2);
        assert_int_equal(carm_measure_pick(&team, many, MANY, 4096, 6e-6, ways[w], &shape, &rate),
                         MANY - 2);
        fake.best_set = sets[MANY - 2];
        assert_int_equal(carm_measure_best_set(&team, all[1], sets, MANY, 6e-6, ways[w], rates),
                         MANY - 2);
        assert_near(rates[MANY - 1], -1.0, 0.0);
    }
}

/* Codes that were dropped do not count for the usual rate, and keep their own. */
TEST(dropped_codes_have_no_drift)
{
    double rates[CODES];
    start();
    for (size_t i = 0; i < CODES; i++) {
        fake.rate[i] = i < CODES / 2 ? 6e9 : 1e9;
    }
    carm_measure_rank(&team, all, CODES, 4096, 6e-6, CARM_SEARCH_SHARED, rates);
    assert_near(rates[0], 6e9, 1e-3);
    assert_near(rates[CODES - 1], 1e9, 1e-3);
}

/* A candidate whose cores were shared is looked at again, up to 16 times, while there is patience and time. */
TEST(shared_cores_are_looked_at_again)
{
    static volatile sig_atomic_t stop;
    double rates[CODES];
    for (int i = 0; i < 3; i++) {
        start();
        fake.rate[0] = 6.5e9;
        fake.unsound_from = 1; /* one sound run, and none after */
        team.patience_seconds = i == 1 ? 0.0 : 1e-3;
        stop = i == 2;
        team.deadline.stop = &stop;
        carm_measure_rank(&team, all, CODES, 4096, 6e-6, CARM_SEARCH_CORE, rates);
        assert_int_equal(fake.runs[0], i == 0 ? 16 : 3);
        for (size_t k = 1; k < CODES; k++) {
            assert_in_range(fake.runs[k], 1, 3);
        }
    }
    team.patience_seconds = 0.0;
    team.deadline.stop = NULL;
}

/* Where no run has cores of its own, the faster of the two first ones decides whether a code is picked from: code 0 with
 * 5.8 GB/s is a finalist, which runs twice more, and with the slower run's 2.9 GB/s it is not. */
TEST(the_faster_unsound_run_is_kept)
{
    for (size_t slow = 1; slow <= 2; slow++) {
        struct carm_shape shape;
        start();
        fake.rate[0] = 2.9e9;
        fake.unsound_from = 0;
        fake.dip = slow;
        fake.dip_of = 0;
        team.patience_seconds = 1e-3;
        carm_measure_pick(&team, all, CODES, 4096, 6e-6, CARM_SEARCH_MEMORY, &shape, NULL);
        assert_int_equal(fake.runs[0], 4);
    }
    team.patience_seconds = 0.0;
}

/* When the time is over a search ends, with something to go on with, and a series has no round. */
TEST(no_time_is_no_rate)
{
    double rates[CODES];
    struct carm_shape shape;
    struct carm_series s;
    struct carm_pooled pooled;
    start();
    fake.over = true;
    assert_in_range(carm_measure_best(&team, all, CODES, 4096, 6e-6, CARM_SEARCH_CORE, rates), 0,
                    CODES - 1);
    for (size_t i = 0; i < CODES; i++) {
        assert_near(rates[i], 0.0, 0.0);
    }
    assert_in_range(
        carm_measure_pick(&team, all, CODES, 4096, 6e-6, CARM_SEARCH_CORE, &shape, NULL), 0,
        CODES - 1);
    carm_series_open(&s, &team, all[2], 4096, 6e-6, false);
    assert_false(carm_series_round(&s, &team, 64, NULL));
    assert_int_equal(s.n, 0);
    carm_series_estimate(&s, &ticks, &pooled);
    assert_near(pooled.rate, 0.0, 0.0);
    fake.over = false;
    assert_true(carm_series_round(&s, &team, 64, NULL));
    assert_int_equal(s.n, 1);
}

/* The slowest repetitions are the lowest rates. */
TEST(a_round_has_its_spread)
{
    struct carm_series s;
    start();
    carm_series_open(&s, &team, all[2], 4096, 6e-6, false);
    for (int i = 0; i < 3; i++) {
        assert_true(carm_series_round(&s, &team, 64, NULL));
    }
    assert_int_equal(s.reps, 3 * 64);
    assert_near(s.rounds[2].rate, 5e9, 1e-3);
    assert_near(s.spread.min, 2.5e9, 1e-3);
    assert_near(s.spread.p5, 4e9, 1e-3);
    assert_near(s.spread.p95, 6.25e9, 1e-3);
    assert_near(s.spread.max, 10e9, 1e-3);
}
