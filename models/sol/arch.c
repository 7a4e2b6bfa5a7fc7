/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/arch.h"

#include <assert.h>
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/text.h"
#include "models/sol/yaml.h"

/* ---- precisions -------------------------------------------------------------------------------- */

/* A precision is one row here, besides its name in arch.h.
 * Source: the Solar project's BYTES_PER_ELEMENT; TF32 lies in memory as 32 bits. */
#define MAC_PREFIX "MAC_per_cycle_"
static const struct {
    const char *name;
    unsigned bits;
    const char *key;   /* of the rate of multiply-accumulates */
    const char *roofs; /* their precision in a CPU's model */
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
    const size_t used = strlen(list);
    snprintf(list + used, size - used, "%s%s", used > 0 ? ", " : "", name);
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

/* ---- keys -------------------------------------------------------------------------------------- */

/* The keys of an architecture's file. */
enum key {
    KEY_FREQ,
    KEY_DRAM_RATE,
    KEY_DRAM_CAPACITY,
    KEY_SRAM_CAPACITY,
    KEY_SRAM_RATE,
    KEY_MAC, /* the first: one for each precision, in the order of the enum */
    KEY_FP32_TC = KEY_MAC + CARM_SOL_PRECISIONS,
    KEYS,
};

static const char *const key_names[KEY_MAC] = {
    [KEY_FREQ] = "freq_GHz",
    [KEY_DRAM_RATE] = "DRAM_byte_per_cycle",
    [KEY_DRAM_CAPACITY] = "DRAM_capacity",
    [KEY_SRAM_CAPACITY] = "SRAM_capacity",
    [KEY_SRAM_RATE] = "SRAM_byte_per_cycle",
};

/* Far beyond any machine, near enough to detect a slip of the unit: 1e5 byte/cycle are 100 TB/s
 * at 1 GHz. A whole wafer's SRAM gives some 1e7. */
#define DRAM_RATE_MOST 1e5
#define SRAM_RATE_MOST 1e8
#define MAC_RATE_MOST  1e9
#define CAPACITY_MOST  ((uint64_t)1 << 62)

enum { WHY_MAX = 256 };

static const double freq_least_ghz = 0.05;
static const double freq_most_ghz = 20.0;

static const char *name_of(enum key key)
{
    return key < KEY_MAC        ? key_names[key]
           : key == KEY_FP32_TC ? MAC_PREFIX "fp32_tc"
                                : precisions[key - KEY_MAC].key;
}

const char *carm_sol_arch_mac_key(const struct carm_sol_arch *arch,
                                  enum carm_sol_precision precision)
{
    return precision == CARM_SOL_FP32 && arch->fp32_tc ? name_of(KEY_FP32_TC)
                                                       : precisions[precision].key;
}

/* returns KEYS for another word */
static enum key find_key(const char *name)
{
    enum key key = KEY_FREQ;
    while (key < KEYS && strcmp(name_of(key), name) != 0) {
        key++;
    }
    return key;
}

static bool is_capacity(enum key key)
{
    return key == KEY_DRAM_CAPACITY || key == KEY_SRAM_CAPACITY;
}

/* "freq_GHz, DRAM_byte_per_cycle, ...", from a key on */
static char *list_keys(char *text, size_t size, enum key from)
{
    text[0] = '\0';
    for (enum key i = from; i < KEYS; i++) {
        add_name(text, size, name_of(i));
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
    snprintf(why, WHY_MAX, "%s is %g%s: give GHz, %g to %g", name_of(KEY_FREQ), value, hint,
             freq_least_ghz, freq_most_ghz);
    return false;
}

static bool check_bandwidth(enum key key, double value, double most, char *why)
{
    if (!(value > 0.0)) {
        snprintf(why, WHY_MAX, "%s is %g: give a bandwidth above 0", name_of(key), value);
        return false;
    }
    if (value > most) {
        snprintf(why, WHY_MAX,
                 "%s is %g, which looks like byte/s or GB/s: this key is bytes per cycle; "
                 "divide byte/s by freq_GHz x 1e9",
                 name_of(key), value);
        return false;
    }
    return true;
}

static bool check_mac(enum key key, double value, char *why)
{
    if (!(value > 0.0)) {
        snprintf(
            why, WHY_MAX,
            "%s is %g: give a rate above 0, or leave out the key where the machine has no such "
            "unit",
            name_of(key), value);
        return false;
    }
    if (value >= MAC_RATE_MOST) {
        snprintf(why, WHY_MAX,
                 "%s is %g, which looks like operations a second: this key is "
                 "multiply-accumulates per cycle; divide flop/s by 2 x freq_GHz x 1e9",
                 name_of(key), value);
        return false;
    }
    return true;
}

static bool check_capacity(enum key key, double value, char *why)
{
    if (value >= 0.0 && value <= (double)CAPACITY_MOST && floor(value) == value) {
        return true;
    }
    snprintf(why, WHY_MAX, "%s is %g: give bytes, an integer from 0 (not known) to 2^62",
             name_of(key), value);
    return false;
}

/* Whether a value is possible; why: the reason if it is not. */
static bool check_value(enum key key, double value, char why[WHY_MAX])
{
    switch (key) {
    case KEY_FREQ:
        return check_freq(value, why);
    case KEY_DRAM_RATE:
        return check_bandwidth(key, value, DRAM_RATE_MOST, why);
    case KEY_SRAM_RATE:
        return check_bandwidth(key, value, SRAM_RATE_MOST, why);
    case KEY_DRAM_CAPACITY:
    case KEY_SRAM_CAPACITY:
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

/* Other operations in fp64 keep the rate of an fp64_sm key, and contractions in fp32 that of an
 * fp32_tc key, whichever of the keys comes first. */
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

static void put_bytes(struct carm_sol_arch *arch, enum key key, uint64_t bytes)
{
    if (key == KEY_DRAM_CAPACITY) {
        arch->dram_capacity = bytes;
    } else {
        last_level(arch)->capacity = bytes;
    }
}

static void put_value(struct carm_sol_arch *arch, enum key key, double value)
{
    if (is_capacity(key)) {
        put_bytes(arch, key, (uint64_t)value);
    } else if (key == KEY_FREQ) {
        arch->freq_ghz = value;
    } else if (key == KEY_DRAM_RATE) {
        arch->dram_byte_per_cycle = value;
    } else if (key == KEY_SRAM_RATE) {
        last_level(arch)->byte_per_cycle = value;
    } else if (key == KEY_FP32_TC) {
        arch->fp32_tc = true;
        arch->mac_per_cycle[CARM_SOL_FP32] = value;
    } else {
        put_mac(arch, (enum carm_sol_precision)(key - KEY_MAC), value);
    }
}

int carm_sol_arch_set(struct carm_sol_arch *arch, const char *key, double value,
                      struct carm_err *err)
{
    char text[512];
    char why[WHY_MAX];
    const enum key k = find_key(key);
    if (k == KEYS) {
        return carm_fail(err, CARM_EINVAL, "%.40s cannot be set: give one of %s", key,
                         list_keys(text, sizeof text, KEY_FREQ));
    }
    if (!check_value(k, value, why)) {
        return carm_fail(err, CARM_EINVAL, "%s", why);
    }
    put_value(arch, k, value);
    return 0;
}

/* ---- an accelerator's file --------------------------------------------------------------------- */

struct reader {
    struct carm_yaml *yaml;
    struct carm_err *err;
    struct carm_sol_arch arch;
    bool seen[KEYS]; /* the key stood there */
    bool has[KEYS];  /* with a value */
    bool has_name, has_source, has_note;
    size_t line; /* of the file's map */
};

/* A name that goes to terminals: copied where it fits and has no control characters. */
static int read_text(struct reader *r, const char *what, char *dst, size_t size)
{
    struct carm_yaml_item item;
    const int rc = carm_yaml_next(r->yaml, &item, r->err);
    if (rc) {
        return rc;
    }
    if (item.kind != CARM_YAML_SCALAR) {
        return carm_yaml_refuse(r->yaml, item.line, r->err, "%s is a list or a map: give text",
                                what);
    }
    if (item.length == 0 || carm_yaml_is_null(&item)) {
        return carm_yaml_refuse(r->yaml, item.line, r->err, "%s is empty: give text", what);
    }
    if (item.length >= size) {
        return carm_yaml_refuse(r->yaml, item.line, r->err, "%s has %zu bytes: %zu is the most",
                                what, item.length, size - 1);
    }
    for (size_t i = 0; i < item.length; i++) {
        if (iscntrl((unsigned char)item.text[i])) {
            return carm_yaml_refuse(r->yaml, item.line, r->err, "%s has a control character", what);
        }
    }
    memcpy(dst, item.text, item.length);
    dst[item.length] = '\0';
    return 0;
}

static int read_value(struct reader *r, enum key key)
{
    const char *name = name_of(key);
    struct carm_yaml_item item;
    char why[WHY_MAX];
    double value = 0.0;
    uint64_t bytes = 0;
    int rc = carm_yaml_next(r->yaml, &item, r->err);
    if (rc) {
        return rc;
    }
    if (carm_yaml_is_null(&item)) {
        return 0;
    }
    if (is_capacity(key)) {
        rc = carm_yaml_count(r->yaml, &item, name, &bytes, r->err);
        value = (double)bytes;
        if (!rc && bytes > CAPACITY_MOST) {
            return carm_yaml_refuse(r->yaml, item.line, r->err,
                                    "%s is %" PRIu64 " bytes: 2^62 is the most", name, bytes);
        }
    } else {
        rc = carm_yaml_number(r->yaml, &item, name, &value, r->err);
    }
    if (rc) {
        return rc;
    }
    if (!check_value(key, value, why)) {
        return carm_yaml_refuse(r->yaml, item.line, r->err, "%s", why);
    }
    if (is_capacity(key)) {
        put_bytes(&r->arch, key, bytes);
    } else {
        put_value(&r->arch, key, value);
    }
    r->has[key] = true;
    return 0;
}

static int read_member(struct reader *r, const struct carm_yaml_item *item)
{
    char list[512];
    const enum key key = find_key(item->text);
    const bool name = strcmp(item->text, "name") == 0;
    const bool note = strcmp(item->text, "note") == 0;
    if (key == KEYS && !name && !note && strcmp(item->text, "source") != 0) {
        return strncmp(item->text, "MAC_", 4) != 0
                   ? carm_yaml_skip(r->yaml, r->err)
                   : carm_yaml_refuse(r->yaml, item->line, r->err,
                                      "%.48s is not a rate that carm knows: give %s", item->text,
                                      list_keys(list, sizeof list, KEY_MAC));
    }
    bool *seen = key < KEYS ? &r->seen[key]
                 : name     ? &r->has_name
                 : note     ? &r->has_note
                            : &r->has_source;
    if (*seen) {
        return carm_yaml_refuse(r->yaml, item->line, r->err, "%s is given twice: keep one",
                                item->text);
    }
    *seen = true;
    return key < KEYS ? read_value(r, key)
           : name     ? read_text(r, "name", r->arch.name, sizeof r->arch.name)
           : note     ? read_text(r, "note", r->arch.note, sizeof r->arch.note)
                      : read_text(r, "source", r->arch.source, sizeof r->arch.source);
}

static int check_missing(struct reader *r)
{
    bool mac = false;
    char list[512];
    const char *missing = !r->has_name             ? "name"
                          : !r->has[KEY_FREQ]      ? name_of(KEY_FREQ)
                          : !r->has[KEY_DRAM_RATE] ? name_of(KEY_DRAM_RATE)
                                                   : NULL;
    if (missing) {
        return carm_yaml_refuse(r->yaml, r->line, r->err,
                                "the architecture has no %s: add the key with its value", missing);
    }
    for (enum key i = KEY_MAC; i < KEYS; i++) {
        mac = mac || r->has[i];
    }
    if (!mac) {
        return carm_yaml_refuse(r->yaml, r->line, r->err,
                                "the architecture has no rate of multiply-accumulates: give at "
                                "least one of %s",
                                list_keys(list, sizeof list, KEY_MAC));
    }
    return 0;
}

static int read_map(struct reader *r)
{
    struct carm_yaml_item item;
    int rc = carm_yaml_next(r->yaml, &item, r->err);
    if (rc) {
        return rc;
    }
    if (item.kind != CARM_YAML_MAP) {
        return carm_yaml_refuse(r->yaml, item.line, r->err,
                                "an architecture is a map of keys and values, such as `freq_GHz: "
                                "1.5`");
    }
    r->line = item.line;
    while (carm_yaml_more_keys(r->yaml, &item, &rc, r->err)) {
        rc = read_member(r, &item);
    }
    rc = rc ? rc : carm_yaml_next(r->yaml, &item, r->err); /* refuses a second document */
    return rc ? rc : check_missing(r);
}

/* Takes yaml. */
static int read_arch(struct carm_yaml *yaml, const char *name, struct carm_sol_arch *arch,
                     struct carm_err *err)
{
    struct reader r = {.yaml = yaml, .err = err};
    const int rc = read_map(&r);
    carm_yaml_close(yaml);
    if (rc) {
        return rc;
    }
    if (!r.has_source) {
        snprintf(r.arch.source, sizeof r.arch.source, "%s", name);
    }
    *arch = r.arch;
    return 0;
}

int carm_sol_arch_read(const char *path, struct carm_sol_arch *arch, struct carm_err *err)
{
    struct carm_yaml *yaml = NULL;
    const int rc = carm_yaml_open(path, &yaml, err);
    return rc ? rc : read_arch(yaml, path, arch, err);
}

int carm_sol_arch_parse(const char *text, size_t size_bytes, const char *name,
                        struct carm_sol_arch *arch, struct carm_err *err)
{
    struct carm_yaml *yaml = NULL;
    const int rc = carm_yaml_open_text(text, size_bytes, name, &yaml, err);
    return rc ? rc : read_arch(yaml, name, arch, err);
}
