/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Completion scripts of a table whose names, words and help have every character that could break
 * them: bash and zsh read them, and run nothing of it. */
#define OWN_MAIN
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/completion.h"
#include "cli/opt.h"
#include "models/file/gallery.h"
#include "tests/unit.h"

#define EVIL "a'b\"c`touch pwned`$(touch pwned)\\]:[;&|"

static const char *value;

static const struct carm_opt options[] = {
    {"plain", 'p', "WORD", NULL, "Help " EVIL, &value, "it's|$(touch pwned)|`touch pwned`|x y|2:1"},
    {EVIL, '\'', "FILE" EVIL, NULL, EVIL, &value, NULL},
    {"list" EVIL, 0, "[=LIST" EVIL "]", NULL, "%s%n] " EVIL ". Second.", &value, "one|two"},
    {NULL, 0, NULL, NULL, NULL, NULL, NULL},
};

static const struct carm_command odd = {
    .name = EVIL, .summary = EVIL, .operands = "x'y|$(touch", .opts = options, .max_operands = 1};
static const struct carm_command even = {.name = "even",
                                         .summary = "one",
                                         .operands = "[MODEL | MACHINE...]",
                                         .opts = options,
                                         .max_operands = 9};

static const struct carm_command *const commands[] = {&odd, &even, NULL};

static char folder[] = "/tmp/carm-completion-XXXXXX";

/* The script for a shell, in a file of that name. */
static void print_script(const char *shell)
{
    (void)fflush(stdout);
    const int saved = dup(STDOUT_FILENO);
    assert_true(saved >= 0);
    assert_non_null(freopen(shell, "w", stdout));
    const int code = carm_completion_print(shell);
    (void)fflush(stdout);
    assert_true(dup2(saved, STDOUT_FILENO) >= 0);
    (void)close(saved);
    assert_int_equal(code, CARM_EXIT_OK);
}

/* What a line of sh returns. */
static int sh(const char *line)
{
    char *argv[] = {"sh", "-c", (char *)(uintptr_t)line, NULL};
    pid_t pid = 0;
    int status = 0;
    assert_int_equal(posix_spawnp(&pid, argv[0], NULL, NULL, argv, environ), 0);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return status;
}

static bool has(const char *program)
{
    char command[64];
    (void)snprintf(command, sizeof command, "command -v %s >/dev/null", program);
    return sh(command) == 0;
}

static int open_folder(void **state)
{
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int close_folder(void **state)
{
    char command[64];
    (void)snprintf(command, sizeof command, "rm -rf %s", folder);
    return sh(command);
}

TEST(bash)
{
    skip_if(!has("bash"), "no bash");
    print_script("bash");
    assert_int_equal(sh("bash -n bash"), 0);
    /* every place of the line is asked for; the words come quoted, so that readline inserts no code */
    assert_int_equal(sh("bash --norc -c '. ./bash; compopt() { :; };"
                        "ask() { COMP_WORDS=(carm \"$@\"); COMP_CWORD=$#; COMP_LINE=\"carm $*\";"
                        " COMP_POINT=${#COMP_LINE}; COMPREPLY=(); _carm; };"
                        "ask \"\"; printf \"%s\\n\" \"${COMPREPLY[@]}\";"
                        "ask even --; printf \"%s\\n\" \"${COMPREPLY[@]}\";"
                        "ask even --plain \"\"; printf \"%s\\n\" \"${COMPREPLY[@]}\" >words;"
                        "ask even ce; printf \"%s\\n\" \"${COMPREPLY[@]}\" >machines' >out 2>err"),
                     0);
    assert_int_equal(sh("test ! -s err && test ! -e pwned"), 0);
    assert_int_equal(sh("eval \"set -- $(tr '\\n' ' ' <words)\" && [ $# -eq 5 ] &&"
                        " [ \"$1\" = \"it's\" ] && [ \"$2\" = '$(touch pwned)' ] &&"
                        " [ \"$3\" = '`touch pwned`' ] && [ \"$4\" = 'x y' ] && [ \"$5\" = 2:1 ]"),
                     0);
    assert_int_equal(sh("test ! -e pwned && test \"$(cat machines)\" = cell"), 0);
}

TEST(zsh)
{
    skip_if(!has("zsh"), "no zsh");
    print_script("zsh");
    assert_int_equal(sh("zsh -fn zsh"), 0);
    assert_int_equal(sh("zsh -fc 'compdef() { :; }; . ./zsh; compadd() { print -rl -- \"$@\"; };"
                        "_files() { :; }; _message() { :; };"
                        "_arguments() { state=argument; words=(even); print -rl -- \"$@\"; };"
                        "_carm_value even --plain; _carm' >out 2>err"),
                     0);
    assert_int_equal(sh("test ! -s err && test ! -e pwned && grep -qF '$(touch pwned)' out"), 0);
    /* what frames a specification is harmless in help: backslash and colon escaped, brackets gone */
    assert_int_equal(sh("grep -qF 'pwned)\\\\)\\:(;&|]:WORD: _carm_value even --plain' out"), 0);
}

TEST(values)
{
    static struct carm_completion_value v;
    carm_completion_of_option(&options[0], &v);
    assert_int_equal(v.kind, CARM_COMPLETION_WORDS);
    assert_int_equal(v.nwords, 5);
    assert_string_equal(v.words[3], "x y");
    carm_completion_of_option(&options[1], &v);
    assert_int_equal(v.kind, CARM_COMPLETION_FILES);
    carm_completion_of_option(&options[2], &v);
    assert_int_equal(v.kind, CARM_COMPLETION_LIST);
    assert_ok(carm_completion_of_operands(&even, &v, &err));
    assert_int_equal(v.kind, CARM_COMPLETION_MIXED);
    size_t measured = 0;
    while (carm_gallery_name(measured)) {
        assert_string_equal(v.words[measured], carm_gallery_name(measured));
        measured++;
    }
    assert_string_equal(v.words[measured], "mine");
    assert_string_equal(v.words[measured + 1], "opteron-x2");
    assert_int_equal(v.nwords, measured + 6);
    const struct carm_opt model = {"model", 'm', "MODEL", NULL, "", &value, NULL};
    carm_completion_of_option(&model, &v);
    assert_int_equal(v.kind, CARM_COMPLETION_MIXED);
    assert_int_equal(v.nwords, measured + 1);
    /* twice the same words, and names with an extension: files */
    struct carm_command other = {.operands = "BASELINE [MODEL...] | A.yaml POINTS",
                                 .max_operands = 3};
    assert_ok(carm_completion_of_operands(&other, &v, &err));
    assert_int_equal(v.kind, CARM_COMPLETION_MIXED);
    assert_int_equal(v.nwords, measured + 1);
    other.operands = "[MODEL.json]";
    assert_ok(carm_completion_of_operands(&other, &v, &err));
    assert_int_equal(v.kind, CARM_COMPLETION_FILES);
    assert_int_equal(v.nwords, 0);
}

int main(void)
{
    carm_commands = commands;
    return run_suite(open_folder, close_folder);
}
