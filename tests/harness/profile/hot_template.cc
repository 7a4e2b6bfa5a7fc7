/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A known loop (hot.h) in a template. */
#include "tests/harness/profile/hot.h"

#include <cstdlib>

namespace hot {
template <typename T, int Rounds> struct Sum {
    T data[64];
    __attribute__((noinline)) void over(uint64_t n) { LOOP(Rounds * n, data, SCALAR); }
};
} // namespace hot

int main(int argc, char **argv)
{
    static hot::Sum<double, 3> sum;
    sum.over(argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 0);
    return 0;
}
