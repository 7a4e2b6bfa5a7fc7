/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The latencies and throughputs of a planted core, as text. Clock, team and codes stand here, so that nothing waits for a
 * machine. */
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "models/core.h"
#include "tests/counter.h"
#include "tests/fingerprint.h"
#include "tests/validation/golden.h"
#include "validation/latency/latency.h"

enum { CALL = 30, LOOK = 100 /* ticks of a look at the counter */ };

static const double hz = 2e9;

static struct {
    const char *name;
    int threads;
    bool quick;
    size_t over_at;   /* run of a code after which the deadline is over; 0 = none */
    size_t stop_at;   /* and after which the user stops */
    bool short_codes; /* but for those beside others in a unit, codes take no longer than a call */
} of;

static struct {
    size_t runs, calls, teams, ratios, resets, dropped, written;
    const char *window; /* of the first thread */
    double ticks;
    uint64_t print; /* of runs: code, iterations, mask, the seed in the window */
} seen;

static volatile sig_atomic_t stop;

/* ---- what stands in place of the machine ---- */

static double counter_now(void)
{
    return seen.ticks += LOOK;
}

int carm_team_open(struct carm_team **out, const struct carm_topo *topo,
                   const struct carm_clock *clock, int n, size_t bytes_per_thread, size_t max_reps,
                   struct carm_err *e)
{
    struct carm_team *team = calloc(1, sizeof *team);
    assert_non_null(team);
    assert_true(bytes_per_thread == 0 && max_reps == 64);
    *team = (struct carm_team){.topo = topo, .clock = clock, .n = n, .size = n};
    team->workers = calloc((size_t)n, sizeof *team->workers);
    assert_non_null(team->workers);
    for (int i = 0; i < n; i++) {
        team->workers[i] = (struct carm_worker){.team = team, .index = i, .clock_overhead = 10.0};
    }
    seen.teams++;
    *out = team;
    return 0;
}

void carm_team_close(struct carm_team *team)
{
    if (team) {
        seen.teams--;
        free(team->workers);
        free(team);
    }
}

bool carm_team_is_over(const struct carm_team *team)
{
    return of.over_at && seen.runs >= of.over_at;
}

void carm_team_run(struct carm_team *team, carm_job_fn *job, void *arg)
{
    for (int i = 0; i < team->n; i++) {
        job(&team->workers[i], arg);
    }
}

void carm_team_line_reset(struct carm_team *team)
{
    seen.resets++;
}

bool carm_team_line_wait(struct carm_team *team, uint64_t repetition)
{
    return !carm_team_is_over(team);
}

/* Cycles of a tick: a reading in five is low, as by an interrupt. */
double carm_clock_ratio(double overhead, int imul_cycles)
{
    assert_true(overhead == 10.0 && imul_cycles == 3);
    return seen.ratios++ % 5 ? 1.25 : 1.125;
}

/* In place of the library's: pages are taken back, and what was written to them is counted. */
int madvise(void *pages, size_t bytes, int advice)
{
    for (size_t i = 0; i < bytes && advice == MADV_DONTNEED; i++) {
        seen.written += (size_t)((const unsigned char *)pages)[i];
    }
    seen.dropped += advice == MADV_DONTNEED ? bytes : 0;
    return (int)syscall(SYS_madvise, pages, bytes, advice);
}

double carm_probe_width(double overhead)
{
    return 5.0;
}

static unsigned hash_of(const char *name)
{
    unsigned hash = 5381;
    for (const char *s = name; *s; s++) {
        hash = hash * 33 + (unsigned char)*s;
    }
    return hash;
}

/* Cycles of a unit of a code; of a branch that is mispredicted, of one that all go one way. Roots in single precision take
 * less than the multiplication beside them. */
static double unit_of(const struct carm_chain *c)
{
    const unsigned hash = hash_of(c->name);
    return strcmp(c->name, "L.sqrt.avx2.sp") == 0  ? 1.0
           : of.short_codes && !c->code.row->minus ? 0.0
           : c->code.form == CARM_CHAIN_THROUGHPUT ? 0.25 * (1 + hash % 8)
                                                   : (c->code.row->minus ? 12 : 3) + hash % 11;
}

/* In one of so many codes, rounds differ. */
static bool is_wild(const struct carm_chain *c)
{
    return hash_of(c->name) % 9 == 0;
}

static void run_code(void *window, uint64_t iterations, uint64_t mask)
{
    const uint64_t numbers[] = {iterations, mask};
    seen.print = fingerprint(seen.print, numbers, sizeof numbers);
    seen.calls++;
}

double carm_latency_cycles(const struct carm_worker *worker, const struct carm_chain *code,
                           void *window, uint64_t iterations, uint64_t mask, double *seconds)
{
    const char *kind = code->code.row->kind;
    const double units = (double)iterations * code->units;
    const double part = (double)(seen.runs * 7919 % 1000) / 1000.0;
    seen.window = worker->index == 0 ? window : seen.window;
    uint64_t numbers[] = {iterations, mask, (uint64_t)worker->index,
                          0,          0,    (uint64_t)((const char *)window - seen.window)};
    memcpy(&numbers[3], window, sizeof numbers[3]);
    memcpy(&numbers[4], (const char *)window + CARM_CHAIN_WINDOW_BYTES - sizeof numbers[4],
           sizeof numbers[4]);
    seen.print = fingerprint(fingerprint(seen.print, code->name, strlen(code->name)), numbers,
                             sizeof numbers);
    double cycles = units * unit_of(code);
    if (strstr(kind, "mispredicted")) {
        cycles += mask ? 0.5 * units * 17 : 0.0;
    }
    if (worker->team->n > 1) { /* threads share the divider */
        cycles *= strcmp(kind, "fp-div") == 0 || strcmp(kind, "div") == 0 ? 2.0 : 1.0;
        cycles *= 1.0 + 0.01 * worker->index;
    }
    cycles *= 1.0 + part * (is_wild(code) ? 0.3 : 0.002);
    seen.runs++;
    stop = of.stop_at && seen.runs >= of.stop_at;
    if (seconds) {
        *seconds = (CALL + cycles) / hz;
    }
    return CALL + cycles;
}

/* ---- the figures ---- */

static void put(const char *what, double figure, struct carm_ci ci)
{
    (void)fprintf(text, ", %s %.5g", what, figure);
    if (!(figure > 0.0)) {
        assert_true(ci.lo == 0.0 && ci.hi == 0.0);
    } else {
        (void)fprintf(text, " (%+.2f to %+.2f%%)", 100.0 * (ci.lo / figure - 1.0),
                      100.0 * (ci.hi / figure - 1.0));
    }
}

static const struct carm_chain *code_of(const struct carm_chain_image *image,
                                        const struct carm_core_figure *f, bool throughput)
{
    for (size_t i = 0; i < image->n; i++) {
        const struct carm_chain_code *c = &image->chains[i].code;
        enum carm_core_kind kind;
        if (carm_core_kind_parse(c->row->kind, &kind) && kind == f->kind &&
            strcmp(f->isa, c->row->isas ? carm_isa_name(c->isa) : "") == 0 &&
            strcmp(f->precision, c->row->precisions ? carm_precision_name(c->precision) : "") ==
                0 &&
            (c->form == CARM_CHAIN_THROUGHPUT) == throughput) {
            return &image->chains[i];
        }
    }
    return NULL;
}

static void walk(void)
{
    static struct carm_observer observer = {.stop = &stop};
    struct carm_topo topo = {.pus = of.threads};
    struct carm_host host = {
        .topo = &topo, .clock = {.tsc_hz = 1.6e9, .imul_cycles = 3}, .observer = &observer};
    struct carm_chain_code *codes = NULL;
    struct carm_chain_image *image = NULL;
    struct carm_model *model = calloc(1, sizeof *model);
    struct carm_latency_run run = {.options = {.quick = of.quick}, .host = &host, .model = model};
    size_t all = 0, n = 0;
    assert_non_null(model);
    assert_ok(carm_chain_all(&codes, &all, &err));
    for (size_t i = 0; i < all; i++) { /* of general registers, and of one ISA and two precisions */
        const struct carm_chain_code *c = &codes[i];
        if (c->row && (!c->row->isas || c->isa == CARM_AVX2) &&
            (!c->row->precisions || c->precision == CARM_DP || c->precision == CARM_SP)) {
            codes[n++] = codes[i];
        }
    }
    assert_ok(carm_chain_image_open(&image, codes, n, &err));
    free(codes);
    for (size_t i = 0; i < image->n; i++) {
        image->chains[i].run = run_code;
    }
    memset(&seen, 0, sizeof seen);
    seen.print = FINGERPRINT_NONE;
    stop = 0;
    run.image = image;
    assert_ok(carm_team_open(&run.team, &topo, &host.clock, 1, 0, 64, &err));
    counter_plant(counter_now);
    const int rc = carm_latency_core(&run, &err);
    counter_plant(NULL);
    carm_team_close(run.team);
    assert_int_equal(seen.teams, 0);
    (void)fprintf(
        text,
        "---- %s\nreturned %d%s%s; %zu codes, %zu runs, %zu before (%04x), %zu resets; %zu looks at the clock, %zu bytes taken back, %zu written; %.4g GHz\n",
        of.name, rc, rc ? ": " : "", rc ? err.text : "", image->n, seen.runs, seen.calls,
        (unsigned)(seen.print & 0xffff), seen.resets, seen.ratios, seen.dropped, seen.written,
        1e-9 * run.clock_hz);
    for (size_t i = 0; i < model->ncore; i++) {
        const struct carm_core_figure *f = &model->core[i];
        const struct carm_chain *latency = code_of(image, f, false),
                                *throughput = code_of(image, f, true);
        (void)fprintf(text, "%s %s %s by %s", carm_core_kind_name(f->kind), f->isa, f->precision,
                      f->code);
        put("latency", f->latency, f->latency_ci95);
        if (latency) {
            (void)fprintf(text, " of %g", unit_of(latency));
            (void)fprintf(text, "%s%s", latency->code.row->minus ? " less " : "",
                          latency->code.row->minus ? latency->code.row->minus : "");
        }
        put("throughput", f->throughput, f->throughput_ci95);
        if (throughput) {
            (void)fprintf(text, " of %g", unit_of(throughput));
        }
        if (f->together.threads) {
            (void)fprintf(text, "; %d threads", f->together.threads);
            put("latency", f->together.latency, f->together.latency_ci95);
            put("throughput", f->together.throughput, f->together.throughput_ci95);
            (void)fputs(f->together.disturbed ? " DISTURBED" : "", text);
        }
        (void)fprintf(text, "; %.4g GHz%s%s%s\n", 1e-9 * f->clock_hz,
                      f->disturbed ? "; DISTURBED" : "", *f->note ? "; " : "", f->note);
    }
    carm_model_free(model);
    carm_chain_image_close(image);
}

TEST(a_core)
{
    text_open();
    of.name = "two threads";
    of.threads = 2;
    walk();
    text_is("core");
}

TEST(a_core_with_little_time)
{
    static const struct {
        const char *name;
        int threads;
        size_t over_at, stop_at;
        bool quick, short_codes;
    } rows[] = {{"one thread, quick", 1, 0, 0, true, false},
                {"codes that take no time", 3, 0, 0, true, true},
                {"over in calibration", 2, 100, 0, true, false},
                {"over in the first round", 2, 1200, 0, true, false},
                {"over in the third round", 2, 3600, 0, true, false},
                {"over beside other threads", 2, 7000, 0, true, false},
                {"stopped", 2, 0, 2000, true, false}};
    text_open();
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        of.name = rows[i].name;
        of.threads = rows[i].threads;
        of.over_at = rows[i].over_at;
        of.stop_at = rows[i].stop_at;
        of.quick = rows[i].quick;
        of.short_codes = rows[i].short_codes;
        walk();
    }
    text_is("core_little_time");
}

/* The deadline is over after each number of runs: a line for each. */
TEST(each_run_may_be_the_last)
{
    char *lines = NULL;
    size_t size = 0;
    FILE *all = open_memstream(&lines, &size);
    assert_non_null(all);
    memset(&of, 0, sizeof of);
    of.threads = 2;
    of.quick = true;
    of.name = "";
    text_open();
    for (of.over_at = 400; of.over_at < 7600; of.over_at += 263) {
        walk();
        (void)fprintf(all, "over at run %zu: text %04x\n", of.over_at, text_print());
    }
    assert_int_equal(fclose(all), 0);
    (void)fputs(lines, text);
    free(lines);
    text_is("core_last_run");
}
