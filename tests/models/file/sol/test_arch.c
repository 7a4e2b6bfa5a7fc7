/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Architectures under a DNN graph: each key is read to its place, each fault refused with its line,
 * and those that carm carries are whole. A measured model's: tests/models/sol/test_arch_model.c */

#include "models/file/sol/arch.h"
#include "models/file/sol/open.h"
#include "models/file/sol/yaml.h"
#include "models/sol/arch.h"
#include "tests/unit.h"

#define HEAD "name: A\nfreq_GHz: 1.5\nDRAM_byte_per_cycle: 100\n" /* lines 1 to 3 */
#define GOOD HEAD "MAC_per_cycle_fp16_tc: 64\n"                   /* line 4 */

static int parse(const char *text, struct carm_sol_arch *arch, struct carm_err *failure)
{
    failure->text[0] = '\0';
    return carm_sol_arch_parse(text, strlen(text), "a.yaml", arch, failure);
}

static void parse_good(const char *text, struct carm_sol_arch *arch)
{
    assert_ok(parse(text, arch, &err));
}

TEST(every_key_is_read)
{
    static const char text[] = "# a comment\n"
                               "name: \"My chip\"\n"
                               "source: a data sheet, page 4\n"
                               "freq_GHz: 1.25\n"
                               "DRAM_byte_per_cycle: 2e3\n"
                               "DRAM_capacity: 85899345920\n"
                               "SRAM_capacity: 4611686018427387904\n"
                               "SRAM_byte_per_cycle: 10000\n"
                               "MAC_per_cycle_fp64_sm: 1\n"
                               "MAC_per_cycle_fp32_sm: 2\n"
                               "MAC_per_cycle_tf32_tc: 3\n"
                               "MAC_per_cycle_fp16_tc: 4.5\n"
                               "MAC_per_cycle_bf16_tc: 5\n"
                               "MAC_per_cycle_fp8_tc: 6\n"
                               "MAC_per_cycle_int8_tc: 7\n"
                               "MAC_per_cycle_nvfp4_tc: 8\n"
                               "a_key_of_others: [1, {deep: [2]}]\n";
    static const double mac[CARM_SOL_PRECISIONS] = {1, 2, 3, 4.5, 5, 6, 7, 8};
    struct carm_sol_arch a;
    parse_good(text, &a);
    assert_string_equal(a.name, "My chip");
    assert_string_equal(a.source, "a data sheet, page 4");
    assert_near(a.freq_ghz, 1.25, 0);
    assert_near(a.dram_byte_per_cycle, 2000, 0);
    assert_int_equal(a.dram_capacity, 85899345920);
    assert_int_equal(a.nlevels, 1);
    assert_string_equal(a.levels[0].name, "SRAM");
    assert_true(a.levels[0].capacity == (uint64_t)1 << 62);
    assert_near(a.levels[0].byte_per_cycle, 10000, 0);
    assert_false(a.measured);
    for (int i = 0; i < CARM_SOL_PRECISIONS; i++) {
        assert_near(a.mac_per_cycle[i], mac[i], 0);
        assert_near(a.other_per_cycle[i], i == CARM_SOL_FP64 ? 1 : 2, 0);
    }
}

TEST(the_optional_may_lack)
{
    struct carm_sol_arch a;
    parse_good(GOOD, &a);
    assert_string_equal(a.source, "a.yaml"); /* the file's name */
    assert_int_equal(a.nlevels, 0);
    assert_int_equal(a.dram_capacity, 0);
    for (int i = 0; i < CARM_SOL_PRECISIONS; i++) {
        assert_near(a.mac_per_cycle[i], i == CARM_SOL_FP16 ? 64 : 0, 0);
        assert_near(a.other_per_cycle[i], 0, 0); /* no fp32_sm: no rate of other operations */
    }
    parse_good(GOOD "SRAM_capacity: null\nDRAM_capacity:\nMAC_per_cycle_fp8_tc: ~\n", &a);
    assert_int_equal(a.nlevels, 0);
    assert_near(a.mac_per_cycle[CARM_SOL_FP8], 0, 0);
    parse_good(GOOD "SRAM_capacity: 5\n", &a); /* of unknown bandwidth */
    assert_int_equal(a.nlevels, 1);
    assert_int_equal(a.levels[0].capacity, 5);
    assert_near(a.levels[0].byte_per_cycle, 0, 0);
    parse_good(GOOD "SRAM_byte_per_cycle: 7\n", &a); /* of unknown size */
    assert_int_equal(a.nlevels, 1);
    assert_int_equal(a.levels[0].capacity, 0);
    parse_good(GOOD "SRAM_capacity: 9007199254740993\n", &a); /* 2^53 + 1 */
    assert_true(a.levels[0].capacity == 9007199254740993);
}

/* fp64's own rate holds whichever key stands first. */
TEST(the_order_of_keys_is_nothing)
{
    static const char *const texts[] = {
        HEAD "MAC_per_cycle_fp32_sm: 8\nMAC_per_cycle_fp64_sm: 4\n",
        HEAD "MAC_per_cycle_fp64_sm: 4\nMAC_per_cycle_fp32_sm: 8\n",
    };
    for (size_t i = 0; i < 2; i++) {
        struct carm_sol_arch a;
        parse_good(texts[i], &a);
        assert_near(a.other_per_cycle[CARM_SOL_FP64], 4, 0);
        assert_near(a.other_per_cycle[CARM_SOL_FP32], 8, 0);
        assert_near(a.other_per_cycle[CARM_SOL_BF16], 8, 0);
    }
}

#define RATES                                                               \
    "MAC_per_cycle_fp64_sm, MAC_per_cycle_fp32_sm, MAC_per_cycle_tf32_tc, " \
    "MAC_per_cycle_fp16_tc, MAC_per_cycle_bf16_tc, MAC_per_cycle_fp8_tc, "  \
    "MAC_per_cycle_int8_tc, MAC_per_cycle_nvfp4_tc, MAC_per_cycle_fp32_tc"
#define PER_CYCLE                                                                       \
    ", which looks like byte/s or GB/s: this key is bytes per cycle; divide byte/s by " \
    "freq_GHz x 1e9"

static const struct {
    const char *text, *message; /* the message after "a.yaml, " */
} refused[] = {
    {"- a\n", "line 1: an architecture is a map of keys and values, such as `freq_GHz: 1.5`"},
    {"freq_GHz: 1\n", "line 1: the architecture has no name: add the key with its value"},
    {"name: A\nMAC_per_cycle_fp16_tc: 1\n",
     "line 1: the architecture has no freq_GHz: add the key with its value"},
    {"\nname: A\nfreq_GHz: 1\n",
     "line 2: the architecture has no DRAM_byte_per_cycle: add the key with its value"},
    {"name: A\nfreq_GHz: ~\nDRAM_byte_per_cycle: 1\n",
     "line 1: the architecture has no freq_GHz: add the key with its value"},
    {HEAD,
     "line 1: the architecture has no rate of multiply-accumulates: give at least one of " RATES},
    {GOOD "MAC_per_cycle_fp16: 3\n",
     "line 5: MAC_per_cycle_fp16 is not a rate that carm knows: give " RATES},
    {GOOD "\"MAC_\\e[1m\": 3\n", "line 5: MAC_?[1m is not a rate that carm knows: give " RATES},
    {GOOD "freq_GHz: 2\n", "line 5: freq_GHz is given twice: keep one"},
    {GOOD "SRAM_capacity: ~\nSRAM_capacity: 1\n", "line 6: SRAM_capacity is given twice: keep one"},
    {GOOD "name: B\n", "line 5: name is given twice: keep one"},
    {GOOD "note: a\nnote: a\n", "line 6: note is given twice: keep one"},
    {GOOD "source: a\nsource: a\n", "line 6: source is given twice: keep one"},
    {GOOD "SRAM_capacity: [1]\n",
     "line 5: SRAM_capacity is a list, not a whole number from 0 to 9223372036854775807 in digits"},
    {GOOD "SRAM_byte_per_cycle: {a: 1}\n", "line 5: SRAM_byte_per_cycle is a map, not a number"},
    {GOOD "source: [a]\n", "line 5: source is a list or a map: give text"},
    {"name:\n", "line 1: name is empty: give text"},
    {"name: \"\"\n", "line 1: name is empty: give text"},
    {"name: \"a\\tb\"\n", "line 1: name has a control character"},
    {"name: 0123456789012345678901234567890123456789012345678901234567890123456789012345678a\n",
     "line 1: name has 80 bytes: 79 is the most"},
    {"? [a]\n: 1\n", "line 1: a key that is a map or a list, not text"},
    {GOOD "---\nname: B\n", NULL},
    {"name: &a A\n", NULL},
    {GOOD "SRAM_capacity: 1.5\n", NULL},
    {GOOD "SRAM_capacity: -1\n", NULL},
    {GOOD "SRAM_byte_per_cycle: .inf\n", NULL},
    {GOOD "SRAM_byte_per_cycle: .nan\n", NULL},
    {GOOD "SRAM_byte_per_cycle: \"7\"\n", NULL},
    {GOOD "SRAM_capacity: 4611686018427387905\n",
     "line 5: SRAM_capacity is 4611686018427387905 bytes: 2^62 is the most"},
    {"name: A\nfreq_GHz: 0\n", "line 2: freq_GHz is 0: give GHz, 0.05 to 20"},
    {"name: A\nfreq_GHz: -1\n", "line 2: freq_GHz is -1: give GHz, 0.05 to 20"},
    {"name: A\nfreq_GHz: 1500\n",
     "line 2: freq_GHz is 1500, which looks like MHz: give GHz, 0.05 to 20"},
    {"name: A\nfreq_GHz: 1.5e9\n",
     "line 2: freq_GHz is 1.5e+09, which looks like hertz: give GHz, 0.05 to 20"},
    {"DRAM_byte_per_cycle: 0\n", "line 1: DRAM_byte_per_cycle is 0: give a bandwidth above 0"},
    {"DRAM_byte_per_cycle: -3\n", "line 1: DRAM_byte_per_cycle is -3: give a bandwidth above 0"},
    {"DRAM_byte_per_cycle: 2.039e12\n", "line 1: DRAM_byte_per_cycle is 2.039e+12" PER_CYCLE},
    {"DRAM_byte_per_cycle: 100001\n", "line 1: DRAM_byte_per_cycle is 100001" PER_CYCLE},
    {"SRAM_byte_per_cycle: 1.1e8\n", "line 1: SRAM_byte_per_cycle is 1.1e+08" PER_CYCLE},
    {"SRAM_byte_per_cycle: 0\n", "line 1: SRAM_byte_per_cycle is 0: give a bandwidth above 0"},
    {"SRAM_byte_per_cycle: 20000000000000\n", "line 1: SRAM_byte_per_cycle is 2e+13" PER_CYCLE},
    {"MAC_per_cycle_fp8_tc: 0\n",
     "line 1: MAC_per_cycle_fp8_tc is 0: give a rate above 0, or leave out the key where the machine has no such unit"},
    {"MAC_per_cycle_fp8_tc: -1\n",
     "line 1: MAC_per_cycle_fp8_tc is -1: give a rate above 0, or leave out the key where the machine has no such unit"},
    {"MAC_per_cycle_fp8_tc: 1e9\n",
     "line 1: MAC_per_cycle_fp8_tc is 1e+09, which looks like operations a second: this key is "
     "multiply-accumulates per cycle; divide flop/s by 2 x freq_GHz x 1e9"},
    {"", NULL},
    {"a: [\n", NULL},
};

TEST(every_fault_is_refused)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct carm_sol_arch a = {.freq_ghz = 42.0};
        err = (struct carm_err){""};
        char wanted[512];
        fail_if(parse(refused[i].text, &a, &err) != -CARM_EFORMAT, "not refused: %s",
                refused[i].text);
        assert_near(a.freq_ghz, 42.0, 0); /* untouched */
        if (refused[i].message) {
            (void)snprintf(wanted, sizeof wanted, "a.yaml, %s", refused[i].message);
            assert_string_equal(err.text, wanted);
        } else if (strncmp(err.text, "a.yaml, line ", 13) != 0) {
            fail_msg("no file and line: %s", err.text);
        }
    }
}

/* The limits themselves are read. */
TEST(limits_are_read)
{
    struct carm_sol_arch a;
    parse_good("name: A\nfreq_GHz: 0.05\nDRAM_byte_per_cycle: 1e5\nSRAM_byte_per_cycle: 1e8\n"
               "MAC_per_cycle_int8_tc: 999999999\nSRAM_capacity: 0\n",
               &a);
    assert_near(a.mac_per_cycle[CARM_SOL_INT8], 999999999, 0);
    parse_good("name: A\nfreq_GHz: 20\nDRAM_byte_per_cycle: 1e-3\nMAC_per_cycle_int8_tc: 1e-3\n",
               &a);
    assert_near(a.freq_ghz, 20, 0);
}

TEST(the_name_is_the_source)
{
    struct carm_sol_arch a = {.freq_ghz = 42.0};
    assert_ok(carm_sol_arch_parse(GOOD, strlen(GOOD), "a.yaml", &a, &err));
    assert_string_equal(a.name, "A");
    assert_string_equal(a.source, "a.yaml");
    assert_refused(
        carm_sol_arch_parse(GOOD "MAC_x: 1\n", strlen(GOOD "MAC_x: 1\n"), "a.yaml", &a, &err),
        -CARM_EFORMAT, "a.yaml");
    assert_non_null(strstr(err.text, "line 5: MAC_x"));
}

static void set(struct carm_sol_arch *a, const char *key, double value)
{
    assert_ok(carm_sol_arch_set(a, key, value, &err));
}

TEST(every_key_is_set)
{
    static const struct {
        const char *key;
        enum carm_sol_precision precision;
    } rates[] = {
        {"MAC_per_cycle_tf32_tc", CARM_SOL_TF32}, {"MAC_per_cycle_fp16_tc", CARM_SOL_FP16},
        {"MAC_per_cycle_bf16_tc", CARM_SOL_BF16}, {"MAC_per_cycle_fp8_tc", CARM_SOL_FP8},
        {"MAC_per_cycle_int8_tc", CARM_SOL_INT8}, {"MAC_per_cycle_nvfp4_tc", CARM_SOL_NVFP4},
    };
    struct carm_sol_arch a;
    parse_good(GOOD, &a);
    set(&a, "freq_GHz", 2);
    set(&a, "DRAM_byte_per_cycle", 2000);
    set(&a, "DRAM_capacity", 1e12);
    set(&a, "SRAM_capacity", 1 << 20);
    set(&a, "SRAM_byte_per_cycle", 9);
    set(&a, "MAC_per_cycle_fp32_sm", 5);
    assert_near(a.freq_ghz, 2, 0);
    assert_near(a.dram_byte_per_cycle, 2000, 0);
    assert_int_equal(a.dram_capacity, 1000000000000);
    assert_int_equal(a.nlevels, 1);
    assert_int_equal(a.levels[0].capacity, 1 << 20);
    assert_near(a.levels[0].byte_per_cycle, 9, 0);
    assert_near(a.mac_per_cycle[CARM_SOL_FP32], 5, 0);
    for (size_t i = 0; i < sizeof rates / sizeof *rates; i++) {
        set(&a, rates[i].key, 10 + (double)i);
        assert_near(a.mac_per_cycle[rates[i].precision], 10 + (double)i, 0);
        assert_near(a.other_per_cycle[rates[i].precision], 5, 0);
        assert_string_equal(carm_sol_arch_mac_key(&a, rates[i].precision), rates[i].key);
    }
    set(&a, "MAC_per_cycle_fp64_sm", 3);
    assert_near(a.mac_per_cycle[CARM_SOL_FP64], 3, 0);
    assert_near(a.other_per_cycle[CARM_SOL_FP64], 3, 0);
}

/* fp32_tc is the rate of contractions alone, whichever key comes first */
TEST(tensor_cores_of_fp32)
{
    static const char *const orders[] = {
        "name: A\nfreq_GHz: 1\nDRAM_byte_per_cycle: 1\nMAC_per_cycle_fp32_sm: 5\n"
        "MAC_per_cycle_fp32_tc: 40\nnote: halve it\n",
        "MAC_per_cycle_fp32_tc: 40\nMAC_per_cycle_fp32_sm: 5\nname: A\nnote: 'halve it'\n"
        "freq_GHz: 1\nDRAM_byte_per_cycle: 1\n"};
    for (size_t i = 0; i < 2; i++) {
        struct carm_sol_arch a;
        parse_good(orders[i], &a);
        assert_near(a.mac_per_cycle[CARM_SOL_FP32], 40, 0);
        assert_near(a.other_per_cycle[CARM_SOL_FP32], 5, 0);
        assert_near(a.other_per_cycle[CARM_SOL_FP16], 5, 0);
        assert_string_equal(carm_sol_arch_mac_key(&a, CARM_SOL_FP32), "MAC_per_cycle_fp32_tc");
        assert_string_equal(a.note, "halve it");
        set(&a, "MAC_per_cycle_fp32_sm", 6);
        assert_near(a.mac_per_cycle[CARM_SOL_FP32], 40, 0);
        assert_near(a.other_per_cycle[CARM_SOL_FP32], 6, 0);
        set(&a, "MAC_per_cycle_fp32_tc", 80);
        assert_near(a.mac_per_cycle[CARM_SOL_FP32], 80, 0);
    }
    struct carm_sol_arch a;
    parse_good("name: A\nfreq_GHz: 1\nDRAM_byte_per_cycle: 1\nMAC_per_cycle_fp32_sm: 5\n", &a);
    assert_string_equal(carm_sol_arch_mac_key(&a, CARM_SOL_FP32), "MAC_per_cycle_fp32_sm");
    assert_string_equal(a.note, "");
}

TEST(a_measured_cpu_is_set)
{
    struct carm_sol_arch a = {.measured = true, .nlevels = 2};
    a.levels[0] = (struct carm_sol_level){.name = "L1", .capacity = 1, .byte_per_cycle = 1};
    a.levels[1] = (struct carm_sol_level){.name = "L2", .capacity = 2, .byte_per_cycle = 2};
    a.other_per_cycle[CARM_SOL_FP64] = 7;
    set(&a, "SRAM_capacity", 99);
    set(&a, "SRAM_byte_per_cycle", 98);
    set(&a, "MAC_per_cycle_fp32_sm", 97);
    assert_int_equal(a.levels[0].capacity, 1); /* the last level alone */
    assert_int_equal(a.levels[1].capacity, 99);
    assert_near(a.levels[1].byte_per_cycle, 98, 0);
    assert_near(a.mac_per_cycle[CARM_SOL_FP32], 97, 0);
    assert_near(a.other_per_cycle[CARM_SOL_FP32], 97, 0);
    assert_near(a.other_per_cycle[CARM_SOL_FP64], 7, 0); /* dp's own */
}

TEST(bad_sets_are_refused)
{
    static const struct {
        const char *key;
        double value;
        const char *message;
    } bad[] = {
        {"freq", 1,
         "freq cannot be set: give one of freq_GHz, DRAM_byte_per_cycle, DRAM_capacity, "
         "SRAM_capacity, SRAM_byte_per_cycle, " RATES},
        {"freq_GHz", 0.04, "freq_GHz is 0.04: give GHz, 0.05 to 20"},
        {"freq_GHz", NAN, "freq_GHz is nan: give GHz, 0.05 to 20"},
        {"DRAM_byte_per_cycle", 0, "DRAM_byte_per_cycle is 0: give a bandwidth above 0"},
        {"DRAM_byte_per_cycle", NAN, "DRAM_byte_per_cycle is nan: give a bandwidth above 0"},
        {"DRAM_byte_per_cycle", INFINITY, "DRAM_byte_per_cycle is inf" PER_CYCLE},
        {"SRAM_byte_per_cycle", 1e12, "SRAM_byte_per_cycle is 1e+12" PER_CYCLE},
        {"SRAM_capacity", 1.5,
         "SRAM_capacity is 1.5: give bytes, an integer from 0 (not known) to 2^62"},
        {"SRAM_capacity", -1,
         "SRAM_capacity is -1: give bytes, an integer from 0 (not known) to 2^62"},
        {"DRAM_capacity", 1e19,
         "DRAM_capacity is 1e+19: give bytes, an integer from 0 (not known) to 2^62"},
        {"DRAM_capacity", NAN,
         "DRAM_capacity is nan: give bytes, an integer from 0 (not known) to 2^62"},
        {"MAC_per_cycle_fp16_tc", 0,
         "MAC_per_cycle_fp16_tc is 0: give a rate above 0, or leave out the key where the machine has no such unit"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct carm_sol_arch a;
        struct carm_sol_arch before;
        err = (struct carm_err){""};
        memset(&a, 0, sizeof a);
        before = a;
        assert_int_equal(carm_sol_arch_set(&a, bad[i].key, bad[i].value, &err), -CARM_EINVAL);
        assert_string_equal(err.text, bad[i].message);
        assert_memory_equal(&a, &before, sizeof a);
    }
}

TEST(carried_architectures_are_whole)
{
    const char *const *names = carm_sol_arch_names();
    size_t n = 0;
    for (; names[n]; n++) {
        struct carm_sol_arch a;
        size_t size = 0;
        const char *text = carm_sol_arch_text(names[n], &size);
        assert_non_null(text);
        assert_int_equal(size, strlen(text));
        assert_ok(carm_sol_arch_parse(text, size, names[n], &a, &err));
        assert_true(strlen(a.source) > 20); /* not the file's name */
        assert_string_not_equal(a.source, names[n]);
        assert_true(a.dram_capacity > 0 && a.dram_byte_per_cycle > 0);
        assert_int_equal(a.nlevels, 1);
        assert_true(a.levels[0].capacity > 0 && a.levels[0].byte_per_cycle > a.dram_byte_per_cycle);
        assert_true(a.mac_per_cycle[CARM_SOL_FP16] > a.mac_per_cycle[CARM_SOL_TF32]);
        assert_true(a.mac_per_cycle[CARM_SOL_TF32] > a.mac_per_cycle[CARM_SOL_FP32]);
        assert_true(a.mac_per_cycle[CARM_SOL_FP32] > 0);
        assert_near(a.mac_per_cycle[CARM_SOL_BF16], a.mac_per_cycle[CARM_SOL_FP16], 0);
    }
    assert_int_equal(n, 3);
}

/* The figures that the guide's worked example needs, and the whitepaper's peaks of the A100. */
TEST(carried_figures)
{
    struct carm_sol_arch a;
    parse_good(carm_sol_arch_text("H100_PCIe", NULL), &a);
    assert_string_equal(a.name, "H100_PCIe");
    assert_near(a.dram_byte_per_cycle, 1019.4, 0);
    assert_near(a.freq_ghz, 2, 0);
    assert_near(a.mac_per_cycle[CARM_SOL_FP16], 378000, 0);
    assert_near(a.mac_per_cycle[CARM_SOL_INT8], 756000, 0);
    assert_near(a.other_per_cycle[CARM_SOL_FP16], 25500, 0);
    parse_good(carm_sol_arch_text("b200", NULL), &a);
    assert_near(a.dram_byte_per_cycle, 5111.6, 0);
    assert_near(a.mac_per_cycle[CARM_SOL_NVFP4], 2415000, 0);
    assert_near(a.other_per_cycle[CARM_SOL_NVFP4], 40251, 0);
    parse_good(carm_sol_arch_text("A100-sxm4", NULL), &a);
    assert_near(a.mac_per_cycle[CARM_SOL_FP16] * 2 * a.freq_ghz, 312e3, 312e3 * 0.005);
    assert_near(a.mac_per_cycle[CARM_SOL_FP32] * 2 * a.freq_ghz, 19.5e3, 19.5e3 * 0.005);
    assert_near(a.dram_byte_per_cycle * a.freq_ghz, 1555, 0.1);
    assert_null(carm_sol_arch_text("h100", NULL));
    assert_null(carm_sol_arch_text("h100-pcie2", NULL));
    assert_null(carm_sol_arch_text("", NULL));
}

/* The example graphs are one document each, of maps with a name or totals. */
TEST(carried_examples_are_yaml)
{
    const char *const *names = carm_sol_example_names();
    size_t n = 0;
    for (; names[n]; n++) {
        struct carm_yaml *yaml = NULL;
        size_t size = 0;
        const char *text = carm_sol_example_text(names[n], &size);
        assert_non_null(text);
        assert_ok(carm_yaml_open_text(text, size, names[n], "no map", &yaml, &err));
        assert_true(carm_yaml_root(yaml)->size > 20);
        carm_yaml_close(yaml);
    }
    assert_int_equal(n, 5);
    assert_null(carm_sol_example_text("b200", NULL));
}
