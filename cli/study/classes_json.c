/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <math.h>

#include "kernels/classes/study.h"
#include "kernels/study/setup.h"
#include "base/json_write.h"

/* A point against one model, null where it has no place. */
static json_t *place_json(const struct carm_classes *study, const struct carm_classes_point *p,
                          bool original)
{
    struct carm_place place;
    struct carm_err ignored;
    if (carm_classes_place(study, p, original, &place, &ignored)) {
        return json_null();
    }
    return carm_study_place_json(&place);
}

static json_t *point_json(const struct carm_classes *study, size_t c, unsigned k)
{
    char name[64];
    const struct carm_classes_point *p = &study->sides[c].points[k];
    json_t *o = json_object();
    return carm_jwrite_done(
        o, carm_jwrite_text(o, "name", carm_classes_name(name, sizeof name, c, k)) &&
               carm_jwrite_count(o, "iterations", (uint64_t)1 << k) &&
               carm_jwrite_number(o, "flops", p->flops) &&
               carm_jwrite_number(o, "bytes", p->bytes) &&
               carm_jwrite_number(o, "dram_bytes", p->dram_bytes) &&
               carm_jwrite_number(o, "seconds", p->seconds) &&
               carm_jwrite_number(o, "performance", p->flops / p->seconds) &&
               carm_jwrite_count(o, "runs", p->runs) && carm_jwrite_bool(o, "kept", p->kept) &&
               carm_jwrite_bool(o, "disturbed", p->disturbed) &&
               carm_jwrite_value(o, "cache_aware", place_json(study, p, false)) &&
               carm_jwrite_value(o, "original", place_json(study, p, true)));
}

static json_t *points_json(const struct carm_classes *study, size_t c)
{
    json_t *points = json_array();
    bool ok = points != NULL;
    for (unsigned k = 0; k < CARM_CLASSES_K && ok; k++) {
        if (study->sides[c].points[k].known) {
            ok = json_array_append_new(points, point_json(study, c, k)) == 0;
        }
    }
    return carm_jwrite_done(points, ok);
}

static json_t *fact_json(const struct carm_classes_fact *f)
{
    json_t *o = json_object();
    return carm_jwrite_done(o, carm_jwrite_number(o, "intensity", f->intensity) &&
                                   carm_jwrite_number(o, "intensity_deviation", f->deviation) &&
                                   carm_jwrite_number(o, "dram_intensity_first", f->dram_first) &&
                                   carm_jwrite_number(o, "dram_intensity_last", f->dram_last) &&
                                   carm_jwrite_number(o, "last_share_of_roof", f->share) &&
                                   carm_jwrite_number(o, "last_share_of_level", f->level_share) &&
                                   carm_jwrite_number(o, "near_16_performance",
                                                      f->near >= 0 ? f->near_performance : NAN) &&
                                   carm_jwrite_bool(o, "single_memory_bound", f->single_bound) &&
                                   carm_jwrite_number(o, "single_share_of_original",
                                                      f->first == 0 ? f->single_share : NAN) &&
                                   carm_jwrite_number(o, "single_share_of_dram_ceiling",
                                                      f->first == 0 ? f->single_dram_share : NAN));
}

static json_t *class_json(const struct carm_classes *study, size_t c,
                          const struct carm_classes_facts *facts)
{
    const struct carm_classes_side *s = &study->sides[c];
    const struct carm_class *class = &carm_classes[c];
    json_t *o = json_object();
    return carm_jwrite_done(
        o, carm_jwrite_text(o, "name", class->name) &&
               carm_jwrite_count(o, "table_bytes", class->bytes) &&
               carm_jwrite_count(o, "table_flops", class->flops) &&
               carm_jwrite_count(o, "bytes", s->plan.bytes) &&
               carm_jwrite_count(o, "flops", s->plan.flops) &&
               carm_jwrite_text(o, "level", study->model->levels[s->home].level) &&
               carm_jwrite_text_or_null(o, "code", s->code) &&
               carm_jwrite_text_or_null(o, "left_out", s->left_out) &&
               carm_jwrite_value(o, "points", points_json(study, c)) &&
               carm_jwrite_value(o, "facts",
                                 facts->classes[c].last >= 0 ? fact_json(&facts->classes[c])
                                                             : json_null()));
}

static json_t *observations_json(const struct carm_classes_facts *f)
{
    json_t *o = json_object();
    return carm_jwrite_done(
        o, carm_jwrite_bool(o, "intensity_constant_cache_aware", f->constant) &&
               carm_jwrite_bool(o, "intensity_shifts_original", f->shifts) &&
               carm_jwrite_number(o, "spread_near_16", f->spread > 0.0 ? f->spread : NAN) &&
               carm_jwrite_bool(o, "app_l1_reaches_l1_roof", f->l1_reached) &&
               carm_jwrite_count(o, "memory_bound_single_iterations", f->nbound) &&
               carm_jwrite_count(o, "of_them_below_original_roof", f->nbelow) &&
               carm_jwrite_count(o, "of_them_at_dram_ceiling", f->nline));
}

int carm_classes_print_json(FILE *out, const struct carm_classes *study, struct carm_err *err)
{
    struct carm_classes_facts facts;
    carm_classes_facts(study, &facts);
    json_t *classes = json_array();
    bool ok = classes != NULL;
    for (size_t c = 0; c < CARM_CLASS_COUNT && ok; c++) {
        ok = json_array_append_new(classes, class_json(study, c, &facts)) == 0;
    }
    json_t *o = json_object();
    o = carm_jwrite_done(
        o, carm_jwrite_value(o, "classes", carm_jwrite_done(classes, ok)) &&
               carm_jwrite_text(o, "study", "classes") &&
               carm_jwrite_text(o, "hostname", study->model->machine.hostname) &&
               carm_jwrite_text(o, "isa", carm_isa_name(study->target.isa)) &&
               carm_jwrite_text(o, "precision", carm_precision_name(study->target.precision)) &&
               carm_jwrite_int(o, "threads", study->threads) &&
               carm_jwrite_text(o, "roofs_isa", study->roofs->isa) &&
               carm_jwrite_int(o, "roofs_threads", study->roofs->threads) &&
               carm_jwrite_text_or_null(o, "note", study->roofs_note) &&
               carm_jwrite_text(o, "counted_by", "constructed") &&
               carm_jwrite_text(o, "dram_bytes_by", "estimated") &&
               carm_jwrite_bool(o, "interrupted", study->interrupted) &&
               carm_jwrite_value(o, "observations", observations_json(&facts)));
    return carm_study_print_json(out, o, err);
}
