/* SPDX-License-Identifier: GPL-3.0-or-later */
/* LBMHD: conservation laws, decay of waves at the analytic rate, both versions against each other. */
#include "kernels/lbmhd/step.h"
#include "tests/harness/count/step/stepping.h"
#include "tests/kernels/machine.h"
#include "tests/unit.h"

static struct carm_dwarf_case *open_case(const struct carm_lbmhd_params *p)
{
    struct carm_dwarf_case *c = NULL;
    assert_ok(carm_lbmhd_open(&c, p, &err));
    return case_closed_later(c);
}

static void run_checked(struct carm_dwarf_case *c, struct carm_team *team, int runs)
{
    double error = -1.0;
    char by[96];
    for (int i = 0; i < runs; i++) {
        assert_ok(c->ops->run(c, team, &err));
    }
    fail_if(c->ops->check(c, team, &error, by, &err), "%s %s: %s", c->size, c->isa, err.text);
    assert_true(error >= 0.0 && error <= 1e-14);
}

static const size_t sizes[][3] = {{1, 1, 1},  {2, 3, 1},  {7, 1, 2},  {8, 4, 3},
                                  {13, 5, 3}, {64, 2, 2}, {67, 3, 2}, {130, 1, 3}};

enum { SIZES = sizeof sizes / sizeof *sizes };

static const double pi = 3.14159265358979323846;

/* ---- every size, version, ISA, thread count ---- */

static void compare_states(const struct carm_dwarf_case *a, const struct carm_dwarf_case *b,
                           const size_t n[3])
{
    size_t at[3];
    for (at[2] = 0; at[2] < n[2]; at[2]++) {
        for (at[1] = 0; at[1] < n[1]; at[1]++) {
            for (at[0] = 0; at[0] < n[0]; at[0]++) {
                struct carm_lbmhd_state s;
                struct carm_lbmhd_state t;
                carm_lbmhd_at(a, at, &s);
                carm_lbmhd_at(b, at, &t);
                assert_near(s.rho, t.rho, 1e-13);
                for (int k = 0; k < 3; k++) {
                    assert_near(s.u[k], t.u[k], 1e-13);
                    assert_near(s.b[k], t.b[k], 1e-13);
                }
            }
        }
    }
}

static void versions_agree(const struct carm_cpu *on, struct carm_team *one, struct carm_team *team)
{
    for (size_t i = 0; i < SIZES; i++) {
        struct carm_lbmhd_params p = {.steps = 3, .cpu = on, .team = one};
        memcpy(p.n, sizes[i], sizeof p.n);
        struct carm_dwarf_case *plain = open_case(&p);
        p.team = team;
        p.version = CARM_LBMHD_OPTIMISED;
        struct carm_dwarf_case *optimised = open_case(&p);
        run_checked(plain, one, 3);
        run_checked(optimised, team, 3);
        compare_states(plain, optimised, p.n);
        close_opened();
    }
}

static void every_isa(int threads)
{
    static const enum carm_isa isas[] = {CARM_SSE, CARM_AVX, CARM_AVX512};
    struct carm_team *one = team_of(1);
    struct carm_team *team = team_of(threads);
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
        if (!cpu.isa[isas[i]]) {
            print_message("this CPU has no %s\n", carm_isa_name(isas[i]));
            continue;
        }
        const struct carm_cpu on = up_to(isas[i]);
        assert_string_equal(carm_lbmhd_vector_of(&on)->isa, carm_isa_name(isas[i]));
        versions_agree(&on, one, team);
    }
}

TEST(versions_agree_on_one_thread)
{
    every_isa(1);
}

TEST(versions_agree_on_two_threads)
{
    every_isa(2);
}

/* ---- physics ---- */

static void uniform(void *context, const size_t at[3], struct carm_lbmhd_state *s)
{
    (void)at;
    *s = (struct carm_lbmhd_state){1.0, {0.03, -0.02, 0.01}, {0.02, 0.04, -0.05}};
}

TEST(a_uniform_state_stays)
{
    static const struct carm_lbmhd_state want = {1.0, {0.03, -0.02, 0.01}, {0.02, 0.04, -0.05}};
    struct carm_team *team = team_of(1);
    for (int version = 0; version < 2; version++) {
        const struct carm_lbmhd_params p = {.n = {9, 4, 3},
                                            .steps = 100,
                                            .version = (enum carm_lbmhd_version)version,
                                            .cpu = &cpu,
                                            .team = team,
                                            .initial = uniform};
        struct carm_dwarf_case *c = open_case(&p);
        run_checked(c, team, 1);
        struct carm_lbmhd_state s;
        carm_lbmhd_at(c, (const size_t[3]){8, 0, 2}, &s);
        assert_near(s.rho, want.rho, 1e-13);
        for (int a = 0; a < 3; a++) {
            assert_near(s.u[a], want.u[a], 1e-13);
            assert_near(s.b[a], want.b[a], 1e-13);
        }
        close_opened();
    }
}

enum { WAVE_N = 32 };

/* A wave along one axis whose flow (or field) points along another. */
struct wave {
    int along, across;
    double u, b, b0; /* amplitudes of flow and field; mean field along the wave */
};

static void wave_at(void *context, const size_t at[3], struct carm_lbmhd_state *s)
{
    const struct wave *w = context;
    const double phase = sin(2.0 * pi * (double)at[w->along] / WAVE_N);
    *s = (struct carm_lbmhd_state){.rho = 1.0};
    s->b[w->along] = w->b0;
    s->u[w->across] = w->u * phase;
    s->b[w->across] = w->b * phase;
}

/* First Fourier component across the wave: amplitudes and the phase of the flow. */
struct spectrum {
    double u, b, u_phase;
};

static struct spectrum spectrum_of(const struct carm_dwarf_case *c, const struct wave *w)
{
    double u[2] = {0.0, 0.0};
    double b[2] = {0.0, 0.0};
    for (size_t i = 0; i < WAVE_N; i++) {
        struct carm_lbmhd_state s;
        size_t at[3] = {0, 0, 0};
        at[w->along] = i;
        carm_lbmhd_at(c, at, &s);
        const double k = 2.0 * pi * (double)i / WAVE_N;
        u[0] += s.u[w->across] * cos(k);
        u[1] += s.u[w->across] * sin(k);
        b[0] += s.b[w->across] * cos(k);
        b[1] += s.b[w->across] * sin(k);
    }
    return (struct spectrum){hypot(u[0], u[1]) * 2.0 / WAVE_N, hypot(b[0], b[1]) * 2.0 / WAVE_N,
                             atan2(u[0], u[1])};
}

static struct spectrum after(const struct wave *w, int version, double tau, double tau_m, int steps)
{
    struct carm_team *team = team_of(1);
    struct carm_lbmhd_params p = {.n = {2, 2, 2},
                                  .steps = steps,
                                  .version = (enum carm_lbmhd_version)version,
                                  .cpu = &cpu,
                                  .team = team,
                                  .tau = tau,
                                  .tau_m = tau_m,
                                  .initial = wave_at,
                                  .context = (void *)(uintptr_t)w};
    p.n[w->along] = WAVE_N;
    struct carm_dwarf_case *c = open_case(&p);
    run_checked(c, team, 1);
    const struct spectrum s = spectrum_of(c, w);
    close_opened();
    return s;
}

/* A shear flow decays as exp(-nu k^2 t), a field across as exp(-eta k^2 t), whatever the axes. */
TEST(shear_decays_at_the_analytic_rate)
{
    static const double tau = 0.9;
    static const double tau_m = 0.65;
    static const int steps = 200;
    const double k2 = pow(2.0 * pi / WAVE_N, 2.0);
    const double nu = (tau - 0.5) / 3.0;
    const double eta = (tau_m - 0.5) / 3.0;
    for (int i = 0; i < 12; i++) {
        const struct wave w = {.along = i % 3,
                               .across = (i % 3 + 1 + i / 3 % 2) % 3,
                               .u = i < 6 ? 0.01 : 0.0,
                               .b = i < 6 ? 0.0 : 0.01};
        const struct spectrum s = after(&w, i % 2, tau, tau_m, steps);
        assert_near(s.u, w.u * exp(-nu * k2 * steps), 0.01 * w.u + 1e-12);
        assert_near(s.b, w.b * exp(-eta * k2 * steps), 0.01 * w.b + 1e-12);
    }
}

/* An Alfven wave u = -b travels along the mean field at its speed and decays as
 * exp(-(nu + eta) k^2 t / 2). source: any textbook; Dellar 2002, section 7 for the linear limit */
TEST(alfven_waves_travel_and_decay)
{
    static const double b0 = 0.05;
    static const int steps = 300;
    const double k = 2.0 * pi / WAVE_N;
    const double damping = exp(-0.1 * k * k * steps); /* tau 0.8: nu = eta = 0.1 */
    for (int i = 0; i < 6; i++) {
        const struct wave w = {
            .along = i % 3, .across = (i % 3 + 1 + i / 3) % 3, .u = 0.005, .b = -0.005, .b0 = b0};
        const struct spectrum s = after(&w, i % 2, 0.0, 0.0, steps);
        assert_near(s.u, 0.005 * damping, 0.03 * 0.005 * damping);
        assert_near(s.b, 0.005 * damping, 0.03 * 0.005 * damping);
        /* sin(k (x - v t)): the phase falls; 300 steps of 0.05 at k are 2.945 */
        assert_near(s.u_phase, -k * b0 * steps, 0.03 * k * b0 * steps);
    }
}

static double energy(const struct carm_dwarf_case *c, size_t n)
{
    double sum = 0.0;
    size_t at[3];
    for (at[2] = 0; at[2] < n; at[2]++) {
        for (at[1] = 0; at[1] < n; at[1]++) {
            for (at[0] = 0; at[0] < n; at[0]++) {
                struct carm_lbmhd_state s;
                carm_lbmhd_at(c, at, &s);
                for (int a = 0; a < 3; a++) {
                    sum += 0.5 * (s.rho * s.u[a] * s.u[a] + s.b[a] * s.b[a]);
                }
            }
        }
    }
    return sum;
}

/* Central differences: the scheme keeps B as free of divergence as it began (Dellar 2002). */
static double divergence(const struct carm_dwarf_case *c, size_t n)
{
    double worst = 0.0;
    for (size_t p = 0; p < n * n * n; p++) {
        double sum = 0.0;
        for (int a = 0; a < 3; a++) {
            struct carm_lbmhd_state s[2];
            for (size_t side = 0; side < 2; side++) {
                size_t at[3] = {p % n, p / n % n, p / n / n};
                at[a] = (at[a] + (side ? 1 : n - 1)) % n;
                carm_lbmhd_at(c, at, &s[side]);
            }
            sum += 0.5 * (s[1].b[a] - s[0].b[a]);
        }
        worst = fmax(worst, fabs(sum));
    }
    return worst;
}

TEST(the_vortex_loses_energy)
{
    enum { N = 16 };
    struct carm_team *team = team_of(1);
    const struct carm_lbmhd_params p = {
        .n = {N, N, N}, .steps = 10, .version = CARM_LBMHD_OPTIMISED, .cpu = &cpu, .team = team};
    struct carm_dwarf_case *c = open_case(&p);
    double before = energy(c, N);
    assert_true(divergence(c, N) < 1e-14);
    for (int i = 0; i < 10; i++) {
        run_checked(c, team, 1);
        const double now = energy(c, N);
        assert_true(now < before);
        before = now;
    }
    assert_true(divergence(c, N) < 1e-4); /* the field's gradients are about 1e-2 */
}

/* ---- faults ---- */

TEST(faults_are_found)
{
    struct carm_team *team = team_of(1);
    const struct carm_lbmhd_params p = {.n = {6, 4, 4}, .steps = 1, .cpu = &cpu, .team = team};
    struct carm_dwarf_case *c = open_case(&p);
    struct carm_lbmhd *inside = (struct carm_lbmhd *)c;
    double error = 0.0;
    char by[96];
    run_checked(c, team, 1);
    double *value = carm_lbmhd_arrays(&inside->lattice[inside->current]) + 2;
    const double right = *value;
    *value += 1e-9;
    assert_int_equal(c->ops->check(c, team, &error, by, &err), -CARM_EFORMAT);
    *value = NAN;
    assert_int_equal(c->ops->check(c, team, &error, by, &err), -CARM_EFORMAT);
    *value = right;
    inside->sums[4] += 1e-6;
    assert_refused(c->ops->check(c, team, &error, by, &err), -CARM_EFORMAT, "field along x");
}

TEST(bad_parameters_are_refused)
{
    struct carm_team *team = team_of(1);
    struct carm_dwarf_case *c = NULL;
    struct carm_lbmhd_params p = {.n = {4, 0, 4}, .steps = 1, .cpu = &cpu, .team = team};
    assert_int_equal(carm_lbmhd_open(&c, &p, &err), -CARM_EINVAL);
    p.n[1] = 4;
    p.steps = 0;
    assert_int_equal(carm_lbmhd_open(&c, &p, &err), -CARM_EINVAL);
    p.steps = 1;
    p.tau = 0.5;
    assert_int_equal(carm_lbmhd_open(&c, &p, &err), -CARM_EINVAL);
    p.tau = 0.0;
    p.n[0] = p.n[1] = p.n[2] = CARM_LBMHD_N_MAX;
    assert_refused(carm_lbmhd_open(&c, &p, &err), -CARM_ENOMEM, "choose a smaller size");
    assert_null(c);
}

/* ---- count ---- */

TEST(table_2)
{
    /* the source's 1300 flops, 73 doubles read, 79 written */
    assert_near(1300.0 / (8 * (73 + 79)), 1.07, 0.005);
    assert_near(1300.0 / (8 * (73 + 2 * 79)), 0.70, 0.005);
    assert_near(CARM_LBMHD_FLOPS / carm_lbmhd_point_bytes(true), 1.08, 0.005);
    assert_near(CARM_LBMHD_FLOPS / carm_lbmhd_point_bytes(false), 0.71, 0.005);
}

static struct carm_dwarf_work counted(struct carm_dwarf_case *c)
{
    struct carm_dwarf_work work = c->work;
    assert_ok(c->ops->count(c, &work, &err));
    assert_int_equal(work.core_by, CARM_COUNTED_STEPPED);
    return work;
}

TEST(flops_are_what_is_stepped)
{
    needs_stepping();
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
    close_opened();

    p.version = CARM_LBMHD_OPTIMISED;
    p.n[0] = 64;
    c = open_case(&p);
    work = counted(c);
    /* the even and odd parts of opposite velocities are computed once */
    assert_true(work.core_flops > 0.4 * work.operations && work.core_flops < work.operations);
    assert_true(work.compulsory_bytes == 8.0 * (72 + 79) * 64 * 5 * 4 * 2);
    run_checked(c, team, 1);
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

TEST(traces_cover_everything_once)
{
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
            close_opened();
        }
    }
}

struct totals {
    double loads, stores, nt_bytes;
};

static void add_access(void *context, uint64_t address, unsigned bytes, bool store, bool nt)
{
    struct totals *t = context;
    *(store ? &t->stores : &t->loads) += bytes;
    t->nt_bytes += nt ? bytes : 0;
}

/* Stores past the caches are those of the arrays and no others: they must agree exactly. Of plain loads
 * and stores the compiler adds some (stack, tables), never leaves one out. */
TEST(traces_are_what_is_stepped)
{
    needs_stepping();
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
        print_message("%s: loads %.0f stepped, %.0f traced; stores %.0f, %.0f\n", c->version,
                      (double)got.load_bytes, t.loads, (double)got.store_bytes, t.stores);
        close_opened();
    }
}

RUN_TESTS(open_machine, NULL)
