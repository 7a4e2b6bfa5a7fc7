/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/file/ceilings_file.h"

#include <string.h>

#include "base/json_write.h"
#include "models/ceilings.h"

enum { CEILINGS_MAX = 256 };

static void read_group(struct carm_jread *r, json_t *o, enum carm_ceiling_group *group)
{
    char name[32];
    struct carm_err why = {""};
    memset(name, 0, sizeof name);
    carm_jread_name(r, o, "group", name, sizeof name);
    if (!r->rc && carm_ceiling_group_parse(name, group, &why)) {
        carm_jread_bad(r, "group", "is wrong: %s", why.text);
    }
}

/* What was not measured has a reason in place of figures. */
static void read_ceiling(struct carm_jread *r, json_t *o, struct carm_ceiling_roof *c)
{
    read_group(r, o, &c->group);
    carm_jread_name(r, o, "name", c->name, sizeof c->name);
    c->rate = carm_jread_nonnegative(r, o, "rate");
    const bool measured = c->rate > 0.0;
    c->rate = measured ? carm_jread_positive(r, o, "rate") : 0.0;
    carm_jread_interval(r, o, "ci95", c->rate, &c->ci95.lo, &c->ci95.hi);
    c->clock_hz = carm_jread_nonnegative(r, o, "clock_hz");
    c->threads = carm_jread_int(r, o, "threads", measured ? 1 : 0);
    c->working_set_bytes = carm_jread_count(r, o, "working_set_bytes", 0);
    c->reps = carm_jread_count(r, o, "reps", measured ? 1 : 0);
    if (measured) {
        carm_jread_name(r, o, "code", c->code, sizeof c->code);
        carm_jread_name(r, o, "counted_by", c->counted_by, sizeof c->counted_by);
        carm_jread_text(r, o, "note", c->note, sizeof c->note);
    } else {
        carm_jread_text(r, o, "code", c->code, sizeof c->code);
        carm_jread_text(r, o, "counted_by", c->counted_by, sizeof c->counted_by);
        carm_jread_name(r, o, "note", c->note, sizeof c->note);
    }
    c->disturbed = carm_jread_bool(r, o, "disturbed");
}

void carm_ceilings_read(struct carm_jread *r, json_t *set, struct carm_roofs *roofs)
{
    if (r->rc || !json_object_get(set, "ceilings")) {
        return;
    }
    json_t *a = carm_jread_array(r, set, "ceilings", CEILINGS_MAX, sizeof *roofs->ceilings,
                                 &roofs->ceilings, &roofs->nceilings);
    for (size_t i = 0; a && i < roofs->nceilings && !r->rc; i++) {
        struct carm_ceiling_roof *c = &roofs->ceilings[i];
        const size_t old = carm_jread_enter(r, ".ceilings[%zu]", i);
        read_ceiling(r, json_array_get(a, i), c);
        if (!r->rc && c->threads > roofs->threads) {
            carm_jread_bad(r, "threads", "is %d, more than the set's %d", c->threads,
                           roofs->threads);
        }
        const struct carm_ceiling_roof *first = carm_ceilings_find(roofs, c->group, c->name);
        if (!r->rc && first != c) {
            carm_jread_bad(r, NULL, "repeats \"%s\" of group \"%s\"", c->name,
                           carm_ceiling_group_name(c->group));
        }
        carm_jread_leave(r, old);
    }
}

static json_t *ceiling(const void *items, size_t i)
{
    const struct carm_ceiling_roof *c = (const struct carm_ceiling_roof *)items + i;
    const struct carm_ci ci = {c->ci95.lo, c->ci95.hi};
    json_t *o = json_object();
    return carm_jwrite_done(
        o, carm_jwrite_text(o, "group", carm_ceiling_group_name(c->group)) &&
               carm_jwrite_text(o, "name", c->name) && carm_jwrite_text(o, "code", c->code) &&
               carm_jwrite_number(o, "rate", c->rate) && carm_jwrite_interval(o, "ci95", ci) &&
               carm_jwrite_number(o, "clock_hz", c->clock_hz) &&
               carm_jwrite_int(o, "threads", c->threads) &&
               carm_jwrite_count(o, "working_set_bytes", c->working_set_bytes) &&
               carm_jwrite_count(o, "reps", c->reps) &&
               carm_jwrite_text(o, "counted_by", c->counted_by) &&
               carm_jwrite_bool(o, "disturbed", c->disturbed) &&
               carm_jwrite_text(o, "note", c->note));
}

bool carm_ceilings_write(json_t *set, const struct carm_roofs *roofs)
{
    return roofs->nceilings == 0 ||
           carm_jwrite_array(set, "ceilings", roofs->ceilings, roofs->nceilings, ceiling);
}
