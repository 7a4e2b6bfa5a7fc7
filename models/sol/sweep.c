/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/sweep.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/outfile.h"

static const char set_form[] =
    "--set takes figures of the architecture, such as DRAM_byte_per_cycle=2000,freq_GHz=1.5";
static const char sweep_form[] =
    "--sweep takes a figure of the architecture and its range, such as "
    "DRAM_byte_per_cycle=500:4000, with :STEPS (2 to 10000) and :log behind it";

/* ---- words ------------------------------------------------------------------------------------- */

/* The name before '='. returns what follows it, or NULL */
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

/* A finite number that ends at one of the characters of stop, or at the text's end. returns what
 * follows, or NULL */
static const char *take_number(const char *text, const char *stop, double *value)
{
    char *end = NULL;
    if (!((*text >= '0' && *text <= '9') || *text == '.' || *text == '-')) {
        return NULL; /* no blanks, no "nan", no "inf" */
    }
    *value = strtod(text, &end);
    return end != text && isfinite(*value) && (*end == '\0' || strchr(stop, *end)) ? end : NULL;
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

/* ":STEPS", ":log", or both in this order */
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

/* ---- rows -------------------------------------------------------------------------------------- */

/* Capacities are whole bytes. */
static bool is_whole(const char *key)
{
    const size_t n = strlen(key), m = strlen("_capacity");
    return n > m && strcmp(key + n - m, "_capacity") == 0;
}

static double value_at(const struct carm_sol_sweep *s, size_t i)
{
    const double share = (double)i / (double)(s->steps - 1);
    if (i == 0 || i + 1 == s->steps) { /* the ends are what was asked for, to the last bit */
        return i == 0 ? s->from : s->to;
    }
    const double value =
        s->log ? s->from * pow(s->to / s->from, share) : s->from + share * (s->to - s->from);
    return is_whole(s->key) ? round(value) : value;
}

static void put_header(FILE *out, const struct carm_sol_sweep *s)
{
    (void)fputs(s->key, out);
    for (int cached = 0; cached < 2; cached++) {
        for (int m = cached ? CARM_SOL_FUSED : CARM_SOL_UNFUSED; m < CARM_SOL_MODELS; m++) {
            const char *name = carm_sol_model_name((enum carm_sol_model)m);
            const char *head = cached ? "cache_aware_" : "";
            (void)fprintf(out, ",%s%s_cycles,%s%s_seconds,%s%s_limited_by", head, name, head, name,
                          head, name);
            if (m != CARM_SOL_UNFUSED) {
                (void)fprintf(out, ",%s%s_speedup", head, name);
            }
            if (cached) {
                (void)fprintf(out, ",%s%s_spilled_bytes", head, name);
            }
        }
    }
    (void)fputc('\n', out);
}

static void put_estimate(FILE *out, const struct carm_sol_arch *arch,
                         const struct carm_sol_estimate *unfused, const struct carm_sol_estimate *e)
{
    (void)fputc(',', out);
    carm_csv_number(out, e->cycles);
    (void)fputc(',', out);
    carm_csv_number(out, e->seconds);
    (void)fputc(',', out);
    carm_csv_put_clean(out, carm_sol_bound_word(arch, e));
    if (e != unfused) {
        (void)fputc(',', out);
        carm_csv_number(out, carm_sol_speedup(unfused, e));
    }
}

static void put_row(FILE *out, double value, const struct carm_sol_arch *arch,
                    const struct carm_sol_result *r)
{
    const struct carm_sol_estimate *unfused = &r->models[CARM_SOL_UNFUSED];
    carm_csv_number(out, value);
    for (int m = CARM_SOL_UNFUSED; m < CARM_SOL_MODELS; m++) {
        put_estimate(out, arch, unfused, &r->models[m]);
    }
    for (int m = CARM_SOL_FUSED; m < CARM_SOL_MODELS; m++) {
        if (r->has_cached) {
            put_estimate(out, arch, unfused, &r->cached[m]);
            (void)fprintf(out, ",%llu", (unsigned long long)r->cached[m].spilled_bytes);
        } else {
            (void)fputs(",,,,,", out);
        }
    }
    (void)fputc('\n', out);
}

struct job {
    const struct carm_sol_sweep *sweep;
    const struct carm_sol_view *view;
};

static int put_rows(FILE *out, const void *context, struct carm_err *err)
{
    const struct job *job = context;
    const struct carm_sol_view *v = job->view;
    for (size_t i = 0; i < job->sweep->steps; i++) {
        struct carm_sol_arch arch = *v->arch;
        struct carm_sol_result result = {.n = 0};
        const double value = value_at(job->sweep, i);
        int rc = carm_sol_arch_set(&arch, job->sweep->key, value, err);
        rc = rc ? rc
                : carm_sol_estimate(v->graph, v->analysis, &arch, v->precision, v->as_implemented,
                                    &result, err);
        if (rc == 0 && i == 0) {
            put_header(out, job->sweep); /* not before it is known that there are rows */
        }
        if (rc == 0) {
            put_row(out, value, &arch, &result);
        }
        carm_sol_result_close(&result);
        if (rc) {
            return rc;
        }
    }
    return 0;
}

int carm_sol_sweep_write(const char *path, const struct carm_sol_sweep *sweep,
                         const struct carm_sol_view *view, struct carm_err *err)
{
    const struct job job = {sweep, view};
    return carm_outfile_print(strcmp(path, "-") == 0 ? NULL : path, put_rows, &job, err);
}
