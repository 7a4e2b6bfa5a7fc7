/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/place/print.h"

#include <unistd.h>

#include "base/text.h"

void carm_place_begin(struct carm_place_printer *printer, const struct carm_model *model)
{
    printer->flops = !*printer->metric;
    printer->model = model;
    if (printer->format == CARM_PLACE_CSV) {
        carm_place_csv_begin(printer);
    } else if (printer->format == CARM_PLACE_BENCHMARK) {
        carm_place_benchmark_begin(printer, model);
    } else if (printer->format == CARM_PLACE_JSON) {
        printer->json = (struct carm_place_json){
            .out = printer->out, .ceilings = printer->ceilings, .runtime = printer->runtime};
        carm_place_json_begin(&printer->json);
    }
}

void carm_place_put(struct carm_place_printer *printer, const struct carm_placed *placed)
{
    printer->metric = placed->set->metric;
    if (printer->format == CARM_PLACE_TABLE) {
        carm_place_table_put(printer, placed);
    } else if (printer->format == CARM_PLACE_CSV) {
        carm_place_csv_put(printer, placed);
    } else if (printer->format == CARM_PLACE_BENCHMARK) {
        carm_place_benchmark_put(printer, placed);
    } else {
        carm_place_json_put(&printer->json, placed);
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
    } else if (printer->format == CARM_PLACE_BENCHMARK) {
        carm_place_benchmark_end(printer);
    } else if (printer->format == CARM_PLACE_JSON) {
        carm_place_json_end(&printer->json);
    }
}

static ssize_t write_file(void *cookie, const char *data, size_t size)
{
    struct carm_place_outputs *o = cookie;
    return carm_outfile_write(o->file, data, size, &o->file_err) ? -1 : (ssize_t)size;
}

int carm_place_outputs_open(struct carm_place_outputs *outputs,
                            const struct carm_place_printer *same, const char *csv,
                            struct carm_err *err)
{
    struct carm_place_outputs *o = outputs;
    o->printers[o->n++] = *same;
    if (!isatty(STDOUT_FILENO)) {
        setvbuf(stdout, NULL, _IOFBF, 1 << 18);
    }
    if (!csv) {
        return 0;
    }
    const int rc = carm_outfile_open(csv, &o->file, err);
    if (rc) {
        return rc;
    }
    const cookie_io_functions_t io = {.write = write_file};
    struct carm_place_printer *printer = &o->printers[o->n];
    *printer = *same;
    printer->format = CARM_PLACE_CSV;
    printer->out = fopencookie(o, "w", io);
    if (!printer->out) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to write %.256s", csv);
    }
    setvbuf(printer->out, NULL, _IOFBF, 1 << 18);
    o->n++;
    return 0;
}

int carm_place_outputs_close(struct carm_place_outputs *outputs, int rc, struct carm_err *err)
{
    struct carm_place_outputs *o = outputs;
    if (o->n > 1) {
        const bool bad = ferror(o->printers[1].out) != 0;
        if ((fclose(o->printers[1].out) != 0 || bad) && !rc) {
            *err = o->file_err;
            rc = -CARM_EIO;
        }
        rc = rc ? rc : carm_outfile_commit(o->file, err);
    }
    carm_outfile_close(o->file);
    return rc;
}
