/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/file/sol/analysis.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

enum key {
    MACS,
    FLOPS,
    OTHER,
    UNFUSED,
    FUSED,
    PREFETCHED,
    MODEL_IO,
    INTERMEDIATE,
    WEIGHT,
    INPUT,
    OUTPUT,
    LAYERS,
    INTERMEDIATES,
    KEYS,
};

/* The counts of one map: of total or of a layer. */
struct values {
    uint64_t v[KEYS];
    size_t line[KEYS]; /* 0 = not given */
    size_t map;        /* line of the map */
    uint64_t outputs;  /* tensors in tensor_shapes */
    bool taken;        /* output_is_intermediate */
    const char *where; /* the file's name in messages */
};

struct reader {
    struct carm_yaml *yaml;
    struct carm_err *err;
    struct carm_sol_analysis *a;
    struct values total;
    uint64_t sums[KEYS];  /* of the layers */
    uint32_t given[KEYS]; /* number of layers with the key */
    size_t room;          /* layers for which the arrays have room */
    uint64_t twice;       /* elements of outputs that the total may count more than once */
    bool has_total, has_layers;
};

static const char *const key_names[KEYS] = {
    [MACS] = "macs",
    [FLOPS] = "flops",
    [OTHER] = "other_ops",
    [UNFUSED] = "unfused_elements",
    [FUSED] = "fused_elements",
    [PREFETCHED] = "fused_prefetched_elements",
    [MODEL_IO] = "model_io_elements",
    [INTERMEDIATE] = "intermediate_elements",
    [WEIGHT] = "weight_elements",
    [INPUT] = "input_elements",
    [OUTPUT] = "output_elements",
    [LAYERS] = "num_layers",
    [INTERMEDIATES] = "num_intermediate_tensors",
};

static int read_value(struct reader *r, struct values *values, int key,
                      const struct carm_yaml_item *item)
{
    if (values->line[key] > 0) {
        return carm_yaml_refuse(r->yaml, item->line, r->err, "%.100s has %s twice: keep one",
                                values->where, key_names[key]);
    }
    if (carm_yaml_is_null(item)) {
        return 0;
    }
    values->line[key] = item->line;
    return carm_yaml_count(r->yaml, item, key_names[key], &values->v[key], r->err);
}

/* Counts the outputs in tensor_shapes: { inputs: [...], outputs: [...] } */
static int read_shapes(struct reader *r, struct values *values, const struct carm_yaml_item *map)
{
    int rc = 0;
    for (const struct carm_yaml_item *key = NULL;
         map->kind == CARM_YAML_MAP &&
         (key = carm_yaml_next_key(r->yaml, map, key, &rc, r->err)) != NULL;) {
        const struct carm_yaml_item *list = key + 1;
        if (strcmp(key->text, "outputs") != 0 || list->kind == CARM_YAML_SCALAR) {
            continue;
        }
        values->outputs = 0;
        for (const struct carm_yaml_item *m = list + 1;
             list->kind == CARM_YAML_LIST && m < carm_yaml_after(list); m = carm_yaml_after(m)) {
            values->outputs++;
        }
    }
    return rc;
}

/* Reads a map; keys that are not counts are ignored. values: `where` is set, the rest is 0 */
static int read_values(struct reader *r, struct values *values, const struct carm_yaml_item *map)
{
    int rc = 0;
    values->map = map->line;
    if (map->kind != CARM_YAML_MAP) {
        return carm_yaml_refuse(r->yaml, map->line, r->err, "%.100s is not a map of counts",
                                values->where);
    }
    for (const struct carm_yaml_item *at = NULL;
         (at = carm_yaml_next_key(r->yaml, map, at, &rc, r->err)) != NULL;) {
        int key = 0;
        while (key < KEYS && strcmp(at->text, key_names[key]) != 0) {
            key++;
        }
        if (key < KEYS) {
            rc = read_value(r, values, key, at + 1);
        } else if (strcmp(at->text, "tensor_shapes") == 0) {
            rc = read_shapes(r, values, at + 1);
        } else if (strcmp(at->text, "output_is_intermediate") == 0) {
            rc = carm_yaml_bool(r->yaml, at + 1, at->text, &values->taken, r->err);
        }
    }
    return rc;
}

/* Refuses a part that is larger than the whole, if both are given. */
static int check_part(const struct reader *r, const struct values *v, enum key part, enum key whole)
{
    if (v->line[part] == 0 || v->line[whole] == 0 || v->v[part] <= v->v[whole]) {
        return 0;
    }
    return carm_yaml_refuse(r->yaml, v->line[part], r->err,
                            "%.100s: %s is %" PRIu64 ", more than the %" PRIu64
                            " of %s, which it is a part of",
                            v->where, key_names[part], v->v[part], v->v[whole], key_names[whole]);
}

static int check_required(const struct reader *r, const struct values *v)
{
    static const enum key required[] = {MACS, UNFUSED, FUSED};
    for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
        if (v->line[required[i]] == 0) {
            return carm_yaml_refuse(r->yaml, v->map, r->err, "%.100s has no %s", v->where,
                                    key_names[required[i]]);
        }
    }
    return 0;
}

static int check_sums(const struct reader *r, const struct values *v)
{
    if (v->line[FLOPS] > 0 && (v->v[FLOPS] % 2 != 0 || v->v[FLOPS] / 2 != v->v[MACS])) {
        return carm_yaml_refuse(r->yaml, v->line[FLOPS], r->err,
                                "%.100s: flops is %" PRIu64 ", not 2 x macs = 2 x %" PRIu64,
                                v->where, v->v[FLOPS], v->v[MACS]);
    }
    if (v->line[INTERMEDIATE] > 0 && v->v[INTERMEDIATE] > v->v[UNFUSED] - v->v[FUSED]) {
        return carm_yaml_refuse(r->yaml, v->line[INTERMEDIATE], r->err,
                                "%.100s: fused_elements %" PRIu64
                                " and intermediate_elements %" PRIu64 " sum to more than "
                                "unfused_elements %" PRIu64,
                                v->where, v->v[FUSED], v->v[INTERMEDIATE], v->v[UNFUSED]);
    }
    /* neither exceeds unfused, so their sum cannot overflow */
    if (v->line[INPUT] > 0 && v->line[OUTPUT] > 0 && v->v[INPUT] + v->v[OUTPUT] != v->v[UNFUSED]) {
        return carm_yaml_refuse(r->yaml, v->line[INPUT], r->err,
                                "%.100s: input_elements %" PRIu64 " and output_elements %" PRIu64
                                " do not sum to "
                                "unfused_elements %" PRIu64,
                                v->where, v->v[INPUT], v->v[OUTPUT], v->v[UNFUSED]);
    }
    return 0;
}

static int check_values(const struct reader *r, const struct values *v)
{
    static const enum key parts[][2] = {
        {FUSED, UNFUSED}, {PREFETCHED, FUSED}, {MODEL_IO, UNFUSED},
        {WEIGHT, FUSED},  {INPUT, UNFUSED},    {OUTPUT, UNFUSED},
    };
    int rc = check_required(r, v);
    for (size_t i = 0; rc == 0 && i < sizeof parts / sizeof *parts; i++) {
        rc = check_part(r, v, parts[i][0], parts[i][1]);
    }
    return rc ? rc : check_sums(r, v);
}

/* v was checked: no part exceeds the whole */
static void count_values(const struct values *v, struct carm_sol_counts *c)
{
    c->macs = v->v[MACS];
    c->other = v->v[OTHER];
    c->unfused = v->v[UNFUSED];
    c->external = v->v[FUSED];
    c->weight = v->v[WEIGHT];
    if (v->line[INPUT] > 0 && v->line[OUTPUT] > 0) {
        c->input = v->v[INPUT];
        c->output = v->v[OUTPUT];
    }
    c->intermediate = v->line[INTERMEDIATE] > 0 ? v->v[INTERMEDIATE] : c->unfused - c->external;
    c->repeated = c->unfused - c->external - c->intermediate;
}

static int no_memory(const struct reader *r)
{
    return carm_fail(r->err, CARM_ENOMEM, "not enough memory for an analysis of %u layers",
                     r->a->n);
}

static int make_room(struct reader *r)
{
    struct carm_sol_analysis *a = r->a;
    size_t room = r->room;
    int rc = carm_array_grow(&a->layers, &room, a->n, 1, sizeof *a->layers, "an analysis", r->err);
    room = r->room;
    rc = rc ? rc : carm_array_grow(&a->ids, &room, a->n, 1, sizeof *a->ids, "an analysis", r->err);
    r->room = rc ? r->room : room;
    return rc;
}

static int add_sums(struct reader *r, const struct values *v)
{
    for (int k = 0; k < KEYS; k++) {
        r->given[k] += v->line[k] > 0;
        if (!carm_sol_add(&r->sums[k], v->v[k])) {
            return carm_yaml_refuse(r->yaml, v->line[k], r->err,
                                    "with %.100s the layers' %s sum to more than 2^63-1", v->where,
                                    key_names[k]);
        }
    }
    return 0;
}

/* Adds repeated outputs: if a layer's outputs are the model's, Solar counts all of them for each of
 * them. */
static void add_twice(struct reader *r, const struct values *v)
{
    const uint64_t more = v->outputs > 1 && !v->taken ? v->outputs - 1 : 0;
    const uint64_t elements = v->v[OUTPUT];
    if (more > 0 && elements <= (uint64_t)INT64_MAX / more) {
        carm_sol_add(&r->twice, more * elements);
    }
}

/* Reads a layer. id: its key, which its counts follow */
static int read_layer(struct reader *r, const struct carm_yaml_item *id)
{
    int rc = make_room(r);
    if (rc) {
        return rc;
    }
    char *name = strdup(id->text);
    if (!name) {
        return no_memory(r);
    }
    const uint32_t index = r->a->n++;
    r->a->ids[index] = name;
    struct values v = {.where = name};
    rc = read_values(r, &v, id + 1);
    rc = rc ? rc : check_values(r, &v);
    rc = rc ? rc : add_sums(r, &v);
    if (rc == 0) {
        add_twice(r, &v);
        r->a->layers[index] = (struct carm_sol_counts){0};
        count_values(&v, &r->a->layers[index]);
    }
    return rc;
}

static int read_layers(struct reader *r, const struct carm_yaml_item *map)
{
    int rc = 0;
    if (map->kind != CARM_YAML_MAP && !carm_yaml_is_null(map)) {
        return carm_yaml_refuse(r->yaml, map->line, r->err, "layers is not a map of layers");
    }
    for (const struct carm_yaml_item *key = NULL;
         map->kind == CARM_YAML_MAP &&
         (key = carm_yaml_next_key(r->yaml, map, key, &rc, r->err)) != NULL;) {
        rc = read_layer(r, key);
    }
    return rc;
}

static int read_section(struct reader *r, const struct carm_yaml_item *key)
{
    const bool total = strcmp(key->text, "total") == 0;
    const bool layers = strcmp(key->text, "layers") == 0;
    if ((total && r->has_total) || (layers && r->has_layers)) {
        return carm_yaml_refuse(r->yaml, key->line, r->err, "%s is given twice: keep one",
                                key->text);
    }
    r->has_total = r->has_total || total;
    r->has_layers = r->has_layers || layers;
    r->total.where = "total";
    return total ? read_values(r, &r->total, key + 1) : layers ? read_layers(r, key + 1) : 0;
}

/* Corrects a total whose external elements exceed all elements or the layers' sum: it counts
 * outputs more than once. The layers' sum without the repetitions replaces it. A total that
 * repetitions do not explain is unchanged, and is refused later. */
static void correct_total(struct reader *r)
{
    struct values *t = &r->total;
    const uint64_t fused = t->v[FUSED];
    const uint64_t most = r->sums[FUSED] < t->v[UNFUSED] ? r->sums[FUSED] : t->v[UNFUSED];
    if (r->a->n == 0 || t->line[FUSED] == 0 || t->line[UNFUSED] == 0 || fused <= most) {
        return;
    }
    const bool explained = r->twice > 0 && r->twice <= fused && fused - r->twice <= most;
    if (!explained && fused <= t->v[UNFUSED]) {
        return;
    }
    t->v[FUSED] = explained ? fused - r->twice : most;
    if (t->v[PREFETCHED] > t->v[FUSED]) {
        t->v[PREFETCHED] = t->v[FUSED];
    }
    r->a->counted_twice = fused - t->v[FUSED];
}

static int read_file(struct reader *r)
{
    const struct carm_yaml_item *root = carm_yaml_root(r->yaml);
    int rc = 0;
    for (const struct carm_yaml_item *key = NULL;
         (key = carm_yaml_next_key(r->yaml, root, key, &rc, r->err)) != NULL;) {
        rc = read_section(r, key);
    }
    if (rc == 0 && !r->has_total) {
        rc = carm_yaml_refuse(r->yaml, root->line, r->err,
                              "the key total is missing: an analysis needs it");
    }
    if (rc) {
        return rc;
    }
    correct_total(r);
    return check_values(r, &r->total);
}

/* Compares the layers' sums with the total, for keys that the total and all layers have. */
static int check_layers(struct reader *r)
{
    static const enum key equal[] = {MACS, OTHER, UNFUSED, INTERMEDIATE, MODEL_IO};
    const struct values *t = &r->total;
    const uint32_t n = r->a->n;
    for (size_t i = 0; i < sizeof equal / sizeof *equal; i++) {
        const enum key k = equal[i];
        if (t->line[k] > 0 && r->given[k] == n && r->sums[k] != t->v[k]) {
            return carm_yaml_refuse(r->yaml, t->line[k], r->err,
                                    "total: %s is %" PRIu64 ", but the layers' sum to %" PRIu64,
                                    key_names[k], t->v[k], r->sums[k]);
        }
    }
    if (r->sums[FUSED] < t->v[FUSED]) {
        return carm_yaml_refuse(r->yaml, t->line[FUSED], r->err,
                                "total: fused_elements is %" PRIu64
                                ", more than the layers' sum of %" PRIu64,
                                t->v[FUSED], r->sums[FUSED]);
    }
    if (t->line[LAYERS] > 0 && t->v[LAYERS] != n) {
        return carm_yaml_refuse(r->yaml, t->line[LAYERS], r->err,
                                "total: num_layers is %" PRIu64 ", but there are %u layers",
                                t->v[LAYERS], n);
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
    struct values *t = &r->total;
    if (a->n > 0) {
        const int rc = check_layers(r);
        if (rc) {
            return rc;
        }
        if (t->line[OTHER] == 0) {
            t->v[OTHER] = r->sums[OTHER];
        }
        if (t->line[INTERMEDIATE] == 0) {
            /* a layer's intermediate elements: at most unfused - fused. So the total's fused elements are fewer */
            t->line[INTERMEDIATE] = t->map;
            for (uint32_t i = 0; i < a->n; i++) {
                t->v[INTERMEDIATE] += a->layers[i].intermediate;
            }
        }
    }
    count_values(t, &a->total);
    a->prefetched = t->line[PREFETCHED] > 0 ? t->v[PREFETCHED] : a->total.external;
    a->model_io = t->line[MODEL_IO] > 0 ? t->v[MODEL_IO] : a->total.external - a->total.weight;
    a->operations = a->n > 0 ? a->n : clip(t->v[LAYERS]);
    a->intermediates = clip(t->v[INTERMEDIATES]);
    return 0;
}

int carm_sol_analysis_of(struct carm_yaml *yaml, struct carm_sol_analysis **analysis,
                         struct carm_err *err)
{
    struct reader r = {.yaml = yaml, .err = err, .a = calloc(1, sizeof *r.a)};
    *analysis = NULL;
    if (!r.a) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for an analysis");
    }
    int rc = read_file(&r);
    rc = rc ? rc : finish(&r);
    if (rc) {
        carm_sol_analysis_close(r.a);
    } else {
        *analysis = r.a;
    }
    return rc;
}

int carm_sol_analysis_parse(const char *text, size_t size_bytes, const char *name,
                            struct carm_sol_analysis **analysis, struct carm_err *err)
{
    struct carm_yaml *yaml = NULL;
    *analysis = NULL;
    int rc = carm_yaml_open_text(text, size_bytes, name, "an analysis is a map with the key total",
                                 &yaml, err);
    rc = rc ? rc : carm_sol_analysis_of(yaml, analysis, err);
    carm_yaml_close(yaml);
    return rc;
}
