/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/file/ceilings_file.h"
#include "models/file/count_check_file.h"
#include "base/json_write.h"
#include "base/outfile.h"
#include "models/file/validation_write.h"

static json_t *spread(const struct carm_spread *s)
{
    json_t *o = json_object();
    return carm_jwrite_done(
        o, carm_jwrite_number(o, "min", s->min) && carm_jwrite_number(o, "p5", s->p5) &&
               carm_jwrite_number(o, "p95", s->p95) && carm_jwrite_number(o, "max", s->max));
}

static json_t *memory_roof(const void *item, size_t i)
{
    const struct carm_memory_roof *m = (const struct carm_memory_roof *)item + i;
    json_t *o = json_object();
    return carm_jwrite_done(
        o, carm_jwrite_text(o, "level", m->level) && carm_jwrite_text(o, "ldst", m->ldst) &&
               carm_jwrite_text(o, "code", m->code) &&
               carm_jwrite_number(o, "bandwidth", m->bandwidth) &&
               carm_jwrite_interval(o, "ci95", m->ci95) &&
               carm_jwrite_value(o, "spread", spread(&m->spread)) &&
               carm_jwrite_number(o, "bytes_per_cycle", m->bytes_per_cycle) &&
               carm_jwrite_number(o, "clock_hz", m->clock_hz) &&
               carm_jwrite_count(o, "working_set_bytes", m->working_set_bytes) &&
               carm_jwrite_count(o, "window_bytes", m->window_bytes) &&
               carm_jwrite_count(o, "passes", m->passes) && carm_jwrite_count(o, "reps", m->reps) &&
               carm_jwrite_text(o, "counted_by", m->counted_by) &&
               carm_jwrite_bool(o, "disturbed", m->disturbed) &&
               carm_jwrite_text(o, "note", m->note));
}

static json_t *compute_roof(const void *item, size_t i)
{
    const struct carm_compute_roof *c = (const struct carm_compute_roof *)item + i;
    json_t *o = json_object();
    return carm_jwrite_done(
        o, carm_jwrite_text(o, "op", c->op) && carm_jwrite_text(o, "code", c->code) &&
               carm_jwrite_number(o, "rate", c->rate) && carm_jwrite_interval(o, "ci95", c->ci95) &&
               carm_jwrite_value(o, "spread", spread(&c->spread)) &&
               carm_jwrite_number(o, "flops_per_cycle", c->flops_per_cycle) &&
               carm_jwrite_number(o, "clock_hz", c->clock_hz) &&
               carm_jwrite_count(o, "reps", c->reps) &&
               carm_jwrite_text(o, "counted_by", c->counted_by) &&
               carm_jwrite_bool(o, "disturbed", c->disturbed) &&
               carm_jwrite_text(o, "note", c->note));
}

static json_t *cache(const void *item, size_t i)
{
    const struct carm_cache *c = (const struct carm_cache *)item + i;
    json_t *o = json_object();
    return carm_jwrite_done(o, carm_jwrite_int(o, "level", c->level) &&
                                   carm_jwrite_count(o, "size_bytes", c->size_bytes) &&
                                   carm_jwrite_int(o, "shared_by", c->shared_by));
}

static json_t *machine(const struct carm_machine *m)
{
    json_t *o = json_object();
    return carm_jwrite_done(
        o, carm_jwrite_text(o, "hostname", m->hostname) && carm_jwrite_text(o, "cpu", m->cpu) &&
               carm_jwrite_text_or_null(o, "hypervisor", m->hypervisor) &&
               carm_jwrite_int(o, "cores", m->cores) && carm_jwrite_int(o, "threads", m->threads) &&
               carm_jwrite_count(o, "memory_bytes", m->memory_bytes) &&
               carm_jwrite_count(o, "page_bytes", m->page_bytes) &&
               carm_jwrite_number(o, "tsc_hz", m->tsc_hz) &&
               carm_jwrite_array(o, "caches", m->caches, m->ncaches, cache));
}

static json_t *config(const struct carm_config *c)
{
    json_t *o = json_object();
    return carm_jwrite_done(o,
                            carm_jwrite_count(o, "reps", c->reps) &&
                                carm_jwrite_text(o, "precision", c->precision) &&
                                carm_jwrite_text(o, "ldst", c->ldst) &&
                                carm_jwrite_count(o, "memory_limit_bytes", c->memory_limit_bytes) &&
                                carm_jwrite_bool(o, "quick", c->quick));
}

static json_t *level(const void *item, size_t i)
{
    const struct carm_level *l = (const struct carm_level *)item + i;
    json_t *o = json_object();
    return carm_jwrite_done(o,
                            carm_jwrite_text(o, "level", l->level) &&
                                carm_jwrite_count_or_null(o, "os_size_bytes", l->os_size_bytes) &&
                                carm_jwrite_count_or_null(o, "knee_bytes", l->knee_bytes) &&
                                carm_jwrite_bool(o, "resolved", l->resolved) &&
                                carm_jwrite_text(o, "note", l->note));
}

static json_t *roofs(const void *item, size_t i)
{
    const struct carm_roofs *r = (const struct carm_roofs *)item + i;
    json_t *o = json_object();
    bool ok = carm_jwrite_text(o, "isa", r->isa) &&
              carm_jwrite_text(o, "precision", r->precision) &&
              carm_jwrite_int(o, "threads", r->threads) &&
              carm_jwrite_number(o, "clock_hz", r->clock_hz) &&
              carm_jwrite_array(o, "memory", r->memory, r->nmemory, memory_roof) &&
              carm_jwrite_array(o, "compute", r->compute, r->ncompute, compute_roof);
    if (ok && r->core_to_core_seconds != 0)
        ok = carm_jwrite_number(o, "handover_seconds", r->core_to_core_seconds);
    if (ok && r->validated_core_to_core_seconds != 0)
        ok = carm_jwrite_number(o, "validated_handover_seconds", r->validated_core_to_core_seconds);
    if (ok && r->dram_peak.bandwidth != 0) {
        json_t *d = json_object();
        ok = carm_jwrite_value(
            o, "dram_peak",
            carm_jwrite_done(d, carm_jwrite_number(d, "bandwidth", r->dram_peak.bandwidth) &&
                                    carm_jwrite_text(d, "code", r->dram_peak.code)));
    }
    return carm_jwrite_done(o, ok && carm_ceilings_write(o, r));
}

static json_t *bandwidth_point(const void *item, size_t i)
{
    const struct carm_curve_point *p = (const struct carm_curve_point *)item + i;
    json_t *o = json_object();
    /* A working set is a whole number of bytes. */
    bool whole = p->x >= 1 && p->x <= 0x1p53 && p->x == floor(p->x);
    bool ok = whole ? carm_jwrite_count(o, "working_set_bytes", (uint64_t)p->x)
                    : carm_jwrite_number(o, "working_set_bytes", p->x);
    return carm_jwrite_done(o, ok && carm_jwrite_number(o, "bandwidth", p->value) &&
                                   carm_jwrite_interval(o, "ci95", p->ci95) &&
                                   carm_jwrite_bool(o, "disturbed", p->disturbed));
}

static json_t *flop_point(const void *item, size_t i)
{
    const struct carm_curve_point *p = (const struct carm_curve_point *)item + i;
    json_t *o = json_object();
    return carm_jwrite_done(o, carm_jwrite_number(o, "flops", p->x) &&
                                   carm_jwrite_number(o, "performance", p->value) &&
                                   carm_jwrite_interval(o, "ci95", p->ci95) &&
                                   carm_jwrite_bool(o, "disturbed", p->disturbed));
}

/* kind is the member that holds the curve's kind. */
static json_t *curve(const struct carm_curve *c, const char *kind,
                     json_t *(*point)(const void *items, size_t i))
{
    json_t *o = json_object();
    return carm_jwrite_done(
        o, carm_jwrite_text(o, "isa", c->isa) && carm_jwrite_text(o, "precision", c->precision) &&
               carm_jwrite_int(o, "threads", c->threads) && carm_jwrite_text(o, kind, c->kind) &&
               carm_jwrite_array(o, "points", c->points, c->npoints, point));
}

static json_t *bandwidth_curve(const void *item, size_t i)
{
    return curve((const struct carm_curve *)item + i, "ldst", bandwidth_point);
}

static json_t *flop_curve(const void *item, size_t i)
{
    return curve((const struct carm_curve *)item + i, "op", flop_point);
}

char *carm_model_to_json(const struct carm_model *m)
{
    json_t *o = json_object();
    o = carm_jwrite_done(
        o, carm_jwrite_text(o, "schema", CARM_MODEL_SCHEMA) &&
               carm_jwrite_text(o, "created", m->created) &&
               carm_jwrite_text(o, "carm_version", m->carm_version) &&
               carm_jwrite_value(o, "machine", machine(&m->machine)) &&
               carm_jwrite_value(o, "config", config(&m->config)) &&
               carm_jwrite_array(o, "levels", m->levels, m->nlevels, level) &&
               carm_jwrite_array(o, "roofs", m->roofs, m->nroofs, roofs) &&
               carm_jwrite_array(o, "curves", m->curves, m->ncurves, bandwidth_curve) &&
               carm_jwrite_array(o, "flop_curves", m->flop_curves, m->nflop_curves, flop_curve) &&
               carm_count_checks_write(o, m) && carm_validation_write(o, m));
    if (!o)
        return NULL;
    char *s = json_dumps(o, JSON_INDENT(1));
    json_decref(o);
    if (!s)
        return NULL;
    size_t n = strlen(s);
    char *line = realloc(s, n + 2);
    if (!line) {
        free(s);
        return NULL;
    }
    memcpy(line + n, "\n", 2);
    return line;
}

int carm_model_write(const struct carm_model *model, const char *path, struct carm_err *err)
{
    struct carm_model *back = NULL;
    char *s = carm_model_to_json(model);
    if (!s)
        return carm_fail(err, CARM_ENOMEM, "out of memory while writing %.256s", path);
    /* What goes out is read back first: no file leaves that the next command would refuse. */
    size_t n = strlen(s);
    int rc = carm_model_parse(s, n, "the model to be written", &back, err);
    if (rc == -CARM_EFORMAT)
        rc = -CARM_EINVAL;
    if (rc == 0)
        rc = carm_outfile_put(path, s, n, err);
    carm_model_free(back);
    free(s);
    return rc;
}
