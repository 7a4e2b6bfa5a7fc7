/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Name, ISAs and features of this processor, from CPUID and XCR0. Model numbers are not used to
 * decide: a virtual machine may report false ones. */
#pragma once

#include <stdbool.h>

#include "asm/code.h"

struct carm_cpu {
    char brand[64];           /* CPUID's brand string, or the vendor where it has none */
    char vendor[16];          /* "GenuineIntel", "AuthenticAMD", ... */
    char hypervisor[48];      /* "KVM", "VMware", ...; "" when CPUID reports none */
    int family, model;        /* as displayed; in a virtual machine possibly false */
    bool isa[CARM_ISA_COUNT]; /* CPUID has it and the OS saves its registers (XCR0) */
    struct carm_cpu_bits has; /* CPUID bits that forms of operations need (CARM_FORM_TABLE) */
    bool fma;                 /* FMA3 */
    bool rdtscp;
    bool invariant_tsc; /* the TSC ticks at one rate in all power states */
};

/* Where the CPU has tiles (AMX), asks Linux for the permission to use them: Linux saves tile
 * registers only for processes that asked (Documentation/arch/x86/xstate.rst). Programs that the
 * process executes do not inherit the permission. */
void carm_cpu_read(struct carm_cpu *cpu);

/* Which register states the OS saves (Intel SDM vol. 1, 13.3). Only where OSXSAVE is set. A test replaces it. */
uint64_t carm_cpu_xcr0(void);

/* The widest ISA of vectors that this processor runs. */
enum carm_isa carm_cpu_best_isa(const struct carm_cpu *cpu);

/* In a virtual machine, where CPUID may give another CPU's family and model: bytes of the widest vectors, or of a tile
 * (1024). returns 0 on bare metal */
unsigned carm_cpu_guest_bytes(const struct carm_cpu *cpu);

/* Whether a test code may run here: 0, or -CARM_ENOTSUP with the missing feature. */
int carm_cpu_check(const struct carm_cpu *cpu, enum carm_isa isa, struct carm_err *err);

/* Whether the CPU has all of these bits. */
bool carm_cpu_has_bits(const struct carm_cpu *cpu, const struct carm_cpu_bits *needs);

/* carm_isa_has_op and carm_isa_has_precision for the instructions that this processor has. */
bool carm_cpu_has_op(const struct carm_cpu *cpu, enum carm_isa isa, enum carm_precision precision,
                     enum carm_op op);
bool carm_cpu_has_precision(const struct carm_cpu *cpu, enum carm_isa isa,
                            enum carm_precision precision);
