/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Calls of test codes with canaries in all registers (tests/asm/call_shim.asm), and which of them this
 * CPU can run. */
#pragma once

#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "asm/image.h"
#include "harness/machine/cpu.h"
#include "tests/unit.h"

/* The layout is known to call_shim.asm. */
struct call {
    carm_code_fn *fn;
    void *window;
    uint64_t iterations, passes;
    uint64_t width; /* bytes of the vector registers loaded and kept: 16, 32 or 64 */
    uint64_t mxcsr_in;
    uint64_t general_in[10]; /* rbx rbp r12 r13 r14 r15 r8 r9 r10 r11 */
    uint64_t general[12];    /* as left: the same ten, then rdi, rsi */
    uint64_t rsp_moved;      /* bytes */
    uint64_t rflags, mxcsr;
    uint64_t stack_changed;  /* bits of the red zone that changed */
    uint8_t vectors[32][64]; /* before the call: junk; after it: as left */
    uint64_t extra;          /* the fourth argument */
};
_Static_assert(offsetof(struct call, extra) == 256 + 32 * 64,
               "the layout that call_shim.asm knows");

void call_shim_run(struct call *call);

/* Functions that break the calling convention of test codes, one rule each. */
carm_code_fn
    call_shim_breaks_nothing; /* keeps the upper halves: a code with wide vectors may not */
carm_code_fn call_shim_breaks_rbx, call_shim_breaks_rbp, call_shim_breaks_r15, call_shim_breaks_r9;
carm_code_fn call_shim_breaks_rdi, call_shim_breaks_rsi, call_shim_breaks_rsp;
carm_code_fn call_shim_breaks_stack, call_shim_breaks_direction, call_shim_breaks_rounding;
carm_code_fn call_shim_breaks_invalid, call_shim_breaks_denormal, call_shim_breaks_overflow;

/* libgcc's feature bits already take XCR0 into account */
static inline bool cpu_has_fma(void)
{
    return __builtin_cpu_supports("fma");
}

static inline bool cpu_has(enum carm_isa isa)
{
    switch (isa) {
    case CARM_AVX:
        return __builtin_cpu_supports("avx");
    case CARM_AVX2:
        return __builtin_cpu_supports("avx2") && cpu_has_fma();
    case CARM_AVX512:
        return __builtin_cpu_supports("avx512f");
    default:
        return true;
    }
}

static inline bool can_run(const struct carm_code_spec *spec)
{
    struct carm_cpu cpu;
    carm_cpu_read(&cpu);
    return carm_cpu_has_op(&cpu, spec->isa, spec->precision, spec->op);
}

/* The ISA that a test was registered for; skips where the CPU lacks it. */
static inline enum carm_isa isa_of(void **state)
{
    const enum carm_isa isa = *(const enum carm_isa *)*state;
    skip_if(!cpu_has(isa), "this CPU has no %s", carm_isa_name(isa));
    return isa;
}

static inline struct carm_code_spec parse(const char *name)
{
    struct carm_code_spec spec;
    assert_ok(carm_code_parse(name, &spec, &err));
    return spec;
}

CLOSED_BY(carm_image_close)
static inline struct carm_image *open_image(const struct carm_code_spec *specs, size_t n)
{
    struct carm_image *image = NULL;
    assert_ok(carm_image_open(&image, specs, n, &err));
    return closed_later(by_carm_image_close, image);
}

enum { MXCSR_MASKED = 0x1f80, MXCSR_INEXACT = 0x20, MXCSR_FLAGS = 0x3f, DIRECTION_FLAG = 0x400 };

/* Bits that are a signalling NaN in the precision: an operation that reads them is found out. */
static inline uint64_t junk(enum carm_precision precision)
{
    return precision == CARM_DP ? 0x7ff4dead7ff4deadULL : 0x7fa4dead7fa4deadULL;
}

/* What the integer additions of a code B or W add to r8 + chain: every fourth one is its own, each
 * adds rcx, which counts a pass's iterations down to 1. */
static inline uint64_t summed(const struct call *c, const struct carm_code_spec *spec,
                              unsigned chain)
{
    const uint64_t additions = spec->ints / 4 + (chain < spec->ints % 4 ? 1 : 0);
    return additions * (c->iterations * (c->iterations + 1) / 2) * c->passes;
}

/* A model of kind R's generator: Knuth's, MMIX (The Art of Computer Programming, volume 2, third
 * edition, 3.3.4, table 1).
 * returns the line that the next state draws */
static inline uint64_t draw(uint64_t *state, uint64_t extra)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return *state >> (extra & 63);
}

/* r8 + k as the code leaves it: the distances of streams, a generator's state, constants and last line,
 * sums; else untouched. */
static inline uint64_t left_in(const struct call *c, const struct carm_code_spec *spec, unsigned k)
{
    if (spec->streams > 1 && k > 0) {
        return (2 * k - 1) * c->extra;
    }
    if (spec->kind == CARM_KIND_R) {
        uint64_t state = c->extra;
        uint64_t line = 0;
        for (uint64_t i = 0; i < c->iterations * c->passes * spec->units; i++) {
            line = draw(&state, c->extra);
        }
        const uint64_t registers[] = {state, 6364136223846793005U, 1442695040888963407U, 64 * line};
        return registers[k];
    }
    if (carm_isas[spec->isa].columns && k < 2) { /* bytes of a row, the place of the constants */
        return k == 0 ? 64 : c->general[7];
    }
    return c->general_in[6 + k] + summed(c, spec, k);
}

/* Calls fn with canaries everywhere. returns NULL or the rule that it broke */
static inline const char *run_guarded(struct call *c, const struct carm_code_spec *spec)
{
    const uint64_t bits = junk(spec->precision);
    c->width = cpu_has(CARM_AVX512) ? 64 : cpu_has(CARM_AVX) ? 32 : 16;
    c->mxcsr_in = MXCSR_MASKED;
    for (unsigned i = 0; i < 10; i++) {
        c->general_in[i] = 0xca11ee5a7ed00000ULL + i;
    }
    for (size_t at = 0; at < sizeof c->vectors; at += sizeof bits) {
        memcpy((uint8_t *)c->vectors + at, &bits, sizeof bits);
    }
    call_shim_run(c);
    for (unsigned i = 0; i < 10; i++) {
        if (c->general[i] != (i < 6 ? c->general_in[i] : left_in(c, spec, i - 6))) {
            return i < 6 ? "callee-saved register" : "other general register";
        }
    }
    if (c->general[10] != (uint64_t)(uintptr_t)c->window || c->general[11] != c->iterations) {
        return "argument register";
    }
    if (c->rsp_moved) {
        return "stack pointer";
    }
    if (c->stack_changed) {
        return "stack";
    }
    if (c->rflags & DIRECTION_FLAG) {
        return "direction flag";
    }
    if ((c->mxcsr & ~(uint64_t)MXCSR_FLAGS) != MXCSR_MASKED) {
        return "MXCSR control bits";
    }
    if (c->mxcsr & (MXCSR_FLAGS - MXCSR_INEXACT)) {
        return "floating-point exception";
    }
    for (int r = 0; r < 16 && spec->isa >= CARM_AVX && !carm_isas[spec->isa].columns; r++) {
        for (unsigned i = 16; i < c->width; i++) {
            if (c->vectors[r][i]) {
                return "upper halves";
            }
        }
    }
    return NULL;
}

static inline void add_tests_of_isas(const char *name, CMUnitTestFunction test)
{
    static enum carm_isa isas[CARM_VECTOR_ISAS];
    static char names[TESTS_MAX][40];
    for (int i = 0; i < CARM_VECTOR_ISAS; i++) {
        isas[i] = (enum carm_isa)i;
        (void)snprintf(names[suite_size], sizeof *names, "%s(%s)", name, carm_isa_name(isas[i]));
        add_test((struct CMUnitTest){names[suite_size], test, NULL, NULL, &isas[i]});
    }
}

/* A test for each vector ISA, which finds its own with isa_of(state). */
#define TEST_OF_ISAS(name) TEST_ADDED(name, add_tests_of_isas(#name, test_##name))

/* A child's call, which may meet a guard. returns the signal that ended it, 0 = none */
static inline int run_child(const struct carm_code *code, void *window, uint64_t iterations,
                            uint64_t extra)
{
    pid_t pid = fork();
    int status = 0;
    assert_true(pid >= 0);
    if (pid == 0) {
        const struct rlimit none = {0, 0};
        (void)setrlimit(RLIMIT_CORE, &none);
        (void)signal(SIGSEGV, SIG_DFL);
        code->run(window, iterations, 1, extra);
        _exit(0);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}
