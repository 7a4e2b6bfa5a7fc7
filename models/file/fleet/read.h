/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reading of a fleet: models, and rows around models. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "models/fleet/fleet.h"
#include "models/model.h"

/* Reads models (*.json) and rows (*.jsonl) of files and folders, folders below them included. A
 * file that cannot be read, or is neither, is added to fleet->broken.
 * returns 0, -CARM_EIO (a path is not there, a folder has none) or -CARM_ENOMEM; *out is to be
 * released with carm_fleet_free */
int carm_fleet_read(char *const *paths, size_t n, const struct carm_fleet_options *options,
                    struct carm_fleet **out, struct carm_err *err);

/* The text of a model, or of a row around one. */
struct carm_fleet_item {
    struct carm_model *model; /* NULL = the node gave none */
    char host[CARM_TEXT_MAX], job[CARM_NAME_MAX], boot_id[CARM_NAME_MAX];
    char time[CARM_NAME_MAX], status[CARM_NAME_MAX], reason[512];
    int rank;
    bool rounds; /* the model's roofs are from rounds */
};

/* Curves and validation are parsed only where the rest is wrong, to find the reason.
 * text  size bytes, zero-terminated
 * err   the reason, without a file's name
 * returns 0, -CARM_EFORMAT or -CARM_ENOMEM; item->model is to be released with carm_model_free */
int carm_fleet_item_parse(const char *text, size_t size, struct carm_fleet_item *item,
                          struct carm_err *err);
