/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "harness/place/place.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/place/units.h"

struct reading {
    const struct carm_topo *topo;
    const char *all;           /* the whole value, for messages */
    enum carm_place_unit unit; /* of the latest word; UNITS = a domain of likwid's */
    bool any;                  /* a word was read */
    hwloc_bitmap_t set;        /* the place so far */
    hwloc_bitmap_t domain;     /* the latest domain of likwid */
    hwloc_bitmap_t work;
};

static int has_no(const struct reading *r, const char *word, enum carm_place_unit unit,
                  struct carm_err *err)
{
    char own[CARM_TOPO_PLACE_MAX];
    char have[512];
    if (unit < UNITS && *carm_place_words(r->topo, unit, own)) {
        return carm_fail(err, CARM_EINVAL, "--on: there is no %.40s here: this machine has %s",
                         word, own);
    }
    return carm_fail(err, CARM_EINVAL, "--on: this machine has no %.40s: it has %s", word,
                     carm_place_all_words(r->topo, have, sizeof have));
}

/* Finds the unit with a number, and puts its hardware threads into r->work. */
static bool find_number(const struct reading *r, enum carm_place_unit unit, int wanted)
{
    int number = 0;
    for (int i = 0, there = 1; there; i++) {
        there = carm_place_unit_at(r->topo, unit, i, r->work, &number);
        if (there > 0 && number == wanted) {
            return true;
        }
    }
    return false;
}

/* The hardware thread at place `at` of likwid's domain. returns the CPU or -1 */
static int cpu_inside(const struct reading *r, int at)
{
    for (int i = 0; i < r->topo->pus; i++) {
        if (hwloc_bitmap_isset(r->domain, (unsigned)r->topo->order[i]) && at-- == 0) {
            return r->topo->order[i];
        }
    }
    return -1;
}

static int add_number(struct reading *r, int number, struct carm_err *err)
{
    char word[48];
    if (r->unit == UNITS) {
        const int cpu = cpu_inside(r, number);
        if (cpu < 0) {
            return carm_fail(err, CARM_EINVAL,
                             "--on '%.40s': that domain has hardware threads 0 to %d, no %d",
                             r->all, hwloc_bitmap_weight(r->domain) - 1, number);
        }
        hwloc_bitmap_set(r->set, (unsigned)cpu);
        return 0;
    }
    if (!find_number(r, r->unit, number)) {
        snprintf(word, sizeof word, "%s:%d", carm_place_units[r->unit].word, number);
        return has_no(r, word, r->unit, err);
    }
    hwloc_bitmap_or(r->set, r->set, r->work);
    return 0;
}

/* "3" or "0-7" */
static int add_range(struct reading *r, const char *text, struct carm_err *err)
{
    char *end = NULL;
    const long from = isdigit((unsigned char)*text) ? strtol(text, &end, 10) : -1;
    long to = from;
    if (end && *end == '-' && isdigit((unsigned char)end[1])) {
        to = strtol(end + 1, &end, 10);
    }
    if (from < 0 || !end || *end || to < from || to > INT_MAX - 1) {
        char have[512];
        return carm_fail(err, CARM_EINVAL,
                         "--on '%.40s': '%.20s' is no number or range: this machine has %s", r->all,
                         text, carm_place_all_words(r->topo, have, sizeof have));
    }
    int rc = 0;
    for (long i = from; i <= to && !rc; i++) {
        rc = add_number(r, (int)i, err);
    }
    return rc;
}

static int add_kind(struct reading *r, const char *word, const char *name, struct carm_err *err)
{
    for (int i = 0; i < carm_place_kinds(r->topo); i++) {
        if (strcmp(name, carm_place_kind_words[i]) == 0) {
            int number = 0;
            carm_place_unit_at(r->topo, KIND, i, r->work, &number);
            hwloc_bitmap_or(r->set, r->set, r->work);
            return 0;
        }
    }
    return has_no(r, word, KIND, err);
}

/* likwid's "S0:0-3", "M1", "C0:", "N:0-7" */
static int add_domain(struct reading *r, const char *word, struct carm_err *err)
{
    static const char letters[] = "SMCN";
    static const enum carm_place_unit of[] = {SOCKET, NUMA, L3};
    const char *letter = strchr(letters, *word);
    char *end = NULL;
    const long number = isdigit((unsigned char)word[1]) ? strtol(word + 1, &end, 10) : -1;
    const char *rest = end ? end : word + 1;
    if (!letter || (*rest && *rest != ':') || (number < 0) != (*letter == 'N') ||
        strchr(*rest ? rest + 1 : rest, ':')) {
        return carm_fail(err, CARM_EINVAL,
                         "--on '%.40s' is no domain of likwid's: write S0:0-3, M0, C0 or N:0-7%s",
                         word,
                         *rest && strchr(rest + 1, ':')
                             ? "; the size of a workgroup is --memory, its threads are --threads"
                             : "");
    }
    hwloc_bitmap_copy(r->work, hwloc_get_root_obj(r->topo->hwloc)->cpuset);
    if (*letter != 'N') {
        const enum carm_place_unit unit = of[letter - letters];
        const enum carm_place_unit last = unit == L3 ? carm_place_last_cache(r->topo) : unit;
        if (!find_number(r, last, (int)number)) {
            return has_no(r, word, last, err);
        }
    }
    r->unit = UNITS;
    hwloc_bitmap_copy(r->domain, r->work);
    if (*rest && rest[1]) {
        return add_range(r, rest + 1, err);
    }
    hwloc_bitmap_or(r->set, r->set, r->domain);
    return 0;
}

static int add_word(struct reading *r, const char *word, struct carm_err *err)
{
    const char *colon = strchr(word, ':');
    if (isdigit((unsigned char)*word) && r->any) {
        return add_range(r, word, err);
    }
    r->any = true;
    if (isupper((unsigned char)*word)) {
        return add_domain(r, word, err);
    }
    for (enum carm_place_unit u = 0; colon && u < UNITS; u++) {
        const size_t length = (size_t)(colon - word);
        if (strlen(carm_place_units[u].word) == length &&
            strncmp(word, carm_place_units[u].word, length) == 0) {
            r->unit = u;
            return u == KIND ? add_kind(r, word, colon + 1, err) : add_range(r, colon + 1, err);
        }
    }
    return has_no(r, word, UNITS, err);
}

/* The hardware threads of the words. set: out */
static int read_on(const struct carm_topo *topo, const char *on, hwloc_bitmap_t set,
                   struct carm_err *err)
{
    struct reading r = {.topo = topo, .all = on, .unit = UNITS, .set = set};
    char words[CARM_TOPO_PLACE_MAX];
    char *rest = words;
    int rc = 0;
    if (!*on || strlen(on) >= sizeof words) {
        return carm_fail(err, CARM_EINVAL, "--on takes words such as l3:0, up to %d characters",
                         CARM_TOPO_PLACE_MAX - 1);
    }
    r.domain = hwloc_bitmap_alloc();
    r.work = hwloc_bitmap_alloc();
    if (!r.domain || !r.work) {
        rc = carm_fail(err, CARM_ENOMEM, "not enough memory for a place");
    }
    snprintf(words, sizeof words, "%s", on);
    for (const char *word = strtok_r(words, ",@", &rest); word && !rc;
         word = strtok_r(NULL, ",@", &rest)) {
        rc = add_word(&r, word, err);
    }
    if (!rc && !r.any) {
        rc = has_no(&r, on, UNITS, err);
    }
    hwloc_bitmap_free(r.domain);
    hwloc_bitmap_free(r.work);
    return rc;
}

int carm_topo_on(struct carm_topo *topo, const char *on, struct carm_err *err)
{
    if (!on) {
        return 0;
    }
    hwloc_bitmap_t set = hwloc_bitmap_alloc();
    int *pus = calloc((size_t)topo->pus, sizeof *pus);
    int n = 0;
    int rc = set && pus ? read_on(topo, on, set, err)
                        : carm_fail(err, CARM_ENOMEM, "not enough memory for a place");
    for (int i = 0; i < topo->pus && !rc; i++) {
        if (hwloc_bitmap_isset(set, (unsigned)topo->order[i])) {
            pus[n++] = topo->order[i];
        }
    }
    rc = rc ? rc : carm_topo_keep(topo, pus, n, err);
    if (!rc) {
        snprintf(topo->on, sizeof topo->on, "%s", on);
    }
    free(pus);
    hwloc_bitmap_free(set);
    return rc;
}

int carm_topo_bind(const struct carm_topo *topo, struct carm_err *err)
{
    const hwloc_bitmap_t set = hwloc_get_root_obj(topo->hwloc)->cpuset;
    hwloc_bitmap_t now = hwloc_bitmap_alloc();
    int rc = carm_topo_check_here(topo, err);
    if (!rc && (!now || hwloc_set_cpubind(topo->hwloc, set, HWLOC_CPUBIND_PROCESS) != 0 ||
                hwloc_get_cpubind(topo->hwloc, now, HWLOC_CPUBIND_PROCESS) != 0 ||
                !hwloc_bitmap_isequal(now, set))) {
        rc = carm_fail(err, CARM_ENOTSUP, "cannot bind this process to %s: %s", topo->on,
                       strerror(errno));
    }
    hwloc_bitmap_free(now);
    return rc;
}
