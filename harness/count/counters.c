/* SPDX-License-Identifier: MIT */
#include "harness/count/counters.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/count/likwid.h"
#include "harness/count/papi.h"

/* Whether the recipe has events of a hardware thread for the provider. */
static bool has_events(const struct carm_recipe *r, enum carm_provider p)
{
    for (size_t i = 0; i < r->nevents; i++) {
        const struct carm_event *e = &r->events[i];
        if (e->scope == CARM_EVENT_THREAD &&
            (p == CARM_PROVIDER_PAPI ? e->papi[0] : e->likwid[0])) {
            return true;
        }
    }
    return false;
}

static void probe_one(enum carm_provider p, const struct carm_pmu_facts *facts,
                      const struct carm_recipe *recipe, const char *lacks, struct carm_probe *out)
{
    const bool papi = p == CARM_PROVIDER_PAPI;
    struct carm_pmu_verdict v;
    memset(out, 0, sizeof *out);
    out->provider = p;
    if (papi ? !carm_papi_find(out->version, out->reason, sizeof out->reason)
             : !carm_likwid_find(out->version, out->reason, sizeof out->reason)) {
        snprintf(out->remedy, sizeof out->remedy, "%s",
                 papi ? carm_papi_remedy : carm_likwid_remedy);
        return;
    }
    if (papi) {
        carm_pmu_judge_perf(facts, &v);
    } else {
        carm_pmu_judge_msr(facts, &v);
    }
    out->works = v.works;
    out->software = v.software;
    memcpy(out->reason, v.reason, sizeof out->reason);
    memcpy(out->remedy, v.remedy, sizeof out->remedy);
    memcpy(out->note, v.note, sizeof out->note);
    if (!recipe) {
        out->works = false;
        snprintf(out->reason, sizeof out->reason, "%s",
                 lacks ? lacks : "the events of this processor are not known");
        out->remedy[0] = '\0';
    } else if (out->works && !has_events(recipe, p)) {
        out->works = false;
        snprintf(out->reason, sizeof out->reason, "no events of %s are known for %s", recipe->title,
                 carm_provider_name(p));
    }
}

void carm_counters_probe(enum carm_provider p, const struct carm_recipe *recipe, const char *lacks,
                         struct carm_probe *out)
{
    struct carm_pmu_facts facts;
    memset(out, 0, sizeof *out);
    out->provider = p;
    switch (p) {
    case CARM_PROVIDER_PAPI:
    case CARM_PROVIDER_LIKWID:
        carm_pmu_facts_read(&facts, "");
        probe_one(p, &facts, recipe, lacks, out);
        break;
    case CARM_PROVIDER_AUTO:
        carm_pmu_facts_read(&facts, "");
        probe_one(CARM_PROVIDER_PAPI, &facts, recipe, lacks, out);
        if (!out->works) {
            struct carm_probe second;
            probe_one(CARM_PROVIDER_LIKWID, &facts, recipe, lacks, &second);
            if (second.works) {
                *out = second;
            }
        }
        break;
    default:
        snprintf(out->reason, sizeof out->reason, "%s has no counters", carm_provider_name(p));
        break;
    }
}

static int open_one(struct carm_counters **out, enum carm_provider p,
                    const struct carm_recipe *recipe, const struct carm_pmu_facts *facts,
                    struct carm_err *err)
{
    const size_t n = recipe->nevents ? recipe->nevents : 1;
    struct carm_counters *c = calloc(1, sizeof *c);
    int rc = -CARM_ENOMEM;
    if (!c) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the counters");
    }
    c->provider = p;
    c->recipe = recipe;
    c->ops = p == CARM_PROVIDER_PAPI ? &carm_counters_papi : &carm_counters_likwid;
    c->counters = recipe->counters;
    c->have = calloc(n, sizeof *c->have);
    c->alias = calloc(n, sizeof *c->alias);
    c->group = calloc(n, sizeof *c->group);
    if (!c->have || !c->alias || !c->group) {
        carm_fail(err, CARM_ENOMEM, "not enough memory for the counters");
        goto out;
    }
    c->facts = *facts;
    rc = c->ops->open(c, err);
    if (rc) {
        goto out;
    }
    *out = c;
    return 0;
out:
    free(c->group);
    free(c->have);
    free(c->alias);
    free(c);
    return rc;
}

/* Both refusals in one sentence, without repeating their common beginning. */
static int refuse_both(struct carm_err *err, const char *papi, const char *likwid)
{
    static const char common[] = " cannot count here: ";
    const char *a = strstr(papi, common);
    const char *b = strstr(likwid, common);
    if (a && b && strcmp(a, b) == 0) {
        return carm_fail(err, CARM_ENOTSUP, "neither PAPI nor likwid can count here: %s",
                         a + strlen(common));
    }
    return carm_fail(err, CARM_ENOTSUP, "%.250s; %.250s", papi, likwid);
}

int carm_counters_open_with(struct carm_counters **out, enum carm_provider p,
                            const struct carm_recipe *recipe, const struct carm_pmu_facts *facts,
                            struct carm_err *err)
{
    struct carm_err papi = {""};
    struct carm_err likwid = {""};
    *out = NULL;
    switch (p) {
    case CARM_PROVIDER_PAPI:
    case CARM_PROVIDER_LIKWID:
        return open_one(out, p, recipe, facts, err);
    case CARM_PROVIDER_AUTO:
        break;
    default:
        return carm_fail(err, CARM_ENOTSUP, "%s has no counters to open: use auto, papi or likwid",
                         carm_provider_name(p));
    }
    int rc = open_one(out, CARM_PROVIDER_PAPI, recipe, facts, &papi);
    if (rc != -CARM_ENOTSUP) {
        return rc ? carm_fail(err, CARM_ENOMEM, "%s", papi.text) : 0;
    }
    rc = open_one(out, CARM_PROVIDER_LIKWID, recipe, facts, &likwid);
    if (rc != -CARM_ENOTSUP) {
        return rc ? carm_fail(err, CARM_ENOMEM, "%s", likwid.text) : 0;
    }
    return refuse_both(err, papi.text, likwid.text);
}

int carm_counters_open(struct carm_counters **out, enum carm_provider p,
                       const struct carm_recipe *recipe, struct carm_err *err)
{
    struct carm_pmu_facts facts;
    carm_pmu_facts_read(&facts, "");
    return carm_counters_open_with(out, p, recipe, &facts, err);
}

void carm_counters_close(struct carm_counters *c)
{
    if (c) {
        c->ops->close(c);
        free(c->group);
        free(c->have);
        free(c->alias);
        free(c);
    }
}

enum carm_provider carm_counters_provider(const struct carm_counters *c)
{
    return c->provider;
}

const struct carm_recipe *carm_counters_recipe(const struct carm_counters *c)
{
    return c->recipe;
}

size_t carm_counters_groups(const struct carm_counters *c)
{
    return c->groups;
}

int carm_counter_set_open(struct carm_counter_set **out, struct carm_counters *c,
                          struct carm_counter_target target, int group, struct carm_err *err)
{
    *out = NULL;
    if (group != CARM_GROUPS_ALL &&
        (group < 0 || group >= (int)c->groups || target.kind == CARM_TARGET_SOCKETS)) {
        return carm_fail(err, CARM_EINVAL, "there is no group %d of these counters", group);
    }
    const size_t n = c->recipe->nevents ? c->recipe->nevents : 1;
    struct carm_counter_set *s = calloc(1, sizeof *s);
    struct carm_reading *scratch = calloc(n, sizeof *scratch);
    if (!s || !scratch) {
        free(scratch);
        free(s);
        return carm_fail(err, CARM_ENOMEM, "not enough memory for a set of counters");
    }
    s->counters = c;
    s->target = target;
    s->group = group;
    s->scratch = scratch;
    const int rc = c->ops->set_open(s, err);
    if (rc) {
        free(scratch);
        free(s);
        return rc;
    }
    *out = s;
    return 0;
}

int carm_counter_set_start(struct carm_counter_set *s, struct carm_err *err)
{
    if (s->running) {
        return carm_fail(err, CARM_EINVAL, "these counters already count: stop them first");
    }
    const int rc = s->counters->ops->set_start(s, err);
    s->running = rc == 0;
    return rc;
}

static int take(struct carm_counter_set *s, bool stop, struct carm_reading *readings,
                struct carm_err *err)
{
    if (!s->running) {
        return carm_fail(err, CARM_EINVAL, "these counters do not count: start them first");
    }
    memset(readings, 0, s->counters->recipe->nevents * sizeof *readings);
    return s->counters->ops->set_read(s, stop, readings, err);
}

int carm_counter_set_read(struct carm_counter_set *s, struct carm_reading *readings,
                          struct carm_err *err)
{
    return take(s, false, readings, err);
}

int carm_counter_set_stop(struct carm_counter_set *s, struct carm_reading *readings,
                          struct carm_err *err)
{
    const int rc = take(s, true, readings ? readings : s->scratch, err);
    s->running = false;
    return rc;
}

void carm_counter_set_close(struct carm_counter_set *s)
{
    if (s) {
        if (s->running) {
            carm_counter_set_stop(s, NULL, NULL);
        }
        s->counters->ops->set_close(s);
        free(s->scratch);
        free(s);
    }
}
