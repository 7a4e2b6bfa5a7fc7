/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Completion in shells, made from the commands' option tables. */
#pragma once

#include <stddef.h>

#include "base/err.h"
#include "cli/opt.h"

/* Prints the script for "bash" or "zsh" to standard output.
 * returns an exit code; errors go to standard error */
int carm_completion_print(const char *shell);

/* ---- words that an operand or an option's argument may be ------------------------------------ */

enum { CARM_COMPLETION_WORDS_MAX = 64, CARM_COMPLETION_WORD_MAX = 64 };

enum carm_completion_kind {
    CARM_COMPLETION_SWITCH,  /* an option without a value */
    CARM_COMPLETION_NONE,    /* a value without known words: a number, a name */
    CARM_COMPLETION_WORDS,   /* one of the words */
    CARM_COMPLETION_LIST,    /* some of the words, joined by commas */
    CARM_COMPLETION_FILES,   /* a file */
    CARM_COMPLETION_MIXED,   /* a file or one of the words */
    CARM_COMPLETION_COMMAND, /* a program and its arguments */
    CARM_COMPLETION_SUB,     /* the name of a sub-command */
    CARM_COMPLETION_KIND_COUNT
};

struct carm_completion_value {
    enum carm_completion_kind kind;
    size_t nwords;
    char words[CARM_COMPLETION_WORDS_MAX][CARM_COMPLETION_WORD_MAX];
};

/* The value of an option. */
void carm_completion_of_option(const struct carm_opt *opt, struct carm_completion_value *value);

/* A command's sub-commands, or its operands, read from struct carm_command's operands; MACHINE gives
 * the names of the published machines, MODEL and BASELINE those of the measured ones, EXAMPLE those of
 * carm sol.
 * returns 0, or as carm_published_load */
int carm_completion_of_operands(const struct carm_command *cmd, struct carm_completion_value *value,
                                struct carm_err *err);
