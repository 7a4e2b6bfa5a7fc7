/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm fleet build: measures every node of an MPI job once, and gathers all models in one file. */
#include "cli/commands.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "asm/isa.h"
#include "base/job.h"
#include "base/number.h"
#include "base/observer.h"
#include "cli/fleet/nodes.h"

/* A build of all ISAs with ceilings takes some minutes on many cores. */
#define DEFAULT_LIMIT "900"
/* The options of the command line; NULL where not given. */
static const char *opt_output;     /* fleet.jsonl, on the node of rank 0 */
static const char *opt_time_limit; /* seconds that a node may take */
static double limit_seconds;
enum {
    OWN = 2,
    PASSED = 13
}; /* options of this command; the options behind them are of carm build */
static const char *passed[PASSED];

static const struct carm_opt options[] = {
    {"output", 'o', carm_opt_outfile, NULL,
     "Append the nodes' rows to this file (fleet.jsonl). Required.", &opt_output, NULL},
    {"time-limit", 0, "SECONDS", DEFAULT_LIMIT,
     "Give up a node that takes longer; its row says so.", &opt_time_limit, NULL},
    {"quick", 0, NULL, NULL, "As carm build.", &passed[0], NULL},
    {"isa", 0, "LIST", NULL, "As carm build.", &passed[1], CARM_WORDS(CARM_ISA_TABLE) "|all"},
    {"precision", 0, "LIST", NULL, "As carm build.", &passed[2], CARM_WORDS(CARM_PRECISION_TABLE)},
    {"threads", 't', "LIST", NULL, "As carm build.", &passed[3], "cores|all"},
    {"ldst", 0, "LIST", NULL, "As carm build.", &passed[4], CARM_WORDS(CARM_MIX_TABLE)},
    {"ops", 0, "LIST", NULL, "As carm build.", &passed[5], CARM_WORDS(CARM_OP_TABLE)},
    {"levels", 0, "LIST", NULL, "As carm build.", &passed[6], "L1|L2|L3|DRAM"},
    {"ceilings", 0, "[=LIST]", NULL, "As carm build.", &passed[7],
     "in-core|mix|memory|busy|traffic"},
    {"reps", 'r', "N", NULL, "As carm build.", &passed[8], NULL},
    {"memory", 0, "LIMIT", NULL, "As carm build.", &passed[9], NULL},
    {"counters", 'c', "WORD", NULL, "As carm build.", &passed[10], "auto|papi|likwid|step|none"},
    {"wait", 0, "SECONDS", NULL, "As carm build.", &passed[11], NULL},
    {"budget", 'b', "SECONDS", NULL, "As carm build.", &passed[12], NULL},
    {NULL, 0, NULL, NULL, NULL, NULL, NULL},
};
_Static_assert(sizeof options / sizeof *options == OWN + PASSED + 1, "each has its place");

enum { ARG_MAX_BYTES = 512 };

/* `carm build` and its options, as words. */
struct build_line {
    char carm[PATH_MAX];
    char build[6];
    char args[PASSED][ARG_MAX_BYTES];
    char *argv[PASSED + 3]; /* ended by NULL */
    size_t n;
};

static int make_line(struct build_line *line, struct carm_err *err)
{
    *line = (struct build_line){.build = "build", .argv = {line->carm, line->build}, .n = 2};
    if (readlink("/proc/self/exe", line->carm, sizeof line->carm - 1) <= 0) {
        return carm_fail(err, CARM_EIO, "cannot find this program's own file: is /proc mounted?");
    }
    for (size_t i = 0; i < PASSED; i++) {
        const struct carm_opt *o = &options[OWN + i];
        char *arg = line->args[i];
        if (!*o->value) {
            continue;
        }
        const int n =
            snprintf(arg, ARG_MAX_BYTES, "--%s%s%s", o->name, **o->value ? "=" : "", *o->value);
        if (n < 0 || n >= ARG_MAX_BYTES) {
            return carm_fail(err, CARM_EINVAL, "the value of --%s is too long", o->name);
        }
        line->argv[line->n++] = arg;
    }
    return 0;
}

static const char *time_limit(void)
{
    return opt_time_limit ? opt_time_limit : DEFAULT_LIMIT;
}

static int check(struct carm_err *err)
{
    if (!opt_output) {
        return carm_fail(err, CARM_EINVAL,
                         "say where the rows go: carm fleet build -o fleet.jsonl");
    }
    if (!carm_number_between(time_limit(), 1.0, 86400.0, &limit_seconds)) {
        return carm_fail(err, CARM_EINVAL,
                         "--time-limit needs seconds from 1 to 86400, not '%.40s'", time_limit());
    }
    return 0;
}

/* Replaces this process by carm-mpi, which is beside the program, or in libexec (or lib) if installed. MPI has a
 * program of its own, so that carm runs without MPI, and so that both may be built by different compilers. */
static int become_rank(const struct build_line *line, struct carm_err *err)
{
    static const char *const places[] = {"carm-mpi", "../libexec/carm/carm-mpi",
                                         "../lib/carm/carm-mpi", "../lib64/carm/carm-mpi"};
    const char *slash = strrchr(line->carm, '/');
    const int folder = slash ? (int)(slash - line->carm) + 1 : 0;
    char path[PATH_MAX + 64];
    char name[] = "carm-mpi";
    char output[PATH_MAX];
    char limit[64];
    char *argv[PASSED + 6] = {name, output, limit};
    snprintf(output, sizeof output, "%s", opt_output);
    snprintf(limit, sizeof limit, "%s", time_limit());
    memcpy(argv + 3, line->argv, (line->n + 1) * sizeof *argv);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, sizeof path, "%.*s%s", folder, line->carm, places[i]);
        execv(path, argv);
        if (errno != ENOENT) {
            return carm_fail(err, CARM_EIO, "cannot start %.256s: %s", path, strerror(errno));
        }
    }
    return carm_fail(err, CARM_ENOTSUP,
                     "this is an MPI job, but carm was built without MPI: install mpicc (Debian: "
                     "libopenmpi-dev), then make and make install again; or gather models without "
                     "it: srun carm build -o models/%%h.json");
}

static int measure_alone(const struct build_line *line, struct carm_err *err)
{
    struct carm_fleet_gather g;
    struct carm_fleet_node node;
    struct carm_fleet_peer me = {.measures = 1};
    carm_fleet_who_read(&me.who, -1);
    int rc = carm_fleet_gather_open(&g, &me, 1, opt_output, err);
    if (rc) {
        return rc;
    }
    fprintf(stderr, "carm: no MPI job here (mpirun carm fleet build ...): measuring %s alone\n",
            me.who.host);
    carm_interrupt_watch();
    carm_fleet_node_start(&node, line->argv, limit_seconds, false);
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

static int build(struct carm_err *err)
{
    static struct build_line line; /* 20 KiB */
    int rc = check(err);
    rc = rc ? rc : make_line(&line, err);
    if (rc) {
        return rc;
    }
    struct carm_job job;
    carm_job_read(&job);
    if (job.mpi) {
        return become_rank(&line, err);
    }
    if (job.tasks > 1) {
        return carm_fail(err, CARM_ENOTSUP,
                         "srun started %ld tasks without MPI between them: use mpirun in the "
                         "allocation, srun --mpi=pmix, or srun carm build -o models/%%h.json",
                         job.tasks);
    }
    return measure_alone(&line, err);
}

static int run_build(int noperands, char **operands)
{
    struct carm_err err = {""};
    (void)noperands;
    (void)operands;
    const int rc = build(&err);
    return carm_say_outcome(rc, &err);
}

const struct carm_command carm_command_fleet_build = {
    .name = "fleet build",
    .summary = "measure every node of an MPI job into one file",
    .operands = "",
    .details =
        "Runs under mpirun or srun --mpi=pmix, where carm was built with MPI (make builds carm-mpi where "
        "there is mpicc): one rank of each node measures it in a process of its own, and rank 0 appends a "
        "row to the file as each model arrives. A node that fails, hangs past --time-limit or dies has a "
        "row with the reason. Without MPI it measures this node. Where nodes share a file system, srun "
        "carm build -o models/%h.json needs no MPI.\n\n"
        "Options that are described as those of carm build are passed to it on each node.",
    .examples = "mpirun --enable-recovery carm fleet build -o fleet.jsonl --time-limit 300\n"
                "srun --mpi=pmix carm fleet build -o fleet.jsonl",
    .opts = options,
    .max_operands = 0,
    .run = run_build,
};
