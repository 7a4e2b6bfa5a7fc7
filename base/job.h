/* SPDX-License-Identifier: MIT */
/* Where this process runs: its host, its batch job, and its rank in a parallel launch. Also names of
 * files made from these. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>

#include "base/err.h"

enum { CARM_HOST_MAX = 256 };

struct carm_job {
    char id[128]; /* of the batch system: "4711", "4711_3" in a job array, "42.server"; "" = none */
    char program
        [96]; /* the parallel program, the same on all nodes: the job, a dot, and a number that
                        * differs for each start inside the job: "4711.0", "4711.1477246977",
                        * "1477246977"; "" = none. Has no character that a shell or a CSV quotes. */
    char step[512]; /* the same for all ranks of one launch (srun, mpirun) on this node, and for
                        * no other launch; "" = not a rank, or a launch that cannot be identified */
    bool ranked;    /* a launcher gives this process a rank */
    long rank;      /* rank in the launch, from 0; 0 without a launch */
    bool mpirun;    /* launched by Open MPI's mpirun */
    bool mpi;       /* launched by an MPI, or by a PMIx server */
    long tasks;     /* that srun started in this step; 0 = not srun, or unknown */
};

/* Reads SLURM_*, PBS_JOBID, LSB_JOBID, OMPI_*, PMIX_*, PMI_RANK and MV2_COMM_WORLD_RANK. A launcher
 * inside a job comes before the job: mpirun in a Slurm job leaves SLURM_PROCID at 0 for all.
 * source: srun(1) and sbatch(1), output environment variables; Open MPI, "Environment variables";
 * PBS and LSF reference manuals */
void carm_job_read(struct carm_job *job);

/* The name of this host as part of a file name; "localhost" where it has none. */
void carm_host_name(char host[CARM_HOST_MAX]);

/* The login name of this process's user; "" = none. */
void carm_user_name(char user[CARM_HOST_MAX]);

/* Makes text a part of a file name: no folders, no blanks, no leading dot. */
void carm_clean_name(char *name);

/* A file or folder of this user: $VARIABLE/carm/NAME, or $HOME/BELOW/carm/NAME where that variable is unset, empty
 * or not an absolute path (as the XDG specification has it).
 * returns as snprintf, or -1: HOME is no absolute path either */
int carm_user_path(char *path, size_t size, const char *variable, const char *below,
                   const char *name);

/* Whether an open file has a kind (S_IFREG, S_IFDIR) and belongs to this user, and nobody else may write it.
 * status  out */
bool carm_user_owns(int fd, mode_t kind, struct stat *status);

/* From now on the default model is that of a place of this machine: HOST.PLACE.json, with '-' for colons and
 * slashes. place: words of --on and of --threads; borrowed; NULL or "" = the whole machine */
void carm_default_model_place(const char *on, const char *layout);

/* The default model of this machine: $XDG_DATA_HOME/carm/HOST.json, or below ~/.local/share (carm_user_path).
 * path  [size_bytes]; untouched on error
 * returns 0 or -CARM_EIO (no home folder, path too long) */
int carm_default_model_path(char *path, size_t size_bytes, struct carm_err *err);

/* For carm --help and its man page: how the names of output files are expanded, so that one command line
 * serves every node of a cluster. */
#define CARM_OUTNAME_HELP                                                                         \
    "In the names of output files, %h becomes this host, %j the job (Slurm, with the task of an " \
    "array; PBS, LSF), %t the rank of this process (srun, mpirun; else 0), %d the day in UTC "    \
    "(2026-11-21), and %% a percent sign. Missing folders of names with such letters are created."

/* Expands %h, %j, %t, %d and %%. Host and job lose slashes, blanks and a leading dot.
 * path  [size]; untouched on error
 * returns 0, or -CARM_EINVAL: no such letter, %j outside a job, too long */
int carm_outname_expand(const char *pattern, char *path, size_t size, struct carm_err *err);
