/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/machine/host.h"

int carm_host_open(struct carm_host *host, struct carm_observer *observer, struct carm_err *err)
{
    host->topo = NULL;
    host->lock.fd = -1;
    host->observer = observer;
    carm_cpu_read(&host->cpu);
    const int rc = carm_topo_open(&host->topo, NULL, NULL, err);
    return rc ? rc : carm_topo_check_here(host->topo, err);
}

int carm_host_enter(struct carm_host *host, const char *command, const char *output,
                    const char *wait, struct carm_err *err)
{
    char note[256];
    if (*carm_topo_quota_note(note, sizeof note, host->topo)) {
        carm_observer_say(host->observer, "warning: %s", note);
    }
    const int rc = carm_node_lock_open(&host->lock, command, output, wait, host->observer, err);
    return rc ? rc : carm_clock_open(&host->clock, err);
}

void carm_host_leave(struct carm_host *host, bool done)
{
    carm_node_lock_close(&host->lock, done);
}

void carm_host_close(struct carm_host *host)
{
    carm_host_leave(host, false);
    carm_topo_close(host->topo);
}
