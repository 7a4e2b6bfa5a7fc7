/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The study's points, and their rows of points.csv. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "kernels/dwarfs/study.h"

const char *const carm_dwarf_titles[CARM_DWARF_KERNELS] = {"SpMV", "LBMHD", "Stencil", "3-D FFT",
                                                           "Transpose"};
const char *const carm_dwarf_words[CARM_DWARF_KERNELS] = {"spmv", "lbmhd", "stencil", "fft",
                                                          "transpose"};

double carm_dwarf_point_dram_bytes(const struct carm_dwarf_point *point)
{
    return point->times.dram_bytes > 0.0 ? point->times.dram_bytes : point->work.compulsory_bytes;
}

const struct carm_ceilings *carm_dwarf_ceilings(const struct carm_dwarf_study *study,
                                                enum carm_dwarf_kernel kernel)
{
    return kernel == CARM_DWARF_TRANSPOSE ? &study->moves
           : kernel == CARM_DWARF_SPMV    ? &study->ceilings[CARM_BALANCE_BOTTOM]
                                          : &study->ceilings[CARM_BALANCE_TOP];
}

void carm_dwarf_point_place(const struct carm_dwarf_study *study, struct carm_dwarf_item *item)
{
    struct carm_dwarf_point *p = &item->point;
    struct carm_err ignored;
    const double dram = carm_dwarf_point_dram_bytes(p);
    const double operations = p->work.operations;
    const double seconds = p->times.seconds;
    const bool flops = item->kernel != CARM_DWARF_TRANSPOSE;
    p->has_aware = flops && p->work.core_bytes > 0.0 &&
                   carm_place_cache_aware(study->base.model, study->base.roofs, operations,
                                          p->work.core_bytes, seconds, &p->aware, &ignored) == 0;
    p->has_original = flops && carm_place_original(study->base.model, study->base.roofs, operations,
                                                   dram, seconds, &p->original, &ignored) == 0;
    p->has_sandwich =
        carm_ceilings_around(carm_dwarf_ceilings(study, item->kernel), operations / dram,
                             operations / seconds, false, &p->upper, &p->lower, &ignored) == 0;
}

/* The note of a row: the fields that are needed to read the row back, in this order. */
#define NOTE_NUMBERS "%.9g to %.9g s in %d runs; compulsory %.9g B; executed %.9g flop; error %.3g"

static void cut(char *dst, size_t size, const char *from, const char *to)
{
    snprintf(dst, size, "%.*s", (int)(to - from), from);
}

/* "SIZE; NUMBERS of BY[; disturbed]; DRAM bytes HOW; REST" */
static bool take_note(const char *note, struct carm_dwarf_point *p)
{
    const char *numbers = strstr(note, "; ");
    double fastest = 0.0, slowest = 0.0, reps = 0.0, compulsory = 0.0, flops = -1.0, error = -1.0;
    const char *at = numbers;
    if (!numbers || !carm_study_note_number(&at, "; ", &fastest) ||
        !carm_study_note_number(&at, " to ", &slowest) ||
        !carm_study_note_number(&at, " s in ", &reps) ||
        !carm_study_note_number(&at, " runs; compulsory ", &compulsory) ||
        !carm_study_note_number(&at, " B; executed ", &flops) ||
        !carm_study_note_number(&at, " flop; error ", &error)) {
        return false;
    }
    const char *by = strstr(at, " of ");
    const char *dram = strstr(numbers, "; DRAM bytes ");
    if (!by || !dram || by > dram || !(fastest > 0.0 && fastest <= slowest) || !(reps >= 1.0) ||
        reps > CARM_REPEAT_MAX || !(compulsory > 0.0) || !(flops >= 0.0) || !(error >= 0.0)) {
        return false;
    }
    const char *end = strstr(by, "; ");
    cut(p->size, sizeof p->size, note, numbers);
    cut(p->checked_by, sizeof p->checked_by, by + 4, end);
    p->times.fastest = fastest;
    p->times.slowest = slowest;
    p->times.reps = (int)reps;
    p->times.disturbed = strncmp(end, "; disturbed", 11) == 0;
    p->work.compulsory_bytes = compulsory;
    p->work.core_flops = flops;
    p->error = error;
    const char *rest = strstr(dram + 2, "; ");
    snprintf(p->work.core_note, sizeof p->work.core_note, "%.159s", rest ? rest + 2 : "");
    if (strncmp(dram, "; DRAM bytes counted", 20) != 0) {
        p->times.dram_bytes = 0.0;
    }
    return true;
}

void carm_dwarf_take_row(struct carm_study *base, const struct carm_point *row)
{
    struct carm_dwarf_study *study = (struct carm_dwarf_study *)base;
    for (size_t i = 0; i < study->nitems; i++) {
        struct carm_dwarf_item *item = &study->items[i];
        const bool moves = item->kernel == CARM_DWARF_TRANSPOSE;
        struct carm_dwarf_point *p = &item->point;
        if (p->known || row->threads != study->base.threads || strcmp(item->name, row->name) != 0) {
            continue;
        }
        memset(p, 0, sizeof *p);
        p->work.operations = moves ? row->operations : row->flops;
        p->work.metric = moves ? "exchange" : "flop";
        p->work.core_bytes = fmax(0.0, row->bytes);
        p->work.core_by = row->bytes > 0.0 ? CARM_COUNTED_STEPPED : CARM_COUNTED_NOT;
        p->times.seconds = row->seconds;
        p->times.dram_bytes = fmax(0.0, row->dram_bytes);
        snprintf(p->isa, sizeof p->isa, "%.15s", row->isa);
        p->known = p->kept = p->work.operations > 0.0 && take_note(row->note, p);
        if (p->known) {
            carm_dwarf_point_place(study, item);
            study->base.kept++;
        } else {
            memset(p, 0, sizeof *p);
        }
    }
}

int carm_dwarf_rows_append(const struct carm_dwarf_study *study, const struct carm_dwarf_item *item,
                           const char *path, struct carm_err *err)
{
    const struct carm_dwarf_point *p = &item->point;
    const bool counted = p->times.dram_bytes > 0.0;
    struct carm_row *row = carm_study_row(&study->base, item->name, err);
    if (!row) {
        return -CARM_ENOMEM;
    }
    if (item->kernel == CARM_DWARF_TRANSPOSE) {
        row->operations = p->work.operations;
        row->metric = p->work.metric;
    } else {
        carm_count_put(&row->counts, CARM_Q_FLOPS, p->work.operations, CARM_COUNTED_CONSTRUCTED);
        carm_count_put(&row->counts, CARM_Q_FLOPS_DP, p->work.operations, CARM_COUNTED_CONSTRUCTED);
    }
    if (p->work.core_bytes > 0.0) {
        carm_count_put(&row->counts, CARM_Q_BYTES, p->work.core_bytes, p->work.core_by);
    }
    carm_count_put(&row->counts, CARM_Q_DRAM_BYTES, carm_dwarf_point_dram_bytes(p),
                   counted ? CARM_COUNTED_PMU : CARM_COUNTED_CONSTRUCTED);
    row->seconds = p->times.seconds;
    row->isa = p->isa;
    snprintf(row->note, sizeof row->note,
             "%.48s; " NOTE_NUMBERS " of %.80s%s; DRAM bytes %s; %.80s", p->size, p->times.fastest,
             p->times.slowest, p->times.reps, p->work.compulsory_bytes, p->work.core_flops,
             p->error, p->checked_by, p->times.disturbed ? "; disturbed" : "",
             counted ? "counted" : "compulsory", p->work.core_note);
    return carm_study_row_append(row, path, err);
}
