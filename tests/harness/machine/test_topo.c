/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Synthetic machines: SMT, two sockets, no L3, shared L2, restricted cpusets. */
#include <sched.h>
#include <unistd.h>

#include <hwloc.h>

#include "harness/machine/limits.h"
#include "tests/topo.h"

static int runs_on = -1; /* CPU that the kernel names; -1 = the one that a thread was pinned to */

/* In place of the library's. */
int sched_getcpu(void)
{
    unsigned cpu = 0;
    return runs_on < 0 && getcpu(&cpu, NULL) == 0 ? (int)cpu : runs_on;
}

void carm_limits_read(const char *root, struct carm_limits *out)
{
    *out = (struct carm_limits){.cpus = *root ? 0.0 : 2.5};
}

TEST(places_one_thread_per_core_first)
{
    /* hardware threads of a core are neighbours: 0 1 | 2 3 | 4 5 | 6 7 */
    struct carm_topo *t = topo_of("pack:1 l3:1(size=32MB) core:4 l2:1(size=1MB) l1:1(size=48KB) "
                                  "pu:2",
                                  NULL);
    assert_int_equal(t->cores, 4);
    assert_int_equal(t->pus, 8);
    const int want[] = {0, 2, 4, 6, 1, 3, 5, 7};
    assert_memory_equal(t->order, want, sizeof want);
    assert_int_equal(t->ncaches, 3);
    assert_int_equal(t->caches[0].shared_by, 2);
    assert_int_equal(t->caches[2].shared_by, 8);
    assert_false(t->restricted);
}

TEST(counts_caches_of_two_sockets)
{
    struct carm_topo *t = topo_of("pack:2 numa:1 l3:2(size=16777216) core:4 l2:1(size=512KB) "
                                  "l1:1(size=32KB) pu:1",
                                  NULL);
    int instances = 0;
    int sharers = 0;
    assert_int_equal(t->packages, 2);
    assert_int_equal(t->nodes, 2);
    assert_int_equal(t->caches[2].instances, 4);
    assert_int_equal(t->caches[2].size_bytes, 16 << 20);
    carm_topo_cache_share(t, 3, 1, &instances, &sharers);
    assert_int_equal(instances, 1);
    assert_int_equal(sharers, 1);
    carm_topo_cache_share(t, 3, 5, &instances, &sharers);
    assert_int_equal(instances, 2);
    assert_int_equal(sharers, 4);
    carm_topo_cache_share(t, 3, 16, &instances, &sharers);
    assert_int_equal(instances, 4);
    /* memory on the other node: touched by a thread of that node, or read from there by the first */
    const int here = carm_topo_node_of(t, t->order[0]);
    assert_int_equal(carm_topo_node_of(t, carm_topo_far_pu(t, 1)), 1 - here);
    assert_int_equal(carm_topo_far_pu(t, t->pus), t->order[0]);
}

TEST(knows_shared_l2_and_no_l3)
{
    struct carm_topo *t = topo_of("pack:1 l2:2(size=4MB) core:4 l1:1(size=32KB) pu:1", NULL);
    int instances = 0;
    int sharers = 0;
    assert_int_equal(t->ncaches, 2);
    assert_int_equal(t->caches[1].level, 2);
    assert_int_equal(t->caches[1].shared_by, 4);
    carm_topo_cache_share(t, 2, 8, &instances, &sharers);
    assert_int_equal(instances, 2);
    assert_int_equal(sharers, 4);
    carm_topo_cache_share(t, 3, 8, &instances, &sharers);
    assert_int_equal(instances, 0);
}

TEST(respects_the_cpuset)
{
    /* cores 1 and 3 of four with two hardware threads each; of core 3 only the second */
    struct carm_topo *t = topo_of("pack:1 core:4 l1:1(size=32KB) pu:2", "0x8c");
    assert_int_equal(t->pus, 3);
    assert_int_equal(t->machine_pus, 8);
    assert_true(t->restricted);
    const int want[] = {2, 7, 3};
    assert_memory_equal(t->order, want, sizeof want);
    assert_ok(carm_topo_check_threads(t, 3, &err));
    assert_refused(carm_topo_check_threads(t, 4, &err), -CARM_EINVAL, "cpuset of 3");
    assert_refused(carm_topo_check_threads(t, 9, &err), -CARM_EINVAL, "more than this machine's 8");
    assert_refused(carm_topo_check_threads(t, 0, &err), -CARM_EINVAL, "at least 1");
}

TEST(works_without_any_cache)
{
    struct carm_topo *t = topo_of("pack:1 core:2 pu:1", NULL);
    assert_int_equal(t->ncaches, 0);
    assert_int_equal(t->cores, 2);
}

/* hwloc's notation has no associativity: not told is 0, as it is on machines that hide it */
TEST(ways_are_zero_where_not_told)
{
    struct carm_topo *t = topo_of("pack:1 l3:1(size=32MB) core:2 l2:1(size=1MB) l1:1(size=48KB) "
                                  "pu:1",
                                  NULL);
    assert_int_equal(t->ncaches, 3);
    for (size_t i = 0; i < t->ncaches; i++) {
        assert_int_equal(t->caches[i].ways, 0);
    }
}

/* A machine that tells, by way of hwloc's own file: a synthetic one with ways filled in. */
TEST(ways_are_those_that_hwloc_tells)
{
    char path[] = "/tmp/carm-topo-XXXXXX";
    struct carm_topo *t = topo_of("pack:1 l2:1(size=1048576) core:2 l1:1(size=49152) pu:1", NULL);
    const int file = mkstemp(path);
    assert_true(file >= 0);
    assert_int_equal(close(file), 0);
    for (unsigned i = 0; i < 2; i++) {
        hwloc_get_obj_by_type(t->hwloc, HWLOC_OBJ_L1CACHE, i)->attr->cache.associativity = 12;
    }
    hwloc_get_obj_by_type(t->hwloc, HWLOC_OBJ_L2CACHE, 0)->attr->cache.associativity = -1;
    assert_int_equal(hwloc_topology_export_xml(t->hwloc, path, 0), 0);
    assert_int_equal(setenv("HWLOC_XMLFILE", path, 1), 0);
    t = topo_of(NULL, NULL);
    assert_int_equal(unsetenv("HWLOC_XMLFILE"), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(t->ncaches, 2);
    assert_int_equal(t->caches[0].ways, 12);
    assert_int_equal(t->caches[0].size_bytes, 48 << 10);
    assert_int_equal(t->caches[1].ways, -1);
}

TEST(refuses_nonsense)
{
    struct carm_topo *t = NULL;
    assert_refused(carm_topo_open(&t, "pack:1 nonsense:4", NULL, &err), -CARM_ENOTSUP, "topology");
    assert_null(t);
}

/* Two cores of two threads each: what a quota of CPUs leaves, and says. */
TEST(quotas_of_cpus)
{
    static const struct {
        double quota;
        int cores;
        const char *note;
    } rows[] = {{0.0, 2, ""},
                {0.25, 1, "of 0.25 CPUs: the kernel stops even one thread for 75% of the time"},
                {1.0, 1, "of 1 CPUs: the kernel stops more than 1 thread for a part"},
                {1.98, 1, "more than 1 thread for"},
                {1.9899, 1, "of 1.99 CPUs: the kernel stops more than 1 thread for"},
                {1.995, 2, "more than 2 threads for"}, /* rounded by the kernel */
                {3.9, 2, "of 3.9 CPUs: the kernel stops more than 2 threads for a part"},
                {4.0, 2, ""},
                {16.0, 2, ""}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct carm_topo t = {.cores = 2, .pus = 4, .quota = rows[i].quota};
        char note[256];
        assert_int_equal(carm_topo_cores(&t), rows[i].cores);
        assert_ptr_equal(carm_topo_quota_note(note, sizeof note, &t), note);
        fail_if(*rows[i].note ? !strstr(note, rows[i].note) : *note, "%g: '%s'", rows[i].quota,
                note);
    }
}

/* Registers a kind of the CPUs of `cores` cores from `first` on. */
static void add_kind(struct carm_topo *t, unsigned first, unsigned cores, int efficiency)
{
    hwloc_bitmap_t kind = hwloc_bitmap_alloc();
    for (unsigned c = first; c < first + cores; c++) {
        hwloc_bitmap_or(kind, kind, hwloc_get_obj_by_type(t->hwloc, HWLOC_OBJ_CORE, c)->cpuset);
    }
    assert_int_equal(hwloc_cpukinds_register(t->hwloc, kind, efficiency, 0, NULL, 0), 0);
    hwloc_bitmap_free(kind);
}

/* The first core alone is the fastest; the kind of some cores alone says nothing; fast cores on the second node. */
TEST(kinds_of_cores)
{
    static const struct {
        unsigned first[3], cores[3]; /* of kinds, the slowest first */
        int order[6], far;
    } rows[] = {{{1, 2, 0}, {1, 4, 1}, {0, 2, 3, 4, 5, 1}, 3},
                {{0}, {2}, {0, 1, 2, 3, 4, 5}, 3},
                {{0, 3}, {3, 3}, {3, 4, 5, 0, 1, 2}, 0}};
    static const int all[] = {0, 1, 2, 3, 4, 5};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct carm_topo *t = topo_of("pack:2 numa:1 core:3 pu:1", NULL);
        for (int k = 0; k < 3 && rows[i].cores[k]; k++) {
            add_kind(t, rows[i].first[k], rows[i].cores[k], k);
        }
        assert_ok(carm_topo_keep(t, all, 6, &err));
        assert_memory_equal(t->order, rows[i].order, sizeof rows[i].order);
        assert_int_equal(carm_topo_far_pu(t, 1), rows[i].far);
    }
}

/* Two slow cores of two threads, then three fast ones, as hwloc ranks kinds of cores: the fast ones are first in each
 * turn, and caches are those of the first. */
TEST(fast_cores_come_first)
{
    struct carm_topo *t = topo_of("pack:1 l2:3(size=1MB) core:2 l1:1(size=32KB) pu:2", "0x3ff");
    static const int plain[] = {0, 2, 4, 6, 8, 1, 3, 5, 7, 9};
    static const int ranked[] = {4, 6, 8, 0, 2, 5, 7, 9, 1, 3};
    assert_int_equal(t->pus, 10);
    assert_memory_equal(t->order, plain, sizeof plain);
    assert_int_equal(t->caches[1].instances, 3);
    assert_int_equal(t->caches[1].shared_by, 4);
    for (unsigned k = 0; k < 3; k++) { /* CPUs 0 to 3, 4 to 7, 8 and 9 */
        const hwloc_obj_t l2 = hwloc_get_obj_by_type(t->hwloc, HWLOC_OBJ_L2CACHE, k);
        l2->attr->cache.size =
            (k + 1) * 1024; /* of slow, of fast, and of a core without its second */
        assert_int_equal(hwloc_obj_add_info(l2, "Inclusive", k == 1 ? "1" : "0"), 0);
    }
    add_kind(t, 0, 2, 0);
    add_kind(t, 2, 3, 1);
    assert_ok(carm_topo_keep(t, plain, 10, &err));
    assert_memory_equal(t->order, ranked, sizeof ranked);
    assert_int_equal(carm_topo_slowest(t, 1), 1);
    assert_int_equal(carm_topo_slowest(t, 3), 1);
    assert_int_equal(carm_topo_slowest(t, 4), 0);
    assert_int_equal(carm_topo_slowest(t, 99), 0);
    assert_int_equal(carm_topo_slowest(t, 0), 0);
    assert_int_equal(t->caches[1].size_bytes, 2048);
    assert_int_equal(t->caches[1].inclusive, 1);
    assert_int_equal(t->caches[1].shared_by, 4);
    assert_int_equal(t->caches[1].instances, 3);
    assert_int_equal(t->caches[0].inclusive, -1);
}

TEST(hardware_threads_stand_in_for_cores)
{
    struct carm_topo *t = topo_of("pack:1 pu:4", NULL);
    static const int want[] = {0, 1, 2, 3};
    assert_int_equal(t->cores, 4);
    assert_int_equal(t->pus, 4);
    assert_memory_equal(t->order, want, sizeof want);
    t = topo_of("numa:1 pu:1", NULL); /* and a machine is one socket */
    assert_int_equal(t->packages, 1);
    assert_int_equal(t->nodes, 1);
    assert_int_equal(topo_of("pack:1 core:1 pu:2", NULL)->cores, 1);
}

/* A node of memory beside that of each socket (HBM in flat mode) has no processors of its own. */
TEST(nodes_of_memory_alone)
{
    struct carm_topo *t = topo_of("pack:2 [numa(memory=1GB)] [numa(memory=2GB)] core:2 pu:2", NULL);
    struct carm_topo_memory m[4];
    assert_int_equal(t->nodes, 2);
    assert_int_equal(carm_topo_nodes(t), 2);
    assert_int_equal(carm_topo_memories(t, m, 4), 4);
    assert_int_equal(carm_topo_memories(t, m, 3), 3);
    for (int i = 0; i < 4; i++) {
        const hwloc_obj_t node = hwloc_get_obj_by_type(t->hwloc, HWLOC_OBJ_NUMANODE, (unsigned)i);
        const bool own = i % 2 == 0; /* each socket's first one */
        assert_int_equal(m[i].cores, own ? 2 : 0);
        assert_int_equal(m[i].node, node->os_index);
        assert_int_equal(carm_topo_number(node), own ? (int)node->os_index : -1);
        for (int pu = 0; pu < 8; pu++) {
            assert_int_equal(carm_topo_memory_has(t, m[i].node, pu), own && pu / 4 == i / 2);
        }
    }
    static const int first_socket[] = {0, 1, 2, 3};
    assert_int_equal(carm_topo_node_of(t, 3), 0);
    assert_int_equal(carm_topo_node_of(t, 4), 2);
    assert_int_equal(carm_topo_node_of(t, 8), -1);
    assert_ok(carm_topo_keep(t, first_socket, 4, &err)); /* the memory of the other one stays */
    assert_int_equal(t->nodes, 1);
    assert_int_equal(t->packages, 1);
    assert_int_equal(carm_topo_memories(t, m, 4), 4);
    assert_int_equal(m[0].cores + m[1].cores + m[2].cores + m[3].cores, 2);
    hwloc_get_obj_by_type(t->hwloc, HWLOC_OBJ_NUMANODE, 0)->attr->numanode.local_memory = 0;
    assert_int_equal(carm_topo_memories(t, m, 4), 3);
    t = topo_of("pack:2 [numa(memory=1GB)] [numa(memory=2GB)] core:2 pu:2",
                "0xf0"); /* the second socket */
    assert_int_equal(t->nodes, 1);
    assert_int_equal(t->packages, 1);
    assert_int_equal(carm_topo_memories(t, m, 4), 4);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(m[i].cores, m[i].node == 2 ? 2 : 0);
    }
}

/* A cache whose hardware threads are left out stays in hwloc's tree with the memory beside it. */
TEST(caches_of_others_do_not_count)
{
    struct carm_topo *t =
        topo_of("pack:1 l3:3(size=1048576) [numa(memory=1GB)] core:2 pu:1", "0x3");
    assert_int_equal(t->ncaches, 1);
    assert_int_equal(t->caches[0].instances, 1);
    assert_int_equal(t->caches[0].shared_by, 2);
    assert_int_equal(t->caches[0].size_bytes, 1 << 20);
}

/* Threads of one socket: the first thread of the other. Of both: the first. Of a machine of one node: none. */
TEST(memory_without_affinity)
{
    struct carm_topo *t = topo_of("pack:2 numa:1 core:3 pu:1", NULL);
    for (int n = 1; n <= 6; n++) {
        assert_int_equal(carm_topo_far_pu(t, n), n <= 3 ? 3 : 0);
    }
    t = topo_of("pack:2 numa:1 core:3 pu:1", "0x9"); /* a core of each */
    assert_int_equal(carm_topo_far_pu(t, 1), 3);
    assert_int_equal(carm_topo_far_pu(t, 2), 0);
    assert_int_equal(carm_topo_far_pu(topo_of("pack:2 numa:1 core:3 pu:1", "0x7"), 1), -1);
    assert_int_equal(carm_topo_far_pu(topo_of("pack:1 numa:1 core:3 pu:1", NULL), 3), -1);
}

/* Places keep their numbers, and are no longer whole, when a part of them is left. */
TEST(what_is_left_keeps_its_number)
{
    struct carm_topo *t = topo_of("pack:2 numa:1 core:3 pu:2", NULL);
    static const int left[] = {5, 8, 9, 10, 11};
    assert_ok(carm_topo_keep(t, left, 5, &err));
    assert_int_equal(t->pus, 5);
    assert_int_equal(t->packages, 2);
    assert_int_equal(t->machine_pus, 12);
    const hwloc_obj_t first = hwloc_get_obj_by_type(t->hwloc, HWLOC_OBJ_CORE, 0);
    const hwloc_obj_t second = hwloc_get_obj_by_type(t->hwloc, HWLOC_OBJ_CORE, 1);
    assert_int_equal(carm_topo_number(first), 2);
    assert_int_equal(carm_topo_number(second), 4);
    assert_false(carm_topo_is_whole(first));
    assert_true(carm_topo_is_whole(second));
    const hwloc_obj_t node = hwloc_get_obj_by_type(t->hwloc, HWLOC_OBJ_NUMANODE, 1);
    assert_int_equal(carm_topo_number(node), 1);
    assert_false(carm_topo_is_whole(node));
    static const int gone[] = {8, 99};
    assert_refused(carm_topo_keep(t, gone, 2, &err), -CARM_ENOTSUP,
                   "kept 1 hardware threads in place of 2");
    t = topo_of("pack:1 core:2 pu:1", NULL);
    assert_refused(carm_topo_keep(t, gone, 0, &err), -CARM_ENOTSUP,
                   "cannot restrict the topology to 0 CPUs");
}

TEST(levels_that_are_none_have_no_sharers)
{
    struct carm_topo *t = topo_of("pack:1 l5:1 l4:1 l3:1 l2:2 l1:1 core:1 pu:2", NULL);
    for (int level = 0; level <= 6; level++) {
        int instances = 7, sharers = 7;
        carm_topo_cache_share(t, level, 3, &instances, &sharers); /* CPUs 0, 2 and 1 */
        const bool is = level >= 1 && level <= 5;
        assert_int_equal(instances, !is ? 0 : level >= 3 ? 1 : 2);
        assert_int_equal(sharers, !is ? 0 : level >= 3 ? 3 : 2);
        carm_topo_cache_share(t, level, 99, &instances, &sharers); /* there are four */
        assert_int_equal(sharers, !is ? 0 : level >= 3 ? 4 : 2);
    }
    assert_int_equal(t->ncaches, 5);
}

/* Where hwloc describes another machine, nothing is pinned, and the variable is named. */
TEST(another_machine_is_refused)
{
    assert_int_equal(setenv("HWLOC_SYNTHETIC", "pack:1 core:4 pu:1", 1), 0);
    struct carm_topo *t = topo_of(NULL, NULL);
    assert_true(t->elsewhere);
    assert_false(t->synthetic);
    assert_int_equal(t->pus, 4);
    assert_refused(carm_topo_check_here(t, &err), -CARM_ENOTSUP, "HWLOC_SYNTHETIC is set");
    assert_refused(carm_topo_pin(t, 0, &err), -CARM_ENOTSUP, "unset HWLOC_SYNTHETIC");
    assert_int_equal(unsetenv("HWLOC_SYNTHETIC"), 0);
    assert_ok(carm_topo_check_here(topo_of(NULL, NULL), &err));
    assert_ok(carm_topo_check_here(topo_of("pack:1 pu:1", NULL), &err));
    static const char *const names[] = {"HWLOC_THISSYSTEM", "HWLOC_CPUID_PATH", "HWLOC_FSROOT",
                                        "HWLOC_SYNTHETIC", "HWLOC_XMLFILE"};
    const struct carm_topo other = {.elsewhere = true};
    assert_int_equal(carm_topo_check_here(&other, &err), -CARM_ENOTSUP); /* unset meanwhile */
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) { /* the first of the list is named */
        char words[64];
        (void)snprintf(words, sizeof words, "because %s is set", names[i]);
        assert_int_equal(setenv(names[i], "1", 1), 0);
        assert_refused(carm_topo_check_here(&other, &err), -CARM_ENOTSUP, words);
    }
    for (size_t i = 1; i < sizeof names / sizeof *names; i++) {
        assert_int_equal(unsetenv(names[i]), 0);
    }
    t = topo_of("pack:1 core:64 pu:64",
                NULL); /* a made-up machine, whatever this process may use */
    assert_int_equal(t->pus, 4096);
    assert_int_equal(unsetenv(names[0]), 0);
}

/* Where a preloaded library or a sandbox answers for the kernel. */
TEST(a_thread_elsewhere_is_not_pinned)
{
    struct carm_topo *t = topo_of(NULL, NULL);
    const int pu = t->order[0];
    char words[96];
    assert_ok(carm_topo_pin(t, pu, &err));
    runs_on = pu + 1;
    (void)snprintf(words, sizeof words, "a thread was pinned to CPU %d, but runs on CPU %d: ", pu,
                   pu + 1);
    assert_refused(carm_topo_pin(t, pu, &err), -CARM_ENOTSUP, words);
    runs_on = -1;
}

TEST(processors_that_are_none_are_refused)
{
    struct carm_topo *t = NULL;
    assert_refused(carm_topo_pin(topo_of(NULL, NULL), 4000, &err), -CARM_ENOTSUP,
                   "cannot pin a thread to CPU 4000");
    assert_int_equal(carm_topo_open(&t, "pack:1 pu:2", "0xf0", &err), -CARM_ENOTSUP);
    assert_null(t);
}

TEST(reads_this_machine)
{
    struct carm_topo *t = topo_of(NULL, NULL);
    assert_true(t->pus >= 1 && t->cores >= 1 && t->cores <= t->pus);
    assert_near(t->quota, 2.5, 0.0);
    assert_near(topo_of("pack:1 pu:1", NULL)->quota, 0.0, 0.0);
    for (size_t i = 0; i < t->ncaches; i++) {
        const struct carm_topo_cache *c = &t->caches[i];
        print_message("L%d: %d ways\n", c->level, c->ways);
        assert_true(c->ways >= -1);
        if (c->ways > 0 && c->size_bytes > 0) { /* whole sets of 64-byte lines */
            assert_int_equal(c->size_bytes % ((uint64_t)c->ways * 64), 0);
        }
    }
    assert_ok(carm_topo_pin(t, t->order[0], &err));
}
