/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where `carm place` prints: standard output, and a CSV file beside it. */
#ifndef CARM_CLI_PLACE_OUTPUT_H
#define CARM_CLI_PLACE_OUTPUT_H

#include "cli/place/print.h"
#include "base/outfile.h"

struct carm_place_outputs {
    struct carm_place_printer printers[2];
    size_t n;
    struct carm_outfile *file; /* of the second printer, NULL = none */
    struct carm_err file_err;  /* why it cannot be written, "" = it can */
};

/* Whether any of the model's roofs have measured ceilings. */
bool carm_place_has_ceilings(const struct carm_model *model);

/* outputs  zeroed; stays where it is until it is closed
 * same     the printer of standard output; copied
 * csv      the file, NULL = none
 * returns 0; -CARM_ENOMEM; as carm_outfile_open */
int carm_place_outputs_open(struct carm_place_outputs *outputs,
                            const struct carm_place_printer *same, const char *csv,
                            struct carm_err *err);

/* Brings the CSV file to its place; without success its target stays as it was.
 * rc  how the printing ended: 0, or an error with which the file is given up
 * returns rc, or what went wrong here */
int carm_place_outputs_close(struct carm_place_outputs *outputs, int rc, struct carm_err *err);

#endif
