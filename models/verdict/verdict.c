/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/verdict/verdict.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

const char *carm_advice_name(enum carm_advice_code code)
{
#define CARM_ADVICE_NAME(id, name, words) name,
    static const char *const names[] = {CARM_ADVICE_TABLE(CARM_ADVICE_NAME)};
    return names[code];
}

const char *carm_advice_words(enum carm_advice_code code)
{
#define CARM_ADVICE_WORDS(id, name, words) words,
    /* NOLINTNEXTLINE(bugprone-suspicious-missing-comma): texts of several lines */
    static const char *const all[] = {CARM_ADVICE_TABLE(CARM_ADVICE_WORDS)};
    return all[code];
}

static void advise(struct carm_verdict *v, enum carm_advice_code code)
{
    if (v->nadvice < CARM_VERDICT_ADVICE_MAX) {
        v->advice[v->nadvice++] = (struct carm_verdict_advice){.code = code, .removes = v->limit};
    }
}

/* The share of a limit's port time without accesses across two lines; 0 = not known, or no port limit */
static double whole_lines(enum carm_limit limit, const struct carm_verdict_code *code)
{
    return limit == CARM_LIMIT_LOADS    ? code->whole_lines
           : limit == CARM_LIMIT_STORES ? code->whole_stores
                                        : 0.0;
}

/* Ways to remove a limit, the most promising first. */
static void find_advice(struct carm_verdict *v, const struct carm_verdict_code *code)
{
    const double whole = whole_lines(v->limit, code);
    if (code->math && !carm_limit_is_memory(v->limit)) {
        advise(v, CARM_ADVICE_VECTOR_MATH);
        return;
    }
    switch (v->limit) {
    case CARM_LIMIT_ISSUE:
    case CARM_LIMIT_FP:
    case CARM_LIMIT_INTEGER:
    case CARM_LIMIT_LOADS:
    case CARM_LIMIT_STORES:
    case CARM_LIMIT_L1:
        if (whole > 0.0 && whole < CARM_VERDICT_BOTH) {
            advise(v, CARM_ADVICE_ALIGN);
        } else if (code->scalar && !code->body) {
            advise(v, CARM_ADVICE_VECTORISE);
        } else if (code->narrow && !code->body) {
            advise(v, CARM_ADVICE_WIDEN);
        } else if (v->limit == CARM_LIMIT_ISSUE) {
            advise(v, CARM_ADVICE_FEWER_INSTRUCTIONS);
        } else if (!v->estimate) {
            advise(v, CARM_ADVICE_NOTHING);
        }
        break;
    case CARM_LIMIT_DIVIDER:
        advise(v, CARM_ADVICE_FEWER_DIVISIONS);
        if (code->scalar && !code->body) {
            advise(v, CARM_ADVICE_VECTORISE);
        }
        break;
    case CARM_LIMIT_CHAIN:
        advise(v, code->sums ? CARM_ADVICE_BREAK_CHAIN : CARM_ADVICE_INTERLEAVE);
        if (code->scalar && !code->body && code->widening > 1.0) {
            advise(v, CARM_ADVICE_VECTORISE);
        }
        break;
    case CARM_LIMIT_L2:
    case CARM_LIMIT_L3:
    case CARM_LIMIT_DRAM:
        advise(v, code->strided ? CARM_ADVICE_UNIT_STRIDE : CARM_ADVICE_BLOCK);
        if (code->plain_stores && v->limit == CARM_LIMIT_DRAM) {
            advise(v, CARM_ADVICE_STREAM_STORES);
        }
        break;
    case CARM_LIMIT_LATENCY:
        advise(v, code->strided ? CARM_ADVICE_UNIT_STRIDE : CARM_ADVICE_PREFETCH);
        break;
    case CARM_LIMIT_TLB: /* its bound adds the advice of huge pages */
        if (code->strided) {
            advise(v, CARM_ADVICE_UNIT_STRIDE);
        }
        break;
    case CARM_LIMIT_BRANCHES:
        advise(v, CARM_ADVICE_NO_BRANCH);
        break;
    case CARM_LIMIT_FORWARDING:
        advise(v, CARM_ADVICE_KEEP_IN_REGISTER);
        break;
    case CARM_LIMIT_KERNEL:
        advise(v, code->faults > CARM_VERDICT_FAULTS_MOST   ? CARM_ADVICE_FEWER_FAULTS
                  : code->faults <= CARM_VERDICT_FAULTS_FEW ? CARM_ADVICE_FEWER_CALLS
                                                            : CARM_ADVICE_LESS_KERNEL);
        break;
    case CARM_LIMIT_WAITING:
        advise(v, CARM_ADVICE_BALANCE);
        break;
    default:
        break;
    }
}

static double amdahl(double share, double gain)
{
    return 1.0 / (1.0 - share + share / gain);
}

/* The largest bound of a kind that still holds; NULL = none. The bound of the loop's counter and jump, which unrolling
 * removes, yields to bounds that are equal within the error of rates. */
static const struct carm_lower_bound *largest(const struct carm_bounds *b, bool estimate,
                                              enum carm_limit but)
{
    static const double alike =
        0.98; /* rates of one core repeat within 1% from build to build: docs/results.md */
    const struct carm_lower_bound *found = NULL;
    for (size_t i = 0; i < b->n; i++) {
        const struct carm_lower_bound *c = &b->of[i];
        if (c->refuted || c->estimate != estimate || c->limit == but) {
            continue;
        }
        if (!found) {
            found = c;
        } else if (found->unrolls && !c->unrolls && c->seconds >= alike * found->seconds) {
            return c;
        }
    }
    return found;
}

/* The smallest refuted bound by memory shared with other programs, whose traffic changes its rates within hours. Bounds
 * by translations and small pages are left out, as larger pages also refute these. NULL = none */
static const struct carm_lower_bound *nearly_refuted(const struct carm_bounds *b, double seconds)
{
    /* a load of 6 MiB in the L3 of a guest took 130 ns while its model was made, and 45 ns an hour later */
    static const double most = 4.0;
    const struct carm_lower_bound *found = NULL;
    for (size_t i = 0; i < b->n && b->of[i].seconds > CARM_VERDICT_OVER * seconds; i++) {
        const struct carm_lower_bound *c = &b->of[i];
        const bool shared = c->limit == CARM_LIMIT_LATENCY || c->limit == CARM_LIMIT_L3 ||
                            c->limit == CARM_LIMIT_DRAM;
        if (shared && !c->estimate && !c->small_pages && c->seconds < most * seconds) {
            found = c;
        }
    }
    return found;
}

/* The largest bound by resources that the two hardware threads of a core share: units, ports and private caches. Chains
 * and mispredictions take the same time beside another thread. NULL = none */
static const struct carm_lower_bound *largest_shared(const struct carm_bounds *b)
{
    const struct carm_lower_bound *found = NULL;
    for (size_t i = 0; i < b->n && !found; i++) {
        const enum carm_limit limit = b->of[i].limit;
        const bool core = limit == CARM_LIMIT_ISSUE || limit == CARM_LIMIT_FP ||
                          limit == CARM_LIMIT_DIVIDER || limit == CARM_LIMIT_INTEGER ||
                          limit == CARM_LIMIT_LOADS || limit == CARM_LIMIT_STORES ||
                          limit == CARM_LIMIT_L1 || limit == CARM_LIMIT_L2;
        found = core && !b->of[i].refuted && !b->of[i].estimate ? &b->of[i] : NULL;
    }
    return found;
}

/* The largest bound by memory behind the caches. NULL = none */
static struct carm_lower_bound *largest_of_memory(struct carm_bounds *b)
{
    struct carm_lower_bound *found = NULL;
    for (size_t i = 0; i < b->n && !found; i++) {
        const enum carm_limit limit = b->of[i].limit;
        const bool memory =
            limit == CARM_LIMIT_DRAM || limit == CARM_LIMIT_LATENCY || limit == CARM_LIMIT_TLB;
        found = memory && !b->of[i].refuted && !b->of[i].estimate ? &b->of[i] : NULL;
    }
    return found;
}

/* Sum of the times of core and memory levels. They overlap as far as instructions in flight and prefetches reach ahead.
 * Without overlap, their times add up; source: Treibig, Hager 2010, Introducing a Performance Model for
 * Bandwidth-Limited Loop Kernels. A sweep over rows of 2000 numbers, whose bounds explain 44% by memory and 35% by load
 * ports, takes nearly the sum of all.
 * first, second  out: the largest parts
 * returns seconds of the sum; 0 = only one part matters */
static double one_after_the_other(const struct carm_bounds *b, double seconds,
                                  const struct carm_lower_bound **first,
                                  const struct carm_lower_bound **second)
{
    static const double counts = 0.1; /* share of the time: less is within the error of the other
                                       * parts */
    enum part { CORE, L2, L3, MEMORY, TRANSLATION, PARTS };
    const struct carm_lower_bound *of[PARTS] = {NULL}; /* from the largest */
    double sum = 0.0;
    *first = *second = NULL;
    for (size_t i = 0; i < b->n; i++) {
        const struct carm_lower_bound *c = &b->of[i];
        const enum part part = c->limit == CARM_LIMIT_L2        ? L2
                               : c->limit == CARM_LIMIT_L3      ? L3
                               : c->limit == CARM_LIMIT_TLB     ? TRANSLATION
                               : carm_limit_is_memory(c->limit) ? MEMORY
                                                                : CORE;
        if (of[part] || c->refuted || c->estimate) {
            continue;
        }
        of[part] = c;
        /* the rate of scattered lines with small pages includes their translations */
        sum += part == MEMORY && c->huge_seconds > 0.0 ? c->huge_seconds : c->seconds;
        *second = *first && !*second ? c : *second;
        *first = *first ? *first : c;
    }
    return *second && (*second)->seconds >= counts * seconds ? sum : 0.0;
}

static bool advises(const struct carm_verdict *v, enum carm_advice_code code)
{
    bool any = false;
    for (size_t i = 0; i < v->nadvice; i++) {
        any = any || v->advice[i].code == code;
    }
    return any;
}

/* The least seconds of a bound after the change that removes the limit. */
static double remains(const struct carm_verdict *v, const struct carm_lower_bound *b,
                      const struct carm_verdict_code *code)
{
    const double wider = code->widening > 1.0 && !code->body ? code->widening : 1.0;
    const bool removed = b->limit == v->limit;
    if (b->locked && advises(v, CARM_ADVICE_APART)) { /* data of one thread needs no locks */
        return 0.0;
    }
    if (carm_limit_is_memory(v->limit) && !carm_limit_is_memory(b->limit)) {
        return b->seconds;
    }
    if (v->limit == CARM_LIMIT_TLB && !advises(v, CARM_ADVICE_UNIT_STRIDE)) {
        return b->small_pages ? b->huge_seconds : b->seconds;
    }
    if (carm_limit_is_memory(v->limit) && advises(v, CARM_ADVICE_PREFETCH)) {
        return !removed ? b->seconds : code->independent;
    }
    if (carm_limit_is_memory(v->limit) && advises(v, CARM_ADVICE_UNIT_STRIDE)) {
        /* each line comes once, not once for each of its numbers */
        const double used = code->dense > 0.0 ? fmin(code->used, code->dense) : code->used;
        return b->limit == CARM_LIMIT_LATENCY || b->limit == CARM_LIMIT_TLB
                   ? 0.0
                   : b->seconds * fmax(0.0, used);
    }
    if (carm_limit_is_memory(v->limit) || carm_limit_is_memory(b->limit)) {
        return carm_limit_is_memory(v->limit) ? 0.0 : b->seconds; /* blocking keeps the data in
                                                                   * L1 */
    }
    if (v->limit == CARM_LIMIT_FORWARDING) { /* the variables are in registers */
        const bool unit = b->limit == CARM_LIMIT_FP || b->limit == CARM_LIMIT_DIVIDER;
        return removed ? code->chain_left : unit ? b->seconds : 0.0;
    }
    if (removed && advises(v, CARM_ADVICE_ALIGN)) {
        return b->seconds * whole_lines(v->limit, code);
    }
    if (removed && v->limit == CARM_LIMIT_CHAIN) { /* with any number of parallel chains */
        return 0.0;
    }
    return b->unrolls || (removed && !(wider > 1.0)) ? 0.0 : b->seconds / wider;
}

/* Range of the gain. High: the largest bound after the change remains, with the machine's widest vectors where the code
 * has narrower ones. Low: the next bound remains, the work that replaces the limit costs as much again, and time that
 * no bound explains remains; a chain becomes `few` overlapping chains.
 * seconds  without the time that another hardware thread takes */
static void find_gain(struct carm_verdict *v, const struct carm_lower_bound *first,
                      const struct carm_verdict_code *code, double seconds, double share)
{
    const struct carm_lower_bound *next = largest(&v->bounds, false, v->limit);
    const double rest = seconds - fmin(seconds, first->seconds);
    /* parallel accumulators, elements of a vector, or lists: compilers make vectors of 4 numbers from AVX2 on */
    static const double few = 4.0;
    const bool overlap = v->limit == CARM_LIMIT_CHAIN || advises(v, CARM_ADVICE_PREFETCH);
    const double stays = rest + fmax(2.0 * (next ? next->seconds : 0.0),
                                     overlap ? fmin(seconds, first->seconds) / few : 0.0);
    double left = 0.0;
    for (size_t i = 0; i < v->bounds.n; i++) {
        const struct carm_lower_bound *b = &v->bounds.of[i];
        left = b->refuted || b->estimate ? left : fmax(left, remains(v, b, code));
    }
    v->loop.high = left > 0.0 ? fmax(1.0, seconds / left) : INFINITY;
    v->loop.low = stays > 0.0 ? fmin(v->loop.high, fmax(1.0, seconds / stays)) : 1.0;
    const bool over = first->estimate && first->seconds > seconds;
    if (v->limit == CARM_LIMIT_KERNEL || v->limit == CARM_LIMIT_WAITING || first->at_most ||
        first->refuted || over) {
        v->loop.low = 1.0; /* the removable part is not known */
    }
    if (code->repeats) { /* the largest gain leaves the time of the string instructions in L1, if their rate is known */
        v->loop = (struct carm_verdict_gain){1.0, INFINITY};
        for (size_t i = 0; i < v->bounds.n; i++) {
            const struct carm_lower_bound *b = &v->bounds.of[i];
            v->loop.high = b->strings ? fmax(1.0, seconds / b->seconds) : v->loop.high;
        }
    }
    if (v->nadvice == 1 && v->advice[0].code == CARM_ADVICE_NOTHING) {
        v->loop.low = v->loop.high = 1.0;
    }
    v->program.low = amdahl(share, v->loop.low);
    v->program.high = amdahl(share, v->loop.high);
}

/* Range of the gain by huge pages. High: the bounds with huge pages remain. Low: only the walks get shorter. The low
 * end is 1 beside mispredicted branches, or where the bound explains too little: misses are then slower than
 * independent ones, and walks may overlap with other waits. A hash join's probes, 1.5 to 2.1 times as fast by the
 * rates, became 1.04 times as fast; a stencil along columns, 1.2 to 2.6 times by the rates, 1.09 times. */
static void gain_of_pages(struct carm_verdict *v, const struct carm_lower_bound *first,
                          double seconds)
{
    double left = 0.0;
    for (size_t i = 0; i < v->bounds.n; i++) {
        const struct carm_lower_bound *b = &v->bounds.of[i];
        const double stays = b->small_pages ? b->huge_seconds : b->seconds;
        left = b->refuted || b->estimate ? left : fmax(left, stays);
    }
    const double saved =
        first->huge_seconds > 0.0 ? fmin(seconds, first->seconds) - first->huge_seconds : 0.0;
    for (size_t i = 0; i < v->nadvice; i++) {
        if (v->advice[i].code == CARM_ADVICE_HUGE_PAGES && left > 0.0 &&
            first->huge_seconds > 0.0) {
            const bool alone = v->explains >= CARM_VERDICT_EXPLAINS && !v->estimate &&
                               v->second != CARM_LIMIT_BRANCHES;
            const double high = fmax(1.0, seconds / left),
                         low = alone ? seconds / (seconds - fmax(0.0, saved)) : 1.0;
            v->advice[i].gain = (struct carm_verdict_gain){fmin(high, fmax(1.0, low)), high};
        }
    }
}

/* Whether an estimate is of mispredictions that wait for the loads of the first bound, if this bound takes at least
 * `least` seconds. */
static bool is_same_wait(const struct carm_lower_bound *b, const struct carm_lower_bound *first,
                         double least)
{
    return b->estimate && b->at_most && b->limit == CARM_LIMIT_BRANCHES && first &&
           carm_limit_is_memory(first->limit) && first->seconds >= least;
}

void carm_verdict_find(const struct carm_bounds *bounds, double seconds, double share,
                       const struct carm_verdict_code *code, struct carm_verdict *out)
{
    /* Largest ratio of a misprediction estimate to the time. The estimate assumes independent outcomes, and a predictor
     * may learn half of them: in Collatz sequences the estimate is 187% of the time, and no other bound explains more
     * than 37%. */
    static const double foreseen = 2.0;
    static const double half = 0.5; /* above this share of the time no other cause is as large;
                                     * below this used share of lines most bytes are unused */
    memset(out, 0, sizeof *out);
    out->bounds = *bounds;
    out->seconds = seconds;
    out->limit = out->second = CARM_LIMIT_UNKNOWN;
    out->loop.low = out->loop.high = out->program.low = out->program.high = 1.0;
    for (size_t i = 0; i < out->bounds.n; i++) {
        struct carm_lower_bound *b = &out->bounds.of[i];
        const double over =
            b->limit == CARM_LIMIT_BRANCHES && !b->indirect ? foreseen : CARM_VERDICT_OVER;
        b->refuted = b->seconds > over * seconds && !b->at_most;
    }
    const struct carm_lower_bound *first = largest(&out->bounds, false, CARM_LIMIT_UNKNOWN);
    const struct carm_lower_bound *guess = largest(&out->bounds, true, CARM_LIMIT_UNKNOWN);
    bool waits = false;
    double explained = first ? first->seconds : 0.0;
    /* A misprediction stops the instructions beside it, so its time adds to the largest bound's. Another estimate of
     * the largest bound's cause includes that bound's time. An upper estimate (at_most) explains at most the time that
     * is left. */
    const double beside = first && guess && guess->limit == first->limit ? 0.0 : explained;
    if (explained < CARM_VERDICT_EXPLAINS * seconds && guess &&
        guess->seconds + beside >= CARM_VERDICT_EXPLAINS * seconds && guess->seconds > explained) {
        /* a misprediction that waits for memory is the same wait as the loads' wait */
        waits = is_same_wait(guess, first, half * seconds);
        first = waits ? first : guess;
        explained = fmin(seconds, guess->seconds + beside);
    }
    /* such mispredictions keep later loads from starting early, even where they take less time than the loads */
    for (size_t i = 0; i < out->bounds.n && explained < CARM_VERDICT_EXPLAINS * seconds; i++) {
        const struct carm_lower_bound *b = &out->bounds.of[i];
        if (is_same_wait(b, first, half * seconds) &&
            b->seconds + explained >= CARM_VERDICT_EXPLAINS * seconds) {
            waits = true;
            explained = fmin(seconds, b->seconds + explained);
        }
    }
    /* Another hardware thread takes up to half of its core while it runs. */
    const struct carm_lower_bound *part = largest_shared(&out->bounds);
    const double stretched = part ? part->seconds * (1.0 + code->company) : 0.0;
    const bool company =
        explained < CARM_VERDICT_EXPLAINS * seconds && stretched >= CARM_VERDICT_EXPLAINS * seconds;
    double alone = seconds; /* seconds without another hardware thread */
    if (company) {
        first = part;
        explained = fmin(seconds, stretched);
        alone = fmax(part->seconds, seconds / (1.0 + code->company));
    }
    /* memory that other guests also use */
    struct carm_lower_bound *slow = largest_of_memory(&out->bounds);
    const bool slower = code->slower > 1.0 && slow && explained < CARM_VERDICT_EXPLAINS * seconds &&
                        slow->seconds * code->slower >= CARM_VERDICT_EXPLAINS * seconds;
    if (slower) {
        const size_t used = strlen(slow->origin);
        first = slow;
        explained = fmin(seconds, slow->seconds * code->slower);
        alone = fmax(slow->seconds, seconds / code->slower);
        snprintf(slow->origin + used, sizeof slow->origin - used,
                 "; memory took %.2g times as long beside the run", code->slower);
    }
    const struct carm_lower_bound *over =
        explained < CARM_VERDICT_EXPLAINS * seconds ? nearly_refuted(&out->bounds, seconds) : NULL;
    if (over) {
        first = over;
        explained = seconds;
    }
    if (!first) {
        return;
    }
    const struct carm_lower_bound *parts[2];
    const double sum = one_after_the_other(&out->bounds, seconds, &parts[0], &parts[1]);
    const bool added = explained < CARM_VERDICT_EXPLAINS * seconds &&
                       sum >= CARM_VERDICT_EXPLAINS * seconds &&
                       !(guess && guess->seconds > explained);
    if (added) {
        assert(parts[0] && parts[1]);
        first = parts[0];
        explained = fmin(seconds, sum);
        out->second = parts[1]->limit;
    }
    out->explains = fmin(1.0, explained / seconds);
    const struct carm_lower_bound *next = largest(&out->bounds, false, first->limit);
    if (out->explains < CARM_VERDICT_EXPLAINS) {
        if (guess && guess->seconds > explained) { /* the estimate may exceed all bounds */
            out->second = guess->limit;
            out->estimate = true;
            out->explains = fmin(1.0, guess->seconds / seconds);
            return;
        }
        out->second = first->limit;
        if (code->math) {
            advise(out, CARM_ADVICE_VECTOR_MATH);
        }
        if (carm_limit_is_memory(first->limit) && out->explains >= CARM_VERDICT_PATTERN &&
            code->strided && code->used > 0.0 && code->used < half) {
            /* the order of its accesses is known, although the rest of its time is not */
            out->limit = first->limit;
            advise(out, CARM_ADVICE_UNIT_STRIDE);
            if (first->small_pages) {
                advise(out, CARM_ADVICE_HUGE_PAGES);
            }
            find_gain(out, first, code, alone, share);
            gain_of_pages(out, first, alone);
            out->limit = CARM_LIMIT_UNKNOWN;
        }
        return;
    }
    out->limit = first->limit;
    out->estimate = first->estimate || over || waits || company || slower || added;
    out->second = waits ? CARM_LIMIT_BRANCHES : out->second;
    if (next && next->seconds >= CARM_VERDICT_BOTH * first->seconds && !out->estimate) {
        out->second = next->limit;
    } else if (out->explains < CARM_VERDICT_DONE && !out->estimate && guess &&
               guess->limit == CARM_LIMIT_BRANCHES && guess->seconds > first->seconds) {
        out->second = guess->limit; /* the estimate may explain more */
    }
    if (first->apart) {
        advise(out, CARM_ADVICE_APART);
    } else if (first->indirect) {
        /* an interpreter: no change of its data or of one branch helps */
    } else if (first->offset) {
        advise(out, CARM_ADVICE_SHIFT);
    } else if (first->locked) {
        advise(out, CARM_ADVICE_FEWER_ATOMICS);
    } else if (first->saturated && !code->strided) {
        advise(out, CARM_ADVICE_PARTITION);
    } else {
        find_advice(out, code);
    }
    if (first->aliased) {
        advise(out, CARM_ADVICE_PAD);
    }
    if (first->small_pages) {
        advise(out, CARM_ADVICE_HUGE_PAGES);
    }
    find_gain(out, first, code, alone, share);
    gain_of_pages(out, first, alone);
}

void carm_verdict_measured(struct carm_verdict *v, enum carm_advice_code code, struct carm_ci ci,
                           double share)
{
    static const double worth = 1.05,
                        nothing = 1.1; /* smaller gains are within the error of the method, some
                                        * 5% */
    const bool gains = ci.lo > worth;
    size_t n = 0;
    for (size_t i = 0; i < v->nadvice && (gains || ci.hi < nothing); i++) {
        if (v->advice[i].code != code) {
            v->advice[n++] = v->advice[i];
        }
    }
    if (gains) {
        n = n < CARM_VERDICT_ADVICE_MAX ? n : CARM_VERDICT_ADVICE_MAX - 1;
        memmove(&v->advice[1], &v->advice[0], n * sizeof *v->advice);
        v->advice[0] = (struct carm_verdict_advice){.code = code, .removes = v->limit};
        v->nadvice = n + 1;
        v->removal = v->measured ? v->removal : v->loop;
        v->measured = true;
        v->loop = (struct carm_verdict_gain){ci.lo, ci.hi};
    } else if (ci.hi < nothing && n < v->nadvice) {
        v->nadvice = n;
        v->loop = n ? v->loop : (struct carm_verdict_gain){1.0, 1.0};
    }
    v->program =
        (struct carm_verdict_gain){amdahl(share, v->loop.low), amdahl(share, v->loop.high)};
}

void carm_verdict_unequal(struct carm_verdict *v, double longest, double mean)
{
    static const double much = 1.25; /* times the mean; chosen by hand */
    if (mean > 0.0 && longest > much * mean && !advises(v, CARM_ADVICE_BALANCE)) {
        const size_t at = v->nadvice;
        advise(v, CARM_ADVICE_BALANCE);
        if (v->nadvice > at) {
            v->advice[at].removes = CARM_LIMIT_WAITING;
            v->advice[at].gain = (struct carm_verdict_gain){1.0, longest / mean};
        }
    }
}

enum carm_advice_code carm_verdict_first(const struct carm_verdict *v)
{
    const bool other =
        v->limit != CARM_LIMIT_WAITING && v->nadvice && v->advice[0].removes == CARM_LIMIT_WAITING;
    return v->nadvice && !other ? v->advice[0].code : CARM_ADVICE_COUNT;
}

struct carm_verdict_kept carm_verdict_keep(const struct carm_verdict *v)
{
    return (struct carm_verdict_kept){.limit = v->limit,
                                      .second = v->second,
                                      .estimate = v->estimate,
                                      .explains = v->explains,
                                      .loop = v->loop,
                                      .advice = carm_verdict_first(v)};
}

char *carm_verdict_reason(char *dst, size_t size, const struct carm_verdict_kept *v)
{
    const char *first = carm_limit_words(v->limit);
    if (v->limit == CARM_LIMIT_UNKNOWN) {
        snprintf(dst, size, "%s", carm_limit_words(v->second));
    } else if (v->advice == CARM_ADVICE_FEWER_FAULTS) {
        snprintf(dst, size, "%s (page faults)", first);
    } else if (v->advice == CARM_ADVICE_SHIFT) {
        snprintf(dst, size, "stores 4 KiB from loads");
    } else if (v->advice == CARM_ADVICE_FEWER_ATOMICS) {
        snprintf(dst, size, "%s (atomic)", first);
    } else if (v->second != CARM_LIMIT_UNKNOWN) {
        snprintf(dst, size, "%s and %s%s", first,
                 v->second == CARM_LIMIT_BRANCHES ? "maybe " : "", /* branches are always an
                                                                    * estimate */
                 carm_limit_words(v->second));
    } else {
        snprintf(dst, size, "%s", first);
    }
    return dst;
}

char *carm_verdict_limited_by(char *dst, size_t size, const struct carm_verdict_kept *v)
{
    char reason[128];
    const char *maybe = v->estimate ? "maybe " : "";
    carm_verdict_reason(reason, sizeof reason, v);
    if (v->limit == CARM_LIMIT_UNKNOWN && v->second != CARM_LIMIT_UNKNOWN) {
        snprintf(dst, size, "%s (%s%s)", carm_limit_words(v->limit), maybe, reason);
    } else {
        snprintf(dst, size, "%s%s", maybe, reason);
    }
    return dst;
}

char *carm_verdict_gain_text(char *dst, size_t size, const struct carm_verdict_gain *gain)
{
    const double low = gain->low, high = gain->high;
    char from[CARM_TEXT_TIMES_MAX], to[CARM_TEXT_TIMES_MAX];
    carm_text_times(from, low);
    carm_text_times(to, high);
    if (!(high > 1.05) || (isinf(high) && low < 1.05)) {
        snprintf(dst, size, "-");
    } else if (isinf(high)) {
        snprintf(dst, size, "over %sx", from);
    } else if (low < 1.05) {
        snprintf(dst, size, "up to %sx", to);
    } else if (high / low < 1.1) {
        snprintf(dst, size, "%sx", to);
    } else {
        snprintf(dst, size, "%s..%sx", from, to);
    }
    return dst;
}

char *carm_verdict_text(char *dst, size_t size, const struct carm_verdict_kept *v)
{
    char limit[128], gain[32];
    const bool unknown = v->limit == CARM_LIMIT_UNKNOWN;
    const double explains = 100.0 * v->explains;
    int used = 0;
    if (unknown && (v->second == CARM_LIMIT_UNKNOWN || v->explains < CARM_VERDICT_PATTERN)) {
        used = snprintf(dst, size, "its limit is not known");
    } else {
        used = snprintf(dst, size, "%slimited by %s for %.0f%% of its time%s",
                        v->estimate ? "may be " : "", carm_verdict_reason(limit, sizeof limit, v),
                        explains, unknown ? ", the rest is not known" : "");
    }
    if (v->advice < CARM_ADVICE_COUNT && used > 0 && (size_t)used < size) {
        carm_verdict_gain_text(gain, sizeof gain, &v->loop);
        const bool gains = strcmp(gain, "-") != 0;
        snprintf(dst + used, size - (size_t)used, "%s%s%s%s", unknown ? "; may help: " : ": ",
                 carm_advice_words(v->advice), gains ? ", " : "", gains ? gain : "");
    }
    return dst;
}
