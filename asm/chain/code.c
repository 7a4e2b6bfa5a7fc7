/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "asm/chain/code.h"

#include <stdlib.h>
#include <string.h>

#define S  (1U << CARM_SCALAR)
#define X  (1U << CARM_SSE)
#define Y  (1U << CARM_AVX2)
#define Z  (1U << CARM_AVX512)
#define FP (1U << CARM_DP | 1U << CARM_SP)
#define DP (1U << CARM_DP)
#define SP (1U << CARM_SP)
#define Q  (1U << CARM_INT64)
#define D  (1U << CARM_INT32)

/* One bit of CPUID, beside those of an ISA */
#define NEEDS(leaf, bit)    \
    {                       \
        .leaf = 1U << (bit) \
    }
#define SSE41  NEEDS(leaf1_ecx, 19)
#define POPCNT NEEDS(leaf1_ecx, 23)
#define BMI1   NEEDS(leaf7_ebx, 3)
#define DQ     NEEDS(leaf7_ebx, 17)
#define AES    NEEDS(leaf1_ecx, 25)
#define VAES   NEEDS(leaf7_ecx, 9)
#define CLMUL  NEEDS(leaf1_ecx, 1)
#define VCLMUL NEEDS(leaf7_ecx, 10)
#define SHA    NEEDS(leaf7_ebx, 29)
#define FMA3                                          \
    {                                                 \
        .leaf1_ecx = 1U << 12 | 1U << 28, .xcr0 = 0x6 \
    }

/* Knuth's generator (asm/carm.inc, "random lines"): no predictor can predict its bits. */
#define GENERATOR                                  \
    "mov r8, [rdi]\nmov r9, 6364136223846793005\n" \
    "mov r10, 1442695040888963407\nmov r11, rdx"

/* Five pointers in an irregular cycle, so that each load of the loop gets another pointer in each iteration: Golden
 * Cove takes 1.5 cycles instead of 5 for a load with constant address and value (measured on an Emerald Rapids). */
#define RING                                       \
    "lea rax, [rdi + 192]\nmov [rdi], rax\n"       \
    "lea rax, [rdi + 64]\nmov [rdi + 192], rax\n"  \
    "lea rax, [rdi + 256]\nmov [rdi + 64], rax\n"  \
    "lea rax, [rdi + 128]\nmov [rdi + 256], rax\n" \
    "mov [rdi + 128], rdi\nmov rax, rdi"

/* Values stay normal and finite: chains are multiplied by 1.7 and 1/1.7 in turn, or sums grow by 1 or 2 in each
 * step, which takes years to overflow. */
static const struct carm_chain_row chain_rows[] = {
    {"add", S | X | Y | Z, FP, "$vadd$s $2, $c", "", .ways = 12},
    {"mul", S | X | Y | Z, FP, "$vmul$s $2, $c", "", .ways = 12},
    {"fma", S | X | Y | Z, FP, "vfmadd231$s $d, $a, $b", "", .ways = 12, .needs = FMA3},
    {"fma-factor", S | X | Y | Z, FP, "vfmadd213$s $d, $c, $z", "", .ways = 12, .needs = FMA3},
    {"div", S | X | Y | Z, FP, "$vdiv$s $2, $c", "", .ways = 12, .units = 8},
    /* x = sqrt(x) * a converges to a * a, whose root has a long mantissa, so that no unit can end early */
    {"sqrt", X | Y | Z, FP, "$vsqrt$s $d, $d\n@$vmul$s $2, $a", "$vsqrt$s $d, $a", .ways = 12,
     .units = 8, .minus = "mul"},
    {"sqrt", S, FP, "sqrt$s $d, $d\n@mul$s $d, $a", "sqrt$s $d, $a", .ways = 12, .units = 8,
     .minus = "mul"},
    {"max", S | X | Y | Z, FP, "$vmax$s $2, $c", "", .ways = 12},
    {"logic", X | Y, 0, "$vpxor $2, $a", "", .ways = 12},
    {"logic", Z, 0, "vpxorq $2, $a", "", .ways = 12},
    {"compare", S | X | Y, FP, "$vcmp$s $2, $a, 1", "", .ways = 12},
    {"compare", Z, FP, NULL, "vcmp$s $k, $a, $b, 1", .ways = 5},
    {"blend", Y, FP, "vblendv$s $2, $a, $b", "", .ways = 12},
    {"blend", Z, FP, "vblendm$s $d{k1}, $d, $a", "", .ways = 12},
    {"shuffle", X | Y | Z, FP, "$vshuf$s $2, $a, 1", "", .ways = 12},
    {"permute", Y | Z, DP, "vpermpd $d, $d, 27", "", .ways = 12},
    {"permute", Y | Z, SP, "vpermps $d, $b, $d", "", .ways = 12},
    {"masked-add", Z, FP, "vadd$s $d{k1}, $d, $c", "", .ways = 12},
    {"round", X, FP, "round$s $d, $d, 3", "", .ways = 12, .needs = SSE41},
    {"round", Y, FP, "vround$s $d, $d, 3", "", .ways = 12},
    {"round", Z, FP, "vrndscale$s $d, $d, 3", "", .ways = 12},
    {"vector-int-add", X | Y | Z, Q | D, "$vpadd$i $2, $a", "", .ways = 12},
    {"vector-int-mul", X | Y | Z, D, "$vpmulld $2, $a", "", .ways = 12, .needs = SSE41},
    {"vector-int-mul", Z, Q, "vpmullq $2, $a", "", .ways = 12, .needs = DQ},
    {"vector-shift", X | Y | Z, Q | D, "$vpsll$i $2, 1", "", .ways = 12},
    {"aes", X, 0, "aesenc $d, $a", "", .ways = 12, .needs = AES},
    {"aes", Y | Z, 0, "vaesenc $2, $a", "", .ways = 12, .needs = VAES},
    {"sha256", X, 0, "sha256rnds2 $d, $a", "", .ways = 12, .needs = SHA},
    {"clmul", X, 0, "pclmulqdq $d, $a, 0", "", .ways = 12, .needs = CLMUL},
    {"clmul", Y | Z, 0, "vpclmulqdq $2, $a, 0", "", .ways = 12, .needs = VCLMUL},
    {"read-mode", 0, 0, NULL, "<stmxcsr [rdi + 64]", NULL, .ways = 1, .units = 16},
    {"convert-int", S, FP, "cvtsi2$s $x, $q\ncvtt$s2si $q, $x", "", .ways = 10},
    {"convert-precision", S, 0, "cvtsd2ss $x, $x\ncvtss2sd $x, $x", "", .ways = 12},
    {"convert-precision", X, 0, "cvtpd2ps $x, $x\ncvtps2pd $x, $x", "", .ways = 12},
    {"convert-precision", Y | Z, 0, "vcvtpd2ps $h, $d\nvcvtps2pd $d, $h", "", .ways = 12},
    {"convert-vector", X | Y | Z, 0, "$vcvttps2dq $d, $d\n$vcvtdq2ps $d, $d", "", .ways = 12},
    {"move-vector", 0, 0, "movq $x, $q\nmovq $q, $x", "", .ways = 10},
    {"move-mask", Z, 0, "kmovw $k, $e\nkmovw $e, $k", "", .ways = 5},
    {"mask-logic", Z, 0, "kandw $k, $k, k7", "", .ways = 5},
    {"compare-flags", S, FP, NULL, "comi$s $a, $b", .ways = 1},
    {"int-add", 0, 0, "add $q, r11", "", .ways = 10},
    {"int-logic", 0, 0, "xor $q, r11", "", .ways = 10},
    {"int-shift", 0, 0, "ror $q, 7", "", .ways = 10},
    {"int-shift-by", 0, 0, "ror $q, cl", "", .ways = 10},
    {"lea", 0, 0, "lea $q, [$q + 8]", "", .ways = 10},
    {"lea-complex", 0, 0, "lea $q, [$q + r11*4 + 8]", "", .ways = 10},
    {"int-mul", 0, Q | D, "imul $d, $g", "", .ways = 10},
    {"popcnt", 0, 0, "popcnt $q, $q", "", .ways = 10, .needs = POPCNT},
    {"tzcnt", 0, 0, "tzcnt $q, $q", "", .ways = 10, .needs = BMI1},
    /* divides by 1: quotient and remainder, 1000003 and 0, are the dividend of the next division */
    {"int-div", 0, Q, "div r11", "-mov eax, r10d\n-xor edx, edx\ndiv r11",
     "mov eax, 1000003\nmov r10d, eax\nxor edx, edx\nmov r11d, 1", .units = 16},
    {"int-div", 0, D, "div r11d", "-mov eax, r10d\n-xor edx, edx\ndiv r11d",
     "mov eax, 1000003\nmov r10d, eax\nxor edx, edx\nmov r11d, 1", .units = 16},
    {"cmov", 0, 0, "cmovnz $q, r11", "", .ways = 10},
    {"adc", 0, 0, "adc $q, r11", NULL, .ways = 10},
    {"load", 0, 0, ">mov $q, [$q]", ">mov $q, [rdi + $o]", RING, .ways = 10},
    {"load", X | Y | Z, FP, ">$m $d, [rdi + $q]\n@movq $q, $x", ">$m $d, [rdi + $o]",
     "mov qword [rdi], 0\nxor eax, eax", .ways = 10, .minus = "move-vector"},
    {"load", S, FP, ">$m $d, [rdi + $q]\n@movq $q, $x", ">$m $d, [rdi + $o]",
     "mov qword [rdi], 0\nxor eax, eax", .ways = 10, .minus = "move-vector"},
    {"store", 0, 0, NULL, "<mov [rdi + $o], $q", .ways = 10},
    {"store", S | X | Y | Z, FP, NULL, "<$m [rdi + $o], $d", .ways = 12},
    /* another base register than the store's, so that cores that rename memory by base and displacement do not */
    {"forward", 0, 0, "<mov [rdi], $q\n>mov $q, [r15]", NULL, .ways = 1, .units = 16},
    {"forward", S | X | Y | Z, FP, "<$m [rdi], $d\n>$m $d, [r15]", NULL, .ways = 1, .units = 16},
    {"forward-contained", 0, 0, "<mov [rdi], $q\n>mov $e, [r15 + 4]", NULL, .ways = 1, .units = 16},
    {"forward-contained", X | Y | Z, DP, "<$m [rdi], $d\n>$vmovsd $x, [r15 + 8]", NULL, .ways = 1,
     .units = 16},
    {"forward-straddling", 0, 0, "<mov [rdi], $e\n-<mov [rdi + 4], $e\n>mov $q, [r15]", NULL,
     .ways = 1, .units = 16},
    {"forward-straddling", X, DP, "<movsd [rdi], $x\n-<movsd [rdi + 8], $x\n>$m $d, [r15]", NULL,
     .ways = 1, .units = 16},
    {"forward-straddling", Y, DP, "<vmovupd [rdi], $x\n-<vmovupd [rdi + 16], $x\n>$m $d, [r15]",
     NULL, .ways = 1, .units = 16},
    {"line-split", 0, 0, ">mov $q, [$q]", ">mov $q, [rdi + 60 + $o*8]",
     "lea rax, [rdi + 60]\nmov [rax], rax", .ways = 10},
    {"line-split", Y | Z, FP, NULL, ">$m $d, [rdi + 56 + $o*2]", .ways = 10},
    {"line-split-store", 0, 0, NULL, "<mov [rdi + 60 + $o*8], $q", .ways = 10},
    {"line-split-store", X, FP, NULL, "<$m [rdi + 56 + $o*4], $d", .ways = 10},
    {"line-split-store", Y | Z, FP, NULL, "<$m [rdi + 56 + $o*2], $d", .ways = 10},
    {"page-split", 0, 0, ">mov $q, [$q]", ">mov $q, [rdi + 4092]",
     "lea rax, [rdi + 4092]\nmov [rax], rax", .ways = 10},
    {"page-split", Y | Z, FP, NULL, ">$m $d, [rdi + 4088]", .ways = 10},
    {"alias-4k", 0, 0, "-<mov [$q + 4096], r11\n>mov $q, [$q]",
     "-<mov [rdi + 4096 + $o], r11\n>mov $q, [rdi + $o]", "mov [rdi], rdi\nmov rax, rdi",
     .ways = 10},
    {"alias-4k", S | X | Y | Z, DP, NULL, "-<$m [rdi + 4096 + $o], $a\n>$m $d, [rdi + $o]",
     .ways = 10},
    /* one jump and the loop's own: only among few branches can cores jump each cycle (64 on an Emerald Rapids: 1.9) */
    {"branch-taken", 0, 0, NULL, "JUMP", .ways = 0, .units = 1},
    {"branch-mispredicted", 0, 0,
     "@imul r8, r9\n@add r8, r10\n-mov rax, r8\n-and rax, r11\n!jz $l\n-add rdx, 1\n$l:", NULL,
     GENERATOR, .units = 16},
    /* the random bit, 45, selects the target: the addition, or the code 4 bytes further, behind it */
    {"indirect-mispredicted", 0, 0,
     "@imul r8, r9\n@add r8, r10\n-mov rax, r8\n-and rax, r11\n-shr rax, 43\n-lea rcx, [$l]\n"
     "-add rcx, rax\n!jmp rcx\n$l:\n-add rdx, 1",
     NULL, GENERATOR, .units = 16},
    {"call-return", 0, 0, "!call carm_code_%[carm_codes].callee", NULL,
     "jmp .go\n.callee:\nret\n.go:", .units = 16},
    {"lock-add", 0, 0, "=lock add qword [rdi], r11", NULL, NULL, .ways = 1, .units = 8},
};
static const size_t chain_nrows = sizeof chain_rows / sizeof *chain_rows;

/* Numbers of chains that are measured. */
static const unsigned chase_chains[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 40, 48, 64};
enum {
    NCHASES = sizeof chase_chains / sizeof *chase_chains,
    GATHERS = 4, /* numbers of vectors for each ISA: 1, 2, 4 and 6 */
};
static const unsigned gather_vectors[GATHERS] = {1, 2, 4, 6};
const unsigned carm_chase_beside[CARM_CHASE_BESIDE] = {4, 8, 16, 32, 64};

static int by_name(const void *a, const void *b)
{
    char left[CARM_CODE_NAME_MAX];
    char right[CARM_CODE_NAME_MAX];
    carm_chain_name(a, left);
    carm_chain_name(b, right);
    return strcmp(left, right);
}

/* The codes of a row with one ISA and precision. */
static size_t add_forms(struct carm_chain_code *codes, const struct carm_chain_row *row,
                        enum carm_isa isa, enum carm_precision precision)
{
    size_t n = 0;
    struct carm_chain_code c = {.row = row, .isa = isa, .precision = precision};
    if (row->chain) {
        c.form = CARM_CHAIN_LATENCY;
        codes[n++] = c;
    }
    if (row->many) {
        c.form = CARM_CHAIN_THROUGHPUT;
        codes[n++] = c;
    }
    return n;
}

static size_t add_row(struct carm_chain_code *codes, const struct carm_chain_row *row)
{
    size_t n = 0;
    for (int isa = 0; isa < CARM_VECTOR_ISAS; isa++) {
        if (!(row->isas >> isa & 1) && !(row->isas == 0 && isa == 0)) {
            continue;
        }
        for (int p = 0; p < CARM_PRECISION_COUNT; p++) {
            if (row->precisions >> p & 1 || (row->precisions == 0 && p == 0)) {
                n += add_forms(codes + n, row, (enum carm_isa)isa, (enum carm_precision)p);
            }
        }
    }
    return n;
}

int carm_chain_all(struct carm_chain_code **codes, size_t *n, struct carm_err *err)
{
    enum { EACH = 2 * CARM_VECTOR_ISAS * 2 }; /* most codes of a row: two forms, two precisions */
    struct carm_chain_code *c =
        calloc(chain_nrows * EACH + NCHASES + CARM_CHASE_BESIDE + (size_t)2 * GATHERS, sizeof *c);
    size_t k = 0;
    if (!c) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the list of latency codes");
    }
    for (size_t i = 0; i < chain_nrows; i++) {
        k += add_row(c + k, &chain_rows[i]);
    }
    for (size_t i = 0; i < NCHASES; i++) {
        c[k++] = (struct carm_chain_code){.form = CARM_CHAIN_CHASE, .chains = chase_chains[i]};
    }
    for (size_t i = 0; i < CARM_CHASE_BESIDE; i++) {
        c[k++] = (struct carm_chain_code){.form = CARM_CHAIN_CHASE,
                                          .chains = CARM_CHASE_BESIDE_CHAINS,
                                          .beside = carm_chase_beside[i]};
    }
    for (size_t i = 0; i < GATHERS; i++) {
        c[k++] = (struct carm_chain_code){
            .form = CARM_CHAIN_GATHER, .isa = CARM_AVX2, .chains = 4 * gather_vectors[i]};
        c[k++] = (struct carm_chain_code){
            .form = CARM_CHAIN_GATHER, .isa = CARM_AVX512, .chains = 8 * gather_vectors[i]};
    }
    qsort(c, k, sizeof *c, by_name);
    *codes = c;
    *n = k;
    return 0;
}

void carm_chain_name(const struct carm_chain_code *code, char name[CARM_CODE_NAME_MAX])
{
    if (code->form == CARM_CHAIN_CHASE && code->beside) {
        (void)snprintf(name, CARM_CODE_NAME_MAX, "P.b%u.k%u", code->beside, code->chains);
    } else if (code->form == CARM_CHAIN_CHASE) {
        (void)snprintf(name, CARM_CODE_NAME_MAX, "P.k%u", code->chains);
    } else if (code->form == CARM_CHAIN_GATHER) {
        (void)snprintf(name, CARM_CODE_NAME_MAX, "G.%s.k%u", carm_isa_name(code->isa),
                       code->chains);
    } else {
        const struct carm_chain_row *r = code->row;
        (void)snprintf(name, CARM_CODE_NAME_MAX, "%c.%s%s%s%s%s",
                       code->form == CARM_CHAIN_LATENCY ? 'L' : 'T', r->kind, r->isas ? "." : "",
                       r->isas ? carm_isa_name(code->isa) : "", r->precisions ? "." : "",
                       r->precisions ? carm_precision_name(code->precision) : "");
    }
}

bool carm_chain_is_name(const char *name)
{
    return *name && strchr("LTPG", *name) && name[1] == '.';
}

int carm_chain_parse(const char *name, struct carm_chain_code *code, struct carm_err *err)
{
    struct carm_chain_code *all = NULL;
    size_t n = 0;
    bool found = false;
    const int rc = carm_chain_all(&all, &n, err);
    for (size_t i = 0; i < n && !found; i++) {
        char its[CARM_CODE_NAME_MAX];
        carm_chain_name(&all[i], its);
        found = strcmp(its, name) == 0;
        *code = found ? all[i] : *code;
    }
    free(all);
    return rc || found ? rc
                       : carm_fail(err, CARM_EINVAL,
                                   "there is no code '%.60s': names are L.KIND.ISA.PRECISION "
                                   "(latency), T.KIND.ISA.PRECISION (throughput), P.kN (chase of N "
                                   "chains), P.bM.kN (with M instructions beside each load) and "
                                   "G.ISA.kN (gathers); `carm show` prints those of a model",
                                   name);
}

static const char *text_of(const struct carm_chain_code *code)
{
    const struct carm_chain_row *r = code->row;
    return code->form == CARM_CHAIN_LATENCY || !*r->many ? r->chain : r->many;
}

/* Number of lines of the unit that have no mark of `without`. */
static unsigned count_lines(const struct carm_chain_code *code, const char *without)
{
    unsigned n = 0;
    for (const char *at = text_of(code); at; at = strchr(at, '\n')) {
        at += *at == '\n';
        const bool label = strcspn(at, ":") < strcspn(at, " \n");
        n += !label && !strchr(without, *at);
    }
    return n;
}

unsigned carm_chain_measured(const struct carm_chain_code *code)
{
    return code->row ? count_lines(code, "-@") : 1;
}

unsigned carm_chain_path(const struct carm_chain_code *code)
{
    if (code->form == CARM_CHAIN_CHASE) {
        return code->chains > CARM_CHASE_REGISTERS ? 3 : 1;
    }
    return code->row ? count_lines(code, "-!") : 1;
}

unsigned carm_chain_units(const struct carm_chain_code *code)
{
    if (code->form == CARM_CHAIN_CHASE) {
        return code->chains >= 32 ? 1 : 32 / code->chains;
    }
    if (code->form == CARM_CHAIN_GATHER) {
        return 4; /* an even number: two registers of a chain take turns */
    }
    const unsigned lines = carm_chain_measured(code);
    const unsigned each = lines ? lines : 1;
    if (code->form == CARM_CHAIN_LATENCY) {
        return code->row->units ? code->row->units : CARM_CHAIN_LOOP / each;
    }
    if (code->row->ways == 0) {
        return code->row->units;
    }
    const unsigned ways = code->row->ways;
    return (CARM_CHAIN_LOOP / each + ways - 1) / ways * ways;
}

struct carm_cpu_bits carm_chain_needs(const struct carm_chain_code *code)
{
    struct carm_cpu_bits needs = {0};
    if (code->row) {
        needs = code->row->needs;
    }
    if (!code->row ? code->form == CARM_CHAIN_GATHER : code->row->isas != 0) {
        const struct carm_cpu_bits *isa = &carm_isas[code->isa].needs;
        needs.xcr0 |= isa->xcr0;
        needs.leaf1_ecx |= isa->leaf1_ecx;
        needs.leaf7_ebx |= isa->leaf7_ebx;
        needs.leaf7_ecx |= isa->leaf7_ecx;
        needs.leaf7_edx |= isa->leaf7_edx;
        needs.leaf7_1_eax |= isa->leaf7_1_eax;
    }
    return needs;
}
