/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/fleet/scan.h"

#include <string.h>

enum { DEPTH_MAX = 64 }; /* a model has 6 */

static void skip_blanks(struct carm_fleet_scan *s)
{
    while (s->at < s->end &&
           (*s->at == ' ' || *s->at == '\n' || *s->at == '\r' || *s->at == '\t')) {
        s->at++;
    }
}

static bool take(struct carm_fleet_scan *s, char c)
{
    skip_blanks(s);
    if (s->at >= s->end || *s->at != c) {
        return false;
    }
    s->at++;
    return true;
}

/* From a quote to behind the one that closes. */
static bool skip_string(struct carm_fleet_scan *s)
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
static bool skip_brackets(struct carm_fleet_scan *s)
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

static bool skip_value(struct carm_fleet_scan *s)
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
    while (s->at < s->end && !memchr(",]} \n\r\t", *s->at, 8)) {
        s->at++;
    }
    return s->at > begin;
}

int carm_fleet_scan_next(struct carm_fleet_scan *s, bool *first, char close)
{
    if (take(s, close)) {
        return 0;
    }
    if (!*first && !take(s, ',')) {
        return -1;
    }
    *first = false;
    return 1;
}

bool carm_fleet_scan_open(struct carm_fleet_scan *s, char open)
{
    return take(s, open);
}

bool carm_fleet_scan_value(struct carm_fleet_scan *s, struct carm_fleet_span *value)
{
    skip_blanks(s);
    value->at = s->at;
    const bool good = skip_value(s);
    value->size = (size_t)(s->at - value->at);
    return good;
}

bool carm_fleet_scan_end(struct carm_fleet_scan *s)
{
    skip_blanks(s);
    return s->at == s->end;
}

int carm_fleet_scan_member(struct carm_fleet_scan *s, bool *first, struct carm_fleet_span *name,
                           struct carm_fleet_span *value)
{
    const int more = carm_fleet_scan_next(s, first, '}');
    if (more <= 0) {
        return more;
    }
    skip_blanks(s);
    if (s->at >= s->end || *s->at != '"' || !carm_fleet_scan_value(s, name) || !take(s, ':')) {
        return -1;
    }
    name->at++;
    name->size -= 2;
    return carm_fleet_scan_value(s, value) ? 1 : -1;
}

bool carm_fleet_span_is(const struct carm_fleet_span *span, const char *word)
{
    return span->size == strlen(word) && memcmp(span->at, word, span->size) == 0;
}
