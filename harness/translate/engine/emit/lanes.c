/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Code that counts the active lanes of an instruction's mask, and the executions with an active
 * lane. The code follows the instruction, so that an instruction that faults is not counted. The
 * mask of an instruction that overwrites it is read before the instruction. */
#include "harness/translate/engine/code.h"
#include "harness/translate/engine/emit/emit.h"

/* While rax and rcx are borrowed, ax has the flags: lahf; seto al, and back: add al, 127; sahf */
static void borrow(struct carm_emit *e)
{
    static const uint8_t keep[] = {0x9f, 0x0f, 0x90, 0xc0};
    carm_store(e, AT_S_RAX, RAX);
    carm_store(e, AT_S_RCX, RCX);
    carm_bytes(e, keep, sizeof keep);
}

static void give_back(struct carm_emit *e)
{
    static const uint8_t restore[] = {0x04, 0x7f, 0x9e};
    carm_bytes(e, restore, sizeof restore);
    carm_load(e, RCX, AT_S_RCX);
    carm_load(e, RAX, AT_S_RAX);
}

/* rcx = the mask; bits beyond the lanes are undefined */
static void load_mask(struct carm_emit *e, const struct carm_lanes *l)
{
    if (l->vector_bits) { /* vmovmskps, vmovmskpd ecx, */
        carm_byte(e, 0xc4);
        carm_byte(e, l->reg >= 8 ? 0xc1 : 0xe1);
        carm_byte(e, 0x78U | (l->vector_bits == 256 ? 4U : 0U) | (l->bytes == 8 ? 1U : 0U));
        carm_byte(e, 0x50);
    } else { /* kmovw, kmovd, kmovq */
        carm_byte(e, 0xc4);
        carm_byte(e, 0xe1);
        carm_byte(e, l->lanes <= 16 ? 0x78 : l->lanes <= 32 ? 0x7b : 0xfb);
        carm_byte(e, 0x93);
    }
    carm_byte(e, 0xc8U | (l->reg & 7U));
}

/* rcx = the active lanes */
static void look(struct carm_emit *e, const struct carm_lanes *l)
{
    static const uint8_t count[] = {0xf3, 0x48, 0x0f, 0xb8, 0xc9}; /* popcnt rcx, rcx */
    load_mask(e, l);
    if (l->lanes < 16) { /* and ecx, */
        carm_byte(e, 0x81);
        carm_byte(e, 0xe1);
        carm_word32(e, (1U << l->lanes) - 1);
    }
    carm_bytes(e, count, sizeof count);
}

void carm_lanes_emit_before(struct carm_emit *e, const struct carm_lanes *l)
{
    if (l->overwritten) {
        borrow(e);
        look(e, l);
        carm_store(e, AT_S_REP, RCX);
        give_back(e);
    }
}

void carm_lanes_emit_behind(struct carm_emit *e, const struct carm_lanes *l)
{
    static const uint8_t negate[] = {0x48, 0xf7,
                                     0xd9}; /* neg rcx: sets the carry if any lane is active */
    static const uint8_t add_carry[] = {0x65, 0x48, 0x83, 0x14}; /* adc qword gs:[], 0 */
    borrow(e);
    if (l->overwritten) {
        carm_load(e, RCX, AT_S_REP);
    } else {
        look(e, l);
    }
    if (l->each != UINT32_MAX) { /* add gs:[], rcx */
        carm_gs(e, 0x01, RCX, CARM_TALLY_COUNTS_AT + 8 * l->each);
    }
    if (l->any != UINT32_MAX) {
        carm_bytes(e, negate, sizeof negate);
        carm_bytes(e, add_carry, sizeof add_carry);
        carm_byte(e, 0x25);
        carm_note(e, e->at, CARM_FIX_COUNTER);
        carm_word32(e, CARM_TALLY_COUNTS_AT + 8 * l->any);
        carm_byte(e, 0);
    }
    give_back(e);
}
