/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/machine/buffer.h"

void carm_machine_describe(struct carm_machine *machine, const struct carm_cpu *cpu,
                           const struct carm_topo *topo, const struct carm_clock *clock)
{
    memset(machine, 0, sizeof *machine);
    if (gethostname(machine->hostname, sizeof machine->hostname - 1) != 0) {
        snprintf(machine->hostname, sizeof machine->hostname, "unknown");
    }
    snprintf(machine->cpu, sizeof machine->cpu, "%s", cpu->brand);
    snprintf(machine->hypervisor, sizeof machine->hypervisor, "%s", cpu->hypervisor);
    machine->cores = topo->cores;
    machine->threads = topo->pus;
    snprintf(machine->on, sizeof machine->on, "%s", topo->on);
    snprintf(machine->layout, sizeof machine->layout, "%s", topo->layout);
    machine->cpu_quota = topo->quota;
    machine->memory_bytes = carm_memory_total();
    machine->tsc_hz = clock->tsc_hz;
    machine->caches = calloc(topo->ncaches ? topo->ncaches : 1, sizeof *machine->caches);
    for (size_t i = 0; machine->caches && i < topo->ncaches; i++) {
        machine->caches[machine->ncaches++] = (struct carm_cache){
            topo->caches[i].level, topo->caches[i].size_bytes, topo->caches[i].shared_by};
    }
}

static bool same_caches(const struct carm_machine *a, const struct carm_machine *b)
{
    bool same = a->ncaches == b->ncaches;
    for (size_t i = 0; same && i < a->ncaches; i++) {
        same = a->caches[i].level == b->caches[i].level &&
               a->caches[i].size_bytes == b->caches[i].size_bytes;
    }
    return same;
}

int carm_machine_check(const struct carm_machine *here, const struct carm_machine *model,
                       struct carm_err *err)
{
    if (strcmp(here->hostname, model->hostname) != 0) {
        return carm_fail(err, CARM_EINVAL, "the model is of host %.64s, this is %.64s",
                         model->hostname, here->hostname);
    }
    if (strcmp(here->cpu, model->cpu) != 0) {
        return carm_fail(err, CARM_EINVAL, "the model is of a CPU \"%.64s\", this is \"%.64s\"",
                         model->cpu, here->cpu);
    }
    if (strcmp(here->on, model->on) != 0) {
        return *model->on
                   ? carm_fail(err, CARM_EINVAL,
                               "the model was measured on %.79s, not on %.79s: give --on %.79s",
                               model->on, *here->on ? here->on : "the whole machine", model->on)
                   : carm_fail(err, CARM_EINVAL,
                               "the model is of the whole machine, not of %.79s: `carm build --on "
                               "%.79s` measures that place",
                               here->on, here->on);
    }
    if (!same_caches(here, model)) {
        return carm_fail(err, CARM_EINVAL,
                         "the model is of a machine with other caches than this one's");
    }
    return 0;
}
