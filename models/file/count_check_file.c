/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/file/count_check_file.h"

#include "base/json_write.h"

enum { CHECKS_MAX = 65536 };

static void read_checked(struct carm_jread *r, json_t *root, const char *name,
                         struct carm_checked *c)
{
    json_t *o = r->rc ? NULL : carm_jread_object(r, root, name);
    if (!o) {
        return;
    }
    const size_t old = carm_jread_enter(r, ".%s", name);
    c->constructed = carm_jread_nonnegative(r, o, "constructed");
    const json_t *counted = carm_jread_member(r, o, "counted");
    c->counted = json_is_null(counted) ? -1.0 : carm_jread_nonnegative(r, o, "counted");
    carm_jread_leave(r, old);
}

void carm_count_checks_read(struct carm_jread *r, json_t *root, struct carm_model *model)
{
    if (r->rc || !json_object_get(root, "count_checks")) {
        return;
    }
    json_t *a = carm_jread_array(r, root, "count_checks", CHECKS_MAX, sizeof *model->checks,
                                 &model->checks, &model->nchecks);
    for (size_t i = 0; a && i < model->nchecks && !r->rc; i++) {
        json_t *o = json_array_get(a, i);
        struct carm_count_check *c = &model->checks[i];
        const size_t old = carm_jread_enter(r, "count_checks[%zu]", i);
        carm_jread_name(r, o, "code", c->code, sizeof c->code);
        carm_jread_name(r, o, "counted_by", c->counted_by, sizeof c->counted_by);
        carm_jread_text(r, o, "recipe", c->recipe, sizeof c->recipe);
        read_checked(r, o, "flops", &c->flops);
        read_checked(r, o, "loads", &c->loads);
        read_checked(r, o, "stores", &c->stores);
        c->deviation = carm_jread_number(r, o, "deviation");
        carm_jread_text(r, o, "note", c->note, sizeof c->note);
        carm_jread_leave(r, old);
    }
}

static json_t *checked(const struct carm_checked *c)
{
    json_t *o = json_object();
    return carm_jwrite_done(o,
                            carm_jwrite_number(o, "constructed", c->constructed) &&
                                (c->counted < 0.0 ? carm_jwrite_value(o, "counted", json_null())
                                                  : carm_jwrite_number(o, "counted", c->counted)));
}

static json_t *check(const void *items, size_t i)
{
    const struct carm_count_check *c = (const struct carm_count_check *)items + i;
    json_t *o = json_object();
    return carm_jwrite_done(o, carm_jwrite_text(o, "code", c->code) &&
                                   carm_jwrite_text(o, "counted_by", c->counted_by) &&
                                   carm_jwrite_text(o, "recipe", c->recipe) &&
                                   carm_jwrite_value(o, "flops", checked(&c->flops)) &&
                                   carm_jwrite_value(o, "loads", checked(&c->loads)) &&
                                   carm_jwrite_value(o, "stores", checked(&c->stores)) &&
                                   carm_jwrite_number(o, "deviation", c->deviation) &&
                                   carm_jwrite_text(o, "note", c->note));
}

bool carm_count_checks_write(json_t *root, const struct carm_model *model)
{
    return model->nchecks == 0 ||
           carm_jwrite_array(root, "count_checks", model->checks, model->nchecks, check);
}
