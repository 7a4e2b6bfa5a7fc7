/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A tool of the build: prints the source of the built-in test codes (validation/builtin/plan.h), or with the
 * argument "chains" of the codes of latencies (asm/chain/code.h). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "asm/chain/code.h"
#include "asm/gen.h"
#include "validation/builtin/plan.h"

static int put_codes(struct carm_err *err)
{
    struct carm_code_spec *specs = NULL;
    size_t n = 0;
    int rc = carm_builtin_plan(&specs, &n, err);
    for (size_t i = 0; i < n && !rc; i++) {
        rc = carm_code_check(&specs[i], err);
    }
    if (!rc) {
        carm_gen_source(stdout, specs, n);
    }
    free(specs);
    return rc;
}

static int put_chains(struct carm_err *err)
{
    struct carm_chain_code *codes = NULL;
    size_t n = 0;
    const int rc = carm_chain_all(&codes, &n, err);
    if (!rc) {
        carm_chain_source(stdout, codes, n);
    }
    free(codes);
    return rc;
}

int main(int argc, char **argv)
{
    struct carm_err err = {""};
    int rc = argc > 1 && strcmp(argv[1], "chains") == 0 ? put_chains(&err) : put_codes(&err);
    if (!rc && (fflush(stdout) != 0 || ferror(stdout))) {
        rc = carm_fail(&err, CARM_EIO, "cannot write the source of the built-in codes");
    }
    if (rc) {
        fprintf(stderr, "builtin-source: %s\n", err.text);
    }
    return rc ? 1 : 0;
}
