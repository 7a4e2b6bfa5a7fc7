/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm compare --run: two commands in turn. */
#include "cli/compare/pairs.h"

#include <math.h>
#include <stdio.h>

#include "base/json_write.h"
#include "base/number.h"
#include "base/observer.h"
#include "base/text.h"
#include "cli/compare/print.h"
#include "cli/opt.h"

static char *seconds_text(char *dst, size_t size, double seconds)
{
    snprintf(dst, size, seconds < 1.0 ? "%.2f ms" : "%.3f s",
             seconds < 1.0 ? 1e3 * seconds : seconds);
    return dst;
}

static void put_time(const char *title, const struct carm_pairs_time *t)
{
    char a[32], b[32], change[32], low[32], high[32];
    printf("  %-15s %12s %12s %9s   %s to %s\n", title, seconds_text(a, sizeof a, t->seconds[0]),
           seconds_text(b, sizeof b, t->seconds[1]),
           carm_compare_percent(change, sizeof change, t->change),
           carm_compare_percent(low, sizeof low, t->low),
           carm_compare_percent(high, sizeof high, t->high));
}

/* "the core was shared before 12% of the runs; other programs took 0.8 processors" */
static void machine_text(char *dst, size_t size, const struct carm_pairs *p)
{
    dst[0] = '\0';
    if (p->shared >= 0.0) {
        carm_text_list(dst, size, "; ", "before %.0f%% of the runs the core was shared",
                       100.0 * p->shared);
    }
    if (p->others >= 0.0) {
        carm_text_list(dst, size, "; ", "other programs took %.2g processors", p->others);
    }
    if (p->stolen > 0.0) {
        carm_text_list(dst, size, "; ", "the hypervisor took %.2g processors", p->stolen);
    }
    if (p->clock >= 0.0) {
        carm_text_list(dst, size, "; ", "the core's clock varied by %.2g%%", 100.0 * p->clock);
    }
}

/* The answer in words. */
static void answer_text(char *dst, size_t size, const struct carm_compare_pairs *job,
                        const struct carm_pairs *p)
{
    const bool processor = p->wall.verdict != p->verdict;
    const struct carm_pairs_time *t = processor ? &p->processor : &p->wall;
    char change[32];
    carm_compare_percent(change, sizeof change, t->change);
    if (p->verdict == CARM_PAIRS_UNDECIDED) {
        snprintf(dst, size,
                 "Not comparable: %zu pairs leave the %s time between %+.1f%% and %+.1f%%.", p->n,
                 processor ? "processor" : "wall", 100.0 * t->low, 100.0 * t->high);
    } else if (p->verdict != CARM_PAIRS_WITHIN) {
        snprintf(dst, size, "B is %s: %s in %s time.", carm_pairs_verdict_name(p->verdict), change,
                 processor ? "processor" : "wall");
    } else if (job->how.threshold > 0.0) {
        snprintf(dst, size, "B is at most %.3g%% slower.", 100.0 * job->how.threshold);
    } else {
        snprintf(dst, size, "No difference of more than %.2g%%.",
                 100.0 * fmax(fmax(fabs(p->wall.low), fabs(p->wall.high)),
                              fmax(fabs(p->part.low), fabs(p->part.high))));
    }
}

static void put_table(const struct carm_compare_pairs *job, const struct carm_pairs *p)
{
    char text[256], name[160];
    answer_text(text, sizeof text, job, p);
    printf("%s\n", text);
    for (int c = 0; c < 2; c++) {
        printf("  %c  %s\n", "AB"[c],
               carm_text_clean(name, sizeof name, job->how.command[c], job->ascii));
    }
    printf("  %-15s %12s %12s %9s   %s\n", "", "A", "B", "change", "99% CI");
    put_time("wall time", &p->wall);
    put_time("processor time", &p->processor);
    machine_text(text, sizeof text, p);
    carm_opt_print_wrapped("  ", 2, "%zu pairs%s%s", p->n, *text ? "; " : "", text);
}

static void put_number(bool first, const char *name, double v)
{
    char text[CARM_NUMBER_MAX];
    carm_json_put_member(stdout, first, name, v >= 0.0 ? carm_number_digits(text, v, 6) : "null");
}

static void put_json_time(const char *name, const struct carm_pairs_time *t)
{
    printf(
        ",\n \"%s\": {\"before\": %.9g, \"after\": %.9g, \"change\": %.6g, \"low\": %.6g, \"high\": %.6g, "
        "\"verdict\": \"%s\"}",
        name, t->seconds[0], t->seconds[1], t->change, t->low, t->high,
        carm_pairs_verdict_name(t->verdict));
}

static void put_json(const struct carm_compare_pairs *job, const struct carm_pairs *p)
{
    putchar('{');
    carm_json_put_text(stdout, true, "schema", "carm-compare-run/1");
    carm_json_put_text(stdout, false, "before", job->how.command[0]);
    carm_json_put_text(stdout, false, "after", job->how.command[1]);
    carm_json_put_text(stdout, false, "verdict", carm_pairs_verdict_name(p->verdict));
    printf(", \"pairs\": %zu", p->n);
    put_json_time("wall", &p->wall);
    put_json_time("processor", &p->processor);
    fputs(",\n \"machine\": {", stdout);
    put_number(true, "core_shared", p->shared);
    put_number(false, "other_processors", p->others);
    put_number(false, "stolen_processors", p->stolen);
    put_number(false, "clock_variation", p->clock);
    fputs("}}\n", stdout);
}

int carm_compare_pairs_run(const struct carm_compare_pairs *job)
{
    struct carm_err err = {""};
    struct carm_pairs pairs;
    char answer[256];
    carm_interrupt_watch();
    const int rc = carm_pairs_run(&job->how, &pairs, &err);
    carm_interrupt_release();
    if (rc) {
        return carm_say_error(CARM_EXIT_FAILED, "%s", err.text);
    }
    if (job->json) {
        put_json(job, &pairs);
    } else {
        put_table(job, &pairs);
    }
    fflush(stdout);
    answer_text(answer, sizeof answer, job, &pairs);
    return pairs.verdict == CARM_PAIRS_UNDECIDED
               ? carm_say_error(CARM_COMPARE_INCOMPARABLE, "%s", answer)
           : pairs.verdict == CARM_PAIRS_SLOWER && job->how.threshold > 0.0
               ? carm_say_error(CARM_EXIT_FAILED, "more than %.3g%% slower: %s",
                                100.0 * job->how.threshold, answer)
               : CARM_EXIT_OK;
}
