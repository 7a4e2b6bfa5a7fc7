/* SPDX-License-Identifier: MIT */
#include "base/array.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int carm_array_grow(void *items, size_t *room, size_t n, size_t more, size_t size, const char *what,
                    struct carm_err *err)
{
    enum { FIRST = 16 };
    size_t wanted = n + more;
    if (room && wanted <= *room && wanted >= n) {
        return 0;
    }
    if (room && wanted < 2 * *room && *room <= SIZE_MAX / 2) {
        wanted = 2 * *room;
    }
    if (room && wanted < FIRST) {
        wanted = FIRST;
    }
    void *array; /* the caller's pointer is of another type */
    memcpy(&array, items, sizeof array);
    array = n + more >= n && wanted <= SIZE_MAX / size ? realloc(array, wanted * size) : NULL;
    if (!array) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for %.200s", what);
    }
    memcpy(items, &array, sizeof array);
    if (room) {
        *room = wanted;
    }
    return 0;
}

int carm_array_append(void *items, size_t *room, size_t *n, const void *element, size_t size,
                      const char *what, struct carm_err *err)
{
    const int rc = carm_array_grow(items, room, *n, 1, size, what, err);
    if (!rc) {
        char *array; /* the caller's pointer is of another type */
        memcpy(&array, items, sizeof array);
        memcpy(array + (*n)++ * size, element, size);
    }
    return rc;
}
