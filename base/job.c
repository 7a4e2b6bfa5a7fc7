/* SPDX-License-Identifier: MIT */
#include "base/job.h"

#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

/* A variable that is set and not empty, or NULL. */
static const char *get(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* Like get(), but NULL also for values that no launcher sets. */
static const char *get_plain(const char *name)
{
    static const char plain[] =
        "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ._-+@:[]/";
    const char *value = get(name);
    return value && strlen(value) < 40 && !value[strspn(value, plain)] ? value : NULL;
}

/* The batch system's name of this job; "" where there is none. */
static void read_batch(char *dst, size_t size, const char *(*word)(const char *name))
{
    static const char *const names[] = {"SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID"};
    const char *array = word("SLURM_ARRAY_JOB_ID");
    const char *task = word("SLURM_ARRAY_TASK_ID");
    if (array && task) {
        snprintf(dst, size, "%s_%s", array, task);
        return;
    }
    dst[0] = '\0';
    for (size_t i = 0; i < sizeof names / sizeof *names && !dst[0]; i++) {
        const char *value = word(names[i]);
        snprintf(dst, size, "%s", value ? value : "");
    }
}

static void read_program(struct carm_job *job)
{
    read_batch(job->program, sizeof job->program, get_plain);
    /* mpirun starts its daemons as a Slurm step, except the daemon on its own node: there, only mpirun's namespace is
     * the same for all ranks. srun's namespace ("slurm.") is the step itself. */
    const char *start = get_plain("PMIX_NAMESPACE");
    start = start && strncmp(start, "slurm.", 6) != 0 ? start : get_plain("SLURM_STEP_ID");
    if (start) {
        carm_text_list(job->program, sizeof job->program, ".", "%s", start);
    }
}

static void read_rank(struct carm_job *job)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK",
                                        "MV2_COMM_WORLD_RANK", "SLURM_PROCID"};
    for (size_t i = 0; i < sizeof names / sizeof *names && !job->ranked; i++) {
        const char *value = get(names[i]);
        if (value && strlen(value) < 16 && !value[strspn(value, "0123456789")]) {
            job->rank = strtol(value, NULL, 10);
            job->ranked = true;
            job->mpirun = i == 0;
        }
    }
}

static void read_step(struct carm_job *job)
{
    /* A requeued job has the same numbers again, except the number of restarts. */
    static const char *const names[] = {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "SLURM_JOB_ID",
                                        "SLURM_STEP_ID",  "SLURM_RESTART_COUNT",     "PBS_JOBID",
                                        "LSB_JOBID"};
    bool known = false;
    for (size_t i = 0; i < sizeof names / sizeof *names && job->ranked; i++) {
        const char *value = get(names[i]);
        carm_text_append(job->step, sizeof job->step, "%s%s", i ? "/" : "", value ? value : "");
        known = known || value;
    }
    if (!known) {
        job->step[0] = '\0';
    }
    if (!known && get("PMI_RANK")) { /* hydra: its proxy on this node starts the ranks */
        snprintf(job->step, sizeof job->step, "proxy %ld", (long)getppid());
    }
}

void carm_job_read(struct carm_job *job)
{
    memset(job, 0, sizeof *job);
    read_batch(job->id, sizeof job->id, get);
    read_program(job);
    read_rank(job);
    read_step(job);
    job->mpi = get("OMPI_COMM_WORLD_SIZE") || get("PMI_RANK") || get("PMIX_RANK");
    const char *tasks = get("SLURM_STEP_ID") ? get("SLURM_STEP_NUM_TASKS") : NULL;
    job->tasks = tasks ? strtol(tasks, NULL, 10) : 0;
}

void carm_clean_name(char *name)
{
    for (char *p = name; *p; p++) {
        if (*p == '/' || (unsigned char)*p <= ' ' || *p == 0x7f || (*p == '.' && p == name)) {
            *p = '_';
        }
    }
}

void carm_host_name(char host[CARM_HOST_MAX])
{
    memset(host, 0, CARM_HOST_MAX);
    if (gethostname(host, CARM_HOST_MAX - 1) != 0 || !*host) {
        memcpy(host, "localhost", sizeof "localhost");
    }
    carm_clean_name(host);
}

void carm_user_name(char user[CARM_HOST_MAX])
{
    char text[4096];
    struct passwd entry;
    struct passwd *found = NULL;
    getpwuid_r(geteuid(), &entry, text, sizeof text, &found);
    snprintf(user, CARM_HOST_MAX, "%s", found ? found->pw_name : "");
}

int carm_user_path(char *path, size_t size, const char *variable, const char *below,
                   const char *name)
{
    const char *folder = getenv(variable);
    const char *home = getenv("HOME");
    if (folder && *folder == '/') {
        return snprintf(path, size, "%s/carm/%s", folder, name);
    }
    return home && *home == '/' ? snprintf(path, size, "%s/%s/carm/%s", home, below, name) : -1;
}

bool carm_user_owns(int fd, mode_t kind, struct stat *status)
{
    return fstat(fd, status) == 0 && (status->st_mode & S_IFMT) == kind &&
           status->st_uid == geteuid() && !(status->st_mode & (S_IWGRP | S_IWOTH));
}

static char model_place[192]; /* ".l3-0": set by carm_default_model_place */

void carm_default_model_place(const char *on, const char *layout)
{
    const bool has_on = on && *on;
    const bool has_layout = layout && *layout;
    snprintf(model_place, sizeof model_place, "%s%s%s%s", has_on ? "." : "", has_on ? on : "",
             has_layout ? "." : "", has_layout ? layout : "");
    for (char *p = model_place; *p; p++) {
        *p = *p == ':' || *p == '/' ? '-' : *p;
    }
}

int carm_default_model_path(char *path, size_t size_bytes, struct carm_err *err)
{
    char host[CARM_HOST_MAX];
    char name[CARM_HOST_MAX + sizeof model_place + sizeof ".json"];
    char found[PATH_MAX];
    carm_host_name(host);
    snprintf(name, sizeof name, "%s%s.json", host, model_place);
    const int n = carm_user_path(found, sizeof found, "XDG_DATA_HOME", ".local/share", name);
    if (n < 0) {
        return carm_fail(err, CARM_EIO,
                         "neither XDG_DATA_HOME nor HOME names a folder for the model; "
                         "name its file on the command line");
    }
    if ((size_t)n >= sizeof found || (size_t)n >= size_bytes) {
        return carm_fail(err, CARM_EIO,
                         "the path below XDG_DATA_HOME or HOME is too long for the model; "
                         "name its file on the command line");
    }
    memcpy(path, found, (size_t)n + 1);
    return 0;
}

/* The replacement of each character. text: [256] */
static int look_up(char letter, char *text, struct carm_err *err)
{
    struct carm_job job;
    carm_job_read(&job);
    switch (letter) {
    case 'h':
        carm_host_name(text);
        return 0;
    case 'j':
        if (!job.id[0]) {
            return carm_fail(
                err, CARM_EINVAL,
                "%%j is the number of the job, but this is no job: none of SLURM_JOB_ID, "
                "PBS_JOBID and LSB_JOBID is set");
        }
        snprintf(text, CARM_HOST_MAX, "%s", job.id);
        carm_clean_name(text);
        return 0;
    case 't':
        snprintf(text, CARM_HOST_MAX, "%ld", job.rank);
        return 0;
    case 'd': {
        char now[CARM_TEXT_NUMBER_MAX];
        snprintf(text, CARM_HOST_MAX, "%.10s", carm_text_now(now, sizeof now));
        return 0;
    }
    case '%':
        snprintf(text, CARM_HOST_MAX, "%%");
        return 0;
    case '\0':
        return carm_fail(err, CARM_EINVAL,
                         "it ends in a single %%: there are %%h (host), %%j (job), %%t (rank), %%d "
                         "(day) and %%%% (a percent sign)");
    default:
        return carm_fail(err, CARM_EINVAL,
                         "there is no %%%c: there are %%h (host), %%j (job), %%t (rank), %%d (day) "
                         "and %%%% (a percent sign)",
                         letter);
    }
}

int carm_outname_expand(const char *pattern, char *path, size_t size, struct carm_err *err)
{
    char out[PATH_MAX] = "";
    size_t used = 0;
    for (const char *p = pattern; *p; p++) {
        char text[CARM_HOST_MAX] = {*p};
        if (*p == '%') {
            const int rc = look_up(*++p, text, err);
            if (rc) {
                return rc;
            }
        }
        const size_t length = strlen(text);
        if (used + length + 1 > sizeof out || used + length + 1 > size) {
            return carm_fail(err, CARM_EINVAL, "the name is too long: at most %d characters",
                             PATH_MAX - 1);
        }
        snprintf(out + used, sizeof out - used, "%s", text);
        used += length;
    }
    memcpy(path, out, used + 1);
    return 0;
}
