/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The CPU that a counted program sees: a named one in place of this machine's, so that its libraries take the
 * same code on any machine. The engine answers cpuid and xgetbv (struct carm_cpu_view, harness/translate/tally.h). */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "harness/translate/tally.h"

#define CARM_CPU_WORDS "x86-64-v2|x86-64-v3|x86-64-v4|zen3|skylake-avx512|native"

/* The CPU of that name, as cpuid shows it to a program; all zero for native.
 * returns 0, -CARM_EINVAL (no such name) or -CARM_ENOTSUP (names an instruction of that CPU that this machine lacks) */
int carm_cpu_find(const char *name, struct carm_cpu_view *out, struct carm_err *err);

/* The text of /proc/cpuinfo for that view. returns dst */
char *carm_cpu_info(char *dst, size_t size, const char *name, const struct carm_cpu_view *view,
                    int cpus);
