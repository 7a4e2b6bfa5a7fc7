/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/completion.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "models/file/gallery.h"
#include "models/file/published.h"
#include "models/file/sol/open.h"

static const char *kind_name(enum carm_completion_kind kind)
{
    static const char *const names[CARM_COMPLETION_KIND_COUNT] = {
        [CARM_COMPLETION_SWITCH] = "switch",   [CARM_COMPLETION_NONE] = "none",
        [CARM_COMPLETION_WORDS] = "words",     [CARM_COMPLETION_LIST] = "list",
        [CARM_COMPLETION_FILES] = "files",     [CARM_COMPLETION_MIXED] = "mixed",
        [CARM_COMPLETION_COMMAND] = "command", [CARM_COMPLETION_SUB] = "sub",
    };
    return names[kind];
}

static bool is(const char *word, size_t length, const char *name)
{
    return strlen(name) == length && strncmp(word, name, length) == 0;
}

/* Adds a word once: BASELINE and MODEL of one command have the same words. */
static void add_word(struct carm_completion_value *value, const char *word, size_t length)
{
    for (size_t i = 0; i < value->nwords; i++) {
        if (is(word, length, value->words[i])) {
            return;
        }
    }
    if (value->nwords < CARM_COMPLETION_WORDS_MAX && length < CARM_COMPLETION_WORD_MAX) {
        snprintf(value->words[value->nwords++], CARM_COMPLETION_WORD_MAX, "%.*s", (int)length,
                 word);
    }
}

/* Adds the words that may replace a model's file. */
static void add_models(struct carm_completion_value *value)
{
    const char *name;
    for (size_t i = 0; (name = carm_gallery_name(i)) != NULL; i++) {
        add_word(value, name, strlen(name));
    }
    add_word(value, "mine", strlen("mine"));
}

void carm_completion_of_option(const struct carm_opt *opt, struct carm_completion_value *value)
{
    const char *words = opt->words;
    const char *word = NULL;
    size_t length = 0;
    value->nwords = 0;
    while ((word = carm_opt_next_word(&words, &length))) {
        add_word(value, word, length);
    }
    if (opt->arg && strcmp(opt->arg, "MODEL") == 0) {
        add_models(value);
        value->kind = CARM_COMPLETION_MIXED;
    } else if (!opt->arg) {
        value->kind = CARM_COMPLETION_SWITCH;
    } else if (value->nwords == 0) {
        value->kind = strstr(opt->arg, "FILE") ? CARM_COMPLETION_FILES : CARM_COMPLETION_NONE;
    } else {
        value->kind = strstr(opt->arg, "LIST")   ? CARM_COMPLETION_LIST
                      : strstr(opt->arg, "FILE") ? CARM_COMPLETION_MIXED
                                                 : CARM_COMPLETION_WORDS;
    }
}

static int add_machines(struct carm_completion_value *value, struct carm_err *err)
{
    struct carm_published *published = NULL;
    const int rc = carm_published_load(&published, err);
    if (rc) {
        return rc;
    }
    for (size_t i = 0; i < published->nmachines; i++) {
        add_word(value, published->machines[i].name, strlen(published->machines[i].name));
    }
    carm_published_close(published);
    return 0;
}

static void add_examples(struct carm_completion_value *value)
{
    for (const char *const *name = carm_sol_example_names(); *name; name++) {
        add_word(value, *name, strlen(*name));
    }
}

int carm_completion_of_operands(const struct carm_command *cmd, struct carm_completion_value *value,
                                struct carm_err *err)
{
    static const char between[] = " |[]";
    bool files = false;
    value->nwords = 0;
    value->kind = CARM_COMPLETION_NONE;
    if (cmd->subs) {
        value->kind = CARM_COMPLETION_SUB;
        for (const struct carm_command *const *sub = cmd->subs; *sub; sub++) {
            const char *name = carm_opt_last_name(*sub);
            add_word(value, name, strlen(name));
        }
        return 0;
    }
    if (cmd->max_operands < 0) {
        value->kind = CARM_COMPLETION_COMMAND;
        return 0;
    }
    for (const char *at = cmd->operands + strspn(cmd->operands, between); *at;) {
        const size_t whole = strcspn(at, between);
        const size_t length =
            whole > 3 && strncmp(at + whole - 3, "...", 3) == 0 ? whole - 3 : whole;
        const bool extension = memchr(at, '.', length) != NULL; /* GRAPH.yaml */
        if (islower((unsigned char)*at)) {
            add_word(value, at, length);
        } else if (extension || is(at, length, "POINTS") || is(at, length, "FILE")) {
            files = true;
        } else if (is(at, length, "MODEL") || is(at, length, "BASELINE")) {
            add_models(value);
            files = true;
        } else if (is(at, length, "EXAMPLE")) {
            add_examples(value);
        } else if (is(at, length, "MACHINE")) {
            const int rc = add_machines(value, err);
            if (rc) {
                return rc;
            }
        }
        at += whole;
        at += strspn(at, between);
    }
    if (value->nwords) {
        value->kind = files ? CARM_COMPLETION_MIXED : CARM_COMPLETION_WORDS;
    } else if (files) {
        value->kind = CARM_COMPLETION_FILES;
    }
    return 0;
}

/* Prints the strings, joined, to standard output as one word of bash or zsh, whatever characters
 * they contain; the last one is NULL. */
static void quote_strings(const char *const *strings)
{
    putchar('\'');
    for (const char *const *s = strings; *s; s++) {
        for (const char *c = *s; *c; c++) {
            if (*c == '\'') {
                printf("'\\''");
            } else {
                putchar(*c);
            }
        }
    }
    putchar('\'');
}

#define QUOTE(...) quote_strings((const char *const[]){__VA_ARGS__, NULL})

/* Prints " 'word'" for each word. */
static void quote_words(const struct carm_completion_value *value)
{
    for (size_t i = 0; i < value->nwords; i++) {
        putchar(' ');
        QUOTE(value->words[i]);
    }
}

/* A command's name in the scripts' tables: "study/gemm". */
static const char *key_of(char *dst, size_t size, const struct carm_command *cmd)
{
    const size_t parent = (size_t)(carm_opt_last_name(cmd) - cmd->name);
    snprintf(dst, size, "%s", cmd->name);
    if (parent && parent < size) {
        dst[parent - 1] = '/';
    }
    return dst;
}

enum { KEY_MAX = 128 };

/* ---- bash ---- */

/* Bash splits words at = and : and replaces the text behind the last of them. So `line` is split
 * again at blanks, and the first `cut` characters of every answer are removed. A file is left to
 * readline (complete -o default), which knows quotes, tildes and blanks. */
static const char finder[] =
    "_carm_reply() { # BEFORE VALUE: carm_words that begin with VALUE, with BEFORE before them\n"
    "    local word\n"
    "    for word in \"${carm_words[@]}\"; do\n"
    "        [[ $word == \"$2\"* && ,$1 != *,\"$word\",* ]] || continue\n"
    "        [[ $word == *[!A-Za-z0-9_.:=/@%+-]* ]] && printf -v word %q \"$word\"\n"
    "        word=$1$word\n"
    "        COMPREPLY+=(\"${word:carm_cut}\")\n"
    "    done\n"
    "}\n"
    "\n"
    "_carm() {\n"
    "    local line=${COMP_LINE:0:COMP_POINT} rest='' piece='' word='' option='' before=''\n"
    "    local only='' carm_kind='' carm_cut=0 carm_most=0 i operands=0\n"
    "    local -a words=() at=() carm_words=()\n"
    "    COMPREPLY=()\n"
    "    for ((i = 0; i <= COMP_CWORD; i++)); do\n"
    "        rest=${line#\"${line%%[![:space:]]*}\"}\n"
    "        piece=${COMP_WORDS[i]}\n"
    "        ((i < COMP_CWORD)) || piece=$rest\n"
    "        if ((i > 0)) && [[ $rest == \"$line\" ]]; then\n"
    "            words[${#words[@]} - 1]+=$piece\n"
    "        else\n"
    "            words+=(\"$piece\") at+=(\"$i\")\n"
    "        fi\n"
    "        line=${rest#\"$piece\"}\n"
    "    done\n"
    "    local last=$((${#words[@]} - 1))\n"
    "    local value=${words[last]} command=${words[1]}\n"
    "    [[ $piece == [=:]* ]] && piece=\n"
    "    carm_cut=$((${#value} - ${#piece}))\n"
    "    if ((last < 1)) || [[ ${words[last - 1]} == *[\\<\\>] ]]; then\n"
    "        return\n"
    "    fi\n"
    "    if ((last == 1)); then\n"
    "        _carm_takes '' ''\n"
    "        _carm_reply '' \"$value\"\n"
    "        compopt +o default +o bashdefault 2>/dev/null\n"
    "        return\n"
    "    fi\n"
    "    for ((i = 2; i < last; i++)); do\n"
    "        word=${words[i]}\n"
    "        if [[ $option ]]; then\n"
    "            option=\n"
    "        elif [[ ! $only && $word == -- ]]; then\n"
    "            only=1\n"
    "        elif [[ ! $only && $word == -?* ]]; then\n"
    "            _carm_takes \"$command\" \"$word\"\n"
    "            [[ $carm_kind == switch || $word == *=* ]] || option=$word\n"
    "        else\n"
    "            _carm_takes \"$command\" ''\n"
    "            if [[ $carm_kind == sub ]]; then\n"
    "                command=$command/$word\n"
    "                continue\n"
    "            fi\n"
    "            if [[ $carm_kind == command ]]; then\n"
    "                declare -F _command_offset >/dev/null && _command_offset \"${at[i]}\"\n"
    "                return\n"
    "            fi\n"
    "            operands=$((operands + 1))\n"
    "        fi\n"
    "    done\n"
    "    if [[ $option ]]; then\n"
    "        _carm_takes \"$command\" \"$option\"\n"
    "    elif [[ ! $only && $value == --*=* ]]; then\n"
    "        before=${value%%=*}=\n"
    "        _carm_takes \"$command\" \"$before\"\n"
    "        value=${value#*=}\n"
    "    elif [[ ! $only && $value == -* ]]; then\n"
    "        _carm_takes \"$command\" -\n"
    "    else\n"
    "        _carm_takes \"$command\" ''\n"
    "        ((operands < carm_most)) || carm_kind=none carm_words=()\n"
    "    fi\n"
    "    case $carm_kind in\n"
    "    files) return ;;\n"
    "    command)\n"
    "        mapfile -t COMPREPLY < <(compgen -c -- \"$value\")\n"
    "        return\n"
    "        ;;\n"
    "    list) _carm_reply \"$before${value%\"${value##*,}\"}\" \"${value##*,}\" ;;\n"
    "    mixed)\n"
    "        [[ $value == *[\\\\\\'\\\"\\$~]* ]] && return\n"
    "        _carm_reply \"$before\" \"$value\"\n"
    "        ((${#COMPREPLY[@]})) || return\n"
    "        mapfile -t -O \"${#COMPREPLY[@]}\" COMPREPLY < <(compgen -f -- \"$value\")\n"
    "        compopt -o filenames 2>/dev/null\n"
    "        return\n"
    "        ;;\n"
    "    *) _carm_reply \"$before\" \"$value\" ;;\n"
    "    esac\n"
    "    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace 2>/dev/null\n"
    "    compopt +o default +o bashdefault 2>/dev/null\n"
    "}\n"
    "\n"
    "complete -o bashdefault -o default -F _carm carm\n";

static void bash_option(const char *key, const struct carm_opt *o)
{
    struct carm_completion_value value;
    carm_completion_of_option(o, &value);
    const char letter[2] = {o->letter, '\0'};
    const bool bare = carm_opt_value_is_optional(o); /* a switch, unless = follows */
    printf("    ");
    if (bare) {
        QUOTE(key, ":--", o->name);
        printf(") carm_kind=switch ;;\n    ");
    } else {
        QUOTE(key, ":--", o->name);
        printf(" | ");
    }
    if (o->letter) {
        QUOTE(key, ":-", letter);
        printf(" | ");
    }
    QUOTE(key, ":--", o->name, "=");
    printf(") carm_kind=%s carm_words=(", kind_name(value.kind));
    quote_words(&value);
    printf(" ) ;;\n");
}

static void bash_options(const char *key, const struct carm_command *cmd)
{
    printf("    ");
    QUOTE(key, ":-");
    printf(") carm_kind=words carm_words=(");
    for (const struct carm_opt *o = cmd->opts; o && o->name; o++) {
        putchar(' ');
        QUOTE("--", o->name);
        if (carm_opt_value_is_optional(o)) {
            putchar(' ');
            QUOTE("--", o->name, "=");
        }
    }
    printf(" --help ) ;;\n");
    for (const struct carm_opt *o = cmd->opts; o && o->name; o++) {
        bash_option(key, o);
    }
}

/* Whether one of the commands before `end` has the option. */
static bool has_before(const struct carm_command *const *commands,
                       const struct carm_command *const *end, const char *name)
{
    for (const struct carm_command *const *c = commands; c < end; c++) {
        for (const struct carm_opt *o = (*c)->opts; o && o->name; o++) {
            if (strcmp(o->name, name) == 0) {
                return true;
            }
        }
    }
    return false;
}

/* Prints a command with its sub-commands, whose options may come before the sub-command's name. Of
 * options with one name the first counts. */
static int bash_command(const struct carm_command *cmd, struct carm_err *err)
{
    struct carm_completion_value value;
    char key[KEY_MAX];
    key_of(key, sizeof key, cmd);
    int rc = carm_completion_of_operands(cmd, &value, err);
    if (rc) {
        return rc;
    }
    printf("    ");
    QUOTE(key, ":");
    printf(") carm_kind=%s carm_most=%d carm_words=(", kind_name(value.kind),
           cmd->subs || cmd->max_operands < 0 ? 1 : cmd->max_operands);
    quote_words(&value);
    printf(" ) ;;\n");
    bash_options(key, cmd);
    for (const struct carm_command *const *sub = cmd->subs; sub && *sub && rc == 0; sub++) {
        for (const struct carm_opt *o = (*sub)->opts; o && o->name; o++) {
            if (!has_before(cmd->subs, sub, o->name)) {
                bash_option(key, o);
            }
        }
        rc = bash_command(*sub, err);
    }
    return rc;
}

static void bash_names(void)
{
    for (const struct carm_command *const *c = carm_commands; *c; c++) {
        putchar(' ');
        QUOTE((*c)->name);
    }
}

static int print_bash(struct carm_err *err)
{
    printf("# SPDX-License-Identifier: GPL-3.0-or-later\n"
           "# bash completion of carm(1), made by `carm --completion bash`\n"
           "# shellcheck shell=bash\n\n"
           "# What a place takes: carm_kind, carm_words, and carm_most operands. OPTION is\n"
           "# empty for operands, - for the options themselves.\n"
           "_carm_takes() { # COMMAND OPTION\n"
           "    carm_kind=none carm_words=() carm_most=0\n"
           "    case $1:$2 in\n"
           "    :) carm_words=(");
    bash_names();
    printf(" --help --version --man --completion ) ;;\n"
           "    help:) carm_kind=words carm_most=1 carm_words=(");
    bash_names();
    printf(" ) ;;\n"
           "    --man:) carm_kind=words carm_most=1 carm_words=(");
    bash_names();
    printf(" ) ;;\n"
           "    --completion:) carm_kind=words carm_most=1 carm_words=( bash zsh ) ;;\n"
           "    *:--help | *:-h) carm_kind=switch ;;\n");
    for (const struct carm_command *const *c = carm_commands; *c; c++) {
        const int rc = bash_command(*c, err);
        if (rc) {
            return rc;
        }
    }
    printf("    esac\n}\n\n%s", finder);
    return 0;
}

/* ---- zsh ---- */

/* Length of the text's first sentence, without its full stop. */
static size_t sentence(const char *text)
{
    const char *end = strstr(text, ". ");
    while (end && !(end[2] >= 'A' && end[2] <= 'Z')) { /* not in "e.g. 2G" */
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
static void zsh_form(const char *key, const struct carm_opt *o, bool letter)
{
    char help[1024];
    char arg[64];
    char form[80];
    char both[96] = "";
    const bool bare = carm_opt_value_is_optional(o);
    const char *const equals = letter || !o->arg ? "" : bare ? "=-" : "=";
    if (letter) {
        snprintf(form, sizeof form, "-%c", o->letter);
    } else {
        snprintf(form, sizeof form, "--%.64s", o->name);
    }
    if (o->letter) {
        snprintf(both, sizeof both, "(-%c --%.64s)", o->letter, o->name);
    }
    describe(help, sizeof help, o->help);
    printf(" \\\n            ");
    if (!o->arg) {
        QUOTE(both, form, "[", help, "]");
        return;
    }
    describe(arg, sizeof arg, o->arg + (bare ? strcspn(o->arg, "=") + 1 : 0));
    arg[strcspn(arg, bare ? ")" : "")] = '\0'; /* "[=LIST]" without brackets */
    QUOTE(both, form, equals, "[", help, "]", bare ? "::" : ":", arg, ": _carm_value ", key, " --",
          o->name);
}

static void zsh_option(const char *key, const struct carm_opt *o)
{
    zsh_form(key, o, false);
    if (o->letter) {
        zsh_form(key, o, true);
    }
}

static void zsh_operands(const char *key, const struct carm_command *cmd)
{
    if (cmd->max_operands < 0) {
        printf(" \\\n            '(-)1:command: _command_names -e' '*::arguments: _normal'");
    } else if (cmd->max_operands > 0) {
        printf(" \\\n            ");
        QUOTE(cmd->max_operands > 1 ? "*" : "1", ":operand: _carm_value ", key, " operand");
    }
}

static void zsh_value(const char *command, const char *dashes, const char *name,
                      const struct carm_completion_value *value)
{
    if (value->nwords == 0 && value->kind != CARM_COMPLETION_FILES) {
        return;
    }
    printf("    ");
    QUOTE(command, ":", dashes, name);
    printf(")");
    if (value->kind == CARM_COMPLETION_LIST) {
        printf(" compset -P '*,'; compadd -q -S , --");
        quote_words(value);
        printf(";");
    } else if (value->nwords) {
        printf(" compadd --");
        quote_words(value);
        printf(";");
    }
    if (value->kind == CARM_COMPLETION_FILES || value->kind == CARM_COMPLETION_MIXED) {
        printf(" _files;");
    }
    printf(";\n");
}

static int zsh_values(const struct carm_command *cmd, struct carm_err *err)
{
    struct carm_completion_value value;
    char key[KEY_MAX];
    key_of(key, sizeof key, cmd);
    for (const struct carm_opt *o = cmd->opts; o && o->name; o++) {
        carm_completion_of_option(o, &value);
        zsh_value(key, "--", o->name, &value);
    }
    int rc = carm_completion_of_operands(cmd, &value, err);
    if (rc == 0 && !cmd->subs) {
        zsh_value(key, "", "operand", &value);
    }
    for (const struct carm_command *const *sub = cmd->subs; sub && *sub && rc == 0; sub++) {
        rc = zsh_values(*sub, err);
    }
    return rc;
}

static void zsh_names(const struct carm_command *const *commands)
{
    char help[256];
    printf("    known=( # not commands: zsh has that already\n");
    for (const struct carm_command *const *c = commands; *c; c++) {
        printf("        ");
        QUOTE(carm_opt_last_name(*c), ":", describe(help, sizeof help, (*c)->summary));
        printf("\n");
    }
    printf("    )\n");
}

/* The branch of $words[1]. */
static void zsh_command(const struct carm_command *cmd)
{
    char key[KEY_MAX];
    key_of(key, sizeof key, cmd);
    printf("    ");
    QUOTE(carm_opt_last_name(cmd));
    if (cmd->subs) {
        printf(")\n"
               "        _arguments -C '(- *)'{-h,--help}'[what it does]' \\\n"
               "            '1:sub-command:->command' '*::argument:->argument'\n");
        zsh_names(cmd->subs);
        printf("    [[ $state == command ]] && _describe -t commands sub-command known\n"
               "    [[ $state == argument ]] || return\n"
               "    curcontext=${curcontext%%:}-$words[1]:\n"
               "    case $words[1] in\n");
        for (const struct carm_command *const *sub = cmd->subs; *sub; sub++) {
            zsh_command(*sub);
        }
        printf("    esac\n        ;;\n");
        return;
    }
    printf(")\n        _arguments -S '(- *)'{-h,--help}'[what it does, and its options]'");
    for (const struct carm_opt *o = cmd->opts; o && o->name; o++) {
        zsh_option(key, o);
    }
    zsh_operands(key, cmd);
    printf("\n        ;;\n");
}

static void zsh_main(void)
{
    printf("_carm() {\n"
           "    local curcontext=$curcontext state line\n"
           "    local -a known\n");
    zsh_names(carm_commands);
    printf("    _arguments -C '(- *)'{-h,--help}'[the list of commands]' \\\n"
           "        '(- *)--version[the version]' '(- *)--man[a man page]::command:->command' \\\n"
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
        zsh_command(*c);
    }
    printf("    esac\n}\n");
}

static int print_zsh(struct carm_err *err)
{
    printf("#compdef carm\n"
           "# SPDX-License-Identifier: GPL-3.0-or-later\n"
           "# zsh completion of carm(1), made by `carm --completion zsh`\n\n"
           "_carm_value() { # COMMAND OPTION|operand\n"
           "    case $1:$2 in\n");
    for (const struct carm_command *const *c = carm_commands; *c; c++) {
        const int rc = zsh_values(*c, err);
        if (rc) {
            return rc;
        }
    }
    printf("    *) _message 'no completions' ;;\n    esac\n}\n\n");
    zsh_main();
    /* the script is a function of fpath, or is read by `source` */
    printf("\nif [[ $funcstack[1] == _carm ]]; then\n    _carm \"$@\"\nelse\n"
           "    compdef _carm carm\nfi\n");
    return 0;
}

int carm_completion_print(const char *shell)
{
    struct carm_err err = {""};
    int rc = 0;
    if (strcmp(shell, "bash") == 0) {
        rc = print_bash(&err);
    } else if (strcmp(shell, "zsh") == 0) {
        rc = print_zsh(&err);
    } else {
        return carm_say_error(CARM_EXIT_MISUSE,
                              "say for which shell: carm --completion bash, or zsh");
    }
    return rc ? carm_say_error(CARM_EXIT_FAILED, "%s", err.text) : CARM_EXIT_OK;
}
