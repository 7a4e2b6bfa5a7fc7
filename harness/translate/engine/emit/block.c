/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Decides which instructions of the program form a block of the cache, and which cannot be translated. */
#include "harness/translate/engine/emit/emit.h"

static bool uses_gs(const struct carm_insn_full *x)
{
    if (x->in.attributes & ZYDIS_ATTRIB_HAS_SEGMENT_GS) {
        return true;
    }
    switch (x->in.mnemonic) {
    case ZYDIS_MNEMONIC_RDGSBASE:
    case ZYDIS_MNEMONIC_WRGSBASE:
    case ZYDIS_MNEMONIC_SWAPGS:
    case ZYDIS_MNEMONIC_LGS:
        return true;
    default:
        break;
    }
    for (unsigned i = 0; i < x->in.operand_count; i++) {
        if (x->op[i].type == ZYDIS_OPERAND_TYPE_REGISTER &&
            x->op[i].reg.value == ZYDIS_REGISTER_GS &&
            (x->op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)) {
            return true;
        }
    }
    return false;
}

/* The reason, as a phrase, why an instruction cannot be counted; NULL = it can. */
static const char *refused(const struct carm_insn_full *x)
{
    if (uses_gs(x)) {
        return "it uses the gs register, which the counting needs";
    }
    switch (x->in.mnemonic) {
    case ZYDIS_MNEMONIC_INT:
        return "it makes system calls of 32-bit code (int 0x80)";
    case ZYDIS_MNEMONIC_SYSENTER:
    case ZYDIS_MNEMONIC_INT1:
    case ZYDIS_MNEMONIC_IRET:
    case ZYDIS_MNEMONIC_IRETD:
    case ZYDIS_MNEMONIC_IRETQ:
    case ZYDIS_MNEMONIC_UIRET:
        return "it executes an interrupt instruction";
    case ZYDIS_MNEMONIC_XBEGIN:
    case ZYDIS_MNEMONIC_XABORT:
        return "it uses hardware transactions (xbegin)";
    default:
        break;
    }
    if (x->in.meta.branch_type == ZYDIS_BRANCH_TYPE_FAR) {
        return "it executes a far jump, call or return (32-bit code)";
    }
    if (carm_insn_branches(x) && (x->in.attributes & ZYDIS_ATTRIB_HAS_OPERANDSIZE) &&
        !x->in.raw.rex.W) {
        /* the operand has 16 bits on AMD, 64 on Intel */
        return "it executes a branch with a 16-bit operand";
    }
    if (x->in.attributes & ZYDIS_ATTRIB_HAS_ADDRESSSIZE) {
        if (x->in.meta.category == ZYDIS_CATEGORY_STRINGOP) {
            return "it executes a string instruction with 32-bit addresses";
        }
        for (unsigned i = 0; i < x->in.operand_count; i++) {
            if (x->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
                x->op[i].mem.base == ZYDIS_REGISTER_EIP) {
                return "it uses an address relative to eip";
            }
        }
    }
    return NULL;
}

/* Whether the program's CPU lacks an instruction, which ends the counting. Notes the first such instruction. Not for
 * tzcnt and lzcnt, which are bsf and bsr with a prefix that older CPUs ignore: gcc emits tzcnt for older CPUs, too, and
 * pcre2 executes lzcnt to find out which instruction it is. */
static bool lacking(const struct carm_insn_full *x)
{
    if (!carm_lacks(x) || x->in.mnemonic == ZYDIS_MNEMONIC_TZCNT ||
        x->in.mnemonic == ZYDIS_MNEMONIC_LZCNT) {
        return false;
    }
    carm_account_note_unknown(x);
    return true;
}

/* Whether the instruction writes memory and so may change the code that follows it. */
static bool writes_memory(const struct carm_insn_full *x)
{
    switch (x->in.mnemonic) { /* the address is in a register, without an operand */
    case ZYDIS_MNEMONIC_CLZERO:
    case ZYDIS_MNEMONIC_MOVDIR64B:
    case ZYDIS_MNEMONIC_ENQCMD:
    case ZYDIS_MNEMONIC_ENQCMDS:
        return true;
    default:
        break;
    }
    for (unsigned i = 0; i < x->in.operand_count; i++) {
        if (x->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
            (x->op[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)) {
            return true;
        }
    }
    return false;
}

/* The present code of the program at pc.
 * returns the code, or a copy of code that can change */
static const uint8_t *code_at(uint64_t pc, uint64_t *left, bool *checked)
{
    static uint8_t copy[CARM_BLOCK_BYTES_MAX];
    *left = carm_ranges_left(pc, sizeof copy);
    const uint32_t flags = carm_ranges_flags(pc, pc + *left);
    *checked = flags & CARM_RANGE_CHANGES;
    if (!(flags & (CARM_RANGE_CHANGES | CARM_RANGE_PROTECTED))) {
        return (const uint8_t *)pc;
    }
    if (carm_copy_from(copy, pc, *left) != 0) { /* the mapped file ends before the next page */
        const uint64_t page = CARM_PAGE - pc % CARM_PAGE;
        *left = *left < page ? *left : page;
        *left = carm_copy_from(copy, pc, *left) == 0 ? *left : 0;
    }
    return copy;
}

/* Code that is to be translated. */
struct found {
    const struct carm_range *range; /* NULL: no executable memory */
    const uint8_t *bytes;
    uint64_t left;
    bool checked;
    const struct carm_block *like;
};

static struct carm_block *entered(struct carm_block *block)
{
    if (block->entry || carm_write_entry(block)) {
        carm_account_entered(block->counter);
        carm_cache_enter(block);
    }
    return block;
}

/* Finds a block that needs no translation: a block of the cache, a forgotten block, or a block of the stock.
 * out   range, bytes, left, checked and like are filled when there is none
 * returns NULL: there is none */
static struct carm_block *find(uint64_t pc, bool is_indirect, struct found *out)
{
    struct carm_block *block = carm_cache_find(pc);
    if (block) {
        return is_indirect ? entered(block) : block;
    }
    out->range = carm_ranges_look(pc);
    if (!out->range) {
        return NULL;
    }
    if (carm_account_all() && carm_cache_wake(out->range)) {
        block = carm_cache_find(pc);
        if (block) {
            return is_indirect ? entered(block) : block;
        }
    }
    out->bytes = code_at(pc, &out->left, &out->checked);
    block = carm_cache_again(pc, out->bytes, out->left, out->checked, &out->like);
    if (block) {
        carm_ranges_mark(pc, pc + block->bytes);
        return is_indirect ? entered(block) : block;
    }
    return out->like ? NULL : carm_stock_take(pc, out->range, is_indirect);
}

struct carm_block *carm_translated(uint64_t pc, bool is_indirect)
{
    struct found found;
    return find(pc, is_indirect, &found);
}

struct carm_block *carm_translate(uint64_t pc, bool is_indirect, const char **why)
{
    static struct carm_insn_full insns[CARM_BLOCK_INSNS];
    unsigned n = 0;
    struct found found;
    struct carm_block *block = find(pc, is_indirect, &found);
    if (block) {
        return block;
    }
    const struct carm_range *range = found.range;
    if (!range) {
        *why = "it jumps to memory that is not executable";
        return NULL;
    }
    const uint64_t range_end = range->end;
    const uint8_t *bytes = found.bytes;
    const uint64_t left = found.left;
    const bool checked = found.checked;
    for (uint64_t at = pc; n < CARM_BLOCK_INSNS; n++) {
        if (at >= range_end ||
            !carm_decode_bytes(at, bytes + (at - pc), left - (at - pc), &insns[n])) {
            *why = n == 0 ? "it executes bytes that the disassembler does not know" : NULL;
            break;
        }
        *why = lacking(&insns[n]) ? CARM_REASON_LACKS : refused(&insns[n]);
        if (*why) {
            break;
        }
        carm_account_fill(&insns[n]);
        at += insns[n].in.length;
        if (carm_insn_ends_block(&insns[n]) || carm_insn_moves_flags(&insns[n]) ||
            carm_insn_tells_where(&insns[n]) || carm_insn_tells_cpu(&insns[n]) ||
            carm_insn_mark(&insns[n]) || (checked && writes_memory(&insns[n]))) {
            n++;
            break;
        }
    }
    if (n == 0) {
        return NULL;
    }
    *why = NULL;
    struct carm_region *region = carm_cache_room(pc);
    if (!region || carm_nblocks == CARM_BLOCKS_MAX) {
        *why = region ? "it executes too much code" : "there is no room for translated code";
        return NULL;
    }
    block = &carm_blocks[carm_nblocks];
    *block = (struct carm_block){.pc = pc,
                                 .entry = is_indirect ? region->at : NULL,
                                 .checked = checked,
                                 .kept = -1,
                                 .file_map = range->map};
    block->bytes = (uint32_t)(insns[n - 1].pc + insns[n - 1].in.length - pc);
    if (!carm_write_block(region, block, found.like, insns, n, why)) {
        return NULL;
    }
    carm_nblocks++;
    carm_ranges_mark(pc, pc + block->bytes);
    carm_cache_add(region, block);
    if (is_indirect) {
        carm_cache_enter(block);
    }
    return block;
}

/* Works at some forks only, since most children of a loop execute the same code. */
void carm_translate_for_children(struct carm_thread *t)
{
    enum { FIRST = 4, TIMES = 2, MOST = 1024 };
    static uint32_t forks, next = FIRST;
    struct carm_tally_row row;
    const char *why;
    const uint32_t before = carm_nblocks;
    if (++forks != next) {
        return;
    }
    next *= TIMES;
    carm_vectors_save(t);
    for (uint32_t back = 1; back <= MOST && carm_account_row(back, &row); back++) {
        const struct carm_range *range = carm_ranges_find(row.pc);
        if (row.end != CARM_END_PART && range && (range->flags & CARM_RANGE_KNOWN)) {
            (void)carm_translate(row.pc, row.entered & CARM_ROW_ENTERED, &why);
        }
    }
    carm_vectors_load(t);
    if (carm_nblocks > before) {
        carm_cache_link_all();
    }
}
