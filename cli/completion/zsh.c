/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Completion for zsh: its _arguments reads the options' specifications, made from the tables. */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/completion/value.h"

/* Length of the text's first sentence, without its full stop. */
static size_t sentence(const char *text)
{
    const char *end = strstr(text, ". ");
    while (end && !(end[2] >= 'A' && end[2] <= 'Z')) { /* as in "e.g. 2G" */
        end = strstr(end + 2, ". ");
    }
    const size_t length = end ? (size_t)(end - text) : strlen(text);
    return length && text[length - 1] == '.' ? length - 1 : length;
}

/* The text's first sentence, made harmless between the brackets of a specification. */
static const char *describe(char *dst, size_t size, const char *text)
{
    const size_t length = sentence(text);
    size_t used = 0;
    for (size_t i = 0; i < length && used + 2 < size; i++) {
        const char c = text[i];
        if (c == ':' || c == '\\') {
            dst[used++] = '\\';
        }
        dst[used++] = c == '[' ? '(' : c == ']' ? ')' : c == '\n' ? ' ' : c;
    }
    dst[used] = '\0';
    return dst;
}

/* One form of an option: '(-t --threads)--threads=[help]:LIST: _carm_value build --threads' */
static void put_form(const struct carm_command *cmd, const struct carm_opt *o, bool letter)
{
    char help[1024];
    char arg[64];
    char form[80];
    char both[96] = "";
    const bool bare = carm_opt_may_lack_value(o);
    const char *const equals = letter || !o->arg ? "" : bare ? "=-" : "=";
    if (letter) {
        (void)snprintf(form, sizeof form, "-%c", o->letter);
    } else {
        (void)snprintf(form, sizeof form, "--%.64s", o->name);
    }
    if (o->letter) {
        (void)snprintf(both, sizeof both, "(-%c --%.64s)", o->letter, o->name);
    }
    (void)describe(help, sizeof help, o->help);
    (void)printf(" \\\n            ");
    if (!o->arg) {
        CARM_COMPLETION_QUOTE(both, form, "[", help, "]");
        return;
    }
    (void)describe(arg, sizeof arg, o->arg + (bare ? strcspn(o->arg, "=") + 1 : 0));
    arg[strcspn(arg, bare ? ")" : "")] = '\0'; /* "[=LIST]" without its frame */
    CARM_COMPLETION_QUOTE(both, form, equals, "[", help, "]", bare ? "::" : ":", arg,
                          ": _carm_value ", cmd->name, " --", o->name);
}

static void put_option(const struct carm_command *cmd, const struct carm_opt *o)
{
    put_form(cmd, o, false);
    if (o->letter) {
        put_form(cmd, o, true);
    }
}

static void put_operands(const struct carm_command *cmd)
{
    if (cmd->max_operands < 0) {
        (void)printf(" \\\n            '(-)1:command: _command_names -e' '*::arguments: _normal'");
    } else if (cmd->max_operands > 0) {
        (void)printf(" \\\n            ");
        CARM_COMPLETION_QUOTE(cmd->max_operands > 1 ? "*" : "1", ":operand: _carm_value ",
                              cmd->name, " operand");
    }
}

static void put_value(const char *command, const char *dashes, const char *name,
                      const struct carm_completion_value *value)
{
    if (value->nwords == 0 && value->kind != CARM_COMPLETION_FILES) {
        return;
    }
    (void)printf("    ");
    CARM_COMPLETION_QUOTE(command, ":", dashes, name);
    (void)printf(")");
    if (value->kind == CARM_COMPLETION_LIST) {
        (void)printf(" compset -P '*,'; compadd -q -S , --");
        carm_completion_quote_words(value);
        (void)printf(";");
    } else if (value->nwords) {
        (void)printf(" compadd --");
        carm_completion_quote_words(value);
        (void)printf(";");
    }
    if (value->kind == CARM_COMPLETION_FILES || value->kind == CARM_COMPLETION_MIXED) {
        (void)printf(" _files;");
    }
    (void)printf(";\n");
}

static int put_values(const struct carm_command *cmd, struct carm_err *err)
{
    struct carm_completion_value value;
    for (const struct carm_opt *o = cmd->opts; o && o->name; o++) {
        carm_completion_of_option(o, &value);
        put_value(cmd->name, "--", o->name, &value);
    }
    const int rc = carm_completion_of_operands(cmd, &value, err);
    if (rc == 0) {
        put_value(cmd->name, "", "operand", &value);
    }
    return rc;
}

static void put_commands(void)
{
    char help[256];
    (void)printf("    known=( # not commands: zsh has that already\n");
    for (const struct carm_command *const *c = carm_commands; *c; c++) {
        (void)printf("        ");
        CARM_COMPLETION_QUOTE((*c)->name, ":", describe(help, sizeof help, (*c)->summary));
        (void)printf("\n");
    }
    (void)printf("    )\n");
}

static void put_main(void)
{
    (void)printf("_carm() {\n"
                 "    local curcontext=$curcontext state line\n"
                 "    local -a known\n");
    put_commands();
    (void)printf("    _arguments -C '(- *)'{-h,--help}'[the list of commands]' \\\n"
                 "        '(- *)--version[the version]' '(- *)--man[the man page]' \\\n"
                 "        '(- *)--completion[a script of completions]:shell:(bash zsh)' \\\n"
                 "        '1:command:->command' '*::argument:->argument'\n"
                 "    if [[ $state == command ]]; then\n"
                 "        _describe -t commands command known\n"
                 "    fi\n"
                 "    [[ $state == argument ]] || return\n"
                 "    curcontext=${curcontext%%:*:*}:carm-$words[1]:\n"
                 "    case $words[1] in\n"
                 "    help) ((CURRENT > 2)) || _describe -t commands command known ;;\n");
    for (const struct carm_command *const *c = carm_commands; *c; c++) {
        (void)printf("    ");
        CARM_COMPLETION_QUOTE((*c)->name);
        (void)printf(
            ")\n        _arguments -S '(- *)'{-h,--help}'[what it does, and its options]'");
        for (const struct carm_opt *o = (*c)->opts; o && o->name; o++) {
            put_option(*c, o);
        }
        put_operands(*c);
        (void)printf("\n        ;;\n");
    }
    (void)printf("    esac\n}\n");
}

int carm_completion_zsh(struct carm_err *err)
{
    (void)printf("#compdef carm\n"
                 "# SPDX-License-Identifier: GPL-3.0-or-later\n"
                 "# zsh completion of carm(1), made by `carm --completion zsh`\n\n"
                 "_carm_value() { # COMMAND OPTION|operand\n"
                 "    case $1:$2 in\n");
    for (const struct carm_command *const *c = carm_commands; *c; c++) {
        const int rc = put_values(*c, err);
        if (rc) {
            return rc;
        }
    }
    (void)printf("    *) _message 'no completions' ;;\n    esac\n}\n\n");
    put_main();
    /* as a function of fpath, or read by `source` */
    (void)printf("\nif [[ $funcstack[1] == _carm ]]; then\n    _carm \"$@\"\nelse\n"
                 "    compdef _carm carm\nfi\n");
    return 0;
}
