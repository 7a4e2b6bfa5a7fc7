/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranks as rank, node and job views: closed forms. */
#include "models/place/hot.h"
#include "models/place/views.h"
#include "tests/harness/count/rank_rows.h"
#include "tests/unit.h"

static struct carm_views *views;
static struct carm_view view, whole;

static int set_up(void **state)
{
    views = NULL;
    err.text[0] = '\0';
    return carm_views_open(&views, "", &err);
}

static int tear_down(void **state)
{
    carm_views_close(views);
    return 0;
}

static void put(const struct carm_point *p)
{
    assert_ok(carm_views_add(views, p, &err));
}

static void put_row(const char *job, const char *host, const char *rank, double flops, double bytes,
                    double seconds)
{
    const struct carm_point p = row(job, host, rank, flops, bytes, seconds);
    put(&p);
}

static void fold(size_t most)
{
    assert_ok(carm_views_group(views, most, &err));
}

static void get(enum carm_view_kind kind, size_t i)
{
    carm_views_get(views, kind, i, &view);
}

TEST_BETWEEN(jobs_nodes_and_ranks_are_sums, set_up, tear_down)
{
    /* two nodes; the ranks come as they ended */
    put_row("7.0", "n10", "10", 1e9, 2e9, 0.5);
    put_row("7.0", "n2", "1", 1e9, 4e9, 1.0);
    put_row("7.0", "n10", "2", 2e9, 4e9, 0.6);
    put_row("7.0", "n2", "0", 4e9, 8e9, 1.0);
    fold(0);
    assert_int_equal(carm_views_count(views, CARM_VIEW_JOB), 1);
    assert_int_equal(carm_views_count(views, CARM_VIEW_NODE), 2);
    assert_int_equal(carm_views_count(views, CARM_VIEW_RANK), 4);

    get(CARM_VIEW_JOB, 0);
    assert_string_equal(view.label, "solve (job 7.0)");
    assert_ptr_equal(view.merged.point.name, view.label);
    assert_string_equal(view.program, "solve");
    assert_string_equal(view.host, "");
    assert_int_equal(view.ranks, 4);
    assert_int_equal(view.nodes, 2);
    assert_near(view.merged.point.flops, 4e9, 1e-12); /* of a node */
    assert_near(view.merged.point.bytes, 9e9, 1e-12);
    assert_near(view.merged.point.seconds, 1.0, 1e-12);
    assert_int_equal(view.merged.point.threads, 2);
    assert_near(view.imbalance.work, 4.0 * 4 / 8, 1e-12);
    assert_near(view.imbalance.bytes, 8.0 * 4 / 18, 1e-12);
    assert_near(view.imbalance.time, 1.0 * 4 / 3.1, 1e-12);
    assert_near(view.merged.imbalance, view.imbalance.time, 1e-12);
    assert_near(view.intensity.low, 0.25, 1e-12);
    assert_near(view.intensity.median, 0.5, 1e-12);
    assert_near(view.intensity.high, 0.5, 1e-12);
    assert_near(view.performance.low, 1e9, 1e-12);
    assert_near(view.performance.median, (2e9 + 2e9 / 0.6) / 2, 1e-12);
    assert_near(view.performance.high, 4e9, 1e-12);
    assert_string_equal(view.slowest, "rank 0 on n2"); /* the first of two */
    assert_string_equal(view.fastest, "rank 10 on n10");
    assert_string_equal(view.busiest, "rank 0 on n2");
    assert_non_null(strstr(view.merged.note, "the mean of its 2 nodes"));

    get(CARM_VIEW_NODE, 0); /* n2 before n10 */
    assert_string_equal(view.label, "solve (node n2)");
    assert_string_equal(view.host, "n2");
    assert_near(view.merged.point.flops, 5e9, 1e-12);
    assert_near(view.merged.point.bytes, 12e9, 1e-12);
    assert_int_equal(view.merged.point.threads, 2);
    assert_near(view.imbalance.work, 1.6, 1e-12);
    assert_near(view.imbalance.bytes, 8.0 / 6, 1e-12);
    assert_near(view.imbalance.time, 1.0, 1e-12);
    assert_string_equal(view.slowest, "");
    assert_string_equal(view.merged.note, "");
    get(CARM_VIEW_NODE, 1);
    assert_string_equal(view.label, "solve (node n10)");
    assert_near(view.merged.point.seconds, 0.6, 1e-12);

    static const char *const ranks[] = {"0", "1", "2", "10"};
    for (size_t i = 0; i < 4; i++) {
        get(CARM_VIEW_RANK, i);
        assert_string_equal(view.rank, ranks[i]);
        assert_int_equal(view.ranks, 1);
        assert_false(view.between);
        assert_int_equal(view.last, i == 3);
    }
    assert_string_equal(view.label, "solve (rank 10)");
    assert_string_equal(view.host, "n10");
    carm_views_whole(views, 3, &whole);
    assert_int_equal(whole.ranks, 4);
    assert_string_equal(whole.fastest, "rank 10 on n10");
}

TEST_BETWEEN(jobs_and_names_stay_apart, set_up, tear_down)
{
    struct carm_point p = row("8.0", "n1", "0", 1, 1, 1);
    put(&p);
    p.job = "8.1";
    put(&p);
    p.name = "setup";
    put(&p);
    /* texts that would be one when joined */
    p.name = "setup8";
    p.job = ".1";
    put(&p);
    fold(0);
    assert_int_equal(carm_views_count(views, CARM_VIEW_JOB), 4);
    assert_int_equal(carm_views_count(views, CARM_VIEW_NODE), 4);
    get(CARM_VIEW_RANK, 1);
    assert_string_equal(view.label, "solve (rank 0, job 8.1)");
    assert_true(view.last);
    get(CARM_VIEW_NODE, 2);
    assert_string_equal(view.label, "setup (node n1, job 8.1)");
}

TEST_BETWEEN(threads_are_parts_of_a_rank, set_up, tear_down)
{
    /* rank 0 wrote a row for each of two threads */
    struct carm_point p = row("", "n1", "0", 3e9, 1e9, 1.0);
    p.pid = "100";
    put(&p);
    p.seconds = 2.0;
    put(&p);
    /* rank 1 wrote one for both: the same work for each thread */
    p = row("", "n1", "1", 6e9, 3e9, 2.0);
    p.pid = "101";
    p.threads = 2;
    put(&p);
    /* rank 2 has one thread, and so half of the work is its share */
    p = row("", "n1", "2", 3e9, 1e9, 1.0);
    p.pid = "102";
    put(&p);
    fold(0);
    assert_int_equal(carm_views_count(views, CARM_VIEW_RANK), 3);
    get(CARM_VIEW_JOB, 0);
    assert_string_equal(view.label, "solve (all ranks)");
    assert_int_equal(view.merged.point.threads, 5);
    assert_near(view.imbalance.work, 1.0, 1e-12);
    assert_near(view.imbalance.bytes, 1.5 * 5 / 6, 1e-12);
    assert_near(view.imbalance.time, 2.0 * 3 / 5, 1e-12);
    assert_string_equal(view.busiest, "");
    assert_string_equal(view.merged.note, "");
}

TEST_BETWEEN(repeated_runs_are_told, set_up, tear_down)
{
    struct carm_point p = row("", "n1", "0", 1e9, 1e9, 1.0);
    p.pid = "100";
    put(&p);
    p.pid = "200";
    put(&p);
    fold(0);
    get(CARM_VIEW_RANK, 0);
    assert_non_null(strstr(view.merged.note, "rank 0 appears 2 times"));
    get(CARM_VIEW_JOB, 0);
    assert_non_null(strstr(view.merged.note, "repeated runs must not be summed"));
    get(CARM_VIEW_NODE, 0);
    assert_non_null(strstr(view.merged.note, "repeated runs must not be summed"));
}

TEST_BETWEEN(rows_without_ranks_stand_for_themselves, set_up, tear_down)
{
    struct carm_point p = row("", "", "", 1e9, 1e9, 1.0);
    p.line = 2;
    put(&p);
    p.line = 3;
    put(&p);
    p.pid = "17";
    put(&p);
    put(&p);
    fold(0);
    assert_int_equal(carm_views_count(views, CARM_VIEW_RANK), 3);
    get(CARM_VIEW_RANK, 0);
    assert_string_equal(view.label, "solve (line 2)");
    get(CARM_VIEW_RANK, 2);
    assert_string_equal(view.label, "solve (process 17)");
    assert_near(view.merged.point.flops, 2e9, 1e-12);
    get(CARM_VIEW_NODE, 0);
    assert_string_equal(view.label, "solve (an unnamed node)");
}

TEST_BETWEEN(what_a_rank_lacks_its_job_lacks, set_up, tear_down)
{
    put_row("", "n1", "0", CARM_POINT_UNKNOWN, 1e9, 1.0);
    put_row("", "n1", "1", 1e9, 1e9, CARM_POINT_UNKNOWN);
    fold(0);
    get(CARM_VIEW_JOB, 0);
    assert_true(view.imbalance.work == 0.0);
    assert_true(view.imbalance.time == 0.0);
    assert_near(view.imbalance.bytes, 1.0, 1e-12);
    assert_true(view.intensity.low < 0.0 && view.performance.high < 0.0);
    assert_string_equal(view.slowest, "");
    assert_non_null(strstr(view.merged.note, "1 of its 2 rows has no flops"));
}

TEST_BETWEEN(sockets_are_read_once, set_up, tear_down)
{
    struct carm_point p = row("7.0", "n1", "0", 1e9, 1e9, 1.0);
    p.counted_by = "pmu";
    p.level_low[2] = p.level_high[2] = CARM_POINT_UNKNOWN; /* exact */
    p.dram_bytes = 3e9;
    put(&p);
    p.rank = "1";
    p.dram_bytes = 4e9;
    put(&p);
    p.host = "n2";
    p.rank = "2";
    p.dram_bytes = 1e9;
    put(&p);
    fold(0);
    get(CARM_VIEW_NODE, 0);
    assert_near(view.merged.point.dram_bytes, 4e9, 1e-12);
    assert_near(view.merged.point.level_low[2], 4e9, 1e-12); /* not the sum of its ranks' */
    assert_near(view.merged.point.level_high[2], 4e9, 1e-12);
    assert_true(view.imbalance.dram == 0.0); /* a node's ranks share its memory */
    get(CARM_VIEW_JOB, 0);
    assert_near(view.merged.point.dram_bytes, 2.5e9, 1e-12);
    assert_near(view.merged.point.level_high[2], 2.5e9, 1e-12);
    assert_near(view.imbalance.dram, 1.6, 1e-12);
}

TEST_BETWEEN(bytes_by_construction_are_summed, set_up, tear_down)
{
    struct carm_point p = row("7.0", "n1", "0", 1e9, 1e9, 1.0);
    p.counted_by = "constructed";
    p.dram_bytes = 3e9;
    put(&p);
    p.rank = "1";
    p.dram_bytes = 4e9;
    put(&p);
    p.host = "n2";
    p.rank = "2";
    p.dram_bytes = CARM_POINT_UNKNOWN;
    put(&p);
    fold(0);
    get(CARM_VIEW_NODE, 0);
    assert_near(view.merged.point.dram_bytes, 7e9, 1e-12);
    get(CARM_VIEW_JOB, 0);
    assert_true(view.merged.point.dram_bytes < 0.0);
    assert_true(view.imbalance.dram == 0.0);
}

TEST_BETWEEN(the_slowest_and_the_fastest_are_shown, set_up, tear_down)
{
    for (int i = 0; i < 100; i++) {
        char rank[8];
        (void)snprintf(rank, sizeof rank, "%d", i);
        put_row("7.0", "n1", rank, 1e9, 1e9, i == 50 ? CARM_POINT_UNKNOWN : 1.0 + (i * 37) % 100);
    }
    put_row("7.1", "n1", "0", 1e9, 1e9, 1.0);
    fold(5);
    size_t shown = 0;
    for (size_t i = 0; i < 100; i++) {
        get(CARM_VIEW_RANK, i);
        const double t = view.merged.point.seconds;
        /* the one without a time and the two slowest, and the two fastest */
        assert_int_equal(!view.between, t < 0.0 || t > 98.0 || t < 3.0);
        shown += !view.between;
        assert_int_equal(view.last, i == 99);
    }
    assert_int_equal(shown, 5);
    assert_int_equal(view.hidden, 95);
    get(CARM_VIEW_RANK, 100);
    assert_false(view.between);
    assert_int_equal(view.hidden, 0);
}

TEST_BETWEEN(operations_of_a_metric_are_the_work, set_up, tear_down)
{
    carm_views_close(views);
    assert_ok(carm_views_open(&views, "exchange", &err));
    struct carm_point p = row("7.0", "n1", "0", CARM_POINT_UNKNOWN, 1e9, 1.0);
    p.metric = "exchange";
    p.operations = 1e9;
    p.dram_bytes = 1e9;
    put(&p);
    p.rank = "1";
    p.operations = 3e9;
    put(&p);
    p.name = "other"; /* of the same job, and repeated by other processes */
    for (int pid = 1; pid < 4; pid++) {
        p.pid = pid == 1 ? "1" : pid == 2 ? "2" : "3";
        put(&p);
    }
    fold(0);
    get(CARM_VIEW_JOB, 1);
    assert_non_null(strstr(view.merged.note, "2 of its rows come from other processes"));
    get(CARM_VIEW_RANK, 0);
    assert_string_equal(view.label, "solve (rank 0)");
    get(CARM_VIEW_JOB, 0);
    assert_near(view.imbalance.dram, 0.0, 0.0);
    assert_near(view.imbalance.work, 1.5, 1e-12);
    assert_near(view.intensity.high, 3.0, 1e-12);
}

TEST_BETWEEN(lists_of_views, set_up, tear_down)
{
    enum carm_view_kind kinds[CARM_VIEW_COUNT];
    size_t n = 0;
    assert_ok(carm_view_parse("rank,job", kinds, &n, &err));
    assert_int_equal(n, 2);
    assert_int_equal(kinds[0], CARM_VIEW_RANK);
    assert_int_equal(kinds[1], CARM_VIEW_JOB);
    static const char *const bad[] = {"",   "job,",    ",job",     "jobs",
                                      "jo", "job,job", "job node", "job,node,rank,job"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_refused(carm_view_parse(bad[i], kinds, &n, &err), -CARM_EINVAL,
                       "--by takes job, node and rank");
    }
}

TEST(shares_limit_the_gain)
{
    assert_true(fabs(carm_hot_amdahl(0.5, 2.0) - 4.0 / 3.0) < 1e-12);
    assert_true(fabs(carm_hot_amdahl(0.75, INFINITY) - 4.0) < 1e-12);
    assert_true(fabs(carm_hot_amdahl(0.3, 1.0) - 1.0) < 1e-12);
}

TEST(one_sentence_says_it)
{
    char text[512];
    struct carm_hot hot = {.placed = true, .gain = 2.0};
    snprintf(
        hot.place.advice, sizeof hot.place.advice,
        "between the ceilings of L2 and L1: part of its data may come from L2; try blocking for L1; "
        "at most 1.5x to the ceiling above, 8.0x to the roof");
    assert_string_equal(
        carm_hot_advice(text, sizeof text, &hot, 0.5),
        "between the ceilings of L2 and L1: part of its data may come from L2; try blocking for L1; if "
        "it reached the roof, the program would be 1.33x as fast");
    hot.gain = 1.0;
    snprintf(hot.place.advice, sizeof hot.place.advice, "at the peak (fma): nothing is left");
    assert_string_equal(
        carm_hot_advice(text, sizeof text, &hot, 0.998),
        "at the peak (fma): nothing is left; it is at the roof: only less work can make it faster");
    hot.has_own = true;
    hot.own.gain = 3.0;
    assert_string_equal(
        carm_hot_advice(text, sizeof text, &hot, 0.75),
        "at the peak (fma): nothing is left; it is as fast as its "
        "instructions allow: only another algorithm, other operations or wider vectors can make it faster");
    assert_true(carm_hot_computes(0.05, 1.0) && carm_hot_computes(1.0, 0.0));
    assert_false(carm_hot_computes(0.002, 1.0)); /* gawk's interpreter */
    hot.unbounded = true;
    snprintf(hot.place.advice, sizeof hot.place.advice, "below the ceiling of DRAM");
    snprintf(hot.note, sizeof hot.note, "the model has no int32 roofs");
    assert_string_equal(
        carm_hot_advice(text, sizeof text, &hot, 0.75),
        "below the ceiling of DRAM; how much is left is not known: the model has no "
        "int32 roofs");
    hot = (struct carm_hot){.of_ceiling = 0.001, .gain = 1000.0};
    snprintf(hot.ceiling, sizeof hot.ceiling, "L1");
    assert_string_equal(
        carm_hot_advice(text, sizeof text, &hot, 0.998),
        "computes next to nothing and uses <1% of the bandwidth of L1: it may wait for cache misses, "
        "dependent instructions or branches, or execute too many instructions; without it, the program "
        "would take <1% of its time");
    assert_string_equal(carm_hot_advice(text, 9, &hot, 0.2), "computes");
}

/* A view in words: its label and texts; ranks/nodes; imbalance of time, work, bytes, DRAM; intensity and performance over ranks;
 * seconds; the slowest, fastest, busiest rank; whether it is between, the last, and how many are hidden; the sums; the note. */
static const char *told(enum carm_view_kind kind, size_t i)
{
    static char text[4096];
    const struct carm_point *p = &view.merged.point;
    memset(&view, 0x5a, sizeof view);
    get(kind, i);
    (void)snprintf(
        text, sizeof text,
        "%s, %s, %s, %s, %s; %zu/%zu; %.4g %.4g %.4g %.4g; %.4g %.4g %.4g, %.4g %.4g %.4g; %g-%g; %s, %s, %s; %s%s%zu; "
        "%g %g %g (%g-%g) %d; %s",
        view.label, view.program, view.job, view.host, view.rank, view.ranks, view.nodes,
        view.imbalance.time, view.imbalance.work, view.imbalance.bytes, view.imbalance.dram,
        view.intensity.low, view.intensity.median, view.intensity.high, view.performance.low,
        view.performance.median, view.performance.high, view.least_seconds, view.most_seconds,
        view.slowest, view.fastest, view.busiest, view.between ? "between " : "",
        view.last ? "last " : "", view.hidden, p->flops, p->bytes, p->dram_bytes, p->level_low[2],
        p->level_high[2], p->threads, view.merged.note);
    return text;
}

/* Three nodes of one job and one of another, in the order in which they ended; a view is a row of the table. */
TEST_BETWEEN(in_words, set_up, tear_down)
{
    static const struct {
        const char *job, *host, *rank, *pid;
        double flops, bytes, dram, seconds;
        int threads;
        const char *counted_by;
    } rows[] = {
        {"7", "n10", "3", "1", 8, 4, 20, 2, 1, "pmu"},
        {"7", "n2", "0", "2", 2, 4, 30, 4, 1, "pmu"},
        {"7", "n2", "1", "3", 4, 0, 50, 1, 2, "pmu"},
        {"8", "n2", "0", "4", 6, 2, -1, 3, 0, ""},
        {"7", "n10", "2", "5", 3, 1.5, 10, 0.5, 1, "pmu"},
        {"7", "n3", "10", "6", 1, 1, 0, 4, 1, "stepped"},
        {"8", "", "", "7", 0.5, 0.25, 1, 3, 1, ""},
    };
    static const struct {
        enum carm_view_kind kind;
        size_t i;
        const char *told;
    } all[] = {
        {CARM_VIEW_JOB, 0,
         "solve (job 7), solve, 7, , ; 5/3; 1.739 2.667 2.286 2.143; -1 -1 -1, 0.25 4 6; 0.5-4; rank 0 on n2, rank 2 on n10, rank 3 on n10; 0; 6 3.5 23.3333 (11.6667-46.6667) 2; the mean of its 3 nodes, because the roofs are for one node"},
        {CARM_VIEW_JOB, 1,
         "solve (job 8), solve, 8, , ; 2/2; 1 1.846 1.778 0; 2 2.5 3, 0.1667 1.083 2; 3-3; , , rank 0 on n2; 0; 3.25 1.125 -1 (-1--1) 0; 1 of its 2 rows has no dram_bytes, so the sum is unknown; the mean of its 2 nodes, because the roofs are for one node"},
        {CARM_VIEW_NODE, 0,
         "solve (node n2, job 7), solve, 7, n2, ; 2/1; 1.6 1 3 0; -1 -1 -1, 0.5 2.25 4; 1-4; rank 0 on n2, rank 1 on n2, ; 0; 6 4 50 (25-100) 3; "},
        {CARM_VIEW_NODE, 1,
         "solve (node n3, job 7), solve, 7, n3, ; 1/1; 1 1 1 0; 1 1 1, 0.25 0.25 0.25; 4-4; , , ; 0; 1 1 0 (0-0) 1; "},
        {CARM_VIEW_NODE, 2,
         "solve (node n10, job 7), solve, 7, n10, ; 2/1; 1.6 1.455 1.455 0; 2 2 2, 4 5 6; 0.5-2; rank 3 on n10, rank 2 on n10, rank 3 on n10; 0; 11 5.5 20 (10-40) 2; "},
        {CARM_VIEW_NODE, 3,
         "solve (an unnamed node, job 8), solve, 8, , ; 1/1; 1 1 1 0; 2 2 2, 0.1667 0.1667 0.1667; 3-3; , , ; 0; 0.5 0.25 1 (0.5-2) 1; "},
        {CARM_VIEW_NODE, 4,
         "solve (node n2, job 8), solve, 8, n2, ; 1/1; 1 1 1 0; 3 3 3, 2 2 2; 3-3; , , ; 0; 6 2 -1 (-0.5--2) 0; "},
        {CARM_VIEW_RANK, 0,
         "solve (rank 0, job 7), solve, 7, n2, 0; 1/1; 0 0 0 0; 0.5 0.5 0.5, 0.5 0.5 0.5; 4-4; , , ; 0; 2 4 30 (15-60) 1; "},
        {CARM_VIEW_RANK, 1,
         "solve (rank 1, job 7), solve, 7, n2, 1; 1/1; 0 0 0 0; -1 -1 -1, 4 4 4; 1-1; , , ; 0; 4 0 50 (25-100) 2; "},
        {CARM_VIEW_RANK, 2,
         "solve (rank 2, job 7), solve, 7, n10, 2; 1/1; 0 0 0 0; 2 2 2, 6 6 6; 0.5-0.5; , , ; 0; 3 1.5 10 (5-20) 1; "},
        {CARM_VIEW_RANK, 3,
         "solve (rank 3, job 7), solve, 7, n10, 3; 1/1; 0 0 0 0; 2 2 2, 4 4 4; 2-2; , , ; between 0; 8 4 20 (10-40) 1; "},
        {CARM_VIEW_RANK, 4,
         "solve (rank 10, job 7), solve, 7, n3, 10; 1/1; 0 0 0 0; 1 1 1, 0.25 0.25 0.25; 4-4; , , ; last 1; 1 1 0 (0-0) 1; "},
        {CARM_VIEW_RANK, 5,
         "solve (rank 0, job 8), solve, 8, n2, 0; 1/1; 0 0 0 0; 3 3 3, 2 2 2; 3-3; , , ; 0; 6 2 -1 (-0.5--2) 0; "},
        {CARM_VIEW_RANK, 6,
         "solve (process 7, job 8), solve, 8, , ; 1/1; 0 0 0 0; 2 2 2, 0.1667 0.1667 0.1667; 3-3; , , ; last 0; 0.5 0.25 1 (0.5-2) 1; "},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_point p = row(rows[i].job, rows[i].host, rows[i].rank, rows[i].flops,
                                  rows[i].bytes, rows[i].seconds);
        p.pid = rows[i].pid;
        p.dram_bytes = rows[i].dram;
        p.level_low[2] = 0.5 * rows[i].dram;
        p.level_high[2] = 2.0 * rows[i].dram;
        p.threads = rows[i].threads;
        p.counted_by = rows[i].counted_by;
        put(&p);
    }
    fold(4);
    assert_int_equal(carm_views_count(views, CARM_VIEW_JOB), 2);
    assert_int_equal(carm_views_count(views, CARM_VIEW_NODE), 5);
    assert_int_equal(carm_views_count(views, CARM_VIEW_RANK), 7);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_string_equal(told(all[i].kind, all[i].i), all[i].told);
    }
}

/* Each count of a job is the mean of its nodes. */
TEST_BETWEEN(each_count_is_a_mean, set_up, tear_down)
{
    for (int node = 0; node < 2; node++) {
        struct carm_point p = carm_point_blank();
        for (size_t k = 0; k < CARM_POINT_COLUMNS; k++) {
            if (!carm_point_is_text(&carm_point_columns[k])) {
                carm_point_put_number(&p, &carm_point_columns[k], 10.0 + 40.0 * node + (double)k);
            }
        }
        p.name = "a";
        p.host = node ? "n1" : "n0";
        put(&p);
    }
    fold(0);
    get(CARM_VIEW_JOB, 0);
    for (size_t k = 0; k < CARM_POINT_COLUMNS; k++) {
        double v = 0.0;
        const bool other =
            k == CARM_COLUMN_seconds || k == CARM_COLUMN_share || k == CARM_COLUMN_threads ||
            (k >= CARM_COLUMN_aware_imbalance_at && k <= CARM_COLUMN_original_imbalance_at) ||
            (k >= CARM_COLUMN_kind && k != CARM_COLUMN_task_seconds);
        if (!other && !carm_point_is_text(&carm_point_columns[k])) {
            memcpy(&v, (const char *)&view.merged.point + carm_point_columns[k].at, sizeof v);
            fail_if(fabs(v - (30.0 + (double)k)) > 1e-9, "%s: %g", carm_point_columns[k].name, v);
        }
    }
    assert_int_equal(view.merged.point.threads, 30 + CARM_COLUMN_threads);
}

TEST(ratios)
{
    static const struct {
        double each, sum, shares, ratio;
    } cases[] = {{3, 8, 4, 1.5}, {2, 8, 4, 1},        {2.02, 8, 4, 1.01},    {1, 8, 4, 1},
                 {-1, 8, 4, 0},  {0, 8, 4, 1},        {3, 0, 4, 0},          {3, -1, 4, 0},
                 {3, 8, 0, 0},   {0.5, 0.5, 0.75, 1}, {0.5, 0.25, 0.75, 1.5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_near(carm_imbalance_ratio(cases[i].each, cases[i].sum, cases[i].shares),
                    cases[i].ratio, 1e-12);
    }
    static const struct {
        double time, work, gain, lost;
        bool by_time;
    } costs[] = {{1.5, 1.2, 1.5, 1 / 3.0, true},
                 {1.2, 1.25, 1.25, 0.2, false},
                 {1.25 * 1.0051, 1.25, 1.25 * 1.0051, 1 - 0.8 / 1.0051, true},
                 {1.25 * 1.0049, 1.25, 1.25 * 1.0049, 1 - 0.8 / 1.0049, false},
                 {0, 0, 0, 0, false},
                 {1, 1, 1, 0, false}};
    for (size_t i = 0; i < sizeof costs / sizeof *costs; i++) { /* without a roof */
        const struct carm_imbalance imbalance = {
            .time = costs[i].time, .work = costs[i].work, .bytes = 9, .dram = 9};
        struct carm_imbalance_cost cost;
        carm_imbalance_find(&imbalance, NULL, NULL, (const bool[2]){false, false}, &cost);
        assert_near(cost.gain, costs[i].gain, 1e-12);
        assert_near(cost.lost, costs[i].lost, 1e-12);
        assert_int_equal(cost.by_time, costs[i].by_time);
        assert_true(cost.at[0] == 0.0 && cost.at[1] == 0.0);
    }
}
