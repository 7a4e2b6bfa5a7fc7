/* SPDX-License-Identifier: GPL-3.0-or-later */
/* This processor against what the kernel lists of it, planted processors, and made-up ones with some features. */
#include <cpuid.h>
#include <dlfcn.h>
#include <sys/syscall.h>

#include "harness/count/recipe.h"
#include "harness/machine/cpu.h"
#include "tests/unit.h"

/* A planted processor: a server with all that carm knows, as a guest of KVM. */
struct planted {
    uint32_t most, most_extended, leaf1_ecx, leaf7[4], leaf7_1_eax, tiles[3], product, flags, power;
    uint64_t xcr0;
    long permission; /* to use tiles: 0 = given */
    char brand[49], hypervisor[13];
};
static const struct planted server = {0x1e,
                                      0x80000008,
                                      0x98001000,
                                      {1, 0x10020, 0x800, 0x1000000},
                                      0x10,
                                      {1024U << 16, 8U << 16 | 64, 16},
                                      64U << 8 | 16,
                                      1U << 27,
                                      1U << 8,
                                      0x600e6,
                                      0,
                                      "   Any CPU with a name of all its 48 characters ",
                                      "KVMKVMKVM"};
static const struct planted *planted; /* NULL = this processor */

void carm_cpuid_leaf(uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    const struct planted *p = planted;
    if (!p) {
        __cpuid_count(leaf, subleaf, out[0], out[1], out[2], out[3]);
        return;
    }
    const uint32_t of[][6] = {
        {0, 0, p->most, 0x756e6547, 0x6c65746e, 0x49656e69}, /* GenuineIntel */
        {1, 0, 0x806f8, 0, p->leaf1_ecx},
        {7, 0, p->leaf7[0], p->leaf7[1], p->leaf7[2], p->leaf7[3]},
        {7, 1, p->leaf7_1_eax},
        {0x1d, 1, p->tiles[0], p->tiles[1], p->tiles[2]},
        {0x1e, 0, 0, p->product},
        {0x80000000, 0, p->most_extended},
        {0x80000001, 0, 0, 0, 0, p->flags},
        {0x80000007, 0, 0, 0, 0, p->power}};
    memset(out, 'X', 16); /* junk in leaves that there are not */
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        if (of[i][0] == leaf && of[i][1] == subleaf) {
            memcpy(out, &of[i][2], 16);
        }
    }
    if (subleaf == 0 && leaf >= 0x80000002 && leaf <= 0x80000004) {
        memcpy(out, p->brand + (size_t)16 * (leaf - 0x80000002), 16);
    } else if (subleaf == 0 && leaf == 0x40000000) {
        memcpy(&out[1], p->hypervisor, 12);
    }
}

uint64_t carm_cpu_xcr0(void)
{
    uint32_t lo = 0, hi = 0;
    if (!planted) {
        __asm__ volatile("xgetbv" : "=a"(lo), "=d"(hi) : "c"(0));
    }
    return planted ? planted->xcr0 : (uint64_t)hi << 32 | lo;
}

/* In place of the library's. */
long syscall(long number, ...)
{
    static long (*real)(long, ...);
    void *const found = real ? NULL : dlsym(RTLD_NEXT, "syscall");
    va_list list;
    long args[2];
    va_start(list, number);
    args[0] = va_arg(list, long);
    args[1] = va_arg(list, long);
    va_end(list);
    if (found) {
        memcpy(&real, &found, sizeof real);
    }
    return planted && number == SYS_arch_prctl && args[0] == 0x1023 && args[1] == 18
               ? planted->permission
               : real(number, args[0], args[1]);
}

/* The value of a key of the first processor in /proc/cpuinfo, with a blank before it and behind it, and blanks that
 * follow one another as one. */
static const char *kernel_says(const char *key, char *line, size_t size)
{
    FILE *f = fopen("/proc/cpuinfo", "r");
    bool found = false;
    assert_non_null(f);
    while (!found && fgets(line, (int)size, f)) {
        found = strncmp(line, key, strlen(key)) == 0 && line[strlen(key)] == '\t';
    }
    (void)fclose(f);
    fail_if(!found, "/proc/cpuinfo has no %s", key);
    line[strcspn(line, "\n")] = ' ';
    return strchr(line, ':') + 1;
}

TEST(the_kernel_lists_the_same)
{
    struct carm_cpu cpu;
    char line[16384];
    char text[128];
    carm_cpu_read(&cpu);
    (void)snprintf(text, sizeof text, " %s ", cpu.vendor);
    assert_string_equal(kernel_says("vendor_id", line, sizeof line), text);
    (void)snprintf(text, sizeof text, " %s ", cpu.brand);
    assert_string_equal(kernel_says("model name", line, sizeof line), text);
    assert_int_equal(atoi(kernel_says("cpu family", line, sizeof line)), cpu.family);
    assert_int_equal(atoi(kernel_says("model", line, sizeof line)), cpu.model);
    const char *flags = kernel_says("flags", line, sizeof line);
    const struct {
        const char *flags[2]; /* of the kernel; all of them */
        bool has;
    } rows[] = {{{" avx "}, cpu.isa[CARM_AVX]},
                {{" avx2 ", " fma "}, cpu.isa[CARM_AVX2]},
                {{" avx512f "}, cpu.isa[CARM_AVX512]},
                {{" amx_tile ", " amx_int8 "}, cpu.isa[CARM_AMX]},
                {{" fma "}, cpu.fma},
                {{" rdtscp "}, cpu.rdtscp},
                {{" nonstop_tsc "}, cpu.invariant_tsc},
                {{" avx512_vnni "}, cpu.has.leaf7_ecx >> 11 & 1},
                {{" avx512bw "}, cpu.has.leaf7_ebx >> 30 & 1},
                {{" avx512_fp16 "}, cpu.has.leaf7_edx >> 23 & 1},
                {{" avx512_bf16 "}, cpu.has.leaf7_1_eax >> 5 & 1},
                {{" hypervisor "}, cpu.hypervisor[0] != '\0'}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *const *f = rows[i].flags;
        const bool listed = strstr(flags, f[0]) && (!f[1] || strstr(flags, f[1]));
        fail_if(listed != rows[i].has, "%s: %d, the kernel %d", f[0], rows[i].has, listed);
    }
    assert_true(cpu.isa[CARM_SCALAR] && cpu.isa[CARM_SSE]);
}

/* Each word of CPUID and XCR0 in turn is another one. */
TEST(processors_are_what_they_say)
{
#define WORD(member, word) offsetof(struct planted, member), word
#define ALL                "scalar sse avx avx2 avx512 amx "
#define AS_SET             " 600e6 10020 800 1000000 10 "
#define NO_TILES           "scalar sse avx avx2 avx512 - 111" AS_SET NAMED
#define NAMED              "KVM 'Any CPU with a name of all its 48 characters'"
    static const struct {
        size_t at;
        uint32_t word;
        const char *text;
    } rows[] = {
        {WORD(most, 0x1e), ALL "111" AS_SET NAMED},
        {WORD(most, 0x1d), NO_TILES},
        {WORD(most, 7), NO_TILES},
        {WORD(most, 6), "scalar sse avx - - - 111 600e6 0 0 0 0 " NAMED},
        {WORD(leaf7[0], 0), ALL "111 600e6 10020 800 1000000 0 " NAMED},
        {WORD(leaf7[0], 2), ALL "111" AS_SET NAMED},
        {WORD(permission, 1), NO_TILES},
        {WORD(product, 63U << 8 | 16), NO_TILES}, /* a tile is a byte or a row smaller */
        {WORD(product, 64U << 8 | 15), NO_TILES},
        {WORD(tiles[0], 1023U << 16), NO_TILES},
        {WORD(tiles[1], 7U << 16 | 64), NO_TILES},
        {WORD(tiles[1], 8U << 16 | 63), NO_TILES},
        {WORD(tiles[2], 15), NO_TILES},
        {WORD(tiles[2], 17), ALL "111" AS_SET NAMED},
        {WORD(leaf1_ecx, 0x18001000),
         ALL "111" AS_SET " 'Any CPU with a name of all its 48 characters'"},
        {WORD(leaf1_ecx, 0x90001000), "scalar sse - - - - 011 0 10020 800 1000000 10 " NAMED},
        {WORD(leaf1_ecx, 0x98000000), "scalar sse avx - - amx 011" AS_SET NAMED},
        {WORD(xcr0, 0x60003), "scalar sse - - - amx 011 60003 10020 800 1000000 10 " NAMED},
        {WORD(flags, ~(1U << 27)), ALL "101" AS_SET NAMED},
        {WORD(power, ~(1U << 8)), ALL "110" AS_SET NAMED},
        {WORD(most_extended, 0x80000006), ALL "110" AS_SET NAMED},
        {WORD(most_extended, 0x80000001), ALL "110" AS_SET "KVM 'GenuineIntel'"},
        {WORD(most_extended, 0), ALL "100" AS_SET "KVM 'GenuineIntel'"},
        {WORD(brand, 0), ALL "111" AS_SET "KVM 'GenuineIntel'"},
        {WORD(brand, 'x'), ALL "111" AS_SET "KVM 'x'"},
        {WORD(hypervisor, 'k'),
         ALL "111" AS_SET "unknown 'Any CPU with a name of all its 48 characters'"}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct planted p = server;
        struct carm_cpu cpu;
        char text[256];
        size_t n = 0;
        memcpy((char *)&p + rows[i].at, &rows[i].word, sizeof rows[i].word);
        planted = &p;
        carm_cpu_read(&cpu);
        planted = NULL;
        for (int k = 0; k < CARM_ISA_COUNT; k++) {
            n += (size_t)snprintf(text + n, sizeof text - n, "%s ",
                                  cpu.isa[k] ? carm_isa_name((enum carm_isa)k) : "-");
        }
        (void)snprintf(text + n, sizeof text - n, "%d%d%d %llx %x %x %x %x %s '%s'", cpu.fma,
                       cpu.rdtscp, cpu.invariant_tsc, (unsigned long long)cpu.has.xcr0,
                       cpu.has.leaf7_ebx, cpu.has.leaf7_ecx, cpu.has.leaf7_edx, cpu.has.leaf7_1_eax,
                       cpu.hypervisor, cpu.brand);
        assert_string_equal(text, rows[i].text);
        assert_int_equal(cpu.has.leaf1_ecx, p.leaf1_ecx);
        assert_string_equal(cpu.vendor, "GenuineIntel");
        assert_int_equal(cpu.family, 6);
        assert_int_equal(cpu.model, 143);
    }
}

/* The hypervisor's name is known by the twelve letters that it writes. */
TEST(hypervisors_have_names)
{
    static const char *const known[][2] = {
        {"KVMKVMKVM", "KVM"},          {"Microsoft Hv", "Hyper-V"}, {"VMwareVMware", "VMware"},
        {"XenVMMXenVMM", "Xen"},       {"bhyve bhyve ", "bhyve"},   {"TCGTCGTCGTCG", "QEMU TCG"},
        {"VBoxVBoxVBox", "VirtualBox"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct planted p = server;
        struct carm_cpu cpu;
        memset(p.hypervisor, 0, sizeof p.hypervisor);
        memcpy(p.hypervisor, known[i][0], strlen(known[i][0]));
        planted = &p;
        carm_cpu_read(&cpu);
        planted = NULL;
        assert_string_equal(cpu.hypervisor, known[i][1]);
    }
}

/* FMA beside AVX2 is a bit of its own; instructions of small numbers have theirs, beside their ISA. */
TEST(operations_need_their_instructions)
{
    static const struct {
        enum carm_isa isa;
        enum carm_precision precision;
        enum carm_op op;
        struct carm_cpu_bits needs;
    } forms[] = {
        {CARM_AVX512, CARM_BF16, CARM_DOT, {.leaf7_1_eax = 1U << 5}},
        {CARM_AVX512, CARM_FP16, CARM_FMA, {.leaf7_edx = 1U << 23}},
        {CARM_AVX512, CARM_INT8, CARM_DOT, {.leaf7_ecx = 1U << 11}},
        {CARM_AVX2, CARM_INT8, CARM_DOT, {.leaf7_1_eax = 1U << 4}},
        {CARM_AVX512, CARM_INT16, CARM_DOT, {.leaf7_ecx = 1U << 11}},
        {CARM_AVX512, CARM_INT64, CARM_IFMA, {.leaf7_ebx = 1U << 21}},
        {CARM_AVX2, CARM_INT64, CARM_IFMA, {.leaf7_1_eax = 1U << 23}},
        {CARM_AVX512, CARM_INT64, CARM_MUL, {.leaf7_ebx = 1U << 17}},
        {CARM_AVX512, CARM_INT8, CARM_ADD, {.leaf7_ebx = 1U << 30}},
        {CARM_AVX512, CARM_INT8, CARM_POPCNT, {.leaf7_ecx = 1U << 12}},
        {CARM_AVX512, CARM_INT64, CARM_POPCNT, {.leaf7_ecx = 1U << 14}},
        {CARM_SSE, CARM_INT32, CARM_MUL, {.leaf1_ecx = 1U << 19}},
        {CARM_AMX, CARM_BF16, CARM_DOT, {.leaf7_edx = 1U << 22}},
        {CARM_AMX, CARM_INT8, CARM_DOT, {.leaf7_edx = 1U << 25}},
        {CARM_AMX, CARM_FP16, CARM_DOT, {.leaf7_1_eax = 1U << 21}},
    };
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        const enum carm_isa isa = forms[i].isa;
        struct carm_cpu cpu = {.fma = true};
        cpu.isa[isa] = true;
        assert_false(carm_cpu_has_op(&cpu, isa, forms[i].precision, forms[i].op));
        cpu.has = forms[i].needs;
        assert_true(carm_cpu_has_op(&cpu, isa, forms[i].precision, forms[i].op));
        assert_true(carm_cpu_has_precision(&cpu, isa, forms[i].precision));
        assert_false(carm_cpu_has_op(&cpu, isa, CARM_DP, CARM_DOT));
        cpu.isa[isa] = false;
        assert_false(carm_cpu_has_op(&cpu, isa, forms[i].precision, forms[i].op));
        assert_false(carm_cpu_has_precision(&cpu, isa, forms[i].precision));
    }
    struct carm_cpu cpu = {.isa = {[CARM_SSE] = true, [CARM_AVX2] = true, [CARM_AVX512] = true}};
    assert_true(carm_cpu_has_op(&cpu, CARM_AVX2, CARM_DP, CARM_ADD));
    assert_false(carm_cpu_has_op(&cpu, CARM_AVX2, CARM_DP, CARM_FMA));
    assert_false(carm_cpu_has_op(&cpu, CARM_AVX, CARM_DP, CARM_ADD));
    cpu.fma = true;
    assert_true(carm_cpu_has_op(&cpu, CARM_AVX2, CARM_DP, CARM_FMA));
    assert_false(carm_cpu_has_op(&cpu, CARM_AVX, CARM_DP, CARM_FMA));
    assert_true(carm_cpu_has_precision(&cpu, CARM_SSE, CARM_DP));
    assert_false(carm_cpu_has_precision(&cpu, CARM_AVX, CARM_DP));
    assert_true(carm_cpu_has_precision(&cpu, CARM_AVX512, CARM_INT8)); /* logic, at least */
    assert_false(carm_cpu_has_precision(&cpu, CARM_AVX512, CARM_BF16));
    cpu.isa[CARM_AMX] = cpu.isa[CARM_SCALAR] = true;
    assert_false(carm_cpu_has_precision(&cpu, CARM_AMX, CARM_DP));
    assert_false(carm_cpu_has_precision(&cpu, CARM_AMX, CARM_INT8));
    assert_false(carm_cpu_has_precision(&cpu, CARM_SCALAR, CARM_INT8));
}

/* The widest of the vectors; tiles are none. The refusal names it. */
TEST(the_widest_isa_is_the_best)
{
    struct carm_cpu cpu = {.isa = {[CARM_AMX] = true}};
    assert_int_equal(carm_cpu_best_isa(&cpu), CARM_SCALAR);
    for (int i = CARM_SCALAR; i <= CARM_AVX512; i++) {
        char words[64];
        cpu.isa[i] = true;
        assert_int_equal(carm_cpu_best_isa(&cpu), i);
        assert_ok(carm_cpu_check(&cpu, (enum carm_isa)i, &err));
        if (i < CARM_AVX512) {
            (void)snprintf(words, sizeof words, "does not have avx512: choose %s or",
                           carm_isa_name((enum carm_isa)i));
            assert_refused(carm_cpu_check(&cpu, CARM_AVX512, &err), -CARM_ENOTSUP, words);
        }
    }
}

/* Machines of their own have a true family and model. */
TEST(guests_have_widest_vectors)
{
    struct carm_cpu cpu = {.isa = {[CARM_SSE] = true, [CARM_AVX] = true, [CARM_AVX2] = true}};
    assert_int_equal(carm_cpu_guest_bytes(&cpu), 0);
    (void)snprintf(cpu.hypervisor, sizeof cpu.hypervisor, "KVM");
    assert_int_equal(carm_cpu_guest_bytes(&cpu), 32);
    cpu.isa[CARM_AMX] = true;
    assert_int_equal(carm_cpu_guest_bytes(&cpu), 1024);
}
