/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Comparison of doubles (cmocka's assert_float_equal rounds to float). Include after cmocka.h. */
#ifndef CARM_NEAR_H
#define CARM_NEAR_H

#include <math.h>

#define assert_near(value, wanted, tolerance)                           \
    do {                                                                \
        double near_v = (value);                                        \
        double near_w = (wanted);                                       \
        if (!(fabs(near_v - near_w) <= (tolerance))) {                  \
            fail_msg("%s is %.17g, not %.17g", #value, near_v, near_w); \
        }                                                               \
    } while (0)

#endif
