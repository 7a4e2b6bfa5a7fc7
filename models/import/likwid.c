/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The CSV of likwid-perfctr (-O or -o FILE.csv): tables of metrics for each group of events, of the whole
 * program or of each marked region. Flops are from the FLOPS groups, DRAM bytes from the MEM groups. No group counts
 * the bytes of loads and stores.
 * source: likwid 5.2.2, src/applications/likwid.lua (printOutput) and groups/ */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "models/import/readers.h"

enum { THREADS_MAX = 1024 };

/* Metrics of one group for one region. Unknown values are negative. */
struct part {
    double seconds; /* of the slowest thread */
    double dp, sp;  /* flops of all threads */
    double dram;    /* bytes of all sockets */
    size_t threads;
    size_t line;
    size_t next; /* next part of the region: index + 1; 0 = the last */
};

struct region {
    size_t first, last; /* its parts */
};

struct likwid {
    struct carm_names names; /* of the regions; "" = the whole program */
    struct region *regions;  /* by the number of its name */
    size_t regions_room;
    struct part *parts;
    size_t n, room;
    struct part *part;           /* part whose table of metrics is being read; NULL = another
                                  * table */
    double seconds[THREADS_MAX]; /* of the part's threads */
};

/* Cuts the next field off a line; NULL at the line's end. */
static char *field(char **line)
{
    char *f = strsep(line, ",");
    return f;
}

/* Reads a value: -1 where likwid has none. */
static bool read_value(const char *text, double *value)
{
    if (strcmp(text, "-") == 0 || strcmp(text, "nan") == 0 || strcmp(text, "-nan") == 0 ||
        strcmp(text, "inf") == 0) {
        *value = -1.0;
        return true;
    }
    return carm_import_number(text, value);
}

/* Adds a part to a region, behind its other parts. */
static int add_part(struct likwid *l, const char *name, size_t line, struct carm_err *err)
{
    uint32_t number = 0;
    const uint32_t before = l->names.n;
    int rc = carm_array_grow(&l->parts, &l->room, l->n, 1, sizeof *l->parts, "the groups", err);
    rc = rc ? rc
            : carm_array_grow(&l->regions, &l->regions_room, before, 1, sizeof *l->regions,
                              "the regions", err);
    if (rc) {
        return rc;
    }
    if (carm_names_add(&l->names, name, strlen(name), &number)) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the names of the regions");
    }
    struct region *region = &l->regions[number];
    if (number == before) {
        region->first = l->n;
    } else {
        l->parts[region->last].next = l->n + 1;
    }
    region->last = l->n;
    l->parts[l->n++] = (struct part){.seconds = -1, .dp = -1, .sp = -1, .dram = -1, .line = line};
    return 0;
}

/* "TABLE,Region solve,Group 1 Metric,MEM_DP,17" or "TABLE,Group 1 Metric,MEM_DP,17" */
static int read_table(struct carm_import *in, struct likwid *l, char *rest, size_t line,
                      struct carm_err *err)
{
    const char *region = "";
    char *title = field(&rest);
    l->part = NULL;
    if (title && strncmp(title, "Region ", 7) == 0) {
        region = title + 7;
        title = field(&rest);
    }
    const char *group = field(&rest);
    if (!title || strncmp(title, "Group ", 6) != 0 || !group) {
        return carm_import_bad(in, line, err, "no table of likwid-perfctr: is it cut off?");
    }
    const size_t n = strlen(title);
    if (n < 7 || strcmp(title + n - 7, " Metric") != 0) {
        return 0; /* a table of events, or of statistics of another table */
    }
    const int rc = add_part(l, region, line, err);
    l->part = rc ? NULL : &l->parts[l->n - 1];
    return rc;
}

static const char cut_off[] = "is the file cut off?";

/* Adds value x scale over the threads; a rate also times the thread's time. */
static int read_metric(struct carm_import *in, struct likwid *l, char *rest, double scale,
                       bool rate, double *sum, size_t line, struct carm_err *err)
{
    double all = 0.0;
    bool whole = l->part->threads > 0;
    const char *text;
    for (size_t i = 0; i < l->part->threads; i++) {
        double v;
        if ((text = field(&rest)) == NULL) {
            return carm_import_bad(in, line, err, "only %zu of %zu threads have a value: %s", i,
                                   l->part->threads, cut_off);
        }
        if (!read_value(text, &v)) {
            return carm_import_bad(in, line, err, "'%.40s' is no number of likwid's", text);
        }
        whole = whole && v >= 0.0 && (!rate || l->seconds[i] > 0.0);
        all += v * scale * (rate ? l->seconds[i] : 1.0);
    }
    *sum = whole ? all : -1.0;
    return 0;
}

static int read_times(struct carm_import *in, struct likwid *l, char *rest, size_t line,
                      struct carm_err *err)
{
    const char *text;
    double v = -1.0;
    l->part->threads = 0;
    while ((text = field(&rest)) != NULL && *text) {
        if (!read_value(text, &v)) {
            return carm_import_bad(in, line, err, "'%.40s' is no time of likwid's", text);
        }
        if (l->part->threads == THREADS_MAX) {
            return carm_import_bad(in, line, err, "more than %d threads", THREADS_MAX);
        }
        l->seconds[l->part->threads++] = v;
        l->part->seconds = fmax(l->part->seconds, v);
    }
    return 0;
}

static int read_line(struct carm_import *in, struct likwid *l, char *line, size_t number,
                     struct carm_err *err)
{
    char *rest = line;
    line[strcspn(line, "\r")] = '\0';
    const char *name = field(&rest);
    if (strcmp(name, "TABLE") == 0) {
        return read_table(in, l, rest, number, err);
    }
    if (strcmp(name, "STRUCT") == 0) {
        l->part = NULL;
    }
    if (!l->part || !rest) {
        return 0;
    }
    if (strcmp(name, "Runtime (RDTSC) [s]") == 0) {
        return read_times(in, l, rest, number, err);
    }
    if (strcmp(name, "DP [MFLOP/s]") == 0 || strcmp(name, "DP MFLOP/s") == 0) {
        return read_metric(in, l, rest, 1e6, true, &l->part->dp, number, err);
    }
    if (strcmp(name, "SP [MFLOP/s]") == 0 || strcmp(name, "SP MFLOP/s") == 0) {
        return read_metric(in, l, rest, 1e6, true, &l->part->sp, number, err);
    }
    if (strcmp(name, "Memory data volume [GBytes]") == 0) {
        return read_metric(in, l, rest, 1e9, false, &l->part->dram, number, err);
    }
    return 0;
}

/* Makes one point from the groups of a region. Groups measured one after the other are joined by their rates. */
static int put_region(struct carm_import *in, struct likwid *l, uint32_t region,
                      struct carm_err *err)
{
    const char *name = carm_names_text(&l->names, region);
    const size_t first = l->regions[region].first;
    struct part *f = NULL, *m = NULL;
    for (size_t i = first + 1; i > 0; i = l->parts[i - 1].next) {
        struct part *p = &l->parts[i - 1];
        f = !f && (p->dp >= 0.0 || p->sp >= 0.0) ? p : f;
        m = !m && p->dram >= 0.0 ? p : m;
    }
    const struct part *of = f ? f : m ? m : &l->parts[first];
    struct carm_import_row row = carm_import_row(*name ? name : "program", of->line);
    char note[200];
    row.seconds = of->seconds;
    row.threads = (double)of->threads;
    row.counted_by = "likwid";
    if (f) {
        row.flops = fmax(f->dp, 0.0) + fmax(f->sp, 0.0);
        row.precision = f->dp < 0.0 ? "sp" : f->sp < 0.0 ? "dp" : f->sp > 0.0 ? "mixed" : "dp";
    }
    const bool apart = f && m && f != m;
    if (m) {
        row.dram_bytes = apart && m->seconds > 0.0 ? m->dram / m->seconds * f->seconds : m->dram;
    }
    snprintf(note, sizeof note, "%s%slikwid does not count the bytes of loads and stores",
             f && (f->dp < 0.0 || f->sp < 0.0) ? f->dp < 0.0 ? "only single precision was counted; "
                                                             : "only double precision was counted; "
                                               : "",
             apart ? "flops and DRAM bytes are of two groups, joined by their rates; " : "");
    row.note = note;
    return carm_import_put(in, &row, err);
}

int carm_import_likwid(struct carm_import *in, struct carm_err *err)
{
    char *line = NULL;
    size_t number = 0;
    struct likwid *l = calloc(1, sizeof *l);
    int rc = 0;
    if (!l) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to read %.200s", in->name);
    }
    carm_names_open(&l->names);
    while (!rc && (rc = carm_csv_line(in->csv, &line, err)) == 1) {
        number++;
        rc = *line && l->part && !carm_csv_ended(in->csv) /* a cut number looks like a number */
                 ? carm_import_bad(in, number, err, "the last line does not end: %s", cut_off)
                 : read_line(in, l, line, number, err);
    }
    if (!rc && l->n == 0) {
        rc = carm_import_bad(
            in, number, err,
            "no table of metrics: likwid-perfctr needs a group with metrics, such as "
            "-g FLOPS_DP or -g MEM_DP");
    }
    for (uint32_t i = 0; !rc && i < l->names.n; i++) {
        rc = put_region(in, l, i, err);
    }
    carm_names_close(&l->names);
    free(l->regions);
    free(l->parts);
    free(l);
    return rc;
}
