/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of one name as one point: each column of the sum, and doubts about it. */
#include "models/place/merge.h"
#include "tests/unit.h"

static struct carm_merge *merge;
static struct carm_merged sum;

static int set_up(void **state)
{
    return carm_merge_open(&merge, &err);
}

static int tear_down(void **state)
{
    carm_merge_close(merge);
    return 0;
}

static double number_of(const struct carm_point *p, size_t column)
{
    double v = 0.0;
    memcpy(&v, (const char *)p + carm_point_columns[column].at, sizeof v);
    return v;
}

/* A row whose number in column k is `first` + k. */
static struct carm_point counted(double first)
{
    struct carm_point p = carm_point_blank();
    for (size_t k = 0; k < CARM_POINT_COLUMNS; k++) {
        if (!carm_point_is_text(&carm_point_columns[k])) {
            carm_point_put_number(&p, &carm_point_columns[k], first + (double)k);
        }
    }
    p.name = "a";
    return p;
}

static void add(const struct carm_point *p)
{
    assert_ok(carm_merge_add(merge, p, &err));
    carm_merge_get(merge, 0, &sum);
}

enum how { SUM, LARGEST, SMALLEST, FIRST, UNKNOWN };

/* How a column's numbers become one. */
static enum how how_of(size_t column)
{
    switch (column) {
    case CARM_COLUMN_seconds:
        return LARGEST;
    case CARM_COLUMN_share:
        return SMALLEST;
    case CARM_COLUMN_aware_imbalance_at:
    case CARM_COLUMN_original_imbalance_at:
        return UNKNOWN;
    case CARM_COLUMN_time_share:
    case CARM_COLUMN_samples:
    case CARM_COLUMN_entries:
    case CARM_COLUMN_trips:
    case CARM_COLUMN_explains:
    case CARM_COLUMN_gain_low:
    case CARM_COLUMN_gain_high:
        return FIRST; /* of parts and verdicts, which a sum has not */
    default:
        return SUM;
    }
}

/* Two rows; then one that does not know one column, which the sum does not know either. */
TEST(each_column)
{
    for (size_t lacking = 0; lacking < CARM_POINT_COLUMNS; lacking++) {
        struct carm_point one = counted(100), two = counted(2000);
        if (carm_point_is_text(&carm_point_columns[lacking])) {
            continue;
        }
        (void)set_up(NULL);
        add(&one);
        add(&two);
        assert_int_equal(sum.rows, 2);
        assert_int_equal(sum.point.threads, one.threads + two.threads);
        if (lacking != CARM_COLUMN_threads) {
            carm_point_put_number(&two, &carm_point_columns[lacking], CARM_POINT_UNKNOWN);
        } else {
            two.threads = 0;
        }
        const struct carm_point before = sum.point;
        add(&two);
        assert_int_equal(sum.point.threads,
                         lacking == CARM_COLUMN_threads ? 0 : before.threads + two.threads);
        for (size_t k = 0; k < CARM_POINT_COLUMNS; k++) {
            const double a = 100.0 + (double)k, b = 2000.0 + (double)k;
            const enum how how = how_of(k);
            if (carm_point_is_text(&carm_point_columns[k]) || k == CARM_COLUMN_threads) {
                continue;
            }
            assert_near(number_of(&before, k),
                        how == SUM       ? a + b
                        : how == LARGEST ? b
                        : how == UNKNOWN ? -1.0
                                         : a,
                        0.0);
            /* an interval that is not known is the number itself */
            const bool low = k == CARM_COLUMN_flops_low || k == CARM_COLUMN_flops_high ||
                             k == CARM_COLUMN_bytes_low || k == CARM_COLUMN_bytes_high ||
                             (k >= CARM_COLUMN_l2_bytes_low && k <= CARM_COLUMN_dram_bytes_high);
            if (k == lacking && !low && how != FIRST) {
                assert_near(number_of(&sum.point, k), -1.0, 0.0);
            } else if (k != lacking && how == SUM) {
                assert_near(number_of(&sum.point, k), a + 2 * b, 0.0);
            }
        }
        (void)tear_down(NULL);
    }
}

/* An interval of one row, and an exact number of the other. */
TEST_BETWEEN(intervals, set_up, tear_down)
{
    struct carm_point exact = carm_point_blank(), wide = exact;
    exact.name = wide.name = "a";
    exact.flops = wide.flops = 10;
    exact.bytes = wide.bytes = 20;
    exact.level_bytes[0] = wide.level_bytes[0] = 30;
    exact.level_bytes[1] = wide.level_bytes[1] = 40;
    exact.dram_bytes = wide.dram_bytes = 50;
    wide.flops_low = 1;
    wide.flops_high = 12;
    wide.bytes_low = 2;
    wide.bytes_high = 24;
    for (int i = 0; i < 3; i++) {
        wide.level_low[i] = 3 + i;
        wide.level_high[i] = 60 + i;
    }
    for (int k = 0; k < 2; k++) { /* in both orders */
        (void)tear_down(NULL);
        (void)set_up(NULL);
        add(k ? &exact : &wide);
        add(k ? &wide : &exact);
        assert_near(sum.point.flops_low, 11, 0);
        assert_near(sum.point.flops_high, 22, 0);
        assert_near(sum.point.bytes_low, 22, 0);
        assert_near(sum.point.bytes_high, 44, 0);
        for (int i = 0; i < 3; i++) {
            assert_near(sum.point.level_low[i], 33 + 11 * i, 0);
            assert_near(sum.point.level_high[i], 90 + 11 * i, 0);
        }
    }
}

/* Times 1, 2 and 6: the slowest takes twice the mean. */
TEST_BETWEEN(times, set_up, tear_down)
{
    static const double seconds[] = {2, 6, 1};
    struct carm_point p = carm_point_blank();
    p.name = "a";
    for (int i = 0; i < 3; i++) {
        p.seconds = seconds[i];
        p.share = 0.5 + 0.1 * i;
        p.threads = 2000000000; /* more than a number of threads holds */
        add(&p);
        assert_int_equal(sum.point.threads, i ? 2147483647 : 2000000000);
    }
    assert_near(sum.imbalance, 2.0, 1e-12);
    assert_near(sum.point.seconds, 6.0, 0.0);
    assert_near(sum.point.share, 0.5, 0.0);
    p.seconds = CARM_POINT_UNKNOWN;
    add(&p);
    assert_near(sum.imbalance, 0.0, 0.0);
    assert_string_equal(sum.note, "1 of its 4 rows has no seconds, so the sum is unknown");
}

/* Texts of two rows, of which each changes one. Its reader overwrites those of the first row. */
TEST(texts)
{
    static const struct {
        const char *isa[2], *precision[2], *counted_by[2], *note[2], *cores[2], *all;
    } cases[] = {
        {{"sse", "sse"},
         {"dp", "dp"},
         {"pmu", "pmu"},
         {"n", "n"},
         {"p:1", "p:1"},
         "sse|dp|pmu|n|p:1"},
        {{"scalar", "sse"},
         {"dp", "sp"},
         {"pmu", "stepped"},
         {"", "n"},
         {"p:1", "e:1"},
         "sse|mixed|several|some of its rows have notes|"},
        {{"avx", "sse"}, {"dp", ""}, {"", ""}, {"n", ""}, {"", "p:1"}, "avx|||n|"},
        {{"avx", "avx2"}, {"", "dp"}, {"", ""}, {"n", "m"}, {"", ""}, "avx2|||n|"},
        {{"amx", "avx512"}, {"", ""}, {"", ""}, {"", ""}, {"", ""}, "amx||||"},
        {{"avx512", "amx"}, {"", ""}, {"", ""}, {"", ""}, {"", ""}, "amx||||"},
        {{"", "scalar"}, {"", ""}, {"", ""}, {"", ""}, {"", ""}, "scalar||||"},
        {{"other", ""}, {"", ""}, {"", ""}, {"", ""}, {"", ""}, "other||||"},
        {{"avx2", "avx512"}, {"", ""}, {"", ""}, {"", ""}, {"", ""}, "avx512||||"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[] = "a", isa[16], precision[16], counted_by[16], note[16], cores[16],
             asks_for[16] = "the time", all[256];
        (void)set_up(NULL);
        for (int k = 0; k < 2; k++) {
            struct carm_point p = carm_point_blank();
            p.name = name;
            p.isa = strcpy(isa, cases[i].isa[k]);
            p.precision = strcpy(precision, cases[i].precision[k]);
            p.counted_by = strcpy(counted_by, cases[i].counted_by[k]);
            p.note = strcpy(note, cases[i].note[k]);
            p.cores = strcpy(cores, cases[i].cores[k]);
            p.asks_for = asks_for;
            p.kind = "loop";
            p.limit = "dram";
            add(&p);
        }
        (void)strcpy(asks_for, "other");
        name[0] = 'b';
        (void)snprintf(all, sizeof all, "%s|%s|%s|%s|%s", sum.point.isa, sum.point.precision,
                       sum.point.counted_by, sum.point.note, sum.point.cores);
        assert_string_equal(all, cases[i].all);
        assert_string_equal(sum.point.asks_for, "the time");
        assert_string_equal(sum.point.name, "a");
        assert_true(!*sum.point.kind && !*sum.point.limit);
        (void)tear_down(NULL);
    }
}

/* Ranks and hosts: repeated runs, other hosts; by names and by keys. */
TEST(doubts)
{
    static const struct {
        const char *rank[3], *pid[3], *host[3];
        size_t repeated;
        const char *note, *note_of_keys;
    } cases[] = {
        {{"0", "1", "2"}, {"5", "5", "5"}, {"h", "h", "h"}, 0, "", ""},
        {{"0", "0", "1"},
         {"5", "6", "6"},
         {"h", "h", "h"},
         1,
         "rank 0 appears 2 times: rows of repeated runs must not be summed",
         "rank 0 appears 2 times: rows of repeated runs must not be summed"},
        {{"0", "0", "0"},
         {"5", "5", "6"},
         {"h", "h", "h"},
         1,
         "rank 0 appears 2 times: rows of repeated runs must not be summed",
         "rank 0 appears 2 times: rows of repeated runs must not be summed"},
        {{"3", "3", "3"},
         {"", "", ""},
         {"h", "i", "h"},
         2,
         "rank 3 appears 3 times: rows of repeated runs must not be summed; its rows come from several hosts, but the roofs are for one",
         "rank 3 appears 3 times: rows of repeated runs must not be summed"},
        {{"", "", ""},
         {"1", "2", "3"},
         {"h", "h", "i"},
         0,
         "its rows come from several hosts, but the roofs are for one",
         ""},
    };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
        (void)set_up(NULL);
        for (int k = 0; k < 3; k++) {
            struct carm_point p = carm_point_blank();
            size_t index = 7;
            p.name = i % 2 ? k ? "b" : "a" : "a";
            p.rank = cases[i / 2].rank[k];
            p.pid = cases[i / 2].pid[k];
            p.host = cases[i / 2].host[k];
            p.seconds = 1;
            if (i % 2) {
                assert_ok(carm_merge_add_as(merge, "key", &p, &index, &err));
                assert_int_equal(index, 0);
            } else {
                assert_ok(carm_merge_add(merge, &p, &err));
            }
        }
        carm_merge_get(merge, 0, &sum);
        assert_int_equal(carm_merge_names(merge), 1);
        assert_int_equal(sum.repeated, cases[i / 2].repeated);
        assert_string_equal(sum.note, i % 2 ? cases[i / 2].note_of_keys : cases[i / 2].note);
        (void)tear_down(NULL);
    }
}

/* What some rows do not know; what none knows is no doubt. Names in their order. */
TEST_BETWEEN(unknown_numbers, set_up, tear_down)
{
    struct carm_point p = carm_point_blank();
    p.name = "a";
    p.bytes = 1;
    add(&p);
    p.flops = p.bytes = 2;
    add(&p);
    p.flops = p.bytes = CARM_POINT_UNKNOWN;
    add(&p);
    assert_string_equal(
        sum.note,
        "2 of its 3 rows have no flops, so the sum is unknown; 1 of its 3 rows has no bytes, so the "
        "sum is unknown");
    p.name = "b";
    add(&p);
    p.threads = 3; /* of the first row they are not known */
    add(&p);
    assert_int_equal(carm_merge_names(merge), 2);
    carm_merge_get(merge, 1, &sum);
    assert_string_equal(sum.point.name, "b");
    assert_int_equal(sum.rows, 2);
    assert_int_equal(sum.point.threads, 0);
    carm_merge_close(NULL);
    p.metric = "swaps";
    assert_refused(
        carm_merge_add(merge, &p, &err), -CARM_EINVAL,
        "rows of 'b' have the metrics '' and 'swaps', which cannot be summed: give them different names");
}
