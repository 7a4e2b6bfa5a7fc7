/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The engine begins: harness/translate/inject.c has mapped it into the program and jumps to carm_entry_start. */
#include <string.h>
#include <sys/mman.h>

#include "harness/translate/engine/emit/emit.h"
#include "harness/translate/engine/kernel/kernel.h"
#include "harness/translate/engine/sys.h"
#include "harness/translate/layout.h"

void carm_engine_start(void);

static const char no_memory[] = "there is no memory for the translator";

void carm_engine_start(void)
{
    struct carm_boot *boot = &carm_boot;
    carm_ranges_begin(boot);
    /* left out of core files, as both are large and mostly empty; fails without effect if there is no stock */
    carm_sys4(SYS_madvise, CARM_TALLY_AT, CARM_TALLY_FIRST_BYTES, MADV_DONTDUMP, 0);
    carm_sys4(SYS_madvise, CARM_STOCK_AT, CARM_STOCK_BYTES, MADV_DONTDUMP, 0);
    carm_sys4(SYS_madvise, CARM_READY_AT, CARM_READY_BYTES, MADV_DONTDUMP, 0);
    carm_sys4(SYS_madvise, CARM_LEFT_AT, CARM_READY_BYTES, MADV_DONTDUMP, 0);
    carm_stock_open();
    struct carm_thread *t = carm_thread_take(NULL);
    if (!t || !carm_cache_open() || !carm_account_open()) {
        carm_give_up(no_memory);
        static struct carm_thread none; /* enough state to go on uncounted */
        t = t ? t : &none;
        t->self = t;
    }
    if (boot->ready) {
        carm_sys2(SYS_close, boot->ready - 1, 0);
    }
    carm_set_gs(t);
    memset(t->reg, 0, sizeof t->reg);
    t->reg[RSP] = boot->stack;
    t->flags = 0x202;
    t->stack = (uint64_t)t->engine_stack + sizeof t->engine_stack - 64;
    carm_ready_begin(t);
    carm_signals_begin(t);
    carm_go_on(t, boot->entry, true);
}
