/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Every reader on every seed and on every input that `make fuzz` has found (tests/fuzz/inputs/TARGET/): none
 * crashes, and none breaks a promise. */
#define OWN_MAIN
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
    fail_if(!WIFEXITED(status) || (WEXITSTATUS(status) && WEXITSTATUS(status) != REFUSED),
            "%s: the first %zu bytes of %s break it", target->name, size, name);
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
TEST(every_seed_has_its_target)
{
    const char *top = getenv("CARM_TOP");
    char path[4096];
    glob_t found;
    top = top && *top ? top : ".";
    for (const struct fuzz_target *t = fuzz_targets; t->name; t++) {
        for (size_t i = 0; t->files[i]; i++) {
            fail_if(fuzz_files(top, t->files[i], count) == 0, "%s: no file is called %s", t->name,
                    t->files[i]);
        }
    }
    (void)snprintf(path, sizeof path, "%s/tests/fuzz/inputs/*", top);
    assert_int_equal(glob(path, 0, NULL, &found), 0);
    for (size_t i = 0; i < found.gl_pathc; i++) {
        fail_if(!fuzz_find(strrchr(found.gl_pathv[i], '/') + 1), "%s: no target has this name",
                found.gl_pathv[i]);
    }
    globfree(&found);
}

/* What would be reported if a reader broke a promise. */
TEST(a_planted_fault_is_found)
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
    for (const struct fuzz_target *t = &fuzz_targets[1]; t->name; t++) {
        add_test((struct CMUnitTest){t->name, every_input, NULL, NULL, (void *)t});
    }
    return run_suite(NULL, NULL);
}
