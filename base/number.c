/* SPDX-License-Identifier: MIT */
#include "base/number.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DIGITS_MAX = 19 }; /* digits that fit a uint64_t */

/* 10^k, exact up to k = 22 */
static const double tens[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                              1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                              1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

/* Writes the n digits of v, left-padded with zeros. returns the end of the text */
static char *put_digits(char *dst, uint64_t v, int n)
{
    for (int i = n; i-- > 0; v /= 10) {
        dst[i] = (char)('0' + v % 10);
    }
    return dst + n;
}

static char *put_whole(char *dst, uint64_t v)
{
    int n = 1;
    for (uint64_t rest = v; rest >= 10; rest /= 10) {
        n++;
    }
    return put_digits(dst, v, n);
}

char *carm_number_short(char *dst, double v)
{
    return carm_number_digits(dst, v, 6);
}

/* Rounds v x scale to a whole number like printf: from the exact product, halves to even. */
static uint64_t round_scaled(double v, double scale)
{
    const double x = v * scale;
    const uint64_t low = (uint64_t)x;
    const double over = x - (double)low;
    if (over != 0.5) {
        return low + (over > 0.5);
    }
    const double rest = fma(v, scale, -x); /* the rounding error of the product */
    return low + (rest > 0.0 || (rest == 0.0 && (low & 1)));
}

char *carm_number_fixed(char *dst, double v, int decimals)
{
    if (!(v >= 0.0 && v < 1e9)) {
        snprintf(dst, CARM_NUMBER_MAX, "%.*e", decimals, v);
        return dst;
    }
    const uint64_t unit = (uint64_t)tens[decimals];
    const uint64_t all = round_scaled(v, tens[decimals]);
    char *at = put_whole(dst, all / unit);
    if (decimals > 0) {
        *at++ = '.';
        at = put_digits(at, all % unit, decimals);
    }
    *at = '\0';
    return dst;
}

/* a, from 1e-4 to 1e15, is d.ddd x 10^e. returns e */
static int exponent_of(double a)
{
    int e = a >= 1e8 ? 8 : a >= 1.0 ? 0 : -4;
    for (; e < 15 && a >= (e < 0 ? 1.0 / tens[-e - 1] : tens[e + 1]); e++) {
    }
    return e;
}

char *carm_number_digits(char *dst, double v, int digits)
{
    const double a = fabs(v);
    char *at = dst;
    if (v == 0.0) {
        memcpy(dst, signbit(v) ? "-0" : "0", signbit(v) ? 3 : 2);
        return dst;
    }
    if (!(a >= 1e-4 && a < 1e15)) {
        snprintf(dst, CARM_NUMBER_MAX, "%.*g", digits, v);
        return dst;
    }
    int e = exponent_of(a);
    const int shift = digits - 1 - e;
    uint64_t all = (uint64_t)(shift >= 0 ? a * tens[shift] + 0.5 : a / tens[-shift] + 0.5);
    if (all >= (uint64_t)tens[digits]) {
        all /= 10;
        e++;
    }
    int n = digits;
    for (; n > 1 && all % 10 == 0; n--) {
        all /= 10;
    }
    if (v < 0.0) {
        *at++ = '-';
    }
    if (e >= digits) {
        char mantissa[16] = "";
        put_digits(mantissa, all, n);
        *at++ = mantissa[0];
        if (n > 1) {
            *at++ = '.';
            memcpy(at, mantissa + 1, (size_t)n - 1);
            at += n - 1;
        }
        *at++ = 'e';
        *at++ = '+';
        at = put_digits(at, (uint64_t)e, 2);
    } else if (e >= n - 1) {
        at = put_whole(at, all * (uint64_t)tens[e - n + 1]);
    } else if (e >= 0) {
        const uint64_t unit = (uint64_t)tens[n - 1 - e];
        at = put_whole(at, all / unit);
        *at++ = '.';
        at = put_digits(at, all % unit, n - 1 - e);
    } else {
        *at++ = '0';
        *at++ = '.';
        at = put_digits(at, all, n - 1 - e);
    }
    *at = '\0';
    return dst;
}

enum { EXACT_DIGITS = 15 };

/* Whether one multiplication gives all digits: its error, at most an eighth, does not change the
 * rounding. */
static bool rounds_clearly(double v)
{
    if (!(v >= 1e-4 && v < 1e15)) {
        return false;
    }
    const double x = v * tens[EXACT_DIGITS - 1 - exponent_of(v)];
    return fabs(x - floor(x) - 0.5) > 0.125;
}

char *carm_number_exact(char *dst, double v)
{
    if (v >= 0.0 && v < 0x1p53 && v == floor(v)) {
        *put_whole(dst, (uint64_t)v) = '\0';
        return dst;
    }
    if (rounds_clearly(v)) {
        return carm_number_digits(dst, v, EXACT_DIGITS);
    }
    snprintf(dst, CARM_NUMBER_MAX, "%.15g", v);
    return dst;
}

/* 5^k, exact up to k = 27 */
static const uint64_t fives[] = {UINT64_C(1),
                                 UINT64_C(5),
                                 UINT64_C(25),
                                 UINT64_C(125),
                                 UINT64_C(625),
                                 UINT64_C(3125),
                                 UINT64_C(15625),
                                 UINT64_C(78125),
                                 UINT64_C(390625),
                                 UINT64_C(1953125),
                                 UINT64_C(9765625),
                                 UINT64_C(48828125),
                                 UINT64_C(244140625),
                                 UINT64_C(1220703125),
                                 UINT64_C(6103515625),
                                 UINT64_C(30517578125),
                                 UINT64_C(152587890625),
                                 UINT64_C(762939453125),
                                 UINT64_C(3814697265625),
                                 UINT64_C(19073486328125),
                                 UINT64_C(95367431640625),
                                 UINT64_C(476837158203125),
                                 UINT64_C(2384185791015625),
                                 UINT64_C(11920928955078125),
                                 UINT64_C(59604644775390625),
                                 UINT64_C(298023223876953125),
                                 UINT64_C(1490116119384765625),
                                 UINT64_C(7450580596923828125)};
enum { FIVES_MAX = sizeof fives / sizeof *fives - 1 };

/* digits (not 0) x 10^power as integers, so that the conversion to double is the only rounding. power is
 * from -FIVES_MAX to FIVES_MAX. A quotient has at least 65 bits; the lowest is 1 if there is a remainder. */
static double scale_exactly(uint64_t digits, int power)
{
    if (power >= 0) {
        return ldexp((double)((unsigned __int128)digits * fives[power]), power);
    }
    const int shift = 64 + __builtin_clzll(digits);
    const unsigned __int128 all = (unsigned __int128)digits << shift;
    const unsigned __int128 quotient = all / fives[-power];
    const bool rest = quotient * fives[-power] != all;
    return ldexp((double)(quotient | rest), power - shift);
}

/* Passes digits, and appends them to *all, which wraps around after DIGITS_MAX digits. */
static const char *scan_digits(const char *at, uint64_t *all)
{
    for (; *at >= '0' && *at <= '9'; at++) {
        *all = *all * 10 + (uint64_t)(*at - '0');
    }
    return at;
}

const char *carm_number_scan(const char *text, double *value)
{
    uint64_t digits = 0;
    long power = 0; /* power of ten with which the digits are multiplied */
    long exponent = 0;
    const char *first = text + (*text == '-' || *text == '+');
    const char *at = scan_digits(first, &digits);
    bool point = *at == '.';
    if (point) {
        const char *behind = at + 1;
        at = scan_digits(behind, &digits);
        power = behind - at;
    }
    size_t n = (size_t)(at - first) - point;
    if (n == 0) {
        return NULL;
    }
    for (; n > DIGITS_MAX && (*first == '0' || *first == '.'); first++) {
        n -= *first == '0'; /* leading zeros do not count */
    }
    if (*at == 'e' || *at == 'E') {
        const bool minus = at[1] == '-';
        at += 1 + (at[1] == '-' || at[1] == '+');
        if (*at < '0' || *at > '9') {
            return NULL;
        }
        for (; *at >= '0' && *at <= '9'; at++) {
            exponent = exponent < 10000 ? exponent * 10 + (*at - '0') : exponent;
        }
        exponent = minus ? -exponent : exponent;
    }
    power += exponent;
    /* both operands are exact as doubles, so that one operation rounds correctly */
    if (n <= DIGITS_MAX && digits < UINT64_C(1) << 53 && (power >= -22 && power <= 22)) {
        const double v = power < 0 ? (double)digits / tens[-power] : (double)digits * tens[power];
        *value = *text == '-' ? -v : v;
    } else if (n <= DIGITS_MAX && digits > 0 && power >= -FIVES_MAX && power <= FIVES_MAX) {
        const double v = scale_exactly(digits, (int)power);
        *value = *text == '-' ? -v : v;
    } else {
        *value = strtod(text, NULL);
    }
    return at;
}

const char *carm_number_ratio(const char *text, double *value)
{
    double second = 1.0;
    const char *end = carm_number_scan(text, value);
    const char sign = end ? *end : '\0';
    if (sign != '/' && sign != '^') {
        return end;
    }
    end = carm_number_scan(end + 1, &second);
    *value = sign == '/' ? *value / second : pow(*value, second);
    return end;
}

bool carm_number_between(const char *word, double least, double most, double *value)
{
    char *end;
    if ((*word < '0' || *word > '9') && *word != '.') {
        return false;
    }
    const double v = strtod(word, &end);
    if (end == word || *end != '\0' || !(v >= least && v <= most)) {
        return false;
    }
    *value = v;
    return true;
}

bool carm_number_percent(const char *word, double *share)
{
    double percent;
    if (!word) {
        return true;
    }
    if (!carm_number_between(word, 0.0, 100.0, &percent) || percent >= 100.0) {
        return false;
    }
    *share = percent / 100.0;
    return true;
}

bool carm_number_bytes(const char *word, uint64_t *bytes)
{
    static const char units[] = "KMGT";
    double value = 0.0;
    const char *end = carm_number_scan(word, &value);
    const char *unit = end && *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
    const char *rest = end && unit ? end + 1 : end;
    value = unit ? ldexp(value, 10 * (int)(unit - units + 1)) : value;
    if (!end || !(value > 0.0 && value <= 1e18) ||
        (*rest && strcasecmp(rest, "B") != 0 && strcasecmp(rest, "iB") != 0)) {
        return false;
    }
    *bytes = (uint64_t)value;
    return true;
}
