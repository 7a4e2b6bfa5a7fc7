/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A small file with all that carm reads of one: symbols, exception frames, inlined functions and lines. */
static double part(double x)
{
    return x * 1.5 + 2.0;
}

double sum(const double *x, int n);
double sum(const double *x, int n)
{
    double all = 0.0;
    for (int i = 0; i < n; i++) {
        all += part(x[i]);
    }
    return all;
}

/* a name of C++, and one of Fortran */
int _ZN6solver4stepIdEEiT_(double x);
int _ZN6solver4stepIdEEiT_(double x)
{
    return (int)part(x);
}

int __solver_MOD_step(int n);
int __solver_MOD_step(int n)
{
    return n > 1 ? 2 * n : -n;
}
