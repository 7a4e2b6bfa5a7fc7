/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The answer of carm run: sentences and table of given verdicts, as printed. */
#include <unistd.h>

#include "cli/run/verdict.h"
#include "tests/unit.h"

static struct carm_run run = {.name = "app", .row = {.seconds = 2.0}, .cpu_seconds = 2.0};
static struct carm_profile_row rows[2];
static struct carm_run_verdict verdicts[2];
static char printed[4096];

/* A row with a verdict that has this limit and first advice. */
static struct carm_verdict *row_of(size_t i, double share, enum carm_limit limit,
                                   enum carm_advice_code advice)
{
    memset(&rows[i], 0, sizeof rows[i]);
    memset(&verdicts[i], 0, sizeof verdicts[i]);
    snprintf(rows[i].name, sizeof rows[i].name, "part%zu in app.c:%zu", i, i + 1);
    rows[i].share = share;
    rows[i].threads = 1;
    verdicts[i].has = true;
    struct carm_verdict *v = &verdicts[i].verdict;
    v->limit = limit;
    v->second = CARM_LIMIT_UNKNOWN;
    v->explains = 0.9;
    v->loop = v->program = (struct carm_verdict_gain){1.0, 1.0};
    v->advice[v->nadvice++] = (struct carm_verdict_advice){.code = advice, .removes = limit};
    return v;
}

static void advise(struct carm_verdict *v, enum carm_advice_code code, enum carm_limit removes,
                   double low, double high)
{
    v->advice[v->nadvice++] =
        (struct carm_verdict_advice){.code = code, .removes = removes, .gain = {low, high}};
}

/* returns the text that was printed for the first `n` rows */
static const char *show(size_t n)
{
    struct carm_profile profile = {.rows = rows, .nrows = n};
    FILE *file = tmpfile();
    assert_non_null(file);
    (void)fflush(stderr);
    const int kept = dup(STDERR_FILENO);
    assert_true(kept >= 0 && dup2(fileno(file), STDERR_FILENO) >= 0);
    carm_run_verdicts_show(&run, &profile, verdicts);
    (void)fflush(stderr);
    assert_true(dup2(kept, STDERR_FILENO) >= 0 && close(kept) == 0);
    rewind(file);
    printed[fread(printed, 1, sizeof printed - 1, file)] = '\0';
    assert_int_equal(fclose(file), 0);
    return printed;
}

static bool says(const char *line)
{
    return strstr(printed, line) != NULL;
}

TEST(further_advice)
{
    struct carm_verdict *v = row_of(0, 0.9, CARM_LIMIT_LATENCY, CARM_ADVICE_PREFETCH);
    v->program = (struct carm_verdict_gain){1.5, 3.0};
    advise(v, CARM_ADVICE_HUGE_PAGES, CARM_LIMIT_LATENCY, 1.4, 2.3);
    show(1);
    assert_true(says("prefetches, 1.5..3x for the program\ncarm: or: huge pages "
                     "(GLIBC_TUNABLES=glibc.malloc.hugetlb=1, or madvise), 1.4..2.3x for this "
                     "part\ncarm:   time"));
    /* the answer's gain, and as good as none */
    v->advice[1].gain = (struct carm_verdict_gain){0.0, 0.0};
    assert_non_null(strstr(show(1), "madvise)\ncarm:   time"));
    v->advice[1].gain = (struct carm_verdict_gain){1.0, 1.04};
    assert_null(strstr(show(1), "carm: or"));
    /* the first advice is in the answer */
    v->advice[0].gain = (struct carm_verdict_gain){1.4, 2.3};
    v->nadvice = 1;
    assert_null(strstr(show(1), "carm: or"));
    /* no more than the answer's part: a table has no room */
    v = row_of(1, 0.05, CARM_LIMIT_LATENCY, CARM_ADVICE_PREFETCH);
    advise(v, CARM_ADVICE_HUGE_PAGES, CARM_LIMIT_LATENCY, 1.4, 2.3);
    assert_null(strstr(show(2), "carm: or"));
    assert_true(says("part1 in app.c:2"));
}

TEST(unequal_work)
{
    struct carm_verdict *v = row_of(0, 0.9, CARM_LIMIT_DIVIDER, CARM_ADVICE_FEWER_DIVISIONS);
    rows[0].threads = 2;
    advise(v, CARM_ADVICE_BALANCE, CARM_LIMIT_WAITING, 1.0, 1.5);
    show(1);
    assert_true(says("carm: its 2 threads have unequal work there: share it out more evenly "
                     "(another schedule, smaller pieces), up to 1.5x for this part\n"));
    assert_false(says("carm: or"));
    /* time that is waiting has it as its own advice */
    row_of(0, 0.9, CARM_LIMIT_WAITING, CARM_ADVICE_BALANCE);
    show(1);
    assert_false(says("unequal"));
    assert_true(says("limited by waiting for other threads: share the work out more evenly"));
}

TEST(without_a_verdict)
{
    row_of(0, 0.6, CARM_LIMIT_UNKNOWN, CARM_ADVICE_COUNT);
    row_of(1, 0.3, CARM_LIMIT_DIVIDER, CARM_ADVICE_FEWER_DIVISIONS);
    verdicts[0].has = false;
    rows[0].kind = CARM_PROFILE_LOOP;
    show(2);
    assert_true(
        says("60% in part0 in app.c:1, which was not counted: there is no verdict on it\n"));
    assert_true(says("carm:  60.0%  not known") && says("part1 in app.c:2"));
    rows[0].differs = true;
    show(2);
    assert_true(says("app.c:1, whose counts and time are of runs that differ: there is no"));
    rows[0].kind = CARM_PROFILE_UNKNOWN;
    show(2);
    assert_true(says("app.c:1, made while it ran (by a JIT compiler, say): there is no"));
    /* many small parts together are none, and a small part is no answer */
    rows[0].kind = CARM_PROFILE_OTHERS;
    show(2);
    assert_true(says("30% in part1 in app.c:2, limited by the divider"));
    rows[0].kind = CARM_PROFILE_LOOP;
    rows[0].share = 0.1;
    show(2);
    assert_false(says("part0"));
}

TEST(page_faults)
{
    struct carm_verdict *v = row_of(0, 0.6, CARM_LIMIT_KERNEL, CARM_ADVICE_FEWER_FAULTS);
    v->program = (struct carm_verdict_gain){1.0, 1.5};
    snprintf(verdicts[0].note, sizeof verdicts[0].note, "page faults take 80%% of it");
    show(1);
    assert_true(says("limited by the kernel (page faults): fewer page faults: reuse memory, huge "
                     "pages, up to 1.5x for the program\ncarm: page faults take 80% of it\n"));
}

RUN_TESTS(NULL, NULL)
