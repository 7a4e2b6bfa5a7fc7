/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "validation/roofs/build.h"

#include "harness/machine/measure.h"

void carm_build_use(struct carm_build_set *s)
{
    carm_team_use(s->team, s->threads);
    s->team->overhead = s->overhead;
    s->team->patience_seconds =
        carm_build_has_time(s->build, CARM_LEVELS_SHARE) ? CARM_WAIT_SEARCH : 0.0;
    for (int i = 0; i < s->threads; i++) {
        s->team->workers[i].place = s->places[i];
    }
}

void carm_build_calibrate(struct carm_build_set *s)
{
    carm_build_use(s);
    carm_build_wait(s, CARM_WAIT_CURVE);
    /* largest share of the budget: with 193 threads on 2 processors the calibration took 2 s of 10 */
    static const double most = 0.03;
    const struct carm_deadline deadline = s->team->deadline;
    s->team->deadline =
        carm_deadline_within(deadline, most * (double)(s->build->until - s->build->begin));
    carm_measure_calibrate(s->team, s->build->plan->empty);
    s->team->deadline = deadline;
    s->overhead = s->team->overhead;
}

void carm_build_wait(struct carm_build_set *s, double seconds)
{
    s->team->patience_seconds = carm_build_has_time(s->build, 1.0) ? seconds : 0.0;
}

bool carm_build_has_time(const struct carm_build *build, double share)
{
    return (double)(carm_clock_now() - build->begin) <
           share * (double)(build->until - build->begin);
}

void carm_build_limit(const struct carm_build *build, struct carm_team *team, double share)
{
    const double ticks = share * (double)(build->until - build->begin);
    team->deadline = (struct carm_deadline){build->begin + (uint64_t)ticks, build->observer->stop};
}

int carm_build_instances(const struct carm_topo *topo, size_t cache, int threads)
{
    int instances = 0;
    int sharers = 0;
    if (cache < topo->ncaches) {
        carm_topo_cache_share(topo, topo->caches[cache].level, threads, &instances, &sharers);
    }
    return instances ? instances : 1;
}
