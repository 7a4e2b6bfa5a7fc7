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
#pragma once

#include "harness/machine/buffer.h"
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

/* ---- inside ----------------------------------------------------------------------------------- */

enum {
    CARM_LBMHD_LINE = 8,   /* doubles of a cache line: rows begin on one */
    CARM_LBMHD_BLOCK = 64, /* points of a row that the optimised version works on at a time: one
                            * stream after another is read (or written) over 8 lines */
    CARM_LBMHD_ROWS = CARM_LBMHD_ARRAYS + CARM_LBMHD_FIELDS, /* of its scratch */
};

/* In memory, not compile-time constants: the plain version multiplies by every component. Velocity 0
 * rests; 2p + 1 and 2p + 2 are opposite, p = 0 .. 2 along the axes, 3 .. 6 along the diagonals of the
 * cube, 7 .. 12 along those of its faces. */
struct carm_lbmhd_velocities {
    int step[CARM_LBMHD_Q][3];
    double e[CARM_LBMHD_Q][3]; /* step as floating point */
    double e2[CARM_LBMHD_Q];   /* squared length */
    double w[CARM_LBMHD_Q];    /* weights of D3Q27 */
    double wm[CARM_LBMHD_QM];  /* of D3Q15 */
};

struct carm_lbmhd {
    struct carm_dwarf_case base;
    size_t n[3];
    size_t pitch;  /* doubles from row to row, a multiple of CARM_LBMHD_LINE */
    size_t stride; /* doubles from array to array */
    int steps;
    int threads;
    struct carm_buffer lattice[2]; /* the last step has read one and written the other */
    struct carm_buffer fields;
    struct carm_buffer scratch; /* [threads][CARM_LBMHD_ROWS][CARM_LBMHD_BLOCK] */
    int current;                /* lattice that holds the state */
    bool previous;              /* the other one still holds the state before the last step */
    double omega, omega_m;      /* 1/tau */
    struct carm_lbmhd_velocities v;
    double sums[CARM_LBMHD_FIELDS]; /* of fields over all points, at the beginning */
    double steps_done;
    const struct carm_lbmhd_vector *vector; /* NULL: plain */
};

/* Points first .. last - 1 of a row, from one lattice into the other. */
struct carm_lbmhd_row {
    const struct carm_lbmhd *c;
    const double *from; /* velocity 0 of point (0, 0, 0) */
    double *to;
    double *fields;
    double *scratch; /* one thread's */
    size_t y, z, first, last;
};

/* A vector version. */
struct carm_lbmhd_vector {
    const char *isa;
    unsigned lanes;
    void (*row)(const struct carm_lbmhd_row *r);
};

/* The version with the widest ISA of this CPU. */
const struct carm_lbmhd_vector *carm_lbmhd_vector_of(const struct carm_cpu *cpu);

void carm_lbmhd_plain_row(const struct carm_lbmhd_row *r);

/* Equations of one point. in: the values that have streamed to it; out: the values after
 * collision. */
void carm_lbmhd_collide(const struct carm_lbmhd *c, const double in[CARM_LBMHD_ARRAYS],
                        double out[CARM_LBMHD_ARRAYS], double fields[CARM_LBMHD_FIELDS]);
/* The values that stream to a point. */
void carm_lbmhd_pull(const struct carm_lbmhd *c, const double *from, const size_t at[3],
                     double in[CARM_LBMHD_ARRAYS]);
/* Equilibrium of a state. */
void carm_lbmhd_equilibrium(const struct carm_lbmhd *c, const struct carm_lbmhd_state *s,
                            double out[CARM_LBMHD_ARRAYS]);

/* The velocity of an array. */
static inline int carm_lbmhd_velocity(int array)
{
    return array < CARM_LBMHD_Q ? array : (array - CARM_LBMHD_Q) / 3;
}

static inline size_t carm_lbmhd_row_at(const struct carm_lbmhd *c, size_t y, size_t z)
{
    return (z * c->n[1] + y) * c->pitch;
}

/* A neighbour's coordinate: at - step, around the box. */
static inline size_t carm_lbmhd_upwind(size_t at, int step, size_t n)
{
    if (step > 0) {
        return at ? at - 1 : n - 1;
    }
    return step < 0 && at + 1 == n ? 0 : at + (step < 0 ? 1 : 0);
}

/* One line before the first array: a vector that begins one point before a row stays inside. */
static inline double *carm_lbmhd_arrays(const struct carm_buffer *buffer)
{
    return (double *)buffer->start + CARM_LBMHD_LINE;
}

static inline double *carm_lbmhd_scratch(const struct carm_lbmhd *c, int thread)
{
    return (double *)c->scratch.start +
           (size_t)thread * ((size_t)CARM_LBMHD_ROWS * CARM_LBMHD_BLOCK);
}

/* Whole rows for one thread, from the lattice `from` into the other one; y and z are to be set. */
static inline struct carm_lbmhd_row carm_lbmhd_row(const struct carm_lbmhd *c, int from, int thread)
{
    return (struct carm_lbmhd_row){.c = c,
                                   .from = carm_lbmhd_arrays(&c->lattice[from]),
                                   .to = carm_lbmhd_arrays(&c->lattice[1 - from]),
                                   .fields = carm_lbmhd_arrays(&c->fields),
                                   .scratch = carm_lbmhd_scratch(c, thread),
                                   .last = c->n[0]};
}

void carm_lbmhd_trace(const struct carm_dwarf_case *base, carm_dwarf_access *access, void *context);
int carm_lbmhd_count(struct carm_dwarf_case *base, struct carm_dwarf_work *work,
                     struct carm_err *err);
int carm_lbmhd_check(struct carm_dwarf_case *base, struct carm_team *team, double *error,
                     char by[96], struct carm_err *err);

/* Sums of density, momentum and magnetic field over all points, by the team. */
void carm_lbmhd_sums(const struct carm_lbmhd *c, struct carm_team *team,
                     double sums[CARM_LBMHD_FIELDS]);
