/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/file/cut.h"

#include <string.h>

#include "base/json_scan.h"

struct cutter {
    struct carm_scan in;
    char *out;
};

static void put(struct cutter *c, const char *text, size_t size)
{
    memcpy(c->out, text, size);
    c->out += size;
}

/* Writes a closing bracket, over the comma behind the last member if there is one. */
static void put_close(struct cutter *c, bool empty, char close)
{
    c->out -= !empty;
    *c->out++ = close;
}

static const struct carm_member *find_member(const struct carm_table *t,
                                             const struct carm_span *name)
{
    for (size_t i = 0; i < t->n; i++) {
        if (carm_span_is(name, t->members[i].name)) {
            return t->members[i].flags & CARM_MEMBER_DETAIL ? NULL : &t->members[i];
        }
    }
    return NULL;
}

static bool cut_object(struct cutter *c, const struct carm_table *t);

static bool cut_array(struct cutter *c, const struct carm_table *t)
{
    bool first = true;
    if (!carm_scan_take(&c->in, '[')) {
        return false;
    }
    put(c, "[", 1);
    int more = carm_scan_next(&c->in, &first, ']');
    for (; more > 0; more = carm_scan_next(&c->in, &first, ']')) {
        if (!cut_object(c, t)) {
            return false;
        }
        put(c, ",", 1);
    }
    put_close(c, first, ']');
    return more == 0;
}

static bool cut_value(struct cutter *c, const struct carm_member *m)
{
    struct carm_span value;
    if (m->kind == CARM_MEMBER_OBJECT) {
        return cut_object(c, m->table);
    }
    if (m->kind == CARM_MEMBER_ARRAY) {
        return cut_array(c, m->table);
    }
    if (!carm_scan_value(&c->in, &value)) {
        return false;
    }
    put(c, value.at, value.size);
    return true;
}

static bool cut_object(struct cutter *c, const struct carm_table *t)
{
    struct carm_span name;
    struct carm_span value;
    bool first = true;
    bool empty = true;
    if (!carm_scan_take(&c->in, '{')) {
        return false;
    }
    put(c, "{", 1);
    int more = carm_scan_name(&c->in, &first, &name);
    for (; more > 0; more = carm_scan_name(&c->in, &first, &name)) {
        const struct carm_member *m = find_member(t, &name);
        if (!m) {
            if (!carm_scan_value(&c->in, &value)) {
                return false;
            }
            continue;
        }
        put(c, name.at - 1, name.size + 2);
        put(c, ":", 1);
        if (!cut_value(c, m)) {
            return false;
        }
        put(c, ",", 1);
        empty = false;
    }
    put_close(c, empty, '}');
    return more == 0;
}

size_t carm_table_cut(const struct carm_table *table, const char *text, size_t size, char *dst)
{
    struct cutter c = {{text, text + size}, dst};
    return cut_object(&c, table) && carm_scan_end(&c.in) ? (size_t)(c.out - dst) : 0;
}
