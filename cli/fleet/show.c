/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/fleet/show.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "base/text.h"
#include "cli/opt.h"
#include "cli/screen.h"

/* ---- words --------------------------------------------------------------------------------------- */

static bool parse_count(const char *word, size_t least, size_t *n)
{
    char *end;
    if (!word) {
        return true;
    }
    if (!isdigit((unsigned char)*word) || strlen(word) > 9) {
        return false;
    }
    *n = strtoul(word, &end, 10);
    return *end == '\0' && *n >= least;
}

static bool csv_is_output(const struct carm_fleet_words *words)
{
    return words->csv && strcmp(words->csv, "-") == 0;
}

static int parse(const struct carm_fleet_words *words, struct carm_fleet_page *page,
                 struct carm_err *err)
{
    struct carm_fleet_options *o = &page->options;
    page->top = 20;
    page->roof = words->roof;
    page->suspects = words->suspects != NULL;
    page->ascii = words->ascii || !carm_screen_utf8();
    *o = (struct carm_fleet_options){
        .ceilings = words->ceilings != NULL, .fdr = 0.01, .min_share = 0.01};
    if (words->npaths == 0) {
        return carm_fail(err, CARM_EINVAL,
                         "name folders or files with models: carm fleet show models, or carm fleet "
                         "show fleet.jsonl");
    }
    if (!carm_number_percent(words->fdr, &o->fdr) || o->fdr <= 0.0) {
        return carm_fail(err, CARM_EINVAL, "--fdr needs a percentage above 0, such as 1");
    }
    if (!carm_number_percent(words->min_percent, &o->min_share)) {
        return carm_fail(err, CARM_EINVAL,
                         "--min-percent needs a percentage from 0 to below 100, such as 1");
    }
    if (!parse_count(words->group, 1, &page->group)) {
        return carm_fail(err, CARM_EINVAL, "--group needs the number of a group, such as 1");
    }
    if (!parse_count(words->top, 0, &page->top)) {
        return carm_fail(err, CARM_EINVAL,
                         "--top needs a number of nodes, such as 20, or 0 for all");
    }
    if (words->json && csv_is_output(words)) {
        return carm_fail(err, CARM_EINVAL,
                         "--json and --csv - both go to standard output: name a file with --csv");
    }
    page->top = page->top ? page->top : SIZE_MAX;
    return 0;
}

/* ---- what the outputs share ----------------------------------------------------------------------- */

char *carm_fleet_label(char *dst, size_t size, const struct carm_fleet_column *column, bool ascii)
{
    const struct carm_fleet_roof *r = &column->roof;
    char text[CARM_FLEET_LABEL_MAX];
    if (column->family) {
        char threads[32] = "";
        if (r->threads) {
            (void)snprintf(threads, sizeof threads, ", %d thread%s", r->threads,
                           r->threads == 1 ? "" : "s");
        }
        (void)snprintf(text, sizeof text, "%s%s (%zu roofs)", r->name, threads, column->nroofs);
    } else {
        (void)snprintf(text, sizeof text, "%s %s, %d thread%s: %s", r->isa, r->precision,
                       r->threads, r->threads == 1 ? "" : "s", r->name);
    }
    return carm_text_clean(dst, size, text, ascii);
}

bool carm_fleet_wants_group(const struct carm_fleet_page *page, size_t group)
{
    return page->group == 0 || page->group == group + 1;
}

bool carm_fleet_wants_column(const struct carm_fleet_page *page,
                             const struct carm_fleet_column *column)
{
    char label[CARM_FLEET_LABEL_MAX];
    return !page->roof ||
           strcasestr(carm_fleet_label(label, sizeof label, column, page->ascii), page->roof);
}

size_t carm_fleet_count(const struct carm_fleet *fleet, bool drift, enum carm_fleet_verdict verdict)
{
    size_t n = 0;
    for (size_t g = 0; g < fleet->ngroups; g++) {
        const struct carm_fleet_table *t = drift ? &fleet->groups[g].drift : &fleet->groups[g].now;
        for (size_t i = 0; i < t->n; i++) {
            n += t->judged[i].verdict == verdict;
        }
    }
    return n;
}

size_t carm_fleet_count_failed(const struct carm_fleet *fleet)
{
    size_t n = 0;
    for (size_t i = 0; i < fleet->nrows; i++) {
        n += fleet->rows[i].machine < 0;
    }
    return n;
}

double carm_fleet_shift_p(const struct carm_fleet_column *column)
{
    const struct carm_fleet_centre *c = &column->centre;
    if (c->n < CARM_FLEET_FEW || column->roof.clock) {
        return 1.0;
    }
    /* the standard error of a median, for normal errors; the smallest spread as in models/fleet/table.c */
    const double error = 1.2533 * fmax(c->sigma, 1e-4) / sqrt((double)c->n);
    return carm_fleet_p(c->median / error, c->n);
}

char *carm_fleet_memory_text(char *dst, size_t size, const struct carm_fleet_group *group)
{
    char low[CARM_TEXT_NUMBER_MAX];
    char high[CARM_TEXT_NUMBER_MAX];
    (void)carm_text_bytes(low, sizeof low, group->memory_min);
    (void)carm_text_bytes(high, sizeof high, group->memory_max);
    if (strcmp(low, high) == 0) {
        (void)snprintf(dst, size, "%s", low);
    } else {
        (void)snprintf(dst, size, "%s to %s", low, high);
    }
    return dst;
}

/* ---- the whole ------------------------------------------------------------------------------------ */

static void say_broken(const struct carm_fleet *fleet)
{
    for (size_t i = 0; i < fleet->nbroken; i++) {
        const struct carm_fleet_broken *b = &fleet->broken[i];
        char line[32] = "";
        if (b->line) {
            (void)snprintf(line, sizeof line, ", line %zu", b->line);
        }
        (void)carm_say_error(0, "left out: %.256s%s: %s", b->file, line, b->reason);
    }
}

static int put(const struct carm_fleet_words *words, const struct carm_fleet_page *page,
               struct carm_err *err)
{
    int rc = 0;
    if (words->json) {
        rc = carm_fleet_put_json(page, err);
    } else if (csv_is_output(words)) {
        rc = carm_fleet_put_csv(page, NULL, err);
    } else {
        carm_fleet_put_text(page);
    }
    return rc == 0 && words->csv && !csv_is_output(words)
               ? carm_fleet_put_csv(page, words->csv, err)
               : rc;
}

static int check(const struct carm_fleet_page *page, struct carm_err *err)
{
    const struct carm_fleet *f = page->fleet;
    if (f->nrows == 0) {
        return carm_fail(err, CARM_EFORMAT, "none of %zu file%s holds a model or a node's row",
                         f->nfiles, f->nfiles == 1 ? "" : "s");
    }
    if (page->group > f->ngroups) {
        return carm_fail(err, CARM_EINVAL, "--group %zu: there %s %zu group%s", page->group,
                         f->ngroups == 1 ? "is" : "are", f->ngroups, f->ngroups == 1 ? "" : "s");
    }
    for (size_t g = 0; g < f->ngroups; g++) {
        for (size_t j = 0; j < f->groups[g].now.ncolumns; j++) {
            if (carm_fleet_wants_group(page, g) &&
                carm_fleet_wants_column(page, &f->groups[g].now.columns[j])) {
                return 0;
            }
        }
    }
    return page->roof ? carm_fail(err, CARM_EINVAL, "--roof %.80s: no roof has that in its name",
                                  page->roof)
                      : 0;
}

int carm_fleet_show(const struct carm_fleet_words *words, struct carm_err *err)
{
    struct carm_fleet_page page = {.fleet = NULL};
    struct carm_fleet *fleet = NULL;
    int rc = parse(words, &page, err);
    rc = rc ? rc : carm_fleet_read(words->paths, (size_t)words->npaths, &page.options, &fleet, err);
    if (rc) {
        return rc;
    }
    page.fleet = fleet;
    say_broken(fleet);
    rc = carm_fleet_judge(fleet, &page.options, err);
    rc = rc ? rc : check(&page, err);
    rc = rc ? rc : put(words, &page, err);
    if (rc == 0 && words->strict && fleet->nbroken) {
        rc = carm_fail(err, CARM_EFORMAT, "%zu file%s or row%s broken (--strict)", fleet->nbroken,
                       fleet->nbroken == 1 ? "" : "s", fleet->nbroken == 1 ? " is" : "s are");
    }
    carm_fleet_free(fleet);
    return rc;
}
