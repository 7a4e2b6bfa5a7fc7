/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading of a fleet. With threads from the caller, each thread parses one file or row at a
 * time. */
#include "models/file/fleet/read.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/json_read.h"
#include "base/json_scan.h"
#include "models/file/model.h"
#include "models/fleet/take.h"

enum { LINE_MAX_BYTES = 64 << 20 };

/* ---- the text of one model or row ---- */

/* Removes the file's name, which is empty here, from the front of the reader's reason. */
static void strip_name(struct carm_err *err)
{
    if (strncmp(err->text, ": ", 2) == 0) {
        memmove(err->text, err->text + 2, strlen(err->text + 2) + 1);
    }
}

/* A fleet accepts wrong curves, and members that an older version did not write. Rounds are many numbers, so they are
 * not parsed: only their presence is noted. */
static int parse_model(const char *text, size_t size, struct carm_fleet_item *item,
                       struct carm_err *err)
{
    static const char rounds[] = "\"rounds\""; /* inside a text, the quotes have backslashes */
    item->rounds = memmem(text, size, rounds, sizeof rounds - 1);
    item->model = carm_model_parse_lean(text, size);
    if (item->model) {
        return 0;
    }
    const int rc = carm_model_parse(text, size, "", &item->model, err);
    strip_name(err);
    return rc;
}

/* Whether a member is present and not null. */
static bool has(const struct carm_jread *r, json_t *root, const char *name)
{
    const json_t *v = json_object_get(root, name);
    return !r->rc && v && !json_is_null(v);
}

static void get_job(struct carm_jread *r, json_t *root, char *dst, size_t size)
{
    const json_t *v = json_object_get(root, "job");
    if (json_is_integer(v)) {
        snprintf(dst, size, "%lld", (long long)json_integer_value(v));
    } else if (has(r, root, "job")) {
        carm_jread_text(r, root, "job", dst, size);
    }
}

/* A long reason is cut, as it is for people. */
static void get_reason(struct carm_jread *r, json_t *root, char *dst, size_t size)
{
    const char *s = json_string_value(json_object_get(root, "reason"));
    if (s) {
        snprintf(dst, size, "%s", s);
    } else if (has(r, root, "reason")) {
        carm_jread_bad(r, "reason", "is not a string");
    }
}

static void read_members(struct carm_jread *r, json_t *root, struct carm_fleet_item *item)
{
    if (has(r, root, "schema")) {
        char schema[CARM_NAME_MAX] = "";
        carm_jread_text(r, root, "schema", schema, sizeof schema);
        if (!r->rc && strcmp(schema, CARM_FLEET_SCHEMA) != 0) {
            carm_jread_bad(r, "schema", "is \"%s\"; this carm reads \"%s\"", schema,
                           CARM_FLEET_SCHEMA);
        }
    }
    carm_jread_name(r, root, "host", item->host, sizeof item->host);
    get_job(r, root, item->job, sizeof item->job);
    if (has(r, root, "boot_id")) {
        carm_jread_text(r, root, "boot_id", item->boot_id, sizeof item->boot_id);
    }
    if (has(r, root, "rank")) {
        item->rank = carm_jread_int(r, root, "rank", 0);
    }
    if (has(r, root, "time")) {
        carm_jread_text(r, root, "time", item->time, sizeof item->time);
    }
    carm_jread_name(r, root, "status", item->status, sizeof item->status);
    get_reason(r, root, item->reason, sizeof item->reason);
}

/* Parses the row with null in place of its model, so that the model's thousands of values are
 * parsed only once. */
static int parse_row(const char *text, size_t size, const struct carm_span *model,
                     struct carm_fleet_item *item, struct carm_err *err)
{
    struct carm_jread r = {.file = "", .err = err};
    const size_t before = model->at ? (size_t)(model->at - text) : size;
    const size_t after = model->at ? size - before - model->size : 0;
    char *rest = malloc(before + after + 5);
    if (!rest) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to read a fleet's rows");
    }
    memcpy(rest, text, before);
    snprintf(rest + before, 5, "null");
    memcpy(rest + before + 4, text + size - after, after);
    json_t *root = carm_jread_parse(&r, rest, before + after + (model->at ? 4 : 0));
    if (root) {
        read_members(&r, root, item);
        json_decref(root);
    }
    free(rest);
    strip_name(err);
    return r.rc;
}

int carm_fleet_item_parse(const char *text, size_t size, struct carm_fleet_item *item,
                          struct carm_err *err)
{
    static const struct carm_span names[] = {CARM_SPAN("status"), CARM_SPAN("model")};
    struct carm_span found[2];
    memset(item, 0, sizeof *item);
    item->rank = -1;
    const bool row = carm_span_find(text, size, names, 2, found) && (found[0].at || found[1].at);
    const struct carm_span model = found[1];
    if (!row) {
        const int rc = parse_model(text, size, item, err);
        if (rc) {
            return rc;
        }
        snprintf(item->status, sizeof item->status, "ok");
        snprintf(item->host, sizeof item->host, "%s", item->model->machine.hostname);
        snprintf(item->time, sizeof item->time, "%s", item->model->created);
        return 0;
    }
    int rc = parse_row(text, size, &model, item, err);
    const bool none = !model.at || (model.size == 4 && memcmp(model.at, "null", 4) == 0);
    if (rc || (none && strcmp(item->status, "ok") != 0)) {
        return rc;
    }
    if (none) {
        return carm_fail(err, CARM_EFORMAT, "model is missing, though status is \"ok\"");
    }
    rc = parse_model(model.at, model.size, item, err);
    if (rc == 0) {
        snprintf(item->time, sizeof item->time, "%s", item->model->created);
    }
    return rc;
}

/* ---- files ---- */

struct list {
    char **names;
    size_t n, room;
};

static int add_name(struct list *list, const char *name, struct carm_err *err)
{
    char *copy = strdup(name);
    if (!copy) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the names of a fleet's files");
    }
    const int rc = carm_array_grow(&list->names, &list->room, list->n, 1, sizeof *list->names,
                                   "the names of a fleet's files", err);
    if (rc) {
        free(copy);
        return rc;
    }
    list->names[list->n++] = copy;
    return 0;
}

static bool ends_in(const char *name, const char *end)
{
    const size_t n = strlen(name);
    const size_t m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* Takes an entry of a folder: only models and rows. Named files are always read. */
static int take_entry(struct list *list, FTSENT *e, struct carm_err *err)
{
    switch (e->fts_info) {
    case FTS_NS:
    case FTS_SLNONE:
        if (e->fts_level == FTS_ROOTLEVEL) {
            return carm_fail(err, CARM_EIO, "cannot read %.256s: %s", e->fts_path,
                             strerror(e->fts_errno ? e->fts_errno : ENOENT));
        }
        return 0;
    case FTS_DNR:
        return carm_fail(err, CARM_EIO, "cannot read the folder %.256s: %s", e->fts_path,
                         strerror(e->fts_errno));
    case FTS_F:
    case FTS_DEFAULT: /* a pipe or a device, whose reading may never end */
        if (e->fts_level == FTS_ROOTLEVEL) {
            return add_name(list, e->fts_path, err);
        }
        if (e->fts_info == FTS_F &&
            (ends_in(e->fts_name, ".json") || ends_in(e->fts_name, ".jsonl"))) {
            return add_name(list, e->fts_path, err);
        }
        return 0;
    default:
        return 0;
    }
}

static int walk(struct list *list, char *path, struct carm_err *err)
{
    char *const roots[] = {path, NULL};
    const size_t before = list->n;
    int rc = 0;
    FTS *fts = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
    if (!fts) {
        return carm_fail(err, CARM_EIO, "cannot read %.256s: %s", path, strerror(errno));
    }
    for (FTSENT *e = fts_read(fts); e && rc == 0; e = rc ? NULL : fts_read(fts)) {
        rc = take_entry(list, e, err);
    }
    fts_close(fts);
    if (rc == 0 && list->n == before) {
        rc = carm_fail(err, CARM_EIO,
                       "%.256s has no model: `carm fleet` reads files that end in .json or .jsonl",
                       path);
    }
    return rc;
}

/* Lists the model and row files of files and folders, sorted within each folder.
 * returns 0, -CARM_EIO (a path is not there, a folder has none) or -CARM_ENOMEM */
static int list_files(char *const *paths, size_t n, struct list *list, struct carm_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = walk(list, paths[i], err);
    }
    return rc;
}

/* ---- the reader ---- */

struct reader {
    pthread_mutex_t lock; /* protects all members below */
    struct carm_fleet *fleet;
    struct list files;
    size_t next;
    FILE *lines; /* the file of rows being read: */
    int lines_fd;
    size_t pending; /* bytes read behind the last end of a line */
    const char *file;
    size_t line;
    bool ceilings;
    int rc; /* a failure ends all threads */
    struct carm_err *err;
};

/* The work of one thread. */
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
    const char *kept = carm_fleet_keep(r->fleet, text);
    if (!kept) {
        out_of_memory(r);
    }
    return kept;
}

/* ---- adding to the fleet, under the lock ---- */

static void add_broken(struct reader *r, const char *file, size_t line, const char *reason)
{
    struct carm_fleet *f = r->fleet;
    struct carm_fleet_broken broken = {keep(r, file), line, keep(r, reason)};
    r->rc = r->rc ? r->rc
                  : carm_array_append(&f->broken, &f->broken_room, &f->nbroken, &broken,
                                      sizeof broken, "so many models", r->err);
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
                                 .machine = CARM_FLEET_NONE,
                                 .rounds = item->rounds};
    if (r->rc) {
        return;
    }
    const int rc = item->model ? carm_fleet_take_model(f, item->model, r->ceilings, &row, &err) : 0;
    if (rc == -CARM_EFORMAT) {
        add_broken(r, w->file, w->line, err.text);
        return;
    }
    if (rc ||
        carm_array_append(&f->rows, &f->rows_room, &f->nrows, &row, sizeof row, "", NULL) != 0) {
        free(row.values);
        out_of_memory(r);
    }
}

/* ---- the threads ---- */

static void close_lines(struct reader *r)
{
    if (r->lines) {
        fclose(r->lines);
        r->lines = NULL;
    }
}

/* Reads for the stream of rows, and ends it at a line that is too long: getline has no limit. */
static ssize_t read_lines(void *context, char *buffer, size_t size)
{
    struct reader *r = context;
    ssize_t n;
    if (r->pending > LINE_MAX_BYTES) {
        errno = EFBIG;
        return -1;
    }
    do {
        errno = 0; /* an interruption is none of the end that follows */
        n = read(r->lines_fd, buffer, size);
    } while (n < 0 && errno == EINTR);
    const size_t got = n > 0 ? (size_t)n : 0;
    const char *end = memrchr(buffer, '\n', got);
    r->pending = end ? (size_t)(buffer + got - end) - 1 : r->pending + got;
    return n;
}

static int close_fd(void *context)
{
    const struct reader *r = context;
    return close(r->lines_fd);
}

static void open_lines(struct reader *r, const char *file)
{
    const cookie_io_functions_t io = {.read = read_lines, .close = close_fd};
    char reason[128];
    r->file = file;
    r->line = 0;
    r->pending = 0;
    r->lines_fd = open(file, O_RDONLY | O_CLOEXEC);
    if (r->lines_fd < 0) {
        snprintf(reason, sizeof reason, "cannot be read: %s", strerror(errno));
        add_broken(r, file, 0, reason);
        return;
    }
    r->lines = fopencookie(r, "r", io);
    if (!r->lines) {
        close(r->lines_fd);
        out_of_memory(r);
    }
}

/* Takes a line of the file of rows. returns false at the file's end */
static bool next_line(struct reader *r, struct work *w)
{
    while (r->lines) {
        errno = 0;
        const ssize_t n = getline(&w->text, &w->room, r->lines);
        r->line++;
        if (n < 0 || ferror(r->lines)) { /* getline returns the part before an error */
            if (errno == ENOMEM) {
                out_of_memory(r);
            } else if (errno) {
                add_broken(r, r->file, r->line,
                           errno == EFBIG ? "is longer than 64 MiB, the limit for a row; the rest "
                                            "of the file is not read"
                                          : strerror(errno));
            }
            close_lines(r);
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

/* Takes the next work, under the lock. returns false when nothing is left */
static bool take(struct reader *r, struct work *w)
{
    while (!r->rc) {
        if (next_line(r, w)) {
            return true;
        }
        if (r->next == r->files.n) {
            return false;
        }
        const char *file = r->files.names[r->next++];
        if (!has_rows(file)) {
            w->file = file;
            w->line = 0;
            return true;
        }
        open_lines(r, file);
    }
    return false;
}

/* Removes the file's name from the loader's sentence: the message here begins with it. */
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
    pthread_mutex_lock(&r->lock);
    while (take(r, &w)) {
        pthread_mutex_unlock(&r->lock);
        struct carm_fleet_item item = {.model = NULL};
        struct carm_err err = {""};
        const int rc = parse(&w, &item, &err);
        pthread_mutex_lock(&r->lock);
        if (rc == -CARM_ENOMEM) {
            out_of_memory(r);
        } else if (rc) {
            add_broken(r, w.file, w.line, err.text);
        } else {
            add_row(r, &w, &item);
        }
        carm_model_free(item.model);
    }
    pthread_mutex_unlock(&r->lock);
    free(w.text);
    return NULL;
}

/* ---- rows in the order of files and lines ---- */

/* Sorts by file and line, so that the result does not depend on the order of the threads. */
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
    if (!r.fleet) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for a fleet");
    }
    r.rc = list_files(paths, n, &r.files, err);
    r.fleet->nfiles = r.files.n;
    if (!r.rc) {
        pthread_mutex_init(&r.lock, NULL);
        if (options->share) {
            options->share(options->threads, work, &r);
        } else {
            work(&r);
        }
        close_lines(&r);
        pthread_mutex_destroy(&r.lock);
    }
    for (size_t i = 0; i < r.files.n; i++) {
        free(r.files.names[i]);
    }
    free(r.files.names);
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
