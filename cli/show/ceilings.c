/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/show/ceilings.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/opt.h"
#include "base/text.h"
#include "models/ceilings.h"
#include "models/ceilings.h"

static const char *unit_of(enum carm_ceiling_group group)
{
    return group == CARM_CEILING_MEMORY || group == CARM_CEILING_TRAFFIC ? "B/s" : "flop/s";
}

static const char *title_of(enum carm_ceiling_group group)
{
    static const char *const titles[CARM_CEILING_GROUP_COUNT] = {
        [CARM_CEILING_IN_CORE] = "in-core: parallelism and balance",
        [CARM_CEILING_MIX] = "mix: share of floating point among instructions",
        [CARM_CEILING_MEMORY] = "memory: traffic with one optimisation less",
        [CARM_CEILING_BUSY] = "busy: some of the threads compute",
        [CARM_CEILING_TRAFFIC] = "traffic: some of the threads load",
    };
    return titles[group];
}

/* A string of the file, made safe, in width columns. */
static void put(int width, const char *s, bool ascii)
{
    char clean[CARM_TEXT_MAX];
    (void)carm_text_clean(clean, sizeof clean, s, ascii);
    const int pad = width - (int)carm_text_width(clean);
    (void)printf("%s%*s", clean, pad > 0 ? pad : 0, "");
}

static void put_ceiling(const struct carm_roofs *roofs, const struct carm_ceiling_roof *c,
                        bool ascii)
{
    char number[CARM_TEXT_NUMBER_MAX];
    char gap[64] = "";
    const char *by = "";
    (void)printf("    ");
    put(16, c->name, ascii);
    if (!(c->rate > 0.0)) {
        (void)printf(" %14s  ", "-");
        put(0, c->note, ascii);
        (void)printf("\n");
        return;
    }
    const double times = carm_ceiling_gap(roofs, c, &by);
    const double side = fmax(c->rate - c->ci95.lo, c->ci95.hi - c->rate);
    if (times > 0.0) {
        (void)snprintf(gap, sizeof gap, "x%.2f by %s", times, by);
    }
    (void)printf(" %14s  %s%s%.2f%%  ",
                 carm_text_si(number, sizeof number, c->rate, unit_of(c->group)),
                 c->disturbed ? "! " : "  ", ascii ? "+-" : "±", 100.0 * side / c->rate);
    put(27, gap, ascii);
    (void)printf("  ");
    put(0, c->code, ascii);
    (void)printf("\n");
    if (c->note[0]) {
        (void)printf("      ");
        put(0, c->note, ascii);
        (void)printf("\n");
    }
}

static void put_group(const struct carm_roofs *roofs, enum carm_ceiling_group group, bool ascii)
{
    bool head = false;
    for (size_t i = 0; i < roofs->nceilings; i++) {
        const struct carm_ceiling_roof *c = &roofs->ceilings[i];
        if (c->group == group) {
            if (!head) {
                (void)printf("    %s\n", title_of(group));
                head = true;
            }
            put_ceiling(roofs, c, ascii);
        }
    }
}

static void put_chain(const char *head, const struct carm_ceiling *list, size_t n, const char *unit)
{
    char line[1536];
    char number[CARM_TEXT_NUMBER_MAX];
    size_t used = 0;
    line[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        if (!list[i].aside && used < sizeof line) {
            const int put =
                snprintf(line + used, sizeof line - used, "%s%s (%s)", used ? " < " : "",
                         list[i].name, carm_text_si(number, sizeof number, list[i].rate, unit));
            used += put > 0 ? (size_t)put : 0;
        }
    }
    if (used) {
        carm_opt_print_wrapped(head, 6, "%s", line);
    }
}

/* The order in which the paper breaks through them; what costs nothing here is left out. */
static void put_chains(const struct carm_model *model, const struct carm_roofs *roofs)
{
    struct carm_ceilings top;
    struct carm_ceilings bottom;
    if (carm_ceilings_of_roofs(model, roofs, CARM_BALANCE_TOP, &top, NULL) ||
        carm_ceilings_of_roofs(model, roofs, CARM_BALANCE_BOTTOM, &bottom, NULL)) {
        return;
    }
    put_chain("    in order, balance on top: ", top.compute, top.ncompute, "flop/s");
    put_chain("    in order, balance at the bottom: ", bottom.compute, bottom.ncompute, "flop/s");
    put_chain("    in order, memory: ", top.memory, top.nmemory, "B/s");
}

void carm_show_ceilings(const struct carm_model *model, const struct carm_roofs *roofs, bool ascii)
{
    if (roofs->nceilings == 0) {
        return;
    }
    (void)printf("  ceilings                 rate    95%% CI  to the next one               test "
                 "code\n");
    for (int g = 0; g < CARM_CEILING_GROUP_COUNT; g++) {
        put_group(roofs, (enum carm_ceiling_group)g, ascii);
    }
    put_chains(model, roofs);
}
