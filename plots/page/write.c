/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/page/write.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/assets.h"
#include "base/outfile.h"
#include "plots/page/report/data.h"

/* The text for @@name@@ in the frame of the pages. The page's security policy has the hashes of style, d3 and
 * script, so these are written unchanged. */
struct part {
    const char *name, *text;
};

enum { PARTS = 8 };

#define BUTTON \
    "<button type=\"button\" id=\"theme\" aria-label=\"colours: as the system has them\">Colours: auto</button>\n"
#define PAGE(name, title, button)                                                              \
    {                                                                                          \
        {"title", title}, {"button", button}, {"main", carm_asset_plot_##name##_page},         \
            {"policy", carm_asset_##name##_policy}, {"style", carm_asset_plot_##name##_style}, \
            {"script", carm_asset_plot_##name##_script}, {"d3", carm_asset_d3},                \
            {"licence", carm_asset_plot_report_licence},                                       \
    }
static const struct part pages[][PARTS] = {
    [CARM_REPORT_MODEL] = PAGE(report, "carm report", BUTTON),
    [CARM_REPORT_FLEET] = PAGE(fleet, "carm fleet report", BUTTON),
    [CARM_REPORT_HISTORY] = PAGE(history, "carm history", ""),
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

int carm_report_check_output(const char *path, struct carm_err *err)
{
    static const char *const ends[] = {".json", ".jsonl", ".csv"};
    const size_t n = strlen(path);
    bool wrong = n == 0;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        const size_t m = strlen(ends[i]);
        wrong = wrong || (n > m && strcmp(path + n - m, ends[i]) == 0);
    }
    return wrong ? carm_fail(err, CARM_EINVAL,
                             "the page goes to -o FILE.html, or - for standard output, not to '%s'",
                             path)
                 : 0;
}

struct content {
    const struct part *parts;
    const char *data;
};

static void put_part(FILE *out, const struct part *parts, const char *name, size_t length,
                     const char *data)
{
    if (length == 4 && memcmp(name, "data", 4) == 0) {
        carm_report_put_escaped(out, data);
        return;
    }
    for (size_t i = 0; i < PARTS; i++) {
        if (strlen(parts[i].name) == length && memcmp(name, parts[i].name, length) == 0) {
            fputs(parts[i].text, out);
        }
    }
}

/* Writes the page. Only the frame is searched for names: @@ in inserted text stays. */
static int put_page(FILE *out, const void *context, struct carm_err *err)
{
    const struct content *content = context;
    const char *at = carm_asset_plot_frame;
    (void)err; /* the opener of the stream checks its errors */
    for (;;) {
        const char *open = strstr(at, "@@");
        const char *close = open ? strstr(open + 2, "@@") : NULL;
        if (!open || !close) {
            break;
        }
        fwrite(at, 1, (size_t)(open - at), out);
        put_part(out, content->parts, open + 2, (size_t)(close - open - 2), content->data);
        at = close + 2;
    }
    fputs(at, out);
    return 0;
}

int carm_report_write(enum carm_report_kind kind, const char *data, const char *path,
                      struct carm_err *err)
{
    const struct content content = {pages[kind], data};
    return carm_outfile_print(strcmp(path, "-") == 0 ? NULL : path, put_page, &content, err);
}
