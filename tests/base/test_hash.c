/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names kept once: so many that some share the 32 bits of their hash, whatever the seed. */
#include "base/hash.h"
#include "tests/unit.h"

static uint32_t add(struct carm_names *names, const char *text)
{
    uint32_t number = 0;
    assert_int_equal(carm_names_add(names, text, strlen(text), &number), 0);
    return number;
}

TEST(names_are_numbered_as_they_come)
{
    struct carm_names names;
    carm_names_open(&names);
    assert_int_equal(add(&names, ""), 0);
    assert_string_equal(carm_names_text(&names, 0), "");
    assert_int_equal(add(&names, "a"), 1);
    assert_int_equal(add(&names, "abcdefgh"), 2);
    assert_int_equal(add(&names, "abcdefghi"), 3);
    assert_int_equal(add(&names, "abcdefgh"), 2);
    assert_int_equal(add(&names, "abcdefg"), 4);
    assert_int_equal(add(&names, "a"), 1);
    assert_string_equal(carm_names_text(&names, 3), "abcdefghi");
    assert_int_equal(names.n, 5);
    /* only so many bytes of what is handed over */
    uint32_t number = 0;
    assert_int_equal(carm_names_add(&names, "abcdefghijk", 9, &number), 0);
    assert_int_equal(number, 3);
    carm_names_close(&names);
}

TEST(names_of_every_length_differ)
{
    enum { LENGTHS = 100 };
    char text[LENGTHS + 1];
    struct carm_names names;
    memset(text, 'x', sizeof text);
    carm_names_open(&names);
    for (int round = 0; round < 2; round++) {
        for (uint32_t n = 0; n <= LENGTHS; n++) {
            uint32_t number = 0;
            assert_int_equal(carm_names_add(&names, text, n, &number), 0);
            assert_int_equal(number, n);
        }
    }
    carm_names_close(&names);
}

/* 500000 names have about 29 pairs of equal hashes. */
TEST(equal_hashes_are_not_equal_names)
{
    enum { N = 500000 };
    char text[16];
    struct carm_names names;
    carm_names_open(&names);
    assert_int_equal(add(&names, ""), 0);
    for (int round = 0; round < 2; round++) {
        for (uint32_t i = 1; i <= N; i++) {
            (void)snprintf(text, sizeof text, "l%u", i);
            fail_if(add(&names, text) != i, "%s is number %u", text, add(&names, text));
        }
    }
    carm_names_close(&names);
}
