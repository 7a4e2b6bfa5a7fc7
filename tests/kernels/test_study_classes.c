/* SPDX-License-Identifier: GPL-3.0-or-later */
/* carm study classes without the measuring: counts by construction, levels and choices, words, rows
 * written and read again, and what the report says of made-up points. */
#define OWN_MAIN
#include <unistd.h>

#include "asm/image.h"
#include "base/observer.h"
#include "cli/study/output.h"
#include "cli/study/words.h"
#include "harness/place/place.h"
#include "kernels/classes/study.h"
#include "tests/unit.h"

#define MIB ((uint64_t)1 << 20)

struct fixture {
    struct carm_model model;
    struct carm_level levels[4];
    struct carm_roofs roofs[2];
    struct carm_memory_roof memory[4];
    struct carm_compute_roof compute[2];
    struct carm_cpu cpu;
    struct carm_topo *topo;
    struct carm_classes study;
    struct carm_err err;
};

static struct fixture f;

static const char synthetic[] = "pack:1 l3:1(size=33554432) core:4 l2:1(size=1048576) "
                                "l1:1(size=32768) pu:1";

static int set_up(void **state)
{
    static const char *const names[] = {"L1", "L2", "L3", "DRAM"};
    static const uint64_t knees[] = {32768, 1048576, 32 * MIB, 0};
    static const double bandwidths[] = {100e9, 50e9, 20e9, 8e9};
    memset(&f, 0, sizeof f);
    for (int i = 0; i < 4; i++) {
        f.levels[i] = (struct carm_level){.knee_bytes = knees[i], .resolved = true};
        f.memory[i] = (struct carm_memory_roof){.bandwidth = bandwidths[i], .ldst = "2:1"};
        (void)strcpy(f.levels[i].level, names[i]);
        (void)strcpy(f.memory[i].level, names[i]);
    }
    f.compute[0] = (struct carm_compute_roof){.op = "mad", .rate = 64e9};
    f.compute[1] = (struct carm_compute_roof){.op = "fma", .rate = 64e9};
    for (int i = 0; i < 2; i++) {
        f.roofs[i] = (struct carm_roofs){.precision = "dp",
                                         .threads = i ? 4 : 1,
                                         .memory = f.memory,
                                         .nmemory = 4,
                                         .compute = f.compute,
                                         .ncompute = 2,
                                         .dram_peak = {.bandwidth = 10e9}};
        (void)strcpy(f.roofs[i].isa, "sse");
    }
    (void)strcpy(f.model.config.ldst, "2:1");
    f.model.levels = f.levels;
    f.model.nlevels = 4;
    f.model.roofs = f.roofs;
    f.model.nroofs = 2;
    for (int i = 0; i < CARM_VECTOR_ISAS; i++) {
        f.cpu.isa[i] = true;
    }
    f.cpu.fma = true;
    f.study.base.model = &f.model;
    return carm_topo_open(&f.topo, synthetic, NULL, &f.err);
}

static int tear_down(void **state)
{
    carm_topo_close(f.topo);
    return 0;
}

static int try_plan(struct carm_classes *study, const struct carm_study_words *words)
{
    const struct carm_host host = {.cpu = f.cpu, .topo = f.topo};
    struct carm_study_options options;
    memset(study, 0, sizeof *study);
    study->base.ops = &carm_classes_study;
    study->base.model = &f.model;
    size_t sets = 0;
    int rc = carm_study_read_words(words, &carm_classes_study, &options, &f.err);
    if (!rc && words->threads) { /* as carm study does */
        rc = carm_topo_threads(f.topo, words->threads, &options.threads, 1, &sets, &f.err);
    }
    return rc ? rc : carm_classes_study.plan(&study->base, &options, &host, &f.err);
}

static void plan(struct carm_classes *study, struct carm_study_words words)
{
    fail_if(try_plan(study, &words), "%s", f.err.text);
}

static void refuse(struct carm_study_words words, int code, const char *sentence)
{
    f.err.text[0] = '\0';
    assert_int_equal(try_plan(&f.study, &words), -code);
    fail_if(!strstr(f.err.text, sentence), "\"%s\" does not say \"%s\"", f.err.text, sentence);
}

/* Assembled and recounted, each code times its loops is the plan's iteration, and a point is that
 * times iterations and threads, to the last flop and byte. */
TEST_BETWEEN(counts_are_account_times_iterations, set_up, tear_down)
{
    struct carm_image *image = NULL;
    plan(&f.study, (struct carm_study_words){.threads = "4", .isa = "sse"});
    for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
        const struct carm_classes_side *s = &f.study.sides[c];
        const struct carm_account whole = carm_class_account(&s->plan);
        fail_if(carm_image_open(&image, s->plan.specs, s->plan.nspecs, &f.err), "%s", f.err.text);
        for (size_t i = 0; i < image->n; i++) {
            const struct carm_account *a = &image->codes[i].account;
            const uint64_t loops = s->plan.bytes / a->stride_bytes;
            assert_int_equal(loops * a->stride_bytes, s->plan.bytes);
            assert_int_equal(loops * a->load_bytes, whole.load_bytes);
            assert_int_equal(loops * a->store_bytes, whole.store_bytes);
            assert_int_equal(loops * a->flops, whole.flops);
            for (unsigned k = 0; k <= CARM_CLASS_K_MAX; k++) {
                struct carm_classes_point p = {.known = false};
                carm_classes_construct(&f.study, c, k, a, &p);
                const uint64_t times = (loops << k) * 4;
                assert_true(p.flops == (double)(times * a->flops));
                assert_true(p.bytes == (double)(times * (a->load_bytes + a->store_bytes)));
                /* in a cache: the first touch; in memory: stores are filled and written back */
                assert_true(p.dram_bytes ==
                            (c == CARM_APP_D
                                 ? (double)(times * (a->load_bytes + 2 * a->store_bytes))
                                 : (double)(s->plan.bytes * 4)));
            }
        }
        carm_image_close(image);
    }
}

/* 4 x the last cache, by the model: the measured knee goes before the OS's size. */
TEST_BETWEEN(enlarging_goes_by_the_model, set_up, tear_down)
{
    static const struct {
        uint64_t knee, os;
        size_t nlevels;
        const char *threads;
        uint64_t wanted;
    } cases[] = {
        {32 * MIB, 480 * MIB, 4, "1", 128 * MIB},
        {256 * MIB, 0, 4, "1", 1024 * MIB},
        {256 * MIB, 0, 4, "4", 256 * MIB},
        {0, 64 * MIB, 4, "1", 256 * MIB},
        {0, 0, 4, "1", 61 * MIB}, /* L3 unknown: L2's 1 MiB counts */
        {0, 0, 3, "1", 61 * MIB}, /* no L3 at all */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        f.levels[2].knee_bytes = cases[i].knee;
        f.levels[2].os_size_bytes = cases[i].os;
        f.model.nlevels = cases[i].nlevels;
        (void)strcpy(f.levels[2].level, cases[i].nlevels == 3 ? "DRAM" : "L3");
        plan(&f.study, (struct carm_study_words){.threads = cases[i].threads});
        const struct carm_class_plan *p = &f.study.sides[CARM_APP_D].plan;
        fail_if(p->wanted != cases[i].wanted, "case %zu: %llu MiB", i,
                (unsigned long long)(p->wanted >> 20));
        assert_true(p->flops == p->bytes * 16);
        assert_int_equal(f.study.sides[CARM_APP_D].home, cases[i].nlevels - 1);
    }
}

TEST_BETWEEN(sets_lie_where_they_fit, set_up, tear_down)
{
    assert_int_equal(carm_classes_home(&f.model, f.topo, 1, 4608), 0);
    assert_int_equal(carm_classes_home(&f.model, f.topo, 4, 32768), 0);
    assert_int_equal(carm_classes_home(&f.model, f.topo, 1, 32769), 1);
    assert_int_equal(carm_classes_home(&f.model, f.topo, 1, 2 * MIB), 2);
    assert_int_equal(carm_classes_home(&f.model, f.topo, 4, 8 * MIB), 2); /* L3 is shared by four */
    assert_int_equal(carm_classes_home(&f.model, f.topo, 4, 8 * MIB + 1), 3);
    f.levels[1].knee_bytes = 4 * MIB; /* APP-L3 in an L2 that holds it */
    plan(&f.study, (struct carm_study_words){.threads = "1"});
    assert_int_equal(f.study.sides[CARM_APP_L3].home, 1);
}

TEST_BETWEEN(threads_and_isa_by_default, set_up, tear_down)
{
    plan(&f.study, (struct carm_study_words){.isa = NULL});
    assert_int_equal(f.study.base.threads, 4);      /* one for each core */
    assert_int_equal(f.study.target.isa, CARM_SSE); /* the widest that the model has and is exact */
    assert_ptr_equal(f.study.base.roofs, &f.roofs[1]);
    assert_string_equal(f.study.base.roofs_note, "");
    (void)strcpy(f.roofs[1].isa, "avx2");
    plan(&f.study, (struct carm_study_words){.isa = NULL});
    assert_int_equal(f.study.target.isa, CARM_AVX2);
    (void)strcpy(f.roofs[1].isa, "avx512"); /* not exact there, but its roofs are what there is */
    plan(&f.study, (struct carm_study_words){.isa = NULL});
    assert_int_equal(f.study.target.isa, CARM_AVX512);
    assert_ptr_equal(f.study.base.roofs, &f.roofs[1]);
    assert_int_equal(f.study.sides[CARM_APP_L1].plan.bytes, 6144);
    plan(&f.study, (struct carm_study_words){.isa = "avx2"});
    assert_int_equal(f.study.target.isa, CARM_AVX2);
    assert_non_null(strstr(f.study.base.roofs_note, "carm build --isa avx2 --threads 4"));
}

TEST_BETWEEN(words_are_refused, set_up, tear_down)
{
    refuse((struct carm_study_words){.largest = "21"}, CARM_EINVAL, "from 0 to 20, not \"21\"");
    refuse((struct carm_study_words){.largest = "x"}, CARM_EINVAL, "--largest needs");
    refuse((struct carm_study_words){.largest = ""}, CARM_EINVAL, "--largest needs");
    refuse((struct carm_study_words){.budget = "0"}, CARM_EINVAL, "--budget needs seconds");
    refuse((struct carm_study_words){.budget = "-1"}, CARM_EINVAL, "--budget needs seconds");
    refuse((struct carm_study_words){.budget = "inf"}, CARM_EINVAL, "--budget needs seconds");
    refuse((struct carm_study_words){.budget = "5s"}, CARM_EINVAL, "not \"5s\"");
    refuse((struct carm_study_words){.threads = "0"}, CARM_EINVAL, "at least 1 thread");
    refuse((struct carm_study_words){.threads = "5"}, CARM_EINVAL, "");
    refuse((struct carm_study_words){.isa = "mmx"}, CARM_EINVAL, "unknown ISA");
    refuse((struct carm_study_words){.plot = "a.gif"}, CARM_EINVAL, ".svg, .png or .pdf");
    refuse((struct carm_study_words){.resume = ""}, CARM_EINVAL, "name it with --output");
    f.cpu.isa[CARM_AVX512] = false;
    refuse((struct carm_study_words){.isa = "avx512"}, CARM_ENOTSUP, "avx512");
    (void)strcpy(f.model.config.ldst, "nt");
    refuse((struct carm_study_words){.isa = "sse"}, CARM_ENOTSUP, "--ldst 2:1");
    f.model.nroofs = 0;
    refuse((struct carm_study_words){.isa = NULL}, CARM_ENOTSUP, "carm build");
}

static char path[] = "/tmp/carm-classes-XXXXXX";

static void fill(struct carm_classes *study, size_t c, unsigned k, double seconds)
{
    const struct carm_account a = carm_class_account(&study->sides[c].plan);
    struct carm_classes_point *p = &study->sides[c].points[k];
    *p = (struct carm_classes_point){.known = true, .seconds = seconds, .runs = 3};
    carm_classes_construct(study, c, k, &a, p);
}

static void put(const char *mode, const char *text)
{
    FILE *file = fopen(path, mode);
    assert_non_null(file);
    (void)fputs(text, file);
    assert_int_equal(fclose(file), 0);
}

static struct carm_classes *other(const char *threads)
{
    struct carm_classes *s = malloc(sizeof *s);
    assert_non_null(s);
    plan(s, (struct carm_study_words){.threads = threads, .isa = "sse"});
    fail_if(carm_study_rows_read(&s->base, path, &f.err), "%s", f.err.text);
    return s;
}

TEST_BETWEEN(rows_are_written_and_taken_up, set_up, tear_down)
{
    plan(&f.study, (struct carm_study_words){.threads = "4", .isa = "sse"});
    assert_int_equal(unlink(path), 0);
    struct carm_classes *again = other("4"); /* no file: no rows */
    assert_int_equal(again->base.kept, 0);
    free(again);
    for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
        for (unsigned k = 0; k < 3 + c; k++) {
            fill(&f.study, c, k, 1e-6 / 3.0 * exp2(k));
            f.study.sides[c].points[k].disturbed = k == 1;
            assert_int_equal(carm_classes_rows_append(&f.study, c, k, path, &f.err), 0);
        }
    }
    again = other("4");
    assert_int_equal(again->base.kept, 12);
    for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
        for (unsigned k = 0; k < CARM_CLASSES_K; k++) {
            const struct carm_classes_point *a = &f.study.sides[c].points[k];
            const struct carm_classes_point *b = &again->sides[c].points[k];
            assert_int_equal(a->known, b->known);
            assert_true(a->flops == b->flops && a->bytes == b->bytes && a->seconds == b->seconds &&
                        a->dram_bytes == b->dram_bytes);
            assert_int_equal(b->kept, b->known);
            assert_int_equal(b->disturbed, a->disturbed);
        }
    }
    free(again);
    again = other("1"); /* another study's rows are not taken */
    assert_int_equal(again->base.kept, 0);
    free(again);
}

TEST_BETWEEN(foreign_rows_are_passed_over, set_up, tear_down)
{
    plan(&f.study, (struct carm_study_words){.threads = "4", .isa = "sse"});
    put("w", "isa,name,seconds,note,flops,bytes,precision,threads\n"
             "sse,APP-L1 2^0,1e-6,\"a \"\"b\"\", c\",288,18432,dp,4\n" /* columns in any order */
             "sse,\"APP-L1 2^1\",1e-6,,576,36864,dp,4\n"               /* quoted */
             "sse,APP-L1 2^2,1e-6,,1153,73728,dp,4\n"                  /* other flops */
             "sse,APP-L1 2^3,,,2304,147456,dp,4\n"                     /* no time */
             "avx2,APP-L1 2^3,1e-6,,2304,147456,dp,4\n"                /* other ISA */
             "sse,APP-L1 2^21,1e-6,,2304,147456,dp,4\n"                /* no such instance */
             "sse,other,1e-6,,2304,147456,dp,4\n");
    struct carm_classes *again = other("4");
    assert_int_equal(again->base.kept, 2);
    assert_true(again->sides[CARM_APP_L1].points[0].known);
    assert_true(again->sides[CARM_APP_L1].points[1].known);
    free(again);
    put("a", "sse,APP-L1 2^3,0,,2304,147456,dp,4\n");
    assert_int_equal(carm_study_rows_read(&f.study.base, path, &f.err), -CARM_EFORMAT);
    assert_non_null(strstr(f.err.text, "line 9"));
}

TEST_BETWEEN(files_are_refused, set_up, tear_down)
{
    plan(&f.study, (struct carm_study_words){.threads = "4", .isa = "sse"});
    (void)unlink(path);
    assert_int_equal(carm_study_rows_check(path, false, &f.err), 0);
    assert_int_equal(access(path, F_OK), -1); /* nothing is left behind */
    put("w", "");
    assert_int_equal(carm_study_rows_check(path, false, &f.err), 0);
    fill(&f.study, CARM_APP_L1, 0, 1e-6);
    assert_int_equal(carm_classes_rows_append(&f.study, CARM_APP_L1, 0, path, &f.err), 0);
    assert_int_equal(carm_study_rows_check(path, true, &f.err), 0);
    assert_int_equal(carm_study_rows_check(path, false, &f.err), -CARM_EIO);
    assert_non_null(strstr(f.err.text, "--resume goes on"));
    put("w", "a,b\n1,2\n");
    assert_int_equal(carm_study_rows_check(path, true, &f.err), -CARM_EFORMAT);
    assert_int_equal(carm_study_rows_read(&f.study.base, path, &f.err), -CARM_EFORMAT);
    assert_int_equal(carm_study_rows_check("/dev/null/p.csv", false, &f.err), -CARM_EIO);
    put("w", "");
}

/* Points that lie on the model's own roofs: APP-L1 at its share of L1, APP-L3 on L3, APP-D at the
 * peak, single iterations on the DRAM ceiling. */
static void ideal(double l1_share)
{
    plan(&f.study, (struct carm_study_words){.threads = "4", .isa = "sse"});
    for (size_t c = 0; c < CARM_CLASS_COUNT; c++) {
        const struct carm_classes_side *s = &f.study.sides[c];
        for (unsigned k = 0; k <= CARM_CLASS_K_MAX; k++) {
            const double memory = (double)s->plan.bytes * 4 / 8e9;
            const double bytes = (double)s->plan.bytes * 4 * exp2(k);
            fill(&f.study, c, k,
                 c == CARM_APP_D    ? 16 * bytes / 64e9
                 : k == 0           ? memory
                 : c == CARM_APP_L3 ? bytes / 20e9
                                    : bytes / (l1_share * 100e9));
        }
    }
}

TEST_BETWEEN(observations_of_an_ideal_machine, set_up, tear_down)
{
    struct carm_classes_facts facts;
    ideal(0.95);
    carm_classes_facts(&f.study, &facts);
    assert_true(facts.constant && facts.shifts && facts.l1_reached);
    const struct carm_classes_fact *l1 = &facts.classes[CARM_APP_L1];
    const struct carm_classes_fact *l3 = &facts.classes[CARM_APP_L3];
    const struct carm_classes_fact *d = &facts.classes[CARM_APP_D];
    assert_true(l1->deviation == 0.0 && l1->dram_first == 1.0 / 64 && l1->dram_last == 16384.0);
    assert_true(fabs(l1->level_share - 0.95) < 1e-9);
    assert_true(fabs(l3->level_share - 1.0) < 1e-4 && fabs(d->level_share - 1.0) < 1e-4);
    /* 16 flop/byte of DRAM traffic: 2^10 of APP-L1, 2^6 of APP-L3; APP-D has 12 with its stores
     * filled and written back */
    assert_int_equal(l1->near, 10);
    assert_int_equal(l3->near, 6);
    assert_int_equal(d->near, 20);
    assert_true(fabs(d->near_intensity - 12.0) < 1e-6);
    assert_int_equal(facts.slowest, CARM_APP_L1);
    assert_int_equal(facts.fastest, CARM_APP_D);
    assert_true(fabs(facts.spread / (64e9 / (0.95 * 100e9 / 64)) - 1.0) < 1e-4);
    /* APP-L1 and APP-L3 are memory bound; 8 GB/s of a stream that writes back are 10.67 of fills */
    assert_int_equal(facts.nbound, 2);
    assert_int_equal(facts.nbelow, 2);
    assert_true(l1->single_bound && l3->single_bound && !d->single_bound);
    assert_true(fabs(l1->single_share - 0.8) < 1e-9);
    assert_true(fabs(l1->single_dram_share - 0.75) < 1e-9);
}

TEST_BETWEEN(observations_that_do_not_hold, set_up, tear_down)
{
    struct carm_classes_facts facts;
    ideal(0.89);
    f.study.sides[CARM_APP_L3].points[3].bytes *= 1.02;
    f.study.sides[CARM_APP_L1].points[20].dram_bytes *= 2.0;
    f.study.sides[CARM_APP_L1].points[0].seconds *= 0.8 / 0.91; /* above 0.9 of the original roof */
    carm_classes_facts(&f.study, &facts);
    assert_false(facts.l1_reached);
    assert_false(facts.constant);
    assert_false(facts.shifts);
    assert_int_equal(facts.nbelow, 1);
    /* nothing was measured: nothing is said */
    plan(&f.study, (struct carm_study_words){.threads = "4", .isa = "sse"});
    carm_classes_facts(&f.study, &facts);
    assert_int_equal(facts.classes[CARM_APP_L1].last, -1);
    assert_false(facts.l1_reached);
    assert_true(facts.spread == 0.0);
    assert_int_equal(facts.nbound, 0);
}

static char *text_of(int what)
{
    char *text = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&text, &size);
    assert_non_null(out);
    if (what == 0) {
        carm_classes_print(out, &f.study.base);
    } else if (what == 1) {
        json_t *json = carm_classes_json(&f.study.base);
        assert_int_equal(json_dumpf(json, out, JSON_INDENT(2)), 0);
        json_decref(json);
    } else {
        assert_int_equal(carm_classes_plot_script(out, &f.study.base, "svg", &f.err), 0);
    }
    assert_int_equal(fclose(out), 0);
    return text;
}

TEST_BETWEEN(reports_say_what_was_found, set_up, tear_down)
{
    ideal(0.95);
    (void)strcpy(f.model.machine.hostname, "h\033[31m\"\n|x");
    char *text = text_of(0);
    assert_null(strchr(text, '\033'));
    assert_non_null(
        strstr(text, "95.0% of what L1 allows (95.0% of the roof): it tends to the L1"));
    assert_non_null(strstr(text, "original 1/64 to 16384 while N grew 1048576-fold"));
    assert_non_null(strstr(text, "each with its own data"));
    assert_null(strstr(text, "left out"));
    free(text);
    f.study.sides[CARM_APP_L3].points[20].known = false;
    f.study.sides[CARM_APP_L3].next_seconds = 12.0;
    text = text_of(0);
    assert_non_null(strstr(text, "left out: APP-L3 from N = 2^20 on (2^20 takes about 12.0 s"));
    free(text);
    text = text_of(1);
    assert_non_null(strstr(text, "\"app_l1_reaches_l1_roof\": true"));
    assert_non_null(strstr(text, "\"name\": \"APP-D 2^20\""));
    free(text);
    text = text_of(2);
    assert_null(strchr(text, '\033'));
    assert_non_null(strstr(text, "\"1st\""));
    assert_non_null(strstr(text, "\"2^20\""));
    assert_non_null(strstr(text, "L1 100 GB/s"));
    assert_non_null(strstr(text, "Original roofline (DRAM)"));
    free(text);
}

/* A machine is taken to be as slow as it was for the work before. */
TEST(a_budget_has_time_or_not)
{
    char text[64] = "";
    struct carm_study s = {.slow = 1.0, .until = carm_seconds_now() + 100.0};
    assert_true(carm_study_has_time(&s, 90.0, text, sizeof text));
    assert_string_equal(text, "");
    assert_false(carm_study_has_time(&s, 110.0, text, sizeof text));
    assert_string_equal(text, CARM_STUDY_LATE);
    carm_study_spent(&s, carm_seconds_now() - 40.0, 20.0); /* twice as long as estimated */
    assert_true(carm_study_has_time(&s, 40.0, text, sizeof text));
    assert_false(carm_study_has_time(&s, 51.0, text, sizeof text));
    carm_study_spent(&s, carm_seconds_now(),
                     20.0); /* faster than estimated: the next may be slow again */
    assert_true(carm_study_has_time(&s, 40.0, text, sizeof text));
    assert_false(carm_study_has_time(&s, 51.0, text, sizeof text));
    s.until = carm_seconds_now() - 1.0;
    assert_true(carm_study_left(&s) == 0.0);
    assert_false(carm_study_has_time(&s, 1e-9, text, sizeof text));
}

int main(void)
{
    const int fd = mkstemp(path);
    if (fd < 0 || close(fd) != 0) {
        return 1;
    }
    const int rc = run_suite(NULL, NULL);
    (void)unlink(path);
    return rc;
}
