/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <jansson.h>
#include <stdlib.h>

#include "kernels/gemm/study.h"
#include "kernels/study/setup.h"
#include "base/json_write.h"

/* A point of the study: those that are known are gathered before they are written. */
struct item {
    const struct carm_gemm_point *point;
};

static json_t *point_json(const void *items, size_t i)
{
    const struct carm_gemm_point *p = ((const struct item *)items)[i].point;
    json_t *o = json_object();
    bool ok =
        carm_jwrite_text(o, "name", p->name) && carm_jwrite_text(o, "what", p->what) &&
        carm_jwrite_text(o, "blocks", p->blocks) && carm_jwrite_text_or_null(o, "isa", p->isa) &&
        carm_jwrite_number(o, "flops", p->flops) &&
        carm_jwrite_value(o, "bytes", p->bytes > 0.0 ? json_real(p->bytes) : json_null()) &&
        carm_jwrite_text(o, "bytes_counted_by",
                         carm_counted_name(p->bytes > 0.0 ? p->bytes_by : CARM_COUNTED_NOT)) &&
        carm_jwrite_number(o, "dram_bytes", p->dram_bytes) &&
        carm_jwrite_text(o, "dram_bytes_counted_by", p->dram_counted ? "pmu" : "estimated") &&
        carm_jwrite_number(o, "seconds", p->seconds) &&
        carm_jwrite_number(o, "fastest", p->fastest) &&
        carm_jwrite_number(o, "slowest", p->slowest) && carm_jwrite_int(o, "runs", p->reps) &&
        carm_jwrite_count(o, "rows", p->rows) && carm_jwrite_number(o, "error", p->error) &&
        carm_jwrite_bool(o, "disturbed", p->disturbed) && carm_jwrite_bool(o, "kept", p->kept) &&
        carm_jwrite_text_or_null(o, "note", p->detail);
    ok = ok && carm_jwrite_value(o, "cache_aware",
                                 p->has_aware ? carm_study_place_json(&p->aware) : json_null());
    ok = ok &&
         carm_jwrite_value(o, "original",
                           p->has_original ? carm_study_place_json(&p->original) : json_null());
    return carm_jwrite_done(o, ok);
}

static json_t *facts_json(const struct carm_gemm_study *s)
{
    struct carm_gemm_facts f;
    json_t *o = json_object();
    json_t *blocked = json_array();
    carm_gemm_facts(s, &f);
    bool ok = true;
    for (int i = 0; i < 3; i++) {
        if (!f.blocked[i].known) {
            continue;
        }
        json_t *b = json_object();
        const bool one = carm_jwrite_int(b, "step", i + 3) &&
                         carm_jwrite_text(b, "level", f.blocked[i].level) &&
                         carm_jwrite_number(b, "ceiling", f.blocked[i].ceiling) &&
                         carm_jwrite_number(b, "share", f.blocked[i].share) &&
                         carm_jwrite_bool(b, "at_or_below", f.blocked[i].holds);
        ok = json_array_append_new(blocked, carm_jwrite_done(b, one)) == 0 && ok;
    }
    ok = carm_jwrite_value(o, "blocked", blocked) && ok && carm_jwrite_bool(o, "rises", f.rises) &&
         carm_jwrite_number(o, "tile_intensity", f.tile_intensity) &&
         carm_jwrite_number(o, "intensity_low", f.intensity_low) &&
         carm_jwrite_number(o, "intensity_high", f.intensity_high) &&
         carm_jwrite_number(o, "intensity_deviation", f.deviation) &&
         carm_jwrite_number(o, "original_intensity_low", f.dram_low) &&
         carm_jwrite_number(o, "original_intensity_high", f.dram_high) &&
         carm_jwrite_bool(o, "step_1_compute_region", f.aware_compute) &&
         carm_jwrite_bool(o, "step_1_compute_region_original", f.original_compute) &&
         carm_jwrite_number(o, "peak", f.peak) &&
         carm_jwrite_value(o, "library_share",
                           f.library >= 0 ? json_real(f.library_share) : json_null());
    return carm_jwrite_done(o, ok);
}

int carm_gemm_study_json(FILE *out, const struct carm_gemm_study *s, struct carm_err *err)
{
    struct item *points = calloc(CARM_GEMM_STEPS + s->nvariants, sizeof *points);
    size_t n = 0;
    size_t steps = 0;
    for (int i = 0; points && i < CARM_GEMM_STEPS; i++) {
        if (s->steps[i].known) {
            points[n++].point = &s->steps[i];
        }
    }
    steps = n;
    for (size_t i = 0; points && i < s->nvariants; i++) {
        if (s->variants[i].known) {
            points[n++].point = &s->variants[i];
        }
    }
    json_t *o = json_object();
    const bool ok = points && carm_jwrite_text(o, "study", "gemm") &&
                    carm_jwrite_text(o, "host", s->model->machine.hostname) &&
                    carm_jwrite_text(o, "cpu", s->model->machine.cpu) &&
                    carm_jwrite_count(o, "n", s->n) && carm_jwrite_int(o, "threads", s->threads) &&
                    carm_jwrite_text(o, "kernel", s->kernels.vector->name) &&
                    carm_jwrite_text(o, "roofs_isa", s->roofs->isa) &&
                    carm_jwrite_int(o, "roofs_threads", s->roofs->threads) &&
                    carm_jwrite_text_or_null(o, "note", s->roofs_note) &&
                    carm_jwrite_text_or_null(o, "compared_with", s->reference) &&
                    carm_jwrite_bool(o, "interrupted", s->interrupted) &&
                    carm_jwrite_array(o, "steps", points, steps, point_json) &&
                    carm_jwrite_array(o, "variants", points + steps, n - steps, point_json) &&
                    carm_jwrite_value(o, "facts", facts_json(s)) &&
                    carm_jwrite_number(o, "seconds", s->seconds);
    free(points);
    return carm_study_print_json(out, carm_jwrite_done(o, ok), err);
}
