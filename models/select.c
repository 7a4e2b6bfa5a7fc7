/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/select.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* The next word of a comma-separated list. returns false at its end */
static bool next_word(const char **list, const char **word, size_t *len)
{
    if (!*list) {
        return false;
    }
    *word = *list;
    *len = strcspn(*list, ",");
    *list = (*word)[*len] ? *word + *len + 1 : NULL;
    return true;
}

static int parse_isa(struct carm_select *sel, const char *list, struct carm_err *err)
{
    const char *word;
    size_t len;
    while (next_word(&list, &word, &len)) {
        if (len == 0 || len >= CARM_NAME_MAX) {
            return carm_fail(err, CARM_EINVAL, "--isa needs names such as avx2 or avx2,avx512");
        }
        if (sel->nisa == CARM_SELECT_MAX) {
            return carm_fail(err, CARM_EINVAL, "--isa takes at most %d names", CARM_SELECT_MAX);
        }
        memcpy(sel->isa[sel->nisa], word, len);
        sel->isa[sel->nisa++][len] = 0;
    }
    return 0;
}

static int parse_threads(struct carm_select *sel, const char *list, struct carm_err *err)
{
    const char *word;
    size_t len;
    while (next_word(&list, &word, &len)) {
        char *end;
        errno = 0;
        long n = *word >= '0' && *word <= '9' ? strtol(word, &end, 10) : 0;
        if (n < 1 || n > INT_MAX || errno || end != word + len) {
            return carm_fail(err, CARM_EINVAL, "--threads needs numbers such as 1 or 1,8");
        }
        if (sel->nthreads == CARM_SELECT_MAX) {
            return carm_fail(err, CARM_EINVAL, "--threads takes at most %d numbers",
                             CARM_SELECT_MAX);
        }
        sel->threads[sel->nthreads++] = (int)n;
    }
    return 0;
}

int carm_select_parse(struct carm_select *sel, const char *isa, const char *threads,
                      struct carm_err *err)
{
    memset(sel, 0, sizeof *sel);
    int rc = parse_isa(sel, isa, err);
    return rc ? rc : parse_threads(sel, threads, err);
}

static bool has_isa(const struct carm_select *sel, const char *isa)
{
    for (size_t i = 0; i < sel->nisa; i++) {
        if (strcmp(sel->isa[i], isa) == 0) {
            return true;
        }
    }
    return sel->nisa == 0;
}

static bool has_threads(const struct carm_select *sel, int threads)
{
    for (size_t i = 0; i < sel->nthreads; i++) {
        if (sel->threads[i] == threads) {
            return true;
        }
    }
    return sel->nthreads == 0;
}

bool carm_select_has(const struct carm_select *sel, const char *isa, int threads)
{
    return has_isa(sel, isa) && has_threads(sel, threads);
}

static bool has_precision(const struct carm_select *sel, const struct carm_roofs *r)
{
    return !*sel->precision || strcmp(sel->precision, r->precision) == 0;
}

/* The set of the selected ISAs and precision with roofs of memory whose number of threads is the nearest; NULL = none */
static const struct carm_roofs *nearest(const struct carm_select *sel,
                                        const struct carm_model *model, int threads)
{
    const struct carm_roofs *best = NULL;
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        if (r->nmemory > 0 && has_isa(sel, r->isa) && has_precision(sel, r) &&
            (!best || carm_roofs_distance(r, threads) < carm_roofs_distance(best, threads))) {
            best = r;
        }
    }
    return best;
}

bool carm_select_nearest(struct carm_select *sel, const struct carm_model *model,
                         char note[CARM_TEXT_MAX])
{
    note[0] = '\0';
    for (size_t i = 0; i < sel->nthreads; i++) {
        const int asked = sel->threads[i];
        const struct carm_roofs *r = nearest(sel, model, asked);
        if (!r || r->threads == asked) {
            continue;
        }
        carm_text_list(note, CARM_TEXT_MAX, "; ",
                       "the model has no roofs for %d thread%s, so those for %d are drawn (carm "
                       "build --threads %d measures them)",
                       asked, asked == 1 ? "" : "s", r->threads, asked);
        sel->threads[i] = r->threads;
    }
    return note[0] != '\0';
}

/* The model's sets, as "avx2 with 1 thread, avx512 with 2 threads", cut where the list gets
 * long. */
static void list_sets(const struct carm_model *model, char *dst, size_t size)
{
    bool fits = true;
    *dst = 0;
    for (size_t i = 0; i < model->nroofs && fits; i++) {
        char isa[CARM_NAME_MAX];
        fits =
            carm_text_list_whole(dst, size, ", ", "%s with %d thread%s",
                                 carm_text_clean(isa, sizeof isa, model->roofs[i].isa, false),
                                 model->roofs[i].threads, model->roofs[i].threads == 1 ? "" : "s");
    }
}

int carm_select_check(const struct carm_select *sel, const struct carm_model *model,
                      struct carm_err *err)
{
    for (size_t i = 0; i < model->nroofs; i++) {
        if (carm_select_has(sel, model->roofs[i].isa, model->roofs[i].threads) &&
            has_precision(sel, &model->roofs[i])) {
            return 0;
        }
    }
    if (model->nroofs == 0) {
        return carm_fail(err, CARM_EINVAL, "the model has no roofs; `carm build` measures them");
    }
    char sets[320];
    list_sets(model, sets, sizeof sets);
    return carm_fail(err, CARM_EINVAL,
                     "no %s%sroofs match --isa and --threads; the model has %s%s%s", sel->precision,
                     *sel->precision ? " " : "", sets, *sel->precision ? ", in precision " : "",
                     *sel->precision ? model->config.precision : "");
}

const struct carm_roofs *carm_select_best(const struct carm_select *sel,
                                          const struct carm_model *model)
{
    const struct carm_roofs *best = NULL;
    double best_bandwidth = 0;
    int best_rank = 0;
    for (size_t i = 0; i < model->nroofs; i++) {
        const struct carm_roofs *r = &model->roofs[i];
        if (!carm_select_has(sel, r->isa, r->threads) || !has_precision(sel, r)) {
            continue;
        }
        double bandwidth = 0;
        for (size_t k = 0; k < r->nmemory; k++) {
            bandwidth = fmax(bandwidth, r->memory[k].bandwidth);
        }
        /* A set without memory roofs draws nothing: any other set goes before it. */
        const int rank = carm_precision_rank(r->precision);
        const bool draws = bandwidth > 0;
        bool better = draws != (best_bandwidth > 0)         ? draws
                      : rank != best_rank                   ? rank < best_rank
                      : best && carm_roofs_precede(best, r) ? false
                      : best && carm_roofs_precede(r, best) ? true
                                                            : bandwidth > best_bandwidth;
        if (!best || better) {
            best = r;
            best_bandwidth = bandwidth;
            best_rank = rank;
        }
    }
    return best;
}

const struct carm_memory_roof *carm_select_best_memory(const struct carm_select *sel,
                                                       const struct carm_model *model,
                                                       const struct carm_roofs *roofs,
                                                       const char *level,
                                                       const struct carm_roofs **whose)
{
    const struct carm_memory_roof *best =
        carm_model_best_memory(model, roofs, level, model->config.ldst, whose);
    if (has_isa(sel, (*whose)->isa)) {
        return best;
    }
    *whose = roofs;
    return carm_roofs_find_memory(roofs, level, model->config.ldst);
}

const struct carm_compute_roof *carm_select_best_peak(const struct carm_select *sel,
                                                      const struct carm_model *model,
                                                      const struct carm_roofs *roofs,
                                                      const struct carm_roofs **whose)
{
    const struct carm_compute_roof *best = carm_model_best_peak(model, roofs, whose);
    if (has_isa(sel, (*whose)->isa)) {
        return best;
    }
    *whose = roofs;
    return carm_roofs_find_peak(roofs);
}

bool carm_select_same_host(const char *a, const char *b)
{
    size_t n = 0;
    while (a[n] && a[n] == b[n]) {
        n++;
    }
    return n > 0 && (!a[n] || a[n] == '.') && (!b[n] || b[n] == '.') && (!a[n] || !b[n]);
}
