/* SPDX-License-Identifier: MIT */
#include "harness/region/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void carm_region_note(char note[CARM_REGION_NOTE_MAX], const char *sentence)
{
    if (sentence[0] && !strstr(note, sentence)) {
        const size_t n = strlen(note);
        (void)snprintf(note + n, CARM_REGION_NOTE_MAX - n, "%s%s", n ? "; " : "", sentence);
    }
}

void carm_region_slot_clear(struct carm_region_slot *slot)
{
    slot->begun = 0;
    memset(&slot->sums, 0, sizeof slot->sums);
}

/* Counts of the stepped calls to those of all calls. What was stepped is exact, so the range is that
 * of the other calls alone. */
static void scale(struct carm_count *count, const struct carm_region_sums *s)
{
    const double factor = (double)s->calls / (double)s->stepped;
    count->value = (double)(uint64_t)(count->value * factor + 0.5);
    count->low = (double)(uint64_t)(count->low * factor + 0.5);
    count->high = (double)(uint64_t)(count->high * factor + 0.5);
}

static void widen(struct carm_count *count, double exact, double rest, double low, double high)
{
    const double least = exact + rest * low;
    const double most = exact + rest * high;
    count->low = least < count->low ? least : count->low;
    count->high = most > count->high ? most : count->high;
}

static void count_steps(const struct carm_region_sums *s, struct carm_counts *out)
{
    const double rest = (double)(s->calls - s->stepped);
    carm_step_counts_to_counts(&s->steps, (double)s->stepped / (double)s->calls, out);
    if (s->stepped == s->calls) {
        return;
    }
    const double flops = out->q[CARM_Q_FLOPS].value;
    const double bytes = out->q[CARM_Q_BYTES].value;
    for (int q = 0; q < CARM_Q_COUNT; q++) {
        if (carm_count_has(out, (enum carm_quantity)q)) {
            scale(&out->q[q], s);
        }
    }
    if (carm_count_has(out, CARM_Q_FLOPS)) {
        widen(&out->q[CARM_Q_FLOPS], flops, rest, s->flops_low, s->flops_high);
    }
    if (carm_count_has(out, CARM_Q_BYTES)) {
        widen(&out->q[CARM_Q_BYTES], bytes, rest, s->bytes_low, s->bytes_high);
    }
}

static void fold_steps(const struct carm_region_setup *setup, const struct carm_region_sums *s,
                       struct carm_counts *counts, char note[CARM_REGION_NOTE_MAX])
{
    char text[192];
    if (s->stepped) {
        count_steps(s, counts);
    }
    if (s->cut) {
        (void)snprintf(text, sizeof text,
                       "%s stepped to the end within %llu instructions: set CARM_STEP_BUDGET "
                       "higher",
                       s->stepped ? "some calls were not" : "no call was",
                       (unsigned long long)setup->step_budget);
        carm_region_note(note, text);
    } else if (!s->stepped) {
        carm_region_note(note, "no call was stepped");
    }
    if (!s->timed) {
        (void)snprintf(text, sizeof text,
                       "time is never taken from a stepped call%s: run again with "
                       "CARM_COUNTERS=none for its time",
                       s->calls == 1 ? " and the region ran only once on a thread"
                                     : ", and each call was stepped or held one that was");
        carm_region_note(note, text);
    }
}

static void fold_readings(const struct carm_region_setup *setup,
                          const struct carm_region_slot *slot, struct carm_counts *counts,
                          char note[CARM_REGION_NOTE_MAX])
{
    struct carm_err err = {""};
    if (!slot->sums.counted || slot->sums.counted < slot->sums.calls) {
        carm_region_note(note, "the counters could not be read at each call");
    } else if (setup->source.evaluate(slot->readings, counts, &err)) {
        memset(counts, 0, sizeof *counts);
        carm_region_note(note, err.text);
    } else if (!carm_count_has(counts, CARM_Q_FLOPS) && !carm_count_has(counts, CARM_Q_BYTES)) {
        carm_region_note(note, "the counters here give neither flops nor bytes");
    }
}

/* Where a slot's sums go: rows by thread have a total of their own each time. */
static struct carm_region_total *total_for(const struct carm_region_setup *setup,
                                           struct carm_region *region)
{
    struct carm_region_total **at = &region->totals;
    while (*at && setup->rows_by_thread) {
        at = &(*at)->next;
    }
    if (!*at) {
        *at = calloc(1, sizeof **at);
    }
    return *at;
}

void carm_region_fold(const struct carm_region_setup *setup, const struct carm_region_thread *t,
                      struct carm_region_slot *slot)
{
    struct carm_region_sums *s = &slot->sums;
    if (s->calls == 0) {
        return;
    }
    struct carm_region_total *total = total_for(setup, slot->region);
    if (!total) {
        carm_region_say("not enough memory: calls of region '%s' are lost", slot->region->name);
        carm_region_slot_clear(slot);
        return;
    }
    struct carm_counts counts = {0};
    carm_region_note(total->note, setup->reason);
    carm_region_note(total->note, t->reason);
    if (setup->source.steps && (s->stepped || s->cut)) {
        fold_steps(setup, s, &counts, total->note);
    } else if (setup->source.nreadings && !(t->reason[0] && !s->counted)) {
        fold_readings(setup, slot, &counts, total->note);
    }
    if (total->threads == 0) {
        total->counts = counts;
    } else {
        carm_counts_add(&total->counts, &counts);
    }
    const double calls_per_timed = s->timed ? (double)s->calls / (double)s->timed : 0.0;
    const double seconds = (double)s->ns * calls_per_timed / 1e9;
    total->untimed = total->untimed || !s->timed;
    total->seconds = seconds > total->seconds ? seconds : total->seconds;
    total->threads++;
    total->thread = t->number;
    total->calls += s->calls;
    total->timed += s->timed;
    total->stepped += s->stepped;
    carm_region_slot_clear(slot);
}
