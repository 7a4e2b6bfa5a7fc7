/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/caches/lru.h"

#include <stdlib.h>

#include "models/caches/linemap.h"

bool carm_lru_open(struct carm_lru *s, uint64_t lines)
{
    s->bits = 4;
    while (UINT64_C(1) << s->bits < lines) {
        s->bits++;
    }
    s->lines = (uint32_t)lines;
    s->nodes = calloc(lines + 1, sizeof *s->nodes);
    s->buckets = calloc((size_t)1 << s->bits, sizeof *s->buckets);
    return s->nodes && s->buckets;
}

void carm_lru_close(struct carm_lru *s)
{
    free(s->nodes);
    free(s->buckets);
}

static void ring_out(struct carm_lru_node *nodes, uint32_t i)
{
    nodes[nodes[i].prev].next = nodes[i].next;
    nodes[nodes[i].next].prev = nodes[i].prev;
}

static void ring_first(struct carm_lru_node *nodes, uint32_t i)
{
    nodes[i].prev = 0;
    nodes[i].next = nodes[0].next;
    nodes[nodes[0].next].prev = i;
    nodes[0].next = i;
}

static void bucket_out(struct carm_lru *s, uint32_t i)
{
    uint32_t *at = &s->buckets[carm_linemap_hash(s->nodes[i].line, s->bits)];
    while (*at != i) {
        at = &s->nodes[*at].chain;
    }
    *at = s->nodes[i].chain;
}

static uint32_t find(const struct carm_lru *s, uint64_t line)
{
    uint32_t i = s->buckets[carm_linemap_hash(line, s->bits)];
    while (i && s->nodes[i].line != line) {
        i = s->nodes[i].chain;
    }
    return i;
}

bool carm_lru_touch(struct carm_lru *s, uint64_t line)
{
    struct carm_lru_node *nodes = s->nodes;
    if (nodes[0].next && nodes[nodes[0].next].line == line) {
        return true;
    }
    uint32_t i = find(s, line);
    if (i) {
        ring_out(nodes, i);
        ring_first(nodes, i);
        return true;
    }
    if (s->spare) {
        i = s->spare;
        s->spare = nodes[i].chain;
    } else if (s->used < s->lines) {
        i = ++s->used;
    } else {
        i = nodes[0].prev;
        ring_out(nodes, i);
        bucket_out(s, i);
    }
    uint32_t *bucket = &s->buckets[carm_linemap_hash(line, s->bits)];
    nodes[i].line = line;
    nodes[i].chain = *bucket;
    *bucket = i;
    ring_first(nodes, i);
    return false;
}

void carm_lru_remove(struct carm_lru *s, uint64_t line)
{
    const uint32_t i = find(s, line);
    if (i) {
        ring_out(s->nodes, i);
        bucket_out(s, i);
        s->nodes[i].chain = s->spare;
        s->spare = i;
    }
}
