/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/place/points.h"

#include <math.h>
#include <string.h>

const struct carm_point_column carm_point_columns[CARM_POINT_COLUMNS] = {
#define COLUMN(name, kind, member) {#name, CARM_POINT_##kind, offsetof(struct carm_point, member)},
    CARM_POINT_COLUMN_TABLE(COLUMN)
#undef COLUMN
};

void carm_point_put_text(struct carm_point *point, const struct carm_point_column *c, const char *s)
{
    memcpy((char *)point + c->at, &s, sizeof s);
}

void carm_point_put_number(struct carm_point *point, const struct carm_point_column *c, double v)
{
    if (c->kind == CARM_POINT_WHOLE) {
        const int whole = (int)v;
        memcpy((char *)point + c->at, &whole, sizeof whole);
    } else {
        memcpy((char *)point + c->at, &v, sizeof v);
    }
}

bool carm_point_is_text(const struct carm_point_column *c)
{
    return c->kind == CARM_POINT_TEXT || c->kind == CARM_POINT_WORD;
}

struct carm_point carm_point_blank(void)
{
    struct carm_point point;
    memset(&point, 0, sizeof point);
    for (size_t k = 0; k < CARM_POINT_COLUMNS; k++) {
        if (carm_point_is_text(&carm_point_columns[k])) {
            carm_point_put_text(&point, &carm_point_columns[k], "");
        } else if (carm_point_columns[k].kind != CARM_POINT_WHOLE) {
            carm_point_put_number(&point, &carm_point_columns[k], CARM_POINT_UNKNOWN);
        }
    }
    return point;
}

bool carm_point_verdict(const struct carm_point *p, struct carm_verdict_kept *out)
{
    *out = (struct carm_verdict_kept){.limit = CARM_LIMITS,
                                      .second = CARM_LIMIT_UNKNOWN,
                                      .estimate = strcmp(p->limit_by, "estimate") == 0,
                                      .explains = fmax(0.0, p->explains),
                                      .loop.low = carm_point_knows(p->gain_low) ? p->gain_low : 1.0,
                                      .loop.high =
                                          carm_point_knows(p->gain_high) ? p->gain_high : INFINITY,
                                      .advice = CARM_ADVICE_COUNT};
    for (int i = 0; i < CARM_LIMITS; i++) {
        const char *name = carm_limit_name((enum carm_limit)i);
        out->limit = strcmp(p->limit, name) == 0 ? (enum carm_limit)i : out->limit;
        out->second = strcmp(p->second, name) == 0 ? (enum carm_limit)i : out->second;
    }
    for (int i = 0; i < CARM_ADVICE_COUNT; i++) {
        const enum carm_advice_code code = (enum carm_advice_code)i;
        out->advice = strcmp(p->advice, carm_advice_name(code)) == 0 ? code : out->advice;
    }
    return out->limit < CARM_LIMITS;
}

bool carm_metric_is_flops(const char *metric)
{
    return !*metric || strcmp(metric, "flop") == 0 || strcmp(metric, "flops") == 0;
}

double carm_point_operations(const struct carm_point *point, const char *metric)
{
    const bool integers = !*point->metric && strcmp(metric, CARM_METRIC_INTEGERS) == 0;
    return integers && !carm_point_knows(point->operations) ? point->mix.q[CARM_RUNMIX_INT_OPS]
                                                            : point->operations;
}

bool carm_point_waits(int threads, double task_seconds, double seconds)
{
    static const double most = 0.9; /* chosen by hand */
    return threads <= 1 && task_seconds > 0.0 && task_seconds < most * seconds;
}

double carm_point_ran_seconds(const struct carm_point *point)
{
    return carm_point_waits(point->threads, point->task_seconds, point->seconds)
               ? point->task_seconds
               : point->seconds;
}

const char *carm_point_unplaced_metric(const struct carm_point *point, const char *metric)
{
    if (*point->metric && strcmp(point->metric, metric) != 0) {
        return "its operations have another metric";
    }
    const double operations = carm_point_operations(point, metric);
    if (!carm_point_knows(operations)) {
        return carm_point_knows(point->flops) && !*point->metric
                   ? "its operations are flops"
                   : "its operations were not counted (column operations)";
    }
    if (!(operations > 0.0)) {
        return "it has none of these operations";
    }
    return carm_point_knows(point->seconds) ? NULL : "its time is not known";
}

const char *carm_point_unplaced(const struct carm_point *point)
{
    if (strcmp(point->metric, CARM_METRIC_INTEGERS) == 0) {
        return "its operations are on integers (leave --precision out, or name int8 to int64)";
    }
    if (!carm_metric_is_flops(point->metric)) {
        return "its operations are not flops (carm place --metric places them)";
    }
    if (!carm_point_knows(point->flops)) {
        return "its flops were not counted";
    }
    if (!(point->flops > 0.0)) {
        return "it computes nothing in floating point";
    }
    return carm_point_knows(point->seconds) ? NULL : "its time is not known";
}
