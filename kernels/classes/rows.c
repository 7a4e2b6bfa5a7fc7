/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The instances of the classes as rows of points.csv. */
#include <stdio.h>
#include <string.h>

#include "kernels/classes/study.h"
#include "models/roofline.h"

void carm_classes_construct(const struct carm_classes *study, size_t class, unsigned k,
                            const struct carm_account *account, struct carm_classes_point *point)
{
    const struct carm_classes_side *s = &study->sides[class];
    const struct carm_class_work w =
        carm_class_work(&s->plan, account, (uint64_t)1 << k, study->base.threads);
    const struct carm_stream stream = {.load_bytes = w.load_bytes,
                                       .store_bytes = w.store_bytes,
                                       .update = study->target.mix.update,
                                       .set_bytes = (double)s->plan.bytes * study->base.threads,
                                       .repetitions = 1.0};
    point->flops = w.flops;
    point->bytes = w.load_bytes + w.store_bytes;
    point->dram_bytes = carm_traffic_bytes(&stream, study->base.model->nlevels - 1, s->home);
}

char *carm_classes_name(char *dst, size_t size, size_t class, unsigned k)
{
    snprintf(dst, size, "%s 2^%u", carm_classes[class].name, k);
    return dst;
}

/* Reads the class and k from a name. returns false for another name */
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

/* Takes a row, if it is an instance of this study. */
void carm_classes_take(struct carm_study *base, const struct carm_point *row)
{
    struct carm_classes *study = (struct carm_classes *)base;
    size_t class = 0;
    unsigned k = 0;
    if (!parse_name(row->name, &class, &k) || k > study->largest) {
        return;
    }
    struct carm_classes_side *s = &study->sides[class];
    struct carm_classes_point p = {.known = true, .kept = true, .seconds = row->seconds};
    const struct carm_account account = carm_class_account(&s->plan);
    carm_classes_construct(study, class, k, &account, &p);
    if (row->flops != p.flops || row->bytes != p.bytes || row->threads != study->base.threads ||
        strcmp(row->isa, carm_isa_name(study->target.isa)) != 0 ||
        strcmp(row->precision, carm_precision_name(study->target.precision)) != 0 ||
        s->points[k].known) {
        return;
    }
    p.disturbed = strncmp(row->note, "disturbed", 9) == 0;
    s->points[k] = p;
    study->base.kept++;
}

int carm_classes_rows_append(const struct carm_classes *study, size_t class, unsigned k,
                             const char *path, struct carm_err *err)
{
    char name[64];
    const struct carm_classes_side *s = &study->sides[class];
    const struct carm_classes_point *p = &s->points[k];
    struct carm_row *row =
        carm_study_row(&study->base, carm_classes_name(name, sizeof name, class, k), err);
    if (!row) {
        return -CARM_ENOMEM;
    }
    carm_count_put(&row->counts, CARM_Q_FLOPS, p->flops, CARM_COUNTED_CONSTRUCTED);
    carm_count_put(&row->counts, CARM_Q_BYTES, p->bytes, CARM_COUNTED_CONSTRUCTED);
    carm_count_put(&row->counts, CARM_Q_DRAM_BYTES, p->dram_bytes, CARM_COUNTED_CONSTRUCTED);
    row->seconds = p->seconds;
    row->isa = carm_isa_name(study->target.isa);
    row->precision = carm_precision_name(study->target.precision);
    snprintf(row->note, sizeof row->note, "%s%zu runs of %s; DRAM bytes estimated: %s",
             p->disturbed ? "disturbed; " : "", p->runs, s->code,
             s->home + 1 < study->base.model->nlevels ? "the first iteration's"
                                                      : "every iteration's, fills of stores and "
                                                        "write-backs included");
    return carm_study_row_append(row, path, err);
}
