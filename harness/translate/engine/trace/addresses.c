/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Addresses of loads and stores. Code before each access writes a record
 * (harness/translate/records.h); with sampling, sample.c emits this code. When registers decide
 * on the accesses, the engine writes the records in a callout. The records of an instruction are
 * written before it executes, and taken back if it did not. */
#include <linux/futex.h>
#include <string.h>
#include <time.h>

#include "harness/translate/engine/trace/access.h"
#include "harness/translate/engine/code.h"
#include "harness/translate/engine/trace/trace.h"
#include "harness/translate/engine/sys.h"
#include "harness/translate/records.h"

#define RECORDS ((struct carm_records *)CARM_RECORDS_AT)

enum { REPEAT_RECORDS = 4 };
enum { OUTSIDE, IN_FIRST_HALF, IN_SECOND_HALF }; /* of a window */
_Static_assert(CARM_BLOCK_INSNS *CARM_ACCESSES_MAX < CARM_BLOCK_RECORDS,
               "left - n has one bit to borrow");

bool carm_addresses_wanted(void)
{
    return carm_boot.addresses;
}

/* ---- chunks ---- */

static uint64_t now(void)
{
    uint32_t low = 0;
    uint32_t high = 0;
    __asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
    return (uint64_t)high << 32 | low;
}

void carm_addresses_begin(struct carm_thread *t)
{
    t->records = 0;
    t->chunk = NULL;
    t->since = 0;
    t->left = t->given = CARM_BLOCK_RECORDS - 1;
    t->until = 0;
    t->windows = 0;
    t->in_window = OUTSIDE;
    if (carm_addresses_wanted() && carm_boot.sample.wanted) {
        memset(t->own, 0, sizeof t->own);
        memset(t->classes, 1, sizeof t->classes); /* the first look asks for room */
    }
    if (carm_addresses_wanted()) {
        t->records_thread = __atomic_fetch_add(&RECORDS->threads, 1, __ATOMIC_RELAXED);
    }
}

void carm_addresses_forget(const struct carm_thread *t)
{
    uint32_t given = t->records_thread + 1;
    if (carm_addresses_wanted()) {
        __atomic_compare_exchange_n(&RECORDS->threads, &given, t->records_thread, false,
                                    __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    }
}

static uint32_t *full_of(const struct carm_thread *t)
{
    return &RECORDS->full[t->records_thread % CARM_CHUNKS_OWNERS];
}

void carm_addresses_end(struct carm_thread *t)
{
    struct carm_chunk *chunk = t->chunk;
    if (!carm_addresses_wanted() || !chunk) {
        return;
    }
    chunk->n = (uint32_t)(t->records % CARM_CHUNK_BYTES / sizeof(struct carm_record));
    chunk->end = t->since = now();
    t->chunk = NULL;
    t->until -= (int64_t)(t->given - t->left);
    t->left = t->given = CARM_BLOCK_RECORDS - 1;
    __atomic_fetch_add(full_of(t), 1, __ATOMIC_ACQ_REL);
    __atomic_store_n(&chunk->state, CARM_CHUNK_FULL, __ATOMIC_RELEASE);
    __atomic_fetch_add(&RECORDS->bell, 1, __ATOMIC_ACQ_REL);
    carm_sys4(SYS_futex, (uint64_t)&RECORDS->bell, FUTEX_WAKE, 1, 0);
}

static struct carm_chunk *claim(void)
{
    for (uint32_t i = 0; i < CARM_CHUNKS; i++) {
        struct carm_chunk *chunk = &RECORDS->chunks[i];
        uint32_t is = CARM_CHUNK_FREE;
        uint32_t top = __atomic_load_n(&RECORDS->top, __ATOMIC_RELAXED);
        while (top <= i && !__atomic_compare_exchange_n(&RECORDS->top, &top, i + 1, false,
                                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        }
        if (__atomic_load_n(&chunk->state, __ATOMIC_RELAXED) == is &&
            __atomic_compare_exchange_n(&chunk->state, &is, CARM_CHUNK_FILLING, false,
                                        __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
            return chunk;
        }
    }
    return NULL;
}

static bool alone(void)
{
    return __atomic_load_n(&RECORDS->threads, __ATOMIC_RELAXED) < 2;
}

/* Waits until carm has taken some of this thread's chunks. */
static void wait_for_carm(const struct carm_thread *t)
{
    const struct timespec moment = {0, 50000000};
    const struct carm_control *control = CARM_CONTROL;
    const uint32_t most = alone() ? CARM_CHUNKS_ALONE : CARM_CHUNKS_AMONG;
    for (;;) {
        const uint32_t taken = __atomic_load_n(&RECORDS->taken, __ATOMIC_ACQUIRE);
        if (__atomic_load_n(full_of(t), __ATOMIC_ACQUIRE) < most ||
            __atomic_load_n(&control->stop, __ATOMIC_ACQUIRE) ||
            carm_sys2(SYS_kill, (uint64_t)control->tracer, 0) < 0) {
            return;
        }
        carm_sys4(SYS_futex, (uint64_t)&RECORDS->taken, FUTEX_WAIT, taken, (uint64_t)&moment);
    }
}

static void next_chunk(struct carm_thread *t)
{
    carm_addresses_end(t);
    wait_for_carm(t);
    t->chunk = claim();
    if (!t->chunk) {
        carm_give_up("it has too many threads for their addresses to be recorded");
        return;
    }
    t->chunk->process = t->slot->pid;
    t->chunk->thread = t->records_thread;
    t->chunk->program = carm_boot.program;
    t->chunk->window =
        t->in_window == OUTSIDE ? 0 : 2 * t->windows + (t->in_window == IN_SECOND_HALF);
    /* the chunk begins at the end of the one before: waiting for carm does not count as the program's time */
    __atomic_store_n(&t->chunk->begin, t->since ? t->since : now(), __ATOMIC_RELEASE);
    t->records = CARM_RECORDS_AT + CARM_CHUNKS_AT +
                 (uint64_t)(t->chunk - RECORDS->chunks) * CARM_CHUNK_BYTES;
}

void carm_addresses_sleep(struct carm_thread *t)
{
    if (carm_addresses_wanted() && !alone()) {
        carm_addresses_end(t);
        t->since = 0;
    }
}

/* Number of records that fit into the rest of the chunk. */
static unsigned room_of(const struct carm_thread *t)
{
    return t->chunk ? CARM_CHUNK_RECORDS -
                          (unsigned)(t->records % CARM_CHUNK_BYTES / sizeof(struct carm_record))
                    : 0;
}

/* Sets the lines that are recorded from now on. turn: a window's; s->turns = outside of windows */
static void set_classes(struct carm_thread *t, uint32_t turn)
{
    const struct carm_record_sample *s = &carm_boot.sample;
    for (uint32_t c = 0; c < CARM_CLASSES; c++) {
        t->own[c] = s->classes[c] || s->turn[c] == turn;
    }
    for (uint32_t c = 0; c < CARM_CLASSES; c++) {
        t->classes[c] = t->own[c] || t->own[(c + 1) % CARM_CLASSES];
    }
    for (uint32_t c = CARM_CLASSES; c < sizeof t->own; c += CARM_CLASSES) {
        memcpy(t->own + c, t->own, CARM_CLASSES);
        memcpy(t->classes + c, t->classes, CARM_CLASSES);
    }
    _Static_assert(sizeof t->own == (size_t)CARM_PAGE_CLASSES * CARM_PAGE_LINES, "whole pages");
    for (size_t p = 0; p < CARM_PAGE_CLASSES; p++) {
        if (s->pages[p]) {
            const size_t first = p * CARM_PAGE_LINES;
            memset(t->own + first, 1, CARM_PAGE_LINES);
            memset(t->classes + first, 1, CARM_PAGE_LINES);
            t->classes[(first + sizeof t->classes - 1) % sizeof t->classes] = 1;
        }
    }
}

/* Goes on to the next phase: first half of a window, second half, time between two windows. */
static void turn(struct carm_thread *t)
{
    const struct carm_record_sample *s = &carm_boot.sample;
    carm_addresses_end(t);
    t->in_window = t->in_window == IN_FIRST_HALF ? IN_SECOND_HALF
                   : t->in_window == OUTSIDE || !s->between || t->windows < s->dense ? IN_FIRST_HALF
                                                                                     : OUTSIDE;
    if (t->in_window == IN_FIRST_HALF) {
        set_classes(t, ++t->windows % s->turns);
        t->until = s->half;
    } else if (t->in_window == IN_SECOND_HALF) {
        t->until = s->half;
    } else { /* 0.5 to 1.5 times `between`, so that no loop keeps in step with the windows */
        set_classes(t, s->turns);
        uint64_t x = ((uint64_t)t->records_thread << 32 | t->windows) + 1;
        x = (x ^ x >> 31) * 0x9e3779b97f4a7c15ULL;
        x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9ULL;
        t->until = s->between / 2 + (int64_t)((x >> 32) * s->between >> 32);
    }
}

/* Sets t->left. A thread may write left - 255 records before it asks again, and then the records
 * of one more block. */
static void give(struct carm_thread *t)
{
    uint64_t left = room_of(t) - CARM_BLOCK_RECORDS + CARM_BLOCK_RECORDS - 1;
    if (carm_boot.sample.wanted && (uint64_t)t->until + CARM_BLOCK_RECORDS < left) {
        left = (uint64_t)t->until + CARM_BLOCK_RECORDS;
    }
    t->left = t->given = left;
}

void carm_addresses_room(struct carm_thread *t)
{
    t->until -= (int64_t)(t->given - t->left);
    t->given = t->left;
    if (carm_boot.sample.wanted && t->until <= 0) {
        turn(t);
    }
    if (room_of(t) < 2 * CARM_BLOCK_RECORDS) {
        next_chunk(t);
    }
    if (t->chunk) {
        give(t);
    } else {
        t->left = t->given = CARM_BLOCK_RECORDS - 1;
    }
}

/* n  records that have to lie in one chunk */
static void make_room(struct carm_thread *t, unsigned n)
{
    if (room_of(t) < 2 * CARM_BLOCK_RECORDS + n) {
        next_chunk(t);
    }
}

static void write_down(struct carm_thread *t, uint64_t address, uint32_t what, uint32_t at)
{
    make_room(t, 1);
    if (t->chunk) {
        struct carm_record *record = (struct carm_record *)t->records;
        record->address = address;
        record->at = at | CARM_RECORD_VARIES;
        record->what = what;
        t->records += sizeof *record;
        t->mid_records++;
        if (t->left >= CARM_BLOCK_RECORDS) { /* one record less for later blocks */
            t->left--;
            t->given--;
        }
    }
}

static void put(struct carm_thread *t, uint64_t address, uint32_t what, uint32_t at)
{
    const uint64_t last = address + (what & CARM_RECORD_BYTES_MAX) - 1;
    if (!carm_boot.sample.wanted || t->own[address >> CARM_CLASS_AT & 0xffff] ||
        t->own[last >> CARM_CLASS_AT & 0xffff]) {
        write_down(t, address, what, at);
    }
}

void carm_addresses_take_back(struct carm_thread *t, unsigned n)
{
    for (; n && t->chunk && t->records % CARM_CHUNK_BYTES; n--) {
        t->records -= sizeof(struct carm_record);
        memset((void *)t->records, 0, sizeof(struct carm_record));
    }
}

/* ---- code that records ---- */

void carm_addresses_emit(struct carm_emit *e, const struct carm_insn_full *x,
                         const struct carm_block *block, const char **why)
{
    struct carm_access accesses[CARM_ACCESSES_MAX];
    const unsigned n = carm_accesses_of(x, accesses);
    for (unsigned i = 0; i < n; i++) {
        carm_access_borrow(e);
        carm_access_address(e, RAX, x, &accesses[i], why);
        carm_access_write(e, CARM_RECORD(accesses[i].bytes, accesses[i].kind, block->counter),
                          (uint32_t)(x->pc - block->pc));
        carm_access_give_back(e);
    }
}

unsigned carm_addresses_of(const struct carm_insn_full *x)
{
    struct carm_access accesses[CARM_ACCESSES_MAX];
    if (carm_account_repeats(x)) {
        return REPEAT_RECORDS;
    }
    return carm_account_calls(x) || carm_boot.sample.wanted ? 0 : carm_accesses_of(x, accesses);
}

/* Exit of the current block for a chunk without room. */
static struct no_room {
    uint8_t *from, *back;
    uint32_t link;
} no_room;

/*     left -= n
 *     mov ecx, left >> 8 & 255
 *     jrcxz full
 *     jmp on
 * full: jmp to no room, behind the block
 * on: */
void carm_addresses_emit_room(struct carm_emit *e, uint32_t link, unsigned n)
{
    static const uint8_t lea[] = {0x48, 0x8d, 0x89};  /* lea rcx, [rcx + ] */
    static const uint8_t high[] = {0x0f, 0xb6, 0xcd}; /* movzx ecx, ch */
    static const uint8_t jump_0[] = {0xe3, 0x02, 0xeb, 0x05, 0xe9};
    carm_store(e, AT_R_RCX, RCX);
    carm_load(e, RCX, AT_LEFT);
    carm_bytes(e, lea, sizeof lea);
    carm_word32(e, 0 - n);
    carm_store(e, AT_LEFT, RCX);
    carm_bytes(e, high, sizeof high);
    carm_bytes(e, jump_0, sizeof jump_0);
    carm_word32(e, 0);
    uint8_t *from = e->at - 4;
    carm_load(e, RCX, AT_R_RCX);
    no_room = (struct no_room){from, e->at, link};
}

void carm_addresses_emit_rare(struct carm_emit *e)
{
    if (no_room.from) {
        carm_aim(e, no_room.from, e->at);
        carm_load(e, RCX, AT_R_RCX);
        carm_access_ask(e, no_room.link, no_room.back);
        no_room.from = NULL;
    }
}

/* The first field of the records of a repeated string instruction. */
static unsigned first_field(const struct carm_insn_full *x)
{
    unsigned what = 0;
    for (unsigned i = 0; i < x->in.operand_count; i++) {
        const ZydisDecodedOperand *o = &x->op[i];
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
            const bool si = o->mem.base == ZYDIS_REGISTER_RSI;
            what = (what & ~(unsigned)CARM_REPEAT_BYTES) | o->size / 8U;
            what |= o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE ? CARM_REPEAT_STORE_DI
                    : si                                         ? CARM_REPEAT_LOAD_SI
                                                                 : CARM_REPEAT_LOAD_DI;
        }
    }
    return what;
}

void carm_addresses_emit_repeat(struct carm_emit *e, const struct carm_insn_full *x,
                                const struct carm_block *block, bool behind)
{
    static const uint8_t mov_si[] = {0x48, 0x89, 0xf0}; /* mov rax, rsi */
    static const uint8_t mov_di[] = {0x48, 0x89, 0xf8};
    const uint32_t what = CARM_RECORD(
        first_field(x), behind ? CARM_RECORD_BEHIND : CARM_RECORD_BEFORE, block->counter);
    const uint32_t at = (uint32_t)(x->pc - block->pc);
    if (carm_addresses_wanted()) {
        carm_access_borrow(e);
        carm_bytes(e, mov_si, sizeof mov_si);
        carm_access_write(e, what, at);
        carm_bytes(e, mov_di, sizeof mov_di);
        carm_access_write(e, what, at);
        carm_access_give_back(e);
    }
}

/* ---- by the engine itself ---- */

static uint64_t reg_value(const struct carm_thread *t, ZydisRegister reg)
{
    const ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
    return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15
               ? t->reg[whole - ZYDIS_REGISTER_RAX]
               : 0;
}

/* index: of a vector's element, or of the index register */
static uint64_t address_at(const struct carm_thread *t, const struct carm_insn_full *x,
                           const ZydisDecodedOperand *o, uint64_t index)
{
    uint64_t at = (uint64_t)o->mem.disp.value + index * (o->mem.scale ? o->mem.scale : 1U);
    if (o->mem.base == ZYDIS_REGISTER_RIP) {
        at += x->pc + x->in.length;
    } else if (o->mem.base != ZYDIS_REGISTER_NONE) {
        at += reg_value(t, o->mem.base);
    }
    at = x->in.address_width == 32 ? (uint32_t)at : at;
    return at + (o->mem.segment == ZYDIS_REGISTER_FS ? t->program_fs : 0);
}

uint64_t carm_access_of(const struct carm_thread *t, const struct carm_insn_full *x,
                        const ZydisDecodedOperand *o)
{
    const bool indexed =
        o->mem.type != ZYDIS_MEMOP_TYPE_VSIB && o->mem.index != ZYDIS_REGISTER_NONE;
    return address_at(t, x, o, indexed ? reg_value(t, o->mem.index) : 0);
}

static uint64_t element(const uint8_t *vector, unsigned i, unsigned bytes)
{
    if (bytes == 8) {
        uint64_t value;
        memcpy(&value, vector + (size_t)i * 8, sizeof value);
        return value;
    }
    int32_t value;
    memcpy(&value, vector + (size_t)i * 4, sizeof value);
    return (uint64_t)(int64_t)value;
}

static void masked(struct carm_thread *t, const struct carm_insn_full *x,
                   const ZydisDecodedOperand *o, const struct carm_masked_lanes *lanes,
                   const struct carm_block *block)
{
    const uint32_t place = (uint32_t)(x->pc - block->pc);
    const struct carm_account *e = &x->account;
    const unsigned kind = !e->masked.store        ? CARM_RECORD_LOAD
                          : e->masked.nontemporal ? CARM_RECORD_STORE_NT
                                                  : CARM_RECORD_STORE;
    if (e->masked.how == CARM_MASKED_ANY) {
        if (lanes->active) {
            put(t, carm_access_of(t, x, o), CARM_RECORD(e->masked.bytes, kind, block->counter),
                place);
        }
        return;
    }
    /* neighbouring active lanes are one access */
    const uint64_t at = carm_access_of(t, x, o);
    for (unsigned i = 0; i < e->masked.lanes; i++) {
        unsigned n = 0;
        while (i + n < e->masked.lanes && lanes->active >> (i + n) & 1) {
            n++;
            if (e->masked.how == CARM_MASKED_EACH) {
                break;
            }
        }
        if (n) {
            const uint64_t to = e->masked.how == CARM_MASKED_EACH
                                    ? address_at(t, x, o, element(lanes->index, i, lanes->wide))
                                    : at + (uint64_t)i * e->masked.bytes;
            put(t, to, CARM_RECORD(n * e->masked.bytes, kind, block->counter), place);
            i += n - 1;
        }
    }
}

void carm_addresses_now(struct carm_thread *t, const struct carm_insn_full *x,
                        const struct carm_masked_lanes *lanes, uint64_t state_bytes)
{
    struct carm_access accesses[CARM_ACCESSES_MAX];
    const struct carm_block *block = &carm_blocks[carm_links[t->link].from];
    const uint32_t place = (uint32_t)(x->pc - block->pc);
    t->mid_records = 0;
    if (!carm_addresses_wanted()) {
        return;
    }
    if (x->account.flags & (CARM_ACCOUNT_XSAVE | CARM_ACCOUNT_XRSTOR)) {
        const bool store = x->account.flags & CARM_ACCOUNT_XSAVE;
        uint64_t at = carm_access_of(t, x, &x->op[0]);
        for (uint64_t left = state_bytes; left;) {
            const uint64_t some = left < 64 ? left : 64;
            put(t, at,
                CARM_RECORD(some, store ? CARM_RECORD_STORE : CARM_RECORD_LOAD, block->counter),
                place);
            at += some;
            left -= some;
        }
        return;
    }
    const unsigned n = carm_accesses_of(x, accesses);
    for (unsigned i = 0; i < n; i++) {
        put(t, carm_access_of(t, x, accesses[i].operand) + (uint64_t)accesses[i].displacement,
            CARM_RECORD(accesses[i].bytes, accesses[i].kind, block->counter), place);
    }
    for (unsigned i = 0; i < x->in.operand_count && x->account.masked.how != CARM_MASKED_NOT; i++) {
        if (x->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY) {
            masked(t, x, &x->op[i], lanes, block);
            break;
        }
    }
}

void carm_addresses_repeated(struct carm_thread *t, const struct carm_block *block, uint64_t pc,
                             uint64_t rsi, uint64_t rdi)
{
    const uint32_t at = (uint32_t)(pc - block->pc);
    struct carm_insn_full x;
    if (carm_addresses_wanted() && carm_decode_of(block, pc, &x)) {
        const uint32_t what = CARM_RECORD(first_field(&x), CARM_RECORD_BEHIND, block->counter);
        make_room(t, 2);
        write_down(t, rsi, what, at);
        write_down(t, rdi, what, at);
    }
}

/* The number of records that were written for the instruction at pc. With sampling, some accesses
 * have no record. */
static unsigned recorded(const struct carm_thread *t, const struct carm_block *block, uint64_t pc,
                         unsigned most)
{
    const struct carm_record *last = (const struct carm_record *)t->records;
    unsigned n = 0;
    while (n < most && t->chunk && (t->records - n * sizeof *last) % CARM_CHUNK_BYTES) {
        last--;
        if (last->what >> CARM_RECORD_BLOCK_AT != block->counter ||
            last->at != (uint32_t)(pc - block->pc)) {
            break;
        }
        n++;
    }
    return n;
}

void carm_addresses_correct(struct carm_thread *t, const struct carm_block *block, uint64_t pc)
{
    struct carm_insn_full x;
    struct carm_access accesses[CARM_ACCESSES_MAX];
    if (carm_addresses_wanted() && carm_decode_of(block, pc, &x)) {
        carm_account_fill(&x);
        if (!carm_account_calls(&x)) {
            const unsigned n = carm_accesses_of(&x, accesses);
            carm_addresses_take_back(t, carm_boot.sample.wanted ? recorded(t, block, pc, n) : n);
        }
    }
}
