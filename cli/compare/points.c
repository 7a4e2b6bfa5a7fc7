/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Two files of points: a table, JSON or Markdown, and the gates. */
#include "cli/compare/points.h"

#include <errno.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/job.h"
#include "base/json_write.h"
#include "base/number.h"
#include "base/text.h"
#include "cli/compare/print.h"
#include "cli/opt.h"
#include "models/file/select.h"

struct page {
    const struct carm_compare_points *job;
    const struct carm_changes *changes;
    const struct carm_model *model;      /* NULL = none */
    double tolerance[CARM_CHANGE_KINDS]; /* of --exact; negative = not checked */
};

/* ---- --exact ---- */

/* "flops,bytes:1%": a column without a tolerance must be equal. */
static int parse_exact(struct page *page, const char *list, struct carm_err *err)
{
    static const enum carm_change_kind usual[] = {
        CARM_CHANGE_FLOPS, CARM_CHANGE_BYTES, CARM_CHANGE_INSTRUCTIONS, CARM_CHANGE_VECTOR_SHARE};
    for (int k = 0; k < CARM_CHANGE_KINDS; k++) {
        page->tolerance[k] = -1.0;
    }
    for (size_t i = 0; list && !*list && i < sizeof usual / sizeof *usual; i++) {
        page->tolerance[usual[i]] = 0.0;
    }
    while (list && *list) {
        const size_t n = strcspn(list, ",");
        const size_t name = strcspn(list, ":,");
        const enum carm_change_kind kind = carm_change_find(list, name);
        char word[32] = "0";
        if (name < n) {
            snprintf(word, sizeof word, "%.*s", (int)(n - name - 1), list + name + 1);
        }
        const size_t length = strlen(word);
        if (length > 0 && word[length - 1] == '%') {
            word[length - 1] = '\0';
        }
        if (kind == CARM_CHANGE_KINDS || kind < CARM_CHANGE_VECTOR_SHARE ||
            !carm_number_percent(word, &page->tolerance[kind])) {
            return carm_fail(
                err, CARM_EINVAL,
                "--exact takes flops, bytes, l2_bytes, l3_bytes, dram_bytes, instructions, "
                "allocations and vector_share, each with a tolerance such as bytes:1%%, not '%.40s'",
                list);
        }
        list += n + (list[n] == ',');
    }
    return 0;
}

/* Whether a count is within the tolerance of --exact; true for counts that --exact does not
 * name. Without flops in one file, the share of flops in vectors is not compared. */
static bool within(const struct page *page, const struct carm_change *c, enum carm_change_kind kind)
{
    const double t = page->tolerance[kind];
    const struct carm_change_value *v = &c->values[kind];
    const double *flops = c->values[CARM_CHANGE_FLOPS].value;
    if (kind == CARM_CHANGE_VECTOR_SHARE && (flops[0] == 0.0 || flops[1] == 0.0)) {
        return true;
    }
    const double rounding = t > 0.0 ? 4.0 * DBL_EPSILON : 0.0; /* 101 / 100 - 1 is above 1% */
    return t < 0.0 || (v->verdict != CARM_CHANGE_UNKNOWN && (t > 0.0 || !v->varies) &&
                       fabs(v->change) <= t + rounding);
}

/* ---- text ---- */

static const struct {
    const char *title, *unit; /* unit "" = a plain number, "%" = a share */
    bool counted;             /* printed as whole numbers if not large */
} kinds[CARM_CHANGE_KINDS] = {{"time", "s", false},
                              {"performance", "flop/s", false},
                              {"flop/byte", "", false},
                              {"of the roof", "%", false},
                              {"of the original roof", "%", false},
                              {"flops in vectors", "%", false},
                              {"flops", "flop", true},
                              {"bytes", "B", true},
                              {"L2 bytes", "B", true},
                              {"L3 bytes", "B", true},
                              {"DRAM bytes", "B", true},
                              {"instructions", "", true},
                              {"allocations", "", true}};

static char *value_text(char *dst, size_t size, enum carm_change_kind kind, double v)
{
    char text[CARM_NUMBER_MAX];
    if (v < 0.0) {
        snprintf(dst, size, "-");
    } else if (strcmp(kinds[kind].unit, "%") == 0) {
        snprintf(dst, size, "%s%%", carm_number_fixed(text, 100.0 * v, 1));
    } else if (kinds[kind].counted && v == floor(v) && v < 1e6) {
        snprintf(dst, size, "%s%s%s", carm_number_exact(text, v), *kinds[kind].unit ? " " : "",
                 kinds[kind].unit);
    } else if (kind == CARM_CHANGE_INTENSITY) {
        carm_number_digits(dst, v, 4);
    } else {
        carm_text_si(dst, size, v, kinds[kind].unit);
    }
    return dst;
}

/* Text of a value: all digits of a count, four digits of a share. */
static char *exact_text(char dst[CARM_NUMBER_MAX], enum carm_change_kind kind, double v)
{
    char text[CARM_NUMBER_MAX - 1];
    if (strcmp(kinds[kind].unit, "%") != 0) {
        return carm_number_exact(dst, v);
    }
    snprintf(dst, CARM_NUMBER_MAX, "%s%%", carm_number_digits(text, 100.0 * v, 4));
    return dst;
}

static char *change_text(char *dst, size_t size, enum carm_change_kind kind,
                         const struct carm_change_value *v)
{
    if (v->verdict == CARM_CHANGE_UNKNOWN) {
        snprintf(dst, size, "-");
    } else if (v->change == 0.0) {
        snprintf(dst, size, "=");
    } else if (isinf(v->change)) {
        snprintf(dst, size, "from 0");
    } else if (strcmp(kinds[kind].unit, "%") == 0) {
        snprintf(dst, size, "%+.1f pp", 100.0 * v->change); /* percentage points */
    } else if (fabs(v->change) < 5e-4) {
        snprintf(dst, size, "%+.2g%%", 100.0 * v->change);
    } else {
        carm_compare_percent(dst, size, v->change);
    }
    return dst;
}

static const char *verdict_text(const struct carm_change_value *v, enum carm_change_kind kind)
{
    if (kind == CARM_CHANGE_TIME) {
        return v->verdict == CARM_CHANGE_UNJUDGED
                   ? v->error > 0.0 ? "not known: too few runs" : "one run: not judged"
               : v->verdict == CARM_CHANGE_EQUAL   ? "within noise"
               : v->verdict == CARM_CHANGE_UNKNOWN ? "unknown"
               : v->change < 0.0                   ? "* faster"
                                                   : "* slower";
    }
    return v->varies                             ? "varies from run to run"
           : v->verdict != CARM_CHANGE_DIFFERENT ? ""
           : kind >= CARM_CHANGE_VECTOR_SHARE    ? "* differs"
                                                 : "";
}

/* Whether a point's time or counts differ. */
static bool is_worth(const struct carm_change *c)
{
    bool worth = c->values[CARM_CHANGE_TIME].verdict == CARM_CHANGE_DIFFERENT;
    for (int k = CARM_CHANGE_VECTOR_SHARE; k < CARM_CHANGE_KINDS; k++) {
        worth = worth || c->values[k].verdict == CARM_CHANGE_DIFFERENT;
    }
    return worth;
}

/* "moved from DRAM-bound to L2-bound"; "" = the point did not move, its bounds are not known, or only an insignificant
 * difference of times moved it. returns dst */
static char *moved_text(char *dst, size_t size, const struct carm_change *c)
{
    dst[0] = '\0';
    const bool noise = c->values[CARM_CHANGE_TIME].error > 0.0 && !is_worth(c);
    if (!noise && *c->bound[0] && *c->bound[1] && strcmp(c->bound[0], c->bound[1]) != 0) {
        const bool over[2] = {strcmp(c->bound[0], "above the roof") == 0,
                              strcmp(c->bound[1], "above the roof") == 0};
        snprintf(dst, size, "moved from %.60s%s to %.60s%s", c->bound[0], over[0] ? "" : "-bound",
                 c->bound[1], over[1] ? "" : "-bound");
    }
    return dst;
}

/* Finds the functions and loops that cause a difference in a program's count. causes: [most]
 * returns their number; 0 = the kind does not differ or is not a count, or c is a part of a program */
static size_t find_causes(const struct page *page, size_t at, const struct carm_change *c,
                          enum carm_change_kind kind, struct carm_change_cause *causes, size_t most)
{
    const bool is_count = kind >= CARM_CHANGE_FLOPS && kind < CARM_CHANGE_KINDS;
    return c->part || !is_count || c->values[kind].verdict != CARM_CHANGE_DIFFERENT
               ? 0
               : carm_changes_causes(page->changes, at, kind, causes, most);
}

/* Writes "all in parse_number", "75% in f, 30% in g, -5% in h". Writes nothing if causes are not known.
 * put  writes a name; NULL = unchanged
 * returns whether anything was written */
static bool put_causes(const struct page *page, FILE *to, size_t i, const struct carm_change *c,
                       enum carm_change_kind kind, const char *head,
                       void (*put)(const struct page *page, const char *name))
{
    enum { MOST = 3 };
    static const double all = 0.995; /* prints as 100%: "all in" */
    struct carm_change_cause causes[MOST];
    char name[256];
    const size_t n = find_causes(page, i, c, kind, causes, MOST);
    for (size_t k = 0; k < n; k++) {
        if (k && fabs(causes[k].share) < 1.0 - all) {
            break;
        }
        fputs(k ? ", " : head, to);
        if (causes[k].share >= all && causes[k].share <= 2.0 - all) {
            fputs("all in ", to);
        } else {
            fprintf(to, "%.0f%% in ", 100.0 * causes[k].share);
        }
        if (put) {
            put(page, causes[k].part);
        } else {
            fputs(carm_text_clean(name, sizeof name, causes[k].part, page->job->ascii), to);
        }
    }
    return n > 0;
}

/* Numbers of points that are faster, slower, with other counts, not judged. */
struct summary {
    size_t points, parts, different_parts, faster, slower, unjudged, counts, only[2];
};

static struct summary summarize(const struct page *page)
{
    struct summary s = {0};
    struct carm_change c;
    for (; carm_changes_get(page->changes, s.points + s.parts, &c);
         s.parts += c.part, s.points += !c.part) {
        const struct carm_change_value *t = &c.values[CARM_CHANGE_TIME];
        bool differs = false;
        if (c.part) {
            s.different_parts += is_worth(&c);
            continue;
        }
        s.faster += t->verdict == CARM_CHANGE_DIFFERENT && t->change < 0.0;
        s.slower += t->verdict == CARM_CHANGE_DIFFERENT && t->change > 0.0;
        s.unjudged += t->verdict == CARM_CHANGE_UNJUDGED;
        for (int k = CARM_CHANGE_VECTOR_SHARE; k < CARM_CHANGE_KINDS; k++) {
            differs = differs || c.values[k].verdict == CARM_CHANGE_DIFFERENT;
        }
        s.counts += differs;
    }
    for (int i = 0; i < 2; i++) {
        while (carm_changes_only(page->changes, i, s.only[i], NULL)) {
            s.only[i]++;
        }
    }
    return s;
}

static void put_summary(const struct page *page)
{
    const struct summary s = summarize(page);
    char unjudged[96] = "", parts[96] = "";
    if (s.unjudged) {
        snprintf(unjudged, sizeof unjudged, "; %zu time%s not judged, as there are too few runs",
                 s.unjudged, s.unjudged == 1 ? "" : "s");
    }
    if (s.parts) {
        snprintf(parts, sizeof parts, "; %zu of their %zu loops or functions differ",
                 s.different_parts, s.parts);
    }
    carm_opt_print_wrapped(
        "", 0, "%zu point%s: %zu significantly faster, %zu slower, %zu with other counts%s%s",
        s.points, s.points == 1 ? "" : "s", s.faster, s.slower, s.counts, unjudged, parts);
}

/* Whether a value is known in one of the files. */
static bool has_value(const struct carm_change_value *v)
{
    return v->value[0] >= 0.0 || v->value[1] >= 0.0;
}

static void put_point(const struct page *page, size_t at, const struct carm_change *c)
{
    char a[64], b[64], change[32], error[40], moved[160];
    carm_text_cut(moved, sizeof moved, c->name, 70, page->job->ascii);
    printf("\n%s (%zu and %zu run%s)\n", moved, c->runs[0], c->runs[1], c->runs[1] == 1 ? "" : "s");
    for (int k = 0; k < CARM_CHANGE_KINDS; k++) {
        const struct carm_change_value *v = &c->values[k];
        const enum carm_change_kind kind = (enum carm_change_kind)k;
        if (!has_value(v)) {
            continue;
        }
        error[0] = '\0';
        if (v->error > 0.0 && v->verdict != CARM_CHANGE_UNJUDGED) {
            snprintf(error, sizeof error, "%s%.1f%%", page->job->ascii ? "+-" : "±",
                     100.0 * v->error);
        }
        fputs_unlocked("  ", stdout);
        carm_text_put(stdout, 20, kinds[k].title);
        carm_text_put(stdout, -13, value_text(a, sizeof a, kind, v->value[0]));
        carm_text_put(stdout, -14, value_text(b, sizeof b, kind, v->value[1]));
        carm_text_put(stdout, -10, change_text(change, sizeof change, kind, v));
        const char *verdict = verdict_text(v, kind);
        if (*error || *verdict) {
            carm_text_put(stdout, *error ? -8 : 0, error);
            fputs_unlocked(*verdict ? " " : "", stdout);
            fputs_unlocked(verdict, stdout);
        }
        putc_unlocked('\n', stdout);
        if (put_causes(page, stdout, at, c, kind, "    ", NULL)) {
            putc_unlocked('\n', stdout);
        }
    }
    if (*moved_text(moved, sizeof moved, c)) {
        printf("  %s\n", moved);
    }
}

static bool is_left_out(const struct carm_change *c, bool differing)
{
    return differing && c->part && !is_worth(c);
}

/* Calls put for the points that --top selects, those that differ first.
 * differing  leave out functions and loops that do not differ
 * returns the number of points left out */
static size_t put_points(const struct page *page, bool differing,
                         void (*put)(const struct page *page, size_t i,
                                     const struct carm_change *c))
{
    struct carm_change c;
    size_t n = 0, shown = 0;
    size_t equal = 0;
    while (carm_changes_get(page->changes, n + equal, &c)) {
        const bool out = is_left_out(&c, differing);
        equal += out;
        n += !out;
    }
    const size_t most = page->job->top && page->job->top < n ? page->job->top : n;
    for (int rest = 0; rest < (most < n ? 2 : 1); rest++) {
        for (size_t i = 0; shown < most && carm_changes_get(page->changes, i, &c); i++) {
            if (!is_left_out(&c, differing) && (most == n || is_worth(&c) != (rest == 1))) {
                put(page, i, &c);
                shown++;
            }
        }
    }
    return n - shown;
}

/* Prints names that are in one file only, at most --top for each file.
 * put  writes a name; NULL = unchanged */
static void put_only(const struct page *page, const char *head, const char *tail,
                     void (*put)(const struct page *page, const char *name))
{
    const size_t top = page->job->top;
    for (int i = 0; i < 2; i++) {
        char name[256];
        const char *only;
        size_t k = 0;
        for (; (only = carm_changes_only(page->changes, i, k, NULL)) != NULL; k++) {
            if (top && k >= top) {
                continue;
            }
            fputs(head, stdout);
            if (put) {
                put(page, only);
            } else {
                fputs(carm_text_clean(name, sizeof name, only, page->job->ascii), stdout);
            }
            printf(" only in %c%s", "AB"[i], tail);
        }
        if (top && k > top) {
            printf("%sand %zu more only in %c: --top 0%s", head, k - top, "AB"[i], tail);
        }
    }
}

static void put_table(const struct page *page)
{
    char host[CARM_TEXT_MAX], cpu[CARM_TEXT_MAX];
    put_summary(page);
    printf("  A  %s\n  B  %s\n", page->job->files[0], page->job->files[1]);
    if (page->model) {
        printf("  roofs of %s (%s)\n",
               carm_text_clean(host, sizeof host, carm_machine_host(&page->model->machine),
                               page->job->ascii),
               carm_text_clean(cpu, sizeof cpu, page->model->machine.cpu, page->job->ascii));
    } else {
        printf("  no model, so no roofs: name one, or run carm build\n");
    }
    printf("\n  %-20s%13s%14s%10s%8s\n", "", "A", "B", "change", "95% CI");
    const size_t left = put_points(page, page->job->top != 0, put_point);
    if (left) {
        printf("\nand %zu more points: --top 0 shows all\n", left);
    }
    put_only(page, "\n", "\n", NULL);
}

/* ---- Markdown ---- */

/* Prints a name as code, so that a name from anybody's branch is no HTML, link, picture or @mention. The code is
 * enclosed in more backquotes than the name has in a row, and bars are escaped. */
static void put_name(const struct page *page, const char *text)
{
    char clean[256];
    size_t run = 0, most = 0;
    carm_text_clean(clean, sizeof clean, text, page->job->ascii);
    for (const char *s = clean; *s; s++) {
        run = *s == '`' ? run + 1 : 0;
        most = run > most ? run : most;
    }
    for (size_t i = 0; i <= most; i++) {
        putchar('`');
    }
    fputs(most ? " " : "", stdout);
    for (const char *s = clean; *s; s++) {
        fputs(*s == '|' ? "\\" : "", stdout);
        putchar(*s);
    }
    fputs(most ? " " : "", stdout);
    for (size_t i = 0; i <= most; i++) {
        putchar('`');
    }
}

/* Prints words of carm and names of levels; markup characters are escaped. */
static void put_words(const struct page *page, const char *text)
{
    char clean[256];
    for (const char *s = carm_text_clean(clean, sizeof clean, text, page->job->ascii); *s; s++) {
        fputs(strchr("\\`*_{}[]<>()#!|&~", *s) ? "\\" : "", stdout);
        putchar(*s == '@' ? '?' : *s); /* an escaped @ would still be a mention */
    }
}

static void put_counts(const struct page *page, size_t i, const struct carm_change *c)
{
    char change[32];
    size_t n = 0;
    for (int k = CARM_CHANGE_VECTOR_SHARE; k < CARM_CHANGE_KINDS; k++) {
        if (c->values[k].verdict == CARM_CHANGE_DIFFERENT) {
            printf("%s%s %s", n++ ? ", " : "", kinds[k].title,
                   change_text(change, sizeof change, (enum carm_change_kind)k, &c->values[k]));
            if (put_causes(page, stdout, i, c, (enum carm_change_kind)k, " (", put_name)) {
                putchar(')');
            }
        }
    }
    if (n == 0) {
        fputs(has_value(&c->values[CARM_CHANGE_FLOPS]) ? "equal" : "-", stdout);
    }
}

static void put_row(const struct page *page, size_t at, const struct carm_change *c)
{
    char a[64], b[64], change[32], moved[160];
    const struct carm_change_value *t = &c->values[CARM_CHANGE_TIME];
    const struct carm_change_value *share = &c->values[CARM_CHANGE_AWARE_SHARE];
    const bool significant = t->verdict == CARM_CHANGE_DIFFERENT;
    share = has_value(share) ? share : &c->values[CARM_CHANGE_ORIGINAL_SHARE];
    fputs("| ", stdout);
    put_name(page, c->name);
    printf(" | %s | %s | %s%s%s", value_text(a, sizeof a, CARM_CHANGE_TIME, t->value[0]),
           value_text(b, sizeof b, CARM_CHANGE_TIME, t->value[1]), significant ? "**" : "",
           change_text(change, sizeof change, CARM_CHANGE_TIME, t), significant ? "**" : "");
    if (t->error > 0.0 && t->verdict != CARM_CHANGE_UNJUDGED) {
        printf(" ± %.1f%%", 100.0 * t->error);
    }
    printf("%s%s | %s | %s | ", significant ? "" : ", ",
           significant ? "" : verdict_text(t, CARM_CHANGE_TIME),
           value_text(a, sizeof a, CARM_CHANGE_AWARE_SHARE, share->value[0]),
           value_text(b, sizeof b, CARM_CHANGE_AWARE_SHARE, share->value[1]));
    put_counts(page, at, c);
    fputs(" | ", stdout);
    put_words(page, *moved_text(moved, sizeof moved, c) ? moved : c->bound[1]);
    fputs(" |\n", stdout);
}

static void put_markdown(const struct page *page)
{
    fputs("**carm compare**: ", stdout);
    put_summary(page);
    fputs("\n| point | before | after | change | roof before | roof after | counts | bound by |\n"
          "|---|---:|---:|---:|---:|---:|---|---|\n",
          stdout);
    const size_t left = put_points(page, true, put_row);
    if (left) {
        printf("\nand %zu more points: `--top 0` shows all\n", left);
    }
    put_only(page, "\n- ", "", put_name);
    putchar('\n');
}

/* ---- JSON, without a tree, as there may be millions of points ---- */

/* null for unknown values */
static void put_number(bool first, const char *name, double v, bool known)
{
    char text[CARM_NUMBER_MAX];
    carm_json_put_member(stdout, first, name,
                         known && isfinite(v) ? carm_number_digits(text, v, 12) : "null");
}

static void put_value(const struct carm_change_value *v, const char *name)
{
    carm_json_put_member(stdout, false, name, "{");
    put_number(true, "before", v->value[0], v->value[0] >= 0.0);
    put_number(false, "after", v->value[1], v->value[1] >= 0.0);
    put_number(false, "change", v->change, v->verdict != CARM_CHANGE_UNKNOWN);
    put_number(false, "error", v->error, v->error >= 0.0);
    carm_json_put_member(stdout, false, "varies", v->varies ? "true" : "false");
    fputs_unlocked(", \"verdict\": \"", stdout);
    fputs_unlocked(carm_change_verdict_name(v->verdict), stdout);
    fputs_unlocked("\"}", stdout);
}

static void put_object(const struct page *page, size_t at, const struct carm_change *c)
{
    enum { CAUSES = 10 };
    char moved[160];
    putc_unlocked('{', stdout);
    carm_json_put_text(stdout, true, "name", c->name);
    printf(", \"runs\": [%zu, %zu]", c->runs[0], c->runs[1]);
    carm_json_put_member(stdout, false, "exact", c->exact ? "true" : "false");
    carm_json_put_member(stdout, false, "part", c->part ? "true" : "false");
    carm_json_put_text_or_null(stdout, false, "asks_for", c->asks_for);
    carm_json_put_text_or_null(stdout, false, "bound_before", c->bound[0]);
    carm_json_put_text_or_null(stdout, false, "bound_after", c->bound[1]);
    carm_json_put_text_or_null(stdout, false, "moved", moved_text(moved, sizeof moved, c));
    for (int k = 0; k < CARM_CHANGE_KINDS; k++) {
        put_value(&c->values[k], carm_change_name((enum carm_change_kind)k));
    }
    for (int k = CARM_CHANGE_FLOPS, n = 0; k < CARM_CHANGE_KINDS; k++) {
        struct carm_change_cause causes[CAUSES];
        const size_t most = find_causes(page, at, c, (enum carm_change_kind)k, causes, CAUSES);
        for (size_t i = 0; i < most; i++) {
            fputs_unlocked(n++ ? ", {" : ", \"causes\": [{", stdout);
            carm_json_put_text(stdout, true, "quantity",
                               carm_change_name((enum carm_change_kind)k));
            carm_json_put_text(stdout, false, "part", causes[i].part);
            put_number(false, "share", causes[i].share, true);
            putc_unlocked('}', stdout);
        }
        if (n && k == CARM_CHANGE_KINDS - 1) {
            putc_unlocked(']', stdout);
        }
    }
    putc_unlocked('}', stdout);
}

static void put_names(const struct page *page, int file, const char *head)
{
    const char *name;
    fputs(head, stdout);
    for (size_t i = 0; (name = carm_changes_only(page->changes, file, i, NULL)) != NULL; i++) {
        fputs_unlocked(i ? ", " : "", stdout);
        carm_json_put_string(stdout, name);
    }
}

static void put_json(const struct page *page)
{
    struct carm_change c;
    putchar('{');
    carm_json_put_text(stdout, true, "schema", "carm-compare-points/1");
    carm_json_put_text(stdout, false, "before", page->job->files[0]);
    carm_json_put_text(stdout, false, "after", page->job->files[1]);
    carm_json_put_text_or_null(stdout, false, "model",
                               page->model ? page->model->machine.hostname : "");
    put_names(page, 0, ",\n \"only_before\": [");
    put_names(page, 1, "],\n \"only_after\": [");
    fputs("],\n \"points\": [", stdout);
    for (size_t i = 0; carm_changes_get(page->changes, i, &c); i++) {
        fputs_unlocked(i ? ",\n  " : "\n  ", stdout);
        put_object(page, i, &c);
    }
    fputs("\n]}\n", stdout);
}

/* ---- gates ---- */

/* Whether --top lists the gate's nth failure. */
static bool is_listed(const struct page *page, size_t nth)
{
    return !page->job->top || nth <= page->job->top;
}

static void say_rest(const struct page *page, const char *gate, size_t bad)
{
    if (!is_listed(page, bad)) {
        carm_say_error(0, "%s: and %zu more: --top 0 shows all", gate, bad - page->job->top);
    }
}

/* Prints a line for counts that --exact does not accept, up to --top. returns the number of all
 * such counts */
static size_t judge_exact(const struct page *page)
{
    size_t bad = 0, judged = 0;
    struct carm_change c;
    const char *only;
    bool part = false;
    char a[64], b[64], change[32], name[128];
    for (size_t i = 0; (only = carm_changes_only(page->changes, 0, i, &part)) != NULL; i++) {
        if (part) {
            continue;
        }
        if (is_listed(page, ++bad)) {
            carm_say_error(0, "--exact: %.120s is not in %.200s",
                           carm_text_clean(name, sizeof name, only, page->job->ascii),
                           page->job->files[1]);
        }
    }
    for (size_t i = 0; carm_changes_get(page->changes, i, &c); i++) {
        carm_text_clean(name, sizeof name, c.name, page->job->ascii);
        judged += !c.part;
        for (int k = 0; k < CARM_CHANGE_KINDS && !c.part; k++) {
            const struct carm_change_value *v = &c.values[k];
            const enum carm_change_kind kind = (enum carm_change_kind)k;
            if (within(page, &c, kind) || !is_listed(page, ++bad)) {
                continue;
            }
            if (v->verdict == CARM_CHANGE_UNKNOWN) {
                carm_say_error(0, "--exact: %.120s: %s: not counted in both files", name,
                               kinds[k].title);
            } else {
                char *why = NULL;
                size_t size = 0;
                FILE *text = open_memstream(&why, &size);
                if (text) {
                    put_causes(page, text, i, &c, kind, "; ", NULL);
                    fclose(text);
                }
                carm_say_error(
                    0, "--exact: %.120s: %s %s, now %s (%s%s)%.400s%s%.200s", name, kinds[k].title,
                    exact_text(a, kind, v->value[0]), exact_text(b, kind, v->value[1]),
                    change_text(change, sizeof change, kind, v),
                    v->varies
                        ? "; the count varies from run to run: give it a tolerance, such as bytes:1%"
                        : "",
                    why ? why : "", *c.asks_for ? "; may vary: it asks for " : "", c.asks_for);
                free(why);
            }
        }
    }
    say_rest(page, "--exact", bad);
    if (judged + bad == 0) {
        carm_say_error(
            0, "--exact has nothing to judge: loops and functions explain a difference, and "
               "the whole program is compared: --only with its name");
        return 1;
    }
    return bad;
}

static size_t judge_times(const struct page *page)
{
    size_t bad = 0, judged = 0;
    struct carm_change c;
    char name[128], change[32];
    for (size_t i = 0; carm_changes_get(page->changes, i, &c); i++) {
        const struct carm_change_value *t = &c.values[CARM_CHANGE_TIME];
        if (c.part) {
            continue;
        }
        if (c.summed && t->verdict == CARM_CHANGE_UNKNOWN && is_listed(page, ++bad)) {
            carm_say_error(
                0,
                "--threshold cannot judge %.120s: its rows have the processor time of loops "
                "or functions, not the time of the program: write them with carm run --whole "
                "--repeat 5",
                carm_text_clean(name, sizeof name, c.name, page->job->ascii));
        }
        judged += t->verdict == CARM_CHANGE_EQUAL || t->verdict == CARM_CHANGE_DIFFERENT;
        if (t->verdict == CARM_CHANGE_DIFFERENT && t->change > page->job->threshold &&
            is_listed(page, ++bad)) {
            carm_say_error(0, "more than %.3g%% slower: %.120s, %s in time",
                           100.0 * page->job->threshold,
                           carm_text_clean(name, sizeof name, c.name, page->job->ascii),
                           carm_compare_percent(change, sizeof change, t->change));
        }
    }
    say_rest(page, "--threshold", bad);
    if (judged + bad == 0) {
        carm_say_error(0,
                       "--threshold has nothing to judge: a time needs two runs at least in each "
                       "file");
        return 1;
    }
    return bad;
}

static int open_model(const struct carm_compare_points *job, struct carm_model **model,
                      struct carm_err *err)
{
    char path[PATH_MAX];
    *model = NULL;
    if (!job->model && (carm_default_model_path(path, sizeof path, err) ||
                        (access(path, F_OK) != 0 && errno == ENOENT))) {
        return 0;
    }
    return carm_select_open(job->model, model, NULL, err);
}

int carm_compare_points_run(const struct carm_compare_points *job)
{
    struct carm_err err = {""};
    struct carm_model *model = NULL;
    struct carm_changes *changes = NULL;
    struct page page = {.job = job};
    if (parse_exact(&page, job->exact, &err)) {
        return carm_say_error(CARM_EXIT_MISUSE, "%s", err.text);
    }
    int rc = open_model(job, &model, &err);
    rc = rc ? rc
            : carm_points_compare(job->files[0], job->files[1], &job->how, model, job->noise,
                                  job->only, &changes, &err);
    page.model = model;
    page.changes = changes;
    int code = CARM_EXIT_OK;
    if (!isatty(STDOUT_FILENO)) {
        setvbuf(stdout, NULL, _IOFBF, 1 << 18);
    }
    for (int i = 0; i < 2 && !rc; i++) {
        if (carm_changes_unended(changes, i)) {
            carm_say_error(0,
                           "note: %.200s: the last line does not end: if the file was cut off, its "
                           "last number is wrong",
                           job->files[i]);
        }
    }
    if (!rc && job->json) {
        put_json(&page);
    } else if (!rc && job->markdown) {
        put_markdown(&page);
    } else if (!rc) {
        put_table(&page);
    }
    if (rc) {
        code = carm_say_error(CARM_EXIT_FAILED, "%s", err.text);
    } else {
        fflush(stdout); /* the table comes before the gates' results */
        const size_t bad = (job->exact ? judge_exact(&page) : 0) +
                           (job->threshold >= 0.0 ? judge_times(&page) : 0);
        code = bad ? CARM_EXIT_FAILED : CARM_EXIT_OK;
    }
    carm_changes_close(changes);
    carm_model_free(model);
    return code;
}
