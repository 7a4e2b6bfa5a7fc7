/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parts of a program: why there are none, their rows, the core that the program ran on. */
#include "models/core.h"
#include "run/parts.h"
#include "run/verdict.h"
#include "tests/unit.h"

TEST(missing_parts)
{
    static const struct {
        struct carm_run run;
        const char *text;
    } cases[] = {
        {{.has_samples = true,
          .samples = {.total = 30, .period = 1e-3},
          .hz = 1000,
          .user_seconds = 9,
          .row.seconds = 1},
         ""},
        {{.unsampled = "no timer"}, "shares of time are missing: no timer"},
        {{.has_samples = true, .samples = {.total = 29, .incomplete = "lost"}},
         "shares of time are missing: lost"},
        {{.has_samples = true, .samples = {.total = 30, .incomplete = "lost"}}, ""},
        /* 60 periods and more of processor time, with too few samples: a static program, or many short threads */
        {{.has_samples = true,
          .samples = {.total = 29, .period = 1e-3},
          .user_seconds = 0.061,
          .hz = 1000},
         "shares of time are missing: 29 samples of 61 ms of processor time (a set-user-id program has none)"},
        {{.has_samples = true,
          .samples = {.total = 1, .period = 1e-3, .preloaded = true, .begun = 60},
          .user_seconds = 0.061,
          .hz = 1000},
         "shares of time are missing: 1 sample of 61 ms of processor time (static and set-user-id programs, and those of another user, "
         "have none)"},
        {{.has_samples = true,
          .samples = {.total = 1, .period = 1e-3, .begun = 62},
          .user_seconds = 0.061,
          .hz = 1000},
         "shares of time are missing: 1 sample of 61 ms of processor time in 62 threads and processes, and one that runs shorter than 1 ms "
         "has few: --hz 10000 sees more"},
        {{.has_samples = true,
          .samples = {.total = 2, .period = 1e-3, .begun = 62},
          .user_seconds = 0.0305,
          .hz = 1000,
          .neach = 2},
         "shares of time are missing: 2 samples of 61 ms of processor time in 62 threads and processes, and one that runs shorter than 1 ms "
         "has few: --hz 10000 sees more"},
        /* too short: 10 times 30 samples by 2 are 150 runs, of 0.39 s in less than a minute, or of 0.4 s in a minute */
        {{.has_samples = true,
          .samples = {.total = 2, .period = 1e-3},
          .user_seconds = 0.06,
          .hz = 1000,
          .row.seconds = 0.39},
         "too short to see loops (2 samples of 60 ms of processor time). Try: carm run --repeat 151"},
        {{.has_samples = true,
          .samples = {.total = 2, .period = 1e-3},
          .user_seconds = 0.06,
          .hz = 1000,
          .row.seconds = 0.403},
         "too short to see loops (2 samples of 60 ms of processor time). Take a larger problem"},
        {{.has_samples = true,
          .samples = {.total = 2, .period = 1e-3, .begun = 62},
          .user_seconds = 0.06,
          .hz = 1000,
          .row.seconds = 0.4},
         "too short to see loops (2 samples of 60 ms of processor time). Take a larger problem"},
        {{.has_samples = true,
          .samples = {.total = 2, .period = 1e-3, .begun = 62},
          .user_seconds = 0.05,
          .hz = 1000,
          .row.seconds = 0.4},
         "too short to see loops (2 samples of 50 ms of processor time). Take a larger problem"},
        {{.has_samples = true,
          .samples = {.total = 30, .period = 1e-3, .begun = 62},
          .user_seconds = 0.061,
          .hz = 1000},
         ""},
        {{.has_samples = true,
          .samples = {.total = 1, .period = 1e-3},
          .user_seconds = 0.01,
          .hz = 1000,
          .row.seconds = 0.01,
          .neach = 3},
         "too short to see loops (1 sample of 30 ms of processor time). Try: carm run --repeat 901"},
        {{.hz = 1000, .row.seconds = 0.01},
         "too short to see loops (0 samples of 0 ms of processor time). Try: carm run --repeat 301"},
        {{.hz = 0, .row.seconds = 0.01}, ""},
        {{.hz = 1000, .no_time = true},
         "--no-time has no shares of time: --loops and --functions show the counts of each"},
        {{.hz = 1000, .no_time = true, .always_sampled = true}, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[512];
        assert_string_equal(carm_parts_missing(text, sizeof text, &cases[i].run), cases[i].text);
    }
}

static struct carm_row row;

static const struct carm_row *row_of(const struct carm_profile_row *part, bool counts, bool time)
{
    const struct carm_run run = {.name = "p", .row.asks_for = "the time"};
    const struct carm_profile profile = {
        .has_counts = counts, .has_time = time, .has_allocator = time};
    memset(&row, 0x5a, sizeof row);
    carm_parts_row(&run, &profile, part, &row);
    return &row;
}

TEST(rows_of_parts)
{
    struct carm_profile_row part = {
        .kind = CARM_PROFILE_LOOP,
        .name = "f loop a.c:1",
        .source = "a.c:1",
        .module = "libx.so",
        .counts = {.instructions = 70, .load_bytes = 80, .flops[1][2] = 8},
        .executions = 100,
        .entries_low = 4,
        .entries_high = 4,
        .allocations = 3,
        .samples = 40,
        .on = {10, 30, 0},
        .share = 0.25,
        .seconds = 1.5,
        .threads = 2,
        .spread = 0.05};
    const struct carm_row *r = row_of(&part, true, true);
    assert_string_equal(r->name, "p: f loop a.c:1");
    assert_near(r->counts.q[CARM_Q_INSTRUCTIONS].value, 70.0, 0.0);
    assert_int_equal(r->counts.q[CARM_Q_INSTRUCTIONS].by, CARM_COUNTED_TRANSLATED);
    assert_near(r->counts.q[CARM_Q_ALLOCATIONS].value, 3.0, 0.0);
    assert_int_equal(r->counts.q[CARM_Q_CYCLES].by, CARM_COUNTED_NOT);
    for (int q = 0; q < CARM_Q_COUNT; q++) {
        const struct carm_count *c = &r->counts.q[q];
        assert_true(c->by == CARM_COUNTED_NOT ||
                    (c->by == CARM_COUNTED_TRANSLATED && c->share == 1.0));
    }
    assert_true(carm_count_has(&r->counts, CARM_Q_FLOPS));
    assert_string_equal(r->isa, "avx2");
    assert_string_equal(r->precision, "sp");
    assert_true(r->calls == 1 && r->share == 1.0 && r->seconds == 1.5 && r->threads == 2);
    assert_string_equal(r->asks_for, "the time");
    assert_string_equal(r->part.kind, "loop");
    assert_string_equal(r->part.cores, "p:0.25 e:0.75");
    assert_true(r->part.time_share == 0.25 && r->part.samples == 40.0 && r->part.trips == 25.0 &&
                r->part.entries == 4.0);
    assert_string_equal(r->part.source, "a.c:1");
    assert_string_equal(r->part.module, "libx.so");
    assert_string_equal(r->note, "");
    /* entries that are known about; runs that differ; several entries */
    part.entries_high = 6;
    part.differs = part.irreducible = true;
    r = row_of(&part, false, false);
    assert_int_equal(r->counts.q[CARM_Q_INSTRUCTIONS].by, CARM_COUNTED_NOT);
    assert_true(r->part.time_share == -1.0 && r->part.samples == -1.0 && r->part.trips == 0.0 &&
                r->part.entries == 0.0);
    assert_string_equal(
        r->note,
        "the timed and the counted run differ here; irreducible: entered at several places");
    part.spread = 0.6;
    part.irreducible = false;
    r = row_of(&part, true, true);
    assert_string_equal(r->note, "two counted runs differ by 60% here");
    assert_true(r->part.trips == 20.0 && r->part.entries == 0.0);
    part.kind = CARM_PROFILE_KERNEL;
    r = row_of(&part, true, true);
    assert_int_equal(r->counts.q[CARM_Q_INSTRUCTIONS].by, CARM_COUNTED_NOT);
    assert_true(r->part.time_share == 0.25 && r->part.samples == -1.0);
}

/* A verdict is in columns of points.csv. */
TEST(columns_of_verdicts)
{
    struct carm_run_verdict v = {
        .has = true,
        .verdict = {.limit = CARM_LIMIT_L2,
                    .estimate = true,
                    .explains = 0.8,
                    .second = CARM_LIMIT_UNKNOWN,
                    .loop = {1.25, 2.0},
                    .advice = {{.code = CARM_ADVICE_BLOCK, .removes = CARM_LIMIT_L2}},
                    .nadvice = 1}};
    row = (struct carm_row){.seconds = 1.0};
    carm_run_verdict_row(&v, &row);
    assert_string_equal(row.part.limit, "l2");
    assert_string_equal(row.part.limit_by, "estimate");
    assert_string_equal(row.part.second, "");
    assert_string_equal(row.part.advice, "block");
    assert_true(row.part.explains == 0.8 && row.part.gain_low == 1.25 && row.part.gain_high == 2.0);
    v.verdict.estimate = false;
    v.verdict.second = CARM_LIMIT_L3;
    v.verdict.nadvice = 0;
    v.verdict.loop.high = INFINITY; /* no bound is left: an empty column */
    carm_run_verdict_row(&v, &row);
    assert_string_equal(row.part.limit_by, "bound");
    assert_string_equal(row.part.second, "l3");
    assert_string_equal(row.part.advice, "");
    assert_true(row.part.gain_low == 1.25 && row.part.gain_high == 0.0);
    row = (struct carm_row){.seconds = 1.0};
    v.has = false;
    carm_run_verdict_row(&v, &row);
    assert_null(row.part.limit);
}

TEST(kinds_of_cores)
{
    struct carm_profile_row part = {.samples = 50, .on = {10, 0, 30}};
    struct carm_kind_shares shares;
    char text[128];
    carm_run_kinds(&part, &shares);
    assert_int_equal(shares.n, 2);
    assert_string_equal(shares.word[0], "p");
    assert_string_equal(shares.word[1], "lp");
    assert_near(shares.share[0], 0.25, 1e-12);
    assert_near(shares.share[1], 0.75, 1e-12);
    assert_string_equal(carm_run_kinds_text(text, sizeof text, &part),
                        "20% on p cores, 60% on lp cores");
    part.samples = 0;
    assert_string_equal(carm_run_kinds_text(text, sizeof text, &part), "");
    memset(part.on, 0, sizeof part.on);
    carm_run_kinds(&part, &shares);
    assert_int_equal(shares.n, 0);
}

/* Looks of 3, 4 and 5 GHz at a core that issues 6 instructions in a cycle, in one of them half as many. */
TEST(cores)
{
    struct carm_run run = {
        .has_samples = true,
        .samples = {.threads = 1, .looks = {.n = 3, .of = {{3e9, 6}, {5e9, 6}, {4e9, 3}}}}};
    struct carm_core_figure issue = {.kind = CARM_CORE_ISSUE, .throughput = 1.0 / 6};
    struct carm_roofs roofs = {.clock_hz = 4e9};
    struct carm_model model = {.core = &issue, .ncore = 1, .roofs = &roofs, .nroofs = 1};
    struct carm_looks_sum sum;
    assert_true(carm_run_core(&run, &model, &sum));
    assert_near(sum.clock_hz, 4e9, 0.0);
    assert_near(sum.shared, 1.0 / 3, 1e-9);
    assert_true(carm_run_has_company(&run, &sum));
    run.samples.threads = 2;
    assert_false(carm_run_has_company(&run, &sum));
    run.samples.threads = 1;
    sum.shared = 0.2;
    assert_true(carm_run_has_company(&run, &sum));
    sum.shared = 0.199;
    assert_false(carm_run_has_company(&run, &sum));
    run.samples.looks.of[2].width = 5.45; /* above nine tenths */
    assert_true(carm_run_core(&run, &model, &sum) && sum.shared == 0.0);
    run.samples.looks.of[2].width = 3;
    issue.throughput = 1.0 / 12; /* then each look has company */
    assert_true(carm_run_core(&run, &model, &sum) && sum.shared == 1.0);
    assert_true(carm_run_core(&run, NULL, &sum) && fabs(sum.shared - 1.0 / 3) < 1e-9);
    /* within a third of the model's clock */
    static const struct {
        double usual;
        bool known;
    } clocks[] = {
        {3.001e9, true}, {2.999e9, false}, {5.999e9, true}, {6.001e9, false}, {0.0, true}};
    for (size_t i = 0; i < sizeof clocks / sizeof *clocks; i++) {
        roofs.clock_hz = clocks[i].usual;
        assert_int_equal(carm_run_core(&run, &model, &sum), clocks[i].known);
    }
    model.nroofs = 0;
    assert_true(carm_run_core(&run, &model, &sum));
    run.samples.looks.n = 2;
    assert_false(carm_run_core(&run, &model, &sum));
    run.samples.looks.n = 3;
    run.has_samples = false;
    assert_false(carm_run_core(&run, &model, &sum));
}
