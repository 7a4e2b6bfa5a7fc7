# SPDX-License-Identifier: MIT
"""Speed and energy of four million particles: each operation makes an array of 32 MB. With an argument the arrays
are made in pieces of so many numbers."""
import sys

import numpy as np

N = 4_000_000
rng = np.random.default_rng(1)
u, v, w, m = (rng.random(N) for _ in range(4))


def energy(u, v, w, m):
    return 0.5 * m * (u * u + v * v + w * w) + np.sqrt(u * u + v * v)


piece = int(sys.argv[1]) if len(sys.argv) > 1 else N
total = 0.0
for _ in range(10):
    for i in range(0, N, piece):
        s = slice(i, i + piece)
        total += energy(u[s], v[s], w[s], m[s]).sum()
print(f"{total:.6g}")
