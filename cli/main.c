/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/asm/command.h"
#include "cli/build/command.h"
#include "cli/compare/command.h"
#include "cli/fleet/command.h"
#include "cli/info/command.h"
#include "cli/place/command.h"
#include "cli/plot/command.h"
#include "cli/report/command.h"
#include "cli/run/command.h"
#include "cli/show/command.h"
#include "cli/sol/command.h"
#include "cli/study/command.h"
#include "cli/validate/command.h"
#include "cli/completion/write.h"
#include "cli/opt.h"

const struct carm_command *const carm_commands[] = {
    &carm_command_info,     &carm_command_build,
    &carm_command_validate, &carm_command_show,
    &carm_command_plot,     &carm_command_report,
    &carm_command_run,      &carm_command_place,
    &carm_command_study,    &carm_command_compare,
    &carm_command_fleet,    &carm_command_sol,
    &carm_command_asm,      NULL,
};

static const struct carm_command *find_command(const char *name)
{
    for (const struct carm_command *const *c = carm_commands; *c; c++) {
        if (strcmp((*c)->name, name) == 0) {
            return *c;
        }
    }
    return NULL;
}

/* Results that did not reach their file or pipe are no results. */
static int finish(int code)
{
    if (fflush(stdout) != 0 || ferror(stdout)) {
        return carm_say_error(CARM_EXIT_FAILED, "cannot write the output: is the disk full or the "
                                                "pipe closed?");
    }
    return code;
}

int main(int argc, char **argv)
{
    (void)setlocale(LC_CTYPE, "");
    const char *word = argc > 1 ? argv[1] : "";
    if (argc < 2) {
        carm_opt_usage();
        return finish(CARM_EXIT_MISUSE);
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        const struct carm_command *about = argc > 2 ? find_command(argv[2]) : NULL;
        if (argc > 2 && !about) {
            return carm_say_error(CARM_EXIT_MISUSE,
                                  "there is no command '%s'; `carm --help` lists "
                                  "them",
                                  argv[2]);
        }
        if (about) {
            carm_opt_help(about);
        } else {
            carm_opt_usage();
        }
        return finish(CARM_EXIT_OK);
    }
    if (strcmp(word, "--version") == 0) {
        (void)printf("carm %s\n", CARM_VERSION);
        return finish(CARM_EXIT_OK);
    }
    if (strcmp(word, "--man") == 0) {
        carm_opt_man();
        return finish(CARM_EXIT_OK);
    }
    if (strcmp(word, "--completion") == 0) {
        const int code = carm_completion_print(argc == 3 ? argv[2] : "");
        return code ? code : finish(code);
    }
    const struct carm_command *cmd = find_command(word);
    if (!cmd) {
        return carm_say_error(CARM_EXIT_MISUSE,
                              "there is no command '%s'; `carm --help` lists them", word);
    }
    int operands = carm_opt_parse(cmd, argc - 2, argv + 2);
    if (operands == -2) {
        carm_opt_help(cmd);
        return finish(CARM_EXIT_OK);
    }
    if (operands < 0) {
        return CARM_EXIT_MISUSE;
    }
    struct carm_err err = {""};
    const int rc = carm_opt_expand_outnames(cmd, &err);
    if (rc) {
        return carm_say_error(rc == -CARM_EINVAL ? CARM_EXIT_MISUSE : CARM_EXIT_FAILED, "%s",
                              err.text);
    }
    return finish(cmd->run(operands, argv + 2));
}
