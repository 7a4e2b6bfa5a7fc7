/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tells threads that share cores in every round from threads that a host has put on one core for a while. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Rounds with the largest number of threads so far; zeroed before the first round. */
struct carm_paired {
    int n; /* threads */
    size_t own,
        shared; /* rounds in which each thread had a core of its own; in which threads shared a core */
};

void carm_paired_note(struct carm_paired *seen, int n, bool own);

/* Whether n is the largest number of threads so far, at least four, and threads shared cores in 95% of at least 12
 * rounds: the CPUs of this virtual machine are then hardware threads of shared cores, though its topology says
 * otherwise. Two threads prove nothing: a host that moves virtual CPUs can leave both on one core for as long. */
bool carm_paired_is(const struct carm_paired *seen, int n);
