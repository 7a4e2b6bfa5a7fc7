/* SPDX-License-Identifier: GPL-3.0-or-later */
/* One table holds a command's options, their defaults, their help and the words that they take:
 * parsing, `--help`, the man page and the shells' completion all read it. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/err.h"
#include "harness/machine/node_lock.h"

enum { CARM_EXIT_OK = 0, CARM_EXIT_FAILED = 1, CARM_EXIT_MISUSE = 2 };
#define CARM_EXIT_USUAL "0 success, 1 failure, 2 usage error."

/* The arg of an option whose value names a file that is written: %h and the like in it are replaced
 * (base/job.h). Reads "FILE". */
extern const char carm_opt_outfile[];

/* The end of the arg of an option whose value is a list: given again, its values are joined. */
#define CARM_OPT_LIST "[,...]"

struct carm_opt {
    const char *name;   /* long name without "--"; NULL ends the table */
    char letter;        /* one-letter form, 0 = none */
    const char *arg;    /* name of its value in the help, NULL = a switch; "[=LIST]": a switch that
                         * takes a value behind an equals sign, and no other way */
    const char *dflt;   /* default as shown in the help, NULL = none */
    const char *help;   /* one or two sentences */
    const char **value; /* where the value goes (a switch stores ""); NULL until given */
    const char *words; /* fixed words of its value, "dp|sp"; others may be possible. NULL = none, or
                         * a file where arg is FILE, a file or a measured machine where it is MODEL. LIST
                         * takes some, joined by commas */
};

/* The option of commands that measure: how long to wait for others (carm_node_lock_open). */
#define CARM_OPT_WAIT(value)                                                                          \
    {                                                                                                 \
        "wait", 0, "SECONDS", CARM_NODE_WAIT,                                                         \
            "How long to wait while another process measures this node, then fail; 0 = do not wait.", \
            value, NULL                                                                               \
    }

/* A row of options inside a macro, and the row that ends them. */
// clang-format off
#define CARM_OPT(...) {__VA_ARGS__}
#define CARM_OPT_END  {NULL, 0, NULL, NULL, NULL, NULL, NULL}
// clang-format on

/* The option of commands that run somewhere on this machine: where (harness/place/place.h). */
#define CARM_OPT_ON(value)                                                                                   \
    {                                                                                                        \
        "on", 0, "PLACE", "the whole machine",                                                               \
            "Part of the machine to use, as if the command had been started there. PLACE is socket:0, "      \
            "numa:1, l3:2-3, core:0-7, kind:p (the fast cores of a hybrid CPU), kind:e, cpu:4, or "          \
            "likwid's S0:0-3, M0:, C1:; several joined by commas. `carm info` lists those of this machine. " \
            "Such a place has a model of its own, HOST.PLACE.json.",                                         \
            value, "socket:|numa:|l3:|l2:|core:|kind:p|kind:e|cpu:"                                          \
    }

struct carm_command {
    const char *name;    /* "study"; of a sub-command with the command's: "study gemm" */
    const char *summary; /* one line */
    /* e.g. "[MODEL]", "" when none. For completion POINTS, FILE and names with an extension are
     * files, MODEL and BASELINE also measured machines, MACHINE is a published one, EXAMPLE one
     * of carm sol; words in lower case are literal words. Not read where there are sub-commands */
    const char *operands;
    const char *details;  /* paragraphs for --help and the man page, separated by \n\n */
    const char *examples; /* lines of commands, separated by \n */
    const struct carm_opt *opts;
    int max_operands; /* -1 = the first operand ends the options: a command with words of its own */
    /* operands are argv words that are no options; returns an exit code */
    int (*run)(int noperands, char **operands);
    /* sub-commands, ended by NULL: they have the operands, the options and run; NULL = none */
    const struct carm_command *const *subs;
    const char *exit_status; /* NULL = CARM_EXIT_USUAL */
};

/* Every command of this build, ended by NULL. main sets it before anything else; empty until then. */
extern const struct carm_command *const *carm_commands;

/* Values that carm_opt_choose and carm_opt_parse return in place of a number of words. */
enum { CARM_OPT_MISUSE = -1, CARM_OPT_HELP = -2 };

/* The command of that name, or NULL. commands: ended by NULL; the last word of their names counts */
const struct carm_command *carm_opt_find_command(const struct carm_command *const *commands,
                                                 const char *name);

/* The name of the command that a mistyped word may mean, or NULL; as carm_opt_find_command. */
const char *carm_opt_nearest(const struct carm_command *const *commands, const char *word);

/* Replaces a command that has sub-commands by the one that argv names. Options of the
 * sub-commands may come before its name. Prints errors to standard error.
 * cmd   in and out
 * argv  [argc] the words after the command's name; the sub-command's is taken out
 * returns the number of words left, CARM_OPT_MISUSE, or CARM_OPT_HELP where --help comes first */
int carm_opt_choose(const struct carm_command **cmd, int argc, char **argv);

/* The name of a command or sub-command without the command's before it: "gemm". */
const char *carm_opt_last_name(const struct carm_command *cmd);

/* Parses argv[0..argc) (the words after the command's name) by the command's table. Prints
 * errors to standard error.
 * returns the number of operands, left in argv[0..n), CARM_OPT_MISUSE or CARM_OPT_HELP */
int carm_opt_parse(const struct carm_command *cmd, int argc, char **argv);

/* "[=LIST]": the value may be left out; where it is given, it follows an equals sign. */
bool carm_opt_value_is_optional(const struct carm_opt *opt);

/* The next of words that are separated by '|': *words is moved behind it.
 * returns where it begins, or NULL at the end; its length goes to *length */
const char *carm_opt_next_word(const char **words, size_t *length);

/* An option's help, with its words where neither help nor default names them all, so that help,
 * completion and man page agree.
 * returns dst */
char *carm_opt_describe(char *dst, size_t size, const struct carm_opt *opt);

/* Prints help to standard output.
 * full  all paragraphs, and whole descriptions of options; else the first paragraph and first sentences */
void carm_opt_help(const struct carm_command *cmd, bool full);
void carm_opt_usage(void); /* the list of commands, to standard output */

/* Prints head and the text to standard output, wrapped to 79 columns; lines after the first
 * begin with `indent` blanks. */
__attribute__((format(printf, 3, 4))) void carm_opt_print_wrapped(const char *head, int indent,
                                                                  const char *fmt, ...);

/* Columns of the terminal on standard error, at most 100; 0 = no terminal. */
int carm_say_width(void);

/* Prints "carm: <head><sentence>" to standard error, in one line of printable text; on a terminal wrapped to
 * 100 columns or its own width. */
__attribute__((format(printf, 2, 0))) void carm_say(const char *head, const char *fmt, va_list ap);

/* carm_say with variable arguments. */
__attribute__((format(printf, 2, 3))) void carm_say_line(const char *head, const char *fmt, ...);

/* Prints "carm: <sentence>" to standard error and returns code. */
__attribute__((format(printf, 2, 3))) int carm_say_error(int code, const char *fmt, ...);

/* The exit code of a command whose last call returned rc. Where rc is not 0, it prints the error: -CARM_EINVAL is
 * misuse, any other a failure. */
int carm_say_outcome(int rc, const struct carm_err *err);

/* Expands the values of a command's options that name output files (arg is carm_opt_outfile), but
 * for "-". They stay for the rest of the program. Folders of names with %h and the like, which many jobs
 * write, are made later. The folder of any other file must exist, as its name may be mistyped.
 * returns 0, -CARM_EINVAL (the sentence names the option) or -CARM_ENOMEM */
int carm_opt_expand_outnames(const struct carm_command *command, struct carm_err *err);
