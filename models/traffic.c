/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/traffic.h"

double carm_traffic_bytes(const struct carm_stream *stream, size_t link, size_t home)
{
    if (link > home) {
        return stream->set_bytes / stream->repetitions;
    }
    const bool filled = !stream->update && !stream->nontemporal;
    return stream->load_bytes + stream->store_bytes * (filled ? 2.0 : 1.0);
}
