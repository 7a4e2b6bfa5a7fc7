/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What `carm validate` leaves in a model file: all of it is read back, what is wrong is refused
 * with its place and reason, files from before it still read, and one set replaces the same set
 * only. */
#include "models/validation.h"
#include "tests/folder.h"
#include "tests/models/model_text.h"

static const struct carm_validation_set one = {"avx512", "dp", "fma", 1};
static const struct carm_validation_set two = {"avx512", "dp", "fma", 2};

static const struct carm_validation score = {
    .set = {"avx512", "dp", "fma", 1},
    .model = "original-L2",
    .level = "all",
    .n = 87,
    .rrmse = 0.25,
    .rrmse_model = 0.2,
    .fitness = 80,
    .worst_intensity = 1.0 / 3,
    .worst_error = -0.375,
    .rrmse_beside = 0.0625,
    .fitness_beside = 94.5,
};

static const struct carm_validation_point point = {
    .set = {"avx512", "dp", "fma", 1},
    .level = "L3",
    .code = "C.avx512.dp.2:1.fma.1:8",
    .flops = 3e6,
    .bytes = 2.4e7,
    .seconds = 1e-3 / 3,
    .ci95 = {8.5e9, 9.5e9},
    .traffic = {2.4e7, 2.3e7, 1.0 / 1024},
    .ntraffic = 3,
    .slots = 1.2e6,
    .paired = 9.25e9,
    .beside = 3.3e10,
    .clock_hz = 3.1e9 + 1.0 / 3,
    .working_set_bytes = (uint64_t)1 << 60,
    .reps = 1024,
    .counted_by = "stepped",
    .disturbed = true,
    .note = "stolen \"from\"\n",
};

static const struct carm_validation_roof roof = {
    .set = {"avx512", "dp", "fma", 1},
    .level = "peak",
    .code = "B.avx512.dp.fma",
    .model = 1.1e11,
    .beside = 1.05e11,
    .beside_ci95 = {1.04e11, 1.07e11},
    .rate = 1.06e11,
    .rate_se = 1e8,
    .t0 = -3e-9,
    .t0_se = 4e-9,
    .disturbed = true,
};

static const struct carm_validation_fit fit = {
    .set = {"avx512", "dp", "fma", 1},
    .level = "DRAM",
    .form = "rounded+issue",
    .n = 29,
    .bandwidth = 1.5e10,
    .bandwidth_se = 1e8,
    .peak = 1.1e11,
    .peak_se = 2e8,
    .correlation = -0.25,
    .p = 3.5,
    .p_se = 0.5,
    .issue = 1.9e10,
    .aicc = -120.5,
    .cv_rrmse = 0.03125,
    .cv_fitness = 96.5,
    .chosen = true,
};

/* The sample's roofs and levels, without its validation. */
static struct carm_model *bare_model(void)
{
    struct carm_model *m = read_sample();
    m->nvalidation = 0;
    return m;
}

static void add_all(struct carm_model *m, const struct carm_validation_set *set)
{
    struct carm_validation s = score;
    struct carm_validation_point p = point;
    struct carm_validation_roof r = roof;
    struct carm_validation_fit f = fit;
    s.set = p.set = r.set = f.set = *set;
    assert_int_equal(carm_validation_add_score(m, &s, NULL), 0);
    assert_int_equal(carm_validation_add_point(m, &p, NULL), 0);
    assert_int_equal(carm_validation_add_roof(m, &r, NULL), 0);
    assert_int_equal(carm_validation_add_fit(m, &f, NULL), 0);
}

static struct carm_model *full_model(void)
{
    struct carm_model *m = bare_model();
    add_all(m, &one);
    (void)strcpy(m->validated, "2026-01-02T03:04:05Z");
    return m;
}

TEST(round_trip)
{
    struct carm_model *m = full_model(), *back = there_and_back(m);
    assert_string_equal(back->validated, "2026-01-02T03:04:05Z");
    assert_int_equal(back->nvalidation, 1);
    assert_int_equal(back->nvalidation_points, 1);
    assert_int_equal(back->nvalidation_roofs, 1);
    assert_int_equal(back->nvalidation_fits, 1);
    assert_memory_equal(back->validation, &score, sizeof score);
    assert_memory_equal(back->validation_points, &point, sizeof point);
    assert_memory_equal(back->validation_roofs, &roof, sizeof roof);
    assert_memory_equal(back->validation_fits, &fit, sizeof fit);
}

/* What is unknown is left out, not written as 0. */
TEST(leaves_out_the_unknown)
{
    static const char *const members[] = {"_beside\"", "\"rate", "\"t0",
                                          "\"p\"",     "\"p_se", "\"issue\""};
    struct carm_model *m = full_model();
    m->validation->rrmse_beside = m->validation->fitness_beside = 0;
    struct carm_validation_roof *r = m->validation_roofs;
    r->rate = r->rate_se = r->t0 = r->t0_se = 0;
    struct carm_validation_fit *f = m->validation_fits;
    f->p = f->p_se = f->issue = 0;
    m->validation_points->ntraffic = 0;
    memset(m->validation_points->traffic, 0, sizeof point.traffic);
    struct carm_model *back = there_and_back(m);
    assert_memory_equal(back->validation, m->validation, sizeof score);
    assert_memory_equal(back->validation_points, m->validation_points, sizeof point);
    assert_memory_equal(back->validation_roofs, r, sizeof *r);
    assert_memory_equal(back->validation_fits, f, sizeof *f);
    const char *text = model_as_text(m), *at = strstr(text, "\"validated\"");
    assert_non_null(at);
    for (size_t i = 0; i < sizeof members / sizeof *members; i++)
        if (strstr(at, members[i]))
            fail_msg("%s is in the file", members[i]);
}

/* A model that was never validated has the members of before and no more; such files read. */
TEST(before_validation)
{
    struct carm_model *m = bare_model(), *back = there_and_back(m);
    assert_string_equal(back->validated, "");
    assert_int_equal(back->nvalidation, 0);
    assert_null(back->validation_points);
    assert_int_equal(back->nvalidation_points + back->nvalidation_roofs + back->nvalidation_fits,
                     0);
    const char *text = model_as_text(m);
    assert_non_null(strstr(text, "\"validation\": []"));
    assert_null(strstr(text, "\"validation_"));
    assert_null(strstr(text, "\"validated\""));
}

TEST(refuses)
{
    static const struct text_fault faults[] = {
        {"\"validated\": ", "\"2026-01-02T03:04:05Z\"", "\"\"", "validated is empty"},
        {"\"validated\": ", "\"2026-01-02T03:04:05Z\"", "null", "validated is not a string"},
        {"\"validation\": ", "\"validation\"", "\"valid\"", "validation is missing"},
        {"\"validation\": ", "\"op\": \"fma\"", "\"op\": \"\"", "validation[0].op is empty"},
        {"\"validation\": ", "\"precision\"", "\"p\"", "validation[0].precision is missing"},
        {"\"validation\": ", "\"threads\": 1", "\"threads\": 0",
         "validation[0].threads is 0, outside 1..2147483647"},
        {"\"validation\": ", "\"level\": \"all\"", "\"level\": \"peak\"",
         "validation[0].level \"peak\" is not among the model's levels"},
        {"\"validation\": ", "\"n\": 87", "\"n\": -1",
         "validation[0].n is -1, outside 1..2147483647"},
        {"\"validation\": ", "\"rrmse\": 0.25", "\"rrmse\": -0.25",
         "validation[0].rrmse is -0.25, less than zero"},
        {"\"validation\": ", "\"fitness\": 80.0", "\"fitness\": 100.5",
         "validation[0].fitness is 100.5, more than 100"},
        {"\"validation\": ", "\"fitness_beside\": 94.5", "\"fitness_beside\": 101",
         "validation[0].fitness_beside is 101, more than 100"},
        {"\"validation\": ", "\"worst_error\": -0.375", "\"worst_error\": -1",
         "validation[0].worst_error is -1, not more than -1"},
        {"\"validation\": ", "\"worst_error\": -0.375", "\"worst_error\": NaN", "line "},
        {"\"validation\": ", "\"worst_intensity\": 0.3", "\"worst_intensity\": -0.3",
         "validation[0].worst_intensity is -0.333333, not more than zero"},
        {"\"validation_points\": ", "[", "{}, \"old\": [", "validation_points is not an array"},
        {"\"validation_points\": ", "[", "[ 3, ", "validation_points[0] is not an object"},
        {"\"validation_points\": ", "\"level\": \"L3\"", "\"level\": \"L4\"",
         "validation_points[0].level \"L4\" is not among the model's levels"},
        {"\"validation_points\": ", "\"level\": \"L3\"", "\"level\": \"all\"",
         "validation_points[0].level \"all\" is not among the model's levels"},
        {"\"validation_points\": ", "\"flops\": 3000000.0", "\"flops\": 0",
         "validation_points[0].flops is 0, not more than zero"},
        {"\"validation_points\": ", "\"bytes\": 24000000.0", "\"bytes\": null",
         "validation_points[0].bytes is null, not a number"},
        {"\"validation_points\": ", "\"bytes\": 24000000.0", "\"bytes\": 1e22",
         "validation_points[0].bytes is 1e+22, outside 1e-12..1e+21"},
        {"\"validation_points\": ", "\"seconds\": 0.0003", "\"seconds\": 0.0004",
         "validation_points[0].ci95 [8.5e+09, 9.5e+09] does not hold its value 6.92308e+09"},
        {"\"validation_points\": ", "3000000.0", "1e21",
         "validation_points[0] has a performance of 3e+24, outside 1e-12..1e+21"},
        {"\"validation_points\": ", "\"ci95\": [", "\"ci95\": [ 1, ",
         "validation_points[0].ci95 is not an array of two numbers"},
        {"\"validation_points\": ", "\"traffic_bytes\": [",
         "\"traffic_bytes\": [ 1, 2, 3, 4, 5, 6, ",
         "validation_points[0].traffic_bytes has 9 entries, more than 8"},
        {"\"validation_points\": ", "\"traffic_bytes\": [", "\"traffic_bytes\": [ 1, -2, ",
         "validation_points[0].traffic_bytes[1] is -2, less than zero"},
        {"\"validation_points\": ", "\"traffic_bytes\": [", "\"traffic_bytes\": [ 1e22, ",
         "validation_points[0].traffic_bytes[0] is 1e+22, more than 1e+21"},
        {"\"validation_points\": ", "\"traffic_bytes\": [", "\"traffic_bytes\": [ \"much\", ",
         "validation_points[0].traffic_bytes[0] is of another type, not a number"},
        {"\"validation_points\": ", "\"traffic_bytes\": [", "\"traffic_bytes\": 4, \"old\": [",
         "validation_points[0].traffic_bytes is not an array"},
        {"\"validation_points\": ", "\"traffic_bytes\"", "\"traffic\"",
         "validation_points[0].traffic_bytes is missing"},
        {"\"validation_points\": ", "\"slots\": 1200000.0", "\"slots\": -1",
         "validation_points[0].slots is -1, less than zero"},
        {"\"validation_points\": ", "\"reps\": 1024", "\"reps\": 0.5",
         "validation_points[0].reps is not a whole number"},
        {"\"validation_points\": ", "\"disturbed\": true", "\"disturbed\": 1",
         "validation_points[0].disturbed is neither true nor false"},
        {"\"validation_roofs\": ", "\"level\": \"peak\"", "\"level\": \"all\"",
         "validation_roofs[0].level \"all\" is not among the model's levels"},
        {"\"validation_roofs\": ", "\"model\": 110000000000.0", "\"model\": -1",
         "validation_roofs[0].model is -1, not more than zero"},
        {"\"validation_roofs\": ", "\"beside\": 105000000000.0", "\"beside\": 2e11",
         "validation_roofs[0].beside_ci95 [1.04e+11, 1.07e+11] does not hold its value 2e+11"},
        {"\"validation_roofs\": ", "\"rate_se\"", "\"old\"",
         "validation_roofs[0].rate_se is missing"},
        {"\"validation_roofs\": ", "\"rate\": 106000000000.0", "\"rate\": 0",
         "validation_roofs[0].rate is 0, not more than zero"},
        {"\"validation_fits\": ", "\"level\": \"DRAM\"", "\"level\": \"peak\"",
         "validation_fits[0].level \"peak\" is not among the model's levels"},
        {"\"validation_fits\": ", "\"form\": \"rounded+issue\"", "\"form\": \"\"",
         "validation_fits[0].form is empty"},
        {"\"validation_fits\": ", "\"correlation\": -0.25", "\"correlation\": -1.5",
         "validation_fits[0].correlation is -1.5, outside -1..1"},
        {"\"validation_fits\": ", "\"p_se\"", "\"old\"", "validation_fits[0].p_se is missing"},
        {"\"validation_fits\": ", "\"aicc\": -120.5", "\"aicc\": null",
         "validation_fits[0].aicc is null, not a number"},
        {"\"validation_fits\": ", "\"cv_fitness\": 96.5", "\"cv_fitness\": 196.5",
         "validation_fits[0].cv_fitness is 196.5, more than 100"},
        {"\"validation_fits\": ", "\"chosen\": true", "\"chosen\": \"yes\"",
         "validation_fits[0].chosen is neither true nor false"},
    };
    struct carm_model *m = full_model();
    const char *text = model_as_text(m);
    refuse_faults(m, faults, sizeof faults / sizeof *faults);
    /* Cut in the middle of what validate wrote. */
    for (const char *at = strstr(text, "\"validated\""); at[1]; at += at[2] ? 2 : 1) {
        refuse_text(text, (size_t)(at - text), "m.json: ");
    }
    assert_non_null(strstr(err.text, "the file ends too early"));
}

TEST(refuses_repeats_and_excess)
{
    struct carm_model *m = full_model();
    (void)carm_validation_add_score(m, &score, NULL);
    refuse_model(
        m,
        "m.json: validation[1] repeats entry 0: isa \"avx512\", precision \"dp\", op \"fma\", threads 1, model \"original-L2\", level \"all\"");
    (void)strcpy(m->validation[1].model, "original");
    (void)carm_validation_add_roof(m, &roof, NULL);
    refuse_model(
        m,
        "m.json: validation_roofs[1] repeats entry 0: isa \"avx512\", precision \"dp\", op \"fma\", threads 1, level \"peak\", code \"B.avx512.dp.fma\"");
    (void)strcpy(m->validation_roofs[1].level, "L1");
    (void)carm_validation_add_fit(m, &fit, NULL);
    refuse_model(
        m,
        "m.json: validation_fits[1] repeats entry 0: isa \"avx512\", precision \"dp\", op \"fma\", threads 1, level \"DRAM\", form \"rounded+issue\"");
    m->validation_fits[1].set.threads = 2;
    (void)there_and_back(m);
    for (int i = 0; i < 8192; i++)
        assert_int_equal(carm_validation_add_fit(m, &fit, NULL), 0);
    refuse_model(m, "m.json: validation_fits has 8194 entries, more than 8192");
}

/* flops / seconds is not always the median that a caller began with, to the last bit. */
TEST(allows_rounding)
{
    struct carm_model *m = full_model();
    struct carm_validation_point *p = m->validation_points;
    const double performance = p->flops / p->seconds;
    p->ci95 = (struct carm_ci){nextafter(performance, INFINITY), nextafter(performance, INFINITY)};
    (void)there_and_back(m);
    p->ci95 = (struct carm_ci){performance * 1.0001, performance * 1.0002};
    refuse_model(m, "m.json: validation_points[0].ci95 [9.0009e+09, 9.0018e+09] does not hold its "
                    "value 9e+09");
}

TEST(sets_are_equal_or_not)
{
    struct carm_validation_set s = one;
    assert_true(carm_validation_set_equal(&one, &s));
    assert_false(carm_validation_set_equal(&one, &two));
    (void)strcpy(s.op, "mad");
    assert_false(carm_validation_set_equal(&one, &s));
    s = one;
    (void)strcpy(s.precision, "sp");
    assert_false(carm_validation_set_equal(&one, &s));
    s = one;
    (void)strcpy(s.isa, "avx2");
    assert_false(carm_validation_set_equal(&one, &s));
}

TEST(drops_one_set)
{
    struct carm_model *m = bare_model();
    assert_int_equal(carm_validation_drop(m, &one, NULL), 0);
    for (int i = 0; i < 3; i++) {
        add_all(m, &one);
        add_all(m, &two);
    }
    m->validation_points[1].reps = 11; /* of two */
    m->validation_points[3].reps = 12;
    m->validation_points[5].reps = 13;
    assert_int_equal(carm_validation_drop(m, &m->validation[0].set, NULL), 12);
    assert_int_equal(m->nvalidation, 3);
    assert_int_equal(m->nvalidation_points, 3);
    assert_int_equal(m->nvalidation_roofs, 3);
    assert_int_equal(m->nvalidation_fits, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_true(carm_validation_set_equal(&m->validation[i].set, &two));
        assert_true(carm_validation_set_equal(&m->validation_fits[i].set, &two));
        assert_int_equal(m->validation_points[i].reps, 11 + i);
    }
    assert_int_equal(carm_validation_drop(m, &one, NULL), 0);
    add_all(m, &one);
    assert_int_equal(carm_validation_drop(m, &two, NULL), 12);
    assert_int_equal(m->nvalidation_roofs, 1);
    assert_memory_equal(m->validation_roofs, &roof, sizeof roof);
}

/* One level measured again: the other levels' points and roofs stay, what was made of all goes. */
TEST(drops_one_level)
{
    struct carm_model *m = bare_model();
    for (int i = 0; i < 2; i++) {
        add_all(m, &one);
    }
    (void)strcpy(m->validation_points[0].level, "L9");
    (void)strcpy(m->validation_roofs[1].level, "L9");
    assert_int_equal(carm_validation_drop(m, &one, "L9"), 6);
    assert_int_equal(m->nvalidation, 0);
    assert_int_equal(m->nvalidation_fits, 0);
    assert_int_equal(m->nvalidation_points, 1);
    assert_string_not_equal(m->validation_points[0].level, "L9");
    assert_int_equal(m->nvalidation_roofs, 1);
    assert_string_not_equal(m->validation_roofs[0].level, "L9");
}

/* Python's jsonschema takes the file, with and without what may lack, and sees faults in it. */
TEST_BETWEEN(fits_schema, make_folder, remove_folder)
{
    skip_if(system("python3 -c 'import jsonschema' 2>/dev/null") != 0, "no python3-jsonschema");
    static const char script[] =
        "import copy, json, sys, jsonschema\n"
        "s = json.load(open(sys.argv[1]))\n"
        "c = getattr(jsonschema, 'Draft202012Validator', jsonschema.Draft7Validator)\n"
        "m = json.load(open(sys.argv[2]))\n"
        "c(s).validate(m)\n"
        "for name, member, value in ('validation', 'fitness', 101), \\\n"
        "        ('validation', 'worst_error', -1), ('validation_points', 'seconds', 0), \\\n"
        "        ('validation_points', 'traffic_bytes', [1] * 9), \\\n"
        "        ('validation_roofs', 'rate', 0), ('validation_fits', 'correlation', 2):\n"
        "    bad = copy.deepcopy(m)\n"
        "    bad[name][0][member] = value\n"
        "    if not list(c(s).iter_errors(bad)): sys.exit(member + ' passes')\n"
        "for key in [k for k in m if k.startswith('validat')]:\n"
        "    for e in m[key] if isinstance(m[key], list) else []:\n"
        "        known = s['properties'][key]['items']['properties']\n"
        "        if set(e) != set(known): sys.exit(key + ': ' + str(set(e) ^ set(known)))\n";
    char command[8192];
    put_file("check.py", script);
    assert_ok(carm_model_write(full_model(), path_of("m.json"), &err));
    (void)snprintf(command, sizeof command, "python3 %s/check.py '%s' %s/m.json", folder,
                   source_file("data/model.schema.json"), folder);
    assert_int_equal(system(command), 0);
}
