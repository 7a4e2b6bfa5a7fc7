/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A walk through JSON text that makes no tree: where members and items stand. Brackets and strings are
 * followed; numbers and words are taken as they are. */
#ifndef CARM_MODELS_FLEET_SCAN_H
#define CARM_MODELS_FLEET_SCAN_H

#include <stdbool.h>
#include <stddef.h>

/* Where a value stands in a text. */
struct carm_fleet_span {
    const char *at; /* NULL = there is none */
    size_t size;
};

struct carm_fleet_scan {
    const char *at, *end;
};

/* Takes an opening bracket. */
bool carm_fleet_scan_open(struct carm_fleet_scan *s, char open);

/* Takes the comma before the next item, or the closing bracket.
 * first    in and out: no item was taken yet
 * returns 1 (an item comes), 0 (closed), -1 (neither) */
int carm_fleet_scan_next(struct carm_fleet_scan *s, bool *first, char close);

/* Takes a value of any kind; strings keep their quotes. */
bool carm_fleet_scan_value(struct carm_fleet_scan *s, struct carm_fleet_span *value);

/* Takes the next member of an object, its name without quotes. returns as carm_fleet_scan_next */
int carm_fleet_scan_member(struct carm_fleet_scan *s, bool *first, struct carm_fleet_span *name,
                           struct carm_fleet_span *value);

/* Whether nothing but blanks follows. */
bool carm_fleet_scan_end(struct carm_fleet_scan *s);

bool carm_fleet_span_is(const struct carm_fleet_span *span, const char *word);

#endif
