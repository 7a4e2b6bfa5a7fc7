/* SPDX-License-Identifier: GPL-3.0-or-later */
#include <errno.h>
#include <fts.h>
#include <stdlib.h>
#include <string.h>

#include "models/fleet/item.h"
#include "models/fleet/pool.h"

struct list {
    char **names;
    size_t n;
};

static int add(struct list *list, const char *name, struct carm_err *err)
{
    char *copy = strdup(name);
    if (!copy || carm_fleet_grow(&list->names, list->n, sizeof *list->names)) {
        free(copy);
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the names of a fleet's files");
    }
    list->names[list->n++] = copy;
    return 0;
}

static bool ends_in(const char *name, const char *end)
{
    const size_t n = strlen(name);
    const size_t m = strlen(end);
    return n > m && strcmp(name + n - m, end) == 0;
}

static int by_name(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

/* What a folder holds that is not a model is left alone; what was named is read. */
static int take_entry(struct list *list, FTSENT *e, struct carm_err *err)
{
    switch (e->fts_info) {
    case FTS_NS:
    case FTS_SLNONE:
        if (e->fts_level == FTS_ROOTLEVEL) {
            return carm_fail(err, CARM_EIO, "cannot read %.256s: %s", e->fts_path,
                             strerror(e->fts_errno ? e->fts_errno : ENOENT));
        }
        return 0;
    case FTS_DNR:
        return carm_fail(err, CARM_EIO, "cannot read the folder %.256s: %s", e->fts_path,
                         strerror(e->fts_errno));
    case FTS_F:
    case FTS_DEFAULT:
        if (e->fts_level == FTS_ROOTLEVEL || ends_in(e->fts_name, ".json") ||
            ends_in(e->fts_name, ".jsonl")) {
            return add(list, e->fts_path, err);
        }
        return 0;
    default:
        return 0;
    }
}

static int walk(struct list *list, char *path, struct carm_err *err)
{
    char *const roots[] = {path, NULL};
    const size_t before = list->n;
    bool folder = false;
    int rc = 0;
    FTS *fts = fts_open(roots, FTS_LOGICAL | FTS_NOCHDIR, by_name);
    if (!fts) {
        return carm_fail(err, CARM_EIO, "cannot read %.256s: %s", path, strerror(errno));
    }
    errno = 0;
    for (FTSENT *e = fts_read(fts); e && rc == 0; e = rc ? NULL : fts_read(fts)) {
        folder = folder || e->fts_info == FTS_D;
        rc = take_entry(list, e, err);
    }
    (void)fts_close(fts);
    if (rc == 0 && folder && list->n == before) {
        rc = carm_fail(err, CARM_EIO,
                       "%.256s has no model: `carm fleet` reads files that end in .json or .jsonl",
                       path);
    }
    return rc;
}

int carm_fleet_list_files(char *const *paths, size_t n, char ***files, size_t *nfiles,
                          struct carm_err *err)
{
    struct list list = {NULL, 0};
    int rc = 0;
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = walk(&list, paths[i], err);
    }
    *files = list.names;
    *nfiles = list.n;
    return rc;
}
