/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Where the cache is left and entered: the program's registers are in the thread. */
#include <string.h>
#include <sys/mman.h>

#include "harness/translate/engine/engine.h"
#include "harness/translate/engine/sys.h"

void carm_engine_start(void);
void carm_engine_direct(struct carm_thread *t);
void carm_engine_miss(struct carm_thread *t);
void carm_engine_callout(struct carm_thread *t);
void carm_engine_special(struct carm_thread *t);
void carm_engine_next(struct carm_thread *t);
void carm_engine_pending(struct carm_thread *t);

static const char no_memory[] = "there is no memory for the translator";

/* The block at pc; NULL: given up. Under the lock. */
static struct carm_block *block_at(struct carm_thread *t, uint64_t pc, bool indirect)
{
    const char *why = NULL;
    struct carm_block *block = carm_cache_find(pc);
    if (block && !indirect) {
        return block;
    }
    carm_vectors_save(t);
    block = carm_translate(pc, indirect, &why);
    carm_vectors_load(t);
    if (!block) {
        carm_give_up(why);
    }
    return block;
}

static bool stopped(void)
{
    return carm_given_up() || __atomic_load_n(&CARM_CONTROL->stop, __ATOMIC_RELAXED);
}

void carm_detach(struct carm_thread *t, uint64_t pc)
{
    t->rip = pc;
    t->code = pc;
    t->detached = 1;
    carm_signals_detach(t);
    carm_go_native(t);
}

static _Noreturn void go_on(struct carm_thread *t, uint64_t pc, bool indirect,
                            struct carm_link *link)
{
    t->rip = pc;
    if (stopped()) {
        carm_detach(t, pc);
    }
    carm_lock();
    struct carm_block *block = block_at(t, pc, indirect);
    if (block && link) {
        carm_cache_link(link, block);
    }
    carm_unlock();
    if (!block) {
        carm_detach(t, pc);
    }
    t->code = (uint64_t)block->code;
    carm_resume(t);
}

void carm_go_on(struct carm_thread *t, uint64_t pc, bool indirect)
{
    go_on(t, pc, indirect, NULL);
}

void carm_engine_direct(struct carm_thread *t)
{
    struct carm_link *link = &carm_links[t->link];
    go_on(t, link->target, false, link);
}

void carm_engine_miss(struct carm_thread *t)
{
    go_on(t, t->target, true, NULL);
}

void carm_engine_next(struct carm_thread *t)
{
    go_on(t, t->next, false, NULL);
}

void carm_engine_callout(struct carm_thread *t)
{
    const struct carm_link *link = &carm_links[t->link];
    if (link->target == 0) { /* no room for records at the begin of a block */
        carm_addresses_next(t);
        t->rip = carm_blocks[link->from].pc;
        if (stopped()) {
            carm_detach(t, t->rip);
        }
        t->mid_site = 0;
        t->code = (uint64_t)link->resume;
        carm_resume(t);
    }
    memset(&t->mid_delta, 0, sizeof t->mid_delta);
    carm_lock(); /* of the decoder's ranges */
    carm_account_now(t, link->target, &t->mid_delta);
    carm_unlock();
    carm_account_extra(t, &carm_blocks[link->from], link->target, &t->mid_delta, 1);
    t->rip = link->target;
    t->mid_site = t->link + 1;
    t->code = (uint64_t)link->resume;
    carm_resume(t);
}

void carm_engine_special(struct carm_thread *t) /* int3 */
{
    const uint64_t pc = carm_links[t->link].target;
    enum { TRAP = 5 };
    if (!carm_signal_handled(t, TRAP)) {
        carm_signal_die(TRAP);
    }
    t->rip = pc + 1;
    t->trap_signal = 1;
    carm_deliver(t);
}

void carm_engine_pending(struct carm_thread *t)
{
    if (t->mid_site && t->code == (uint64_t)carm_links[t->mid_site - 1].resume) {
        const struct carm_link *link = &carm_links[t->mid_site - 1];
        carm_account_extra(t, &carm_blocks[link->from], link->target, &t->mid_delta, -1);
        carm_addresses_take_back(t, t->mid_records);
        carm_vectors_save(t);
        carm_lock();
        carm_account_correct(t, &carm_blocks[link->from], (uint64_t)link->resume, t->rip);
        carm_unlock();
        carm_vectors_load(t);
    }
    t->mid_site = 0;
    carm_deliver(t);
}

void carm_engine_start(void)
{
    struct carm_boot *boot = &carm_boot;
    carm_ranges_begin(boot);
    /* not for a core file: it is large and empty */
    carm_sys4(SYS_madvise, CARM_TALLY_AT, CARM_TALLY_BYTES, MADV_DONTDUMP, 0);
    struct carm_thread *t = carm_thread_take(NULL);
    if (!t || !carm_cache_open() || !carm_account_open()) {
        carm_give_up(no_memory);
        static struct carm_thread none; /* enough to go on as if nothing had been */
        t = t ? t : &none;
        t->self = t;
    }
    carm_addresses_open();
    carm_set_gs(t);
    memset(t->reg, 0, sizeof t->reg);
    t->reg[RSP] = boot->stack;
    t->flags = 0x202;
    t->stack = (uint64_t)t->engine_stack + sizeof t->engine_stack - 64;
    carm_signals_begin(t);
    carm_go_on(t, boot->entry, true);
}
