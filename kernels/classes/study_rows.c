/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/classes/study.h"
#include "kernels/study/rows.h"
#include "harness/count/row.h"

char *carm_classes_name(char *dst, size_t size, size_t class, unsigned k)
{
    (void)snprintf(dst, size, "%s 2^%u", carm_classes[class].name, k);
    return dst;
}

/* The class and k of a name, or false. */
static bool parse_name(const char *name, size_t *class, unsigned *k)
{
    char own[64];
    for (*class = 0; *class < CARM_CLASS_COUNT; (*class)++) {
        for (*k = 0; *k <= CARM_CLASS_K_MAX; (*k)++) {
            if (strcmp(carm_classes_name(own, sizeof own, *class, *k), name) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Takes a row when it is an instance of this very study. */
static void take(void *context, const struct carm_point *row)
{
    struct carm_classes *study = context;
    size_t class = 0;
    unsigned k = 0;
    if (!parse_name(row->name, &class, &k) || k > study->largest) {
        return;
    }
    struct carm_classes_side *s = &study->sides[class];
    struct carm_classes_point p = {.known = true, .kept = true, .seconds = row->seconds};
    const struct carm_account account = carm_class_account(&s->plan);
    carm_classes_construct(study, class, k, &account, &p);
    if (row->flops != p.flops || row->bytes != p.bytes || row->threads != study->threads ||
        strcmp(row->isa, carm_isa_name(study->target.isa)) != 0 ||
        strcmp(row->precision, carm_precision_name(study->target.precision)) != 0 ||
        s->points[k].known) {
        return;
    }
    p.disturbed = strncmp(row->note, "disturbed", 9) == 0;
    s->points[k] = p;
    study->kept++;
}

int carm_classes_rows_read(struct carm_classes *study, const char *path, struct carm_err *err)
{
    return carm_study_rows_read(path, take, study, err);
}

/* ---- writing --------------------------------------------------------------------------------- */

int carm_classes_rows_append(const struct carm_classes *study, size_t class, unsigned k,
                             void *context, struct carm_err *err)
{
    const char *path = context;
    const struct carm_classes_side *s = &study->sides[class];
    const struct carm_classes_point *p = &s->points[k];
    if (!path) {
        return 0;
    }
    struct carm_row *row = calloc(1, sizeof *row);
    if (!row) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to write a point");
    }
    (void)carm_classes_name(row->name, sizeof row->name, class, k);
    carm_count_put(&row->counts, CARM_Q_FLOPS, p->flops, CARM_COUNTED_CONSTRUCTED);
    carm_count_put(&row->counts, CARM_Q_BYTES, p->bytes, CARM_COUNTED_CONSTRUCTED);
    carm_count_put(&row->counts, CARM_Q_DRAM_BYTES, p->dram_bytes, CARM_COUNTED_CONSTRUCTED);
    row->seconds = p->seconds;
    row->threads = study->threads;
    row->isa = carm_isa_name(study->target.isa);
    row->precision = carm_precision_name(study->target.precision);
    row->calls = 1;
    row->share = 1.0;
    (void)snprintf(row->note, sizeof row->note, "%s%zu runs of %s; DRAM bytes estimated: %s",
                   p->disturbed ? "disturbed; " : "", p->runs, s->code,
                   s->home + 1 < study->model->nlevels ? "the first iteration's"
                                                       : "every iteration's, fills of stores and "
                                                         "write-backs included");
    const int rc = carm_row_append(path, row, 1, err);
    free(row);
    return rc;
}
