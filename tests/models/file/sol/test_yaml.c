/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Trees of YAML items: their order, the limits, and every refusal with its line. */
#include <unistd.h>

#include "models/file/sol/yaml.h"
#include "tests/unit.h"

/* An item and all items inside it as letters: { } [ ] for maps and lists, s scalar. returns the item behind */
static const struct carm_yaml_item *write_letters(const struct carm_yaml_item *item, char **at)
{
    const struct carm_yaml_item *inside = item + 1;
    const bool map = item->kind == CARM_YAML_MAP;
    if (item->kind == CARM_YAML_SCALAR) {
        assert_int_equal(strlen(item->text), item->length);
        *(*at)++ = 's';
        return carm_yaml_after(item);
    }
    *(*at)++ = map ? '{' : '[';
    while (inside < carm_yaml_after(item)) {
        inside = write_letters(inside, at);
    }
    *(*at)++ = map ? '}' : ']';
    return inside;
}

/* returns as carm_yaml_open_text */
static int walk(const char *text, size_t size, char *letters, struct carm_err *failure)
{
    struct carm_yaml *yaml = NULL;
    const int rc = carm_yaml_open_text(text, size, "t.yaml", NULL, &yaml, failure);
    assert_true((rc == 0) == (yaml != NULL));
    if (letters) {
        char *end = letters;
        write_letters(carm_yaml_root(yaml), &end);
        *end = '\0';
    }
    carm_yaml_close(yaml);
    return rc;
}

static void gives(const char *text, const char *expected)
{
    char letters[64];
    assert_ok(walk(text, strlen(text), letters, &err));
    assert_string_equal(letters, expected);
}

static void refused_bytes(const char *text, size_t size, const char *message)
{
    err = (struct carm_err){""};
    assert_int_equal(walk(text, size, NULL, &err), -CARM_EFORMAT);
    assert_string_equal(err.text, message);
}

static void refused(const char *text, const char *message)
{
    refused_bytes(text, strlen(text), message);
}

TEST(items_come_in_order)
{
    gives("a: [1, 'x', {b: c}]\nd: ~\n", "{s[ss{ss}]ss}");
    gives("- a\n- [b]\n", "[s[s]]");
    gives("x", "s");
    gives("\xef\xbb\xbf{a: b}", "{ss}");                         /* byte order mark */
    gives("a: b\r\nc:\r\n  - d\r\n", "{sss[s]}");                /* CRLF */
    gives("%YAML 1.1\n---\na: b\n...\n", "{ss}");                /* one document with its marks */
    gives("# only\na: b # c\n", "{ss}");                         /* comments */
    gives("a: !!int 5\nb: !!str 5\nc: !!map {}\n", "{sssss{}}"); /* core tags */
}

TEST(what_is_no_text_is_refused)
{
    refused("", "t.yaml, line 1: the file is empty: it has no document");
    refused("\n# nothing\n", "t.yaml, line 3: the file is empty: it has no document");
    refused(
        "a: b\nc: \"x\ny: z\n",
        "t.yaml, line 4: not valid YAML: found unexpected end of stream while scanning a quoted "
        "scalar");
    refused("a: b\n c: d\n",
            "t.yaml, line 2: not valid YAML: mapping values are not allowed in this context");
    refused("a: [1, 2\nb: 3\n",
            "t.yaml, line 2: not valid YAML: did not find expected ',' or ']' while parsing a flow "
            "sequence");
    refused("a: b\n\tc: d\n", "t.yaml, line 2: not valid YAML: found a tab character that "
                              "violates indentation while scanning a plain scalar");
    refused("a: b\nc: \xff\n", "t.yaml, line 2: not UTF-8 text: invalid leading UTF-8 octet");
    refused("a: b\nc: \xc3(\n", "t.yaml, line 2: not UTF-8 text: invalid trailing UTF-8 octet");
    refused("a: b\n\nc: \x1b[1m\n",
            "t.yaml, line 3: not UTF-8 text: control characters are not allowed");
    refused_bytes("a: b\nc: \0d\n", 11,
                  "t.yaml, line 2: not UTF-8 text: control characters are not allowed");
    refused("a: \"x\\0y\"\n", "t.yaml, line 1: a scalar with a zero byte inside");
}

/* The reader works far ahead of the parser: the line must be that of the byte. */
TEST(bad_byte_far_in_has_its_line)
{
    enum { LINES = 20000 };
    char *text = malloc(LINES * 5 + 8);
    assert_non_null(text);
    for (size_t i = 0; i < LINES; i++) {
        memcpy(text + i * 5, "- ab\n", 5);
    }
    memcpy(text + 12344 * 5,
           "- \xff"
           "b\n",
           5);
    refused_bytes(text, LINES * 5,
                  "t.yaml, line 12345: not UTF-8 text: invalid leading UTF-8 octet");
    free(text);
}

/* Aliases are what PyYAML writes for a list that is in several places. */
TEST(aliases_give_the_value_again)
{
    gives("a: &x [1]\nb: *x\n", "{s[s]s[s]}");
    gives("a: &y 2\nb: [*y, *y]\n", "{sss[ss]}");
    gives("a: &m {b: &n [1, {}]}\nc: *m\nd: *n\n", "{s{s[s{}]}s{s[s{}]}s[s{}]}");
    gives("a: &x [&y s, *y]\nb: [*x, *y]\n", "{s[ss]s[[ss]s]}");
    gives("a: &x s\n*x : *x\n", "{ssss}");
    gives("a: &x [1]\nb: &x {}\nc: *x\n", "{s[s]s{}s{}}"); /* the last one of the name */
    gives("a: &x [&x s, *x]\nb: *x\n", "{s[ss]ss}");       /* the same, one inside the other */
    gives("a: !!python/tuple [1, 2]\n", "{s[ss]}");
}

/* an alias has the line where it stands, and the text of its anchor */
TEST(aliases_have_lines_and_text)
{
    static const char text[] = "- &x ['5', 5]\n\n- *x\n";
    struct carm_yaml *yaml = NULL;
    static const size_t lines[] = {1, 1, 1, 1, 3, 3, 3};
    assert_ok(carm_yaml_open_text(text, strlen(text), "t.yaml", NULL, &yaml, &err));
    const struct carm_yaml_item *items = carm_yaml_root(yaml);
    assert_int_equal(items->size, sizeof lines / sizeof *lines);
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        assert_int_equal(items[i].line, lines[i]);
        if (items[i].kind == CARM_YAML_SCALAR) {
            assert_string_equal(items[i].text, "5");
            assert_int_equal(items[i].length, 1);
            assert_int_equal(items[i].plain, i == 3 || i == 6);
        }
    }
    carm_yaml_close(yaml);
}

TEST(what_could_grow_is_refused)
{
    refused("a: *x\n", "t.yaml, line 1: the alias *x has no anchor before it");
    refused("a: &x [1, *x]\n", "t.yaml, line 1: the alias *x is used inside its own anchor");
    refused("a: &x {b: [{c: *x}]}\n", "t.yaml, line 1: the alias *x is used inside its own anchor");
    refused("a: &a [x, x, x, x, x, x, x, x, x, x]\n"
            "b: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
            "c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\n"
            "d: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n",
            "t.yaml, line 3: the aliases so far stand for more than 404 values: write them out");
    refused("- &a [[[[[[[[x]]]]]]]]\n- [[[[[[[*a]]]]]]]\n- [[[[[[[[*a]]]]]]]]\n",
            "t.yaml, line 3: maps and lists nest more than 16 deep: no graph, architecture or "
            "analysis does");
    refused(
        "a: !!python/object:os.system x\n",
        "t.yaml, line 1: the tag tag:yaml.org,2002:python/object:os.system: only YAML's own are "
        "read, where they fit; leave it out");
    refused("a: !mine {}\n", "t.yaml, line 1: the tag !mine: only YAML's own are read, where they "
                             "fit; leave it out");
    refused("a: !!map x\n", "t.yaml, line 1: the tag tag:yaml.org,2002:map: only YAML's own are "
                            "read, where they fit; leave it out");
    refused("a: !!int [x]\n", "t.yaml, line 1: the tag tag:yaml.org,2002:int: only YAML's own are "
                              "read, where they fit; leave it out");
    refused("a: b\n---\nc: d\n",
            "t.yaml, line 2: a second document: put each document into a file of its own");
}

TEST(nesting_has_its_limit)
{
    char text[2 * CARM_YAML_DEPTH_MAX + 8];
    char *bomb = malloc(100001);
    assert_non_null(bomb);
    memset(text, '[', CARM_YAML_DEPTH_MAX);
    memset(text + CARM_YAML_DEPTH_MAX, ']', CARM_YAML_DEPTH_MAX);
    text[2 * CARM_YAML_DEPTH_MAX] = '\0';
    assert_ok(walk(text, strlen(text), NULL, &err));
    memset(bomb, '[', 100000);
    bomb[100000] = '\0';
    refused(bomb,
            "t.yaml, line 1: maps and lists nest more than 16 deep: no graph, architecture or "
            "analysis does");
    free(bomb);
}

TEST(scalars_have_their_limit)
{
    const size_t large = 6 << 20;
    char *text = malloc(large + 16);
    assert_non_null(text);
    memset(text, 'x', large + 16);
    memcpy(text, "a:\n- ", 5);
    assert_ok(walk(text, 5 + CARM_YAML_SCALAR_MAX, NULL, &err));
    refused_bytes(text, 5 + CARM_YAML_SCALAR_MAX + 1,
                  "t.yaml, line 2: a scalar of 1048577 bytes: 1048576 is the most");
    /* libyaml alone would read all of it first */
    assert_int_equal(walk(text, large, NULL, &err), -CARM_EFORMAT);
    assert_string_equal(err.text,
                        "t.yaml, line 2: more than 4 MiB without a value: carm reads scalars of up "
                        "to 1048576 bytes");
    memset(text, '\n', large);
    assert_refused(walk(text, large, NULL, &err), -CARM_EFORMAT, "more than 4 MiB without a value");
    free(text);
}

TEST(long_lists_are_read)
{
    enum { MEMBERS = 1000000 };
    char *text = malloc(2 * MEMBERS + 2);
    assert_non_null(text);
    for (size_t i = 0; i < MEMBERS; i++) {
        text[2 * i] = i ? ',' : '[';
        text[2 * i + 1] = '7';
    }
    text[(size_t)2 * MEMBERS] = ']';
    assert_ok(walk(text, 2 * MEMBERS + 1, NULL, &err));
    free(text);
}

/* The scalar alone in its document. */
static int value(const char *text,
                 int (*read)(const struct carm_yaml *, const struct carm_yaml_item *, const char *,
                             void *, struct carm_err *),
                 void *v, struct carm_err *failure)
{
    struct carm_yaml *yaml = NULL;
    assert_int_equal(carm_yaml_open_text(text, strlen(text), "t.yaml", NULL, &yaml, failure), 0);
    const int rc = read(yaml, carm_yaml_root(yaml), "n", v, failure);
    carm_yaml_close(yaml);
    return rc;
}

static int count(const struct carm_yaml *y, const struct carm_yaml_item *i, const char *what,
                 void *v, struct carm_err *failure)
{
    return carm_yaml_count(y, i, what, v, failure);
}

static int number(const struct carm_yaml *y, const struct carm_yaml_item *i, const char *what,
                  void *v, struct carm_err *failure)
{
    return carm_yaml_number(y, i, what, v, failure);
}

static int boolean(const struct carm_yaml *y, const struct carm_yaml_item *i, const char *what,
                   void *v, struct carm_err *failure)
{
    return carm_yaml_bool(y, i, what, v, failure);
}

TEST(counts_are_exact)
{
    static const struct {
        const char *text;
        uint64_t value;
    } good[] = {{"0", 0},
                {"7", 7},
                {"1_000", 1000},
                {"9007199254740993", UINT64_C(9007199254740993)}, /* 2^53 + 1 */
                {"9223372036854775807", INT64_MAX},
                {"!!int '12'", 12}};
    static const char *const bad[] = {"-1",
                                      "+1",
                                      "1.0",
                                      "1e6",
                                      "010",
                                      "0x10",
                                      "_1",
                                      "1_",
                                      "1__0",
                                      "\"1\"",
                                      "~",
                                      "''",
                                      "1 2",
                                      "[1]",
                                      "{}",
                                      "00",
                                      "9223372036854775808",
                                      "99999999999999999999999",
                                      "!!str 1"};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        uint64_t v = 99;
        assert_ok(value(good[i].text, count, &v, &err));
        assert_true(v == good[i].value);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        uint64_t v = 99;
        fail_if(value(bad[i], count, &v, &err) != -CARM_EFORMAT, "%s was read", bad[i]);
        assert_true(v == 99);
        assert_non_null(strstr(err.text, "t.yaml, line 1: n is "));
    }
    uint64_t v = 0;
    (void)value("\n\n-3", count, &v, &err);
    assert_string_equal(err.text, "t.yaml, line 3: n is -3, not a whole number from 0 to "
                                  "9223372036854775807 in digits");
    (void)value("\"5\"", count, &v, &err);
    assert_non_null(strstr(err.text, "n is \"5\", not"));
    (void)value("[5]", count, &v, &err);
    assert_non_null(strstr(err.text, "n is a list, not"));
    /* control characters, U+0080 to U+009F too, are not for terminals */
    (void)value("\"\\x80 \\x9f \\xa0 \\u0145 \\x1f \\x7f\"", count, &v, &err);
    assert_non_null(strstr(err.text, "n is \"?? ?? \xc2\xa0 \xc5\x85 ? ?\", not"));
}

TEST(numbers_are_finite)
{
    static const char *const bad[] = {".inf", "-.inf", ".nan", "1e999", "0x1p3", "nan", "1.5x",
                                      "~",    "\"1\"", "{}",   "-",     "1 2",   ""};
    double v = 0;
    assert_ok(value("1019.4", number, &v, &err));
    assert_near(v, 1019.4, 0);
    assert_ok(value("-2.5e+3", number, &v, &err));
    assert_near(v, -2500.0, 0);
    assert_ok(value("1_000", number, &v, &err));
    assert_near(v, 1000.0, 0);
    for (size_t i = 0; i + 1 < sizeof bad / sizeof *bad; i++) {
        fail_if(value(bad[i], number, &v, &err) != -CARM_EFORMAT, "%s was read", bad[i]);
    }
    assert_near(v, 1000.0, 0);
}

TEST(truths_are_words)
{
    bool v = false;
    assert_ok(value("true", boolean, &v, &err));
    assert_true(v);
    assert_ok(value("No", boolean, &v, &err));
    assert_false(v);
    assert_int_equal(value("1", boolean, &v, &err), -CARM_EFORMAT);
    assert_int_equal(value("'true'", boolean, &v, &err), -CARM_EFORMAT);
    assert_string_equal(err.text, "t.yaml, line 1: n is \"true\", not true or false");
}

TEST(keys_are_followed_by_their_values)
{
    static const char text[] = "a: {b: [1, {c: d}], e: f}\ng: h\n";
    struct carm_yaml *yaml = NULL;
    int rc = 0;
    assert_ok(carm_yaml_open_text(text, strlen(text), "t", "a map is needed", &yaml, &err));
    const struct carm_yaml_item *root = carm_yaml_root(yaml);
    const struct carm_yaml_item *key = carm_yaml_next_key(yaml, root, NULL, &rc, &err);
    assert_string_equal(key->text, "a");
    assert_int_equal(key[1].kind, CARM_YAML_MAP);
    key = carm_yaml_next_key(yaml, root, key, &rc, &err);
    assert_string_equal(key->text, "g");
    assert_int_equal(key->line, 2);
    assert_null(carm_yaml_next_key(yaml, root, key, &rc, &err));
    carm_yaml_close(yaml);
    assert_refused(carm_yaml_open_text("\n- a\n", 5, "t", "a map is needed", &yaml, &err),
                   -CARM_EFORMAT, "t, line 2: a map is needed");
}

TEST(files_that_cannot_be_read_are_named)
{
    struct carm_yaml *yaml = NULL;
    assert_int_equal(carm_yaml_open("/nowhere/x.yaml", NULL, &yaml, &err), -CARM_EIO);
    assert_string_equal(err.text, "cannot read /nowhere/x.yaml: No such file or directory");
    assert_null(yaml);
    assert_int_equal(carm_yaml_open("/", NULL, &yaml, &err), -CARM_EIO);
    assert_string_equal(err.text, "cannot read /: it is a directory; name a file in it");
    assert_refused(carm_yaml_open("/proc/self/mem", NULL, &yaml, &err), -CARM_EIO,
                   "cannot read /proc/self/mem: Input/output error");
    carm_yaml_close(NULL);
}

TEST(a_file_reads_like_text)
{
    char path[] = "/tmp/carm-yaml-XXXXXX";
    const int fd = mkstemp(path);
    struct carm_yaml *yaml = NULL;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, "x: y\n", 5), 5);
    assert_int_equal(close(fd), 0);
    assert_ok(carm_yaml_open(path, NULL, &yaml, &err));
    assert_int_equal(unlink(path), 0);
    assert_int_equal(carm_yaml_root(yaml)->kind, CARM_YAML_MAP);
    carm_yaml_close(yaml);
}
