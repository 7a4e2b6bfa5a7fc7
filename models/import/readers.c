/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/import/readers.h"

#include <string.h>

#include "base/number.h"
#include "base/text.h"

/* Limits of the numbers in points.csv (models/file/points.c). */
static const double least = 1e-12;
static const double most = 1e30;

struct carm_import_row carm_import_row(const char *name, size_t line)
{
    return (struct carm_import_row){.name = name,
                                    .flops = -1,
                                    .bytes = -1,
                                    .dram_bytes = -1,
                                    .seconds = -1,
                                    .threads = -1,
                                    .calls = -1,
                                    .share = -1,
                                    .bytes_low = -1,
                                    .bytes_high = -1,
                                    .line = line};
}

int carm_import_bad(const struct carm_import *in, size_t line, struct carm_err *err,
                    const char *fmt, ...)
{
    char what[320];
    CARM_TEXT_OF_ARGS(what, fmt);
    return carm_fail(err, CARM_EFORMAT, "%.120s: line %zu: %s", in->name, line, what);
}

bool carm_import_number(const char *text, double *value)
{
    const char *end = carm_number_scan(text, value);
    return end && *end == '\0' && (*value == 0.0 || (*value >= least && *value <= most));
}

static bool possible(double v)
{
    return v <= 0.0 || (v >= least && v <= most);
}

static bool all_possible(const struct carm_import_row *row)
{
    const double all[] = {row->flops, row->bytes,   row->dram_bytes, row->seconds,
                          row->calls, row->threads, row->bytes_low,  row->bytes_high};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (!possible(all[i])) {
            return false;
        }
    }
    for (int q = 0; q < CARM_Q_COUNT && row->counts; q++) {
        if (!possible(row->counts[q])) {
            return false;
        }
    }
    return true;
}

int carm_import_put(struct carm_import *in, const struct carm_import_row *row, struct carm_err *err)
{
    if (!row->name || !*row->name) {
        return carm_import_bad(in, row->line, err, "a point without a name");
    }
    if (strlen(row->name) >= CARM_CSV_FIELD_MAX) {
        return carm_import_bad(in, row->line, err, "a name of more than %d bytes: %.40s...",
                               CARM_CSV_FIELD_MAX - 1, row->name);
    }
    if (!all_possible(row)) {
        return carm_import_bad(
            in, row->line, err,
            "%.80s: flops, bytes, seconds or counts are outside %g to %g, where every machine's are",
            row->name, least, most);
    }
    if (row->threads > 1e9) {
        return carm_import_bad(in, row->line, err, "%.80s: more than 1e9 threads", row->name);
    }
    return carm_import_rows_add(in->rows, row, err);
}
