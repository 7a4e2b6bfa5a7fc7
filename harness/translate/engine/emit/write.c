/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The code of a block in the cache: the program's instructions, a counter, and jumps to other
 * blocks. The program's stack holds original return addresses. Between two copied instructions,
 * all registers, flags and memory of the program have the values of an uncounted run. carm_map
 * lists these places. */
#include <string.h>

#include "harness/translate/engine/code.h"
#include "harness/translate/engine/emit/emit.h"
#include "harness/translate/engine/trace/trace.h"

struct carm_notes *carm_notes;

struct writer {
    struct carm_emit e, rare;
    struct carm_block *block;
    const uint8_t *changed; /* code for changed code of the program */
    uint8_t *borrowed;      /* displacement of a jump to `changed` while rcx and rax are borrowed */
    uint32_t number;
    const char *why;
    struct {
        uint8_t *field; /* displacement of a push of a return address */
        uint64_t value;
    } literal;
    uint32_t first_link;
};

static const struct carm_insn_full *last_of(const struct carm_insn_full *insns, unsigned n)
{
    return &insns[n - 1];
}

static void note_place(struct writer *w, const struct carm_insn_full *x, unsigned flag)
{
    if (carm_nmaps < CARM_MAPS_MAX) {
        struct carm_map *map = &carm_maps[carm_nmaps++];
        map->cache = (uint16_t)(w->e.at - w->block->code);
        map->source = (unsigned)(x->pc - w->block->pc) & 0xfffU;
        map->flag = flag & 0xfU;
        w->block->nmap++;
    } else {
        w->why = "it executes too much code";
    }
}

static uint32_t new_link(struct writer *w, uint64_t target, enum carm_exit exit)
{
    const uint32_t link = carm_link_new(w->number, target, exit);
    if (link == UINT32_MAX) {
        w->why = "it executes too much code";
        return 0;
    }
    return link;
}

/* The address of an operand relative to rip. returns false: the instruction has none */
static bool relative(const struct carm_insn_full *x, uint64_t *to)
{
    for (unsigned i = 0; i < x->in.operand_count; i++) {
        const ZydisDecodedOperand *o = &x->op[i];
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.base == ZYDIS_REGISTER_RIP) {
            *to = x->pc + x->in.length + (uint64_t)o->mem.disp.value;
            return true;
        }
    }
    return false;
}

/* Sets the displacement of an instruction that ends at `end`. */
static void fix(struct writer *w, const uint8_t *field, const uint8_t *end, uint64_t to)
{
    const int64_t off = (int64_t)(to - (uint64_t)end);
    const int32_t low = (int32_t)off;
    if (off != low) {
        w->why = "its code and its data lie more than 2 GiB apart";
    }
    carm_note(&w->e, field, CARM_FIX_RELATIVE);
    memcpy(carm_alias(&w->e, field), &low, sizeof low);
}

/* Adjusts an operand relative to rip of the instruction at `begin`. When the displacement cannot
 * reach the operand and the operand is in the low 2 GiB, the operand becomes absolute: a SIB
 * byte without base and index. Decoding the result finds the effect of prefixes on these bytes. */
static void aim_operand(struct writer *w, const uint8_t *begin, unsigned modrm, unsigned disp,
                        uint64_t to)
{
    static struct carm_insn_full made;
    enum { SIB_NONE = 0x25, RM = 7, RM_SIB = 4 };
    const int64_t off = (int64_t)(to - (uint64_t)w->e.at);
    if (off == (int32_t)off || to >> 31) {
        fix(w, begin + disp, w->e.at, to);
        return;
    }
    const uint32_t low = (uint32_t)to;
    uint8_t *written = carm_alias(&w->e, begin);
    memmove(written + modrm + 2, written + modrm + 1, (size_t)(w->e.at - (begin + modrm + 1)));
    written[modrm] = (uint8_t)((written[modrm] & ~RM) | RM_SIB);
    written[modrm + 1] = SIB_NONE;
    memcpy(written + disp + 1, &low, sizeof low);
    w->e.at++;
    bool good = carm_decode_bytes((uint64_t)begin, begin, (uint64_t)(w->e.at - begin), &made) &&
                made.in.length == w->e.at - begin;
    for (unsigned i = 0; good && i < made.in.operand_count; i++) {
        const ZydisDecodedOperandMem *m = &made.op[i].mem;
        good = made.op[i].type != ZYDIS_OPERAND_TYPE_MEMORY || m->base == ZYDIS_REGISTER_RSP ||
               (m->base == ZYDIS_REGISTER_NONE && m->index == ZYDIS_REGISTER_NONE &&
                (uint64_t)m->disp.value == to);
    }
    if (!good) {
        w->why = "its code and its data lie more than 2 GiB apart";
    }
}

/* On a CPU without lzcnt and tzcnt their prefix is ignored: replaces it by a segment prefix, which is ignored, too. */
static void hide_prefix(struct writer *w, const struct carm_insn_full *x, const uint8_t *begin)
{
    enum { REP = 0xf3, DS = 0x3e };
    for (unsigned i = 0; i < x->in.raw.prefix_count; i++) {
        if (x->in.raw.prefixes[i].value == REP) {
            *carm_alias(&w->e, begin + i) = DS;
        }
    }
}

static void copy(struct writer *w, const struct carm_insn_full *x)
{
    uint64_t to = 0;
    const uint8_t *begin = w->e.at;
    carm_bytes(&w->e, x->bytes, x->in.length);
    if (carm_lacks(x)) { /* lzcnt or tzcnt: all other missing instructions end the counting */
        hide_prefix(w, x, begin);
    }
    if (relative(x, &to)) {
        aim_operand(w, begin, x->in.raw.modrm.offset, x->in.raw.disp.offset, to);
    }
}

/* rcx = [mem] of an indirect branch. */
static void load_target(struct writer *w, const struct carm_insn_full *x)
{
    const uint8_t *source = x->bytes;
    const unsigned modrm = x->in.raw.modrm.offset;
    const uint8_t *begin = w->e.at;
    uint64_t to = 0;
    if (x->in.attributes & ZYDIS_ATTRIB_HAS_SEGMENT_FS) {
        carm_byte(&w->e, 0x64);
    }
    if (x->in.attributes & ZYDIS_ATTRIB_HAS_ADDRESSSIZE) {
        carm_byte(&w->e, 0x67);
    }
    carm_byte(&w->e, 0x48U | (x->in.raw.rex.X ? 2U : 0U) | (x->in.raw.rex.B ? 1U : 0U));
    carm_byte(&w->e, 0x8b);
    const uint8_t *field = w->e.at;
    carm_bytes(&w->e, source + modrm, x->in.length - modrm);
    *carm_alias(&w->e, field) = (uint8_t)((*field & 0xc7U) | (RCX << 3));
    if (relative(x, &to)) {
        const unsigned at = (unsigned)(field - begin);
        aim_operand(w, begin, at, at + x->in.raw.disp.offset - modrm, to);
    }
}

/* jmp [table + 8 rcx]; the table lies in the low 2 GiB */
static void jump_by_table(struct writer *w)
{
    carm_byte(&w->e, 0xff);
    carm_byte(&w->e, 0x24);
    carm_byte(&w->e, 0xcd);
    carm_word32(&w->e, (uint32_t)(uintptr_t)carm_table);
}

/* movzx ecx, word gs:[target] */
static void load_index(struct writer *w)
{
    static const uint8_t bytes[] = {0x65, 0x0f, 0xb7, 0x0c, 0x25};
    carm_bytes(&w->e, bytes, sizeof bytes);
    carm_word32(&w->e, AT_TARGET);
}

/* movzx ecx, cx */
static void index_of_rcx(struct writer *w)
{
    static const uint8_t bytes[] = {0x0f, 0xb7, 0xc9};
    carm_bytes(&w->e, bytes, sizeof bytes);
}

/* push [literal]: the return address, which need not fit 32 bits */
static void push_return(struct writer *w, const struct carm_insn_full *x)
{
    carm_byte(&w->e, 0xff);
    carm_byte(&w->e, 0x35);
    w->literal.field = w->e.at;
    carm_note(&w->e, w->e.at, CARM_FIX_RARE);
    w->literal.value = x->pc + x->in.length;
    carm_word32(&w->e, 0);
}

static int general(ZydisRegister reg)
{
    return reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15 ? (int)(reg - ZYDIS_REGISTER_RAX)
                                                                  : -1;
}

static void indirect(struct writer *w, const struct carm_insn_full *x)
{
    const bool call = x->in.meta.category == ZYDIS_CATEGORY_CALL;
    const ZydisDecodedOperand *o = &x->op[0];
    if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) {
        carm_store(&w->e, AT_TARGET, general(o->reg.value));
        carm_store(&w->e, AT_S_RCX, RCX);
    } else {
        carm_store(&w->e, AT_S_RCX, RCX);
        note_place(w, x, 0);
        load_target(w, x);
        carm_store(&w->e, AT_TARGET, RCX);
        if (call) {
            carm_load(&w->e, RCX, AT_S_RCX);
        }
    }
    if (call) {
        note_place(w, x, 0);
        push_return(w, x);
    }
    load_index(w);
    jump_by_table(w);
}

static void ret(struct writer *w, const struct carm_insn_full *x)
{
    carm_store(&w->e, AT_S_RCX, RCX);
    note_place(w, x, 0);
    carm_byte(&w->e, 0x59); /* pop rcx */
    if (x->op[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
        static const uint8_t lea[] = {0x48, 0x8d, 0xa4, 0x24}; /* lea rsp, [rsp + imm] */
        carm_bytes(&w->e, lea, sizeof lea);
        carm_word32(&w->e, (uint32_t)x->op[0].imm.value.u & 0xffff);
    }
    carm_store(&w->e, AT_TARGET, RCX);
    index_of_rcx(w);
    jump_by_table(w);
}

/* A jump to a stub behind the block, until the jump is linked to its target's block. */
static void jump_to(struct writer *w, uint64_t target)
{
    const uint32_t link = new_link(w, target, EXIT_JUMP);
    if (w->block->copies > 1) {
        carm_keep_whole(&w->e, 1);
    } else { /* the target's block may begin behind this jump (set_jump of cache.c) */
        carm_nothing(&w->e, -((uint64_t)w->e.at + CARM_JUMP_BYTES) & (CARM_BLOCK_ALIGN - 1));
    }
    carm_byte(&w->e, 0xe9);
    carm_links[link].patch = w->e.at;
    carm_word32(&w->e, 0);
}

static uint64_t target_of(const struct carm_insn_full *x)
{
    return x->pc + x->in.length + x->op[0].imm.value.u;
}

/* Whether the instruction is loop or jrcxz, whose condition is rcx alone */
static bool is_counted(const struct carm_insn_full *x)
{
    return x->in.opcode >= 0xe0 && x->in.opcode <= 0xe3 &&
           x->in.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT;
}

static void conditional(struct writer *w, const struct carm_insn_full *x)
{
    const uint64_t taken = target_of(x);
    const uint64_t on = x->pc + x->in.length;
    const unsigned opcode = x->in.opcode;
    if (is_counted(x)) {
        uint8_t *field;
        if (x->in.attributes & ZYDIS_ATTRIB_HAS_ADDRESSSIZE) {
            carm_byte(&w->e, 0x67);
        }
        carm_byte(&w->e, opcode);
        field = w->e.at;
        carm_byte(&w->e, 0);
        jump_to(w, on);
        carm_aim_short(&w->e, field);
        jump_to(w, taken);
        return;
    }
    const uint32_t link = new_link(w, taken, EXIT_JUMP);
    carm_keep_whole(&w->e, 2);
    carm_byte(&w->e, 0x0f);
    carm_byte(&w->e, 0x80U | (opcode & 0xfU));
    carm_links[link].patch = w->e.at;
    carm_word32(&w->e, 0);
    jump_to(w, on);
}

static void leave_at(struct writer *w, const struct carm_insn_full *x, enum carm_exit exit,
                     enum carm_stub stub)
{
    const uint32_t link = new_link(w, x->pc, exit);
    note_place(w, x, 0);
    carm_set32(&w->e, AT_LINK, link);
    carm_leave(&w->e, stub);
}

/* A call of the engine before the instruction. */
static void with_callout(struct writer *w, const struct carm_insn_full *x, enum carm_exit exit)
{
    leave_at(w, x, exit, STUB_CALLOUT);
    carm_links[carm_nlinks - 1].resume = w->e.at;
    note_place(w, x, MAP_COUNTED);
    copy(w, x);
}

/*     jrcxz zero                  0 repetitions count as one instruction
 *     mov gs:[s_rep], rcx
 *     rep ...
 *     counter += s_rep - rcx      by not and lea, which leave the flags alone
 *     jmp on
 * zero: counter_0 += 1
 * on: */
static void repeated(struct writer *w, const struct carm_insn_full *x)
{
    static const uint8_t negate[] = {0x48, 0x89, 0xc8, 0x48, 0xf7, 0xd0}; /* mov rax, rcx; not */
    static const uint8_t sum_1[] = {0x48, 0x8d, 0x44, 0x08, 0x01};        /* lea rax,[rax+rcx+1] */
    static const uint8_t sum[] = {0x48, 0x8d, 0x04, 0x08};                /* lea rax,[rax+rcx] */
    struct carm_step_counts once = {.instructions = 0};
    struct carm_step_counts never = {.instructions = 1};
    carm_account_add(x, true, &once);
    const struct carm_tally_row of = {.times = 1,
                                      .pc = x->pc,
                                      .bytes = x->in.length,
                                      .map = w->block->file_map,
                                      .end = CARM_END_PART};
    const uint32_t counter = carm_account_counter(&once, &of, UINT32_MAX);
    const uint32_t counter_0 = carm_account_counter(&never, &of, UINT32_MAX);
    if (counter == UINT32_MAX || counter_0 == UINT32_MAX) {
        w->why = "it executes too much code";
        return;
    }
    const uint32_t at = CARM_TALLY_COUNTS_AT + 8 * counter;
    const unsigned far = carm_addresses_wanted(); /* jrcxz over a jump */
    uint8_t *zero;
    if (far) {
        static const uint8_t bytes[] = {0xe3, 0x02, 0xeb, 0x05, 0xe9};
        carm_bytes(&w->e, bytes, sizeof bytes);
        zero = w->e.at;
        carm_word32(&w->e, 0);
    } else {
        carm_byte(&w->e, 0xe3);
        zero = w->e.at;
        carm_byte(&w->e, 0);
    }
    carm_addresses_emit_repeat(&w->e, x, w->block, false);
    carm_store(&w->e, AT_S_REP, RCX);
    note_place(w, x, MAP_REP);
    copy(w, x);
    carm_store(&w->e, AT_S_RAX, RAX);
    carm_bytes(&w->e, negate, sizeof negate);
    carm_store(&w->e, AT_S_RCX, RCX);
    carm_load(&w->e, RCX, AT_S_REP);
    carm_bytes(&w->e, sum_1, sizeof sum_1);
    carm_load(&w->e, RCX, at);
    carm_bytes(&w->e, sum, sizeof sum);
    carm_store(&w->e, at, RAX);
    carm_load(&w->e, RCX, AT_S_RCX);
    carm_load(&w->e, RAX, AT_S_RAX);
    carm_addresses_emit_repeat(&w->e, x, w->block, true);
    carm_byte(&w->e, 0xeb);
    uint8_t *on = w->e.at;
    carm_byte(&w->e, 0);
    if (far) {
        carm_aim(&w->e, zero, w->e.at);
    } else {
        carm_aim_short(&w->e, zero);
    }
    carm_count_by(&w->e, CARM_TALLY_COUNTS_AT + 8 * counter_0, 1, RAX, true);
    carm_aim_short(&w->e, on);
}

static void branch(struct writer *w, const struct carm_insn_full *x)
{
    const ZydisDecodedOperand *o = &x->op[0];
    const bool direct = o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o->imm.is_relative;
    switch (x->in.meta.category) {
    case ZYDIS_CATEGORY_RET:
        ret(w, x);
        break;
    case ZYDIS_CATEGORY_COND_BR:
        conditional(w, x);
        break;
    default:
        if (!direct) {
            indirect(w, x);
        } else {
            if (x->in.meta.category == ZYDIS_CATEGORY_CALL) {
                push_return(w, x);
            }
            jump_to(w, target_of(x));
        }
        break;
    }
}
static bool is_sampled(void)
{
    return carm_addresses_wanted() && carm_boot.sample.wanted;
}
/* ---- code that may change without a system call ----
 * Such a block first compares its source bytes with the translated bytes, so that a change by any
 * writer and through any mapping is found. The block ends behind an instruction that writes memory. The comparison keeps the flags, which
 * changed code may read: differences of 32 bits are added in 64 bits, and the sum is 0 only when
 * all differences are 0.
 *     mov gs:[s_rcx], rcx; mov gs:[s_rax], rax
 *     mov ecx, [pc]; lea ecx, [rcx - bytes]
 *     mov eax, [pc + 4]; lea eax, [rax - bytes]; lea rcx, [rcx + rax]; ...
 *     jrcxz on; jmp changed
 * on: mov rcx, gs:[s_rcx]; mov rax, gs:[s_rax] */

static void emit_changed(struct writer *w)
{
    const uint32_t link = new_link(w, w->block->pc, EXIT_CHANGED);
    w->changed = w->e.at;
    carm_set32(&w->e, AT_LINK, link);
    carm_leave(&w->e, STUB_CALLOUT);
}

/* First piece: mov ecx, [pc + off]; lea ecx, [rcx - bytes]. Later pieces: with eax, which is added to rcx */
static void add_piece(struct writer *w, const struct carm_insn_full *first, uint32_t off,
                      unsigned bytes)
{
    static const uint8_t add[] = {0x48, 0x8d, 0x0c, 0x01}; /* lea rcx, [rcx + rax] */
    uint32_t expected = 0;
    memcpy(&expected, first->bytes + off, bytes);
    note_place(w, first, MAP_CHECK);
    if (bytes < sizeof expected) {
        carm_byte(&w->e, 0x0f);
    }
    carm_byte(&w->e, bytes == 4 ? 0x8b : bytes == 2 ? 0xb7 : 0xb6);
    carm_byte(&w->e, off == 0 ? 0x0d : 0x05); /* ecx or eax, [rip + ] */
    uint8_t *field = w->e.at;
    w->e.at += 4;
    fix(w, field, w->e.at, first->pc + off);
    carm_byte(&w->e, 0x8d);
    carm_byte(&w->e, off == 0 ? 0x89 : 0x80);
    carm_word32(&w->e, 0U - expected);
    if (off) {
        carm_bytes(&w->e, add, sizeof add);
    }
}

static void check(struct writer *w, const struct carm_insn_full *insns, unsigned n,
                  struct carm_place *place)
{
    static const uint8_t skip[] = {0xe3, 0x05, 0xe9}; /* jrcxz; jmp */
    const uint32_t bytes = w->block->bytes;
    carm_store(&w->e, AT_S_RCX, RCX);
    carm_store(&w->e, AT_S_RAX, RAX);
    for (uint32_t off = 0, some; off < bytes; off += some) {
        some = bytes - off >= 4 ? 4 : bytes - off >= 2 ? 2 : 1;
        if (some < 4 && bytes >= 4) { /* the last piece overlaps the one before */
            off = bytes - 4;
            some = 4;
        }
        add_piece(w, insns, off, some);
    }
    carm_bytes(&w->e, skip, sizeof skip);
    w->borrowed = w->e.at;
    w->e.at += 4;
    carm_load(&w->e, RCX, AT_S_RCX);
    if (!place->flags_free && place->reg < 0) { /* while rax is borrowed */
        carm_count_by(&w->e, CARM_TALLY_COUNTS_AT + 8 * w->block->counter, 1, RAX, false);
        w->block->inc_end = (uint16_t)(w->e.at - w->block->code);
        place->before = n;
    }
    carm_load(&w->e, RAX, AT_S_RAX);
}

static void increment(struct writer *w, const struct carm_place *place)
{
    const uint32_t at = CARM_TALLY_COUNTS_AT + 8 * w->block->counter;
    if (place->flags_free) {
        carm_increment(&w->e, at);
    } else {
        carm_count_by(&w->e, at, 1, place->reg < 0 ? RAX : place->reg, place->reg < 0);
    }
    w->block->inc_end = (uint16_t)(w->e.at - w->block->code);
}

/* Emits an instruction that is counted by its mask's lanes. */
static void by_lanes(struct writer *w, const struct carm_insn_full *x, struct carm_lanes *lanes)
{
    if (!carm_account_lanes_counters(x, w->block->file_map, lanes)) {
        w->why = "it executes too much code";
        return;
    }
    carm_lanes_emit_before(&w->e, lanes);
    note_place(w, x, lanes->overwritten ? MAP_LANES : 0);
    copy(w, x);
    carm_lanes_emit_behind(&w->e, lanes);
}

/* Emits the instruction with its callout. With sampling, a callout for a mask's addresses alone
 * is skipped when their lines are not recorded. */
static void called_out(struct writer *w, const struct carm_insn_full *x, unsigned i)
{
    struct carm_lanes lanes;
    int borrowed = -1;
    uint8_t *call = NULL;
    uint8_t *on = NULL;
    if (is_sampled() && carm_account_lanes(x, &lanes)) {
        call = carm_sample_emit_masked(&w->e, i, &borrowed, &w->why);
    }
    if (call) {
        by_lanes(w, x, &lanes);
        carm_byte(&w->e, 0xe9);
        on = w->e.at;
        carm_word32(&w->e, 0);
        carm_aim(&w->e, call, w->e.at);
        carm_sample_emit_borrowed(&w->e, borrowed);
    }
    if (is_sampled()) {
        carm_sample_back(&w->e, i);
    }
    with_callout(w, x, carm_insn_xsaves(x) ? EXIT_XSAVE : EXIT_ACCOUNT);
    if (call) {
        carm_aim(&w->e, on, w->e.at);
    }
}

static void addresses(struct writer *w, const struct carm_insn_full *x, unsigned i, bool last)
{
    if (is_sampled()) {
        carm_sample_emit(&w->e, i, &w->why);
        if (last) {
            carm_sample_end(&w->e, i + 1);
        }
    } else if (carm_addresses_wanted() && !carm_account_calls(x)) {
        carm_addresses_emit(&w->e, x, w->block, &w->why);
    }
}

/* Instruction i of the block. */
static void instruction(struct writer *w, const struct carm_insn_full *x, unsigned i, bool last)
{
    struct carm_lanes lanes;
    addresses(w, x, i, last);
    if (x->in.mnemonic == ZYDIS_MNEMONIC_SYSCALL) {
        leave_at(w, x, EXIT_PLACE, STUB_SYSCALL);
    } else if (x->in.mnemonic == ZYDIS_MNEMONIC_INT3) {
        leave_at(w, x, EXIT_PLACE, STUB_SPECIAL);
    } else if (carm_insn_branches(x)) {
        note_place(w, x, 0);
        branch(w, x);
    } else if (carm_account_repeats(x)) {
        note_place(w, x, 0);
        repeated(w, x);
    } else if (carm_account_calls(x)) {
        called_out(w, x, i);
    } else if (carm_account_dynamic(x) && carm_account_lanes(x, &lanes)) {
        by_lanes(w, x, &lanes);
    } else if (carm_insn_moves_flags(x)) {
        with_callout(w, x, EXIT_FLAGS);
    } else if (carm_insn_tells_where(x)) {
        with_callout(w, x, EXIT_WHERE);
    } else if (carm_insn_tells_cpu(x)) {
        with_callout(w, x, EXIT_CPU);
    } else if (carm_insn_mark(x)) {
        with_callout(w, x, EXIT_MARK);
    } else {
        note_place(w, x, 0);
        copy(w, x);
    }
}

/* A loop of one block may take as long as its counter's increments, each of which waits for the
 * previous one. So the code has four copies of the body, and only the last copy increments a counter
 * of four executions.
 *     copy 0, jn exit_0; copy 1, jn exit_1; copy 2, jn exit_2; copy 3 with the increment, jcc copy 0; jmp on
 * exit_i: single += i + 1; jmp on */
enum { COPIES = 4, LOOP_INSNS = 24 };

static bool is_loop(const struct carm_insn_full *insns, unsigned n, bool checked)
{
    const struct carm_insn_full *last = last_of(insns, n);
    if (n > LOOP_INSNS || checked || carm_addresses_wanted() ||
        last->in.meta.category != ZYDIS_CATEGORY_COND_BR || is_counted(last) ||
        target_of(last) != insns[0].pc) {
        return false;
    }
    for (unsigned i = 0; i < n; i++) {
        if (carm_account_repeats(&insns[i]) || carm_account_dynamic(&insns[i])) {
            return false;
        }
    }
    return true;
}

static void body(struct writer *w, const struct carm_insn_full *insns, unsigned n,
                 struct carm_place *place)
{
    const struct carm_insn_full *last = last_of(insns, n);
    const unsigned turns = w->block->copies - 1U;
    uint8_t *leaves[COPIES];
    if (w->block->checked) {
        check(w, insns, n, place);
    }
    unsigned records = 0;
    const uint64_t free = carm_addresses_wanted() ? carm_live_flags(insns, n, place) : 0;
    memcpy(w->block->peeked, place->peeked, sizeof w->block->peeked);
    for (unsigned i = 0; i < n && carm_addresses_wanted(); i++) {
        records += carm_addresses_of(&insns[i]);
    }
    if (is_sampled()) {
        carm_sample_begin(&w->e, w->block, insns, n, free);
    }
    if (records) {
        const uint32_t link = new_link(w, w->block->pc, EXIT_ROOM);
        carm_addresses_emit_room(&w->e, link, records);
    }
    for (unsigned c = 0; c < turns; c++) {
        for (unsigned i = 0; i + 1 < n; i++) {
            instruction(w, &insns[i], i, false);
        }
        note_place(w, last, 0);
        carm_byte(&w->e, 0x0f);
        carm_byte(&w->e, 0x80U | ((last->in.opcode & 0xfU) ^ 1U));
        leaves[c] = w->e.at;
        carm_word32(&w->e, 0);
    }
    for (unsigned i = 0; i < n && !w->why; i++) {
        if (i == place->before) {
            increment(w, place);
        }
        instruction(w, &insns[i], i, i + 1 == n);
    }
    for (unsigned c = 0; c < turns && !w->why; c++) {
        carm_aim(&w->e, leaves[c], w->e.at);
        carm_count_by(&w->e, CARM_TALLY_COUNTS_AT + 8 * w->block->single, c + 1, RAX, true);
        jump_to(w, last->pc + last->in.length);
    }
    if (!w->why && !carm_insn_ends_block(last)) {
        jump_to(w, last->pc + last->in.length);
    }
}

/* Writes the rarely used parts to the end of the region, so that the code of blocks lies close
 * together: stubs of jumps, the literal, the copy of the program's code. */
static void tail(struct writer *w, const struct carm_insn_full *first)
{
    carm_addresses_emit_rare(&w->rare);
    if (is_sampled()) {
        carm_sample_emit_rare(&w->rare, w->block, &w->why);
    }
    for (uint32_t i = w->first_link; i < carm_nlinks; i++) {
        struct carm_link *link = &carm_links[i];
        if (!link->patch) {
            continue;
        }
        link->stub = w->rare.at;
        carm_aim(&w->rare, link->patch, link->stub);
        carm_set32(&w->rare, AT_LINK, i);
        carm_leave(&w->rare, STUB_DIRECT);
    }
    if (w->borrowed) {
        carm_aim(&w->rare, w->borrowed, w->rare.at);
        carm_load(&w->rare, RCX, AT_S_RCX);
        carm_load(&w->rare, RAX, AT_S_RAX);
        carm_byte(&w->rare, 0xe9);
        carm_aim(&w->rare, w->rare.at, w->changed);
        w->rare.at += 4;
    }
    if (w->literal.field) {
        while ((uint64_t)w->rare.at & 7) {
            carm_byte(&w->rare, 0x90);
        }
        carm_aim(&w->rare, w->literal.field, w->rare.at);
        carm_note(&w->rare, w->rare.at, CARM_FIX_PC);
        carm_bytes(&w->rare, &w->literal.value, sizeof w->literal.value);
    }
    if (first->bytes != (const uint8_t *)first->pc) {
        w->block->source = w->rare.at;
        carm_bytes(&w->rare, first->bytes, w->block->bytes);
    }
}

void carm_write_check(struct carm_emit *e, struct carm_block *block)
{
    static const uint8_t load[] = {0x65, 0x8b, 0x0c, 0x25}; /* mov ecx, gs:[] */
    static const uint8_t lea[] = {0x48, 0x8d, 0x89};        /* lea rcx, [rcx + ] */
    static const uint8_t skip[] = {0xe3, 0x06, 0xff, 0x25}; /* jrcxz; jmp [rip + ] */
    const uint32_t number = (uint32_t)(block - carm_blocks);
    while ((uint64_t)e->at & 7) {
        carm_byte(e, 0x90);
    }
    block->chain = (uint64_t *)(void *)e->at;
    carm_word32(e, 0);
    carm_word32(e, 0);
    carm_word32(e, 0);
    carm_bytes(e, &number, sizeof number);
    block->entry = e->at;
    carm_bytes(e, load, sizeof load);
    carm_word32(e, AT_TARGET + 2);
    carm_bytes(e, lea, sizeof lea);
    carm_word32(e, (uint32_t) - (int32_t)(block->pc >> 16));
    carm_bytes(e, skip, sizeof skip);
    carm_aim(e, e->at, (const uint8_t *)block->chain);
    e->at += 4;
    carm_load(e, RCX, AT_S_RCX);
}

static enum carm_tally_end end_of(const struct carm_insn_full *x)
{
    const ZydisDecodedOperand *o = &x->op[0];
    const bool direct = o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE && o->imm.is_relative;
    switch (x->in.meta.category) {
    case ZYDIS_CATEGORY_RET:
        return CARM_END_RETURN;
    case ZYDIS_CATEGORY_COND_BR:
        return CARM_END_BRANCH;
    case ZYDIS_CATEGORY_CALL:
        return direct ? CARM_END_CALL : CARM_END_INDIRECT_CALL;
    case ZYDIS_CATEGORY_UNCOND_BR:
        return direct ? CARM_END_JUMP : CARM_END_INDIRECT_JUMP;
    default:
        return carm_insn_ends_block(x) ? CARM_END_SYSCALL : CARM_END_NEXT;
    }
}

/* The row of a block's counter. */
static struct carm_tally_row row_of(const struct carm_block *block, const struct carm_insn_full *x)
{
    struct carm_tally_row row = {.pc = block->pc,
                                 .bytes = block->bytes,
                                 .map = block->file_map,
                                 .end = (uint8_t)end_of(x),
                                 .entered = block->entry != NULL,
                                 .compared = block->checked};
    if (row.end == CARM_END_JUMP || row.end == CARM_END_BRANCH || row.end == CARM_END_CALL) {
        row.target = target_of(x);
    }
    return row;
}

bool carm_write_block(struct carm_region *region, struct carm_block *block,
                      const struct carm_block *like, const struct carm_insn_full *insns, unsigned n,
                      const char **why)
{
    struct carm_step_counts counts;
    struct writer w = {.e = {region->at, region->alias, carm_notes},
                       .rare = {region->rare, region->alias, carm_notes},
                       .block = block,
                       .first_link = carm_nlinks};
    struct carm_place place = carm_live_place(insns, n);
    memset(&counts, 0, sizeof counts);
    for (unsigned i = 0; i < n; i++) {
        carm_account_add(&insns[i], false, &counts);
    }
    w.number = (uint32_t)(block - carm_blocks);
    struct carm_tally_row of = row_of(block, last_of(insns, n));
    block->copies = is_loop(insns, n, block->checked) ? COPIES : 1;
    of.times = block->copies;
    block->counter = carm_account_counter(&counts, &of, like ? like->counter : UINT32_MAX);
    if (block->copies > 1) {
        of.times = 1;
        block->single = carm_account_counter(&counts, &of, UINT32_MAX);
    }
    if (block->counter == UINT32_MAX || block->single == UINT32_MAX ||
        carm_nlinks + 2 * CARM_BLOCK_INSNS > CARM_LINKS_MAX) {
        *why = "it executes too much code";
        return false;
    }
    carm_nothing(&w.e, -(uint64_t)w.e.at & (CARM_BLOCK_ALIGN - 1));
    if (block->checked) {
        emit_changed(&w);
    }
    if (block->entry) {
        carm_write_check(&w.e, block);
    }
    block->code = w.e.at;
    block->map = carm_nmaps;
    body(&w, insns, n, &place);
    tail(&w, insns);
    block->end = w.e.at;
    if (w.why) {
        carm_nlinks = w.first_link;
        carm_nmaps = block->map;
        *why = w.why;
        return false;
    }
    for (int i = 0; carm_notes && place.flags_free && i < 2; i++) {
        carm_notes->peeked[i] = place.peeked[i];
        carm_notes->npeeked[i] = place.npeeked[i];
    }
    region->at = w.e.at;
    region->rare = w.rare.at;
    return true;
}

bool carm_write_entry(struct carm_block *block)
{
    struct carm_region *region = carm_cache_room((uint64_t)block->code);
    if (!region) {
        return false;
    }
    struct carm_emit e = {region->at, region->alias, NULL};
    carm_write_check(&e, block);
    carm_byte(&e, 0xe9);
    const int64_t off = (int64_t)((uint64_t)block->code - ((uint64_t)e.at + 4));
    if (off != (int32_t)off) {
        block->entry = NULL;
        block->chain = NULL;
        return false;
    }
    carm_word32(&e, (uint32_t)off);
    region->at = e.at;
    return true;
}
