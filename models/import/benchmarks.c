/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results of Google Benchmark (--benchmark_out_format=json) and of hyperfine (--export-json).
 * source: Google Benchmark's docs/user_guide.md, src/json_reporter.cc and src/counter.cc; hyperfine
 *         1.20, src/benchmark/benchmark_result.rs, and the JSON of 2.0 in its tests/snapshots */
#include <gsl/gsl_sort.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/number.h"
#include "base/text.h"
#include "models/import/json.h"

/* Members of a benchmark. */
enum {
    NAME,
    RUN_NAME,
    RUN_TYPE,
    REPETITIONS,
    THREADS,
    AGGREGATE,
    REAL_TIME,
    CPU_TIME,
    TIME_UNIT,
    FLOPS,
    BYTES,
    DRAM_BYTES,
    FLOPS_RATE,
    BYTES_RATE,
    DRAM_BYTES_RATE,
    ERROR,
    ERROR_MESSAGE,
    SKIPPED,
    SKIP_MESSAGE,
    MEMBERS,
};
static const struct carm_span members[MEMBERS] = {
    CARM_SPAN("name"),
    CARM_SPAN("run_name"),
    CARM_SPAN("run_type"),
    CARM_SPAN("repetitions"),
    CARM_SPAN("threads"),
    CARM_SPAN("aggregate_name"),
    CARM_SPAN("real_time"),
    CARM_SPAN("cpu_time"),
    CARM_SPAN("time_unit"),
    CARM_SPAN("flops"),
    CARM_SPAN("bytes"),
    CARM_SPAN("dram_bytes"),
    CARM_SPAN("flops_per_second"),
    CARM_SPAN("bytes_per_second"),
    CARM_SPAN("dram_bytes_per_second"),
    CARM_SPAN("error_occurred"),
    CARM_SPAN("error_message"),
    CARM_SPAN("skipped"),
    CARM_SPAN("skip_message"),
};

struct google {
    struct carm_names repeated; /* benchmarks that have rows of their repetitions */
    char host[256];
    struct carm_span at[MEMBERS]; /* spans of the current benchmark */
    const char *name, *run;       /* run_name, or else name */
    size_t line;
};

/* Whether a benchmark is an aggregate; in old files only its name tells. */
static bool is_aggregate(const struct google *g)
{
    static const char *const ends[] = {"_mean", "_median", "_stddev", "_cv",
                                       "_min",  "_max",    "_BigO",   "_RMS"};
    if (g->at[RUN_TYPE].at) {
        return carm_span_is(&g->at[RUN_TYPE], "\"aggregate\"");
    }
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t n = strlen(g->name), m = strlen(ends[i]);
        if (n > m && strcmp(g->name + n - m, ends[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Seconds of a benchmark's unit; 0 = not a unit of Google Benchmark. */
static double unit_of(const struct carm_span *unit)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"\"ns\"", 1e-9}, {"\"us\"", 1e-6}, {"\"ms\"", 1e-3}, {"\"s\"", 1.0}};
    for (size_t i = 0; unit->at && i < sizeof units / sizeof *units; i++) {
        if (carm_span_is(unit, units[i].name)) {
            return units[i].seconds;
        }
    }
    return 0.0;
}

/* Whether rates are per second of real time: the benchmark's name shows UseRealTime or
 * UseManualTime. Else rates are per second of processor time. */
static bool rates_are_of_real_time(const char *name)
{
    return strstr(name, "/real_time") || strstr(name, "/manual_time");
}

static int number(struct carm_walk *walk, const struct google *g, int member, double *value)
{
    return carm_walk_number(walk, &g->at[member], members[member].at, g->line, value);
}

/* A counter for one iteration: unchanged, or its rate times the time. */
static int read_counter(struct carm_walk *walk, const struct google *g, int member,
                        double rate_seconds, double *value)
{
    int rc = number(walk, g, member, value);
    if (rc || *value >= 0.0) {
        return rc;
    }
    rc = number(walk, g, member - FLOPS + FLOPS_RATE, value);
    *value = *value >= 0.0 ? *value * rate_seconds : *value;
    return rc;
}

/* Adds a row without figures for a skipped or failed benchmark. */
static int put_skipped(struct carm_walk *walk, const struct google *g, struct carm_import_row *row)
{
    char note[256];
    const char *why = NULL;
    const int message = g->at[ERROR_MESSAGE].at ? ERROR_MESSAGE : SKIP_MESSAGE;
    const int rc = carm_walk_text(walk, &g->at[message], g->line, &why);
    snprintf(note, sizeof note, "Google Benchmark skipped it%s%.160s", why ? ": " : "",
             why ? why : "");
    row->note = note;
    const int put = rc ? rc : carm_import_put(walk->in, row, walk->err);
    row->note = NULL;
    return put;
}

static int read_google(struct carm_walk *walk, const struct google *g)
{
    struct carm_import_row row = carm_import_row(g->run, g->line);
    double cpu = -1.0;
    const double unit = unit_of(&g->at[TIME_UNIT]);
    row.counted_by = "Google Benchmark";
    row.host = g->host;
    if (carm_span_is(&g->at[ERROR], "true") || carm_span_is(&g->at[SKIPPED], "true")) {
        return put_skipped(walk, g, &row);
    }
    if (!(unit > 0.0)) {
        return carm_import_bad(walk->in, g->line, walk->err, "time_unit is ns, us, ms or s");
    }
    int rc = number(walk, g, REAL_TIME, &row.seconds);
    rc = rc ? rc : number(walk, g, CPU_TIME, &cpu);
    rc = rc ? rc : number(walk, g, THREADS, &row.threads);
    row.seconds *= unit;
    cpu *= unit;
    const double rate_seconds = rates_are_of_real_time(g->run) ? row.seconds : cpu;
    rc = rc ? rc : read_counter(walk, g, FLOPS, rate_seconds, &row.flops);
    rc = rc ? rc : read_counter(walk, g, BYTES, rate_seconds, &row.bytes);
    rc = rc ? rc : read_counter(walk, g, DRAM_BYTES, rate_seconds, &row.dram_bytes);
    row.note = row.flops >= 0.0 && row.bytes >= 0.0 ? NULL
               : row.flops >= 0.0                   ? "the benchmark has no counter named bytes"
               : row.bytes >= 0.0
                   ? "the benchmark has no counter named flops"
                   : "the benchmark has no counter named flops, and none named bytes";
    return rc ? rc : carm_import_put(walk->in, &row, walk->err);
}

/* Whether a benchmark gives a row: each repetition, or only their median. */
static bool wanted(struct carm_walk *walk, struct google *g, int *rc)
{
    uint32_t at = 0;
    const uint32_t before = g->repeated.n;
    const bool runs = walk->in->runs, aggregate = is_aggregate(g);
    double repetitions = 0.0;
    if (aggregate && !carm_span_is(&g->at[AGGREGATE], "\"median\"")) {
        return false;
    }
    if (!aggregate && !runs) {
        *rc = number(walk, g, REPETITIONS, &repetitions);
        return !(repetitions > 1.0);
    }
    if (runs && carm_names_add(&g->repeated, g->run, strlen(g->run), &at)) {
        *rc = carm_fail(walk->err, CARM_ENOMEM, "not enough memory to read %.200s", walk->in->name);
    }
    return !aggregate || !runs || at == before; /* the benchmark has no rows of its repetitions */
}

static int google_item(struct carm_walk *walk, void *arg)
{
    struct google *g = arg;
    carm_walk_peek(walk);
    g->line = carm_walk_line(walk);
    int rc = carm_walk_members(walk, members, MEMBERS, g->at);
    rc = rc ? rc : carm_walk_text(walk, &g->at[NAME], g->line, &g->name);
    rc = rc ? rc : carm_walk_text(walk, &g->at[RUN_NAME], g->line, &g->run);
    if (rc) {
        return rc;
    }
    if (!g->name) {
        return carm_import_bad(walk->in, g->line, walk->err, "a benchmark without a name");
    }
    g->run = g->run ? g->run : g->name;
    const bool put = wanted(walk, g, &rc);
    return rc || !put ? rc : read_google(walk, g);
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
    struct carm_walk walk;
    struct google google = {.host = ""};
    int rc = carm_walk_open(&walk, in, err);
    carm_names_open(&google.repeated);
    if (!rc) {
        rc = carm_walk_object(&walk, google_member, &google);
    }
    carm_names_close(&google.repeated);
    carm_walk_close(&walk);
    return rc;
}

struct times {
    double *seconds;
    size_t n, room;
};

static int add_time(struct carm_walk *walk, struct times *times, double seconds)
{
    return carm_array_append(&times->seconds, &times->room, &times->n, &seconds, sizeof seconds,
                             "the times", walk->err);
}

/* A time of version 1: {"times": [0.25, ...]}; of version 2: {"measurements": [{"time_wall_clock": {"value": 0.25,
 * "unit": "second"}}, ...]}. */
static bool read_time(const struct carm_span *item, bool second, double *seconds)
{
    static const struct carm_span wall = CARM_SPAN("time_wall_clock");
    static const struct carm_span names[] = {CARM_SPAN("value"), CARM_SPAN("unit")};
    struct carm_span of, at[2] = {*item, {NULL, 0}};
    if (second &&
        (!carm_span_find(item->at, item->size, &wall, 1, &of) || !of.at ||
         !carm_span_find(of.at, of.size, names, 2, at) || !carm_span_is(&at[1], "\"second\""))) {
        return false;
    }
    return at->at && carm_number_scan(at->at, seconds) == at->at + at->size && *seconds > 0.0 &&
           isfinite(*seconds);
}

static int read_times(struct carm_walk *walk, const struct carm_span *list, bool second,
                      struct times *times, size_t line)
{
    if (!list->at) {
        return 0; /* no list of times */
    }
    struct carm_scan s = {list->at, list->at + list->size};
    struct carm_span item;
    bool first = true;
    int more = carm_scan_take(&s, '[') ? carm_scan_next(&s, &first, ']') : 0;
    for (; more > 0; more = carm_scan_next(&s, &first, ']')) {
        double seconds = 0.0;
        if (!carm_scan_value(&s, &item) || !read_time(&item, second, &seconds)) {
            return carm_import_bad(walk->in, line, walk->err,
                                   "time %zu is no number of seconds above zero", times->n + 1);
        }
        const int rc = add_time(walk, times, seconds);
        if (rc) {
            return rc;
        }
    }
    return more == 0 ? 0
                     : carm_import_bad(walk->in, line, walk->err, "no JSON: a list does not end");
}

static int put_times(struct carm_walk *walk, struct carm_import_row *row, struct times *times)
{
    char note[160], least[CARM_NUMBER_MAX], most[CARM_NUMBER_MAX], n[CARM_NUMBER_MAX];
    int rc = 0;
    if (walk->in->runs && times->n > 0) {
        for (size_t i = 0; i < times->n && !rc; i++) {
            row->seconds = times->seconds[i];
            rc = carm_import_put(walk->in, row, walk->err);
        }
        return rc;
    }
    if (times->n > 0) {
        gsl_sort(times->seconds, 1, times->n);
        row->seconds = gsl_stats_median_from_sorted_data(times->seconds, 1, times->n);
        row->note = carm_text_format(
            note, sizeof note,
            "median of %s runs, from %s to %s s; flops and bytes come from --work FILE",
            carm_number_exact(n, (double)times->n), carm_number_digits(least, times->seconds[0], 4),
            carm_number_digits(most, times->seconds[times->n - 1], 4));
    }
    rc = carm_import_put(walk->in, row, walk->err);
    row->note = NULL;
    return rc;
}

static int hyperfine_item(struct carm_walk *walk, void *arg)
{
    enum { COMMAND, MEDIAN, TIMES, ITS_NAME, MEASUREMENTS, ALL };
    static const struct carm_span names[ALL] = {CARM_SPAN("command"), CARM_SPAN("median"),
                                                CARM_SPAN("times"), CARM_SPAN("name"),
                                                CARM_SPAN("measurements")};
    struct carm_span at[ALL];
    struct times *times = arg;
    const char *name = NULL;
    carm_walk_peek(walk);
    const size_t line = carm_walk_line(walk);
    int rc = carm_walk_members(walk, names, ALL, at);
    rc = rc ? rc : carm_walk_text(walk, &at[at[ITS_NAME].at ? ITS_NAME : COMMAND], line, &name);
    struct carm_import_row row = carm_import_row(name, line);
    row.counted_by = "hyperfine";
    row.note = "hyperfine measures times; flops and bytes come from --work FILE";
    if (!rc && !name) {
        rc = carm_import_bad(walk->in, line, walk->err, "a result without a command");
    }
    const bool second = !at[TIMES].at;
    times->n = 0;
    rc = rc ? rc : read_times(walk, &at[second ? MEASUREMENTS : TIMES], second, times, line);
    if (!rc && times->n == 0) {
        rc = carm_walk_number(walk, &at[MEDIAN], "median", line, &row.seconds);
    }
    return rc ? rc : put_times(walk, &row, times);
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
    struct carm_walk walk;
    struct times times = {NULL, 0, 0};
    int rc = carm_walk_open(&walk, in, err);
    if (!rc) {
        rc = carm_walk_object(&walk, hyperfine_member, &times);
    }
    free(times.seconds);
    carm_walk_close(&walk);
    return rc;
}
