/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The built-in test codes: they are the default plans' codes, to the byte what nasm makes of these
 * today (a part of them is assembled; make soak: all), and refused by the recount where they are damaged. */
#include "asm/decode.h"
#include "asm/gen.h"
#include "asm/image.h"
#include "base/unpack.h"
#include "harness/machine/cpu.h"
#include "tests/fingerprint.h"
#include "tests/unit.h"
#include "validation/builtin/plan.h"
#include "validation/roofs/config.h"
#include "validation/roofs/plan.h"
#include "validation/validate/plan.h"

struct fixture {
    struct carm_code_table builtin;
    struct carm_code_spec *specs;
    size_t n;
};
static struct fixture f;

static int set_up(void **state)
{
    return carm_builtin_open(&f.builtin, NULL) || carm_builtin_plan(&f.specs, &f.n, NULL);
}

static int tear_down(void **state)
{
    free(f.specs);
    return 0;
}

/* No nasm from here on, whatever the test says that it needs. */
static int hide_nasm(void **state)
{
    *state = getenv("PATH") ? strdup(getenv("PATH")) : NULL;
    return setenv("PATH", "/nonexistent", 1);
}

static int show_nasm(void **state)
{
    const int rc = *state ? setenv("PATH", *state, 1) : unsetenv("PATH");
    free(*state);
    return rc;
}

TEST(sorted)
{
    char before[CARM_CODE_NAME_MAX] = "";
    assert_true(f.n > 1000);
    assert_int_equal(f.builtin.n, f.n);
    for (size_t i = 0; i < f.n; i++) {
        char name[CARM_CODE_NAME_MAX];
        char found[CARM_CODE_NAME_MAX];
        struct carm_code_layout layout;
        struct carm_code_layout again;
        struct carm_account account;
        carm_code_name(&f.specs[i], name);
        assert_true(strcmp(before, name) < 0);
        assert_int_equal(carm_code_table_entry(&f.builtin, i, found, &layout, &account, NULL), 0);
        assert_string_equal(found, name);
        assert_true(carm_code_table_find(&f.builtin, name, &again, &account));
        assert_memory_equal(&again, &layout, sizeof layout);
        memcpy(before, name, sizeof before);
    }
    assert_false(carm_code_table_find(&f.builtin, "A.sse.dp.3:2.u8", NULL, NULL));
    assert_false(carm_code_table_find(&f.builtin, "", NULL, NULL));
    assert_false(carm_code_table_find(&f.builtin, "~", NULL, NULL));
}

/* All of them pass the recount, without nasm, and find the constants that they had. */
TEST_BETWEEN(recount, hide_nasm, show_nasm)
{
    struct carm_image *image = NULL;
    assert_ok(carm_image_open(&image, f.specs, f.n, &err));
    assert_int_equal(image->n, f.n);
    for (size_t i = 0; i < f.n; i++) {
        const struct carm_code *c = &image->codes[i];
        const uint8_t *text = image->text;
        assert_memory_equal(text + c->layout.begin, f.builtin.bytes + c->layout.begin,
                            c->layout.end - c->layout.begin);
    }
    carm_image_close(image);
}

/* The plans of this machine's CPU and of narrower ones. */
TEST_BETWEEN(plans, hide_nasm, show_nasm)
{
    static const struct carm_build_words words[] = {{.quick = NULL},
                                                    {.quick = ""},
                                                    {.isa = "all", .precision = "dp,sp"},
                                                    {.ceilings = ""},
                                                    {.isa = "all", .ceilings = "", .quick = ""},
                                                    {.ceilings = "busy,mix"},
                                                    {.ceilings = "traffic"}};
    for (int widest = CARM_SSE; widest < CARM_VECTOR_ISAS; widest++) {
        struct carm_cpu cpu = {.fma = widest >= CARM_AVX2};
        for (int i = 0; i <= widest; i++) {
            cpu.isa[i] = true;
        }
        for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
            struct carm_build_config config;
            struct carm_build_plan plan;
            int rc = carm_build_configure_codes(&config, &words[i], &cpu, &err);
            rc = rc ? rc : carm_build_plan_open(&plan, &config, &cpu, &err);
            fail_if(rc, "%s, words %zu: %s", carm_isa_name((enum carm_isa)widest), i, err.text);
            carm_build_plan_close(&plan);
        }
    }
}

/* A code that is not built in beside one that is: both are there, and run. */
TEST(both)
{
    static const char *const names[] = {"A.sse.dp.2:1.u4", "A.sse.dp.3:2.u4", "A.sse.dp.2:1.u8"};
    _Alignas(64) static double window[8192];
    struct carm_code_spec specs[3];
    struct carm_image *image = NULL;
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(carm_code_parse(names[i], &specs[i], NULL), 0);
    }
    const int rc = carm_image_open(&image, specs, 3, &err);
    skip_if(rc == -CARM_ENOTSUP, "%s", err.text);
    assert_int_equal(rc, 0);
    for (size_t i = 0; i < 3; i++) {
        const struct carm_code *c = &image->codes[i];
        memset(window, 0, sizeof window);
        c->run(window, 1, 1, 0);
        double first = 0.0; /* the slot of the first store, behind its loads */
        memcpy(&first, (const char *)window + 16 * specs[i].mix.loads, sizeof first);
        assert_true(first != 0.0);
        assert_string_equal(c->name, names[i]);
    }
    carm_image_close(image);
}

TEST_BETWEEN(no_nasm, hide_nasm, show_nasm)
{
    struct carm_code_spec spec;
    struct carm_image *image = NULL;
    assert_int_equal(carm_code_parse("A.sse.dp.3:2.u4", &spec, NULL), 0);
    assert_refused(carm_image_open(&image, &spec, 1, &err), -CARM_ENOTSUP, "apt-get install nasm");
    assert_non_null(strstr(err.text, "A.sse.dp.3:2.u4"));
    assert_int_equal(carm_image_open(&image, &spec, 1, NULL), -CARM_ENOTSUP);
}

/* Codes that the fresh image has: the first of each ISA x precision x kind x mix x operation and every
 * tenth; with CARM_SOAK=1 (make soak) all of them. returns how many of f.specs are in chosen[] */
static size_t choose(size_t chosen[])
{
    size_t n = 0;
    for (size_t i = 0; i < f.n; i++) {
        const struct carm_code_spec *s = &f.specs[i];
        bool first = true;
        for (size_t k = 0; k < n && first; k++) {
            const struct carm_code_spec *t = &f.specs[chosen[k]];
            first = t->kind != s->kind || t->isa != s->isa || t->precision != s->precision ||
                    t->op != s->op || t->mix.loads != s->mix.loads ||
                    t->mix.stores != s->mix.stores || t->mix.update != s->mix.update ||
                    t->mix.nontemporal != s->mix.nontemporal;
        }
        if (first || i % 10 == 0 || getenv("CARM_SOAK")) {
            chosen[n++] = i;
        }
    }
    return n;
}

/* The same bytes, layout and account in two images. Where a code loads a constant, the distance to it
 * depends on its place in the image: there the constant must be the same. */
static bool same_code(const struct carm_code_table *a, size_t at, const struct carm_code_table *b,
                      size_t bt)
{
    const struct carm_code_table *tables[2] = {a, b};
    const size_t index[2] = {at, bt};
    char name[2][CARM_CODE_NAME_MAX];
    struct carm_code_layout l[2];
    struct carm_account account[2];
    struct carm_insn *insns[2] = {NULL, NULL};
    size_t n[2];
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(
            carm_code_table_entry(tables[i], index[i], name[i], &l[i], &account[i], NULL), 0);
        assert_int_equal(carm_decode(tables[i]->bytes, tables[i]->size, l[i].begin, l[i].end,
                                     &insns[i], &n[i], NULL),
                         0);
    }
    bool same = strcmp(name[0], name[1]) == 0 && n[0] == n[1] &&
                memcmp(&account[0], &account[1], sizeof account[0]) == 0 &&
                l[0].end - l[0].begin == l[1].end - l[1].begin &&
                l[0].loop_begin - l[0].begin == l[1].loop_begin - l[1].begin &&
                l[0].loop_end - l[0].begin == l[1].loop_end - l[1].begin;
    for (size_t i = 0; i < n[0] && same; i++) {
        const struct carm_insn *x = &insns[0][i];
        const struct carm_insn *y = &insns[1][i];
        const bool constant = x->role == CARM_INSN_LOAD && x->base == CARM_BASE_IMAGE;
        same =
            x->length == y->length && x->role == y->role && x->base == y->base &&
            (!constant || (uint64_t)x->value - carm_builtin_constants(a) ==
                              (uint64_t)y->value - carm_builtin_constants(b)) &&
            memcmp(a->bytes + x->offset, b->bytes + y->offset, x->length - (constant ? 4 : 0)) == 0;
    }
    free(insns[0]);
    free(insns[1]);
    return same;
}

/* Codes, layouts, accounts and constants as nasm makes them today. */
TEST(fresh)
{
    uint8_t *bytes = NULL;
    size_t size = 0;
    struct carm_code_table table;
    size_t *chosen = calloc(f.n, sizeof *chosen);
    struct carm_code_spec *specs = calloc(f.n, sizeof *specs);
    struct carm_code_layout *layouts = calloc(f.n, sizeof *layouts);
    struct carm_account *accounts = calloc(f.n, sizeof *accounts);
    assert_true(chosen && specs && layouts && accounts);
    const size_t n = choose(chosen);
    for (size_t i = 0; i < n; i++) {
        specs[i] = f.specs[chosen[i]];
    }
    const int rc = carm_image_assemble(specs, n, &bytes, &size, layouts, accounts, &err);
    free(specs);
    free(layouts);
    free(accounts);
    if (rc == -CARM_ENOTSUP) {
        free(chosen);
        skip_if(true, "%s", err.text);
    }
    assert_int_equal(rc, 0);
    assert_int_equal(carm_code_table_open(&table, bytes, size, NULL), 0);
    for (size_t i = 0; i < n; i++) {
        if (!same_code(&table, i, &f.builtin, chosen[i])) {
            char name[CARM_CODE_NAME_MAX];
            carm_code_name(&f.specs[chosen[i]], name);
            fail_msg("%s: nasm makes another code of it", name);
        }
    }
    const uint64_t here = carm_builtin_constants(&table);
    const uint64_t there = carm_builtin_constants(&f.builtin);
    assert_int_equal(table.begin - here, f.builtin.begin - there);
    assert_memory_equal(bytes + here, f.builtin.bytes + there, table.begin - here);
    if (n == f.n) { /* every byte, those between the codes, too */
        assert_int_equal(size, f.builtin.size);
        assert_true(memcmp(bytes, f.builtin.bytes, size) == 0);
    }
    print_message("%zu of %zu codes assembled\n", n, f.n);
    free(bytes);
    free(chosen);
}

/* An account, a layout, a name and a constant that are wrong. */
TEST(damage)
{
    struct carm_code_table table;
    struct carm_code_spec spec;
    struct carm_image *image = NULL;
    size_t at = 0;
    const size_t entry = (f.builtin.size - f.builtin.begin) / f.builtin.n;
    uint8_t *copy = malloc(f.builtin.size);
    assert_non_null(copy);
    memcpy(copy, f.builtin.bytes, f.builtin.size);
    assert_int_equal(carm_code_table_open(&table, copy, f.builtin.size, NULL), 0);
    while (strcmp("A.avx2.dp.2:1.u4",
                  (const char *)copy + table.begin + (at + 1) * entry - CARM_CODE_NAME_MAX) != 0) {
        at++;
    }
    assert_int_equal(carm_code_parse("A.avx2.dp.2:1.u4", &spec, NULL), 0);
    uint8_t *e = copy + table.begin + at * entry;
    e[4 * 8] ^= 1; /* loads */
    assert_refused(carm_image_open_from(&image, &table, &spec, 1, &err), -CARM_EFORMAT,
                   "its account says");
    e[4 * 8] ^= 1;
    uint8_t *constants = copy + carm_builtin_constants(&table);
    constants[64 * 35 + 9] ^= 0x10; /* the second lane of what double precision stores */
    assert_refused(carm_image_open_from(&image, &table, &spec, 1, &err), -CARM_EFORMAT,
                   "another constant");
    constants[64 * 35 + 9] ^= 0x10;
    assert_ok(carm_image_open_from(&image, &table, &spec, 1, &err));
    carm_image_close(image);
    free(copy);
}

/* The packed codes themselves: damaged in one byte, cut off, or none at all. */
TEST(packed)
{
    const size_t n = (size_t)((uintptr_t)carm_builtin_end - (uintptr_t)carm_builtin_packed);
    uint8_t *copy = malloc(n);
    uint8_t *out = NULL;
    size_t size = 0;
    assert_non_null(copy);
    assert_true(n < f.builtin.size / 10);
    memcpy(copy, carm_builtin_packed, n);
    assert_ok(carm_unpack(copy, copy + n, "codes", &out, &size, &err));
    assert_int_equal(size, f.builtin.size);
    assert_memory_equal(out, f.builtin.bytes, size);
    assert_int_equal(out[size], 0);
    free(out);
    for (size_t i = 0; i < n; i += n / 10) {
        copy[i] ^= 0x10;
        assert_refused(carm_unpack(copy, copy + n, "codes", &out, &size, &err), -CARM_EFORMAT,
                       "install it again");
        assert_null(out);
        copy[i] ^= 0x10;
    }
    assert_int_equal(carm_unpack(copy, copy + n - 1, "codes", &out, &size, &err), -CARM_EFORMAT);
    assert_int_equal(carm_unpack(copy, copy, "codes", &out, &size, &err), -CARM_EFORMAT);
    free(copy);
}

/* The codes of a default model's validation, as the plan takes them from the built-in image. */
TEST_BETWEEN(validation, hide_nasm, show_nasm)
{
    for (int isa = 0; isa < CARM_VECTOR_ISAS; isa++) {
        const enum carm_op op = isa == CARM_AVX ? CARM_MAD : CARM_FMA;
        const struct carm_plan_target target = {(enum carm_isa)isa, CARM_DP, op};
        struct carm_model model = {.nroofs = 0};
        struct carm_validate_plan plan;
        memcpy(model.config.ldst, "2:1", 4);
        fail_if(carm_validate_plan_open(&plan, &model, &target, 1, isa % 2, &err), "%s: %s",
                carm_isa_name(target.isa), err.text);
        carm_validate_plan_close(&plan);
    }
}

/* The codes of default builds and validations, and their sources. */
TEST(codes_stay)
{
    char *text = NULL;
    size_t length = 0;
    uint64_t names = FINGERPRINT_NONE;
    for (size_t i = 0; i < f.n; i++) {
        char name[CARM_CODE_NAME_MAX];
        carm_code_name(&f.specs[i], name);
        names = fingerprint(names, name, strlen(name) + 1);
    }
    FILE *out = open_memstream(&text, &length);
    assert_non_null(out);
    carm_gen_source(out, f.specs, f.n);
    assert_int_equal(fclose(out), 0);
    const char *codes = strstr(text, "CODE_BEGIN \"");
    assert_non_null(codes);
    const uint64_t sources = fingerprint(FINGERPRINT_NONE, codes, length - (size_t)(codes - text));
    free(text);
    fail_if(names != UINT64_C(0x861a30707f9cfd04) || sources != UINT64_C(0x182b504ec4cdc11c),
            "%zu names 0x%llx, sources 0x%llx", f.n, (unsigned long long)names,
            (unsigned long long)sources);
}

RUN_TESTS(set_up, tear_down)
