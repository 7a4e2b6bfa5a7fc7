/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One thing that a fleet is read from: the text of a model, or a row around one. */
#ifndef CARM_MODELS_FLEET_ITEM_H
#define CARM_MODELS_FLEET_ITEM_H

#include <stddef.h>

#include "base/err.h"
#include "models/fleet/fleet.h"
#include "models/model.h"

struct carm_fleet_item {
    struct carm_model *model; /* NULL = the node gave none */
    char host[CARM_TEXT_MAX], job[CARM_NAME_MAX], boot_id[CARM_NAME_MAX];
    char time[CARM_NAME_MAX], status[CARM_NAME_MAX], reason[512];
    int rank;
};

/* Curves and validation are looked at only where the rest is wrong, for the reason.
 * text  size bytes, zero-terminated
 * err   the reason, without a file's name
 * returns 0, -CARM_EFORMAT or -CARM_ENOMEM; item->model is to be released with carm_model_free */
int carm_fleet_item_parse(const char *text, size_t size, struct carm_fleet_item *item,
                          struct carm_err *err);

/* Adds a model's machine and roofs to the fleet, and what it measured to the row.
 * returns 0, -CARM_EFORMAT (the fleet has more kinds of roofs than any has) or -CARM_ENOMEM */
int carm_fleet_take_model(struct carm_fleet *fleet, const struct carm_model *model, bool ceilings,
                          struct carm_fleet_row *row, struct carm_err *err);

/* Brings the roofs into their order, when all models were taken. returns 0 or -CARM_ENOMEM */
int carm_fleet_order_roofs(struct carm_fleet *fleet, struct carm_err *err);

/* The model and row files of files and folders, sorted within each folder.
 * files  out: [*nfiles] strings, both to be released with free
 * returns 0, -CARM_EIO (a path is not there, a folder has none) or -CARM_ENOMEM */
int carm_fleet_list_files(char *const *paths, size_t n, char ***files, size_t *nfiles,
                          struct carm_err *err);

#endif
