/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Built-in models of measured machines: data/machines/NAME.json. Commands take
 * NAME where they take a model's file. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "models/model.h"

/* Whether an operand is the name of a machine of the gallery, and not a file. */
bool carm_gallery_has(const char *operand);

/* The name of machine i, in alphabetical order; NULL behind the last. */
const char *carm_gallery_name(size_t i);

/* The machines' names: "zen3-kvm, zen4-kvm". returns dst */
char *carm_gallery_names(char *dst, size_t size);

/* The machine's model; its host is the name. *out is to be released with carm_model_free.
 * returns 0, -CARM_EINVAL (no such machine: lists them), or as carm_model_parse */
int carm_gallery_open(const char *name, struct carm_model **out, struct carm_err *err);
