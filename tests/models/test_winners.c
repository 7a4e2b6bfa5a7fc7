/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Codes that searches found: their file, and what replaces what. */
#include "asm/code.h"
#include "base/assets.h"
#include "models/winners.h"
#include "tests/unit.h"

static struct carm_winner winner(const char *machine, const char *level, const char *code,
                                 double gain)
{
    struct carm_winner w = {.gain = gain, .source = "a test"};
    (void)snprintf(w.machine, sizeof w.machine, "%s", machine);
    (void)snprintf(w.level, sizeof w.level, "%s", level);
    (void)snprintf(w.code, sizeof w.code, "%s", code);
    return w;
}

static void add(struct carm_winners *all, const struct carm_winner *w)
{
    assert_int_equal(carm_winners_add(all, w, NULL), 0);
}

/* A later one replaces that of the same subject and nothing else. */
TEST(later_searches_replace)
{
    const struct carm_winner list[] = {
        winner("Zen 3", "DRAM", "A.avx2.dp.2:1.u8.s3", 1.5),
        winner("Zen 3", "DRAM", "A.avx2.dp.2:1.u8.s6", 1.1), /* replaces the first */
        winner("Zen 3", "L3", "A.avx2.dp.2:1.u8.s3", 1.2),
        winner("Zen 4", "DRAM", "A.avx2.dp.2:1.u8.s3", 1.3),
        winner("Zen 3", "DRAM", "A.avx2.dp.2:1nt.u8.s3", 1.4),
        winner("Zen 3", "DRAM", "A.avx2.sp.2:1.u8.s3", 1.6),
    };
    struct carm_winners all = {.n = 0};
    for (size_t i = 0; i < sizeof list / sizeof *list; i++) {
        add(&all, &list[i]);
    }
    assert_int_equal(all.n, 5);
    assert_string_equal(carm_winners_find(&all, &list[0])->code, "A.avx2.dp.2:1.u8.s6");
    assert_string_equal(carm_winners_find(&all, &list[2])->code, "A.avx2.dp.2:1.u8.s3");
    const struct carm_winner other = winner("Zen 5", "L3", "A.avx2.dp.2:1.u8.s3", 1.0);
    assert_null(carm_winners_find(&all, &other));
    carm_winners_close(&all);
}

TEST(files_are_read_back)
{
    struct carm_winners all = {.n = 0};
    struct carm_winners copy = {.n = 0};
    const struct carm_winner a = winner("Zen 3", "DRAM", "A.avx2.dp.update.u8.s4", 1.178);
    const struct carm_winner b =
        winner("GenuineIntel family 6 model 300", "L1", "A.sse.dp.1:0.u8", 1.01);
    add(&all, &a);
    add(&all, &b);
    char *text = carm_winners_to_json(&all);
    assert_non_null(text);
    assert_ok(carm_winners_read(&copy, text, strlen(text), "c.json", &err));
    assert_int_equal(copy.n, 2);
    assert_memory_equal(carm_winners_find(&copy, &a)->code, a.code, sizeof a.code);
    assert_near(carm_winners_find(&copy, &b)->gain, 1.01, 1e-3);
    assert_string_equal(carm_winners_find(&copy, &b)->source, "a test");
    free(text);
    carm_winners_close(&all);
    carm_winners_close(&copy);
}

TEST(refusals)
{
#define FILE_OF(entry) "{\"schema\": \"carm-codes/1\", \"codes\": [" entry "]}"
    static const struct {
        const char *text, *message;
    } bad[] = {
        {"", "c.json"},
        {"{\"schema\": \"carm-codes/2\", \"codes\": []}", "this carm reads \"carm-codes/1\""},
        {"{\"schema\": \"carm-codes/1\"}", "codes"},
        {FILE_OF("7"), "codes[0]"},
        {FILE_OF("{\"machine\": \"Zen 3\", \"level\": \"L1\", \"gain\": 1.1, \"source\": \"\"}"),
         "codes[0].code"},
        {FILE_OF("{\"machine\": \"Zen 3\", \"level\": \"L1\", \"code\": \"A\", \"gain\": 0, "
                 "\"source\": \"\"}"),
         "codes[0].gain"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct carm_winners all = {.n = 0};
        err = (struct carm_err){""};
        fail_if(carm_winners_read(&all, bad[i].text, strlen(bad[i].text), "c.json", &err) !=
                        -CARM_EFORMAT ||
                    !strstr(err.text, bad[i].message) || all.n != 0,
                "'%s': '%s', not '%s'", bad[i].text, err.text, bad[i].message);
        carm_winners_close(&all);
    }
}

/* Each code of carm's own file can be generated, for a machine of its table. */
TEST(own_file_is_sound)
{
    struct carm_winners all = {.n = 0};
    struct carm_theory_table *table = NULL;
    const char *theory = carm_asset_data_microarchitectures;
    const char *text = carm_asset_data_codes;
    assert_ok(carm_theory_open(theory, strlen(theory), "m.json", &table, &err));
    assert_ok(carm_winners_read(&all, text, strlen(text), "data/codes.json", &err));
    for (size_t i = 0; i < all.n; i++) {
        const struct carm_microarchitecture *m = NULL;
        struct carm_code_spec spec;
        char name[CARM_CODE_NAME_MAX];
        fail_if(carm_code_parse(all.items[i].code, &spec, &err) ||
                    carm_theory_find_name(table, all.items[i].machine, &m, &err),
                "%s: %s", all.items[i].code, err.text);
        carm_code_name(&spec, name);
        assert_string_equal(name, all.items[i].code);
        assert_int_equal(spec.kind, CARM_KIND_A);
        assert_true(all.items[i].gain >= 1.005);
    }
    char name[48];
    carm_winner_machine(table, "AuthenticAMD", 0x19, 1, 0, name);
    assert_string_equal(name, "Zen 3");
    carm_winner_machine(table, "GenuineIntel", 6, 4000, 0, name);
    assert_string_equal(name, "GenuineIntel family 6 model 4000");
    carm_winner_machine(table, "GenuineIntel", 6, 0xa7, 1024, name);
    assert_string_equal(name, "Sapphire Rapids");
    carm_theory_close(table);
    carm_winners_close(&all);
}
