/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/latency.h"

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

const char *carm_latency_order_name(enum carm_latency_order order)
{
    static const char *const names[] = {"lines", "pages", "random"};
    return names[order];
}

const struct carm_latency *carm_latency_find(const struct carm_model *model, const char *level,
                                             enum carm_latency_order order, uint64_t page_bytes)
{
    for (size_t i = 0; i < model->nlatency; i++) {
        const struct carm_latency *l = &model->latency[i];
        if (strcmp(l->level, level) == 0 && l->order == order && l->seconds > 0.0 &&
            (page_bytes == 0 || l->page_bytes == page_bytes)) {
            return l;
        }
    }
    return NULL;
}

const struct carm_in_flight *carm_in_flight_find(const struct carm_model *model, const char *level)
{
    const struct carm_in_flight *best = NULL;
    for (size_t i = 0; i < model->nin_flight; i++) {
        const struct carm_in_flight *f = &model->in_flight[i];
        if (strcmp(f->level, level) == 0 && strcmp(f->code, "scalar") == 0 && f->rate > 0.0 &&
            (!best || f->rate > best->rate)) {
            best = f;
        }
    }
    return best;
}

const struct carm_in_flight *carm_in_flight_of(const struct carm_model *model, const char *level,
                                               const char *code, uint64_t page_bytes)
{
    for (size_t i = 0; i < model->nin_flight; i++) {
        const struct carm_in_flight *f = &model->in_flight[i];
        if (strcmp(f->level, level) == 0 && strcmp(f->code, code) == 0 &&
            f->page_bytes == page_bytes && f->rate > 0.0) {
            return f;
        }
    }
    return NULL;
}

double carm_in_flight_beside(const struct carm_model *model, double beside)
{
    enum { SMALL_PAGE = 4096 };
    const struct carm_in_flight *least = carm_in_flight_of(model, "DRAM", "scalar", SMALL_PAGE);
    double x = 1.0, y = least ? 1.0 / least->rate : 0.0, slope = 0.0;
    for (size_t i = 0; i < model->nin_flight && least; i++) {
        const struct carm_in_flight *f = &model->in_flight[i];
        const size_t prefix = sizeof CARM_BESIDE - 1;
        const bool is = strcmp(f->level, "DRAM") == 0 && f->page_bytes == SMALL_PAGE &&
                        strncmp(f->code, CARM_BESIDE, prefix) == 0 && f->rate > 0.0;
        const double at = is ? strtod(f->code + prefix, NULL) : 0.0;
        if (at > x && x <= beside) {
            /* a rate above the rate with fewer instructions is noise */
            const double next = fmax(y, 1.0 / f->rate);
            slope = (next - y) / (at - x);
            if (at > beside) {
                return y + slope * (beside - x);
            }
            x = at;
            y = next;
        }
    }
    return least && beside > x ? fmin(y + slope * (beside - x), fmax(y, least->latency_seconds))
                               : y;
}

double carm_latency_tlb_pages(const struct carm_model *model)
{
    enum { SMALL_PAGE = 4096 };
    static const char *const levels[] = {"TLB2", "TLB1"};
    const struct carm_latency *l = NULL;
    for (size_t i = 0; i < sizeof levels / sizeof *levels && !l; i++) {
        l = carm_latency_find(model, levels[i], CARM_LATENCY_PAGES, SMALL_PAGE);
    }
    for (size_t i = 0; l && l->reach_bytes && i < model->nlatency_curves; i++) {
        const struct carm_latency_curve *c = &model->latency_curves[i];
        for (size_t k = 0;
             k < c->npoints && c->order == CARM_LATENCY_PAGES && c->page_bytes == SMALL_PAGE; k++) {
            if (c->points[k].working_set_bytes > l->reach_bytes) {
                return (double)c->points[k].working_set_bytes / SMALL_PAGE;
            }
        }
    }
    return 0.0;
}

/* points of one plateau lie within 25% */
#define PLATEAU 1.25
/* A level's plateau is at most twice as slow as the fastest point of a set twice as large as the cache before. */
#define SLOWEST 2.0

/* The longest run of neighbouring points within 25% of one another that are faster than `below`; of equally long runs the
 * fastest. *first: its first point. returns the length */
static size_t longest_run(const struct carm_latency_curve *c, uint64_t from, uint64_t to,
                          double below, size_t *first)
{
    size_t longest = 0;
    for (size_t i = 0; i < c->npoints; i++) {
        double least = c->points[i].seconds, most = least;
        size_t k = i;
        while (k < c->npoints && c->points[i].working_set_bytes >= from &&
               c->points[k].working_set_bytes <= to && c->points[k].seconds < below) {
            least = fmin(least, c->points[k].seconds);
            most = fmax(most, c->points[k].seconds);
            if (most > PLATEAU * least) {
                break;
            }
            k++;
        }
        if (k - i > longest) {
            longest = k - i;
            *first = i;
        }
    }
    return longest;
}

void carm_latency_plateau(struct carm_latency *l, const struct carm_latency_curve *c, uint64_t from,
                          uint64_t to, double below)
{
    const struct carm_latency_point *last = NULL;
    double fastest = INFINITY;
    size_t first = 0;
    for (size_t i = 0; i < c->npoints; i++) {
        if (c->points[i].working_set_bytes >= from && c->points[i].working_set_bytes <= to) {
            last = &c->points[i];
            fastest = fmin(fastest, last->seconds);
        }
    }
    const size_t run = longest_run(c, from, to, fmin(below, SLOWEST * fastest), &first);
    if (run == 0) {
        (void)snprintf(l->note, sizeof l->note,
                       "not measured: no working set lies in this level alone");
        return;
    }
    const struct carm_latency_point *in = &c->points[first];
    l->seconds = in[run / 2].seconds;
    l->cycles = in[run / 2].cycles;
    l->ci95 = in[run / 2].ci95;
    l->working_set_bytes = in[run / 2].working_set_bytes;
    for (size_t i = 0; i < run; i++) {
        l->ci95.lo = fmin(l->ci95.lo, in[i].ci95.lo);
        l->ci95.hi = fmax(l->ci95.hi, in[i].ci95.hi);
        l->disturbed |= in[i].disturbed;
    }
    for (size_t i = 0; i < c->npoints; i++) {
        const struct carm_latency_point *p = &c->points[i];
        if (p->working_set_bytes >= from && p->seconds <= PLATEAU * l->seconds) {
            l->reach_bytes = p->working_set_bytes;
        }
    }
    if (last->seconds > 2.0 * PLATEAU * l->seconds) {
        (void)snprintf(l->note, sizeof l->note, "%.3g ns at %llu KiB, which the cache should hold",
                       1e9 * last->seconds, (unsigned long long)(last->working_set_bytes >> 10));
    }
}

double carm_in_flight_lines(const struct carm_in_flight *flight, double bytes_per_second)
{
    enum { LINE_BYTES = 64 }; /* of all x86-64 caches */
    return bytes_per_second / LINE_BYTES * flight->latency_seconds;
}

/* Domains of one kind differ if their bandwidths differ by more: shared figures repeat within
 * 5%. */
static const double alike = 0.10;

const struct carm_numa_pair *carm_numa_find(const struct carm_model *model, int from, int to)
{
    for (size_t i = 0; i < model->nnuma; i++) {
        if (model->numa[i].from == from && model->numa[i].to == to) {
            return &model->numa[i];
        }
    }
    return NULL;
}

void carm_numa_name(char name[40], const struct carm_numa_pair *pair)
{
    if (pair->from < 0) {
        (void)snprintf(name, 40, "interleaved");
    } else if (pair->from == pair->to) {
        (void)snprintf(name, 40, "numa:%d memory", pair->from);
    } else {
        (void)snprintf(name, 40, "numa:%d to numa:%d", pair->from, pair->to);
    }
}

/* "numa:0 to numa:1, ..." of the pairs with a bandwidth, cut where the list gets long. */
static void list_pairs(const struct carm_model *m, char *dst, size_t size)
{
    dst[0] = '\0';
    for (size_t i = 0; i < m->nnuma; i++) {
        const struct carm_numa_pair *p = &m->numa[i];
        if (p->bandwidth > 0.0 && p->from >= 0) {
            carm_text_list(dst, size, ", ", "numa:%d to numa:%d", p->from, p->to);
        }
    }
}

/* The node of "numa:1". returns false where the word is another; *node is 0 then */
static bool read_node(const char *word, int *node)
{
    static const char prefix[] = "numa:";
    char *end = NULL;
    const bool numa = strncmp(word, prefix, sizeof prefix - 1) == 0;
    const long n = numa ? strtol(word + sizeof prefix - 1, &end, 10) : -1;
    const bool read =
        numa && isdigit((unsigned char)word[sizeof prefix - 1]) && !*end && n <= INT_MAX;
    *node = read ? (int)n : 0;
    return read;
}

/* The node whose cores the model's first threads are on. NULL = the model has no nodes */
static const struct carm_numa_node *home_node(const struct carm_model *m)
{
    int on;
    const bool restricted = read_node(m->machine.on, &on);
    for (size_t i = 0; i < m->nnuma_nodes; i++) {
        const struct carm_numa_node *node = &m->numa_nodes[i];
        if (restricted ? node->node == on : node->cores > 0) {
            return node;
        }
    }
    return NULL;
}

static void scale_interval(struct carm_ci *ci, double factor)
{
    ci->lo *= factor;
    ci->hi *= factor;
}

void carm_memory_roof_scale(struct carm_memory_roof *m, double factor, bool clock)
{
    m->bandwidth *= factor;
    m->bytes_per_cycle *= clock ? 1.0 : factor;
    scale_interval(&m->ci95, factor);
}

static void scale_dram(struct carm_roofs *r, double times)
{
    for (size_t i = 0; i < r->nmemory; i++) {
        if (strcmp(r->memory[i].level, "DRAM") == 0) {
            carm_memory_roof_scale(&r->memory[i], times, false);
        }
    }
    r->dram_peak.bandwidth *= times;
}

size_t carm_latency_scale(struct carm_model *model, const char *level, double factor, bool streams)
{
    size_t n = 0;
    for (size_t i = 0; i < model->nlatency; i++) {
        struct carm_latency *l = &model->latency[i];
        if (strcmp(l->level, level) == 0) {
            l->seconds *= factor;
            l->cycles *= factor;
            scale_interval(&l->ci95, factor);
            n++;
        }
    }
    for (size_t i = 0; i < model->nin_flight; i++) {
        struct carm_in_flight *f = &model->in_flight[i];
        const bool stream = strncmp(f->code, "stream", 6) == 0;
        if (strcmp(f->level, level) == 0 && (streams || !stream)) {
            f->latency_seconds *= factor;
            f->rate /= factor;
            scale_interval(&f->ci95, 1.0 / factor);
        }
    }
    return n;
}

static int use_node(struct carm_model *m, const char *word, int node, struct carm_err *err)
{
    const struct carm_numa_node *home = home_node(m);
    const struct carm_numa_pair *own = home ? carm_numa_find(m, home->node, home->node) : NULL;
    const struct carm_numa_pair *pair = home ? carm_numa_find(m, home->node, node) : NULL;
    if (!own || !pair || !(own->bandwidth > 0.0) || !(pair->bandwidth > 0.0)) {
        char pairs[160];
        list_pairs(m, pairs, sizeof pairs);
        return carm_fail(err, CARM_ENOTSUP, "the model has no bandwidth to %.20s; it has %s", word,
                         *pairs ? pairs
                                : "those of no memory domain: carm build measures them on a "
                                  "machine with several NUMA nodes");
    }
    const double times = pair->bandwidth / own->bandwidth;
    const bool timed = own->seconds > 0.0 && pair->seconds > 0.0;
    char latency[64] = "not known";
    for (size_t i = 0; i < m->nroofs; i++) {
        if (m->roofs[i].threads <= home->cores) {
            scale_dram(&m->roofs[i], times);
        }
    }
    if (timed) {
        carm_latency_scale(m, "DRAM", pair->seconds / own->seconds, true);
        (void)snprintf(latency, sizeof latency, "%.2f times", pair->seconds / own->seconds);
    }
    (void)snprintf(
        m->changed, sizeof m->changed,
        "DRAM roofs of up to %d threads are those from numa:%d to the memory of numa:%d: "
        "%.2f times the bandwidth of its own, latency %s%s",
        home->cores, home->node, node, times, latency,
        pair->disturbed || own->disturbed ? " (disturbed while measured)" : "");
    return 0;
}

static int use_interleaved(struct carm_model *m, struct carm_err *err)
{
    const struct carm_numa_pair *all = carm_numa_find(m, CARM_NUMA_ALL, CARM_NUMA_ALL);
    if (!all || !(all->bandwidth > 0.0)) {
        return carm_fail(err, CARM_ENOTSUP,
                         "the model has no bandwidth of interleaved pages: carm build measures it "
                         "on a machine with several NUMA nodes");
    }
    for (size_t i = 0; i < m->nroofs; i++) {
        struct carm_roofs *r = &m->roofs[i];
        if (r->threads == all->threads && r->dram_peak.bandwidth > 0.0) {
            scale_dram(r, all->bandwidth / r->dram_peak.bandwidth);
        }
    }
    (void)snprintf(m->changed, sizeof m->changed,
                   "DRAM roofs of %d threads are those of pages interleaved over all nodes",
                   all->threads);
    return 0;
}

int carm_numa_use(struct carm_model *model, const char *pages, struct carm_err *err)
{
    int node;
    if (strcmp(pages, "interleaved") == 0) {
        return use_interleaved(model, err);
    }
    if (!read_node(pages, &node)) {
        return carm_fail(err, CARM_EINVAL, "--pages '%.32s': write numa:1 or interleaved", pages);
    }
    return use_node(model, pages, node, err);
}

/* The position of a pair in the order of measurement: smaller first. */
static int rank(const struct carm_numa_node *nodes, size_t from, size_t to)
{
    enum { OWN = 0, MEMORY_ONLY = 2, OTHERS = 3 };
    return from == to             ? OWN
           : nodes[to].cores == 0 ? MEMORY_ONLY
                                  : OTHERS + abs((int)to - (int)from);
}

size_t carm_numa_plan(const struct carm_numa_node *nodes, size_t n, struct carm_numa_pair *pairs)
{
    enum { INTERLEAVED = 1 };
    size_t with_cores = 0;
    size_t out = 0;
    for (size_t i = 0; i < n; i++) {
        with_cores += nodes[i].cores > 0 ? 1 : 0;
    }
    for (int r = 0; r < (int)n + 4; r++) {
        if (r == INTERLEAVED && with_cores > 1) {
            pairs[out++] = (struct carm_numa_pair){.from = CARM_NUMA_ALL, .to = CARM_NUMA_ALL};
        }
        for (size_t i = 0; i < n; i++) {
            for (size_t k = 0; k < n && nodes[i].cores > 0; k++) {
                if (rank(nodes, i, k) == r) {
                    pairs[out++] =
                        (struct carm_numa_pair){.from = nodes[i].node, .to = nodes[k].node};
                }
            }
        }
    }
    return out;
}

struct range {
    double low, high, fast, slow; /* byte/s and seconds; 0 = none */
};

static void widen(struct range *r, const struct carm_numa_pair *p)
{
    if (p->bandwidth > 0.0) {
        r->low = r->low > 0.0 ? fmin(r->low, p->bandwidth) : p->bandwidth;
        r->high = fmax(r->high, p->bandwidth);
    }
    if (p->seconds > 0.0) {
        r->fast = r->fast > 0.0 ? fmin(r->fast, p->seconds) : p->seconds;
        r->slow = fmax(r->slow, p->seconds);
    }
}

/* Writes "own memory: 30.1 to 31.0 GB/s, 95 to 97 ns". returns whether there is a figure */
static bool say_range(const char *what, const struct range *r, char line[CARM_NUMA_LINE])
{
    char a[CARM_TEXT_NUMBER_MAX], b[CARM_TEXT_NUMBER_MAX], latency[64] = "";
    if (r->slow > 0.0) {
        snprintf(latency, sizeof latency, r->slow > r->fast ? ", %.0f to %.0f ns" : ", %.0f ns",
                 1e9 * r->fast, 1e9 * r->slow);
    }
    if (r->high > r->low) {
        snprintf(line, CARM_NUMA_LINE, "%.60s: %s to %s%s", what,
                 carm_text_si(a, sizeof a, r->low, "B/s"),
                 carm_text_si(b, sizeof b, r->high, "B/s"), latency);
    } else {
        snprintf(line, CARM_NUMA_LINE, "%.60s: %s%s", what,
                 r->high > 0.0 ? carm_text_si(a, sizeof a, r->high, "B/s") : "bandwidth not known",
                 latency);
    }
    return r->high > 0.0 || r->slow > 0.0;
}

static const struct carm_numa_node *node_of(const struct carm_model *m, int node)
{
    for (size_t i = 0; i < m->nnuma_nodes; i++) {
        if (m->numa_nodes[i].node == node) {
            return &m->numa_nodes[i];
        }
    }
    return NULL;
}

/* Reports a node whose own memory is slower than that of other nodes with as many cores and as much memory. */
static bool say_odd(const struct carm_model *m, const struct carm_numa_node *node,
                    char line[CARM_NUMA_LINE])
{
    const struct carm_numa_pair *own = carm_numa_find(m, node->node, node->node);
    char a[CARM_TEXT_NUMBER_MAX], b[CARM_TEXT_NUMBER_MAX];
    double best = 0.0;
    for (size_t i = 0; i < m->nnuma_nodes; i++) {
        const struct carm_numa_node *o = &m->numa_nodes[i];
        const struct carm_numa_pair *p = carm_numa_find(m, o->node, o->node);
        const double memory = (double)o->memory_bytes / (double)node->memory_bytes;
        if (p && !p->disturbed && o->cores == node->cores && fabs(memory - 1.0) < alike) {
            best = fmax(best, p->bandwidth);
        }
    }
    if (!own || own->disturbed || !(own->bandwidth > 0.0) ||
        own->bandwidth >= (1.0 - alike) * best) {
        return false;
    }
    snprintf(line, CARM_NUMA_LINE,
             "numa:%d is slower than a like domain: %s of %s from its own memory", node->node,
             carm_text_si(a, sizeof a, own->bandwidth, "B/s"),
             carm_text_si(b, sizeof b, best, "B/s"));
    return true;
}

size_t carm_numa_say(const struct carm_model *m, char (*lines)[CARM_NUMA_LINE], size_t most)
{
    struct range own = {0.0, 0.0, 0.0, 0.0};
    struct range other = own;
    size_t n = 0;
    for (size_t i = 0; i < m->nnuma; i++) {
        const struct carm_numa_pair *p = &m->numa[i];
        const struct carm_numa_node *to = node_of(m, p->to);
        if (to && to->cores > 0) {
            widen(p->from == p->to ? &own : &other, p);
        }
    }
    n += n < most && say_range("a domain's own memory", &own, lines[n]) ? 1 : 0;
    n += n < most && say_range("another domain's memory", &other, lines[n]) ? 1 : 0;
    for (size_t i = 0; i < m->nnuma_nodes && n < most; i++) {
        const struct carm_numa_node *node = &m->numa_nodes[i];
        struct range near = {0.0, 0.0, 0.0, 0.0};
        char what[120];
        for (size_t k = 0; k < m->nnuma; k++) {
            if (m->numa[k].to == node->node) {
                widen(&near, &m->numa[k]);
            }
        }
        snprintf(what, sizeof what, "numa:%d, memory only%s%.40s", node->node,
                 *node->kind ? ", " : "", node->kind);
        n += node->cores == 0 && say_range(what, &near, lines[n]) ? 1 : 0;
        n += node->cores > 0 && n < most && say_odd(m, node, lines[n]) ? 1 : 0;
    }
    const struct carm_numa_pair *all = carm_numa_find(m, CARM_NUMA_ALL, CARM_NUMA_ALL);
    if (all && n < most) {
        struct range r = {0.0, 0.0, 0.0, 0.0};
        widen(&r, all);
        n += say_range("pages interleaved, all cores", &r, lines[n]) ? 1 : 0;
    }
    return n;
}
