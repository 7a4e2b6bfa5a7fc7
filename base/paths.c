/* SPDX-License-Identifier: MIT */
#include "base/paths.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void carm_clean_name(char *name)
{
    for (char *p = name; *p; p++) {
        if (*p == '/' || (unsigned char)*p <= ' ' || *p == 0x7f || (*p == '.' && p == name)) {
            *p = '_';
        }
    }
}

void carm_host_name(char host[CARM_HOST_MAX])
{
    memset(host, 0, CARM_HOST_MAX);
    if (gethostname(host, CARM_HOST_MAX - 1) != 0 || !*host) {
        memcpy(host, "localhost", sizeof "localhost");
    }
    carm_clean_name(host);
}

int carm_default_model_path(char *path, size_t size_bytes, struct carm_err *err)
{
    char host[CARM_HOST_MAX];
    carm_host_name(host);
    const char *data = getenv("XDG_DATA_HOME");
    const char *home = getenv("HOME");
    char found[PATH_MAX];
    int n;
    if (data && *data == '/')
        n = snprintf(found, sizeof found, "%s/carm/%s.json", data, host);
    else if (home && *home == '/')
        n = snprintf(found, sizeof found, "%s/.local/share/carm/%s.json", home, host);
    else
        return carm_fail(err, CARM_EIO,
                         "neither XDG_DATA_HOME nor HOME names a folder for the model; "
                         "name its file on the command line");
    if (n < 0 || (size_t)n >= sizeof found || (size_t)n >= size_bytes)
        return carm_fail(err, CARM_EIO,
                         "the path below XDG_DATA_HOME or HOME is too long for the model; "
                         "name its file on the command line");
    memcpy(path, found, (size_t)n + 1);
    return 0;
}
