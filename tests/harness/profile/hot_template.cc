/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A known loop (hot.h) in a template, for hot.c where there is a C++ compiler. */
#include "tests/harness/profile/hot.h"

namespace hot {
template <typename T, int Rounds> struct Sum {
    T data[64];
    __attribute__((noinline)) void over(uint64_t n) { LOOP(Rounds * n, data, SCALAR); }
};
} // namespace hot

extern "C" void hot_template(uint64_t n)
{
    static hot::Sum<double, 3> sum;
    sum.over(n);
}
