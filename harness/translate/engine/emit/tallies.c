/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The counts of instructions, from the same accounts as in single-stepping (harness/count/step). */
#include <string.h>

#include "harness/count/step/account.h"
#include "harness/translate/engine/emit/emit.h"
#include "harness/translate/engine/trace/trace.h"

static struct carm_accounts *accounts;

bool carm_account_open(void)
{
    const struct carm_xlayout *layout = &carm_boot.layout;
    return carm_accounts_open(&accounts, layout->enabled ? layout : NULL, NULL) == 0;
}

void carm_account_note_unknown(const struct carm_insn_full *insn)
{
    struct carm_tally *tally = CARM_TALLY;
    uint32_t none = 0;
    if (__atomic_compare_exchange_n(&tally->unknown_length, &none, insn->in.length, false,
                                    __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        memcpy(tally->unknown_code, insn->bytes, insn->in.length);
    }
}

static uint64_t uncounted_begin, uncounted_end;

long carm_uncounted(uint64_t begin, uint64_t end)
{
    carm_lock();
    if (begin != uncounted_begin || end != uncounted_end) {
        uncounted_begin = begin;
        uncounted_end = end;
        carm_cache_forget_all();
    }
    carm_unlock();
    return 0;
}

bool carm_account_all(void)
{
    return uncounted_end == 0;
}

static bool in_uncounted(uint64_t pc)
{
    return pc >= uncounted_begin && pc < uncounted_end;
}

/* Whether a jump or call leads to uncounted code: directly, through memory at a fixed address,
 * or through a stub (endbr64, jmp) */
static bool leads_there(const struct carm_insn_full *x, unsigned depth)
{
    enum { STUBS = 3 };
    const ZydisDecodedOperand *o = &x->op[0];
    uint64_t to = x->pc + x->in.length;
    struct carm_insn_full next;
    if (x->in.mnemonic == ZYDIS_MNEMONIC_CALL || x->in.mnemonic == ZYDIS_MNEMONIC_JMP) {
        if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
            to += o->imm.value.u;
        } else if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->mem.base != ZYDIS_REGISTER_RIP ||
                   carm_copy_from(&to, to + (uint64_t)o->mem.disp.value, sizeof to) != 0) {
            return false;
        }
    } else if (x->in.mnemonic != ZYDIS_MNEMONIC_ENDBR64) {
        return false;
    }
    return in_uncounted(to) ||
           (depth < STUBS && carm_decode_at(to, &next) && leads_there(&next, depth + 1));
}

static bool is_uncounted(const struct carm_insn_full *x)
{
    return uncounted_end && (in_uncounted(x->pc) || leads_there(x, 0));
}

/* The parts of one execution's counts: fixed + each * active lanes + any, if a lane is active. */
static void lanes_parts(const struct carm_insn_full *insn, struct carm_step_counts *fixed,
                        struct carm_step_counts *each, struct carm_step_counts *any)
{
    const struct carm_registers regs = {.rip = insn->pc};
    const struct carm_account *e = &insn->account;
    struct carm_account rest = *e;
    memset(fixed, 0, sizeof *fixed);
    memset(each, 0, sizeof *each);
    memset(any, 0, sizeof *any);
    rest.masked.how = CARM_MASKED_NOT;
    rest.compute.mask = 0;
    rest.compute.lanes = 0;
    carm_accounts_apply(accounts, &rest, insn->bytes, insn->in.length, &regs, fixed);
    rest.compute.lanes = 1;
    carm_accounts_apply(accounts, &rest, insn->bytes, insn->in.length, &regs, each);
    carm_step_counts_sum(each, fixed, -1);
    if (e->masked.how != CARM_MASKED_NOT) {
        struct carm_step_counts *times = e->masked.how == CARM_MASKED_EACH ? each : any;
        struct carm_step_counts *bytes = e->masked.how == CARM_MASKED_ANY ? any : each;
        *(e->masked.store ? &times->stores : &times->loads) += 1;
        *(e->masked.store ? &bytes->store_bytes : &bytes->load_bytes) += e->masked.bytes;
        times->nt_stores += e->masked.store && e->masked.nontemporal;
    }
}

static bool is_nothing(const struct carm_step_counts *counts)
{
    static const struct carm_step_counts nothing;
    return memcmp(counts, &nothing, sizeof nothing) == 0;
}

bool carm_account_lanes_counters(const struct carm_insn_full *insn, uint16_t file_map,
                                 struct carm_lanes *lanes)
{
    const struct carm_tally_row of = {.times = 1,
                                      .pc = insn->pc,
                                      .bytes = insn->in.length,
                                      .map = file_map,
                                      .end = CARM_END_PART};
    struct carm_step_counts fixed, each, any;
    lanes_parts(insn, &fixed, &each, &any);
    if (is_uncounted(insn)) {
        return true;
    }
    lanes->each = is_nothing(&each) ? UINT32_MAX : carm_account_counter(&each, &of, UINT32_MAX);
    lanes->any = is_nothing(&any) ? UINT32_MAX : carm_account_counter(&any, &of, UINT32_MAX);
    return (is_nothing(&each) || lanes->each != UINT32_MAX) &&
           (is_nothing(&any) || lanes->any != UINT32_MAX);
}

void carm_account_add(const struct carm_insn_full *insn, bool iterations,
                      struct carm_step_counts *counts)
{
    const struct carm_account *e = &insn->account;
    const struct carm_registers regs = {.rip = insn->pc, .rcx = 1};
    struct carm_lanes lanes;
    if (is_uncounted(insn) || ((e->flags & CARM_ACCOUNT_REP) && !iterations)) {
        return;
    }
    if (carm_account_dynamic(insn)) {
        if (carm_account_lanes(insn, &lanes)) {
            struct carm_step_counts fixed, each, any;
            lanes_parts(insn, &fixed, &each, &any);
            carm_step_counts_sum(counts, &fixed, 1);
        }
        return;
    }
    /* lanes of tiles would need the tiles' shapes before each instruction, which is far slower
     * than the instruction */
    if ((e->flags & CARM_ACCOUNT_UNKNOWN) || e->tiled.how != CARM_TILED_NOT) {
        carm_account_note_unknown(insn);
        counts->instructions++;
        counts->unknown++;
        return;
    }
    carm_accounts_apply(accounts, e, insn->bytes, insn->in.length, &regs, counts);
}

static const uint8_t *xsave_of(void *arg, size_t *size)
{
    struct carm_thread *t = arg;
    *size = sizeof t->xsave;
    return t->xsave;
}

/* Reads the active lanes, and a gather's vector of indices, from a thread's registers. */
static void read_lanes(const struct carm_insn_full *insn, const struct carm_registers *regs,
                       struct carm_masked_lanes *out)
{
    memset(out, 0, sizeof *out);
    if (insn->account.masked.how == CARM_MASKED_NOT) {
        return;
    }
    out->active = carm_accounts_active(accounts, &insn->account, regs);
    for (unsigned i = 0; i < insn->in.operand_count; i++) {
        const ZydisDecodedOperand *o = &insn->op[i];
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
            out->wide = insn->account.masked.index;
            carm_accounts_vector(accounts, regs, (unsigned)ZydisRegisterGetId(o->mem.index),
                                 out->index);
        }
    }
}

void carm_account_now(struct carm_thread *t, const struct carm_block *block, uint64_t pc,
                      struct carm_step_counts *counts)
{
    struct carm_masked_lanes lanes;
    struct carm_insn_full insn;
    struct carm_step_counts fixed = {.instructions = 0};
    const struct carm_registers regs = {.rip = pc,
                                        .rax = t->reg[RAX],
                                        .rcx = t->reg[RCX],
                                        .rdx = t->reg[RDX],
                                        .rdi = t->reg[RDI],
                                        .rsi = t->reg[RSI],
                                        .flags = t->flags,
                                        .xsave = xsave_of,
                                        .xsave_arg = t};
    carm_vectors_save(t);
    if (carm_decode_of(block, pc, &insn)) {
        carm_account_fill(&insn);
        carm_accounts_apply(accounts, &insn.account, insn.bytes, insn.in.length, &regs, counts);
        const uint64_t bytes = counts->load_bytes + counts->store_bytes;
        carm_account_add(&insn, false, &fixed);
        carm_step_counts_sum(counts, &fixed, -1);
        read_lanes(&insn, &regs, &lanes);
        carm_addresses_now(t, &insn, &lanes, bytes);
    }
    carm_vectors_load(t);
}

/* Sites: instructions with separate counts in each thread. */
enum { SITE_PLACES = 2 * CARM_TALLY_SITES, SITE_PROBES = 64 };

/* Hash table of sites by address and map. Entries are claimed without a lock and never freed. */
static struct {
    uint64_t key;
    uint32_t number; /* + 1; 0 = none (yet) */
} sites[SITE_PLACES];

static uint32_t new_site(uint64_t pc, uint32_t map)
{
    struct carm_tally *tally = CARM_TALLY;
    const uint32_t number = __atomic_fetch_add(&tally->sites, 1, __ATOMIC_ACQ_REL);
    if (number >= CARM_TALLY_SITES) {
        __atomic_store_n(&tally->sites, CARM_TALLY_SITES, __ATOMIC_RELEASE);
        return 0;
    }
    ((struct carm_tally_site *)(CARM_TALLY_AT + CARM_TALLY_SITES_AT))[number] =
        (struct carm_tally_site){.pc = pc, .map = map};
    return number + 1;
}

/* The thread's counts of a site; NULL = too many sites */
static struct carm_step_counts *site_of(const struct carm_thread *t, const struct carm_block *block,
                                        uint64_t pc)
{
    const uint64_t key = pc | (uint64_t)block->file_map << 48;
    uint32_t place = (uint32_t)(key * 0x9e3779b97f4a7c15ULL >> 40);
    for (int i = 0; i < SITE_PROBES; i++, place++) {
        uint64_t *at = &sites[place % SITE_PLACES].key;
        uint32_t *number = &sites[place % SITE_PLACES].number;
        uint64_t is = 0;
        if (__atomic_compare_exchange_n(at, &is, key, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            __atomic_store_n(number, new_site(pc, block->file_map), __ATOMIC_RELEASE);
        } else if (is != key) {
            continue;
        }
        const uint32_t n = __atomic_load_n(number, __ATOMIC_ACQUIRE);
        if (n) {
            const uint64_t slot =
                CARM_TALLY_AT + CARM_TALLY_SLOTS_AT + (uint64_t)t->number * CARM_TALLY_SLOT_BYTES;
            return (struct carm_step_counts *)(slot + CARM_TALLY_EXTRAS_AT) + (n - 1);
        }
        break;
    }
    return NULL;
}

void carm_account_extra(struct carm_thread *t, const struct carm_block *block, uint64_t pc,
                        const struct carm_step_counts *counts, int sign)
{
    struct carm_step_counts *site = site_of(t, block, pc);
    carm_step_counts_sum(&t->slot->extra, counts, sign);
    if (site) {
        carm_step_counts_sum(site, counts, sign);
    }
}

static struct carm_tally_row *all_rows(void)
{
    return (struct carm_tally_row *)(CARM_TALLY_AT + CARM_TALLY_ROWS_AT);
}

void carm_account_entered(uint32_t counter)
{
    all_rows()[counter].entered |= CARM_ROW_ENTERED;
}

static void fill_row(struct carm_tally_row *row, const struct carm_step_counts *c,
                     const struct carm_tally_row *of)
{
    memset(row, 0, sizeof *row); /* memcmp compares the unused bytes, too */
    row->pc = of->pc;
    row->target = of->target;
    row->bytes = of->bytes;
    row->map = of->map;
    row->end = of->end;
    row->entered = of->entered;
    row->compared = of->compared;
    row->times = of->times;
    carm_tally_put(row, c);
}

const struct carm_tally_row *carm_account_row_of(uint32_t number)
{
    return carm_ready && number < carm_ready->counters
               ? (const struct carm_tally_row *)carm_ready_at(carm_ready, &carm_ready->rows) +
                     number
               : all_rows() + number;
}

bool carm_account_row(uint32_t back, struct carm_tally_row *out)
{
    const uint32_t n = __atomic_load_n(&CARM_TALLY->counters, __ATOMIC_ACQUIRE);
    if (back > n || n > CARM_TALLY_COUNTERS) {
        return false;
    }
    memcpy(out, carm_account_row_of(n - back), sizeof *out);
    return true;
}

/* Whether n counters from number on have these rows, ignoring CARM_ROW_ENTERED, which is added to their rows. */
static bool take_again(const struct carm_tally_row *rows, uint32_t n, uint32_t number)
{
    for (uint32_t i = 0; i < n; i++) {
        const struct carm_tally_row *old = carm_account_row_of(number + i);
        struct carm_tally_row row = rows[i];
        row.entered = old->entered;
        // NOLINTNEXTLINE(bugprone-suspicious-memory-comparison,cert-exp42-c,cert-flp37-c): cleared before
        if (memcmp(&row, old, sizeof row) != 0) {
            return false;
        }
    }
    for (uint32_t i = 0; i < n; i++) {
        all_rows()[number + i].entered |= rows[i].entered;
    }
    return true;
}

enum { KNOWN_PROBES = 8, KNOWN_PAGE = 1024 };

/* The i-th place that may have the number of the counters of a forked child's code: one page for each page of code */
static uint32_t *known_at(uint64_t pc, uint32_t i)
{
    const uint64_t page = (pc >> 12) * 0x9e3779b97f4a7c15ULL >> 32;
    const uint64_t at =
        page % (CARM_TALLY_KNOWN / KNOWN_PAGE) * KNOWN_PAGE + ((pc >> 2) + i) % KNOWN_PAGE;
    return (uint32_t *)(CARM_TALLY_AT + CARM_TALLY_KNOWN_AT) + at;
}

static void know(uint64_t pc, uint32_t number)
{
    uint32_t *at = known_at(pc, 0); /* replaces an older entry when all tries are taken */
    for (uint32_t i = 0; i < KNOWN_PROBES; i++) {
        uint32_t *place = known_at(pc, i);
        if (!__atomic_load_n(place, __ATOMIC_RELAXED)) {
            at = place;
            break;
        }
    }
    __atomic_store_n(at, number + 1, __ATOMIC_RELEASE);
}

uint32_t carm_account_rows(const struct carm_tally_row *rows, uint32_t n, bool *again)
{
    static struct carm_ahead ahead;
    struct carm_tally *tally = CARM_TALLY;
    *again = false;
    for (uint32_t i = 0; carm_cache_forked && i < KNOWN_PROBES; i++) {
        const uint32_t known = __atomic_load_n(known_at(rows->pc, i), __ATOMIC_ACQUIRE);
        if (known && known <= CARM_TALLY_COUNTERS - n && take_again(rows, n, known - 1)) {
            *again = true;
            return known - 1;
        }
    }
    const uint32_t number = __atomic_fetch_add(&tally->counters, n, __ATOMIC_ACQ_REL);
    if (number > CARM_TALLY_COUNTERS - n) {
        __atomic_store_n(&tally->counters, CARM_TALLY_COUNTERS, __ATOMIC_RELEASE);
        return UINT32_MAX;
    }
    carm_pages_ahead(&ahead, all_rows() + number + n);
    memcpy(all_rows() + number, rows, n * sizeof *rows);
    if (carm_cache_forked) {
        know(rows->pc, number);
    }
    return number;
}

uint32_t carm_account_counter(const struct carm_step_counts *counts,
                              const struct carm_tally_row *of, uint32_t like)
{
    struct carm_tally_row row;
    bool again;
    fill_row(&row, counts, of);
    if (like < CARM_TALLY_COUNTERS && take_again(&row, 1, like)) {
        return like;
    }
    const uint32_t number = carm_account_rows(&row, 1, &again);
    __atomic_fetch_add(&CARM_TALLY->again, again, __ATOMIC_RELAXED);
    return number;
}

/* Static counts of the block's instructions [from, to). */
static void add_span(const struct carm_block *block, uint64_t from, uint64_t to,
                     struct carm_step_counts *counts)
{
    struct carm_insn_full insn;
    while (from < to && carm_decode_of(block, from, &insn)) {
        carm_account_fill(&insn);
        carm_account_add(&insn, false, counts);
        from += insn.in.length;
    }
}

/* The copy of a loop's body that an address of the cache is in. */
static unsigned copy_at(const struct carm_block *block, uint64_t at)
{
    uint32_t i = 0;
    while (i < block->nmap && (uint64_t)block->code + carm_maps[block->map + i].cache < at) {
        i++;
    }
    // NOLINTNEXTLINE(clang-analyzer-core.DivideZero): each copy has maps
    return i / (block->nmap / block->copies);
}

void carm_account_correct(struct carm_thread *t, const struct carm_block *block, uint64_t at,
                          uint64_t pc)
{
    struct carm_step_counts counts;
    const bool counted = at >= (uint64_t)block->code + block->inc_end;
    memset(&counts, 0, sizeof counts);
    if (counted) {
        add_span(block, pc, block->pc + block->bytes, &counts);
    } else {
        for (unsigned i = copy_at(block, at); i > 0; i--) {
            add_span(block, block->pc, block->pc + block->bytes, &counts);
        }
        add_span(block, block->pc, pc, &counts);
    }
    carm_account_extra(t, block, counted ? pc : block->pc, &counts, counted ? -1 : 1);
}

static const uint8_t *frame_of(void *arg, size_t *size)
{
    *size = CARM_XSAVE_MAX;
    return arg;
}

int carm_account_halfway(struct carm_thread *t, const struct carm_block *block, uint64_t pc,
                         uint8_t *xsave, uint64_t before)
{
    const struct carm_registers regs = {.rip = pc, .xsave = frame_of, .xsave_arg = xsave};
    struct carm_insn_full insn;
    struct carm_step_counts fixed, each, any;
    if (!carm_decode_of(block, pc, &insn)) {
        return -1;
    }
    carm_account_fill(&insn);
    if (insn.account.masked.how != CARM_MASKED_EACH) {
        return -1;
    }
    lanes_parts(&insn, &fixed, &each, &any);
    const int left = __builtin_popcountll(carm_accounts_active(accounts, &insn.account, &regs));
    for (uint64_t i = (uint64_t)left; i < before && i < insn.account.masked.lanes; i++) {
        carm_account_extra(t, block, pc, &each, 1);
    }
    return left;
}

void carm_account_repeated(struct carm_thread *t, const struct carm_block *block, uint64_t pc,
                           uint64_t times)
{
    struct carm_insn_full insn;
    struct carm_step_counts counts;
    memset(&counts, 0, sizeof counts);
    if (times && carm_decode_of(block, pc, &insn)) {
        carm_account_fill(&insn);
        carm_account_add(&insn, true, &counts);
        counts.instructions *= times;
        counts.loads *= times;
        counts.stores *= times;
        counts.load_bytes *= times;
        counts.store_bytes *= times;
        carm_account_extra(t, block, pc, &counts, 1);
    }
}
