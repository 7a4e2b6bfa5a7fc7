/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/translate/memory_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int carm_memory_file(const char *name, uint64_t bytes)
{
    const int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (fd >= 0 &&
        (ftruncate(fd, (off_t)bytes) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0)) {
        const int code = errno;
        close(fd);
        errno = code;
        return -1;
    }
    return fd;
}
