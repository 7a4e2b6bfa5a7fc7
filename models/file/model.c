/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/file/model.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/json_write.h"
#include "base/outfile.h"
#include "models/ceilings.h"
#include "models/core.h"
#include "models/file/cut.h"
#include "models/latency.h"
#include "models/scaling.h"

enum {
    FILE_BYTES_MAX = 64 << 20, /* a full model of every ISA and thread count stays below 4 MiB */
    /* Limits on the memory and time that a small file can cost: 256 sets of ISA, precision and
     * threads with 1024 roofs each, which no machine's model reaches; for each set 29 points,
     * scores, roofs and fits in each of 8 levels. */
    SETS_MAX = 256,
    ROOFS_MAX = 1024,
    CEILINGS_MAX = 256,
    CURVES_MAX = 4096,
    POINTS_MAX = 1 << 16,
    CHECKS_MAX = 1 << 16,
    ENTRIES_MAX = 1 << 13,
    ROUNDS_MAX = 1 << 10,
};

/* ---- rows ---- */

/* NOLINTBEGIN(bugprone-macro-parentheses): a type, and initialisers */
/* A row is one member of the file: its name, the member of struct T, and the allowed values. A row
 * with the wrong type does not compile. */
#define AT(type, m)             (offsetof(T, m) * _Generic(((T *)NULL)->m, type : (size_t)1))
#define ROW(k, n, type, m)      .name = (n), .kind = CARM_MEMBER_##k, .offset = AT(type, m)
#define ROW_SIZED(k, n, m)      ROW(k, n, char *, m), .size = sizeof(((T *)NULL)->m)
#define TEXT(n, m)              ROW_SIZED(TEXT, n, m)
#define NAME(n, m)              ROW_SIZED(NAME, n, m)
#define TEXT_OR_NULL(n, m)      ROW_SIZED(TEXT_OR_NULL, n, m)
#define WORD(n, m, type, w)     ROW(WORD, n, type, m), .words = (w)
#define BOOL(n, m)              ROW(BOOL, n, bool, m)
#define INT(n, m, min)          ROW(INT, n, int, m), .least = (min)
#define COUNT(n, m, min)        ROW(COUNT, n, uint64_t, m), .least = (min)
#define COUNT_OR_NULL(n, m)     ROW(COUNT_OR_NULL, n, uint64_t, m)
#define NUMBER(n, m, min, max)  ROW(NUMBER, n, double, m), .least = (min), .most = (max)
#define NONNEGATIVE(n, m)       NUMBER(n, m, 0, INFINITY)
#define NUMBER_ABOVE(n, m, min) ROW(NUMBER_ABOVE, n, double, m), .least = (min)
#define NUMBER_OR_NULL(n, m)    ROW(NUMBER_OR_NULL, n, double, m)
#define POSITIVE(n, m)          ROW(POSITIVE, n, double, m)
#define POSITIVE_WHOLE(n, m)    ROW(POSITIVE_WHOLE, n, double, m)
#define NUMBERS(n, m, count, max) \
    ROW(NUMBERS, n, double *, m), .other = AT(size_t, count), .most = (max)
#define INTERVAL(n, m, value) ROW(INTERVAL, n, struct carm_ci, m), .other = AT(double, value)
#define INTERVAL_OF(n, m, f)  ROW(INTERVAL, n, struct carm_ci, m), .of = (f)
#define OBJECT(n, m, type, t) ROW(OBJECT, n, type, m), .table = &(t)
#define ARRAY(name, m, type, max, t) \
    ROW(ARRAY, name, type *, m), .other = AT(size_t, n##m), .most = (max), .table = &(t)

#define OPTIONAL        .flags = CARM_MEMBER_OPTIONAL
#define WITH_LAST       .flags = CARM_MEMBER_WITH_LAST
#define KEY             .flags = CARM_MEMBER_KEY
#define DETAIL          .flags = CARM_MEMBER_DETAIL
#define OPTIONAL_DETAIL .flags = CARM_MEMBER_OPTIONAL | CARM_MEMBER_DETAIL

#define TABLE(members)                                            \
    {                                                             \
        (members), sizeof(members) / sizeof *(members), sizeof(T) \
    }

/* NOLINTEND(bugprone-macro-parentheses) */

/* ---- members that no row can describe ---- */

static const char *name_at(const void *object, const struct carm_member *member)
{
    return (const char *)object + member->offset;
}

static void check_level_or(struct carm_jread *r, const struct carm_member *member,
                           const struct carm_model *model, const char *level, const char *other)
{
    if (strcmp(level, other) != 0 && !carm_model_has_level(model, level)) {
        carm_jread_bad(r, member->name, "\"%s\" is not among the model's levels", level);
    }
}

static void check_level(struct carm_jread *r, const struct carm_member *member, const void *model,
                        const void *object)
{
    check_level_or(r, member, model, name_at(object, member), "");
}

static void check_level_or_all(struct carm_jread *r, const struct carm_member *member,
                               const void *model, const void *object)
{
    check_level_or(r, member, model, name_at(object, member), "all");
}

static void check_level_or_peak(struct carm_jread *r, const struct carm_member *member,
                                const void *model, const void *object)
{
    check_level_or(r, member, model, name_at(object, member), "peak");
}

static void check_spread(struct carm_jread *r, const struct carm_member *member, const void *model,
                         const void *object)
{
    const struct carm_spread *s = object;
    (void)member;
    (void)model;
    if (!(s->min <= s->p5 && s->p5 <= s->p95 && s->p95 <= s->max)) {
        carm_jread_bad(r, NULL, "is not in order: min %g, p5 %g, p95 %g, max %g", s->min, s->p5,
                       s->p95, s->max);
    }
}

static double performance_of(const void *object)
{
    const struct carm_validation_point *p = object;
    return p->flops / p->seconds;
}

static void check_performance(struct carm_jread *r, const struct carm_member *member,
                              const void *model, const void *object)
{
    const double performance = performance_of(object);
    (void)member;
    (void)model;
    if (!(performance >= CARM_JREAD_LEAST && performance <= CARM_JREAD_MOST)) {
        carm_jread_bad(r, NULL, "has a performance of %g, outside %g..%g", performance,
                       CARM_JREAD_LEAST, CARM_JREAD_MOST);
    }
}

/* Checks that a ceiling without a figure has a reason. */
static void check_ceiling(struct carm_jread *r, const struct carm_member *member, const void *model,
                          const void *object)
{
    const struct carm_ceiling_roof *c = object;
    (void)member;
    (void)model;
    if (!(c->rate > 0.0)) {
        if (!*c->note) {
            carm_jread_bad(r, "note", "is empty");
        }
        return;
    }
    if (c->rate < CARM_JREAD_LEAST) {
        carm_jread_bad(r, "rate", "is %g, outside %g..%g", c->rate, CARM_JREAD_LEAST,
                       CARM_JREAD_MOST);
    } else if (c->threads == 0) {
        carm_jread_bad(r, "threads", "is 0, outside 1..%d", INT_MAX);
    } else if (c->reps == 0) {
        carm_jread_bad(r, "reps", "is 0, outside 1..%lld", (long long)INT64_MAX);
    } else if (!*c->code || !*c->counted_by) {
        carm_jread_bad(r, *c->code ? "counted_by" : "code", "is empty");
    }
}

static void check_ceilings(struct carm_jread *r, const struct carm_member *member,
                           const void *model, const void *object)
{
    const struct carm_roofs *set = object;
    (void)model;
    for (size_t i = 0; i < set->nceilings; i++) {
        const int threads = set->ceilings[i].threads;
        if (threads > set->threads) {
            const size_t old = carm_jread_enter(r, ".%s[%zu]", member->name, i);
            carm_jread_bad(r, "threads", "is %d, more than the set's %d", threads, set->threads);
            carm_jread_leave(r, old);
        }
    }
}

static const char *group_word(int group)
{
    return group < CARM_CEILING_GROUP_COUNT
               ? carm_ceiling_group_name((enum carm_ceiling_group)group)
               : NULL;
}

static const char *core_word(int kind)
{
    return kind < CARM_CORE_KIND_COUNT ? carm_core_kind_name((enum carm_core_kind)kind) : NULL;
}

static const char *order_word(int order)
{
    return order < CARM_LATENCY_ORDER_COUNT
               ? carm_latency_order_name((enum carm_latency_order)order)
               : NULL;
}

/* Checks that a kind of instruction without figures has a reason. */
static void check_core(struct carm_jread *r, const struct carm_member *member, const void *model,
                       const void *object)
{
    const struct carm_core_figure *f = object;
    (void)member;
    (void)model;
    if (!(f->latency > 0.0) && !(f->throughput > 0.0) && !*f->note) {
        carm_jread_bad(r, "note", "is empty");
    }
}

static void check_latency(struct carm_jread *r, const struct carm_member *member, const void *model,
                          const void *object)
{
    const struct carm_latency *l = object;
    (void)member;
    (void)model;
    if (!(l->seconds > 0.0) && !*l->note) {
        carm_jread_bad(r, "note", "is empty");
    }
}

static void check_numa(struct carm_jread *r, const struct carm_member *member, const void *model,
                       const void *object)
{
    const struct carm_numa_pair *p = object;
    (void)member;
    (void)model;
    if (!(p->bandwidth > 0.0) && !(p->seconds > 0.0) && !*p->note) {
        carm_jread_bad(r, "note", "is empty");
    }
}

/* Checks that points ascend by threads, as look-ups need. */
static void check_scaling(struct carm_jread *r, const struct carm_member *member, const void *model,
                          const void *object)
{
    const struct carm_scaling *c = object;
    (void)model;
    for (size_t i = 1; i < c->npoints; i++) {
        if (c->points[i].threads <= c->points[i - 1].threads) {
            carm_jread_bad(r, member->name, "are not in the order of their threads");
            return;
        }
    }
}

static const char *state_word(int state)
{
    return state < CARM_STATE_COUNT ? carm_state_name((enum carm_state)state) : NULL;
}

/* ---- the tables ---- */

/* Checks that each model of a kind of core has a kind, and contains no further models. */
static void check_kinds(struct carm_jread *r, const struct carm_member *member, const void *model,
                        const void *object)
{
    const struct carm_model *m = object;
    (void)model;
    for (size_t i = 0; i < m->nkinds; i++) {
        if (!carm_model_is_kind(&m->kinds[i]) || m->kinds[i].nkinds) {
            carm_jread_bad(r, member->name, "[%zu] is not of one kind of core", i);
        }
    }
}

/* In the order of the file. Members that a fleet does not use are marked DETAIL. */

#define T struct carm_cache
static const struct carm_member cache_members[] = {
    {INT("level", level, 1)},
    {COUNT("size_bytes", size_bytes, 1)},
    {INT("shared_by", shared_by, 1)},
};
static const struct carm_table cache_table = TABLE(cache_members);
#undef T

#define T struct carm_machine
static const struct carm_member machine_members[] = {
    {TEXT("hostname", hostname)},
    {TEXT("cpu", cpu)},
    {TEXT_OR_NULL("hypervisor", hypervisor)},
    {INT("cores", cores, 1)},
    {INT("threads", threads, 1)},
    {NAME("on", on), OPTIONAL},
    {NAME("layout", layout), OPTIONAL},
    {NUMBER("cpu_quota", cpu_quota, 0, 1e6), OPTIONAL},
    {COUNT("memory_bytes", memory_bytes, 1)},
    {COUNT("page_bytes", page_bytes, 1)},
    {POSITIVE("tsc_hz", tsc_hz)},
    {ARRAY("caches", caches, struct carm_cache, SETS_MAX, cache_table)},
};
static const struct carm_table machine_table = TABLE(machine_members);
#undef T

#define T struct carm_config
static const struct carm_member config_members[] = {
    {COUNT("reps", reps, 1)}, {NAME("precision", precision)},
    {NAME("ldst", ldst)},     {COUNT("memory_limit_bytes", memory_limit_bytes, 0)},
    {BOOL("quick", quick)},
};
static const struct carm_table config_table = TABLE(config_members);
#undef T

#define T struct carm_level
static const struct carm_member level_members[] = {
    {NAME("level", level), KEY},
    {COUNT_OR_NULL("os_size_bytes", os_size_bytes)},
    {COUNT_OR_NULL("knee_bytes", knee_bytes)},
    {BOOL("resolved", resolved)},
    {TEXT("note", note)},
};
static const struct carm_table level_table = TABLE(level_members);
#undef T

#define T struct carm_spread
static const struct carm_member spread_members[] = {
    {NONNEGATIVE("min", min)},
    {NONNEGATIVE("p5", p5)},
    {NONNEGATIVE("p95", p95)},
    {NONNEGATIVE("max", max), .check = check_spread},
};
static const struct carm_table spread_table = TABLE(spread_members);
#undef T

#define T struct carm_round
static const struct carm_member round_members[] = {
    {POSITIVE("rate", rate)},
    {NONNEGATIVE("clock_hz", clock_hz)},
    {NONNEGATIVE("at", at)},
    {WORD("state", state, enum carm_state, state_word), .what = "state of a machine"},
};
static const struct carm_table round_table = TABLE(round_members);
#undef T

#define T struct carm_memory_roof
static const struct carm_member memory_members[] = {
    {NAME("level", level), KEY, .check = check_level},
    {NAME("ldst", ldst), KEY},
    {NAME("code", code)},
    {POSITIVE("bandwidth", bandwidth)},
    {INTERVAL("ci95", ci95, bandwidth)},
    {OBJECT("spread", spread, struct carm_spread, spread_table), DETAIL},
    {POSITIVE("bytes_per_cycle", bytes_per_cycle), DETAIL},
    {POSITIVE("clock_hz", clock_hz), DETAIL},
    {COUNT("working_set_bytes", working_set_bytes, 1), DETAIL},
    {COUNT("window_bytes", window_bytes, 1), DETAIL},
    {COUNT("passes", passes, 1), DETAIL},
    {COUNT("reps", reps, 1), DETAIL},
    {NAME("counted_by", counted_by), DETAIL},
    {BOOL("disturbed", disturbed)},
    {TEXT("note", note), DETAIL},
    {ARRAY("rounds", rounds, struct carm_round, ROUNDS_MAX, round_table), OPTIONAL_DETAIL},
};
static const struct carm_table memory_table = TABLE(memory_members);
#undef T

#define T struct carm_compute_roof
static const struct carm_member compute_members[] = {
    {NAME("op", op), KEY},
    {NAME("code", code), DETAIL},
    {POSITIVE("rate", rate)},
    {INTERVAL("ci95", ci95, rate)},
    {OBJECT("spread", spread, struct carm_spread, spread_table), DETAIL},
    {POSITIVE("flops_per_cycle", flops_per_cycle), DETAIL},
    {POSITIVE("clock_hz", clock_hz), DETAIL},
    {COUNT("reps", reps, 1), DETAIL},
    {NAME("counted_by", counted_by), DETAIL},
    {BOOL("disturbed", disturbed)},
    {TEXT("note", note), DETAIL},
    {ARRAY("rounds", rounds, struct carm_round, ROUNDS_MAX, round_table), OPTIONAL_DETAIL},
};
static const struct carm_table compute_table = TABLE(compute_members);
#undef T

#define T struct carm_dram_peak
static const struct carm_member dram_peak_members[] = {
    {POSITIVE("bandwidth", bandwidth)},
    {NAME("code", code)},
};
static const struct carm_table dram_peak_table = TABLE(dram_peak_members);
#undef T

#define T struct carm_ceiling_roof
static const struct carm_member ceiling_members[] = {
    {WORD("group", group, enum carm_ceiling_group, group_word), KEY, .what = "group of ceilings"},
    {NAME("name", name), KEY},
    {TEXT("code", code)},
    {NUMBER("rate", rate, 0, CARM_JREAD_MOST)},
    {INTERVAL("ci95", ci95, rate)},
    {NONNEGATIVE("clock_hz", clock_hz)},
    {INT("threads", threads, 0)},
    {COUNT("working_set_bytes", working_set_bytes, 0)},
    {COUNT("reps", reps, 0)},
    {TEXT("counted_by", counted_by)},
    {BOOL("disturbed", disturbed)},
    {TEXT("note", note), .check = check_ceiling},
};
static const struct carm_table ceiling_table = TABLE(ceiling_members);
#undef T

#define T struct carm_roofs
static const struct carm_member roofs_members[] = {
    {NAME("isa", isa), KEY},
    {NAME("precision", precision), KEY},
    {INT("threads", threads, 1), KEY},
    {NAME("place", place), OPTIONAL},
    {NAME("cpus", cpus), OPTIONAL},
    {POSITIVE("clock_hz", clock_hz)},
    {ARRAY("memory", memory, struct carm_memory_roof, ROOFS_MAX, memory_table)},
    {ARRAY("compute", compute, struct carm_compute_roof, ROOFS_MAX, compute_table)},
    {NUMBER("handover_seconds", core_to_core_seconds, 0, 1), OPTIONAL_DETAIL},
    {NUMBER("validated_handover_seconds", validated_core_to_core_seconds, 0, 1), OPTIONAL_DETAIL},
    {OBJECT("dram_peak", dram_peak, struct carm_dram_peak, dram_peak_table), OPTIONAL},
    {ARRAY("ceilings", ceilings, struct carm_ceiling_roof, CEILINGS_MAX, ceiling_table), OPTIONAL,
     .check = check_ceilings},
};
static const struct carm_table roofs_table = TABLE(roofs_members);
#undef T

#define T struct carm_curve_point
static const struct carm_member bandwidth_members[] = {
    {POSITIVE_WHOLE("working_set_bytes", x)}, /* a whole number of bytes */
    {POSITIVE("bandwidth", value)},
    {INTERVAL("ci95", ci95, value)},
    {BOOL("disturbed", disturbed)},
};
static const struct carm_member performance_members[] = {
    {POSITIVE("flops", x)},
    {POSITIVE("performance", value)},
    {INTERVAL("ci95", ci95, value)},
    {BOOL("disturbed", disturbed)},
};
static const struct carm_table bandwidth_table = TABLE(bandwidth_members);
static const struct carm_table performance_table = TABLE(performance_members);
#undef T

#define T struct carm_curve
static const struct carm_member curve_members[] = {
    {NAME("isa", isa)},
    {NAME("precision", precision)},
    {INT("threads", threads, 1)},
    {NAME("ldst", kind)},
    {ARRAY("points", points, struct carm_curve_point, POINTS_MAX, bandwidth_table)},
};
static const struct carm_member flop_curve_members[] = {
    {NAME("isa", isa)},
    {NAME("precision", precision)},
    {INT("threads", threads, 1)},
    {NAME("op", kind)},
    {ARRAY("points", points, struct carm_curve_point, POINTS_MAX, performance_table)},
};
static const struct carm_table curve_table = TABLE(curve_members);
static const struct carm_table flop_curve_table = TABLE(flop_curve_members);
#undef T

#define T struct carm_checked
static const struct carm_member checked_members[] = {
    {NONNEGATIVE("constructed", constructed)},
    {NUMBER_OR_NULL("counted", counted)},
};
static const struct carm_table checked_table = TABLE(checked_members);
#undef T

#define T struct carm_count_check
static const struct carm_member count_check_members[] = {
    {NAME("code", code)},
    {NAME("counted_by", counted_by)},
    {TEXT("recipe", recipe)},
    {OBJECT("flops", flops, struct carm_checked, checked_table)},
    {OBJECT("loads", loads, struct carm_checked, checked_table)},
    {OBJECT("stores", stores, struct carm_checked, checked_table)},
    {NUMBER("deviation", deviation, -INFINITY, INFINITY)},
    {TEXT("note", note)},
};
static const struct carm_table count_check_table = TABLE(count_check_members);
#undef T

#define T struct carm_validation
static const struct carm_member score_members[] = {
    {NAME("isa", set.isa), KEY},
    {NAME("precision", set.precision), KEY},
    {NAME("op", set.op), KEY},
    {INT("threads", set.threads, 1), KEY},
    {NAME("model", model), KEY},
    {NAME("level", level), KEY, .check = check_level_or_all},
    {INT("n", n, 1)},
    {NONNEGATIVE("rrmse", rrmse)},
    {NONNEGATIVE("rrmse_model", rrmse_model)},
    {NUMBER("fitness", fitness, 0, 100)},
    {POSITIVE("worst_intensity", worst_intensity)},
    {NUMBER_ABOVE("worst_error", worst_error, -1)}, /* a measured value is positive */
    {NONNEGATIVE("rrmse_beside", rrmse_beside), OPTIONAL},
    {NUMBER("fitness_beside", fitness_beside, 0, 100), OPTIONAL},
};
static const struct carm_table score_table = TABLE(score_members);
#undef T

#define T struct carm_validation_point
static const struct carm_member point_members[] = {
    {NAME("isa", set.isa)},
    {NAME("precision", set.precision)},
    {NAME("op", set.op)},
    {INT("threads", set.threads, 1)},
    {NAME("level", level), .check = check_level},
    {NAME("code", code)},
    {POSITIVE("flops", flops)},
    {POSITIVE("bytes", bytes)},
    {POSITIVE("seconds", seconds), .check = check_performance},
    {INTERVAL_OF("ci95", ci95, performance_of)},
    {NUMBERS("traffic_bytes", traffic, ntraffic, CARM_TRAFFIC_MAX)},
    {NONNEGATIVE("slots", slots)},
    {POSITIVE("paired", paired), OPTIONAL},
    {POSITIVE("beside", beside), OPTIONAL},
    {POSITIVE("clock_hz", clock_hz)},
    {COUNT("working_set_bytes", working_set_bytes, 1)},
    {COUNT("reps", reps, 1)},
    {NAME("counted_by", counted_by)},
    {BOOL("disturbed", disturbed)},
    {TEXT("note", note)},
};
static const struct carm_table point_table = TABLE(point_members);
#undef T

#define T struct carm_validation_roof
static const struct carm_member roof_members[] = {
    {NAME("isa", set.isa), KEY},
    {NAME("precision", set.precision), KEY},
    {NAME("op", set.op), KEY},
    {INT("threads", set.threads, 1), KEY},
    {NAME("level", level), KEY, .check = check_level_or_peak},
    {NAME("code", code), KEY},
    {POSITIVE("model", model)},
    {POSITIVE("beside", beside)},
    {INTERVAL("beside_ci95", beside_ci95, beside)},
    {POSITIVE("rate", rate), OPTIONAL}, /* the four figures of the line */
    {NONNEGATIVE("rate_se", rate_se), WITH_LAST},
    {NUMBER("t0", t0, -INFINITY, INFINITY), WITH_LAST},
    {NONNEGATIVE("t0_se", t0_se), WITH_LAST},
    {BOOL("disturbed", disturbed)},
};
static const struct carm_table roof_table = TABLE(roof_members);
#undef T

#define T struct carm_validation_fit
static const struct carm_member fit_members[] = {
    {NAME("isa", set.isa), KEY},
    {NAME("precision", set.precision), KEY},
    {NAME("op", set.op), KEY},
    {INT("threads", set.threads, 1), KEY},
    {NAME("level", level), KEY, .check = check_level},
    {NAME("form", form), KEY},
    {INT("n", n, 1)},
    {POSITIVE("bandwidth", bandwidth)},
    {NONNEGATIVE("bandwidth_se", bandwidth_se)},
    {POSITIVE("peak", peak)},
    {NONNEGATIVE("peak_se", peak_se)},
    {NUMBER("correlation", correlation, -1, 1)},
    {POSITIVE("p", p), OPTIONAL},
    {NONNEGATIVE("p_se", p_se), WITH_LAST},
    {POSITIVE("issue", issue), OPTIONAL},
    {NUMBER("aicc", aicc, -INFINITY, INFINITY)},
    {NONNEGATIVE("cv_rrmse", cv_rrmse)},
    {NUMBER("cv_fitness", cv_fitness, 0, 100)},
    {BOOL("chosen", chosen)},
};
static const struct carm_table fit_table = TABLE(fit_members);
#undef T

#define T struct carm_core_together
static const struct carm_member together_members[] = {
    {INT("threads", threads, 1)},
    {NUMBER("latency", latency, 0, CARM_JREAD_MOST)},
    {INTERVAL("latency_ci95", latency_ci95, latency)},
    {NUMBER("throughput", throughput, 0, CARM_JREAD_MOST)},
    {INTERVAL("throughput_ci95", throughput_ci95, throughput)},
    {BOOL("disturbed", disturbed)},
};
static const struct carm_table together_table = TABLE(together_members);
#undef T

#define T struct carm_core_figure
static const struct carm_member core_members[] = {
    {WORD("kind", kind, enum carm_core_kind, core_word), KEY, .what = "kind of instruction"},
    {TEXT("isa", isa), KEY},
    {TEXT("precision", precision), KEY},
    {TEXT("code", code)},
    {NUMBER("latency", latency, 0, CARM_JREAD_MOST)},
    {INTERVAL("latency_ci95", latency_ci95, latency)},
    {NUMBER("throughput", throughput, 0, CARM_JREAD_MOST)},
    {INTERVAL("throughput_ci95", throughput_ci95, throughput)},
    {OBJECT("all_threads", together, struct carm_core_together, together_table), OPTIONAL},
    {NONNEGATIVE("clock_hz", clock_hz)},
    {BOOL("disturbed", disturbed)},
    {TEXT("note", note), .check = check_core},
};
static const struct carm_table core_table = TABLE(core_members);
#undef T

#define T struct carm_latency
static const struct carm_member latency_members[] = {
    {NAME("level", level), KEY},
    {WORD("order", order, enum carm_latency_order, order_word), KEY, .what = "order of a chase"},
    {COUNT("page_bytes", page_bytes, 1), KEY},
    {NUMBER("seconds", seconds, 0, CARM_JREAD_MOST)},
    {INTERVAL("ci95", ci95, seconds)},
    {NONNEGATIVE("cycles", cycles)},
    {NONNEGATIVE("clock_hz", clock_hz)},
    {COUNT("working_set_bytes", working_set_bytes, 0)},
    {COUNT_OR_NULL("reach_bytes", reach_bytes)},
    {BOOL("disturbed", disturbed)},
    {TEXT("note", note), .check = check_latency},
};
static const struct carm_table latency_table = TABLE(latency_members);
#undef T

#define T struct carm_latency_point
static const struct carm_member latency_point_members[] = {
    {COUNT("working_set_bytes", working_set_bytes, 1), KEY},
    {POSITIVE("seconds", seconds)},
    {INTERVAL("ci95", ci95, seconds)},
    {NONNEGATIVE("cycles", cycles)},
    {BOOL("disturbed", disturbed)},
};
static const struct carm_table latency_point_table = TABLE(latency_point_members);
#undef T

#define T struct carm_latency_curve
static const struct carm_member latency_curve_members[] = {
    {WORD("order", order, enum carm_latency_order, order_word), KEY, .what = "order of a chase"},
    {COUNT("page_bytes", page_bytes, 1), KEY},
    {ARRAY("points", points, struct carm_latency_point, ROOFS_MAX, latency_point_table)},
};
static const struct carm_table latency_curve_table = TABLE(latency_curve_members);
#undef T

#define T struct carm_in_flight_point
static const struct carm_member in_flight_point_members[] = {
    {INT("chains", chains, 1), KEY},
    {POSITIVE("rate", rate)},
    {INTERVAL("ci95", ci95, rate)},
    {BOOL("disturbed", disturbed)},
};
static const struct carm_table in_flight_point_table = TABLE(in_flight_point_members);
#undef T

#define T struct carm_in_flight
static const struct carm_member in_flight_members[] = {
    {NAME("level", level), KEY},
    {NAME("code", code), KEY},
    {COUNT("page_bytes", page_bytes, 1), KEY},
    {COUNT("working_set_bytes", working_set_bytes, 1)},
    {POSITIVE("latency_seconds", latency_seconds)},
    {POSITIVE("rate", rate)},
    {INTERVAL("ci95", ci95, rate)},
    {INT("chains", chains, 1)},
    {POSITIVE("lines", lines)},
    {BOOL("disturbed", disturbed)},
    {TEXT("note", note)},
    {ARRAY("points", points, struct carm_in_flight_point, ROOFS_MAX, in_flight_point_table)},
};
static const struct carm_table in_flight_table = TABLE(in_flight_members);
#undef T

#define T struct carm_loaded_point
static const struct carm_member loaded_point_members[] = {
    {POSITIVE("bandwidth", bandwidth)},
    {POSITIVE("seconds", seconds)},
    {INTERVAL("ci95", ci95, seconds)},
    {BOOL("disturbed", disturbed)},
};
static const struct carm_table loaded_point_table = TABLE(loaded_point_members);
#undef T

#define T struct carm_loaded
static const struct carm_member loaded_members[] = {
    {NAME("ldst", ldst), KEY},
    {INT("threads", threads, 2), KEY},
    {COUNT("page_bytes", page_bytes, 1)},
    {ARRAY("points", points, struct carm_loaded_point, ROOFS_MAX, loaded_point_table)},
};
static const struct carm_table loaded_table = TABLE(loaded_members);
#undef T

#define T struct carm_core_pair
static const struct carm_member core_pair_members[] = {
    {INT("from", from, 0), KEY},    {INT("to", to, 0), KEY},
    {POSITIVE("seconds", seconds)}, {INTERVAL("ci95", ci95, seconds)},
    {BOOL("disturbed", disturbed)},
};
static const struct carm_table core_pair_table = TABLE(core_pair_members);
#undef T

#define T struct carm_numa_node
static const struct carm_member numa_node_members[] = {
    {INT("node", node, 0), KEY},
    {INT("cores", cores, 0)},
    {COUNT("memory_bytes", memory_bytes, 1)},
    {TEXT("kind", kind)},
};
static const struct carm_table numa_node_table = TABLE(numa_node_members);
#undef T

#define T struct carm_numa_pair
static const struct carm_member numa_pair_members[] = {
    {INT("from", from, CARM_NUMA_ALL), KEY},
    {INT("to", to, CARM_NUMA_ALL), KEY},
    {INT("threads", threads, 1)},
    {NUMBER("bandwidth", bandwidth, 0, CARM_JREAD_MOST)},
    {INTERVAL("bandwidth_ci95", bandwidth_ci95, bandwidth)},
    {TEXT("code", code)},
    {COUNT("working_set_bytes", working_set_bytes, 0)},
    {NUMBER("seconds", seconds, 0, CARM_JREAD_MOST)},
    {INTERVAL("seconds_ci95", seconds_ci95, seconds)},
    {COUNT("page_bytes", page_bytes, 0)},
    {BOOL("disturbed", disturbed)},
    {TEXT("note", note), .check = check_numa},
};
static const struct carm_table numa_pair_table = TABLE(numa_pair_members);
#undef T

#define T struct carm_scaling_point
static const struct carm_member scaling_point_members[] = {
    {INT("threads", threads, 1), KEY},
    {POSITIVE("rate", rate)},
    {INTERVAL("ci95", ci95, rate)},
    {NAME("code", code)},
    {COUNT("working_set_bytes", working_set_bytes, 0)},
    {BOOL("disturbed", disturbed)},
};
static const struct carm_table scaling_point_table = TABLE(scaling_point_members);
#undef T

#define T struct carm_scaling
static const struct carm_member scaling_members[] = {
    {NAME("layout", layout), KEY},
    {NAME("isa", isa), KEY},
    {NAME("precision", precision), KEY},
    {NAME("level", level), KEY, .check = check_level_or_peak},
    {NAME("kind", kind), KEY},
    {ARRAY("points", points, struct carm_scaling_point, ROOFS_MAX, scaling_point_table),
     .check = check_scaling},
};
static const struct carm_table scaling_table = TABLE(scaling_members);
#undef T

#define T struct carm_scaling_unit
static const struct carm_member scaling_unit_members[] = {
    {NAME("place", place), KEY},
    {INT("threads", threads, 1)},
};
static const struct carm_table scaling_unit_table = TABLE(scaling_unit_members);
#undef T

#define T struct carm_model
static const struct carm_member model_members[] = {
    {.name = "schema",
     .kind = CARM_MEMBER_CONST,
     .what = CARM_MODEL_SCHEMA}, /* checked before the other members */
    {TEXT("created", created)},
    {TEXT("carm_version", carm_version)},
    {NAME("carm_commit", carm_commit), OPTIONAL},
    {OBJECT("machine", machine, struct carm_machine, machine_table)},
    {OBJECT("config", config, struct carm_config, config_table)},
    {ARRAY("levels", levels, struct carm_level, SETS_MAX, level_table)},
    {ARRAY("roofs", roofs, struct carm_roofs, SETS_MAX, roofs_table)},
    {ARRAY("curves", curves, struct carm_curve, CURVES_MAX, curve_table), DETAIL},
    {ARRAY("flop_curves", flop_curves, struct carm_curve, CURVES_MAX, flop_curve_table), DETAIL},
    {ARRAY("core", core, struct carm_core_figure, ROOFS_MAX, core_table), OPTIONAL_DETAIL},
    {ARRAY("latency", latency, struct carm_latency, ROOFS_MAX, latency_table), OPTIONAL},
    {ARRAY("latency_curves", latency_curves, struct carm_latency_curve, SETS_MAX,
           latency_curve_table),
     OPTIONAL_DETAIL},
    {ARRAY("in_flight", in_flight, struct carm_in_flight, SETS_MAX, in_flight_table),
     OPTIONAL_DETAIL},
    {ARRAY("loaded", loaded, struct carm_loaded, SETS_MAX, loaded_table), OPTIONAL_DETAIL},
    {ARRAY("core_to_core", core_to_core, struct carm_core_pair, ENTRIES_MAX, core_pair_table),
     OPTIONAL_DETAIL},
    {ARRAY("numa_nodes", numa_nodes, struct carm_numa_node, CARM_NUMA_NODES_MAX, numa_node_table),
     OPTIONAL_DETAIL},
    {ARRAY("numa", numa, struct carm_numa_pair, ENTRIES_MAX, numa_pair_table), OPTIONAL_DETAIL},
    {ARRAY("scaling", scaling, struct carm_scaling, SETS_MAX, scaling_table), OPTIONAL_DETAIL},
    {ARRAY("scaling_units", scaling_units, struct carm_scaling_unit, SETS_MAX, scaling_unit_table),
     OPTIONAL_DETAIL},
    {ARRAY("count_checks", checks, struct carm_count_check, CHECKS_MAX, count_check_table),
     OPTIONAL_DETAIL},
    {NAME("validated", validated), OPTIONAL_DETAIL},
    {ARRAY("validation", validation, struct carm_validation, ENTRIES_MAX, score_table), DETAIL},
    {ARRAY("validation_points", validation_points, struct carm_validation_point, POINTS_MAX,
           point_table),
     OPTIONAL_DETAIL},
    {ARRAY("validation_roofs", validation_roofs, struct carm_validation_roof, ENTRIES_MAX,
           roof_table),
     OPTIONAL_DETAIL},
    {ARRAY("validation_fits", validation_fits, struct carm_validation_fit, ENTRIES_MAX, fit_table),
     OPTIONAL_DETAIL},
    {ARRAY("kinds", kinds, struct carm_model, CARM_KINDS_MAX, carm_model_table), OPTIONAL_DETAIL,
     .check = check_kinds},
};
const struct carm_table carm_model_table = TABLE(model_members);
#undef T

/* ---- reading ---- */

static int parse(const char *text, size_t size_bytes, const char *name, bool lean,
                 struct carm_model **out, struct carm_err *err)
{
    struct carm_jread r = {.file = name, .err = err};
    *out = NULL;
    json_t *root = carm_jread_parse(&r, text, size_bytes);
    if (!root) {
        return r.rc;
    }
    struct carm_model *m = calloc(1, sizeof *m);
    if (!m) {
        json_decref(root);
        return carm_fail(err, CARM_ENOMEM, "out of memory while reading %.200s", name);
    }
    carm_table_read(&r, root, &carm_model_table, lean, m);
    json_decref(root);
    if (r.rc) {
        carm_model_free(m);
        return r.rc;
    }
    *out = m;
    return 0;
}

int carm_model_parse(const char *text, size_t size_bytes, const char *name, struct carm_model **out,
                     struct carm_err *err)
{
    return parse(text, size_bytes, name, false, out, err);
}

struct carm_model *carm_model_parse_lean(const char *text, size_t size)
{
    struct carm_model *m = NULL;
    char *cut = malloc(size + 1);
    const size_t used = cut ? carm_table_cut(&carm_model_table, text, size, cut) : 0;
    if (used) {
        parse(cut, used, "", true, &m, NULL);
    }
    free(cut);
    return m;
}

int carm_model_load(const char *path, char **text, size_t *size_bytes, struct carm_err *err)
{
    *text = NULL;
    *size_bytes = 0;
    size_t used = 0, room = 0;
    char *buf = NULL;
    int rc = 0;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT) {
        return carm_fail(err, CARM_EIO,
                         "there is no model file %.256s: run `carm build` to create it, or "
                         "correct the name",
                         path);
    }
    if (fd < 0) {
        return carm_fail(err, CARM_EIO, "cannot read %.256s: %s", path, strerror(errno));
    }
    for (;;) {
        /* Reading one byte more than allowed shows that a file is too long; one byte is for the
         * final zero. */
        if (used + 1 >= room) {
            room = room ? room * 2 : 1 << 16;
            char *more = realloc(buf, room);
            if (!more) {
                rc = carm_fail(err, CARM_ENOMEM, "out of memory while reading %.256s", path);
                goto out;
            }
            buf = more;
        }
        ssize_t n = read(fd, buf + used, room - used - 1);
        if (n < 0 && errno == EINTR) {
            continue;
        }
        if (n < 0) {
            rc = carm_fail(err, CARM_EIO, "cannot read %.256s: %s", path, strerror(errno));
            goto out;
        }
        if (n == 0) {
            break;
        }
        used += (size_t)n;
        if (used > FILE_BYTES_MAX) {
            rc = carm_fail(err, CARM_EFORMAT,
                           "%.256s: is larger than 64 MiB, the limit for a model file", path);
            goto out;
        }
    }
    buf[used] = 0;
    *text = buf;
    *size_bytes = used;
    buf = NULL;
out:
    free(buf);
    carm_fd_close(fd);
    return rc;
}

int carm_model_read(const char *path, struct carm_model **out, struct carm_err *err)
{
    char *text = NULL;
    size_t size_bytes = 0;
    *out = NULL;
    int rc = carm_model_load(path, &text, &size_bytes, err);
    if (rc == 0) {
        rc = carm_model_parse(text, size_bytes, path, out, err);
    }
    free(text);
    return rc;
}

/* ---- writing ---- */

char *carm_model_to_json(const struct carm_model *m)
{
    return carm_jwrite_line(carm_table_make(&carm_model_table, m), JSON_INDENT(1));
}

int carm_model_write(const struct carm_model *model, const char *path, struct carm_err *err)
{
    struct carm_model *back = NULL;
    char *s = carm_model_to_json(model);
    if (!s) {
        return carm_fail(err, CARM_ENOMEM, "out of memory while writing %.256s", path);
    }
    /* The written text is read back first, so no file is written that the next command would
     * refuse. */
    size_t n = strlen(s);
    int rc = carm_model_parse(s, n, "the model to be written", &back, err);
    if (rc == -CARM_EFORMAT) {
        rc = -CARM_EINVAL;
    }
    if (rc == 0) {
        rc = carm_outfile_put(path, s, n, err);
    }
    carm_model_free(back);
    free(s);
    return rc;
}

void carm_model_free(struct carm_model *model)
{
    if (model) {
        carm_table_free(&carm_model_table, model);
        free(model);
    }
}
