/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Equations against shapes worked by hand, and every refusal. */
#include <inttypes.h>

#include "base/err.h"
#include "models/sol/equation.h"
#include "tests/unit.h"

enum { TENSORS = 8, EXTENTS = 64 };

struct shapes {
    struct carm_sol_use uses[TENSORS];
    uint64_t extents[EXTENTS];
    uint32_t inputs, outputs;
};

/* "2x3,3x4>2x4"; "" is a scalar, "-" before > no input at all */
static struct shapes read_shapes(const char *text)
{
    struct shapes s = {.inputs = 0};
    uint32_t extents = 0;
    const char *at = text;
    bool output = false;
    if (*at == '-') {
        at++;
        assert_true(*at++ == '>');
        output = true;
    }
    for (bool more = true; more;) {
        struct carm_sol_use *use = &s.uses[s.inputs + s.outputs];
        use->dims = extents;
        while (*at >= '0' && *at <= '9') {
            int used = 0;
            assert_int_equal(sscanf(at, "%" SCNu64 "%n", &s.extents[extents++], &used), 1);
            use->rank++;
            at += used;
            at += *at == 'x';
        }
        (void)carm_sol_product(s.extents + use->dims, use->rank, &use->elements);
        *(output ? &s.outputs : &s.inputs) += 1;
        output = output || *at == '>';
        more = *at != '\0';
        at += more;
    }
    return s;
}

static int evaluate(const char *equation, const char *shapes, bool contraction, uint64_t *points,
                    char *why)
{
    const struct shapes s = read_shapes(shapes);
    const struct carm_sol_operands operands = {.uses = s.uses,
                                               .inputs = s.inputs,
                                               .outputs = s.outputs,
                                               .extents = s.extents,
                                               .contraction = contraction};
    return carm_sol_equation(equation, &operands, points, why, NULL);
}

struct good {
    const char *equation, *shapes;
    uint64_t points;
};

struct bad {
    const char *equation, *shapes, *why;
};

static void check_good(const struct good *cases, size_t n, bool contraction)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t points = 77;
        char why[CARM_SOL_WHY_MAX] = "";
        fail_if(evaluate(cases[i].equation, cases[i].shapes, contraction, &points, why),
                "%s of %s: %s", cases[i].equation, cases[i].shapes, why);
        fail_if(points != cases[i].points, "%s of %s: %" PRIu64 ", not %" PRIu64, cases[i].equation,
                cases[i].shapes, points, cases[i].points);
    }
}

static void check_bad(const struct bad *cases, size_t n, bool contraction)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t points = 77;
        char why[CARM_SOL_WHY_MAX] = "";
        fail_if(evaluate(cases[i].equation, cases[i].shapes, contraction, &points, why) !=
                    -CARM_EFORMAT,
                "%s of %s was read", cases[i].equation, cases[i].shapes);
        assert_string_equal(why, cases[i].why);
    }
}

TEST(contractions_count_their_ranks)
{
    static const struct good cases[] = {
        {"MK,KN->MN", "2x3,3x4>2x4", 24},
        {" MK , KN -> MN ", "2x3,3x4>2x4", 24},
        {"B0B1K,NK->B0B1N", "2x32x64,128x64>2x32x128", UINT64_C(2) * 32 * 64 * 128},
        {"A12B34,B34C->A12C", "5x6,6x7>5x7", 210},
        {"AA0,A0A1->AA1", "5x6,6x7>5x7", 210},
        {"A123456A123457->A123456", "2x3>2", 6},
        {"B(123456789P+R),R->BP", "2x9,3>2x5", 30},
        {"B(P+R),R->BP", "2x0,0>2x5", 0},
        /* conv2d: B C O P Q R S = 1 3 8 30 30 3 3, padding and stride unseen */
        {"BC(P+R)(Q+S),OCRS->BOPQ", "1x3x32x32,8x3x3x3>1x8x30x30", UINT64_C(3) * 8 * 900 * 9},
        {"BC(P+R),OCR->BOP", "1x3x32,8x3x3>1x8x16", UINT64_C(3) * 8 * 16 * 3},
        {"BC(2P+R),OCR->BOP", "1x3x32,8x3x3>1x8x16", UINT64_C(3) * 8 * 16 * 3},
        {"BC( 2*P + 3 R ),OCR->BOP", "1x3x32,8x3x3>1x8x16", UINT64_C(3) * 8 * 16 * 3},
        {"BC(P-R)(Q-S),CKRS->BKPQ", "1x4x8x8,4x2x3x3>1x2x10x10", UINT64_C(4) * 2 * 9 * 100},
        {"B(P+R+T),RT->BP", "2x9,3x2>2x5", 60},
        {"K,K->", "7,7>", 7},
        {"MK,KN->MN", "0x3,3x4>0x4", 0},
        {"MK,KN->MN", "0x9223372036854775807,9223372036854775807x4>0x4", 0},
        {"AB->BA", "94906267x94906267>94906267x94906267", UINT64_C(9007199515875289)},
        {"AB->A", "3037000499x3037000499>3037000499", UINT64_C(9223372030926249001)},
        {"A->A", "9223372036854775807>9223372036854775807", INT64_MAX},
        {"A->A", "9007199254740993>9007199254740993", UINT64_C(9007199254740993)},
        /* tensors without an operand: a bias, a second output */
        {"BC(P+R),OCR->BOP", "1x3x32,8x3x3,8>1x8x16", UINT64_C(3) * 8 * 16 * 3},
        {"MK->MK", "2x3,4>2x3", 6},
        {"MK->M", "2x3>2,2", 6},
    };
    check_good(cases, sizeof cases / sizeof *cases, true);
}

TEST(other_operations_are_looser)
{
    static const struct good cases[] = {
        {"ABC->ABC", "2x3x4>2x3x4", 24},
        {"ABC->AB", "2x3x4>2x3", 24},
        {"ABC->ABC", "2x3x4,4>2x3x4", 24},         /* the bias beyond the equation */
        {"ABC,ABC->ABC", "2x3x4,1x3x1>2x3x4", 24}, /* broadcasting */
        {"ABC,ABC->ABC", "1x3x4,2x1x4>2x3x4", 24},
        {"ABC->ABC", "2x3x4>2x3x1", 24}, /* keepdim */
        {"AB->ABC", "2x3>2x3x4", 24},    /* a rank of the output's own */
        {"->AB", "->3x4", 12},
        {"->AB", ">3x4", 12}, /* of a scalar */
        {"AB,->AB", "3x4,>3x4", 12},
        {"AB->A", "3x4>3,3", 12}, /* values and their places */
        {"AB->A,A", "3x4>3,3", 12},
        {"A,A->A", "1,0>0", 0},
    };
    check_good(cases, sizeof cases / sizeof *cases, false);
}

TEST(what_does_not_fit_is_refused)
{
    static const struct bad both[] = {
        {"MK,KN", "2x3,3x4>2x4", "it has no arrow: IN,IN->OUT"},
        {"MK->K->M", "2x3>3", "it has a second arrow"},
        {"mk->m", "2x3>3",
         "character 1 is not part of a rank (a capital letter with optional digits), of a sum of "
         "ranks (P+R), comma or arrow"},
        {"A...->A", "2x3>3",
         "character 2 is not part of a rank (a capital letter with optional digits), of a sum of "
         "ranks (P+R), comma or arrow"},
        {"A\xc3\xa9->A", "2x3>3",
         "character 2 is not part of a rank (a capital letter with optional digits), of a sum of "
         "ranks (P+R), comma or arrow"},
        {"A(P+R->A", "2x3>3",
         "character 7 is not part of a rank (a capital letter with optional digits), of a sum of "
         "ranks (P+R), comma or arrow"},
        {"A(P+", "2x3>3", "it ends inside parentheses"},
        {"A(P+1)->A", "2x3>3",
         "character 6 is not part of a rank (a capital letter with optional digits), of a sum of "
         "ranks (P+R), comma or arrow"},
        {"A(1234567890P)->A", "2x3>3", "a factor has up to 9 digits"},
        {"A1234567->A1234567", "2>2", "a rank has up to 6 digits"},
        {"AA->A", "2x3>3", "rank A is used twice in one tensor: give each dimension its own"},
        {"B(P+P)->BP", "2x3>2x3",
         "rank P is used twice in one tensor: give each dimension its own"},
        {"MK->M", "2x3x4>2", "its tensor 1 has 2 ranks, the shape 3 dimensions"},
        {"MKN->M", "2x3>2", "its tensor 1 has more ranks than the shape has dimensions (2)"},
        {"M(P+R)(Q+R)->M", "2x3>2",
         "rank R is used twice in one tensor: give each dimension its own"},
        {"MK->MK", "2x3>2", "its tensor 2 has more ranks than the shape has dimensions (1)"},
        {"AB,AB->AB", "2x3>2x3", "inputs: 2 in the equation, 1 in the layer"},
        {"AB->AB,A", "2x3>2x3", "outputs: 2 in the equation, 1 in the layer"},
        {"AB,AB->AB", "2x3,2x4>2x3", "rank B has size 3 in one tensor and 4 in another"},
        {"AB->AB", "2x3>2x5", "rank B has size 3 in one tensor and 5 in another"},
        {"B(P+R)->BP", "2x9>2x5",
         "unknown rank R: sums alone have it, and no rank or shape gives its size"},
        {"B(P+R),R->BP", "2x0,1>2x5", "dimension 2 of its tensor 1 is 0 where its ranks are not"},
        {"A-B->A", "2>2",
         "character 2 is not part of a rank (a capital letter with optional digits), of a sum of "
         "ranks (P+R), comma or arrow"},
        {"B(P+R),R->BP", "2x0,3>2x5", "dimension 2 of its tensor 1 is 0 where its ranks are not"},
        {"AB->B", "3037000500x3037000500>3037000500",
         "the product of its ranks' sizes passes 2^63 - 1"},
        {"ABCD->A", "65536x65536x65536x32768>65536",
         "the product of its ranks' sizes passes 2^63 - 1"},
    };
    static const struct bad contraction[] = {
        {"MK,KN->MN", "2x1,3x4>2x4", "rank K has size 1 in one tensor and 3 in another"},
        {"MK->MKZ", "2x3>2x3x4", "unknown rank Z: it is in the output, but in no input"},
    };
    check_bad(both, sizeof both / sizeof *both, true);
    check_bad(both, sizeof both / sizeof *both, false);
    check_bad(contraction, sizeof contraction / sizeof *contraction, true);
}

TEST(misfits_have_their_kind)
{
    static const struct {
        const char *equation, *shapes;
        enum carm_sol_misfit misfit;
    } rows[] = {
        {"MK,KN", "2x3,3x4>2x4", CARM_SOL_MISFIT_TEXT},
        {"AA->A", "2x3>3", CARM_SOL_MISFIT_TEXT},
        {"AB->B", "3037000500x3037000500>3037000500", CARM_SOL_MISFIT_TEXT},
        {"MK->M", "2x3x4>2", CARM_SOL_MISFIT_SHAPE},
        {"MKN->M", "2x3>2", CARM_SOL_MISFIT_SHAPE},
        {"MK,KN->MN", "2x3,5x4>2x4", CARM_SOL_MISFIT_SHAPE},
        {"MK,KN->MN", "2x0,3x4>2x4", CARM_SOL_MISFIT_SHAPE},
        {"MK,KN->MN", "2x8,4x4>2x4", CARM_SOL_MISFIT_PART},
        {"MK,KN->MN", "2x1,4x4>2x4", CARM_SOL_MISFIT_PART},
        {"MK,KN->MN", "2x3>2x4", CARM_SOL_MISFIT_PART},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct shapes s = read_shapes(rows[i].shapes);
        const struct carm_sol_operands operands = {.uses = s.uses,
                                                   .inputs = s.inputs,
                                                   .outputs = s.outputs,
                                                   .extents = s.extents,
                                                   .contraction = true};
        uint64_t points = 0;
        char why[CARM_SOL_WHY_MAX] = "";
        enum carm_sol_misfit misfit = CARM_SOL_MISFIT_TEXT;
        assert_int_equal(carm_sol_equation(rows[i].equation, &operands, &points, why, &misfit),
                         -CARM_EFORMAT);
        assert_int_equal(misfit, rows[i].misfit);
    }
}

/* The multiply-accumulates of a convolution, loop by loop: each output channel sees the input channels
 * of its group. Of a transposed one, with a stride: by_input are those of an input element, which are
 * all that there is; by_output those of each output position and place of the kernel, zeros between the
 * inputs among them. */
static void count_loops(unsigned batch, unsigned in, unsigned out, unsigned groups, unsigned side,
                        unsigned kernel, unsigned stride, uint64_t *by_input, uint64_t *by_output)
{
    const unsigned to = (side - 1) * stride + kernel;
    *by_input = *by_output = 0;
    for (unsigned b = 0; b < batch; b++) {
        for (unsigned k = 0; k < out; k++) {
            for (unsigned c = 0; c < in; c++) {
                if (c / (in / groups) != k / (out / groups)) {
                    continue;
                }
                for (unsigned p = 0; p < to; p++) {
                    for (unsigned r = 0; r < kernel; r++) {
                        ++*by_output;
                        *by_input += p >= r && (p - r) % stride == 0 && (p - r) / stride < side;
                    }
                }
            }
        }
    }
}

static bool of_shapes(const char *type, const char *shapes, enum carm_sol_misfit misfit,
                      uint64_t *macs)
{
    const struct shapes s = read_shapes(shapes);
    const struct carm_sol_operands operands = {.uses = s.uses,
                                               .inputs = s.inputs,
                                               .outputs = s.outputs,
                                               .extents = s.extents,
                                               .contraction = true};
    return carm_sol_contraction(type, &operands, misfit, macs);
}

/* K of the weights is the channels of one group: the equation's count with K from the weights. */
TEST(groups_are_counted_loop_by_loop)
{
    for (unsigned groups = 1; groups <= 4; groups *= 2) {
        for (unsigned stride = 1; stride <= 2; stride++) {
            enum { BATCH = 2, IN = 8, OUT = 12, SIDE = 5, KERNEL = 3 };
            char shapes[128];
            uint64_t by_input = 0;
            uint64_t by_output = 0;
            uint64_t macs = 0;
            count_loops(BATCH, IN, OUT, groups, SIDE, KERNEL, stride, &by_input, &by_output);
            (void)snprintf(shapes, sizeof shapes, "%dx%dx%d,%dx%ux%d,%d>%dx%dx%u", BATCH, IN, SIDE,
                           IN, OUT / groups, KERNEL, OUT, BATCH, OUT, (SIDE - 1) * stride + KERNEL);
            assert_true(of_shapes("convtranspose1d", shapes, CARM_SOL_MISFIT_PART, &macs));
            assert_int_equal(macs, by_input);
            assert_true(stride > 1 ? by_output > by_input : by_output >= by_input);
            /* what a direct loop over the inputs does */
            assert_int_equal(by_input, (uint64_t)BATCH * IN * SIDE * (OUT / groups) * KERNEL);
            if (groups == 1) {
                uint64_t points = 0;
                char why[CARM_SOL_WHY_MAX] = "";
                assert_int_equal(evaluate("BC(P-R),CKR->BKP", shapes, true, &points, why), 0);
                assert_int_equal(points, by_output);
            }
        }
        /* one that is not transposed: P outputs of the same loops */
        uint64_t macs = 0;
        char shapes[128];
        (void)snprintf(shapes, sizeof shapes, "2x8x7x9,12x%ux3x2>2x12x5x8", 8 / groups);
        assert_true(of_shapes("conv2d", shapes, CARM_SOL_MISFIT_PART, &macs));
        assert_int_equal(macs, 2ULL * 12 * 5 * 8 * (8 / groups) * 3 * 2);
    }
}

TEST(contractions_from_shapes)
{
    static const struct {
        const char *type, *shapes;
        enum carm_sol_misfit misfit;
        uint64_t macs; /* 0 = refused */
    } rows[] = {
        {"conv2d", "1x32x8x8,32x1x3x3>1x32x6x6", CARM_SOL_MISFIT_SHAPE, 32 * 36 * 9}, /* O1RS */
        {"conv1d", "3x8,4x3x3>4x6", CARM_SOL_MISFIT_SHAPE, 4 * 6 * 9},                /* no batch */
        {"conv_transpose2d", "4x5x5,4x2x3x3>8x7x7", CARM_SOL_MISFIT_PART, 4 * 25 * 18},
        /* padded: the output is smaller than all products need */
        {"conv_transpose1d", "1x4x5,4x2x9>1x4x2", CARM_SOL_MISFIT_PART, 2 * 72},
        {"conv3d", "1x4x4x4x4,2x2x2x2x2>1x2x3x3x3", CARM_SOL_MISFIT_PART, 2 * 27 * 16},
        {"conv2d", "1x32x8x8,32x5x3x3>1x32x6x6", CARM_SOL_MISFIT_SHAPE, 0}, /* 5 of 32 channels */
        {"conv2d", "1x32x8x8,16x32x3x3>1x32x6x6", CARM_SOL_MISFIT_SHAPE, 0},
        {"conv2d", "1x32x8x8>1x32x6x6", CARM_SOL_MISFIT_PART, 0},
        {"conv2d", "1x32x8x8,32x0x3x3>1x32x6x6", CARM_SOL_MISFIT_PART, 0},
        {"convtranspose1d", "1x4x5,8x2x3>1x4x7", CARM_SOL_MISFIT_PART, 0},
        {"convtranspose1d", "1x4x5,4x2x3>1x3x7", CARM_SOL_MISFIT_PART, 0},
        /* heads that share keys; batches of one */
        {"matmul", "1x32x10x64,1x8x20x64>1x32x10x20", CARM_SOL_MISFIT_PART, 32 * 200 * 64},
        {"matmul", "1x32x10x20,1x8x20x64>1x32x10x64", CARM_SOL_MISFIT_PART, 32 * 640 * 20},
        {"linear", "2x3>2x4", CARM_SOL_MISFIT_PART, 24}, /* without its weight */
        {"linear", "2x3,4x3>2x4", CARM_SOL_MISFIT_SHAPE, 0},
        {"linear", "2x3", CARM_SOL_MISFIT_PART, 0}, /* without its output */
        {"matmul", "2x8,4x4>2x4", CARM_SOL_MISFIT_PART, 0},
        {"einsum", "2x8,4x4>2x4", CARM_SOL_MISFIT_PART, 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint64_t macs = 0;
        fail_if(of_shapes(rows[i].type, rows[i].shapes, rows[i].misfit, &macs) !=
                    (rows[i].macs > 0),
                "%s %s", rows[i].type, rows[i].shapes);
        assert_int_equal(macs, rows[i].macs);
    }
}

TEST(ranks_have_a_limit)
{
    char text[26 * 11 * 2 + 8];
    char why[CARM_SOL_WHY_MAX] = "";
    size_t n = 0;
    for (int digit = 0; digit < 10; digit++) {
        for (char c = 'A'; c <= 'Z'; c++) {
            text[n++] = c;
            text[n++] = (char)('0' + digit);
        }
    }
    memcpy(text + n, "->", 3);
    assert_int_equal(carm_sol_equation(text, NULL, NULL, why, NULL), -CARM_EFORMAT);
    assert_string_equal(why, "it has more than 256 ranks");
    memcpy(text + 512, "->", 3);
    assert_int_equal(carm_sol_equation(text, NULL, NULL, why, NULL), 0);
}

TEST(writing_alone_can_be_checked)
{
    char why[CARM_SOL_WHY_MAX] = "";
    assert_int_equal(carm_sol_equation("ABCD->AE", NULL, NULL, why, NULL), 0);
    assert_int_equal(carm_sol_equation("A(B+C)->A,D", NULL, NULL, why, NULL), 0);
    assert_int_equal(carm_sol_equation("ABCD", NULL, NULL, why, NULL), -CARM_EFORMAT);
}

TEST(products_are_exact)
{
    const uint64_t edge[] = {UINT64_C(4611686018427387903), 2}; /* 2^63 - 2 */
    const uint64_t past[] = {UINT64_C(4611686018427387904), 2}; /* 2^63 */
    const uint64_t zero[] = {UINT64_C(4611686018427387904), 4, 0};
    uint64_t product = 5;
    assert_int_equal(carm_sol_product(NULL, 0, &product), 0);
    assert_true(product == 1);
    assert_int_equal(carm_sol_product(edge, 2, &product), 0);
    assert_true(product == (uint64_t)INT64_MAX - 1);
    assert_int_equal(carm_sol_product(past, 2, &product), -1);
    assert_int_equal(carm_sol_product(zero, 3, &product), 0);
    assert_true(product == 0);
}
