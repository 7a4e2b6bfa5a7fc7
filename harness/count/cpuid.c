/* SPDX-License-Identifier: MIT */
#include "harness/count/cpuid.h"

#include <cpuid.h>
#include <string.h>

void carm_cpuid_read(struct carm_cpuid *id)
{
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    memset(id, 0, sizeof *id);
    __cpuid(0, a, b, c, d);
    memcpy(id->vendor, &b, 4);
    memcpy(id->vendor + 4, &d, 4);
    memcpy(id->vendor + 8, &c, 4);

    __cpuid(1, a, b, c, d);
    id->family = (int)((a >> 8) & 15);
    id->model = (int)((a >> 4) & 15);
    if (id->family == 15 || id->family == 6) {
        id->model += (int)((a >> 16) & 15) * 16;
    }
    if (id->family == 15) {
        id->family += (int)((a >> 20) & 255);
    }
}
