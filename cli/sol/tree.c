/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/sol/tree.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* ---- values ------------------------------------------------------------------------------------ */

/* What jansson refuses (bytes that are no UTF-8) goes in cleaned. */
static json_t *text(const char *s)
{
    char clean[1024];
    json_t *value = json_string(s);
    return value ? value : json_string(carm_text_clean(clean, sizeof clean, s, false));
}

static json_t *count(uint64_t v)
{
    return v <= INT64_MAX ? json_integer((json_int_t)v) : json_real((double)v);
}

/* null for what has no end */
static json_t *real(double v)
{
    return isfinite(v) ? json_real(v) : json_null();
}

static json_t *cycles(double v, bool truncated)
{
    return truncated && v < 9.2e18 ? json_integer((json_int_t)v) : real(v);
}

static json_t *bytes_of(uint64_t elements, enum carm_sol_precision precision)
{
    uint64_t bytes = 0;
    return carm_sol_bytes(elements, precision, &bytes) ? json_null() : count(bytes);
}

static bool put(json_t *object, const char *name, json_t *value)
{
    return json_object_set_new(object, name, value) == 0;
}

/* The share of a's bytes that b does without. */
static double saved(const struct carm_sol_estimate *a, const struct carm_sol_estimate *b)
{
    return a->bytes > 0 ? 1.0 - (double)b->bytes / (double)a->bytes : 0.0;
}

/* ---- sections ---------------------------------------------------------------------------------- */

static json_t *arch_section(const struct carm_sol_view *v)
{
    const struct carm_sol_arch *a = v->arch;
    json_t *o = json_object();
    const bool good = put(o, "name", text(a->name)) && put(o, "source", text(a->source)) &&
                      put(o, "measured", json_boolean(a->measured)) &&
                      put(o, "freq_GHz", real(a->freq_ghz)) &&
                      put(o, "DRAM_byte_per_cycle", real(a->dram_byte_per_cycle)) &&
                      put(o, "mac_per_cycle_key", text(carm_sol_arch_mac_key(v->precision))) &&
                      put(o, "MAC_per_cycle", real(a->mac_per_cycle[v->precision])) &&
                      put(o, "MAC_per_cycle_fp32_sm", real(a->other_per_cycle[v->precision])) &&
                      put(o, "ridge_point", real(v->result->mac_ridge_point)) &&
                      put(o, "ridge_point_flop_per_byte", real(v->result->ridge_point));
    return good ? o : (json_decref(o), NULL);
}

static json_t *workload_section(const struct carm_sol_view *v)
{
    const struct carm_sol_counts *t = &v->analysis->total;
    json_t *o = json_object();
    const bool good =
        put(o, "name", text(v->name)) && put(o, "operations", count(v->analysis->operations)) &&
        put(o, "total_macs", count(t->macs)) && put(o, "total_other_ops", count(t->other)) &&
        put(o, "total_flops", count(2 * t->macs)) && /* macs <= INT64_MAX */
        put(o, "precision", text(carm_sol_precision_name(v->precision))) &&
        put(o, "bytes_per_element", real(carm_sol_precision_bits(v->precision) / 8.0));
    return good ? o : (json_decref(o), NULL);
}

static const char *bottleneck(const struct carm_sol_view *v, const struct carm_sol_estimate *e)
{
    return carm_sol_bound_word(v->arch, e);
}

static json_t *model_section(const struct carm_sol_view *v, const struct carm_sol_estimate *e,
                             const char *description, bool truncated)
{
    json_t *o = json_object();
    const bool good = put(o, "description", text(description)) &&
                      put(o, "memory_elements", count(e->elements)) &&
                      put(o, "memory_bytes", count(e->bytes)) &&
                      put(o, "compute_tc_cycles", cycles(e->tc_cycles, truncated)) &&
                      put(o, "compute_sm_cycles", cycles(e->sm_cycles, truncated)) &&
                      put(o, "compute_cycles", cycles(e->compute_cycles, truncated)) &&
                      put(o, "memory_cycles", cycles(e->memory_cycles, truncated)) &&
                      put(o, "total_cycles", cycles(e->cycles, truncated)) &&
                      put(o, "runtime_ms", real(1e3 * e->seconds)) &&
                      put(o, "arithmetic_intensity", real(e->mac_intensity)) &&
                      put(o, "bottleneck", text(bottleneck(v, e))) &&
                      put(o, "intensity_flop_per_byte", real(e->intensity)) &&
                      put(o, "spilled_bytes", count(e->spilled_bytes));
    return good ? o : (json_decref(o), NULL);
}

static json_t *breakdown_section(const struct carm_sol_view *v)
{
    const struct carm_sol_analysis *a = v->analysis;
    json_t *o = json_object();
    const bool good = put(o, "weight_elements", count(a->total.weight)) &&
                      put(o, "weight_bytes", bytes_of(a->total.weight, v->precision)) &&
                      put(o, "model_io_elements", count(a->model_io)) &&
                      put(o, "model_io_bytes", bytes_of(a->model_io, v->precision)) &&
                      put(o, "intermediate_elements", count(a->total.intermediate)) &&
                      put(o, "intermediate_bytes", bytes_of(a->total.intermediate, v->precision));
    return good ? o : (json_decref(o), NULL);
}

static json_t *ratio_section(const struct carm_sol_estimate *m,
                             double (*ratio)(const struct carm_sol_estimate *,
                                             const struct carm_sol_estimate *))
{
    const struct carm_sol_estimate *unfused = &m[CARM_SOL_UNFUSED], *fused = &m[CARM_SOL_FUSED],
                                   *prefetched = &m[CARM_SOL_PREFETCHED];
    json_t *o = json_object();
    const bool good = put(o, "fused_vs_unfused", real(ratio(unfused, fused))) &&
                      put(o, "fused_prefetched_vs_unfused", real(ratio(unfused, prefetched))) &&
                      put(o, "fused_prefetched_vs_fused", real(ratio(fused, prefetched)));
    return good ? o : (json_decref(o), NULL);
}

static json_t *levels_list(const struct carm_sol_arch *arch)
{
    json_t *list = json_array();
    for (size_t i = 0; i < arch->nlevels; i++) {
        const struct carm_sol_level *l = &arch->levels[i];
        json_t *o = json_object();
        const bool good =
            put(o, "name", text(l->name)) &&
            put(o, "capacity_bytes", l->capacity ? count(l->capacity) : json_null()) &&
            put(o, "byte_per_cycle", l->byte_per_cycle > 0 ? real(l->byte_per_cycle) : json_null());
        if (!good) {
            json_decref(o);
            o = NULL;
        }
        if (json_array_append_new(list, o)) {
            json_decref(list);
            return NULL;
        }
    }
    return list;
}

static json_t *cached_section(const struct carm_sol_view *v, bool truncated)
{
    const struct carm_sol_estimate *m = v->result->cached;
    if (!v->result->has_cached) {
        return json_null();
    }
    json_t *o = json_object();
    const bool good =
        put(o, "levels", levels_list(v->arch)) &&
        put(o, "alive_bytes", count(v->result->peak_bytes)) &&
        put(o, "fused",
            model_section(v, &m[CARM_SOL_FUSED],
                          "sum over operations; intermediates that find room stay on the chip",
                          truncated)) &&
        put(o, "fused_prefetched",
            model_section(v, &m[CARM_SOL_PREFETCHED],
                          "whole graph; intermediates that find room stay on the chip",
                          truncated)) &&
        put(o, "speedup", ratio_section(m, carm_sol_speedup)) &&
        put(o, "memory_reduction", ratio_section(m, saved));
    return good ? o : (json_decref(o), NULL);
}

json_t *carm_sol_tree(const struct carm_sol_view *view, bool truncated)
{
    const bool whole = view->result->whole_graph;
    const struct carm_sol_estimate *m = view->result->models;
    json_t *o = json_object();
    const bool good =
        put(o, "arch", arch_section(view)) && put(o, "workload", workload_section(view)) &&
        put(o, "design", text(view->as_implemented ? "as-implemented" : "intended")) &&
        put(o, "whole_graph", json_boolean(whole)) &&
        put(o, "unfused",
            model_section(view, &m[CARM_SOL_UNFUSED],
                          whole ? "whole graph; every tensor goes through memory"
                                : "sum over operations; every tensor goes through memory",
                          truncated)) &&
        put(o, "fused",
            model_section(view, &m[CARM_SOL_FUSED],
                          whole ? "whole graph; intermediates stay on the chip"
                                : "sum over operations; intermediates stay on the chip",
                          truncated)) &&
        put(o, "fused_prefetched",
            model_section(view, &m[CARM_SOL_PREFETCHED],
                          "whole graph; intermediates stay on the chip", truncated)) &&
        put(o, "memory_breakdown", breakdown_section(view)) &&
        put(o, "speedup", ratio_section(m, carm_sol_speedup)) &&
        put(o, "memory_reduction", ratio_section(m, saved)) &&
        put(o, "cache_aware", cached_section(view, truncated));
    return good ? o : (json_decref(o), NULL);
}

/* ---- JSON -------------------------------------------------------------------------------------- */

static json_t *layer_object(const struct carm_sol_view *v, uint32_t i)
{
    const struct carm_sol_counts *c = &v->analysis->layers[i];
    const struct carm_sol_estimate unfused = carm_sol_view_layer(v, i, CARM_SOL_UNFUSED);
    const struct carm_sol_estimate fused = carm_sol_view_layer(v, i, CARM_SOL_FUSED);
    json_t *o = json_object();
    const bool good = put(o, "id", text(carm_sol_view_layer_name(v, i))) &&
                      put(o, "type", text(carm_sol_view_layer_type(v, i))) &&
                      put(o, "macs", count(c->macs)) && put(o, "other_ops", count(c->other)) &&
                      put(o, "unfused_elements", count(c->unfused)) &&
                      put(o, "fused_elements", count(c->external)) &&
                      put(o, "weight_elements", count(c->weight)) &&
                      put(o, "intermediate_elements", count(c->intermediate)) &&
                      put(o, "spilled_bytes", count(fused.spilled_bytes)) &&
                      put(o, "unfused_cycles", real(unfused.cycles)) &&
                      put(o, "unfused_ms", real(1e3 * unfused.seconds)) &&
                      put(o, "unfused_bottleneck", text(bottleneck(v, &unfused))) &&
                      put(o, "fused_cycles", real(fused.cycles)) &&
                      put(o, "fused_ms", real(1e3 * fused.seconds)) &&
                      put(o, "fused_bottleneck", text(bottleneck(v, &fused)));
    return good ? o : (json_decref(o), NULL);
}

/* One after the other: a tree of a million of them would take gigabytes. */
static bool put_layers(FILE *out, const struct carm_sol_view *v)
{
    const uint32_t n = carm_sol_view_layers(v);
    const char *comma = "";
    (void)fputs(",\n  \"layers\": [", out);
    for (uint32_t i = 0; i < n; i++) {
        if (v->graph && v->graph->layers[i].kind == CARM_SOL_START) {
            continue;
        }
        json_t *o = layer_object(v, i);
        (void)fprintf(out, "%s\n    ", comma);
        const bool good = o && json_dumpf(o, out, JSON_ENSURE_ASCII) == 0;
        json_decref(o);
        if (!good) {
            return false;
        }
        comma = ",";
    }
    (void)fputs("\n  ]", out);
    return true;
}

int carm_sol_json_put(FILE *out, const struct carm_sol_view *view, struct carm_err *err)
{
    json_t *tree = carm_sol_tree(view, false);
    char *head = tree ? json_dumps(tree, JSON_INDENT(2) | JSON_ENSURE_ASCII) : NULL;
    const size_t size = head ? strlen(head) : 0;
    bool good = size > 2;
    if (good) {
        head[size - 2] = '\0'; /* "\n}" comes after the layers */
        (void)fputs(head, out);
        good = carm_sol_view_layers(view) == 0 || put_layers(out, view);
        (void)fputs("\n}\n", out);
    }
    free(head);
    json_decref(tree);
    return good ? 0 : carm_fail(err, CARM_ENOMEM, "not enough memory to write the results as JSON");
}
