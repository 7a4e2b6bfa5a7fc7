/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/machine/window.h"

enum { ALIAS_BYTES = 4096 };

static bool is_random(const struct carm_code *code)
{
    return code->spec.kind == CARM_KIND_R;
}

static uint64_t streams_of(const struct carm_code *code)
{
    return code->spec.streams > 1 ? code->spec.streams : 1;
}

static uint64_t stride_of(const struct carm_code *code)
{
    return code->spec.stride > 1 ? code->spec.stride : 1;
}

/* The padding's unit: 2 KiB for two streams, 1 KiB for up to four, else 512 bytes. Streams at
 * odd multiples of the unit from one another differ in their address modulo 4 KiB. */
static uint64_t pad_bytes(uint64_t streams)
{
    uint64_t pad = ALIAS_BYTES;
    for (uint64_t n = 1; n < streams; n *= 2) {
        pad /= 2;
    }
    return pad;
}

/* The smallest odd multiple of the pad that has room for the bytes. */
static uint64_t padded(uint64_t bytes, uint64_t pad)
{
    return bytes <= pad ? pad : (bytes - pad + 2 * pad - 1) / (2 * pad) * (2 * pad) + pad;
}

/* Bytes of a working set for each of several streams, padding left out. The distance between
 * streams is the largest odd multiple of the pad that is at most an even share of the set, or
 * the smallest odd multiple. */
static uint64_t stream_bytes(uint64_t set_bytes, uint64_t streams)
{
    const uint64_t pad = pad_bytes(streams);
    const uint64_t share = set_bytes / streams;
    const uint64_t below = share < pad ? 0 : (share - pad) / (2 * pad) * (2 * pad) + pad;
    const uint64_t above = (streams - 1) * (below ? below + 2 * pad : pad);
    const uint64_t rest = set_bytes > above ? set_bytes - above : 0;
    return rest > below ? rest : below;
}

/* The largest power of two of lines in a set, at least 2. */
static uint64_t lines_of(uint64_t set_bytes)
{
    uint64_t lines = 2;
    while (lines <= set_bytes / CARM_LINE_BYTES / 2) {
        lines *= 2;
    }
    return lines;
}

uint64_t carm_window_distance(const struct carm_code *code, const struct carm_shape *shape)
{
    const uint64_t n = streams_of(code);
    return n > 1 ? padded(shape->windows * shape->window_bytes, pad_bytes(n)) : 0;
}

uint64_t carm_window_span(const struct carm_code *code, const struct carm_shape *shape)
{
    return (streams_of(code) - 1) * carm_window_distance(code, shape) +
           shape->windows * shape->window_bytes;
}

uint64_t carm_measure_set_bytes(const struct carm_code *code, const struct carm_shape *shape)
{
    return shape->windows * shape->window_bytes * streams_of(code);
}

void carm_measure_shape_of(const struct carm_code *code, uint64_t set_bytes, uint64_t want,
                           struct carm_shape *shape)
{
    const uint64_t stride = code->account.stride_bytes;
    const uint64_t n = streams_of(code);
    const uint64_t bytes = n > 1 ? stream_bytes(set_bytes, n) : set_bytes;
    const uint64_t fit = stride && bytes / stride ? bytes / stride : 1;
    want = want ? want : 1;
    if (!stride) {
        *shape = (struct carm_shape){.iterations = want, .passes = 1, .windows = 1};
        shape->window_bytes = is_random(code) ? lines_of(set_bytes) * CARM_LINE_BYTES : 0;
    } else if (want >= fit) {
        *shape = (struct carm_shape){.iterations = fit,
                                     .passes = (want + fit - 1) / fit,
                                     .windows = 1,
                                     .window_bytes = fit * stride};
    } else {
        const uint64_t windows = 1 + (fit - 1) / want;
        *shape = (struct carm_shape){.iterations = fit / windows,
                                     .passes = 1,
                                     .windows = windows,
                                     .window_bytes = fit / windows * stride};
    }
}

/* source: Steele, Lea, Flood, Fast splittable pseudorandom number generators, OOPSLA 2014, with
 * Stafford's mixing constants: one-to-one, every bit of the argument moves half of the result's */
static uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9U;
    z = (z ^ z >> 27) * 0x94d049bb133111ebU;
    return z ^ z >> 31;
}

uint64_t carm_window_state(uint64_t seed, uint64_t repetition, unsigned thread, uint64_t lines)
{
    static const uint64_t golden = 0x9e3779b97f4a7c15U; /* 2^64 over the golden ratio, odd */
    unsigned drop = 64;
    for (uint64_t n = lines; n > 1; n /= 2) {
        drop--;
    }
    const uint64_t number = repetition << 16 | thread;
    return (mix(mix(seed) + number * golden) & ~(uint64_t)63) | drop;
}

void carm_windows_begin(struct carm_windows *w, const struct carm_code *code,
                        const struct carm_shape *shape, void *base, uint64_t cursor, uint64_t seed,
                        unsigned thread)
{
    const uint64_t window = is_random(code) ? 0 : shape->window_bytes;
    const uint64_t set = shape->windows * window;
    *w = (struct carm_windows){.code = code,
                               .shape = shape,
                               .base = base,
                               .cursor = cursor,
                               .seed = seed,
                               .thread = thread};
    if (window && cursor < set) {
        w->offset = cursor / window * window;
        w->phase = cursor % window / CARM_LINE_BYTES % stride_of(code);
    }
}

void *carm_windows_at(const struct carm_windows *w)
{
    return w->base + w->offset + w->phase * CARM_LINE_BYTES;
}

uint64_t carm_windows_extra(const struct carm_windows *w)
{
    return is_random(w->code) ? carm_window_state(w->seed, w->repetition, w->thread,
                                                  w->shape->window_bytes / CARM_LINE_BYTES)
                              : carm_window_distance(w->code, w->shape);
}

void carm_windows_next(struct carm_windows *w)
{
    const uint64_t window = w->shape->window_bytes;
    w->repetition++;
    w->offset += window;
    if (w->offset >= w->shape->windows * window) {
        w->offset = 0;
        w->phase = (w->phase + 1) % stride_of(w->code);
    }
}

uint64_t carm_windows_cursor(const struct carm_windows *w)
{
    return is_random(w->code) ? w->cursor : w->offset + w->phase * CARM_LINE_BYTES;
}
