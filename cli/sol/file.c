/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/sol/file.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>
#include <sys/types.h>

#include "base/number.h"
#include "base/text.h"
#include "base/outfile.h"

struct target {
    struct carm_outfile *file;
    struct carm_err err; /* of the first write that failed */
};

static ssize_t take(void *context, const char *data, size_t size)
{
    struct target *t = context;
    return carm_outfile_write(t->file, data, size, &t->err) ? -1 : (ssize_t)size;
}

static int put_file(struct target *t,
                    int (*put)(FILE *out, const void *context, struct carm_err *err),
                    const void *context, struct carm_err *err)
{
    const cookie_io_functions_t io = {.write = take};
    FILE *out = fopencookie(t, "w", io);
    if (!out) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to write a file");
    }
    int rc = put(out, context, err);
    const bool bad = ferror(out) != 0;
    if ((fclose(out) != 0 || bad) && rc == 0) {
        rc = carm_fail(err, CARM_EIO, "%s",
                       t->err.text[0] ? t->err.text : "a file cannot be written");
    }
    return rc ? rc : carm_outfile_commit(t->file, err);
}

int carm_sol_file_write(const char *path,
                        int (*put)(FILE *out, const void *context, struct carm_err *err),
                        const void *context, struct carm_err *err)
{
    struct target t = {NULL, {""}};
    if (strcmp(path, "-") == 0) {
        return put(stdout, context, err);
    }
    int rc = carm_outfile_open(path, &t.file, err);
    rc = rc ? rc : put_file(&t, put, context, err);
    carm_outfile_close(t.file);
    return rc;
}

void carm_sol_file_text(FILE *out, const char *s)
{
    char clean[CARM_SOL_FIELD_MAX];
    (void)carm_text_clean(clean, sizeof clean, s, false);
    const size_t n = strlen(clean);
    const bool plain = !strpbrk(clean, ",\"") && clean[0] != '#';
    if (n == 0 || (plain && clean[0] != ' ' && clean[n - 1] != ' ')) {
        (void)fputs(clean, out);
        return;
    }
    (void)fputc('"', out);
    for (const char *c = clean; *c; c++) {
        (void)fputs(*c == '"' ? "\"\"" : (char[]){*c, '\0'}, out);
    }
    (void)fputc('"', out);
}

void carm_sol_file_number(FILE *out, double v)
{
    char text[CARM_NUMBER_MAX];
    if (!isfinite(v)) {
        return;
    }
    if (v == floor(v) && fabs(v) < 0x1p53) {
        (void)fputs(carm_number_exact(text, v), out);
        return;
    }
    (void)snprintf(text, sizeof text, "%.12g", v);
    (void)fputs(text, out);
}
