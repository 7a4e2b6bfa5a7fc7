/* SPDX-License-Identifier: MIT */
/* All growing arrays use these functions. */
#pragma once

#include <stddef.h>

#include "base/err.h"

/* Makes room for more elements behind the first n. The room doubles, so that adding n elements
 * one at a time costs n steps.
 * items  address of a pointer to the array, which may move; to be released with free
 * room   in, out: number of elements that fit; NULL = n, for an array without spare room
 * size   bytes of an element
 * what   names the array in messages: "the model"
 * returns 0, or -CARM_ENOMEM with everything unchanged */
int carm_array_grow(void *items, size_t *room, size_t n, size_t more, size_t size, const char *what,
                    struct carm_err *err);

/* Appends a copy of an element after the first n. Other arguments: see carm_array_grow.
 * n        in, out
 * element  [size], not in the array */
int carm_array_append(void *items, size_t *room, size_t *n, const void *element, size_t size,
                      const char *what, struct carm_err *err);

/* Bisects an array in order: sets i to the index of the first element that is not before what is sought, n if all are.
 * before  whether the element of index `middle` is before it */
/* NOLINTBEGIN(bugprone-macro-parentheses): middle is declared */
#define CARM_ARRAY_BISECT(i, n, middle, before)                  \
    do {                                                         \
        __typeof__(i) end_ = (n);                                \
        for ((i) = 0; (i) < end_;) {                             \
            const __typeof__(i) middle = (i) + (end_ - (i)) / 2; \
            if (before) {                                        \
                (i) = middle + 1;                                \
            } else {                                             \
                end_ = middle;                                   \
            }                                                    \
        }                                                        \
    } while (0)
/* NOLINTEND(bugprone-macro-parentheses) */
