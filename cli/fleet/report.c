/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/fleet/report.h"

#include <stdlib.h>
#include <string.h>

#include "base/number.h"
#include "cli/opt.h"
#include "models/fleet/judge.h"
#include "models/fleet/read.h"
#include "plots/page/fleet/data.h"
#include "plots/page/write.h"

static int parse(const struct carm_fleet_words *words, struct carm_fleet_options *o,
                 struct carm_err *err)
{
    *o = (struct carm_fleet_options){
        .ceilings = words->ceilings != NULL, .fdr = 0.01, .min_share = 0.01};
    if (words->npaths == 0) {
        return carm_fail(
            err, CARM_EINVAL,
            "name folders or files with models: carm fleet report models, or carm fleet "
            "report fleet.jsonl");
    }
    if (!carm_number_percent(words->fdr, &o->fdr) || o->fdr <= 0.0) {
        return carm_fail(err, CARM_EINVAL, "--fdr needs a percentage above 0, such as 1");
    }
    if (!carm_number_percent(words->min_percent, &o->min_share)) {
        return carm_fail(err, CARM_EINVAL,
                         "--min-percent needs a percentage from 0 to below 100, such as 1");
    }
    return words->output ? carm_report_check_output(words->output, err) : 0;
}

static int write_page(const struct carm_fleet_words *words, const struct carm_fleet_report *report,
                      struct carm_err *err)
{
    char *data = NULL;
    int rc = carm_fleet_report_data(report, &data, err);
    rc = rc ? rc
            : carm_report_write(CARM_REPORT_FLEET, data,
                                words->output ? words->output : "fleet.html", err);
    free(data);
    return rc;
}

static int check_strict(const struct carm_fleet_words *words, const struct carm_fleet *fleet,
                        struct carm_err *err)
{
    if (!words->strict || fleet->nbroken == 0) {
        return 0;
    }
    return carm_fail(err, CARM_EFORMAT,
                     "%zu file%s or row%s broken (--strict): the page, which was written, names %s",
                     fleet->nbroken, fleet->nbroken == 1 ? "" : "s",
                     fleet->nbroken == 1 ? " is" : "s are", fleet->nbroken == 1 ? "it" : "them");
}

int carm_fleet_report(const struct carm_fleet_words *words, struct carm_err *err)
{
    struct carm_fleet *fleet = NULL;
    struct carm_fleet_report report = {.title = words->title};
    int rc = parse(words, &report.options, err);
    rc = rc ? rc : carm_report_ready(err);
    rc = rc ? rc
            : carm_fleet_read(words->paths, (size_t)words->npaths, &report.options, &fleet, err);
    if (rc) {
        return rc;
    }
    report.fleet = fleet;
    rc = carm_fleet_judge(fleet, &report.options, err);
    if (rc == 0 && fleet->nrows == 0) {
        rc = fleet->nbroken ? carm_fail(err, CARM_EFORMAT, "no model to show: %s: %s",
                                        fleet->broken[0].file, fleet->broken[0].reason)
                            : carm_fail(err, CARM_EFORMAT, "no model to show: no file has a row");
    }
    rc = rc ? rc : write_page(words, &report, err);
    if (rc == 0 && fleet->nbroken && !words->strict) {
        (void)carm_say_error(0, "left out: %zu broken file%s or row%s, which the page names",
                             fleet->nbroken, fleet->nbroken == 1 ? "" : "s",
                             fleet->nbroken == 1 ? "" : "s");
    }
    rc = rc ? rc : check_strict(words, fleet, err);
    carm_fleet_free(fleet);
    return rc;
}
