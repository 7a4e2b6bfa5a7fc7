/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/run/change.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/json_write.h"
#include "base/text.h"
#include "cli/opt.h"
#include "cli/run/verdict.h"
#include "models/place/settings.h"

/* "L2", "L3", "DRAM": the level behind a simulated level. returns dst */
static char *behind(char dst[16], const struct carm_run_simulation *s, size_t level)
{
    snprintf(dst, 16, level + 1 < s->config.nlevels ? "L%zu" : "DRAM", level + 2);
    return dst;
}

/* Prints the bytes that cross to each level, with the present and the changed caches. */
static void show_bytes(const struct carm_run_changed *changed)
{
    const struct carm_run_simulation *then = changed->caches, *now = changed->today;
    for (size_t k = 0; then && then->counted && now->counted && k < then->config.nlevels; k++) {
        char level[16], before[CARM_TEXT_NUMBER_MAX], after[CARM_TEXT_NUMBER_MAX];
        fprintf(stderr, "%s%s %s (%s today)",
                k ? ", " : "carm: bytes with these caches: ", behind(level, then, k),
                carm_text_si(after, sizeof after, then->whole.levels[k].bytes, "B"),
                carm_text_si(before, sizeof before, now->whole.levels[k].bytes, "B"));
        fprintf(stderr, "%s", k + 1 == then->config.nlevels ? "\n" : "");
    }
}

void carm_run_change_show(const struct carm_run_changed *changed,
                          const struct carm_profile *profile,
                          const struct carm_run_verdict *verdicts)
{
    static const double worth_a_row = 0.01, few = 0.005;
    static const double known_least = 0.2; /* least share of the time with known gains; chosen by
                                            * hand */
    char gain[32], name[256], today[64], list[CARM_SETTINGS_TEXT_MAX], text[512] = "";
    bool estimate = false; /* the limit of a part that gains is an estimate */
    for (size_t i = 0; i < profile->nrows; i++) {
        const struct carm_run_change *c = &changed->parts[i];
        estimate = estimate || (c->known && verdicts[i].verdict.estimate &&
                                profile->rows[i].share * fabs(c->loop.high - 1.0) > few);
    }
    if (changed->known < 1.0 - few) {
        snprintf(text, sizeof text,
                 "; the limit of %.0f%% of its time is not known: taken as unchanged",
                 100.0 * (1.0 - changed->known));
    }
    carm_settings_text(list, sizeof list, &changed->changes);
    carm_setting_words(gain, sizeof gain, changed->program);
    if (changed->known < known_least) {
        carm_say_error(
            0, "with %s: nothing is known, as what limits %.0f%% of the program's time is not",
            list, 100.0 * (1.0 - changed->known));
    } else if (strcmp(gain, "1x") == 0) {
        carm_say_error(0, "with %s the program would be as fast as today%s", list, text);
    } else {
        carm_say_error(0, "with %s the program %s be %s as fast%s", list,
                       estimate ? "may" : "would", gain, text);
    }
    snprintf(text, sizeof text, "%6s  %-28s %-21s %-13s", "time", "limited today by", "then by",
             "times as fast");
    carm_run_say_row(text, "where");
    for (size_t i = 0; i < profile->nrows; i++) {
        const struct carm_profile_row *row = &profile->rows[i];
        const struct carm_run_change *c = &changed->parts[i];
        if (!verdicts[i].has || row->share < worth_a_row) {
            continue;
        }
        const struct carm_verdict *v = &verdicts[i].verdict;
        snprintf(today, sizeof today, "%s%s",
                 v->estimate && v->limit != CARM_LIMIT_UNKNOWN ? "maybe " : "",
                 carm_limit_words(v->limit));
        snprintf(text, sizeof text, "%5.1f%%  %-28s %-21s %-13s", 100.0 * row->share, today,
                 !c->known              ? "-"
                 : c->limit == v->limit ? "the same"
                                        : carm_limit_words(c->limit),
                 c->known ? carm_setting_words(gain, sizeof gain, c->loop) : "-");
        carm_run_say_row(text, carm_run_name_cut(name, sizeof name, row, 64));
    }
    show_bytes(changed);
}

struct rows {
    const struct carm_run_changed *changed;
    const struct carm_profile *profile;
};

static json_t *change_json(const void *changes, size_t i)
{
    return json_string(((const struct carm_settings *)changes)->of[i].text);
}

static json_t *part_json(const void *rows, size_t i)
{
    const struct rows *r = rows;
    const struct carm_run_change *c = &r->changed->parts[i];
    json_t *o = json_object();
    return carm_jwrite_done(
        o, carm_jwrite_text(o, "name", r->profile->rows[i].name) &&
               carm_jwrite_text(o, "limit", carm_limit_name(c->limit)) &&
               (!c->known || carm_jwrite_value(o, "gain", carm_run_gain_json(&c->loop))));
}

static json_t *bytes_json(const void *caches, size_t i)
{
    const struct carm_run_simulation *s = caches;
    char level[16];
    json_t *o = json_object();
    return carm_jwrite_done(o, carm_jwrite_text(o, "level", behind(level, s, i)) &&
                                   carm_jwrite_number(o, "bytes", s->whole.levels[i].bytes));
}

bool carm_run_change_json(const struct carm_run_changed *changed,
                          const struct carm_profile *profile, json_t *o)
{
    const struct rows rows = {changed, profile};
    const struct carm_run_simulation *caches = changed->caches;
    json_t *set = json_object();
    const bool ok =
        carm_jwrite_array(set, "changes", &changed->changes, changed->changes.n, change_json) &&
        carm_jwrite_number(set, "known", changed->known) &&
        carm_jwrite_value(set, "program", carm_run_gain_json(&changed->program)) &&
        (!caches || !caches->counted ||
         carm_jwrite_array(set, "bytes", caches, caches->config.nlevels, bytes_json)) &&
        carm_jwrite_array(set, "parts", &rows, profile->nrows, part_json);
    return carm_jwrite_value(o, "set", carm_jwrite_done(set, ok));
}
