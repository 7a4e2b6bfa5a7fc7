/* SPDX-License-Identifier: MIT */
/* The processor's name for itself: what picks its recipe of counters. */
#ifndef CARM_HARNESS_COUNT_CPUID_H
#define CARM_HARNESS_COUNT_CPUID_H

struct carm_cpuid {
    char vendor[16];   /* "GenuineIntel", "AuthenticAMD", ... */
    int family, model; /* as displayed; in a virtual machine possibly false */
};

/* source: Intel SDM vol. 2A, CPUID leaves 0 and 1; AMD APM vol. 3, appendix E */
void carm_cpuid_read(struct carm_cpuid *id);

#endif
