/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A model's text without the members that a fleet does not use. */
#pragma once

#include <stddef.h>

#include "models/file/table.h"

/* Copies the members that lean reading of a table looks at. Most of a model's text is other members, and a fleet has
 * thousands of models.
 * dst  [size]
 * returns bytes; 0 where brackets or quotes do not close, or the text goes on behind its end */
size_t carm_table_cut(const struct carm_table *table, const char *text, size_t size, char *dst);
