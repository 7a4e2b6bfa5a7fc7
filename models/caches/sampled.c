/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/caches/sampled.h"

#include <gsl/gsl_cdf.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "models/caches/linemap.h"

enum {
    LINE = CARM_HIERARCHY_LINE,
    GROUPS = CARM_SAMPLED_GROUPS,
    CLASSES = CARM_SAMPLED_CLASSES,
    SETS_MOST = CLASSES, /* groups of sets: a usual second level has 2048 sets */
    SETS_LEAST = 32,
    HALF = 1 << 17, /* accesses of half a window: at one miss in 250 accesses, a set of 8 ways
                     * fills */
    DENSER = 2,     /* the windows' share is twice the sets' share: simulating the first level alone
                     * is quick */
    DENSE = 256,    /* windows: 67 million accesses. The start of a program differs from the rest */
    TURNS_MOST = 16,
    LATELY = 1 << 14,
    FEW = 30, /* fewer lines than this: the interval is a Poisson interval */
};

/* Accesses and misses of one instruction in the measured parts of a group of windows. */
struct seen {
    uint32_t accesses, misses, written;
};

/* Sums over all windows, by instruction. */
struct measured {
    uint32_t cold; /* misses in a set with free places: they may be hits */
    uint32_t left;
    uint64_t
        all; /* accesses of a string instruction; 0 = not a string instruction: its executions are known */
    uint64_t unused;
};

struct entry {
    uint64_t line; /* + 1; 0 = empty */
    uint64_t used;
    uint32_t brought, stored; /* stored: + 1; 0 = clean */
    uint32_t came,
        last; /* accesses of the window before the line came, and before the last access to the line */
};

/* The first level of a thread. */
struct first {
    uint32_t window, accesses;
    uint32_t turn, group, weight; /* of the current window */
    struct entry *entries;        /* [sets * ways] the latest used first */
};

struct carm_sampled {
    struct carm_hierarchy_config config;
    struct carm_hierarchy *others;
    struct carm_sampled_plan plan;
    uint8_t *group;            /* [plan.of] + 1; 0 = not in the sample */
    struct carm_linemap pairs; /* instruction and group: the index of the pair, from 1 */
    uint32_t npairs;
    struct {
        uint64_t key; /* 0 = none */
        uint32_t number;
    } lately[LATELY];    /* cache of pairs */
    struct measured *of; /* [nof] */
    size_t nof;
    struct seen *seen[GROUPS]; /* [nseen] an array for each group */
    size_t nseen[GROUPS];
    struct first *threads; /* [nthreads] */
    uint64_t sets;         /* of the first level */
    size_t nthreads;
    bool failed;
    double live,
        dead; /* accesses between a line's arrival and its last access, and between its last access and its eviction */
    double scale; /* accesses of the program for each measured one */
};

/* ---- opening ---- */

/* A hash without pattern (Steele, Lea, Flood 2014: SplitMix64). */
static uint64_t mix(uint64_t x)
{
    x = (x + 1) * UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return x ^ x >> 31;
}

/* Lines that differ in these bits never share a set. */
static uint32_t groups_of_sets(const struct carm_hierarchy_config *config, uint32_t most)
{
    uint64_t of = most;
    for (size_t k = 1; config && k < config->nlevels; k++) {
        const struct carm_hierarchy_level *l = &config->levels[k];
        const uint64_t sets = l->size_bytes / LINE / l->ways;
        while (sets % of) {
            of /= 2;
        }
    }
    return (uint32_t)of;
}

/* Sets whose lowest 3 bits take all values equally often: strides of up to 8 lines have the same share of sampled
 * lines. The next 3 bits do so too, as far as a sixty-fourth of the sets allows it. The 6 bits are a line's place in
 * its page of 4 KiB, and data of one kind may start at the same place of many pages (Niederreiter 1992, Random Number
 * Generation and Quasi-Monte Carlo Methods, section 4.1, on nets). The higher bits have no pattern. The sets of each
 * value of the lowest 3 bits are in two groups, so that strides of up to 32 lines occur in both. */
static void make_plan(struct carm_sampled *s, double share, uint64_t seed)
{
    enum { LOW = GROUPS / 2, PLACES = 8, LEAST = 64 };
    struct carm_sampled_plan *p = &s->plan;
    const uint32_t rows = p->of / LOW;
    const uint32_t places = rows < PLACES ? rows : PLACES;
    uint32_t each = 2; /* sets of one value */
    while (each < places && 2 * each * LOW * LEAST <= p->of) {
        each *= 2;
    }
    while (each < rows && each * LOW < share * p->of) {
        each *= 2;
    }
    p->sets = each * LOW;
    const uint32_t some = each < places ? each : places; /* places that the sample has */
    for (uint32_t low = 0; low < LOW; low++) {
        const uint32_t reversed = (low & 1) << 2 | (low & 2) | (low & 4) >> 2;
        for (uint32_t i = 0; i < each; i++) {
            const uint32_t place = (i % some * (places / some) + reversed) % places;
            const uint64_t high = mix(low * PLACES + i % some + seed * PLACES * LOW) +
                                  (uint64_t)(i / some) * (rows / places) / (each / some);
            const uint32_t set = ((uint32_t)(high % (rows / places)) * places + place) * LOW + low;
            s->group[set] = (uint8_t)(low * 2 + ((unsigned)__builtin_popcount(i) & 1) + 1);
        }
    }
    for (uint32_t c = 0; c < CLASSES; c++) {
        p->classes[c] = s->group[c % p->of] != 0;
    }
}

/* Samples pages whose lowest 3 bits take all values equally often, like the sets. */
static void make_pages(struct carm_sampled_plan *p, double share, uint64_t seed)
{
    enum { LOW = 8, LEAST = 8 };
    const double wanted = ceil(share * CARM_SAMPLED_PAGES / LOW) * LOW;
    const uint32_t n = wanted < LEAST ? LEAST : (uint32_t)wanted;
    uint64_t x = seed;
    while (p->npages < n) {
        const uint32_t high = (uint32_t)(mix(x++) % (CARM_SAMPLED_PAGES / LOW));
        uint8_t *page = &p->pages[high * LOW + p->npages % LOW];
        p->npages += !*page;
        *page = 1;
    }
}

static uint64_t first_sets(const struct carm_hierarchy_config *config)
{
    return config->levels[0].size_bytes / LINE / config->levels[0].ways;
}

/* Divides the windows among turns: each turn simulates every n-th pair of neighbouring sets. */
static void make_turns(struct carm_sampled *s, const struct carm_hierarchy_config *beside,
                       double share, uint64_t seed)
{
    struct carm_sampled_plan *p = &s->plan;
    p->turns = 1;
    while (p->turns < TURNS_MOST && s->sets % (4ULL * p->turns) == 0 &&
           (!beside || first_sets(beside) % (4ULL * p->turns) == 0) &&
           share * DENSER * p->turns * 2 <= 1.0) {
        p->turns *= 2;
    }
    p->half = HALF;
    const double between = 2.0 * HALF * (1.0 / (share * DENSER * p->turns) - 1.0);
    p->between = between < HALF / 4.0 ? 0 : between < 1e9 ? (uint32_t)between : 1000000000U;
    for (uint32_t c = 0; c < CLASSES; c++) {
        p->turn[c] = (uint8_t)((c / 2 + seed) % p->turns);
    }
    const double lines = (double)p->sets / p->of;
    const double outside = lines + (1.0 - lines) * p->npages / CARM_SAMPLED_PAGES;
    p->half_records = (uint32_t)(HALF * (outside + (1.0 - outside) / p->turns));
    p->between_records = (uint32_t)(p->between * outside);
    p->dense = DENSE;
    p->weight = 1 + (uint32_t)lround(p->between / (2.0 * HALF));
}

int carm_sampled_open(struct carm_sampled **out, const struct carm_hierarchy_config *config,
                      const struct carm_hierarchy_config *beside, double share, uint64_t seed,
                      struct carm_sampled_plan *plan, struct carm_err *err)
{
    enum { PAIR_BITS = 12 };
    struct carm_hierarchy_config others = *config;
    const uint32_t of = groups_of_sets(beside, groups_of_sets(config, SETS_MOST));
    int rc = carm_hierarchy_check(config, err);
    if (!rc && (config->nlevels < 2 || of < SETS_LEAST)) {
        rc = carm_fail(err, CARM_ENOTSUP,
                       "these caches cannot be sampled: a level behind the first has fewer than "
                       "%d sets or an odd number of them",
                       (int)SETS_LEAST);
    }
    if (!rc && (config->next_line || config->streams)) {
        rc = carm_fail(err, CARM_ENOTSUP,
                       "prefetching cannot be sampled: it needs the neighbours of each line");
    }
    struct carm_sampled *s = rc ? NULL : calloc(1, sizeof *s);
    if (!s) {
        return rc ? rc : carm_fail(err, CARM_ENOMEM, "not enough memory");
    }
    s->config = *config;
    s->plan.of = of;
    s->group = calloc(of, sizeof *s->group);
    if (!s->group || !carm_linemap_open(&s->pairs, PAIR_BITS, 1)) {
        carm_sampled_close(s);
        return carm_fail(err, CARM_ENOMEM, "not enough memory");
    }
    s->sets = first_sets(config);
    make_plan(s, share, seed);
    make_pages(&s->plan, share, seed);
    make_turns(s, beside, share, seed);
    others.share = (double)s->plan.sets / of;
    const uint64_t lines = config->levels[0].size_bytes / LINE;
    uint32_t few = (uint32_t)lround(others.share * (double)lines);
    few = few ? few : 1;
    others.levels[0] =
        (struct carm_hierarchy_level){(uint64_t)few * LINE, few, config->levels[0].shared_by};
    rc = carm_hierarchy_open(&s->others, &others, err);
    if (rc) {
        carm_sampled_close(s);
        return rc;
    }
    *plan = s->plan;
    *out = s;
    return 0;
}

void carm_sampled_close(struct carm_sampled *s)
{
    if (!s) {
        return;
    }
    for (size_t i = 0; i < s->nthreads; i++) {
        free(s->threads[i].entries);
    }
    carm_hierarchy_close(s->others);
    carm_linemap_close(&s->pairs);
    free(s->threads);
    free(s->group);
    for (size_t g = 0; g < GROUPS; g++) {
        free(s->seen[g]);
    }
    free(s->of);
    free(s);
}

/* ---- the first level, in windows ---- */

/* New elements are 0. */
static bool room_for(void *items, size_t *room, size_t i, size_t size)
{
    const size_t had = *room;
    char *array;
    if (i < had) {
        return true;
    }
    if (carm_array_grow(items, room, i, 1, size, "the sampled caches", NULL) != 0) {
        return false;
    }
    memcpy(&array, items, sizeof array);
    memset(array + had * size, 0, (*room - had) * size);
    return true;
}

static struct first *first_of(struct carm_sampled *s, uint32_t thread, uint32_t window)
{
    if (thread < s->nthreads && s->threads[thread].window == window / 2 &&
        s->threads[thread].entries) {
        return &s->threads[thread];
    }
    const uint64_t lines = s->config.levels[0].size_bytes / LINE;
    if (!room_for(&s->threads, &s->nthreads, thread, sizeof *s->threads)) {
        return NULL;
    }
    struct first *f = &s->threads[thread];
    f->entries = f->entries ? f->entries : calloc(lines, sizeof *f->entries);
    if (f->entries && f->window != window / 2) {
        memset(f->entries, 0, lines * sizeof *f->entries);
        f->window = window / 2;
        f->accesses = 0;
        f->turn = carm_sampled_turn(&s->plan, window);
        f->group = (window / 2 + (uint32_t)mix(thread)) % GROUPS;
        f->weight = window / 2 > s->plan.dense ? s->plan.weight : 1;
    }
    return f->entries ? f : NULL;
}

/* A line leaves, or it is clean from now on. */
static void count_left(struct carm_sampled *s, const struct entry *e, uint32_t group,
                       uint32_t weight)
{
    s->of[e->brought].left++;
    s->of[e->brought].unused += LINE - (unsigned)__builtin_popcountll(e->used);
    if (e->stored) {
        s->seen[group][e->stored - 1].written += weight;
    }
}

static void look_up(struct carm_sampled *s, struct first *f, uint64_t line, uint64_t bytes,
                    bool store, uint32_t who, uint32_t group, bool counts)
{
    const uint32_t ways = s->config.levels[0].ways;
    const uint64_t at = (s->sets & (s->sets - 1)) == 0 ? line & (s->sets - 1) : line % s->sets;
    struct entry *set = f->entries + at * ways;
    uint32_t i = 0;
    if (set[0].line == line + 1) {
        set[0].last = f->accesses;
        set[0].used |= bytes;
        set[0].stored = store ? who + 1 : set[0].stored;
        return;
    }
    while (i < ways - 1 && set[i].line && set[i].line != line + 1) {
        i++;
    }
    struct entry e = set[i];
    if (e.line != line + 1) {
        if (counts) {
            s->seen[group][who].misses += f->weight;
            s->of[who].cold += e.line == 0 ? f->weight : 0;
        }
        if (e.line) {
            s->live += e.last - e.came;
            s->dead += f->accesses - e.last;
        }
        if (counts && e.line) {
            count_left(s, &e, group, f->weight);
        }
        e = (struct entry){.line = line + 1, .brought = who, .came = f->accesses};
    }
    e.last = f->accesses;
    e.used |= bytes;
    e.stored = store ? who + 1 : e.stored;
    memmove(set + 1, set, i * sizeof *set);
    set[0] = e;
}

static struct seen seen_of(const struct carm_sampled *s, size_t who, uint32_t group)
{
    return who < s->nseen[group] ? s->seen[group][who] : (struct seen){.accesses = 0};
}

/* ---- accesses ---- */

/* The number of an instruction and group of sets in the simulation of the other levels. */
static uint32_t pair(struct carm_sampled *s, uint32_t who, uint32_t group)
{
    const uint64_t key = (uint64_t)who * GROUPS + group + 1;
    if (s->lately[key % LATELY].key != key) {
        uint64_t *number = carm_linemap_add(&s->pairs, key);
        if (!number) {
            s->failed = true;
            return 0;
        }
        *number = *number ? *number : ++s->npairs;
        s->lately[key % LATELY].key = key;
        s->lately[key % LATELY].number = (uint32_t)*number;
    }
    return s->lately[key % LATELY].number;
}

static bool is_turn(const struct carm_sampled *s, uint64_t line, uint32_t turn)
{
    return s->plan.turn[line % CLASSES] == turn;
}

bool carm_sampled_has(const struct carm_sampled *s, uint64_t address, uint32_t bytes,
                      uint32_t window)
{
    const uint64_t first = address / LINE;
    const uint64_t last = (address + (bytes ? bytes - 1 : 0)) / LINE;
    const uint32_t turn = carm_sampled_turn(&s->plan, window);
    return s->group[first & (s->plan.of - 1)] || s->group[last & (s->plan.of - 1)] ||
           (window && (is_turn(s, first, turn) || is_turn(s, last, turn)));
}

bool carm_sampled_hits(struct carm_sampled *s, uint32_t core, uint64_t address, uint32_t bytes)
{
    return bytes && address % LINE + bytes <= LINE &&
           (!s->group[address / LINE & (s->plan.of - 1)] ||
            carm_hierarchy_hits(s->others, core, address, bytes));
}

void carm_sampled_pass(struct carm_sampled *s, uint64_t n, uint32_t who)
{
    if (!room_for(&s->of, &s->nof, who, sizeof *s->of)) {
        s->failed = true;
        return;
    }
    s->of[who].all += n;
}

void carm_sampled_access(struct carm_sampled *s, uint32_t thread, uint32_t core, uint64_t address,
                         uint32_t bytes, enum carm_access_kind kind, uint32_t window, bool repeated,
                         uint32_t who)
{
    const bool prefetched = kind == CARM_ACCESS_PREFETCH;
    const bool cached = kind == CARM_ACCESS_LOAD || kind == CARM_ACCESS_STORE || prefetched;
    const uint64_t end = address + (bytes ? bytes - 1 : 0);
    const bool counts = window % 2;
    const bool in_first = window && kind <= CARM_ACCESS_PREFETCH;
    struct first *f = in_first ? first_of(s, thread, window) : NULL;
    const uint32_t group = f ? f->group : 0;
    if ((in_first && !f) || (in_first && !room_for(&s->of, &s->nof, who, sizeof *s->of)) ||
        (in_first && !room_for(&s->seen[group], &s->nseen[group], who, sizeof *s->seen[group]))) {
        s->failed = true;
        return;
    }
    if (repeated && kind <= CARM_ACCESS_PREFETCH) {
        carm_sampled_pass(s, 1, who);
    }
    if (f && is_turn(s, address / LINE, f->turn)) {
        f->accesses++;
        s->seen[group][who].accesses += counts ? f->weight : 0;
    }
    for (uint64_t line = address / LINE; line <= end / LINE; line++) {
        const uint64_t first = line == address / LINE ? address % LINE : 0;
        const uint64_t last = line == end / LINE ? end % LINE : LINE - 1;
        const uint32_t set = s->group[line & (s->plan.of - 1)];
        if (f && cached && is_turn(s, line, f->turn)) {
            look_up(s, f, line, prefetched ? 0 : UINT64_MAX >> (LINE - 1 - (last - first)) << first,
                    kind == CARM_ACCESS_STORE, who, group, counts);
        }
        if (set &&
            !(kind == CARM_ACCESS_LOAD && carm_hierarchy_hits(s->others, core, line * LINE + first,
                                                              (uint32_t)(last - first + 1)))) {
            carm_hierarchy_by(s->others, pair(s, who, set - 1));
            carm_hierarchy_access(s->others, core, line * LINE + first,
                                  (uint32_t)(last - first + 1), kind);
        }
    }
}

int carm_sampled_end(struct carm_sampled *s, double accesses, struct carm_err *err)
{
    struct carm_hierarchy_counts all;
    uint64_t measured = 0;
    carm_hierarchy_flush(s->others);
    for (size_t i = 0; i < s->nof; i++) {
        for (uint32_t g = 0; g < GROUPS; g++) {
            measured += seen_of(s, i, g).accesses;
        }
    }
    s->scale = measured ? accesses / (double)measured : 0.0;
    return s->failed ? carm_fail(err, CARM_ENOMEM, "not enough memory for the sampled caches")
                     : carm_hierarchy_read(s->others, &all, err);
}

/* ---- sums ---- */

static void add_first(const struct carm_sampled *s, uint32_t who, double executions,
                      struct carm_sampled_sum *sum)
{
    const struct measured *m = &s->of[who];
    uint64_t accesses = 0, moved = 0, misses = 0;
    for (uint32_t g = 0; g < GROUPS; g++) {
        const struct seen n = seen_of(s, who, g);
        accesses += n.accesses;
        misses += n.misses;
        moved += n.misses + n.written;
    }
    executions = m->all ? (double)m->all : executions;
    const double scale = executions > 0.0 && accesses ? executions / (double)accesses : s->scale;
    sum->bytes[0] += scale * LINE * (double)moved;
    sum->cold += scale * LINE * m->cold;
    sum->misses[0] += scale * (double)misses;
    sum->lookups[0] += scale * (double)accesses;
    sum->seen += (double)accesses / s->plan.weight;
    sum->missed += (double)misses / s->plan.weight;
    sum->unused[0] += m->left ? scale * (double)misses * (double)m->unused / m->left : 0.0;
    for (uint32_t g = 0; g < GROUPS; g++) {
        const struct seen n = seen_of(s, who, g);
        const double mean = accesses ? (double)moved * n.accesses / (double)accesses : 0.0;
        sum->accesses[g] += scale * n.accesses;
        sum->groups[0][g] += scale * LINE * ((double)(n.misses + n.written) - mean);
    }
}

static void add_others(const struct carm_sampled *s, const struct carm_hierarchy_counts *c,
                       uint32_t group, struct carm_sampled_sum *sum)
{
    const double scale = (double)s->plan.of / s->plan.sets;
    sum->few_lines += scale * (double)c->levels[0].fills;
    sum->few_written += scale * (double)c->levels[0].writebacks;
    sum->reasons[0][CARM_MISS_COMPULSORY] +=
        scale * (double)c->levels[0].misses[CARM_MISS_COMPULSORY];
    sum->reasons[0][CARM_MISS_COHERENCE] +=
        scale * (double)c->levels[0].misses[CARM_MISS_COHERENCE];
    for (size_t k = 1; k < c->nlevels; k++) {
        const struct carm_hierarchy_level_counts *n = &c->levels[k];
        sum->groups[k][group] += carm_hierarchy_bytes(c, k);
        sum->bytes[k] += scale * carm_hierarchy_bytes(c, k);
        sum->unused[k] += scale * (double)n->wasted_bytes;
        sum->lookups[k] += scale * (double)n->lookups;
        sum->misses[k] += scale * (double)carm_hierarchy_misses(c, k);
        for (int r = 0; r < CARM_MISS_REASONS; r++) {
            sum->reasons[k][r] += scale * (double)n->misses[r];
        }
    }
}

static bool is_measured(const struct carm_sampled *s, uint32_t who)
{
    bool any = false;
    for (uint32_t g = 0; who < s->nof && g < GROUPS; g++) {
        any |= seen_of(s, who, g).accesses > 0;
    }
    return any;
}

void carm_sampled_add(const struct carm_sampled *s, uint32_t who, double executions,
                      struct carm_sampled_sum *sum)
{
    if (who < s->nof) {
        add_first(s, who, executions, sum);
    }
    const double before = sum->few_lines + sum->few_written;
    for (uint32_t g = 0; g < GROUPS; g++) {
        const uint64_t *number = carm_linemap_find(&s->pairs, (uint64_t)who * GROUPS + g + 1);
        struct carm_hierarchy_counts c;
        if (number) {
            carm_hierarchy_read_by(s->others, (uint32_t)*number, &c);
            add_others(s, &c, g, sum);
        }
    }
    if (!is_measured(s, who)) {
        sum->unmeasured += LINE * (sum->few_lines + sum->few_written - before);
    }
}

/* Half of the interval of a sum over sampled sets: two groups of each value of the lowest 3 bits. */
static double half_of_sets(const struct carm_sampled *s, const double *groups)
{
    const double share = (double)s->plan.sets / s->plan.of;
    double squares = 0.0;
    for (uint32_t g = 0; g < GROUPS; g += 2) {
        squares += (groups[g] - groups[g + 1]) * (groups[g] - groups[g + 1]);
    }
    return gsl_cdf_tdist_Pinv(0.975, GROUPS / 2.0) / share * sqrt((1.0 - share) * squares);
}

/* Half of the first level's interval, from the deviations of the groups of windows. A single group
 * shows no spread: its error may be as large as its value. */
static double half_of_windows(const struct carm_sampled_sum *sum)
{
    double squares = 0.0, all = 0.0;
    uint32_t n = 0;
    for (uint32_t g = 0; g < GROUPS; g++) {
        all += sum->accesses[g];
    }
    for (uint32_t g = 0; g < GROUPS; g++) {
        squares += sum->groups[0][g] * sum->groups[0][g];
        n += sum->accesses[g] > 0.01 / GROUPS * all;
    }
    return n < 2 ? sum->bytes[0] : gsl_cdf_tdist_Pinv(0.975, n - 1) * sqrt(squares * n / (n - 1));
}

void carm_sampled_exact(const struct carm_hierarchy_counts *counts, struct carm_level_estimate *out)
{
    for (size_t k = 0; k < counts->nlevels; k++) {
        const struct carm_hierarchy_level_counts *n = &counts->levels[k];
        const double bytes = carm_hierarchy_bytes(counts, k);
        out[k] = (struct carm_level_estimate){.bytes = bytes,
                                              .low = bytes,
                                              .high = bytes,
                                              .unused = (double)n->wasted_bytes,
                                              .lines = (double)n->left,
                                              .lookups = (double)n->lookups,
                                              .misses = (double)carm_hierarchy_misses(counts, k)};
        for (int r = 0; r < CARM_MISS_REASONS; r++) {
            out[k].reasons[r] = (double)n->misses[r];
        }
    }
}

/* Widens an interval to the Poisson spread of few lines: a sample without lines does not prove that
 * the program has none. For many lines, the differences between the parts of the sample give the
 * interval, with two lines added at either end: a stream may end anywhere.
 * lines  seen in the sample
 * each   bytes that each line stands for */
static void widen(struct carm_level_estimate *l, double lines, double each)
{
    const double low = lines <= 0.0  ? 0.0
                       : lines < FEW ? gsl_cdf_gamma_Pinv(0.025, lines, 1.0)
                                     : lines - 2.0;
    const double high = lines < FEW ? gsl_cdf_gamma_Pinv(0.975, lines + 1.0, 1.0) : lines + 2.0;
    l->low = fmin(l->low, each * low);
    l->high = fmax(l->high, each * high);
}

static void read_first(const struct carm_sampled *s, const struct carm_sampled_sum *sum,
                       struct carm_level_estimate *l)
{
    const double taken = LINE * sum->reasons[0][CARM_MISS_COHERENCE]; /* not seen by windows */
    const double written =
        sum->few_lines > 0.0 ? fmin(sum->few_written / sum->few_lines, 1.0) : 0.0;
    const double came = s->dead > 0.0 ? s->dead / (s->live + s->dead) : 0.0; /* of the cold
                                                                              * misses */
    const double low = sum->bytes[0] - sum->cold + taken;
    const double high = low + sum->cold * (1.0 + written);
    const double half = half_of_windows(sum);
    const double of_sets = LINE * (double)s->plan.of / s->plan.sets;
    l->bytes = low + came * (high - low);
    l->misses = sum->misses[0] + (taken - (1.0 - came) * sum->cold) / LINE + sum->unmeasured / LINE;
    l->low = fmax(0.0, low - half);
    l->high = high + half;
    if (sum->seen > 0.0) {
        widen(l, sum->missed,
              sum->missed > 0.0 ? sum->bytes[0] / sum->missed
                                : 2.0 * LINE * sum->lookups[0] / sum->seen);
    }
    if (sum->unmeasured > 0.0 || sum->seen <= 0.0) {
        struct carm_level_estimate rest = {.low = 0.0, .high = 2.0 * sum->unmeasured};
        widen(&rest, sum->unmeasured / of_sets, of_sets);
        l->bytes += sum->unmeasured;
        l->high += rest.high;
    }
}

/* Limits a level's misses to the first level's. Addresses a power of two apart fall into few sets; if the sample has
 * these sets, their lines are scaled up too far: a binary search had 67 times as many lines from L3 as from L2. Few
 * lines are no reason to limit: the windows may have missed them all.
 * of_sets  lines that one of the sampled sets stands for */
static void bound_by_first(const struct carm_level_estimate *first, double of_sets,
                           struct carm_level_estimate *l)
{
    /* two sound estimates of the same lines differ by less; chosen by hand */
    static const double alike = 1.5;
    const bool exceeds = l->misses > alike * first->misses && l->misses >= FEW * of_sets;
    const double share = exceeds ? first->misses / l->misses : 1.0;
    l->bytes *= share;
    l->low *= share;
    l->unused *= share;
    l->lines *= share;
    l->misses *= share;
    for (int r = 0; r < CARM_MISS_REASONS; r++) {
        l->reasons[r] *= share;
    }
}

void carm_sampled_read(const struct carm_sampled *s, const struct carm_sampled_sum *sum,
                       struct carm_level_estimate *out)
{
    const double of_sets = 2.0 * LINE * (double)s->plan.of / s->plan.sets;
    for (size_t k = 0; k < s->config.nlevels; k++) {
        struct carm_level_estimate *l = &out[k];
        const double half = half_of_sets(s, sum->groups[k]);
        *l = (struct carm_level_estimate){.bytes = sum->bytes[k],
                                          .low = fmax(0.0, sum->bytes[k] - half),
                                          .high = sum->bytes[k] + half,
                                          .unused = sum->unused[k],
                                          .lookups = sum->lookups[k],
                                          .misses = sum->misses[k]};
        memcpy(l->reasons, sum->reasons[k], sizeof l->reasons);
        if (k == 0) {
            read_first(s, sum, l);
        } else { /* a line that comes and leaves is seen once */
            widen(l, sum->bytes[k] / of_sets, of_sets);
        }
        if (k > 0 && sum->lookups[k] < FEW * of_sets / 2.0 / LINE) { /* the sample has few
                                                                      * lookups */
            l->high = fmax(l->high, 2.0 * out[k - 1].high);
        }
        l->lines = l->misses;
    }
    struct carm_level_estimate *first = &out[0];
    for (size_t k = 1; k < s->config.nlevels; k++) {
        bound_by_first(first, of_sets / 2.0 / LINE, &out[k]);
    }
    first->unused *= sum->misses[0] > 0.0 ? first->misses / sum->misses[0] : 1.0;
    first->reasons[CARM_MISS_CAPACITY] =
        fmax(0.0, first->misses - first->reasons[CARM_MISS_COMPULSORY] -
                      first->reasons[CARM_MISS_COHERENCE]);
}
