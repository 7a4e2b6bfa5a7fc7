/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory that test codes stream through. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct carm_buffer {
    void *start;    /* aligned to 2 MiB */
    size_t bytes;   /* address space reserved */
    size_t touched; /* bytes from the start that were written and so have pages of their own */
    void *map;      /* start of the mapping, guard space included */
    size_t map_bytes;
};

/* Reserves address space; takes no memory yet. 2 MiB pages are asked for where the system has them.
 * returns 0 or -CARM_ENOMEM */
int carm_buffer_open(struct carm_buffer *buffer, size_t bytes, struct carm_err *err);

/* Writes every page of the first `bytes` bytes that was not written yet, from the calling
 * thread: the kernel then takes the pages from this thread's NUMA node. All unwritten pages
 * share one page of zeros, which loads read at cache speed. */
void carm_buffer_touch(struct carm_buffer *buffer, size_t bytes);

/* Asks for pages on one NUMA node (the OS's number), or on several in turn. Call before the buffer is touched.
 * returns 0, -CARM_ENOTSUP (a container or the kernel forbids it, or there is no such node) */
int carm_buffer_bind(struct carm_buffer *buffer, const int *nodes, size_t n, struct carm_err *err);

/* The share of the touched pages that is on a node, by move_pages on up to 64 of them; -1 = not known. */
double carm_buffer_share_on(const struct carm_buffer *buffer, int node);

/* The page size of the touched part: 2 MiB when at least nine tenths of its bytes are in huge
 * pages, read back from /proc/self/smaps; else the base page size. */
uint64_t carm_buffer_page_bytes(const struct carm_buffer *buffer);

/* Unmaps; an unopened (zeroed) buffer is allowed. */
void carm_buffer_close(struct carm_buffer *buffer);

/* Bytes that can be allocated now without swapping: the least of MemAvailable and of the bytes that
 * the cgroups' limits, RLIMIT_AS and RLIMIT_DATA leave. 0 when unknown, or when nothing is left. */
uint64_t carm_memory_available(void);

/* Physical memory of the machine, from /proc/meminfo. */
uint64_t carm_memory_total(void);
