/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/stencil/sweep.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    N_MAX = 1 << 16,     /* beyond any memory; sizes stay within 64 bits */
    LINE_DOUBLES = 8,    /* doubles of a cache line */
    SETS = 64,           /* sets of the usual L1: lines at this distance share a set */
    PLANE_SETS = 16,     /* sets by which a plane is shifted from the one before */
    LEAD = LINE_DOUBLES, /* before the first point, for its ghost */
    BLOCK_LEAST = 4, /* least lines of a block: shorter blocks read more neighbours than points */
    PAGE_DOUBLES = 512,
};

/* Share of a cache for the planes of a block: the rest is for stores and data that pass through. Chosen by hand. */
static const double fill = 0.75;

static void sweep_share(const struct carm_stencil *s, int t, const double *from, double *to)
{
    struct carm_stencil_range r = carm_stencil_share(s, t);
    if (r.z == r.z_end) {
        return; /* more threads than planes */
    }
    for (uint32_t y = 0; y < s->n; y = r.y_end) {
        r.y = y;
        r.y_end = s->n - y < s->block ? s->n : y + s->block;
        carm_stencil_sweep(s, from, to, &r);
    }
}

static void sweep_job(struct carm_worker *w, void *arg)
{
    struct carm_stencil *s = arg;
    int now = s->now;
    for (uint32_t i = 0; i < s->sweeps; i++) {
        for (int t = w->index; t < s->threads; t += w->team->n) {
            sweep_share(s, t, s->grid[now], s->grid[now ^ 1]);
        }
        now ^= 1;
        if (i + 1 < s->sweeps) {
            pthread_barrier_wait(&s->barrier);
        }
    }
}

/* Products of sines: each sweep multiplies all points by one factor. The sines differ from axis to axis, so that
 * exchanged neighbours show. */
static void set_axes(struct carm_stencil *s)
{
    const long double pi = acosl(-1.0L);
    long double sum = 0.0L;
    for (uint32_t d = 0; d < 3; d++) {
        const uint32_t mode = s->n > d ? d + 1 : s->n;
        const long double angle = mode * pi / (s->n + 1.0L);
        for (uint32_t i = 0; i < s->n; i++) {
            s->axis[d * (size_t)s->n + i] = (double)sinl(angle * (i + 1.0L));
        }
        sum += 2.0L * cosl(angle);
    }
    s->factor = (double)(CARM_STENCIL_ALPHA + CARM_STENCIL_BETA * sum);
}

static void set_plane(const struct carm_stencil *s, uint32_t z)
{
    const double *axis = s->axis;
    const size_t n = s->n;
    for (uint32_t y = 0; y < s->n; y++) {
        const ptrdiff_t line = z * s->plane + y * s->pitch;
        for (uint32_t x = 0; x < s->n; x++) {
            s->grid[0][line + x] = axis[x] * axis[n + y] * axis[2 * n + z];
            s->grid[1][line + x] = NAN; /* a value that is never computed must not pass for a
                                         * result */
        }
    }
}

/* Sets a plane of ghosts to 0; z -1 or n */
static void clear_plane(const struct carm_stencil *s, ptrdiff_t z)
{
    const ptrdiff_t first = z * s->plane - s->pitch - 1;
    const size_t bytes = (size_t)((s->n + 1) * s->pitch + s->n + 2) * sizeof **s->grid;
    memset(s->grid[0] + first, 0, bytes);
    memset(s->grid[1] + first, 0, bytes);
}

static void set_job(struct carm_worker *w, void *arg)
{
    const struct carm_stencil *s = arg;
    for (int t = w->index; t < s->threads; t += w->team->n) {
        const struct carm_stencil_range r = carm_stencil_share(s, t);
        if (r.z == 0 && r.z < r.z_end) {
            clear_plane(s, -1);
        }
        if (r.z_end == s->n && r.z < r.z_end) {
            clear_plane(s, s->n);
        }
        for (uint32_t z = r.z; z < r.z_end; z++) {
            set_plane(s, z);
        }
    }
}

static void set_grid(struct carm_stencil *s, struct carm_team *team)
{
    s->now = 0;
    s->steps = 0;
    carm_team_run(team, set_job, s);
}

static int run(struct carm_dwarf_case *c, struct carm_team *team, struct carm_err *err)
{
    struct carm_stencil *s = (struct carm_stencil *)c;
    /* a small grid decays soon (256^3 after 30 000 sweeps), and denormal numbers are slow */
    if (pow(fabs(s->factor), (double)s->steps) < CARM_STENCIL_DECAY) {
        set_grid(s, team);
    }
    if (pthread_barrier_init(&s->barrier, NULL, (unsigned)team->n) != 0) {
        return carm_fail(err, CARM_EIO, "cannot make a barrier for %d threads", team->n);
    }
    carm_team_run(team, sweep_job, s);
    pthread_barrier_destroy(&s->barrier);
    s->now = (int)((unsigned)s->now ^ (s->sweeps & 1));
    s->steps += s->sweeps;
    return 0;
}

static void close_case(struct carm_dwarf_case *c)
{
    struct carm_stencil *s = (struct carm_stencil *)c;
    if (s) {
        carm_buffer_close(&s->memory);
        free(s->axis);
        free(s);
    }
}

static const struct carm_dwarf_ops ops = {
    .run = run,
    .check = carm_stencil_check,
    .count = carm_stencil_count,
    .trace = carm_stencil_trace,
    .close = close_case,
};

/* Lines of a block so that three planes (and the written plane, unless stores go past the caches) fit into L2, or,
 * if L2 is too small for a few lines, into the last cache. */
static uint32_t block_lines(const struct carm_stencil *s, const struct carm_stencil_params *p)
{
    const double caches[] = {p->l2_bytes > 0.0 ? p->l2_bytes : p->l1_bytes, p->llc_bytes};
    const double line = (s->streamed ? 3.0 : 4.0) * (double)s->pitch * sizeof(double);
    double lines = 0.0;
    for (int i = 0; i < 2 && lines < BLOCK_LEAST; i++) {
        /* minus a neighbouring line at both ends */
        lines = fmax(lines, floor(fill * caches[i] / line) - 2.0);
    }
    if (!(caches[0] > 0.0 || caches[1] > 0.0) || lines >= s->n) {
        return s->n;
    }
    const uint32_t most = (uint32_t)fmax(lines, BLOCK_LEAST);
    const uint32_t blocks = (s->n + most - 1) / most;
    return (s->n + blocks - 1) / blocks;
}

/* Sets the pitches. returns the doubles from one grid to the other */
static ptrdiff_t lay_out(struct carm_stencil *s)
{
    const ptrdiff_t with_ghosts = (ptrdiff_t)s->n + 2;
    ptrdiff_t lines = (with_ghosts + LINE_DOUBLES - 1) / LINE_DOUBLES;
    if (!s->optimised) {
        s->pitch = with_ghosts;
        s->plane = with_ghosts * with_ghosts;
        return with_ghosts * s->plane + LEAD;
    }
    /* an odd number of cache lines: rows begin in all sets of a cache, one after another */
    lines |= 1;
    s->pitch = lines * LINE_DOUBLES;
    lines *= with_ghosts;
    lines += (PLANE_SETS - lines % SETS + SETS) % SETS;
    s->plane = lines * LINE_DOUBLES;
    /* half a page: written lines do not alias the lines that are read */
    const ptrdiff_t pages = (with_ghosts * s->plane + LEAD + PAGE_DOUBLES - 1) / PAGE_DOUBLES;
    return pages * PAGE_DOUBLES + PAGE_DOUBLES / 2;
}

static void describe(struct carm_stencil *s)
{
    const double points = (double)s->n * s->n * s->n * s->sweeps;
    struct carm_dwarf_case *c = &s->base;
    c->ops = &ops;
    c->version = s->optimised ? "optimised" : "plain";
    c->work.operations = CARM_STENCIL_FLOPS * points;
    c->work.metric = "flop";
    c->work.compulsory_bytes = (s->streamed ? 2.0 : 3.0) * sizeof(double) * points;
    int n = snprintf(c->size, sizeof c->size, "%u^3", s->n);
    if (s->sweeps > 1 && n > 0) {
        n += snprintf(c->size + n, sizeof c->size - (size_t)n, ", %u sweeps", s->sweeps);
    }
    if (s->optimised && n > 0) {
        snprintf(c->size + n, sizeof c->size - (size_t)n, ", blocks of %u lines%s", s->block,
                 s->streamed ? ", nt" : "");
    }
    snprintf(c->isa, sizeof c->isa, "%s", carm_isa_name(s->kernel->isa));
}

static int set_up(struct carm_stencil *s, const struct carm_stencil_params *p, struct carm_err *err)
{
    const ptrdiff_t distance = lay_out(s);
    const double bytes = 2.0 * (double)distance * sizeof(double);
    char what[48];
    snprintf(what, sizeof what, "a stencil of %u^3 points", s->n);
    int rc = carm_dwarf_fits(what, bytes, err);
    if (rc) {
        return rc;
    }
    const double llc = p->llc_bytes * s->threads;
    s->streamed = s->optimised && !p->write_allocate && !(bytes < llc);
    s->block = s->optimised ? block_lines(s, p) : s->n;
    s->axis = calloc(3 * (size_t)s->n, sizeof *s->axis);
    if (!s->axis) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for an edge of %u points", s->n);
    }
    rc = carm_buffer_open(&s->memory, (size_t)bytes, err);
    if (rc) {
        return rc;
    }
    s->base.bytes = (uint64_t)bytes;
    s->grid[0] = (double *)s->memory.start + LEAD + s->plane + s->pitch;
    s->grid[1] = s->grid[0] + distance;
    set_axes(s);
    set_grid(s, p->team);
    describe(s);
    return 0;
}

int carm_stencil_open(struct carm_dwarf_case **out, const struct carm_stencil_params *p,
                      struct carm_err *err)
{
    if (p->n > N_MAX) {
        return carm_fail(err, CARM_EINVAL, "a stencil of %u^3 points: an edge has %d at most", p->n,
                         (int)N_MAX);
    }
    struct carm_stencil *s = calloc(1, sizeof *s);
    if (!s) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory for a case");
    }
    s->optimised = p->optimised;
    s->kernel = p->optimised ? carm_stencil_kernel_find(p->cpu) : &carm_stencil_scalar;
    s->threads = p->team->n;
    s->n = p->n ? p->n : CARM_STENCIL_N;
    s->sweeps = p->sweeps ? p->sweeps : 1;
    const int rc = set_up(s, p, err);
    if (rc) {
        close_case(&s->base);
        return rc;
    }
    *out = &s->base;
    return 0;
}
