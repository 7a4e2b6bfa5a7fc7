/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A program counted by translation: it, its threads and its children execute copies of their own code that
 * count blocks (harness/translate/engine). Exact, and 1 to some 10 times slower than free. */
#ifndef CARM_HARNESS_TRANSLATE_RUN_H
#define CARM_HARNESS_TRANSLATE_RUN_H

#include <signal.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"
#include "harness/count/step/instruction.h"
#include "harness/translate/addresses.h"
#include "harness/translate/blocks.h"

struct carm_translation {
    const volatile sig_atomic_t *interrupted; /* in: set: count no longer; NULL */
    void (*ended)(void); /* in: called at the end of the program, before the evaluation; NULL */
    struct carm_blocks *blocks;     /* out: the counts by place in the code, to be closed;
                                               * NULL = not wanted */
    struct carm_step_counts counts; /* out */
    uint64_t threads, processes;    /* out: seen */
    uint64_t compared;              /* out: instructions in code that may change (a just-in-time
                                               * compiler's), which is compared each time */
    int status;                     /* out: of the program, as waitpid gives it */
    char
        incomplete[256]; /* out: why the counts are not those of the whole program; "" = they are */
};

struct carm_translator;

/* Whether it works here: ptrace, /proc, files in memory.
 * sink  who takes the addresses of loads and stores; borrowed until it is closed; NULL = nobody
 * returns 0, -CARM_ENOTSUP, -CARM_ENOMEM, -CARM_EIO */
int carm_translator_open(struct carm_translator **out, const struct carm_address_sink *sink,
                         struct carm_err *err);
void carm_translator_close(struct carm_translator *translator); /* NULL allowed */

/* Before its exec: a child of the calling thread that waits (run/launch.h, not traced).
 * path  the program, as exec is given it
 * returns 0, -CARM_ENOTSUP: it cannot be traced, or must not (set-user-id) */
int carm_translator_attach(struct carm_translator *translator, pid_t pid, const char *path,
                           struct carm_err *err);

/* When exec has succeeded: counts until its end, by the thread that attached. Other children of this
 * thread that end meanwhile are reaped. Processes that it leaves running are counted for up to 3 s, then let go.
 * returns 0 or -CARM_EIO */
int carm_translator_run(struct carm_translator *translator, struct carm_translation *translation,
                        struct carm_err *err);

#endif
