/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The program of `make fuzz`: libFuzzer calls one target, that of the environment's CARM_FUZZ.
 *   search --targets          prints the names of all
 *   search --seeds FOLDER     writes the target's seeds and known inputs into a folder */
#include "tests/fuzz/targets.h"

static const struct fuzz_target *target;
static const char *folder;

static void write_seed(const char *name, const char *text, size_t size)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *out = fopen(path, "w");
    if (!out || fwrite(text, 1, size, out) != size || fclose(out)) {
        perror(path);
        exit(1);
    }
}

/* elfutils 0.188 loses some bytes of wrong files. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libdw.so\nleak:libelf\n";
}

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    if (*argc > 1 && strcmp((*argv)[1], "--targets") == 0) {
        for (const struct fuzz_target *t = fuzz_targets; t->name; t++) {
            (void)puts(t->name);
        }
        exit(0);
    }
    target = fuzz_find(getenv("CARM_FUZZ"));
    if (!target) {
        (void)fprintf(stderr, "CARM_FUZZ names no target: --targets prints them\n");
        exit(1);
    }
    if (*argc > 2 && strcmp((*argv)[1], "--seeds") == 0) {
        folder = (*argv)[2];
        (void)fuzz_inputs(target, ".", write_seed);
        exit(0);
    }
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_run(target, data, size);
    return 0;
}
