/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/load.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

static int fail_read(struct carm_err *err, const char *path)
{
    const int e = errno;
    char name[256];
    return carm_fail(err, CARM_EIO, "%s cannot be read: %s",
                     carm_text_clean(name, sizeof name, path, false), strerror(e));
}

/* Takes over text, which is released where it cannot grow. */
static char *grow(char *text, size_t *room)
{
    *room *= 2;
    char *grown = realloc(text, *room);
    if (!grown) {
        free(text);
    }
    return grown;
}

static char *load(FILE *in, const char *path, size_t most, size_t *size, int *rc,
                  struct carm_err *err)
{
    size_t room = 1 << 16, n = 1;
    char *text = malloc(room);
    for (*size = 0; text && n > 0 && *size <= most; *size += n) {
        if (room - *size < 2) {
            text = grow(text, &room);
        }
        n = text ? fread(text + *size, 1, room - *size - 1, in) : 0;
    }
    if (!text) {
        *rc = carm_fail(err, CARM_ENOMEM, "not enough memory to read %.200s", path);
        return NULL;
    }
    text[*size] = '\0';
    if (*size > most) {
        *rc = carm_fail(err, CARM_EFORMAT, "%.200s has more than %zu MiB: it is no such file", path,
                        most >> 20);
    } else if (ferror(in)) {
        *rc = fail_read(err, path);
    } else {
        return text;
    }
    free(text);
    return NULL;
}

char *carm_sol_load(const char *path, size_t most, size_t *size, int *rc, struct carm_err *err)
{
    const int standard = strcmp(path, "-") == 0;
    FILE *in = standard ? stdin : fopen(path, "rbe");
    if (!in) {
        *rc = fail_read(err, path);
        return NULL;
    }
    char *text = load(in, path, most, size, rc, err);
    if (!standard) {
        (void)fclose(in);
    }
    return text;
}
