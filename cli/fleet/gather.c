/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/fleet/gather.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/fleet/node.h"
#include "cli/opt.h"

int carm_fleet_gather_open(struct carm_fleet_gather *g, const struct carm_fleet_peer *peers,
                           size_t n, const char *output, struct carm_err *err)
{
    *g = (struct carm_fleet_gather){.n = n, .file.fd = -1, .started = carm_fleet_seconds()};
    g->peers = calloc(n, sizeof *g->peers);
    if (!g->peers) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for %zu ranks", n);
    }
    memcpy(g->peers, peers, n * sizeof *peers);
    for (size_t i = 0; i < n; i++) {
        g->nodes += g->peers[i].measures ? 1 : 0;
    }
    g->waiting = g->nodes;
    const int rc = carm_fleet_file_open(&g->file, output, err);
    if (rc) {
        free(g->peers);
        g->peers = NULL;
    }
    return rc;
}

/* "carm: nodeA (rank 3): failed: ..." */
static void say(const struct carm_fleet_who *who, const char *status, const char *reason)
{
    char rank[32] = "";
    if (who->rank >= 0) {
        (void)snprintf(rank, sizeof rank, " (rank %d)", who->rank);
    }
    (void)carm_say_error(0, "%s%s: %s%s%s", who->host, rank, status, *reason ? ": " : "", reason);
}

/* At every tenth: a line, since under mpirun nothing is a terminal. */
static void say_progress(struct carm_fleet_gather *g)
{
    const size_t done = g->nodes - g->waiting;
    const size_t tenth = 10 * done / g->nodes;
    if (tenth > g->told && g->waiting > 0) {
        (void)fprintf(stderr, "%zu of %zu nodes have reported, %.0f s\n", done, g->nodes,
                      carm_fleet_seconds() - g->started);
    }
    g->told = tenth;
}

/* A row in place of one that the disk had no room for. */
static void append_short(struct carm_fleet_gather *g, const struct carm_fleet_who *who,
                         const struct carm_err *why)
{
    char reason[sizeof why->text + 64];
    (void)snprintf(reason, sizeof reason, "the row was not kept: %s", why->text);
    char *line = carm_fleet_row_text(who, "failed", reason, NULL);
    if (!line || carm_fleet_file_append(&g->file, line, NULL)) {
        g->unkept++;
    }
    say(who, "failed", reason);
    free(line);
}

static void put_row(struct carm_fleet_gather *g, struct carm_fleet_peer *peer, const char *line)
{
    struct carm_fleet_row_said said = {.status = "failed", .reason = "not enough memory"};
    struct carm_err err = {"not enough memory for the row"};
    peer->rowed = 1;
    g->waiting--;
    if (line) {
        carm_fleet_row_read(line, &said);
    }
    if (!line || carm_fleet_file_append(&g->file, line, &err)) {
        append_short(g, &peer->who, &err);
    } else if (said.ok) {
        g->ok++;
    } else {
        say(&peer->who, said.status, said.reason);
    }
    say_progress(g);
}

void carm_fleet_gather_take(struct carm_fleet_gather *g, size_t rank, const char *line)
{
    struct carm_fleet_peer *peer = rank < g->n ? &g->peers[rank] : NULL;
    if (peer && peer->measures && !peer->rowed) {
        peer->reported = 1;
        put_row(g, peer, line);
    }
}

void carm_fleet_gather_silent(struct carm_fleet_gather *g, const char *status, const char *reason)
{
    for (size_t i = 0; i < g->n; i++) {
        if (g->peers[i].measures && !g->peers[i].rowed) {
            char *line = carm_fleet_row_text(&g->peers[i].who, status, reason, NULL);
            put_row(g, &g->peers[i], line);
            free(line);
        }
    }
}

int carm_fleet_gather_finish(struct carm_fleet_gather *g, struct carm_err *err)
{
    struct carm_err why = {""};
    const int rc = carm_fleet_file_close(&g->file, &why);
    const size_t aside = g->n - g->nodes;
    (void)printf("%zu of %zu node%s measured in %.1f s", g->ok, g->nodes, g->nodes == 1 ? "" : "s",
                 carm_fleet_seconds() - g->started);
    if (aside) {
        (void)printf(" (%zu rank%s stood aside: one measures each node)", aside,
                     aside == 1 ? "" : "s");
    }
    (void)printf(": %s\n", g->file.name);
    if (rc) {
        return carm_fail(err, CARM_EIO, "%s", why.text);
    }
    if (g->unkept) {
        return carm_fail(err, CARM_EIO,
                         "%zu of %zu rows were not kept in %.256s: make room, then measure these "
                         "nodes again",
                         g->unkept, g->nodes, g->file.name);
    }
    return g->ok == g->nodes
               ? 0
               : carm_fail(err, CARM_EIO, "%zu of %zu nodes have no model: %.256s says why",
                           g->nodes - g->ok, g->nodes, g->file.name);
}

void carm_fleet_gather_close(struct carm_fleet_gather *g)
{
    (void)carm_fleet_file_close(&g->file, NULL);
    free(g->peers);
    g->peers = NULL;
}
