/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/sol/points.h"

#include <stdio.h>
#include <string.h>

#include "base/csv.h"
#include "base/outfile.h"

/* "dp", "sp" as models name them; "" for what no CPU's model has. */
static const char *precision_word(enum carm_sol_precision precision)
{
    return precision == CARM_SOL_FP64 ? "dp" : precision == CARM_SOL_FP32 ? "sp" : "";
}

static void put_number(FILE *out, double v)
{
    (void)fputc(',', out);
    carm_csv_number(out, v);
}

/* An operation that takes no time has an empty field: a time is above zero. */
static void put_row(FILE *out, const struct carm_sol_view *v, const char *name,
                    const struct carm_sol_counts *counts, const struct carm_sol_estimate *unfused,
                    const struct carm_sol_estimate *fused)
{
    carm_csv_put_clean(out, name);
    put_number(out, carm_sol_flops(counts));
    put_number(out, (double)unfused->bytes);
    (void)fputc(',', out);
    if (fused->seconds > 0.0) {
        carm_csv_number(out, fused->seconds);
    }
    put_number(out, (double)fused->bytes);
    (void)fputc(',', out);
    if (v->threads > 0) {
        (void)fprintf(out, "%d", v->threads);
    }
    (void)fputc(',', out);
    carm_csv_put_clean(out, v->isa);
    (void)fprintf(out, ",%s,constructed,", precision_word(v->precision));
    carm_csv_put_clean(out, v->result->has_cached
                                ? "estimate of carm sol: fused, what fits stays on the chip"
                                : "estimate of carm sol: fused");
    (void)fputc('\n', out);
}

static int put_rows(FILE *out, const void *context, struct carm_err *err)
{
    const struct carm_sol_view *v = context;
    (void)err;
    (void)fputs("name,flops,bytes,seconds,dram_bytes,threads,isa,precision,counted_by,note\n", out);
    put_row(out, v, v->name, &v->analysis->total, &v->result->models[CARM_SOL_UNFUSED],
            carm_sol_view_graph(v, CARM_SOL_FUSED));
    for (uint32_t i = 0; i < carm_sol_view_layers(v); i++) {
        if (carm_sol_view_works(v, i)) {
            const struct carm_sol_estimate unfused = carm_sol_view_layer(v, i, CARM_SOL_UNFUSED);
            const struct carm_sol_estimate fused = carm_sol_view_layer(v, i, CARM_SOL_FUSED);
            put_row(out, v, carm_sol_view_layer_name(v, i), &v->analysis->layers[i], &unfused,
                    &fused);
        }
    }
    return 0;
}

int carm_sol_points_write(const char *path, const struct carm_sol_view *view, struct carm_err *err)
{
    return carm_outfile_print(strcmp(path, "-") == 0 ? NULL : path, put_rows, view, err);
}
