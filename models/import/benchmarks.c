/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results of Google Benchmark (--benchmark_out_format=json) and of hyperfine (--export-json).
 * source: Google Benchmark's docs/user_guide.md, src/json_reporter.cc and src/counter.cc; hyperfine
 *         1.20, src/benchmark/benchmark_result.rs, and the JSON of 2.0 in its tests/snapshots */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/text.h"
#include "models/import/json.h"

/* ---- Google Benchmark ---------------------------------------------------------------------------- */

struct google {
    struct carm_names repeated; /* benchmarks that have rows of their repetitions */
    char host[256];
};

/* Aggregates of old files are known by their names alone. */
static bool is_aggregate(json_t *item, const char *name)
{
    static const char *const ends[] = {"_mean", "_median", "_stddev", "_cv",
                                       "_min",  "_max",    "_BigO",   "_RMS"};
    const char *type = carm_json_text(item, "run_type");
    if (type) {
        return strcmp(type, "aggregate") == 0;
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t n = strlen(name), m = strlen(ends[i]);
        if (n > m && strcmp(name + n - m, ends[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_median(json_t *item)
{
    const char *aggregate = carm_json_text(item, "aggregate_name");
    return aggregate && strcmp(aggregate, "median") == 0;
}

/* Seconds in the benchmark's unit; 0 = it is none that Google Benchmark has. */
static double unit_of(json_t *item)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1.0}};
    const char *unit = carm_json_text(item, "time_unit");
    for (size_t i = 0; unit && i < sizeof units / sizeof *units; i++) {
        if (strcmp(unit, units[i].name) == 0) {
            return units[i].seconds;
        }
    }
    return 0.0;
}

/* Counters of rates are for each second of processor time, unless the benchmark says UseRealTime or
 * UseManualTime, which its name shows. */
static bool rates_are_of_real_time(const char *name)
{
    return strstr(name, "/real_time") || strstr(name, "/manual_time");
}

/* A counter for one iteration: as it is, or its rate times the time. */
static int read_counter(struct carm_walk *walk, json_t *item, const char *name, double rate_seconds,
                        size_t line, double *value)
{
    char rate[32];
    int rc = carm_json_number(walk, item, name, line, value);
    if (rc || *value >= 0.0) {
        return rc;
    }
    snprintf(rate, sizeof rate, "%s_per_second", name);
    rc = carm_json_number(walk, item, rate, line, value);
    *value = *value >= 0.0 ? *value * rate_seconds : *value;
    return rc;
}

static int read_google(struct carm_walk *walk, json_t *item, const struct google *google,
                       size_t line)
{
    const char *name = carm_json_text(item, "run_name");
    name = name ? name : carm_json_text(item, "name");
    struct carm_import_row row = carm_import_row(name, line);
    char note[256] = "";
    double cpu = -1.0;
    const double unit = unit_of(item);
    row.counted_by = "Google Benchmark";
    row.host = google->host;
    if (json_is_true(json_object_get(item, "error_occurred")) ||
        json_is_true(json_object_get(item, "skipped"))) {
        const char *why = carm_json_text(item, "error_message");
        why = why ? why : carm_json_text(item, "skip_message");
        snprintf(note, sizeof note, "Google Benchmark skipped it%s%.160s", why ? ": " : "",
                 why ? why : "");
        row.note = note;
        return carm_import_put(walk->in, &row, false, walk->err);
    }
    if (!(unit > 0.0)) {
        return carm_import_bad(walk->in, line, walk->err, "time_unit is ns, us, ms or s");
    }
    int rc = carm_json_number(walk, item, "real_time", line, &row.seconds);
    rc = rc ? rc : carm_json_number(walk, item, "cpu_time", line, &cpu);
    rc = rc ? rc : carm_json_number(walk, item, "threads", line, &row.threads);
    row.seconds *= unit;
    cpu *= unit;
    const double rate_seconds = rates_are_of_real_time(name ? name : "") ? row.seconds : cpu;
    rc = rc ? rc : read_counter(walk, item, "flops", rate_seconds, line, &row.flops);
    rc = rc ? rc : read_counter(walk, item, "bytes", rate_seconds, line, &row.bytes);
    rc = rc ? rc : read_counter(walk, item, "dram_bytes", rate_seconds, line, &row.dram_bytes);
    if (row.flops < 0.0 || row.bytes < 0.0) {
        snprintf(note, sizeof note, "the benchmark has no counter named %s",
                 row.flops >= 0.0   ? "bytes"
                 : row.bytes >= 0.0 ? "flops"
                                    : "flops, and none named bytes");
        row.note = note;
    }
    return rc ? rc : carm_import_put(walk->in, &row, false, walk->err);
}

/* A row for each repetition, or one for their median. */
static bool wanted(const struct carm_import *in, struct google *google, json_t *item,
                   const char *name, bool *no_memory)
{
    const char *run = carm_json_text(item, "run_name");
    uint32_t number = 0;
    const uint32_t before = google->repeated.n;
    run = run ? run : name;
    if (is_aggregate(item, name)) {
        if (!is_median(item)) {
            return false;
        }
        if (!in->runs) {
            return true;
        }
        *no_memory = carm_names_add(&google->repeated, run, strlen(run), &number) != 0;
        return number == before; /* it has no rows of its repetitions */
    }
    if (json_number_value(json_object_get(item, "repetitions")) > 1.0 && !in->runs) {
        return false;
    }
    *no_memory = in->runs && carm_names_add(&google->repeated, run, strlen(run), &number) != 0;
    return true;
}

static int google_item(struct carm_walk *walk, void *arg)
{
    bool no_memory = false;
    carm_walk_peek(walk);
    const size_t line = carm_walk_line(walk);
    json_t *item = carm_walk_value(walk);
    if (!item) {
        return -CARM_EFORMAT;
    }
    const char *name = carm_json_text(item, "name");
    int rc = 0;
    if (!json_is_object(item) || !name) {
        rc = carm_import_bad(walk->in, line, walk->err, "a benchmark without a name");
    } else if (wanted(walk->in, arg, item, name, &no_memory)) {
        rc = read_google(walk, item, arg, line);
    }
    json_decref(item);
    return no_memory ? carm_fail(walk->err, CARM_ENOMEM, "not enough memory to read %.200s",
                                 walk->in->name)
                     : rc;
}

static int google_member(struct carm_walk *walk, const char *key, void *arg)
{
    struct google *google = arg;
    if (strcmp(key, "benchmarks") == 0) {
        return carm_walk_array(walk, google_item, arg);
    }
    json_t *value = carm_walk_value(walk);
    const char *host =
        value && strcmp(key, "context") == 0 ? carm_json_text(value, "host_name") : NULL;
    if (host) {
        carm_text_clean(google->host, sizeof google->host, host, false);
    }
    json_decref(value);
    return value ? 0 : -CARM_EFORMAT;
}

int carm_import_google(struct carm_import *in, struct carm_err *err)
{
    char *text = NULL;
    struct carm_walk walk;
    struct google google = {.host = ""};
    int rc = carm_walk_open(&walk, in, &text, err);
    if (rc) {
        return rc;
    }
    carm_names_open(&google.repeated);
    carm_import_header(in, false);
    rc = carm_walk_object(&walk, google_member, &google);
    carm_names_close(&google.repeated);
    free(text);
    return rc;
}

/* ---- hyperfine ----------------------------------------------------------------------------------- */

struct times {
    double *seconds;
    size_t n, room;
};

static int add_time(struct carm_walk *walk, struct times *times, double seconds)
{
    const int rc = carm_array_grow(&times->seconds, &times->room, times->n, 1,
                                   sizeof *times->seconds, "the times", walk->err);
    if (rc == 0) {
        times->seconds[times->n++] = seconds;
    }
    return rc;
}

/* Of version 1: {"times": [0.25, ...]}; of version 2: {"measurements": [{"time_wall_clock": {"value": 0.25,
 * "unit": "second"}}, ...]}. */
static int read_times(struct carm_walk *walk, json_t *item, struct times *times, size_t line)
{
    json_t *list = json_object_get(item, "times");
    const bool second = !list;
    size_t i;
    json_t *v;
    list = list ? list : json_object_get(item, "measurements");
    json_array_foreach(list, i, v)
    {
        json_t *wall = second ? json_object_get(v, "time_wall_clock") : v;
        const char *unit = second ? carm_json_text(wall, "unit") : "second";
        json_t *value = second ? json_object_get(wall, "value") : v;
        const double seconds = json_number_value(value);
        if (!unit || strcmp(unit, "second") != 0 || !json_is_number(value) || !(seconds > 0.0)) {
            return carm_import_bad(walk->in, line, walk->err,
                                   "time %zu is no number of seconds above zero", i + 1);
        }
        const int rc = add_time(walk, times, seconds);
        if (rc) {
            return rc;
        }
    }
    return 0;
}

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int put_times(struct carm_walk *walk, struct carm_import_row *row, struct times *times)
{
    char note[160];
    int rc = 0;
    if (walk->in->runs && times->n > 0) {
        for (size_t i = 0; i < times->n && !rc; i++) {
            row->seconds = times->seconds[i];
            rc = carm_import_put(walk->in, row, false, walk->err);
        }
        return rc;
    }
    if (times->n > 0) {
        qsort(times->seconds, times->n, sizeof *times->seconds, ascending);
        const size_t half = times->n / 2;
        row->seconds = times->n % 2 ? times->seconds[half]
                                    : (times->seconds[half - 1] + times->seconds[half]) / 2.0;
        snprintf(note, sizeof note,
                 "median of %zu runs, from %.4g to %.4g s; flops and bytes come from --work FILE",
                 times->n, times->seconds[0], times->seconds[times->n - 1]);
        row->note = note;
    }
    rc = carm_import_put(walk->in, row, false, walk->err);
    row->note = NULL;
    return rc;
}

static int hyperfine_item(struct carm_walk *walk, void *arg)
{
    struct times times = {NULL, 0, 0};
    carm_walk_peek(walk);
    const size_t line = carm_walk_line(walk);
    json_t *item = carm_walk_value(walk);
    (void)arg;
    if (!item) {
        return -CARM_EFORMAT;
    }
    const char *name = carm_json_text(item, "name");
    struct carm_import_row row =
        carm_import_row(name ? name : carm_json_text(item, "command"), line);
    row.counted_by = "hyperfine";
    row.note = "hyperfine measures times; flops and bytes come from --work FILE";
    int rc = json_is_object(item) && row.name
                 ? read_times(walk, item, &times, line)
                 : carm_import_bad(walk->in, line, walk->err, "a result without a command");
    if (!rc && times.n == 0) {
        rc = carm_json_number(walk, item, "median", line, &row.seconds);
    }
    rc = rc ? rc : put_times(walk, &row, &times);
    free(times.seconds);
    json_decref(item);
    return rc;
}

static int hyperfine_member(struct carm_walk *walk, const char *key, void *arg)
{
    if (strcmp(key, "results") == 0) {
        return carm_walk_array(walk, hyperfine_item, arg);
    }
    json_t *value = carm_walk_value(walk);
    json_decref(value);
    return value ? 0 : -CARM_EFORMAT;
}

int carm_import_hyperfine(struct carm_import *in, struct carm_err *err)
{
    char *text = NULL;
    struct carm_walk walk;
    int rc = carm_walk_open(&walk, in, &text, err);
    if (rc) {
        return rc;
    }
    carm_import_header(in, false);
    rc = carm_walk_object(&walk, hyperfine_member, NULL);
    free(text);
    return rc;
}
