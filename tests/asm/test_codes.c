/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the test codes of every ISA that this CPU has: what they touch and what they leave. */
#include "tests/asm/call_shim.h"

#include <sys/mman.h>

#include "asm/gen.h"
#include "asm/image.h"

TEST(call_checker)
{
    static const struct {
        carm_code_fn *fn;
        const char *broken;
    } planted[] = {
        {call_shim_breaks_rbx, "callee-saved register"},
        {call_shim_breaks_rbp, "callee-saved register"},
        {call_shim_breaks_r15, "callee-saved register"},
        {call_shim_breaks_r9, "other general register"},
        {call_shim_breaks_rdi, "argument register"},
        {call_shim_breaks_rsi, "argument register"},
        {call_shim_breaks_rsp, "stack pointer"},
        {call_shim_breaks_stack, "stack"},
        {call_shim_breaks_direction, "direction flag"},
        {call_shim_breaks_rounding, "MXCSR control bits"},
        {call_shim_breaks_invalid, "floating-point exception"},
        {call_shim_breaks_denormal, "floating-point exception"},
        {call_shim_breaks_overflow, "floating-point exception"},
    };
    struct carm_code_spec spec = {.isa = CARM_SSE};
    static struct call c;
    for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
        c = (struct call){.fn = planted[i].fn, .iterations = 7, .passes = 1};
        const char *broken = run_guarded(&c, &spec);
        assert_non_null(broken);
        assert_string_equal(broken, planted[i].broken);
    }
    c = (struct call){.fn = call_shim_breaks_nothing, .iterations = 7, .passes = 1};
    assert_null(run_guarded(&c, &spec));
    spec = parse("W.sse.dp.1:0.mad.u1.f2.c1.i1"); /* its addition is missing */
    assert_string_equal(run_guarded(&c, &spec), "other general register");
    spec = (struct carm_code_spec){.isa = CARM_SSE};
    if (cpu_has(CARM_AVX)) {
        spec.isa = CARM_AVX;
        assert_string_equal(run_guarded(&c, &spec), "upper halves");
    }
}

/* Memory: what is written, and that nothing else is touched. */

/* Pages between two that nobody may touch. */
static struct {
    uint8_t *map;
    uint8_t *data; /* [DATA_BYTES] */
} arena;
enum { DATA_BYTES = 64 * 1024, GUARD_BYTES = 64 * 1024, ITERATIONS = 16 };

static int open_arena(void **state)
{
    void *map =
        mmap(NULL, DATA_BYTES + 2 * GUARD_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) {
        return -1;
    }
    arena.map = map;
    arena.data = arena.map + GUARD_BYTES;
    return mprotect(arena.data, DATA_BYTES, PROT_READ | PROT_WRITE);
}

static int close_arena(void **state)
{
    return munmap(arena.map, DATA_BYTES + 2 * GUARD_BYTES);
}

/* What the specification's stores write into one slot. */
static void stored_bytes(const struct carm_code_spec *spec, uint64_t iterations,
                         uint8_t bytes[CARM_ROW_BYTES])
{
    carm_gen_row(spec->precision, CARM_ROW_STORE, bytes);
    if (spec->isa == CARM_SCALAR && spec->mix.nontemporal) {
        memcpy(bytes, &iterations,
               sizeof iterations); /* movnti takes the register that counts them */
    }
}

/* One run on a window filled with `pattern`; written[] marks what changed in the whole arena.
 * returns NULL or what is wrong */
static const char *run_once(const struct carm_code *code, uint8_t *window, uint64_t iterations,
                            uint64_t passes, uint8_t pattern, uint8_t *written)
{
    static struct call c;
    memset(arena.data, pattern, DATA_BYTES);
    c = (struct call){
        .fn = code->run, .window = window, .iterations = iterations, .passes = passes};
    const char *broken = run_guarded(&c, &code->spec);
    for (size_t i = 0; i < DATA_BYTES; i++) {
        written[i] |= arena.data[i] != pattern;
    }
    return broken;
}

/* Two runs with different patterns: a byte that is written differs from at least one of them.
 * run_iterations are run, `iterations` are what the window is for. */
static const char *check_window(const struct carm_code *code, uint8_t *window, uint64_t iterations,
                                uint64_t run_iterations)
{
    static uint8_t written[DATA_BYTES];
    const struct carm_code_spec *s = &code->spec;
    const unsigned width = carm_isa_vector_bytes(s->isa, s->precision);
    const unsigned element = carm_precisions[s->precision].bytes;
    const unsigned loads = s->mix.loads - (s->mix.update ? 1 : 0); /* alone, in each unit */
    const unsigned per_unit = loads + s->mix.stores;
    const size_t begin = (size_t)(window - arena.data);
    const size_t end = begin + iterations * code->account.stride_bytes;
    uint64_t count = 0;
    const char *broken = NULL;
    uint8_t stored[CARM_ROW_BYTES];
    stored_bytes(s, run_iterations, stored);
    memset(written, 0, sizeof written);
    if (s->mix.update) { /* twice is nothing at all */
        broken = run_once(code, window, run_iterations, 2, 0xa5, written);
        if (!broken && memchr(written, 1, sizeof written)) {
            return "two passes of updates do not restore";
        }
    }
    broken = broken ? broken : run_once(code, window, run_iterations, 1, 0xa5, written);
    broken = broken ? broken : run_once(code, window, run_iterations, 3, 0x5a, written);
    if (broken) {
        return broken;
    }
    for (size_t i = 0; i < DATA_BYTES; i++) {
        const bool inside = i >= begin && i < end;
        const size_t slot = (i - begin) / width;
        const bool sign = (i - begin) % element == element - 1;
        const bool due = inside && slot % per_unit >= loads && (sign || !s->mix.update);
        count += written[i];
        if (written[i] && !inside) {
            return "written outside the window";
        }
        if (written[i] != due) {
            return due ? "a slot to be stored to is not" : "a slot to be loaded is written";
        }
        const uint8_t value = s->mix.update ? 0x5a ^ 0x80 : stored[(i - begin) % width];
        if (due && arena.data[i] != value) {
            return "another value is stored";
        }
    }
    /* of an updated element only the byte with the sign shows */
    count *= s->mix.update ? element : 1;
    return count == iterations * code->account.store_bytes ? NULL : "bytes written";
}

/* Both ends of the data meet a guard: an access past the window's end or before it is fatal. */
static void check_code(const struct carm_code *code)
{
    const size_t bytes = ITERATIONS * code->account.stride_bytes;
    const struct {
        const char *where;
        size_t at;
    } windows[] = {{"at the begin", 0}, {"at the end", DATA_BYTES - bytes}, {"within", 4096}};
    assert_in_range(bytes, 1, DATA_BYTES - 8192);
    for (int i = 0; i < 3; i++) {
        assert_int_equal(windows[i].at % 64, 0);
        const char *wrong = check_window(code, arena.data + windows[i].at, ITERATIONS, ITERATIONS);
        fail_if(wrong, "code %s, window %s: %s", code->name, windows[i].where, wrong);
    }
}

TEST_OF_ISAS(memory)
{
    static const char *const mixes[] = {"2:1", "1:1",   "1:0", "0:1",      "update",
                                        "nt",  "2:1nt", "3:2", "2:1update"};
    enum {
        MIXES = sizeof mixes / sizeof *mixes,
        CODES = 2 * MIXES * 8,
        OTHERS = 3, /* mixes: what is moved, stored past the caches, flipped */
        FORMS = (CARM_PRECISION_COUNT - CARM_FLOATS) * OTHERS,
    };
    static struct carm_code_spec specs[CODES + FORMS];
    const enum carm_isa isa = isa_of(state);
    size_t n = CODES;
    for (int i = 0; i < CODES; i++) {
        specs[i] = (struct carm_code_spec){
            .kind = CARM_KIND_A,
            .isa = isa,
            .precision = i & 1 ? CARM_SP : CARM_DP,
            .units = i & 2 ? 8 : 1,
            .prefetch_bytes = i & 4 ? 4096 : 0,
            .order = i & 8 ? CARM_ORDER_BLOCK : CARM_ORDER_UNIT,
            .block = (i & 14) == 14 ? 3 : 0,
        };
        assert_int_equal(carm_mix_parse(mixes[i / 16], &specs[i].mix, NULL), 0);
        if (carm_code_check(&specs[i], NULL)) { /* updates in one stream have no blocks */
            specs[i].order = CARM_ORDER_UNIT;
            specs[i].block = 0;
        }
    }
    for (int i = 0; i < FORMS; i++) {
        specs[n] =
            (struct carm_code_spec){.kind = CARM_KIND_A,
                                    .isa = isa,
                                    .precision = (enum carm_precision)(CARM_FLOATS + i / OTHERS),
                                    .units = 8};
        assert_int_equal(carm_mix_parse(mixes[3 + i % OTHERS], &specs[n].mix, NULL), 0);
        n += carm_isa_has_precision(isa, specs[n].precision);
    }
    struct carm_image *image = open_image(specs, n);
    for (size_t i = 0; i < n; i++) {
        check_code(&image->codes[i]);
    }
}

TEST_OF_ISAS(interleaved)
{
    enum { KIND = 2 * CARM_FLOAT_OPS * 3, CODES = 2 * KIND };
    static const char *const mixes[] = {"2:1", "3:1update", "1:2nt"};
    static struct carm_code_spec specs[CODES];
    const enum carm_isa isa = isa_of(state);
    size_t n = 0;
    for (int i = 0; i < CODES; i++) {
        struct carm_code_spec *s = &specs[n];
        *s = (struct carm_code_spec){.kind = i < KIND ? CARM_KIND_C : CARM_KIND_W,
                                     .isa = isa,
                                     .precision = i & 1 ? CARM_SP : CARM_DP,
                                     .op = (enum carm_op)(i / 2 % CARM_FLOAT_OPS),
                                     .units = 4,
                                     .fps = 24,
                                     .chains = 7,
                                     .ints = i < KIND ? 0 : 27,
                                     .prefetch_bytes = 512};
        assert_int_equal(carm_mix_parse(mixes[i % KIND / 2 / CARM_FLOAT_OPS], &s->mix, NULL), 0);
        n += can_run(s);
    }
    struct carm_image *image = open_image(specs, n);
    for (size_t i = 0; i < n; i++) {
        check_code(&image->codes[i]);
    }
}

/* The checker sees a code that does something else than its specification says. */
TEST(window_checker)
{
    static const struct {
        const char *run, *taken_for, *wrong;
    } planted[] = {
        {"A.sse.dp.2:1.u4", "A.sse.dp.1:2.u4", "a slot to be stored to is not"},
        {"A.sse.dp.1:2.u4", "A.sse.dp.2:1.u4", "a slot to be loaded is written"},
        {"A.sse.dp.0:1.u4", "A.sse.sp.0:1.u4", "another value is stored"},
        {"A.sse.dp.1:1.u4", "A.sse.dp.update.u8", "two passes of updates do not restore"},
        {"A.sse.dp.0:1.u5", "A.sse.dp.0:1.u4", "written outside the window"},
    };
    uint8_t *const window = arena.data + 4096;
    for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
        const struct carm_code_spec specs[] = {parse(planted[i].run), parse(planted[i].taken_for)};
        struct carm_image *image = open_image(specs, 2);
        struct carm_code code = image->codes[1];
        assert_null(check_window(&code, window, ITERATIONS, ITERATIONS));
        code.run = image->codes[0].run;
        assert_string_equal(check_window(&code, window, ITERATIONS, ITERATIONS), planted[i].wrong);
        close_opened();
    }
    const struct carm_code_spec spec = parse("A.sse.dp.2:1.u4");
    struct carm_image *image = open_image(&spec, 1);
    struct carm_code code = image->codes[0];
    assert_string_equal(check_window(&code, window, ITERATIONS, ITERATIONS + 1),
                        "written outside the window");
    assert_string_equal(check_window(&code, window, ITERATIONS, ITERATIONS - 1),
                        "a slot to be stored to is not");
    code.account.store_bytes += 16;
    assert_string_equal(check_window(&code, window, ITERATIONS, ITERATIONS), "bytes written");
}

/* One iteration too many meets the guard, by a load as by a store. */
TEST(guard)
{
    const struct carm_code_spec specs[] = {parse("A.sse.dp.1:0.u4"), parse("A.sse.dp.0:1.u4"),
                                           parse("A.sse.dp.nt.u4"), parse("A.sse.dp.1:0.u4.p4096")};
    struct carm_image *image = open_image(specs, 4);
    for (int i = 0; i < 4; i++) {
        const struct carm_code *code = &image->codes[i];
        uint8_t *window = arena.data + DATA_BYTES - ITERATIONS * code->account.stride_bytes;
        assert_int_equal(run_child(code, window, ITERATIONS, 0), 0);
        assert_int_equal(run_child(code, window, ITERATIONS + 1, 0), SIGSEGV);
    }
}

RUN_TESTS(open_arena, close_arena)
