/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Robust centre and spread of a quantity over the nodes of a group, the significance of a
 * deviation, and the control of false alarms over many deviations. */
#pragma once

#include <stddef.h>

enum { CARM_FLEET_FEW = 5 }; /* with fewer nodes their spread cannot be estimated */

struct carm_fleet_centre {
    size_t n;
    double median;
    double sigma; /* 1.4826 times the median absolute deviation around the median */
    double p5, p95;
    double min, max;
};

/* v  [n] n > 0; is sorted
 * scratch  [n] */
void carm_fleet_centre(double *v, size_t n, double *scratch, struct carm_fleet_centre *out);

/* Two-sided p value of a deviation of z sigmas from the median of n nodes, both estimated from those n
 * nodes, for normal deviations. n < CARM_FLEET_FEW: sigma is taken as known.
 * The tail is Student's t with 0.41 n degrees of freedom. Its 0.1% point then agrees with the 0.1% point of
 * |x - median| / sigma in simulation: within 5% for n = 5 to 200, on the safe side. For large n, the efficiency of the
 * median absolute deviation, 37%, gives the same degrees of freedom (Rousseeuw and Croux 1993, "Alternatives to the
 * median absolute deviation", table 1). */
double carm_fleet_p(double z, size_t n);

/* Adjusted p values of Benjamini and Hochberg: tests with a value of at most q may be rejected
 * at a false discovery rate of q. NaN = no test: it stays NaN and does not count.
 * p      [n]
 * order  [n] scratch
 * q      [n] out; may not be p
 * returns the number of tests
 * source: Benjamini and Hochberg 1995, "Controlling the false discovery rate" */
size_t carm_fleet_bh(const double *p, size_t n, size_t *order, double *q);
