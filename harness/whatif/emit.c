/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/whatif/emit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINE = CARM_REGION_LINE,
    SAVED_RAX = 0, /* offsets in the data */
    SAVED_RCX = 8,
    SAVED_RDX = 16,
    RAX = 0,
    RCX = 1,
    RDX = 2,
    FORKING_MAX = 100,
    COPIES_MAX = 16, /* counting a unit takes some 6 cycles: less than 0.4 for each iteration */
    /* one page: in more, loads would wait for stores at the same offset of another page. With 6 KiB, data in L1 gained
     * 0.79 instead of 1.46 (with 4 KiB 1.43). */
    SCRATCH_L1 = 4096,
    MARGIN = 4096, /* bytes, more than an instruction's copy with all stubs takes */
    FIXES_MAX = 4 * CARM_BODY_OPS_MAX * COPIES_MAX,
    CARRIED_AT = CARM_REGION_DATA_BYTES - 64 * LINE,
    ACCUMULATORS = 4, /* latency of a floating-point addition in cycles, on most cores */
};

/* Lines between a load and its prefetch. Chosen by hand. */
static const int64_t distances[] = {
    [CARM_VARIANT_NEAR] = 4, [CARM_VARIANT_PREFETCHED] = 16, [CARM_VARIANT_FAR] = 64};
/* Iterations between an index and the prefetch of the element at that index */
enum { INDIRECT_DISTANCE = 32 };

#define VALUES(id, values) values,
static const bool changes_values[] = {CARM_VARIANT_TABLE(VALUES)};
#undef VALUES

bool carm_variant_changes_values(enum carm_variant variant)
{
    return changes_values[variant];
}

/* ---- bytes ---- */

static uint64_t here(const struct carm_region *region)
{
    return region->code_at + region->used;
}

static void put(struct carm_region *region, const void *bytes, size_t n)
{
    memcpy(region->code + region->used, bytes, n);
    region->used += n;
}

static void put_byte(struct carm_region *region, int byte)
{
    region->code[region->used++] = (uint8_t)byte;
}

/* Writes 4 bytes: the distance from their end to an address */
static void put_distance(struct carm_region *region, uint64_t to)
{
    const uint32_t distance = (uint32_t)(to - (here(region) + 4));
    put(region, &distance, sizeof distance);
}

/* mov [to], register */
static void store(struct carm_region *region, int reg, uint64_t to)
{
    put_byte(region, 0x48);
    put_byte(region, 0x89);
    put_byte(region, 0x05 | reg << 3);
    put_distance(region, to);
}

/* mov register, [from] */
static void load(struct carm_region *region, int reg, uint64_t from)
{
    put_byte(region, 0x48);
    put_byte(region, 0x8b);
    put_byte(region, 0x05 | reg << 3);
    put_distance(region, from);
}

static void jump(struct carm_region *region, uint64_t to)
{
    put_byte(region, 0xe9);
    put_distance(region, to);
}

static void jump_by(struct carm_region *region, uint64_t word_at)
{
    put(region, "\xff\x25", 2);
    put_distance(region, word_at);
}

/* lea rcx, [rcx + by], which keeps the flags */
static void add_to_rcx(struct carm_region *region, int by)
{
    put(region, "\x48\x8d\x49", 3);
    put_byte(region, by & 0xff);
}

static bool encode(struct carm_region *region, ZydisEncoderRequest *request)
{
    uint8_t bytes[CARM_BODY_BYTES_MAX + 1];
    ZyanUSize n = CARM_BODY_BYTES_MAX;
    if (!ZYAN_SUCCESS(ZydisEncoderEncodeInstructionAbsolute(request, bytes, &n, here(region)))) {
        return false;
    }
    put(region, bytes, n);
    return true;
}

/* ---- stubs ---- */

/* rsi: list of addresses, rcx: their number. Reads a byte at each address; if bit 0 is set, also writes it.
 *   next: mov rax,[rsi]; add rsi,8; test al,1; jz read; and rax,-2; mov dl,[rax]; mov [rax],dl; jmp done
 *   read: mov dl,[rax]
 *   done: dec rcx; jnz next; int3 */
static const uint8_t touch[] = {0x48, 0x8b, 0x06, 0x48, 0x83, 0xc6, 0x08, 0xa8, 0x01, 0x74,
                                0x0a, 0x48, 0x83, 0xe0, 0xfe, 0x8a, 0x10, 0x88, 0x10, 0xeb,
                                0x02, 0x8a, 0x10, 0x48, 0xff, 0xc9, 0x75, 0xe4, 0xcc};

int carm_region_open(struct carm_region *region, uint64_t code_at, uint64_t data_at,
                     struct carm_err *err)
{
    *region = (struct carm_region){
        .code_at = code_at, .data_at = data_at, .code = malloc(CARM_REGION_CODE_BYTES)};
    if (!region->code) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory");
    }
    region->touch_at = here(region);
    put(region, touch, sizeof touch);
    region->end_at = here(region);
    put_byte(region, 0xcc);
    region->entry_at = here(region);
    jump_by(region, data_at + CARM_REGION_ENTRY);
    /* the stub that takes the time and begins the next phase; rcx is saved already */
    region->switch_at = here(region);
    store(region, RAX, data_at + SAVED_RAX);
    store(region, RDX, data_at + SAVED_RDX);
    put(region, "\x0f\x01\xf9", 3); /* rdtscp: changes rcx, too */
    load(region, RCX, data_at + CARM_REGION_PHASE);
    put(region, "\x89\x01\x89\x51\x04", 5); /* mov [rcx],eax; mov [rcx+4],edx */
    put(region, "\x48\x8b\x41\x08", 4);     /* mov rax,[rcx+8] */
    store(region, RAX, data_at + CARM_REGION_UNITS);
    put(region, "\x48\x8b\x41\x10", 4);
    store(region, RAX, data_at + CARM_REGION_TARGET);
    put(region, "\x48\x8b\x41\x18", 4);
    store(region, RAX, data_at + CARM_REGION_ENTRY);
    add_to_rcx(region, sizeof(struct carm_phase));
    store(region, RCX, data_at + CARM_REGION_PHASE);
    load(region, RAX, data_at + SAVED_RAX);
    load(region, RCX, data_at + SAVED_RCX);
    load(region, RDX, data_at + SAVED_RDX);
    jump_by(region, data_at + CARM_REGION_TARGET);
    return 0;
}

void carm_region_close(struct carm_region *region)
{
    free(region->code);
    *region = (struct carm_region){.used = 0};
}

/* ---- instructions ---- */

unsigned carm_region_copies(const struct carm_body *body)
{
    if (body->takes_long) {
        return 1;
    }
    if (body->forks) { /* each copy takes one side of a fork, so shares are multiples of 1/16 */
        return body->n > FORKING_MAX ? 1 : COPIES_MAX;
    }
    return body->n > 48 || body->blocks > 8 ? 1 : body->n > 24 ? 4 : COPIES_MAX;
}

/* Lines for an access in the region: two for an access that may cross a line, so that it crosses as often as in the
 * program. */
static unsigned lines_of(const struct carm_body_op *op)
{
    return !op->varies ? 0 : op->unaligned ? 2 : 1;
}

/* Accesses get consecutive lines: at distances of a power of two they would share few sets of L1. Within its line, an
 * access has the program's offset: at offset 0, all accesses would share a bank of L1 (6% slower with five loads). */
size_t carm_region_scratch(const struct carm_body *body, size_t op, unsigned copy)
{
    const struct carm_body_op *o = &body->ops[op];
    const bool all_places = carm_region_copies(body) * o->stride % LINE == 0;
    const uint64_t place = o->first + (uint64_t)(copy * o->stride);
    size_t lines = 0, line = 0;
    for (size_t i = 0; i < body->n; i++) {
        line += i < op ? lines_of(&body->ops[i]) : 0;
        lines += lines_of(&body->ops[i]);
    }
    const size_t most = lines ? SCRATCH_L1 / (LINE * lines) : 1;
    const size_t turn = copy % (most ? most : 1);
    return CARM_REGION_SCRATCH + (turn * lines + line) * LINE +
           (o->stride && (all_places || !o->unaligned) ? place % LINE : 0);
}

size_t carm_region_carried(size_t number)
{
    return CARRIED_AT + number * LINE;
}

static bool request_of(const struct carm_body_op *op, ZydisEncoderRequest *request)
{
    memset(request, 0, sizeof *request);
    if (!ZYAN_SUCCESS(ZydisEncoderDecodedInstructionToEncoderRequest(
            &op->in, op->operands, op->in.operand_count_visible, request))) {
        return false;
    }
    for (int i = 0; i < request->operand_count; i++) {
        ZydisEncoderOperand *o = &request->operands[i];
        if (o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.base == ZYDIS_REGISTER_RIP) {
            o->mem.displacement = op->op.displacement; /* encode() takes an address */
        }
    }
    return true;
}

/* Copies an instruction; distances relative to rip are adjusted. */
static void put_unchanged(struct carm_region *region, const struct carm_body_op *op)
{
    const uint64_t at = here(region);
    put(region, op->bytes, op->in.length);
    if ((op->in.attributes & ZYDIS_ATTRIB_IS_RELATIVE) && op->in.raw.disp.size == 32) {
        const uint64_t to = op->at + op->in.length + (uint64_t)op->in.raw.disp.value;
        const uint32_t distance = (uint32_t)(to - (at + op->in.length));
        memcpy(region->code + region->used - op->in.length + op->in.raw.disp.offset, &distance,
               sizeof distance);
    }
}

static void put_prefetch(struct carm_region *region, const ZydisEncoderOperand *memory, int64_t add)
{
    ZydisEncoderRequest r = {.machine_mode = ZYDIS_MACHINE_MODE_LONG_64,
                             .mnemonic = ZYDIS_MNEMONIC_PREFETCHT0,
                             .operand_count = 1};
    r.operands[0] = *memory;
    r.operands[0].mem.size = 1;
    r.operands[0].mem.displacement += add;
    (void)encode(region, &r);
}

/* Removes the mask operand, the second operand of an AVX-512 instruction, so that the operands are in AVX's order. k0
 * masks nothing.
 * returns false: another mask */
static bool drop_mask(ZydisEncoderRequest *r)
{
    if (r->operand_count > 1 && r->operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
        ZydisRegisterGetClass(r->operands[1].reg.value) == ZYDIS_REGCLASS_MASK) {
        if (r->operands[1].reg.value != ZYDIS_REGISTER_K0) {
            return false;
        }
        r->operand_count--;
        memmove(&r->operands[1], &r->operands[2], (r->operand_count - 1U) * sizeof *r->operands);
    }
    return true;
}

/* Puts k0 as mask into an AVX-512 instruction; other instructions have no mask. */
static void put_mask(ZydisEncoderRequest *r, ZydisInstructionEncoding encoding)
{
    if (encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX) {
        memmove(&r->operands[2], &r->operands[1], (r->operand_count - 1U) * sizeof *r->operands);
        r->operands[1] = (ZydisEncoderOperand){.type = ZYDIS_OPERAND_TYPE_REGISTER,
                                               .reg.value = ZYDIS_REGISTER_K0};
        r->operand_count++;
    }
}

static bool pure_store(const struct carm_body_op *op)
{
    return op->memory == 0 && op->varies && op->op.stores && !op->op.loads;
}

/* Whether an earlier instruction of the iteration loads the same line. */
static bool same_line(const struct carm_body *body, size_t i)
{
    const struct carm_body_op *op = &body->ops[i];
    for (size_t k = 0; k < i; k++) {
        const struct carm_body_op *o = &body->ops[k];
        if (o->memory >= 0 && o->varies && o->op.loads && o->stride == op->stride &&
            o->op.base == op->op.base && o->op.index == op->op.index &&
            o->op.scale == op->op.scale && llabs(o->op.displacement - op->op.displacement) < LINE) {
            return true;
        }
    }
    return false;
}

static bool prefetch_stride(struct carm_region *region, const struct carm_body *body, size_t i,
                            unsigned copy, int64_t lines)
{
    const struct carm_body_op *op = &body->ops[i];
    ZydisEncoderRequest r;
    if (!op->varies || !op->op.loads || !op->stride || same_line(body, i) || !request_of(op, &r)) {
        return false;
    }
    const int64_t step = llabs(op->stride);
    const int64_t iterations = (step >= LINE ? 1 : LINE / step) * lines;
    /* once for each line */
    if (copy == 0 || (int64_t)copy * step / LINE != ((int64_t)copy - 1) * step / LINE) {
        put_prefetch(region, &r.operands[op->memory], op->stride * iterations);
    }
    return true;
}

static bool writes_register(const struct carm_body_op *op, uint8_t reg)
{
    for (uint8_t i = 0; i < op->op.nwrites; i++) {
        if (op->op.writes[i] == reg) {
            return true;
        }
    }
    return false;
}

/* Whether the address of load i is computed from the number that load `index` brought, in the same block, by
 * instructions that can be copied: they change only this number, and no flag. */
static bool made_of(const struct carm_body *body, size_t index, size_t i)
{
    const struct carm_body_op *from = &body->ops[index];
    const struct carm_body_op *op = &body->ops[i];
    const uint8_t reg = from->op.nwrites == 1 ? from->op.writes[0] : CARM_REG_NONE;
    if (reg > 15 || !from->op.loads || from->op.stores || from->vector || !from->stride ||
        from->op.base == reg || from->op.index == reg || from->op.nreads || op->memory < 0 ||
        !op->varies || !op->op.loads || op->stride || (op->op.base != reg && op->op.index != reg)) {
        return false;
    }
    for (size_t k = index + 1; k <= i; k++) {
        const struct carm_body_op *o = &body->ops[k];
        const bool more = k < i && writes_register(o, reg);
        if (o->leader || (more && (o->op.nwrites != 1 || o->memory >= 0 || o->vector))) {
            return false;
        }
    }
    return true;
}

static bool prefetch_indirect(struct carm_region *region, const struct carm_body *body, size_t i)
{
    const struct carm_body_op *from = &body->ops[i];
    bool loaded = false;
    for (size_t k = i + 1; k < body->n && !body->ops[k].leader; k++) {
        ZydisEncoderRequest index;
        ZydisEncoderRequest used;
        if (!made_of(body, i, k) || !request_of(from, &index) ||
            !request_of(&body->ops[k], &used)) {
            continue;
        }
        if (!loaded) {
            index.operands[from->memory].mem.displacement += from->stride * INDIRECT_DISTANCE;
            if (!encode(region, &index)) {
                return false;
            }
            for (size_t m = i + 1; m < k; m++) {
                if (writes_register(&body->ops[m], from->op.writes[0])) {
                    put_unchanged(region, &body->ops[m]);
                }
            }
            loaded = true;
        }
        put_prefetch(region, &used.operands[body->ops[k].memory], 0);
    }
    return loaded;
}

/* Stores past the caches, and the same stores through the caches */
static const ZydisMnemonic cached[][2] = {
    {ZYDIS_MNEMONIC_MOVNTI, ZYDIS_MNEMONIC_MOV},
    {ZYDIS_MNEMONIC_MOVNTPS, ZYDIS_MNEMONIC_MOVAPS},
    {ZYDIS_MNEMONIC_MOVNTPD, ZYDIS_MNEMONIC_MOVAPD},
    {ZYDIS_MNEMONIC_MOVNTDQ, ZYDIS_MNEMONIC_MOVDQA},
    {ZYDIS_MNEMONIC_VMOVNTPS, ZYDIS_MNEMONIC_VMOVAPS},
    {ZYDIS_MNEMONIC_VMOVNTPD, ZYDIS_MNEMONIC_VMOVAPS},
    {ZYDIS_MNEMONIC_VMOVNTDQ, ZYDIS_MNEMONIC_VMOVAPS},
};

/* The store through the caches for a store past the caches; ZYDIS_MNEMONIC_INVALID = op is not such a store */
static ZydisMnemonic through_caches(const struct carm_body_op *op)
{
    for (size_t k = 0; k < sizeof cached / sizeof *cached; k++) {
        if (op->in.mnemonic == cached[k][0]) {
            return cached[k][1];
        }
    }
    return ZYDIS_MNEMONIC_INVALID;
}

static bool put_streaming(struct carm_region *region, const struct carm_body_op *op)
{
    ZydisEncoderRequest r;
    if (!pure_store(op) || op->unaligned || !request_of(op, &r) || !drop_mask(&r) ||
        through_caches(op) != ZYDIS_MNEMONIC_INVALID ||
        r.operands[1].type != ZYDIS_OPERAND_TYPE_REGISTER ||
        (op->in.attributes & ZYDIS_ATTRIB_HAS_LOCK)) {
        return false;
    }
    const unsigned bytes = op->operands[0].size / 8;
    const ZydisRegisterClass c = ZydisRegisterGetClass(r.operands[1].reg.value);
    if (op->vector && bytes >= 16 && r.operand_count == 2) {
        r.mnemonic = op->in.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY ? ZYDIS_MNEMONIC_MOVNTPS
                                                                          : ZYDIS_MNEMONIC_VMOVNTPS;
        return encode(region, &r);
    }
    if (op->in.mnemonic == ZYDIS_MNEMONIC_MOV &&
        (c == ZYDIS_REGCLASS_GPR32 || c == ZYDIS_REGCLASS_GPR64)) {
        r.mnemonic = ZYDIS_MNEMONIC_MOVNTI;
        return encode(region, &r);
    }
    return false;
}

/* Replaces the memory operand by a line of the region. A prefetch is left out, as its line is not needed. */
static bool put_in_l1(struct carm_region *region, const struct carm_body *body, size_t i,
                      unsigned copy)
{
    const struct carm_body_op *op = &body->ops[i];
    ZydisEncoderRequest r;
    if (op->in.meta.category == ZYDIS_CATEGORY_PREFETCH) {
        return true;
    }
    if (!op->varies || (op->op.loads && op->decides) || !request_of(op, &r)) {
        return false;
    }
    const ZydisMnemonic through = through_caches(op);
    if (through != ZYDIS_MNEMONIC_INVALID) {
        r.mnemonic = through;
        put_mask(&r, op->in.encoding);
    }
    ZydisEncoderOperand *m = &r.operands[op->memory];
    m->mem.base = ZYDIS_REGISTER_RIP;
    m->mem.index = ZYDIS_REGISTER_NONE;
    m->mem.scale = 0;
    m->mem.displacement = (ZyanI64)(region->data_at + carm_region_scratch(body, i, copy));
    return encode(region, &r);
}

/* The product in place of a quotient or a root */
static const struct {
    ZydisMnemonic from, to;
    ZydisMnemonic
        move; /* for two operands: copies the second to the first, which is then squared. A product of both
                         * would wait for the first operand, which a root does not read */
} cheaper[] = {
    {ZYDIS_MNEMONIC_DIVPD, ZYDIS_MNEMONIC_MULPD, ZYDIS_MNEMONIC_INVALID},
    {ZYDIS_MNEMONIC_DIVPS, ZYDIS_MNEMONIC_MULPS, ZYDIS_MNEMONIC_INVALID},
    {ZYDIS_MNEMONIC_DIVSD, ZYDIS_MNEMONIC_MULSD, ZYDIS_MNEMONIC_INVALID},
    {ZYDIS_MNEMONIC_DIVSS, ZYDIS_MNEMONIC_MULSS, ZYDIS_MNEMONIC_INVALID},
    {ZYDIS_MNEMONIC_SQRTPD, ZYDIS_MNEMONIC_MULPD, ZYDIS_MNEMONIC_MOVUPS},
    {ZYDIS_MNEMONIC_SQRTPS, ZYDIS_MNEMONIC_MULPS, ZYDIS_MNEMONIC_MOVUPS},
    {ZYDIS_MNEMONIC_SQRTSD, ZYDIS_MNEMONIC_MULSD, ZYDIS_MNEMONIC_MOVSD},
    {ZYDIS_MNEMONIC_SQRTSS, ZYDIS_MNEMONIC_MULSS, ZYDIS_MNEMONIC_MOVSS},
    {ZYDIS_MNEMONIC_VDIVPD, ZYDIS_MNEMONIC_VMULPD, ZYDIS_MNEMONIC_INVALID},
    {ZYDIS_MNEMONIC_VDIVPS, ZYDIS_MNEMONIC_VMULPS, ZYDIS_MNEMONIC_INVALID},
    {ZYDIS_MNEMONIC_VDIVSD, ZYDIS_MNEMONIC_VMULSD, ZYDIS_MNEMONIC_INVALID},
    {ZYDIS_MNEMONIC_VDIVSS, ZYDIS_MNEMONIC_VMULSS, ZYDIS_MNEMONIC_INVALID},
    {ZYDIS_MNEMONIC_VSQRTSD, ZYDIS_MNEMONIC_VMULSD, ZYDIS_MNEMONIC_INVALID},
    {ZYDIS_MNEMONIC_VSQRTSS, ZYDIS_MNEMONIC_VMULSS, ZYDIS_MNEMONIC_INVALID},
    {ZYDIS_MNEMONIC_VSQRTPD, ZYDIS_MNEMONIC_VMULPD, ZYDIS_MNEMONIC_VMOVUPS},
    {ZYDIS_MNEMONIC_VSQRTPS, ZYDIS_MNEMONIC_VMULPS, ZYDIS_MNEMONIC_VMOVUPS},
};

/* Writes the square of the second operand into the first */
static bool put_square(struct carm_region *region, const ZydisEncoderRequest *of,
                       ZydisInstructionEncoding encoding, ZydisMnemonic product, ZydisMnemonic move)
{
    ZydisEncoderRequest r = *of, m;
    const bool vex = move == ZYDIS_MNEMONIC_VMOVUPS;
    if (!drop_mask(&r) || r.operand_count != 2) {
        return false;
    }
    const bool memory = r.operands[1].type == ZYDIS_OPERAND_TYPE_MEMORY;
    m = r;
    m.mnemonic = memory || vex ? move : ZYDIS_MNEMONIC_MOVAPS;
    memset(&m.evex, 0, sizeof m.evex); /* no rounding */
    put_mask(&m, encoding);
    if ((memory || r.operands[0].reg.value != r.operands[1].reg.value) && !encode(region, &m)) {
        return false;
    }
    r.mnemonic = product;
    r.operands[1] = r.operands[2] = r.operands[0];
    r.operand_count = vex ? 3 : 2;
    put_mask(&r, encoding);
    return encode(region, &r);
}

static bool put_cheaper(struct carm_region *region, const struct carm_body_op *op)
{
    ZydisEncoderRequest r;
    for (size_t i = 0; i < sizeof cheaper / sizeof *cheaper; i++) {
        if (cheaper[i].from != op->in.mnemonic || op->decides || !request_of(op, &r)) {
            continue;
        }
        if (cheaper[i].move != ZYDIS_MNEMONIC_INVALID) {
            return put_square(region, &r, op->in.encoding, cheaper[i].to, cheaper[i].move);
        }
        r.mnemonic = cheaper[i].to;
        return encode(region, &r);
    }
    return false;
}

static bool only_moves(const struct carm_body_op *op)
{
    const ZydisInstructionCategory c = op->in.meta.category;
    return c == ZYDIS_CATEGORY_DATAXFER || c == ZYDIS_CATEGORY_BROADCAST ||
           (op->op.flags & CARM_OPCODE_GATHER);
}

/* Removes arithmetic in vector registers, but keeps the loads of its operands. */
static bool put_without_arithmetic(struct carm_region *region, const struct carm_body_op *op)
{
    const ZydisDecodedOperand *o = op->operands;
    ZydisEncoderRequest r;
    if (!op->vector || op->decides || op->op.stores || only_moves(op) ||
        o[0].type != ZYDIS_OPERAND_TYPE_REGISTER) {
        return false;
    }
    const ZydisRegisterClass c = ZydisRegisterGetClass(o[0].reg.value);
    if (c != ZYDIS_REGCLASS_XMM && c != ZYDIS_REGCLASS_YMM && c != ZYDIS_REGCLASS_ZMM) {
        return false; /* a comparison, or a result in a general register */
    }
    if (op->memory < 0) {
        return true;
    }
    if (!request_of(op, &r)) {
        return false;
    }
    const bool legacy = op->in.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY;
    const unsigned bytes = o[op->memory].size / 8;
    ZydisEncoderRequest m = {.machine_mode = ZYDIS_MACHINE_MODE_LONG_64, .operand_count = 2};
    const ZydisRegister first = bytes == 64   ? ZYDIS_REGISTER_ZMM0
                                : bytes == 32 ? ZYDIS_REGISTER_YMM0
                                              : ZYDIS_REGISTER_XMM0;
    if (bytes != 4 && bytes != 8 && bytes != 16 && bytes != 32 && bytes != 64) {
        return false;
    }
    m.mnemonic = bytes == 4   ? (legacy ? ZYDIS_MNEMONIC_MOVSS : ZYDIS_MNEMONIC_VMOVSS)
                 : bytes == 8 ? (legacy ? ZYDIS_MNEMONIC_MOVSD : ZYDIS_MNEMONIC_VMOVSD)
                 : legacy     ? ZYDIS_MNEMONIC_MOVUPS
                              : ZYDIS_MNEMONIC_VMOVUPS;
    m.operands[0].type = ZYDIS_OPERAND_TYPE_REGISTER;
    m.operands[0].reg.value = (ZydisRegister)((int)first + ZydisRegisterGetId(o[0].reg.value));
    m.operands[1] = r.operands[op->memory];
    m.operands[1].mem.size = (ZyanU16)bytes;
    put_mask(&m, op->in.encoding);
    return encode(region, &m);
}

/* Writes an instruction that is no branch. returns whether it was changed */
static bool put_variant(struct carm_region *region, const struct carm_body *body, size_t i,
                        enum carm_variant variant, unsigned copy)
{
    const struct carm_body_op *op = &body->ops[i];
    const size_t before = region->used;
    switch (variant) {
    case CARM_VARIANT_NEAR:
    case CARM_VARIANT_PREFETCHED:
    case CARM_VARIANT_FAR: {
        const bool added = prefetch_stride(region, body, i, copy, distances[variant]);
        put_unchanged(region, op);
        return added;
    }
    case CARM_VARIANT_INDIRECT: {
        const bool added = prefetch_indirect(region, body, i);
        put_unchanged(region, op);
        return added;
    }
    case CARM_VARIANT_STREAMING:
        if (put_streaming(region, op)) {
            return true;
        }
        break;
    case CARM_VARIANT_DIVISIONS:
        if (put_cheaper(region, op)) {
            return true;
        }
        break;
    case CARM_VARIANT_ARITHMETIC:
        if (put_without_arithmetic(region, op)) {
            return true;
        }
        break;
    case CARM_VARIANT_STORES:
        if (pure_store(op)) {
            return true;
        }
        break;
    case CARM_VARIANT_STREAM:
    case CARM_VARIANT_STREAM2:
    case CARM_VARIANT_STREAM3:
    case CARM_VARIANT_STREAM4:
        if (op->stream != variant - CARM_VARIANT_STREAM + 1) {
            break;
        }
        /* fallthrough */
    case CARM_VARIANT_L1:
        if (put_in_l1(region, body, i, copy)) {
            return true;
        }
        break;
    default:
        break;
    }
    region->used = before;
    put_unchanged(region, op);
    return false;
}

/* Registers that take turns in place of a carried register: registers that the loop does not use. */
struct accumulators {
    unsigned n; /* registers that take turns; 1 = no free registers */
    uint8_t of[32][ACCUMULATORS];
};

static struct accumulators find_accumulators(const struct carm_body *body, unsigned copies)
{
    struct accumulators acc = {.n = ACCUMULATORS};
    uint64_t used = 0;
    uint8_t spare[16] = {0};
    size_t nspare = 0;
    for (size_t i = 0; i < body->n; i++) {
        const struct carm_flow_op *op = &body->ops[i].op;
        for (uint8_t k = 0; k < op->nreads + op->nwrites; k++) {
            used |= UINT64_C(1) << (k < op->nreads ? op->reads[k] : op->writes[k - op->nreads]);
        }
    }
    /* registers 0 to 15 exist in all encodings */
    for (uint8_t r = 0; r < 16; r++) {
        if (!(used >> (CARM_REG_VECTOR + r) & 1)) {
            spare[nspare++] = r;
        }
    }
    while (acc.n > 1 && ((acc.n - 1) * body->ncarried > nspare || copies % acc.n != 0)) {
        acc.n--;
    }
    nspare = 0;
    for (size_t k = 0; k < body->ncarried; k++) {
        acc.of[k][0] = body->carried[k];
        for (unsigned a = 1; a < acc.n; a++) {
            acc.of[k][a] = spare[nspare++];
        }
    }
    return acc;
}

/* Writes the instruction with the accumulators of this turn. returns 1: written; 0: it has no carried register; -1: it
 * cannot be encoded */
static int put_renamed(struct carm_region *region, const struct carm_body *body,
                       const struct carm_body_op *op, const struct accumulators *acc, unsigned turn)
{
    ZydisEncoderRequest r;
    bool any = false;
    if (turn == 0 || !op->vector) {
        return 0;
    }
    if (!request_of(op, &r)) {
        return -1;
    }
    for (int i = 0; i < r.operand_count; i++) {
        const ZydisRegister reg = r.operands[i].reg.value;
        const ZydisRegisterClass c = ZydisRegisterGetClass(reg);
        if (r.operands[i].type != ZYDIS_OPERAND_TYPE_REGISTER ||
            (c != ZYDIS_REGCLASS_XMM && c != ZYDIS_REGCLASS_YMM && c != ZYDIS_REGCLASS_ZMM)) {
            continue;
        }
        const ZyanI8 id = ZydisRegisterGetId(reg);
        for (size_t k = 0; k < body->ncarried; k++) {
            if ((ZyanI8)body->carried[k] == id) {
                r.operands[i].reg.value = (ZydisRegister)((int)reg - id + acc->of[k][turn]);
                any = true;
            }
        }
    }
    return !any ? 0 : encode(region, &r) ? 1 : -1;
}

/* Without free registers: each iteration begins with constants in the carried registers: zeros, or, if the time of a
 * division depends on them, the registers' first values. returns the number of registers */
static unsigned break_chains(struct carm_region *region, const struct carm_body *body)
{
    bool legacy = false;
    for (size_t i = 0; i < body->n; i++) {
        legacy = legacy || (body->ops[i].vector &&
                            body->ops[i].in.encoding == ZYDIS_INSTRUCTION_ENCODING_LEGACY);
    }
    for (size_t k = 0; k < body->ncarried; k++) {
        ZydisEncoderRequest r = {.machine_mode = ZYDIS_MACHINE_MODE_LONG_64};
        const ZydisRegister reg = (ZydisRegister)(ZYDIS_REGISTER_XMM0 + body->carried[k]);
        const size_t n = legacy || body->divides ? 2 : 3;
        r.mnemonic = body->divides ? (legacy ? ZYDIS_MNEMONIC_MOVUPS : ZYDIS_MNEMONIC_VMOVUPS)
                     : legacy      ? ZYDIS_MNEMONIC_XORPS
                     : body->carried[k] > 15 ? ZYDIS_MNEMONIC_VPXORD
                                             : ZYDIS_MNEMONIC_VPXOR;
        r.operand_count = (ZyanU8)n;
        for (size_t i = 0; i < n; i++) {
            r.operands[i].type = ZYDIS_OPERAND_TYPE_REGISTER;
            r.operands[i].reg.value = reg;
        }
        if (body->divides) {
            r.operands[1] = (ZydisEncoderOperand){.type = ZYDIS_OPERAND_TYPE_MEMORY};
            r.operands[1].mem.base = ZYDIS_REGISTER_RIP;
            r.operands[1].mem.size = 16;
            r.operands[1].mem.displacement = (ZyanI64)(region->data_at + carm_region_carried(k));
        }
        if (!encode(region, &r)) {
            return 0;
        }
    }
    return (unsigned)body->ncarried;
}

/* ---- a variant ---- */

/* A distance that is filled in when all addresses are known. */
struct fix {
    size_t at;   /* in the code */
    uint64_t to; /* in the program */
    unsigned copy;
};

struct work {
    struct fix *fixes;
    size_t nfixes;
    uint64_t *places; /* [copies x n] of each instruction of each copy */
    unsigned copies;
    struct accumulators acc;
    bool failed; /* an instruction cannot be encoded with other accumulators */
    /* [copies x n] of forks: 1 = jumps always, 0 = never, -1 = unchanged; NULL = all unchanged */
    int8_t *ways;
};

/* Decides for each fork of each copy whether it jumps, so that over all copies it jumps as often as in the program.
 * Each copy is walked from the head, since a fork that is not reached must not use up a turn. */
static bool choose_ways(const struct carm_body *body, struct work *work)
{
    const size_t n = body->n;
    double *turn = calloc(n, sizeof *turn);
    bool *seen = calloc(n, sizeof *seen);
    work->ways = malloc(work->copies * n);
    if (!turn || !seen || !work->ways) {
        free(turn);
        free(seen);
        return false;
    }
    memset(work->ways, -1, work->copies * n);
    for (size_t i = 0; i < n; i++) {
        turn[i] = 0.5;
    }
    for (unsigned c = 0; c < work->copies; c++) {
        const struct carm_body_op *op = &body->ops[0];
        memset(seen, 0, n * sizeof *seen);
        do {
            const size_t i = (size_t)(op - body->ops);
            uint64_t to = op->kind == CARM_BODY_JUMP ? op->target : op->next;
            uint64_t other = 0;
            seen[i] = true;
            if (op->forks) {
                const double sum = turn[i] + op->taken;
                const bool jumps = sum >= 1.0;
                work->ways[c * n + i] = jumps;
                turn[i] = jumps ? sum - 1.0 : sum;
                to = jumps ? op->target : op->next;
            } else if (op->kind == CARM_BODY_BRANCH) {
                const bool jumps = op->taken > 0.5;
                to = jumps ? op->target : op->next;
                other = jumps ? op->next : op->target;
            }
            const struct carm_body_op *next = carm_body_find(body, to);
            if (other && (!next || seen[next - body->ops])) { /* at the end of an inner loop */
                next = carm_body_find(body, other);
            }
            op = next && !seen[next - body->ops] ? next : NULL;
        } while (op);
    }
    free(turn);
    free(seen);
    return true;
}

static void put_fix(struct carm_region *region, struct work *work, uint64_t to, unsigned copy)
{
    work->fixes[work->nfixes++] = (struct fix){region->used, to, copy};
    put(region, "\0\0\0\0", 4);
}

static void put_counter(struct carm_region *region, size_t i)
{
    const uint64_t at = region->data_at + CARM_REGION_COUNTS + 8 * i;
    store(region, RCX, region->data_at + SAVED_RCX);
    load(region, RCX, at);
    add_to_rcx(region, 1);
    store(region, RCX, at);
    load(region, RCX, region->data_at + SAVED_RCX);
}

static void put_call(struct carm_region *region, const struct carm_body_op *op)
{
    if (op->target) {
        put_byte(region, 0xe8);
        put_distance(region, op->target);
    } else {
        put_unchanged(region, op);
    }
}

/* The address of the instruction that follows instruction i in the variant: after the last one, of the next copy; 0 =
 * none */
static uint64_t behind(const struct carm_body *body, size_t i, unsigned copy,
                       const struct work *work)
{
    return i + 1 < body->n ? body->ops[i + 1].at : copy + 1 < work->copies ? body->head : 0;
}

/* Writes a branch or a jump.
 * then  out: the program's address that follows the written code; 0 = none
 * returns whether it was changed */
static bool put_branch(struct carm_region *region, const struct carm_body *body, size_t i,
                       unsigned copy, struct work *work, uint64_t *then)
{
    const struct carm_body_op *op = &body->ops[i];
    const int way = work->ways ? work->ways[copy * body->n + i] : -1;
    if (way >= 0 || op->kind == CARM_BODY_JUMP) {
        *then = way == 0 ? op->next : op->target;
        return way >= 0;
    }
    /* turns the condition if the branch's target follows directly, so that no jump is needed */
    const bool turned = op->target == behind(body, i, copy, work);
    const int condition = op->in.opcode & 15;
    put_byte(region, 0x0f);
    put_byte(region, 0x80 | (turned ? condition ^ 1 : condition));
    put_fix(region, work, turned ? op->next : op->target, copy);
    *then = turned ? op->target : op->next;
    return false;
}

/* Writes an iteration. returns the number of changed instructions */
static unsigned put_copy(struct carm_region *region, const struct carm_body *body,
                         enum carm_variant variant, bool counted, unsigned copy, struct work *work)
{
    unsigned changed = 0;
    for (size_t i = 0; i < body->n; i++) {
        const struct carm_body_op *op = &body->ops[i];
        uint64_t then = op->next;
        work->places[copy * body->n + i] = here(region);
        if (i == 0 && variant == CARM_VARIANT_CHAINS && work->acc.n == 1) {
            changed += break_chains(region, body);
        }
        if (counted && op->leader) {
            put_counter(region, i);
        }
        const int renamed = variant == CARM_VARIANT_CHAINS && op->kind == CARM_BODY_PLAIN
                                ? put_renamed(region, body, op, &work->acc, copy % work->acc.n)
                                : 0;
        work->failed = work->failed || renamed < 0;
        changed += renamed > 0;
        if (renamed > 0) {
            /* written above, with other accumulators */
        } else if (op->kind == CARM_BODY_CALL) {
            put_call(region, op);
        } else if (op->kind != CARM_BODY_PLAIN) {
            changed += put_branch(region, body, i, copy, work, &then);
        } else {
            changed += put_variant(region, body, i, variant, copy);
        }
        if (then && then != behind(body, i, copy, work)) {
            put_byte(region, 0xe9);
            put_fix(region, work, then, copy);
        }
    }
    return changed;
}

static bool set_distances(struct carm_region *region, const struct carm_body *body,
                          const struct work *work, uint64_t entry)
{
    bool good = true;
    for (size_t f = 0; f < work->nfixes; f++) {
        const struct fix *fix = &work->fixes[f];
        const struct carm_body_op *op = carm_body_find(body, fix->to);
        const size_t i = op ? (size_t)(op - body->ops) : 0;
        const uint64_t to = !op                            ? fix->to
                            : i > 0                        ? work->places[fix->copy * body->n + i]
                            : fix->copy + 1 < work->copies ? work->places[(fix->copy + 1) * body->n]
                                                           : entry;
        const int64_t distance = (int64_t)(to - (region->code_at + fix->at + 4));
        const int32_t word = (int32_t)distance;
        good = good && word == distance;
        memcpy(region->code + fix->at, &word, sizeof word);
    }
    return good;
}

void carm_region_emit(struct carm_region *region, const struct carm_body *body,
                      enum carm_variant variant, bool counted, struct carm_variant_code *out)
{
    struct work work = {.copies = carm_region_copies(body)};
    const size_t begin = region->used;
    const size_t room = (size_t)work.copies * body->n * 64 + MARGIN;
    *out = (struct carm_variant_code){.start = 0};
    if (begin + room > CARM_REGION_CODE_BYTES) {
        snprintf(out->why, sizeof out->why, "its copies are too long");
        return;
    }
    work.fixes = calloc(FIXES_MAX, sizeof *work.fixes);
    work.places = calloc((size_t)work.copies * body->n, sizeof *work.places);
    if (!work.fixes || !work.places ||
        (variant == CARM_VARIANT_KNOWN && !choose_ways(body, &work))) {
        snprintf(out->why, sizeof out->why, "not enough memory");
        goto out;
    }
    /* counts a unit down: without a flag, by jrcxz */
    const uint64_t entry = here(region);
    store(region, RCX, region->data_at + SAVED_RCX);
    load(region, RCX, region->data_at + CARM_REGION_UNITS);
    add_to_rcx(region, -1);
    store(region, RCX, region->data_at + CARM_REGION_UNITS);
    put(region, "\xe3\x0c", 2); /* jrcxz over the next two */
    load(region, RCX, region->data_at + SAVED_RCX);
    put_byte(region, 0xe9);
    const size_t to_start = region->used;
    put(region, "\0\0\0\0", 4);
    jump(region, region->switch_at);
    while ((here(region) & 63) != (body->head & 63)) {
        put_byte(region, 0xcc); /* until the alignment equals the loop's own */
    }
    const uint64_t start = here(region);
    const uint32_t distance = (uint32_t)(start - (region->code_at + to_start + 4));
    memcpy(region->code + to_start, &distance, sizeof distance);
    work.acc = find_accumulators(body, work.copies);
    for (int again = 0; again < 2; again++) {
        out->changed = 0;
        work.nfixes = 0;
        region->used = (size_t)(start - region->code_at);
        for (unsigned c = 0; c < work.copies; c++) {
            out->changed += put_copy(region, body, variant, counted, c, &work);
        }
        if (!work.failed) {
            break;
        }
        work.acc.n = 1; /* break the chains by constants instead (break_chains) */
        work.failed = false;
    }
    if (!set_distances(region, body, &work, entry)) {
        snprintf(out->why, sizeof out->why, "a target of its jumps is more than 2 GiB away");
        region->used = begin;
        goto out;
    }
    out->changed = work.copies ? (out->changed + work.copies - 1) / work.copies : 0;
    out->start = start;
    out->entry = entry;
out:
    free(work.ways);
    free(work.fixes);
    free(work.places);
}
