/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/report_page.h"

#include <string.h>

#include "cli/assets.h"
#include "cli/report_data.h"

/* What stands for @@name@@ in plots/report.html. The policy holds the hashes of the other three, so
 * that they go out byte for byte. */
static const struct part {
    const char *name, *text;
} parts[] = {
    {"policy", carm_asset_report_policy},
    {"style", carm_asset_plot_report_style},
    {"d3", carm_asset_d3},
    {"script", carm_asset_plot_report_script},
};

int carm_report_ready(struct carm_err *err)
{
    if (*carm_asset_d3) {
        return 0;
    }
    return carm_fail(err, CARM_ENOTSUP,
                     "this carm was built without d3 version 3, which draws the page: install the "
                     "package libjs-d3 (or name its file: make D3=d3.min.js), run make again, and "
                     "the report comes");
}

static void put_part(FILE *out, const char *name, size_t length, const char *data)
{
    if (length == 4 && memcmp(name, "data", 4) == 0) {
        carm_report_put_escaped(out, data);
        return;
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        if (strlen(parts[i].name) == length && memcmp(name, parts[i].name, length) == 0) {
            (void)fputs(parts[i].text, out);
        }
    }
}

/* Only the page itself is looked through: @@ in what goes into it is text. */
void carm_report_put_page(FILE *out, const char *data)
{
    const char *at = carm_asset_plot_report_page;
    for (;;) {
        const char *open = strstr(at, "@@");
        const char *close = open ? strstr(open + 2, "@@") : NULL;
        if (!open || !close) {
            break;
        }
        (void)fwrite(at, 1, (size_t)(open - at), out);
        put_part(out, open + 2, (size_t)(close - open - 2), data);
        at = close + 2;
    }
    (void)fputs(at, out);
}
