/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Factors as people read them, and texts that are cut where room ends. */
#include "base/text.h"
#include "tests/unit.h"

TEST(factors_have_no_exponent)
{
    static const struct {
        double factor;
        const char *text;
    } all[] = {{1.0, "1"},   {1.52, "1.5"},  {43.4, "43"},         {99.4, "99"},     {99.6, "100"},
               {450, "450"}, {1234, "1234"}, {9.9e8, "990000000"}, {1e9, "over 1e9"}};
    char text[CARM_TEXT_TIMES_MAX];
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        assert_string_equal(carm_text_times(text, all[i].factor), all[i].text);
    }
}

TEST(what_does_not_fit_is_cut_off)
{
    char text[8] = "ab";
    carm_text_append(text, sizeof text, "%d", 345);
    assert_string_equal(text, "ab345");
    carm_text_append(text, sizeof text, "%s", "cdef");
    assert_string_equal(text, "ab345cd");
    carm_text_append(text, sizeof text, "x");
    assert_string_equal(text, "ab345cd");
}

TEST(items_of_lists)
{
    char list[8] = "";
    carm_text_list(list, sizeof list, ", ", "%d", 1);
    assert_string_equal(list, "1");
    carm_text_list(list, sizeof list, ", ", "%s", "two");
    assert_string_equal(list, "1, two");
    assert_false(carm_text_list_whole(list, sizeof list, ",", "%d", 3)); /* without its end */
    assert_string_equal(list, "1, two");
    carm_text_list(list, sizeof list, ",", "%d", 34);
    assert_string_equal(list, "1, two,");
    list[1] = '\0';
    assert_true(carm_text_list_whole(list, sizeof list, ", ", "%s", "four"));
    assert_string_equal(list, "1, four");
}
