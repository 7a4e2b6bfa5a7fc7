/* SPDX-License-Identifier: GPL-3.0-or-later */
/* perf.yaml: the tree of results through libyaml's emitter. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "cli/sol/tree.h"
#include "base/outfile.h"

struct target {
    struct carm_outfile *file; /* NULL = standard output */
    struct carm_err *err;
    int rc;
};

static int take(void *context, unsigned char *data, size_t size)
{
    struct target *t = context;
    if (t->file) {
        t->rc = carm_outfile_write(t->file, data, size, t->err);
    } else if (fwrite(data, 1, size, stdout) != size) {
        t->rc = carm_fail(t->err, CARM_EIO, "cannot write the output");
    }
    return t->rc == 0;
}

/* libyaml takes over what an event holds, whether it is emitted or not. */
static bool emit(yaml_emitter_t *emitter, bool made, yaml_event_t *event)
{
    return made && yaml_emitter_emit(emitter, event) == 1;
}

/* quoted: a text, whatever it looks like; escapes keep it on one line */
static bool put_scalar(yaml_emitter_t *emitter, const char *text, size_t length, bool quoted)
{
    yaml_event_t event;
    const bool made = yaml_scalar_event_initialize(&event, NULL, NULL, (const yaml_char_t *)text,
                                                   (int)length, !quoted, quoted,
                                                   quoted ? YAML_DOUBLE_QUOTED_SCALAR_STYLE
                                                          : YAML_PLAIN_SCALAR_STYLE) == 1;
    return emit(emitter, made, &event);
}

/* As few digits as give the number back; a point, so that it stays a real number. */
static bool put_real(yaml_emitter_t *emitter, double v)
{
    char digits[32], text[40];
    for (int n = 6; n <= 17; n++) {
        (void)snprintf(digits, sizeof digits, "%.*g", n, v);
        if (strtod(digits, NULL) == v) {
            break;
        }
    }
    const char *e = strchr(digits, 'e'); /* 1e+20 is 1.0e+20 in YAML 1.1 */
    const int mantissa = e ? (int)(e - digits) : (int)strlen(digits);
    (void)snprintf(text, sizeof text, "%.*s%s%s", mantissa, digits, strchr(digits, '.') ? "" : ".0",
                   e ? e : "");
    return put_scalar(emitter, text, strlen(text), false);
}

static bool put_value(yaml_emitter_t *emitter, json_t *value);

static bool put_map(yaml_emitter_t *emitter, json_t *object)
{
    yaml_event_t event;
    const char *key;
    json_t *value;
    bool good = emit(
        emitter,
        yaml_mapping_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE) == 1,
        &event);
    json_object_foreach(object, key, value)
    {
        good = good && put_scalar(emitter, key, strlen(key), false) && put_value(emitter, value);
    }
    return good && emit(emitter, yaml_mapping_end_event_initialize(&event) == 1, &event);
}

static bool put_list(yaml_emitter_t *emitter, const json_t *list)
{
    yaml_event_t event;
    bool good = emit(
        emitter,
        yaml_sequence_start_event_initialize(&event, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE) == 1,
        &event);
    for (size_t i = 0; i < json_array_size(list); i++) {
        good = good && put_value(emitter, json_array_get(list, i));
    }
    return good && emit(emitter, yaml_sequence_end_event_initialize(&event) == 1, &event);
}

static bool put_value(yaml_emitter_t *emitter, json_t *value)
{
    char text[32];
    switch (json_typeof(value)) {
    case JSON_OBJECT:
        return put_map(emitter, value);
    case JSON_ARRAY:
        return put_list(emitter, value);
    case JSON_STRING:
        return put_scalar(emitter, json_string_value(value), json_string_length(value), true);
    case JSON_REAL:
        return put_real(emitter, json_real_value(value));
    case JSON_INTEGER:
        (void)snprintf(text, sizeof text, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
        return put_scalar(emitter, text, strlen(text), false);
    case JSON_TRUE:
        return put_scalar(emitter, "true", 4, false);
    case JSON_FALSE:
        return put_scalar(emitter, "false", 5, false);
    case JSON_NULL:
        break;
    }
    return put_scalar(emitter, "null", 4, false);
}

static bool put_document(yaml_emitter_t *emitter, json_t *tree)
{
    yaml_event_t event;
    return emit(emitter, yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING) == 1,
                &event) &&
           emit(emitter, yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1) == 1,
                &event) &&
           put_value(emitter, tree) &&
           emit(emitter, yaml_document_end_event_initialize(&event, 1) == 1, &event) &&
           emit(emitter, yaml_stream_end_event_initialize(&event) == 1, &event);
}

static int put_tree(json_t *tree, struct target *target)
{
    yaml_emitter_t emitter;
    if (!yaml_emitter_initialize(&emitter)) {
        return carm_fail(target->err, CARM_ENOMEM, "not enough memory to write YAML");
    }
    yaml_emitter_set_output(&emitter, take, target);
    yaml_emitter_set_width(&emitter, -1);
    const bool good = put_document(&emitter, tree);
    yaml_emitter_delete(&emitter);
    if (!good && target->rc == 0) {
        return carm_fail(target->err, CARM_ENOMEM, "not enough memory to write YAML");
    }
    return target->rc;
}

int carm_sol_perf_write(const char *path, const struct carm_sol_view *view, struct carm_err *err)
{
    struct target target = {.err = err};
    json_t *tree = carm_sol_tree(view, true);
    if (!tree) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to write the results");
    }
    int rc = strcmp(path, "-") == 0 ? 0 : carm_outfile_open(path, &target.file, err);
    rc = rc ? rc : put_tree(tree, &target);
    if (rc == 0 && target.file) {
        rc = carm_outfile_commit(target.file, err);
    }
    carm_outfile_close(target.file);
    json_decref(tree);
    return rc;
}
