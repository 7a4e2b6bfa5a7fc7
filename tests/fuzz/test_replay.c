/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every reader on every seed and on every input that `make fuzz` has found (tests/fuzz/inputs/TARGET/): none
 * crashes, and none breaks a promise. */
#include <signal.h>
#include <sys/wait.h>

#include "tests/fuzz/targets.h"
#include "tests/unit.h"

enum { REFUSED = 3 }; /* the exit status of a child whose reader accepted nothing */

static const struct fuzz_target *target;
static size_t accepts;

/* Runs it in a process of its own, so that the input is named, whatever becomes of that process.
 * returns how that ended, as waitpid has it */
static int replay(const struct fuzz_target *on, const char *text, size_t size)
{
    int status = -1;
    (void)fflush(NULL);
    const pid_t child = fork();
    if (child == 0) {
        (void)signal(SIGABRT, SIG_DFL);
        (void)alarm(60);
        fuzz_run(on, (const uint8_t *)text, size);
        _exit(fuzz_accepts ? 0 : REFUSED);
    }
    assert_true(child > 0 && waitpid(child, &status, 0) == child);
    return status;
}

static void pass(const char *name, const char *text, size_t size)
{
    const int status = replay(target, text, size);
    if (!WIFEXITED(status) || (WEXITSTATUS(status) && WEXITSTATUS(status) != REFUSED)) {
        fail_msg("%s: the first %zu bytes of %s break it", target->name, size, name);
    }
    accepts += WEXITSTATUS(status) == 0;
}

/* A full disk leaves the first part of a file. */
static void pass_both(const char *name, const char *text, size_t size)
{
    pass(name, text, size);
    pass(name, text, size / 2);
}

static void every_input(void **state)
{
    const char *top = getenv("CARM_TOP");
    target = *state;
    accepts = 0;
    (void)fuzz_inputs(target, top && *top ? top : ".", pass_both);
    assert_true(accepts > 0); /* else the target tests the first check of its reader alone */
}

static void count(const char *name, const char *text, size_t size)
{
    (void)name;
    (void)text;
    (void)size;
}

/* A renamed target leaves its inputs behind, a renamed file a pattern without a seed. */
static void every_seed_has_its_target(void **state)
{
    const char *top = getenv("CARM_TOP");
    char path[4096];
    glob_t found;
    top = top && *top ? top : ".";
    for (const struct fuzz_target *t = fuzz_targets; t->name; t++) {
        for (size_t i = 0; t->files[i]; i++) {
            if (fuzz_files(top, t->files[i], count) == 0) {
                fail_msg("%s: no file is called %s", t->name, t->files[i]);
            }
        }
    }
    (void)snprintf(path, sizeof path, "%s/tests/fuzz/inputs/*", top);
    assert_int_equal(glob(path, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        if (!fuzz_find(strrchr(found.gl_pathv[i], '/') + 1)) {
            fail_msg("%s: no target has this name", found.gl_pathv[i]);
        }
    }
    globfree(&found);
}

/* What would be reported if a reader broke a promise. */
static void a_planted_fault_is_found(void **state)
{
    const struct fuzz_target *planted = fuzz_find("planted");
    const int harmless = replay(planted, "harmless", 8);
    assert_true(WIFEXITED(harmless));
    const int status = replay(planted, "planted", 7);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

int main(void)
{
    /* the first target is the planted one, and the table has an end */
    enum { TARGETS = sizeof fuzz_targets / sizeof *fuzz_targets - 1 };
    struct CMUnitTest tests[TARGETS + 1] = {cmocka_unit_test(a_planted_fault_is_found)};
    tests[TARGETS] = (struct CMUnitTest)cmocka_unit_test(every_seed_has_its_target);
    for (size_t i = 1; i < TARGETS; i++) {
        tests[i] = (struct CMUnitTest){.name = fuzz_targets[i].name,
                                       .test_func = every_input,
                                       .initial_state = (void *)&fuzz_targets[i]};
    }
    return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
