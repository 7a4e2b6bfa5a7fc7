/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The comparison as CSV: a row for each roof and each model after the baseline. */

#include "base/csv.h"
#include "base/outfile.h"
#include "cli/compare/print.h"

/* Writes a value; empty fields if the model has no such roof. */
static void put_value(FILE *out, const struct carm_compare_value *v)
{
    if (v->rate > 0.0) {
        fprintf(out, ",%.9g,%.9g,%.9g", v->rate, v->lo, v->hi);
    } else {
        fputs(",,,", out);
    }
}

static void put_row(FILE *out, const struct carm_compare_page *page,
                    const struct carm_compare_set *set, const struct carm_compare_row *row,
                    size_t model)
{
    const struct carm_compare_diff *d = &row->diffs[model];
    carm_csv_put_clean(out, page->files[model]);
    fputc(',', out);
    carm_csv_put_clean(out, set->isa);
    fputc(',', out);
    carm_csv_put_clean(out, set->precision);
    fprintf(out, ",%d,%s,", set->threads, carm_compare_kind_name(row->kind));
    carm_csv_put_clean(out, row->name);
    fprintf(out, ",%s", row->bytes ? "byte/s" : row->unit);
    put_value(out, &row->values[0]);
    put_value(out, &row->values[model]);
    if (d->verdict == CARM_COMPARE_ABSENT) {
        fputs(",,,,", out);
    } else {
        fprintf(out, ",%.6g,%.6g,%.6g,", 100.0 * d->change, 100.0 * d->error, 100.0 * d->floor);
        if (d->has_cycles) {
            fprintf(out, "%.6g", 100.0 * d->cycle_change);
        }
    }
    fprintf(out, ",%s,%d\n", carm_compare_verdict_name(d->verdict), d->same_per_cycle);
}

static int put_all(FILE *out, const void *context, struct carm_err *err)
{
    const struct carm_compare_page *page = context;
    (void)err;
    const struct carm_compare *c = page->compare;
    fputs("model,isa,precision,threads,kind,name,unit,baseline,baseline_lo,baseline_hi,value,"
          "value_lo,value_hi,change_percent,error_percent,noise_percent,cycle_change_percent,"
          "verdict,same_per_cycle\n",
          out);
    for (size_t i = 1; i < c->n; i++) {
        for (size_t s = 0; s < c->nsets; s++) {
            for (size_t k = 0; k < c->sets[s].nrows; k++) {
                const struct carm_compare_row *row = &c->sets[s].rows[k];
                if (row->values[0].rate > 0.0 || row->values[i].rate > 0.0) {
                    put_row(out, page, &c->sets[s], row, i);
                }
            }
        }
    }
    return 0;
}

int carm_compare_put_csv(const struct carm_compare_page *page, const char *path,
                         struct carm_err *err)
{
    return carm_outfile_print(path, put_all, page, err);
}
