/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a test's doubles were asked for, in order, as one line of text. */
#pragma once

#include <stdarg.h>

#include "tests/unit.h"

static char events[1 << 14];
static bool quiet; /* nothing is noted */

__attribute__((format(printf, 1, 2))) static inline void note(const char *format, ...)
{
    const size_t at = strlen(events);
    if (quiet) {
        return;
    }
    fail_if(at > sizeof events - 200, "no end: %.400s", events);
    va_list ap;
    va_start(ap, format);
    vsnprintf(events + at, sizeof events - at, format, ap);
    va_end(ap);
}

/* The events since the last look. With UPDATE they are printed in place of a comparison. */
static inline void happened(const char *wanted)
{
    if (getenv("UPDATE")) {
        print_message("<<<%s>>>\n", events);
    } else if (strcmp(events, wanted) != 0) {
        fail_msg("'%s' is not '%s'", events, wanted);
    }
    events[0] = '\0';
}
