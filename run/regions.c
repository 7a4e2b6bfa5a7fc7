/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/regions.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/csv.h"
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
    if (regions->times >= 0) {
        close(regions->times);
    }
    if (regions->counts >= 0) {
        close(regions->counts);
    }
    regions->times = regions->counts = -1;
}

enum { PATH_ROOM = 64 };

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
    /* so that no call of a region leads through the dynamic linker (harness/count/step/engine.h) */
    if (setenv("LD_BIND_NOW", "1", 0) != 0) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the environment");
    }
    return tell(regions->counts, "translate", err);
}

/* ---- rows of both runs ------------------------------------------------------------------------- */

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
        return rc; /* 0: no rows */
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

/* The row of this region in a run. returns how many there are, or a negative error */
static int find_row(int fd, const char *name, char seconds[64], char calls[64],
                    struct carm_err *err)
{
    struct reader r = {.csv = NULL};
    int found = 0;
    int rc = open_reader(&r, fd, err);
    while (rc > 0 && (rc = carm_csv_next(r.csv, &r.fields, &r.n, err)) > 0) {
        if (strcmp(text_of(&r, NAME), name) == 0) {
            found++;
            snprintf(seconds, 64, "%s", text_of(&r, SECONDS));
            snprintf(calls, 64, "%s", text_of(&r, CALLS));
        }
    }
    carm_csv_close(r.csv);
    return rc < 0 ? rc : found;
}

/* The time of the row that r has read.
 * why  out: why it is unknown; "" = it is known, or there was no run for it */
static int find_time(const struct carm_regions *regions, const struct reader *r, char seconds[64],
                     const char **why, struct carm_err *err)
{
    char calls[64] = "";
    char unused[64];
    *why = "";
    seconds[0] = '\0';
    if (lseek(regions->times, 0, SEEK_END) == 0) {
        return 0;
    }
    const int timed = find_row(regions->times, text_of(r, NAME), seconds, calls, err);
    const int counted =
        timed < 0 ? timed : find_row(regions->counts, text_of(r, NAME), unused, unused, err);
    if (timed < 0 || counted < 0) {
        return timed < 0 ? timed : counted;
    }
    if (timed == 0) {
        *why = "its time is unknown: it is not in the timed run";
    } else if (timed > 1 || counted > 1) {
        *why = "its time is unknown: several rows have this name";
    } else if (strcmp(calls, text_of(r, CALLS)) != 0) {
        *why = "its time is unknown: the timed run had another number of calls";
    }
    if (**why) {
        seconds[0] = '\0';
    }
    return 0;
}

static int write_row(FILE *out, const struct carm_regions *regions, const struct reader *r,
                     struct carm_err *err)
{
    char seconds[64];
    const char *why = "";
    const int rc = find_time(regions, r, seconds, &why, err);
    for (size_t i = 0; i < r->n && !rc; i++) {
        char note[CARM_CSV_FIELD_MAX + 128];
        const char *text = i == r->at[SECONDS] && seconds[0] ? seconds : r->fields[i].text;
        if (i == r->at[NOTE] && *why) {
            snprintf(note, sizeof note, "%s%s%s", text, *text ? "; " : "", why);
            text = note;
        }
        fputs(i ? "," : "", out);
        carm_csv_put(out, text);
    }
    fputc('\n', out);
    return rc;
}

int carm_regions_take(const struct carm_regions *regions, const char *path, struct carm_err *err)
{
    struct reader r = {.csv = NULL};
    char *text = NULL;
    size_t size = 0;
    int rc = open_reader(&r, regions->counts, err);
    FILE *out = rc > 0 ? open_memstream(&text, &size) : NULL;
    if (rc > 0 && !out) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for the rows of %.300s", path);
    }
    while (rc > 0 && (rc = carm_csv_next(r.csv, &r.fields, &r.n, err)) > 0) {
        const int failed = write_row(out, regions, &r, err);
        rc = failed ? failed : 1;
    }
    carm_csv_close(r.csv);
    if (out && fclose(out) != 0 && !rc) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for the rows of %.300s", path);
    }
    rc = rc || !size ? rc : carm_row_append_text(path, text, size, err);
    free(text);
    return rc;
}
