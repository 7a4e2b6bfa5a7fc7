/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rank and job of a row, by the environment that launchers of parallel programs give. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/job.h"
#include "harness/count/row.h"
#include "tests/models/csv.h"

/* A row that is written now has that rank. */
static void assert_rank(const char *want)
{
    struct carm_row row = {.rank = "99"};
    carm_row_describe(&row);
    assert_string_equal(row.rank, want);
}

static void ranks_are_the_launchers(void **state)
{
    (void)state;
    static const char *const names[] = {"SLURM_PROCID", "MV2_COMM_WORLD_RANK", "PMI_RANK",
                                        "PMIX_RANK", "OMPI_COMM_WORLD_RANK"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)unsetenv(names[i]);
    }
    assert_rank("");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char want[16];
        (void)snprintf(want, sizeof want, "%zu", i + 10);
        (void)setenv(names[i], want, 1);
        assert_rank(want); /* the later ones come first */
    }
    (void)setenv("OMPI_COMM_WORLD_RANK", "12,\"x", 1);
    assert_rank("13");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        (void)unsetenv(names[i]);
    }
}

static const char *const job_words[] = {
    "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID", "SLURM_JOB_ID",  "PBS_JOBID",
    "LSB_JOBID",          "SLURM_STEP_ID",       "PMIX_NAMESPACE"};

static void forget_jobs(void)
{
    for (size_t i = 0; i < sizeof job_words / sizeof *job_words; i++) {
        (void)unsetenv(job_words[i]);
    }
}

#define assert_job(want)                         \
    do {                                         \
        struct carm_job job_;                    \
        carm_job_read(&job_);                    \
        assert_string_equal(job_.program, want); \
    } while (0)

/* A row that is written now has that job. */
static void assert_row_has(const char *job)
{
    char path[] = "/tmp/carm-launcher-XXXXXX";
    const struct carm_row row = {.name = "solve"};
    struct carm_err err = {""};
    struct csv csv;
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && close(fd) == 0);
    assert_int_equal(carm_row_append(path, &row, 1, &err), 0);
    csv_read(&csv, path);
    (void)unlink(path);
    assert_non_null(csv.rows);
    assert_int_equal(csv.nrows, 2);
    assert_string_equal(csv_get(&csv, 1, "job"), job);
    csv_free(&csv);
}

static void jobs_are_the_launchers(void **state)
{
    (void)state;
    forget_jobs();
    assert_job("");
    (void)setenv("PMIX_NAMESPACE", "1477246977", 1); /* mpirun on one's own */
    assert_job("1477246977");
    (void)setenv("SLURM_JOB_ID", "4711", 1); /* ... in a job of Slurm's */
    (void)setenv("SLURM_STEP_ID", "0", 1);   /* which its daemons on other nodes have alone */
    assert_job("4711.1477246977");
    (void)unsetenv("SLURM_STEP_ID");
    assert_job("4711.1477246977");
    (void)setenv("PMIX_NAMESPACE", "slurm.pmix.4711.3", 1); /* srun --mpi=pmix */
    (void)setenv("SLURM_STEP_ID", "3", 1);
    assert_job("4711.3");
    (void)unsetenv("PMIX_NAMESPACE"); /* srun */
    assert_job("4711.3");
    (void)setenv("SLURM_ARRAY_JOB_ID", "4700", 1);
    assert_job("4711.3"); /* an array without a task is none */
    (void)setenv("SLURM_ARRAY_TASK_ID", "11", 1);
    assert_job("4700_11.3");
    assert_row_has("4700_11.3");
    forget_jobs();
    (void)setenv("LSB_JOBID", "5", 1);
    assert_job("5");
    (void)setenv("PBS_JOBID", "17[2].server", 1);
    assert_job("17[2].server");
    (void)setenv("PBS_JOBID", "17,\n\"x", 1); /* no name of a job */
    assert_job("5");
    (void)setenv("LSB_JOBID", "", 1);
    assert_job("");
    forget_jobs();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_are_the_launchers),
        cmocka_unit_test(jobs_are_the_launchers),
    };
    return cmocka_run_group_tests_name("row_launcher", tests, NULL, NULL);
}
