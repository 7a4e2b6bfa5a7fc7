/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/validate/csv.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* A text without what would break a field; no name of ours has any of it. */
static void put_text(FILE *out, const char *s)
{
    for (; *s; s++) {
        (void)fputc(*s == ',' || *s == '"' || (unsigned char)*s < ' ' ? '_' : *s, out);
    }
}

/* What is not known is left empty, not written as 0. */
static void put_known(FILE *out, double value)
{
    if (value > 0.0) {
        (void)fprintf(out, "%.9g", value);
    }
}

static void put_point(FILE *out, const struct carm_model *model,
                      const struct carm_validation_point *p)
{
    const double intensity = p->flops / p->bytes;
    (void)fprintf(out, "C-");
    put_text(out, p->level);
    (void)fprintf(out, "-%.6g,%.17g,%.17g,%.17g,", intensity, p->flops, p->bytes, p->seconds);
    if (p->ntraffic) {
        (void)fprintf(out, "%.17g", p->traffic[p->ntraffic - 1]);
    }
    (void)fprintf(out, ",%d,", p->set.threads);
    put_text(out, p->set.isa);
    (void)fputc(',', out);
    put_text(out, p->set.precision);
    (void)fputc(',', out);
    put_text(out, p->counted_by);
    (void)fputc(',', out);
    put_text(out, p->level);
    (void)fputc(',', out);
    put_text(out, p->set.op);
    (void)fprintf(out, ",%.9g,%.9g,%.9g,%.9g,", intensity, p->flops / p->seconds, p->ci95.lo,
                  p->ci95.hi);
    put_known(out, carm_predict_cache_aware(model, p, false));
    (void)fputc(',', out);
    put_known(out, p->ntraffic ? carm_predict_original(model, p, p->ntraffic) : 0.0);
    (void)fputc(',', out);
    put_known(out, p->beside);
    (void)fprintf(out, ",%.9g,%llu,%llu,%d,", p->clock_hz, (unsigned long long)p->working_set_bytes,
                  (unsigned long long)p->reps, p->disturbed ? 1 : 0);
    put_text(out, p->code);
    (void)fputc('\n', out);
}

int carm_validate_write_csv(const struct carm_model *model, const char *path, struct carm_err *err)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    if (!out) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to write %.256s", path);
    }
    (void)fputs("name,flops,bytes,seconds,dram_bytes,threads,isa,precision,counted_by,level,op,"
                "intensity,performance,ci95_lo,ci95_hi,cache_aware,original,code_a_beside,clock_hz,"
                "working_set_bytes,reps,disturbed,code\n",
                out);
    for (size_t i = 0; i < model->nvalidation_points; i++) {
        put_point(out, model, &model->validation_points[i]);
    }
    int rc = fclose(out) == 0 ? 0 : carm_fail(err, CARM_ENOMEM, "not enough memory for the points");
    rc = rc ? rc : carm_outfile_put(path, text, size, err);
    free(text);
    return rc;
}
