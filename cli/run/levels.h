/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm run --levels: the simulated caches as text and JSON. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#include "run/levels.h"

/* Adds a row's lookups, misses and unused bytes of each level to an object. levels may be NULL.
 * returns false: no memory */
bool carm_run_figures_json(const struct carm_run_levels *levels, size_t row, json_t *o);

/* One sentence: how often a line is used while it is in L1. returns dst, "" = no line came */
char *carm_run_reuse(char *dst, size_t size, const struct carm_run_levels *levels, size_t row);

/* Prints the levels, the reasons of their misses, and the bytes that are never used. */
void carm_run_levels_report(const struct carm_run_levels *levels);
