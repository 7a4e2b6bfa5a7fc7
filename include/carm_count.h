/* SPDX-License-Identifier: MIT */
/* Marks the body of a benchmark, so that `carm run --regions --counters translate` counts one iteration of it, without
 * the setup around it. There is nothing to link: each mark is one instruction, a nop that carm's translator knows.
 *
 *     carm_count_begin("parse_number", 1000);
 *     for (int i = 0; i < 1000; i++) { parse_number(text); }
 *     carm_count_end();
 *
 * C++ also has a guard for one iteration, which suits frameworks that call the body themselves (Catch2, nanobench,
 * Google Benchmark, doctest):
 *
 *     BENCHMARK("parse_number") { carm::count one("parse_number"); return parse_number(text); };
 *
 * and a loop of Google Benchmark whose iterations are counted together:
 *
 *     for (auto _ : carm::iterations(state, "parse_number")) { ... }
 *
 * Only the calling thread is counted. Marks nest, 16 deep. Marked code with several numbers of iterations is counted
 * by difference, so that setup between begin and end has no part in the counts of an iteration. 800 pairs of name
 * and number of iterations have room. */
#ifndef CARM_COUNT_H
#define CARM_COUNT_H

#if !defined(__x86_64__)
#error "carm counts programs for x86-64"
#endif

/* Begins marked code.
 * name        up to 127 bytes; the row's name in points.csv
 * iterations  that it will do; at least 1 */
#define carm_count_begin(name, iterations)                                         \
    __asm__ volatile(".byte 0x0f,0x1f,0x84,0x37,0x11,0xf0,0xa2,0x0c"               \
                     :                                                             \
                     : "D"((const char *)(name)), "S"((unsigned long)(iterations)) \
                     : "memory")

/* Ends the marked code that began last. */
#define carm_count_end() \
    __asm__ volatile(".byte 0x0f,0x1f,0x84,0x37,0x12,0xf0,0xa2,0x0c" : : : "memory")

/* Sets an int to whether carm counts this program now. */
#define carm_count_ask(on)                                                            \
    __asm__ volatile("xor %%eax,%%eax; .byte 0x0f,0x1f,0x84,0x37,0x13,0xf0,0xa2,0x0c" \
                     : "=a"(on)                                                       \
                     :                                                                \
                     : "cc")

#ifdef __cplusplus
#if __cplusplus >= 201103L
#include <utility>
#endif
namespace carm
{
/* One iteration, which ends with the scope of its object. */
class count
{
    count(const count &);
    count &operator=(const count &);

  public:
    explicit count(const char *name)
    {
        carm_count_begin(name, 1);
    }
    ~count()
    {
        carm_count_end();
    }
};

#if __cplusplus >= 201103L
/* The loop of a benchmark::State, of any version. Its clocks are read outside the marks: the kernel's code for a clock has
 * more instructions now and then. */
template <class State> class counted_loop
{
    State &state;
    const char *name;
    typedef decltype(std::declval<State &>().begin()) inner;

  public:
    class iterator
    {
        inner at; /* ends the state's loop */
        unsigned long left;

      public:
        iterator(inner i, unsigned long n) : at(i), left(n)
        {
        }
        auto operator*() const -> decltype(*at)
        {
            return *at;
        }
        iterator &operator++()
        {
            --left;
            return *this;
        }
        bool operator!=(const iterator &end)
        {
            if (left != end.left) {
                return true;
            }
            if (left == 0) {
                carm_count_end();
                while (at != end.at) {
                    ++at;
                }
            }
            return false;
        }
    };
    counted_loop(State &s, const char *n) : state(s), name(n)
    {
    }
    iterator begin()
    {
        return iterator(state.begin(), (unsigned long)state.max_iterations);
    }
    iterator end() /* called after begin: the last call before the first iteration */
    {
        const inner last(state.end());
        inner first(state.begin());
        if (first != last) {
            carm_count_begin(name, state.max_iterations);
            return iterator(last, 0);
        }
        return iterator(last, (unsigned long)state.max_iterations); /* skipped: no iteration */
    }
};

template <class State> counted_loop<State> iterations(State &state, const char *name)
{
    return counted_loop<State>(state, name);
}
#endif
} /* namespace carm */
#endif
#endif
