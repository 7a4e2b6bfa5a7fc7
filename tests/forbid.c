/* SPDX-License-Identifier: GPL-3.0-or-later */
/* forbid WORD... -- CMD ARGS...: runs a command under a seccomp filter. A number: the system call fails with
 * EPERM. The word container: what containers forbid by default, and no pages of 2 MiB, which some hosts lack. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST = 256 };

#ifndef SYS_set_mempolicy_home_node
#define SYS_set_mempolicy_home_node 450
#endif

/* What Docker's default profile (moby, profiles/seccomp/default.json) refuses on x86-64 without further
 * capabilities, in 20.10 of Debian 12 or since; what depends on arguments is in contain() */
/* clang-format off */
static const unsigned short refused[] = {
    SYS_acct, SYS_add_key, SYS_bpf, SYS_clock_settime, SYS_delete_module, SYS_fanotify_init,
    SYS_finit_module, SYS_fsconfig, SYS_fsmount, SYS_fsopen, SYS_fspick, SYS_get_mempolicy,
    SYS_init_module, SYS_io_uring_enter, SYS_io_uring_register, SYS_io_uring_setup, SYS_ioperm,
    SYS_iopl, SYS_kcmp, SYS_kexec_file_load, SYS_kexec_load, SYS_keyctl, SYS_lookup_dcookie,
    SYS_mbind, SYS_migrate_pages, SYS_mount, SYS_mount_setattr, SYS_move_mount, SYS_move_pages,
    SYS_name_to_handle_at, SYS_nfsservctl, SYS_open_by_handle_at, SYS_open_tree,
    SYS_perf_event_open, SYS_pidfd_getfd, SYS_pivot_root, SYS_pkey_alloc, SYS_pkey_free,
    SYS_pkey_mprotect, SYS_process_madvise, SYS_quotactl, SYS_quotactl_fd, SYS_reboot,
    SYS_request_key, SYS_set_mempolicy, SYS_set_mempolicy_home_node, SYS_setdomainname,
    SYS_sethostname, SYS_setns, SYS_settimeofday, SYS_swapoff, SYS_swapon, SYS_sysfs, SYS_syslog,
    SYS_umount2, SYS_unshare, SYS_uselib, SYS_userfaultfd, SYS_ustat, SYS_vhangup,
};
/* clang-format on */

static struct sock_filter code[MOST];
static unsigned short n;

static void put(unsigned short kind, unsigned value, unsigned char yes, unsigned char no)
{
    if (n == MOST) {
        fputs("forbid: too many words\n", stderr);
        exit(2);
    }
    code[n++] = (struct sock_filter){kind, yes, no, value};
}

static void load(size_t offset)
{
    put(BPF_LD | BPF_W | BPF_ABS, (unsigned)offset, 0, 0);
}

static void give(unsigned action)
{
    put(BPF_RET | BPF_K, action, 0, 0);
}

static void forbid(unsigned number)
{
    put(BPF_JMP | BPF_JEQ | BPF_K, number, 0, 1);
    give(SECCOMP_RET_ERRNO | EPERM);
}

static void contain(void)
{
    /* the values of personality that the profile allows */
    static const unsigned kinds[] = {0, 0x8, 0x20000, 0x20008, 0xffffffff};
    enum { KINDS = sizeof kinds / sizeof *kinds };
    const size_t argument = offsetof(struct seccomp_data, args);

    /* inherited by children and kept over execve, like the filter */
    if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0) {
        perror("forbid: pages of 2 MiB");
    }
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        forbid(refused[i]);
    }
    /* runc answers ENOSYS for what is newer than the profile; the C library then takes clone for clone3 */
    put(BPF_JMP | BPF_JGT | BPF_K, SYS_set_mempolicy_home_node, 1, 0);
    put(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 0, 1);
    give(SECCOMP_RET_ERRNO | ENOSYS);

    put(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4);
    load(argument);
    put(BPF_JMP | BPF_JSET | BPF_K,
        CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |
            CLONE_NEWNET,
        0, 1);
    give(SECCOMP_RET_ERRNO | EPERM);
    give(SECCOMP_RET_ALLOW);

    put(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 4);
    load(argument);
    put(BPF_JMP | BPF_JEQ | BPF_K, AF_VSOCK, 0, 1);
    give(SECCOMP_RET_ERRNO | EPERM);
    give(SECCOMP_RET_ALLOW);

    put(BPF_JMP | BPF_JEQ | BPF_K, SYS_personality, 0, KINDS + 3);
    load(argument);
    for (unsigned char i = 0; i < KINDS; i++) {
        put(BPF_JMP | BPF_JEQ | BPF_K, kinds[i], (unsigned char)(KINDS - i), 0);
    }
    give(SECCOMP_RET_ERRNO | EPERM);
    give(SECCOMP_RET_ALLOW);
}

int main(int argc, char **argv)
{
    int i = 1;
    /* 32-bit code has other numbers */
    load(offsetof(struct seccomp_data, arch));
    put(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_X86_64, 1, 0);
    give(SECCOMP_RET_ALLOW);
    load(offsetof(struct seccomp_data, nr));
    for (; i < argc && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "container") != 0) {
            forbid((unsigned)strtoul(argv[i], NULL, 10));
        }
    }
    for (int k = 1; k < i; k++) {
        if (strcmp(argv[k], "container") == 0) {
            contain();
            break;
        }
    }
    give(SECCOMP_RET_ALLOW);
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
