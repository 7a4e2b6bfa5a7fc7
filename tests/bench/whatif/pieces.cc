// SPDX-License-Identifier: GPL-3.0-or-later
// The loops of pieces.c that are in C++.
#include <complex>
#include <cstdint>
#include <memory>
#include <random>
#include <vector>

#define KERNEL(name) extern "C" void name(int64_t n, double *a, double *b, double *c)
volatile double cxx_sink;

struct point {
    double x, y, z;
};
KERNEL(cxx_unit)
{
    point *p = reinterpret_cast<point *>(a), *q = reinterpret_cast<point *>(b);
    for (int64_t i = 0; i < n / 3; i++) {
        const double r = 1.0 / __builtin_sqrt(p[i].x * p[i].x + p[i].y * p[i].y + p[i].z * p[i].z);
        q[i] = {p[i].x * r, p[i].y * r, p[i].z * r};
    }
    (void)c;
}
KERNEL(cxx_unit_cheap)
{
    point *p = reinterpret_cast<point *>(a), *q = reinterpret_cast<point *>(b);
    for (int64_t i = 0; i < n / 3; i++) {
        const double d = p[i].x * p[i].x + p[i].y * p[i].y + p[i].z * p[i].z, r = 1.5 * (d * d);
        q[i] = {p[i].x * r, p[i].y * r, p[i].z * r};
    }
    (void)c;
}
KERNEL(cxx_phase)
{
    auto *p = reinterpret_cast<std::complex<double> *>(a), *q = reinterpret_cast<std::complex<double> *>(b);
    for (int64_t i = 0; i < n / 2; i++)
        p[i] = {p[i].real() * 0.8 - q[i].imag() * 0.6, p[i].imag() * 0.8 + q[i].real() * 0.6};
    (void)c;
}
KERNEL(cxx_words)
{
    int64_t words = 0, letters = 0;
    for (const char *p = reinterpret_cast<char *>(a), *end = p + n; p != end; ++p) {
        if (*p == ' ') {
            words++;
            asm volatile("" : "+r"(words));
        } else {
            letters += 3;
            asm volatile("" : "+r"(letters));
        }
    }
    cxx_sink = static_cast<double>(words + letters);
    (void)b, (void)c;
}

struct shape {
    double size = 1.5, rest[5] = {};
    virtual double area() const = 0;
    virtual ~shape() = default;
};
struct square final : shape {
    double area() const override { return size * size; }
};
struct disc final : shape {
    double area() const override { return 3.14 * size * size; }
};
static std::vector<const shape *> shapes;
extern "C" void *get_room(size_t);
extern "C" void cxx_make_shapes(int64_t n)
{
    std::mt19937_64 random(1);
    std::vector<uint32_t> order(static_cast<size_t>(n));
    char *room = static_cast<char *>(get_room(static_cast<size_t>(n) * 64 + 4096));
    for (uint32_t i = 0; i < n; i++)
        order[i] = i;
    for (size_t i = order.size() - 1; i > 0; i--)
        std::swap(order[i], order[random() % (i + 1)]);
    for (const uint32_t at : order)
        shapes.push_back(at % 16 ? static_cast<shape *>(new (room + 64 * size_t(at)) square)
                                 : static_cast<shape *>(new (room + 64 * size_t(at)) disc));
}
KERNEL(cxx_shapes)
{
    double s = 0;
    for (const shape *p : shapes)
        s += p->area();
    cxx_sink = s;
    (void)n, (void)a, (void)b, (void)c;
}
