/* SPDX-License-Identifier: MIT */
/* likwid: loaded when it is asked for, its events in groups, counts of CPUs between two moments. */
#pragma once

#include "harness/count/provider.h"

extern const struct carm_counters_ops carm_counters_likwid;

/* Finds the library without initialising it. version "" and a reason when it is not there.
 * returns whether it is there */
bool carm_likwid_find(char version[32], char *reason, size_t size);
extern const char carm_likwid_remedy[];
