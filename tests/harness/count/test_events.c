/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every event of data/counters.json against libpfm4's tables: it must encode each name for its
 * processor, present or not, to the code that stands beside the name. So a misspelt name and a wrong
 * unit mask both show. Where libpfm4 lacks the processor only the spelling of raw codes is proven. */
#include <dlfcn.h>
#include <jansson.h>

#include "harness/count/recipe.h"
#include "tests/unit.h"

extern const char carm_data_counters[];

#if __has_include(<perfmon/pfmlib.h>)
#include <perfmon/pfmlib.h>

static pfm_err_t (*encode)(const char *, int, char **, int *, uint64_t **, int *);
static const char *(*describe)(int);
#endif
static char skip_reason[128];

static int load_libpfm(void **state)
{
#if __has_include(<perfmon/pfmlib.h>)
    void *lib = dlopen("libpfm.so.4", RTLD_NOW);
    if (!lib) {
        (void)snprintf(skip_reason, sizeof skip_reason, "there is no libpfm.so.4");
        return 0;
    }
    pfm_err_t (*initialize)(void) = NULL;
    *(void **)&initialize = dlsym(lib, "pfm_initialize");
    *(void **)&encode = dlsym(lib, "pfm_get_event_encoding");
    *(void **)&describe = dlsym(lib, "pfm_strerror");
    assert_non_null(initialize);
    assert_non_null(encode);
    assert_non_null(describe);
    assert_int_equal(setenv("LIBPFM_ENCODE_INACTIVE", "1", 1), 0);
    assert_int_equal(initialize(), PFM_SUCCESS);
#else
    (void)snprintf(skip_reason, sizeof skip_reason, "libpfm4's header is not installed");
#endif
    return 0;
}

static void skip_without_libpfm(void)
{
    skip_if(skip_reason[0], "%s", skip_reason);
}

#if __has_include(<perfmon/pfmlib.h>)
/* Whether libpfm4 gives the event of this name that code; why [size]: if not */
static bool agrees(const char *name, unsigned code, char *why, size_t size)
{
    /* of an uncore unit: its first */
    const char *percent = strstr(name, "%d");
    char first[128];
    (void)snprintf(first, sizeof first, "%.*s%s%s", percent ? (int)(percent - name) : 127, name,
                   percent ? "0" : "", percent ? percent + 2 : "");
    uint64_t *codes = NULL;
    int n = 0;
    const int rc = encode(first, PFM_PLM3, NULL, NULL, &codes, &n);
    if (rc != PFM_SUCCESS || n < 1) {
        (void)snprintf(why, size, "%s: %s", first, describe(rc));
        free(codes);
        return false;
    }
    /* apart from user, kernel, interrupt and enable (bits 16, 17, 20, 22), nothing but the code: no
     * counter mask, edge or inversion comes in by a name */
    const uint64_t is = codes[0] & ~UINT64_C(0x530000);
    free(codes);
    if (is != code) {
        (void)snprintf(why, size, "%s: libpfm4 encodes %#llx, the recipe says %#x", first,
                       (unsigned long long)is, code);
        return false;
    }
    return true;
}
#endif

static struct carm_recipe *get(const char *name)
{
    static struct carm_recipe
        *recipe; /* not on the stack, to which gcc 12 takes the result to point */
    assert_ok(carm_recipe_named(name, &recipe, &err));
    return recipe;
}

TEST(names_and_codes)
{
    skip_without_libpfm();
#if __has_include(<perfmon/pfmlib.h>)
    size_t checked = 0;
    size_t raw = 0;
    for (size_t i = 0; carm_recipe_name(i); i++) {
        struct carm_recipe *recipe = get(carm_recipe_name(i));
        for (size_t k = 0; k < recipe->nevents; k++) {
            const struct carm_event *e = &recipe->events[k];
            char name[96];
            char why[256];
            for (unsigned n = 0; carm_event_papi_name(recipe, e, n, name, sizeof name); n++) {
                /* the kernel's events have no code of a processor; libpfm4 numbers them */
                const bool software = e->scope == CARM_EVENT_SOFTWARE;
                const unsigned number = strcmp(e->name, "task_clock") == 0    ? 1
                                        : strcmp(e->name, "page_faults") == 0 ? 2
                                                                              : 3;
                fail_if(!agrees(name, software ? number : e->code, why, sizeof why), "%s, %s: %s",
                        recipe->name, e->name, why);
                checked++;
                raw += strncmp(name, "perf_raw::", 10) == 0;
            }
            /* a thread's events belong to the recipe's own processor */
            if (e->scope == CARM_EVENT_THREAD && e->papi[0]) {
                char prefix[40];
                (void)snprintf(prefix, sizeof prefix,
                               "%s::", recipe->pfm[0] ? recipe->pfm : "perf_raw");
                assert_int_equal(strncmp(e->papi, prefix, strlen(prefix)), 0);
            }
        }
        carm_recipe_free(recipe);
    }
    assert_true(checked > 300);
    print_message("# %zu names encoded, %zu of them raw\n", checked, raw);
#endif
}

TEST(planted_faults)
{
    skip_without_libpfm();
#if __has_include(<perfmon/pfmlib.h>)
    char why[256];
    assert_true(agrees("skx::FP_ARITH_INST_RETIRED:512B_PACKED_DOUBLE", 0x40c7, why, sizeof why));
    /* a wrong unit mask, another event's code */
    assert_false(agrees("skx::FP_ARITH_INST_RETIRED:512B_PACKED_DOUBLE", 0x80c7, why, sizeof why));
    assert_non_null(strstr(why, "encodes 0x40c7"));
    assert_false(agrees("skx::FP_ARITH_INST_RETIRED:512B_PACKED_DOUBLE", 0x40c8, why, sizeof why));
    /* an event that this processor lacks, a misspelt one, an unknown processor */
    assert_false(agrees("bdw::FP_ARITH_INST_RETIRED:512B_PACKED_DOUBLE", 0x40c7, why, sizeof why));
    assert_false(agrees("skx::FP_ARITH_INST_RETIRED:512B_PACKED_DUOBLE", 0x40c7, why, sizeof why));
    assert_false(agrees("z80::FP_ARITH_INST_RETIRED:SCALAR_DOUBLE", 0x01c7, why, sizeof why));
    /* a name that brings a counter mask */
    assert_false(agrees("skx::INST_RETIRED:TOTAL_CYCLES", 0x01c0, why, sizeof why));
    /* libpfm4 4.13 has unit mask 0x01 here: why the recipes name LLC_MISSES instead */
    assert_false(agrees("snb::L3_LAT_CACHE:MISS", 0x412e, why, sizeof why));
    assert_false(agrees("skx_unc_imc%d::UNC_M_CAS_COUNT:RD", 0x0c04, why, sizeof why));
    assert_true(agrees("skx_unc_imc%d::UNC_M_CAS_COUNT:RD", 0x0304, why, sizeof why));
#endif
}

/* What libpfm4 cannot prove: the processors that it lacks have the codes of their relatives. */
TEST(relatives)
{
    static const struct {
        const char *of, *as;
        const char *but; /* the event whose code differs */
    } pairs[] = {{"granite-rapids", "sapphire-rapids", ""}, {"zen5", "zen4", "flops"}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        struct carm_recipe *a = get(pairs[i].of);
        struct carm_recipe *b = get(pairs[i].as);
        assert_int_equal(a->nevents, b->nevents);
        assert_string_equal(a->pfm, "");
        assert_non_null(strstr(a->note, "does not list"));
        for (size_t k = 0; k < a->nevents; k++) {
            assert_string_equal(a->events[k].name, b->events[k].name);
            if (strcmp(a->events[k].name, pairs[i].but) != 0) {
                assert_int_equal(a->events[k].code, b->events[k].code);
            }
        }
        carm_recipe_free(a);
        carm_recipe_free(b);
    }
}

/* No processor in two recipes, or in one and in what is left out; and each is found. */
TEST(unique_processors)
{
    static const char *const lists[] = {"recipes", "left_out"};
    static char owner[2][0x20][0x100][48];
    json_t *root = json_loads(carm_data_counters, 0, NULL);
    assert_non_null(root);
    (void)unsetenv("CARM_UARCH");
    size_t found = 0;
    for (size_t l = 0; l < 2; l++) {
        size_t i = 0;
        json_t *o = NULL;
        json_array_foreach(json_object_get(root, lists[l]), i, o)
        {
            const char *name = json_string_value(json_object_get(o, "name"));
            const char *vendor = json_string_value(json_object_get(o, "vendor"));
            const char *family = json_string_value(json_object_get(o, "family"));
            assert_non_null(name);
            if (strcmp(name, "software") == 0) {
                continue;
            }
            assert_non_null(vendor);
            assert_non_null(family);
            const bool amd = strcmp(vendor, "AuthenticAMD") == 0;
            assert_true(amd || strcmp(vendor, "GenuineIntel") == 0);
            const unsigned long f = strtoul(family, NULL, 16);
            assert_true(f < 0x20);
            size_t k = 0;
            json_t *v = NULL;
            assert_true(json_array_size(json_object_get(o, "models")) > 0);
            json_array_foreach(json_object_get(o, "models"), k, v)
            {
                char *end = NULL;
                const unsigned long from = strtoul(json_string_value(v), &end, 16);
                const unsigned long to = *end == '-' ? strtoul(end + 1, &end, 16) : from;
                assert_int_equal(*end, '\0');
                assert_true(from <= to && to < 0x100);
                for (unsigned long m = from; m <= to; m++) {
                    fail_if(owner[amd][f][m][0], "family %#lx, model %#lx is in %s and in %s", f, m,
                            owner[amd][f][m], name);
                    (void)snprintf(owner[amd][f][m], sizeof owner[amd][f][m], "%s", name);
                    struct carm_recipe *recipe = NULL;
                    const int rc = carm_recipe_find(vendor, (int)f, (int)m, &recipe, &err);
                    if (l == 0) {
                        assert_int_equal(rc, 0);
                        assert_string_equal(recipe->name, name);
                        found++;
                    } else {
                        assert_int_equal(rc, -CARM_ENOTSUP);
                    }
                    carm_recipe_free(recipe);
                }
            }
        }
    }
    assert_true(found > 300);
    json_decref(root);
}

/* Each recipe's groups of counters are possible: no event needs more of them than there are. */
TEST(plausible)
{
    for (size_t i = 0; carm_recipe_name(i); i++) {
        struct carm_recipe *recipe = get(carm_recipe_name(i));
        const bool software = strcmp(recipe->name, "software") == 0;
        assert_true(recipe->title[0] && (software || recipe->counters >= 4));
        for (size_t k = 0; k < recipe->nevents; k++) {
            const struct carm_event *e = &recipe->events[k];
            const bool amd_flops = strcmp(e->name, "flops") == 0;
            assert_int_equal(e->slots, amd_flops ? 2 : 1);
            assert_true(e->likwid_scale == (e->name[0] == 'e' ? 4294967296.0 : 1.0));
            if (software) {
                assert_int_equal(e->scope, CARM_EVENT_SOFTWARE);
            }
        }
        carm_recipe_free(recipe);
    }
}

RUN_TESTS(load_libpfm, NULL)
