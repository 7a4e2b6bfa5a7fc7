/* SPDX-License-Identifier: MIT */
/* The facts that harness/count/pmu_limits.c judges. */
#include "harness/count/pmu_limits.h"

#include <cpuid.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

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
    (void)fclose(f);
}

/* The number in base that follows key at a line's begin, or def. */
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
            (void)snprintf(f->container, sizeof f->container, "%s", marks[i].name);
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
    /* CPUID.1:ECX[31] is reserved for hypervisors to say that they are there */
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 31)) {
        return;
    }
    __cpuid(0x40000000, a, b, c, d);
    memcpy(signature, &b, 4);
    memcpy(signature + 4, &c, 4);
    memcpy(signature + 8, &d, 4);
    signature[12] = '\0';
    if (!signature[0]) {
        (void)snprintf(signature, 13, "unnamed");
    }
}

/* errno of opening one event of this thread in user mode, 0 when it opens. Opened and closed again:
 * nothing is counted. */
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
    (void)close((int)fd);
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
        if (fd >= 0) {
            (void)close(fd);
        }
    }
    read_hypervisor(f->hypervisor);
    f->open_errno = try_event(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK);
    f->hardware_errno = try_event(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
    errno = saved;
}
