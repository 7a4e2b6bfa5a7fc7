/* SPDX-License-Identifier: MIT */
/* Vector and mask registers, and the shapes of tiles, in an XSAVE area of the standard format, as signal frames and ptrace's
 * NT_X86_XSTATE have it.
 * source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 13 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum carm_xcomponent {
    CARM_X87,
    CARM_XMM,
    CARM_YMM_HIGH,
    CARM_OPMASK = 5,
    CARM_ZMM_HIGH, /* of the first sixteen */
    CARM_ZMM_16_31,
    CARM_TILE_CONFIG = 17,
    CARM_XCOMPONENTS = 32
};

enum { CARM_XSAVE_HEADER = 512, CARM_XSAVE_FIRST = 576, CARM_VECTOR_BYTES_MAX = 64 };

/* Where this processor puts each component: AMD and Intel differ. */
struct carm_xlayout {
    uint32_t offset[CARM_XCOMPONENTS], bytes[CARM_XCOMPONENTS];
    uint64_t enabled; /* XCR0: the components that the system saves */
};

/* From CPUID leaf 0xD; a processor without AVX, AVX-512 or tiles gets Intel's offsets for them, so that areas
 * of other machines can be read. */
void carm_xlayout_read(struct carm_xlayout *layout);

/* Mask register k, 0 in its initial state.
 * area  NULL: unknown, all ones */
uint64_t carm_xstate_mask(const struct carm_xlayout *layout, const uint8_t *area, size_t size_bytes,
                          unsigned k);

/* Vector register 0 .. 31, whole; bytes that the area does not have are zero. area NULL: all ones */
void carm_xstate_vector(const struct carm_xlayout *layout, const uint8_t *area, size_t size_bytes,
                        unsigned number, uint8_t out[CARM_VECTOR_BYTES_MAX]);

/* Rows of a tile and bytes of each, 0 where the area has no such tile. area NULL: the largest
 * source: Intel 64 and IA-32 SDM, volume 2, LDTILECFG: memory area of palette 1 */
struct carm_tile_shape {
    unsigned rows, row_bytes;
};
struct carm_tile_shape carm_xstate_tile(const struct carm_xlayout *layout, const uint8_t *area,
                                        size_t size_bytes, unsigned number);

/* Bytes that XSAVE writes for these components, header included. */
uint32_t carm_xstate_bytes(const struct carm_xlayout *layout, uint64_t components);
