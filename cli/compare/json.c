/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The comparison as one JSON object. Lists of values, differences and facts have an item for each model,
 * in the models' order; null where a model has none. */
#include <jansson.h>
#include <stdlib.h>

#include "base/json_write.h"
#include "cli/compare/print.h"

static json_t *make_model(const void *arg, size_t i)
{
    const struct carm_compare_page *page = arg;
    const struct carm_model *m = page->compare->models[i];
    const char letter[2] = {carm_compare_letter(i), '\0'};
    json_t *o = json_object();
    return carm_jwrite_done(
        o, carm_jwrite_text(o, "letter", letter) && carm_jwrite_text(o, "file", page->files[i]) &&
               carm_jwrite_text(o, "hostname", m->machine.hostname) &&
               carm_jwrite_text(o, "cpu", m->machine.cpu) &&
               carm_jwrite_text_or_null(o, "hypervisor", m->machine.hypervisor) &&
               carm_jwrite_text(o, "created", m->created) &&
               carm_jwrite_text(o, "carm_version", m->carm_version) &&
               carm_jwrite_bool(o, "quick", m->config.quick));
}

static json_t *make_fact_text(const void *arg, size_t i)
{
    const struct carm_compare_fact *f = arg;
    return json_string(f->text[i]);
}

/* A list of facts. */
struct facts {
    size_t n; /* models */
    const void *of;
};

static json_t *make_fact(const void *arg, size_t i)
{
    const struct facts *facts = arg;
    const struct carm_compare_fact *f = (const struct carm_compare_fact *)facts->of + i;
    json_t *o = json_object();
    return carm_jwrite_done(o, carm_jwrite_text(o, "name", f->name) &&
                                   carm_jwrite_bool(o, "same", f->same) &&
                                   carm_jwrite_array(o, "values", f, facts->n, make_fact_text));
}

static bool put_facts(json_t *o, const char *name, const struct carm_compare_page *page,
                      size_t (*collect)(const struct carm_compare *compare, bool ascii,
                                        struct carm_compare_fact *facts))
{
    struct carm_compare_fact *of = calloc(CARM_COMPARE_FACTS_MAX, sizeof *of);
    const struct facts facts = {page->compare->n, of};
    const size_t n = of ? collect(page->compare, page->ascii, of) : 0;
    const bool ok = of && carm_jwrite_array(o, name, &facts, n, make_fact);
    free(of);
    return ok;
}

static json_t *make_value(const void *arg, size_t i)
{
    const struct carm_compare_value *v = &((const struct carm_compare_row *)arg)->values[i];
    if (!(v->rate > 0.0)) {
        return json_null();
    }
    const struct carm_ci ci = {v->lo, v->hi};
    json_t *o = json_object();
    const bool ok =
        carm_jwrite_number(o, "value", v->rate) && carm_jwrite_interval(o, "ci95", ci) &&
        carm_jwrite_value(o, "clock_hz",
                          v->clock_hz > 0.0 ? json_real(v->clock_hz) : json_null()) &&
        carm_jwrite_text(o, "code", v->code) && carm_jwrite_bool(o, "disturbed", v->disturbed) &&
        carm_jwrite_text(o, "note", v->note);
    return carm_jwrite_done(o, ok);
}

static json_t *make_diff(const void *arg, size_t i)
{
    const struct carm_compare_diff *d = &((const struct carm_compare_row *)arg)->diffs[i];
    if (d->verdict == CARM_COMPARE_ABSENT) {
        return json_null();
    }
    json_t *o = json_object();
    const bool ok =
        carm_jwrite_text(o, "verdict", carm_compare_verdict_name(d->verdict)) &&
        carm_jwrite_number(o, "change", d->change) &&
        carm_jwrite_value(o, "error",
                          d->error <= CARM_NOT_KNOWN ? json_real(d->error) : json_null()) &&
        carm_jwrite_number(o, "noise", d->floor) &&
        carm_jwrite_value(o, "cycle_change",
                          d->has_cycles ? json_real(d->cycle_change) : json_null()) &&
        carm_jwrite_bool(o, "same_per_cycle", d->same_per_cycle);
    return carm_jwrite_done(o, ok);
}

struct rows {
    const struct carm_compare_set *set;
    size_t n; /* models */
};

static json_t *make_row(const void *arg, size_t i)
{
    const struct rows *rows = arg;
    const struct carm_compare_row *row = &rows->set->rows[i];
    json_t *o = json_object();
    const bool ok = carm_jwrite_text(o, "kind", carm_compare_kind_name(row->kind)) &&
                    carm_jwrite_text(o, "name", row->name) &&
                    carm_jwrite_text(o, "unit", row->bytes ? "byte/s" : row->unit) &&
                    carm_jwrite_array(o, "values", row, rows->n, make_value) &&
                    carm_jwrite_array(o, "differences", row, rows->n, make_diff);
    return carm_jwrite_done(o, ok);
}

/* The members of model i for the whole set. */
static json_t *make_set_of_model(const void *arg, size_t i)
{
    const struct carm_compare_set *set = arg;
    const struct carm_roofs *r = set->roofs[i];
    if (!r) {
        return json_null();
    }
    json_t *o = json_object();
    const bool ok =
        carm_jwrite_number(o, "clock_hz", r->clock_hz) &&
        carm_jwrite_value(o, "handover_seconds",
                          r->core_to_core_seconds > 0.0 ? json_real(r->core_to_core_seconds)
                                                        : json_null()) &&
        carm_jwrite_bool(o, "threads_lie_differently", carm_compare_moved(set, i));
    return carm_jwrite_done(o, ok);
}

static json_t *make_set(const void *arg, size_t i)
{
    const struct carm_compare *c = arg;
    const struct carm_compare_set *set = &c->sets[i];
    const struct rows rows = {set, c->n};
    json_t *o = json_object();
    const bool ok = carm_jwrite_text(o, "isa", set->isa) &&
                    carm_jwrite_text(o, "precision", set->precision) &&
                    carm_jwrite_int(o, "threads", set->threads) &&
                    carm_jwrite_bool(o, "compared", set->compared) &&
                    carm_jwrite_array(o, "models", set, c->n, make_set_of_model) &&
                    carm_jwrite_array(o, "roofs", &rows, set->nrows, make_row);
    return carm_jwrite_done(o, ok);
}

static json_t *make_fitness(const void *arg, size_t i)
{
    const struct carm_compare_score *score = arg;
    return score->of[i] ? json_real(score->of[i]->fitness) : json_null();
}

static json_t *make_scores(const struct carm_compare_page *page)
{
    struct carm_compare_score score;
    json_t *array = json_array();
    size_t at = 0;
    while (array && carm_compare_next_score(page->compare, &page->options, &at, &score)) {
        const struct carm_validation *v = score.of[0];
        json_t *o = json_object();
        o = carm_jwrite_done(
            o, carm_jwrite_text(o, "isa", v->set.isa) &&
                   carm_jwrite_text(o, "precision", v->set.precision) &&
                   carm_jwrite_text(o, "op", v->set.op) &&
                   carm_jwrite_int(o, "threads", v->set.threads) &&
                   carm_jwrite_text(o, "model", v->model) &&
                   carm_jwrite_text(o, "level", v->level) &&
                   carm_jwrite_array(o, "fitness", &score, page->compare->n, make_fitness));
        if (json_array_append_new(array, o) != 0) {
            json_decref(array);
            array = NULL;
        }
    }
    return array;
}

static json_t *share_or_null(double share)
{
    return share >= 0.0 ? json_real(share) : json_null();
}

int carm_compare_put_json(const struct carm_compare_page *page, struct carm_err *err)
{
    const struct carm_compare *c = page->compare;
    struct carm_compare_drop worst;
    const bool judged = page->threshold >= 0.0;
    const size_t drops =
        judged ? carm_compare_drops(c, page->threshold, page->ignore_clock, &worst) : 0;
    const struct carm_compare_counts n = carm_compare_counts(c);
    json_t *o = json_object();
    const bool ok =
        carm_jwrite_text(o, "schema", "carm-compare/1") &&
        carm_jwrite_value(o, "noise", share_or_null(page->noise)) &&
        carm_jwrite_value(o, "threshold", share_or_null(page->threshold)) &&
        carm_jwrite_value(o, "tripped", judged ? json_integer((json_int_t)drops) : json_null()) &&
        carm_jwrite_count(o, "significant", n.of[CARM_COMPARE_SIGNIFICANT]) &&
        carm_jwrite_count(o, "equal", n.of[CARM_COMPARE_EQUAL]) &&
        carm_jwrite_count(o, "disturbed", n.of[CARM_COMPARE_DISTURBED]) &&
        carm_jwrite_array(o, "models", page, c->n, make_model) &&
        put_facts(o, "machines", page, carm_compare_machine_facts) &&
        put_facts(o, "levels", page, carm_compare_level_facts) &&
        carm_jwrite_array(o, "sets", c, c->nsets, make_set) &&
        carm_jwrite_value(o, "fitness", make_scores(page));
    o = carm_jwrite_done(o, ok);
    /* Characters beyond ASCII are escaped, so that names cannot send control sequences to a
     * terminal. */
    char *text = o ? json_dumps(o, JSON_INDENT(1) | JSON_ENSURE_ASCII) : NULL;
    json_decref(o);
    if (!text) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the comparison");
    }
    puts(text);
    free(text);
    return 0;
}
