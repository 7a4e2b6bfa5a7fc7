/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Translated blocks that the programs of a run share (harness/translate/layout.h). Most programs execute the same code
 * of ld.so and libc, and a script starts the same programs again. Decoding this code in each program would take 75% of
 * a short program's time. The builder, a process of carm, translates from the files the code that programs have
 * executed. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "harness/translate/image.h"
#include "harness/translate/kept.h"
#include "harness/translate/sum.h"

struct carm_ready_files;
struct carm_stock_keeper;

/* cpu  the view of all programs; borrowed, filled before the first program starts
 * returns NULL where the kernel cannot seal memory, or without memory: programs then run without a stock, slower */
struct carm_stock_keeper *carm_stock_open(const struct carm_cpu_view *cpu);
void carm_stock_close(struct carm_stock_keeper *keeper); /* ends the builder; NULL allowed */

/* Whether programs have executed so much code that the builder has not seen. NULL allowed */
bool carm_stock_worth(const struct carm_stock_keeper *keeper, struct carm_sums *sums);
/* Starts the builder, if it is not at work. NULL allowed */
void carm_stock_build(struct carm_stock_keeper *keeper, const struct carm_engine *image,
                      struct carm_sums *sums);
void carm_stock_wait(struct carm_stock_keeper *keeper); /* until the builder ends; NULL allowed */
/* From now on, ready code is loaded from disk (kept.h), and saved to disk when all programs have ended. key: of the
 * processor; NULL allowed */
void carm_stock_keep(struct carm_stock_keeper *keeper, const struct carm_engine *image,
                     uint64_t key);
void carm_stock_save(struct carm_stock_keeper *keeper);
/* The files for the program that carm_sums_add has added last: the stock, its ready code, and a file in which the
 * program leaves its code for the next count. Puts the counters of the ready code into the program's tally.
 * wait    for tests: makes ready code now, if the program was executed before
 * files   out; none where keeper is NULL */
void carm_stock_ready(struct carm_stock_keeper *keeper, const struct carm_engine *image,
                      struct carm_sums *sums, bool wait, struct carm_ready_files *files);
uint32_t carm_stock_given(
    const struct carm_stock_keeper *keeper); /* programs that got ready code; NULL allowed */
/* Makes wanted ready code, if no process of the keeper is at work. NULL allowed */
void carm_stock_go_on(struct carm_stock_keeper *keeper, const struct carm_engine *image,
                      struct carm_sums *sums);

/* A child of this thread has ended: whether it was a process of the keeper. */
bool carm_stock_reaped(struct carm_stock_keeper *keeper, pid_t pid);
