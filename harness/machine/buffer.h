/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory that test codes stream through. */
#ifndef CARM_HARNESS_MACHINE_BUFFER_H
#define CARM_HARNESS_MACHINE_BUFFER_H

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct carm_buffer {
    void *start;    /* aligned to 2 MiB */
    size_t bytes;   /* address space reserved */
    size_t touched; /* bytes from the start that were written, so that real pages stand behind */
    void *map;      /* what was mapped, guard space included */
    size_t map_bytes;
};

/* Reserves address space; takes no memory yet. 2 MiB pages are asked for where the system has them.
 * returns 0 or -CARM_ENOMEM */
int carm_buffer_open(struct carm_buffer *buffer, size_t bytes, struct carm_err *err);

/* Writes every page of the first `bytes` bytes that was not written yet, from the calling thread, so
 * that they come from its NUMA node: a page that was never written reads one shared zero page, at
 * cache speed. */
void carm_buffer_touch(struct carm_buffer *buffer, size_t bytes);

/* The page size that the touched part really has: 2 MiB when at least nine tenths of it
 * are huge pages, read back from /proc/self/smaps; else the base page size. */
uint64_t carm_buffer_page_bytes(const struct carm_buffer *buffer);

/* Unmaps; an unopened (zeroed) buffer is allowed. */
void carm_buffer_close(struct carm_buffer *buffer);

/* Memory that may be taken now without pushing others out: the least of MemAvailable and of what the
 * cgroups, RLIMIT_AS and RLIMIT_DATA leave. Swap does not count. 0 when unknown, or when nothing is left. */
uint64_t carm_memory_available(void);

/* Physical memory of the machine, from /proc/meminfo. */
uint64_t carm_memory_total(void);

#endif
