/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads an analysis.yaml. Source of the keys: the guide; the Solar project's docs/FORMAT.md,
 * section 3. */
#include <stdlib.h>
#include <string.h>

#include "models/sol/count.h"
#include "models/sol/analysis_values.h"
#include "models/sol/moves.h"
#include "models/sol/yaml.h"

struct reader {
    struct carm_yaml *yaml;
    struct carm_err *err;
    struct carm_sol_analysis *a;
    struct carm_sol_values total;
    uint64_t sums[CARM_SOL_COUNT_KEYS];  /* of the layers */
    uint32_t given[CARM_SOL_COUNT_KEYS]; /* layers that have it */
    uint32_t room;                       /* layers for which the arrays have room */
    bool has_total, has_layers;
};

static int out_of_memory(struct reader *r)
{
    return carm_fail(r->err, CARM_ENOMEM, "out of memory for an analysis of %u layers", r->a->n);
}

static int make_room(struct reader *r)
{
    struct carm_sol_analysis *a = r->a;
    if (a->n < r->room) {
        return 0;
    }
    if (a->n > UINT32_MAX / 2) {
        return out_of_memory(r);
    }
    const uint32_t room = r->room > 0 ? 2 * r->room : 64;
    struct carm_sol_counts *layers = realloc(a->layers, room * sizeof *layers);
    if (layers) {
        a->layers = layers;
    }
    char **ids = realloc(a->ids, room * sizeof *ids);
    if (ids) {
        a->ids = ids;
    }
    if (!layers || !ids) {
        return out_of_memory(r);
    }
    r->room = room;
    return 0;
}

static int add_sums(struct reader *r, const struct carm_sol_values *v)
{
    for (int k = 0; k < CARM_SOL_COUNT_KEYS; k++) {
        r->given[k] += v->line[k] > 0;
        if (!carm_sol_add(&r->sums[k], v->v[k])) {
            return carm_yaml_refuse(r->yaml, v->line[k], r->err,
                                    "with %.100s the layers' %s sum to more than 2^63-1", v->where,
                                    carm_sol_values_key(k));
        }
    }
    return 0;
}

static int read_layer(struct reader *r, const struct carm_yaml_item *id)
{
    int rc = make_room(r);
    if (rc) {
        return rc;
    }
    char *name = strdup(id->text);
    if (!name) {
        return out_of_memory(r);
    }
    const uint32_t index = r->a->n++;
    r->a->ids[index] = name;
    struct carm_sol_values v = {.where = name};
    rc = carm_sol_values_read(r->yaml, &v, r->err);
    if (rc == 0) {
        rc = carm_sol_values_check(r->yaml, &v, r->err);
    }
    if (rc == 0) {
        rc = add_sums(r, &v);
    }
    if (rc == 0) {
        r->a->layers[index] = (struct carm_sol_counts){0};
        carm_sol_values_count(&v, &r->a->layers[index]);
    }
    return rc;
}

static int read_layers(struct reader *r)
{
    struct carm_yaml_item item;
    int rc = carm_yaml_next(r->yaml, &item, r->err);
    if (rc || carm_yaml_is_null(&item)) {
        return rc;
    }
    if (item.kind != CARM_YAML_MAP) {
        return carm_yaml_refuse(r->yaml, item.line, r->err, "layers is no map of layers");
    }
    while (rc == 0) {
        rc = carm_yaml_key(r->yaml, &item, r->err);
        if (rc == 0 && item.kind == CARM_YAML_CLOSE) {
            return 0;
        }
        if (rc == 0) {
            rc = read_layer(r, &item);
        }
    }
    return rc;
}

static int read_section(struct reader *r, const struct carm_yaml_item *key)
{
    const bool total = strcmp(key->text, "total") == 0;
    const bool layers = strcmp(key->text, "layers") == 0;
    if ((total && r->has_total) || (layers && r->has_layers)) {
        return carm_yaml_refuse(r->yaml, key->line, r->err, "%s stands there twice: keep one",
                                total ? "total" : "layers");
    }
    r->has_total = r->has_total || total;
    r->has_layers = r->has_layers || layers;
    if (total) {
        r->total.where = "total";
        return carm_sol_values_read(r->yaml, &r->total, r->err);
    }
    return layers ? read_layers(r) : carm_yaml_skip(r->yaml, r->err);
}

static int read_file(struct reader *r)
{
    struct carm_yaml_item item;
    int rc = carm_yaml_next(r->yaml, &item, r->err);
    if (rc) {
        return rc;
    }
    const size_t line = item.line;
    if (item.kind != CARM_YAML_MAP) {
        return carm_yaml_refuse(r->yaml, line, r->err, "an analysis is a map with the key total");
    }
    for (;;) {
        rc = carm_yaml_key(r->yaml, &item, r->err);
        if (rc || item.kind == CARM_YAML_CLOSE) {
            break;
        }
        rc = read_section(r, &item);
        if (rc) {
            break;
        }
    }
    if (rc == 0) {
        rc = carm_yaml_next(r->yaml, &item, r->err); /* the end, or what is behind it */
    }
    if (rc == 0 && !r->has_total) {
        rc = carm_yaml_refuse(r->yaml, line, r->err, "it has no total: an analysis needs one");
    }
    return rc ? rc : carm_sol_values_check(r->yaml, &r->total, r->err);
}

/* The layers' sums against total's, where all layers and total have the key. */
static int check_layers(struct reader *r)
{
    static const enum carm_sol_value equal[] = {CARM_SOL_COUNT_MACS, CARM_SOL_COUNT_OTHER,
                                                CARM_SOL_COUNT_UNFUSED, CARM_SOL_COUNT_INTERMEDIATE,
                                                CARM_SOL_COUNT_MODEL_IO};
    const struct carm_sol_values *t = &r->total;
    const uint32_t n = r->a->n;
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++) {
        const enum carm_sol_value k = equal[i];
        if (t->line[k] > 0 && r->given[k] == n && r->sums[k] != t->v[k]) {
            return carm_yaml_refuse(r->yaml, t->line[k], r->err,
                                    "total: %s is %llu, but the layers' sum to %llu",
                                    carm_sol_values_key(k), (unsigned long long)t->v[k],
                                    (unsigned long long)r->sums[k]);
        }
    }
    if (r->sums[CARM_SOL_COUNT_FUSED] < t->v[CARM_SOL_COUNT_FUSED]) {
        return carm_yaml_refuse(r->yaml, t->line[CARM_SOL_COUNT_FUSED], r->err,
                                "total: fused_elements is %llu, more than the layers' sum of %llu",
                                (unsigned long long)t->v[CARM_SOL_COUNT_FUSED],
                                (unsigned long long)r->sums[CARM_SOL_COUNT_FUSED]);
    }
    if (t->line[CARM_SOL_COUNT_LAYERS] > 0 && t->v[CARM_SOL_COUNT_LAYERS] != n) {
        return carm_yaml_refuse(r->yaml, t->line[CARM_SOL_COUNT_LAYERS], r->err,
                                "total: num_layers is %llu, but there are %u layers",
                                (unsigned long long)t->v[CARM_SOL_COUNT_LAYERS], n);
    }
    return 0;
}

static uint32_t clip(uint64_t v)
{
    return v > UINT32_MAX ? UINT32_MAX : (uint32_t)v;
}

static int finish(struct reader *r)
{
    struct carm_sol_analysis *a = r->a;
    struct carm_sol_values *t = &r->total;
    if (a->n > 0) {
        const int rc = check_layers(r);
        if (rc) {
            return rc;
        }
        if (t->line[CARM_SOL_COUNT_OTHER] == 0) {
            t->v[CARM_SOL_COUNT_OTHER] = r->sums[CARM_SOL_COUNT_OTHER];
        }
        if (t->line[CARM_SOL_COUNT_INTERMEDIATE] == 0) {
            /* no more than unfused - fused: so it is in each layer, and total's fused is less */
            t->line[CARM_SOL_COUNT_INTERMEDIATE] = t->map;
            for (uint32_t i = 0; i < a->n; i++) {
                t->v[CARM_SOL_COUNT_INTERMEDIATE] += a->layers[i].intermediate;
            }
        }
    }
    carm_sol_values_count(t, &a->total);
    a->prefetched = t->line[CARM_SOL_COUNT_PREFETCHED] > 0 ? t->v[CARM_SOL_COUNT_PREFETCHED]
                                                           : a->total.external;
    a->model_io = t->line[CARM_SOL_COUNT_MODEL_IO] > 0 ? t->v[CARM_SOL_COUNT_MODEL_IO]
                                                       : a->total.external - a->total.weight;
    a->operations = a->n > 0 ? a->n : clip(t->v[CARM_SOL_COUNT_LAYERS]);
    a->intermediates = clip(t->v[CARM_SOL_COUNT_INTERMEDIATES]);
    return 0;
}

/* Closes yaml. */
static int read_analysis(struct carm_yaml *yaml, struct carm_sol_analysis **analysis,
                         struct carm_err *err)
{
    struct reader r = {.yaml = yaml, .err = err};
    int rc = -CARM_ENOMEM;
    r.a = calloc(1, sizeof *r.a);
    if (r.a) {
        rc = read_file(&r);
        if (rc == 0) {
            rc = finish(&r);
        }
    } else {
        rc = carm_fail(err, CARM_ENOMEM, "out of memory for an analysis");
    }
    carm_yaml_close(yaml);
    if (rc) {
        carm_sol_analysis_close(r.a);
        return rc;
    }
    *analysis = r.a;
    return 0;
}

int carm_sol_analysis_read(const char *path, struct carm_sol_analysis **analysis,
                           struct carm_err *err)
{
    *analysis = NULL;
    struct carm_yaml *yaml = NULL;
    const int rc = carm_yaml_open(path, &yaml, err);
    return rc ? rc : read_analysis(yaml, analysis, err);
}

int carm_sol_analysis_parse(const char *text, size_t size_bytes, const char *name,
                            struct carm_sol_analysis **analysis, struct carm_err *err)
{
    *analysis = NULL;
    struct carm_yaml *yaml = NULL;
    const int rc = carm_yaml_open_text(text, size_bytes, name, &yaml, err);
    return rc ? rc : read_analysis(yaml, analysis, err);
}
