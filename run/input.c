/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "run/input.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LONG_AGO = 1 };

static bool was_read(int fd)
{
    struct stat s;
    return fstat(fd, &s) != 0 || s.st_atime != LONG_AGO;
}

static bool forget_reading(int fd)
{
    const struct timespec times[2] = {{.tv_sec = LONG_AGO}, {.tv_sec = LONG_AGO}};
    return futimens(fd, times) == 0 && !was_read(fd);
}

void carm_input_first(struct carm_input *input)
{
    *input = (struct carm_input){.begin = lseek(STDIN_FILENO, 0, SEEK_CUR), .empty = -1};
}

void carm_input_again(struct carm_input *input)
{
    struct stat s;
    char byte;
    if (input->begin >= 0) {
        input->end = lseek(STDIN_FILENO, 0, SEEK_CUR);
        input->blind = lseek(STDIN_FILENO, input->begin, SEEK_SET) != input->begin;
        return;
    }
    if (fstat(STDIN_FILENO, &s) != 0) {
        return; /* standard input is closed, for both runs */
    }
    input->empty = memfd_create("empty", MFD_CLOEXEC);
    /* tests whether a reading changes the time of access: not every file system keeps it */
    input->blind = input->empty < 0 || dup2(input->empty, STDIN_FILENO) < 0 ||
                   !forget_reading(input->empty) || read(input->empty, &byte, 1) != 0 ||
                   !was_read(input->empty) || !forget_reading(input->empty);
}

bool carm_input_rewind(const struct carm_input *input)
{
    if (input->begin >= 0) {
        return lseek(STDIN_FILENO, input->begin, SEEK_SET) == input->begin;
    }
    return !input->blind && (input->empty < 0 || !was_read(input->empty));
}

bool carm_input_end(struct carm_input *input)
{
    bool same = !input->blind;
    if (input->begin >= 0) {
        (void)lseek(STDIN_FILENO, input->end, SEEK_SET);
    }
    if (input->empty >= 0) {
        same = same && !was_read(input->empty);
        close(input->empty);
        input->empty = -1;
    }
    return same;
}
