/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A tool of the build: prints the source of the built-in test codes (validation/builtin/plan.h). */
#include <stdio.h>
#include <stdlib.h>

#include "asm/gen.h"
#include "validation/builtin/plan.h"

int main(void)
{
    struct carm_err err = {""};
    struct carm_code_spec *specs = NULL;
    size_t n = 0;
    int rc = carm_builtin_plan(&specs, &n, &err);
    for (size_t i = 0; i < n && !rc; i++) {
        rc = carm_code_check(&specs[i], &err);
    }
    if (!rc) {
        carm_gen_source(stdout, specs, n);
        if (fflush(stdout) != 0 || ferror(stdout)) {
            rc = carm_fail(&err, CARM_EIO, "cannot write the source of the built-in codes");
        }
    }
    free(specs);
    if (rc) {
        fprintf(stderr, "builtin-source: %s\n", err.text);
    }
    return rc ? 1 : 0;
}
