/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/file/select.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/job.h"
#include "models/file/gallery.h"
#include "models/import/import.h"

/* The tool that wrote a file of roofs; NULL = a model or anything else. A file that cannot be read
 * gives NULL. */
static const struct carm_import_format *foreign(const char *path, bool *model)
{
    static char begin[65536];
    struct stat st;
    const bool regular = stat(path, &st) == 0 && S_ISREG(st.st_mode); /* the content of a pipe can
                                                                       * be read only once */
    FILE *f = regular ? fopen(path, "rbe") : NULL;
    const size_t n = f ? fread(begin, 1, sizeof begin, f) : 0;
    size_t at = 0;
    if (f) {
        fclose(f);
    }
    while (at < n && isspace((unsigned char)begin[at])) {
        at++;
    }
    const struct carm_import_format *format = carm_import_detect(begin, n);
    *model = at < n && begin[at] == '{' && !format;
    return format;
}

/* Reads roofs of another tool as a model. */
static int open_foreign(const struct carm_import_format *format, const char *path,
                        struct carm_model **model, struct carm_err *err)
{
    struct carm_csv *csv = NULL;
    int rc = carm_csv_open(path, &csv, err);
    rc = rc ? rc : carm_import_roofs(format, csv, model, err);
    carm_csv_close(csv);
    return rc;
}

/* Opens a model that is built into carm. */
static int open_gallery(const char *name, struct carm_model **model, char **text,
                        struct carm_err *err)
{
    const int rc = carm_gallery_open(name, model, err);
    if (rc || !text) {
        return rc;
    }
    *text = carm_model_to_json(*model);
    if (!*text) {
        carm_model_free(*model);
        *model = NULL;
        return carm_fail(err, CARM_ENOMEM, "not enough memory for the model of %.80s", name);
    }
    return 0;
}

/* Whether the operand `mine` means this machine's model: a file with this name takes precedence. */
static bool is_mine(const char *operand)
{
    return strcmp(operand, "mine") == 0 && access(operand, F_OK) != 0;
}

int carm_select_open(const char *operand, struct carm_model **model, char **text,
                     struct carm_err *err)
{
    char path[PATH_MAX];
    char *file = NULL;
    size_t size_bytes = 0;
    bool is_model;
    *model = NULL;
    if (text) {
        *text = NULL;
    }
    if (operand && carm_gallery_has(operand)) {
        return open_gallery(operand, model, text, err);
    }
    operand = operand && is_mine(operand) ? NULL : operand;
    const struct carm_import_format *format = operand ? foreign(operand, &is_model) : NULL;
    if (format && carm_import_has_roofs(format)) {
        return open_foreign(format, operand, model, err);
    }
    int rc = operand ? 0 : carm_default_model_path(path, sizeof path, err);
    if (!operand) {
        operand = path;
    }
    if (rc == 0) {
        rc = carm_model_load(operand, &file, &size_bytes, err);
    }
    if (rc == 0) {
        rc = carm_model_parse(file, size_bytes, operand, model, err);
    }
    if (rc == 0 && text) {
        *text = file;
        file = NULL;
    }
    free(file);
    return rc;
}

bool carm_select_is_model(const char *path)
{
    struct stat st;
    if (strcmp(path, "-") == 0) {
        return false;
    }
    if (is_mine(path) || carm_gallery_has(path)) {
        return true;
    }
    const size_t n = strlen(path);
    const bool named = n > 5 && strcmp(path + n - 5, ".json") == 0;
    if (stat(path, &st) != 0 || !S_ISREG(st.st_mode)) { /* the first byte of a pipe could not be
                                                         * read again */
        return named;
    }
    bool model;
    const struct carm_import_format *format = foreign(path, &model);
    return format ? carm_import_has_roofs(format) : model || (st.st_size == 0 && named);
}

int carm_select_sort_operands(int n, char **operands, int *models, struct carm_err *err)
{
    int standard = 0;
    const char *missing = NULL;
    *models = 0;
    for (int i = 0; i < n; i++) {
        struct stat st;
        char *operand = operands[i];
        standard += strcmp(operand, "-") == 0;
        if (!carm_select_is_model(operand)) {
            missing = strcmp(operand, "-") != 0 && stat(operand, &st) != 0 ? operand : missing;
            continue;
        }
        if ((*models)++ > 0) {
            return carm_fail(err, CARM_EINVAL,
                             "'%.200s' looks like a model, as '%.200s' does: give one model only",
                             operand, operands[0]);
        }
        memmove(operands + 1, operands, (size_t)i * sizeof *operands);
        operands[0] = operand;
    }
    if (standard > 1) {
        return carm_fail(err, CARM_EINVAL, "standard input (-) can be read once only");
    }
    return missing ? carm_fail(err, CARM_EIO, "cannot read %.400s: %s", missing, strerror(errno))
                   : 0;
}
