/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A folder of a suite's own: RUN_TESTS(make_folder, remove_folder), or TEST_BETWEEN for a fresh one for a test. */
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit.h"

static char folder[64];

static inline int make_folder(void **state)
{
    const char *tmp = getenv("TMPDIR");
    (void)umask(022);
    (void)snprintf(folder, sizeof folder, "%.40s/carm-test-XXXXXX", tmp ? tmp : "/tmp");
    return mkdtemp(folder) ? 0 : -1;
}

static inline int remove_folder(void **state)
{
    char command[96];
    (void)snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command); /* NOLINT: the name is ours */
}

/* A path in the folder, good until the second call after it. */
static inline char *path_of(const char *name)
{
    static char path[2][512];
    static int turn;
    turn = !turn;
    (void)snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

/* Writes a file in the folder, and the folders that lead to it. */
static inline void put_file(const char *name, const char *text)
{
    char *path = path_of(name);
    for (char *at = strchr(path + strlen(folder) + 1, '/'); at; at = strchr(at + 1, '/')) {
        *at = '\0';
        (void)mkdir(path, 0755);
        *at = '/';
    }
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0 && fclose(f) == 0);
}
