/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/build/recheck.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "validation/build/points.h"
#include "harness/search.h"

/* A core's own rates repeat within 1% and less; shared ones move by up to 8% from build to build. */
static const double own_max = 0.03;
static const double shared_max = 0.15;

enum { LOOK_REPS = 192 };

bool carm_build_doubts(double rate, double again, bool shared, bool *doubtful)
{
    *doubtful = shared && fabs(again / rate - 1.0) > shared_max;
    return !shared && again > rate * (1.0 + own_max);
}

static size_t level_of(const struct carm_model *model, const char *name)
{
    size_t i = 0;
    while (i + 1 < model->nlevels && strcmp(model->levels[i].level, name) != 0) {
        i++;
    }
    return i;
}

/* What a long measurement after a second look leaves in the note. */
static void put_note(char note[CARM_TEXT_MAX], double rate, double again)
{
    const size_t used = strlen(note);
    (void)snprintf(note + used, CARM_TEXT_MAX - used, "%sa second look was %.0f%% %s",
                   used ? "; " : "", 100.0 * fabs(again / rate - 1.0),
                   again > rate ? "faster" : "slower");
}

static int look_at_memory(const struct carm_build_plan *plan, struct carm_team *team,
                          const struct carm_model *model, struct carm_memory_roof *roof,
                          size_t reps, struct carm_budget *budget, struct carm_err *err)
{
    const struct carm_code *code = carm_image_find(plan->image, roof->code);
    const size_t level = level_of(model, roof->level);
    const bool shared = carm_level_search(level, model->nlevels) != CARM_SEARCH_CORE;
    const uint64_t window = roof->window_bytes;
    const struct carm_shape shape = {
        .iterations = window / code->account.stride_bytes,
        .passes = roof->passes,
        .windows = roof->working_set_bytes / (uint64_t)team->n / window,
        .window_bytes = window,
    };
    struct carm_measurement m;
    carm_measure_run(team, code, &shape, reps < LOOK_REPS ? reps : LOOK_REPS, 0.0, NULL, &m);
    const double rate = shared ? roof->bandwidth : roof->bytes_per_cycle;
    const double again = shared ? m.bytes / m.seconds.median : m.bytes / m.cycles / team->n;
    bool doubtful = false;
    if (!carm_build_doubts(rate, again, shared, &doubtful)) {
        if (doubtful && !roof->disturbed) {
            roof->disturbed = true;
            put_note(roof->note, rate, again);
        }
        return 0;
    }
    struct carm_roofs fresh = {.nmemory = 0};
    carm_measure_run(team, code, &shape, reps, again * team->n, budget, &m);
    int rc = carm_build_add_memory(&fresh, roof->level, &m, err);
    if (!rc && fresh.memory[0].bytes_per_cycle > roof->bytes_per_cycle) {
        *roof = fresh.memory[0];
        put_note(roof->note, rate, again);
    }
    free(fresh.memory);
    return rc;
}

static int look_at_compute(const struct carm_build_plan *plan, struct carm_team *team,
                           struct carm_compute_roof *roof, size_t reps, struct carm_budget *budget,
                           struct carm_err *err)
{
    const struct carm_code *code = carm_image_find(plan->image, roof->code);
    struct carm_shape shape;
    struct carm_measurement m;
    bool doubtful = false;
    carm_measure_shape(team, code, 0, CARM_TARGET_CORE, &shape);
    carm_measure_run(team, code, &shape, reps < LOOK_REPS ? reps : LOOK_REPS, 0.0, NULL, &m);
    const double rate = roof->flops_per_cycle;
    const double again = m.flops / m.cycles / team->n;
    if (!carm_build_doubts(rate, again, false, &doubtful)) {
        return 0;
    }
    struct carm_roofs fresh = {.ncompute = 0};
    carm_measure_run(team, code, &shape, reps, again * team->n, budget, &m);
    int rc = carm_build_add_compute(&fresh, &m, err);
    if (!rc && fresh.compute[0].flops_per_cycle > rate) {
        *roof = fresh.compute[0];
        put_note(roof->note, rate, again);
    }
    free(fresh.compute);
    return rc;
}

int carm_build_recheck(const struct carm_build_plan *plan, struct carm_team *team,
                       const struct carm_model *model, struct carm_roofs *roofs, size_t reps,
                       struct carm_budget *budget, struct carm_err *err)
{
    int rc = 0;
    for (size_t i = 0; i < roofs->nmemory && !rc; i++) {
        rc = look_at_memory(plan, team, model, &roofs->memory[i], reps, budget, err);
    }
    for (size_t i = 0; i < roofs->ncompute && !rc; i++) {
        rc = look_at_compute(plan, team, &roofs->compute[i], reps, budget, err);
    }
    return rc;
}
