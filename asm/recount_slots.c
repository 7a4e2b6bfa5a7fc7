/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "asm/recount_walk.h"

/* Accesses of one stream. */
static bool accesses(const struct carm_insn *in, enum carm_insn_base base)
{
    return (in->role == CARM_INSN_LOAD || carm_insn_is_store(in)) && in->base == base;
}

/* Addresses of loads, and of stores, increase. */
static int check_order(const struct carm_walk *w, enum carm_insn_base base)
{
    int64_t past_load = 0;
    int64_t past_store = 0;
    for (size_t i = w->loop; i < w->loop_end; i++) {
        const struct carm_insn *in = &w->insns[i];
        if (!accesses(in, base)) {
            continue;
        }
        int64_t *past = carm_insn_is_store(in) ? &past_store : &past_load;
        if (in->value < *past) {
            return carm_walk_refuse(w, in, "its slot overlaps an earlier one or is out of order");
        }
        *past = in->value + in->bytes;
    }
    return 0;
}

/* The next load, or store, of the loop from index i on; NULL after the last. */
static const struct carm_insn *next_access(const struct carm_walk *w, enum carm_insn_base base,
                                           size_t i, bool store)
{
    while (i < w->loop_end &&
           (!accesses(&w->insns[i], base) || carm_insn_is_store(&w->insns[i]) != store)) {
        i++;
    }
    return i < w->loop_end ? &w->insns[i] : NULL;
}

/* By how many lines a loop of loads alone goes on from one whole line to the next: its stride shows
 * it; 1 where nothing is left out. */
static int64_t find_stride(const struct carm_walk *w)
{
    const uint64_t bytes = w->out->load_bytes;
    const uint64_t stride = w->out->stride_bytes;
    const bool whole = w->form == CARM_WALK_ONE_STREAM && !w->out->stores && bytes &&
                       bytes % CARM_LINE_BYTES == 0 && stride % bytes == 0;
    return whole && stride ? (int64_t)(stride / bytes) : 1;
}

/* Loads and stores tile [0, stride) without overlap or gap, strides apart; a load and a store share a
 * slot only as an update. */
static int check_tiling(const struct carm_walk *w, enum carm_insn_base base)
{
    const int64_t stride = find_stride(w);
    int64_t at = 0;
    const struct carm_insn *l = next_access(w, base, w->loop, false);
    const struct carm_insn *s = next_access(w, base, w->loop, true);
    while (l || s) {
        const struct carm_insn *first = l && (!s || l->value <= s->value) ? l : s;
        const bool shared = l && s && l->value == s->value;
        if (first->value != at) {
            return carm_walk_refuse(w, first,
                                    first->value > at ? "a gap in the stream lies before its slot"
                                                      : "its slot overlaps the one before");
        }
        if (shared && (l->reg != s->reg || l->bytes != s->bytes || s < l)) {
            return carm_walk_refuse(w, s, "its slot overlaps a load's and is no update of it");
        }
        at += first->bytes;
        if (at % CARM_LINE_BYTES == 0) {
            at += (stride - 1) * CARM_LINE_BYTES;
        }
        if (first == s || shared) {
            s = next_access(w, base, (size_t)(s - w->insns) + 1, true);
        }
        if (first == l) {
            l = next_access(w, base, (size_t)(l - w->insns) + 1, false);
        }
    }
    if (at != (int64_t)w->out->stride_bytes) {
        return carm_fail(w->err, CARM_EFORMAT,
                         "the loop's slots cover %lld bytes, but its stride is %llu", (long long)at,
                         (unsigned long long)w->out->stride_bytes);
    }
    return 0;
}

int carm_walk_check_slots(const struct carm_walk *w)
{
    static const enum carm_insn_base streams[] = {CARM_BASE_FIRST, CARM_BASE_SECOND};
    const size_t n = w->form == CARM_WALK_TWO_STREAMS ? 2 : 1;
    int rc = 0;
    for (size_t i = 0; i < n && !rc; i++) {
        rc = check_order(w, streams[i]);
        rc = rc ? rc : check_tiling(w, streams[i]);
    }
    return rc;
}
