/* SPDX-License-Identifier: MIT */
#include "harness/count/recipe.h"

#include <cpuid.h>
#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- checked reading: each function takes one member and notes the first mistake ---- */

struct reader {
    const char *recipe; /* whose mistakes these are; "" = of the whole file */
    struct carm_err *err;
    int rc; /* 0, or of the first mistake */
};

static const char schema[] = "carm-counters/1";

/* Notes a mistake; the sentence begins with the recipe's name. */
__attribute__((format(printf, 2, 3))) static void bad(struct reader *r, const char *fmt, ...)
{
    if (r->rc) {
        return;
    }
    char what[400];
    va_list args;
    va_start(args, fmt);
    vsnprintf(what, sizeof what, fmt, args);
    va_end(args);
    r->rc = r->recipe[0]
                ? carm_fail(r->err, CARM_EFORMAT, "counter recipe %.48s: %s", r->recipe, what)
                : carm_fail(r->err, CARM_EFORMAT, "counter recipes: %s", what);
}

/* Parses the text and checks its schema. returns a new reference, NULL with r->rc */
static json_t *load(struct reader *r, const char *text)
{
    json_error_t error;
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (!root) {
        bad(r, "line %d: %.200s", error.line, error.text);
        return NULL;
    }
    const char *is = json_string_value(json_object_get(root, "schema"));
    if (!is || strcmp(is, schema) != 0) {
        bad(r, "the schema is %.64s; this carm reads %s", is ? is : "missing", schema);
        json_decref(root);
        return NULL;
    }
    return root;
}

/* Members; an absent one yields "", the default, or NULL. what: the object's name in messages. */
static void get_text(struct reader *r, json_t *o, const char *what, const char *key, char *to,
                     size_t size)
{
    to[0] = '\0';
    json_t *v = json_object_get(o, key);
    if (!v) {
        return;
    }
    const char *s = json_string_value(v);
    if (!s) {
        bad(r, "%s: \"%s\" is not a string", what, key);
    } else if (strlen(s) >= size) {
        bad(r, "%s: \"%s\" is longer than %zu bytes", what, key, size - 1);
    } else {
        memcpy(to, s, strlen(s) + 1);
    }
}

static double get_number(struct reader *r, json_t *o, const char *what, const char *key,
                         double absent)
{
    json_t *v = json_object_get(o, key);
    if (!v) {
        return absent;
    }
    if (!json_is_number(v)) {
        bad(r, "%s: \"%s\" is not a number", what, key);
        return absent;
    }
    const double value = json_number_value(v);
    if (value <= 0 && !(value == 0 && absent == 0)) {
        bad(r, "%s: \"%s\" is not above 0", what, key);
        return absent;
    }
    return value;
}

static bool get_bool(struct reader *r, json_t *o, const char *what, const char *key)
{
    json_t *v = json_object_get(o, key);
    if (v && !json_is_boolean(v)) {
        bad(r, "%s: \"%s\" is neither true nor false", what, key);
    }
    return json_is_true(v);
}

/* returns false where s is not a number of 32 bits from end to end */
static bool read_hex(const char *s, const char *end, unsigned long *value)
{
    char *stop = NULL;
    if (s[0] != '0' || s[1] != 'x') {
        return false;
    }
    *value = strtoul(s, &stop, 16);
    return stop == end && stop > s + 2 && *value <= 0xffffffffUL;
}

static unsigned get_hex(struct reader *r, json_t *o, const char *what, const char *key)
{
    json_t *v = json_object_get(o, key);
    if (!v) {
        return 0;
    }
    const char *s = json_string_value(v);
    unsigned long value = 0;
    if (!s || !read_hex(s, s + strlen(s), &value)) {
        bad(r, "%s: \"%s\" is not a string like \"0x81D0\"", what, key);
        return 0;
    }
    return (unsigned)value;
}

static json_t *get_array(struct reader *r, json_t *o, const char *what, const char *key)
{
    json_t *v = json_object_get(o, key);
    if (v && !json_is_array(v)) {
        bad(r, "%s: \"%s\" is not a list", what, key);
        return NULL;
    }
    return v;
}

/* Refuses members that are not among the names of a list that ends with NULL. */
static void allow_only(struct reader *r, json_t *o, const char *what, const char *const *names)
{
    if (!json_is_object(o)) {
        bad(r, "%s is not an object", what);
        return;
    }
    const char *key = NULL;
    json_t *value = NULL;
    json_object_foreach(o, key, value)
    {
        bool known = false;
        for (size_t i = 0; names[i] && !known; i++) {
            known = strcmp(names[i], key) == 0;
        }
        if (!known) {
            bad(r, "%s: there is no member \"%.64s\"", what, key);
        }
    }
}

/* Whether o's vendor, family and models ("0x55", "0x30-0x4F") have this processor. */
static bool matches(struct reader *r, json_t *o, const char *vendor, int family, int model)
{
    const char *is = json_string_value(json_object_get(o, "vendor"));
    json_t *models = get_array(r, o, "models", "models");
    const unsigned has = get_hex(r, o, "recipe", "family");
    if (!is || strcmp(is, vendor) != 0 || family < 0 || (int)has != family) {
        return false;
    }
    size_t i = 0;
    json_t *v = NULL;
    json_array_foreach(models, i, v)
    {
        const char *s = json_string_value(v);
        const char *dash = s ? strchr(s, '-') : NULL;
        unsigned long from = 0;
        unsigned long to = 0;
        bool good = s && read_hex(s, dash ? dash : s + strlen(s), &from);
        to = from;
        if (good && dash) {
            good = read_hex(dash + 1, s + strlen(s), &to) && from <= to;
        }
        if (!good) {
            bad(r, "models: \"%.32s\" is not like \"0x55\" or \"0x30-0x4F\"", s ? s : "");
            return false;
        }
        if (model >= 0 && (unsigned long)model >= from && (unsigned long)model <= to) {
            return true;
        }
    }
    return false;
}

/* ---- one recipe ---- */

enum { EVENTS_MAX = 64 };

static const char *const event_members[] = {"name", "papi",  "likwid", "counter", "likwid_scale",
                                            "code", "fixed", "slots",  "scope",   NULL};
static const char *const formula_members[] = {"quantity", "terms", "required", "upper_bound", NULL};
static const char *const width_members[] = {"event", "bytes", "low", NULL};
static const char *const set_members[] = {"events", "formulas", "width", NULL};
static const char *const recipe_members[] = {
    "name",    "title",  "vendor",   "family", "models", "pfm",  "pfm_also", "likwid", "counters",
    "include", "events", "formulas", "width",  "lacks",  "note", "sources",  NULL};

static size_t find_event(const struct carm_recipe *recipe, const char *name)
{
    size_t i = 0;
    while (i < recipe->nevents && strcmp(recipe->events[i].name, name) != 0) {
        i++;
    }
    return i;
}

static enum carm_event_scope read_scope(struct reader *r, json_t *o, const char *what)
{
    char scope[16];
    get_text(r, o, what, "scope", scope, sizeof scope);
    if (strcmp(scope, "socket") == 0) {
        return CARM_EVENT_SOCKET;
    }
    if (strcmp(scope, "software") == 0) {
        return CARM_EVENT_SOFTWARE;
    }
    if (scope[0] && strcmp(scope, "thread") != 0) {
        bad(r, "%s: scope \"%s\" is none of thread, socket, software", what, scope);
    }
    return CARM_EVENT_THREAD;
}

/* The name with which PAPI finds the event: of the recipe's own PMU where it names none, raw where
 * libpfm4 has no such PMU. */
static void complete_papi(struct reader *r, const struct carm_recipe *recipe, struct carm_event *e)
{
    if (!e->papi[0] || strstr(e->papi, "::")) {
        return;
    }
    char name[sizeof e->papi + sizeof recipe->pfm + 2];
    if (recipe->pfm[0]) {
        snprintf(name, sizeof name, "%s::%s", recipe->pfm, e->papi);
    } else {
        snprintf(name, sizeof name, "perf_raw::r%04x", e->code);
    }
    if (strlen(name) >= sizeof e->papi) {
        bad(r, "event %s: \"papi\" is longer than %zu bytes", e->name, sizeof e->papi - 1);
        return;
    }
    memcpy(e->papi, name, strlen(name) + 1);
}

static void read_event(struct reader *r, struct carm_recipe *recipe, json_t *o)
{
    struct carm_event e;
    memset(&e, 0, sizeof e);
    allow_only(r, o, "an event", event_members);
    get_text(r, o, "an event", "name", e.name, sizeof e.name);
    char what[sizeof e.name + 8];
    snprintf(what, sizeof what, "event %s", e.name);
    get_text(r, o, what, "papi", e.papi, sizeof e.papi);
    get_text(r, o, what, "likwid", e.likwid, sizeof e.likwid);
    get_text(r, o, what, "counter", e.counter, sizeof e.counter);
    e.likwid_scale = get_number(r, o, what, "likwid_scale", 1);
    e.code = get_hex(r, o, what, "code");
    e.fixed = get_bool(r, o, what, "fixed");
    const double slots = get_number(r, o, what, "slots", 1);
    e.scope = read_scope(r, o, what);
    if (slots != 1 && slots != 2) {
        bad(r, "%s: \"slots\" is neither 1 nor 2", what);
    }
    e.slots = slots == 2 ? 2 : 1;
    if (!e.name[0]) {
        bad(r, "an event has no name");
    } else if (find_event(recipe, e.name) < recipe->nevents) {
        bad(r, "%s appears twice", what);
    } else if (!e.papi[0] && !e.likwid[0]) {
        bad(r, "%s has no name in \"papi\" or \"likwid\"", what);
    } else if (e.scope == CARM_EVENT_THREAD && e.papi[0] && e.code == 0) {
        bad(r, "%s has no code", what);
    } else if (recipe->nevents == EVENTS_MAX) {
        bad(r, "there are more than %d events", EVENTS_MAX);
    }
    if (!recipe->likwid[0]) {
        e.likwid[0] = '\0';
        e.counter[0] = '\0';
    }
    complete_papi(r, recipe, &e);
    if (!r->rc) {
        recipe->events[recipe->nevents++] = e;
    }
}

static void read_terms(struct reader *r, const struct carm_recipe *recipe, json_t *terms,
                       const char *what, struct carm_formula *f)
{
    if (json_object_size(terms) == 0) {
        bad(r, "%s has no terms", what);
        return;
    }
    if (json_object_size(terms) > CARM_FORMULA_TERMS_MAX) {
        bad(r, "%s has more than %d terms", what, CARM_FORMULA_TERMS_MAX);
        return;
    }
    const char *name = NULL;
    json_t *weight = NULL;
    json_object_foreach(terms, name, weight)
    {
        const size_t event = find_event(recipe, name);
        const double w = json_number_value(weight);
        if (event == recipe->nevents) {
            bad(r, "%s names the event \"%.64s\", which does not exist", what, name);
        } else if (!(w > 0) || !isfinite(w)) {
            bad(r, "%s: the weight of %s is not a number above 0", what, name);
        } else {
            f->terms[f->nterms].event = event;
            f->terms[f->nterms].weight = w;
            f->nterms++;
        }
    }
}

static void read_formula(struct reader *r, struct carm_recipe *recipe, json_t *o)
{
    struct carm_formula f;
    memset(&f, 0, sizeof f);
    char quantity[32];
    char what[48];
    allow_only(r, o, "a formula", formula_members);
    get_text(r, o, "a formula", "quantity", quantity, sizeof quantity);
    snprintf(what, sizeof what, "the formula of %s", quantity);
    f.quantity = carm_quantity_find(quantity);
    if (f.quantity == CARM_Q_COUNT) {
        bad(r, "there is no quantity \"%s\"", quantity);
    }
    for (size_t i = 0; i < recipe->nformulas; i++) {
        if (recipe->formulas[i].quantity == f.quantity) {
            bad(r, "%s appears twice", what);
        }
    }
    f.required = get_bool(r, o, what, "required");
    f.upper_bound = get_bool(r, o, what, "upper_bound");
    read_terms(r, recipe, json_object_get(o, "terms"), what, &f);
    if (!r->rc) {
        recipe->formulas[recipe->nformulas++] = f;
    }
}

static void read_width(struct reader *r, struct carm_recipe *recipe, json_t *o)
{
    struct carm_width w;
    memset(&w, 0, sizeof w);
    char event[sizeof recipe->events->name];
    allow_only(r, o, "a width", width_members);
    get_text(r, o, "a width", "event", event, sizeof event);
    w.event = find_event(recipe, event);
    w.bytes = get_number(r, o, "a width", "bytes", 0);
    w.low = get_number(r, o, "a width", "low", w.bytes);
    if (w.event == recipe->nevents) {
        bad(r, "a width names the event \"%s\", which does not exist", event);
    } else if (!(w.low > 0 && w.low <= w.bytes && w.bytes <= 64)) {
        bad(r, "the width of %s is not within 0 < low <= bytes <= 64", event);
    } else if (recipe->nwidths == EVENTS_MAX) {
        bad(r, "there are more than %d widths", EVENTS_MAX);
    }
    if (!r->rc) {
        recipe->widths[recipe->nwidths++] = w;
    }
}

typedef void read_one(struct reader *r, struct carm_recipe *recipe, json_t *o);

static void read_all(struct reader *r, struct carm_recipe *recipe, json_t *o, const char *key,
                     read_one *read)
{
    json_t *list = get_array(r, o, key, key);
    for (size_t i = 0; i < json_array_size(list) && !r->rc; i++) {
        read(r, recipe, json_array_get(list, i));
    }
}

/* The included sets' members and then the recipe's own. */
static void read_everywhere(struct reader *r, struct carm_recipe *recipe, json_t *root, json_t *o,
                            const char *key, read_one *read)
{
    json_t *sets = json_object_get(root, "sets");
    json_t *include = get_array(r, o, "include", "include");
    for (size_t i = 0; i < json_array_size(include) && !r->rc; i++) {
        const char *name = json_string_value(json_array_get(include, i));
        json_t *set = name ? json_object_get(sets, name) : NULL;
        if (!set) {
            bad(r, "there is no set \"%.64s\" to include", name ? name : "");
            return;
        }
        allow_only(r, set, name, set_members);
        read_all(r, recipe, set, key, read);
    }
    read_all(r, recipe, o, key, read);
}

static void read_recipe(struct reader *r, json_t *root, json_t *o, struct carm_recipe *recipe)
{
    allow_only(r, o, "the recipe", recipe_members);
    get_text(r, o, "recipe", "name", recipe->name, sizeof recipe->name);
    get_text(r, o, "recipe", "title", recipe->title, sizeof recipe->title);
    get_text(r, o, "recipe", "pfm", recipe->pfm, sizeof recipe->pfm);
    get_text(r, o, "recipe", "pfm_also", recipe->pfm_also, sizeof recipe->pfm_also);
    get_text(r, o, "recipe", "likwid", recipe->likwid, sizeof recipe->likwid);
    get_text(r, o, "recipe", "lacks", recipe->lacks, sizeof recipe->lacks);
    get_text(r, o, "recipe", "note", recipe->note, sizeof recipe->note);
    const double counters = get_number(r, o, "recipe", "counters", 0);
    if (!(counters <= 64) || counters != floor(counters)) {
        bad(r, "\"counters\" is not a whole number of at most 64");
    } else {
        recipe->counters = (int)counters;
    }
    if (json_array_size(json_object_get(o, "sources")) == 0) {
        bad(r, "it names no sources");
    }
    read_everywhere(r, recipe, root, o, "events", read_event);
    read_everywhere(r, recipe, root, o, "formulas", read_formula);
    read_everywhere(r, recipe, root, o, "width", read_width);
    if (recipe->nformulas == 0) {
        bad(r, "it has no formulas");
    }
    for (size_t i = 0; i < recipe->nevents; i++) {
        const struct carm_event *e = &recipe->events[i];
        if (e->scope == CARM_EVENT_THREAD && !e->fixed && (int)e->slots > recipe->counters) {
            bad(r, "event %s needs more counters than the %d of this processor", e->name,
                recipe->counters);
        }
    }
}

static json_t *find_recipe(json_t *root, const char *name)
{
    size_t i = 0;
    json_t *o = NULL;
    json_array_foreach(json_object_get(root, "recipes"), i, o)
    {
        const char *is = json_string_value(json_object_get(o, "name"));
        if (is && strcmp(is, name) == 0) {
            return o;
        }
    }
    return NULL;
}

int carm_recipe_parse(const char *text, const char *name, struct carm_recipe **out,
                      struct carm_err *err)
{
    *out = NULL;
    struct reader r = {.recipe = "", .err = err};
    json_t *root = load(&r, text);
    if (!root) {
        return r.rc;
    }
    json_t *o = find_recipe(root, name);
    struct carm_recipe *recipe = NULL;
    if (!o) {
        r.rc = carm_fail(err, CARM_EINVAL, "there is no counter recipe \"%.48s\"", name);
        goto out;
    }
    recipe = calloc(1, sizeof *recipe);
    if (recipe) {
        recipe->events = calloc(EVENTS_MAX, sizeof *recipe->events);
        /* one for each quantity: a second one is refused */
        recipe->formulas = calloc(CARM_Q_COUNT, sizeof *recipe->formulas);
        recipe->widths = calloc(EVENTS_MAX, sizeof *recipe->widths);
    }
    if (!recipe || !recipe->events || !recipe->formulas || !recipe->widths) {
        r.rc = carm_fail(err, CARM_ENOMEM, "out of memory while reading counter recipes");
        goto out;
    }
    r.recipe = name;
    read_recipe(&r, root, o, recipe);
    if (r.rc == 0) {
        *out = recipe;
        recipe = NULL;
    }
out:
    carm_recipe_free(recipe);
    json_decref(root);
    return r.rc;
}

void carm_recipe_free(struct carm_recipe *recipe)
{
    if (!recipe) {
        return;
    }
    free(recipe->events);
    free(recipe->formulas);
    free(recipe->widths);
    free(recipe);
}

/* ---- which recipe ---- */

void carm_cpuid_read(struct carm_cpuid *id)
{
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    memset(id, 0, sizeof *id);
    __cpuid(0, a, b, c, d);
    memcpy(id->vendor, &b, 4);
    memcpy(id->vendor + 4, &d, 4);
    memcpy(id->vendor + 8, &c, 4);

    __cpuid(1, a, b, c, d);
    id->family = (int)((a >> 8) & 15);
    id->model = (int)((a >> 4) & 15);
    if (id->family == 15 || id->family == 6) {
        id->model += (int)((a >> 16) & 15) * 16;
    }
    if (id->family == 15) {
        id->family += (int)((a >> 20) & 255);
    }
}

/* data/counters.json, zero-terminated (data/counters.o) */
extern const char carm_data_counters[];

enum { RECIPES_MAX = 64 };

static char names[RECIPES_MAX][sizeof((struct carm_recipe *)0)->name];

static void read_names(void)
{
    struct reader r = {.recipe = ""};
    json_t *root = load(&r, carm_data_counters);
    json_t *recipes = json_object_get(root, "recipes");
    /* one place stays empty: it ends the list */
    for (size_t i = 0; i < json_array_size(recipes) && i + 1 < RECIPES_MAX; i++) {
        get_text(&r, json_array_get(recipes, i), "recipe", "name", names[i], sizeof names[i]);
    }
    json_decref(root);
}

const char *carm_recipe_name(size_t i)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_names);
    return i < RECIPES_MAX && names[i][0] ? names[i] : NULL;
}

static void list_names(char *list, size_t size)
{
    size_t used = 0;
    list[0] = '\0';
    for (size_t i = 0; carm_recipe_name(i); i++) {
        const int n =
            snprintf(list + used, size - used, "%s%s", i ? ", " : "", carm_recipe_name(i));
        if (n < 0 || (size_t)n >= size - used) {
            return;
        }
        used += (size_t)n;
    }
}

static bool has_name(const char *name)
{
    size_t i = 0;
    while (carm_recipe_name(i) && strcmp(carm_recipe_name(i), name) != 0) {
        i++;
    }
    return carm_recipe_name(i) != NULL;
}

/* what  where the name is from, for the message */
static int get_named(const char *what, const char *name, struct carm_recipe **out,
                     struct carm_err *err)
{
    *out = NULL;
    if (!has_name(name)) {
        char list[400];
        list_names(list, sizeof list);
        return carm_fail(err, CARM_EINVAL, "%s \"%.48s\" is not a counter recipe: there are %s",
                         what, name, list);
    }
    return carm_recipe_parse(carm_data_counters, name, out, err);
}

int carm_recipe_named(const char *name, struct carm_recipe **out, struct carm_err *err)
{
    return get_named("the name", name, out, err);
}

static const char *find_match(struct reader *r, json_t *list, const char *key, const char *vendor,
                              int family, int model, const char **name)
{
    size_t i = 0;
    json_t *o = NULL;
    json_array_foreach(list, i, o)
    {
        if (matches(r, o, vendor, family, model)) {
            *name = json_string_value(json_object_get(o, "name"));
            return json_string_value(json_object_get(o, key));
        }
    }
    return NULL;
}

int carm_recipe_find(const char *vendor, int family, int model, struct carm_recipe **out,
                     struct carm_err *err)
{
    *out = NULL;
    const char *uarch = getenv("CARM_UARCH");
    if (uarch && uarch[0]) {
        return get_named("CARM_UARCH", uarch, out, err);
    }
    struct reader r = {.recipe = "", .err = err};
    json_t *root = load(&r, carm_data_counters);
    if (!root) {
        return r.rc;
    }
    const char *name = NULL;
    const char *reason = NULL;
    int rc = 0;
    if (find_match(&r, json_object_get(root, "recipes"), "name", vendor, family, model, &name)) {
        rc = carm_recipe_parse(carm_data_counters, name, out, err);
    } else if ((reason = find_match(&r, json_object_get(root, "left_out"), "reason", vendor, family,
                                    model, &name))) {
        rc = carm_fail(
            err, CARM_ENOTSUP,
            "there is no counter recipe for %s (%.16s, family %d, model %d): %s; --counters step "
            "counts without events",
            name, vendor, family, model, reason);
    } else {
        rc = carm_fail(
            err, CARM_ENOTSUP,
            "there is no counter recipe for this processor (%.16s, family %d, model %d), "
            "and carm does not guess one: set CARM_UARCH=NAME if the hypervisor reports a "
            "false model",
            vendor, family, model);
    }
    json_decref(root);
    return r.rc ? r.rc : rc;
}

bool carm_event_papi_name(const struct carm_recipe *recipe, const struct carm_event *event,
                          unsigned i, char *name, size_t size)
{
    const char *colons = strstr(event->papi, "::");
    if (!colons) {
        return false;
    }
    const size_t pmu = (size_t)(colons - event->papi);
    const bool own =
        recipe->pfm[0] && pmu == strlen(recipe->pfm) && strncmp(event->papi, recipe->pfm, pmu) == 0;
    const bool also = own && recipe->pfm_also[0];
    int n = -1;
    if (i == 0) {
        n = snprintf(name, size, "%s", event->papi);
    } else if (i == 1 && also) {
        n = snprintf(name, size, "%s%s", recipe->pfm_also, colons);
    } else if (own && i == (also ? 2U : 1U)) {
        n = snprintf(name, size, "perf_raw::r%04x", event->code);
    }
    return n >= 0 && (size_t)n < size;
}
