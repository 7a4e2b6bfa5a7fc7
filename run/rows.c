/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/rows.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "run/place.h"

long carm_run_rows_count(const char *path)
{
    FILE *f = fopen(path, "r");
    long lines = 0;
    bool quoted = false;
    for (int c = f ? getc(f) : EOF; c != EOF; c = getc(f)) {
        quoted = c == '"' ? !quoted : quoted; /* a name may hold newlines */
        lines += c == '\n' && !quoted ? 1 : 0;
    }
    if (f) {
        fclose(f);
    }
    return lines > 0 ? lines - 1 : 0;
}

int carm_run_rows_open(struct carm_profile *profile, const struct carm_run *run,
                       enum carm_profile_by by, double min_share, struct carm_run_levels *levels,
                       struct carm_err *err)
{
    struct carm_profile_place *places = NULL;
    size_t n = 0;
    int rc = levels && run->has_blocks
                 ? carm_run_levels_places(levels, &run->blocks, &places, &n, err)
                 : 0;
    rc = rc ? rc : carm_parts_open(profile, run, by, min_share, places, n, err);
    if (!rc && places) {
        rc = carm_run_levels_fold(levels, &run->blocks, places, profile->nrows, err);
    }
    free(places);
    return rc;
}

/* The times of the parts in one of the runs, whose profile is not folded. Parts without a row in `all` are added to
 * the row of others.
 * seconds  [all->nrows + 1] 0 on entry. The last entry gets the parts without a row, if `all` has no row of others */
static void times_of(const struct carm_profile *once, const struct carm_profile *all,
                     double *seconds)
{
    size_t others = 0;
    while (others < all->nrows && all->rows[others].kind != CARM_PROFILE_OTHERS) {
        others++;
    }
    for (size_t i = 0; i < once->nrows; i++) {
        const struct carm_profile_row *row = &once->rows[i];
        size_t k = 0;
        while (k < all->nrows &&
               (all->rows[k].kind != row->kind || strcmp(all->rows[k].name, row->name) != 0)) {
            k++;
        }
        seconds[k < all->nrows ? k : others] += row->seconds;
    }
}

/* Appends the rows of one run: the rows of all runs, with this run's times. A part has a row for
 * each run in which it has samples. Parts without samples go to the first run, so that the
 * counts of a file's rows add up to the program's. */
static int append_once(const char *path, const struct carm_run *run,
                       const struct carm_run_once *once, enum carm_profile_by by,
                       const struct carm_profile *profile, struct carm_row *rows,
                       struct carm_err *err)
{
    struct carm_profile one = {.nrows = 0};
    struct carm_run like = *run;
    like.samples = once->samples;
    like.user_seconds = once->user_seconds;
    like.system_seconds = once->system_seconds;
    double *seconds = calloc(profile->nrows + 1, sizeof *seconds);
    if (!seconds) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the parts");
    }
    int rc = carm_parts_open(&one, &like, by, 0.0, NULL, 0, err);
    if (!rc) {
        times_of(&one, profile, seconds);
    }
    for (size_t i = 0; i < profile->nrows && !rc; i++) {
        if (seconds[i] > 0.0 || (once == run->each && !(rows[i].seconds > 0.0))) {
            struct carm_row row = rows[i];
            row.seconds = seconds[i];
            rc = carm_row_append(path, &row, 1, err);
        }
    }
    carm_profile_close(&one);
    free(seconds);
    return rc;
}

/* Whether each of several runs has enough samples for its own rows of parts. */
static bool has_times(const struct carm_run *run, bool parts)
{
    bool enough = run->neach > 1;
    for (size_t i = 0; i < run->neach && enough && parts; i++) {
        enough = run->each[i].has_samples && run->each[i].samples.total >= CARM_PROFILE_FEW;
    }
    return enough;
}

int carm_run_rows_append(const char *path, const struct carm_run *run, enum carm_profile_by by,
                         const struct carm_profile *profile, const struct carm_run_levels *levels,
                         const struct carm_run_verdict *verdicts, struct carm_err *err)
{
    int rc = 0;
    const bool each = has_times(run, profile->nrows > 0);
    if (!profile->nrows) {
        struct carm_row row = run->row;
        for (size_t i = 0; i < (each ? run->neach : 1) && !rc; i++) {
            row.seconds = each ? run->each[i].seconds : row.seconds;
            rc = carm_row_append(path, &row, 1, err);
        }
        return rc;
    }
    struct carm_row *rows = calloc(profile->nrows, sizeof *rows);
    if (!rows) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the rows");
    }
    for (size_t i = 0; i < profile->nrows; i++) {
        carm_run_part_row(run, profile, levels, i, &rows[i]);
        if (verdicts) {
            carm_run_verdict_row(&verdicts[i], &rows[i]);
        }
    }
    for (size_t i = 0; each && i < run->neach && !rc; i++) {
        rc = append_once(path, run, &run->each[i], by, profile, rows, err);
    }
    rc = each || rc ? rc : carm_row_append(path, rows, (int)profile->nrows, err);
    free(rows);
    return rc;
}

int carm_run_rows_by_regions(struct carm_run *run, const char *path, const char *budget,
                             char full[PATH_MAX], struct carm_err *err)
{
    char cwd[PATH_MAX] = "";
    if (*path != '/' && !getcwd(cwd, sizeof cwd)) {
        return carm_fail(err, CARM_EIO, "cannot find the current folder: %s", strerror(errno));
    }
    if (snprintf(full, PATH_MAX, "%s%s%s", cwd, *cwd ? "/" : "", path) >= PATH_MAX) {
        return carm_fail(err, CARM_EINVAL, "the path of --output is too long");
    }
    if (run->provider == CARM_PROVIDER_TRANSLATE) {
        run->regions = full;
        return 0;
    }
    if (setenv("CARM_OUT", full, 1) != 0 ||
        setenv("CARM_COUNTERS", carm_provider_name(run->provider), 1) != 0 ||
        (budget && setenv("CARM_STEP_BUDGET", budget, 1) != 0)) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the environment");
    }
    run->provider = CARM_PROVIDER_NONE;
    return 0;
}
