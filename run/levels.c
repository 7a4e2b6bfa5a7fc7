/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/levels.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "harness/machine/topo.h"
#include "harness/translate/addresses.h"
#include "models/caches/hierarchy.h"
#include "models/caches/linemap.h"
#include "models/caches/machine.h"
#include "models/caches/sampled.h"
#include "models/caches/tlb.h"
#include "models/latency.h"

_Static_assert((int)CARM_ACCESS_LOAD == (int)CARM_ADDRESS_LOAD &&
                   (int)CARM_ACCESS_STORE == (int)CARM_ADDRESS_STORE &&
                   (int)CARM_ACCESS_STORE_NT == (int)CARM_ADDRESS_STORE_NT &&
                   (int)CARM_ACCESS_PREFETCH == (int)CARM_ADDRESS_PREFETCH &&
                   (int)CARM_ACCESS_PREFETCH_L2 == (int)CARM_ADDRESS_PREFETCH_L2,
               "both number the kinds alike");

/* The share of a long program's accesses that is simulated. At 1%, most of the time goes into
 * counting, not simulation. */
static const double long_share = 0.01;

/* One load or store of an instruction; without sampling, all accesses of the instruction. */
struct instruction {
    uint32_t program, counter, at;
    bool varies;
    uint32_t seen, splits; /* recorded accesses, and accesses that cross into a second line */
    uint32_t contended;    /* accesses to lines that another thread writes */
    uint64_t last;         /* address of the latest access */
    uint32_t ordered;      /* loads for which all earlier stores are known ... */
    uint32_t aliased; /* ... of these, loads after a store at the same offset of another page */
    uint32_t moved;   /* steps to other addresses ... */
    uint32_t apart;   /* ... by 4096 bytes or more */
    int64_t step;     /* without sampling: the step of the majority, if there is one ... */
    uint32_t votes, followed; /* ... by a vote (Boyer, Moore 1991); number of steps equal to it */
    uint32_t translated;      /* accesses that the TLB simulated; with sampling, to sampled pages */
    uint32_t walks;           /* of these, accesses that need a walk */
    double far, wide;         /* sums of the walks' distances, see struct carm_run_places */
    uint64_t walked;          /* page of the latest walk */
    uint8_t
        pages[CARM_RUN_PAGES_KEPT]; /* a sketch of its pages: carm_run_levels_lines counts them */
};

/* The number of a recently numbered instruction. */
struct recent {
    uint64_t key; /* 0 = none */
    uint32_t number;
};
enum { RECENT = 1 << 16 };

/* The thread that wrote a line last. */
struct writer {
    uint64_t line;
    uint32_t thread;
    bool several;
};
enum { WRITERS = 1 << 12 };

/* The latest stores of a core, by 8 bytes of their place in a page. Cores compare the low 12 bits of a load's address
 * with the addresses of stores that wait. source: Intel 248966, 4-KByte aliasing; measured on Zen 4 (alias-4k) */
enum {
    GRANULE = 8,
    GRANULES = 4096 / GRANULE,
    QUEUED = 32, /* waiting stores on average: half of Zen 4's queue of 64 (AMD 57647) */
};
struct stores {
    uint64_t page[GRANULES];
    uint32_t when[GRANULES], now;
};

/* The place of an instruction. */
struct where {
    uint32_t module, number;
    uint64_t at;
};

struct carm_run_levels {
    struct where *where; /* [nwhere] sorted by place */
    size_t nwhere;
    struct carm_run_simulation about;
    /* one of these two is used: simulation of all accesses, or of a sample */
    struct carm_hierarchy *hierarchy;
    struct carm_sampled *sampled;
    struct carm_address_sink *sink;
    struct carm_run_levels *changed; /* NULL, or other caches for the same accesses */
    /* keep instructions apart, numbered from 1; number 0 = all instructions for which memory was
     * lacking */
    bool by_code;
    struct carm_linemap numbers;
    struct recent recent[RECENT];
    struct writer writers[WRITERS];
    struct instruction *instructions; /* [ninstructions + 1] */
    size_t ninstructions, room;
    struct stores *stores;         /* [cores of the config] */
    uint64_t tlb_pages;            /* 0 = not known */
    double paged;                  /* the share of all pages whose accesses the TLB simulates */
    struct carm_tlb *tlb;          /* [cores of the config] zeros before a core's first access */
    struct carm_run_figures *rows; /* [nrows] of the profile */
    size_t nrows;
};

/* The number of an instruction. */
static uint32_t number_of(struct carm_run_levels *l, enum carm_address_kind kind,
                          const struct carm_address_by *by)
{
    enum { AT_AT = 3, COUNTER_AT = 13, PROGRAM_AT = 33 };
    const uint64_t key =
        ((uint64_t)by->program << PROGRAM_AT | (uint64_t)by->counter << COUNTER_AT |
         by->at << AT_AT | (l->sampled ? (unsigned)kind : 0U)) +
        1;
    struct recent *recent =
        &l->recent[(by->counter * 31U + by->at * 2U + (kind == CARM_ADDRESS_STORE)) % RECENT];
    if (recent->key == key) {
        return recent->number;
    }
    uint64_t *number = carm_linemap_add(&l->numbers, key);
    if (number && *number == 0 &&
        carm_array_grow(&l->instructions, &l->room, l->ninstructions + 1, 1,
                        sizeof *l->instructions, "the instructions", NULL) == 0) {
        *number = ++l->ninstructions;
        l->instructions[l->ninstructions] = (struct instruction){
            .program = by->program, .counter = by->counter, .at = by->at, .varies = by->varies};
    }
    *recent = (struct recent){key, number ? (uint32_t)*number : 0};
    return recent->number;
}

/* Whether an access goes to a line that several threads have written lately. */
static bool is_contended(struct carm_run_levels *l, uint32_t thread, uint64_t line, bool stores)
{
    struct writer *w = &l->writers[line * UINT64_C(0x9e3779b97f4a7c15) >> 52];
    const bool same = w->line == line + 1;
    if (stores && !same) {
        *w = (struct writer){line + 1, thread, false};
        return false;
    }
    const bool other = same && (w->several || w->thread != thread);
    w->several = w->several || (stores && other);
    return same && w->several;
}

enum { LINE = 64, PAGE = 4096 };

/* Whether an access needs a walk through the tables of pages. */
static bool walks(struct carm_run_levels *l, uint32_t core, uint64_t page)
{
    struct carm_tlb *tlb = l->tlb ? &l->tlb[core] : NULL;
    if (tlb && !tlb->second.nodes && !carm_tlb_open(tlb, l->tlb_pages)) {
        carm_tlb_close(tlb);
        memset(tlb, 0, sizeof *tlb);
        tlb = NULL;
    }
    return tlb && carm_tlb_walks(tlb, page);
}

/* Notes how an instruction's addresses move. An instruction that loads and stores has two accesses at one address. */
static void note_step(struct carm_run_levels *l, struct instruction *i, uint64_t address)
{
    const int64_t step = (int64_t)(address - i->last);
    const uint64_t by = step < 0 ? UINT64_C(0) - (uint64_t)step : (uint64_t)step;
    if (step == 0 || i->last == 0) {
        i->last = address;
        return;
    }
    i->last = address;
    i->moved++;
    i->apart += by >= PAGE;
    if (l->sampled) {
        return;
    }
    if (step == i->step) {
        i->votes++;
        i->followed++;
    } else if (i->votes > 0) {
        i->votes--;
    } else {
        i->step = step;
        i->votes = i->followed = 1;
    }
}

static void note_walk(struct carm_run_levels *l, struct instruction *i, uint32_t core,
                      uint64_t page)
{
    i->translated++;
    if (walks(l, core, page)) {
        const double apart = l->paged * fabs((double)page - (double)i->walked);
        i->walks++;
        i->far += carm_run_between(apart, 1.0, CARM_WALK_FAR);
        i->wide += carm_run_between(apart, CARM_WALK_FAR, CARM_WALK_WIDE);
        i->walked = page;
    }
}

/* Compares an access with earlier stores. With sampling, all accesses to some of the sets are known inside windows. */
static void note_order(struct carm_run_levels *l, struct instruction *i, uint32_t core,
                       uint64_t address, uint32_t bytes, bool stores)
{
    struct stores *s = &l->stores[core];
    const uint64_t page = address / PAGE + 1;
    const unsigned first = (unsigned)(address % PAGE) / GRANULE;
    const unsigned behind = first + (bytes + GRANULE - 1) / GRANULE;
    const unsigned end = behind < GRANULES ? behind : GRANULES;
    const uint32_t turns = l->sampled ? l->about.plan.turns : 1;
    const uint32_t queued = QUEUED > turns ? QUEUED / turns : 1;
    bool aliased = false;
    s->now += stores;
    for (unsigned k = first; k < end; k++) {
        aliased = aliased ||
                  (s->page[k] && s->page[k] != page && s->now - s->when[k] < queued && !stores);
        s->page[k] = stores ? page : s->page[k];
        s->when[k] = stores ? s->now : s->when[k];
    }
    if (i && !stores) {
        i->ordered++;
        i->aliased += aliased;
    }
}

static void note_access(struct carm_run_levels *l, uint32_t number, uint32_t thread, uint32_t core,
                        uint64_t address, uint32_t bytes, bool stores, bool ordered)
{
    struct instruction *i = number ? &l->instructions[number] : NULL;
    if (ordered) {
        note_order(l, i, core, address, bytes, stores);
    }
    if (i && i->seen < UINT32_MAX) {
        i->seen++;
        i->splits += address % LINE + bytes > LINE;
        i->contended +=
            l->about.threads > 1 && is_contended(l, thread, address / LINE, stores) ? 1 : 0;
        note_step(l, i, address);
        if (!l->sampled) {
            note_walk(l, i, core, address / PAGE);
        }
        const uint64_t hash = (address / PAGE + 1) * UINT64_C(0x9e3779b97f4a7c15);
        const uint64_t mixed = (hash ^ hash >> 32) * UINT64_C(0xd6e8feb86659fd93);
        const uint8_t rank = (uint8_t)(1 + __builtin_clzll(mixed << CARM_RUN_PAGES_BITS | 1));
        uint8_t *kept = &i->pages[mixed >> (64 - CARM_RUN_PAGES_BITS)];
        *kept = rank > *kept ? rank : *kept;
    }
}

static void take(void *arg, uint32_t thread, uint64_t address, uint32_t bytes,
                 enum carm_address_kind kind, const struct carm_address_by *by)
{
    struct carm_run_levels *l = arg;
    const enum carm_access_kind as = (enum carm_access_kind)kind;
    l->about.threads = thread >= l->about.threads ? thread + 1 : l->about.threads;
    if (l->sampled && l->tlb && !by->repeated && carm_sampled_has_page(&l->about.plan, address)) {
        const uint32_t number = number_of(l, kind, by);
        if (number) {
            note_walk(l, &l->instructions[number], thread % l->about.config.cores, address / PAGE);
        }
    }
    if (l->sampled && !by->repeated && !carm_sampled_has(l->sampled, address, bytes, by->window)) {
        return;
    }
    const uint32_t core = thread % l->about.config.cores;
    if (l->sampled && as == CARM_ACCESS_LOAD && !by->window && !by->repeated &&
        carm_sampled_hits(l->sampled, core, address, bytes)) {
        return;
    }
    const uint32_t number = l->sampled || l->by_code ? number_of(l, kind, by) : 0;
    if (!by->repeated) {
        note_access(l, number, thread, core, address, bytes,
                    as == CARM_ACCESS_STORE || as == CARM_ACCESS_STORE_NT,
                    l->stores && (!l->sampled || by->window));
    }
    if (l->sampled) {
        carm_sampled_access(l->sampled, thread, core, address, bytes, as, by->window, by->repeated,
                            number);
        return;
    }
    if (l->by_code) {
        carm_hierarchy_by(l->hierarchy, number);
    }
    carm_hierarchy_access(l->hierarchy, core, address, bytes, as);
}

static void take_both(void *arg, uint32_t thread, uint64_t address, uint32_t bytes,
                      enum carm_address_kind kind, const struct carm_address_by *by)
{
    struct carm_run_levels *l = arg;
    take(l, thread, address, bytes, kind, by);
    take(l->changed, thread, address, bytes, kind, by);
}

static void pass(void *arg, uint64_t n, enum carm_address_kind kind,
                 const struct carm_address_by *by)
{
    struct carm_run_levels *l = arg;
    carm_sampled_pass(l->sampled, n, number_of(l, kind, by));
    if (l->changed) {
        pass(l->changed, n, kind, by);
    }
}

/* The caches of this machine. returns their number */
static size_t read_ways(struct carm_cache_ways out[CARM_TOPO_CACHES_MAX])
{
    struct carm_topo *topo = NULL;
    struct carm_err none = {""};
    if (carm_topo_open(&topo, NULL, NULL, &none) != 0) {
        return 0;
    }
    size_t n = 0;
    for (; n < topo->ncaches; n++) {
        const struct carm_topo_cache *c = &topo->caches[n];
        out[n] = (struct carm_cache_ways){c->level, c->size_bytes, c->ways, c->inclusive};
    }
    carm_topo_close(topo);
    return n;
}

const struct carm_run_prefetch *carm_run_prefetch_find(const char *word)
{
    static const struct carm_run_prefetch all[] = {{"none", false, false},
                                                   {"next", true, false},
                                                   {"streams", false, true},
                                                   {"both", true, true}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (strcmp(all[i].word, word) == 0) {
            return &all[i];
        }
    }
    return NULL;
}

/* beside  the other caches of the same accesses; NULL = none */
static int sample(struct carm_run_levels *l, const struct carm_run_levels *beside, double share,
                  struct carm_err *err)
{
    struct carm_record_sample *of = &l->sink->sample;
    const int rc =
        carm_sampled_open(&l->sampled, &l->about.config, beside ? &beside->about.config : NULL,
                          share, 0, &l->about.plan, err);
    if (!rc) {
        l->about.sampled = true;
        of->wanted = 1;
        l->paged = (double)l->about.plan.npages / CARM_SAMPLED_PAGES;
        l->tlb_pages = (uint64_t)ceil((double)l->tlb_pages * l->paged);
        memcpy(of->pages, l->about.plan.pages, sizeof of->pages);
        of->half = l->about.plan.half_records;
        of->between = l->about.plan.between_records;
        of->dense = l->about.plan.dense;
        of->turns = l->about.plan.turns;
        memcpy(of->turn, l->about.plan.turn, sizeof of->turn);
        memcpy(of->classes, l->about.plan.classes, sizeof of->classes);
    }
    return rc;
}

static int open_sampled(struct carm_run_levels *l, double share, struct carm_err *err)
{
    const int rc = l->changed ? sample(l->changed, l, share, err) : 0;
    return rc ? rc : sample(l, l->changed, share, err);
}

static void close_hierarchy(struct carm_run_levels *l)
{
    carm_hierarchy_close(l->hierarchy);
    l->hierarchy = NULL;
}

void carm_run_levels_timed(void *levels, double cpu_seconds)
{
    struct carm_run_levels *l = levels;
    struct carm_err none = {""};
    if (l->about.by_length && cpu_seconds > CARM_RUN_LEVELS_WHOLE_SECONDS &&
        carm_addresses_sampled_here() && open_sampled(l, long_share, &none) == 0) {
        close_hierarchy(l);
        if (l->changed) {
            close_hierarchy(l->changed);
        }
    }
}

/* Creates one simulation. Chooses its caches, which are allocated later. */
static int create(struct carm_run_levels **out, const struct carm_model *model,
                  const struct carm_run_prefetch *prefetch, bool by_code,
                  struct carm_address_sink *sink, struct carm_err *err)
{
    enum { NUMBER_BITS = 12 };
    struct carm_cache_ways ways[CARM_TOPO_CACHES_MAX];
    struct carm_run_levels *l = calloc(1, sizeof *l);
    *out = l;
    if (!l || !carm_linemap_open(&l->numbers, NUMBER_BITS, 1)) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory");
    }
    l->sink = sink;
    l->by_code = by_code;
    const size_t n = read_ways(ways);
    const int rc = carm_caches_of_model(model, ways, n, &l->about.config, l->about.caches, err);
    l->about.config.next_line = prefetch->next_line;
    l->about.config.streams = prefetch->streams;
    l->stores = !rc ? calloc(l->about.config.cores, sizeof *l->stores) : NULL;
    l->tlb_pages = (uint64_t)carm_latency_tlb_pages(model);
    l->paged = 1.0;
    l->tlb = l->tlb_pages && !rc ? calloc(l->about.config.cores, sizeof *l->tlb) : NULL;
    return rc;
}

int carm_run_levels_open(struct carm_run_levels **out, const struct carm_model *model,
                         const struct carm_model *changed, const struct carm_run_prefetch *prefetch,
                         double share, bool by_code, struct carm_address_sink *sink,
                         struct carm_err *err)
{
    struct carm_run_levels *l = NULL;
    int rc = create(&l, model, prefetch, by_code, sink, err);
    rc = rc || !changed ? rc : create(&l->changed, changed, prefetch, by_code, sink, err);
    if (rc) {
        carm_run_levels_close(l);
        return rc;
    }
    *sink =
        (struct carm_address_sink){.take = l->changed ? take_both : take, .passed = pass, .arg = l};
    l->about.by_length = share <= 0.0;
    if (share > 0.0 && share < 1.0) {
        rc = open_sampled(l, share, err);
    } else {
        rc = carm_hierarchy_open(&l->hierarchy, &l->about.config, err);
        rc = rc || !changed
                 ? rc
                 : carm_hierarchy_open(&l->changed->hierarchy, &l->changed->about.config, err);
    }
    if (rc) {
        carm_run_levels_close(l);
        return rc;
    }
    *out = l;
    return 0;
}

static void close_one(struct carm_run_levels *l)
{
    if (l) {
        carm_hierarchy_close(l->hierarchy);
        carm_sampled_close(l->sampled);
        carm_linemap_close(&l->numbers);
        for (uint32_t i = 0; i < l->about.config.cores && l->tlb; i++) {
            carm_tlb_close(&l->tlb[i]);
        }
        free(l->tlb);
        free(l->stores);
        free(l->instructions);
        free(l->rows);
        free(l->where);
        free(l);
    }
}

void carm_run_levels_close(struct carm_run_levels *levels)
{
    if (levels) {
        close_one(levels->changed);
        close_one(levels);
    }
}

static void add_note(struct carm_run *run, const char *text)
{
    carm_text_list(run->row.note, sizeof run->row.note, "; ", "%.200s", text);
}

_Static_assert(CARM_Q_L2_COMPULSORY + CARM_MISS_REASONS == CARM_Q_L3_COMPULSORY &&
                   CARM_Q_L3_COMPULSORY + CARM_MISS_REASONS == CARM_Q_DRAM_COMPULSORY,
               "the reasons are in the order of enum carm_miss_reason");

/* first  CARM_Q_L2_COMPULSORY, ...
 * one    capacity and conflict misses are known only as a sum */
static void put_misses(const struct carm_level_estimate *level, enum carm_quantity first, bool one,
                       struct carm_counts *c)
{
    for (unsigned r = 0; r < CARM_MISS_REASONS; r++) {
        if (!one || (r != CARM_MISS_CAPACITY && r != CARM_MISS_CONFLICT)) {
            carm_count_put(c, (enum carm_quantity)(first + r),
                           CARM_HIERARCHY_LINE * level->reasons[r], CARM_COUNTED_SIMULATED);
        }
    }
}

static void put(const struct carm_run_levels *l, const struct carm_run_figures *from,
                struct carm_counts *c)
{
    enum { NAMED = 2 /* levels, and memory */ };
    static const struct {
        enum carm_quantity bytes, unused, misses;
    } columns[] = {{CARM_Q_L2_BYTES, CARM_Q_L2_UNUSED, CARM_Q_L2_COMPULSORY},
                   {CARM_Q_L3_BYTES, CARM_Q_L3_UNUSED, CARM_Q_L3_COMPULSORY},
                   {CARM_Q_DRAM_BYTES, CARM_Q_DRAM_UNUSED, CARM_Q_DRAM_COMPULSORY}};
    const size_t last = l->about.config.nlevels - 1;
    for (size_t k = 0; k <= last; k++) {
        const struct carm_level_estimate *e = &from->levels[k];
        const size_t at = k == last ? NAMED : k;
        if (k == last || k < NAMED) {
            const enum carm_quantity q = columns[at].bytes;
            carm_count_put(c, q, e->bytes, CARM_COUNTED_SIMULATED);
            c->q[q].low = e->low;
            c->q[q].high = e->high;
            carm_count_put(c, columns[at].unused, e->unused, CARM_COUNTED_SIMULATED);
            put_misses(e, columns[at].misses, l->sampled && k == 0, c);
        }
    }
}

/* Number of executions of an instruction; 0 = not known. */
static double executions_of(const struct instruction *i, const struct carm_blocks *blocks)
{
    const struct carm_block_place *block =
        blocks && !i->varies ? carm_blocks_place(blocks, i->program, i->counter) : NULL;
    return block ? (double)block->executions : 0.0;
}

static int read_sampled(struct carm_run_levels *l, const struct carm_run *run, struct carm_err *err)
{
    const struct carm_counts *c = &run->row.counts;
    const struct carm_blocks *blocks = run->has_blocks ? &run->blocks : NULL;
    struct carm_sampled_sum sum = {.cold = 0.0};
    const int rc =
        carm_sampled_end(l->sampled, c->q[CARM_Q_LOADS].value + c->q[CARM_Q_STORES].value, err);
    for (size_t i = 0; i <= l->ninstructions && !rc; i++) {
        carm_sampled_add(l->sampled, (uint32_t)i,
                         i ? executions_of(&l->instructions[i], blocks) : 0.0, &sum);
    }
    carm_sampled_read(l->sampled, &sum, l->about.whole.levels);
    /* includes instructions without a sampled access */
    l->about.whole.levels[0].lookups = c->q[CARM_Q_LOADS].value + c->q[CARM_Q_STORES].value;
    return rc;
}

static int read_all(struct carm_run_levels *l, struct carm_err *err)
{
    carm_hierarchy_flush(l->hierarchy);
    const int rc = carm_hierarchy_read(l->hierarchy, &l->about.whole.counts, err);
    if (!rc) {
        carm_sampled_exact(&l->about.whole.counts, l->about.whole.levels);
    }
    return rc;
}

static void take_figures(struct carm_run_levels *l, struct carm_run *run, bool rows)
{
    struct carm_err err = {""};
    const int rc = l->sampled ? read_sampled(l, run, &err) : read_all(l, &err);
    if (rc && rows) {
        add_note(run, err.text);
    }
    if (rc) {
        return;
    }
    l->about.counted = true;
    if (rows) {
        put(l, &l->about.whole, &run->row.counts);
    }
}

void carm_run_levels_take(struct carm_run_levels *l, struct carm_run *run, bool rows)
{
    if (!carm_count_has(&run->row.counts, CARM_Q_BYTES)) {
        return; /* the row has the reason already */
    }
    take_figures(l, run, rows);
    if (l->changed) {
        take_figures(l->changed, run, false);
    }
}

/* ---- rows of the profile ---- */

static void place_each(const struct carm_run_levels *l, const struct carm_blocks *blocks,
                       struct carm_profile_place *places)
{
    places[0] = (struct carm_profile_place){.module = CARM_PROFILE_NOWHERE};
    for (size_t i = 1; i <= l->ninstructions; i++) {
        const struct instruction *by = &l->instructions[i];
        const struct carm_block_place *block = carm_blocks_place(blocks, by->program, by->counter);
        places[i].module = block ? block->module : CARM_PROFILE_NOWHERE;
        places[i].at = block ? block->at + by->at : 0;
    }
}

int carm_run_levels_places(const struct carm_run_levels *l, const struct carm_blocks *blocks,
                           struct carm_profile_place **places, size_t *n, struct carm_err *err)
{
    const size_t own = l->ninstructions + 1;
    *n = own + (l->changed ? l->changed->ninstructions + 1 : 0);
    *places = calloc(*n, sizeof **places);
    if (!*places) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the profile");
    }
    place_each(l, blocks, *places);
    if (l->changed) {
        place_each(l->changed, blocks, *places + own);
    }
    return 0;
}

/* sums  [nrows] of the rows; memory */
static void fold_sampled(struct carm_run_levels *l, const struct carm_blocks *blocks,
                         const struct carm_profile_place *places, size_t n,
                         struct carm_sampled_sum *sums)
{
    for (size_t i = 0; i < n; i++) {
        carm_sampled_add(l->sampled, (uint32_t)i,
                         i ? executions_of(&l->instructions[i], blocks) : 0.0,
                         &sums[places[i].row]);
    }
    for (size_t i = 0; i < l->nrows; i++) {
        carm_sampled_read(l->sampled, &sums[i], l->rows[i].levels);
    }
}

static int by_place(const void *left, const void *right)
{
    const struct where *a = left;
    const struct where *b = right;
    if (a->module != b->module) {
        return a->module < b->module ? -1 : 1;
    }
    return a->at < b->at ? -1 : a->at > b->at;
}

static int fold(struct carm_run_levels *l, const struct carm_blocks *blocks,
                const struct carm_profile_place *places, size_t nrows, struct carm_err *err)
{
    const size_t n = l->ninstructions + 1;
    struct carm_sampled_sum *sums = calloc(nrows + 1, sizeof *sums);
    l->rows = calloc(nrows + 1, sizeof *l->rows);
    l->where = calloc(n + 1, sizeof *l->where);
    if (!l->rows || !sums || !l->where) {
        free(sums);
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the profile");
    }
    l->nrows = nrows;
    for (size_t i = 1; i < n; i++) {
        l->where[l->nwhere++] = (struct where){places[i].module, (uint32_t)i, places[i].at};
    }
    qsort(l->where, l->nwhere, sizeof *l->where, by_place);
    if (l->sampled) {
        fold_sampled(l, blocks, places, n, sums);
    }
    for (size_t i = 0; i < n && l->hierarchy; i++) {
        struct carm_hierarchy_counts of;
        carm_hierarchy_read_by(l->hierarchy, (uint32_t)i, &of);
        carm_hierarchy_add(&l->rows[places[i].row].counts, &of);
    }
    for (size_t i = 0; i < nrows && l->hierarchy; i++) {
        l->rows[i].counts.nlevels = l->about.config.nlevels;
        carm_sampled_exact(&l->rows[i].counts, l->rows[i].levels);
    }
    free(sums);
    return 0;
}

int carm_run_levels_fold(struct carm_run_levels *l, const struct carm_blocks *blocks,
                         const struct carm_profile_place *places, size_t nrows,
                         struct carm_err *err)
{
    const int rc = fold(l, blocks, places, nrows, err);
    return rc || !l->changed ? rc
                             : fold(l->changed, blocks, places + l->ninstructions + 1, nrows, err);
}

const struct carm_run_figures *carm_run_levels_row(const struct carm_run_levels *l, size_t row)
{
    return l && l->about.counted && row < l->nrows ? &l->rows[row] : NULL;
}

const struct carm_run_simulation *carm_run_levels_about(const struct carm_run_levels *l)
{
    return &l->about;
}

const struct carm_run_levels *carm_run_levels_changed(const struct carm_run_levels *l)
{
    return l ? l->changed : NULL;
}

void carm_run_levels_put(const struct carm_run_levels *l, size_t row, struct carm_counts *c)
{
    const struct carm_run_figures *of = carm_run_levels_row(l, row);
    if (of && carm_count_has(c, CARM_Q_BYTES)) {
        put(l, of, c);
    }
}

/* The number of pages that a sketch has seen. */
static double count_pages(const uint8_t pages[CARM_RUN_PAGES_KEPT])
{
    static const double correction = 0.709; /* for 64 registers: Flajolet et al. 2007, figure 3 */
    double sum = 0.0;
    int empty = 0;
    for (int i = 0; i < CARM_RUN_PAGES_KEPT; i++) {
        sum += ldexp(1.0, -pages[i]);
        empty += pages[i] == 0;
    }
    const double n = correction * CARM_RUN_PAGES_KEPT * CARM_RUN_PAGES_KEPT / sum;
    return n < 2.5 * CARM_RUN_PAGES_KEPT && empty
               ? CARM_RUN_PAGES_KEPT * log((double)CARM_RUN_PAGES_KEPT / empty)
               : n;
}

/* The share of all pages whose recorded lines are outside of windows. */
static double pages_met(const struct carm_sampled_plan *plan)
{
    enum { LINES = PAGE / LINE };
    double met = 0.0;
    for (size_t p = 0; p < CARM_SAMPLED_PAGES; p++) {
        const uint8_t *lines = &plan->classes[p * LINES % CARM_SAMPLED_CLASSES];
        met += plan->pages[p] || memchr(lines, 1, LINES) ? 1.0 : 0.0;
    }
    return met / CARM_SAMPLED_PAGES;
}

double carm_run_levels_pages(const struct carm_run_levels *l,
                             const uint8_t sketch[CARM_RUN_PAGES_KEPT])
{
    const double met = l->sampled ? pages_met(&l->about.plan) : 1.0;
    return count_pages(sketch) / fmax(met, 0.1); /* only windows have the other pages */
}

bool carm_run_levels_lines(const struct carm_run_levels *l, const struct carm_blocks *blocks,
                           uint32_t module, uint64_t at, double *lines,
                           struct carm_run_places *places)
{
    struct carm_level_estimate levels[CARM_HIERARCHY_LEVELS_MAX];
    struct carm_hierarchy_counts counts = {.nlevels = 0};
    struct carm_sampled_sum sum = {.cold = 0.0};
    bool found = false;
    static const double most = 0.5; /* of the steps: a majority */
    double moved = 0.0, apart = 0.0;
    double executed = 0.0; /* accesses of a sampled program */
    double seen = 0.0, splits = 0.0, translated = 0.0, walks = 0.0, followed = 0.0;
    double far = 0.0, wide = 0.0;
    memset(lines, 0, CARM_HIERARCHY_LEVELS_MAX * sizeof *lines);
    uint8_t pages[CARM_RUN_PAGES_KEPT] = {0};
    memset(places, 0, sizeof *places);
    double contended = 0.0, ordered = 0.0, aliased = 0.0;
    const struct where key = {.module = module, .at = at};
    const size_t nwhere = l && l->about.counted ? l->nwhere : 0;
    size_t at_key;
    CARM_ARRAY_BISECT(at_key, nwhere, middle, by_place(&l->where[middle], &key) < 0);
    for (; at_key < nwhere && by_place(&l->where[at_key], &key) == 0; at_key++) {
        const size_t i = l->where[at_key].number;
        const struct instruction *by = &l->instructions[i];
        found = true;
        seen += by->seen;
        splits += by->splits;
        contended += by->contended;
        ordered += by->ordered;
        aliased += by->aliased;
        translated += by->translated;
        walks += by->walks;
        moved += by->moved;
        apart += by->apart;
        far += by->far;
        wide += by->wide;
        places->step = by->followed > followed ? by->step : places->step;
        followed = by->followed > followed ? by->followed : followed;
        for (size_t r = 0; r < CARM_RUN_PAGES_KEPT; r++) {
            pages[r] = by->pages[r] > pages[r] ? by->pages[r] : pages[r];
        }
        if (l->sampled) {
            const double executions = executions_of(by, blocks);
            executed += executions;
            carm_sampled_add(l->sampled, (uint32_t)i, executions, &sum);
        } else {
            struct carm_hierarchy_counts of;
            carm_hierarchy_read_by(l->hierarchy, (uint32_t)i, &of);
            carm_hierarchy_add(&counts, &of);
        }
    }
    if (!found) {
        return false;
    }
    places->contended = seen > 0.0 ? contended / seen : 0.0;
    places->aliased = ordered > 0.0 ? aliased / ordered : 0.0;
    places->translated = translated;
    /* a few pages may get many of the accesses, and the sample has some of these pages or none: it estimates the number
     * of walks, but not their share of the lookups. source: Waldspurger et al. 2015 (SHARDS), section 3.4 */
    const double accesses = executed > 0.0 ? l->paged * executed : translated;
    places->walks = accesses > 0.0 ? fmin(1.0, walks / accesses) : 0.0;
    places->far = walks > 0.0 ? far / walks : 0.0;
    places->wide = walks > 0.0 ? wide / walks : 0.0;
    places->step = followed > most * moved ? places->step : 0;
    places->apart = moved > 0.0 ? apart / moved : 0.0;
    /* a sample of lines has an access to two lines twice as often */
    splits *= l->sampled ? 0.5 : 1.0;
    seen -= l->sampled ? splits : 0.0;
    places->pages = count_pages(pages);
    memcpy(places->sketch, pages, sizeof pages);
    places->split = seen > 0.0 ? splits / seen : 0.0;
    memset(levels, 0, sizeof levels);
    if (l->sampled) {
        carm_sampled_read(l->sampled, &sum, levels);
    } else {
        counts.nlevels = l->about.config.nlevels;
        carm_sampled_exact(&counts, levels);
    }
    const size_t n = l->about.config.nlevels;
    for (size_t k = 0; k < n; k++) {
        const double behind = k + 1 < n ? levels[k + 1].misses : 0.0;
        lines[k] = levels[k].misses > behind ? levels[k].misses - behind : 0.0;
    }
    return true;
}
