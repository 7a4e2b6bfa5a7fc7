/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/study/output.h"

#include "base/json_write.h"

json_t *carm_study_place_json(const struct carm_place *p)
{
    if (!p) {
        return json_null();
    }
    json_t *o = json_object();
    const bool ok =
        carm_jwrite_number(o, "intensity", p->intensity) &&
        carm_jwrite_number(o, "roof", p->roof) && carm_jwrite_number(o, "share", p->share) &&
        carm_jwrite_text_or_null(o, "below", p->below >= 0 ? p->ceilings[p->below].name : "") &&
        carm_jwrite_text_or_null(o, "above", p->above >= 0 ? p->ceilings[p->above].name : "") &&
        carm_jwrite_bool(o, "over", p->over) && carm_jwrite_text(o, "advice", p->advice);
    return carm_jwrite_done(o, ok);
}
