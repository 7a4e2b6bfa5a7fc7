/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include "base/version.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/man.h"
#include "cli/opt.h"

static const struct carm_command *const commands[] = {
    &carm_command_info,     &carm_command_build,
    &carm_command_validate, &carm_command_show,
    &carm_command_plot,     &carm_command_report,
    &carm_command_run,      &carm_command_place,
    &carm_command_study,    &carm_command_compare,
    &carm_command_fleet,    &carm_command_sol,
    &carm_command_asm,      NULL,
};

/* Occupies closed standard streams. Otherwise the next opened file would get the number, and results would go into it.
 * They are opened for the wrong direction, so that every use fails as before. */
static void hold_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF &&
            open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) {
            return; /* later numbers could not be occupied in order */
        }
    }
}

static void ignore(int number)
{
    (void)number;
}

/* A file beyond the limit (ulimit -f) is an error of its write. A handler, not SIG_IGN, which programs that carm starts
 * would inherit. */
static void watch_file_size(void)
{
    const struct sigaction action = {.sa_handler = ignore, .sa_flags = SA_RESTART};
    struct sigaction old;
    if (sigaction(SIGXFSZ, NULL, &old) == 0 && old.sa_handler == SIG_DFL) {
        sigaction(SIGXFSZ, &action, NULL);
    }
}

/* Fails if standard output could not be written. A failed command has already printed its reason. */
static int finish(int code)
{
    errno = 0;
    if ((fflush(stdout) != 0 || ferror(stdout)) && code == CARM_EXIT_OK) {
        return carm_say_error(CARM_EXIT_FAILED, "cannot write the output: %s",
                              errno ? strerror(errno)
                                    : "is standard output closed, or the disk full?");
    }
    return code;
}

/* Runs `carm --man [COMMAND]`. */
static int man(int argc, char **argv)
{
    const struct carm_command *about = argc ? carm_opt_find_command(carm_commands, argv[0]) : NULL;
    if (argc > 1 || (argc && !about)) {
        return carm_say_error(
            CARM_EXIT_MISUSE,
            "there is no man page '%s%s%s': give a command of `carm --help`, or none", argv[0],
            argc > 1 ? " " : "", argc > 1 ? argv[1] : "");
    }
    if (about) {
        carm_man_command(about);
    } else {
        carm_man_overview();
    }
    return finish(CARM_EXIT_OK);
}

/* Runs `carm help [COMMAND [SUBCOMMAND]]`. */
static int help(int argc, char **argv)
{
    const struct carm_command *const *among = carm_commands;
    const struct carm_command *about = NULL;
    for (int i = 0; i < argc; i++) {
        const struct carm_command *found = carm_opt_find_command(among, argv[i]);
        if (!found) {
            return carm_say_error(CARM_EXIT_MISUSE,
                                  "there is no %s '%s'; `carm%s%s --help` lists %s",
                                  about ? "sub-command" : "command", argv[i], about ? " " : "",
                                  about ? about->name : "", about ? "what there is" : "them");
        }
        about = found;
        among = found->subs;
    }
    if (about) {
        carm_opt_help(about, true);
    } else {
        carm_opt_usage();
    }
    return finish(CARM_EXIT_OK);
}

/* Runs a command with the words behind its name. */
static int run_command(const struct carm_command *cmd, int argc, char **argv)
{
    int n = carm_opt_choose(&cmd, argc, argv);
    n = n < 0 ? n : carm_opt_parse(cmd, n, argv);
    if (n == CARM_OPT_HELP) {
        carm_opt_help(cmd, false);
        return finish(CARM_EXIT_OK);
    }
    if (n < 0) {
        return CARM_EXIT_MISUSE;
    }
    struct carm_err err = {""};
    const int rc = carm_opt_expand_outnames(cmd, &err);
    if (rc) {
        return carm_say_outcome(rc, &err);
    }
    return finish(cmd->run(n, argv));
}

static int carm(int argc, char **argv)
{
    carm_commands = commands;
    hold_streams();
    watch_file_size();
    setlocale(LC_CTYPE, "");
    const char *word = argc > 1 ? argv[1] : "";
    if (argc < 2) {
        carm_opt_usage();
        return finish(CARM_EXIT_MISUSE);
    }
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
        return help(argc - 2, argv + 2);
    }
    if (strcmp(word, "--version") == 0) {
        printf("carm %s%s%s%s\n", carm_version, *carm_commit ? " (" : "", carm_commit,
               *carm_commit ? ")" : "");
        return finish(CARM_EXIT_OK);
    }
    if (strcmp(word, "--man") == 0) {
        return man(argc - 2, argv + 2);
    }
    if (strcmp(word, "--completion") == 0) {
        const int code = carm_completion_print(argc == 3 ? argv[2] : "");
        return code ? code : finish(code);
    }
    const struct carm_command *cmd = carm_opt_find_command(carm_commands, word);
    if (cmd) {
        return run_command(cmd, argc - 2, argv + 2);
    }
    const char *meant = carm_opt_nearest(carm_commands, word);
    return carm_say_error(CARM_EXIT_MISUSE,
                          "there is no command '%s'%s%s%s; `carm --help` lists them", word,
                          meant ? " (did you mean " : "", meant ? meant : "", meant ? "?)" : "");
}

/* ---- small stacks ----
 * Under a small `ulimit -s` everything runs on a stack of carm's own: libdw alone needs some 200 KB. The limit is
 * unchanged for programs that carm starts. */

static struct {
    int argc;
    char **argv;
    int code;
    ucontext_t before, context;
} own_stack;

static void run_on_own_stack(void)
{
    own_stack.code = carm(own_stack.argc, own_stack.argv);
}

int main(int argc, char **argv)
{
    static const size_t enough = (size_t)2 << 20;
    static const size_t bytes = (size_t)8 << 20; /* the usual limit */
    struct rlimit limit;
    pthread_attr_t thread;
    if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= enough) {
        return carm(argc, argv);
    }
    void *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (stack == MAP_FAILED || getcontext(&own_stack.context) != 0) {
        return carm(argc, argv);
    }
    if (pthread_attr_init(&thread) == 0) { /* threads would otherwise get a stack of the limit's
                                            * size */
        (void)pthread_attr_setstacksize(&thread, enough);
        (void)pthread_setattr_default_np(&thread);
        (void)pthread_attr_destroy(&thread);
    }
    own_stack.argc = argc;
    own_stack.argv = argv;
    own_stack.context.uc_stack.ss_sp = stack;
    own_stack.context.uc_stack.ss_size = bytes;
    own_stack.context.uc_link = &own_stack.before;
    makecontext(&own_stack.context, run_on_own_stack, 0);
    (void)swapcontext(&own_stack.before, &own_stack.context);
    return own_stack.code;
}
