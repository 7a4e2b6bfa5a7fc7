/* SPDX-License-Identifier: MIT */
/* A tool of the build: compresses standard input to standard output for base/unpack.c. */
#include <stdio.h>
#include <stdlib.h>
#include <zstd.h>

/* Level 19 compresses the built-in test codes (9.9 MB) to 0.5 MB in 4 s; gzip -9 to 0.8 MB, which take three
 * times as long to unpack. */
enum { LEVEL = 19, STEP = 1 << 20 };

int main(void)
{
    char *in = NULL;
    size_t n = 0;
    for (size_t got = STEP; got == STEP; n += got) {
        char *more = realloc(in, n + STEP);
        if (!more) {
            break;
        }
        in = more;
        got = fread(in + n, 1, STEP, stdin);
    }
    const size_t room = ZSTD_compressBound(n);
    char *out = malloc(room);
    ZSTD_CCtx *context = ZSTD_createCCtx();
    size_t packed = 0;
    int status = EXIT_FAILURE;
    if (in && out && context && feof(stdin) && !ferror(stdin)) {
        ZSTD_CCtx_setParameter(context, ZSTD_c_compressionLevel, LEVEL);
        ZSTD_CCtx_setParameter(context, ZSTD_c_checksumFlag, 1);
        packed = ZSTD_compress2(context, out, room, in, n);
        if (!ZSTD_isError(packed) && fwrite(out, 1, packed, stdout) == packed &&
            fflush(stdout) == 0) {
            status = EXIT_SUCCESS;
        }
    }
    if (status != EXIT_SUCCESS) {
        fputs("pack: cannot read, compress or write: is there room for the output?\n", stderr);
    }
    ZSTD_freeCCtx(context);
    free(out);
    free(in);
    return status;
}
