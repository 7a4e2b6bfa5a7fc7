/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Roofs that a model of this machine lacks for a point: measured alone and added, in a second. */
#pragma once

#include "asm/isa.h"
#include "harness/place/host.h"
#include "models/model.h"

/* One set of roofs. */
struct carm_build_lack {
    enum carm_isa isa;
    enum carm_precision precision;
    int threads;
};

/* Whether a model has no set of roofs of this ISA, precision and number of threads, although this
 * machine can measure one.
 * isa, precision  of a point; false for unknown ones ("", "mixed"), tiles and integers
 * out             the set */
bool carm_build_lacks(const struct carm_model *model, const char *isa, const char *precision,
                      int threads, const struct carm_cpu *cpu, const struct carm_topo *topo,
                      struct carm_build_lack *out);

/* Measures the set: the model's mix of loads and stores on the working sets that the model has for
 * each level, and the operations of the default model. Adds it to the model.
 * host  with its turn to measure (carm_host_enter)
 * returns 0; -CARM_EINVAL (the model is of another machine); -CARM_EIO (a level or all operations had no figure
 * after some seconds; the model may contain a part of the set and must not be written); -CARM_EINTR, -CARM_ENOMEM,
 * or as carm_image_open */
int carm_build_add_lack(struct carm_model *model, const struct carm_build_lack *lack,
                        const struct carm_host *host, struct carm_err *err);
