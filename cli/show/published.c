/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/show/published.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/assets.h"
#include "base/text.h"
#include "cli/opt.h"
#include "cli/screen.h"
#include "models/file/gallery.h"
#include "models/file/published.h"
#include "models/file/select.h"
#include "plots/terminal.h"

/* Whether a unit takes an SI prefix: "1 number/s" and "Hz" do. */
static bool takes_prefix(const char *unit)
{
    return strcmp(unit, "Hz") == 0 || strncmp(unit, "byte/s", 6) == 0 ||
           strcmp(unit, "flop/s") == 0;
}

static void print_facts(const struct carm_published_machine *m)
{
    printf("\nFigures\n");
    for (size_t i = 0; i < m->nfacts; i++) {
        const struct carm_published_fact *f = &m->facts[i];
        char value[2 * CARM_NAME_MAX];
        if (*f->text) {
            snprintf(value, sizeof value, "%s", f->text);
        } else if (takes_prefix(f->unit)) {
            char unit[CARM_NAME_MAX];
            const bool bytes = strncmp(f->unit, "byte/s", 6) == 0;
            snprintf(unit, sizeof unit, "%s%s", bytes ? "B/s" : "", f->unit + (bytes ? 6 : 0));
            carm_text_si(value, CARM_TEXT_NUMBER_MAX, f->value, unit);
        } else {
            snprintf(value, sizeof value, "%.10g%s%s", f->value,
                     strcmp(f->unit, "1") == 0 ? "" : " ",
                     strcmp(f->unit, "1") == 0 ? "" : f->unit);
        }
        char head[96];
        snprintf(head, sizeof head, "  %-16.24s  %-28.40s  ", f->name, value);
        carm_opt_print_wrapped(head, 50, "%s", f->source);
    }
}

/* Prints the ceilings of one side, the roof first, as in the picture. */
static void print_side(const char *title, const struct carm_published_side *side, const char *unit)
{
    if (side->n == 0) {
        return;
    }
    printf("\n%s\n", title);
    for (size_t i = side->n; i-- > 0;) {
        const struct carm_ceiling *ceiling = &side->list[i];
        char rate[CARM_TEXT_NUMBER_MAX], head[96];
        snprintf(head, sizeof head, "  %-22.24s %14s  ", ceiling->name,
                 carm_text_si(rate, sizeof rate, ceiling->rate, unit));
        carm_opt_print_wrapped(head, 41, "%s%s[%s]", *ceiling->step ? ceiling->step : "the roof",
                               " ", side->sources[i]);
    }
}

static void put_side(const struct carm_ceilings *l, const struct carm_ceiling_around *s, char *dst,
                     size_t size)
{
    if (!s->known) {
        snprintf(dst, size, "none");
        return;
    }
    snprintf(dst, size, "%.24s %.2f",
             s->compute ? l->compute[s->index].name : l->memory[s->index].name, s->at / 1e9);
}

static int print_results(const struct carm_published *p, const struct carm_published_machine *m,
                         struct carm_ceilings *l, struct carm_err *err)
{
    struct carm_ceiling_around upper, lower;
    struct carm_gain gains[2 * CARM_CEILINGS_MAX];
    enum carm_region region;
    if (m->nresults == 0) {
        return 0;
    }
    printf("\nKernels (table 4), Gflop/s; ceilings as computed from the above\n"
           "  %-9s %9s %8s  %-19s %-19s %s\n",
           "kernel", "flop/byte", "achieved", "ceiling above", "ceiling below", "limit");
    for (size_t i = 0; i < m->nresults; i++) {
        const struct carm_published_result *res = &m->results[i];
        char above[64], below[64];
        int rc = carm_published_place(p, m, res, l, &upper, &lower, err);
        if (rc) {
            return rc;
        }
        put_side(l, &upper, above, sizeof above);
        put_side(l, &lower, below, sizeof below);
        printf("  %-9s %9.2f %8.1f  %-19s %-19s %s\n", res->kernel, res->intensity,
               res->performance / 1e9, above, below,
               !upper.known    ? "-"
               : upper.compute ? "compute"
                               : "memory");
    }
    printf("\nOptimisations in reach, and the most that each can give\n");
    for (size_t i = 0; i < m->nresults; i++) {
        const struct carm_published_result *res = &m->results[i];
        int rc = carm_published_place(p, m, res, l, &upper, &lower, err);
        if (rc) {
            return rc;
        }
        const size_t n = carm_ceilings_gains(l, res->intensity, res->performance, &region, gains);
        printf("  %-9s region: %s\n", res->kernel, carm_region_name(region));
        for (size_t k = 0; k < n; k++) {
            const struct carm_gain *g = &gains[k];
            char head[32];
            snprintf(head, sizeof head, "            %5.2f x  ", g->times);
            carm_opt_print_wrapped(
                head, 21, "%s", g->compute ? l->compute[g->index].step : l->memory[g->index].step);
        }
        if (n == 0) {
            printf("            nothing: it reaches the roof\n");
        }
    }
    return 0;
}

/* Prints the machines of a group, whose ids begin with the group's name; the title comes before the
 * first machine. */
static void print_group(const struct carm_published *p, const char *group, const char **title)
{
    const size_t length = strlen(group);
    for (size_t i = 0; i < p->ndisagreements; i++) {
        const struct carm_published_disagreement *d = &p->disagreements[i];
        if (strncmp(d->id, group, length) != 0 || d->id[length] != '/') {
            continue;
        }
        if (*title) {
            printf("\n%s\n", *title);
            *title = NULL;
        }
        printf("  %s\n", d->id + length + 1);
        carm_opt_print_wrapped("    printed:  ", 14, "%s", d->printed);
        carm_opt_print_wrapped("    computed: ", 14, "%s", d->computed);
        carm_opt_print_wrapped("    ", 4, "%s", d->reason);
    }
}

static void print_disagreements(const struct carm_published *p,
                                const struct carm_published_machine *m)
{
    const char *title = "Printed figures that disagree with the paper's other figures";
    print_group(p, m->name, &title);
    title = "The same in its text, for all machines";
    print_group(p, "paper", &title);
}

static void draw(const struct carm_ceilings *l, bool ascii)
{
    struct carm_draw_level levels[CARM_DRAW_LEVELS_MAX];
    const struct carm_ceiling *peak = carm_ceilings_peak(l);
    struct carm_draw_roofline picture = {.levels = levels,
                                         .operation = "flop",
                                         .title = l->title,
                                         .ascii = ascii,
                                         .colour = carm_screen_colour(STDOUT_FILENO)};
    for (size_t i = l->nmemory; i-- > 0 && picture.nlevels < CARM_DRAW_LEVELS_MAX;) {
        const size_t n = picture.nlevels++;
        levels[n] = (struct carm_draw_level){l->memory[i].name, l->memory[i].rate, n};
    }
    if (peak && picture.nlevels > 0) {
        picture.peak_name = peak->name;
        picture.peak = peak->rate;
        carm_screen_size(STDOUT_FILENO, &picture.columns, &picture.rows);
        printf("\n");
        carm_draw_print(stdout, &picture);
    }
}

/* Prints to standard output.
 * plot  with the roofline drawn in the terminal
 * returns 0 or as carm_published_place */
static int show_published(const struct carm_published *published,
                          const struct carm_published_machine *machine, bool plot, bool ascii,
                          struct carm_err *err)
{
    struct carm_ceilings *l = malloc(sizeof *l);
    if (!l) {
        return carm_fail(err, CARM_ENOMEM, "out of memory");
    }
    printf("%s, as published\n", machine->title);
    carm_opt_print_wrapped("  ", 2, "%s; %s", published->paper, machine->figures);
    print_facts(machine);
    print_side("Memory ceilings, and what breaks through each", &machine->memory, "B/s");
    print_side("Compute ceilings", &machine->compute, "flop/s");
    print_side("Compute ceilings with multiply/add balance at the bottom",
               &machine->compute_balance_bottom, "flop/s");
    carm_published_ceilings(machine, CARM_BALANCE_TOP, l);
    printf("\nRidge point %.3g flop/byte\n", carm_ceilings_ridge(l));
    int rc = print_results(published, machine, l, err);
    if (rc == 0) {
        print_disagreements(published, machine);
        if (*machine->note) {
            printf("\n");
            carm_opt_print_wrapped("Note: ", 6, "%s", machine->note);
        }
        if (plot) {
            carm_published_ceilings(machine, CARM_BALANCE_TOP, l);
            draw(l, ascii);
        }
    }
    free(l);
    return rc;
}

bool carm_show_published_operand(const char *operand, const char *misplaced, bool json, bool plot,
                                 bool ascii, int *code)
{
    struct carm_err err = {""};
    struct carm_published *published = NULL;
    const struct carm_published_machine *machine = NULL;
    int rc = carm_published_operand(operand, &published, &machine, &err);
    if (rc == 0) {
        return false;
    }
    if (rc == 1 && misplaced) {
        *code = carm_say_error(CARM_EXIT_MISUSE, "%s is for models, not for published machines",
                               misplaced);
        carm_published_close(published);
        return true;
    }
    if (rc == 1) {
        rc = 0;
        if (json) {
            fputs(carm_asset_data_roofline_2009, stdout);
        } else {
            rc = show_published(published, machine, plot, ascii, &err);
        }
    }
    *code = rc ? carm_say_error(CARM_EXIT_FAILED, "%s", err.text) : CARM_EXIT_OK;
    carm_published_close(published);
    return true;
}

static int print_measured(const char *name, bool ascii, struct carm_err *err)
{
    struct carm_model *m = NULL;
    char cpu[CARM_TEXT_MAX];
    const int rc = carm_gallery_open(name, &m, err);
    if (rc) {
        return rc;
    }
    const struct carm_roofs *best = carm_select_best(&(struct carm_select){.nisa = 0}, m);
    printf("  %-10s  %-21s  %5d  %-8s  %-7s  %-10.10s  %s\n", name,
           carm_text_fit(cpu, sizeof cpu, m->machine.cpu, 21, ascii), m->machine.cores,
           *m->machine.hypervisor ? m->machine.hypervisor : "-", best ? best->isa : "-", m->created,
           m->carm_version);
    carm_model_free(m);
    return 0;
}

int carm_show_machines(bool ascii, struct carm_err *err)
{
    struct carm_published *published = NULL;
    int rc = carm_published_load(&published, err);
    if (rc) {
        return rc;
    }
    printf("Measured machines: models for carm show, plot, place and compare\n"
           "  %-10s  %-21s  %5s  %-8s  %-7s  %-10s  %s\n",
           "name", "CPU", "cores", "virtual", "ISA", "measured", "carm");
    for (size_t i = 0; carm_gallery_name(i) && !rc; i++) {
        rc = print_measured(carm_gallery_name(i), ascii, err);
    }
    printf("\nPublished machines (%s): for carm show and plot\n", published->citation);
    for (size_t i = 0; i < published->nmachines && !rc; i++) {
        printf("  %-10s  %s\n", published->machines[i].name, published->machines[i].title);
    }
    carm_published_close(published);
    return rc;
}
