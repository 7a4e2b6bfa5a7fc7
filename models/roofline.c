/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/roofline.h"

#include <math.h>
#include <string.h>

double carm_roofline_eval(double ai, double bandwidth, double peak)
{
    return fmin(ai * bandwidth, peak);
}

const struct carm_compute_roof *carm_roofs_find_compute(const struct carm_roofs *roofs,
                                                        const char *op)
{
    for (size_t i = 0; i < roofs->ncompute; i++) {
        if (strcmp(roofs->compute[i].op, op) == 0) {
            return &roofs->compute[i];
        }
    }
    return NULL;
}

double carm_original_bandwidth(const struct carm_roofs *roofs, const char *level, bool dram,
                               const char **code)
{
    static const char *const certain[] = {"1:0", "update", "2:1update"};
    double best = dram ? roofs->dram_peak.bandwidth : 0.0;
    const char *from = dram ? roofs->dram_peak.code : "";
    for (size_t i = 0; i < sizeof certain / sizeof *certain && !dram; i++) {
        const struct carm_memory_roof *m = carm_roofs_find_memory(roofs, level, certain[i]);
        if (m && m->bandwidth > best) {
            best = m->bandwidth;
            from = m->code;
        }
    }
    if (code) {
        *code = from;
    }
    return best;
}

double carm_traffic_bytes(const struct carm_stream *stream, size_t link, size_t home)
{
    if (link > home) {
        return stream->set_bytes / stream->repetitions;
    }
    const bool filled = !stream->update && !stream->nontemporal;
    return stream->load_bytes + stream->store_bytes * (filled ? 2.0 : 1.0);
}
