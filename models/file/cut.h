/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The part of a model's text that a fleet uses. */
#pragma once

#include <stddef.h>

#include "models/file/table.h"

/* Copies the members that lean reading of a table needs. They are a small part of a model's text, and a fleet has
 * thousands of models.
 * dst  [size]
 * returns bytes; 0 where brackets or quotes do not close, or more text follows the model */
size_t carm_table_cut(const struct carm_table *table, const char *text, size_t size, char *dst);
