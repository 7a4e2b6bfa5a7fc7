/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/context.h"

#include "harness/machine/buffer.h"

int carm_dwarf_fits(const char *what, double bytes, struct carm_err *err)
{
    const double available = (double)carm_memory_available();
    if (available > 0.0 && bytes > 0.8 * available) {
        return carm_fail(err, CARM_ENOMEM,
                         "%s takes %.1f GiB, and %.1f GiB are available: choose a smaller size",
                         what, bytes / 0x1p30, available / 0x1p30);
    }
    return 0;
}

double carm_dwarf_stepped_flops(const struct carm_step_counts *counts)
{
    double flops = 0.0;
    for (int w = 0; w < CARM_WIDTH_COUNT; w++) {
        flops += (double)counts->flops[CARM_DP][w];
    }
    return flops;
}

void carm_dwarf_scale(struct carm_dwarf_work *work, const struct carm_step_counts *counts,
                      double factor)
{
    work->core_by = CARM_COUNTED_STEPPED;
    work->core_flops = carm_dwarf_stepped_flops(counts) * factor;
    work->core_bytes = (double)(counts->load_bytes + counts->store_bytes) * factor;
}
