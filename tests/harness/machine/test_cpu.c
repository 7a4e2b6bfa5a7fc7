/* SPDX-License-Identifier: GPL-3.0-or-later */
/* This processor against what the kernel lists of it, and made-up processors with some features. */
#include <cpuid.h>

#include "harness/machine/cpu.h"
#include "tests/unit.h"

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

TEST(brands_have_no_blanks_around)
{
    static const char *const brands[][2] = {
        {"AMD EPYC 9454 48-Core Processor                ", "AMD EPYC 9454 48-Core Processor"},
        {"                Intel(R) Xeon(R)  CPU", "Intel(R) Xeon(R)  CPU"},
        {" a ", "a"},
        {"                                               ", ""},
        {"", ""}};
    for (size_t i = 0; i < sizeof brands / sizeof *brands; i++) {
        char brand[64 + 1];
        memset(brand, 'x', sizeof brand);
        (void)snprintf(brand, 64, "%s", brands[i][0]);
        carm_cpu_trim(brand);
        assert_string_equal(brand, brands[i][1]);
        assert_int_equal(brand[64], 'x');
    }
}

/* The hypervisor's name is known by the twelve letters that it writes, or it is "unknown". */
TEST(hypervisors_have_names)
{
    static const char *const known[][2] = {
        {"KVMKVMKVM", "KVM"},          {"Microsoft Hv", "Hyper-V"}, {"VMwareVMware", "VMware"},
        {"XenVMMXenVMM", "Xen"},       {"bhyve bhyve ", "bhyve"},   {"TCGTCGTCGTCG", "QEMU TCG"},
        {"VBoxVBoxVBox", "VirtualBox"}};
    struct carm_cpu cpu;
    char letters[13] = "";
    unsigned eax = 0, words[3] = {0};
    const char *name = "unknown";
    carm_cpu_read(&cpu);
    skip_if(!*cpu.hypervisor, "no hypervisor");
    __cpuid(0x40000000, eax, words[0], words[1], words[2]);
    memcpy(letters, words, 12);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        name = strcmp(letters, known[i][0]) == 0 ? known[i][1] : name;
    }
    assert_string_equal(cpu.hypervisor, name);
}

/* Two bits of each word are needed: one of them, and those of all other words, are not enough. */
TEST(each_bit_is_needed)
{
    static const struct carm_cpu_bits all = {0xe6, 0x18080201, 0x40010020, 0x4800, 0x3000000, 0x30};
    static const struct carm_cpu_bits halves[] = {{.xcr0 = 0x20},           {.leaf1_ecx = 0x200},
                                                  {.leaf7_ebx = 0x20},      {.leaf7_ecx = 0x800},
                                                  {.leaf7_edx = 0x1000000}, {.leaf7_1_eax = 0x10}};
    struct carm_cpu cpu = {.has = all};
    assert_true(carm_cpu_has_bits(&cpu, &all));
    assert_true(carm_cpu_has_bits(&cpu, &(struct carm_cpu_bits){0}));
    for (size_t i = 0; i < sizeof halves / sizeof *halves; i++) {
        const struct carm_cpu_bits *h = &halves[i];
        assert_true(carm_cpu_has_bits(&cpu, h));
        cpu.has = (struct carm_cpu_bits){
            all.xcr0 & ~h->xcr0,           all.leaf1_ecx & ~h->leaf1_ecx,
            all.leaf7_ebx & ~h->leaf7_ebx, all.leaf7_ecx & ~h->leaf7_ecx,
            all.leaf7_edx & ~h->leaf7_edx, all.leaf7_1_eax & ~h->leaf7_1_eax};
        assert_false(carm_cpu_has_bits(&cpu, &all));
        assert_false(carm_cpu_has_bits(&cpu, h));
        cpu.has = all;
    }
}

/* FMA beside AVX2 is a bit of its own; instructions of small numbers have theirs. */
TEST(operations_need_their_instructions)
{
    struct carm_cpu cpu = {.isa = {[CARM_SCALAR] = true, [CARM_SSE] = true, [CARM_AVX2] = true}};
    assert_true(carm_cpu_has_op(&cpu, CARM_AVX2, CARM_DP, CARM_ADD));
    assert_true(carm_cpu_has_op(&cpu, CARM_SSE, CARM_SP, CARM_SQRT));
    assert_false(carm_cpu_has_op(&cpu, CARM_AVX2, CARM_DP, CARM_FMA));
    assert_false(carm_cpu_has_op(&cpu, CARM_AVX, CARM_DP, CARM_ADD));
    cpu.fma = true;
    assert_true(carm_cpu_has_op(&cpu, CARM_AVX2, CARM_DP, CARM_FMA));
    assert_false(carm_cpu_has_op(&cpu, CARM_AVX, CARM_DP, CARM_FMA));
    assert_false(carm_cpu_has_op(&cpu, CARM_AVX512, CARM_DP, CARM_FMA));
    /* dot products of AVX2: AVX-VNNI */
    assert_true(carm_cpu_has_op(&cpu, CARM_AVX2, CARM_INT8, CARM_ADD));
    assert_false(carm_cpu_has_op(&cpu, CARM_AVX2, CARM_INT8, CARM_DOT));
    cpu.has.leaf7_1_eax = 1U << 4;
    assert_true(carm_cpu_has_op(&cpu, CARM_AVX2, CARM_INT8, CARM_DOT));
    cpu.isa[CARM_AVX2] = false;
    assert_false(carm_cpu_has_op(&cpu, CARM_AVX2, CARM_INT8, CARM_DOT));
    assert_false(carm_cpu_has_op(&cpu, CARM_AVX2, CARM_DP, CARM_DOT));
}

TEST(precisions_need_an_operation)
{
    struct carm_cpu cpu = {.isa = {[CARM_SSE] = true, [CARM_AVX512] = true, [CARM_AMX] = true}};
    assert_true(carm_cpu_has_precision(&cpu, CARM_SSE, CARM_DP));
    assert_false(carm_cpu_has_precision(&cpu, CARM_AVX2, CARM_DP));
    assert_true(carm_cpu_has_precision(&cpu, CARM_SSE, CARM_INT8));
    assert_false(carm_cpu_has_precision(&cpu, CARM_AVX2, CARM_INT8));
    assert_false(carm_cpu_has_precision(&cpu, CARM_SSE, CARM_FP16));
    assert_false(carm_cpu_has_precision(&cpu, CARM_AVX512, CARM_FP16));
    assert_false(carm_cpu_has_precision(&cpu, CARM_AVX512, CARM_BF16));
    assert_false(carm_cpu_has_precision(&cpu, CARM_AMX, CARM_DP));
    assert_false(carm_cpu_has_precision(&cpu, CARM_AMX, CARM_INT8));
    cpu.has = (struct carm_cpu_bits){.leaf7_edx = 1U << 23 | 1U << 25, .leaf7_1_eax = 1U << 5};
    assert_true(carm_cpu_has_precision(&cpu, CARM_AVX512, CARM_FP16)); /* 23 */
    assert_true(carm_cpu_has_precision(&cpu, CARM_AVX512, CARM_BF16)); /* 5 */
    assert_true(carm_cpu_has_precision(&cpu, CARM_AMX, CARM_INT8));    /* 25 */
    assert_false(carm_cpu_has_precision(&cpu, CARM_AMX, CARM_BF16));
}

/* The widest of the vectors; tiles are none. The refusal names it. */
TEST(the_widest_isa_is_the_best)
{
    struct carm_cpu cpu = {.isa = {[CARM_AMX] = true}};
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

/* Tiles of the size that codes set up. */
TEST(tiles_have_their_size)
{
    static const uint32_t palette[4] = {1024U << 16 | 8192, 8U << 16 | 64, 16, 0};
    static const uint32_t multiplier[4] = {0, 64U << 8 | 16, 0, 0};
    assert_true(carm_cpu_fits_tiles(palette, multiplier));
    for (int i = 0; i < 6; i++) { /* rows, bytes of a row or number of tiles too small by one */
        uint32_t p[4] = {palette[0], palette[1], palette[2], 0};
        uint32_t t[4] = {0, multiplier[1], 0, 0};
        uint32_t *const one[] = {&p[0], &p[1], &p[1], &p[2], &t[1], &t[1]};
        const uint32_t less[] = {1023U << 16 | 8192, 7U << 16 | 64, 8U << 16 | 63, 15,
                                 64U << 8 | 15,      63U << 8 | 16};
        *one[i] = less[i];
        assert_false(carm_cpu_fits_tiles(p, t));
    }
}
