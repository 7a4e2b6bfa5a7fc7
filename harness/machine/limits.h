/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processor time and memory that the control groups of this process leave. Reads cgroup version
 * 1, version 2, or both where each has some of the controllers. */
#pragma once

#include <stdint.h>

struct carm_limits {
    double cpus;           /* processors' worth of time, the least of all groups; 0 = no quota */
    uint64_t memory_bytes; /* the least limit; UINT64_MAX = none */
    uint64_t memory_left;  /* bytes until one of the groups reaches its limit; UINT64_MAX = no
                            * limit */
};

/* Reads the groups of this process from its own to the top, as far as this mount namespace shows them.
 * root  "" = this system; tests give a folder with proc/self/cgroup, proc/self/mountinfo and the
 *       groups' files
 * source: Linux, Documentation/admin-guide/cgroup-v2.rst and cgroup-v1/; proc(5), mountinfo */
void carm_limits_read(const char *root, struct carm_limits *out);
