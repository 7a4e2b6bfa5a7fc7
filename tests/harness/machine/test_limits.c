/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Control groups made of files: version 1, version 2, both, containers with and without a namespace of their own. */
#include <limits.h>

#include "harness/machine/limits.h"
#include "tests/folder.h"

enum { FILES_MOST = 12 };

struct file {
    const char *path, *text;
};

static struct carm_limits read_limits(const struct file *files)
{
    struct carm_limits limits;
    char command[PATH_MAX];
    snprintf(command, sizeof command, "rm -rf '%s' && mkdir '%s'", folder, folder);
    assert_int_equal(system(command), 0);
    for (size_t i = 0; i < FILES_MOST && files[i].path; i++) {
        put_file(files[i].path, files[i].text);
    }
    carm_limits_read(folder, &limits);
    return limits;
}

#define MIB (UINT64_C(1) << 20)
#define V2  "30 24 0:27 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n"
#define V1(top)                                                                                  \
    "22 1 8:1 / / rw - ext4 /dev/sda rw\n"                                                       \
    "31 24 0:28 " top " /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n" \
    "32 24 0:29 " top " /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"                    \
    "33 24 0:30 " top " /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"

TEST(nothing_is_no_limit)
{
    const struct file none[FILES_MOST] = {{NULL, NULL}};
    const struct file groups[FILES_MOST] = {{"/proc/self/cgroup", "0::/\n"},
                                            {"/proc/self/mountinfo", V2},
                                            {"/sys/fs/cgroup/cgroup.procs", "1\n"}};
    const struct file odd[FILES_MOST] = {
        {"/proc/self/cgroup", "\n:\n0\n0:::\n7:cpu\n0::/a\n"},
        {"/proc/self/mountinfo",
         "x\n - \n - cgroup2\n1 2 3\n30 24 0:27 /\n30 24 0:27 - cgroup2 cgroup2 rw\n" V2},
        {"/cpu.max", "100000 100000\n"}, /* what lines that are none would name */
        {"/sys/fs/cgroup/a/cpu.max", "-5 100000\n"},
        {"/sys/fs/cgroup/a/memory.max", "lots\n"},
        {"/sys/fs/cgroup/cpu.max", "50000 0\n"},
        {"/sys/fs/cgroup/memory.max", "99999999999999999999999\n"}};
    const struct file *const all[] = {none, groups, odd};
    for (size_t i = 0; i < 3; i++) {
        const struct carm_limits l = read_limits(all[i]);
        assert_true(l.cpus == 0.0);
        assert_true(l.memory_bytes == UINT64_MAX && l.memory_left == UINT64_MAX);
    }
}

/* systemd: limits of a service and of the slice that it is in */
TEST(version_2)
{
    const struct file files[FILES_MOST] = {
        {"/proc/self/cgroup", "0::/work.slice/carm.service\n"},
        {"/proc/self/mountinfo", V2},
        {"/sys/fs/cgroup/work.slice/carm.service/cpu.max", "max 100000\n"},
        {"/sys/fs/cgroup/work.slice/cpu.max", "250000 100000\n"},
        {"/sys/fs/cgroup/work.slice/carm.service/memory.max", "314572800\n"},
        {"/sys/fs/cgroup/work.slice/carm.service/memory.high", "max\n"},
        {"/sys/fs/cgroup/work.slice/carm.service/memory.current", "104857600\n"},
        {"/sys/fs/cgroup/work.slice/carm.service/memory.stat",
         "anon 73400320\nfile 31457280\ninactive_file 20971520\n"},
        {"/sys/fs/cgroup/work.slice/memory.max", "1073741824\n"},
        {"/sys/fs/cgroup/work.slice/memory.high", "419430400\n"},
        {"/sys/fs/cgroup/work.slice/memory.current", "314572800\n"},
    };
    const struct carm_limits l = read_limits(files);
    assert_true(l.cpus == 2.5);
    assert_int_equal(l.memory_bytes, 300 * MIB);
    assert_int_equal(l.memory_left,
                     100 * MIB); /* the slice has 400 at most, of which 300 are used */
}

TEST(version_1)
{
    const struct file files[FILES_MOST] = {
        {"/proc/self/cgroup",
         "9:cpuset:/\n4:memory:/batch/job\n3:cpu,cpuacct:/batch\n0::/init.scope\n"},
        {"/proc/self/mountinfo", V1("/")},
        {"/sys/fs/cgroup/cpu,cpuacct/batch/cpu.cfs_quota_us", "50000\n"},
        {"/sys/fs/cgroup/cpu,cpuacct/batch/cpu.cfs_period_us", "100000\n"},
        {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"},
        {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"},
        {"/sys/fs/cgroup/memory/batch/job/memory.limit_in_bytes", "9223372036854771712\n"},
        {"/sys/fs/cgroup/memory/batch/memory.limit_in_bytes", "314572800\n"},
        {"/sys/fs/cgroup/memory/batch/memory.usage_in_bytes", "52428800\n"},
        {"/sys/fs/cgroup/memory/batch/memory.stat",
         "inactive_file 1\ntotal_inactive_file_x 3\ntotal_inactive_file 10485760\n"},
    };
    const struct carm_limits l = read_limits(files);
    assert_true(l.cpus == 0.5);
    assert_int_equal(l.memory_bytes, 300 * MIB);
    assert_int_equal(l.memory_left, 260 * MIB);
}

/* The least quota and memory of a group and those above it, up to the mount's folder. A quota of 0 is no quota. Bytes
 * of inactive files are subtracted from the used bytes only where they are fewer. */
TEST(the_least_of_all_groups)
{
    const struct file files[FILES_MOST] = {
        {"/proc/self/cgroup", "0::/a/b/c\n"},
        {"/proc/self/mountinfo", V2},
        {"/sys/fs/cgroup/a/b/c/cpu.max", "50000 100000\n"},
        {"/sys/fs/cgroup/a/b/cpu.max", "0 100000\n"},
        {"/sys/fs/cgroup/a/cpu.max", "200000 100000\n"},
        {"/sys/fs/cpu.max", "10000 100000\n"},
        {"/sys/fs/cgroup/a/memory.max", "104857600\n"},
        {"/sys/fs/cgroup/a/memory.current", "10485760\n"},
        {"/sys/fs/cgroup/a/memory.stat", "inactive_file 20971520\n"}};
    const struct carm_limits l = read_limits(files);
    assert_true(l.cpus == 0.5);
    assert_int_equal(l.memory_bytes, 100 * MIB);
    assert_int_equal(l.memory_left, 90 * MIB);
}

/* Memory in version 1, the rest in version 2. */
TEST(both_versions)
{
    const struct file files[FILES_MOST] = {
        {"/proc/self/cgroup", "4:memory:/m\n0::/u\n"},
        {"/proc/self/mountinfo",
         "32 24 0:29 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
         "33 24 0:30 / /sys/fs/cgroup/uni\\040fied rw - cgroup2 cgroup rw\n"},
        {"/sys/fs/cgroup/memory/m/memory.limit_in_bytes", "104857600\n"},
        {"/sys/fs/cgroup/uni fied/u/cpu.max", "400000 100000\n"},
        {"/sys/fs/cgroup/uni fied/u/memory.max", "1048576\n"}, /* of no controller here */
    };
    const struct carm_limits l = read_limits(files);
    assert_true(l.cpus == 4.0);
    assert_int_equal(l.memory_bytes, 100 * MIB);
}

/* docker run --cpus=2: with a namespace of groups the process's own is the top one; without one the mount shows the
 * container's group under the name that the host gives it. */
TEST(containers)
{
    const struct file own[FILES_MOST] = {{"/proc/self/cgroup", "0::/\n"},
                                         {"/proc/self/mountinfo", V2},
                                         {"/sys/fs/cgroup/cpu.max", "200000 100000\n"},
                                         {"/sys/fs/cgroup/memory.max", "104857600\n"}};
    const struct file first[FILES_MOST] = {
        {"/proc/self/cgroup", "4:memory:/docker/0123\n3:cpu,cpuacct:/docker/0123\n"},
        {"/proc/self/mountinfo", V1("/docker/0123")},
        {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000\n"},
        {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"},
        {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "104857600\n"}};
    /* a pod's container that has made a group of its own inside */
    const struct file pod[FILES_MOST] = {
        {"/proc/self/cgroup",
         "4:memory:/kubepods/pod1/c2/inner\n3:cpu,cpuacct:/kubepods/pod1/c2/inner\n"},
        {"/proc/self/mountinfo", V1("/kubepods/pod1/c2")},
        {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000\n"},
        {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"},
        {"/sys/fs/cgroup/cpu,cpuacct/inner/cpu.cfs_quota_us", "-1\n"},
        {"/sys/fs/cgroup/memory/inner/memory.limit_in_bytes", "209715200\n"},
        {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "104857600\n"}};
    /* a limit of the pod, which the container sees in memory.stat alone */
    const struct file hidden[FILES_MOST] = {
        {"/proc/self/cgroup", "4:memory:/kubepods/pod1/c2\n3:cpu,cpuacct:/kubepods/pod1/c2\n"},
        {"/proc/self/mountinfo", V1("/kubepods/pod1/c2")},
        {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "200000\n"},
        {"/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n"},
        {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"},
        {"/sys/fs/cgroup/memory/memory.stat", "cache 1\nhierarchical_memory_limit 104857600\n"}};
    /* the host's groups, and a group of a like name, are mounted before the container's own */
    const struct file others[FILES_MOST] = {{"/proc/self/cgroup", "0::/ab\n"},
                                            {"/proc/self/mountinfo",
                                             "28 24 0:27 /../.. /host rw - cgroup2 cgroup2 rw\n"
                                             "29 24 0:27 /a /like rw - cgroup2 cgroup2 rw\n" V2},
                                            {"/host/cpu.max", "100000 100000\n"},
                                            {"/host/memory.max", "1048576\n"},
                                            {"/like/cpu.max", "100000 100000\n"},
                                            {"/like/memory.max", "1048576\n"},
                                            {"/sys/fs/cgroup/ab/cpu.max", "200000 100000\n"},
                                            {"/sys/fs/cgroup/ab/memory.max", "104857600\n"}};
    /* a group outside of what the namespace shows */
    const struct file above[FILES_MOST] = {{"/proc/self/cgroup", "0::/../../other\n"},
                                           {"/proc/self/mountinfo", V2},
                                           {"/sys/fs/cgroup/cpu.max", "200000 100000\n"},
                                           {"/sys/fs/cgroup/memory.max", "104857600\n"}};
    const struct file *const all[] = {own, first, pod, hidden, others, above};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct carm_limits l = read_limits(all[i]);
        fail_if(l.cpus != 2.0 || l.memory_bytes != 100 * MIB, "container %zu: %g CPUs, %llu bytes",
                i, l.cpus, (unsigned long long)l.memory_bytes);
    }
}

/* A mount's folder, and the group that it shows, whose names have characters that mountinfo writes as three octal
 * digits, and digits that are none of these. */
TEST(names_of_mounts_are_unescaped)
{
    static const char *const names[][2] = {
        {"\\011", "\t"},      {"\\134", "\\"},   {"\\077", "?"},     {"\\170", "x"},
        {"\\377", "\377"},    {"\\300", "\300"}, {"\\400", "\\400"}, {"\\080", "\\080"},
        {"\\008", "\\008"},   {"\\01", "\\01"},  {"\\:00", "\\:00"}, {"\\1:0", "\\1:0"},
        {"\\040\\040", "  "}, {"\\11.", "\\11."}};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char mount[128];
        char path[64];
        char group[64];
        snprintf(mount, sizeof mount, "30 24 0:27 /t%s /a%sb rw - cgroup2 cgroup2 rw\n",
                 names[i][0], names[i][0]);
        snprintf(path, sizeof path, "/a%sb/g/cpu.max", names[i][1]);
        snprintf(group, sizeof group, "0::/t%s/g\n", names[i][1]);
        const struct file files[FILES_MOST] = {{"/proc/self/cgroup", group},
                                               {"/proc/self/mountinfo", mount},
                                               {path, "300000 100000\n"}};
        fail_if(read_limits(files).cpus != 3.0, "%s", names[i][0]);
    }
}

/* Of the mounts of version 1, the one whose controllers have the name as a whole; of version 2, the type alone counts.
 * The least of the quotas and memories on the way up. */
TEST(controllers_have_whole_names)
{
    const struct file files[FILES_MOST] = {
        {"/proc/self/cgroup", "5:xcpu,cpux,cpu:/a/b\n4:memory2,memory:/m\n"},
        {"/proc/self/mountinfo", "30 24 0:27 / /no rw - cgroup cgroup rw,cpuset,cpux\n"
                                 "31 24 0:28 / /cpu rw - cgroup cgroup rw,cpu\n"
                                 "32 24 0:29 / /mem rw - cgroup cgroup memory,rw\n"},
        {"/no/a/b/cpu.cfs_quota_us", "100000\n"},
        {"/no/a/b/cpu.cfs_period_us", "100000\n"},
        {"/cpu/a/b/cpu.cfs_quota_us", "300000\n"},
        {"/cpu/a/b/cpu.cfs_period_us", "100000\n"},
        {"/cpu/a/cpu.cfs_quota_us", "100000\n"},
        {"/cpu/a/cpu.cfs_period_us", "50000\n"},
        {"/mem/m/memory.limit_in_bytes", "209715200\n"},
        {"/mem/m/memory.usage_in_bytes", "314572800\n"},
        {"/mem/memory.limit_in_bytes", "314572800\n"}};
    const struct carm_limits l = read_limits(files);
    assert_true(l.cpus == 2.0);
    assert_int_equal(l.memory_bytes, 200 * MIB);
    assert_int_equal(l.memory_left, 0); /* more is used than allowed: it was lowered meanwhile */
}

/* cpu.max and memory.max at the ends of what is a limit. */
TEST(ends_of_limits)
{
    static const struct {
        const char *cpu, *memory;
        double cpus;
        uint64_t bytes;
    } rows[] = {{"1 1\n", "0\n", 1.0, 0},
                {"0 100000\n", "1\n", 0.0, 1},
                {"100000\n", "1152921504606846975\n", 0.0, (UINT64_C(1) << 60) - 1},
                {"100000 0\n", "1152921504606846976\n", 0.0, UINT64_MAX},
                {"100000 1\n", "-1\n", 100000.0, UINT64_MAX},
                {"max\n", "max\n", 0.0, UINT64_MAX},
                {"", "", 0.0, UINT64_MAX}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct file files[FILES_MOST] = {{"/proc/self/cgroup", "0::/\n"},
                                               {"/proc/self/mountinfo", V2},
                                               {"/sys/fs/cgroup/cpu.max", rows[i].cpu},
                                               {"/sys/fs/cgroup/memory.max", rows[i].memory},
                                               {"/sys/fs/cgroup/memory.current", "max\n"}};
        const struct carm_limits l = read_limits(files);
        fail_if(l.cpus != rows[i].cpus || l.memory_bytes != rows[i].bytes ||
                    l.memory_left != rows[i].bytes,
                "row %zu: %g CPUs, %llu bytes, %llu left", i, l.cpus,
                (unsigned long long)l.memory_bytes, (unsigned long long)l.memory_left);
    }
}

RUN_TESTS(make_folder, remove_folder)
