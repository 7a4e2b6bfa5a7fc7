/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The points of a study in its file, and back. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/dwarfs/study.h"
#include "kernels/study/rows.h"
#include "harness/count/row.h"

/* The note of a row: what reading it back needs, in this order. */
#define NOTE_NUMBERS "%.9g to %.9g s in %d runs; compulsory %.9g B; executed %.9g flop; error %.3g"

/* ---- reading --------------------------------------------------------------------------------- */

static void cut(char *dst, size_t size, const char *from, const char *to)
{
    (void)snprintf(dst, size, "%.*s", (int)(to - from), from);
}

/* "SIZE; NUMBERS of BY[; disturbed]; DRAM bytes HOW; REST" */
static bool take_note(const char *note, struct carm_dwarf_point *p)
{
    const char *numbers = strstr(note, "; ");
    double fastest = 0.0, slowest = 0.0, reps = 0.0, compulsory = 0.0, flops = -1.0, error = -1.0;
    const char *at = numbers;
    if (!numbers || !carm_study_rows_number(&at, "; ", &fastest) ||
        !carm_study_rows_number(&at, " to ", &slowest) ||
        !carm_study_rows_number(&at, " s in ", &reps) ||
        !carm_study_rows_number(&at, " runs; compulsory ", &compulsory) ||
        !carm_study_rows_number(&at, " B; executed ", &flops) ||
        !carm_study_rows_number(&at, " flop; error ", &error)) {
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
    (void)snprintf(p->work.core_note, sizeof p->work.core_note, "%.159s", rest ? rest + 2 : "");
    if (strncmp(dram, "; DRAM bytes counted", 20) != 0) {
        p->times.dram_bytes = 0.0;
    }
    return true;
}

static void take_row(void *context, const struct carm_point *row)
{
    struct carm_dwarf_study *study = context;
    for (size_t i = 0; i < study->nitems; i++) {
        struct carm_dwarf_item *item = &study->items[i];
        const bool moves = item->kernel == CARM_DWARF_TRANSPOSE;
        struct carm_dwarf_point new = {.known = true, .kept = true};
        if (item->point.known || row->threads != study->threads ||
            strcmp(item->name, row->name) != 0) {
            continue;
        }
        new.work.operations = moves ? row->operations : row->flops;
        new.work.metric = moves ? "exchange" : "flop";
        new.work.core_bytes = fmax(0.0, row->bytes);
        new.work.core_by = row->bytes > 0.0 ? CARM_COUNTED_STEPPED : CARM_COUNTED_NOT;
        new.times.seconds = row->seconds;
        new.times.dram_bytes = fmax(0.0, row->dram_bytes);
        (void)snprintf(new.isa, sizeof new.isa, "%.15s", row->isa);
        if (new.work.operations > 0.0 && take_note(row->note, &new)) {
            item->point = new;
            carm_dwarf_point_place(study, item);
            study->kept++;
        }
    }
}

int carm_dwarf_rows_read(struct carm_dwarf_study *study, const char *path, struct carm_err *err)
{
    return carm_study_rows_read(path, take_row, study, err);
}

/* ---- writing --------------------------------------------------------------------------------- */

int carm_dwarf_rows_append(const struct carm_dwarf_study *study, const struct carm_dwarf_item *item,
                           const char *path, struct carm_err *err)
{
    const struct carm_dwarf_point *p = &item->point;
    const bool counted = p->times.dram_bytes > 0.0;
    if (!path) {
        return 0;
    }
    struct carm_row *row = calloc(1, sizeof *row);
    if (!row) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to write a point");
    }
    (void)snprintf(row->name, sizeof row->name, "%s", item->name);
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
    row->threads = study->threads;
    row->isa = p->isa;
    row->precision = "dp";
    row->calls = 1;
    row->share = 1.0;
    (void)snprintf(
        row->note, sizeof row->note, "%.48s; " NOTE_NUMBERS " of %.80s%s; DRAM bytes %s; %.80s",
        p->size, p->times.fastest, p->times.slowest, p->times.reps, p->work.compulsory_bytes,
        p->work.core_flops, p->error, p->checked_by, p->times.disturbed ? "; disturbed" : "",
        counted ? "counted" : "compulsory", p->work.core_note);
    const int rc = carm_row_append(path, row, 1, err);
    free(row);
    return rc;
}
