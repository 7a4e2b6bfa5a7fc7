/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine on which a command measures, and the lock for its turn to measure. */
#pragma once

#include "harness/machine/clock.h"
#include "harness/machine/cpu.h"
#include "harness/machine/node_lock.h"
#include "harness/machine/topo.h"

struct carm_host {
    struct carm_cpu cpu;
    struct carm_topo *topo;
    struct carm_clock clock; /* measured by carm_host_enter */
    struct carm_node_lock lock;
    struct carm_observer *observer; /* borrowed */
};

/* Reads CPU and topology, also those of another machine that hwloc describes.
 * on  words of a place to restrict it to (carm_topo_on), NULL = none
 * returns as carm_topo_open and carm_topo_on; carm_host_close releases it in any case */
int carm_host_look(struct carm_host *host, const char *on, struct carm_observer *observer,
                   struct carm_err *err);

/* carm_host_look, and carm_topo_check_here: for measuring. */
int carm_host_open(struct carm_host *host, const char *on, struct carm_observer *observer,
                   struct carm_err *err);

/* Places threads like a model's threads. layout: its words of --threads, "" = as usual. returns as carm_topo_threads */
int carm_host_lay_out(const struct carm_host *host, const char *layout, struct carm_err *err);

/* Warns of a CPU quota, waits until no other process measures on this node, then measures the clock.
 * command, output, wait  see carm_node_lock_open
 * returns as carm_node_lock_open, CARM_NODE_ASIDE included, or as carm_clock_open */
int carm_host_enter(struct carm_host *host, const char *command, const char *output,
                    const char *wait, struct carm_err *err);

/* Releases the node's lock: the next command measures. done: the output is written. Does nothing
 * when carm_host_enter was not called. */
void carm_host_leave(struct carm_host *host, bool done);

void carm_host_close(struct carm_host *host);
