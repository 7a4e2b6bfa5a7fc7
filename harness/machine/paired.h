/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Threads that share cores in every round, told from threads that a host has put on one core for a while. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Rounds of the most threads that worked so far; zeroed before the first. */
struct carm_paired {
    int n; /* threads */
    size_t own,
        shared; /* rounds in which each had a core of its own; in which some shared one with another */
};

void carm_paired_note(struct carm_paired *seen, int n, bool own);

/* Whether n threads are the most of which rounds were noted, at least four, and shared cores in 95% of at least 12:
 * the CPUs of a virtual machine that are hardware threads, though its topology says otherwise. Two threads can be on
 * one core for as long on a host that moves virtual CPUs about. */
bool carm_paired_is(const struct carm_paired *seen, int n);
