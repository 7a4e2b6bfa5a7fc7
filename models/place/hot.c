/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/place/hot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* flop/byte below which a part counts as not computing: loops of interpreters have 0.002 (gawk), numerical kernels 0.05
 * or more */
static const double hardly_any = 0.01;

bool carm_hot_computes(double operations, double bytes)
{
    return operations > hardly_any * bytes;
}

double carm_hot_amdahl(double share, double gain)
{
    return 1.0 / (1.0 - share + share / gain);
}

static void name_ceiling(struct carm_hot *out, const char *name, double share)
{
    out->has_ceiling = true;
    out->of_ceiling = share;
    snprintf(out->ceiling, sizeof out->ceiling, "%s", name);
}

static void find_place(const struct carm_model *model, const struct carm_point *point,
                       const struct carm_place_set *set, double operations, struct carm_hot *out)
{
    struct carm_err err;
    struct carm_own own;
    const struct carm_place_input in = {.flops = operations,
                                        .bytes = point->bytes,
                                        .seconds = carm_point_ran_seconds(point),
                                        .threads = point->threads,
                                        .isa = point->isa,
                                        .precision = point->precision};
    struct carm_place *p = &out->place;
    if (carm_place_point(set, CARM_PLACE_CACHE_AWARE, &in, p, &err) != 0) {
        return;
    }
    out->placed = true;
    out->unbounded = !isfinite(set->sides[CARM_PLACE_CACHE_AWARE].peak);
    out->bound = carm_bound_name(p->bound);
    carm_own_find(model, out->roofs, &point->mix, operations, point->bytes, &own);
    out->has_own = carm_own_place(&own, set, CARM_PLACE_CACHE_AWARE, p, &out->own);
    out->gain = fmax(1.0, 1.0 / (out->has_own ? out->own.share : p->share));
    if (p->above >= 0) {
        name_ceiling(out, p->ceilings[p->above].name, p->performance / p->ceilings[p->above].at);
    } else {
        name_ceiling(out, "roof", p->share);
    }
}

/* The ceiling of a part that moves bytes and does not compute: the bandwidth of the fastest
 * level. */
static void find_bandwidth(const struct carm_point *point, const struct carm_place_set *set,
                           struct carm_hot *out)
{
    const struct carm_ceiling *roof =
        carm_ceilings_slope(&set->sides[CARM_PLACE_CACHE_AWARE].ceilings);
    if (roof) {
        const double share = point->bytes / carm_point_ran_seconds(point) / roof->rate;
        name_ceiling(out, roof->name, share);
        out->gain = fmax(1.0, 1.0 / share);
    }
}

bool carm_hot_find(const struct carm_model *model, const struct carm_point *point,
                   struct carm_hot *out)
{
    const char *precision = point->precision;
    memset(out, 0, sizeof *out);
    out->bound = "";
    out->gain = 1.0;
    out->roofs = carm_place_roofs_of(model, point->isa, precision, point->threads, out->note);
    if (!out->roofs || !carm_point_knows(point->bytes) || !(point->seconds > 0.0)) {
        return false;
    }
    struct carm_place_set *set = malloc(sizeof *set);
    if (!set) {
        return false;
    }
    out->integers = strcmp(point->metric, CARM_METRIC_INTEGERS) == 0;
    if (out->integers) {
        carm_place_prepare_integers(set, model, out->roofs, precision);
    } else {
        carm_place_prepare_ordered(set, model, out->roofs,
                                   carm_runmix_is_balanced(&point->mix) ? CARM_BALANCE_BOTTOM
                                                                        : CARM_BALANCE_TOP);
    }
    const double operations = out->integers ? point->operations : point->flops;
    if (carm_hot_computes(operations, point->bytes)) {
        find_place(model, point, set, operations, out);
    } else if (point->bytes > 0.0) {
        find_bandwidth(point, set, out);
    }
    free(set);
    return out->has_ceiling;
}

/* The length of the advice without the gains up to ceilings, which the table has. */
static size_t what_to_try(const char *advice)
{
    const char *rest = strstr(advice, " at most ");
    return rest && rest > advice ? (size_t)(rest - advice) - 1 : strlen(advice);
}

char *carm_hot_advice(char *dst, size_t size, const struct carm_hot *hot, double share)
{
    const bool left = hot->placed && hot->gain > 1.0 + CARM_PLACE_TOLERANCE;
    char uses[16], rest[16];
    size_t used = 0;
    if (!hot->placed) {
        snprintf(
            dst, size,
            "computes next to nothing and uses %s of the bandwidth of %s: it may wait for cache "
            "misses, dependent instructions or branches, or execute too many instructions; without "
            "it, the program would take %s of its time",
            carm_hot_share(uses, hot->of_ceiling), hot->ceiling, carm_hot_share(rest, 1.0 - share));
        return dst;
    }
    used =
        (size_t)snprintf(dst, size, "%.*s", (int)what_to_try(hot->place.advice), hot->place.advice);
    if (used >= size) {
        return dst;
    }
    if (hot->unbounded) {
        snprintf(dst + used, size - used, "; how much is left is not known: %s", hot->note);
    } else if (left) {
        snprintf(dst + used, size - used, "; if it %s, the program would be %.2fx as fast",
                 hot->has_own ? "were as fast as its instructions allow" : "reached the roof",
                 carm_hot_amdahl(share, hot->gain));
    } else {
        snprintf(dst + used, size - used, "; it is %s: only %s can make it faster",
                 hot->has_own ? "as fast as its instructions allow" : "at the roof",
                 hot->has_own && hot->own.gain > 1.0 + CARM_PLACE_TOLERANCE
                     ? "another algorithm, other operations or wider vectors"
                     : "less work");
    }
    return dst;
}

const char *carm_hot_share(char dst[16], double share)
{
    snprintf(dst, 16, share > 0.0 && share < 0.005 ? "<1%%" : "%.0f%%", 100.0 * share);
    return dst;
}
