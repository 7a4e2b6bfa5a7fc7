/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Walks of a simulated TLB: sweeps over fewer and more pages than it holds. */
#include "models/caches/sampled.h"
#include "models/caches/tlb.h"
#include "tests/unit.h"

enum { PAGES = 256 };

static unsigned sweep(struct carm_tlb *tlb, uint64_t pages, uint64_t apart)
{
    unsigned walks = 0;
    for (uint64_t i = 0; i < pages; i++) {
        walks += carm_tlb_walks(tlb, i * apart);
    }
    return walks;
}

TEST(sweeps)
{
    struct carm_tlb tlb;
    assert_true(carm_tlb_open(&tlb, PAGES));
    assert_int_equal(sweep(&tlb, PAGES, 4), PAGES); /* the first time */
    assert_int_equal(sweep(&tlb, PAGES, 4), 0);
    /* one page more, and each is gone before its turn comes */
    assert_int_equal(sweep(&tlb, PAGES + 1, 4), 1);
    assert_int_equal(sweep(&tlb, PAGES + 1, 4), PAGES + 1);
    carm_tlb_close(&tlb);
}

/* Pages that the first level holds do not reach the second, whose order of use they leave alone. */
TEST(first_level)
{
    struct carm_tlb tlb;
    assert_true(carm_tlb_open(&tlb, 2));
    assert_true(carm_tlb_walks(&tlb, 1));
    assert_true(carm_tlb_walks(&tlb, 2));
    assert_false(carm_tlb_walks(&tlb, 1));                 /* of the first level */
    assert_true(carm_tlb_walks(&tlb, 3));                  /* takes the place of 1 in the second */
    assert_false(carm_tlb_walks(&tlb, 1));                 /* and the first has it still */
    assert_true(carm_tlb_walks(&tlb, 1 + CARM_TLB_FIRST)); /* now it has not */
    assert_true(carm_tlb_walks(&tlb, 1));
    carm_tlb_close(&tlb);
}

/* Accesses of one kind: to random pages out of `pages`, of which half go to the first `hot` ones; 0 = one page after
 * another, all of its lines in order. */
static uint64_t next_address(uint64_t *state, uint64_t pages, uint64_t hot)
{
    *state += hot ? UINT64_C(0x9e3779b97f4a7c15) : 64;
    uint64_t x = *state;
    if (!hot) {
        return x % (pages << 12);
    }
    x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
    return (x >> 8) % (x & 1 ? hot : pages) << 12;
}

/* The walks of a TLB that gets the sample's pages are its share of all walks. */
TEST(sample)
{
    enum { ACCESSES = 1000000, ENTRIES = 3072 };
    static const struct {
        uint64_t pages, hot;
    } all[] = {{16384, 16384}, {16384, 64}, {4096, 4096}, {2048, 2048}, {16384, 0}};
    static const struct carm_hierarchy_config config = {
        .nlevels = 2, .cores = 1, .levels = {{32 << 10, 8, 1}, {1 << 20, 8, 1}}};
    static struct carm_sampled_plan plan;
    struct carm_sampled *s;
    unsigned recorded = 0;
    assert_ok(carm_sampled_open(&s, &config, NULL, 0.01, 0, &plan, &err));
    for (unsigned i = 0; i < CARM_SAMPLED_PAGES; i++) {
        recorded += plan.pages[i];
    }
    assert_int_equal(recorded, plan.npages);
    assert_in_range(plan.npages, 10, 20);
    const double share = (double)plan.npages / CARM_SAMPLED_PAGES;
    for (size_t k = 0; k < sizeof all / sizeof *all; k++) {
        struct carm_tlb whole, part;
        double walks = 0.0, sampled = 0.0;
        uint64_t x = 1;
        assert_true(carm_tlb_open(&whole, ENTRIES));
        assert_true(carm_tlb_open(&part, (uint64_t)(ENTRIES * share)));
        for (unsigned i = 0; i < ACCESSES; i++) {
            const uint64_t at = next_address(&x, all[k].pages, all[k].hot);
            walks += carm_tlb_walks(&whole, at >> 12);
            sampled += carm_sampled_has_page(&plan, at) && carm_tlb_walks(&part, at >> 12);
        }
        assert_near(sampled / share / ACCESSES, walks / ACCESSES, 0.03);
        carm_tlb_close(&whole);
        carm_tlb_close(&part);
    }
    carm_sampled_close(s);
}
