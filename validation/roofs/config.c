/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/roofs/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "harness/machine/buffer.h"
#include "harness/place/place.h"
#include "models/ceilings.h"

#define MIB ((uint64_t)1 << 20)

enum {
    WIDE_BYTES = 32, /* a vector that may move more bytes than one of 64 */
    MEMORY_MIN_MIB = 16,
    /* Memory of a build beside its buffers: 31 MiB seen with buffers of 64 MiB (8192
     * repetitions, 2 threads). */
    OWN_MIB = 32,
};

struct reading {
    struct carm_build_config *config;
    const struct carm_cpu *cpu;
    const struct carm_topo *topo;
};

/* Widest first; tiles, which few precisions have, are never the first of several. */
static int rank_of(enum carm_isa isa)
{
    return carm_isas[isa].columns ? -1 : (int)isa;
}

static void add_tiles(struct carm_build_config *c, const struct carm_cpu *cpu)
{
    if (cpu->isa[CARM_AMX]) {
        c->isas[c->nisas++] = CARM_AMX;
    }
}

static int take_isa(void *to, const char *word, struct carm_err *err)
{
    struct reading *r = to;
    struct carm_build_config *c = r->config;
    enum carm_isa isa = CARM_SCALAR;
    if (strcmp(word, "all") == 0) {
        c->nisas = 0;
        for (int i = CARM_VECTOR_ISAS - 1; i >= 0; i--) {
            if (r->cpu->isa[i]) {
                c->isas[c->nisas++] = (enum carm_isa)i;
            }
        }
        add_tiles(c, r->cpu);
        return 0;
    }
    int rc = carm_isa_parse(word, &isa, err);
    rc = rc ? rc : carm_cpu_check(r->cpu, isa, err);
    for (size_t i = 0; !rc && i < c->nisas; i++) {
        if (c->isas[i] == isa) {
            return 0;
        }
    }
    if (!rc) {
        size_t at = c->nisas++;
        for (; at > 0 && rank_of(c->isas[at - 1]) < rank_of(isa); at--) {
            c->isas[at] = c->isas[at - 1];
        }
        c->isas[at] = isa;
    }
    return rc;
}

/* Drops tiles that the user did not name if no chosen precision has them. */
static int check_tiles(const struct reading *r, const char *isa, struct carm_err *err)
{
    struct carm_build_config *c = r->config;
    size_t at = 0;
    bool any = false;
    while (at < c->nisas && !carm_isas[c->isas[at]].columns) {
        at++;
    }
    for (size_t i = 0; i < c->nprecisions && at < c->nisas; i++) {
        any = any || carm_cpu_has_precision(r->cpu, c->isas[at], c->precisions[i]);
    }
    if (at == 0 && !carm_isa_has_mix(c->isas[0], &c->mixes[0])) {
        return carm_fail(
            err, CARM_EINVAL,
            "%s has neither updates nor non-temporal stores: begin --ldst with another "
            "mix, such as 2:1",
            carm_isa_name(c->isas[0]));
    }
    if (any || at == c->nisas) {
        return 0;
    }
    if (isa && strcmp(isa, "all") != 0) {
        return carm_fail(err, CARM_ENOTSUP,
                         "%s has none of the chosen precisions on this CPU: leave it out, or add "
                         "another with --precision",
                         carm_isa_name(c->isas[at]));
    }
    c->nisas--;
    c->nwhole--;
    memmove(&c->isas[at], &c->isas[at + 1], (c->nisas - at) * sizeof *c->isas);
    return 0;
}

/* Whether a chosen ISA has a precision on this CPU. */
static bool runs_here(const struct reading *r, enum carm_precision precision)
{
    bool any = false;
    for (size_t i = 0; i < r->config->nisas; i++) {
        any = any || carm_cpu_has_precision(r->cpu, r->config->isas[i], precision);
    }
    return any;
}

static int take_precision(void *to, const char *word, struct carm_err *err)
{
    const struct reading *r = to;
    struct carm_build_config *c = r->config;
    enum carm_precision p = CARM_DP;
    if (strcmp(word, "all") == 0) {
        c->nprecisions = 0;
        for (int i = 0; i < CARM_PRECISION_COUNT; i++) {
            c->absent[i] = !runs_here(r, (enum carm_precision)i);
            if (!c->absent[i]) {
                c->precisions[c->nprecisions++] = (enum carm_precision)i;
            }
        }
        return 0;
    }
    int rc = carm_precision_parse(word, &p, err);
    if (!rc && !runs_here(r, p)) {
        c->absent[p] = true;
        return 0;
    }
    for (size_t i = 0; !rc && i < c->nprecisions; i++) {
        if (c->precisions[i] == p) {
            return 0;
        }
    }
    if (!rc) {
        c->precisions[c->nprecisions++] = p;
    }
    return rc;
}

static int take_mix(void *to, const char *word, struct carm_err *err)
{
    struct carm_build_config *c = ((struct reading *)to)->config;
    struct carm_mix mix;
    int rc = carm_mix_parse(word, &mix, err);
    for (size_t i = 0; !rc && i < c->nmixes; i++) {
        if (carm_mix_equal(&c->mixes[i], &mix)) {
            return 0;
        }
    }
    if (!rc) {
        c->mixes[c->nmixes++] = mix;
    }
    return rc;
}

static int take_op(void *to, const char *word, struct carm_err *err)
{
    struct carm_build_config *c = ((struct reading *)to)->config;
    enum carm_op op = CARM_FMA;
    int rc = carm_op_parse(word, &op, err);
    for (size_t i = 0; !rc && i < c->nops; i++) {
        if (c->ops[i] == op) {
            return 0;
        }
    }
    if (!rc) {
        c->ops[c->nops++] = op;
    }
    return rc;
}

static int take_level(void *to, const char *word, struct carm_err *err)
{
    struct reading *r = to;
    struct carm_build_config *c = r->config;
    char known[64] = "";
    bool found = strcmp(word, "DRAM") == 0;
    for (size_t i = 0; i < r->topo->ncaches; i++) {
        char name[8];
        snprintf(name, sizeof name, "L%d", r->topo->caches[i].level);
        found = found || strcmp(word, name) == 0;
        snprintf(known + strlen(known), sizeof known - strlen(known), "%s, ", name);
    }
    if (!found) {
        return carm_fail(err, CARM_EINVAL, "--levels '%.16s': this machine has %sDRAM", word,
                         known);
    }
    snprintf(c->levels.names[c->levels.n++], sizeof c->levels.names[0], "%s", word);
    return 0;
}

static int take_ceilings(void *to, const char *word, struct carm_err *err)
{
    struct carm_build_config *c = ((struct reading *)to)->config;
    enum carm_ceiling_group group = CARM_CEILING_IN_CORE;
    struct carm_err why = {""};
    if (carm_ceiling_group_parse(word, &group, &why)) {
        return carm_fail(err, CARM_EINVAL, "--ceilings: %s", why.text);
    }
    c->ceilings[group] = true;
    return 0;
}

int carm_build_no_size(const char *word, struct carm_err *err)
{
    return carm_fail(err, CARM_EINVAL,
                     "--memory '%.32s' is no size: write 512M, 2G or a number of bytes", word);
}

/* Most bytes that the buffers can take. */
static uint64_t memory_room(void)
{
    const uint64_t available = carm_memory_available();
    return available > OWN_MIB * MIB ? available - OWN_MIB * MIB : 0;
}

uint64_t carm_build_usual_memory(void)
{
    const uint64_t room = memory_room();
    const uint64_t half = carm_memory_available() / 2;
    return half < room ? half : room;
}

static int configure_memory(struct carm_build_config *c, const char *word, struct carm_err *err)
{
    const uint64_t available = memory_room();
    int rc = 0;
    c->memory_bytes = carm_build_usual_memory();
    if (word) {
        rc = carm_number_bytes(word, &c->memory_bytes) ? 0 : carm_build_no_size(word, err);
        if (!rc && c->memory_bytes > available) {
            rc = carm_fail(err, CARM_ENOMEM,
                           "--memory %.32s is more than the %llu MiB available: give less, or free "
                           "some",
                           word, (unsigned long long)(available / MIB));
        }
    }
    if (!rc && c->memory_bytes < MEMORY_MIN_MIB * MIB) {
        rc = carm_fail(err, CARM_ENOMEM,
                       "%llu MiB are too little memory to leave the inner caches: at least %d MiB "
                       "are needed (free some, or raise --memory)",
                       (unsigned long long)(c->memory_bytes / MIB), MEMORY_MIN_MIB);
    }
    return rc;
}

/* Checks that the options together leave something to measure. */
static int check_together(struct carm_build_config *c, const struct carm_cpu *cpu, bool ops_given,
                          struct carm_err *err)
{
    for (size_t o = 0; ops_given && o < c->nops; o++) {
        bool any = false;
        for (size_t i = 0; i < c->nisas * c->nprecisions; i++) {
            any = any || carm_cpu_has_op(cpu, c->isas[i / c->nprecisions],
                                         c->precisions[i % c->nprecisions], c->ops[o]);
        }
        if (!any) {
            return carm_fail(err, CARM_ENOTSUP, "none of the chosen ISAs has %s on this CPU%s",
                             carm_op_name(c->ops[o]),
                             carm_ops[c->ops[o]].fused ? ": take avx2, or mad"
                                                       : " in the chosen precisions");
        }
    }
    /* the first mix without non-temporal stores becomes the model's: its curve finds the levels */
    size_t cached = 0;
    while (cached < c->nmixes && c->mixes[cached].nontemporal) {
        cached++;
    }
    if (cached == c->nmixes) {
        return carm_fail(err, CARM_EINVAL,
                         "--ldst with non-temporal stores alone: they leave the caches, so that no "
                         "level would be found; add a mix such as 2:1");
    }
    const struct carm_mix first = c->mixes[cached];
    memmove(&c->mixes[1], &c->mixes[0], cached * sizeof first);
    c->mixes[0] = first;
    return 0;
}

/* The default operations. Each precision takes the operations that it has. */
static const char *usual_ops(const struct carm_build_config *c)
{
    bool forms = false;
    for (size_t i = 0; i < c->nprecisions; i++) {
        forms = forms || carm_precisions[c->precisions[i]].forms;
    }
    return forms      ? "mad,fma,fma+add,add,mul,logic,dot,ifma,popcnt"
           : c->quick ? "mad,fma,fma+add"
                      : "mad,fma,fma+add,add,mul,div,sqrt";
}

/* Notes requested precisions that no ISA has. An error only when no precision is left. */
static int check_absent(const struct carm_build_config *c, const char *words, struct carm_err *err)
{
    return c->nprecisions > 0
               ? 0
               : carm_fail(err, CARM_ENOTSUP,
                           "none of the chosen ISAs has %s on this CPU: take --precision all for "
                           "every one that runs here",
                           words);
}

/* Moves the first precision that the first ISA has to the front: its curve finds the levels. */
static int check_precisions(struct carm_build_config *c, const struct carm_cpu *cpu,
                            struct carm_err *err)
{
    size_t first = 0;
    while (first < c->nprecisions &&
           !carm_cpu_has_precision(cpu, c->isas[0], c->precisions[first])) {
        first++;
    }
    if (first == c->nprecisions) {
        return carm_fail(err, CARM_ENOTSUP,
                         "%s, the widest of the chosen ISAs, has none of the precisions on this "
                         "CPU: choose another with --isa",
                         carm_isa_name(c->isas[0]));
    }
    const enum carm_precision p = c->precisions[first];
    memmove(&c->precisions[1], &c->precisions[0], first * sizeof p);
    c->precisions[0] = p;
    return 0;
}

/* The default ISAs: the widest and tiles with all roofs, and avx2, sse and scalar with some. A core
 * that executes 64-byte vectors in two halves moves more bytes in a cycle with 32-byte vectors: 95
 * instead of 81 from L1 on Zen 4, and 5 to 23% more from memory (docs/results.md). Most programs are
 * scalar or SSE code. A quick build has no time for these ISAs: of 56 roofs with two threads 24 to 32
 * were left out; carm run and place measure the set that a program needs. */
static void choose_isas(struct carm_build_config *c, const struct carm_cpu *cpu)
{
    static const enum carm_isa beside[] = {CARM_AVX2, CARM_SSE, CARM_SCALAR};
    c->isas[0] = carm_cpu_best_isa(cpu);
    c->nisas = 1;
    add_tiles(c, cpu);
    c->nwhole = c->nisas;
    for (size_t i = 0; i < (c->quick ? 1 : sizeof beside / sizeof *beside); i++) {
        if (beside[i] < c->isas[0] && cpu->isa[beside[i]]) {
            c->isas[c->nisas++] = beside[i];
        }
    }
}

int carm_build_configure_codes(struct carm_build_config *c, const struct carm_build_words *words,
                               const struct carm_cpu *cpu, struct carm_err *err)
{
    memset(c, 0, sizeof *c);
    struct reading r = {.config = c, .cpu = cpu};
    c->quick = words->quick != NULL;
    const char *ldst = words->ldst ? words->ldst : c->quick ? "2:1" : CARM_LIST(CARM_MIX_TABLE);
    int rc = 0;
    if (words->isa) {
        rc = carm_list_each(words->isa, "isa", take_isa, &r, err);
        c->nwhole = c->nisas;
    } else {
        choose_isas(c, cpu);
    }
    /* a quick build has no time for sp, see choose_isas */
    const char *precision = words->precision ? words->precision : c->quick ? "dp" : "dp,sp";
    rc = rc ? rc : carm_list_each(precision, "precision", take_precision, &r, err);
    c->nleading = words->precision ? c->nprecisions : 1;
    rc = rc ? rc : check_absent(c, precision, err);
    rc = rc ? rc : carm_list_each(ldst, "ldst", take_mix, &r, err);
    rc = rc ? rc : check_tiles(&r, words->isa, err);
    rc = rc ? rc : carm_list_each(words->ops ? words->ops : usual_ops(c), "ops", take_op, &r, err);
    rc = rc ? rc : check_precisions(c, cpu, err);
    if (!rc && words->ceilings) {
        rc =
            carm_list_each(words->ceilings[0] ? words->ceilings : "in-core,mix,memory,busy,traffic",
                           "ceilings", take_ceilings, &r, err);
    }
    if (!rc && carm_build_wants_ceilings(c) &&
        carm_precisions[carm_build_ceilings_precision(c)].forms) {
        return carm_fail(err, CARM_EINVAL,
                         "--ceilings are those of dp or sp: add one of them to --precision");
    }
    return rc ? rc : check_together(c, cpu, words->ops != NULL, err);
}

enum {
    SEARCH_LONGER = 4
}; /* factor of the budget with a search, which has five times the candidates */

int carm_build_configure(struct carm_build_config *c, const struct carm_build_words *words,
                         const struct carm_cpu *cpu, struct carm_topo *topo, struct carm_err *err)
{
    int rc = carm_build_configure_codes(c, words, cpu, err);
    struct reading r = {.config = c, .cpu = cpu, .topo = topo};
    c->curve_steps = c->quick ? 2 : 3;
    c->reps = c->quick ? CARM_REPS_QUICK : CARM_REPS;
    char usual[CARM_TOPO_PLACE_MAX] = "1,cores";
    if (!c->quick) {
        carm_topo_usual(topo, usual);
    }
    rc = rc ? rc
            : carm_topo_threads(topo, words->threads ? words->threads : usual, c->threads,
                                CARM_LIST_MAX, &c->nthreads, err);
    if (!rc && words->levels) {
        rc = carm_list_each(words->levels, "levels", take_level, &r, err);
    }
    rc = rc ? rc : carm_reps_parse(words->reps, &c->reps, err);
    rc = rc ? rc
            : carm_budget_parse(words->budget, CARM_BUDGET, c->quick, c->reps, &c->budget_seconds,
                                err);
    /* latencies of the whole machine are in its own model, not in a place's */
    c->latency = words->latency ? strcmp(words->latency, "no") != 0
                                : !c->quick && !*topo->on && !*topo->layout;
    if (!rc && words->latency && c->latency && strcmp(words->latency, "yes") != 0) {
        return carm_fail(err, CARM_EINVAL, "--latency '%s': write yes or no", words->latency);
    }
    c->scaling = words->scaling != NULL;
    if (!words->budget) {
        c->budget_seconds *= words->search ? SEARCH_LONGER : 1.0;
        c->budget_seconds += carm_build_wants_ceilings(c) ? CARM_BUDGET_CEILINGS : 0.0;
        c->budget_seconds += c->quick && c->latency ? CARM_BUDGET_LATENCY : 0.0;
        c->budget_seconds += c->scaling ? CARM_BUDGET_SCALING : 0.0;
    }
    return rc ? rc : configure_memory(c, words->memory, err);
}

bool carm_build_wants_level(const struct carm_build_config *config, const struct carm_topo *topo,
                            size_t level)
{
    char name[8] = "DRAM";
    if (level < topo->ncaches) {
        snprintf(name, sizeof name, "L%d", topo->caches[level].level);
    }
    return carm_level_list_has(&config->levels, name);
}

bool carm_build_wants_roof(const struct carm_build_config *config, size_t isa,
                           const struct carm_mix *mix, size_t level, size_t n)
{
    const bool whole = isa < config->nwhole;
    const bool main = carm_mix_equal(mix, &config->mixes[0]);
    const bool near = level == 0 || (level == 1 && level + 1 < n);
    const bool wide = carm_isas[config->isas[isa]].vector_bytes >= WIDE_BYTES;
    if (!carm_isa_has_mix(config->isas[isa], mix)) {
        return false;
    }
    if (mix->nontemporal) {
        return whole && level + 1 == n;
    }
    return whole || main || (wide ? level == 0 || !mix->update : near && !mix->update);
}

bool carm_build_wants_compute(const struct carm_build_config *config, size_t isa, size_t precision)
{
    return precision < config->nleading || config->isas[isa] != CARM_SCALAR;
}

bool carm_build_wants_op(const struct carm_build_config *c, const struct carm_cpu *cpu, size_t isa,
                         size_t precision, enum carm_op op)
{
    const enum carm_isa i = c->isas[isa];
    const enum carm_precision p = c->precisions[precision];
    return carm_build_wants_compute(c, isa, precision) && carm_cpu_has_op(cpu, i, p, op) &&
           (precision < c->nleading || op != CARM_MAD || !carm_cpu_has_op(cpu, i, p, CARM_FMA));
}

bool carm_build_wants_ceilings(const struct carm_build_config *c)
{
    bool any = false;
    for (size_t i = 0; i < CARM_CEILING_GROUP_COUNT; i++) {
        any = any || c->ceilings[i];
    }
    return any;
}

enum carm_precision carm_build_ceilings_precision(const struct carm_build_config *c)
{
    enum carm_precision best = c->precisions[0];
    for (size_t i = 1; i < c->nprecisions; i++) {
        if (c->precisions[i] == CARM_DP || carm_precisions[best].forms) {
            best = c->precisions[i];
        }
    }
    return best;
}
