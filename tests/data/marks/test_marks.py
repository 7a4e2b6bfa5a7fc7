# SPDX-License-Identifier: GPL-3.0-or-later
"""pytest-benchmark measures a function's time, carm.measure counts it."""
import carm


def total(numbers):
    """What is measured."""
    return sum(numbers)


def test_total(benchmark):
    """The line that is added is the last one."""
    assert benchmark(total, range(10)) == 45
    assert carm.measure(total, range(10)) == 45
