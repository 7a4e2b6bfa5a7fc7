/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Inside of the recount: one code on its way through it. */
#ifndef CARM_ASM_RECOUNT_WALK_H
#define CARM_ASM_RECOUNT_WALK_H

#include "asm/decode.h"
#include "asm/recount.h"

/* How a code finds its addresses; the setup shows which. */
enum carm_walk_form { CARM_WALK_ONE_STREAM, CARM_WALK_TWO_STREAMS, CARM_WALK_RANDOM };

struct carm_walk {
    const uint8_t *image;
    size_t size;
    const struct carm_code_layout *layout;
    const struct carm_insn *insns; /* [n] */
    size_t n;
    enum carm_walk_form form;
    size_t pass, loop, loop_end; /* indices: first of a pass, of the loop body, and after it */
    struct carm_account *out;
    struct carm_err *err;
};

/* Fails with offset and text of the instruction. */
int carm_walk_refuse(const struct carm_walk *w, const struct carm_insn *in, const char *why);

/* Fails with the offset of instruction i, which may be the one after the last. */
int carm_walk_refuse_at(const struct carm_walk *w, size_t i, const char *why);

static inline bool carm_insn_is_store(const struct carm_insn *in)
{
    return in->role == CARM_INSN_STORE || in->role == CARM_INSN_NT_STORE;
}

/* The loop's accesses stay inside what each stream advances by, in order, without overlap or gap but
 * for the strides of loads of whole lines, which are all alike. 0 or -CARM_EFORMAT */
int carm_walk_check_slots(const struct carm_walk *w);

/* Entry and loop body of a code that loads random lines: the generator's constants, its steps for
 * each line and nothing between them, all of each line loaded. Counts the body; *end is the index
 * behind the body's last load. 0 or -CARM_EFORMAT */
int carm_walk_random_entry(const struct carm_walk *w);
int carm_walk_random_body(const struct carm_walk *w, size_t *end);

#endif
