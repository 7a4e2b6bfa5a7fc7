/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/file/table.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "base/text.h"

static void *at(const void *object, size_t offset)
{
    return (char *)object +
           offset; /* NOLINT: reading only reads it; writing has a struct of its own */
}

static double double_at(const void *object, size_t offset)
{
    return *(const double *)at(object, offset);
}

static size_t size_at(const void *object, size_t offset)
{
    return *(const size_t *)at(object, offset);
}

static void *items_at(const void *object, size_t offset)
{
    void *items;
    memcpy(&items, at(object, offset), sizeof items);
    return items;
}

struct reader {
    struct carm_jread *r;
    const void *root;
    bool lean;
};

static size_t enter(struct carm_jread *r, const char *name)
{
    return carm_jread_enter(r, "%s%s", *r->place ? "." : "", name);
}

static void read_const(struct carm_jread *r, json_t *o, const struct carm_member *m)
{
    json_t *v = carm_jread_member(r, o, m->name);
    const char *s = json_string_value(v);
    if (v && !s) {
        carm_jread_bad(r, m->name, "is not a string");
    } else if (s && strcmp(s, m->what) != 0) {
        carm_jread_bad(r, m->name, "is \"%.64s\"; this carm reads \"%s\"", s, m->what);
    }
}

static void read_word(struct carm_jread *r, json_t *o, const struct carm_member *m, int *value)
{
    char name[64] = "";
    char list[128] = "";
    carm_jread_name(r, o, m->name, name, sizeof name);
    for (int i = 0; m->words(i); i++) {
        if (strcmp(m->words(i), name) == 0) {
            *value = i;
            return;
        }
        carm_text_list(list, sizeof list, m->words(i + 1) ? ", " : " or ", "%s", m->words(i));
    }
    carm_jread_bad(r, m->name, "is wrong: unknown %s '%s': %s", m->what, name, list);
}

static void check_range(struct carm_jread *r, const struct carm_member *m, double v)
{
    if (m->kind == CARM_MEMBER_NUMBER_ABOVE) {
        if (!(v > m->least)) {
            carm_jread_bad(r, m->name, "is %g, not more than %g", v, m->least);
        }
    } else if (v < m->least || v > m->most) {
        if (m->least < 0.0) {
            carm_jread_bad(r, m->name, "is %g, outside %g..%g", v, m->least, m->most);
        } else if (v < m->least) {
            carm_jread_bad(r, m->name, "is %g, less than zero", v);
        } else {
            carm_jread_bad(r, m->name, "is %g, more than %g", v, m->most);
        }
    }
}

static double read_number(struct carm_jread *r, json_t *o, const struct carm_member *m)
{
    const double v = carm_jread_number(r, o, m->name);
    check_range(r, m, v);
    return v;
}

static double read_number_or_null(struct carm_jread *r, json_t *o, const struct carm_member *m)
{
    const json_t *v = carm_jread_member(r, o, m->name);
    return json_is_null(v) ? -1.0 : carm_jread_nonnegative(r, o, m->name);
}

static void read_text_or_null(struct carm_jread *r, json_t *o, const struct carm_member *m,
                              char *dst)
{
    json_t *v = carm_jread_member(r, o, m->name);
    if (!json_is_null(v)) {
        carm_jread_copy(r, v, m->name, dst, m->size);
    }
}

static void read_interval(struct carm_jread *r, json_t *o, const struct carm_member *m,
                          const void *object, struct carm_ci *ci)
{
    const double value = m->of ? m->of(object) : double_at(object, m->other);
    carm_jread_interval(r, o, m->name, value, &ci->lo, &ci->hi);
}

static void read_members(const struct reader *in, json_t *o, const struct carm_table *t, char *dst);

static void read_object(const struct reader *in, json_t *o, const struct carm_member *m, char *dst)
{
    json_t *v = carm_jread_object(in->r, o, m->name);
    if (v) {
        const size_t old = enter(in->r, m->name);
        read_members(in, v, m->table, dst);
        carm_jread_leave(in->r, old);
    }
}

static bool same_key(const struct carm_member *m, const char *a, const char *b)
{
    const void *x = a + m->offset;
    const void *y = b + m->offset;
    return m->kind == CARM_MEMBER_TEXT || m->kind == CARM_MEMBER_NAME
               ? strcmp(x, y) == 0
               : memcmp(x, y, sizeof(int)) == 0;
}

static bool same_keys(const struct carm_table *t, const char *a, const char *b)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->members[i].flags & CARM_MEMBER_KEY && !same_key(&t->members[i], a, b)) {
            return false;
        }
    }
    return true;
}

/* Writes one key, as in `threads 2`, `op "fma"`. */
static int put_key(char *dst, size_t size, const struct carm_member *m, const void *value)
{
    const char *text = m->kind == CARM_MEMBER_WORD ? m->words(*(const int *)value) : value;
    return m->kind == CARM_MEMBER_INT ? snprintf(dst, size, "%s %d", m->name, *(const int *)value)
                                      : snprintf(dst, size, "%s \"%s\"", m->name, text);
}

/* "op repeats "fma"", or "repeats entry 0: level "L1", ldst "2:1"" */
static void say_repeated(struct carm_jread *r, const struct carm_table *t, const char *item,
                         size_t entry)
{
    char list[256] = "";
    size_t used = 0;
    const char *key = NULL;
    bool several = false;
    for (size_t i = 0; i < t->n; i++) {
        const struct carm_member *m = &t->members[i];
        if (!(m->flags & CARM_MEMBER_KEY) || used + 4 > sizeof list) {
            continue;
        }
        several = key != NULL;
        key = m->name;
        if (several) {
            memcpy(list + used, ", ", 3);
            used += 2;
        }
        const int n = put_key(list + used, sizeof list - used, m, item + m->offset);
        used += n > 0 ? (size_t)n : 0;
    }
    if (several) {
        carm_jread_bad(r, NULL, "repeats entry %zu: %s", entry, list);
    } else if (key) {
        carm_jread_bad(r, key, "repeats%s", list + strlen(key));
    }
}

static bool has_keys(const struct carm_table *t)
{
    for (size_t i = 0; i < t->n; i++) {
        if (t->members[i].flags & CARM_MEMBER_KEY) {
            return true;
        }
    }
    return false;
}

static void read_array(const struct reader *in, json_t *o, const struct carm_member *m, char *dst)
{
    const struct carm_table *t = m->table;
    size_t *n = at(dst, m->other);
    const json_t *a =
        carm_jread_array(in->r, o, m->name, (size_t)m->most, t->size, at(dst, m->offset), n);
    char *items = a ? items_at(dst, m->offset) : NULL;
    const bool keys = has_keys(t);
    for (size_t i = 0; items && i < *n && !in->r->rc; i++) {
        char *item = items + i * t->size;
        const size_t old =
            carm_jread_enter(in->r, "%s%s[%zu]", *in->r->place ? "." : "", m->name, i);
        read_members(in, json_array_get(a, i), t, item);
        for (size_t k = 0; keys && k < i && !in->r->rc; k++) {
            if (same_keys(t, items + k * t->size, item)) {
                say_repeated(in->r, t, item, k);
            }
        }
        carm_jread_leave(in->r, old);
    }
}

static void read_member(const struct reader *in, json_t *o, const struct carm_member *m, char *dst)
{
    struct carm_jread *r = in->r;
    void *v = dst + m->offset;
    switch (m->kind) {
    case CARM_MEMBER_CONST:
        read_const(r, o, m);
        break;
    case CARM_MEMBER_TEXT:
        carm_jread_text(r, o, m->name, v, m->size);
        break;
    case CARM_MEMBER_NAME:
        carm_jread_name(r, o, m->name, v, m->size);
        break;
    case CARM_MEMBER_TEXT_OR_NULL:
        read_text_or_null(r, o, m, v);
        break;
    case CARM_MEMBER_WORD:
        read_word(r, o, m, v);
        break;
    case CARM_MEMBER_BOOL:
        *(bool *)v = carm_jread_bool(r, o, m->name);
        break;
    case CARM_MEMBER_INT:
        *(int *)v = carm_jread_int(r, o, m->name, (int)m->least);
        break;
    case CARM_MEMBER_COUNT:
        *(uint64_t *)v = carm_jread_count(r, o, m->name, (uint64_t)m->least);
        break;
    case CARM_MEMBER_COUNT_OR_NULL:
        *(uint64_t *)v = carm_jread_count_or_null(r, o, m->name);
        break;
    case CARM_MEMBER_NUMBER:
    case CARM_MEMBER_NUMBER_ABOVE:
        *(double *)v = read_number(r, o, m);
        break;
    case CARM_MEMBER_NUMBER_OR_NULL:
        *(double *)v = read_number_or_null(r, o, m);
        break;
    case CARM_MEMBER_POSITIVE:
    case CARM_MEMBER_POSITIVE_WHOLE:
        *(double *)v = carm_jread_positive(r, o, m->name);
        break;
    case CARM_MEMBER_NUMBERS:
        *(size_t *)at(dst, m->other) = carm_jread_numbers(r, o, m->name, (size_t)m->most, v);
        break;
    case CARM_MEMBER_INTERVAL:
        read_interval(r, o, m, dst, v);
        break;
    case CARM_MEMBER_OBJECT:
        read_object(in, o, m, v);
        break;
    case CARM_MEMBER_ARRAY:
        read_array(in, o, m, dst);
        break;
    }
}

static void read_members(const struct reader *in, json_t *o, const struct carm_table *t, char *dst)
{
    bool there = true;
    for (size_t i = 0; i < t->n && !in->r->rc; i++) {
        const struct carm_member *m = &t->members[i];
        if (in->lean && m->flags & CARM_MEMBER_DETAIL) {
            continue;
        }
        if (m->flags & CARM_MEMBER_OPTIONAL) {
            there = json_object_get(o, m->name) != NULL;
        }
        if (there || !(m->flags & (CARM_MEMBER_OPTIONAL | CARM_MEMBER_WITH_LAST))) {
            read_member(in, o, m, dst);
            if (m->check && !in->r->rc) {
                m->check(in->r, m, in->root, dst);
            }
        }
    }
}

void carm_table_read(struct carm_jread *r, json_t *object, const struct carm_table *table,
                     bool lean, void *dst)
{
    const struct reader in = {r, dst, lean};
    read_members(&in, object, table, dst);
}

static bool is_empty(const struct carm_member *m, const void *object)
{
    const void *v = at(object, m->offset);
    switch (m->kind) {
    case CARM_MEMBER_TEXT:
    case CARM_MEMBER_NAME:
        return *(const char *)v == '\0';
    case CARM_MEMBER_OBJECT:
        return is_empty(m->table->members, v);
    case CARM_MEMBER_ARRAY:
        return size_at(object, m->other) == 0;
    case CARM_MEMBER_INT:
        return *(const int *)v == 0;
    default:
        return double_at(object, m->offset) == 0.0;
    }
}

static bool write_whole(json_t *o, const char *name, double v)
{
    const bool whole = v >= 1.0 && v <= 0x1p53 && v == floor(v);
    return whole ? carm_jwrite_count(o, name, (uint64_t)v) : carm_jwrite_number(o, name, v);
}

static json_t *make_array(const struct carm_member *m, const void *object)
{
    const char *items = items_at(object, m->offset);
    json_t *a = json_array();
    for (size_t i = 0; a && i < size_at(object, m->other); i++) {
        if (json_array_append_new(a, carm_table_make(m->table, items + i * m->table->size)) != 0) {
            json_decref(a);
            return NULL;
        }
    }
    return a;
}

static bool write_member(json_t *o, const struct carm_member *m, const void *object)
{
    const void *v = at(object, m->offset);
    switch (m->kind) {
    case CARM_MEMBER_CONST:
        return carm_jwrite_text(o, m->name, m->what);
    case CARM_MEMBER_TEXT:
    case CARM_MEMBER_NAME:
        return carm_jwrite_text(o, m->name, v);
    case CARM_MEMBER_TEXT_OR_NULL:
        return carm_jwrite_text_or_null(o, m->name, v);
    case CARM_MEMBER_WORD:
        return carm_jwrite_text(o, m->name, m->words(*(const int *)v));
    case CARM_MEMBER_BOOL:
        return carm_jwrite_bool(o, m->name, *(const bool *)v);
    case CARM_MEMBER_INT:
        return carm_jwrite_int(o, m->name, *(const int *)v);
    case CARM_MEMBER_COUNT:
        return carm_jwrite_count(o, m->name, *(const uint64_t *)v);
    case CARM_MEMBER_COUNT_OR_NULL:
        return carm_jwrite_count_or_null(o, m->name, *(const uint64_t *)v);
    case CARM_MEMBER_NUMBER:
    case CARM_MEMBER_NUMBER_ABOVE:
    case CARM_MEMBER_POSITIVE:
        return carm_jwrite_number(o, m->name, *(const double *)v);
    case CARM_MEMBER_NUMBER_OR_NULL:
        return *(const double *)v < 0.0 ? carm_jwrite_value(o, m->name, json_null())
                                        : carm_jwrite_number(o, m->name, *(const double *)v);
    case CARM_MEMBER_POSITIVE_WHOLE:
        return write_whole(o, m->name, *(const double *)v);
    case CARM_MEMBER_NUMBERS:
        return carm_jwrite_numbers(o, m->name, v, size_at(object, m->other));
    case CARM_MEMBER_INTERVAL:
        return carm_jwrite_interval(o, m->name, *(const struct carm_ci *)v);
    case CARM_MEMBER_OBJECT:
        return carm_jwrite_value(o, m->name, carm_table_make(m->table, v));
    case CARM_MEMBER_ARRAY:
        return carm_jwrite_value(o, m->name, make_array(m, object));
    }
    return false;
}

json_t *carm_table_make(const struct carm_table *table, const void *src)
{
    json_t *o = json_object();
    bool there = true;
    bool ok = o != NULL;
    for (size_t i = 0; i < table->n && ok; i++) {
        const struct carm_member *m = &table->members[i];
        if (m->flags & CARM_MEMBER_OPTIONAL) {
            there = !is_empty(m, src);
        }
        if (there || !(m->flags & (CARM_MEMBER_OPTIONAL | CARM_MEMBER_WITH_LAST))) {
            ok = write_member(o, m, src);
        }
    }
    return carm_jwrite_done(o, ok);
}

void carm_table_each_text(const struct carm_table *table, void *object,
                          void (*each)(const struct carm_member *member, char *text, void *arg),
                          void *arg)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct carm_member *m = &table->members[i];
        if (m->kind == CARM_MEMBER_TEXT || m->kind == CARM_MEMBER_NAME ||
            m->kind == CARM_MEMBER_TEXT_OR_NULL) {
            each(m, at(object, m->offset), arg);
        } else if (m->kind == CARM_MEMBER_OBJECT) {
            carm_table_each_text(m->table, at(object, m->offset), each, arg);
        } else if (m->kind == CARM_MEMBER_ARRAY) {
            char *items = items_at(object, m->offset);
            for (size_t k = 0; items && k < size_at(object, m->other); k++) {
                carm_table_each_text(m->table, items + k * m->table->size, each, arg);
            }
        }
    }
}

void carm_table_free(const struct carm_table *table, void *object)
{
    for (size_t i = 0; i < table->n; i++) {
        const struct carm_member *m = &table->members[i];
        if (m->kind == CARM_MEMBER_OBJECT) {
            carm_table_free(m->table, at(object, m->offset));
        } else if (m->kind == CARM_MEMBER_ARRAY) {
            char *items = items_at(object, m->offset);
            for (size_t k = 0; items && k < size_at(object, m->other); k++) {
                carm_table_free(m->table, items + k * m->table->size);
            }
            free(items);
        }
    }
}
