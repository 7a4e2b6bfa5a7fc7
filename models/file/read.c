/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/model.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "models/file/ceilings_file.h"
#include "models/file/count_check_file.h"
#include "base/json_read.h"
#include "models/file/validation_read.h"

enum {
    FILE_BYTES_MAX = 64 << 20, /* a full model of every ISA and thread count stays below 4 MiB */
    /* What a small file can make us allocate and compare: 256 ISA, precision and thread sets, with
     * 1024 roofs each, are more than any machine's model has. */
    SETS_MAX = 256,
    ROOFS_MAX = 1024,
    CURVES_MAX = 4096,
    POINTS_MAX = 1 << 16,
};

static void get_spread(struct carm_jread *r, json_t *obj, struct carm_spread *s)
{
    json_t *o = carm_jread_object(r, obj, "spread");
    size_t old = carm_jread_enter(r, ".spread");
    if (o) {
        s->min = carm_jread_nonnegative(r, o, "min");
        s->p5 = carm_jread_nonnegative(r, o, "p5");
        s->p95 = carm_jread_nonnegative(r, o, "p95");
        s->max = carm_jread_nonnegative(r, o, "max");
        if (!(s->min <= s->p5 && s->p5 <= s->p95 && s->p95 <= s->max))
            carm_jread_bad(r, NULL, "is not in order: min %g, p5 %g, p95 %g, max %g", s->min, s->p5,
                           s->p95, s->max);
    }
    carm_jread_leave(r, old);
}

static void read_memory_roof(struct carm_jread *r, json_t *o, struct carm_memory_roof *m)
{
    carm_jread_name(r, o, "level", m->level, sizeof m->level);
    carm_jread_name(r, o, "ldst", m->ldst, sizeof m->ldst);
    carm_jread_name(r, o, "code", m->code, sizeof m->code);
    m->bandwidth = carm_jread_positive(r, o, "bandwidth");
    carm_jread_interval(r, o, "ci95", m->bandwidth, &m->ci95.lo, &m->ci95.hi);
    get_spread(r, o, &m->spread);
    m->bytes_per_cycle = carm_jread_positive(r, o, "bytes_per_cycle");
    m->clock_hz = carm_jread_positive(r, o, "clock_hz");
    m->working_set_bytes = carm_jread_count(r, o, "working_set_bytes", 1);
    m->window_bytes = carm_jread_count(r, o, "window_bytes", 1);
    m->passes = carm_jread_count(r, o, "passes", 1);
    m->reps = carm_jread_count(r, o, "reps", 1);
    carm_jread_name(r, o, "counted_by", m->counted_by, sizeof m->counted_by);
    m->disturbed = carm_jread_bool(r, o, "disturbed");
    carm_jread_text(r, o, "note", m->note, sizeof m->note);
}

static void read_compute_roof(struct carm_jread *r, json_t *o, struct carm_compute_roof *c)
{
    carm_jread_name(r, o, "op", c->op, sizeof c->op);
    carm_jread_name(r, o, "code", c->code, sizeof c->code);
    c->rate = carm_jread_positive(r, o, "rate");
    carm_jread_interval(r, o, "ci95", c->rate, &c->ci95.lo, &c->ci95.hi);
    get_spread(r, o, &c->spread);
    c->flops_per_cycle = carm_jread_positive(r, o, "flops_per_cycle");
    c->clock_hz = carm_jread_positive(r, o, "clock_hz");
    c->reps = carm_jread_count(r, o, "reps", 1);
    carm_jread_name(r, o, "counted_by", c->counted_by, sizeof c->counted_by);
    c->disturbed = carm_jread_bool(r, o, "disturbed");
    carm_jread_text(r, o, "note", c->note, sizeof c->note);
}

static void read_memory(struct carm_jread *r, json_t *o, const struct carm_model *m,
                        struct carm_roofs *s)
{
    json_t *a =
        carm_jread_array(r, o, "memory", ROOFS_MAX, sizeof *s->memory, &s->memory, &s->nmemory);
    for (size_t i = 0; a && i < s->nmemory && !r->rc; i++) {
        struct carm_memory_roof *roof = &s->memory[i];
        size_t old = carm_jread_enter(r, ".memory[%zu]", i);
        read_memory_roof(r, json_array_get(a, i), roof);
        if (!r->rc && !carm_model_has_level(m, roof->level))
            carm_jread_bad(r, "level", "\"%s\" is not among the model's levels", roof->level);
        for (size_t k = 0; k < i; k++)
            if (strcmp(s->memory[k].level, roof->level) == 0 &&
                strcmp(s->memory[k].ldst, roof->ldst) == 0)
                carm_jread_bad(r, NULL, "repeats level \"%s\" with mix \"%s\"", roof->level,
                               roof->ldst);
        carm_jread_leave(r, old);
    }
}

static void read_compute(struct carm_jread *r, json_t *o, struct carm_roofs *s)
{
    json_t *a =
        carm_jread_array(r, o, "compute", ROOFS_MAX, sizeof *s->compute, &s->compute, &s->ncompute);
    for (size_t i = 0; a && i < s->ncompute && !r->rc; i++) {
        size_t old = carm_jread_enter(r, ".compute[%zu]", i);
        read_compute_roof(r, json_array_get(a, i), &s->compute[i]);
        for (size_t k = 0; k < i; k++)
            if (strcmp(s->compute[k].op, s->compute[i].op) == 0)
                carm_jread_bad(r, "op", "repeats \"%s\"", s->compute[i].op);
        carm_jread_leave(r, old);
    }
}

static void read_dram_peak(struct carm_jread *r, json_t *o, struct carm_dram_peak *d)
{
    if (r->rc || !json_object_get(o, "dram_peak"))
        return;
    json_t *v = carm_jread_object(r, o, "dram_peak");
    size_t old = carm_jread_enter(r, ".dram_peak");
    if (v) {
        d->bandwidth = carm_jread_positive(r, v, "bandwidth");
        carm_jread_name(r, v, "code", d->code, sizeof d->code);
    }
    carm_jread_leave(r, old);
}

/* 0 where it is left out; at most a second. */
static double read_core_to_core(struct carm_jread *r, json_t *o, const char *name)
{
    double seconds = !r->rc && json_object_get(o, name) ? carm_jread_number(r, o, name) : 0;
    if (seconds < 0 || seconds > 1)
        carm_jread_bad(r, name, "is %g, not a time that a cache line takes", seconds);
    return seconds;
}

static void read_roofs(struct carm_jread *r, json_t *root, struct carm_model *m)
{
    json_t *a =
        carm_jread_array(r, root, "roofs", SETS_MAX, sizeof *m->roofs, &m->roofs, &m->nroofs);
    for (size_t i = 0; a && i < m->nroofs && !r->rc; i++) {
        struct carm_roofs *s = &m->roofs[i];
        json_t *o = json_array_get(a, i);
        size_t old = carm_jread_enter(r, "roofs[%zu]", i);
        carm_jread_name(r, o, "isa", s->isa, sizeof s->isa);
        carm_jread_name(r, o, "precision", s->precision, sizeof s->precision);
        s->threads = carm_jread_int(r, o, "threads", 1);
        s->clock_hz = carm_jread_positive(r, o, "clock_hz");
        s->core_to_core_seconds = read_core_to_core(r, o, "handover_seconds");
        s->validated_core_to_core_seconds = read_core_to_core(r, o, "validated_handover_seconds");
        read_memory(r, o, m, s);
        read_compute(r, o, s);
        read_dram_peak(r, o, &s->dram_peak);
        carm_ceilings_read(r, o, s);
        for (size_t k = 0; k < i; k++)
            if (strcmp(m->roofs[k].isa, s->isa) == 0 && m->roofs[k].threads == s->threads &&
                strcmp(m->roofs[k].precision, s->precision) == 0)
                carm_jread_bad(r, NULL, "repeats isa \"%s\", precision \"%s\", threads %d", s->isa,
                               s->precision, s->threads);
        carm_jread_leave(r, old);
    }
}

static void read_levels(struct carm_jread *r, json_t *root, struct carm_model *m)
{
    json_t *a =
        carm_jread_array(r, root, "levels", SETS_MAX, sizeof *m->levels, &m->levels, &m->nlevels);
    for (size_t i = 0; a && i < m->nlevels && !r->rc; i++) {
        struct carm_level *l = &m->levels[i];
        json_t *o = json_array_get(a, i);
        size_t old = carm_jread_enter(r, "levels[%zu]", i);
        carm_jread_name(r, o, "level", l->level, sizeof l->level);
        l->os_size_bytes = carm_jread_count_or_null(r, o, "os_size_bytes");
        l->knee_bytes = carm_jread_count_or_null(r, o, "knee_bytes");
        l->resolved = carm_jread_bool(r, o, "resolved");
        carm_jread_text(r, o, "note", l->note, sizeof l->note);
        for (size_t k = 0; k < i; k++)
            if (strcmp(m->levels[k].level, l->level) == 0)
                carm_jread_bad(r, "level", "repeats \"%s\"", l->level);
        carm_jread_leave(r, old);
    }
}

/* name   "curves" or "flop_curves"
 * kind   the member that holds the curve's kind
 * x, y   the members of a point */
static void read_curves(struct carm_jread *r, json_t *root, const char *name, const char *kind,
                        const char *x, const char *y, struct carm_curve **curves, size_t *ncurves)
{
    json_t *a = carm_jread_array(r, root, name, CURVES_MAX, sizeof **curves, curves, ncurves);
    for (size_t i = 0; a && i < *ncurves && !r->rc; i++) {
        struct carm_curve *c = &(*curves)[i];
        json_t *o = json_array_get(a, i);
        size_t old = carm_jread_enter(r, "%s[%zu]", name, i);
        carm_jread_name(r, o, "isa", c->isa, sizeof c->isa);
        carm_jread_name(r, o, "precision", c->precision, sizeof c->precision);
        c->threads = carm_jread_int(r, o, "threads", 1);
        carm_jread_name(r, o, kind, c->kind, sizeof c->kind);
        json_t *points = carm_jread_array(r, o, "points", POINTS_MAX, sizeof *c->points, &c->points,
                                          &c->npoints);
        for (size_t k = 0; points && k < c->npoints && !r->rc; k++) {
            struct carm_curve_point *p = &c->points[k];
            json_t *po = json_array_get(points, k);
            size_t oldk = carm_jread_enter(r, ".points[%zu]", k);
            p->x = carm_jread_positive(r, po, x);
            p->value = carm_jread_positive(r, po, y);
            carm_jread_interval(r, po, "ci95", p->value, &p->ci95.lo, &p->ci95.hi);
            p->disturbed = carm_jread_bool(r, po, "disturbed");
            carm_jread_leave(r, oldk);
        }
        carm_jread_leave(r, old);
    }
}

static void read_machine(struct carm_jread *r, json_t *root, struct carm_machine *m)
{
    json_t *o = r->rc ? NULL : carm_jread_object(r, root, "machine");
    if (!o)
        return;
    size_t old = carm_jread_enter(r, "machine");
    carm_jread_text(r, o, "hostname", m->hostname, sizeof m->hostname);
    carm_jread_text(r, o, "cpu", m->cpu, sizeof m->cpu);
    json_t *hypervisor = carm_jread_member(r, o, "hypervisor");
    if (!json_is_null(hypervisor))
        carm_jread_copy(r, hypervisor, "hypervisor", m->hypervisor, sizeof m->hypervisor);
    m->cores = carm_jread_int(r, o, "cores", 1);
    m->threads = carm_jread_int(r, o, "threads", 1);
    m->memory_bytes = carm_jread_count(r, o, "memory_bytes", 1);
    m->page_bytes = carm_jread_count(r, o, "page_bytes", 1);
    m->tsc_hz = carm_jread_positive(r, o, "tsc_hz");
    json_t *a =
        carm_jread_array(r, o, "caches", SETS_MAX, sizeof *m->caches, &m->caches, &m->ncaches);
    for (size_t i = 0; a && i < m->ncaches && !r->rc; i++) {
        json_t *c = json_array_get(a, i);
        size_t oldi = carm_jread_enter(r, ".caches[%zu]", i);
        m->caches[i].level = carm_jread_int(r, c, "level", 1);
        m->caches[i].size_bytes = carm_jread_count(r, c, "size_bytes", 1);
        m->caches[i].shared_by = carm_jread_int(r, c, "shared_by", 1);
        carm_jread_leave(r, oldi);
    }
    carm_jread_leave(r, old);
}

static void read_config(struct carm_jread *r, json_t *root, struct carm_config *c)
{
    json_t *o = r->rc ? NULL : carm_jread_object(r, root, "config");
    if (!o)
        return;
    size_t old = carm_jread_enter(r, "config");
    c->reps = carm_jread_count(r, o, "reps", 1);
    carm_jread_name(r, o, "precision", c->precision, sizeof c->precision);
    carm_jread_name(r, o, "ldst", c->ldst, sizeof c->ldst);
    c->memory_limit_bytes = carm_jread_count(r, o, "memory_limit_bytes", 0);
    c->quick = carm_jread_bool(r, o, "quick");
    carm_jread_leave(r, old);
}

/* Everything else of a file is read only once its schema is known. */
static void check_schema(struct carm_jread *r, json_t *root)
{
    json_t *v = carm_jread_member(r, root, "schema");
    const char *s = json_string_value(v);
    if (v && !s)
        carm_jread_bad(r, "schema", "is not a string");
    else if (s && strcmp(s, CARM_MODEL_SCHEMA) != 0)
        carm_jread_bad(r, "schema", "is \"%.64s\"; this carm reads \"%s\"", s, CARM_MODEL_SCHEMA);
}

int carm_model_parse(const char *text, size_t size_bytes, const char *name, struct carm_model **out,
                     struct carm_err *err)
{
    struct carm_jread r = {.file = name, .err = err};
    *out = NULL;
    json_t *root = carm_jread_parse(&r, text, size_bytes);
    if (!root)
        return r.rc;
    struct carm_model *m = calloc(1, sizeof *m);
    if (!m) {
        json_decref(root);
        return carm_fail(err, CARM_ENOMEM, "out of memory while reading %.200s", name);
    }
    check_schema(&r, root);
    carm_jread_text(&r, root, "created", m->created, sizeof m->created);
    carm_jread_text(&r, root, "carm_version", m->carm_version, sizeof m->carm_version);
    read_machine(&r, root, &m->machine);
    read_config(&r, root, &m->config);
    read_levels(&r, root, m);
    read_roofs(&r, root, m);
    read_curves(&r, root, "curves", "ldst", "working_set_bytes", "bandwidth", &m->curves,
                &m->ncurves);
    read_curves(&r, root, "flop_curves", "op", "flops", "performance", &m->flop_curves,
                &m->nflop_curves);
    carm_count_checks_read(&r, root, m);
    carm_validation_read(&r, root, m);
    json_decref(root);
    if (r.rc) {
        carm_model_free(m);
        return r.rc;
    }
    *out = m;
    return 0;
}

int carm_model_load(const char *path, char **text, size_t *size_bytes, struct carm_err *err)
{
    *text = NULL;
    *size_bytes = 0;
    size_t used = 0, room = 0;
    char *buf = NULL;
    int rc = 0;
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return carm_fail(err, CARM_EIO, "there is no model file %.256s: `carm build` makes one",
                         path);
    if (fd < 0 || fstat(fd, &st) != 0 || S_ISDIR(st.st_mode)) {
        rc = carm_fail(err, CARM_EIO, "cannot read %.256s: %s", path,
                       strerror(fd >= 0 && S_ISDIR(st.st_mode) ? EISDIR : errno));
        goto out;
    }
    for (;;) {
        /* One byte more than allowed tells a file that is too long; one is kept for the zero. */
        if (used + 1 >= room) {
            room = room ? room * 2 : 1 << 16;
            char *more = realloc(buf, room);
            if (!more) {
                rc = carm_fail(err, CARM_ENOMEM, "out of memory while reading %.256s", path);
                goto out;
            }
            buf = more;
        }
        ssize_t n = read(fd, buf + used, room - used - 1);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0) {
            rc = carm_fail(err, CARM_EIO, "cannot read %.256s: %s", path, strerror(errno));
            goto out;
        }
        if (n == 0)
            break;
        used += (size_t)n;
        if (used > FILE_BYTES_MAX) {
            rc = carm_fail(err, CARM_EFORMAT,
                           "%.256s: is larger than 64 MiB, which no model file is", path);
            goto out;
        }
    }
    buf[used] = 0;
    *text = buf;
    *size_bytes = used;
    buf = NULL;
out:
    free(buf);
    if (fd >= 0)
        (void)close(fd);
    return rc;
}

int carm_model_read(const char *path, struct carm_model **out, struct carm_err *err)
{
    char *text = NULL;
    size_t size_bytes = 0;
    *out = NULL;
    int rc = carm_model_load(path, &text, &size_bytes, err);
    if (rc == 0)
        rc = carm_model_parse(text, size_bytes, path, out, err);
    free(text);
    return rc;
}
