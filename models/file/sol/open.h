/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The operand and the architecture of `carm sol`: from files, pipes, a CPU's measured model, or
 * the built-in ones. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "models/sol/arch.h"
#include "models/sol/count.h"
#include "models/sol/graph.h"

struct carm_sol_input {
    struct carm_sol_graph *graph; /* NULL: the operand was an analysis */
    struct carm_sol_analysis *analysis;
    char *name; /* the graph's name, or the file's name without folders and ending */
};

/* operand  a file, "-" (standard input) or the name of an example
 * input    out: to be released with carm_sol_input_close, in any case
 * returns 0, -CARM_EINVAL (neither file nor example: lists them), or as the readers do */
int carm_sol_input_open(const char *operand, struct carm_sol_input *input, struct carm_err *err);
void carm_sol_input_close(struct carm_sol_input *input);

/* operand  a YAML file, a model's file, the name of an architecture, or NULL: this machine's model
 * isa      "" or NULL, and threads 0: the model's own choice
 * returns 0, -CARM_EINVAL (neither file nor name: lists them; isa or threads without a model), or as
 * the readers do */
int carm_sol_machine_open(const char *operand, const char *isa, int threads,
                          struct carm_sol_arch *arch, struct carm_err *err);

/* The zero-terminated text of a built-in file data/sol-NAME.yaml, by name (in any case, '_' as
 * '-'), or NULL. The lists are NULL-terminated. "worked-example" is an analysis, the other examples
 * are graphs.
 * size_bytes  out, may be NULL: the text's length without the zero */
const char *carm_sol_arch_text(const char *name, size_t *size_bytes);
const char *carm_sol_example_text(const char *name, size_t *size_bytes);
const char *const *carm_sol_arch_names(void);
const char *const *carm_sol_example_names(void);
