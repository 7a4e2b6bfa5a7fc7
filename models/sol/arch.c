/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/arch.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/sol/arch_key.h"

/* Far beyond what is built, near enough to tell a slip of the unit: 1e5 byte/cycle are 100 TB/s at
 * 1 GHz. A whole wafer's SRAM gives some 1e7. */
#define DRAM_RATE_MOST 1e5
#define SRAM_RATE_MOST 1e8
#define MAC_RATE_MOST  1e9

static const double freq_least_ghz = 0.05;
static const double freq_most_ghz = 20.0;

static const char *const names[CARM_SOL_KEYS] = {
    [CARM_SOL_KEY_FREQ] = "freq_GHz",
    [CARM_SOL_KEY_DRAM_RATE] = "DRAM_byte_per_cycle",
    [CARM_SOL_KEY_DRAM_CAPACITY] = "DRAM_capacity",
    [CARM_SOL_KEY_SRAM_CAPACITY] = "SRAM_capacity",
    [CARM_SOL_KEY_SRAM_RATE] = "SRAM_byte_per_cycle",
    [CARM_SOL_KEY_MAC + CARM_SOL_FP64] = CARM_SOL_MAC_PREFIX "fp64_sm",
    [CARM_SOL_KEY_MAC + CARM_SOL_FP32] = CARM_SOL_MAC_PREFIX "fp32_sm",
    [CARM_SOL_KEY_MAC + CARM_SOL_TF32] = CARM_SOL_MAC_PREFIX "tf32_tc",
    [CARM_SOL_KEY_MAC + CARM_SOL_FP16] = CARM_SOL_MAC_PREFIX "fp16_tc",
    [CARM_SOL_KEY_MAC + CARM_SOL_BF16] = CARM_SOL_MAC_PREFIX "bf16_tc",
    [CARM_SOL_KEY_MAC + CARM_SOL_FP8] = CARM_SOL_MAC_PREFIX "fp8_tc",
    [CARM_SOL_KEY_MAC + CARM_SOL_INT8] = CARM_SOL_MAC_PREFIX "int8_tc",
    [CARM_SOL_KEY_MAC + CARM_SOL_NVFP4] = CARM_SOL_MAC_PREFIX "nvfp4_tc",
};

int carm_sol_arch_key_find(const char *name)
{
    for (int i = 0; i < CARM_SOL_KEYS; i++) {
        if (strcmp(names[i], name) == 0) {
            return i;
        }
    }
    return -1;
}

const char *carm_sol_arch_key_name(int key)
{
    return names[key];
}

const char *carm_sol_arch_mac_key(enum carm_sol_precision precision)
{
    return names[CARM_SOL_KEY_MAC + (int)precision];
}

bool carm_sol_arch_key_is_capacity(int key)
{
    return key == CARM_SOL_KEY_DRAM_CAPACITY || key == CARM_SOL_KEY_SRAM_CAPACITY;
}

char *carm_sol_arch_key_list(char *text, size_t size, bool mac_alone)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = mac_alone ? CARM_SOL_KEY_MAC : 0; i < CARM_SOL_KEYS && used < size; i++) {
        const int n = snprintf(text + used, size - used, "%s%s", used > 0 ? ", " : "", names[i]);
        used += n > 0 ? (size_t)n : 0;
    }
    return text;
}

static bool check_freq(double value, char *why)
{
    const char *hint = "";
    if (value >= freq_least_ghz && value <= freq_most_ghz) {
        return true;
    }
    if (value >= 1e6) {
        hint = ", which looks like hertz";
    } else if (value > freq_most_ghz) {
        hint = ", which looks like MHz";
    }
    (void)snprintf(why, CARM_SOL_WHY_MAX, "%s is %g%s: give GHz, %g to %g",
                   names[CARM_SOL_KEY_FREQ], value, hint, freq_least_ghz, freq_most_ghz);
    return false;
}

static bool check_bandwidth(int key, double value, double most, char *why)
{
    if (!(value > 0.0)) {
        (void)snprintf(why, CARM_SOL_WHY_MAX, "%s is %g: give a bandwidth above 0", names[key],
                       value);
        return false;
    }
    if (value > most) {
        (void)snprintf(why, CARM_SOL_WHY_MAX,
                       "%s is %g, which looks like byte/s or GB/s: this key is bytes per cycle; "
                       "divide byte/s by freq_GHz x 1e9",
                       names[key], value);
        return false;
    }
    return true;
}

static bool check_mac(int key, double value, char *why)
{
    if (!(value > 0.0)) {
        (void)snprintf(why, CARM_SOL_WHY_MAX,
                       "%s is %g: give a rate above 0, or leave out what the machine cannot",
                       names[key], value);
        return false;
    }
    if (value >= MAC_RATE_MOST) {
        (void)snprintf(why, CARM_SOL_WHY_MAX,
                       "%s is %g, which looks like operations a second: this key is "
                       "multiply-accumulates per cycle; divide flop/s by 2 x freq_GHz x 1e9",
                       names[key], value);
        return false;
    }
    return true;
}

static bool check_capacity(int key, double value, char *why)
{
    if (value >= 0.0 && value <= (double)CARM_SOL_CAPACITY_MOST && floor(value) == value) {
        return true;
    }
    (void)snprintf(why, CARM_SOL_WHY_MAX,
                   "%s is %g: give bytes, an integer from 0 (not known) to 2^62", names[key],
                   value);
    return false;
}

bool carm_sol_arch_key_check(int key, double value, char why[CARM_SOL_WHY_MAX])
{
    switch (key) {
    case CARM_SOL_KEY_FREQ:
        return check_freq(value, why);
    case CARM_SOL_KEY_DRAM_RATE:
        return check_bandwidth(key, value, DRAM_RATE_MOST, why);
    case CARM_SOL_KEY_SRAM_RATE:
        return check_bandwidth(key, value, SRAM_RATE_MOST, why);
    case CARM_SOL_KEY_DRAM_CAPACITY:
    case CARM_SOL_KEY_SRAM_CAPACITY:
        return check_capacity(key, value, why);
    default:
        return check_mac(key, value, why);
    }
}

/* The last level, which SRAM_ keys are about; made where there is none. */
static struct carm_sol_level *last_level(struct carm_sol_arch *arch)
{
    if (arch->nlevels == 0) {
        arch->levels[0] = (struct carm_sol_level){.name = "SRAM"};
        arch->nlevels = 1;
    }
    return &arch->levels[arch->nlevels - 1];
}

/* fp64's other operations keep the rate of an fp64_sm key, whichever of the keys comes first. */
static void put_mac(struct carm_sol_arch *arch, enum carm_sol_precision precision, double value)
{
    arch->mac_per_cycle[precision] = value;
    if (precision == CARM_SOL_FP64 || (precision == CARM_SOL_FP32 && arch->measured)) {
        arch->other_per_cycle[precision] = value;
    } else if (precision == CARM_SOL_FP32) {
        for (int i = 0; i < CARM_SOL_PRECISIONS; i++) {
            if (i != CARM_SOL_FP64 || !(arch->mac_per_cycle[i] > 0.0)) {
                arch->other_per_cycle[i] = value;
            }
        }
    }
}

void carm_sol_arch_key_put_bytes(struct carm_sol_arch *arch, int key, uint64_t bytes)
{
    if (key == CARM_SOL_KEY_DRAM_CAPACITY) {
        arch->dram_capacity = bytes;
    } else {
        last_level(arch)->capacity = bytes;
    }
}

void carm_sol_arch_key_put(struct carm_sol_arch *arch, int key, double value)
{
    if (carm_sol_arch_key_is_capacity(key)) {
        carm_sol_arch_key_put_bytes(arch, key, (uint64_t)value);
    } else if (key == CARM_SOL_KEY_FREQ) {
        arch->freq_ghz = value;
    } else if (key == CARM_SOL_KEY_DRAM_RATE) {
        arch->dram_byte_per_cycle = value;
    } else if (key == CARM_SOL_KEY_SRAM_RATE) {
        last_level(arch)->byte_per_cycle = value;
    } else {
        put_mac(arch, (enum carm_sol_precision)(key - CARM_SOL_KEY_MAC), value);
    }
}

int carm_sol_arch_set(struct carm_sol_arch *arch, const char *key, double value,
                      struct carm_err *err)
{
    char text[512];
    char why[CARM_SOL_WHY_MAX];
    const int k = carm_sol_arch_key_find(key);
    if (k < 0) {
        return carm_fail(err, CARM_EINVAL, "%.40s cannot be set: give one of %s", key,
                         carm_sol_arch_key_list(text, sizeof text, false));
    }
    if (!carm_sol_arch_key_check(k, value, why)) {
        return carm_fail(err, CARM_EINVAL, "%s", why);
    }
    carm_sol_arch_key_put(arch, k, value);
    return 0;
}
