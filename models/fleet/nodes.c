/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/fleet/nodes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"

/* The rows of one host name, oldest first, and the node of each row. */
struct host {
    const size_t *rows;
    ptrdiff_t *node; /* CARM_FLEET_NONE = a repetition of the same model */
    size_t n;
    const char *why; /* the difference between its nodes */
};

struct finder {
    struct carm_fleet *fleet;
    size_t *sorted;
    ptrdiff_t *node;
    size_t nindex;
    struct carm_fleet_found *found;
    size_t nfound, room;
    struct carm_err *err;
};

static int fail(struct finder *f)
{
    return carm_fail(f->err, CARM_ENOMEM, "not enough memory for a fleet's nodes");
}

__attribute__((format(printf, 2, 3))) static int note(struct finder *f, const char *fmt, ...)
{
    char text[1024];
    CARM_TEXT_OF_ARGS(text, fmt);
    struct carm_fleet *fleet = f->fleet;
    const char *kept = carm_fleet_keep(fleet, text);
    if (!kept) {
        return fail(f);
    }
    return carm_array_append(&fleet->notes, &fleet->notes_room, &fleet->nnotes, &kept, sizeof kept,
                             "a fleet's nodes", f->err);
}

/* Whether two amounts of memory are equal, apart from the parts that firmware and kernel
 * reserve. */
static bool same_memory(uint64_t a, uint64_t b)
{
    const uint64_t least = a < b ? a : b;
    return (a < b ? b - a : a - b) <= least / 100 * 3;
}

static bool same_values(const struct carm_fleet_row *a, const struct carm_fleet_row *b)
{
    bool same = a->nvalues == b->nvalues;
    for (size_t i = 0; same && i < a->nvalues; i++) {
        same = a->values[i].roof == b->values[i].roof && a->values[i].rate == b->values[i].rate;
    }
    return same;
}

/* Whether two rows are of two nodes of one job, which measures each node once. Rows without a job are of one job if
 * file and job (none) are equal and the ranks differ. */
static bool two_of_a_job(const struct carm_fleet_row *a, const struct carm_fleet_row *b)
{
    const bool ranks = a->rank >= 0 && b->rank >= 0 && a->rank != b->rank;
    if (!*a->job && !*b->job) {
        return ranks && a->file == b->file;
    }
    /* a node rebooted in the middle of a job would have left the job */
    return a->job == b->job && (ranks || (*a->boot_id && *b->boot_id));
}

/* Equal texts are one pointer.
 * returns the difference between two rows of a host, or NULL */
static const char *difference(const struct carm_fleet *fleet, const struct carm_fleet_row *a,
                              const struct carm_fleet_row *b)
{
    const struct carm_fleet_machine *x = &fleet->machines[a->machine];
    const struct carm_fleet_machine *y = &fleet->machines[b->machine];
    const int64_t apart = a->seconds - b->seconds;
    if (*a->boot_id && a->boot_id == b->boot_id) {
        return NULL;
    }
    if (x->cpu != y->cpu || x->cores != y->cores || x->caches != y->caches) {
        return "their CPUs differ";
    }
    if (!same_memory(a->memory_bytes, b->memory_bytes)) {
        return "their memory differs";
    }
    if (two_of_a_job(a, b)) {
        return "they were in one job";
    }
    return llabs(apart) < CARM_FLEET_APART_SECONDS ? "they were measured at the same time" : NULL;
}

static bool is_copy(const struct carm_fleet_row *a, const struct carm_fleet_row *b)
{
    return a->seconds == b->seconds && a->machine == b->machine && a->boot_id == b->boot_id &&
           same_values(a, b);
}

/* Finds the node of the host's row k among the nodes of the rows before. */
static int place_row(struct finder *f, struct host *host, size_t k, ptrdiff_t *nnodes)
{
    const struct carm_fleet_row *rows = f->fleet->rows;
    const struct carm_fleet_row *row = &rows[host->rows[k]];
    for (size_t i = 0; i < k; i++) {
        const struct carm_fleet_row *other = &rows[host->rows[i]];
        if (host->node[i] >= 0 && is_copy(row, other)) {
            host->node[k] = CARM_FLEET_NONE;
            return note(f, "%.200s and %.200s hold the same model of %.100s: it is counted once",
                        other->file, row->file, row->host);
        }
    }
    for (ptrdiff_t node = 0; node < *nnodes; node++) {
        const char *why = NULL;
        for (size_t i = 0; i < k && !why; i++) {
            why = host->node[i] == node ? difference(f->fleet, row, &rows[host->rows[i]]) : NULL;
        }
        if (!why) {
            host->node[k] = node;
            return 0;
        }
        host->why = why;
    }
    host->node[k] = (*nnodes)++;
    return 0;
}

static const char *name_node(struct finder *f, const struct carm_fleet_row *row, ptrdiff_t node,
                             ptrdiff_t nnodes)
{
    char name[CARM_TEXT_MAX + 32];
    const char *host = *row->host ? row->host : "(no name)";
    if (nnodes > 1) {
        snprintf(name, sizeof name, "%s#%td", host, node + 1);
    } else {
        snprintf(name, sizeof name, "%s", host);
    }
    return carm_fleet_keep(f->fleet, name);
}

/* Whether two rows have one configuration. Models with other configurations have other roofs, so
 * they are not the node's history. */
static bool same_machine(const struct carm_fleet_row *a, const struct carm_fleet_row *b)
{
    return a->machine == b->machine && same_memory(a->memory_bytes, b->memory_bytes);
}

static int add_node(struct finder *f, const struct host *host, ptrdiff_t node, ptrdiff_t nnodes)
{
    struct carm_fleet *fleet = f->fleet;
    const struct carm_fleet_row *newest = NULL;
    size_t others = 0;
    struct carm_fleet_found found = {
        .node = {.rows = fleet->row_index + f->nindex, .drift = CARM_FLEET_NONE}};
    for (size_t k = host->n; k-- > 0;) {
        const struct carm_fleet_row *row = &fleet->rows[host->rows[k]];
        if (host->node[k] != node) {
            continue;
        }
        newest = newest ? newest : row;
        if (same_machine(newest, row)) {
            fleet->row_index[f->nindex++] = host->rows[k];
            found.node.nrows++;
        } else {
            others++;
        }
    }
    if (!newest) {
        return 0;
    }
    found.node.name = name_node(f, newest, node, nnodes);
    found.machine = newest->machine;
    found.memory_bytes = newest->memory_bytes;
    if (!found.node.name ||
        carm_array_append(&f->found, &f->room, &f->nfound, &found, sizeof found, "", NULL)) {
        return fail(f);
    }
    if (others) {
        return note(
            f,
            "%.200s: %zu earlier model%s of another configuration (ISAs, threads, page size "
            "or --quick) %s left out of its history",
            found.node.name, others, others == 1 ? "" : "s", others == 1 ? "is" : "are");
    }
    return 0;
}

static int take_host(struct finder *f, struct host *host)
{
    ptrdiff_t nnodes = 0;
    int rc = 0;
    const struct carm_fleet_row *first = &f->fleet->rows[host->rows[0]];
    for (size_t k = 0; k < host->n && rc == 0; k++) {
        rc = place_row(f, host, k, &nnodes);
    }
    if (rc == 0 && nnodes > 1) {
        rc = note(f, "%.200s is the name of %td nodes: %s; they are listed as #1 to #%td",
                  *first->host ? first->host : "(no name)", nnodes, host->why, nnodes);
    }
    for (ptrdiff_t node = 0; node < nnodes && rc == 0; node++) {
        rc = add_node(f, host, node, nnodes);
    }
    return rc;
}

static int by_host(const void *a, const void *b, void *arg)
{
    const struct carm_fleet_row *rows = arg;
    const size_t i = *(const size_t *)a;
    const size_t k = *(const size_t *)b;
    const int hosts = strcmp(rows[i].host, rows[k].host);
    if (hosts) {
        return hosts;
    }
    if (rows[i].seconds != rows[k].seconds) {
        return rows[i].seconds > rows[k].seconds ? 1 : -1;
    }
    return (i > k) - (i < k);
}

static int find(struct finder *f)
{
    struct carm_fleet *fleet = f->fleet;
    size_t n = 0;
    int rc = 0;
    for (size_t i = 0; i < fleet->nrows; i++) {
        if (fleet->rows[i].machine >= 0) {
            f->sorted[n++] = i;
        }
    }
    if (n) {
        qsort_r(f->sorted, n, sizeof *f->sorted, by_host, fleet->rows);
    }
    for (size_t i = 0; i < n && rc == 0;) {
        size_t end = i + 1;
        while (end < n && fleet->rows[f->sorted[end]].host == fleet->rows[f->sorted[i]].host) {
            end++;
        }
        struct host host = {f->sorted + i, f->node + i, end - i, ""};
        rc = take_host(f, &host);
        i = end;
    }
    return rc;
}

int carm_fleet_find_nodes(struct carm_fleet *fleet, struct carm_fleet_found **found, size_t *nfound,
                          struct carm_err *err)
{
    struct finder f = {.fleet = fleet, .err = err};
    f.sorted = calloc(fleet->nrows + 1, sizeof *f.sorted);
    f.node = calloc(fleet->nrows + 1, sizeof *f.node);
    fleet->row_index = calloc(fleet->nrows + 1, sizeof *fleet->row_index);
    const int rc = f.sorted && f.node && fleet->row_index ? find(&f) : fail(&f);
    free(f.sorted);
    free(f.node);
    *found = f.found;
    *nfound = f.nfound;
    return rc;
}

static int by_machine(const void *a, const void *b)
{
    const struct carm_fleet_found *x = a;
    const struct carm_fleet_found *y = b;
    if (x->machine != y->machine) {
        return x->machine > y->machine ? 1 : -1;
    }
    if (x->memory_bytes != y->memory_bytes) {
        return x->memory_bytes > y->memory_bytes ? 1 : -1;
    }
    return strcmp(x->node.name, y->node.name);
}

/* node9 before node10 */
static int by_name(const void *a, const void *b)
{
    const struct carm_fleet_node *x = a;
    const struct carm_fleet_node *y = b;
    const int versions = strverscmp(x->name, y->name);
    return versions ? versions : (x->rows > y->rows) - (x->rows < y->rows);
}

/* Sorts the largest first; the further criteria only make the order reproducible. */
static int by_size(const void *a, const void *b)
{
    const struct carm_fleet_group *x = a;
    const struct carm_fleet_group *y = b;
    if (x->nnodes != y->nnodes) {
        return x->nnodes < y->nnodes ? 1 : -1;
    }
    const int keys = strcmp(x->machine.key, y->machine.key);
    return keys ? keys : (x->memory_min > y->memory_min) - (x->memory_min < y->memory_min);
}

static int add_group(struct carm_fleet *fleet, const struct carm_fleet_found *found, size_t n,
                     struct carm_err *err)
{
    struct carm_fleet_node *nodes = calloc(n, sizeof *nodes);
    if (!nodes || carm_array_grow(&fleet->groups, &fleet->groups_room, fleet->ngroups, 1,
                                  sizeof *fleet->groups, "", NULL)) {
        free(nodes);
        return carm_fail(err, CARM_ENOMEM, "not enough memory for a fleet's groups");
    }
    for (size_t i = 0; i < n; i++) {
        nodes[i] = found[i].node;
    }
    qsort(nodes, n, sizeof *nodes, by_name);
    fleet->groups[fleet->ngroups++] =
        (struct carm_fleet_group){.machine = fleet->machines[found->machine],
                                  .memory_min = found[0].memory_bytes,
                                  .memory_max = found[n - 1].memory_bytes,
                                  .nodes = nodes,
                                  .nnodes = n};
    return 0;
}

int carm_fleet_make_groups(struct carm_fleet *fleet, struct carm_fleet_found *found, size_t nfound,
                           struct carm_err *err)
{
    int rc = 0;
    if (nfound) {
        qsort(found, nfound, sizeof *found, by_machine);
    }
    for (size_t i = 0; i < nfound && rc == 0;) {
        size_t end = i + 1;
        while (end < nfound && found[end].machine == found[i].machine &&
               same_memory(found[i].memory_bytes, found[end].memory_bytes)) {
            end++;
        }
        rc = add_group(fleet, found + i, end - i, err);
        i = end;
    }
    if (fleet->ngroups) {
        qsort(fleet->groups, fleet->ngroups, sizeof *fleet->groups, by_size);
    }
    return rc;
}
