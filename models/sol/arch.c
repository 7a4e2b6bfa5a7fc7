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
    char list[160], name[CARM_NAME_MAX];
    return carm_fail(err, CARM_EINVAL, "%s has no rate for %s; --precision can be %s",
                     carm_text_clean(name, sizeof name, arch->name, false), precisions[p].name,
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

/* Far beyond what is built, near enough to tell a slip of the unit: 1e5 byte/cycle are 100 TB/s at
 * 1 GHz. A whole wafer's SRAM gives some 1e7. */
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

/* fp64's other operations keep the rate of an fp64_sm key, and fp32's contractions that of an fp32_tc
 * key, whichever of the keys comes first. */
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

/* ---- a CPU's model ----------------------------------------------------------------------------- */

/* The sets of roofs of one ISA and thread count; either may be NULL, not both. */
struct sets {
    const struct carm_roofs *of[CARM_SOL_PRECISIONS]; /* NULL = it has none */
    const struct carm_roofs
        *tiles[CARM_SOL_PRECISIONS]; /* beside vectors, where no ISA was asked for */
    const struct carm_roofs *first;  /* whose clock and names count: dp's where there is one */
};

/* Products of tiles are not the only ones that a machine has: all else is measured with vectors. */
static bool is_of_tiles(const struct carm_roofs *r)
{
    return strcmp(r->isa, "amx") == 0;
}

/* returns CARM_SOL_PRECISIONS where no precision takes these roofs */
static enum carm_sol_precision precision_of(const struct carm_roofs *r)
{
    int p = 0;
    while (p < CARM_SOL_PRECISIONS &&
           (!*precisions[p].roofs || strcmp(r->precision, precisions[p].roofs) != 0)) {
        p++;
    }
    return (enum carm_sol_precision)p;
}

static bool is_wanted(const struct carm_roofs *r, const char *isa, int threads)
{
    return precision_of(r) < CARM_SOL_PRECISIONS && (!isa || !*isa || strcmp(r->isa, isa) == 0) &&
           (threads == 0 || r->threads == threads);
}

static bool is_better(const struct carm_roofs *r, const struct carm_roofs *best)
{
    if (!best || r->threads != best->threads) {
        return !best || r->threads > best->threads;
    }
    if (is_of_tiles(r) != is_of_tiles(best)) {
        return is_of_tiles(best);
    }
    return carm_isa_rank(r->isa) > carm_isa_rank(best->isa);
}

/* returns NULL where the model has none of these */
static const struct carm_roofs *find_best(const struct carm_model *model, const char *isa,
                                          int threads)
{
    const struct carm_roofs *best = NULL;
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        best = is_wanted(r, isa, threads) && is_better(r, best) ? r : best;
    }
    return best;
}

/* The set and those of the other precisions. named: only its ISA is wanted */
static struct sets find_sets(const struct carm_model *model, const struct carm_roofs *best,
                             bool named)
{
    struct sets sets = {.first = best};
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        if (is_wanted(r, best->isa, best->threads)) {
            const struct carm_roofs **of = &sets.of[precision_of(r)];
            *of = *of ? *of : r;
        }
    }
    for (int p = CARM_SOL_PRECISIONS - 1; p >= 0; p--) {
        sets.first = sets.of[p] ? sets.of[p] : sets.first;
    }
    for (size_t i = 0; i < model->nroofs && !named; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        if (r != best && is_of_tiles(r) && is_wanted(r, NULL, best->threads)) {
            sets.tiles[precision_of(r)] = r;
        }
    }
    return sets;
}

static int refuse_selection(const struct carm_model *model, const char *isa, int threads,
                            struct carm_err *err)
{
    char has[256] = "";
    char number[24] = "";
    size_t used = 0;
    for (size_t i = 0; i < model->nroofs && used < sizeof has; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        const int n = snprintf(has + used, sizeof has - used, "%s%.16s %.8s with %d",
                               used > 0 ? ", " : "", r->isa, r->precision, r->threads);
        used += n > 0 ? (size_t)n : 0;
    }
    if (threads > 0) {
        snprintf(number, sizeof number, " with %d", threads);
    }
    return carm_fail(
        err, CARM_EINVAL,
        "the model has no roofs that an estimate takes for %.20s%s; it has %s threads: choose among "
        "these, or measure others with `carm build`",
        isa && *isa ? isa : "any ISA", number, *has ? has : "none with any");
}

static double rate_of(const struct carm_roofs *roofs, const char *op)
{
    double rate = 0.0;
    for (size_t i = 0; roofs && i < roofs->ncompute; i++) {
        const struct carm_compute_roof *c = &roofs->compute[i];
        rate = strcmp(c->op, op) == 0 ? fmax(rate, c->rate) : rate;
    }
    return rate;
}

/* A multiply-accumulate is two flops of the best of fma, mad and dot, of tiles, too; another operation one
 * flop of the better of add and mul. Where neither was measured, it is that of single precision, to which bf16 is
 * widened, or what those two flops are executed as. */
static void put_precision(struct carm_sol_arch *arch, const struct sets *sets,
                          enum carm_sol_precision precision)
{
    const double hz = arch->freq_ghz * 1e9;
    const struct carm_roofs *roofs = sets->of[precision];
    const struct carm_roofs *tiles = sets->tiles[precision];
    const struct carm_roofs *sp = sets->of[CARM_SOL_FP32];
    if (!roofs && !tiles) {
        return;
    }
    const double vectors =
        fmax(fmax(rate_of(roofs, "fma"), rate_of(roofs, "mad")), rate_of(roofs, "dot"));
    const double mac = fmax(vectors, rate_of(tiles, "dot")) / 2.0;
    double other = fmax(rate_of(roofs, "add"), rate_of(roofs, "mul"));
    if (!(other > 0.0) && sp && precision != CARM_SOL_FP64) {
        other = fmax(rate_of(sp, "add"), rate_of(sp, "mul"));
    }
    arch->mac_per_cycle[precision] = mac / hz;
    arch->other_per_cycle[precision] = (other > 0.0 ? other : mac) / hz;
}

/* The best bandwidth of a level, byte/s, of any mix; 0 = none was measured. */
static double bandwidth_of(const struct carm_roofs *roofs, const char *level)
{
    double best = 0.0;
    for (size_t i = 0; roofs && i < roofs->nmemory; i++) {
        const struct carm_memory_roof *m = &roofs->memory[i];
        best = strcmp(m->level, level) == 0 ? fmax(best, m->bandwidth) : best;
    }
    return best;
}

/* The best of all precisions: a vector's bytes do not depend on what they mean. */
static double best_bandwidth(const struct sets *sets, const char *level)
{
    double best = 0.0;
    for (int p = 0; p < CARM_SOL_PRECISIONS; p++) {
        best = fmax(best, bandwidth_of(sets->of[p], level));
    }
    return best;
}

static double dram_bandwidth(const struct sets *sets)
{
    double peak = 0.0;
    for (int p = 0; p < CARM_SOL_PRECISIONS; p++) {
        peak = sets->of[p] ? fmax(peak, sets->of[p]->dram_peak.bandwidth) : peak;
    }
    return peak > 0.0 ? peak : best_bandwidth(sets, "DRAM");
}

/* How many instances of a cache so many threads reach when they are placed one to a core, in order.
 * The model knows the machine's threads, its cores and how many threads share an instance. */
static uint64_t instances_of(const struct carm_machine *machine, int shared_by, int threads)
{
    const int cores = machine->cores > 0 ? machine->cores : 1;
    const int used = threads < cores ? threads : cores;
    const int of_core = machine->threads > cores ? (machine->threads + cores - 1) / cores : 1;
    const int sharers = shared_by > of_core ? shared_by / of_core : 1;
    return used > 1 ? (uint64_t)((used + sharers - 1) / sharers) : 1;
}

/* Bytes of all instances that the threads reach; 0 = not known. */
static uint64_t capacity_of(const struct carm_model *model, const struct carm_level *level,
                            int threads)
{
    const struct carm_machine *machine = &model->machine;
    uint64_t bytes =
        level->resolved && level->knee_bytes ? level->knee_bytes : level->os_size_bytes;
    uint64_t instances = 1;
    for (size_t i = 0; i < machine->ncaches; i++) {
        char name[16];
        snprintf(name, sizeof name, "L%d", machine->caches[i].level);
        if (strcmp(name, level->level) == 0) {
            instances = instances_of(machine, machine->caches[i].shared_by, threads);
            bytes = bytes ? bytes : machine->caches[i].size_bytes;
        }
    }
    return bytes > (uint64_t)INT64_MAX / instances ? (uint64_t)INT64_MAX : bytes * instances;
}

static int put_levels(struct carm_sol_arch *arch, const struct carm_model *model,
                      const struct sets *sets, struct carm_err *err)
{
    const double hz = arch->freq_ghz * 1e9;
    for (size_t i = 0; i < model->nlevels; i++) {
        const struct carm_level *level = &model->levels[i];
        const double bandwidth = best_bandwidth(sets, level->level);
        const uint64_t capacity = capacity_of(model, level, sets->first->threads);
        if (strcmp(level->level, "DRAM") == 0 || (capacity == 0 && !(bandwidth > 0.0))) {
            continue;
        }
        if (arch->nlevels == CARM_SOL_LEVELS_MAX) {
            return carm_fail(err, CARM_EINVAL, "the model has more than %d levels of cache",
                             CARM_SOL_LEVELS_MAX);
        }
        struct carm_sol_level *l = &arch->levels[arch->nlevels++];
        snprintf(l->name, sizeof l->name, "%s", level->level);
        l->capacity = capacity;
        l->byte_per_cycle = bandwidth / hz;
    }
    return 0;
}

static void put_names(struct carm_sol_arch *arch, const struct carm_model *model,
                      const struct sets *sets)
{
    const struct carm_roofs *first = sets->first;
    bool tiles = false;
    for (int p = 0; p < CARM_SOL_PRECISIONS; p++) {
        tiles = tiles || sets->tiles[p];
    }
    const struct carm_machine *machine = &model->machine;
    snprintf(arch->name, sizeof arch->name, "%.79s",
             *machine->cpu ? machine->cpu : "unknown processor");
    snprintf(arch->source, sizeof arch->source, "carm build on %.60s, %.32s: %.16s%s, %d thread%s",
             carm_machine_host(machine), model->created, first->isa, tiles ? " and amx" : "",
             first->threads, first->threads == 1 ? "" : "s");
}

int carm_sol_arch_of_model(const struct carm_model *model, const char *isa, int threads,
                           struct carm_sol_arch *arch, struct carm_err *err)
{
    struct carm_sol_arch out = {.measured = true};
    const struct carm_roofs *best = find_best(model, isa, threads);
    if (!best) {
        return refuse_selection(model, isa, threads, err);
    }
    const struct sets sets = find_sets(model, best, isa && *isa);
    const double dram = dram_bandwidth(&sets);
    if (!(dram > 0.0)) {
        return carm_fail(err, CARM_EINVAL,
                         "the model has no DRAM roof for %.16s with %d threads: measure with `carm "
                         "build` without --levels, or with DRAM among them",
                         sets.first->isa, sets.first->threads);
    }
    if (!(sets.first->clock_hz > 0.0)) {
        return carm_fail(err, CARM_EINVAL,
                         "the model has no core clock for %.16s: measure again with `carm build`",
                         sets.first->isa);
    }
    put_names(&out, model, &sets);
    out.freq_ghz = sets.first->clock_hz / 1e9;
    out.dram_byte_per_cycle = dram / sets.first->clock_hz;
    out.dram_capacity = model->machine.memory_bytes;
    bool computes = false;
    for (int p = 0; p < CARM_SOL_PRECISIONS; p++) {
        put_precision(&out, &sets, (enum carm_sol_precision)p);
        computes = computes || out.other_per_cycle[p] > 0.0;
    }
    if (!computes) {
        return carm_fail(
            err, CARM_EINVAL,
            "the model has no arithmetic roofs for %.16s with %d threads: measure with "
            "`carm build --ops fma,add,mul`",
            sets.first->isa, sets.first->threads);
    }
    const int rc = put_levels(&out, model, &sets, err);
    if (rc) {
        return rc;
    }
    *arch = out;
    return 0;
}
