/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The latencies of planted memories, as text: each chase with the runs of its code, and each figure. Clock, buffers, team
 * and accesses stand here, so that nothing waits for a machine. */
#include <time.h>

#include "models/core.h"
#include "tests/counter.h"
#include "tests/fingerprint.h"
#include "tests/validation/golden.h"
#include "validation/latency/latency.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

enum {
    SMALL = 4096,
    TICKS = 3 /* of an access */,
    LOOK = 1000 /* ticks of a look at the counter */
};

static const double hz = 2e9, tsc_hz = 1e9;

/* A machine of the test. */
static struct planted {
    const char *name;
    struct carm_topo_cache caches[3];
    size_t ncaches;
    uint64_t memory_bytes, page_bytes[2];
    bool quick, forbidden; /* to bind memory */
    double share;          /* of the pages on the wanted node; -1 = not known */
    double budget;         /* seconds; 0 = no deadline */
    double laying_out;     /* seconds of a layout, by the clock */
    size_t over_at;        /* job after which the deadline is over; 0 = none */
    size_t stop_at;        /* and after which the user stops */
    bool refused;          /* memory */
    uint64_t tlb[2];       /* entries; 0 0 = 64 and 512 */
    double walk;           /* cycles beyond the first; 0 = 7, and 30 beyond the second */
} of;

static struct {
    size_t jobs, flushes, touched;
    double now, ticks;
    double load;    /* cycles of a load of the chase that is laid out */
    uint64_t print; /* of runs and places */
    size_t runs, passes, told;
    void *start[2]; /* of the buffers */
    size_t nbuffers, bytes;
} seen;

static volatile sig_atomic_t stop;
static struct carm_model *model;
static struct carm_latency_run run;

/* ---- what stands in place of the machine ---- */

/* Asked for the time before each layout. */
int clock_gettime(clockid_t clock, struct timespec *out)
{
    seen.load = 0.0;
    seen.now += 0.5 * of.laying_out;
    *out = (struct timespec){(time_t)seen.now, (long)(1e9 * (seen.now - floor(seen.now)))};
    return 0;
}

int carm_buffer_open(struct carm_buffer *buffer, size_t bytes, struct carm_err *e)
{
    if (of.refused) {
        (void)fprintf(text, "buffer of %zu bytes is refused\n", bytes);
        return carm_fail(e, CARM_ENOMEM, "refused");
    }
    *buffer = (struct carm_buffer){.start = aligned_alloc(2 * MIB, bytes), .bytes = bytes};
    assert_non_null(buffer->start);
    memset(buffer->start, 0, bytes);
    (void)fprintf(text, "buffer of %zu bytes\n", bytes);
    seen.start[seen.nbuffers++ % 2] = buffer->start;
    seen.bytes = bytes;
    return 0;
}

int carm_buffer_bind(struct carm_buffer *buffer, const int *nodes, size_t n, struct carm_err *e)
{
    (void)fprintf(text, "bound to node %d of %zu\n", nodes[0], n);
    return of.forbidden ? carm_fail(e, CARM_ENOTSUP, "cannot ask for memory of node %d", nodes[0])
                        : 0;
}

void carm_buffer_touch(struct carm_buffer *buffer, size_t bytes)
{
    assert_true(!buffer->start || (bytes <= buffer->bytes && bytes == buffer->touched + 2 * MIB));
    buffer->touched = bytes;
    seen.touched++;
}

double carm_buffer_share_on(const struct carm_buffer *buffer, int node)
{
    return of.share;
}

uint64_t carm_buffer_page_bytes(const struct carm_buffer *buffer)
{
    return buffer->start ? of.page_bytes[buffer->start == seen.start[1]] : 0;
}

void carm_buffer_close(struct carm_buffer *buffer)
{
    free(buffer->start);
}

uint64_t carm_memory_available(void)
{
    return 60 * MIB;
}

bool carm_team_is_over(const struct carm_team *team)
{
    return of.over_at && seen.jobs >= of.over_at;
}

void carm_team_run(struct carm_team *team, carm_job_fn *job, void *arg)
{
    seen.jobs++;
    stop = of.stop_at && seen.jobs >= of.stop_at;
    job(&team->workers[0], arg);
}

/* Cycles of a load over so many lines: L1 of 32 KiB, L2 of 256 KiB, L3 of 1 MiB; a TLB of 64 and 512 entries. */
static double cycles_of(uint64_t lines, bool apart)
{
    const uint64_t bytes = lines * CARM_LINE_BYTES;
    const double level = bytes <= 32 * KIB    ? 4.0
                         : bytes <= 256 * KIB ? 14.0
                         : bytes <= 1 * MIB   ? 40.0
                                              : 240.0;
    const uint64_t first = of.tlb[1] ? of.tlb[0] : 64, second = of.tlb[1] ? of.tlb[1] : 512;
    const double last = of.walk > 0.0 ? of.walk : 30.0;
    return level + (!apart || lines <= first ? 0.0 : lines <= second ? 7.0 : last);
}

/* Follows the chase once around, or until it is beyond the last cache. */
static void look(const void *start)
{
    enum { MOST = (1 << 20) / CARM_LINE_BYTES + 1 };
    const char *at = start, *least = start, *most = start;
    uint64_t lines = 0;
    do {
        memcpy(&at, (const void *)at, sizeof at);
        least = at < least ? at : least;
        most = at > most ? at : most;
        lines++;
    } while (at != start && lines < MOST);
    const bool apart = (uint64_t)(most - least) > 16 * lines * CARM_LINE_BYTES;
    seen.load = cycles_of(lines, apart && at == start);
}

static void note(const char *name, const void *window, unsigned chains, uint64_t iterations)
{
    seen.print = fingerprint(seen.print, name, strlen(name));
    for (unsigned i = 0; i < chains; i++) {
        const char *at;
        memcpy(&at, (const char *)window + i * sizeof at, sizeof at);
        const char *const base =
            at >= (char *)seen.start[1] && at < (char *)seen.start[1] + seen.bytes ? seen.start[1]
                                                                                   : seen.start[0];
        const uint64_t place = (uint64_t)(at - base);
        seen.print = fingerprint(seen.print, &place, sizeof place);
    }
    seen.print = fingerprint(seen.print, &iterations, sizeof iterations);
    seen.runs++;
}

static void chase(void *window, uint64_t iterations, uint64_t mask)
{
    assert_int_equal(mask, 0);
    note("before", window, 1, iterations);
}

double carm_latency_cycles(const struct carm_worker *worker, const struct carm_chain *code,
                           void *window, uint64_t iterations, uint64_t mask, double *seconds)
{
    /* so many chains of loads or of gathers bring no more; the third one's repetitions differ */
    const double most = code->code.form == CARM_CHAIN_GATHER ? 5.0 : 10.0;
    const double wild = code->code.chains != 3 ? 0.0 : seen.load == 14.0 ? 0.03 : 0.3;
    const double factor =
        1.0 + (double)(seen.runs * 7919 % 1000) / 1000.0 * (wild > 0.0 ? wild : 0.004);
    if (seen.load == 0.0) {
        void *start;
        memcpy(&start, window, sizeof start);
        look(start);
    }
    note(code->name, window, code->code.chains, iterations);
    const double cycles =
        (double)iterations * code->units * seen.load * factor * fmax(1.0, code->code.chains / most);
    if (seconds) {
        *seconds = cycles / (hz * (seen.runs % 5 == 0 ? 0.98 : 1.0));
    }
    return cycles;
}

static double counter_now(void)
{
    return seen.ticks += LOOK;
}

/* An access takes TICKS of the counter. */
void carm_latency_pass(char *at, size_t n, size_t stride, enum carm_latency_pass how)
{
    const size_t buffer = seen.start[1] <= (void *)at && at < (char *)seen.start[1] + seen.bytes;
    const uint64_t numbers[] = {n, stride, (uint64_t)how, buffer,
                                (uint64_t)(at - (char *)seen.start[buffer])};
    seen.print = fingerprint(seen.print, numbers, sizeof numbers);
    seen.ticks += (double)(TICKS * n);
    seen.passes++;
}

/* The words that accesses to random lines left, which are small numbers; zeros again. returns their fingerprint */
static uint64_t left_over(size_t *words)
{
    uint64_t print = FINGERPRINT_NONE;
    for (size_t buffer = 0; buffer < 2; buffer++) {
        uint64_t *const at = seen.start[buffer];
        for (uint64_t i = 0; at && i < seen.bytes / sizeof *at; i++) {
            if (at[i] > 0 && at[i] < MIB) {
                const uint64_t numbers[] = {buffer, i, at[i]};
                print = fingerprint(print, numbers, sizeof numbers);
                ++*words;
            }
            at[i] = 0;
        }
    }
    return print;
}

int carm_latency_add_rate(struct carm_model *m, const struct carm_in_flight *as, double *rates,
                          size_t n, struct carm_err *e)
{
    struct carm_in_flight *f = &m->in_flight[m->nin_flight++];
    double most = 0.0, least = INFINITY, sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, rates[i]);
        least = fmin(least, rates[i]);
        sum += rates[i];
    }
    *f = *as;
    f->points = calloc(1, sizeof *f->points);
    f->npoints = 0;
    assert_true(f->points && least > 0.0);
    (void)fprintf(text, "rate of %s %s, pages of %llu, set %llu, %.2f ns: %.5g/us", as->level,
                  as->code, (unsigned long long)as->page_bytes,
                  (unsigned long long)as->working_set_bytes, 1e9 * as->latency_seconds,
                  1e-6 * sum / (double)n);
    if (most > least * (1 + 1e-9)) {
        (void)fprintf(text, " (%.5g to %.5g)", 1e-6 * least, 1e-6 * most);
    }
    if (strncmp(as->code, "scattered", 9) == 0) {
        size_t words = 0;
        const uint64_t print = left_over(&words);
        (void)fprintf(text, ", %zu words (%04x)", words, (unsigned)(print & 0xffff));
    }
    (void)fprintf(text, "; %zu repetitions, %zu passes (%04x)\n", n, seen.passes,
                  (unsigned)(seen.print & 0xffff));
    seen.passes = 0;
    seen.told = seen.runs;
    seen.print = FINGERPRINT_NONE;
    return 0;
}

int carm_latency_wide(struct carm_latency_run *of_run, struct carm_err *e)
{
    (void)fprintf(text, "wide tables\n");
    return 0;
}

/* ---- the figures ---- */

static const char *const orders[] = {[CARM_LATENCY_LINES] = "lines",
                                     [CARM_LATENCY_PAGES] = "pages",
                                     [CARM_LATENCY_RANDOM] = "random"};

static void put_ci(double value, struct carm_ci ci)
{
    (void)fprintf(text, " (%+.2f to %+.2f%%)", 100.0 * (ci.lo / value - 1.0),
                  100.0 * (ci.hi / value - 1.0));
}

static void put_latency(const struct carm_latency *l)
{
    (void)fprintf(text, "%s %s of %llu: %.5g cycles, %.5g ns", l->level, orders[l->order],
                  (unsigned long long)l->page_bytes, l->cycles, 1e9 * l->seconds);
    if (l->seconds > 0.0) {
        put_ci(l->seconds, l->ci95);
    }
    (void)fprintf(text, " at %.4g GHz, set %llu, reach %llu%s%s%s\n", 1e-9 * l->clock_hz,
                  (unsigned long long)l->working_set_bytes, (unsigned long long)l->reach_bytes,
                  l->disturbed ? "; DISTURBED" : "", *l->note ? "; " : "", l->note);
}

static void put_all(void)
{
    for (size_t i = 0; i < model->nlatency; i++) {
        put_latency(&model->latency[i]);
    }
    for (size_t i = 0; i < model->nlatency_curves; i++) {
        const struct carm_latency_curve *c = &model->latency_curves[i];
        (void)fprintf(text, "curve %s of %llu:", orders[c->order],
                      (unsigned long long)c->page_bytes);
        for (size_t k = 0; k < c->npoints; k++) {
            const struct carm_latency_point *p = &c->points[k];
            (void)fprintf(text, "%s%llu: %.5g, %.5g ns", k % 6 ? "; " : "\n",
                          (unsigned long long)p->working_set_bytes, p->cycles, 1e9 * p->seconds);
            put_ci(p->seconds, p->ci95);
            (void)fputs(p->disturbed ? " DISTURBED" : "", text);
        }
        (void)fputs("\n", text);
    }
    for (size_t i = 0; i < model->nin_flight; i++) {
        const struct carm_in_flight *f = &model->in_flight[i];
        if (f->npoints == 0) {
            continue;
        }
        (void)fprintf(text, "in flight %s %s of %llu, set %llu: %.5g ns, %.5g/us", f->level,
                      f->code, (unsigned long long)f->page_bytes,
                      (unsigned long long)f->working_set_bytes, 1e9 * f->latency_seconds,
                      1e-6 * f->rate);
        put_ci(f->rate, f->ci95);
        (void)fprintf(text, ", %d chains, %.5g lines%s;", f->chains, f->lines,
                      f->disturbed ? ", DISTURBED" : "");
        for (size_t k = 0; k < f->npoints; k++) {
            (void)fprintf(text, " %d: %.5g", f->points[k].chains, 1e-6 * f->points[k].rate);
            put_ci(f->points[k].rate, f->points[k].ci95);
            (void)fputs(f->points[k].disturbed ? " D" : "", text);
        }
        (void)fputs("\n", text);
    }
}

static void say(const char *words)
{
    (void)fprintf(text, "said: %s\n", words);
}

/* ---- a machine ---- */

static struct carm_chain_image *image;

static int open_image(void **state)
{
    struct carm_chain_code *codes = NULL;
    size_t all = 0, n = 0;
    if (carm_chain_all(&codes, &all, &err)) {
        return -1;
    }
    for (size_t i = 0; i < all; i++) {
        if (!codes[i].row) { /* a chase */
            codes[n++] = codes[i];
        }
    }
    const int rc = carm_chain_image_open(&image, codes, n, &err);
    for (size_t i = 0; !rc && i < image->n; i++) {
        image->chains[i].run = chase;
    }
    free(codes);
    return rc;
}

static int close_image(void **state)
{
    carm_chain_image_close(image);
    return 0;
}

RUN_TESTS(open_image, close_image)

/* node  of a latency alone; -1 = all latencies */
static void append(const struct planted *as, int node)
{
    static struct carm_topo topo;
    static struct carm_observer observer = {.say = say, .stop = &stop};
    static struct carm_host host = {
        .topo = &topo, .clock = {.tsc_hz = tsc_hz}, .observer = &observer};
    struct carm_team *team = calloc(1, sizeof *team);
    struct carm_worker *worker = calloc(1, sizeof *worker);
    assert_true(team && worker);
    of = *as;
    memset(&seen, 0, sizeof seen);
    seen.print = FINGERPRINT_NONE;
    seen.now = 1000.0;
    stop = 0;
    topo = (struct carm_topo){.pus = 1, .cores = 1, .ncaches = of.ncaches};
    memcpy(topo.caches, of.caches, sizeof of.caches);
    *worker = (struct carm_worker){.team = team};
    team->topo = &topo;
    team->clock = &host.clock;
    team->n = team->size = 1;
    team->workers = worker;
    team->deadline.tsc = of.budget > 0.0 ? (uint64_t)(of.budget * tsc_hz) : 0;
    model = calloc(1, sizeof *model);
    assert_non_null(model);
    run = (struct carm_latency_run){.options = {.quick = of.quick, .memory_bytes = of.memory_bytes},
                                    .host = &host,
                                    .team = team,
                                    .image = image,
                                    .model = model};
    counter_plant(counter_now);
    (void)fprintf(text, "---- %s\n", as->name);
    if (node < 0) {
        const int rc = carm_latency_memory(&run, &err);
        (void)fprintf(text, "returned %d%s%s\n", rc, rc ? ": " : "", rc ? err.text : "");
    } else {
        struct carm_latency l;
        assert_ok(carm_latency_at(&run, node, &l, &err));
        put_latency(&l);
    }
    counter_plant(NULL);
    (void)fprintf(text, "%zu jobs, %zu touches, %.4g ns a line of the last layout\n", seen.jobs,
                  seen.touched, 1e9 * run.line_seconds);
    (void)fprintf(text, "behind the last rate: %zu of all %zu runs (%04x)\n", seen.runs - seen.told,
                  seen.runs, (unsigned)(seen.print & 0xffff));
    put_all();
    carm_model_free(model);
    free(worker);
    free(team);
}

static void walk(const struct planted *as)
{
    text_open();
    append(as, -1);
    text_is(as->name);
}

#define CACHES                                                   \
    {                                                            \
        {1, 32 * KIB, 1, 2, 8, -1}, {2, 256 * KIB, 1, 2, 8, -1}, \
        {                                                        \
            3, 1 * MIB, 8, 1, 16, -1                             \
        }                                                        \
    }

/* Pages of both sizes: all figures, of both. */
TEST(small_and_large_pages)
{
    walk(&(struct planted){.name = "memory_two_pages",
                           .caches = CACHES,
                           .ncaches = 3,
                           .memory_bytes = 50 * MIB,
                           .page_bytes = {SMALL, 2 * MIB},
                           .laying_out = 1e-3});
}

/* No large pages and no third cache, quick. */
TEST(small_pages_alone)
{
    walk(&(struct planted){.name = "memory_small_pages",
                           .caches = CACHES,
                           .ncaches = 2,
                           .memory_bytes = 31 * MIB,
                           .page_bytes = {SMALL, SMALL},
                           .quick = true,
                           .laying_out = 1e-3});
}

/* The system has large pages alone. */
TEST(large_pages_alone)
{
    walk(&(struct planted){.name = "memory_large_pages",
                           .caches = CACHES,
                           .ncaches = 3,
                           .memory_bytes = 51 * MIB,
                           .page_bytes = {2 * MIB, 2 * MIB},
                           .quick = true,
                           .laying_out = 1e-3});
}

/* A quarter of the available memory is too little for the TLB of large pages, which is left out. */
TEST(little_memory)
{
    walk(&(struct planted){.name = "memory_little",
                           .caches = CACHES,
                           .ncaches = 3,
                           .page_bytes = {SMALL, 2 * MIB},
                           .quick = true,
                           .laying_out = 1e-3});
}

/* Less than a large page for each of two buffers and the order. */
TEST(too_little_memory)
{
    walk(&(struct planted){.name = "memory_too_little",
                           .caches = CACHES,
                           .ncaches = 3,
                           .memory_bytes = 5 * MIB - 1,
                           .page_bytes = {SMALL, 2 * MIB}});
}

/* A cache of 300 MiB: sets above 16 MiB take too long, but for the largest, which is flushed. */
TEST(large_cache)
{
    walk(&(struct planted){.name = "memory_large_cache",
                           .caches = {{1, 32 * KIB, 2, 2, 8, -1},
                                      {2, 256 * KIB, 4, 2, 8, -1},
                                      {3, 300 * MIB, 8, 1, 16, -1}},
                           .ncaches = 3,
                           .memory_bytes = 165 * MIB,
                           .page_bytes = {SMALL, SMALL},
                           .quick = true,
                           .laying_out = 0.02});
}

/* The deadline leaves no time for the layout of larger sets. */
TEST(no_time_for_large_sets)
{
    walk(&(struct planted){.name = "memory_short_time",
                           .caches = CACHES,
                           .ncaches = 3,
                           .memory_bytes = 31 * MIB,
                           .page_bytes = {SMALL, 2 * MIB},
                           .budget = 0.06,
                           .laying_out = 0.05});
}

/* The deadline is over before the curves, in them, in the last curve, in streams, and while chains are added; the user stops. */
TEST(the_time_ends)
{
    static const struct {
        const char *name;
        size_t over_at, stop_at;
    } ends[] = {{"memory_over_at_once", 1, 0},
                {"memory_over_in_curve", 30, 0},
                {"memory_over_in_chains", 175, 0},
                {"memory_stopped", 0, 30},
                {"memory_stopped_in_chains", 0, 175}};
    text_open();
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        append(&(struct planted){.name = ends[i].name,
                                 .caches = CACHES,
                                 .ncaches = 3,
                                 .memory_bytes = 11 * MIB,
                                 .page_bytes = {SMALL, SMALL},
                                 .quick = i > 0,
                                 .laying_out = 1e-3,
                                 .over_at = ends[i].over_at,
                                 .stop_at = ends[i].stop_at},
               -1);
    }
    text_is("memory_ends");
}

/* The same with each number of jobs before the deadline or the user ends it: a line for each. */
TEST(each_job_may_be_the_last)
{
    char *lines = NULL;
    size_t size = 0;
    FILE *all = open_memstream(&lines, &size);
    assert_non_null(all);
    text_open();
    for (size_t i = 1; i < 210; i += i < 100 ? 11 : 5) {
        for (int stops = 0; stops < 2; stops++) {
            append(&(struct planted){.name = "",
                                     .caches = CACHES,
                                     .ncaches = 2,
                                     .memory_bytes = 6 * MIB,
                                     .page_bytes = {SMALL, SMALL},
                                     .quick = true,
                                     .laying_out = 1e-3,
                                     .over_at = stops ? 0 : i,
                                     .stop_at = stops ? i : 0},
                   -1);
            (void)fprintf(all, "%s at job %zu: %zu jobs, %zu runs, text %04x\n",
                          stops ? "stopped" : "over", i, seen.jobs, seen.runs, text_print());
        }
    }
    assert_int_equal(fclose(all), 0);
    (void)fputs(lines, text);
    free(lines);
    text_is("memory_last_job");
}

/* Sizes of buffers: four times the last cache, at least 128 MiB, at most 1 GiB and two fifths of the memory. */
TEST(sizes_of_buffers)
{
    static const struct {
        uint64_t cache, memory, bytes;
    } rows[] = {{1, 1024, 128},    {32, 1024, 128},   {33, 1024, 132},   {64, 1024, 256},
                {300, 8192, 1024}, {256, 8192, 1024}, {255, 8192, 1020}, {64, 645, 256},
                {64, 640, 256},    {64, 635, 254},    {64, 100, 40},     {0, 1024, 128}};
    text_open();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char wanted[64];
        append(&(struct planted){.name = "sizes",
                                 .caches = {{1, rows[i].cache * MIB, 1, 2, 8, -1}},
                                 .ncaches = rows[i].cache > 0,
                                 .memory_bytes = rows[i].memory * MIB,
                                 .refused = true},
               -1);
        (void)snprintf(wanted, sizeof wanted, "buffer of %llu bytes is refused",
                       (unsigned long long)(rows[i].bytes * MIB));
        (void)fflush(text);
        fail_if(!strstr(said, wanted), "row %zu: %s", i, said);
        (void)text_print();
    }
    (void)fclose(text);
    free(said);
}

/* TLBs: no level, one level whose misses cost nothing more, one that all pages stay in. */
TEST(other_tlbs)
{
    static const struct {
        uint64_t tlb[2];
        double walk;
    } rows[] = {{{0, 512}, 0.0},
                {{64, 128}, 1e-9},
                {{4096, 8192}, 0.0},
                {{64, 2048}, 0.0},
                {{64, 64}, 9.0}};
    text_open();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        append(&(struct planted){.name = "another TLB",
                                 .caches = CACHES,
                                 .ncaches = 2,
                                 .memory_bytes = 11 * MIB,
                                 .page_bytes = {SMALL, SMALL},
                                 .laying_out = 1e-3,
                                 .tlb = {rows[i].tlb[0], rows[i].tlb[1]},
                                 .walk = rows[i].walk},
               -1);
    }
    text_is("memory_tlbs");
}

/* Memory of a node: all of its pages there, most of them, not known; it cannot be bound; no time. */
TEST(memory_of_a_node)
{
    static const struct {
        const char *name;
        double share;
        bool forbidden;
        size_t over_at;
    } nodes[] = {{"memory_node_all", 0.99, false, 0},     {"memory_node_some", 0.98, false, 0},
                 {"memory_node_none", 0.0, false, 0},     {"memory_node_unknown", -1.0, false, 0},
                 {"memory_node_forbidden", 1.0, true, 0}, {"memory_node_no_time", 1.0, false, 1}};
    text_open();
    for (size_t i = 0; i < sizeof nodes / sizeof *nodes; i++) {
        append(&(struct planted){.name = nodes[i].name,
                                 .caches = CACHES,
                                 .ncaches = 3,
                                 .memory_bytes = 21 * MIB,
                                 .page_bytes = {2 * MIB},
                                 .laying_out = 1e-3,
                                 .share = nodes[i].share,
                                 .forbidden = nodes[i].forbidden,
                                 .over_at = nodes[i].over_at},
               7);
    }
    text_is("memory_nodes");
}
