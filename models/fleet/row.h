/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rows of fleet.jsonl: one JSON object a line, a node's model or the reason why there is none. */
#ifndef CARM_MODELS_FLEET_ROW_H
#define CARM_MODELS_FLEET_ROW_H

#include <stdbool.h>

/* Who measured: what tells two nodes of the same name apart. */
struct carm_fleet_who {
    char host[256];
    char job[128];    /* of the batch system; "" = none */
    char boot_id[40]; /* the kernel's, new at every boot of every node; "" = unknown */
    int rank;         /* of MPI; -1 = none */
};

/* This process's host, job and boot. */
void carm_fleet_who_read(struct carm_fleet_who *who, int rank);

/* A row's line, its end included; to be released with free.
 * status  "ok", "failed" (carm build said why), "killed" (by a signal), "timeout" or "lost" (the rank
 *         never reported)
 * reason  a sentence; NULL = none
 * model   text of a model file; NULL = none
 * returns NULL when out of memory, or where model is no JSON */
char *carm_fleet_row_text(const struct carm_fleet_who *who, const char *status, const char *reason,
                          const char *model);

/* What a row says, for messages. */
struct carm_fleet_row_said {
    bool ok;
    char status[16];
    char reason[512]; /* "" = none */
};

/* Reads that from a row's line; a line that is no row has status "failed" and says so. */
void carm_fleet_row_read(const char *line, struct carm_fleet_row_said *said);

#endif
