/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/fleet/build.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/job.h"
#include "cli/fleet/gather.h"
#include "cli/fleet/node.h"
#include "harness/interrupt.h"

/* A build of all ISAs with ceilings takes some minutes on many cores. */
#define DEFAULT_LIMIT "900"

enum { ARGS_MAX = 32, ARG_MAX_BYTES = 512 };

/* `carm build` and its options, as words. */
struct build_line {
    char carm[PATH_MAX];
    char args[ARGS_MAX][ARG_MAX_BYTES];
    char *argv[ARGS_MAX + 1]; /* ended by NULL */
    size_t n;
};

static int add(struct build_line *line, const char *option, const char *value, struct carm_err *err)
{
    if (!option || line->n + 1 >= ARGS_MAX) {
        return carm_fail(err, CARM_EINVAL, "too many options");
    }
    const int n =
        snprintf(line->args[line->n], ARG_MAX_BYTES, "%s%s%s", option, *value ? "=" : "", value);
    if (n < 0 || n >= ARG_MAX_BYTES) {
        return carm_fail(err, CARM_EINVAL, "the value of %s is too long", option);
    }
    line->argv[line->n] = line->args[line->n];
    line->argv[++line->n] = NULL;
    return 0;
}

static int make_line(struct build_line *line, const struct carm_fleet_build_words *words,
                     struct carm_err *err)
{
    const struct carm_build_words *b = &words->build;
    const struct {
        const char *option, *value;
    } options[] = {
        {"--isa", b->isa},           {"--precision", b->precision},   {"--ldst", b->ldst},
        {"--ops", b->ops},           {"--threads", b->threads},       {"--levels", b->levels},
        {"--reps", b->reps},         {"--quick", b->quick},           {"--memory", b->memory},
        {"--ceilings", b->ceilings}, {"--counters", words->counters},
    };
    const ssize_t n = readlink("/proc/self/exe", line->carm, sizeof line->carm - 1);
    if (n <= 0) {
        return carm_fail(err, CARM_EIO, "cannot find this program's own file: is /proc mounted?");
    }
    line->carm[n] = '\0';
    line->n = 1;
    line->argv[0] = line->carm;
    int rc = add(line, "build", "", err);
    for (size_t i = 0; i < sizeof options / sizeof *options && rc == 0; i++) {
        if (options[i].value) {
            rc = add(line, options[i].option, options[i].value, err);
        }
    }
    return rc;
}

static int check(const struct carm_fleet_build_words *words, struct carm_err *err)
{
    const char *limit = words->time_limit ? words->time_limit : DEFAULT_LIMIT;
    char *end = NULL;
    const double seconds = *limit >= '0' && *limit <= '9' ? strtod(limit, &end) : 0.0;
    if (!words->output) {
        return carm_fail(err, CARM_EINVAL,
                         "say where the rows go: carm fleet build -o fleet.jsonl");
    }
    if (!end || *end || !(seconds >= 1.0 && seconds <= 86400.0)) {
        return carm_fail(err, CARM_EINVAL,
                         "--time-limit needs seconds from 1 to 86400, not '%.40s'", limit);
    }
    return 0;
}

/* ---- under mpirun --------------------------------------------------------------------------- */

/* Becomes carm-mpi, which lies beside the program, or in libexec once installed. MPI is in a program
 * of its own so that carm runs where there is none, and so that each may be of another compiler. */
static int become_rank(const struct build_line *line, const struct carm_fleet_build_words *words,
                       struct carm_err *err)
{
    static const char *const places[] = {"carm-mpi", "../libexec/carm/carm-mpi"};
    const char *slash = strrchr(line->carm, '/');
    const int folder = slash ? (int)(slash - line->carm) + 1 : 0;
    char path[PATH_MAX + 64];
    char name[] = "carm-mpi";
    char output[PATH_MAX];
    char limit[64];
    char *argv[ARGS_MAX + 4] = {name, output, limit};
    (void)snprintf(output, sizeof output, "%s", words->output);
    (void)snprintf(limit, sizeof limit, "%s",
                   words->time_limit ? words->time_limit : DEFAULT_LIMIT);
    memcpy(argv + 3, line->argv, (line->n + 1) * sizeof *argv);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        (void)snprintf(path, sizeof path, "%.*s%s", folder, line->carm, places[i]);
        (void)execv(path, argv);
        if (errno != ENOENT) {
            return carm_fail(err, CARM_EIO, "cannot start %.256s: %s", path, strerror(errno));
        }
    }
    return carm_fail(err, CARM_ENOTSUP,
                     "this is an MPI job, but carm was built without MPI: install mpicc (Debian: "
                     "libopenmpi-dev), then make and make install again; or gather models without "
                     "it: srun carm build -o models/%%h.json");
}

/* ---- alone ---------------------------------------------------------------------------------- */

static int measure_alone(const struct build_line *line, const struct carm_fleet_build_words *words,
                         struct carm_err *err)
{
    struct carm_fleet_gather g;
    struct carm_fleet_node node;
    struct carm_fleet_peer me = {.measures = 1};
    carm_fleet_who_read(&me.who, -1);
    int rc = carm_fleet_gather_open(&g, &me, 1, words->output, err);
    if (rc) {
        return rc;
    }
    (void)fprintf(stderr,
                  "carm: no MPI job here (mpirun carm fleet build ...): measuring %s alone\n",
                  me.who.host);
    carm_interrupt_watch();
    carm_fleet_node_start(&node, line->argv,
                          strtod(words->time_limit ? words->time_limit : DEFAULT_LIMIT, NULL),
                          false);
    while (!carm_fleet_node_poll(&node)) {
        carm_fleet_nap();
        if (carm_interrupted) {
            carm_fleet_node_stop(&node, "interrupted");
        }
    }
    char *row = carm_fleet_node_row(&node, &me.who);
    carm_fleet_gather_take(&g, 0, row);
    free(row);
    carm_fleet_node_close(&node);
    rc = carm_fleet_gather_finish(&g, err);
    carm_fleet_gather_close(&g);
    return rc;
}

int carm_fleet_build(const struct carm_fleet_build_words *words, struct carm_err *err)
{
    struct build_line line = {.n = 0};
    int rc = check(words, err);
    rc = rc ? rc : make_line(&line, words, err);
    if (rc) {
        return rc;
    }
    struct carm_job job;
    carm_job_read(&job);
    if (job.mpi) {
        return become_rank(&line, words, err);
    }
    if (job.tasks > 1) {
        return carm_fail(err, CARM_ENOTSUP,
                         "srun started %ld tasks without MPI between them: use mpirun in the "
                         "allocation, srun --mpi=pmix, or srun carm build -o models/%%h.json",
                         job.tasks);
    }
    return measure_alone(&line, words, err);
}
