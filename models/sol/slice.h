/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The elements that a slice takes, from the arguments of its call. */
#pragma once

#include <stdbool.h>

#include "models/sol/layout.h"

/* type    __getitem__, narrow, select or slice, as PyTorch has them
 * call    raw_attributes: "[[Tensor(shape=(16, 64), ...), slice(0, 10, None)], {}]"
 * in, out the shapes of the source and of the slice
 * layout  in: of the source, out: of the slice
 * returns false, with the layout unchanged, where the call does not determine the elements: indices that are tensors or
 * lists, another number of elements than out has, an unknown argument */
bool carm_sol_slice(const char *type, const char *call, struct carm_sol_shape in,
                    struct carm_sol_shape out, struct carm_sol_layout *layout);
