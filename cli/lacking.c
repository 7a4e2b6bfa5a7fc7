/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/lacking.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/job.h"
#include "base/outfile.h"
#include "cli/opt.h"
#include "validation/machine.h"
#include "validation/roofs/lacking.h"

/* Finds the sets that are missing in the model, each once. returns their number */
static size_t find_lacks(const struct carm_model *model, const struct carm_host *host,
                         const struct carm_lacking *points, size_t n,
                         struct carm_build_lack lacks[CARM_LACKING_MAX])
{
    size_t found = 0;
    for (size_t i = 0; i < n && found < CARM_LACKING_MAX; i++) {
        struct carm_build_lack l;
        bool known = !carm_build_lacks(model, points[i].isa, points[i].precision, points[i].threads,
                                       &host->cpu, host->topo, &l);
        for (size_t k = 0; k < found && !known; k++) {
            known = lacks[k].isa == l.isa && lacks[k].precision == l.precision &&
                    lacks[k].threads == l.threads;
        }
        if (!known) {
            lacks[found++] = l;
        }
    }
    return found;
}

/* Whether the model has the sets of all points, so that this machine need not be examined. */
static bool has_all(const struct carm_model *model, const struct carm_lacking *points, size_t n)
{
    bool all = true;
    for (size_t i = 0; i < n && all; i++) {
        const struct carm_lacking *p = &points[i];
        all = !*p->isa || !*p->precision ||
              carm_model_find_roofs(model, p->isa, p->precision, p->threads) != NULL;
    }
    return all;
}

static int measure(struct carm_model *model, const char *path, struct carm_host *host,
                   const struct carm_build_lack *lacks, size_t n, struct carm_err *err)
{
    int rc = carm_host_enter(host, "measuring roofs", path, "0", err);
    for (size_t i = 0; i < n && !rc; i++) {
        carm_say_error(0,
                       "measuring the roofs of %s %s with %d thread%s, which the model lacks "
                       "(--no-measure forbids it)",
                       carm_isa_name(lacks[i].isa), carm_precision_name(lacks[i].precision),
                       lacks[i].threads, lacks[i].threads == 1 ? "" : "s");
        rc = carm_build_add_lack(model, &lacks[i], host, err);
    }
    rc = rc ? rc : carm_model_write(model, path, err);
    carm_host_leave(host, rc == 0);
    return rc;
}

bool carm_lacking_measure(const char *given, const struct carm_model *known,
                          const struct carm_lacking *points, size_t n)
{
    struct carm_observer observer = {0}; /* a second of work: Ctrl-C ends the command */
    struct carm_host host;
    struct carm_model *m = NULL;
    struct carm_model here = {.nroofs = 0};
    struct carm_build_lack lacks[CARM_LACKING_MAX];
    struct carm_err err = {""};
    char path[PATH_MAX] = "";
    bool wrote = false;
    if (given) {
        snprintf(path, sizeof path, "%s", given);
    }
    /* the command reports errors, as it reads the model, too */
    int rc = given ? 0 : carm_default_model_path(path, sizeof path, &err);
    rc = rc || known ? rc : carm_model_read(path, &m, &err);
    known = known ? known : m;
    if (rc || has_all(known, points, n)) {
        carm_model_free(m);
        return false;
    }
    if (carm_host_open(&host, *known->machine.on ? known->machine.on : NULL, &observer, &err) ==
            0 &&
        carm_host_lay_out(&host, known->machine.layout, &err) == 0) {
        carm_machine_describe(&here.machine, &host.cpu, host.topo, &host.clock);
        const bool of_here = carm_machine_check(&here.machine, &known->machine, &err) == 0;
        size_t lacking = of_here ? find_lacks(known, &host, points, n, lacks) : 0;
        if (lacking && !m && carm_model_read(path, &m, &err)) {
            lacking = 0;
        }
        if (lacking && carm_outfile_check(path, &err) == 0) {
            wrote = measure(m, path, &host, lacks, lacking, &err) == 0;
            if (!wrote) {
                carm_say_error(0, "the roofs that the model lacks were not measured: %s", err.text);
            }
        }
        free(here.machine.caches);
    }
    carm_host_close(&host);
    carm_model_free(m);
    return wrote;
}
