/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Source of the keys: the guide; the Solar project's docs/FORMAT.md, section 3. */
#include "models/sol/analysis_values.h"

#include <string.h>

static const char *const key_names[CARM_SOL_COUNT_KEYS] = {
    [CARM_SOL_COUNT_MACS] = "macs",
    [CARM_SOL_COUNT_FLOPS] = "flops",
    [CARM_SOL_COUNT_OTHER] = "other_ops",
    [CARM_SOL_COUNT_UNFUSED] = "unfused_elements",
    [CARM_SOL_COUNT_FUSED] = "fused_elements",
    [CARM_SOL_COUNT_PREFETCHED] = "fused_prefetched_elements",
    [CARM_SOL_COUNT_MODEL_IO] = "model_io_elements",
    [CARM_SOL_COUNT_INTERMEDIATE] = "intermediate_elements",
    [CARM_SOL_COUNT_WEIGHT] = "weight_elements",
    [CARM_SOL_COUNT_INPUT] = "input_elements",
    [CARM_SOL_COUNT_OUTPUT] = "output_elements",
    [CARM_SOL_COUNT_LAYERS] = "num_layers",
    [CARM_SOL_COUNT_INTERMEDIATES] = "num_intermediate_tensors",
};

const char *carm_sol_values_key(int key)
{
    return key_names[key];
}

static int find_key(const struct carm_yaml_item *item)
{
    for (int k = 0; k < CARM_SOL_COUNT_KEYS; k++) {
        if (item->length == strlen(key_names[k]) && strcmp(item->text, key_names[k]) == 0) {
            return k;
        }
    }
    return -1;
}

static int read_value(struct carm_yaml *yaml, struct carm_sol_values *values, int key,
                      struct carm_err *err)
{
    struct carm_yaml_item item;
    const int rc = carm_yaml_next(yaml, &item, err);
    if (rc) {
        return rc;
    }
    if (values->line[key] > 0) {
        return carm_yaml_refuse(yaml, item.line, err, "%.100s has %s twice: keep one",
                                values->where, key_names[key]);
    }
    if (carm_yaml_is_null(&item)) {
        return 0;
    }
    values->line[key] = item.line;
    return carm_yaml_count(yaml, &item, key_names[key], &values->v[key], err);
}

/* The map that begins next. */
int carm_sol_values_read(struct carm_yaml *yaml, struct carm_sol_values *values,
                         struct carm_err *err)
{
    struct carm_yaml_item item;
    int rc = carm_yaml_next(yaml, &item, err);
    if (rc) {
        return rc;
    }
    values->map = item.line;
    if (item.kind != CARM_YAML_MAP) {
        return carm_yaml_refuse(yaml, item.line, err, "%.100s is no map of counts", values->where);
    }
    for (;;) {
        rc = carm_yaml_key(yaml, &item, err);
        if (rc || item.kind == CARM_YAML_CLOSE) {
            return rc;
        }
        const int key = find_key(&item);
        rc = key < 0 ? carm_yaml_skip(yaml, err) : read_value(yaml, values, key, err);
        if (rc) {
            return rc;
        }
    }
}

/* part of whole, both given */
static int check_part(const struct carm_yaml *yaml, const struct carm_sol_values *v,
                      enum carm_sol_value part, enum carm_sol_value whole, struct carm_err *err)
{
    if (v->line[part] == 0 || v->line[whole] == 0 || v->v[part] <= v->v[whole]) {
        return 0;
    }
    return carm_yaml_refuse(yaml, v->line[part], err,
                            "%.100s: %s is %llu, more than the %llu of %s, which it is a part of",
                            v->where, key_names[part], (unsigned long long)v->v[part],
                            (unsigned long long)v->v[whole], key_names[whole]);
}

static int check_required(const struct carm_yaml *yaml, const struct carm_sol_values *v,
                          struct carm_err *err)
{
    static const enum carm_sol_value required[] = {CARM_SOL_COUNT_MACS, CARM_SOL_COUNT_UNFUSED,
                                                   CARM_SOL_COUNT_FUSED};
    for (size_t i = 0; i < sizeof required / sizeof *required; i++) {
        if (v->line[required[i]] == 0) {
            return carm_yaml_refuse(yaml, v->map, err, "%.100s has no %s", v->where,
                                    key_names[required[i]]);
        }
    }
    return 0;
}

static int check_sums(const struct carm_yaml *yaml, const struct carm_sol_values *v,
                      struct carm_err *err)
{
    if (v->line[CARM_SOL_COUNT_FLOPS] > 0 &&
        (v->v[CARM_SOL_COUNT_FLOPS] % 2 != 0 ||
         v->v[CARM_SOL_COUNT_FLOPS] / 2 != v->v[CARM_SOL_COUNT_MACS])) {
        return carm_yaml_refuse(yaml, v->line[CARM_SOL_COUNT_FLOPS], err,
                                "%.100s: flops is %llu, not 2 x macs = 2 x %llu", v->where,
                                (unsigned long long)v->v[CARM_SOL_COUNT_FLOPS],
                                (unsigned long long)v->v[CARM_SOL_COUNT_MACS]);
    }
    if (v->line[CARM_SOL_COUNT_INTERMEDIATE] > 0 &&
        v->v[CARM_SOL_COUNT_INTERMEDIATE] >
            v->v[CARM_SOL_COUNT_UNFUSED] - v->v[CARM_SOL_COUNT_FUSED]) {
        return carm_yaml_refuse(
            yaml, v->line[CARM_SOL_COUNT_INTERMEDIATE], err,
            "%.100s: fused_elements %llu and intermediate_elements %llu sum to more than "
            "unfused_elements %llu",
            v->where, (unsigned long long)v->v[CARM_SOL_COUNT_FUSED],
            (unsigned long long)v->v[CARM_SOL_COUNT_INTERMEDIATE],
            (unsigned long long)v->v[CARM_SOL_COUNT_UNFUSED]);
    }
    /* each is no more than unfused, so that the sum fits */
    if (v->line[CARM_SOL_COUNT_INPUT] > 0 && v->line[CARM_SOL_COUNT_OUTPUT] > 0 &&
        v->v[CARM_SOL_COUNT_INPUT] + v->v[CARM_SOL_COUNT_OUTPUT] != v->v[CARM_SOL_COUNT_UNFUSED]) {
        return carm_yaml_refuse(
            yaml, v->line[CARM_SOL_COUNT_INPUT], err,
            "%.100s: input_elements %llu and output_elements %llu do not sum to "
            "unfused_elements %llu",
            v->where, (unsigned long long)v->v[CARM_SOL_COUNT_INPUT],
            (unsigned long long)v->v[CARM_SOL_COUNT_OUTPUT],
            (unsigned long long)v->v[CARM_SOL_COUNT_UNFUSED]);
    }
    return 0;
}

int carm_sol_values_check(const struct carm_yaml *yaml, const struct carm_sol_values *v,
                          struct carm_err *err)
{
    static const enum carm_sol_value parts[][2] = {
        {CARM_SOL_COUNT_FUSED, CARM_SOL_COUNT_UNFUSED},
        {CARM_SOL_COUNT_PREFETCHED, CARM_SOL_COUNT_FUSED},
        {CARM_SOL_COUNT_MODEL_IO, CARM_SOL_COUNT_UNFUSED},
        {CARM_SOL_COUNT_WEIGHT, CARM_SOL_COUNT_FUSED},
        {CARM_SOL_COUNT_INPUT, CARM_SOL_COUNT_UNFUSED},
        {CARM_SOL_COUNT_OUTPUT, CARM_SOL_COUNT_UNFUSED},
    };
    int rc = check_required(yaml, v, err);
    for (size_t i = 0; rc == 0 && i < sizeof parts / sizeof *parts; i++) {
        rc = check_part(yaml, v, parts[i][0], parts[i][1], err);
    }
    return rc ? rc : check_sums(yaml, v, err);
}

/* v was checked: the parts are no more than the whole */
void carm_sol_values_count(const struct carm_sol_values *v, struct carm_sol_counts *c)
{
    c->macs = v->v[CARM_SOL_COUNT_MACS];
    c->other = v->v[CARM_SOL_COUNT_OTHER];
    c->unfused = v->v[CARM_SOL_COUNT_UNFUSED];
    c->external = v->v[CARM_SOL_COUNT_FUSED];
    c->weight = v->v[CARM_SOL_COUNT_WEIGHT];
    if (v->line[CARM_SOL_COUNT_INPUT] > 0 && v->line[CARM_SOL_COUNT_OUTPUT] > 0) {
        c->input = v->v[CARM_SOL_COUNT_INPUT];
        c->output = v->v[CARM_SOL_COUNT_OUTPUT];
    }
    c->intermediate = v->line[CARM_SOL_COUNT_INTERMEDIATE] > 0 ? v->v[CARM_SOL_COUNT_INTERMEDIATE]
                                                               : c->unfused - c->external;
    c->repeated = c->unfused - c->external - c->intermediate;
}
