/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/screen.h"

#include <fcntl.h>
#include <langinfo.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

bool carm_screen_utf8(void)
{
    return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

/* TERM, or "dumb" if not set. */
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
    /* the console's fonts have at most 512 glyphs, without braille (console_codes(4)) */
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

/* Whether the last byte before the position of standard error, a regular file, belongs to an
 * unfinished line. */
static bool is_unfinished(off_t size)
{
    char last = '\n';
    const bool append = fcntl(STDERR_FILENO, F_GETFL) & O_APPEND;
    const off_t at = append ? size : lseek(STDERR_FILENO, 0, SEEK_CUR);
    const int fd = open("/proc/self/fd/2", O_RDONLY | O_CLOEXEC); /* 2 may be open for writing
                                                                   * only */
    if (fd < 0) {
        return false;
    }
    const bool known = at > 0 && pread(fd, &last, 1, at - 1) == 1;
    close(fd);
    return known && last != '\n' && last != '\0';
}

void carm_screen_begin_line(void)
{
    struct winsize size = {0, 0, 0, 0};
    struct stat is;
    if (isatty(STDERR_FILENO)) {
        if (!is_dumb() && ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
            fprintf(stderr, "%*s\r\033[K", size.ws_col, "");
        }
    } else if (fstat(STDERR_FILENO, &is) == 0 && S_ISREG(is.st_mode) && is_unfinished(is.st_size)) {
        fputc('\n', stderr);
    }
}
