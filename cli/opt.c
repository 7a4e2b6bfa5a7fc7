/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/opt.h"

#include <ctype.h>
#include <stdarg.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "base/outname.h"
#include "base/text.h"

const char carm_opt_outfile[] = "FILE";

int carm_say_error(int code, const char *fmt, ...)
{
    char text[1024];
    char clean[1024];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    (void)fprintf(stderr, "carm: %s\n", carm_text_clean(clean, sizeof clean, text, false));
    return code;
}

/* ---- parsing -------------------------------------------------------------------------------- */

static const struct carm_opt *find_option(const struct carm_command *cmd, const char *word,
                                          size_t length)
{
    for (const struct carm_opt *o = cmd->opts; o && o->name; o++) {
        bool is_long = word[1] == '-' && strlen(o->name) == length - 2 &&
                       strncmp(o->name, word + 2, length - 2) == 0;
        bool is_short = length == 2 && o->letter && word[1] == o->letter;
        if (is_long || is_short) {
            return o;
        }
    }
    return NULL;
}

bool carm_opt_may_lack_value(const struct carm_opt *opt)
{
    return opt->arg && opt->arg[0] == '[';
}

int carm_opt_parse(const struct carm_command *cmd, int argc, char **argv)
{
    int operands = 0;
    bool only_operands = false;
    for (int i = 0; i < argc; i++) {
        char *word = argv[i];
        if (only_operands || word[0] != '-' || word[1] == '\0') {
            argv[operands++] = word;
            only_operands = only_operands || cmd->max_operands < 0;
            continue;
        }
        if (strcmp(word, "--") == 0) {
            only_operands = true;
            continue;
        }
        if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            return -2;
        }
        const char *equals = word[1] == '-' ? strchr(word, '=') : NULL;
        size_t length = equals ? (size_t)(equals - word) : strlen(word);
        const struct carm_opt *o = find_option(cmd, word, length);
        if (!o) {
            (void)carm_say_error(0, "%s has no option %.*s; `carm %s --help` lists them", cmd->name,
                                 (int)length, word, cmd->name);
            return -1;
        }
        if (!o->arg && equals) {
            (void)carm_say_error(0, "--%s takes no value", o->name);
            return -1;
        }
        if (carm_opt_may_lack_value(o) && equals && equals[1] == '\0') {
            (void)carm_say_error(0, "--%s= lacks its value: --%s, or --%s%s", o->name, o->name,
                                 o->name, o->arg);
            return -1;
        }
        if (!o->arg || (carm_opt_may_lack_value(o) && !equals)) {
            *o->value = "";
        } else if (equals) {
            *o->value = equals + 1;
        } else if (i + 1 < argc) {
            *o->value = argv[++i];
        } else {
            (void)carm_say_error(0, "--%s needs a value: --%s %s", o->name, o->name, o->arg);
            return -1;
        }
    }
    if (cmd->max_operands >= 0 && operands > cmd->max_operands) {
        (void)carm_say_error(0,
                             "%s takes at most %d operand%s, '%s' is too many; see `carm %s "
                             "--help`",
                             cmd->name, cmd->max_operands, cmd->max_operands == 1 ? "" : "s",
                             argv[cmd->max_operands], cmd->name);
        return -1;
    }
    return operands;
}

/* Whether a command writes files that its options name. */
static bool writes_files(const struct carm_command *cmd)
{
    for (const struct carm_opt *o = cmd->opts; o && o->name; o++) {
        if (o->arg == carm_opt_outfile) {
            return true;
        }
    }
    return false;
}

/* ---- help ----------------------------------------------------------------------------------- */

const char *carm_opt_next_word(const char **words, size_t *length)
{
    const char *word = *words;
    if (!word || *word == '\0') {
        return NULL;
    }
    *length = strcspn(word, "|");
    *words = word + *length + (word[*length] == '|' ? 1 : 0);
    return word;
}

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '-' || c == ':';
}

/* True where the text has the word, and not as a part of another one. */
static bool names_word(const char *text, const char *word, size_t length)
{
    bool before = false; /* the character before is of a word */
    for (const char *at = text; *at; at++) {
        const bool same = strncmp(at, word, length) == 0;
        const bool ends = same && (!in_word(at[length]) || strncmp(at + length, ": ", 2) == 0);
        if (!before && ends) {
            return true;
        }
        before = in_word(*at);
    }
    return false;
}

/* An option's help with its words, where neither help nor default name them all: help, completion
 * and man page agree.
 * returns dst */
static char *help_text(char *dst, size_t size, const struct carm_opt *o)
{
    const char *words = o->words;
    const char *word = NULL;
    size_t length = 0;
    bool all = true;
    while ((word = carm_opt_next_word(&words, &length))) {
        all = all &&
              (names_word(o->help, word, length) || (o->dflt && names_word(o->dflt, word, length)));
    }
    int used = snprintf(dst, size, "%s%s", o->help, all ? "" : " Words: ");
    words = o->words;
    while (!all && used > 0 && (size_t)used < size &&
           (word = carm_opt_next_word(&words, &length))) {
        used += snprintf(dst + used, size - (size_t)used, "%.*s%s", (int)length, word,
                         *words ? ", " : ".");
    }
    return dst;
}

/* Prints text wrapped to 79 columns, every line after the first behind `indent` blanks; column is
 * where the cursor stands. */
static void print_wrapped(const char *text, int indent, int column)
{
    const char *at = text;
    bool first = true;
    while (*at) {
        if (*at == '\n') { /* a blank line between paragraphs */
            (void)printf("\n%s%*s", at[1] == '\n' ? "\n" : "", indent, "");
            at += at[1] == '\n' ? 2 : 1;
            column = indent;
            first = true;
            continue;
        }
        int length = (int)strcspn(at, " \n");
        if (!first && column + 1 + length > 79) {
            (void)printf("\n%*s", indent, "");
            column = indent;
            first = true;
        }
        (void)printf("%s%.*s", first ? "" : " ", length, at);
        column += length + (first ? 0 : 1);
        first = false;
        at += length;
        at += *at == ' ' ? 1 : 0;
    }
    (void)printf("\n");
}

void carm_opt_print_wrapped(const char *head, int indent, const char *fmt, ...)
{
    char text[2048];
    char clean[2048];
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    const int column = printf("%s", head);
    print_wrapped(carm_text_clean(clean, sizeof clean, text, false), indent, column);
}

void carm_opt_help(const struct carm_command *cmd)
{
    enum { HELP_COLUMN = 24 };
    (void)printf("carm %s - %s\n\nusage: carm %s [options]%s%s\n\n", cmd->name, cmd->summary,
                 cmd->name, *cmd->operands ? " " : "", cmd->operands);
    print_wrapped(cmd->details, 0, 0);
    if (writes_files(cmd)) {
        (void)printf("\n");
        print_wrapped(CARM_OUTNAME_HELP, 0, 0);
    }
    (void)printf("\noptions:\n");
    for (const struct carm_opt *o = cmd->opts; o && o->name; o++) {
        char letter[8] = "    ";
        if (o->letter) {
            (void)snprintf(letter, sizeof letter, "-%c, ", o->letter);
        }
        int n = printf("  %s--%s%s%s", letter, o->name,
                       o->arg && !carm_opt_may_lack_value(o) ? " " : "", o->arg ? o->arg : "");
        if (n > HELP_COLUMN - 2) {
            (void)printf("\n");
            n = 0;
        }
        (void)printf("%*s", HELP_COLUMN - n, "");
        char help[1024];
        char text[1280];
        (void)snprintf(text, sizeof text, "%s%s%s%s", help_text(help, sizeof help, o),
                       o->dflt ? " (default: " : "", o->dflt ? o->dflt : "", o->dflt ? ")" : "");
        print_wrapped(text, HELP_COLUMN, HELP_COLUMN);
    }
    (void)printf("  -h, --help            this text\n");
    if (cmd->examples) {
        (void)printf("\nexamples:\n  ");
        for (const char *c = cmd->examples; *c; c++) {
            (void)putchar(*c);
            if (*c == '\n') {
                (void)printf("  ");
            }
        }
        (void)printf("\n");
    }
}

void carm_opt_usage(void)
{
    (void)printf("carm - cache-aware roofline of this CPU, measured\n\nusage: carm COMMAND "
                 "[options]\n\ncommands:\n");
    for (const struct carm_command *const *c = carm_commands; *c; c++) {
        (void)printf("  %-10s %s\n", (*c)->name, (*c)->summary);
    }
    (void)printf(
        "\n`carm COMMAND --help` tells all about one; `carm --version` prints the version,\n"
        "`carm --completion bash` or zsh a script that completes commands there.\n"
        "Exit status: 0 done, 1 could not, 2 misuse.\n");
}

/* ---- the man page --------------------------------------------------------------------------- */

/* Text with roff's own characters made harmless. Newlines in pairs become paragraphs. */
static void man_text(const char *s)
{
    bool line_start = true;
    for (; *s; s++) {
        if (s[0] == '\n' && s[1] == '\n') {
            (void)printf("\n.Pp\n");
            s++;
            line_start = true;
            continue;
        }
        if (s[0] == '.' && s[1] == ' ' && s[2] >= 'A' && s[2] <= 'Z') {
            (void)printf(".\n"); /* mdoc wants each sentence on a line of its own */
            s++;
            line_start = true;
            continue;
        }
        if (line_start && (*s == '.' || *s == '\'')) {
            (void)printf("\\&");
        }
        if (*s == '\\') {
            (void)printf("\\e");
        } else if (*s == '-') {
            (void)printf("\\-");
        } else {
            (void)putchar(*s);
        }
        line_start = *s == '\n';
    }
}

static void man_command(const struct carm_command *cmd)
{
    (void)printf(".Ss carm %s\n.Nm\n.Cm %s\n.Op Ar options\n", cmd->name, cmd->name);
    if (*cmd->operands) {
        (void)printf(".Ar ");
        man_text(cmd->operands);
        (void)printf("\n");
    }
    (void)printf(".Pp\n");
    man_text(cmd->details);
    (void)printf("\n.Bl -tag -width Ds\n");
    for (const struct carm_opt *o = cmd->opts; o && o->name; o++) {
        (void)printf(".It ");
        if (o->letter) {
            (void)printf("Fl %c , ", o->letter);
        }
        (void)printf("Fl \\-%s", o->name);
        if (carm_opt_may_lack_value(o)) { /* "[=LIST]" without its frame */
            (void)printf(" Ns Oo = Ns Ar %.*s Oc", (int)strlen(o->arg) - 3, o->arg + 2);
        } else if (o->arg) {
            (void)printf(" Ar ");
            man_text(o->arg);
        }
        char help[1024];
        (void)printf("\n");
        man_text(help_text(help, sizeof help, o));
        if (o->dflt) {
            (void)printf("\nDefault: ");
            man_text(o->dflt);
            (void)printf(".");
        }
        (void)printf("\n");
    }
    (void)printf(".El\n");
    if (cmd->examples) {
        (void)printf(".Bd -literal -offset indent\n");
        man_text(cmd->examples);
        (void)printf("\n.Ed\n");
    }
}

void carm_opt_man(void)
{
    (void)printf(
        ".\\\" SPDX-License-Identifier: GPL-3.0-or-later\n"
        ".Dd $Mdocdate$\n.Dt CARM 1\n.Os\n.Sh NAME\n.Nm carm\n"
        ".Nd cache\\-aware roofline of this CPU, measured\n"
        ".Sh SYNOPSIS\n.Nm\n.Ar command\n.Op Ar options\n"
        ".Nm\n.Fl \\-completion\n.Ar bash | zsh\n"
        ".Sh DESCRIPTION\n.Nm\nbuilds the Cache\\-Aware Roofline Model of an x86\\-64 Linux "
        "machine from generated assembly test codes.\n.Bl -tag -width Ds\n");
    for (const struct carm_command *const *c = carm_commands; *c; c++) {
        (void)printf(".It Cm %s\n", (*c)->name);
        man_text((*c)->summary);
        (void)printf("\n");
    }
    (void)printf(".El\n.Fl \\-completion\nprints a script that completes commands, options and "
                 "their words in that shell.\n.Pp\n");
    man_text(CARM_OUTNAME_HELP);
    (void)printf("\n.Sh COMMANDS\n");
    for (const struct carm_command *const *c = carm_commands; *c; c++) {
        man_command(*c);
    }
    (void)printf(".Sh ENVIRONMENT\n.Bl -tag -width Ds\n"
                 ".It Ev XDG_DATA_HOME\nwhere models go without \\-o: carm/HOST.json below it.\n"
                 ".It Ev TMPDIR\nwhere test codes are assembled.\n"
                 ".It Ev NO_COLOR\nno colour on terminals.\n.El\n"
                 ".Sh EXIT STATUS\n0 done, 1 could not, 2 misuse.\n"
                 ".Sh SEE ALSO\n.Xr gnuplot 1 ,\n.Xr nasm 1 ,\n.Xr hwloc 7\n.Rs\n"
                 ".%%A A. Ilic\n.%%A F. Pratas\n.%%A L. Sousa\n"
                 ".%%T Cache\\-aware Roofline model: Upgrading the loft\n.%%D 2014\n.Re\n");
}

int carm_opt_expand_outnames(const struct carm_command *command, struct carm_err *err)
{
    for (const struct carm_opt *o = command->opts; o && o->name; o++) {
        char path[PATH_MAX];
        struct carm_err why = {""};
        if (o->arg != carm_opt_outfile || !*o->value || !strchr(*o->value, '%')) {
            continue;
        }
        const int rc = carm_outname_expand(*o->value, path, sizeof path, &why);
        if (rc) {
            return carm_fail(err, (enum carm_error)(-rc), "--%s %.200s: %s", o->name, *o->value,
                             why.text);
        }
        char *name = strdup(path);
        if (!name) {
            return carm_fail(err, CARM_ENOMEM, "not enough memory for the name of --%s", o->name);
        }
        *o->value = name;
    }
    return 0;
}
