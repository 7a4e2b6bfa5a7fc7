/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/classes/codes.h"

#include <assert.h>
#include <math.h>
#include <string.h>

const struct carm_class carm_classes[CARM_CLASS_COUNT] = {
    [CARM_APP_L1] = {"APP-L1", "L1", 4608, 72},
    [CARM_APP_L3] = {"APP-L3", "L3", (uint64_t)2 << 20, 524288},
    [CARM_APP_D] = {"APP-D", "DRAM", (uint64_t)61 << 20, 1023410176},
};

/* Instructions of a loop: short loops pay for loop control, long loops exceed the window in which the core
 * finds work (validation/validate/plan.c). */
enum { LOOP_MIN = 24, LOOP_MAX = 192 };

uint64_t carm_class_enlarge(uint64_t bytes, uint64_t cache_bytes, int threads)
{
    const uint64_t mib = (uint64_t)1 << 20;
    const uint64_t n = threads > 0 ? (uint64_t)threads : 1;
    const uint64_t each = (cache_bytes * CARM_CLASS_LEAVE + n - 1) / n;
    return each <= bytes ? bytes : (each + mib - 1) / mib * mib;
}

static uint64_t gcd(uint64_t a, uint64_t b)
{
    while (b) {
        const uint64_t t = a % b;
        a = b;
        b = t;
    }
    return a;
}

static uint64_t flops_per_instruction(const struct carm_code_spec *s)
{
    return (uint64_t)carm_isa_lanes(s->isa, s->precision) * (s->op == CARM_FMA ? 2 : 1);
}

static uint64_t distance(uint64_t a, uint64_t b)
{
    return a > b ? a - b : b - a;
}

/* The whole number of pieces nearest to want, at least one. */
static uint64_t nearest(uint64_t want, uint64_t piece)
{
    assert(piece > 0); /* a loop has units */
    const uint64_t n = (want + piece / 2) / piece;
    return (n ? n : 1) * piece;
}

/* Sets units and floating-point instructions (always pairs) of the shortest loop with the class's
 * intensity. */
static void shortest_loop(struct carm_code_spec *s, const struct carm_class *class)
{
    const uint64_t g = gcd(class->flops, class->bytes);
    const uint64_t up = class->flops / g * carm_mix_unit_bytes(s);
    const uint64_t down = class->bytes / g * 2 * flops_per_instruction(s);
    const uint64_t both = gcd(up, down);
    s->units = (unsigned)(down / both);
    s->fps = (unsigned)(2 * (up / both));
}

static unsigned instructions(const struct carm_code_spec *s)
{
    return s->units * (s->mix.loads + s->mix.stores) + s->fps;
}

/* Bytes that a code covers with whole loops, nearest to the wanted number. */
static uint64_t covered(const struct carm_code_spec *s, const struct carm_class_plan *plan)
{
    return nearest(plan->wanted, s->units * carm_mix_unit_bytes(s));
}

/* Makes the shortest loop m times as long. returns whether the result is worth trying */
static bool multiple(const struct carm_code_spec *shortest, unsigned m, struct carm_code_spec *s)
{
    const unsigned one = instructions(shortest);
    *s = *shortest;
    s->units *= m;
    s->fps *= m;
    return one * m >= LOOP_MIN && (m == 1 || one * m <= LOOP_MAX);
}

static void add_spec(struct carm_class_plan *plan, const struct carm_code_spec *s)
{
    for (size_t i = 0; i < plan->nspecs; i++) {
        const struct carm_code_spec *o = &plan->specs[i];
        if (o->op == s->op && o->units == s->units && o->chains == s->chains &&
            o->prefetch_bytes == s->prefetch_bytes && o->order == s->order &&
            o->block == s->block) {
            return;
        }
    }
    if (plan->nspecs < CARM_CLASS_CODES_MAX) {
        plan->specs[plan->nspecs++] = *s;
    }
}

/* Adds one loop in its schedules. Chains, blocks and prefetch distances: see validation/validate/plan.c, which
 * explains each. In the first level, prefetches only take time. */
static void add_schedules(struct carm_class_plan *plan, const struct carm_code_spec *loop)
{
    static const unsigned prefetches[] = {0, 256, 1024, 512, 2048};
    static const unsigned chains[] = {12, 5};
    static const unsigned blocks[] = {1, 4, 0};
    const bool first_level = plan->class == &carm_classes[CARM_APP_L1];
    const bool compute = plan->class == &carm_classes[CARM_APP_D];
    const bool both = !carm_mix_is_pure(&loop->mix) && loop->units > 1;
    for (size_t p = 0; p < (first_level ? 1 : sizeof prefetches / sizeof *prefetches); p++) {
        for (size_t c = 0; c < (compute ? sizeof chains / sizeof *chains : 1); c++) {
            for (size_t b = 0; b < (both && !compute ? sizeof blocks / sizeof *blocks : 1); b++) {
                struct carm_code_spec s = *loop;
                s.prefetch_bytes = prefetches[p];
                s.chains = chains[c] < s.fps / 2 ? chains[c] : s.fps / 2;
                s.order = blocks[b] == 1 ? CARM_ORDER_UNIT : CARM_ORDER_BLOCK;
                s.block = blocks[b] != 1 && blocks[b] < s.units ? blocks[b] : 0;
                add_spec(plan, &s);
            }
        }
    }
}

static int check_target(const struct carm_class_target *t, struct carm_err *err)
{
    if (t->mix.nontemporal || t->mix.update || t->mix.loads + t->mix.stores == 0) {
        return carm_fail(
            err, CARM_ENOTSUP,
            "the application classes touch each byte once in an iteration and keep it "
            "in a cache, which updates and non-temporal stores do not: take a model of "
            "another mix (carm build --ldst 2:1)");
    }
    for (size_t i = 0; i < t->nops; i++) {
        if (carm_isa_has_op(t->isa, t->precision, t->ops[i])) {
            return 0;
        }
    }
    return carm_fail(err, CARM_EINVAL, "%s has none of the operations of these classes",
                     carm_isa_name(t->isa));
}

int carm_class_plan(struct carm_class_plan *plan, const struct carm_class *class, uint64_t wanted,
                    const struct carm_class_target *target, struct carm_err *err)
{
    struct carm_code_spec loop;
    memset(plan, 0, sizeof *plan);
    plan->class = class;
    plan->wanted = wanted;
    const int rc = check_target(target, err);
    if (rc) {
        return rc;
    }
    /* first round: finds the work nearest to the wanted one; second round: all loops that do this work */
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < target->nops; i++) {
            struct carm_code_spec shortest = {.kind = CARM_KIND_C,
                                              .isa = target->isa,
                                              .precision = target->precision,
                                              .mix = target->mix,
                                              .op = target->ops[i]};
            if (!carm_isa_has_op(target->isa, target->precision, shortest.op)) {
                continue;
            }
            shortest_loop(&shortest, class);
            for (unsigned m = 1; m <= LOOP_MAX; m++) {
                if (!multiple(&shortest, m, &loop)) {
                    continue;
                }
                const uint64_t bytes = covered(&loop, plan);
                if (round == 0 &&
                    (!plan->bytes || distance(bytes, wanted) < distance(plan->bytes, wanted))) {
                    plan->bytes = bytes;
                } else if (round == 1 && bytes == plan->bytes) {
                    add_schedules(plan, &loop);
                }
            }
        }
    }
    const uint64_t g = gcd(class->flops, class->bytes);
    plan->flops = plan->bytes / (class->bytes / g) * (class->flops / g);
    return 0;
}

bool carm_class_exact(const struct carm_class_plan *plan)
{
    return plan->bytes == plan->class->bytes && plan->flops == plan->class->flops;
}

struct carm_account carm_class_account(const struct carm_class_plan *plan)
{
    const struct carm_mix *mix = &plan->specs[0].mix;
    const uint64_t piece = plan->bytes / (mix->loads + mix->stores);
    return (struct carm_account){.load_bytes = piece * mix->loads,
                                 .store_bytes = piece * mix->stores,
                                 .flops = plan->flops,
                                 .stride_bytes = plan->bytes};
}

struct carm_class_work carm_class_work(const struct carm_class_plan *plan,
                                       const struct carm_account *account, uint64_t iterations,
                                       int threads)
{
    const uint64_t whole = plan->bytes / account->stride_bytes;
    const double loops = (double)whole * (double)iterations * threads;
    return (struct carm_class_work){.flops = loops * (double)account->flops,
                                    .load_bytes = loops * (double)account->load_bytes,
                                    .store_bytes = loops * (double)account->store_bytes};
}

size_t carm_class_next(const double *cost, size_t n, double left)
{
    size_t best = n;
    for (size_t i = 0; i < n; i++) {
        if (cost[i] > 0.0 && cost[i] <= left && (best == n || cost[i] < cost[best])) {
            best = i;
        }
    }
    return best;
}

size_t carm_class_runs(double seconds)
{
    const double in_all = 0.1;   /* seconds that the runs of a short instance take */
    const double patience = 1.5; /* most seconds of an instance that is run three times */
    const double most = 1001.0;
    const size_t n = (size_t)fmin(most, in_all / fmax(seconds, 1e-9));
    if (n >= 3) {
        return n % 2 ? n : n - 1;
    }
    return 3.0 * seconds <= patience ? 3 : 1;
}
