/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The memory of a program and of its copies: areas, pages that a copy has changed, huge pages, and the reasons why a
 * program must not be copied. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/err.h"

struct carm_area {
    uint64_t begin, end, offset;
    bool writable, executable, shared;
    bool kernels; /* [vdso], [vvar]: not memory of the program */
    char *path;   /* "" = no file; owned */
};

struct carm_memory {
    struct carm_area *areas; /* by address */
    size_t n, room;
};

/* returns 0, -CARM_ENOMEM, -CARM_EIO */
int carm_memory_open(struct carm_memory *memory, pid_t pid, struct carm_err *err);
void carm_memory_close(struct carm_memory *memory);

/* The area of an address; NULL = none */
const struct carm_area *carm_memory_find(const struct carm_memory *memory, uint64_t at);

/* A free place for `bytes` bytes within 1 GB of an address; 0 = none */
uint64_t carm_memory_gap(const struct carm_memory *memory, uint64_t near, uint64_t bytes);

/* Why copies of the program must not be made, or would behave differently from the program: a phrase.
 * most  bytes that copies may take; 0 = half of the memory that is free
 * returns false: nothing forbids it */
bool carm_memory_forbids(pid_t pid, uint64_t most, char *why, size_t size);

/* Pages that a copy touches before it is measured: pages that another copy read first or wrote while it ran the same
 * code, and all present pages of the loop's data, since after a fork the first access to a page takes some hundred
 * nanoseconds more (its page table entry is old). Bit 0 of an address: the page is written.
 * data  [ndata] addresses in the areas of the loop's data
 * list  out: to be freed
 * returns 0, -CARM_ENOMEM, -CARM_EIO */
int carm_memory_pages(pid_t origin, pid_t ran, const struct carm_memory *memory,
                      const uint64_t *data, size_t ndata, uint64_t **list, size_t *n,
                      struct carm_err *err);

/* Bytes in memory, and bytes in huge pages, of the areas that contain an address of data[ndata]; each area counts once.
 * Makes one pass over /proc/PID/smaps, for which the kernel walks all page tables. 0 and 0: smaps cannot be read. */
void carm_memory_huge(pid_t pid, const uint64_t *data, size_t ndata, uint64_t *present,
                      uint64_t *huge);

/* Whether any page of begin .. end is present. */
bool carm_memory_present(pid_t pid, uint64_t begin, uint64_t end);
