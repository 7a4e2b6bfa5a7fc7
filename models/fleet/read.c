/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading of a fleet: several threads parse, one file or row at a time each. */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "models/fleet/item.h"
#include "models/fleet/pool.h"

enum { THREADS_MAX = 8, LINE_MAX_BYTES = 64 << 20 };

struct reader {
    pthread_mutex_t lock; /* of all that follows */
    struct carm_fleet *fleet;
    char **files;
    size_t nfiles, next;
    FILE *lines; /* the file of rows in hand */
    const char *file;
    size_t line;
    bool ceilings;
    int rc; /* ends all threads */
    struct carm_err *err;
};

/* What a thread works on. */
struct work {
    const char *file;
    size_t line; /* 0 = the whole file */
    char *text;
    size_t size, room;
};

static void out_of_memory(struct reader *r)
{
    if (!r->rc) {
        r->rc = carm_fail(r->err, CARM_ENOMEM, "not enough memory for so many models");
    }
}

static const char *keep(struct reader *r, const char *text)
{
    const char *kept = carm_fleet_pool_keep(r->fleet->strings, text);
    if (!kept) {
        out_of_memory(r);
    }
    return kept;
}

/* ---- what goes into the fleet, under the lock ---------------------------------------------------- */

static void add_broken(struct reader *r, const char *file, size_t line, const char *reason)
{
    struct carm_fleet *f = r->fleet;
    struct carm_fleet_broken broken = {keep(r, file), line, keep(r, reason)};
    if (r->rc) {
        return;
    }
    if (carm_fleet_grow(&f->broken, f->nbroken, sizeof *f->broken)) {
        out_of_memory(r);
        return;
    }
    f->broken[f->nbroken++] = broken;
}

static int64_t seconds_of(const char *time)
{
    struct tm tm = {0};
    const char *end = strptime(time, "%Y-%m-%dT%H:%M:%S", &tm);
    return end ? (int64_t)timegm(&tm) : 0;
}

static void add_row(struct reader *r, const struct work *w, const struct carm_fleet_item *item)
{
    struct carm_fleet *f = r->fleet;
    struct carm_err err = {""};
    struct carm_fleet_row row = {.file = keep(r, w->file),
                                 .line = w->line,
                                 .host = keep(r, item->host),
                                 .job = keep(r, item->job),
                                 .boot_id = keep(r, item->boot_id),
                                 .rank = item->rank,
                                 .time = keep(r, item->time),
                                 .status = keep(r, item->status),
                                 .reason = keep(r, item->reason),
                                 .seconds = seconds_of(item->time),
                                 .machine = CARM_FLEET_NONE};
    if (r->rc) {
        return;
    }
    const int rc = item->model ? carm_fleet_take_model(f, item->model, r->ceilings, &row, &err) : 0;
    if (rc == -CARM_EFORMAT) {
        add_broken(r, w->file, w->line, err.text);
        return;
    }
    if (rc || carm_fleet_grow(&f->rows, f->nrows, sizeof *f->rows)) {
        free(row.values);
        out_of_memory(r);
        return;
    }
    f->rows[f->nrows++] = row;
}

/* ---- the threads -------------------------------------------------------------------------------- */

static void close_lines(struct reader *r)
{
    if (r->lines) {
        (void)fclose(r->lines);
        r->lines = NULL;
    }
}

/* A line of the file of rows. returns false at its end */
static bool next_line(struct reader *r, struct work *w)
{
    while (r->lines) {
        errno = 0;
        const ssize_t n = getline(&w->text, &w->room, r->lines);
        r->line++;
        if (n < 0) {
            if (errno) {
                add_broken(r, r->file, r->line, strerror(errno));
            }
            close_lines(r);
        } else if (n > LINE_MAX_BYTES) {
            add_broken(r, r->file, r->line, "is longer than 64 MiB, which no row is");
        } else if (w->text[strspn(w->text, " \t\r\n")] != '\0') {
            w->file = r->file;
            w->line = r->line;
            w->size = (size_t)n;
            return true;
        }
    }
    return false;
}

static bool has_rows(const char *file)
{
    const size_t n = strlen(file);
    return n > 6 && strcmp(file + n - 6, ".jsonl") == 0;
}

/* Under the lock. returns false when nothing is left */
static bool take(struct reader *r, struct work *w)
{
    while (!r->rc) {
        if (next_line(r, w)) {
            return true;
        }
        if (r->next == r->nfiles) {
            return false;
        }
        const char *file = r->files[r->next++];
        if (!has_rows(file)) {
            w->file = file;
            w->line = 0;
            return true;
        }
        r->lines = fopen(file, "re");
        r->file = file;
        r->line = 0;
        if (!r->lines) {
            char reason[128];
            (void)snprintf(reason, sizeof reason, "cannot be read: %s", strerror(errno));
            add_broken(r, file, 0, reason);
        }
    }
    return false;
}

/* The loader's sentences name the file, which stands before them here. */
static void strip_path(struct carm_err *err, const char *file)
{
    const size_t n = strlen(file);
    const char *at = strstr(err->text, file);
    if (at && strncmp(at + n, ": ", 2) == 0) {
        memmove(err->text, at + n + 2, strlen(at + n + 2) + 1);
    }
}

static int parse(struct work *w, struct carm_fleet_item *item, struct carm_err *err)
{
    if (w->line) {
        return carm_fleet_item_parse(w->text, w->size, item, err);
    }
    char *text = NULL;
    size_t size = 0;
    int rc = carm_model_load(w->file, &text, &size, err);
    if (rc) {
        strip_path(err, w->file);
    } else {
        rc = carm_fleet_item_parse(text, size, item, err);
    }
    free(text);
    return rc;
}

static void *work(void *arg)
{
    struct reader *r = arg;
    struct work w = {.text = NULL};
    (void)pthread_mutex_lock(&r->lock);
    while (take(r, &w)) {
        (void)pthread_mutex_unlock(&r->lock);
        struct carm_fleet_item item = {.model = NULL};
        struct carm_err err = {""};
        const int rc = parse(&w, &item, &err);
        (void)pthread_mutex_lock(&r->lock);
        if (rc == -CARM_ENOMEM) {
            out_of_memory(r);
        } else if (rc) {
            add_broken(r, w.file, w.line, err.text);
        } else {
            add_row(r, &w, &item);
        }
        carm_model_free(item.model);
    }
    (void)pthread_mutex_unlock(&r->lock);
    free(w.text);
    return NULL;
}

static void run_threads(struct reader *r, int threads)
{
    pthread_t ids[THREADS_MAX];
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    int n = threads > 0 ? threads : (int)processors;
    int started = 0;
    n = n > THREADS_MAX ? THREADS_MAX : n;
    /* this thread works, too: that no other can be started is no failure */
    while (started + 1 < n && pthread_create(&ids[started], NULL, work, r) == 0) {
        started++;
    }
    (void)work(r);
    for (int i = 0; i < started; i++) {
        (void)pthread_join(ids[i], NULL);
    }
    close_lines(r);
}

/* ---- all together -------------------------------------------------------------------------------- */

/* Threads end in any order: what is found is the same for all. */
static int by_place(const char *file_a, size_t line_a, const char *file_b, size_t line_b)
{
    const int files = strcmp(file_a, file_b);
    return files ? files : (line_a > line_b) - (line_a < line_b);
}

static int by_row_place(const void *a, const void *b)
{
    const struct carm_fleet_row *x = a;
    const struct carm_fleet_row *y = b;
    return by_place(x->file, x->line, y->file, y->line);
}

static int by_broken_place(const void *a, const void *b)
{
    const struct carm_fleet_broken *x = a;
    const struct carm_fleet_broken *y = b;
    return by_place(x->file, x->line, y->file, y->line);
}

int carm_fleet_read(char *const *paths, size_t n, const struct carm_fleet_options *options,
                    struct carm_fleet **out, struct carm_err *err)
{
    struct reader r = {.err = err, .ceilings = options->ceilings};
    *out = NULL;
    r.fleet = calloc(1, sizeof *r.fleet);
    if (r.fleet) {
        r.fleet->strings = carm_fleet_pool_open();
    }
    if (!r.fleet || !r.fleet->strings) {
        carm_fleet_free(r.fleet);
        return carm_fail(err, CARM_ENOMEM, "not enough memory for a fleet");
    }
    r.rc = carm_fleet_list_files(paths, n, &r.files, &r.nfiles, err);
    r.fleet->nfiles = r.nfiles;
    if (!r.rc) {
        (void)pthread_mutex_init(&r.lock, NULL);
        run_threads(&r, options->threads);
        (void)pthread_mutex_destroy(&r.lock);
    }
    for (size_t i = 0; i < r.nfiles; i++) {
        free(r.files[i]);
    }
    free(r.files);
    if (!r.rc) {
        if (r.fleet->nrows) {
            qsort(r.fleet->rows, r.fleet->nrows, sizeof *r.fleet->rows, by_row_place);
        }
        if (r.fleet->nbroken) {
            qsort(r.fleet->broken, r.fleet->nbroken, sizeof *r.fleet->broken, by_broken_place);
        }
        r.rc = carm_fleet_order_roofs(r.fleet, err);
    }
    if (r.rc) {
        carm_fleet_free(r.fleet);
        return r.rc;
    }
    *out = r.fleet;
    return 0;
}
