/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a scalar of YAML means. Both YAML 1.1, which PyYAML writes, and 1.2 are read, but for words
 * that mean different numbers in the two. */
#include "models/sol/yaml.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER_MAX = 64 };

static int not_a(const struct carm_yaml *yaml, const struct carm_yaml_item *item, const char *what,
                 const char *expected, struct carm_err *err)
{
    switch (item->kind) {
    case CARM_YAML_MAP:
        return carm_yaml_refuse(yaml, item->line, err, "%s is a map, not %s", what, expected);
    case CARM_YAML_LIST:
        return carm_yaml_refuse(yaml, item->line, err, "%s is a list, not %s", what, expected);
    case CARM_YAML_SCALAR:
        return carm_yaml_refuse(yaml, item->line, err, "%s is %s%.40s%s, not %s", what,
                                item->plain && item->length ? "" : "\"", item->text,
                                item->plain && item->length ? "" : "\"", expected);
    default:
        return carm_yaml_refuse(yaml, item->line, err, "%s is missing: %s is expected", what,
                                expected);
    }
}

int carm_yaml_count(const struct carm_yaml *yaml, const struct carm_yaml_item *item,
                    const char *what, uint64_t *value, struct carm_err *err)
{
    static const char expected[] = "a whole number from 0 to 9223372036854775807 in digits";
    const char *s = item->text;
    uint64_t v = 0;
    bool digit = false; /* the character before */
    if (item->kind != CARM_YAML_SCALAR || !item->plain) {
        return not_a(yaml, item, what, expected, err);
    }
    if (s[0] == '0' && s[1]) { /* octal in YAML 1.1, decimal in 1.2 */
        return not_a(yaml, item, what, expected, err);
    }
    for (; *s; s++) {
        if (*s == '_' && digit) { /* 1_000 */
            digit = false;
            continue;
        }
        const unsigned d = (unsigned)(*s - '0');
        if (d > 9 || v > ((uint64_t)INT64_MAX - d) / 10) {
            return not_a(yaml, item, what, expected, err);
        }
        v = v * 10 + d;
        digit = true;
    }
    if (!digit) {
        return not_a(yaml, item, what, expected, err);
    }
    *value = v;
    return 0;
}

int carm_yaml_number(const struct carm_yaml *yaml, const struct carm_yaml_item *item,
                     const char *what, double *value, struct carm_err *err)
{
    char digits[NUMBER_MAX];
    size_t n = 0;
    if (item->kind != CARM_YAML_SCALAR || !item->plain || item->length >= sizeof digits ||
        strspn(item->text, "0123456789_.eE+-") != item->length) {
        return not_a(yaml, item, what, "a number", err); /* nor hexadecimal, .inf, .nan */
    }
    for (const char *s = item->text; *s; s++) {
        if (*s != '_') {
            digits[n++] = *s;
        }
    }
    digits[n] = '\0';
    char *rest = NULL;
    const double v = strtod(digits, &rest);
    if (rest == digits || *rest || !isfinite(v)) {
        return not_a(yaml, item, what, "a number", err);
    }
    *value = v;
    return 0;
}

int carm_yaml_bool(const struct carm_yaml *yaml, const struct carm_yaml_item *item,
                   const char *what, bool *value, struct carm_err *err)
{
    static const char *const words[] = {"false", "true", "False", "True", "FALSE", "TRUE",
                                        "no",    "yes",  "No",    "Yes",  "NO",    "YES",
                                        "off",   "on",   "Off",   "On",   "OFF",   "ON"};
    if (item->kind == CARM_YAML_SCALAR && item->plain) {
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            if (strcmp(item->text, words[i]) == 0) {
                *value = i % 2;
                return 0;
            }
        }
    }
    return not_a(yaml, item, what, "true or false", err);
}

bool carm_yaml_is_null(const struct carm_yaml_item *item)
{
    if (item->kind != CARM_YAML_SCALAR || !item->plain) {
        return false;
    }
    switch (item->length) {
    case 0:
        return true;
    case 1:
        return *item->text == '~';
    case 4:
        return strcmp(item->text, "null") == 0 || strcmp(item->text, "Null") == 0 ||
               strcmp(item->text, "NULL") == 0;
    default:
        return false;
    }
}
