/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Roofs of other tools as a model. They have no intervals, so both ends are the value.
 * source: ERT 1.1.0, Results/roofline.*.json (rates in GB/s and Gflop/s; its kernel updates an array in place);
 *         CARM Tool, utils/run.py (update_csv: two lines of header, a row for each benchmark) */
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "models/import/json.h"

enum { SETS_MAX = 256, ROOFS_MAX = 64 };

/* The set of roofs, created if missing. NULL with the failure in err. */
static struct carm_roofs *find_set(struct carm_import *in, struct carm_model *m, const char *isa,
                                   const char *precision, int threads, struct carm_err *err)
{
    struct carm_roofs *r = carm_model_find_roofs(m, isa, precision, threads);
    if (r) {
        return r;
    }
    if (m->nroofs == SETS_MAX) {
        carm_fail(err, CARM_EFORMAT, "%.200s: more than %d sets of roofs", in->name, SETS_MAX);
        return NULL;
    }
    if (carm_array_grow(&m->roofs, NULL, m->nroofs, 1, sizeof *m->roofs, "the roofs", err)) {
        return NULL;
    }
    r = &m->roofs[m->nroofs++];
    memset(r, 0, sizeof *r);
    snprintf(r->isa, sizeof r->isa, "%s", isa);
    snprintf(r->precision, sizeof r->precision, "%s", precision);
    r->threads = threads;
    return r;
}

/* Adds a slope, or replaces that of an earlier measurement. */
static int put_memory(struct carm_import *in, struct carm_roofs *r, const char *level,
                      const char *mix, double rate, struct carm_err *err)
{
    size_t i = 0;
    while (i < r->nmemory &&
           (strcmp(r->memory[i].level, level) != 0 || strcmp(r->memory[i].ldst, mix) != 0)) {
        i++;
    }
    if (i == ROOFS_MAX) {
        return carm_fail(err, CARM_EFORMAT, "%.200s: more than %d memory roofs in a set", in->name,
                         ROOFS_MAX);
    }
    if (i == r->nmemory) {
        const int rc =
            carm_array_grow(&r->memory, NULL, r->nmemory, 1, sizeof *r->memory, "the roofs", err);
        if (rc) {
            return rc;
        }
        memset(&r->memory[r->nmemory++], 0, sizeof *r->memory);
    }
    struct carm_memory_roof *x = &r->memory[i];
    snprintf(x->level, sizeof x->level, "%s", level);
    snprintf(x->ldst, sizeof x->ldst, "%s", mix);
    x->bandwidth = rate;
    x->ci95 = (struct carm_ci){rate, rate};
    x->spread = (struct carm_spread){rate, rate, rate, rate};
    return 0;
}

static int put_compute(struct carm_import *in, struct carm_roofs *r, const char *op, double rate,
                       struct carm_err *err)
{
    size_t i = 0;
    while (i < r->ncompute && strcmp(r->compute[i].op, op) != 0) {
        i++;
    }
    if (i == ROOFS_MAX) {
        return carm_fail(err, CARM_EFORMAT, "%.200s: more than %d compute roofs in a set", in->name,
                         ROOFS_MAX);
    }
    if (i == r->ncompute) {
        const int rc = carm_array_grow(&r->compute, NULL, r->ncompute, 1, sizeof *r->compute,
                                       "the roofs", err);
        if (rc) {
            return rc;
        }
        memset(&r->compute[r->ncompute++], 0, sizeof *r->compute);
    }
    struct carm_compute_roof *x = &r->compute[i];
    snprintf(x->op, sizeof x->op, "%s", op);
    x->rate = rate;
    x->ci95 = (struct carm_ci){rate, rate};
    x->spread = (struct carm_spread){rate, rate, rate, rate};
    return 0;
}

static int put_level(struct carm_model *m, const char *level, uint64_t size, struct carm_err *err)
{
    if (carm_model_has_level(m, level)) {
        return 0;
    }
    const int rc =
        carm_array_grow(&m->levels, NULL, m->nlevels, 1, sizeof *m->levels, "the levels", err);
    if (rc == 0) {
        struct carm_level *l = &m->levels[m->nlevels++];
        memset(l, 0, sizeof *l);
        snprintf(l->level, sizeof l->level, "%s", level);
        l->os_size_bytes = size;
        l->resolved = true;
    }
    return rc;
}

static const char ert_mix[] = "update";

static int processors(json_t *metadata)
{
    json_t *processes = json_object_get(metadata, "MPI_PROCS");
    json_t *threads = json_object_get(metadata, "OPENMP_THREADS");
    const double n = (json_is_number(processes) ? json_number_value(processes) : 1.0) *
                     (json_is_number(threads) ? json_number_value(threads) : 1.0);
    return n >= 1.0 && n <= 1e6 ? (int)n : 1;
}

/* "L1", "L2", "L3", "DRAM": ERT's names of levels */
static bool is_level(const char *name)
{
    return strcmp(name, "DRAM") == 0 ||
           (name[0] == 'L' && name[1] >= '1' && name[1] <= '9' && !name[2]);
}

/* "GFLOPs", "FP64 GFLOPs", "FP32 GFLOPs" */
static const char *precision_of(const char *name)
{
    return strstr(name, "FP32") || strstr(name, "SP")   ? "sp"
           : strstr(name, "FP16") || strstr(name, "HP") ? "hp"
                                                        : "dp";
}

struct ert {
    struct carm_model *model;
    json_t *empirical;
};

/* Reads one pair ["L1", 1723.23] of a list. */
static int read_pair(struct carm_walk *w, json_t *pair, const char **name, double *rate)
{
    *name = json_string_value(json_array_get(pair, 0));
    json_t *value = json_array_get(pair, 1);
    *rate = json_number_value(value) * 1e9;
    if (!*name || !json_is_number(value) || !(*rate >= 1.0 && *rate <= 1e24)) {
        return carm_import_bad(
            w->in, carm_walk_line(w), w->err,
            "a roof of ERT is a name and a number of GB/s or Gflop/s above zero");
    }
    return 0;
}

static int ert_roofs(struct carm_walk *w, struct ert *e, struct carm_roofs *r, json_t *memory,
                     json_t *compute)
{
    const char *name;
    size_t i;
    json_t *pair;
    double rate;
    json_array_foreach(memory, i, pair)
    {
        int rc = read_pair(w, pair, &name, &rate);
        if (!rc && !is_level(name)) {
            rc = carm_import_bad(w->in, carm_walk_line(w), w->err,
                                 "ERT's levels are L1, L2, ... and DRAM, not '%.40s'", name);
        }
        rc = rc ? rc : put_level(e->model, name, 0, w->err);
        rc = rc ? rc : put_memory(w->in, r, name, ert_mix, rate, w->err);
        if (rc) {
            return rc;
        }
        if (strcmp(name, "DRAM") ==
            0) { /* the kernel updates lines in place, so it loads only these lines */
            r->dram_peak.bandwidth = rate;
        }
    }
    json_array_foreach(compute, i, pair)
    {
        int rc = read_pair(w, pair, &name, &rate);
        if (!rc && strcmp(precision_of(name), r->precision) == 0) {
            rc = put_compute(w->in, r, "best", rate, w->err);
        }
        if (rc) {
            return rc;
        }
    }
    return 0;
}

static int read_empirical(struct carm_walk *w, struct ert *e)
{
    json_t *gbytes = json_object_get(e->empirical, "gbytes");
    json_t *gflops = json_object_get(e->empirical, "gflops");
    json_t *memory = json_object_get(gbytes, "data");
    json_t *compute = json_object_get(gflops, "data");
    json_t *about = json_object_get(e->empirical, "metadata");
    struct carm_model *m = e->model;
    const char *name;
    double rate;
    if (json_array_size(memory) == 0 || json_array_size(compute) == 0) {
        return carm_import_bad(w->in, carm_walk_line(w), w->err,
                               "ERT's file needs empirical.gbytes.data and empirical.gflops.data");
    }
    int rc = read_pair(w, json_array_get(compute, 0), &name, &rate);
    if (rc) {
        return rc;
    }
    const int threads = processors(json_object_get(gbytes, "metadata"));
    const int others = processors(json_object_get(gflops, "metadata"));
    const char *host = carm_json_text(about, "HOSTNAME");
    const char *version = carm_json_text(about, "ERT_VERSION");
    carm_text_clean(m->machine.hostname, sizeof m->machine.hostname, host ? host : "", false);
    if (version) {
        char text[32];
        snprintf(m->roofs_of, sizeof m->roofs_of, "ERT %s",
                 carm_text_clean(text, sizeof text, version, false));
    }
    snprintf(m->config.ldst, sizeof m->config.ldst, "%s", ert_mix);
    snprintf(m->config.precision, sizeof m->config.precision, "%s", precision_of(name));
    struct carm_roofs *r = find_set(w->in, m, "unknown", precision_of(name), threads, w->err);
    rc = r ? ert_roofs(w, e, r, memory, compute) : -CARM_EFORMAT;
    if (!rc && others != threads) {
        snprintf(r->compute[0].note, sizeof r->compute[0].note,
                 "measured with %d thread%s, the bandwidths with %d", others,
                 others == 1 ? "" : "s", threads);
    }
    return rc;
}

static int ert_member(struct carm_walk *w, const char *key, void *arg)
{
    struct ert *e = arg;
    json_t *value = carm_walk_value(w);
    if (!value) {
        return -CARM_EFORMAT;
    }
    int rc = 0;
    if (strcmp(key, "empirical") == 0) { /* "spec" has figures of a data sheet */
        e->empirical = value;
        rc = read_empirical(w, e);
    }
    json_decref(value);
    return rc;
}

int carm_import_ert_roofs(struct carm_import *in, struct carm_model *model, struct carm_err *err)
{
    struct carm_walk walk;
    struct ert ert = {.model = model};
    int rc = carm_walk_open(&walk, in, err);
    rc = rc ? rc : carm_walk_object(&walk, ert_member, &ert);
    carm_walk_close(&walk);
    return rc || ert.empirical
               ? rc
               : carm_fail(err, CARM_EFORMAT, "%.200s: no member empirical: ERT measured nothing",
                           in->name);
}

/* Columns of the CARM Tool's rows. Behind OP are pairs of a rate and instructions per cycle. */
enum { ISA = 1, PRECISION, THREADS, LOADS, STORES, OP = 8, RATES, WIDTH = 21 };
static const struct {
    const char *name; /* name in the first line */
    bool compute;
} rates[] = {{"L1", false},   {"L2", false}, {"L3", false},
             {"DRAM", false}, {"FP", true},  {"FP FMA", true}};

static int number_at(struct carm_import *in, const struct carm_csv_field *f, const char *what,
                     double *v, struct carm_err *err)
{
    return carm_import_number(f->text, v)
               ? 0
               : carm_import_bad(in, f->line, err, "%s is '%.40s', not a plain number", what,
                                 f->text);
}

/* "Name:,node,L1 Size:,48,L2 Size:,...": sizes in KiB */
static int read_sizes(struct carm_import *in, struct carm_model *m,
                      const struct carm_csv_field *fields, size_t n, struct carm_err *err)
{
    if (n != WIDTH || strcmp(fields[9].text, "L1") != 0 || strcmp(fields[17].text, "FP") != 0) {
        return carm_import_bad(
            in, fields[0].line, err,
            "its first line is no head of the CARM Tool's roofs: is the file cut off?");
    }
    carm_text_clean(m->machine.hostname, sizeof m->machine.hostname, fields[1].text, false);
    for (int level = 0; level < 3; level++) {
        double kib = 0.0;
        const int rc = number_at(in, &fields[3 + 2 * level], "a cache's size", &kib, err);
        if (rc || kib > 1e9) {
            return rc ? rc : carm_import_bad(in, fields[0].line, err, "a cache of %g KiB", kib);
        }
        if (kib > 0.0) {
            const int rc2 = put_level(m, rates[level].name, (uint64_t)kib * 1024, err);
            if (rc2) {
                return rc2;
            }
        }
    }
    return put_level(m, "DRAM", 0, err);
}

static int read_rates(struct carm_import *in, struct carm_model *m, struct carm_roofs *r,
                      const struct carm_csv_field *fields, const char *mix, struct carm_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < sizeof rates / sizeof *rates && !rc; i++) {
        double rate = 0.0;
        rc = number_at(in, &fields[RATES + 2 * i], rates[i].name, &rate, err);
        rate *= 1e9;
        if (rc || rate == 0.0) { /* not measured */
            continue;
        }
        if (rate < 1.0 || rate > 1e21) {
            return carm_import_bad(in, fields[0].line, err, "%s is %g, no machine's", rates[i].name,
                                   rate);
        }
        if (rates[i].compute) {
            rc = put_compute(in, r, i == 5 ? "fma" : fields[OP].text, rate, err);
        } else if (carm_model_has_level(m, rates[i].name)) {
            rc = put_memory(in, r, rates[i].name, mix, rate, err);
        }
    }
    return rc;
}

static int read_row(struct carm_import *in, struct carm_model *m,
                    const struct carm_csv_field *fields, size_t n, struct carm_err *err)
{
    char mix[CARM_NAME_MAX];
    double threads = 0.0, loads = 0.0, stores = 0.0;
    if (n != WIDTH) {
        return carm_import_bad(in, fields[0].line, err,
                               "the line has %zu fields, not %d: is it cut off?", n, WIDTH);
    }
    int rc = number_at(in, &fields[THREADS], "Threads", &threads, err);
    rc = rc ? rc : number_at(in, &fields[LOADS], "Loads", &loads, err);
    rc = rc ? rc : number_at(in, &fields[STORES], "Stores", &stores, err);
    if (rc) {
        return rc;
    }
    if (!(threads >= 1.0 && threads <= 1e6) || loads > 1e6 || stores > 1e6 || !*fields[ISA].text ||
        !*fields[PRECISION].text || strlen(fields[ISA].text) >= CARM_NAME_MAX ||
        strlen(fields[PRECISION].text) >= CARM_NAME_MAX || !*fields[OP].text ||
        strlen(fields[OP].text) >= CARM_NAME_MAX) {
        return carm_import_bad(in, fields[0].line, err,
                               "ISA, precision, threads, loads, stores or FP Inst. make no sense");
    }
    snprintf(mix, sizeof mix, "%.0f:%.0f", loads, stores);
    struct carm_roofs *r =
        find_set(in, m, fields[ISA].text, fields[PRECISION].text, (int)threads, err);
    rc = r ? read_rates(in, m, r, fields, mix, err) : -CARM_EFORMAT;
    if (!rc && !*m->config.ldst) {
        snprintf(m->config.ldst, sizeof m->config.ldst, "%s", mix);
        snprintf(m->config.precision, sizeof m->config.precision, "%s", fields[PRECISION].text);
    }
    return rc;
}

int carm_import_carm_tool_roofs(struct carm_import *in, struct carm_model *model,
                                struct carm_err *err)
{
    struct carm_csv_field *fields;
    size_t n, line = 0;
    int more, rc = 0;
    while ((more = carm_csv_next(in->csv, &fields, &n, err)) == 1) {
        if (line == 0) {
            rc = read_sizes(in, model, fields, n, err);
        } else if (line > 1) {
            if (line == 2) {
                carm_text_clean(model->created, sizeof model->created, fields[0].text, false);
            }
            rc = read_row(in, model, fields, n, err);
        }
        if (rc) {
            return rc;
        }
        line++;
    }
    return more || model->nroofs
               ? more
               : carm_fail(err, CARM_EFORMAT, "%.200s: no roofs behind the two lines of names",
                           in->name);
}
