/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "asm/chain/image.h"

#include <Zydis/Zydis.h>
#include <string.h>

enum {
    REGISTERS = ZYDIS_REGISTER_MAX_VALUE + 1,
    CELLS_MAX = 80,   /* bytes of memory that a loop stores to at different places */
    STEPS_MAX = 8192, /* instructions of one iteration */
    SAVED = 6,        /* pushes at the start, pops at the end */
    UNREACHED = -1,   /* a value that does not depend on the register that a walk began with */
};

/* A place in memory that was stored to, and the depth of its value in the chain. */
struct cell {
    ZydisRegister base, index;
    int64_t at;
    unsigned bytes;
    int depth;
};

struct walk {
    const uint8_t *image;
    size_t size;
    const struct carm_code_layout *layout;
    struct carm_err *err;
    ZydisDecoder decoder;
    uint64_t at;  /* offset of the instruction */
    uint64_t ret; /* return address of the current call; 0 = not in a call */
    int depth[REGISTERS];
    struct cell cells[CELLS_MAX];
    size_t ncells;
    struct carm_chain_account *out; /* NULL: the instructions are counted already */
    bool wide;                      /* registers wider than 16 bytes were written */
};

struct insn {
    ZydisDecodedInstruction in;
    ZydisDecodedOperand op[ZYDIS_MAX_OPERAND_COUNT];
    uint64_t at;
};

static int refuse(const struct walk *w, const struct insn *i, const char *why)
{
    char text[CARM_CODE_NAME_MAX] = "?";
    ZydisFormatter f;
    ZydisFormatterInit(&f, ZYDIS_FORMATTER_STYLE_INTEL);
    (void)ZydisFormatterFormatInstruction(&f, &i->in, i->op, i->in.operand_count_visible, text,
                                          sizeof text, i->at, NULL);
    return carm_fail(w->err, CARM_EFORMAT, "offset 0x%llx, '%s': %s", (unsigned long long)i->at,
                     text, why);
}

/* w->at lies in the code, or at its end, where there is none. */
static int decode(struct walk *w, struct insn *i)
{
    i->at = w->at;
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&w->decoder, w->image + w->at,
                                             (size_t)(w->layout->end - w->at), &i->in, i->op))) {
        return carm_fail(w->err, CARM_EFORMAT, "offset 0x%llx: no instruction of the code",
                         (unsigned long long)w->at);
    }
    w->at += i->in.length;
    return 0;
}

/* The whole register of a dependence; a write of 32 bits writes all 64. */
static ZydisRegister whole(ZydisRegister r)
{
    const ZydisRegister largest = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, r);
    return largest == ZYDIS_REGISTER_R15 ? ZYDIS_REGISTER_RDI /* the window's second name */
           : largest                     ? largest
                                         : r;
}

static bool is_flags(const ZydisDecodedOperand *o)
{
    return o->type == ZYDIS_OPERAND_TYPE_REGISTER &&
           ZydisRegisterGetClass(o->reg.value) == ZYDIS_REGCLASS_FLAGS;
}

/* Whether a result does not depend on the operands: xor of a register with itself and the like. */
static bool is_idiom(const struct insn *i)
{
    const ZydisMnemonic m = i->in.mnemonic;
    const unsigned n = i->in.operand_count_visible;
    return (m == ZYDIS_MNEMONIC_XOR || m == ZYDIS_MNEMONIC_KXNORW ||
            m == ZYDIS_MNEMONIC_VPCMPEQD) &&
           n >= 2 && i->op[n - 1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           i->op[n - 2].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           i->op[n - 1].reg.value == i->op[n - 2].reg.value;
}

static int most(int a, int b)
{
    return a > b ? a : b;
}

static int check_address(const struct walk *w, const struct insn *i, const ZydisDecodedOperand *o)
{
    const ZydisRegister base = o->mem.base;
    const ZydisRegisterClass index = ZydisRegisterGetClass(o->mem.index);
    const int64_t at = o->mem.disp.value;
    if (o->mem.segment == ZYDIS_REGISTER_FS || o->mem.segment == ZYDIS_REGISTER_GS) {
        return refuse(w, i, "it reaches another segment");
    }
    if (at < 0 || at + o->size / 8 > CARM_CHAIN_WINDOW_BYTES) {
        return refuse(w, i, "it reaches outside the window");
    }
    /* of a gather: the pointers of chains */
    if (base == ZYDIS_REGISTER_NONE &&
        (index == ZYDIS_REGCLASS_YMM || index == ZYDIS_REGCLASS_ZMM)) {
        return at == 0 && o->mem.scale == 1 ? 0 : refuse(w, i, "it does not follow pointers");
    }
    if (ZydisRegisterGetClass(base) != ZYDIS_REGCLASS_GPR64 || base == ZYDIS_REGISTER_RSP ||
        base == ZYDIS_REGISTER_RSI || base == ZYDIS_REGISTER_R11 || base == ZYDIS_REGISTER_RCX) {
        return refuse(w, i, "its address is neither in the window nor a chain's");
    }
    return 0;
}

/* Whether an access overlaps a cell. Addresses with other registers are taken as different places. */
static bool overlaps(const struct cell *c, const ZydisDecodedOperand *o)
{
    return c->base == whole(o->mem.base) && c->index == whole(o->mem.index) &&
           c->at < o->mem.disp.value + (int64_t)(o->size / 8) &&
           o->mem.disp.value < c->at + (int64_t)c->bytes;
}

static int load_depth(const struct walk *w, const ZydisDecodedOperand *o)
{
    int depth = UNREACHED;
    for (size_t i = 0; i < w->ncells; i++) {
        depth = overlaps(&w->cells[i], o) ? most(depth, w->cells[i].depth) : depth;
    }
    return depth;
}

static int store_depth(struct walk *w, const struct insn *i, const ZydisDecodedOperand *o,
                       int depth)
{
    const struct cell cell = {whole(o->mem.base), whole(o->mem.index), o->mem.disp.value,
                              o->size / 8U, depth};
    for (size_t k = 0; k < w->ncells; k++) {
        struct cell *c = &w->cells[k];
        if (c->base == cell.base && c->index == cell.index && c->at == cell.at &&
            c->bytes == cell.bytes) {
            *c = cell;
            return 0;
        }
    }
    if (w->ncells == CELLS_MAX) {
        return refuse(w, i, "the loop stores to too many places");
    }
    w->cells[w->ncells++] = cell;
    return 0;
}

static bool is_allowed(const struct insn *i)
{
    switch (i->in.meta.category) {
    case ZYDIS_CATEGORY_SYSCALL:
    case ZYDIS_CATEGORY_SYSRET:
    case ZYDIS_CATEGORY_SYSTEM:
    case ZYDIS_CATEGORY_INTERRUPT:
    case ZYDIS_CATEGORY_IO:
    case ZYDIS_CATEGORY_IOSTRINGOP:
    case ZYDIS_CATEGORY_STRINGOP:
    case ZYDIS_CATEGORY_PUSH:
    case ZYDIS_CATEGORY_POP:
        return false;
    default:
        return !(i->in.attributes & ZYDIS_ATTRIB_IS_PRIVILEGED);
    }
}

/* The depth of an instruction's deepest operand. */
static int depth_before(const struct walk *w, const struct insn *i)
{
    int depth = UNREACHED;
    for (unsigned k = 0; k < i->in.operand_count; k++) {
        const ZydisDecodedOperand *o = &i->op[k];
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY) {
            depth = most(depth, o->mem.base ? w->depth[whole(o->mem.base)] : UNREACHED);
            depth = most(depth, o->mem.index ? w->depth[whole(o->mem.index)] : UNREACHED);
            depth =
                o->actions & ZYDIS_OPERAND_ACTION_MASK_READ ? most(depth, load_depth(w, o)) : depth;
        } else if (o->type == ZYDIS_OPERAND_TYPE_REGISTER && !is_idiom(i)) {
            /* a register that is written in part or conditionally keeps its other bits */
            const bool keeps = !is_flags(o) && o->actions & ZYDIS_OPERAND_ACTION_CONDWRITE;
            if (o->actions & ZYDIS_OPERAND_ACTION_MASK_READ || keeps) {
                depth = most(depth, w->depth[whole(o->reg.value)]);
            }
        }
    }
    return depth;
}

static int account(struct walk *w, const struct insn *i)
{
    const int before = depth_before(w, i);
    const int depth = before == UNREACHED ? UNREACHED : before + 1;
    int rc = 0;
    for (unsigned k = 0; k < i->in.operand_count && !rc; k++) {
        const ZydisDecodedOperand *o = &i->op[k];
        const bool writes = o->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE;
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.type != ZYDIS_MEMOP_TYPE_AGEN) {
            rc = check_address(w, i, o);
            if (w->out) {
                w->out->loads += o->actions & ZYDIS_OPERAND_ACTION_MASK_READ ? 1 : 0;
                w->out->stores += writes;
            }
            rc = !rc && writes ? store_depth(w, i, o, depth) : rc;
        } else if (o->type == ZYDIS_OPERAND_TYPE_REGISTER && writes) {
            const ZydisRegister r = whole(o->reg.value);
            if (r == ZYDIS_REGISTER_RSP || r == ZYDIS_REGISTER_RDI) {
                return refuse(w, i, "it changes the stack or the window");
            }
            w->depth[r] = depth;
            w->wide |= ZydisRegisterGetClass(o->reg.value) == ZYDIS_REGCLASS_YMM ||
                       ZydisRegisterGetClass(o->reg.value) == ZYDIS_REGCLASS_ZMM;
        }
    }
    return rc;
}

/* The target of a jump or call; 0 = it has no immediate operand. */
static uint64_t target(const struct insn *i)
{
    ZyanU64 to = 0;
    return ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&i->in, &i->op[0], i->at, &to)) ? to : 0;
}

/* Jumps, calls and returns inside the loop. *followed: it was one. */
static int follow(struct walk *w, const struct insn *i, bool *followed)
{
    const uint64_t to = target(i);
    *followed = true;
    switch (i->in.meta.category) {
    case ZYDIS_CATEGORY_UNCOND_BR:
        if (i->op[0].type ==
            ZYDIS_OPERAND_TYPE_REGISTER) { /* leads to the next instruction or a few bytes on */
            return 0;
        }
        if (to < w->at || to >= w->layout->loop_end) {
            return refuse(w, i, "it does not jump forward in the loop");
        }
        w->at = to;
        return 0;
    case ZYDIS_CATEGORY_COND_BR: /* both sides must stay in the loop */
        return to >= w->at && to < w->layout->loop_end
                   ? 0
                   : refuse(w, i, "it does not jump forward in the loop");
    case ZYDIS_CATEGORY_CALL:
        if (w->ret || to < w->layout->begin || to >= w->layout->end) {
            return refuse(w, i, "it does not call a function of the code");
        }
        w->ret = w->at;
        w->at = to;
        return 0;
    case ZYDIS_CATEGORY_RET:
        if (!w->ret) {
            return refuse(w, i, "the loop does not end by it");
        }
        w->at = w->ret;
        w->ret = 0;
        return 0;
    default:
        *followed = false;
        return 0;
    }
}

static bool is_end(const struct walk *w, const struct insn *i)
{
    return i->in.mnemonic == ZYDIS_MNEMONIC_DEC && i->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           i->op[0].reg.value == ZYDIS_REGISTER_RSI && !w->ret;
}

/* One iteration, up to `dec rsi`. */
static int iterate(struct walk *w)
{
    struct insn i;
    w->at = w->layout->loop_begin;
    w->ret = 0;
    for (unsigned steps = 0; steps < STEPS_MAX; steps++) {
        bool followed = false;
        int rc = decode(w, &i);
        if (rc) {
            return rc;
        }
        if (w->out) {
            w->out->instructions++;
        }
        if (is_end(w, &i)) {
            rc = decode(w, &i);
            if (w->out) {
                w->out->instructions++;
            }
            return rc ? rc
                   : i.in.mnemonic == ZYDIS_MNEMONIC_JNZ && target(&i) == w->layout->loop_begin &&
                           w->at == w->layout->loop_end
                       ? 0
                       : refuse(w, &i, "the loop is not closed by `dec rsi; jnz`");
        }
        rc = is_allowed(&i) ? follow(w, &i, &followed)
                            : refuse(w, &i, "no code of latencies may execute it");
        if (followed && w->out && i.in.meta.category == ZYDIS_CATEGORY_RET) {
            w->out->instructions--; /* call and return count as one */
        }
        rc = rc || followed ? rc : account(w, &i);
        if (rc) {
            return rc;
        }
    }
    return carm_fail(w->err, CARM_EFORMAT, "the loop has no end");
}

static void forget(struct walk *w)
{
    for (size_t r = 0; r < REGISTERS; r++) {
        w->depth[r] = UNREACHED;
    }
    w->ncells = 0;
}

/* Finds the longest dependence of a register, or of a place in memory, on its own value in the previous iteration. */
static int find_carried(struct walk *w)
{
    struct cell cells[CELLS_MAX];
    bool written[REGISTERS];
    const size_t ncells = w->ncells; /* cells of the first walk, which began with no dependence */
    int longest = 0;
    memcpy(cells, w->cells, sizeof cells);
    forget(w);
    for (size_t r = 0; r < REGISTERS;
         r++) { /* finds the written registers: all begin with depth 0 */
        w->depth[r] = 0;
    }
    int rc = iterate(w);
    if (rc) {
        return rc;
    }
    for (size_t r = 0; r < REGISTERS; r++) {
        written[r] = w->depth[r] > 0;
    }
    for (size_t r = 0; r < REGISTERS && !rc; r++) {
        if (written[r]) {
            forget(w);
            w->depth[r] = 0;
            rc = iterate(w);
            longest = most(longest, w->depth[r]);
        }
    }
    for (size_t k = 0; k < ncells && !rc; k++) {
        forget(w);
        w->cells[0] = cells[k];
        w->cells[0].depth = 0;
        w->ncells = 1;
        rc = iterate(w);
        longest = most(longest, w->cells[0].depth);
    }
    return rc ? rc : longest;
}

static const ZydisRegister saved[SAVED] = {ZYDIS_REGISTER_RBX, ZYDIS_REGISTER_RBP,
                                           ZYDIS_REGISTER_R12, ZYDIS_REGISTER_R13,
                                           ZYDIS_REGISTER_R14, ZYDIS_REGISTER_R15};

static bool is_on(const struct insn *i, ZydisMnemonic m, ZydisRegister r)
{
    return i->in.mnemonic == m && i->op[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
           i->op[0].reg.value == r;
}

static int check_entry(struct walk *w)
{
    struct insn i;
    w->at = w->layout->begin;
    for (size_t k = 0; k < SAVED; k++) {
        const int rc = decode(w, &i);
        if (rc || !is_on(&i, ZYDIS_MNEMONIC_PUSH, saved[k])) {
            return rc ? rc : refuse(w, &i, "the callee-saved registers are to be saved here");
        }
    }
    while (w->at < w->layout->loop_begin) {
        const int rc = decode(w, &i);
        if (rc || !is_allowed(&i)) {
            return rc ? rc : refuse(w, &i, "no code of latencies may execute it");
        }
    }
    return 0;
}

static int check_exit(struct walk *w)
{
    struct insn i;
    size_t left = SAVED;
    bool cleared = false;
    w->at = w->layout->loop_end;
    while (w->at < w->layout->end) {
        const int rc = decode(w, &i);
        if (rc) {
            return rc;
        }
        cleared |= i.in.mnemonic == ZYDIS_MNEMONIC_VZEROUPPER;
        if (left > 0 && is_on(&i, ZYDIS_MNEMONIC_POP, saved[left - 1])) {
            left--;
        } else if (i.in.mnemonic == ZYDIS_MNEMONIC_RET) {
            return left || w->at != w->layout->end ? refuse(w, &i, "registers are not restored")
                   : w->wide && !cleared           ? refuse(w, &i, "vzeroupper is missing")
                                                   : 0;
        } else if (!is_allowed(&i)) {
            return refuse(w, &i, "no code of latencies may execute it");
        }
    }
    return carm_fail(w->err, CARM_EFORMAT, "the code does not return");
}

/* Follows one iteration of the loop through jumps, calls and returns, and its dependences through registers, mask
 * registers, flags that are read, and memory at one base and displacement.
 * Refuses, naming offset and instruction: undecodable bytes; accesses outside the window's first
 * CARM_CHAIN_WINDOW_BYTES relative to rdi or r15, or relative to other registers than those of chains; privileged
 * instructions and system calls; a loop not closed by `dec rsi; jnz`; branches out of the code; a code that does
 * not save and restore the callee-saved registers; a missing vzeroupper.
 * returns 0 or -CARM_EFORMAT */
static int recount(const uint8_t *image, size_t size, const struct carm_code_layout *layout,
                   struct carm_chain_account *out, struct carm_err *err)
{
    static _Thread_local struct walk w; /* 20 KiB of register depths */
    w = (struct walk){.image = image, .size = size, .layout = layout, .err = err, .out = out};
    *out = (struct carm_chain_account){0};
    if (layout->begin > layout->loop_begin || layout->loop_begin >= layout->loop_end ||
        layout->loop_end > layout->end || layout->end > size) {
        return carm_fail(err, CARM_EFORMAT, "a code lies outside its image");
    }
    ZydisDecoderInit(&w.decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
    forget(&w);
    int rc = check_entry(&w);
    rc = rc ? rc : iterate(&w);
    w.out = NULL;
    rc = rc ? rc : find_carried(&w);
    if (rc < 0) {
        return rc;
    }
    out->carried = (unsigned)rc;
    return check_exit(&w);
}

int carm_chain_recount_check(const struct carm_chain_code *code, const uint8_t *image, size_t size,
                             const struct carm_code_layout *layout, const struct carm_account *a,
                             struct carm_chain_account *out, struct carm_err *err)
{
    struct carm_err why = {""};
    char name[CARM_CODE_NAME_MAX];
    carm_chain_name(code, name);
    const int rc = recount(image, size, layout, out, &why);
    if (rc) {
        return carm_fail(err, (enum carm_error)(-rc), "latency code %s: %s", name, why.text);
    }
    const unsigned units = carm_chain_units(code);
    const unsigned path = carm_chain_path(code);
    const bool many = code->form == CARM_CHAIN_THROUGHPUT;
    const unsigned all = code->form == CARM_CHAIN_CHASE ? units * code->chains
                         : code->form == CARM_CHAIN_GATHER
                             ? units * code->chains * 8 / carm_isas[code->isa].vector_bytes
                             : units * carm_chain_measured(code);
    const struct {
        const char *what;
        uint64_t is, due;
    } figures[] = {
        {"instructions", out->instructions, a->instructions},
        {"loads", out->loads, a->loads},
        {"stores", out->stores, a->stores},
        {"measured instructions", a->fp_instructions, all},
        {"instructions on the chain", many ? 0 : out->carried, many ? 0 : units * path},
    };
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++) {
        if (figures[i].is != figures[i].due) {
            return carm_fail(err, CARM_EFORMAT, "latency code %s: %s: %llu in its bytes, %llu due",
                             name, figures[i].what, (unsigned long long)figures[i].is,
                             (unsigned long long)figures[i].due);
        }
    }
    const unsigned longest = many && code->row->ways > 1 ? units / code->row->ways * path : 0;
    if (many && out->carried > longest) {
        return carm_fail(
            err, CARM_EFORMAT,
            "latency code %s: %u instructions of its loop wait for one another, not %u", name,
            out->carried, longest);
    }
    return 0;
}
