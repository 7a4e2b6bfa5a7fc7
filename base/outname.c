/* SPDX-License-Identifier: MIT */
#include "base/outname.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/job.h"
#include "base/paths.h"
#include "base/text.h"

/* What a letter stands for. text: [256] */
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
            return carm_fail(err, CARM_EINVAL,
                             "%%j is the job's number, and this is no job: none of SLURM_JOB_ID, "
                             "PBS_JOBID and LSB_JOBID is set");
        }
        (void)snprintf(text, CARM_HOST_MAX, "%s", job.id);
        carm_clean_name(text);
        return 0;
    case 't':
        (void)snprintf(text, CARM_HOST_MAX, "%ld", job.rank);
        return 0;
    case 'd': {
        char now[CARM_TEXT_NUMBER_MAX];
        (void)snprintf(text, CARM_HOST_MAX, "%.10s", carm_text_now(now, sizeof now));
        return 0;
    }
    case '%':
        (void)snprintf(text, CARM_HOST_MAX, "%%");
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
        (void)snprintf(out + used, sizeof out - used, "%s", text);
        used += length;
    }
    memcpy(path, out, used + 1);
    return 0;
}
