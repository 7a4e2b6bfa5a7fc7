/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/screen.h"

#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

bool carm_screen_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* TERM; "dumb" where it is not set. */
static const char *terminal(void)
{
    const char *term = getenv("TERM");
    return term && *term ? term : "dumb";
}

static bool is_dumb(void)
{
    return strcmp(terminal(), "dumb") == 0;
}

bool carm_screen_unicode(int fd)
{
    if (!carm_screen_utf8()) {
        return false;
    }
    /* the console's fonts hold 512 glyphs at most, without braille (console_codes(4)) */
    const char *term = terminal();
    return !isatty(fd) || (!is_dumb() && strcmp(term, "linux") != 0 && strncmp(term, "vt", 2) != 0);
}

void carm_screen_size(int fd, int *columns, int *rows)
{
    struct winsize size = {0, 0, 0, 0};
    *columns = CARM_SCREEN_COLUMNS;
    *rows = CARM_SCREEN_ROWS - 1;
    if (!isatty(fd)) {
        return;
    }
    if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 && size.ws_row > 0) {
        *columns = size.ws_col;
        *rows = size.ws_row - 1;
    }
    *columns -= is_dumb() ? 1 : 0;
}

bool carm_screen_colour(int fd)
{
    const char *no = getenv("NO_COLOR");
    return isatty(fd) && !(no && *no) && !is_dumb();
}
