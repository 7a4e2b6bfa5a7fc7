/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads the architecture of an accelerator from YAML. */
#pragma once

#include "base/err.h"
#include "models/sol/arch.h"

/* Reads an architecture: name, freq_GHz, DRAM_byte_per_cycle, DRAM_capacity, SRAM_capacity,
 * SRAM_byte_per_cycle, MAC_per_cycle_{fp32_sm, fp32_tc, int8_tc, fp8_tc, fp16_tc, bf16_tc, tf32_tc,
 * nvfp4_tc},
 * and three keys of carm: MAC_per_cycle_fp64_sm; source, the origin of the figures (default: the file's name); note, a
 * warning for comparisons of machines. Capacities, SRAM_ and all MAC_ rates but one may be absent or null. fp32_sm is
 * the rate of contractions in fp32, unless fp32_tc is given, and of the other operations of every precision; fp64_sm,
 * where given, is both for fp64. Refused: missing keys, zero, negative or absurd values (a bandwidth in byte/s where
 * byte/cycle belongs), unknown MAC_per_cycle_ keys; other unknown keys are ignored.
 * name  the file's, for messages and as the source
 * returns 0; -CARM_ENOMEM; -CARM_EFORMAT with file, line and reason. arch is untouched on
 * failure */
int carm_sol_arch_parse(const char *text, size_t size_bytes, const char *name,
                        struct carm_sol_arch *arch, struct carm_err *err);
