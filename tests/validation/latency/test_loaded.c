/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A chase beside streams, and walks through wide tables, on a planted machine, as text. Clock, team, buffers and codes
 * stand here. */
#include <sys/mman.h>

#include "asm/image.h"
#include "tests/counter.h"
#include "tests/validation/golden.h"
#include "validation/latency/latency.h"
#include "validation/latency/order.h"

#define MIB ((uint64_t)1 << 20)

enum {
    LOOK = 1000 /* ticks of a look at the counter */,
    LOOKS = 150 /* of a stream before the next thread begins */
};

static const double tsc_hz = 1e9;

/* A machine of the test. */
struct planted {
    const char *name;
    int cores;
    uint64_t cache, memory; /* bytes; 0 = none, or as much as is available */
    double line_seconds;    /* to lay out a line */
    size_t over_at,
        stop_at; /* job after which the deadline is over, or the user stops, from 1; 0 = none */
    uint64_t page_bytes; /* 0 = 4096 */
    bool refused;        /* memory */
};

static struct planted of;

static struct {
    size_t jobs, looks, runs, chases, touched;
    double ticks;
    struct carm_team *team;
    carm_job_fn *job;
    void *arg;
    int begun;      /* thread that has begun last; the first one is the last */
    uint64_t print; /* of what the streams ran */
} seen;

static volatile sig_atomic_t stop;

/* ---- what stands in place of the machine ---- */

static void begin(int thread)
{
    seen.begun = thread;
    seen.looks = 0;
    seen.job(&seen.team->workers[thread], seen.arg);
}

/* The threads of a job are one: each stream begins the next thread after some looks at the time. */
static double counter_now(void)
{
    seen.ticks += (double)(LOOK * (1 + seen.looks % 3) + seen.looks);
    if (++seen.looks == LOOKS && seen.begun > 0) {
        begin(seen.begun - 1);
    }
    return seen.ticks;
}

void carm_team_run(struct carm_team *team, carm_job_fn *job, void *arg)
{
    seen.team = team;
    seen.job = job;
    seen.arg = arg;
    seen.jobs++;
    stop = of.stop_at && seen.jobs >= of.stop_at;
    for (begin(team->n - 1); seen.begun > 0;) {
        begin(seen.begun - 1);
    }
}

bool carm_team_is_over(const struct carm_team *team)
{
    return of.over_at && seen.jobs >= of.over_at;
}

int carm_team_open_sized(struct carm_team **out, const struct carm_topo *topo,
                         const struct carm_clock *clock, int n, const size_t *bytes,
                         size_t max_reps, struct carm_err *e)
{
    struct carm_team *team = calloc(1, sizeof *team);
    assert_non_null(team);
    *team = (struct carm_team){.topo = topo, .clock = clock, .n = n, .size = n};
    team->workers = calloc((size_t)n, sizeof *team->workers);
    assert_non_null(team->workers);
    for (int i = 0; i < n; i++) { /* nobody reads or writes there */
        team->workers[i] = (struct carm_worker){.team = team, .index = i};
        team->workers[i].buffer.start = (void *)((uintptr_t)(i + 1) << 32); // NOLINT
    }
    (void)fprintf(text, "%d threads, %zu bytes, %zu of each stream, %zu repetitions; ", n, bytes[0],
                  bytes[n - 1], max_reps);
    *out = team;
    return 0;
}

void carm_team_close(struct carm_team *team)
{
    free(team ? team->workers : NULL);
    free(team);
}

bool carm_team_touch(struct carm_team *team, size_t bytes_per_thread)
{
    (void)fprintf(text, "%zu bytes touched until %llu, ", bytes_per_thread,
                  (unsigned long long)team->deadline.tsc);
    return true;
}

uint64_t carm_memory_available(void)
{
    return 3249 * MIB / 4; /* of which a quarter is just enough */
}

/* All of it is the same two MiB. */
int carm_buffer_open(struct carm_buffer *buffer, size_t bytes, struct carm_err *e)
{
    (void)fprintf(text, "buffer of %zu bytes%s\n", bytes, of.refused ? " is refused" : "");
    if (of.refused) {
        return -CARM_ENOMEM;
    }
    const int file = memfd_create("planted", 0);
    assert_int_equal(ftruncate(file, 2 * MIB), 0);
    char *at = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(at != MAP_FAILED);
    *buffer = (struct carm_buffer){.start = at, .bytes = bytes};
    for (size_t i = 0; i + 2 * MIB <= bytes; i += 2 * MIB) {
        assert_true(mmap(at + i, 2 * MIB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file,
                         0) != MAP_FAILED);
    }
    (void)close(file);
    return 0;
}

void carm_buffer_touch(struct carm_buffer *buffer, size_t bytes)
{
    assert_int_equal(bytes, buffer->touched + 2 * MIB);
    buffer->touched = bytes;
    seen.touched++;
}

uint64_t carm_buffer_page_bytes(const struct carm_buffer *buffer)
{
    return of.page_bytes ? of.page_bytes : 4096;
}

void carm_buffer_close(struct carm_buffer *buffer)
{
    const uint64_t print = fingerprint(FINGERPRINT_NONE, buffer->start, 2 * MIB);
    (void)fprintf(text, "%zu MiB of %zu touches left (%04x)\n", buffer->touched >> 20, seen.touched,
                  (unsigned)(print & 0xffff));
    (void)munmap(buffer->start, buffer->bytes);
}

void carm_chase_order(uint32_t *sequence, enum carm_latency_order order, uint64_t page_bytes,
                      uint64_t set_bytes, size_t most, uint64_t seed)
{
    assert_true(order == CARM_LATENCY_RANDOM && most == SIZE_MAX);
    sequence[0] = 5;
    sequence[set_bytes / CARM_LINE_BYTES - 1] = 77;
    (void)fprintf(text, "pages of %llu, set %llu, seed %llu", (unsigned long long)page_bytes,
                  (unsigned long long)set_bytes, (unsigned long long)seed);
}

void carm_chase_link(void *base, const uint32_t *sequence, size_t n)
{
    assert_true(base == seen.team->workers[0].buffer.start && sequence[n - 1] == 77);
    (void)fprintf(text, ", %zu lines\n", n);
}

const struct carm_chain *carm_chain_image_find(const struct carm_chain_image *image,
                                               const char *name)
{
    static const struct carm_chain chain = {.units = 4};
    assert_string_equal(name, "P.k1");
    return &chain;
}

/* Of 60 ns a load; each third repetition of two in three steps takes half as much longer, or a little more. */
double carm_latency_cycles(const struct carm_worker *worker, const struct carm_chain *code,
                           void *window, uint64_t iterations, uint64_t mask, double *seconds)
{
    static const double uneven[] = {1.0, 1.5, 1.505};
    const double part = ++seen.chases % 3 == 0 ? uneven[seen.jobs % 3] : 1.0;
    uint64_t at;
    memcpy(&at, window, sizeof at);
    assert_true(mask == 0 && worker->index == 0);
    const uint64_t numbers[] = {iterations, at};
    seen.print = fingerprint(seen.print, numbers, sizeof numbers);
    *seconds = 0x1p-24 * part * (double)(iterations * code->units);
    seen.ticks += *seconds * tsc_hz;
    return 0.0;
}

/* A window of a stream takes 20 us. */
static void run_stream(void *window, uint64_t iterations, uint64_t passes, uint64_t extra)
{
    const uint64_t numbers[] = {(uint64_t)(uintptr_t)window, iterations, passes, extra};
    seen.print = fingerprint(seen.print, numbers, sizeof numbers);
    seen.runs++;
    seen.ticks += 20e-6 * tsc_hz;
}

int carm_image_open(struct carm_image **out, const struct carm_code_spec *specs, size_t n,
                    struct carm_err *e)
{
    static struct carm_code codes[3];
    static struct carm_image image = {.codes = codes};
    assert_int_equal(n, 3);
    for (size_t i = 0; i < n; i++) {
        codes[i].run = run_stream;
        codes[i].account = (struct carm_account){
            .stride_bytes = 384 + 64 * i, .load_bytes = 384, .store_bytes = 64 * i};
        carm_code_name(&specs[i], codes[i].name);
        (void)fprintf(text, "%s, ", codes[i].name);
    }
    *out = &image;
    return 0;
}

void carm_image_close(struct carm_image *image)
{
}

/* ---- the figures ---- */

static void put(double value, struct carm_ci ci, bool disturbed)
{
    (void)fprintf(text, " %.6g (%.5g to %.5g)%s", value, ci.lo, ci.hi, disturbed ? " D" : "");
}

static void walk(const struct planted *as,
                 int (*part)(struct carm_latency_run *, struct carm_err *))
{
    static struct carm_observer observer = {.stop = &stop};
    struct carm_topo topo = {.cores = as->cores,
                             .pus = 2 * as->cores,
                             .ncaches = as->cache ? 2 : 0,
                             .caches = {{1, 32768, 1, 2, 8, -1}, {2, as->cache, 1, 2, 8, -1}}};
    struct carm_host host = {.topo = &topo, .clock = {.tsc_hz = tsc_hz}, .observer = &observer};
    struct carm_team team = {.n = 1, .clock = &host.clock, .deadline = {.tsc = (uint64_t)1e9}};
    struct carm_worker worker = {.team = &team};
    struct carm_model *m = calloc(1, sizeof *m);
    assert_non_null(m);
    struct carm_latency_run run = {.options = {.memory_bytes = as->memory},
                                   .host = &host,
                                   .team = &team,
                                   .model = m,
                                   .line_seconds = as->line_seconds};
    of = *as;
    team.workers = &worker;
    m->in_flight = calloc(CARM_LATENCY_WIDE_RATES, sizeof *m->in_flight);
    assert_non_null(m->in_flight);
    memset(&seen, 0, sizeof seen);
    seen.print = FINGERPRINT_NONE;
    stop = 0;
    (void)fprintf(text, "---- %s\n", as->name);
    counter_plant(counter_now);
    const int rc = part(&run, &err);
    counter_plant(NULL);
    (void)fprintf(text, "returned %d; %zu jobs, %zu windows, %zu chases (%04x)\n", rc, seen.jobs,
                  seen.runs, seen.chases, (unsigned)(seen.print & 0xffff));
    for (size_t i = 0; i < m->nloaded; i++) {
        const struct carm_loaded *l = &m->loaded[i];
        (void)fprintf(text, "%s by %d threads, pages of %llu:", l->ldst, l->threads,
                      (unsigned long long)l->page_bytes);
        for (size_t k = 0; k < l->npoints; k++) {
            const struct carm_loaded_point *p = &l->points[k];
            (void)fprintf(text, " %.5g GB/s", 1e-9 * p->bandwidth);
            put(p->seconds, p->ci95, p->disturbed);
        }
        (void)fputs("\n", text);
    }
    for (size_t i = 0; i < m->nin_flight; i++) {
        const struct carm_in_flight *f = &m->in_flight[i];
        (void)fprintf(text, "%s %s of %llu, set %llu:", f->level, f->code,
                      (unsigned long long)f->page_bytes, (unsigned long long)f->working_set_bytes);
        put(f->rate, f->ci95, f->disturbed);
        (void)fputs("\n", text);
    }
    carm_model_free(m);
}

/* Streams of so many cores: their buffers, the memory that is just enough, the time that is not. */
TEST(a_chase_beside_streams)
{
    enum { CHASE = 128, ORDER = 8, LINES = CHASE << 14 };
    static const struct planted rows[] = {
        {.name = "three cores, small cache", .cores = 3, .cache = MIB / 2, .memory = 140 * MIB},
        {.name = "a byte is missing", .cores = 3, .cache = MIB / 2, .memory = 140 * MIB - 1},
        {.name = "large cache, available memory", .cores = 4, .cache = 129 * MIB / 4, .over_at = 2},
        {.name = "more than is available", .cores = 4, .cache = 64 * MIB, .over_at = 1},
        {.name = "a quarter of the least",
         .cores = 2,
         .cache = 28 * MIB,
         .memory = 999 * MIB,
         .over_at = 1},
        {.name = "no cache", .cores = 2, .memory = 200 * MIB, .over_at = 4},
        {.name = "one core", .cores = 1, .cache = MIB, .memory = 999 * MIB},
        {.name = "many cores", .cores = 300, .cache = MIB, .memory = 999 * MIB, .over_at = 2},
        {.name = "time",
         .cores = 2,
         .memory = 200 * MIB,
         .line_seconds = 0.49 / LINES,
         .stop_at = 3},
        {.name = "no time", .cores = 2, .memory = 200 * MIB, .line_seconds = 0.5 / LINES},
        {.name = "stopped", .cores = 2, .memory = 200 * MIB, .over_at = 1, .stop_at = 1},
    };
    text_open();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        walk(&rows[i], carm_latency_loaded);
    }
    text_is("loaded");
}

/* Walks of half a GiB, or what memory there is, but of no less than 256 MiB. */
TEST(walks_through_large_tables)
{
    static const struct planted rows[] = {
        {.name = "256 MiB and a bit", .memory = 256 * MIB + 5},
        {.name = "less", .memory = 256 * MIB - 1},
        {.name = "300 MiB", .memory = 301 * MIB - 1, .over_at = 2},
        {.name = "all", .memory = 999 * MIB, .refused = true},
        {.name = "large pages", .memory = 256 * MIB, .page_bytes = 2 * MIB},
        {.name = "over", .memory = 256 * MIB, .over_at = 1},
    };
    text_open();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        walk(&rows[i], carm_latency_wide);
    }
    text_is("wide");
}
