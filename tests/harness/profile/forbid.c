/* SPDX-License-Identifier: GPL-3.0-or-later */
/* forbid [thp] NUMBER... -- CMD ARGS...: runs a command that may not make these system calls (EPERM), as in a
 * container with a seccomp filter; thp: and gets no transparent huge pages. */
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { MOST = 48 };

int main(int argc, char **argv)
{
    struct sock_filter code[2 * MOST + 2] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr))};
    unsigned short n = 1;
    int i = argc > 1 && strcmp(argv[1], "thp") == 0 ? 2 : 1;
    if (i == 2 && prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0) {
        perror("forbid thp");
        return 77;
    }
    for (; i < argc && strcmp(argv[i], "--") != 0 && n < 2 * MOST; i++) {
        const unsigned number = (unsigned)strtoul(argv[i], NULL, 10);
        code[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
        code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
    }
    code[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
    const struct sock_fprog filter = {n, code};
    if (i + 1 >= argc) {
        return 2;
    }
    /* root needs no such promise, after which set-user-id programs would be ordinary ones */
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0 &&
        (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)) {
        perror("forbid");
        return 77;
    }
    execvp(argv[i + 1], argv + i + 1);
    perror(argv[i + 1]);
    return 127;
}
