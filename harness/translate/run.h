/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program counted by translation: the program, its threads and its children execute copies of
 * their own code that count blocks (harness/translate/engine). The counts are exact; the program
 * takes 1 to some 10 times its time. */
#pragma once

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "harness/count/step/instruction.h"
#include "harness/translate/addresses.h"
#include "harness/translate/blocks.h"
#include "harness/translate/sum.h"

/* Translated blocks that the programs of a run share (harness/translate/stock.h). */
enum carm_stock_use {
    CARM_STOCK_USED,
    CARM_STOCK_KEPT, /* on disk for later runs of the program, too (harness/translate/kept.h) */
    CARM_STOCK_WAITED, /* for tests: each program waits until the blocks of earlier programs are in the stock */
    CARM_STOCK_UNUSED,
};

struct carm_translation {
    enum carm_stock_use stock;                /* in */
    const volatile sig_atomic_t *interrupted; /* in: counting ends when it is set; NULL = never */
    void (*ended)(void); /* in: called at the end of the program, before the evaluation; NULL */
    struct carm_blocks *blocks;     /* out: the counts by place in the code, to be closed;
                                               * NULL = not wanted */
    struct carm_step_counts counts; /* out */
    struct carm_marks *marks;       /* out: marked code; NULL = not wanted */
    uint64_t threads, processes;    /* out: seen */
    uint64_t compared;              /* out: instructions in code that may change (of a
                                     * just-in-time compiler), which is compared before each
                                     * execution */
    uint32_t varies; /* out: enum carm_varies: inputs that the program has asked the system for */
    uint64_t counters,
        taken;      /* out: counters of executed code; those whose blocks are from the stock */
    uint32_t ready; /* out: programs that began with ready code (layout.h) */
    int status;     /* out: of the program, in waitpid's format */
    /* out: why the counts do not cover the whole program; "" = they do */
    char incomplete[256];
};

struct carm_translator;

/* Checks that counting by translation works here (ptrace, /proc, files in memory), and prepares it.
 * sink  receiver of the addresses of loads and stores; borrowed until carm_translator_close; NULL =
 *       none
 * returns 0, -CARM_ENOTSUP, -CARM_ENOMEM, -CARM_EIO */
int carm_translator_open(struct carm_translator **out, const struct carm_address_sink *sink,
                         struct carm_err *err);
void carm_translator_close(struct carm_translator *translator); /* NULL allowed */

/* From the next program on, no addresses are recorded, so that programs share and keep their code. */
void carm_translator_drop_addresses(struct carm_translator *translator);

/* From the next program on: programs see the CPU of that name (harness/translate/cpu.h) in cpuid, xgetbv, AT_HWCAP,
 * AT_HWCAP2 and /proc/cpuinfo; an instruction that this CPU lacks ends the counting, and is named.
 * returns as carm_cpu_find */
int carm_translator_see(struct carm_translator *translator, const char *name, struct carm_err *err);

/* Attaches to a program before its exec: to a child of the calling thread that waits (run/launch.h)
 * and is not traced.
 * path  the program, as given to exec
 * returns 0, -CARM_ENOTSUP: the program cannot be traced, or must not be (set-user-id) */
int carm_translator_attach(struct carm_translator *translator, pid_t pid, const char *path,
                           struct carm_err *err);

/* After a successful exec: counts until the program ends. Call it from the thread that attached.
 * Reaps other children of this thread that end meanwhile. Processes that the program leaves running
 * are counted for up to 3 s, then released.
 * returns 0 or -CARM_EIO */
int carm_translator_run(struct carm_translator *translator, struct carm_translation *translation,
                        struct carm_err *err);
