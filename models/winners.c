/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/winners.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json_read.h"

#define SCHEMA "carm-codes/1"

enum { ENTRIES_MAX = 10000 };

void carm_winner_machine(const struct carm_theory_table *table, const char *vendor, int family,
                         int model, unsigned guest_bytes, char *name)
{
    const struct carm_microarchitecture *m =
        carm_theory_find_cpu(table, vendor, family, model, guest_bytes);
    if (m) {
        snprintf(name, sizeof m->name, "%s", m->name);
    } else {
        snprintf(name, sizeof m->name, "%.15s family %d model %d", vendor, family, model);
    }
}

/* Length of the part of a code's name that names the subject: KIND.ISA.PRECISION.MIX */
static size_t subject_of(const char *code)
{
    size_t n = 0;
    for (int dots = 0; code[n] && (code[n] != '.' || ++dots < 4); n++) {
    }
    return n;
}

static bool same_subject(const struct carm_winner *a, const struct carm_winner *b)
{
    const size_t n = subject_of(a->code);
    return strcmp(a->machine, b->machine) == 0 && strcmp(a->level, b->level) == 0 &&
           n == subject_of(b->code) && strncmp(a->code, b->code, n) == 0;
}

static int by_place(const void *a, const void *b)
{
    const struct carm_winner *x = a;
    const struct carm_winner *y = b;
    const int machine = strcmp(x->machine, y->machine);
    const int level = strcmp(x->level, y->level);
    return machine ? machine : level ? level : strcmp(x->code, y->code);
}

const struct carm_winner *carm_winners_find(const struct carm_winners *w,
                                            const struct carm_winner *like)
{
    for (size_t i = 0; i < w->n; i++) {
        if (same_subject(&w->items[i], like)) {
            return &w->items[i];
        }
    }
    return NULL;
}

int carm_winners_add(struct carm_winners *w, const struct carm_winner *winner, struct carm_err *err)
{
    const struct carm_winner *old = carm_winners_find(w, winner);
    const size_t at = old ? (size_t)(old - w->items) : w->n;
    if (!old) {
        const int rc = carm_array_grow(&w->items, &w->room, w->n, 1, sizeof *w->items,
                                       "the codes of a search", err);
        if (rc) {
            return rc;
        }
        w->n++;
    }
    w->items[at] = *winner;
    qsort(w->items, w->n, sizeof *w->items, by_place);
    return 0;
}

static void read_winner(struct carm_jread *r, json_t *obj, struct carm_winner *out)
{
    if (!json_is_object(obj)) {
        carm_jread_bad(r, NULL, "is no object");
        return;
    }
    carm_jread_text(r, obj, "machine", out->machine, sizeof out->machine);
    carm_jread_text(r, obj, "level", out->level, sizeof out->level);
    carm_jread_text(r, obj, "code", out->code, sizeof out->code);
    carm_jread_text(r, obj, "source", out->source, sizeof out->source);
    out->gain = carm_jread_positive(r, obj, "gain");
}

int carm_winners_read(struct carm_winners *winners, const char *text, size_t size_bytes,
                      const char *name, struct carm_err *err)
{
    struct carm_jread r = {.file = name, .err = err};
    struct carm_winner *items = NULL;
    char schema[32] = "";
    size_t n = 0;
    json_t *root = carm_jread_parse(&r, text, size_bytes);
    if (!root) {
        return r.rc;
    }
    carm_jread_text(&r, root, "schema", schema, sizeof schema);
    if (!r.rc && strcmp(schema, SCHEMA) != 0) {
        carm_jread_bad(&r, "schema", "is \"%s\"; this carm reads \"" SCHEMA "\"", schema);
    }
    json_t *array = carm_jread_array(&r, root, "codes", ENTRIES_MAX, sizeof *items, &items, &n);
    for (size_t i = 0; i < n && !r.rc; i++) {
        const size_t old = carm_jread_enter(&r, "codes[%zu]", i);
        read_winner(&r, json_array_get(array, i), &items[i]);
        carm_jread_leave(&r, old);
    }
    for (size_t i = 0; i < n && !r.rc; i++) {
        r.rc = carm_winners_add(winners, &items[i], err);
    }
    free(items);
    json_decref(root);
    return r.rc;
}

char *carm_winners_to_json(const struct carm_winners *winners)
{
    json_t *codes = json_array();
    for (size_t i = 0; i < winners->n; i++) {
        const struct carm_winner *w = &winners->items[i];
        json_array_append_new(codes, json_pack("{s:s, s:s, s:s, s:f, s:s}", "machine", w->machine,
                                               "level", w->level, "code", w->code, "gain", w->gain,
                                               "source", w->source));
    }
    json_t *root = json_pack("{s:s, s:o}", "schema", SCHEMA, "codes", codes);
    char *text = root ? json_dumps(root, JSON_INDENT(4) | JSON_REAL_PRECISION(4)) : NULL;
    json_decref(root);
    return text;
}

void carm_winners_close(struct carm_winners *winners)
{
    free(winners->items);
    *winners = (struct carm_winners){.n = 0};
}
