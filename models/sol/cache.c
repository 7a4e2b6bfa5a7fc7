/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "models/sol/count.h"

/* The operation that writes each intermediate, and its readers, by position in the execution
 * order. */
struct carm_sol_lifetimes {
    const struct carm_sol_graph *graph;
    struct carm_sol_traffic *traffic;
    uint64_t *written; /* [ntensors] elements that its writer moves */
    uint32_t *first;   /* [ntensors + 1] index into readers; tensors other than intermediates
                        * have no readers */
    uint32_t *readers; /* positions, ascending, each once */
    /* [nuses] bases of intermediates: the distinct ones of each layer, read ones before written ones */
    uint32_t *operands;
    uint32_t *reads;  /* [n] by layer: number of operands that are read */
    uint32_t *writes; /* [n] number of operands behind these that are written */
    uint64_t *moved;  /* [nuses] parallel to operands: elements that the layer moves */
};

static void *zeroed(size_t n, size_t size)
{
    return calloc(n > 0 ? n : 1, size);
}

/* Finds the distinct intermediates that a layer reads, and the ones that it writes.
 * slot_of  [ntensors] the tensor's index in operands; valid if this entry is in the layer's part
 *          and names the tensor */
static void find_operands(struct carm_sol_lifetimes *v, uint32_t index, uint32_t *slot_of)
{
    const struct carm_sol_layer *layer = &v->graph->layers[index];
    if (!carm_sol_operates(layer->kind)) {
        return;
    }
    const struct carm_sol_use *uses = v->graph->uses + layer->uses;
    uint32_t end = layer->uses;
    for (uint32_t i = 0; i < layer->inputs + layer->outputs; i++) {
        const uint32_t base = v->traffic->base[uses[i].tensor];
        if (v->traffic->kind[base] != CARM_SOL_INTERMEDIATE) {
            continue;
        }
        const uint64_t moved = v->traffic->moved[layer->uses + i];
        const uint32_t at = slot_of[base];
        if (i < layer->inputs && at >= layer->uses && at < end && v->operands[at] == base) {
            v->moved[at] += moved;
            continue;
        }
        slot_of[base] = end;
        v->operands[end] = base;
        v->moved[end] = moved;
        end++;
        if (i < layer->inputs) {
            v->reads[index]++;
        } else {
            v->writes[index]++;
            v->written[base] = moved;
        }
    }
}

/* Finds the readers: those of tensor t are at first[t] up to first[t + 1]. */
static int find_readers(struct carm_sol_lifetimes *v)
{
    const struct carm_sol_graph *graph = v->graph;
    for (uint32_t l = 0; l < graph->n; l++) {
        for (uint32_t i = 0; i < v->reads[l]; i++) {
            v->first[v->operands[graph->layers[l].uses + i] + 1]++;
        }
    }
    for (uint32_t t = 0; t < graph->ntensors; t++) {
        v->first[t + 1] += v->first[t];
    }
    uint32_t *next = zeroed(graph->ntensors, sizeof *next);
    v->readers = zeroed(v->first[graph->ntensors], sizeof *v->readers);
    if (!next || !v->readers) {
        free(next);
        return -CARM_ENOMEM;
    }
    for (uint32_t at = 0; at < graph->n; at++) {
        const uint32_t index = graph->order[at];
        for (uint32_t i = 0; i < v->reads[index]; i++) {
            const uint32_t t = v->operands[graph->layers[index].uses + i];
            v->readers[v->first[t] + next[t]++] = at;
        }
    }
    free(next);
    return 0;
}

static int fill(struct carm_sol_lifetimes *v)
{
    const struct carm_sol_graph *graph = v->graph;
    v->written = zeroed(graph->ntensors, sizeof *v->written);
    v->first = zeroed((size_t)graph->ntensors + 1, sizeof *v->first);
    v->operands = zeroed(graph->nuses, sizeof *v->operands);
    v->moved = zeroed(graph->nuses, sizeof *v->moved);
    v->reads = zeroed(graph->n, sizeof *v->reads);
    v->writes = zeroed(graph->n, sizeof *v->writes);
    uint32_t *slot_of = zeroed(graph->ntensors, sizeof *slot_of);
    if (!v->written || !v->first || !v->operands || !v->moved || !v->reads || !v->writes ||
        !slot_of) {
        free(slot_of);
        return -CARM_ENOMEM;
    }
    for (uint32_t l = 0; l < graph->n; l++) {
        find_operands(v, l, slot_of);
    }
    free(slot_of);
    return find_readers(v);
}

int carm_sol_lifetimes_open(const struct carm_sol_graph *graph,
                            struct carm_sol_lifetimes **lifetimes, struct carm_err *err)
{
    *lifetimes = NULL;
    struct carm_sol_lifetimes *v = calloc(1, sizeof *v);
    if (!v) {
        return carm_sol_no_memory(graph->n, err);
    }
    v->graph = graph;
    int rc = carm_sol_traffic_open(graph, &v->traffic, err);
    rc = rc || !fill(v) ? rc : carm_sol_no_memory(graph->n, err);
    if (rc) {
        carm_sol_lifetimes_close(v);
        return rc;
    }
    *lifetimes = v;
    return 0;
}

void carm_sol_lifetimes_close(struct carm_sol_lifetimes *lifetimes)
{
    if (lifetimes) {
        carm_sol_traffic_close(lifetimes->traffic);
        free(lifetimes->written);
        free(lifetimes->first);
        free(lifetimes->readers);
        free(lifetimes->operands);
        free(lifetimes->reads);
        free(lifetimes->writes);
        free(lifetimes->moved);
        free(lifetimes);
    }
}

/* One pass over the execution order with a heap of tensors that may be evicted. An entry of the
 * heap is valid while its stamp is the tensor's: each use gives the tensor a new stamp. Old entries
 * are skipped when they reach the top. */
struct entry {
    uint64_t key; /* the tensor with the largest key is evicted first */
    uint32_t tensor, stamp;
};

struct sweep {
    const struct carm_sol_lifetimes *lifetimes;
    enum carm_sol_policy policy;
    uint64_t capacity;
    uint64_t *bytes; /* [ntensors] bytes of the tensor */
    uint32_t *stamp; /* [ntensors] of its valid entry; starts at 0, which no entry has */
    uint32_t *next;  /* [ntensors] index of the next reader in readers */
    bool *resident, *in_memory;
    struct entry *heap;
    size_t n, room;
    uint64_t used;     /* bytes of residents */
    uint64_t *spilled; /* [graph->n] of the caller */
};

static int push(struct sweep *s, struct entry e)
{
    if (s->n == s->room &&
        carm_array_grow(&s->heap, &s->room, s->n, 1, sizeof *s->heap, "the graph", NULL)) {
        return -CARM_ENOMEM;
    }
    size_t at = s->n++;
    while (at > 0 && s->heap[(at - 1) / 2].key < e.key) {
        s->heap[at] = s->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    s->heap[at] = e;
    return 0;
}

static struct entry pop(struct sweep *s)
{
    const struct entry top = s->heap[0];
    const struct entry last = s->heap[--s->n];
    size_t at = 0;
    for (size_t child = 1; child < s->n; child = 2 * at + 1) {
        if (child + 1 < s->n && s->heap[child + 1].key > s->heap[child].key) {
            child++;
        }
        if (s->heap[child].key <= last.key) {
            break;
        }
        s->heap[at] = s->heap[child];
        at = child;
    }
    s->heap[at] = last;
    return top;
}

static bool read_again(const struct sweep *s, uint32_t t)
{
    return s->next[t] < s->lifetimes->first[t + 1];
}

/* Makes a tensor a candidate for eviction. Of tensors last used by one operation, the one in the
 * first slot is evicted first; of tensors with one next reader, the one with the largest number.
 * now, slot  position and slot of the present use */
static int offer(struct sweep *s, uint32_t t, uint32_t now, uint32_t slot)
{
    const uint64_t key = s->policy == CARM_SOL_LRU
                             ? UINT64_MAX - ((uint64_t)now << 32 | slot)
                             : (uint64_t)s->lifetimes->readers[s->next[t]] << 32 | t;
    return push(s, (struct entry){key, t, ++s->stamp[t]});
}

static void leave(struct sweep *s, uint32_t t)
{
    s->resident[t] = false;
    s->stamp[t]++;
    s->used -= s->bytes[t];
}

/* Charges the writer of a tensor that is evicted before its last reader, once. */
static void write_back(struct sweep *s, uint32_t t)
{
    if (!s->in_memory[t]) {
        s->in_memory[t] = true;
        s->spilled[s->lifetimes->graph->producer[t]] += s->lifetimes->written[t];
    }
}

/* Evicts tensors until the rest fits. Residents that the current operation does not read have
 * entries, which suffice. */
static void make_room(struct sweep *s)
{
    while (s->used > s->capacity && s->n > 0) {
        const struct entry e = pop(s);
        if (s->resident[e.tensor] && s->stamp[e.tensor] == e.stamp) {
            leave(s, e.tensor);
            write_back(s, e.tensor);
        }
    }
}

/* held  out: bytes of the resident inputs, which lose their entries, as they stay until the operation is done */
static void read_inputs(struct sweep *s, uint32_t index, const uint32_t *operands,
                        const uint64_t *moved, uint64_t *held)
{
    *held = 0;
    for (uint32_t i = 0; i < s->lifetimes->reads[index]; i++) {
        const uint32_t t = operands[i];
        s->next[t]++;
        if (s->resident[t]) {
            s->stamp[t]++;
            *held += s->bytes[t];
        } else {
            s->spilled[index] += moved[i];
        }
    }
}

/* Makes tensors resident that fit beside the resident inputs: those that the operation writes, and
 * those that it reads from memory and that have a later reader. */
static int take_in(struct sweep *s, uint32_t now, const uint32_t *operands, uint32_t n,
                   uint64_t held)
{
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t t = operands[i];
        if (s->resident[t] || !read_again(s, t)) {
            continue;
        }
        if (s->bytes[t] > s->capacity - held) {
            write_back(s, t);
            continue;
        }
        s->resident[t] = true;
        s->used += s->bytes[t];
        if (offer(s, t, now, i)) {
            return -CARM_ENOMEM;
        }
    }
    make_room(s);
    return 0;
}

static int operate(struct sweep *s, uint32_t now)
{
    const struct carm_sol_lifetimes *lifetimes = s->lifetimes;
    const uint32_t index = lifetimes->graph->order[now];
    const uint32_t from = lifetimes->graph->layers[index].uses;
    const uint32_t *operands = lifetimes->operands + from;
    const uint32_t reads = lifetimes->reads[index];
    uint64_t held = 0;
    read_inputs(s, index, operands, lifetimes->moved + from, &held);
    int rc = take_in(s, now, operands, reads + lifetimes->writes[index], held);
    for (uint32_t i = 0; rc == 0 && i < reads; i++) {
        const uint32_t t = operands[i];
        if (s->resident[t] && read_again(s, t)) {
            rc = offer(s, t, now, i);
        } else if (s->resident[t]) {
            leave(s, t);
        }
    }
    return rc;
}

/* returns false where the bytes alive at once pass INT64_MAX */
static bool find_peak(const struct sweep *s, uint64_t *peak)
{
    const struct carm_sol_lifetimes *lifetimes = s->lifetimes;
    uint64_t alive = 0;
    *peak = 0;
    for (uint32_t now = 0; now < lifetimes->graph->n; now++) {
        const uint32_t index = lifetimes->graph->order[now];
        const uint32_t *operands = lifetimes->operands + lifetimes->graph->layers[index].uses;
        for (uint32_t i = 0; i < lifetimes->writes[index]; i++) {
            if (!carm_sol_add(&alive, s->bytes[operands[lifetimes->reads[index] + i]])) {
                return false;
            }
        }
        *peak = alive > *peak ? alive : *peak;
        for (uint32_t i = 0; i < lifetimes->reads[index]; i++) {
            const uint32_t last = lifetimes->first[operands[i] + 1] - 1;
            if (lifetimes->readers[last] == now) {
                alive -= s->bytes[operands[i]];
            }
        }
    }
    return true;
}

static int sweep_over(struct sweep *s, enum carm_sol_precision precision, uint64_t *peak,
                      struct carm_err *err)
{
    const struct carm_sol_graph *graph = s->lifetimes->graph;
    for (uint32_t t = 0; t < graph->ntensors; t++) {
        s->next[t] = s->lifetimes->first[t];
        if (s->lifetimes->traffic->kind[t] == CARM_SOL_INTERMEDIATE &&
            carm_sol_bytes(s->lifetimes->traffic->size[t], precision, &s->bytes[t])) {
            return carm_fail(err, CARM_EFORMAT,
                             "tensor %.100s has more than 2^63-1 bytes; check its shape",
                             carm_sol_text(graph, graph->tensors[t]));
        }
    }
    /* so no sum of residents exceeds 2^64 either */
    if (!find_peak(s, peak)) {
        return carm_fail(err, CARM_EFORMAT,
                         "the intermediates that are alive at once have more than 2^63-1 bytes; "
                         "check the shapes");
    }
    for (uint32_t now = 0; now < graph->n; now++) {
        if (operate(s, now)) {
            return carm_sol_no_memory(graph->n, err);
        }
    }
    return 0;
}

int carm_sol_lifetimes_spill(struct carm_sol_lifetimes *lifetimes, uint64_t capacity_bytes,
                             enum carm_sol_precision precision, enum carm_sol_policy policy,
                             uint64_t *spilled, uint64_t *total, uint64_t *peak_bytes,
                             struct carm_err *err)
{
    const struct carm_sol_graph *graph = lifetimes->graph;
    const size_t n = graph->ntensors > 0 ? graph->ntensors : 1;
    struct sweep s = {
        .lifetimes = lifetimes, .policy = policy, .capacity = capacity_bytes, .spilled = spilled};
    uint64_t peak = 0;
    int rc = 0;
    s.bytes = calloc(n, sizeof *s.bytes);
    s.stamp = calloc(n, sizeof *s.stamp);
    s.next = calloc(n, sizeof *s.next);
    s.resident = calloc(n, sizeof *s.resident);
    s.in_memory = calloc(n, sizeof *s.in_memory);
    *total = 0;
    memset(spilled, 0, graph->n * sizeof *spilled);
    if (!s.bytes || !s.stamp || !s.next || !s.resident || !s.in_memory) {
        rc = carm_sol_no_memory(graph->n, err);
    } else {
        rc = sweep_over(&s, precision, &peak, err);
    }
    for (uint32_t l = 0; rc == 0 && l < graph->n; l++) {
        if (!carm_sol_add(total, spilled[l])) {
            rc = carm_fail(err, CARM_EFORMAT,
                           "more than 2^63-1 elements of intermediates spill; check the shapes");
        }
    }
    if (rc == 0 && peak_bytes) {
        *peak_bytes = peak;
    }
    free(s.bytes);
    free(s.stamp);
    free(s.next);
    free(s.resident);
    free(s.in_memory);
    free(s.heap);
    return rc;
}
