/* SPDX-License-Identifier: MIT */
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <wchar.h>

#include "base/number.h"

/* The character at s and its length in bytes; length 0 = not UTF-8. s is zero-terminated, so that a cut
 * sequence ends at the zero. */
static uint32_t decode(const unsigned char *s, size_t *length)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    *length = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
    if (s[0] < 0x80) {
        return s[0];
    }
    uint32_t c = s[0] & (0x7fu >> *length);
    for (size_t i = 1; i < *length; i++) {
        if ((s[i] & 0xc0) != 0x80) {
            *length = 0;
            return 0;
        }
        c = c << 6 | (s[i] & 0x3f);
    }
    bool bad = s[0] < 0xc2 || s[0] > 0xf4 || c < least[*length] || c > 0x10ffff ||
               (c >= 0xd800 && c < 0xe000);
    if (bad) {
        *length = 0;
    }
    return c;
}

static bool harmless(uint32_t c)
{
    return c >= 0x20 && !(c >= 0x7f && c < 0xa0) && c != 0xad && c != 0x61c &&
           !(c >= 0x200b && c <= 0x200f) && !(c >= 0x2028 && c <= 0x202e) &&
           !(c >= 0x2060 && c <= 0x206f) && c != 0xfeff && !(c >= 0xe0000 && c <= 0xe0fff);
}

size_t carm_text_plain(const char *s)
{
    size_t n = 0;
    while (s[n] >= ' ' && s[n] <= '~') {
        n++;
    }
    return n;
}

/* Appends the n bytes of a character, or a question mark if n is 0. returns false if there is no room */
static bool append(char *dst, size_t size, size_t *used, const unsigned char *s, size_t n)
{
    if (*used + (n ? n : 1) >= size) {
        return false;
    }
    if (n) {
        memcpy(dst + *used, s, n);
    } else {
        dst[*used] = '?';
    }
    *used += n ? n : 1;
    return true;
}

char *carm_text_clean(char *dst, size_t size, const char *src, bool ascii)
{
    const size_t plain = carm_text_plain(src); /* most texts are plain to their end */
    size_t used = plain < size ? plain : size - 1;
    memcpy(dst, src, used);
    for (const unsigned char *s = (const unsigned char *)src + used; *s;) {
        size_t n;
        uint32_t c = decode(s, &n);
        bool keep = n > 0 && harmless(c) && (n == 1 || !ascii);
        if (!append(dst, size, &used, s, keep ? n : 0)) {
            break;
        }
        s += n ? n : 1;
    }
    dst[used] = 0;
    return dst;
}

char *carm_text_fit(char *dst, size_t size, const char *src, size_t columns, bool ascii)
{
    size_t used = 0;
    const unsigned char *s = (const unsigned char *)src;
    for (size_t column = 0; *s && column < columns; column++) {
        size_t n = 0;
        const uint32_t c = decode(s, &n);
        const bool keep = n > 0 && harmless(c) && (n == 1 || (!ascii && wcwidth((wchar_t)c) == 1));
        if (!append(dst, size, &used, s, keep ? n : 0)) {
            break;
        }
        s += n ? n : 1;
    }
    dst[used] = '\0';
    return dst;
}

bool carm_text_has_controls(const char *s)
{
    for (const unsigned char *p = (const unsigned char *)s; *p; p++) {
        if (*p < 0x20 || *p == 0x7f || (p[0] == 0xc2 && p[1] >= 0x80 && p[1] < 0xa0)) {
            return true;
        }
    }
    return false;
}

size_t carm_text_width(const char *s)
{
    size_t n = 0;
    for (; *s; s++) {
        n += ((unsigned char)*s & 0xc0) != 0x80;
    }
    return n;
}

void carm_text_put(FILE *out, int width, const char *text)
{
    const size_t size = strlen(text), columns = (size_t)abs(width);
    const size_t wide = carm_text_width(text);
    if (width > 0) {
        fwrite_unlocked(text, 1, size, out);
    }
    for (size_t i = wide; i < columns; i++) {
        putc_unlocked(' ', out);
    }
    if (width < 0) {
        fwrite_unlocked(text, 1, size, out);
    }
}

char *carm_text_cut(char *dst, size_t size, const char *src, size_t columns, bool ascii)
{
    carm_text_clean(dst, size, src, ascii);
    if (carm_text_width(dst) <= columns) {
        return dst;
    }
    const char *mark = ascii ? "..." : "\u2026";
    const size_t keep = columns - carm_text_width(mark);
    char *at = dst;
    for (size_t n = 0; *at; at++) {
        const bool begins = ((unsigned char)*at & 0xc0) != 0x80;
        if (begins && n++ == keep) {
            break;
        }
    }
    snprintf(at, size - (size_t)(at - dst), "%s", mark);
    return dst;
}

char *carm_text_cut_begin(char *dst, size_t size, const char *src, size_t columns, bool ascii)
{
    char clean[1024] = "";
    const char *mark = ascii ? "..." : "\u2026", *at = clean;
    carm_text_clean(clean, sizeof clean, src, ascii);
    const size_t wide = carm_text_width(clean);
    if (wide <= columns) {
        snprintf(dst, size, "%s", clean);
        return dst;
    }
    for (size_t drop = wide - columns + carm_text_width(mark); drop; drop--) {
        do {
            at++;
        } while (((unsigned char)*at & 0xc0) == 0x80);
    }
    snprintf(dst, size, "%s%s", mark, at);
    return dst;
}

char *carm_text_cut_middle(char *dst, size_t size, const char *src, size_t columns, bool ascii)
{
    char begin[1024], end[1024];
    carm_text_clean(begin, sizeof begin, src, ascii);
    if (carm_text_width(begin) <= columns) {
        snprintf(dst, size, "%s", begin);
        return dst;
    }
    const size_t mark = ascii ? 3 : 1, half = columns / 2;
    carm_text_cut(begin, sizeof begin, src, half + mark, ascii);
    begin[strlen(begin) - strlen(ascii ? "..." : "\u2026")] = '\0';
    snprintf(dst, size, "%s%s", begin,
             carm_text_cut_begin(end, sizeof end, src, columns - half, ascii));
    return dst;
}

/* Appends as much of text as there is room for, and a zero. returns the new length */
static size_t put(char *dst, size_t size, size_t used, const char *text)
{
    const size_t n = strnlen(text, size - 1 - used);
    memcpy(dst + used, text, n);
    dst[used + n] = '\0';
    return used + n;
}

void carm_text_vformat(char *dst, size_t size, const char *fmt, va_list ap)
{
    char number[CARM_NUMBER_MAX];
    const char *at = fmt;
    size_t used = 0;
    va_list copy;
    va_copy(copy, ap);
    for (;;) {
        const char *text = NULL;
        const size_t n = strcspn(at, "%"), room = size - 1 - used;
        memcpy(dst + used, at, n < room ? n : room);
        used += n < room ? n : room;
        at += n;
        if (!*at) {
            dst[used] = '\0';
            break;
        }
        if (at[1] == 's') {
            text = va_arg(copy, const char *);
            at += 2;
        } else if (at[1] == '.' && at[2] >= '0' && at[2] <= '6' && at[3] == 'f') {
            const double v = va_arg(copy, double);
            text = v >= 0.0 && v < 1e9 ? carm_number_fixed(number, v, at[2] - '0') : NULL;
            at += 4;
        }
        if (!text) {
            vsnprintf(dst, size, fmt, ap);
            break;
        }
        used = put(dst, size, used, text);
    }
    va_end(copy);
}

char *carm_text_format(char *dst, size_t size, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    carm_text_vformat(dst, size, fmt, ap);
    va_end(ap);
    return dst;
}

void carm_text_append(char *text, size_t size, const char *fmt, ...)
{
    const size_t used = strlen(text);
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text + used, size - used, fmt, ap);
    va_end(ap);
}

/* returns whether the item fits */
static bool add_item(char *list, size_t size, const char *separator, const char *fmt, va_list ap)
{
    carm_text_append(list, size, "%s", *list ? separator : "");
    const size_t used = strlen(list);
    const int length = vsnprintf(list + used, size - used, fmt, ap);
    return length >= 0 && used + (size_t)length < size;
}

void carm_text_list(char *list, size_t size, const char *separator, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)add_item(list, size, separator, fmt, ap);
    va_end(ap);
}

bool carm_text_list_whole(char *list, size_t size, const char *separator, const char *fmt, ...)
{
    const size_t before = strlen(list);
    va_list ap;
    va_start(ap, fmt);
    const bool fits = add_item(list, size, separator, fmt, ap);
    va_end(ap);
    list[fits ? strlen(list) : before] = '\0';
    return fits;
}

char *carm_text_times(char dst[CARM_TEXT_TIMES_MAX], double factor)
{
    static const double most = 1e9;
    static const double whole = 99.5; /* from here on, %.2g would print 1e+02 */
    if (factor >= most) {
        snprintf(dst, CARM_TEXT_TIMES_MAX, "over 1e9");
    } else {
        snprintf(dst, CARM_TEXT_TIMES_MAX, factor >= whole ? "%.0f" : "%.2g", factor);
    }
    return dst;
}

/* v with four significant digits, in the fewest characters, and never as 1e+03. */
static size_t digits(char *dst, size_t size, double v)
{
    char text[CARM_NUMBER_MAX];
    carm_number_fixed(text, v, v < 9.9995 ? 3 : v < 99.995 ? 2 : v < 999.95 ? 1 : 0);
    return put(dst, size, 0, text);
}

char *carm_text_si(char *dst, size_t size, double v, const char *unit)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T", "P", "E"};
    size_t i = 0;
    while (v >= 999.95 && i + 1 < sizeof prefixes / sizeof *prefixes) {
        v /= 1000;
        i++;
    }
    if (v >= 9999.5 || v < 0.001) {
        snprintf(dst, size, "%.3g %s%s", v, prefixes[i], unit);
        return dst;
    }
    size_t n = digits(dst, size, v);
    n = put(dst, size, n, " ");
    n = put(dst, size, n, prefixes[i]);
    put(dst, size, n, unit);
    return dst;
}

char *carm_text_bytes(char *dst, size_t size, uint64_t bytes)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
    double v = (double)bytes;
    size_t i = 0;
    while (v >= 1024 && i + 1 < sizeof units / sizeof *units) {
        v /= 1024;
        i++;
    }
    bool whole = fabs(v - round(v)) < 0.005 * v; /* 104 MiB, not 104.2 */
    snprintf(dst, size, "%.*f %s", whole || v >= 100 ? 0 : v < 10 ? 2 : 1, v, units[i]);
    return dst;
}

char *carm_text_now(char *dst, size_t size)
{
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(dst, size, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return dst;
}
