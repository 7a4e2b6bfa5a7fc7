/* SPDX-License-Identifier: MIT */
/* Large data that the build compresses into the program (base/pack.c), with Zstandard. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

/* Unpacks compressed data. *out is a copy of *size bytes with a zero behind them, to be released
 * with free.
 * packed  [end - packed] borrowed
 * what    names the data in the error's sentence
 * returns 0; -CARM_EFORMAT (the program's file is damaged) or -CARM_ENOMEM, with *out = NULL */
int carm_unpack(const uint8_t *packed, const uint8_t *end, const char *what, uint8_t **out,
                size_t *size, struct carm_err *err);
