/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/file/history.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/hash.h"

static const enum carm_change_kind kinds[] = {CARM_CHANGE_TIME,       CARM_CHANGE_INSTRUCTIONS,
                                              CARM_CHANGE_FLOPS,      CARM_CHANGE_BYTES,
                                              CARM_CHANGE_L2_BYTES,   CARM_CHANGE_L3_BYTES,
                                              CARM_CHANGE_DRAM_BYTES, CARM_CHANGE_ALLOCATIONS};
enum { KINDS = sizeof kinds / sizeof *kinds, COMMIT_LEAST = 7, COMMIT_MOST = 40 };

static int no_memory(struct carm_err *err)
{
    return carm_fail(err, CARM_ENOMEM, "not enough memory for the history");
}

struct file {
    char *path, *label;
    size_t place; /* place of its commit; SIZE_MAX = none */
};

struct files {
    struct file *of;
    size_t n, room;
};

static int add_file(struct files *files, const char *folder, const char *name, struct carm_err *err)
{
    int rc =
        carm_array_grow(&files->of, &files->room, files->n, 1, sizeof *files->of, "the files", err);
    if (rc) {
        return rc;
    }
    struct file *f = &files->of[files->n];
    const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
    const size_t n = strlen(base), end = n > 4 && strcmp(base + n - 4, ".csv") == 0 ? n - 4 : n;
    *f = (struct file){.label = strndup(base, end), .place = SIZE_MAX};
    if (asprintf(&f->path, "%s%s%s", folder, *folder ? "/" : "", name) < 0) {
        f->path = NULL;
    }
    files->n++;
    return f->path && f->label ? 0 : no_memory(err);
}

static int list_folder(struct files *files, const char *folder, struct carm_err *err)
{
    DIR *dir = opendir(folder);
    if (!dir) {
        return carm_fail(err, CARM_EIO, "cannot read %.300s: %s", folder, strerror(errno));
    }
    int rc = 0;
    for (const struct dirent *e;
         !rc && (e = readdir(dir)) != NULL;) { // NOLINT(concurrency-mt-unsafe)
        const size_t n = strlen(e->d_name);
        if (*e->d_name != '.' && n > 4 && strcmp(e->d_name + n - 4, ".csv") == 0) {
            rc = add_file(files, folder, e->d_name, err);
        }
    }
    closedir(dir);
    return rc;
}

static bool is_commit(const char *label)
{
    const size_t n = strlen(label);
    return n >= COMMIT_LEAST && n <= COMMIT_MOST && strspn(label, "0123456789abcdef") == n;
}

/* Finds the commits of the files. returns the number of files with a commit */
static size_t find_commits(struct files *files, carm_history_commits *list)
{
    char line[COMMIT_MOST + 2];
    size_t found = 0;
    bool any = false;
    for (size_t i = 0; i < files->n; i++) {
        any = any || is_commit(files->of[i].label);
    }
    FILE *commits = any ? list() : NULL;
    for (size_t place = 0; commits && fgets(line, sizeof line, commits); place++) {
        for (size_t i = 0; i < files->n; i++) {
            struct file *f = &files->of[i];
            if (is_commit(f->label) && strncmp(line, f->label, strlen(f->label)) == 0) {
                found += f->place == SIZE_MAX;
                f->place = place;
            }
        }
    }
    if (commits) {
        fclose(commits);
    }
    return found;
}

static int by_place(const void *a, const void *b)
{
    const struct file *x = a, *y = b;
    return x->place != y->place ? (x->place > y->place) - (x->place < y->place)
                                : strverscmp(x->label, y->label);
}

static int find_files(struct carm_history *h, char *const *operands, size_t n,
                      carm_history_commits *list, struct carm_err *err)
{
    struct files files = {.of = NULL};
    struct stat s;
    int rc = 0;
    const bool folder = n == 1 && stat(operands[0], &s) == 0 && S_ISDIR(s.st_mode);
    for (size_t i = 0; i < n && !rc; i++) {
        rc =
            folder ? list_folder(&files, operands[i], err) : add_file(&files, "", operands[i], err);
    }
    if (folder && files.n) {
        h->ncommits = find_commits(&files, list);
        h->by_commit = h->ncommits > 0;
        qsort(files.of, files.n, sizeof *files.of, by_place);
    }
    if (!rc && files.n < 2) {
        rc = carm_fail(
            err, CARM_EINVAL,
            folder ? "%.300s has fewer than two files *.csv: a history has one for each commit"
                   : "a history needs a folder with a file for each commit, or two files and more",
            operands[0]);
    }
    h->paths = calloc(files.n + 1, sizeof *h->paths);
    h->labels = calloc(files.n + 1, sizeof *h->labels);
    for (size_t i = 0; i < files.n; i++) {
        if (h->paths && h->labels) {
            h->paths[i] = files.of[i].path;
            h->labels[i] = files.of[i].label;
            h->nfiles = i + 1;
        } else {
            free(files.of[i].path);
            free(files.of[i].label);
        }
    }
    free(files.of);
    return rc || (h->paths && h->labels) ? rc : no_memory(err);
}

/* The series of a point: KINDS neighbouring series. returns NULL: no memory */
static struct carm_history_series *series_of(struct carm_history *h, struct carm_names *names,
                                             size_t *room, const char *name)
{
    uint32_t number = 0;
    if (carm_names_add(names, name, strlen(name), &number) ||
        carm_array_grow(&h->series, room, h->nseries, KINDS, sizeof *h->series, "the history",
                        NULL)) {
        return NULL;
    }
    for (int k = 0; (size_t)number * KINDS == h->nseries - (size_t)k && k < KINDS; k++) {
        struct carm_history_series *s = &h->series[h->nseries++];
        *s = (struct carm_history_series){.name = strdup(name),
                                          .kind = kinds[k],
                                          .exact = true,
                                          .values = calloc(h->nfiles, sizeof *s->values),
                                          .causes = calloc(h->nfiles, sizeof *s->causes)};
        if (!s->name || !s->values || !s->causes) {
            return NULL;
        }
        for (size_t i = 0; i < h->nfiles; i++) {
            s->values[i] = NAN;
        }
    }
    return &h->series[(size_t)number * KINDS];
}

static void put_causes(const struct carm_changes *changes, size_t i, enum carm_change_kind kind,
                       char **out)
{
    enum { MOST = 3 };
    struct carm_change_cause causes[MOST];
    const size_t n =
        kind >= CARM_CHANGE_FLOPS ? carm_changes_causes(changes, i, kind, causes, MOST) : 0;
    size_t size = 0;
    FILE *text = n ? open_memstream(out, &size) : NULL;
    for (size_t k = 0; text && k < n; k++) {
        fprintf(text, "%s%.0f%% in %s", k ? ", " : "", 100.0 * causes[k].share, causes[k].part);
    }
    if (text) {
        fclose(text);
    }
}

/* Adds the points of file `at` and of the next file. */
static int add_pair(struct carm_history *h, struct carm_names *names, size_t *room,
                    const struct carm_changes *changes, size_t at, struct carm_err *err)
{
    struct carm_change c;
    for (size_t i = 0; carm_changes_get(changes, i, &c); i++) {
        struct carm_history_series *of = c.part ? NULL : series_of(h, names, room, c.name);
        if (!of && !c.part) {
            return no_memory(err);
        }
        for (int k = 0; of && k < KINDS; k++) {
            struct carm_history_series *s = &of[k];
            const struct carm_change_value *v = &c.values[s->kind];
            if (v->verdict == CARM_CHANGE_UNKNOWN) {
                continue;
            }
            s->exact = s->exact && v->error == 0.0 && s->kind != CARM_CHANGE_TIME;
            s->asks = s->asks || *c.asks_for;
            s->values[at] = v->value[0];
            s->values[at + 1] = v->value[1];
            if (s->exact && v->value[0] != v->value[1] && !s->causes[at + 1]) {
                put_causes(changes, i, s->kind, &s->causes[at + 1]);
            }
        }
    }
    return 0;
}

static void free_series(struct carm_history_series *s)
{
    free(s->name);
    free(s->values);
    free(s->causes);
    free(s->steps);
}

/* Finds the steps, and drops series without values. */
static int find_steps(struct carm_history *h, double noise, struct carm_err *err)
{
    size_t kept = 0;
    int rc = 0;
    for (size_t k = 0; k < h->nseries; k++) {
        struct carm_history_series s = h->series[k];
        bool any = false;
        for (size_t i = 0; i < h->nfiles; i++) {
            any = any || !isnan(s.values[i]);
        }
        if (!any) {
            free_series(&s);
            continue;
        }
        s.asks = s.asks && s.exact;
        s.steps = rc ? NULL : calloc(h->nfiles, sizeof *s.steps);
        if (!s.steps) {
            rc = rc ? rc : no_memory(err);
        } else if (s.exact) {
            s.nsteps = carm_history_changes(s.values, h->nfiles, s.asks ? CARM_HISTORY_ASKS : 0.0,
                                            s.steps);
        } else {
            rc = carm_history_steps(s.values, h->nfiles, noise, CARM_HISTORY_ALARM, s.steps,
                                    &s.nsteps, err);
        }
        h->series[kept++] = s;
    }
    h->nseries = kept;
    return rc;
}

int carm_history_read(struct carm_history *h, char *const *operands, size_t n,
                      const struct carm_points_how *how, double noise, const char *only,
                      carm_history_commits *list, struct carm_err *err)
{
    struct carm_names names;
    size_t room = 0;
    *h = (struct carm_history){.nfiles = 0};
    int rc = find_files(h, operands, n, list, err);
    carm_names_open(&names);
    for (size_t i = 0; i + 1 < h->nfiles && !rc; i++) {
        struct carm_changes *changes = NULL;
        rc = carm_points_compare(h->paths[i], h->paths[i + 1], how, NULL, noise, only, &changes,
                                 err);
        if (rc == -CARM_EINVAL) { /* no common name, such as after a benchmark was renamed */
            h->unlike++;
            rc = h->unlike + 1 == h->nfiles ? rc : 0;
        } else if (!rc) {
            rc = add_pair(h, &names, &room, changes, i, err);
        }
        carm_changes_close(changes);
    }
    carm_names_close(&names);
    return rc ? rc : find_steps(h, noise, err);
}

void carm_history_close(struct carm_history *h)
{
    for (size_t k = 0; k < h->nseries; k++) {
        for (size_t i = 0; i < h->nfiles && h->series[k].causes; i++) {
            free(h->series[k].causes[i]);
        }
        free_series(&h->series[k]);
    }
    for (size_t i = 0; i < h->nfiles; i++) {
        free(h->paths[i]);
        free(h->labels[i]);
    }
    free(h->paths);
    free(h->labels);
    free(h->series);
}
