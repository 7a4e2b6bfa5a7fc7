/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/machine/paired.h"

void carm_paired_note(struct carm_paired *seen, int n, bool own)
{
    if (n > seen->n) {
        *seen = (struct carm_paired){.n = n};
    }
    seen->own += n == seen->n && own;
    seen->shared += n == seen->n && !own;
}

bool carm_paired_is(const struct carm_paired *seen, int n)
{
    enum { FEW = 4, ROUNDS = 12, EACH = 20 };
    return n >= FEW && n == seen->n && seen->shared >= ROUNDS && EACH * seen->own <= seen->shared;
}
