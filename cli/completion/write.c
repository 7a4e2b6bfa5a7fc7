/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/completion/write.h"

#include <string.h>

#include "cli/completion/value.h"

int carm_completion_print(const char *shell)
{
    struct carm_err err = {""};
    int rc = 0;
    if (strcmp(shell, "bash") == 0) {
        rc = carm_completion_bash(&err);
    } else if (strcmp(shell, "zsh") == 0) {
        rc = carm_completion_zsh(&err);
    } else {
        return carm_say_error(CARM_EXIT_MISUSE,
                              "say for which shell: carm --completion bash, or zsh");
    }
    return rc ? carm_say_error(CARM_EXIT_FAILED, "%s", err.text) : CARM_EXIT_OK;
}
