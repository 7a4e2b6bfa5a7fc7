/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/study/setup.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plots/gnuplot.h"
#include "validation/machine.h"
#include "models/file/select.h"
#include "base/json_write.h"

/* ---- words ----------------------------------------------------------------------------------- */

int carm_study_count(const char *option, const char *word, long least, long most, long *value,
                     struct carm_err *err)
{
    char *end = NULL;
    errno = 0;
    const long n = *word >= '0' && *word <= '9' ? strtol(word, &end, 10) : -1;
    if (errno || !end || *end || n < least || n > most) {
        return carm_fail(err, CARM_EINVAL,
                         "--%s needs a whole number from %ld to %ld, not \"%.40s\"", option, least,
                         most, word);
    }
    *value = n;
    return 0;
}

int carm_study_budget(const char *word, double *seconds, struct carm_err *err)
{
    char *end = NULL;
    const double v = *word >= '0' && *word <= '9' ? strtod(word, &end) : -1.0;
    if (!end || *end || !(v > 0.0) || v > 1e6) {
        return carm_fail(err, CARM_EINVAL,
                         "--budget needs seconds, more than 0 and at most 1000000, not \"%.40s\"",
                         word);
    }
    *seconds = v;
    return 0;
}

int carm_study_check_words(const struct carm_study_words *words, struct carm_err *err)
{
    enum carm_isa isa;
    if (words->plot && !carm_gnuplot_format(words->plot)) {
        return carm_fail(err, CARM_EINVAL, "the picture's name must end in .svg, .png or .pdf");
    }
    if (words->resume && !words->output) {
        return carm_fail(err, CARM_EINVAL,
                         "--resume goes on with the points of a file: name it with --output");
    }
    return words->isa ? carm_isa_parse(words->isa, &isa, err) : 0;
}

/* ---- machine and model ----------------------------------------------------------------------- */

int carm_study_open_model(const char *path, const struct carm_cpu *cpu,
                          const struct carm_topo *topo, const struct carm_clock *clock,
                          struct carm_model **model, struct carm_err *err)
{
    struct carm_machine here;
    struct carm_err why;
    int rc = carm_select_open(path, model, NULL, err);
    if (rc) {
        return rc;
    }
    carm_machine_describe(&here, cpu, topo, clock);
    if (carm_machine_check(&here, &(*model)->machine, &why)) {
        rc = carm_fail(err, CARM_ENOTSUP, "%.400s; `carm build` measures this machine", why.text);
    }
    free(here.caches);
    return rc;
}

double carm_study_cache_bytes(const struct carm_model *model, int level,
                              const struct carm_topo *topo, int threads)
{
    char name[16];
    (void)snprintf(name, sizeof name, "L%d", level);
    for (size_t i = 0; i < model->nlevels; i++) {
        const struct carm_level *l = &model->levels[i];
        int instances = 1;
        int sharers = 1;
        if (strcmp(l->level, name) != 0 || (l->knee_bytes == 0 && l->os_size_bytes == 0)) {
            continue;
        }
        const double knee = l->knee_bytes ? (double)l->knee_bytes : INFINITY;
        const double os = l->os_size_bytes ? (double)l->os_size_bytes : INFINITY;
        carm_topo_cache_share(topo, level, threads, &instances, &sharers);
        return fmin(knee, os) / (sharers > 0 ? sharers : 1);
    }
    return 0.0;
}

/* ---- results --------------------------------------------------------------------------------- */

json_t *carm_study_place_json(const struct carm_place *p)
{
    json_t *o = json_object();
    const bool ok =
        carm_jwrite_number(o, "intensity", p->intensity) &&
        carm_jwrite_number(o, "roof", p->roof) && carm_jwrite_number(o, "share", p->share) &&
        carm_jwrite_text_or_null(o, "below", p->below >= 0 ? p->ceilings[p->below].name : "") &&
        carm_jwrite_text_or_null(o, "above", p->above >= 0 ? p->ceilings[p->above].name : "") &&
        carm_jwrite_bool(o, "over", p->over) && carm_jwrite_text(o, "advice", p->advice);
    return carm_jwrite_done(o, ok);
}

int carm_study_print_json(FILE *out, json_t *json, struct carm_err *err)
{
    const bool wrote = json && json_dumpf(json, out, JSON_INDENT(2)) == 0;
    json_decref(json);
    (void)fputc('\n', out);
    return wrote ? 0 : carm_fail(err, CARM_ENOMEM, "not enough memory to print the study as JSON");
}

int carm_study_stopped(const struct carm_study_words *words, struct carm_err *err)
{
    return carm_fail(err, CARM_EINTR, "interrupted: the points so far are %s%.200s%s",
                     words->output ? "in " : "above alone", words->output ? words->output : "",
                     words->output ? ", --resume goes on with them" : "");
}
