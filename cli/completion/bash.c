/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Completion for bash: a function that tells what a place takes, made from the tables, and one that
 * finds the place, which is the same for any tables. */
#include <stdbool.h>
#include <stdio.h>

#include "cli/completion/value.h"

/* Bash cuts words at = and : and replaces what stands behind the last of them, so that `line` is
 * cut again at blanks, and `cut` characters are taken off every answer. A file is left to readline
 * (complete -o default), which knows quotes, tildes and blanks. */
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

static void put_option(const struct carm_command *cmd, const struct carm_opt *o)
{
    struct carm_completion_value value;
    carm_completion_of_option(o, &value);
    const char letter[2] = {o->letter, '\0'};
    const bool bare = carm_opt_may_lack_value(o); /* a switch unless = follows */
    (void)printf("    ");
    if (bare) {
        CARM_COMPLETION_QUOTE(cmd->name, ":--", o->name);
        (void)printf(") carm_kind=switch ;;\n    ");
    } else {
        CARM_COMPLETION_QUOTE(cmd->name, ":--", o->name);
        (void)printf(" | ");
    }
    if (o->letter) {
        CARM_COMPLETION_QUOTE(cmd->name, ":-", letter);
        (void)printf(" | ");
    }
    CARM_COMPLETION_QUOTE(cmd->name, ":--", o->name, "=");
    (void)printf(") carm_kind=%s carm_words=(", carm_completion_kind_name(value.kind));
    carm_completion_quote_words(&value);
    (void)printf(" ) ;;\n");
}

static void put_options(const struct carm_command *cmd)
{
    (void)printf("    ");
    CARM_COMPLETION_QUOTE(cmd->name, ":-");
    (void)printf(") carm_kind=words carm_words=(");
    for (const struct carm_opt *o = cmd->opts; o && o->name; o++) {
        (void)putchar(' ');
        CARM_COMPLETION_QUOTE("--", o->name);
        if (carm_opt_may_lack_value(o)) {
            (void)putchar(' ');
            CARM_COMPLETION_QUOTE("--", o->name, "=");
        }
    }
    (void)printf(" --help ) ;;\n");
    for (const struct carm_opt *o = cmd->opts; o && o->name; o++) {
        put_option(cmd, o);
    }
}

static int put_command(const struct carm_command *cmd, struct carm_err *err)
{
    struct carm_completion_value value;
    const int rc = carm_completion_of_operands(cmd, &value, err);
    if (rc) {
        return rc;
    }
    (void)printf("    ");
    CARM_COMPLETION_QUOTE(cmd->name, ":");
    (void)printf(") carm_kind=%s carm_most=%d carm_words=(", carm_completion_kind_name(value.kind),
                 cmd->max_operands < 0 ? 1 : cmd->max_operands);
    carm_completion_quote_words(&value);
    (void)printf(" ) ;;\n");
    put_options(cmd);
    return 0;
}

static void put_names(void)
{
    for (const struct carm_command *const *c = carm_commands; *c; c++) {
        (void)putchar(' ');
        CARM_COMPLETION_QUOTE((*c)->name);
    }
}

int carm_completion_bash(struct carm_err *err)
{
    (void)printf("# SPDX-License-Identifier: GPL-3.0-or-later\n"
                 "# bash completion of carm(1), made by `carm --completion bash`\n"
                 "# shellcheck shell=bash\n\n"
                 "# What a place takes: carm_kind, carm_words, and carm_most operands. OPTION is\n"
                 "# empty for operands, - for the options themselves.\n"
                 "_carm_takes() { # COMMAND OPTION\n"
                 "    carm_kind=none carm_words=() carm_most=0\n"
                 "    case $1:$2 in\n"
                 "    :) carm_words=(");
    put_names();
    (void)printf(" --help --version --man --completion ) ;;\n"
                 "    help:) carm_kind=words carm_most=1 carm_words=(");
    put_names();
    (void)printf(" ) ;;\n"
                 "    --completion:) carm_kind=words carm_most=1 carm_words=( bash zsh ) ;;\n"
                 "    *:--help | *:-h) carm_kind=switch ;;\n");
    for (const struct carm_command *const *c = carm_commands; *c; c++) {
        const int rc = put_command(*c, err);
        if (rc) {
            return rc;
        }
    }
    (void)printf("    esac\n}\n\n%s", finder);
    return 0;
}
