/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Kinds of cores: their models in the machine's file, and mixed roofs, with a made-up hybrid CPU. */
#include <unistd.h>

#include "models/file/kinds.h"
#include "models/place/kinds.h"
#include "models/place/placed.h"
#include "models/roofline.h"
#include "tests/models/place/two_kinds.h"

static double l1(const struct carm_model *m)
{
    return carm_roofs_find_memory(&m->roofs[0], "L1", m->config.ldst)->bandwidth;
}

TEST(shares)
{
    static const char *const wrong[] = {
        "",     "p",       "p:",          "p:2", "p:0.5,e:0.5",
        "p:0 ", "p:nan",   "p:0.5 e:x",   "P:1", "p:0.1 p:0.1 p:0.1 p:0.1",
        "p:-1", "p:0.5 e", "p:1.01 e:0.5"};
    struct carm_kind_shares s;
    char text[64];
    assert_true(carm_kinds_parse("p:0.62 e:0.38", &s));
    assert_int_equal(s.n, 2);
    assert_string_equal(s.word[1], "e");
    assert_near(s.share[0], 0.62, 1e-12);
    assert_string_equal(carm_kinds_text(text, sizeof text, &s), "p:0.62 e:0.38");
    assert_true(carm_kinds_parse("p:0.3 e:0.1", &s)); /* divided by the sum */
    assert_near(s.share[0], 0.75, 1e-12);
    assert_true(carm_kinds_parse("p:1 e:0", &s)); /* each share from 0 to 1 */
    assert_near(s.share[0], 1.0, 0.0);
    assert_true(carm_kinds_parse(" lp:1", &s));
    assert_int_equal(s.n, 1);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(carm_kinds_parse(wrong[i], &s));
        assert_int_equal(s.n, 0);
    }
}

TEST(roofs_are_mixed_by_share)
{
    struct carm_model *m = make_kind("", 1.0), *p = make_kind("kind:p", 1.0),
                      *e = make_kind("kind:e", 0.5);
    struct carm_model *mixed = NULL;
    struct carm_kind_shares s;
    char note[CARM_TEXT_MAX];
    assert_true(carm_kinds_parse("p:0.75 e:0.25", &s));
    assert_ok(carm_kinds_mix(m, &s, &mixed, note, &err));
    assert_null(mixed);
    assert_string_equal(
        note,
        "75% of the time was on p cores, of which the model has no roofs: carm build --on kind:p "
        "measures them");
    assert_ok(carm_kinds_put(m, p, &err));
    assert_ok(carm_kinds_put(m, e, &err));
    assert_null(p->roofs); /* moved */
    assert_ok(carm_kinds_mix(m, &s, &mixed, note, &err));
    assert_string_equal(note, "roofs mixed of 75% of p cores and 25% of e cores");
    assert_non_null(mixed);
    assert_int_equal(mixed->nroofs, m->nroofs);
    assert_near(l1(mixed), (0.75 + 0.25 * 0.5) * l1(m), 1.0);
    assert_near(carm_roofs_find_peak(&mixed->roofs[0])->rate,
                (0.75 + 0.25 * 0.25) * carm_roofs_find_peak(&m->roofs[0])->rate, 1.0);
    carm_kinds_close(mixed);
    /* a set and a roof that e cores lack */
    struct carm_model *small = &m->kinds[1];
    (void)snprintf(small->roofs[1].isa, sizeof small->roofs[1].isa, "avx2");
    (void)snprintf(small->roofs[0].compute[0].op, sizeof small->roofs[0].compute[0].op, "other");
    (void)snprintf(small->roofs[0].memory[0].ldst, sizeof small->roofs[0].memory[0].ldst, "9:1");
    assert_ok(carm_kinds_mix(m, &s, &mixed, note, &err));
    assert_int_equal(mixed->nroofs, 1);
    assert_int_equal(mixed->roofs[0].nmemory, m->roofs[0].nmemory - 1);
    assert_int_equal(mixed->roofs[0].ncompute, m->roofs[0].ncompute - 1);
    carm_kinds_close(mixed);
    (void)snprintf(small->roofs[0].isa, sizeof small->roofs[0].isa, "avx2");
    assert_ok(carm_kinds_mix(m, &s, &mixed, note, &err));
    assert_null(mixed);
    assert_string_equal(
        note, "the kinds of cores that the program ran on have no set of roofs in common");
}

/* Each figure of a mixed roof: three quarters of one kind's, a quarter of the other's. */
TEST(each_figure_is_mixed)
{
    struct carm_round round = {0};
    struct carm_memory_roof memory[2] = {{.level = "L1",
                                          .ldst = "2:1",
                                          .bandwidth = 40,
                                          .ci95 = {36, 48},
                                          .bytes_per_cycle = 8,
                                          .clock_hz = 4,
                                          .rounds = &round,
                                          .nrounds = 1},
                                         {.level = "L1",
                                          .ldst = "2:1",
                                          .bandwidth = 20,
                                          .ci95 = {16, 24},
                                          .bytes_per_cycle = 12,
                                          .clock_hz = 2,
                                          .disturbed = true}};
    struct carm_compute_roof compute[2] = {{.op = "fma",
                                            .rate = 80,
                                            .ci95 = {76, 84},
                                            .flops_per_cycle = 16,
                                            .clock_hz = 4,
                                            .rounds = &round,
                                            .nrounds = 1},
                                           {.op = "fma",
                                            .rate = 60,
                                            .ci95 = {56, 64},
                                            .flops_per_cycle = 4,
                                            .clock_hz = 2,
                                            .disturbed = true}};
    struct carm_roofs roofs[2];
    struct carm_model kinds[2] = {{.machine.on = "kind:p"}, {.machine.on = "kind:e"}};
    for (int k = 0; k < 2; k++) {
        roofs[k] = (struct carm_roofs){.isa = "avx2",
                                       .precision = "dp",
                                       .threads = 1,
                                       .place = "l3:0",
                                       .cpus = "0-7",
                                       .memory = &memory[k],
                                       .nmemory = 1,
                                       .compute = &compute[k],
                                       .ncompute = 1,
                                       .dram_peak.bandwidth = k ? 4 : 8,
                                       .clock_hz = k ? 2 : 4};
        kinds[k].roofs = &roofs[k];
        kinds[k].nroofs = 1;
    }
    const struct carm_model model = {.kinds = kinds, .nkinds = 2};
    struct carm_kind_shares s = {.n = 0};
    struct carm_model *mixed = (struct carm_model *)&model;
    char note[CARM_TEXT_MAX] = "x";
    assert_ok(carm_kinds_mix(&model, &s, &mixed, note, &err)); /* no shares */
    assert_true(!mixed && !*note);
    for (int k = 0; k < 3; k++) { /* also of one kind alone */
        static const char *const words[] = {"p:0.75 e:0.25", "p:1", "e:1"};
        const double p = k == 0 ? 0.75 : k == 1, e = 1.0 - p;
        assert_true(carm_kinds_parse(words[k], &s));
        assert_ok(carm_kinds_mix(&model, &s, &mixed, note, &err));
        assert_non_null(mixed);
        assert_string_equal(mixed->changed, note);
        const struct carm_roofs *r = &mixed->roofs[0];
        const struct carm_memory_roof *m = &r->memory[0];
        const struct carm_compute_roof *c = &r->compute[0];
        assert_true(mixed->nroofs == 1 && r->nmemory == 1 && r->ncompute == 1 && r->threads == 1);
        assert_true(!*r->place && !*r->cpus && r->nceilings == 0 && !r->ceilings);
        assert_near(r->dram_peak.bandwidth, 8 * p + 4 * e, 1e-12);
        assert_near(r->clock_hz, 4 * p + 2 * e, 1e-12);
        assert_near(m->bandwidth, 40 * p + 20 * e, 1e-12);
        assert_near(m->ci95.lo, 36 * p + 16 * e, 1e-12);
        assert_near(m->ci95.hi, 48 * p + 24 * e, 1e-12);
        assert_near(m->bytes_per_cycle, 8 * p + 12 * e, 1e-12);
        assert_near(m->clock_hz, 4 * p + 2 * e, 1e-12);
        assert_near(c->rate, 80 * p + 60 * e, 1e-12);
        assert_near(c->ci95.lo, 76 * p + 56 * e, 1e-12);
        assert_near(c->ci95.hi, 84 * p + 64 * e, 1e-12);
        assert_near(c->flops_per_cycle, 16 * p + 4 * e, 1e-12);
        assert_near(c->clock_hz, 4 * p + 2 * e, 1e-12);
        assert_true(m->disturbed == (k != 1) && c->disturbed == (k != 1));
        assert_true(!m->rounds && m->nrounds == 0 && !c->rounds && c->nrounds == 0);
        carm_kinds_close(mixed);
    }
    assert_null(carm_kinds_find(&model, ":e"));
    (void)strcpy(kinds[1].machine.on, "kind;e");
    assert_null(carm_kinds_find(&model, "e"));
}

/* A point of points.csv with its cores goes under mixed roofs, one without them under the machine's. */
TEST(points_are_placed_under_mixed_roofs)
{
    struct carm_model *m = make_kind("", 1.0), *p = make_kind("kind:p", 1.0),
                      *e = make_kind("kind:e", 0.5);
    struct carm_place_choices *choices = NULL;
    struct carm_place_choice choice;
    struct carm_placed d[3];
    static const char *const cores[] = {NULL, "p:0.50 e:0.50", "p:0.90 lp:0.10"};
    struct carm_point point = {.name = "a",
                               .flops = 1e6,
                               .bytes = 1e8,
                               .dram_bytes = -1,
                               .seconds = 1,
                               .threads = 1,
                               .isa = "avx512",
                               .precision = "dp",
                               .metric = ""};
    const struct carm_place_words words = {.isa = NULL};
    assert_ok(carm_kinds_put(m, p, &err));
    assert_ok(carm_kinds_put(m, e, &err));
    assert_ok(carm_place_choices_open(&choices, m, &words, &err));
    for (int i = 0; i < 3; i++) {
        point.cores = cores[i];
        carm_place_choose(choices, &point, &choice);
        carm_placed_places(&d[i], &point, &choice, NULL, "", false);
        assert_true(d[i].has[0]);
        assert_true((strstr(choice.note, "roofs mixed of 50% of p cores and 50% of e cores") !=
                     NULL) == (i == 1));
        assert_true((strstr(choice.note, "10% of the time was on lp cores") != NULL) == (i == 2));
    }
    assert_near(d[1].place[0].roof, 0.75 * d[0].place[0].roof, 1e-6 * d[0].place[0].roof);
    assert_near(d[2].place[0].roof, d[0].place[0].roof, 1e-6 * d[0].place[0].roof);
    carm_place_choices_close(choices);
}

static char folder[] = "/tmp/carm-kinds-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
    (void)state;
    (void)snprintf(folder, sizeof folder, "/tmp/carm-kinds-XXXXXX");
    (void)snprintf(path, sizeof path, "%s/m.json", mkdtemp(folder) ? folder : "");
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    (void)unlink(path);
    return rmdir(folder);
}

/* A file of the machine or of the first kind takes the other kind; a build finds its own kind there again. */
TEST_BETWEEN(one_file_has_both_kinds, make_folder, remove_folder)
{
    struct carm_model *p = make_kind("kind:p", 1.0), *e = make_kind("kind:e", 0.5), *back = NULL;
    const double of_e = l1(e);
    assert_ok(carm_kinds_write(e, path, &err)); /* no file yet */
    assert_ok(carm_model_write(p, path, &err));
    assert_ok(carm_kinds_write(p, path, &err)); /* of this very kind */
    assert_int_equal(carm_kinds_write(e, path, &err), 1);
    assert_near(l1(e), of_e, 1.0); /* unchanged */
    back = read_model(path);
    assert_int_equal(back->nkinds, 1);
    assert_ptr_equal(carm_kinds_find(back, "p"), back);
    assert_near(l1(carm_kinds_find(back, "e")), of_e, 1.0);
    assert_null(carm_kinds_find(back, "lp"));
    back = closed_later(by_carm_model_free, carm_kinds_read(path, "kind:e"));
    assert_string_equal(back->machine.on, "kind:e");
    assert_near(l1(back), of_e, 1.0);
    /* a build of the whole machine keeps both */
    struct carm_model *whole = make_kind("", 2.0);
    assert_ok(carm_kinds_keep(whole, path, &err));
    assert_int_equal(whole->nkinds, 2);
    assert_near(l1(carm_kinds_find(whole, "e")), of_e, 1.0);
    assert_ok(carm_model_write(whole, path, &err));
    /* another machine's file is left alone */
    (void)snprintf(e->machine.hostname, sizeof e->machine.hostname, "elsewhere");
    assert_ok(carm_kinds_write(e, path, &err));
}

TEST(refused)
{
    struct carm_model *m = make_kind("", 1.0), *other = make_kind("", 1.0), *back = NULL;
    assert_refused(carm_kinds_put(m, other, &err), -CARM_EINVAL, "not of one kind of core");
    m->kinds = other;
    m->nkinds = 1;
    const char *text = model_as_text(m);
    assert_refused(carm_model_parse(text, strlen(text), "m", &back, &err), -CARM_EFORMAT,
                   "kinds [0] is not of one kind of core");
    m->kinds = NULL;
    m->nkinds = 0;
}
