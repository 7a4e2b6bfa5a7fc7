/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/dwarfs/study.h"
#include "kernels/study/setup.h"
#include "base/json_write.h"

static json_t *side_json(const struct carm_ceilings *ceilings, const struct carm_ceiling_around *s)
{
    json_t *o = json_object();
    if (!s->known) {
        json_decref(o);
        return json_null();
    }
    const struct carm_ceiling *ceiling =
        s->compute ? &ceilings->compute[s->index] : &ceilings->memory[s->index];
    const bool ok = carm_jwrite_text(o, "name", ceiling->name) &&
                    carm_jwrite_text(o, "type", s->compute ? "compute" : "memory") &&
                    carm_jwrite_number(o, "rate", ceiling->rate) &&
                    carm_jwrite_number(o, "at", s->at);
    return carm_jwrite_done(o, ok);
}

static json_t *misses_json(const struct carm_dwarf_misses *m)
{
    json_t *o = json_object();
    bool ok =
        carm_jwrite_text(o, "size", m->size) && carm_jwrite_number(o, "accesses", m->accesses);
    for (int k = 0; k < CARM_MISS_KINDS && ok; k++) {
        json_t *kind = json_object();
        ok = carm_jwrite_number(kind, "fill_bytes", m->cs.fill[k]) &&
             carm_jwrite_number(kind, "writeback_bytes", m->cs.writeback[k]) &&
             carm_jwrite_number(kind, "share", m->cs.share[k]);
        ok = carm_jwrite_value(o, carm_miss_name((enum carm_three_cs_kind)k),
                               carm_jwrite_done(kind, ok));
    }
    json_t *steps = json_array();
    for (int i = 0; i < CARM_THREE_CS_STEPS && ok; i++) {
        if (!m->cs.steps[i].known) {
            continue;
        }
        json_t *s = json_object();
        ok = carm_jwrite_text(s, "traffic", carm_three_cs_step_name((enum carm_three_cs_step)i)) &&
             carm_jwrite_number(s, "bytes", m->cs.steps[i].bytes) &&
             carm_jwrite_number(s, "intensity", m->cs.steps[i].intensity) &&
             carm_jwrite_number(s, "times", m->cs.steps[i].times);
        ok = json_array_append_new(steps, carm_jwrite_done(s, ok)) == 0 && ok;
    }
    ok = carm_jwrite_value(o, "steps", steps) && ok && carm_jwrite_text(o, "advice", m->cs.advice);
    return carm_jwrite_done(o, ok);
}

static bool put_point(json_t *o, const struct carm_dwarf_study *s,
                      const struct carm_dwarf_item *item)
{
    const struct carm_dwarf_point *p = &item->point;
    const struct carm_ceilings *ceilings = carm_dwarf_ceilings(s, item->kernel);
    const bool counted = p->times.dram_bytes > 0.0;
    return carm_jwrite_text(o, "size", p->size) && carm_jwrite_text_or_null(o, "isa", p->isa) &&
           carm_jwrite_text(o, "metric", p->work.metric) &&
           carm_jwrite_number(o, "operations", p->work.operations) &&
           carm_jwrite_number(o, "compulsory_bytes", p->work.compulsory_bytes) &&
           carm_jwrite_number(o, "dram_bytes", carm_dwarf_point_dram_bytes(p)) &&
           carm_jwrite_text(o, "dram_bytes_counted_by", counted ? "pmu" : "compulsory") &&
           carm_jwrite_value(o, "bytes",
                             p->work.core_bytes > 0.0 ? json_real(p->work.core_bytes)
                                                      : json_null()) &&
           carm_jwrite_value(o, "executed_flops",
                             p->work.core_flops > 0.0 ? json_real(p->work.core_flops)
                                                      : json_null()) &&
           carm_jwrite_text(o, "bytes_counted_by", carm_counted_name(p->work.core_by)) &&
           carm_jwrite_text_or_null(o, "note", p->work.core_note) &&
           carm_jwrite_number(o, "seconds", p->times.seconds) &&
           carm_jwrite_number(o, "fastest", p->times.fastest) &&
           carm_jwrite_number(o, "slowest", p->times.slowest) &&
           carm_jwrite_int(o, "runs", p->times.reps) && carm_jwrite_number(o, "error", p->error) &&
           carm_jwrite_text_or_null(o, "compared_with", p->checked_by) &&
           carm_jwrite_bool(o, "disturbed", p->times.disturbed) &&
           carm_jwrite_bool(o, "kept", p->kept) &&
           carm_jwrite_value(o, "cache_aware",
                             p->has_aware ? carm_study_place_json(&p->aware) : json_null()) &&
           carm_jwrite_value(o, "original",
                             p->has_original ? carm_study_place_json(&p->original) : json_null()) &&
           carm_jwrite_value(o, "upper_ceiling",
                             p->has_sandwich ? side_json(ceilings, &p->upper) : json_null()) &&
           carm_jwrite_value(o, "lower_ceiling",
                             p->has_sandwich ? side_json(ceilings, &p->lower) : json_null());
}

static json_t *item_json(const struct carm_dwarf_study *s, const struct carm_dwarf_item *item)
{
    json_t *o = json_object();
    bool ok = carm_jwrite_text(o, "name", item->name) &&
              carm_jwrite_text(o, "kernel", carm_dwarf_titles[item->kernel]) &&
              carm_jwrite_text(o, "version", item->optimised ? "optimised" : "plain") &&
              carm_jwrite_text_or_null(o, "left_out", item->left_out);
    if (item->point.known) {
        ok = ok && put_point(o, s, item);
    }
    ok = ok && carm_jwrite_value(o, "misses",
                                 item->misses.known ? misses_json(&item->misses) : json_null());
    return carm_jwrite_done(o, ok);
}

int carm_dwarf_study_json(FILE *out, const struct carm_dwarf_study *s, struct carm_err *err)
{
    json_t *o = json_object();
    json_t *items = json_array();
    bool ok = items != NULL;
    for (size_t i = 0; i < s->nitems && ok; i++) {
        ok = json_array_append_new(items, item_json(s, &s->items[i])) == 0;
    }
    ok = ok && carm_jwrite_text(o, "study", "dwarfs") &&
         carm_jwrite_text(o, "host", s->model->machine.hostname) &&
         carm_jwrite_text(o, "cpu", s->model->machine.cpu) &&
         carm_jwrite_int(o, "threads", s->threads) &&
         carm_jwrite_text(o, "roofs_isa", s->roofs->isa) &&
         carm_jwrite_int(o, "roofs_threads", s->roofs->threads) &&
         carm_jwrite_text_or_null(o, "note", s->roofs_note) &&
         carm_jwrite_bool(o, "measured_ceilings", s->has_ceilings) &&
         carm_jwrite_text_or_null(o, "caches_note", s->caches_note) &&
         carm_jwrite_bool(o, "interrupted", s->interrupted) &&
         carm_jwrite_number(o, "seconds", s->seconds);
    ok = carm_jwrite_value(o, "points", items) && ok;
    return carm_study_print_json(out, carm_jwrite_done(o, ok), err);
}
