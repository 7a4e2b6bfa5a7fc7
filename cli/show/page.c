/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/show/page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "cli/opt.h"

void carm_show_put(const struct carm_show_page *page, int width, const char *s)
{
    char clean[CARM_TEXT_MAX];
    carm_text_clean(clean, sizeof clean, s, page->ascii);
    int pad = abs(width) - (int)carm_text_width(clean);
    pad = pad < 0 ? 0 : pad;
    printf("%*s%s%*s", width < 0 ? pad : 0, "", clean, width < 0 ? 0 : pad, "");
}

void carm_show_put_cut(const struct carm_show_page *page, int width, const char *s)
{
    char fit[CARM_TEXT_MAX];
    carm_show_put(page, width, carm_text_fit(fit, sizeof fit, s, (size_t)abs(width), page->ascii));
}

void carm_show_note(const struct carm_show_page *page, int indent, const char *note)
{
    char clean[CARM_TEXT_MAX];
    if (*note) {
        char head[16];
        snprintf(head, sizeof head, "%*s", indent, "");
        carm_opt_print_wrapped(head, indent, "%s",
                               carm_text_clean(clean, sizeof clean, note, page->ascii));
    }
}

void carm_show_heading(const struct carm_show_page *page, const char *fmt, ...)
{
    char line[512], clean[512];
    CARM_TEXT_OF_ARGS(line, fmt);
    printf("\n%s%s%s\n", page->colour ? "\033[1m" : "",
           carm_text_clean(clean, sizeof clean, line, page->ascii), page->colour ? "\033[0m" : "");
}

double carm_show_interval_percent(double value, struct carm_ci ci)
{
    return 100 * fmax(value - ci.lo, ci.hi - value) / value;
}
