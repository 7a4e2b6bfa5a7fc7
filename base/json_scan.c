/* SPDX-License-Identifier: MIT */
#include "base/json_scan.h"

#include <limits.h>
#include <string.h>

enum { DEPTH_MAX = 64 }; /* a model has 6 */

static void skip_blanks(struct carm_scan *s)
{
    while (s->at < s->end &&
           (*s->at == ' ' || *s->at == '\n' || *s->at == '\r' || *s->at == '\t')) {
        s->at++;
    }
}

bool carm_scan_take(struct carm_scan *s, char c)
{
    skip_blanks(s);
    if (s->at >= s->end || *s->at != c) {
        return false;
    }
    s->at++;
    return true;
}

/* From a quote to behind the one that closes. */
static bool skip_string(struct carm_scan *s)
{
    for (s->at++; s->at < s->end; s->at++) {
        if (*s->at == '\\') {
            s->at++;
        } else if (*s->at == '"') {
            s->at++;
            return true;
        }
    }
    return false;
}

/* From an opening bracket to behind its closing one; kinds must agree. */
static bool skip_brackets(struct carm_scan *s)
{
    char open[DEPTH_MAX];
    size_t depth = 0;
    while (s->at < s->end) {
        const char c = *s->at;
        if (c == '"') {
            if (!skip_string(s)) {
                return false;
            }
            continue;
        }
        if (c == '{' || c == '[') {
            if (depth == DEPTH_MAX) {
                return false;
            }
            open[depth++] = c;
        } else if (c == '}' || c == ']') {
            if (open[--depth] != (c == '}' ? '{' : '[')) {
                return false;
            }
        }
        s->at++;
        if (depth == 0) {
            return true;
        }
    }
    return false;
}

static const bool ends_word[UCHAR_MAX + 1] = {
    [','] = true,  [']'] = true,  ['}'] = true,  [' '] = true,
    ['\n'] = true, ['\r'] = true, ['\t'] = true, ['\0'] = true};

static bool skip_value(struct carm_scan *s)
{
    skip_blanks(s);
    if (s->at >= s->end) {
        return false;
    }
    if (*s->at == '"') {
        return skip_string(s);
    }
    if (*s->at == '{' || *s->at == '[') {
        return skip_brackets(s);
    }
    const char *begin = s->at;
    while (s->at < s->end && !ends_word[(unsigned char)*s->at]) {
        s->at++;
    }
    return s->at > begin;
}

int carm_scan_next(struct carm_scan *s, bool *first, char close)
{
    if (carm_scan_take(s, close)) {
        return 0;
    }
    if (!*first && !carm_scan_take(s, ',')) {
        return -1;
    }
    *first = false;
    return 1;
}

bool carm_scan_value(struct carm_scan *s, struct carm_span *value)
{
    skip_blanks(s);
    value->at = s->at;
    const bool good = skip_value(s);
    value->size = (size_t)(s->at - value->at);
    return good;
}

bool carm_scan_end(struct carm_scan *s)
{
    skip_blanks(s);
    return s->at == s->end;
}

int carm_scan_name(struct carm_scan *s, bool *first, struct carm_span *name)
{
    const int more = carm_scan_next(s, first, '}');
    if (more <= 0) {
        return more;
    }
    skip_blanks(s);
    if (s->at >= s->end || *s->at != '"' || !carm_scan_value(s, name) || !carm_scan_take(s, ':')) {
        return -1;
    }
    name->at++;
    name->size -= 2;
    return 1;
}

bool carm_span_find(const char *text, size_t size, const struct carm_span *names, size_t n,
                    struct carm_span *values)
{
    struct carm_scan s = {text, text + size};
    struct carm_span name;
    struct carm_span value;
    bool first = true;
    memset(values, 0, n * sizeof *values);
    if (!carm_scan_take(&s, '{')) {
        return false;
    }
    int more = carm_scan_name(&s, &first, &name);
    for (; more > 0; more = carm_scan_name(&s, &first, &name)) {
        if (!carm_scan_value(&s, &value)) {
            return false;
        }
        for (size_t i = 0; i < n; i++) {
            if (carm_span_same(&name, &names[i])) {
                if (values[i].at) {
                    return false;
                }
                values[i] = value;
            }
        }
    }
    return more == 0 && carm_scan_end(&s);
}
