// SPDX-License-Identifier: MIT
// A region in C++, which ends with its scope. Build and count it:
//   c++ -O2 region.cpp $(pkg-config --cflags --libs carm) -o region
//   carm run --regions -- ./region
#include <carm.h>

#include <cstdio>
#include <vector>

static void axpy(double a, const std::vector<double> &x, std::vector<double> &y)
{
    carm::region guard("axpy");
    for (std::size_t i = 0; i < x.size(); i++) {
        y[i] += a * x[i];
    }
}

int main()
{
    const std::vector<double> x(1000, 1.0);
    std::vector<double> y(1000, 2.0);
    for (int turn = 0; turn < 10; turn++) {
        axpy(1.5, x, y);
    }
    std::printf("%g\n", y[999]);
    return 0;
}
