/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "asm/recount_walk.h"

enum { REGISTERS = 32, NO_LOAD = -1 };

int carm_walk_refuse(const struct carm_walk *w, const struct carm_insn *in, const char *why)
{
    char text[CARM_INSN_TEXT_MAX];
    carm_insn_text(w->image, w->size, in->offset, text);
    return carm_fail(w->err, CARM_EFORMAT, "offset 0x%llx, '%s': %s",
                     (unsigned long long)in->offset, text, why);
}

int carm_walk_refuse_at(const struct carm_walk *w, size_t i, const char *why)
{
    return carm_fail(w->err, CARM_EFORMAT, "offset 0x%llx: %s",
                     (unsigned long long)(i < w->n ? w->insns[i].offset : w->layout->end), why);
}

static bool is_fp(const struct carm_insn *in)
{
    return in->role >= CARM_INSN_ADD && in->role <= CARM_INSN_FNMA;
}

/* The values that setup loads are normal or zero: nothing else runs at full speed for ever. */
static bool constants_normal(const struct carm_walk *w, const struct carm_insn *in)
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

/* A constant that the setup loads. */
static int count_constant(const struct carm_walk *w, const struct carm_insn *in)
{
    const uint64_t at = (uint64_t)in->value;
    if (in->value < 0 || at > w->size || w->size - at < in->bytes ||
        (at < w->layout->end && at + in->bytes > w->layout->begin)) {
        return carm_walk_refuse(w, in, "its constant lies outside the image or inside the code");
    }
    if (at % in->bytes != 0) {
        return carm_walk_refuse(w, in, "its constant is not aligned to the vector");
    }
    if (!constants_normal(w, in)) {
        return carm_walk_refuse(w, in, "its constant is not a normal number");
    }
    w->out->setup_loads++;
    w->out->setup_load_bytes += in->bytes;
    return 0;
}

static bool begins_pass(const struct carm_insn *in)
{
    return in->role == CARM_INSN_REWIND || in->role == CARM_INSN_RECHARGE_R;
}

/* Loads of constants, and what tells a code's form: where its second stream starts, or its
 * generator. */
static int walk_entry(struct carm_walk *w)
{
    int rc = 0;
    size_t i = 0;
    for (; i < w->n && !begins_pass(&w->insns[i]) && !rc; i++) {
        const struct carm_insn *in = &w->insns[i];
        if (in->role == CARM_INSN_SEED) {
            w->form = CARM_WALK_RANDOM;
        }
        if (in->role == CARM_INSN_NOP || w->form == CARM_WALK_RANDOM) {
            continue;
        }
        if (in->role == CARM_INSN_SECOND && w->form == CARM_WALK_ONE_STREAM) {
            w->form = CARM_WALK_TWO_STREAMS;
        } else if (in->role == CARM_INSN_LOAD && in->base == CARM_BASE_IMAGE) {
            rc = count_constant(w, in);
        } else {
            rc = carm_walk_refuse(w, in, "before the pass loop stand only loads of constants");
        }
    }
    w->pass = i;
    return rc || w->form != CARM_WALK_RANDOM ? rc : carm_walk_random_entry(w);
}

/* The entry, then what begins a pass and where its loop begins. */
static int walk_setup(struct carm_walk *w)
{
    static const struct {
        enum carm_insn_role roles[3];
        size_t n;
        const char *due;
    } begins[] = {
        [CARM_WALK_ONE_STREAM] = {{CARM_INSN_REWIND, CARM_INSN_RECHARGE},
                                  2,
                                  "a pass must begin with `mov rax, rdi; mov rcx, rsi`"},
        [CARM_WALK_TWO_STREAMS] =
            {{CARM_INSN_REWIND, CARM_INSN_REWIND_2, CARM_INSN_RECHARGE},
             3,
             "a pass of two streams must begin with `mov rax, rdi; mov r8, r9; mov rcx, rsi`"},
        [CARM_WALK_RANDOM] = {{CARM_INSN_RECHARGE_R},
                              1,
                              "a pass of kind R must begin with `mov rax, rsi`"},
    };
    const int rc = walk_entry(w);
    if (rc) {
        return rc;
    }
    size_t i = w->pass;
    for (size_t k = 0; k < begins[w->form].n; k++, i++) {
        if (i >= w->n || w->insns[i].role != begins[w->form].roles[k]) {
            return carm_walk_refuse_at(w, w->pass, begins[w->form].due);
        }
    }
    while (i < w->n && w->insns[i].role == CARM_INSN_NOP) {
        i++;
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

/* Counts one instruction between the begin and the end of a loop body with one or two streams. */
static int count_body(const struct carm_walk *w, const struct carm_insn *in)
{
    struct carm_account *out = w->out;
    const bool two = w->form == CARM_WALK_TWO_STREAMS;
    const bool access =
        in->role == CARM_INSN_LOAD || carm_insn_is_store(in) || in->role == CARM_INSN_PREFETCH;
    if (access && in->base != CARM_BASE_FIRST && !(two && in->base == CARM_BASE_SECOND)) {
        return carm_walk_refuse(w, in,
                                two ? "in the loop only [rax + offset] and [r8 + offset] are "
                                      "accessed"
                                    : "in the loop only [rax + offset] is accessed");
    }
    if (in->role == CARM_INSN_LOAD) {
        out->loads++;
        out->load_bytes += in->bytes;
    } else if (carm_insn_is_store(in)) {
        out->stores++;
        out->store_bytes += in->bytes;
        out->nt_stores += in->role == CARM_INSN_NT_STORE;
    } else if (is_fp(in)) {
        out->fp_instructions++;
        out->flops += (uint64_t)(in->bytes / in->element_bytes) *
                      (in->role == CARM_INSN_FMA || in->role == CARM_INSN_FNMA ? 2 : 1);
    } else if (in->role == CARM_INSN_PREFETCH) {
        out->prefetches++;
    } else if (in->role == CARM_INSN_INT && !two) { /* r8 and r9 hold the second stream's place */
        out->int_instructions++;
    } else if (in->role != CARM_INSN_FLIP || two) {
        return carm_walk_refuse(w, in, "it has no place in a loop body");
    }
    return 0;
}

/* The additions that advance one stream or two, by the same stride. *i: the first; then behind them */
static int walk_steps(const struct carm_walk *w, size_t *i)
{
    const bool two = w->form == CARM_WALK_TWO_STREAMS;
    const struct carm_insn *first = &w->insns[*i];
    if (*i >= w->n) {
        return 0; /* the loop is not closed */
    }
    if (first->value < 0) {
        return carm_walk_refuse(w, first, "the stream goes backwards");
    }
    w->out->stride_bytes = (uint64_t)first->value;
    ++*i;
    if (!two) {
        return 0;
    }
    if (*i >= w->n || w->insns[*i].role != CARM_INSN_STEP_2) {
        return carm_walk_refuse_at(w, *i,
                                   "the second stream does not advance: `add r8, stride` is "
                                   "due here");
    }
    if (w->insns[*i].value != first->value) {
        return carm_walk_refuse(w, &w->insns[*i], "the two streams advance by different strides");
    }
    ++*i;
    return 0;
}

/* Counts the loop body, closed by `add rax, stride; dec rcx; jnz`, with two streams by `add r8,
 * stride` before the counter's, in kind R by `dec rax; jnz`. */
static int walk_body(struct carm_walk *w)
{
    const bool random = w->form == CARM_WALK_RANDOM;
    size_t i = w->loop;
    int rc = 0;
    if (random) {
        rc = carm_walk_random_body(w, &i);
    } else {
        for (; i < w->n && w->insns[i].role != CARM_INSN_STEP && !rc; i++) {
            rc = count_body(w, &w->insns[i]);
        }
        rc = rc ? rc : walk_steps(w, &i);
    }
    if (rc) {
        return rc;
    }
    if (w->n < i + 2 || w->insns[i].role != (random ? CARM_INSN_DEC_RAX : CARM_INSN_DEC_RCX) ||
        w->insns[i + 1].role != CARM_INSN_JNZ ||
        w->insns[i + 1].value != (int64_t)w->layout->loop_begin) {
        return carm_walk_refuse_at(w, i,
                                   random ? "the loop is not closed by `dec rax; jnz` to its begin"
                                          : "the loop is not closed by `add rax, stride; dec rcx; "
                                            "jnz` to its begin");
    }
    w->loop_end = i + 2;
    w->out->instructions = w->loop_end - w->loop;
    const struct carm_insn *last = &w->insns[i + 1];
    if (last->offset + last->length != w->layout->loop_end) {
        return carm_walk_refuse(w, last, "the loop body does not end here");
    }
    return 0;
}

/* `dec rdx; jnz` to the pass, vzeroupper where upper halves were written, `ret`, and no more. */
static int walk_tail(const struct carm_walk *w)
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

static struct uses find_uses(const struct carm_walk *w)
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
static int check_registers(const struct carm_walk *w)
{
    const struct uses u = find_uses(w);
    int64_t from[REGISTERS]; /* where in the stream a register's content was loaded from */
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
                return carm_walk_refuse(w, in, "it overwrites a register that is in use");
            }
            from[in->reg] = in->value;
        } else if (is_fp(in)) {
            if ((reg & ~u.set) || (src & ~u.set) || (src & u.chains)) {
                return carm_walk_refuse(w, in,
                                        "its registers are not a chain and constants set before");
            }
        } else if (in->role == CARM_INSN_FLIP) {
            if (from[in->reg] == NO_LOAD || flipped[in->reg] || (src & ~u.set)) {
                return carm_walk_refuse(w, in,
                                        "it does not change a vector just loaded, by a constant");
            }
            flipped[in->reg] = true;
        } else if (carm_insn_is_store(in) && in->reg >= 0) {
            if (flipped[in->reg] && from[in->reg] == in->value) {
                from[in->reg] = NO_LOAD;
                flipped[in->reg] = false;
            } else if ((reg & ~u.set) || (reg & u.chains)) {
                return carm_walk_refuse(
                    w, in, "it stores neither a constant nor an update of the same place");
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

int carm_recount(const uint8_t *image, size_t size, const struct carm_code_layout *layout,
                 struct carm_account *out, struct carm_err *err)
{
    struct carm_account account = {0};
    struct carm_insn *insns = NULL;
    struct carm_walk w = {
        .image = image, .size = size, .layout = layout, .out = &account, .err = err};
    int rc = carm_decode(image, size, layout->begin, layout->end, &insns, &w.n, err);
    w.insns = insns;
    rc = rc ? rc : walk_setup(&w);
    rc = rc ? rc : walk_body(&w);
    rc = rc ? rc : walk_tail(&w);
    rc = rc ? rc : check_registers(&w);
    rc = rc || w.form == CARM_WALK_RANDOM ? rc : carm_walk_check_slots(&w);
    if (!rc) {
        *out = account;
    }
    free(insns);
    return rc;
}
