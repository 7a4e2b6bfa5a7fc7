/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/file/sol/arch.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "models/file/sol/yaml.h"

struct reader {
    struct carm_yaml *yaml;
    struct carm_err *err;
    struct carm_sol_arch arch;
    bool seen[CARM_SOL_KEYS]; /* the file has the key */
    bool has[CARM_SOL_KEYS];  /* the key has a value */
    bool has_name, has_source, has_note;
};

/* Copies a name that goes to terminals. Refuses one that is too long or has control characters. */
static int read_text(struct reader *r, const char *what, const struct carm_yaml_item *item,
                     char *dst, size_t size)
{
    if (item->kind != CARM_YAML_SCALAR) {
        return carm_yaml_refuse(r->yaml, item->line, r->err, "%s is a list or a map: give text",
                                what);
    }
    if (item->length == 0 || carm_yaml_is_null(item)) {
        return carm_yaml_refuse(r->yaml, item->line, r->err, "%s is empty: give text", what);
    }
    if (item->length >= size) {
        return carm_yaml_refuse(r->yaml, item->line, r->err, "%s has %u bytes: %zu is the most",
                                what, item->length, size - 1);
    }
    memcpy(dst, item->text, item->length);
    dst[item->length] = '\0';
    return !carm_text_has_controls(dst)
               ? 0
               : carm_yaml_refuse(r->yaml, item->line, r->err, "%s has a control character", what);
}

static int read_value(struct reader *r, enum carm_sol_key key, const struct carm_yaml_item *item)
{
    const char *name = carm_sol_key_name(key);
    char why[CARM_SOL_WHY_MAX];
    double value = 0.0;
    uint64_t bytes = 0;
    int rc = 0;
    if (carm_yaml_is_null(item)) {
        return 0;
    }
    if (carm_sol_key_is_capacity(key)) {
        rc = carm_yaml_count(r->yaml, item, name, &bytes, r->err);
        value = (double)bytes;
        if (!rc && bytes > CARM_SOL_CAPACITY_MOST) {
            return carm_yaml_refuse(r->yaml, item->line, r->err,
                                    "%s is %" PRIu64 " bytes: 2^62 is the most", name, bytes);
        }
    } else {
        rc = carm_yaml_number(r->yaml, item, name, &value, r->err);
    }
    if (rc) {
        return rc;
    }
    if (!carm_sol_key_check(key, value, why)) {
        return carm_yaml_refuse(r->yaml, item->line, r->err, "%s", why);
    }
    if (carm_sol_key_is_capacity(key)) {
        carm_sol_key_put_bytes(&r->arch, key, bytes);
    } else {
        carm_sol_key_put(&r->arch, key, value);
    }
    r->has[key] = true;
    return 0;
}

static int read_member(struct reader *r, const struct carm_yaml_item *item)
{
    char list[512];
    const struct {
        const char *name;
        bool *seen;
        char *dst;
        size_t size;
    } texts[] = {
        {"name", &r->has_name, r->arch.name, sizeof r->arch.name},
        {"note", &r->has_note, r->arch.note, sizeof r->arch.note},
        {"source", &r->has_source, r->arch.source, sizeof r->arch.source},
    };
    enum { TEXTS = sizeof texts / sizeof *texts };
    const enum carm_sol_key key = carm_sol_key_find(item->text);
    size_t i = 0;
    while (i < TEXTS && strcmp(item->text, texts[i].name) != 0) {
        i++;
    }
    if (key == CARM_SOL_KEYS && i == TEXTS) {
        return strncmp(item->text, "MAC_", 4) != 0
                   ? 0
                   : carm_yaml_refuse(r->yaml, item->line, r->err,
                                      "%.48s is not a rate that carm knows: give %s", item->text,
                                      carm_sol_key_list(list, sizeof list, CARM_SOL_KEY_MAC));
    }
    bool *seen = i < TEXTS ? texts[i].seen : &r->seen[key];
    if (*seen) {
        return carm_yaml_refuse(r->yaml, item->line, r->err, "%s is given twice: keep one",
                                item->text);
    }
    *seen = true;
    return i < TEXTS ? read_text(r, item->text, item + 1, texts[i].dst, texts[i].size)
                     : read_value(r, key, item + 1);
}

static int check_missing(struct reader *r)
{
    bool mac = false;
    char list[512];
    const char *missing = !r->has_name                 ? "name"
                          : !r->has[CARM_SOL_KEY_FREQ] ? carm_sol_key_name(CARM_SOL_KEY_FREQ)
                          : !r->has[CARM_SOL_KEY_DRAM_RATE]
                              ? carm_sol_key_name(CARM_SOL_KEY_DRAM_RATE)
                              : NULL;
    if (missing) {
        return carm_yaml_refuse(r->yaml, carm_yaml_root(r->yaml)->line, r->err,
                                "the architecture has no %s: add the key with its value", missing);
    }
    for (enum carm_sol_key i = CARM_SOL_KEY_MAC; i < CARM_SOL_KEYS; i++) {
        mac = mac || r->has[i];
    }
    if (!mac) {
        return carm_yaml_refuse(r->yaml, carm_yaml_root(r->yaml)->line, r->err,
                                "the architecture has no rate of multiply-accumulates: give at "
                                "least one of %s",
                                carm_sol_key_list(list, sizeof list, CARM_SOL_KEY_MAC));
    }
    return 0;
}

static int read_map(struct reader *r)
{
    int rc = 0;
    for (const struct carm_yaml_item *key = NULL;
         (key = carm_yaml_next_key(r->yaml, carm_yaml_root(r->yaml), key, &rc, r->err)) != NULL;) {
        rc = read_member(r, key);
    }
    return rc ? rc : check_missing(r);
}

int carm_sol_arch_parse(const char *text, size_t size_bytes, const char *name,
                        struct carm_sol_arch *arch, struct carm_err *err)
{
    struct reader r = {.err = err};
    int rc = carm_yaml_open_text(
        text, size_bytes, name,
        "an architecture is a map of keys and values, such as `freq_GHz: 1.5`", &r.yaml, err);
    if (rc) {
        return rc;
    }
    rc = read_map(&r);
    carm_yaml_close(r.yaml);
    if (rc) {
        return rc;
    }
    if (!r.has_source) {
        snprintf(r.arch.source, sizeof r.arch.source, "%s", name);
    }
    *arch = r.arch;
    return 0;
}
