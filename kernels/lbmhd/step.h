/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Lattice-Boltzmann magnetohydrodynamics in a periodic box: 27 velocities for the fluid (D3Q27), 15 of
 * them for the magnetic field (D3Q15, vector-valued), relaxation towards equilibrium (BGK), collision
 * and streaming in one sweep from one lattice into another. Structure of arrays.
 *
 * sources: the physics is that of Dellar, Lattice Kinetic Schemes for Magnetohydrodynamics, J. Comput.
 * Phys. 179 (2002); the layout is that of Williams, Carter, Oliker, Shalf, Yelick, Lattice Boltzmann
 * Simulation Optimization on Leading Multicore Platforms, IPDPS 2008, which the Roofline paper cites
 * as [25].
 *
 * Units of the lattice: spacing and time step are 1, the speed of sound is 1/sqrt(3), the magnetic
 * field is scaled so that the Alfven speed is B/sqrt(rho). Viscosity and resistivity are
 * (tau - 1/2)/3 of their relaxation time each. */
#ifndef CARM_KERNELS_LBMHD_STEP_H
#define CARM_KERNELS_LBMHD_STEP_H

#include "kernels/context.h"

enum {
    CARM_LBMHD_Q = 27,       /* velocities of the fluid */
    CARM_LBMHD_QM = 15,      /* of the magnetic field: the first of them */
    CARM_LBMHD_ARRAYS = 72,  /* 27 + 3 x 15 */
    CARM_LBMHD_FIELDS = 7,   /* density, momentum, magnetic field: written every step */
    CARM_LBMHD_FLOPS = 1307, /* of a point by the published equations, see lbmhd_plain.c */
    CARM_LBMHD_N_MAX = 4096,
};

enum carm_lbmhd_version { CARM_LBMHD_PLAIN, CARM_LBMHD_OPTIMISED };

/* The flow at one point. */
struct carm_lbmhd_state {
    double rho;
    double u[3]; /* velocity, well below the speed of sound */
    double b[3]; /* magnetic field */
};

typedef void carm_lbmhd_initial(void *context, const size_t at[3], struct carm_lbmhd_state *state);

struct carm_lbmhd_params {
    size_t n[3]; /* points along x, y, z; any number >= 1 */
    int steps;   /* time steps of one run, >= 1 */
    enum carm_lbmhd_version version;
    const struct carm_cpu *cpu; /* optimised: the widest ISA that it has */
    struct carm_team *team;     /* touches the memory first; runs may use it or a smaller one */
    double tau, tau_m; /* relaxation times of fluid and field, > 1/2; 0 = 0.8, which is viscosity
                        * and resistivity 0.1 */
    carm_lbmhd_initial *initial; /* NULL: the Orszag-Tang vortex, varied along z */
    void *context;
};

/* returns 0, -CARM_EINVAL (sizes, steps, tau), -CARM_ENOMEM (refused before it is taken) */
int carm_lbmhd_open(struct carm_dwarf_case **out, const struct carm_lbmhd_params *p,
                    struct carm_err *err);

/* The flow at one point as the distributions have it now. */
void carm_lbmhd_at(const struct carm_dwarf_case *base, const size_t at[3],
                   struct carm_lbmhd_state *state);

/* Compulsory bytes of one point and step: 72 doubles read, 79 written and, unless the stores go past
 * the caches, read before. Williams et al. read 73 (the density, too; here it is the sum of what is
 * read anyway) and execute about 1300 flops: 1300 / (8 x (73 + 79)) = 1.07 and
 * 1300 / (8 x (73 + 2 x 79)) = 0.70 flop/byte, the Roofline paper's table 2. Ours are 1.08 and 0.71. */
double carm_lbmhd_point_bytes(bool nontemporal);

#endif
