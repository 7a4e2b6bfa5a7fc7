/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers as text for files with very many of them: several times as fast as printf. */
#ifndef CARM_NUMBER_H
#define CARM_NUMBER_H

enum { CARM_NUMBER_MAX = 32 };

/* digits (1 .. 9) significant digits as %.*g gives them; the last one may differ where v lies on the
 * half. v is finite.
 * dst  [CARM_NUMBER_MAX]
 * returns dst */
char *carm_number_digits(char *dst, double v, int digits);

/* Six of them. */
char *carm_number_short(char *dst, double v);

/* As %.*f, up to 6 decimals. returns dst */
char *carm_number_fixed(char *dst, double v, int decimals);

/* Whole numbers below 2^53 in full, others with up to 15 significant digits. returns dst */
char *carm_number_exact(char *dst, double v);

#endif
