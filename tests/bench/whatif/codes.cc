// SPDX-License-Identifier: GPL-3.0-or-later
// The loops of codes.c that are in C++.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numeric>

#define KERNEL(name) extern "C" void name(int64_t n, int64_t m, double *a, double *b, double *c)
extern "C" int64_t codes_lines(void);
volatile double codes_sink;

using place = std::array<double, 4>;
// the nearest of eight centres
KERNEL(cxx_nearest)
{
    const auto *p = reinterpret_cast<const place *>(a), *centre = reinterpret_cast<const place *>(b);
    int64_t s = 0;
    for (int64_t i = 0; i < n; i++) {
        double least = 1e99;
        int64_t at = 0;
        for (int64_t k = 0; k < 8; k++) {
            double d = 0;
            for (size_t j = 0; j < 4; j++)
                d += (p[i][j] - centre[k][j]) * (p[i][j] - centre[k][j]);
            at = d < least ? k : at;
            least = std::min(least, d);
        }
        s += at;
    }
    codes_sink = static_cast<double>(s);
    (void)m, (void)c;
}
KERNEL(cxx_option)
{
    std::transform(a, a + n, b, c, [](double price, double time) {
        const double spread = 0.3 * std::sqrt(time), d = (price / 1.1 - 1.0 + 0.02 * time) / spread;
        return price * (0.5 + 0.4 * d - 0.06 * d * d * d) / (1.0 + 0.1 * d * d);
    });
    (void)m;
}
KERNEL(cxx_option_cheap)
{
    std::transform(a, a + n, b, c, [](double price, double time) {
        const double spread = 0.3 * (time * time), d = (price * 1.1 - 1.0 + 0.02 * time) * spread;
        return price * (0.5 + 0.4 * d - 0.06 * d * d * d) * (1.0 + 0.1 * d * d);
    });
    (void)m;
}
KERNEL(cxx_total)
{
    codes_sink = std::inner_product(a, a + n, b, 0.0);
    (void)m, (void)c;
}
KERNEL(cxx_total4)
{
    double s[4] = {0, 0, 0, 0};
    for (int64_t i = 0; i + 3 < n; i += 4) {
#pragma GCC unroll 4
        for (int64_t j = 0; j < 4; j++) {
            s[j] += a[i + j] * b[i + j];
            asm volatile("" : "+x"(s[j]));
        }
    }
    codes_sink = s[0] + s[1] + s[2] + s[3];
    (void)m, (void)c;
}
struct body {
    double mass, place[3], speed[3], rest[17];
};
KERNEL(cxx_energy)
{
    const auto *p = reinterpret_cast<const body *>(a);
    double s = 0;
    for (int64_t i = 0; i < n; i++)
        s += 0.5 * p[i].mass *
             (p[i].speed[0] * p[i].speed[0] + p[i].speed[1] * p[i].speed[1] + p[i].speed[2] * p[i].speed[2]);
    codes_sink = s;
    (void)m, (void)b, (void)c;
}
KERNEL(cxx_energy_pf)
{
    const auto *p = reinterpret_cast<const body *>(a);
    const int64_t ahead = codes_lines();
    double s = 0;
    for (int64_t i = 0; i < n; i++) {
        __builtin_prefetch(&p[i + ahead]);
        s += 0.5 * p[i].mass *
             (p[i].speed[0] * p[i].speed[0] + p[i].speed[1] * p[i].speed[1] + p[i].speed[2] * p[i].speed[2]);
    }
    codes_sink = s;
    (void)m, (void)b, (void)c;
}
