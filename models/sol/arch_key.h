/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The keys of an architecture's file: what each may be and where its value goes. One table for
 * reading and for setting. */
#ifndef CARM_MODELS_SOL_ARCH_KEY_H
#define CARM_MODELS_SOL_ARCH_KEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "models/sol/arch.h"

enum carm_sol_arch_key {
    CARM_SOL_KEY_FREQ,
    CARM_SOL_KEY_DRAM_RATE,
    CARM_SOL_KEY_DRAM_CAPACITY,
    CARM_SOL_KEY_SRAM_CAPACITY,
    CARM_SOL_KEY_SRAM_RATE,
    CARM_SOL_KEY_MAC, /* the first: one for each precision, in the order of the enum */
    CARM_SOL_KEYS = CARM_SOL_KEY_MAC + CARM_SOL_PRECISIONS,
};

enum { CARM_SOL_WHY_MAX = 256 };

#define CARM_SOL_MAC_PREFIX    "MAC_per_cycle_"
#define CARM_SOL_CAPACITY_MOST ((uint64_t)1 << 62)

/* returns the key (enum carm_sol_arch_key), or -1 */
int carm_sol_arch_key_find(const char *name);
const char *carm_sol_arch_key_name(int key);

/* Whether it is a number of bytes: an integer. */
bool carm_sol_arch_key_is_capacity(int key);

/* Whether a value can be (of a capacity near the most, as far as a double tells): returns true, or false with the reason, which begins with the key's name. */
bool carm_sol_arch_key_check(int key, double value, char why[CARM_SOL_WHY_MAX]);

/* Stores a checked value. */
void carm_sol_arch_key_put(struct carm_sol_arch *arch, int key, double value);
/* The same for a capacity, exact. */
void carm_sol_arch_key_put_bytes(struct carm_sol_arch *arch, int key, uint64_t bytes);

/* "freq_GHz, DRAM_byte_per_cycle, ...", or the names of the MAC rates alone; cut to size. */
char *carm_sol_arch_key_list(char *text, size_t size, bool mac_alone);

#endif
