/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/man.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/job.h"
#include "base/version.h"

/* A name with its description: an item of a list. */
struct item {
    const char *name;
    const char *text;
};

static const struct item environment[] = {
    {"XDG_DATA_HOME", "Folder below which models are kept, instead of ~/.local/share."},
    {"XDG_CACHE_HOME",
     "Folder below which carm keeps what another run may use again, instead of ~/.cache."},
    {"CARM_KEEP_CODE",
     "carm run keeps the translated code of the programs that it counts in $XDG_CACHE_HOME/carm, at most 256 MiB, which "
     "may be removed at any time. The next count of a program begins with this code. If the variable is 0, no "
     "code is kept or used."},
    {"NO_COLOR", "If it is set, output on terminals has no colour."},
    {"TMPDIR",
     "Folder for temporary files, such as those that nasm assembles. The default is /tmp."},
    {"CARM_LOCK_DIR",
     "Folder of the lock by which one process at a time measures a node. The default is the first "
     "of "
     "/run/lock, /dev/shm and /tmp where carm may write. All processes must use the same."},
    {"CARM_UARCH",
     "Microarchitecture whose counter recipe is used, such as zen4, where a hypervisor "
     "reports a wrong CPU model."},
    {"CARM_PAPI_LIBRARY", "The shared library of PAPI to load, instead of the installed one."},
    {"CARM_LIKWID_LIBRARY", "The same for likwid."},
    {"DEBUGINFOD_URLS",
     "Servers that elfutils asks for the debug information of a program that carm run profiles. "
     "Empty or "
     "unset: none."},
    {"CARM_OUT",
     "In programs that mark regions with libcarm: the file that gets a row for each region. "
     "Without it, "
     "regions are not counted. carm run --regions sets it."},
    {"CARM_COUNTERS", "In such programs: the counter back end (auto, papi, likwid, step, none)."},
    {"CARM_STEP_BUDGET",
     "In such programs: how many instructions of one call are stepped at most. The default is "
     "2000000."},
    {"CARM_ROWS",
     "In such programs: region (a row for each region) or thread (a row for each of its threads)."},
};

static const struct item files[] = {
    {"$XDG_DATA_HOME/carm/HOST.json",
     "The model of the machine with the name HOST. carm build writes it unless -o names another "
     "file, and "
     "other commands read it unless they are given a model."},
    {"$XDG_DATA_HOME/carm/search/codes.json",
     "Test codes that carm build --search found to be fast. Later builds try them, too."},
    {"carm-HOST.lock", "The lock of the machine, see CARM_LOCK_DIR."},
    {"points.csv",
     "What programs did, a row for each program, loop or region. carm run, carm study and libcarm "
     "write "
     "such files; carm place, plot, report and compare read them. carm-place(1) explains the "
     "columns."},
};

/* Prints text for mdoc: roff's special characters escaped, each sentence on a line of its own, double newlines as
 * paragraphs, and commands between backquotes in bold. */
static void put_text(const char *s)
{
    bool line_start = true;
    bool bold = false;
    for (; *s; s++) {
        if (s[0] == '\n' && s[1] == '\n') {
            printf("\n.Pp\n");
            s++;
            line_start = true;
            continue;
        }
        if (s[0] == '.' && s[1] == ' ' &&
            (isupper((unsigned char)s[2]) || strncmp(s + 2, "carm ", 5) == 0)) {
            printf(".\n");
            s++;
            line_start = true;
            continue;
        }
        if (line_start && (*s == '.' || *s == '\'')) {
            printf("\\&");
        }
        if (*s == '`') {
            bold = !bold;
            printf("%s", bold ? "\\fB" : "\\fR");
        } else if (*s == '\\') {
            printf("\\e");
        } else if (*s == '-') {
            printf("\\-");
        } else {
            putchar(*s);
        }
        line_start = *s == '\n';
    }
}

/* Prints a command's operands as a line of macros: "[MODEL...] | FILE" gives ".Oo Ar MODEL ... Oc | Ar FILE". */
static void put_operands(const char *s)
{
    const char *before = ".";
    for (; *s; before = " ") {
        const size_t word = strcspn(s, " []|");
        const bool several = word >= 3 && strncmp(s + word - 3, "...", 3) == 0;
        if (word) {
            printf(*s == '-' ? "%sCm \\-\\-" : "%sAr %.*s%s", before,
                   (int)(several ? word - 3 : word), s, several ? " ..." : "");
        } else if (*s != ' ') {
            printf("%s%s", before, *s == '|' ? "|" : *s == '[' ? "Oo" : "Oc");
        }
        s += word ? word : 1;
        s += strspn(s, " ");
    }
}

static void put_option(const struct carm_opt *o)
{
    char help[1024];
    printf(".It ");
    if (o->letter) {
        printf("Fl %c , ", o->letter);
    }
    printf("Fl \\-%s", o->name);
    if (carm_opt_value_is_optional(o)) { /* "[=LIST]" without brackets */
        printf(" Ns Oo = Ns Ar %.*s Oc", (int)strlen(o->arg) - 3, o->arg + 2);
    } else if (o->arg) {
        printf(" Ar ");
        put_text(o->arg);
    }
    printf("\n");
    put_text(carm_opt_describe(help, sizeof help, o));
    if (o->dflt) {
        printf("\nDefault: ");
        put_text(o->dflt);
        printf(".");
    }
    printf("\n");
}

static void put_options(const struct carm_command *cmd)
{
    printf(".Bl -tag -width Ds\n");
    for (const struct carm_opt *o = cmd->opts; o && o->name; o++) {
        put_option(o);
    }
    printf(".It Fl h , Fl \\-help\nPrint a shorter form of this page.\n.El\n");
}

static void put_items(const char *macro, const struct item *items, size_t n)
{
    printf(".Bl -tag -width Ds\n");
    for (size_t i = 0; i < n; i++) {
        printf(".It %s ", macro);
        put_text(items[i].name);
        printf("\n");
        put_text(items[i].text);
        printf("\n");
    }
    printf(".El\n");
}

static void put_examples(const struct carm_command *cmd)
{
    if (cmd->examples) {
        printf(".Bd -literal -offset indent\n");
        put_text(cmd->examples);
        printf("\n.Ed\n");
    }
}

/* Prints the line of a command or sub-command in the synopsis. */
static void put_synopsis(const struct carm_command *cmd)
{
    printf(".Nm carm %s\n.Op Ar options\n", cmd->name);
    if (*cmd->operands) {
        put_operands(cmd->operands);
        printf("\n");
    }
}

/* name  "carm-build" */
static void put_head(const char *name, const char *summary)
{
    printf(".\\\" SPDX-License-Identifier: GPL-3.0-or-later\n.Dd $Mdocdate$\n.Dt ");
    for (const char *c = name; *c; c++) {
        putchar(toupper((unsigned char)*c));
    }
    printf(" 1\n.Os carm %s\n.Sh NAME\n.Nm %s\n.Nd ", carm_version, name);
    put_text(summary);
    printf("\n.Sh SYNOPSIS\n");
}

/* Whether text has "carm NAME". */
static bool names_command(const char *text, const char *name)
{
    const size_t length = strlen(name);
    for (const char *at = text; at && (at = strstr(at, "carm ")); at++) {
        if (strncmp(at + 5, name, length) == 0 && !isalnum((unsigned char)at[5 + length])) {
            return true;
        }
    }
    return false;
}

/* Whether the page of a command or of one of its sub-commands names another command. */
static bool refers_to(const struct carm_command *cmd, const char *name)
{
    bool found = names_command(cmd->details, name) || names_command(cmd->examples, name);
    for (const struct carm_opt *o = cmd->opts; o && o->name && !found; o++) {
        found = names_command(o->help, name);
    }
    for (const struct carm_command *const *s = cmd->subs; s && *s && !found; s++) {
        found = refers_to(*s, name);
    }
    return found;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Prints the pages of the commands that a command's page names, in alphabetical order. */
static void put_see_also(const struct carm_command *command)
{
    const char *names[32] = {NULL};
    size_t n = 0;
    for (const struct carm_command *const *c = carm_commands; *c && n < 32; c++) {
        if (*c != command && refers_to(command, (*c)->name)) {
            names[n++] = (*c)->name;
        }
    }
    qsort(names, n, sizeof *names, compare_names);
    printf(".Sh SEE ALSO\n.Xr carm 1");
    for (size_t i = 0; i < n; i++) {
        printf(" ,\n.Xr carm-%s 1", names[i]);
    }
    printf("\n");
}

static void put_subs(const struct carm_command *cmd)
{
    printf(".Sh SUB\\-COMMANDS\n");
    for (const struct carm_command *const *s = cmd->subs; *s; s++) {
        printf(".Ss carm %s\n", (*s)->name);
        put_text((*s)->details);
        printf("\n");
        put_options(*s);
        put_examples(*s);
    }
}

/* Prints the exit status of a command, and of sub-commands with their own. */
static void put_exit_status(const struct carm_command *cmd)
{
    put_text(cmd->exit_status ? cmd->exit_status : CARM_EXIT_USUAL);
    printf("\n");
    for (const struct carm_command *const *s = cmd->subs; s && *s; s++) {
        if ((*s)->exit_status) {
            printf(".Pp\n.Nm carm %s :\n", (*s)->name);
            put_text((*s)->exit_status);
            printf("\n");
        }
    }
}

void carm_man_command(const struct carm_command *command)
{
    char name[64];
    snprintf(name, sizeof name, "carm-%s", command->name);
    put_head(name, command->summary);
    for (const struct carm_command *const *s = command->subs; s && *s; s++) {
        put_synopsis(*s);
    }
    if (!command->subs) {
        put_synopsis(command);
    }
    printf(".Sh DESCRIPTION\n");
    put_text(command->details);
    printf("\n");
    if (command->subs) {
        put_subs(command);
    } else {
        printf(".Sh OPTIONS\n");
        put_options(command);
    }
    printf(".Sh EXIT STATUS\n");
    put_exit_status(command);
    if (command->examples) {
        printf(".Sh EXAMPLES\n");
        put_examples(command);
    }
    put_see_also(command);
}

void carm_man_overview(void)
{
    put_head("carm", "cache-aware roofline of this CPU, measured");
    printf(".Nm\n.Ar command\n.Op Ar options\n.Nm\n.Cm help Op Ar command\n.Nm\n.Fl \\-version\n"
           ".Nm\n.Fl \\-man Op Ar command\n.Nm\n.Fl \\-completion Cm bash | zsh\n"
           ".Sh DESCRIPTION\n");
    put_text(
        "carm measures the Cache-Aware Roofline Model of an x86-64 Linux machine: how fast data "
        "comes "
        "from every cache and from memory, and how fast the floating-point units compute. It "
        "places "
        "programs under these roofs, and says what limits each and what to try next.\n\n"
        "A first session is `carm build`, `carm show`, and `carm run -- ./app`.");
    printf("\n.Pp\nThe commands, each with a page of its own:\n.Bl -tag -width validate\n");
    for (const struct carm_command *const *c = carm_commands; *c; c++) {
        printf(".It Xr carm-%s 1\n", (*c)->name);
        put_text((*c)->summary);
        printf("\n");
    }
    printf(".El\n.Pp\n");
    put_text(CARM_OUTNAME_HELP);
    printf(
        "\n.Pp\nResults go to standard output, messages to standard error.\n"
        ".Sh OPTIONS\n.Bl -tag -width Ds\n"
        ".It Fl h , Fl \\-help\nPrint the list of commands.\n"
        ".It Fl \\-version\nPrint the version.\n"
        ".It Fl \\-man Op Ar command\nPrint this page, or the page of a command, in the language "
        "mdoc.\n"
        ".It Fl \\-completion Cm bash | zsh\nPrint a script that completes commands, options "
        "and their words in that shell.\n.El\n.Sh ENVIRONMENT\n");
    put_items("Ev", environment, sizeof environment / sizeof *environment);
    printf(".Pp\n");
    put_text("Host, job and rank come from the variables of Slurm, PBS, LSF, Open MPI and MPICH.");
    printf("\n.Sh FILES\n");
    put_items("Pa", files, sizeof files / sizeof *files);
    printf(".Sh EXIT STATUS\n" CARM_EXIT_USUAL
           "\nWhere a command has others, its page lists them.\n");
    printf(".Sh SEE ALSO\n.Xr gnuplot 1 ,\n.Xr nasm 1 ,\n.Xr perf 1\n"
           ".Rs\n.%%A A. Ilic\n.%%A F. Pratas\n.%%A L. Sousa\n"
           ".%%T Cache\\-aware Roofline model: Upgrading the loft\n"
           ".%%J IEEE Computer Architecture Letters\n.%%N 13(1)\n.%%D 2014\n.Re\n"
           ".Rs\n.%%A S. Williams\n.%%A A. Waterman\n.%%A D. Patterson\n"
           ".%%T Roofline: an insightful visual performance model for multicore architectures\n"
           ".%%J Communications of the ACM\n.%%N 52(4)\n.%%D 2009\n.Re\n");
}
