/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the codes with several streams, with strides and with random lines, of every ISA that this CPU has:
 * what they touch, byte for byte written and page for page and line for line read, and what they
 * leave. */
#include "tests/asm/call_shim.h"

#include <sys/mman.h>

#include "asm/gen.h"
#include "asm/image.h"

enum {
    PAGE = 4096,
    PIECE = 16 * PAGE,
    PIECES = CARM_CODE_STREAMS_MAX,
    ITERATIONS = 16,
    PASSES = 3
};

/* Pieces of memory, each between pages that nobody may touch. */
static struct {
    uint8_t *map;
    uint8_t *first; /* the others follow, a guard page behind each */
} arena;

enum { APART = PIECE + PAGE, ARENA = PIECES * APART + PAGE };

static uint8_t *piece(unsigned k)
{
    return arena.first + (size_t)k * APART;
}

static int open_arena(void **state)
{
    void *map = mmap(NULL, ARENA, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int rc = 0;
    if (map == MAP_FAILED) {
        return -1;
    }
    arena.map = map;
    arena.first = arena.map + PAGE;
    for (unsigned k = 0; k < PIECES; k++) {
        rc |= mprotect(piece(k), PIECE, PROT_READ | PROT_WRITE);
    }
    return rc;
}

static int close_arena(void **state)
{
    return munmap(arena.map, ARENA);
}

/* byte `at` of a vector that is stored where `before` was */
static uint8_t stored_byte(const struct carm_code_spec *spec, unsigned at, uint8_t before)
{
    const unsigned element = spec->precision == CARM_DP ? 8 : 4;
    uint8_t bytes[8];
    if (spec->mix.update) { /* its sign changes in each pass, of which there is an odd number */
        return at % element == element - 1 ? before ^ 0x80 : before;
    }
    if (spec->isa == CARM_SCALAR && spec->mix.nontemporal) {
        const uint64_t iterations = ITERATIONS; /* movnti takes the register that counts them */
        memcpy(bytes, &iterations, sizeof bytes);
        return bytes[at % element];
    }
    const double dp = carm_gen_constant(CARM_ROW_STORE, at / element);
    const float sp = (float)dp;
    memcpy(bytes, spec->precision == CARM_DP ? (const void *)&dp : (const void *)&sp, element);
    return bytes[at % element];
}

/* Whether a code stores into its k-th stream. */
static bool is_stored(const struct carm_code_spec *s, unsigned k)
{
    const struct carm_mix *m = &s->mix;
    if ((m->update && m->loads == 1) || m->loads == 0) {
        return true;
    }
    if (m->update) {
        return k >= s->streams / m->loads * (m->loads - 1);
    }
    return k >= s->streams * m->loads / (m->loads + m->stores);
}

/* Runs on windows `at` bytes into the first piece and `further` bytes further in each next one: what is
 * loaded from keeps its bytes, what is stored into is right byte for byte.
 * returns NULL or what is wrong */
static const char *check_windows(const struct carm_code *code, size_t at, size_t further)
{
    static const uint8_t patterns[] = {0xa5, 0x5a};
    const struct carm_code_spec *s = &code->spec;
    const unsigned width = carm_isa_vector_bytes(s->isa, s->precision);
    static bool written[PIECES][PIECE];
    static struct call c;
    size_t count = 0;
    memset(written, 0, sizeof written);
    for (int i = 0; i < 2; i++) {
        for (unsigned k = 0; k < PIECES; k++) {
            memset(piece(k), patterns[i], PIECE);
        }
        c = (struct call){.fn = code->run,
                          .window = arena.first + at,
                          .iterations = ITERATIONS,
                          .passes = PASSES,
                          .extra = APART + further};
        const char *broken = run_guarded(&c, s);
        if (broken) {
            return broken;
        }
        for (unsigned k = 0; k < PIECES; k++) {
            const size_t begin = at + k * further;
            const size_t bytes = ITERATIONS * code->account.stride_bytes;
            const bool stored = k < s->streams && is_stored(s, k);
            for (size_t b = 0; b < PIECE; b++) {
                const bool due = stored && b >= begin && b < begin + bytes;
                const uint8_t byte = piece(k)[b];
                if (byte != (due ? stored_byte(s, (unsigned)((b - begin) % width), patterns[i])
                                 : patterns[i])) {
                    return due      ? "another value is stored"
                           : stored ? "written outside the window"
                                    : "a stream that is loaded from is written";
                }
                written[k][b] = written[k][b] || due;
            }
        }
    }
    for (size_t k = 0; k < sizeof written; k++) {
        count += ((const bool *)written)[k];
    }
    return count == ITERATIONS * code->account.store_bytes ? NULL : "bytes written";
}

/* Both ends of all streams meet a guard: an access before or past one is fatal. */
static void check_streams(const struct carm_code *code)
{
    const size_t bytes = ITERATIONS * code->account.stride_bytes;
    const size_t end = (PIECE - bytes) / 64 * 64;
    const size_t others = code->spec.streams - 1;
    assert_in_range(bytes, 1, PIECE - PAGE);
    assert_int_equal((PIECE - bytes) % 64, 0);
    const size_t to_end = end / others / 64 * 64;
    const size_t at[][2] = {
        {0, 0}, {end, 0}, {end - others * to_end, to_end}, {end, (size_t)0 - to_end}, {2048, 64}};
    for (size_t i = 0; i < sizeof at / sizeof *at; i++) {
        const char *wrong = check_windows(code, at[i][0], at[i][1]);
        fail_if(wrong, "code %s, windows at %zu and %zu on: %s", code->name, at[i][0], at[i][1],
                wrong);
    }
}

TEST_OF_ISAS(several_streams)
{
    static const struct {
        const char *mix;
        unsigned streams;
    } sorts[] = {{"1:1", 2}, {"1:1nt", 2},  {"2:2nt", 2},     {"2:0", 2},       {"1:0", 4},
                 {"0:1", 2}, {"update", 4}, {"2:1", 3},       {"2:1nt", 6},     {"1:1", 4},
                 {"1:2", 6}, {"nt", 4},     {"3:1", 4},       {"4:1", 5},       {"1:0", 6},
                 {"5:1", 6}, {"update", 6}, {"2:1update", 2}, {"2:1update", 6}, {"3:1update", 3}};
    enum { SORTS = sizeof sorts / sizeof *sorts, EACH = 12 };
    static struct carm_code_spec specs[SORTS * EACH];
    const enum carm_isa isa = isa_of(state);
    size_t n = 0;
    for (int i = 0; i < SORTS * EACH; i++) {
        struct carm_code_spec *s = &specs[n];
        *s = (struct carm_code_spec){
            .kind = i & 2 ? CARM_KIND_C : CARM_KIND_A,
            .isa = isa,
            .precision = i & 1 ? CARM_SP : CARM_DP,
            .units = sorts[i / EACH].streams % 3 ? 8 : 12,
            .streams = sorts[i / EACH].streams,
            .order = i % 3 ? CARM_ORDER_BLOCK : CARM_ORDER_UNIT,
            .block = i % 3 == 2 ? 3 : 0,
        };
        if (s->streams == 5) {
            s->units = 4;
        }
        if (s->kind == CARM_KIND_C) {
            s->op = i & 4 ? CARM_FMA : CARM_MAD;
            s->fps = 14;
            s->chains = 5;
        }
        assert_int_equal(carm_mix_parse(sorts[i / EACH].mix, &s->mix, NULL), 0);
        s->prefetch_bytes = i & 4 && s->mix.loads ? 4096 : 0;
        n += can_run(s);
    }
    struct carm_image *image = open_image(specs, n);
    for (size_t i = 0; i < n; i++) {
        check_streams(&image->codes[i]);
    }
}

/* The checker sees a code that does something else than its specification says. */
TEST(streams_checker)
{
    static const struct {
        const char *run, *taken_for, *wrong;
    } planted[] = {
        {"A.sse.dp.1:1.u4", "A.sse.dp.1:1.u4.s2", "other general register"},
        {"A.sse.dp.1:1.u8.s2", "A.sse.dp.1:1.u4.s2", "written outside the window"},
        {"A.sse.dp.2:0.u4.s2", "A.sse.dp.1:1.u4.s2", "another value is stored"},
        {"A.sse.dp.1:1.u4.s2", "A.sse.dp.2:0.u4.s2", "a stream that is loaded from is written"},
        {"A.sse.dp.2:1.u4.s3", "A.sse.dp.1:2.u4.s3", "another value is stored"},
        {"A.sse.dp.update.u4.s2", "A.sse.dp.0:1.u4.s2", "another value is stored"},
        {"A.sse.sp.1:1.u4.s2", "A.sse.dp.1:1.u4.s2", "another value is stored"},
        {"A.sse.dp.update.u4.s2", "A.sse.dp.2:1update.u2.s2",
         "a stream that is loaded from is written"},
    };
    for (size_t i = 0; i < sizeof planted / sizeof *planted; i++) {
        const struct carm_code_spec specs[] = {parse(planted[i].run), parse(planted[i].taken_for)};
        struct carm_image *image = open_image(specs, 2);
        struct carm_code code = image->codes[1];
        assert_null(check_windows(&code, 0, 64));
        code.run = image->codes[0].run;
        const char *wrong = check_windows(&code, 0, 64);
        assert_string_equal(wrong ? wrong : "nothing", planted[i].wrong);
        if (i == 2) {
            code.run = image->codes[1].run;
            code.account.store_bytes += 16;
            assert_string_equal(check_windows(&code, 0, 0), "bytes written");
        }
        close_opened();
    }
}

/* One iteration too many meets the guard of either stream, and of a stride. */
TEST(guards)
{
    static const char *const names[] = {"A.sse.dp.1:1.u4.s2", "A.sse.dp.2:0.u4.s2",
                                        "A.sse.dp.1:1nt.u4.s2"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const struct carm_code_spec spec = parse(names[i]);
        struct carm_image *image = open_image(&spec, 1);
        const struct carm_code *code = &image->codes[0];
        const size_t bytes = ITERATIONS * code->account.stride_bytes;
        uint8_t *const ends[] = {arena.first + PIECE - bytes, piece(1) + PIECE - bytes};
        const uint64_t both = (uint64_t)(ends[1] - ends[0]);
        assert_int_equal(run_child(code, ends[0], ITERATIONS, both), 0);
        /* the first stream's end, then the second's */
        assert_int_equal(run_child(code, ends[0], ITERATIONS + 1, both - 4096), SIGSEGV);
        assert_int_equal(run_child(code, ends[0] - 4096, ITERATIONS + 1, both + 4096), SIGSEGV);
        assert_int_equal(run_child(code, ends[0] - 4096, ITERATIONS + 1, both), 0);
        close_opened();
    }
}

/* A code is run on pages that may not be read: each fault opens one and notes it. */
static volatile uint8_t opened[PIECE / PAGE];

static void open_page(int number, siginfo_t *info, void *context)
{
    const size_t at = (size_t)((uint8_t *)info->si_addr - arena.first);
    (void)number;
    (void)context;
    if (at >= PIECE || opened[at / PAGE]) {
        (void)signal(SIGSEGV, SIG_DFL); /* outside: the access faults again, for good */
        return;
    }
    opened[at / PAGE] = 1;
    (void)mprotect(arena.first + at / PAGE * PAGE, PAGE, PROT_READ);
}

static void close_pages(void)
{
    memset((void *)(uintptr_t)opened, 0, sizeof opened);
    assert_int_equal(mprotect(arena.first, PIECE, PROT_NONE), 0);
}

static struct sigaction watch(void)
{
    struct sigaction before;
    struct sigaction action = {.sa_sigaction = open_page, .sa_flags = SA_SIGINFO};
    assert_int_equal(sigaction(SIGSEGV, &action, &before), 0);
    return before;
}

static void unwatch(const struct sigaction *before)
{
    assert_int_equal(sigaction(SIGSEGV, before, NULL), 0);
    assert_int_equal(mprotect(arena.first, PIECE, PROT_READ | PROT_WRITE), 0);
}

/* A stride of 128 lines reads every second page and no other, from whichever line it starts. */
TEST_OF_ISAS(jump)
{
    const enum carm_isa isa = isa_of(state);
    for (int precision = 0; precision < CARM_FLOATS; precision++) {
        struct carm_code_spec spec = {.kind = CARM_KIND_A,
                                      .isa = isa,
                                      .precision = (enum carm_precision)precision,
                                      .mix = {.loads = 1},
                                      .stride = 128};
        const unsigned width = carm_isa_vector_bytes(isa, spec.precision);
        spec.units = 2 * 64 / width; /* two lines in an iteration */
        struct carm_image *image = open_image(&spec, 1);
        const struct carm_code *code = &image->codes[0];
        assert_int_equal(code->account.stride_bytes, 4 * PAGE);
        assert_int_equal(code->account.load_bytes, 128);
        for (unsigned phase = 0; phase < 128; phase += 9) {
            static struct call c;
            close_pages();
            const struct sigaction before = watch();
            c = (struct call){.fn = code->run,
                              .window = arena.first + 64 * (size_t)phase,
                              .iterations = PIECE / (4 * PAGE),
                              .passes = 2};
            const char *wrong = run_guarded(&c, &spec);
            unwatch(&before);
            assert_null(wrong);
            for (unsigned page = 0; page < PIECE / PAGE; page++) {
                assert_int_equal(opened[page], page % 2 == phase / 64);
            }
        }
        close_opened();
    }
}

/* Every word of the window holds its own number, so that the vector that an iteration loaded last tells
 * where it was: at the end of the line that is due. */
TEST_OF_ISAS(jump_offsets)
{
    static const unsigned strides[] = {2, 3, 8, 17};
    const enum carm_isa isa = isa_of(state);
    for (size_t i = 0; i < sizeof strides / sizeof *strides; i++) {
        struct carm_code_spec spec = {
            .kind = CARM_KIND_A, .isa = isa, .mix = {.loads = 1}, .stride = strides[i]};
        const unsigned width = carm_isa_vector_bytes(isa, spec.precision);
        static struct call c;
        for (uint64_t k = 0; k < PIECE / 8; k++) {
            memcpy(arena.first + 8 * k, &k, sizeof k);
        }
        for (unsigned lines = 1; lines <= 5; lines++) {
            spec.units = lines * 64 / width;
            struct carm_image *image = open_image(&spec, 1);
            c = (struct call){
                .fn = image->codes[0].run, .window = arena.first, .iterations = 7, .passes = 1};
            assert_null(run_guarded(&c, &spec));
            uint64_t got = 0;
            memcpy(&got, c.vectors[10], sizeof got); /* its lowest element */
            const uint64_t line = (7 * lines - 1) * (uint64_t)strides[i];
            assert_int_equal(got, (line * 64 + 64 - width) / 8);
            close_opened();
        }
    }
}

enum { LINES = PIECE / 64, DROP = 64 - 10 };
_Static_assert(LINES == 1 << (64 - DROP), "the lines of the arena");

/* Lines that the model draws, as pages. */
static void model_pages(uint64_t extra, uint64_t draws, bool pages[PIECE / PAGE])
{
    uint64_t state = extra;
    memset(pages, 0, PIECE / PAGE * sizeof *pages);
    for (uint64_t i = 0; i < draws; i++) {
        pages[draw(&state, extra) * 64 / PAGE] = true;
    }
}

/* The pages that a few draws touch are the model's, in many beginnings; both ends of the window meet a
 * guard, and the registers are left as the model leaves them. */
TEST_OF_ISAS(random)
{
    const enum carm_isa isa = isa_of(state);
    for (int i = 0; i < 2 * 3; i++) {
        const struct carm_code_spec spec = {.kind = CARM_KIND_R,
                                            .isa = isa,
                                            .precision = i & 1 ? CARM_SP : CARM_DP,
                                            .units = 1U << i / 2};
        struct carm_image *image = open_image(&spec, 1);
        for (uint64_t k = 0; k < 40; k++) {
            static struct call c;
            bool pages[PIECE / PAGE];
            c = (struct call){.fn = image->codes[0].run,
                              .window = arena.first,
                              .iterations = 3,
                              .passes = 1 + k % 2,
                              .extra = ((k * 0x9e3779b97f4a7c15U) & ~(uint64_t)63) | DROP};
            model_pages(c.extra, c.iterations * c.passes * spec.units, pages);
            close_pages();
            const struct sigaction before = watch();
            const char *wrong = run_guarded(&c, &spec);
            unwatch(&before);
            fail_if(wrong, "code %s: %s", image->codes[0].name, wrong);
            for (unsigned page = 0; page < PIECE / PAGE; page++) {
                assert_int_equal(opened[page], pages[page]);
            }
        }
        close_opened();
    }
}

/* Line for line: a load that is the last of its call leaves its vector behind, which tells its place. */
TEST_OF_ISAS(random_lines)
{
    const enum carm_isa isa = isa_of(state);
    struct carm_code_spec spec = {.kind = CARM_KIND_R, .isa = isa, .units = 1};
    const unsigned width = carm_isa_vector_bytes(isa, CARM_DP);
    static struct call c;
    struct carm_image *image = open_image(&spec, 1);
    const uint64_t extra = 0xfedcba9876543200U | DROP;
    uint64_t model = extra;
    bool drawn[LINES] = {false};
    unsigned different = 0;
    for (uint64_t k = 0; k < PIECE / 8; k++) {
        memcpy(arena.first + 8 * k, &k, sizeof k);
    }
    for (uint64_t n = 1; n <= 600; n++) {
        const uint64_t line = draw(&model, extra);
        uint64_t got = 0;
        c = (struct call){.fn = image->codes[0].run,
                          .window = arena.first,
                          .iterations = n,
                          .passes = 1,
                          .extra = extra};
        assert_null(run_guarded(&c, &spec));
        memcpy(&got, c.vectors[10], sizeof got);
        assert_int_equal(got, (line * 64 + 64 - width) / 8);
        different += !drawn[line];
        drawn[line] = true;
    }
    /* of 1024 lines 600 draws find 1024 (1 - e^(-600/1024)) = 454 */
    assert_in_range(different, 400, 510);
}

RUN_TESTS(open_arena, close_arena)
