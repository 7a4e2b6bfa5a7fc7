/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Verdicts on parts of a program: from planted rows of a profile, their code, time and simulated caches to limits, gains,
 * advice and notes. */
#include "models/latency.h"
#include "models/scaling.h"
#include "run/parts.h"
#include "tests/run/loops.h"

/* 1 GHz, so that a cycle is a nanosecond. Four instructions enter in a cycle. */
static const struct carm_microarchitecture core = {.issue = 4.0,
                                                   .core = {{"load", "", "", 4, 0.5},
                                                            {"store", "", "", 0, 1},
                                                            {"int-add", "", "", 1, 0.25},
                                                            {"add", "", "", 3, 2},
                                                            {"mul", "", "", 3, 2},
                                                            {"x87-add", "", "", 3, 2},
                                                            {"forward", "", "", 5, 0},
                                                            {"branch-mispredicted", "", "", 16, 0}},
                                                   .ncore = 8};
static struct carm_latency latency[] = {
    {.level = "L1", .order = CARM_LATENCY_RANDOM, .page_bytes = PAGE, .seconds = 1e-9},
    {.level = "L2", .order = CARM_LATENCY_RANDOM, .page_bytes = PAGE, .seconds = 5e-9},
    {.level = "L3", .order = CARM_LATENCY_RANDOM, .page_bytes = PAGE, .seconds = 21e-9},
    {.level = "DRAM", .order = CARM_LATENCY_RANDOM, .page_bytes = PAGE, .seconds = 101e-9}};
static struct carm_in_flight flights[] = {
    {.level = "L2", .code = "scalar", .rate = 1e9 / 2},
    {.level = "L3", .code = "scalar", .rate = 1e9 / 4},
    {.level = "DRAM", .code = "scalar", .rate = 1e9 / 10},
    {.level = "DRAM", .code = "scalar", .page_bytes = PAGE, .rate = 1e9 / 20}};
static struct carm_core_figure figures[] = {
    {.kind = CARM_CORE_LINE_SPLIT, .precision = "dp", .isa = "scalar", .throughput = 8.0},
    {.kind = CARM_CORE_LINE_SPLIT_STORE, .precision = "dp", .isa = "sse", .throughput = 4.0}};
static struct carm_memory_roof memory[] = {{.level = "L3", .ldst = "1:0", .bandwidth = 16e9},
                                           {.level = "DRAM", .ldst = "1:0", .bandwidth = 8e9}};
static struct carm_roofs roofs[] = {{.isa = "avx512",
                                     .precision = "dp",
                                     .threads = 1,
                                     .clock_hz = 1e9,
                                     .memory = memory,
                                     .nmemory = 2},
                                    {.isa = "sse",
                                     .precision = "sp",
                                     .threads = 1,
                                     .clock_hz = 2e9,
                                     .memory = memory,
                                     .nmemory = 2},
                                    {.isa = "avx512",
                                     .precision = "dp",
                                     .threads = 4,
                                     .clock_hz = 0.5e9,
                                     .memory = memory,
                                     .nmemory = 2}};
static struct carm_scaling_point reached[] = {
    {.threads = 1, .rate = 4e9}, {.threads = 2, .rate = 8e9}, {.threads = 4, .rate = 8e9}};
static struct carm_scaling curves[] = {
    {.layout = "one", .level = "L3", .points = reached, .npoints = 3},
    {.layout = "one", .level = "DRAM", .points = reached, .npoints = 3}};
static struct carm_core_pair pairs[] = {{.seconds = 20e-9}};
static const struct carm_model model = {.latency = latency,
                                        .nlatency = 4,
                                        .in_flight = flights,
                                        .nin_flight = 4,
                                        .core = figures,
                                        .ncore = 2,
                                        .roofs = roofs,
                                        .nroofs = 3,
                                        .scaling = curves,
                                        .nscaling = 2,
                                        .core_to_core = pairs,
                                        .ncore_to_core = 1};

/* ---- what is said of a part ---- */

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    const size_t at = strlen(said);
    va_list ap;
    va_start(ap, format);
    (void)vsnprintf(said + at, sizeof said - at, format, ap);
    va_end(ap);
}

static void say_gain(const char *before, struct carm_verdict_gain gain)
{
    say("%s%.4g..%.4g", before, gain.low, gain.high);
}

/* The limit, its share and the second limit; the gains; advice; bounds in cycles, in brackets those that the time
 * refutes, with ? estimates; the rest. */
static void say_verdict(const struct carm_run_verdict *of)
{
    const struct carm_verdict *v = &of->verdict;
    said[0] = '\0';
    if (!of->has) {
        say("none");
        return;
    }
    say("%s%s %.4g, %s", v->estimate ? "maybe " : "", carm_limit_name(v->limit), v->explains,
        carm_limit_name(v->second));
    say_gain("; ", v->loop);
    say_gain(" ", v->program);
    for (size_t i = 0; i < v->nadvice; i++) {
        say("; %s", carm_advice_name(v->advice[i].code));
        if (v->advice[i].gain.low > 0.0) {
            say_gain(" ", v->advice[i].gain);
        }
        if (v->advice[i].removes != v->limit) {
            say(" of %s", carm_limit_name(v->advice[i].removes));
        }
    }
    say("; of %.4g:", 1e9 * v->seconds);
    for (size_t i = 0; i < v->bounds.n; i++) {
        const struct carm_lower_bound *b = &v->bounds.of[i];
        say(b->refuted ? " (%s %.4g%s)" : " %s %.4g%s", carm_limit_name(b->limit), 1e9 * b->seconds,
            b->estimate ? "?" : "");
    }
    if (of->used > 0.0) {
        say("; used %.4g", of->used);
    }
    if (of->stride) {
        say("; stride %lld", (long long)of->stride);
    }
    say("%s%s%s%s", of->leaps ? "; leaps" : "", of->scattered ? "; scattered" : "",
        of->note[0] ? "; " : "", of->note);
}

/* ---- loops ---- */

/* addsd xmm0, [rdi]; add rdi, 8; cmp rdi, rsi; jne */
#define SUM "f2 0f 58 07 48 83 c7 08 48 39 f7 75 f3"
/* mov rax, [rax]; mov edx, [rax + rbx]; sub rcx, 1; jne */
#define CHASE "48 8b 00 8b 14 18 48 83 e9 01 75 f4"
/* movsd xmm0, [rsp - 8]; addsd xmm0, xmm1; movsd [rsp - 8], xmm0; sub rax, 1; jne */
#define ON_STACK "f2 0f 10 44 24 f8 f2 0f 58 c1 f2 0f 11 44 24 f8 48 83 e8 01 75 ea"
/* movups xmm0 .. xmm3, [rdi], [rdi + 16], ...; add rdi, 64; cmp rdi, rsi; jne: two cycles of loads */
#define LOADS "0f 10 07 0f 10 4f 10 0f 10 57 20 0f 10 5f 30 48 83 c7 40 48 39 f7 75 ea"
/* movups [rdi], xmm0; movups [rdi + 16], xmm0; add rdi, 32; cmp; jne */
#define STORES "0f 11 07 0f 11 47 10 48 83 c7 20 48 39 f7 75 f0"
/* addsd xmm0 .. xmm3, [rdi]; cmp; jne */
#define SCALAR "f2 0f 58 07 f2 0f 58 4f 08 f2 0f 58 57 10 48 83 c7 18 48 39 f7 75 e9"
/* two addps, two addsd */
#define HALF "0f 58 07 0f 58 4f 10 f2 0f 58 57 20 f2 0f 58 5f 28 48 83 c7 30 48 39 f7 75 e6"
/* two addps, addsd */
#define VECTORS "0f 58 07 0f 58 4f 10 f2 0f 58 57 20 48 83 c7 30 48 39 f7 75 eb"
/* vaddpd ymm0 and ymm1, [rdi] */
#define WIDE "c5 fd 58 07 c5 f5 58 4f 20 48 83 c7 40 48 39 f7 75 f1"
/* addsd xmm0, [rdi]; addsd xmm1, [rdi]; add rdi, 128; cmp; jne */
#define STRIDED "f2 0f 58 07 f2 0f 58 0f 48 81 c7 80 00 00 00 48 39 f7 75 ec"
/* movsd xmm0, [rdi]; movsd [rsi], xmm0; add rdi, 8; add rsi, 8; cmp; jne */
#define COPY "f2 0f 10 07 f2 0f 11 06 48 83 c7 08 48 83 c6 08 48 39 cf 75 eb"
/* fxch; fld qword [rdi]; faddp; add rdi, 8; cmp; jne: two sums in turn */
#define X87 "d9 c9 dd 07 de c1 48 83 c7 08 48 39 f7 75 f1"
/* movsd xmm0, [rdi]; addsd xmm0, xmm1; movsd [rdi], xmm0; add rdi, 8; cmp; jne */
#define UPDATES "f2 0f 10 07 f2 0f 58 c1 f2 0f 11 07 48 83 c7 08 48 39 f7 75 eb"
/* movups [rdi], xmm0; add rdi, 128; cmp; jne */
#define STRIDED_STORES "0f 11 07 48 81 c7 80 00 00 00 48 39 f7 75 f1"
/* movsd xmm0, [rdi]; add rdi, rbx; cmp; jne */
#define BY_REGISTER "f2 0f 10 07 48 01 df 48 39 cf 75 f4"
/* movsd xmm0 .. xmm3, [rdi]; add rdi, 64; cmp; jne */
#define A_LINE "f2 0f 10 07 f2 0f 10 0f f2 0f 10 17 f2 0f 10 1f 48 83 c7 40 48 39 f7 75 e7"
/* movsd xmm0 .. xmm3, of [rdi], [rsi], [rdx], [rdx]; add rdi, 72; sub rsi, 128; add rdx, 96; cmp rdi, rcx; jne */
#define STRIDES \
    "f2 0f 10 07 f2 0f 10 0e f2 0f 10 12 f2 0f 10 1a 48 83 c7 48 48 81 ee 80 00 00 00 48 83 c2 60 48 39 cf 75 dc"
/* movsd xmm0 .. xmm3, [rdi]; add rcx, 100; cmp rcx, rsi; jne */
#define BY_100 "f2 0f 10 07 f2 0f 10 0f f2 0f 10 17 f2 0f 10 1f 48 83 c1 64 48 39 f1 75 e7"
/* imul rax, rax; add rax, 1; cmp rax, rbx; jl; nop; sub rcx, 1; jne */
#define COMPUTED "48 0f af c0 48 83 c0 01 48 39 d8 7c f3 90 48 83 e9 01 75 ec"
/* mov eax, [rdi]; addsd xmm0, [rsi + rax * 8]; add rdi, 4; cmp rdi, rdx; jne */
#define FALLS "8b 07 f2 0f 58 04 c6 48 83 c7 04 48 39 d7 75 f0"
/* mov rbx, [rsp - 8]; mov [rsp - 8], rbx; sub rax, 1; jne */
#define MOVED "48 8b 5c 24 f8 48 89 5c 24 f8 48 83 e8 01 75 f0"
/* mov eax, [rdi]; mov ebx, [rdi + 4]; mov ecx, [rdi + 8]; mov edx, [rdi + 12]; mov [rdi - 16], eax; add rdi, 16; cmp; jne */
#define GENERAL "8b 07 8b 5f 04 8b 4f 08 8b 57 0c 89 47 f0 48 83 c7 10 48 39 f7 75 e9"
/* movsd xmm0, [rdi]; add rdi, 8; cmp rdi, rsi; jne, and movups [rdi], xmm0 likewise */
#define ONE_LOAD  "f2 0f 10 07 48 83 c7 08 48 39 f7 75 f3"
#define ONE_STORE "0f 11 07 48 83 c7 10 48 39 f7 75 f4"
/* vmovups ymm0 .. ymm3, [rdi], ...; add rdi, 128; cmp rdi, rsi; jne */
#define WIDE_LOADS \
    "c5 fc 10 07 c5 fc 10 4f 20 c5 fc 10 57 40 c5 fc 10 5f 60 48 83 ef 80 48 39 f7 75 e3"
/* mov [rdi], rax; movups [rdi + 16], xmm0; add rdi, 32; cmp rdi, rsi; jne */
#define HALF_STORES "48 89 07 0f 11 47 10 48 83 c7 20 48 39 f7 75 f0"
/* addsd xmm4, xmm5; LOADS, and addps xmm4, xmm5 before four movsd */
#define ONE_SCALAR "f2 0f 58 e5 " LOADS
#define ONE_VECTOR \
    "0f 58 e5 f2 0f 10 07 f2 0f 10 0f f2 0f 10 17 f2 0f 10 1f 48 83 c7 08 48 39 f7 75 e4"
#define PAUSE "f3 90 83 e9 01 75 f9"
#define STOS  "f3 aa 48 83 ea 01 75 f8"
/* mov eax, [rdi]; add rdi, 4; cmp qword [rsi + rax * 8], 0; jl; nop; cmp rdi, rcx; jne */
#define BRANCH "8b 07 48 83 c7 04 48 83 3c c6 00 7c f3 90 48 39 cf 75 ed"

#define A(l2, l3, dram, ...)                                                   \
    {                                                                          \
        .lines = {l2, l3, dram}, .places = {.translated = TIMES, __VA_ARGS__ } \
    }
#define BYTES(l2, l3, dram)                                                                       \
    {                                                                                             \
        .levels = { {.bytes = TIMES * (l2)}, {.bytes = TIMES * (l3)}, {.bytes = TIMES * (dram)} } \
    }
/* 1024 bytes of memory in each iteration; of all lines of L1 so many bytes are not used */
#define USED(misses_, unused_)                                          \
    {                                                                   \
        .levels = {                                                     \
            {.misses = (misses_), .unused = (unused_), .bytes = TIMES}, \
            {.bytes = TIMES},                                           \
            {.bytes = 1024 * TIMES}                                     \
        }                                                               \
    }

#define NO_BYTES                   \
    {                              \
        .levels = { {.bytes = 0} } \
    }
#define OPTIONS(...) \
    {                \
        __VA_ARGS__  \
    }
#define CACHED(name, code, cycles, says, with, figures, ...) \
    {                                                        \
        name, code, cycles, says, with, true, figures,       \
        {                                                    \
            __VA_ARGS__                                      \
        }                                                    \
    }
#define PART(name, code, cycles, says, ...)                       \
    {                                                             \
        name, code, cycles, says, {__VA_ARGS__}, false, NO_BYTES, \
        {                                                         \
            A(0, 0, 0)                                            \
        }                                                         \
    }

/* What is not given is as usual: a loop of 1000 iterations in 100 samples, half of the program's time, that is entered by
 * branches that are not known. */
static const struct part {
    const char *name, *code;
    double cycles; /* of an iteration, measured, in each thread */
    const char *says;
    struct {
        enum carm_profile_kind kind;
        const char *module;
        double trips, all; /* seconds of all threads over those of the longest */
        uint64_t samples, inside, string_bytes, executions;
        size_t second;
        double taken, iterations, looks; /* hertz */
        double width;                    /* of one of three looks */
        double now;                      /* byte/s of memory beside the run */
        int threads;
        uint32_t samplers;
        bool differs, falls, no_flights, stays, no_counts, no_model, no_roofs, singles, huge,
            no_ops, no_code, no_time, gaps, dispatches, about, never;
    } with;
    bool simulated;
    struct carm_run_figures figures;
    struct at at[5];
} parts[] = {
    PART("sum", SUM, 3.2,
         "chain 0.9375, unknown; 1..12.8 1..1.855; break-chain; vectorise; "
         "of 3.2: chain 3 fp 2 issue 0.75 integer 0.5 loads 0.5"),
    PART("no code", SUM, 3.2, "none", .no_code = true),
    PART("no instructions", SUM, 3.2, "none", .no_ops = true),
    PART("not counted", SUM, 3.2, "none", .no_counts = true),
    PART("runs differ", SUM, 3.2, "none", .differs = true),
    PART("no time", SUM, 3.2, "none", .no_time = true),
    PART("two samples", SUM, 3.2, "none", .samples = CARM_PROFILE_FEWEST - 1),
    PART("three samples", SUM, 3.2,
         "chain 0.9375, unknown; 1..12.8 1..1.855; break-chain; vectorise; "
         "of 3.2: chain 3 fp 2 issue 0.75 integer 0.5 loads 0.5",
         .samples = CARM_PROFILE_FEWEST),
    PART("sum of a function", SUM, 3.2,
         "chain 0.9375, unknown; 1..1.6 1..1.231; break-chain; "
         "of 3.2: chain 3 fp 2 issue 0.75 integer 0.5 loads 0.5",
         .kind = CARM_PROFILE_FUNCTION),
    PART("sum of libm", SUM, 3.2,
         "chain 0.9375, unknown; 1..12.8 1..1.855; vector-math; "
         "of 3.2: chain 3 fp 2 issue 0.75 integer 0.5 loads 0.5",
         .module = "libm.so.6"),
    PART("sum of no libm", SUM, 3.2,
         "chain 0.9375, unknown; 1..12.8 1..1.855; break-chain; vectorise; "
         "of 3.2: chain 3 fp 2 issue 0.75 integer 0.5 loads 0.5",
         .module = "libm.s"),
    PART("sum of an interpreter", SUM, 3.2,
         "chain 0.9375, unknown; 1..1.6 1..1.231; break-chain; "
         "of 3.2: chain 3 fp 2 issue 0.75 integer 0.5 loads 0.5",
         .dispatches = true),
    PART("sum of singles", SUM, 1.6,
         "chain 0.9375, unknown; 1..12.8 1..1.855; break-chain; vectorise; "
         "of 1.6: chain 1.5 fp 1 issue 0.375 integer 0.25 loads 0.25",
         .singles = true),
    PART("sum in four threads", SUM, 1.6,
         "chain 0.9375, unknown; 1..12.8 1..1.855; break-chain; vectorise; "
         "of 6.4: chain 6 fp 4 issue 1.5 integer 1 loads 1",
         .threads = 4),
    PART(
        "sum in two unequal threads", SUM, 2.3,
        "chain 0.9317, unknown; 1..12.88 1..1.856; break-chain; vectorise; balance 1..1.429 of waiting; "
        "of 3.22: chain 3 fp 2 issue 0.75 integer 0.5 loads 0.5",
        .threads = 2, .all = 1.4),
    PART("sum in two nearly equal threads", SUM, 1.9,
         "chain 0.9288, unknown; 1..12.92 1..1.856; break-chain; vectorise; "
         "of 3.23: chain 3 fp 2 issue 0.75 integer 0.5 loads 0.5",
         .threads = 2, .all = 1.7),
    PART("no roofs", SUM, 3.2, "unknown 0, unknown; 1..1 1..1; of 3.2:", .no_roofs = true),
    PART("no model", SUM, 3.2, "unknown 0, unknown; 1..1 1..1; of 3.2:", .no_model = true),
    PART("clock of the run", SUM, 2.6,
         "chain 0.9231, unknown; 1..13 1..1.857; break-chain; vectorise; "
         "of 2.6: chain 2.4 fp 1.6 issue 0.6 integer 0.4 loads 0.4",
         .looks = 1.25e9, .width = 4),
    PART("clock of the run, no model", SUM, 2.6,
         "chain 0.9231, unknown; 1..1.625 1..1.238; break-chain; "
         "of 2.6: chain 2.4 fp 1.6 issue 0.6 integer 0.4 loads 0.4",
         .looks = 1.25e9, .width = 4, .no_model = true),
    PART("clock too far off", SUM, 3.2,
         "chain 0.9375, unknown; 1..12.8 1..1.855; break-chain; vectorise; "
         "of 3.2: chain 3 fp 2 issue 0.75 integer 0.5 loads 0.5",
         .looks = 1.5e9, .width = 4),
    PART("loads", LOADS, 2.2,
         "loads 0.9091, unknown; 1..1.467 1..1.189; widen; "
         "of 2.2: loads 2 issue 1.5 chain 1 integer 0.5"),
    PART("wide loads", WIDE_LOADS, 2.2,
         "loads 0.9091, unknown; 1..1 1..1; nothing; "
         "of 2.2: loads 2 issue 1.5 chain 1 integer 0.5; stride 128"),
    PART("half of the stores are wide", HALF_STORES, 2.2,
         "stores 0.9091, unknown; 1..2.2 1..1.375; vectorise; "
         "of 2.2: stores 2 issue 1 chain 1 integer 0.5"),
    PART("stores", STORES, 2.2,
         "stores 0.9091, unknown; 1..2.2 1..1.375; widen; "
         "of 2.2: stores 2 issue 1 chain 1 integer 0.5"),
    PART("one addition beside loads of vectors", ONE_SCALAR, 2.2,
         "fp 0.9091, loads; 1..8.8 1..1.796; vectorise; "
         "of 2.2: (chain 3) fp 2 loads 2 issue 1.75 integer 0.5"),
    PART("one addition of vectors beside loads", ONE_VECTOR, 2.2,
         "fp 0.9091, loads; 1..4.4 1..1.63; widen; "
         "of 2.2: (chain 3) fp 2 loads 2 issue 1.75 integer 0.5"),
    PART("loads in company", LOADS, 3,
         "maybe loads 0.8889, unknown; 1..1.5 1..1.2; widen; "
         "of 3: loads 2 issue 1.5 chain 1 integer 0.5",
         .looks = 1e9, .width = 1),
    PART("loads of several threads", LOADS, 3,
         "unknown 0.6667, loads; 1..1 1..1; "
         "of 3: loads 2 issue 1.5 chain 1 integer 0.5",
         .looks = 1e9, .width = 1, .samplers = 2),
    PART("iterations by the row", SUM, 2.2,
         "fp 0.9091, unknown; 1..8.8 1..1.796; vectorise; "
         "of 4.4: fp 4 chain 3 issue 1.5 integer 1 loads 1",
         .iterations = -1, .executions = 500),
    PART("no iterations", SUM, 2.2,
         "fp 0.9091, unknown; 1.294..8.8 1.128..1.796; vectorise; "
         "of 2200: fp 2000 issue 750 integer 500 loads 500 chain 3",
         .iterations = -1, .never = true),
    PART("one of four trips", SUM, 1.6,
         "unknown 0.4687, issue; 1..1 1..1; "
         "of 1.6: (fp 2) issue 0.75 chain 0.75 integer 0.5 loads 0.5",
         .trips = 4),
    PART("255 trips", SUM, 3.2,
         "unknown 0.625, fp; 1..1 1..1; "
         "of 3.2: fp 2 issue 0.75 chain 0.75 integer 0.5 loads 0.5",
         .trips = 255),
    PART("255 trips", ON_STACK, 8.5,
         "forwarding 0.9412, unknown; 1.889..4.25 1.308..1.619; keep-in-register; "
         "of 8.5: forwarding 8 fp 2 issue 1 stores 1 loads 0.5 integer 0.25",
         .trips = 255),
    PART("256 trips", ON_STACK, 8.5,
         "forwarding 0.9412, unknown; 1.889..2.833 1.308..1.478; keep-in-register; "
         "of 8.5: forwarding 8 fp 2 issue 1 stores 1 loads 0.5 integer 0.25",
         .trips = 256),
    PART("loop inside", SUM, 2,
         "fp 1, chain; 1..8 1..1.778; vectorise; "
         "of 2: fp 2 chain 2 issue 0.75 integer 0.5 loads 0.5",
         .gaps = true, .inside = 150),
    PART("loop inside of two threads", SUM, 2,
         "unknown 0.5, fp; 1..1 1..1; "
         "of 4: fp 2 chain 1 issue 0.75 integer 0.5 loads 0.5",
         .gaps = true, .inside = 150, .threads = 2),
    PART("no loop inside", SUM, 3.2,
         "chain 0.9375, unknown; 1..12.8 1..1.855; break-chain; vectorise; "
         "of 3.2: chain 3 fp 2 issue 0.75 integer 0.5 loads 0.5",
         .inside = 150),
    PART("counter beside a loop", LOADS, 2,
         "loads 1, unknown; 1..1.333 1..1.143; widen; "
         "of 2: loads 2 issue 1.5 integer 0.5 chain 0.5",
         .gaps = true, .inside = 125),
    PART("two trips by data", BRANCH, 8,
         "maybe branches 0.9219, unknown; 2..7.111 1.333..1.753; no-branch; "
         "of 8: branches 6.25? issue 1.125 chain 1.125 loads 1 chain 1 integer 0.6875",
         .second = 13, .taken = 250, .trips = 2),
    PART("2.00005 trips by data", BRANCH, 8,
         "maybe branches 0.9219, unknown; 2..7.111 1.333..1.753; no-branch; "
         "of 8: branches 6.25? issue 1.125 chain 1.125 loads 1 chain 1 integer 0.6875",
         .second = 13, .taken = 250, .trips = 2.00005),
    PART("2.0002 trips by data", BRANCH, 8,
         "maybe branches 0.9219, unknown; 2..7.111 1.333..1.753; no-branch; "
         "of 8: branches 6.25? issue 1.125 loads 1 chain 1 integer 0.6875",
         .second = 13, .taken = 250, .trips = 2.0002),
    PART("two trips by data, about", BRANCH, 8,
         "maybe branches 0.9219, unknown; 2..7.111 1.333..1.753; no-branch; "
         "of 8: branches 6.25? issue 1.125 loads 1 chain 1 integer 0.6875",
         .second = 13, .taken = 250, .trips = 2, .about = true),
    PART("1 trip by data", BRANCH, 8,
         "maybe branches 0.9219, unknown; 2..7.111 1.333..1.753; no-branch; "
         "of 8: branches 6.25? issue 1.125 loads 1 chain 1 integer 0.6875",
         .second = 13, .taken = 250, .trips = 1),
    PART("scalar", SCALAR, 6.2,
         "fp 0.9677, unknown; 1..8.267 1..1.784; vectorise; "
         "of 6.2: fp 6 chain 3 loads 1.5 issue 1.25 integer 0.5"),
    PART("half", HALF, 8.2,
         "fp 0.9756, unknown; 1.323..5.467 1.139..1.691; vectorise; "
         "of 8.2: fp 8 chain 3 loads 2 issue 1.5 integer 0.5"),
    PART("vectors", VECTORS, 6.2,
         "fp 0.9677, unknown; 1..4.96 1..1.664; widen; "
         "of 6.2: fp 6 chain 3 loads 1.5 issue 1.25 integer 0.5"),
    PART("wide", WIDE, 4.2,
         "fp 0.9524, unknown; 1..1 1..1; nothing; "
         "of 4.2: fp 4 chain 3 issue 1 loads 1 integer 0.5"),
    PART("x87", X87, 2.2,
         "fp 0.9091, unknown; 1..1.467 1..1.189; vectorise; "
         "of 2.2: fp 2 chain 1.5 issue 1.25 integer 0.5 loads 0.5"),
    PART("strings", STOS, 2.2,
         "maybe l1 1, unknown; 1..1.408 1..1.169; vectorise; "
         "of 2.2: l1 1.562? stores 1 chain 1 integer 0.5 issue 0.5",
         .string_bytes = 100),
    CACHED("splits", LOADS, 2.5,
           "loads 0.9, unknown; 1..1.25 1..1.111; align; "
           "of 2.5: loads 2.25 issue 1.5 chain 1 integer 0.5",
           OPTIONS(.taken = 0), NO_BYTES, A(1, 0, 0, .split = 0.5), A(1, 0, 0), A(1, 0, 0),
           A(1, 0, 0)),
    CACHED("split stores", STORES, 3.5,
           "stores 1, unknown; 1.25..1.25 1.111..1.111; align; "
           "of 3.5: stores 3.5 issue 1 chain 1 integer 0.5",
           OPTIONS(.taken = 0), NO_BYTES, A(0, 0, 0, .split = 0.5), A(0, 0, 0)),
    CACHED("chase", CHASE, 110,
           "latency 0.9455, unknown; 3.438..7.857 1.549..1.774; prefetch; "
           "of 110: latency 104 latency 7 chain 4 latency 4 loads 1 issue 0.75 integer 0.25; "
           "scattered",
           OPTIONS(.taken = 0), NO_BYTES, A(0, 0, 1000, .apart = 1), A(100, 200, 300, .apart = 1)),
    CACHED("chase, huge", CHASE, 110,
           "latency 0.9455, unknown; 3.438..7.857 1.549..1.774; prefetch; "
           "of 110: latency 104 chain 4 latency 4 loads 1 issue 0.75 integer 0.25; scattered",
           OPTIONS(.huge = true), NO_BYTES, A(0, 0, 1000, .apart = 1),
           A(100, 200, 300, .apart = 1)),
    CACHED("strided", STRIDED, 130,
           "dram 0.9846, unknown; 8.125..8.125 1.781..1.781; unit-stride; "
           "of 130: dram 128 fp 4 chain 3 issue 1 loads 1 integer 0.5 l3 0.0625; "
           "used 0.5; stride 128",
           OPTIONS(.taken = 0), USED(4000, 128000), A(0, 0, 1000), A(0, 0, 0)),
    CACHED("strided, all used", STRIDED, 130,
           "dram 0.9846, unknown; 13..32.5 1.857..1.94; block; "
           "of 130: dram 128 fp 4 chain 3 issue 1 loads 1 integer 0.5 l3 0.0625; used 0.7656",
           OPTIONS(.taken = 0), USED(4000, 60000), A(0, 0, 1000), A(0, 0, 0)),
    CACHED("copy", COPY, 9,
           "dram 0.8889, unknown; 1..7.2 1..1.756; block; stream-stores; "
           "of 9: dram 8 l3 4 issue 1.25 stores 1 chain 1 integer 0.75 loads 0.5",
           OPTIONS(.taken = 0), BYTES(64, 64, 64), A(0, 0, 125), A(0, 0, 125)),
    CACHED("copy of four threads", COPY, 9,
           "dram 0.8889, unknown; 1..14.4 1..1.87; block; stream-stores; "
           "of 36: dram 32 l3 16 issue 2.5 stores 2 chain 2 integer 1.5 loads 1; "
           "2 of its 4 threads are enough: they reach 95% of the bandwidth of DRAM",
           OPTIONS(.threads = 4), BYTES(64, 64, 64), A(0, 0, 125), A(0, 0, 125)),
    CACHED("copy of four threads, L3", COPY, 4.5,
           "l3 0.8889, unknown; 2.571..7.2 1.44..1.756; block; "
           "of 18: l3 16 issue 2.5 stores 2 chain 2 integer 1.5 loads 1; "
           "2 of its 4 threads are enough: they reach 95% of the bandwidth of L3",
           OPTIONS(.threads = 4), BYTES(64, 64, 0), A(0, 0, 125), A(0, 0, 125)),
    CACHED("copy of two threads", COPY, 4.5,
           "dram 0.8889, unknown; 1..7.2 1..1.756; block; stream-stores; "
           "of 9: dram 8 l3 4 issue 1.25 stores 1 chain 1 integer 0.75 loads 0.5",
           OPTIONS(.threads = 2), BYTES(64, 64, 64), A(0, 0, 125), A(0, 0, 125)),
    CACHED("copy of four threads, faster", COPY, 6,
           "maybe dram 1, unknown; 1..9.6 1..1.811; block; stream-stores; "
           "of 24: (dram 32) l3 16 issue 2.5 stores 2 chain 2 integer 1.5 loads 1",
           OPTIONS(.threads = 4), BYTES(64, 64, 64), A(0, 0, 125), A(0, 0, 125)),
    CACHED("memory is slower", STRIDED, 200,
           "maybe dram 1, unknown; 16..32 1.882..1.939; unit-stride; "
           "of 200: dram 128 fp 4 chain 3 issue 1 loads 1 integer 0.5 l3 0.0625; stride 128",
           OPTIONS(.now = 5e9), BYTES(1, 1, 1024), A(0, 0, 1000), A(0, 0, 0)),
    CACHED("memory is not slower", STRIDED, 200,
           "unknown 0.64, dram; 1..1 1..1; "
           "of 200: dram 128 fp 4 chain 3 issue 1 loads 1 integer 0.5 l3 0.0625; stride 128",
           OPTIONS(.now = 8e9), BYTES(1, 1, 1024), A(0, 0, 1000), A(0, 0, 0)),
    CACHED("updates", UPDATES, 9,
           "dram 0.8889, unknown; 1..4.5 1..1.636; block; "
           "of 9: dram 8 l3 4 fp 2 issue 1.25 stores 1 chain 1 integer 0.5 loads 0.5",
           OPTIONS(.taken = 0), BYTES(64, 64, 64), A(0, 0, 125), A(0, 0, 125)),
    CACHED("strided, a tenth used", STRIDED, 130,
           "dram 0.9846, unknown; 10.16..10.16 1.821..1.821; unit-stride; "
           "of 130: dram 128 fp 4 chain 3 issue 1 loads 1 integer 0.5 l3 0.0625; "
           "used 0.1; stride 128",
           OPTIONS(.taken = 0), USED(0.5, 28.8), A(0, 0, 1000), A(0, 0, 0)),
    CACHED("strided, none used", STRIDED, 130,
           "dram 0.9846, unknown; 13..32.5 1.857..1.94; unit-stride; "
           "of 130: dram 128 fp 4 chain 3 issue 1 loads 1 integer 0.5 l3 0.0625; stride 128",
           OPTIONS(.taken = 0), USED(100, 6500), A(0, 0, 1000), A(0, 0, 0)),
    CACHED("strided stores", STRIDED_STORES, 130,
           "dram 0.9846, unknown; 4.062..4.062 1.605..1.605; unit-stride; stream-stores; "
           "of 130: dram 128 stores 1 chain 1 issue 0.75 integer 0.5 l3 0.0625; "
           "used 0.5; stride 128",
           OPTIONS(.taken = 0), USED(4000, 128000), A(0, 0, 1000)),
    CACHED(
        "leaps", BY_REGISTER, 130,
        "dram 0.9846, unknown; 3.095..8.125 1.512..1.781; unit-stride; "
        "of 130: dram 128 latency 20 latency 10 chain 1 issue 0.75 integer 0.5 loads 0.5 l3 0.0625; "
        "used 0.5; leaps; scattered",
        OPTIONS(.taken = 0), USED(4000, 128000), A(0, 0, 1000, .apart = 1)),
    PART("a line apart", A_LINE, 2.2,
         "loads 0.9091, unknown; 1..1.467 1..1.189; vectorise; "
         "of 2.2: loads 2 issue 1.5 chain 1 integer 0.5"),
    PART("strides", STRIDES, 2.2,
         "issue 0.9091, loads; 1..1.1 1..1.048; vectorise; "
         "of 2.2: issue 2 loads 2 integer 1 chain 1; stride -128"),
    PART("counter by 100", BY_100, 2.2,
         "loads 0.9091, unknown; 1..1.467 1..1.189; vectorise; "
         "of 2.2: loads 2 issue 1.5 chain 1 integer 0.5"),
    PART("computed branch", COMPUTED, 12,
         "maybe unknown 0.4375, branches; 1..1 1..1; "
         "of 12: branches 5.25? chain 2 issue 1.125 integer 0.6875",
         .second = 12, .taken = 250, .trips = 1),
    PART("one iteration", SUM, 2.2,
         "fp 0.9091, unknown; 1.294..8.8 1.128..1.796; vectorise; "
         "of 2200: fp 2000 issue 750 integer 500 loads 500 chain 3",
         .iterations = 1, .executions = 500),
    PART("4.5 trips", SUM, 1.6,
         "unknown 0.4687, issue; 1..1 1..1; "
         "of 1.6: (fp 2) issue 0.75 chain 0.75 integer 0.5 loads 0.5",
         .trips = 4.5),
    PART("4.5 trips, a load falls into the loop's end", FALLS, 2.2,
         "fp 0.9091, unknown; 1..8.8 1..1.796; vectorise; "
         "of 2.2: fp 2 issue 1 loads 1 chain 1 integer 0.5",
         .second = 7, .taken = -1, .trips = 4.5, .falls = true),
    PART("one trip on the stack", ON_STACK, 8.5,
         "forwarding 0.9412, unknown; 1.889..4.25 1.308..1.619; keep-in-register; "
         "of 8.5: forwarding 8 fp 2 issue 1 stores 1 loads 0.5 integer 0.25",
         .trips = 1),
    PART("moved on the stack", MOVED, 5.5,
         "forwarding 0.9091, unknown; 2.2..inf 1.375..2; keep-in-register; "
         "of 5.5: forwarding 5 stores 1 issue 0.75 loads 0.5 integer 0.25"),
    CACHED("chase, rates not known", CHASE, 110,
           "latency 0.9455, unknown; 3.438..27.5 1.549..1.93; prefetch; "
           "of 110: latency 104 chain 4 loads 1 issue 0.75 integer 0.25; scattered",
           OPTIONS(.no_flights = true), NO_BYTES, A(0, 0, 1000, .apart = 1),
           A(100, 200, 300, .apart = 1)),
    CACHED("chase, others take lines", CHASE, 110,
           "maybe unknown 0.4096, latency; 1..1 1..1; "
           "of 110: latency 45.06? latency 24 chain 4 loads 1 issue 0.75 integer 0.25; scattered",
           OPTIONS(.stays = true), NO_BYTES, A(0, 1000, 0, .apart = 1, .sketch = {200}),
           A(0, 0, 0)),
    CACHED("chase beside a loop, others take lines", CHASE, 110,
           "maybe unknown 0.3096, latency; 1..1 1..1; "
           "of 110: latency 34.06? latency 13 loads 1 issue 0.75 integer 0.25; scattered",
           OPTIONS(.stays = true, .gaps = true, .inside = 110), NO_BYTES,
           A(0, 1000, 0, .apart = 1, .sketch = {200}), A(0, 0, 0)),
    CACHED("splits of general registers", GENERAL, 3,
           "loads 0.8333, unknown; 1..1.5 1..1.2; align; "
           "of 3: loads 2.5 issue 1.75 stores 1 chain 1 integer 0.5",
           OPTIONS(.taken = 0), NO_BYTES, A(1, 0, 0, .split = 0.5), A(1, 0, 0, .split = 0.5),
           A(1, 0, 0), A(1, 0, 0), A(0, 0, 0)),
    CACHED("one split load", ONE_LOAD, 8.5,
           "loads 0.9412, unknown; 2.125..2.125 1.36..1.36; align; "
           "of 8.5: loads 8 chain 1 issue 0.75 integer 0.5",
           OPTIONS(.taken = 0), NO_BYTES, A(1, 0, 0, .split = 1.0)),
    CACHED("one split store", ONE_STORE, 4.2,
           "stores 0.9524, unknown; 1.909..2.1 1.312..1.355; align; "
           "of 4.2: stores 4 chain 1 issue 0.75 integer 0.5",
           OPTIONS(.taken = 0), NO_BYTES, A(1, 0, 0, .split = 1.0)),
    CACHED("contended", COPY, 13,
           "maybe unknown 0.3846, latency; 1..1 1..1; "
           "of 26: latency 10? issue 1.25 stores 1 chain 1 integer 0.75 loads 0.5",
           OPTIONS(.threads = 2), NO_BYTES, A(1, 0, 0), A(1, 0, 0, .contended = 0.5)),
};

/* What a verdict is made of: a run, its model, and a profile with its rows and their code. */
static struct {
    struct carm_profile_row rows[4];
    struct carm_flow_code codes[4];
    struct carm_profile profile;
    struct carm_run run;
    struct carm_run_levels levels;
    struct carm_model model;
    struct carm_run_after after;
} made;

static struct carm_run_verdict judge(const struct part *p)
{
    static struct carm_code_gap gap;
    struct carm_run_verdict *v = NULL;
    struct carm_profile_row *row = &made.rows[0];
    const double entries = p->with.trips > 0.0 ? 1e5 : 0.0;
    memset(&made, 0, sizeof made);
    made.codes[0] = *decode(p->code, p->with.second, p->with.taken);
    made.codes[0].nops = p->with.no_ops ? 0 : made.codes[0].nops;
    made.codes[0].iterations = p->with.iterations != 0.0 ? fmax(0.0, p->with.iterations) : TIMES;
    made.codes[0].inner = !p->with.gaps;
    made.codes[0].gaps = &gap;
    made.codes[0].ngaps = p->with.gaps;
    made.codes[0].pieces[0].indirect = p->with.dispatches;
    made.codes[0].pieces[0].jumps = !p->with.falls;
    *row = (struct carm_profile_row){.kind = p->with.kind,
                                     .code = !p->with.no_code,
                                     .samples = p->with.samples ? p->with.samples : 100,
                                     .samples_inside = p->with.inside ? p->with.inside : 100,
                                     .executions = p->with.never        ? 0
                                                   : p->with.executions ? p->with.executions
                                                   : entries > 0.0
                                                       ? (uint64_t)round(entries * p->with.trips)
                                                       : TIMES,
                                     .entries_low = (uint64_t)entries,
                                     .entries_high = (uint64_t)entries + (p->with.about ? 1 : 0),
                                     .share = 0.5,
                                     .seconds = 1e-9 * p->cycles * TIMES,
                                     .threads = p->with.threads,
                                     .differs = p->with.differs};
    row->counts.flops[0][0] = !p->with.singles;
    row->counts.flops[1][0] = p->with.singles;
    row->counts.store_bytes = p->with.string_bytes * TIMES;
    (void)snprintf(row->name, sizeof row->name, "f");
    (void)snprintf(row->module, sizeof row->module, "%s", p->with.module ? p->with.module : "p");
    made.profile = (struct carm_profile){.rows = made.rows,
                                         .nrows = 1,
                                         .codes = made.codes,
                                         .ncodes = 1,
                                         .has_counts = !p->with.no_counts,
                                         .has_time = !p->with.no_time};
    made.run.name = "p";
    made.run.cpu_seconds = p->with.all * row->seconds / row->share;
    made.run.samples.huge = p->with.huge ? 0.76 : 0.75;
    if (p->with.looks > 0.0) {
        made.run.has_samples = true;
        made.run.samples.threads = p->with.samplers ? p->with.samplers : 1u;
        made.run.samples.looks.n = 3;
        for (size_t i = 0; i < 3; i++) {
            made.run.samples.looks.of[i] =
                (struct carm_look){.clock = p->with.looks, .width = i ? 4.0 : p->with.width};
        }
    }
    made.levels =
        (struct carm_run_levels){.about = {.config = {.nlevels = 3,
                                                      .levels = {{.size_bytes = 32 << 10},
                                                                 {.size_bytes = 256 << 10},
                                                                 {.size_bytes = MIB}}}},
                                 .figures = p->figures,
                                 .at = p->at};
    made.after = (struct carm_run_after){.memory = {true, p->with.now, 1e-7}};
    if (p->with.stays) { /* a tenth of the lines is gone after 1 ms, half after 2 */
        made.after.stay = (struct carm_stay){
            .looked = true, .n = 2, .seconds = {1e-3, 2e-3}, .share = {0.9, 0.5}};
    }
    made.run.after = p->with.now > 0.0 || p->with.stays ? &made.after : NULL;
    made.model = model;
    made.model.nin_flight = p->with.no_flights ? 0 : model.nin_flight;
    made.model.nroofs = p->with.no_roofs ? 0 : model.nroofs;
    assert_ok(carm_run_verdicts(&v, &made.run, &made.profile, p->simulated ? &made.levels : NULL,
                                p->with.no_model ? NULL : &made.model, &core, &err));
    const struct carm_run_verdict out = *v;
    free(v);
    return out;
}

TEST(parts_of_a_program)
{
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        const struct carm_run_verdict v = judge(&parts[i]);
        say_verdict(&v);
        is_text(parts[i].name, said, parts[i].says);
    }
}

/* ---- time that is not the code's ---- */

/* Of 10 ms in the kernel. A page fault takes 2 us, one of a huge page 30. */
TEST(time_in_the_kernel)
{
    static const struct {
        double faults, huge; /* -1: not counted; -200: 200, of which nothing may be measured */
        int threads;
        double clock_hz, huge_us;
        const char *says, *origin;
    } of[] = {
        {1000, 0, 1, 1e9, 30,
         "less-kernel; page faults take 20% of the kernel's time: 1000 of 2 us",
         "time in the kernel, 20% of it by 1000 page faults of 2 us: measured"},
        {990, 0, 2, 1e9, 30, "fewer-calls",
         "time in the kernel, 10% of it by 990 page faults of 2 us: measured"},
        {1010, 0, 2, 1e9, 30,
         "less-kernel; page faults take 10% of the kernel's time: 1010 of 2 us",
         "time in the kernel, 10% of it by 1010 page faults of 2 us: measured"},
        {4000, 0, 0, 1e9, 30,
         "fewer-faults; page faults take 80% of the kernel's time: 4000 of 2 us",
         "time in the kernel, 80% of it by 4000 page faults of 2 us: measured"},
        {6000, 0, 1, 1e9, 30,
         "fewer-faults; page faults take 100% of the kernel's time: 6000 of 2 us",
         "time in the kernel, 100% of it by 6000 page faults of 2 us: measured"},
        {-1, 0, 1, 1e9, 30, "less-kernel", "time in the kernel: page faults, system calls"},
        {4000, 0, 1, 0, 30, "less-kernel", "time in the kernel: page faults, system calls"},
        {200, 100, 1, 1e9, 30,
         "less-kernel; page faults may take 32% of the kernel's time or more: 100 of 2 us and 100 of huge pages, 30 us",
         "time in the kernel, 32% of it by 100 page faults of 2 us and 100 of huge pages, 30 us: measured"},
        {300, 200, 1, 1e9, 30,
         "fewer-faults; page faults may take 62% of the kernel's time or more: 100 of 2 us and 200 of huge pages, 30 us",
         "time in the kernel, 62% of it by 100 page faults of 2 us and 200 of huge pages, 30 us: measured"},
        {100, 200, 1, 1e9, 30,
         "less-kernel; page faults may take 30% of the kernel's time or more: 0 of 2 us and 100 of huge pages, 30 us",
         "time in the kernel, 30% of it by 0 page faults of 2 us and 100 of huge pages, 30 us: measured"},
        {1000, 200, 1, 1e9, 0,
         "less-kernel; page faults take 20% of the kernel's time: 1000 of 2 us",
         "time in the kernel, 20% of it by 1000 page faults of 2 us: measured"},
        {1000, 1, 1, 1e9, 30,
         "less-kernel; page faults may take 20% of the kernel's time or more: 999 of 2 us and 1 of huge pages, 30 us",
         "time in the kernel, 20% of it by 999 page faults of 2 us and 1 of huge pages, 30 us: measured"},
        {100, 1, 1, 1e9, 30, "less-kernel",
         "time in the kernel, 2% of it by 99 page faults of 2 us and 1 of huge pages, 30 us: measured"},
        {1000, -200, 1, 1e9, 30,
         "less-kernel; page faults take 20% of the kernel's time: 1000 of 2 us",
         "time in the kernel, 20% of it by 1000 page faults of 2 us: measured"},
    };
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct carm_core_figure fault = {
            .kind = CARM_CORE_PAGE_FAULT, .latency = 2000, .clock_hz = of[i].clock_hz};
        const struct carm_model counted = {.core = &fault, .ncore = 1};
        struct carm_run_after after = {.faulted = true, .huge_fault_seconds = 1e-6 * of[i].huge_us};
        struct carm_profile_row row = {
            .kind = CARM_PROFILE_KERNEL, .seconds = 10e-3, .share = 0.5, .threads = of[i].threads};
        const struct carm_profile time = {.rows = &row, .nrows = 1, .has_time = true};
        struct carm_run ran = {.huge_faults = fabs(of[i].huge),
                               .after = of[i].huge >= 0.0 ? &after : NULL};
        struct carm_run_verdict *v;
        char name[16];
        if (of[i].faults >= 0.0) {
            carm_count_put(&ran.row.counts, CARM_Q_PAGE_FAULTS, of[i].faults, CARM_COUNTED_KERNEL);
        }
        assert_ok(carm_run_verdicts(&v, &ran, &time, NULL, &counted, NULL, &err));
        const struct carm_verdict *is = &v->verdict;
        assert_true(v->has && is->limit == CARM_LIMIT_KERNEL && is->explains == 1.0 &&
                    is->nadvice == 1 && is->bounds.n == 1 && is->seconds == 10e-3);
        said[0] = '\0';
        say("%s%s%s", carm_advice_name(is->advice[0].code), v->note[0] ? "; " : "", v->note);
        (void)snprintf(name, sizeof name, "case %zu", i);
        is_text(name, said, of[i].says);
        is_text(name, v->verdict.bounds.of[0].origin, of[i].origin);
        free(v);
    }
    /* the first row that asks has it measured, if there were any */
    struct carm_profile_row row = {.kind = CARM_PROFILE_KERNEL, .seconds = 1.0, .share = 1.0};
    const struct carm_profile time = {.rows = &row, .nrows = 1, .has_time = true};
    struct carm_run_after after = {.faulted = false};
    struct carm_run ran = {.after = &after};
    struct carm_run_verdict *v;
    assert_ok(carm_run_verdicts(&v, &ran, &time, NULL, NULL, NULL, &err));
    assert_false(after.faulted);
    free(v);
    struct carm_core_figure fault = {
        .kind = CARM_CORE_PAGE_FAULT, .latency = 2000, .clock_hz = 1e9};
    const struct carm_model counted = {.core = &fault, .ncore = 1};
    carm_count_put(&ran.row.counts, CARM_Q_PAGE_FAULTS, 10, CARM_COUNTED_KERNEL);
    row.seconds = 0.0; /* a share of nothing is none */
    assert_ok(carm_run_verdicts(&v, &ran, &time, NULL, &counted, NULL, &err));
    assert_string_equal(v->note, "");
    free(v);
    row.seconds = 1.0;
    ran.huge_faults = 1;
    assert_ok(carm_run_verdicts(&v, &ran, &time, NULL, NULL, NULL, &err));
    assert_true(after.faulted);
    assert_int_equal(
        strcmp(v->verdict.bounds.of[0].origin, "time in the kernel: page faults, system calls"), 0);
    free(v);
}

/* Loops that wait for other threads. */
TEST(waiting)
{
    static const struct {
        const char *name, *module, *code;
        uint64_t samples;
        bool outer, waits;
    } of[] = {{"gomp_barrier_wait", "p", SUM, 3, false, true},
              {"x gomp_team_barrier_wait loop", "p", SUM, 3, false, true},
              {"gomp_thread_pool", "p", SUM, 3, false, true},
              {"gomp_mutex_lock_slow", "p", SUM, 3, false, true},
              {"do_spin", "p", SUM, 3, false, true},
              {"do_wait", "p", SUM, 3, false, true},
              {"__kmp_wait_template", "p", SUM, 3, false, true},
              {"__kmp_hyper_barrier_release", "p", SUM, 3, false, true},
              {"__kmp_hardware_timestamp", "p", SUM, 3, false, true},
              {"blas_thread_server", "p", SUM, 3, false, true},
              {"sched_yield", "p", SUM, 3, false, true},
              {"pthread_spin_lock", "p", SUM, 1, false, true},
              {"pthread_spin_lock", "p", SUM, 0, false, false},
              {"wait", "p", SUM, 3, false, false},
              {"f", "libgomp.so.1", SUM, 3, false, true},
              {"f", "libgomp.s", SUM, 3, false, false},
              {"f", "libomp.so.5", SUM, 3, false, true},
              {"f", "libomp.s", SUM, 3, false, false},
              {"f", "p", PAUSE, 3, false, true},
              {"f", "p", PAUSE, 3, true, false}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        const struct part one = PART(of[i].name, of[i].code, 3.2, NULL);
        (void)judge(&one);
        made.rows[0].samples = of[i].samples;
        made.codes[0].inner = !of[i].outer;
        (void)snprintf(made.rows[0].name, sizeof made.rows[0].name, "%s", of[i].name);
        (void)snprintf(made.rows[0].module, sizeof made.rows[0].module, "%s", of[i].module);
        struct carm_run_verdict *v;
        assert_ok(carm_run_verdicts(&v, &made.run, &made.profile, NULL, &made.model, &core, &err));
        say_verdict(v);
        is_text(of[i].name, of[i].waits ? said : "not",
                of[i].waits ? "waiting 1, unknown; 1..inf 1..2; balance; of 3200: waiting 3200"
                            : "not");
        fail_if(!of[i].waits && strstr(said, "waiting"), "%s: %s", of[i].name, said);
        if (of[i].waits) {
            assert_string_equal(v->verdict.bounds.of[0].origin,
                                "its loop waits for another thread");
        }
        free(v);
    }
}

/* Functions that are called by address, 300 and 300 of their calls to another one than before: 600 mispredictions, shared out
 * by time. Each takes 20 cycles, and before 5 for the call's address, or for a load where the call is not known, and 4 for
 * the call and return. */
TEST(calls_by_address)
{
    static const struct carm_microarchitecture theory = {
        .core = {{"load", "", "", 4, 0.5},
                 {"call-return", "", "", 4, 0},
                 {"branch-mispredicted", "", "", 16, 0},
                 {"indirect-mispredicted", "", "", 20, 0}},
        .ncore = 4};
    enum { N = 5 };
    struct carm_code_piece pieces[N];
    struct carm_flow_code all[N];
    static const struct {
        uint32_t module;
        double us, executions,
            strays; /* of each thread; share of the executions that goes astray */
        int threads;
        bool calls;
        double each; /* mispredictions of an execution */
    } of[N] = {{7, 10, 1000, 0, 1, true, 200.0 / 1000},
               {7, 5, 600, 0.5, 2, false, 200.0 / 600},
               {7, 10, 400, 0.75, 0, false, 200.0 / 400},
               {7, 10, 100, 0, 1, false, 0},
               {8, 40, 100, 1, 1, false, 1}};
    /* mov eax, [rdi]; sub ecx, 1; jne */
    const struct carm_flow_code code = *decode("8b 07 83 e9 01 75 f9", 0, 0);
    struct carm_profile_row r[N];
    for (size_t i = 0; i < N; i++) {
        pieces[i] = code.pieces[0];
        pieces[i].jumps = false;
        pieces[i].calls = of[i].calls;
        pieces[i].executions = of[i].executions;
        pieces[i].strays = of[i].strays;
        all[i] = code;
        all[i].module = of[i].module;
        all[i].iterations = of[i].executions;
        all[i].pieces = &pieces[i];
        r[i] = (struct carm_profile_row){.kind = CARM_PROFILE_LOOP,
                                         .code = i + 1,
                                         .samples = 100,
                                         .samples_inside = 100,
                                         .share = 0.2,
                                         .seconds = 1e-6 * of[i].us,
                                         .threads = of[i].threads};
    }
    const struct carm_profile calls = {
        .rows = r, .nrows = N, .codes = all, .ncodes = N, .has_counts = true, .has_time = true};
    const struct carm_run ran = {.budget = 0};
    struct carm_run_verdict *v;
    assert_ok(carm_run_verdicts(&v, &ran, &calls, NULL, &model, &theory, &err));
    for (size_t i = 0; i < N; i++) {
        const struct carm_bounds *b = &v[i].verdict.bounds;
        double mispredicted = 0.0;
        for (size_t k = 0; k < b->n; k++) {
            if (b->of[k].limit == CARM_LIMIT_BRANCHES) {
                mispredicted = 1e9 * b->of[k].seconds / (20 + 9); /* cycles of each */
            }
        }
        assert_near(mispredicted, of[i].each, 1e-9);
    }
    free(v);
}

/* ---- a changed machine ---- */

/* Today a chain of 3 ns beside additions of 2; mispredictions of 6.25 ns beside 1. There the clock is twice as high, or additions
 * take one cycle from one to the next, or four. */
TEST(changed_machines)
{
    static struct carm_core_figure add[] = {
        {.kind = CARM_CORE_FP_ADD, .isa = "scalar", .precision = "dp", .latency = 1.0},
        {.kind = CARM_CORE_FP_ADD, .isa = "scalar", .precision = "dp", .latency = 4.0}};
    static const struct part sum = PART("sum", SUM, 3.2, NULL),
                             faster = PART("faster", SUM, 2.8, NULL),
                             slow = PART("slow", SUM, 5.0, NULL),
                             none = PART("none", SUM, 3.2, NULL, .differs = true),
                             branches =
                                 PART("branches", BRANCH, 8, NULL, .second = 13, .taken = 250);
    static const struct {
        const struct part *part;
        enum { CLOCK, CHAIN, LONGER, NOTHING } there;
        const char *says;
    } of[] = {{&sum, CLOCK, "chain; 1.882..2 1.455..1.5, 0.5 known"},
              {&sum, CHAIN, "fp; 1.44..1.5 1.256..1.286, 0.5 known"},
              {&sum, LONGER, "chain; 0.75..0.7619 0.8182..0.8276, 0.5 known"},
              {&faster, CLOCK, "chain; 2..2 1.5..1.5, 0.5 known"},
              {&faster, CHAIN, "fp; 1.35..1.5 1.209..1.286, 0.5 known"},
              {&slow, CLOCK, "not known; 1..1 1..1, 0 known"},
              {&none, CLOCK, "not known; 1..1 1..1, 0 known"},
              {&sum, NOTHING, "not known; 1..1 1..1, 0 known"},
              {&branches, CLOCK, "branches; 1.855..2 1.444..1.5, 0.5 known"}};
    struct carm_roofs twice[3];
    memcpy(twice, roofs, sizeof twice);
    for (size_t i = 0; i < 3; i++) {
        twice[i].clock_hz *= 2.0;
    }
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct carm_model there = model;
        struct carm_run_verdict *today;
        struct carm_run_changed c = {.known = 7.0};
        (void)judge(of[i].part);
        made.profile.nrows = 2; /* the second has no code: half of the program stays as it is */
        made.rows[1] = (struct carm_profile_row){.share = 0.25};
        assert_ok(
            carm_run_verdicts(&today, &made.run, &made.profile, NULL, &made.model, &core, &err));
        there.roofs = of[i].there == CLOCK ? twice : roofs;
        there.core = &add[of[i].there == LONGER];
        there.ncore = of[i].there == CLOCK ? 0 : 1;
        there.nroofs = of[i].there == NOTHING ? 0 : 3;
        assert_ok(carm_run_change(&c, &made.run, &made.profile, today, NULL, &there, &core, &err));
        said[0] = '\0';
        say("%s", c.parts[0].known ? carm_limit_name(c.parts[0].limit) : "not known");
        say_gain("; ", c.parts[0].loop);
        say_gain(" ", c.program);
        say(", %.4g known", c.known);
        is_text(of[i].part->name, said, of[i].says);
        assert_false(c.parts[1].known);
        assert_true(c.parts[1].loop.low == 1.0 && c.parts[1].loop.high == 1.0);
        assert_true(c.caches == NULL && c.today == NULL);
        free(c.parts);
        free(today);
    }
}

/* A program without parts stays as it is. */
TEST(changed_nothing)
{
    const struct carm_profile empty = {.has_time = true};
    const struct carm_run ran = {.budget = 0};
    struct carm_run_changed c;
    assert_ok(carm_run_change(&c, &ran, &empty, NULL, NULL, &model, &core, &err));
    assert_true(c.program.low == 1.0 && c.program.high == 1.0 && c.known == 0.0);
    free(c.parts);
}

/* Other caches, where twice as many bytes come from memory. */
TEST(changed_caches)
{
    static const struct part copy = CACHED("copy", COPY, 9, NULL, OPTIONS(.taken = 0),
                                           BYTES(64, 64, 64), A(0, 0, 125), A(0, 0, 125));
    const struct carm_run_verdict today = judge(&copy);
    struct carm_run_levels others = made.levels;
    struct carm_run_changed c;
    others.figures = (struct carm_run_figures)BYTES(64, 64, 128);
    made.levels.changed = &others;
    assert_ok(carm_run_change(&c, &made.run, &made.profile, &today, &made.levels, &made.model,
                              &core, &err));
    assert_true(c.parts[0].known && c.parts[0].limit == CARM_LIMIT_DRAM);
    assert_near(c.parts[0].loop.low, 8.0 / 16.0, 1e-12);
    assert_near(c.parts[0].loop.high, 9.0 / 17.0, 1e-12);
    assert_near(c.known, 0.5, 0.0);
    assert_ptr_equal(c.caches, &others.about);
    assert_ptr_equal(c.today, &made.levels.about);
    free(c.parts);
}

/* ---- the whole program ---- */

/* The largest bound of each part, by its share of the time; the second one where the limit is not known. */
TEST(causes)
{
    static struct carm_profile_row shares[] = {
        {.share = 0.2}, {.share = 0.1},  {.share = 0.03125}, {.share = 0.0625}, {.share = 0.3},
        {.share = 0.1}, {.share = 0.15}, {.share = 0.05},    {.share = 0.01}};
    static const struct carm_run_verdict verdicts[] = {
        {.has = true, .verdict = {.limit = CARM_LIMIT_ISSUE, .explains = 0.5}},
        {.has = true, .verdict = {CARM_LIMIT_UNKNOWN, .second = CARM_LIMIT_CHAIN, .explains = 0.5}},
        /* as much of an estimate as of a bound, and more */
        {.has = true, .verdict = {CARM_LIMIT_LATENCY, .explains = 1.0}},
        {.has = true, .verdict = {CARM_LIMIT_LATENCY, true, .explains = 0.5}},
        {.has = true, .verdict = {CARM_LIMIT_DRAM, true, .explains = 1.0}},
        {.has = true, .verdict = {CARM_LIMIT_DRAM, .explains = 1.0}},
        {.has = false, .verdict = {CARM_LIMIT_FP, .explains = 1.0}},
        {.has = true, .verdict = {CARM_LIMIT_UNKNOWN, .second = CARM_LIMIT_UNKNOWN, .explains = 1}},
        {.has = true, .verdict = {CARM_LIMIT_L1, .explains = 0.0}}};
    const struct carm_profile all = {.rows = shares, .nrows = 9};
    struct carm_run_cause c[CARM_LIMITS];
    const size_t n = carm_run_causes(&all, verdicts, c);
    said[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        say("%s%s %.4g", i ? "; " : "", carm_limit_name(c[i].limit), c[i].share);
        say("%s", c[i].estimate ? " maybe" : "");
    }
    is_text("causes", said, "dram 0.4 maybe; issue 0.1; latency 0.0625; chain 0.05");
}
