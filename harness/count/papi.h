/* SPDX-License-Identifier: MIT */
/* PAPI: loading the library at run time, the events that it can count, sets of its events. */
#pragma once

#include "harness/count/provider.h"

extern const struct carm_counters_ops carm_counters_papi;

/* Finds the library without initialising it. version "" and a reason when it is not there.
 * returns whether it is there */
bool carm_papi_find(char version[32], char *reason, size_t size);
extern const char carm_papi_remedy[];
