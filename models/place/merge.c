/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/place/merge.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/hash.h"
#include "base/text.h"

struct entry {
    struct carm_point sum; /* its texts are those of the first row (in texts), or constants */
    char *texts;           /* one block of memory */
    size_t rows;
    size_t lacking[4];  /* rows without flops, bytes, DRAM bytes, time */
    size_t same_rank;   /* later rows of other processes whose rank is the first one's */
    double seconds_sum; /* of the rows whose time is known */
    bool hosts;         /* rows are of several hosts */
};

struct carm_merge {
    bool keyed;             /* keys are not the names */
    struct carm_names keys; /* the number of a key is the index of its entry */
    struct entry *entries;
    size_t n, room;
};

static int no_memory(struct carm_err *err, const struct carm_merge *m)
{
    return carm_fail(err, CARM_ENOMEM,
                     "not enough memory to merge more than %zu names; merge fewer files at a time",
                     m ? m->n : 0);
}

int carm_merge_open(struct carm_merge **out, struct carm_err *err)
{
    struct carm_merge *m = calloc(1, sizeof *m);
    *out = NULL;
    if (!m) {
        return no_memory(err, NULL);
    }
    carm_names_open(&m->keys);
    *out = m;
    return 0;
}

void carm_merge_close(struct carm_merge *merge)
{
    if (!merge) {
        return;
    }
    for (size_t i = 0; i < merge->n; i++) {
        free(merge->entries[i].texts);
    }
    free(merge->entries);
    carm_names_close(&merge->keys);
    free(merge);
}

size_t carm_merge_names(const struct carm_merge *merge)
{
    return merge->n;
}

static const char *keep(char **at, const char *s)
{
    const size_t n = strlen(s) + 1;
    char *kept = *at;
    memcpy(kept, s, n);
    *at += n;
    return kept;
}

static int begin(struct entry *e, const struct carm_point *row)
{
    memset(e, 0, sizeof *e);
    e->sum = *row;
    e->sum.kind = e->sum.source = e->sum.module = ""; /* a sum is not a part and has no verdict */
    e->sum.limit = e->sum.limit_by = e->sum.second = e->sum.advice = "";
    const char **texts[] = {&e->sum.name,       &e->sum.isa, &e->sum.precision, &e->sum.rank,
                            &e->sum.counted_by, &e->sum.job, &e->sum.metric,    &e->sum.host,
                            &e->sum.note,       &e->sum.pid, &e->sum.levels_by, &e->sum.asks_for,
                            &e->sum.cores};
    e->sum.levels_by = row->levels_by ? row->levels_by : "";
    e->sum.asks_for = row->asks_for ? row->asks_for : "";
    e->sum.cores = row->cores ? row->cores : "";
    size_t size = 0;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        size += strlen(*texts[i]) + 1;
    }
    e->texts = malloc(size);
    if (!e->texts) {
        return -CARM_ENOMEM;
    }
    char *at = e->texts;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        *texts[i] = keep(&at, *texts[i]);
    }
    return 0;
}

static double sum_of(double a, double b)
{
    return carm_point_knows(a) && carm_point_knows(b) ? a + b : CARM_POINT_UNKNOWN;
}

/* A bound, or the value itself where the bound is unknown. */
static double bound_of(double bound, double value)
{
    return carm_point_knows(bound) ? bound : value;
}

static const char *widest_isa(const char *a, const char *b)
{
    static const char *const names[] = {"scalar", "sse", "avx", "avx2", "avx512", "amx"};
    int wide[2] = {-1, -1};
    for (int i = 0; i < 6; i++) {
        wide[0] = strcmp(a, names[i]) == 0 ? i : wide[0];
        wide[1] = strcmp(b, names[i]) == 0 ? i : wide[1];
    }
    return wide[1] > wide[0] ? names[wide[1]] : a;
}

static void add_texts(struct entry *e, const struct carm_point *row)
{
    struct carm_point *sum = &e->sum;
    if (strcmp(sum->isa, row->isa) != 0) {
        sum->isa = widest_isa(sum->isa, row->isa);
    }
    if (strcmp(sum->precision, row->precision) != 0) {
        sum->precision = *sum->precision && *row->precision ? "mixed" : "";
    }
    if (strcmp(sum->counted_by, row->counted_by) != 0) {
        sum->counted_by = "several";
    }
    if (strcmp(sum->note, row->note) != 0 && !*sum->note) {
        sum->note = "some of its rows have notes";
    }
    if (strcmp(sum->cores, row->cores ? row->cores : "") != 0) {
        sum->cores = ""; /* the rows have different mixtures of kinds */
    }
    const bool same_process = *row->pid && strcmp(sum->pid, row->pid) == 0;
    e->same_rank += *row->rank && strcmp(sum->rank, row->rank) == 0 && !same_process;
    e->hosts = e->hosts || strcmp(sum->host, row->host) != 0;
}

static void add_row(struct entry *e, const struct carm_point *row)
{
    struct carm_point *sum = &e->sum;
    sum->flops_low =
        sum_of(bound_of(sum->flops_low, sum->flops), bound_of(row->flops_low, row->flops));
    sum->flops_high =
        sum_of(bound_of(sum->flops_high, sum->flops), bound_of(row->flops_high, row->flops));
    sum->bytes_low =
        sum_of(bound_of(sum->bytes_low, sum->bytes), bound_of(row->bytes_low, row->bytes));
    sum->bytes_high =
        sum_of(bound_of(sum->bytes_high, sum->bytes), bound_of(row->bytes_high, row->bytes));
    for (int i = 0; i < 3; i++) {
        const double bytes = i < 2 ? sum->level_bytes[i] : sum->dram_bytes;
        const double more = i < 2 ? row->level_bytes[i] : row->dram_bytes;
        sum->level_low[i] =
            sum_of(bound_of(sum->level_low[i], bytes), bound_of(row->level_low[i], more));
        sum->level_high[i] =
            sum_of(bound_of(sum->level_high[i], bytes), bound_of(row->level_high[i], more));
    }
    sum->flops = sum_of(sum->flops, row->flops);
    sum->bytes = sum_of(sum->bytes, row->bytes);
    sum->dram_bytes = sum_of(sum->dram_bytes, row->dram_bytes);
    for (int i = 0; i < 2; i++) {
        sum->level_bytes[i] = sum_of(sum->level_bytes[i], row->level_bytes[i]);
    }
    for (int i = 0; i < 3; i++) {
        sum->level_unused[i] = sum_of(sum->level_unused[i], row->level_unused[i]);
        for (int r = 0; r < CARM_MISS_REASONS; r++) {
            sum->level_misses[i][r] = sum_of(sum->level_misses[i][r], row->level_misses[i][r]);
        }
    }
    sum->calls = sum_of(sum->calls, row->calls);
    sum->task_seconds = sum_of(sum->task_seconds, row->task_seconds);
    sum->operations = sum_of(sum->operations, row->operations);
    sum->imbalance_at[0] = sum->imbalance_at[1] = CARM_POINT_UNKNOWN; /* known only for the row's
                                                                       * own job */
    for (int i = 0; i < CARM_RUNMIX_COUNT; i++) {
        sum->mix.q[i] = sum_of(sum->mix.q[i], row->mix.q[i]);
    }
    sum->share = carm_point_knows(sum->share) && carm_point_knows(row->share)
                     ? fmin(sum->share, row->share)
                     : CARM_POINT_UNKNOWN;
    sum->seconds = carm_point_knows(sum->seconds) && carm_point_knows(row->seconds)
                       ? fmax(sum->seconds, row->seconds)
                       : CARM_POINT_UNKNOWN;
    const bool counted = sum->threads > 0 && row->threads > 0;
    sum->threads = !counted                                ? 0
                   : sum->threads > INT_MAX - row->threads ? INT_MAX
                                                           : sum->threads + row->threads;
}

static int add(struct carm_merge *merge, const char *key, const struct carm_point *row,
               size_t *index, struct carm_err *err)
{
    uint32_t at = 0;
    if (carm_names_add(&merge->keys, key, strlen(key), &at)) {
        return no_memory(err, merge);
    }
    if (at == merge->n) {
        if (carm_array_grow(&merge->entries, &merge->room, merge->n, 1, sizeof *merge->entries, "",
                            NULL) ||
            begin(&merge->entries[at], row)) {
            return no_memory(err, merge);
        }
        merge->n++;
    } else {
        struct entry *e = &merge->entries[at];
        if (strcmp(e->sum.metric, row->metric) != 0) {
            return carm_fail(
                err, CARM_EINVAL,
                "rows of '%.60s' have the metrics '%.32s' and '%.32s', which cannot be summed: give "
                "them different names",
                row->name, e->sum.metric, row->metric);
        }
        add_row(e, row);
        add_texts(e, row);
    }
    struct entry *e = &merge->entries[at];
    e->rows++;
    e->seconds_sum += carm_point_knows(row->seconds) ? row->seconds : 0.0;
    const double known[] = {row->flops, row->bytes, row->dram_bytes, row->seconds};
    for (int i = 0; i < 4; i++) {
        e->lacking[i] += !carm_point_knows(known[i]);
    }
    if (index) {
        *index = at;
    }
    return 0;
}

int carm_merge_add(struct carm_merge *merge, const struct carm_point *row, struct carm_err *err)
{
    return add(merge, row->name, row, NULL, err);
}

int carm_merge_add_as(struct carm_merge *merge, const char *key, const struct carm_point *row,
                      size_t *index, struct carm_err *err)
{
    merge->keyed = true;
    return add(merge, key, row, index, err);
}

void carm_merge_get(const struct carm_merge *merge, size_t i, struct carm_merged *out)
{
    static const char *const names[] = {"flops", "bytes", "dram_bytes", "seconds"};
    const struct entry *e = &merge->entries[i];
    out->point = e->sum;
    out->rows = e->rows;
    out->repeated = e->same_rank;
    out->note[0] = '\0';
    out->imbalance =
        carm_point_knows(e->sum.seconds) ? e->sum.seconds * (double)e->rows / e->seconds_sum : 0.0;
    for (int k = 0; k < 4; k++) {
        if (e->lacking[k] && e->lacking[k] < e->rows) {
            carm_text_list(out->note, sizeof out->note, "; ",
                           "%zu of its %zu rows %s no %s, so the sum is unknown", e->lacking[k],
                           e->rows, e->lacking[k] == 1 ? "has" : "have", names[k]);
        }
    }
    if (e->same_rank) {
        carm_text_list(out->note, sizeof out->note, "; ",
                       "rank %.16s appears %zu times: rows of repeated runs must not be summed",
                       e->sum.rank, e->same_rank + 1);
    }
    if (e->hosts && !merge->keyed) {
        carm_text_list(out->note, sizeof out->note, "; ",
                       "its rows come from several hosts, but the roofs are for one");
    }
}
