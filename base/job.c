/* SPDX-License-Identifier: MIT */
#include "base/job.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* A variable that is set and not empty, or NULL. */
static const char *get(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static void read_id(struct carm_job *job)
{
    static const char *const names[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"};
    const char *array = get("SLURM_ARRAY_JOB_ID");
    const char *task = get("SLURM_ARRAY_TASK_ID");
    if (array && task) {
        (void)snprintf(job->id, sizeof job->id, "%s_%s", array, task);
        return;
    }
    for (size_t i = 0; i < sizeof names / sizeof *names && !job->id[0]; i++) {
        const char *value = get(names[i]);
        (void)snprintf(job->id, sizeof job->id, "%s", value ? value : "");
    }
}

static void read_rank(struct carm_job *job)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names && !job->ranked; i++) {
        const char *value = get(names[i]);
        char *end = NULL;
        errno = 0;
        const long n = value && *value >= '0' && *value <= '9' ? strtol(value, &end, 10) : -1;
        if (n >= 0 && !errno && end && !*end) {
            job->rank = n;
            job->ranked = true;
            job->mpirun = i == 0;
        }
    }
}

static void read_step(struct carm_job *job)
{
    /* A job that was put back into the queue has the same numbers again, but for its restarts. */
    static const char *const names[] = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "SLURM_JOB_ID",
                                        "SLURM_STEP_ID",  "SLURM_RESTART_COUNT",     "PBS_JOBID",
                                        "LSB_JOBID"};
    bool known = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && job->ranked; i++) {
        const char *value = get(names[i]);
        const size_t used = strlen(job->step);
        (void)snprintf(job->step + used, sizeof job->step - used, "%s%s", i ? "/" : "",
                       value ? value : "");
        known = known || value;
    }
    if (!known) {
        job->step[0] = '\0';
    }
    if (!known && get("PMI_RANK")) { /* hydra: its proxy on this node starts the ranks */
        (void)snprintf(job->step, sizeof job->step, "proxy %ld", (long)getppid());
    }
}

void carm_job_read(struct carm_job *job)
{
    memset(job, 0, sizeof *job);
    read_id(job);
    read_rank(job);
    read_step(job);
}
