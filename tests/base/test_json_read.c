/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Texts are read as jansson reads them, whether they go the quick way or not. */
#include "base/json_read.h"

#include "base/assets.h"
#include "tests/random.h"
#include "tests/unit.h"

/* Both refuse the text, or both have the same tree. */
static void check_same(const char *text, size_t size)
{
    struct carm_jread r = {.file = "t", .err = &err};
    json_t *theirs = json_loadb(text, size, JSON_REJECT_DUPLICATES, NULL);
    if (!json_is_object(theirs)) {
        json_decref(theirs);
        theirs = NULL;
    }
    json_t *ours = carm_jread_parse(&r, text, size);
    fail_if((ours == NULL) != (theirs == NULL) || (ours && !json_equal(ours, theirs)), "%.*s: %s",
            size > 400 ? 400 : (int)size, text, ours ? "another tree" : err.text);
    json_decref(ours);
    json_decref(theirs);
}

TEST(each_kind_of_value)
{
    static const char *const values[] = {"0",
                                         "-0",
                                         "1",
                                         "-12",
                                         "01",
                                         "-",
                                         "+1",
                                         "1.",
                                         ".5",
                                         "1.5",
                                         "-0.0",
                                         "1e5",
                                         "1E+5",
                                         "1e-5",
                                         "1e",
                                         "1e+",
                                         "1e400",
                                         "-1e400",
                                         "1e-400",
                                         "5e-324",
                                         "1.e5",
                                         "0x10",
                                         "0.1e1",
                                         "1-2",
                                         "1.2.3",
                                         "1e5.5",
                                         "00",
                                         "true",
                                         "false",
                                         "null",
                                         "True",
                                         "tru",
                                         "truex",
                                         "nul",
                                         "NaN",
                                         "Infinity",
                                         "\"\"",
                                         "\"a\"",
                                         "\"",
                                         "\"\\n\"",
                                         "\"\\\"\"",
                                         "\"\\q\"",
                                         "\"\\u00e9\"",
                                         "\"\xc3\xa9\"",
                                         "\"\xff\"",
                                         "\"\t\"",
                                         "\"\x7f\"",
                                         "[]",
                                         "[1]",
                                         "[1,]",
                                         "[,1]",
                                         "[1 2]",
                                         "[1,2",
                                         "{}",
                                         "{\"b\":1}",
                                         "{\"b\":1,}",
                                         "{\"b\" 1}",
                                         "{b:1}",
                                         "{\"b\":1,\"b\":2}",
                                         "{\"\xff\":1}",
                                         "{\"\\u0062\":1,\"b\":2}",
                                         "1 ",
                                         " 1",
                                         "\v1",
                                         "",
                                         "123456789012345678",
                                         "1234567890123456789",
                                         "12345678901234567890",
                                         "-9223372036854775808",
                                         "0.1234567890123456789",
                                         "9007199254740993.0",
                                         "2.2250738585072011e-308",
                                         "123456789012345678901234567890.5"};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        char text[128];
        static const char *const frames[] = {
            "{\"a\":%s}", "{\"a\":[%s,2]}", " {\"a\" : %s , \"c\":1}\n",
            "{\"a\":%s",  "{\"a\":%s}x",    "%s",
            "[%s]"};
        for (size_t k = 0; k < sizeof frames / sizeof *frames; k++) {
            const int n = snprintf(text, sizeof text, frames[k], values[i]);
            check_same(text, (size_t)n);
        }
    }
}

TEST(long_names_and_depths)
{
    static const int sizes[] = {1, 127, 128, 129, 300};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char text[400];
        const int n = snprintf(text, sizeof text, "{\"%0*d\":1}", sizes[i], 1);
        check_same(text, (size_t)n);
    }
    for (int depth = 60; depth < 70; depth++) {
        char text[512] = "";
        size_t n = 0;
        for (int i = 0; i < depth; i++) {
            memcpy(text + n, "{\"a\":", 5);
            n += 5;
        }
        text[n++] = '1';
        memset(text + n, '}', (size_t)depth);
        check_same(text, n + (size_t)depth);
    }
}

/* Each prefix of a text, and the text with a character changed. No byte behind the text is read. */
TEST(changed_texts)
{
    static const char characters[] = "{}[]\",:\\ 0159.eE+-tfnax\n\x01\x80\xc3";
    static const char whole[] =
        "{\"schema\":\"x/1\", \"of\":[{\"a\":1.25e-3,\"b\":[1,2,null]},{\"a\":-7,\"c\":true}],\n"
        " \"last\":{\"name\":\"\xc3\xa9t\xc3\xa9\",\"more\":[]},\"n\":1e6}";
    gsl_rng *random = random_of(42);
    for (size_t n = 0; n < sizeof whole; n++) {
        char *text = malloc(n ? n : 1);
        memcpy(text, whole, n);
        check_same(text, n);
        free(text);
    }
    for (int i = 0; i < 20000; i++) {
        char text[sizeof whole];
        memcpy(text, whole, sizeof whole);
        for (unsigned long k = gsl_rng_uniform_int(random, 3) + 1; k > 0; k--) {
            text[gsl_rng_uniform_int(random, sizeof whole - 1)] =
                characters[gsl_rng_uniform_int(random, sizeof characters - 1)];
        }
        check_same(text, sizeof whole - 1);
    }
}

TEST(whole_files)
{
    check_same(carm_asset_data_microarchitectures, strlen(carm_asset_data_microarchitectures));
}
