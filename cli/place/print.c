/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/place/print.h"

#include <string.h>

#include "base/text.h"

void carm_place_begin(struct carm_place_printer *printer, const struct carm_model *model)
{
    if (printer->format == CARM_PLACE_TABLE) {
        carm_place_table_begin(printer, model);
    } else if (printer->format == CARM_PLACE_CSV) {
        carm_place_csv_begin(printer);
    } else {
        carm_place_json_begin(printer);
    }
}

void carm_place_put(struct carm_place_printer *printer, const struct carm_placed *placed)
{
    if (printer->format == CARM_PLACE_TABLE) {
        carm_place_table_put(printer, placed);
    } else if (printer->format == CARM_PLACE_CSV) {
        carm_place_csv_put(printer, placed);
    } else {
        carm_place_json_put(printer, placed);
    }
    bool over = false;
    for (int i = 0; i < 2; i++) {
        printer->places[i] += placed->has[i];
        over = over || (placed->has[i] && placed->place[i].over);
    }
    printer->points++;
    printer->over += over;
    printer->unplaced += !placed->has[0] && !placed->has[1];
}

void carm_place_end(struct carm_place_printer *printer)
{
    if (printer->format == CARM_PLACE_TABLE) {
        carm_place_table_end(printer);
    } else if (printer->format == CARM_PLACE_JSON) {
        carm_place_json_end(printer);
    }
}

char *carm_place_notes(char *dst, size_t size, const struct carm_placed *placed, bool only_fresh)
{
    const struct carm_point *p = placed->point;
    char share[80] = "";
    if (carm_point_knows(p->share) && p->share < 0.9995) {
        (void)snprintf(share, sizeof share, "scaled: %.3g%% of its time or calls was counted",
                       100.0 * p->share);
    }
    const char *const all[] = {p->note, share, only_fresh && !placed->fresh ? "" : placed->notes[0],
                               placed->notes[1], placed->notes[2]};
    size_t used = 0;
    dst[0] = '\0';
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (*all[i] && used < size) {
            const int n = snprintf(dst + used, size - used, "%s%s", used ? "; " : "", all[i]);
            used += n > 0 ? (size_t)n : 0;
        }
    }
    return dst;
}

char *carm_place_unit(char dst[CARM_NAME_MAX], const struct carm_place_printer *printer)
{
    return carm_text_clean(dst, CARM_NAME_MAX, *printer->metric ? printer->metric : "flop",
                           printer->ascii);
}

/* Less is within the errors of roofs and counts. */
static const double worth_listing = 1.0 + CARM_PLACE_TOLERANCE;

char *carm_place_gains_text(char *dst, size_t size, const struct carm_place_set *set,
                            const struct carm_place *place)
{
    size_t used = 0;
    (void)snprintf(dst, size, "none");
    for (size_t i = 0; i < place->ngains && used < size; i++) {
        const struct carm_gain *g = &place->gains[i];
        const struct carm_rung *rung =
            g->compute ? &set->ladder.compute[g->index] : &set->ladder.memory[g->index];
        if (g->times < worth_listing) {
            continue;
        }
        const int n =
            snprintf(dst + used, size - used, "%s%s%s%s%s %.2fx", used ? "; " : "", rung->step,
                     *rung->step ? " (" : "", rung->name, *rung->step ? ")" : "", g->times);
        used += n > 0 ? (size_t)n : 0;
    }
    return dst;
}
