/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/translate/engine/trace/access.h"

#include "harness/translate/records.h"

enum { PART = 256 }; /* bytes of a record at most */

static unsigned prefetch_kind(const struct carm_insn_full *x)
{
    return x->in.mnemonic == ZYDIS_MNEMONIC_PREFETCHT1 ||
                   x->in.mnemonic == ZYDIS_MNEMONIC_PREFETCHT2
               ? CARM_RECORD_PREFETCH_L2
               : CARM_RECORD_PREFETCH;
}

static bool on_stack(const ZydisDecodedOperand *o)
{
    return o->visibility == ZYDIS_OPERAND_VISIBILITY_HIDDEN && o->mem.base == ZYDIS_REGISTER_RSP;
}

/* Change of the stack pointer before a hidden operand of the stack is accessed; the address of pop [rsp + 8] uses the
 * stack pointer after the pop. */
static int64_t moved(const struct carm_insn_full *x, const ZydisDecodedOperand *o)
{
    const bool stores = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
    if (on_stack(o)) {
        return stores ? -(int64_t)(o->size / 8U) : 0;
    }
    return x->in.meta.category == ZYDIS_CATEGORY_POP && o->mem.base == ZYDIS_REGISTER_RSP
               ? (int64_t)(o->size / 8U)
               : 0;
}

/* The accesses of an instruction, loads before stores as in its account. Accesses that depend on
 * registers are left out. returns their number */
unsigned carm_accesses_of(const struct carm_insn_full *x, struct carm_access *out)
{
    const struct carm_account *e = &x->account;
    unsigned n = 0;
    if (e->flags & CARM_ACCOUNT_PREFETCH) {
        for (unsigned i = 0; i < x->in.operand_count; i++) {
            if (x->op[i].type == ZYDIS_OPERAND_TYPE_MEMORY &&
                x->op[i].mem.type != ZYDIS_MEMOP_TYPE_VSIB) {
                out[n++] = (struct carm_access){&x->op[i], 0, 1, prefetch_kind(x)};
                break;
            }
        }
        return n;
    }
    if (e->loads + e->stores == 0 || (e->flags & (CARM_ACCOUNT_REP | CARM_ACCOUNT_UNKNOWN))) {
        return 0;
    }
    for (unsigned store = 0; store < 2; store++) {
        const unsigned mask =
            store ? ZYDIS_OPERAND_ACTION_MASK_WRITE : ZYDIS_OPERAND_ACTION_MASK_READ;
        for (unsigned i = 0; i < x->in.operand_count && n < CARM_ACCESSES_MAX; i++) {
            const ZydisDecodedOperand *o = &x->op[i];
            if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || o->mem.type != ZYDIS_MEMOP_TYPE_MEM ||
                !(o->actions & mask) ||
                (e->masked.how != CARM_MASKED_NOT && e->masked.store == (store != 0))) {
                continue;
            }
            const unsigned kind = !store         ? CARM_RECORD_LOAD
                                  : e->nt_stores ? CARM_RECORD_STORE_NT
                                                 : CARM_RECORD_STORE;
            /* fxsave and fxrstor: 512 bytes, more than a record has */
            for (unsigned at = 0; at < o->size / 8U && n < CARM_ACCESSES_MAX; at += PART) {
                const unsigned left = o->size / 8U - at;
                out[n++] =
                    (struct carm_access){o, moved(x, o) + at, left < PART ? left : PART, kind};
            }
        }
    }
    return n;
}

/* lea reg, [operand + displacement], encoded anew from the operand's parts, since the
 * displacement differs. */
static void lea_operand(struct carm_emit *e, unsigned reg, const struct carm_insn_full *x,
                        const struct carm_access *a, const char **why)
{
    const ZydisDecodedOperandMem *m = &a->operand->mem;
    const bool narrow = x->in.address_width == 32;
    const int64_t displacement = m->disp.value + a->displacement;
    if (m->base == ZYDIS_REGISTER_RIP) { /* mov reg, address */
        const uint64_t to = x->pc + x->in.length + (uint64_t)displacement;
        carm_byte(e, 0x48U | (reg >= 8 ? 1U : 0U));
        carm_byte(e, 0xb8U | (reg & 7U));
        carm_bytes(e, &to, sizeof to);
        return;
    }
    const bool has_base = m->base != ZYDIS_REGISTER_NONE;
    const bool has_index =
        m->index != ZYDIS_REGISTER_NONE && m->index != ZYDIS_REGISTER_AL; /* xlat */
    const unsigned base = has_base ? (unsigned)ZydisRegisterGetId(m->base) : 5;
    const unsigned index = has_index ? (unsigned)ZydisRegisterGetId(m->index) : 4;
    if (displacement != (int32_t)displacement) { /* mov reg, 64-bit address */
        carm_byte(e, 0x48U | (reg >= 8 ? 1U : 0U));
        carm_byte(e, 0xb8U | (reg & 7U));
        carm_bytes(e, &displacement, sizeof displacement);
        *why = has_base || has_index ? "it uses an address that cannot be recorded" : *why;
        return;
    }
    if (narrow) {
        carm_byte(e, 0x67);
    }
    carm_byte(e, 0x48U | (reg >= 8 ? 4U : 0U) | (index >= 8 && has_index ? 2U : 0U) |
                     (base >= 8 && has_base ? 1U : 0U));
    carm_byte(e, 0x8d);
    carm_byte(e, (has_base ? 0x84U : 0x04U) | (reg & 7U) << 3); /* SIB, 32-bit displacement */
    const unsigned scale = has_index ? (unsigned)__builtin_ctz(m->scale ? m->scale : 1U) : 0;
    carm_byte(e, scale << 6 | (index & 7U) << 3 | (base & 7U));
    carm_word32(e, (uint32_t)(int32_t)displacement);
}

/* Writes a record; rax is the address. Between carm_access_borrow and carm_access_give_back. */
void carm_access_write(struct carm_emit *e, uint32_t what, uint32_t at)
{
    static const uint8_t store[] = {0x48, 0x89, 0x01};      /* mov [rcx], rax */
    static const uint8_t store_at[] = {0xc7, 0x41, 0x0c};   /* mov dword [rcx + 12], */
    static const uint8_t store_what[] = {0xc7, 0x41, 0x08}; /* mov dword [rcx + 8], */
    static const uint8_t next[] = {0x48, 0x8d, 0x49, 0x10}; /* lea rcx, [rcx + 16] */
    carm_load(e, RCX, AT_RECORDS);
    carm_bytes(e, store, sizeof store);
    carm_bytes(e, store_at, sizeof store_at);
    carm_word32(e, at);
    carm_bytes(e, store_what, sizeof store_what);
    carm_word32(e, what);
    carm_bytes(e, next, sizeof next);
    carm_store(e, AT_RECORDS, RCX);
}

void carm_access_borrow(struct carm_emit *e)
{
    carm_store(e, AT_R_RAX, RAX);
    carm_store(e, AT_R_RCX, RCX);
}

void carm_access_give_back(struct carm_emit *e)
{
    carm_load(e, RCX, AT_R_RCX);
    carm_load(e, RAX, AT_R_RAX);
}

/* Sets reg to the accessed address; with rax, rcx is borrowed, too */
void carm_access_address(struct carm_emit *e, unsigned reg, const struct carm_insn_full *x,
                         const struct carm_access *a, const char **why)
{
    static const uint8_t fs_rcx[] = {0xf3, 0x48, 0x0f, 0xae, 0xc1, /* rdfsbase rcx */
                                     0x48, 0x8d, 0x04, 0x08};      /* lea rax, [rax + rcx] */
    lea_operand(e, reg, x, a, why);
    if (a->operand->mem.segment == ZYDIS_REGISTER_FS && reg == RAX) {
        carm_bytes(e, fs_rcx, sizeof fs_rcx);
    }
}

void carm_access_ask(struct carm_emit *e, uint32_t link, uint8_t *back)
{
    carm_set32(e, AT_LINK, link);
    carm_leave(e, STUB_CALLOUT);
    carm_links[link].resume = back;
}
