/* SPDX-License-Identifier: MIT */
#include "harness/count/step/xstate.h"

#include <cpuid.h>
#include <string.h>

void carm_xlayout_read(struct carm_xlayout *layout)
{
    static const struct {
        enum carm_xcomponent component;
        uint32_t offset, bytes;
    } usual[] = {{CARM_YMM_HIGH, 576, 256},
                 {CARM_OPMASK, 1088, 64},
                 {CARM_ZMM_HIGH, 1152, 512},
                 {CARM_ZMM_16_31, 1664, 1024},
                 {CARM_TILE_CONFIG, 2752, 64}};
    unsigned a = 0;
    unsigned b = 0;
    unsigned c = 0;
    unsigned d = 0;
    memset(layout, 0, sizeof *layout);
    layout->enabled = 3;
    if (__get_cpuid_count(0xd, 0, &a, &b, &c, &d)) {
        if (__get_cpuid(1, &a, &b, &c, &d) && (c & bit_OSXSAVE)) {
            uint32_t low = 0;
            uint32_t high = 0;
            __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
            layout->enabled = (uint64_t)high << 32 | low;
        }
        /* each cpuid exits a virtual machine: 60 of them take 0.2 ms */
        for (unsigned i = CARM_YMM_HIGH; i < CARM_XCOMPONENTS; i++) {
            if ((layout->enabled >> i & 1) && __get_cpuid_count(0xd, i, &a, &b, &c, &d) &&
                !(c & 1)) { /* bit 0: supervisor's */
                layout->bytes[i] = a;
                layout->offset[i] = b;
            }
        }
    }
    for (size_t i = 0; i < sizeof usual / sizeof *usual; i++) {
        if (!layout->offset[usual[i].component]) {
            layout->offset[usual[i].component] = usual[i].offset;
            layout->bytes[usual[i].component] = usual[i].bytes;
        }
    }
}

/* n bytes of a component, zero where it is in its initial state or past the area */
static void fetch(const struct carm_xlayout *layout, const uint8_t *area, size_t size_bytes,
                  enum carm_xcomponent component, size_t at, void *out, size_t n)
{
    uint64_t in_use = 0;
    const size_t from = (component == CARM_XMM ? 160 : layout->offset[component]) + at;
    memset(out, 0, n);
    if (size_bytes < CARM_XSAVE_FIRST) { /* of FXSAVE: always there */
        in_use = 3;
    } else {
        memcpy(&in_use, area + CARM_XSAVE_HEADER, sizeof in_use);
    }
    if ((in_use >> component & 1) && from + n <= size_bytes) {
        memcpy(out, area + from, n);
    }
}

uint64_t carm_xstate_mask(const struct carm_xlayout *layout, const uint8_t *area, size_t size_bytes,
                          unsigned k)
{
    uint64_t mask = UINT64_MAX;
    if (area) {
        fetch(layout, area, size_bytes, CARM_OPMASK, k * sizeof mask, &mask, sizeof mask);
    }
    return mask;
}

void carm_xstate_vector(const struct carm_xlayout *layout, const uint8_t *area, size_t size_bytes,
                        unsigned number, uint8_t out[CARM_VECTOR_BYTES_MAX])
{
    if (!area) {
        memset(out, 0xff, CARM_VECTOR_BYTES_MAX);
    } else if (number < 16) {
        fetch(layout, area, size_bytes, CARM_XMM, number * 16UL, out, 16);
        fetch(layout, area, size_bytes, CARM_YMM_HIGH, number * 16UL, out + 16, 16);
        fetch(layout, area, size_bytes, CARM_ZMM_HIGH, number * 32UL, out + 32, 32);
    } else {
        fetch(layout, area, size_bytes, CARM_ZMM_16_31, (number - 16) * 64UL, out, 64);
    }
}

struct carm_tile_shape carm_xstate_tile(const struct carm_xlayout *layout, const uint8_t *area,
                                        size_t size_bytes, unsigned number)
{
    enum { TILES = 8, ROW_BYTES_AT = 16, ROWS_AT = 48 };
    uint16_t row_bytes = 0;
    uint8_t rows = 0;
    if (!area) {
        return (struct carm_tile_shape){16, 64};
    }
    if (number < TILES) {
        fetch(layout, area, size_bytes, CARM_TILE_CONFIG, ROW_BYTES_AT + 2UL * number, &row_bytes,
              sizeof row_bytes);
        fetch(layout, area, size_bytes, CARM_TILE_CONFIG, ROWS_AT + (size_t)number, &rows, 1);
    }
    return (struct carm_tile_shape){rows, row_bytes};
}

uint32_t carm_xstate_bytes(const struct carm_xlayout *layout, uint64_t components)
{
    uint32_t bytes = CARM_XSAVE_FIRST;
    for (unsigned i = CARM_YMM_HIGH; i < CARM_XCOMPONENTS; i++) {
        if (components & layout->enabled & (1ULL << i)) {
            bytes += layout->bytes[i];
        }
    }
    return bytes;
}
