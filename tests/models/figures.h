/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results written as text, for tests that compare all of their members at once. */
#pragma once

#include "tests/unit.h"

enum { FIGURES_MAX = 1 << 15 };

struct figures {
    char text[FIGURES_MAX];
    size_t used;
};

__attribute__((format(printf, 2, 3))) static inline void put(struct figures *f, const char *format,
                                                             ...)
{
    va_list ap;
    va_start(ap, format);
    f->used += (size_t)vsnprintf(f->text + f->used, FIGURES_MAX - f->used, format, ap);
    va_end(ap);
    assert_true(f->used < FIGURES_MAX);
}

static inline struct figures *no_figures(void)
{
    static struct figures f;
    f.used = 0;
    f.text[0] = '\0';
    return &f;
}

/* The text, and in print all of it where it is another one. */
static inline void expect(const struct figures *f, const char *wanted, const char *what,
                          size_t which)
{
    if (strcmp(f->text, wanted) == 0) {
        return;
    }
    const char *at = f->text;
    while (*at) {
        const int n = (int)strcspn(at, "\n");
        print_message("%.*s\n", n, at);
        at += n + (at[n] == '\n');
    }
    size_t line = 0, same = 0;
    for (size_t i = 0; f->text[i] == wanted[i]; i++) {
        if (wanted[i] == '\n') {
            line++;
            same = i + 1;
        }
    }
    fail_msg("%s %zu: line %zu of the figures above is not\n%.*s", what, which, line + 1,
             (int)strcspn(wanted + same, "\n"), wanted + same);
}
