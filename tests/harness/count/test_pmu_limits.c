/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What stands in the way of counters: every cause by facts made by hand, and the facts from made-up
 * /proc and /sys. */
#include <errno.h>
#include <limits.h>

#include "harness/count/pmu.h"
#include "tests/folder.h"

struct expected {
    const char *what;
    struct carm_pmu_facts facts;
    bool works, software;
    const char *reason, *remedy, *note; /* parts of them; "" = empty */
};

static void check_part(const char *what, const char *text, const char *part)
{
    fail_if(part[0] ? !strstr(text, part) : text[0] != '\0', "%s: \"%s\" is not \"%s\"", what, text,
            part);
}

static void check(const struct expected *e, size_t n,
                  void (*judge)(const struct carm_pmu_facts *, struct carm_pmu_verdict *))
{
    for (size_t i = 0; i < n; i++) {
        struct carm_pmu_verdict v;
        judge(&e[i].facts, &v);
        fail_if(v.works != e[i].works || v.software != e[i].software, "%s: works %d, software %d",
                e[i].what, v.works, v.software);
        check_part(e[i].what, v.reason, e[i].reason);
        check_part(e[i].what, v.remedy, e[i].remedy);
        check_part(e[i].what, v.note, e[i].note);
    }
}

#define PMU .cpu_pmu = true, .perf = true
/* clang-format breaks a row at each member beside braces */
#define INIT(...)   \
    {               \
        __VA_ARGS__ \
    }

TEST(perf_is_judged)
{
    static const struct expected cases[] = {
        {"all allowed", INIT(PMU), true, true, "", "", ""},
        {"usual rights", INIT(PMU, .paranoid = 2), true, true, "", "",
         "counters of whole sockets need root or kernel.perf_event_paranoid=0"},
        {"watchdog", INIT(PMU, .watchdog = true), true, true, "", "",
         "kernel.nmi_watchdog=0 frees it"},
        {"hybrid", INIT(PMU, .hybrid = true), true, true, "", "", "performance cores"},
        {"two notes", INIT(PMU, .watchdog = true, .hybrid = true), true, true, "", "",
         "it; two kinds"},
        {"paranoid", INIT(PMU, .paranoid = 3, .open_errno = EACCES, .hardware_errno = EACCES),
         false, false, "perf_event_paranoid is 3, which",
         "sysctl kernel.perf_event_paranoid=1 as root, or give CAP_PERFMON", ""},
        {"paranoid in a container",
         INIT(PMU, .paranoid = 4, .container = "podman", .open_errno = EACCES), false, false,
         "perf_event_paranoid is 4", "as root on the host, or", ""},
        {"security module", INIT(PMU, .paranoid = 2, .open_errno = EACCES), false, false,
         "a security module (SELinux, AppArmor) forbids perf_event_open (Permission denied)",
         "audit log", ""},
        {"paranoid does not matter to the privileged",
         INIT(PMU, .paranoid = 4, .perfmon = true, .open_errno = EACCES), false, false,
         "a security module", "audit log", ""},
        {"docker's filter",
         INIT(PMU, .paranoid = 2, .seccomp = true, .container = "docker", .open_errno = EPERM),
         false, false, "a seccomp filter of the container, docker forbids perf_event_open",
         "--cap-add PERFMON, or with --security-opt seccomp=PROFILE", ""},
        {"another sandbox's filter",
         INIT(PMU, .paranoid = 2, .seccomp = true, .open_errno = ENOSYS), false, false,
         "a seccomp filter forbids perf_event_open", "outside the sandbox", ""},
        {"no perf events", INIT(.paranoid = 2, .open_errno = ENOSYS), false, false,
         "this kernel has no perf events (CONFIG_PERF_EVENTS)", "use a kernel that has them", ""},
        {"no descriptors", INIT(PMU, .open_errno = EMFILE), false, false, "no file desc", "ulimit",
         ""},
        {"something else", INIT(PMU, .open_errno = EIO), false, false, "Input/output", "", ""},
        {"KVM", INIT(.perf = true, .hypervisor = "KVMKVMKVM", .hardware_errno = ENOENT), false,
         true, "the hypervisor (KVM) does not expose performance counters to this machine",
         "-cpu host,pmu=on", ""},
        {"VMware", INIT(.perf = true, .hypervisor = "VMwareVMware", .hardware_errno = ENOENT),
         false, true, "(VMware)", "vpmc.enable = TRUE", ""},
        {"Hyper-V", INIT(.perf = true, .hypervisor = "Microsoft Hv", .hardware_errno = EOPNOTSUPP),
         false, true, "(Hyper-V)", "Set-VMProcessor NAME -Perfmon", ""},
        {"Xen", INIT(.perf = true, .hypervisor = "XenVMMXenVMM", .hardware_errno = ENODEV), false,
         true, "(Xen)", "vpmu=on", ""},
        {"VirtualBox", INIT(.perf = true, .hypervisor = "VBoxVBoxVBox", .hardware_errno = ENOENT),
         false, true, "(VirtualBox)", "it has no virtual PMU", ""},
        {"emulated", INIT(.perf = true, .hypervisor = "TCGTCGTCGTCG", .hardware_errno = ENOENT),
         false, true, "(QEMU without KVM)", "emulated", ""},
        {"unknown hypervisor",
         INIT(.perf = true, .hypervisor = "NewNewNewNew", .hardware_errno = ENOENT), false, true,
         "the hypervisor (\"NewNewNewNew\")", "ask the host's administrator", ""},
        {"a virtual PMU without cycles",
         INIT(PMU, .hypervisor = "KVMKVMKVM", .hardware_errno = ENOENT), false, true, "(KVM)",
         "pmu=on", ""},
        {"bare, no driver", INIT(.perf = true, .hardware_errno = ENOENT), false, true,
         "/sys/bus/event_source/devices/cpu is missing", "dmesg", ""},
        {"bare, broken driver", INIT(PMU, .hardware_errno = EOPNOTSUPP), false, true,
         "does not open them (Operation not supported)", "dmesg", ""},
        {"all taken", INIT(PMU, .hardware_errno = EBUSY), false, true, "are in use", "profiler",
         ""},
        {"hardware forbidden alone", INIT(PMU, .seccomp = true, .hardware_errno = EPERM), false,
         true, "a seccomp filter", "sandbox", ""},
    };
    check(cases, sizeof cases / sizeof *cases, carm_pmu_judge_perf);
}

TEST(registers_are_judged)
{
    static const struct expected cases[] = {
        {"direct", INIT(PMU), true, false, "", "", ""},
        {"daemon", INIT(PMU, .msr_errno = EPERM, .daemon = CARM_PMU_DAEMON_ABLE), true, false, "",
         "", ""},
        {"watchdog", INIT(PMU, .watchdog = true), true, false, "", "", "avoids wrong counts"},
        {"no module", INIT(PMU, .msr_errno = ENOENT, .daemon = CARM_PMU_DAEMON_ABLE), false, false,
         "the kernel module msr is not loaded", "modprobe msr as root", ""},
        {"no module in a container", INIT(PMU, .msr_errno = ENOENT, .container = "docker"), false,
         false, "or not visible in this container",
         "on the host, and start the container with --privileged", ""},
        {"lockdown", INIT(PMU, .lockdown = true), false, false, "locked down", "use papi", ""},
        {"no daemon", INIT(PMU, .msr_errno = EACCES), false, false,
         "may not be opened (Permission denied), and there is no likwid-accessD",
         "run as root, or install", ""},
        {"daemon without rights", INIT(PMU, .msr_errno = EPERM, .daemon = CARM_PMU_DAEMON_UNABLE),
         false, false, "likwid-accessD is not set-user-ID root", "chmod u+s", ""},
        {"hypervisor", INIT(.perf = true, .hypervisor = "KVMKVMKVM"), false, false,
         "the hypervisor (KVM)", "pmu=on", ""},
        {"a virtual PMU", INIT(PMU, .hypervisor = "KVMKVMKVM"), true, false, "", "", ""},
        {"bare, no perf events", INIT(.perf = false), true, false, "", "", ""},
    };
    check(cases, sizeof cases / sizeof *cases, carm_pmu_judge_msr);
}

TEST(sentences_are_whole)
{
    /* the longest of each still ends as it was meant */
    struct carm_pmu_verdict v;
    const struct carm_pmu_facts notes = {PMU, .watchdog = true, .hybrid = true, .paranoid = 2};
    carm_pmu_judge_perf(&notes, &v);
    check_part("notes", v.note, "pin to them");
    const struct carm_pmu_facts kvm = {.hypervisor = "KVMKVMKVM", .hardware_errno = ENOENT};
    carm_pmu_judge_perf(&kvm, &v);
    check_part("remedy", v.remedy, "<pmu state='on'/>)");
}

TEST_BETWEEN(facts_are_read, make_folder, remove_folder)
{
    struct carm_pmu_facts f;
    carm_pmu_facts_read(&f, folder); /* nothing there */
    assert_false(f.cpu_pmu || f.perf || f.perfmon || f.seccomp || f.lockdown || f.watchdog);
    assert_int_equal(f.paranoid, 2);
    assert_int_equal(f.msr_errno, ENOENT);
    assert_int_equal(f.daemon, CARM_PMU_DAEMON_NONE);
    assert_string_equal(f.container, "");

    put_file("/sys/bus/event_source/devices/cpu_core/type", "4\n");
    put_file("/sys/bus/event_source/devices/cpu_atom/type", "10\n");
    put_file("/proc/sys/kernel/perf_event_paranoid", "-1\n");
    put_file("/proc/sys/kernel/nmi_watchdog", "1\n");
    put_file("/sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
    put_file("/proc/self/status",
             "Name:\tx\nCapInh:\t0000000000000000\nCapEff:\t0000004000000000\nSeccomp:\t2\n");
    put_file("/run/.containerenv", "");
    put_file("/dev/cpu/0/msr", "");
    put_file("/usr/local/sbin/likwid-accessD", "");
    assert_int_equal(chmod(path_of("/usr/local/sbin/likwid-accessD"), 0755), 0);
    carm_pmu_facts_read(&f, folder);
    assert_true(f.cpu_pmu && f.hybrid && f.perf && f.watchdog && f.lockdown && f.seccomp);
    assert_true(f.perfmon);
    assert_int_equal(f.paranoid, -1);
    assert_int_equal(f.msr_errno, 0);
    assert_int_equal(f.daemon, CARM_PMU_DAEMON_UNABLE);
    assert_string_equal(f.container, "podman");

    /* the same capability in a user namespace of one's own is worth nothing */
    put_file("/proc/self/uid_map", "         0       1000          1\n");
    carm_pmu_facts_read(&f, folder);
    assert_false(f.perfmon);
    put_file("/proc/self/uid_map", "         0          0 4294967295\n");
    carm_pmu_facts_read(&f, folder);
    assert_true(f.perfmon);
    put_file("/proc/self/status", "Name:\tx\nCapEff:\t0000000000200000\nSeccomp:\t0\n");
    carm_pmu_facts_read(&f, folder);
    assert_true(f.perfmon); /* CAP_SYS_ADMIN */
    assert_false(f.seccomp);
    put_file("/proc/self/status", "Name:\tx\nCapEff:\t0000000000080000\n");
    put_file("/sys/kernel/security/lockdown", "[none] integrity confidentiality\n");
    carm_pmu_facts_read(&f, folder);
    assert_false(f.perfmon || f.lockdown);
    if (geteuid() == 0) {
        assert_int_equal(chmod(path_of("/usr/local/sbin/likwid-accessD"), 04755), 0);
        carm_pmu_facts_read(&f, folder);
        assert_int_equal(f.daemon, CARM_PMU_DAEMON_ABLE);
    }
}

TEST(this_machine_s_are_consistent)
{
    struct carm_pmu_facts f;
    struct carm_pmu_verdict v;
    carm_pmu_facts_read(&f, "");
    carm_pmu_judge_perf(&f, &v);
    assert_int_equal(v.works, v.reason[0] == '\0');
    assert_int_equal(v.software, f.open_errno == 0);
    carm_pmu_judge_msr(&f, &v);
    assert_int_equal(v.works, v.reason[0] == '\0');
}
