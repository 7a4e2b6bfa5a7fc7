/* SPDX-License-Identifier: MIT */
#include "harness/count/recipe.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/count/recipe_json.h"

/* data/counters.json, zero-terminated (data/counters.o) */
extern const char carm_data_counters[];

enum { RECIPES_MAX = 64 };

static char names[RECIPES_MAX][sizeof((struct carm_recipe *)0)->name];

static void read_names(void)
{
    struct carm_recipe_json r = {.recipe = ""};
    json_t *root = carm_recipe_json_load(&r, carm_data_counters);
    json_t *recipes = json_object_get(root, "recipes");
    /* one place stays empty: it ends the list */
    for (size_t i = 0; i < json_array_size(recipes) && i + 1 < RECIPES_MAX; i++) {
        carm_recipe_json_text(&r, json_array_get(recipes, i), "recipe", "name", names[i],
                              sizeof names[i]);
    }
    json_decref(root);
}

const char *carm_recipe_name(size_t i)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, read_names);
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

/* what  how the name came, for the message */
static int get_named(const char *what, const char *name, struct carm_recipe **out,
                     struct carm_err *err)
{
    *out = NULL;
    if (!has_name(name)) {
        char list[400];
        list_names(list, sizeof list);
        return carm_fail(err, CARM_EINVAL, "%s \"%.48s\" is none of the counter recipes: %s", what,
                         name, list);
    }
    return carm_recipe_parse(carm_data_counters, name, out, err);
}

int carm_recipe_named(const char *name, struct carm_recipe **out, struct carm_err *err)
{
    return get_named("the name", name, out, err);
}

static const char *find_match(struct carm_recipe_json *r, json_t *list, const char *key,
                              const char *vendor, int family, int model, const char **name)
{
    size_t i = 0;
    json_t *o = NULL;
    json_array_foreach(list, i, o)
    {
        if (carm_recipe_json_matches(r, o, vendor, family, model)) {
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
    struct carm_recipe_json r = {.recipe = "", .err = err};
    json_t *root = carm_recipe_json_load(&r, carm_data_counters);
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
            "there is no counter recipe of %s (%.16s, family %d, model %d): %s; --counters step counts "
            "without events",
            name, vendor, family, model, reason);
    } else {
        rc = carm_fail(err, CARM_ENOTSUP,
                       "no counter recipe knows this processor (%.16s, family %d, model %d), and a "
                       "microarchitecture is not guessed: CARM_UARCH=NAME names one, if the "
                       "hypervisor reports a false model",
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
