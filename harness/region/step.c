/* SPDX-License-Identifier: MIT */
#include "harness/region/state.h"

#include <string.h>

bool carm_region_step_pick(struct carm_region_thread *t, struct carm_region_slot *slot)
{
    carm_region_thread_lock(t);
    const uint64_t number = ++slot->begun;
    const bool hopeless = slot->sums.cut >= 2 && slot->sums.stepped == 0;
    carm_region_thread_unlock(t);
    return !hopeless && (number & (number - 1)) == 0;
}

/* Ends a stepping whose budget is used up, so that a region inside can have one of its own. */
CARM_REGION_TEXT static void end_spent(const struct carm_region_setup *setup,
                                       struct carm_region_thread *t)
{
    struct carm_step_counts counts;
    bool complete = false;
    (void)setup->source.step_end(&counts, &complete, NULL);
    t->stepper = -1;
}

CARM_REGION_TEXT void carm_region_step_begin(const struct carm_region_setup *setup,
                                             struct carm_region_thread *t, int depth, bool wanted)
{
    struct carm_region_frame *f = &t->frames[depth];
    struct carm_err err = {""};
    bool complete = false;
    if (t->stepper >= 0 &&
        (setup->source.step_read(&f->steps, &complete, NULL) != 0 || !complete)) {
        end_spent(setup, t);
    }
    if (t->stepper < 0) {
        if (!wanted) {
            return;
        }
        memset(&f->steps, 0, sizeof f->steps);
        t->stepper = depth;
        t->session++;
        if (setup->source.step_begin(setup->step_budget, &err)) {
            t->stepper = -1;
            carm_region_thread_note(t, err.text);
            return;
        }
        for (int i = 0; i < depth; i++) {
            t->frames[i].timed = false; /* it holds a stepped call from now on */
        }
    }
    f->stepped = true;
    f->timed = false;
    f->session = t->session;
}

static void subtract(struct carm_step_counts *a, const struct carm_step_counts *b)
{
    a->instructions -= b->instructions;
    for (int w = 0; w < CARM_WIDTH_COUNT; w++) {
        a->flops[0][w] -= b->flops[0][w];
        a->flops[1][w] -= b->flops[1][w];
    }
    a->flops_other -= b->flops_other;
    a->loads -= b->loads;
    a->stores -= b->stores;
    a->load_bytes -= b->load_bytes;
    a->store_bytes -= b->store_bytes;
    a->nt_stores -= b->nt_stores;
    a->fp_instructions -= b->fp_instructions;
    a->fp_adds -= b->fp_adds;
    a->fp_muls -= b->fp_muls;
    a->fp_fmas -= b->fp_fmas;
    a->prefetches -= b->prefetches;
    a->unknown -= b->unknown;
    if (!a->unknown) {
        a->unknown_text[0] = '\0';
    }
}

CARM_REGION_TEXT bool carm_region_step_end(const struct carm_region_setup *setup,
                                           struct carm_region_thread *t, int depth,
                                           struct carm_step_counts *call)
{
    const struct carm_region_frame *f = &t->frames[depth];
    bool complete = false;
    if (f->session != t->session || t->stepper < 0) {
        return false;
    }
    if (t->stepper == depth) {
        t->stepper = -1;
        return setup->source.step_end(call, &complete, NULL) == 0 && complete;
    }
    if (setup->source.step_read(call, &complete, NULL) || !complete) {
        return false;
    }
    subtract(call, &f->steps);
    return true;
}

static double flops_of(const struct carm_step_counts *s)
{
    uint64_t flops = s->flops_other;
    for (int w = 0; w < CARM_WIDTH_COUNT; w++) {
        flops += s->flops[0][w] + s->flops[1][w];
    }
    return (double)flops;
}

void carm_region_step_add(struct carm_region_sums *sums, const struct carm_step_counts *call)
{
    const double flops = flops_of(call);
    const double bytes = (double)(call->load_bytes + call->store_bytes);
    const bool first = sums->stepped++ == 0;
    sums->flops_low = first || flops < sums->flops_low ? flops : sums->flops_low;
    sums->flops_high = first || flops > sums->flops_high ? flops : sums->flops_high;
    sums->bytes_low = first || bytes < sums->bytes_low ? bytes : sums->bytes_low;
    sums->bytes_high = first || bytes > sums->bytes_high ? bytes : sums->bytes_high;
    carm_step_counts_add(&sums->steps, call, 1.0);
}
