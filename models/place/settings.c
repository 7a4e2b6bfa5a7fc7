/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/place/settings.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/number.h"
#include "base/text.h"
#include "models/caches/machine.h"
#include "models/core.h"
#include "models/latency.h"

enum { LINE = 64 };

static const struct {
    const char *word;
    bool of_level;
} quantities[] = {
#define CARM_SETTING_ROW(id, word, of_level) {word, of_level},
    CARM_SETTING_TABLE(CARM_SETTING_ROW)};

static const char forms[] =
    "a level's size (L2=2M or L2=2x), bandwidth or latency (dram.bandwidth=2x, "
    "L3.latency=0.5x), peak=2x or clock=1.2x";

/* "L2", "dram": the level in capitals. returns false: no level */
static bool read_level(const char *word, size_t length, char level[8])
{
    if (length == 0 || length >= 8) {
        return false;
    }
    for (size_t i = 0; i < length; i++) {
        level[i] = (char)toupper((unsigned char)word[i]);
    }
    level[length] = '\0';
    return strcmp(level, "DRAM") == 0 ||
           (length == 2 && level[0] == 'L' && level[1] >= '1' && level[1] <= '9');
}

static bool read_key(const char *key, size_t length, struct carm_setting *out)
{
    const char *dot = memchr(key, '.', length);
    const size_t first = dot ? (size_t)(dot - key) : length;
    const bool level = read_level(key, first, out->level);
    const char *word = level && !dot ? "size" : dot ? dot + 1 : key;
    const size_t size = level && !dot ? strlen(word) : dot ? length - first - 1 : length;
    out->level[level ? strlen(out->level) : 0] = '\0';
    for (int q = 0; q < CARM_SETTING_COUNT; q++) {
        if (strlen(quantities[q].word) == size &&
            strncasecmp(quantities[q].word, word, size) == 0 && quantities[q].of_level == level &&
            (level || !dot)) {
            out->quantity = (enum carm_setting_quantity)q;
            return out->quantity != CARM_SETTING_SIZE || strcmp(out->level, "DRAM") != 0;
        }
    }
    return false;
}

/* Reads "2x" or "0.5x"; for a size also "2M", "512K", "1G", "2097152" */
static bool read_value(const char *text, size_t length, struct carm_setting *out)
{
    static const double least = 0.01, most = 100.0; /* larger factors are typing errors */
    double value = 0.0;
    char word[32];
    if (length >= sizeof word) {
        return false;
    }
    snprintf(word, sizeof word, "%.*s", (int)length, text);
    const char *unit = carm_number_scan(word, &value);
    if (unit && strcasecmp(unit, "x") == 0) {
        out->factor = value;
        return value >= least && value <= most;
    }
    return out->quantity == CARM_SETTING_SIZE && carm_number_bytes(word, &out->bytes) &&
           out->bytes >= LINE && (double)out->bytes < 1e13;
}

int carm_settings_parse(const char *list, struct carm_settings *changes, struct carm_err *err)
{
    changes->n = 0;
    for (const char *at = list;; at++) {
        const size_t length = strcspn(at, ",");
        const char *equals = memchr(at, '=', length);
        struct carm_setting *c = &changes->of[changes->n];
        if (changes->n == CARM_SETTINGS_MAX) {
            return carm_fail(err, CARM_EINVAL, "at most %d changes", (int)CARM_SETTINGS_MAX);
        }
        *c = (struct carm_setting){.factor = 0.0};
        if (!equals || !read_key(at, (size_t)(equals - at), c) ||
            !read_value(equals + 1, length - (size_t)(equals + 1 - at), c)) {
            return carm_fail(err, CARM_EINVAL, "'%.*s' is no change of a machine: %s",
                             (int)(length < 40 ? length : 40), at, forms);
        }
        changes->n++;
        at += length;
        if (!*at) {
            return 0;
        }
    }
}

char *carm_settings_text(char *dst, size_t size, const struct carm_settings *changes)
{
    dst[0] = '\0';
    for (size_t i = 0; i < changes->n; i++) {
        carm_text_list(dst, size, i + 1 < changes->n ? ", " : " and ", "%s", changes->of[i].text);
    }
    return dst;
}

bool carm_settings_size(const struct carm_settings *changes)
{
    for (size_t i = 0; i < changes->n; i++) {
        if (changes->of[i].quantity == CARM_SETTING_SIZE) {
            return true;
        }
    }
    return false;
}

static void scale_interval(struct carm_ci *ci, double factor)
{
    ci->lo *= factor;
    ci->hi *= factor;
}

/* Rounds to 16, 17, ... or 31 times a power of two, so that any sampled share of the sets is a whole number. */
static uint64_t round_size(double bytes)
{
    uint64_t unit = LINE;
    while (32.0 * (double)unit <= bytes) {
        unit *= 2;
    }
    return (uint64_t)llround(bytes / (double)unit) * unit;
}

/* Moves the curves of dependent loads. With a larger cache, working sets beyond the level before it are as fast as
 * smaller sets were. */
static void move_curves(struct carm_model *model, const struct carm_level *level, double factor)
{
    const struct carm_level *before = level > model->levels ? level - 1 : NULL;
    const double from = before ? (double)carm_caches_bytes(model, before, NULL) : 0.0;
    for (size_t i = 0; i < model->nlatency_curves; i++) {
        struct carm_latency_curve *c = &model->latency_curves[i];
        for (size_t k = 0; k < c->npoints; k++) {
            const double x = (double)c->points[k].working_set_bytes;
            c->points[k].working_set_bytes =
                x > from ? (uint64_t)fmax(from, x * factor) : (uint64_t)x;
        }
    }
}

static int change_size(struct carm_setting *c, struct carm_model *model, struct carm_err *err)
{
    char now[CARM_TEXT_NUMBER_MAX], then[CARM_TEXT_NUMBER_MAX];
    struct carm_level *level = carm_model_find_level(model, c->level);
    const uint64_t size = level ? carm_caches_bytes(model, level, NULL) : 0;
    if (!size) {
        return carm_fail(err, CARM_EINVAL, "the model has no cache %s of a known size", c->level);
    }
    const uint64_t bytes = round_size(c->bytes ? (double)c->bytes : c->factor * (double)size);
    level->os_size_bytes = bytes;
    level->resolved = false; /* the measured size no longer holds */
    move_curves(model, level, (double)bytes / (double)size);
    snprintf(c->text, sizeof c->text, "%s %s (%s today)", c->level,
             carm_text_bytes(then, sizeof then, bytes), carm_text_bytes(now, sizeof now, size));
    return 0;
}

/* returns the number of changed roofs */
static size_t change_bandwidth(const char *level, double factor, bool clock,
                               struct carm_model *model)
{
    size_t n = 0;
    for (size_t i = 0; i < model->nroofs; i++) {
        struct carm_roofs *r = &model->roofs[i];
        for (size_t k = 0; k < r->nmemory; k++) {
            struct carm_memory_roof *m = &r->memory[k];
            if (strcmp(m->level, level) == 0) {
                carm_memory_roof_scale(m, factor, clock);
                n++;
            }
        }
        r->dram_peak.bandwidth *= strcmp(level, "DRAM") == 0 ? factor : 1.0;
    }
    for (size_t i = 0; i < model->nin_flight; i++) {
        struct carm_in_flight *f = &model->in_flight[i];
        f->rate *=
            strncmp(f->code, "stream", 6) == 0 && strcmp(f->level, level) == 0 ? factor : 1.0;
    }
    for (size_t i = 0; i < model->ncore && strcmp(level, "L1") == 0 && !clock; i++) {
        struct carm_core_figure *f = &model->core[i];
        f->throughput /= f->kind == CARM_CORE_LOAD || f->kind == CARM_CORE_STORE ? factor : 1.0;
    }
    return n;
}

/* returns the number of changed figures */
static size_t change_latency(const char *level, double factor, struct carm_model *model)
{
    const struct carm_level *of = carm_model_find_level(model, level);
    const struct carm_level *before = of && of > model->levels ? of - 1 : NULL;
    const double from = before ? (double)carm_caches_bytes(model, before, NULL) : 0.0;
    const uint64_t size = of ? carm_caches_bytes(model, of, NULL) : 0;
    const double to = size ? (double)size : INFINITY;
    for (size_t i = 0; i < model->nlatency_curves; i++) {
        struct carm_latency_curve *c = &model->latency_curves[i];
        for (size_t k = 0; k < c->npoints; k++) {
            const double x = (double)c->points[k].working_set_bytes;
            c->points[k].seconds *= x > from && x <= to ? factor : 1.0;
        }
    }
    return carm_latency_scale(model, level, factor, false);
}

static void change_peak(double factor, bool clock, struct carm_model *model)
{
    for (size_t i = 0; i < model->nroofs; i++) {
        for (size_t k = 0; k < model->roofs[i].ncompute; k++) {
            struct carm_compute_roof *c = &model->roofs[i].compute[k];
            c->rate *= factor;
            scale_interval(&c->ci95, factor);
            c->flops_per_cycle *= clock ? 1.0 : factor;
        }
    }
    for (size_t i = 0; i < model->ncore && !clock; i++) {
        struct carm_core_figure *f = &model->core[i];
        f->throughput /= carm_core_kind_group(f->kind) == CARM_CORE_GROUP_FP ? factor : 1.0;
    }
}

static void change_clock(double factor, struct carm_model *model)
{
    static const char *const own[] = {"L1", "L2"};
    change_peak(factor, true, model);
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        change_bandwidth(own[i], factor, true, model);
        change_latency(own[i], 1.0 / factor, model);
    }
    for (size_t i = 0; i < model->nroofs; i++) {
        model->roofs[i].clock_hz *= factor;
    }
    for (size_t i = 0; i < model->ncore; i++) {
        model->core[i].clock_hz *= factor;
    }
}

int carm_settings_apply(struct carm_settings *changes, struct carm_model *model,
                        struct carm_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < changes->n && !rc; i++) {
        struct carm_setting *c = &changes->of[i];
        const char *word = quantities[c->quantity].word;
        size_t n = 1;
        switch (c->quantity) {
        case CARM_SETTING_SIZE:
            rc = change_size(c, model, err);
            break;
        case CARM_SETTING_BANDWIDTH:
            n = change_bandwidth(c->level, c->factor, false, model);
            break;
        case CARM_SETTING_LATENCY:
            n = change_latency(c->level, c->factor, model);
            break;
        case CARM_SETTING_PEAK:
            change_peak(c->factor, false, model);
            break;
        default:
            change_clock(c->factor, model);
        }
        if (!rc && n == 0) {
            rc = carm_fail(err, CARM_EINVAL, "the model has no %s of %s: carm build measures it%s",
                           word, c->level,
                           c->quantity == CARM_SETTING_LATENCY ? " with --latency" : "");
        }
        if (c->quantity != CARM_SETTING_SIZE) {
            char text[sizeof c->text];
            snprintf(text, sizeof text, "%s%s%s %.4gx", c->level, *c->level ? " " : "", word,
                     c->factor);
            memcpy(c->text, text, sizeof text);
        }
    }
    return rc;
}

struct carm_verdict_gain carm_setting_gain(double seconds, double before, double after)
{
    const double rest = fmax(0.0, seconds - before);
    const double stays = seconds / (rest + after), follows = before / after;
    return (struct carm_verdict_gain){fmin(stays, follows), fmax(stays, follows)};
}

char *carm_setting_words(char *dst, size_t size, struct carm_verdict_gain gain)
{
    static const double alike =
        0.03; /* a narrower interval is printed as one number; chosen by hand */
    char low[CARM_TEXT_TIMES_MAX], high[CARM_TEXT_TIMES_MAX];
    if (gain.high - gain.low < alike * gain.high) {
        snprintf(dst, size, "%.3gx", 0.5 * (gain.low + gain.high));
    } else {
        snprintf(dst, size, "%s..%sx", carm_text_times(low, gain.low),
                 carm_text_times(high, gain.high));
    }
    return dst;
}

static const struct carm_lower_bound *same_bound(const struct carm_bounds *bounds,
                                                 const struct carm_lower_bound *like)
{
    for (size_t i = 0; i < bounds->n; i++) {
        if (bounds->of[i].limit == like->limit && bounds->of[i].form == like->form) {
            return &bounds->of[i];
        }
    }
    return NULL;
}

void carm_setting_bounds(const struct carm_bounds *today, const struct carm_bounds *changed,
                         bool estimates, double *before, double *after, enum carm_limit *limit)
{
    double guess[2] = {0.0, 0.0};
    *before = *after = 0.0;
    *limit = CARM_LIMIT_UNKNOWN;
    for (size_t i = 0; i < today->n; i++) {
        const struct carm_lower_bound *b = &today->of[i];
        double *most = b->estimate ? &guess[0] : before;
        *most = b->refuted ? *most : fmax(*most, b->seconds);
    }
    for (size_t i = 0; i < changed->n; i++) {
        const struct carm_lower_bound *b = &changed->of[i];
        const struct carm_lower_bound *was = same_bound(today, b);
        double *most = b->estimate ? &guess[1] : after;
        if (!(was && was->refuted) && b->seconds > *most) {
            *most = b->seconds;
            *limit = b->estimate ? *limit : b->limit;
        }
    }
    *before += estimates ? guess[0] : 0.0;
    *after += estimates ? guess[1] : 0.0;
}
