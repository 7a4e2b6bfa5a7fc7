/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Walks over arrays that the first level of a cache does not hold, and the second one not quite: for
 * the comparison with cachegrind. */
static double a[1 << 15], b[1 << 15], c[1 << 15];
int main(int argc, char **argv)
{
    (void)argv;
    for (int i = 0; i < 1 << 15; i++) {
        c[i] = argc + i; /* else a compiler knows that all are 0 and does not load them */
    }
    for (int pass = 0; pass < 8; pass++) {
        for (int i = 0; i < 1 << 15; i++) {
            a[i] = b[i] + 3.0 * c[i];
        }
        for (int i = 0; i < 1 << 15; i += 16) {
            b[i * 7 & ((1 << 15) - 1)] += c[i];
        }
        /* lines that LRU keeps, and first in first out does not */
        for (int i = 0; i < 1 << 15; i += 8) {
            a[i] += c[i & 1023];
        }
    }
    return a[5] < 0.0;
}
