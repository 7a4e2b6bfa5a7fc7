/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/validate/csv.h"

#include <stdio.h>
#include <string.h>

#include "base/csv.h"
#include "base/number.h"
#include "base/outfile.h"
#include "validation/validate/score.h"

int carm_validate_csv_path(const char *model_path, char *path, size_t size, struct carm_err *err)
{
    size_t len = strlen(model_path);
    if (len > 5 && strcmp(model_path + len - 5, ".json") == 0) {
        len -= 5;
    }
    const int n = snprintf(path, size, "%.*s.points.csv", (int)len, model_path);
    return n > 0 && (size_t)n < size
               ? 0
               : carm_fail(err, CARM_EIO, "the path of the points is too long: name it with --csv");
}

/* Writes a value; unknown values are empty, not 0. */
static void put_known(FILE *out, double value)
{
    if (value > 0.0) {
        fprintf(out, "%.9g", value);
    }
}

static void put_point(FILE *out, const struct carm_model *model,
                      const struct carm_validation_point *p)
{
    const double intensity = p->flops / p->bytes;
    char name[sizeof p->level + CARM_NUMBER_MAX];
    snprintf(name, sizeof name, "C-%s-%.6g", p->level, intensity);
    carm_csv_put(out, name);
    fprintf(out, ",%.17g,%.17g,%.17g,", p->flops, p->bytes, p->seconds);
    if (p->ntraffic) {
        fprintf(out, "%.17g", p->traffic[p->ntraffic - 1]);
    }
    fprintf(out, ",%d,", p->set.threads);
    carm_csv_put(out, p->set.isa);
    fputc(',', out);
    carm_csv_put(out, p->set.precision);
    fputc(',', out);
    carm_csv_put(out, p->counted_by);
    fputc(',', out);
    carm_csv_put(out, p->level);
    fputc(',', out);
    carm_csv_put(out, p->set.op);
    fprintf(out, ",%.9g,%.9g,%.9g,%.9g,", intensity, p->flops / p->seconds, p->ci95.lo, p->ci95.hi);
    put_known(out, carm_predict_cache_aware(model, p, false));
    fputc(',', out);
    put_known(out, p->ntraffic ? carm_predict_original(model, p, p->ntraffic) : 0.0);
    fputc(',', out);
    put_known(out, p->beside);
    fprintf(out, ",%.9g,%llu,%llu,%d,", p->clock_hz, (unsigned long long)p->working_set_bytes,
            (unsigned long long)p->reps, p->disturbed ? 1 : 0);
    carm_csv_put(out, p->code);
    fputc('\n', out);
}

static int put_points(FILE *out, const void *context, struct carm_err *err)
{
    const struct carm_model *model = context;
    (void)err;
    fputs("name,flops,bytes,seconds,dram_bytes,threads,isa,precision,counted_by,level,op,"
          "intensity,performance,ci95_lo,ci95_hi,cache_aware,original,code_a_beside,clock_hz,"
          "working_set_bytes,reps,disturbed,code\n",
          out);
    for (size_t i = 0; i < model->nvalidation_points; i++) {
        put_point(out, model, &model->validation_points[i]);
    }
    return 0;
}

int carm_validate_write_csv(const struct carm_model *model, const char *path, struct carm_err *err)
{
    return carm_outfile_print(path, put_points, model, err);
}
