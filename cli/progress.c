/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "cli/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "cli/opt.h"

static void show(const char *what, double done, double left_seconds)
{
    if (what) {
        fprintf(stderr, "\r\033[K%3.0f%%  %-46.46s %4.0f s left", 100.0 * done, what, left_seconds);
    } else {
        fprintf(stderr, "\r\033[K");
    }
    fflush(stderr);
}

static void say(const char *text)
{
    carm_say_error(0, "%s", text);
}

struct carm_observer carm_progress_open(void)
{
    carm_interrupt_watch();
    return (struct carm_observer){
        .show = isatty(STDERR_FILENO) ? show : NULL, .say = say, .stop = &carm_interrupted};
}
