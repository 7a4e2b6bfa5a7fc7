/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "asm/recount.h"

#include <stdlib.h>
#include <string.h>

#include "asm/decode.h"

enum { REGISTERS = 32, NO_LOAD = -1 };

/* ---- one code on its way through the recount ---- */

/* How a code computes its addresses, as found in the setup. */
enum form { FORM_ONE_STREAM, FORM_STREAMS, FORM_RANDOM };

struct walk {
    const uint8_t *image;
    size_t size;
    const struct carm_code_layout *layout;
    unsigned element_bytes;        /* for instructions that do not show an element size */
    const struct carm_insn *insns; /* [n + 1], the last one of role END */
    size_t n;
    enum form form;
    bool tiles;                  /* their shape has been loaded */
    size_t pass, loop, loop_end; /* indices: first of a pass, of the loop body, and after it */
    struct carm_account *out;
    struct carm_err *err;
};

/* Fails with offset and text of the instruction. */
static int refuse(const struct walk *w, const struct carm_insn *in, const char *why)
{
    char text[CARM_INSN_TEXT_MAX];
    carm_insn_text(w->image, w->size, in->offset, text);
    return carm_fail(w->err, CARM_EFORMAT, "offset 0x%llx, '%s': %s",
                     (unsigned long long)in->offset, text, why);
}

/* Fails with the offset of instruction i, which may be END. */
static int refuse_at(const struct walk *w, size_t i, const char *why)
{
    return carm_fail(w->err, CARM_EFORMAT, "offset 0x%llx: %s",
                     (unsigned long long)w->insns[i].offset, why);
}

static bool is_store(const struct carm_insn *in)
{
    return in->role == CARM_INSN_STORE || in->role == CARM_INSN_NT_STORE;
}

/* ---- random lines ---- */

/* Knuth's constants of MMIX: The Art of Computer Programming, volume 2, third edition, 3.3.4, table 1.
 * Repeated here, so that a change of the macros alone is found. */
static const int64_t factor = 6364136223846793005;
static const int64_t summand = 1442695040888963407;
enum { LINE_SHIFT = 6 }; /* a line number to bytes */

/* One instruction of a fixed sequence. */
struct step {
    enum carm_insn_role role;
    int64_t value;
    const char *due; /* the instruction that is expected at this place */
};

/* The steps from instruction i on. */
static int check_steps(const struct walk *w, size_t i, const struct step *steps, size_t n)
{
    for (size_t k = 0; k < n; k++) {
        const struct carm_insn *in = &w->insns[i + k];
        const bool sum = in->role == CARM_INSN_INT;
        if (in->role != steps[k].role) {
            return refuse_at(w, i + k, steps[k].due);
        }
        if (sum && (in->reg != CARM_GENERAL_R8 || in->src[0] != CARM_GENERAL_R10 ||
                    in->bytes != sizeof summand)) {
            return refuse_at(w, i + k, steps[k].due);
        }
        if (!sum && in->value != steps[k].value) {
            return refuse(w, in, "it is not the generator's constant");
        }
    }
    return 0;
}

/* Entry of a code that loads random lines: the generator's constants. */
static int random_entry(const struct walk *w)
{
    static const struct step steps[] = {
        {CARM_INSN_SEED, 0, "kind R begins with `mov r8, rcx`, the first state"},
        {CARM_INSN_FACTOR, factor, "`mov r9, factor` is due here"},
        {CARM_INSN_SUMMAND, summand, "`mov r10, summand` is due here"},
    };
    enum { STEPS = sizeof steps / sizeof *steps };
    size_t first = 0;
    while (w->insns[first].role == CARM_INSN_NOP) {
        first++;
    }
    const int rc = check_steps(w, first, steps, STEPS);
    for (size_t i = first + STEPS; i < w->pass && !rc; i++) {
        if (w->insns[i].role != CARM_INSN_NOP) {
            return refuse(w, &w->insns[i],
                          "before the pass loop of kind R stands only its generator");
        }
    }
    return rc;
}

static int random_body(const struct walk *w, size_t *end)
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
    while (w->insns[i].role != CARM_INSN_DEC_RAX) {
        const int rc = check_steps(w, i, steps, STEPS);
        int64_t at = 0; /* in the line */
        if (rc) {
            return rc;
        }
        for (i += STEPS; at < CARM_LINE_BYTES; i++) {
            const struct carm_insn *in = &w->insns[i];
            if (in->role != CARM_INSN_LOAD || in->base != CARM_BASE_RANDOM) {
                return refuse_at(w, i, "a load from the line drawn is due here");
            }
            if (in->value != at || in->value + in->bytes > CARM_LINE_BYTES) {
                return refuse(w, in, "it is not the next vector of its line");
            }
            at += in->bytes;
            w->out->loads++;
            w->out->load_bytes += in->bytes;
        }
    }
    *end = i;
    return i > w->loop ? 0 : refuse_at(w, i, "the loop of kind R draws no line");
}

/* ---- slots ---- */

/* Whether an instruction accesses a stream. */
static bool accesses(const struct carm_insn *in, enum carm_insn_base base)
{
    return (in->role == CARM_INSN_LOAD || is_store(in)) && in->base == base;
}

/* Checks that addresses of loads, and addresses of stores, increase. */
static int check_order(const struct walk *w, enum carm_insn_base base)
{
    int64_t past_load = 0;
    int64_t past_store = 0;
    for (size_t i = w->loop; i < w->loop_end; i++) {
        const struct carm_insn *in = &w->insns[i];
        if (!accesses(in, base)) {
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
static const struct carm_insn *next_access(const struct walk *w, enum carm_insn_base base, size_t i,
                                           bool store)
{
    while (i < w->loop_end && (!accesses(&w->insns[i], base) || is_store(&w->insns[i]) != store)) {
        i++;
    }
    return i < w->loop_end ? &w->insns[i] : NULL;
}

/* Lines from one loaded line to the next in a loop of loads alone, by the loop's stride; 1 = no line is left
 * out. */
static int64_t find_stride(const struct walk *w)
{
    const uint64_t bytes = w->out->load_bytes;
    const uint64_t stride = w->out->stride_bytes;
    const bool whole = w->form == FORM_ONE_STREAM && !w->out->stores && bytes &&
                       bytes % CARM_LINE_BYTES == 0 && stride % bytes == 0;
    return whole && stride ? (int64_t)(stride / bytes) : 1;
}

/* Checks that loads and stores fill [0, stride) without overlap or gap, except strides; a load and a store share
 * a slot only as an update. */
static int check_tiling(const struct walk *w, enum carm_insn_base base)
{
    const int64_t stride = find_stride(w);
    int64_t at = 0;
    const struct carm_insn *l = next_access(w, base, w->loop, false);
    const struct carm_insn *s = next_access(w, base, w->loop, true);
    while (l || s) {
        const struct carm_insn *first = l && (!s || l->value <= s->value) ? l : s;
        const bool shared = l && s && l->value == s->value;
        if (first->value != at) {
            return refuse(w, first,
                          first->value > at ? "a gap in the stream lies before its slot"
                                            : "its slot overlaps the one before");
        }
        if (shared && (l->reg != s->reg || l->bytes != s->bytes)) {
            return refuse(w, s, "its slot overlaps a load's and is no update of it");
        }
        at += first->bytes;
        if (at % CARM_LINE_BYTES == 0) {
            at += (stride - 1) * CARM_LINE_BYTES;
        }
        if (first == s || shared) {
            s = next_access(w, base, (size_t)(s - w->insns) + 1, true);
        }
        if (first == l) {
            l = next_access(w, base, (size_t)(l - w->insns) + 1, false);
        }
    }
    if (at != (int64_t)w->out->stride_bytes) {
        return carm_fail(w->err, CARM_EFORMAT,
                         "the loop's slots cover %lld bytes, but its stride is %llu", (long long)at,
                         (unsigned long long)w->out->stride_bytes);
    }
    return 0;
}

/* Checks that each stream's accesses in one iteration fill the bytes by which the stream advances: in order,
 * without overlap and without gap. Loads of whole lines may leave equal strides between them. */
static int check_slots(const struct walk *w)
{
    int last = CARM_BASE_FIRST;
    int rc = 0;
    for (size_t i = w->loop; i < w->loop_end && w->form == FORM_STREAMS; i++) {
        const struct carm_insn *in = &w->insns[i];
        const bool access = in->role == CARM_INSN_LOAD || is_store(in);
        last = access && (int)in->base > last ? (int)in->base : last;
    }
    for (int stream = CARM_BASE_FIRST; stream <= last && !rc; stream++) {
        rc = check_order(w, (enum carm_insn_base)stream);
        rc = rc ? rc : check_tiling(w, (enum carm_insn_base)stream);
    }
    return rc;
}

/* ---- the recount of a whole code ---- */

static bool is_fp(const struct carm_insn *in)
{
    return in->role >= CARM_INSN_ADD && in->role < CARM_INSN_FLIP;
}

/* Operations on each element of the operands. */
static unsigned per_element(const struct carm_insn *in)
{
    const bool two = in->role == CARM_INSN_FMA || in->role == CARM_INSN_FNMA ||
                     in->role == CARM_INSN_DOT || in->role == CARM_INSN_MADD52;
    return two ? 2 : 1;
}

/* Constants of the setup are normal or zero: with other values an operation does not run at full
 * speed. A constant that is loaded as a whole vector may hold integers; carm_recount_check
 * decides that. */
static bool constants_normal(const struct walk *w, const struct carm_insn *in)
{
    if (in->element_bytes == 0) {
        return true;
    }
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
static int count_constant(const struct walk *w, const struct carm_insn *in)
{
    const uint64_t at = (uint64_t)in->value; /* before the image: larger than any size */
    if (at > w->size || w->size - at < in->bytes ||
        (at < w->layout->end && at + in->bytes > w->layout->begin)) {
        return refuse(w, in, "its constant lies outside the image or inside the code");
    }
    if (at % (in->bytes < CARM_LINE_BYTES ? in->bytes : CARM_LINE_BYTES) != 0) {
        return refuse(w, in, "its constant is not aligned to the vector");
    }
    if (!constants_normal(w, in)) {
        return refuse(w, in, "its constant is not a normal number");
    }
    w->out->setup_loads++;
    w->out->setup_load_bytes += in->bytes;
    return 0;
}

static bool ends_entry(const struct carm_insn *in)
{
    return in->role == CARM_INSN_REWIND || in->role == CARM_INSN_RECHARGE_R ||
           in->role == CARM_INSN_END;
}

/* The setup after ldtilecfg; carm_decode has checked its values. */
static int check_tile_entry(const struct walk *w, size_t i)
{
    const bool good = w->insns[i].role == CARM_INSN_TABLE && w->insns[i + 1].role == CARM_INSN_ROW;
    return good ? 0 : refuse_at(w, i, "`lea r9, constants; mov r8d, 64` is due here");
}

/* Walks the loads of constants, and the instructions that decide a code's form: the distance between its
 * streams, or its generator of random lines. */
static int walk_entry(struct walk *w)
{
    static const struct step apart[] = {
        {CARM_INSN_APART, 0, ""},
        {CARM_INSN_APART_3, 0, "`lea r10, [r9 + 2*r9]` is due here"},
        {CARM_INSN_APART_5, 0, "`lea r11, [r9 + 4*r9]` is due here"},
    };
    enum { APART = sizeof apart / sizeof *apart };
    int rc = 0;
    size_t i = 0;
    for (; !ends_entry(&w->insns[i]) && !rc; i++) {
        const struct carm_insn *in = &w->insns[i];
        if (in->role == CARM_INSN_SEED) {
            w->form = FORM_RANDOM;
        }
        if (in->role == CARM_INSN_NOP || w->form == FORM_RANDOM) {
            continue;
        }
        if (in->role == CARM_INSN_APART && w->form == FORM_ONE_STREAM) {
            w->form = FORM_STREAMS;
            rc = check_steps(w, i, apart, APART);
            i += rc ? 0 : APART - 1;
        } else if (in->role == CARM_INSN_SHAPE && !w->tiles) {
            w->tiles = true;
            rc = count_constant(w, in);
            rc = rc ? rc : check_tile_entry(w, i + 1);
            i += 2;
        } else if (in->role == CARM_INSN_LOAD && in->base == CARM_BASE_IMAGE) {
            rc = count_constant(w, in);
        } else {
            rc = refuse(w, in, "before the pass loop stand only loads of constants");
        }
    }
    w->pass = i;
    return rc || w->form != FORM_RANDOM ? rc : random_entry(w);
}

/* The entry, the beginning of a pass, and the beginning of its loop. */
static int walk_setup(struct walk *w)
{
    static const enum carm_insn_role streams[] = {CARM_INSN_REWIND, CARM_INSN_RECHARGE};
    static const enum carm_insn_role random[] = {CARM_INSN_RECHARGE_R};
    const int rc = walk_entry(w);
    if (rc) {
        return rc;
    }
    const bool is_random = w->form == FORM_RANDOM;
    const size_t begins = is_random ? 1 : 2;
    size_t i = w->pass;
    for (size_t k = 0; k < begins; k++, i++) {
        if (w->insns[i].role != (is_random ? random : streams)[k]) {
            return refuse_at(w, w->pass,
                             is_random ? "a pass of kind R must begin with `mov rax, rsi`"
                                       : "a pass must begin with `mov rax, rdi; mov rcx, rsi`");
        }
    }
    while (w->insns[i].role == CARM_INSN_NOP) {
        i++;
    }
    w->loop = i;
    if (w->insns[i].offset != w->layout->loop_begin || w->layout->loop_begin % 64 != 0) {
        return carm_fail(w->err, CARM_EFORMAT,
                         "offset 0x%llx: the loop body does not begin here, on a 64-byte line",
                         (unsigned long long)w->layout->loop_begin);
    }
    return 0;
}

/* Counts one instruction between the begin and the end of a loop body with one stream or several. */
static int count_body(const struct walk *w, const struct carm_insn *in)
{
    struct carm_account *out = w->out;
    const bool streams = w->form == FORM_STREAMS;
    const bool access =
        in->role == CARM_INSN_LOAD || is_store(in) || in->role == CARM_INSN_PREFETCH;
    if (access && in->base != CARM_BASE_FIRST && !(streams && in->base < CARM_BASE_RANDOM)) {
        return refuse(w, in,
                      streams ? "in the loop only the streams are accessed"
                              : "in the loop only [rax + offset] is accessed");
    }
    if (in->role == CARM_INSN_LOAD) {
        out->loads++;
        out->load_bytes += in->bytes;
    } else if (is_store(in)) {
        out->stores++;
        out->store_bytes += in->bytes;
        out->nt_stores += in->role == CARM_INSN_NT_STORE;
    } else if (is_fp(in)) {
        const unsigned element = in->element_bytes ? in->element_bytes : w->element_bytes;
        if (element == 0) {
            return refuse(w, in, "it has no elements whose operations could be counted");
        }
        out->fp_instructions++;
        out->flops += (uint64_t)(in->bytes / element) * per_element(in) * in->columns;
    } else if (in->role == CARM_INSN_PREFETCH) {
        out->prefetches++;
    } else if (in->role == CARM_INSN_INT && !streams) { /* r9 to r11 hold the streams' distances */
        out->int_instructions++;
    } else if (in->role != CARM_INSN_FLIP) {
        return refuse(w, in, "it has no place in a loop body");
    }
    return 0;
}

/* Counts the loop body, closed by `add rax, stride; dec rcx; jnz`, in kind R by `dec rax; jnz`. */
static int walk_body(struct walk *w)
{
    const bool random = w->form == FORM_RANDOM;
    size_t i = w->loop;
    int rc = 0;
    if (random) {
        rc = random_body(w, &i);
    } else {
        for (; w->insns[i].role != CARM_INSN_STEP && w->insns[i].role != CARM_INSN_END && !rc;
             i++) {
            rc = count_body(w, &w->insns[i]);
        }
    }
    if (rc) {
        return rc;
    }
    if (w->insns[i].role == CARM_INSN_STEP) {
        if (w->insns[i].value < 0) {
            return refuse(w, &w->insns[i], "the stream goes backwards");
        }
        w->out->stride_bytes = (uint64_t)w->insns[i++].value;
    }
    if (w->insns[i].role != (random ? CARM_INSN_DEC_RAX : CARM_INSN_DEC_RCX) ||
        w->insns[i + 1].role != CARM_INSN_JNZ ||
        w->insns[i + 1].value != (int64_t)w->layout->loop_begin) {
        return refuse_at(w, i,
                         random ? "the loop is not closed by `dec rax; jnz` to its begin"
                                : "the loop is not closed by `add rax, stride; dec rcx; "
                                  "jnz` to its begin");
    }
    w->loop_end = i + 2;
    w->out->instructions = w->loop_end - w->loop;
    const struct carm_insn *last = &w->insns[i + 1];
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
    if (w->insns[i].role != CARM_INSN_DEC_RDX || w->insns[i + 1].role != CARM_INSN_JNZ ||
        w->insns[i + 1].value != (int64_t)w->insns[w->pass].offset) {
        return carm_fail(w->err, CARM_EFORMAT,
                         "offset 0x%llx: no pass loop, `dec rdx; jnz` to its begin, follows the "
                         "loop body",
                         (unsigned long long)w->layout->loop_end);
    }
    i += 2;
    if (w->insns[i].role == CARM_INSN_VZEROUPPER) {
        i++;
    } else if (wide) {
        return refuse_at(w, i, "vzeroupper is missing after vectors wider than 16 bytes");
    }
    if (w->tiles) {
        if (w->insns[i].role != CARM_INSN_TILERELEASE) {
            return refuse_at(w, i, "tilerelease is missing after the use of tiles");
        }
        i++;
    }
    return w->insns[i].role == CARM_INSN_RET && w->insns[i + 1].role == CARM_INSN_END
               ? 0
               : refuse_at(w, i, "the code does not end with `ret`");
}

/* The uses of each vector register in the loop, one bit for each use. */
struct uses {
    uint32_t set;    /* by setup */
    uint32_t loaded; /* by the loop */
    uint32_t chains; /* changed by FP */
    uint32_t read;   /* registers that FP operations and exclusive or read, beside the one that
                      * they change */
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

/* The data flow. Chains and constants are set before the loop and use no register that the loop
 * loads, so arithmetic never waits for memory. A stored register holds a constant, or the vector
 * that was loaded from the same place and flipped (an update). */
static int check_registers(const struct walk *w)
{
    const struct uses u = find_uses(w);
    int64_t from[REGISTERS];               /* place in a stream from which a register was loaded */
    enum carm_insn_base stream[REGISTERS]; /* the stream */
    bool flipped[REGISTERS]; /* whether its sign is flipped, so that it must be stored */
    for (int r = 0; r < REGISTERS; r++) {
        from[r] = NO_LOAD;
        stream[r] = CARM_BASE_FIRST;
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
            stream[in->reg] = in->base;
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
            if (flipped[in->reg] && from[in->reg] == in->value && stream[in->reg] == in->base) {
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

int carm_recount(const uint8_t *image, size_t size, const struct carm_code_layout *layout,
                 unsigned element_bytes, struct carm_account *out, struct carm_err *err)
{
    struct carm_account account = {0};
    struct carm_insn *insns = NULL;
    struct walk w = {.image = image,
                     .size = size,
                     .layout = layout,
                     .element_bytes = element_bytes,
                     .out = &account,
                     .err = err};
    int rc = carm_decode(image, size, layout->begin, layout->end, &insns, &w.n, err);
    w.insns = insns;
    rc = rc ? rc : walk_setup(&w);
    rc = rc ? rc : walk_body(&w);
    rc = rc ? rc : walk_tail(&w);
    rc = rc ? rc : check_registers(&w);
    rc = rc || w.form == FORM_RANDOM ? rc : check_slots(&w);
    if (!rc) {
        *out = account;
    }
    free(insns);
    return rc;
}
