/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/place/host.h"

#include "harness/place/place.h"

int carm_host_look(struct carm_host *host, const char *on, struct carm_observer *observer,
                   struct carm_err *err)
{
    host->topo = NULL;
    host->lock.fd = -1;
    host->observer = observer;
    carm_cpu_read(&host->cpu);
    const int rc = carm_topo_open(&host->topo, NULL, NULL, err);
    return rc ? rc : carm_topo_on(host->topo, on, err);
}

int carm_host_open(struct carm_host *host, const char *on, struct carm_observer *observer,
                   struct carm_err *err)
{
    const int rc = carm_host_look(host, on, observer, err);
    return rc ? rc : carm_topo_check_here(host->topo, err);
}

int carm_host_lay_out(const struct carm_host *host, const char *layout, struct carm_err *err)
{
    enum { SETS_MAX = 64 };
    int threads[SETS_MAX];
    size_t n = 0;
    return *layout ? carm_topo_threads(host->topo, layout, threads, SETS_MAX, &n, err) : 0;
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
