/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Puts the engine into a program that has just been executed. */
#ifndef CARM_HARNESS_TRANSLATE_INJECT_H
#define CARM_HARNESS_TRANSLATE_INJECT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "base/err.h"
#include "harness/translate/image.h"
#include "harness/translate/records.h"

struct carm_boot;

/* pid is traced by the calling thread and stopped at PTRACE_EVENT_EXEC. Afterwards it is no longer
 * traced, and runs: counted, or as it would have without us.
 * low  for a program that has memory in the place of image: at CARM_IMAGE_LOW; opened when it is needed
 * tally, control  file descriptors (harness/translate/tally.h)
 * records  that of harness/translate/records.h; -1: addresses are not wanted
 * program, sample  of the records
 * returns 0, -CARM_ENOTSUP (it is not counted: a phrase says why), -CARM_EIO (it has gone) */
int carm_inject(pid_t pid, const struct carm_engine *image, struct carm_engine *low, int tally,
                int control, int records, uint32_t program, const struct carm_record_sample *sample,
                struct carm_err *err);

/* The executable memory of /proc/PID/maps: boot->ranges. returns false where there is none, or too much */
bool carm_inject_ranges(FILE *maps, struct carm_boot *boot);

/* The random bytes that the kernel gives a program (AT_RANDOM: guards of its stack, seeds of hashes) become
 * the same each time: string functions look at guards beside a string, Go's maps take their order from these.
 * pid  as above, or not yet back from its exec */
void carm_inject_random(pid_t pid);

#endif
