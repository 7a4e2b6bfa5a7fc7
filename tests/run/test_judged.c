/* SPDX-License-Identifier: GPL-3.0-or-later */
/* From lines and bytes that simulated caches are said to have found, and the code of a loop, to the numbers that its bounds
 * are made of. */
#include "models/latency.h"
#include "tests/run/loops.h"

/* L1 1 ns, L2 3, L3 11, memory 101; walks 5. A TLB of 16 pages. Lines of L3: a tenth is gone after 2 ms, 0.6 after 14.7456 ms. */
static struct carm_latency latency[] = {
    {.level = "L1", .order = CARM_LATENCY_RANDOM, .page_bytes = PAGE, .seconds = 1e-9},
    {.level = "L2", .order = CARM_LATENCY_RANDOM, .page_bytes = PAGE, .seconds = 3e-9},
    {.level = "L3", .order = CARM_LATENCY_RANDOM, .page_bytes = PAGE, .seconds = 11e-9},
    {.level = "DRAM", .order = CARM_LATENCY_RANDOM, .page_bytes = PAGE, .seconds = 101e-9},
    {.level = "walk", .order = CARM_LATENCY_PAGES, .page_bytes = PAGE, .seconds = 5e-9},
    {.level = "TLB2",
     .order = CARM_LATENCY_PAGES,
     .page_bytes = PAGE,
     .seconds = 1e-9,
     .reach_bytes = 12 * PAGE}};
static struct carm_latency_point reach[] = {{.working_set_bytes = 12 * PAGE},
                                            {.working_set_bytes = 16 * PAGE}};
static struct carm_latency_point random_sets[] = {
    {.working_set_bytes = PAGE, .seconds = 1e-9},
    {.working_set_bytes = MIB, .seconds = 21e-9},
    {.working_set_bytes = 2 * MIB, .seconds = 161e-9}};
static struct carm_latency_curve curves[] = {
    {.order = CARM_LATENCY_PAGES, .page_bytes = PAGE, .points = reach, .npoints = 2},
    {.order = CARM_LATENCY_RANDOM, .page_bytes = PAGE, .points = random_sets, .npoints = 3}};
/* An L3 of 4 MiB of which one thread has 1. Of 2 MiB a third comes from memory. */
static struct carm_level shared_level = {
    .level = "L3", .os_size_bytes = 4 * MIB, .knee_bytes = MIB, .resolved = true};
static struct carm_curve_point sizes[] = {
    {.x = MIB, .value = 8e9}, {.x = 2 * MIB, .value = 4e9}, {.x = 4 * MIB, .value = 2e9}};
static struct carm_curve by_size = {.threads = 1, .points = sizes, .npoints = 3};
static const struct carm_roofs one_thread = {.threads = 1};
static const struct carm_model model = {.latency = latency,
                                        .nlatency = 6,
                                        .latency_curves = curves,
                                        .nlatency_curves = 2,
                                        .levels = &shared_level,
                                        .nlevels = 1,
                                        .curves = &by_size,
                                        .ncurves = 1};
static const struct carm_microarchitecture core = {.issue = 4.0,
                                                   .reorder = 64,
                                                   .vector_queue = 32,
                                                   .code_line = 64.0,
                                                   .core = {{"load", "", "", 4, 0.5},
                                                            {"load", "scalar", "", 4, 0.5},
                                                            {"int-add", "", "", 1, 0.25},
                                                            {"add", "", "", 3, 0.5}},
                                                   .ncore = 4};

/* ---- what is said of a loop ---- */

static void say_memory(const struct carm_bounds_input *in, const struct carm_run_verdict *v)
{
    const double flags[] = {in->victims, v->scattered, v->leaps, (double)v->stride};
    said[0] = '\0';
    SAY_ALL(bytes);
    SAY_ALL(written);
    SAY_ALL(split_loads);
    SAY_ALL(split_stores);
    SAY_ALL(behind);
    SAY(contended);
    SAY_ALL(scattered);
    SAY_ALL(overwritten);
    SAY_ALL(rewritten);
    SAY_ALL(chained);
    SAY(waited);
    SAY_ALL(aliased);
    SAY(updated);
    SAY_ALL(walk_loads);
    SAY_ALL(walk_stores);
    SAY(pages);
    SAY(lost);
    SAY(stays);
    SAY(missing_cycles);
    SAY(border_cycles);
    SAY(window_missing_cycles);
    SAY(resolve_missing);
    say_numbers("victims, scattered, leaps, stride", flags, 4);
    for (size_t i = 0; i < v->naccesses; i++) {
        const struct carm_run_access *a = &v->accesses[i];
        const double of[] = {(double)(a->at - AT), a->stores,     a->pattern,
                             (double)a->stride,    a->executions, a->lines};
        say_numbers("at", of, 6);
    }
}

#define STREAM   "f2 0f 10 07 f2 0f 11 06 48 83 c7 08 48 83 c6 08 48 39 cf 75 eb"
#define INDIRECT "8b 07 f2 0f 58 04 c6 48 83 c7 04 48 39 cf 75 f0"
#define CHASE    "48 8b 00 48 83 e9 01 75 f7"
#define COLUMN                                                                                   \
    "f2 0f 10 07 f2 0f 58 c8 f2 0f 10 97 00 10 00 00 f2 0f 10 5f 40 f2 0f 11 0f 48 81 c7 00 10 " \
    "00 00 48 39 cf 75 db"
#define BY_REGISTER "f2 0f 10 07 48 01 df 48 39 cf 75 f4"
#define MOVS        "f3 a4 48 83 ea 01 75 f8"
#define STOS        "f3 aa 48 83 ea 01 75 f8"
#define GATHER      "c5 ed 76 d2 c4 e2 ed 92 04 ce 48 83 c7 10 48 39 cf 75 ed"
#define PREFETCH    "0f 18 8f 00 10 00 00 0f 10 07 c5 fc 11 0e 48 83 c7 10 48 83 c6 20 48 39 cf 75 e5"
#define UPDATES     "8b 07 48 ff 04 c6 49 8b 14 c0 49 89 14 c1 49 89 1c c0 48 83 c7 04 48 39 cf 75 e5"
#define ALIASED \
    "f2 0f 10 47 40 f2 0f 10 8f 40 10 00 00 f2 0f 10 56 40 f2 0f 10 5f 48 f2 0f 10 64 d7 40 f2 0f 10 6c 97 40 f2 0f 10 b7 40 20 00 00 48 81 c7 00 10 00 00 48 81 c6 00 10 00 00 48 39 cf 75 c2"
#define REWRITTEN \
    "8b 07 49 8b 54 c0 40 49 8b 5c c0 48 4d 8b 94 c0 88 00 00 00 4d 8b 5c c1 40 4d 8b 64 80 40 4d 8b 6c f0 40 4d 89 7c c0 48 48 83 c7 04 48 39 cf 75 cf"
#define TEN \
    "8b 07 8b 47 04 8b 47 08 8b 47 0c 8b 47 10 8b 47 14 8b 47 18 8b 47 1c 8b 47 20 8b 47 24 48 83 c7 28 48 39 cf 75 da"
#define SIXTEEN_PAGES "f2 0f 10 07 48 81 c7 00 00 01 00 48 39 cf 75 f0"
#define NEARLY_A_PAGE "f2 0f 10 07 48 81 ef c0 0f 00 00 48 39 cf 75 f0"
#define STACK         "48 89 06 48 89 44 24 08 48 83 c7 08 48 39 cf 75 ef"
#define BRANCH        "8b 07 48 83 c7 04 48 83 3c c6 00 7c f3 90 48 39 cf 75 ed"

/* repne scasb; sub rdx, 1; jne */
#define SCAS "f2 ae 48 83 ea 01 75 f8"
/* rep movsb; mov eax, [rbx]; sub rdx, 1; jne */
#define MOVS_AND_LOAD "f3 a4 8b 03 48 83 ea 01 75 f6"
/* mov rbx, [rbx]; mov eax, [rdi]; mov ecx, [rsi + rax * 8]; add rdi, 4; cmp rdi, rdx; jne */
#define CHASE_AND_INDIRECT "48 8b 1b 8b 07 8b 0c c6 48 83 c7 04 48 39 d7 75 f0"
/* inc qword [r8 + rax * 8]; mov rbx, [r8 + rax * 8]; mov eax, [rdi]; add rdi, 4; cmp rdi, rcx; jne */
#define FIRST_UPDATES "49 ff 04 c0 49 8b 1c c0 8b 07 48 83 c7 04 48 39 cf 75 ed"
/* cmp qword [rsi + rax * 8], 0; jl; mov eax, [rdi]; add rdi, 4; cmp rdi, rcx; jne */
#define BRANCH_FIRST "48 83 3c c6 00 7c f9 8b 07 48 83 c7 04 48 39 cf 75 ee"
/* movsd xmm0, [rdi]; movsd [rdi], xmm0; movsd xmm1, [rdi + 64]; add qword [rbx], 1; add rdi, 4096; cmp; jne */
#define UPDATES_APART \
    "f2 0f 10 07 f2 0f 11 07 f2 0f 10 4f 40 48 83 03 01 48 81 c7 00 10 00 00 48 39 cf 75 e3"
/* movsd xmm0, [rdi]; movsd [rdi], xmm0; movsd xmm1, [rdi + 8]; movsd [rdi + 8], xmm1; add rdi, 4096; cmp; jne */
#define TWO_UPDATES \
    "f2 0f 10 07 f2 0f 11 07 f2 0f 10 4f 08 f2 0f 11 4f 08 48 81 c7 00 10 00 00 48 39 cf 75 e2"
/* movsd xmm0, [rdi]; add rdi, 8192; cmp; jne */
#define TWO_PAGES "f2 0f 10 07 48 81 c7 00 20 00 00 48 39 cf 75 f0"

#define SIZES                                                \
    {                                                        \
        {.size_bytes = 32 << 10}, {.size_bytes = 256 << 10}, \
        {                                                    \
            .size_bytes = MIB                                \
        }                                                    \
    }
#define CACHES(n, ...)                                              \
    {                                                               \
        .config = {.nlevels = (n), .levels = SIZES, ##__VA_ARGS__ } \
    }
#define SAMPLED                                                    \
    {                                                              \
        .config = {.nlevels = 3, .levels = SIZES}, .sampled = true \
    }
#define FIGURES(b1, m1, b2, m2, b3, m3)      \
    {                                        \
        .levels = {                          \
            {.bytes = (b1), .misses = (m1)}, \
            {.bytes = (b2), .misses = (m2)}, \
            {.bytes = (b3), .misses = (m3)}  \
        }                                    \
    }
#define BYTES(b1, b2, b3) FIGURES(b1, (b1) / 100, b2, (b2) / 80, b3, (b3) / 72)
#define NO_BYTES                   \
    {                              \
        .levels = { {.bytes = 0} } \
    }
#define OPTIONS(...) \
    {                \
        __VA_ARGS__  \
    }
#define NO_OPTIONS \
    {              \
        .trips = 0 \
    }
#define LOOP(name, code, about, figures, with) name, code, about, figures, with
#define A(l2, l3, memory, ...)                               \
    {                                                        \
        .lines = {l2, l3, memory}, .places = { __VA_ARGS__ } \
    }
#define SEEN     .translated = 1000
#define NOT_SEEN .translated = 0

/* Numbers behind "at": offset of the access, whether it stores, pattern, bytes from one to the next, executions, lines. */
static const struct loop {
    const char *name, *code;
    struct carm_run_simulation about;
    struct carm_run_figures figures;
    struct options {
        double trips, seconds, taken;
        int threads;
        size_t second;
        bool lost, no_model, no_core, no_tlb, outer, roofs;
    } with;
    struct at at[ACCESSES];
    const char *says;
} loops[] = {

    {LOOP("movs, prefetchers", MOVS, CACHES(3, .streams = true), BYTES(192000, 128000, 64000),
          NO_OPTIONS),
     {A(400, 200, 100, SEEN)},
     "bytes 169.6,118.4,60.8; written 0.5,0.5,0.5; at 0,1,3,0,1,0.7"},
    {LOOP("stos, prefetchers", STOS, CACHES(3, .streams = true), BYTES(192000, 128000, 64000),
          NO_OPTIONS),
     {A(400, 200, 100, SEEN)},
     "bytes 147.2,108.8,57.6; at 0,1,4,0,1,0.7"},
    {LOOP("updates, prefetchers", UPDATES, CACHES(3, .next_line = true),
          BYTES(192000, 128000, 64000), NO_OPTIONS),
     {A(60, 2, 1, SEEN), A(3, 2, 1, SEEN), A(3, 2, 1, SEEN), A(3, 2, 1, SEEN), A(0, 0, 0, SEEN)},
     "bytes 192,128,64; written 0.4615,0.4615,0.4615; window_missing_cycles 2; at "
     "0,0,1,4,1,0.063; at 2,1,3,0,1,0.006; at 6,0,3,0,1,0.006; at 10,1,3,0,1,0.006; at "
     "14,1,3,0,1,0"},
    {LOOP("one cache", INDIRECT, CACHES(1), BYTES(64000, 0, 0), NO_OPTIONS),
     {A(60, 0, 0, SEEN), A(600, 0, 0, .apart = 1, SEEN)},
     "bytes 0,0,64; written 0,0,0.36; scattered 0,0,0.6; waited 0.6; window_missing_cycles "
     "5.469; victims, scattered, leaps, stride 0,1,0,0; at 2,0,3,0,1,0.6; at 0,0,1,4,1,0.06"},
    {LOOP("more lines than loads", CHASE, CACHES(3), NO_BYTES, NO_OPTIONS),
     {A(10, 1000, 10, .apart = 1, SEEN, .pages = 253)},
     "chained 0.01,1,0.01; missing_cycles 15.02; border_cycles 24; window_missing_cycles "
     "15.02; victims, scattered, leaps, stride 0,1,0,0; at 0,0,3,0,1,1.02"},
    {LOOP("aliased", ALIASED, CACHES(3), NO_BYTES, NO_OPTIONS),
     {A(600, 0, 0, SEEN), A(601, 0, 0, SEEN), A(602, 0, 0, SEEN), A(604, 0, 0, SEEN),
      A(608, 0, 0, SEEN), A(616, 0, 0, SEEN), A(400, 0, 0, SEEN)},
     "scattered 4.031,0,0; aliased 1.201,0,0; window_missing_cycles 2.5; victims, scattered, "
     "leaps, stride 0,1,0,4096; at 29,0,1,4096,1,0.616; at 23,0,1,4096,1,0.608; at "
     "18,0,1,4096,1,0.604; at 13,0,1,4096,1,0.602; at 5,0,1,4096,1,0.601; at 0,0,1,4096,1,0.6;"
     " at 35,0,1,4096,1,0.4"},
    {LOOP("rewritten", REWRITTEN, CACHES(3), NO_BYTES, NO_OPTIONS),
     {A(60, 2, 1, SEEN), A(601, 0, 0, .apart = 1, SEEN), A(602, 0, 0, .apart = 1, SEEN),
      A(604, 0, 0, .apart = 1, SEEN), A(608, 0, 0, .apart = 1, SEEN),
      A(616, 0, 0, .apart = 1, SEEN), A(632, 0, 0, .apart = 1, SEEN), A(0, 0, 0, SEEN)},
     "written 0.1333,0.1333,0.1333; scattered 3.031,0,0; rewritten 1.203,0,0; "
     "window_missing_cycles 2.5; victims, scattered, leaps, stride 0,1,0,0; at "
     "30,0,1,0,1,0.632; at 25,0,3,0,1,0.616; at 20,0,3,0,1,0.608; at 12,0,3,0,1,0.604; at "
     "7,0,3,0,1,0.602; at 2,0,3,0,1,0.601; at 0,0,1,4,1,0.063; at 35,1,3,0,1,0"},
    {LOOP("ten loads", TEN, CACHES(3), NO_BYTES, NO_OPTIONS),
     {A(5, 0, 0, SEEN), A(4, 0, 0, SEEN), A(9, 0, 0, SEEN), A(1, 0, 0, SEEN), A(8, 0, 0, SEEN),
      A(5, 0, 0, SEEN), A(7, 0, 0, SEEN), A(3, 0, 0, SEEN), A(6, 0, 0, SEEN), A(2, 0, 0, SEEN)},
     "window_missing_cycles 3; at 5,0,1,40,1,0.009; at 11,0,1,40,1,0.008; at "
     "17,0,1,40,1,0.007; at 23,0,1,40,1,0.006; at 0,0,1,40,1,0.005; at 14,0,1,40,1,0.005; at "
     "2,0,1,40,1,0.004; at 20,0,1,40,1,0.003"},
    {LOOP("ten loads, half of them seldom", TEN, CACHES(3), NO_BYTES,
          OPTIONS(.second = 15, .taken = 999)),
     {A(5, 0, 0, SEEN), A(4, 0, 0, SEEN), A(9, 0, 0, SEEN), A(1, 0, 0, SEEN), A(8, 0, 0, SEEN),
      A(5, 0, 0, SEEN), A(7, 0, 0, SEEN), A(3, 0, 0, SEEN), A(6, 0, 0, SEEN), A(2, 0, 0, SEEN)},
     "window_missing_cycles 1.501; at 5,0,1,0,1,0.009; at 11,0,1,0,1,0.008; at "
     "17,0,0,0,0.001,7; at 23,0,0,0,0.001,6; at 0,0,1,0,1,0.005; at 14,0,1,0,1,0.005; at "
     "2,0,1,0,1,0.004; at 20,0,0,0,0.001,3"},
    {LOOP("ten loads, half of them never", TEN, CACHES(3), NO_BYTES,
          OPTIONS(.second = 15, .taken = 1000)),
     {A(5, 0, 0, SEEN), A(4, 0, 0, SEEN), A(9, 0, 0, SEEN), A(1, 0, 0, SEEN), A(8, 0, 0, SEEN)},
     "window_missing_cycles 1.5; at 5,0,1,0,1,0.009; at 11,0,1,0,1,0.008; at 0,0,1,0,1,0.005; "
     "at 2,0,1,0,1,0.004; at 8,0,1,0,1,0.001; at 14,0,1,0,1,0"},
    {LOOP("random .71 behind L2, .61 behind L3", CHASE, CACHES(3), NO_BYTES, NO_OPTIONS),
     {A(261, 90, 549, .apart = 1, SEEN, .pages = 1024)},
     "chained 0.261,0.09,0.549; missing_cycles 148; window_missing_cycles 148; victims, "
     "scattered, leaps, stride 0,1,0,0; at 0,0,3,0,1,0.9"},
    {LOOP("random .70 behind L2, .61 behind L3", CHASE, CACHES(3), NO_BYTES, NO_OPTIONS),
     {A(270, 81, 549, .apart = 1, SEEN, .pages = 1024)},
     "chained 0.27,0.081,0.549; missing_cycles 60.25; window_missing_cycles 60.25; victims, "
     "scattered, leaps, stride 0,1,0,0; at 0,0,3,0,1,0.9"},
    {LOOP("random .71 behind L2, .56 behind L3", CHASE, CACHES(3), NO_BYTES, NO_OPTIONS),
     {A(261, 135, 504, .apart = 1, SEEN, .pages = 1024)},
     "chained 0.261,0.135,0.504; missing_cycles 56.27; window_missing_cycles 56.27; victims, "
     "scattered, leaps, stride 0,1,0,0; at 0,0,3,0,1,0.9"},
    {LOOP("random all of L3", CHASE, CACHES(3), NO_BYTES, NO_OPTIONS),
     {A(10, 990, 0, .apart = 1, SEEN, .pages = 256)},
     "chained 0.01,0.99,0; missing_cycles 24; border_cycles 164; window_missing_cycles 24; "
     "victims, scattered, leaps, stride 0,1,0,0; at 0,0,3,0,1,1"},
    {LOOP("two elements random in L2", CHASE, CACHES(3), NO_BYTES, NO_OPTIONS),
     {A(900, 0, 0, .apart = 1, SEEN, .pages = 63)},
     "chained 0.9,0,0; missing_cycles 5.8; window_missing_cycles 5.8; victims, scattered, "
     "leaps, stride 0,1,0,0; at 0,0,3,0,1,0.9"},
    {LOOP("no description of the core", CHASE, CACHES(3), NO_BYTES, OPTIONS(.no_core = true)),
     {A(600, 300, 100, .apart = 0.9, SEEN)},
     "chained 0.6,0.3,0.1; missing_cycles 15.2; victims, scattered, leaps, stride 0,1,0,0; at "
     "0,0,3,0,1,1"},
    {LOOP("no description, three trips", CHASE, CACHES(3), NO_BYTES,
          OPTIONS(.no_core = true, .trips = 3)),
     {A(600, 300, 100, .apart = 0.9, SEEN)},
     "chained 0.6,0.3,0.1; missing_cycles 15.2; victims, scattered, leaps, stride 0,1,0,0; at "
     "0,0,3,0,1,1"},
    {LOOP("sampled by a register, far", BY_REGISTER, SAMPLED, NO_BYTES, OPTIONS(.trips = 17)),
     {A(600, 0, 0, .apart = 0.91, .translated = 15)},
     "scattered 0.6,0,0; walk_loads 1,0,0; window_missing_cycles 0.75; victims, scattered, "
     "leaps, stride 0,1,1,0; at 0,0,2,0,1,0.6"},
    {LOOP("sampled no TLB measured", BY_REGISTER, SAMPLED, NO_BYTES,
          OPTIONS(.trips = 17, .no_tlb = true)),
     {A(600, 0, 0, .apart = 0.91, .translated = 15)},
     "scattered 0.6,0,0; window_missing_cycles 0.75; victims, scattered, leaps, stride "
     "0,1,1,0; at 0,0,2,0,1,0.6"},
    {LOOP("sixteen pages apart", SIXTEEN_PAGES, CACHES(3), NO_BYTES, NO_OPTIONS),
     {A(600, 0, 0, SEEN, .walks = 1.0)},
     "scattered 0.6,0,0; aliased 0.6,0,0; walk_loads 0,0,1; window_missing_cycles 1; victims, "
     "scattered, leaps, stride 0,1,0,6.554e+04; at 0,0,1,6.554e+04,1,0.6"},
    {LOOP("moved by a page less a line", NEARLY_A_PAGE, CACHES(3), NO_BYTES, NO_OPTIONS),
     {A(600, 0, 0, SEEN, .walks = 1.0)},
     "walk_loads 1,0,0; window_missing_cycles 1; victims, scattered, leaps, stride "
     "0,0,0,-4032; at 0,0,1,-4032,1,0.6"},
    {LOOP("hardly a byte moves", STREAM, CACHES(3), FIGURES(900, 10, 500, 5, 100, 1), NO_OPTIONS),
     {A(0, 0, 0, NOT_SEEN), A(0, 0, 0, NOT_SEEN)},
     "bytes 0.9,0.5,0.1; written 0.2889,0.36,0.36; at 0,0,1,8,1,0; at 4,1,1,8,1,0"},
    {LOOP("stream", STREAM, CACHES(3), BYTES(16000, 12000, 8000), OPTIONS(.threads = 2)),
     {A(100, 20, 5, .split = 0.25, .aliased = 0.5, .step = 8, SEEN, .walks = 0.01, .sketch = {7}),
      A(110, 10, 5, .split = 0.5, .contended = 0.125, .step = 8, SEEN, .sketch = {9})},
     "bytes 16,12,8; written 0.36,0.2,0.112; split_loads 0,0.25,0,0,0; split_stores "
     "0,0.5,0,0,0; behind 0,0.5,0,0,0; contended 0.125; walk_loads 0.01,0,0; pages 9; "
     "window_missing_cycles 1.25; at 0,0,1,8,1,0.125; at 4,1,1,8,1,0.125"},
    {LOOP("two caches", STREAM, CACHES(2), BYTES(16000, 12000, 8000), NO_OPTIONS),
     {A(100, 20, 5, SEEN), A(110, 10, 5, SEEN)},
     "bytes 16,0,12; written 0.36,0,0.2; window_missing_cycles 1.25; at 0,0,1,8,1,0.12; at "
     "4,1,1,8,1,0.12"},
    {LOOP("prefetchers", STREAM, CACHES(3, .next_line = true), BYTES(16000, 12000, 8000),
          NO_OPTIONS),
     {A(0, 0, 0, NOT_SEEN), A(0, 0, 0, NOT_SEEN)},
     "bytes 16,12,8; written 0.3333,0.3333,0.3333; at 0,0,1,8,1,0; at 4,1,1,8,1,0"},
    {LOOP("streams", STREAM, CACHES(3, .streams = true), BYTES(16000, 12000, 8000), NO_OPTIONS),
     {A(0, 0, 0, NOT_SEEN), A(0, 0, 0, NOT_SEEN)},
     "bytes 16,12,8; written 0.3333,0.3333,0.3333; at 0,0,1,8,1,0; at 4,1,1,8,1,0"},
    {LOOP("exclusive", STREAM, CACHES(3, .last = CARM_LAST_EXCLUSIVE), BYTES(16000, 12000, 8000),
          NO_OPTIONS),
     {A(0, 0, 0, NOT_SEEN), A(0, 0, 0, NOT_SEEN)},
     "bytes 16,12,8; written 0.36,0.36,0.112; victims, scattered, leaps, stride 1,0,0,0; at "
     "0,0,1,8,1,0; at 4,1,1,8,1,0"},
    {LOOP("exclusive, two caches", STREAM, CACHES(2, .last = CARM_LAST_EXCLUSIVE),
          BYTES(16000, 12000, 8000), NO_OPTIONS),
     {A(0, 0, 0, NOT_SEEN), A(0, 0, 0, NOT_SEEN)},
     "bytes 16,0,12; written 0.36,0,0.2; at 0,0,1,8,1,0; at 4,1,1,8,1,0"},
    {LOOP("written twice", STREAM, CACHES(3), FIGURES(16000, 100, 6000, 100, 0, 0), NO_OPTIONS),
     {A(0, 0, 0, NOT_SEEN), A(0, 0, 0, NOT_SEEN)},
     "bytes 16,6,0; written 0.5,0,0; at 0,0,1,8,1,0; at 4,1,1,8,1,0"},
    {LOOP("indirect", INDIRECT, CACHES(3), BYTES(64000, 32000, 16000), NO_OPTIONS),
     {A(60, 2, 1, .step = 4, SEEN, .sketch = {1}),
      A(500, 200, 100, .apart = 0.9, SEEN, .walks = 0.5, .far = 0.5, .wide = 0.25, .pages = 200,
        .sketch = {3})},
     "bytes 64,32,16; written 0.36,0.2,0.112; scattered 0.5,0.2,0.1; waited 0.1; walk_loads "
     "0.25,0.125,0.125; pages 3; window_missing_cycles 3; victims, scattered, leaps, stride "
     "0,1,0,0; at 2,0,3,0,1,0.8; at 0,0,1,4,1,0.063"},
    {LOOP("indirect, few lines", INDIRECT, CACHES(3), NO_BYTES, NO_OPTIONS),
     {A(60, 2, 1, .step = 4, SEEN), A(500, 0, 0, .apart = 0.2, SEEN, .walks = 0.5)},
     "walk_loads 0.5,0,0; window_missing_cycles 3; at 2,0,3,0,1,0.5; at 0,0,1,4,1,0.063"},
    {LOOP("indirect, other pages", INDIRECT, CACHES(3), NO_BYTES, NO_OPTIONS),
     {A(60, 2, 1, .step = 4, SEEN), A(500, 0, 0, .apart = 0.203, SEEN, .walks = 0.5)},
     "scattered 0.5,0,0; walk_loads 0.5,0,0; window_missing_cycles 3; victims, scattered, "
     "leaps, stride 0,1,0,0; at 2,0,3,0,1,0.5; at 0,0,1,4,1,0.063"},
    {LOOP("indirect, half", INDIRECT, CACHES(3), NO_BYTES, NO_OPTIONS),
     {A(60, 2, 1, .step = 4, SEEN), A(505, 0, 0, .apart = 0.1, SEEN, .walks = 0.5)},
     "scattered 0.505,0,0; walk_loads 0.5,0,0; window_missing_cycles 3; victims, scattered, "
     "leaps, stride 0,1,0,0; at 2,0,3,0,1,0.505; at 0,0,1,4,1,0.063"},
    {LOOP("no model", INDIRECT, CACHES(3), NO_BYTES, OPTIONS(.no_model = true)),
     {A(60, 2, 1, .step = 4, SEEN),
      A(500, 200, 100, .apart = 0.9, SEEN, .walks = 0.5, .pages = 200)},
     "scattered 0.5,0.2,0.1; waited 0.1; walk_loads 0.5,0,0; victims, scattered, leaps, stride"
     " 0,1,0,0; at 2,0,3,0,1,0.8; at 0,0,1,4,1,0.063"},
    {LOOP("entered often", INDIRECT, CACHES(3), NO_BYTES, OPTIONS(.trips = 4)),
     {A(60, 2, 1, .step = 4, SEEN), A(500, 200, 100, .apart = 0.9, SEEN)},
     "scattered 0.5,0.2,0.1; waited 0.1; window_missing_cycles 2.062; victims, scattered, "
     "leaps, stride 0,1,0,0; at 2,0,3,0,1,0.8; at 0,0,1,4,1,0.063"},
    {LOOP("chase", CHASE, CACHES(3), NO_BYTES, OPTIONS(.seconds = 20e-9, .threads = 1)),
     {A(600, 300, 100, .apart = 0.9, SEEN, .walks = 0.5, .pages = 200, .sketch = {200})},
     "chained 0.6,0.3,0.1; walk_loads 0.5,0,0; pages 200; missing_cycles 20.2; "
     "window_missing_cycles 20.2; victims, scattered, leaps, stride 0,1,0,0; at 0,0,3,0,1,1"},
    {LOOP("chase at random", CHASE, CACHES(3), NO_BYTES, OPTIONS(.seconds = 20e-9, .threads = 1)),
     {A(50, 350, 400, .apart = 0.9, SEEN, .walks = 0.1, .pages = 260, .sketch = {200})},
     "chained 0.05,0.35,0.4; walk_loads 0.1,0,0; pages 200; missing_cycles 47.6; border_cycles"
     " 132; window_missing_cycles 47.6; victims, scattered, leaps, stride 0,1,0,0; at "
     "0,0,3,0,1,0.8"},
    {LOOP("chase at random, from L3", CHASE, CACHES(3), NO_BYTES,
          OPTIONS(.seconds = 800e-9, .threads = 1, .lost = true)),
     {A(50, 940, 10, .apart = 0.9, SEEN, .pages = 256, .sketch = {200})},
     "chained 0.05,0.94,0.01; pages 200; lost 0.4489; stays 0.0122; missing_cycles 24; "
     "border_cycles 164; window_missing_cycles 24; victims, scattered, leaps, stride 0,1,0,0; "
     "at 0,0,3,0,1,1"},
    {LOOP("chase, mostly from L2", CHASE, CACHES(3), NO_BYTES,
          OPTIONS(.seconds = 20e-9, .threads = 1)),
     {A(400, 350, 200, .apart = 0.9, SEEN, .pages = 256, .sketch = {200})},
     "chained 0.4,0.35,0.2; pages 200; missing_cycles 28.3; border_cycles 156; "
     "window_missing_cycles 28.3; victims, scattered, leaps, stride 0,1,0,0; at 0,0,3,0,1,0.95"},
    {LOOP("chase and out", CHASE, CACHES(3), NO_BYTES, OPTIONS(.trips = 3)),
     {A(600, 300, 100, .apart = 0.9, SEEN)},
     "chained 0.6,0.3,0.1; missing_cycles 2.301; window_missing_cycles 2.301; victims, "
     "scattered, leaps, stride 0,1,0,0; at 0,0,3,0,1,1"},
    {LOOP("chase of lines nearby", CHASE, CACHES(3), NO_BYTES, NO_OPTIONS),
     {A(0, 0, 0, SEEN)},
     "at 0,0,3,0,1,0"},
    {LOOP("chase of hardly any", CHASE, CACHES(3), NO_BYTES, NO_OPTIONS),
     {A(39, 0, 0, SEEN)},
     "window_missing_cycles 4; at 0,0,3,0,1,0.039"},
    {LOOP("code with loops inside", CHASE, CACHES(3), NO_BYTES, OPTIONS(.outer = true)),
     {A(600, 300, 100, .apart = 0.9, SEEN)},
     "chained 0.6,0.3,0.1; victims, scattered, leaps, stride 0,1,0,0; at 0,0,3,0,1,1"},
    {LOOP("column", COLUMN, CACHES(3), BYTES(192000, 64000, 32000), NO_OPTIONS),
     {A(700, 200, 100, .step = 4096, SEEN, .walks = 0.75, .far = 0.9, .sketch = {1}),
      A(600, 300, 50, .step = 4096, SEEN, .walks = 0.5),
      A(500, 200, 100, .step = 4096, SEEN, .walks = 0.25),
      A(10, 0, 0, .step = 4096, SEEN, .walks = 0.125)},
     "bytes 192,64,32; written 0.36,0.2,0.112; scattered 1.81,0.7,0.25; rewritten "
     "0.71,0.2,0.1; waited 0.25; aliased 1.3,0.5,0.15; updated 0.3333; walk_loads 1.5,0,0; "
     "walk_stores 0.125,0,0; pages 1; window_missing_cycles 3; victims, scattered, leaps, "
     "stride 0,1,0,4096; at 0,0,1,4096,1,1; at 8,0,1,4096,1,0.95; at 16,0,1,4096,1,0.8; at "
     "21,1,1,4096,1,0.01"},
    {LOOP("column, sampled", COLUMN, SAMPLED, NO_BYTES, OPTIONS(.trips = 9)),
     {A(700, 200, 100, .translated = 15), A(600, 300, 50, .translated = 16, .walks = 0.5),
      A(500, 200, 100, .translated = 15), A(10, 0, 0, .translated = 15)},
     "written 0.25,0.25,0.25; scattered 1.81,0.7,0.25; rewritten 0.71,0.2,0.1; waited 0.25; "
     "aliased 1.3,0.5,0.15; updated 0.3333; walk_loads 2.5,0,0; window_missing_cycles 2.647; "
     "victims, scattered, leaps, stride 0,1,0,4096; at 0,0,1,4096,1,1; at 8,0,1,4096,1,0.95; "
     "at 16,0,1,4096,1,0.8; at 21,1,1,4096,1,0.01"},
    {LOOP("column, sampled, few trips", COLUMN, SAMPLED, NO_BYTES, OPTIONS(.trips = 8)),
     {A(700, 200, 100, .translated = 15), A(600, 300, 50, .translated = 15),
      A(10, 0, 0, .translated = 15), A(10, 0, 0, .translated = 15)},
     "written 0.25,0.25,0.25; scattered 1.32,0.5,0.15; rewritten 0.71,0.2,0.1; waited 0.15; "
     "aliased 1.3,0.5,0.15; updated 0.5; window_missing_cycles 2.681; victims, scattered, "
     "leaps, stride 0,1,0,4096; at 0,0,1,4096,1,1; at 8,0,1,4096,1,0.95; at "
     "16,0,1,4096,1,0.01; at 21,1,1,4096,1,0.01"},
    {LOOP("column, sampled, no model", COLUMN, SAMPLED, NO_BYTES,
          OPTIONS(.trips = 9, .no_model = true)),
     {A(700, 200, 100, .translated = 15)},
     "written 0.25,0.25,0.25; scattered 0.7,0.2,0.1; rewritten 0.7,0.2,0.1; waited 0.1; "
     "aliased 0.7,0.2,0.1; updated 1; victims, scattered, leaps, stride 0,1,0,4096; at "
     "0,0,1,4096,1,1; at 8,0,1,4096,1,0; at 16,0,1,4096,1,0; at 21,1,1,4096,1,0"},
    {LOOP("by a register", BY_REGISTER, CACHES(3), NO_BYTES, NO_OPTIONS),
     {A(500, 300, 100, .step = 256, SEEN, .walks = 0.1)},
     "scattered 0.5,0.3,0.1; waited 0.1; walk_loads 0.1,0,0; window_missing_cycles 1.132; "
     "victims, scattered, leaps, stride 0,1,1,256; at 0,0,1,256,1,0.9"},
    {LOOP("by a register, far", BY_REGISTER, CACHES(3), NO_BYTES, NO_OPTIONS),
     {A(100, 0, 0, .apart = 0.91, .step = 8192, SEEN, .walks = 1.0, .far = 0.5)},
     "scattered 0.1,0,0; walk_loads 0.5,0.5,0; window_missing_cycles 1; victims, scattered, "
     "leaps, stride 0,1,1,8192; at 0,0,1,8192,1,0.1"},
    {LOOP("by a register, not as far", BY_REGISTER, CACHES(3), NO_BYTES, NO_OPTIONS),
     {A(100, 0, 0, .apart = 0.9, .step = -64, SEEN)},
     "window_missing_cycles 1; at 0,0,1,-64,1,0.1"},
    {LOOP("movs", MOVS, CACHES(3), BYTES(192000, 128000, 64000), NO_OPTIONS),
     {A(400, 200, 100, .split = 0.5, SEEN, .step = 1)},
     "bytes 169.6,118.4,60.8; written 0.4075,0.2162,0.1179; split_loads 0.5,0,0,0,0; "
     "split_stores 0.5,0,0,0,0; at 0,1,1,1,1,0.7"},
    {LOOP("stos", STOS, CACHES(3), BYTES(192000, 128000, 64000), NO_OPTIONS),
     {A(400, 200, 100, .split = 0.5, SEEN)},
     "bytes 147.2,108.8,57.6; written 0.4696,0.2353,0.1244; split_stores 0.5,0,0,0,0; at "
     "0,1,4,0,1,0.7"},
    {LOOP("stos without lines", STOS, CACHES(3), BYTES(1920, 1280, 640), NO_OPTIONS),
     {A(0, 0, 0, NOT_SEEN)},
     "bytes 1.92,1.28,0.64; written 0.3667,0.2,0.2; at 0,1,4,0,1,0"},
    {LOOP("gather", GATHER, CACHES(3), BYTES(192000, 128000, 64000), NO_OPTIONS),
     {A(400, 200, 100, .split = 0.5, .aliased = 0.25, .apart = 0.5, SEEN, .walks = 0.5, .far = 0.75,
        .wide = 0.25)},
     "bytes 192,128,64; written 0.36,0.2,0.112; behind 0,0.25,0,0,0; scattered 0.4,0.2,0.1; "
     "waited 0.1; walk_loads 0.5,1,0.5; window_missing_cycles 2; victims, scattered, leaps, "
     "stride 0,1,0,0; at 4,0,3,0,1,0.7"},
    {LOOP("prefetches", PREFETCH, CACHES(3), BYTES(192000, 128000, 64000), OPTIONS(.threads = 2)),
     {A(0, 0, 0, .split = 0.25, .step = 16, SEEN, .walks = 0.125),
      A(500, 0, 0, .split = 0.75, .step = 32, SEEN, .walks = 0.25, .contended = 0.5)},
     "bytes 192,128,64; written 0.36,0.2,0.112; split_loads 0,0,0.25,0,0; split_stores "
     "0,0,0,0.75,0; contended 0.5; walk_loads 0.125,0,0; walk_stores 0.25,0,0; at "
     "10,1,1,32,1,0.5; at 7,0,1,16,1,0"},
    {LOOP("updates", UPDATES, CACHES(3), BYTES(192000, 128000, 64000), NO_OPTIONS),
     {A(60, 2, 1, SEEN), A(300, 200, 100, .apart = 1, SEEN, .walks = 0.5),
      A(310, 210, 110, .apart = 1, SEEN, .walks = 0.25),
      A(320, 220, 120, .apart = 1, SEEN, .walks = 0.75), A(0, 0, 0, .apart = 1, SEEN)},
     "bytes 192,128,64; written 0.36,0.2,0.112; scattered 0.93,0.63,0.33; overwritten "
     "0.32,0.22,0.12; rewritten 0.61,0.41,0.21; waited 0.21; walk_loads 0.25,0,0; walk_stores "
     "1.25,0,0; window_missing_cycles 2.846; victims, scattered, leaps, stride 0,1,0,0; at "
     "10,1,3,0,1,0.66; at 6,0,3,0,1,0.63; at 2,1,3,0,1,0.6; at 0,0,1,4,1,0.063; at "
     "14,1,3,0,1,0"},
    {LOOP("stack", STACK, CACHES(3), NO_BYTES, OPTIONS(.threads = 2)),
     {{.unseen = true}, {.unseen = true}},
     "contended 1"},
    {LOOP("stack, one thread", STACK, CACHES(3), NO_BYTES, OPTIONS(.threads = 1)),
     {{.unseen = true}, {.unseen = true}},
     ""},
    {LOOP("branch", BRANCH, CACHES(3), NO_BYTES, OPTIONS(.second = 13, .taken = 250)),
     {A(60, 2, 1, SEEN), A(300, 200, 100, .apart = 1, SEEN, .walks = 0.5)},
     "scattered 0.3,0.2,0.1; waited 0.1; walk_loads 0.5,0,0; window_missing_cycles 2.179; "
     "resolve_missing 3.65; victims, scattered, leaps, stride 0,1,0,0; at 6,0,3,0,1,0.6; at "
     "0,0,1,4,1,0.063"},
    {LOOP("scas", SCAS, CACHES(3, .streams = true), BYTES(192000, 128000, 64000), NO_OPTIONS),
     {A(400, 200, 100, SEEN)},
     "bytes 192,128,64; window_missing_cycles 1; at 0,0,1,0,1,0.7"},
    {LOOP("movs and a load, prefetchers", MOVS_AND_LOAD, CACHES(3, .streams = true),
          BYTES(192000, 128000, 64000), NO_OPTIONS),
     {A(400, 200, 100, SEEN), A(10, 0, 0, SEEN)},
     "bytes 169.6,118.4,60.8; written 0.459,0.459,0.459; window_missing_cycles 5; at "
     "0,1,3,0,1,0.7; at 2,0,1,0,1,0.01"},
    {LOOP("chase in L2 beside lines of L3 that others take", CHASE_AND_INDIRECT, CACHES(3),
          NO_BYTES, OPTIONS(.seconds = 100e-9, .threads = 1, .lost = true)),
     {A(300, 0, 0, SEEN), A(60, 0, 0, SEEN), A(0, 940, 0, .apart = 1, SEEN, .sketch = {250})},
     "scattered 0,0.94,0; pages 250; lost 0.08511; stays 0.0122; missing_cycles 4.6; "
     "window_missing_cycles 4; victims, scattered, leaps, stride 0,1,0,0; at 5,0,3,0,1,0.94; "
     "at 0,0,3,0,1,0.3; at 3,0,1,4,1,0.06"},
    {LOOP("chase in L3 that others take", CHASE, CACHES(3), NO_BYTES,
          OPTIONS(.seconds = 200e-9, .threads = 1, .lost = true)),
     {A(600, 350, 50, .apart = 0.9, SEEN, .pages = 1024, .sketch = {200})},
     "chained 0.6,0.35,0.05; pages 200; lost 0.3085; stays 0.0122; missing_cycles 13.7; "
     "border_cycles 23.42; window_missing_cycles 13.7; victims, scattered, leaps, stride "
     "0,1,0,0; at 0,0,3,0,1,1"},
    {LOOP("chase 3% longer", CHASE, CACHES(3), NO_BYTES, NO_OPTIONS),
     {A(60, 0, 0, SEEN)},
     "missing_cycles 4.12; window_missing_cycles 4; at 0,0,3,0,1,0.06"},
    {LOOP("chase of one trip", CHASE, CACHES(3), NO_BYTES, OPTIONS(.trips = 1)),
     {A(600, 300, 100, .apart = 0.9, SEEN)},
     "chained 0.6,0.3,0.1; missing_cycles 0.8419; window_missing_cycles 0.8419; victims, "
     "scattered, leaps, stride 0,1,0,0; at 0,0,3,0,1,1"},
    {LOOP("2.495 trips", CHASE, CACHES(3), NO_BYTES, OPTIONS(.trips = 2.495)),
     {A(600, 300, 100, .apart = 0.9, SEEN)},
     "chained 0.6,0.3,0.1; missing_cycles 1.556; window_missing_cycles 1.556; victims, "
     "scattered, leaps, stride 0,1,0,0; at 0,0,3,0,1,1"},
    {LOOP("256 trips", CHASE, CACHES(3), NO_BYTES, OPTIONS(.trips = 256)),
     {A(600, 300, 100, .apart = 0.9, SEEN)},
     "chained 0.6,0.3,0.1; missing_cycles 18.2; window_missing_cycles 18.2; victims, "
     "scattered, leaps, stride 0,1,0,0; at 0,0,3,0,1,1"},
    {LOOP("vectors without a description", INDIRECT, CACHES(3), NO_BYTES,
          OPTIONS(.no_core = true, .trips = 3)),
     {A(60, 2, 1, SEEN), A(500, 200, 100, .apart = 0.9, SEEN)},
     "scattered 0.5,0.2,0.1; waited 0.1; victims, scattered, leaps, stride 0,1,0,0; at "
     "2,0,3,0,1,0.8; at 0,0,1,4,1,0.063"},
    {LOOP("the first instruction updates", FIRST_UPDATES, CACHES(3), NO_BYTES, NO_OPTIONS),
     {A(600, 0, 0, .apart = 1, SEEN), A(601, 0, 0, .apart = 1, SEEN), A(60, 0, 0, SEEN)},
     "written 0.2857,0.2857,0.2857; scattered 1.201,0,0; rewritten 1.201,0,0; "
     "window_missing_cycles 1.5; victims, scattered, leaps, stride 0,1,0,0; at "
     "4,0,3,0,1,0.601; at 0,1,3,0,1,0.6; at 8,0,1,4,1,0.06"},
    {LOOP("branch by the first instruction", BRANCH_FIRST, CACHES(3), NO_BYTES,
          OPTIONS(.second = 7, .taken = 250)),
     {A(300, 200, 100, .apart = 1, SEEN), A(60, 2, 1, SEEN)},
     "scattered 0.3,0.2,0.1; waited 0.1; window_missing_cycles 1.56; resolve_missing 3.15; "
     "victims, scattered, leaps, stride 0,1,0,0; at 0,0,3,0,1,0.6; at 7,0,1,4,0.75,0.084"},
    {LOOP("updates apart and elsewhere", UPDATES_APART, CACHES(3), NO_BYTES, NO_OPTIONS),
     {A(600, 0, 0, SEEN), A(0, 0, 0, SEEN), A(700, 0, 0, SEEN), A(0, 0, 0, SEEN)},
     "written 0.4,0.4,0.4; scattered 1.3,0,0; rewritten 0.6,0,0; aliased 0.7,0,0; updated "
     "0.5; window_missing_cycles 1.75; victims, scattered, leaps, stride 0,1,0,4096; at "
     "8,0,1,4096,1,0.7; at 0,0,1,4096,1,0.6; at 4,1,1,4096,1,0; at 13,1,1,0,1,0"},
    {LOOP("two updates of a line", TWO_UPDATES, CACHES(3), NO_BYTES, NO_OPTIONS),
     {A(600, 0, 0, SEEN), A(0, 0, 0, SEEN), A(0, 0, 0, SEEN), A(0, 0, 0, SEEN)},
     "written 0.5,0.5,0.5; scattered 0.6,0,0; rewritten 0.6,0,0; aliased 0.6,0,0; updated 1; "
     "window_missing_cycles 1.5; victims, scattered, leaps, stride 0,1,0,4096; at "
     "0,0,1,4096,1,0.6; at 4,1,1,4096,1,0; at 8,0,1,4096,1,0; at 13,1,1,4096,1,0"},
    {LOOP("two pages apart", TWO_PAGES, CACHES(3), NO_BYTES, NO_OPTIONS),
     {A(600, 0, 0, SEEN, .walks = 1.0)},
     "scattered 0.6,0,0; aliased 0.6,0,0; walk_loads 0.6667,0.3333,0; window_missing_cycles "
     "1; victims, scattered, leaps, stride 0,1,0,8192; at 0,0,1,8192,1,0.6"},
    {LOOP("a sweep over 2 MiB", STREAM, CACHES(3), BYTES(16000, 12000, 9000),
          OPTIONS(.roofs = true)),
     {A(100, 20, 5, SEEN, .sketch = {12, [CARM_RUN_PAGES_KEPT - 1] = 5}), A(110, 10, 5, SEEN)},
     "bytes 16,12,3; written 0.36,0.2,0.1111; pages 512; window_missing_cycles 1.25; at "
     "0,0,1,8,1,0.125; at 4,1,1,8,1,0.125"},
    {LOOP("scattered over 2 MiB", INDIRECT, CACHES(3), BYTES(16000, 12000, 9000),
          OPTIONS(.roofs = true)),
     {A(60, 2, 1, SEEN, .sketch = {12, [CARM_RUN_PAGES_KEPT - 1] = 5}),
      A(500, 200, 100, .apart = 0.9, SEEN)},
     "bytes 16,12,9; written 0.36,0.2,0.1111; scattered 0.5,0.2,0.1; waited 0.1; pages 512; "
     "window_missing_cycles 3; victims, scattered, leaps, stride 0,1,0,0; at 2,0,3,0,1,0.8; "
     "at 0,0,1,4,1,0.063"},
};

TEST(memory)
{
    struct carm_stay stay = {
        .looked = true, .n = 2, .seconds = {2e-3, 14.7456e-3}, .share = {0.9, 0.4}};
    struct carm_model without = model;
    without.nlatency--;
    for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
        const struct options *with = &loops[i].with;
        struct carm_run_levels levels = {loops[i].about, loops[i].figures, loops[i].at, NULL};
        struct carm_run_after after = {.stay = stay};
        struct carm_run run = {.after = with->lost ? &after : NULL};
        struct carm_bounds_input in = {.rates = {with->no_model ? NULL
                                                 : with->no_tlb ? &without
                                                                : &model,
                                                 with->no_core ? NULL : &core, 0.0, 0.0},
                                       .clock_hz = 1e9,
                                       .roofs = with->roofs ? &one_thread : NULL,
                                       .threads = with->threads};
        struct carm_bounds_unit units[CARM_RUN_UNITS_MAX];
        struct carm_run_verdict v = {.has = false};
        struct carm_graph graph;
        char chain[CARM_RUN_CHAIN_MAX];
        struct carm_flow_code *code = decode(loops[i].code, with->second, with->taken);
        code->inner = !with->outer;
        assert_ok(carm_run_code_input(code, &graph, &in, units, chain, &err));
        assert_ok(carm_run_memory_input(&run, code, with->trips, with->seconds, &graph, &levels,
                                        &levels.figures, &in, &v, &err));
        say_memory(&in, &v);
        is_text(loops[i].name, said, loops[i].says);
        carm_graph_close(&graph);
    }
}

/* Branches that leave a loop go astray for the loop around it: 250 of 1000 iterations, 9 cycles until the loaded number is
 * compared and 16 until the next instructions are there. */
TEST(loops_inside)
{
    static const struct carm_microarchitecture theory = {
        .core = {{"load", "", "", 4, 0.5}, {"branch-mispredicted", "", "", 16, 0}}, .ncore = 2};
    static struct carm_roofs roofs = {.threads = 1, .clock_hz = 1e9};
    static const struct carm_model clocked = {.roofs = &roofs, .nroofs = 1};
    static const struct {
        size_t parent[2], code[2];
        bool inner;
        double cycles;
        size_t at; /* row of the outer loop */
    } of[] = {{{1, 1}, {2, 0}, false, 6.25, 0}, {{1, 1}, {2, 2}, false, 12.5, 0},
              {{1, 2}, {2, 2}, false, 6.25, 0}, {{0, 2}, {2, 2}, false, 0.0, 0},
              {{3, 1}, {2, 2}, false, 6.25, 0}, {{1, 1}, {2, 2}, true, 0.0, 0},
              {{3, 3}, {2, 2}, false, 12.5, 2}};
    struct carm_flow_code codes[2];
    struct carm_code_piece pieces[3];
    codes[1] = *decode(BRANCH, 13, 250);
    codes[1].ops = closed_later(free, malloc(codes[1].nops * sizeof *codes[1].ops));
    memcpy(codes[1].ops, code_of_levels->ops, codes[1].nops * sizeof *codes[1].ops);
    memcpy(pieces, codes[1].pieces, 2 * sizeof *pieces);
    codes[1].pieces = pieces;
    pieces[0].target = AT + 100;
    codes[0] = *decode("48 83 e9 01 75 fa", 0, 0);
    pieces[2] = codes[0].pieces[0];
    codes[0].pieces = pieces + 2;
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        struct carm_profile_row rows[3];
        const struct carm_profile profile = {.rows = rows,
                                             .nrows = 3,
                                             .codes = codes,
                                             .ncodes = 2,
                                             .has_counts = true,
                                             .has_time = true};
        const struct carm_run run = {.budget = 0};
        struct carm_run_verdict *v;
        double cycles = 0.0;
        codes[0].inner = of[i].inner;
        for (size_t k = 0, n = 0; k < 3; k++) {
            rows[k] = (struct carm_profile_row){.kind = CARM_PROFILE_LOOP,
                                                .code = 1,
                                                .samples = 100,
                                                .share = 1.0,
                                                .seconds = 30e-6,
                                                .threads = 1};
            if (k != of[i].at) {
                rows[k] =
                    (struct carm_profile_row){.parent = of[i].parent[n], .code = of[i].code[n]};
                n++;
            }
        }
        assert_ok(carm_run_verdicts(&v, &run, &profile, NULL, &clocked, &theory, &err));
        for (size_t k = 0; k < v[of[i].at].verdict.bounds.n; k++) {
            const struct carm_lower_bound *b = &v[of[i].at].verdict.bounds.of[k];
            cycles += b->limit == CARM_LIMIT_BRANCHES ? 1e9 * b->seconds : 0.0;
        }
        assert_near(cycles, of[i].cycles, 1e-9);
        free(v);
    }
}

/* A chain of 30 cycles beside a call, at 1 GHz: it goes on in the function, 5 ns of each of its calls, and in the function
 * that this one calls. */
TEST(called)
{
    static const struct carm_microarchitecture theory = {.core = {{"int-mul", "", "", 30, 1}},
                                                         .ncore = 1};
    static struct carm_roofs roofs = {.threads = 1, .clock_hz = 1e9};
    static const struct carm_model clocked = {.roofs = &roofs, .nroofs = 1};
    static const struct {
        enum carm_profile_kind kind;
        uint32_t module;
        uint64_t target;
        bool jumps;
        double executions, ns,
            inside_ns; /* of the function's begin, and of its row and of the other's */
        double cycles;
        uint64_t next; /* what the function calls, if not the other */
        int threads;
        bool first; /* the function's row is the first */
    } of[] = {{CARM_PROFILE_FUNCTION, 7, 0x5000, false, TIMES, 5000, 0, 25, 0, 1, false},
              {CARM_PROFILE_FUNCTION, 7, 0x5000, false, 2 * TIMES, 10000, 0, 25, 0, 1, false},
              {CARM_PROFILE_BODY, 7, 0x5000, false, TIMES, 5000, 4000, 21, 0, 1, false},
              {CARM_PROFILE_FUNCTION, 7, 0x5000, false, TIMES, 40000, 0, 0, 0, 1, false},
              {CARM_PROFILE_LOOP, 7, 0x5000, false, TIMES, 5000, 4000, 30, 0, 1, false},
              {CARM_PROFILE_FUNCTION, 8, 0x5000, false, TIMES, 5000, 4000, 30, 0, 1, false},
              {CARM_PROFILE_FUNCTION, 7, 0x5001, false, TIMES, 5000, 4000, 30, 0, 1, false},
              {CARM_PROFILE_FUNCTION, 7, 0x5000, true, TIMES, 5000, 4000, 30, 0, 1, false},
              {CARM_PROFILE_FUNCTION, 7, 0x5000, false, 0, 5000, 4000, 30, 0, 1, false},
              {CARM_PROFILE_FUNCTION, 7, 0x5000, false, 1, 5, 0, 25, 0, 1, false},
              /* it calls itself: three calls deep */
              {CARM_PROFILE_FUNCTION, 7, 0x5000, false, TIMES, 5000, 0, 15, 0x5000, 1, false},
              {CARM_PROFILE_FUNCTION, 7, 0x5000, false, TIMES, 5000, 0, 20, 0, 2, false},
              {CARM_PROFILE_FUNCTION, 7, 0x5000, false, TIMES, 5000, 4000, 21, 0, 1, true}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        /* imul rbx, rbx; call; sub ecx, 1; jnz */
        struct carm_flow_code codes[3] = {
            *decode("48 0f af db e8 00 00 00 00 83 e9 01 75 f2", 9, 0)};
        struct carm_code_piece begins[2] = {{.at = 0x5000,
                                             .end = 0x5001,
                                             .executions = of[i].executions,
                                             .target = of[i].next ? of[i].next : 0x6000},
                                            {.at = 0x6000, .end = 0x6001, .executions = TIMES}};
        struct carm_profile_row rows[3] = {
            {.kind = CARM_PROFILE_LOOP,
             .code = 1,
             .samples = 100,
             .samples_inside = 100,
             .share = 1.0,
             .seconds = 30e-6,
             .threads = 1},
            {.kind = of[i].kind, .code = 2, .seconds = 1e-9 * of[i].ns, .threads = of[i].threads},
            {.kind = CARM_PROFILE_FUNCTION,
             .code = 3,
             .seconds = 1e-9 * of[i].inside_ns,
             .threads = 1}};
        const struct carm_profile_row loop = rows[0];
        rows[0] = rows[of[i].first];
        rows[of[i].first] = loop;
        const struct carm_profile profile = {.rows = rows,
                                             .nrows = 3,
                                             .codes = codes,
                                             .ncodes = 3,
                                             .has_counts = true,
                                             .has_time = true};
        const struct carm_run run = {.budget = 0};
        struct carm_run_verdict *v;
        double cycles = 0.0;
        codes[0].pieces[0].jumps = of[i].jumps;
        codes[0].pieces[0].target = of[i].target;
        for (size_t k = 0; k < 2; k++) {
            codes[k + 1] = (struct carm_flow_code){
                .module = k ? 7 : of[i].module, .pieces = begins + k, .npieces = 1};
        }
        assert_ok(carm_run_verdicts(&v, &run, &profile, NULL, &clocked, &theory, &err));
        const struct carm_bounds *bounds = &v[of[i].first].verdict.bounds;
        for (size_t k = 0; k < bounds->n; k++) {
            const struct carm_lower_bound *b = &bounds->of[k];
            const bool carried = strstr(b->origin, "from one iteration to the next") != NULL;
            cycles = carried ? 1e9 * b->seconds : cycles;
        }
        fail_if(fabs(cycles - of[i].cycles) > 1e-6, "case %zu: %g cycles", i, cycles);
        free(v);
    }
}
