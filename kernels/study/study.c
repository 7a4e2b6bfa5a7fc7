/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/study/study.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/outfile.h"
#include "models/file/points.h"
#include "models/roofline.h"

int carm_study_open(struct carm_study **study, const struct carm_study_ops *ops,
                    struct carm_model *model, struct carm_err *err)
{
    *study = calloc(1, ops->bytes);
    if (!*study) {
        carm_model_free(model);
        return carm_fail(err, CARM_ENOMEM, "not enough memory for a study");
    }
    (*study)->ops = ops;
    (*study)->model = model;
    return 0;
}

void carm_study_close(struct carm_study *study)
{
    if (study) {
        if (study->ops->close) {
            study->ops->close(study);
        }
        carm_model_free(study->model);
        free(study);
    }
}

int carm_study_choose_roofs(struct carm_study *study, const char *precision, int threads,
                            const struct carm_topo *topo, struct carm_err *err)
{
    study->threads = threads ? threads : carm_topo_cores(topo);
    const int rc = carm_topo_check_threads(topo, study->threads, err);
    if (rc) {
        return rc;
    }
    study->roofs = carm_place_roofs(study->model, precision, study->threads, study->roofs_note);
    if (!study->roofs || !carm_roofs_find_peak(study->roofs)) {
        return carm_fail(err, CARM_ENOTSUP,
                         "the model has no compute roof; `carm build` measures this machine");
    }
    study->has_dram = carm_original_bandwidth(study->roofs, "DRAM", true, NULL) > 0.0;
    return 0;
}

double carm_study_cache_bytes(const struct carm_model *model, int level,
                              const struct carm_topo *topo, int threads)
{
    char name[16];
    snprintf(name, sizeof name, "L%d", level);
    for (size_t i = 0; i < model->nlevels; i++) {
        const struct carm_level *l = &model->levels[i];
        int instances = 1;
        int sharers = 1;
        if (strcmp(l->level, name) != 0 || (l->knee_bytes == 0 && l->os_size_bytes == 0)) {
            continue;
        }
        const double knee = l->knee_bytes ? (double)l->knee_bytes : INFINITY;
        const double os = l->os_size_bytes ? (double)l->os_size_bytes : INFINITY;
        carm_topo_cache_share(topo, level, threads, &instances, &sharers);
        return fmin(knee, os) / (sharers > 0 ? sharers : 1);
    }
    return 0.0;
}

bool carm_study_caches(const struct carm_model *model, const struct carm_topo *topo,
                       struct carm_hierarchy_config *out, char text[CARM_CACHES_TEXT_MAX])
{
    struct carm_cache_ways ways[CARM_TOPO_CACHES_MAX];
    struct carm_err none;
    for (size_t i = 0; i < topo->ncaches; i++) {
        const struct carm_topo_cache *c = &topo->caches[i];
        ways[i] = (struct carm_cache_ways){c->level, c->size_bytes, c->ways, c->inclusive};
    }
    return carm_caches_of_model(model, ways, topo->ncaches, out, text, &none) == 0;
}

struct carm_dram *carm_study_open_dram(struct carm_study *study, const struct carm_cpu *cpu)
{
    struct carm_dram *dram = NULL;
    struct carm_err why = {""};
    if (carm_dram_open(&dram, cpu, &why) != 0) {
        snprintf(study->dram_lacks, sizeof study->dram_lacks, "%.255s", why.text);
    }
    return dram;
}

void carm_study_begin(struct carm_study *study, const struct carm_host *host,
                      double estimated_seconds)
{
    const double quota = host->topo->quota;
    study->until = carm_seconds_now() + study->budget;
    study->slow = quota > 0.0 ? fmax(1.0, study->threads / quota) : 1.0;
    carm_observer_begin(host->observer, fmin(estimated_seconds, study->budget));
}

double carm_study_left(const struct carm_study *study)
{
    return fmax(0.0, study->until - carm_seconds_now());
}

bool carm_study_has_time(const struct carm_study *study, double estimated_seconds, char *text,
                         size_t size)
{
    const bool has = study->slow * estimated_seconds < carm_study_left(study);
    if (!has) {
        snprintf(text, size, "%s", CARM_STUDY_LATE);
    }
    return has;
}

void carm_study_spent(struct carm_study *study, double begun, double estimated_seconds)
{
    study->slow = fmax(study->slow, (carm_seconds_now() - begun) / estimated_seconds);
}

int carm_study_measured(struct carm_study *study, struct carm_observer *observer, int rc)
{
    study->seconds = carm_observer_end(observer);
    study->interrupted = study->interrupted || rc == -CARM_EINTR;
    return rc == -CARM_EINTR ? 0 : rc;
}

static bool is_empty(const char *path)
{
    struct stat st;
    return stat(path, &st) != 0 || st.st_size == 0;
}

int carm_study_rows_check(const char *path, bool resume, struct carm_err *err)
{
    struct carm_points *points = NULL;
    struct carm_point p;
    struct stat st;
    const bool there = stat(path, &st) == 0;
    int rc = carm_outfile_folders(path, err);
    rc = rc ? rc : carm_row_check(path, err);
    if (!rc && !resume && !is_empty(path)) {
        rc = carm_points_open(path, NULL, &points, err);
        const int found = rc ? 0 : carm_points_next(points, &p, err);
        carm_points_close(points);
        if (found) {
            rc = carm_fail(err, CARM_EIO,
                           "%.300s has points already: --resume goes on with them, or name another "
                           "file with --output",
                           path);
        }
    }
    if (!there) {
        remove(path); /* a study that is refused later must leave no empty file */
    }
    return rc;
}

int carm_study_rows_read(struct carm_study *study, const char *path, struct carm_err *err)
{
    struct carm_points *points = NULL;
    struct carm_point row;
    if (is_empty(path)) {
        return 0;
    }
    int rc = carm_points_open(path, NULL, &points, err);
    int found = 0;
    while (!rc && (found = carm_points_next(points, &row, err)) > 0) {
        if ((row.flops > 0.0 || row.operations > 0.0) && row.seconds > 0.0) {
            study->ops->take(study, &row);
        }
    }
    carm_points_close(points);
    return rc ? rc : found;
}

struct carm_row *carm_study_row(const struct carm_study *study, const char *name,
                                struct carm_err *err)
{
    struct carm_row *row = calloc(1, sizeof *row);
    if (!row) {
        carm_fail(err, CARM_ENOMEM, "not enough memory to write a point");
        return NULL;
    }
    snprintf(row->name, sizeof row->name, "%s", name);
    row->threads = study->threads;
    row->precision = "dp";
    row->calls = 1;
    row->share = 1.0;
    return row;
}

int carm_study_row_append(struct carm_row *row, const char *path, struct carm_err *err)
{
    const int rc = path ? carm_row_append(path, row, 1, err) : 0;
    free(row);
    return rc;
}

bool carm_study_note_number(const char **at, const char *text, double *value)
{
    const size_t len = strlen(text);
    char *end = NULL;
    if (strncmp(*at, text, len) != 0) {
        return false;
    }
    *value = strtod(*at + len, &end);
    const bool found = end != *at + len && isfinite(*value);
    *at = end;
    return found;
}
