/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the runtime-oriented ceilings cost a point, and the words for it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models/place/runtime.h"

double carm_runtime_times(const struct carm_runtime_ceiling *ceiling, enum carm_place_which which,
                          const struct carm_place *place)
{
    if (!ceiling->known || (ceiling->memory && which != CARM_PLACE_ORIGINAL)) {
        return 1.0;
    }
    const double at = ceiling->memory ? ceiling->rate * place->intensity : ceiling->rate;
    const double until =
        ceiling->memory ? ceiling->architecture * place->intensity : ceiling->architecture;
    return fmax(fmin(place->roof, until) / fmax(at, place->performance), 1.0);
}

void carm_runtime_advise(const struct carm_runtime *runtime, enum carm_place_which which,
                         struct carm_place *place)
{
    const struct carm_runtime_ceiling *worst = NULL;
    char rest[CARM_PLACE_ADVICE_MAX], own[160];
    double most = CARM_PLACE_WORTHWHILE;
    for (int i = 0; i < CARM_RUNTIME_COUNT && !place->over; i++) {
        const double times = carm_runtime_times(&runtime->ceilings[i], which, place);
        if (times >= most) {
            most = times;
            worst = &runtime->ceilings[i];
        }
    }
    if (!worst) {
        return;
    }
    /* what lies lower binds, and is told first */
    const double at = worst->memory ? worst->rate * place->intensity : worst->rate;
    const bool first = at <= place->ceilings[place->above].at * (1.0 + CARM_PLACE_TOLERANCE);
    (void)snprintf(own, sizeof own, "%s: %s: at most %.1fx", worst->brief, worst->step, most);
    memcpy(rest, place->advice, sizeof rest);
    if (strlen(own) + 2 + strlen(rest) < sizeof place->advice) {
        const size_t n = strlen(first ? own : rest);
        memcpy(place->advice, first ? own : rest, n);
        memcpy(place->advice + n, "; ", 2);
        (void)snprintf(place->advice + n + 2, sizeof place->advice - n - 2, "%s",
                       first ? rest : own);
    }
}
