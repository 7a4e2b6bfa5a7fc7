/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sparse matrix-vector product: every shape of block and ISA against a dense product, counts
 * against stepping, the trace against the counts, refusals. */
#include <float.h>
#include <unistd.h>

#include "kernels/spmv/product.h"
#include "tests/harness/count/step/stepping.h"
#include "tests/folder.h"
#include "tests/kernels/irregular.h"
#include "tests/kernels/teams.h"

static struct carm_spmv *open_case(struct carm_spmv_params p, enum carm_isa isa, int threads)
{
    struct carm_dwarf_case *c = NULL;
    const struct carm_cpu limited = up_to(isa);
    p.cpu = &limited;
    p.team = teams[threads];
    assert_ok(carm_spmv_open(&c, &p, &err));
    return (struct carm_spmv *)case_closed_later(c);
}

/* y by all of A as a dense matrix, in long double. */
static void assert_product(const struct carm_spmv *s, const struct carm_csr *a)
{
    double *dense = calloc((size_t)a->rows * a->columns, sizeof *dense);
    assert_non_null(dense);
    for (uint32_t i = 0; i < a->rows; i++) {
        for (uint32_t k = a->start[i]; k < a->start[i + 1]; k++) {
            dense[(size_t)i * a->columns + a->column[k]] = a->value[k];
        }
    }
    for (uint32_t i = 0; i < a->rows; i++) {
        long double sum = 0.0L;
        double magnitude = 0.0;
        for (uint32_t j = 0; j < a->columns; j++) {
            sum += (long double)dense[(size_t)i * a->columns + j] * s->x[j];
            magnitude += fabs(dense[(size_t)i * a->columns + j] * s->x[j]);
        }
        fail_if(!(fabs(s->y[i] - (double)sum) <= 64 * DBL_EPSILON * magnitude),
                "%s, %s: row %u is %.17g, not %.17g", s->base.size, s->base.isa, i, s->y[i],
                (double)sum);
    }
    free(dense);
}

static void one_product(struct carm_spmv_params p, const struct carm_csr *a, enum carm_isa isa,
                        int threads)
{
    threads = teams[threads] ? threads : 1;
    struct carm_spmv *s = open_case(p, isa, threads);
    run(&s->base, threads);
    assert_product(s, a);
    fail_if(check(&s->base), "%s", err.text);
    assert_string_equal(s->base.isa, carm_isa_name(p.optimised ? isa : CARM_SCALAR));
}

static void each_shape(struct carm_spmv_params p, const struct carm_csr *a)
{
    one_product(p, a, CARM_SSE, 1);
    one_product(p, a, CARM_SSE, 2);
    p.optimised = true;
    for (unsigned r = 0; r <= CARM_BLOCK_ROWS_MAX; r++) {
        for (unsigned c = 0; c <= CARM_BLOCK_COLUMNS_MAX; c++) {
            if ((r == 0) != (c == 0) || (r > 0 && !carm_bcsr_shape(r, c))) {
                continue;
            }
            p.block_rows = r; /* 0 x 0: chosen */
            p.block_columns = c;
            p.prefetch_bytes = (r + c) % 2 ? 512 : 0;
            for (int isa = CARM_SSE; isa < CARM_VECTOR_ISAS; isa++) {
                if (has((enum carm_isa)isa)) {
                    one_product(p, a, (enum carm_isa)isa, 1 + ((int)(r + c) + isa) % 2);
                }
            }
        }
    }
}

TEST(products)
{
    static const uint32_t rows[] = {1, 7, 64, 67};
    const struct carm_spmv_params fem = {.matrix = {.rows = 65, .block = 3, .per_row = 4}};
    struct carm_csr a;
    assert_ok(carm_matrix_generate(&fem.matrix, &a, &err));
    each_shape(fem, &a);
    carm_csr_close(&a);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        write_irregular(path_of("m.mtx"), rows[i]);
        make_irregular(&a, rows[i]);
        each_shape((struct carm_spmv_params){.file = path_of("m.mtx")}, &a);
        carm_csr_close(&a);
    }
}

/* From a file: rectangular, with empty rows, and columns too far apart for 2 bytes. */
TEST(product_of_file)
{
    const char *path = path_of("wide.mtx");
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    (void)fprintf(f, "%%%%MatrixMarket matrix coordinate real general\n11 300001 6\n"
                     "2 1 1.5\n2 300001 -2\n9 4 3\n9 5 4\n9 299999 5\n11 2 6\n");
    assert_int_equal(fclose(f), 0);
    const double x[] = {1.5, -2, 3, 4, 5, 6};
    for (int isa = CARM_SSE; isa < CARM_VECTOR_ISAS; isa++) {
        for (unsigned c = 1; c <= 4 && has((enum carm_isa)isa); c++) {
            struct carm_spmv *s = open_case(
                (struct carm_spmv_params){
                    .file = path, .optimised = true, .block_rows = c, .block_columns = c},
                (enum carm_isa)isa, 1);
            assert_null(s->blocks.index16);
            assert_string_equal(s->base.size + strlen(s->base.size) - 6, "32-bit");
            run(&s->base, 1);
            assert_near(s->y[0], 0.0, 0.0);
            assert_near(s->y[1], x[0] * s->x[0] + x[1] * s->x[300000], 1e-15);
            assert_near(s->y[8], x[2] * s->x[3] + x[3] * s->x[4] + x[4] * s->x[299998], 4e-15);
            assert_near(s->y[10], x[5] * s->x[1], 1e-15);
            assert_int_equal(check(&s->base), 0);
            close_opened();
        }
    }
    assert_int_equal(unlink(path), 0);
    struct carm_dwarf_case *c = NULL;
    const struct carm_spmv_params gone = {.file = path, .cpu = &cpu, .team = teams[1]};
    assert_int_equal(carm_spmv_open(&c, &gone, &err), -CARM_EIO);
}

/* A generated matrix (0), or one without blocks. */
static struct carm_spmv_params large(int kind)
{
    if (kind == 0) {
        return (struct carm_spmv_params){.matrix = {.bytes = 8000000}};
    }
    write_irregular(path_of("large.mtx"), 50000);
    return (struct carm_spmv_params){.file = path_of("large.mtx")};
}

/* Larger ones by their own check, a sample of rows. */
TEST(larger)
{
    for (int kind = 0; kind < 2; kind++) {
        struct carm_spmv_params p = large(kind);
        for (int way = 0; way < 2; way++) {
            p.optimised = way;
            p.prefetch_bytes = CARM_SPMV_TUNE;
            struct carm_spmv *s = open_case(p, CARM_AVX512, 1);
            run(&s->base, 1);
            fail_if(check(&s->base), "%s", err.text);
            assert_near(s->base.work.operations, 2.0 * s->nonzeros, 0.0);
            close_opened();
        }
    }
}

TEST(faults_are_found)
{
    struct carm_spmv_params p = large(1);
    p.optimised = true;
    struct carm_spmv *s = open_case(p, CARM_SSE, 1);
    assert_int_equal(check(&s->base), -CARM_EFORMAT); /* not run yet: NaN */
    run(&s->base, 1);
    assert_int_equal(check(&s->base), 0);
    /* a row that is compared, one that only the sum knows, one that was left out */
    for (uint32_t row = 0; row < 2; row++) {
        const double right = s->y[row];
        s->y[row] *= 1.0 + 1e-3;
        assert_int_equal(check(&s->base), -CARM_EFORMAT);
        s->y[row] = NAN;
        assert_int_equal(check(&s->base), -CARM_EFORMAT);
        s->y[row] = right;
    }
    assert_int_equal(check(&s->base), 0);
    /* a value of the matrix that changed on its way */
    double *value = (double *)(uintptr_t)s->blocks.value;
    value[1000] += 0.5;
    run(&s->base, 1);
    assert_int_equal(check(&s->base), -CARM_EFORMAT);
}

/* CSR: 2 flops for 12 bytes of a nonzero, 0.167; dense blocks: for a little more than 8, 0.25. Rows and
 * vectors cost some of it. source: the paper's table 2 and section 6.3.1 */
TEST(intensities)
{
    struct carm_spmv_params p = {.matrix = {.bytes = 4000000, .block = 8}};
    struct carm_spmv *s = open_case(p, CARM_SSE, 1);
    double intensity = s->base.work.operations / s->base.work.compulsory_bytes;
    assert_true(intensity < 2.0 / 12.0 && intensity > 0.98 * 2.0 / 12.0);
    assert_near(s->base.work.compulsory_bytes,
                12.0 * s->nonzeros + 4.0 * (s->rows + 1.0) + 24.0 * s->rows, 0.0);
    close_opened();
    p.optimised = true;
    s = open_case(p, CARM_SSE, 1);
    intensity = s->base.work.operations / s->base.work.compulsory_bytes;
    assert_true(intensity < 0.25 && intensity > 0.97 * 0.25);
    assert_int_equal(s->blocks.blocks * 32, s->nonzeros); /* no explicit zero */
    assert_near(s->base.work.compulsory_bytes,
                66.0 * s->nonzeros / 8.0 + s->blocks.blocks * (258.0 - 4 * 66.0) +
                    4.0 * (2.0 * s->blocks.block_rows + 1.0) + 24.0 * s->rows,
                0.0);
}

struct seen {
    double bytes, stores;
};

static void see(void *context, uint64_t address, unsigned bytes, bool store, bool nontemporal)
{
    struct seen *seen = context;
    assert_true(address != 0 && bytes >= 2 && bytes <= 64 && !nontemporal);
    seen->bytes += bytes;
    seen->stores += store ? bytes : 0;
}

static double stepped_rows(const struct carm_spmv *s, uint32_t end_row)
{
    begin(PLENTY);
    carm_spmv_rows(s, 0, end_row);
    const struct carm_step_counts c = end(true);
    return (double)(c.load_bytes + c.store_bytes);
}

static double traced_rows(struct carm_spmv *s, uint32_t end_row)
{
    struct seen seen = {0};
    const uint32_t all = s->split[1];
    s->split[1] = end_row;
    s->base.ops->trace(&s->base, see, &seen);
    s->split[1] = all;
    return seen.bytes;
}

static void count_one(struct carm_spmv_params p, enum carm_isa isa)
{
    struct carm_spmv *s = open_case(p, isa, 1);
    struct carm_dwarf_work whole = {0};
    struct carm_dwarf_work part = {0};
    struct seen seen = {0};
    uint32_t rows = 0;
    (void)carm_spmv_start(s, &rows);
    run(&s->base, 1);
    fail_if(carm_spmv_count_some(s, UINT64_MAX, &whole, &err) ||
                carm_spmv_count_some(s, 1000, &part, &err),
            "%s", err.text);
    assert_int_equal(part.core_by, CARM_COUNTED_STEPPED);
    assert_non_null(strstr(part.core_note, "of the very matrix stepped"));
    const double claimed = p.optimised ? 0.03 : 0.0; /* by the note */
    assert_int_equal(strstr(part.core_note, "within 3%") != NULL, p.optimised);
    fail_if(fabs(part.core_bytes - whole.core_bytes) > claimed * whole.core_bytes ||
                fabs(part.core_flops - whole.core_flops) > claimed * whole.core_flops,
            "%s, %s: %.0f bytes, %.0f flops by a part; %.0f, %.0f by all", s->base.size,
            s->base.isa, part.core_bytes, part.core_flops, whole.core_bytes, whole.core_flops);
    if (!p.optimised) {
        assert_near(whole.core_flops, s->base.work.operations, 0.0);
    } else {
        assert_true(whole.core_flops >= s->base.work.operations);
    }
    /* without what calls execute: from some rows to more of them */
    const double beside = stepped_rows(s, rows / 2) - stepped_rows(s, rows / 4) -
                          (traced_rows(s, rows / 2) - traced_rows(s, rows / 4));
    /* with blocks a compiler may keep pointers on the stack, which a row takes from there: no more than there are
     * registers (GCC 12 takes up to 4, GCC 14 up to 8 with avx) */
    const double spilt = p.optimised ? 16.0 * 8.0 : 0.0;
    assert_true(beside >= 0.0 && beside <= spilt * (rows / 2 - rows / 4));
    s->base.ops->trace(&s->base, see, &seen);
    assert_true(seen.bytes < whole.core_bytes &&
                seen.bytes + spilt * rows + 200.0 > whole.core_bytes);
    assert_true(seen.stores >= 8.0 * s->rows);
    assert_int_equal(check(&s->base), 0);
}

TEST(counts)
{
    write_irregular(path_of("m.mtx"), 216);
    const struct carm_spmv_params all[] = {{.matrix = {.rows = 60, .block = 4, .per_row = 5}},
                                           {.matrix = {.rows = 60, .block = 3, .per_row = 7}},
                                           {.file = path_of("m.mtx")}};
    NEEDS_EXACT();
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        struct carm_spmv_params p = all[i];
        count_one(p, CARM_SSE);
        p.optimised = true;
        for (int isa = CARM_SSE; isa < CARM_VECTOR_ISAS; isa++) {
            if (has((enum carm_isa)isa)) {
                count_one(p, (enum carm_isa)isa);
            }
        }
    }
}

TEST(counting_a_case)
{
    needs_stepping();
    struct carm_spmv *s = open_case(large(1), CARM_SSE, 1);
    struct carm_dwarf_work work;
    assert_ok(s->base.ops->count(&s->base, &work, &err));
    if (EXACT) {
        assert_near(work.core_flops, work.operations, 0.0);
    }
    assert_int_equal(work.core_by, CARM_COUNTED_STEPPED);
    assert_non_null(strstr(work.core_note, "scaled by rows and nonzeros"));
}

static int open_fails(struct carm_spmv_params p)
{
    struct carm_dwarf_case *c = NULL;
    p.cpu = &cpu;
    p.team = teams[1];
    const int rc = carm_spmv_open(&c, &p, &err);
    assert_null(c);
    return rc;
}

TEST(refusals)
{
    struct carm_spmv_params p = {.optimised = false};
    assert_int_equal(open_fails(p), -CARM_EINVAL); /* no size */
    p.matrix.bytes = (uint64_t)1 << 46;
    assert_int_equal(open_fails(p), -CARM_ENOMEM);
    assert_non_null(strstr(err.text, "the generated matrix takes 65536.0 GiB"));
    p.matrix = (struct carm_matrix_spec){.rows = 100};
    p.optimised = true;
    p.block_rows = 5;
    p.block_columns = 5;
    assert_int_equal(open_fails(p), -CARM_EINVAL);
    assert_non_null(strstr(err.text, "no code for blocks of 5 x 5"));
}

static int set_up(void **state)
{
    return make_folder(state) || open_teams(state);
}

RUN_TESTS(set_up, remove_folder)
