/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/sweep.h"

#include <math.h>
#include <string.h>

#include "base/number.h"

static const char set_form[] =
    "--set takes figures of the architecture, such as DRAM_byte_per_cycle=2000,freq_GHz=1.5";
static const char sweep_form[] =
    "--sweep takes a figure of the architecture and its range, such as "
    "DRAM_byte_per_cycle=500:4000, with :STEPS (2 to 10000) and :log behind it";

/* Reads the name before '='. returns the text behind it, or NULL */
static const char *take_key(const char *text, char *key)
{
    const size_t n = strcspn(text, "=,:");
    if (n == 0 || n >= CARM_SOL_KEY_MAX || text[n] != '=') {
        return NULL;
    }
    memcpy(key, text, n);
    key[n] = '\0';
    return text + n + 1;
}

/* Reads a finite number that ends at a character of stop or at the text's end. returns the
 * text behind it, or NULL */
static const char *take_number(const char *text, const char *stop, double *value)
{
    const char *end = carm_number_scan(text, value);
    return end && isfinite(*value) && (*end == '\0' || strchr(stop, *end)) ? end : NULL;
}

int carm_sol_set(struct carm_sol_arch *arch, const char *list, struct carm_err *err)
{
    char key[CARM_SOL_KEY_MAX];
    double value = 0.0;
    for (const char *at = list; at;) {
        at = take_key(at, key);
        at = at ? take_number(at, ",", &value) : NULL;
        if (!at) {
            return carm_fail(err, CARM_EINVAL, "%s", set_form);
        }
        const int rc = carm_sol_arch_set(arch, key, value, err);
        if (rc) {
            return rc;
        }
        at = *at == ',' ? at + 1 : NULL;
    }
    return 0;
}

/* Reads ":STEPS", ":log", or both in this order */
static bool take_steps(const char *text, struct carm_sol_sweep *sweep)
{
    double steps = 11.0;
    if (*text == ':' && strcmp(text, ":log") != 0) {
        text = take_number(text + 1, ":", &steps);
    }
    if (!text || steps != floor(steps) || steps < 2.0 || steps > CARM_SOL_STEPS_MAX) {
        return false;
    }
    sweep->steps = (size_t)steps;
    sweep->log = strcmp(text, ":log") == 0;
    return *text == '\0' || sweep->log;
}

int carm_sol_sweep_parse(const char *text, struct carm_sol_sweep *sweep, struct carm_err *err)
{
    const char *at = take_key(text, sweep->key);
    at = at ? take_number(at, ":", &sweep->from) : NULL;
    at = at && *at == ':' ? take_number(at + 1, ":", &sweep->to) : NULL;
    if (!at || !take_steps(at, sweep)) {
        return carm_fail(err, CARM_EINVAL, "%s", sweep_form);
    }
    if (sweep->log && !(sweep->from > 0.0 && sweep->to > 0.0)) {
        return carm_fail(err, CARM_EINVAL, "a sweep at equal ratios (:log) needs ends above zero");
    }
    return 0;
}

/* Whether a key's values are whole numbers: bytes of capacities. */
static bool is_whole(const char *key)
{
    const size_t n = strlen(key), m = strlen("_capacity");
    return n > m && strcmp(key + n - m, "_capacity") == 0;
}

static double value_at(const struct carm_sol_sweep *s, size_t i)
{
    const double share = (double)i / (double)(s->steps - 1);
    if (i == 0 || i + 1 == s->steps) { /* the first and last value are exact */
        return i == 0 ? s->from : s->to;
    }
    const double value =
        s->log ? s->from * pow(s->to / s->from, share) : s->from + share * (s->to - s->from);
    return is_whole(s->key) ? round(value) : value;
}

int carm_sol_sweep_run(const struct carm_sol_sweep *sweep, const struct carm_sol_view *view,
                       carm_sol_sweep_row *row, void *context, struct carm_err *err)
{
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < sweep->steps; i++) {
        struct carm_sol_arch arch = *view->arch;
        struct carm_sol_result result = {.n = 0};
        struct carm_sol_view at = *view;
        const double value = value_at(sweep, i);
        at.arch = &arch;
        at.result = &result;
        rc = carm_sol_arch_set(&arch, sweep->key, value, err);
        rc = rc ? rc
                : carm_sol_estimate(view->graph, view->analysis, &arch, view->precision,
                                    view->as_implemented, &result, err);
        if (rc == 0) {
            row(context, i, value, &at);
        }
        carm_sol_result_close(&result);
    }
    return rc;
}
