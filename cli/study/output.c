/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/study/output.h"

#include <stdio.h>
#include <string.h>

#include "base/json_write.h"
#include "plots/gnuplot.h"
#include "plots/picture.h"

enum { WIDTH = 80, LABEL_MAX = 14 };

/* The indent of a long line's continuation: behind "  label    ", behind a list's "- ", or two more
 * blanks. */
static size_t indent_of(const char *line)
{
    const size_t blanks = strspn(line, " ");
    if (blanks == 0) {
        return 0;
    }
    const size_t word = blanks + strcspn(line + blanks, " ");
    const size_t next = word + strspn(line + word, " ");
    const bool label = next >= word + 2 && next <= LABEL_MAX;
    return label || strncmp(line + blanks, "- ", 2) == 0 ? next : blanks + 2;
}

static void put_line(const char *line, size_t n)
{
    const size_t indent = indent_of(line);
    size_t room = WIDTH;
    while (n > room) {
        size_t cut = room;
        while (cut > 0 && line[cut] != ' ') {
            cut--;
        }
        if (cut == 0 || strspn(line, " ") >= cut) {
            break; /* one long word */
        }
        printf("%.*s\n%*s", (int)cut, line, (int)indent, "");
        line += cut + 1;
        n -= cut + 1;
        room = WIDTH - indent;
    }
    printf("%.*s\n", (int)n, line);
}

void carm_study_put_folded(const char *text)
{
    while (*text) {
        const size_t n = strcspn(text, "\n");
        put_line(text, n);
        text += n + (text[n] == '\n');
    }
}

json_t *carm_study_place_json(const struct carm_place *p)
{
    if (!p) {
        return json_null();
    }
    json_t *o = json_object();
    const bool ok =
        carm_jwrite_number(o, "intensity", p->intensity) &&
        carm_jwrite_number(o, "roof", p->roof) && carm_jwrite_number(o, "share", p->share) &&
        carm_jwrite_text_or_null(o, "below", p->below >= 0 ? p->ceilings[p->below].name : "") &&
        carm_jwrite_text_or_null(o, "above", p->above >= 0 ? p->ceilings[p->above].name : "") &&
        carm_jwrite_bool(o, "over", p->over) && carm_jwrite_text(o, "advice", p->advice);
    return carm_jwrite_done(o, ok);
}

struct carm_plot_point carm_study_plot_point(const struct carm_study *study, double flops,
                                             double bytes, double dram_bytes, double seconds)
{
    struct carm_plot_point p = {.flops = flops,
                                .bytes = bytes,
                                .dram_bytes = dram_bytes,
                                .seconds = seconds,
                                .level_bytes = {-1.0, -1.0},
                                .flops_low = -1.0,
                                .flops_high = -1.0,
                                .bytes_low = -1.0,
                                .bytes_high = -1.0,
                                .threads = study->roofs->threads};
    snprintf(p.precision, sizeof p.precision, "%.15s", study->roofs->precision);
    return p;
}

/* Drops notes: the tables show how many points have no DRAM bytes. */
static void ignore(const char *note)
{
    (void)note;
}

int carm_study_plot_put(FILE *out, const struct carm_study *study, struct carm_plot_input *input,
                        const char *kind, const char *title, const char *format,
                        struct carm_err *err)
{
    const struct carm_machine *m = &study->model->machine;
    const struct carm_select all = {.nisa = 0};
    struct carm_plot_look look;
    char text[3 * CARM_TEXT_MAX];
    snprintf(text, sizeof text, "%s, %s%s%s", title, m->hostname,
             *m->hostname && *m->cpu ? ": " : "", m->cpu);
    const struct carm_plot_picture page = {.input = input,
                                           .select = &all,
                                           .look = &look,
                                           .kind = kind,
                                           .format = format,
                                           .title = text,
                                           .models = CARM_PLOT_BOTH};
    input->note = ignore;
    input->models[0] = study->model;
    input->nmodels = 1;
    const int rc = carm_plot_look_parse(&look, NULL, NULL, NULL, err);
    return rc ? rc : carm_plot_picture_put(out, &page, err);
}

int carm_study_plot_draw(const struct carm_study *study, struct carm_plot_input *input,
                         const char *kind, const char *title, const char *path,
                         struct carm_err *err)
{
    FILE *script;
    int rc = carm_gnuplot_open(&script, err);
    if (rc) {
        return rc;
    }
    rc = carm_study_plot_put(script, study, input, kind, title, carm_gnuplot_format(path), err);
    rc = rc ? rc : carm_gnuplot_draw(script, path, err);
    fclose(script);
    return rc;
}
