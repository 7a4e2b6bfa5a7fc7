/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "models/outfile.h"

/* jansson's setters steal their value and answer -1 when it is NULL or memory ran out; one flag
 * collects that, so that the members below stay one line each. */
static bool add(json_t *obj, const char *name, json_t *value)
{
    return json_object_set_new(obj, name, value) == 0;
}

static json_t *text(const char *s)
{
    json_t *v = json_string(s);
    if (v)
        return v;
    /* No UTF-8 (a host name may be anything): keep what is ASCII. */
    char *copy = strdup(s);
    if (!copy)
        return NULL;
    for (char *p = copy; *p; p++)
        if ((unsigned char)*p >= 0x80)
            *p = '?';
    v = json_string(copy);
    free(copy);
    return v;
}

static json_t *number(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

/* null for "" */
static json_t *text_or_null(const char *s)
{
    return *s ? text(s) : json_null();
}

static json_t *count(uint64_t v)
{
    return v <= INT64_MAX ? json_integer((json_int_t)v) : json_null();
}

/* null for 0 */
static json_t *count_or_null(uint64_t v)
{
    return v ? count(v) : json_null();
}

static json_t *interval(struct carm_ci ci)
{
    json_t *a = json_array();
    if (json_array_append_new(a, number(ci.lo)) | json_array_append_new(a, number(ci.hi))) {
        json_decref(a);
        return NULL;
    }
    return a;
}

/* Releases obj and answers NULL unless all members went in. */
static json_t *done(json_t *obj, bool ok)
{
    if (ok)
        return obj;
    json_decref(obj);
    return NULL;
}

static json_t *spread(const struct carm_spread *s)
{
    json_t *o = json_object();
    return done(o, add(o, "min", number(s->min)) && add(o, "p5", number(s->p5)) &&
                       add(o, "p95", number(s->p95)) && add(o, "max", number(s->max)));
}

static json_t *memory_roof(const void *item, size_t i)
{
    const struct carm_memory_roof *m = (const struct carm_memory_roof *)item + i;
    json_t *o = json_object();
    return done(o, add(o, "level", text(m->level)) && add(o, "ldst", text(m->ldst)) &&
                       add(o, "code", text(m->code)) && add(o, "bandwidth", number(m->bandwidth)) &&
                       add(o, "ci95", interval(m->ci95)) && add(o, "spread", spread(&m->spread)) &&
                       add(o, "bytes_per_cycle", number(m->bytes_per_cycle)) &&
                       add(o, "clock_hz", number(m->clock_hz)) &&
                       add(o, "working_set_bytes", count(m->working_set_bytes)) &&
                       add(o, "window_bytes", count(m->window_bytes)) &&
                       add(o, "passes", count(m->passes)) && add(o, "reps", count(m->reps)) &&
                       add(o, "counted_by", text(m->counted_by)) &&
                       add(o, "disturbed", json_boolean(m->disturbed)) &&
                       add(o, "note", text(m->note)));
}

static json_t *compute_roof(const void *item, size_t i)
{
    const struct carm_compute_roof *c = (const struct carm_compute_roof *)item + i;
    json_t *o = json_object();
    return done(o, add(o, "op", text(c->op)) && add(o, "code", text(c->code)) &&
                       add(o, "rate", number(c->rate)) && add(o, "ci95", interval(c->ci95)) &&
                       add(o, "spread", spread(&c->spread)) &&
                       add(o, "flops_per_cycle", number(c->flops_per_cycle)) &&
                       add(o, "clock_hz", number(c->clock_hz)) && add(o, "reps", count(c->reps)) &&
                       add(o, "counted_by", text(c->counted_by)) &&
                       add(o, "disturbed", json_boolean(c->disturbed)) &&
                       add(o, "note", text(c->note)));
}

/* The array of n items, each made by make(items, i). */
static json_t *array(const void *items, size_t n, json_t *(*make)(const void *items, size_t i))
{
    json_t *a = json_array();
    for (size_t i = 0; i < n; i++) {
        if (json_array_append_new(a, make(items, i)) != 0) {
            json_decref(a);
            return NULL;
        }
    }
    return a;
}

static json_t *cache(const void *item, size_t i)
{
    const struct carm_cache *c = (const struct carm_cache *)item + i;
    json_t *o = json_object();
    return done(o, add(o, "level", json_integer(c->level)) &&
                       add(o, "size_bytes", count(c->size_bytes)) &&
                       add(o, "shared_by", json_integer(c->shared_by)));
}

static json_t *machine(const struct carm_machine *m)
{
    json_t *o = json_object();
    return done(o, add(o, "hostname", text(m->hostname)) && add(o, "cpu", text(m->cpu)) &&
                       add(o, "hypervisor", text_or_null(m->hypervisor)) &&
                       add(o, "cores", json_integer(m->cores)) &&
                       add(o, "threads", json_integer(m->threads)) &&
                       add(o, "memory_bytes", count(m->memory_bytes)) &&
                       add(o, "page_bytes", count(m->page_bytes)) &&
                       add(o, "tsc_hz", number(m->tsc_hz)) &&
                       add(o, "caches", array(m->caches, m->ncaches, cache)));
}

static json_t *config(const struct carm_config *c)
{
    json_t *o = json_object();
    return done(o, add(o, "reps", count(c->reps)) && add(o, "precision", text(c->precision)) &&
                       add(o, "ldst", text(c->ldst)) &&
                       add(o, "memory_limit_bytes", count(c->memory_limit_bytes)) &&
                       add(o, "quick", json_boolean(c->quick)));
}

static json_t *level(const void *item, size_t i)
{
    const struct carm_level *l = (const struct carm_level *)item + i;
    json_t *o = json_object();
    return done(o, add(o, "level", text(l->level)) &&
                       add(o, "os_size_bytes", count_or_null(l->os_size_bytes)) &&
                       add(o, "knee_bytes", count_or_null(l->knee_bytes)) &&
                       add(o, "resolved", json_boolean(l->resolved)) &&
                       add(o, "note", text(l->note)));
}

static json_t *roofs(const void *item, size_t i)
{
    const struct carm_roofs *r = (const struct carm_roofs *)item + i;
    json_t *o = json_object();
    bool ok = add(o, "isa", text(r->isa)) && add(o, "precision", text(r->precision)) &&
              add(o, "threads", json_integer(r->threads)) &&
              add(o, "clock_hz", number(r->clock_hz)) &&
              add(o, "memory", array(r->memory, r->nmemory, memory_roof)) &&
              add(o, "compute", array(r->compute, r->ncompute, compute_roof));
    if (ok && r->dram_peak.bandwidth != 0) {
        json_t *d = json_object();
        ok = add(o, "dram_peak",
                 done(d, add(d, "bandwidth", number(r->dram_peak.bandwidth)) &&
                             add(d, "code", text(r->dram_peak.code))));
    }
    return done(o, ok);
}

static json_t *bandwidth_point(const void *item, size_t i)
{
    const struct carm_curve_point *p = (const struct carm_curve_point *)item + i;
    json_t *o = json_object();
    /* A working set is a whole number of bytes. */
    json_t *x = p->x >= 1 && p->x <= 0x1p53 && p->x == floor(p->x) ? json_integer((json_int_t)p->x)
                                                                   : number(p->x);
    return done(o, add(o, "working_set_bytes", x) && add(o, "bandwidth", number(p->value)) &&
                       add(o, "ci95", interval(p->ci95)) &&
                       add(o, "disturbed", json_boolean(p->disturbed)));
}

static json_t *flop_point(const void *item, size_t i)
{
    const struct carm_curve_point *p = (const struct carm_curve_point *)item + i;
    json_t *o = json_object();
    return done(o, add(o, "flops", number(p->x)) && add(o, "performance", number(p->value)) &&
                       add(o, "ci95", interval(p->ci95)) &&
                       add(o, "disturbed", json_boolean(p->disturbed)));
}

/* kind is the member that holds the curve's kind. */
static json_t *curve(const struct carm_curve *c, const char *kind,
                     json_t *(*point)(const void *items, size_t i))
{
    json_t *o = json_object();
    return done(o, add(o, "isa", text(c->isa)) && add(o, "precision", text(c->precision)) &&
                       add(o, "threads", json_integer(c->threads)) && add(o, kind, text(c->kind)) &&
                       add(o, "points", array(c->points, c->npoints, point)));
}

static json_t *bandwidth_curve(const void *item, size_t i)
{
    return curve((const struct carm_curve *)item + i, "ldst", bandwidth_point);
}

static json_t *flop_curve(const void *item, size_t i)
{
    return curve((const struct carm_curve *)item + i, "op", flop_point);
}

static json_t *validation(const void *item, size_t i)
{
    const struct carm_validation *v = (const struct carm_validation *)item + i;
    json_t *o = json_object();
    return done(o, add(o, "isa", text(v->isa)) && add(o, "threads", json_integer(v->threads)) &&
                       add(o, "model", text(v->model)) && add(o, "level", text(v->level)) &&
                       add(o, "n", json_integer(v->n)) && add(o, "rrmse", number(v->rrmse)) &&
                       add(o, "rrmse_model", number(v->rrmse_model)) &&
                       add(o, "fitness", number(v->fitness)));
}

char *carm_model_to_json(const struct carm_model *m)
{
    json_t *o = json_object();
    o = done(o, add(o, "schema", text(CARM_MODEL_SCHEMA)) && add(o, "created", text(m->created)) &&
                    add(o, "carm_version", text(m->carm_version)) &&
                    add(o, "machine", machine(&m->machine)) &&
                    add(o, "config", config(&m->config)) &&
                    add(o, "levels", array(m->levels, m->nlevels, level)) &&
                    add(o, "roofs", array(m->roofs, m->nroofs, roofs)) &&
                    add(o, "curves", array(m->curves, m->ncurves, bandwidth_curve)) &&
                    add(o, "flop_curves", array(m->flop_curves, m->nflop_curves, flop_curve)) &&
                    add(o, "validation", array(m->validation, m->nvalidation, validation)));
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
    struct carm_outfile *file = NULL;
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
        rc = carm_outfile_open(path, &file, err);
    if (rc == 0)
        rc = carm_outfile_write(file, s, n, err);
    if (rc == 0)
        rc = carm_outfile_commit(file, err);
    carm_outfile_close(file);
    carm_model_free(back);
    free(s);
    return rc;
}
