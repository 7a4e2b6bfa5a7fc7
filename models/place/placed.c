/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/place/placed.h"

#include "models/file/select.h"

bool carm_place_elsewhere(const struct carm_point *point, const struct carm_model *model,
                          char *note, size_t size)
{
    const char *mine = model->machine.hostname;
    const bool elsewhere = *point->host && *mine && !carm_select_same_host(point->host, mine);
    note[0] = '\0';
    if (elsewhere) {
        (void)snprintf(note, size, "it was measured on %.64s, the model is of %.64s", point->host,
                       mine);
    }
    return elsewhere;
}

static void place(struct carm_placed *d, enum carm_place_which which, bool elsewhere)
{
    const struct carm_point *p = d->point;
    const bool aware = which == CARM_PLACE_CACHE_AWARE;
    const struct carm_place_input in = {
        .flops = p->flops,
        .bytes = aware ? p->bytes : p->dram_bytes,
        .seconds = p->seconds,
        .flops_low = p->flops_low,
        .flops_high = p->flops_high,
        .bytes_low = aware ? p->bytes_low : CARM_POINT_UNKNOWN,
        .bytes_high = aware ? p->bytes_high : CARM_POINT_UNKNOWN,
        .threads = p->threads,
        .isa = p->isa,
        .precision = p->precision,
        .elsewhere = elsewhere,
    };
    if (!carm_point_knows(in.bytes)) {
        (void)carm_fail(&d->why[which], CARM_EINVAL, "its %sbytes were not counted",
                        aware ? "" : "DRAM ");
    } else if (!(in.bytes > 0.0)) {
        (void)carm_fail(&d->why[which], CARM_EINVAL,
                        "it moves no %sbytes, so its intensity has no end", aware ? "" : "DRAM ");
    } else {
        d->has[which] = carm_place_point(d->set, which, &in, &d->place[which], &d->why[which]) == 0;
    }
}

void carm_place_under(struct carm_placed *placed, const struct carm_point *point,
                      const struct carm_place_choice *choice, const char *unplaced,
                      const char *host)
{
    placed->point = point;
    placed->set = choice->set;
    placed->roofs = choice->set->roofs;
    placed->rows = 1;
    placed->imbalance = 0.0;
    placed->unplaced = unplaced;
    placed->notes[0] = choice->note;
    placed->notes[1] = host;
    placed->notes[2] = "";
    placed->fresh = choice->fresh;
    placed->view = placed->whole = NULL;
    placed->has[0] = placed->has[1] = placed->has_runtime = false;
    if (!unplaced) {
        place(placed, CARM_PLACE_CACHE_AWARE, *host != '\0');
        place(placed, CARM_PLACE_ORIGINAL, *host != '\0');
    }
}
