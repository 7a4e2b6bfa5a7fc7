/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The machine that a study measures on, and its turn to measure there. */
#ifndef CARM_KERNELS_STUDY_MACHINE_H
#define CARM_KERNELS_STUDY_MACHINE_H

#include <stdbool.h>

#include "harness/node_lock.h"
#include "kernels/study/words.h"
#include "harness/clock.h"
#include "harness/cpu.h"
#include "harness/topo.h"

struct carm_study_machine {
    struct carm_cpu cpu;
    struct carm_clock clock;
    struct carm_topo *topo;
    struct carm_node_lock lock;
    struct carm_observer *observer; /* borrowed */
};

/* Reads the machine and waits for the node. rc: what checking the words
 * gave: unless it is 0, nothing is done.
 * returns rc; as carm_topo_open, carm_clock_open and carm_node_lock_open, CARM_NODE_ASIDE included;
 * carm_study_leave releases it in any case */
int carm_study_enter(struct carm_study_machine *here, const struct carm_study_words *words,
                     struct carm_observer *observer, int rc, struct carm_err *err);

/* Whether the picture can be made, and the file of points goes with --resume.
 * dram  whether the model has a bandwidth of DRAM, which every picture draws */
int carm_study_check_files(const struct carm_study_words *words, bool dram, struct carm_err *err);

/* rc: what became of the study. returns it; 0 where another rank does it */
int carm_study_leave(struct carm_study_machine *here, int rc);

#endif
