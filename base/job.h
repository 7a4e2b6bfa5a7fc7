/* SPDX-License-Identifier: MIT */
/* The batch job and the parallel launch that this process is a part of, as schedulers and MPI tell
 * it in the environment. */
#ifndef CARM_BASE_JOB_H
#define CARM_BASE_JOB_H

#include <stdbool.h>

struct carm_job {
    char id[128];   /* "4711", "4711_3" of a job array, "42.server"; "" = no job */
    char step[512]; /* the same for all ranks of one launch (srun, mpirun) on this node, and for no
                     * other launch; "" = this process is no rank, or nothing tells its launch */
    bool ranked;    /* whether anything tells a rank */
    long rank;      /* of this process in its launch, from 0 on; 0 where nothing tells */
    bool mpirun;    /* by Open MPI's launcher */
};

/* Reads SLURM_*, PBS_JOBID, LSB_JOBID, OMPI_*, PMIX_* and PMI_RANK. A launcher inside a job comes
 * before it: mpirun in a Slurm job leaves SLURM_PROCID at 0 for all.
 * source: srun(1) and sbatch(1), output environment variables; Open MPI, "Environment variables";
 * PBS and LSF reference manuals */
void carm_job_read(struct carm_job *job);

#endif
