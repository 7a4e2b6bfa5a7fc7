/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Walks of a simulated TLB: sweeps over fewer and more pages than it holds. */
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

RUN_TESTS(NULL, NULL)
