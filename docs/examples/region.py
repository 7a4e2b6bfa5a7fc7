# SPDX-License-Identifier: MIT
"""A region in Python. Count it: carm run --regions -- python3 region.py"""
import carm

x = [1.0] * 1000
y = [2.0] * 1000
for turn in range(10):
    with carm.region("axpy"):
        y = [b + 1.5 * a for a, b in zip(x, y)]
print(y[-1])
