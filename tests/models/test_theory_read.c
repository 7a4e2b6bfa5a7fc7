/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tables of microarchitectures that a user may write: a good one is read with all its members, and
 * every fault is refused with file, place and reason. */
#include "models/theory.h"
#include "tests/unit.h"

static struct carm_theory_table unset; /* what a failure must replace by NULL */

/* A user's own table, all members used; a small one may leave the optional ones out. */
static const char good[] =
    "{\"schema\": \"carm-microarchitectures/1\", \"microarchitectures\": [\n"
    " {\"name\": \"One\", \"vendor\": \"V\", \"issue\": 4,\n"
    "  \"cpuid\": [{\"family\": \"0x6\", \"models\": [\"0x10-0x1F\", \"0x30\"]}],\n"
    "  \"widths\": {\"scalar\": {\"loads\": 2, \"stores\": 1, \"accesses\": 2, \"fma\": 1,\n"
    "    \"pipes\": {\"mul\": 1, \"add\": 1, \"mul_or_add\": 0}}},\n"
    "  \"ports\": {\"add\": [\"23\", null], \"load-indexed\": [\"\", 5]},\n"
    "  \"sources\": [\"a page\"], \"note\": \"n\"},\n"
    " {\"name\": \"Two\", \"vendor\": \"V\", \"issue\": null,\n"
    "  \"cpuid\": [{\"family\": \"0x6\", \"models\": [\"0x20\"]}],\n"
    "  \"widths\": {\"32\": {\"loads\": 2, \"stores\": null}, \"64\": {\"loads\": 1, \"stores\": 1}},\n"
    "  \"sources\": [\"another\"]}\n"
    "]}\n";

TEST(own_table)
{
    struct carm_theory_table *t;
    if (carm_theory_open(good, strlen(good), "own.json", &t, &err) != 0)
        fail_msg("%s", err.text);
    const struct carm_microarchitecture *one = carm_theory_find_cpu(t, "V", 6, 0x1f, 0);
    const struct carm_microarchitecture *two = carm_theory_find_cpu(t, "V", 6, 0x20, 0);
    assert_ptr_equal(one, &t->entries[0]);
    assert_ptr_equal(one, carm_theory_find_cpu(t, "V", 6, 0x30, 0));
    assert_ptr_equal(two, &t->entries[1]);
    assert_null(carm_theory_find_cpu(t, "V", 6, 0x21, 0));
    assert_null(carm_theory_find_cpu(t, "V", 7, 0x20, 0));
    assert_near(carm_theory_l1(one, 8, 2, 1), 16, 1e-12);
    assert_near(carm_theory_l1(two, 32, 1, 0), 64, 1e-12);
    assert_near(carm_theory_l1(two, 32, 0, 1), 0, 0);
    assert_near(carm_theory_l1(two, 32, 1, 1), 0, 0);
    assert_near(carm_theory_l1(two, 64, 0, 3), 64, 1e-12);
    assert_near(carm_theory_l1(two, 64, 1, 1), 0, 0); /* together is not known */
    assert_near(carm_theory_flops(two, 32, 4, "mad"), 0, 0);
    assert_near(carm_theory_flops(one, 8, 1, "mad"), 2, 1e-12);
    assert_string_equal(one->sources[0], "a page");
    assert_string_equal(two->note, "");
    assert_string_equal(carm_theory_ports_of(one, "add")->pipes, "23");
    assert_near(carm_theory_ports_of(one, "load-indexed")->latency, 5.0, 0.0);
    assert_null(carm_theory_ports_of(one, "mul"));
    assert_null(carm_theory_ports_of(two, "add"));
    assert_null(carm_theory_ports_of(NULL, "add"));
    carm_theory_close(t);
}

TEST(refuses)
{
    static const struct {
        const char *from, *to, *message;
    } faults[] = {
        {"carm-microarchitectures/1", "carm-microarchitectures/2",
         "t.json: schema is \"carm-microarchitectures/2\"; this carm reads "
         "\"carm-microarchitectures/1\""},
        {"\"schema\"", "\"scheme\"", "t.json: schema is missing"},
        {"\"microarchitectures\"", "\"microarchitecture\"",
         "t.json: microarchitectures is missing"},
        {"[\n {", "[], \"old\": [\n {", "t.json: microarchitectures has no entries"},
        {"\"23\", null", "\"012345678\", null",
         "t.json: microarchitectures[0].ports \"add\" is not [up to 8 pipes, latency]"},
        {"\"\", 5]", "\"\", 0]",
         "t.json: microarchitectures[0].ports \"load-indexed\" is not [up to 8 pipes, latency]"},
        {"\"\", 5]", "\"\"]",
         "t.json: microarchitectures[0].ports \"load-indexed\" is not [up to 8 pipes, latency]"},
        {"\"load-indexed\"", "\"a word of 24 or more ...\"",
         "t.json: microarchitectures[0].ports has more than 48 members, or a longer word than 23"},
        {"\"loads\": 2", "\"loads\": -2",
         "t.json: microarchitectures[0].widths.scalar.loads is -2, less than zero"},
        {"\"loads\": 2", "\"loads\": NaN", "t.json: line "},
        {"\"loads\": 2", "\"loads\": 1e999", "t.json: line "},
        {"\"loads\": 2", "\"loads\": \"2\"",
         "t.json: microarchitectures[0].widths.scalar.loads is of another type, not a number"},
        {"\"loads\": 2", "\"loads\": 0",
         "t.json: microarchitectures[0].widths.scalar.loads is 0; leave out what is not known"},
        {"\"loads\": 2", "\"loads\": 64",
         "t.json: microarchitectures[0].widths.scalar.loads is 64, more than the 16 of any core"},
        {"\"loads\": 2", "\"loads\": 3",
         "t.json: microarchitectures[0].widths.scalar.accesses is 2, less than its loads or stores "
         "alone"},
        {"\"loads\": 2", "\"load\": 2",
         "t.json: microarchitectures[0].widths.scalar has a member \"load\", which this carm does "
         "not know"},
        {"\"accesses\": 2", "\"accesses\": 5",
         "t.json: microarchitectures[0].widths.scalar has a rate above the issue width of 4"},
        {"\"fma\": 1", "\"fma\": 2",
         "t.json: microarchitectures[0].widths.scalar.fma is 2, more than the pipes that multiply"},
        {"\"mul\": 1,", "\"mul\": 0, ",
         "t.json: microarchitectures[0].widths.scalar.fma is 1, more than the pipes that multiply"},
        {"\"mul\": 1,", "", "t.json: microarchitectures[0].widths.scalar.pipes.mul is missing"},
        {"\"mul\": 1, \"add\": 1", "\"mul\": 0, \"add\": 0",
         "t.json: microarchitectures[0].widths.scalar.pipes adds up to 0, outside 0..16"},
        {"\"scalar\"", "\"8\"",
         "t.json: microarchitectures[0].widths has a member \"8\", which this carm does not know"},
        {"\"name\": \"One\", ", "", "t.json: microarchitectures[0].name is missing"},
        {"\"name\": \"One\"", "\"name\": \"\"", "t.json: microarchitectures[0].name is empty"},
        {"\"One\"", "\"O\\u001b[2J\"",
         "t.json: microarchitectures[0].name has a control character"},
        {"\"vendor\": \"V\", ", "", "t.json: microarchitectures[0].vendor is missing"},
        {"\"widths\"", "\"note\": \"\", \"x\"", "t.json: line "},
        {"\"sources\": [\"a page\"], ", "", "t.json: microarchitectures[0].sources is missing"},
        {"[\"a page\"]", "[]",
         "t.json: microarchitectures[0].sources is not an array of 1 to 16 texts"},
        {"[\"a page\"]", "[\"\"]", "t.json: microarchitectures[0].sources[0] is empty"},
        {"[\"a page\"]", "[7]", "t.json: microarchitectures[0].sources[0] is not a string"},
        {"\"note\": \"n\"", "\"note\": 1", "t.json: microarchitectures[0].note is not a string"},
        {"\"Two\"", "\"oNE\"", "t.json: microarchitectures[1].name repeats \"One\""},
        {"\"0x20\"", "\"0x1A-0x2F\"",
         "t.json: microarchitectures[1].cpuid claims family 0x6 model 0x1A, as \"One\" does"},
        {"\"0x20\"", "\"0x30\"",
         "t.json: microarchitectures[1].cpuid claims family 0x6 model 0x30, as \"One\" does"},
        {"\"0x20\"", "\"0x2F-0x20\"",
         "t.json: microarchitectures[1].cpuid[0].models[0] is \"0x2F-0x20\", not of the form "
         "\"0x30\" or \"0x30-0x4F\""},
        {"\"0x20\"", "\"20\"",
         "t.json: microarchitectures[1].cpuid[0].models[0] is \"20\", not of "},
        {"\"0x20\"", "\"0x20 \"",
         "t.json: microarchitectures[1].cpuid[0].models[0] is \"0x20 \", "},
        {"\"0x20\"", "\"0xFFFFFFFFFFFFFFFFFF\"",
         "t.json: microarchitectures[1].cpuid[0].models[0]"},
        {"\"0x20\"", "32",
         "t.json: microarchitectures[1].cpuid[0].models[0] is no string, not of "},
        {"[\"0x20\"]", "[]",
         "t.json: microarchitectures[1].cpuid[0].models is not an array of at least one"},
        {"\"0x6\"", "\"0x6-0x7\"", "t.json: microarchitectures[0].cpuid[0].family is a range"},
        {"\"cpuid\"", "\"cpu\"",
         "t.json: microarchitectures[0] has a member \"cpu\", which this carm does not know"},
        {"{\"family\"", "7, {\"family\"",
         "t.json: microarchitectures[0].cpuid[0] is not an object"},
        {"\"issue\": 4", "\"issue\": -1",
         "t.json: microarchitectures[0].issue is -1, less than zero"},
        {"\"issue\": 4", "\"issue\": 16.1",
         "t.json: microarchitectures[0].issue is 16.1, more than the 16 of any core"},
        {"\"note\": \"n\"", "\"reorder\": 4096.5",
         "t.json: microarchitectures[0].reorder is 4096.5, more than the 4096 of any core"},
        {"\"note\": \"n\"", "\"vector_queue\": 5000",
         "t.json: microarchitectures[0].vector_queue is 5000, more than the 4096 of any core"},
        {"\"mul\": 1, \"add\": 1", "\"mul\": 8, \"add\": 8.5",
         "t.json: microarchitectures[0].widths.scalar.pipes adds up to 16.5, outside 0..16"},
        {"\"fma\": 1,", "\"fma\": 1, \"others\": {\"int add\": 4.5},",
         "t.json: microarchitectures[0].widths.scalar.others.int add is above the issue width of 4"},
        {"\"fma\": 1,", "\"fma\": 1, \"others\": {\"int8 add\": 1},",
         "t.json: microarchitectures[0].widths.scalar.others has a member \"int8 add\", which this carm does not know"},
        {"\"stores\": 1", "\"stores\": 2.5",
         "t.json: microarchitectures[0].widths.scalar.accesses is 2, less than its loads or stores "
         "alone"},
        {"\"\", 5]", "\"\", 100]",
         "t.json: microarchitectures[0].ports \"load-indexed\" is not [up to 8 pipes, latency]"},
        {"\"note\": \"n\"", "\"core\": {\"add\": [1]}",
         "t.json: microarchitectures[0].core \"add\" is not [latency, throughput]"},
        {"\"note\": \"n\"", "\"core\": {\"add\": [1, 0]}",
         "t.json: microarchitectures[0].core \"add\" has no positive number of cycles"},
        {"\"note\": \"n\"", "\"core\": {\"add\": [10000, 1]}",
         "t.json: microarchitectures[0].core \"add\" has no positive number of cycles"},
        {"\"note\": \"n\"", "\"core\": {\"add\": [\"1\", 1]}",
         "t.json: microarchitectures[0].core \"add\" has no positive number of cycles"},
        {"\"note\": \"n\"", "\"core\": {\"adds\": [1, 1]}",
         "t.json: microarchitectures[0].core has \"adds\", which begins with no kind of model.json's core"},
        {"\"0x20\"", "\"0x1000\"", "t.json: microarchitectures[1].cpuid[0].models[0] "},
        {"\"0x10-0x1F\", \"0x30\"",
         "\"0x1\", \"0x2\", \"0x3\", \"0x4\", \"0x5\", \"0x6\", \"0x7\", \"0x8\", \"0x9\", \"0xA\", \"0xB\", \"0xC\", \"0xD\", "
         "\"0xE\", \"0xF\", \"0x10\", \"0x11\"",
         "t.json: microarchitectures[0].cpuid[0].models brings this entry to more than 16 models"},
        {"[\"a page\"]",
         "[\"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", \"8\", \"9\", \"10\", \"11\", \"12\", \"13\", \"14\", \"15\", \"16\", \"17\"]",
         "t.json: microarchitectures[0].sources is not an array of 1 to 16 texts"},
    };
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        char *wrong = text_changed(good, "", faults[i].from, faults[i].to);
        struct carm_theory_table *t = &unset;
        err = (struct carm_err){""};
        assert_int_equal(carm_theory_open(wrong, strlen(wrong), "t.json", &t, &err), -CARM_EFORMAT);
        assert_null(t);
        if (strncmp(err.text, faults[i].message, strlen(faults[i].message)) != 0)
            fail_msg("%s -> %s: \"%s\", not \"%s\"", faults[i].from, faults[i].to, err.text,
                     faults[i].message);
    }
    /* cut short anywhere */
    for (size_t size = 0; size + 2 < sizeof good; size++) {
        struct carm_theory_table *t = &unset;
        err = (struct carm_err){""};
        assert_int_equal(carm_theory_open(good, size, "t.json", &t, &err), -CARM_EFORMAT);
        assert_null(t);
        assert_int_equal(strncmp(err.text, "t.json: line ", 13), 0);
    }
}

/* What is just inside the limits is read. */
TEST(within_limits)
{
    static const struct {
        const char *from, *to;
    } cases[] = {
        {"\"issue\": 4", "\"issue\": 16"},
        {"\"note\": \"n\"",
         "\"reorder\": 4096, \"vector_queue\": 200, \"code_line\": 64, \"dispatch_integers\": 6"},
        {"\"mul\": 1, \"add\": 1", "\"mul\": 8, \"add\": 8"},
        {"\"fma\": 1,", "\"fma\": 0,"},
        {"\"fma\": 1,", "\"fma\": 1, \"others\": {\"int add\": 4, \"fp16 dot\": 0.5},"},
        {"\"accesses\": 2", "\"accesses\": 4"},
        {"\"\", 5]", "\"01234567\", 99.9]"},
        {"\"load-indexed\"", "\"a word of 23 letters ..\""},
        {"\"note\": \"n\"",
         "\"core\": {\"add\": [9999, 0.5], \"div avx2 dp\": [null, 3], \"mul sse\": [4, null]}"},
        {"\"0x20\"", "\"0xfff\""},
        {"\"0x20\"", "\"0x2F-0x2F\", \"0x31\""},
        {"\"0x10-0x1F\", \"0x30\"",
         "\"0x1\", \"0x2\", \"0x3\", \"0x4\", \"0x5\", \"0x6\", \"0x7\", \"0x8\", \"0x9\", \"0xA\", \"0xB\", \"0xC\", \"0xD\", "
         "\"0xE\", \"0xF\", \"0x10\""},
        {"[\"a page\"]",
         "[\"1\", \"2\", \"3\", \"4\", \"5\", \"6\", \"7\", \"8\", \"9\", \"10\", \"11\", \"12\", \"13\", \"14\", \"15\", \"16\"]"}};
    struct carm_theory_table *t;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *text = text_changed(good, "", cases[i].from, cases[i].to);
        assert_ok(carm_theory_open(text, strlen(text), "t.json", &t, &err));
        const struct carm_microarchitecture *m = &t->entries[0];
        if (i == 1) {
            assert_true(m->reorder == 4096 && m->vector_queue == 200 && m->code_line == 64 &&
                        m->dispatch_integers == 6);
        } else if (i == 4) { /* two operations of an element */
            assert_near(carm_theory_rate(m, 8, 4, "int32", "add"), 16.0, 1e-12);
            assert_near(carm_theory_rate(m, 8, 4, "fp16", "dot"), 4.0, 1e-12);
            assert_near(carm_theory_rate(m, 8, 4, "int32", "mul"), 0.0, 0.0);
            assert_near(carm_theory_rate(m, 8, 4, "fp1", "dot"), 0.0, 0.0);
            assert_near(carm_theory_rate(m, 16, 4, "int32", "add"), 0.0, 0.0);
            assert_near(carm_theory_rate(m, 7, 4, "int32", "add"), 0.0, 0.0);
        } else if (i == 8) {
            assert_int_equal(m->ncore, 3);
            assert_true(m->core[0].latency == 9999 && m->core[0].throughput == 0.5);
            assert_true(m->core[1].latency == 0 && m->core[1].throughput == 3 &&
                        m->core[2].latency == 4);
            assert_string_equal(m->core[1].isa, "avx2");
            assert_string_equal(m->core[1].precision, "dp");
        }
        carm_theory_close(t);
    }
    carm_theory_close(NULL);
}

/* More names than a sentence holds: as many as fit, and a sign that there are others. */
TEST(long_list_of_names)
{
    enum { MANY = 200 };
    static struct carm_microarchitecture entries[MANY];
    const struct carm_theory_table many = {MANY, entries};
    const struct carm_microarchitecture *found;
    for (int i = 0; i < MANY; i++)
        (void)snprintf(entries[i].name, sizeof entries[i].name, "%0*d", i % 47 + 1, i);
    assert_int_equal(carm_theory_find_name(&many, "none", &found, &err), -CARM_EINVAL);
    assert_null(found);
    assert_true(strlen(err.text) < 420);
    assert_string_equal(err.text + strlen(err.text) - 6, "\", ...");
    assert_ok(carm_theory_find_name(&many, entries[199].name, &found, &err));
    assert_ptr_equal(found, &entries[199]);
}
