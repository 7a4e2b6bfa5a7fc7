/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kinds of cores of a hybrid CPU: which the kernel names, and which executed the samples of a program. */
#define OWN_MAIN
#include <sched.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/place/place.h"
#include "harness/profile/sample.h"
#include "run/parts.h"
#include "tests/harness/profile/work.h"
#include "tests/unit.h"

static void write_list(const char *folder, const char *name, const char *list)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/%s/cpus", folder, name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "%s\n", list);
    assert_int_equal(fclose(f), 0);
}

static void remove_list(const char *folder, const char *name)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s/cpus", folder, name);
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)rmdir(path);
}

TEST(kinds_are_the_kernels)
{
    char folder[] = "/tmp/carm-kinds-XXXXXX";
    uint8_t kinds[32];
    const uint8_t expected[] = {0, 0, 0, 0, 1, 1, 255, 255, 2, 2};
    assert_non_null(mkdtemp(folder));
    assert_int_equal(carm_kinds_of_cpus(folder, kinds, sizeof kinds), 0);
    write_list(folder, "cpu_core", "0-3");
    assert_int_equal(carm_kinds_of_cpus(folder, kinds, sizeof kinds), 0); /* one kind */
    write_list(folder, "cpu_atom", "4-5");
    assert_int_equal(carm_kinds_of_cpus(folder, kinds, sizeof kinds), 6);
    write_list(folder, "cpu_lowpower", "8,9");
    assert_int_equal(carm_kinds_of_cpus(folder, kinds, sizeof kinds), 10);
    assert_memory_equal(kinds, expected, sizeof expected);
    assert_int_equal(carm_kinds_of_cpus(folder, kinds, 5), 5); /* no room for more */
    assert_string_equal(carm_kind_word(1), "e");
    remove_list(folder, "cpu_core");
    remove_list(folder, "cpu_atom");
    remove_list(folder, "cpu_lowpower");
    assert_int_equal(rmdir(folder), 0);
}

/* The program runs on this one processor, which is declared to be of the second kind. */
TEST(samples_have_their_kind)
{
    enum { CPUS = 1024 };
    static uint8_t kinds[CPUS];
    struct carm_sampler *sampler = NULL;
    struct carm_samples samples = {.total = 0};
    cpu_set_t before, one;
    char *argv[] = {(char *)"/proc/self/exe", (char *)"wait", NULL};
    int gate[2], status = 0;
    pid_t pid = 0;
    CPU_ZERO(&one);
    assert_int_equal(sched_getaffinity(0, sizeof before, &before), 0);
    const int cpu = sched_getcpu();
    assert_true(cpu >= 0 && cpu < CPUS);
    CPU_SET((size_t)cpu, &one);
    memset(kinds, 0, sizeof kinds);
    kinds[cpu] = 1;
    skip_if(carm_sampler_open(&sampler, 997, &err), "%s", err.text);
    carm_sampler_kinds(sampler, kinds, CPUS);
    assert_int_equal(pipe(gate), 0);
    assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, gate[0], STDIN_FILENO);
    posix_spawn_file_actions_addclose(&actions, gate[1]);
    assert_int_equal(posix_spawn(&pid, "/proc/self/exe", &actions, NULL, argv,
                                 carm_sampler_environment(sampler)),
                     0);
    posix_spawn_file_actions_destroy(&actions);
    assert_int_equal(sched_setaffinity(0, sizeof before, &before), 0);
    const int rc = carm_sampler_begin(sampler, pid, &err);
    close(gate[1]); /* it executes itself once more, and is sampled from there on */
    close(gate[0]);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_int_equal(rc, 0);
    assert_int_equal(status, 0);
    skip_if(carm_sampler_close(sampler, &samples, &err), "%s", err.text);
    uint64_t on[CARM_SAMPLE_KINDS] = {0};
    for (size_t i = 0; i < samples.nsamples; i++) {
        for (int k = 0; k < CARM_SAMPLE_KINDS; k++) {
            on[k] += samples.samples[i].on[k];
        }
    }
    assert_true(samples.total > 20);
    assert_int_equal(on[1], samples.total);
    assert_true(on[0] == 0 && on[2] == 0);
    carm_samples_close(&samples);
}

/* A file of the kernel's: 300 MiB, 256 of them in huge pages that it found, and 100 in reserved ones. */
TEST(huge_pages)
{
    static const char *const text = "55d0-7ffd ---p 00000000 00:00 0 [rollup]\n"
                                    "Rss:              310000 kB\n"
                                    "Anonymous:        307200 kB\n"
                                    "AnonHugePages:    262144 kB\n"
                                    "Shared_Hugetlb:    99999 kB\n"
                                    "Private_Hugetlb:  102400 kB\n";
    uint64_t kib = 0;
    FILE *f = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    assert_non_null(f);
    assert_near(carm_samples_huge(f, &kib), 364544.0 / 409600.0, 1e-12);
    assert_int_equal(kib, 409600);
    (void)fclose(f);
}

TEST(merged_samples_keep_their_kinds)
{
    struct carm_sample a = {.n = 3, .on = {1, 2, 0}};
    const struct carm_sample b = {.n = 2, .on = {0, 1, 1}};
    carm_sample_merge(&a, &b);
    assert_true(a.n == 5 && a.on[0] == 1 && a.on[1] == 3 && a.on[2] == 1);
}

TEST(shares_in_words)
{
    char text[96];
    struct carm_profile_row row = {.samples = 50, .on = {31, 19, 0}};
    assert_string_equal(carm_run_kinds_text(text, sizeof text, &row),
                        "62% on p cores, 38% on e cores");
    row = (struct carm_profile_row){.samples = 50};
    assert_string_equal(carm_run_kinds_text(text, sizeof text, &row), "");
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "wait") == 0) {
        char byte;
        char *again[] = {argv[0], (char *)"work", NULL};
        while (read(STDIN_FILENO, &byte, 1) > 0) {
        }
        return execv("/proc/self/exe", again);
    }
    if (argc == 2 && strcmp(argv[1], "work") == 0) {
        return work();
    }
    return run_suite(NULL, NULL);
}
