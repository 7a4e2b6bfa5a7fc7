// SPDX-License-Identifier: GPL-3.0-or-later
// Loops of C++ programs whose limit is known by construction (strangers.py).
#include <algorithm>
#include <cstdint>
#include <map>
#include <unordered_map>
#include <vector>

#include "harness.h"

namespace {
volatile double sink;

// Expression templates, as Eigen has them.
template <class L, class R> struct Sum {
    const L &l;
    const R &r;
    double operator[](std::size_t i) const { return l[i] + r[i]; }
};
template <class R> struct Scaled {
    double f;
    const R &r;
    double operator[](std::size_t i) const { return f * r[i]; }
};
struct Vector {
    std::vector<double> v;
    explicit Vector(std::size_t n) : v(n, 1.5) {}
    double operator[](std::size_t i) const { return v[i]; }
    template <class E> LOOP void assign(const E &e)
    {
        for (std::size_t i = 0; i < v.size(); i++) {
            v[i] = e[i];
        }
    }
};

std::size_t n;
Vector *p, *q, *s;
void vectors(std::size_t bytes)
{
    n = bytes / 24;
    p = new Vector(n);
    q = new Vector(n);
    s = new Vector(n);
}
void expression(std::size_t k)
{
    for (std::size_t r = 0; r < k; r += n) {
        const Scaled<Vector> scaled{1.5, *q};
        s->assign(Sum<Vector, Scaled<Vector>>{*p, scaled});
    }
}
struct Matrix {
    std::size_t n;
    std::vector<double> v;
    double operator()(std::size_t i, std::size_t j) const { return v[i * n + j]; }
};
LOOP double row(const Matrix &m, const std::vector<double> &x, std::size_t i)
{
    double t = 0.0;
    for (std::size_t j = 0; j < m.n; j++) {
        t += m(i, j) * x[j];
    }
    return t;
}
Matrix *matrix;
std::vector<double> *in, *out;
void matrix_up(std::size_t bytes)
{
    n = 32;
    while (n * n * 8 * 4 <= bytes) {
        n *= 2;
    }
    matrix = new Matrix{n, std::vector<double>(n * n, 0.5)};
    in = new std::vector<double>(n, 1.0);
    out = new std::vector<double>(n);
}
void product(std::size_t k)
{
    for (std::size_t r = 0; r < k; r += n * n) {
        for (std::size_t i = 0; i < n; i++) {
            (*out)[i] = row(*matrix, *in, i);
        }
    }
}

std::vector<std::uint32_t> *values;
void values_up(std::size_t bytes)
{
    values = new std::vector<std::uint32_t>(bytes / 4);
    for (auto &v : *values) {
        v = static_cast<std::uint32_t>(next_random());
    }
}
LOOP void sorts(std::size_t k)
{
    const std::size_t m = values->size();
    for (std::size_t r = 0; r < k; r += 20 * m) {
        std::vector<std::uint32_t> copy(*values);
        std::sort(copy.begin(), copy.end());
        sink = copy[m / 2];
    }
}
std::unordered_map<std::uint64_t, double> *table;
std::vector<std::uint64_t> *wanted;
void table_up(std::size_t bytes)
{
    const std::size_t m = bytes / 32;
    table = new std::unordered_map<std::uint64_t, double>(2 * m);
    wanted = new std::vector<std::uint64_t>(m);
    for (auto &w : *wanted) {
        w = next_random();
        (*table)[w] = 1.0;
    }
    for (std::size_t i = m - 1; i > 0; i--) {
        std::swap((*wanted)[i], (*wanted)[next_random() % (i + 1)]);
    }
}
LOOP void joins(std::size_t k)
{
    double t = 0.0;
    for (std::size_t r = 0; r < k; r++) {
        t += table->find((*wanted)[r % wanted->size()])->second;
    }
    sink = t;
}
std::map<std::uint64_t, double> *tree;
void tree_up(std::size_t bytes)
{
    tree = new std::map<std::uint64_t, double>;
    for (std::size_t i = 0; i < bytes / 64; i++) {
        (*tree)[next_random()] = 1.0;
    }
}
LOOP void walks(std::size_t k) // in order: each node is somewhere
{
    double t = 0.0;
    auto it = tree->begin();
    for (std::size_t r = 0; r < k; r++) {
        t += it->second;
        if (++it == tree->end()) {
            it = tree->begin();
        }
    }
    sink = t;
}
LOOP void lookups(std::size_t k) // down the tree, one search after the other
{
    double t = 0.0;
    for (std::size_t r = 0; r < k; r += 20) {
        const auto it = tree->lower_bound(next_random());
        t += it != tree->end() ? it->second : 0.0;
    }
    sink = t;
}
struct Shape {
    virtual ~Shape() = default;
    virtual double area() const = 0;
};
struct Square : Shape {
    double a = 1.0;
    double area() const override { return a * a; }
};
struct Circle : Shape {
    double r = 1.0;
    double area() const override { return 3.14 * r * r; }
};
struct Line : Shape {
    double area() const override { return 0.0; }
};
std::vector<Shape *> *shapes;
void shapes_up(std::size_t bytes)
{
    shapes = new std::vector<Shape *>(bytes / 8);
    for (auto &sh : *shapes) {
        switch (next_random() % 3) {
        case 0:
            sh = new Square;
            break;
        case 1:
            sh = new Circle;
            break;
        default:
            sh = new Line;
        }
    }
}
LOOP void areas(std::size_t k)
{
    double t = 0.0;
    for (std::size_t r = 0; r < k; r += shapes->size()) {
        for (const Shape *sh : *shapes) {
            t += sh->area();
        }
    }
    sink = t;
}

const loop loops[] = {
    {"expression_l1", vectors, expression, 16 << 10},   {"expression_dram", vectors, expression, 192 << 20},
    {"product_l1", matrix_up, product, 32 << 10},       {"product_l2", matrix_up, product, 512 << 10},
    {"sorts", values_up, sorts, 256 << 10},             {"joins_dram", table_up, joins, 64 << 20},
    {"walks_dram", tree_up, walks, 64 << 20},           {"lookups_dram", tree_up, lookups, 64 << 20},
    {"areas", shapes_up, areas, 128 << 10},
};
} // namespace

int main(int argc, char **argv)
{
    return run_loop(loops, sizeof loops / sizeof *loops, argc, argv);
}
