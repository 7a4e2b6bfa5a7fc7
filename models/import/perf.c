/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The output of perf stat -j: a JSON object for each event, on a line of its own. The recipes of
 * data/counters.json turn events into quantities.
 * source: Linux, tools/perf/Documentation/perf-stat.txt, JSON FORMAT */
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "harness/count/evaluate.h"
#include "harness/count/recipe.h"
#include "models/import/json.h"

enum { EVENTS_MAX = 256, NAME_SIZE = 128 };

struct event {
    char name[NAME_SIZE]; /* normal form */
    bool counted;
    double value, running; /* as scaled by perf; running: per cent of the time */
};

struct stat {
    struct event events[EVENTS_MAX];
    size_t n;
    double elapsed; /* seconds; 0 = unknown */
    bool guessed;   /* elapsed is task-clock over the used processors */
    size_t line;    /* of the first event */
    char name[256]; /* the program's name: from the file's */
    struct carm_recipe *recipe;
    struct form *forms; /* [recipe->nevents] */
    struct carm_err no_recipe;
};

/* The names of a recipe's event in normal form; "" = it has none. */
struct form {
    char papi[NAME_SIZE], likwid[NAME_SIZE];
};

/* FP_ARITH_INST_RETIRED.SCALAR_DOUBLE:u, skx::FP_ARITH_INST_RETIRED:SCALAR_DOUBLE and cpu/fp_arith.../ converted to one
 * form: capitals, '_' between words, no PMU, no modifier. */
static void normal_form(char dst[NAME_SIZE], const char *name)
{
    const char *pmu = strstr(name, "::");
    const char *slash = strchr(name, '/');
    size_t n = 0;
    name = pmu ? pmu + 2 : slash ? slash + 1 : name;
    size_t length = slash && !pmu ? strcspn(name, "/") : strlen(name);
    const char *colon = memchr(name, ':', length);
    if (!pmu && colon && (size_t)(name + length - colon) <= 5 &&
        strspn(colon + 1, "ukhHGpPSDWe") == (size_t)(name + length - colon) - 1) {
        length = (size_t)(colon - name);
    }
    for (size_t i = 0; i < length && n + 1 < NAME_SIZE; i++) {
        dst[n++] = isalnum((unsigned char)name[i]) || name[i] == '=' || name[i] == ','
                       ? (char)toupper((unsigned char)name[i])
                       : '_';
    }
    dst[n] = '\0';
}

/* R01C7, or EVENT=0XC7,UMASK=0X01: event select | umask << 8; 0 = another form */
static unsigned code_of(const char *name)
{
    char *end;
    if (name[0] == 'R' && isxdigit((unsigned char)name[1])) {
        const unsigned long code = strtoul(name + 1, &end, 16);
        return *end == '\0' ? (unsigned)code : 0;
    }
    const char *event = strstr(name, "EVENT=");
    const char *umask = strstr(name, "UMASK=");
    return event && umask
               ? (unsigned)(strtoul(event + 6, NULL, 0) | strtoul(umask + 6, NULL, 0) << 8)
               : 0;
}

/* perf's own names of events of the kernel and of fixed counters that recipes use. */
static const char *general_name(const char *name)
{
    static const char *const general[][2] = {{"INSTRUCTIONS", "instructions"},
                                             {"CYCLES", "cycles"},
                                             {"CPU_CYCLES", "cycles"},
                                             {"REF_CYCLES", "ref_cycles"},
                                             {"PAGE_FAULTS", "page_faults"},
                                             {"FAULTS", "page_faults"},
                                             {"CONTEXT_SWITCHES", "context_switches"}};
    for (size_t i = 0; i < sizeof general / sizeof *general; i++) {
        if (strcmp(name, general[i][0]) == 0) {
            return general[i][1];
        }
    }
    return NULL;
}

static bool is_event(const struct carm_event *e, const struct form *form, const char *name)
{
    const char *general = general_name(name);
    const unsigned code = code_of(name);
    if (general) {
        return strcmp(e->name, general) == 0;
    }
    if (code) {
        return e->scope == CARM_EVENT_THREAD && e->code == code;
    }
    return *name && (strcmp(form->papi, name) == 0 || strcmp(form->likwid, name) == 0);
}

/* Lists the events that the recipe needs, in perf's syntax: "r01c7,r04c7". */
static void needed(const struct carm_recipe *recipe, char *dst, size_t size)
{
    dst[0] = '\0';
    for (size_t i = 0; i < recipe->nevents; i++) {
        const struct carm_event *e = &recipe->events[i];
        if (e->scope == CARM_EVENT_THREAD && e->code && !e->fixed) {
            (void)carm_text_list_whole(dst, size, ",", "r%04x", e->code);
        }
    }
}

static int put_counts(struct carm_import *in, struct stat *s, struct carm_import_row *row,
                      struct carm_counts *counts, struct carm_err *err)
{
    struct carm_reading *readings = calloc(s->recipe->nevents, sizeof *readings);
    char note[512] = "", events[160];
    double values[CARM_Q_COUNT];
    size_t known = 0;
    if (!readings) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to read %.200s", in->name);
    }
    for (size_t i = 0; i < s->recipe->nevents; i++) {
        for (size_t k = 0; k < s->n; k++) {
            const struct event *e = &s->events[k];
            if (e->counted && is_event(&s->recipe->events[i], &s->forms[i], e->name)) {
                /* undoes perf's scaling */
                readings[i] =
                    (struct carm_reading){true, e->value * e->running / 100.0, 100.0, e->running};
                known += s->recipe->events[i].scope == CARM_EVENT_THREAD && !general_name(e->name);
            }
        }
    }
    const int rc = carm_recipe_evaluate(s->recipe, readings, NULL, counts, err);
    free(readings);
    if (rc) {
        return rc;
    }
    if (carm_count_has(counts, CARM_Q_FLOPS)) {
        row->flops = counts->q[CARM_Q_FLOPS].value;
        row->share = counts->q[CARM_Q_FLOPS].share;
    }
    if (carm_count_has(counts, CARM_Q_BYTES)) {
        row->bytes = counts->q[CARM_Q_BYTES].value;
        row->bytes_low = counts->q[CARM_Q_BYTES].low;
        row->bytes_high = counts->q[CARM_Q_BYTES].high;
    }
    if (carm_count_has(counts, CARM_Q_DRAM_BYTES)) {
        row->dram_bytes = counts->q[CARM_Q_DRAM_BYTES].value;
    }
    needed(s->recipe, events, sizeof events);
    snprintf(note, sizeof note, "%srecipe %s%s%s%s%s",
             s->guessed ? "time is task-clock over CPUs in use; " : "", s->recipe->name,
             *counts->note ? ": " : "", counts->note,
             row->flops >= 0.0 ? ""
             : known
                 ? ": not all of its events are in the file: "
                 : ": none of its events is in the file (CARM_UARCH=NAME names another recipe): ",
             row->flops >= 0.0 ? "" : events);
    row->note = note;
    for (int q = 0; q < CARM_Q_COUNT; q++) {
        values[q] = carm_count_has(counts, (enum carm_quantity)q) ? counts->q[q].value : -1.0;
    }
    row->counts = values;
    const int put = carm_import_put(in, row, err);
    row->note = NULL;
    row->counts = NULL;
    return put;
}

/* Ends a run: all its events have been read. */
static int put_run(struct carm_import *in, struct stat *s, struct carm_err *err)
{
    struct carm_counts counts;
    struct carm_import_row row = carm_import_row(s->name, s->line);
    memset(&counts, 0, sizeof counts);
    if (s->n == 0) {
        return 0;
    }
    row.seconds = s->elapsed; /* 0 = unknown */
    row.counted_by = "perf stat";
    row.note = s->no_recipe.text;
    const int rc =
        s->forms ? put_counts(in, s, &row, &counts, err) : carm_import_put(in, &row, err);
    s->n = 0;
    s->elapsed = 0.0;
    s->guessed = false;
    return rc;
}

/* The members of a line. */
enum { EVENT, VALUE, SHARE, UNIT, METRIC_UNIT, METRIC, INTERVAL, PARTS };
static const struct carm_span members[] = {
    CARM_SPAN("event"),    CARM_SPAN("counter-value"), CARM_SPAN("pcnt-running"),
    CARM_SPAN("unit"),     CARM_SPAN("metric-unit"),   CARM_SPAN("metric-value"),
    CARM_SPAN("interval"), CARM_SPAN("core"),          CARM_SPAN("socket"),
    CARM_SPAN("die"),      CARM_SPAN("node"),          CARM_SPAN("thread"),
    CARM_SPAN("cpu"),      CARM_SPAN("cache")};
enum { MEMBERS = sizeof members / sizeof *members };

/* Copies a string without its quotes; perf escapes nothing. returns false for other values */
static bool text_of(const struct carm_span *span, char dst[NAME_SIZE])
{
    const bool is = span->at && *span->at == '"' && span->size >= 2;
    const size_t n = is ? span->size - 2 : 0;
    dst[0] = '\0';
    if (is) {
        snprintf(dst, NAME_SIZE, "%.*s", (int)(n < NAME_SIZE ? n : NAME_SIZE - 1), span->at + 1);
    }
    return is;
}

/* Reads a number, with or without quotes. */
static bool number_of(const struct carm_span *span, double *value)
{
    char text[NAME_SIZE] = "";
    if (span->at && !text_of(span, text) && span->size < NAME_SIZE) {
        memcpy(text, span->at, span->size);
        text[span->size] = '\0';
    }
    return *text && carm_import_number(text, value);
}

/* task-clock's metric "CPUs utilized" is processor time over elapsed time. */
static void read_time(struct stat *s, const struct carm_span *line, const char *name, double value)
{
    double used = 0.0;
    if (strcmp(name, "DURATION_TIME") == 0 && carm_span_is(&line[UNIT], "\"ns\"")) {
        s->elapsed = value * 1e-9;
        s->guessed = false;
    } else if (s->elapsed == 0.0 && strcmp(name, "TASK_CLOCK") == 0 &&
               carm_span_is(&line[UNIT], "\"msec\"") &&
               carm_span_is(&line[METRIC_UNIT], "\"CPUs utilized\"") &&
               number_of(&line[METRIC], &used) && used > 0.0) {
        s->elapsed = value * 1e-3 / used;
        s->guessed = true;
    }
}

static bool has_event(const struct stat *s, const char *name)
{
    for (size_t i = 0; i < s->n; i++) {
        if (strcmp(s->events[i].name, name) == 0) {
            return true;
        }
    }
    return false;
}

static int read_event(struct carm_import *in, struct stat *s, const struct carm_span *line,
                      size_t number, struct carm_err *err)
{
    char name[NAME_SIZE], event[NAME_SIZE], text[NAME_SIZE];
    double value = 0.0;
    if (line[INTERVAL].at) {
        return carm_import_bad(in, number, err,
                               "intervals (perf stat -I) are no point: run perf stat without -I");
    }
    for (size_t i = PARTS; i < MEMBERS; i++) {
        if (line[i].at) {
            return carm_import_bad(
                in, number, err, "counts by %s are no point: run perf stat without --per-%s and -A",
                members[i].at, members[i].at);
        }
    }
    if (!text_of(&line[EVENT], event) || !text_of(&line[VALUE], text)) {
        return line[METRIC].at ? 0 /* another metric of the previous event */
                               : carm_import_bad(in, number, err, "no event of perf stat -j");
    }
    normal_form(name, event);
    if (has_event(s, name)) { /* a repeated event begins the next run (perf stat --append) */
        const int rc = put_run(in, s, err);
        if (rc) {
            return rc;
        }
    }
    if (s->n == EVENTS_MAX) {
        return carm_import_bad(in, number, err, "more than %d events", EVENTS_MAX);
    }
    const bool counted = *text != '<'; /* "<not counted>", "<not supported>" */
    if (counted && !carm_import_number(text, &value)) {
        return carm_import_bad(in, number, err,
                               "counter-value is '%.40s', not a plain number: run perf with "
                               "LC_ALL=C",
                               text);
    }
    s->line = s->n ? s->line : number;
    struct event *e = &s->events[s->n++];
    snprintf(e->name, sizeof e->name, "%s", name);
    e->counted = counted;
    /* perf prints software clocks in milliseconds; recipes take nanoseconds, as the kernel counts */
    e->value = carm_span_is(&line[UNIT], "\"msec\"") ? value * 1e6 : value;
    e->running = 100.0;
    if ((line[SHARE].at && !number_of(&line[SHARE], &e->running)) ||
        !(e->running > 0.0 && e->running <= 100.0)) {
        e->counted = false;
    }
    read_time(s, line, name, value);
    return 0;
}

/* Reads one line without its line end; changes its text. */
static int read_line(struct carm_import *in, struct stat *s, char *line, size_t number,
                     struct carm_err *err)
{
    struct carm_span values[MEMBERS];
    line += strspn(line, " \t");
    size_t n = strlen(line);
    if (!*line || *line == '#') {
        return 0;
    }
    while (n > 0 && strchr(" \t\r", line[n - 1])) {
        line[--n] = '\0';
    }
    /* Linux 6.1 to 6.11 leave a comma behind the last member where an event has no metric */
    char *comma = n > 1 && line[n - 1] == '}' ? line + n - 2 : NULL;
    while (comma && comma > line && *comma == ' ') {
        comma--;
    }
    if (comma && *comma == ',') {
        *comma = ' ';
    }
    if (carm_span_find(line, strlen(line), members, MEMBERS, values)) {
        return read_event(in, s, values, number, err);
    }
    json_error_t error = {.text = ""};
    json_decref(json_loads(line, JSON_REJECT_DUPLICATES, &error)); /* for its message about the
                                                                    * error */
    return carm_import_bad(in, number, err,
                           "no JSON of perf stat: %.120s; write it with LC_ALL=C perf stat -j -o "
                           "FILE",
                           *error.text ? error.text : "no object");
}

/* "runs/solve.json": "solve" */
static void name_of(char *dst, size_t size, const char *path)
{
    const char *slash = strrchr(path, '/');
    snprintf(dst, size, "%s", slash ? slash + 1 : path);
    char *dot = strchr(dst, '.');
    if (dot && dot > dst) {
        *dot = '\0';
    }
}

/* Opens the recipe of this CPU, if there is one. */
static int open_recipe(struct stat *s, struct carm_err *err)
{
    struct carm_cpuid id;
    carm_cpuid_read(&id);
    const int rc = carm_recipe_find(id.vendor, id.family, id.model, &s->recipe, &s->no_recipe);
    if (rc == -CARM_ENOTSUP) {
        return 0; /* the rows' notes give the reason */
    }
    if (rc) {
        *err = s->no_recipe;
        return rc;
    }
    s->forms = calloc(s->recipe->nevents + 1, sizeof *s->forms);
    for (size_t i = 0; s->forms && i < s->recipe->nevents; i++) {
        normal_form(s->forms[i].papi, s->recipe->events[i].papi);
        normal_form(s->forms[i].likwid, s->recipe->events[i].likwid);
    }
    return s->forms ? 0 : carm_fail(err, CARM_ENOMEM, "not enough memory for a recipe");
}

int carm_import_perf(struct carm_import *in, struct carm_err *err)
{
    char *line = NULL;
    size_t number = 0;
    struct stat *s = calloc(1, sizeof *s);
    if (!s) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to read %.200s", in->name);
    }
    name_of(s->name, sizeof s->name, in->name);
    int rc = open_recipe(s, err);
    while (!rc && (rc = carm_csv_line(in->csv, &line, err)) == 1) {
        rc = read_line(in, s, line, ++number, err);
    }
    rc = rc ? rc : put_run(in, s, err);
    carm_recipe_free(s->recipe);
    free(s->forms);
    free(s);
    return rc;
}
