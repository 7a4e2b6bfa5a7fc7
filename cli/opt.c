/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/opt.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/job.h"
#include "base/text.h"

static const struct carm_command *const no_commands[] = {NULL};
const struct carm_command *const *carm_commands = no_commands;

const char carm_opt_outfile[] = "FILE";

/* ---- wrapping ---- */

enum { HELP_WIDTH = 79, SAY_WIDTH = 100 };

/* Prints text wrapped to `width` columns, every line after the first behind `indent` blanks.
 * column: of the cursor at the beginning */
static void print_wrapped(FILE *out, const char *text, int indent, int column, int width)
{
    const char *at = text;
    bool first = true;
    while (*at) {
        if (*at == '\n') { /* a blank line between paragraphs */
            fprintf(out, "\n%s%*s", at[1] == '\n' ? "\n" : "", indent, "");
            at += at[1] == '\n' ? 2 : 1;
            column = indent;
            first = true;
            continue;
        }
        int length = (int)strcspn(at, " \n");
        if (!first && column + 1 + length > width) {
            fprintf(out, "\n%*s", indent, "");
            column = indent;
            first = true;
        }
        fprintf(out, "%s%.*s", first ? "" : " ", length, at);
        column += length + (first ? 0 : 1);
        first = false;
        at += length;
        at += *at == ' ' ? 1 : 0;
    }
    fprintf(out, "\n");
}

int carm_say_width(void)
{
    enum { NARROWEST = 40 };
    struct winsize size;
    if (!isatty(STDERR_FILENO)) {
        return 0;
    }
    if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < NARROWEST) {
        return SAY_WIDTH;
    }
    return size.ws_col < SAY_WIDTH ? size.ws_col : SAY_WIDTH;
}

/* One write keeps lines of several processes apart. Files and pipes get one line, so that scripts can search it. */
void carm_say(const char *head, const char *fmt, va_list ap)
{
    char text[1024], clean[1024], first[64];
    char *lines = NULL;
    size_t size = 0;
    const int width = carm_say_width();
    vsnprintf(text, sizeof text, fmt, ap);
    carm_text_clean(clean, sizeof clean, text, false);
    FILE *out = width ? open_memstream(&lines, &size) : NULL;
    if (out) {
        const int indent = snprintf(first, sizeof first, "carm: %.40s", head);
        fputs(first, out);
        print_wrapped(out, clean, indent, indent, width);
    }
    if (out && fclose(out) == 0) {
        fputs(lines, stderr);
    } else {
        fprintf(stderr, "carm: %s%s\n", head, clean);
    }
    free(lines);
}

void carm_say_line(const char *head, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    carm_say(head, fmt, ap);
    va_end(ap);
}

int carm_say_error(int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    carm_say("", fmt, ap);
    va_end(ap);
    return code;
}

int carm_say_outcome(int rc, const struct carm_err *err)
{
    return rc == 0 ? CARM_EXIT_OK
                   : carm_say_error(rc == -CARM_EINVAL ? CARM_EXIT_MISUSE : CARM_EXIT_FAILED, "%s",
                                    err->text);
}

/* ---- parsing ---- */

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

bool carm_opt_value_is_optional(const struct carm_opt *opt)
{
    return opt->arg && opt->arg[0] == '[';
}

const char *carm_opt_last_name(const struct carm_command *cmd)
{
    const char *blank = strrchr(cmd->name, ' ');
    return blank ? blank + 1 : cmd->name;
}

const struct carm_command *carm_opt_find_command(const struct carm_command *const *commands,
                                                 const char *name)
{
    for (const struct carm_command *const *c = commands; c && *c; c++) {
        if (strcmp(carm_opt_last_name(*c), name) == 0) {
            return *c;
        }
    }
    return NULL;
}

/* The names of a command's sub-commands: "gemm, classes or dwarfs" with between ", " and last " or ".
 * returns dst */
static const char *join_subs(char *dst, size_t size, const struct carm_command *cmd,
                             const char *between, const char *last)
{
    dst[0] = '\0';
    for (const struct carm_command *const *s = cmd->subs; *s; s++) {
        carm_text_list(dst, size, s[1] ? between : last, "%s", carm_opt_last_name(*s));
    }
    return dst;
}

/* The number of letters to add, take away, replace or swap with their neighbours that turns one word into another
 * (optimal string alignment); more than most where either is long */
static size_t typos(const char *a, const char *b, size_t most)
{
    enum { LONGEST = 24 };
    size_t d[LONGEST + 1][LONGEST + 1];
    const size_t m = strlen(a), n = strlen(b);
    if (m > LONGEST || n > LONGEST) {
        return most + 1;
    }
    for (size_t i = 0; i <= m; i++) {
        for (size_t k = 0; k <= n; k++) {
            if (!i || !k) {
                d[i][k] = i + k;
                continue;
            }
            const size_t change = d[i - 1][k - 1] + (a[i - 1] != b[k - 1]);
            const size_t drop = (d[i - 1][k] < d[i][k - 1] ? d[i - 1][k] : d[i][k - 1]) + 1;
            d[i][k] = change < drop ? change : drop;
            if (i > 1 && k > 1 && a[i - 1] == b[k - 2] && a[i - 2] == b[k - 1] &&
                d[i - 2][k - 2] + 1 < d[i][k]) {
                d[i][k] = d[i - 2][k - 2] + 1;
            }
        }
    }
    return d[m][n];
}

/* The name nearest to a mistyped word, with at most one typo for each three letters. */
struct meant {
    const char *word;
    const char *name; /* NULL = none is near */
    size_t typos;     /* of the nearest name so far */
};

static void try_name(struct meant *m, const char *name)
{
    const size_t most = m->name ? m->typos - 1 : (strlen(m->word) + 1) / 3;
    const size_t n = typos(m->word, name, most);
    if (n <= most && (!m->name || n < m->typos)) {
        m->name = name;
        m->typos = n;
    }
}

const char *carm_opt_nearest(const struct carm_command *const *commands, const char *word)
{
    struct meant m = {.word = word};
    for (const struct carm_command *const *c = commands; c && *c; c++) {
        try_name(&m, carm_opt_last_name(*c));
    }
    return m.name;
}

/* The long name of the option that a word such as "--ouput" means, or NULL. */
static const char *nearest_option(const struct carm_command *cmd, const char *word, size_t length)
{
    char name[32];
    if (length < 4 || length - 2 >= sizeof name || word[1] != '-') {
        return NULL;
    }
    snprintf(name, sizeof name, "%.*s", (int)length - 2, word + 2);
    struct meant m = {.word = name};
    for (const struct carm_opt *o = cmd->opts; o && o->name; o++) {
        try_name(&m, o->name);
    }
    for (const struct carm_command *const *s = cmd->subs; s && *s; s++) {
        for (const struct carm_opt *o = (*s)->opts; o && o->name; o++) {
            try_name(&m, o->name);
        }
    }
    return m.name;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Length of an option's name in a word such as --name=value. */
static size_t name_length(const char *word)
{
    return word[1] == '-' ? strcspn(word, "=") : strlen(word);
}

/* The sub-command that has the option. */
static const struct carm_command *find_sub_with(const struct carm_command *cmd, const char *word,
                                                size_t length, const struct carm_opt **option)
{
    for (const struct carm_command *const *s = cmd->subs; s && *s; s++) {
        *option = find_option(*s, word, length);
        if (*option) {
            return *s;
        }
    }
    return NULL;
}

/* Prints that the command has no such option, and names the sub-command that has it, or else the most similar
 * option. */
static int refuse_option(const struct carm_command *cmd, const char *word, size_t length)
{
    const struct carm_command *other = NULL;
    const struct carm_opt *option = NULL;
    for (const struct carm_command *const *c = carm_commands; *c && !other; c++) {
        for (const struct carm_command *const *s = (*c)->subs; s && *s; s++) {
            other = *s == cmd ? find_sub_with(*c, word, length, &option) : other;
        }
    }
    const char *meant = other ? NULL : nearest_option(cmd, word, length);
    if (meant) {
        carm_say_error(0, "%s has no option %.*s; did you mean --%s? `carm %s --help` lists %s",
                       cmd->name, (int)length, word, meant, cmd->name,
                       cmd->subs ? "its sub-commands" : "them");
        return CARM_OPT_MISUSE;
    }
    carm_say_error(0, "%s has no option %.*s%s%s%s; `carm %s --help` lists %s", cmd->name,
                   (int)length, word, other ? " (carm " : "", other ? other->name : "",
                   other ? " has it)" : "", cmd->name, cmd->subs ? "its sub-commands" : "them");
    return CARM_OPT_MISUSE;
}

int carm_opt_choose(const struct carm_command **cmd, int argc, char **argv)
{
    char names[128];
    int at = 0;
    if (!(*cmd)->subs) {
        return argc;
    }
    while (at < argc && argv[at][0] == '-' && argv[at][1]) {
        const struct carm_opt *o = NULL;
        const size_t length = name_length(argv[at]);
        if (is_help(argv[at])) {
            return CARM_OPT_HELP;
        }
        if (strcmp(argv[at], "--") == 0) {
            at++;
            break;
        }
        if (!find_sub_with(*cmd, argv[at], length, &o)) {
            return refuse_option(*cmd, argv[at], length);
        }
        at += o->arg && !carm_opt_value_is_optional(o) && !argv[at][length] ? 2 : 1;
    }
    join_subs(names, sizeof names, *cmd, ", ", " or ");
    if (at >= argc) {
        carm_say_error(0, "say which: carm %s %s; `carm %s --help` describes them", (*cmd)->name,
                       names, (*cmd)->name);
        return CARM_OPT_MISUSE;
    }
    const struct carm_command *sub = carm_opt_find_command((*cmd)->subs, argv[at]);
    if (!sub) {
        carm_say_error(0, "%s has no sub-command '%s': choose %s", (*cmd)->name, argv[at], names);
        return CARM_OPT_MISUSE;
    }
    memmove(argv + at, argv + at + 1, (size_t)(argc - at - 1) * sizeof *argv);
    *cmd = sub;
    return argc - 1;
}

/* Stores the value of an option.
 * equals  where the word has "=", or NULL
 * next    the word behind it, or NULL
 * returns the number of words used, or CARM_OPT_MISUSE */
static int take_value(const struct carm_opt *o, const char *equals, const char *next)
{
    const bool optional = carm_opt_value_is_optional(o);
    if (!o->arg && equals) {
        carm_say_error(0, "--%s takes no value", o->name);
        return CARM_OPT_MISUSE;
    }
    if (optional && equals && equals[1] == '\0') {
        carm_say_error(0, "--%s= has no value: give --%s or --%s%s", o->name, o->name, o->name,
                       o->arg);
        return CARM_OPT_MISUSE;
    }
    if (!o->arg || (optional && !equals)) {
        *o->value = "";
        return 1;
    }
    if (!equals && !next) {
        carm_say_error(0, "--%s needs a value: --%s %s", o->name, o->name, o->arg);
        return CARM_OPT_MISUSE;
    }
    const char *value = equals ? equals + 1 : next;
    const char *list = strstr(o->arg, CARM_OPT_LIST);
    if (list && !list[strlen(CARM_OPT_LIST)] && *o->value) {
        static char joined[1024]; /* a command has only one such option */
        char before[sizeof joined];
        snprintf(before, sizeof before, "%s", *o->value);
        if ((size_t)snprintf(joined, sizeof joined, "%s,%s", before, value) >= sizeof joined) {
            carm_say_error(0, "--%s has more than %zu characters", o->name, sizeof joined);
            return CARM_OPT_MISUSE;
        }
        value = joined;
    }
    *o->value = value;
    return equals ? 1 : 2;
}

int carm_opt_parse(const struct carm_command *cmd, int argc, char **argv)
{
    int operands = 0;
    bool only_operands = false;
    for (int i = 0; i < argc;) {
        char *word = argv[i];
        if (only_operands || word[0] != '-' || word[1] == '\0') {
            argv[operands++] = word;
            only_operands = only_operands || cmd->max_operands < 0;
            i++;
            continue;
        }
        if (strcmp(word, "--") == 0) {
            only_operands = true;
            i++;
            continue;
        }
        if (is_help(word)) {
            return CARM_OPT_HELP;
        }
        const size_t length = name_length(word);
        const struct carm_opt *o = find_option(cmd, word, length);
        if (!o) {
            return refuse_option(cmd, word, length);
        }
        const int taken =
            take_value(o, word[length] ? word + length : NULL, i + 1 < argc ? argv[i + 1] : NULL);
        if (taken < 0) {
            return taken;
        }
        i += taken;
    }
    if (cmd->max_operands >= 0 && operands > cmd->max_operands) {
        char most[48] = "no operands";
        if (cmd->max_operands > 0) {
            snprintf(most, sizeof most, "at most %d operand%s", cmd->max_operands,
                     cmd->max_operands == 1 ? "" : "s");
        }
        carm_say_error(0, "%s takes %s, '%s' is too many; see `carm %s --help`", cmd->name, most,
                       argv[cmd->max_operands], cmd->name);
        return CARM_OPT_MISUSE;
    }
    return operands;
}

/* ---- help ---- */

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

/* Whether the text contains the word, not as a part of another word. */
static bool names_word(const char *text, const char *word, size_t length)
{
    bool before = false; /* the character before belongs to a word */
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

char *carm_opt_describe(char *dst, size_t size, const struct carm_opt *o)
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

void carm_opt_print_wrapped(const char *head, int indent, const char *fmt, ...)
{
    char text[2048];
    char clean[2048];
    CARM_TEXT_OF_ARGS(text, fmt);
    const int column = printf("%s", head);
    print_wrapped(stdout, carm_text_clean(clean, sizeof clean, text, false), indent, column,
                  HELP_WIDTH);
}

/* The end of the first sentence of a text. */
static size_t first_sentence(const char *text)
{
    const char *stop = text;
    while ((stop = strstr(stop, ". ")) && !isupper((unsigned char)stop[2])) {
        stop += 2;
    }
    return stop ? (size_t)(stop - text) + 1 : strlen(text);
}

/* full  whole descriptions, not only their first sentences */
static void help_options(const struct carm_command *cmd, bool full)
{
    enum { HELP_COLUMN = 24 };
    printf("\noptions:\n");
    for (const struct carm_opt *o = cmd->opts; o && o->name; o++) {
        char cut[1024];
        struct carm_opt shown = *o;
        snprintf(cut, sizeof cut, "%.*s", (int)(full ? strlen(o->help) : first_sentence(o->help)),
                 o->help);
        shown.help = cut;
        char letter[8] = "    ";
        if (o->letter) {
            snprintf(letter, sizeof letter, "-%c, ", o->letter);
        }
        int n = printf("  %s--%s%s%s", letter, o->name,
                       o->arg && !carm_opt_value_is_optional(o) ? " " : "", o->arg ? o->arg : "");
        if (n > HELP_COLUMN - 2) {
            printf("\n");
            n = 0;
        }
        printf("%*s", HELP_COLUMN - n, "");
        char help[1024];
        char text[1280];
        snprintf(text, sizeof text, "%s%s%s%s", carm_opt_describe(help, sizeof help, &shown),
                 o->dflt ? " (default: " : "", o->dflt ? o->dflt : "", o->dflt ? ")" : "");
        print_wrapped(stdout, text, HELP_COLUMN, HELP_COLUMN, HELP_WIDTH);
    }
    printf("  -h, --help            print this text\n");
}

static void help_subs(const struct carm_command *cmd)
{
    printf("\nsub-commands:\n");
    for (const struct carm_command *const *s = cmd->subs; *s; s++) {
        const int n = printf("  %-10s ", carm_opt_last_name(*s));
        print_wrapped(stdout, (*s)->summary, n, n, HELP_WIDTH);
    }
    printf("\n`carm %s SUB-COMMAND --help` describes one and lists its options.\n", cmd->name);
}

void carm_opt_help(const struct carm_command *cmd, bool full)
{
    char names[128], text[512];
    const char *second = strstr(cmd->details, "\n\n"); /* paragraph */
    snprintf(text, sizeof text, "carm %s - %s", cmd->name, cmd->summary);
    print_wrapped(stdout, text, 2, 0, HELP_WIDTH);
    if (cmd->subs) {
        snprintf(text, sizeof text, "usage: carm %s %s [options]", cmd->name,
                 join_subs(names, sizeof names, cmd, "|", "|"));
    } else {
        snprintf(text, sizeof text, "usage: carm %s [options]%s%s", cmd->name,
                 *cmd->operands ? " " : "", cmd->operands);
    }
    printf("\n");
    print_wrapped(stdout, text, 4, 0, HELP_WIDTH);
    printf("\n");
    char first[2048];
    snprintf(first, sizeof first, "%.*s", (int)(second ? second - cmd->details : 0), cmd->details);
    print_wrapped(stdout, full || !second ? cmd->details : first, 0, 0, HELP_WIDTH);
    if (cmd->subs) {
        help_subs(cmd);
    } else {
        help_options(cmd, full);
    }
    if (cmd->exit_status) {
        char status[512];
        snprintf(status, sizeof status, "Exit status: %s", cmd->exit_status);
        printf("\n");
        print_wrapped(stdout, status, 0, 0, HELP_WIDTH);
    }
    if (cmd->examples) {
        enum { SOME = 5 };
        const char *end = cmd->examples;
        for (int lines = 0; *end && (full || lines < SOME); end += *end ? 1 : 0) {
            lines += end[0] == '\n' || end[1] == '\0' ? 1 : 0;
        }
        printf("\nexamples:\n  ");
        for (const char *c = cmd->examples; c < end; c++) {
            if (*c == '\n' && c + 1 < end) {
                printf("\n  ");
            } else if (*c != '\n') {
                putchar(*c);
            }
        }
        printf("\n");
    }
    if (!full && !cmd->subs) {
        printf("\n`carm help %s` explains more.\n", cmd->name);
    }
}

void carm_opt_usage(void)
{
    printf("carm - cache-aware roofline of this CPU, measured\n\nusage: carm COMMAND "
           "[options]\n\ncommands:\n");
    for (const struct carm_command *const *c = carm_commands; *c; c++) {
        printf("  %-10s %s\n", (*c)->name, (*c)->summary);
    }
    printf("\n`carm COMMAND --help` lists the options of a command.\n"
           "`carm help COMMAND` explains them in full.\n"
           "`carm --version` prints the version, `carm --man COMMAND` its man page.\n"
           "`carm --completion bash` (or zsh) prints a script that completes commands there.\n"
           "Exit status: " CARM_EXIT_USUAL "\n\n");
    print_wrapped(stdout, CARM_OUTNAME_HELP, 0, 0, HELP_WIDTH);
    printf("\n");
}

int carm_opt_expand_outnames(const struct carm_command *command, struct carm_err *err)
{
    for (const struct carm_opt *o = command->opts; o && o->name; o++) {
        char path[PATH_MAX];
        struct carm_err why = {""};
        if (o->arg != carm_opt_outfile || !*o->value) {
            continue;
        }
        if (!strchr(*o->value, '%')) {
            const char *slash = strrchr(*o->value, '/');
            struct stat st;
            snprintf(path, sizeof path, "%.*s", slash ? (int)(slash - *o->value) : 0, *o->value);
            if (*path && stat(path, &st) != 0 && errno == ENOENT) {
                return carm_fail(err, CARM_EINVAL,
                                 "--%s %.200s: there is no folder %.200s; make it (mkdir -p), or "
                                 "correct the name",
                                 o->name, *o->value, path);
            }
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
