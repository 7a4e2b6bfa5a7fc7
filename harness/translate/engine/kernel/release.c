/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The end of counting in a process that goes on. The engine's memory is unmapped, so that later
 * maps, locks (mlockall) and limits (RLIMIT_AS) of the program are as in an uncounted run. */
#include <string.h>

#include "harness/translate/engine/kernel/kernel.h"
#include "harness/translate/engine/sys.h"
#include "harness/translate/layout.h"
#include "harness/translate/records.h"

/* Memory that stays mapped, beside the engine's code: the thread's state for carm_go_native, and a
 * stack, on which a handler of the program may begin before the thread is back on the program's
 * stack. */
static struct carm_thread last __attribute__((aligned(CARM_PAGE)));

static void unmap(uint64_t begin, uint64_t end)
{
    if (begin < end) {
        carm_sys2(SYS_munmap, begin, end - begin);
    }
}

/* Runs on the stack that stays. Reads the engine's data before unmapping it. */
static _Noreturn void unmap_all(void)
{
    const struct carm_boot *boot = &carm_boot;
    const uint64_t begin = boot->own_begin;
    const uint64_t end = boot->own_end;
    const uint64_t code = boot->code_begin;
    const uint64_t code_end = boot->code_end;
    const uint64_t kept = (uint64_t)&last;
    const uint64_t kept_end = (kept + sizeof last + CARM_PAGE - 1) & ~(uint64_t)(CARM_PAGE - 1);
    const uint64_t tally_end = carm_tally_end;
    if (boot->addresses) {
        unmap(CARM_RECORDS_AT, CARM_RECORDS_AT + CARM_RECORDS_BYTES);
    }
    if (boot->stock) {
        unmap(CARM_STOCK_AT, CARM_STOCK_AT + CARM_STOCK_BYTES);
    }
    if (boot->ready) {
        unmap(CARM_READY_AT, CARM_READY_AT + CARM_READY_BYTES);
    }
    if (boot->left) {
        unmap(CARM_LEFT_AT, CARM_LEFT_AT + CARM_READY_BYTES);
    }
    carm_pages_free_all();
    unmap(CARM_TALLY_AT, tally_end);
    unmap(CARM_CONTROL_AT, CARM_CONTROL_AT + CARM_PAGE);
    unmap(begin, code);
    unmap(code_end, kept);
    unmap(kept_end, end);
    carm_go_native((struct carm_thread *)kept);
}

uint64_t carm_release_bytes(bool data)
{
    const struct carm_boot *boot = &carm_boot;
    const uint64_t tally = carm_tally_end - CARM_TALLY_AT;
    const uint64_t slots = (tally - CARM_TALLY_SLOTS_AT) / CARM_TALLY_SLOT_BYTES;
    const uint64_t bytes =
        boot->own_end - boot->own_begin + carm_pages_bytes(data) + carm_ready_bytes;
    return data ? bytes + slots * CARM_TALLY_STATE_BYTES
                : bytes + tally + CARM_PAGE + (boot->stock ? CARM_STOCK_BYTES : 0) +
                      (boot->left ? CARM_READY_BYTES : 0) +
                      (boot->addresses ? CARM_RECORDS_BYTES : 0);
}

/* A thread that has given its slot back uses only the engine's code from then on, so it does not count. */
bool carm_release_alone(const struct carm_thread *t)
{
    if (carm_pages_shared || carm_memory_borrowed(t->clone_flags)) {
        return false;
    }
    for (uint64_t at = CARM_TALLY_AT + CARM_TALLY_SLOTS_AT; at < carm_tally_end;
         at += CARM_TALLY_SLOT_BYTES) {
        const struct carm_tally_slot *slot =
            (const struct carm_tally_slot *)(at + CARM_TALLY_SLOT_AT);
        if (slot != t->slot && __atomic_load_n(&slot->used, __ATOMIC_ACQUIRE) &&
            slot->pid == t->slot->pid) {
            return false;
        }
    }
    return true;
}

void carm_release(struct carm_thread *t)
{
    if (!carm_release_alone(t) || !carm_pages_known()) {
        carm_go_native(t);
    }
    memcpy(&last, t, AT_OWN);
    last.self = &last;
    last.stack = (uint64_t)last.engine_stack + sizeof last.engine_stack - 64;
    carm_set_gs(&last);
    __asm__ volatile("mov %0, %%rsp\n\tcall *%1\n\tud2"
                     :
                     : "r"(last.stack), "r"(unmap_all)
                     : "memory");
    __builtin_unreachable();
}
