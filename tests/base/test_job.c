/* SPDX-License-Identifier: GPL-3.0-or-later */
/* %h, %j, %t and %d in the names of output files, and what schedulers and MPI tell of a job. */
#include <time.h>

#include "base/job.h"
#include "cli/opt.h"
#include "tests/unit.h"

static const char *const variables[] = {"SLURM_JOB_ID",
                                        "SLURM_ARRAY_JOB_ID",
                                        "SLURM_ARRAY_TASK_ID",
                                        "SLURM_PROCID",
                                        "SLURM_STEP_ID",
                                        "SLURM_RESTART_COUNT",
                                        "PBS_JOBID",
                                        "LSB_JOBID",
                                        "OMPI_COMM_WORLD_RANK",
                                        "PMIX_RANK",
                                        "OMPI_MCA_ess_base_jobid",
                                        "PMI_RANK",
                                        "PMIX_NAMESPACE"};

static int clear(void **state)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
        (void)unsetenv(variables[i]);
    }
    return 0;
}

static void gives(const char *pattern, const char *wanted)
{
    char path[4096] = "untouched";
    fail_if(carm_outname_expand(pattern, path, sizeof path, &err), "%s: %s", pattern, err.text);
    assert_string_equal(path, wanted);
}

static void refuses(const char *pattern, const char *message)
{
    char path[4096] = "untouched";
    err = (struct carm_err){""};
    assert_int_equal(carm_outname_expand(pattern, path, sizeof path, &err), -CARM_EINVAL);
    fail_if(!strstr(err.text, message), "%s: '%s', not '%s'", pattern, err.text, message);
    assert_string_equal(path, "untouched");
    assert_int_equal(carm_outname_expand(pattern, path, sizeof path, NULL), -CARM_EINVAL);
}

TEST_BETWEEN(letters, clear, NULL)
{
    char host[CARM_HOST_MAX];
    char wanted[600];
    gives("", "");
    gives("models/a b.json", "models/a b.json");
    gives("100%%.json", "100%.json");
    gives("%%h%%", "%h%");
    gives("%t", "0");
    carm_host_name(host);
    (void)snprintf(wanted, sizeof wanted, "m/%s/%s.json", host, host);
    gives("m/%h/%h.json", wanted);
    refuses("a%", "ends in a single %: there are %h (host), %j (job)");
    refuses("%q.json", "there is no %q: there are %h (host), %j (job), %t (rank), %d (day) and %%");
    refuses("%j", "this is no job");
}

TEST_BETWEEN(day, clear, NULL)
{
    char path[64];
    char day[32];
    for (int i = 0; i < 2; i++) { /* midnight may fall between */
        const time_t now = time(NULL);
        struct tm tm;
        assert_int_equal(carm_outname_expand("%d", path, sizeof path, NULL), 0);
        (void)strftime(day, sizeof day, "%Y-%m-%d", gmtime_r(&now, &tm));
        if (strcmp(path, day) == 0) {
            break;
        }
    }
    assert_string_equal(path, day);
}

TEST_BETWEEN(long, clear, NULL)
{
    char pattern[8192];
    char small[4];
    memset(pattern, 'a', sizeof pattern);
    pattern[4096] = '\0';
    refuses(pattern, "too long");
    assert_int_equal(carm_outname_expand("abcd", small, sizeof small, NULL), -CARM_EINVAL);
    assert_int_equal(carm_outname_expand("abc", small, sizeof small, NULL), 0);
    for (size_t i = 0; i < 4000; i += 2) {
        memcpy(pattern + i, "%h", 2);
    }
    pattern[4000] = '\0';
    char host[CARM_HOST_MAX];
    carm_host_name(host);
    if (strlen(host) > 2) {
        refuses(pattern, "too long");
    }
}

TEST_BETWEEN(jobs, clear, NULL)
{
    assert_int_equal(setenv("LSB_JOBID", "12", 1), 0);
    gives("%j", "12");
    assert_int_equal(setenv("PBS_JOBID", "42.head/node x", 1), 0);
    gives("%j", "42.head_node_x");
    assert_int_equal(setenv("PBS_JOBID", "../../x", 1), 0);
    gives("a/%j", "a/_._.._x");
    assert_int_equal(setenv("SLURM_JOB_ID", "4713", 1), 0);
    gives("%j", "4713");
    assert_int_equal(setenv("SLURM_ARRAY_JOB_ID", "4711", 1), 0);
    gives("%j", "4713");
    assert_int_equal(setenv("SLURM_ARRAY_TASK_ID", "3", 1), 0);
    gives("%j-%t", "4711_3-0");
}

TEST_BETWEEN(ranks, clear, NULL)
{
    struct carm_job job;
    carm_job_read(&job);
    assert_false(job.ranked);
    assert_string_equal(job.step, "");
    assert_int_equal(setenv("SLURM_JOB_ID", "9", 1), 0);
    carm_job_read(&job); /* an allocation, but no rank: whoever types there takes turns */
    assert_false(job.ranked);
    assert_string_equal(job.step, "");
    assert_int_equal(setenv("SLURM_PROCID", "7", 1), 0);
    gives("%t", "7");
    carm_job_read(&job);
    assert_true(job.ranked && !job.mpirun);
    assert_string_not_equal(job.step, "");
    const struct carm_job first = job;
    assert_int_equal(setenv("SLURM_STEP_ID", "1", 1), 0);
    carm_job_read(&job);
    assert_string_not_equal(job.step, first.step);
    assert_int_equal(setenv("SLURM_RESTART_COUNT", "1", 1), 0);
    const struct carm_job second = job;
    carm_job_read(&job);
    assert_string_not_equal(job.step, second.step);
    /* mpirun inside a Slurm job */
    assert_int_equal(setenv("PMI_RANK", "3", 1), 0);
    gives("%t", "3");
    assert_int_equal(setenv("PMIX_RANK", "4", 1), 0);
    gives("%t", "4");
    assert_int_equal(setenv("OMPI_COMM_WORLD_RANK", "5", 1), 0);
    gives("%t", "5");
    carm_job_read(&job);
    assert_true(job.mpirun);
    assert_int_equal(setenv("OMPI_COMM_WORLD_RANK", "five", 1), 0);
    gives("%t", "4");
    assert_int_equal(setenv("PMIX_RANK", "-1", 1), 0);
    gives("%t", "3");
}

TEST_BETWEEN(hydra, clear, NULL)
{
    struct carm_job job;
    assert_int_equal(setenv("PMI_RANK", "1", 1), 0);
    carm_job_read(&job);
    assert_int_equal(job.rank, 1);
    assert_int_equal(strncmp(job.step, "proxy ", 6), 0);
}

TEST_BETWEEN(options, clear, NULL)
{
    static const char *output;
    static const char *model;
    static const char *csv;
    static const struct carm_opt options[] = {
        {"output", 'o', carm_opt_outfile, NULL, "Out.", &output, NULL},
        {"model", 'm', "FILE", NULL, "In.", &model, NULL},
        {"csv", 0, carm_opt_outfile, NULL, "Out.", &csv, NULL},
        {NULL, 0, NULL, NULL, NULL, NULL, NULL},
    };
    const struct carm_command command = {.name = "try", .opts = options};
    assert_ok(carm_opt_expand_outnames(&command, &err));
    assert_null(output);
    output = "r%t.json";
    model = "%h.json";
    csv = "-";
    assert_ok(carm_opt_expand_outnames(&command, &err));
    assert_string_equal(output, "r0.json");
    assert_string_equal(model, "%h.json");
    assert_string_equal(csv, "-");
    csv = "%x";
    assert_refused(carm_opt_expand_outnames(&command, &err), -CARM_EINVAL,
                   "--csv %x: there is no %x");
    free((void *)(uintptr_t)output);
}

TEST(clean)
{
    char name[] = "..a/b c\x7f.d";
    carm_clean_name(name);
    assert_string_equal(name, "_.a_b_c_.d");
}
