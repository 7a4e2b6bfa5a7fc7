/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/place/output.h"

#include <unistd.h>

static ssize_t write_file(void *cookie, const char *data, size_t size)
{
    struct carm_place_outputs *o = cookie;
    return carm_outfile_write(o->file, data, size, &o->file_err) ? -1 : (ssize_t)size;
}

bool carm_place_has_ceilings(const struct carm_model *model)
{
    for (size_t i = 0; i < model->nroofs; i++) {
        if (model->roofs[i].nceilings > 0) {
            return true;
        }
    }
    return false;
}

int carm_place_outputs_open(struct carm_place_outputs *outputs,
                            const struct carm_place_printer *same, const char *csv,
                            struct carm_err *err)
{
    struct carm_place_outputs *o = outputs;
    o->printers[o->n++] = *same;
    if (!isatty(STDOUT_FILENO)) {
        (void)setvbuf(stdout, NULL, _IOFBF, 1 << 18);
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
    (void)setvbuf(printer->out, NULL, _IOFBF, 1 << 18);
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
