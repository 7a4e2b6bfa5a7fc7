/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Stepping by the trap flag: exact counts of codes whose counts are known. */
#include "tests/asm/call_shim.h"

#include "tests/harness/count/step/stepping.h"

/* Test codes: their account is the truth. */
enum { WINDOW_BYTES = 1 << 16 };
static uint8_t window[WINDOW_BYTES] __attribute__((aligned(64)));

carm_code_fn only_return;
__asm__(".pushsection .text\nonly_return: ret\n.popsection");

static uint64_t extra; /* fourth argument of every call */

/* The same instructions around every call: no argument is known to the compiler. */
__attribute__((noinline)) static struct carm_step_counts step_code(carm_code_fn *fn,
                                                                   uint64_t iterations,
                                                                   uint64_t passes)
{
    static volatile struct {
        carm_code_fn *fn;
        uint64_t iterations, passes, extra;
    } call;
    call.fn = fn;
    call.iterations = iterations;
    call.passes = passes;
    call.extra = extra;
    begin(PLENTY);
    call.fn(window, call.iterations, call.passes, call.extra);
    return end(true);
}

/* What a field is more than it is for a function that only returns. */
#define CHECK(field, expected)                                       \
    do {                                                             \
        if (got.field - none.field != (expected)) {                  \
            fail_msg("%s: " #field " is %llu, not %llu", code->name, \
                     (unsigned long long)(got.field - none.field),   \
                     (unsigned long long)(expected));                \
        }                                                            \
    } while (0)

static void check_code(const struct carm_code *code)
{
    enum { ITERATIONS = 5, PASSES = 2, FEWER = 3 };
    static const int widths[CARM_VECTOR_ISAS] = {0, 1, 2, 2, 3};
    const struct carm_account *a = &code->account;
    const uint64_t times = (uint64_t)ITERATIONS * PASSES;
    /* the window's second half, or a state that draws from all of its lines */
    extra = code->spec.kind == CARM_KIND_R ? 0x1234567890abcdc0U | (64 - 10) : WINDOW_BYTES / 2;
    const struct carm_step_counts none = step_code(only_return, ITERATIONS, PASSES);
    const struct carm_step_counts got = step_code(code->run, ITERATIONS, PASSES);
    const struct carm_step_counts fewer = step_code(code->run, FEWER, PASSES);
    const int p = (int)code->spec.precision;
    const bool integer = carm_precisions[p].integer; /* its operations are no flops */
    const bool half = p >= CARM_FLOATS && !integer;
    assert_true(ITERATIONS * a->stride_bytes <= sizeof window / 2);
    if (p < CARM_FLOATS) {
        CHECK(flops[p][widths[code->spec.isa]], times * a->flops);
    }
    assert_int_equal(flops(&got, CARM_DP) + flops(&got, CARM_SP),
                     p < CARM_FLOATS ? times * a->flops : 0);
    CHECK(flops_other, half ? times * a->flops : 0);
    if (integer && code->spec.op != CARM_LOGIC) { /* which is counted in lanes of 64 bits */
        const unsigned e = (unsigned)__builtin_ctz(carm_precisions[p].bytes);
        CHECK(int_elements[e], times * a->flops);
        CHECK(int_widths[widths[code->spec.isa] - 1], times * a->flops);
    }
    CHECK(loads, a->setup_loads + times * a->loads);
    CHECK(load_bytes, a->setup_load_bytes + times * a->load_bytes);
    CHECK(stores, times * a->stores);
    CHECK(store_bytes, times * a->store_bytes);
    CHECK(nt_stores, times * a->nt_stores);
    const uint64_t more = got.instructions - fewer.instructions;
    fail_if(more != (uint64_t)(ITERATIONS - FEWER) * PASSES * a->instructions,
            "%s: %llu instructions in %d iterations of %llu", code->name, (unsigned long long)more,
            (ITERATIONS - FEWER) * PASSES, (unsigned long long)a->instructions);
}

/* A code C of every row of CARM_FORM_TABLE that runs here. returns how many of specs were filled */
static size_t forms(enum carm_isa isa, struct carm_code_spec *specs)
{
    size_t n = 0;
    for (int i = CARM_FLOATS * CARM_OP_COUNT; i < CARM_PRECISION_COUNT * CARM_OP_COUNT; i++) {
        specs[n] = (struct carm_code_spec){.kind = CARM_KIND_C,
                                           .isa = isa,
                                           .precision = (enum carm_precision)(i / CARM_OP_COUNT),
                                           .op = (enum carm_op)(i % CARM_OP_COUNT),
                                           .mix = {.loads = 2, .stores = 1},
                                           .units = 4,
                                           .fps = 10 * carm_ops[i % CARM_OP_COUNT].nturns,
                                           .chains = 5};
        n += can_run(&specs[n]);
    }
    return n;
}

TEST_OF_ISAS(codes)
{
    static const char *const memory[] = {"2:1",    "1:0", "0:1",   "1:1",
                                         "update", "nt",  "2:1nt", "1:0"};
    static const char *const two[] = {"1:1", "1:1", "1:1nt", "1:1nt", "2:0", "2:0"};
    static struct carm_code_spec specs[256];
    const enum carm_isa isa = isa_of(state);
    size_t n = 0;
    needs_stepping();
    for (int p = 0; p < CARM_FLOATS; p++) {
        const struct carm_code_spec base = {
            .isa = isa, .precision = (enum carm_precision)p, .units = 4, .fps = 0};
        for (size_t m = 0; m < sizeof memory / sizeof *memory; m++) {
            specs[n] = base;
            specs[n].kind = CARM_KIND_A;
            specs[n].order = m & 1 ? CARM_ORDER_BLOCK : CARM_ORDER_UNIT;
            specs[n].prefetch_bytes = m & 2 ? 1024 : 0;
            assert_int_equal(carm_mix_parse(memory[m], &specs[n++].mix, NULL), 0);
        }
        for (int op = 0; op < CARM_FLOAT_OPS; op++) {
            struct carm_code_spec s = base;
            s.op = (enum carm_op)op;
            s.fps = 10 * carm_ops[op].nturns;
            s.chains = 5;
            s.kind = CARM_KIND_C;
            assert_int_equal(carm_mix_parse(memory[op], &s.mix, NULL), 0);
            if (can_run(&s)) {
                specs[n++] = s;
                s.mix = (struct carm_mix){0};
                s.units = 0;
                s.kind = CARM_KIND_B;
                specs[n++] = s;
                s.ints = 37;
                specs[n++] = s;
            }
        }
        for (size_t m = 0; m < sizeof two / sizeof *two; m++) {
            specs[n] = base;
            specs[n].streams = 2;
            specs[n].prefetch_bytes = m & 1 ? 1024 : 0;
            assert_int_equal(carm_mix_parse(two[m], &specs[n++].mix, NULL), 0);
        }
        specs[n] = base;
        specs[n].mix.loads = 1;
        specs[n].units = 2 * 64 / carm_isa_vector_bytes(isa, base.precision);
        specs[n++].stride = 17;
        specs[n] = base;
        specs[n++].kind = CARM_KIND_R;
    }
    n += forms(isa, specs + n);
    assert_true(n <= sizeof specs / sizeof *specs);
    struct carm_image *image = open_image(specs, n);
    for (size_t i = 0; i < n; i++) {
        check_code(&image->codes[i]);
    }
}

__attribute__((noinline)) static void daxpy(double *x, const double *y, double a, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        x[i] += a * y[i];
        __asm__ volatile("" ::: "memory"); /* one after the other */
    }
}

TEST(loop)
{
    enum { N = 1000 };
    static double x[N];
    static double y[N];
    needs_stepping();
    __asm__ volatile("" ::"r"(x), "r"(y) : "memory"); /* no compiler knows that they are zero */
    struct carm_step_counts whole = {.instructions = 0};
    struct carm_step_counts half = whole;
    for (volatile size_t n = N; n >= N / 2; n = n - N / 2) { /* the same code around both */
        begin(PLENTY);
        daxpy(x, y, 2, n);
        *(n == N ? &whole : &half) = end(true);
    }
    assert_int_equal(flops(&whole, CARM_DP), 2 * N);
    assert_int_equal(whole.flops[0][0], 2 * N);
    assert_int_equal(flops(&half, CARM_DP), N);
    assert_true(whole.load_bytes >= 16UL * N && whole.store_bytes >= 8UL * N);
#ifndef __SANITIZE_ADDRESS__
    assert_int_equal(whole.load_bytes - half.load_bytes, 16 * N / 2);
    assert_int_equal(whole.store_bytes - half.store_bytes, 8 * N / 2);
#endif
}

TEST(x87)
{
    needs_stepping();
    begin(PLENTY);
    __asm__ volatile("fld1\n\tfld1\n\tfaddp\n\tfsqrt\n\tfstp %%st(0)" ::: "st", "st(1)");
    const struct carm_step_counts c = end(true);
    assert_int_equal(c.flops_other, 2);
    assert_int_equal(flops(&c, CARM_DP) + flops(&c, CARM_SP), 0);
}

/* Called as test codes are: window in rdi, a number in rsi. */
carm_code_fn copy_bytes, masked, gather;
__asm__(".pushsection .text\n"
        "copy_bytes:\n\t"
        "mov %rsi, %rcx\n\t"
        "mov %rdi, %rsi\n\t"
        "add $1024, %rdi\n\t"
        "rep movsb\n\t"
        "ret\n"
        "masked:\n\t"
        "mov $0x2d, %eax\n\t" /* four lanes */
        "kmovw %eax, %k1\n\t"
        "vxorpd %xmm1, %xmm1, %xmm1\n\t"
        "vaddpd (%rdi), %zmm1, %zmm1{%k1}\n\t" /* 4 flops, 32 bytes */
        "vmulpd %zmm1, %zmm1, %zmm1\n\t"       /* 8 flops */
        "vmovupd %zmm1, (%rdi){%k1}\n\t"       /* 32 bytes */
        "kxorw %k1, %k1, %k1\n\t"
        "vaddpd (%rdi), %zmm1, %zmm1{%k1}\n\t" /* nothing */
        "vmovupd %zmm1, (%rdi){%k1}\n\t"
        "vzeroupper\n\t"
        "ret\n"
        "gather:\n\t"
        "vmovdqu (%rdi), %xmm1\n\t"                   /* 16 bytes */
        "vmovdqu 64(%rdi), %ymm2\n\t"                 /* 32 bytes */
        "vgatherdpd %ymm2, (%rdi,%xmm1,8), %ymm3\n\t" /* 3 x 8 */
        "vgatherdpd %ymm2, (%rdi,%xmm1,8), %ymm3\n\t" /* the mask is spent */
        "vzeroupper\n\t"
        "ret\n"
        ".popsection");

TEST(strings)
{
    needs_stepping();
    for (uint64_t n = 0; n <= 5; n += 5) {
        const struct carm_step_counts none = step_code(only_return, n, 1);
        const struct carm_step_counts got = step_code(copy_bytes, n, 1);
        assert_int_equal(got.loads - none.loads, n);
        assert_int_equal(got.stores - none.stores, n);
        assert_int_equal(got.load_bytes - none.load_bytes, n);
        assert_int_equal(got.store_bytes - none.store_bytes, n);
        assert_int_equal(got.instructions - none.instructions, 3 + (n ? n : 1));
    }
}

/* The frame of a signal has the masks where we look for them. */
TEST(masks)
{
    needs_stepping();
    skip_if(!cpu_has(CARM_AVX512), "this CPU has no avx512");
    const struct carm_step_counts none = step_code(only_return, 0, 0);
    const struct carm_step_counts got = step_code(masked, 0, 0);
    assert_int_equal(got.flops[0][3], 12);
    assert_int_equal(flops(&got, CARM_DP), 12);
    assert_int_equal(got.loads - none.loads, 1);
    assert_int_equal(got.load_bytes - none.load_bytes, 32);
    assert_int_equal(got.stores - none.stores, 1);
    assert_int_equal(got.store_bytes - none.store_bytes, 32);
}

TEST(gather)
{
    static const int64_t mask[4] = {-1, 0, -1, -1};
    needs_stepping();
    skip_if(!cpu_has(CARM_AVX2), "this CPU has no avx2");
    memset(window, 0, sizeof window);
    memcpy(window + 64, mask, sizeof mask);
    const struct carm_step_counts none = step_code(only_return, 0, 0);
    const struct carm_step_counts got = step_code(gather, 0, 0);
    assert_int_equal(got.loads - none.loads, 2 + 3);
    assert_int_equal(got.load_bytes - none.load_bytes, 16 + 32 + 24);
    assert_int_equal(got.stores - none.stores, 0);
    assert_int_equal(flops(&got, CARM_DP), 0);
}

TEST(empty)
{
    needs_stepping();
    begin(PLENTY);
    const struct carm_step_counts c = end(true);
    assert_int_equal(flops(&c, CARM_DP) + flops(&c, CARM_SP) + c.flops_other, 0);
#ifdef __SANITIZE_ADDRESS__
    assert_true(c.instructions < 2000); /* copies of structures call the sanitizer */
#else
    assert_true(c.instructions < 60); /* what begin() and end() of this file do */
#endif
}

/* As a region's end: calls and work of its own are not counted, before the read nor after. */
CARM_STEP_TEXT __attribute__((noinline)) static void look(struct carm_step_counts *c)
{
    bool complete = false;
    char text[64];
    (void)snprintf(text, sizeof text, "%g", sink);
    sink = sink + 1;
    assert_int_equal(carm_step_read(c, &complete, NULL), 0);
    assert_true(complete);
    (void)snprintf(text, sizeof text, "%g", sink);
}

#ifdef __clang__ /* does not know the attribute */
#define OPTIMIZED noinline
#else
#define OPTIMIZED noinline, optimize("O2")
#endif

/* Its last call becomes a jump. */
__attribute__((OPTIMIZED)) static void add_ten_and_look(struct carm_step_counts *c)
{
    for (int i = 0; i < 10; i++) {
        sink = sink + 1;
    }
    look(c);
}

TEST(read)
{
    struct carm_step_counts a;
    struct carm_step_counts b;
    struct carm_step_counts c;
    struct carm_step_counts d;
    needs_stepping();
    assert_int_equal(carm_step_read(&a, &(bool){false}, NULL), -CARM_EINVAL);
    begin(PLENTY);
    add_ten();
    look(&a);
    add_ten();
    look(&b);
    look(&c);
    add_ten_and_look(&d);
    const struct carm_step_counts whole = end(true);
    assert_int_equal(flops(&a, CARM_DP), 10);
    assert_int_equal(flops(&b, CARM_DP), 20);
    assert_int_equal(flops(&c, CARM_DP), 20);
    assert_int_equal(flops(&d, CARM_DP), 30);
    assert_int_equal(flops(&whole, CARM_DP), 30);
    assert_true(c.instructions - b.instructions < 10);
    assert_true(a.instructions > 10 && b.instructions - a.instructions > 10);
}

static struct carm_step_counts looks[4];
static unsigned nlooks;

CARM_STEP_TEXT void test_step_look(void);
CARM_STEP_TEXT void test_step_look(void)
{
    look(&looks[nlooks++]);
}

/* Two instructions between calls: directly, by a stub as of the PLT, by one that the dynamic linker must fill in
 * first, by a jump. Stubs are not counted either. */
carm_code_fn calls;
__asm__(".pushsection .text\n"
        "calls:\n\t"
        "sub $8, %rsp\n\t"
        "call test_step_look\n\t"
        "nop\n\tnop\n\t"
        "call 1f\n\t"
        "nop\n\tnop\n\t"
        "call 2f\n\t"
        "add $8, %rsp\n\tnop\n\t"
        "jmp test_step_look\n"
        "1:\n\t"
        "endbr64\n\t"
        "jmp *5f(%rip)\n"
        "2:\n\t"
        "endbr64\n\t"
        "push $7\n\t"
        "jmp 3f\n"
        "3:\n\t"
        "push $8\n\t"
        "jmp *4f(%rip)\n\t"
        "6:\n\t" /* as _dl_runtime_resolve ends */
        "call only_return\n\t"
        "mov test_step_look_at(%rip), %r11\n\t"
        "add $16, %rsp\n\t"
        "jmp *%r11\n"
        ".popsection\n"
        ".pushsection .data.rel, \"aw\"\n"
        "test_step_look_at: .quad test_step_look\n"
        "5: .quad test_step_look\n"
        "4: .quad 6b\n"
        ".popsection");

TEST(ways_in)
{
    needs_stepping();
    nlooks = 0;
    (void)step_code(calls, 0, 0);
    assert_int_equal(nlooks, 4);
    for (unsigned i = 1; i < 4; i++) {
        assert_int_equal(looks[i].instructions - looks[i - 1].instructions, 2);
        assert_int_equal(looks[i].stores - looks[i - 1].stores, 0);
        assert_int_equal(looks[i].loads - looks[i - 1].loads, 0);
    }
}

/* The instruction behind a system call does not trap. */
carm_code_fn system_calls;
__asm__(".pushsection .text\n"
        "system_calls:\n\t"
        "mov $39, %eax\n\t" /* getpid */
        "syscall\n\t"
        "addsd %xmm1, %xmm1\n\t"
        "mov $14, %eax\n\t" /* rt_sigprocmask of nothing, which is done for the program */
        "xor %edi, %edi\n\t"
        "xor %esi, %esi\n\t"
        "xor %edx, %edx\n\t"
        "mov $8, %r10d\n\t"
        "syscall\n\t"
        "addsd %xmm1, %xmm1\n\t"
        "ret\n"
        ".popsection");

TEST(system_calls)
{
    needs_stepping();
    const struct carm_step_counts none = step_code(only_return, 0, 0);
    const struct carm_step_counts got = step_code(system_calls, 0, 0);
    assert_int_equal(flops(&got, CARM_DP), 2);
    assert_int_equal(got.instructions - none.instructions, 10);
}

TEST(pause)
{
    needs_stepping();
    carm_step_pause(); /* nothing to pause */
    carm_step_resume();
    begin(PLENTY);
    add_ten();
    carm_step_pause();
    for (int i = 0; i < 1000 * 1000; i++) {
        sink = sink + 1;
    }
    assert_true(carm_step_active());
    carm_step_resume();
    add_ten();
    const struct carm_step_counts c = end(true);
    assert_int_equal(flops(&c, CARM_DP), 20);
    begin(PLENTY);
    add_ten();
    carm_step_pause();
    const struct carm_step_counts paused = end(true);
    assert_int_equal(flops(&paused, CARM_DP), 10);
}

TEST(budget)
{
    needs_stepping();
    begin(100);
    for (int i = 0; i < 1000 * 1000; i++) {
        sink = sink + 1;
    }
    const struct carm_step_counts c = end(false);
    assert_in_range(c.instructions, 100, 101);
}

TEST(misuse)
{
    struct carm_step_counts c;
    bool complete = false;
    needs_stepping();
    assert_int_equal(carm_step_end(&c, &complete, &err), -CARM_EINVAL);
    assert_string_equal(err.text, "this thread is not being stepped");
    begin(PLENTY);
    const int again = carm_step_begin(PLENTY, &err);
    (void)end(true);
    assert_int_equal(again, -CARM_EINVAL);
    assert_string_equal(err.text, "this thread is already being stepped");
}
