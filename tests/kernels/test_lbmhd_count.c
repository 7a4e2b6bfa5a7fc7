/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LBMHD: what it executes and which memory it accesses, against stepping. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "kernels/lbmhd/step.h"
#include "tests/harness/count/step/stepping.h"
#include "tests/kernels/lbmhd_fixture.h"
#include "tests/models/near.h"

static void table_2(void **state)
{
    (void)state;
    /* the source's 1300 flops, 73 doubles read, 79 written */
    assert_near(1300.0 / (8 * (73 + 79)), 1.07, 0.005);
    assert_near(1300.0 / (8 * (73 + 2 * 79)), 0.70, 0.005);
    assert_near(CARM_LBMHD_FLOPS / carm_lbmhd_point_bytes(true), 1.08, 0.005);
    assert_near(CARM_LBMHD_FLOPS / carm_lbmhd_point_bytes(false), 0.71, 0.005);
}

static struct carm_dwarf_work counted(struct carm_dwarf_case *c)
{
    struct carm_dwarf_work work = c->work;
    assert_int_equal(c->ops->count(c, &work, &err), 0);
    assert_int_equal(work.core_by, CARM_COUNTED_STEPPED);
    return work;
}

static void flops_are_what_is_stepped(void **state)
{
    NEEDS_STEPPING();
    struct carm_team *team = team_of(1);
    struct carm_lbmhd_params p = {.n = {11, 5, 4}, .steps = 2, .cpu = &cpu, .team = team};
    struct carm_dwarf_case *c = open_case(&p);
    const double points = 11 * 5 * 4 * 2;
    struct carm_dwarf_work work = counted(c);
    assert_true(work.operations == CARM_LBMHD_FLOPS * points);
    assert_true(work.core_flops == work.operations);
    assert_true(work.compulsory_bytes == 8.0 * (72 + 79 + 79) * points);
    assert_true(work.core_bytes >= 8.0 * (72 + 79) * points);
    run_checked(c, team, 1); /* counting has left the state alone */
    work = counted(c);
    run_checked(c, team, 0);
    c->ops->close(c);

    p.version = CARM_LBMHD_OPTIMISED;
    p.n[0] = 64;
    c = open_case(&p);
    work = counted(c);
    /* the even and odd parts of opposite velocities are computed once */
    assert_true(work.core_flops > 0.4 * work.operations && work.core_flops < work.operations);
    assert_true(work.compulsory_bytes == 8.0 * (72 + 79) * 64 * 5 * 4 * 2);
    run_checked(c, team, 1);
    c->ops->close(c);
    carm_team_close(team);
}

/* How often each double of an array was read and written. */
struct cover {
    const struct carm_buffer *from, *to, *fields, *scratch;
    unsigned char *read, *written, *field;
    double load_bytes, store_bytes, nt_bytes;
};

static bool inside_of(const struct carm_buffer *b, uint64_t address, unsigned bytes, size_t *index)
{
    const uint64_t start = (uint64_t)(uintptr_t)b->start;
    *index = (size_t)((address - start) / 8);
    return address >= start && address + bytes <= start + b->bytes && address % 8 == 0;
}

static void cover_access(void *context, uint64_t address, unsigned bytes, bool store, bool nt)
{
    struct cover *v = context;
    size_t index = 0;
    if (inside_of(v->scratch, address, bytes, &index)) {
        assert_false(nt);
        return;
    }
    *(store ? &v->store_bytes : &v->load_bytes) += bytes;
    v->nt_bytes += nt ? bytes : 0;
    if (inside_of(v->fields, address, bytes, &index)) {
        assert_true(store);
        memset(v->field + index, v->field[index] + 1, bytes / 8);
        return;
    }
    assert_true(inside_of(store ? v->to : v->from, address, bytes, &index));
    for (size_t i = index; i < index + bytes / 8; i++) {
        (store ? v->written : v->read)[i]++;
    }
}

static struct cover cover_of(const struct carm_dwarf_case *c)
{
    const struct carm_lbmhd *l = (const struct carm_lbmhd *)c;
    struct cover v = {.from = &l->lattice[l->current],
                      .to = &l->lattice[1 - l->current],
                      .fields = &l->fields,
                      .scratch = &l->scratch,
                      .read = calloc(l->lattice[0].bytes / 8, 1),
                      .written = calloc(l->lattice[0].bytes / 8, 1),
                      .field = calloc(l->fields.bytes / 8, 1)};
    assert_true(v.read && v.written && v.field);
    c->ops->trace(c, cover_access, &v);
    return v;
}

static void cover_free(struct cover *v)
{
    free(v->read);
    free(v->written);
    free(v->field);
}

/* Every double of the state is read, every one of the next state written once. */
static void check_cover(const struct cover *v, const struct carm_lbmhd *l, bool exact)
{
    const size_t lead = CARM_LBMHD_LINE;
    for (size_t array = 0; array < CARM_LBMHD_ROWS; array++) {
        for (size_t r = 0; r < l->n[1] * l->n[2]; r++) {
            for (size_t x = 0; x < l->n[0]; x++) {
                const size_t i = lead + array % CARM_LBMHD_ARRAYS * l->stride + r * l->pitch + x;
                if (array < CARM_LBMHD_ARRAYS) {
                    assert_true(v->written[i] == 1);
                    assert_true(exact ? v->read[i] == 1 : v->read[i] >= 1);
                } else {
                    assert_true(v->field[i] == 1);
                }
            }
        }
    }
}

static void traces_cover_everything_once(void **state)
{
    (void)state;
    struct carm_team *team = team_of(1);
    for (int version = 0; version < 2; version++) {
        for (size_t i = 0; i < SIZES; i++) {
            struct carm_lbmhd_params p = {
                .steps = 1, .version = (enum carm_lbmhd_version)version, .cpu = &cpu, .team = team};
            memcpy(p.n, sizes[i], sizeof p.n);
            const double points = (double)(p.n[0] * p.n[1] * p.n[2]);
            struct carm_dwarf_case *c = open_case(&p);
            struct cover v = cover_of(c);
            check_cover(&v, (const struct carm_lbmhd *)c, version == CARM_LBMHD_PLAIN);
            assert_true(v.store_bytes == 8.0 * 79 * points);
            if (version == CARM_LBMHD_PLAIN) {
                assert_true(v.load_bytes == 8.0 * 72 * points && v.nt_bytes == 0.0);
            } else if (p.n[0] % 8 == 0) {
                assert_true(v.nt_bytes == v.store_bytes);
            }
            cover_free(&v);
            c->ops->close(c);
        }
    }
    carm_team_close(team);
}

struct totals {
    double loads, stores, nt_bytes;
};

static void add_access(void *context, uint64_t address, unsigned bytes, bool store, bool nt)
{
    struct totals *t = context;
    (void)address;
    *(store ? &t->stores : &t->loads) += bytes;
    t->nt_bytes += nt ? bytes : 0;
}

/* Stores past the caches are those of the arrays and no others: they must agree exactly. Of plain loads
 * and stores the compiler adds some (stack, tables), never leaves one out. */
static void traces_are_what_is_stepped(void **state)
{
    NEEDS_STEPPING();
    struct carm_team *team = team_of(1);
    for (int version = 0; version < 2; version++) {
        const struct carm_lbmhd_params p = {.n = {19, 1, 1},
                                            .steps = 1,
                                            .version = (enum carm_lbmhd_version)version,
                                            .cpu = &cpu,
                                            .team = team};
        struct carm_dwarf_case *c = open_case(&p);
        struct carm_lbmhd *l = (struct carm_lbmhd *)c;
        struct totals t = {0};
        struct carm_lbmhd_row row = {.c = l,
                                     .from = carm_lbmhd_arrays(&l->lattice[0]),
                                     .to = carm_lbmhd_arrays(&l->lattice[1]),
                                     .fields = carm_lbmhd_arrays(&l->fields),
                                     .scratch = carm_lbmhd_scratch(l, 0),
                                     .last = 19};
        void (*const step)(const struct carm_lbmhd_row *) =
            l->vector ? l->vector->row : carm_lbmhd_plain_row;
        c->ops->trace(c, add_access, &t);
        begin(PLENTY);
        step(&row);
        const struct carm_step_counts got = end(true);
        const double width = l->vector ? l->vector->lanes * 8.0 : 0.0;
        assert_true((double)got.nt_stores * width == t.nt_bytes);
        assert_true((double)got.load_bytes >= t.loads);
        assert_true((double)got.store_bytes >= t.stores);
        print_message("%s: loads %.0f stepped, %.0f traced; stores %.0f, %.0f\n", c->ops->version,
                      (double)got.load_bytes, t.loads, (double)got.store_bytes, t.stores);
        c->ops->close(c);
    }
    carm_team_close(team);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_2),
        cmocka_unit_test(flops_are_what_is_stepped),
        cmocka_unit_test(traces_cover_everything_once),
        cmocka_unit_test(traces_are_what_is_stepped),
    };
    return cmocka_run_group_tests(tests, open_machine, close_machine);
}
