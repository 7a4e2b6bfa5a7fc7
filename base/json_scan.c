/* SPDX-License-Identifier: MIT */
#include "base/json_scan.h"

#include <emmintrin.h>
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

enum ends { OF_STRING, OF_WORD, OF_BRACKETS };

/* Which of 16 characters may end a string (quotes, backslashes), a word (commas, closing brackets, and blanks or
 * characters below) or a run inside brackets (brackets, quotes). Setting bit 5 makes braces of square brackets. */
static inline unsigned ends_in(__m128i c, enum ends what)
{
    const __m128i quotes = _mm_cmpeq_epi8(c, _mm_set1_epi8('"'));
    const __m128i folded = _mm_or_si128(c, _mm_set1_epi8(0x20));
    const __m128i closes = _mm_cmpeq_epi8(folded, _mm_set1_epi8('}'));
    __m128i ends;
    if (what == OF_STRING) {
        ends = _mm_or_si128(quotes, _mm_cmpeq_epi8(c, _mm_set1_epi8('\\')));
    } else if (what == OF_WORD) {
        ends = _mm_or_si128(closes, _mm_cmpeq_epi8(c, _mm_set1_epi8(',')));
        ends = _mm_or_si128(ends, _mm_cmpeq_epi8(_mm_min_epu8(c, _mm_set1_epi8(' ')), c));
    } else {
        ends = _mm_or_si128(quotes, closes);
        ends = _mm_or_si128(ends, _mm_cmpeq_epi8(folded, _mm_set1_epi8('{')));
    }
    return (unsigned)_mm_movemask_epi8(ends);
}

static inline const char *find_end(const char *at, const char *end, enum ends what)
{
    for (; at < end; at += sizeof(__m128i)) {
        const size_t left = (size_t)(end - at);
        __m128i c = _mm_setzero_si128();
        unsigned all = 0xffff;
        if (left >= sizeof c) {
            c = _mm_loadu_si128((const __m128i *)at);
        } else {
            memcpy(&c, at, left);
            all = (1U << left) - 1;
        }
        const unsigned found = ends_in(c, what) & all;
        if (found) {
            return at + __builtin_ctz(found);
        }
    }
    return end;
}

/* Moves from a quote to behind the closing quote. */
static bool skip_string(struct carm_scan *s)
{
    s->at++;
    while ((s->at = find_end(s->at, s->end, OF_STRING)) < s->end && *s->at == '\\') {
        s->at += 2;
    }
    s->at++;
    return s->at <= s->end;
}

/* Moves from an opening bracket to behind its closing bracket; the kinds must match. */
static bool skip_brackets(struct carm_scan *s)
{
    char open[DEPTH_MAX];
    size_t depth = 0;
    while ((s->at = find_end(s->at, s->end, OF_BRACKETS)) < s->end) {
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
        } else if (depth == 0 || open[--depth] != (c == '}' ? '{' : '[')) {
            return false;
        }
        s->at++;
        if (depth == 0) {
            return true;
        }
    }
    return false;
}

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
    s->at = find_end(begin, s->end, OF_WORD);
    return s->at > begin;
}

size_t carm_scan_lines(const char *at, const char *end)
{
    size_t n = 0;
    for (; end - at >= (ptrdiff_t)sizeof(__m128i); at += sizeof(__m128i)) {
        const __m128i c = _mm_loadu_si128((const __m128i *)at);
        unsigned found = (unsigned)_mm_movemask_epi8(_mm_cmpeq_epi8(c, _mm_set1_epi8('\n')));
        for (; found; found &= found - 1) {
            n++;
        }
    }
    for (; at < end; at++) {
        n += *at == '\n';
    }
    return n;
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
