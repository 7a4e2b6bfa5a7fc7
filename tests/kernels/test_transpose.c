/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The transpose: exact for every size, ISA and number of threads; what it executes and accesses. */
#include "kernels/transpose/exchange.h"
#include "tests/harness/count/step/stepping.h"
#include "tests/kernels/machine.h"
#include "tests/unit.h"

static struct carm_dwarf_case *open_case(size_t n, int version, const struct carm_cpu *on,
                                         struct carm_team *team)
{
    const struct carm_transpose_params p = {n, (enum carm_transpose_version)version, on, team};
    struct carm_dwarf_case *c = NULL;
    assert_ok(carm_transpose_open(&c, &p, &err));
    return case_closed_later(c);
}

static const size_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 19, 32, 37, 64};
enum { SIZES = sizeof sizes / sizeof *sizes };

static void checked(struct carm_dwarf_case *c, struct carm_team *team)
{
    double error = -1.0;
    char by[96];
    /* before the first run nothing is in its place */
    assert_int_equal(c->ops->check(c, team, &error, by, &err), -CARM_EFORMAT);
    assert_ok(c->ops->run(c, team, &err));
    fail_if(c->ops->check(c, team, &error, by, &err), "%s %s: %s", c->version, c->isa, err.text);
    assert_true(error == 0.0);
}

static void all_sizes(const struct carm_cpu *on, int threads)
{
    struct carm_team *team = team_of(threads);
    for (int version = 0; version < 2; version++) {
        for (size_t i = 0; i < SIZES; i++) {
            struct carm_dwarf_case *c = open_case(sizes[i], version, on, team);
            checked(c, team);
            close_opened();
        }
    }
}

static void every_isa(int threads)
{
    static const enum carm_isa isas[] = {CARM_SSE, CARM_AVX, CARM_AVX512};
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
        if (!cpu.isa[isas[i]]) {
            print_message("this CPU has no %s\n", carm_isa_name(isas[i]));
            continue;
        }
        const struct carm_cpu on = up_to(isas[i]);
        assert_string_equal(carm_transpose_vector_of(&on)->isa, carm_isa_name(isas[i]));
        all_sizes(&on, threads);
    }
}

TEST(exact_on_one_thread)
{
    every_isa(1);
}

TEST(exact_on_two_threads)
{
    every_isa(2);
}

TEST(faults_are_found)
{
    struct carm_team *team = team_of(1);
    struct carm_dwarf_case *c = open_case(9, CARM_TRANSPOSE_OPTIMISED, &cpu, team);
    struct carm_transpose *t = (struct carm_transpose *)c;
    double error = -1.0;
    char by[96];
    checked(c, team);
    carm_transpose_out(t, 8, 8)[8].im += 1.0;
    assert_int_equal(c->ops->check(c, team, &error, by, &err), -CARM_EFORMAT);
    assert_true(error == 1.0);
    assert_non_null(strstr(err.text, "1 points"));
}

TEST(bad_parameters_are_refused)
{
    struct carm_team *team = team_of(1);
    struct carm_dwarf_case *c = NULL;
    struct carm_transpose_params p = {0, CARM_TRANSPOSE_PLAIN, &cpu, team};
    assert_int_equal(carm_transpose_open(&c, &p, &err), -CARM_EINVAL);
    p.n = CARM_TRANSPOSE_N_MAX + 1;
    assert_int_equal(carm_transpose_open(&c, &p, &err), -CARM_EINVAL);
    if (2.0 * 16.0 * 0x1p33 > (double)carm_memory_available()) {
        p.n = CARM_TRANSPOSE_N_MAX;
        assert_int_equal(carm_transpose_open(&c, &p, &err), -CARM_ENOMEM);
    }
    assert_null(c);
}

TEST(the_metric_is_the_exchange)
{
    struct carm_team *team = team_of(1);
    struct carm_dwarf_case *plain = open_case(8, CARM_TRANSPOSE_PLAIN, &cpu, team);
    struct carm_dwarf_case *optimised = open_case(8, CARM_TRANSPOSE_OPTIMISED, &cpu, team);
    assert_string_equal(plain->work.metric, "exchange");
    assert_true(plain->work.operations == 512.0);
    assert_true(plain->work.operations / plain->work.compulsory_bytes == 1.0 / 48);
    assert_true(optimised->work.operations / optimised->work.compulsory_bytes == 1.0 / 32);
}

struct totals {
    uint64_t loads, stores, nt_stores; /* accesses */
    uint64_t load_bytes, store_bytes;
    double sum_in, sum_out; /* of addresses, so that each place is met once */
};

static void add_access(void *context, uint64_t address, unsigned bytes, bool is_store, bool nt)
{
    struct totals *t = context;
    for (unsigned b = 0; b < bytes; b += 16) {
        *(is_store ? &t->sum_out : &t->sum_in) += (double)((address + b) % (1u << 24));
    }
    if (is_store) {
        t->stores++;
        t->nt_stores += nt;
        t->store_bytes += bytes;
    } else {
        assert_false(nt);
        t->loads++;
        t->load_bytes += bytes;
    }
}

/* Sums of the addresses of all points of a cube. */
static double address_sum(const struct carm_transpose *t, const struct carm_buffer *b)
{
    double sum = 0.0;
    for (size_t r = 0; r < t->n * t->n; r++) {
        for (size_t x = 0; x < t->pitch && x < t->n; x++) {
            const uint64_t at = (uint64_t)(uintptr_t)b->start + 16 * (r * t->pitch + x);
            sum += (double)(at % (1u << 24));
        }
    }
    return sum;
}

__attribute__((noinline)) static struct carm_step_counts step_planes(const struct carm_transpose *t,
                                                                     size_t rows)
{
    void (*const step)(const struct carm_transpose_part *) =
        t->vector ? t->vector->rows : carm_transpose_plain_rows;
    struct carm_transpose_part part = {.t = t, .last = rows};
    begin(PLENTY);
    for (part.z = 0; part.z < t->n; part.z++) {
        step(&part);
    }
    return end(true);
}

TEST(traces_cover_everything)
{
    struct carm_team *team = team_of(1);
    for (int version = 0; version < 2; version++) {
        for (size_t i = 0; i < SIZES; i++) {
            struct carm_dwarf_case *c = open_case(sizes[i], version, &cpu, team);
            const struct carm_transpose *t = (const struct carm_transpose *)c;
            struct totals sum = {0};
            c->ops->trace(c, add_access, &sum);
            assert_true((double)sum.load_bytes == 16.0 * c->work.operations);
            assert_true((double)sum.store_bytes == 16.0 * c->work.operations);
            assert_true(sum.sum_in == address_sum(t, &t->in));
            assert_true(sum.sum_out == address_sum(t, &t->out));
            assert_int_equal(sum.nt_stores, version ? sum.stores : 0);
            close_opened();
        }
    }
}

/* An empty range shows what the calls themselves load and store; the plain version's loop has nothing
 * but the moves, in registers, if only the compiler optimises. */
TEST(plain_traces_are_what_is_stepped)
{
    needs_stepping();
    struct carm_team *team = team_of(1);
    for (size_t i = 0; i < 8; i++) {
        struct carm_dwarf_case *c = open_case(sizes[i], CARM_TRANSPOSE_PLAIN, &cpu, team);
        const struct carm_transpose *t = (const struct carm_transpose *)c;
        struct totals sum = {0};
        c->ops->trace(c, add_access, &sum);
        const struct carm_step_counts got = step_planes(t, t->n);
        assert_true(got.load_bytes >= sum.load_bytes);
        assert_true(got.store_bytes >= sum.store_bytes);
#if defined __OPTIMIZE__ && !defined __SANITIZE_ADDRESS__ && !defined __clang__
        const struct carm_step_counts none = step_planes(t, 0);
        assert_int_equal(got.load_bytes - none.load_bytes, sum.load_bytes);
        assert_int_equal(got.store_bytes - none.store_bytes, sum.store_bytes);
        assert_int_equal(got.loads - none.loads, sum.loads);
        assert_int_equal(got.stores - none.stores, sum.stores);
#endif
        close_opened();
    }
}

TEST(vector_traces_are_what_is_stepped)
{
    needs_stepping();
    struct carm_team *team = team_of(1);
    for (size_t i = 0; i < 12; i++) {
        struct carm_dwarf_case *c = open_case(sizes[i], CARM_TRANSPOSE_OPTIMISED, &cpu, team);
        const struct carm_transpose *t = (const struct carm_transpose *)c;
        struct totals sum = {0};
        c->ops->trace(c, add_access, &sum);
        const struct carm_step_counts got = step_planes(t, t->n);
        assert_true(got.nt_stores == sum.nt_stores);
        assert_true(got.load_bytes >= sum.load_bytes);
        close_opened();
    }
}

static void counts_on(const struct carm_cpu *on, struct carm_team *team)
{
    for (int version = 0; version < 2; version++) {
        struct carm_dwarf_case *c = open_case(40, version, on, team);
        struct carm_dwarf_work work = c->work;
        assert_ok(c->ops->count(c, &work, &err));
        assert_int_equal(work.core_by, CARM_COUNTED_STEPPED);
        assert_true(work.core_flops == 0.0);
        assert_true(work.core_bytes >= 32.0 * work.operations);
#if defined __OPTIMIZE__ && !defined __SANITIZE_ADDRESS__ && !defined __clang__
        assert_true(work.core_bytes < 1.1 * 32.0 * work.operations);
#endif
        checked(c, team);
        close_opened();
    }
}

TEST(counts_have_no_flops)
{
    needs_stepping();
    struct carm_team *team = team_of(1);
    for (int isa = CARM_SSE; isa < CARM_VECTOR_ISAS; isa++) {
        const struct carm_cpu on = up_to((enum carm_isa)isa);
        counts_on(&on, team);
    }
}

RUN_TESTS(open_machine, NULL)
