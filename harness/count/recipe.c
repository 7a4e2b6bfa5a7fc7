/* SPDX-License-Identifier: MIT */
#include "harness/count/recipe.h"

#include <cpuid.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_read.h"
#include "base/text.h"

static const char schema[] = "carm-counters/1";
static const char file[] = "counter recipes"; /* in messages */

/* Parses the text and checks its schema. returns a new reference, NULL with r->rc */
static json_t *load(struct carm_jread *r, const char *text)
{
    char is[64] = "";
    json_t *root = carm_jread_parse(r, text, strlen(text));
    carm_jread_text(r, root, "schema", is, sizeof is);
    if (strcmp(is, schema) != 0) {
        carm_jread_bad(r, "schema", "is \"%s\"; this carm reads \"%s\"", is, schema);
    }
    if (r->rc) {
        json_decref(root);
        return NULL;
    }
    return root;
}

/* Members that may be absent. */
static double get_number(struct carm_jread *r, json_t *o, const char *key, double absent)
{
    return json_object_get(o, key) ? carm_jread_positive(r, o, key) : absent;
}

static bool get_bool(struct carm_jread *r, json_t *o, const char *key)
{
    return json_object_get(o, key) && carm_jread_bool(r, o, key);
}

static json_t *get_array(struct carm_jread *r, json_t *o, const char *key)
{
    json_t *v = json_object_get(o, key);
    if (v && !json_is_array(v)) {
        carm_jread_bad(r, key, "is not a list");
        return NULL;
    }
    return v;
}

/* Checks that an object has only members with these names. */
static void check_object(struct carm_jread *r, json_t *o, const char *const *names, size_t n)
{
    if (!json_is_object(o)) {
        carm_jread_bad(r, NULL, "is not an object");
    }
    carm_jread_only(r, o, names, n);
}

/* Whether o's vendor, family and models ("0x55", "0x30-0x4F") contain this processor. */
static bool matches(struct carm_jread *r, json_t *o, const char *vendor, int family, int model)
{
    const char *is = json_string_value(json_object_get(o, "vendor"));
    json_t *models = get_array(r, o, "models");
    uint32_t from = 0, to = 0;
    if (!is || strcmp(is, vendor) != 0 || family < 0 ||
        !carm_jread_range(r, json_object_get(o, "family"), "family", INT_MAX, &from, &to) ||
        (int)from != family) {
        return false;
    }
    for (size_t i = 0; i < json_array_size(models) && !r->rc; i++) {
        if (carm_jread_range(r, json_array_get(models, i), "models", INT_MAX, &from, &to) &&
            model >= (int)from && model <= (int)to) {
            return true;
        }
    }
    return false;
}

/* ---- one recipe ---- */

enum { EVENTS_MAX = 64 };

static const char *const event_members[] = {"name", "papi",  "likwid", "counter", "likwid_scale",
                                            "code", "fixed", "slots",  "scope"};
static const char *const formula_members[] = {"quantity", "terms", "required", "upper_bound"};
static const char *const width_members[] = {"event", "bytes", "low"};
static const char *const set_members[] = {"events", "formulas", "width"};
static const char *const recipe_members[] = {
    "name",     "title",   "vendor", "family",   "models", "pfm",   "pfm_also", "likwid",
    "counters", "include", "events", "formulas", "width",  "lacks", "note",     "sources"};

#define CHECK(r, o, names) check_object(r, o, names, sizeof(names) / sizeof(*(names)))

static size_t find_event(const struct carm_recipe *recipe, const char *name)
{
    size_t i = 0;
    while (i < recipe->nevents && strcmp(recipe->events[i].name, name) != 0) {
        i++;
    }
    return i;
}

static enum carm_event_scope read_scope(struct carm_jread *r, json_t *o)
{
    char scope[16] = "";
    carm_jread_copy(r, json_object_get(o, "scope"), "scope", scope, sizeof scope);
    if (strcmp(scope, "socket") == 0) {
        return CARM_EVENT_SOCKET;
    }
    if (strcmp(scope, "software") == 0) {
        return CARM_EVENT_SOFTWARE;
    }
    if (scope[0] && strcmp(scope, "thread") != 0) {
        carm_jread_bad(r, "scope", "is \"%s\", none of thread, socket, software", scope);
    }
    return CARM_EVENT_THREAD;
}

/* Completes the event's name for PAPI: prefixes the recipe's PMU if the name has none; uses the raw code if
 * libpfm4 has no such PMU. */
static void complete_papi(struct carm_jread *r, const struct carm_recipe *recipe,
                          struct carm_event *e)
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
        carm_jread_bad(r, "papi", "is longer than %zu bytes", sizeof e->papi - 1);
        return;
    }
    memcpy(e->papi, name, strlen(name) + 1);
}

static void read_event(struct carm_jread *r, struct carm_recipe *recipe, json_t *o)
{
    struct carm_event e;
    uint32_t code = 0, same = 0;
    memset(&e, 0, sizeof e);
    CHECK(r, o, event_members);
    carm_jread_name(r, o, "name", e.name, sizeof e.name);
    carm_jread_copy(r, json_object_get(o, "papi"), "papi", e.papi, sizeof e.papi);
    carm_jread_copy(r, json_object_get(o, "likwid"), "likwid", e.likwid, sizeof e.likwid);
    carm_jread_copy(r, json_object_get(o, "counter"), "counter", e.counter, sizeof e.counter);
    e.likwid_scale = get_number(r, o, "likwid_scale", 1);
    if (json_object_get(o, "code")) {
        carm_jread_range(r, json_object_get(o, "code"), "code", UINT32_MAX, &code, &same);
    }
    e.code = code;
    e.fixed = get_bool(r, o, "fixed");
    const double slots = get_number(r, o, "slots", 1);
    e.scope = read_scope(r, o);
    if (slots != 1 && slots != 2) {
        carm_jread_bad(r, "slots", "is neither 1 nor 2");
    }
    e.slots = slots == 2 ? 2 : 1;
    if (find_event(recipe, e.name) < recipe->nevents) {
        carm_jread_bad(r, "name", "repeats \"%s\"", e.name);
    } else if (!e.papi[0] && !e.likwid[0]) {
        carm_jread_bad(r, NULL, "has no name in \"papi\" or \"likwid\"");
    } else if (code != same || (e.scope == CARM_EVENT_THREAD && e.papi[0] && e.code == 0)) {
        carm_jread_bad(r, NULL, "has no code");
    } else if (recipe->nevents == EVENTS_MAX) {
        carm_jread_bad(r, NULL, "is one more than %d", EVENTS_MAX);
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

static void read_terms(struct carm_jread *r, const struct carm_recipe *recipe, json_t *terms,
                       struct carm_formula *f)
{
    const char *name = NULL;
    json_t *weight = NULL;
    if (json_object_size(terms) == 0 || json_object_size(terms) > CARM_FORMULA_TERMS_MAX) {
        carm_jread_bad(r, "terms", "has not 1 to %d members", CARM_FORMULA_TERMS_MAX);
        return;
    }
    json_object_foreach(terms, name, weight)
    {
        const size_t event = find_event(recipe, name);
        const double w = json_number_value(weight);
        if (event == recipe->nevents) {
            carm_jread_bad(r, "terms", "names the event \"%.64s\", which does not exist", name);
        } else if (!(w > 0) || !isfinite(w)) {
            carm_jread_bad(r, "terms", "has for %.64s a weight that is no number above 0", name);
        } else {
            f->terms[f->nterms].event = event;
            f->terms[f->nterms].weight = w;
            f->nterms++;
        }
    }
}

static void read_formula(struct carm_jread *r, struct carm_recipe *recipe, json_t *o)
{
    struct carm_formula f;
    char quantity[32] = "";
    memset(&f, 0, sizeof f);
    CHECK(r, o, formula_members);
    carm_jread_text(r, o, "quantity", quantity, sizeof quantity);
    f.quantity = carm_quantity_find(quantity);
    if (f.quantity == CARM_Q_COUNT) {
        carm_jread_bad(r, "quantity", "is \"%s\", which does not exist", quantity);
    }
    for (size_t i = 0; i < recipe->nformulas; i++) {
        if (recipe->formulas[i].quantity == f.quantity) {
            carm_jread_bad(r, "quantity", "repeats \"%s\"", quantity);
        }
    }
    f.required = get_bool(r, o, "required");
    f.upper_bound = get_bool(r, o, "upper_bound");
    read_terms(r, recipe, json_object_get(o, "terms"), &f);
    if (!r->rc) {
        recipe->formulas[recipe->nformulas++] = f;
    }
}

static void read_width(struct carm_jread *r, struct carm_recipe *recipe, json_t *o)
{
    struct carm_width w;
    char event[sizeof recipe->events->name] = "";
    memset(&w, 0, sizeof w);
    CHECK(r, o, width_members);
    carm_jread_text(r, o, "event", event, sizeof event);
    w.event = find_event(recipe, event);
    w.bytes = carm_jread_positive(r, o, "bytes");
    w.low = get_number(r, o, "low", w.bytes);
    if (w.event == recipe->nevents) {
        carm_jread_bad(r, "event", "is \"%s\", which does not exist", event);
    } else if (!(w.low <= w.bytes && w.bytes <= 64)) {
        carm_jread_bad(r, NULL, "is not within 0 < low <= bytes <= 64");
    } else if (recipe->nwidths == EVENTS_MAX) {
        carm_jread_bad(r, NULL, "is one more than %d", EVENTS_MAX);
    }
    if (!r->rc) {
        recipe->widths[recipe->nwidths++] = w;
    }
}

typedef void read_one(struct carm_jread *r, struct carm_recipe *recipe, json_t *o);

static void read_all(struct carm_jread *r, struct carm_recipe *recipe, json_t *o, const char *key,
                     read_one *read)
{
    json_t *list = get_array(r, o, key);
    for (size_t i = 0; i < json_array_size(list) && !r->rc; i++) {
        const size_t old = carm_jread_enter(r, ".%s[%zu]", key, i);
        read(r, recipe, json_array_get(list, i));
        carm_jread_leave(r, old);
    }
}

/* The included sets' members and then the recipe's own. */
static void read_everywhere(struct carm_jread *r, struct carm_recipe *recipe, json_t *root,
                            json_t *o, const char *key, read_one *read)
{
    json_t *sets = json_object_get(root, "sets");
    json_t *include = get_array(r, o, "include");
    for (size_t i = 0; i < json_array_size(include) && !r->rc; i++) {
        const char *name = json_string_value(json_array_get(include, i));
        json_t *set = name ? json_object_get(sets, name) : NULL;
        if (!set) {
            carm_jread_bad(r, "include", "has no set \"%.64s\"", name ? name : "");
            return;
        }
        CHECK(r, set, set_members);
        read_all(r, recipe, set, key, read);
    }
    read_all(r, recipe, o, key, read);
}

static void read_recipe(struct carm_jread *r, json_t *root, json_t *o, struct carm_recipe *recipe)
{
    const struct {
        const char *key;
        char *text;
        size_t size;
    } texts[] = {
        {"name", recipe->name, sizeof recipe->name},
        {"title", recipe->title, sizeof recipe->title},
        {"pfm", recipe->pfm, sizeof recipe->pfm},
        {"pfm_also", recipe->pfm_also, sizeof recipe->pfm_also},
        {"likwid", recipe->likwid, sizeof recipe->likwid},
        {"lacks", recipe->lacks, sizeof recipe->lacks},
        {"note", recipe->note, sizeof recipe->note},
    };
    CHECK(r, o, recipe_members);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        carm_jread_copy(r, json_object_get(o, texts[i].key), texts[i].key, texts[i].text,
                        texts[i].size);
    }
    recipe->counters = json_object_get(o, "counters") ? carm_jread_int(r, o, "counters", 0) : 0;
    if (recipe->counters > 64) {
        carm_jread_bad(r, "counters", "is more than 64");
    }
    if (json_array_size(json_object_get(o, "sources")) == 0) {
        carm_jread_bad(r, "sources", "is missing");
    }
    read_everywhere(r, recipe, root, o, "events", read_event);
    read_everywhere(r, recipe, root, o, "formulas", read_formula);
    read_everywhere(r, recipe, root, o, "width", read_width);
    if (recipe->nformulas == 0) {
        carm_jread_bad(r, "formulas", "is empty");
    }
    for (size_t i = 0; i < recipe->nevents; i++) {
        const struct carm_event *e = &recipe->events[i];
        if (e->scope == CARM_EVENT_THREAD && !e->fixed && (int)e->slots > recipe->counters) {
            carm_jread_bad(r, NULL, "has an event %s for more counters than the processor's %d",
                           e->name, recipe->counters);
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
    struct carm_jread r = {.file = file, .err = err};
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
        /* one formula for each quantity: a second formula is refused */
        recipe->formulas = calloc(CARM_Q_COUNT, sizeof *recipe->formulas);
        recipe->widths = calloc(EVENTS_MAX, sizeof *recipe->widths);
    }
    if (!recipe || !recipe->events || !recipe->formulas || !recipe->widths) {
        r.rc = carm_fail(err, CARM_ENOMEM, "out of memory while reading counter recipes");
        goto out;
    }
    carm_jread_enter(&r, "%.48s", name);
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

/* NOLINTNEXTLINE(readability-non-const-parameter): __cpuid_count writes out */
__attribute__((weak)) void carm_cpuid_leaf(uint32_t leaf, uint32_t subleaf, uint32_t out[4])
{
    __cpuid_count(leaf, subleaf, out[0], out[1], out[2], out[3]);
}

void carm_cpuid_read(struct carm_cpuid *id)
{
    uint32_t reg[4];
    memset(id, 0, sizeof *id);
    carm_cpuid_leaf(0, 0, reg);
    memcpy(id->vendor, &reg[1], 4);
    memcpy(id->vendor + 4, &reg[3], 4);
    memcpy(id->vendor + 8, &reg[2], 4);

    carm_cpuid_leaf(1, 0, reg);
    const uint32_t a = reg[0];
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
    struct carm_jread r = {.file = file};
    json_t *root = load(&r, carm_data_counters);
    json_t *recipes = json_object_get(root, "recipes");
    /* the last place stays empty and ends the list */
    for (size_t i = 0; i < json_array_size(recipes) && i + 1 < RECIPES_MAX; i++) {
        carm_jread_text(&r, json_array_get(recipes, i), "name", names[i], sizeof names[i]);
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
    list[0] = '\0';
    for (size_t i = 0; carm_recipe_name(i); i++) {
        carm_text_list(list, size, ", ", "%s", carm_recipe_name(i));
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

/* what  origin of the name, for the message */
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

static const char *find_match(struct carm_jread *r, json_t *list, const char *key,
                              const char *vendor, int family, int model, const char **name)
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
    struct carm_jread r = {.file = file, .err = err};
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
