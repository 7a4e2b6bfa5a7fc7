/* SPDX-License-Identifier: MIT */
#include "base/unpack.h"

#include <stdlib.h>
#include <zstd.h>

/* The build packs some 10 MB; a damaged header must not request more than memory has. */
enum { UNPACKED_MAX = 1 << 28 };

int carm_unpack(const uint8_t *packed, const uint8_t *end, const char *what, uint8_t **out,
                size_t *size, struct carm_err *err)
{
    const size_t n = (size_t)((uintptr_t)end - (uintptr_t)packed);
    const unsigned long long room = ZSTD_getFrameContentSize(packed, n);
    *out = NULL;
    *size = 0;
    /* ZSTD_CONTENTSIZE_ERROR and _UNKNOWN are the largest numbers */
    if (room > UNPACKED_MAX) {
        return carm_fail(err, CARM_EFORMAT, "%s of this program are damaged: install it again",
                         what);
    }
    uint8_t *bytes = malloc((size_t)room + 1);
    if (!bytes) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to unpack %s", what);
    }
    /* the frame has a checksum, which zstd compares */
    const size_t got = ZSTD_decompress(bytes, (size_t)room, packed, n);
    if (got != room) {
        free(bytes);
        return carm_fail(err, CARM_EFORMAT, "%s of this program are damaged (%s): install it again",
                         what,
                         ZSTD_isError(got) ? ZSTD_getErrorName(got) : "some bytes are missing");
    }
    bytes[got] = '\0';
    *out = bytes;
    *size = got;
    return 0;
}
