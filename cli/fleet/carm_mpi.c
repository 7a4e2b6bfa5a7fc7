/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm-mpi OUTPUT LIMIT CARM build [OPTIONS]: a rank of `mpirun carm fleet build`, whose processes become this program.
 * One rank of each node measures it. Each row is sent to rank 0 when it is finished.
 *
 * No rank ever waits inside MPI while a node is measured, since MPI waits by spinning: all ranks poll and sleep in
 * between. No rank depends on another: rank 0 stops waiting for silent ranks.
 *
 * What Open MPI 4.1 does when a rank is killed (tried, and see orte/mca/errmgr): it ends the job, SIGTERM
 * first, which leaves rank 0 the second that it needs for the other ranks' rows. With mpirun --enable-recovery, the
 * other ranks continue. They must then end by an MPI_Finalize that waits for nobody (async_mpi_finalize) and the exit
 * status 0: after MPI_Abort, an exit without MPI_Finalize or another status, mpirun would wait for ever. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/observer.h"
#include "cli/fleet/nodes.h"
#include "cli/opt.h"

enum { TAG_ROW = 1, TAG_BYE = 2 };

/* Seconds after the last call until a rank stops waiting for rank 0. Chosen by hand. */
static const double ORPHAN_SECONDS = 120.0;

struct job {
    const char *output;
    double limit_seconds;
    char **build; /* carm build OPTIONS, ended by NULL */
    int rank, size;
    struct carm_fleet_peer me;
    double started; /* CLOCK_MONOTONIC, seconds */
    bool recovery;  /* mpirun --enable-recovery */
};

/* The latest time for a row: after the limit, a node kills its child, reads and sends. */
static double last_call(const struct job *job)
{
    const double tenth = job->limit_seconds / 10.0;
    return job->started + job->limit_seconds + (tenth < 5.0 ? 5.0 : tenth > 30.0 ? 30.0 : tenth);
}

/* Begins to send; MPI_Test must see its end, and MPI_Request_free must release it. */
static void begin_send(const char *text, size_t bytes, int rank, int tag, MPI_Request *request)
{
    MPI_Send_init(text, (int)bytes, MPI_CHAR, rank, tag, MPI_COMM_WORLD, request);
    MPI_Start(request);
}

/* Whether mpirun and this MPI are the same. Otherwise each process would be rank 0 of 1. */
static bool launcher_fits(const struct job *job)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *size = getenv(names[i]);
        if (size && strtol(size, NULL, 10) != job->size) {
            return false;
        }
    }
    return true;
}

/* Chooses the rank that measures each node: the first of the ranks that share memory. */
static void choose(struct job *job)
{
    MPI_Comm node;
    int among = 0;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, job->rank, MPI_INFO_NULL, &node);
    MPI_Comm_rank(node, &among);
    MPI_Comm_free(&node);
    carm_fleet_who_read(&job->me.who, job->rank);
    job->me.measures = among == 0;
}

/* Sends rank 0 the host of each rank, before any rank can have died. Rank 0 opens the file; if it
 * cannot, no rank begins.
 * returns 0 or an exit code */
static int introduce(struct job *job, struct carm_fleet_gather *g)
{
    const int bytes = (int)sizeof job->me;
    struct carm_err err = {""};
    int code = 0;
    struct carm_fleet_peer *all = job->rank == 0 ? calloc((size_t)job->size, sizeof *all) : NULL;
    if (job->rank == 0 && !all) {
        carm_say_error(0, "not enough memory for %d ranks", job->size);
        MPI_Abort(MPI_COMM_WORLD, CARM_EXIT_FAILED);
    }
    MPI_Gather(&job->me, bytes, MPI_BYTE, all, bytes, MPI_BYTE, 0, MPI_COMM_WORLD);
    if (job->rank == 0 && carm_fleet_gather_open(g, all, (size_t)job->size, job->output, &err)) {
        code = carm_say_error(CARM_EXIT_FAILED, "%s", err.text);
    }
    free(all);
    MPI_Bcast(&code, 1, MPI_INT, 0, MPI_COMM_WORLD);
    return code;
}

/* Ends a rank when the whole job is ended, at once: mpirun kills ranks that take long. */
static _Noreturn void leave(struct carm_fleet_node *node)
{
    if (node) {
        carm_fleet_node_close(node);
    }
    _exit(CARM_EXIT_FAILED);
}

/* Measures the node and sends its row. */
static void report(const struct job *job)
{
    static const char none[] = "";
    struct carm_fleet_node node;
    MPI_Request request;
    int sent = 0;
    carm_fleet_node_start(&node, job->build, job->limit_seconds, true);
    while (!carm_fleet_node_poll(&node)) {
        carm_fleet_nap();
        if (carm_interrupted) {
            leave(&node);
        }
    }
    char *row = carm_fleet_node_row(&node, &job->me.who);
    carm_fleet_node_close(&node);
    const char *text = row ? row : none;
    begin_send(text, strlen(text), 0, TAG_ROW, &request);
    while (MPI_Test(&request, &sent, MPI_STATUS_IGNORE) == MPI_SUCCESS && !sent) {
        carm_fleet_nap();
        if (carm_interrupted) {
            leave(NULL);
        }
    }
    MPI_Request_free(&request);
    free(row);
}

/* Sleeps until rank 0 has all rows: a rank in MPI_Finalize would spin beside a rank that
 * measures. */
static void wait_for_bye(const struct job *job)
{
    const double end = last_call(job) + ORPHAN_SECONDS;
    int there = 0;
    while (!there) {
        MPI_Iprobe(0, TAG_BYE, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        if (carm_interrupted) {
            leave(NULL);
        }
        if (!there && carm_seconds_now() > end) {
            MPI_Abort(MPI_COMM_WORLD, CARM_EXIT_FAILED); /* rank 0 is gone */
        }
        carm_fleet_nap();
    }
    MPI_Recv(NULL, 0, MPI_CHAR, 0, TAG_BYE, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* A row that is being received; its sender may die before the end. */
struct incoming {
    char *text; /* NULL = none */
    size_t bytes;
    int rank;
    MPI_Request request;
};

static void begin_row(struct incoming *in)
{
    MPI_Status status;
    int there = 0;
    int bytes = 0;
    const int rc = MPI_Iprobe(MPI_ANY_SOURCE, TAG_ROW, MPI_COMM_WORLD, &there, &status);
    if (rc != MPI_SUCCESS || !there || MPI_Get_count(&status, MPI_CHAR, &bytes) != MPI_SUCCESS ||
        bytes < 0) {
        return;
    }
    in->text = calloc(1, (size_t)bytes + 1);
    in->bytes = (size_t)bytes;
    in->rank = status.MPI_SOURCE;
    if (in->text) { /* without memory the message stays queued, for a later try */
        MPI_Recv_init(in->text, bytes, MPI_CHAR, in->rank, TAG_ROW, MPI_COMM_WORLD, &in->request);
        MPI_Start(&in->request);
    }
}

/* Receives all rows that have arrived. */
static void take_rows(struct incoming *in, struct carm_fleet_gather *g)
{
    for (;;) {
        int done = 0;
        if (!in->text) {
            begin_row(in);
        }
        if (!in->text || MPI_Test(&in->request, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS || !done) {
            return;
        }
        MPI_Request_free(&in->request);
        carm_fleet_gather_take(g, (size_t)in->rank, in->bytes ? in->text : NULL);
        free(in->text);
        in->text = NULL;
    }
}

/* Gathers rows until every node has one. returns whether all ranks seem to be alive */
static bool gather(const struct job *job, struct carm_fleet_gather *g)
{
    static const char ended[] =
        "the MPI job was ended before this node had reported (a rank that dies ends all, unless "
        "with mpirun --enable-recovery): measure it again";
    const double end = last_call(job);
    struct carm_fleet_node node;
    struct incoming in = {.text = NULL};
    bool measuring = job->me.measures;
    bool alive = true;
    if (measuring) {
        carm_fleet_node_start(&node, job->build, job->limit_seconds, true);
    }
    while (g->waiting > 0) {
        if (measuring && carm_fleet_node_poll(&node)) {
            char *row = carm_fleet_node_row(&node, &job->me.who);
            carm_fleet_gather_take(g, 0, row);
            free(row);
            carm_fleet_node_close(&node);
            measuring = false;
        }
        take_rows(&in, g);
        const bool late = carm_seconds_now() > end;
        if (g->waiting > 0 && (carm_interrupted || late)) {
            carm_fleet_gather_silent(
                g, carm_interrupted ? "killed" : "lost",
                carm_interrupted ? ended : "its rank has not reported: the rank or its node died");
            alive = false;
        }
        carm_fleet_nap();
    }
    if (measuring) {
        carm_fleet_node_close(&node);
    }
    if (alive) {
        free(in.text);
    } /* else not freed: MPI may still write into it */
    return alive;
}

/* Lets the other ranks end. Does not wait for ranks that may be dead. */
static void say_bye(const struct job *job, const struct carm_fleet_gather *g)
{
    const double end = carm_seconds_now() + 5.0;
    for (int i = 1; i < job->size; i++) {
        MPI_Request request;
        int sent = 0;
        if (g->peers[i].measures && !g->peers[i].reported) {
            continue;
        }
        begin_send("", 0, i, TAG_BYE, &request);
        while (MPI_Test(&request, &sent, MPI_STATUS_IGNORE) == MPI_SUCCESS && !sent &&
               carm_seconds_now() < end) {
            carm_fleet_nap();
        }
        MPI_Request_free(&request);
    }
}

static int lead(const struct job *job, struct carm_fleet_gather *g)
{
    struct carm_err err = {""};
    const bool alive = gather(job, g);
    const int rc = carm_fleet_gather_finish(g, &err);
    fflush(stdout);
    int code = rc ? carm_say_error(CARM_EXIT_FAILED, "%s", err.text) : CARM_EXIT_OK;
    if (carm_interrupted) {
        leave(NULL);
    }
    if (!alive && !job->recovery) {
        fprintf(stderr,
                "carm: the job ends with MPI_Abort, because MPI_Finalize would wait for the "
                "lost ranks; the rows are kept\n");
        MPI_Abort(MPI_COMM_WORLD, CARM_EXIT_FAILED);
    }
    if (code && job->recovery) {
        fprintf(stderr, "carm: mpirun --enable-recovery ends with status 0 all the same; if "
                        "it waits for a node that is gone, stop it: the rows are kept\n");
        code = CARM_EXIT_OK;
    }
    say_bye(job, g);
    return code;
}

int main(int argc, char **argv)
{
    struct job job = {.output = argc > 1 ? argv[1] : NULL};
    struct carm_fleet_gather g;
    if (argc < 5) {
        return carm_say_error(CARM_EXIT_MISUSE,
                              "carm-mpi is started by mpirun carm fleet build, not by hand");
    }
    job.limit_seconds = strtod(argv[2], NULL);
    job.build = argv + 3;
    const char *recovery = getenv("OMPI_MCA_orte_enable_recovery");
    job.recovery = recovery && strchr("1tTyY", *recovery) != NULL && *recovery;
    if (job.recovery) {
        setenv("OMPI_MCA_async_mpi_finalize", "1", 1);
    }
    if (MPI_Init(&argc, &argv) != MPI_SUCCESS) {
        return carm_say_error(CARM_EXIT_FAILED, "MPI_Init failed: MPI cannot be started here");
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &job.size);
    if (!launcher_fits(&job)) {
        MPI_Finalize();
        return carm_say_error(
            CARM_EXIT_FAILED,
            "this mpirun belongs to another MPI than the one carm was built with: use "
            "the mpirun of that MPI, or build carm with this MPI's mpicc");
    }
    carm_interrupt_watch();
    choose(&job);
    job.started = carm_seconds_now();
    int code = introduce(&job, &g);
    if (!code && job.rank == 0) {
        code = lead(&job, &g);
        carm_fleet_gather_close(&g);
    } else if (!code) {
        if (job.me.measures) {
            report(&job);
        }
        wait_for_bye(&job);
    }
    MPI_Finalize();
    return code;
}
