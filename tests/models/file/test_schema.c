/* SPDX-License-Identifier: GPL-3.0-or-later */
/* data/model.schema.json and the tables of models/file/model.c say the same, both ways: names, types, ranges,
 * what must be there. A planted difference of each kind is found. */
#include "models/file/model.h"
#include "tests/unit.h"

/* A walk through schema and tables, and the first difference that it met. */
struct walk {
    json_t *schema;
    char place[256];
    char fault[512]; /* "" = none */
};

static void fault(struct walk *w, const char *name, const char *what)
{
    if (!*w->fault) {
        (void)snprintf(w->fault, sizeof w->fault, "%s.%s: %s", w->place, name, what);
    }
}

/* What a $ref names, or the value itself. */
static json_t *follow(struct walk *w, json_t *o)
{
    const char *ref = json_string_value(json_object_get(o, "$ref"));
    return ref && strncmp(ref, "#/$defs/", 8) == 0
               ? json_object_get(json_object_get(w->schema, "$defs"), ref + 8)
               : o;
}

static bool has_type(json_t *o, const char *type, bool or_null)
{
    json_t *t = json_object_get(o, "type");
    if (!or_null) {
        return json_is_string(t) && strcmp(json_string_value(t), type) == 0;
    }
    const char *a = json_string_value(json_array_get(t, 0));
    const char *b = json_string_value(json_array_get(t, 1));
    return json_array_size(t) == 2 && a && b && strcmp(a, type) == 0 && strcmp(b, "null") == 0;
}

/* Whether the keyword has that value; infinite: whether it is not there. */
static bool says(json_t *o, const char *keyword, double value)
{
    json_t *v = json_object_get(o, keyword);
    return isinf(value) ? v == NULL : json_is_number(v) && json_number_value(v) == value;
}

static bool in_range(json_t *o, double least, double most)
{
    return says(o, "minimum", least) && says(o, "maximum", most) &&
           says(o, "exclusiveMinimum", INFINITY);
}

static bool has_words(json_t *o, const char *(*words)(int))
{
    const json_t *list = json_object_get(o, "enum");
    int n = 0;
    for (; words(n); n++) {
        const char *s = json_string_value(json_array_get(list, (size_t)n));
        if (!s || strcmp(s, words(n)) != 0) {
            return false;
        }
    }
    return json_array_size(list) == (size_t)n;
}

static bool is_text(json_t *o, const struct carm_member *m, bool or_null)
{
    return has_type(o, "string", or_null) && says(o, "maxLength", (double)(m->size - 1)) &&
           says(o, "minLength", m->kind == CARM_MEMBER_NAME ? 1 : INFINITY);
}

static bool agrees(json_t *o, const struct carm_member *m)
{
    switch (m->kind) {
    case CARM_MEMBER_CONST: {
        const char *s = json_string_value(json_object_get(o, "const"));
        return s && strcmp(s, m->what) == 0;
    }
    case CARM_MEMBER_TEXT:
    case CARM_MEMBER_NAME:
        return is_text(o, m, false);
    case CARM_MEMBER_TEXT_OR_NULL:
        return is_text(o, m, true);
    case CARM_MEMBER_WORD:
        return has_words(o, m->words);
    case CARM_MEMBER_BOOL:
        return has_type(o, "boolean", false);
    case CARM_MEMBER_INT:
    case CARM_MEMBER_COUNT:
        return has_type(o, "integer", false) && in_range(o, m->least, INFINITY);
    case CARM_MEMBER_COUNT_OR_NULL:
        return has_type(o, "integer", true) && in_range(o, 1, INFINITY);
    case CARM_MEMBER_NUMBER:
        return has_type(o, "number", false) && in_range(o, m->least, m->most);
    case CARM_MEMBER_NUMBER_ABOVE:
        return has_type(o, "number", false) && says(o, "exclusiveMinimum", m->least);
    case CARM_MEMBER_NUMBER_OR_NULL:
        return has_type(o, "number", true) && in_range(o, 0, INFINITY);
    case CARM_MEMBER_POSITIVE:
    case CARM_MEMBER_POSITIVE_WHOLE:
        return has_type(o, "number", false) && in_range(o, CARM_JREAD_LEAST, CARM_JREAD_MOST);
    case CARM_MEMBER_NUMBERS:
        return has_type(o, "array", false) && says(o, "maxItems", m->most) &&
               in_range(json_object_get(o, "items"), 0, CARM_JREAD_MOST);
    case CARM_MEMBER_INTERVAL:
        return has_type(o, "array", false) && says(o, "minItems", 2) && says(o, "maxItems", 2) &&
               in_range(json_object_get(o, "items"), 0, INFINITY);
    case CARM_MEMBER_OBJECT:
        return has_type(o, "object", false);
    case CARM_MEMBER_ARRAY:
        return has_type(o, "array", false) && says(o, "maxItems", m->most);
    }
    return false;
}

static bool lists(const json_t *array, const char *name)
{
    for (size_t i = 0; i < json_array_size(array); i++) {
        if (strcmp(json_string_value(json_array_get(array, i)), name) == 0) {
            return true;
        }
    }
    return false;
}

static void walk_object(struct walk *w, const struct carm_table *t, json_t *o);

static void walk_member(struct walk *w, const struct carm_member *m, json_t *o)
{
    char old[sizeof w->place];
    if (!o || !agrees(o, m)) {
        fault(w, m->name, o ? "differs" : "is not in the schema");
    } else if (m->table == &carm_model_table) { /* models inside the model */
        const char *ref = json_string_value(json_object_get(json_object_get(o, "items"), "$ref"));
        if (!ref || strcmp(ref, "#") != 0) {
            fault(w, m->name, "is not the whole schema");
        }
    } else if (m->table) {
        (void)snprintf(old, sizeof old, "%s", w->place);
        (void)snprintf(w->place, sizeof w->place, "%.200s.%.40s", old, m->name);
        walk_object(w, m->table,
                    follow(w, m->kind == CARM_MEMBER_ARRAY ? json_object_get(o, "items") : o));
        (void)snprintf(w->place, sizeof w->place, "%s", old);
    }
}

static void walk_object(struct walk *w, const struct carm_table *t, json_t *o)
{
    const json_t *properties = json_object_get(o, "properties");
    const json_t *required = json_object_get(o, "required");
    const json_t *dependent = json_object_get(o, "dependentRequired");
    const char *leader = "";
    size_t nrequired = 0;
    size_t ndependent = 0;
    size_t nlisted = 0;
    for (size_t i = 0; i < t->n; i++) {
        const struct carm_member *m = &t->members[i];
        const bool with_last = m->flags & CARM_MEMBER_WITH_LAST;
        const bool must = !(m->flags & CARM_MEMBER_OPTIONAL) && !with_last;
        leader = m->flags & CARM_MEMBER_OPTIONAL ? m->name : leader;
        walk_member(w, m, follow(w, json_object_get(properties, m->name)));
        nrequired += must;
        if (lists(required, m->name) != must) {
            fault(w, m->name, "is required on one side only");
        }
        ndependent += with_last;
        if (with_last && !lists(json_object_get(dependent, leader), m->name)) {
            fault(w, m->name, "comes with another member on one side only");
        }
    }
    const char *name;
    json_t *list;
    json_object_foreach((json_t *)dependent, name, list)
    {
        nlisted += json_array_size(list);
    }
    if (json_object_size(properties) != t->n || json_array_size(required) != nrequired ||
        nlisted != ndependent) {
        fault(w, "*", "the schema has members that the table lacks");
    }
}

static json_t *load(void)
{
    const char *top = getenv("CARM_TOP");
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/data/model.schema.json", top && *top ? top : ".");
    json_t *schema = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(schema);
    return schema;
}

TEST(agree)
{
    struct walk w = {.schema = load()};
    walk_object(&w, &carm_model_table, w.schema);
    fail_if(*w.fault, "%s", w.fault);
    json_decref(w.schema);
}

/* The object at a path as in "properties/roofs/items". */
static json_t *descend(json_t *o, const char *path)
{
    char name[64];
    while (o && *path) {
        const size_t n = strcspn(path, "/");
        (void)snprintf(name, sizeof name, "%.*s", (int)n, path);
        o = json_object_get(o, name);
        path += n + (path[n] == '/');
    }
    return o;
}

TEST(differences_are_found)
{
    static const struct {
        const char *path, *key, *value, *want; /* value NULL = taken out */
    } plants[] = {
        {"properties/machine/properties", "cpu", NULL, ".machine.cpu: is not in the schema"},
        {"properties/machine/properties", "more", "{}", ".machine.*: the schema has members"},
        {"properties/machine/properties/cpu", "maxLength", "254", ".machine.cpu: differs"},
        {"properties/config/properties/ldst", "minLength", NULL, ".config.ldst: differs"},
        {"properties/levels/items/properties/knee_bytes", "type", "\"integer\"",
         ".levels.knee_bytes: differs"},
        {"properties/levels/items", "required", "[\"level\"]",
         ".levels.os_size_bytes: is required on one side only"},
        {"properties/roofs", "maxItems", "255", ".roofs: differs"},
        {"$defs/memory_roof/properties/bandwidth", "minimum", "0",
         ".roofs.memory.bandwidth: differs"},
        {"$defs/ceiling/properties/group/", "enum", "[\"in-core\"]",
         ".roofs.ceilings.group: differs"},
        {"properties/validation/items/properties/worst_error", "exclusiveMinimum", "-2",
         ".validation.worst_error: differs"},
        {"properties/validation_fits/items/dependentRequired", "p", "[]",
         ".validation_fits.p_se: comes with another"},
    };
    for (size_t i = 0; i < sizeof plants / sizeof *plants; i++) {
        struct walk w = {.schema = load()};
        json_t *o = descend(w.schema, plants[i].path);
        assert_non_null(o);
        if (plants[i].value) {
            assert_int_equal(
                json_object_set_new(o, plants[i].key,
                                    json_loads(plants[i].value, JSON_DECODE_ANY, NULL)),
                0);
        } else {
            assert_int_equal(json_object_del(o, plants[i].key), 0);
        }
        walk_object(&w, &carm_model_table, w.schema);
        fail_if(!strstr(w.fault, plants[i].want), "expected: %s\n        got: %s", plants[i].want,
                w.fault);
        json_decref(w.schema);
    }
}
