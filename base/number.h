/* SPDX-License-Identifier: MIT */
/* Numbers as text for files with very many of them, several times as fast as printf; numbers and
 * percentages of the command line, and an interval. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum { CARM_NUMBER_MAX = 32 };

/* An interval; a 95% confidence interval unless stated otherwise. */
struct carm_ci {
    double lo, hi; /* same unit as the value whose interval this is */
};

/* An interval with a side of more than this share of the value comes from a few differing rounds and cannot predict
 * another build: outputs print "not known". Chosen by hand. */
#define CARM_NOT_KNOWN 0.5

/* `digits` (1 .. 15) significant digits, like %.*g; the last digit may differ where v is halfway between
 * two. v is finite.
 * dst  [CARM_NUMBER_MAX]
 * returns dst */
char *carm_number_digits(char *dst, double v, int digits);

/* carm_number_digits with six digits. */
char *carm_number_short(char *dst, double v);

/* Like %.*f, up to 6 decimals. returns dst */
char *carm_number_fixed(char *dst, double v, int decimals);

/* Whole numbers below 2^53 in full, others with up to 15 significant digits. returns dst */
char *carm_number_exact(char *dst, double v);

/* A plain decimal number (digits, one '.', an exponent), correctly rounded: no blanks, no words,
 * no hex. LC_NUMERIC is C's.
 * text  zero-terminated; any text may follow the number
 * returns the number's end; NULL = there is no number, *value is untouched then */
const char *carm_number_scan(const char *text, double *value);

/* A number as in carm_number_scan, a quotient or a power: "0.25", "1/32", "2^-5". It may be infinite or NaN.
 * returns the end of the number; NULL = no number */
const char *carm_number_ratio(const char *text, double *value);

/* "5" or "2.5", from least to most.
 * returns false if the word is not such a number; *value is then untouched */
bool carm_number_between(const char *word, double least, double most, double *value);

/* "5" or "2.5", per cent from 0 to below 100, as a share. NULL leaves *share as it is.
 * returns false if the word is not such a number */
bool carm_number_percent(const char *word, double *share);

/* Bytes of "512M", "2G", "64KiB" or "1000000", with K, M, G and T as powers of 1024.
 * returns false if the word is not such a size; *bytes is then untouched */
bool carm_number_bytes(const char *word, uint64_t *bytes);
