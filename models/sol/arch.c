/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/arch.h"

#include <assert.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"

/* One row for each precision of arch.h. Source: the Solar project's BYTES_PER_ELEMENT; TF32 takes
 * 32 bits in memory. */
#define MAC_PREFIX "MAC_per_cycle_"
static const struct {
    const char *name;
    unsigned bits;
    const char *key;   /* key of the rate of multiply-accumulates */
    const char *roofs; /* precision of the roofs in a CPU's model */
} precisions[CARM_SOL_PRECISIONS] = {
    [CARM_SOL_FP64] = {"fp64", 64, MAC_PREFIX "fp64_sm", "dp"},
    [CARM_SOL_FP32] = {"fp32", 32, MAC_PREFIX "fp32_sm", "sp"},
    [CARM_SOL_TF32] = {"tf32", 32, MAC_PREFIX "tf32_tc", ""},
    [CARM_SOL_FP16] = {"fp16", 16, MAC_PREFIX "fp16_tc", "fp16"},
    [CARM_SOL_BF16] = {"bf16", 16, MAC_PREFIX "bf16_tc", "bf16"},
    [CARM_SOL_FP8] = {"fp8", 8, MAC_PREFIX "fp8_tc", ""},
    [CARM_SOL_INT8] = {"int8", 8, MAC_PREFIX "int8_tc", "int8"},
    [CARM_SOL_NVFP4] = {"nvfp4", 4, MAC_PREFIX "nvfp4_tc", ""},
};

/* Appends to a list; cut to size. */
static void add_name(char *list, size_t size, const char *name)
{
    carm_text_list(list, size, ", ", "%s", name);
}

const char *carm_sol_precision_name(enum carm_sol_precision precision)
{
    assert(precision < CARM_SOL_PRECISIONS);
    return precisions[precision].name;
}

const char *carm_sol_precision_roofs(enum carm_sol_precision precision)
{
    assert(precision < CARM_SOL_PRECISIONS);
    return precisions[precision].roofs;
}

int carm_sol_precision_find(const char *name)
{
    for (int i = 0; i < CARM_SOL_PRECISIONS; i++) {
        if (strcasecmp(precisions[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

unsigned carm_sol_precision_bits(enum carm_sol_precision precision)
{
    assert(precision < CARM_SOL_PRECISIONS);
    return precisions[precision].bits;
}

int carm_sol_bytes(uint64_t elements, enum carm_sol_precision precision, uint64_t *bytes)
{
    const unsigned bits = carm_sol_precision_bits(precision);
    const uint64_t whole = bits < 8 ? elements / 2 + elements % 2 : elements;
    const uint64_t each = bits < 8 ? 1 : bits / 8;
    if (whole > INT64_MAX / each) {
        return -1;
    }
    *bytes = whole * each;
    return 0;
}

char *carm_sol_arch_precisions(const struct carm_sol_arch *arch, char *dst, size_t size)
{
    *dst = '\0';
    for (int i = 0; i < CARM_SOL_PRECISIONS; i++) {
        if (!arch || arch->mac_per_cycle[i] > 0.0) {
            add_name(dst, size, precisions[i].name);
        }
    }
    if (!*dst) {
        add_name(dst, size, "none");
    }
    return dst;
}

int carm_sol_arch_precision(const struct carm_sol_arch *arch, int wanted,
                            enum carm_sol_precision *precision, struct carm_err *err)
{
    int p = wanted >= 0 ? wanted : arch->measured ? CARM_SOL_FP64 : CARM_SOL_FP16;
    for (int i = 0; wanted < 0 && i < CARM_SOL_PRECISIONS && !(arch->mac_per_cycle[p] > 0.0); i++) {
        p = i;
    }
    *precision = (enum carm_sol_precision)p;
    if (arch->mac_per_cycle[p] > 0.0) {
        return 0;
    }
    char list[160], name[CARM_NAME_MAX], why[96] = "";
    const char *roofs = precisions[p].roofs;
    if (arch->measured && *roofs) {
        snprintf(why, sizeof why,
                 arch->other_per_cycle[p] > 0.0
                     ? ": its model has %s roofs, but none of dot products, which not every CPU has"
                     : ": its model has no %s roofs",
                 roofs);
    }
    return carm_fail(err, CARM_EINVAL, "%s has no rate for %s%s; --precision can be %s",
                     carm_text_clean(name, sizeof name, arch->name, false), precisions[p].name, why,
                     carm_sol_arch_precisions(arch, list, sizeof list));
}

static const char *const key_names[CARM_SOL_KEY_MAC] = {
    [CARM_SOL_KEY_FREQ] = "freq_GHz",
    [CARM_SOL_KEY_DRAM_RATE] = "DRAM_byte_per_cycle",
    [CARM_SOL_KEY_DRAM_CAPACITY] = "DRAM_capacity",
    [CARM_SOL_KEY_SRAM_CAPACITY] = "SRAM_capacity",
    [CARM_SOL_KEY_SRAM_RATE] = "SRAM_byte_per_cycle",
};

/* Limits beyond any machine that detect a wrong unit: 1e5 byte/cycle are 100 TB/s at 1 GHz. A
 * wafer-scale chip's SRAM gives some 1e7 byte/cycle. */
#define DRAM_RATE_MOST 1e5
#define SRAM_RATE_MOST 1e8
#define MAC_RATE_MOST  1e9

/* Limits that detect a wrong unit: chips run at 0.2 to 6 GHz. */
static const double freq_least_ghz = 0.05;
static const double freq_most_ghz = 20.0;

const char *carm_sol_key_name(enum carm_sol_key key)
{
    return key < CARM_SOL_KEY_MAC        ? key_names[key]
           : key == CARM_SOL_KEY_FP32_TC ? MAC_PREFIX "fp32_tc"
                                         : precisions[key - CARM_SOL_KEY_MAC].key;
}

const char *carm_sol_arch_mac_key(const struct carm_sol_arch *arch,
                                  enum carm_sol_precision precision)
{
    return precision == CARM_SOL_FP32 && arch->fp32_tc ? carm_sol_key_name(CARM_SOL_KEY_FP32_TC)
                                                       : precisions[precision].key;
}

enum carm_sol_key carm_sol_key_find(const char *name)
{
    enum carm_sol_key key = CARM_SOL_KEY_FREQ;
    while (key < CARM_SOL_KEYS && strcmp(carm_sol_key_name(key), name) != 0) {
        key++;
    }
    return key;
}

bool carm_sol_key_is_capacity(enum carm_sol_key key)
{
    return key == CARM_SOL_KEY_DRAM_CAPACITY || key == CARM_SOL_KEY_SRAM_CAPACITY;
}

char *carm_sol_key_list(char *text, size_t size, enum carm_sol_key from)
{
    text[0] = '\0';
    for (enum carm_sol_key i = from; i < CARM_SOL_KEYS; i++) {
        add_name(text, size, carm_sol_key_name(i));
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
    snprintf(why, CARM_SOL_WHY_MAX, "%s is %g%s: give GHz, %g to %g",
             carm_sol_key_name(CARM_SOL_KEY_FREQ), value, hint, freq_least_ghz, freq_most_ghz);
    return false;
}

static bool check_bandwidth(enum carm_sol_key key, double value, double most, char *why)
{
    if (!(value > 0.0)) {
        snprintf(why, CARM_SOL_WHY_MAX, "%s is %g: give a bandwidth above 0",
                 carm_sol_key_name(key), value);
        return false;
    }
    if (value > most) {
        snprintf(why, CARM_SOL_WHY_MAX,
                 "%s is %g, which looks like byte/s or GB/s: this key is bytes per cycle; "
                 "divide byte/s by freq_GHz x 1e9",
                 carm_sol_key_name(key), value);
        return false;
    }
    return true;
}

static bool check_mac(enum carm_sol_key key, double value, char *why)
{
    if (!(value > 0.0)) {
        snprintf(
            why, CARM_SOL_WHY_MAX,
            "%s is %g: give a rate above 0, or leave out the key where the machine has no such "
            "unit",
            carm_sol_key_name(key), value);
        return false;
    }
    if (value >= MAC_RATE_MOST) {
        snprintf(why, CARM_SOL_WHY_MAX,
                 "%s is %g, which looks like operations a second: this key is "
                 "multiply-accumulates per cycle; divide flop/s by 2 x freq_GHz x 1e9",
                 carm_sol_key_name(key), value);
        return false;
    }
    return true;
}

static bool check_capacity(enum carm_sol_key key, double value, char *why)
{
    if (value >= 0.0 && value <= (double)CARM_SOL_CAPACITY_MOST && floor(value) == value) {
        return true;
    }
    snprintf(why, CARM_SOL_WHY_MAX, "%s is %g: give bytes, an integer from 0 (not known) to 2^62",
             carm_sol_key_name(key), value);
    return false;
}

bool carm_sol_key_check(enum carm_sol_key key, double value, char why[CARM_SOL_WHY_MAX])
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

/* The last level, which SRAM_ keys set; created if missing. */
static struct carm_sol_level *last_level(struct carm_sol_arch *arch)
{
    if (arch->nlevels == 0) {
        arch->levels[0] = (struct carm_sol_level){.name = "SRAM"};
        arch->nlevels = 1;
    }
    return &arch->levels[arch->nlevels - 1];
}

/* Sets a MAC rate. In any order of the keys, other operations in fp64 keep the rate of fp64_sm, and
 * contractions in fp32 that of fp32_tc. */
static void put_mac(struct carm_sol_arch *arch, enum carm_sol_precision precision, double value)
{
    if (precision != CARM_SOL_FP32 || !arch->fp32_tc) {
        arch->mac_per_cycle[precision] = value;
    }
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

void carm_sol_key_put_bytes(struct carm_sol_arch *arch, enum carm_sol_key key, uint64_t bytes)
{
    if (key == CARM_SOL_KEY_DRAM_CAPACITY) {
        arch->dram_capacity = bytes;
    } else {
        last_level(arch)->capacity = bytes;
    }
}

void carm_sol_key_put(struct carm_sol_arch *arch, enum carm_sol_key key, double value)
{
    if (carm_sol_key_is_capacity(key)) {
        carm_sol_key_put_bytes(arch, key, (uint64_t)value);
    } else if (key == CARM_SOL_KEY_FREQ) {
        arch->freq_ghz = value;
    } else if (key == CARM_SOL_KEY_DRAM_RATE) {
        arch->dram_byte_per_cycle = value;
    } else if (key == CARM_SOL_KEY_SRAM_RATE) {
        last_level(arch)->byte_per_cycle = value;
    } else if (key == CARM_SOL_KEY_FP32_TC) {
        arch->fp32_tc = true;
        arch->mac_per_cycle[CARM_SOL_FP32] = value;
    } else {
        put_mac(arch, (enum carm_sol_precision)(key - CARM_SOL_KEY_MAC), value);
    }
}

int carm_sol_arch_set(struct carm_sol_arch *arch, const char *key, double value,
                      struct carm_err *err)
{
    char text[512];
    char why[CARM_SOL_WHY_MAX];
    const enum carm_sol_key k = carm_sol_key_find(key);
    if (k == CARM_SOL_KEYS) {
        return carm_fail(err, CARM_EINVAL, "%.40s cannot be set: give one of %s", key,
                         carm_sol_key_list(text, sizeof text, CARM_SOL_KEY_FREQ));
    }
    if (!carm_sol_key_check(k, value, why)) {
        return carm_fail(err, CARM_EINVAL, "%s", why);
    }
    carm_sol_key_put(arch, k, value);
    return 0;
}
