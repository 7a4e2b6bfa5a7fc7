/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/machine/cpu.h"

#include <cpuid.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "harness/count/recipe.h"

__attribute__((weak)) uint64_t carm_cpu_xcr0(void)
{
    uint32_t lo = 0;
    uint32_t hi = 0;
    __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    return ((uint64_t)hi << 32) | lo;
}

/* A leaf of CPUID; all zero beyond the last one of its range. */
static void read_leaf(uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    carm_cpuid_leaf(leaf & 0x80000000U, 0, out);
    if (out[0] < leaf) {
        memset(out, 0, 4 * sizeof *out);
    } else {
        carm_cpuid_leaf(leaf, subleaf, out);
    }
}

/* Removes the blanks before and behind a brand string: processors fill its 48 bytes with them. */
static void trim(char brand[64])
{
    const size_t lead = strspn(brand, " ");
    memmove(brand, brand + lead, 64 - lead);
    for (size_t n = strlen(brand); n > 0 && brand[n - 1] == ' '; n--) {
        brand[n - 1] = '\0';
    }
}

static void read_brand(char brand[64], const char *vendor)
{
    uint32_t reg[4];
    memset(brand, 0, 64);
    for (uint32_t i = 0; i < 3; i++) {
        read_leaf(0x80000002U + i, 0, reg);
        memcpy(brand + i * sizeof reg, reg, sizeof reg);
    }
    trim(brand);
    if (!*brand) {
        snprintf(brand, 64, "%s", vendor);
    }
}

static void read_hypervisor(char name[48])
{
    static const struct {
        const char *id, *name;
    } known[] = {{"KVMKVMKVM", "KVM"},          {"Microsoft Hv", "Hyper-V"},
                 {"VMwareVMware", "VMware"},    {"XenVMMXenVMM", "Xen"},
                 {"bhyve bhyve ", "bhyve"},     {"TCGTCGTCGTCG", "QEMU TCG"},
                 {"VBoxVBoxVBox", "VirtualBox"}};
    uint32_t reg[4];
    char id[13] = "";
    carm_cpuid_leaf(0x40000000, 0, reg);
    memcpy(id, &reg[1], sizeof id - 1);
    snprintf(name, 48, "unknown");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (strcmp(id, known[i].id) == 0) {
            snprintf(name, 48, "%s", known[i].name);
        }
    }
}

bool carm_cpu_has_bits(const struct carm_cpu *cpu, const struct carm_cpu_bits *needs)
{
    const struct carm_cpu_bits *has = &cpu->has;
    return (has->xcr0 & needs->xcr0) == needs->xcr0 &&
           (has->leaf1_ecx & needs->leaf1_ecx) == needs->leaf1_ecx &&
           (has->leaf7_ebx & needs->leaf7_ebx) == needs->leaf7_ebx &&
           (has->leaf7_ecx & needs->leaf7_ecx) == needs->leaf7_ecx &&
           (has->leaf7_edx & needs->leaf7_edx) == needs->leaf7_edx &&
           (has->leaf7_1_eax & needs->leaf7_1_eax) == needs->leaf7_1_eax;
}

/* Whether tiles have the size that test codes configure: eax, ebx, ecx, edx of leaves 0x1d, subleaf 1, and 0x1e.
 * source: Intel SDM, volume 2, CPUID, leaves 0x1d and 0x1e */
static bool fits_tiles(const uint32_t palette[4], const uint32_t product[4])
{
    enum { TILES = 8, TILE_BYTES = 1024, ROW_BYTES = 64, ROWS = 16 };
    const uint32_t ebx = palette[1];
    return (palette[0] >> 16) >= TILE_BYTES && (ebx & 0xffff) >= ROW_BYTES &&
           (ebx >> 16) >= TILES && (palette[2] & 0xffff) >= ROWS && (product[1] & 0xff) >= ROWS &&
           (product[1] >> 8 & 0xffff) >= ROW_BYTES;
}

/* Whether tiles may be used, by their size and by Linux. */
static bool has_tiles(void)
{
    enum { ARCH_REQ_XCOMP_PERM = 0x1023, XFEATURE_XTILEDATA = 18 }; /* linux/arch/x86 */
    uint32_t palette[4];
    uint32_t product[4];
    read_leaf(0x1d, 1, palette);
    read_leaf(0x1e, 0, product);
    return fits_tiles(palette, product) &&
           syscall(SYS_arch_prctl, ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA) == 0;
}

void carm_cpu_read(struct carm_cpu *cpu)
{
    struct carm_cpuid id;
    uint32_t leaf1[4], leaf7[4], leaf7_1[4], flags[4], power[4];
    carm_cpuid_read(&id);
    memset(cpu, 0, sizeof *cpu);
    memcpy(cpu->vendor, id.vendor, sizeof cpu->vendor);
    cpu->family = id.family;
    cpu->model = id.model;
    read_brand(cpu->brand, cpu->vendor);
    read_leaf(1, 0, leaf1);
    if (leaf1[2] & (1U << 31)) {
        read_hypervisor(cpu->hypervisor);
    }
    read_leaf(7, 0, leaf7);
    read_leaf(7, 1, leaf7_1);
    cpu->has = (struct carm_cpu_bits){.xcr0 = leaf1[2] & bit_OSXSAVE ? carm_cpu_xcr0() : 0,
                                      .leaf1_ecx = leaf1[2],
                                      .leaf7_ebx = leaf7[1],
                                      .leaf7_ecx = leaf7[2],
                                      .leaf7_edx = leaf7[3],
                                      .leaf7_1_eax = leaf7[0] >= 1 ? leaf7_1[0] : 0};
    for (int i = 0; i < CARM_ISA_COUNT; i++) {
        cpu->isa[i] = carm_cpu_has_bits(cpu, &carm_isas[i].needs);
    }
    cpu->isa[CARM_AMX] = cpu->isa[CARM_AMX] && has_tiles();
    cpu->fma = cpu->isa[CARM_AVX] && (leaf1[2] & bit_FMA);
    read_leaf(0x80000001U, 0, flags);
    cpu->rdtscp = (flags[3] >> 27) & 1;
    read_leaf(0x80000007U, 0, power);
    cpu->invariant_tsc = (power[3] >> 8) & 1;
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
        return cpu->isa[isa] && carm_cpu_has_bits(cpu, &form->needs);
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
