/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/regions.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/csv.h"
#include "base/fd.h"
#include "base/hash.h"
#include "harness/count/row.h"

int carm_regions_open(struct carm_regions *regions, struct carm_err *err)
{
    regions->times = memfd_create("carm-times", MFD_CLOEXEC);
    regions->counts = memfd_create("carm-counts", MFD_CLOEXEC);
    if (regions->times < 0 || regions->counts < 0) {
        carm_fail(err, CARM_EIO, "cannot make a file in memory: %s", strerror(errno));
        carm_regions_close(regions);
        return -CARM_EIO;
    }
    return 0;
}

void carm_regions_close(struct carm_regions *regions)
{
    carm_fd_close(regions->times);
    carm_fd_close(regions->counts);
    regions->times = regions->counts = -1;
}

enum { PATH_ROOM = 64, TEXT_ROOM = 64 };

static void name_file(char path[PATH_ROOM], int fd)
{
    snprintf(path, PATH_ROOM, "/proc/%ld/fd/%d", (long)getpid(), fd);
}

static int tell(int fd, const char *counters, struct carm_err *err)
{
    char path[PATH_ROOM];
    name_file(path, fd);
    return setenv("CARM_OUT", path, 1) == 0 && setenv("CARM_COUNTERS", counters, 1) == 0
               ? 0
               : carm_fail(err, CARM_ENOMEM, "not enough memory for the environment");
}

int carm_regions_first(const struct carm_regions *regions, struct carm_err *err)
{
    return tell(regions->times, "none", err);
}

int carm_regions_again(const struct carm_regions *regions, struct carm_err *err)
{
    /* calls of regions must not go through the dynamic linker (harness/count/step/engine.h) */
    if (setenv("LD_BIND_NOW", "1", 0) != 0) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the environment");
    }
    return tell(regions->counts, "translate", err);
}

enum column { NAME, SECONDS, CALLS, NOTE, COLUMNS };

struct reader {
    struct carm_csv *csv;
    size_t at[COLUMNS];
    struct carm_csv_field *fields;
    size_t n;
};

static int open_reader(struct reader *r, int fd, struct carm_err *err)
{
    static const char *const names[COLUMNS] = {"name", "seconds", "calls", "note"};
    char path[PATH_ROOM];
    name_file(path, fd);
    int rc = carm_csv_open(path, &r->csv, err);
    rc = rc ? rc : carm_csv_next(r->csv, &r->fields, &r->n, err);
    if (rc <= 0) {
        return rc; /* rc 0: the file has no rows */
    }
    for (int c = 0; c < COLUMNS; c++) {
        size_t i = 0;
        while (i < r->n && strcmp(r->fields[i].text, names[c]) != 0) {
            i++;
        }
        if (i == r->n) {
            return carm_fail(err, CARM_EFORMAT, "the rows of the regions have no column '%s'",
                             names[c]);
        }
        r->at[c] = i;
    }
    return 1;
}

static const char *text_of(const struct reader *r, enum column c)
{
    return r->at[c] < r->n ? r->fields[r->at[c]].text : "";
}

/* The rows of the timed run by name, and how often each name is in either run. */
struct index {
    struct carm_names names;
    struct timed {
        char seconds[TEXT_ROOM], calls[TEXT_ROOM]; /* of the last row */
        unsigned timed, counted;                   /* rows */
    } * of;                                        /* [room], by the name's number */
    size_t room;
};

static void close_index(struct index *x)
{
    carm_names_close(&x->names);
    free(x->of);
}

/* The entry of the row that r has read. NULL: out of memory */
static struct timed *entry_of(struct index *x, const struct reader *r, struct carm_err *err)
{
    const char *name = text_of(r, NAME);
    const size_t before = x->names.n;
    uint32_t number = 0;
    if (carm_names_add(&x->names, name, strlen(name), &number) ||
        carm_array_grow(&x->of, &x->room, number, 1, sizeof *x->of, "", NULL)) {
        carm_fail(err, CARM_ENOMEM, "not enough memory for the rows of the regions");
        return NULL;
    }
    if (number == before) {
        x->of[number] = (struct timed){.timed = 0};
    }
    return &x->of[number];
}

/* All rows of a run.
 * timed  true: rows of the timed run */
static int read_rows(struct index *x, int fd, bool timed, struct carm_err *err)
{
    struct reader r = {.csv = NULL};
    int rc = open_reader(&r, fd, err);
    while (rc > 0 && (rc = carm_csv_next(r.csv, &r.fields, &r.n, err)) > 0) {
        struct timed *entry = entry_of(x, &r, err);
        if (!entry) {
            rc = -CARM_ENOMEM;
        } else if (timed) {
            entry->timed++;
            snprintf(entry->seconds, sizeof entry->seconds, "%s", text_of(&r, SECONDS));
            snprintf(entry->calls, sizeof entry->calls, "%s", text_of(&r, CALLS));
        } else {
            entry->counted++;
        }
    }
    carm_csv_close(r.csv);
    return rc;
}

static int open_index(struct index *x, const struct carm_regions *regions, struct carm_err *err)
{
    *x = (struct index){.of = NULL};
    carm_names_open(&x->names);
    const int rc = read_rows(x, regions->times, true, err);
    return rc ? rc : read_rows(x, regions->counts, false, err);
}

/* Why the time of a counted row is unknown; "" = known */
static const char *time_unknown(const struct timed *entry, const struct reader *r)
{
    if (entry->timed == 0) {
        return "its time is unknown: it is not in the timed run";
    }
    if (entry->timed > 1 || entry->counted > 1) {
        return "its time is unknown: several rows have this name";
    }
    return strcmp(entry->calls, text_of(r, CALLS)) == 0
               ? ""
               : "its time is unknown: the timed run had another number of calls";
}

/* The row that r has read, with its time.
 * timed  true: a timed run was made */
static int write_row(FILE *out, struct index *x, bool timed, const struct reader *r,
                     struct carm_err *err)
{
    const struct timed *entry = entry_of(x, r, err);
    if (!entry) {
        return -CARM_ENOMEM;
    }
    const char *why = timed ? time_unknown(entry, r) : "";
    const char *seconds = timed && !*why ? entry->seconds : "";
    for (size_t i = 0; i < r->n; i++) {
        char note[CARM_CSV_FIELD_MAX + 128];
        const char *text = i == r->at[SECONDS] && *seconds ? seconds : r->fields[i].text;
        if (i == r->at[NOTE] && *why) {
            snprintf(note, sizeof note, "%s%s%s", text, *text ? "; " : "", why);
            text = note;
        }
        fputs(i ? "," : "", out);
        carm_csv_put(out, text);
    }
    fputc('\n', out);
    return 0;
}

int carm_regions_take(const struct carm_regions *regions, const char *path, struct carm_err *err)
{
    struct reader r = {.csv = NULL};
    struct index x;
    char *text = NULL;
    size_t size = 0;
    const bool timed = lseek(regions->times, 0, SEEK_END) > 0;
    int rc = open_index(&x, regions, err);
    rc = rc ? rc : open_reader(&r, regions->counts, err);
    FILE *out = rc > 0 ? open_memstream(&text, &size) : NULL;
    if (rc > 0 && !out) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for the rows of %.300s", path);
    }
    while (rc > 0 && (rc = carm_csv_next(r.csv, &r.fields, &r.n, err)) > 0) {
        const int failed = write_row(out, &x, timed, &r, err);
        rc = failed ? failed : 1;
    }
    carm_csv_close(r.csv);
    close_index(&x);
    if (out && fclose(out) != 0 && !rc) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for the rows of %.300s", path);
    }
    rc = rc || !size ? rc : carm_row_append_text(path, text, size, err);
    free(text);
    return rc;
}
