/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finding and reading recipes: unknown processors, and texts with planted mistakes. */
#include "harness/count/recipe.h"
#include "tests/unit.h"

static struct carm_recipe *get(const char *name)
{
    struct carm_recipe *recipe = NULL;
    fail_if(carm_recipe_named(name, &recipe, &err) != 0, "%s: %s", name, err.text);
    assert_non_null(recipe);
    return recipe;
}

TEST(unknown_processor)
{
    struct carm_recipe *recipe = NULL;
    (void)unsetenv("CARM_UARCH");
    assert_refused(carm_recipe_find("GenuineIntel", 6, 0x0f, &recipe, &err), -CARM_ENOTSUP,
                   "GenuineIntel, family 6, model 15");
    assert_null(recipe);
    assert_non_null(strstr(err.text, "does not guess"));
    assert_non_null(strstr(err.text, "CARM_UARCH"));
    /* the same family and model of another vendor */
    assert_int_equal(carm_recipe_find("AuthenticAMD", 6, 0x55, &recipe, &err), -CARM_ENOTSUP);
    assert_int_equal(carm_recipe_find("", 0, 0, &recipe, &err), -CARM_ENOTSUP);
    assert_int_equal(carm_recipe_find("GenuineIntel", -1, -1, &recipe, &err), -CARM_ENOTSUP);
    /* known, and left out for a reason */
    assert_refused(carm_recipe_find("GenuineIntel", 6, 0x97, &recipe, &err), -CARM_ENOTSUP,
                   "Alder Lake");
    assert_non_null(strstr(err.text, "two kinds of cores"));
    /* the ends of ranges */
    static const struct {
        int family, model;
        const char *name;
    } amd[] = {{0x17, 0x30, "zen2"}, {0x17, 0x4f, "zen2"}, {0x17, 0x90, "zen2"},
               {0x19, 0x0f, "zen3"}, {0x19, 0x10, "zen4"}, {0x19, 0x1f, "zen4"},
               {0x19, 0x20, "zen3"}, {0x19, 0xaf, "zen4"}, {0x1a, 0x00, "zen5"}};
    for (size_t i = 0; i < sizeof amd / sizeof *amd; i++) {
        assert_ok(carm_recipe_find("AuthenticAMD", amd[i].family, amd[i].model, &recipe, &err));
        assert_string_equal(recipe->name, amd[i].name);
        carm_recipe_free(recipe);
    }
    assert_int_equal(carm_recipe_find("AuthenticAMD", 0x17, 0x92, &recipe, &err), -CARM_ENOTSUP);
    assert_int_equal(carm_recipe_find("AuthenticAMD", 0x19, 0xb0, &recipe, &err), -CARM_ENOTSUP);
}

TEST(named)
{
    struct carm_recipe *recipe = NULL;
    assert_int_equal(setenv("CARM_UARCH", "granite-rapids", 1), 0);
    assert_ok(carm_recipe_find("GenuineIntel", 6, 0x0f, &recipe, &err));
    assert_string_equal(recipe->name, "granite-rapids");
    carm_recipe_free(recipe);
    assert_int_equal(setenv("CARM_UARCH", "granite", 1), 0);
    assert_refused(carm_recipe_find("GenuineIntel", 6, 0x55, &recipe, &err), -CARM_EINVAL,
                   "CARM_UARCH \"granite\"");
    assert_null(recipe);
    assert_non_null(strstr(err.text, "sandy-bridge"));
    assert_non_null(strstr(err.text, "zen5"));
    assert_int_equal(setenv("CARM_UARCH", "", 1), 0);
    assert_ok(carm_recipe_find("GenuineIntel", 6, 0x55, &recipe, &err));
    assert_string_equal(recipe->name, "skylake-server");
    carm_recipe_free(recipe);
    (void)unsetenv("CARM_UARCH");
    assert_refused(carm_recipe_named("z80", &recipe, &err), -CARM_EINVAL, "software");
    carm_recipe_free(NULL);
}

/* A small file; %s: one thing that is wrong. */
static const char *const good_events =
    "{\"name\":\"a\",\"papi\":\"A\",\"code\":\"0x01C7\"},"
    "{\"name\":\"b\",\"papi\":\"B:C\",\"likwid\":\"B_C\",\"code\":\"0x02C7\",\"slots\":2}";
static const char *const good_formulas =
    "{\"quantity\":\"flops\",\"terms\":{\"a\":1,\"b\":2},\"required\":true}";

static int parse(const char *schema, const char *events, const char *formulas, const char *more,
                 struct carm_recipe **recipe, struct carm_err *failure)
{
    char text[4096];
    const int n = snprintf(text, sizeof text,
                           "{\"schema\":\"%s\",\"sets\":{\"s\":{\"events\":[%s],\"formulas\":[]}},"
                           "\"recipes\":[{\"name\":\"other\"},{\"name\":\"broken\",\"pfm\":\"x\","
                           "\"counters\":4,\"include\":[\"s\"],\"formulas\":[%s],"
                           "\"sources\":[\"none\"]%s}]}",
                           schema, events, formulas, more);
    assert_true(n > 0 && (size_t)n < sizeof text);
    return carm_recipe_parse(text, "broken", recipe, failure);
}

TEST(broken_texts)
{
    static const char many[] =
        "{\"name\":\"a\",\"papi\":\"A\",\"code\":\"0x1\"},{\"name\":\"b\",\"papi\":\"A\",\"code\":"
        "\"0x1\"},{\"name\":\"c\",\"papi\":\"A\",\"code\":\"0x1\"}";
    static const struct {
        const char *schema, *events, *formulas, *more, *says;
    } cases[] = {
        {"carm-counters/2", NULL, NULL, "", "carm-counters/1"},
        {NULL, "{\"name\":7,\"papi\":\"A\",\"code\":\"0x1\"}", NULL, "",
         "broken.events[0].name is not a string"},
        {NULL, "{\"name\":\"a\",\"papi\":\"A\",\"code\":199}", NULL, "",
         "broken.events[0].code is no string, not of"},
        {NULL, "{\"name\":\"a\",\"papi\":\"A\",\"code\":\"C7\"}", NULL, "",
         "broken.events[0].code is \"C7\", not of"},
        {NULL, "{\"name\":\"a\",\"papi\":\"A\"}", NULL, "", "broken.events[0] has no code"},
        {NULL, "{\"name\":\"a\",\"code\":\"0x1\"}", NULL, "", "has no name in \"papi\" or"},
        {NULL, "{\"papi\":\"A\",\"code\":\"0x1\"}", NULL, "", "broken.events[0].name is missing"},
        {NULL, "{\"name\":\"a\",\"papi\":\"A\",\"code\":\"0x1\",\"slots\":3}", NULL, "",
         "events[0].slots is neither"},
        {NULL, "{\"name\":\"a\",\"papi\":\"A\",\"code\":\"0x1\",\"fixed\":1}", NULL, "",
         "neither true nor false"},
        {NULL, "{\"name\":\"a\",\"papi\":\"A\",\"code\":\"0x1\",\"scope\":\"core\"}", NULL, "",
         "none of thread, socket, software"},
        {NULL, "{\"name\":\"a\",\"papi\":\"A\",\"code\":\"0x1\",\"umask\":1}", NULL, "",
         "events[0] has a member \"umask\""},
        {NULL,
         "{\"name\":\"a\",\"papi\":\"A\",\"code\":\"0x1\"},{\"name\":\"a\",\"papi\":\"A\","
         "\"code\":\"0x1\"}",
         NULL, "", "broken.events[1].name repeats \"a\""},
        {NULL, "7", NULL, "", "broken.events[0] is not an object"},
        {NULL, NULL, "{\"quantity\":\"flopss\",\"terms\":{\"a\":1}}", "",
         "broken.formulas[0].quantity is \"flopss\""},
        {NULL, NULL, "{\"quantity\":\"flops\",\"terms\":{\"a\":1,\"z\":1}}", "",
         "formulas[0].terms names the event \"z\", which does not exist"},
        {NULL, NULL, "{\"quantity\":\"flops\",\"terms\":{}}", "",
         "formulas[0].terms has not 1 to 12 members"},
        {NULL, NULL, "{\"quantity\":\"flops\",\"terms\":[1]}", "",
         "formulas[0].terms has not 1 to 12 members"},
        {NULL, NULL, "{\"quantity\":\"flops\",\"terms\":{\"a\":0}}", "", "no number above 0"},
        {NULL, NULL, "{\"quantity\":\"flops\",\"terms\":{\"a\":\"1\"}}", "", "no number above 0"},
        {NULL, NULL, "{\"quantity\":\"flops\",\"terms\":{\"a\":1},\"required\":\"yes\"}", "",
         "neither true nor false"},
        {NULL, NULL,
         "{\"quantity\":\"flops\",\"terms\":{\"a\":1}},{\"quantity\":\"flops\",\"terms\":{\"b\":1}"
         "}",
         "", "broken.formulas[1].quantity repeats \"flops\""},
        {NULL, NULL,
         "{\"quantity\":\"flops\",\"terms\":{\"1\":1,\"2\":1,\"3\":1,\"4\":1,\"5\":1,\"6\":1,\"7\":"
         "1,\"8\":1,\"9\":1,\"10\":1,\"11\":1,\"12\":1,\"13\":1}}",
         "", "formulas[0].terms has not 1 to 12 members"},
        {NULL, NULL, "", "", "broken.formulas is empty"},
        {NULL, NULL, NULL, ",\"width\":[{\"event\":\"z\",\"bytes\":8}]",
         "width[0].event is \"z\", which"},
        {NULL, NULL, NULL, ",\"width\":[{\"event\":\"a\",\"bytes\":8,\"low\":9}]",
         "width[0] is not within"},
        {NULL, NULL, NULL, ",\"width\":[{\"event\":\"a\",\"bytes\":-8}]",
         "width[0].bytes is -8, not more"},
        {NULL, NULL, NULL, ",\"width\":{\"event\":\"a\"}", "broken.width is not a list"},
        {NULL, NULL, NULL, ",\"title\":[]", "broken.title is not a string"},
        {NULL, NULL, NULL, ",\"likwid\":\"012345678901234567890123456789012\"", "longer than 31"},
        {NULL, NULL, NULL, ",\"include\":[\"t\"]", "duplicate"},
        {NULL, many, NULL, ",\"note\":\"\",\"notes\":\"\"", "broken has a member \"notes\""},
    };
    struct carm_recipe *recipe = NULL;
    assert_ok(parse("carm-counters/1", good_events, good_formulas, "", &recipe, &err));
    assert_int_equal(recipe->nevents, 2);
    assert_string_equal(recipe->events[0].papi, "x::A");
    assert_string_equal(recipe->events[1].papi, "x::B:C");
    assert_int_equal(recipe->events[1].code, 0x02c7);
    assert_int_equal(recipe->events[1].slots, 2);
    /* a recipe that likwid does not know has none of its names */
    assert_string_equal(recipe->events[1].likwid, "");
    assert_int_equal(recipe->formulas[0].nterms, 2);
    assert_true(recipe->formulas[0].terms[1].weight == 2);
    carm_recipe_free(recipe);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err.text[0] = '\0';
        const int rc = parse(cases[i].schema ? cases[i].schema : "carm-counters/1",
                             cases[i].events ? cases[i].events : good_events,
                             cases[i].formulas ? cases[i].formulas : good_formulas, cases[i].more,
                             &recipe, &err);
        fail_if(rc != -CARM_EFORMAT || recipe || !strstr(err.text, cases[i].says),
                "case %zu: \"%s\" is not said: %d \"%s\"", i, cases[i].says, rc, err.text);
        /* in which recipe, once the file as a whole is readable */
        if (!cases[i].schema && strcmp(cases[i].says, "duplicate") != 0) {
            assert_non_null(strstr(err.text, "counter recipes: broken"));
        }
    }
    assert_refused(carm_recipe_parse("{\"schema\":\"carm-counters/1\",\"recipes\":[{\"name\":"
                                     "\"broken\",\"pfm\":\"x\",\"counters\":-1e308}]}",
                                     "broken", &recipe, &err),
                   -CARM_EFORMAT, "broken.counters is ");
    assert_refused(carm_recipe_parse("{", "broken", &recipe, &err), -CARM_EFORMAT, "line 1");
    assert_int_equal(carm_recipe_parse("[]", "broken", &recipe, &err), -CARM_EFORMAT);
    assert_refused(carm_recipe_parse("{\"schema\":\"carm-counters/1\"}", "broken", &recipe, &err),
                   -CARM_EINVAL, "broken");
}

TEST(papi_names)
{
    struct carm_recipe *recipe = get("skylake-server");
    char name[96];
    const struct carm_event *loads = NULL;
    const struct carm_event *clock = NULL;
    for (size_t i = 0; i < recipe->nevents; i++) {
        loads = strcmp(recipe->events[i].name, "loads") == 0 ? &recipe->events[i] : loads;
        clock = strcmp(recipe->events[i].name, "task_clock") == 0 ? &recipe->events[i] : clock;
    }
    assert_non_null(loads);
    assert_non_null(clock);
    assert_true(carm_event_papi_name(recipe, loads, 0, name, sizeof name));
    assert_string_equal(name, "skx::MEM_INST_RETIRED:ALL_LOADS");
    assert_true(carm_event_papi_name(recipe, loads, 1, name, sizeof name));
    assert_string_equal(name, "clx::MEM_INST_RETIRED:ALL_LOADS");
    assert_true(carm_event_papi_name(recipe, loads, 2, name, sizeof name));
    assert_string_equal(name, "perf_raw::r81d0");
    assert_false(carm_event_papi_name(recipe, loads, 3, name, sizeof name));
    assert_true(carm_event_papi_name(recipe, clock, 0, name, sizeof name));
    assert_string_equal(name, "perf::TASK-CLOCK");
    assert_false(carm_event_papi_name(recipe, clock, 1, name, sizeof name));
    carm_recipe_free(recipe);
    recipe = get("granite-rapids");
    for (size_t i = 0; i < recipe->nevents; i++) {
        loads = strcmp(recipe->events[i].name, "loads") == 0 ? &recipe->events[i] : loads;
    }
    assert_true(carm_event_papi_name(recipe, loads, 0, name, sizeof name));
    assert_string_equal(name, "perf_raw::r81d0");
    assert_false(carm_event_papi_name(recipe, loads, 1, name, sizeof name));
    carm_recipe_free(recipe);
}
