/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The addresses of all loads and stores of a translated program: the records that its threads write
 * (harness/translate/records.h), taken while it runs and put in order of time. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "harness/translate/records.h"

/* The same kinds as enum carm_access_kind of models/caches/hierarchy.h. */
enum carm_address_kind {
    CARM_ADDRESS_LOAD,
    CARM_ADDRESS_STORE,
    CARM_ADDRESS_STORE_NT,
    CARM_ADDRESS_PREFETCH,
    CARM_ADDRESS_PREFETCH_L2,
};

/* The receiver of the addresses, called by one thread of carm at a time. Accesses of one thread
 * come in program order. Accesses of several threads come in order of time, 16 of a thread at once; the
 * first and last of 3800 records have a time stamp, the other times are interpolated. A running
 * thread waits for the other running threads, so that no thread is far ahead.
 * thread   numbered from 0 by their start, through all processes
 * address  of the thread's process; bits 47 .. 60 are the process's number
 * by       the instruction that makes the access */
struct carm_address_by {
    uint32_t program, counter; /* the instruction's block, see struct carm_block_place */
    uint32_t at;               /* bytes from the block's begin */
    bool varies;               /* its number of accesses differs from execution to execution */
    bool repeated;   /* a string instruction; with sampling, neighbouring elements of one line
                      * are one access, and the sink gets each line by take or passed */
    uint32_t window; /* with sampling: see struct carm_chunk */
};
struct carm_address_sink {
    void (*take)(void *arg, uint32_t thread, uint64_t address, uint32_t bytes,
                 enum carm_address_kind kind, const struct carm_address_by *by);
    /* n accesses of a string instruction to lines that are not recorded at that time. NULL: take gets them, too */
    void (*passed)(void *arg, uint64_t n, enum carm_address_kind kind,
                   const struct carm_address_by *by);
    void *arg;
    struct carm_record_sample sample; /* the accesses that are recorded; zeros: all */
};

struct carm_addresses;

/* Whether sampling works on this CPU. */
bool carm_addresses_sampled_here(void);

/* Begins to take addresses.
 * sink  borrowed until carm_addresses_close; its sample may be set until a program is attached
 * returns 0, -CARM_ENOMEM, -CARM_ENOTSUP (the kernel does not let programs read their fs base;
 * sampling on a CPU without BMI2) */
int carm_addresses_open(struct carm_addresses **out, const struct carm_address_sink *sink,
                        struct carm_err *err);
int carm_addresses_fd(const struct carm_addresses *addresses); /* of the shared memory */
const struct carm_record_sample *carm_addresses_sample(const struct carm_addresses *addresses);
/* After the end of all threads: takes the records that are left.
 * returns false when the program has overwritten records: some addresses are then wrong */
bool carm_addresses_drain(struct carm_addresses *addresses);
void carm_addresses_close(struct carm_addresses *addresses); /* NULL allowed */
