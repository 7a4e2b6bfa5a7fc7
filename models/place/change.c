/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/place/change.h"

#include <fnmatch.h>
#include <gsl/gsl_cdf.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "models/place/runtime.h"

/* Smallest error of performance counters, as a share (models/count_check.h). */
static const double counter_error = 0.01;

enum { COUNTS = CARM_CHANGE_KINDS - CARM_CHANGE_VECTOR_SHARE };

/* Texts of more bytes name no ISA and no level. */
enum { WORD_MAX = 15 };

/* All runs of one name in one file. There may be millions. */
struct side {
    double sum, squares;   /* of the logarithms of times */
    double counts[COUNTS]; /* of the first run, like all members below; by kind from
                      * CARM_CHANGE_VECTOR_SHARE on */
    double share[2];       /* share of the roofs; negative = no place */
    double ran;            /* carm_point_ran_seconds over the run's seconds */
    uint32_t runs, timed;
    uint32_t isa, precision, rank, bound, asks_for; /* numbers of words */
    int threads;
    bool exact;
    bool simulated; /* the bytes of the levels are simulated */
    bool balanced;  /* multiplies and adds are balanced by nature */
    bool summed;    /* the sum of the rows of loops or functions */
    uint8_t part;   /* enum part */
    uint32_t run;   /* the last run that includes the row */
    bool varies[COUNTS];
};

/* Rows of `carm run` without --whole. */
enum part {
    NO_PART, /* a program, a region */
    LOOP,
    OTHERS, /* all loops of the run without a row of their own */
    PART,   /* a function, the kernel */
};

/* The program whose rows are being summed. */
struct whole {
    uint32_t number; /* of its name */
    uint32_t run;    /* the run of these rows, from 1; 0 = nothing is being summed */
    struct carm_point sum;
    char pid[24], host[72], rank[WORD_MAX + 1], asks_for[192];
};

struct pair {
    struct side side[2];
    uint32_t function; /* for a row of a loop or function: the word of the function's name; else
                        * 0 */
    double half;       /* half the 95% interval of log(time) */
};

struct carm_changes {
    struct carm_names names;
    struct carm_names words; /* ISAs, precisions, ranks, levels */
    struct pair *pairs;      /* by number of the name */
    size_t room;
    double noise;
    bool unended[2];
    uint32_t run;        /* run whose rows were summed last */
    uint32_t *listed[3]; /* names of the first file alone, of the second alone, of both */
    size_t nlisted[3];
};
enum { BOTH = 2 };

/* ---- names ---- */

static const char *const names[CARM_CHANGE_KINDS] = {
    "time",  "performance", "intensity", "aware_share", "original_share", "vector_share", "flops",
    "bytes", "l2_bytes",    "l3_bytes",  "dram_bytes",  "instructions",   "allocations"};

const char *carm_change_name(enum carm_change_kind kind)
{
    return names[kind];
}

enum carm_change_kind carm_change_find(const char *name, size_t length)
{
    size_t k = 0;
    while (k < CARM_CHANGE_KINDS &&
           (strlen(names[k]) != length || memcmp(names[k], name, length) != 0)) {
        k++;
    }
    return (enum carm_change_kind)k;
}

const char *carm_change_verdict_name(enum carm_change_verdict verdict)
{
    static const char *const words[] = {"unknown", "unjudged", "equal", "different"};
    return words[verdict];
}

/* ---- rows ---- */

/* The share of the flops in vectors; negative where a width is not known. */
static double vector_share(const struct carm_point *p)
{
    double vectors = 0.0, all = 0.0;
    for (int i = CARM_RUNMIX_DP; i < CARM_RUNMIX_COUNT; i++) {
        const double q = p->mix.q[i];
        if (q < 0.0) {
            return -1.0;
        }
        all += q;
        vectors += i == CARM_RUNMIX_DP || i == CARM_RUNMIX_SP ? 0.0 : q;
    }
    return all > 0.0 ? vectors / all : -1.0;
}

static double count_of(const struct carm_point *p, enum carm_change_kind kind)
{
    return kind == CARM_CHANGE_FLOPS          ? p->flops
           : kind == CARM_CHANGE_BYTES        ? p->bytes
           : kind == CARM_CHANGE_L2_BYTES     ? p->level_bytes[0]
           : kind == CARM_CHANGE_L3_BYTES     ? p->level_bytes[1]
           : kind == CARM_CHANGE_DRAM_BYTES   ? p->dram_bytes
           : kind == CARM_CHANGE_INSTRUCTIONS ? p->mix.q[CARM_RUNMIX_INSTRUCTIONS]
           : kind == CARM_CHANGE_ALLOCATIONS  ? p->mix.q[CARM_RUNMIX_ALLOCATIONS]
                                              : vector_share(p);
}

static bool is_exact(const char *counted_by)
{
    return strcmp(counted_by, "stepped") == 0 || strcmp(counted_by, "translated") == 0 ||
           strcmp(counted_by, "constructed") == 0;
}

static int add_word(struct carm_changes *c, const char *text, uint32_t *word)
{
    return carm_names_add(&c->words, text, strnlen(text, WORD_MAX), word);
}

static int begin_side(struct carm_changes *c, struct side *s, const struct carm_point *p)
{
    for (int k = 0; k < COUNTS; k++) {
        s->counts[k] = count_of(p, (enum carm_change_kind)(CARM_CHANGE_VECTOR_SHARE + k));
    }
    s->threads = p->threads;
    s->exact = is_exact(p->counted_by);
    s->simulated = strcmp(p->levels_by, "simulated") == 0;
    s->balanced = carm_runmix_is_balanced(&p->mix);
    s->share[0] = s->share[1] = -1.0;
    s->ran = carm_point_knows(p->seconds) ? carm_point_ran_seconds(p) / p->seconds : 1.0;
    return add_word(c, p->isa, &s->isa) || add_word(c, p->precision, &s->precision) ||
           add_word(c, p->rank, &s->rank) || add_word(c, "", &s->bound) ||
           carm_names_add(&c->words, p->asks_for, strlen(p->asks_for), &s->asks_for);
}

static int add_row(struct carm_changes *c, struct side *s, const struct carm_point *p)
{
    if (s->runs++ == 0 && begin_side(c, s, p)) {
        return -CARM_ENOMEM;
    }
    for (int k = 0; k < COUNTS; k++) {
        s->varies[k] =
            s->varies[k] ||
            count_of(p, (enum carm_change_kind)(CARM_CHANGE_VECTOR_SHARE + k)) != s->counts[k];
    }
    if (carm_point_knows(p->seconds)) {
        const double log_time = log(p->seconds);
        s->timed++;
        s->sum += log_time;
        s->squares += log_time * log_time;
    }
    return 0;
}

/* The pair with a name, created if missing. */
static int find_pair(struct carm_changes *c, const char *name, size_t length, uint32_t *number,
                     struct carm_err *err)
{
    const size_t before = c->names.n;
    int rc = carm_names_add(&c->names, name, length, number)
                 ? carm_fail(err, CARM_ENOMEM, "not enough memory to compare points")
                 : 0;
    if (!rc && *number == before) {
        rc = carm_array_grow(&c->pairs, &c->room, before, 1, sizeof *c->pairs, "the points", err);
        if (!rc) {
            memset(&c->pairs[*number], 0, sizeof *c->pairs);
        }
    }
    return rc;
}

static int put_row(struct carm_changes *c, int file, uint32_t number, const struct carm_point *p,
                   struct carm_err *err)
{
    struct side *s = &c->pairs[number].side[file];
    if (s->runs && strncmp(carm_names_text(&c->words, s->rank), p->rank, WORD_MAX) != 0) {
        return carm_fail(err, CARM_EINVAL,
                         "rows of several ranks are no repeated runs: carm place --by job --csv "
                         "sums them");
    }
    return add_row(c, s, p) ? carm_fail(err, CARM_ENOMEM, "not enough memory to compare points")
                            : 0;
}

static enum part part_of(const char *kind)
{
    return !*kind                        ? NO_PART
           : strcmp(kind, "loop") == 0   ? LOOP
           : strcmp(kind, "others") == 0 ? OTHERS
                                         : PART;
}

/* Adds the sum of a run's rows as a row of the program. */
static int end_whole(struct carm_changes *c, struct whole *w, int file, struct carm_err *err)
{
    int rc = 0;
    if (w->run && *w->sum.name) { /* not if only the kernel had a row */
        rc = put_row(c, file, w->number, &w->sum, err);
        c->pairs[w->number].side[file].summed = true;
    }
    w->run = 0;
    return rc;
}

static void add_known(double *sum, double v)
{
    *sum = carm_point_knows(*sum) && carm_point_knows(v) ? *sum + v : CARM_POINT_UNKNOWN;
}

/* Adds a row of a loop or function to its program. The counts of all rows of a run add up to the program's counts,
 * whichever loops have rows by the samples. Rows of one process and host are of one run; with --repeat each row is
 * repeated with another time.
 * part   the number of the row's name
 * length length of the program's name, with which the row's name begins */
static int add_part(struct carm_changes *c, struct whole *w, int file, const struct carm_point *p,
                    size_t length, uint32_t part, struct carm_err *err)
{
    uint32_t number = 0;
    int rc = find_pair(c, p->name, length, &number, err);
    if (rc) {
        return rc;
    }
    const bool same = w->run && w->number == number &&
                      strncmp(w->pid, p->pid, sizeof w->pid - 1) == 0 &&
                      strncmp(w->host, p->host, sizeof w->host - 1) == 0 &&
                      strncmp(w->rank, p->rank, sizeof w->rank - 1) == 0;
    rc = same ? 0 : end_whole(c, w, file, err);
    if (rc) {
        return rc;
    }
    struct side *s = &c->pairs[part].side[file];
    if (same && s->run == w->run) {
        return 0;
    }
    if (!same) {
        *w = (struct whole){.number = number, .run = ++c->run, .sum = carm_point_blank()};
        snprintf(w->pid, sizeof w->pid, "%s", p->pid);
        snprintf(w->host, sizeof w->host, "%s", p->host);
        snprintf(w->rank, sizeof w->rank, "%s", p->rank);
        w->sum.rank = w->rank;
    }
    s->run = w->run;
    if (strcmp(p->kind, "kernel") == 0) { /* has only a time */
        return 0;
    }
    if (!*w->sum.name) {
        w->sum = *p;
        w->sum.name = "whole";
        w->sum.seconds = CARM_POINT_UNKNOWN; /* samples of processor time do not include waiting */
        w->sum.isa = w->sum.precision = "";
        w->sum.counted_by = is_exact(p->counted_by) ? "translated" : "";
        w->sum.levels_by = strcmp(p->levels_by, "simulated") == 0 ? "simulated" : "";
        w->sum.rank = w->rank;
        snprintf(w->asks_for, sizeof w->asks_for, "%s", p->asks_for);
        w->sum.asks_for = w->asks_for;
        return 0;
    }
    add_known(&w->sum.flops, p->flops);
    add_known(&w->sum.bytes, p->bytes);
    add_known(&w->sum.dram_bytes, p->dram_bytes);
    for (int i = 0; i < 2; i++) {
        add_known(&w->sum.level_bytes[i], p->level_bytes[i]);
    }
    for (int i = 0; i < CARM_RUNMIX_COUNT; i++) {
        add_known(&w->sum.mix.q[i], p->mix.q[i]);
    }
    w->sum.counted_by = is_exact(p->counted_by) ? w->sum.counted_by : "";
    return 0;
}

static int read_file(struct carm_changes *c, int file, const struct carm_changes_file *from,
                     const char *only, struct carm_err *err)
{
    struct carm_point p;
    struct whole whole = {.run = 0};
    struct carm_err why = {""};
    int rc = 0;
    while (rc == 0 && (rc = from->next(from->points, &p, err)) == 1) {
        uint32_t number = 0;
        const enum part part = part_of(p.kind);
        const char *colon = part ? strstr(p.name, ": ") : NULL;
        char program[256];
        rc = 0;
        c->unended[file] = p.unended;
        snprintf(program, sizeof program, "%.*s", colon ? (int)(colon - p.name) : 0, p.name);
        const bool summed = colon && (!only || fnmatch(only, program, 0) == 0);
        const bool listed = !only || fnmatch(only, p.name, 0) == 0;
        if (!summed && !listed) {
            continue;
        }
        if (summed) { /* the program's own row is before its parts */
            rc = find_pair(c, p.name, strlen(program), &number, &why);
        }
        rc = rc ? rc : find_pair(c, p.name, strlen(p.name), &number, &why);
        if (!rc && summed) {
            rc = add_part(c, &whole, file, &p, strlen(program), number, &why);
        }
        if (!rc) {
            c->pairs[number].side[file].part = (uint8_t)part;
            rc = listed ? put_row(c, file, number, &p, &why) : 0;
        }
    }
    rc = rc ? rc : end_whole(c, &whole, file, &why);
    if (rc < 0 && why.text[0]) {
        return carm_fail(err, (enum carm_error)(-rc), "%.200s: %.300s", from->path, why.text);
    }
    return rc < 0 ? rc : 0;
}

/* ---- loops and functions that moved ---- */

/* A loop or function, with the place in its name. */
struct loop {
    uint32_t number;     /* of its name */
    uint32_t key;        /* word of the name without the place */
    uint32_t function;   /* the word of its function's name */
    unsigned long place; /* address of a function without a name, or of several functions with one
                          * name */
    unsigned long line, offset;
};

static int by_place(const void *a, const void *b)
{
    const struct loop *x = a, *y = b;
    const unsigned long p[] = {x->key, x->place, x->line, x->offset, x->number};
    const unsigned long q[] = {y->key, y->place, y->line, y->offset, y->number};
    for (size_t i = 0; i < sizeof p / sizeof *p; i++) {
        if (p[i] != q[i]) {
            return p[i] < q[i] ? -1 : 1;
        }
    }
    return 0;
}

/* The part of a row's name behind the program's name. */
static const char *function_of(const char *name)
{
    const char *colon = strstr(name, ": ");
    return colon ? colon + strlen(": ") : name;
}

/* Reads the place at the end of a function's name: "app+0x1234" or "init +0x1234". returns the end of the name without
 * the place */
static const char *read_place(const char *name, const char *end, unsigned long *place)
{
    const char *at = end;
    while (at > name && strchr("0123456789abcdef", at[-1])) {
        at--;
    }
    *place = 0;
    if (at == end || at - name < 3 || strncmp(at - 3, "+0x", 3) != 0) {
        return end;
    }
    *place = strtoul(at, NULL, 16);
    at -= 3;
    return at > name && at[-1] == ' ' ? at - 1 : at;
}

/* "bench: sum in main loop solve.c:42 +0x90 [libx.so]", "bench: app+0x1234": the key is the text without the places;
 * the function is "main [libx.so]" and "app". returns 0 or -CARM_ENOMEM */
static int read_loop(struct carm_changes *c, uint32_t number, struct loop *loop)
{
    static const char word[] = " loop ";
    char key[512];
    const char *name = carm_names_text(&c->names, number), *at = NULL;
    for (const char *next = strstr(name, word); next; next = strstr(next + 1, word)) {
        at = next;
    }
    const char *library = strstr(at ? at : name, " [");
    const char *offset = at ? strstr(at, " +0x") : NULL;
    const char *end = offset ? offset : library ? library : name + strlen(name);
    const char *colon = end;
    while (at && colon > at && *colon != ':') {
        colon--;
    }
    *loop = (struct loop){.number = number};
    loop->line = at && colon > at ? strtoul(colon + 1, NULL, 10) : 0;
    loop->offset = offset ? strtoul(offset + 2, NULL, 16) : 0;
    const char *behind = read_place(name, at ? at : end, &loop->place);
    snprintf(key, sizeof key, "%.*s%s", (int)(behind - name), name, library ? library : "");
    const char *function = function_of(key), *in = strstr(function, " in ");
    function = in ? in + strlen(" in ") : function;
    if (carm_names_add(&c->words, function, strlen(function), &loop->function)) {
        return -CARM_ENOMEM;
    }
    const size_t used = strlen(key);
    snprintf(key + used, sizeof key - used, "%s", at ? word : "");
    return carm_names_add(&c->words, key, strlen(key), &loop->key) ? -CARM_ENOMEM : 0;
}

/* Matches the n loops of one function, or functions of one name, by their order, if both files have the same number of
 * them. Pairs that become empty are not listed. */
static void match_function(struct carm_changes *c, const struct loop *loops, size_t n)
{
    size_t has[2] = {0, 0}, at = 0;
    for (size_t i = 0; i < n; i++) {
        for (int k = 0; k < 2; k++) {
            has[k] += c->pairs[loops[i].number].side[k].runs > 0;
        }
    }
    if (has[0] != has[1] || has[0] == n) {
        return;
    }
    struct side *second = calloc(n, sizeof *second);
    if (!second) {
        return;
    }
    for (size_t i = 0, k = 0; i < n; i++) {
        struct side *s = &c->pairs[loops[i].number].side[1];
        if (s->runs) {
            second[k++] = *s;
        }
        *s = (struct side){.runs = 0};
    }
    for (size_t i = 0; i < n; i++) {
        struct pair *p = &c->pairs[loops[i].number];
        if (p->side[0].runs) {
            p->side[1] = second[at++];
        }
    }
    free(second);
}

static bool is_code(const struct side *s)
{
    return s->part == LOOP || s->part == PART;
}

static int match_loops(struct carm_changes *c, struct carm_err *err)
{
    size_t n = 0;
    int rc = 0;
    struct loop *loops = calloc(c->names.n + 1, sizeof *loops);
    for (uint32_t i = 0; loops && !rc && i < c->names.n; i++) {
        struct pair *p = &c->pairs[i];
        if (is_code(&p->side[0]) || is_code(&p->side[1])) {
            rc = read_loop(c, i, &loops[n]);
            p->function = loops[n++].function;
        }
    }
    if (!loops || rc) {
        free(loops);
        return carm_fail(err, CARM_ENOMEM, "not enough memory to compare points");
    }
    qsort(loops, n, sizeof *loops, by_place);
    for (size_t i = 0, k; i < n; i = k) {
        for (k = i + 1; k < n && loops[k].key == loops[i].key; k++) {
        }
        match_function(c, &loops[i], k - i);
    }
    free(loops);
    return 0;
}

/* ---- judging ---- */

double carm_change_interval(const double sum[2], const double squares[2], const size_t runs[2],
                            size_t comparisons)
{
    double variance = 0.0, freedom = 0.0;
    for (int i = 0; i < 2; i++) {
        const double n = (double)runs[i];
        const double of_mean = fmax(squares[i] - sum[i] * sum[i] / n, 0.0) / (n - 1.0) / n;
        variance += of_mean;
        freedom += of_mean * of_mean / (n - 1.0);
    }
    /* only rounding errors of the squares: equal times have no scatter */
    if (!(variance > 1e-24)) {
        return 0.0;
    }
    return sqrt(variance) * gsl_cdf_tdist_Qinv(0.025 / (double)(comparisons ? comparisons : 1),
                                               fmax(variance * variance / freedom, 1.0));
}

static bool known(const struct carm_change_value *v)
{
    return v->value[0] >= 0.0 && v->value[1] >= 0.0;
}

static void put_change(struct carm_change_value *v, enum carm_change_kind kind)
{
    const bool share = kind >= CARM_CHANGE_AWARE_SHARE && kind <= CARM_CHANGE_VECTOR_SHARE;
    if (share) {
        v->change = known(v) ? v->value[1] - v->value[0] : 0.0;
        return;
    }
    v->change = !known(v)                    ? 0.0
                : v->value[0] == v->value[1] ? 0.0
                : v->value[0] > 0.0          ? v->value[1] / v->value[0] - 1.0
                                             : INFINITY;
}

/* The geometric mean of the runs' times; negative = unknown. */
static double time_of(const struct side *s)
{
    return s->timed ? exp(s->sum / (double)s->timed) : -1.0;
}

static void judge_time(const struct pair *p, double noise, struct carm_change *change)
{
    struct carm_change_value *v = &change->values[CARM_CHANGE_TIME];
    for (int i = 0; i < 2; i++) {
        v->value[i] = time_of(&p->side[i]);
    }
    put_change(v, CARM_CHANGE_TIME);
    v->error = -1.0;
    if (!known(v)) {
        v->verdict = CARM_CHANGE_UNKNOWN;
    } else if (p->side[0].timed < 2 || p->side[1].timed < 2) {
        v->verdict = CARM_CHANGE_UNJUDGED;
    } else {
        static const double widest =
            0.5; /* largest half width of a useful interval, as a share; chosen by hand */
        const double logs = fabs(log1p(v->change));
        v->error = (1.0 + v->change) * expm1(p->half);
        v->verdict = logs > p->half && logs > log1p(noise) ? CARM_CHANGE_DIFFERENT
                     : p->half > log1p(widest)             ? CARM_CHANGE_UNJUDGED
                                                           : CARM_CHANGE_EQUAL;
    }
}

static void judge_count(const struct pair *p, enum carm_change_kind kind,
                        struct carm_change *change)
{
    struct carm_change_value *v = &change->values[kind];
    for (int i = 0; i < 2; i++) {
        v->value[i] = p->side[i].counts[kind - CARM_CHANGE_VECTOR_SHARE];
        v->varies = v->varies || p->side[i].varies[kind - CARM_CHANGE_VECTOR_SHARE];
    }
    put_change(v, kind);
    /* the addresses of memory decide which lines share a set of the simulated caches */
    const bool simulated = (p->side[0].simulated || p->side[1].simulated) &&
                           (kind == CARM_CHANGE_L2_BYTES || kind == CARM_CHANGE_L3_BYTES ||
                            kind == CARM_CHANGE_DRAM_BYTES);
    const bool exact = change->exact && !v->varies && !simulated;
    v->error = exact ? 0.0 : -1.0;
    v->verdict = !known(v)                                         ? CARM_CHANGE_UNKNOWN
                 : fabs(v->change) > (exact ? 0.0 : counter_error) ? CARM_CHANGE_DIFFERENT
                                                                   : CARM_CHANGE_EQUAL;
}

/* Judges quantities derived from times and counts, by the errors of these. */
static void judge_rest(struct carm_change *change, enum carm_change_kind kind,
                       const double value[2])
{
    struct carm_change_value *v = &change->values[kind];
    const struct carm_change_value *time = &change->values[CARM_CHANGE_TIME];
    memcpy(v->value, value, sizeof v->value);
    put_change(v, kind);
    v->error = -1.0;
    v->verdict = !known(v) ? CARM_CHANGE_UNKNOWN
                 : kind == CARM_CHANGE_INTENSITY
                     ? fabs(v->change) > (change->exact ? 0.0 : counter_error)
                           ? CARM_CHANGE_DIFFERENT
                           : CARM_CHANGE_EQUAL
                 : time->verdict == CARM_CHANGE_UNJUDGED              ? CARM_CHANGE_UNJUDGED
                 : fabs(v->change) > fmax(time->error, counter_error) ? CARM_CHANGE_DIFFERENT
                                                                      : CARM_CHANGE_EQUAL;
}

/* The name of a point's bound: the slowest level that allows its performance, or computation. */
static const char *bound_of(const struct carm_place *place)
{
    if (place->over || place->bound == CARM_BOUND_COMPUTE) {
        return place->over ? "above the roof" : "compute";
    }
    for (size_t i = 0; i < place->nceilings; i++) {
        const struct carm_ceiling *c = &place->ceilings[i];
        if (!c->compute && c->at * (1.0 + CARM_PLACE_TOLERANCE) >= place->performance) {
            return c->name;
        }
    }
    return "";
}

static double count(const struct side *s, enum carm_change_kind kind)
{
    return s->counts[kind - CARM_CHANGE_VECTOR_SHARE];
}

/* returns 0 or -CARM_ENOMEM */
static int place_side(struct carm_changes *c, struct side *s, struct carm_place_choices *choices,
                      struct carm_placed *placed)
{
    struct carm_place_choice choice;
    struct carm_point point = carm_point_blank();
    point.isa = carm_names_text(&c->words, s->isa);
    point.precision = carm_names_text(&c->words, s->precision);
    point.threads = s->threads;
    point.flops = count(s, CARM_CHANGE_FLOPS);
    point.bytes = count(s, CARM_CHANGE_BYTES);
    point.dram_bytes = count(s, CARM_CHANGE_DRAM_BYTES);
    point.seconds = s->ran * time_of(s);
    if (s->balanced) { /* here only the mix's balance of multiplies and adds matters */
        point.mix.q[CARM_RUNMIX_ADDS] = point.mix.q[CARM_RUNMIX_MULS] = 1.0;
    }
    carm_place_choose(choices, &point, &choice);
    carm_placed_places(placed, &point, &choice, carm_point_unplaced(&point), "", false);
    for (int which = 0; which < 2; which++) {
        s->share[which] = placed->has[which] ? placed->place[which].share : -1.0;
    }
    return placed->has[0] || placed->has[1]
               ? add_word(c, bound_of(&placed->place[placed->has[0] ? 0 : 1]), &s->bound)
               : 0;
}

bool carm_changes_get(const struct carm_changes *changes, size_t i, struct carm_change *out)
{
    double performance[2], intensity[2];
    if (i >= changes->nlisted[BOTH]) {
        return false;
    }
    const uint32_t name = changes->listed[BOTH][i];
    const struct pair *p = &changes->pairs[name];
    *out = (struct carm_change){.name = carm_names_text(&changes->names, name),
                                .exact = p->side[0].exact && p->side[1].exact,
                                .part = p->side[0].part != NO_PART,
                                .summed = p->side[0].summed || p->side[1].summed};
    for (int side = 0; side < 2 && !(out->asks_for && *out->asks_for); side++) {
        out->asks_for = carm_names_text(&changes->words, p->side[side].asks_for);
    }
    judge_time(p, changes->noise, out);
    for (int k = CARM_CHANGE_VECTOR_SHARE; k < CARM_CHANGE_KINDS; k++) {
        judge_count(p, (enum carm_change_kind)k, out);
    }
    for (int side = 0; side < 2; side++) {
        const struct side *s = &p->side[side];
        const double flops = count(s, CARM_CHANGE_FLOPS), bytes = count(s, CARM_CHANGE_BYTES);
        const double seconds = s->ran * out->values[CARM_CHANGE_TIME].value[side];
        out->runs[side] = s->runs;
        out->bound[side] = carm_names_text(&changes->words, s->bound);
        performance[side] = flops > 0.0 && seconds > 0.0 ? flops / seconds : -1.0;
        intensity[side] = flops > 0.0 && bytes > 0.0 ? flops / bytes : -1.0;
    }
    judge_rest(out, CARM_CHANGE_PERFORMANCE, performance);
    judge_rest(out, CARM_CHANGE_INTENSITY, intensity);
    judge_rest(out, CARM_CHANGE_AWARE_SHARE, (double[2]){p->side[0].share[0], p->side[1].share[0]});
    judge_rest(out, CARM_CHANGE_ORIGINAL_SHARE,
               (double[2]){p->side[0].share[1], p->side[1].share[1]});
    for (int k = 0; k < CARM_CHANGE_KINDS && p->side[0].part == OTHERS; k++) {
        out->values[k].verdict = CARM_CHANGE_UNKNOWN; /* the row has other loops in each run */
    }
    return true;
}

/* Lists the names by the files in which they occur.
 * judged  out: number of names with several times in both files */
static int list_names(struct carm_changes *c, size_t *judged, struct carm_err *err)
{
    *judged = 0;
    for (int k = 0; k < 3; k++) {
        c->listed[k] = calloc(c->names.n + 1, sizeof **c->listed);
        if (!c->listed[k]) {
            return carm_fail(err, CARM_ENOMEM, "not enough memory to compare points");
        }
    }
    for (uint32_t i = 0; i < c->names.n; i++) {
        const struct pair *p = &c->pairs[i];
        const int k = !p->side[1].runs ? 0 : !p->side[0].runs ? 1 : BOTH;
        if (!p->side[0].runs && !p->side[1].runs) {
            continue; /* the loop was joined with a loop of another name */
        }
        c->listed[k][c->nlisted[k]++] = i;
        *judged += p->side[0].timed > 1 && p->side[1].timed > 1;
    }
    return c->nlisted[BOTH]
               ? 0
               : carm_fail(err, CARM_EINVAL, "the two files have no point of the same name");
}

/* Computes intervals and places, which are expensive, once for each pair. */
static int judge_all(struct carm_changes *c, const struct carm_model *model, struct carm_err *err)
{
    const struct carm_place_words words = {NULL, NULL, NULL, NULL, NULL, NULL};
    struct carm_place_choices *choices = NULL;
    struct carm_placed *placed = calloc(1, sizeof *placed);
    size_t judged;
    if (!placed) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to compare points");
    }
    int rc = list_names(c, &judged, err);
    rc = rc || !model ? rc : carm_place_choices_open(&choices, model, &words, err);
    for (size_t i = 0; !rc && i < c->nlisted[BOTH]; i++) {
        struct pair *p = &c->pairs[c->listed[BOTH][i]];
        const size_t runs[2] = {p->side[0].timed, p->side[1].timed};
        if (runs[0] > 1 && runs[1] > 1) {
            p->half = carm_change_interval((double[2]){p->side[0].sum, p->side[1].sum},
                                           (double[2]){p->side[0].squares, p->side[1].squares},
                                           runs, judged);
        }
        if (choices && (place_side(c, &p->side[0], choices, placed) ||
                        place_side(c, &p->side[1], choices, placed))) {
            rc = carm_fail(err, CARM_ENOMEM, "not enough memory to compare points");
        }
    }
    carm_place_choices_close(choices);
    free(placed);
    return rc;
}

int carm_changes_read(const struct carm_changes_file of[2], const struct carm_model *model,
                      double noise, const char *only, struct carm_changes **out,
                      struct carm_err *err)
{
    struct carm_changes *c = calloc(1, sizeof *c);
    *out = NULL;
    if (!c) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to compare points");
    }
    carm_names_open(&c->names);
    carm_names_open(&c->words);
    c->noise = noise;
    int rc = read_file(c, 0, &of[0], only, err);
    rc = rc ? rc : read_file(c, 1, &of[1], only, err);
    rc = rc ? rc : match_loops(c, err);
    rc = rc ? rc : judge_all(c, model, err);
    if (rc) {
        carm_changes_close(c);
        return rc;
    }
    *out = c;
    return 0;
}

void carm_changes_close(struct carm_changes *changes)
{
    if (changes) {
        carm_names_close(&changes->names);
        carm_names_close(&changes->words);
        for (int k = 0; k < 3; k++) {
            free(changes->listed[k]);
        }
        free(changes->pairs);
        free(changes);
    }
}

/* The name of pair k as a part of a program, without the program's name; NULL = not a part of
 * it. */
static const char *part_name(const struct carm_changes *c, uint32_t k, const char *program,
                             size_t length)
{
    const struct side *s = c->pairs[k].side;
    const char *name = carm_names_text(&c->names, k);
    return (s[0].part != NO_PART || s[1].part != NO_PART) && strncmp(name, program, length) == 0 &&
                   strncmp(name + length, ": ", 2) == 0
               ? name + length + 2
               : NULL;
}

static double difference(const struct pair *p, enum carm_change_kind kind)
{
    const double before = p->side[0].runs ? fmax(count(&p->side[0], kind), 0.0) : 0.0;
    const double after = p->side[1].runs ? fmax(count(&p->side[1], kind), 0.0) : 0.0;
    return after - before;
}

static void put_cause(struct carm_change_cause *out, size_t *n, size_t most,
                      const struct carm_change_cause *cause)
{
    size_t at = *n;
    while (at > 0 && fabs(out[at - 1].share) < fabs(cause->share)) {
        at--;
    }
    if (at < most && cause->share != 0.0) {
        *n = *n < most ? *n + 1 : most;
        memmove(&out[at + 1], &out[at], (*n - at - 1) * sizeof *out);
        out[at] = *cause;
    }
}

static bool is_others(const struct pair *p)
{
    return p->side[0].part == OTHERS || p->side[1].part == OTHERS;
}

/* The rows of one function: its own and those of its loops. */
struct together {
    double sum, sizes; /* sum of their shares; sum of the shares' absolute values */
    bool single;       /* one of the rows is in one file only */
};

/* Whether a function is named in place of its loops: a loop is new or gone, and the shares of the rows partly cancel.
 * Loops with one name in both files may then be different loops. */
static bool is_one(const struct together *of)
{
    static const double over = 1.01; /* chosen by hand */
    return of->single && of->sizes > over * fabs(of->sum);
}

/* Adds up the rows of each function, by its word. returns NULL without memory: each row is then
 * named */
static struct together *add_up(const struct carm_changes *c, const char *program, size_t length,
                               enum carm_change_kind kind, double change)
{
    struct together *all = calloc(c->words.n + 1, sizeof *all);
    for (uint32_t k = 0; all && k < c->names.n; k++) {
        const struct pair *p = &c->pairs[k];
        if (p->function && part_name(c, k, program, length)) {
            struct together *of = &all[p->function];
            const double share = difference(p, kind) / change;
            of->sum += share;
            of->sizes += fabs(share);
            of->single = of->single || ((!p->side[0].runs) != (!p->side[1].runs));
        }
    }
    return all;
}

size_t carm_changes_causes(const struct carm_changes *changes, size_t i, enum carm_change_kind kind,
                           struct carm_change_cause *out, size_t most)
{
    static const double missing =
        0.01; /* share of the change that its parts may leave unexplained; chosen by hand */
    const uint32_t program = changes->listed[BOTH][i];
    const char *name = carm_names_text(&changes->names, program), *part;
    const size_t length = strlen(name);
    const double change = difference(&changes->pairs[program], kind);
    struct carm_change_cause others = {"others", 0.0};
    double sum = 0.0;
    size_t n = 0, singles = 0;
    for (uint32_t k = 0; change != 0.0 && k < changes->names.n; k++) {
        const struct pair *p = &changes->pairs[k];
        if (part_name(changes, k, name, length)) {
            others.share += is_others(p) ? difference(p, kind) / change : 0.0;
            singles += !is_others(p) && (!p->side[0].runs || !p->side[1].runs);
        }
    }
    const double of_others = others.share;
    /* a loop without a row may be among the others, so it is not new */
    struct together *loops =
        change != 0.0 && of_others == 0.0 ? add_up(changes, name, length, kind, change) : NULL;
    for (uint32_t k = 0; change != 0.0 && k < changes->names.n; k++) {
        const struct pair *p = &changes->pairs[k];
        if (is_others(p) || !(part = part_name(changes, k, name, length))) {
            continue;
        }
        struct carm_change_cause cause = {part, difference(p, kind) / change};
        const bool single = !p->side[0].runs || !p->side[1].runs;
        sum += cause.share;
        if (loops && is_one(&loops[p->function])) {
            continue;
        }
        /* in the other file this loop was part of the row of other loops */
        if (single && cause.share * of_others < 0.0) {
            if (singles == 1 && fabs(cause.share) > fabs(of_others)) {
                cause.share += others.share;
                others.share = 0.0;
            } else if (fabs(of_others) >= 0.5 * fabs(cause.share)) {
                others.share += cause.share;
                continue;
            }
        }
        put_cause(out, &n, most, &cause);
    }
    for (uint32_t k = 0; loops && k < changes->words.n; k++) {
        const struct carm_change_cause function = {carm_names_text(&changes->words, k),
                                                   loops[k].sum};
        if (is_one(&loops[k])) {
            put_cause(out, &n, most, &function);
        }
    }
    free(loops);
    put_cause(out, &n, most, &others);
    return fabs(sum + of_others - 1.0) <= missing ? n : 0;
}

bool carm_changes_unended(const struct carm_changes *changes, int file)
{
    return changes->unended[file];
}

const char *carm_changes_only(const struct carm_changes *changes, int file, size_t i, bool *part)
{
    if (i >= changes->nlisted[file]) {
        return NULL;
    }
    const uint32_t number = changes->listed[file][i];
    if (part) {
        *part = changes->pairs[number].side[file].part != NO_PART;
    }
    return carm_names_text(&changes->names, number);
}
