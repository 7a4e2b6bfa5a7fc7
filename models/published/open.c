/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/published/open.h"

#include <string.h>
#include <unistd.h>

#include "base/assets.h"
#include "base/text.h"

int carm_published_load(struct carm_published **out, struct carm_err *err)
{
    return carm_published_open(carm_asset_data_roofline_2009, strlen(carm_asset_data_roofline_2009),
                               "roofline-2009.json", out, err);
}

int carm_published_operand(const char *operand, struct carm_published **published,
                           const struct carm_published_machine **machine, struct carm_err *err)
{
    *published = NULL;
    *machine = NULL;
    if (!operand || strpbrk(operand, "/.") || access(operand, F_OK) == 0) {
        return 0;
    }
    int rc = carm_published_load(published, err);
    if (rc) {
        return rc;
    }
    if (carm_published_find(*published, operand, machine, err)) {
        char name[64], names[320];
        rc = carm_fail(err, CARM_EINVAL,
                       "there is neither a file nor a published machine \"%s\"; the machines are "
                       "%s, and `carm build` makes models",
                       carm_text_clean(name, sizeof name, operand, false),
                       carm_published_names(*published, names, sizeof names));
        carm_published_close(*published);
        *published = NULL;
        return rc;
    }
    return 1;
}
