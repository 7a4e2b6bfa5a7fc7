/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What is known of each model beside its roofs. Facts are compared as they are printed: a difference that
 * cannot be seen is none. */
#include <math.h>
#include <stdarg.h>
#include <string.h>

#include "cli/compare/print.h"
#include "base/text.h"
#include "models/validation.h"

char carm_compare_letter(size_t model)
{
    return (char)('A' + (int)model);
}

char *carm_compare_percent(char *dst, size_t size, double share)
{
    const double percent = 100.0 * share;
    (void)snprintf(dst, size, fabs(percent) < 0.05 ? "0.0%%" : "%+.1f%%", percent);
    return dst;
}

bool carm_compare_moved(const struct carm_compare_set *set, size_t model)
{
    /* README: 30 to 51 ns with the virtual CPUs on one core complex, 162 to 182 ns on two. */
    const double most = 2.0;
    if (!set->roofs[0] || !set->roofs[model]) {
        return false;
    }
    const double a = set->roofs[0]->core_to_core_seconds,
                 b = set->roofs[model]->core_to_core_seconds;
    return a > 0.0 && b > 0.0 && fmax(a, b) > most * fmin(a, b);
}

/* ---- facts -------------------------------------------------------------------------------------- */

struct list {
    const struct carm_compare_page *page;
    struct carm_compare_fact *facts;
    size_t n;
    size_t model; /* whose texts are put */
};

/* Puts one fact of one model: the fact of that name, made where there is none. */
__attribute__((format(printf, 3, 4))) static void put(struct list *l, const char *name,
                                                      const char *fmt, ...)
{
    char text[CARM_COMPARE_FACT_MAX];
    size_t i = 0;
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    while (i < l->n && strcmp(l->facts[i].name, name) != 0) {
        i++;
    }
    if (i == CARM_COMPARE_FACTS_MAX) {
        return;
    }
    struct carm_compare_fact *f = &l->facts[i];
    if (i == l->n) {
        memset(f, 0, sizeof *f);
        (void)snprintf(f->name, sizeof f->name, "%s", name);
        l->n++;
    }
    (void)carm_text_clean(f->text[l->model], sizeof f->text[l->model], *text ? text : "-",
                          l->page->ascii);
}

static size_t finish(struct list *l)
{
    for (size_t i = 0; i < l->n; i++) {
        struct carm_compare_fact *f = &l->facts[i];
        f->same = true;
        for (size_t m = 0; m < l->page->compare->n; m++) {
            if (!f->text[m][0]) {
                (void)snprintf(f->text[m], sizeof f->text[m], "-");
            }
            f->same = f->same && strcmp(f->text[m], f->text[0]) == 0;
        }
    }
    return l->n;
}

static const char *size_text(char *dst, size_t size, uint64_t bytes)
{
    return bytes ? carm_text_bytes(dst, size, bytes) : "-";
}

size_t carm_compare_machine_facts(const struct carm_compare_page *page,
                                  struct carm_compare_fact *facts)
{
    struct list l = {.page = page, .facts = facts};
    char a[CARM_TEXT_NUMBER_MAX];
    for (l.model = 0; l.model < page->compare->n; l.model++) {
        const struct carm_model *m = page->compare->models[l.model];
        const struct carm_machine *mc = &m->machine;
        put(&l, "host", "%s", mc->hostname);
        put(&l, "CPU", "%s", mc->cpu);
        put(&l, "hypervisor", "%s", mc->hypervisor[0] ? mc->hypervisor : "none known");
        put(&l, "cores", "%d", mc->cores);
        put(&l, "threads", "%d", mc->threads);
        for (size_t i = 0; i < mc->ncaches; i++) {
            char name[24];
            (void)snprintf(name, sizeof name, "L%d cache", mc->caches[i].level);
            put(&l, name, "%s / %d thread%s",
                carm_text_bytes(a, sizeof a, mc->caches[i].size_bytes), mc->caches[i].shared_by,
                mc->caches[i].shared_by == 1 ? "" : "s");
        }
        put(&l, "memory", "%s", carm_text_bytes(a, sizeof a, mc->memory_bytes));
        put(&l, "pages", "%s", carm_text_bytes(a, sizeof a, mc->page_bytes));
        put(&l, "built", "%s", m->created);
        put(&l, "carm", "%s%s", m->carm_version, m->config.quick ? ", --quick" : "");
        put(&l, "repetitions", "%llu", (unsigned long long)m->config.reps);
        put(&l, "mix", "%s", m->config.ldst);
        put(&l, "validated", "%s",
            m->validated[0]  ? m->validated
            : m->nvalidation ? "yes"
                             : "never");
    }
    return finish(&l);
}

size_t carm_compare_level_facts(const struct carm_compare_page *page,
                                struct carm_compare_fact *facts)
{
    struct list l = {.page = page, .facts = facts};
    char a[CARM_TEXT_NUMBER_MAX];
    for (l.model = 0; l.model < page->compare->n; l.model++) {
        const struct carm_model *m = page->compare->models[l.model];
        for (size_t i = 0; i < m->nlevels; i++) {
            const struct carm_level *x = &m->levels[i];
            char level[16];
            char name[32];
            (void)carm_text_clean(level, sizeof level, x->level, page->ascii);
            (void)snprintf(name, sizeof name, "%s OS size", level);
            put(&l, name, "%s", size_text(a, sizeof a, x->os_size_bytes));
            (void)snprintf(name, sizeof name, "%s knee", level);
            put(&l, name, "%s", x->resolved ? size_text(a, sizeof a, x->knee_bytes) : "unresolved");
        }
    }
    return finish(&l);
}

/* ---- fitness ------------------------------------------------------------------------------------ */

bool carm_compare_next_score(const struct carm_compare_page *page, size_t *at,
                             struct carm_compare_score *score)
{
    const struct carm_model *base = page->compare->models[0];
    for (; *at < base->nvalidation; (*at)++) {
        const struct carm_validation *v = &base->validation[*at];
        bool shared = false;
        if (!carm_select_has(page->select, v->set.isa, v->set.threads)) {
            continue;
        }
        memset(score, 0, sizeof *score);
        score->of[0] = v;
        for (size_t m = 1; m < page->compare->n; m++) {
            score->of[m] =
                carm_validation_find_score(page->compare->models[m], &v->set, v->model, v->level);
            shared = shared || score->of[m];
        }
        if (shared) {
            (*at)++;
            return true;
        }
    }
    return false;
}
