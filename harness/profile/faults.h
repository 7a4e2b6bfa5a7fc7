/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Page faults that give huge pages: few, and each takes as long as a hundred others, as the kernel clears 2 MiB. */
#pragma once

/* Number of huge page faults of all programs since the machine's start; 0 = not known */
double carm_huge_faults(void);

/* Seconds of one such fault, with the release of its page, measured in some 3 ms; 0 = the kernel gives no huge pages */
double carm_huge_fault_seconds(void);
