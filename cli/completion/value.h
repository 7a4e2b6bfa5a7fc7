/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a place of the command line takes, for completion in any shell. */
#ifndef CARM_CLI_COMPLETION_VALUE_H
#define CARM_CLI_COMPLETION_VALUE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "cli/opt.h"

enum { CARM_COMPLETION_WORDS_MAX = 64, CARM_COMPLETION_WORD_MAX = 64 };

enum carm_completion_kind {
    CARM_COMPLETION_SWITCH,  /* an option without a value */
    CARM_COMPLETION_NONE,    /* something that cannot be guessed: a number, a name */
    CARM_COMPLETION_WORDS,   /* one of the words */
    CARM_COMPLETION_LIST,    /* some of the words, joined by commas */
    CARM_COMPLETION_FILES,   /* a file */
    CARM_COMPLETION_MIXED,   /* a file or one of the words */
    CARM_COMPLETION_COMMAND, /* a program and its arguments */
    CARM_COMPLETION_KIND_COUNT
};

struct carm_completion_value {
    enum carm_completion_kind kind;
    size_t nwords;
    char words[CARM_COMPLETION_WORDS_MAX][CARM_COMPLETION_WORD_MAX];
};

/* The kind's name in the scripts. Static. */
const char *carm_completion_kind_name(enum carm_completion_kind kind);

/* The value of an option. */
void carm_completion_of_option(const struct carm_opt *opt, struct carm_completion_value *value);

/* A command's operands, read from struct carm_command's operands; MACHINE gives the names of the
 * published machines.
 * returns 0, or as carm_published_load */
int carm_completion_of_operands(const struct carm_command *cmd, struct carm_completion_value *value,
                                struct carm_err *err);

/* Prints the strings, joined, to standard output as one word of bash or zsh, whatever characters
 * they have; the last one is NULL. */
void carm_completion_quote_strings(const char *const *strings);
#define CARM_COMPLETION_QUOTE(...) \
    carm_completion_quote_strings((const char *const[]){__VA_ARGS__, NULL})

/* " 'word'" for each word. */
void carm_completion_quote_words(const struct carm_completion_value *value);

/* The scripts, to standard output.
 * returns 0, or as carm_completion_of_operands */
int carm_completion_bash(struct carm_err *err);
int carm_completion_zsh(struct carm_err *err);

#endif
