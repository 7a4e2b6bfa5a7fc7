/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The tables of ISAs, precisions, operations and mixes: names read back, words and lists have every row,
 * refusals list them, and the schema of model.json names the same. */
#include <jansson.h>

#include "asm/isa.h"
#include "cli/opt.h"
#include "tests/unit.h"

static const char *isa_at(size_t i)
{
    return i < CARM_ISA_COUNT ? carm_isas[i].name : NULL;
}
static const char *precision_at(size_t i)
{
    return i < CARM_PRECISION_COUNT ? carm_precisions[i].name : NULL;
}
static const char *op_at(size_t i)
{
    return i < CARM_OP_COUNT ? carm_ops[i].name : NULL;
}
#define NAME(id, name, ...) name,
static const char *mix_at(size_t i)
{
    static const char *const names[] = {CARM_MIX_TABLE(NAME, NAME) NULL};
    return i < sizeof names / sizeof *names ? names[i] : NULL;
}

static const struct {
    const char *member; /* in model.json */
    const char *(*at)(size_t i);
    const char *words, *list, *help;
} tables[] = {
    {"isa", isa_at, CARM_WORDS(CARM_ISA_TABLE), CARM_LIST(CARM_ISA_TABLE),
     CARM_HELP(CARM_ISA_TABLE)},
    {"precision", precision_at, CARM_WORDS(CARM_PRECISION_TABLE), CARM_LIST(CARM_PRECISION_TABLE),
     CARM_HELP(CARM_PRECISION_TABLE)},
    {"op", op_at, CARM_WORDS(CARM_OP_TABLE), CARM_LIST(CARM_OP_TABLE), CARM_HELP(CARM_OP_TABLE)},
    {"ldst", mix_at, CARM_WORDS(CARM_MIX_TABLE), CARM_LIST(CARM_MIX_TABLE),
     CARM_HELP(CARM_MIX_TABLE)},
};
enum { TABLES = sizeof tables / sizeof *tables };

TEST(words)
{
    for (size_t t = 0; t < TABLES; t++) {
        const char *words = tables[t].words;
        const char *word = NULL;
        char list[128] = "";
        size_t length = 0;
        size_t n = 0;
        while ((word = carm_opt_next_word(&words, &length))) {
            const char *name = tables[t].at(n++);
            assert_non_null(name);
            assert_int_equal(strlen(name), length);
            assert_memory_equal(name, word, length);
            const size_t used = strlen(list);
            (void)snprintf(list + used, sizeof list - used, "%s%s", n > 1 ? "," : "", name);
            assert_non_null(strstr(tables[t].help, name));
        }
        assert_null(tables[t].at(n));
        assert_string_equal(tables[t].list, list);
    }
    assert_memory_equal(CARM_HELP(CARM_PRECISION_TABLE),
                        "dp (double precision), sp (single precision), ", 46);
}

TEST(names)
{
    for (int i = 0; i < CARM_ISA_COUNT; i++) {
        enum carm_isa isa = CARM_ISA_COUNT;
        assert_int_equal(carm_isa_parse(carm_isa_name((enum carm_isa)i), &isa, NULL), 0);
        assert_int_equal(isa, i);
    }
    for (int i = 0; i < CARM_PRECISION_COUNT; i++) {
        enum carm_precision precision = CARM_PRECISION_COUNT;
        assert_int_equal(
            carm_precision_parse(carm_precision_name((enum carm_precision)i), &precision, NULL), 0);
        assert_int_equal(precision, i);
    }
    for (int i = 0; i < CARM_OP_COUNT; i++) {
        enum carm_op op = CARM_OP_COUNT;
        assert_int_equal(carm_op_parse(carm_op_name((enum carm_op)i), &op, NULL), 0);
        assert_int_equal(op, i);
    }
    for (size_t i = 0; mix_at(i); i++) {
        struct carm_mix mix;
        char name[16];
        assert_int_equal(carm_mix_parse(mix_at(i), &mix, NULL), 0);
        assert_true(carm_isa_has_mix(CARM_AVX2, &mix));
        assert_int_equal(carm_isa_has_mix(CARM_AMX, &mix), !mix.update && !mix.nontemporal);
        carm_mix_name(&mix, name);
        assert_string_equal(name, mix_at(i));
    }
}

TEST(refusals)
{
    enum carm_isa isa = CARM_AVX;
    enum carm_precision precision = CARM_SP;
    enum carm_op op = CARM_MUL;
    struct carm_mix mix = {.loads = 7};
    assert_int_equal(carm_isa_parse("mmx", &isa, &err), -CARM_EINVAL);
    assert_string_equal(err.text,
                        "unknown ISA 'mmx': choose scalar, sse, avx, avx2, avx512 or amx");
    assert_int_equal(isa, CARM_AVX);
    assert_int_equal(carm_precision_parse("", &precision, &err), -CARM_EINVAL);
    assert_string_equal(
        err.text, "unknown precision '': choose dp, sp, fp16, bf16, int64, int32, int16 or int8");
    assert_int_equal(precision, CARM_SP);
    assert_int_equal(carm_op_parse("fm", &op, &err), -CARM_EINVAL);
    assert_string_equal(
        err.text,
        "unknown operation 'fm': choose fma, mad, add, mul, div, sqrt, fma+add, 2fma+add, logic, "
        "dot, ifma or popcnt");
    assert_int_equal(op, CARM_MUL);
    assert_refused(carm_mix_parse("2;1", &mix, &err), -CARM_EINVAL,
                   "one of 2:1,1:1,1:0,0:1,update,2:1update,nt");
    assert_int_equal(mix.loads, 7);
}

/* Every list of examples of such a member is the table; a single one is of the table. */
static size_t check_schema(const json_t *node)
{
    const char *key = NULL;
    json_t *member = NULL;
    size_t checked = 0;
    json_object_foreach((json_t *)(uintptr_t)node, key, member)
    {
        json_t *examples = json_object_get(member, "examples");
        for (size_t t = 0; t < TABLES && examples; t++) {
            if (strcmp(key, tables[t].member) != 0) {
                continue;
            }
            const size_t n = json_array_size(examples);
            for (size_t i = 0; i < n; i++) {
                const char *example = json_string_value(json_array_get(examples, i));
                assert_non_null(example);
                assert_non_null(tables[t].at(i));
                assert_string_equal(example, tables[t].at(i));
            }
            assert_true(n == 1 || !tables[t].at(n));
            checked++;
        }
        checked += json_is_object(member) ? check_schema(member) : 0;
    }
    return checked;
}

TEST(schema)
{
    json_t *schema = json_load_file("data/model.schema.json", 0, NULL);
    assert_non_null(schema);
    assert_true(check_schema(schema) > 20);
    json_decref(schema);
}
