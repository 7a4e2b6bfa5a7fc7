/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/fleet/item.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "models/file/cut.h"
#include "models/file/model.h"
#include "base/json_read.h"

/* The reader puts the file's name before its reason, and has none here. */
static void strip_name(struct carm_err *err)
{
    if (strncmp(err->text, ": ", 2) == 0) {
        memmove(err->text, err->text + 2, strlen(err->text + 2) + 1);
    }
}

/* What only the checks of a whole model find wrong in curves is no matter for a fleet; what an older version
 * lacks is not, either. */
static int parse_model(const char *text, size_t size, struct carm_model **model,
                       struct carm_err *err)
{
    *model = carm_model_parse_lean(text, size);
    if (*model) {
        return 0;
    }
    const int rc = carm_model_parse(text, size, "", model, err);
    strip_name(err);
    return rc;
}

/* A member that may be missing or null. */
static bool has(const struct carm_jread *r, json_t *root, const char *name)
{
    const json_t *v = json_object_get(root, name);
    return !r->rc && v && !json_is_null(v);
}

static void get_job(struct carm_jread *r, json_t *root, char *dst, size_t size)
{
    const json_t *v = json_object_get(root, "job");
    if (json_is_integer(v)) {
        (void)snprintf(dst, size, "%lld", (long long)json_integer_value(v));
    } else if (has(r, root, "job")) {
        carm_jread_text(r, root, "job", dst, size);
    }
}

/* The texts that may be long are cut: a reason is for people. */
static void get_reason(struct carm_jread *r, json_t *root, char *dst, size_t size)
{
    const char *s = json_string_value(json_object_get(root, "reason"));
    if (s) {
        (void)snprintf(dst, size, "%s", s);
    } else if (has(r, root, "reason")) {
        carm_jread_bad(r, "reason", "is not a string");
    }
}

static void read_members(struct carm_jread *r, json_t *root, struct carm_fleet_item *item)
{
    if (has(r, root, "schema")) {
        char schema[CARM_NAME_MAX] = "";
        carm_jread_text(r, root, "schema", schema, sizeof schema);
        if (!r->rc && strcmp(schema, CARM_FLEET_SCHEMA) != 0) {
            carm_jread_bad(r, "schema", "is \"%s\"; this carm reads \"%s\"", schema,
                           CARM_FLEET_SCHEMA);
        }
    }
    carm_jread_name(r, root, "host", item->host, sizeof item->host);
    get_job(r, root, item->job, sizeof item->job);
    if (has(r, root, "boot_id")) {
        carm_jread_text(r, root, "boot_id", item->boot_id, sizeof item->boot_id);
    }
    if (has(r, root, "rank")) {
        item->rank = carm_jread_int(r, root, "rank", 0);
    }
    if (has(r, root, "time")) {
        carm_jread_text(r, root, "time", item->time, sizeof item->time);
    }
    carm_jread_name(r, root, "status", item->status, sizeof item->status);
    get_reason(r, root, item->reason, sizeof item->reason);
}

/* The row with null in the model's place, so that its thousands of values are read once. */
static int parse_row(const char *text, size_t size, const struct carm_span *model,
                     struct carm_fleet_item *item, struct carm_err *err)
{
    struct carm_jread r = {.file = "", .err = err};
    const size_t before = model->at ? (size_t)(model->at - text) : size;
    const size_t after = model->at ? size - before - model->size : 0;
    char *rest = malloc(before + after + 5);
    if (!rest) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to read a fleet's rows");
    }
    memcpy(rest, text, before);
    (void)snprintf(rest + before, 5, "null");
    memcpy(rest + before + 4, text + size - after, after);
    json_t *root = carm_jread_parse(&r, rest, before + after + (model->at ? 4 : 0));
    if (root) {
        read_members(&r, root, item);
        json_decref(root);
    }
    free(rest);
    strip_name(err);
    return r.rc;
}

int carm_fleet_item_parse(const char *text, size_t size, struct carm_fleet_item *item,
                          struct carm_err *err)
{
    static const char *const names[] = {"status", "model"};
    struct carm_span found[2];
    memset(item, 0, sizeof *item);
    item->rank = -1;
    const bool row = carm_span_find(text, size, names, 2, found) && (found[0].at || found[1].at);
    const struct carm_span model = found[1];
    if (!row) {
        const int rc = parse_model(text, size, &item->model, err);
        if (rc) {
            return rc;
        }
        (void)snprintf(item->status, sizeof item->status, "ok");
        (void)snprintf(item->host, sizeof item->host, "%s", item->model->machine.hostname);
        (void)snprintf(item->time, sizeof item->time, "%s", item->model->created);
        return 0;
    }
    int rc = parse_row(text, size, &model, item, err);
    const bool none = !model.at || (model.size == 4 && memcmp(model.at, "null", 4) == 0);
    if (rc || (none && strcmp(item->status, "ok") != 0)) {
        return rc;
    }
    if (none) {
        return carm_fail(err, CARM_EFORMAT, "model is missing, though status is \"ok\"");
    }
    rc = parse_model(model.at, model.size, &item->model, err);
    if (rc == 0) {
        (void)snprintf(item->time, sizeof item->time, "%s", item->model->created);
    }
    return rc;
}
