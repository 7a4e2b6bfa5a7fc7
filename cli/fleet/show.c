/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/fleet/show.h"

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/number.h"
#include "base/outfile.h"
#include "cli/opt.h"
#include "cli/screen.h"
#include "harness/machine/share.h"
#include "models/file/fleet/read.h"
#include "models/fleet/judge.h"

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

int carm_fleet_parse(const struct carm_fleet_words *words, const char *command,
                     struct carm_fleet_options *o, struct carm_err *err)
{
    *o = (struct carm_fleet_options){.ceilings = words->ceilings != NULL,
                                     .share = carm_threads_share,
                                     .fdr = 0.01,
                                     .min_share = 0.01};
    if (words->npaths == 0) {
        return carm_fail(err, CARM_EINVAL,
                         "name folders or files with models: carm fleet %s models, or carm fleet "
                         "%s fleet.jsonl",
                         command, command);
    }
    if (!carm_number_percent(words->fdr, &o->fdr) || o->fdr <= 0.0) {
        return carm_fail(err, CARM_EINVAL, "--fdr needs a percentage above 0, such as 1");
    }
    if (!carm_number_percent(words->min_percent, &o->min_share)) {
        return carm_fail(err, CARM_EINVAL,
                         "--min-percent needs a percentage from 0 to below 100, such as 1");
    }
    return 0;
}

static int parse(const struct carm_fleet_words *words, struct carm_fleet_page *page,
                 struct carm_err *err)
{
    page->top = 20;
    page->roof = words->roof;
    page->suspects = words->suspects != NULL;
    page->ascii = words->ascii || !carm_screen_utf8();
    const int rc = carm_fleet_parse(words, "show", &page->options, err);
    if (rc) {
        return rc;
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

/* CSV: a row for each node and roof, and for each node and family of roofs. */

/* Writes a number; an empty field if not known. */
static void put_number(FILE *out, double v, int digits)
{
    if (isnan(v)) {
        fputc(',', out);
    } else {
        fprintf(out, ",%.*g", digits, v);
    }
}

static void put_row(FILE *out, const struct carm_fleet_page *page, size_t g, size_t i, size_t j)
{
    const struct carm_fleet_group *group = &page->fleet->groups[g];
    const struct carm_fleet_node *node = &group->nodes[i];
    const struct carm_fleet_column *c = &group->now.columns[j];
    const struct carm_fleet_test *t = carm_fleet_test_of(&group->now, i, j);
    const struct carm_fleet_judged *judged = &group->now.judged[i];
    fprintf(out, "%zu,", g + 1);
    carm_csv_put_clean(out, node->name);
    fputc(',', out);
    carm_csv_put_clean(out, page->fleet->rows[node->rows[0]].time);
    fputc(',', out);
    carm_csv_put_clean(out, c->roof.isa);
    fputc(',', out);
    carm_csv_put_clean(out, c->roof.precision);
    fprintf(out, ",%d,%s,", c->roof.threads, carm_fleet_kind_name(c));
    carm_csv_put_clean(out, c->roof.name);
    fprintf(out, ",%s", c->roof.unit);
    put_number(out, c->family ? NAN : (double)t->rate, 7);
    put_number(out, c->family || c->centre.n == 0 ? NAN : c->median, 7);
    put_number(out, 100.0 * c->sigma, 4);
    put_number(out, 100.0 * (double)t->share, 5);
    put_number(out, t->z, 5);
    put_number(out, t->p, 4);
    put_number(out, t->q, 4);
    fprintf(out, ",%d,%d", t->disturbed, t->flagged);
    put_number(out, judged->p, 4);
    put_number(out, judged->q, 4);
    fprintf(out, ",%s\n", carm_fleet_verdict_name(judged->verdict));
}

static int put_all(FILE *out, const void *context, struct carm_err *err)
{
    const struct carm_fleet_page *page = context;
    (void)err;
    fputs("group,node,time,isa,precision,threads,kind,name,unit,value,median,spread_percent,"
          "off_percent,z,p,q,disturbed,flag,node_p,node_q,verdict\n",
          out);
    for (size_t g = 0; g < page->fleet->ngroups; g++) {
        const struct carm_fleet_table *t = &page->fleet->groups[g].now;
        for (size_t i = 0; i < t->n && carm_fleet_wants_group(page, g); i++) {
            for (size_t j = 0; j < t->ncolumns; j++) {
                if (!isnan(carm_fleet_test_of(t, i, j)->share) &&
                    carm_fleet_wants_column(page, &t->columns[j])) {
                    put_row(out, page, g, i, j);
                }
            }
        }
    }
    return 0;
}

/* path  NULL = standard output
 * returns 0, -CARM_EIO or -CARM_ENOMEM */
static int put_csv(const struct carm_fleet_page *page, const char *path, struct carm_err *err)
{
    return carm_outfile_print(path, put_all, page, err);
}

static void say_broken(const struct carm_fleet *fleet)
{
    for (size_t i = 0; i < fleet->nbroken; i++) {
        const struct carm_fleet_broken *b = &fleet->broken[i];
        char line[32] = "";
        if (b->line) {
            snprintf(line, sizeof line, ", line %zu", b->line);
        }
        carm_say_error(0, "left out: %.256s%s: %s", b->file, line, b->reason);
    }
}

static int put(const struct carm_fleet_words *words, const struct carm_fleet_page *page,
               struct carm_err *err)
{
    int rc = 0;
    if (words->json) {
        rc = carm_fleet_put_json(page, err);
    } else if (csv_is_output(words)) {
        rc = put_csv(page, NULL, err);
    } else {
        carm_fleet_put_text(page);
    }
    return rc == 0 && words->csv && !csv_is_output(words) ? put_csv(page, words->csv, err) : rc;
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
    return page->roof ? carm_fail(err, CARM_EINVAL, "--roof %.80s: no roof's name contains that",
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
