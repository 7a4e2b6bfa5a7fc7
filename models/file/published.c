/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/file/published.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/assets.h"
#include "base/json_read.h"
#include "base/text.h"
#include "models/file/gallery.h"

#define SCHEMA "carm-published/1"

enum {
    MACHINES_MAX = 64,
    KERNELS_MAX = 64,
    LIST_MAX = 256,
};

/* Reads a text that is not empty and is safe for a terminal. */
static void read_name(struct carm_jread *r, json_t *obj, const char *name, char *dst, size_t size)
{
    carm_jread_name(r, obj, name, dst, size);
    if (carm_text_has_controls(dst)) {
        carm_jread_bad(r, name, "has a control character");
    }
}

static void read_optional(struct carm_jread *r, json_t *obj, const char *name, char *dst,
                          size_t size)
{
    if (json_object_get(obj, name)) {
        read_name(r, obj, name, dst, size);
    }
}

static void read_fact(struct carm_jread *r, json_t *obj, struct carm_published_fact *f)
{
    static const char *const known[] = {"value", "unit", "source"};
    carm_jread_only(r, obj, known, sizeof known / sizeof *known);
    if (json_is_string(json_object_get(obj, "value"))) {
        read_name(r, obj, "value", f->text, sizeof f->text);
    } else {
        f->value = carm_jread_positive(r, obj, "value");
    }
    read_name(r, obj, "unit", f->unit, sizeof f->unit);
    read_name(r, obj, "source", f->source, sizeof f->source);
}

/* Reads an object whose members are facts, by name. */
static void read_facts(struct carm_jread *r, json_t *obj, const char *name,
                       struct carm_published_fact *facts, size_t *n)
{
    json_t *all = carm_jread_object(r, obj, name);
    const char *key;
    json_t *value;
    size_t old = carm_jread_enter(r, "%s%s", *r->place ? "." : "", name);
    json_object_foreach(all, key, value)
    {
        if (*n == CARM_PUBLISHED_FACTS_MAX || strlen(key) >= sizeof facts->name) {
            carm_jread_bad(r, NULL, "has more than %d members, or one with too long a name",
                           CARM_PUBLISHED_FACTS_MAX);
            break;
        }
        struct carm_published_fact *f = &facts[(*n)++];
        snprintf(f->name, sizeof f->name, "%s", key);
        size_t here = carm_jread_enter(r, ".%s", key);
        if (json_is_object(value)) {
            read_fact(r, value, f);
        } else {
            carm_jread_bad(r, NULL, "is not an object");
        }
        carm_jread_leave(r, here);
    }
    carm_jread_leave(r, old);
}

static void read_ceiling(struct carm_jread *r, json_t *obj, const char *unit, bool roof,
                         struct carm_ceiling *ceiling, char source[CARM_PUBLISHED_SOURCE_MAX])
{
    static const char *const known[] = {"name", "value", "unit", "step", "source"};
    char given[CARM_NAME_MAX] = "";
    carm_jread_only(r, obj, known, sizeof known / sizeof *known);
    read_name(r, obj, "name", ceiling->name, sizeof ceiling->name);
    ceiling->rate = carm_jread_positive(r, obj, "value");
    ceiling->ci95 = (struct carm_ci){ceiling->rate, ceiling->rate};
    carm_jread_text(r, obj, "unit", given, sizeof given);
    if (strcmp(given, unit) != 0) {
        carm_jread_bad(r, "unit", "is \"%.20s\", not \"%s\"", given, unit);
    }
    read_optional(r, obj, "step", ceiling->step, sizeof ceiling->step);
    if (roof != !*ceiling->step) {
        carm_jread_bad(r, "step",
                       roof ? "is not allowed at the roof: no optimisation exceeds it"
                            : "is missing: the optimisation that lifts the ceiling");
    }
    read_name(r, obj, "source", source, CARM_PUBLISHED_SOURCE_MAX);
}

static void read_side(struct carm_jread *r, json_t *obj, const char *name, const char *unit,
                      struct carm_published_side *side)
{
    json_t *all = carm_jread_member(r, obj, name);
    const size_t n = json_array_size(all);
    size_t old = carm_jread_enter(r, ".%s", name);
    if (!json_is_array(all) || n == 0 || n > CARM_CEILINGS_MAX) {
        carm_jread_bad(r, NULL, "is not an array of 1 to %d ceilings", CARM_CEILINGS_MAX);
    }
    for (size_t i = 0; i < n && !r->rc; i++) {
        size_t here = carm_jread_enter(r, "[%zu]", i);
        json_t *one = json_array_get(all, i);
        if (json_is_object(one)) {
            read_ceiling(r, one, unit, i + 1 == n, &side->list[i], side->sources[i]);
        } else {
            carm_jread_bad(r, NULL, "is not an object");
        }
        if (i > 0 && !(side->list[i].rate > side->list[i - 1].rate)) {
            carm_jread_bad(r, "value", "is not above the ceiling before it");
        }
        carm_jread_leave(r, here);
    }
    carm_jread_leave(r, old);
    side->n = n;
}

static void read_bound(struct carm_jread *r, json_t *obj, const char *name,
                       struct carm_published_bound *c)
{
    static const char *const known[] = {"type", "name", "value", "unit"};
    char type[CARM_NAME_MAX] = "", unit[CARM_NAME_MAX] = "";
    json_t *one = carm_jread_object(r, obj, name);
    size_t old = carm_jread_enter(r, ".%s", name);
    if (one) {
        carm_jread_only(r, one, known, sizeof known / sizeof *known);
        carm_jread_text(r, one, "type", type, sizeof type);
        read_name(r, one, "name", c->name, sizeof c->name);
        c->value = carm_jread_nonnegative(r, one, "value");
        carm_jread_text(r, one, "unit", unit, sizeof unit);
        c->compute = strcmp(type, "compute") == 0;
        c->flops = strcmp(unit, "flop/s") == 0;
        if (!c->compute && strcmp(type, "memory") != 0) {
            carm_jread_bad(r, "type", "is \"%.20s\", neither \"memory\" nor \"compute\"", type);
        }
        if (!c->flops && strcmp(unit, "byte/s") != 0) {
            carm_jread_bad(r, "unit", "is \"%.20s\", neither \"byte/s\" nor \"flop/s\"", unit);
        }
    }
    carm_jread_leave(r, old);
}

static void read_result(struct carm_jread *r, json_t *obj, struct carm_published_result *res)
{
    static const char *const known[] = {"kernel",    "upper", "performance", "bandwidth",
                                        "intensity", "lower", "source"};
    char source[CARM_PUBLISHED_SOURCE_MAX] = "";
    carm_jread_only(r, obj, known, sizeof known / sizeof *known);
    read_name(r, obj, "kernel", res->kernel, sizeof res->kernel);
    read_bound(r, obj, "upper", &res->upper);
    read_bound(r, obj, "lower", &res->lower);
    res->performance = carm_jread_positive(r, obj, "performance");
    res->bandwidth = carm_jread_positive(r, obj, "bandwidth");
    res->intensity = carm_jread_positive(r, obj, "intensity");
    read_name(r, obj, "source", source, sizeof source);
}

static void read_results(struct carm_jread *r, json_t *obj, struct carm_published_machine *m)
{
    json_t *all = carm_jread_member(r, obj, "results");
    m->nresults = json_array_size(all);
    if (!json_is_array(all) || m->nresults > CARM_PUBLISHED_RESULTS_MAX) {
        carm_jread_bad(r, "results", "is not an array of at most %d rows",
                       CARM_PUBLISHED_RESULTS_MAX);
    }
    for (size_t i = 0; i < m->nresults && !r->rc; i++) {
        size_t old = carm_jread_enter(r, ".results[%zu]", i);
        json_t *one = json_array_get(all, i);
        if (json_is_object(one)) {
            read_result(r, one, &m->results[i]);
        } else {
            carm_jread_bad(r, NULL, "is not an object");
        }
        carm_jread_leave(r, old);
    }
}

static void read_machine(struct carm_jread *r, json_t *obj, struct carm_published_machine *m)
{
    static const char *const known[] = {
        "name",    "title", "figures", "facts", "memory", "compute", "compute_balance_bottom",
        "results", "note"};
    carm_jread_only(r, obj, known, sizeof known / sizeof *known);
    read_name(r, obj, "name", m->name, sizeof m->name);
    read_name(r, obj, "title", m->title, sizeof m->title);
    read_name(r, obj, "figures", m->figures, sizeof m->figures);
    read_facts(r, obj, "facts", m->facts, &m->nfacts);
    read_side(r, obj, "memory", "byte/s", &m->memory);
    read_side(r, obj, "compute", "flop/s", &m->compute);
    if (json_object_get(obj, "compute_balance_bottom")) {
        read_side(r, obj, "compute_balance_bottom", "flop/s", &m->compute_balance_bottom);
    }
    read_results(r, obj, m);
    read_optional(r, obj, "note", m->note, sizeof m->note);
}

static void read_kernel(struct carm_jread *r, json_t *obj, struct carm_published_kernel *k)
{
    static const char *const known[] = {"name",     "metric",      "low",   "high",
                                        "balanced", "description", "source"};
    carm_jread_only(r, obj, known, sizeof known / sizeof *known);
    read_name(r, obj, "name", k->name, sizeof k->name);
    read_name(r, obj, "metric", k->metric, sizeof k->metric);
    k->low = carm_jread_positive(r, obj, "low");
    k->high = carm_jread_positive(r, obj, "high");
    if (k->high < k->low) {
        carm_jread_bad(r, "high", "is below low");
    }
    k->balanced = carm_jread_bool(r, obj, "balanced");
    read_name(r, obj, "description", k->description, sizeof k->description);
    read_name(r, obj, "source", k->source, sizeof k->source);
}

static void read_optimisation(struct carm_jread *r, json_t *obj,
                              struct carm_published_optimisation *o)
{
    static const char *const known[] = {"name", "description"};
    carm_jread_only(r, obj, known, sizeof known / sizeof *known);
    read_name(r, obj, "name", o->name, sizeof o->name);
    read_name(r, obj, "description", o->description, sizeof o->description);
}

static void read_disagreement(struct carm_jread *r, json_t *obj,
                              struct carm_published_disagreement *d)
{
    static const char *const known[] = {"id", "printed", "computed", "reason"};
    carm_jread_only(r, obj, known, sizeof known / sizeof *known);
    read_name(r, obj, "id", d->id, sizeof d->id);
    read_name(r, obj, "printed", d->printed, sizeof d->printed);
    read_name(r, obj, "computed", d->computed, sizeof d->computed);
    read_name(r, obj, "reason", d->reason, sizeof d->reason);
}

static void read_machines(struct carm_jread *r, json_t *root, struct carm_published *p)
{
    json_t *all = carm_jread_array(r, root, "machines", MACHINES_MAX, sizeof *p->machines,
                                   &p->machines, &p->nmachines);
    for (size_t i = 0; i < p->nmachines && !r->rc; i++) {
        size_t old = carm_jread_enter(r, "machines[%zu]", i);
        read_machine(r, json_array_get(all, i), &p->machines[i]);
        for (size_t j = 0; j < i; j++) {
            if (strcasecmp(p->machines[i].name, p->machines[j].name) == 0) {
                carm_jread_bad(r, "name", "repeats \"%s\"", p->machines[j].name);
            }
        }
        carm_jread_leave(r, old);
    }
}

static void read_lists(struct carm_jread *r, json_t *root, struct carm_published *p)
{
    json_t *all = carm_jread_array(r, root, "kernels", KERNELS_MAX, sizeof *p->kernels, &p->kernels,
                                   &p->nkernels);
    for (size_t i = 0; i < p->nkernels && !r->rc; i++) {
        size_t old = carm_jread_enter(r, "kernels[%zu]", i);
        read_kernel(r, json_array_get(all, i), &p->kernels[i]);
        carm_jread_leave(r, old);
    }
    all = carm_jread_array(r, root, "optimisations", LIST_MAX, sizeof *p->optimisations,
                           &p->optimisations, &p->noptimisations);
    for (size_t i = 0; i < p->noptimisations && !r->rc; i++) {
        size_t old = carm_jread_enter(r, "optimisations[%zu]", i);
        read_optimisation(r, json_array_get(all, i), &p->optimisations[i]);
        carm_jread_leave(r, old);
    }
    all = carm_jread_array(r, root, "disagreements", LIST_MAX, sizeof *p->disagreements,
                           &p->disagreements, &p->ndisagreements);
    for (size_t i = 0; i < p->ndisagreements && !r->rc; i++) {
        size_t old = carm_jread_enter(r, "disagreements[%zu]", i);
        read_disagreement(r, json_array_get(all, i), &p->disagreements[i]);
        carm_jread_leave(r, old);
    }
}

static void read_all(struct carm_jread *r, json_t *root, struct carm_published *p)
{
    static const char *const known[] = {"schema",        "paper",    "citation",
                                        "note",          "machines", "kernels",
                                        "optimisations", "claims",   "disagreements"};
    char schema[64] = "";
    carm_jread_text(r, root, "schema", schema, sizeof schema);
    if (strcmp(schema, SCHEMA) != 0) {
        carm_jread_bad(r, "schema", "is \"%s\"; this carm reads \"" SCHEMA "\"", schema);
    }
    carm_jread_only(r, root, known, sizeof known / sizeof *known);
    read_name(r, root, "paper", p->paper, sizeof p->paper);
    read_name(r, root, "citation", p->citation, sizeof p->citation);
    read_optional(r, root, "note", p->note, sizeof p->note);
    read_machines(r, root, p);
    read_lists(r, root, p);
    read_facts(r, root, "claims", p->claims, &p->nclaims);
}

int carm_published_open(const char *text, size_t size_bytes, const char *name,
                        struct carm_published **out, struct carm_err *err)
{
    struct carm_jread r = {.file = name, .err = err};
    *out = NULL;
    json_t *root = carm_jread_parse(&r, text, size_bytes);
    if (!root) {
        return r.rc;
    }
    struct carm_published *p = calloc(1, sizeof *p);
    if (p) {
        read_all(&r, root, p);
    } else {
        r.rc = carm_fail(err, CARM_ENOMEM, "out of memory while reading %.200s", name);
    }
    json_decref(root);
    if (r.rc) {
        carm_published_close(p);
        return r.rc;
    }
    *out = p;
    return 0;
}

int carm_published_load(struct carm_published **out, struct carm_err *err)
{
    return carm_published_open(carm_asset_data_roofline_2009, strlen(carm_asset_data_roofline_2009),
                               "roofline-2009.json", out, err);
}

int carm_published_operand(const char *operand, struct carm_published **published,
                           const struct carm_published_machine **machine, struct carm_err *err)
{
    *published = NULL;
    *machine = NULL;
    if (!operand || strpbrk(operand, "/.") || strcmp(operand, "mine") == 0 ||
        carm_gallery_has(operand) || access(operand, F_OK) == 0) {
        return 0;
    }
    int rc = carm_published_load(published, err);
    if (!*published) {
        return rc;
    }
    if (carm_published_find(*published, operand, machine, err)) {
        char name[64], names[320], gallery[320];
        rc = carm_fail(err, CARM_EINVAL,
                       "there is neither a file nor a machine \"%s\"; measured machines are %s, "
                       "published ones %s, and `carm build` makes models",
                       carm_text_clean(name, sizeof name, operand, false),
                       carm_gallery_names(gallery, sizeof gallery),
                       carm_published_names(*published, names, sizeof names));
        carm_published_close(*published);
        *published = NULL;
        return rc;
    }
    return 1;
}
