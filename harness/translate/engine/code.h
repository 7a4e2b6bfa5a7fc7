/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Bytes of x86-64 instructions. The cache's memory is mapped twice (cache.h): code is executed where it cannot be
 * written, and written where it cannot be executed. Every address here is of the executable mapping. */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "harness/translate/engine/state.h"
#include "harness/translate/layout.h"

enum { CARM_NOTES_MAX = 512 };

/* Bytes of a block's code that depend on the address of the code, for carm's builder (stock.c). */
struct carm_notes {
    bool full; /* the list has no room for all of the block's fixes */
    uint32_t n;
    struct {
        const uint8_t *at;
        enum carm_stock_how how;
    } list[CARM_NOTES_MAX];
    uint64_t
        peeked[2]; /* addresses of code behind the block on which the translation depends ... */
    uint16_t npeeked[2]; /* ... and the bytes of this code */
};

struct carm_emit {
    uint8_t *at;
    ptrdiff_t alias; /* from an executable address to the writable address of the same byte */
    struct carm_notes *notes; /* NULL: not wanted */
};

static inline void carm_note(struct carm_emit *e, const uint8_t *at, enum carm_stock_how how)
{
    if (e->notes && e->notes->n < CARM_NOTES_MAX) {
        e->notes->list[e->notes->n].at = at;
        e->notes->list[e->notes->n++].how = how;
    } else if (e->notes) {
        e->notes->full = true;
    }
}

/* The writable address of a byte of the code. */
static inline uint8_t *carm_alias(const struct carm_emit *e, const uint8_t *at)
{
    return (uint8_t *)(uintptr_t)at + e->alias;
}

static inline void carm_byte(struct carm_emit *e, unsigned byte)
{
    *carm_alias(e, e->at++) = (uint8_t)byte;
}

static inline void carm_word32(struct carm_emit *e, uint32_t word)
{
    memcpy(carm_alias(e, e->at), &word, sizeof word);
    e->at += sizeof word;
}

static inline void carm_bytes(struct carm_emit *e, const void *bytes, size_t n)
{
    memcpy(carm_alias(e, e->at), bytes, n);
    e->at += n;
}

/* opcode with a 64-bit register and gs:[at] */
static inline void carm_gs(struct carm_emit *e, unsigned opcode, int reg, uint32_t at)
{
    carm_byte(e, 0x65);
    carm_byte(e, 0x48U | (reg >= 8 ? 4U : 0U));
    carm_byte(e, opcode);
    carm_byte(e, 0x04U | ((unsigned)reg & 7U) << 3);
    carm_byte(e, 0x25);
    if (at >= CARM_TALLY_COUNTS_AT) {
        carm_note(e, e->at, CARM_FIX_COUNTER);
    }
    carm_word32(e, at);
}

static inline void carm_store(struct carm_emit *e, uint32_t at, int reg)
{
    carm_gs(e, 0x89, reg, at);
}

static inline void carm_load(struct carm_emit *e, int reg, uint32_t at)
{
    carm_gs(e, 0x8b, reg, at);
}

/* inc qword gs:[at] */
static inline void carm_increment(struct carm_emit *e, uint32_t at)
{
    carm_gs(e, 0xff, 0, at);
}

/* lea reg, [reg + by]; by < 128 */
static inline void carm_lea(struct carm_emit *e, int reg, unsigned by)
{
    carm_byte(e, 0x48U | (reg >= 8 ? 5U : 0U));
    carm_byte(e, 0x8d);
    carm_byte(e, 0x40U | ((unsigned)reg & 7U) << 3 | ((unsigned)reg & 7U));
    if ((reg & 7) == RSP) { /* r12 as a base */
        carm_byte(e, 0x24);
    }
    carm_byte(e, by);
}

/* gs:[at] += by, through `reg`, without changing flags. borrow: the register's value is saved
 * and restored */
static inline void carm_count_by(struct carm_emit *e, uint32_t at, unsigned by, int reg,
                                 bool borrow)
{
    if (borrow) {
        carm_store(e, AT_S_RAX, reg);
    }
    carm_load(e, reg, at);
    carm_lea(e, reg, by);
    carm_store(e, at, reg);
    if (borrow) {
        carm_load(e, reg, AT_S_RAX);
    }
}

/* mov dword gs:[at], value */
static inline void carm_set32(struct carm_emit *e, uint32_t at, uint32_t value)
{
    carm_byte(e, 0x65);
    carm_byte(e, 0xc7);
    carm_byte(e, 0x04);
    carm_byte(e, 0x25);
    carm_word32(e, at);
    if (at == AT_LINK) {
        carm_note(e, e->at, CARM_FIX_LINK);
    }
    carm_word32(e, value);
}

/* jmp gs:[stub] */
static inline void carm_leave(struct carm_emit *e, enum carm_stub stub)
{
    carm_byte(e, 0x65);
    carm_byte(e, 0xff);
    carm_byte(e, 0x24);
    carm_byte(e, 0x25);
    carm_word32(e, (uint32_t)(AT_STUBS + 8 * (int)stub));
}

/* Instructions that do nothing, n bytes in all: as few as can be, since each takes the place of another one in the
 * processor's front end. */
static inline void carm_nothing(struct carm_emit *e, unsigned n)
{
    enum { MOST = 8 };
    static const uint8_t nops[MOST][MOST] = {{0x90},
                                             {0x66, 0x90},
                                             {0x0f, 0x1f, 0x00},
                                             {0x0f, 0x1f, 0x40, 0x00},
                                             {0x0f, 0x1f, 0x44, 0x00, 0x00},
                                             {0x66, 0x0f, 0x1f, 0x44, 0x00, 0x00},
                                             {0x0f, 0x1f, 0x80, 0x00, 0x00, 0x00, 0x00},
                                             {0x0f, 0x1f, 0x84, 0x00, 0x00, 0x00, 0x00, 0x00}};
    for (; n > MOST; n -= MOST) {
        carm_bytes(e, nops[MOST - 1], MOST);
    }
    if (n > 0) {
        carm_bytes(e, nops[n - 1], n);
    }
}

/* Emits filling so that the 4 bytes that begin `ahead` bytes further on do not cross a cache
 * line. */
static inline void carm_keep_whole(struct carm_emit *e, unsigned ahead)
{
    const unsigned at = ((uint64_t)e->at + ahead) & 63;
    carm_nothing(e, at > 60 ? 64 - at : 0);
}

/* Sets the byte at `from`, a jump's displacement, so that the jump leads to the current end of the code. */
static inline void carm_aim_short(const struct carm_emit *e, const uint8_t *from)
{
    *carm_alias(e, from) = (uint8_t)(e->at - (from + 1));
}

/* Sets the 4 bytes at `from`, a jump's displacement, so that the jump leads to `to`. */
static inline void carm_aim(const struct carm_emit *e, const uint8_t *from, const uint8_t *to)
{
    const uint32_t off = (uint32_t)((uint64_t)to - ((uint64_t)from + 4));
    memcpy(carm_alias(e, from), &off, sizeof off);
}
