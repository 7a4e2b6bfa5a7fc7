/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads published machines, and takes operands that name one in place of a model's file. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "models/published.h"

/* Reads and checks such a collection from JSON text (schema "carm-published/1").
 * name  the file's name in messages; borrowed
 * out   to be released with carm_published_close; NULL on failure
 * returns 0, -CARM_EFORMAT with file, place and reason, or -CARM_ENOMEM */
int carm_published_open(const char *text, size_t size_bytes, const char *name,
                        struct carm_published **out, struct carm_err *err);
/* The collection that the program carries; to be released with carm_published_close. */
int carm_published_load(struct carm_published **out, struct carm_err *err);

/* Whether an operand is meant as a published machine: it names no file and no model that commands know by
 * name (models/file/gallery.h, "mine"), and it has neither a '/' nor a '.'.
 * published  out: the collection, to be released with carm_published_close; NULL otherwise
 * machine    out: borrowed from it
 * returns 1; 0 for a model's file; -CARM_EINVAL where there is neither file nor machine of that
 * name (lists the machines), or as carm_published_load */
int carm_published_operand(const char *operand, struct carm_published **published,
                           const struct carm_published_machine **machine, struct carm_err *err);
