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
