/* SPDX-License-Identifier: MIT */
/* Obstacles between a program and this processor's performance counters: facts about kernel,
 * hypervisor, container and permissions, and the conclusions from them. */
#pragma once

#include <stdbool.h>

enum carm_pmu_daemon {
    CARM_PMU_DAEMON_NONE,   /* no likwid-accessD */
    CARM_PMU_DAEMON_UNABLE, /* there, but not set-user-ID root */
    CARM_PMU_DAEMON_ABLE,
};

struct carm_pmu_facts {
    bool cpu_pmu;   /* /sys/bus/event_source/devices has cpu or cpu_core */
    bool hybrid;    /* it has cpu_core and cpu_atom */
    bool perf;      /* the kernel has perf events: perf_event_paranoid exists */
    int paranoid;   /* kernel.perf_event_paranoid; 2 when !perf */
    bool perfmon;   /* CAP_PERFMON or CAP_SYS_ADMIN, in the first user namespace */
    bool seccomp;   /* a seccomp filter is in force */
    bool lockdown;  /* kernel lockdown: MSRs cannot be written */
    bool watchdog;  /* the NMI watchdog is on and holds a counter */
    int msr_errno;  /* of opening /dev/cpu/0/msr for reading and writing; 0 = it opens */
    int open_errno; /* of perf_event_open for a software event of this thread in user mode; 0 = ok */
    int hardware_errno;  /* the same for core cycles */
    char hypervisor[13]; /* CPUID's signature, "" = none */
    char container[16];  /* "docker", "podman", ...; "" = none seen */
    enum carm_pmu_daemon daemon;
};

/* Conclusions for a user of the counters; sentences without a full stop, "" = none. */
struct carm_pmu_verdict {
    bool works;    /* this processor's own events */
    bool software; /* the kernel's events */
    char reason[384];
    char remedy[256];
    char note[256]; /* limitations of counters that work */
};

/* Gathers all facts: reads files below root ("" = this machine's), CPUID, and tries
 * perf_event_open. Prints nothing and changes nothing. Unreadable files count as absent. */
void carm_pmu_facts_read(struct carm_pmu_facts *facts, const char *root);

/* Whether perf_event_open (PAPI) can count here. Depends on the facts alone. */
void carm_pmu_judge_perf(const struct carm_pmu_facts *facts, struct carm_pmu_verdict *out);

/* Whether model-specific registers (likwid) can count here. Depends on the facts alone. */
void carm_pmu_judge_msr(const struct carm_pmu_facts *facts, struct carm_pmu_verdict *out);

/* True when kernel mode and events that only happen there (context switches) may be counted. */
static inline bool carm_pmu_may_count_kernel(const struct carm_pmu_facts *facts)
{
    return facts->paranoid <= 1 || facts->perfmon;
}
