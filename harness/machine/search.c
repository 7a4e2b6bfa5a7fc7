/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/machine/search.h"

#include <gsl/gsl_sort_double.h>
#include <gsl/gsl_statistics_double.h>
#include <math.h>
#include <string.h>

double carm_level_target(size_t level, size_t n)
{
    if (level + 1 == n) {
        return 20e-6;
    }
    return level + 2 == n && level > 0 ? 9e-6 : CARM_TARGET_CORE;
}

enum carm_search carm_level_search(size_t level, size_t n)
{
    if (level + 1 == n) {
        return CARM_SEARCH_MEMORY;
    }
    return level + 2 == n ? CARM_SEARCH_SHARED : CARM_SEARCH_CORE;
}

/* One short run. */
struct look {
    double rate; /* bytes (of codes without memory: flops) per core cycle or second */
    bool sound;
};

static struct look try_code(struct carm_team *team, const struct carm_code *code,
                            const struct carm_shape *shape, size_t reps, enum carm_search search)
{
    struct carm_measurement m;
    carm_team_separate(team, search == CARM_SEARCH_CORE);
    carm_measure_run(team, code, shape, reps < team->max_reps ? reps : team->max_reps, &m);
    carm_team_separate(team, false);
    if (m.seconds.n == 0) { /* the deadline is over */
        return (struct look){0.0, false};
    }
    const double work = m.bytes > 0.0 ? m.bytes : m.flops;
    return (struct look){work / (search == CARM_SEARCH_CORE ? m.cycles : m.seconds.median),
                         m.own_share > 0.0 && !m.cut};
}

/* One rate of several runs of a candidate. CARM_SEARCH_CORE: the fastest run with own cores,
 * since disturbances only slow it. Shared levels: the median of the runs with own cores. Without
 * a run with own cores: the fastest run. */
static double judge(const struct look *looks, size_t n, enum carm_search search)
{
    double sound[CARM_SEARCH_MOST];
    double most = 0.0;
    double fastest = 0.0;
    size_t found = 0;
    for (size_t i = 0; i < n; i++) {
        most = fmax(most, looks[i].rate);
        if (looks[i].sound) {
            sound[found++] = looks[i].rate;
            fastest = fmax(fastest, looks[i].rate);
        }
    }
    if (found && search == CARM_SEARCH_CORE) {
        return fastest;
    }
    return found ? carm_stats_median(sound, found) : most;
}

enum {
    ROUNDS = 3,
    SHARED_ROUNDS = 5, /* of levels that other cores use, too */
    LOOKS = 16,        /* at most, of a candidate ... */
    ENOUGH = 2,        /* ... until this many looks were sound */
    REPS = 64,
    FINALISTS = 3,
    FINAL_ROUNDS = 5,
    FINAL_REPS = 96,
};

static size_t count_sound(const struct look *looks, size_t n)
{
    size_t sound = 0;
    for (size_t i = 0; i < n; i++) {
        sound += looks[i].sound ? 1 : 0;
    }
    return sound;
}

/* Seconds for further looks at candidates whose cores were shared, so that no code loses for this
 * reason: as long as 50 states of a shared core, of 10 ms each (docs/results.md). */
static const double again_seconds = 0.5;

/* Rates of shared levels drift between rounds by more than codes differ. In each round with more
 * than half of the looks sound, scales the looks so that the median of the sound ones becomes
 * the median over all such rounds.
 * looks  [n], up to `rounds` looks each
 * tries  [n] looks of each; a code with fewer was dropped, and does not count for the medians */
static void take_out_drift(struct look (*looks)[LOOKS], const size_t *tries, size_t n,
                           size_t rounds)
{
    double medians[SHARED_ROUNDS];
    double known[SHARED_ROUNDS];
    double rates[CARM_SEARCH_MOST];
    size_t nknown = 0;
    for (size_t r = 0; r < rounds; r++) {
        size_t sound = 0;
        size_t all = 0;
        for (size_t i = 0; i < n; i++) {
            all += tries[i] == rounds ? 1 : 0;
            if (tries[i] == rounds && looks[i][r].sound) {
                rates[sound++] = looks[i][r].rate;
            }
        }
        medians[r] = 2 * sound > all ? carm_stats_median(rates, sound) : 0.0;
        if (medians[r] > 0.0) {
            known[nknown++] = medians[r];
        }
    }
    const double usual = nknown ? carm_stats_median(known, nknown) : 0.0;
    for (size_t r = 0; r < rounds; r++) {
        for (size_t i = 0; i < n && medians[r] > 0.0; i++) {
            looks[i][r].rate *= r < tries[i] ? usual / medians[r] : 1.0;
        }
    }
}

/* A code whose fastest sound look is below a share of the best code's gets no more looks. Rounds of
 * one code in a core's own caches differed by 14% at most (258 to 299 GB/s). On shared levels, rates
 * dip by more for some milliseconds, so two looks are needed.
 * returns the share after `rounds` rounds; 0 = no code is dropped */
static double hopeless_below(enum carm_search search, size_t rounds)
{
    static const double of_one_look = 0.8; /* 258/299 = 0.86, and a margin */
    static const double of_two = 0.9;      /* for the better of two looks; chosen by hand */
    if (search != CARM_SEARCH_CORE) {
        return rounds < 2 ? 0.0 : of_one_look;
    }
    return rounds < 2 ? of_one_look : of_two;
}

/* alive  [n] in and out: codes that are still searched */
static void drop_hopeless(const struct look (*looks)[LOOKS], size_t n, size_t rounds,
                          enum carm_search search, bool *alive)
{
    const double share = hopeless_below(search, rounds);
    double fastest[CARM_SEARCH_MOST];
    double best = 0.0;
    for (size_t i = 0; i < n; i++) {
        fastest[i] = 0.0;
        for (size_t r = 0; r < rounds && alive[i]; r++) {
            fastest[i] = looks[i][r].sound ? fmax(fastest[i], looks[i][r].rate) : fastest[i];
        }
        best = fmax(best, fastest[i]);
    }
    for (size_t i = 0; i < n; i++) {
        alive[i] = alive[i] && !(fastest[i] > 0.0 && fastest[i] < share * best);
    }
}

/* Codes on working sets. */
struct contest {
    const struct carm_code *const *codes; /* [n], or one for all */
    bool one_code;
    const uint64_t *sets; /* [n], or one for all */
    bool one_set;
    size_t n;
    double target_seconds;
    enum carm_search search;
};

static const struct carm_code *code_of(const struct contest *c, size_t i)
{
    return c->codes[c->one_code ? 0 : i];
}

/* shapes, found: [n] out */
static void rank(struct carm_team *team, const struct contest *c, struct carm_shape *shapes,
                 double *found)
{
    static struct look looks[CARM_SEARCH_MOST][LOOKS]; /* 40 KiB */
    bool alive[CARM_SEARCH_MOST];
    size_t tries[CARM_SEARCH_MOST];
    const size_t n = c->n;
    const size_t longer = c->search == CARM_SEARCH_SHARED ? 3 : 1;
    const size_t rounds = c->search == CARM_SEARCH_CORE ? ROUNDS : SHARED_ROUNDS;
    const size_t reps = REPS * longer;
    for (size_t i = 0; i < n; i++) {
        carm_measure_shape(team, code_of(c, i), c->sets[c->one_set ? 0 : i], c->target_seconds,
                           &shapes[i]);
        alive[i] = true;
        tries[i] = 0;
    }
    for (size_t r = 0; r < rounds; r++) {
        for (size_t i = 0; i < n; i++) {
            if (alive[i]) {
                looks[i][r] = try_code(team, code_of(c, i), &shapes[i], reps, c->search);
                tries[i]++;
            }
        }
        drop_hopeless((const struct look(*)[LOOKS])looks, n, r + 1, c->search, alive);
    }
    if (c->search != CARM_SEARCH_CORE) {
        take_out_drift(looks, tries, n, rounds);
    }
    size_t lacking = n;
    const uint64_t until = carm_clock_now() + (uint64_t)(again_seconds * team->clock->tsc_hz);
    while (lacking > 0 && team->patience_seconds > 0.0 && carm_clock_now() < until &&
           !carm_team_is_over(team)) {
        lacking = 0;
        for (size_t i = 0; i < n; i++) {
            if (alive[i] && tries[i] < LOOKS && count_sound(looks[i], tries[i]) < ENOUGH) {
                looks[i][tries[i]++] = try_code(team, code_of(c, i), &shapes[i], reps, c->search);
                lacking++;
            }
        }
    }
    double best = 0.0;
    for (size_t i = 0; i < n; i++) {
        found[i] = judge(looks[i], tries[i], c->search);
        best = alive[i] ? fmax(best, found[i]) : best;
    }
    for (size_t i = 0; i < n;
         i++) { /* a dropped code stays below the others, even if later rounds drift */
        found[i] = alive[i] ? found[i] : fmin(found[i], hopeless_below(c->search, rounds) * best);
    }
}

static void rank_codes(struct carm_team *team, const struct carm_code *const *codes, size_t n,
                       uint64_t set_bytes, double target_seconds, enum carm_search search,
                       struct carm_shape *shapes, double *found)
{
    const struct contest c = {.codes = codes,
                              .sets = &set_bytes,
                              .one_set = true,
                              .n = n,
                              .target_seconds = target_seconds,
                              .search = search};
    rank(team, &c, shapes, found);
}

size_t carm_measure_rank(struct carm_team *team, const struct carm_code *const *codes, size_t n,
                         uint64_t set_bytes, double target_seconds, enum carm_search search,
                         double *rates)
{
    struct carm_shape shapes[CARM_SEARCH_MOST];
    n = n < CARM_SEARCH_MOST ? n : CARM_SEARCH_MOST;
    rank_codes(team, codes, n, set_bytes, target_seconds, search, shapes, rates);
    return gsl_stats_max_index(rates, 1, n);
}

size_t carm_measure_best_set(struct carm_team *team, const struct carm_code *code,
                             const uint64_t *sets, size_t n, double target_seconds,
                             enum carm_search search, double *rates)
{
    struct carm_shape shapes[CARM_SEARCH_MOST];
    const struct contest c = {.codes = &code,
                              .one_code = true,
                              .sets = sets,
                              .n = n < CARM_SEARCH_MOST ? n : CARM_SEARCH_MOST,
                              .target_seconds = target_seconds,
                              .search = search};
    rank(team, &c, shapes, rates);
    return gsl_stats_max_index(rates, 1, c.n);
}

size_t carm_measure_best(struct carm_team *team, const struct carm_code *const *codes, size_t n,
                         uint64_t set_bytes, double target_seconds, enum carm_search search,
                         double *rates)
{
    struct carm_shape shapes[CARM_SEARCH_MOST];
    struct look looks[FINALISTS][FINAL_ROUNDS];
    double found[CARM_SEARCH_MOST];
    size_t order[CARM_SEARCH_MOST];
    n = n < CARM_SEARCH_MOST ? n : CARM_SEARCH_MOST;
    rank_codes(team, codes, n, set_bytes, target_seconds, search, shapes, found);
    gsl_sort_index(order, found, 1, n); /* ascending */
    const size_t finalists = n < FINALISTS ? n : FINALISTS;
    const size_t longer = search == CARM_SEARCH_SHARED ? 3 : 1;
    const size_t reps = FINAL_REPS * longer;
    for (size_t r = 0; r < FINAL_ROUNDS && n > 1; r++) {
        for (size_t i = 0; i < finalists; i++) {
            const size_t k = order[n - finalists + i];
            looks[i][r] = try_code(team, codes[k], &shapes[k], reps, search);
        }
    }
    size_t best = order[n - 1];
    for (size_t i = 0; i < finalists && n > 1; i++) {
        const size_t k = order[n - finalists + i];
        found[k] = judge(looks[i], FINAL_ROUNDS, search);
        if (i == 0 || found[k] > found[best]) {
            best = k;
        }
    }
    if (rates) {
        memcpy(rates, found, n * sizeof *rates);
    }
    return best;
}

size_t carm_measure_pick(struct carm_team *team, const struct carm_code *const *codes, size_t n,
                         uint64_t set_bytes, double target_seconds, enum carm_search search,
                         struct carm_shape *shape, double *rate)
{
    enum { PICK_REPS = 48, PICK_ROUNDS = 2 };
    struct carm_shape shapes[CARM_SEARCH_MOST];
    struct look first[CARM_SEARCH_MOST];
    double found[CARM_SEARCH_MOST];
    size_t order[CARM_SEARCH_MOST];
    n = n < CARM_SEARCH_MOST ? n : CARM_SEARCH_MOST;
    const size_t longer = search == CARM_SEARCH_SHARED ? 2 : 1; /* a shared cache settles late */
    carm_measure_shape(team, codes[0], set_bytes, target_seconds, &shapes[0]);
    const uint64_t bytes = shapes[0].iterations * shapes[0].passes * codes[0]->account.stride_bytes;
    for (size_t i = 0; i < n; i++) {
        carm_measure_shape_of(codes[i], set_bytes, bytes / codes[i]->account.stride_bytes,
                              &shapes[i]);
        first[i] = try_code(team, codes[i], &shapes[i], PICK_REPS * longer, search);
        if (!first[i].sound && team->patience_seconds > 0.0) {
            const struct look again =
                try_code(team, codes[i], &shapes[i], PICK_REPS * longer, search);
            first[i] = again.sound || again.rate > first[i].rate ? again : first[i];
        }
        found[i] = first[i].rate;
    }
    gsl_sort_index(order, found, 1, n); /* ascending */
    const size_t finalists = n < FINALISTS ? n : FINALISTS;
    size_t best = order[n - 1];
    double best_rate = 0.0;
    for (size_t i = n - finalists; i < n; i++) {
        struct look looks[PICK_ROUNDS + 1] = {first[order[i]]};
        for (int r = 1; r <= PICK_ROUNDS; r++) {
            looks[r] =
                try_code(team, codes[order[i]], &shapes[order[i]], FINAL_REPS * longer, search);
        }
        const double rate_found = judge(looks, PICK_ROUNDS + 1, search);
        if (rate_found > best_rate) {
            best_rate = rate_found;
            best = order[i];
        }
    }
    *shape = shapes[best];
    if (rate) {
        *rate = best_rate;
    }
    return best;
}
