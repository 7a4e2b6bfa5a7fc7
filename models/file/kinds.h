/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Models of kinds of cores of a hybrid CPU in the file of their machine. */
#ifndef CARM_MODELS_FILE_KINDS_H
#define CARM_MODELS_FILE_KINDS_H

#include "models/model.h"

/* Puts a kind's model into the machine's, in place of an earlier model of this kind. The kind's struct is emptied.
 * returns 0, -CARM_ENOMEM or -CARM_EINVAL (too many kinds, or kind is not of one kind) */
int carm_kinds_put(struct carm_model *model, struct carm_model *kind, struct carm_err *err);

/* The earlier model that a build on a place continues: the model at the path, or the one of its kinds measured on `on`
 * ("kind:e"). To be released with carm_model_free; NULL = it cannot be read */
struct carm_model *carm_kinds_read(const char *path, const char *on);

/* Writes the model of a kind into the machine's file, whose other contents stay. The model is the same afterwards.
 * returns 1 = written; 0 = there is no such file, or it is of another machine or of this very kind; -CARM_EIO,
 * -CARM_ENOMEM or -CARM_EINVAL */
int carm_kinds_write(struct carm_model *kind, const char *path, struct carm_err *err);

/* Moves the kinds of the model at a path (and that model itself where it is of one kind) into another model of the same
 * machine that is not of one kind. Earlier models of these kinds are replaced. A file that cannot be read has none.
 * returns 0 or -CARM_ENOMEM */
int carm_kinds_keep(struct carm_model *model, const char *path, struct carm_err *err);

#endif
