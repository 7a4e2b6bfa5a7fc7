/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/place.h"

#include <string.h>

static double value(const struct carm_counts *c, enum carm_quantity q, double otherwise)
{
    return carm_count_has(c, q) ? c->q[q].value : otherwise;
}

bool carm_run_is_integers(const struct carm_row *row)
{
    return row->metric && strcmp(row->metric, CARM_METRIC_INTEGERS) == 0;
}

double carm_run_work(const struct carm_row *row)
{
    return carm_run_is_integers(row) ? row->operations : value(&row->counts, CARM_Q_FLOPS, 0.0);
}

bool carm_run_waits(const struct carm_run *run)
{
    return carm_point_waits(run->row.threads, run->cpu_seconds, run->row.seconds);
}

double carm_run_placed_seconds(const struct carm_run *run)
{
    return carm_run_waits(run) ? run->cpu_seconds : run->row.seconds;
}

void carm_run_mix(struct carm_runmix *mix, const struct carm_counts *c)
{
    for (int i = 0; i < CARM_RUNMIX_COUNT; i++) {
        const enum carm_quantity q = carm_quantity_find(carm_runmix_name((enum carm_runmix_part)i));
        mix->q[i] = carm_count_has(c, q) ? c->q[q].value : -1.0;
    }
}

bool carm_run_place_levels(const struct carm_row *row, const struct carm_model *model,
                           const struct carm_roofs *roofs, struct carm_levels *out)
{
    static const enum carm_quantity bytes[CARM_AT_COUNT] = {CARM_Q_BYTES, CARM_Q_L2_BYTES,
                                                            CARM_Q_L3_BYTES, CARM_Q_DRAM_BYTES};
    static const enum carm_quantity unused[CARM_AT_COUNT] = {CARM_Q_COUNT, CARM_Q_L2_UNUSED,
                                                             CARM_Q_L3_UNUSED, CARM_Q_DRAM_UNUSED};
    const struct carm_counts *c = &row->counts;
    struct carm_levels_input in = {.flops = carm_run_work(row),
                                   .integers = carm_run_is_integers(row),
                                   .seconds = row->seconds};
    for (int i = 0; i < CARM_AT_COUNT; i++) {
        in.bytes[i] = value(c, bytes[i], -1.0);
        in.low[i] = c->q[bytes[i]].low;
        in.high[i] = c->q[bytes[i]].high;
        in.unused[i] = i > 0 ? value(c, unused[i], -1.0) : -1.0;
        for (int r = 0; r < CARM_MISS_REASONS && i > 0; r++) {
            const int q = CARM_Q_L2_COMPULSORY + (i - 1) * CARM_MISS_REASONS + r;
            in.misses[i][r] = value(c, (enum carm_quantity)q, 0.0);
        }
    }
    return carm_count_has(c, CARM_Q_L2_BYTES) && row->seconds > 0.0 &&
           carm_levels_place(model, roofs, &in, out);
}

static void fill_point(struct carm_point *point, const struct carm_row *row)
{
    *point = (struct carm_point){.name = row->name,
                                 .flops = value(&row->counts, CARM_Q_FLOPS, CARM_POINT_UNKNOWN),
                                 .bytes = value(&row->counts, CARM_Q_BYTES, CARM_POINT_UNKNOWN),
                                 .seconds = row->seconds,
                                 .threads = row->threads,
                                 .isa = row->isa ? row->isa : "",
                                 .precision = row->precision ? row->precision : "",
                                 .operations = row->operations,
                                 .metric = row->metric ? row->metric : ""};
    carm_run_mix(&point->mix, &row->counts);
}

void carm_run_part_row(const struct carm_run *run, const struct carm_profile *profile,
                       const struct carm_run_levels *levels, size_t part, struct carm_row *row)
{
    carm_parts_row(run, profile, &profile->rows[part], row);
    carm_run_levels_put(levels, part, &row->counts);
}

void carm_run_part_place(struct carm_run_placed *out, const struct carm_run *run,
                         const struct carm_profile *profile, const struct carm_run_levels *levels,
                         const struct carm_model *model, size_t i)
{
    char note[CARM_TEXT_MAX];
    const struct carm_profile_row *part = &profile->rows[i];
    struct carm_kind_shares cores;
    struct carm_model *mixed = NULL;
    carm_run_part_row(run, profile, levels, i, &out->row);
    fill_point(&out->point, &out->row);
    carm_run_kinds(part, &cores);
    if (model && carm_kinds_mix(model, &cores, &mixed, note, NULL) == 0 && mixed) {
        model =
            mixed; /* needed only until the place is found: the place borrows its sets of roofs */
    }
    const struct carm_roofs *roofs =
        model ? carm_place_roofs(model, out->point.precision, out->row.threads, note) : NULL;
    out->has_levels = roofs && part->samples > 0 && !part->differs &&
                      carm_run_place_levels(&out->row, model, roofs, &out->levels);
    out->placed = model && profile->has_counts && profile->has_time && !part->differs &&
                  part->samples > 0 && part->kind != CARM_PROFILE_OTHERS &&
                  part->kind != CARM_PROFILE_UNKNOWN &&
                  carm_hot_find(model, &out->point, &out->hot);
    out->hot.roofs = mixed ? NULL : out->hot.roofs;
    carm_kinds_close(mixed);
}
