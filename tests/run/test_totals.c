/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Totals of counters against counted ones: what deviates, what bounds allow, and the reasons given. */
#include "run/totals.h"
#include "tests/unit.h"

static struct carm_counts counters, counted;
static struct carm_recipe recipe;

/* A million instructions by both, one in ten a flop. */
static int reset(void **state)
{
    memset(&counters, 0, sizeof counters);
    memset(&counted, 0, sizeof counted);
    memset(&recipe, 0, sizeof recipe);
    (void)snprintf(recipe.title, sizeof recipe.title, "Intel Hand");
    carm_count_put(&counters, CARM_Q_INSTRUCTIONS, 1e6, CARM_COUNTED_PMU);
    carm_count_put(&counters, CARM_Q_FLOPS, 1e5, CARM_COUNTED_PMU);
    carm_count_put(&counted, CARM_Q_INSTRUCTIONS, 1e6, CARM_COUNTED_TRANSLATED);
    carm_count_put(&counted, CARM_Q_FLOPS, 1e5, CARM_COUNTED_TRANSLATED);
    return 0;
}

static struct carm_totals compare(void)
{
    struct carm_totals totals;
    carm_totals_compare(&totals, CARM_PROVIDER_PAPI, &recipe, &counters, &counted);
    return totals;
}

static void says(const char *text)
{
    const struct carm_totals totals = compare();
    fail_if(!strstr(totals.warning, text), "'%s' is not in '%s'", text, totals.warning);
}

TEST_BETWEEN(equal_totals_agree, reset, NULL)
{
    const struct carm_totals totals = compare();
    assert_int_equal(totals.n, 2);
    assert_int_equal(totals.of[0].quantity, CARM_Q_FLOPS);
    assert_true(totals.of[0].deviation == 0.0 && totals.of[1].deviation == 0.0);
    assert_string_equal(totals.warning, "");
}

TEST_BETWEEN(the_bound, reset, NULL)
{
    carm_count_put(&counted, CARM_Q_FLOPS, 1.04e5, CARM_COUNTED_TRANSLATED);
    assert_string_equal(compare().warning, "");
    carm_count_put(&counted, CARM_Q_FLOPS, 1.06e5, CARM_COUNTED_TRANSLATED);
    says("flops differ by more than 5%; a hypervisor");
    carm_count_put(&counted, CARM_Q_FLOPS, 0.94e5, CARM_COUNTED_TRANSLATED);
    says("flops differ by more than 5%; Intel's counters have all lanes of masked instructions");
    (void)snprintf(recipe.title, sizeof recipe.title, "AMD Hand");
    says("AMD's counters may have flops of masked lanes");
}

TEST_BETWEEN(other_instructions_explain_all, reset, NULL)
{
    carm_count_put(&counted, CARM_Q_INSTRUCTIONS, 2e6, CARM_COUNTED_TRANSLATED);
    carm_count_put(&counted, CARM_Q_FLOPS, 2e5, CARM_COUNTED_TRANSLATED);
    says("flops, instructions differ by more than 5%; the runs executed different numbers");
    assert_null(strstr(compare().warning, "hypervisor"));
}

TEST_BETWEEN(x87_is_not_compared, reset, NULL)
{
    carm_count_put(&counted, CARM_Q_FLOPS, 3e5, CARM_COUNTED_TRANSLATED);
    carm_count_put(&counted, CARM_Q_FLOPS_OTHER, 2e5, CARM_COUNTED_TRANSLATED);
    assert_true(compare().of[0].deviation == 0.0);
    assert_string_equal(compare().warning, "");
    carm_count_put(&counters, CARM_Q_FLOPS_OTHER, 2e5, CARM_COUNTED_PMU);
    says("flops differ");
}

/* An upper bound may be higher, not lower; bytes have bounds of their own. */
TEST_BETWEEN(bounds_of_the_counters, reset, NULL)
{
    carm_count_put(&counted, CARM_Q_LOADS, 1e5, CARM_COUNTED_TRANSLATED);
    counters.q[CARM_Q_LOADS] = (struct carm_count){3e5, 0.0, 3e5, CARM_COUNTED_PMU, 1.0};
    assert_string_equal(compare().warning, "");
    assert_true(fabs(compare().of[2].deviation + 2.0 / 3.0) < 1e-12);
    counters.q[CARM_Q_LOADS] = (struct carm_count){0.5e5, 0.0, 0.5e5, CARM_COUNTED_PMU, 0.25};
    says("loads differ by more than 5%; Intel counts instructions");
    says("multiplexed: each counted 25% of the time or more");
    carm_count_put(&counted, CARM_Q_BYTES, 8e5, CARM_COUNTED_TRANSLATED);
    counters.q[CARM_Q_BYTES] = (struct carm_count){16e5, 7e5, 32e5, CARM_COUNTED_PMU, 1.0};
    assert_null(strstr(compare().warning, "bytes"));
    counters.q[CARM_Q_BYTES] = (struct carm_count){16e5, 16e5, 32e5, CARM_COUNTED_PMU, 1.0};
    says("bytes are estimated from the widths");
}

/* Each reason belongs to its quantity, its maker and its provider. */
TEST_BETWEEN(reasons, reset, NULL)
{
    struct carm_totals totals;
    carm_count_put(&counters, CARM_Q_STORES, 1e5, CARM_COUNTED_PMU);
    carm_count_put(&counted, CARM_Q_STORES, 2e5, CARM_COUNTED_TRANSLATED);
    assert_near(compare().of[2].deviation, 1.0, 1e-12);
    assert_near(compare().of[2].counter, 1e5, 0.0);
    assert_near(compare().of[2].counted, 2e5, 0.0);
    says("stores differ by more than 5%; Intel counts instructions");
    assert_null(strstr(compare().warning, "multiplexed"));
    assert_null(strstr(compare().warning, "likwid"));
    (void)snprintf(recipe.title, sizeof recipe.title, "AMD Hand");
    says("AMD counts dispatched operations");
    carm_totals_compare(&totals, CARM_PROVIDER_LIKWID, &recipe, &counters, &counted);
    assert_non_null(strstr(totals.warning, "likwid counts processors"));
    assert_int_equal(totals.provider, CARM_PROVIDER_LIKWID);
    carm_count_put(&counters, CARM_Q_LOADS, 2e5, CARM_COUNTED_PMU);
    carm_count_put(&counted, CARM_Q_LOADS, 1e5, CARM_COUNTED_TRANSLATED);
    says("loads, stores differ");
    carm_count_put(&counters, CARM_Q_LOADS, 1.04e5, CARM_COUNTED_PMU); /* within 5% */
    assert_null(strstr(compare().warning, "loads, "));
}

TEST_BETWEEN(nothing_and_little, reset, NULL)
{
    carm_count_put(&counters, CARM_Q_FLOPS, 0.0, CARM_COUNTED_PMU);
    assert_true(isinf(compare().of[0].deviation));
    says("flops differ");
    carm_count_put(&counted, CARM_Q_FLOPS, 999.0, CARM_COUNTED_TRANSLATED);
    assert_int_equal(compare().n, 1);
    carm_count_put(&counted, CARM_Q_FLOPS, 1000.0, CARM_COUNTED_TRANSLATED);
    assert_int_equal(compare().n, 2); /* a thousandth of the instructions */
    counters.q[CARM_Q_FLOPS] = (struct carm_count){.by = CARM_COUNTED_NOT};
    assert_int_equal(compare().n, 1);
}

/* Farther than 5% beyond the bounds, not as far; with no instructions counted, one flop is compared, and none is not. */
TEST_BETWEEN(borders, reset, NULL)
{
    counters.q[CARM_Q_FLOPS] = (struct carm_count){1e5, 1e5, 1e5, CARM_COUNTED_PMU, 1.0};
    carm_count_put(&counted, CARM_Q_FLOPS, 105000.0, CARM_COUNTED_TRANSLATED);
    assert_false(compare().of[0].beyond);
    carm_count_put(&counted, CARM_Q_FLOPS, 105001.0, CARM_COUNTED_TRANSLATED);
    assert_true(compare().of[0].beyond);
    carm_count_put(&counted, CARM_Q_FLOPS, 95000.0, CARM_COUNTED_TRANSLATED);
    assert_false(compare().of[0].beyond);
    carm_count_put(&counted, CARM_Q_FLOPS, 94999.0, CARM_COUNTED_TRANSLATED);
    assert_true(compare().of[0].beyond);
    counters.q[CARM_Q_FLOPS].share = 0.5; /* the first of the totals */
    says("each counted 50% of the time or more");
    counted.q[CARM_Q_INSTRUCTIONS].by = CARM_COUNTED_NOT;
    counted.q[CARM_Q_INSTRUCTIONS].value = 0.0;
    carm_count_put(&counters, CARM_Q_FLOPS, 1.0, CARM_COUNTED_PMU);
    carm_count_put(&counted, CARM_Q_FLOPS, 1.0, CARM_COUNTED_TRANSLATED);
    assert_true(compare().n == 1 && compare().of[0].deviation == 0.0);
    carm_count_put(&counters, CARM_Q_FLOPS, 0.0, CARM_COUNTED_PMU);
    carm_count_put(&counted, CARM_Q_FLOPS, 0.0, CARM_COUNTED_TRANSLATED);
    assert_int_equal(compare().n, 0);
}
