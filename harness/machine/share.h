/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One piece of work shared by several threads. */
#pragma once

enum { CARM_THREADS_MAX = 8 };

/* Calls work(arg) in n threads, the calling thread among them, and waits for all. Runs fewer
 * threads when the system refuses to start more.
 * n  CARM_THREADS_MAX at most; 0 = one for each processor */
void carm_threads_share(int n, void *(*work)(void *), void *arg);
