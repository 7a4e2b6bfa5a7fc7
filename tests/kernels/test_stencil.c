/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The 7-point stencil: every ISA against plain loops and the solution, odd sizes, ghosts, blocks,
 * counts against stepping, the trace against the counts, refusals. */
#include "kernels/stencil/sweep.h"
#include "tests/harness/count/step/stepping.h"
#include "tests/kernels/teams.h"
#include "tests/unit.h"

#ifdef __clang__ /* keeps on the stack what gcc has in registers */
#undef EXACT
#define EXACT false
#endif

static struct carm_stencil *open_case(struct carm_stencil_params p, enum carm_isa isa, int threads)
{
    struct carm_dwarf_case *c = NULL;
    const struct carm_cpu limited = up_to(isa);
    p.cpu = &limited;
    p.team = teams[threads];
    assert_ok(carm_stencil_open(&c, &p, &err));
    return (struct carm_stencil *)case_closed_later(c);
}

static double at(const struct carm_stencil *s, uint32_t x, uint32_t y, uint32_t z)
{
    return s->grid[s->now][z * s->plane + y * s->pitch + x];
}

static void assert_same(const struct carm_stencil *a, const struct carm_stencil *b,
                        double tolerance)
{
    for (uint32_t z = 0; z < a->n; z++) {
        for (uint32_t y = 0; y < a->n; y++) {
            for (uint32_t x = 0; x < a->n; x++) {
                fail_if(!(fabs(at(a, x, y, z) - at(b, x, y, z)) <= tolerance),
                        "%s %s: %u %u %u is %.17g, not %.17g", b->base.isa, b->base.size, x, y, z,
                        at(b, x, y, z), at(a, x, y, z));
            }
        }
    }
}

/* Nobody may write outside of the grid's points. */
static void assert_ghosts(const struct carm_stencil *s)
{
    const ptrdiff_t n = s->n;
    for (int g = 0; g < 2; g++) {
        for (ptrdiff_t z = -1; z <= n; z++) {
            for (ptrdiff_t y = -1; y <= n; y++) {
                const double *line = s->grid[g] + z * s->plane + y * s->pitch;
                const bool all = z < 0 || z == n || y < 0 || y == n;
                for (ptrdiff_t x = -1; x < s->pitch - 1; x++) {
                    fail_if((all || x < 0 || x >= n) && line[x] != 0.0,
                            "%s: ghost %td %td %td was written", s->base.size, x, y, z);
                }
            }
        }
    }
}

static void compare(uint32_t n, enum carm_isa isa, int threads, int way)
{
    struct carm_stencil_params p = {.n = n, .sweeps = (uint32_t)way % 3 + 1};
    struct carm_stencil *plain = open_case(p, CARM_SCALAR, 1);
    p.optimised = true;
    p.write_allocate = way & 1;
    p.l2_bytes = way & 2 ? 8192.0 : 0.0; /* short blocks */
    struct carm_stencil *fast = open_case(p, isa, threads);
    assert_string_equal(fast->base.isa, carm_isa_name(isa));
    assert_int_equal(fast->streamed, !(way & 1));
    for (int i = 0; i < 3; i++) {
        run(&plain->base, 1);
        run(&fast->base, threads);
        /* the same order of additions: without FMA the same bits */
        assert_same(plain, fast, isa < CARM_AVX2 ? 0.0 : 1e-15 * (double)plain->steps);
    }
    fail_if(check(&plain->base) || check(&fast->base), "%s", err.text);
    assert_ghosts(plain);
    assert_ghosts(fast);
}

TEST(results)
{
    static const uint32_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 40};
    int done = 0;
    for (int isa = CARM_SSE; isa < CARM_VECTOR_ISAS; isa++) {
        for (size_t i = 0; has((enum carm_isa)isa) && i < sizeof sizes / sizeof *sizes; i++) {
            for (int way = 0; way < 4; way++) {
                for (int threads = 1; threads <= 2 && teams[threads]; threads++) {
                    compare(sizes[i], (enum carm_isa)isa, threads, way);
                    done++;
                }
            }
        }
    }
    assert_true(done > 0);
}

/* A grid that decays to nothing begins anew, and is right again. */
TEST(many_runs)
{
    struct carm_stencil *s = open_case((struct carm_stencil_params){.n = 3}, CARM_SSE, 1);
    for (int i = 0; i < 100; i++) {
        run(&s->base, 1);
        assert_int_equal(check(&s->base), 0);
        assert_true(fabs(at(s, 0, 0, 0)) > 1e-5);
    }
}

TEST(faults_are_found)
{
    struct carm_stencil_params p = {.n = 24, .optimised = true};
    struct carm_stencil *s = open_case(p, CARM_SSE, 1);
    assert_int_equal(check(&s->base), -CARM_EINVAL); /* not run yet */
    run(&s->base, 1);
    run(&s->base, 1);
    assert_int_equal(check(&s->base), 0);
    double *point = &s->grid[s->now][7 * s->plane + 3 * s->pitch + 5];
    const double right = *point;
    *point += 1e-10;
    assert_int_equal(check(&s->base), -CARM_EFORMAT);
    assert_non_null(strstr(err.text, "from the solution after 2 sweeps"));
    *point = NAN;
    assert_int_equal(check(&s->base), -CARM_EFORMAT);
    *point = right;
    /* near the solution, but not what the last sweep made of the one before */
    s->grid[s->now ^ 1][7 * s->plane + 3 * s->pitch + 5] += 1e-10;
    assert_int_equal(check(&s->base), -CARM_EFORMAT);
    assert_non_null(strstr(err.text, "with plain loops"));
    s->grid[s->now ^ 1][7 * s->plane + 3 * s->pitch + 5] -= 1e-10;
    /* a sweep that was left out */
    s->steps++;
    assert_int_equal(check(&s->base), -CARM_EFORMAT);
}

/* 8 flops for 24 compulsory bytes, for 16 past the caches. source: the paper's table 2, 0.33 to 0.50 */
TEST(intensities)
{
    struct carm_stencil_params p = {.n = 20, .sweeps = 2};
    struct carm_stencil *s = open_case(p, CARM_SCALAR, 1);
    assert_near(s->base.work.operations, 8.0 * 8000 * 2, 0.0);
    assert_near(s->base.work.operations / s->base.work.compulsory_bytes, 1.0 / 3.0, 1e-15);
    assert_string_equal(s->base.work.metric, "flop");
    assert_string_equal(s->base.size, "20^3, 2 sweeps");
    close_opened();
    p.optimised = true;
    s = open_case(p, CARM_SSE, 1);
    assert_near(s->base.work.operations / s->base.work.compulsory_bytes, 0.5, 0.0);
    close_opened();
    p.llc_bytes = 1e6; /* both grids stay in the last cache */
    s = open_case(p, CARM_SSE, 1);
    assert_false(s->streamed);
    assert_near(s->base.work.operations / s->base.work.compulsory_bytes, 1.0 / 3.0, 1e-15);
}

TEST(layout)
{
    struct carm_stencil_params p = {.n = 100, .optimised = true, .l2_bytes = 262144};
    struct carm_stencil *s = open_case(p, CARM_SSE, 1);
    assert_int_equal((uintptr_t)s->grid[0] % 64, 0);
    assert_int_equal((uintptr_t)s->grid[1] % 64, 0);
    assert_int_equal(s->pitch % 8, 0);
    assert_int_equal(s->pitch / 8 % 2, 1);
    assert_int_equal(s->plane / 8 % 64, 16);
    /* three planes of a block and its neighbours fit, and blocks are even */
    assert_true(3 * (s->block + 2) * (size_t)s->pitch * 8 <= 262144);
    assert_int_equal(s->block, 50); /* 76 would fit */
    close_opened();
    p.l2_bytes = 0;
    s = open_case(p, CARM_SSE, 1);
    assert_int_equal(s->block, 100); /* nothing known: no blocks */
    close_opened();
    p.l2_bytes = 16384; /* not even four lines: by the last cache, then */
    p.llc_bytes = 65536;
    s = open_case(p, CARM_SSE, 1);
    assert_true(s->block >= 4 && s->block < 20);
}

TEST(refusals)
{
    struct carm_dwarf_case *c = NULL;
    struct carm_stencil_params p = {.n = 60000, .cpu = &cpu, .team = teams[1]};
    assert_refused(carm_stencil_open(&c, &p, &err), -CARM_ENOMEM,
                   "a stencil of 60000^3 points takes");
    assert_non_null(strstr(err.text, "choose a smaller size"));
    p.n = 70000;
    assert_int_equal(carm_stencil_open(&c, &p, &err), -CARM_EINVAL);
    assert_null(c);
}

struct seen {
    double loads, stores, streamed; /* bytes */
    const struct carm_stencil *s;
    bool outside;
};

static void see(void *context, uint64_t address, unsigned bytes, bool store, bool nontemporal)
{
    struct seen *seen = context;
    const uint64_t begin = (uintptr_t)seen->s->memory.start;
    seen->outside =
        seen->outside || address < begin || address + bytes > begin + seen->s->memory.bytes;
    *(store ? &seen->stores : &seen->loads) += bytes;
    seen->streamed += nontemporal ? bytes : 0;
}

static void count_one(uint32_t n, enum carm_isa isa, int threads, uint32_t sweeps)
{
    struct carm_stencil_params p = {
        .n = n, .sweeps = sweeps, .optimised = isa != CARM_SCALAR, .l2_bytes = 16384};
    struct carm_stencil *s = open_case(p, isa, threads);
    struct carm_dwarf_work whole = {0};
    struct carm_dwarf_work part = {0};
    struct seen seen = {.s = s};
    run(&s->base, threads);
    fail_if(carm_stencil_count_some(s, UINT64_MAX, &whole, &err) ||
                carm_stencil_count_some(s, 0, &part, &err),
            "%s", err.text);
    assert_int_equal(whole.core_by, CARM_COUNTED_STEPPED);
    assert_near(whole.core_flops, s->base.work.operations, 0.0);
    assert_near(part.core_flops, whole.core_flops, 0.0);
    assert_near(part.core_bytes, whole.core_bytes, 0.0);
    assert_int_equal(check(&s->base), 0); /* counting leaves the grids as they were */
    if (threads == 1) {
        s->base.ops->trace(&s->base, see, &seen);
        /* beside the points: pointers and bounds, once for a call and a plane; with vectors also for
         * a line, whose last points take their coefficients from memory */
        const double calls = (double)sweeps * ((n + s->block - 1) / s->block);
        const double lines = isa == CARM_SCALAR ? 0.0 : (double)n * n * sweeps;
        const double beside = whole.core_bytes - seen.loads - seen.stores;
        assert_true(beside > 0.0 && beside < calls * (500.0 + 300.0 * n) + 200.0 * lines);
        assert_false(seen.outside);
        const double points = (double)n * n * n * sweeps;
        assert_near(seen.loads, 7 * 8 * points, 0.0);
        assert_near(seen.stores, 8 * points, 0.0);
        const double tail = n % s->kernel->lanes;
        assert_near(seen.streamed, s->streamed ? seen.stores * (n - tail) / n : 0.0, 1e-6);
    }
}

TEST(counts)
{
    static const uint32_t sizes[] = {2, 5, 12, 19};
    NEEDS_EXACT();
    for (int isa = CARM_SCALAR; isa < CARM_VECTOR_ISAS; isa++) {
        for (size_t i = 0; has((enum carm_isa)isa) && i < sizeof sizes / sizeof *sizes; i++) {
            count_one(sizes[i], (enum carm_isa)isa, 1, 1);
        }
    }
    count_one(7, CARM_SCALAR, 1, 3);
    if (teams[2]) {
        count_one(7, CARM_SCALAR, 2, 1);
        count_one(1, CARM_SCALAR, 2, 1);
        count_one(9, CARM_SSE, 2, 2);
    }
}

static double stepped_lines(struct carm_stencil *s, uint32_t lines)
{
    const struct carm_stencil_range r = {0, 1, 0, lines};
    begin(PLENTY);
    carm_stencil_sweep(s, s->grid[0], s->grid[1], &r);
    const struct carm_step_counts c = end(true);
    return (double)(c.load_bytes + c.store_bytes);
}

/* A line more is exactly what the trace says of it. */
TEST(trace_is_what_is_executed)
{
    NEEDS_EXACT();
    struct carm_stencil *s = open_case((struct carm_stencil_params){.n = 11}, CARM_SCALAR, 1);
    struct seen seen = {.s = s};
    s->base.ops->trace(&s->base, see, &seen);
    const double line = (seen.loads + seen.stores) / (11 * 11);
    assert_near(stepped_lines(s, 6) - stepped_lines(s, 1), 5 * line, 0.0);
}

/* As studies call it: what cannot be stepped is said, never zero without a word. */
TEST(counting_a_case)
{
    needs_stepping();
    struct carm_stencil_params p = {.n = 40, .optimised = true};
    struct carm_stencil *s = open_case(p, CARM_SSE, 1);
    struct carm_dwarf_work work;
    assert_ok(s->base.ops->count(&s->base, &work, &err));
    assert_near(work.core_flops, 8.0 * 64000, 0.0);
    assert_near(work.compulsory_bytes, s->base.work.compulsory_bytes, 0.0);
    assert_non_null(strstr(work.core_note, "4 lines of the very grid stepped"));
}

RUN_TESTS(open_teams, NULL)
