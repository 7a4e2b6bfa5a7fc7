/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The 3-D FFT: against sums over all points, FFTW's own inverse and known transforms; operations and
 * bytes as the Roofline paper prints them. */
#include <float.h>

#include "kernels/fft/transform.h"
#include "tests/harness/count/step/stepping.h"
#include "tests/kernels/machine.h"
#include "tests/unit.h"

static const double pi = 3.14159265358979323846;

static void needs_fftw(void)
{
    struct carm_fftw fftw;
    skip_if(carm_fftw_open(&fftw, &err), "%s", err.text);
    carm_fftw_close(&fftw);
}

static struct carm_dwarf_case *open_case(size_t n, int version, struct carm_team *team)
{
    const struct carm_fft_params p = {
        .n = n, .version = (enum carm_fft_version)version, .team = team, .planning_seconds = 0.1};
    struct carm_dwarf_case *c = NULL;
    assert_ok(carm_fft_open(&c, &p, &err));
    return case_closed_later(c);
}

/* The optimised version's other way, too, whichever was faster. */
static void replan(struct carm_dwarf_case *c, enum carm_fft_way way, struct carm_team *team)
{
    struct carm_fft *f = (struct carm_fft *)c;
    assert_ok(carm_fft_plan(&f->fftw, &f->cube, way, f->threads, 0.1, &err));
    carm_fft_fill(f, team);
}

static void run_checked(struct carm_dwarf_case *c, struct carm_team *team)
{
    double error = -1.0;
    char by[96];
    assert_ok(c->ops->run(c, team, &err));
    fail_if(c->ops->check(c, team, &error, by, &err), "%s", err.text);
    assert_true(error >= 0.0 && error < 1e-14);
    assert_ok(c->ops->run(c, team, &err));
}

static void all_sizes(int threads)
{
    static const size_t sizes[] = {1, 2, 3, 4, 5, 7, 8, 12, 16, 17, 30, 32, 64};
    needs_fftw();
    struct carm_team *team = team_of(threads);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct carm_dwarf_case *c = open_case(sizes[i], CARM_FFT_PLAIN, team);
        run_checked(c, team);
        close_opened();
        c = open_case(sizes[i], CARM_FFT_OPTIMISED, team);
        run_checked(c, team);
        replan(c, CARM_FFT_PLANES, team);
        run_checked(c, team);
        replan(c, CARM_FFT_WHOLE, team);
        run_checked(c, team);
        close_opened();
    }
}

TEST(right_on_one_thread)
{
    all_sizes(1);
}

TEST(right_on_two_threads)
{
    all_sizes(2);
}

static void fill_random(const struct carm_fft_cube *cube, carm_fftw_complex *copy)
{
    uint64_t state = 1;
    for (size_t p = 0; p < cube->n * cube->n * cube->n; p++) {
        double *at = carm_fft_at(cube, p / cube->n / cube->n, p / cube->n % cube->n)[p % cube->n];
        for (int k = 0; k < 2; k++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            at[k] = copy[p][k] = (double)(state >> 11) * 0x1p-52 - 1.0;
        }
    }
}

/* One coefficient by the definition. */
static void coefficient(const carm_fftw_complex *x, size_t n, const size_t k[3], double out[2])
{
    out[0] = 0.0;
    out[1] = 0.0;
    for (size_t p = 0; p < n * n * n; p++) {
        const size_t turns = k[0] * (p / n / n) + k[1] * (p / n % n) + k[2] * (p % n);
        const double angle = -2.0 * pi * (double)(turns % n) / (double)n;
        out[0] += x[p][0] * cos(angle) - x[p][1] * sin(angle);
        out[1] += x[p][0] * sin(angle) + x[p][1] * cos(angle);
    }
}

/* FFTW's inverse of all, in the cube's own layout. */
static void invert(struct carm_fft *f)
{
    const int n = (int)f->cube.n;
    const int size[3] = {n, n, n};
    const int room[3] = {n, (int)(f->cube.plane / f->cube.row), (int)f->cube.row};
    carm_fftw_complex *data = carm_fft_at(&f->cube, 0, 0);
    void *plan = f->fftw.plan_many(3, size, 1, data, room, 1, 0, data, room, 1, 0,
                                   CARM_FFTW_BACKWARD, CARM_FFTW_ESTIMATE);
    assert_non_null(plan);
    f->fftw.execute(plan, data, data);
    f->fftw.destroy(plan);
}

TEST(random_data)
{
    enum { N = 6, ALL = N * N * N };
    static carm_fftw_complex copy[ALL];
    static carm_fftw_complex want[ALL];
    needs_fftw();
    struct carm_team *team = team_of(1);
    for (int version = 0; version < 2; version++) {
        struct carm_dwarf_case *c = open_case(N, version, team);
        struct carm_fft *f = (struct carm_fft *)c;
        fill_random(&f->cube, copy);
        assert_ok(c->ops->run(c, team, &err));
        for (size_t p = 0; p < ALL; p++) {
            const size_t k[3] = {p / N / N, p / N % N, p % N};
            coefficient(copy, N, k, want[p]);
            const double *got = carm_fft_at(&f->cube, k[0], k[1])[k[2]];
            assert_near(got[0], want[p][0], 1e-13);
            assert_near(got[1], want[p][1], 1e-13);
        }
        invert(f);
        for (size_t p = 0; p < ALL; p++) {
            const double *got = carm_fft_at(&f->cube, p / N / N, p / N % N)[p % N];
            assert_near(got[0] / ALL, copy[p][0], 4 * DBL_EPSILON);
            assert_near(got[1] / ALL, copy[p][1], 4 * DBL_EPSILON);
        }
        close_opened();
    }
}

/* Every run multiplies the data: they must never overflow. */
TEST(many_runs_stay_finite)
{
    needs_fftw();
    struct carm_team *team = team_of(1);
    struct carm_dwarf_case *c = open_case(16, CARM_FFT_PLAIN, team);
    const struct carm_fft *f = (const struct carm_fft *)c;
    for (int i = 0; i < 1000; i++) {
        assert_ok(c->ops->run(c, team, &err));
        assert_true(isfinite(carm_fft_at(&f->cube, 3, 1)[5][0]));
    }
    assert_true(f->runs < 1000);
    run_checked(c, team);
}

/* A library that leaves a plane out, or is less exact. */
static void (*real_execute)(const void *, carm_fftw_complex *, carm_fftw_complex *);
static int calls_left;

static void lazy_execute(const void *plan, carm_fftw_complex *in, carm_fftw_complex *out)
{
    if (calls_left-- != 0) {
        real_execute(plan, in, out);
    }
}

static void coarse_execute(const void *plan, carm_fftw_complex *in, carm_fftw_complex *out)
{
    real_execute(plan, in, out);
    if (calls_left-- == 0) {
        out[1][0] += 1e-9;
    }
}

TEST(faults_are_found)
{
    needs_fftw();
    struct carm_team *team = team_of(1);
    struct carm_dwarf_case *c = open_case(8, CARM_FFT_PLAIN, team);
    struct carm_fft *f = (struct carm_fft *)c;
    double error = 0.0;
    char by[96];
    real_execute = f->fftw.execute;
    for (int left = 0; left < 24; left += 5) { /* of the 3 x 8 calls of the first transform */
        f->fftw.execute = lazy_execute;
        calls_left = left;
        assert_int_equal(c->ops->check(c, team, &error, by, &err), -CARM_EFORMAT);
        f->fftw.execute = coarse_execute;
        calls_left = left;
        assert_int_equal(c->ops->check(c, team, &error, by, &err), -CARM_EFORMAT);
    }
    f->fftw.execute = real_execute;
    run_checked(c, team);
}

TEST(bad_parameters_are_refused)
{
    struct carm_team *team = team_of(1);
    struct carm_dwarf_case *c = NULL;
    struct carm_fft_params p = {.n = 0, .team = team};
    assert_int_equal(carm_fft_open(&c, &p, &err), -CARM_EINVAL);
    p.n = CARM_FFT_N_MAX + 1;
    assert_int_equal(carm_fft_open(&c, &p, &err), -CARM_EINVAL);
    if (16.0 * 0x1p30 > 0.8 * (double)carm_memory_available()) {
        p.n = CARM_FFT_N_MAX;
        assert_int_equal(carm_fft_open(&c, &p, &err), -CARM_ENOMEM);
    }
    assert_null(c);
}

static double intensity(size_t n, int passes)
{
    return carm_fft_operations(n) / carm_fft_bytes(n, passes);
}

TEST(intensities_of_the_paper)
{
    assert_near(intensity(128, 3), 1.09, 0.005);
    assert_near(intensity(512, 3), 1.41, 0.005);
    assert_near(intensity(128, 2), 1.64, 0.005);
    /* a plane of 128 x 128 takes 256 KiB */
    assert_int_equal(carm_fft_passes(CARM_FFT_OPTIMISED, 128, 262144.0), 2);
    assert_int_equal(carm_fft_passes(CARM_FFT_OPTIMISED, 128, 262143.0), 3);
    assert_int_equal(carm_fft_passes(CARM_FFT_OPTIMISED, 128, 0.0), 3);
    assert_int_equal(carm_fft_passes(CARM_FFT_PLAIN, 128, 262144.0), 3);
    assert_true(carm_fft_operations(128) == 5.0 * 2097152 * 21);
}

/* All passes of a cube. */
static double whole_flops(const struct carm_dwarf_case *c)
{
    const struct carm_fft *f = (const struct carm_fft *)c;
    begin(PLENTY);
    carm_fft_in_planes(&f->fftw, &f->cube, 0, 1);
    carm_fft_across(&f->fftw, &f->cube, 0, 1);
    const struct carm_step_counts got = end(true);
    return (double)flops(&got, CARM_DP);
}

TEST(counts_are_stepped)
{
    needs_stepping();
    needs_fftw();
    struct carm_team *team = team_of(1);
    for (int version = 0; version < 2; version++) {
        struct carm_dwarf_case *c = open_case(16, version, team);
        struct carm_dwarf_work work = c->work;
        assert_string_equal(work.metric, "flop");
        assert_true(work.operations == 5.0 * 4096 * 12);
        assert_null(c->ops->trace);
        assert_ok(c->ops->count(c, &work, &err));
        assert_int_equal(work.core_by, CARM_COUNTED_STEPPED);
        /* the lines stand for the cube; its own plan may be another */
        assert_near(work.core_flops / whole_flops(c), 1.0, 0.1);
        /* larger radices need fewer than 5 N log2 N, and never less than half of it */
        assert_true(work.core_flops > 0.5 * work.operations);
        assert_true(work.core_flops < 1.1 * work.operations);
        assert_true(work.core_bytes >= 3 * 32.0 * 4096);
        run_checked(c, team);
        close_opened();
    }
}

RUN_TESTS(open_machine, NULL)
