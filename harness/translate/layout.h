/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The stock: translated blocks for all programs of a run. carm's builder writes it (harness/translate/stock.h), counted
 * programs read it: a seal of the file makes their mappings read-only. The engine copies a block from the stock instead
 * of decoding the program's code.
 *
 * A block is not trusted to belong to a file. A block holds the bytes that were translated and the bytes elsewhere that
 * its translation depends on. A program uses a block only where the program's memory has the same bytes. So a program
 * cannot make another one execute wrong code, whatever the program executes and whichever file it names. */
#pragma once

#include <stdint.h>

#define CARM_STOCK_AT UINT64_C(0x7e8e00000000)

enum {
    CARM_STOCK_BYTES = 64 << 20, /* the blocks of some 200 programs like sh, or of gcc -O2 twice */
    CARM_STOCK_UNIT = 8,
    CARM_STOCK_PLACES = 1 << 17, /* of 119 000 blocks, gcc -O2 of a small file */
};

struct carm_stock {
    uint32_t used;   /* units */
    uint32_t blocks; /* number of blocks */
    uint32_t
        places[CARM_STOCK_PLACES]; /* by carm_stock_place: the first block, in units; 0 = none */
};

/* A block. Its parts follow one another, each of whole units: the program's bytes; the bytes of the two peeked places;
 * code; code that is rarely executed; maps; links; rows of counters; fixes. */
struct carm_stock_block {
    uint32_t next; /* next block with the same place, in units; 0 = none */
    uint32_t size; /* in units, with its parts */
    uint16_t bytes, code, rare;
    uint16_t inc_end, nmaps, nfixes; /* see struct carm_block */
    uint8_t nlinks, nrows, copies;
    uint8_t align; /* address of the code modulo 64, a multiple of 8 */
    /* code behind the block on which flags_free depends: offsets from pc, and bytes */
    int32_t peeked[2];
    uint16_t npeeked[2];
    uint32_t place; /* carm_stock_place */
    int64_t from_code,
        from_rare; /* from the code, at its address in the builder, to pc and to the rare code */
};

struct carm_stock_link {
    int32_t target;               /* from pc */
    uint16_t patch, stub, resume; /* in code, in the rare code, in code; CARM_STOCK_NONE */
    uint16_t exit;
};

enum {
    CARM_STOCK_NONE = 0xffff,
    CARM_STOCK_EXITS = 11, /* reasons to leave a block: of enum carm_exit, in the engine */
};

/* A place in the code whose bytes differ in a copy at another address. */
enum carm_stock_how {
    CARM_FIX_RELATIVE, /* 32 bits to the program's memory, from the instruction's end */
    CARM_FIX_LINK,     /* 32 bits: number of a link; in the stock, counted from the block's first */
    CARM_FIX_COUNTER, /* 32 bits: offset of a counter from gs; in the stock, its number in the block */
    CARM_FIX_RARE,    /* 32 bits from code to the rare code */
    CARM_FIX_PC,      /* 64 bits: address of the program's code; in the stock, minus pc */
};

struct carm_stock_fix {
    uint16_t at;  /* in the code */
    uint8_t rare; /* in the rare code */
    uint8_t how;
};

static inline uint32_t carm_stock_units(uint64_t bytes)
{
    return (uint32_t)((bytes + CARM_STOCK_UNIT - 1) / CARM_STOCK_UNIT);
}

/* A hash of the first 8 bytes of code and of their offset in the page, which is the same in each mapping of a file. */
static inline uint32_t carm_stock_place(uint64_t pc, uint64_t first)
{
    const uint64_t key = (first ^ (pc & 0xfff) << 52) * UINT64_C(0x9e3779b97f4a7c15);
    return (uint32_t)(key >> 47);
}

/* Code of a file, which the builder has mapped. */
struct carm_stock_job {
    uint64_t begin, end;
    const uint32_t *offsets; /* [n] of blocks, from begin; not checked: programs write them */
    uint32_t n;
};

static inline const struct carm_stock_block *carm_stock_at(const struct carm_stock *in,
                                                           uint32_t unit)
{
    return (const struct carm_stock_block *)(const void *)((const uint8_t *)in +
                                                           (uint64_t)unit * CARM_STOCK_UNIT);
}

/* The part of a block that begins `units` units from the block's begin. */
static inline const uint8_t *carm_stock_data(const struct carm_stock_block *b, uint32_t units)
{
    return (const uint8_t *)b + (uint64_t)units * CARM_STOCK_UNIT;
}

static inline uint64_t carm_stock_word(const void *at)
{
    uint64_t word;
    __builtin_memcpy(&word, at, sizeof word);
    return word;
}

/* Where the parts of a block begin, in units from the block's begin. */
struct carm_stock_parts {
    uint32_t bytes, peeked[2], code, rare, maps, links, rows, fixes, end;
};

static inline void carm_stock_part(const struct carm_stock_block *b, uint32_t row_bytes,
                                   struct carm_stock_parts *p)
{
    p->bytes = carm_stock_units(sizeof *b);
    p->peeked[0] = p->bytes + carm_stock_units(b->bytes);
    p->peeked[1] = p->peeked[0] + carm_stock_units(b->npeeked[0]);
    p->code = p->peeked[1] + carm_stock_units(b->npeeked[1]);
    p->rare = p->code + carm_stock_units(b->code);
    p->maps = p->rare + carm_stock_units(b->rare);
    p->links = p->maps + carm_stock_units(UINT64_C(4) * b->nmaps);
    p->rows = p->links + carm_stock_units(b->nlinks * sizeof(struct carm_stock_link));
    p->fixes = p->rows + carm_stock_units((uint64_t)b->nrows * row_bytes);
    p->end = p->fixes + carm_stock_units(b->nfixes * sizeof(struct carm_stock_fix));
}

/* Ready code: all blocks that a program executes, linked to each other at the addresses that its files had in an
 * earlier execution. carm makes it from the stock (emit/ready.c), or the earlier execution leaves it at its end. The
 * program maps it privately, and executes the blocks of a file once the file is mapped at its address with the same
 * bytes. */
#define CARM_READY_AT UINT64_C(0x7e8d00000000)
/* Where a program leaves ready code: an empty file in memory, which carm has mapped at this address. */
#define CARM_LEFT_AT UINT64_C(0x7e8c00000000)

enum {
    CARM_READY_BYTES = 128 << 20, /* at most */
    CARM_READY_REGIONS = 8,
    CARM_READY_LINE = 256,        /* bytes of a program's code that are compared together */
    CARM_READY_TABLE = 512 << 10, /* bytes of the table of indirect branches */
};

/* A part of the file of ready code. It begins with a page. */
struct carm_ready_part {
    uint64_t at, bytes;
};

struct carm_ready {
    uint64_t bytes;      /* of the file; 0 = the file is incomplete */
    uint64_t key, check; /* on disk (kept.h) */
    uint32_t nblocks, nlinks, nmaps, places, counters, nfiles, nregions, unused;
    /* tables of the engine's cache, rows and maps of the tally, struct carm_ready_file */
    struct carm_ready_part blocks, links, maps, hash, rows, tally_maps, files;
    struct carm_ready_part
        table; /* of indirect branches, with the entries of files whose `entered` is not 0; 0 bytes = none */
    struct carm_ready_region {
        uint64_t begin, at, rare_begin, rare;
        uint64_t nblocks;
        struct carm_ready_part code, rarely, blocks;
    } regions[CARM_READY_REGIONS];
};

/* Whether the entries of a file are in the table of indirect branches. */
enum carm_ready_entered {
    CARM_ENTERED_NOT,
    CARM_ENTERED_FIRST, /* the file is mapped when the program begins */
    CARM_ENTERED_LATER, /* the program maps the file later: if its bytes differ, its entries leave the table */
};

/* Code of a mapped file that the blocks depend on, as lines, and the blocks that indirect branches enter. */
struct carm_ready_file {
    uint64_t begin, end;
    uint64_t entered; /* enum carm_ready_entered */
    struct carm_ready_part runs, lines,
        entries; /* struct carm_ready_run; bytes; struct carm_ready_entry */
};
struct carm_ready_run {
    uint32_t line, n; /* from the file's begin */
};
struct carm_ready_entry {
    uint64_t entry, chain; /* chain: tried next if the branch's target is not entry's */
    uint32_t place, block;
};

/* The inputs from which ready code is made. */
struct carm_ready_job {
    const struct carm_stock *stock;
    const void
        *maps; /* [nfiles] struct carm_tally_map: mapped here as in the program, or with begin 0 */
    const uint64_t *at; /* [n] twice the address of a block, + 1 where indirect branches enter it */
    uint32_t nfiles, n;
    struct carm_ready *to; /* zeroed memory of CARM_READY_BYTES */
};

/* The files in memory that a program gets for its code. */
struct carm_ready_files {
    int stock, ready, left;            /* file descriptors; -1 = none */
    uint64_t bytes;                    /* of the ready code */
    const struct carm_tally_map *maps; /* [nmaps] files of the ready code */
    uint32_t nmaps;
};

/* A part of ready code, in memory. */
static inline void *carm_ready_at(const struct carm_ready *r, const struct carm_ready_part *part)
{
    return (char *)(uintptr_t)r + part->at;
}
