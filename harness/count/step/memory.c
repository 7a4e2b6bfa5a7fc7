/* SPDX-License-Identifier: MIT */
/* Loads and stores of an instruction, from its memory operands, those of the stack included. */
#include <string.h>

#include "harness/count/step/decode.h"

enum {
    READS = ZYDIS_OPERAND_ACTION_MASK_READ,
    WRITES = ZYDIS_OPERAND_ACTION_MASK_WRITE,
};

unsigned carm_insn_register(ZydisRegister reg)
{
    const ZyanI8 id = ZydisRegisterGetId(reg);
    return id < 0 ? 0 : (unsigned)id & 31U;
}

/* Operands that name memory and do not move it: prefetches, flushes, nops. */
static bool accesses_nothing(const ZydisDecodedInstruction *in)
{
    switch (in->meta.category) {
    case ZYDIS_CATEGORY_PREFETCH:
    case ZYDIS_CATEGORY_NOP:
    case ZYDIS_CATEGORY_WIDENOP:
    case ZYDIS_CATEGORY_CLFLUSHOPT:
    case ZYDIS_CATEGORY_CLWB:
    case ZYDIS_CATEGORY_CLDEMOTE:
        return true;
    default:
        return in->mnemonic == ZYDIS_MNEMONIC_CLFLUSH ||
               in->mnemonic == ZYDIS_MNEMONIC_PREFETCHWT1 || /* has a category of its own */
               strstr(ZydisMnemonicGetString(in->mnemonic), "terpf") !=
                   NULL || /* {gat,scat}terpf */
               strstr(ZydisMnemonicGetString(in->mnemonic), "herpf") != NULL;
    }
}

static bool is_nontemporal(const ZydisDecodedInstruction *in)
{
    const char *m = ZydisMnemonicGetString(in->mnemonic);
    m += m[0] == 'v';
    return strncmp(m, "movnt", 5) == 0 || strcmp(m, "maskmovdqu") == 0 ||
           strcmp(m, "maskmovq") == 0 || strcmp(m, "movdir64b") == 0 || strcmp(m, "movdiri") == 0;
}

static unsigned element_bytes(const ZydisDecodedOperand *o)
{
    return o->element_size / 8U;
}

/* Instructions whose mask does not keep a load from reading the whole operand.
 * source: Intel 64 and IA-32 SDM, volume 2, 2.8: exception classes without fault suppression */
static bool loads_whole(const ZydisDecodedInstruction *in)
{
    switch (in->meta.exception_class) {
    case ZYDIS_EXCEPTION_CLASS_E1NF:
    case ZYDIS_EXCEPTION_CLASS_E3NF:
    case ZYDIS_EXCEPTION_CLASS_E4NF:
    case ZYDIS_EXCEPTION_CLASS_E5NF:
    case ZYDIS_EXCEPTION_CLASS_E6NF:
    case ZYDIS_EXCEPTION_CLASS_E9NF:
    case ZYDIS_EXCEPTION_CLASS_E10NF:
        return true;
    default:
        return false;
    }
}

static unsigned broadcast_lanes(const ZydisDecodedInstruction *in)
{
    switch (in->avx.broadcast.mode) {
    case ZYDIS_BROADCAST_MODE_1_TO_2:
        return 2;
    case ZYDIS_BROADCAST_MODE_1_TO_4:
    case ZYDIS_BROADCAST_MODE_2_TO_4:
        return 4;
    case ZYDIS_BROADCAST_MODE_1_TO_8:
    case ZYDIS_BROADCAST_MODE_2_TO_8:
    case ZYDIS_BROADCAST_MODE_4_TO_8:
        return 8;
    case ZYDIS_BROADCAST_MODE_1_TO_16:
    case ZYDIS_BROADCAST_MODE_2_TO_16:
    case ZYDIS_BROADCAST_MODE_4_TO_16:
    case ZYDIS_BROADCAST_MODE_8_TO_16:
        return 16;
    case ZYDIS_BROADCAST_MODE_1_TO_32:
        return 32;
    case ZYDIS_BROADCAST_MODE_1_TO_64:
        return 64;
    default:
        return 0;
    }
}

static void plain(struct carm_insn *e, bool store, unsigned bytes, bool nontemporal)
{
    if (store) {
        e->stores++;
        e->store_bytes += bytes;
        e->nt_stores += nontemporal;
    } else {
        e->loads++;
        e->load_bytes += bytes;
    }
}

/* Gathers and scatters: as many elements as both the indices and the data have room for. */
static void indexed(struct carm_insn *e, const ZydisDecodedInstruction *in,
                    const ZydisDecodedOperand *operands, const ZydisDecodedOperand *o, bool store)
{
    const char *m = ZydisMnemonicGetString(in->mnemonic);
    const char *kind = strstr(m, store ? "scatter" : "gather");
    const bool wide_index = kind && kind[store ? 7 : 6] == 'q';
    const unsigned index_lanes =
        ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, o->mem.index) / (wide_index ? 64U : 32U);
    unsigned data_lanes = index_lanes;
    for (unsigned i = 0; i < in->operand_count_visible; i++) {
        const ZydisDecodedOperand *d = &operands[i];
        if (d->type != ZYDIS_OPERAND_TYPE_REGISTER || d->encoding == ZYDIS_OPERAND_ENCODING_MASK) {
            continue;
        }
        data_lanes =
            ZydisRegisterGetWidth(ZYDIS_MACHINE_MODE_LONG_64, d->reg.value) / 8U / element_bytes(o);
        e->masked.reg = (uint8_t)carm_insn_register(d->reg.value); /* AVX2: the last one */
    }
    e->masked.how = CARM_MASKED_EACH;
    e->masked.store = store;
    e->masked.bytes = (uint8_t)element_bytes(o);
    e->masked.lanes = (uint8_t)(index_lanes < data_lanes ? index_lanes : data_lanes);
    e->masked.vector = in->avx.mask.mode <= ZYDIS_MASK_MODE_DISABLED;
    if (!e->masked.vector) {
        e->masked.reg = (uint8_t)(in->avx.mask.reg - ZYDIS_REGISTER_K0);
    }
}

/* A load or store under a mask register. */
static void opmasked(struct carm_insn *e, const ZydisDecodedInstruction *in,
                     const ZydisDecodedOperand *o, bool store)
{
    const unsigned broadcast = broadcast_lanes(in);
    e->masked.store = store;
    e->masked.reg = (uint8_t)(in->avx.mask.reg - ZYDIS_REGISTER_K0);
    if (broadcast) {
        e->masked.how = CARM_MASKED_ANY;
        e->masked.lanes = (uint8_t)broadcast;
        e->masked.bytes = (uint8_t)(o->size / 8U);
    } else {
        e->masked.how = CARM_MASKED_ACTIVE;
        e->masked.lanes = (uint8_t)o->element_count;
        e->masked.bytes = (uint8_t)element_bytes(o);
    }
}

/* maskmov: the mask is the second register operand of maskmovdqu, of a load and of a store alike. */
static bool vector_masked(struct carm_insn *e, const ZydisDecodedInstruction *in,
                          const ZydisDecodedOperand *operands, const ZydisDecodedOperand *o,
                          bool store)
{
    const char *m = ZydisMnemonicGetString(in->mnemonic);
    m += m[0] == 'v';
    const bool bytes = strcmp(m, "maskmovdqu") == 0;
    if (!bytes && strncmp(m, "maskmovp", 8) != 0 && strcmp(m, "pmaskmovd") != 0 &&
        strcmp(m, "pmaskmovq") != 0) {
        return false;
    }
    const unsigned element = bytes ? 1 : element_bytes(o);
    e->masked.how = CARM_MASKED_ACTIVE;
    e->masked.vector = true;
    e->masked.store = store;
    e->masked.nontemporal = bytes;
    e->masked.reg = (uint8_t)carm_insn_register(operands[1].reg.value);
    e->masked.bytes = (uint8_t)element;
    e->masked.lanes = (uint8_t)(o->size / 8U / element);
    return true;
}

static void access_operand(struct carm_insn *e, const ZydisDecodedInstruction *in,
                           const ZydisDecodedOperand *operands, const ZydisDecodedOperand *o,
                           bool store)
{
    const bool opmask = in->avx.mask.mode > ZYDIS_MASK_MODE_DISABLED;
    if (o->mem.type == ZYDIS_MEMOP_TYPE_VSIB) {
        indexed(e, in, operands, o, store);
    } else if (opmask && (store || !loads_whole(in))) {
        opmasked(e, in, o, store);
    } else if (!vector_masked(e, in, operands, o, store)) {
        plain(e, store, o->size / 8U, store && is_nontemporal(in));
    }
}

/* returns CARM_INSN_XSAVE, _XRSTOR or 0 */
static unsigned saves_state(ZydisMnemonic m)
{
    switch (m) {
    case ZYDIS_MNEMONIC_XSAVE:
    case ZYDIS_MNEMONIC_XSAVE64:
    case ZYDIS_MNEMONIC_XSAVEC:
    case ZYDIS_MNEMONIC_XSAVEC64:
    case ZYDIS_MNEMONIC_XSAVEOPT:
    case ZYDIS_MNEMONIC_XSAVEOPT64:
        return CARM_INSN_XSAVE;
    case ZYDIS_MNEMONIC_XRSTOR:
    case ZYDIS_MNEMONIC_XRSTOR64:
        return CARM_INSN_XRSTOR;
    default:
        return 0;
    }
}

void carm_insn_memory(struct carm_insn *e, const ZydisDecodedInstruction *in,
                      const ZydisDecodedOperand *operands)
{
    if (accesses_nothing(in)) {
        return;
    }
    const unsigned state = saves_state(in->mnemonic);
    if (state) {
        e->flags |= (uint16_t)state;
        return;
    }
    if (in->mnemonic == ZYDIS_MNEMONIC_CLZERO) { /* a line, whose address is in rax */
        plain(e, true, 64, false);
        return;
    }
    for (unsigned i = 0; i < in->operand_count; i++) {
        const ZydisDecodedOperand *o = &operands[i];
        if (o->type != ZYDIS_OPERAND_TYPE_MEMORY ||
            (o->mem.type != ZYDIS_MEMOP_TYPE_MEM && o->mem.type != ZYDIS_MEMOP_TYPE_VSIB)) {
            continue;
        }
        if (o->actions & READS) {
            access_operand(e, in, operands, o, false);
        }
        if (o->actions & WRITES) {
            access_operand(e, in, operands, o, true);
        }
    }
}
