/* SPDX-License-Identifier: MIT */
#pragma once

#include <unistd.h>

/* Closes a file descriptor; a negative one stands for none. */
static inline void carm_fd_close(int fd)
{
    if (fd >= 0) {
        close(fd);
    }
}
