/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads published machines, and finds the machine that an operand names. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "models/published.h"

/* Reads and checks a collection of published machines from JSON text (schema "carm-published/1").
 * name  the file's name in messages; borrowed
 * out   to be released with carm_published_close; NULL on failure
 * returns 0, -CARM_EFORMAT with file, place and reason, or -CARM_ENOMEM */
int carm_published_open(const char *text, size_t size_bytes, const char *name,
                        struct carm_published **out, struct carm_err *err);
/* The built-in collection; to be released with carm_published_close. */
int carm_published_load(struct carm_published **out, struct carm_err *err);

/* Finds the published machine that an operand names. Operands that name a file or a known model (models/file/gallery.h,
 * "mine"), or have a '/' or a '.', name none.
 * published  out: the collection, to be released with carm_published_close; NULL otherwise
 * machine    out: borrowed from it
 * returns 1; 0 for a model's file; -CARM_EINVAL where there is neither file nor machine of that
 * name (lists the machines), or as carm_published_load */
int carm_published_operand(const char *operand, struct carm_published **published,
                           const struct carm_published_machine **machine, struct carm_err *err);
