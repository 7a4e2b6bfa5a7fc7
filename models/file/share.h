/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model to share with others: without names of host, people and files. */
#pragma once

#include <stddef.h>

#include "models/model.h"

/* A copy with an empty host. In notes and other sentences, words that hold the host's name, one
 * of `words` or a path become "(removed)". Paths below /proc and /sys stay, as they say what the
 * system allows. Measurements, their time, carm's version and the CPU stay.
 * words  [n] further names, such as the user's; "" is none
 * out    to be released with carm_model_free; NULL on failure
 * returns 0, -CARM_EFORMAT, -CARM_ENOMEM */
int carm_model_share(const struct carm_model *model, const char *const *words, size_t n,
                     struct carm_model **out, struct carm_err *err);

/* Writes the copy of carm_model_share, also without the names of this host and user.
 * path  NULL = standard output
 * returns as above and as carm_outfile_print; -CARM_EINVAL: roofs of another tool: share its own file */
int carm_model_share_write(const struct carm_model *model, const char *path, struct carm_err *err);
