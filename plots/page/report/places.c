/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "plots/page/report/places.h"

#include <stdlib.h>
#include <string.h>

#include "models/place/placed.h"
#include "models/place/points.h"

struct places {
    const struct carm_model *model;
    struct carm_place_choices *choices;
    struct carm_place_printer printer;
    struct carm_placed placed; /* its ceilings are too much for a stack frame of each point */
};

static void put_point(struct places *s, const struct carm_point *point)
{
    struct carm_place_choice choice;
    char host[192];
    (void)carm_place_elsewhere(point, s->model, host, sizeof host);
    carm_place_choose(s->choices, point, &choice);
    carm_place_under(&s->placed, point, &choice, carm_point_unplaced(point), host);
    carm_place_put(&s->printer, &s->placed);
}

static int read_points(struct places *s, const char *path, struct carm_err *err)
{
    struct carm_points *points = NULL;
    struct carm_point point;
    int rc = carm_points_open(path, &points, err);
    while (!rc) {
        rc = carm_points_next(points, &point, err);
        if (rc <= 0) {
            break;
        }
        put_point(s, &point);
        rc = 0;
    }
    carm_points_close(points);
    return rc;
}

int carm_report_places(FILE *out, const struct carm_model *model, size_t n, char **paths,
                       struct carm_err *err)
{
    const struct carm_place_words words = {NULL, NULL, NULL, NULL, NULL, NULL};
    if (n == 0) {
        (void)fputs("[]", out);
        return 0;
    }
    struct places *s = calloc(1, sizeof *s);
    if (!s) {
        return carm_fail(err, CARM_ENOMEM, "not enough memory to place points");
    }
    s->model = model;
    s->printer.out = out;
    s->printer.format = CARM_PLACE_JSON;
    s->printer.metric = "";
    int rc = carm_place_choices_open(&s->choices, model, &words, err);
    if (!rc) {
        carm_place_begin(&s->printer, model);
    }
    for (size_t i = 0; i < n && !rc; i++) {
        rc = read_points(s, paths[i], err);
    }
    if (!rc && s->printer.points == 0) {
        rc = carm_fail(err, CARM_EINVAL, "no points: %.200s%s only a header", paths[0],
                       n > 1 ? " and the other files have" : " has");
    }
    if (!rc) {
        carm_place_end(&s->printer);
    }
    carm_place_choices_close(s->choices);
    free(s);
    return rc;
}
