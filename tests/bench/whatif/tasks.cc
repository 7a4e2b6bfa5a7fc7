// SPDX-License-Identifier: GPL-3.0-or-later
// The loops of tasks.c that are in C++: templates, iterators, complex numbers.
#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>

#define KERNEL(name) extern "C" void name(int64_t n, double *a, double *b, double *c)
volatile double task_sink;

template <class T, class F> static void map(const T *from, const T *end, T *to, F f)
{
    for (; from != end; ++from, ++to)
        *to = f(*from);
}
KERNEL(task_complex)
{
    using number = std::complex<double>;
    const auto *p = reinterpret_cast<const number *>(a), *q = reinterpret_cast<const number *>(b);
    auto *to = reinterpret_cast<number *>(c);
    for (int64_t i = 0; i < n / 2; i++)
        to[i] = {p[i].real() * q[i].real() - p[i].imag() * q[i].imag(),
                 p[i].real() * q[i].imag() + p[i].imag() * q[i].real()};
}
template <int chains> static double sum(const double *p, int64_t n)
{
    double s[chains] = {};
    for (int64_t i = 0; i + chains <= n; i += chains)
#pragma GCC unroll 8
        for (int j = 0; j < chains; j++) {
            s[j] += std::abs(p[i + j] - 1.0);
            asm volatile("" : "+x"(s[j]));
        }
    double all = 0;
#pragma GCC unroll 8
    for (int j = 0; j < chains; j++)
        all += s[j];
    return all;
}
KERNEL(task_sum)
{
    task_sink = sum<1>(a, n);
    (void)b, (void)c;
}
KERNEL(task_sum4)
{
    task_sink = sum<4>(a, n);
    (void)b, (void)c;
}
template <class F>
static void directions(int64_t n, const double *a, const double *b, double *c, F inverse)
{
    for (int64_t i = 0; i < n; i++)
        c[i] = a[i] * inverse(a[i] * a[i] + b[i] * b[i]);
}
KERNEL(task_directions)
{
    directions(n, a, b, c, [](double s) { return 1.0 / std::sqrt(s); });
}
KERNEL(task_directions_cheap)
{
    directions(n, a, b, c, [](double s) { return 1.5 * (s * s); });
}
KERNEL(task_polynomial)
{
    map(a, a + n, c, [](double v) { return 0.1 + v * (0.2 + v * (0.3 + v * (0.4 + v * 0.5))); });
    (void)b;
}
