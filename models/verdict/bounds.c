/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/verdict/bounds.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/latency.h"

const char *carm_limit_name(enum carm_limit limit)
{
#define CARM_LIMIT_NAME(id, name, words) name,
    static const char *const names[] = {CARM_LIMIT_TABLE(CARM_LIMIT_NAME)};
    return names[limit];
}

const char *carm_limit_words(enum carm_limit limit)
{
#define CARM_LIMIT_WORDS(id, name, words) words,
    static const char *const all[] = {CARM_LIMIT_TABLE(CARM_LIMIT_WORDS)};
    return all[limit];
}

bool carm_limit_is_memory(enum carm_limit limit)
{
    return limit == CARM_LIMIT_L2 || limit == CARM_LIMIT_L3 || limit == CARM_LIMIT_DRAM ||
           limit == CARM_LIMIT_LATENCY || limit == CARM_LIMIT_TLB;
}

/* ---- rates ---- */

static const struct carm_theory_core *published(const struct carm_microarchitecture *m,
                                                enum carm_core_kind kind, const char *isa,
                                                const char *precision)
{
    const char *name = carm_core_kind_name(kind);
    for (size_t i = 0; m && i < m->ncore; i++) {
        const struct carm_theory_core *c = &m->core[i];
        if (strcmp(c->kind, name) == 0 && (!*c->isa || strcmp(c->isa, isa) == 0) &&
            (!*c->precision || strcmp(c->precision, precision) == 0)) {
            return c;
        }
    }
    return NULL;
}

static double rate_of(const struct carm_rates *rates, enum carm_core_kind kind, const char *isa,
                      const char *precision, bool latency, bool *measured)
{
    const struct carm_core_figure *f =
        rates->model ? carm_core_find(rates->model, kind, isa, precision) : NULL;
    const double own = !f ? 0.0 : latency ? f->latency : f->throughput;
    const struct carm_theory_core *p = published(rates->theory, kind, isa, precision);
    if (measured) {
        *measured = own > 0.0;
    }
    return own > 0.0 ? own : !p ? 0.0 : latency ? p->latency : p->throughput;
}

double carm_rates_latency(const struct carm_rates *rates, enum carm_core_kind kind, const char *isa,
                          const char *precision, bool *measured)
{
    return rate_of(rates, kind, isa, precision, true, measured);
}

double carm_rates_throughput(const struct carm_rates *rates, enum carm_core_kind kind,
                             const char *isa, const char *precision, bool *measured)
{
    return rate_of(rates, kind, isa, precision, false, measured);
}

/* ---- bounds ---- */

struct carm_lower_bound *carm_bounds_add(struct carm_bounds *bounds, enum carm_limit limit,
                                         double seconds, bool estimate, const char *origin, ...)
{
    size_t at = bounds->n;
    va_list ap;
    if (!(seconds > 0.0) || !isfinite(seconds) || bounds->n == CARM_BOUNDS_MAX) {
        return NULL;
    }
    while (at > 0 && bounds->of[at - 1].seconds < seconds) {
        bounds->of[at] = bounds->of[at - 1];
        at--;
    }
    bounds->n++;
    bounds->of[at] = (struct carm_lower_bound){
        .limit = limit, .seconds = seconds, .estimate = estimate, .form = origin};
    va_start(ap, origin);
    vsnprintf(bounds->of[at].origin, sizeof bounds->of[at].origin, origin, ap);
    va_end(ap);
    return &bounds->of[at];
}

static const char *origin_of(bool measured)
{
    return measured ? "measured" : "published for the microarchitecture";
}

/* Groups of kinds that share units. */
enum group { ADDS, MULS, OTHERS, DIVISIONS, INT_DIVISIONS, INTEGERS, GROUPS };

static enum group group_of(enum carm_core_kind kind)
{
    switch (kind) {
    case CARM_CORE_FP_ADD:
    case CARM_CORE_FP_MAX:
    case CARM_CORE_FP_COMPARE:
    case CARM_CORE_FP_MASKED:
    case CARM_CORE_X87_ADD:
        return ADDS;
    case CARM_CORE_FP_MUL:
    case CARM_CORE_FP_FMA:
    case CARM_CORE_FP_FMA_FACTOR:
    case CARM_CORE_X87_MUL:
        return MULS;
    case CARM_CORE_FP_DIV:
    case CARM_CORE_FP_SQRT:
    case CARM_CORE_X87_DIV:
    case CARM_CORE_X87_SQRT:
        return DIVISIONS;
    case CARM_CORE_INT_DIV:
        return INT_DIVISIONS;
    default:
        return carm_core_kind_group(kind) == CARM_CORE_GROUP_INT ? INTEGERS : OTHERS;
    }
}

/* Time of a mixture of equally many multiplications and additions, relative to executing one after
 * the other: 1/2 with units of their own, 1 with shared units. Not measured: 1/2, the lower
 * bound. */
static double shared(const struct carm_roofs *roofs)
{
    double mad = 0.0, add = 0.0, mul = 0.0;
    for (size_t i = 0; roofs && i < roofs->ncompute; i++) {
        const struct carm_compute_roof *c = &roofs->compute[i];
        mad = strcmp(c->op, "mad") == 0 ? c->rate : mad;
        add = strcmp(c->op, "add") == 0 ? c->rate : add;
        mul = strcmp(c->op, "mul") == 0 ? c->rate : mul;
    }
    return mad > 0.0 && add > 0.0 && mul > 0.0
               ? fmin(1.0, fmax(0.5, 2.0 / mad / (1.0 / add + 1.0 / mul)))
               : 0.5;
}

/* ---- pipes ---- */

/* Instructions by the set of pipes that execute them, a bit for each pipe. */
struct piped {
    struct {
        unsigned pipes;
        double cycles; /* cycles of one pipe */
    } of[CARM_BOUNDS_PIPED_MAX];
    size_t n;
    char letters[9];
};

static void put_piped(struct piped *p, const struct carm_microarchitecture *m, const char *word,
                      double cycles)
{
    const struct carm_theory_ports *ports = carm_theory_ports_of(m, word);
    unsigned pipes = 0;
    for (const char *c = ports ? ports->pipes : ""; *c; c++) {
        const size_t n = strlen(p->letters);
        const char *at = strchr(p->letters, *c);
        if (!at && n + 1 < sizeof p->letters) {
            p->letters[n] = *c;
            p->letters[n + 1] = '\0';
        }
        pipes |= at ? 1U << (at - p->letters) : n + 1 < sizeof p->letters ? 1U << n : 0U;
    }
    if (pipes && p->n < CARM_BOUNDS_PIPED_MAX) {
        p->of[p->n].pipes = pipes;
        p->of[p->n++].cycles = cycles;
    }
}

/* Instructions that only some pipes execute take the cycles of these pipes, however they are distributed.
 * returns the most cycles of any set of pipes
 * source: Hall 1935, On representatives of subsets; Ritter and Hack 2022, PALMED (ports as sums over such sets) */
static double busiest(const struct piped *p, int *pipes)
{
    double most = 0.0;
    *pipes = 0;
    for (unsigned set = 1; set < 1U << strlen(p->letters); set++) {
        double cycles = 0.0;
        int n = 0;
        for (unsigned bits = set; bits; bits &= bits - 1) {
            n++;
        }
        for (size_t i = 0; i < p->n; i++) {
            cycles += p->of[i].pipes & ~set ? 0.0 : p->of[i].cycles;
        }
        if (cycles / n > most) {
            most = cycles / n;
            *pipes = n;
        }
    }
    return most;
}

/* Bounds by pipes that several kinds of instructions share. */
static void bound_pipes(const struct carm_bounds_input *in, struct carm_bounds *out)
{
    static const enum carm_limit limits[] = {CARM_LIMIT_INTEGER, CARM_LIMIT_FP};
    const struct carm_microarchitecture *m = in->rates.theory;
    struct piped both[2] = {{.n = 0}, {.n = 0}};
    if (!m || !m->nports) {
        return;
    }
    const double narrow = m->widths[2].fma, wide = m->widths[3].fma; /* of 32 and of 64 bytes */
    for (size_t i = 0; i < in->nunits; i++) {
        const struct carm_bounds_unit *u = &in->units[i];
        const bool halves = wide > 0.0 && strcmp(u->isa, "avx512") == 0;
        put_piped(&both[*u->isa ? 1 : 0], m, u->pipes ? u->pipes : "",
                  halves ? u->count * narrow / wide : u->count);
    }
    put_piped(&both[1], m, "vector-zero", in->zeroed);
    put_piped(&both[0], m, "branch", in->branches);
    put_piped(&both[0], m, "int-add", carm_theory_ports_of(m, "branch") ? -in->fused : 0.0);
    for (size_t k = 0; k < 2; k++) {
        int pipes = 0;
        const double cycles = busiest(&both[k], &pipes);
        carm_bounds_add(out, limits[k], cycles / in->clock_hz, false,
                        "%.3g cycles of %d %s pipes that several instructions share: measured on "
                        "the microarchitecture",
                        cycles, pipes, k ? "vector" : "integer");
    }
}

static void bound_units(const struct carm_bounds_input *in, struct carm_bounds *out)
{
    double cycles[GROUPS] = {0.0}, counts[GROUPS] = {0.0};
    double single[CARM_CORE_KIND_COUNT] = {0.0}, most = 0.0, narrow = 0.0;
    enum carm_core_kind other = CARM_CORE_FP_LOGIC; /* the kind that takes the most cycles */
    bool measured[GROUPS] = {true, true, true, true, true, true};
    const double second = 1.0 / in->clock_hz;
    for (size_t i = 0; i < in->nunits; i++) {
        const struct carm_bounds_unit *u = &in->units[i];
        const enum group g = group_of(u->kind);
        bool own = false;
        double each = carm_rates_throughput(&in->rates, u->kind, u->isa, u->precision, &own);
        each *= carm_core_kind_is_pair(u->kind) ? 0.5 : 1.0;
        if (!(each > 0.0)) {
            continue;
        }
        cycles[g] += u->count * each;
        counts[g] += u->count;
        measured[g] = measured[g] && own;
        single[u->kind] += u->count * each;
    }
    carm_bounds_add(out, CARM_LIMIT_DIVIDER, cycles[DIVISIONS] * second, false,
                    "%.3g divisions and square roots, %.3g cycles of the divider: %s",
                    counts[DIVISIONS], cycles[DIVISIONS], origin_of(measured[DIVISIONS]));
    carm_bounds_add(out, CARM_LIMIT_DIVIDER, cycles[INT_DIVISIONS] * second, false,
                    "%.3g integer divisions, %.3g cycles of the divider: %s", counts[INT_DIVISIONS],
                    cycles[INT_DIVISIONS], origin_of(measured[INT_DIVISIONS]));
    const double fp =
        fmax(fmax(cycles[ADDS], cycles[MULS]), shared(in->roofs) * (cycles[ADDS] + cycles[MULS]));
    carm_bounds_add(
        out, CARM_LIMIT_FP, fp * second, false,
        "%.3g additions and %.3g multiplications or FMAs, %.3g cycles of their units: %s",
        counts[ADDS], counts[MULS], fp, origin_of(measured[ADDS] && measured[MULS]));
    for (int k = 0; k < CARM_CORE_KIND_COUNT; k++) {
        const enum group g = group_of((enum carm_core_kind)k);
        other = g == OTHERS && single[k] > most ? (enum carm_core_kind)k : other;
        most = g == OTHERS ? fmax(most, single[k]) : most;
        const bool any = k == CARM_CORE_INT_ADD || k == CARM_CORE_INT_LOGIC; /* all integer units
                                                                              * execute it */
        narrow = g == INTEGERS && !any ? fmax(narrow, single[k]) : narrow;
    }
    carm_bounds_add(out, CARM_LIMIT_FP, most * second, false, "%.3g cycles of the unit for %s: %s",
                    most, carm_core_kind_name(other), origin_of(measured[OTHERS]));
    /* the throughput of the cheapest integer instruction gives the number of units */
    const double cheapest = carm_rates_throughput(&in->rates, CARM_CORE_INT_ADD, "", "int64", NULL);
    const bool apart = carm_theory_ports_of(in->rates.theory, "branch") != NULL;
    const double integer = fmax(narrow, (counts[INTEGERS] - (apart ? in->fused : 0.0)) * cheapest);
    carm_bounds_add(out, CARM_LIMIT_INTEGER, integer * second, false,
                    "%.3g integer instructions, %.3g cycles of their units: %s", counts[INTEGERS],
                    integer, origin_of(measured[INTEGERS]));
}

static void bound_issue(const struct carm_bounds_input *in, struct carm_bounds *out)
{
    bool measured = false;
    double each = carm_rates_throughput(&in->rates, CARM_CORE_ISSUE, "", "", &measured);
    if (!(each > 0.0) && in->rates.theory && in->rates.theory->issue > 0.0) {
        each = 1.0 / in->rates.theory->issue;
    }
    carm_bounds_add(out, CARM_LIMIT_ISSUE, in->slots * each / in->clock_hz, false,
                    "%.4g instructions at %.3g in a cycle: %s", in->slots,
                    each > 0.0 ? 1.0 / each : 0.0, origin_of(measured));
    if (in->rates.theory && in->dispatch_cycles > in->slots * each) {
        carm_bounds_add(
            out, CARM_LIMIT_ISSUE, in->dispatch_cycles / in->clock_hz, false,
            "%.3g cycles in which %.4g instructions enter, in order, %.0f in a cycle, at most %.0f of them of "
            "integer units: measured on the microarchitecture",
            in->dispatch_cycles, in->slots, in->rates.theory->issue,
            in->rates.theory->dispatch_integers);
    }
    double jump = carm_rates_throughput(&in->rates, CARM_CORE_BRANCH_TAKEN, "", "", &measured);
    struct carm_lower_bound *taken = carm_bounds_add(
        out, CARM_LIMIT_ISSUE, in->taken * jump / in->clock_hz, false,
        "%.3g taken branches of %.3g cycles: %s", in->taken, jump, origin_of(measured));
    if (taken) {
        taken->unrolls = true;
    }
    /* a core that fetches a line of code in a cycle needs one more cycle where a loop crosses
     * lines */
    if (in->rates.theory && in->rates.theory->code_line > 0.0 && in->fetched > in->taken) {
        struct carm_lower_bound *lines = carm_bounds_add(
            out, CARM_LIMIT_ISSUE, in->fetched / in->clock_hz, false,
            "%.3g lines of code of %.0f bytes entered, one in a cycle: measured on the "
            "microarchitecture",
            in->fetched, in->rates.theory->code_line);
        if (lines) {
            lines->unrolls = true;
        }
    }
}

/* ---- loads and stores ---- */

/* ISA and bytes of an access, by width: general registers, then vectors; general registers have 8
 * bytes (x86-64) */
static const char *const width_isa[] = {"", "scalar", "sse", "avx2", "avx512"};
static const double width_bytes[] = {8.0, 8.0, 16.0, 32.0, 64.0};

/* Accesses a cycle that one core makes in L1; 0 = not known */
static double accesses(const struct carm_bounds_input *in, size_t w, const char *ldst,
                       enum carm_core_kind kind, bool *measured)
{
    const struct carm_model *model = in->rates.model;
    double best = 0.0;
    for (size_t i = 0; model && i < model->nroofs && w > 0; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        const bool isa =
            strcmp(r->isa, width_isa[w]) == 0 || (w == 3 && strcmp(r->isa, "avx") == 0);
        for (size_t k = 0; k < r->nmemory && isa && strcmp(r->precision, "dp") == 0; k++) {
            const struct carm_memory_roof *m = &r->memory[k];
            if (strcmp(m->level, "L1") == 0 && strcmp(m->ldst, ldst) == 0) {
                best = fmax(best, m->bytes_per_cycle / width_bytes[w]);
            }
        }
    }
    /* a disturbed roof is too low, and a bound needs the highest rate */
    const double each =
        carm_rates_throughput(&in->rates, kind, width_isa[w], w > 0 ? "dp" : "", measured);
    *measured = *measured || best > 0.0;
    best = fmax(best, each > 0.0 ? 1.0 / each : 0.0);
    if (!(best > 0.0) && in->rates.theory) {
        const struct carm_theory_rates *t = &in->rates.theory->widths[w > 0 ? w - 1 : 0];
        best = kind == CARM_CORE_LOAD ? t->loads : t->stores;
    }
    return best;
}

/* Cycles of the load ports or store ports. Accesses of general registers may use more ports than accesses of vectors.
 * counts  by widths */
static double port_cycles(const struct carm_bounds_input *in, const double *counts,
                          const char *ldst, enum carm_core_kind kind, bool *measured)
{
    double vectors = 0.0, best = 0.0;
    bool own = false;
    const double general = accesses(in, 0, ldst, kind, &own);
    *measured = own || !(counts[0] > 0.0);
    for (size_t w = 1; w < CARM_BOUNDS_WIDTHS; w++) {
        own = false;
        const double rate = accesses(in, w, ldst, kind, &own);
        *measured = *measured && (own || !(counts[w] > 0.0));
        vectors += counts[w] > 0.0 && rate > 0.0 ? counts[w] / rate : 0.0;
        best = counts[w] > 0.0 ? fmax(best, rate) : best;
    }
    const double all = fmax(general, best);
    return all > 0.0 ? fmax(vectors, (counts[0] + vectors * best) / all) : 0.0;
}

static void bound_ports(const struct carm_bounds_input *in, struct carm_bounds *out)
{
    double nloads = 0.0, nstores = 0.0, split = 0.0, split_stores = 0.0;
    bool measured = true, own = false;
    double loads = port_cycles(in, in->loads, "1:0", CARM_CORE_LOAD, &measured);
    for (size_t w = 0; w < CARM_BOUNDS_WIDTHS; w++) {
        const double l = accesses(in, w, "1:0", CARM_CORE_LOAD, &own);
        nloads += in->loads[w];
        /* unmeasured: a load across two lines takes its port as long as two loads */
        const double each = carm_rates_throughput(&in->rates, CARM_CORE_LINE_SPLIT, width_isa[w],
                                                  w > 0 ? "dp" : "int64", NULL);
        const double more = each > 0.0 && l > 0.0 ? each - 1.0 / l : l > 0.0 ? 1.0 / l : 0.0;
        loads += in->split_loads[w] * fmax(0.0, more);
        split += in->split_loads[w];
    }
    carm_bounds_add(out, CARM_LIMIT_LOADS, loads / in->clock_hz, false,
                    "%.3g loads, %.3g of them across two lines, %.3g cycles of the load ports: %s",
                    nloads, split, loads, origin_of(measured));
    double stores = port_cycles(in, in->stores, "0:1", CARM_CORE_STORE, &measured);
    for (size_t w = 0; w < CARM_BOUNDS_WIDTHS; w++) {
        const double s = accesses(in, w, "0:1", CARM_CORE_STORE, &own);
        nstores += in->stores[w];
        const double each = carm_rates_throughput(&in->rates, CARM_CORE_LINE_SPLIT_STORE,
                                                  width_isa[w], w > 1 ? "dp" : "",
                                                  NULL); /* scalar vectors as general registers */
        stores += each > 0.0 && s > 0.0 ? in->split_stores[w] * fmax(0.0, each - 1.0 / s) : 0.0;
        split_stores += each > 0.0 ? in->split_stores[w] : 0.0;
    }
    carm_bounds_add(
        out, CARM_LIMIT_STORES, stores / in->clock_hz, false,
        "%.3g stores, %.3g of them across two lines, %.3g cycles of the store ports: %s", nstores,
        split_stores, stores, origin_of(measured));
    static const double most = 0.5; /* share of the loads; chosen by hand */
    double waits = 0.0, behind = 0.0;
    for (size_t w = 0; w < CARM_BOUNDS_WIDTHS; w++) {
        waits += in->behind[w] * carm_rates_throughput(&in->rates, CARM_CORE_ALIAS_4K, width_isa[w],
                                                       w > 0 ? "dp" : "", NULL);
        behind += in->behind[w];
    }
    /* the store may have left the queue before the load; if few loads are aliased, most stores have left */
    struct carm_lower_bound *aliased = carm_bounds_add(
        out, CARM_LIMIT_FORWARDING, behind >= most * nloads ? waits / in->clock_hz : 0.0, true,
        "%.3g loads behind stores a multiple of 4096 bytes apart, %.3g cycles with the stores: %s",
        behind, waits, origin_of(true));
    if (aliased) {
        aliased->offset = true;
    }
    /* address generation serves loads and stores: a bound by the published rate of accesses */
    double both = 0.0;
    for (size_t w = 0; in->rates.theory && w < CARM_BOUNDS_WIDTHS; w++) {
        const double a = in->rates.theory->widths[w > 0 ? w - 1 : 0].accesses;
        both += a > 0.0 ? (in->loads[w] + in->stores[w]) / a : 0.0;
    }
    if (both > fmax(loads, stores)) {
        carm_bounds_add(out, CARM_LIMIT_L1, both / in->clock_hz, false,
                        "%.3g loads and %.3g stores, %.3g cycles of address generation: %s", nloads,
                        nstores, both, origin_of(false));
    }
}

/* An estimate for string instructions, which may move more or fewer bytes in a cycle than the widest loads and
 * stores. */
static void bound_strings(const struct carm_bounds_input *in, struct carm_bounds *out)
{
    double loads = 0.0, stores = 0.0;
    bool own = false, loads_own = false, stores_own = false;
    for (size_t w = 1; w < CARM_BOUNDS_WIDTHS; w++) {
        const double l = width_bytes[w] * accesses(in, w, "1:0", CARM_CORE_LOAD, &own);
        loads_own = l > loads ? own : loads_own;
        loads = fmax(loads, l);
        const double s = width_bytes[w] * accesses(in, w, "0:1", CARM_CORE_STORE, &own);
        stores_own = s > stores ? own : stores_own;
        stores = fmax(stores, s);
    }
    if (loads > 0.0 && stores > 0.0) {
        const double cycles = fmax(in->string_loads / loads, in->string_stores / stores);
        struct carm_lower_bound *b = carm_bounds_add(
            out, CARM_LIMIT_L1, cycles / in->clock_hz, true,
            "%.4g bytes of string instructions, %.3g cycles at the rate of the widest loads and "
            "stores: %s",
            in->string_loads + in->string_stores, cycles, origin_of(loads_own && stores_own));
        if (b) {
            b->strings = true;
        }
    }
}

/* ---- levels ---- */

/* Bytes between a level and the level before it for each byte of the core, and the written share of these bytes, of a
 * streaming mix.
 * victims  the level takes victims: each line that comes sends a replaced line, clean or not, to the level
 * returns false: no such mix */
static bool traffic_of(const char *ldst, bool victims, double *bytes, double *written)
{
    char *colon = NULL, *end = NULL;
    if (strcmp(ldst, "update") == 0) {
        *bytes = 1.0;
        *written = 0.5;
        return true;
    }
    const double loads = strtod(ldst, &colon);
    const double stores = colon != ldst && *colon == ':' ? strtod(colon + 1, &end) : 0.0;
    if (!end || end == colon + 1 || *end || !(loads + stores > 0.0)) {
        return false;
    }
    *bytes = victims ? 2.0 : (loads + 2.0 * stores) / (loads + stores);
    *written = stores / (loads + 2.0 * stores);
    return true;
}

/* Bandwidth of a level at a share of written bytes: the best of the measured mixes, interpolated
 * between their shares; outside of them, that of the nearest mix. 0 = not measured */
static double bandwidth_of(const struct carm_roofs *roofs, const char *level, bool victims,
                           double written)
{
    double best = 0.0, nearest = INFINITY, near = 0.0;
    for (size_t i = 0; i < roofs->nmemory; i++) {
        const struct carm_memory_roof *a = &roofs->memory[i];
        double bytes[2], at[2];
        if (strcmp(a->level, level) != 0 || !traffic_of(a->ldst, victims, &bytes[0], &at[0])) {
            continue;
        }
        const double rate = a->bandwidth * bytes[0], far = fabs(at[0] - written);
        if (far < nearest || (far <= nearest && rate > near)) {
            nearest = far;
            near = rate;
        }
        for (size_t k = 0; k < roofs->nmemory && at[0] <= written; k++) {
            const struct carm_memory_roof *b = &roofs->memory[k];
            if (strcmp(b->level, level) != 0 || !traffic_of(b->ldst, victims, &bytes[1], &at[1]) ||
                at[1] < written) {
                continue;
            }
            const double t = at[1] > at[0] ? (written - at[0]) / (at[1] - at[0]) : 0.0;
            const double seconds =
                (1.0 - t) / (a->bandwidth * bytes[0]) + t / (b->bandwidth * bytes[1]);
            best = fmax(best, 1.0 / seconds);
        }
    }
    return best > 0.0 ? best : near;
}

static const char *const place_names[] = {"L2", "L3", "DRAM"};

/* The bandwidth of a level by the requested roofs, else by the widest ISA's roofs with the same
 * threads that have the level. */
static double bandwidth(const struct carm_bounds_input *in, int place)
{
    const char *level = place_names[place];
    const double written = in->written[place];
    const bool victims = in->victims && place == CARM_FROM_L3;
    const double own = in->roofs ? bandwidth_of(in->roofs, level, victims, written) : 0.0;
    const struct carm_model *model = in->rates.model;
    double best = own;
    for (size_t i = 0; model && in->roofs && i < model->nroofs; i++) {
        if (model->roofs[i].threads == in->roofs->threads) {
            best = fmax(best, bandwidth_of(&model->roofs[i], level, victims, written));
        }
    }
    return best;
}

static void bound_levels(const struct carm_bounds_input *in, struct carm_bounds *out)
{
    static const enum carm_limit limits[] = {CARM_LIMIT_L2, CARM_LIMIT_L3, CARM_LIMIT_DRAM};
    for (int k = 0; k < CARM_FROM_PLACES; k++) {
        const double rate = bandwidth(in, k);
        /* the roof is of all threads together, and each thread runs its own iteration */
        const double threads = in->roofs ? in->roofs->threads : 1;
        carm_bounds_add(
            out, limits[k], rate > 0.0 ? in->bytes[k] * threads / rate : 0.0, false,
            "%.4g bytes, simulated, at %.4g GB/s of %s for a mix with %.0f%% written: measured",
            in->bytes[k], 1e-9 * rate / threads, place_names[k], 100.0 * in->written[k]);
    }
}

enum { SMALL_PAGE = 4096 };

/* Lines per second that one core streams from memory with 4 KiB pages, at a share of written lines. The times per line
 * of the measured mixes are interpolated. 0 = not measured */
static double small_stream(const struct carm_model *model, double written)
{
    static const struct {
        const char *code;
        double written; /* 2:1: of four lines, one is written back */
    } mixes[] = {{CARM_STREAM_LOADS, 0.0}, {CARM_STREAM_MIXED, 0.25}, {CARM_STREAM_STORES, 0.5}};
    double each[3], seconds = 0.0;
    for (size_t i = 0; i < 3; i++) {
        const struct carm_in_flight *f =
            model ? carm_in_flight_of(model, "DRAM", mixes[i].code, SMALL_PAGE) : NULL;
        each[i] = f ? 1.0 / f->rate : 0.0;
    }
    for (size_t i = 0; i < 2; i++) {
        const double t = (written - mixes[i].written) / (mixes[i + 1].written - mixes[i].written);
        if (each[i] > 0.0 && t >= 0.0 && t <= 1.0 && (each[i + 1] > 0.0 || !(t > 0.0))) {
            seconds = (1.0 - t) * each[i] + t * each[i + 1];
        }
    }
    return seconds > 0.0 ? 1.0 / seconds : 0.0;
}

/* Bounds with pages of 4 KiB, the default of programs: prefetchers stop at the end of each page. The time of a program
 * with larger pages refutes these bounds. */
static void bound_small_pages(const struct carm_bounds_input *in, struct carm_bounds *out)
{
    const double written = in->written[CARM_FROM_DRAM],
                 stream = small_stream(in->rates.model, written);
    const bool one = !in->roofs || in->roofs->threads == 1; /* the measured rate is of one core */
    struct carm_lower_bound *b = NULL;
    if (stream > 0.0 && one) {
        b = carm_bounds_add(out, CARM_LIMIT_DRAM, in->bytes[CARM_FROM_DRAM] / 64.0 / stream, false,
                            "%.4g bytes, simulated, at %.4g GB/s of DRAM with pages of 4 KiB for a "
                            "mix with %.0f%% written: measured",
                            in->bytes[CARM_FROM_DRAM], 64e-9 * stream, 100.0 * written);
    }
    if (b) {
        b->small_pages = true;
    }
}

/* Seconds of independent accesses to lines of a place at scattered addresses.
 * page  bytes of a page; 0 = the page size with the largest rate
 * returns 0: their rates were not measured */
static double scattered_in(const struct carm_bounds_input *in, int place, uint64_t page)
{
    static const char *const codes[] = {CARM_SCATTERED_STORES, CARM_SCATTERED_UPDATES};
    const struct carm_model *model = in->rates.model;
    const char *level = place_names[place];
    const struct carm_in_flight *loads = !model ? NULL
                                         : page ? carm_in_flight_of(model, level, "scalar", page)
                                                : carm_in_flight_find(model, level);
    const double counts[] = {in->overwritten[place], in->rewritten[place]};
    double left = in->scattered[place], seconds = 0.0;
    if (!loads || !(loads->rate > 0.0)) {
        return 0.0;
    }
    /* rate of loads beside instructions that write registers; nothing waits for the line of a
     * store */
    const bool beside = page == SMALL_PAGE && place == CARM_FROM_DRAM && in->waited > 0.0;
    const double each =
        beside ? carm_in_flight_beside(model, fmax(0.0, in->renamed / in->waited - 1.0)) : 0.0;
    const double least = fmax(each, 1.0 / loads->rate);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const struct carm_in_flight *f =
            carm_in_flight_of(model, level, codes[i], loads->page_bytes);
        const double own = f ? fmax(1.0 / f->rate, i == 1 ? least : 0.0) : 0.0;
        seconds += counts[i] * own;
        left -= f ? counts[i] : 0.0;
    }
    left = fmax(0.0, left);
    const double waited = fmin(in->waited, left);
    return seconds + waited * least + (left - waited) / loads->rate;
}

/* Bound by scattered lines of the last cache that other programs evict before the loop returns to
 * them. */
static void bound_lost(const struct carm_bounds_input *in, struct carm_bounds *out)
{
    struct carm_bounds_input moved = *in;
    double *const counts[] = {moved.scattered, moved.overwritten, moved.rewritten};
    double seconds = 0.0;
    moved.waited +=
        in->lost * fmax(0.0, in->scattered[CARM_FROM_L3] - in->overwritten[CARM_FROM_L3] -
                                 in->rewritten[CARM_FROM_L3]);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        const double lines = in->lost * counts[i][CARM_FROM_L3];
        counts[i][CARM_FROM_L3] -= lines;
        counts[i][CARM_FROM_DRAM] += lines;
    }
    for (int k = 0; k < CARM_FROM_PLACES; k++) {
        const double small = in->huge ? 0.0 : scattered_in(&moved, k, SMALL_PAGE);
        seconds += small > 0.0 ? small : scattered_in(&moved, k, 0);
    }
    struct carm_lower_bound *b = carm_bounds_add(
        out, CARM_LIMIT_LATENCY, in->lost > 0.0 ? seconds : 0.0, true,
        "%.3g more lines at scattered addresses come from memory, as others take half of the lines out of the last cache "
        "within %.2g ms: measured beside the run, at the rate of independent misses",
        in->lost * in->scattered[CARM_FROM_L3], 1e3 * in->stays);
    if (b) {
        b->at_most = true;
    }
}

/* Bound by lines at scattered addresses, at the rate with as many misses in flight as the core can have. */
static void bound_scattered(const struct carm_bounds_input *in, struct carm_bounds *out)
{
    double seconds = 0.0, lines = 0.0, stored = 0.0, small = 0.0, huge = 0.0;
    bool smaller = false;
    for (int k = 0; k < CARM_FROM_PLACES; k++) {
        const double any = scattered_in(in, k, 0), of_small = scattered_in(in, k, SMALL_PAGE);
        seconds += any;
        lines += any > 0.0 || of_small > 0.0 ? in->scattered[k] : 0.0;
        stored += any > 0.0 || of_small > 0.0 ? in->overwritten[k] + in->rewritten[k] : 0.0;
        small += of_small > 0.0 ? of_small : any; /* L2 was measured with large pages only */
        huge += any;
        smaller = smaller || (of_small > 0.0 && !in->huge);
    }
    const double share = lines > 0.0 ? 100.0 * stored / lines : 0.0;
    struct carm_lower_bound *b =
        smaller ? carm_bounds_add(out, CARM_LIMIT_LATENCY, small, false,
                                  "%.3g lines at scattered addresses, simulated, %.0f%% of them "
                                  "stored to, at the rate of independent misses with pages of 4 "
                                  "KiB: measured",
                                  lines, share)
                : NULL;
    if (b) {
        b->saturated = true;
        b->small_pages = true;
        b->huge_seconds = huge;
    }
    b = carm_bounds_add(
        out, CARM_LIMIT_LATENCY, seconds, false,
        "%.3g lines at scattered addresses, simulated, %.0f%% of them stored to, at the measured "
        "rate of independent misses",
        lines, share);
    if (b) {
        b->saturated = true;
    }
}

/* Seconds of one walk; 0 = not measured. The page tables of more pages are in slower caches, and the TLB holds a
 * smaller part of the pages. Between the measured sets, seconds are interpolated over the logarithm of the number of
 * pages. */
static double walk_of(const struct carm_bounds_input *in, enum carm_bounds_walk by, bool stores,
                      uint64_t page_bytes)
{
    static const struct {
        const char *codes[2];
        double apart; /* pages */
        bool of[CARM_BOUNDS_WALKS];
    } all[] = {
        {{CARM_WALK_NEAR_LOADS, CARM_WALK_NEAR_STORES}, 1, {true, false, false}},
        {{CARM_WALK_NEAR_MORE_LOADS, CARM_WALK_NEAR_MORE_STORES}, 1, {true, false, false}},
        {{CARM_WALK_FAR_LOADS, CARM_WALK_FAR_STORES}, CARM_WALK_FAR, {false, true, true}},
        {{CARM_WALK_FAR_MORE_LOADS, CARM_WALK_FAR_MORE_STORES}, CARM_WALK_FAR, {false, true, true}},
        {{CARM_WALK_WIDE_LOADS, CARM_WALK_WIDE_STORES}, 1, {false, false, true}}};
    double pages = 0.0, seconds = 0.0;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct carm_in_flight *f =
            all[i].of[by]
                ? carm_in_flight_of(in->rates.model, CARM_WALK, all[i].codes[stores], page_bytes)
                : NULL;
        if (!f || !(f->rate > 0.0)) {
            continue;
        }
        const double more = (double)f->working_set_bytes / SMALL_PAGE / all[i].apart;
        const double t =
            pages > 0.0 && more > pages ? log(in->pages / pages) / log(more / pages) : 0.0;
        seconds +=
            pages > 0.0 ? fmin(1.0, fmax(0.0, t)) * (1.0 / f->rate - seconds) : 1.0 / f->rate;
        pages = more;
    }
    return seconds;
}

/* Seconds of an iteration's walks. returns 0: rates for such pages were not measured */
static double walk_seconds(const struct carm_bounds_input *in, uint64_t page_bytes)
{
    double seconds = 0.0;
    for (int k = 0; k < CARM_BOUNDS_WALKS && in->rates.model; k++) {
        const double counts[2] = {in->walk_loads[k], in->walk_stores[k]};
        for (int s = 0; s < 2; s++) {
            const double each =
                counts[s] > 0.0 ? walk_of(in, (enum carm_bounds_walk)k, s == 1, page_bytes) : 0.0;
            if (counts[s] > 0.0 && !(each > 0.0)) {
                return 0.0;
            }
            seconds += counts[s] * each;
        }
    }
    return seconds;
}

static void bound_walks(const struct carm_bounds_input *in, struct carm_bounds *out)
{
    enum { HUGE_PAGE = 2 << 20 };
    double loads = 0.0, stores = 0.0;
    for (int k = 0; k < CARM_BOUNDS_WALKS; k++) {
        loads += in->walk_loads[k];
        stores += in->walk_stores[k];
    }
    struct carm_lower_bound *b = carm_bounds_add(
        out, CARM_LIMIT_TLB, walk_seconds(in, SMALL_PAGE), false,
        "%.3g loads and %.3g stores to pages of 4 KiB that no TLB holds, simulated, at the rates "
        "of independent walks through the tables of pages: measured",
        loads, stores);
    if (b) {
        b->small_pages = true;
        b->huge_seconds = walk_seconds(in, HUGE_PAGE);
    }
}

/* Bound by lines a multiple of 4096 bytes apart. */
static void bound_aliased(const struct carm_bounds_input *in, struct carm_bounds *out)
{
    double seconds = 0.0, lines = 0.0;
    for (int k = 0; k < CARM_FROM_PLACES && in->rates.model; k++) {
        const struct carm_in_flight *f =
            carm_in_flight_of(in->rates.model, place_names[k], CARM_ALIASED_LOADS, SMALL_PAGE);
        const struct carm_in_flight *both =
            carm_in_flight_of(in->rates.model, place_names[k], CARM_ALIASED_UPDATES, SMALL_PAGE);
        const double updated = both && f && both->rate < f->rate ? in->updated : 0.0;
        seconds += f ? in->aliased[k] * (1.0 - updated) / f->rate : 0.0;
        seconds += updated > 0.0 ? in->aliased[k] * updated / both->rate : 0.0;
        lines += f ? in->aliased[k] : 0.0;
    }
    struct carm_lower_bound *b = carm_bounds_add(
        out, CARM_LIMIT_LATENCY, seconds, false,
        "%.3g lines a multiple of 4096 bytes apart, which are of one set of L1, simulated, %.0f%% of "
        "them stored to, at the rate of such loads and stores: measured",
        lines, 100.0 * in->updated);
    if (b) {
        b->aliased = true;
    }
}

/* Bound by the number of independent iterations that fit into the core's window. */
static void bound_window(const struct carm_bounds_input *in, struct carm_bounds *out)
{
    static const double more =
        1.02; /* least ratio to the chain's bound: else it is the same bound; chosen by hand */
    const double reorder = in->rates.theory ? in->rates.theory->reorder : 0.0;
    const double waits = in->rates.theory ? in->rates.theory->vector_queue : 0.0;
    char window[80] = "which overlap within few iterations alone";
    char flight[64] = "few iterations have";
    if (reorder > 0.0) { /* else the window was of the loop's iterations */
        snprintf(window, sizeof window,
                 "of which a window of %.0f instructions (%.0f waiting on vectors) overlaps a few",
                 reorder, waits);
        snprintf(flight, sizeof flight, "%.0f instructions in flight have", reorder);
    }
    if (in->window_cycles > more * in->chain_cycles) {
        carm_bounds_add(out, CARM_LIMIT_CHAIN, in->window_cycles / in->clock_hz, false,
                        "%.4g cycles by dependences within iterations, %s", in->window_cycles,
                        window);
    }
    if (in->window_missing_cycles > more * fmax(in->window_cycles, in->missing_cycles)) {
        carm_bounds_add(out, CARM_LIMIT_LATENCY, in->window_missing_cycles / in->clock_hz, false,
                        "%.4g cycles by simulated misses at scattered addresses and their "
                        "latencies, as many at a time as %s",
                        in->window_missing_cycles, flight);
    }
}

static void bound_latency(const struct carm_bounds_input *in, struct carm_bounds *out)
{
    bound_window(in, out);
    if (in->missing_cycles > in->chain_cycles) {
        carm_bounds_add(
            out, CARM_LIMIT_LATENCY, in->missing_cycles / in->clock_hz, false,
            "a chain of loads, each with the address of the next: %.4g cycles by the simulated "
            "misses and their latencies",
            in->missing_cycles);
    }
    char why[CARM_BOUND_ORIGIN_MAX];
    snprintf(
        why, sizeof why,
        in->lost > 0.0
            ? "others take half of the lines out of the last cache within %.2g ms: measured beside the run"
            : "its data is about as large as a cache that others may share",
        1e3 * in->stays);
    struct carm_lower_bound *border = carm_bounds_add(
        out, CARM_LIMIT_LATENCY, in->border_cycles / in->clock_hz, true,
        "a chain of loads, each with the address of the next: %.4g to %.4g cycles, as %s",
        in->missing_cycles, in->border_cycles, why);
    if (border) {
        border->at_most = true;
    }
}

void carm_bounds_find(const struct carm_bounds_input *in, struct carm_bounds *out)
{
    const double clock = in->clock_hz;
    bool measured = false;
    out->n = 0;
    if (!(clock > 0.0)) {
        return;
    }
    bound_units(in, out);
    bound_pipes(in, out);
    bound_issue(in, out);
    bound_ports(in, out);
    bound_strings(in, out);
    const bool forwards = in->forward_cycles > 0.5 * in->chain_cycles;
    struct carm_lower_bound *chain = carm_bounds_add(
        out, forwards ? CARM_LIMIT_FORWARDING : CARM_LIMIT_CHAIN, in->chain_cycles / clock, false,
        "%.4g cycles from one iteration to the next: %s", in->chain_cycles,
        in->chain ? in->chain : "");
    if (chain && in->counter) {
        chain->unrolls = true;
    }
    const double lock = carm_rates_latency(&in->rates, CARM_CORE_LOCK_ADD, "", "", &measured);
    struct carm_lower_bound *locks =
        carm_bounds_add(out, CARM_LIMIT_CHAIN, in->locked * lock / clock, false,
                        "%.3g instructions with a lock, one after the other, %.3g cycles each: %s",
                        in->locked, lock, origin_of(measured));
    if (locks) {
        locks->locked = true;
    }
    const double blocked =
        carm_rates_latency(&in->rates, CARM_CORE_FORWARD_STRADDLING, "", "", &measured);
    carm_bounds_add(out, CARM_LIMIT_FORWARDING, in->straddles * blocked / clock, true,
                    "%.3g loads of bytes of two stores, %.3g cycles each: %s", in->straddles,
                    blocked, origin_of(measured));
    bound_levels(in, out);
    if (!in->huge) {
        bound_small_pages(in, out);
        bound_walks(in, out);
    }
    bound_aliased(in, out);
    bound_latency(in, out);
    bound_scattered(in, out);
    bound_lost(in, out);
    if (in->gathered > 0.0 && in->gather_seconds > 0.0) {
        carm_bounds_add(out, CARM_LIMIT_LOADS, in->gathered * in->gather_seconds, false,
                        "%.3g elements of gathers, %.3g ns each in L1: measured", in->gathered,
                        1e9 * in->gather_seconds);
    }
    /* every access may wait for the other core once; most stores wait in the store queue instead */
    struct carm_lower_bound *waits = carm_bounds_add(
        out, CARM_LIMIT_LATENCY, in->contended * in->transfer_seconds, true,
        "%.3g accesses to lines that other threads write, which may wait %.3g ns for "
        "the other core: measured",
        in->contended, 1e9 * in->transfer_seconds);
    if (waits) {
        waits->at_most = true;
        waits->locked = in->locked >= 0.5 * in->contended; /* most of these accesses are atomic */
        waits->apart = !waits->locked;
    }
    const double miss =
        carm_rates_latency(&in->rates, CARM_CORE_BRANCH_MISPREDICTED, "", "", &measured);
    /* the instructions that decide the next branch are also fetched again, and start only then */
    const double jump =
        carm_rates_latency(&in->rates, CARM_CORE_INDIRECT_MISPREDICTED, "", "", NULL);
    const double jumps = in->astray * (jump > 0.0 ? jump : miss);
    const double fetches = (in->mispredicted - in->astray) * miss + jumps;
    const double each = miss > 0.0 && in->mispredicted > 0.0
                            ? fetches / in->mispredicted + in->resolve_cycles
                            : 0.0;
    struct carm_lower_bound *branches = carm_bounds_add(
        out, CARM_LIMIT_BRANCHES, (in->mispredicted * each + in->resolve_missing) / clock, true,
        "%.3g mispredictions if outcomes are independent, %.3g cycles each (%.3g until the "
        "condition is known, and %.3g by its misses): %s",
        in->mispredicted, each, in->resolve_cycles,
        in->mispredicted > 0.0 ? in->resolve_missing / in->mispredicted : 0.0, origin_of(measured));
    if (branches) {
        branches->indirect = jump > 0.0 && in->astray > 0.5 * in->mispredicted; /* more than half */
    }
    /* loads behind a wrong prediction often fetch lines that the correct path needs, too */
    if (branches && in->resolve_missing > in->mispredicted * each) {
        branches->at_most = true;
    }
}

/* Bytes of an ISA's vectors; 0 = no vectors */
static double vector_bytes(const char *isa)
{
    return strcmp(isa, "avx512") == 0    ? 64.0
           : strncmp(isa, "avx", 3) == 0 ? 32.0
           : strcmp(isa, "sse") == 0     ? 16.0
                                         : 0.0;
}

/* Bytes of the widest vectors that a model has roofs of; 0 = none */
static double widest_bytes(const struct carm_model *model)
{
    double most = 0.0;
    for (size_t i = 0; model && i < model->nroofs; i++) {
        most = fmax(most, vector_bytes(model->roofs[i].isa));
    }
    return most;
}

double carm_bounds_widening(const struct carm_bounds_input *in)
{
    const double most = widest_bytes(in->rates.model);
    double bytes = 0.0, count = 0.0;
    for (size_t i = 0; i < in->nunits; i++) {
        const struct carm_bounds_unit *u = &in->units[i];
        const double each = strcmp(u->isa, "scalar") == 0
                                ? strcmp(u->precision, "sp") == 0 ? 4.0 : 8.0
                                : vector_bytes(u->isa);
        if (carm_core_kind_group(u->kind) == CARM_CORE_GROUP_FP && each > 0.0) {
            bytes += u->count * each;
            count += u->count;
        }
    }
    return bytes > 0.0 && count > 0.0 && most > 0.0 ? fmax(1.0, most * count / bytes) : 0.0;
}
