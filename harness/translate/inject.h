/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Puts the engine into a program that has just been executed. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"
#include "harness/translate/image.h"
#include "harness/translate/records.h"

struct carm_boot;
struct carm_cpu_view;
struct carm_ready_files;

/* pid is traced by the calling thread and stopped at PTRACE_EVENT_EXEC. Afterwards the program is
 * no longer traced, and runs: counted, or as it would run without carm.
 * low  image at CARM_IMAGE_LOW, for a program that uses the addresses of `image`; opened on demand
 * tally, control  file descriptors (harness/translate/tally.h)
 * records  file descriptor of the records (harness/translate/records.h); -1 = no addresses wanted
 * cpu  that the program sees
 * code  shared blocks and ready code (harness/translate/layout.h), if no addresses are wanted
 * program, sample  members of the records
 * returns 0, -CARM_ENOTSUP (not counted; err has the reason as a phrase), -CARM_EIO (the process is
 * gone) */
int carm_inject(pid_t pid, const struct carm_engine *image, struct carm_engine *low, int tally,
                int control, int records, const struct carm_ready_files *code, uint32_t program,
                const struct carm_record_sample *sample, const struct carm_cpu_view *cpu,
                struct carm_err *err);

/* Sets boot->ranges to the executable memory of /proc/PID/maps.
 * code  files whose ranges get their map's number; NULL = none
 * returns false when there are no ranges, or too many */
bool carm_inject_ranges(FILE *maps, const struct carm_ready_files *code, struct carm_boot *boot);

/* Makes the random bytes that the kernel gives a program (AT_RANDOM) the same in each run, since
 * counts depend on them: string functions read stack guards beside a string, and the order of Go's
 * maps comes from these bytes.
 * pid  see carm_inject; may also not have returned from its exec */
void carm_inject_random(pid_t pid);

/* Continues a stopped process. If the kernel refuses, kills the process, which would stay stopped for ever.
 * request  PTRACE_CONT, PTRACE_LISTEN or PTRACE_DETACH
 * signo    signal for the process; 0 = none */
void carm_inject_let_go(pid_t pid, int request, int signo);
