/* SPDX-License-Identifier: MIT */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/count/recipe.h"
#include "harness/count/recipe_json.h"

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

static enum carm_event_scope read_scope(struct carm_recipe_json *r, json_t *o, const char *what)
{
    char scope[16];
    carm_recipe_json_text(r, o, what, "scope", scope, sizeof scope);
    if (strcmp(scope, "socket") == 0) {
        return CARM_EVENT_SOCKET;
    }
    if (strcmp(scope, "software") == 0) {
        return CARM_EVENT_SOFTWARE;
    }
    if (scope[0] && strcmp(scope, "thread") != 0) {
        carm_recipe_json_bad(r, "%s: scope \"%s\" is none of thread, socket, software", what,
                             scope);
    }
    return CARM_EVENT_THREAD;
}

/* The name with which PAPI finds the event: of the recipe's own PMU where it names none, raw where
 * libpfm4 has no such PMU. */
static void complete_papi(struct carm_recipe_json *r, const struct carm_recipe *recipe,
                          struct carm_event *e)
{
    if (!e->papi[0] || strstr(e->papi, "::")) {
        return;
    }
    char name[sizeof e->papi + sizeof recipe->pfm + 2];
    if (recipe->pfm[0]) {
        (void)snprintf(name, sizeof name, "%s::%s", recipe->pfm, e->papi);
    } else {
        (void)snprintf(name, sizeof name, "perf_raw::r%04x", e->code);
    }
    if (strlen(name) >= sizeof e->papi) {
        carm_recipe_json_bad(r, "event %s: \"papi\" is longer than %zu bytes", e->name,
                             sizeof e->papi - 1);
        return;
    }
    memcpy(e->papi, name, strlen(name) + 1);
}

static void read_event(struct carm_recipe_json *r, struct carm_recipe *recipe, json_t *o)
{
    struct carm_event e;
    memset(&e, 0, sizeof e);
    carm_recipe_json_only(r, o, "an event", event_members);
    carm_recipe_json_text(r, o, "an event", "name", e.name, sizeof e.name);
    char what[sizeof e.name + 8];
    (void)snprintf(what, sizeof what, "event %s", e.name);
    carm_recipe_json_text(r, o, what, "papi", e.papi, sizeof e.papi);
    carm_recipe_json_text(r, o, what, "likwid", e.likwid, sizeof e.likwid);
    carm_recipe_json_text(r, o, what, "counter", e.counter, sizeof e.counter);
    e.likwid_scale = carm_recipe_json_number(r, o, what, "likwid_scale", 1);
    e.code = carm_recipe_json_hex(r, o, what, "code");
    e.fixed = carm_recipe_json_bool(r, o, what, "fixed");
    const double slots = carm_recipe_json_number(r, o, what, "slots", 1);
    e.scope = read_scope(r, o, what);
    if (slots != 1 && slots != 2) {
        carm_recipe_json_bad(r, "%s: \"slots\" is neither 1 nor 2", what);
    }
    e.slots = slots == 2 ? 2 : 1;
    if (!e.name[0]) {
        carm_recipe_json_bad(r, "an event has no name");
    } else if (find_event(recipe, e.name) < recipe->nevents) {
        carm_recipe_json_bad(r, "%s is there twice", what);
    } else if (!e.papi[0] && !e.likwid[0]) {
        carm_recipe_json_bad(r, "%s has a name neither in \"papi\" nor in \"likwid\"", what);
    } else if (e.scope == CARM_EVENT_THREAD && e.papi[0] && e.code == 0) {
        carm_recipe_json_bad(r, "%s has no code", what);
    } else if (recipe->nevents == EVENTS_MAX) {
        carm_recipe_json_bad(r, "there are more than %d events", EVENTS_MAX);
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

static void read_terms(struct carm_recipe_json *r, const struct carm_recipe *recipe, json_t *terms,
                       const char *what, struct carm_formula *f)
{
    if (json_object_size(terms) == 0) {
        carm_recipe_json_bad(r, "%s has no terms", what);
        return;
    }
    if (json_object_size(terms) > CARM_FORMULA_TERMS_MAX) {
        carm_recipe_json_bad(r, "%s has more than %d terms", what, CARM_FORMULA_TERMS_MAX);
        return;
    }
    const char *name = NULL;
    json_t *weight = NULL;
    json_object_foreach(terms, name, weight)
    {
        const size_t event = find_event(recipe, name);
        const double w = json_number_value(weight);
        if (event == recipe->nevents) {
            carm_recipe_json_bad(r, "%s names the event \"%.64s\", which is not there", what, name);
        } else if (!(w > 0) || !isfinite(w)) {
            carm_recipe_json_bad(r, "%s: the weight of %s is not a number above 0", what, name);
        } else {
            f->terms[f->nterms].event = event;
            f->terms[f->nterms].weight = w;
            f->nterms++;
        }
    }
}

static void read_formula(struct carm_recipe_json *r, struct carm_recipe *recipe, json_t *o)
{
    struct carm_formula f;
    memset(&f, 0, sizeof f);
    char quantity[32];
    char what[48];
    carm_recipe_json_only(r, o, "a formula", formula_members);
    carm_recipe_json_text(r, o, "a formula", "quantity", quantity, sizeof quantity);
    (void)snprintf(what, sizeof what, "the formula of %s", quantity);
    f.quantity = carm_quantity_find(quantity);
    if (f.quantity == CARM_Q_COUNT) {
        carm_recipe_json_bad(r, "there is no quantity \"%s\"", quantity);
    }
    for (size_t i = 0; i < recipe->nformulas; i++) {
        if (recipe->formulas[i].quantity == f.quantity) {
            carm_recipe_json_bad(r, "%s is there twice", what);
        }
    }
    f.required = carm_recipe_json_bool(r, o, what, "required");
    f.upper_bound = carm_recipe_json_bool(r, o, what, "upper_bound");
    read_terms(r, recipe, json_object_get(o, "terms"), what, &f);
    if (!r->rc) {
        recipe->formulas[recipe->nformulas++] = f;
    }
}

static void read_width(struct carm_recipe_json *r, struct carm_recipe *recipe, json_t *o)
{
    struct carm_width w;
    memset(&w, 0, sizeof w);
    char event[sizeof recipe->events->name];
    carm_recipe_json_only(r, o, "a width", width_members);
    carm_recipe_json_text(r, o, "a width", "event", event, sizeof event);
    w.event = find_event(recipe, event);
    w.bytes = carm_recipe_json_number(r, o, "a width", "bytes", 0);
    w.low = carm_recipe_json_number(r, o, "a width", "low", w.bytes);
    if (w.event == recipe->nevents) {
        carm_recipe_json_bad(r, "a width names the event \"%s\", which is not there", event);
    } else if (!(w.low > 0 && w.low <= w.bytes && w.bytes <= 64)) {
        carm_recipe_json_bad(r, "the width of %s is not within 0 < low <= bytes <= 64", event);
    } else if (recipe->nwidths == EVENTS_MAX) {
        carm_recipe_json_bad(r, "there are more than %d widths", EVENTS_MAX);
    }
    if (!r->rc) {
        recipe->widths[recipe->nwidths++] = w;
    }
}

typedef void read_one(struct carm_recipe_json *r, struct carm_recipe *recipe, json_t *o);

static void read_all(struct carm_recipe_json *r, struct carm_recipe *recipe, json_t *o,
                     const char *key, read_one *read)
{
    json_t *list = carm_recipe_json_array(r, o, key, key);
    for (size_t i = 0; i < json_array_size(list) && !r->rc; i++) {
        read(r, recipe, json_array_get(list, i));
    }
}

/* The included sets' members and then the recipe's own. */
static void read_everywhere(struct carm_recipe_json *r, struct carm_recipe *recipe, json_t *root,
                            json_t *o, const char *key, read_one *read)
{
    json_t *sets = json_object_get(root, "sets");
    json_t *include = carm_recipe_json_array(r, o, "include", "include");
    for (size_t i = 0; i < json_array_size(include) && !r->rc; i++) {
        const char *name = json_string_value(json_array_get(include, i));
        json_t *set = name ? json_object_get(sets, name) : NULL;
        if (!set) {
            carm_recipe_json_bad(r, "there is no set \"%.64s\" to include", name ? name : "");
            return;
        }
        carm_recipe_json_only(r, set, name, set_members);
        read_all(r, recipe, set, key, read);
    }
    read_all(r, recipe, o, key, read);
}

static void read_recipe(struct carm_recipe_json *r, json_t *root, json_t *o,
                        struct carm_recipe *recipe)
{
    carm_recipe_json_only(r, o, "the recipe", recipe_members);
    carm_recipe_json_text(r, o, "recipe", "name", recipe->name, sizeof recipe->name);
    carm_recipe_json_text(r, o, "recipe", "title", recipe->title, sizeof recipe->title);
    carm_recipe_json_text(r, o, "recipe", "pfm", recipe->pfm, sizeof recipe->pfm);
    carm_recipe_json_text(r, o, "recipe", "pfm_also", recipe->pfm_also, sizeof recipe->pfm_also);
    carm_recipe_json_text(r, o, "recipe", "likwid", recipe->likwid, sizeof recipe->likwid);
    carm_recipe_json_text(r, o, "recipe", "lacks", recipe->lacks, sizeof recipe->lacks);
    carm_recipe_json_text(r, o, "recipe", "note", recipe->note, sizeof recipe->note);
    const double counters = carm_recipe_json_number(r, o, "recipe", "counters", 0);
    if (!(counters <= 64) || counters != floor(counters)) {
        carm_recipe_json_bad(r, "\"counters\" is not a whole number of at most 64");
    } else {
        recipe->counters = (int)counters;
    }
    if (json_array_size(json_object_get(o, "sources")) == 0) {
        carm_recipe_json_bad(r, "it names no sources");
    }
    read_everywhere(r, recipe, root, o, "events", read_event);
    read_everywhere(r, recipe, root, o, "formulas", read_formula);
    read_everywhere(r, recipe, root, o, "width", read_width);
    if (recipe->nformulas == 0) {
        carm_recipe_json_bad(r, "it has no formulas");
    }
    for (size_t i = 0; i < recipe->nevents; i++) {
        const struct carm_event *e = &recipe->events[i];
        if (e->scope == CARM_EVENT_THREAD && !e->fixed && (int)e->slots > recipe->counters) {
            carm_recipe_json_bad(r, "event %s takes more counters than the %d that there are",
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
    struct carm_recipe_json r = {.recipe = "", .err = err};
    json_t *root = carm_recipe_json_load(&r, text);
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
