/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <string.h>

#include "asm/chain/code.h"
#include "asm/gen.h"

/* Registers that each code may use for chains; rdi and r15 are the window, rsi counts, rcx and r11 are constants. */
static const char *const general64[] = {"rax", "rbx", "rdx", "rbp", "r8",
                                        "r9",  "r10", "r12", "r13", "r14"};
static const char *const general32[] = {"eax", "ebx",  "edx",  "ebp",  "r8d",
                                        "r9d", "r10d", "r12d", "r13d", "r14d"};
enum {
    VECTOR_A = 12, /* constants */
    VECTOR_B = 13,
    VECTOR_Z = 14,
    MASKS = 5, /* k2 to k6 are chains; k1 selects every second element, k7 all */
};

/* The place for which a line of the table is written. */
struct unit {
    const struct carm_chain_code *code;
    unsigned way;    /* its chain */
    unsigned number; /* of the unit, in the loop */
    unsigned slot;   /* of the unit's own bytes in the window */
};

static bool is_vex(const struct carm_chain_code *c)
{
    return c->isa >= CARM_AVX;
}

/* Bytes of the chain's vector register. */
static unsigned vector_bytes(const struct carm_chain_code *c)
{
    return carm_isas[c->isa].vector_bytes;
}

static bool is_vector(const struct carm_chain_code *c)
{
    return c->row && c->row->isas != 0;
}

static const char *suffix(const struct carm_chain_code *c)
{
    const struct carm_precision_row *p = &carm_precisions[c->precision];
    return c->isa == CARM_SCALAR ? p->scalar : p->packed;
}

static void put_move(FILE *out, const struct carm_chain_code *c)
{
    fprintf(out, "%smov%s%s", is_vex(c) ? "v" : "", c->isa == CARM_SCALAR ? "" : "u", suffix(c));
}

static void put_register(FILE *out, const struct unit *u)
{
    const struct carm_chain_code *c = u->code;
    if (is_vector(c)) {
        fprintf(out, "%s%u", carm_isas[c->isa].family, u->way);
    } else {
        fprintf(out, "%s", (c->precision == CARM_INT32 ? general32 : general64)[u->way]);
    }
}

static void put_constant(FILE *out, const struct carm_chain_code *c, unsigned reg)
{
    fprintf(out, "%s%u", carm_isas[c->isa].family, reg);
}

/* One placeholder of struct carm_chain_row. */
static void put_placeholder(FILE *out, const struct unit *u, char what)
{
    const struct carm_chain_code *c = u->code;
    switch (what) {
    case 'd':
        put_register(out, u);
        break;
    case '2':
        put_register(out, u);
        if (is_vex(c)) {
            fputs(", ", out);
            put_register(out, u);
        }
        break;
    case 'q':
        fputs(general64[u->way], out);
        break;
    case 'e':
        fputs(general32[u->way], out);
        break;
    case 'g':
        fputs(c->precision == CARM_INT32 ? "r11d" : "r11", out);
        break;
    case 'x':
        fprintf(out, "xmm%u", u->way);
        break;
    case 'h':
        fprintf(out, "%cmm%u", vector_bytes(c) == 64 ? 'y' : 'x', u->way);
        break;
    case 'k':
        fprintf(out, "k%u", 2 + u->way % MASKS);
        break;
    case 'a':
        put_constant(out, c, VECTOR_A);
        break;
    case 'b':
        put_constant(out, c, VECTOR_B);
        break;
    case 'c': /* every chain uses both constants in turn */
        put_constant(out, c,
                     u->number / (c->form == CARM_CHAIN_LATENCY ? 1 : c->row->ways) % 2 ? VECTOR_B
                                                                                        : VECTOR_A);
        break;
    case 'z':
        put_constant(out, c, VECTOR_Z);
        break;
    case 'v':
        fputs(is_vex(c) ? "v" : "", out);
        break;
    case 's':
        fputs(suffix(c), out);
        break;
    case 'i':
        fputs(c->precision == CARM_INT32 ? "d" : "q", out);
        break;
    case 'm':
        put_move(out, c);
        break;
    case 'o':
        fprintf(out, "%u", u->slot * (is_vector(c) && vector_bytes(c) ? vector_bytes(c) : 8));
        break;
    case 'l':
        fprintf(out, ".unit%u", u->number);
        break;
    default:
        fputc(what, out);
    }
}

/* One line without its marks. */
static void put_text(FILE *out, const struct unit *u, const char *line, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (line[i] == '$') {
            put_placeholder(out, u, line[++i]);
        } else {
            fputc(line[i], out);
        }
    }
    fputc('\n', out);
}

/* Writes one line of a unit: a label, a jump, or an instruction with its counts. */
static void put_line(FILE *out, const struct unit *u, const char *line, size_t length)
{
    const bool beside = *line == '-';
    const bool helps = *line == '@';
    const bool apart = *line == '!';
    if (line[length - 1] == ':' || strncmp(line, "JUMP", length) == 0) {
        fputs("  ", out);
        put_text(out, u, line, length);
        return;
    }
    const size_t marks = beside || helps || apart;
    const char access = line[marks];
    const bool loads = access == '>' || access == '=';
    const bool stores = access == '<' || access == '=';
    const size_t skip = marks + (loads || stores);
    fprintf(out, "    EMIT %d, %d, %d, %d, ", !beside && !helps, !beside && !apart, loads, stores);
    put_text(out, u, line + skip, length - skip);
}

static void put_unit(FILE *out, const struct unit *u)
{
    const struct carm_chain_row *r = u->code->row;
    const char *at = u->code->form == CARM_CHAIN_LATENCY || !*r->many ? r->chain : r->many;
    while (*at) {
        const size_t length = strcspn(at, "\n");
        put_line(out, u, at, length);
        at += length + (at[length] == '\n');
    }
}

static void put_before(FILE *out, const char *before)
{
    while (before && *before) {
        const size_t length = strcspn(before, "\n");
        fprintf(out, "    %.*s\n", (int)length, before);
        before += length + (before[length] == '\n');
    }
}

/* First values of all registers that a unit of the table may name. */
static void put_registers(FILE *out, const struct carm_chain_code *c)
{
    for (unsigned i = 0; i < sizeof general64 / sizeof *general64; i++) {
        fprintf(out, "    mov %s, %u\n", general32[i], 5 + 2 * i);
    }
    fputs("    mov r11d, 3\n    mov ecx, 7\n", out);
    if (!is_vector(c)) {
        return;
    }
    const char *data = carm_precisions[c->precision].bytes == 4 ? "sp" : "dp";
    const char *family = carm_isas[c->isa].family;
    for (unsigned i = 0; i <= VECTOR_Z; i++) {
        fprintf(out, "    %smovups %s%u, [carm_chain_%s%s]\n", is_vex(c) ? "v" : "", family, i,
                data,
                i == VECTOR_A   ? " + 64"
                : i == VECTOR_B ? " + 128"
                : i == VECTOR_Z ? " + 192"
                                : "");
    }
    if (c->isa == CARM_AVX512) {
        fputs("    mov eax, 0x5555\n    kmovw k1, eax\n    kxnorw k7, k7, k7\n", out);
        for (unsigned i = 0; i < MASKS; i++) {
            fprintf(out, "    kmovw k%u, eax\n", 2 + i);
        }
    }
}

static void put_table_code(FILE *out, const struct carm_chain_code *c)
{
    const unsigned units = carm_chain_units(c);
    const unsigned ways = c->form == CARM_CHAIN_LATENCY || c->row->ways == 0 ? 1 : c->row->ways;
    if (c->row->ways) {
        put_registers(out, c);
    }
    fputs("    mov r15, rdi\n", out);
    put_before(out, c->row->before);
    fputs("  CHAIN_LOOP\n", out);
    for (unsigned i = 0; i < units; i++) {
        const struct unit u = {c, i % ways, i, i % ways};
        put_unit(out, &u);
    }
}

static void put_chase(FILE *out, const struct carm_chain_code *c)
{
    const unsigned kept = c->chains <= CARM_CHASE_REGISTERS ? c->chains : 0;
    for (unsigned i = 0; i < kept; i++) {
        fprintf(out, "    mov %s, [rdi + %u]\n", general64[i], 8 * i);
    }
    fputs("  CHAIN_LOOP\n", out);
    for (unsigned unit = 0; unit < carm_chain_units(c); unit++) {
        for (unsigned i = 0; i < c->chains; i++) {
            const char *reg = general64[i % CARM_CHASE_REGISTERS];
            if (!kept) {
                fprintf(out, "    EMIT 0, 1, 1, 0, mov %s, [rdi + %u]\n", reg, 8 * i);
            }
            fprintf(out, "    EMIT 1, 1, 1, 0, mov %s, [%s]\n", reg, reg);
            if (!kept) {
                fprintf(out, "    EMIT 0, 1, 0, 1, mov [rdi + %u], %s\n", 8 * i, reg);
            }
            for (unsigned b = 1; b < c->beside;
                 b++) { /* from 1: reloading the pointer is one, too */
                fputs("    EMIT 0, 0, 0, 0, mov ecx, 7\n", out);
            }
        }
    }
    fputs("  CHAIN_LOOP_END\n", out);
    for (unsigned i = 0; i < kept; i++) {
        fprintf(out, "    mov [rdi + %u], %s\n", 8 * i, general64[i]);
    }
}

/* Gathers between two registers in turn, of pointers and of loaded pointers: a gather must not write its index. */
static void put_gather(FILE *out, const struct carm_chain_code *c)
{
    const bool wide = c->isa == CARM_AVX512;
    const char *family = carm_isas[c->isa].family;
    const unsigned bytes = vector_bytes(c);
    const unsigned vectors = c->chains * 8 / bytes;
    const unsigned other = wide ? 16 : 8;
    for (unsigned i = 0; i < vectors; i++) {
        fprintf(out, "    vmovups %s%u, [rdi + %u]\n", family, i, i * bytes);
        fprintf(out, "    vmovups %s%u, [rdi + %u]\n", family, i + other, i * bytes);
    }
    fputs("  CHAIN_LOOP\n", out);
    for (unsigned unit = 0; unit < carm_chain_units(c); unit++) {
        for (unsigned i = 0; i < vectors; i++) {
            const unsigned from = unit % 2 ? i + other : i;
            const unsigned to = unit % 2 ? i : i + other;
            if (wide) {
                fprintf(out, "    EMIT 0, 0, 0, 0, kxnorw k1, k1, k1\n");
                fprintf(out, "    EMIT 1, 1, 1, 0, vpgatherqq %s%u{k1}, [%s%u*1]\n", family, to,
                        family, from);
            } else {
                fprintf(out, "    EMIT 0, 0, 0, 0, vpcmpeqd ymm15, ymm15, ymm15\n");
                fprintf(out, "    EMIT 1, 1, 1, 0, vpgatherqq %s%u, [%s%u*1], ymm15\n", family, to,
                        family, from);
            }
        }
    }
    fputs("  CHAIN_LOOP_END\n", out);
    for (unsigned i = 0; i < vectors; i++) {
        fprintf(out, "    vmovups [rdi + %u], %s%u\n", i * bytes, family, i);
    }
}

static void put_constants(FILE *out)
{
    /* 1.7: its square, root and inverse have long mantissas */
    static const double values[] = {2.89, 1.7, 1.0 / 1.7, 1.0 / 1024.0};
    for (unsigned dp = 0; dp < 2; dp++) {
        fprintf(out, "align 64\ncarm_chain_%s:\n", dp ? "dp" : "sp");
        for (unsigned i = 0; i < 4; i++) {
            fprintf(out, "    times %u %s %.17f\n", dp ? 8U : 16U, dp ? "dq" : "dd", values[i]);
        }
    }
}

void carm_chain_source(FILE *out, const struct carm_chain_code *codes, size_t n)
{
    fprintf(out, "; assemble with: nasm -f bin -o code.bin THIS_FILE\n%s\n%s\nCARM_FILE\n",
            carm_inc_text, carm_chain_inc_text);
    for (size_t i = 0; i < n; i++) {
        const struct carm_chain_code *c = &codes[i];
        char name[CARM_CODE_NAME_MAX];
        carm_chain_name(c, name);
        const bool wide = (is_vector(c) || c->form == CARM_CHAIN_GATHER) && is_vex(c);
        fprintf(out, "%%define LEAVE %s\nCHAIN_BEGIN \"%s\"\n", wide ? "vzeroupper" : "", name);
        if (c->form == CARM_CHAIN_CHASE) {
            put_chase(out, c);
        } else if (c->form == CARM_CHAIN_GATHER) {
            put_gather(out, c);
        } else {
            put_table_code(out, c);
            fputs("  CHAIN_LOOP_END\n", out);
        }
        fputs("CHAIN_END\n\n", out);
    }
    put_constants(out);
    fputs("CARM_END\n", out);
}
