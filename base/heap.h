/* SPDX-License-Identifier: MIT */
/* A heap of numbers, the smallest first. */
#pragma once

#include <stdint.h>

/* Adds a value. n: numbers before the call; heap has room for one more */
static inline void carm_heap_put(uint32_t *heap, uint32_t n, uint32_t value)
{
    while (n > 0 && heap[(n - 1) / 2] > value) {
        heap[n] = heap[(n - 1) / 2];
        n = (n - 1) / 2;
    }
    heap[n] = value;
}

/* Removes and returns the smallest. n: numbers before the call, > 0 */
static inline uint32_t carm_heap_take(uint32_t *heap, uint32_t n)
{
    const uint32_t least = heap[0];
    const uint32_t value = heap[n - 1];
    uint32_t at = 0;
    for (uint64_t child = 1; child < n - 1; child = 2 * (uint64_t)at + 1) {
        if (child + 1 < n - 1 && heap[child + 1] < heap[child]) {
            child++;
        }
        if (heap[child] >= value) {
            break;
        }
        heap[at] = heap[child];
        at = (uint32_t)child;
    }
    heap[at] = value;
    return least;
}
