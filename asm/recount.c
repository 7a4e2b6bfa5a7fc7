/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "asm/recount.h"

#include <stdlib.h>
#include <string.h>

#include "asm/decode.h"

enum { REGISTERS = 32, NO_LOAD = -1 };

/* One code on its way through the recount. */
struct walk {
    const uint8_t *image;
    size_t size;
    const struct carm_code_layout *layout;
    const struct carm_insn *insns; /* [n] */
    size_t n;
    size_t pass, loop, loop_end; /* indices: first of a pass, of the loop body, and after it */
    struct carm_account *out;
    struct carm_err *err;
};

static int refuse(const struct walk *w, const struct carm_insn *in, const char *why)
{
    char text[CARM_INSN_TEXT_MAX];
    carm_insn_text(w->image, w->size, in->offset, text);
    return carm_fail(w->err, CARM_EFORMAT, "offset 0x%llx, '%s': %s",
                     (unsigned long long)in->offset, text, why);
}

static bool is_fp(const struct carm_insn *in)
{
    return in->role >= CARM_INSN_ADD && in->role <= CARM_INSN_FNMA;
}

static bool is_store(const struct carm_insn *in)
{
    return in->role == CARM_INSN_STORE || in->role == CARM_INSN_NT_STORE;
}

/* The values that setup loads are normal or zero: nothing else runs at full speed for ever. */
static bool constants_normal(const struct walk *w, const struct carm_insn *in)
{
    for (unsigned at = 0; at < in->bytes; at += in->element_bytes) {
        const uint8_t *p = w->image + in->value + at;
        uint64_t bits = 0;
        memcpy(&bits, p, in->element_bytes); /* little-endian, as all of x86-64 */
        const uint64_t exponent = in->element_bytes == 8 ? bits >> 52 & 0x7ff : bits >> 23 & 0xff;
        const uint64_t fraction =
            in->element_bytes == 8 ? bits & 0xfffffffffffffULL : bits & 0x7fffffULL;
        if (exponent == (in->element_bytes == 8 ? 0x7ffU : 0xffU) ||
            (exponent == 0 && fraction != 0)) {
            return false;
        }
    }
    return true;
}

/* Loads of constants, then `mov rax, rdi; mov rcx, rsi`, where a pass begins. */
static int walk_setup(struct walk *w)
{
    size_t i = 0;
    for (; i < w->n && w->insns[i].role != CARM_INSN_REWIND; i++) {
        const struct carm_insn *in = &w->insns[i];
        if (in->role == CARM_INSN_NOP) {
            continue;
        }
        if (in->role != CARM_INSN_LOAD || !in->constant) {
            return refuse(w, in, "before the pass loop stand only loads of constants");
        }
        const uint64_t at = (uint64_t)in->value;
        if (in->value < 0 || at > w->size || w->size - at < in->bytes ||
            (at < w->layout->end && at + in->bytes > w->layout->begin)) {
            return refuse(w, in, "its constant lies outside the image or inside the code");
        }
        if (at % in->bytes != 0) {
            return refuse(w, in, "its constant is not aligned to the vector");
        }
        if (!constants_normal(w, in)) {
            return refuse(w, in, "its constant is not a normal number");
        }
        w->out->setup_loads++;
        w->out->setup_load_bytes += in->bytes;
    }
    w->pass = i;
    if (i + 1 >= w->n || w->insns[i + 1].role != CARM_INSN_RECHARGE) {
        return carm_fail(w->err, CARM_EFORMAT,
                         "offset 0x%llx: a pass must begin with `mov rax, rdi; mov rcx, rsi`",
                         (unsigned long long)(i < w->n ? w->insns[i].offset : w->layout->end));
    }
    for (i += 2; i < w->n && w->insns[i].role == CARM_INSN_NOP; i++) {
    }
    w->loop = i;
    if (i == w->n || w->insns[i].offset != w->layout->loop_begin ||
        w->layout->loop_begin % 64 != 0) {
        return carm_fail(w->err, CARM_EFORMAT,
                         "offset 0x%llx: the loop body does not begin here, on a 64-byte line",
                         (unsigned long long)w->layout->loop_begin);
    }
    return 0;
}

/* Counts the loop body, closed by `add rax, stride; dec rcx; jnz`. */
static int walk_body(struct walk *w)
{
    struct carm_account *out = w->out;
    size_t i = w->loop;
    for (; i < w->n && w->insns[i].role != CARM_INSN_STEP; i++) {
        const struct carm_insn *in = &w->insns[i];
        if (in->constant) {
            return refuse(w, in, "in the loop only [rax + offset] is accessed");
        }
        if (in->role == CARM_INSN_LOAD) {
            out->loads++;
            out->load_bytes += in->bytes;
        } else if (is_store(in)) {
            out->stores++;
            out->store_bytes += in->bytes;
            out->nt_stores += in->role == CARM_INSN_NT_STORE;
        } else if (is_fp(in)) {
            out->fp_instructions++;
            out->flops += (uint64_t)(in->bytes / in->element_bytes) *
                          (in->role == CARM_INSN_FMA || in->role == CARM_INSN_FNMA ? 2 : 1);
        } else if (in->role == CARM_INSN_PREFETCH) {
            out->prefetches++;
        } else if (in->role == CARM_INSN_INT) {
            out->int_instructions++;
        } else if (in->role != CARM_INSN_FLIP) {
            return refuse(w, in, "it has no place in a loop body");
        }
    }
    if (w->n - i < 3 || w->insns[i + 1].role != CARM_INSN_DEC_RCX ||
        w->insns[i + 2].role != CARM_INSN_JNZ ||
        w->insns[i + 2].value != (int64_t)w->layout->loop_begin) {
        return carm_fail(w->err, CARM_EFORMAT,
                         "offset 0x%llx: the loop is not closed by `add rax, stride; dec rcx; jnz` "
                         "to its begin",
                         (unsigned long long)(i < w->n ? w->insns[i].offset : w->layout->end));
    }
    if (w->insns[i].value < 0) {
        return refuse(w, &w->insns[i], "the stream goes backwards");
    }
    out->stride_bytes = (uint64_t)w->insns[i].value;
    w->loop_end = i + 3;
    out->instructions = w->loop_end - w->loop;
    const struct carm_insn *last = &w->insns[i + 2];
    if (last->offset + last->length != w->layout->loop_end) {
        return refuse(w, last, "the loop body does not end here");
    }
    return 0;
}

/* `dec rdx; jnz` to the pass, vzeroupper where upper halves were written, `ret`, and no more. */
static int walk_tail(const struct walk *w)
{
    size_t i = w->loop_end;
    bool wide = false;
    for (size_t k = 0; k < w->n; k++) {
        wide = wide || w->insns[k].vector_bytes > 16;
    }
    if (w->n - i < 2 || w->insns[i].role != CARM_INSN_DEC_RDX ||
        w->insns[i + 1].role != CARM_INSN_JNZ ||
        w->insns[i + 1].value != (int64_t)w->insns[w->pass].offset) {
        return carm_fail(w->err, CARM_EFORMAT,
                         "offset 0x%llx: no pass loop, `dec rdx; jnz` to its begin, follows the "
                         "loop body",
                         (unsigned long long)w->layout->loop_end);
    }
    i += 2;
    if (i < w->n && w->insns[i].role == CARM_INSN_VZEROUPPER) {
        i++;
    } else if (wide) {
        return carm_fail(w->err, CARM_EFORMAT,
                         "offset 0x%llx: vzeroupper is missing after vectors wider than 16 bytes",
                         (unsigned long long)(i < w->n ? w->insns[i].offset : w->layout->end));
    }
    if (w->n - i != 1 || w->insns[i].role != CARM_INSN_RET) {
        return carm_fail(w->err, CARM_EFORMAT, "offset 0x%llx: the code does not end with `ret`",
                         (unsigned long long)(i < w->n ? w->insns[i].offset : w->layout->end));
    }
    return 0;
}

/* What each vector register is used for in the loop, one bit for each. */
struct uses {
    uint32_t set;    /* by setup */
    uint32_t loaded; /* by the loop */
    uint32_t chains; /* changed by FP */
    uint32_t read;   /* by FP and exclusive or, beside what they change */
};

static uint32_t bit(int reg)
{
    return reg < 0 ? 0 : (uint32_t)1 << reg;
}

static struct uses find_uses(const struct walk *w)
{
    struct uses u = {0};
    for (size_t i = 0; i < w->loop_end; i++) {
        const struct carm_insn *in = &w->insns[i];
        if (in->role == CARM_INSN_LOAD) {
            *(i < w->loop ? &u.set : &u.loaded) |= bit(in->reg);
        } else if (is_fp(in) || in->role == CARM_INSN_FLIP) {
            u.chains |= is_fp(in) ? bit(in->reg) : 0;
            u.read |= bit(in->src[0]) | bit(in->src[1]);
        }
    }
    return u;
}

/* The data flow: chains and constants are set before the loop and meet nothing that is loaded in
 * it, so that no arithmetic waits for memory; what is stored is a constant, or the vector that was
 * loaded from the same place and flipped (an update). */
static int check_registers(const struct walk *w)
{
    const struct uses u = find_uses(w);
    int64_t from[REGISTERS]; /* where a register's content was loaded from */
    bool flipped[REGISTERS]; /* and whether it waits to be stored again */
    for (int r = 0; r < REGISTERS; r++) {
        from[r] = NO_LOAD;
        flipped[r] = false;
    }
    for (size_t i = w->loop; i < w->loop_end; i++) {
        const struct carm_insn *in = &w->insns[i];
        const uint32_t reg = bit(in->reg);
        const uint32_t src = bit(in->src[0]) | bit(in->src[1]);
        if (in->role == CARM_INSN_LOAD) {
            if ((reg & (u.set | u.chains | u.read)) || flipped[in->reg]) {
                return refuse(w, in, "it overwrites a register that is in use");
            }
            from[in->reg] = in->value;
        } else if (is_fp(in)) {
            if ((reg & ~u.set) || (src & ~u.set) || (src & u.chains)) {
                return refuse(w, in, "its registers are not a chain and constants set before");
            }
        } else if (in->role == CARM_INSN_FLIP) {
            if (from[in->reg] == NO_LOAD || flipped[in->reg] || (src & ~u.set)) {
                return refuse(w, in, "it does not change a vector just loaded, by a constant");
            }
            flipped[in->reg] = true;
        } else if (is_store(in) && in->reg >= 0) {
            if (flipped[in->reg] && from[in->reg] == in->value) {
                from[in->reg] = NO_LOAD;
                flipped[in->reg] = false;
            } else if ((reg & ~u.set) || (reg & u.chains)) {
                return refuse(w, in,
                              "it stores neither a constant nor an update of the same place");
            }
        }
    }
    for (int r = 0; r < REGISTERS; r++) {
        if (flipped[r]) {
            return carm_fail(w->err, CARM_EFORMAT,
                             "vector register %d is changed in the loop but not stored again", r);
        }
    }
    return 0;
}

/* Addresses of loads, and of stores, increase. */
static int check_order(const struct walk *w)
{
    int64_t past_load = 0;
    int64_t past_store = 0;
    for (size_t i = w->loop; i < w->loop_end; i++) {
        const struct carm_insn *in = &w->insns[i];
        if (in->role != CARM_INSN_LOAD && !is_store(in)) {
            continue;
        }
        int64_t *past = is_store(in) ? &past_store : &past_load;
        if (in->value < *past) {
            return refuse(w, in, "its slot overlaps an earlier one or is out of order");
        }
        *past = in->value + in->bytes;
    }
    return 0;
}

/* The next load, or store, of the loop from index i on; NULL after the last. */
static const struct carm_insn *next_access(const struct walk *w, size_t i, bool store)
{
    while (i < w->loop_end &&
           !(store ? is_store(&w->insns[i]) : w->insns[i].role == CARM_INSN_LOAD)) {
        i++;
    }
    return i < w->loop_end ? &w->insns[i] : NULL;
}

/* Loads and stores tile [0, stride) without overlap or gap; a load and a store share a slot only
 * as an update. */
static int check_tiling(const struct walk *w)
{
    int64_t at = 0;
    const struct carm_insn *l = next_access(w, w->loop, false);
    const struct carm_insn *s = next_access(w, w->loop, true);
    while (l || s) {
        const struct carm_insn *first = l && (!s || l->value <= s->value) ? l : s;
        const bool shared = l && s && l->value == s->value;
        if (first->value != at) {
            return refuse(w, first,
                          first->value > at ? "a gap in the stream lies before its slot"
                                            : "its slot overlaps the one before");
        }
        if (shared && (l->reg != s->reg || l->bytes != s->bytes || s < l)) {
            return refuse(w, s, "its slot overlaps a load's and is no update of it");
        }
        at += first->bytes;
        if (first == s || shared) {
            s = next_access(w, (size_t)(s - w->insns) + 1, true);
        }
        if (first == l) {
            l = next_access(w, (size_t)(l - w->insns) + 1, false);
        }
    }
    if (at != (int64_t)w->out->stride_bytes) {
        return carm_fail(w->err, CARM_EFORMAT,
                         "the loop's slots cover %lld bytes, but its stride is %llu", (long long)at,
                         (unsigned long long)w->out->stride_bytes);
    }
    return 0;
}

int carm_recount(const uint8_t *image, size_t size, const struct carm_code_layout *layout,
                 struct carm_account *out, struct carm_err *err)
{
    struct carm_account account = {0};
    struct carm_insn *insns = NULL;
    struct walk w = {.image = image, .size = size, .layout = layout, .out = &account, .err = err};
    int rc = carm_decode(image, size, layout->begin, layout->end, &insns, &w.n, err);
    w.insns = insns;
    rc = rc ? rc : walk_setup(&w);
    rc = rc ? rc : walk_body(&w);
    rc = rc ? rc : walk_tail(&w);
    rc = rc ? rc : check_registers(&w);
    rc = rc ? rc : check_order(&w);
    rc = rc ? rc : check_tiling(&w);
    if (!rc) {
        *out = account;
    }
    free(insns);
    return rc;
}
