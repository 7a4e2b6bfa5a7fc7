/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/file/kinds.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"

/* Whether two models are of one machine: the same host and CPU. */
static bool same_machine(const struct carm_model *a, const struct carm_model *b)
{
    return strcmp(a->machine.hostname, b->machine.hostname) == 0 &&
           strcmp(a->machine.cpu, b->machine.cpu) == 0;
}

int carm_kinds_put(struct carm_model *model, struct carm_model *kind, struct carm_err *err)
{
    size_t at = 0;
    if (!carm_model_is_kind(kind) || kind->nkinds) {
        return carm_fail(err, CARM_EINVAL, "the model is not of one kind of core");
    }
    while (at < model->nkinds && strcmp(model->kinds[at].machine.on, kind->machine.on) != 0) {
        at++;
    }
    if (at == CARM_KINDS_MAX) {
        return carm_fail(err, CARM_EINVAL, "a model can have %d kinds of cores", CARM_KINDS_MAX);
    }
    if (at == model->nkinds) {
        const int rc = carm_array_grow(&model->kinds, NULL, model->nkinds, 1, sizeof *model->kinds,
                                       "the kinds of cores", err);
        if (rc) {
            return rc;
        }
        model->nkinds++;
        model->kinds[at] = (struct carm_model){.nroofs = 0};
    }
    const struct carm_model was = model->kinds[at];
    model->kinds[at] = *kind;
    *kind = was; /* freed by its owner */
    return 0;
}

static void swap(struct carm_model *a, struct carm_model *b)
{
    const struct carm_model was = *a;
    *a = *b;
    *b = was;
}

static struct carm_model *read_quietly(const char *path)
{
    struct carm_model *m = NULL;
    return access(path, F_OK) == 0 && carm_model_read(path, &m, NULL) == 0 ? m : NULL;
}

struct carm_model *carm_kinds_read(const char *path, const char *on)
{
    struct carm_model *m = read_quietly(path);
    for (size_t i = 0; m && i < m->nkinds && strcmp(m->machine.on, on) != 0; i++) {
        struct carm_model *kind =
            strcmp(m->kinds[i].machine.on, on) == 0 ? calloc(1, sizeof *kind) : NULL;
        if (kind) {
            swap(kind, &m->kinds[i]);
            carm_model_free(m);
            return kind;
        }
    }
    return m;
}

int carm_kinds_write(struct carm_model *kind, const char *path, struct carm_err *err)
{
    struct carm_model *file = read_quietly(path);
    int rc = 0;
    if (file && same_machine(file, kind) && strcmp(file->machine.on, kind->machine.on) != 0) {
        char on[sizeof kind->machine.on];
        memcpy(on, kind->machine.on, sizeof on);
        rc = carm_kinds_put(file, kind, err);
        if (!rc) {
            rc = carm_model_write(file, path, err);
            for (size_t i = 0; i < file->nkinds; i++) {
                if (strcmp(file->kinds[i].machine.on, on) == 0) {
                    swap(&file->kinds[i], kind); /* the caller's model is given back */
                    break;
                }
            }
            rc = rc ? rc : 1;
        }
    }
    carm_model_free(file);
    return rc;
}

int carm_kinds_keep(struct carm_model *model, const char *path, struct carm_err *err)
{
    struct carm_model *file = read_quietly(path);
    int rc = 0;
    if (file && same_machine(file, model) && !carm_model_is_kind(model)) {
        for (size_t i = 0; i < file->nkinds && !rc; i++) {
            rc = carm_kinds_put(model, &file->kinds[i], err);
        }
        if (!rc && carm_model_is_kind(file)) {
            struct carm_model *replaced =
                calloc(1, sizeof *replaced); /* receives the replaced models, to free them */
            if (replaced) {
                replaced->kinds = file->kinds;
                replaced->nkinds = file->nkinds;
            }
            file->kinds = NULL;
            file->nkinds = 0;
            carm_model_free(replaced);
            rc = carm_kinds_put(model, file, err);
        }
    }
    carm_model_free(file);
    return rc;
}
