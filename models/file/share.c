/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/file/share.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/job.h"
#include "base/outfile.h"
#include "models/file/model.h"

struct names {
    char host[CARM_TEXT_MAX], short_host[CARM_TEXT_MAX];
    const char *const *words;
    size_t n;
};

static bool in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Whether the token contains the name as a whole word. */
static bool holds(const char *token, size_t length, const char *name)
{
    const size_t n = strlen(name);
    for (size_t i = 0; n > 0 && i + n <= length; i++) {
        if (memcmp(token + i, name, n) == 0 && (i == 0 || !in_word(token[i - 1])) &&
            (i + n == length || !in_word(token[i + n]))) {
            return true;
        }
    }
    return false;
}

/* Whether a token is a path: "/home/...", "~/...", "file:/..." or "../...", but not "flop/s". */
static bool is_path(const char *token, size_t length)
{
    const char *slash = memchr(token, '/', length);
    if (!slash || strncmp(token, "/proc/", 6) == 0 || strncmp(token, "/sys/", 5) == 0) {
        return false;
    }
    return slash == token || !isalnum((unsigned char)slash[-1]);
}

static bool is_private(const struct names *names, const char *token, size_t length)
{
    if (is_path(token, length) || holds(token, length, names->host) ||
        holds(token, length, names->short_host)) {
        return true;
    }
    for (size_t i = 0; i < names->n; i++) {
        if (holds(token, length, names->words[i])) {
            return true;
        }
    }
    return false;
}

/* Removes private words from sentences. Words of tables, such as "avx2" and "tlp add", are carm's
 * own and stay. */
static void clean(const struct carm_member *member, char *text, void *arg)
{
    static const char between[] = " \t\r\n\"'`,;()<>=";
    static const char instead[] = "(removed)";
    const bool sentence = member->kind == CARM_MEMBER_TEXT || strchr(text, ' ');
    char out[CARM_TEXT_MAX + sizeof instead];
    size_t used = 0;
    const char *at = text;
    if (!sentence || (member->flags & CARM_MEMBER_KEY)) {
        return;
    }
    while (*at && used < member->size) {
        const size_t length = strcspn(at, between);
        const bool hide = length > 0 && is_private(arg, at, length);
        const char *word = hide ? instead : at;
        size_t n = hide ? sizeof instead - 1 : length > 0 ? length : 1;
        n = n < sizeof out - 1 - used ? n : sizeof out - 1 - used;
        memcpy(out + used, word, n);
        used += n;
        at += length > 0 ? length : 1;
    }
    out[used] = '\0';
    snprintf(text, member->size, "%s", out);
}

int carm_model_share(const struct carm_model *model, const char *const *words, size_t n,
                     struct carm_model **out, struct carm_err *err)
{
    struct names names = {.words = words, .n = n};
    char *text = carm_model_to_json(model);
    *out = NULL;
    if (!text) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to copy the model");
    }
    const int rc = carm_model_parse(text, strlen(text), "the model to be shared", out, err);
    free(text);
    if (rc) {
        return rc;
    }
    char *host = (*out)->machine.hostname;
    snprintf(names.host, sizeof names.host, "%s", host);
    snprintf(names.short_host, sizeof names.short_host, "%.*s", (int)strcspn(host, "."), host);
    *host = '\0';
    carm_table_each_text(&carm_model_table, *out, clean, &names);
    return 0;
}

static int put(FILE *out, const void *context, struct carm_err *err)
{
    char *text = carm_model_to_json(context);
    if (!text) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to write the model");
    }
    fputs(text, out);
    free(text);
    return 0;
}

int carm_model_share_write(const struct carm_model *model, const char *path, struct carm_err *err)
{
    char host[CARM_HOST_MAX], user[CARM_HOST_MAX];
    const char *const words[] = {host, user};
    struct carm_model *copy = NULL;
    if (*model->roofs_of) {
        return carm_fail(err, CARM_EINVAL,
                         "--share takes models of carm build: share the file of %.40s itself",
                         model->roofs_of);
    }
    carm_host_name(host);
    carm_user_name(user);
    if (strcmp(user, "root") == 0) {
        user[0] = '\0'; /* not a person's name, but a word in sentences about permissions */
    }
    int rc = carm_model_share(model, words, 2, &copy, err);
    rc = rc ? rc : carm_outfile_print(path, put, copy, err);
    carm_model_free(copy);
    return rc;
}
