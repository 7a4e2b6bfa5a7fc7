/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/fleet/cut.h"

#include <string.h>

bool carm_fleet_find(const char *text, size_t size, const char *const *names, size_t n,
                     struct carm_fleet_span *values)
{
    struct carm_fleet_scan s = {text, text + size};
    struct carm_fleet_span name, value;
    bool first = true;
    memset(values, 0, n * sizeof *values);
    if (!carm_fleet_scan_open(&s, '{')) {
        return false;
    }
    int more = carm_fleet_scan_member(&s, &first, &name, &value);
    for (; more > 0; more = carm_fleet_scan_member(&s, &first, &name, &value)) {
        for (size_t i = 0; i < n; i++) {
            if (carm_fleet_span_is(&name, names[i])) {
                if (values[i].at) {
                    return false;
                }
                values[i] = value;
            }
        }
    }
    return more == 0 && carm_fleet_scan_end(&s);
}

static size_t put(char *dst, size_t at, const char *text, size_t size)
{
    memcpy(dst + at, text, size);
    return at + size;
}

size_t carm_fleet_cut(const char *text, size_t size, char *dst, struct carm_fleet_span *roofs)
{
    static const char *const kept[] = {"schema",  "created", "carm_version",
                                       "machine", "config",  "levels"};
    static const char rest[] = "\"roofs\":[],\"curves\":[],\"flop_curves\":[],\"validation\":[]}";
    struct carm_fleet_scan s = {text, text + size};
    struct carm_fleet_span name, value;
    bool first = true;
    *roofs = (struct carm_fleet_span){NULL, 0};
    if (!carm_fleet_scan_open(&s, '{')) {
        return 0;
    }
    size_t used = put(dst, 0, "{", 1);
    int more = carm_fleet_scan_member(&s, &first, &name, &value);
    for (; more > 0; more = carm_fleet_scan_member(&s, &first, &name, &value)) {
        if (carm_fleet_span_is(&name, "roofs")) {
            if (roofs->at) {
                return 0;
            }
            *roofs = value;
        }
        for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
            if (carm_fleet_span_is(&name, kept[i])) {
                /* "name": value, with its own blanks: never longer than it was but for the comma */
                used = put(dst, used, name.at - 1, (size_t)(value.at - name.at) + 1 + value.size);
                used = put(dst, used, ",", 1);
            }
        }
    }
    return more == 0 && carm_fleet_scan_end(&s) ? put(dst, used, rest, sizeof rest - 1) : 0;
}
