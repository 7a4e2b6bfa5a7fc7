/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "models/sol/slice.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum { ARGS_MAX = CARM_SOL_RANK_MAX };

enum what { NUMBER, NOTHING, DOTS, RANGE };

/* A number, None, "..." or slice(a, b, c) */
struct arg {
    enum what what;
    int64_t v[3];
    bool has[3]; /* for a range: the value is not None */
};

struct call {
    const char *at;
    struct arg args[ARGS_MAX]; /* arguments behind the tensor */
    unsigned n;
    bool list; /* the arguments are in a list of their own: a tuple of indices */
};

static void blanks(struct call *c)
{
    c->at += strspn(c->at, " \t\n");
}

static bool word(struct call *c, const char *text)
{
    const size_t n = strlen(text);
    blanks(c);
    if (strncmp(c->at, text, n) != 0) {
        return false;
    }
    c->at += n;
    return true;
}

static bool number(struct call *c, int64_t *v)
{
    char *end = NULL;
    blanks(c);
    if (!strchr("-0123456789", *c->at) || *c->at == '\0') {
        return false;
    }
    const long long value = strtoll(c->at, &end, 10);
    if (end == c->at || *end == '.' || value > INT64_MAX / 4 || value < INT64_MIN / 4) {
        return false;
    }
    c->at = end;
    *v = value;
    return true;
}

static bool range(struct call *c, struct arg *arg)
{
    *arg = (struct arg){.what = RANGE};
    for (int i = 0; i < 3; i++) {
        if (i > 0 && !word(c, ",")) {
            return false;
        }
        if (!word(c, "None")) {
            arg->has[i] = number(c, &arg->v[i]);
            if (!arg->has[i]) {
                return false;
            }
        }
    }
    return word(c, ")");
}

static bool argument(struct call *c)
{
    struct arg *arg = &c->args[c->n];
    if (c->n == ARGS_MAX) {
        return false;
    }
    c->n++;
    *arg = (struct arg){.what = NUMBER};
    if (word(c, "slice(")) {
        return range(c, arg);
    }
    if (word(c, "None")) {
        arg->what = NOTHING;
        return true;
    }
    if (word(c, "Ellipsis")) {
        arg->what = DOTS;
        return true;
    }
    return number(c, &arg->v[0]);
}

/* Skips "Tensor(shape=(2, 3), ...)". */
static bool tensor(struct call *c)
{
    unsigned depth = 1;
    if (!word(c, "Tensor(")) {
        return false;
    }
    while (depth > 0 && *c->at) {
        depth += *c->at == '(';
        depth -= *c->at == ')';
        c->at++;
    }
    return depth == 0;
}

static bool arguments(struct call *c)
{
    bool good = word(c, "[") && word(c, "[") && tensor(c);
    while (good && word(c, ",")) {
        if (word(c, "[")) {
            c->list = true;
            good = c->n == 0 && argument(c);
            while (good && word(c, ",")) {
                good = argument(c);
            }
            good = good && word(c, "]");
        } else {
            good = !c->list && argument(c);
        }
    }
    return good && word(c, "]") && word(c, ",") && word(c, "{");
}

/* Turns keywords into arguments. names: NULL-terminated, in the order of arguments */
static bool keywords(struct call *c, const char *const *names)
{
    while (!word(c, "}")) {
        unsigned i = 0;
        struct arg arg = {.what = NUMBER};
        while (names[i] && !(word(c, names[i]) && word(c, ":"))) {
            i++;
        }
        if (!names[i] || i != c->n || i == ARGS_MAX ||
            !(word(c, "None") ? (arg.what = NOTHING, true) : number(c, &arg.v[0]))) {
            return false;
        }
        c->args[c->n++] = arg;
        word(c, ",");
    }
    return true;
}

/* A layout, with the remaining extents of its dimensions. */
struct part {
    struct carm_sol_layout layout;
    uint64_t extents[CARM_SOL_RANK_MAX];
    unsigned rank;
};

static bool take(struct part *p, unsigned dim, uint64_t from, uint64_t count, uint64_t step)
{
    const struct carm_sol_shape shape = {p->extents, p->rank};
    if (!carm_sol_layout_cut(&p->layout, shape, dim, from, count, step)) {
        return false;
    }
    p->extents[dim] = count;
    return true;
}

static bool take_index(struct part *p, unsigned dim, int64_t index)
{
    const int64_t extent = (int64_t)p->extents[dim];
    index += index < 0 ? extent : 0;
    return index >= 0 && index < extent && take(p, dim, (uint64_t)index, 1, 1);
}

static int64_t clamp(int64_t v, int64_t least, int64_t most)
{
    return v < least ? least : v > most ? most : v;
}

/* Takes Python's begin:end:step of a dimension */
static bool take_range(struct part *p, unsigned dim, const struct arg *arg)
{
    const int64_t extent = (int64_t)p->extents[dim];
    const int64_t step = arg->has[2] ? arg->v[2] : 1;
    const bool down = step < 0;
    int64_t ends[2] = {down ? extent - 1 : 0, down ? -1 : extent};
    if (step == 0) {
        return false;
    }
    for (int i = 0; i < 2; i++) {
        if (arg->has[i]) {
            ends[i] = clamp(arg->v[i] + (arg->v[i] < 0 ? extent : 0), down ? -1 : 0,
                            down ? extent - 1 : extent);
        }
    }
    const int64_t size = down ? -step : step;
    const int64_t length = down ? ends[0] - ends[1] : ends[1] - ends[0];
    if (length <= 0) {
        return false;
    }
    const int64_t count = (length - 1) / size + 1;
    const int64_t from = down ? ends[0] - (count - 1) * size : ends[0];
    return take(p, dim, (uint64_t)from, (uint64_t)count, (uint64_t)size);
}

static bool take_items(struct part *p, const struct call *c)
{
    unsigned taken = 0;
    unsigned dots = 0;
    for (unsigned i = 0; i < c->n; i++) {
        taken += c->args[i].what == NUMBER || c->args[i].what == RANGE;
        dots += c->args[i].what == DOTS;
    }
    if (taken > p->rank || dots > 1) {
        return false;
    }
    unsigned dim = 0;
    bool good = true;
    for (unsigned i = 0; good && i < c->n; i++) {
        const struct arg *arg = &c->args[i];
        if (arg->what == DOTS) {
            dim += p->rank - taken;
        } else if (arg->what == NUMBER) {
            good = take_index(p, dim++, arg->v[0]);
        } else if (arg->what == RANGE) {
            good = take_range(p, dim++, arg);
        }
    }
    return good;
}

/* Reads dim and the range, and takes them: select index; narrow start, length; slice start, end,
 * step */
static bool take_of_dimension(struct part *p, const struct call *c, const char *type)
{
    struct arg dim = c->n > 0 ? c->args[0] : (struct arg){.what = NUMBER};
    struct arg range = {.what = RANGE};
    const bool select = strcasecmp(type, "select") == 0;
    const bool narrow = strcasecmp(type, "narrow") == 0;
    dim.v[0] += dim.v[0] < 0 ? (int64_t)p->rank : 0;
    if (dim.what != NUMBER || dim.v[0] < 0 || dim.v[0] >= (int64_t)p->rank || c->n > 4 ||
        (select && c->n != 2) || (narrow && c->n != 3)) {
        return false;
    }
    for (unsigned i = 1; i < c->n; i++) {
        if (c->args[i].what != NUMBER && (c->args[i].what != NOTHING || select || narrow)) {
            return false;
        }
        range.has[i - 1] = c->args[i].what == NUMBER;
        range.v[i - 1] = c->args[i].v[0];
    }
    if (select) {
        return take_index(p, (unsigned)dim.v[0], range.v[0]);
    }
    if (narrow) {
        const int64_t extent = (int64_t)p->extents[dim.v[0]];
        range.v[0] += range.v[0] < 0 ? extent : 0;
        if (range.v[0] < 0 || range.v[0] > extent || range.v[1] > extent - range.v[0]) {
            return false;
        }
        range.v[1] += range.v[0];
    }
    return take_range(p, (unsigned)dim.v[0], &range);
}

static uint64_t elements_of(const uint64_t *extents, unsigned rank)
{
    uint64_t n = 1;
    for (unsigned i = 0; i < rank; i++) {
        n *= extents[i];
    }
    return n;
}

bool carm_sol_slice(const char *type, const char *call, struct carm_sol_shape in,
                    struct carm_sol_shape out, struct carm_sol_layout *layout)
{
    static const char *const names[][5] = {{NULL},
                                           {"dim", "index", NULL},
                                           {"dim", "start", "length", NULL},
                                           {"dim", "start", "end", "step", NULL}};
    struct call c = {.at = call};
    struct part p = {.layout = *layout, .rank = in.rank};
    const bool item = strcasecmp(type, "__getitem__") == 0;
    const unsigned which = item                              ? 0
                           : strcasecmp(type, "select") == 0 ? 1
                           : strcasecmp(type, "narrow") == 0 ? 2
                                                             : 3;
    if (in.rank > 0) {
        memcpy(p.extents, in.extents, in.rank * sizeof *in.extents);
    }
    if (!arguments(&c) || !keywords(&c, names[which]) || (c.list && !item) ||
        (item && c.n > 1 && !c.list)) {
        return false;
    }
    if (!(item ? take_items(&p, &c) : take_of_dimension(&p, &c, type)) ||
        elements_of(p.extents, p.rank) != elements_of(out.extents, out.rank)) {
        return false;
    }
    *layout = p.layout;
    return true;
}
