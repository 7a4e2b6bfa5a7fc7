/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/show/tables.h"

#include <stdlib.h>
#include <string.h>

#include "base/csv.h"
#include "base/outfile.h"
#include "models/place/set.h"

struct row {
    const char *kind, *name, *mix, *unit, *code, *note;
    double rate, clock_hz;
    struct carm_ci ci;
    uint64_t working_set;
    bool disturbed;
};

static void put_text(FILE *out, const char *text)
{
    carm_csv_put_clean(out, text);
    fputc(',', out);
}

static void put_number(FILE *out, double v)
{
    if (v > 0.0) {
        carm_csv_number(out, v);
    }
    fputc(',', out);
}

static void put_row(FILE *out, const struct carm_model *m, const struct carm_roofs *r,
                    const struct row *row)
{
    const bool interval = !*m->roofs_of;
    put_text(out, r->isa);
    put_text(out, r->precision);
    fprintf(out, "%d,", r->threads);
    put_text(out, row->kind);
    put_text(out, row->name);
    put_text(out, row->mix);
    put_number(out, row->rate);
    put_text(out, row->unit);
    put_number(out, interval ? row->ci.lo : 0.0);
    put_number(out, interval ? row->ci.hi : 0.0);
    put_number(out, row->clock_hz);
    put_number(out, (double)row->working_set);
    put_text(out, row->code);
    put_text(out, row->disturbed ? "yes" : "no");
    carm_csv_put_clean(out, row->note);
    fputc('\n', out);
}

static void put_set(FILE *out, const struct carm_model *m, const struct carm_roofs *r)
{
    for (size_t i = 0; i < r->nmemory; i++) {
        const struct carm_memory_roof *x = &r->memory[i];
        put_row(out, m, r,
                &(struct row){"memory", x->level, x->ldst, "byte/s", x->code, x->note, x->bandwidth,
                              x->clock_hz, x->ci95, x->working_set_bytes, x->disturbed});
    }
    for (size_t i = 0; i < r->ncompute; i++) {
        const struct carm_compute_roof *x = &r->compute[i];
        put_row(out, m, r,
                &(struct row){"compute", x->op, "", carm_precision_rate(r->precision), x->code,
                              x->note, x->rate, x->clock_hz, x->ci95, 0, x->disturbed});
    }
    if (r->dram_peak.bandwidth > 0.0) {
        put_row(out, m, r,
                &(struct row){"dram_peak",
                              "DRAM",
                              "",
                              "byte/s",
                              r->dram_peak.code,
                              "",
                              r->dram_peak.bandwidth,
                              0.0,
                              {0.0, 0.0},
                              0,
                              false});
    }
    for (size_t i = 0; i < r->nceilings; i++) {
        const struct carm_ceiling_roof *x = &r->ceilings[i];
        const bool bytes = x->group == CARM_CEILING_MEMORY || x->group == CARM_CEILING_TRAFFIC;
        put_row(out, m, r,
                &(struct row){"ceiling", x->name, "",
                              bytes ? "byte/s" : carm_precision_rate(r->precision), x->code,
                              x->note, x->rate, x->clock_hz, x->ci95, x->working_set_bytes,
                              x->disturbed});
    }
}

static int put_csv(FILE *out, const void *context, struct carm_err *err)
{
    const struct carm_show_table *t = context;
    (void)err;
    fputs("isa,precision,threads,kind,name,mix,rate,unit,ci95_low,ci95_high,clock_hz,"
          "working_set_bytes,code,disturbed,note\n",
          out);
    for (size_t i = 0; i < t->model->nroofs; i++) {
        if (carm_select_has(t->select, t->model->roofs[i].isa, t->model->roofs[i].threads)) {
            put_set(out, t->model, &t->model->roofs[i]);
        }
    }
    return 0;
}

int carm_show_put_csv(const struct carm_show_table *table, const char *path, struct carm_err *err)
{
    return carm_outfile_print(path, put_csv, table, err);
}

/* Reads "2:1" as numbers; false for update, nt and other mixes */
static bool parse_mix(const char *mix, unsigned long *loads, unsigned long *stores)
{
    char *end;
    if (*mix < '0' || *mix > '9') {
        return false;
    }
    *loads = strtoul(mix, &end, 10);
    if (*end != ':' || end[1] < '0' || end[1] > '9') {
        return false;
    }
    *stores = strtoul(end + 1, &end, 10);
    return *end == '\0';
}

/* Bytes of an access and its elements, by the ISA's name; 0 = unknown */
static double vector_bytes(const struct carm_roofs *r, double *lanes)
{
    static const double bytes[CARM_PLACE_WIDTHS] = {0.0, 16.0, 32.0, 64.0};
    const int width = carm_place_width(r->isa);
    const double element = strcmp(r->precision, "sp") == 0 ? 4.0 : 8.0;
    const double wide = width < 0 ? 0.0 : width == 0 ? element : bytes[width];
    *lanes = wide / element;
    return wide;
}

static void put_rate(FILE *out, double rate, double per_cycle, double unit)
{
    fprintf(out, ",%.4f,%.4f", rate / 1e9, unit > 0.0 ? per_cycle / unit : 0.0);
}

static void put_mix(FILE *out, const struct carm_model *m, const struct carm_roofs *r,
                    const char *mix, unsigned long loads, unsigned long stores)
{
    static const char *const levels[] = {"L1", "L2", "L3", "DRAM"};
    static const char *const ops[] = {"add", "mul", "div"};
    const struct carm_compute_roof *op = NULL, *fma = NULL;
    const struct carm_memory_roof *dram = carm_roofs_find_memory(r, "DRAM", mix);
    double lanes;
    const double wide = vector_bytes(r, &lanes);
    for (size_t i = 0; i < r->ncompute; i++) {
        fma = strcmp(r->compute[i].op, "fma") == 0 ? &r->compute[i] : fma;
        for (size_t k = 0; k < sizeof ops / sizeof *ops && !op; k++) {
            op = strcmp(r->compute[i].op, ops[k]) == 0 ? &r->compute[i] : NULL;
        }
    }
    const struct carm_compute_roof *second = op ? fma : NULL;
    op = op ? op : fma;
    put_text(out, m->created);
    put_text(out, r->isa);
    put_text(out, r->precision);
    fprintf(out, "%d,%lu,%lu,No,%llu,%s", r->threads, loads, stores,
            dram ? (unsigned long long)dram->working_set_bytes : 0ULL, op ? op->op : "add");
    for (size_t i = 0; i < sizeof levels / sizeof *levels; i++) {
        const struct carm_memory_roof *x = carm_roofs_find_memory(r, levels[i], mix);
        put_rate(out, x ? x->bandwidth : 0.0, x ? x->bytes_per_cycle : 0.0, wide);
    }
    put_rate(out, op ? op->rate : 0.0, op ? op->flops_per_cycle : 0.0,
             op == fma ? 2 * lanes : lanes);
    put_rate(out, second ? second->rate : 0.0, second ? second->flops_per_cycle : 0.0, 2 * lanes);
    fputc('\n', out);
}

static double cache_kib(const struct carm_model *m, const char *level)
{
    for (size_t i = 0; i < m->nlevels; i++) {
        if (strcmp(m->levels[i].level, level) == 0) {
            return (double)m->levels[i].os_size_bytes / 1024.0;
        }
    }
    return 0.0;
}

static int put_carm_tool(FILE *out, const void *context, struct carm_err *err)
{
    const struct carm_show_table *t = context;
    const struct carm_model *m = t->model;
    size_t rows = 0;
    fputs("Name:,", out);
    carm_csv_put_clean(out, m->machine.hostname);
    fprintf(out,
            ",L1 Size:,%.0f,L2 Size:,%.0f,L3 Size:,%.0f,,L1,L1,L2,L2,L3,L3,DRAM,DRAM,FP,FP,FP FMA,"
            "FP_FMA\nDate,ISA,Precision,Threads,Loads,Stores,Interleaved,DRAM Bytes,FP Inst.,GB/s,"
            "I/Cycle,GB/s,I/Cycle,GB/s,I/Cycle,GB/s,I/Cycle,Gflop/s,I/Cycle,Gflop/s,I/Cycle\n",
            cache_kib(m, "L1"), cache_kib(m, "L2"), cache_kib(m, "L3"));
    for (size_t i = 0; i < m->nroofs; i++) {
        const struct carm_roofs *r = &m->roofs[i];
        for (size_t k = 0; k < r->nmemory && carm_select_has(t->select, r->isa, r->threads); k++) {
            unsigned long loads = 0, stores = 0;
            size_t before = 0;
            while (strcmp(r->memory[before].ldst, r->memory[k].ldst) != 0) {
                before++;
            }
            if (before == k && parse_mix(r->memory[k].ldst, &loads, &stores)) {
                put_mix(out, m, r, r->memory[k].ldst, loads, stores);
                rows++;
            }
        }
    }
    return rows ? 0
                : carm_fail(
                      err, CARM_EINVAL,
                      "the model has no roofs of a mix such as 2:1, which the CARM Tool needs");
}

int carm_show_put_carm_tool(const struct carm_show_table *table, const char *path,
                            struct carm_err *err)
{
    return carm_outfile_print(path, put_carm_tool, table, err);
}
