/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Huge pages that the kernel gives are counted, and take longer to give than a page of 4 KiB. */
#include "harness/profile/faults.h"
#include "tests/unit.h"

TEST(huge_pages)
{
    const double before = carm_huge_faults();
    const double seconds = carm_huge_fault_seconds();
    if (seconds == 0.0) {
        print_message("no huge pages here\n");
        skip();
    }
    assert_true(carm_huge_faults() >= before + 16.0);
    assert_true(seconds > 1e-6 && seconds < 0.1); /* clears 2 MiB: 2 TB/s and 20 MB/s */
}

RUN_TESTS(NULL, NULL)
