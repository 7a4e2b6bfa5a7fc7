/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/import/readers.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"

/* Those of points.csv. */
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
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return carm_fail(err, CARM_EFORMAT, "%.120s: line %zu: %s", in->name, line, what);
}

bool carm_import_number(const char *text, double *value)
{
    const char *end = carm_number_scan(text, value);
    return end && *end == '\0' && (*value == 0.0 || (*value >= least && *value <= most));
}

/* Quantities that have columns of their own, or none in points.csv. */
static bool in_mix(enum carm_quantity q)
{
    return q != CARM_Q_FLOPS && q != CARM_Q_BYTES && q != CARM_Q_DRAM_BYTES;
}

void carm_import_header(struct carm_import *in, bool counts)
{
    fputs(
        "name,flops,bytes,seconds,dram_bytes,threads,isa,precision,counted_by,calls,share,bytes_low,"
        "bytes_high,host,note",
        in->rows);
    for (int q = 0; counts && q < CARM_Q_COUNT; q++) {
        if (in_mix((enum carm_quantity)q)) {
            fprintf(in->rows, ",%s", carm_quantity_name((enum carm_quantity)q));
        }
    }
    putc_unlocked('\n', in->rows);
}

static void put_number(FILE *out, double v)
{
    putc_unlocked(',', out);
    if (v >= 0.0) {
        char text[CARM_NUMBER_MAX];
        fputs_unlocked(carm_number_exact(text, v), out);
    }
}

static void put_text(FILE *out, const char *s)
{
    putc_unlocked(',', out);
    carm_csv_put(out, s ? s : "");
}

static bool possible(double v)
{
    return v <= 0.0 || (v >= least && v <= most);
}

int carm_import_put(struct carm_import *in, const struct carm_import_row *row, bool counts,
                    struct carm_err *err)
{
    FILE *out = in->rows;
    if (!row->name || !*row->name) {
        return carm_import_bad(in, row->line, err, "a point without a name");
    }
    if (strlen(row->name) >= CARM_CSV_FIELD_MAX) {
        return carm_import_bad(in, row->line, err, "a name of more than %d bytes: %.40s...",
                               CARM_CSV_FIELD_MAX - 1, row->name);
    }
    if (!possible(row->flops) || !possible(row->bytes) || !possible(row->dram_bytes) ||
        !possible(row->seconds)) {
        return carm_import_bad(
            in, row->line, err,
            "%.80s: flops, bytes or seconds are outside %g to %g, where every machine's are",
            row->name, least, most);
    }
    carm_csv_put(out, row->name);
    put_number(out, row->flops);
    put_number(out, row->bytes);
    put_number(out, row->seconds > 0.0 ? row->seconds : -1.0);
    put_number(out, row->dram_bytes);
    put_number(out, row->threads >= 1.0 ? floor(row->threads) : -1.0);
    put_text(out, row->isa);
    put_text(out, row->precision);
    put_text(out, row->counted_by);
    put_number(out, row->calls);
    put_number(out, row->share);
    put_number(out, row->bytes_low);
    put_number(out, row->bytes_high);
    put_text(out, row->host);
    put_text(out, row->note);
    for (int q = 0; counts && q < CARM_Q_COUNT; q++) {
        if (in_mix((enum carm_quantity)q)) {
            const bool has = row->counts && carm_count_has(row->counts, (enum carm_quantity)q);
            put_number(out, has ? row->counts->q[q].value : -1.0);
        }
    }
    putc_unlocked('\n', out);
    return 0;
}
