/* SPDX-License-Identifier: MIT */
#include "harness/count/pmu.h"

#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/text.h"

/* Bits of CapEff (linux/capability.h, whose CAP_PERFMON is younger than some headers). */
enum { BIT_SYS_ADMIN = 21, BIT_PERFMON = 38 };

static bool join(char path[PATH_MAX], const char *root, const char *name)
{
    return snprintf(path, PATH_MAX, "%s%s", root, name) < PATH_MAX;
}

static bool exists(const char *root, const char *name)
{
    char path[PATH_MAX];
    return join(path, root, name) && access(path, F_OK) == 0;
}

/* The first bytes of a file as text; "" when it cannot be read. */
static void read_text(const char *root, const char *name, char *text, size_t size)
{
    char path[PATH_MAX];
    text[0] = '\0';
    if (!join(path, root, name)) {
        return;
    }
    FILE *f = fopen(path, "re");
    if (!f) {
        return;
    }
    text[fread(text, 1, size - 1, f)] = '\0';
    fclose(f);
}

/* The number after `key` at the begin of a line; def = there is no such line. */
static unsigned long long field(const char *text, const char *key, int base, unsigned long long def)
{
    const char *at = strstr(text, key);
    return at ? strtoull(at + strlen(key), NULL, base) : def;
}

static void read_status(struct carm_pmu_facts *f, const char *root)
{
    char status[4096];
    char map[128];
    read_text(root, "/proc/self/status", status, sizeof status);
    read_text(root, "/proc/self/uid_map", map, sizeof map);
    const unsigned long long caps = field(status, "\nCapEff:", 16, 0);
    unsigned long inside = 0;
    unsigned long outside = 0;
    unsigned long n = 0;
    /* capabilities of another user namespace do not count for perf events: only the first one maps
     * all users to themselves */
    const bool first =
        !map[0] ||
        (sscanf(map, "%lu %lu %lu", &inside, &outside, &n) == 3 && // NOLINT(cert-err34-c)
         inside == 0 && outside == 0 && n == UINT32_MAX);
    f->perfmon = first && ((caps >> BIT_SYS_ADMIN | caps >> BIT_PERFMON) & 1U);
    f->seccomp = field(status, "\nSeccomp:", 10, 0) == 2;
}

static void read_container(struct carm_pmu_facts *f, const char *root)
{
    static const struct {
        const char *file, *name;
    } marks[] = {{"/.dockerenv", "docker"},
                 {"/run/.containerenv", "podman"},
                 {"/var/run/secrets/kubernetes.io", "kubernetes"},
                 {"/.singularity.d", "apptainer"}};
    for (size_t i = 0; i < sizeof marks / sizeof *marks; i++) {
        if (exists(root, marks[i].file)) {
            snprintf(f->container, sizeof f->container, "%s", marks[i].name);
            return;
        }
    }
}

static void read_daemon(struct carm_pmu_facts *f, const char *root)
{
    static const char *const places[] = {
        "/usr/sbin/likwid-accessD", "/usr/local/sbin/likwid-accessD", "/usr/bin/likwid-accessD"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        char path[PATH_MAX];
        struct stat st;
        if (join(path, root, places[i]) && stat(path, &st) == 0) {
            const bool able = (st.st_mode & S_ISUID) && st.st_uid == 0;
            f->daemon = able ? CARM_PMU_DAEMON_ABLE : CARM_PMU_DAEMON_UNABLE;
            return;
        }
    }
}

static void read_hypervisor(char signature[13])
{
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    /* CPUID.1:ECX[31] is reserved for hypervisors, which set it */
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 31)) {
        return;
    }
    __cpuid(0x40000000, a, b, c, d);
    memcpy(signature, &b, 4);
    memcpy(signature + 4, &c, 4);
    memcpy(signature + 8, &d, 4);
    signature[12] = '\0';
    if (!signature[0]) {
        snprintf(signature, 13, "unnamed");
    }
}

/* errno of opening one event of this thread in user mode, 0 when it opens. The event is closed again without
 * counting. */
static int try_event(uint32_t type, uint64_t config)
{
    struct perf_event_attr attr;
    memset(&attr, 0, sizeof attr);
    attr.size = sizeof attr;
    attr.type = type;
    attr.config = config;
    attr.disabled = 1;
    attr.exclude_kernel = 1;
    attr.exclude_hv = 1;
    const long fd = syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (fd < 0) {
        return errno;
    }
    close((int)fd);
    return 0;
}

void carm_pmu_facts_read(struct carm_pmu_facts *f, const char *root)
{
    char text[256];
    char path[PATH_MAX];
    const int saved = errno;
    memset(f, 0, sizeof *f);
    const bool core = exists(root, "/sys/bus/event_source/devices/cpu_core");
    f->cpu_pmu = core || exists(root, "/sys/bus/event_source/devices/cpu");
    f->hybrid = core && exists(root, "/sys/bus/event_source/devices/cpu_atom");
    read_text(root, "/proc/sys/kernel/perf_event_paranoid", text, sizeof text);
    f->perf = text[0] != '\0';
    f->paranoid = f->perf ? (int)strtol(text, NULL, 10) : 2;
    read_text(root, "/proc/sys/kernel/nmi_watchdog", text, sizeof text);
    f->watchdog = text[0] == '1';
    read_text(root, "/sys/kernel/security/lockdown", text, sizeof text);
    f->lockdown = strstr(text, "[integrity]") || strstr(text, "[confidentiality]");
    read_status(f, root);
    read_container(f, root);
    read_daemon(f, root);
    f->msr_errno = ENOENT;
    if (join(path, root, "/dev/cpu/0/msr")) {
        const int fd = open(path, O_RDWR | O_CLOEXEC);
        f->msr_errno = fd < 0 ? errno : 0;
        carm_fd_close(fd);
    }
    read_hypervisor(f->hypervisor);
    f->open_errno = try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
    f->hardware_errno = try_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
    errno = saved;
}

/* ---- conclusions from the facts
 * ------------------------------------------------------------------ */

/* Each hypervisor's name for its virtual counters.
 * sources: QEMU, x86 CPU property "pmu"; VMware vSphere, "virtualized CPU performance counters"
 * and vpmc.enable; Microsoft, Set-VMProcessor -Perfmon; Xen command line, vpmu */
static const struct {
    const char *signature, *name, *remedy;
} hypervisors[] = {
    {"KVMKVMKVM", "KVM",
     "choose a metal or dedicated-host size, or ask for a virtual PMU (QEMU: -cpu host,pmu=on; "
     "libvirt: <pmu state='on'/>)"},
    {"VMwareVMware", "VMware",
     "switch on \"virtualized CPU performance counters\" for this machine (vpmc.enable = TRUE)"},
    {"Microsoft Hv", "Hyper-V",
     "choose a metal or dedicated-host size, or on the host, on Intel processors: "
     "Set-VMProcessor NAME -Perfmon @(\"pmu\")"},
    {"XenVMMXenVMM", "Xen",
     "choose a metal or dedicated-host size, or boot the hypervisor with vpmu=on"},
    {"VBoxVBoxVBox", "VirtualBox",
     "it has no virtual PMU: run on the host itself or in another virtual machine"},
    {"TCGTCGTCGTCG", "QEMU without KVM",
     "this processor is emulated and its counts would mean nothing: run on a real one"},
};

static const char any_remedy[] =
    "choose a metal or dedicated-host size, or ask the host's administrator for a virtual PMU";

/* v: the verdict */
#define PUT_REASON(v, ...) carm_text_format((v)->reason, sizeof(v)->reason, __VA_ARGS__)
#define PUT_REMEDY(v, ...) carm_text_format((v)->remedy, sizeof(v)->remedy, __VA_ARGS__)
#define ADD_NOTE(verdict, ...) \
    carm_text_list((verdict)->note, sizeof(verdict)->note, "; ", __VA_ARGS__)

static void blame_hypervisor(const struct carm_pmu_facts *f, struct carm_pmu_verdict *v)
{
    for (size_t i = 0; i < sizeof hypervisors / sizeof *hypervisors; i++) {
        if (strcmp(f->hypervisor, hypervisors[i].signature) == 0) {
            PUT_REASON(v,
                       "the hypervisor (%s) does not expose performance counters to this machine",
                       hypervisors[i].name);
            PUT_REMEDY(v, "%s", hypervisors[i].remedy);
            return;
        }
    }
    PUT_REASON(v, "the hypervisor (\"%s\") does not expose performance counters to this machine",
               f->hypervisor);
    PUT_REMEDY(v, "%s", any_remedy);
}

static void blame_no_pmu(const struct carm_pmu_facts *f, struct carm_pmu_verdict *v)
{
    if (f->hypervisor[0]) {
        blame_hypervisor(f, v);
        return;
    }
    PUT_REASON(v, "the kernel found no performance counters of this processor "
                  "(/sys/bus/event_source/devices/cpu is missing)");
    PUT_REMEDY(v, "`dmesg | grep \"Performance Events\"` says why; a newer kernel may know this "
                  "processor");
}

/* perf_event_open itself was refused. The kernel returns EACCES for its own settings and for security
 * modules; EPERM and ENOSYS come from seccomp filters, and ENOSYS from kernels without perf events. */
static void blame_refusal(const struct carm_pmu_facts *f, int error, struct carm_pmu_verdict *v)
{
    const char *where = f->container[0] ? " on the host" : "";
    if ((error == EPERM || error == ENOSYS) && f->seccomp) {
        PUT_REASON(v, "a seccomp filter%s%s forbids perf_event_open",
                   f->container[0] ? " of the container, " : "", f->container);
        if (f->container[0]) {
            PUT_REMEDY(v, "start the container with --cap-add PERFMON, or with --security-opt "
                          "seccomp=PROFILE whose profile allows perf_event_open");
        } else {
            PUT_REMEDY(v, "run outside the sandbox that set the filter, or allow "
                          "perf_event_open in its profile");
        }
    } else if (error == ENOSYS || !f->perf) {
        PUT_REASON(v, "this kernel has no perf events (CONFIG_PERF_EVENTS), or a sandbox such as "
                      "gVisor hides them");
        PUT_REMEDY(v, "use a kernel that has them, or run outside the sandbox");
    } else if (error == EACCES && f->paranoid > 2 && !f->perfmon) {
        PUT_REASON(v, "perf_event_paranoid is %d, which forbids all counting", f->paranoid);
        PUT_REMEDY(v,
                   "sysctl kernel.perf_event_paranoid=1 as root%s, or give CAP_PERFMON (setcap "
                   "cap_perfmon+ep PROGRAM)",
                   where);
    } else if (error == EACCES || error == EPERM) {
        PUT_REASON(v, "a security module (SELinux, AppArmor) forbids perf_event_open (%s)",
                   strerror(error));
        PUT_REMEDY(v, "allow perf events in its policy%s; the audit log names the rule", where);
    } else if (error == EMFILE || error == ENFILE) {
        PUT_REASON(v, "no file descriptor is left for perf_event_open");
        PUT_REMEDY(v, "raise `ulimit -n`");
    } else {
        PUT_REASON(v, "perf_event_open fails here: %s", strerror(error));
    }
}

static void note_perf(const struct carm_pmu_facts *f, struct carm_pmu_verdict *v)
{
    if (f->watchdog) {
        ADD_NOTE(v, "the NMI watchdog holds a counter: sysctl kernel.nmi_watchdog=0 frees it");
    }
    if (f->paranoid > 0) {
        /* PAPI checks the setting and the user, not CAP_PERFMON (perf_event_uncore.c) */
        ADD_NOTE(v, "counters of whole sockets need root or kernel.perf_event_paranoid=0");
    }
    if (f->hybrid) {
        ADD_NOTE(v, "two kinds of cores: events are those of the performance cores, pin to them");
    }
}

void carm_pmu_judge_perf(const struct carm_pmu_facts *f, struct carm_pmu_verdict *out)
{
    memset(out, 0, sizeof *out);
    out->software = f->open_errno == 0;
    if (!out->software) {
        blame_refusal(f, f->open_errno, out);
        return;
    }
    if (f->hardware_errno == 0) {
        out->works = true;
        note_perf(f, out);
        return;
    }
    switch (f->hardware_errno) {
    case ENOENT:
    case ENODEV:
    case EOPNOTSUPP:
        if (!f->cpu_pmu || f->hypervisor[0]) {
            blame_no_pmu(f, out);
        } else {
            PUT_REASON(out,
                       "the kernel lists this processor's counters, but does not open them "
                       "(%s)",
                       strerror(f->hardware_errno));
            PUT_REMEDY(out, "`dmesg | grep \"Performance Events\"` says why");
        }
        break;
    case EBUSY:
        PUT_REASON(out, "all performance counters are in use");
        PUT_REMEDY(out, "end the other profiler, or free a counter by sysctl "
                        "kernel.nmi_watchdog=0");
        break;
    default:
        blame_refusal(f, f->hardware_errno, out);
        break;
    }
}

void carm_pmu_judge_msr(const struct carm_pmu_facts *f, struct carm_pmu_verdict *out)
{
    memset(out, 0, sizeof *out);
    if (f->hypervisor[0] && !f->cpu_pmu) {
        blame_hypervisor(f, out);
    } else if (f->msr_errno == ENOENT || f->msr_errno == ENXIO || f->msr_errno == ENODEV) {
        PUT_REASON(out, "/dev/cpu/0/msr does not exist: the kernel module msr is not loaded%s",
                   f->container[0] ? ", or not visible in this container" : "");
        PUT_REMEDY(out, "modprobe msr as root%s",
                   f->container[0] ? " on the host, and start the container with --privileged"
                                   : "");
    } else if (f->lockdown) {
        PUT_REASON(out, "the kernel is locked down (Secure Boot) and forbids writing "
                        "model-specific registers");
        PUT_REMEDY(out, "use papi, or boot without lockdown");
    } else if (f->msr_errno == 0 || f->daemon == CARM_PMU_DAEMON_ABLE) {
        out->works = true;
        if (f->watchdog) {
            ADD_NOTE(out, "the NMI watchdog uses a counter that likwid takes: sysctl "
                          "kernel.nmi_watchdog=0 avoids wrong counts");
        }
    } else if (f->daemon == CARM_PMU_DAEMON_UNABLE) {
        PUT_REASON(out,
                   "/dev/cpu/0/msr may not be opened (%s), and likwid-accessD is not "
                   "set-user-ID root",
                   strerror(f->msr_errno));
        PUT_REMEDY(out, "as root: chown root likwid-accessD, chmod u+s likwid-accessD; or run as "
                        "root");
    } else {
        PUT_REASON(out, "/dev/cpu/0/msr may not be opened (%s), and there is no likwid-accessD",
                   strerror(f->msr_errno));
        PUT_REMEDY(out, "run as root, or install likwid-accessD set-user-ID root");
    }
}
