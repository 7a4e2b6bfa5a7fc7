/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Matrix products in int8 and bf16: what is compared with a library, oneDNN where it is installed, and what
 * its instructions take of the cores in closed forms. */
#include "kernels/gemm/narrow.h"
#include "kernels/gemm/study.h"
#include "tests/kernels/teams.h"
#include "tests/unit.h"

enum { SIZE = 45 }; /* no multiple of any tile */

static void open_product(struct carm_narrow *g, enum carm_precision precision)
{
    assert_ok(carm_narrow_open(g, precision, SIZE, teams[1], &err));
}

static float from_bf16(uint16_t half)
{
    const uint32_t bits = (uint32_t)half << 16;
    float value = 0.0f;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* The products by other loops than the check's, in the numbers that a library uses. */
static void multiply_plainly(const struct carm_narrow *g)
{
    for (size_t i = 0; i < SIZE; i++) {
        for (size_t j = 0; j < SIZE; j++) {
            int32_t whole = 0;
            float sum = 0.0f;
            for (size_t k = 0; k < SIZE; k++) {
                if (g->precision == CARM_INT8) {
                    whole += ((const uint8_t *)g->a.start)[i * SIZE + k] *
                             ((const int8_t *)g->b.start)[k * SIZE + j];
                } else {
                    sum += from_bf16(((const uint16_t *)g->a.start)[i * SIZE + k]) *
                           from_bf16(((const uint16_t *)g->b.start)[k * SIZE + j]);
                }
            }
            if (g->precision == CARM_INT8) {
                ((int32_t *)g->c.start)[i * SIZE + j] = whole;
            } else {
                ((float *)g->c.start)[i * SIZE + j] = sum;
            }
        }
    }
}

/* A right product passes, and one wrong element anywhere does not. */
TEST(wrong_results_are_found)
{
    static const enum carm_precision precisions[] = {CARM_INT8, CARM_BF16};
    static const size_t places[] = {0, 1, SIZE + 7, SIZE * SIZE / 2, SIZE * SIZE - 1};
    for (size_t p = 0; p < 2; p++) {
        struct carm_narrow g;
        char by[64];
        double error = -1.0;
        open_product(&g, precisions[p]);
        multiply_plainly(&g);
        assert_ok(carm_narrow_check(&g, "plain loops", &error, by, &err));
        assert_true(precisions[p] == CARM_INT8 ? error == 0.0 : error < 1e-6);
        assert_string_equal(by, "plain loops, 45 rows");
        for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
            int32_t *at = (int32_t *)g.c.start + places[i];
            const int32_t kept = *at;
            *at ^= precisions[p] == CARM_INT8 ? 1 : 1 << 18;
            assert_refused(carm_narrow_check(&g, "a library", &error, by, &err), -CARM_EFORMAT,
                           "the result of a library is wrong");
            *at = kept;
        }
        carm_narrow_close(&g);
    }
}

/* Two products of neighbours fit 16 bits, else instructions without VNNI saturate. */
TEST(sums_of_two_products_fit)
{
    struct carm_narrow g;
    int largest = 0;
    open_product(&g, CARM_INT8);
    for (size_t i = 0; i < (size_t)SIZE * SIZE; i++) {
        const int a = ((const uint8_t *)g.a.start)[i];
        const int b = abs(((const int8_t *)g.b.start)[i]);
        largest = a > largest ? a : largest;
        largest = b > largest ? b : largest;
    }
    assert_true(largest > 100 && 2 * largest * largest <= INT16_MAX);
    carm_narrow_close(&g);
}

/* Its products are right, with one thread and two; or it says that it has none here. */
TEST(onednn_multiplies)
{
    static const enum carm_precision precisions[] = {CARM_INT8, CARM_BF16};
    struct carm_onednn lib;
    if (carm_onednn_open(&lib, &err)) {
        assert_non_null(strstr(err.text, "apt-get install libdnnl-dev"));
        skip_if(true, "%s", err.text);
    }
    assert_memory_equal(lib.name, "oneDNN ", 7);
    for (size_t p = 0; p < 2; p++) {
        for (int threads = 1; threads <= 2 && teams[threads]; threads++) {
            struct carm_narrow g;
            struct carm_run_times times;
            char by[64];
            double error = -1.0;
            open_product(&g, precisions[p]);
            const struct carm_run_limits limits = {0.0, NULL, NULL};
            const int rc = carm_narrow_measure(&lib, &g, teams[threads], limits, &times, &err);
            if (rc) {
                assert_int_equal(rc, -CARM_ENOTSUP);
                print_message("%s\n", err.text);
            } else if (carm_narrow_check(&g, lib.name, &error, by, &err)) {
                fail_msg("%s", err.text);
            }
            carm_narrow_close(&g);
        }
    }
}

/* A stepped product: 32 products of int8 in one vpmaddubsw of 32 bytes and what adds them up; or each product
 * and its sum in vpdpbusd or vdpbf16ps. */
TEST(onednn_is_counted)
{
    struct carm_onednn lib;
    struct carm_step_counts s;
    const bool opened = !carm_onednn_open(&lib, &err) && !carm_step_check(&err);
    const bool dots = opened && (strcmp(lib.isa, "avx512_core_vnni") == 0 ||
                                 strcmp(lib.isa, "avx512_core_bf16") == 0);
    skip_if(!opened || (!dots && strcmp(lib.isa, "avx2") != 0),
            "no oneDNN with AVX2 or dot products, or no stepping here");
    assert_ok(carm_narrow_count(&lib, CARM_INT8, 48, 64, &s, &err));
    const uint64_t products = 48UL * 48 * 64;
    assert_int_equal(s.unknown, 0);
    if (dots) {
        assert_int_equal(s.int_dots, 2 * products);
    } else {
        assert_int_equal(s.int_elements[0], products / 32 * 48);
        assert_int_equal(s.int_elements[1], products / 32 * 24);
        assert_int_equal(s.int_dots, s.int_elements[0] + s.int_elements[1]);
    }
    if (strcmp(lib.isa, "avx512_core_bf16") == 0) {
        assert_ok(carm_narrow_count(&lib, CARM_BF16, 48, 64, &s, &err));
        assert_int_equal(s.unknown, 0);
        assert_int_equal(s.flops_other, 2 * products);
    }
}

/* One second on one core of 1 GHz: what instructions and bytes take of it. */
TEST(uses_in_closed_form)
{
    struct carm_compute_roof peak = {.op = "add", .rate = 100e9};
    struct carm_memory_roof l1 = {.level = "L1", .ldst = "2:1", .bandwidth = 80e9};
    struct carm_roofs roofs = {.isa = "avx2",
                               .precision = "int8",
                               .threads = 1,
                               .clock_hz = 1e9,
                               .memory = &l1,
                               .nmemory = 1,
                               .compute = &peak,
                               .ncompute = 1};
    struct carm_level level = {.level = "L1"};
    struct carm_model model = {
        .levels = &level, .nlevels = 1, .roofs = &roofs, .nroofs = 1, .config = {.ldst = "2:1"}};
    struct carm_gemm_narrow_facts f;
    struct carm_gemm_study *s = calloc(1, sizeof *s);
    assert_non_null(s);
    s->base = (struct carm_study){.model = &model, .roofs = &roofs, .threads = 1};
    s->precision = CARM_INT8;
    s->narrow = (struct carm_gemm_narrow){.counted = true,
                                          .instructions = 3e9,
                                          .operations = 50e9,
                                          .products = 1.2e9,
                                          .width = 1,
                                          .core = "Zen 3",
                                          .issue = 6.0,
                                          .multiplies = {9.0, 2.0, 9.0}};
    s->steps[CARM_GEMM_LIBRARY] =
        (struct carm_gemm_point){.known = true, .flops = 40e9, .bytes = 20e9, .seconds = 1.0};
    carm_gemm_narrow_facts(s, &f);
    assert_true(fabs(f.share - 0.4) < 1e-12 && !f.enough);
    assert_true(fabs(f.beside - 1.25) < 1e-12);
    assert_int_equal(f.nuses, 3);
    static const struct {
        const char *what;
        double share;
    } want[] = {{"multiplications", 0.6}, {"issue", 0.5}, {"loads and stores", 0.25}};
    for (size_t i = 0; i < 3; i++) {
        assert_string_equal(f.uses[i].what, want[i].what);
        assert_true(fabs(f.uses[i].share - want[i].share) < 1e-12);
    }
    /* nothing is known but the time */
    s->narrow = (struct carm_gemm_narrow){.width = -1};
    s->steps[CARM_GEMM_LIBRARY].bytes = 0.0;
    s->steps[CARM_GEMM_LIBRARY].flops = 80e9;
    carm_gemm_narrow_facts(s, &f);
    assert_true(f.nuses == 0 && f.enough);
    free(s);
}

#ifdef __SANITIZE_ADDRESS__
/* Of GCC 12, the search for leaks ends any program with a signal in which oneDNN has two threads. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}
#endif

RUN_TESTS(open_teams, NULL)
