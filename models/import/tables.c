/* SPDX-License-Identifier: GPL-3.0-or-later */
/* CSV with a header: Intel Advisor's survey (advisor --report survey --format=csv) and the applications of the
 * CARM Tool.
 * source: Intel Advisor User Guide, CPU Metrics: Self GFLOPS = Self GFLOP / Self Elapsed Time, Self AI = Self
 *         GFLOPS / Self GB/s, bytes as the cores access them; CARM Tool, DBI_AI_Calculator.py (update_csv) */
#include <string.h>

#include "models/import/readers.h"

/* A quantity of a row, and the column names that it may have. */
enum {
    NAME,
    WHERE,
    ELAPSED,
    SELF,
    GFLOP,
    GFLOPS,
    GB,
    AI,
    DRAM_GB,
    VECTOR,
    THREADS,
    PRECISION,
    METHOD,
    COLUMNS
};

struct table {
    struct carm_import *in;
    const char *const *names; /* [COLUMNS] */
    int at[COLUMNS];          /* index of a field, -1 = no such column */
    struct carm_csv_field *fields;
    size_t width;
    struct carm_err *err;
};

static const char *const advisor_names[COLUMNS] = {[NAME] = "Function Call Sites and Loops",
                                                   [WHERE] = "Source Location",
                                                   [ELAPSED] = "Self Elapsed Time",
                                                   [SELF] = "Self Time",
                                                   [GFLOP] = "Self GFLOP",
                                                   [GFLOPS] = "Self GFLOPS",
                                                   [GB] = "Self Memory GB",
                                                   [AI] = "Self AI",
                                                   [DRAM_GB] = "Self DRAM GB",
                                                   [VECTOR] = "Vector ISA"};
static const char *const carm_tool_names[COLUMNS] = {
    [NAME] = "Name",  [ELAPSED] = "Time",    [GFLOPS] = "Gflops",       [AI] = "AI",
    [VECTOR] = "ISA", [THREADS] = "Threads", [PRECISION] = "Precision", [METHOD] = "Method"};

/* Skips the lines before the header, which has the column of names. */
static int find_header(struct table *t, const char *why)
{
    int rc;
    while ((rc = carm_csv_next(t->in->csv, &t->fields, &t->width, t->err)) == 1) {
        bool found = false;
        for (int k = 0; k < COLUMNS; k++) {
            t->at[k] = -1;
            for (size_t i = 0; i < t->width && t->names[k]; i++) {
                if (t->at[k] < 0 && strcmp(t->fields[i].text, t->names[k]) == 0) {
                    t->at[k] = (int)i;
                }
            }
        }
        found = t->at[NAME] >= 0;
        if (found) {
            return 0;
        }
        if (t->width == 1 && strstr(t->fields[0].text, t->names[NAME])) {
            return carm_import_bad(t->in, t->fields[0].line, t->err,
                                   "fields are separated by commas here (--csv-delimiter=comma)");
        }
    }
    return rc ? rc : carm_fail(t->err, CARM_EFORMAT, "%.200s: %s", t->in->name, why);
}

/* Refuses a last line without a line end: both tools write one. */
static int check_line(const struct table *t, size_t width)
{
    if (t->width != width) {
        return carm_import_bad(t->in, t->fields[0].line, t->err,
                               "the line has %zu fields, the header has %zu: is it cut off?",
                               t->width, width);
    }
    return carm_csv_ended(t->in->csv)
               ? 0
               : carm_import_bad(t->in, t->fields[0].line, t->err,
                                 "the last line does not end: is the file cut off?");
}

static const char *text_of(const struct table *t, int column)
{
    return t->at[column] < 0 ? "" : t->fields[t->at[column]].text;
}

/* Reads a number; -1 where there is none. Advisor writes "0.350s", and "< 0.001" where it has no
 * value.
 * returns 0 or -CARM_EFORMAT */
static int number_of(const struct table *t, int column, bool seconds, double *value)
{
    const char *text = text_of(t, column);
    char copy[64];
    size_t n = strlen(text);
    *value = -1.0;
    if (!*text || *text == '<' || strcmp(text, "N/A") == 0) {
        return 0;
    }
    if (n < sizeof copy) {
        memcpy(copy, text, n + 1);
        if (seconds && copy[n - 1] == 's') {
            copy[n - 1] = '\0';
        }
        if (carm_import_number(copy, value)) {
            return 0;
        }
    }
    return carm_import_bad(t->in, t->fields[t->at[column]].line, t->err,
                           "%s is '%.40s', not a plain number%s", t->names[column], text,
                           seconds ? " of seconds" : "");
}

/* The widest ISA of "AVX512", "AVX2; FMA", "SSE2"; NULL = none */
static const char *isa_of(const char *text)
{
    return strstr(text, "AVX512") || strstr(text, "AVX-512") ? "avx512"
           : strstr(text, "AVX")                             ? "avx2"
           : strstr(text, "SSE")                             ? "sse"
                                                             : NULL;
}

static int read_advisor(struct table *t, bool *put)
{
    struct carm_import_row row = carm_import_row(text_of(t, NAME), t->fields[0].line);
    char name[CARM_CSV_FIELD_MAX], note[160];
    double gflop, gflops, gb, ai, dram;
    const char *where = text_of(t, WHERE);
    int rc = number_of(t, ELAPSED, true, &row.seconds);
    rc = rc || t->at[ELAPSED] >= 0 ? rc : number_of(t, SELF, true, &row.seconds);
    rc = rc ? rc : number_of(t, GFLOP, false, &gflop);
    rc = rc ? rc : number_of(t, GFLOPS, false, &gflops);
    rc = rc ? rc : number_of(t, GB, false, &gb);
    if (rc || number_of(t, AI, false, &ai) || number_of(t, DRAM_GB, false, &dram)) {
        return -CARM_EFORMAT;
    }
    if (gflop < 0.0 && gflops >= 0.0 && row.seconds > 0.0) {
        gflop = gflops * row.seconds;
    }
    if (gb < 0.0 && ai > 0.0 && gflop >= 0.0) {
        gb = gflop / ai;
    }
    *put = gflop > 0.0 || gb > 0.0; /* rows without flops and bytes are left out */
    if (!*put || !*row.name) {
        *put = false;
        return 0;
    }
    if (*where && !strstr(row.name, where) &&
        (size_t)snprintf(name, sizeof name, "%s (%s)", row.name, where) < sizeof name) {
        row.name = name;
    }
    row.flops = gflop >= 0.0 ? gflop * 1e9 : -1.0;
    row.bytes = gb >= 0.0 ? gb * 1e9 : -1.0;
    row.dram_bytes = dram >= 0.0 ? dram * 1e9 : -1.0;
    row.isa = isa_of(text_of(t, VECTOR));
    row.counted_by = "Intel Advisor";
    if (t->at[ELAPSED] < 0) {
        snprintf(note, sizeof note,
                 "time is Self Time, the sum of all threads: with several, ask for Self Elapsed "
                 "Time (--show-all-columns)");
        row.note = note;
    }
    return carm_import_put(t->in, &row, t->err);
}

int carm_import_advisor(struct carm_import *in, struct carm_err *err)
{
    struct table t = {.in = in, .names = advisor_names, .err = err};
    size_t points = 0;
    int rc = find_header(&t, "no header with Function Call Sites and Loops: write the report with "
                             "advisor --report survey --format=csv --show-all-columns");
    if (!rc && (t.at[ELAPSED] < 0 && t.at[SELF] < 0)) {
        rc = carm_import_bad(in, t.fields[0].line, err,
                             "no column Self Elapsed Time or Self Time (--show-all-columns)");
    }
    if (!rc && t.at[GFLOP] < 0 && t.at[GFLOPS] < 0) {
        rc = carm_import_bad(
            in, t.fields[0].line, err,
            "no column Self GFLOP or Self GFLOPS: collect with --collect=tripcounts "
            "--flop and report with --show-all-columns");
    }
    const size_t width = t.width;
    while (!rc && (rc = carm_csv_next(in->csv, &t.fields, &t.width, err)) == 1) {
        bool put = false;
        rc = check_line(&t, width);
        rc = rc ? rc : read_advisor(&t, &put);
        points += put;
    }
    return rc || points
               ? rc
               : carm_fail(err, CARM_EFORMAT,
                           "%.200s: no loop or function has flops or bytes: collect them with "
                           "advisor --collect=tripcounts --flop",
                           in->name);
}

static int read_carm_tool(struct table *t)
{
    struct carm_import_row row = carm_import_row(text_of(t, NAME), t->fields[0].line);
    char by[96];
    double gflops, ai;
    const char *isa = text_of(t, VECTOR);
    int rc = number_of(t, ELAPSED, false, &row.seconds);
    rc = rc ? rc : number_of(t, GFLOPS, false, &gflops);
    rc = rc ? rc : number_of(t, AI, false, &ai);
    rc = rc ? rc : number_of(t, THREADS, false, &row.threads);
    if (rc) {
        return rc;
    }
    if (gflops >= 0.0 && row.seconds > 0.0) {
        row.flops = gflops * 1e9 * row.seconds;
        row.bytes = ai > 0.0 ? row.flops / ai : -1.0;
    }
    row.isa = isa;
    row.precision = text_of(t, PRECISION);
    snprintf(by, sizeof by, "CARM Tool%s%.64s", *text_of(t, METHOD) ? " " : "", text_of(t, METHOD));
    row.counted_by = by;
    if (row.bytes < 0.0) {
        row.note = "the CARM Tool found no arithmetic intensity, so its bytes are unknown";
    }
    return carm_import_put(t->in, &row, t->err);
}

int carm_import_carm_tool(struct carm_import *in, struct carm_err *err)
{
    struct table t = {.in = in, .names = carm_tool_names, .err = err};
    int rc = find_header(&t, "no header of the CARM Tool's applications");
    static const int needed[] = {ELAPSED, GFLOPS, AI};
    for (size_t i = 0; !rc && i < sizeof needed / sizeof *needed; i++) {
        rc = t.at[needed[i]] >= 0 ? 0
                                  : carm_import_bad(in, t.fields[0].line, err, "no column %s",
                                                    carm_tool_names[needed[i]]);
    }
    const size_t width = t.width;
    while (!rc && (rc = carm_csv_next(in->csv, &t.fields, &t.width, err)) == 1) {
        rc = check_line(&t, width);
        rc = rc ? rc : read_carm_tool(&t);
    }
    return rc;
}
