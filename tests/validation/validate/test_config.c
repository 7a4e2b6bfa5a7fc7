/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `carm validate` is asked to do, and refuses, before anything is measured; the machine it
 * compares. */
#include "tests/unit.h"
#include "validation/machine.h"
#include "validation/validate/config.h"
#include "validation/validate/measure.h"

/* Two sets, avx2 of one and sse of two threads, on three levels. */
struct fixture {
    struct carm_model model;
    struct carm_level levels[4]; /* the model has three: nobody may look at the last one */
    struct carm_roofs roofs[2];
    struct carm_memory_roof memory[3];
    struct carm_compute_roof compute[3];
    struct carm_cpu cpu;
    struct carm_topo *topo;
    struct carm_validate_config config;
    struct carm_err err;
};

static struct fixture f;

static int set_up(void **state)
{
    memset(&f, 0, sizeof f);
    f.levels[0] = (struct carm_level){.level = "L1", .resolved = true};
    f.levels[1] = (struct carm_level){.level = "L2", .resolved = true};
    f.levels[2] = (struct carm_level){.level = "DRAM", .resolved = true};
    f.levels[3] = (struct carm_level){.level = "L4", .resolved = true};
    f.memory[0] = (struct carm_memory_roof){.level = "L1", .ldst = "2:1", .bandwidth = 100e9};
    f.memory[1] = (struct carm_memory_roof){.level = "L2", .ldst = "2:1", .bandwidth = 50e9};
    f.memory[2] = (struct carm_memory_roof){.level = "DRAM", .ldst = "2:1", .bandwidth = 9e9};
    f.compute[0] = (struct carm_compute_roof){.op = "mad", .rate = 100e9};
    f.compute[1] = (struct carm_compute_roof){.op = "fma", .rate = 99.5e9};
    f.compute[2] = (struct carm_compute_roof){.op = "add", .rate = 50e9};
    for (int i = 0; i < 2; i++) {
        f.roofs[i] = (struct carm_roofs){.precision = "dp",
                                         .threads = i + 1,
                                         .memory = f.memory,
                                         .nmemory = 3,
                                         .compute = f.compute,
                                         .ncompute = 3,
                                         .dram_peak = {.bandwidth = 12e9}};
        (void)strcpy(f.roofs[i].isa, i ? "sse" : "avx2");
    }
    (void)strcpy(f.model.config.ldst, "2:1");
    f.model.config.reps = 8192;
    f.model.levels = f.levels;
    f.model.nlevels = 3;
    f.model.roofs = f.roofs;
    f.model.nroofs = 2;
    for (int i = 0; i < CARM_VECTOR_ISAS; i++) {
        f.cpu.isa[i] = true;
    }
    f.cpu.fma = true;
    return carm_topo_open(&f.topo, "pack:1 core:2 pu:1", NULL, &f.err);
}

static int tear_down(void **state)
{
    carm_topo_close(f.topo);
    return 0;
}

static void make(struct carm_validate_words words)
{
    fail_if(carm_validate_configure(&f.config, &f.model, &words, &f.cpu, f.topo, &f.err), "%s",
            f.err.text);
}

static void refuse(struct carm_validate_words words, int code, const char *sentence)
{
    f.err.text[0] = '\0';
    assert_int_equal(carm_validate_configure(&f.config, &f.model, &words, &f.cpu, f.topo, &f.err),
                     -code);
    fail_if(!strstr(f.err.text, sentence), "\"%s\" does not say \"%s\"", f.err.text, sentence);
}

static enum carm_op op_of(size_t set)
{
    return f.config.targets[f.config.sets[set].target].op;
}

TEST_BETWEEN(validates_the_fastest_operation, set_up, tear_down)
{
    make((struct carm_validate_words){.isa = NULL}); /* fma is 0.5% slower: taken all the same */
    assert_int_equal(f.config.nsets, 2);
    assert_int_equal(f.config.ntargets, 2);
    assert_int_equal(op_of(0), CARM_FMA);
    assert_int_equal(op_of(1), CARM_FMA);
    assert_int_equal(f.config.sets[1].roofs, 1);
    assert_int_equal(f.config.targets[f.config.sets[0].target].isa, CARM_AVX2);
    assert_int_equal(f.config.targets[f.config.sets[1].target].isa, CARM_SSE);
    assert_int_equal(f.config.targets[f.config.sets[1].target].precision, CARM_DP);
    f.compute[1].rate = 98.5e9;
    make((struct carm_validate_words){.isa = NULL});
    assert_int_equal(op_of(0), CARM_MAD);
    f.compute[1].rate = 120e9;
    assert_string_equal(carm_validate_fastest(&f.roofs[0])->op, "fma");
    f.compute[2].rate = 130e9;
    assert_string_equal(carm_validate_fastest(&f.roofs[0])->op, "add");
    struct carm_compute_roof mixture = {.op = "fma+add", .rate = 180e9}; /* a peak, not a target */
    const struct carm_compute_roof third = f.compute[2];
    f.compute[2] = mixture;
    assert_string_equal(carm_validate_fastest(&f.roofs[0])->op, "fma");
    f.compute[2] = third;
    f.roofs[0].ncompute = 1; /* no fma at all */
    assert_string_equal(carm_validate_fastest(&f.roofs[0])->op, "mad");
    f.roofs[0].ncompute = 0;
    assert_null(carm_validate_fastest(&f.roofs[0]));
    make((struct carm_validate_words){.isa = NULL}); /* a set without a peak is left out */
    assert_int_equal(f.config.nsets, 1);
    assert_int_equal(f.config.sets[0].roofs, 1);
}

TEST_BETWEEN(validates_the_operations_asked_for, set_up, tear_down)
{
    make((struct carm_validate_words){.ops = "mad,add", .isa = "avx2"});
    assert_int_equal(f.config.nsets, 2);
    assert_int_equal(op_of(0), CARM_MAD);
    assert_int_equal(op_of(1), CARM_ADD);
    make((struct carm_validate_words){.ops = "add"});
    assert_int_equal(f.config.nsets, 2);
    assert_int_equal(op_of(0), CARM_ADD);
    assert_int_equal(op_of(1), CARM_ADD);
    make((struct carm_validate_words){.ops = "mad,add,mad", .isa = "avx2"}); /* each once */
    assert_int_equal(f.config.nsets, 2);
    refuse((struct carm_validate_words){.ops = "add,div"}, CARM_EINVAL,
           "--ops: no set asked for has a roof of div");
    refuse((struct carm_validate_words){.ops = "mad,pow"}, CARM_EINVAL, "pow");
    refuse((struct carm_validate_words){.ops = ""}, CARM_EINVAL, "--ops needs at least one value");
}

TEST_BETWEEN(equal_targets_are_planned_once, set_up, tear_down)
{
    (void)strcpy(f.roofs[1].isa, "avx2"); /* of other threads: other roofs, the same codes */
    make((struct carm_validate_words){.isa = NULL});
    assert_int_equal(f.config.nsets, 2);
    assert_int_equal(f.config.ntargets, 1);
    (void)strcpy(f.roofs[1].precision, "sp");
    make((struct carm_validate_words){.isa = NULL});
    assert_int_equal(f.config.ntargets, 2);
}

TEST_BETWEEN(levels_and_threads_choose, set_up, tear_down)
{
    make((struct carm_validate_words){.isa = NULL});
    assert_true(carm_level_list_has(&f.config.levels, "L1"));
    assert_true(carm_level_list_has(&f.config.levels, "DRAM"));
    make((struct carm_validate_words){.levels = "DRAM,L1", .threads = "2"});
    assert_int_equal(f.config.nsets, 1);
    assert_int_equal(f.config.sets[0].roofs, 1);
    assert_true(carm_level_list_has(&f.config.levels, "L1"));
    assert_false(carm_level_list_has(&f.config.levels, "L2"));
    assert_true(carm_level_list_has(&f.config.levels, "DRAM"));
    refuse((struct carm_validate_words){.levels = "L1,L3"}, CARM_EINVAL,
           "--levels: the model has no level 'L3'");
    refuse((struct carm_validate_words){.levels = "L"}, CARM_EINVAL, "no level 'L'");
    refuse((struct carm_validate_words){.levels = "L1,,L2"}, CARM_EINVAL, "no level ''");
    refuse((struct carm_validate_words){.isa = "avx512"}, CARM_EINVAL,
           "no roofs match --isa and --threads; the model has avx2 with 1 thread, sse with 2 "
           "threads");
    refuse((struct carm_validate_words){.threads = "two"}, CARM_EINVAL, "--threads needs numbers");
}

/* 85 sets of roofs with three operations, and one with one: as many as may be; with two, one too many. */
TEST_BETWEEN(as_many_sets_as_may_be, set_up, tear_down)
{
    static struct carm_roofs many[86];
    const struct carm_validate_words words = {.ops = "mad,fma,add"};
    for (size_t i = 0; i < 86; i++) {
        many[i] = f.roofs[0];
    }
    f.model.roofs = many;
    f.model.nroofs = 86;
    many[85].ncompute = 1;
    make(words);
    assert_int_equal(f.config.nsets, 256);
    assert_int_equal(f.config.sets[255].roofs, 85);
    many[85].ncompute = 2;
    refuse(words, CARM_EINVAL,
           "at most 256 sets in one validation: name some with --isa, --threads and --ops");
}

TEST_BETWEEN(repetitions_have_a_range, set_up, tear_down)
{
    static const char *const bad[] = {"15", "1048577", "", "-16", "1e3", "99999999999999999999"};
    make((struct carm_validate_words){.isa = NULL});
    assert_int_equal(f.config.reps, 8192); /* the model's */
    assert_false(f.config.quick);
    make((struct carm_validate_words){.quick = ""});
    assert_int_equal(f.config.reps, 1024);
    assert_true(f.config.quick);
    make((struct carm_validate_words){.quick = "", .reps = "16"});
    assert_int_equal(f.config.reps, 16);
    make((struct carm_validate_words){.reps = "1048576"});
    assert_int_equal(f.config.reps, 1048576);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        refuse((struct carm_validate_words){.reps = bad[i]}, CARM_EINVAL,
               "give 16 to 1048576 repetitions");
    }
    f.model.config.reps = 8;
    refuse((struct carm_validate_words){.isa = NULL}, CARM_EINVAL,
           "the model's 8 repetitions are not between 16 and 1048576: give --reps");
    make((struct carm_validate_words){.reps = "64"});
    assert_int_equal(f.config.reps, 64);
}

TEST_BETWEEN(refuses_what_cannot_run_here, set_up, tear_down)
{
    f.roofs[1].threads = 3;
    refuse((struct carm_validate_words){.isa = NULL}, CARM_ENOTSUP,
           "roofs[1] of the model are of 3 threads: ");
    assert_non_null(strstr(f.err.text, "; choose with --threads"));
    make((struct carm_validate_words){.threads = "1"}); /* as it says */
    f.roofs[1].threads = 2;
    memset(&f.cpu, 0, sizeof f.cpu);
    refuse((struct carm_validate_words){.isa = NULL}, CARM_ENOTSUP, "does not have avx2");
    /* sse and scalar codes may use FMA3, which not every processor with SSE has */
    f.cpu.isa[CARM_SCALAR] = true;
    f.cpu.isa[CARM_SSE] = true;
    refuse((struct carm_validate_words){.isa = "sse"}, CARM_ENOTSUP, "fma");
    make((struct carm_validate_words){.isa = "sse", .ops = "mad"});
    assert_int_equal(op_of(0), CARM_MAD);
}

TEST_BETWEEN(refuses_what_the_model_makes_up, set_up, tear_down)
{
    (void)strcpy(f.roofs[1].isa, "avx1024");
    refuse((struct carm_validate_words){.isa = NULL}, CARM_EFORMAT, "avx1024");
    make((struct carm_validate_words){.isa = "avx2"});
    (void)strcpy(f.roofs[0].precision, "qp");
    refuse((struct carm_validate_words){.isa = "avx2"}, CARM_EFORMAT, "qp");
    (void)strcpy(f.roofs[0].precision, "dp");
    (void)strcpy(f.compute[0].op, "pow");
    f.compute[0].rate = 1e12;
    refuse((struct carm_validate_words){.isa = "avx2"}, CARM_EFORMAT, "pow");
    (void)strcpy(f.compute[0].op, "mad");
    (void)strcpy(f.roofs[0].isa, "avx"); /* has no fma by definition */
    f.compute[1].rate = 2e12;
    refuse((struct carm_validate_words){.isa = "avx"}, CARM_ENOTSUP, "fma");
}

TEST_BETWEEN(every_resolved_level_needs_its_roof, set_up, tear_down)
{
    struct carm_validate run = {.config = &f.config, .model = &f.model};
    double weights = 1.0;
    make((struct carm_validate_words){.isa = "sse"});
    assert_true(carm_validate_seconds(&run, 1, &weights) > 0.0);
    /* each level at least that of the shortest repetitions, twice */
    assert_true(weights >= 1.0 + 12e-6 * (double)f.model.nlevels);
    (void)strcpy(f.memory[1].ldst, "1:0");
    refuse((struct carm_validate_words){.isa = "sse"}, CARM_EFORMAT,
           "roofs[1] (sse, 2 threads) has no L2 roof with the model's "
           "mix 2:1, though levels[1] is resolved");
    assert_non_null(strstr(f.err.text, "--levels"));
    make((struct carm_validate_words){.levels = "L1,DRAM"}); /* as it says */
    f.levels[1].resolved = false;                            /* nothing to be had there */
    make((struct carm_validate_words){.isa = "sse"});
    refuse((struct carm_validate_words){.levels = "L2"}, CARM_EFORMAT,
           "roofs[0] (avx2, 1 thread) has no memory roof with the "
           "model's mix 2:1 for any level asked for");
}

/* A validation of the whole model is one of the widest ISA. Narrower ones are validated when they are named. */
TEST_BETWEEN(narrower_sets_stay_out, set_up, tear_down)
{
    struct carm_memory_roof first = f.memory[0];
    f.roofs[1].threads = 1;
    make((struct carm_validate_words){.isa = NULL}); /* also with all its roofs */
    assert_int_equal(f.config.nsets, 1);
    assert_int_equal(f.config.sets[0].roofs, 0);
    make((struct carm_validate_words){.isa = "sse,avx2"});
    assert_int_equal(f.config.nsets, 2);
    f.roofs[1].memory = &first;
    f.roofs[1].nmemory = 1;
    make((struct carm_validate_words){.isa = NULL});
    assert_int_equal(f.config.nsets, 1);
    assert_int_equal(f.config.sets[0].roofs, 0);
    refuse((struct carm_validate_words){.isa = "sse"}, CARM_EFORMAT, "has no L2 roof");
    make((struct carm_validate_words){.isa = "sse", .levels = "L1"});
    assert_int_equal(f.config.sets[0].roofs, 1);
}

TEST_BETWEEN(a_model_belongs_to_a_machine, set_up, tear_down)
{
    struct carm_cache caches[2] = {{1, 32768, 1}, {2, 1048576, 1}};
    struct carm_cache others[2] = {{1, 32768, 1}, {2, 1048576, 2}};
    struct carm_machine here = {.hostname = "one", .cpu = "CPU A", .caches = caches, .ncaches = 2};
    struct carm_machine model = here;
    model.caches = others;
    /* what a cpuset changes does not matter */
    model.cores = 7;
    model.memory_bytes = 1;
    assert_int_equal(carm_machine_check(&here, &model, &f.err), 0);
    (void)strcpy(model.hostname, "two");
    assert_int_equal(carm_machine_check(&here, &model, &f.err), -CARM_EINVAL);
    assert_string_equal(f.err.text, "the model is of host two, this is one");
    model = here;
    (void)strcpy(model.cpu, "CPU B");
    assert_int_equal(carm_machine_check(&here, &model, &f.err), -CARM_EINVAL);
    assert_string_equal(f.err.text, "the model is of a CPU \"CPU B\", this is \"CPU A\"");
    model = here;
    model.caches = others;
    others[1].size_bytes = 2097152;
    assert_int_equal(carm_machine_check(&here, &model, &f.err), -CARM_EINVAL);
    assert_string_equal(f.err.text, "the model is of a machine with other caches than this one's");
    others[1] = caches[1];
    others[1].level = 3;
    assert_int_equal(carm_machine_check(&here, &model, &f.err), -CARM_EINVAL);
    others[1] = caches[1];
    assert_int_equal(carm_machine_check(&here, &model, &f.err), 0);
    model.ncaches = 1;
    assert_int_equal(carm_machine_check(&here, &model, &f.err), -CARM_EINVAL);
}
