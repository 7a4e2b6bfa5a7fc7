/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/completion/value.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "models/published/open.h"

const char *carm_completion_kind_name(enum carm_completion_kind kind)
{
    static const char *const names[CARM_COMPLETION_KIND_COUNT] = {
        [CARM_COMPLETION_SWITCH] = "switch",   [CARM_COMPLETION_NONE] = "none",
        [CARM_COMPLETION_WORDS] = "words",     [CARM_COMPLETION_LIST] = "list",
        [CARM_COMPLETION_FILES] = "files",     [CARM_COMPLETION_MIXED] = "mixed",
        [CARM_COMPLETION_COMMAND] = "command",
    };
    return names[kind];
}

static void add_word(struct carm_completion_value *value, const char *word, size_t length)
{
    if (value->nwords < CARM_COMPLETION_WORDS_MAX && length < CARM_COMPLETION_WORD_MAX) {
        (void)snprintf(value->words[value->nwords++], CARM_COMPLETION_WORD_MAX, "%.*s", (int)length,
                       word);
    }
}

void carm_completion_of_option(const struct carm_opt *opt, struct carm_completion_value *value)
{
    const char *words = opt->words;
    const char *word = NULL;
    size_t length = 0;
    value->nwords = 0;
    while ((word = carm_opt_next_word(&words, &length))) {
        add_word(value, word, length);
    }
    if (!opt->arg) {
        value->kind = CARM_COMPLETION_SWITCH;
    } else if (value->nwords == 0) {
        value->kind = strstr(opt->arg, "FILE") ? CARM_COMPLETION_FILES : CARM_COMPLETION_NONE;
    } else {
        value->kind = strstr(opt->arg, "LIST")   ? CARM_COMPLETION_LIST
                      : strstr(opt->arg, "FILE") ? CARM_COMPLETION_MIXED
                                                 : CARM_COMPLETION_WORDS;
    }
}

static int add_machines(struct carm_completion_value *value, struct carm_err *err)
{
    struct carm_published *published = NULL;
    const int rc = carm_published_load(&published, err);
    if (rc) {
        return rc;
    }
    for (size_t i = 0; i < published->nmachines; i++) {
        add_word(value, published->machines[i].name, strlen(published->machines[i].name));
    }
    carm_published_close(published);
    return 0;
}

int carm_completion_of_operands(const struct carm_command *cmd, struct carm_completion_value *value,
                                struct carm_err *err)
{
    static const char between[] = " |[].";
    bool files = false;
    value->nwords = 0;
    value->kind = CARM_COMPLETION_NONE;
    if (cmd->max_operands < 0) {
        value->kind = CARM_COMPLETION_COMMAND;
        return 0;
    }
    for (const char *at = cmd->operands + strspn(cmd->operands, between); *at;) {
        const size_t length = strcspn(at, between);
        if (strncmp(at, "MACHINE", length) == 0) {
            const int rc = add_machines(value, err);
            if (rc) {
                return rc;
            }
        } else if (islower((unsigned char)*at)) {
            add_word(value, at, length);
        } else if (strncmp(at, "MODEL", length) == 0 || strncmp(at, "POINTS", length) == 0 ||
                   strncmp(at, "FILE", length) == 0) {
            files = true;
        }
        at += length;
        at += strspn(at, between);
    }
    if (value->nwords) {
        value->kind = files ? CARM_COMPLETION_MIXED : CARM_COMPLETION_WORDS;
    } else if (files) {
        value->kind = CARM_COMPLETION_FILES;
    }
    return 0;
}

void carm_completion_quote_strings(const char *const *strings)
{
    (void)putchar('\'');
    for (const char *const *s = strings; *s; s++) {
        for (const char *c = *s; *c; c++) {
            if (*c == '\'') {
                (void)printf("'\\''");
            } else {
                (void)putchar(*c);
            }
        }
    }
    (void)putchar('\'');
}

void carm_completion_quote_words(const struct carm_completion_value *value)
{
    for (size_t i = 0; i < value->nwords; i++) {
        (void)putchar(' ');
        CARM_COMPLETION_QUOTE(value->words[i]);
    }
}
