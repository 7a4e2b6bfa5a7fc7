/* SPDX-License-Identifier: MIT */
#include "base/dynlib.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *load(const char *title, const char *variable, const char *const *usual, size_t n,
                  char *reason, size_t size)
{
    const char *named = getenv(variable); // NOLINT(concurrency-mt-unsafe)
    reason[0] = '\0';
    for (size_t i = 0; i < (named ? 1 : n); i++) {
        void *handle = dlopen(named ? named : usual[i], RTLD_LAZY | RTLD_LOCAL);
        if (handle) {
            return handle;
        }
        if (!reason[0]) {
            const char *why = dlerror();
            (void)snprintf(reason, size, "%s cannot be loaded (%s)", title, why ? why : usual[i]);
        }
    }
    return NULL;
}

void *carm_dynlib_open(const char *title, const char *variable, const char *const *usual, size_t n,
                       char version[32], char *reason, size_t size)
{
    struct link_map *map = NULL;
    char path[PATH_MAX];
    void *handle = load(title, variable, usual, n, reason, size);
    if (version) {
        /* no library here tells its version before it is initialised, but its file's name does */
        const char *at = NULL;
        if (handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map &&
            realpath(map->l_name, path)) {
            at = strstr(path, ".so.");
        }
        (void)snprintf(version, 32, "%.31s", at ? at + 4 : handle ? "unknown" : "");
    }
    return handle;
}
