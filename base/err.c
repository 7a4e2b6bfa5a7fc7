/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include <stdarg.h>

#include "base/text.h"

int(carm_fail)(struct carm_err *e, enum carm_error code, const char *fmt, ...)
{
    if (e) {
        va_list ap;
        va_start(ap, fmt);
        carm_text_vformat(e->text, sizeof e->text, fmt, ap);
        va_end(ap);
    }
    return -(int)code;
}
