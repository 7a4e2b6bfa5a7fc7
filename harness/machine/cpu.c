/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/machine/cpu.h"

#include <cpuid.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/count/recipe.h"

/* Which register states the OS saves (Intel SDM vol. 1, 13.3). Only where OSXSAVE is set. */
static uint64_t read_xcr0(void)
{
    uint32_t lo = 0;
    uint32_t hi = 0;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    return ((uint64_t)hi << 32) | lo;
}

static void put4(char *at, unsigned value)
{
    memcpy(at, &value, 4);
}

void carm_cpu_trim(char brand[64])
{
    const size_t lead = strspn(brand, " ");
    memmove(brand, brand + lead, 64 - lead);
    for (size_t n = strlen(brand); n > 0 && brand[n - 1] == ' '; n--) {
        brand[n - 1] = '\0';
    }
}

static void read_brand(char brand[64], const char *vendor)
{
    unsigned r[4];
    memset(brand, 0, 64);
    for (unsigned i = 0; i < 3; i++) {
        if (!__get_cpuid(0x80000002U + i, &r[0], &r[1], &r[2], &r[3])) {
            snprintf(brand, 64, "%s", vendor);
            return;
        }
        memcpy(brand + (size_t)16 * i, r, 16);
    }
    carm_cpu_trim(brand);
}

static void read_hypervisor(char name[48])
{
    static const struct {
        const char *id, *name;
    } known[] = {{"KVMKVMKVM", "KVM"},          {"Microsoft Hv", "Hyper-V"},
                 {"VMwareVMware", "VMware"},    {"XenVMMXenVMM", "Xen"},
                 {"bhyve bhyve ", "bhyve"},     {"TCGTCGTCGTCG", "QEMU TCG"},
                 {"VBoxVBoxVBox", "VirtualBox"}};
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    char id[13] = "";
    __cpuid(0x40000000, a, b, c, d);
    put4(id, b);
    put4(id + 4, c);
    put4(id + 8, d);
    snprintf(name, 48, "unknown");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strncmp(id, known[i].id, 12) == 0) {
            snprintf(name, 48, "%s", known[i].name);
        }
    }
}

static bool has_bits(const struct carm_cpu_bits *has, const struct carm_cpu_bits *needs)
{
    return (has->xcr0 & needs->xcr0) == needs->xcr0 &&
           (has->leaf1_ecx & needs->leaf1_ecx) == needs->leaf1_ecx &&
           (has->leaf7_ebx & needs->leaf7_ebx) == needs->leaf7_ebx &&
           (has->leaf7_ecx & needs->leaf7_ecx) == needs->leaf7_ecx &&
           (has->leaf7_edx & needs->leaf7_edx) == needs->leaf7_edx &&
           (has->leaf7_1_eax & needs->leaf7_1_eax) == needs->leaf7_1_eax;
}

bool carm_cpu_has_bits(const struct carm_cpu *cpu, const struct carm_cpu_bits *needs)
{
    return has_bits(&cpu->has, needs);
}

/* source: Intel SDM, volume 2, CPUID, leaves 0x1d and 0x1e */
bool carm_cpu_fits_tiles(const uint32_t palette[4], const uint32_t product[4])
{
    enum { TILES = 8, TILE_BYTES = 1024, ROW_BYTES = 64, ROWS = 16 };
    const uint32_t ebx = palette[1];
    return (palette[0] >> 16) >= TILE_BYTES && (ebx & 0xffff) >= ROW_BYTES &&
           (ebx >> 16) >= TILES && (palette[2] & 0xffff) >= ROWS && (product[1] & 0xff) >= ROWS &&
           (product[1] >> 8 & 0xffff) >= ROW_BYTES;
}

/* Whether tiles may be used, by their size and by Linux. */
static bool has_tiles(unsigned max_leaf)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 }; /* linux/arch/x86 */
    uint32_t palette[4];
    uint32_t product[4];
    if (max_leaf < 0x1e) {
        return false;
    }
    __cpuid_count(0x1d, 1, palette[0], palette[1], palette[2], palette[3]);
    __cpuid_count(0x1e, 0, product[0], product[1], product[2], product[3]);
    return carm_cpu_fits_tiles(palette, product) &&
           syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

void carm_cpu_read(struct carm_cpu *cpu)
{
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    struct carm_cpuid id;
    carm_cpuid_read(&id);
    memset(cpu, 0, sizeof *cpu);
    memcpy(cpu->vendor, id.vendor, sizeof cpu->vendor);
    cpu->family = id.family;
    cpu->model = id.model;
    read_brand(cpu->brand, cpu->vendor);

    __cpuid(0, a, b, c, d);
    const unsigned max_leaf = a;
    __cpuid(1, a, b, c, d);
    const unsigned leaf1_c = c;
    if (leaf1_c & (1U << 31)) {
        read_hypervisor(cpu->hypervisor);
    }
    const uint64_t xcr0 = leaf1_c & bit_OSXSAVE ? read_xcr0() : 0;
    struct carm_cpu_bits has = {.xcr0 = xcr0, .leaf1_ecx = leaf1_c};
    if (max_leaf >= 7) {
        __cpuid_count(7, 0, a, has.leaf7_ebx, has.leaf7_ecx, has.leaf7_edx);
        if (a >= 1) {
            __cpuid_count(7, 1, has.leaf7_1_eax, b, c, d);
        }
    }
    for (int i = 0; i < CARM_ISA_COUNT; i++) {
        cpu->isa[i] = has_bits(&has, &carm_isas[i].needs);
    }
    cpu->isa[CARM_AMX] = cpu->isa[CARM_AMX] && has_tiles(max_leaf);
    cpu->has = has;
    cpu->fma = cpu->isa[CARM_AVX] && (leaf1_c & bit_FMA);
    if (__get_cpuid(0x80000001U, &a, &b, &c, &d)) {
        cpu->rdtscp = (d >> 27) & 1;
    }
    if (__get_cpuid(0x80000007U, &a, &b, &c, &d)) {
        cpu->invariant_tsc = (d >> 8) & 1;
    }
}

enum carm_isa carm_cpu_best_isa(const struct carm_cpu *cpu)
{
    int best = CARM_VECTOR_ISAS - 1;
    while (best > 0 && !cpu->isa[best]) {
        best--;
    }
    return (enum carm_isa)best;
}

unsigned carm_cpu_guest_bytes(const struct carm_cpu *cpu)
{
    const enum carm_isa widest = cpu->isa[CARM_AMX] ? CARM_AMX : carm_cpu_best_isa(cpu);
    return cpu->hypervisor[0] ? carm_isas[widest].vector_bytes : 0;
}

int carm_cpu_check(const struct carm_cpu *cpu, enum carm_isa isa, struct carm_err *err)
{
    if (cpu->isa[isa]) {
        return 0;
    }
    return carm_fail(
        err, CARM_ENOTSUP,
        "this CPU or its OS does not have %s: choose %s or a narrower ISA, or --isa all for "
        "every one it has",
        carm_isa_name(isa), carm_isa_name(carm_cpu_best_isa(cpu)));
}

bool carm_cpu_has_op(const struct carm_cpu *cpu, enum carm_isa isa, enum carm_precision precision,
                     enum carm_op op)
{
    const struct carm_form *form = carm_form_find(isa, precision, op);
    if (form) {
        return cpu->isa[isa] && has_bits(&cpu->has, &form->needs);
    }
    return cpu->isa[isa] && carm_isa_has_op(isa, precision, op) &&
           (!carm_ops[op].fused || cpu->fma);
}

bool carm_cpu_has_precision(const struct carm_cpu *cpu, enum carm_isa isa,
                            enum carm_precision precision)
{
    bool any = cpu->isa[isa] && !carm_precisions[precision].forms && !carm_isas[isa].columns;
    for (int op = 0; op < CARM_OP_COUNT && !any; op++) {
        any = carm_cpu_has_op(cpu, isa, precision, (enum carm_op)op);
    }
    return any;
}
