/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "asm/recount_walk.h"

/* Knuth's constants of MMIX: The Art of Computer Programming, volume 2, third edition, 3.3.4, table 1.
 * Written down here once more, so that the macros cannot change them alone. */
static const int64_t factor = 6364136223846793005;
static const int64_t summand = 1442695040888963407;
enum { LINE_SHIFT = 6 }; /* a line number to bytes */

/* One instruction of a fixed sequence. */
struct step {
    enum carm_insn_role role;
    int64_t value;
    const char *due; /* what is to stand there */
};

/* The steps from instruction i on. */
static int check_steps(const struct carm_walk *w, size_t i, const struct step *steps, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        if (i + k >= w->n || w->insns[i + k].role != steps[k].role) {
            return carm_walk_refuse_at(w, i + k, steps[k].due);
        }
        const struct carm_insn *in = &w->insns[i + k];
        const bool sum = in->role == CARM_INSN_INT;
        if (sum && (in->reg != CARM_GENERAL_R8 || in->src[0] != CARM_GENERAL_R10 ||
                    in->bytes != sizeof summand)) {
            return carm_walk_refuse_at(w, i + k, steps[k].due);
        }
        if (!sum && in->value != steps[k].value) {
            return carm_walk_refuse(w, in, "it is not the generator's constant");
        }
    }
    return 0;
}

int carm_walk_random_entry(const struct carm_walk *w)
{
    static const struct step steps[] = {
        {CARM_INSN_SEED, 0, "kind R begins with `mov r8, rcx`, the first state"},
        {CARM_INSN_FACTOR, factor, "`mov r9, factor` is due here"},
        {CARM_INSN_SUMMAND, summand, "`mov r10, summand` is due here"},
    };
    enum { STEPS = sizeof steps / sizeof *steps };
    size_t first = 0;
    while (first < w->pass && w->insns[first].role == CARM_INSN_NOP) {
        first++;
    }
    const int rc = check_steps(w, first, steps, STEPS);
    for (size_t i = first + STEPS; i < w->pass && !rc; i++) {
        if (w->insns[i].role != CARM_INSN_NOP) {
            return carm_walk_refuse(w, &w->insns[i],
                                    "before the pass loop of kind R stands only its generator");
        }
    }
    return rc;
}

int carm_walk_random_body(const struct carm_walk *w, size_t *end)
{
    static const struct step steps[] = {
        {CARM_INSN_MULTIPLY, 0, "`imul r8, r9` is due here"},
        {CARM_INSN_INT, 0, "`add r8, r10` is due here"},
        {CARM_INSN_DRAW, 0, "`mov r11, r8` is due here"},
        {CARM_INSN_SHIFT, 0, "`shr r11, cl` is due here"},
        {CARM_INSN_LINE, LINE_SHIFT, "`shl r11, 6` is due here"},
    };
    enum { STEPS = sizeof steps / sizeof *steps };
    size_t i = w->loop;
    while (i < w->n && w->insns[i].role != CARM_INSN_DEC_RAX) {
        const int rc = check_steps(w, i, steps, STEPS);
        int64_t at = 0; /* in the line */
        if (rc) {
            return rc;
        }
        for (i += STEPS; at < CARM_LINE_BYTES; i++) {
            if (i >= w->n || w->insns[i].role != CARM_INSN_LOAD ||
                w->insns[i].base != CARM_BASE_RANDOM) {
                return carm_walk_refuse_at(w, i, "a load from the line drawn is due here");
            }
            const struct carm_insn *in = &w->insns[i];
            if (in->value != at || in->value + in->bytes > CARM_LINE_BYTES) {
                return carm_walk_refuse(w, in, "it is not the next vector of its line");
            }
            at += in->bytes;
            w->out->loads++;
            w->out->load_bytes += in->bytes;
        }
    }
    *end = i;
    return i > w->loop ? 0 : carm_walk_refuse_at(w, i, "the loop of kind R draws no line");
}
