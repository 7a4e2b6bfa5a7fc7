/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/translate/cpu.h"

#include <cpuid.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <Zydis/Zydis.h>

_Static_assert(ZYDIS_ISA_SET_MAX_VALUE < 64 * CARM_CPU_SETS, "lacks holds every set of Zydis");

enum { EAX, EBX, ECX, EDX };
enum { LEAF_FEATURES = 1, LEAF_CACHES = 4, LEAF_MORE = 7, LEAF_STATE = 0xd };
#define LEAF_EXTENDED 0x80000000U

/* The CPUs, as bits of a feature's `of`. */
enum { V2 = 1, V3 = 2, V4 = 4, ZEN3 = 8, SKYLAKE = 16 };
enum {
    FROM_V2 = V2 | V3 | V4 | ZEN3 | SKYLAKE,
    FROM_V3 = V3 | V4 | ZEN3 | SKYLAKE,
    WIDE = V4 | SKYLAKE,
    REAL = ZEN3 | SKYLAKE, /* features of processors beyond the levels of the psABI */
};

/* A feature: its place in cpuid, the CPUs that have it, and the instructions (Zydis' sets; * = any end) that need it.
 * The levels are those of the x86-64 psABI, section 3.1.1; bits: Intel SDM volume 2A, CPUID, and AMD APM volume 3,
 * appendix E.
 * The levels with AVX have xsaveopt and xsavec, too: glibc's lazy binding then stores only the state in use. */
static const struct feature {
    const char *name; /* as in /proc/cpuinfo */
    uint32_t leaf, sub;
    uint8_t reg, bit;
    uint8_t of;
    const char *sets;
} features[] = {
    {"pni", 1, 0, ECX, 0, FROM_V2, "SSE3 SSE3X87"},
    {"pclmulqdq", 1, 0, ECX, 1, REAL, "PCLMULQDQ AVXPCLMULQDQ"},
    {"ssse3", 1, 0, ECX, 9, FROM_V2, "SSSE3 SSSE3MMX"},
    {"fma", 1, 0, ECX, 12, FROM_V3, "FMA"},
    {"cx16", 1, 0, ECX, 13, FROM_V2, "CMPXCHG16B"},
    {"sse4_1", 1, 0, ECX, 19, FROM_V2, "SSE4"},
    {"sse4_2", 1, 0, ECX, 20, FROM_V2, "SSE42"},
    {"movbe", 1, 0, ECX, 22, FROM_V3, "MOVBE"},
    {"popcnt", 1, 0, ECX, 23, FROM_V2, "POPCNT"},
    {"aes", 1, 0, ECX, 25, REAL, "AES AVXAES"},
    {"xsave", 1, 0, ECX, 26, FROM_V3, "XSAVE"},
    {"", 1, 0, ECX, 27, FROM_V3, ""}, /* osxsave */
    {"avx", 1, 0, ECX, 28, FROM_V3, "AVX"},
    {"f16c", 1, 0, ECX, 29, FROM_V3, "F16C"},
    {"rdrand", 1, 0, ECX, 30, REAL, "RDRAND"},
    {"fsgsbase", 7, 0, EBX, 0, REAL, "RDWRFSGS"},
    {"bmi1", 7, 0, EBX, 3, FROM_V3, "BMI1"},
    {"avx2", 7, 0, EBX, 5, FROM_V3, "AVX2 AVX2GATHER"},
    {"bmi2", 7, 0, EBX, 8, FROM_V3, "BMI2"},
    {"erms", 7, 0, EBX, 9, REAL, ""},
    {"avx512f", 7, 0, EBX, 16, WIDE, "AVX512F_*"},
    {"avx512dq", 7, 0, EBX, 17, WIDE, "AVX512DQ_*"},
    {"rdseed", 7, 0, EBX, 18, REAL, "RDSEED"},
    {"adx", 7, 0, EBX, 19, REAL, "ADOX_ADCX"},
    {"avx512ifma", 7, 0, EBX, 21, 0, "AVX512_IFMA_*"},
    {"clflushopt", 7, 0, EBX, 23, REAL, "CLFLUSHOPT"},
    {"clwb", 7, 0, EBX, 24, REAL, "CLWB"},
    {"avx512cd", 7, 0, EBX, 28, WIDE, "AVX512CD_*"},
    {"sha_ni", 7, 0, EBX, 29, ZEN3, "SHA"},
    {"avx512bw", 7, 0, EBX, 30, WIDE, "AVX512BW_*"},
    {"avx512vl", 7, 0, EBX, 31, WIDE, ""},
    {"avx512vbmi", 7, 0, ECX, 1, 0, "AVX512_VBMI_*"},
    {"avx512_vbmi2", 7, 0, ECX, 6, 0, "AVX512_VBMI2_*"},
    {"gfni", 7, 0, ECX, 8, 0, "GFNI AVX_GFNI AVX512_GFNI_*"},
    {"vaes", 7, 0, ECX, 9, ZEN3, "VAES AVX512_VAES_*"},
    {"vpclmulqdq", 7, 0, ECX, 10, ZEN3, "VPCLMULQDQ AVX512_VPCLMULQDQ_*"},
    {"avx512_vnni", 7, 0, ECX, 11, 0, "AVX512_VNNI_*"},
    {"avx512_bitalg", 7, 0, ECX, 12, 0, "AVX512_BITALG_*"},
    {"avx512_vpopcntdq", 7, 0, ECX, 14, 0, "AVX512_VPOPCNTDQ_*"},
    {"rdpid", 7, 0, ECX, 22, ZEN3, "RDPID"},
    {"fsrm", 7, 0, EDX, 4, ZEN3, ""},
    {"avx512_vp2intersect", 7, 0, EDX, 8, 0, "AVX512_VP2INTERSECT_*"},
    {"amx_tile", 7, 0, EDX, 24, 0, "AMX_*"},
    {"avx512_fp16", 7, 0, EDX, 23, 0, "AVX512_FP16_*"},
    {"avx_vnni", 7, 1, EAX, 4, 0, "AVX_VNNI"},
    {"avx512_bf16", 7, 1, EAX, 5, 0, "AVX512_BF16_*"},
    {"xsaveopt", 0xd, 1, EAX, 0, FROM_V3, "XSAVEOPT"},
    {"xsavec", 0xd, 1, EAX, 1, FROM_V3, "XSAVEC"},
    {"xgetbv1", 0xd, 1, EAX, 2, REAL, ""},
    {"lahf_lm", 0x80000001, 0, ECX, 0, FROM_V2, "LAHF"},
    {"abm", 0x80000001, 0, ECX, 5, FROM_V3, "LZCNT"},
    {"sse4a", 0x80000001, 0, ECX, 6, ZEN3, "SSE4A"},
    {"3dnowprefetch", 0x80000001, 0, ECX, 8, REAL, ""},
    {"syscall", 0x80000001, 0, EDX, 11, FROM_V2, ""},
    {"nx", 0x80000001, 0, EDX, 20, FROM_V2, ""},
    {"mmxext", 0x80000001, 0, EDX, 22, ZEN3, ""},
    {"fxsr_opt", 0x80000001, 0, EDX, 25, ZEN3, ""},
    {"pdpe1gb", 0x80000001, 0, EDX, 26, REAL, ""},
    {"rdtscp", 0x80000001, 0, EDX, 27, REAL, ""},
    {"lm", 0x80000001, 0, EDX, 29, FROM_V2, ""},
};
enum { NFEATURES = sizeof features / sizeof *features };

/* fpu to sse2 of leaf 1, which every x86-64 processor has */
static const uint32_t base_edx = 0x078bfbff;

/* The named CPUs. signature: of leaf 1. The levels look like Nehalem, Haswell and Skylake-SP, so that libraries that
 * choose code by model choose the same as on these. The levels' caches are those of these processors: L1 32 KiB, 8
 * ways; L2 256 KiB, 8 ways (Skylake-SP 1 MiB, 16 ways); L3 1.375 MiB, 11 ways, for each core. Zen 3: AMD PPR 55898; L2
 * 512 KiB, 8 ways, L3 32 MiB, 16 ways. */
static const struct named {
    const char *name;
    uint8_t bit;
    bool amd;
    uint32_t signature;
    uint32_t l1_ways, l2_kib, l2_ways, l3_kib, l3_ways;
} named[] = {
    {"x86-64-v2", V2, false, 0x000106a5, 8, 256, 8, 1408, 11},
    {"x86-64-v3", V3, false, 0x000306c3, 8, 256, 8, 1408, 11},
    {"x86-64-v4", V4, false, 0x00050654, 8, 1024, 16, 1408, 11},
    {"skylake-avx512", SKYLAKE, false, 0x00050654, 8, 1024, 16, 1408, 11},
    {"zen3", ZEN3, true, 0x00a20f10, 8, 512, 8, 32768, 16},
};

static uint32_t *leaf(struct carm_cpu_view *v, uint32_t number, uint32_t sub)
{
    const uint32_t i = carm_cpu_view_find(v, number, sub);
    if (i == v->nleaves) {
        v->nleaves += v->nleaves + 1 < CARM_CPU_LEAVES;
        v->leaves[i] = (struct carm_cpu_leaf){.leaf = number, .sub = sub};
    }
    return v->leaves[i].reg;
}

/* Whether the view has a feature. */
static bool has(const struct carm_cpu_view *v, const struct feature *f)
{
    const uint32_t i = carm_cpu_view_find(v, f->leaf, f->sub);
    return i < v->nleaves && v->leaves[i].reg[f->reg] >> f->bit & 1;
}

static void put_text(struct carm_cpu_view *v, uint32_t first, const char *text, size_t n)
{
    for (size_t i = 0; i * 16 < n; i++) {
        memcpy(leaf(v, first + (uint32_t)i, 0), text + 16 * i, 16);
    }
}

/* leaf 4 and AMD's 0x8000001d: type 1 = data, 2 = instructions, 3 = unified */
static void put_cache(struct carm_cpu_view *v, uint32_t at, uint32_t sub, uint32_t type,
                      uint32_t level, uint32_t kib, uint32_t ways)
{
    enum { LINE = 64, SELF_INITIALISING = 1 << 8 };
    uint32_t *reg = leaf(v, at, sub);
    reg[EAX] = type | level << 5 | SELF_INITIALISING;
    reg[EBX] = (LINE - 1) | (ways - 1) << 22;
    reg[ECX] = kib * 1024 / LINE / ways - 1;
}

static void put_caches(struct carm_cpu_view *v, const struct named *c)
{
    const uint32_t at = c->amd ? LEAF_EXTENDED + 0x1d : LEAF_CACHES;
    put_cache(v, at, 0, 1, 1, 32, c->l1_ways);
    put_cache(v, at, 1, 2, 1, 32, c->l1_ways);
    put_cache(v, at, 2, 3, 2, c->l2_kib, c->l2_ways);
    put_cache(v, at, 3, 3, 3, c->l3_kib, c->l3_ways);
    if (c->amd) { /* glibc before 2.37 reads leaves 0x80000005 and 0x80000006 */
        uint32_t *l1 = leaf(v, LEAF_EXTENDED + 5, 0);
        l1[ECX] = l1[EDX] = 32U << 24 | 8U << 16 | 1U << 8 | 64U;
        uint32_t *others = leaf(v, LEAF_EXTENDED + 6, 0);
        others[ECX] = c->l2_kib << 16 | 6U << 12 | 1U << 8 | 64U;
        others[EDX] = c->l3_kib / 512 << 18 | 8U << 12 | 1U << 8 | 64U;
        leaf(v, LEAF_EXTENDED + 1, 0)[ECX] |= 1U << 22; /* leaf 0x8000001d is there */
    } else {
        leaf(v, 2, 0)[EAX] =
            0x00feff01; /* descriptor ff: leaf 4 has the caches; fe: leaf 18h the TLBs */
    }
}

/* Sizes of the saved state are this machine's: a program that allocates by these sizes then has room for what the
 * processor saves. */
static void put_state(struct carm_cpu_view *v)
{
    for (uint32_t sub = 0; sub < 32; sub++) {
        uint32_t reg[4] = {0};
        if (__get_cpuid_count(LEAF_STATE, sub, &reg[EAX], &reg[EBX], &reg[ECX], &reg[EDX]) &&
            (reg[EAX] || reg[EBX])) {
            uint32_t *out = leaf(v, LEAF_STATE, sub);
            if (sub == 0) {
                out[EAX] = (uint32_t)v->xcr0;
            } else if (sub > 1) {
                out[EAX] = reg[EAX];
                out[EDX] = reg[EDX];
            }
            out[EBX] = reg[EBX];
            out[ECX] = sub == 1 ? 0 : reg[ECX];
        }
    }
}

static bool in_list(const char *list, const char *name)
{
    for (const char *word = list; *word; word += strcspn(word, " "), word += strspn(word, " ")) {
        const size_t n = strcspn(word, " ");
        if (word[n - 1] == '*' ? strncmp(name, word, n - 1) == 0
                               : strlen(name) == n && strncmp(name, word, n) == 0) {
            return true;
        }
    }
    return false;
}

static bool host_has(const struct feature *f)
{
    uint32_t reg[4] = {0};
    return __get_cpuid_count(f->leaf, f->sub, &reg[EAX], &reg[EBX], &reg[ECX], &reg[EDX]) &&
           reg[f->reg] >> f->bit & 1;
}

int carm_cpu_find(const char *name, struct carm_cpu_view *out, struct carm_err *err)
{
    const struct named *c = NULL;
    memset(out, 0, sizeof *out);
    if (strcmp(name, "native") == 0) {
        return 0;
    }
    for (size_t i = 0; i < sizeof named / sizeof *named; i++) {
        c = strcmp(named[i].name, name) == 0 ? &named[i] : c;
    }
    if (!c) {
        return carm_fail(
            err, CARM_EINVAL,
            "--cpu is x86-64-v2, x86-64-v3, x86-64-v4, zen3, skylake-avx512 or native, "
            "not '%.40s'",
            name);
    }
    for (int i = 0; i < NFEATURES; i++) {
        if ((features[i].of & c->bit) && *features[i].sets && !host_has(&features[i])) {
            return carm_fail(err, CARM_ENOTSUP, "this machine lacks %s, which %s has",
                             features[i].name, name);
        }
    }
    enum { X87 = 1, SSE = 2, AVX = 4, AVX512 = 0xe0 };
    out->on = 1;
    out->xcr0 = (c->bit & FROM_V3) ? X87 | SSE | AVX | (c->bit & WIDE ? (unsigned)AVX512 : 0U) : 0;
    uint32_t *first = leaf(out, 0, 0);
    first[EAX] = LEAF_STATE;
    memcpy(&first[EBX], c->amd ? "Auth" : "Genu", 4);
    memcpy(&first[EDX], c->amd ? "enti" : "ineI", 4);
    memcpy(&first[ECX], c->amd ? "cAMD" : "ntel", 4);
    uint32_t *extended = leaf(out, LEAF_EXTENDED, 0);
    memcpy(extended, first, 4 * sizeof *first);
    extended[EAX] = LEAF_EXTENDED + (c->amd ? 0x1d : 8);
    uint32_t *basic = leaf(out, LEAF_FEATURES, 0);
    basic[EAX] = c->signature;
    basic[EBX] = 64 / 8 << 8; /* bytes that clflush flushes, divided by 8 */
    basic[EDX] = base_edx;
    leaf(out, LEAF_MORE, 0)[EAX] = 1;
    char brand[48] = "";
    snprintf(brand, sizeof brand, "%s as carm shows it", name);
    put_text(out, LEAF_EXTENDED + 2, brand, sizeof brand);
    leaf(out, LEAF_EXTENDED + 8, 0)[EAX] = 48U << 8 | 48U; /* bits of addresses */
    put_caches(out, c);
    if (out->xcr0) {
        put_state(out);
    }
    for (int i = 0; i < NFEATURES; i++) {
        const struct feature *f = &features[i];
        if (f->of & c->bit) {
            leaf(out, f->leaf, f->sub)[f->reg] |= 1U << f->bit;
        }
        for (int s = 1; s <= ZYDIS_ISA_SET_MAX_VALUE && !(f->of & c->bit); s++) {
            const char *set = ZydisISASetGetString((ZydisISASet)s);
            if (set && in_list(f->sets, set)) {
                out->lacks[s / 64] |= UINT64_C(1) << s % 64;
            }
        }
    }
    return 0;
}

char *carm_cpu_info(char *dst, size_t size, const char *name, const struct carm_cpu_view *view,
                    int cpus)
{
    const uint32_t signature = view->leaves[carm_cpu_view_find(view, LEAF_FEATURES, 0)].reg[EAX];
    const uint32_t family = signature >> 8 & 15;
    size_t used = 0;
    dst[0] = '\0';
    for (int cpu = 0; cpu < cpus && used < size; cpu++) {
        used += (size_t)snprintf(
            dst + used, size - used,
            "processor\t: %d\nvendor_id\t: %s\ncpu family\t: %u\nmodel\t\t: %u\n"
            "model name\t: %s as carm shows it\nstepping\t: %u\ncpu cores\t: %d\n"
            "flags\t\t: fpu vme de pse tsc msr pae mce cx8 apic sep mtrr pge mca cmov pat pse36 "
            "clflush mmx fxsr sse sse2",
            cpu, family == 15 ? "AuthenticAMD" : "GenuineIntel",
            family == 15 ? family + (signature >> 20 & 255) : family,
            (signature >> 4 & 15) | (signature >> 12 & 0xf0), name, signature & 15, cpus);
        for (int i = 0; i < NFEATURES && used < size; i++) {
            if (*features[i].name && has(view, &features[i])) {
                used += (size_t)snprintf(dst + used, size - used, " %s", features[i].name);
            }
        }
        used +=
            used < size ? (size_t)snprintf(dst + used, size - used, "\nclflush size\t: 64\n\n") : 0;
    }
    return dst;
}
