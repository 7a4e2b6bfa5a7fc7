/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The DNN graphs that carm carries: data/sol-NAME.yaml. (Its architectures: models/sol/arch.h) */
#ifndef CARM_MODELS_SOL_DATA_H
#define CARM_MODELS_SOL_DATA_H

#include <stddef.h>

/* The text of one by name (in any case, '_' as '-'), or NULL; it is zero-terminated.
 * size_bytes  out, may be NULL: its length without the zero */
const char *carm_sol_example_text(const char *name, size_t *size_bytes);

/* NULL-terminated. "worked-example" is an analysis, the others are graphs. */
const char *const *carm_sol_example_names(void);

#endif
