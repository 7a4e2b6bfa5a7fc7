/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "kernels/context.h"

#include "harness/buffer.h"

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
