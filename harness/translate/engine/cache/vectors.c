/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Processor state that the engine uses: vector registers, fs, gs. Zydis may use vector
 * registers, and reads its stack protector's canary at fs, which a program has not set up at its
 * start. */
#include <asm/prctl.h>
#include <string.h>

#include "harness/translate/engine/cache/cache.h"
#include "harness/translate/engine/sys.h"

struct carm_boot carm_boot __attribute__((visibility("default")));

static uint64_t get_fs(void)
{
    uint64_t fs = 0;
    if (carm_boot.fsgsbase) {
        __asm__ volatile(".byte 0xf3, 0x48, 0x0f, 0xae, 0xc0" : "=a"(fs)); /* rdfsbase rax */
    } else {
        carm_sys2(SYS_arch_prctl, ARCH_GET_FS, (uint64_t)&fs);
    }
    return fs;
}

static void set_fs(uint64_t fs)
{
    if (carm_boot.fsgsbase) {
        __asm__ volatile(".byte 0xf3, 0x48, 0x0f, 0xae, 0xd0" : : "a"(fs)); /* wrfsbase rax */
    } else {
        carm_sys2(SYS_arch_prctl, ARCH_SET_FS, fs);
    }
}

void carm_set_gs(const struct carm_thread *t)
{
    if (carm_boot.fsgsbase) {
        __asm__ volatile(".byte 0xf3, 0x48, 0x0f, 0xae, 0xd8" : : "a"(t)); /* wrgsbase rax */
    } else {
        carm_sys2(SYS_arch_prctl, ARCH_SET_GS, (uint64_t)t);
    }
}

void carm_fs_own(struct carm_thread *t)
{
    t->program_fs = get_fs();
    set_fs((uint64_t)t->tls);
}

void carm_fs_back(struct carm_thread *t)
{
    set_fs(t->program_fs);
}

/* The vectors, and all x87 state. AMD's xsave and xrstor lose the address of the latest x87 instruction (x87[3]),
 * unless an exception is pending. */
void carm_vectors_save(struct carm_thread *t)
{
    __asm__ volatile("xsave64 (%0)" : : "r"(t->xsave), "a"(-1), "d"(-1) : "memory");
    __asm__ volatile("fnstenv (%0)" : : "r"(t->x87) : "memory"); /* fnstenv masks exceptions */
    carm_fs_own(t);
}

void carm_vectors_load(struct carm_thread *t)
{
    carm_fs_back(t);
    enum { IP = 8 };
    uint32_t ip;
    memcpy(&ip, t->xsave + IP, sizeof ip);
    __asm__ volatile("xrstor64 (%0)" : : "r"(t->xsave), "a"(-1), "d"(-1) : "memory");
    if (ip != t->x87[3]) {
        __asm__ volatile("fldenv (%0)" : : "r"(t->x87) : "memory");
    }
}
