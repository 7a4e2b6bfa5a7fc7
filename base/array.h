/* SPDX-License-Identifier: MIT */
/* The one way in which arrays grow. */
#pragma once

#include <stddef.h>

#include "base/err.h"

/* Makes room for more elements behind the first n. The room doubles, so that adding n elements
 * one at a time costs n steps.
 * items  address of a pointer to the array, which may move; to be released with free
 * room   number of elements that fit, in and out; NULL = n: the array is kept without spare room
 * size   bytes of an element
 * what   names the array in messages: "the model"
 * returns 0, or -CARM_ENOMEM with everything as it was */
int carm_array_grow(void *items, size_t *room, size_t n, size_t more, size_t size, const char *what,
                    struct carm_err *err);

/* Appends a copy of an element to the first n, in and out; the others are as those of carm_array_grow.
 * element  [size], not in the array */
int carm_array_append(void *items, size_t *room, size_t *n, const void *element, size_t size,
                      const char *what, struct carm_err *err);
