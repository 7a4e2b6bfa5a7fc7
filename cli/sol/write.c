/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/sol/write.h"

#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "base/csv.h"
#include "base/outfile.h"
#include "base/text.h"

/* NULL for "-", standard output */
static const char *file_of(const char *path)
{
    return strcmp(path, "-") == 0 ? NULL : path;
}

/* ---- one value, as JSON, YAML or CSV ---- */

/* A JSON text; bytes that are not UTF-8, which jansson refuses, are replaced. */
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

/* A JSON number; null for infinite values */
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

/* The share of a's bytes that b saves. */
static double saved(const struct carm_sol_estimate *a, const struct carm_sol_estimate *b)
{
    return a->bytes > 0 ? 1.0 - (double)b->bytes / (double)a->bytes : 0.0;
}

/* ---- sections ---- */

static json_t *arch_section(const struct carm_sol_view *v)
{
    const struct carm_sol_arch *a = v->arch;
    json_t *o = json_object();
    const bool good = put(o, "name", text(a->name)) && put(o, "source", text(a->source)) &&
                      put(o, "measured", json_boolean(a->measured)) &&
                      put(o, "freq_GHz", real(a->freq_ghz)) &&
                      put(o, "DRAM_byte_per_cycle", real(a->dram_byte_per_cycle)) &&
                      put(o, "mac_per_cycle_key", text(carm_sol_arch_mac_key(a, v->precision))) &&
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

/* Adds remarks, if there are any. */
static bool put_remarks(json_t *o, const struct carm_sol_view *v)
{
    char one[256];
    bool good = true;
    json_t *list = carm_sol_view_remark(v, 0, one, sizeof one) ? json_array() : NULL;
    for (uint32_t i = 0; list && good && carm_sol_view_remark(v, i, one, sizeof one); i++) {
        good = json_array_append_new(list, text(one)) == 0;
    }
    return list ? put(o, "remarks", list) && good : true;
}

/* The tree of sections for both YAML and JSON. truncated: whole cycles, as in the guide
 * returns NULL when out of memory */
static json_t *tree_of(const struct carm_sol_view *view, bool truncated)
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
        put(o, "cache_aware", cached_section(view, truncated)) && put_remarks(o, view);
    return good ? o : (json_decref(o), NULL);
}

/* ---- JSON ---- */

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

/* Writes the layers one after the other: a tree of a million layers would take gigabytes. */
static bool put_layers(FILE *out, const struct carm_sol_view *v)
{
    const uint32_t n = carm_sol_view_layers(v);
    const char *comma = "";
    fputs(",\n  \"layers\": [", out);
    for (uint32_t i = 0; i < n; i++) {
        if (v->graph && v->graph->layers[i].kind == CARM_SOL_START) {
            continue;
        }
        json_t *o = layer_object(v, i);
        fprintf(out, "%s\n    ", comma);
        const bool good = o && (json_dumpf(o, out, JSON_ENSURE_ASCII) == 0 || ferror(out));
        json_decref(o);
        if (!good) {
            return false;
        }
        comma = ",";
    }
    fputs("\n  ]", out);
    return true;
}

int carm_sol_write_json(FILE *out, const struct carm_sol_view *view, struct carm_err *err)
{
    json_t *tree = tree_of(view, false);
    char *head = tree ? json_dumps(tree, JSON_INDENT(2) | JSON_ENSURE_ASCII) : NULL;
    const size_t size = head ? strlen(head) : 0;
    bool good = size > 2;
    if (good) {
        head[size - 2] = '\0'; /* "\n}" comes after the layers */
        fputs(head, out);
        good = carm_sol_view_layers(view) == 0 || put_layers(out, view);
        fputs("\n}\n", out);
    }
    free(head);
    json_decref(tree);
    return good ? 0 : carm_fail(err, CARM_ENOMEM, "not enough memory to write the results as JSON");
}

/* ---- YAML ---- */

/* Emits an event. libyaml releases the event's contents in any case. */
static bool emit(yaml_emitter_t *emitter, bool made, yaml_event_t *event)
{
    return made && yaml_emitter_emit(emitter, event) == 1;
}

/* quoted: as a text in any case, on one line by escapes */
static bool put_scalar(yaml_emitter_t *emitter, const char *text, size_t length, bool quoted)
{
    yaml_event_t event;
    const bool made = yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text,
                                                   (int)length, !quoted, quoted,
                                                   quoted ? YAML_DOUBLE_QUOTED_SCALAR_STYLE
                                                          : YAML_PLAIN_SCALAR_STYLE) == 1;
    return emit(emitter, made, &event);
}

/* Writes the fewest digits that give the same number, with a decimal point, so that it is read as a
 * real number. */
static bool put_real(yaml_emitter_t *emitter, double v)
{
    char digits[32], text[40];
    for (int n = 6; n <= 17; n++) {
        snprintf(digits, sizeof digits, "%.*g", n, v);
        if (strtod(digits, NULL) == v) {
            break;
        }
    }
    const char *e = strchr(digits, 'e'); /* 1e+20 is 1.0e+20 in YAML 1.1 */
    const int mantissa = e ? (int)(e - digits) : (int)strlen(digits);
    snprintf(text, sizeof text, "%.*s%s%s", mantissa, digits, strchr(digits, '.') ? "" : ".0",
             e ? e : "");
    return put_scalar(emitter, text, strlen(text), false);
}

static bool put_value(yaml_emitter_t *emitter, json_t *value);

static bool put_map(yaml_emitter_t *emitter, json_t *object)
{
    yaml_event_t event;
    const char *key;
    json_t *value;
    bool good = emit(
        emitter,
        yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE) == 1,
        &event);
    json_object_foreach(object, key, value)
    {
        good = good && put_scalar(emitter, key, strlen(key), false) && put_value(emitter, value);
    }
    return good && emit(emitter, yaml_mapping_end_event_initialize(&event) == 1, &event);
}

static bool put_list(yaml_emitter_t *emitter, const json_t *list)
{
    yaml_event_t event;
    bool good = emit(
        emitter,
        yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE) == 1,
        &event);
    for (size_t i = 0; i < json_array_size(list); i++) {
        good = good && put_value(emitter, json_array_get(list, i));
    }
    return good && emit(emitter, yaml_sequence_end_event_initialize(&event) == 1, &event);
}

static bool put_value(yaml_emitter_t *emitter, json_t *value)
{
    char text[32];
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return put_map(emitter, value);
    case JSON_ARRAY:
        return put_list(emitter, value);
    case JSON_STRING:
        return put_scalar(emitter, json_string_value(value), json_string_length(value), true);
    case JSON_REAL:
        return put_real(emitter, json_real_value(value));
    case JSON_INTEGER:
        snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return put_scalar(emitter, text, strlen(text), false);
    case JSON_TRUE:
        return put_scalar(emitter, "true", 4, false);
    case JSON_FALSE:
        return put_scalar(emitter, "false", 5, false);
    case JSON_NULL:
        break;
    }
    return put_scalar(emitter, "null", 4, false);
}

static bool put_document(yaml_emitter_t *emitter, json_t *tree)
{
    yaml_event_t event;
    return emit(emitter, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) == 1,
                &event) &&
           emit(emitter, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1) == 1,
                &event) &&
           put_value(emitter, tree) &&
           emit(emitter, yaml_document_end_event_initialize(&event, 1) == 1, &event) &&
           emit(emitter, yaml_stream_end_event_initialize(&event) == 1, &event);
}

static int put_yaml(FILE *out, const void *context, struct carm_err *err)
{
    yaml_emitter_t emitter;
    json_t *tree = tree_of(context, true);
    bool good = tree && yaml_emitter_initialize(&emitter);
    if (good) {
        yaml_emitter_set_output_file(&emitter, out);
        yaml_emitter_set_width(&emitter, -1);
        good = put_document(&emitter, tree);
        yaml_emitter_delete(&emitter);
    }
    json_decref(tree);
    return good || ferror(out) ? 0 : carm_fail(err, CARM_ENOMEM, "not enough memory to write YAML");
}

int carm_sol_write_yaml(const char *path, const struct carm_sol_view *view, struct carm_err *err)
{
    return carm_outfile_print(file_of(path), put_yaml, view, err);
}

/* ---- CSV ---- */

/* Writes a text from a file, without line ends. */
static void put_text(FILE *out, const char *s)
{
    char clean[256];
    carm_csv_put(out, carm_text_clean(clean, sizeof clean, s, false));
}

static void put_number(FILE *out, double v)
{
    fputc(',', out);
    carm_csv_number(out, v);
}

/* Writes a point. Operations that take no time have an empty field, as times in points.csv are
 * above zero. */
static void put_point(FILE *out, const struct carm_sol_view *v, const char *name,
                      const struct carm_sol_counts *counts, const struct carm_sol_estimate *unfused,
                      const struct carm_sol_estimate *fused)
{
    put_text(out, name);
    put_number(out, carm_sol_flops(counts));
    put_number(out, (double)unfused->bytes);
    put_number(out, fused->seconds > 0.0 ? fused->seconds : NAN);
    put_number(out, (double)fused->bytes);
    fputc(',', out);
    if (v->threads > 0) {
        fprintf(out, "%d", v->threads);
    }
    fputc(',', out);
    put_text(out, v->isa);
    fprintf(out, ",%s,constructed,", carm_sol_precision_roofs(v->precision));
    put_text(out, v->result->has_cached ? "estimate of carm sol: fused, what fits stays on the chip"
                                        : "estimate of carm sol: fused");
    fputc('\n', out);
}

static int put_points(FILE *out, const void *context, struct carm_err *err)
{
    const struct carm_sol_view *v = context;
    (void)err;
    fputs("name,flops,bytes,seconds,dram_bytes,threads,isa,precision,counted_by,note\n", out);
    put_point(out, v, v->name, &v->analysis->total, &v->result->models[CARM_SOL_UNFUSED],
              carm_sol_view_graph(v, CARM_SOL_FUSED));
    for (uint32_t i = 0; i < carm_sol_view_layers(v); i++) {
        if (carm_sol_view_works(v, i)) {
            const struct carm_sol_estimate unfused = carm_sol_view_layer(v, i, CARM_SOL_UNFUSED);
            const struct carm_sol_estimate fused = carm_sol_view_layer(v, i, CARM_SOL_FUSED);
            put_point(out, v, carm_sol_view_layer_name(v, i), &v->analysis->layers[i], &unfused,
                      &fused);
        }
    }
    return 0;
}

int carm_sol_write_points(const char *path, const struct carm_sol_view *view, struct carm_err *err)
{
    return carm_outfile_print(file_of(path), put_points, view, err);
}

static void put_sweep_header(FILE *out, const char *key)
{
    fputs(key, out);
    for (int cached = 0; cached < 2; cached++) {
        for (int m = cached ? CARM_SOL_FUSED : CARM_SOL_UNFUSED; m < CARM_SOL_MODELS; m++) {
            const char *name = carm_sol_model_name((enum carm_sol_model)m);
            const char *head = cached ? "cache_aware_" : "";
            fprintf(out, ",%s%s_cycles,%s%s_seconds,%s%s_limited_by", head, name, head, name, head,
                    name);
            if (m != CARM_SOL_UNFUSED) {
                fprintf(out, ",%s%s_speedup", head, name);
            }
            if (cached) {
                fprintf(out, ",%s%s_spilled_bytes", head, name);
            }
        }
    }
    fputc('\n', out);
}

static void put_estimate(FILE *out, const struct carm_sol_arch *arch,
                         const struct carm_sol_estimate *unfused, const struct carm_sol_estimate *e)
{
    put_number(out, e->cycles);
    put_number(out, e->seconds);
    fputc(',', out);
    put_text(out, carm_sol_bound_word(arch, e));
    if (e != unfused) {
        put_number(out, carm_sol_speedup(unfused, e));
    }
}

struct sweep_rows {
    FILE *out;
    const char *key;
};

static void put_sweep_row(void *context, size_t i, double value, const struct carm_sol_view *v)
{
    const struct sweep_rows *rows = context;
    const struct carm_sol_result *r = v->result;
    const struct carm_sol_estimate *unfused = &r->models[CARM_SOL_UNFUSED];
    if (i == 0) {
        put_sweep_header(rows->out, rows->key); /* only when there is a row */
    }
    carm_csv_number(rows->out, value);
    for (int m = CARM_SOL_UNFUSED; m < CARM_SOL_MODELS; m++) {
        put_estimate(rows->out, v->arch, unfused, &r->models[m]);
    }
    for (int m = CARM_SOL_FUSED; m < CARM_SOL_MODELS; m++) {
        if (r->has_cached) {
            put_estimate(rows->out, v->arch, unfused, &r->cached[m]);
            fprintf(rows->out, ",%" PRIu64, r->cached[m].spilled_bytes);
        } else {
            fputs(",,,,,", rows->out);
        }
    }
    fputc('\n', rows->out);
}

struct sweep_job {
    const struct carm_sol_sweep *sweep;
    const struct carm_sol_view *view;
};

static int put_sweep(FILE *out, const void *context, struct carm_err *err)
{
    const struct sweep_job *job = context;
    struct sweep_rows rows = {out, job->sweep->key};
    return carm_sol_sweep_run(job->sweep, job->view, put_sweep_row, &rows, err);
}

int carm_sol_write_sweep(const char *path, const struct carm_sol_sweep *sweep,
                         const struct carm_sol_view *view, struct carm_err *err)
{
    const struct sweep_job job = {sweep, view};
    return carm_outfile_print(file_of(path), put_sweep, &job, err);
}
