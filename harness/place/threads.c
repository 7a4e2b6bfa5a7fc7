/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/text.h"
#include "harness/place/place.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/place/units.h"

static int by_key(const void *a, const void *b)
{
    const struct carm_seat *x = a;
    const struct carm_seat *y = b;
    for (size_t i = 0; i < sizeof x->key / sizeof *x->key; i++) {
        if (x->key[i] != y->key[i]) {
            return x->key[i] < y->key[i] ? -1 : 1;
        }
    }
    return 0;
}

/* Number of `inner` units, inside the seat's `outer` unit, that come before the seat's own. */
static int rank_inside(const struct carm_seat *seats, int n, int at, enum carm_place_unit inner,
                       enum carm_place_unit outer)
{
    int rank = 0;
    int last = -1;
    for (int i = 0; i < n && seats[i].unit[inner] != seats[at].unit[inner]; i++) {
        const int unit = seats[i].unit[inner];
        if (seats[i].smt == 0 && seats[i].unit[outer] == seats[at].unit[outer] && unit != last) {
            rank++;
            last = unit;
        }
    }
    return rank;
}

/* Sort keys of --threads spread: sockets in turn; inside a socket memory domains in turn, then caches, then cores;
 * second hardware threads last. */
static void key_spread(struct carm_seat *seats, int n, enum carm_place_unit cache)
{
    for (int i = 0; i < n; i++) {
        const int key[] = {seats[i].smt,
                           rank_inside(seats, n, i, CORE, cache),
                           rank_inside(seats, n, i, cache, NUMA),
                           rank_inside(seats, n, i, NUMA, SOCKET),
                           seats[i].unit[SOCKET],
                           i};
        memcpy(seats[i].key, key, sizeof key);
    }
}

/* Sort keys that put `each` threads of every unit first. returns the number of these threads, or -CARM_EINVAL */
static int key_each(const struct carm_topo *topo, struct carm_seat *seats, int each,
                    enum carm_place_unit unit, struct carm_err *err)
{
    int taken = 0;
    for (int i = 0; i < topo->pus; i++) {
        int slot = 0;
        int all = 0;
        for (int k = 0; k < topo->pus; k++) {
            const bool same = seats[k].unit[unit] == seats[i].unit[unit];
            slot += same && k < i ? 1 : 0;
            all += same ? 1 : 0;
        }
        const bool inside = seats[i].unit[unit] != NO_UNIT;
        if (inside && all < each) {
            return carm_fail(
                err, CARM_EINVAL,
                "--threads %d/%s: one %s has only %d hardware thread%s that this process may "
                "use",
                each, carm_place_units[unit].word, carm_place_units[unit].word, all,
                all == 1 ? "" : "s");
        }
        taken += inside && slot < each ? 1 : 0;
        const int key[] = {inside && slot < each ? 0 : 1, seats[i].unit[unit], slot, i, 0, 0};
        memcpy(seats[i].key, key, sizeof key);
    }
    return taken;
}

/* A set of threads: the first n of an order. */
struct threads {
    char word[24];
    int n;
    int *cpus; /* [topo->pus] */
};

static bool holds(const int *cpus, int n, int cpu)
{
    bool found = false;
    for (int i = 0; i < n && !found; i++) {
        found = cpus[i] == cpu;
    }
    return found;
}

static bool contains(const int *cpus, int n, const int *others, int nothers)
{
    bool all = nothers <= n;
    for (int i = 0; i < nothers && all; i++) {
        all = holds(cpus, n, others[i]);
    }
    return all;
}

/* "8", "cores", "all", "4/l3" */
static int read_threads(const struct carm_topo *topo, const char *word, bool spread,
                        struct threads *out, struct carm_err *err)
{
    char *end = NULL;
    const char *slash = strchr(word, '/');
    enum carm_place_unit unit = UNITS;
    long n = isdigit((unsigned char)*word) ? strtol(word, &end, 10) : -1;
    for (enum carm_place_unit u = 0; slash && u < UNITS; u++) {
        unit = strcmp(slash + 1, carm_place_units[u].word) == 0 ? u : unit;
    }
    n = strcmp(word, "all") == 0     ? topo->pus
        : strcmp(word, "cores") == 0 ? carm_topo_cores(topo)
                                     : n;
    if (n < 0 ||
        (end && (slash ? end != slash || unit == UNITS || unit == KIND || n < 1 : *end != '\0'))) {
        return carm_fail(err, CARM_EINVAL,
                         "--threads '%.32s' is no number: give a list such as 1,4,cores,all, with "
                         "4/l3, 1/core, 1/numa or 1/socket for so many on each, or spread",
                         word);
    }
    n = n > 1000000 ? 1000000 : n;
    char own[CARM_TOPO_PLACE_MAX];
    if (unit < UNITS && !*carm_place_words(topo, unit, own)) {
        char have[512];
        return carm_fail(err, CARM_EINVAL, "--threads '%.32s': this machine has no %s: it has %s",
                         word, carm_place_units[unit].word,
                         carm_place_all_words(topo, have, sizeof have));
    }
    int rc = unit == UNITS ? carm_topo_check_threads(topo, (int)n, err) : 0;
    struct carm_seat *seats = rc ? NULL : carm_place_seats(topo);
    out->cpus = rc ? NULL : calloc((size_t)topo->pus, sizeof *out->cpus);
    if (!rc && (!seats || !out->cpus)) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for a place");
    }
    if (!rc && unit < UNITS) {
        rc = key_each(topo, seats, (int)n, unit, err);
        n = rc > 0 ? rc : n;
        rc = rc > 0 ? 0 : rc;
    } else if (!rc && spread) {
        key_spread(seats, topo->pus, carm_place_last_cache(topo));
    }
    if (!rc) {
        if (unit < UNITS || spread) {
            qsort(seats, (size_t)topo->pus, sizeof *seats, by_key);
        }
        for (int i = 0; i < topo->pus; i++) {
            out->cpus[i] = seats[i].cpu;
        }
        snprintf(out->word, sizeof out->word, "%.23s", word);
        out->n = (int)n;
    }
    free(seats);
    return rc;
}

/* Inserts a set into sets sorted by number of threads; equal sets are kept once.
 * returns 0 or -CARM_EINVAL */
static int insert(struct threads *sets, size_t *n, struct threads *set, struct carm_err *err)
{
    size_t at = *n;
    while (at > 0 && sets[at - 1].n > set->n) {
        at--;
    }
    const struct threads *less = at > 0 ? &sets[at - 1] : NULL;
    const struct threads *more = at < *n ? &sets[at] : NULL;
    const struct threads *odd = less && !contains(set->cpus, set->n, less->cpus, less->n)   ? less
                                : more && !contains(more->cpus, more->n, set->cpus, set->n) ? more
                                                                                            : NULL;
    if (odd) {
        char a[160];
        char b[160];
        carm_place_cpus_text(odd->cpus, odd->n, a, sizeof a);
        carm_place_cpus_text(set->cpus, set->n, b, sizeof b);
        return carm_fail(
            err, CARM_EINVAL,
            "--threads %s and %s run on CPUs %s and %s: the sets of one model contain one "
            "another; build them apart, each with its -o",
            odd->word, set->word, *a ? a : "here", *b ? b : "there");
    }
    if (less && less->n == set->n) {
        free(set->cpus);
        return 0;
    }
    memmove(&sets[at + 1], &sets[at], (*n - at) * sizeof *sets);
    sets[at] = *set;
    *n += 1;
    return 0;
}

/* Sets topo->order and topo->layout, if a set differs from the usual one. */
static void lay_out(struct carm_topo *topo, const struct threads *sets, size_t n, const char *words)
{
    bool usual = true;
    int done = 0;
    topo->layout[0] = '\0';
    for (size_t i = 0; i < n && usual; i++) {
        usual = contains(topo->order, sets[i].n, sets[i].cpus, sets[i].n);
    }
    if (usual || n == 0) {
        return;
    }
    /* the last set has all threads; smaller sets go first */
    for (size_t i = 0; i < n; i++) {
        const int *cpus = sets[i].cpus;
        for (int k = 0; k < topo->pus && (i + 1 == n || k < sets[i].n); k++) {
            if (!holds(topo->order, done, cpus[k])) {
                /* swaps the thread to the front; the order of the others does not matter */
                int at = done;
                while (topo->order[at] != cpus[k]) {
                    at++;
                }
                memmove(&topo->order[done + 1], &topo->order[done],
                        (size_t)(at - done) * sizeof *topo->order);
                topo->order[done++] = cpus[k];
            }
        }
    }
    snprintf(topo->layout, sizeof topo->layout, "%s", words);
}

int carm_topo_threads(struct carm_topo *topo, const char *words, int *threads, size_t most,
                      size_t *n, struct carm_err *err)
{
    char copy[256];
    char *rest = copy;
    bool spread = false;
    struct threads *sets = calloc(most + 1, sizeof *sets);
    int rc = sets ? 0 : carm_fail(err, CARM_ENOMEM, "not enough memory for a place");
    *n = 0;
    if (!rc && strlen(words) >= sizeof copy) {
        rc = carm_fail(err, CARM_EINVAL, "--threads: '%.32s...' is too long", words);
    }
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok_r(copy, ",", &rest); word && !rc; word = strtok_r(NULL, ",", &rest)) {
        spread = spread || strcmp(word, "spread") == 0;
    }
    rest = copy;
    snprintf(copy, sizeof copy, "%s", words);
    for (char *word = strtok_r(copy, ",", &rest); word && !rc; word = strtok_r(NULL, ",", &rest)) {
        struct threads set = {.cpus = NULL};
        if (strcmp(word, "spread") == 0 || strcmp(word, "compact") == 0) {
            continue;
        }
        rc = *n < most ? read_threads(topo, word, spread, &set, err)
                       : carm_fail(err, CARM_EINVAL, "--threads: at most %zu values", most);
        rc = rc ? rc : insert(sets, n, &set, err);
        if (rc) {
            free(set.cpus);
        }
    }
    if (!rc && *n == 0) {
        rc = carm_fail(err, CARM_EINVAL, "--threads needs at least one value");
    }
    if (!rc) {
        lay_out(topo, sets, *n, words);
    }
    if (!rc && *topo->layout && strlen(words) >= sizeof topo->layout) {
        rc = carm_fail(err, CARM_EINVAL, "--threads: '%.32s...' is too long", words);
    }
    for (size_t i = 0; i < *n; i++) {
        threads[i] = sets[i].n;
        free(sets[i].cpus);
    }
    free(sets);
    return rc;
}

int carm_topo_spread(const struct carm_topo *topo, int *order)
{
    struct carm_seat *seats = carm_place_seats(topo);
    if (!seats) {
        return -CARM_ENOMEM;
    }
    key_spread(seats, topo->pus, carm_place_last_cache(topo));
    qsort(seats, (size_t)topo->pus, sizeof *seats, by_key);
    for (int i = 0; i < topo->pus; i++) {
        order[i] = seats[i].cpu;
    }
    free(seats);
    return 0;
}

static int ascending(const void *a, const void *b)
{
    const int *x = a;
    const int *y = b;
    return *x - *y;
}

void carm_topo_usual(const struct carm_topo *topo, char words[CARM_TOPO_PLACE_MAX])
{
    const enum carm_place_unit steps[] = {carm_place_last_cache(topo), NUMA, SOCKET, KIND};
    int counts[sizeof steps / sizeof *steps] = {0};
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    int last = 1;
    for (size_t i = 0; set && i < sizeof steps / sizeof *steps; i++) {
        int number = 0;
        for (int k = 0, there = 1; there && !counts[i]; k++) {
            there = carm_place_unit_at(topo, steps[i], k, set, &number);
            const int cores = there > 0 ? carm_place_cores(topo, set) : 0;
            /* the unit's cores are the first ones of the order */
            bool first = cores > 0 && cores < carm_topo_cores(topo);
            for (int t = 0; t < cores && first; t++) {
                first = hwloc_bitmap_isset(set, (unsigned)topo->order[t]);
            }
            counts[i] = first ? cores : 0;
        }
    }
    hwloc_bitmap_free(set);
    qsort(counts, sizeof counts / sizeof *counts, sizeof *counts, ascending);
    snprintf(words, CARM_TOPO_PLACE_MAX, "1");
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        if (counts[i] > last) {
            carm_text_append(words, CARM_TOPO_PLACE_MAX, ",%d", counts[i]);
            last = counts[i];
        }
    }
    carm_text_append(words, CARM_TOPO_PLACE_MAX, ",cores");
}
